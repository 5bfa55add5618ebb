#!/usr/bin/env bash
# The tests for other machines: 32-bit (i686, native), big-endian (s390x, in QEMU), and wasm32 (in node).
#
# Needs gcc for the two machines, qemu-user, lld, and Rust's std for each machine: from `rustup target add`, or built
# from source by a compiler that has its sources (in Debian rustc-web and rust-web-src), which takes minutes. Prints a
# line for each missing tool; with TENSLICE_NO_SKIP=1 that is a failure. Without arguments it tests all machines:
# targets.sh [i686 | s390x | wasm32]...
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh
machines=" ${*:-i686 s390x wasm32} "

wanted() { # MACHINE
    [[ $machines == *" $1 "* ]]
}

has_std() { # TARGET
    packaging/bare-metal.sh "$1" 2> /dev/null
}
test_on() { # TARGET ARGUMENTS...
    packaging/bare-metal.sh "$1" target/targets test --quiet --features capi "${@:2}"
}
features=capi,panic-handler,formats,digest,dequantize,write
library() { # TARGET CRATE_TYPE: builds the C library, and prints its folder
    packaging/bare-metal.sh "$1" target/targets rustc --quiet --release --no-default-features --lib --crate-type "$2" \
        --features $features
    echo "target/targets/$1/release"
}

if ! wanted i686; then
    :
elif ! has_std i686-unknown-linux-gnu; then
    skip "i686 (no std: rustup target add i686-unknown-linux-gnu)"
elif echo 'int main(void){return 0;}' | gcc -m32 -x c - -o /dev/null 2> /dev/null; then
    echo "== i686"
    test_on i686-unknown-linux-gnu --lib --test formats --test properties
    lib=$(library i686-unknown-linux-gnu staticlib)
    for test in layout arguments handles overlap parts formats write read changed; do
        gcc -m32 -std=c99 -Wall -Wextra -Werror -O1 -Iinclude -Ic-tests "c-tests/$test.c" -lm "$lib/libtenslice.a" -o target/targets/$test
        target/targets/$test tests/fixtures
    done
else
    skip "i686 (gcc -m32 does not work)"
fi

if ! wanted s390x; then
    :
elif ! has_std s390x-unknown-linux-gnu; then
    skip "s390x (no std: rustup target add s390x-unknown-linux-gnu)"
elif command -v s390x-linux-gnu-gcc > /dev/null && command -v qemu-s390x > /dev/null; then
    echo "== s390x"
    export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc
    export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x -L /usr/s390x-linux-gnu"
    # Emulated, so only the unit tests and the tests that read elements and metadata, without damaged files.
    test_on s390x-unknown-linux-gnu --lib
    test_on s390x-unknown-linux-gnu --test formats --test properties -- --skip damage:: \
        reading:: get:: fetched:: model:: corpus:: manifest:: decode:: tens:: blz:: b2nd:: npy:: npz:: safetensors:: blocks::
    test_on s390x-unknown-linux-gnu --test reference -- peers::
    lib=$(library s390x-unknown-linux-gnu staticlib)
    for test in layout arguments handles overlap parts formats write read changed; do
        # -lm first: the library contains compiler_builtins, whose sqrt, in this build, needs Rust's unwinding.
        s390x-linux-gnu-gcc -std=c99 -Wall -Wextra -Werror -O1 -Iinclude -Ic-tests "c-tests/$test.c" -lm "$lib/libtenslice.a" -o target/targets/$test
        arguments=$([ $test != changed ] || echo 17) # each 17th byte
        qemu-s390x -L /usr/s390x-linux-gnu target/targets/$test tests/fixtures $arguments
    done
else
    skip "s390x (no compiler or no qemu-s390x)"
fi

if ! wanted wasm32; then
    :
elif ! has_std wasm32-unknown-unknown; then
    skip "wasm32 (no core: rustup target add wasm32-unknown-unknown)"
elif command -v node > /dev/null && command -v wasm-ld > /dev/null; then
    echo "== wasm32"
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld
    export RUSTFLAGS="-Clink-arg=--export=__heap_base"
    lib=$(library wasm32-unknown-unknown cdylib)
    node c-tests/wasm.mjs "$lib/tenslice.wasm" examples/firmware/model/digits.zt
else
    skip "wasm32 (no node or no wasm-ld)"
fi
