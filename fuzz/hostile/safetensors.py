#!/usr/bin/env python3
"""Writes safetensors files and indices that are costly to read. See README.md."""

import struct

import command


def file(entries, data=b"", pad=""):
    header = ("{" + ",".join(entries) + "}" + pad).encode()
    return struct.pack("<Q", len(header)) + header + data


def entry(name, begin=0, end=0, shape=None, space=""):
    shape = str(end - begin) if shape is None else shape
    return f'"{name}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{begin},{space}{end}]}}'


def names_alike(size):
    """Names that differ in their last characters, in descending order."""
    return file(entry("n" * 1000 + f"{i:06}") for i in reversed(range(size)))


def names_escaped(size):
    return file(entry("\\u006e" * 200 + f"{i:06}") for i in reversed(range(size)))


def name_long(size):
    return file([entry("0" * 60 * size), *(entry(f"{i:08}") for i in reversed(range(size)))])


def places_falling(size):
    return file((entry(f"{i:06}", size - 1 - i, size - i) for i in range(size)), bytes(size))


def place_spaced(size):
    """Offsets in descending order. The end of one of them follows as much white space as all others take."""
    entries = [entry(f"{i:06}", size - 1 - i, size - i, space=" " * 64 * size * (i == size - 1)) for i in range(size)]
    return file(entries, bytes(size))


def places_empty(size):
    """Tensors without elements inside of another tensor."""
    return file([entry("a", 0, size), *(entry(f"b{i:06}", i, i) for i in reversed(range(size)))], bytes(size))


def rank(size):
    return file([entry("a", 0, 1, ",".join(["1"] * size))], b"\0")


def rank_spaced(size):
    return file([entry("a", 0, 1, " ,\n".join(["1"] * size))], b"\0")


def padded(size):
    """Much white space after the header."""
    return file((entry(f"{i:06}") for i in reversed(range(size))), pad=" " * 64 * size)


def metadata(size):
    """The metadata follows the tensors, with escapes in all keys."""
    pairs = ",".join(f'"\\u006b{i:06}":"\\n\\n"' for i in range(size))
    return file([*(entry(f"{i:06}") for i in range(size)), f'"__met\\u0061data__":{{{pairs}}}'])


def nested(size):
    """Unknown fields nested to the largest depth."""
    deep = "[" * 120 + "]" * 120
    one = '"{}":{{"x":{},"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    return file(one.format(f"{i:06}", deep) for i in reversed(range(size)))


def index_falling(size):
    pairs = ",".join(f'"{i:06}":"{i:06}.safetensors"' for i in reversed(range(size)))
    return f'{{"metadata":{{}},"weight_map":{{{pairs}}}}}'.encode()


CASES = [index_falling, metadata, name_long, names_alike, names_escaped, nested, padded, place_spaced, places_empty,
         places_falling, rank, rank_spaced]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
