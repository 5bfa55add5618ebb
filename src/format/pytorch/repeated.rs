//! The search for a repeated name.
//!
//! A name is cheap to read while the tensors are listed, and costly from a position: most of the pickle may be before it.
//! So hashes are kept and sorted, not positions, and names with the same hash are compared by listing once more.
#![forbid(unsafe_code)]

use super::PytorchFile;
use super::tree::Found;
use crate::bytes::num::to_u64;
use crate::bytes::text::Text;
use crate::duplicates::{Compared, MAX_COMPARED, check_room, sort_by};
use crate::error::Result;
use crate::format::Cursor;

/// The number of different names with the same hash, before another hash is tried, and of such trials.
const MOST_ALIKE: u32 = 64;
const TRIALS: u64 = 3;
/// The number of times that all names are listed, at most, if there is little memory.
const MOST_BLOCKS: usize = 8;

/// The lowest bit of a kept hash: a name with this hash has been listed.
const LISTED: u32 = 1;

fn hash(seed: u64, name: Text<'_>) -> u32 {
    let add = |hash: u64, character| {
        (hash ^ u64::from(u32::from(character))).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(27)
    };
    let hash = name.chars().fold(seed, add).wrapping_mul(0xd6e8_feb8_6659_fd93);
    u32::try_from(hash >> 32).unwrap_or(0) & !LISTED
}

/// Looks for a repeated name with a little memory on the stack.
#[inline(never)] // its memory is large
pub(super) fn compare_few(file: &PytorchFile<'_>) -> Result<Compared> {
    if file.count > MAX_COMPARED {
        return Ok(Compared::TooMany);
    }
    compare(file, &mut [0; 1024])
}

/// Looks for a repeated name, with room for at least an eighth of the hashes. The first repetition is found with any
/// amount of memory.
pub(super) fn compare(file: &PytorchFile<'_>, words: &mut [u32]) -> Result<Compared> {
    check_room(file.count.into(), words.len())?;
    // The author of a file cannot know the address.
    let salt = to_u64(words.as_ptr().addr());
    for trial in 0..TRIALS {
        if let Some(found) = compare_with(file, salt.wrapping_mul(trial), words)? {
            return Ok(found);
        }
    }
    Ok(Compared::TooMany)
}

/// Looks for a repeated name; `None` if too many names have the same hash.
fn compare_with(file: &PytorchFile<'_>, seed: u64, words: &mut [u32]) -> Result<Option<Compared>> {
    let (mut start, mut clash, mut alike) = (Cursor::START, None::<Found<'_>>, 0_u32);
    for _ in 0..MOST_BLOCKS {
        let (mut next, mut filled) = (start, 0_usize);
        for word in words.iter_mut() {
            let Some(found) = file.next(&mut next)? else { break };
            *word = hash(seed, found.name);
            filled = filled.saturating_add(1);
        }
        let Some(block) = words.get_mut(..filled).filter(|block| !block.is_empty()) else { break };
        sort_by(block, |a, b| a < b);
        let (mut cursor, mut count) = (start, 0_usize);
        while let Some(found) = file.next(&mut cursor)? {
            // An earlier repetition was found in an earlier block.
            if clash.is_some_and(|clash| (clash.in_constants, clash.position) <= (found.in_constants, found.position))
            {
                break;
            }
            count = count.saturating_add(1);
            if !is_listed(block, hash(seed, found.name), count <= filled) {
                continue;
            }
            if is_before(file, start, filled.min(count.saturating_sub(1)), found.name)? {
                clash = Some(found);
                break;
            }
            alike = alike.saturating_add(1);
            if alike > MOST_ALIKE {
                return Ok(None);
            }
        }
        start = next;
    }
    Ok(Some(clash.map_or(Compared::Distinct, |found| Compared::Clash(found.place(&file.tree(found.in_constants))))))
}

/// Returns whether a name with a hash has been listed before. Notes that one has been, if it is one of the `block`.
fn is_listed(block: &mut [u32], hash: u32, is_in_block: bool) -> bool {
    let first = block.partition_point(|other| *other < hash);
    let Some(word) = block.get_mut(first).filter(|word| **word & !LISTED == hash) else { return false };
    // The mark is at the last of equal hashes, so that they remain sorted.
    if !is_in_block || *word & LISTED != 0 {
        return true;
    }
    let last = block.partition_point(|other| *other <= hash | LISTED).saturating_sub(1);
    block.get_mut(last).is_some_and(|word| core::mem::replace(word, hash | LISTED) & LISTED != 0)
}

/// Returns whether one of the first `count` tensors from `start` on has a name.
fn is_before(file: &PytorchFile<'_>, start: Cursor, count: usize, name: Text<'_>) -> Result<bool> {
    let mut cursor = start;
    for _ in 0..count {
        match file.next(&mut cursor)? {
            Some(found) if found.name == name => return Ok(true),
            Some(_) => {}
            None => break,
        }
    }
    Ok(false)
}
