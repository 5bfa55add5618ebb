#!/usr/bin/env bash
# Collects the licences of the crates that are linked into the C library: notices.sh FOLDER [TARGET], with FEATURES in the
# environment. The target `all` includes the crates of every machine.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
rm -rf "${out:?}"/*

cargo tree --quiet ${2:+--target "$2"} --edges normal,no-proc-macro --no-default-features --features "capi,$FEATURES" --prefix none --format '{p}|{l}' \
    | sed -e 's/ (proc-macro)//' -e 's/ (\*)//' | LC_ALL=C sort -u | while IFS='|' read -r package licence; do
    name=${package%% *} version=${package#* v}
    version=${version%% *}
    [ "$name" != tenslice ] || continue
    echo "$name $version: ${licence% (\*)}" >> "$out/README"
    for file in "vendor/$name"/{LICEN[CS]E,COPYING,NOTICE}* \
        "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$name-$version"/{LICEN[CS]E,COPYING,NOTICE}*; do
        [ ! -f "$file" ] || install -m 644 "$file" "$out/$name-$(basename "$file")"
    done
done
