#!/usr/bin/env python3
"""BLZ1 files that are expensive to read: see README.md."""
import array
import struct
import sys

import command


def train(lengths, bonds, value=0.001):
    """A train of equal numbers. `bonds` are the bonds between the cores."""
    bonds = [1, *bonds, 1]
    count = len(lengths)
    head = b"BLZ1\1\0" + bytes([count]) + bytes(8)
    head += struct.pack(f"<{count}Q", *lengths) + struct.pack(f"<{count + 1}Q", *bonds)
    numbers = sum(bonds[k] * lengths[k] * bonds[k + 1] for k in range(count))
    numbers = array.array("d", [value]) * numbers
    if sys.byteorder == "big":
        numbers.byteswap()
    return head + numbers.tobytes()


def tail_of_ones(size):
    """A long dimension before 240 of length 1: all elements share the product of the cores after the first."""
    return train([size] + [1] * 240, [16] * 240)


def ones_before(size):
    """A long dimension after 240 of length 1."""
    return train([1] * 240 + [size], [16] * 240)


def ones_between(size):
    """240 dimensions of length 1 between two long ones."""
    return train([size, *[1] * 240, 50], [8] * 241)


def ones_on_all_sides(size):
    """Three dimensions with 62 of length 1 before, between and after them."""
    run = [1] * 62
    return train([*run, size, *run, 6, *run, 6, *run], [8] * (4 * 62 + 2))


def wide_bond(size):
    """Two short dimensions with a long bond between them."""
    return train([2, 2], [size])


def wide_bond_among_narrow_ones(size):
    """One long bond among many of 1: scratch memory has the size of the longest."""
    return train([2] * 12, [1] * 5 + [size] + [1] * 5)


def long_dimension(size):
    """Only one dimension."""
    return train([size], [])


def bonds_of_one(size):
    """A long dimension among many of length 2, with all bonds 1."""
    return train([2, 2, 2, size, 2, 2, 2], [1] * 6)


def more_elements_than_numbers(size):
    """255 dimensions, 2^255 elements. The size is that of the bonds, at most 64."""
    return train([2] * 255, [min(size, 64)] * 254)


def subnormal_numbers(size):
    """Numbers below the normal range, whose products have to be scaled."""
    return train([size] + [1] * 100, [8] * 100, 5e-324)


def alternating_sizes(size):
    """Numbers of very different sizes."""
    one = train([size] + [1] * 100, [8] * 100, 1e300)
    at = len(one) - 8 * 64 * 50
    return one[:at] + struct.pack("<d", 1e-300) * (64 * 50)


CASES = {
    function.__name__.replace("_", "-"): function
    for function in [
        tail_of_ones,
        ones_before,
        ones_between,
        ones_on_all_sides,
        wide_bond,
        wide_bond_among_narrow_ones,
        long_dimension,
        bonds_of_one,
        more_elements_than_numbers,
        subnormal_numbers,
        alternating_sizes,
    ]
}

if __name__ == "__main__":
    command.run(CASES)
