"""ExecuTorch's reader of `.ptd` files in Python: it needs executorch, torch, ruamel.yaml and tabulate."""
import math

from common import all_are_compared as is_compared
from common import damaged, digest
from common import none_is_known as known
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorHeader, FlatTensorSerializer

SUFFIX = ".ptd"
# The types that have a dtype here, by their numbers.
NAMES = {0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 11: "bool", 15: "bf16",
         23: "f8_e5m2", 24: "f8_e4m3fn", 25: "f8_e5m2fnuz", 26: "f8_e4m3fnuz", 27: "u16", 28: "u32", 29: "u64"}


def strides_of(sizes, order):
    strides, next_one = [0] * len(sizes), 1
    for dimension in reversed(order):
        strides[dimension] = next_one
        next_one *= sizes[dimension]
    return strides


def rows(data, sizes, strides, size):
    """The elements, row after row."""
    elements = []
    for number in range(math.prod(sizes)):
        at = 0
        for length, stride in zip(reversed(sizes), reversed(strides)):
            at += number % length * stride
            number //= length
        elements.append(data[at * size:(at + 1) * size])
    return b"".join(elements)


def of_tensor(name, layout, data):
    if layout is None:
        return name, "ptd.blob", [len(data)], None, digest(data)
    sizes, order = layout.sizes, layout.dim_order
    kind = NAMES.get(int(layout.scalar_type))
    is_falling = len(order) > 1 and order == sorted(order, reverse=True)
    is_strided = order != sorted(order) and not is_falling
    strides = strides_of(sizes, order)
    if not kind:
        return name, "strided" if is_strided else "dense", sizes, None, digest(data)
    elements = math.prod(sizes)
    if is_strided and elements > 0:
        data = rows(data, sizes, strides, len(data) // elements)
    return name, kind, sizes, strides, digest(data)


def read(data):
    payload = FlatTensorSerializer().deserialize(data)
    return [of_tensor(name, entry.tensor_layout, payload.buffers[entry.buffer_index])
            for name, entry in payload.named_data.items()]


def split(data):
    """Damages the header and the flatbuffer."""
    header = FlatTensorHeader.from_bytes(data[8:])
    end = header.flatbuffer_offset + header.flatbuffer_size
    return data[:end], lambda part: part + data[end:]
