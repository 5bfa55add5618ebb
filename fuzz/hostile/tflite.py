#!/usr/bin/env python3
"""TFLite models that are expensive to read: see README.md."""
import struct

import command
from flatbuffers import Tables

I8, TEXT = 9, 5


OFFSET = ("I", 0)


def start(subgraphs, more=()):
    """Returns a flatbuffer with a root, the places of its fields, and those of the subgraphs."""
    tables = Tables(b"\0\0\0\0TFL3")
    root = tables.table(0, {0: ("I", 3), 2: OFFSET, 4: OFFSET, **{slot: OFFSET for slot in more}})
    return tables, root, tables.offsets(root[2], subgraphs)


def tensor(tables, at, buffer=1, kind=I8, external=None):
    """Adds a tensor, and returns the places of its shape and its name."""
    slots = {0: OFFSET, 1: ("b", kind), 2: ("I", buffer), 3: OFFSET}
    if external is not None:
        slots[10] = ("I", external)
    places = tables.table(at, slots)
    return places[0], places[3]


def buffers(tables, at, contents):
    """Adds buffer 0, and one for each of the contents."""
    places = tables.offsets(at, len(contents) + 1)
    tables.table(places[0], {0: OFFSET})
    tables.vector(len(tables.bytes) - 4, 0, b"")
    for place, content in zip(places[1:], contents):
        data = tables.table(place, {0: OFFSET})[0]
        tables.vector(data, len(content), content)
    return bytes(tables.bytes)


def one_buffer(size):
    """Tensors of one buffer of a megabyte."""
    tables, root, graphs = start(1)
    for i, at in enumerate(tables.offsets(tables.table(graphs[0], {0: OFFSET})[0], size)):
        shape, name = tensor(tables, at)
        tables.numbers(shape, [1 << 20])
        tables.text(name, b"%08d" % i)
    return buffers(tables, root[4], [bytes(1 << 20)])


def square(size):
    """Subgraphs that are one, with tensors that are one."""
    tables, root, graphs = start(size)
    tables.align(8)
    of_tensors = tables.table(graphs[0], {0: OFFSET})[0]
    target = graphs[0] + struct.unpack_from("<I", tables.bytes, graphs[0])[0]
    for at in graphs:
        tables.point(at, target)
    places = tables.offsets(of_tensors, size)
    shape, name = tensor(tables, places[0])
    target = places[0] + struct.unpack_from("<I", tables.bytes, places[0])[0]
    for at in places:
        tables.point(at, target)
    tables.numbers(shape, [1])
    tables.text(name, b"a")
    return buffers(tables, root[4], [b"\7"])


def shared(size, shape, name):
    """Tensors with one shape and one name."""
    tables, root, graphs = start(1)
    places = tables.offsets(tables.table(graphs[0], {0: OFFSET})[0], size)
    parts = [tensor(tables, at) for at in places]
    tables.align(4)
    for of_shape, _ in parts:
        tables.point(of_shape, len(tables.bytes))
    tables.bytes += struct.pack(f"<I{len(shape)}i", len(shape), *shape)
    for _, of_name in parts:
        tables.point(of_name, len(tables.bytes))
    tables.bytes += struct.pack("<I", len(name)) + name + b"\0"
    return buffers(tables, root[4], [b"\7"])


def names(size):
    """Tensors with one name, as long as their tables."""
    return shared(size, [1], b"n" * 40 * size)


def shapes(size):
    """Tensors with one shape, as long as their tables."""
    return shared(size, [1] * 10 * size, b"n")


def external(ids):
    tables, root, graphs = start(1, [8, 9])
    ids = list(ids)
    for i, at in enumerate(tables.offsets(tables.table(graphs[0], {0: OFFSET})[0], len(ids))):
        shape, name = tensor(tables, at, buffer=0, external=ids[i])
        tables.numbers(shape, [1])
        tables.text(name, b"%08d" % i)
    tables.text(tables.table(tables.offsets(root[8], 1)[0], {0: OFFSET})[0], b"other")
    for id, at in zip(ids, tables.offsets(root[9], len(ids))):
        tables.table(at, {0: ("I", id), 1: ("I", 0), 2: ("Q", 0), 3: ("Q", 1)})
    return buffers(tables, root[4], [])


def rising(size):
    """External buffers in the order of their IDs."""
    return external(range(1, size + 1))


def shuffled(size):
    """External buffers in no order of their IDs."""
    return external((i * 7919) % (size + 1) for i in range(1, size + 1) if (i * 7919) % (size + 1))


def activations(size):
    """Tensors without bytes, before one that has some."""
    tables, root, graphs = start(1)
    for i, at in enumerate(tables.offsets(tables.table(graphs[0], {0: OFFSET})[0], size)):
        shape, name = tensor(tables, at, buffer=1 if i + 1 == size else 0)
        tables.numbers(shape, [1])
        tables.text(name, b"%08d" % i)
    return buffers(tables, root[4], [b"\7"])


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [one_buffer, square, names, shapes, rising, shuffled, activations]
}

if __name__ == "__main__":
    command.run(CASES)
