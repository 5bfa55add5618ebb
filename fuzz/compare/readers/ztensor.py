"""The package ztensor 2, which reads zTensor 2. It does not show the attributes of tensors."""
import ztensor
from common import all_are_compared as is_compared
from common import damaged, digest, dtype, none_is_known as known
from common import temporary
from common import whole as split

SUFFIX = ".zt"
SPARSE = {"zt.sparse_csr/1": ("csr", ("values", "indices", "indptr")), "zt.sparse_coo/1": ("coo", ("values", "coords"))}


def of_tensor(tensor):
    layout, names = SPARSE.get(tensor.layout, (None, ()))
    parts = [tensor[name] for name in names] or [tensor]
    kinds = " ".join(dtype(part.logical or part.dtype) for part in parts)
    kind = f"{layout} {kinds}" if layout else tensor.layout.removesuffix("/1") if "/" in tensor.layout else kinds
    return tensor.name, kind, list(tensor.shape), None, digest(b"".join(part.tobytes() for part in parts))


def read(data):
    with temporary(data, SUFFIX) as path, ztensor.open(path) as file:
        return [of_tensor(tensor) for tensor in file.values()]


def attributes(data):
    with temporary(data, SUFFIX) as path, ztensor.open(path) as file:
        return file.attributes or {}
