"""The package gguf."""
import numpy
from common import Text
from common import all_are_compared as is_compared
from common import damaged, digest, none_is_known as known
from common import temporary
from common import whole as split
from gguf import GGUFReader

SUFFIX = ".gguf"
PLAIN = {"F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"}


def read(data):
    with temporary(data) as path:
        tensors = []
        for tensor in GGUFReader(path).tensors:
            name = tensor.tensor_type.name
            kind = name.lower() if name in PLAIN else f"gguf.{name.lower()}"
            shape = [int(length) for length in reversed(tensor.shape)]
            tensors.append((tensor.name, kind, shape, None, digest(tensor.data.tobytes())))
        return tensors


def value(field):
    kinds = [kind.name for kind in field.types]
    if kinds.count("ARRAY") > 1:
        return NotImplemented  # the package flattens nested lists
    parts = [field.parts[index] for index in field.data]
    items = [Text(part) if kinds[-1] == "STRING" else part[0].item() for part in parts]
    return items if kinds[0] == "ARRAY" else items[0]


def attributes(data):
    with temporary(data) as path, numpy.errstate(all="ignore"):
        fields = GGUFReader(path).fields
        return {name: value(field) for name, field in fields.items() if not name.startswith("GGUF.")}
