#!/usr/bin/env bash
# Fetches the C code of ggml, and runs the comparison: see README.md. Only ggml-quants.c is built, by src/build.rs.
set -euo pipefail
cd "$(dirname "$0")"
GGML=$(./ggml.sh)
export GGML
cd dequantize
exec cargo run --quiet --release -- "$@"
