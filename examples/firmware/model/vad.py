#!/usr/bin/env python3
"""The model of vad.c, and its arithmetic in NumPy

vad.py prepare MODEL FOLDER writes MODEL, silero_vad_16k.safetensors, with a signal to FOLDER/floats.safetensors, and the
scales of the activations to FOLDER/scales.json, for `tenslice quantize`.
vad.py check QUANTIZED PRINTED computes what vad.c computes, and compares it with what vad.c printed.
vad.py probabilities FILE prints those of a file with 32-bit or quantized weights, a line for each chunk.
"""
import json
import pathlib
import struct
import sys

import numpy as np

CODES = {"F32": np.float32, "I32": np.int32, "I16": np.int16, "I8": np.int8}
CHUNKS, CHUNK, CONTEXT, WINDOW, HOP, FRAMES, BINS, UNITS = 16, 512, 64, 256, 128, 4, 129, 128
CONVOLUTIONS = ("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)
f32 = np.float32


def read(path):
    content = pathlib.Path(path).read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: np.frombuffer(content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]],
                                CODES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(content[8:begin]).items() if name != "__metadata__"}


def write(path, tensors):
    header, data = {}, b""
    names = {code: name for name, code in CODES.items()}
    for name, array in tensors.items():
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": names[array.dtype.type], "shape": array.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def signal():
    """Noise, then two vowels: harmonics of a voice of some 110 Hz with three moving formants"""
    time = np.arange(CHUNKS * CHUNK) / 16000
    pitch = 110 + 15 * np.sin(14 * time) + 10 * np.sin(4.4 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    formants = ((600 + 250 * np.sin(8.2 * time), 90), (1300 + 500 * np.sin(12 * time + 1), 120),
                (2500 + 200 * np.sin(5.7 * time), 200))
    voice = sum(sum(1 / (1 + ((k * pitch - centre) / width) ** 2) for centre, width in formants) * np.cos(k * phase)
                for k in range(1, 36))
    noise, state = [], 1
    for _ in time:
        state = (state * 1664525 + 1013904223) % 2**32
        noise.append(state / 2**31 - 1)
    loudness = np.clip(np.sin(20 * time - 1.5) + 0.3, 0, 1) * (time > 0.1)
    numbers = 0.12 * voice * loudness + 0.005 * np.array(noise)
    return np.clip(np.rint(numbers * 32768), -32768, 32767).astype(np.int16).reshape(CHUNKS, CHUNK)


def prepare(model, folder):
    write(folder / "floats.safetensors", {**read(model), "signal": signal()})
    # Powers of two: samples of 16 bits are from -1 to 1, as the LSTM's numbers are; magnitudes are below 64.
    scales = {"stft": (-15, -9, "stft_conv.weight", None), "conv1": (-9, -7), "conv2": (-7, -7), "conv3": (-7, -8),
              "conv4": (-8, -9), "ih": (-9, -20, "lstm_cell.weight_ih", "lstm_cell.bias_ih"),
              "hh": (-15, -20, "lstm_cell.weight_hh", "lstm_cell.bias_hh")}
    entries = {}
    for name, (x, y, *names) in scales.items():
        weight, bias = names or (name + ".weight", name + ".bias")
        entries[name] = {"in": 2.0**x, "out": 2.0**y, "weight": weight, **({"bias": bias} if bias else {})}
    (folder / "scales.json").write_text(json.dumps(entries, indent=1))


def chunks(samples):
    """Each chunk after the end of the one before, and with its own end reflected"""
    context = np.zeros(CONTEXT, samples.dtype)
    for chunk in samples:
        chunk, context = np.concatenate([context, chunk]), chunk[-CONTEXT:]
        yield np.concatenate([chunk, chunk[-65:-1][::-1]])


def windows(x, stride):
    """Three frames for each place, with zeros beyond both ends"""
    x = np.concatenate([np.zeros_like(x[:1]), x, np.zeros_like(x[:1])])
    return [x[place:place + 3].reshape(-1) for place in range(0, len(x) - 2, stride)]


class Integers:
    """The arithmetic of vad.c: integers, and floats of 32 bits, each operation rounded"""

    def __init__(self, tensors):
        self.tensors = tensors
        self.hidden, self.cell = np.zeros(UNITS, np.int64), np.zeros(UNITS, f32)

    def scaled(self, x, name, bias=None):
        """Multiplies, adds the bias, and scales as `requantize` does. No sum may be longer than 32 bits."""
        weight = self.tensors[name].reshape(len(self.tensors[name]), -1).astype(np.int64)
        bias = 0 if bias is None else self.tensors[bias].astype(np.int64)
        assert (np.abs(weight).sum(1) * 32768 + np.abs(bias)).max() < 2**31, name
        multiplier, shift = (self.tensors[name + end].astype(np.int64) for end in ("_multiplier", "_shift"))
        high = ((weight @ x + bias) * 2 ** np.maximum(shift, 0) * multiplier + 2**30) >> 31
        right = 2 ** np.maximum(-shift, 0)
        return np.sign(high) * ((2 * np.abs(high) + right) // (2 * right))

    def chunk(self, samples):
        layers = []
        samples = samples.astype(np.int64)
        parts = [np.clip(self.scaled(samples[i * HOP:i * HOP + WINDOW], "stft_conv.weight"), -32767, 32767)
                 for i in range(FRAMES)]
        squares = np.array([part[:BINS] ** 2 + part[BINS:] ** 2 for part in parts])
        x = np.minimum(np.floor(np.sqrt(squares.astype(np.float64))).astype(np.int64), 32767)
        layers.append(x)
        for name, stride in CONVOLUTIONS:
            x = np.array([np.clip(self.scaled(window, name + ".weight", name + ".bias"), 0, 32767)
                          for window in windows(x, stride)])
            layers.append(x)
        gates = (self.scaled(x[0], "lstm_cell.weight_ih", "lstm_cell.bias_ih")
                 + self.scaled(self.hidden, "lstm_cell.weight_hh", "lstm_cell.bias_hh"))
        assert np.abs(gates).max() < 2**31
        i, f, g, o = gates.astype(f32).reshape(4, UNITS) * f32(2**-20)
        self.cell = sigmoid(f) * self.cell + sigmoid(i) * tanh(g)
        self.floats = sigmoid(o) * tanh(self.cell)
        steps = self.floats * f32(32768)
        self.hidden = np.clip(np.trunc(steps + np.where(steps < 0, f32(-0.5), f32(0.5))).astype(np.int64), -32767, 32767)
        products = np.maximum(self.floats, f32(0)) * self.tensors["final_conv.weight"].reshape(-1)
        total = np.add.accumulate(products)[-1] + self.tensors["final_conv.bias"][0]  # in this order
        return sigmoid(total), layers + [gates, self.hidden]


def sigmoid(x):
    """1 / (1 + e^-x) by the polynomial of vad.c"""
    power = np.clip(x * f32(-1.44269504), f32(-100), f32(100))
    whole = np.trunc(power + np.where(power < 0, f32(-0.5), f32(0.5))).astype(np.int32)
    rest = power - whole.astype(f32)
    total = f32(0.000154035303934)
    for coefficient in (0.00133335581464, 0.00961812910763, 0.0555041086648, 0.240226506959, 0.69314718056, 1):
        total = total * rest + f32(coefficient)
    result = f32(1) / (f32(1) + np.ldexp(total, whole))
    assert result.dtype == f32
    return result


def tanh(x):
    return f32(2) * sigmoid(f32(2) * x) - f32(1)


def floats(tensors):
    """The network in floats of 64 bits, a probability for each chunk"""
    def exact(x):
        return 1 / (1 + np.exp(-x))

    wide = {name: array.astype(np.float64) for name, array in tensors.items()}
    hidden, cell = np.zeros(UNITS), np.zeros(UNITS)
    for samples in chunks(wide["signal"] / 32768):
        frames = [wide["stft_conv.weight"].reshape(2 * BINS, WINDOW) @ samples[i * HOP:i * HOP + WINDOW] for i in range(FRAMES)]
        x = np.array([np.hypot(frame[:BINS], frame[BINS:]) for frame in frames])
        for name, stride in CONVOLUTIONS:
            weight = wide[name + ".weight"].transpose(0, 2, 1).reshape(len(wide[name + ".weight"]), -1)
            x = np.array([np.maximum(weight @ window + wide[name + ".bias"], 0) for window in windows(x, stride)])
        i, f, g, o = (wide["lstm_cell.weight_ih"] @ x[0] + wide["lstm_cell.bias_ih"]
                      + wide["lstm_cell.weight_hh"] @ hidden + wide["lstm_cell.bias_hh"]).reshape(4, UNITS)
        cell = exact(f) * cell + exact(i) * np.tanh(g)
        hidden = exact(o) * np.tanh(cell)
        yield exact(wide["final_conv.weight"].reshape(-1) @ np.maximum(hidden, 0) + wide["final_conv.bias"][0])


def integers(tensors):
    network = Integers(tensors)
    return [network.chunk(samples)[0] for samples in chunks(tensors["signal"])]


def check(tensors, lines):
    network, worst, probabilities = Integers(tensors), 0, []
    assert len(lines) == CHUNKS + 1, f"{len(lines)} lines"

    def compare(what, bits, expected):
        nonlocal worst
        printed = np.array(bits, np.uint32).view(f32)
        assert np.isfinite(printed).all(), what
        worst = max(worst, np.abs(printed - expected).max())
        assert worst <= 1e-5, f"{what}: differs by {worst}"

    for number, (samples, line) in enumerate(zip(chunks(tensors["signal"]), lines)):
        probability, layers = network.chunk(samples)
        *sums, bits = (int(word) for word in line.split())
        expected = []
        for layer in layers:
            total = 0
            for x in layer.reshape(-1).tolist():
                total = (total * 31 + x) % 2**32
            expected.append(total)
        assert sums == expected, f"chunk {number}: integers {sums}, expected {expected}"
        compare(f"chunk {number}", [bits], probability)
        probabilities.append(probability)
    state = [int(word) for word in lines[-1].split()]
    compare("hidden", state[::2], network.floats)
    compare("cell", state[1::2], network.cell)
    assert min(probabilities) < 0.2 and max(probabilities) > 0.8, probabilities
    print(f"speech: {CHUNKS} chunks, the integers of all layers are equal, the floats differ by {worst:.1e} at most")


if sys.argv[1] == "prepare":
    prepare(sys.argv[2], pathlib.Path(sys.argv[3]))
elif sys.argv[1] == "check":
    check(read(sys.argv[2]), pathlib.Path(sys.argv[3]).read_text().splitlines())
else:
    given = read(sys.argv[2])
    for probability in (integers if given["stft_conv.weight"].dtype == np.int8 else floats)(given):
        print(f"{probability:.4f}")
