#!/usr/bin/env bash
# Runs the C tests and examples under tools that detect faults which no result shows, with the library itself
# instrumented: reads out of bounds (AddressSanitizer), undefined behaviour (UndefinedBehaviorSanitizer in C; in Rust
# the compiler's debug assertions, overflow checks and the preconditions of `core`), uninitialized memory
# (MemorySanitizer), data races (ThreadSanitizer); and the static analyzers of gcc and clang. Each tool is then shown to
# fail, with a program that does what the header forbids, so that the fault happens inside the library.
#
# Needs a Rust compiler with its sources (in Debian rustc-web and rust-web-src), gcc, clang with its runtimes (for
# Debian's clang 14 libclang-rt-14-dev) and clang-tools. Prints a line for each missing tool; with TENSLICE_NO_SKIP=1
# that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

out=$PWD/target/sanitize
fixtures=$PWD/tests/fixtures
mkdir -p "$out"
tests="read parts formats write arguments handles overlap layout changed"
c="-std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror"
c="$c -O1 -g -fno-omit-frame-pointer -Iinclude -Ic-tests"

works() { # COMPILE...: true if programs built with it run
    echo 'int main(void) { return 0; }' | "$@" -x c - -o "$out/probe" 2> /dev/null && "$out/probe"
}
must_fail() { # WHAT PATTERN COMMAND...: must fail, with output that matches the pattern
    if "${@:3}" > "$out/log" 2>&1; then
        echo "$1: a program with a fault passes, so it proves nothing" >&2
        exit 1
    fi
    grep -qE "$2" "$out/log" || { cat "$out/log"; echo "$1: the fault gives another failure" >&2; exit 1; }
}

# The static analyzers. A failed check ends the program without freeing memory: such leaks are no defect.
if works gcc -fanalyzer; then
    # Without the two files whose functions have hundreds of calls each, which take minutes: scan-build checks them.
    for file in c-tests/*.c examples/*.c; do
        case $file in c-tests/arguments.c | c-tests/formats.c) continue ;; esac
        gcc -std=gnu99 -O1 -fanalyzer -Wno-analyzer-malloc-leak -Werror -Iinclude -Ic-tests -DFUNCTION=f -c "$file" \
            -o "$out/file.o"
    done
    echo '#include <stdlib.h>
        void f(void *p) { free(p); free(p); }' > "$out/fault.c"
    must_fail "gcc -fanalyzer" 'double-.?free' gcc -fanalyzer -Werror -c "$out/fault.c" -o "$out/file.o"
    echo "gcc -fanalyzer: ok"
else
    skip "gcc -fanalyzer (this gcc has none)"
fi
if command -v scan-build > /dev/null && command -v clang > /dev/null; then
    # Leaks at the end of a program are no defect here either. AddressSanitizer covers the rest of that checker.
    analyze="scan-build --use-cc=clang --use-c++=clang++ --status-bugs -disable-checker unix.Malloc -o $out/reports"
    {
        echo 'all:'
        for file in c-tests/*.c examples/*.c; do
            echo "	\$(CC) -std=gnu99 -Iinclude -Ic-tests -DFUNCTION=f -c $file -o $out/file.o"
        done
        for file in c-tests/*.cpp examples/*.cpp; do
            echo "	\$(CXX) -std=c++20 -Iinclude -Ic-tests -c $file -o $out/file.o"
        done
    } > "$out/Makefile"
    $analyze make -s -f "$out/Makefile" > "$out/log" 2>&1 || { cat "$out/log"; exit 1; }
    echo 'int f(int *p) { if (p) return 0; return *p; }' > "$out/fault.c"
    must_fail "scan-build" 'null pointer' $analyze clang -c "$out/fault.c" -o "$out/file.o"
    echo "scan-build: ok"
else
    skip "scan-build (not installed)"
fi

sources=
for rustc in rustc /usr/bin/rustc; do
    if command -v $rustc > /dev/null && [ -f "$($rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        sources=$(command -v $rustc)
        break
    fi
done
if [ -z "$sources" ]; then
    skip "the sanitizers (no compiler has its sources)"
    exit 0
fi
host=$("$sources" -vV | sed -n 's/^host: //p')
library() { # NAME "FLAGS" FEATURES ARGUMENTS...: builds the library as $out/NAME.a
    CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        CARGO_PROFILE_RELEASE_DEBUG=line-tables-only RUSTFLAGS="-Zexternal-clangrt $2" RUSTC_BOOTSTRAP=1 \
        RUSTC=$sources "$(dirname "$sources")/cargo" rustc --quiet --release --no-default-features --lib --crate-type staticlib \
        --features "capi,panic-handler,$3" --target "$host" --target-dir target/sanitize/cargo "${@:4}"
    cp "target/sanitize/cargo/$host/release/libtenslice.a" "$out/$1.a"
}
build() { # COMPILER NAME LIBRARY ARGUMENTS...
    # shellcheck disable=SC2086 # words
    $1 $c "${@:4}" "c-tests/$2.c" c-tests/sanitize.c "$out/$3.a" -lm -pthread -o "$out/$2"
}
fault() { # COMPILER LIBRARY ARGUMENTS...: a program that takes the name of a fault
    build "$1" faults "$2" "${@:3}"
}

if works gcc -fsanitize=address,undefined; then
    library address "-Zsanitizer=address -Cdebug-assertions -Coverflow-checks" formats,digest,dequantize,write,zlib
    for compiler in gcc clang; do
        sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
        # shellcheck disable=SC2086 # words
        if ! works $compiler $sanitize; then
            skip "the sanitizers of $compiler (it has no runtime)"
            continue
        fi
        for test in $tests threads; do
            # shellcheck disable=SC2086 # words
            build $compiler $test address $sanitize
            "$out/$test" "$fixtures" > /dev/null
        done
        if echo '#include <zstd.h>' | gcc -fsyntax-only -x c - 2> /dev/null; then
            # shellcheck disable=SC2086 # words
            build $compiler decode address $sanitize -DHAVE_LIBZSTD -Wl,--no-as-needed -lzstd
            "$out/decode" "$fixtures" > /dev/null
        else
            skip "decoding by libzstd (its header is not installed)"
        fi
        # shellcheck disable=SC2086 # words
        fault $compiler address $sanitize
        must_fail "AddressSanitizer" 'heap-buffer-overflow' "$out/faults" "$fixtures" behind
        grep -q 'q8_0_to_f32 .*src/' "$out/log" # inside the library
        must_fail "UndefinedBehaviorSanitizer" 'runtime error: .*overflow' "$out/faults" "$fixtures" overflow
    done
    nm "$out/address.a" 2> /dev/null | grep 'panic_const_add_overflow' > /dev/null # Rust's additions are checked
    echo "AddressSanitizer, UndefinedBehaviorSanitizer, debug assertions: ok"
else
    skip "AddressSanitizer (gcc has none)"
fi

if works gcc -fsanitize=thread -pthread; then
    library thread "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" formats,digest,dequantize,write
    build gcc threads thread -fsanitize=thread -fno-builtin
    "$out/threads" "$fixtures" > /dev/null
    must_fail "ThreadSanitizer" 'data race' "$out/threads" "$fixtures" broken
    grep -q 'tenslice_tensors_next' "$out/log"
    echo "ThreadSanitizer: ok"
else
    skip "ThreadSanitizer (gcc has none)"
fi

# All of `core` must be instrumented, too. Passed and returned values have shadows, as in clang's C.
if works clang -fsanitize=memory; then
    library memory "-Zsanitizer=memory -Cllvm-args=-msan-eager-checks=0" formats,digest,dequantize,write -Zbuild-std=core
    for test in $tests; do
        build clang $test memory -fsanitize=memory
        "$out/$test" "$fixtures" > /dev/null
    done
    fault clang memory -fsanitize=memory
    must_fail "MemorySanitizer" 'use-of-uninitialized-value' "$out/faults" "$fixtures" unset
    grep -q 'tenslice' "$out/log"
    echo "MemorySanitizer: ok"
else
    skip "MemorySanitizer (clang has no runtime for it)"
fi
