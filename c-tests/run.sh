#!/usr/bin/env bash
# Builds and runs the C and C++ tests, the examples and the documentation with the static library: run.sh
# FOLDER_OF_THE_LIBRARY. builds.sh builds the tests in all other ways.
set -euo pipefail
cd "$(dirname "$0")/.."

lib=$(cd "$1" && pwd)
fixtures=$PWD/tests/fixtures
out=$PWD/target/c-tests
mkdir -p "$out"
warnings="-Wall -Wextra -Wpedantic -Werror"
c="${CC:-cc} -std=c99 $warnings -O1 -g -Iinclude -Ic-tests"
cxx="${CXX:-c++} $warnings -O1 -g -Iinclude -Ic-tests"

# Every exported function must be tried with NULL: arguments.c names them all.
for function in $(grep -ohE '\btenslice_[a-z0-9_]+\(' include/tenslice.h include/tenslice/*.h | tr -d '(' | sort -u); do
    grep -q "\b$function(" c-tests/arguments.c || { echo "c-tests/arguments.c leaves out $function" >&2; exit 1; }
done

# Every function that takes a handle must be tried with each handle that it rejects. These only make one.
declarations=$(sed '/^#/d; s|/\*.*\*/||' include/tenslice.h include/tenslice/*.h | tr '\n;' ' \n')
kinds='file|tensor|component|cursor|source|plan|sparse|index|items|value|train|safetensors_index|model|model_[a-z]+|problem|writer'
takes_handle=$(grep -oE "\btenslice_[a-z0-9_]+\([^)]*\btenslice_($kinds) \*" <<< "$declarations" | sed 's/(.*//' | sort -u)
[ "$(wc -l <<< "$takes_handle")" -gt 100 ] # the search works
for function in $takes_handle; do
    case $function in tenslice_file_open | tenslice_source_init | tenslice_safetensors_index_open) continue ;; esac
    case $function in tenslice_plan_open | tenslice_writer_open) continue ;; esac
    case $function in tenslice_model_file_missing | tenslice_model_file_invalid | tenslice_model_file_shard) continue ;; esac
    grep -q "\b$function(" c-tests/handles.c || { echo "c-tests/handles.c leaves out $function" >&2; exit 1; }
done
# Every function that fills memory by pointer and length must be tried with memory that overlaps another argument.
fills=$(grep -oE '\btenslice_[a-z0-9_]+\([^)]*\)' <<< "$declarations" \
    | grep -E '[(,] *(void|char|uint32_t|uint64_t|float) \*[a-z]+, *size_t' | sed 's/(.*//')
[ "$(wc -l <<< "$fills")" -gt 50 ]
for function in $fills; do
    grep -q "\b$function\b" c-tests/overlap.c || { echo "c-tests/overlap.c leaves out $function" >&2; exit 1; }
done

for test in read parts formats write arguments handles overlap layout changed; do
    $c "c-tests/$test.c" "$lib/libtenslice.a" -lm -o "$out/$test-static"
    "$out/$test-static" "$fixtures"
done
$c -DBUILT_IN=1 c-tests/decode.c "$lib/libtenslice.a" -o "$out/decode"
"$out/decode" "$fixtures"
$cxx -std=c++11 c-tests/plus.cpp "$lib/libtenslice.a" -o "$out/plus"
"$out/plus" "$fixtures"
# tenslice.hpp, with results and with exceptions.
for throw in "" -DTENSLICE_THROW; do
    $cxx -std=c++17 $throw c-tests/hpp.cpp "$lib/libtenslice.a" -o "$out/hpp"
    "$out/hpp" "$fixtures"
done

# The C and C++ blocks of the documentation, and its links.
c-tests/docs.sh "$lib"

# The example that `make demo` runs.
$c -D_GNU_SOURCE examples/load.c "$lib/libtenslice.a" -o "$out/load"
"$out/load" tests/fixtures/v1.2/converted_safetensors.zt a.w > "$out/load.txt"
grep -q 'sum -2.472' "$out/load.txt" || { cat "$out/load.txt"; echo "load: the sum is wrong" >&2; exit 1; }
if "$out/load" tests/fixtures/bad/v1.2/end_past_eof.zt 2> "$out/load.txt"; then
    echo "load: accepted a bad file" >&2
    exit 1
fi
grep -q '100000 bytes at offset 64 extend past the end of the file (323 bytes)' "$out/load.txt"

$c -D_GNU_SOURCE examples/ranges.c "$lib/libtenslice.a" -o "$out/ranges"
"$out/ranges" tests/fixtures/v1.2/converted_safetensors.zt a.w | grep -q 'bytes of f32; [0-9]* of [0-9]* bytes were fetched'
"$out/ranges" tests/fixtures/tens/good/unknown_chunks_many.tens "" | grep -q '18 bytes of u16'

# All tensors of a file, by the reads of a plan: direct and through the page cache.
$c -Wconversion -D_GNU_SOURCE examples/plan.c "$lib/libtenslice.a" -pthread -o "$out/plan"
for cached in "" cached; do
    "$out/plan" tests/fixtures/safetensors/py_transformer.safetensors $cached > "$out/plan.txt"
    grep -q '^200 tensors, 32768 bytes, .* the last bytes add up to 19348$' "$out/plan.txt" || { cat "$out/plan.txt"; exit 1; }
done
if "$out/plan" tests/fixtures/bad/v1.2/end_past_eof.zt 2> "$out/plan.txt"; then
    echo "plan: accepted a bad file" >&2
    exit 1
fi
grep -q 'error: .*exceeds the file size' "$out/plan.txt"
# A file of two tensors, compiled as C and as C++, and by the Rust example.
$c -Wconversion examples/write.c "$lib/libtenslice.a" -o "$out/write"
$cxx -std=c++11 -x c++ examples/write.c -x none "$lib/libtenslice.a" -o "$out/write-cpp"
for program in write write-cpp; do
    "$out/$program" "$out/written.safetensors"
    "$out/load" "$out/written.safetensors" layer1.weight | grep -q 'sum 21'
done
$cxx -std=c++17 examples/span.cpp "$lib/libtenslice.a" -o "$out/span"
"$out/span" tests/fixtures/v1.2/converted_safetensors.zt a.w | grep -q 'sum -2.472'
if "$out/span" tests/fixtures/bad/v1.2/end_past_eof.zt 2> "$out/span.txt"; then
    echo "span: accepted a bad file" >&2
    exit 1
fi
grep -q '100000 bytes at offset 64 extend past the end of the file (323 bytes)' "$out/span.txt"

# A check of a TFLite model before an interpreter gets it, compiled as C and as C++: a good model, and each kind of
# problem.
$c -Wconversion examples/check_model.c "$lib/libtenslice.a" -o "$out/check-model"
$cxx -std=c++11 -x c++ examples/check_model.c -x none "$lib/libtenslice.a" -o "$out/check-model-cpp"
model_has() { # MODEL PROBLEM
    if "$out/$program" "$fixtures/tflite/$1.tflite" 2> "$out/check-model.txt"; then
        echo "$program: accepted $1" >&2
        exit 1
    fi
    grep -q "^error: .*$2.* \[at byte [0-9]*\]$" "$out/check-model.txt" || { cat "$out/check-model.txt"; exit 1; }
}
for program in check-model check-model-cpp; do
    for file in cc_quantized py_sparse py_strings py_all_types; do
        "$out/$program" "$fixtures/tflite/$file.tflite"
    done
    model_has bad/size_short "length 23, shape"
    model_has bad/q_scale_count "scales and zero points do not fit"
    model_has bad/strings_order "places of the texts"
    model_has bad/sparse_index_order "indices of a row"
    model_has py_external_buffers "in another file"
    status=0
    "$out/$program" "$fixtures/v1.2/converted_safetensors.zt" 2> /dev/null || status=$?
    [ $status = 1 ]
done

# All weights of a transformer, from a file and from a folder with two files and their index, and the messages for files
# with other weights.
$c -Wconversion -Ihost examples/engine.c host/tenslice_host.c "$lib/libtenslice.a" -o "$out/engine-c"
$c -Wconversion -c host/tenslice_host.c -o "$out/engine-host.o"
$cxx -Wconversion -std=c++17 examples/engine.cpp "$out/engine-host.o" "$lib/libtenslice.a" -o "$out/engine-cpp"
model=tests/fixtures/safetensors/py_transformer.safetensors
mkdir -p "$out/engine"
python3 - $model "$out/engine" << 'PYTHON'
import json, struct, sys

data = open(sys.argv[1], "rb").read()
start = 8 + struct.unpack("<Q", data[:8])[0]
tensors = {name: one for name, one in json.loads(data[8:start]).items() if name != "__metadata__"}
places = {}
for number in (1, 2):
    header, stored = {}, b""
    for name in sorted(tensors)[number % 2 :: 2]:
        first, last = tensors[name]["data_offsets"]
        header[name] = {**tensors[name], "data_offsets": [len(stored), len(stored) + last - first]}
        stored += data[start + first : start + last]
        places[name] = f"model-{number}.safetensors"
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{sys.argv[2]}/model-{number}.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + stored)
with open(f"{sys.argv[2]}/model.safetensors.index.json", "w") as file:
    json.dump({"weight_map": places}, file)
PYTHON
LC_ALL=C sed 's/layers.7.self_attn.k_proj/layers.7.self_attn.k_porj/' $model > "$out/no-name"
LC_ALL=C sed 's/"shape":\[16,8\]/"shape":[8,16]/g' $model > "$out/other-shape"
for engine in engine-c engine-cpp; do
    for weights in $model "$out/engine"; do
        "$out/$engine" "$weights" | grep -qx 'all weights are loaded, sum 344.335'
    done
    for file in no-name other-shape; do
        if "$out/$engine" "$out/$file" > /dev/null 2> "$out/$engine-$file.txt"; then
            echo "$engine: accepted $file" >&2
            exit 1
        fi
    done
    grep -q 'no tensor "model.layers.7.self_attn.k_proj.weight"; the nearest name is "' "$out/$engine-no-name.txt"
    grep -q 'tensor "model.layers.0.mlp.gate_proj.weight": expected \[16, 8\]; the file has f16 \[8, 16\]' "$out/$engine-other-shape.txt"
done
lines() { # FILE: the lines of code
    sed -e 's://.*$::' "$1" | awk '/\/\*/ { comment = 1 } !comment && NF { n++ } /\*\// { comment = 0 } END { print n }'
}
[ "$(lines examples/engine.c)" -le 40 ]
[ "$(lines examples/engine.cpp)" -le 25 ]

echo "examples: ok"

# A program does not need functions that it does not call: a library may lack a format.
$cxx -std=c++17 -c examples/span.cpp -o "$out/span.o"
if nm -u "$out/span.o" | grep -E 'safetensors|f32|tensor_block'; then
    echo "tenslice.hpp needs what a library may lack" >&2
    exit 1
fi
nm -u "$out/span.o" | grep 'tenslice_file_open' > /dev/null # the functions that it calls are found

# Models in folders, opened by tenslice_host.c.
c-tests/models.sh "$lib"

# No allocation, and no text formatting in a program that requests no text.
$c -fno-builtin -ffunction-sections -Wl,--gc-sections c-tests/no_malloc.c "$lib/libtenslice.a" -o "$out/no_malloc"
"$out/no_malloc" "$fixtures"
if nm -C "$out/no_malloc" | grep -E 'tenslice::explain|explain::context|core::fmt|tenslice_error_text|rust_alloc'; then
    echo "no_malloc: text formatting is linked in" >&2
    exit 1
fi
nm -C "$out/read-static" | grep 'tenslice_error_text' > /dev/null # the search works, and reads all input
echo "no text formatting: ok"

# A program that calls the function of one block type contains no other type's function or table, and little code. The
# symbols count, without the constants of vector code, which the compiler puts into one section for the whole library.
for type in q8_0 q4_k iq2_s; do
    echo "#include \"tenslice.h\"
        int main(int n, char **b) { float to; return tenslice_${type}_to_f32(b[0], (size_t)n, 0, &to, 1); }" \
        | $c -x c - -x none -Wl,--gc-sections "$lib/libtenslice.a" -o "$out/blocks"
    has=$(nm -C "$out/blocks" | grep -oE ' T tenslice_.*|blocks::grids::.*' | LC_ALL=C sort)
    grid=$([ $type != iq2_s ] || printf '\nblocks::grids::IQ2_S')
    length=$(nm -S -t d "$out/blocks" | awk 'NF == 4 { sum += $2 } END { print sum }')
    if [ "$has" != " T tenslice_${type}_to_f32$grid" ] || [ "$length" -lt 500 ] || [ "$length" -gt 4600 ]; then
        echo "tenslice_${type}_to_f32 brings more than its own, $length bytes: $has" >&2
        exit 1
    fi
done
[ "$(nm -C "$out/formats-static" | grep -c 'blocks::grids::')" = 6 ] # the search works
echo "one type of blocks: ok"

# The shared library exports the C ABI and nothing else.
if nm -D --defined-only "$lib/libtenslice.so" | awk '{print $3}' | grep -v '^tenslice_'; then
    echo "libtenslice.so exports more than tenslice_*" >&2
    exit 1
fi
echo "exports: ok"
