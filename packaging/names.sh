# shellcheck shell=sh disable=SC2034 # read by lib.sh and install.sh, which have RUST_TARGET, VERSION and SOVERSION
# Names of a C library on the system of RUST_TARGET, and linker arguments.
#
#     static    the static library
#     shared    the shared library, as rustc writes it; empty if there is none, such as with STATIC_ONLY=1
#     soname    the name by which programs ask for it
#     full      the name under which it is installed
#     import    the library that programs link with instead, on Windows
#     links     arguments for the linker
static=libtenslice.a
import=
links=
case $RUST_TARGET in
*-windows-msvc)
    static=tenslice.lib shared=tenslice.dll soname=tenslice.dll full=tenslice.dll import=tenslice.dll.lib
    ;;
*-windows-*)
    shared=tenslice.dll soname=tenslice.dll full=tenslice.dll import=libtenslice.dll.a
    links=--no-insert-timestamp # the same sources give the same bytes
    ;;
*-apple-*)
    shared=libtenslice.dylib soname=libtenslice.$SOVERSION.dylib full=libtenslice.$VERSION.dylib
    links="-install_name,@rpath/$soname -dead_strip"
    ;;
*-none | *-none-* | wasm* | *-musl* | armv7-unknown-linux-*) # musl: rustc links static programs only; armv7: not without std's unwinding
    shared='' soname='' full=''
    ;;
*)
    shared=libtenslice.so soname=libtenslice.so.$SOVERSION full=libtenslice.so.$VERSION
    links="-z,defs -soname,$soname"
    ;;
esac
[ -z "${STATIC_ONLY:-}" ] || shared='' soname='' full='' import=''
