"""The package ztensor, which reads zTensor 1.2 and 2. It does not show the attributes of tensors."""
import ztensor
from common import all_are_compared as is_compared
from common import damaged, digest, none_is_known as known
from common import temporary
from common import whole as split

SUFFIX = ".zt"
PARTS = {"dense": ["data"], "sparse_csr": ["values", "indices", "indptr"], "sparse_coo": ["values", "coords"]}


def kind_of(part):
    return part.logical or part.dtype


def of_tensor(tensor):
    names = PARTS.get(tensor.layout, ["data"])
    parts = [tensor[name] for name in names]
    kinds = " ".join(map(kind_of, parts))
    kind = {"dense": kinds, "sparse_csr": f"csr {kinds}", "sparse_coo": f"coo {kinds}"}.get(tensor.layout, tensor.layout)
    return tensor.name, kind, list(tensor.shape), None, digest(b"".join(part.tobytes() for part in parts))


def read(data):
    with temporary(data, SUFFIX) as path, ztensor.open(path) as file:
        return [of_tensor(tensor) for tensor in file.values()]


def attributes(data):
    with temporary(data, SUFFIX) as path, ztensor.open(path) as file:
        return file.attributes or {}
