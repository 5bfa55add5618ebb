#!/usr/bin/env bash
# Makes target/dist/tenslice-VERSION-source.tar.gz: the sources of the C library, with the crates that it needs in
# vendor/, so that CMake (add_subdirectory, FetchContent), `make lib` and `make install` need no network. The same
# sources give the same bytes in every folder. Called by the Makefile with VERSION in the environment.
#
# Excluded are tests, benchmarks and their dependencies, and the feature `zstd-c`: a program that has libzstd gives the
# library a `tenslice_decoder`.
set -euo pipefail
cd "$(dirname "$0")/.."

name=tenslice-$VERSION
out=target/dist
tree=$out/source/$name
rm -rf "$tree"
mkdir -p "$tree/.cargo" "$tree/examples" "$tree/packaging" "$tree/host"

cp -r src include docs "$tree/"
cp host/*.c "$tree/host/"
cp CMakeLists.txt Makefile build.rs README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$tree/"
cp -r examples/*.c examples/*.cpp examples/cmake "$tree/examples/"
cp -r packaging/*.{sh,py,in,cmake} packaging/{sdk,conan,vcpkg,meson} "$tree/packaging/"
# Meson wants its files at the top.
rust=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
for file in meson.build meson_options.txt; do
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@RUST@|$rust|g" "packaging/meson/source/$file" > "$tree/$file"
done
sed -i "s|@DIRECTORY@|$name|" "$tree/packaging/meson/tenslice.wrap"
rm "$tree"/packaging/meson/meson* # of the SDK

# The workspace section stays, without members. Otherwise cargo would use the manifest of a surrounding project.
awk '
    /^#/ { comments = comments $0 "\n"; next } # a comment belongs to the line after it
    /^\[/ { kept = !/^\[(dev-dependencies|\[example\]|profile\.test|profile\.abi)/ }
    /^unexpected_cfgs = / { sub(/check-cfg = \[/, "&\"cfg(feature, values(\\\"zstd-c\\\"))\", ") }
    kept && !/^members = / && !/^zstd-(c|safe) = / { printf "%s%s\n", comments, $0 }
    { comments = "" }' Cargo.toml > "$tree/Cargo.toml"
cp Cargo.lock "$tree/"
(cd "$tree" && cargo vendor --quiet vendor > /dev/null)
# Only packages that the project is tested with.
packages() { # LOCKFILE
    awk -F '"' '/^name = / { name = $2 } /^version = / && name { print name, $2; name = "" }' "$1" | LC_ALL=C sort
}
if LC_ALL=C comm -13 <(packages Cargo.lock) <(packages "$tree/Cargo.lock") | grep .; then
    echo "dist-source: not in Cargo.lock" >&2
    exit 1
fi
cat > "$tree/.cargo/config.toml" << 'TOML'
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
TOML

tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$out/source" -cf - "$name" \
    | gzip -n -9 > "$out/$name-source.tar.gz"
megabytes=$(du -sm --apparent-size "$tree/vendor" | cut -f 1)
echo "dist-source: $(find "$tree/vendor" -mindepth 1 -maxdepth 1 | wc -l) crates, $megabytes MB"
(cd $out && sha256sum "$name-source.tar.gz")
