"""The package onnx, and the elements of tensors that its numpy_helper returns."""
import math

import numpy
import onnx
from common import EXTERNAL, MOST, digest, dtype, packed
from common import all_are_compared as is_compared
from common import damaged as damaged_bytes
from common import none_is_known as known
from common import whole as split
from onnx import numpy_helper

SUFFIX = ".onnx"
BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
TEXT = onnx.TensorProto.STRING


def elements(tensor):
    array = numpy_helper.to_array(tensor)
    if tensor.data_type in BITS:
        return packed(array.reshape(-1).view(numpy.uint8).tobytes(), BITS[tensor.data_type])
    return array.tobytes()


def kind_of(number):
    return dtype(str(onnx.helper.tensor_dtype_to_np_dtype(number)))


def of_tensor(name, tensor):
    shape = list(tensor.dims)
    if tensor.data_type == TEXT:
        # Not by numpy_helper, which refuses texts that are not UTF-8.
        if len(tensor.string_data) != math.prod(shape):
            raise ValueError("as many texts as elements")
        return name, "onnx.string", shape, None, None
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return name, kind_of(tensor.data_type), shape, None, EXTERNAL
    return name, kind_of(tensor.data_type), shape, None, digest(elements(tensor))


def of_sparse(name, sparse):
    shape = list(sparse.dims)
    kind = kind_of(sparse.values.data_type)
    if any(part.data_location == onnx.TensorProto.EXTERNAL for part in (sparse.values, sparse.indices)):
        return name, kind, shape, None, EXTERNAL
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    count = math.prod(shape)
    bits = BITS.get(sparse.values.data_type, 8 * values.itemsize)
    if count * bits // 8 > MOST:
        return name, kind, shape, None, None
    if indices.ndim == 2:
        indices = numpy.ravel_multi_index(tuple(indices.T), shape)
    dense = numpy.zeros(count, values.dtype)
    dense[indices] = values
    data = packed(dense.view(numpy.uint8).tobytes(), bits) if bits < 8 else dense.tobytes()
    return name, kind, shape, None, digest(data)


def walk(graph, depth=0):
    """Yields the tensors, by the rules of docs/onnx.md."""
    for node in graph.node:
        is_constant = node.op_type == "Constant" and node.domain in ("", "ai.onnx")
        for attribute in node.attribute:
            if is_constant and attribute.name == "value" and attribute.HasField("t"):
                yield of_tensor(node.output[0], attribute.t)
            if is_constant and attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
                yield of_sparse(node.output[0], attribute.sparse_tensor)
            if attribute.HasField("g"):
                yield from walk(attribute.g, depth + 1)
            for inner in attribute.graphs:
                yield from walk(inner, depth + 1)
    for tensor in graph.initializer:
        yield of_tensor(tensor.name, tensor)
    for sparse in graph.sparse_initializer:
        yield of_sparse(sparse.values.name, sparse)


def read(data):
    model = onnx.load_model_from_string(data)
    # The package accepts any message, even one of another kind.
    if model.ir_version <= 0 or not model.HasField("graph"):
        raise ValueError("no version or no graph")
    return list(walk(model.graph))


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def number_at(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def fields(data):
    """The fields of a message: tag, and content with its length if it has one. Raises an exception if it is none."""
    at, found = 0, []
    while at < len(data):
        tag, at = number_at(data, at)
        start = at
        wire = tag & 7
        if wire == 0:
            _, at = number_at(data, at)
        elif wire == 2:
            length, start = number_at(data, at)
            at = start + length
        else:
            at += {1: 8, 5: 4}[wire]
        if at > len(data) or not 0 < tag >> 3 < 30:
            raise ValueError("no message")
        found.append((tag, data[start:at]))
    return found


def joined(message):
    return b"".join(varint(tag) + (varint(len(content)) if tag & 7 == 2 else b"") + content for tag, content in message)


def damaged(data, random):
    """Damages a field of some message, whose lengths around it are right; sometimes any bytes."""
    try:
        message = fields(data) if data and random.randrange(8) else None
    except (ValueError, IndexError, KeyError):
        message = None
    if not message:
        return damaged_bytes(data, random)
    at = random.randrange(len(message))
    tag, content = message[at]
    kind = 9 if tag & 7 == 2 and random.randrange(6) else random.randrange(6)
    if kind == 9:
        message[at] = tag, damaged(content, random)
    elif kind == 0:
        del message[at]
    elif kind == 1:
        message.insert(random.randrange(len(message)), message[at])
    elif kind == 2:
        message[at] = (tag & 7 | random.randrange(1, 30) << 3), content
    elif kind == 3:
        other = random.randrange(len(message))
        message[at], message[other] = message[other], message[at]
    elif tag & 7 == 0:
        message[at] = tag, varint(random.choice((0, 1, 2, 3, 4, 7, 11, 16, 21, 22, 23, 27, 28, 29, 300, (1 << 64) - 1)))
    else:
        message[at] = tag, damaged_bytes(content, random)
    return joined(message)
