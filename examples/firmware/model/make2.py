#!/usr/bin/env python3
"""Writes digits2.zt: the tensors of digits.safetensors, byte for byte as ztensor 2.1.2 writes them, at multiples of 4096.

    pip install ztensor==2.1.2 && python3 make2.py    (make.py needs 1.2.3)
"""
import json
import pathlib
import struct

import ztensor

HERE = pathlib.Path(__file__).resolve().parent


def main():
    data = (HERE / "digits.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    dtypes = {"F32": "f32", "U8": "u8"}
    with ztensor.Writer(str(HERE / "digits2.zt"), canonical=False, align=4096) as writer:
        for name, entry in sorted(json.loads(data[8:8 + size]).items()):
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            writer.add(name, data[begin:end], entry["shape"], dtypes[entry["dtype"]])


main()
