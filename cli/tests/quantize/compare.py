"""Compares `tenslice quantize` with ggml and with gguf-py, bit for bit: compare.py TOOL GGML [COUNT]

TOOL is the program, GGML the one of ggml.c, COUNT the number of values of each type (10 million).
compare.py --sample FILE GGML writes sample.gguf, which the tests of the tool read: numbers, and their blocks by ggml.
"""
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1"]
ROW = 1024


def distributions(count, seed=1):
    """Yields names and rows of numbers: `count` in all, at least."""
    r = np.random.default_rng(seed)
    rows = -(-count // (6 * ROW))
    shape = (rows, ROW)
    normal = r.standard_normal(shape).astype("f4")
    yield "normal", normal
    yield "halves", r.standard_normal(shape).astype("f2").astype("f4")
    yield "powers of two", np.ldexp(r.choice([-1, 1], shape), r.integers(-30, 15, shape)).astype("f4")
    # Halfway between integers, in a scale that is a power of two: 127 is the largest number of each block.
    ties = (r.integers(-254, 255, shape) / 2).astype("f4")
    ties.reshape(-1, 32)[:, 0] = r.choice([127, -127, 8, -8, 16, -16, 7.5, 15.5], rows * ROW // 32)
    yield "ties", ties
    tiny = np.ldexp(r.standard_normal(shape), r.integers(-110, -14, shape)).astype("f4")
    tiny.reshape(-1, 32)[::7] *= 0  # zeros of both signs
    yield "tiny", tiny
    # Every exponent from -100 to 14, every mantissa.
    bits = r.integers(0, 1 << 32, shape, dtype="u4") & np.uint32(0x807FFFFF)
    bits |= r.integers(27, 142, shape, dtype="u4") << np.uint32(23)
    yield "any bits", bits.view("f4")


def by_ggml(program, kind, numbers):
    return subprocess.run([program, kind], input=numbers.tobytes(), stdout=subprocess.PIPE, check=True).stdout


def compare(tool, program, count):
    failed = 0
    for name, numbers in distributions(count):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "numbers.npy", pathlib.Path(folder) / "blocks.gguf"
            np.save(source, numbers)
            for kind in TYPES:
                subprocess.run([tool, "quantize", source, "-o", target, "--to", kind, "--force"], check=True,
                               stdout=subprocess.DEVNULL)
                size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind.upper()]][1]
                ours = np.array(gguf.GGUFReader(target).tensors[0].data).reshape(-1, size)
                ggml = np.frombuffer(by_ggml(program, kind, numbers), "u1").reshape(-1, size)
                other = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType[kind.upper()]).reshape(-1, size)
                wrong = np.any(ours != ggml, axis=1).sum()
                # The exception: blocks of zeros, where gguf-py writes scales with other signs.
                differs = np.any(ours != other, axis=1)
                zeros = ~np.any(numbers.reshape(-1, 32), axis=1)
                strange = (differs & ~zeros).sum()
                print(f"{name}, {kind}: {numbers.size} values, {len(ours)} blocks; "
                      f"not as ggml: {wrong}; not as gguf-py: {strange}, and {(differs & zeros).sum()} of zeros",
                      flush=True)
                failed += wrong + strange
    sys.exit(bool(failed))


def sample(path, program):
    writer = gguf.GGUFWriter(path, "sample")
    # 192 numbers of each distribution.
    numbers = np.concatenate([rows.reshape(-1)[:192] for _, rows in distributions(1)]).reshape(-1, 64)
    writer.add_tensor("numbers", numbers)
    for kind in TYPES:
        dtype = gguf.GGMLQuantizationType[kind.upper()]
        blocks = np.frombuffer(by_ggml(program, kind, numbers), "u1").reshape(len(numbers), -1)
        writer.add_tensor(kind, blocks, raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if sys.argv[1] == "--sample":
    sample(*sys.argv[2:])
else:
    compare(*sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000)
