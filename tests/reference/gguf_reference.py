"""Compares the output of `tenslice list --json` for GGUF files with gguf.GGUFReader of gguf-py: version, byte order, names,
shapes, types, offsets, and all metadata. Every difference must be a known one, and each known difference must occur.
Rejected files are not compared: their side-cars say what other readers do with them.

    gguf_reference.py INSPECT FOLDER...
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy
from gguf import GGMLQuantizationType, GGUFReader

PLAIN = {"f32": 0, "f16": 1, "i8": 24, "i16": 25, "i32": 26, "i64": 27, "f64": 28, "bf16": 30}


class Nested(Exception):
    """gguf-py flattens nested lists."""


def number(value):
    value = value.item()
    if isinstance(value, float) and not numpy.isfinite(value):
        return {"inf": "inf", "-inf": "-inf", "nan": "NaN"}[str(value)]
    return value


def text(value):
    try:
        return str(bytes(value), "utf-8")
    except UnicodeDecodeError:
        return {"$bytes": bytes(value).hex()}


def value_of(field):
    kinds = [kind.name for kind in field.types]
    if kinds[0] != "ARRAY":
        return text(field.parts[-1]) if kinds[0] == "STRING" else number(field.parts[-1][0])
    if "ARRAY" in kinds[1:]:
        raise Nested
    parts = [field.parts[i] for i in field.data]
    return [text(part) for part in parts] if kinds[1:] == ["STRING"] else [number(part[0]) for part in parts]


def type_number(tensor):
    if tensor["dtype"]:
        return PLAIN[tensor["dtype"]]
    return GGMLQuantizationType[tensor["layout"].removeprefix("gguf.").upper()].value


def compare(ours, reader, counts):
    """Yields (what differs, ours, theirs)."""
    version = int(reader.fields["GGUF.version"].parts[0][0])
    if ours["version"] != str(version):
        yield "version", ours["version"], version
    order = "big-endian" if reader.byte_order == "S" else "little-endian"
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    if sorted(ours["attributes"]) != sorted(fields):
        yield "keys", list(ours["attributes"]), list(fields)
    for name, field in fields.items():
        try:
            theirs = value_of(field)
        except Nested:
            yield "nested lists", None, None
            continue
        counts["values"] += len(theirs) if isinstance(theirs, list) else 1
        if ours["attributes"].get(name) != theirs:
            yield f"value of {name!r}", ours["attributes"].get(name), theirs
    if [tensor["name"] for tensor in ours["tensors"]] != [tensor.name for tensor in reader.tensors]:
        yield "names", [tensor["name"] for tensor in ours["tensors"]], [tensor.name for tensor in reader.tensors]
        return
    for mine, theirs in zip(ours["tensors"], reader.tensors):
        counts["tensors"] += 1
        [data] = mine["components"]
        pairs = [
            ("shape", mine["shape"], [int(length) for length in reversed(theirs.shape)]),
            ("type", type_number(mine), theirs.tensor_type.value),
            ("offset", data["offset"], int(theirs.data_offset)),
            ("length", data["length"], int(theirs.n_bytes)),
            ("byte order", data["byte_order"], order),
        ]
        for what, one, other in pairs:
            if one != other:
                yield f"{what} of {mine['name']!r}", one, other


OLD = "version 1: gguf-py refuses it"
NEW_TYPE = "Q2_0 is newer than gguf-py"
LARGER_TYPE = "Q8_1 has 40 bytes in gguf-py"
EMPTY = "no elements, but a dimension beyond what numpy can reshape to"
FLAT = "lists in lists: gguf-py flattens them"
UNKNOWN_TYPE = "a type that is unknown or was removed: gguf-py refuses the file"
ROWS = [OLD, NEW_TYPE, LARGER_TYPE, EMPTY, FLAT, UNKNOWN_TYPE]

# The layouts of types that are unknown or were removed.
UNKNOWN = re.compile(r"gguf\.([0-9]+|unknown|q4_[23]|q4_0_[48]_[48]|iq4_nl_[48]_[48])")


def row_of(ours, failure, differences):
    """The known difference that explains the result, or None."""
    layouts = {tensor["layout"] for tensor in ours["tensors"]}
    whats = {what.split(" of ")[0] for what, _, _ in differences}
    if failure is not None and ours["version"] == "1":
        return OLD
    if failure is not None and "gguf.q2_0" in layouts:
        return NEW_TYPE
    if failure is not None and any(UNKNOWN.fullmatch(layout) for layout in layouts):
        return UNKNOWN_TYPE
    if "gguf.q8_1" in layouts and whats <= {"length"}:
        return LARGER_TYPE
    if "cannot reshape" in str(failure) and any(0 in t["shape"] and max(t["shape"]) >= 2**31 for t in ours["tensors"]):
        return EMPTY
    return FLAT if failure is None and whats == {"nested lists"} else None


def main():
    tool, *folders = sys.argv[1:]
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.gguf"))
    lines = subprocess.run([tool, "list", "--json", *paths], capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == len(paths), f"{len(lines)} lines for {len(paths)} files"
    counts, rows, wrong = Counter(), Counter(), []
    for path, line in zip(paths, lines):
        ours = json.loads(line)
        if "error" in ours:
            counts["refused here"] += 1
            continue
        counts["files"] += 1
        failure, differences = None, []
        try:
            differences = list(compare(ours, GGUFReader(path), counts))
        except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
            failure = error
        if failure is None and not differences:
            counts["equal"] += 1
            continue
        row = row_of(ours, failure, differences)
        if row:
            rows[row] += 1
        else:
            wrong.append(f"{path}: {failure!r} {differences}")
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    for row, count in rows.items():
        print(f"  {count}: {row}")
    for one in wrong:
        print(f"different: {one}")
    missing = [row for row in ROWS if row not in rows]
    if missing or wrong or counts["equal"] < 50:
        sys.exit(f"not found: {missing}" if missing else 1)


main()
