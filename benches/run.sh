#!/usr/bin/env bash
# Fetches c-blosc2 from the wheel of python-blosc2, and runs the comparison: see README.md.
set -euo pipefail
cd "$(dirname "$0")"

version=4.14.1
wheel=$PWD/target/blosc2-$version
if [ ! -f "$wheel/blosc2/include/b2nd.h" ]; then
    # Only the headers and the library are used. No Python code of the wheel runs.
    python3 -m pip install --quiet --no-deps --only-binary :all: --target "$wheel" "blosc2==$version"
fi
export BLOSC2_INCLUDE=$wheel/blosc2/include BLOSC2_LIB=$wheel/blosc2/lib
# c-blosc2 reads threads, codecs and levels from the environment.
unset "${!BLOSC_@}"
exec cargo run --quiet --release --no-default-features --features "${FEATURES:-zstd}" -- "$@"
