#!/usr/bin/env bash
# Runs cargo for a target without an operating system: bare-metal.sh TARGET TARGET_DIR COMMAND ARGUMENTS...
#
# Uses the target's library if the toolchain has it (`rustup target add TARGET`). Otherwise builds `core` (for tests
# `std`) from source, which needs the compiler's sources (rust-src; in Debian rust-src or rust-web-src) and an unstable
# flag. Also works for systems whose library the toolchain lacks. With TARGET alone, only tells if it can be built for.
set -euo pipefail
target=$1
folder=${2:-}
command=${3:-}
shift $(($# < 3 ? $# : 3))

has_sources() { # RUSTC
    [ -f "$("$1" --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]
}

if [ -d "$(rustc --print target-libdir --target "$target" 2> /dev/null)" ]; then
    [ -n "$command" ] || exit 0
    exec "${CARGO:-cargo}" "$command" --target "$target" --target-dir "$folder" "$@"
fi
build=-Zbuild-std=core
case "$command $*" in
test*) build=-Zbuild-std ;; # std, which tests need
*zstd-ruzstd* | *zstd-c*) build=-Zbuild-std=core,alloc ;;
esac
export RUSTC_BOOTSTRAP=1
for rustc in rustc /usr/bin/rustc; do
    if command -v $rustc > /dev/null && has_sources $rustc; then
        [ -n "$command" ] || exit 0
        cargo=$(dirname "$(command -v $rustc)")/cargo
        flags=($build)
        case $target in
        thumb*)
            # Rust's description of a Cortex-M asks for a frame pointer in every function, which takes 5 % of the flash.
            # C compilers for these chips leave it out.
            description=$folder/targets/$target.json
            mkdir -p "$folder/targets"
            $rustc -Zunstable-options --print target-spec-json --target "$target" \
                | sed 's/"frame-pointer": "always"/"frame-pointer": "may-omit"/' > "$description.$$"
            mv "$description.$$" "$description"
            target=$description
            # Older versions of cargo need no such flag.
            if [[ $("$cargo" -Z help) == *json-target-spec* ]]; then flags+=(-Zjson-target-spec); fi
            ;;
        esac
        RUSTC=$rustc exec "$cargo" "$command" --target "$target" --target-dir "$folder" "${flags[@]}" "$@"
    fi
done
echo "bare-metal: no library for $target, and no sources to build it from: rustup target add $target, or install rust-src" >&2
exit 1
