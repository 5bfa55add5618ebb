from gguf import GGUFReader


def read(path):
    reader = GGUFReader(path)
    for field in reader.fields.values():
        field.contents()
    for tensor in reader.tensors:
        tensor.data.tobytes()
