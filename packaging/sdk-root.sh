#!/usr/bin/env bash
# Adds the files of build systems to the tree of the SDK: sdk-root.sh TREE, with VERSION in the environment. Called by
# packaging/sdk.sh. Meson, vcpkg, Conan and Zephyr read them from the unpacked tarball.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1
choices=$(packaging/formats.sh | sed "s/.*/'&'/" | paste -sd ' ' | sed 's/ /, /g')
# A bool and a default for each format, in the language of Kconfig.
kconfig=$(packaging/formats.sh | awk '{ printf "config TENSLICE_FORMAT_%s\\n\\tbool \"%s\"\\n\\n", toupper($0), $0 }')
kconfig_libraries=$(packaging/formats.sh | awk '{ printf "%s\\tdefault \"tenslice-%s\" if TENSLICE_FORMAT_%s", NR == 1 ? "" : "\\n", $0, toupper($0) }')

fill() { # FILE DESTINATION
    mkdir -p "$(dirname "$tree/$2")"
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@CHOICES@|$choices|g" -e "s|@DIRECTORY@|tenslice-$VERSION-sdk|g" \
        -e "s|@KCONFIG@|$kconfig|" -e "s|@KCONFIG_LIBRARIES@|$kconfig_libraries|" "packaging/$1" > "$tree/$2"
    chmod 644 "$tree/$2"
}
fill meson/meson.build meson.build
fill meson/meson_options.txt meson_options.txt
fill meson/tenslice.wrap packaging/meson/tenslice.wrap
for file in module.yml Kconfig CMakeLists.txt; do
    fill zephyr/$file zephyr/$file
done
cp -r packaging/conan packaging/vcpkg "$tree/packaging/"
rm -rf "$tree/packaging/conan"/{__pycache__,test_package/build}
