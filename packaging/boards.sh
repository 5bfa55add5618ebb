#!/usr/bin/env bash
# Makes packages for boards from an unpacked SDK: boards.sh SDK OUT. OUT gets a folder and a zip file for each of ESP-IDF,
# Arduino and PlatformIO, and a CMSIS-Pack. The same SDK gives the same bytes. Called by the Makefile with VERSION in the
# environment.
set -euo pipefail
cd "$(dirname "$0")/.."
sdk=$1 out=$2
[ -f "$sdk/include/tenslice.h" ] || { echo "boards: $sdk is not an unpacked SDK (make sdk)" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)

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
for target in riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf riscv32imafc-unknown-none-elf; do
    libraries $target esp-idf/tenslice/lib/$target
done
zip_folder esp-idf/tenslice tenslice "tenslice-$VERSION-esp-idf.zip"
