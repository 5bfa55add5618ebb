//! The rules of the encoding, and the bytes that are missing, for error messages.
#![forbid(unsafe_code)]

#[cfg(all(not(target_os = "none"), feature = "tflite"))]
use super::Buffer;
#[cfg(all(not(target_os = "none"), feature = "tflite"))]
use crate::bytes::num::to_u64;
use crate::error::{Error, ErrorKind};

/// Returns the rule that a file breaks.
pub(crate) const fn rule(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::OutOfPlace => Some("an offset leads out of the flatbuffer, or a field out of its table"),
        ErrorKind::MisalignedOffset => {
            Some("a table or a vector is not at a multiple of 4, or a number not at one of its size")
        }
        ErrorKind::Malformed => {
            Some("a table and its vtable are not within the flatbuffer, or a text does not end with NUL")
        }
        ErrorKind::CountTooLarge => Some("a vector is longer than the flatbuffer"),
        _ => None,
    }
}

/// Returns the least length of a file that is a flatbuffer up to its end, if its bytes are too few for what is at an
/// error.
#[cfg(all(not(target_os = "none"), feature = "tflite"))]
pub(crate) fn needed(bytes: &[u8], error: &Error) -> Option<u64> {
    let buffer = Buffer::new(bytes, error.format());
    let (at, length) = (error.offset()?, to_u64(bytes.len()));
    let more = length.saturating_add(1);
    let number = |at: u64| u32::try_from(at).ok().and_then(|at| buffer.get(at)).map(u32::from_le_bytes);
    let short = |at: u64| u32::try_from(at).ok().and_then(|at| buffer.get(at)).map(u16::from_le_bytes);
    let end = match (error.kind(), number(at)) {
        (ErrorKind::OutOfPlace | ErrorKind::Malformed, None) => at.max(length).saturating_add(1),
        (ErrorKind::OutOfPlace, Some(offset)) => at.saturating_add(offset.into()).saturating_add(4),
        (ErrorKind::CountTooLarge, Some(count)) => at.saturating_add(4).saturating_add(count.into()).max(more),
        (ErrorKind::Malformed, Some(distance)) => {
            let vtable = at.checked_add_signed(i64::from(distance.cast_signed()).wrapping_neg())?;
            let end = |length: Option<u16>, at: u64| length.map_or(more, |length| at.saturating_add(length.into()));
            end(short(vtable), vtable).max(end(short(vtable.saturating_add(2)), at))
        }
        _ => return None,
    };
    Some(end).filter(|end| *end > length)
}
