#!/usr/bin/env bash
# Makes packages for boards from an unpacked SDK: boards.sh SDK OUT. OUT gets a folder and a zip file for each of
# ESP-IDF, Arduino and PlatformIO, and a CMSIS-Pack. The same SDK gives the same bytes. Called by the Makefile with
# VERSION in the environment. TENSLICE_URL is the address of the project, which Arduino and CMSIS ask for.
set -euo pipefail
export TENSLICE_URL=${TENSLICE_URL:-https://example.org/tenslice}
cd "$(dirname "$0")/.."
sdk=$1 out=$2
[ -f "$sdk/include/tenslice.h" ] || { echo "boards: $sdk is not an unpacked SDK (make sdk)" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
cortex_m="thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabi thumbv7em-none-eabihf thumbv8m.base-none-eabi
    thumbv8m.main-none-eabi thumbv8m.main-none-eabihf"
riscv="riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf riscv32imafc-unknown-none-elf"
bare="$cortex_m $riscv"

fill() { # FILE DESTINATION
    mkdir -p "$(dirname "$out/$2")"
    packaging/fill.sh "packaging/$1" > "$out/$2"
}
# The libraries of a target, as they are in the SDK.
libraries() { # TARGET DESTINATION
    [ -f "$sdk/lib/$1/libtenslice.a" ] || { echo "boards: the SDK has no $1" >&2; return 0; }
    mkdir -p "$out/$2"
    cp "$sdk/lib/$1"/libtenslice*.a "$out/$2/"
}
common() { # FOLDER INCLUDE: licences and headers
    mkdir -p "$out/$1/$2"
    cp "$sdk"/LICENSE-* "$out/$1/"
    [ ! -d "$sdk/third-party" ] || cp -r "$sdk/third-party" "$out/$1/"
    cp -r "$sdk/include/." "$out/$1/$2/"
}
# A zip file of a folder, without times and in a fixed order: zip_folder FOLDER NAME_IN_THE_FILE FILE
zip_folder() {
    python3 - "$out/$1" "$2" "$out/$3" << 'PYTHON'
import pathlib, sys, zipfile
folder, name, file = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            entry = zipfile.ZipInfo(str(pathlib.PurePosixPath(name) / path.relative_to(folder).as_posix()), (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
PYTHON
}

# ESP-IDF: a component.
common esp-idf/tenslice include
for file in idf_component.yml CMakeLists.txt Kconfig README.md; do
    fill esp-idf/$file esp-idf/tenslice/$file
done
for target in $riscv; do
    libraries $target esp-idf/tenslice/lib/$target
done
zip_folder esp-idf/tenslice tenslice "tenslice-$VERSION-esp-idf.zip"

# Arduino: src/MCU/FPU-ABI/libtenslice.a, where the boards' flags are -mcpu=MCU -mfpu=FPU -mfloat-abi=ABI. Without such
# a folder, Arduino takes that of the core, whose ABI serves `soft` and `softfp`.
common arduino/tenslice src
rm "$out/arduino/tenslice/src/tenslice_host.h" # needs a file system
fill arduino/library.properties arduino/tenslice/library.properties
fill arduino/unsupported.cpp arduino/tenslice/src/unsupported.cpp
fill arduino/OpensModel/OpensModel.ino arduino/tenslice/examples/OpensModel/OpensModel.ino
while read -r target folder; do
    if [ -f "$sdk/lib/$target/libtenslice.a" ]; then
        install -D -m 644 "$sdk/lib/$target/libtenslice.a" "$out/arduino/tenslice/src/$folder/libtenslice.a"
    else
        echo "boards: the SDK has no $target" >&2
    fi
done << 'FOLDERS'
thumbv6m-none-eabi cortex-m0
thumbv6m-none-eabi cortex-m0plus
thumbv7m-none-eabi cortex-m3
thumbv7em-none-eabi cortex-m4
thumbv7em-none-eabihf cortex-m4/fpv4-sp-d16-hard
thumbv7em-none-eabi cortex-m7
thumbv7em-none-eabihf cortex-m7/fpv4-sp-d16-hard
thumbv7em-none-eabihf cortex-m7/fpv5-sp-d16-hard
thumbv7em-none-eabihf cortex-m7/fpv5-d16-hard
thumbv8m.base-none-eabi cortex-m23
thumbv8m.main-none-eabi cortex-m33
thumbv8m.main-none-eabihf cortex-m33/fpv5-sp-d16-hard
riscv32imc-unknown-none-elf esp32c2
riscv32imc-unknown-none-elf esp32c3
riscv32imac-unknown-none-elf esp32c5
riscv32imac-unknown-none-elf esp32c6
riscv32imac-unknown-none-elf esp32h2
riscv32imafc-unknown-none-elf esp32p4
FOLDERS
zip_folder arduino/tenslice tenslice "tenslice-$VERSION-arduino.zip"

# PlatformIO: a library with a script that picks the archive.
common platformio/tenslice include
rm "$out/platformio/tenslice/include/tenslice_host.h"
fill platformio/library.json platformio/tenslice/library.json
fill platformio/select.py platformio/tenslice/select.py
for target in $bare x86_64-unknown-linux-gnu; do
    libraries $target platformio/tenslice/lib/$target
done
zip_folder platformio/tenslice tenslice "tenslice-$VERSION-platformio.zip"

# CMSIS: a pack with a component for each format.
common cmsis/tenslice include
rm "$out/cmsis/tenslice/include/tenslice_host.h"
there=
for target in $cortex_m; do
    libraries $target cmsis/tenslice/lib/$target
    [ ! -d "$out/cmsis/tenslice/lib/$target" ] || there="$there $target"
done
formats=
for format in $(packaging/formats.sh); do # those of all targets
    formats="$formats $format"
    for target in $there; do
        [ -f "$sdk/lib/$target/libtenslice-$format.a" ] || formats=${formats% "$format"}
    done
done
# shellcheck disable=SC2086 # words
python3 packaging/cmsis/pack.py "$VERSION" "$TENSLICE_URL" "$there" $formats > "$out/cmsis/tenslice/tenslice.tenslice.pdsc"
zip_folder cmsis/tenslice "" "tenslice.tenslice.$VERSION.pack"
