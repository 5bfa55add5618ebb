#!/usr/bin/env bash
# Builds the library inside C++ projects in an empty folder: add_subdirectory and FetchContent, Ninja and Make, Debug
# and Release, from the tarball of `make dist-source` (without a network, and only with its own crates) and from this
# folder. Called by the Makefile with VERSION in the environment. Without CMake it is skipped with a message, which is a
# failure with TENSLICE_NO_SKIP=1.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

for tool in cmake ninja; do
    if ! command -v $tool > /dev/null; then
        skip "source builds ($tool is not installed)"
        exit 0
    fi
done

top=$PWD
tarball=$top/target/dist/tenslice-$VERSION-source.tar.gz
model=$top/tests/fixtures/v1.2/converted_safetensors.zt
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

quiet() { # COMMAND...: prints its output only if it fails
    "$@" > "$out/log" 2>&1 || { cat "$out/log" >&2; echo "failed: $*" >&2; exit 1; }
}
project() { # NAME LANGUAGES PROGRAM LINE...: a project of one program, with these lines for the library
    mkdir -p "$out/$1"
    cp "examples/cmake/$3" "$out/$1/"
    printf '%s\n' "cmake_minimum_required(VERSION 3.16)" "project($1 LANGUAGES $2)" "${@:4}" "add_executable(program $3)" \
        "set_target_properties(program PROPERTIES CXX_STANDARD 17)" \
        "target_link_libraries(program PRIVATE tenslice::tenslice)" > "$out/$1/CMakeLists.txt"
}
build() { # NAME CMAKE_ARGUMENTS...: builds it and reads the model
    echo "== $*"
    quiet cmake -S "$out/$1" -B "$out/$1/build" "${@:2}"
    quiet cmake --build "$out/$1/build"
    "$out/$1/build/program" "$model" a.w | grep -q '^a.w: .*the first' || { echo "$1 does not answer" >&2; exit 1; }
}
configure() { # CMAKE_ARGUMENTS...: configures this folder in a new one, with the output in $out/log
    rm -rf "$out/checkout/other"
    cmake -S "$out/checkout" -B "$out/checkout/other" "$@" > "$out/log" 2>&1
}
says() { # TEXT
    grep -qF -- "$1" <<< "$(tr -s ' \n' ' ' < "$out/log")" || { cat "$out/log" >&2; echo "not said: $1" >&2; exit 1; }
}
refuses() { # TEXT CMAKE_ARGUMENTS...: configuring must fail with that text
    if configure "${@:2}"; then
        echo "not refused: ${*:2}" >&2
        exit 1
    fi
    says "$1"
}
derives() { # TARGET CMAKE_ARGUMENTS...: must build for that target, or report that Rust has no library for it
    if configure "${@:2}"; then
        says "for $1: "
    else
        says "Rust's library for $1 is missing"
    fi
}

# This folder, with the crates in the user's cache.
project checkout C main.c "add_subdirectory(\"$top\" tenslice)"
build checkout -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Debug -DTENSLICE_FEATURES=ztensor
archive=$out/checkout/build/tenslice/libtenslice.a

# Built once, and again if the sources or the settings change.
before=$(stat -c %y "$archive")
quiet cmake --build "$out/checkout/build"
[ "$(stat -c %y "$archive")" = "$before" ] || { echo "built again for nothing" >&2; exit 1; }
has_npy() {
    [ "$(nm "$archive" 2> /dev/null | grep -c ' T tenslice_npy_')" != 0 ]
}
! has_npy || { echo "NPY is in, unasked" >&2; exit 1; }
quiet cmake "$out/checkout/build" -DTENSLICE_FEATURES=npy
quiet cmake --build "$out/checkout/build"
has_npy || { echo "other features did not build it again" >&2; exit 1; }

# A variable that a project sets counts, in the first configuration and in later ones.
project variable C main.c 'set(TENSLICE_FEATURES "safetensors,dequantize")' "set(TENSLICE_PROFILE size)" \
    "add_subdirectory(\"$top\" tenslice)"
for configuration in first second; do
    quiet cmake -S "$out/variable" -B "$out/variable/build"
    grep -q '^-- tenslice .*: safetensors,dequantize$' "$out/log" || { cat "$out/log" >&2; echo "$configuration: not its features" >&2; exit 1; }
done
grep -q ' size safetensors,dequantize ' "$out/variable/build/tenslice/asked.txt" || { echo "not its profile" >&2; exit 1; }
quiet cmake "$out/variable/build" -DTENSLICE_FEATURES=npy # the project's own choice stays
grep -q ': safetensors,dequantize$' "$out/log" || { echo "the cache replaces the variable of the project" >&2; exit 1; }

# Errors are reported.
refuses "cargo was not found" -DTENSLICE_CARGO=OFF
refuses "does not know the target no-such-machine" -DTENSLICE_RUST_TARGET=no-such-machine
printf '%s\n' '#!/bin/sh' 'echo release: 1.70.0' 'echo host: x86_64-unknown-linux-gnu' > "$out/rustc"
chmod +x "$out/rustc"
refuses "is Rust 1.70.0;" -DTENSLICE_RUSTC="$out/rustc"
# The machine is derived from the compiler.
generic="-DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER_WORKS=1"
# shellcheck disable=SC2086 # words
refuses "-DTENSLICE_RUST_TARGET=, such as" $generic -DCMAKE_SYSTEM_PROCESSOR=avr
derives thumbv7em-none-eabihf $generic -DCMAKE_SYSTEM_PROCESSOR=arm "-DCMAKE_C_FLAGS=-mcpu=cortex-m4 -mfloat-abi=hard"
derives riscv32imc-unknown-none-elf $generic -DCMAKE_SYSTEM_PROCESSOR=riscv "-DCMAKE_C_FLAGS=-march=rv32imc -mabi=ilp32"
if command -v aarch64-linux-gnu-gcc > /dev/null; then
    derives aarch64-unknown-linux-gnu -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc
fi
if command -v x86_64-w64-mingw32-gcc > /dev/null; then
    derives x86_64-pc-windows-gnu -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 \
        -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc
fi
if command -v musl-gcc > /dev/null; then
    derives x86_64-unknown-linux-musl -DCMAKE_C_COMPILER=musl-gcc
fi

# The tarball: nothing else is available, and no network.
export CARGO_NET_OFFLINE=true CARGO_HOME=$out/cargo-home
project subdirectory CXX main.cpp "add_subdirectory(tenslice-$VERSION)"
tar -xzf "$tarball" -C "$out/subdirectory"
build subdirectory -G Ninja -DCMAKE_BUILD_TYPE=Debug
ninja -C "$out/subdirectory/build" -t query "tenslice-$VERSION/libtenslice.a" > "$out/log"
grep -q 'src/lib.rs$' "$out/log" || { echo "a source that changes does not build it again" >&2; exit 1; }

project fetched "C CXX" main.cpp "include(FetchContent)" \
    "FetchContent_Declare(tenslice URL \"file://$tarball\" URL_HASH SHA256=$(sha256sum "$tarball" | cut -d ' ' -f 1))" \
    "FetchContent_MakeAvailable(tenslice)"
build fetched -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release -DTENSLICE_FEATURES=ztensor,zstd-ruzstd,zlib,c-alloc
[ -z "$(ls "$CARGO_HOME/registry" 2> /dev/null)" ] || { echo "crates came from elsewhere" >&2; exit 1; }

# The builds of packagers: with make, and with the steps of the vcpkg port, whose package is in another folder.
sources=$out/subdirectory/tenslice-$VERSION
(cd "$sources" && quiet make --no-print-directory install PREFIX="$out/stage" FEATURES=ztensor)
[ -s "$out/stage/lib/libtenslice.a" ] && [ -s "$out/stage/include/tenslice.h" ] \
    && [ -s "$out/stage/share/doc/tenslice/third-party/zerocopy-LICENSE-MIT" ] \
    || { echo "the tarball does not install" >&2; exit 1; }
quiet cmake -S "$sources" -B "$out/port" -DTENSLICE_INSTALL=ON -DTENSLICE_CMAKE_DIR=share/tenslice \
    -DTENSLICE_FEATURES=ztensor
quiet cmake --build "$out/port"
quiet cmake --install "$out/port" --prefix "$out/installed"
rm -rf "$out/port"
mv "$out/installed" "$out/moved"
project installed "C CXX" main.c "find_package(tenslice 0.1 REQUIRED)"
build installed -DCMAKE_PREFIX_PATH="$out/moved"
grep -q "\"version\": \"$VERSION\"" packaging/vcpkg/vcpkg.json || { echo "vcpkg.json has another version" >&2; exit 1; }
echo "source: ok"
