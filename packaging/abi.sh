#!/usr/bin/env bash
# Checks the ABI of the shared library with libabigail. `abi.sh record` writes packaging/tenslice.abi. `abi.sh check`
# compares with it and fails on every change that could break an older program. New functions are accepted. libabigail
# does not see macros and enum values; they are in include/tenslice/codes.h, which is committed, too.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
record | check) ;;
*) echo "usage: abi.sh record|check" >&2; exit 2 ;;
esac
for tool in abidw abidiff; do
    command -v $tool > /dev/null || { echo "abi: $tool is missing: install abigail-tools" >&2; exit 1; }
done
recorded=packaging/tenslice.abi
target=target/abi
# Full DWARF: with less, changed types are not detected. Paths are removed from it.
host=$(rustc -vV | sed -n 's/^host: //p')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"$'\x1f'"--remap-path-prefix=$PWD=." cargo rustc --quiet \
    --target "$host" --profile abi --no-default-features --lib --crate-type cdylib \
    --features capi,panic-handler,formats,digest,dequantize,write,zstd --target-dir $target -- -C link-arg=-Wl,-z,defs
abidw --no-show-locs --no-comp-dir-path --no-corpus-path --out-file $target/new.abi "$target/$host/abi/libtenslice.so"
# The location of the crates is not a part of the ABI.
sed -i "s|path='cargo/registry/src/[^/']*/|path='|" $target/new.abi
# Arguments with types of src/capi/pointer.rs are passed as the pointer or length inside: they are `repr(transparent)`,
# which DWARF does not state.
awk -F "'" '
    /<namespace-decl name=/ { inside = $2 == "pointer" }
    /<\/namespace-decl>/ { inside = 0 }
    NR == FNR && inside && match($0, / id=.type-id-[0-9]+/) { type = substr($0, RSTART + 5, RLENGTH - 5) }
    NR == FNR && inside && /<var-decl name=.__0. / { stands_for[type] = $4 }
    NR != FNR {
        if (/<parameter type-id=/ && $2 in stands_for) sub($2, stands_for[$2])
        print
    }' $target/new.abi $target/new.abi > $target/resolved.abi
mv $target/resolved.abi $target/new.abi
case ${1:-} in
record) cp $target/new.abi $recorded ;;
check) abidiff --no-added-syms $recorded $target/new.abi && echo "abi: as recorded" ;;
esac
