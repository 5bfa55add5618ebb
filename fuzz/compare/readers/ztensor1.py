"""The package ztensor 1.2.3, which reads zTensor 1.2. It does not show the attributes of the file.

Another release of the package has the same name, so this one is in a folder: pip install --target FOLDER/ztensor1, and
PYTHONPATH=FOLDER.
"""
from common import all_are_compared as is_compared
from common import damaged, digest, dtype, none_is_known as known
from common import temporary
from common import whole as split
from ztensor1.ztensor import Reader

SUFFIX = ".zt"
LAYOUTS = {"dense": ("", ("data",)), "sparse_csr": ("csr ", ("values", "indices", "indptr")),
           "sparse_coo": ("coo ", ("values", "coords"))}


def of_tensor(file, name):
    about = file.metadata(name)
    layout, names = LAYOUTS[about.format]
    parts = [about.components[part] for part in names]
    kinds = " ".join(dtype(part["type"] or part["dtype"]) for part in parts)
    # Not `read`, which needs other packages for some types.
    data = b"".join(bytes(file._inner._read_component_raw(name, part)[0]) for part in names)
    return name, layout + kinds, list(about.shape), None, digest(data)


def read(data):
    with temporary(data, SUFFIX) as path, Reader(path) as file:
        return [of_tensor(file, name) for name in file.keys()]


def tensor_attributes(data):
    with temporary(data, SUFFIX) as path, Reader(path) as file:
        return {name: file.metadata(name).attributes or {} for name in file.keys()}
