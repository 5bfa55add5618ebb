//! Blocks that are compressed: literals, and sequences that copy literals and repeat earlier output (RFC 8878, 3.1.1.3).
//!
//! There is no other memory than the destination. The literals of a block are decoded to the end of the largest output
//! that the block can have. From there each sequence moves its literals down, behind the output so far. Sequences never
//! overtake literals that were not moved, since what remains of the largest output is at least the literals that remain.
#![forbid(unsafe_code)]

use super::bits::Backward;
use super::fse::{Alphabet, Table};
use super::{Tables, Window};
use crate::bytes::num::to_usize;
use crate::codec::copies::{copy, repeat};
use crate::codec::decoder::DecodeError::{self, DoesNotFit, Malformed};

/// Bits that may be left in a container after the values of a sequence, and then suffice for its three states.
const FOR_VALUES: u32 = 57 - 9 - 9 - 8;
/// The number of bytes that are copied at once.
const WIDE: usize = 16;

/// The room of a block in the destination.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// The output so far, which is also the start of the block.
    pub(super) written: usize,
    /// The end of the largest output that the block can have.
    pub(super) end: usize,
    /// The error if the block needs more.
    pub(super) too_long: DecodeError,
}

/// Decodes a compressed block to `dst`, which has all output of the frame, and returns the end of the output.
#[inline(never)]
pub(super) fn block(
    tables: &mut Tables,
    window: &Window<'_>,
    stored: &[u8],
    dst: &mut [u8],
    room: Room,
) -> Result<usize, DecodeError> {
    let (literals, stored) = literals(tables, stored, dst, room)?;
    let (&first, stored) = stored.split_first().ok_or(Malformed)?;
    let (count, stored) = match (first, stored) {
        (..=127, _) => (u32::from(first), stored),
        (..=254, [low, stored @ ..]) => (u32::from_be_bytes([0, 0, first & 127, *low]), stored),
        (_, [low, high, stored @ ..]) => (u32::from_le_bytes([*low, *high, 0, 0]).wrapping_add(0x7f00), stored),
        _ => return Err(Malformed),
    };
    if count == 0 {
        if !stored.is_empty() {
            return Err(Malformed);
        }
        move_down(dst, literals, room.written, room.end.saturating_sub(literals));
        return Ok(room.written.saturating_add(room.end.saturating_sub(literals)));
    }
    let stored = sequence_tables(tables, stored).ok_or(Malformed)?;
    let bits = Backward::new(stored).ok_or(Malformed)?;
    sequences(tables, window, bits, count, dst, literals, room)
}

/// Decodes the literals of a block to the end of its room (section 3.1.1.3.1). Returns the position of the literals, and
/// the bytes that follow.
fn literals<'a>(
    tables: &mut Tables,
    stored: &'a [u8],
    dst: &mut [u8],
    room: Room,
) -> Result<(usize, &'a [u8]), DecodeError> {
    let first = *stored.first().ok_or(Malformed)?;
    let is_coded = first & 2 != 0;
    let (header, width) = match (is_coded, first >> 2 & 3) {
        (false, 0 | 2) => (1, 5),
        (false, 1) => (2, 12),
        (false, _) => (3, 20),
        (true, 0 | 1) => (3, 10),
        (true, 2) => (4, 14),
        (true, _) => (5, 18),
    };
    let (fields, rest) = stored.split_at_checked(header).ok_or(Malformed)?;
    let fields = fields.iter().rev().fold(0_u64, |fields, byte| fields << 8 | u64::from(*byte));
    let fields = fields >> if header == 1 { 3 } else { 4 };
    let mask = 1_u64.wrapping_shl(width).wrapping_sub(1);
    let length = to_usize(fields & mask).ok_or(Malformed)?;
    let at = room.end.checked_sub(length).filter(|at| *at >= room.written);
    let at = at.ok_or(if length > super::MAX_BLOCK { Malformed } else { room.too_long })?;
    let to = dst.get_mut(at..room.end).ok_or(DoesNotFit)?;
    if !is_coded {
        let stored = if first & 1 == 1 { 1 } else { length };
        let (stored, rest) = rest.split_at_checked(stored).ok_or(Malformed)?;
        match stored {
            [value] => to.fill(*value),
            _ => copy(to, stored),
        }
        return Ok((at, rest));
    }
    let stored = to_usize(fields.wrapping_shr(width) & mask).ok_or(Malformed)?;
    let (mut stored, rest) = rest.split_at_checked(stored).ok_or(Malformed)?;
    if first & 1 == 0 {
        stored = tables.literals.read(stored).ok_or(Malformed)?;
    } else if !tables.literals.is_set() {
        return Err(Malformed);
    }
    let is_single = first & 0b1100 == 0;
    let decoded =
        if is_single { tables.literals.decode(stored, to) } else { tables.literals.decode_four(stored, to) };
    decoded.ok_or(Malformed)?;
    Ok((at, rest))
}

/// Reads the tables of sequences (section 3.1.1.3.2.1), and returns the bytes that follow.
fn sequence_tables<'a>(tables: &mut Tables, stored: &'a [u8]) -> Option<&'a [u8]> {
    let (&modes, stored) = stored.split_first()?;
    if modes & 3 != 0 {
        return None; // reserved
    }
    let stored = sequence_table(&mut tables.literal_lengths, Alphabet::LiteralLengths, modes >> 6, stored)?;
    let stored = sequence_table(&mut tables.offsets, Alphabet::Offsets, modes >> 4, stored)?;
    sequence_table(&mut tables.match_lengths, Alphabet::MatchLengths, modes >> 2, stored)
}

fn sequence_table<'a, const N: usize>(
    table: &mut Table<N>,
    alphabet: Alphabet,
    mode: u8,
    stored: &'a [u8],
) -> Option<&'a [u8]> {
    match mode & 3 {
        0 => table.predefine(alphabet)?,
        1 => {
            let (symbol, stored) = stored.split_first()?;
            table.repeat(alphabet, *symbol)?;
            return Some(stored);
        }
        2 => return table.read(alphabet, stored),
        _ => {} // the table of the block before; if there is none, it has no first state
    }
    Some(stored)
}

/// Decodes `count` sequences, and the literals after the last one. `literals` is the position of the literals.
#[inline(never)]
fn sequences(
    tables: &mut Tables,
    window: &Window<'_>,
    mut bits: Backward<'_>,
    count: u32,
    dst: &mut [u8],
    mut literals: usize,
    room: Room,
) -> Result<usize, DecodeError> {
    let Room { mut written, end, too_long } = room;
    let (lengths, offsets, matches) = (&tables.literal_lengths, &tables.offsets, &tables.match_lengths);
    let dst = dst.get_mut(..end).ok_or(DoesNotFit)?;
    let mut recent = tables.recent;
    let mut start = || Some((lengths.start(&mut bits)?, offsets.start(&mut bits)?, matches.start(&mut bits)?));
    let (mut length, mut offset, mut more) = start().ok_or(Malformed)?;
    let mut left = count;
    loop {
        bits.refill().ok_or(Malformed)?;
        let value = offset.value().wrapping_add(word(bits.read(offset.added())));
        let is_long = offset.added().wrapping_add(more.added()).wrapping_add(length.added()) > FOR_VALUES;
        if is_long {
            bits.refill().ok_or(Malformed)?;
        }
        let match_length = index(more.value().wrapping_add(word(bits.read(more.added()))));
        let literal_length = index(length.value().wrapping_add(word(bits.read(length.added()))));
        let distance = recent_distance(&mut recent, value, literal_length == 0);

        // The rest of the block has `gap` bytes and the literals that were not moved.
        let gap = literals.wrapping_sub(written);
        let after = literals.wrapping_add(literal_length);
        if after > end || distance == 0 {
            return Err(Malformed);
        }
        if match_length > gap {
            return Err(too_long);
        }
        let from = written.wrapping_add(literal_length);
        move_literals(dst, literals, written, literal_length);
        if index(distance) > from.min(window.size) {
            let done = copy_from_dictionary(window, dst, from, index(distance), match_length).ok_or(Malformed)?;
            let (from, rest) = (from.wrapping_add(done), match_length.wrapping_sub(done));
            repeat(dst.get_mut(..after).unwrap_or_default(), from, index(distance), rest);
        } else {
            copy_match(dst, after, from, index(distance), match_length);
        }
        written = from.wrapping_add(match_length);
        literals = after;

        left = left.wrapping_sub(1);
        if left == 0 {
            break;
        }
        if is_long {
            bits.refill().ok_or(Malformed)?;
        }
        length = lengths.after(length, &mut bits);
        more = matches.after(more, &mut bits);
        offset = offsets.after(offset, &mut bits);
    }
    if bits.bits_left() != Some(0) {
        return Err(Malformed);
    }
    tables.recent = recent;
    let rest = end.saturating_sub(literals);
    move_down(dst, literals, written, rest);
    Ok(written.wrapping_add(rest))
}

/// Returns the distance of a match, and remembers it (section 3.1.1.5). 0 is no valid distance.
#[inline(always)]
fn recent_distance(recent: &mut [u32; 3], value: u32, has_no_literals: bool) -> u32 {
    let [first, second, third] = *recent;
    if let Some(distance @ 1..) = value.checked_sub(3) {
        *recent = [distance, first, second];
        return distance;
    }
    match value.wrapping_add(u32::from(has_no_literals)) {
        1 => {}
        2 => *recent = [second, first, third],
        3 => *recent = [third, first, second],
        _ => *recent = [first.wrapping_sub(1), first, second],
    }
    let [distance, ..] = *recent;
    distance
}

/// Copies the part of a match that is in the dictionary, and returns its length. `None` if the match begins outside the
/// window and the dictionary.
#[cold]
#[inline(never)]
fn copy_from_dictionary(
    window: &Window<'_>,
    dst: &mut [u8],
    at: usize,
    distance: usize,
    length: usize,
) -> Option<usize> {
    // The dictionary is in reach until there is more output than the window has (section 5).
    let before = distance.checked_sub(at).filter(|_| at <= window.size)?;
    let from = window.dictionary.get(window.dictionary.len().checked_sub(before)?..)?;
    let count = before.min(length);
    copy(dst.get_mut(at..at.checked_add(count)?)?, from);
    Some(count)
}

/// Copies a match, which ends before the literals at `limit`.
#[inline(always)]
fn copy_match(dst: &mut [u8], limit: usize, at: usize, distance: usize, length: usize) {
    let dst = dst.get_mut(..limit).unwrap_or_default();
    repeat(dst, at, distance, length);
}

/// Moves literals that are near to the output.
#[inline(always)]
fn move_literals(dst: &mut [u8], from: usize, to: usize, length: usize) {
    if cfg!(not(small)) && length <= WIDE && to.wrapping_add(WIDE) <= from.wrapping_add(length) {
        if let Some(&wide) = dst.get(from..).and_then(<[u8]>::first_chunk::<WIDE>) {
            if let Some(to) = dst.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<WIDE>) {
                *to = wide;
                return;
            }
        }
    }
    move_down(dst, from, to, length);
}

/// Moves `length` bytes from a position to one that is not above it.
#[inline(never)]
fn move_down(dst: &mut [u8], from: usize, to: usize, length: usize) {
    if from == to {
        return;
    }
    if from.wrapping_sub(to) >= length {
        if let Some((to_part, from_part)) = dst.split_at_mut_checked(from) {
            let to_part = to_part.get_mut(to..to.wrapping_add(length)).unwrap_or_default();
            copy(to_part, from_part);
            return;
        }
    }
    let mut done = 0_usize;
    while cfg!(not(small)) && length.wrapping_sub(done) >= WIDE {
        let Some(&wide) = dst.get(from.wrapping_add(done)..).and_then(<[u8]>::first_chunk::<WIDE>) else { break };
        let to = dst.get_mut(to.wrapping_add(done)..).and_then(<[u8]>::first_chunk_mut::<WIDE>);
        let Some(to) = to else { break };
        *to = wide;
        done = done.wrapping_add(WIDE);
    }
    for at in done..length {
        let byte = dst.get(from.wrapping_add(at)).copied().unwrap_or_default();
        if let Some(to) = dst.get_mut(to.wrapping_add(at)) {
            *to = byte;
        }
    }
}

/// Returns a position or a length.
#[inline(always)]
#[allow(clippy::as_conversions)] // no target has a usize of 16 bits
const fn index(number: u32) -> usize {
    number as usize
}

/// Returns bits, of which there are at most 32.
#[inline(always)]
#[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // see above
const fn word(bits: u64) -> u32 {
    bits as u32
}
