#!/usr/bin/env bash
# Counts instructions per tensor for opening, listing and looking up, and compares them with benches/limits.txt:
# check.sh [--record]
#
# callgrind counts the same program repeating an operation twice, and 52 times. The difference is the cost of fifty
# repetitions without the preparation, whose own cost differs by a thousand instructions from run to run (the writers
# of the peers seed their hash maps at random). The clock is not used, so a busy machine makes no difference.
set -euo pipefail
cd "$(dirname "$0")"

case ${1:-} in
"" | --record) ;;
*) echo "usage: check.sh [--record]" >&2; exit 2 ;;
esac
command -v valgrind > /dev/null || { echo "bench-check: valgrind is missing" >&2; exit 1; }
programs=$PWD/open/target/release
cargo build --quiet --release --manifest-path open/Cargo.toml --no-default-features
cp "$programs/open" "$programs/open-plain"
cargo build --quiet --release --manifest-path open/Cargo.toml # with onnx and tflite
limits=$PWD/limits.txt

# MODE FORMAT N [peer]: instructions per tensor.
count() {
    local times log total=() program=$programs/open-plain
    case $2 in onnx | tflite) program=$programs/open ;; esac
    log=$(mktemp)
    for times in 2 52; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" "$3" $times ${4:+"$4"} 2> "$log" > /dev/null \
            || { cat "$log" >&2; exit 1; }
        total+=("$(sed -n 's/.*Collected : //p' "$log")")
    done
    rm "$log"
    awk -v few="${total[0]}" -v many="${total[1]}" -v tensors="$3" 'BEGIN { printf "%.1f", (many - few) / 50 / tensors }'
}

# A row: its name, our count, and the peer's count if the ratio has a limit.
row() {
    local name=$1.$2.$3 ours peer=-
    ours=$(count "$1" "$2" "$3")
    [ "${4:-}" != peer ] || peer=$(count "$1" "$2" "$3" peer)
    echo "$name $ours $peer"
}

rows() {
    for size in 1 300; do
        for format in ztensor1 ztensor2 safetensors gguf onnx tflite; do
            echo "open $format $size peer"
        done
    done
    # The peers of these have no tables of tensors, and nothing to look names up with.
    for format in onnx tflite; do
        echo "open-list $format 300 peer"
        echo "listed $format 300 peer"
        echo "hit-listed $format 10"
    done
    echo "open vocabulary 300 peer"
    for format in ztensor1 ztensor2 safetensors gguf; do
        echo "listed $format 300 peer"
        echo "hit-listed $format 10 peer"
    done
    for mode in list hit miss index; do
        for format in ztensor1 ztensor2 safetensors gguf onnx tflite; do
            echo "$mode $format 300"
        done
    done
}

export -f count row
export programs
measured=$(rows | xargs -P "$(nproc)" -L 1 bash -c 'set -euo pipefail; row "$@"' row | sort -V)

if [ "${1:-}" = --record ]; then
    {
        sed -n '/^#/p' "$limits"
        awk '{ printf "%-28s %8s %8s\n", $1, $2, $3 == "-" ? "-" : sprintf("%.1f", $3 / $2) }' <<< "$measured"
    } > "$limits.new"
    mv "$limits.new" "$limits"
fi
awk '
    NR == FNR { if (!/^#/ && NF) { limit[$1] = $2; ratio[$1] = $3 } next }
    FNR == 1 { printf "%-28s %10s %10s %12s %10s\n", "instructions a tensor", "ours", "limit", "peer/ours", "at least" }
    {
        times = $3 == "-" ? "-" : sprintf("%.1f", $3 / $2)
        printf "%-28s %10s %10s %12s %10s\n", $1, $2, limit[$1], times, ratio[$1]
        if (!($1 in limit)) { print "no limit: " $1; failed = 1; next }
        if ($2 > limit[$1] * 1.03) { print "above its limit by more than 3 %: " $1; failed = 1 }
        if (times != "-" && times + 0 < ratio[$1] * 0.95) { print "below its ratio by more than 5 %: " $1; failed = 1 }
        delete limit[$1]
    }
    END {
        for (name in limit) { print "not measured: " name; failed = 1 }
        exit failed
    }
' "$limits" - <<< "$measured"
