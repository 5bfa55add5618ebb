import blosc2


def read(path):
    opened = blosc2.open(path, mode="r")
    for name in opened.vlmeta:
        opened.vlmeta[name]
    bytes(opened[:])
