//! Whether a name is there twice, found exactly and with the memory that the caller gives.
//!
//! Depends on `bytes`, `error`; a format says in [`Names`] how its names are read. Blocks of names are sorted, and every name
//! from the block on is looked up in it: of the order of n log n comparisons a block, and no hashes, so that no file can be
//! made to take long. The little memory that opening a file has for it is filled with hashes besides: they tell apart a
//! few names that begin alike. A file made so that the hashes are equal, too, takes as many comparisons as there are
//! pairs: linear still in the bytes of names, of which no more than [`MAX_COMPARED`] are compared so.
#![forbid(unsafe_code)]

use crate::bytes::num::{to_u64, to_usize};
use crate::error::{Error, ErrorKind, Result};

/// How many names that are not in order are compared without memory of the caller's.
pub(crate) const MAX_COMPARED: u32 = 1024;

/// How many of them in one pass: on a chip stack is scarce.
const BLOCK: usize = if cfg!(target_pointer_width = "64") { 1024 } else { 32 };

/// Names that must differ.
pub(crate) trait Names<'a> {
    /// Which name is read next.
    type Place: Copy;

    /// Reads the name at `place`, and goes to the next one. Also its position, by which [`at`](Self::at) finds it again:
    /// never 0, and rising from name to name. `None` after the last.
    fn next(&mut self, place: &mut Self::Place) -> Option<(&'a [u8], u32)>;

    /// The name at a position that `next` gave.
    fn at(&self, position: u32) -> &'a [u8];

    /// What is wrong with the names that were read: the bytes have changed since the file was opened.
    fn check(&self) -> Result<()>;
}

/// The index and the position of a name that an earlier one is equal to, if there is any.
pub(crate) type Repeated = Option<(u32, u32)>;

/// Compares up to [`MAX_COMPARED`] names with a little memory and little code: each with those of the block before it.
#[inline(never)] // the memory is not there for names in order, as real programs write them
pub(crate) fn repeated_of_few<'a, N: Names<'a>>(names: &mut N, start: N::Place) -> Repeated {
    // The first name after the block, and its index.
    let (mut next, mut first) = (start, 0_u32);
    loop {
        // The hash of each name, and its position.
        let mut block = heapless::Vec::<(u32, u32), BLOCK>::new();
        let (mut place, mut index) = (next, first);
        while let Some((name, at)) = names.next(&mut place) {
            let hash = hash_of(name);
            // Before it only those of its own block, if it is in it: it is not yet among them.
            if block.iter().any(|&(other, position)| other == hash && names.at(position) == name) {
                return Some((index, at));
            }
            if block.push((hash, at)).is_ok() {
                next = place;
                first = first.wrapping_add(1);
            }
            index = index.wrapping_add(1);
        }
        if !block.is_full() {
            return None;
        }
    }
}

/// Compares all names by means of `scratch`, which has room for one at least.
pub(crate) fn repeated<'a, N: Names<'a>>(names: &mut N, start: N::Place, scratch: &mut [u32]) -> Result<Repeated> {
    if scratch.is_empty() {
        return Err(Error::new(ErrorKind::OutOfScratch));
    }
    let (mut next, mut first) = (start, 0_u32);
    loop {
        let mut place = next;
        let mut filled = 0_u64;
        for slot in scratch.iter_mut() {
            let Some((_, at)) = names.next(&mut next) else { break };
            *slot = at;
            filled = filled.saturating_add(1);
        }
        let sorted = to_usize(filled).and_then(|filled| scratch.get_mut(..filled)).unwrap_or_default();
        sort_by(sorted, |a, b| (names.at(a), a) < (names.at(b), b));
        let mut index = first;
        while let Some((name, at)) = names.next(&mut place) {
            // Where the first of the block with this name would be: no name is at position 0.
            let found = sorted.binary_search_by(|&other| (names.at(other), other).cmp(&(name, 0)));
            let first_of_name = sorted.get(found.unwrap_or_else(|found| found));
            if first_of_name.is_some_and(|&first| first < at && names.at(first) == name) {
                return Ok(Some((index, at)));
            }
            index = index.wrapping_add(1);
        }
        names.check()?;
        if filled < to_u64(scratch.len()) {
            return Ok(None);
        }
        first = first.saturating_add(u32::try_from(filled).unwrap_or(u32::MAX));
    }
}

/// Tells most names apart without comparing them (FNV-1a).
fn hash_of(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Heapsort: in place, without recursion, and no order of the input makes it slow. (The one of `core`
/// keeps a panic path for orders that contradict themselves, as those of changing bytes may.)
fn sort_by(items: &mut [u32], is_less: impl Fn(u32, u32) -> bool) {
    let length = to_u64(items.len());
    let sift = |items: &mut [u32], mut root: u64, end: u64| {
        let at = |items: &[u32], i: u64| to_usize(i).and_then(|i| items.get(i).copied());
        loop {
            let left = root.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if left >= end {
                return;
            }
            let larger = match (at(items, left), at(items, right)) {
                (Some(l), Some(r)) if right < end && is_less(l, r) => right,
                _ => left,
            };
            match (at(items, root), at(items, larger)) {
                (Some(r), Some(child)) if is_less(r, child) => swap(items, root, larger),
                _ => return,
            }
            root = larger;
        }
    };
    for root in (0..length.wrapping_shr(1)).rev() {
        sift(items, root, length);
    }
    for end in (1..length).rev() {
        swap(items, 0, end);
        sift(items, 0, end);
    }
}

/// Swaps two items; nothing where one is not there.
fn swap(items: &mut [u32], a: u64, b: u64) {
    let (Some(a), Some(b)) = (to_usize(a), to_usize(b)) else { return };
    let (Some(&x), Some(&y)) = (items.get(a), items.get(b)) else { return };
    if let Some(slot) = items.get_mut(a) {
        *slot = y;
    }
    if let Some(slot) = items.get_mut(b) {
        *slot = x;
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::sort_by;

    #[test]
    fn sorts_every_order() {
        let mut seed = 1_u32;
        for length in 0..200 {
            let mut items: Vec<u32> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    seed >> 26
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_by(&mut items, |a, b| a < b);
            assert_eq!(items, expected);
        }
    }
}
