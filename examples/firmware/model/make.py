#!/usr/bin/env python3
"""Makes the files beside it. Needs ztensor 1.2.3, blosc2 4.14.1, scikit-learn and numpy:

    pip install ztensor==1.2.3 blosc2==4.14.1 scikit-learn numpy && python3 make.py

digits.zt       an MLP 64-32-10 in f32 for scikit-learn's bundled digits (UCI ML repository, "Optical Recognition of
                Handwritten Digits", E. Alpaydin and C. Kaynak, CC BY 4.0), written by the real ztensor: layer1.weight
             [32, 64], layer1.bias, layer2.weight [10, 32], layer2.bias; test.images u8 [10, 8, 8], an image of each
             digit that the training has not seen, and test.logits f32 [10, 10] as the firmware must compute them
compressed.zt  layer1.weight and test.images alone, compressed by Zstandard
broken.zt    the same with layer2.weight said to lie behind the end
worst.zt     names that are not sorted, unknown keys with values nested as deeply as the reader goes
digits.tens  layer1.weight alone, f32, column-major, after the text of TENS
digits.blz   layer1.weight alone as a tensor train in f64: the identity, then the weights
digits.b2nd  layer1.weight alone by the real blosc2, its bits shuffled, compressed by LZ4, in blocks of four rows
digits.safetensors  all of digits.zt, byte for byte as the crate safetensors 0.8 writes it
digits2.zt   all of digits.zt as zTensor 2: by make2.py, since that is another version of the same package
digits.gguf  all of digits.zt with layer1.weight in Q8_0, layer2.weight in Q4_0, quantized as ggml does, and test.logits of
             the numbers in the blocks; images as i8, since GGUF has no u8
"""
import json
import pathlib
import struct

import blosc2
import numpy as np
import ztensor
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).resolve().parent


def train():
    digits = load_digits()
    images, labels = digits.images.astype(np.uint8), digits.target
    x, held_x, y, held_y = train_test_split(images, labels, test_size=0.25, random_state=1, stratify=labels)
    scale = lambda images: (images.reshape(len(images), 64) / 16).astype(np.float32)
    mlp = MLPClassifier((32,), random_state=1, max_iter=1500, alpha=1e-3).fit(scale(x), y)
    print("held back: %.1f %% right" % (100 * mlp.score(scale(held_x), held_y)))
    weights = [np.ascontiguousarray(w.T.astype(np.float32)) for w in mlp.coefs_]
    biases = [b.astype(np.float32) for b in mlp.intercepts_]
    right = mlp.predict(scale(held_x)) == held_y
    chosen = [next(i for i in range(len(held_y)) if held_y[i] == digit and right[i]) for digit in range(10)]
    return weights, biases, held_x[chosen]


def layer(weight, bias, x):
    """One sum after the other, each rounded to f32: what the firmware does."""
    out = np.zeros(len(bias), np.float32)
    for row in range(len(bias)):
        total = bias[row]
        for column in range(len(x)):
            total = np.float32(total + np.float32(weight[row, column] * x[column]))
        out[row] = total
    return out


def logits_of(weights, biases, image):
    x = (image.reshape(64) / 16).astype(np.float32)
    hidden = np.maximum(layer(weights[0], biases[0], x), np.float32(0))
    return layer(weights[1], biases[1], hidden)


def head(major, n):
    for info, fmt, limit in ((None, None, 24), (24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32)):
        if n < limit:
            return bytes([major << 5 | n]) if fmt is None else bytes([major << 5 | info]) + struct.pack(fmt, n)
    return bytes([major << 5 | 27]) + struct.pack(">Q", n)


def text(s):
    return head(3, len(s)) + s.encode()


def worst():
    nested = b"\x81" * 31 + b"\x00"  # arrays in arrays
    tensors = b""
    for i in range(24):
        component = b"".join([head(5, 4), text("dtype"), text("f32"), text("offset"), head(0, 64), text("length"),
                              head(0, 4), text("unknown"), nested])
        tensors += text("t%02d" % (i * 7 % 24)) + head(5, 4) + text("shape") + head(4, 1) + head(0, 1)
        tensors += text("format") + text("dense") + text("unknown") + nested
        tensors += text("components") + head(5, 1) + text("data") + component
    manifest = head(5, 3) + text("version") + text("1.2.0") + text("unknown") + nested
    manifest += text("objects") + head(5, 24) + tensors
    blob = b"ZTEN1000".ljust(64, b"\0") + struct.pack("<f", 1.5)
    return blob + manifest + struct.pack("<Q", len(manifest)) + b"ZTEN1000"


def safetensors(tensors):
    """In the order of the reference implementation: the largest elements first, then by name."""
    header, data = {}, b""
    for name, array in sorted(tensors.items(), key=lambda tensor: (-tensor[1].itemsize, tensor[0])):
        begin, data = len(data), data + array.tobytes()
        dtype = {"float32": "F32", "uint8": "U8"}[array.dtype.name]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [begin, len(data)]}
    header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def halves(d):
    """Scales as binary16, rounded to nearest, ties to even."""
    return d.astype("<f2")


def inverse(d):
    """1 / d; 0 where that is beyond f32: the scale is 0 as a binary16 then."""
    with np.errstate(divide="ignore", over="ignore"):
        quotient = np.float32(1) / d
    return np.where(np.isfinite(quotient), quotient, np.float32(0))


def q8_0(weight):
    """Blocks of 32: a scale, then 32 numbers of 8 bits; and the numbers that they stand for, each rounded to f32."""
    x = weight.reshape(-1, 32)
    d = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    scaled = x * inverse(d)
    q = (np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))).astype(np.int8)  # ties away from zero
    numbers = q.astype(np.float32) * halves(d).astype(np.float32)
    return np.hstack([halves(d).view(np.uint8), q.view(np.uint8)]).tobytes(), numbers.reshape(weight.shape)


def q4_0(weight):
    """Blocks of 32: a scale, then 16 bytes, the first 16 numbers in the low halves; the largest number becomes -8."""
    x = weight.reshape(-1, 32)
    largest = np.take_along_axis(x, np.abs(x).argmax(axis=1)[:, None], axis=1)
    d = largest / np.float32(-8)
    q = np.minimum(15, np.floor(x * inverse(d) + np.float32(8.5))).astype(np.uint8)
    numbers = (q.astype(np.float32) - np.float32(8)) * halves(d).astype(np.float32)
    return np.hstack([halves(d).view(np.uint8), q[:, :16] | q[:, 16:] << 4]).tobytes(), numbers.reshape(weight.shape)


def gguf(tensors):
    """Version 3, little-endian: of each tensor its shape, the number of its type, and its bytes."""
    string = lambda s: struct.pack("<Q", len(s)) + s.encode()
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 2)
    out += string("general.architecture") + struct.pack("<I", 8) + string("digits")
    out += string("general.alignment") + struct.pack("<II", 4, 32)
    data = b""
    for name, (shape, kind, content) in tensors.items():
        out += string(name) + struct.pack("<I%dQIQ" % len(shape), len(shape), *shape[::-1], kind, len(data))
        data += content + bytes(-len(content) % 32)
    return out + bytes(-len(out) % 32) + data


def quantized(weights, biases, images):
    first, second = q8_0(weights[0]), q4_0(weights[1])
    logits = np.stack([logits_of([first[1], second[1]], biases, image) for image in images])
    assert [int(row.argmax()) for row in logits] == list(range(10))
    plain = lambda array, kind: (array.shape, kind, array.tobytes())
    return gguf({"layer1.weight": (weights[0].shape, 8, first[0]), "layer1.bias": plain(biases[0], 0),
                 "layer2.weight": (weights[1].shape, 2, second[0]), "layer2.bias": plain(biases[1], 0),
                 "test.images": plain(images.astype(np.int8), 24), "test.logits": plain(logits, 0)})


def main():
    weights, biases, images = train()
    logits = np.stack([logits_of(weights, biases, image) for image in images])
    assert [int(row.argmax()) for row in logits] == list(range(10))
    tensors = {"layer1.weight": weights[0], "layer1.bias": biases[0], "layer2.weight": weights[1],
               "layer2.bias": biases[1], "test.images": images, "test.logits": logits}
    with ztensor.Writer(str(HERE / "digits.zt")) as writer:
        for name, array in tensors.items():
            writer.add(name, array)
    (HERE / "digits.safetensors").write_bytes(safetensors(tensors))

    (HERE / "digits.gguf").write_bytes(quantized(weights, biases, images))

    with ztensor.Writer(str(HERE / "compressed.zt")) as writer:
        writer.add("layer1.weight", weights[0], compress=True)
        writer.add("test.images", images, compress=True)

    data = bytearray((HERE / "digits.zt").read_bytes())
    at = data.index(text("offset"), data.index(text("layer2.weight"))) + len(text("offset"))
    assert data[at] == 0x19  # a 16-bit number: as large as it can be
    data[at + 1:at + 3] = b"\xff\xff"
    (HERE / "broken.zt").write_bytes(data)
    (HERE / "worst.zt").write_bytes(worst())

    rows, columns = weights[0].shape
    tens = b"TENS" + struct.pack("<I4sIIIII", 0x10000, b"IEEE", 4, 1, 2, 0, 0)
    tens += struct.pack("<IBBH", rows, ord("o"), 0, 0) + struct.pack("<IBBH", columns, ord("i"), 0, 0)
    tens += b"DENSDATA" + struct.pack("<Q", 16 + 4 * rows * columns) + weights[0].astype("<f4").tobytes("F")
    (HERE / "digits.tens").write_bytes(tens)

    blz = b"BLZ1\x01\x00\x02" + bytes(8) + struct.pack("<5Q", rows, columns, 1, rows, 1)
    blz += np.eye(rows).astype("<f8").tobytes() + weights[0].astype("<f8").tobytes()
    (HERE / "digits.blz").write_bytes(blz)

    cparams = {"codec": blosc2.Codec.LZ4, "clevel": 9, "filters": [blosc2.Filter.BITSHUFFLE], "nthreads": 1}
    array = blosc2.asarray(weights[0], chunks=(16, columns), blocks=(4, columns), cparams=cparams)
    (HERE / "digits.b2nd").write_bytes(array.to_cframe())


main()
