#!/usr/bin/env python3
"""NPY files that are expensive to read: see README.md."""
import struct

import command


def npy(descr, shape, data=b"", extra=""):
    """An array of version 2.0."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}{extra}}}\n".encode()
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + data


def fields(size):
    """A record of `size` fields."""
    return npy("[" + "('x', '<f4'), " * size + "]", "(0,)")


def nested_fields(size):
    """`size` records nested to the largest depth."""
    deep = "[('a', " * 31 + "'<f4'" + ")]" * 31
    return npy("[" + f"('x', {deep}), " * size + "]", "(0,)")


def too_deep(size):
    """Records nested too deeply."""
    return npy("[('a', " * size, "(0,)")


def shapes_of_fields(size):
    """A field with a shape of many lengths of 1."""
    return npy("[('x', '<f4', (" + "1, " * size + "))]", "(0,)")


def shapes_of_nested_fields(size):
    """Nested records of one field each, with a long shape at each level."""
    ones = "(" + "1, " * size + ")"
    return npy("[('a', " * 31 + "'|u1'" + f", {ones})]" * 31, "(0,)")


def shape(size):
    """A shape of many lengths of 1."""
    return npy("'|u1'", "(" + "1, " * size + ")", b"x")


def shape_of_zeros(size):
    """A shape of large lengths, followed by a length of 0."""
    return npy("'|u1'", "(" + f"{(1 << 64) - 1}, " * size + "0)")


def space(size):
    """Space between all tokens."""
    gap = " " * size
    tokens = ["[", "(", "'a'", ",", "'<f4'", ",", "(", "1", ",", ")", ")", "]"]
    return npy(gap.join(tokens), f"({gap}0{gap},{gap})")


def long_name(size):
    """A field with a long name of escapes."""
    return npy("[('" + "\\x41" * size + "', '<f4')]", "(0,)")


def long_type(size):
    """An invalid type."""
    return npy("'" + "<" * size + "'", "(0,)")


def unclosed_string(size):
    """Unclosed quotes, in one name."""
    return npy("[('" + '"' * size, "(0,)")


def digits(size):
    """A length with more digits than fit 64 bits."""
    return npy("'|u1'", "(" + "1" * size + ",)")


def digits_of_a_string(size):
    """The length of a string type, with many digits."""
    return npy("'|S" + "9" * size + "'", "(0,)")


def empty_items(size):
    """The largest number of empty items that fits 64 bits."""
    return npy("'|S0'", f"({(1 << 63) - 1}, " + "1, " * size + ")")


def keys(size):
    """One key repeated `size` times."""
    return npy("'|u1'", "(0,)", extra=", 'shape': (0,)" * size)


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [
        fields,
        nested_fields,
        too_deep,
        shapes_of_fields,
        shapes_of_nested_fields,
        shape,
        shape_of_zeros,
        space,
        long_name,
        long_type,
        unclosed_string,
        digits,
        digits_of_a_string,
        empty_items,
        keys,
    ]
}

if __name__ == "__main__":
    command.run(CASES)
