//! The rule for floating-point numbers: each in the shortest form that keeps its value (RFC 8949 section 4.2.1).
#![forbid(unsafe_code)]

use super::{HALF, NAN, SINGLE};

/// True if the floating-point number with the head `head` has the same value in a narrower type, or is a NaN other than
/// the only allowed NaN.
#[cfg_attr(small, inline(never))]
pub(super) fn float_fits_in_less(head: u8, number: u64) -> bool {
    // The stored exponent, its largest value, and the fraction from the highest bit on. Then, for the narrower type:
    // the smallest exponent of a normal number, the largest exponent, and the number of fraction bits.
    let (exponent, infinite, fraction, least, largest, bits) = match head {
        HALF => return number & 0x7fff > 0x7c00 && number != NAN,
        SINGLE => (number >> 23 & 0xff, 0xff, number << 41, 113, 142, 10),
        _ => (number >> 52 & 0x7ff, 0x7ff, number << 12, 897, 1150, 23_u32),
    };
    if exponent == 0 {
        return fraction == 0; // a subnormal number is too small for the narrower type
    }
    // In a subnormal number, fewer bits are left for the fraction.
    let below = u32::try_from(exponent).map_or(0, |exponent| 0_u32.wrapping_add(least).saturating_sub(exponent));
    let kept = bits.checked_sub(below);
    exponent == infinite || exponent <= largest && kept.is_some_and(|kept| fraction.wrapping_shl(kept) == 0)
}
