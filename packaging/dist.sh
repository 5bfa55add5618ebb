#!/usr/bin/env bash
# Makes target/dist/tenslice-VERSION.tar.gz: headers, and prebuilt libraries in lib/TARGET/ for this host, other systems
# and bare metal. Includes the shared library if its linker is installed. The same sources and compilers give the same
# bytes in every folder. Called by the Makefile with VERSION, SOVERSION and FEATURES in the environment. TARGETS=
# selects other targets.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
targets=${TARGETS-"x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu aarch64-unknown-linux-musl
    x86_64-pc-windows-gnu x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-apple-darwin
    wasm32-unknown-unknown
    thumbv6m-none-eabi thumbv7em-none-eabi thumbv7em-none-eabihf riscv32imac-unknown-none-elf"}
name=tenslice-$VERSION
out=target/dist
tree=$out/$name
rm -rf "$tree"
mkdir -p "$tree/include" "$tree/lib"

# Removes the paths of this folder and of the dependencies from the results.
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"$'\x1f'"--remap-path-prefix=$PWD=."

rustc -V > "$tree/lib/COMPILERS"
for target in $(printf '%s\n' "$host" $targets | awk '!seen[$0]++'); do
    echo "dist: $target"
    mkdir -p "$tree/lib/$target"
    case $target in
    *-none | *-none-*)
        packaging/bare-metal.sh "$target" "$out/$target" rustc --quiet --locked --no-default-features --lib \
            --profile size --crate-type staticlib --features "capi,panic-handler,$FEATURES"
        cp "$out/$target/$target/size/libtenslice.a" "$tree/lib/$target/"
        ;;
    *)
        RUST_TARGET=$target packaging/lib.sh "$out/$target"
        find "$out/$target/release" -maxdepth 1 ! -type d ! -name built -exec cp -P {} "$tree/lib/$target/" \;
        ;;
    esac
    strings -a "$tree/lib/$target"/*tenslice.* | grep -m 1 -o 'rustc version [0-9.]* ([^)]*)' | sed "s|^|$target: |" \
        >> "$tree/lib/COMPILERS" || true
done
cp -r "$out/$host/release/third-party" "$tree/"
(cd include && find . \( -name '*.h' -o -name '*.hpp' \) -exec cp --parents {} "../$tree/include/" \;)
cp include/README.md "$tree/ABI.md"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$tree/"
cp -r docs "$tree/"
(cd "$tree" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum > SHA256SUMS)

tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C $out -cf - "$name" | gzip -n -9 \
    > "$out/$name.tar.gz"
(cd $out && sha256sum "$name.tar.gz")
