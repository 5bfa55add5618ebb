#!/usr/bin/env bash
# Fetches the C code of ggml from the package llama-cpp-sys-2, and runs the comparison: see README.md.
set -euo pipefail
cd "$(dirname "$0")/dequantize"

# Cargo fetches the package and says where it is. Only its ggml-quants.c is built, by src/build.rs.
manifest=$(cargo metadata --quiet --features sources --format-version 1 |
    grep -o '"manifest_path":"[^"]*/llama-cpp-sys-2-[^"]*/Cargo.toml"' | cut -d '"' -f 4)
export GGML=${manifest%/Cargo.toml}/llama.cpp/ggml
exec cargo run --quiet --release -- "$@"
