#!/usr/bin/env bash
# Uses the tarball of `make sdk` as programs without Rust do: in an empty folder, with neither cargo nor rustc in PATH.
# Called by the Makefile with VERSION in the environment.
#
# The tarball needs this host, a library of safetensors alone, zTensor in the library of all formats, and a Cortex-M: each
# that it has is tested. A missing tool is skipped with a message, which is a failure with TENSLICE_NO_SKIP=1.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

top=$PWD
tarball=$top/target/sdk/tenslice-$VERSION-sdk.tar.gz
host=$(rustc -vV | sed -n 's/^host: //p')
m4f=thumbv7em-none-eabihf m0=thumbv6m-none-eabi
model=$top/tests/fixtures/safetensors/py_tiny_mlp.safetensors
zt=$top/tests/fixtures/v1.2/converted_safetensors.zt
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() { # TEXT
    echo "sdk: $1" >&2
    exit 1
}
has() { # COMMAND...
    for tool; do command -v "$tool" > /dev/null || return 1; done
}
quiet() { # COMMAND...: prints its output only if it fails
    "$@" > "$out/log" 2>&1 || { cat "$out/log" >&2; fail "failed: $*"; }
}
answers() { # PROGRAM: must read the model correctly
    "$@" "$model" fc1.bias | grep -q 'fc1.bias: .*the first' || fail "$* does not answer"
}

# Folders with cargo or rustc are replaced by links to everything else in them.
path=
count=0
IFS=: read -ra folders <<< "$PATH"
for folder in "${folders[@]}"; do
    if [ -e "$folder/cargo" ] || [ -e "$folder/rustc" ]; then
        links=$out/bin$((count += 1))
        mkdir "$links"
        find "$folder" -maxdepth 1 ! -type d ! -name 'cargo*' ! -name 'rust*' -exec ln -s -t "$links" {} +
        folder=$links
    fi
    path+=${path:+:}$folder
done
PATH=$path
export PATH
hash -r
if has cargo || has rustc; then
    fail "cargo is still there"
fi

tar -xzf "$tarball" -C "$out"
sdk=$out/tenslice-$VERSION-sdk
(cd "$sdk" && sha256sum --quiet -c SHA256SUMS)

echo "== archives"
for archive in "$sdk"/lib/*/*tenslice*.{a,lib}; do
    case $archive in *'*'* | *.dll.*) continue ;; esac
    # MSVC's constants are named by their bytes, and merged by the linker.
    llvm-nm --extern-only --defined-only --just-symbol-name "$archive" 2> /dev/null | grep -vE '^$|:$' \
        | sed 's/^_\(tenslice\)/\1/' > "$out/names"
    [ "$(grep -c '^tenslice_file_open$' "$out/names")" = 1 ] || fail "$archive: no tenslice_file_open"
    if grep -vE '^tenslice_|^__(real|[xyz]mm)@[0-9a-f]+$' "$out/names"; then
        fail "$archive defines more than tenslice_*"
    fi
done
chips=$(cd "$sdk/lib" && echo thumb*)
[ -d "$sdk/lib/${chips%% *}" ] && [ -s "$sdk/lib/$host/libtenslice-safetensors.a" ] \
    || fail "the tarball has too few libraries for this test"
python3 - "$sdk/tenslice.spdx.json" << 'PYTHON'
import json, sys
sbom = json.load(open(sys.argv[1]))
names = {package["name"] for package in sbom["packages"]}
ids = {package["SPDXID"] for package in sbom["packages"]} | {"SPDXRef-DOCUMENT"}
assert sbom["spdxVersion"] == "SPDX-2.3" and {"tenslice", "zerocopy", "heapless", "core"} <= names, names
assert not names & {"zstd-sys", "syn", "serde_json"}, names
assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= ids for r in sbom["relationships"])
PYTHON
links=0
for page in README.md docs/*.md; do
    while read -r link; do
        [ -e "$sdk/$(dirname "$page")/$link" ] || fail "$page links to $link, which the tarball lacks"
        links=$((links + 1))
    done < <(grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/.$//')
done
[ $links -gt 100 ] || fail "only $links links were found in the docs" # the search works
[ -s "$sdk/third-party/zerocopy-LICENSE-MIT" ] && [ -s "$sdk/lib/COMPILERS" ] || fail "licences or compilers are missing"

# The C program of README.md with its own command, and with each block of commands of docs/c-library.md.
echo "== README.md and docs/c-library.md"
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md > "$out/program.c"
sed -n 's/^`\(cc -Isdk.*\)`$/\1/p' README.md > "$out/step1.sh"
awk -v out="$out/step" '/^## / { here = $0 == "## Without Rust" } /^```sh$/ && here { file = out (++count + 1) ".sh"; next }
    /^```$/ { file = "" } file { print > file }' docs/c-library.md
[ -s "$out/step1.sh" ] && [ -s "$out/step3.sh" ] || fail "README.md or docs/c-library.md has no commands"
ln -s "$sdk" "$out/sdk"
for step in "$out"/step*.sh; do
    sed -i "s/x86_64-unknown-linux-gnu/$host/" "$step"
    if grep -q pkg-config "$step" && ! has pkg-config arm-none-eabi-gcc; then
        skip "docs/c-library.md: pkg-config (it or arm-none-eabi-gcc is not installed)"
        continue
    fi
    rm -f "$out/program"
    (cd "$out" && SDK=$sdk quiet bash -euo pipefail "$step")
    first=$("$out/program")
    [[ $first =~ ^-?[0-9.e+-]+$ ]] || fail "the program of README.md printed: $first, built with: $(cat "$step")"
done

if has pkg-config; then
    echo "== pkg-config"
    export PKG_CONFIG_PATH=$sdk/lib/pkgconfig
    # shellcheck disable=SC2046 # words
    {
        ${CC:-cc} examples/cmake/main.c $(pkg-config --cflags --libs tenslice) -o "$out/shared"
        LD_LIBRARY_PATH=$sdk/lib/$host answers "$out/shared"
        readelf -d "$out/shared" | grep -q 'NEEDED.*libtenslice.so.0.1'
        ${CC:-cc} examples/cmake/main.c -static $(pkg-config --cflags --libs --static tenslice) -o "$out/static"
        answers "$out/static"
        ${CC:-cc} examples/cmake/main.c $(pkg-config --cflags --libs tenslice-safetensors) -o "$out/one"
        answers "$out/one"
    }
    "$out/static" "$zt" a.w > /dev/null || fail "the library of all formats does not read zTensor"
    if "$out/one" "$zt" a.w; then
        fail "the library of safetensors reads zTensor"
    fi
    [ "$(pkg-config --variable=target tenslice)" = "$host" ] || fail "pkg-config: not the host's library"
    [[ $(pkg-config --variable=features tenslice-safetensors) == safetensors* ]] || fail "pkg-config: wrong features"
    pkg-config --define-variable=target=$m0 --libs tenslice-safetensors > "$out/log"
    grep -q "/lib/$m0 -ltenslice-safetensors" "$out/log" || fail "pkg-config: not for the chip: $(cat "$out/log")"
    pkg-config --define-variable=target=aarch64-apple-darwin --define-variable=unused=-Wl,-dead_strip --libs \
        tenslice-safetensors > "$out/log"
    grep -q -e "-Wl,-dead_strip" "$out/log" || fail "pkg-config: not for macOS: $(cat "$out/log")"
    if grep -q gc-sections "$out/log"; then
        fail "pkg-config: --gc-sections for macOS"
    fi
    if has meson ninja; then
        echo "== Meson"
        mkdir "$out/meson"
        cp examples/cmake/main.c "$out/meson/"
        printf '%s\n' "project('reads', 'c')" \
            "executable('reads', 'main.c', dependencies: dependency('tenslice-safetensors', version: '>=0.1'))" \
            > "$out/meson/meson.build"
        quiet meson setup "$out/meson/build" "$out/meson"
        quiet ninja -C "$out/meson/build"
        answers "$out/meson/build/reads"
    else
        skip "Meson (not installed)"
    fi
else
    skip "pkg-config and Meson (not installed)"
fi

project() { # NAME LINE...: a project of main.c with these lines
    mkdir -p "$out/$1"
    cp examples/cmake/main.* "$out/$1/"
    printf '%s\n' "cmake_minimum_required(VERSION 3.16)" "project($1 C CXX)" "${@:2}" > "$out/$1/CMakeLists.txt"
}
configure() { # NAME CMAKE_ARGUMENTS...: into a new folder, with the output in $out/log
    rm -rf "$out/$1/build"
    cmake -S "$out/$1" -B "$out/$1/build" -DCMAKE_PREFIX_PATH="$sdk" "${@:2}" > "$out/log" 2>&1
}
refuses() { # TEXT NAME CMAKE_ARGUMENTS...: configuring must fail with that text
    if configure "${@:2}"; then
        fail "CMake accepts ${*:2}"
    fi
    grep -qF -- "$1" <<< "$(tr -s ' \n' ' ' < "$out/log")" || { cat "$out/log" >&2; fail "not said: $1"; }
}
chip_files() { # FOLDER FLAGS: the program of docs/firmware.md, as a CMake project with a toolchain file
    examples/firmware/guide.sh "$1"
    cat > "$1/chip.cmake" << CMAKE
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "$2")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
CMAKE
    cat > "$1/CMakeLists.txt" << 'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(firmware C)
find_package(tenslice 0.1 REQUIRED COMPONENTS safetensors)
add_executable(firmware.elf main.c startup.c)
target_compile_options(firmware.elf PRIVATE -std=c99 -Os -g -Wall -Wextra -ffreestanding -ffunction-sections -fdata-sections)
target_link_options(firmware.elf PRIVATE -nostdlib -T ${CMAKE_SOURCE_DIR}/chip.ld -Wl,-z,noexecstack)
target_link_libraries(firmware.elf PRIVATE tenslice::safetensors c_nano gcc)
CMAKE
}
quantized() { # FILE: what `tenslice quantize` writes in docs/firmware.md, without the tool
    python3 - "$1" << 'PYTHON'
import json, math, struct, sys
header = json.dumps({
    "dense.bias": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
    "dense.weight_scale": {"dtype": "F32", "shape": [4], "data_offsets": [16, 32]},
    "dense.weight": {"dtype": "I8", "shape": [4, 16], "data_offsets": [32, 96]},
}).encode()
header += b" " * (-len(header) % 8)
weights = [round(127 * math.cos(2 * math.pi * tone * i / 16)) for tone in (1, 2, 3, 4) for i in range(16)]
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<Q", len(header)) + header + struct.pack("<8f64b", *[0] * 4, *[1 / 127] * 4, *weights))
PYTHON
}
runs() { # FOLDER MACHINE ADDRESS: must detect the tone
    quantized "$1/int8.safetensors"
    (cd "$1" && python3 image.py int8.safetensors 1 && timeout 20 qemu-system-arm -M "$2" -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel build/firmware.elf \
        -device "loader,file=weights.bin,addr=$3,force-raw=on" > printed 2>&1) || { cat "$1/printed" >&2; fail "$1 failed"; }
    echo 'row 2, thousandths: 7999' | diff - "$1/printed"
}
flash() { # ELF: what docs/firmware.md measures
    arm-none-eabi-size "$1" | awk 'END { print $1 + $2 }'
}

if has cmake; then
    echo "== CMake"
    project several "find_package(tenslice 0.1 REQUIRED COMPONENTS safetensors shared)" \
        "if(NOT tenslice_FEATURES MATCHES \"safetensors|formats\")" "  message(FATAL_ERROR \"\${tenslice_FEATURES}\")" "endif()" \
        "add_executable(with_static main.c)" "target_link_libraries(with_static PRIVATE tenslice::tenslice)" \
        "add_executable(with_one main.c)" "target_link_libraries(with_one PRIVATE tenslice::safetensors)" \
        "add_executable(with_shared main.c)" "target_link_libraries(with_shared PRIVATE tenslice::shared)" \
        "add_executable(in_cpp main.cpp)" "target_compile_features(in_cpp PRIVATE cxx_std_17)" \
        "target_link_libraries(in_cpp PRIVATE tenslice::safetensors)"
    configure several || { cat "$out/log" >&2; fail "CMake does not find the SDK"; }
    quiet cmake --build "$out/several/build"
    for program in with_static with_one with_shared in_cpp; do
        answers "$out/several/build/$program"
    done
    refuses "but for" several -DTENSLICE_TARGET=no-such-machine
    grep -q "$host" "$out/log" || fail "an unknown target: those of the SDK are not listed"
    configure several -DTENSLICE_TARGET="$host" || fail "TENSLICE_TARGET is not taken"
    project unknown "find_package(tenslice 0.1 REQUIRED COMPONENTS onnx)" "add_executable(program main.c)"
    refuses "There is no component \"onnx\" for $host, but tenslice (all formats), " unknown
    grep -q safetensors "$out/log" || fail "an unknown component: the formats are not listed"
    project newer "find_package(tenslice 0.2 REQUIRED)"
    refuses "0.1" newer
    # All of them have tenslice_file_open, and only one can win.
    project both "find_package(tenslice 0.1 REQUIRED)" "add_executable(program main.c)" \
        "target_link_libraries(program PRIVATE tenslice::tenslice tenslice::safetensors)"
    refuses TENSLICE_LIBRARY both

    # The target of each compiler and its flags, in a script: no compiler is needed.
    derives() { # TARGET SYSTEM PROCESSOR FLAGS [TRIPLE]
        cat > "$out/derive.cmake" << CMAKE
include("$sdk/lib/cmake/tenslice/target.cmake")
set(CMAKE_SYSTEM_NAME $2)
set(CMAKE_SYSTEM_PROCESSOR "$3")
set(CMAKE_C_FLAGS "$4")
set(CMAKE_C_COMPILER_TARGET "${5:-}")
function(get_directory_property out)
  set(\${out} "" PARENT_SCOPE)
endfunction()
_tenslice_derive_target(target)
if(NOT "\${target}" STREQUAL "$1")
  message(FATAL_ERROR "not $1 but \${target}: $*")
endif()
CMAKE
        cmake -P "$out/derive.cmake" || fail "the target of $*"
    }
    derives $m0 Generic arm "-mcpu=cortex-m0plus -mthumb"
    derives $m0 Generic arm "-mthumb -march=armv6-m"
    derives $m0 Generic cortex-m0 ""
    derives thumbv7m-none-eabi Generic arm "-mcpu=cortex-m3 -mthumb"
    derives thumbv7em-none-eabi Generic arm "-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16"
    derives $m4f Generic arm "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16"
    derives $m4f Generic arm "-march=armv7e-m+fp -mfloat-abi=hard"
    derives $m4f Generic arm "" thumbv7em-none-eabihf
    derives thumbv8m.base-none-eabi Generic arm "-mcpu=cortex-m23"
    derives thumbv8m.main-none-eabi Generic arm "-mcpu=cortex-m33+nodsp -mfloat-abi=soft"
    derives thumbv8m.main-none-eabihf Generic arm "-mcpu=cortex-m55 -mfloat-abi=hard"
    derives "" Generic arm "-mcpu=cortex-m3 -mfloat-abi=hard"
    derives "" Generic arm "-mcpu=cortex-a9"
    derives "" Generic avr ""
    derives riscv32imc-unknown-none-elf Generic riscv "-march=rv32imc_zicsr_zifencei -mabi=ilp32"
    derives riscv32imac-unknown-none-elf Generic riscv "-march=rv32imac_zicsr -mabi=ilp32"
    derives riscv32imafc-unknown-none-elf Generic riscv "-march=rv32imafc -mabi=ilp32f"
    derives riscv32imac-unknown-none-elf Generic riscv "-march=rv32gc -mabi=ilp32"
    derives "" Generic riscv "-march=rv32gc -mabi=ilp32d"
    derives wasm32-unknown-unknown Generic wasm32 ""
    derives aarch64-unknown-linux-gnu Linux aarch64 ""
    derives aarch64-unknown-linux-musl Linux aarch64 "" aarch64-linux-musl
    derives armv7-unknown-linux-gnueabihf Linux armv7l ""
    derives riscv64gc-unknown-linux-gnu Linux riscv64 ""
    derives x86_64-pc-windows-gnu Windows AMD64 ""
    derives aarch64-apple-darwin Darwin arm64 ""
else
    skip "CMake (not installed)"
fi

if has cmake arm-none-eabi-gcc qemu-system-arm; then
    echo "== chips"
    # Calls functions of the compiler's library, which the archive must not change.
    cat > "$out/helpers.c" << 'C'
#include <tenslice.h>
volatile double number = 1.5;
volatile unsigned long long divisor = 3;
int main(void)
{
#ifdef WITH
    static char model[64];
    tenslice_file file;
    if (tenslice_file_open(&file, model, sizeof model, NULL) == TENSLICE_OK) return 1;
#endif
    return (int)((float)number + (float)number * (float)number / 3.0f) + (int)(number / 3) + (int)(1000u / (unsigned)divisor)
        + (int)(1000u / divisor);
}
C
    for target in $chips; do
        machine=mps2-an386 start=0x00000000 weights=0x00200000 ram=0x20000000
        case $target in
        thumbv6m-*) machine=microbit weights=0x00030000 flags="-mcpu=cortex-m0" ;;
        thumbv7m-*) machine=mps2-an385 flags="-mcpu=cortex-m3" ;;
        thumbv7em-*hf) flags="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" ;;
        thumbv7em-*) flags="-mcpu=cortex-m4 -mfloat-abi=soft" ;;
        thumbv8m.base-*) flags="-mcpu=cortex-m23" ;; # QEMU has no M23: the M33 runs its instructions, too
        thumbv8m.main-*hf) flags="-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" ;;
        thumbv8m.main-*) flags="-mcpu=cortex-m33 -mfloat-abi=soft" ;;
        esac
        case $target in
        thumbv8m*) machine=mps2-an505 start=0x10000000 weights=0x10200000 ram=0x38000000 ;;
        esac
        flags+=" -mthumb"
        folder=$out/$target
        chip_files "$folder" "$flags"
        # The memory of the machine.
        sed -i -e "s/ORIGIN = 0x00000000/ORIGIN = $start/" -e "s/ORIGIN = 0x00200000/ORIGIN = $weights/" \
            -e "s/ORIGIN = 0x20000000/ORIGIN = $ram/" "$folder/chip.ld"
        [ $machine != microbit ] || sed -i -e 's/LENGTH = 1M/LENGTH = 192K/' -e '/RAM (rwx)/s/LENGTH = 64K/LENGTH = 16K/' "$folder/chip.ld"
        configure "$target" --toolchain "$folder/chip.cmake" || { cat "$out/log" >&2; fail "CMake: $target"; }
        quiet cmake --build "$folder/build"
        runs "$folder" $machine $weights
        flash=$(flash "$folder/build/firmware.elf")
        echo "the program of docs/firmware.md for $target: $flash bytes of flash"
        limit=15000
        [[ $target == *hf ]] || limit=17500 # with the floating point of libgcc
        [ "$flash" -le $limit ] || fail "more than $limit bytes"

        for with in "" "-DWITH"; do
            # shellcheck disable=SC2086 # words
            arm-none-eabi-gcc $flags -Os -nostartfiles -e main --specs=nosys.specs $with -I"$sdk/include" \
                "$out/helpers.c" ${with:+"$sdk/lib/$target/libtenslice.a"} -Wl,--gc-sections,-z,noexecstack -o "$folder/helpers$with.elf" \
                2> "$out/log" || { cat "$out/log" >&2; fail "linking for $target"; }
            # Without addresses, which differ.
            for function in __aeabi_fadd __aeabi_fmul __aeabi_fdiv __udivsi3 __aeabi_uidiv __aeabi_ddiv __aeabi_uldivmod; do # some only on M0
                echo "$function"
                arm-none-eabi-objdump -d --disassemble=$function "$folder/helpers$with.elf" | sed -n 's/^ *[0-9a-f]*:\t//p' \
                    | sed -E 's/[0-9a-f]+ </</; /</s/^[0-9a-f ]*\t//; s/.*\.word.*/.word/'
            done > "$folder/helpers$with.txt"
        done
        [ "$(wc -l < "$folder/helpers.txt")" -gt 100 ] || fail "the helpers were not found"
        diff "$folder/helpers.txt" "$folder/helpers-DWITH.txt" || fail "the archive changes the compiler's functions: $target"
    done
else
    skip "chips (cmake, arm-none-eabi-gcc or qemu-system-arm is not installed)"
fi
echo "sdk: ok"
