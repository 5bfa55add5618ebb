//! Shapes and places in an array: what is touched by a hyper-rectangle of it.
//!
//! Depends on `error`, `bytes`, `shape`, and on `array`. The numbers have been held to each other when the file was
//! opened. Should they have changed since, places come out wrong, and are refused by the slices that they are
//! looked up in: so nothing here fails.
#![forbid(unsafe_code)]

use super::array::count_of;
use super::{File, MAX_RANK};
use crate::bytes::num::to_usize;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::Shape;

/// A number for each dimension.
pub(super) type Index = [u64; MAX_RANK];

/// A hyper-rectangle: from `low` up to, but without `high`.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub(super) low: Index,
    pub(super) high: Index,
}

/// The shapes of an array, decoded.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub(super) rank: usize,
    /// Bytes of an element.
    pub(super) item_size: u64,
    pub(super) shape: Index,
    pub(super) chunk: Index,
    pub(super) block: Index,
}

impl Grid {
    pub(super) fn of(file: &File<'_>) -> Self {
        let of_shape = |lengths: Option<Shape<'_>>| {
            let mut index: Index = [0; MAX_RANK];
            if let Some(lengths) = lengths {
                index.iter_mut().zip(lengths).for_each(|(to, length)| *to = length);
            }
            index
        };
        let shape = file.shape();
        let mut grid = Self {
            rank: to_usize(shape.rank().into()).unwrap_or(MAX_RANK).min(MAX_RANK),
            item_size: file.item_size(),
            shape: of_shape(Some(shape)),
            chunk: of_shape(file.chunk_shape()),
            block: of_shape(file.block_shape()),
        };
        if file.chunk_shape().is_none() {
            grid.chunk = [0; MAX_RANK];
            if let Some(chunk) = grid.chunk.first_mut() {
                *chunk = file.chunksize();
            }
        }
        grid
    }

    /// Holds a region to the shape.
    pub(super) fn area(&self, start: &[u64], stop: &[u64]) -> Result<Area> {
        if start.len() != self.rank || stop.len() != self.rank {
            return Err(Error::new(ErrorKind::WrongRank));
        }
        let mut area = Area { low: [0; MAX_RANK], high: [0; MAX_RANK] };
        let sides = area.low.iter_mut().zip(&mut area.high).zip(&self.shape);
        for (((low, high), length), (start, stop)) in sides.zip(start.iter().zip(stop)) {
            if start > stop || stop > length {
                return Err(Error::new(ErrorKind::NoSuchElement));
            }
            (*low, *high) = (*start, *stop);
        }
        Ok(area)
    }

    /// Bytes that a region takes; `None` beyond 64 bits.
    pub(super) fn bytes(&self, area: &Area) -> Option<u64> {
        let mut lengths = area.lengths(self.rank);
        lengths.try_fold(self.item_size, u64::checked_mul)
    }

    /// Bytes of a block with its padding.
    pub(super) fn block_bytes(&self) -> u64 {
        self.block.iter().take(self.rank).fold(self.item_size, |bytes, length| bytes.saturating_mul(*length))
    }
}

impl Area {
    pub(super) fn lengths(&self, rank: usize) -> impl Iterator<Item = u64> + use<'_> {
        self.high.iter().zip(&self.low).map(|(high, low)| high.saturating_sub(*low)).take(rank)
    }

    pub(super) fn is_empty(&self, rank: usize) -> bool {
        self.high.iter().zip(&self.low).take(rank).any(|(high, low)| low >= high)
    }

    /// Which parts of the given lengths it touches.
    pub(super) fn parts(&self, lengths: &Index) -> Self {
        let mut parts = *self;
        for ((low, high), length) in parts.low.iter_mut().zip(&mut parts.high).zip(lengths) {
            *low = low.checked_div(*length).unwrap_or(0);
            *high = count_of(*high, *length);
        }
        parts
    }

    /// What of it lies between `corner` and that many elements further.
    pub(super) fn within(&self, corner: &Index, lengths: &Index) -> Self {
        let mut area = *self;
        for (((low, high), corner), length) in area.low.iter_mut().zip(&mut area.high).zip(corner).zip(lengths) {
            *low = (*low).max(*corner);
            *high = (*high).min(corner.saturating_add(*length));
        }
        area
    }

    /// The same counted from `corner`.
    pub(super) fn from(&self, corner: &Index) -> Self {
        let mut area = *self;
        for ((low, high), corner) in area.low.iter_mut().zip(&mut area.high).zip(corner) {
            *low = low.saturating_sub(*corner);
            *high = high.saturating_sub(*corner);
        }
        area
    }

    /// The index behind `at`, row-major, of the first `rank` dimensions; `false` behind the last.
    pub(super) fn advance(&self, at: &mut Index, rank: usize) -> bool {
        let sides = at.iter_mut().zip(self.low.iter().zip(&self.high)).take(rank);
        for (at, (low, high)) in sides.rev() {
            *at = at.saturating_add(1);
            if *at < *high {
                return true;
            }
            *at = *low;
        }
        false
    }
}

/// The place of `index` among `counts` things in each dimension, row-major.
pub(super) fn place_of(index: &Index, counts: &Index, rank: usize) -> u64 {
    let sides = index.iter().zip(counts).take(rank);
    sides.fold(0, |place: u64, (index, count)| place.saturating_mul(*count).saturating_add(*index))
}

pub(super) fn each(a: &Index, b: &Index, f: impl Fn(u64, u64) -> u64) -> Index {
    let mut result = *a;
    result.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, *b));
    result
}
