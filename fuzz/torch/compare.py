#!/usr/bin/env python3
"""Compares the tensors that tenslice lists with those that torch.load returns: compare.py FOLDER [COUNT] [SEED] [KEEP]

FOLDER has checkpoints; COUNT (100000) is the number of damaged ones that are made of those that either reads. The damage
is in the pickle of the tree; the container is sound. Prints the number of files of each outcome, and ends with an error
if both accept a file and differ without a known reason. KEEP is a folder for files of each outcome, a few of each.
"""
import collections
import hashlib
import io
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import warnings
import zlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
TENSORS = HERE.parent / "target/debug/examples/tensors"
# The bytes of a tensor that are compared, the seconds for one file, and the files for one process.
MOST, SECONDS, BATCH = 1 << 20, 10, 200
NAMES = {"float8_e4m3fn": "f8_e4m3fn", "float8_e5m2": "f8_e5m2", "float8_e4m3fnuz": "f8_e4m3fnuz",
         "float8_e5m2fnuz": "f8_e5m2fnuz", "float8_e8m0fnu": "f8_e8m0", "bfloat16": "bf16", "bool": "bool",
         "complex64": "c64", "complex128": "c128"}
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


class Base:
    """A file: the pickle of its tree, and what is around it."""

    def __init__(self, data):
        if data[:2] == b"PK":
            self.entries = directory(data)
            at = [name.endswith(b"/data.pkl") for name, _ in self.entries].index(True)
            self.pickle = self.entries[at][1]
            self.join = lambda tree: archive(self.entries[:at] + [(self.entries[at][0], tree)] + self.entries[at + 1:])
            return
        stream = io.BytesIO(data)
        for number in range(4):
            start = stream.tell()
            unpickler = Skimming(stream)
            unpickler.load()
        self.pickle = data[start:stream.tell()]
        head, tail = data[:start], data[stream.tell():]
        self.join = lambda tree: head + tree + tail


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
    unpickler = Exact(io.BytesIO(Base(data).pickle))
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
    kind = str(tensor.dtype).removeprefix("torch.")
    kind = NAMES.get(kind) or re.sub("^(u?)int", r"\1i", kind).replace("ui", "u").replace("float", "f")
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
    digest = None
    if tensor.numel() * tensor.element_size() <= MOST:
        flat = tensor.detach().contiguous().reshape(-1)
        digest = hashlib.sha256(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"").hexdigest()
    return name, kind, shape, list(tensor.stride()), digest


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


def by_torch(data):
    signal.alarm(SECONDS)
    try:
        result = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        return "opened", list(walk(result, [], set()))
    except Exception as error:  # whatever a damaged file raises
        text = str(error).split("WeightsUnpickler error:")[-1].strip() or type(error).__name__
        return "refused", f"{type(error).__name__}: {text}"
    finally:
        signal.alarm(0)


def batch_by_torch(files):
    """The results for files, in processes that may die."""
    results = []
    while len(results) < len(files):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            with os.fdopen(write, "wb") as out:
                for data in files[len(results):]:
                    pickle.dump(by_torch(data), out)
                    out.flush()
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as results_in:
            try:
                while len(results) < len(files):
                    results.append(pickle.load(results_in))
            except EOFError:
                results.append(("refused", "the process died"))
        os.waitpid(child, 0)
    return results


def by_us(program, data):
    program.stdin.write(struct.pack("<I", len(data)) + data)
    program.stdin.flush()
    outcome, *rest = program.stdout.readline().decode().rstrip("\n").split("\t")
    if outcome != "opened":
        return outcome or "died", rest[0] if rest else ""
    tensors = []
    for text in rest:
        name, kind, shape, strides, digest = text.split(" ")
        numbers = lambda text: [int(number) for number in text.strip("[]").split(",") if number]
        tensors.append((bytes.fromhex(name).decode(), kind, numbers(shape), None if strides == "-" else numbers(strides),
                        None if digest == "-" else digest))
    return outcome, tensors


def difference(ours, theirs):
    """Names the first difference of two lists of tensors; None if there is none."""
    names = [tensor[0] for tensor in ours], [tensor[0] for tensor in theirs]
    if sorted(names[0]) != sorted(names[1]):
        more, less = set(names[0]) - set(names[1]), set(names[1]) - set(names[0])
        return "names: more here" if more and not less else "names: fewer here" if less and not more else "names"
    for one, other in zip(sorted(ours), sorted(theirs)):
        if one[1] != other[1]:
            return f"dtype or layout: {one[1]} here, {other[1]} in torch"
        if one[2] != other[2]:
            return "shape"
        if one[3] is not None and other[3] is not None and 0 not in one[2]:
            if any(a != b for a, b, length in zip(one[3], other[3], one[2]) if length > 1):
                return "strides"
        if one[4] and other[4] and one[4] != other[4]:
            return "bytes"
    return None


def general(text):
    """A message without what differs from file to file."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\[at [^]]*\]|\(at [^)]*\)", "*", text.split("\n")[0])
    text = re.sub(r"(Unsupported \w+|GLOBAL).*", r"\1", text)
    return re.sub(r"\d+|0x[0-9a-f]+", "N", text)[:100].strip()


def main(folder, count=100000, seed=1, keep=None):
    warnings.simplefilter("ignore")
    random_numbers = random.Random(int(seed))
    program = subprocess.Popen([TENSORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    paths = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.suffix == ".pt")
    bases = []
    outcomes, kept, failed = collections.Counter(), collections.Counter(), 0

    def inputs():
        for _ in range(int(count)):
            base = random_numbers.choice(bases)
            yield "damaged", base.join(damaged(base.pickle, random_numbers))

    def compare(files):
        nonlocal failed
        for (group, data), theirs in zip(files, batch_by_torch([data for _, data in files])):
            ours = by_us(program, data)
            if ours[0] == theirs[0] == "opened":
                found = difference(ours[1], theirs[1])
                reason = known(data) if found else None
                outcome = f"both accept, and differ: {found}" if found else "both accept, and are equal"
                outcome += f" ({reason})" if reason else ""
                failed += bool(found and not reason)
            elif ours[0] == "opened":
                outcome = f"only torch refuses: {general(theirs[1])}"
            elif theirs[0] == "opened":
                outcome = f"only tenslice refuses: {general(ours[1])}"
            else:
                outcome = "both refuse"
            if group == "files" and outcome != "both refuse":
                try:
                    base = Base(data)
                    if len(base.pickle) < 1 << 13:
                        bases.append(base)
                except Exception:  # no sound container, although a reader takes it
                    pass
            outcomes[group, outcome] += 1
            kept[outcome] += 1
            if keep and kept[outcome] <= 5 and outcome != "both refuse":
                name = re.sub(r"[^a-z0-9]+", "-", outcome.lower())[:80]
                pathlib.Path(keep, f"{name}-{kept[outcome]}.pt").write_bytes(data)

    compare([("files", path.read_bytes()) for path in paths])
    print(f"{len(paths)} files, of which {len(bases)} are damaged", flush=True)
    files = []
    for made in inputs():
        files.append(made)
        if len(files) == BATCH:
            compare(files)
            files = []
    compare(files)
    for (group, outcome), number in sorted(outcomes.items(), key=lambda item: (item[0][0], item[0][1][:12], -item[1])):
        print(f"{number:8} {group}: {outcome}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
