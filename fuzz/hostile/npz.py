#!/usr/bin/env python3
"""Writes NPZ archives that are costly to read, or that readers may interpret differently. See README.md."""

import struct
import zlib

import command


def npy(descr="'|u1'", shape="(1,)", data=b"\0"):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def local(name, data, extra=b"", method=0, size=None, flags=0):
    size = len(data) if size is None else size
    crc = zlib.crc32(data) if method == 0 else 0
    return struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, method, 0, 0, crc, len(data), size, len(name),
                       len(extra)) + name + extra + data


def record(name, data, offset, extra=b"", method=0, size=None, flags=0, comment=b""):
    size = len(data) if size is None else size
    crc = zlib.crc32(data) if method == 0 else 0
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, flags, method, 0, 0, crc, len(data), size, len(name),
                       len(extra), len(comment), 0, 0, 0, offset) + name + extra + comment


def file(entries, order=None, comment=b"", local_extra=b"", **more):
    """`entries` are names and data. `order` is that of the directory."""
    body, records = b"", []
    parts = []
    at = 0
    for name, data in entries:
        records.append(record(name, data, at, **more))
        parts.append(local(name, data, local_extra))
        at += len(parts[-1])
    body = b"".join(parts)
    directory = b"".join(records[i] for i in (range(len(records)) if order is None else order))
    count = len(records)
    wide = b""
    if count >= 0xffff:
        wide = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), len(body))
        wide += struct.pack("<4sIQI", b"PK\6\7", 0, len(body) + len(directory), 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, min(count, 0xffff), min(count, 0xffff), len(directory), len(body),
                      len(comment))
    return body + directory + wide + end + comment


def names(size):
    return [f"{i:06}.npy".encode() for i in range(size)]


def falling(size):
    """Names and offsets in descending order."""
    return file([(name, npy()) for name in names(size)], reversed(range(size)))


def names_alike(size):
    return file([(b"n" * 1000 + name, npy()) for name in names(size)], reversed(range(size)))


def extras(size):
    """Records with as many extra fields as possible, in descending order."""
    return file([(name, npy()) for name in names(size)], reversed(range(size)), extra=struct.pack("<2H", 7, 0) * 16383)


def unnamed(size):
    """Arrays whose names do not say that they are arrays."""
    return file([(name[:-4], npy()) for name in names(size)], reversed(range(size)))


def fields(size):
    """An array of records with many fields."""
    descr = "[" + ", ".join(f"('{i:06}', '|u1')" for i in range(size)) + "]"
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (0,), }}\n".encode()
    return file([(b"a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header)])


def rank(size):
    shape = "(" + "1," * size + ")"
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return file([(b"a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + b"\0")])


def ends(size):
    """A comment full of fake end records. Only the first record is the end of the file."""
    fake = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 1)
    return file([(name, npy()) for name in names(size)], comment=(fake * 3000)[:0xffff])


def other_name(size):
    """The Info-ZIP field for Unicode names: newer readers use the name in it, older ones do not."""
    entries = [(name, npy(data=bytes([i % 256]))) for i, name in enumerate(names(size))]
    parts, records, at = [], [], 0
    for i, (name, data) in enumerate(entries):
        other = names(size)[size - 1 - i]
        extra = struct.pack("<2HBI", 0x7075, 5 + len(other), 1, zlib.crc32(name)) + other
        records.append(record(name, data, at, extra))
        parts.append(local(name, data))
        at += len(parts[-1])
    directory = b"".join(records)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, size, size, len(directory), at, 0)
    return b"".join(parts) + directory + end


CASES = [ends, extras, falling, fields, names_alike, other_name, rank, unnamed]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
