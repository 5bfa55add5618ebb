#!/usr/bin/env python3
"""Layers for convolution.c: a convolution, a depthwise one and a dense one, of random numbers

convolution.py FOLDER writes floats.safetensors in the layout of PyTorch, and the scales of the activations for two runs
of `tenslice quantize`: scales.json, and depthwise.json.
convolution.py FILE prints the outputs of the layers in FILE, which is quantized, in integers of any length.
"""
import json
import pathlib
import struct
import sys

CODES = {"F32": "f", "I32": "i", "I8": "b"}


def write(folder):
    state = 1

    def random(count):  # from -1 to 1
        nonlocal state
        numbers = []
        for _ in range(count):
            state = (state * 1664525 + 1013904223) % 2**32
            numbers.append((state >> 8) / 2**23 - 1)
        return numbers

    tensors = {  # the layout of PyTorch
        "conv.weight": ("F32", [4, 2, 3, 3], random(72)), "conv.bias": ("F32", [4], random(4)),
        "dw.weight": ("F32", [4, 1, 3, 3], random(36)), "dw.bias": ("F32", [4], random(4)),
        "fc.weight": ("F32", [3, 16], random(48)), "fc.bias": ("F32", [3], random(3)),
        "x": ("I8", [6, 6, 2], [int(127 * x) for x in random(72)]),
    }
    header, data = {}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        begin, data = len(data), data + struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(folder / "floats.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)

    def layer(name, x, y):
        return {name: {"in": x, "out": y, "weight": f"{name}.weight", "bias": f"{name}.bias"}}

    with open(folder / "scales.json", "w") as out:
        json.dump({**layer("conv", 1 / 127, 0.03), **layer("fc", 0.05, 0.1)}, out)
    with open(folder / "depthwise.json", "w") as out:
        json.dump(layer("dw", 0.03, 0.05), out)


def check(path):
    content = path.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    tensors = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            first, last = (begin + offset for offset in entry["data_offsets"])
            code = CODES[entry["dtype"]]
            tensors[name] = struct.unpack(f"<{(last - first) // struct.calcsize(code)}{code}", content[first:last])

    def scaled(total, name, channel):
        shift = tensors[name + ".weight_shift"][channel]
        total = (total * 2 ** max(shift, 0) * tensors[name + ".weight_multiplier"][channel] + 2**30) // 2**31
        right = 2 ** max(-shift, 0)
        total = (2 * abs(total) + right) // (2 * right) * (1 if total >= 0 else -1)
        return max(-128, min(127, total))

    def layer(name, x, side, inner, outer, size, is_depthwise=False):
        weight, bias, out = tensors[name + ".weight"], tensors[name + ".bias"], side - size + 1
        places = [(row, column) for row in range(size) for column in range(size)]

        def one(y, z, o):
            first, inputs = (0, [o]) if is_depthwise else (o, range(inner))
            return bias[o] + sum(weight[((first * size + row) * size + column) * inner + i]
                                 * x[((y + row) * side + z + column) * inner + i]
                                 for row, column in places for i in inputs)

        return [scaled(one(y, z, o), name, o) for y in range(out) for z in range(out) for o in range(outer)]

    x = layer("conv", tensors["x"], 6, 2, 4, 3)
    x = layer("dw", x, 4, 4, 4, 3, is_depthwise=True)
    print(*x, *layer("fc", x, 1, 16, 3, 1))


given = pathlib.Path(sys.argv[1])
write(given) if given.is_dir() else check(given)
