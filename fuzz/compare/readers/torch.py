"""PyTorch: torch.load, of files with weights only."""
import collections
import io
import pickle
import struct
import zlib

import torch
from common import MOST
from common import all_are_compared as is_compared
from common import digest, dtype

SUFFIX = ".pt"
# Opcodes that may stand for each other: they have arguments of one form.
FORMS = [b"(N\x88\x89}])\x8ft\x85\x86\x87suae\x90\x91R\x81\x92bQ.0 12", b"Kqh\x80", b"Jrj", b"XTB", b"\x8cUC\x8a", b"G\x95"]


def archive(entries):
    """A stored archive."""
    body, directory = bytearray(), bytearray()
    for name, data in entries:
        about = struct.pack("<2H4x3I2H", 0x800, 0, zlib.crc32(data), len(data), len(data), len(name), 0)
        directory += b"PK\1\2" + bytes(4) + about + struct.pack("<10xI", len(body)) + name
        body += b"PK\3\4" + bytes(2) + about + name + data
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    return bytes(body + directory) + end


def directory(data):
    """The entries of an archive that torch has written."""
    end = data.rindex(b"PK\5\6")
    count, _, at = struct.unpack_from("<HII", data, end + 10)
    if at == 0xffffffff or count == 0xffff:
        count, _, at = struct.unpack_from("<QQQ", data, data.rindex(b"PK\6\6") + 32)
    entries = []
    for _ in range(count):
        method, size, name, extra, comment, start = struct.unpack_from("<10xH8xI4x3H8xI", data, at)
        if method != 0:
            raise ValueError("deflated")
        local = start + 30 + sum(struct.unpack_from("<2H", data, start + 26))
        entries.append((data[at + 46:at + 46 + name], data[local:local + size]))
        at += 46 + name + extra + comment
    return entries


def split(data):
    """Damages the pickle of the tree, in a sound container."""
    if data[:2] == b"PK":
        entries = directory(data)
        at = [name.endswith(b"/data.pkl") for name, _ in entries].index(True)
        name, tree = entries[at]
        return tree, lambda part: archive(entries[:at] + [(name, part)] + entries[at + 1:])
    stream = io.BytesIO(data)
    for _ in range(4):
        start = stream.tell()
        unpickler = Skimming(stream)
        unpickler.load()
    end = stream.tell()
    return data[start:end], lambda part: data[:start] + part + data[end:]


class Anything:
    def __init__(self, *_):
        pass

    def __setstate__(self, state):
        pass


class Skimming(pickle._Unpickler):
    """Finds the end of a pickle."""

    def find_class(self, module, name):
        return collections.OrderedDict if name == "OrderedDict" else Anything

    def persistent_load(self, _):
        return Anything()


class Exact(Skimming):
    """Notes what torch and tenslice are known to read differently."""

    dispatch = dict(pickle._Unpickler.dispatch)
    note = None

    def add(self, target, pairs):
        if isinstance(target, dict):
            for key, value in pairs:
                if key in target:
                    self.note = "a key twice, of which torch keeps the last"
                elif key in ("conj", "neg") and value is False:
                    self.note = self.note or "a bit that is False, which torch takes for True"
                target[key] = value

    def set_item(self):
        value, key = self.stack.pop(), self.stack.pop()
        self.add(self.stack[-1], [(key, value)])

    def set_items(self):
        items = self.pop_mark()
        self.add(self.stack[-1], zip(items[::2], items[1::2]))

    dispatch[pickle.SETITEM[0]] = set_item
    dispatch[pickle.SETITEMS[0]] = set_items


def known(data):
    """Returns the reason for a difference, if there is one."""
    unpickler = Exact(io.BytesIO(split(data)[0]))
    try:
        unpickler.load()
    except Exception:  # what the stand-ins do not do
        pass
    return unpickler.note


def damaged(tree, random):
    tree = bytearray(tree)
    for _ in range(random.choice((1, 1, 1, 1, 2))):
        at = random.randrange(len(tree))
        kind = random.randrange(10)
        if kind < 2:
            tree[at] = random.randrange(256)
        elif kind == 2:
            tree[at] ^= 1 << random.randrange(8)
        elif kind == 3:
            tree[at] = (tree[at] + random.choice((1, 255))) % 256
        elif kind < 8:  # an opcode for another one, from here on
            for place in range(at, len(tree)):
                form = next((form for form in FORMS if tree[place] in form), None)
                if form:
                    tree[place] = random.choice(form)
                    break
        elif kind == 8:
            del tree[at:at + random.randrange(1, 12)]
        else:
            to = random.randrange(len(tree))
            tree[to:to] = tree[at:at + random.randrange(1, 40)]
        if not tree:
            tree = bytearray(b".")
    return bytes(tree)


def of_tensor(name, tensor):
    shape = list(tensor.shape) if not tensor.is_nested else []
    kind = dtype(str(tensor.dtype).removeprefix("torch."))
    other = None
    if tensor.is_nested:
        other = "torch.nested"
    elif tensor.layout != torch.strided:
        other = str(tensor.layout)
    elif tensor.device.type == "meta":
        other = "torch.meta"
    elif tensor.is_quantized:
        other = "torch.quantized"
    elif tensor.is_conj() or tensor.is_neg():
        other = "torch.conj" if tensor.is_conj() else "torch.neg"
    elif kind.startswith(("complex32", "f4", "bits")):
        other = str(tensor.dtype)
    if other:
        return name, other, shape, None, None
    found = None
    if tensor.numel() * tensor.element_size() <= MOST:
        flat = tensor.detach().contiguous().reshape(-1)
        found = digest(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return name, kind, shape, list(tensor.stride()), found


def walk(value, path, seen):
    """Yields the tensors, by the rules of docs/pytorch.md."""
    if isinstance(value, torch.Tensor):
        yield of_tensor(".".join(path), value)
    elif isinstance(value, (dict, list, tuple)):
        if id(value) in seen:
            return
        if value:
            seen.add(id(value))
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if isinstance(key, (str, int)) and not isinstance(key, bool):
                yield from walk(item, path + [str(key)], seen)


def read(data):
    result = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    return list(walk(result, [], set()))
