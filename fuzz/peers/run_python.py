#!/usr/bin/env python3
"""Reads files with a module of `python`: run_python.py READER FILE... Prints a line with the outcome of each.

A reader has a function `read` of a path. It uses all data of the file, and raises an exception if the file is refused.
Each file is read in a process of its own; all of them have imported the reader before.
"""
import importlib
import sys
import warnings

import outcome


def attempt(read, path):
    try:
        read(path)
        return outcome.ACCEPTED
    except MemoryError:
        return outcome.NO_MEMORY
    except BaseException as error:  # whatever a hostile file raises
        return outcome.PANICKED if type(error).__name__ == "PanicException" else outcome.REFUSED


def main(reader, *paths):
    warnings.simplefilter("ignore")
    read = importlib.import_module(f"python.{reader}").read
    for path in paths:
        print(outcome.of_function(lambda path=path: attempt(read, path)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
