#!/usr/bin/env bash
# The SDK's libraries of all formats on other platforms: platforms.sh [musl | aarch64 | linux | windows | linking | chips]...
# Without arguments it tests all of them.
#
# examples/load.c prints the table of a file, and the C tests run: on x86_64 musl natively, on Linux of other machines in
# QEMU, on 64-bit Windows in Wine, static and shared. For MSVC and macOS (`linking`), whose C libraries are not available,
# LLVM's linkers link every function of the headers with stubs of the C library functions that are needed. For bare metal
# (`chips`), gcc links every function with the same stubs and its own libgcc.
#
# Called by the Makefile with VERSION in the environment. SDK=FOLDER is an SDK with all of these targets; otherwise
# `make sdk` builds what is needed in target/platforms. Prints a line for each missing tool; with TENSLICE_NO_SKIP=1 that
# is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

out=target/platforms
platforms=" ${*:-musl aarch64 linux windows linking chips} "
model=tests/fixtures/v1.2/converted_safetensors.zt
mkdir -p $out

wanted() { # PLATFORM
    [[ $platforms == *" $1 "* ]]
}
has() { # COMMAND...
    for tool; do command -v "$tool" > /dev/null || return 1; done
}
library() { # TARGET: sets $lib
    echo "== $1"
    case $1 in
    *-windows-msvc) lib=$sdk/lib/$1/tenslice.lib ;;
    *) lib=$sdk/lib/$1/libtenslice.a ;;
    esac
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

# Linux in QEMU: the target, the prefix of the compiler's name, and QEMU's name of the machine. Debian has no compilers for
# musl there. The libraries for musl call only what both C libraries have, so they are linked with the other one.
aarch64="aarch64-unknown-linux-gnu aarch64-linux-gnu aarch64"
linux="aarch64-unknown-linux-musl aarch64-linux-gnu aarch64
armv7-unknown-linux-gnueabihf arm-linux-gnueabihf arm
armv7-unknown-linux-musleabihf arm-linux-gnueabihf arm
riscv64gc-unknown-linux-gnu riscv64-linux-gnu riscv64
riscv64gc-unknown-linux-musl riscv64-linux-gnu riscv64"
linking="x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-apple-darwin"
# Bare metal: the target, and the compiler with its flags.
chips="thumbv6m-none-eabi arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb
thumbv7m-none-eabi arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb
thumbv7em-none-eabi arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=soft
thumbv7em-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
thumbv8m.base-none-eabi arm-none-eabi-gcc -mcpu=cortex-m23 -mthumb
thumbv8m.main-none-eabi arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -mfloat-abi=soft
thumbv8m.main-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16
riscv32imc-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32
riscv32imac-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32
riscv32imafc-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imafc -mabi=ilp32f"

sdk=${SDK:-$out/sdk/tenslice-$VERSION-sdk}
if [ -z "${SDK:-}" ]; then
    targets=
    for platform in $platforms; do
        case $platform in
        musl) targets+=" x86_64-unknown-linux-musl" ;;
        windows) targets+=" x86_64-pc-windows-gnu" ;;
        linking) targets+=" $linking" ;;
        aarch64 | linux | chips) targets+=" $(cut -d ' ' -f 1 <<< "${!platform}")" ;;
        *) echo "platforms: there is no platform $platform" >&2; exit 2 ;;
        esac
    done
    make --no-print-directory sdk SDK_TARGET=$out/sdk TARGETS="$(echo $targets)" FORMATS=
fi

# The table to compare with: the output on this machine.
make --no-print-directory lib
${CC:-cc} -std=gnu99 -Iinclude examples/load.c target/c/release/libtenslice.a -o $out/load
$out/load $model a.w > $out/table
[ "$(grep -c ' f32 \| f16 \| i64 ' $out/table)" -gt 0 ] || { cat $out/table; exit 1; }

if ! wanted musl; then
    :
elif has musl-gcc; then
    library x86_64-unknown-linux-musl
    musl-gcc -static -std=gnu99 -O2 -Iinclude examples/load.c "$lib" -o $out/load-musl
    prints_table $out/load-musl
    tests_on "" musl-gcc -static
else
    skip "x86_64 musl (musl-gcc is not installed)"
fi

for platform in aarch64 linux; do
    wanted $platform || continue
    while read -r target compiler machine; do
        has "$compiler-gcc" "qemu-$machine" || { skip "$target ($compiler-gcc or qemu-$machine is not installed)"; continue; }
        library "$target"
        "$compiler-gcc" -static -std=gnu99 -O2 -Iinclude examples/load.c "$lib" -o "$out/load-$machine"
        prints_table "qemu-$machine" "$out/load-$machine"
        if [ -e "${lib%.a}.so" ]; then
            "$compiler-gcc" -std=gnu99 -O2 -Iinclude examples/load.c "-L$(dirname "$lib")" -ltenslice -o "$out/load-$machine"
            prints_table "qemu-$machine" -L "/usr/$compiler" -E "LD_LIBRARY_PATH=$(realpath "$(dirname "$lib")")" "$out/load-$machine"
        elif [[ $target == *-gnu ]]; then
            echo "$target: no shared library" >&2
            exit 1
        fi
        tests_on "qemu-$machine" "$compiler-gcc" -static
    done <<< "${!platform}"
done

# Debian's package has no command for it.
wine=$(command -v wine64 || command -v wine || echo /usr/lib/wine/wine64)
if ! wanted windows; then
    :
elif has x86_64-w64-mingw32-gcc; then
    library x86_64-pc-windows-gnu
    mkdir -p $out/dll
    x86_64-w64-mingw32-gcc -std=c99 -O2 -Iinclude examples/load.c "$lib" -o $out/load.exe
    x86_64-w64-mingw32-gcc -std=c99 -O2 -Iinclude examples/load.c "${lib%.a}.dll.a" -o $out/dll/load.exe
    cp "$(dirname "$lib")/tenslice.dll" $out/dll/
    # Only the Windows libraries that every C program needs.
    x86_64-w64-mingw32-objdump -p $out/load.exe | sed -n 's/.*DLL Name: //p' | LC_ALL=C sort > $out/needs
    printf '%s\n' KERNEL32.dll msvcrt.dll | diff - $out/needs
    x86_64-w64-mingw32-objdump -p $out/dll/load.exe > $out/needs # not piped into grep, which stops reading
    grep -q 'DLL Name: tenslice.dll' $out/needs
    if [ -z "${SDK:-}" ]; then
        # Installs what `make lib` has built for the SDK.
        make --no-print-directory install RUST_TARGET=x86_64-pc-windows-gnu C_TARGET=$out/sdk/cargo/x86_64-pc-windows-gnu \
            PREFIX="$PWD/$out/windows"
        cmp $out/windows/bin/tenslice.dll $out/dll/tenslice.dll
        cmp $out/windows/lib/libtenslice.dll.a "${lib%.a}.dll.a"
    fi
    if [ -x "$wine" ]; then
        export WINEPREFIX=$PWD/$out/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
        mkdir -p "$WINEPREFIX"
        "$wine" $out/load.exe "$model" a.w > /dev/null 2>&1 # the first start fills the folder with 700 MB and prints messages
        prints_table "$wine" $out/load.exe
        prints_table "$wine" $out/dll/load.exe # the DLL is in the same folder
        tests_on "$wine" x86_64-w64-mingw32-gcc
        # A model in several files: by its index, by a folder, with a missing file.
        x86_64-w64-mingw32-gcc -std=c99 -O2 -Wall -Wextra -Werror -Iinclude host/tenslice_host.c c-tests/host.c "$lib" \
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
        # The server of Wine ends some seconds after the last program, and writes to its folder until then.
        "$(command -v wineserver || echo /usr/lib/wine/wineserver)" -w
        rm -rf $out/wine
    else
        skip "running programs for Windows (wine64 is not installed)"
    fi
else
    skip "Windows (x86_64-w64-mingw32-gcc is not installed)"
fi

# A program that takes the address of every function of the library. (Programs compile those of tenslice_host.h.)
{
    echo '#include "tenslice.h"'
    grep -rhoE '\btenslice_[a-z0-9_]+\(' include --include='*.h' --exclude=tenslice_host.h | tr -d '(' | sort -u > $out/functions
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
void __bzero(void *to, size_t size) { (void)to, (void)size; } /* on x86-64 */
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
    for target in $linking; do
        library $target
        case $target in
        *-windows-msvc)
            links_alone $target "${llvm}lld-link" /nodefaultlib /entry:every /subsystem:console /errorlimit:0 /out:$out/every.exe
            ;;
        *)
            machine=${target%%-*}
            machine=${machine/aarch64/arm64} # Apple's name
            links_alone "$machine-apple-macos11" "${llvm}ld64.lld" -arch "$machine" -platform_version macos 11.0 11.0 -e _every \
                --error-limit=0 -dead_strip -o $out/every
            ;;
        esac
    done
fi

if wanted chips; then
    while read -r target compiler; do
        read -ra compiler <<< "$compiler"
        has "${compiler[0]}" || { skip "$target (${compiler[0]} is not installed)"; continue; }
        library "$target"
        "${compiler[@]}" -std=c99 -ffreestanding -fno-builtin -O1 -Iinclude -nostdlib $out/every.c $out/stubs.c "$lib" -lgcc \
            -Wl,--gc-sections,-e,every,-z,noexecstack -o $out/every
    done <<< "$chips"
fi
echo "platforms: ok"
