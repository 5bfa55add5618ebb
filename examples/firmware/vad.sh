#!/usr/bin/env bash
# Runs vad.c on chips, and compares its numbers with NumPy's: vad.sh BOARD... Without a board, prints the path of the
# quantized model.
#
# The model is that of the package silero-vad 6.2.3, which pip fetches. If the package index is out of reach, skips all of
# this with a message; with TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
folder=$top/target/vad
python=$folder/venv/bin/python
name=silero_vad_16k.safetensors

fetch() {
    local pip="$python -m pip --disable-pip-version-check --quiet --retries 1"
    rm -rf "$folder" && mkdir -p "$folder" && python3 -m venv "$folder/venv" \
        && $pip install 'numpy<2.5' \
        && $pip download --no-deps --only-binary :all: --dest "$folder" silero-vad==6.2.3 \
        && $python -m zipfile -e "$folder"/silero_vad-*.whl "$folder/wheel" \
        && mv "$folder/wheel/silero_vad/data/$name" "$folder" && rm -r "$folder"/silero_vad-*.whl "$folder/wheel"
}

if ! [ -f "$folder/$name" ] && ! fetch >&2; then
    echo "skipped: vad (pip cannot fetch silero-vad or NumPy)" >&2
    [ "${TENSLICE_NO_SKIP:-0}" != 1 ] || { echo "nothing may be skipped here" >&2; exit 1; }
    exit 0
fi
sha256sum --check --quiet <<< "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1  $folder/$name" >&2
$python model/vad.py prepare "$folder/$name" "$folder"
(cd "$top" && "${CARGO:-cargo}" run --quiet --release -p tenslice-cli -- quantize "$folder/floats.safetensors" \
    -o "$folder/int8.safetensors" --to int8 --per-channel --exclude final_conv.weight \
    --permute 0,2,1 --permute-only 'conv*.weight' --activations "$folder/scales.json" --force) > "$folder/errors.txt"
if [ $# = 0 ]; then
    echo "$folder/int8.safetensors"
fi
for board in "$@"; do
    if [ "$board" = m0 ]; then
        continue # its flash is too small
    fi
    echo "== $board, speech"
    ./build.sh "$board" vad "$folder/int8.safetensors" > "$folder/printed"
    $python model/vad.py check "$folder/int8.safetensors" "$folder/printed"
done
