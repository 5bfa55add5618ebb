import onnx

from . import onnx_load


def read(path):
    for tensor in onnx_load.tensors(onnx.load(path).graph):
        onnx.checker.check_tensor(tensor)
    onnx_load.read(path)
