#!/usr/bin/env python3
"""zTensor 2 files that are expensive to read, or that readers may interpret differently: see README.md."""
import struct

import command

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
MASK = (1 << 64) - 1
MAGIC = b"\x89ZT2\r\n\x1a\n"


def xxh3(data):
    """The XXH3-64 of more than 240 bytes."""
    accumulators = [0xC2B2AE3D, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                    0x85EBCA77C2B2AE63, 0x85EBCA77, 0x27D4EB2F165667C5, 0x9E3779B1]
    keys = [struct.unpack_from("<8Q", SECRET, at) for at in range(0, 129, 8)]

    def add(stripe, keys):
        for i, (word, key) in enumerate(zip(struct.unpack("<8Q", stripe), keys)):
            accumulators[i ^ 1] = accumulators[i ^ 1] + word & MASK
            key ^= word
            accumulators[i] = accumulators[i] + (key & 0xFFFFFFFF) * (key >> 32) & MASK

    for number, at in enumerate(range(0, (len(data) - 1) // 64 * 64, 64)):
        add(data[at:at + 64], keys[number % 16])
        if number % 16 == 15:
            for i, key in enumerate(keys[16]):
                accumulators[i] = (accumulators[i] ^ accumulators[i] >> 47 ^ key) * 0x9E3779B1 & MASK
    add(data[-64:], struct.unpack_from("<8Q", SECRET, 121))
    result = len(data) * 0x9E3779B185EBCA87
    for i in range(0, 8, 2):
        low, high = struct.unpack_from("<2Q", SECRET, 11 + 8 * i)
        product = (accumulators[i] ^ low) * (accumulators[i + 1] ^ high)
        result += product & MASK ^ product >> 64
    result &= MASK
    result = (result ^ result >> 37) * 0x165667919E3779F9 & MASK
    return result ^ result >> 32


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
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = sorted((cbor(key), cbor(item)) for key, item in value.items())
    return head(5, len(pairs)) + b"".join(key + item for key, item in pairs)


def part(page=1, length=4, dtype="f32", **more):
    return {"dtype": dtype, "blob": [4096 * page, length], **more}


def tensor(parts, shape=(1,), layout="dense", **more):
    return {"shape": list(shape), "layout": layout, "parts": parts, **more}


def file(objects, pages=1, **more):
    manifest = cbor({"objects": objects, "attributes": {"a": "a" * 256}, **more})
    start = MAGIC.ljust(4096, b"\0") + bytes(4096 * pages)
    return start + manifest + struct.pack("<QQQII", len(start), len(manifest), xxh3(manifest), 2, 0) + MAGIC


def names(size):
    return [f"{i:06}" for i in range(size)]


def blobs_falling(size):
    return file({name: tensor({"data": part(size - i)}) for i, name in enumerate(names(size))}, size)


def blobs_shared(size):
    """Tensors that alternate between two blobs."""
    return file({name: tensor({"data": part(1 + i % 2)}) for i, name in enumerate(names(size))}, 2)


def one_blob(size):
    """Tensors that all share the same bytes, as many as all of their entries have."""
    pages = -(-size * 128 // 4096)
    more = {"digest": "xxh3:0000000000000000"}
    data = part(1, 4096 * pages, "u8", **more)
    return file({name: tensor({"data": data}, [4096 * pages]) for name in names(size)}, pages)


def parts_of_one(size):
    """A tensor of many components, with an unknown layout."""
    return file({"a": tensor({name: part(size - i) for i, name in enumerate(names(size))}, [1], "other")}, size)


def names_alike(size):
    """Names that differ in their last bytes."""
    return file({"n" * 1000 + name: tensor({"data": part()}) for name in names(size)})


def shards(size):
    """Components in shards that are looked up in descending order."""
    table = {name: {"size": 8192, "digest": "xxh3:0"} for name in names(size)}
    entries = {name: tensor({"data": part(shard=names(size)[-1 - i])}) for i, name in enumerate(names(size))}
    return file(entries, shards=table)


def lists_deep(size):
    """Many values nested to the largest depth."""
    value = 0
    for _ in range(28):
        value = [value]
    return file({}, attributes={"a": [value] * size, "b": "a" * 256})


def keys_alike(size):
    """Maps whose keys are maps with the same start."""
    inner = {f"{i:06}": 0 for i in range(100)}
    keys = [cbor({**inner, "x": i}) for i in range(size)]
    return file({}, attributes={"a": {key: 0 for key in keys}, "b": "a" * 256})


def blob_of_manifest(size):
    """Components whose bytes are the manifest itself, which states its own length."""
    objects = {}
    length = 0
    for _ in range(4):
        objects = {name: tensor({"data": part(2, length, "u8")}, [length]) for name in names(size)}
        length = len(cbor({"objects": objects, "attributes": {"a": "a" * 256}}))
    return file(objects)


CASES = [blob_of_manifest, blobs_falling, blobs_shared, keys_alike, lists_deep, names_alike, one_blob, parts_of_one, shards]

if __name__ == "__main__":
    command.run({case.__name__: case for case in CASES})
