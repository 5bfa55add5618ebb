#!/usr/bin/env bash
# Prints the cost of single calls on a chip: calls.sh [BOARD] [FORMAT] [MODEL]
#
# BOARD is m4, m4f, m0 or rv32. FORMAT is a feature of Cargo.toml. MODEL is your own file to measure with. FEATURES= has
# the features besides the format's.
#
# Flash is the number of bytes by which a call makes the image larger. open, find and bytes are added in this order to a
# program without calls. Each other call is added alone to a program with these three. Two calls that share code cost
# less than their sum. Stack is measured in QEMU, with the last tensor of the model. Another file, or an error in it,
# may need more stack, so leave a margin.
set -euo pipefail
board=${1:-m4} format=${2:-ztensor} model=${3:+$(realpath "$3")}
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
case $format in
ztensor) default=digits8.zt ;;
ztensor2) default=digits2.zt ;;
safetensors) default=digits8.safetensors ;;
npy) default=$top/tests/fixtures/npy/dt_le_f4.npy ;;
npz) default=$top/tests/fixtures/npz/stored.npz ;;
pytorch) default=$top/tests/fixtures/pytorch/views.pt ;;
onnx) default=$top/tests/fixtures/onnx/py_many_200.onnx ;;
tflite) default=$top/tests/fixtures/tflite/py_quantized.tflite ;;
ptd) default=$top/tests/fixtures/ptd/py_module.ptd ;;
*) default=digits.$format ;;
esac
[ "${default#/}" != "$default" ] || default=$PWD/model/$default
model=${model:-$default}
export FEATURES=$format,${FEATURES:-digest,dequantize}
[ -n "$(./boards.sh "$board")" ] || exit 0
size=arm-none-eabi-size
[ "$board" != rv32 ] || size=riscv64-unknown-elf-size

calls=(open find bytes get list info shape index source read_into read_f32 verify status_name status_text error_text
    get_text)
declare -A stacks results
while read -r call stack result; do
    stacks[$call]=$stack results[$call]=$result
done < <(DEFINES="-DSTACK -DCALLS=0xffff" ./build.sh "$board" calls "$model" || echo "failed 0 exit code $?")
[ -n "${stacks[get_text]:-}" ] && [ -z "${stacks[failed]:-}" ] || { echo "calls: the firmware failed" >&2; exit 1; }

flash() { # CALLS: the size of the image
    local elf
    elf=$(DEFINES="-DCALLS=$1" BUILD_ONLY=1 LIBS= ./build.sh "$board" calls "$model")
    $size "$elf" | awk 'END { print $1 + $2 }'
}

printf '%s, %s: %s\n' "$board" "$FEATURES" "$(basename "$model")"
printf '%-12s %9s %9s\n' call flash stack
before=$(flash 0)
for ((bit = 0; bit < ${#calls[@]}; bit++)); do
    call=${calls[bit]}
    if ((bit < 3)); then
        with=$(flash $(((2 << bit) - 1)))
        added=$((with - before)) before=$with
    else
        added=$(($(flash $((7 | 1 << bit))) - before))
    fi
    note=
    [ "${results[$call]}" = Ok ] || note="   (returns ${results[$call]})"
    printf '%-12s %9d %9d%s\n' "$call" "$added" "${stacks[$call]}" "$note"
done
