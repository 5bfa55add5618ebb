#!/usr/bin/env bash
# The C library on other platforms. examples/load.c prints the table of a file on x86_64 musl (natively), aarch64 Linux
# (in QEMU) and 64-bit Windows (MinGW, in Wine, static and with the DLL). For MSVC and macOS, whose C libraries are not
# available, LLVM's linkers link every function of the headers with stubs of the C library functions that are needed.
#
# Prints a line for each missing tool; with TENSLICE_NO_SKIP=1 that is a failure. Without arguments it tests all
# platforms: platforms.sh [musl | aarch64 | windows | linking]...
set -euo pipefail
cd "$(dirname "$0")/.."

out=target/platforms
platforms=" ${*:-musl aarch64 windows linking} "
model=tests/fixtures/v1.2/converted_safetensors.zt
mkdir -p $out

skip() {
    echo "skipped: $1"
    if [ "${TENSLICE_NO_SKIP:-0}" = 1 ]; then
        echo "nothing may be skipped here" >&2
        exit 1
    fi
}
wanted() { # PLATFORM
    [[ $platforms == *" $1 "* ]]
}
has() { # COMMAND...
    for tool; do command -v "$tool" > /dev/null || return 1; done
}
library() { # TARGET: `make lib` for it, into $out/TARGET
    make --no-print-directory lib RUST_TARGET="$1" C_TARGET="$out/$1"
}
prints_table() { # COMMAND...: must print what the program for this machine prints
    "$@" "$model" a.w | tr -d '\r' > $out/printed
    diff $out/table $out/printed
}
tests_on() { # RUN COMPILE...: the tests that need only a C library
    for test in layout arguments handles overlap parts formats write; do
        "${@:2}" -std=c99 -O1 -Iinclude -Ic-tests "c-tests/$test.c" -x none "$lib" -lm -o $out/test.exe
        $1 $out/test.exe tests/fixtures
    done
}

# The table to compare with: the output on this machine.
make --no-print-directory lib
${CC:-cc} -std=gnu99 -Iinclude examples/load.c target/c/release/libtenslice.a -o $out/load
$out/load $model a.w > $out/table
[ "$(grep -c ' f32 \| f16 \| i64 ' $out/table)" -gt 0 ] || { cat $out/table; exit 1; }

if ! wanted musl; then
    :
elif has musl-gcc; then
    echo "== x86_64-unknown-linux-musl"
    library x86_64-unknown-linux-musl
    lib=$out/x86_64-unknown-linux-musl/release/libtenslice.a
    musl-gcc -static -std=gnu99 -O2 -Iinclude examples/load.c "$lib" -o $out/load-musl
    prints_table $out/load-musl
    tests_on "" musl-gcc -static
else
    skip "x86_64 musl (musl-gcc is not installed)"
fi

if ! wanted aarch64; then
    :
elif has aarch64-linux-gnu-gcc qemu-aarch64; then
    echo "== aarch64-unknown-linux-gnu"
    library aarch64-unknown-linux-gnu
    lib=$out/aarch64-unknown-linux-gnu/release/libtenslice.a
    for how in "$lib" "-L$(dirname "$lib") -ltenslice"; do
        # shellcheck disable=SC2086 # words
        aarch64-linux-gnu-gcc -std=gnu99 -O2 -Iinclude examples/load.c $how -o $out/load-aarch64
        prints_table qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$PWD/$(dirname "$lib")" $out/load-aarch64
    done
    tests_on "qemu-aarch64 -L /usr/aarch64-linux-gnu" aarch64-linux-gnu-gcc
else
    skip "aarch64 (aarch64-linux-gnu-gcc or qemu-aarch64 is not installed)"
fi

# Debian's package has no command for it.
wine=$(command -v wine64 || command -v wine || echo /usr/lib/wine/wine64)
if ! wanted windows; then
    :
elif has x86_64-w64-mingw32-gcc; then
    echo "== x86_64-pc-windows-gnu"
    library x86_64-pc-windows-gnu
    make --no-print-directory install RUST_TARGET=x86_64-pc-windows-gnu C_TARGET=$out/x86_64-pc-windows-gnu \
        PREFIX="$PWD/$out/windows"
    lib=$out/windows/lib/libtenslice.a
    x86_64-w64-mingw32-gcc -std=c99 -O2 -Iinclude examples/load.c $lib -o $out/load.exe
    x86_64-w64-mingw32-gcc -std=c99 -O2 -Iinclude examples/load.c $out/windows/lib/libtenslice.dll.a \
        -o $out/windows/bin/load.exe
    # Only the Windows libraries that every C program needs.
    x86_64-w64-mingw32-objdump -p $out/load.exe | sed -n 's/.*DLL Name: //p' | LC_ALL=C sort > $out/needs
    printf '%s\n' KERNEL32.dll msvcrt.dll | diff - $out/needs
    x86_64-w64-mingw32-objdump -p $out/windows/bin/load.exe > $out/needs # not piped into grep, which stops reading
    grep -q 'DLL Name: tenslice.dll' $out/needs
    if [ -x "$wine" ]; then
        export WINEPREFIX=$PWD/$out/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
        mkdir -p "$WINEPREFIX"
        "$wine" $out/load.exe "$model" a.w > /dev/null 2>&1 # the first start fills the folder with 700 MB and prints messages
        prints_table "$wine" $out/load.exe
        prints_table "$wine" $out/windows/bin/load.exe # the DLL is in the same folder
        tests_on "$wine" x86_64-w64-mingw32-gcc
        # A model in several files: by its index, by a folder, with a missing file.
        x86_64-w64-mingw32-gcc -std=c99 -O2 -Wall -Wextra -Werror -Iinclude host/tenslice_host.c c-tests/host.c $lib \
            -o $out/host.exe
        rm -rf $out/model && mkdir -p $out/model
        cp tests/fixtures/safetensors/rs_sharded* $out/model
        for path in $out/model/ $out/model/rs_sharded.safetensors.index.json; do
            "$wine" $out/host.exe $path dec.w | tr -d '\r' > $out/printed
            grep -q '^tensor dec.w in rs_sharded-00002-of-00002.safetensors$' $out/printed
            grep -q '^dec.w: [0-9]* bytes, sum [0-9]*$' $out/printed
        done
        rm $out/model/rs_sharded-00002-of-00002.safetensors
        "$wine" $out/host.exe $out/model dec.w | tr -d '\r' > $out/printed
        grep -q '^dec.w: rs_sharded-00002-of-00002.safetensors: the file is missing' $out/printed
    else
        skip "running programs for Windows (wine64 is not installed)"
    fi
else
    skip "Windows (x86_64-w64-mingw32-gcc is not installed)"
fi

# A program that takes the address of every function of the header.
{
    echo '#include "tenslice.h"'
    grep -rhoE '\btenslice_[a-z0-9_]+\(' include --include='*.h' | tr -d '(' | sort -u > $out/functions
    echo 'void *volatile sink; void every(void) {'
    sed 's/.*/    sink = (void *)(size_t)&;/' $out/functions
    echo '}'
} > $out/every.c
# All functions that a C library must provide. They are never run, so they do nothing.
cat > $out/stubs.c << 'C'
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size) { (void)from, (void)size; return to; }
void *memmove(void *to, const void *from, size_t size) { (void)from, (void)size; return to; }
void *memset(void *to, int value, size_t size) { (void)value, (void)size; return to; }
int memcmp(const void *a, const void *b, size_t size) { (void)a, (void)b, (void)size; return 0; }
#ifdef _WIN32
int _fltused;
void __chkstk(void) {}
#endif
#ifdef __APPLE__
void bzero(void *to, size_t size) { (void)to, (void)size; }
void memset_pattern16(void *to, const void *pattern, size_t size) { (void)to, (void)pattern, (void)size; }
int sysctlbyname(const char *name, void *old, size_t *size, void *new, size_t length)
{
    (void)name, (void)old, (void)size, (void)new, (void)length;
    return -1;
}
#endif
C
# With the stubs every function links. Without them linking must fail, and the linker must be told to list all errors.
links_alone() { # TARGET LINKER...
    for file in every stubs; do
        "${llvm}clang" --target="$1" -ffreestanding -fno-builtin -O1 -Iinclude -c $out/$file.c -o $out/$file.o
    done
    "${@:2}" $out/every.o $out/stubs.o "$lib"
    if "${@:2}" $out/every.o "$lib" 2> $out/log; then
        echo "$1 links without memcpy" >&2
        exit 1
    fi
    grep -q 'undefined symbol: _*memcpy$' $out/log
}

llvm= # in Debian ld64.lld has a different name in every version
for folder in "" $(ls -d /usr/lib/llvm-*/bin 2> /dev/null | sort -rV); do
    if has "${folder:+$folder/}clang" "${folder:+$folder/}ld64.lld" "${folder:+$folder/}lld-link"; then
        llvm=${folder:+$folder/}
        break
    fi
done
if ! wanted linking; then
    :
elif [ -z "$llvm" ] && ! has clang ld64.lld lld-link; then
    skip "linking for MSVC and Apple (clang or lld is not installed)"
else
    echo "== x86_64-pc-windows-msvc"
    library x86_64-pc-windows-msvc
    lib=$out/x86_64-pc-windows-msvc/release/tenslice.lib
    links_alone x86_64-pc-windows-msvc "${llvm}lld-link" /nodefaultlib /entry:every /subsystem:console \
        /errorlimit:0 /out:$out/every.exe
    echo "== aarch64-apple-darwin"
    library aarch64-apple-darwin
    lib=$out/aarch64-apple-darwin/release/libtenslice.a
    links_alone arm64-apple-macos11 "${llvm}ld64.lld" -arch arm64 -platform_version macos 11.0 11.0 -e _every \
        --error-limit=0 -dead_strip -o $out/every
fi
rm -rf $out/wine
echo "platforms: ok"
