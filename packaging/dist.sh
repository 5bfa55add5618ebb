#!/usr/bin/env bash
# Makes target/dist/tenslice-VERSION.tar.gz: headers, and the static library prebuilt for this host and for bare
# metal, in lib/TARGET/. The same sources and compilers give the same bytes, in whatever folder. Called by the Makefile with
# VERSION and FEATURES in the environment; TARGETS= chooses others.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
targets=${TARGETS-"thumbv6m-none-eabi thumbv7em-none-eabi thumbv7em-none-eabihf riscv32imac-unknown-none-elf"}
name=tenslice-$VERSION
out=target/dist
tree=$out/$name
rm -rf "$tree"
mkdir -p "$tree/include" "$tree/lib/$host"

# Neither this folder nor the one of the dependencies shows in what is built.
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"$'\x1f'"--remap-path-prefix=$PWD=."
build="rustc --quiet --locked --no-default-features --lib --crate-type staticlib --features capi,panic-handler,$FEATURES"

# shellcheck disable=SC2086 # words
cargo $build --release --target "$host" --target-dir $out/host
cp "$out/host/$host/release/libtenslice.a" "$tree/lib/$host/"
FEATURES=$FEATURES packaging/notices.sh "$tree/third-party"
rustc -V > "$tree/lib/COMPILERS"
for target in $targets; do
    echo "dist: $target"
    mkdir -p "$tree/lib/$target"
    # shellcheck disable=SC2086 # words
    packaging/bare-metal.sh "$target" "$out/$target" $build --profile size
    strings -a "$out/$target/$target/size/libtenslice.a" | grep -m 1 -o 'rustc version.*' | sed "s|^|$target: |" >> "$tree/lib/COMPILERS" || true
    cp "$out/$target/$target/size/libtenslice.a" "$tree/lib/$target/"
done
cp -r include/tenslice.h include/tenslice.hpp include/tenslice "$tree/include/"
cp include/README.md "$tree/ABI.md"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$tree/"
cp -r docs "$tree/"
(cd "$tree" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum > SHA256SUMS)

tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C $out -cf - "$name" | gzip -n -9 \
    > "$out/$name.tar.gz"
(cd $out && sha256sum "$name.tar.gz")
