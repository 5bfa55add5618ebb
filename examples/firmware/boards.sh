#!/usr/bin/env bash
# Prints the boards that can be tested on this machine: boards.sh BOARD... If the compiler or QEMU for RISC-V is
# missing, that board is skipped, with a message; with TENSLICE_NO_SKIP=1 this is a failure.
set -euo pipefail

for board in "$@"; do
    if [ "$board" = rv32 ] && ! { command -v riscv64-unknown-elf-gcc && command -v qemu-system-riscv32; } > /dev/null; then
        echo "skipped: rv32 (no riscv64-unknown-elf-gcc or no qemu-system-riscv32)" >&2
        [ "${TENSLICE_NO_SKIP:-0}" != 1 ] || { echo "nothing may be skipped here" >&2; exit 1; }
    else
        echo "$board"
    fi
done
