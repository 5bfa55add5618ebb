#!/usr/bin/env bash
# Runs the C and C++ tests in other builds than run.sh: builds.sh FOLDER_OF_THE_LIBRARY FOLDER_OF_THE_LIBRARY_WITHOUT_ZSTD.
#
# The builds use the shared library, C++, the sanitizers, other decoders, and every standard with every compiler and all
# its warnings. Prints a line for each tool that is missing on this machine; with TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

lib=$(cd "$1" && pwd)
lib_plain=$(cd "$2" && pwd)
fixtures=$PWD/tests/fixtures
out=$PWD/target/c-tests/builds
mkdir -p "$out"
warnings="-Wall -Wextra -Wpedantic -Werror"
c="${CC:-cc} -std=c99 $warnings -O1 -g -Iinclude -Ic-tests"
cxx="${CXX:-c++} $warnings -O1 -g -Iinclude -Ic-tests"

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
    $cxx -std=c++$standard c-tests/plus.cpp "$lib/libtenslice.a" -o "$out/plus"
    "$out/plus" "$fixtures"
done
echo "standards: ok"

sanitized="-fsanitize=address,undefined -fno-sanitize-recover=all"
has_sanitizers=0
if echo 'int main(void){return 0;}' | $c $sanitized -x c - -o "$out/probe" 2> /dev/null && "$out/probe"; then
    has_sanitizers=1
else
    skip "the C tests under the sanitizers (the compiler has none)"
fi
for test in read parts formats write arguments handles overlap layout changed; do
    $c "c-tests/$test.c" -L"$lib" -ltenslice -lm -Wl,-rpath,"$lib" -o "$out/$test-shared"
    "$out/$test-shared" "$fixtures"
    $cxx -std=c++17 -x c++ "c-tests/$test.c" -x none "$lib/libtenslice.a" -lm -o "$out/$test-cxx"
    "$out/$test-cxx" "$fixtures"
    if [ $has_sanitizers = 1 ]; then
        $c $sanitized "c-tests/$test.c" "$lib/libtenslice.a" -lm -o "$out/$test-sanitized"
        "$out/$test-sanitized" "$fixtures" > /dev/null
    fi
done

# Decoding: with and without the library's zstd, and with a decoder of the test that calls libzstd.
libzstd=""
if echo '#include <zstd.h>' | $c -x c -fsyntax-only - 2> /dev/null; then
    libzstd="-DHAVE_LIBZSTD"
else
    skip "decoding by libzstd (its header is not installed)"
fi
for built_in in 0 1; do
    with=$([ $built_in = 1 ] && echo "$lib" || echo "$lib_plain")
    build="$c -DBUILT_IN=$built_in $libzstd c-tests/decode.c $with/libtenslice.a ${libzstd:+-lzstd}"
    $build -o "$out/decode-$built_in"
    "$out/decode-$built_in" "$fixtures"
    $c -DBUILT_IN=$built_in $libzstd c-tests/decode.c -L"$with" -ltenslice ${libzstd:+-lzstd} -Wl,-rpath,"$with" \
        -o "$out/decode-$built_in-shared"
    "$out/decode-$built_in-shared" "$fixtures"
    if [ $has_sanitizers = 1 ]; then
        $build $sanitized -o "$out/decode-$built_in-sanitized"
        "$out/decode-$built_in-sanitized" "$fixtures" > /dev/null
    fi
done
echo "builds: ok"
