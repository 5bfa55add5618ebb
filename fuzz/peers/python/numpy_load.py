import numpy


def read(path):
    loaded = numpy.load(path, allow_pickle=False)
    if isinstance(loaded, numpy.ndarray):
        loaded.tobytes()
    else:
        for name in loaded.files:
            bytes(loaded[name])
