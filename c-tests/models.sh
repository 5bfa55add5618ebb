#!/usr/bin/env bash
# Opens models in folders with tenslice_host.c and with the crate tenslice-host: models.sh FOLDER_OF_THE_LIBRARY. Compares
# what c-tests/host.c, c-tests/host.cpp and host/examples/model.rs print with the expected text: complete models, missing,
# damaged and repeated files, other spellings of paths, links. Every program must also return 1 if it prints an error,
# otherwise 0, and print nothing else. One of them runs under AddressSanitizer and UndefinedBehaviorSanitizer, which also
# detect leaks. The tool must list the same tensors and the same problems.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

lib=$(cd "$1" && pwd)
out=$PWD/target/models
fixtures=$PWD/tests/fixtures
rm -rf "$out"
mkdir -p "$out"
build() { # PROGRAM COMPILE...
    "${@:2}" -Wall -Wextra -Wpedantic -Wshadow -Werror -O1 -g -Iinclude host/tenslice_host.c c-tests/host.c -x none \
        "$lib/libtenslice.a" -lm -o "$out/$1"
}
build host "${CC:-cc}" -std=c99 -Wconversion
build host-as-cpp "${CXX:-c++}" -std=c++17 -x c++
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O1 -g -Iinclude c-tests/host.cpp -x c++ \
    host/tenslice_host.c -x none "$lib/libtenslice.a" -o "$out/host-cpp"
# The packages, the profile and the features of `make test`, whose Rust tests run this tool at the same time.
"${CARGO:-cargo}" build --quiet --profile test --features "$TEST_FEATURES" -p tenslice -p tenslice-cli -p tenslice-host \
    --bin tenslice --example model
built=${CARGO_TARGET_DIR:-target}/debug
cp "$built/examples/model" "$out/host-rust"
tool=$(cd "$built" && pwd)/tenslice
programs="host host-as-cpp host-cpp host-rust"
sanitized="-fsanitize=address,undefined -fno-sanitize-recover=all"
# shellcheck disable=SC2086 # words
if echo 'int main(void){return 0;}' | ${CC:-cc} $sanitized -x c - -o "$out/probe" 2> /dev/null && "$out/probe"; then
    build host-sanitized "${CC:-cc}" -std=c99 $sanitized
    programs+=" host-sanitized"
else
    skip "models under sanitizers (this compiler has none)"
fi

count=0
run() { # PROGRAM PATH NAME...: writes what the program prints to $out/printed, and checks its exit code
    local code=0 expected=0
    (cd "$out" && "./$1" "${@:2}") > "$out/printed" 2> "$out/errors" || code=$?
    ! grep -q '^error: ' "$out/printed" || expected=1
    if [ $code != $expected ] || [ -s "$out/errors" ]; then
        cat "$out/printed" "$out/errors"
        echo "models.sh: $1 $2: exit code $code, expected $expected, and no other output" >&2
        exit 1
    fi
}
prints() { # EXPECTED PATH NAME...: every program must print the expected text
    local program
    for program in $programs; do
        run "$program" "${@:2}"
        diff <(echo "$1") "$out/printed" || { echo "models.sh: $program $2" >&2; exit 1; }
    done
    agrees "$2"
    count=$((count + 1))
}
matches() { # LINES PATTERN PATH NAME...: this many lines of every program must match the pattern
    local program found
    for program in $programs; do
        run "$program" "${@:3}"
        found=$(grep -c "$2" "$out/printed") || [ $? = 1 ] # no line
        if [ "$found" != "$1" ]; then
            cat "$out/printed"
            echo "models.sh: $program $3: $found lines match $2, expected $1" >&2
            exit 1
        fi
    done
    agrees "$3"
    count=$((count + 1))
}
agrees() { # PATH: the tool must list what the last program has printed, or refuse the file for the same reason
    local code=0
    (cd "$out" && "$tool" list --json "$1") > "$out/records" 2> "$out/errors" || code=$?
    if [ $code -gt 1 ]; then # a panic, or wrong usage
        cat "$out/errors"
        echo "models.sh: tenslice list --json $1: exit code $code" >&2
        exit 1
    fi
    if grep -q '^error: ' "$out/printed"; then
        # The tool lists all models of a folder.
        [ -d "$(cd "$out" && realpath "$1")" ] \
            || python3 c-tests/models.py < "$out/records" | grep -qF "$(sed 's/^error: [^:]*: //' "$out/printed")"
    else
        python3 c-tests/models.py < "$out/records" > "$out/listed" \
            && diff <(grep '^tensor \|^problem ' "$out/printed" | sort) <(sort "$out/listed")
    fi || { cat "$out/printed" "$out/records" "$out/errors"; echo "models.sh: tenslice list --json $1" >&2; exit 1; }
}

# The index of a safetensors model.
mkdir "$out/indexed" "$out/lacking"
cp "$fixtures"/safetensors/rs_sharded* "$out/indexed"
all='file rs_sharded-00001-of-00002.safetensors
file rs_sharded-00002-of-00002.safetensors
tensor enc.b in rs_sharded-00001-of-00002.safetensors
tensor enc.w in rs_sharded-00001-of-00002.safetensors
tensor dec.w in rs_sharded-00002-of-00002.safetensors'
prints "$all
dec.v: no tensor \"dec.v\"; the nearest name is \"dec.w\"
dec.v: no tensor \"dec.v\"; the nearest name is \"dec.w\"" indexed dec.v
prints "$all" indexed/
prints "$all" ./indexed/rs_sharded.safetensors.index.json
prints "$all" "$out/indexed/rs_sharded.safetensors.index.json"
cp "$out/indexed/rs_sharded.safetensors.index.json" "$out/indexed/rs_sharded-00001-of-00002.safetensors" "$out/lacking"
prints 'file rs_sharded-00001-of-00002.safetensors
file rs_sharded-00002-of-00002.safetensors
tensor enc.b in rs_sharded-00001-of-00002.safetensors
tensor enc.w in rs_sharded-00001-of-00002.safetensors
problem rs_sharded-00002-of-00002.safetensors: the file is missing, and with it 1 tensor of the index
dec.w: rs_sharded-00002-of-00002.safetensors: the file is missing, and with it 1 tensor of the index
dec.w: rs_sharded-00002-of-00002.safetensors: the file is missing, and with it 1 tensor of the index' lacking dec.w
# Folders below the index, another spelling, and links to files elsewhere, as in a cache of models.
mkdir -p "$out/links/below" "$out/blobs"
mv "$out/lacking/rs_sharded-00001-of-00002.safetensors" "$out/blobs/1"
ln -s ../../blobs/1 "$out/links/below/1.st"
cp "$fixtures/safetensors/rs_sharded-00002-of-00002.safetensors" "$out/links/2.st"
echo '{"weight_map": {"enc.w": "./below//1.st", "dec.w": "2.st"}}' > "$out/links/x.safetensors.index.json"
prints 'file 2.st
file below/1.st
tensor dec.w in 2.st
tensor enc.w in below/1.st
problem below/1.st: tensor "enc.b" is not a tensor of the model: the index does not list it' links
# Two spellings of a path are one file.
mkdir "$out/spelled"
cp "$fixtures"/safetensors/rs_sharded-0* "$out/spelled"
name=rs_sharded-00001-of-00002.safetensors
echo "{\"weight_map\": {\"enc.b\": \"./$name\", \"enc.w\": \"$name\", \"dec.w\": \"${name/1-of/2-of}\"}}" \
    > "$out/spelled/x.safetensors.index.json"
prints "$all" spelled
# The paths of an index stay in its folder.
echo '{"weight_map": {"enc.w": "../blobs/1"}}' > "$out/blobs/x.safetensors.index.json"
matches 1 '^error: x.safetensors.index.json: safetensors index: .*/blobs/1' blobs
# The files of an index may be damaged.
head -c 30 "$out/blobs/1" > "$out/indexed/rs_sharded-00001-of-00002.safetensors"
matches 1 '^problem rs_sharded-00001-of-00002.safetensors: safetensors: .*missing' indexed
matches 1 '^tensor dec.w in ' indexed
# JSON is an index only with a "weight_map".
mkdir "$out/json"
echo '{"metadata": {"total_size": 24}}' > "$out/json/other.json"
matches 1 '^error: other.json: .*has no "weight_map": it is neither a tensor file nor the index of a model' json/other.json
echo '{"weight_map": {"a": "1.st"' > "$out/json/cut.json"
matches 1 '^error: cut.json: safetensors index: .*truncated' json/cut.json

# The parts of a GGUF model: the second part is the first with another number and another name of its tensor.
mkdir "$out/parts" "$out/twice" "$out/alone"
part() { # NUMBER: the part, to the standard output
    python3 - "$fixtures/gguf/split_00001.gguf" "$1" << 'PYTHON'
import sys
part, number = bytearray(open(sys.argv[1], "rb").read()), int(sys.argv[2])
part[part.index(b"split.no") + 12] = number  # after the key and the type
name = part.index(b"\1\0\0\0\0\0\0\0a") + 8
part[name] = ord("a") + number
sys.stdout.buffer.write(part)
PYTHON
}
part 0 > "$out/parts/m-00001-of-00002.gguf"
part 1 > "$out/parts/m-00002-of-00002.gguf"
all='file m-00001-of-00002.gguf
file m-00002-of-00002.gguf
tensor a in m-00001-of-00002.gguf
tensor b in m-00002-of-00002.gguf'
prints "$all" parts
prints "$all" parts/m-00001-of-00002.gguf
prints "$all" parts/m-00002-of-00002.gguf
part 1 > "$out/parts/other-00002-of-00002.gguf" # of another model
prints "$all" parts/m-00001-of-00002.gguf
matches 1 '^error: the folder has several models: .*m-00001-of-00002.gguf or other-00002-of-00002.gguf$' parts
cp "$out/parts/m-00002-of-00002.gguf" "$out/twice/m-00001-of-00002.gguf"
cp "$out/parts/m-00002-of-00002.gguf" "$out/twice"
prints 'file m-00002-of-00002.gguf
file m-00001-of-00002.gguf
tensor b in m-00002-of-00002.gguf
problem m-00001-of-00002.gguf: this is part 2 of 2 (split.no 1), and so is "m-00002-of-00002.gguf"
problem part 1 of 2 is missing
problem m-00001-of-00002.gguf: this is part 2 of 2 (split.no 1), and its name states another
b: m-00001-of-00002.gguf: this is part 2 of 2 (split.no 1), and so is "m-00002-of-00002.gguf"
b: m-00001-of-00002.gguf: this is part 2 of 2 (split.no 1), and so is "m-00002-of-00002.gguf"' twice b
cp "$out/parts/m-00001-of-00002.gguf" "$out/alone"
head -c 40 "$out/parts/m-00002-of-00002.gguf" > "$out/alone/m-00002-of-00002.gguf"
matches 1 '^problem m-00002-of-00002.gguf: gguf 3: ' alone
matches 1 '^problem' alone
matches 1 '^tensor a in m-00001-of-00002.gguf$' alone
mv "$out/alone/m-00002-of-00002.gguf" "$out/alone/readme.txt"
prints 'file m-00001-of-00002.gguf
tensor a in m-00001-of-00002.gguf
problem part 2 of 2 is missing' alone

# A part has any name. A file that has the name of a part, and states something else, is a problem of the model.
mkdir "$out/renamed"
cp "$out/parts/m-00001-of-00002.gguf" "$out/renamed"
cp "$out/parts/m-00002-of-00002.gguf" "$out/renamed/rest"
mkfifo "$out/renamed/pipe"
for path in renamed renamed/rest; do
    prints 'file m-00001-of-00002.gguf
file rest
tensor a in m-00001-of-00002.gguf
tensor b in rest
problem rest: this is part 2 of 2 (split.no 1), and its name states another' $path
done
mkdir "$out/invalid"
cp "$out/parts/m-00001-of-00002.gguf" "$out/invalid"
cp "$(grep -L split.no "$fixtures"/gguf/*.gguf | head -n 1)" "$out/invalid/m-00002-of-00002.gguf"
matches 1 '^problem m-00002-of-00002.gguf: the file does not state that it is a part of a model, but' invalid
matches 1 '^problem part 2 of 2 is missing$' invalid

# A damaged first part does not hide the others, nor does its folder.
mkdir "$out/damaged"
head -c 40 "$out/parts/m-00001-of-00002.gguf" > "$out/damaged/m-00001-of-00002.gguf"
cp "$out/parts/m-00002-of-00002.gguf" "$out/damaged"
for path in damaged damaged/m-00002-of-00002.gguf; do
    matches 1 '^tensor b in m-00002-of-00002.gguf$' $path
    matches 1 '^problem m-00001-of-00002.gguf: gguf 3: ' $path
done
matches 1 '^error: m-00001-of-00002.gguf: gguf 3: ' damaged/m-00001-of-00002.gguf

# The shards of a zTensor 2 file.
mkdir "$out/shards"
cp "$fixtures/v2/shards.zt" "$fixtures/v2/shards-base.zt" "$out/shards"
for path in shards shards/shards.zt; do
    matches 3 ' bytes, sum ' $path local base.b base.w
    matches 3 ' numbers, sum ' $path local base.b base.w
    matches 0 '^problem' $path
done
rm "$out/shards/shards-base.zt"
matches 1 '^problem shards.zt: shard "base" of [0-9]* bytes is missing$' shards
matches 1 '^local: .* bytes, sum' shards local
matches 2 '^base.w: tensor "base.w": its bytes are in the shard "base", which is missing \[in "shards.zt"\]$' shards base.w
# Blocks are converted.
matches 1 ' numbers, sum ' "$fixtures/gguf-blocks/q8_0.gguf" q8_0.random

# A file with the name of a shard, which the other file does not list.
mkdir "$out/two"
cp "$fixtures/v2/scalar_rank0.zt" "$out/two/a.zt"
cp "$fixtures/v2/scalar_rank0.zt" "$out/two/a-q8.zt"
matches 1 '^error: the folder has several models: pass the path of one, such as a.zt or a-q8.zt$' two
# A message is as long as its names.
python3 - "$out/long.safetensors" << 'PYTHON'
import struct, sys

header = b'{"%s":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}' % (b"a" * 600)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header)
PYTHON
matches 1 '^error: long.safetensors: safetensors: .*a\{600\}.*missing' long.safetensors

# Folders that have caused trouble for users, next to a corpus: all programs must agree.
for folder in "$(dirname "${TENSLICE_CHECK:-none/check}")"/reports/*/; do
    [ -d "$folder" ] || continue
    run host-rust "$folder"
    prints "$(cat "$out/printed")" "$folder"
done

# Other paths.
mkfifo "$out/pipe"
for program in $programs; do
    run "$program" pipe
    diff <(echo 'error: pipe: Invalid argument') "$out/printed" || exit 1
done
prints 'error: none: No such file or directory' none
mkdir "$out/empty"
prints 'error: the folder has no tensor file' empty
printf '' > "$out/empty/x.npy"
prints 'error: x.npy: the file is empty: nothing was downloaded or written [at byte 0]' empty
prints 'file struct_nested_4.npy
tensor  in struct_nested_4.npy' "$fixtures/npy/struct_nested_4.npy"
matches 1 '^error: end_past_eof.zt: ztensor 1.2.0: .*past the end of the file' "$fixtures/bad/v1.2/end_past_eof.zt"
echo "models: ok ($count compared)"
