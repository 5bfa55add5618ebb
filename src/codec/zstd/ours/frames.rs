//! Frames, their blocks and their checksums, and dictionaries (RFC 8878, 3.1 and 5).
#![forbid(unsafe_code)]

use super::sequences::{self, Room};
use super::{MAX_BLOCK, Tables, Window};
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::copies::copy;
use crate::codec::decoder::DecodeError::{self, DoesNotFit, Malformed};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Decodes consecutive frames to the front of `dst`, and returns the number of decoded bytes.
#[inline(never)] // the tables are on the stack only as long as it runs
pub(super) fn decode(dictionary: &[u8], mut stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    let mut tables = Tables::new();
    let mut written = 0_usize;
    while !stored.is_empty() {
        let (magic, rest) = stored.split_first_chunk().ok_or(Malformed)?;
        stored = match *magic {
            MAGIC => {
                let dst = dst.get_mut(written..).unwrap_or_default();
                let (length, rest) = frame(&mut tables, dictionary, rest, dst)?;
                written = written.saturating_add(length);
                rest
            }
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let (length, rest) = number(rest, 4)?;
                to_usize(length).and_then(|length| rest.get(length..)).ok_or(Malformed)?
            }
            _ => return Err(Malformed),
        };
    }
    Ok(written)
}

/// Splits off a number of up to eight bytes; 0 of no bytes.
fn number(stored: &[u8], width: usize) -> Result<(u64, &[u8]), DecodeError> {
    let (bytes, rest) = stored.split_at_checked(width).ok_or(Malformed)?;
    Ok((bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)), rest))
}

/// Decodes the frame whose header begins at `stored`, and returns the length of the output and the bytes that follow.
fn frame<'a>(
    tables: &mut Tables,
    dictionary: &[u8],
    stored: &'a [u8],
    dst: &mut [u8],
) -> Result<(usize, &'a [u8]), DecodeError> {
    // The header (section 3.1.1.1).
    let (&descriptor, mut stored) = stored.split_first().ok_or(Malformed)?;
    if descriptor & 0x08 != 0 {
        return Err(Malformed); // reserved
    }
    let is_single = descriptor & 0x20 != 0;
    let mut window = 0;
    if !is_single {
        (window, stored) = number(stored, 1)?;
        let base = 1_u64.wrapping_shl(u32::try_from(window >> 3).unwrap_or_default().wrapping_add(10));
        window = base.wrapping_add((base >> 3).wrapping_mul(window & 7));
    }
    let (id, rest) = number(stored, [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or_default())?;
    let width = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let (content, mut stored) = number(rest, width)?;
    let content = (width > 0).then_some(if width == 2 { content.saturating_add(256) } else { content });
    if is_single {
        window = content.unwrap_or_default();
    }
    let window = Window {
        dictionary: read_dictionary(tables, dictionary, id).ok_or(Malformed)?,
        size: to_usize(window).filter(|_| !super::is_lenient()).unwrap_or(usize::MAX),
    };
    let max_block = if super::is_lenient() { MAX_BLOCK } else { window.size.min(MAX_BLOCK) };

    let mut written = 0_usize;
    loop {
        let (header, rest) = number(stored, 3)?;
        let size = to_usize(header >> 3).filter(|size| *size <= max_block).ok_or(Malformed)?;
        let kind = header >> 1 & 3;
        let (block, rest) = rest.split_at_checked(if kind == 1 { 1 } else { size }).ok_or(Malformed)?;
        stored = rest;
        let left = dst.len().saturating_sub(written);
        written = match kind {
            0 | 1 => {
                let end = written.saturating_add(size);
                let to = dst.get_mut(written..end).ok_or(DoesNotFit)?;
                match block {
                    [value] => to.fill(*value),
                    _ => copy(to, block),
                }
                end
            }
            2 => {
                let too_long = if left < max_block { DoesNotFit } else { Malformed };
                let room = Room { written, end: written.saturating_add(left.min(max_block)), too_long };
                sequences::block(tables, &window, block, dst, room)?
            }
            _ => return Err(Malformed),
        };
        if header & 1 == 1 {
            break;
        }
    }
    // Not compared with the destination before: a wrong size must not make the caller provide ever more memory.
    if content.is_some_and(|content| content != to_u64(written)) {
        return Err(Malformed);
    }
    if descriptor & 0x04 != 0 {
        let (checksum, rest) = number(stored, 4)?;
        if checksum != super::checksum(dst.get(..written).unwrap_or_default()) {
            return Err(DecodeError::Checksum);
        }
        stored = rest;
    }
    Ok((written, stored))
}

/// Sets the tables to those at the start of a frame: the tables of the dictionary, if it has some (section 5). Returns
/// the content of the dictionary. `None` if the dictionary is damaged, or not the one with the number `id`, which is 0 if
/// the frame states none.
fn read_dictionary<'d>(tables: &mut Tables, dictionary: &'d [u8], id: u64) -> Option<&'d [u8]> {
    tables.forget();
    let Some(rest) = dictionary.strip_prefix(&DICTIONARY_MAGIC).filter(|rest| rest.len() >= 4) else {
        return (id == 0).then_some(dictionary);
    };
    let (own, rest) = number(rest, 4).ok()?;
    if id != 0 && id != own {
        return None;
    }
    tables.read_dictionary(rest)
}
