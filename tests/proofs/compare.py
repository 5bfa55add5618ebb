"""Compares the model with the Rust code: all pairs of 8-bit values, in five pairs of places in 64 bits."""

import struct
import subprocess

LIMIT = 1 << 64
PLACES = [lambda v: v, lambda v: v << 28, lambda v: v << 56, lambda v: v if v < 128 else LIMIT - 256 + v]
PAIRS = [(0, 0), (3, 3), (1, 1), (2, 3), (3, 0)]


def quotient(n, part):
    """The meaning of `quotient`. The proofs take it for exact; the steps of the long division are proven."""
    return n // part if part else 0


def product(m, *numbers):
    value, is_over = 1, False
    for number in numbers:
        value, is_over = m.multiply(value, is_over, number)
    return not is_over, value


def words(m, a, b):
    is_over, value = m.product_of_words(divmod(a, 1 << 32), divmod(b, 1 << 32))
    return not is_over, value


def strided(m, a, b):
    reach = 0
    for length, stride in ((max(a, 1), b), (2, a)):
        exists, reach = m.reach_step(reach, length, stride)
        if not exists:
            return False, 0, 0
    return m.strided_extent(reach, b, 4)


def is_within(m, a, b):
    all = 0
    for delta in (-1, 0, 1):
        all = all * 2 + m.is_within(a, b, (a + b + delta) % LIMIT)
    return True, all


def part(m, a, b):
    exists, place = m.part(a, b, 100, 200, LIMIT)
    return exists, place << 32 | b


def decimal(m, a, b):
    return m.decimal_step(a, b % 10)


def gather(m, a, b):
    lengths, strides = [1 + (a >> s & 3) for s in (0, 2, 4)], [b & 7, b >> 3 & 7, b >> 6]
    at, indices, hash = 0, [0, 0, 0], 0
    for _ in range(lengths[0] * lengths[1] * lengths[2]):
        hash = (hash * 31 + at % LIMIT) & 0xFFFFFFFF
        for i in (2, 1, 0):
            at, indices[i], restarts = m.gather_step(at, indices[i], lengths[i], strides[i])
            if not restarts:
                break
    return True, hash


def short(m, length, part):
    return m.count_of(length, part, quotient(length, part))


FUNCTIONS = {
    "product": words,
    "multiply": lambda m, a, b: product(m, a, b, a & b),
    "scale_to_bytes": lambda m, a, b: m.scale_to_bytes(*divmod(a, 8), b % (1 << 32) >> 4),
    "quotient": lambda m, a, b: (True, quotient(a, b)),
    "remainder": lambda m, a, b: (True, m.remainder(a, b, quotient(a, b))),
    "count_of": lambda m, a, b: (True, m.count_of(a, b, quotient(a, b))),
    "short_count_of": lambda m, a, b: (True, short(m, a % (1 << 32), b % (1 << 32))),
    "align_up": lambda m, a, b: m.align_up(a, 1 << (b & 31)),
    "padding": lambda m, a, b: (True, m.padding(a, 1 << (b & 63))),
    "decimal": decimal,
    "end": lambda m, a, b: m.end(a, b),
    "is_within": is_within,
    "part": part,
    "strided_offset": lambda m, a, b: strided(m, a, b)[:2],
    "strided_length": lambda m, a, b: strided(m, a, b)[::2],
    "gather": gather,
}


def arguments(function):
    for first, second in PAIRS[: 1 if function == "gather" else None]:
        seconds = [PLACES[second](b) for b in range(256)]
        for a in map(PLACES[first], range(256)):
            for b in seconds:
                yield a, b


def results(table, function):
    """Returns what Rust computes."""
    out = subprocess.run([table, function], check=True, capture_output=True).stdout
    return list(struct.iter_unpack("<?Q", out))


def differences(function, model, rust):
    """Compares a model with the results of Rust, up to the first difference. Returns the number of equal results, and
    the difference."""
    call, equal = FUNCTIONS[function], 0
    for (a, b), (exists, value) in zip(arguments(function), rust, strict=True):
        found = call(model, a, b)
        if bool(found[0]) != exists or (exists and found[1] != value):
            return equal, (a, b, (exists, value), found)
        equal += 1
    return equal, None
