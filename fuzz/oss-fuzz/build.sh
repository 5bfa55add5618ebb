#!/bin/bash
# Builds the fuzz targets for OSS-Fuzz into $OUT, each with its seed corpus and, if its input is a file, a dictionary.
# Targets named as arguments limit the build to them.
#
# OSS-Fuzz sets the variables:
#   SRC                  the folder with the checkout, `tenslice`
#   OUT                  the folder for the results
#   WORK                 a folder for intermediate files; $SRC/tenslice/fuzz if not set
#   CC, CXX              the compilers of libFuzzer's sources
#   LIB_FUZZING_ENGINE   a library to link instead of those sources; ignored if it is an option such as -fsanitize=fuzzer
#   SANITIZER            address, or anything else for none
# The default Rust toolchain must be nightly.
set -euo pipefail
cd "$SRC/tenslice/fuzz"

target_dir=${WORK:-$PWD}/target
triple=x86_64-unknown-linux-gnu
sanitizer=none
[ "${SANITIZER:-address}" != address ] || sanitizer=address
# The crate libfuzzer-sys reads this variable.
[ ! -f "${LIB_FUZZING_ENGINE:-}" ] || export CUSTOM_LIBFUZZER_PATH=$LIB_FUZZING_ENGINE

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)

# Prints the dictionaries of a target. Targets that read their input as a list of choices have none.
dictionaries() { # TARGET
    case $1 in
        open | decode | verify) ls dictionaries/*.dict ;;
        frame) echo dictionaries/b2nd.dict ;;
        ztensor2_manifest) echo dictionaries/ztensor2.dict ;;
    esac
}

seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
mkdir -p "$OUT"
for target in "${targets[@]}"; do
    cargo fuzz build --fuzz-dir . --sanitizer $sanitizer --target $triple --target-dir "$target_dir" --features libfuzzer "$target"
    cp "$target_dir/$triple/release/$target" "$OUT/"
    mkdir "$seeds/$target"
    tar -xzf "corpus/$target.tar.gz" -C "$seeds/$target"
    mapfile -t found < <(dictionaries "$target")
    if [ ${#found[@]} -gt 0 ]; then
        cat "${found[@]}" > "$OUT/$target.dict"
        # The input is a file: small fixtures are seeds too.
        find ../tests/fixtures -type f -size -9 ! -name '*.json' ! -name '*.md' ! -name '*.txt' \
            -exec cp --backup=numbered -t "$seeds/$target" {} +
    fi
    rm -f "$OUT/${target}_seed_corpus.zip"
    (cd "$seeds/$target" && zip -q -r -X - .) > "$OUT/${target}_seed_corpus.zip"
    rm -r "${seeds:?}/$target"
done
