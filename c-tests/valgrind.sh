#!/usr/bin/env bash
# Builds and runs the C tests under valgrind: valgrind.sh FOLDER_OF_THE_LIBRARY FOLDER_OF_THE_LIBRARY_WITHOUT_ZSTD. Without
# valgrind it prints that it is skipped; with TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

lib=$1/libtenslice.a lib_plain=$2/libtenslice.a
out=target/c-tests
mkdir -p "$out"
c="${CC:-cc} -std=c99 -O1 -g -Iinclude -Ic-tests"

if ! command -v valgrind > /dev/null; then
    skip "the C tests under valgrind (not installed)"
    exit
fi
under_valgrind() { # TEST ARGUMENTS...
    valgrind --quiet --error-exitcode=9 --leak-check=full "$out/$1-valgrind" tests/fixtures "${@:2}" > /dev/null
}
for test in read parts formats write arguments changed; do
    $c "c-tests/$test.c" "$lib" -lm -o "$out/$test-valgrind"
    arguments=$([ $test != changed ] || echo 17) # each 17th byte
    # shellcheck disable=SC2086 # words
    under_valgrind $test $arguments
done
if echo '#include <zstd.h>' | $c -x c -fsyntax-only - 2> /dev/null; then
    libzstd="-DHAVE_LIBZSTD -lzstd"
else
    skip "decoding by libzstd (its header is not installed)"
    libzstd=""
fi
for built_in in 0 1; do
    with=$([ $built_in = 1 ] && echo "$lib" || echo "$lib_plain")
    # shellcheck disable=SC2086 # words
    $c -DBUILT_IN=$built_in c-tests/decode.c "$with" $libzstd -o "$out/decode-valgrind"
    under_valgrind decode
done

# A program that makes the library read behind its memory must fail.
$c c-tests/faults.c "$lib" -o "$out/faults-valgrind"
code=0
under_valgrind faults behind 2> "$out/faults.txt" || code=$?
if [ $code != 9 ] || ! grep -q 'Invalid read' "$out/faults.txt"; then
    cat "$out/faults.txt"
    echo "valgrind: a program with a fault ends with $code, so these tests prove nothing" >&2
    exit 1
fi
echo "valgrind: ok"
