//! CBOR, written piece by piece: always the shortest form (RFC 8949, 4.2.1).
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor2")]
use core::cmp::Ordering;

use super::MAX_DEPTH;
use crate::bytes::num::to_u64;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::write::declaration::{Checked, NewValue, Refusal};
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
    let [b0, b1, b2, b3, b4, b5, b6, b7] = number.to_be_bytes();
    let first = |low: u8| major << 5 | low;
    match number {
        0..24 => out.bytes(&[first(b7)]),
        24..0x100 => out.bytes(&[first(24), b7]),
        0x100..0x1_0000 => out.bytes(&[first(25), b6, b7]),
        0x1_0000..0x1_0000_0000 => out.bytes(&[first(26), b4, b5, b6, b7]),
        _ => out.bytes(&[first(27), b0, b1, b2, b3, b4, b5, b6, b7]),
    }
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

/// Fails if a value cannot be written: values are nested too deeply in it, or a map has a key without a value.
pub(crate) fn check(value: &NewValue<'_>) -> Checked {
    check_each(value, MAX_DEPTH, |map| {
        let has_pairs = map.len() & 1 == 0;
        if has_pairs { Ok(()) } else { Err(Refusal::new(ErrorKind::InvalidArgument, Part::Value)) }
    })
}

/// Fails if a value at depth `depth` cannot be written in the deterministic encoding: as [`check`], and if the keys of
/// a map are not texts in the order of their encoded bytes.
#[cfg(feature = "ztensor2")]
pub(crate) fn check_strict(value: &NewValue<'_>, depth: usize) -> Checked {
    check(value)?;
    check_each(value, MAX_DEPTH.saturating_sub(depth), |map| {
        let mut last = None;
        for key in map.iter().step_by(2) {
            let NewValue::Text(key) = *key else { return Err(Refusal::not_in_format(Part::Value)) };
            if last.is_some_and(|last| key_order(last, key).is_ge()) {
                return Err(Refusal::new(ErrorKind::KeyOrder, Part::Value));
            }
            last = Some(key);
        }
        Ok(())
    })
}

/// The order of two texts as keys of the deterministic encoding: by length, then by their bytes.
#[cfg(feature = "ztensor2")]
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    super::strict::key_order(a.as_bytes(), b.as_bytes())
}

/// Fails if values are nested more than `most` levels deep in a value, or if `check_map` fails for a map in it.
fn check_each(value: &NewValue<'_>, most: usize, check_map: impl Fn(&[NewValue<'_>]) -> Checked) -> Checked {
    let mut checked = Ok(());
    walk(value, |value, depth| {
        let map = if let NewValue::Map(items) = value { *items } else { &[] };
        let deep = Err(Refusal::new(ErrorKind::TooDeep, Part::Value));
        checked = checked.and(if depth > most { deep } else { check_map(map) });
    });
    checked
}

/// Writes a value and the values in it.
pub(crate) fn value(value: &NewValue<'_>, out: &mut Out<'_>) {
    walk(value, |value, _| single(value, out));
}

/// Calls `visit` for a value and the values in it, in the order in which they are written, with the number of values
/// around each. Ends inside a value that [`check`] refuses, because it is nested too deeply.
fn walk<'a>(value: &NewValue<'a>, mut visit: impl FnMut(&NewValue<'a>, usize)) {
    visit(value, 0);
    let inner = |value: &NewValue<'a>| match value {
        NewValue::List(items) | NewValue::Map(items) => *items,
        _ => &[],
    };
    let mut levels = heapless::Vec::<&[NewValue<'a>], MAX_DEPTH>::new();
    let mut items = inner(value);
    loop {
        let Some((first, after)) = items.split_first() else {
            match levels.pop() {
                Some(outer) => items = outer,
                None => return,
            }
            continue;
        };
        visit(first, levels.len().saturating_add(1));
        items = after;
        let inside = inner(first);
        if !inside.is_empty() {
            if levels.push(items).is_err() {
                return;
            }
            items = inside;
        }
    }
}

/// Writes a value, or the start of a list or a map.
fn single(value: &NewValue<'_>, out: &mut Out<'_>) {
    match *value {
        NewValue::Null => head(SIMPLE, 22, out),
        NewValue::Bool(is_true) => head(SIMPLE, if is_true { 21 } else { 20 }, out),
        NewValue::F32(number) => float(number.into(), out),
        NewValue::F64(number) => float(number, out),
        NewValue::Text(string) => text(string, out),
        NewValue::Bytes(bytes) | NewValue::TextBytes(bytes) => {
            head(BYTES, to_u64(bytes.len()), out);
            out.bytes(bytes);
        }
        NewValue::List(items) => head(LIST, to_u64(items.len()), out),
        NewValue::Map(items) => head(MAP, to_u64(items.len()) >> 1, out),
        _ => {
            let integer = value.integer().unwrap_or_default();
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
