//! Reads an array in another order of its elements.

use std::ops::Deref;

use tenslice::{ByteOrder, Encoding, Order};

use super::{Origin, Values};
use crate::common::budget::{Room, Stop};
use crate::common::failure::Failure;
use crate::common::model::Opened;

/// Bytes that are held in memory or mapped.
pub enum Bytes<'a> {
    Mapped(&'a [u8]),
    Held(Room<'a>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(bytes) => bytes,
            Self::Held(room) => room,
        }
    }
}

/// The elements of a column-major array.
pub struct Transposed<'a> {
    bytes: Bytes<'a>,
    shape: Vec<usize>,
    /// The size of an element in bytes.
    size: usize,
}

impl<'a> Transposed<'a> {
    /// Returns `None` if there are fewer bytes than the shape requires.
    pub fn new(bytes: Bytes<'a>, shape: &[u64], size: u64) -> Option<Self> {
        let shape: Vec<usize> = shape.iter().map(|length| usize::try_from(*length).ok()).collect::<Option<_>>()?;
        let size = usize::try_from(size).ok()?;
        let length = shape.iter().try_fold(size, |product, length| product.checked_mul(*length))?;
        (bytes.len() >= length).then_some(Self { bytes, shape, size })
    }

    /// Writes `count` elements in row-major order, from number `first` on, to `out`, which must be large enough.
    ///
    /// A row is all elements with the same first index. A range has at most three blocks: the end of a row, whole rows,
    /// and the beginning of a row. A column of whole rows is contiguous in memory, so each part of the array is read
    /// once.
    pub fn read(&self, first: usize, count: usize, out: &mut [u8]) {
        let width = self.shape.iter().skip(1).product::<usize>().max(1);
        let (mut at, end) = (first, first + count);
        let mut out = out;
        while at < end {
            let (row, column) = (at / width, at % width);
            let (rows, columns) = match (end - at) / width {
                whole @ 1.. if column == 0 => (whole, width),
                _ => (1, (width - column).min(end - at)),
            };
            let (block, rest) = out.split_at_mut(rows * columns * self.size);
            self.read_block(row, rows, column, columns, block);
            (at, out) = (at + rows * columns, rest);
        }
    }

    /// Writes a block of `rows` rows and `columns` columns. A column is the row-major number of all indices but the
    /// first.
    fn read_block(&self, row: usize, rows: usize, column: usize, columns: usize, out: &mut [u8]) {
        let size = self.size;
        let others = self.shape.get(1..).unwrap_or_default();
        // The index of the first column, and the distance between elements in each dimension.
        let mut index = vec![0; others.len()];
        let mut rest = column;
        for (index, length) in index.iter_mut().zip(others).rev() {
            (*index, rest) = (rest % length, rest / length);
        }
        let mut strides = Vec::new();
        let mut next = self.shape.first().copied().unwrap_or(1);
        for length in others {
            strides.push(next);
            next *= length;
        }
        let mut base = row + index.iter().zip(&strides).map(|(index, stride)| index * stride).sum::<usize>();
        for column in 0..columns {
            let elements = self.bytes[base * size..(base + rows) * size].chunks_exact(size);
            for (row, element) in elements.enumerate() {
                let to = (row * columns + column) * size;
                out[to..to + size].copy_from_slice(element);
            }
            for ((index, length), stride) in index.iter_mut().zip(others).zip(&strides).rev() {
                *index += 1;
                base += stride;
                if *index < *length {
                    break;
                }
                base -= stride * length;
                *index = 0;
            }
        }
    }
}

impl Values<'_> {
    /// Switches to row-major order: see [`put_in_order`](Self::put_in_order).
    pub fn make_row_major(&mut self, opened: &Opened<'_>) -> Result<(), Failure> {
        self.put_in_order(opened, Order::RowMajor)
    }

    /// Switches to another order of the elements. An array that is not mapped is held in memory as a whole.
    pub fn put_in_order(&mut self, opened: &Opened<'_>, order: Order) -> Result<(), Failure> {
        if self.order == order {
            return Ok(());
        }
        self.order = order;
        if self.shape.len() < 2 || self.size == 0 || self.count == 0 {
            return Ok(()); // the same in both orders
        }
        // A row-major array is a column-major array of the reversed shape.
        let mut shape = self.shape.clone();
        if order == Order::ColumnMajor {
            self.plan_all().map_err(|stop| opened.fail(stop))?;
            shape.reverse();
        }
        let (bytes, dtype, order) = match &self.origin {
            Origin::Ranges(data, _) if data.encoding() == Encoding::Raw => {
                let bytes = data.stored().map_err(|error| opened.fail(error))?;
                (Bytes::Mapped(bytes), data.dtype(), data.byte_order())
            }
            _ => (Bytes::Held(self.all().map_err(|stop| opened.fail(stop))?), None, ByteOrder::NATIVE),
        };
        let transposed = Transposed::new(bytes, &shape, self.size).ok_or_else(|| opened.fail(Stop::TooFew))?;
        (self.origin, self.window) = (Origin::Transposed(transposed, dtype, order), (0, self.budget.empty()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads every range of many shapes.
    #[test]
    fn every_range_matches_its_indices() {
        for shape in [&[6][..], &[3, 4], &[2, 3, 4], &[1, 5], &[5, 1], &[3, 1, 2, 2], &[2, 2, 2, 2, 2]] {
            let count: u64 = shape.iter().product();
            let bytes: Vec<u8> = (0..count as u16).flat_map(u16::to_ne_bytes).collect();
            let array = Transposed::new(Bytes::Mapped(&bytes), shape, 2).unwrap();
            let expected: Vec<u8> = (0..count)
                .flat_map(|element| {
                    // The row-major index of the element, and its column-major number.
                    let (mut rest, mut index) = (element, Vec::new());
                    for length in shape.iter().rev() {
                        index.push(rest % length);
                        rest /= length;
                    }
                    let number = index.iter().zip(shape.iter().rev()).fold(0, |sum, (i, length)| sum * length + i);
                    (number as u16).to_ne_bytes()
                })
                .collect();
            for first in 0..count as usize {
                for end in first..=count as usize {
                    let mut out = vec![0; (end - first) * 2];
                    array.read(first, end - first, &mut out);
                    assert_eq!(out, expected[first * 2..end * 2], "{shape:?} {first} {end}");
                }
            }
        }
        assert!(Transposed::new(Bytes::Mapped(&[0; 11]), &[2, 3], 2).is_none());
        assert!(Transposed::new(Bytes::Mapped(&[]), &[0, 3], 2).is_some());
    }
}
