from safetensors import safe_open


def read(path):
    with safe_open(path, framework="numpy") as file:
        file.metadata()
        for name in file.keys():
            file.get_tensor(name).tobytes()
