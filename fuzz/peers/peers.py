#!/usr/bin/env python3
"""Runs all readers on the same hostile files, and writes docs/hostile-files.md: peers.py [FORMAT...]

The outcomes are in target/peers/outcomes.json; with FORMATs, those of the other formats are taken from there.
"""
import ctypes
import json
import os
import sys

import files
import outcome
import page
import readers
import run_python


def check_outcomes():
    """Ends with an error if an outcome gets another name."""
    def exhaust(_path):
        return bytearray(2 * outcome.MEMORY)

    cases = {
        outcome.ACCEPTS: lambda: run_python.attempt(open, __file__),
        outcome.REFUSES: lambda: run_python.attempt(open, "no such file"),
        outcome.OUT_OF_MEMORY: lambda: run_python.attempt(exhaust, None),
        outcome.ABORTS: os.abort,
        outcome.CRASHES: lambda: ctypes.string_at(0),
    }
    for name, function in cases.items():
        found = outcome.of_function(function)
        if found != name:
            raise RuntimeError(f"{found} instead of {name}")


def run(reader, paths):
    """The outcomes of a reader for all files, or the reason that it is not run."""
    try:
        reader.prepare()
    except readers.NotRun as reason:
        return str(reason)
    outcomes = list(reader.outcomes(paths))
    if len(outcomes) != len(paths):
        raise RuntimeError("the reader's program ended early")
    return outcomes


def main(formats):
    check_outcomes()
    readers.TARGET.mkdir(parents=True, exist_ok=True)
    kept = readers.TARGET / "outcomes.json"
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in formats or readers.READERS:
        kinds = files.write_all(name, readers.TARGET / "files")
        paths = [path for _, _, paths in kinds for path in paths]
        names = [(kind, legal, [path.name for path in paths]) for kind, legal, paths in kinds]
        results[name] = {"kinds": names, "readers": {}}
        for title, (version, reader) in readers.READERS[name].items():
            print(f"{name}: {title} {version}", flush=True)
            results[name]["readers"][title] = run(reader, paths)
        kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
    (readers.ROOT / "docs/hostile-files.md").write_text(page.text(results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
