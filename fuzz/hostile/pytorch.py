#!/usr/bin/env python3
"""Writes PyTorch checkpoints that are costly to read. See README.md."""

import struct

import command


def archive(tree, storages):
    """`tree` are opcodes; each storage is empty bytes of a length."""
    entries = [(b"p/data.pkl", b"\x80\x02" + tree + b"."), (b"p/version", b"3\n")]
    entries += [(b"p/data/%d" % number, bytes(length)) for number, length in enumerate(storages)]
    body, directory = bytearray(), bytearray()
    for name, data in entries:
        about = struct.pack("<12x2I2H", len(data), len(data), len(name), 0)
        directory += b"PK\1\2" + bytes(4) + about + struct.pack("<10xI", len(body)) + name
        body += b"PK\3\4" + bytes(2) + about + name + data
    count = len(entries)
    wide = b""
    if count >= 0xffff:
        wide = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), len(body))
        wide += struct.pack("<4sIQI", b"PK\6\7", 0, len(body) + len(directory), 1)
    count = min(count, 0xffff)
    return bytes(body + directory) + wide + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory),
                                                        len(body), 0)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


def tensor(number, sizes=b"K\1\x85", strides=b"K\1\x85"):
    storage = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"%d" % number) + text(b"cpu") + b"K\1tQ"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0" + sizes + strides
            + b"\x89ccollections\nOrderedDict\n)RtR")


def items(count, value):
    return b"}(" + b"".join(text(b"t%d" % number) + value(number) for number in range(count)) + b"u"


def nested(depth, tree):
    for _ in range(depth):
        tree = b"}" + text(b"a") + tree + b"s"
    return tree


def shared_tuples(size):
    """Each tuple has the one before it twice, from the memo: as many paths as 2 to the size."""
    tree = b")q\0"
    for index in range(size):
        tree += b"j" + struct.pack("<I", index) + b"\x86r" + struct.pack("<I", index + 1)
    return archive(tree, [])


def memo(size):
    """Objects that are put into the memo, and taken from it when it no longer has them: refused if there are many."""
    put = b"".join(b")\x85r" + struct.pack("<I", index) for index in range(size))
    get = b"".join(b"j" + struct.pack("<I", index) for index in range(size))
    return archive(b"(" + put + get + b"t", [])


def stack(size):
    """Marks and objects on the stack: refused."""
    return archive(b"(" * size + b"t" * size, [])


def deep(size):
    """Tensors deep in dictionaries, whose names are read once more: refused if there are many."""
    return archive(nested(50, items(size, tensor)), [4] * size)


def expanded(size):
    """A view of one number that is as large as can be: listed, and its size is stated before it is read."""
    sizes = b"J\xff\xff\xff\x7fJ\xff\xff\xff\x3f\x86"
    return archive(items(size, lambda number: tensor(number, sizes, b"K\0K\0\x86")), [4] * size)


def falling(size):
    """Storages in descending order: each is looked for far from the last one."""
    return archive(items(size, lambda number: tensor(size - 1 - number)), [4] * size)


def shared_storage(size):
    """All tensors have one storage."""
    return archive(items(size, lambda number: tensor(0)), [4])


def aliases(size):
    """A tensor behind many values, and then from the memo as often: listed at each place."""
    return archive(b"](" + b"K\1" * size + tensor(0) + b"q\0" + b"h\0" * size + b"e", [4])


def key_texts(size):
    """Keys from the memo, where the one that is taken is behind the ones that are not."""
    put = b"".join(text(b"t%d" % index) + b"r" + struct.pack("<I", index) for index in range(size))
    get = b"".join(b"j" + struct.pack("<I", index) + tensor(0) for index in range(size))
    return archive(b"}(K\0(" + put + b"t" + get + b"u", [4])


def long_names(size):
    """Long names that begin alike, in no order."""
    names = [b"x" * 500 + b"%d" % (number * 7919 % size) for number in range(size)]
    return archive(b"}(" + b"".join(text(name) + tensor(0) for name in names) + b"u", [4])


def one_by_one(size):
    """Items without marks, each in a dictionary that has one item more."""
    return archive(b"}" + b"".join(text(b"t%d" % number) + tensor(0) + b"s" for number in range(size)), [4])


def pairs(size):
    """An `OrderedDict` in another one, as Python 2 writes them: refused if there are many."""
    tree = tensor(0)
    for _ in range(size):
        tree = b"ccollections\nOrderedDict\n]](" + text(b"a") + tree + b"ea\x85R"
    return archive(tree, [4])


def put_far(size):
    """Objects that are put into the memo at the highest indices: no table has so many entries."""
    return archive(b"](" + b"".join(b"K\1r" + struct.pack("<I", 0xfffffffe - size + n) for n in range(size)) + b"e", [])


def rank(size):
    """A tensor of very many dimensions."""
    numbers = b"(" + b"K\1" * size + b"t"
    return archive(tensor(0, numbers, numbers), [4])


def stream(size):
    """A stream whose list of storages is in descending order; of at most 8192."""
    ends = b"\x80\2\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}."
    tree = items(size, tensor).replace(b"K\1tQ", b"K\1NtQ")
    keys = b"](" + b"".join(text(b"%d" % number) for number in reversed(range(size))) + b"e"
    return ends + b"\x80\2" + tree + b".\x80\2" + keys + b"." + (struct.pack("<Q", 1) + bytes(4)) * size


CASES = [aliases, deep, expanded, falling, key_texts, long_names, memo, one_by_one, pairs, put_far, rank,
         shared_storage, shared_tuples, stack, stream]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
