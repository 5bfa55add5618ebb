#!/usr/bin/env python3
"""Writes the network of digits.safetensors with weights of 8 bits, twice. Needs ztensor 1.2.3 and numpy:

    pip install ztensor==1.2.3 numpy && python3 make8.py

digits8.zt           as the real ztensor writes it, every tensor with its CRC-32C
digits8.safetensors  the same tensors, as make.py writes its own

layer1.weight i8 [32, 64], layer2.weight i8 [10, 32]: round(weight / scale), a scale for each row
layer1.scale f32 [32], layer2.scale f32 [10]: what a weight of 1 times an input of 1 is worth
hidden.scale f32 [1]: between the layers, numbers become i8 by it: the largest of the ten images becomes 127
layer1.bias, layer2.bias f32; test.images i8 [10, 8, 8]; test.logits f32 [10, 10] as int8.c must compute them
"""
import json
import pathlib
import struct

import numpy as np
import ztensor

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = {"F32": np.float32, "U8": np.uint8, "I8": np.int8}
f32 = np.float32


def read(data):
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write(tensors):
    header, data = {}, b""
    names = {dtype: name for name, dtype in DTYPES.items()}
    for name, array in sorted(tensors.items(), key=lambda tensor: (-tensor[1].itemsize, tensor[0])):
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": names[array.dtype.type], "shape": array.shape, "data_offsets": [begin, len(data)]}
    header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def rows_of_i8(weight):
    scale = np.abs(weight).max(axis=1) / f32(127)
    return np.rint(weight / scale[:, None]).astype(np.int8), scale


def layer(weight, scale, bias, x):
    """Integers up to the scale; then each operation is rounded to f32, as in the firmware."""
    return (weight.astype(np.int32) @ x.astype(np.int32)).astype(f32) * scale + bias


def main():
    given = read((HERE / "digits.safetensors").read_bytes())
    images = given["test.images"].astype(np.int8)
    weight1, scale1 = rows_of_i8(given["layer1.weight"])
    weight2, scale2 = rows_of_i8(given["layer2.weight"])
    bias1, bias2 = given["layer1.bias"], given["layer2.bias"]
    scale1 = scale1 / f32(16)  # of the pixels, which are 0 to 16
    hidden = [np.maximum(layer(weight1, scale1, bias1, image.reshape(64)), f32(0)) for image in images]
    hidden_scale = np.array([np.max(hidden) / f32(127)], f32)
    scale2 = scale2 * hidden_scale
    logits = []
    for numbers in hidden:
        small = np.minimum((numbers / hidden_scale + f32(0.5)).astype(np.int32), 127)
        logits.append(layer(weight2, scale2, bias2, small))
    logits = np.stack(logits)
    assert logits.dtype == f32 and [int(row.argmax()) for row in logits] == list(range(10))
    print("largest difference to the logits of f32: %.2f" % np.abs(logits - given["test.logits"]).max())

    tensors = {"layer1.weight": weight1, "layer1.scale": scale1, "layer1.bias": bias1, "hidden.scale": hidden_scale,
               "layer2.weight": weight2, "layer2.scale": scale2, "layer2.bias": bias2,
               "test.images": images, "test.logits": logits}
    (HERE / "digits8.safetensors").write_bytes(write(tensors))
    with ztensor.Writer(str(HERE / "digits8.zt")) as writer:
        for name, array in tensors.items():
            writer.add(name, array, checksum="crc32c")


main()
