#!/usr/bin/env bash
# Prints the formats, one a line: the feature `formats` of Cargo.toml, which is the only list of them that is kept by hand
# outside the sources.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -n 's/^formats = \[\(.*\)\].*/\1/p' Cargo.toml | tr -d ' "' | tr ',' '\n'
