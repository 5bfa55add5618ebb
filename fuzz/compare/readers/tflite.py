"""The interpreter of LiteRT, which lists the tensors and has the bytes of constants: it needs ai-edge-litert."""
import struct

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from common import EXTERNAL, damaged, digest, dtype, packed
from common import none_is_known as known
from common import whole as split

SUFFIX = ".tflite"
# Types that the interpreter returns as bytes or as larger ones.
BY_NUMBER = {17: ("int4", 4), 19: ("int2", 2), 20: ("uint4", 4), 21: ("f8_e4m3fn", 8), 22: ("f8_e5m2", 8)}
BF16 = 18


def texts(array):
    """The texts as they are stored."""
    all_texts = [bytes(text) for text in array.reshape(-1).tolist()]
    places = [4 * len(all_texts) + 8]
    for text in all_texts:
        places.append(places[-1] + len(text))
    return struct.pack(f"<i{len(places)}i", len(all_texts), *places) + b"".join(all_texts)


def of_tensor(tensor, details, array):
    shape = [int(length) for length in details["shape"]]
    name = (tensor.Name() or b"").decode()  # in `details` it ends at a NUL
    if array.dtype == object:
        return name, "tflite.string", shape, None, digest(texts(array))
    kind, bits = BY_NUMBER.get(tensor.Type(), (dtype(str(array.dtype)), 8))
    data = packed(array.tobytes(), bits) if bits < 8 else array.tobytes()
    if details["sparsity_parameters"]:
        return name, "tflite.sparse", shape, None, digest(data)
    return name, kind, shape, None, digest(data)


def read(data):
    interpreter = Interpreter(model_content=data)
    model = schema.Model.GetRootAs(data, 0)
    tensors = []
    for subgraph in range(interpreter.num_subgraphs()):
        all_details = interpreter.get_tensor_details(subgraph)
        all_tensors = [model.Subgraphs(subgraph).Tensors(i) for i in range(model.Subgraphs(subgraph).TensorsLength())]
        listed = {details["index"] for details in all_details}
        if any(i not in listed and tensor.Type() != BF16 for i, tensor in enumerate(all_tensors)):
            raise ValueError("a tensor without details")
        for details in all_details:
            tensor = all_tensors[details["index"]]
            try:
                array = interpreter.get_tensor(details["index"], subgraph)
            except ValueError as error:
                if "Tensor data is null" not in str(error):
                    raise
                continue  # an activation, or in another file
            if array.size > 0 or array.dtype == object:
                tensors.append(of_tensor(tensor, details, array))
    return tensors


def is_compared(tensor):
    """The interpreter has no bytes of tensors in other files, and lists no tensors of bf16."""
    return tensor[4] != EXTERNAL and tensor[1] != "bf16"
