//! Skips CBOR that has been checked, as fast as its heads can be read.
#![forbid(unsafe_code)]

use crate::bytes::num::to_usize;

/// Returns the bytes after the value at the front of `bytes`; `None` if a length is indefinite, or if the bytes have
/// changed since they were checked. Strings are not read, and the nesting depth is not checked.
pub(crate) fn skip_unchecked(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    // The number of items left, in all containers together. Each item takes at least one byte.
    let mut left = 1_u64;
    while let Some(others) = left.checked_sub(1) {
        left = others;
        let (head, after) = rest.split_first()?;
        rest = after;
        let info = head & 0x1f;
        let number = if info < 24 { info.into() } else { wide(info, &mut rest)? };
        match head >> 5 {
            2 | 3 => rest = rest.get(to_usize(number)?..)?,
            4 => left = left.saturating_add(number),
            5 => left = left.saturating_add(number.saturating_mul(2)),
            6 => left = left.saturating_add(1),
            _ => {}
        }
    }
    Some(rest)
}

/// Reads the number after the first byte of a head.
#[inline]
fn wide(info: u8, rest: &mut &[u8]) -> Option<u64> {
    fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
        let (number, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(number)
    }
    Some(match info {
        24 => u8::from_be_bytes(*take(rest)?).into(),
        25 => u16::from_be_bytes(*take(rest)?).into(),
        26 => u32::from_be_bytes(*take(rest)?).into(),
        27 => u64::from_be_bytes(*take(rest)?),
        _ => return None,
    })
}
