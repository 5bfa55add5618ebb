"""Proves that the arithmetic of the crate is right for all 64-bit numbers, and that its model is the Rust code.

    python proofs.py TABLE TABLE_SMALL     two builds of table.rs: the code of hosts, and the code of chips

Each theorem has a mutant: the same function of the model with one change. z3 must refute the mutant, and the comparison
with Rust must find a difference, where there is one to find.
"""

import inspect
import sys
import time
import types

import compare
import model
import z3
from model import LIMIT

SECONDS = 60  # for one theorem
WIDE = 136  # wide enough for exact sums and shifts of 64-bit numbers


def number(name, limit=LIMIT):
    """Any integer below a limit, and the condition for it."""
    n = z3.Int(name)
    return n, z3.And(n >= 0, n < limit)


def bits(name):
    return z3.BitVec(name, 64)


def wide(n):
    return z3.ZeroExt(WIDE - 64, n)


def product_of_words(f):
    words, known = zip(*(number(name, 1 << 32) for name in ("a1", "a0", "b1", "b0")))
    a1, a0, b1, b0 = words
    is_over, value = f((a1, a0), (b1, b0))
    exact = a1 * b1 * (1 << 64) + a1 * b0 * (1 << 32) + a0 * b1 * (1 << 32) + a0 * b0
    # The bounds of the four products, which the first theorem states.
    top = model.largest_product()
    known += tuple(bound for x in (a1, a0) for y in (b1, b0) for bound in (x * y >= 0, x * y <= top))
    known += ((a1 * b1 > 0) == z3.And(a1 > 0, b1 > 0),)
    return known, z3.And(is_over == (exact >= LIMIT), z3.Or(is_over, value == exact))


def largest_product(f):
    (x, x_known), (y, y_known) = number("x", 1 << 32), number("y", 1 << 32)
    return (x_known, y_known), z3.And(x * y >= 0, x * y <= f(), (x * y > 0) == z3.And(x > 0, y > 0))


def multiply(f):
    (value, v), (factor, n) = number("value"), number("number")
    exact, is_over = z3.Int("exact"), z3.Bool("is_over")
    state = z3.And(exact >= 0, is_over == (exact >= LIMIT), z3.Or(is_over, value == exact))
    after, is_over_after = f(value, is_over, factor)
    exact_after = exact * factor
    return (v, n, state), z3.And(
        is_over_after == (exact_after >= LIMIT), z3.Or(is_over_after, after == exact_after)
    )


def scale_to_bytes(f):
    (groups, g), (rest, r), (size, s) = number("groups", LIMIT // 8), number("rest", 8), number("bits", (1 << 28) + 1)
    exists, value = f(groups, rest, size)
    bits_of_rest = z3.Sum([z3.If(rest > i, size, 0) for i in range(7)])  # rest * size
    exact = groups * size + (bits_of_rest + 7) / 8
    return (g, r, s, groups * size >= 0, rest * size == bits_of_rest), z3.And(
        exists == (exact < LIMIT), z3.Implies(exists, value == exact)
    )


def division_step(f):
    """After each digit: the digits so far are quotient * part + rest, with rest < part."""
    (part, p), (rest, r), (digit, d) = number("part"), number("rest"), number("digit", 2)
    after, quotient_digit = f(rest, digit, part)
    taken = z3.If(quotient_digit == 1, part, 0)
    return (p, r, d, rest < part), z3.And(after + taken == 2 * rest + digit, after >= 0, after < part)


def remainder(f):
    (n, known), (part, p), (quotient, q), (rest, r) = number("n"), number("part"), number("quotient"), number("rest")
    return (known, p, q, r, n == quotient * part + rest, z3.If(part == 0, quotient == 0, rest < part)), f(
        n, part, quotient
    ) == rest


def count_of(f):
    (length, n), (part, p), (quotient, q), (rest, r) = number("n"), number("part"), number("quotient"), number("rest")
    product = z3.Int("product")
    covered = product + z3.If(rest > 0, part, 0)
    count = f(length, part, quotient)
    known = (n, p, q, r, part > 0, rest < part, product == quotient * part, length == product + rest)
    # The parts cover the length, and without the last one they do not.
    return known, z3.And(
        count == quotient + z3.If(rest > 0, 1, 0), covered >= length, z3.Or(length == 0, covered - part < length)
    )


def align_up(f):
    n, shift = bits("n"), bits("shift")
    alignment = z3.BitVecVal(1, 64) << shift
    exists, value = f(n, alignment)
    distance = wide(value) - wide(n)
    top = wide(n) + wide(alignment) - 1
    return (z3.ULT(shift, 32),), z3.And(
        # The multiple at or after n exceeds 64 bits exactly if it is 2^64.
        exists == z3.ULT(top & ~(wide(alignment) - 1), z3.BitVecVal(LIMIT, WIDE)),
        z3.Implies(exists, z3.And(value & (alignment - 1) == 0, z3.ULE(n, value), z3.ULT(distance, wide(alignment)))),
    )


def padding(f):
    at, shift = bits("at"), bits("shift")
    alignment = z3.BitVecVal(1, 64) << shift
    count = f(at, alignment)
    return (z3.ULT(shift, 64),), z3.And(
        z3.ULT(count, alignment), (wide(at) + wide(count)) & (wide(alignment) - 1) == 0
    )


def decimal_step(f):
    (before, b), (digit, d) = number("number"), number("digit", 10)
    exists, value = f(before, digit)
    exact = before * 10 + digit
    return (b, d), z3.And(exists == z3.And(before > 0, exact < LIMIT), z3.Implies(exists, value == exact))


def end(f):
    offset, length = bits("offset"), bits("length")
    exists, value = f(offset, length)
    exact = wide(offset) + wide(length)
    return (), z3.And(
        exists == z3.ULT(exact, z3.BitVecVal(LIMIT, WIDE)), z3.Implies(exists, wide(value) == exact)
    )


def is_within(f):
    offset, length, limit, byte = (bits(name) for name in ("offset", "length", "limit", "byte"))
    inside = f(offset, length, limit)
    exact = wide(offset) + wide(length)
    is_in_extent = z3.And(z3.ULE(offset, byte), z3.ULT(wide(byte), exact))
    return (), z3.And(
        inside == z3.ULE(exact, wide(limit)), z3.Implies(z3.And(inside, is_in_extent), z3.ULT(byte, limit))
    )


def part_of(usize):
    def part(f):
        names = ("offset", "length", "start")
        (offset, o), (length, n), (start, s) = (number(name) for name in names)
        available, a = number("available", usize)
        exists, place = f(offset, length, start, available, usize)
        inside = z3.And(offset >= start, offset + length <= start + available)
        return (o, n, s, a), z3.And(exists == inside, z3.Implies(exists, place == offset - start))

    return part


def reach_step(f):
    """`reach` is the largest distance of an element from the first one. `at` is the distance of any element."""
    (reach, r), (length, n), (stride, s) = number("reach"), number("length"), number("stride")
    at, index, last = z3.Int("at"), z3.Int("index"), z3.Int("last")
    exists, after = f(reach, length, stride)
    element = z3.And(0 <= at, at <= reach, 0 <= index, index < length)
    known = (r, n, s, length > 0, last == (length - 1) * stride)
    return known, z3.And(
        exists == (reach + last < LIMIT),
        z3.Implies(exists, after == reach + last),  # the last element, which exists
        z3.Implies(z3.And(exists, element, (length - 1 - index) * stride >= 0), at + index * stride <= after),
    )


def strided_extent(f):
    """The checked extent is inside the storage exactly if the last element is. Sizes are 1 to 128, powers of two."""
    (reach, r), (offset, o), (storage, s) = number("reach"), number("offset"), number("storage")
    claims = []
    for size in (1 << shift for shift in range(8)):
        exists, start, length = f(reach, offset, size)
        is_inside = z3.And(exists, start + length <= storage)  # as `is_within` decides
        claims.append(is_inside == ((offset + reach) * size + size <= storage))
    return (r, o, s), z3.And(claims)


def gather_step(f):
    """The place is the sum of index * stride over all dimensions; `others` is the sum of the other dimensions."""
    (index, i), (length, n), (stride, s) = number("index"), number("length"), number("stride")
    others = z3.Int("others")
    at, after, restarts = f(others + index * stride, index, length, stride)
    return (i, n, s, index < length), z3.And(
        at == others + after * stride, restarts == (index + 1 == length), after == z3.If(restarts, 0, index + 1)
    )


def packed_view_is_inside(f):
    """Rows of packed elements begin at whole bytes, so all elements take the bytes that they take without gaps."""
    count, size = bits("count"), bits("size")
    claims = []
    for packing in (1, 2):
        taken = z3.LShR(wide(count) + (1 << packing) - 1, packing)
        claims.append(f(count, packing, size) == z3.ULE(taken, wide(size)))
    return (count != 0,), z3.And(claims)


def blocks(f):
    """If the innermost dimension is whole blocks, so is the tensor: no element is lost in the division."""
    innermost, others, shift = bits("innermost"), bits("others"), bits("shift")
    count = innermost * others
    is_whole = innermost & ((z3.BitVecVal(1, 64) << shift) - 1) == 0
    return (is_whole, z3.Or(shift == 5, shift == 8), z3.BVMulNoOverflow(innermost, others, False)), f(
        count, shift
    ) << shift == count


# Theorem, function of the model, what it says, the mutant, and the Rust function to compare the mutant with.
THEOREMS = [
    (largest_product, "largest_product", "a product of two words is at most (2^32 - 1)^2",
     ("0xFFFFFFFF**2", "0xFFFFFFFF**2 - 1"), None),
    (product_of_words, "product_of_words", "two 32-bit multiplications give the product; over exactly beyond 64 bits",
     ("high > 0xFFFFFFFF", "high > 0x1FFFFFFFF"), "product"),
    (multiply, "multiply", "a shape of any rank: over exactly if the product exceeds 64 bits; a length of 0 gives 0",
     ("both(either(is_over, exact >= LIMIT), number != 0)", "either(is_over, exact >= LIMIT)"), "multiply"),
    (scale_to_bytes, "scale_to_bytes", "ceil(count * bits / 8) for all bits up to 2^28; None exactly beyond 64 bits",
     ("bits + 7", "bits + 6"), "scale_to_bytes"),
    (division_step, "division_step", "a step of the long division keeps quotient * part + rest, and rest < part",
     ("rest >= part", "rest > part"), None),
    (remainder, "remainder", "n - quotient * part is the rest; n if part is 0",
     ("n - wrap", "n + wrap"), "remainder"),
    (count_of, "count_of", "the parts cover the length, and one less would not",
     ("product >= LIMIT, LIMIT - 1, product) == length", "product >= LIMIT, LIMIT - 1, product) + 1 == length"),
     "count_of"),
    (align_up, "align_up", "the next multiple; None exactly if it exceeds 64 bits",
     ("mask = alignment - 1", "mask = alignment"), "align_up"),
    (padding, "padding", "the fewest bytes up to a multiple",
     ("wrap(-at)", "wrap(~at)"), "padding"),
    (decimal_step, "decimal_step", "the next digit; None exactly beyond 64 bits, and after a leading 0",
     ("number != 0, ", ""), "decimal"),
    (end, "end", "offset + length; None exactly beyond 64 bits",
     ("no(less(wrap(offset + length), offset))", "less(offset, wrap(offset + length))"), "end"),
    (is_within, "is_within", "exactly if offset + length <= limit; then every byte is below the limit",
     ("no(less(available, length))", "less(length, available)"), "is_within"),
    (part_of(1 << 64), "part", "the bytes of an extent in memory, with 64-bit sizes",
     ("length <= available - place", "length <= available"), "part"),
    (part_of(1 << 32), "part", "the bytes of an extent in memory, with 32-bit sizes",
     ("place >= 0", "place >= -1"), "part"),
    (reach_step, "reach_step", "no element of a view is after the reach, and one is there, for any rank",
     ("length - 1, 0", "length - 2, 0"), "strided_length"),
    (strided_extent, "strided_extent", "the extent of a view is inside the storage exactly if the last element is",
     ("length = (reach + 1) * size", "length = reach * size"), "strided_length"),
    (gather_step, "gather_step", "the place in a view is the sum of index * stride",
     ("stride * (index - 1)", "stride * index"), "gather"),
    (packed_view_is_inside, "packed_view_is_inside", "a packed view is inside exactly if its bytes are",
     ("count - 1", "count"), None),
    (blocks, "blocks", "no element is lost if the innermost dimension is whole blocks",
     ("shift_right(count, shift)", "shift_right(count, shift) + 1"), None),
]  # fmt: skip


def prove(theorem, function):
    known, conclusion = theorem(function)
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*known, z3.Not(conclusion))
    return solver


def mutated(name, old, new):
    """Returns the model with one change in one function."""
    source = inspect.getsource(getattr(model, name))
    assert source.count(old) == 1, f"{name}: {source.count(old)} times {old}"
    changed = types.SimpleNamespace(**vars(model))
    scope = dict(vars(model))
    exec(source.replace(old, new), scope)
    setattr(changed, name, scope[name])
    return changed


def main():
    tables, failures, start = sys.argv[1:], [], time.monotonic()
    rust = {}
    for table in tables:
        compared = 0
        for function in compare.FUNCTIONS:
            rust[function] = compare.results(table, function)
            equal, difference = compare.differences(function, model, rust[function])
            compared += equal
            if difference:
                failures.append(f"{function}: a, b, Rust's result and the model's: {difference}")
        print(f"{compared} results of {len(compare.FUNCTIONS)} functions are the same in {table} and in the model")
    for theorem, name, says, mutant, compared in THEOREMS:
        begun = time.monotonic()
        solver = prove(theorem, getattr(model, name))
        verdict = solver.check()
        words = "proven" if verdict == z3.unsat else f"NOT PROVEN: {verdict}"
        if verdict != z3.unsat:
            failures.append(f"{name}: {verdict} {solver.model() if verdict == z3.sat else solver.reason_unknown()}")
        changed = mutated(name, *mutant)
        refuted = prove(theorem, getattr(changed, name)).check()
        words += ", mutant refuted" if refuted == z3.sat else f", MUTANT NOT REFUTED: {refuted}"
        if refuted != z3.sat:
            failures.append(f"{name}: the mutant {mutant} is not refuted: {refuted}")
        if compared and compare.differences(compared, changed, rust[compared])[1]:
            words += " and unlike Rust"
        elif compared:
            failures.append(f"{name}: the comparison with Rust does not find the mutant {mutant}")
        print(f"{name}: {says}: {words} ({time.monotonic() - begun:.1f} s)", flush=True)
    print(f"{len(THEOREMS)} theorems for all 64-bit numbers, {time.monotonic() - start:.0f} s")
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
