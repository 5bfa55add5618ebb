#!/usr/bin/env python3
"""Reads files that tenslice writes with the reference reader of each format: written.py COUNT [SEED]

`fuzz/examples/written.rs` makes COUNT random files of each format, reads them with our reader, damages them, and states
their contents. This program compares names, dtypes, shapes, bytes and attributes. It ends with an error if a reader
returns anything else. TENS and BLZ1 have no reader in Python.
"""
import collections
import importlib
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import warnings

from common import Text
from compare import difference, general

HERE = pathlib.Path(__file__).resolve().parent
WRITTEN = HERE.parent / "target/debug/examples/written"
READERS = {"safetensors": "safetensors", "gguf": "gguf", "npy": "npy", "npz": "npz", "ztensor": "ztensor1",
           "ztensor 2": "ztensor", "b2nd": "b2nd", "tens": None, "blz": None}


def spelled(value):
    """A value as `fuzz/src/write/sample.rs` spells it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else "f" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "t" + value.encode().hex()
    if isinstance(value, Text):
        return "t" + value.hex()
    if isinstance(value, (bytes, bytearray)):
        return "b" + bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(spelled, value)) + "]"
    return "{" + ",".join(sorted(f"{spelled(key)}:{spelled(item)}" for key, item in value.items())) + "}"


def expected(reader, tensor):
    name, kind = bytes.fromhex(tensor["name"]).decode(), tensor["kind"]
    if kind.startswith("items "):
        kind = reader.items(bytes.fromhex(kind.split(" ")[1]).decode())
    return name, kind, tensor["shape"], None, tensor["digest"]


def differing_attributes(ours, theirs):
    ours = {bytes.fromhex(key).decode(): value for key, value in ours.items()}
    if sorted(ours) != sorted(theirs):
        return "keys of attributes"
    for key, value in theirs.items():
        if value is not NotImplemented and spelled(value) != ours[key]:
            return f"attribute {key!r}: {ours[key]} here, {spelled(value)} there"
    return None


def attributes_by(reader, data, file):
    """The attributes of the file and of its tensors, here and there, if the reader shows them."""
    if hasattr(reader, "attributes"):
        yield file["attributes"], reader.attributes(data)
    if hasattr(reader, "tensor_attributes"):
        theirs = reader.tensor_attributes(data)
        for tensor in file["tensors"]:
            yield tensor["attributes"], theirs[bytes.fromhex(tensor["name"]).decode()]


def outcome(reader, data, file):
    """The result of a reader for a file."""
    try:
        ours = [expected(reader, tensor) for tensor in file["tensors"]]
        theirs = reader.read(data)
        pairs = list(attributes_by(reader, data, file))
    except Exception as error:  # whatever the reader raises
        text = general(re.sub(r"/\S+", "*", str(error)))
        return f"refused by the reference: {type(error).__name__}: {text}"
    found = difference(ours, theirs)
    for ours, theirs in pairs:
        found = found or differing_attributes(ours, theirs)
    return f"different: {found}" if found else "equal"


def main(count, seed=1):
    warnings.simplefilter("ignore")
    outcomes = collections.Counter()
    with subprocess.Popen([WRITTEN, count, str(seed)], stdout=subprocess.PIPE) as program:
        while line := program.stdout.readline():
            record = json.loads(line)
            if "file" in record:
                data, file = program.stdout.read(record["length"]), record["file"]
                name = READERS[file["format"]]
                reader = name and importlib.import_module(f"readers.{name}")
                outcomes[outcome(reader, data, file) if reader else "no reference reader"] += 1
                continue
            print(record["format"])
            for text, number in outcomes.most_common():
                print(f"{number:8} {text}")
            print(f"{record['prefixes']:8} prefixes, all refused but {record['without_padding']} without padding at the end")
            print(f"{record['flips_in_data']:8} bits flipped in data, {record['detected_in_data']} detected,"
                  f" {record['same_in_data']} without effect")
            print(f"{record['flips_elsewhere']:8} bits flipped elsewhere, {record['refused_elsewhere']} refused,"
                  f" {record['same_elsewhere']} with the same contents", flush=True)
            failures.update(text for text in outcomes if text.startswith("different"))
            outcomes.clear()
    sys.exit(bool(failures or program.returncode))


failures = set()
if __name__ == "__main__":
    main(*sys.argv[1:])
