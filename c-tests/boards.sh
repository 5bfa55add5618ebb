#!/usr/bin/env bash
# Uses the SDK in the build systems of programs and boards: boards.sh SYSTEM..., of meson, vcpkg, conan, zephyr, espidf,
# arduino, platformio, cmsis, source and deb; all by default. `source` and `deb` need no SDK, and take minutes: they build
# the source tarball with Meson, vcpkg's port and Conan, and as Debian packages. Called by the Makefile with VERSION and
# SOVERSION in the environment.
#
# SDK=FOLDER is an unpacked SDK; otherwise target/sdk has one (make sdk). Tools from pip are in target/boards-venv. The
# functions that Zephyr, ESP-IDF and vcpkg provide are stubs in c-tests/boards. Prints a line for each tool or library
# that is missing; with TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

top=$PWD
sdk=${SDK:-$top/target/sdk/tenslice-$VERSION-sdk}
model=$top/tests/fixtures/v1.2/converted_safetensors.zt
safetensors=$top/tests/fixtures/safetensors/py_transformer.safetensors
venv=$top/target/boards-venv
out=$top/target/boards-test
stubs=$top/c-tests/boards
rm -rf "$out"
mkdir -p "$out"

fail() {
    echo "boards: $*" >&2
    exit 1
}
has() { # TOOL...: or skips
    local tool
    for tool in "$@"; do
        command -v "$tool" > /dev/null || { skip "$system ($tool is not installed)"; return 1; }
    done
}
library() { # TARGET NAME: the SDK has it, or skips
    [ -f "$sdk/lib/$1/lib$2.a" ] || { skip "$system for $1 (the SDK has no lib/$1/lib$2.a)"; return 1; }
}
quiet() { # COMMAND...: prints its output only if it fails
    "$@" > "$out/log" 2>&1 || { cat "$out/log" >&2; fail "failed: $*"; }
}
refuses() { # TEXT COMMAND...: must fail with that text
    if "${@:2}" > "$out/log" 2>&1 < /dev/null; then
        fail "not refused: ${*:2}"
    fi
    grep -qF -- "$1" <<< "$(tr -s ' \n' ' ' < "$out/log")" || { cat "$out/log" >&2; fail "not said: $1"; }
}
answers() { # PROGRAM: must read the model correctly
    "$@" "$model" a.w | grep -q 'a.w: .*the first' || fail "$* does not answer"
}
block() { # MARK FILE: writes the block of docs/build-systems.md that follows <!-- boards: MARK -->
    mkdir -p "$(dirname "$2")"
    awk -v mark="<!-- boards: $1 -->" '
        /^```/ && inside { exit }
        inside { print }
        $0 == mark { found = 1; next }
        /^```/ && found { inside = 1 }' docs/build-systems.md > "$2"
    [ -s "$2" ] || fail "docs/build-systems.md has no block $1"
}

# A chip's program: opens the bytes of a file, and finds a tensor.
chip_program() { # FOLDER
    mkdir -p "$1"
    block program "$1/main.c"
}
cortex_m4f="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"

test_meson() {
    has meson ninja || return 0
    local folder
    for folder in fallback get_variable; do
        library x86_64-unknown-linux-gnu tenslice || return 0
        block meson-$folder "$out/$folder/meson.build"
        cp examples/cmake/main.c "$out/$folder/"
        mkdir -p "$out/$folder/subprojects"
        ln -s "$sdk" "$out/$folder/subprojects/tenslice-$VERSION-sdk"
        cp "$sdk/packaging/meson/tenslice.wrap" "$out/$folder/subprojects/"
        (cd "$out/$folder" && quiet meson setup --wrap-mode forcefallback build && quiet ninja -C build)
        answers "$out/$folder/build/program"
    done
    (cd "$out/fallback" && refuses "is not in this SDK" meson setup --wrap-mode forcefallback -Dtenslice:target=pdp11 other)

    # The machine is derived from the compiler.
    ! command -v musl-gcc > /dev/null || CC=musl-gcc derives x86_64-unknown-linux-musl
    cross x86_64-pc-windows-gnu x86_64-w64-mingw32 windows x86_64 ""
    cross riscv32imc-unknown-none-elf riscv64-unknown-elf none riscv32 "'-march=rv32imc', '-mabi=ilp32'"
    cross riscv32imac-unknown-none-elf riscv64-unknown-elf none riscv32 "'-march=rv32imac', '-mabi=ilp32'"
    cross riscv32imafc-unknown-none-elf riscv64-unknown-elf none riscv32 "'-march=rv32imafc', '-mabi=ilp32f'"
    cross thumbv6m-none-eabi arm-none-eabi none arm "'-mcpu=cortex-m0plus', '-mthumb'"
    cross thumbv7m-none-eabi arm-none-eabi none arm "'-mcpu=cortex-m3', '-mthumb'"
    cross thumbv7em-none-eabi arm-none-eabi none arm "'-mcpu=cortex-m4', '-mthumb'"
    cross thumbv7em-none-eabihf arm-none-eabi none arm "'-mcpu=cortex-m7', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv5-d16'"
    cross thumbv8m.base-none-eabi arm-none-eabi none arm "'-mcpu=cortex-m23', '-mthumb'"
    cross thumbv8m.main-none-eabi arm-none-eabi none arm "'-mcpu=cortex-m33', '-mthumb', '-mfloat-abi=softfp'"
    cross thumbv8m.main-none-eabihf arm-none-eabi none arm "'-mcpu=cortex-m55', '-mthumb', '-mfloat-abi=hard'"

    has arm-none-eabi-gcc || return 0
    library thumbv7em-none-eabihf tenslice || return 0
    block meson-cross "$out/cross/cortex-m4f.ini"
    chip_program "$out/cross"
    cp "$out/get_variable/meson.build" "$out/cross/"
    cp -r "$out/get_variable/subprojects" "$out/cross/"
    (cd "$out/cross" && quiet meson setup --cross-file cortex-m4f.ini build && quiet ninja -C build)
    linked "$out/cross/build/program"
}
derives() { # TARGET ARGUMENTS...: Meson must pick the library of that target, or say that the SDK does not have it
    rm -rf "$out/fallback/other"
    if (cd "$out/fallback" && meson setup --wrap-mode forcefallback other "${@:2}") > "$out/log" 2>&1; then
        grep -q "target *: $1$" "$out/log" || { cat "$out/log" >&2; fail "Meson derived another target than $1"; }
    else
        grep -qF "lib/$1/libtenslice.a is not in this SDK" "$out/log" || { cat "$out/log" >&2; fail "Meson did not derive $1"; }
    fi
}
cross() { # TARGET PREFIX_OF_THE_COMPILER SYSTEM FAMILY FLAGS
    command -v "$2-gcc" > /dev/null || { skip "Meson for $1 ($2-gcc is not installed)"; return 0; }
    printf '%s\n' '[binaries]' "c = '$2-gcc'" "ar = '$2-ar'" "strip = '$2-strip'" '[built-in options]' "c_args = [$5]" \
        "c_link_args = ['-nostdlib']" '[host_machine]' "system = '$3'" "cpu_family = '$4'" "cpu = '$4'" "endian = 'little'" > "$out/cross.ini"
    derives "$1" --cross-file "$out/cross.ini"
}
linked() { # PROGRAM: has the library's code
    arm-none-eabi-nm "$1" | grep -q ' T tenslice_file_open$' || fail "$1 does not contain tenslice"
}

# The steps of the port, with stubs for vcpkg's functions: port FOLDER_OF_THE_TREE NAME
port() {
    quiet cmake "-DPORTFILE=$1/packaging/vcpkg/portfile.cmake" "-DPACKAGES=$out/$2/packages" "-DBUILD=$out/$2/cmake" \
        -P "$stubs/vcpkg.cmake"
    mv "$out/$2/packages" "$out/$2/moved" # nothing may depend on the old location
    block vcpkg "$out/$2/CMakeLists.txt"
    cp examples/cmake/main.c "$out/$2/"
    quiet cmake -S "$out/$2" -B "$out/$2/build" "-DCMAKE_PREFIX_PATH=$out/$2/moved"
    quiet cmake --build "$out/$2/build"
    answers "$out/$2/build/program"
    PKG_CONFIG_PATH=$out/$2/moved/lib/pkgconfig pkg-config --variable=features tenslice > "$out/log"
    grep -q safetensors "$out/log" || grep -q formats "$out/log" || fail "pkg-config does not know the features"
}
test_vcpkg() {
    has cmake pkg-config || return 0
    library x86_64-unknown-linux-gnu tenslice || return 0
    port "$sdk" vcpkg-sdk
}

# Conan itself, without a network, by the commands of the docs: conan_steps TREE MARK. The programs of its tests are in
# $out/MARK.
conan_steps() {
    export CONAN_HOME=$out/conan-home
    if [ ! -x "$out/bin/conan" ]; then
        mkdir -p "$out/bin"
        printf '#!/bin/sh\nexec "%s" "$@" --no-remote\n' "$venv/bin/conan" > "$out/bin/conan"
        chmod +x "$out/bin/conan"
        quiet "$venv/bin/conan" profile detect
    fi
    block "$2" "$out/$2.sh"
    (cd "$1" && PATH=$out/bin:$PATH quiet bash -euo pipefail "$out/$2.sh")
    mv "$1/packaging/conan/test_package/build" "$out/$2"
    rm -f "$1/packaging/conan/test_package/CMakeUserPresets.json"
    grep -q "this is not a known kind of tensor file" "$out/log" || fail "Conan's test package did not run"
}
test_conan() {
    has cmake "$venv/bin/conan" || return 0
    library x86_64-unknown-linux-gnu tenslice-safetensors && library thumbv7em-none-eabihf tenslice || return 0
    conan_steps "$sdk" conan-sdk
    local features name
    for name in tenslice tenslice-safetensors; do
        features=$(sed -n 's/^features=//p' "$sdk/lib/pkgconfig/$name.pc")
        grep -qF "tenslice has $features" "$out/log" || fail "Conan does not pass the features of $name on to CMake"
    done
    find "$out/conan-sdk" -name tenslice.pc -exec grep -hxF "features=$features" {} + > "$out/log" || fail "no features for pkg-config"
    refuses "is not known here" "$out/bin/conan" create "$sdk/packaging/conan" -s arch=sparc -tf ""
    refuses "has no tenslice-pickle" "$out/bin/conan" create "$sdk/packaging/conan" -o "tenslice/*:format=pickle" -tf ""
}

# Zephyr's Kconfig (kconfiglib), the schema of module.yml, and the CMake file with stubs of Zephyr's functions.
settings() { # TARGET SYMBOL...: Kconfig must choose that target for that core
    MODULE=$sdk quiet "$venv/bin/python" "$stubs/zephyr/settings.py" "$out/zephyr/prj.conf" "$out/zephyr/config" "${@:2}"
    grep -qxF "CONFIG_TENSLICE_TARGET=\"$1\"" "$out/zephyr/config" || fail "Kconfig: not $1 for ${*:2}"
}
application() { # NAME TARGET FLAGS SYMBOL...
    settings "$2" "${@:4}"
    if library "$2" tenslice-safetensors; then
        quiet cmake -S "$stubs/zephyr" -B "$out/zephyr/$1" -DCONFIG="$out/zephyr/config" -DMODULE="$sdk" -DAPP="$out/zephyr" \
            -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_C_COMPILER_WORKS=1 -DCMAKE_C_FLAGS="$3"
        quiet cmake --build "$out/zephyr/$1"
        linked "$out/zephyr/$1/app"
    fi
}
test_zephyr() {
    has cmake arm-none-eabi-gcc "$venv/bin/python" || return 0
    mkdir -p "$out/zephyr/src"
    chip_program "$out/zephyr/src"
    block zephyr-conf "$out/zephyr/prj.conf"
    quiet "$venv/bin/pykwalify" -d "$sdk/zephyr/module.yml" -s "$stubs/zephyr/module-schema.yml"

    application m4f thumbv7em-none-eabihf "$cortex_m4f" ARM CPU_CORTEX_M CPU_CORTEX_M4 FPU FP_HARDABI
    application m4 thumbv7em-none-eabi "-mcpu=cortex-m4 -mthumb" ARM CPU_CORTEX_M CPU_CORTEX_M4 FPU
    application m0 thumbv6m-none-eabi "-mcpu=cortex-m0 -mthumb" ARM CPU_CORTEX_M CPU_CORTEX_M0
    settings thumbv6m-none-eabi ARM CPU_CORTEX_M CPU_CORTEX_M0PLUS
    settings thumbv7m-none-eabi ARM CPU_CORTEX_M CPU_CORTEX_M3
    settings thumbv7em-none-eabihf ARM CPU_CORTEX_M CPU_CORTEX_M7 FPU FP_HARDABI
    settings thumbv8m.base-none-eabi ARM CPU_CORTEX_M ARMV8_M_BASELINE
    settings thumbv8m.main-none-eabi ARM CPU_CORTEX_M ARMV8_M_MAINLINE
    settings thumbv8m.main-none-eabihf ARM CPU_CORTEX_M ARMV8_M_MAINLINE FPU FP_HARDABI
    local m=RISCV_ISA_EXT_M a=RISCV_ISA_EXT_A c=RISCV_ISA_EXT_C
    settings riscv32imc-unknown-none-elf RISCV $m $c
    settings riscv32imac-unknown-none-elf RISCV $m $a $c
    settings riscv32imac-unknown-none-elf RISCV $m $a $c FPU
    settings riscv32imafc-unknown-none-elf RISCV $m $a $c FPU FLOAT_HARD
    settings "" RISCV $m $a $c FPU FLOAT_HARD CPU_HAS_FPU_DOUBLE_PRECISION
    settings "" RISCV $m $a $c RISCV_ISA_RV32E
    refuses "it must be a folder of" cmake -S "$stubs/zephyr" -B "$out/zephyr/none" -DCONFIG="$out/zephyr/config" \
        -DMODULE="$sdk" -DAPP="$out/zephyr" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc \
        -DCMAKE_C_COMPILER_WORKS=1
}

# The packages for boards, made twice: the bytes must be the same.
packages() {
    [ ! -d "$out/packages" ] || return 0
    quiet packaging/boards.sh "$sdk" "$out/packages"
    quiet packaging/boards.sh "$sdk" "$out/again"
    diff -r "$out/packages" "$out/again" > /dev/null || fail "packaging/boards.sh made other bytes the second time"
    rm -rf "$out/again"
}

# The component manager packs the component, and its CMake file links a program with stubs of ESP-IDF's functions.
test_espidf() {
    has cmake riscv64-unknown-elf-gcc "$venv/bin/compote" || return 0
    packages
    local component=$out/packages/esp-idf/tenslice folder=$out/espidf chip target flags
    chip_program "$folder"
    IDF_COMPONENT_CHECK_NEW_VERSION=0 quiet "$venv/bin/compote" component pack --name tenslice --project-dir "$component" \
        --dest-dir "$folder/packed"
    [ -s "$folder/packed/tenslice_$VERSION.tgz" ] || fail "compote packed nothing"
    block espidf-conf "$folder/sdkconfig.defaults"
    "$venv/bin/python" - "$component/Kconfig" "$folder/sdkconfig.defaults" "$folder/config" << 'PYTHON'
import sys, kconfiglib
kconfig = kconfiglib.Kconfig(sys.argv[1])
kconfig.load_config(sys.argv[2])
kconfig.write_config(sys.argv[3])
sys.exit("\n".join(kconfig.warnings) or None)
PYTHON
    for chip in c2 c3 c5 c6 c61 h2 p4; do
        case $chip in
        c[23]) target=riscv32imc-unknown-none-elf flags="-march=rv32imc -mabi=ilp32" ;;
        p4) target=riscv32imafc-unknown-none-elf flags="-march=rv32imafc -mabi=ilp32f" ;;
        *) target=riscv32imac-unknown-none-elf flags="-march=rv32imac -mabi=ilp32" ;;
        esac
        grep -q "esp32$chip$" "$component/idf_component.yml" || fail "idf_component.yml lacks esp32$chip"
        library $target tenslice-safetensors || continue
        quiet cmake -S "$stubs/esp-idf" -B "$folder/$chip" -DIDF_TARGET=esp32$chip -DCONFIG="$folder/config" -DAPP="$folder" \
            -DCOMPONENT="$component" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=riscv64-unknown-elf-gcc \
            -DCMAKE_C_COMPILER_WORKS=1 -DCMAKE_C_FLAGS="$flags -ffreestanding"
        quiet cmake --build "$folder/$chip"
        riscv64-unknown-elf-nm "$folder/$chip/app" | grep -q ' T tenslice_file_open$' || fail "esp32$chip: not linked"
    done
    for chip in esp32 esp32s2 esp32s3; do
        refuses "there is no library for $chip, whose Xtensa core" cmake -S "$stubs/esp-idf" -B "$folder/$chip" \
            -DIDF_TARGET=$chip -DCONFIG="$folder/config" -DAPP="$folder" -DCOMPONENT="$component" -DCMAKE_SYSTEM_NAME=Generic \
            -DCMAKE_C_COMPILER=riscv64-unknown-elf-gcc -DCMAKE_C_COMPILER_WORKS=1
    done
}

# Arduino's rules for precompiled libraries, which the builder applies to the flags of a board: sketch NAME MCU FPU ABI
sketch() {
    local library=$out/packages/arduino/tenslice folder=$out/arduino flags="-mcpu=$2 -mthumb" place=$2
    if [ -n "$3" ]; then
        flags="$flags -mfpu=$3 -mfloat-abi=$4"
        [ ! -d "$library/src/$2/$3-$4" ] || place=$2/$3-$4
    fi
    [ -f "$library/src/$place/libtenslice.a" ] || { skip "$system for $2 (no library in the package)"; return 0; }
    # shellcheck disable=SC2086 # words
    quiet arm-none-eabi-gcc $flags -std=gnu++11 -Os -fno-exceptions -fno-rtti -I"$stubs/arduino" -I"$library/src" \
        -x c++ -include Arduino.h "$library/examples/OpensModel/OpensModel.ino" "$stubs/arduino/main.cpp" -x none \
        -L"$library/src/$place" -ltenslice --specs=nosys.specs -Wl,--gc-sections -o "$folder/$1"
    linked "$folder/$1"
}
test_arduino() {
    has arm-none-eabi-g++ || return 0
    packages
    local library=$out/packages/arduino/tenslice field
    mkdir -p "$out/arduino"
    for field in name version author maintainer sentence paragraph category url architectures; do
        grep -q "^$field=." "$library/library.properties" || fail "library.properties lacks $field"
    done
    sketch zero cortex-m0plus "" ""                      # RP2040, SAMD21
    sketch nano33 cortex-m4 fpv4-sp-d16 softfp           # nRF52840 with Mbed
    sketch r4 cortex-m4 fpv4-sp-d16 hard                 # UNO R4, STM32F4
    sketch giga cortex-m7 fpv5-d16 softfp                # STM32H7 with Mbed
    sketch stm32h7 cortex-m7 fpv4-sp-d16 hard
    sketch due cortex-m3 "" ""
    if arm-none-eabi-g++ -fsyntax-only "$library/src/unsupported.cpp" 2> "$out/log"; then
        fail "a board without a library is not refused"
    fi
}

# PlatformIO's core itself, with a platform whose compiler is that of this system.
test_platformio() {
    has arm-none-eabi-gcc "$venv/bin/pio" || return 0
    packages
    library thumbv7em-none-eabihf tenslice-safetensors && library thumbv6m-none-eabi tenslice-safetensors || return 0
    local folder=$out/platformio package=$out/packages/platformio/tenslice
    export PLATFORMIO_CORE_DIR=$folder/home PLATFORMIO_SETTING_ENABLE_TELEMETRY=no
    chip_program "$folder/app/src"
    quiet "$venv/bin/python" "$stubs/platformio/core.py" "$folder/home" "$stubs/platformio/stub"
    quiet "$venv/bin/python" "$stubs/platformio/pack.py" "$package" "$folder/packed.tar.gz"
    {
        printf '[env]\nplatform = stub\nlib_extra_dirs = %s\n[env:m4f]\nboard = m4f\n[env:m0]\nboard = m0\n[env:none]\nboard = m0\n' \
            "$(dirname "$package")"
        printf 'custom_tenslice_target = pdp11\n'
        block platformio-option "$folder/option"
        awk '/^custom/ { print "[env:one]\nboard = m4f"; print }' "$folder/option"
    } > "$folder/app/platformio.ini"
    quiet "$venv/bin/pio" run --project-dir "$folder/app" -e m4f -e m0 -e one
    local board
    for board in m4f m0 one; do
        linked "$folder/app/.pio/build/$board/program.elf"
    done
    arm-none-eabi-size "$folder"/app/.pio/build/{one,m4f}/program.elf > "$out/log"
    awk 'NR == 2 { one = $1 } NR == 3 { exit one < $1 ? 0 : 1 }' "$out/log" || fail "the option does not pick another library"
    refuses "there is no tenslice for this board (pdp11)" "$venv/bin/pio" run --project-dir "$folder/app" -e none
}

# The description of the CMSIS-Pack is checked against PACK.xsd if PACK_XSD names it: no registry has it.
test_cmsis() {
    has python3 || return 0
    packages
    python3 - "$out/packages/cmsis/tenslice" << 'PYTHON'
import pathlib, sys, xml.etree.ElementTree
folder = pathlib.Path(sys.argv[1])
root = xml.etree.ElementTree.parse(folder / "tenslice.tenslice.pdsc").getroot()
conditions = {condition.get("id") for condition in root.iter("condition")}
for file in root.iter("file"):
    assert (folder / file.get("name")).exists(), file.get("name")
for element in root.iter():
    assert element.get("condition") is None or element.get("condition") in conditions, element.get("condition")
assert len(list(root.iter("component"))) >= 2
PYTHON
    if [ -n "${PACK_XSD:-}" ]; then
        quiet xmllint --noout --schema "$PACK_XSD" "$out/packages/cmsis/tenslice/tenslice.tenslice.pdsc"
    fi
}

# All of these from the sources, with only the crates of the tarball.
test_source() {
    has meson ninja cmake cargo || return 0
    export CARGO_NET_OFFLINE=true CARGO_HOME=$out/cargo-home
    local tree=$out/source/subprojects/tenslice-$VERSION
    mkdir -p "$out/source/subprojects"
    tar -xzf "target/dist/tenslice-$VERSION-source.tar.gz" -C "$out/source/subprojects"
    cp "$tree/packaging/meson/tenslice.wrap" "$out/source/subprojects/"
    cp examples/cmake/main.c "$out/source/"
    block meson-get_variable "$out/source/meson.build"
    (cd "$out/source" && quiet meson setup build -Dtenslice:features=ztensor && quiet ninja -C build)
    answers "$out/source/build/program"
    quiet ninja -C "$out/source/build"
    if grep -q Linking "$out/log"; then
        fail "Meson linked again for nothing"
    fi

    port "$tree" vcpkg-source
    has "$venv/bin/conan" || return 0
    conan_steps "$tree" conan-source
    [ -z "$(ls "$CARGO_HOME/registry" 2> /dev/null)" ] || fail "crates came from elsewhere"
}

# The Debian packages are built from the tarball, checked by lintian, unpacked elsewhere, and used with pkg-config and
# CMake.
test_deb() {
    has dpkg-buildpackage dh pkg-config cmake lintian || return 0
    quiet packaging/deb.sh "$out/deb"
    quiet lintian --allow-root --fail-on error,warning "$out"/deb/tenslice_*.changes
    local package root=$out/deb/root libraries
    for package in "$out"/deb/libtenslice{-dev,"$SOVERSION"}_*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    dpkg-deb -f "$out"/deb/libtenslice-dev_*.deb Depends | grep -q "libtenslice$SOVERSION (= $VERSION-1)" || fail "-dev needs no library"
    libraries=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    # shellcheck disable=SC2046 # words
    {
        ${CC:-cc} examples/cmake/main.c $(pkg-config --cflags --libs tenslice) -o "$out/deb/shared"
        LD_LIBRARY_PATH=$libraries answers "$out/deb/shared"
        ${CC:-cc} examples/cmake/main.c -static $(pkg-config --cflags --libs --static tenslice) -o "$out/deb/static"
    }
    answers "$out/deb/static"
    [ -n "$(pkg-config --variable=features tenslice)" ] || fail "pkg-config does not know the features"
    quiet cmake -S examples/cmake -B "$out/deb/cmake" "-DCMAKE_PREFIX_PATH=$root/usr" \
        "-DCMAKE_LIBRARY_ARCHITECTURE=$(basename "$libraries")"
    quiet cmake --build "$out/deb/cmake"
    answers "$out/deb/cmake/with_shared"
    answers "$out/deb/cmake/with_static"
}

systems=${*:-meson vcpkg conan zephyr espidf arduino platformio cmsis source deb}
case $systems in
source | deb | "source deb") ;;
*) [ -f "$sdk/include/tenslice.h" ] || fail "$sdk is not an unpacked SDK: make sdk, or SDK=FOLDER" ;;
esac
for system in $systems; do
    echo "== $system ($SECONDS s)"
    test_$system
done
echo "boards: ok"
