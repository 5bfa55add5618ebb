#!/usr/bin/env bash
# Builds Debian packages from the source tarball: deb.sh OUT. OUT gets libtenslice-dev, the shared library, and the
# source folder with debian/. Called by the Makefile with VERSION and SOVERSION in the environment. DEB_MAINTAINER="Name
# <address>" names who builds them. The tool is not in the packages: the crates that only it needs are not in the
# tarball.
#
# Needs debhelper, and cargo in the version of Cargo.toml: on Debian 12 that is the package cargo-web.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$1
maintainer=${DEB_MAINTAINER:-The tenslice developers <tenslice@example.org>}
date=${SOURCE_DATE_EPOCH:-$(date +%s)}
rust=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
source=$out/tenslice-$VERSION
rm -rf "$out"
mkdir -p "$out"
cp "target/dist/tenslice-$VERSION-source.tar.gz" "$out/tenslice_$VERSION.orig.tar.gz"
tar -xzf "$out/tenslice_$VERSION.orig.tar.gz" -C "$out"

cp -r packaging/debian "$source/debian"
for file in install lintian-overrides; do
    mv "$source/debian/libtenslice.$file" "$source/debian/libtenslice$SOVERSION.$file"
done
# The functions of the recorded ABI: a function that is missing fails the build.
{
    echo "libtenslice.so.$SOVERSION libtenslice$SOVERSION #MINVER#"
    echo "* Build-Depends-Package: libtenslice-dev"
    sed -n "s/.*<elf-symbol name='\([^']*\)' type='func-type'.*/ \1@Base $VERSION/p" packaging/tenslice.abi | LC_ALL=C sort
} > "$source/debian/libtenslice$SOVERSION.symbols"
sed -i -e "s|@VERSION@|$VERSION|g" -e "s|@SOVERSION@|$SOVERSION|g" -e "s|@RUST@|$rust|g" -e "s|@MAINTAINER@|$maintainer|g" \
    -e "s|@DATE@|$(date -uR -d "@$date")|g" "$source/debian/control" "$source/debian/changelog" "$source"/debian/*.lintian-overrides

# The licences of the crates, in the format of Debian. Those that leave a choice are used under the MIT licence.
copyright=$source/debian/copyright
licence_text() { # NAME FILE: a paragraph with the text of a licence
    printf '\nLicense: %s\n' "$1"
    sed -e 's/[[:space:]]*$//' -e 's/^$/./' -e 's/^/ /' "$2"
}
for crate in "$source"/vendor/*; do
    name=$(basename "$crate")
    terms=$(sed -n 's/^license = "\(.*\)"$/\1/p' "$crate/Cargo.toml")
    case $terms in
    *" AND Unicode-3.0") used="Expat and Unicode-3.0" ;;
    *MIT*) used=Expat ;;
    BlueOak-1.0.0 | BSL-1.0) used=$terms ;;
    *) echo "deb: which licence is that of $name: $terms?" >&2; exit 1 ;;
    esac
    authors=$(awk '/^authors = \[/ { inside = 1 } inside { all = all $0 } inside && /\]/ { exit } END { print all }' \
        "$crate/Cargo.toml" | { grep -o '"[^"]*"' || true; } | tr -d '"' | paste -sd ';' | sed 's/;/, /g')
    printf '\nFiles: vendor/%s/*\nCopyright: %s\nLicense: %s\nComment: %s\n' "$name" "${authors:-the authors of $name}" "$used" \
        "Offered as $terms."
done >> "$copyright"
{
    licence_text Expat <(sed '1,/^Copyright/d; /./,$!d' LICENSE-MIT)
    printf '\nLicense: Apache-2.0\n On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n'
    licence_text BlueOak-1.0.0 "$source/vendor/minicbor/LICENSE.md"
    licence_text BSL-1.0 "$source/vendor/xxhash-rust/LICENSE"
    licence_text Unicode-3.0 "$source/vendor/unicode-ident/LICENSE-UNICODE"
} >> "$copyright"

# The tarball has no times, which no package may have.
find "$source" -exec touch -h -d "@$date" {} +
(cd "$source" && dpkg-buildpackage -us -uc -b)
ls "$out"/*.deb
