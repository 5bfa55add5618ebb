#!/usr/bin/env bash
# Builds target/web: the npm package in tenslice/, with the two WebAssembly modules, and the page, index.html.
#
# Requires rustc with the library for wasm32-unknown-unknown, or the sources to build it from (packaging/bare-metal.sh),
# wasm-ld (in Debian: lld) and node.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/web
package=$out/tenslice
triple=wasm32-unknown-unknown
mkdir -p "$package/src"
# Optimizes for size, because the modules are downloaded.
export CARGO_PROFILE_SIZE_OPT_LEVEL=z

link() { # MODULE LIBRARY OPTIONS...: links the exported functions, without an entry point, with 1 MiB of stack
    wasm-ld --no-entry --gc-sections --strip-all -O2 --stack-first -z stack-size=1048576 "${@:3}" "$2" -o "$1"
}

packaging/bare-metal.sh $triple "$out/cargo" rustc --quiet --profile size --no-default-features --lib \
    --crate-type staticlib --features capi,panic-handler,formats,dequantize,zlib
exports=$(node web/build/exports.mjs)
# shellcheck disable=SC2086 # words
link "$package/tenslice.wasm" "$out/cargo/$triple/size/libtenslice.a" \
    --export=__heap_base --export-table --growable-table ${exports//tenslice_/--export=tenslice_}

# Zstandard needs an allocator. It is a separate module, which is loaded when a file needs it.
packaging/bare-metal.sh $triple "$out/cargo" rustc --quiet --profile size --manifest-path web/zstd/Cargo.toml --lib \
    --crate-type staticlib
link "$package/zstd.wasm" "$out/cargo/$triple/size/libtenslice_zstd.a" \
    --export=begin --export=decode --export=output --export=length

cp web/tenslice.mjs web/tenslice.d.ts web/package.json web/README.md LICENSE-* "$package/"
cp web/src/*.mjs "$package/src/"
FEATURES=formats,dequantize,zlib,zstd packaging/notices.sh "$package/third-party"
node web/build/page.mjs "$package" "$out/index.html"
for file in "$package"/*.wasm "$out"/index.html; do
    printf '%s: %d bytes, %d compressed\n' "$file" "$(stat -c %s "$file")" "$(gzip -9c "$file" | wc -c)"
done
