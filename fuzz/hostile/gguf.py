#!/usr/bin/env python3
"""Writes GGUF files that are costly to read, or that readers may interpret differently. See README.md."""

import struct

import command

U32, TEXT, ARRAY = 4, 8, 9


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def u32(value):
    return struct.pack("<I", value)


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def info(name, lengths, kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(lengths)}QIQ", len(lengths), *lengths, kind, offset)


def file(pairs, infos=(), data=b"", alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
    return head + bytes(-len(head) % alignment) + data


def floats(names):
    """A file with a scalar for each name."""
    names = list(names)
    infos = [info(name, [], offset=32 * i) for i, name in enumerate(names)]
    return file([], infos, bytes(32 * len(names)))


def alignment_twice(size):
    """Two alignments, separated by more keys than opening compares: the start of the data depends on which one is used."""
    others = [pair(f"key.{i:06}", U32, u32(0)) for i in reversed(range(size))]
    # With an alignment of 32 the data is 1, otherwise 2.
    ends = [pair("general.alignment", U32, u32(alignment)) for alignment in (32, 4096)]
    head = file([ends[0], *others, ends[1]], [info("a", [1])], alignment=1)
    data = struct.pack("<f", 1.0)
    return (head + bytes(-len(head) % 32) + data).ljust(-(-len(head) // 4096) * 4096, b"\0") + struct.pack("<f", 2.0)


def keys_alike(size):
    """Keys that differ in their last bytes, in descending order."""
    return file([pair("k" * 1000 + f"{i:06}", U32, u32(0)) for i in reversed(range(size))])


def names_alike(size):
    """Names that differ in their last bytes, in descending order."""
    return floats("n" * 1000 + f"{i:06}" for i in reversed(range(size)))


def names_falling(size):
    return floats(f"{i:06}" for i in reversed(range(size)))


def name_long(size):
    """A name as long as all others together, which begin with the same byte."""
    return floats(["0" * 60 * size, *(f"{i:08}" for i in reversed(range(size)))])


def strings(size):
    return file([pair("a", ARRAY, array(TEXT, [text("")] * size)), pair("b", U32, u32(0))])


def lists(size):
    """Empty lists nested to the largest depth."""
    value = array(U32, [])
    for _ in range(6):
        value = array(ARRAY, [value])
    return file([pair("a", ARRAY, array(ARRAY, [value] * size))])


def lengths_zero(size):
    """Tensors without elements whose other lengths are as large as possible."""
    infos = [info(f"{i:06}", [0, 1 << 62, 1 << 62, 1 << 62]) for i in range(size)]
    return file([], infos)


def offset_last(size):
    """Lengths whose sum is near 2^64."""
    names = [f"{i:06}" for i in range(size)]
    return file([], [info(name, [(1 << 64) - 64], 24, 0) for name in names])


CASES = [alignment_twice, keys_alike, lengths_zero, lists, name_long, names_alike, names_falling, offset_last, strings]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
