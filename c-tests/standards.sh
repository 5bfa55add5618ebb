#!/usr/bin/env bash
# Compiles the headers and the C++ tests under every standard, with every installed compiler and all its warnings:
# standards.sh FOLDER_OF_THE_LIBRARY. run.sh has one standard of each language. Prints a line if clang is missing; with
# TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

lib=$(cd "$1" && pwd)
fixtures=$PWD/tests/fixtures
out=$PWD/target/standards
mkdir -p "$out"
warnings="-Wall -Wextra -Wpedantic -Werror"

# Compiles each header alone, under every standard of C and C++, without a warning. Of all of clang's warnings these are
# ignored: compatibility with older C++ standards, padding, a class without a source file, pointer arithmetic.
mapfile -t headers < <(cd include && ls tenslice.h tenslice/*.h)
alone() { # COMPILER LANGUAGE STANDARD "WARNINGS" HEADER...
    local with="-std=$3 $4" header
    for header in "${@:5}"; do
        # shellcheck disable=SC2086 # words
        echo "#include \"$header\"" | $1 -x "$2" $with -Werror -Iinclude -fsyntax-only - \
            || { echo "$header: $1 $with" >&2; exit 1; }
    done
}
all="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-align -Wcast-qual"
for standard in c99 c11 c17 c2x; do alone "${CC:-cc}" c $standard "$all -Wstrict-prototypes" "${headers[@]}"; done
for standard in c++11 c++17 c++20 c++2b; do alone "${CXX:-c++}" c++ $standard "$all -Wold-style-cast" "${headers[@]}"; done
for standard in c++17 c++20 c++2b; do alone "${CXX:-c++}" c++ $standard "$all -Wold-style-cast" tenslice.hpp; done
clang=${CLANG:-clang}
if command -v "$clang" > /dev/null; then
    older="-Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++98-compat-local-type-template-args
        -Wno-pre-c++14-compat -Wno-pre-c++17-compat"
    others="-Wno-padded -Wno-weak-vtables -Wno-unsafe-buffer-usage -Wno-unsafe-buffer-usage-in-container
        -Wno-unknown-warning-option"
    for standard in c99 c11 c17 c2x; do alone "$clang" c $standard -Weverything "${headers[@]}"; done
    for standard in c++11 c++17 c++20 c++2b; do
        alone "$clang" c++ $standard "-Weverything -Wno-c++98-compat-pedantic" "${headers[@]}"
    done
    for standard in c++17 c++20 c++2b; do
        alone "$clang" c++ $standard "-Weverything $older $others" tenslice.hpp
        alone "$clang" c++ $standard "-Weverything $older $others -DTENSLICE_THROW" tenslice.hpp
    done
else
    skip "the headers with clang (not installed)"
fi
echo "headers: ok"

# tenslice.hpp under every standard and every installed compiler, with results and with exceptions.
compilers="${CXX:-c++}"
if command -v clang++ > /dev/null; then
    compilers="$compilers clang++"
else
    skip "tenslice.hpp with clang (not installed)"
fi
# One standard is optimized, since some warnings need that. The others take half of the time without.
for compiler in $compilers; do
    for standard in 17 20 2b; do
        level=$([ $standard = 17 ] && echo -O1 || echo -O0)
        for throw in "" -DTENSLICE_THROW; do
            $compiler $warnings -Wconversion -Wshadow $level -Iinclude -Ic-tests -std=c++$standard $throw \
                c-tests/hpp.cpp "$lib/libtenslice.a" -o "$out/hpp"
            "$out/hpp" "$fixtures"
        done
    done
    $compiler $warnings -Wconversion -Wshadow -Iinclude -std=c++17 -fno-exceptions -fsyntax-only -x c++ \
        include/tenslice.hpp 2> "$out/hpp.txt" || { cat "$out/hpp.txt"; exit 1; }
done
for standard in 17 20; do
    ${CXX:-c++} $warnings -O1 -Iinclude -Ic-tests -std=c++$standard c-tests/plus.cpp "$lib/libtenslice.a" -o "$out/plus"
    "$out/plus" "$fixtures"
done
echo "standards: ok"
