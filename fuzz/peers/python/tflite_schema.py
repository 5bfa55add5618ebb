import pathlib

from tflite import Model


def read(path):
    model = Model.GetRootAs(pathlib.Path(path).read_bytes(), 0)
    for i in range(model.SubgraphsLength()):
        subgraph = model.Subgraphs(i)
        for j in range(subgraph.TensorsLength()):
            tensor = subgraph.Tensors(j)
            tensor.Name()
            bytes(tensor.ShapeAsNumpy())
            data = model.Buffers(tensor.Buffer()).DataAsNumpy()
            if data is not None and not isinstance(data, int):  # 0 if there is none
                data.tobytes()
