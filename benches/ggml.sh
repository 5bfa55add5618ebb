#!/usr/bin/env bash
# Fetches the package llama-cpp-sys-2, and prints the folder of the C code of ggml in it.
set -euo pipefail
cd "$(dirname "$0")/dequantize"

# Cargo fetches the package and says where it is. The package is never built.
manifest=$(cargo metadata --quiet --features sources --format-version 1 |
    grep -o '"manifest_path":"[^"]*/llama-cpp-sys-2-[^"]*/Cargo.toml"' | cut -d '"' -f 4)
echo "${manifest%/Cargo.toml}/llama.cpp/ggml"
