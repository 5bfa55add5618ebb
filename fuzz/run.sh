#!/usr/bin/env bash
# Fuzzes targets, two at once, each starting from its kept corpus. Adds the runs to counts.txt, then minimizes the corpora
# and packs them. The script may be interrupted: counts are added after every slice of a target's time, and findings stay
# in corpus/TARGET/ for the next run.
#
# fuzz/run.sh [TARGET...]      all targets if none is named
# FUZZ_SECONDS=N               time for each target, 60 by default; 0 only minimizes and packs
# FUZZ_RUNS=N                  instead: runs until counts.txt has N executions of each target
# FUZZ_MACHINE=i686            on 32 bits; packs nothing
# FUZZ_FEATURES=F,...          more features of the package
# FUZZ_SANITIZER=none          faster, for targets that run only code without `unsafe`: overflows still panic
set -euo pipefail
cd "$(dirname "$0")"

machine=${FUZZ_MACHINE:-x86_64}
triple=$machine-unknown-linux-gnu
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")
slice=240
# libFuzzer's own work took half of the time. Switched off: weighing inputs by rarity, counting edges, looking for
# shorter inputs, and looking for leaks, since the library never allocates.
fast=(-entropic=0 -use_counters=0 -reduce_inputs=0 -detect_leaks=0)

# Targets whose input is a file. They also start with the fixtures.
of_files=" open decode verify compute frame ztensor2_manifest "
folders() { # TARGET
    echo "corpus/$1"
    [[ $of_files != *" $1 "* ]] || echo corpus/fixtures
}

# The maximum length of the inputs. Targets that make files use few bytes, and more bytes would make no difference.
max_len() { # TARGET
    case $1 in
        b2nd | blz | npy | npz | onnx | ptd | pytorch | tens | tflite | write | ztensor | ztensor2) echo 512 ;;
        gguf) echo 1024 ;;
        *) echo 4096 ;;
    esac
}

# Runs one target for some seconds or some number of runs, and adds the runs to the table.
one_slice() { # TARGET SECONDS RUNS
    local status=0 start log=corpus/$1.log folders
    start=$(date +%s)
    mapfile -t folders < <(folders "$1")
    mkdir -p "artifacts/$1"
    nice -n 19 "$out/$triple/release/$1" "${folders[@]}" -max_total_time="$2" -runs="$3" -max_len="$(max_len "$1")" \
        -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=60 -print_final_stats=1 -artifact_prefix="artifacts/$1/" \
        "${fast[@]}" \
        > "$log" 2>&1 || status=$?
    (
        flock 9
        awk -v target="$1" -v machine="$machine" -v seconds=$(($(date +%s) - start)) '
            $1 == "stat::number_of_executed_units:" { executions = $2 }
            $1 == "stat::peak_rss_mb:" { peak = $2 }
            FILENAME == ARGV[1] { next }
            $1 == target && $2 == machine { executions += $3; seconds += $4; peak = peak > $5 ? peak : $5; next }
            { print }
            END { printf "%s %s %.0f %d %d\n", target, machine, executions, seconds, peak }
        ' "$log" counts.txt > counts.new
        { sed -n 1p counts.new; tail -n +2 counts.new | LC_ALL=C sort; } | column -t > counts.txt
        rm counts.new
    ) 9> corpus/lock
    case $status in
        0) ;;
        72) exit 130 ;; # interrupted
        *)
            tail -n 40 "$log" >&2
            echo "$1: see fuzz/artifacts/$1" >&2
            exit 1
            ;;
    esac
}

# Runs one target, minimizes its corpus and packs it.
one() { # TARGET
    local dir=corpus/$1 left=${FUZZ_SECONDS:-60} ran folders
    mapfile -t folders < <(folders "$1")
    mkdir -p "$dir"
    [ ! -f "$dir.tar.gz" ] || tar -xzf "$dir.tar.gz" -C "$dir"
    if [ -n "${FUZZ_RUNS:-}" ]; then
        while ran=$(awk -v target="$1" -v machine="$machine" '$1 == target && $2 == machine { print $3 }' counts.txt) \
            && [ "${ran:-0}" -lt "$FUZZ_RUNS" ]; do
            one_slice "$1" $slice $((FUZZ_RUNS - ${ran:-0}))
        done
    else
        for (( ; left > 0; left -= slice)); do
            one_slice "$1" $((left < slice ? left : slice)) -1
        done
    fi
    [ "$machine" = x86_64 ] || return 0
    rm -rf "$dir.min"
    mkdir "$dir.min"
    nice -n 19 "$out/$triple/release/$1" -merge=1 -max_len="$(max_len "$1")" "$dir.min" "${folders[@]}" \
        > "$dir.log" 2>&1
    # Removes the fixtures, which are in the repository already. The files have their SHA-1 as names.
    find corpus/fixtures -type f -exec sha1sum {} + | (cd "$dir.min" && cut -d ' ' -f 1 | xargs rm -f)
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "$dir.min" -cf - . \
        | gzip -9n > "$dir.new"
    mv "$dir.new" "$dir.tar.gz"
    rm -r "$dir"
    mv "$dir.min" "$dir"
    echo "$1: $(tar -tzf "$dir.tar.gz" | grep -vc '/$') files, $(stat -c %s "$dir.tar.gz") bytes"
}

if [ "${1:-}" = --one ]; then # called by this script itself
    one "$2"
    exit
fi

features=libfuzzer${FUZZ_FEATURES:+,$FUZZ_FEATURES}
targets=("$@")
# The targets whose features are enabled.
[ $# -gt 0 ] || mapfile -t targets < <(awk -F '"' -v features=",$features," '
    /^name = / { name = $2 }
    /^required-features = / { is_on = 1; for (i = 2; i < NF; i += 2) is_on = is_on && index(features, "," $i ",") }
    /^required-features = / && is_on { print name }
' Cargo.toml)
sanitizer=${FUZZ_SANITIZER:-address}
# libFuzzer itself must not be compiled with the sanitizer of the targets, which would double the time.
cxxflags=-fno-sanitize=address
if [ "$machine" = i686 ]; then
    # Rust has no sanitizer runtime for that machine, so clang's is used.
    sanitizer=none
    export RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt -Clinker=clang -Clink-arg=-m32 -Clink-arg=-fsanitize=address"
    # Debian may have headers for both widths, which only gcc-multilib finds by itself.
    cxxflags+=" -idirafter /usr/include/x86_64-linux-gnu"
fi
export "CXXFLAGS_${triple//-/_}=$cxxflags"
# Without tracing comparisons, which takes half of the time: values that must match are in the fixtures, or are computed
# by the targets.
cargo +nightly fuzz build --no-trace-compares --sanitizer $sanitizer --target "$triple" --target-dir "$out" --features "$features"
rm -rf corpus/fixtures
mkdir -p corpus/fixtures
find ../tests/fixtures -type f -size -9 ! -name '*.json' ! -name '*.md' ! -name '*.txt' \
    -exec cp --backup=numbered -t corpus/fixtures {} +
[ -f counts.txt ] || echo "target machine executions seconds peak_rss_mb" > counts.txt
# Keeps less freed memory, so that it stays in the processor's caches, and no backtraces. Findings are run again with
# both.
quarantine=quarantine_size_mb=1:thread_local_quarantine_size_kb=64
export ASAN_OPTIONS=detect_odr_violation=0:$quarantine:malloc_context_size=0:detect_stack_use_after_return=0
printf '%s\n' "${targets[@]}" | xargs -P 2 -n 1 ./run.sh --one
column -t counts.txt
