#!/usr/bin/env bash
# Compiles every C and C++ block of the documentation, and runs those with a comment that says how: docs.sh
# FOLDER_OF_THE_LIBRARY.
#
# Each block is a separate file, so a reader can copy it and compile it. C blocks are compiled as C99 and as C++11, C++
# blocks as C++17 and C++20. A comment before a block makes it run, in the folder of the repository:
#
#     <!-- run: main -->             the block is a program
#     <!-- run: NAME FILE -->        int NAME(const void *bytes, size_t size) is called with the bytes of the file
#
# (Rust blocks are doc tests: src/lib.rs includes the pages. Blocks that are files of a program, `<!-- file: NAME -->`,
# are built and run together with the others of their page: examples/firmware/guide.sh.)
set -euo pipefail
cd "$(dirname "$0")/.."

lib=$1
out=target/c-tests/docs
rm -rf "$out"
mkdir -p "$out"
flags="-Wall -Wextra -Wpedantic -Werror -Iinclude -Ic-tests"

# PAGE-LINE.c or .cpp for each block, and PAGE-LINE.run with the text of its comment.
for page in README.md docs/*.md; do
    [ $page != docs/c-reference.md ] || continue # its blocks are single declarations from the headers
    awk -v out="$out/$(basename "$page" .md)" '
        /^```(c|cpp)$/ && !whole { language = substr($0, 4); file = out "-" NR "." language; blocks++
            if (run != "") print run > (out "-" NR ".run")
            printf "#line %d \"%s\"\n", NR + 1, FILENAME > file; next }
        /^```/ { if (file != "") close(file); file = "" }
        file != "" { print > file; next }
        { run = ""; whole = 0 }
        /^<!-- file: .* -->$/ { whole = 1 }
        /^<!-- run: .* -->$/ { run = $0; sub(/^<!-- run: /, "", run); sub(/ -->$/, "", run) }
        END { if (file != "") exit 1 }' "$page"
done

count=0
ran=0
build() { # LANGUAGE STANDARD BLOCK: compiles it and runs it if it says how
    local compiler="${CC:-cc}" run function file
    [ "$1" = c++ ] && compiler="${CXX:-c++}"
    if [ ! -f "${3%.*}.run" ]; then
        $compiler -x "$1" "-std=$2" $flags -fsyntax-only "$3"
    else
        read -r function file < "${3%.*}.run"
        if [ "$function" = main ]; then
            $compiler -x "$1" "-std=$2" $flags "$3" -x none "$lib/libtenslice.a" -lm -o "$out/program"
            run="$out/program"
        else
            $compiler -x "$1" "-std=$2" $flags "-DFUNCTION=$function" "$3" c-tests/docs.c -x none "$lib/libtenslice.a" -lm \
                -o "$out/program"
            run="$out/program . $file"
        fi
        $run > "$out/printed" || { echo "$3: failed" >&2; exit 1; }
        [ -s "$out/printed" ] || { echo "$3: printed nothing" >&2; exit 1; }
        ran=$((ran + 1))
    fi
    count=$((count + 1))
}
for block in "$out"/*.c; do
    build c c99 "$block"
    build c++ c++11 "$block"
done
for block in "$out"/*.cpp; do
    build c++ c++17 "$block"
    build c++ c++20 "$block"
done

# Checks the links of the documentation, except for those with a scheme and those inside a page.
linked=0
for page in *.md docs/*.md include/README.md fuzz/README.md benches/README.md; do
    for link in $(awk '{ while (match($0, /\]\([^)#]+/)) {
        link = substr($0, RSTART + 2, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH); if (link !~ /:/) print link } }' "$page"); do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page: $link is not there" >&2; exit 1; }
        linked=$((linked + 1))
    done
done
# Checks the links of the reference to its own headings.
awk '/^##/ { sub(/^#+ /, ""); slug = tolower($0); gsub(/[^a-z0-9 _-]/, "", slug); gsub(/ /, "-", slug)
        print slug (seen[slug]++ ? "-1" : "") }' docs/c-reference.md | sort > "$out/headings"
grep -o '](#[^)]*)' docs/c-reference.md | tr -d '](#)' | sort -u | comm -23 - "$out/headings" > "$out/nowhere"
[ ! -s "$out/nowhere" ] || { cat "$out/nowhere"; echo "docs/c-reference.md: no such headings" >&2; exit 1; }
[ "$ran" -gt 0 ] && [ "$linked" -gt 0 ] || { echo "docs: nothing was run, or no link found" >&2; exit 1; }
echo "docs: ok ($count compiled, $ran run, $linked links)"
