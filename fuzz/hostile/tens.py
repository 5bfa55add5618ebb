#!/usr/bin/env python3
"""TENS files that are expensive to read: see README.md."""
import struct

import command

PACKED = 1


def header(dimensions, flags=0, version=0x10000, width=8, lanes=1):
    """The header and the dimensions, which are pairs of a length and a name."""
    head = b"TENS" + struct.pack("<I4sIIIII", version, b"IEEE", width, lanes, len(dimensions), flags, 0)
    return head + b"".join(struct.pack("<IBBH", length, name, 0, 0) for length, name in dimensions)


def chunk(magic, body):
    body += bytes(-len(body) % 8)
    return magic + struct.pack("<Q", 16 + len(body)) + body


def symmetry(names, operation=b"x", flags=0):
    return chunk(b"SYMMETRY", bytes([flags, len(operation)]) + operation + bytes(names))


def dense(data):
    return chunk(b"DENSDATA", data)


def pairs(entries):
    return struct.pack("<Q", len(entries)) + b"".join(struct.pack("<Qd", place, value) for place, value in entries)


def symmetries_of_shared_names(size):
    """Dimensions of length 1 that share all 256 names, and 100 symmetries of them."""
    names = [i & 255 for i in range(size)]
    return header([(1, name) for name in names]) + symmetry(names) * 100 + dense(bytes(8))


def symmetries(size):
    """Many symmetries of one dimension, each with the longest operation."""
    return header([(1, 97)]) + symmetry([97], b"-" * 255) * size + dense(bytes(8))


def packed_symmetries(size):
    """Symmetries that all pack the data, which only pairs may have."""
    return header([(1, 97)], flags=1) + symmetry([97], flags=PACKED) * size + pairs([(0, 1.0)])


def empty_chunks(size):
    """Chunks of an unknown kind without a body."""
    return header([(1, 97)]) + chunk(b"whatever", b"") * size + dense(bytes(8))


def pairs_of_many_dimensions(size):
    """`size` pairs and `size` dimensions, all but one of length 1."""
    return header([(1, 97)] * (size - 1) + [(size, 98)], flags=1) + pairs([(i, 1.0) for i in range(size)])


def pairs_in_falling_order(size):
    """Pairs with descending indices."""
    return header([(size, 97)], flags=1) + pairs([(size - 1 - i, 1.0) for i in range(size)])


def pairs_of_one_index(size):
    """Pairs that all have the same index."""
    return header([(size, 97)], flags=1) + pairs([(7, 1.0)] * size)


def pairs_of_a_huge_tensor(size):
    """A few pairs in a tensor of 2^60 elements."""
    return header([(1 << 30, 97)] * 2, flags=1) + pairs([((1 << 60) - size + i, 1.0) for i in range(size)])


def dimensions_of_zero(size):
    """Dimensions of length 0 after some whose product exceeds 64 bits."""
    return header([((1 << 32) - 1, 97)] * 3 + [(0, 98)] * size) + dense(b"")


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [
        symmetries_of_shared_names,
        symmetries,
        packed_symmetries,
        empty_chunks,
        pairs_of_many_dimensions,
        pairs_in_falling_order,
        pairs_of_one_index,
        pairs_of_a_huge_tensor,
        dimensions_of_zero,
    ]
}

if __name__ == "__main__":
    command.run(CASES)
