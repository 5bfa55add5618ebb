//! A piece of a file, and its place in memory.
#![forbid(unsafe_code)]

use super::extent::Extent;
use super::num::{to_u64, to_usize};

/// A range of bytes of a file that a program wants in memory, usually the bytes of one component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)] // the C API has the same struct
pub struct Piece {
    pub(crate) key: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) at: u64,
}

impl Piece {
    /// Creates a piece. The caller chooses the key, to recognize the piece in the plan, which sorts the pieces: usually
    /// the number of a tensor.
    #[must_use]
    pub const fn new(key: u64, extent: Extent) -> Self {
        Self { key, offset: extent.offset, length: extent.length, at: 0 }
    }

    /// Returns the key that the caller has chosen.
    #[must_use]
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// Returns the place of the bytes in the file.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        Extent::new(self.offset, self.length)
    }

    /// Returns the place of the bytes in memory, which the plan has computed: the offset of the first byte from the
    /// start of the memory. 0 for an empty piece, and before a plan was made.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Returns the bytes of the piece in `memory`, the memory that all reads of the plan have filled. Returns `None` if
    /// `memory` is too short.
    #[must_use]
    pub fn bytes<'m>(&self, memory: &'m [u8]) -> Option<&'m [u8]> {
        Extent::new(self.at, self.length).of(memory, 0)
    }
}

/// Pieces in the order of the file, and the memory that their reads have filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched<'a> {
    pieces: &'a [Piece],
    memory: &'a [u8],
}

impl<'a> Fetched<'a> {
    /// Returns the pieces and their memory, if the pieces are in the order of the file and inside it, and the memory
    /// has all of them.
    pub(crate) fn new(pieces: &'a [Piece], memory: &'a [u8], file_length: u64) -> Option<Self> {
        let mut last = 0;
        for piece in pieces {
            let is_ordered = core::mem::replace(&mut last, piece.offset) <= piece.offset;
            if !is_ordered || !piece.extent().is_within(file_length) {
                return None;
            }
            piece.bytes(memory)?;
        }
        Some(Self { pieces, memory })
    }

    /// Returns the bytes from `at` on of the last piece that begins at `at` or before. Pieces with the same offset are in
    /// the order of their lengths, so a piece that was requested at `at` is found.
    pub(crate) fn available_from(&self, at: u64) -> Option<&'a [u8]> {
        let count = self.pieces.partition_point(|piece| piece.offset <= at);
        let piece = self.pieces.get(count.checked_sub(1)?)?;
        piece.bytes(self.memory)?.get(to_usize(at.checked_sub(piece.offset)?)?..)
    }
}

/// A gap of fewer bytes is fetched too: a request costs more.
const GAP: u64 = 1024;

/// The length of the longest range that is extended.
const LONGEST: u64 = 1 << 24;

/// A list of ranges to fetch, in the caller's memory.
pub(crate) struct Wanted<'p> {
    pieces: &'p mut [Piece],
    count: usize,
}

impl<'p> Wanted<'p> {
    pub(crate) const fn new(pieces: &'p mut [Piece]) -> Self {
        Self { pieces, count: 0 }
    }

    /// Returns the number of ranges in the list.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Adds a range, or extends the last range if the gap before the new one is short. Returns false if the list is
    /// full.
    pub(crate) fn add(&mut self, extent: Extent) -> bool {
        let last = self.count.checked_sub(1).and_then(|last| self.pieces.get_mut(last));
        if let Some(last) = last {
            let whole = Extent::from(last.offset..extent.offset.saturating_add(extent.length));
            let gap = extent.offset.checked_sub(last.offset).map(|start| start.saturating_sub(last.length));
            if gap.is_some_and(|gap| gap < GAP) && whole.length <= LONGEST {
                last.length = last.length.max(whole.length);
                return true;
            }
        }
        let Some(place) = self.pieces.get_mut(self.count) else { return false };
        *place = Piece::new(to_u64(self.count), extent);
        self.count = self.count.saturating_add(1);
        true
    }
}
