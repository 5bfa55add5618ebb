#!/bin/sh
# Builds the static library for Meson: cargo.sh CARGO SOURCES BUILT OUTPUT TARGET PROFILE FEATURES. Copies the result
# only if it changed, so that nothing is linked again for nothing.
set -eu
case $4 in
/*) output=$4 ;;
*) output=$PWD/$4 ;;
esac
case $3 in
/*) built=$3 ;;
*) built=$PWD/$3 ;;
esac
cd "$2"
CARGO=$1 packaging/bare-metal.sh "$5" "$built" rustc --quiet --locked --lib --crate-type staticlib --profile "$6" \
    --no-default-features --features "$7"
result=$built/$5/$6/$(basename "$output")
cmp -s "$result" "$output" || cp "$result" "$output"
