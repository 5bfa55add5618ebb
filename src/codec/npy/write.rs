//! The head of a NumPy array, byte for byte as `np.save` writes it: the items begin at a multiple of the alignment.
#![forbid(unsafe_code)]

use super::{MAGIC, MAX_HEAD, Names, Reader};
use crate::bytes::num::remainder;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::write::declaration::{Checked, NewLayout, NewTensor, Refusal};
use crate::write::out::Out;

/// The alignment of the items that `np.save` writes.
pub(crate) const ALIGNMENT: u64 = 64;

/// The largest rank that NumPy reads.
const MAX_RANK: usize = 64;

/// The number of digits that `np.save` leaves room for in the first length, so that the array can grow in place.
const DIGITS: u64 = 21;

/// Fails if an array cannot hold a tensor.
pub(crate) fn check(tensor: &NewTensor<'_>) -> Checked {
    let size = match tensor.layout {
        NewLayout::Dense(dtype) => {
            dtype.numpy_name().ok_or(Refusal::not_in_format(Part::DType))?;
            dtype.byte_size()
        }
        NewLayout::Items { descr, size } => {
            check_items(descr, size)?;
            size
        }
        _ => return Err(Refusal::not_in_format(Part::Layout)),
    };
    // NumPy counts bytes in 63 bits, and multiplies the other lengths even if one is zero.
    let mut lengths = tensor.shape.iter().filter(|length| **length > 0);
    let bytes = lengths.try_fold(size.max(1), |bytes, length| bytes.checked_mul(*length));
    let is_short = bytes.is_some_and(|bytes| i64::try_from(bytes).is_ok());
    if tensor.shape.len() > MAX_RANK || !is_short {
        return Err(Refusal::not_in_format(Part::Shape));
    }
    if Out::length_of(|out| head(tensor, ALIGNMENT, out)) > MAX_HEAD {
        return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Header));
    }
    Ok(())
}

/// Fails if `descr` is not the type of items of `size` bytes.
fn check_items(descr: &str, size: u64) -> Checked {
    let refusal = |kind| Refusal::new(kind, Part::DType);
    let mut reader = Reader::new(descr.as_bytes(), is_latin_1(descr));
    let names = Names::before(&reader);
    let Some((items, text)) = reader.descr() else { return Err(refusal(reader.fault.0)) };
    let is_whole = text.len() == descr.len();
    if !is_whole || names.compared(text, 0, true).is_err() {
        return Err(refusal(ErrorKind::Malformed));
    }
    if items.size == size { Ok(()) } else { Err(refusal(ErrorKind::SizeMismatch)) }
}

/// Writes everything before the items, which then begin at a multiple of `alignment`.
pub(crate) fn head(tensor: &NewTensor<'_>, alignment: u64, out: &mut Out<'_>) {
    let length = Out::length_of(|out| dict(tensor, out)).saturating_add(1);
    // There is always a space, even if the header is aligned without one.
    let spaces = |before: u64| alignment.saturating_sub(remainder(length.saturating_add(before), alignment));
    let is_latin_1 = matches!(tensor.layout, NewLayout::Dense(_)) || is_latin_1(descr_of(tensor));
    let short = u16::try_from(length.saturating_add(spaces(10)));
    let (version, before) = match short {
        Ok(_) if is_latin_1 => (1, 10),
        _ if is_latin_1 => (2, 12),
        _ => (3, 12),
    };
    out.bytes(MAGIC);
    out.bytes(&[version, 0]);
    match short {
        Ok(length) if version == 1 => out.u16(length),
        _ => out.u32(u32::try_from(length.saturating_add(spaces(before))).unwrap_or(u32::MAX)),
    }
    dict(tensor, out);
    out.repeat(b' ', spaces(before));
    out.bytes(b"\n");
}

/// Writes the Python dict, and the spaces that `np.save` leaves for more digits.
fn dict(tensor: &NewTensor<'_>, out: &mut Out<'_>) {
    out.bytes(b"{'descr': ");
    match tensor.layout {
        NewLayout::Dense(dtype) => {
            out.bytes(if dtype.byte_size() == 1 { b"'|" } else { b"'<" });
            out.bytes(dtype.numpy_name().unwrap_or_default().as_bytes());
            out.bytes(b"'");
        }
        _ => text(descr_of(tensor), out),
    }
    out.bytes(b", 'fortran_order': False, 'shape': (");
    let mut separator: &[u8] = b"";
    for length in tensor.shape {
        out.bytes(separator);
        separator = b", ";
        out.decimal(*length);
    }
    out.bytes(if tensor.shape.len() == 1 { b",), }" } else { b"), }" });
    if let Some(length) = tensor.shape.first() {
        out.repeat(b' ', DIGITS.saturating_sub(Out::length_of(|out| out.decimal(*length))));
    }
}

/// Returns the type of the items as the caller spells it.
const fn descr_of<'a>(tensor: &NewTensor<'a>) -> &'a str {
    if let NewLayout::Items { descr, .. } = tensor.layout { descr } else { "" }
}

/// Returns whether a header before version 3.0 can hold the text.
fn is_latin_1(text: &str) -> bool {
    text.chars().all(|character| u8::try_from(character).is_ok())
}

/// Writes text: Latin-1 if possible, otherwise UTF-8.
fn text(text: &str, out: &mut Out<'_>) {
    if text.is_ascii() || !is_latin_1(text) {
        return out.bytes(text.as_bytes());
    }
    text.chars().filter_map(|character| u8::try_from(character).ok()).for_each(|byte| out.bytes(&[byte]));
}
