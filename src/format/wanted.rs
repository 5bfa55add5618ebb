//! The ranges to fetch in one round.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::piece::Piece;
use crate::duplicates::sort_by;

/// A shorter gap between two ranges is fetched too, because a request costs more.
const GAP: u64 = 1024;

/// A list of ranges to fetch, in the caller's memory.
pub(crate) struct Wanted<'p> {
    pieces: &'p mut [Piece],
    count: usize,
}

impl<'p> Wanted<'p> {
    pub(crate) const fn new(pieces: &'p mut [Piece]) -> Self {
        Self { pieces, count: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a range, or extends the last range if the gap between both is short. Returns false if the list is full.
    pub(crate) fn add(&mut self, extent: Extent) -> bool {
        let (start, end) = (extent.offset, extent.offset.saturating_add(extent.length));
        let last = self.count.checked_sub(1).and_then(|last| self.pieces.get_mut(last));
        if let Some(last) = last {
            let last_end = last.offset.saturating_add(last.length);
            if last.offset.max(start).saturating_sub(last_end.min(end)) < GAP {
                last.offset = last.offset.min(start);
                last.length = last_end.max(end).saturating_sub(last.offset);
                return true;
            }
        }
        let Some(place) = self.pieces.get_mut(self.count) else { return false };
        *place = Piece::new(to_u64(self.count), extent);
        self.count = self.count.saturating_add(1);
        true
    }

    /// Sorts the ranges, joins those with short gaps, and gives each its place in memory: one range after the other.
    /// Returns their number.
    pub(crate) fn finish(mut self) -> usize {
        let count = core::mem::take(&mut self.count);
        sort_by(self.pieces.get_mut(..count).unwrap_or_default(), |a, b| a.offset < b.offset);
        for i in 0..count {
            if let Some(extent) = self.pieces.get(i).map(Piece::extent) {
                self.add(extent); // at `i` or before
            }
        }
        let mut at = 0_u64;
        for piece in self.pieces.iter_mut().take(self.count) {
            piece.at = at;
            at = at.saturating_add(piece.length);
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// The ranges that a list of up to `room` pieces has after `extents` were added, and whether all were added.
    fn listed(room: usize, extents: &[(u64, u64)]) -> (Vec<(u64, u64, u64)>, bool) {
        let mut pieces = [Piece::default(); 9];
        let mut wanted = Wanted::new(&mut pieces[..room]);
        assert!(wanted.is_empty());
        let all = extents.iter().all(|&(offset, length)| wanted.add(Extent::new(offset, length)));
        let count = wanted.finish();
        (pieces[..count].iter().map(|piece| (piece.offset, piece.length, piece.at)).collect(), all)
    }

    #[test]
    fn ranges_are_joined_and_placed() {
        assert_eq!(listed(9, &[]), ([].into(), true));
        assert_eq!(listed(9, &[(5, 10)]), ([(5, 10, 0)].into(), true));
        assert_eq!(listed(1, &[(0, 10), (1033, 7)]), ([(0, 1040, 0)].into(), true)); // a gap of 1023 bytes
        assert_eq!(listed(2, &[(0, 10), (1034, 7)]), ([(0, 10, 0), (1034, 7, 10)].into(), true));
        assert_eq!(listed(1, &[(0, 10), (1034, 7)]), ([(0, 10, 0)].into(), false));
        assert_eq!(listed(1, &[(0, 100), (20, 10), (50, 100), (0, 1)]), ([(0, 150, 0)].into(), true));
        assert_eq!(listed(1, &[(1034, 7), (11, 1), (0, 10)]), ([(0, 1041, 0)].into(), true)); // backwards
        // In any order: six ranges before they are sorted.
        let extents = [(9000, 10), (0, 10), (5000, 300), (100, 10), (4900, 500), (9005, 1), (9000, 10)];
        assert_eq!(listed(6, &extents), ([(0, 110, 0), (4900, 500, 110), (9000, 10, 610)].into(), true));
        assert_eq!(listed(5, &extents), ([(0, 110, 0), (4900, 500, 110), (9000, 10, 610)].into(), false));
        assert_eq!(listed(2, &extents), ([(0, 10, 0), (9000, 10, 10)].into(), false));
        assert_eq!(listed(2, &[(u64::MAX, 10), (3, u64::MAX)]).0, [(3, u64::MAX - 3, 0)]);
    }
}
