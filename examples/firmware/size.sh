#!/usr/bin/env bash
# Prints a table of the flash, stack and instructions of the library on chips. With --check, compares it with
# limits.txt. BOARDS= selects chips.
#
# Flash is the part of the library that the linker kept, including the compiler's helpers for it, in a C program that
# opens, lists, finds and reads, or writes. Only `minimal` has texts of errors, and only `quantized` has floating point.
# Stack and instructions are measured in QEMU.
set -euo pipefail
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
exceeded=

limit() { # WHAT FIGURE: compares a figure with its limit
    local most
    most=$(awk -v what="$1" '$1 == what { print $2 }' limits.txt)
    printf '%-34s %9s   (at most %s)\n' "$1" "$2" "${most:-not set}"
    if [ -z "$most" ] || [ "$2" -gt "$most" ]; then
        exceeded+="    $1: $2, at most ${most:-not set}"$'\n'
    fi
}

flash() { # MAP: the bytes of the library in the image
    python3 - "$1" << 'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
text = text[text.index("Linker script and memory map"):]
text = re.sub(r"\n\s+(0x[0-9a-f]+\s+0x[0-9a-f]+ \S)", r" \1", text)
total = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
for section, address, size, where in re.findall(r"^ \.s?(text|rodata|data|bss)\S*\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+) (\S+)", text, re.M):
    if int(address, 16) + int(size, 16) > 0 and ("libtenslice.a" in where):
        total[section] += int(size, 16)
print(total["text"] + total["rodata"], total["data"] + total["bss"])
PYTHON
}

image() { # CHIP ELF: the bytes of the whole image
    local size=arm-none-eabi-size
    [ "$1" != rv32 ] || size=riscv64-unknown-elf-size
    $size "$2" | awk 'END { print $1 + $2 }'
}

boards=$(./boards.sh ${BOARDS:-m4 m0 rv32})
for board in $boards; do
    for features in $("$top/packaging/formats.sh") formats; do
        elf=$(FEATURES=$features BUILD_ONLY=1 LIBS= ./build.sh $board flash model/digits.zt)
        read -r flash ram <<< "$(flash "$elf.map")"
        limit "$board.$features.flash" "$flash"
        limit "$board.$features.ram" "$ram"
    done
    # The fewest calls to use a tensor of zTensor 1.2, and one more: texts, digests.
    for call in none status_text error_text get_text crc32c file_crc32c sha256; do
        case $call in
        none) features=ztensor define= ;;
        crc32c | sha256) features=ztensor,$call define=-DVERIFY ;;
        file_crc32c) features=ztensor,crc32c define=-DVERIFY_FILE ;;
        *) features=ztensor define=-D${call^^} ;;
        esac
        elf=$(FEATURES=$features DEFINES=$define BUILD_ONLY=1 LIBS= ./build.sh $board minimal model/digits.zt)
        read -r flash ram <<< "$(flash "$elf.map")"
        limit "$board.minimal-${call/_/-}.flash" "$flash"
        limit "$board.minimal-${call/_/-}.ram" "$ram"
    done
    # The fewest calls that write a file, and what each of them needs.
    for format in safetensors ztensor; do
        define=-DFORMAT=TENSLICE_FORMAT_${format^^}
        elf=$(FEATURES=$format,write DEFINES=$define BUILD_ONLY=1 LIBS= ./build.sh $board write model/digits.zt)
        read -r flash ram <<< "$(flash "$elf.map")"
        limit "$board.write-$format.flash" "$flash"
        limit "$board.write-$format.ram" "$ram"
        figures=$(FEATURES=$format,write DEFINES="$define -DSTACK" ./build.sh $board write model/digits.zt -icount shift=6)
        while read -r what stack instructions; do
            limit "$board.write-$format.$what.stack" "$stack"
            limit "$board.write-$format.$what.instructions" "$instructions"
        done <<< "$figures"
    done
    # A model with two types of quantized blocks, read as numbers.
    elf=$(FEATURES=gguf,dequantize BUILD_ONLY=1 ./build.sh $board quantized model/digits.gguf)
    read -r flash ram <<< "$(flash "$elf.map")"
    limit "$board.quantized.flash" "$flash"
    limit "$board.quantized.ram" "$ram"
    # The same network with 8-bit weights and scales, multiplied in place.
    elf=$(FEATURES=safetensors BUILD_ONLY=1 ./build.sh $board int8 model/digits8.safetensors)
    read -r flash ram <<< "$(flash "$elf.map")"
    limit "$board.int8.flash" "$flash"
    limit "$board.int8.ram" "$ram"
    # The whole image of this network: with the weights as arrays, without the library, and with the file and the names of
    # statuses.
    chips=$board
    [ $board != m4 ] || chips="m4 m4f"
    for chip in $chips; do
        elf=$(BUILD_ONLY=1 ./build.sh $chip embedded model/digits8.safetensors)
        limit "$chip.embedded.image" "$(image $chip "$elf")"
        elf=$(FEATURES=safetensors DEFINES=-DSTATUS=tenslice_status_name BUILD_ONLY=1 \
            ./build.sh $chip int8 model/digits8.safetensors)
        limit "$chip.file.image" "$(image $chip "$elf")"
    done
    # A network that detects speech: weights and code, without the signal of the test, and what a chunk of it costs.
    vad=
    [ $board != m4 ] || vad=$(./vad.sh)
    if [ -n "$vad" ]; then
        elf=$(DEFINES=-DFIGURES BUILD_ONLY=1 ./build.sh m4f vad "$vad")
        read -r text data bss _ <<< "$(arm-none-eabi-size "$elf" | tail -1)"
        limit m4f.vad.flash $((text + data - 16 * 512 * 2))
        limit m4f.vad.ram $((data + bss))
        figures=$(DEFINES=-DFIGURES ./build.sh m4f vad "$vad" -icount shift=6)
        read -r what stack instructions <<< "$figures"
        limit "m4f.vad.$what.stack" "$stack"
        limit "m4f.vad.$what.instructions" "$instructions"
    fi
    # Compressed weights. Their tables do not fit into the stack of the M0.
    if [ $board != m0 ]; then
        for features in ztensor,tens ztensor,tens,zstd; do
            elf=$(FEATURES=$features BUILD_ONLY=1 ./build.sh $board zstd model/compressed.zt)
            read -r flash ram <<< "$(flash "$elf.map")"
            limit "$board.compressed-$features.flash" "$flash"
            limit "$board.compressed-$features.ram" "$ram"
        done
        figures=$(FEATURES=ztensor,tens,zstd ./build.sh $board zstd model/compressed.zt -icount shift=6)
        read -r what stack instructions <<< "$figures"
        limit "$board.compressed.$what.stack" "$stack"
        limit "$board.compressed.$what.instructions" "$instructions"
    fi
    # Decoding of blocks, and nothing else: the cost of single types, and of all types.
    for type in q8_0 q4_k iq2_s all; do
        one=-DTYPES="CALL($type)"
        [ $type != all ] || one=
        elf=$(FEATURES=gguf,dequantize DEFINES=$one BUILD_ONLY=1 LIBS= ./build.sh $board blocks model/digits.zt)
        read -r flash ram <<< "$(flash "$elf.map")"
        limit "$board.blocks-$type.flash" "$flash"
        limit "$board.blocks-$type.ram" "$ram"
    done
    for model in digits.zt worst.zt digits2.zt digits.safetensors digits.gguf digits.tens "$top/tests/fixtures/tens/good/sym_3.tens" "$top/tests/fixtures/b2nd/good/nd02_lz4_0.b2nd"; do
        case $model in digits2.zt) features=ztensor2 model=model/$model ;; *.zt) features=ztensor model=model/$model ;; digits.tens) features=tens model=model/$model ;;
        *.safetensors) features=safetensors model=model/$model ;; *.gguf) features=gguf model=model/$model ;;
        *.b2nd) features=b2nd ;; *) features=tens ;; esac
        name=$(basename "${model%.*}")-${model##*.}
        figures=$(FEATURES=$features ./build.sh $board figures "$model" -icount shift=6)
        while read -r what stack instructions; do
            limit "$board.$name.$what.stack" "$stack"
            limit "$board.$name.$what.instructions" "$instructions"
        done <<< "$figures"
    done
done
if [ "${1:-}" = --check ] && [ -n "$exceeded" ]; then
    echo "size: figures exceed their limits in examples/firmware/limits.txt: mend them, or raise the limits and say why" >&2
    printf '%s' "$exceeded" >&2
    exit 1
fi
