"""The package safetensors: the tensors as bytes, and the metadata."""
from common import all_are_compared as is_compared
from common import damaged, digest, none_is_known as known
from common import temporary
from common import whole as split
from safetensors import deserialize, safe_open

SUFFIX = ".safetensors"
KINDS = {"F8_E4M3": "f8_e4m3fn", "F8_E5M2": "f8_e5m2", "F8_E4M3FNUZ": "f8_e4m3fnuz", "F8_E5M2FNUZ": "f8_e5m2fnuz",
         "F8_E8M0": "f8_e8m0", "F4": "f4_e2m1", "F6_E2M3": "f6_e2m3", "F6_E3M2": "f6_e3m2"}


def read(data):
    return [(name, KINDS.get(tensor["dtype"], tensor["dtype"].lower()), tensor["shape"], None, digest(tensor["data"]))
            for name, tensor in deserialize(data)]


def attributes(data):
    with temporary(data) as path, safe_open(path, "numpy") as file:
        return file.metadata() or {}
