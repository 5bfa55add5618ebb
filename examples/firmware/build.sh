#!/usr/bin/env bash
# Builds a firmware and runs it in QEMU: build.sh BOARD MAIN MODEL [ARGUMENTS OF QEMU...]
#
# BOARD is m4, m4f, m0 or rv32. The exit code is the firmware's, or 124 after a timeout. The library is built from
# source for the chip, in target/firmware. DEFINES has more arguments for the C compiler. MAIN `embedded`, `convolution`
# and `vad` have no library: the tool writes the model as assembly and a header.
set -euo pipefail
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
board=$1 main=$2 model=$3
shift 3

case $board in
m4) target=thumbv7em-none-eabi machine=mps2-an386 flags="-mcpu=cortex-m4 -mfloat-abi=soft" ;;
m4f) target=thumbv7em-none-eabihf machine=mps2-an386 flags="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" ;;
m0) target=thumbv6m-none-eabi machine=microbit flags="-mcpu=cortex-m0 -mfloat-abi=soft -DSMALL" ;;
rv32) target=riscv32imac-unknown-none-elf machine=virt flags="-march=rv32imac_zicsr -mabi=ilp32" ;;
*) echo "build.sh: unknown board $board" >&2; exit 2 ;;
esac
case $board in
rv32) chip=riscv gcc=riscv64-unknown-elf-gcc qemu="qemu-system-riscv32 -bios none" libs= march=${flags/_zicsr/} ;;
*) chip=cortex-m gcc=arm-none-eabi-gcc qemu=qemu-system-arm flags="$flags -mthumb" libs="-lc_nano -lgcc" march=$flags ;;
esac
all=formats
# In the flash of the micro:bit there is no room for every format beside a model: PyTorch takes most.
[ $board != m0 ] || all=$("$top/packaging/formats.sh" | grep -vx pytorch | paste -sd, -)
features=${FEATURES:-$all}
built=$top/target/firmware/cargo
out=$top/target/firmware/$board-${features//,/-}
mkdir -p "$out"
elf=$out/$main-$(basename "$model" .zt).elf

if [ "$main" = embedded ] || [ "$main" = convolution ] || [ "$main" = vad ]; then
    file=$(realpath "$model")
    (cd "$top" && "${CARGO:-cargo}" run --quiet --release -p tenslice-cli -- embed "$file" -o "$out/weights.S" --force)
    # gcc finds the library of its own functions for this architecture only if no extension is named besides.
    sources="$main.c startup.c $chip.c $out/weights.S" libs=$($gcc $march -print-libgcc-file-name)
else
    # The panic handler calls an undefined function, so the firmware links only if no panic path is left.
    "$top/packaging/bare-metal.sh" $target "$built" rustc --quiet --manifest-path "$top/Cargo.toml" --profile size \
        --no-default-features --lib --crate-type staticlib --features "capi,no-panic-link,$features"
    # All features share a folder, so that `core` is built once per target. Cargo leaves the last build there.
    cp "$built/$target/size/libtenslice.a" "$out/"
    sources="$main.c startup.c $chip.c model.S $out/libtenslice.a"
fi

# Without contraction each sum is rounded separately, in source order, so the logits match bit for bit.
$gcc $flags ${DEFINES:-} -std=c11 -Os -g -ffreestanding -ffp-contract=off -ffunction-sections -fdata-sections \
    -Wall -Wextra -Werror -DMODEL="\"$model\"" -I"$top/include" -I"$out" -nostartfiles -nostdlib -T $machine.ld \
    -Wl,--gc-sections,-z,noexecstack,--fatal-warnings,-Map="$elf.map" \
    $sources ${LIBS-$libs} -o "$elf"

if [ -n "${BUILD_ONLY:-}" ]; then
    echo "$elf"
    exit 0
fi
timeout "${SECONDS_AT_MOST:-60}" $qemu -M $machine -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native "$@" -kernel "$elf" 2>&1
