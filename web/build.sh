#!/usr/bin/env bash
# Builds target/web: the npm package in tenslice/, with the WebAssembly module, and the page, index.html.
#
# Requires rustc with the library for wasm32-unknown-unknown, or the sources to build it from (packaging/bare-metal.sh),
# wasm-ld (in Debian: lld) and node.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/web
package=$out/tenslice
triple=wasm32-unknown-unknown
rm -rf "$package"
mkdir -p "$package/src"
# Optimizes for size, because the module is downloaded.
export CARGO_PROFILE_SIZE_OPT_LEVEL=z

packaging/bare-metal.sh $triple "$out/cargo" rustc --quiet --profile size --no-default-features --lib \
    --crate-type staticlib --features capi,panic-handler,formats,dequantize,zlib,zstd
exports=$(node web/build/exports.mjs)
# The exported functions, without an entry point, with 1 MiB of stack.
# shellcheck disable=SC2086 # words
wasm-ld --no-entry --gc-sections --strip-all -O2 --stack-first -z stack-size=1048576 \
    --export=__heap_base ${exports//tenslice_/--export=tenslice_} \
    "$out/cargo/$triple/size/libtenslice.a" -o "$package/tenslice.wasm"

cp web/tenslice.mjs web/tenslice.d.ts web/package.json web/README.md LICENSE-* "$package/"
cp web/src/*.mjs "$package/src/"
FEATURES=formats,dequantize,zlib,zstd packaging/notices.sh "$package/third-party"
node web/build/page.mjs "$package" "$out/index.html"
for file in "$package/tenslice.wasm" "$out/index.html"; do
    printf '%s: %d bytes, %d compressed\n' "$file" "$(stat -c %s "$file")" "$(gzip -9c "$file" | wc -c)"
done
