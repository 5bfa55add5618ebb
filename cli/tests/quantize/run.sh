#!/usr/bin/env bash
# Compares `tenslice quantize` with ggml, whose sources it fetches, and with gguf-py. Arguments: those of compare.py after
# the programs, or --sample to write sample.gguf again.
set -euo pipefail
cd "$(dirname "$0")/../../.."
venv=target/quantizers-venv
if ! [ -d $venv ]; then
    python3 -m venv $venv
    $venv/bin/pip install --quiet 'numpy<2.5' gguf==0.19.0
fi
ggml=$(benches/ggml.sh)
# Fused operations round differently.
"${CC:-cc}" -O2 -ffp-contract=off -w -I"$ggml/include" -I"$ggml/src" cli/tests/quantize/ggml.c -lm -o target/ggml-quantize
compare=cli/tests/quantize/compare.py
if [ "${1:-}" = --sample ]; then
    exec $venv/bin/python $compare --sample cli/tests/quantize/sample.gguf target/ggml-quantize
fi
"${CARGO:-cargo}" build --quiet --release -p tenslice-cli
exec $venv/bin/python $compare target/release/tenslice target/ggml-quantize "$@"
