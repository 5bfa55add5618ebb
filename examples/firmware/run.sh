#!/usr/bin/env bash
# Runs the firmware on every chip, and checks its exit code and output. BOARDS= selects chips; m4 always runs.
set -euo pipefail
cd "$(dirname "$0")"

boards=$(./boards.sh ${BOARDS:-m4 m4f m0 rv32})
for board in $boards; do
    echo "== $board"
    ./build.sh $board digits model/digits.zt
    ./build.sh $board sdcard model/digits.zt
    ./build.sh $board digits model/digits.safetensors
    ./build.sh $board sdcard model/digits.safetensors
    ./build.sh $board sdcard model/digits.gguf
    # The largest model. In the flash of the micro:bit, there is no room for every format beside it.
    FEATURES=ztensor2,tens,blz,b2nd ./build.sh $board digits model/digits2.zt
    ./build.sh $board sdcard model/digits2.zt
    FEATURES=gguf,dequantize ./build.sh $board quantized model/digits.gguf
    ./build.sh $board embedded model/digits8.safetensors
    # A model that states an offset of its last weights beyond the end of the file.
    if text=$(./build.sh $board digits model/broken.zt); then
        echo "firmware: a broken model was accepted" >&2
        exit 1
    fi
    echo "$text" | grep 'component "data" of tensor "layer2.weight": 1280 bytes at offset 65535 extend past the end of the file'
done
# Integers, with and without digests. A changed weight must fail its digest.
damaged=$(cd ../../target/firmware && pwd)/damaged.zt
cp model/digits8.zt "$damaged"
printf '\002' | dd of="$damaged" bs=1 seek=100 conv=notrunc status=none
for board in $boards; do
    case $board in m4 | m0) ;; *) continue ;; esac
    echo "== $board, integers"
    FEATURES=safetensors ./build.sh $board int8 model/digits8.safetensors
    FEATURES=ztensor,crc32c DEFINES=-DDIGESTS ./build.sh $board int8 model/digits8.zt
    if text=$(FEATURES=ztensor,crc32c DEFINES=-DDIGESTS ./build.sh $board int8 "$damaged"); then
        echo "firmware: damaged weights were accepted" >&2
        exit 1
    fi
    echo "$text" | grep 'the weights: the stored bytes do not match the digest'
done
# Convolutions with integers: the tool quantizes and permutes, and Python computes the same outputs.
folder=$(cd ../../target/firmware && pwd)/convolution
mkdir -p "$folder"
python3 model/convolution.py "$folder"
make --silent -C ../.. tool-for-tests
quantize() { # IN OUT SCALES OPTIONS...
    (cd ../.. && target/release/tenslice quantize "$folder/$1" -o "$folder/$2" \
        --to int8 --activations "$folder/$3" --force "${@:4}")
}
quantize floats.safetensors half.safetensors scales.json --per-channel --exclude 'dw.*' \
    --permute 0,2,3,1 --permute-only conv.weight
quantize half.safetensors int8.safetensors depthwise.json --per-channel=3 --only dw.weight \
    --permute 1,2,3,0 --permute-only dw.weight
python3 model/convolution.py "$folder/int8.safetensors" > "$folder/expected"
for board in $boards; do
    echo "== $board, convolutions"
    ./build.sh $board convolution "$folder/int8.safetensors" | tee "$folder/printed"
    diff "$folder/expected" "$folder/printed"
done
# A network that detects speech, compared with NumPy.
./vad.sh $boards
# Writing a log to flash, with a loss of power at each byte. Going on without erasing the page must fail.
for board in $boards; do
    echo "== $board, a log"
    text=$(FEATURES=ztensor,write ./build.sh $board log model/digits.zt)
    echo "$text" | grep '^a log of [0-9]* bytes in flash is complete and right after a loss of power at each of them; stack'
    if text=$(FEATURES=ztensor,write DEFINES=-DKEEP_PAGE ./build.sh $board log model/digits.zt); then
        echo "firmware: a log was continued in a page that was not erased" >&2
        exit 1
    fi
    echo "$text" | grep '^log: a byte was programmed twice$'
done
# Zstandard, without a heap.
FEATURES=ztensor,tens,zstd ./build.sh m4 zstd model/compressed.zt
# The library must not reference an allocator.
symbols=$(arm-none-eabi-nm ../../target/firmware/m4-formats/libtenslice.a 2> /dev/null)
grep -q ' T tenslice_file_open$' <<< "$symbols"
if grep -E ' U .*(malloc|calloc|realloc|free|aligned_alloc|rust_alloc|rust_dealloc)' <<< "$symbols"; then
    echo "firmware: the library would allocate" >&2
    exit 1
fi
# The cost of single calls: each call is linked and run.
costs=$(./calls.sh m4 ztensor)
echo "$costs"
[ "$(awk 'NR > 2 && $2 > 0 && $3 > 0 && NF == 3' <<< "$costs" | wc -l)" = 16 ]
# The commands of docs/firmware.md, including the program in Rust.
./guide.sh
echo "firmware: ok"
