#!/usr/bin/env bash
# Builds target/web: the npm package in tenslice/, with its WebAssembly modules, and the page, index.html.
#
# Requires rustc with the library for wasm32-unknown-unknown, or the sources to build it from (packaging/bare-metal.sh),
# wasm-ld (in Debian: lld), node and npm, which fetches wasm-opt.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/web
package=$out/tenslice
triple=wasm32-unknown-unknown
rm -rf "$package"
mkdir -p "$package/src"
# Optimizes for size, because the modules are downloaded.
export CARGO_PROFILE_SIZE_OPT_LEVEL=z
exports=$(node web/build/exports.mjs)
wasm_opt=$out/node/node_modules/.bin/wasm-opt
[ -x $wasm_opt ] || npm install --silent --no-save --prefix $out/node binaryen@132.0.0

module() { # NAME FEATURES: builds a module with its formats and these features, and with the functions that they have
    local formats
    formats=$(node web/build/features.mjs "$1")
    packaging/bare-metal.sh $triple "$out/cargo" rustc --quiet --profile size --no-default-features --lib \
        --crate-type staticlib --features "capi,panic-handler,dequantize,$formats,$2"
    # No entry point, and 1 MiB of stack.
    # shellcheck disable=SC2086 # words
    wasm-ld --no-entry --gc-sections --strip-all -O2 --stack-first -z stack-size=1048576 \
        --export=__heap_base ${exports//tenslice_/--export-if-defined=tenslice_} \
        "$out/cargo/$triple/size/libtenslice.a" -o "$out/linked.wasm"
    # The features are those that rustc uses without being asked.
    $wasm_opt -Oz --enable-bulk-memory --enable-multivalue --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-reference-types --enable-sign-ext "$out/linked.wasm" -o "$package/$1"
}
module tenslice.wasm ""
# The code for chips is smaller. zTensor 2 has the quantized blocks of GGUF.
TENSLICE_SMALL=1 module networks.wasm zlib
TENSLICE_SMALL=1 module formats.wasm gguf,zlib,zstd

cp web/tenslice.mjs web/tenslice.d.ts web/package.json web/README.md LICENSE-* "$package/"
cp web/src/*.mjs "$package/src/"
FEATURES=formats,dequantize,zlib,zstd packaging/notices.sh "$package/third-party"
node web/build/page.mjs "$package" "$out/index.html"
for file in "$package"/*.wasm "$out/index.html"; do
    printf '%s: %d bytes, %d compressed\n' "$file" "$(stat -c %s "$file")" "$(gzip -9c "$file" | wc -c)"
done
