//! CBOR, written piece by piece: always the shortest form (RFC 8949, 4.2.1).
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor2")]
use core::cmp::Ordering;

use crate::bytes::num::to_u64;
#[cfg(feature = "ztensor2")]
use crate::error::{ErrorKind, origin::Part};
#[cfg(feature = "ztensor2")]
use crate::write::declaration::{Checked, Refusal, check_value};
use crate::write::declaration::{MAX_DEPTH, NewValue, Value, walk};
use crate::write::out::Out;

/// The major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;
const SIMPLE: u8 = 7;

/// Writes a major type and a number in the fewest bytes.
fn head(major: u8, number: u64, out: &mut Out<'_>) {
    // The low bits of the first byte, and the number of bytes that follow.
    let (low, count) = match number {
        0..24 => (number, 0_u32),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    let [low, ..] = low.to_le_bytes();
    let unused = 64_u32.wrapping_sub(count << 3);
    let [b0, b1, b2, b3, b4, b5, b6, b7] = number.wrapping_shl(unused).to_be_bytes();
    let bytes = [major << 5 | low, b0, b1, b2, b3, b4, b5, b6, b7];
    let length = usize::try_from(count).unwrap_or_default();
    out.bytes(bytes.get(..=length).unwrap_or_default());
}

/// Writes the start of a map with `pairs` pairs.
pub(crate) fn map(pairs: usize, out: &mut Out<'_>) {
    head(MAP, to_u64(pairs), out);
}

/// Writes the start of a list with `items` items.
pub(crate) fn list(items: usize, out: &mut Out<'_>) {
    head(LIST, to_u64(items), out);
}

/// Writes a text string.
pub(crate) fn text(text: &str, out: &mut Out<'_>) {
    word(text.as_bytes(), out);
}

/// Writes a text string, whose bytes are UTF-8.
#[cfg_attr(small, inline(never))]
pub(crate) fn word(text: &[u8], out: &mut Out<'_>) {
    head(TEXT, to_u64(text.len()), out);
    out.bytes(text);
}

/// Writes the start of a text string of `length` bytes, which follow.
pub(crate) fn text_of_length(length: usize, out: &mut Out<'_>) {
    head(TEXT, to_u64(length), out);
}

/// Writes an integer that is not negative.
pub(crate) fn number(number: u64, out: &mut Out<'_>) {
    head(UNSIGNED, number, out);
}

/// Fails if a value at depth `depth` cannot be written in the deterministic encoding: as [`check_value`], and if the
/// keys of a map are not texts in the order of their encoded bytes.
#[cfg(feature = "ztensor2")]
pub(crate) fn check_strict(value: &dyn Value, depth: usize) -> Checked {
    check_value(value)?;
    let most = MAX_DEPTH.saturating_sub(depth);
    let mut checked = Ok(());
    walk::<MAX_DEPTH>(value, |value, depth| {
        checked = checked.and_then(|()| match value.get()? {
            _ if depth > most => Err(Refusal::new(ErrorKind::TooDeep, Part::Value)),
            NewValue::Map(_) => check_keys(value),
            _ => Ok(()),
        });
    });
    checked
}

/// Fails if the keys of a map are not texts in the order of their encoded bytes.
#[cfg(feature = "ztensor2")]
fn check_keys(map: &dyn Value) -> Checked {
    let mut last = None;
    for key in (0..).step_by(2).map_while(|index| map.inner(index)) {
        let NewValue::Text(key) = key.get()? else { return Err(Refusal::not_in_format(Part::Value)) };
        if last.is_some_and(|last| key_order(last, key).is_ge()) {
            return Err(Refusal::new(ErrorKind::KeyOrder, Part::Value));
        }
        last = Some(key);
    }
    Ok(())
}

/// The order of two texts as keys of the deterministic encoding: by length, then by their bytes.
#[cfg(feature = "ztensor2")]
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    super::strict::key_order(a.as_bytes(), b.as_bytes())
}

/// Writes a value and the values in it.
pub(crate) fn value(value: &dyn Value, out: &mut Out<'_>) {
    walk::<MAX_DEPTH>(value, |value, _| single(value, out));
}

/// Writes a value, or the start of a list or a map.
fn single(value: &dyn Value, out: &mut Out<'_>) {
    let Ok(contents) = value.get() else { return }; // checked before
    match contents {
        NewValue::Null => head(SIMPLE, 22, out),
        NewValue::Bool(is_true) => head(SIMPLE, if is_true { 21 } else { 20 }, out),
        NewValue::F32(number) => float(number.into(), out),
        NewValue::F64(number) => float(number, out),
        NewValue::Text(string) => text(string, out),
        NewValue::Bytes(bytes) | NewValue::TextBytes(bytes) => {
            head(BYTES, to_u64(bytes.len()), out);
            out.bytes(bytes);
        }
        NewValue::List(_) => head(LIST, to_u64(value.count()), out),
        NewValue::Map(_) => head(MAP, to_u64(value.count()) >> 1, out),
        _ => {
            let integer = contents.integer().unwrap_or_default();
            match u64::try_from(integer) {
                Ok(number) => head(UNSIGNED, number, out),
                Err(_) => head(NEGATIVE, u64::try_from(!integer).unwrap_or_default(), out),
            }
        }
    }
}

/// Writes a floating-point number in the shortest form that keeps its value; every NaN as the same.
fn float(number: f64, out: &mut Out<'_>) {
    #[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // checked by the comparison
    let short = number as f32;
    if number.is_nan() {
        out.bytes(&[SIMPLE << 5 | 25, 0x7e, 0]);
    } else if f64::from(short).to_bits() != number.to_bits() {
        out.bytes(&[SIMPLE << 5 | 27]);
        out.bytes(&number.to_be_bytes());
    } else if let Some(half) = exact_half(short) {
        out.bytes(&[SIMPLE << 5 | 25]);
        out.bytes(&half.to_be_bytes());
    } else {
        out.bytes(&[SIMPLE << 5 | 26]);
        out.bytes(&short.to_be_bytes());
    }
}

/// Returns the bits of the binary16 number with the same value; `None` if there is none. Not for NaN.
fn exact_half(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let [low, high, ..] = (bits >> 16).to_le_bytes();
    let sign = u32::from(u16::from_le_bytes([low, high])) & 0x8000;
    let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    // The significand with its leading bit, and the number of bits that are dropped below normal numbers.
    let (half, dropped) = match exponent {
        0 => (0, fraction | u32::from(fraction != 0)),
        0xff => (0x7c00, fraction),
        103..=112 => {
            let shift = 126_u32.wrapping_sub(exponent);
            let significand = fraction | 0x80_0000;
            (significand >> shift, significand & 1_u32.wrapping_shl(shift).wrapping_sub(1))
        }
        113..=142 => (exponent.wrapping_sub(112) << 10 | fraction >> 13, fraction & 0x1fff),
        _ => return None,
    };
    if dropped == 0 { u16::try_from(sign | half).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::{exact_half, float};
    use crate::write::out::{Out, Position, SinkError};

    #[test]
    fn halves_keep_their_value() {
        for bits in 0..=u16::MAX {
            let half = half::f16::from_bits(bits);
            if !half.is_nan() {
                assert_eq!(exact_half(half.to_f32()), Some(bits));
                // A neighbour has no shorter form.
                let next = f32::from_bits(half.to_f32().to_bits() ^ 1);
                assert_eq!(exact_half(next), None, "{next}");
            }
        }
        for number in [65536.0, 2049.0 / 2.0_f32.powi(12), 1e-8, 3.0e38, 65504.1] {
            assert_eq!(exact_half(number), None, "{number}");
        }
    }

    #[test]
    fn floats_are_as_short_as_possible() {
        for (number, length) in
            [(0.0, 3), (-0.0, 3), (1.5, 3), (f64::NAN, 3), (f64::INFINITY, 3), (1e10, 5), (0.1, 9)]
        {
            let mut bytes = Vec::new();
            let mut sink = |_: u64, piece: &[u8]| {
                bytes.extend_from_slice(piece);
                Ok::<(), SinkError>(())
            };
            float(number, &mut Out::to(&mut sink, Position::default()));
            assert_eq!(bytes.len(), length, "{number}");
            let read: f64 = minicbor::decode(&bytes).unwrap_or_else(|_| match bytes.len() {
                3 => minicbor::decode::<f32>(&bytes).unwrap().into(),
                _ => std::panic!("{number}"),
            });
            assert!(read.to_bits() == number.to_bits() || number.is_nan() && read.is_nan(), "{number} {read}");
        }
    }
}
