#!/usr/bin/env python3
"""Writes zTensor 1.2 and 0.1 files that are costly to read, or that readers may interpret differently. See README.md."""

import struct

import command


def head(major, n):
    for code, form in ((24, "B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if n < 24:
            return bytes([major << 5 | n])
        if n < 1 << 8 * struct.calcsize(form):
            return bytes([major << 5 | code]) + struct.pack(form, n)
    raise ValueError(n)


def cbor(value):
    if isinstance(value, bytes):
        return value  # already encoded
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        data = value.encode()
        return head(3, len(data)) + data
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = list(value.items()) if isinstance(value, dict) else list(value)  # pairs, in which a key may be repeated
    return head(5, len(pairs)) + b"".join(cbor(key) + cbor(item) for key, item in pairs)


def part(offset=64, length=4, dtype="f32", **more):
    return {"dtype": dtype, "offset": offset, "length": length, **more}


def tensor(parts, shape=(1,), layout="dense", **more):
    return {"shape": list(shape), "format": layout, **more, "components": tuple(parts)}


def file(objects, blobs=b"", **more):
    manifest = cbor({"version": "1.2.0", **more, "objects": tuple(objects)})
    start = b"ZTEN1000".ljust(64, b"\0") + blobs
    return start + manifest + struct.pack("<Q", len(manifest)) + b"ZTEN1000"


def old_file(entries, blobs=b""):
    manifest = cbor(entries)
    return b"ZTEN0001".ljust(64, b"\0") + blobs + manifest + struct.pack("<Q", len(manifest))


def data_twice(size):
    """`data` twice, separated by more roles than opening compares. One of the two has as many bytes as the shape says."""
    others = [(f"{i:06}", part()) for i in reversed(range(size))]
    both = [("data", part(64, 4)), *others, ("data", part(64, 64))]
    return file([("a", tensor(both, [16]))], bytes(64))


def names_alike(size):
    names = ["n" * 1000 + f"{i:06}" for i in reversed(range(size))]
    return file([(name, tensor([("data", part())])) for name in names], bytes(64))


def names_falling(size):
    return file([(f"{i:06}", tensor([("data", part())])) for i in reversed(range(size))], bytes(64))


def roles_falling(size):
    return file([("a", tensor([(f"{i:06}", part()) for i in reversed(range(size))], [1], "other"))], bytes(64))


def one_blob(size):
    """Tensors that all share the same bytes, as many as all of their entries have."""
    blob = bytes(size * 128)
    return file([(f"{i:06}", tensor([("data", part(64, len(blob), "u8", digest="crc32c:0x00000000"))],
                                    [len(blob)])) for i in range(size)], blob)


def attributes_deep(size):
    """Many values nested to the largest depth."""
    value = 0
    for _ in range(29):
        value = [value]
    return file([], attributes={"a": [value] * size})


def endless(size):
    """Maps of indefinite length whose last value is also one."""
    entry = b"\xbf" + b"".join(cbor(key) + cbor(value) for key, value in tensor([("data", part())]).items())
    entry += cbor("x") + b"\x9f" * 20 + b"\xff" * 20 + b"\xff"
    return file([(f"{i:06}", entry) for i in reversed(range(size))], bytes(64))


def names_last(size):
    """0.1: the name of each entry comes after much else."""
    def entry(i):
        fields = {"x": [0] * 1000, "offset": 64, "size": 4, "dtype": "float32", "shape": [1], "layout": "dense",
                  "encoding": "raw", "name": f"{i:06}"}
        return b"\xbf" + b"".join(cbor(key) + cbor(value) for key, value in fields.items()) + b"\xff"
    return old_file([entry(i) for i in reversed(range(size))], bytes(64))


def rank(size):
    """A shape of many lengths."""
    return file([("a", tensor([("data", part())], [1] * size))], bytes(64))


CASES = [attributes_deep, data_twice, endless, names_alike, names_falling, names_last, one_blob, rank, roles_falling]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
