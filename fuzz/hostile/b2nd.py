#!/usr/bin/env python3
"""Blosc2 frames that are expensive to read: see README.md."""
import pathlib
import struct

import command

ZSTD = 4 << 5
NOT_SPLIT = 0x10
COPIED = 2
VARIABLE = 1  # blocks of different lengths
DICTIONARY = 1
ONE_VALUE = 3 << 4
EMPTY_BLOCK = b"\0\0\0"  # a block of a Zstandard frame
EMPTY_FRAME = b"\x28\xb5\x2f\xfd\x20\0\1\0\0"


def chunk(payload, length, block_size, typesize=1, flags=NOT_SPLIT, filters=bytes(6), flags1=0, flags2=0):
    """A chunk with the longer header, which bits 0 and 2 of the flags announce."""
    head = struct.pack("<BBBBiii", 5 + flags2, 1, flags | 5, typesize, length, block_size, 32 + len(payload))
    return head + filters + bytes(8) + bytes([flags2, flags1]) + payload


def copied(data):
    return chunk(data, len(data), max(len(data), 1), flags=NOT_SPLIT | COPIED)


def repeated(value, length):
    return chunk(value, length, 16384, flags1=ONE_VALUE)


def all_first(count):
    """A table in which the offset of each of `count` chunks is that of the first."""
    return repeated(bytes(8), 8 * count)


def of_streams(streams, length, block_size, **fields):
    """Blocks of one stream each. `streams` may be one stream, which all blocks share."""
    count = -(-length // block_size)
    if isinstance(streams, bytes):
        places = struct.pack("<i", 32 + 4 * count) * count
        return chunk(places + struct.pack("<i", len(streams)) + streams, length, block_size, **fields)
    places, data = b"", b""
    for stream in streams:
        places += struct.pack("<i", 32 + 4 * count + len(data))
        data += struct.pack("<i", len(stream)) + stream
    return chunk(places + data, length, block_size, **fields)


def of_variable_blocks(blocks, **fields):
    """Blocks that state their lengths: pairs of a length and the stored bytes."""
    places, data = [], []
    at = 32 + 4 * len(blocks)
    for length, stored in blocks:
        places.append(struct.pack("<i", at))
        data.append(struct.pack("<i", length) + stored)
        at += 4 + len(stored)
    length = sum(length for length, _ in blocks)
    return chunk(b"".join(places + data), length, len(blocks), flags2=VARIABLE, **fields)


def metalayers(items, start):
    """The metalayers of a header or a trailer. Offsets count from `start` bytes before them."""
    index_length = 7 + sum(6 + len(name) for name, _ in items)
    at = start + index_length + 3
    index, contents = b"", b""
    for name, content in items:
        index += bytes([0xA0 + len(name)]) + name + b"\xd2" + struct.pack(">i", at)
        contents += b"\xc6" + struct.pack(">i", len(content)) + content
        at += 5 + len(content)
    counts = struct.pack(">H", len(items))
    return b"\x93\xcd" + struct.pack(">H", index_length) + b"\xde" + counts + index + b"\xdc" + counts + contents


def array(shape, chunks, blocks):
    """The metalayer of an array of bytes."""
    content = bytes([0x97, 0, len(shape)])
    for marker, code, lengths in ((b"\xd3", ">q", shape), (b"\xd2", ">i", chunks), (b"\xd2", ">i", blocks)):
        content += bytes([0x90 + len(shape)]) + b"".join(marker + struct.pack(code, length) for length in lengths)
    return content + b"\0\xdb\0\0\0\x03|u1"


def frame(chunks, table, length, chunk_length, header=(), trailer=()):
    """A frame. `chunk_length` is 0 if the chunks differ in length."""
    before = metalayers(header, 87)
    header_length = 87 + len(before)
    end = b"\x94\x01" + metalayers(trailer, 2)
    end += b"\xce" + struct.pack(">I", len(end) + 23) + b"\xd8\0" + bytes(16)
    total = header_length + len(chunks) + len(table) + len(end)
    head = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", header_length) + b"\xcf" + struct.pack(">Q", total)
    head += b"\xa4" + bytes([0x12 if chunk_length else 0x53, 0, 0, 0])
    head += b"\xd3" + struct.pack(">q", length) + b"\xd3" + struct.pack(">q", len(chunks))
    head += b"\xd2" + struct.pack(">i", 1) + b"\xd2" + struct.pack(">i", 0) + b"\xd2" + struct.pack(">i", chunk_length)
    head += b"\xd1\0\1\xd1\0\1\xc2\xd8\x06" + bytes(16)
    return head + before + chunks + table + end


def frame_of_shared_chunk(one, decoded, count, chunk_length):
    """A frame with `count` copies of the chunk `one`."""
    return frame(one, all_first(count), decoded * count, chunk_length)


def dictionary(length):
    """A Zstandard dictionary: that of a fixture, followed by content that does not matter."""
    fixtures = pathlib.Path(__file__).resolve().parents[2] / "tests/fixtures/b2nd/good"
    real = (fixtures / "dict_zstd_shuffle_0.b2nd").read_bytes()
    at = real.index(b"\x37\xa4\x30\xec")
    size = struct.unpack_from("<i", real, at - 4)[0]
    return real[at : at + size].ljust(length, b"x")


def with_dictionary(content, streams, length, block_size):
    count = -(-length // block_size)
    first = 32 + 4 * count + 4 + len(content)
    places = struct.pack("<i", first) * count
    payload = places + struct.pack("<i", len(content)) + content + struct.pack("<i", len(streams)) + streams
    return chunk(payload, length, block_size, flags=NOT_SPLIT | ZSTD, flags1=DICTIONARY)


def raw_frame(data):
    """A Zstandard frame of one raw block."""
    assert len(data) < 256
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)]) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def many_blocks(size):
    """A Zstandard frame of `size` empty blocks and one block of one byte."""
    return b"\x28\xb5\x2f\xfd\x20\1" + EMPTY_BLOCK * size + b"\x09\0\0x"


def variable_blocks_of_long_streams(size):
    """Copies of one chunk of one byte, whose block states its length: a frame of many empty blocks."""
    one = of_variable_blocks([(1, many_blocks(size))], flags=NOT_SPLIT | ZSTD)
    return frame_of_shared_chunk(one, 1, size, 0)


def empty_variable_blocks_of_long_streams(size):
    """The same with an empty block before one of two raw bytes."""
    empty = b"\x28\xb5\x2f\xfd\x20\0" + EMPTY_BLOCK * size + b"\x01\0\0"
    one = of_variable_blocks([(0, empty), (2, b"xx")], flags=NOT_SPLIT | ZSTD)
    return frame_of_shared_chunk(one, 2, size, 0)


def shared_variable_blocks(size):
    """`size` copies of a chunk of `size` blocks."""
    one = of_variable_blocks([(0, b"")] * (size - 1) + [(size, bytes(size))])
    return frame_of_shared_chunk(one, size, size, 0)


def padding(size):
    """One column of elements. Each is in a copy of a 64 KiB chunk that has to be decoded."""
    wide = 1 << 16
    run = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", wide) + (wide << 3 | 3).to_bytes(3, "little") + b"x"
    one = of_streams(run, wide, wide, flags=NOT_SPLIT | ZSTD)
    meta = array([size, 1], [1, wide], [1, wide])
    return frame(one, all_first(size), size * wide, wide, header=[(b"b2nd", meta)])


def dictionary_of_frames(size):
    """Blocks of 64 bytes that share a stream and a dictionary: as many empty frames as a stream may have."""
    streams = EMPTY_FRAME * 13 + raw_frame(b"x" * 64)
    chunks = with_dictionary(dictionary(32768), streams, 64 * size, 64)
    return frame(chunks, copied(bytes(8)), 64 * size, 64 * size)


def two_dictionaries(size, length=1):
    """Chunks of one byte each, which alternate between two with a dictionary of 32 KiB each."""
    content = dictionary(32768)
    one, two = (with_dictionary(content, raw_frame(letter * length), length, length) for letter in (b"x", b"y"))
    return frame(one + two, repeated(struct.pack("<qq", 0, len(one)), 8 * size), size * length, length)


def two_short_dictionaries(size):
    """The same with the shortest chunks that are no shorter than their dictionaries."""
    content, length = dictionary(0), 704
    stream = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", length - 256) + (length << 3 | 3).to_bytes(3, "little")
    one, two = (with_dictionary(content, stream + letter, length, length) for letter in (b"x", b"y"))
    return frame(one + two, repeated(struct.pack("<qq", 0, len(one)), 8 * size), size * length, length)


def blocks_of_frames(size):
    """Blocks of one byte that share a stream: as many empty frames as a stream may have."""
    chunks = of_streams(EMPTY_FRAME * 6 + raw_frame(b"x"), size, 1, flags=NOT_SPLIT | ZSTD)
    return frame(chunks, copied(bytes(8)), size, size)


def blocks_of_empty_blocks(size):
    """The same with a frame of empty blocks."""
    return frame(of_streams(many_blocks(18), size, 1, flags=NOT_SPLIT | ZSTD), copied(bytes(8)), size, size)


def blocks_of_long_streams(size):
    """The same with a stream that is too long for its decoded length."""
    return frame(of_streams(many_blocks(size), size, 1, flags=NOT_SPLIT | ZSTD), copied(bytes(8)), size, size)


def empty_chunks(size):
    """One empty chunk for each byte, each with its own offset in the table."""
    chunks = chunk(b"", 0, 1) * (size - 1) + copied(bytes(size))
    return frame(chunks, copied(b"".join(struct.pack("<q", 32 * i) for i in range(size))), size, 0)


def runs_of_one_byte(size):
    """BloscLZ: blocks of 64 KiB that share a match of distance 1, as long as the block."""
    wide = 1 << 16
    more = wide - 3 - 1 - 9
    match = b"\0x\xe0" + b"\xff" * (more // 255) + bytes([more % 255]) + b"\0" + b"\2xxx"
    return frame(of_streams(match, wide * size, wide), copied(bytes(8)), wide * size, wide * size)


def rank_of_sixteen(size):
    """An array of 16 dimensions, 15 of which have length 1, in chunks of one element."""
    meta = array([size] + [1] * 15, [1] * 16, [1] * 16)
    return frame(copied(b"x"), all_first(size), size, 1, header=[(b"b2nd", meta)])


def value_across_elements(size):
    """One value of a prime length, in an array of many blocks."""
    value = (bytes(range(256)) * (size // 256 + 1))[: size | 1]
    length = len(value) * 8
    meta = array([length], [length], [8])
    return frame(repeated(value, length), copied(bytes(8)), length, length, header=[(b"b2nd", meta)])


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [
        variable_blocks_of_long_streams,
        empty_variable_blocks_of_long_streams,
        shared_variable_blocks,
        padding,
        dictionary_of_frames,
        two_dictionaries,
        two_short_dictionaries,
        blocks_of_frames,
        blocks_of_empty_blocks,
        blocks_of_long_streams,
        empty_chunks,
        runs_of_one_byte,
        rank_of_sixteen,
        value_across_elements,
    ]
}

if __name__ == "__main__":
    command.run(CASES)
