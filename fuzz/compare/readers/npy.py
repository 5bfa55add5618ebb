"""numpy.load of one array."""
import ast
import io

import numpy
from common import all_are_compared as is_compared
from common import damaged, digest, dtype, none_is_known as known
from common import whole as split

SUFFIX = ".npy"


def kind_of(found):
    """The name of a plain dtype, and the canonical description of any other."""
    if found.kind in "biufc" and found.isnative:
        return dtype("c64" if found.name == "complex64" else found.name)
    return f"items {numpy.lib.format.dtype_to_descr(found)!r}"


def items(descr):
    return kind_of(numpy.lib.format.descr_to_dtype(ast.literal_eval(descr)))


def of_array(name, array):
    if not array.flags.c_contiguous:
        raise ValueError("not in C order")
    return name, kind_of(array.dtype), list(array.shape), None, digest(array.tobytes())


def read(data):
    return [of_array("", numpy.load(io.BytesIO(data)))]
