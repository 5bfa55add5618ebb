//! Finds the storages of an archive in its directory.
//!
//! `torch.save` writes the storages in the order of their keys, as texts or as numbers. In such a directory, a storage is
//! found in a few steps. In any other, all records are read.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::PytorchFile;
use super::archive::in_folder;
use crate::bytes::num::to_usize;
use crate::codec::zip::record::ENTRY;
use crate::codec::zip::{Archive, Entry};
use crate::error::Result;

/// The folders of the storages of the two pickles.
const DATA: &[u8] = b"data/";
const CONSTANTS: &[u8] = b"constants/";

/// The number of records behind the last storage that are read before the others.
const NEAR: u32 = 4;
/// The longest record of a directory in which storages are searched for, in bytes.
const LONGEST: u32 = 1 << 10;

/// The order of the keys in `data/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Texts,
    /// The shorter key is the smaller number.
    Numbers,
    FallingNumbers,
    /// None that can be searched.
    None,
}

impl Order {
    const ALL: [Self; 3] = [Self::Texts, Self::Numbers, Self::FallingNumbers];

    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Texts | Self::None => a.cmp(b),
            Self::Numbers => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            Self::FallingNumbers => b.len().cmp(&a.len()).then_with(|| b.cmp(a)),
        }
    }
}

/// The orders that the entries of an archive have, as far as they have been read.
pub(super) struct Orders<'a> {
    last: Option<&'a [u8]>,
    are_kept: [bool; Order::ALL.len()],
    /// True if an entry behind a storage is none.
    has_ended: bool,
}

impl<'a> Orders<'a> {
    pub(super) const fn new() -> Self {
        Self { last: None, are_kept: [true; Order::ALL.len()], has_ended: false }
    }

    /// Adds the next entry.
    pub(super) fn add(&mut self, entry: &Entry<'a>) {
        if entry.next.saturating_sub(entry.at) > LONGEST {
            self.are_kept = [false; Order::ALL.len()];
        }
        let Some(key) = in_folder(entry.name).strip_prefix(DATA) else {
            self.has_ended = self.last.is_some();
            return;
        };
        let Some(last) = self.last.replace(key) else { return };
        for (order, is_kept) in Order::ALL.into_iter().zip(&mut self.are_kept) {
            *is_kept &= !self.has_ended && order.compare(last, key) == Ordering::Less;
        }
    }

    /// Returns the order of all entries, which are so many.
    pub(super) fn order(&self, archive: &Archive<'_>, entries: u32) -> Order {
        let kept = Order::ALL.into_iter().zip(self.are_kept).find(|(_, is_kept)| *is_kept);
        let Some((order, _)) = kept else { return Order::None };
        // A search looks for the signatures of records: nothing else may look like one.
        if signatures(archive.directory.bytes) == u64::from(entries) { order } else { Order::None }
    }
}

impl<'a> PytorchFile<'a> {
    /// Finds the entry of a storage: near position `hint` of the directory, which moves behind it, or elsewhere. Adds the
    /// number of records that were read to `work`.
    pub(super) fn find_storage(
        &self,
        key: &[u8],
        in_constants: bool,
        hint: &mut u32,
        work: &mut u64,
    ) -> Result<Option<Entry<'a>>> {
        let (archive, order) = (self.archive(), self.order());
        let kind = if in_constants { CONSTANTS } else { DATA };
        let is_searched = order != Order::None && !in_constants;
        let start = *hint;
        let (ranges, most) = if is_searched { (1, NEAR) } else { (2, u32::MAX) };
        for (mut at, end) in [(start, u32::MAX), (0, start)].into_iter().take(ranges) {
            let mut left = most;
            while at < end && left > 0 {
                let Some(record) = archive.record(at)? else { break };
                (*work, left) = (work.saturating_add(1), left.saturating_sub(1));
                if in_folder(record.name).strip_prefix(kind) == Some(key) {
                    *hint = record.next;
                    return archive.entry_of(at, &record, true).map(Some);
                }
                at = record.next;
            }
        }
        if is_searched { search(&archive, order, key, hint, work) } else { Ok(None) }
    }
}

/// Finds the entry of a storage in a directory with this order, by halves.
fn search<'a>(
    archive: &Archive<'a>,
    order: Order,
    key: &[u8],
    hint: &mut u32,
    work: &mut u64,
) -> Result<Option<Entry<'a>>> {
    let bytes = archive.directory.bytes;
    // The records from the first storage on.
    let (mut low, mut high) = (0, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    while let Some(record) = archive.record(low)? {
        *work = work.saturating_add(1);
        if in_folder(record.name).starts_with(DATA) {
            break;
        }
        low = record.next;
    }
    while low < high {
        let middle = low.saturating_add(high.saturating_sub(low) >> 1);
        let Some(at) = last_record(bytes, low, middle) else { break };
        let Some(record) = archive.record(at)? else { break };
        *work = work.saturating_add(1);
        // Behind the storages are other entries.
        match in_folder(record.name).strip_prefix(DATA).map_or(Ordering::Greater, |other| order.compare(other, key)) {
            Ordering::Equal => {
                *hint = record.next;
                return archive.entry_of(at, &record, true).map(Some);
            }
            Ordering::Less => low = record.next,
            Ordering::Greater => high = at,
        }
    }
    Ok(None)
}

/// Counts the signatures of records. The count of a few bytes fits in a byte: compilers then compare many at once.
fn signatures(bytes: &[u8]) -> u64 {
    const FEW: usize = 255;
    let [a, b, c, d] = ENTRY;
    let from = |start: usize| bytes.get(start..).unwrap_or_default().chunks(FEW);
    let few = from(0).zip(from(1)).zip(from(2)).zip(from(3)).map(|(((w, x), y), z)| {
        w.iter().zip(x).zip(y).zip(z).fold(0_u8, |count, (((w, x), y), z)| {
            count.wrapping_add(u8::from((*w == a) & (*x == b) & (*y == c) & (*z == d)))
        })
    });
    few.map(u64::from).sum()
}

/// Returns the last record that begins between two positions.
fn last_record(bytes: &[u8], low: u32, high: u32) -> Option<u32> {
    let from = to_usize(low.into())?;
    let to = to_usize(high.into())?.checked_add(ENTRY.len())?.min(bytes.len());
    let distance = bytes.get(from..to)?.windows(ENTRY.len()).rposition(|bytes| bytes == ENTRY)?;
    low.checked_add(u32::try_from(distance).ok()?)
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// A signature counts wherever it begins, also across the bytes that are counted at once.
    #[test]
    fn signatures_are_counted() {
        for length in [0, 1, 3, 4, 250, 251, 252, 253, 254, 255, 256, 257, 508, 510, 511, 600] {
            let bytes = [&vec![b'P'; length][..], b"PK\x01\x02", &vec![2; length]].concat();
            assert_eq!(signatures(&bytes), 1, "{length}");
            assert_eq!(signatures(&bytes.repeat(2)), 2, "{length}");
            assert_eq!(signatures(bytes.get(1..).unwrap()), u64::from(length > 0), "{length}");
        }
        for damaged in [b"QK\x01\x02", b"PL\x01\x02", b"PK\x02\x02", b"PK\x01\x01"] {
            assert_eq!(signatures(&[damaged, &b"PK"[..], b"\x01"].concat()), 0, "{damaged:x?}");
        }
        assert_eq!(signatures(&b"PK\x01\x02".repeat(300)), 300);
    }

    /// The last record that begins at or before a position, and not before another one.
    #[test]
    fn the_last_record_is_found() {
        let bytes = [&ENTRY[..], &[7; 6], &ENTRY, &[7; 6]].concat();
        for high in 0..40 {
            let last = if high < 10 { 0 } else { 10 };
            assert_eq!(last_record(&bytes, 0, high), Some(last), "{high}");
            assert_eq!(last_record(&bytes, 1, high), (1..=high).contains(&10).then_some(10), "{high}");
        }
        assert_eq!(last_record(&bytes, 11, 20), None);
        assert_eq!(last_record(&[], 0, 0), None);
    }
}
