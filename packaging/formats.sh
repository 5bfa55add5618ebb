#!/usr/bin/env bash
# Prints the formats, one per line: the feature `formats` of Cargo.toml, which is the only hand-written list of them
# outside of the sources.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -n 's/^formats = \[\(.*\)\].*/\1/p' Cargo.toml | tr -d ' "' | tr ',' '\n' | grep . # fails if there is none
