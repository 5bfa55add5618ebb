#!/usr/bin/env python3
"""ExecuTorch `.ptd` files that are expensive to read: see README.md."""
import struct

import command
from flatbuffers import Tables

I8 = 1


def table(tables, at, *fields):
    """Adds a table with these fields, from slot 0 on. Returns their places."""
    return list(tables.table(at, dict(enumerate(fields))).values())


def start(segments, names):
    """Returns a flatbuffer with a root and the segments (offset, size), and the places of the names."""
    tables = Tables(bytes(64))
    _, of_segments, of_names = table(tables, 0, ("I", 0), ("I", 0), ("I", 0))
    for at, (offset, size) in zip(tables.offsets(of_segments, len(segments)), segments):
        table(tables, at, ("Q", offset), ("Q", size))
    return tables, tables.offsets(of_names, names)


def layout(tables, at, sizes, order):
    _, of_sizes, of_order = table(tables, at, ("b", I8), ("I", 0), ("I", 0))
    tables.numbers(of_sizes, sizes)
    tables.vector(of_order, len(order), bytes(order))


def file(tables, data):
    """Puts the header in, and adds the data."""
    end = len(tables.bytes)
    tables.align(16)
    struct.pack_into("<4s4sIQQQQ", tables.bytes, 4, b"FT01", b"FH01", 40, 48, end - 48, len(tables.bytes), len(data))
    return bytes(tables.bytes) + data


def named(keys, sizes=(1,), order=(0,), data=b"\7"):
    """Tensors of one segment."""
    keys = list(keys)
    tables, places = start([(0, len(data))], len(keys))
    for at, key in zip(places, keys):
        of_key, _, of_layout = table(tables, at, ("I", 0), ("I", 0), ("I", 0))
        tables.text(of_key, key)
        layout(tables, of_layout, sizes, order)
    return file(tables, data)


def names(size):
    """Names in falling order."""
    return named(b"%08d" % i for i in reversed(range(size)))


def names_alike(size):
    """Names that differ in their last bytes, in falling order."""
    return named(b"n" * 1000 + b"%08d" % i for i in reversed(range(size)))


def ranks(size):
    """Tensors of the highest rank, in another order."""
    return named((b"%08d" % i for i in range(size)), [1] * 256, [1, 0, *range(2, 256)])


def one_segment(size):
    """Names of one segment of a megabyte."""
    return named((b"%08d" % i for i in range(size)), [1 << 20], [0], bytes(1 << 20))


def segments(size):
    """Segments without names."""
    tables, _ = start([(0, 0)] * size, 0)
    return file(tables, b"")


def shared_layout(size):
    """Tensors with one layout of the highest rank."""
    tables, places = start([(0, 1)], size)
    layouts = []
    for i, at in enumerate(places):
        of_key, _, of_layout = table(tables, at, ("I", 0), ("I", 0), ("I", 0))
        tables.text(of_key, b"%08d" % i)
        layouts.append(of_layout)
    tables.align(8)
    layout(tables, layouts[-1], [1] * 256, range(256))
    target = layouts[-1] + struct.unpack_from("<I", tables.bytes, layouts[-1])[0]
    for at in layouts:
        tables.point(at, target)
    return file(tables, b"\7")


def tails(size):
    """Keys that are tails of one text: the bytes of the text are the lengths of the others."""
    tables, places = start([(0, 1)], size)
    keys = [table(tables, at, ("I", 0), ("I", 0))[0] for at in places]
    tables.align(4)
    # The lengths that are ASCII, and so is the text.
    lengths = [4]
    while len(lengths) < size:
        lengths.append(next(n for n in range(lengths[-1] + 4, 1 << 31, 4) if n & 0x80808080 == 0))
    lengths.reverse()
    for at, length, following in zip(keys, lengths, [*lengths[1:], 0]):
        tables.point(at, len(tables.bytes))
        tables.bytes += struct.pack("<I", length) + b"x" * (length - following - 4)
    tables.bytes += b"end.\0"
    return file(tables, b"\7")


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [names, names_alike, ranks, one_segment, segments, shared_layout, tails]
}

if __name__ == "__main__":
    command.run(CASES)
