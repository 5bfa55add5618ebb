# A function that the scripts of this folder share: each of them sources this file.

# Reports a test that is skipped because a tool is missing. With TENSLICE_NO_SKIP=1 that is a failure.
skip() { # WHAT
    echo "skipped: $1"
    if [ "${TENSLICE_NO_SKIP:-0}" = 1 ]; then
        echo "nothing may be skipped here" >&2
        exit 1
    fi
}
