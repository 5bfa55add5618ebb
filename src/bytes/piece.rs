//! A piece of a file, and its place in memory.
#![forbid(unsafe_code)]

use super::extent::Extent;
use super::num::to_usize;

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

    /// Returns the place of the bytes in memory, which a plan or [`Source::needs`](crate::Source::needs) has computed: the
    /// offset of the first byte from the start of the memory. 0 for an empty piece of a plan, and for a new piece.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Returns the bytes of the piece in `memory`, the memory that has been filled as planned. Returns `None` if
    /// `memory` is too short.
    #[must_use]
    pub fn bytes<'m>(&self, memory: &'m [u8]) -> Option<&'m [u8]> {
        Extent::new(self.at, self.length).of(memory, 0)
    }
}

/// Pieces in the order of the file, and the memory that has their bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceList<'a> {
    pieces: &'a [Piece],
    memory: &'a [u8],
}

impl<'a> PieceList<'a> {
    /// Checks the pieces: no piece begins or ends before an earlier one, and each is inside the file and the memory.
    pub(crate) fn new(pieces: &'a [Piece], memory: &'a [u8], file_length: u64) -> Option<Self> {
        let (mut last_start, mut last_end) = (0, 0);
        for piece in pieces {
            let end = piece.extent().end()?;
            if piece.offset < last_start || end < last_end || end > file_length {
                return None;
            }
            piece.bytes(memory)?;
            (last_start, last_end) = (piece.offset, end);
        }
        Some(Self { pieces, memory })
    }

    /// Returns the bytes from `at` on, as far as one piece has them. Of the pieces that begin at `at` or before, the
    /// last one has the most.
    pub(crate) fn available_from(&self, at: u64) -> Option<&'a [u8]> {
        let count = self.pieces.partition_point(|piece| piece.offset <= at);
        let piece = self.pieces.get(count.checked_sub(1)?)?;
        piece.bytes(self.memory)?.get(to_usize(at.checked_sub(piece.offset)?)?..)
    }
}
