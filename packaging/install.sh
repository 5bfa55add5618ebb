#!/bin/sh
# Installs what `make lib` has built, or (with --uninstall) takes it away again. Called by the Makefile with
# LIB, VERSION, SOVERSION, PREFIX, DESTDIR and LIBDIR (relative to the prefix, however deep) in the environment.
set -eu
cd "$(dirname "$0")/.."

case /$LIBDIR/ in
//* | */./* | */../* | *[!A-Za-z0-9/._+-]*)
    echo "install: LIBDIR is a folder below PREFIX, such as lib/x86_64-linux-gnu: not \"$LIBDIR\"" >&2
    exit 2
    ;;
esac
case $PREFIX in
/*) ;;
"") [ -n "${DESTDIR:-}" ] || { echo "install: PREFIX is empty, and so is DESTDIR" >&2; exit 2; } ;;
*) echo "install: PREFIX must be absolute: $PREFIX" >&2; exit 2 ;;
esac
umask 022
root=${DESTDIR:-}$PREFIX
lib=$root/$LIBDIR
doc=$root/share/doc/tenslice

# One ../ for each folder from there up to the prefix, so that the tree may be moved as a whole.
up() {
    echo "$1" | sed -e 's|//*|/|g' -e 's|/$||' -e 's|[^/][^/]*|..|g'
}

if [ "${1:-}" = --uninstall ]; then
    rm -f "$root/include/tenslice.h" "$root/include/tenslice.hpp" "$lib/libtenslice.a" "$lib/libtenslice.so" \
        "$lib/libtenslice.so.$SOVERSION" "$lib/libtenslice.so.$VERSION" "$lib/pkgconfig/tenslice.pc"
    rm -rf "$root/include/tenslice" "$lib/cmake/tenslice" "$doc"
    exit 0
fi

configure() { # FILE FOLDER
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@SOVERSION@|$SOVERSION|g" -e "s|@LIBDIR@|$LIBDIR|g" \
        -e "s|@WORD@|$word|g" \
        -e "s|@PREFIX_FROM_PC@|$(up "$LIBDIR/pkgconfig")|g" -e "s|@PREFIX_FROM_CMAKE@|$(up "$LIBDIR/cmake/tenslice")|g" \
        "packaging/$1.in" > "$2/$1"
    chmod 644 "$2/$1"
}

# Bytes of a pointer: the fifth byte of an ELF file says 1 for 4, 2 for 8.
word=$(($(od -An -tu1 -j4 -N1 "$LIB/libtenslice.so") * 4))

mkdir -p "$root/include/tenslice" "$lib/pkgconfig" "$lib/cmake/tenslice" "$doc"
install -m 644 include/tenslice.h include/tenslice.hpp "$root/include"
install -m 644 include/tenslice/*.h "$root/include/tenslice"
install -m 644 "$LIB/libtenslice.a" "$lib"
install -m 755 "$LIB/libtenslice.so" "$lib/libtenslice.so.$VERSION"
ln -sf "libtenslice.so.$VERSION" "$lib/libtenslice.so.$SOVERSION"
ln -sf "libtenslice.so.$SOVERSION" "$lib/libtenslice.so"
configure tenslice.pc "$lib/pkgconfig"
configure tensliceConfig.cmake "$lib/cmake/tenslice"
configure tensliceConfigVersion.cmake "$lib/cmake/tenslice"
install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE examples/*.c examples/*.cpp "$doc"
install -m 644 include/README.md "$doc/ABI.md"
mkdir -p "$doc/docs"
install -m 644 docs/*.md "$doc/docs"
# The licences of what is linked in.
cp -r "$LIB/third-party" "$doc/"
