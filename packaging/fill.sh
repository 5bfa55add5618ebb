#!/usr/bin/env bash
# Prints a template of a build system with its marks replaced: fill.sh FILE, with VERSION in the environment.
#
#     @VERSION@              the version
#     @DIRECTORY@            the folder of the unpacked SDK
#     @URL@                  the address of the project: TENSLICE_URL
#     @CHOICES@              'ztensor', 'npy', and so on: all formats
#     @KCONFIG@              a bool of Kconfig for each format
#     @KCONFIG_LIBRARIES@    a default of Kconfig for each format: the name of its library
set -euo pipefail
cd "$(dirname "$0")/.."

packaging/formats.sh | awk -v version="$VERSION" -v url="${TENSLICE_URL:-}" -v quote="'" '
    NR == FNR { formats[++count] = $0; choices = choices (count > 1 ? ", " : "") quote $0 quote; next }
    FNR == 1 { four = FILENAME ~ /esp-idf/ } # ESP-IDF indents with spaces
    /^@KCONFIG@$/ {
        for (i = 1; i <= count; i++)
            printf "%sconfig TENSLICE_FORMAT_%s\n%sbool \"%s\"\n\n", four ? "        " : "", toupper(formats[i]),
                four ? "            " : "\t", formats[i]
        next
    }
    /^@KCONFIG_LIBRARIES@$/ {
        for (i = 1; i <= count; i++)
            printf "%sdefault \"tenslice-%s\" if TENSLICE_FORMAT_%s\n", four ? "        " : "\t", formats[i], toupper(formats[i])
        next
    }
    {
        gsub(/@VERSION@/, version)
        gsub(/@URL@/, url)
        gsub(/@DIRECTORY@/, "tenslice-" version "-sdk")
        gsub(/@CHOICES@/, choices)
        print
    }' - "$1"
