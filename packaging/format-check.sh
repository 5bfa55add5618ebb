#!/usr/bin/env bash
# Checks one format: format-check.sh NAME, where NAME is its feature. Builds it alone, lints it, runs its tests, and proves
# that no panic path is left. Run `make test` before a commit: it runs the tests that several formats share.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo} name=${1:-}
packaging/formats.sh | grep -qxF -- "$name" || {
    echo "usage: make format-check NAME=x, where x is one of: $(packaging/formats.sh | paste -sd ' ')" >&2
    exit 1
}
step() { # NAME
    printf '== %s, %s: %s (%d s)\n' "$name" "$1" "$2" $SECONDS
}

step build "alone, without warnings"
for features in "$name" "$name,capi"; do
    RUSTFLAGS="-D warnings" $cargo check --quiet --target-dir target/features --no-default-features --features "$features"
done
$cargo clippy --quiet --no-default-features --features "$name,capi" -- -D warnings

step tests "of the format, damage, the places that every format needs"
tests=$name
[ "$name" != ztensor ] || tests=manifest
$cargo test --quiet --features capi --test formats --test properties --test build -- \
    "$tests::" "damage::$name::" corpus:: every_format::

step time "how it grows with the file"
TENSLICE_TIME_FORMAT=$name $cargo test --quiet --features capi --test time

step no-panic "the proof"
FEATURES=$name .ci/no-panic

step done "all checks passed"
