import onnx
from onnx import numpy_helper


def tensors(graph):
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            yield from attribute.tensors
            for graph_inside in [attribute.g, *attribute.graphs]:
                yield from tensors(graph_inside)


def read(path):
    for tensor in tensors(onnx.load(path).graph):
        numpy_helper.to_array(tensor).tobytes()
