//! The only two conversions of the crate between file numbers (`u64`) and memory sizes (`usize`). Also 64-bit products
//! and quotients, whose code is long on a 32-bit chip and therefore exists once.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

/// Converts a file number to a memory size; `None` if this machine's `usize` cannot hold it.
pub(crate) fn to_usize(n: u64) -> Option<usize> {
    usize::try_from(n).ok()
}

/// Converts a memory size to a file number. Lossless: no target has a `usize` wider than 64 bits.
#[allow(clippy::as_conversions)]
pub(crate) const fn to_u64(n: usize) -> u64 {
    n as u64
}

/// Returns the product of two file numbers; `None` if it exceeds 64 bits, or if `a` is `None`.
#[cfg_attr(small, inline(never))]
pub(crate) fn product(a: Option<u64>, b: u64) -> Option<u64> {
    #[cfg(not(small))]
    return a?.checked_mul(b);
    #[cfg(small)]
    {
        let mut product = Product::of(a?);
        product.multiply(b);
        product.total()
    }
}

/// Returns a product as [`product`] does, for a loop of many: on chips, 24 instructions less for 64 bytes of flash.
#[cfg(feature = "b2nd")]
#[cfg_attr(small, inline(never))]
pub(crate) fn quick_product(a: Option<u64>, b: u64) -> Option<u64> {
    #[cfg(not(small))]
    return product(a, b);
    #[cfg(small)]
    {
        let (product, is_over) = product_of_words(a?, b);
        if is_over { None } else { Some(product) }
    }
}

/// A running product of file numbers, such as the lengths of dimensions. If one of them is 0, so is the product, even if
/// the others exceed 64 bits.
///
/// Chips change it in place: a 64-bit number that may be missing is returned through memory, which takes more code.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    value: u64,
    /// True if the product exceeds 64 bits.
    is_over: bool,
}

impl Product {
    /// The element count of a scalar.
    pub(crate) const ONE: Self = Self::of(1);

    pub(crate) const fn of(number: u64) -> Self {
        Self { value: number, is_over: false }
    }

    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))] // a single copy: the code is long there
    pub(crate) fn multiply(&mut self, number: u64) {
        #[cfg(not(small))]
        let (value, is_over) = self.value.overflowing_mul(number);
        #[cfg(small)]
        let (value, is_over) = product_of_words(self.value, number);
        *self = Self { value, is_over: (self.is_over | is_over) & (number != 0) };
    }

    #[cfg(feature = "write")]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn multiply_all(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.multiply(*number));
    }

    /// Makes a number of elements of `bits` bits, at most 2^28, the number of bytes that they take, rounded up.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn scale_to_bytes(&mut self, bits: u32) {
        // Eight elements take as many bytes as one element has bits.
        let [low, ..] = self.value.to_le_bytes();
        let rest = u32::from(low & 7).wrapping_mul(bits).wrapping_add(7) >> 3;
        self.value >>= 3;
        self.multiply(bits.into());
        let (value, is_over) = self.value.overflowing_add(rest.into());
        *self = Self { value, is_over: self.is_over || is_over };
    }

    /// Returns the product; `None` beyond 64 bits.
    #[inline]
    pub(crate) const fn total(&self) -> Option<u64> {
        if self.is_over { None } else { Some(self.value) }
    }
}

/// Returns a product, or any number and true if it exceeds 64 bits, with two 32-bit multiplications.
#[cfg(any(test, small))]
#[inline]
const fn product_of_words(a: u64, b: u64) -> (u64, bool) {
    const LOW: u64 = 0xffff_ffff;
    let (short, long) = if a > LOW { (b, a) } else { (a, b) };
    let low = (long & LOW).wrapping_mul(short & LOW);
    let high = (long >> 32).wrapping_mul(short & LOW).wrapping_add(low >> 32);
    (high << 32 | low & LOW, (short | high) > LOW)
}

/// Returns the number of parts of `part` bytes that cover `length`, rounded up; 0 if `part` is 0.
pub(crate) fn count_of(length: u64, part: u64) -> u64 {
    let count = quotient(length, part);
    let is_whole = count.saturating_mul(part) == length;
    if is_whole || part == 0 { count } else { count.saturating_add(1) }
}

/// Returns the same as [`count_of`] for 32-bit numbers, which a chip divides with one instruction.
pub(crate) fn short_count_of(length: u32, part: u32) -> u32 {
    NonZeroU32::new(part).map_or(0, |part| length.div_ceil(part.get()))
}

/// Returns `n / part`, rounded down; 0 if `part` is 0.
///
/// Most numbers fit in 32 bits, which a chip divides with one instruction. The compiler's own 64-bit division takes 536
/// bytes of flash.
#[inline(never)]
pub(crate) fn quotient(n: u64, part: u64) -> u64 {
    #[cfg(not(small))]
    return n.checked_div(part).unwrap_or(0);
    #[cfg(small)]
    quotient_of_words(n, part)
}

/// Computes [`quotient`] with 32-bit instructions only.
#[cfg(any(test, small))]
fn quotient_of_words(n: u64, part: u64) -> u64 {
    if let (Ok(n), Ok(part)) = (u32::try_from(n), u32::try_from(part)) {
        return u64::from(n.checked_div(part).unwrap_or(0));
    }
    // Long division, bit by bit.
    let (mut rest, mut quotient) = (0_u64, 0_u64);
    let mut digits = n;
    for _ in 0..u64::BITS {
        let is_over = rest.leading_zeros() == 0;
        rest = rest << 1 | digits >> 63;
        digits <<= 1;
        quotient <<= 1;
        if part > 0 && (is_over || rest >= part) {
            rest = rest.wrapping_sub(part);
            quotient |= 1;
        }
    }
    quotient
}

/// Returns `n % part`; `n` if `part` is 0.
pub(crate) fn remainder(n: u64, part: u64) -> u64 {
    n.wrapping_sub(quotient(n, part).wrapping_mul(part))
}

/// Rounds `n` up to a multiple of `alignment`, which is a power of two; `None` beyond 64 bits.
#[cfg(feature = "gguf")]
#[cfg_attr(small, inline(never))]
pub(crate) fn align_up(n: u64, alignment: u32) -> Option<u64> {
    let mask = u64::from(alignment).wrapping_sub(1);
    Some(n.checked_add(mask)? & !mask)
}

/// Returns the number of bytes from `at` to the next multiple of `alignment`, a power of two.
#[cfg(feature = "write")]
pub(crate) const fn padding(at: u64, alignment: u64) -> u64 {
    at.wrapping_neg() & alignment.wrapping_sub(1)
}

/// Parses a decimal number without leading zeros at the front of `text`, and returns the number and the remaining
/// bytes. `None` beyond 64 bits.
#[inline(never)]
pub(crate) fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let [first @ b'0'..=b'9', rest @ ..] = text else { return None };
    let (mut number, mut rest) = (u64::from(first.wrapping_sub(b'0')), rest);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        if number == 0 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))?;
        rest = after;
    }
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::{
        count_of, decimal, product, product_of_words, quotient, quotient_of_words, remainder, short_count_of,
    };

    #[test]
    fn parts_that_cover_a_length() {
        for (length, part, count) in [
            (0, 0, 0),
            (7, 0, 0),
            (0, 7, 0),
            (1, 7, 1),
            (6, 7, 1),
            (7, 7, 1),
            (8, 7, 2),
            (14, 7, 2),
            (u32::MAX, 1, u32::MAX),
            (u32::MAX, 2, 1 << 31),
            (u32::MAX, u32::MAX, 1),
        ] {
            assert_eq!(short_count_of(length, part), count, "{length} by {part}");
            assert_eq!(count_of(length.into(), part.into()), u64::from(count), "{length} by {part}");
        }
        assert_eq!(count_of(u64::MAX, 2), 1 << 63);
        assert_eq!((count_of(u64::MAX, 1), count_of(u64::MAX, u64::MAX)), (u64::MAX, 1));
        assert_eq!(product(Some(1 << 32), (1 << 32) - 1), Some(u64::MAX - u64::from(u32::MAX)));
        assert_eq!((product(Some(1 << 32), 1 << 32), product(None, 0)), (None, None));
    }

    #[test]
    fn decimal_numbers() {
        for (text, number) in [
            ("", None),
            ("-1", None),
            ("0", Some((0, ""))),
            ("00", None),
            ("01", None),
            ("0x", Some((0, "x"))),
            ("9,", Some((9, ","))),
            ("10/", Some((10, "/"))),
            ("190:", Some((190, ":"))),
            ("18446744073709551615", Some((u64::MAX, ""))),
            ("18446744073709551616", None),
            ("18446744073709551620", None),
            ("99999999999999999999", None),
        ] {
            let number = number.map(|(number, rest): (u64, &str)| (number, rest.as_bytes()));
            assert_eq!(decimal(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn quotients() {
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> (seed >> 58) // of all bit lengths
        };
        for _ in 0..100_000 {
            let (n, part) = (next(), next());
            let expected = n.checked_div(part).unwrap_or(0);
            assert_eq!((quotient(n, part), quotient_of_words(n, part)), (expected, expected), "{n} {part}");
            assert_eq!(remainder(n, part), n.checked_rem(part).unwrap_or(n), "{n} {part}");
            let (product, is_over) = product_of_words(n, part);
            assert_eq!((!is_over).then_some(product), n.checked_mul(part), "{n} {part}");
        }
        for (n, part) in [(u64::MAX, 1), (u64::MAX, u64::MAX), (u64::MAX, 1 << 63), (5, 0), (u64::MAX, 0), (0, 7)] {
            assert_eq!(quotient_of_words(n, part), n.checked_div(part).unwrap_or(0), "{n} {part}");
        }
    }
}
