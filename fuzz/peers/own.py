"""Hostile files that neither the fixtures nor the generators have: mostly ones that every reader should refuse."""
import importlib
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
FAR = 1 << 40


def of(format_name):
    """The generator of a format."""
    return importlib.import_module(format_name)


def safetensors_far():
    writer = of("safetensors")
    return writer.file([writer.entry("a", 0, 4), writer.entry("b", 4, FAR)], bytes(8))


def safetensors_large():
    writer = of("safetensors")
    return writer.file([writer.entry("a", 0, 16, FAR)], bytes(16))


def safetensors_deep():
    return of("safetensors").file(['"x":' + "[" * 1000000 + "]" * 1000000])


def gguf_deep():
    writer = of("gguf")
    return writer.file([writer.pair("k", 9, struct.pack("<IQ", 9, 1) * 300000 + struct.pack("<IQ", 0, 0))])


def npy_large():
    return of("npy").npy("'<f4'", f"({FAR},)", bytes(64))


def npy_deep():
    return of("npy").npy("'<f4'", "(" * 30000 + "1," + ")" * 30000, bytes(4))


def ztensor_far():
    writer = of("ztensor")
    return writer.file([("a", writer.tensor([("data", writer.part(64, FAR))], [FAR // 4]))], bytes(64))


def ztensor_deep():
    writer = of("ztensor")
    return writer.file([("a", writer.tensor([("data", writer.part())]))], bytes(64), x=b"\x81" * 100000 + b"\0")


def ztensor2_far():
    writer = of("ztensor2")
    return writer.file({"a": writer.tensor({"data": writer.part(1, FAR)}, [FAR // 4])})


def ztensor2_far_offset():
    writer = of("ztensor2")
    return writer.file({"a": writer.tensor({"data": writer.part(FAR >> 12)})})


def ztensor2_short():
    writer = of("ztensor2")
    return writer.file({"a": writer.tensor({"data": writer.part(1, 4)}, [FAR])})


def ztensor2_wraps():
    writer = of("ztensor2")
    return writer.file({"a": writer.tensor({"data": writer.part(1, 4)}, [(1 << 62) + 1])})


def ztensor2_deep():
    return of("ztensor2").file({}, attributes={"a": b"\x81" * 100000 + b"\0", "b": "a" * 256})


def ztensor2_twice():
    writer = of("ztensor2")
    entry = writer.cbor("a") + writer.cbor(writer.tensor({"data": writer.part()}))
    return writer.file(writer.head(5, 2) + entry * 2)


def ztensor2_many():
    """A map of 2^40 entries."""
    return of("ztensor2").file(of("ztensor2").head(5, FAR))


def onnx_deep():
    writer, graph = of("onnx"), b""
    for _ in range(3000):
        graph = writer.field(1, writer.field(5, writer.field(6, graph) + writer.number(20, 5)))
    return writer.model(graph)


def pytorch_deep():
    """A million tuples inside each other."""
    return of("pytorch").archive(b"(" * 1000000 + b"t" * 1000000, [])
