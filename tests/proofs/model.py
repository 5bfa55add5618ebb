"""The arithmetic of the crate, as functions of numbers.

Each function takes Python's integers, to be compared with the Rust code, or numbers of z3, to be proven. A result that
may be missing is a pair: true if it exists, and the number. Integers have any size here, so whatever Rust wraps at 64
bits is wrapped by `wrap`.
"""

import z3

LIMIT = 1 << 64


def choose(condition, yes, no):
    return z3.If(condition, yes, no) if z3.is_expr(condition) else yes if condition else no


def both(*conditions):
    return z3.And(*conditions) if any(map(z3.is_expr, conditions)) else all(conditions)


def either(*conditions):
    return z3.Or(*conditions) if any(map(z3.is_expr, conditions)) else any(conditions)


def no(condition):
    return z3.Not(condition) if z3.is_expr(condition) else not condition


def wrap(n, limit=LIMIT):
    """Wraps an integer; bit-vectors wrap by themselves."""
    return n if z3.is_bv(n) else n % limit


def div(n, part):
    return n / part if z3.is_expr(n) else n // part


def shift_right(n, count):
    return z3.LShR(n, count) if z3.is_bv(n) else n >> count


def less(a, b):
    return z3.ULT(a, b) if z3.is_bv(a) or z3.is_bv(b) else a < b


# src/bytes/num.rs


def largest_product():
    """The largest product of two words."""
    return 0xFFFFFFFF**2


def product_of_words(a, b):
    """A product by two 32-bit multiplications. Each number is a pair of words: the high one and the low one."""
    is_long = a[0] > 0
    short = [choose(is_long, b[i], a[i]) for i in (0, 1)]
    long = [choose(is_long, a[i], b[i]) for i in (0, 1)]
    low = wrap(long[1] * short[1])
    high = wrap(wrap(long[0] * short[1]) + div(low, 1 << 32))
    is_over = either(short[0] > 0, high > 0xFFFFFFFF)
    return is_over, wrap(high * (1 << 32)) + low % (1 << 32)


def multiply(value, is_over, number):
    """The next state of `Product`: the value, and true if it exceeds 64 bits."""
    exact = value * number
    return wrap(exact), both(either(is_over, exact >= LIMIT), number != 0)


def scale_to_bytes(groups, rest, bits):
    """The bytes of 8 * groups + rest elements."""
    rest = div(wrap(rest * bits + 7, 1 << 32), 8)
    value, is_over = multiply(groups, False, bits)
    return no(either(is_over, value + rest >= LIMIT)), wrap(value + rest)


def division_step(rest, digit, part):
    """One step of the long division: the next rest, and the next digit of the quotient."""
    is_over = rest >= LIMIT // 2
    rest = wrap(rest * 2) + digit
    takes = both(part > 0, either(is_over, rest >= part))
    return choose(takes, wrap(rest - part), rest), choose(takes, 1, 0)


def remainder(n, part, quotient):
    return wrap(n - wrap(quotient * part))


def count_of(length, part, quotient):
    product = quotient * part
    is_whole = choose(product >= LIMIT, LIMIT - 1, product) == length
    return choose(either(is_whole, part == 0), quotient, choose(quotient + 1 >= LIMIT, quotient, quotient + 1))


def align_up(n, alignment):
    mask = alignment - 1
    total = wrap(n + mask)
    return no(less(total, n)), total & wrap(~mask)


def padding(at, alignment):
    return wrap(-at) & wrap(alignment - 1)


def decimal_step(number, digit):
    return both(number != 0, number * 10 + digit < LIMIT), wrap(number * 10 + digit)


# src/bytes/extent.rs


def end(offset, length):
    return no(less(wrap(offset + length), offset)), wrap(offset + length)


def is_within(offset, length, limit):
    available = wrap(limit - offset)
    return both(no(less(limit, offset)), no(less(available, length)))


def part(offset, length, start, available, usize):
    """The place in memory of an extent, where `usize` is the first number that a memory size cannot hold."""
    place = offset - start
    fits = both(place >= 0, place < usize, length < usize)
    return both(fits, place <= available, length <= available - place), place


# src/codec/strided.rs


def reach_step(reach, length, stride):
    step = choose(length > 0, length - 1, 0) * stride
    return both(step < LIMIT, reach + step < LIMIT), wrap(reach + step)


def strided_extent(reach, offset, size):
    length = (reach + 1) * size
    return both(offset * size < LIMIT, reach + 1 < LIMIT, length < LIMIT), wrap(offset * size), wrap(length)


def gather_step(at, index, length, stride):
    """The next place and index in a dimension, and true if the dimension starts again."""
    index = wrap(index + 1)
    is_next = index < length
    return choose(is_next, at + stride, at - stride * (index - 1)), choose(is_next, index, 0), no(is_next)


# src/format/pytorch/tensor.rs, src/format/gguf/info.rs


def packed_view_is_inside(count, packing, size):
    return less(shift_right(wrap(count - 1), packing), size)


def blocks(count, shift):
    return shift_right(count, shift)
