#!/usr/bin/env python3
"""Compares the tensors that tenslice lists with those of another reader: compare.py READER FOLDER [COUNT] [SEED] [KEEP]

READER is a module in `readers`: torch, onnx, tflite or ptd. FOLDER has files; COUNT (100000) is the number of damaged ones
that are made of those that either reads. Prints the number of files of each outcome, and ends with an error if both
accept a file and differ without a known reason. KEEP is a folder for files of each outcome, a few of each.

A reader has:

    SUFFIX                 of the names of files
    read(data)             the tensors of a file; raises an exception if the reader refuses it
    split(data)            the part of a file that is damaged, and a function that returns the file with another part
    damaged(part, random)  another part
    is_compared(tensor)    False for a tensor of tenslice that the reader does not list
    known(data)            the reason for a difference, if there is one

A tensor is its name, its dtype or its layout, its shape, its strides or None, and the SHA-256 of its elements or None.
"""
import collections
import importlib
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

HERE = pathlib.Path(__file__).resolve().parent
TENSORS = HERE.parent / "target/debug/examples/tensors"
# The seconds for one file, the files for one process, and the bytes that are damaged at most.
SECONDS, BATCH, MOST_DAMAGED = 10, 200, 1 << 13


def by_other(reader, data):
    signal.alarm(SECONDS)
    try:
        return "opened", reader.read(data)
    except Exception as error:  # whatever a damaged file raises
        text = str(error).split("WeightsUnpickler error:")[-1].strip()
        return "refused", f"{type(error).__name__}: {text}"
    finally:
        signal.alarm(0)


def batch_by_other(reader, files):
    """The results for files, in processes that may die."""
    results = []
    while len(results) < len(files):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            for output in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
            signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            with os.fdopen(write, "wb") as out:
                for data in files[len(results):]:
                    pickle.dump(by_other(reader, data), out)
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
    """Names the first difference of two lists of tensors, in any order; None if there is none."""
    key = lambda tensor: (*tensor[:3], tensor[4] or "")
    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    names = [tensor[0] for tensor in ours], [tensor[0] for tensor in theirs]
    if names[0] != names[1]:
        more, less = set(names[0]) - set(names[1]), set(names[1]) - set(names[0])
        return "names: more here" if more and not less else "names: fewer here" if less and not more else "names"
    for one, other in zip(ours, theirs):
        if one[1] != other[1]:
            return f"dtype or layout: {one[1]} here, {other[1]} there"
        if one[2] != other[2]:
            return "shape"
        if one[3] is not None and other[3] is not None and 0 not in one[2]:
            if any(a != b for a, b, length in zip(one[3], other[3], one[2]) if length > 1):
                return "strides"
        if one[4] and other[4] and one[4] != other[4]:
            return f"bytes of {one[1]}"
    return None


def general(text):
    """A message without what differs from file to file."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\[at [^]]*\]|\(at [^)]*\)|b'[^']*'", "*", text.strip().split("\n")[0])
    text = re.sub(r"(Unsupported \w+|GLOBAL|Given model could not be).*", r"\1", text)
    return re.sub(r"-?\d+|0x[0-9a-f]+", "N", text)[:100].strip()


def main(name, folder, count=100000, seed=1, keep=None):
    warnings.simplefilter("ignore")
    reader = importlib.import_module(f"readers.{name}")
    random_numbers = random.Random(int(seed))
    program = subprocess.Popen([TENSORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    paths = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.suffix == reader.SUFFIX)
    bases = []
    outcomes, kept, failed = collections.Counter(), collections.Counter(), 0

    def inputs():
        for _ in range(int(count)):
            part, join = random_numbers.choice(bases)
            yield "damaged", join(reader.damaged(part, random_numbers))

    def compare(files):
        nonlocal failed
        for (group, data), theirs in zip(files, batch_by_other(reader, [data for _, data in files])):
            ours = by_us(program, data)
            if ours[0] == theirs[0] == "opened":
                found = difference(filter(reader.is_compared, ours[1]), theirs[1])
                reason = reader.known(data) if found else None
                outcome = f"both accept, and differ: {found}" if found else "both accept, and are equal"
                outcome += f" ({reason})" if reason else ""
                failed += bool(found and not reason)
            elif ours[0] == "opened":
                outcome = f"only {name} refuses: {general(theirs[1])}"
            elif theirs[0] == "opened":
                outcome = f"only tenslice refuses: {general(ours[1])}"
            else:
                outcome = "both refuse"
            if group == "files" and outcome != "both refuse":
                try:
                    part, join = reader.split(data)
                    if len(part) < MOST_DAMAGED:
                        bases.append((part, join))
                except Exception:  # no sound container, although a reader takes it
                    pass
            outcomes[group, outcome] += 1
            kept[outcome] += 1
            if keep and kept[outcome] <= 5 and outcome != "both refuse":
                file = re.sub(r"[^a-z0-9]+", "-", outcome.lower())[:80]
                pathlib.Path(keep, f"{file}-{kept[outcome]}{reader.SUFFIX}").write_bytes(data)

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
