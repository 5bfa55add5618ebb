//! Whether a name stands twice, found exactly and with the memory that the caller gives.
//!
//! Depends on `super`. Blocks of names are sorted, and every name from the block on is looked up in it:
//! of the order of n log n comparisons a block, and no hashes, so that no file can be made to take long.
#![forbid(unsafe_code)]

use super::{File, Manifest};
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::cbor::{Left, Reader};
use crate::error::{Error, ErrorKind, Result};

/// The entries of a file.
struct Entries<'a> {
    manifest: Manifest<'a>,
    reader: Reader<'a>,
    left: Left,
}

impl Entries<'_> {
    /// The position at which the name of the next entry stands.
    fn next(&mut self) -> Result<Option<u32>> {
        if !self.manifest.more(&mut self.reader, &mut self.left) {
            return self.manifest.check(&self.reader).map(|()| None);
        }
        let (_, at) = self.manifest.name(&mut self.reader);
        Ok(Some(at))
    }
}

/// The same as [`repeated`] for a few entries, with a little memory and little code: each name is compared with
/// those of the block before it. The bytes have changed where `reader` has a fault then.
#[inline(never)] // the memory is not there while entries are checked
pub(super) fn repeated_of_few<'a>(file: &File<'a>, reader: &mut Reader<'a>) -> Option<(u32, u32)> {
    let manifest = &file.manifest;
    let name = |position: u32| Reader::text_bytes_at(manifest.region.bytes, position);
    // Where the block ends, and so the next one begins.
    let (mut end, mut left_behind, mut first) = (file.entries, file.left, 0_u32);
    loop {
        let mut names = heapless::Vec::<u32, 64>::new();
        let (mut left, mut index) = (left_behind, first);
        reader.go_to(end);
        while manifest.more(reader, &mut left) {
            let (this, at) = manifest.name(reader);
            // Before it only those of its own block, if it is in it: it is not yet among them.
            if names.iter().any(|&other| name(other) == this) {
                return Some((index, at));
            }
            if names.push(at).is_ok() {
                (end, left_behind) = (reader.position(), left);
                first = first.wrapping_add(1);
            }
            index = index.wrapping_add(1);
        }
        if !names.is_full() {
            return None;
        }
    }
}

/// The index and the position of a name that an earlier entry has, if there is any.
pub(super) fn repeated(file: &File<'_>, scratch: &mut [u32]) -> Result<Option<(u32, u32)>> {
    if scratch.is_empty() {
        return Err(Error::new(ErrorKind::OutOfScratch));
    }
    in_blocks(file, scratch)
}

fn in_blocks(file: &File<'_>, scratch: &mut [u32]) -> Result<Option<(u32, u32)>> {
    let manifest = file.manifest;
    let name = |position: u32| Reader::text_bytes_at(manifest.region.bytes, position);
    let mut block = Entries { manifest, reader: manifest.reader(file.entries), left: file.left };
    let mut first = 0_u32;
    while first < file.count {
        let mut rest = Entries { manifest, reader: block.reader.clone(), left: block.left };
        let mut filled = 0_u64;
        for slot in scratch.iter_mut() {
            let Some(at) = block.next()? else { break };
            *slot = at;
            filled = filled.saturating_add(1);
        }
        if filled == 0 {
            break; // the bytes have changed
        }
        let sorted = to_usize(filled).and_then(|filled| scratch.get_mut(..filled)).unwrap_or_default();
        sort_by(sorted, |a, b| (name(a), a) < (name(b), b));
        let mut index = first;
        while let Some(at) = rest.next()? {
            // Where the first of the block with this name would stand: no name stands at position 0.
            let place = sorted.binary_search_by(|&other| (name(other), other).cmp(&(name(at), 0)));
            let first_of_name = sorted.get(place.unwrap_or_else(|place| place));
            if first_of_name.is_some_and(|&first| first < at && name(first) == name(at)) {
                return Ok(Some((index, at)));
            }
            index = index.saturating_add(1);
        }
        first = first.saturating_add(u32::try_from(filled).unwrap_or(u32::MAX));
    }
    Ok(None)
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
