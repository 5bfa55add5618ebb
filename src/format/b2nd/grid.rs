//! Positions in an array: the chunks, blocks and rows that a hyper-rectangle touches.
//!
//! The numbers were checked against each other when the file was opened. If the file has changed since, positions are
//! wrong, and the bounds checks of the slices that they index detect that. Therefore nothing here fails. The state of
//! each dimension takes 36 bytes, and up to 16 dimensions are on the stack.
#![forbid(unsafe_code)]

use super::{Frame, MAX_RANK};
use crate::bytes::num::{count_of, quotient, short_count_of, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::types::shape::Shape;

/// A dimension: its division into chunks and blocks, the region in it, and the current position. Packed, because
/// padding for 16 dimensions would cost a microcontroller stack.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub(super) struct Side {
    /// The region: from `start` up to, but excluding `stop`.
    start: u64,
    stop: u64,
    /// The lengths of chunks and of blocks.
    chunk: u32,
    block: u32,
    /// The current chunk, the current part of the chunk, and the current row of the part.
    chunk_at: u32,
    part_at: u32,
    row_at: u32,
}

/// State shared by all dimensions: where the first chunk begins, and whether chunks are read in blocks or as a whole.
#[derive(Clone, Copy)]
struct Cut {
    origin: u64,
    in_blocks: bool,
}

/// A range from the first number up to, but excluding the second.
type Range = (u32, u32);

impl Side {
    const NONE: Self = Self { start: 0, stop: 0, chunk: 0, block: 0, chunk_at: 0, part_at: 0, row_at: 0 };

    /// Returns the length of the region.
    const fn wanted(&self) -> u64 {
        self.stop.saturating_sub(self.start)
    }

    /// Returns the chunks that the region touches.
    fn touched_chunks(&self) -> Range {
        let chunk = u64::from(self.chunk);
        (narrow(quotient(self.start, chunk)), narrow(count_of(self.stop, chunk)))
    }

    /// Returns the start of the current chunk.
    fn corner(&self, cut: Cut) -> u64 {
        cut.origin.saturating_add(u64::from(self.chunk_at).saturating_mul(u64::from(self.chunk)))
    }

    /// Returns the region within the current chunk, relative to the start of the chunk.
    fn in_chunk(&self, cut: Cut) -> Range {
        let corner = self.corner(cut);
        let end = corner.saturating_add(u64::from(self.chunk));
        let (low, high) = (self.start.max(corner), self.stop.min(end));
        (narrow(low.saturating_sub(corner)), narrow(high.saturating_sub(corner)))
    }

    /// Returns the length of the parts in which the current chunk is read.
    const fn part(&self, cut: Cut) -> u32 {
        if cut.in_blocks { self.block } else { self.chunk }
    }

    /// Returns the parts of the current chunk that the region touches.
    fn touched_parts(&self, cut: Cut) -> Range {
        let (low, high) = self.in_chunk(cut);
        let part = self.part(cut);
        (low.checked_div(part).unwrap_or(0), short_count_of(high, part))
    }

    /// Returns the start of the current part in its chunk.
    const fn part_start(&self, cut: Cut) -> u32 {
        self.part_at.saturating_mul(self.part(cut))
    }

    /// Returns the region within the current part, relative to the start of the part.
    fn in_part(&self, cut: Cut) -> Range {
        let start = self.part_start(cut);
        let (low, high) = self.in_chunk(cut);
        (low.saturating_sub(start), high.saturating_sub(start).min(self.part(cut)))
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// All dimensions of an array.
pub(super) struct Grid {
    sides: [Side; MAX_RANK],
    rank: usize,
    /// The size of an element in bytes.
    pub(super) item_size: u64,
    pub(super) is_array: bool,
    cut: Cut,
}

/// An iterator over the pieces of a part that are contiguous both in the source and in the destination.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// The size of a piece in bytes.
    pub(super) length: u64,
    /// The number of outer dimensions, along which pieces differ.
    outer: usize,
    /// The position of the current piece in its part, and its position in the destination, in bytes.
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Grid {
    /// A placeholder for [`set`](Self::set).
    pub(super) const NONE: Self = Self {
        sides: [Side::NONE; MAX_RANK],
        rank: 0,
        item_size: 0,
        is_array: false,
        cut: Cut { origin: 0, in_blocks: true },
    };

    /// Sets the grid to the dimensions of an array and a region or, if `region` is `None`, the whole array. The grid is
    /// set in place, because it is too large to be moved around.
    pub(super) fn set(&mut self, file: &Frame<'_>, region: Option<(&[u64], &[u64])>) -> Result<()> {
        self.rank = to_usize(file.shape().rank().into()).unwrap_or(MAX_RANK);
        self.item_size = file.item_size();
        self.is_array = file.is_array();
        if region.is_some_and(|(start, stop)| start.len() != self.rank || stop.len() != self.rank) {
            return Err(Error::new(ErrorKind::WrongRank));
        }
        let mut chunks = file.chunk_shape().map(|shape| shape.iter());
        let mut blocks = file.block_shape().map(|shape| shape.iter());
        let mut wanted = region.map(|(start, stop)| start.iter().zip(stop));
        for (side, length) in self.sides.iter_mut().zip(file.shape()) {
            let (start, stop) = wanted.as_mut().and_then(Iterator::next).unwrap_or((&0, &length));
            if start > stop || *stop > length {
                return Err(Error::new(ErrorKind::NoSuchElement));
            }
            // In a frame without an array, each chunk states its own length and the length of its blocks.
            let chunk = chunks.as_mut().map_or(file.chunksize(), |chunks| chunks.next().unwrap_or(0));
            (side.start, side.stop, side.chunk) = (*start, *stop, narrow(chunk));
            side.block = narrow(blocks.as_mut().and_then(Iterator::next).unwrap_or(0));
        }
        Ok(())
    }

    fn sides(&self) -> impl DoubleEndedIterator<Item = &Side> + ExactSizeIterator {
        self.sides.iter().take(self.rank)
    }

    /// Makes `length` bytes from `corner` the current chunk, in blocks of `block` bytes. Only for a frame without an
    /// array. Returns the previous state of the dimension.
    pub(super) fn take(&mut self, corner: u64, length: u64, block: u64) -> Side {
        let [side, ..] = &mut self.sides;
        let before = *side;
        self.cut = Cut { origin: corner, in_blocks: true };
        (side.chunk, side.block, side.chunk_at) = (narrow(length), narrow(block), 0);
        before
    }

    /// Restores the state that [`take`](Self::take) returned.
    pub(super) fn give(&mut self, before: Side) {
        let [side, ..] = &mut self.sides;
        *side = before;
        self.cut.origin = 0;
    }

    /// Returns the start of the current chunk. Only for a frame without an array.
    pub(super) fn corner(&self) -> u64 {
        let [side, ..] = &self.sides;
        side.corner(self.cut)
    }

    /// Returns the start and the stop of the region. Only for a frame without an array.
    pub(super) fn wanted(&self) -> (u64, u64) {
        let [side, ..] = &self.sides;
        (side.start, side.stop)
    }

    /// Returns whether the region touches any of the `length` bytes from the start of the current chunk. Only for a
    /// frame without an array.
    pub(super) fn wants(&self, length: u64) -> bool {
        let (corner, (start, stop)) = (self.corner(), self.wanted());
        corner < stop && corner.saturating_add(length) > start
    }

    /// Returns the size of the region in bytes; `None` if the size exceeds 64 bits.
    pub(super) fn wanted_bytes(&self) -> Option<u64> {
        if self.is_empty() {
            return Some(0);
        }
        self.sides().map(Side::wanted).try_fold(self.item_size, u64::checked_mul)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sides().any(|side| side.wanted() == 0)
    }

    /// Returns the size of a block in bytes, including its padding.
    pub(super) fn block_bytes(&self) -> u64 {
        self.sides().fold(self.item_size, |bytes, side| bytes.saturating_mul(u64::from(side.block)))
    }

    /// Moves to the first chunk that the region touches.
    pub(super) fn first_chunk(&mut self) {
        for side in &mut self.sides {
            (side.chunk_at, _) = side.touched_chunks();
        }
    }

    /// Moves to the next chunk; returns `false` after the last.
    pub(super) fn next_chunk(&mut self) -> bool {
        for side in self.sides.iter_mut().take(self.rank).rev() {
            let (first, end) = side.touched_chunks();
            side.chunk_at = side.chunk_at.saturating_add(1);
            if side.chunk_at < end {
                return true;
            }
            side.chunk_at = first;
        }
        false
    }

    /// Returns the index of the current chunk among all chunks of an array of the given shape.
    pub(super) fn chunk_index(&self, shape: Shape<'_>) -> u64 {
        self.sides().zip(shape).fold(0, |place: u64, (side, length)| {
            let count = count_of(length, u64::from(side.chunk));
            place.saturating_mul(count).saturating_add(u64::from(side.chunk_at))
        })
    }

    /// Returns whether the region touches the current chunk.
    pub(super) fn touches_chunk(&self) -> bool {
        let cut = self.cut;
        self.sides().all(|side| {
            let (low, high) = side.in_chunk(cut);
            low < high
        })
    }

    /// Selects whether the current chunk is read in blocks or as a whole.
    pub(super) fn cut(&mut self, in_blocks: bool) {
        self.cut.in_blocks = in_blocks;
    }

    /// Returns whether less than a quarter of the current block is in the region. (A block has less than 2^32
    /// elements.)
    #[inline(never)] // keeps its products off the stack of the callers
    pub(super) fn wants_little(&self) -> bool {
        let (mut wanted, mut all) = (4_u32, 1_u32);
        for side in self.sides() {
            let (low, high) = side.in_part(self.cut);
            wanted = wanted.saturating_mul(high.saturating_sub(low));
            all = all.saturating_mul(side.block);
        }
        wanted < all
    }

    /// Returns the number of parts of the current chunk that the region touches.
    pub(super) fn part_count(&self) -> u64 {
        let cut = self.cut;
        self.sides().fold(1, |count: u64, side| {
            let (first, end) = side.touched_parts(cut);
            count.saturating_mul(u64::from(end.saturating_sub(first)))
        })
    }

    /// Moves to the first part of the current chunk that the region touches.
    pub(super) fn first_part(&mut self) {
        let cut = self.cut;
        for side in &mut self.sides {
            (side.part_at, _) = side.touched_parts(cut);
        }
    }

    /// Moves to the next part; returns `false` after the last.
    pub(super) fn next_part(&mut self) -> bool {
        let cut = self.cut;
        for side in self.sides.iter_mut().take(self.rank).rev() {
            let (first, end) = side.touched_parts(cut);
            side.part_at = side.part_at.saturating_add(1);
            if side.part_at < end {
                return true;
            }
            side.part_at = first;
        }
        false
    }

    /// Returns the index of the current part in its chunk.
    pub(super) fn part_index(&self) -> u64 {
        let cut = self.cut;
        self.sides().fold(0, |place: u64, side| {
            let count = short_count_of(side.chunk, side.part(cut));
            place.saturating_mul(u64::from(count)).saturating_add(u64::from(side.part_at))
        })
    }

    /// Returns the first piece of the current part that is in the region.
    pub(super) fn first_row(&mut self) -> Rows {
        let cut = self.cut;
        let mut rows = Rows { length: self.item_size, outer: self.rank, from: 0, to: 0 };
        // From the last dimension up to and including the first one of which the region takes only a part.
        for side in self.sides().rev() {
            let (low, high) = side.in_part(cut);
            let taken = high.saturating_sub(low);
            rows.outer = rows.outer.saturating_sub(1);
            rows.length = rows.length.saturating_mul(u64::from(taken));
            if taken != side.part(cut) || u64::from(taken) != side.wanted() {
                break;
            }
        }
        for side in &mut self.sides {
            (side.row_at, _) = side.in_part(cut);
        }
        self.place(&mut rows);
        rows
    }

    /// Returns the end in the current part of the last piece that is in the region.
    pub(super) fn end_in_part(&self) -> u64 {
        let last = self.sides().fold(0_u64, |last, side| {
            let (_, high) = side.in_part(self.cut);
            last.saturating_mul(side.part(self.cut).into()).saturating_add(high.saturating_sub(1).into())
        });
        last.saturating_add(1).saturating_mul(self.item_size)
    }

    /// Moves to the next piece; returns `false` after the last.
    pub(super) fn next_row(&mut self, rows: &mut Rows) -> bool {
        let cut = self.cut;
        for side in self.sides.iter_mut().take(rows.outer).rev() {
            let (first, end) = side.in_part(cut);
            side.row_at = side.row_at.saturating_add(1);
            if side.row_at < end {
                self.place(rows);
                return true;
            }
            side.row_at = first;
        }
        false
    }

    /// Sets the source and destination positions of the current piece.
    fn place(&self, rows: &mut Rows) {
        let cut = self.cut;
        let (mut from, mut to) = (0_u64, 0_u64);
        for side in self.sides() {
            let at = u64::from(side.row_at);
            from = from.saturating_mul(u64::from(side.part(cut))).saturating_add(at);
            let place = side.corner(cut).saturating_add(u64::from(side.part_start(cut))).saturating_add(at);
            to = to.saturating_mul(side.wanted()).saturating_add(place.saturating_sub(side.start));
        }
        (rows.from, rows.to) = (from.saturating_mul(self.item_size), to.saturating_mul(self.item_size));
    }
}

impl Rows {
    /// Returns whether there is a single piece: a whole block of `length` bytes.
    pub(super) const fn are_one_of(&self, length: u64) -> bool {
        self.length == length
    }
}
