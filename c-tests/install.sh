#!/usr/bin/env bash
# Installs the library into folders below target/, and uses it as other projects do: with pkg-config, CMake and Meson,
# static and shared, also after the tree was moved. Prints a line for each tool that is missing on this machine; with
# TENSLICE_NO_SKIP=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. c-tests/skip.sh

top=$PWD
out=$top/target/install
model=$top/tests/fixtures/v1.2/converted_safetensors.zt
rm -rf "$out"
mkdir -p "$out"

answers() { # PROGRAM: must read the model correctly
    "$@" "$model" a.w | grep -q 'a.w: .*the first' || { echo "$* does not answer" >&2; exit 1; }
}

make --no-print-directory lib > /dev/null
for libdir in lib lib/x86_64-linux-gnu; do
    stage=$out/stage-$(basename $libdir)
    make --no-print-directory install PREFIX="$stage" LIBDIR=$libdir > /dev/null
    mv "$stage" "$stage-moved" # nothing may depend on the old location
    stage=$stage-moved

    test "$(readlink "$stage/$libdir/libtenslice.so")" = "$(basename "$stage/$libdir"/libtenslice.so.?.?)"
    if nm -D --defined-only "$stage/$libdir/libtenslice.so" | awk '{print $3}' | grep -v '^tenslice_'; then
        echo "the shared library exports more than tenslice_*" >&2
        exit 1
    fi

    if command -v pkg-config > /dev/null; then
        export PKG_CONFIG_PATH=$stage/$libdir/pkgconfig
        # shellcheck disable=SC2046 # words
        {
            ${CC:-cc} examples/cmake/main.c $(pkg-config --cflags --libs tenslice) -o "$out/shared"
            LD_LIBRARY_PATH=$stage/$libdir answers "$out/shared"
            readelf -d "$out/shared" | grep -q 'NEEDED.*libtenslice.so.0.1'
            pkg-config --variable=features tenslice | grep -q '^formats,'
            ${CC:-cc} examples/cmake/main.c -static $(pkg-config --cflags --libs --static tenslice) -o "$out/static"
            answers "$out/static"
        }
    else
        skip "pkg-config (not installed)"
    fi

    if command -v cmake > /dev/null; then
        cmake -S examples/cmake -B "$out/cmake-$(basename $libdir)" -DCMAKE_PREFIX_PATH="$stage" \
            -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu > "$out/cmake.log" || { cat "$out/cmake.log"; exit 1; }
        cmake --build "$out/cmake-$(basename $libdir)" > "$out/cmake.log" || { cat "$out/cmake.log"; exit 1; }
        for program in with_static with_shared in_cpp; do
            answers "$out/cmake-$(basename $libdir)/$program"
        done
        # Another minor version is rejected while the version is 0.x.
        for version in 0.0 0.2 1.0 0.1.1 0.1...0.2 '0.1.0...<0.1.0'; do
            sed "s/tenslice 0.1 REQUIRED/tenslice $version REQUIRED/" examples/cmake/CMakeLists.txt > "$out/CMakeLists.txt"
            mkdir -p "$out/other" && cp "$out/CMakeLists.txt" examples/cmake/main.* "$out/other/"
            if cmake -S "$out/other" -B "$out/other/build" -DCMAKE_PREFIX_PATH="$stage" \
                -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu > "$out/cmake.log" 2>&1; then
                echo "CMake took version 0.1 for $version" >&2
                exit 1
            fi
            rm -rf "$out/other"
        done
    else
        skip "CMake (not installed)"
    fi

    if command -v meson > /dev/null && command -v ninja > /dev/null && command -v pkg-config > /dev/null; then
        mkdir -p "$out/meson-$(basename $libdir)"
        cp examples/cmake/main.c "$out/meson-$(basename $libdir)/"
        printf '%s\n' "project('reads', 'c')" "executable('reads', 'main.c', dependencies: dependency('tenslice', version: '>=0.1'))" \
            > "$out/meson-$(basename $libdir)/meson.build"
        (cd "$out/meson-$(basename $libdir)" && { meson setup build && ninja -C build; } > log || { cat log; exit 1; })
        LD_LIBRARY_PATH=$stage/$libdir answers "$out/meson-$(basename $libdir)/build/reads"
    else
        skip "Meson (not installed)"
    fi

    # Uninstalls: only empty folders may be left.
    make --no-print-directory uninstall PREFIX="$stage" LIBDIR=$libdir > /dev/null
    if find "$stage" ! -type d | grep .; then
        echo "uninstall left files behind" >&2
        exit 1
    fi
done

# A folder that is a link, such as /lib to /usr/lib on most systems.
if command -v cmake > /dev/null; then
    merged=$out/merged
    make --no-print-directory install PREFIX="$merged/usr" > /dev/null
    ln -s usr/lib "$merged/lib"
    cmake -S examples/cmake -B "$out/cmake-merged" -DCMAKE_PREFIX_PATH="$merged" > "$out/cmake.log" || { cat "$out/cmake.log"; exit 1; }
    cmake --build "$out/cmake-merged" > "$out/cmake.log" || { cat "$out/cmake.log"; exit 1; }
    answers "$out/cmake-merged/with_static"
fi
for libdir in .. ./lib lib/../lib64 /lib 'a&b' 'a b'; do
    if make --no-print-directory install PREFIX="$out/refused" LIBDIR="$libdir" > /dev/null 2>&1; then
        echo "LIBDIR=$libdir was accepted" >&2
        exit 1
    fi
done

# DESTDIR, for packagers: the files are below it and do not refer to it.
make --no-print-directory install PREFIX=/usr DESTDIR="$out/package" > /dev/null
if diff -r include "$out/package/usr/include" | grep -v '^Only in include: [a-zR]*\.[mt]'; then
    echo "the headers installed are not those of include" >&2
    exit 1
fi
if grep -r "$out" "$out/package/usr/lib/pkgconfig" "$out/package/usr/lib/cmake"; then
    echo "a configuration names the folder that it was installed to" >&2
    exit 1
fi

# With another Rust library in one program, in either order: one with std, one without.
mkdir -p "$out/other"
cat > "$out/other/std.rs" << 'RUST'
#[unsafe(no_mangle)]
pub extern "C" fn other_std() -> i32 { vec![1, 2].iter().sum() }
RUST
cat > "$out/other/bare.rs" << 'RUST'
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[unsafe(no_mangle)]
pub extern "C" fn other_bare() -> i32 { 3 }
RUST
cat > "$out/other/main.c" << 'C'
#include <tenslice.h>
int OTHER(void);
int main(void)
{
    tenslice_file file;
    return OTHER() != 3 || tenslice_file_open(&file, "?", 1, 0) != TENSLICE_UNKNOWN_FORMAT;
}
C
rustc --edition 2024 --crate-type staticlib -O -C panic=abort "$out/other/std.rs" -o "$out/other/libstd_other.a"
rustc --edition 2024 --crate-type staticlib -O -C panic=abort "$out/other/bare.rs" -o "$out/other/libbare_other.a"
ours=$out/package/usr/lib/libtenslice.a
for other in std bare; do
    for order in "$ours lib${other}_other.a" "lib${other}_other.a $ours"; do
        # shellcheck disable=SC2086 # words
        (cd "$out/other" && ${CC:-cc} -DOTHER=other_$other -I"$out/package/usr/include" main.c $order -lpthread -ldl -lm \
            -o main && ./main)
    done
done
echo "install: ok"
