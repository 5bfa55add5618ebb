#!/bin/sh
# Installs the result of `make lib`, or removes it with --uninstall. Called by the Makefile with LIB, RUST_TARGET,
# VERSION, SOVERSION, PREFIX, DESTDIR and LIBDIR (relative to the prefix, of any depth) in the environment.
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
source=$root/share/tenslice

# One ../ for each folder up to the prefix, so that the tree may be moved as a whole.
up() {
    echo "$1" | sed -e 's|//*|/|g' -e 's|/$||' -e 's|[^/][^/]*|..|g'
}

# The target that was built, and its settings.
[ ! -f "$LIB/built" ] || . "$LIB/built"
. packaging/names.sh
case $RUST_TARGET in
*-windows-*) place=bin ;;
*) place=$LIBDIR ;;
esac
headers=$(cd include && find . -name '*.h' -o -name '*.hpp' | sed 's|^\./||')

if [ "${1:-}" = --uninstall ]; then
    for header in $headers; do
        rm -f "$root/include/$header"
    done
    rmdir "$root/include/tenslice" 2> /dev/null || true # missing, or has files of others
    for file in $static $shared $soname $full $import; do
        rm -f "$lib/$file" "$root/$place/$file"
    done
    rm -f "$lib/pkgconfig/tenslice.pc"
    rm -rf "$lib/cmake/tenslice" "$doc" "$source"
    exit 0
fi

configure() { # FILE FOLDER
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@SOVERSION@|$SOVERSION|g" -e "s|@LIBDIR@|$LIBDIR|g" \
        -e "s|@WORD@|$word|g" -e "s|@STATIC@|$static|g" -e "s|@SHARED@|$place/$full|g" -e "s|@SONAME@|$soname|g" \
        -e "s|@IMPORT@|$import|g" -e "s|@FEATURES@|${FEATURES:-}|g" \
        -e "s|@PREFIX_FROM_PC@|$(up "$LIBDIR/pkgconfig")|g" -e "s|@PREFIX_FROM_CMAKE@|$(up "$LIBDIR/cmake/tenslice")|g" \
        "packaging/$1.in" > "$2/$1"
    chmod 644 "$2/$1"
}

mkdir -p "$root/include" "$root/$place" "$lib/pkgconfig" "$lib/cmake/tenslice" "$doc" "$source"
for header in $headers; do
    mkdir -p "$root/include/$(dirname "$header")"
    install -m 644 "include/$header" "$root/include/$header"
done
install -m 644 "$LIB/$static" "$lib"
if [ -n "$shared" ]; then
    install -m 755 "$LIB/$shared" "$root/$place/$full"
    [ "$soname" = "$full" ] || ln -sf "$full" "$lib/$soname"
    [ "$shared" = "$full" ] || ln -sf "$soname" "$lib/$shared"
    [ -z "$import" ] || install -m 644 "$LIB/$import" "$lib"
fi
configure tenslice.pc "$lib/pkgconfig"
configure tensliceConfig.cmake "$lib/cmake/tenslice"
configure tensliceConfigVersion.cmake "$lib/cmake/tenslice"
install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE examples/*.c examples/*.cpp "$doc"
install -m 644 include/README.md "$doc/ABI.md"
install -m 644 host/tenslice_host.c "$source" # programs compile it: it needs their C library
mkdir -p "$doc/docs"
install -m 644 docs/*.md "$doc/docs"
# The licences of the linked crates.
cp -r "$LIB/third-party" "$doc/"
