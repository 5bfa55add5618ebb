#!/usr/bin/env bash
# Builds and tests everything that a release publishes, and uploads nothing: packaging/release.md. Called by the Makefile
# with VERSION in the environment. TARGETS= and FORMATS= narrow the SDK.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
step() { # NAME
    printf '== %s (%d s)\n' "$1" $SECONDS
}
fail() { # TEXT
    echo "release-check: $1" >&2
    exit 1
}

step "versions"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
for crate in cli host; do
    grep -qx "version = \"$VERSION\"" $crate/Cargo.toml || fail "$crate/Cargo.toml has another version"
done
for file in web/package.json packaging/vcpkg/vcpkg.json; do
    grep -q "\"version\": \"$VERSION\"" $file || fail "$file has another version"
done
grep -q "^## $VERSION" CHANGELOG.md || fail "CHANGELOG.md has no section for $VERSION"
if grep -q "^## $VERSION, not released yet" CHANGELOG.md || grep -q "not released yet" README.md; then
    echo "note: CHANGELOG.md or README.md says that $VERSION is not released yet"
fi

step "docs"
make --no-print-directory doc

step "crates"
$cargo package --quiet --locked -p tenslice -p tenslice-host -p tenslice-cli

step "tarball of the sources"
make --no-print-directory test-source

step "SDK"
make --no-print-directory sdk
make --no-print-directory test-sdk
[ -n "${TARGETS:-}" ] || make --no-print-directory test-platforms SDK="target/sdk/tenslice-$VERSION-sdk"

step "npm package and page"
make --no-print-directory web-test
(cd target/web/tenslice && npm pack --silent --pack-destination ..)

step "all that is published"
ls -l target/package/*-"$VERSION".crate target/sdk/*.tar.gz target/dist/*.tar.gz target/web/*.tgz
