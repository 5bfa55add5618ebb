#!/usr/bin/env python3
"""Writes ONNX models that are costly to read. See README.md."""

import command


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(of, value):
    return varint(of << 3) + varint(value)


def model(graph):
    return number(1, 10) + field(7, graph)


def initializer(name, fields=b""):
    return field(5, number(1, 1) + number(2, 2) + fields + field(8, name) + field(9, b"x"))


def node(graphs, fields=b""):
    return field(1, fields + field(5, b"".join(field(11, graph) for graph in graphs)))


def many_graphs(size):
    """A node with many graphs, whose attributes are read once more behind each: refused if there are many."""
    return model(node([b""] * size))


def many_inputs(size):
    """A node with many inputs before a graph of many nodes with a graph each: refused if there are many."""
    return model(node([node([b""]) * size], field(1, b"") * size))


def deep(size):
    """Tensors that are as deep in graphs as can be."""
    graph = b"".join(initializer(b"w%d" % index) for index in range(size))
    for _ in range(16):
        graph = node([graph])
    return model(graph)


def chains(size):
    """Chains of 16 graphs, each with a tensor."""
    def chain(index):
        graph = initializer(b"w%d" % index)
        for _ in range(16):
            graph = node([graph])
        return graph
    return model(b"".join(chain(index) for index in range(size)))


def late_names(size):
    """Graphs whose names follow many tensors."""
    tensors = b"".join(initializer(b"w%d" % index) for index in range(size))
    return model(node([tensors + field(2, b"graph")]))


def single_numbers(size):
    """A tensor whose name follows many numbers that are not packed, and others."""
    long = number(1, size) + number(2, 2) + number(5, 1) * size + field(8, b"long")
    return model(field(5, long) + b"".join(initializer(b"w%d" % index) for index in range(size, 0, -1)))


def long_names(size):
    """Long names that begin alike, in no order."""
    return model(b"".join(initializer(b"x" * 500 + b"%d" % (index * 7919 % size)) for index in range(size)))


def metadata(size):
    """Pairs of a tensor and of the model."""
    pair = field(1, b"key") + field(2, b"value")
    return model(initializer(b"w", field(16, pair) * size)) + field(14, pair) * size


def sparse(size):
    """A sparse tensor as large as can be: its size is stated before it is read."""
    values = number(1, size) + number(2, 1) + field(8, b"s") + field(9, bytes(4 * size))
    indices = number(1, size) + number(2, 7) + field(7, b"".join(map(varint, range(size))))
    return model(field(15, field(1, values) + field(2, indices) + number(3, 1 << 60)))


CASES = [many_graphs, many_inputs, deep, chains, late_names, single_numbers, long_names, metadata, sparse]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
