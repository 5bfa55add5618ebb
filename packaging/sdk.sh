#!/usr/bin/env bash
# Makes target/sdk/tenslice-VERSION-sdk.tar.gz: C libraries that are used without Rust. Has the headers, and in
# lib/TARGET/ a library of all formats and one of each format, for this host, other systems and bare metal; the package
# for find_package and pkg-config, licences and an SBOM. Includes the shared library if its linker is installed. The same
# sources and compilers give the same bytes in every folder.
#
# Called by the Makefile with VERSION, SOVERSION and FEATURES in the environment. TARGETS= selects other targets, FORMATS=
# the formats with a library of their own. JOBS= is the number of targets that are built at the same time: a library is
# optimized as a whole, which keeps one core busy. SDK_TARGET= is another folder than target/sdk. Calls itself with a
# target, to build its libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

export TARGETS=${TARGETS:-$(rustc -vV | sed -n 's/^host: //p') $(sed 's/ *#.*//' packaging/sdk/targets.txt)}
export FORMATS=${FORMATS-$(packaging/formats.sh)}
name=tenslice-$VERSION-sdk
out=${SDK_TARGET:-target/sdk}
tree=$out/$name

features_of() { # FORMAT: the features of its library: its format, and what else FEATURES asks for
    local unused=formats
    case $1 in
    ztensor | ztensor2 | b2nd) ;;
    *) unused+=$'\nzstd' ;; # has no Zstandard: a program must not contain the decoder
    esac
    echo "$1,$FEATURES" | tr ',' '\n' \
        | grep -vxF -e "$unused" -e "$(packaging/formats.sh | grep -vxF "$1")" | awk '!seen[$0]++' | paste -sd ,
}
build() { # FEATURES ARCHIVE: a static library for $target
    packaging/bare-metal.sh "$target" "$cargo" rustc --quiet --locked --no-default-features --lib --profile $profile \
        --crate-type staticlib --features "capi,panic-handler,$1"
    packaging/plain.sh "$target" "$cargo/$target/$profile/$static" "$2"
}
libraries() { # TARGET: all of its libraries, in lib/TARGET
    target=$1 format=formats
    # The code stops the other targets: xargs.
    trap 'code=$?; [ $code = 0 ] || { echo "sdk: $target: the library of $format failed" >&2; exit 255; }' EXIT
    # One folder for all formats, so that what they have in common is built once.
    local lib=$tree/lib/$target cargo=$out/cargo/$target profile=release
    case $target in
    *-none | *-none-*) profile=size ;;
    esac
    mkdir -p "$lib"
    RUST_TARGET=$target
    . packaging/names.sh
    # The shared library, and its import library.
    if [ -n "$shared" ]; then
        RUST_TARGET=$target packaging/lib.sh "$cargo"
        packaging/plain.sh "$target" "$cargo/release/$static" "$lib/$static"
        if [ -e "$cargo/release/$shared" ]; then
            install -m 755 "$cargo/release/$shared" "$lib/$full"
            [ "$soname" = "$full" ] || ln -s "$full" "$lib/$soname"
            [ "$shared" = "$full" ] || ln -s "$soname" "$lib/$shared"
            [ -z "$import" ] || install -m 644 "$cargo/release/$import" "$lib"
        fi
    else
        build "$FEATURES" "$lib/$static"
    fi
    for format in $FORMATS; do
        build "$(features_of "$format")" "$lib/${static/tenslice/tenslice-$format}"
    done
    times > "$cargo/times"
    echo "sdk: $target: $(find "$lib" -type f | wc -l) libraries, $(du -sk --apparent-size "$lib" | cut -f 1) KB, $SECONDS s," \
        "of CPU $(awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$cargo/times") s"
}
if [ $# -gt 0 ]; then
    libraries "$1"
    exit
fi

rm -rf "$tree"
mkdir -p "$tree/include" "$tree/lib/pkgconfig" "$tree/lib/cmake/tenslice" "$tree/share/tenslice"

# Removes the paths of this folder and of the dependencies from the results.
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"$'\x1f'"--remap-path-prefix=$PWD=."
TARGETS=$(printf '%s\n' $TARGETS | awk '!seen[$0]++')
xargs -n 1 -P "${JOBS:-$(nproc)}" packaging/sdk.sh <<< "$TARGETS"

# The version that the compiler writes into the library. Where a format of object files lacks it, that of cargo.
for target in $TARGETS; do
    compiler=$(cat "$tree/lib/$target"/*tenslice.* | grep -a -o 'rustc version [0-9.]* ([^)]*)' | head -n 1 || true)
    echo "$target: ${compiler:-$(rustc -V | sed 's/^rustc /rustc version /')}" >> "$tree/lib/COMPILERS"
done

pkgconfig() { # NAME FEATURES FORMATS: prints the file for pkg-config
    sed -e "s|@NAME@|$1|" -e "s|@FEATURES@|$2|" -e "s|@FORMATS@|$3|" -e "s|@VERSION@|$VERSION|" \
        -e "s|@TARGET@|${TARGETS%%$'\n'*}|" packaging/sdk/tenslice.pc.in
}
# With --static: the linker removes everything that the program does not call.
{
    pkgconfig tenslice "$FEATURES" "every format"
    printf '%s\n' 'Libs: -L${libdir} -ltenslice' 'Libs.private: ${unused}'
} > "$tree/lib/pkgconfig/tenslice.pc"
for format in $FORMATS; do
    {
        pkgconfig "tenslice-$format" "$(features_of "$format")" "$format"
        echo "Libs: -L\${libdir} -ltenslice-$format \${unused}"
    } > "$tree/lib/pkgconfig/tenslice-$format.pc"
done
cp packaging/target.cmake "$tree/lib/cmake/tenslice/"
sed "s|@FEATURES@|$FEATURES|" packaging/sdk/tensliceConfig.cmake.in > "$tree/lib/cmake/tenslice/tensliceConfig.cmake"
# Without the last check: the SDK has libraries for every size of a pointer.
sed -e '/^# Unsuitable for programs/,$d' -e "s|@VERSION@|$VERSION|" packaging/tensliceConfigVersion.cmake.in \
    > "$tree/lib/cmake/tenslice/tensliceConfigVersion.cmake"

packaging/notices.sh "$tree/third-party" all
python3 packaging/sbom.py "$VERSION" "$FEATURES" > "$tree/tenslice.spdx.json"
(cd include && find . \( -name '*.h' -o -name '*.hpp' \) -exec cp --parents {} "../$tree/include/" \;)
cp host/tenslice_host.c "$tree/share/tenslice/" # programs compile it: it needs their C library
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$tree/"
cp -r docs "$tree/"
# The files that they link to.
grep -ohE '\]\(\.\./[^)#]+' docs/*.md | sed 's|^](\.\./||' | sort -u | xargs -I FILE cp --parents FILE "$tree/"
VERSION=$VERSION packaging/sdk-root.sh "$tree"
(cd "$tree" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum > SHA256SUMS)

tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C $out -cf - "$name" | gzip -n -9 \
    > "$out/$name.tar.gz"
(cd $out && sha256sum "$name.tar.gz")
