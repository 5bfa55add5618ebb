//! Between file numbers (`u64`) and memory sizes (`usize`): the only two conversions of the crate. And what is long for a
//! chip of 32 bits, so that it stands there once: products and quotients of file numbers.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

/// A file number as a size in memory; `None` where this machine's memory cannot be that large.
pub(crate) fn to_usize(n: u64) -> Option<usize> {
    usize::try_from(n).ok()
}

/// A size in memory as a file number. Lossless: no target has a `usize` beyond 64 bits.
#[allow(clippy::as_conversions)]
pub(crate) const fn to_u64(n: usize) -> u64 {
    n as u64
}

/// The product of two file numbers; `None` beyond 64 bits, or where there is no first one.
#[inline(never)] // once: on 32-bit machines it is long
pub(crate) fn product(a: Option<u64>, b: u64) -> Option<u64> {
    a.and_then(|a| a.checked_mul(b))
}

/// How many parts of `part` it takes for `length`; 0 where the part is 0.
pub(crate) fn count_of(length: u64, part: u64) -> u64 {
    let count = quotient(length, part);
    let is_whole = count.saturating_mul(part) == length;
    if is_whole || part == 0 { count } else { count.saturating_add(1) }
}

/// The same for numbers that a chip divides by an instruction.
pub(crate) fn short_count_of(length: u32, part: u32) -> u32 {
    NonZeroU32::new(part).map_or(0, |part| length.div_ceil(part.get()))
}

/// How often `part` goes into `n`, without the rest; 0 where there is no part.
///
/// Most numbers have 32 bits, which a chip divides by an instruction; what a compiler brings along for 64 takes 536
/// bytes of it.
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) fn quotient(n: u64, part: u64) -> u64 {
    #[cfg(target_pointer_width = "64")]
    return n.checked_div(part).unwrap_or(0);
    #[cfg(not(target_pointer_width = "64"))]
    quotient_of_words(n, part)
}

/// The same by instructions for 32 bits.
#[cfg(any(test, not(target_pointer_width = "64")))]
fn quotient_of_words(n: u64, part: u64) -> u64 {
    if let (Ok(n), Ok(part)) = (u32::try_from(n), u32::try_from(part)) {
        return u64::from(n.checked_div(part).unwrap_or(0));
    }
    // Bit by bit, as it is done on paper.
    let (mut rest, mut quotient) = (0_u64, 0_u64);
    let mut digits = n;
    for _ in 0..u64::BITS {
        let is_over = rest.leading_zeros() == 0;
        rest = rest.wrapping_shl(1) | digits.wrapping_shr(63);
        digits = digits.wrapping_shl(1);
        quotient = quotient.wrapping_shl(1);
        if part > 0 && (is_over || rest >= part) {
            rest = rest.wrapping_sub(part);
            quotient |= 1;
        }
    }
    quotient
}

/// What is left of `n` when as many of `part` are taken away as there are; `n` where there is no part.
pub(crate) fn remainder(n: u64, part: u64) -> u64 {
    n.wrapping_sub(quotient(n, part).wrapping_mul(part))
}

#[cfg(test)]
mod tests {
    use super::{quotient, quotient_of_words, remainder};

    #[test]
    fn quotients() {
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> (seed >> 58) // of all lengths
        };
        for _ in 0..100_000 {
            let (n, part) = (next(), next());
            let expected = n.checked_div(part).unwrap_or(0);
            assert_eq!((quotient(n, part), quotient_of_words(n, part)), (expected, expected), "{n} {part}");
            assert_eq!(remainder(n, part), n.checked_rem(part).unwrap_or(n), "{n} {part}");
        }
        for (n, part) in [(u64::MAX, 1), (u64::MAX, u64::MAX), (u64::MAX, 1 << 63), (5, 0), (u64::MAX, 0), (0, 7)] {
            assert_eq!(quotient_of_words(n, part), n.checked_div(part).unwrap_or(0), "{n} {part}");
        }
    }
}
