#!/usr/bin/env bash
# Builds the C libraries into FOLDER/release: lib.sh FOLDER. Called by the Makefile with RUST_TARGET, FEATURES, VERSION
# and SOVERSION in the environment. Builds only the static library if the linker for the target is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# Cargo's variable for the linker, such as CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER.
variable=CARGO_TARGET_$(echo "$RUST_TARGET" | tr 'a-z.-' 'A-Z__')_LINKER
if [ "$RUST_TARGET" != "$(rustc -vV | sed -n 's/^host: //p')" ] && [ -z "${!variable:-}" ]; then
    case $RUST_TARGET in
    x86_64-pc-windows-gnu) linker=x86_64-w64-mingw32-gcc ;;
    *-linux-gnu*)
        linker=${RUST_TARGET/-unknown/}-gcc
        linker=${linker/#riscv64gc-/riscv64-} # Debian's name
        ;;
    *) linker= ;;
    esac
    if [ -n "$linker" ] && command -v "$linker" > /dev/null; then
        export "$variable=$linker"
    else
        STATIC_ONLY=1
    fi
fi
. packaging/names.sh

folder=$1
built=$folder/$RUST_TARGET/release
types=staticlib
arguments=()
if [ -n "$shared" ]; then
    types=staticlib,cdylib
    for link in $links; do
        arguments+=(-C "link-arg=-Wl,$link")
    done
fi
# Naming the target keeps settings of the user from changing where the library is built. It is no_std on a host, too,
# and never has the default features, which would enable std.
packaging/bare-metal.sh "$RUST_TARGET" "$folder" rustc --quiet --locked --release --no-default-features --lib \
    --crate-type $types --features "capi,panic-handler,$FEATURES" -- ${arguments[@]+"${arguments[@]}"} # for bash 3.2

# Cargo has the procedural macros in the same folder.
mkdir -p "$folder/release"
find "$folder/release" -maxdepth 1 ! -type d ! -name '.*' -delete
for file in $static $shared $import; do
    cp "$built/$file" "$folder/release/"
done
case $shared in
*.so | *.dylib) ln -s "$shared" "$folder/release/$soname" ;;
esac
packaging/notices.sh "$folder/release/third-party"
# For install.sh, which has no compiler.
width=$("${RUSTC:-rustc}" --print cfg --target "$RUST_TARGET" | sed -n 's/^target_pointer_width="\(.*\)"/\1/p')
printf '%s\n' "RUST_TARGET=$RUST_TARGET" "STATIC_ONLY=${STATIC_ONLY:-}" "word=$((width / 8))" "FEATURES=$FEATURES" > "$folder/release/built"
