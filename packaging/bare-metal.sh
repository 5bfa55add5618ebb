#!/usr/bin/env bash
# Runs cargo for a target without an operating system: bare-metal.sh TARGET TARGET_DIR CARGO_ARGUMENTS...
#
# Takes the target's library if the toolchain has it (`rustup target add TARGET`), else builds `core` from source:
# that needs the sources beside the compiler (rust-src; in Debian rust-src or rust-web-src) and is still behind a flag.
set -euo pipefail
target=$1
folder=$2
shift 2

has_sources() { # RUSTC
    [ -f "$("$1" --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]
}

if [ -d "$(rustc --print target-libdir --target "$target" 2> /dev/null)" ]; then
    exec cargo "$@" --target "$target" --target-dir "$folder"
fi
for rustc in rustc /usr/bin/rustc; do
    if command -v $rustc > /dev/null && has_sources $rustc; then
        cargo=$(dirname "$(command -v $rustc)")/cargo
        RUSTC_BOOTSTRAP=1 RUSTC=$rustc exec "$cargo" "$@" --target "$target" --target-dir "$folder" -Zbuild-std="${BUILD_STD:-core}"
    fi
done
echo "bare-metal: no library for $target, and no sources to build it from: rustup target add $target, or install rust-src" >&2
exit 1
