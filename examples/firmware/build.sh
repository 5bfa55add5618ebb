#!/usr/bin/env bash
# Builds a firmware and runs it in QEMU: build.sh BOARD MAIN MODEL [ARGUMENTS OF QEMU...]
#
# BOARD is m4, m4f or m0; the exit code is that of the firmware (124: it did not end in time). The library is built
# from source for the chip, in target/firmware.
set -euo pipefail
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
board=$1 main=$2 model=$3
shift 3

case $board in
m4) target=thumbv7em-none-eabi machine=mps2-an386 flags="-mcpu=cortex-m4 -mfloat-abi=soft" small= ;;
m4f) target=thumbv7em-none-eabihf machine=mps2-an386 flags="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" small= ;;
m0) target=thumbv6m-none-eabi machine=microbit flags="-mcpu=cortex-m0 -mfloat-abi=soft" small=-DSMALL ;;
*) echo "build.sh: unknown board $board" >&2; exit 2 ;;
esac
features=${FEATURES:-ztensor,tens,blz}
out=$top/target/firmware/$board-${features//,/-}
mkdir -p "$out"

# The handler calls a function that exists nowhere: that the firmware links shows that no panic path is left.
"$top/packaging/bare-metal.sh" $target "$out" rustc --quiet --manifest-path "$top/Cargo.toml" --profile size \
    --no-default-features --lib --crate-type staticlib --features "capi,no-panic-link,$features"

elf=$out/$main-$(basename "$model" .zt).elf
# Sums in the order of the source, each rounded by itself: the logits come out bit for bit.
arm-none-eabi-gcc $flags -mthumb -std=c11 -Os -g -ffreestanding -ffp-contract=off -ffunction-sections -fdata-sections \
    -Wall -Wextra -Werror $small -DMODEL="\"$model\"" -I"$top/include" -nostartfiles -nostdlib -T $machine.ld \
    -Wl,--gc-sections,-z,noexecstack,--fatal-warnings,-Map="$elf.map" \
    $main.c startup.c model.S "$out/$target/size/libtenslice.a" ${LIBS--lc_nano -lgcc} -o "$elf"

if [ -n "${BUILD_ONLY:-}" ]; then
    echo "$elf"
    exit 0
fi
timeout "${SECONDS_AT_MOST:-60}" qemu-system-arm -M $machine -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native "$@" -kernel "$elf" 2>&1
