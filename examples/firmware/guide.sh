#!/usr/bin/env bash
# Writes the files of docs/firmware.md to a folder: guide.sh FOLDER. Without a folder, runs the commands of the page in
# a new folder, and compares their output with the page.
#
# A comment before a block of the page gives its kind:
#
#     <!-- file: NAME -->    a file
#     <!-- not run -->       commands that are skipped here
#     <!-- prints -->        the output of all commands since the last such block
#
# All other sh blocks are run in order, in one shell.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)

# Writes the files to FOLDER. With STEPS, also writes each block of commands to STEPS/LINE.sh and its output to
# STEPS/LINE.txt.
extract() { # FOLDER [STEPS]
    awk -v folder="$1" -v steps="${2:-}" '
        /^```[a-z]+$/ && !inside { inside = 1; to = ""
            if (said ~ /^file: /) to = folder "/" substr(said, 7)
            else if (steps != "" && said == "prints") to = sprintf("%s/%04d.txt", steps, NR)
            else if (steps != "" && $0 == "```sh" && said != "not run") to = sprintf("%s/%04d.sh", steps, NR)
            else if (said != "" && said != "not run" && steps != "") { print "what is: " said > "/dev/stderr"; exit 1 }
            said = ""; next }
        /^```$/ { inside = 0; if (to != "") close(to); to = ""; next }
        inside { if (to != "") print > to; next }
        /^<!-- .* -->$/ { said = substr($0, 6, length($0) - 9); next }
        { said = "" }' "$top/docs/firmware.md"
}

if [ $# -gt 0 ]; then
    mkdir -p "$1"
    extract "$1"
    exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/empty" "$folder/steps"
extract "$folder/empty" "$folder/steps"
{
    echo 'set -euo pipefail'
    for step in "$folder"/steps/*; do
        case $step in
        *.sh) echo "exec >> '$folder/printed'"; cat "$step" ;;
        *.txt) echo "diff '$step' '$folder/printed' >&2 || { echo 'docs/firmware.md:$(basename "$step" .txt)' >&2; exit 1; }
            : > '$folder/printed'" ;;
        esac
    done
} > "$folder/script"
(cd "$folder/empty" && TENSLICE=$top bash "$folder/script")
[ ! -s "$folder/printed" ] || { echo "docs/firmware.md does not say that this is printed:" >&2; cat "$folder/printed" >&2; exit 1; }
steps=("$folder"/steps/*.sh) results=("$folder"/steps/*.txt)
[ ${#steps[@]} -gt 5 ] && [ ${#results[@]} -gt 3 ] || { echo "guide: hardly any step was found" >&2; exit 1; }
echo "docs/firmware.md: ok (${#steps[@]} blocks of commands, ${#results[@]} results)"
