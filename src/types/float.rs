//! Conversion of floating-point numbers of 16 bits and less to `f32`.
//!
//! Every value of these types is exactly an `f32`: nothing is rounded.
#![forbid(unsafe_code)]

/// Converts an IEEE binary16 number, given by its bits.
///
/// ```
/// assert_eq!(tenslice::float::f16_to_f32(0x3e00), 1.5);
/// ```
#[must_use]
pub fn f16_to_f32(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Converts a bfloat16 number, given by its bits: the upper half of the bits of an `f32`.
#[must_use]
pub const fn bf16_to_f32(bits: u16) -> f32 {
    #[allow(clippy::as_conversions)] // widens
    f32::from_bits((bits as u32) << 16)
}

/// Converts an 8-bit float with 4 exponent bits and 3 mantissa bits, with NaN but without infinities.
#[must_use]
pub fn f8_e4m3fn_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f { f32::NAN } else { widened(bits, 3, 7) }
}

/// Converts an 8-bit float with 5 exponent bits and 2 mantissa bits, with NaN and infinities.
#[must_use]
pub fn f8_e5m2_to_f32(bits: u8) -> f32 {
    // The bits are the upper half of a binary16 number.
    f16_to_f32(u16::from(bits) << 8)
}

/// Converts an 8-bit float with 4 exponent bits and 3 mantissa bits, one NaN, no infinities, no negative zero.
#[must_use]
pub fn f8_e4m3fnuz_to_f32(bits: u8) -> f32 {
    if bits == 0x80 { f32::NAN } else { widened(bits, 3, 8) }
}

/// Converts an 8-bit float with 5 exponent bits and 2 mantissa bits, one NaN, no infinities, no negative zero.
#[must_use]
pub fn f8_e5m2fnuz_to_f32(bits: u8) -> f32 {
    if bits == 0x80 { f32::NAN } else { widened(bits, 2, 16) }
}

/// Converts an 8-bit exponent to the power of two 2^(bits - 127); 255 is NaN.
#[must_use]
pub const fn f8_e8m0_to_f32(bits: u8) -> f32 {
    #[allow(clippy::as_conversions)] // widens
    match bits {
        0 => f32::from_bits(1 << 22), // 2^-127 is subnormal
        0xff => f32::NAN,
        exponent => f32::from_bits((exponent as u32) << 23),
    }
}

/// Converts a 4-bit float with 2 exponent bits and 1 mantissa bit, without NaN and infinities. Ignores the upper 4
/// bits.
#[must_use]
pub fn f4_e2m1_to_f32(bits: u8) -> f32 {
    widened(bits & 7 | (bits & 8) << 4, 1, 1)
}

/// Converts a 6-bit float with 2 exponent bits and 3 mantissa bits, without NaN and infinities. Ignores the upper 2
/// bits.
#[must_use]
pub fn f6_e2m3_to_f32(bits: u8) -> f32 {
    widened(bits & 0x1f | (bits & 0x20) << 2, 3, 1)
}

/// Converts a 6-bit float with 3 exponent bits and 2 mantissa bits, without NaN and infinities. Ignores the upper 2
/// bits.
#[must_use]
pub fn f6_e3m2_to_f32(bits: u8) -> f32 {
    widened(bits & 0x1f | (bits & 0x20) << 2, 2, 3)
}

/// Returns the value of a float with `mantissa_bits` mantissa bits and the exponent bias `bias`; the top bit is the
/// sign.
#[inline]
fn widened(bits: u8, mantissa_bits: u32, bias: u32) -> f32 {
    let magnitude = bits & 0x7f;
    let exponent = magnitude.wrapping_shr(mantissa_bits);
    let mantissa = magnitude & 1_u8.wrapping_shl(mantissa_bits).wrapping_sub(1);
    // If the exponent is 0, there is no leading bit, and the exponent counts as 1.
    let significand = if exponent == 0 { mantissa } else { mantissa | 1_u8.wrapping_shl(mantissa_bits) };
    let scale = u32::from(exponent.max(1)).wrapping_add(127).wrapping_sub(bias).wrapping_sub(mantissa_bits);
    let value = f32::from(significand) * f32::from_bits(scale << 23);
    if bits & 0x80 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// Computes the value from its definition, in `f64`.
    fn value(bits: u8, width: u32, mantissa_bits: u32, bias: i32) -> f64 {
        let (sign, magnitude) = (bits >> (width - 1), bits & ((1 << (width - 1)) - 1));
        let (exponent, mantissa) = (magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1));
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        let value = match exponent {
            0 => fraction * 2_f64.powi(1 - bias),
            exponent => (1.0 + fraction) * 2_f64.powi(i32::from(exponent) - bias),
        };
        if sign == 1 { -value } else { value }
    }

    #[test]
    fn every_value() {
        type Case = (fn(u8) -> f32, u32, u32, i32, fn(u8) -> Option<f32>);
        let infinite = |bits: u8| match bits {
            0x7c => Some(f32::INFINITY),
            0xfc => Some(f32::NEG_INFINITY),
            bits if bits & 0x7f > 0x7c => Some(f32::NAN),
            _ => None,
        };
        let cases: [Case; 7] = [
            (f8_e4m3fn_to_f32, 8, 3, 7, |bits| (bits & 0x7f == 0x7f).then_some(f32::NAN)),
            (f8_e5m2_to_f32, 8, 2, 15, infinite),
            (f8_e4m3fnuz_to_f32, 8, 3, 8, |bits| (bits == 0x80).then_some(f32::NAN)),
            (f8_e5m2fnuz_to_f32, 8, 2, 16, |bits| (bits == 0x80).then_some(f32::NAN)),
            (f4_e2m1_to_f32, 4, 1, 1, |_| None),
            (f6_e2m3_to_f32, 6, 3, 1, |_| None),
            (f6_e3m2_to_f32, 6, 2, 3, |_| None),
        ];
        for (convert, width, mantissa_bits, bias, special) in cases {
            for bits in 0..=u8::MAX >> (8 - width) {
                let expected = special(bits).unwrap_or(value(bits, width, mantissa_bits, bias) as f32);
                let found = convert(bits);
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{bits:#x} {found}"
                );
            }
        }
        for bits in 0..255_u8 {
            assert_eq!(f64::from(f8_e8m0_to_f32(bits)), 2_f64.powi(i32::from(bits) - 127));
        }
        assert!(f8_e8m0_to_f32(255).is_nan());
        assert_eq!((f4_e2m1_to_f32(7), f4_e2m1_to_f32(0xf), f6_e3m2_to_f32(0x1f)), (6.0, -6.0, 28.0));
        for bits in 0..=u16::MAX {
            assert_eq!(bf16_to_f32(bits).to_bits(), u32::from(bits) << 16);
            let value = f16_to_f32(bits);
            assert!(value.is_nan() || half::f16::from_f32(value).to_bits() == bits);
        }
    }
}
