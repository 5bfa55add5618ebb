#!/usr/bin/env bash
# Adds the files of build systems to the tree of the SDK: sdk-root.sh TREE, with VERSION in the environment. Called by
# packaging/sdk.sh. Meson, vcpkg, Conan and Zephyr read them from the unpacked tarball.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1

mkdir -p "$tree"/{zephyr,packaging/meson}
for file in meson.build meson_options.txt; do
    packaging/fill.sh packaging/meson/$file > "$tree/$file"
done
packaging/fill.sh packaging/meson/tenslice.wrap > "$tree/packaging/meson/tenslice.wrap"
for file in module.yml Kconfig CMakeLists.txt; do
    packaging/fill.sh packaging/zephyr/$file > "$tree/zephyr/$file"
done
# Not what Conan leaves in the folder of its test.
for file in conan/conanfile.py conan/test_package/{conanfile.py,CMakeLists.txt,opens.c} vcpkg/{portfile.cmake,vcpkg.json}; do
    install -D -m 644 packaging/$file "$tree/packaging/$file"
done
