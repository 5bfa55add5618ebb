//! Reads indices and writes a dense tensor, many values at a time.
//!
//! The type and the byte order of the numbers are dispatched once per batch. Chips use `one_by_one` instead, which is
//! smaller.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::{Column, Indices, Sparse};
use crate::bytes::num::{remainder, to_u64, to_usize};
use crate::types::DType;
use crate::types::element::Element;

/// The number of indices that are read at a time.
const BATCH: usize = 128;

/// Memory for the next indices.
struct Batch<'m> {
    first: u64,
    numbers: &'m mut [u64],
}

/// Divides `count` indices into batches; `None` after the last. `next` is the first index of the following batch.
fn next_batch<'m>(memory: &'m mut [u64; BATCH], count: u64, next: &mut u64) -> Option<Batch<'m>> {
    let first = *next;
    let left = count.checked_sub(first).filter(|left| *left > 0)?;
    let numbers = to_usize(left.min(to_u64(BATCH))).and_then(|length| memory.get_mut(..length))?;
    *next = first.saturating_add(to_u64(numbers.len()));
    Some(Batch { first, numbers })
}

/// The current row, while values are visited in order.
struct Row<'a> {
    pointers: Column<'a>,
    /// The number of rows.
    count: u64,
    /// The number of the row, counted from 1; 0 before the first value.
    number: u64,
    /// The first value after the row.
    end: u64,
    /// The ends of this row and of neighboring rows.
    ends: [u64; BATCH],
    /// The first row whose end has not been read yet.
    next: u64,
}

impl<'a> Row<'a> {
    const fn before_first(pointers: Column<'a>, count: u64) -> Self {
        Self { pointers, count, number: 0, end: 0, ends: [0; BATCH], next: 0 }
    }

    /// Advances to the row of value `k`, skipping empty rows.
    #[inline]
    fn move_to(&mut self, k: u64) -> Option<()> {
        while self.end <= k {
            if self.number == self.next {
                let batch = next_batch(&mut self.ends, self.count, &mut self.next)?;
                self.pointers.read(batch.first.checked_add(1)?, batch.numbers)?;
            }
            self.end = *self.ends.get(to_usize(remainder(self.number, to_u64(BATCH)))?)?;
            self.number = self.number.wrapping_add(1);
        }
        Some(())
    }
}

impl<'a> Column<'a> {
    /// Returns the bytes from number `i` on.
    fn bytes_from(&self, i: u64) -> Option<&'a [u8]> {
        let offset = i.checked_mul(self.step)?.checked_add(self.start)?;
        self.bytes.get(to_usize(offset)?..)
    }

    /// Reads the numbers from number `first` on as indices. Negative numbers become `u64::MAX`, which no shape
    /// contains. `None` if not all numbers exist.
    #[inline(never)] // a single copy for all types of numbers
    fn read(&self, first: u64, to: &mut [u64]) -> Option<()> {
        match self.dtype {
            DType::U8 => self.read_as(first, to, |n: u8| n.into()),
            DType::U16 => self.read_as(first, to, |n: u16| n.into()),
            DType::U32 => self.read_as(first, to, |n: u32| n.into()),
            DType::U64 => self.read_as(first, to, |n: u64| n),
            DType::I8 => self.read_as(first, to, |n: i8| u64::try_from(n).unwrap_or(u64::MAX)),
            DType::I16 => self.read_as(first, to, |n: i16| u64::try_from(n).unwrap_or(u64::MAX)),
            DType::I32 => self.read_as(first, to, |n: i32| u64::try_from(n).unwrap_or(u64::MAX)),
            DType::I64 => self.read_as(first, to, |n: i64| u64::try_from(n).unwrap_or(u64::MAX)),
            _ => None,
        }
    }

    #[inline(always)] // so that the compiler knows what `index` does
    fn read_as<T: Element>(&self, first: u64, to: &mut [u64], index: impl Fn(T) -> u64) -> Option<()> {
        let mut rest = self.bytes_from(first)?;
        if self.step == to_u64(size_of::<T>()) {
            let bytes = rest.get(..to.len().checked_mul(size_of::<T>())?)?;
            for (to, bytes) in to.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
                *to = index(T::from_bytes(bytes, self.order)?);
            }
            return Some(());
        }
        let step = to_usize(self.step)?;
        for to in to {
            *to = index(T::from_bytes(rest.get(..size_of::<T>())?, self.order)?);
            rest = rest.get(step..).unwrap_or_default();
        }
        Some(())
    }

    /// True if the first `count` numbers exist and `valid` returns true for each batch of them.
    pub(super) fn all(&self, count: u64, mut valid: impl FnMut(&[u64]) -> bool) -> bool {
        let (mut memory, mut first) = ([0; BATCH], 0);
        while let Some(batch) = next_batch(&mut memory, count, &mut first) {
            if self.read(batch.first, batch.numbers).is_none() || !valid(batch.numbers) {
                return false;
            }
        }
        true
    }
}

impl Sparse<'_> {
    /// Replaces a batch with the linear indices of its values in the dense row-major array; the indices have been
    /// checked. `row` is the row of the previous value. `lengths` are the lengths of the dimensions longer than 1, if
    /// values are stored by linear index.
    fn dense_places(&self, batch: Batch<'_>, row: &mut Row<'_>, lengths: &[u64]) -> Option<()> {
        let Batch { first, numbers } = batch;
        match self.indices {
            Indices::Rows { columns, .. } => {
                columns.read(first, numbers)?;
                let width = self.shape.dimension(1)?;
                let (mut k, mut rest) = (first, numbers);
                while !rest.is_empty() {
                    row.move_to(k)?;
                    let start = row.number.wrapping_sub(1).wrapping_mul(width);
                    let count = row.end.wrapping_sub(k).min(to_u64(rest.len()));
                    let (columns, after) = rest.split_at_mut_checked(to_usize(count)?)?;
                    columns.iter_mut().for_each(|place| *place = place.wrapping_add(start));
                    (k, rest) = (k.wrapping_add(count), after);
                }
            }
            Indices::Coordinates { .. } => {
                let mut memory = [0; BATCH];
                let coordinates = memory.get_mut(..numbers.len())?;
                numbers.fill(0);
                for (length, dimension) in self.shape.iter().zip(0..) {
                    let column = self.coordinates(dimension)?;
                    if dimension == 0 {
                        column.read(first, numbers)?;
                        continue;
                    }
                    column.read(first, coordinates)?;
                    for (place, index) in numbers.iter_mut().zip(&*coordinates) {
                        *place = place.wrapping_mul(length).wrapping_add(*index);
                    }
                }
            }
            Indices::Places(places) => {
                places.read(first, numbers)?;
                for place in numbers {
                    let mut rest = core::mem::take(place);
                    for length in lengths {
                        *place = place.wrapping_mul(*length).wrapping_add(rest.checked_rem(*length)?);
                        rest = rest.checked_div(*length)?;
                    }
                }
            }
        }
        Some(())
    }

    /// Writes the tensor to `dst` in native byte order, row-major; `dst` has its dense length and is zero-filled.
    /// `None` if a value is out of bounds, which is possible if the bytes have changed.
    pub(crate) fn scatter(&self, dst: &mut [u8]) -> Option<()> {
        let lengths = self.long_dimensions()?;
        // One arm per size, so that the compiler knows each size.
        match self.values.dtype.byte_size() {
            1 => self.scatter_as::<1>(dst, &lengths),
            2 => self.scatter_as::<2>(dst, &lengths),
            4 => self.scatter_as::<4>(dst, &lengths),
            8 => self.scatter_as::<8>(dst, &lengths),
            16 => self.scatter_as::<16>(dst, &lengths),
            32 => self.scatter_as::<32>(dst, &lengths),
            64 => self.scatter_as::<64>(dst, &lengths),
            _ => self.scatter_as::<128>(dst, &lengths),
        }
    }

    fn scatter_as<const SIZE: usize>(&self, dst: &mut [u8], lengths: &[u64]) -> Option<()> {
        let elements = <[[u8; SIZE]]>::mut_from_bytes(dst).ok()?;
        let Column { order, dtype, step, .. } = self.values;
        let step = to_usize(step)?;
        let pointers = match self.indices {
            Indices::Rows { pointers, .. } => pointers,
            _ => self.values, // not read
        };
        let mut row = Row::before_first(pointers, self.shape.dimension(0).unwrap_or(0));
        let (mut memory, mut next) = ([0; BATCH], 0);
        while let Some(Batch { first, numbers }) = next_batch(&mut memory, self.count, &mut next) {
            self.dense_places(Batch { first, numbers: &mut *numbers }, &mut row, lengths)?;
            let mut values = self.values.bytes_from(first)?;
            let mut put = |place: u64, value: &[u8; SIZE]| {
                let to = elements.get_mut(to_usize(place)?)?;
                *to = *value;
                order.to_native(to, dtype);
                Some(())
            };
            if step == SIZE {
                let (values, _) = <[[u8; SIZE]]>::ref_from_prefix_with_elems(values, numbers.len()).ok()?;
                numbers.iter().zip(values).try_for_each(|(place, value)| put(*place, value))?;
                continue;
            }
            for place in numbers {
                put(*place, values.first_chunk()?)?;
                values = values.get(step..).unwrap_or_default();
            }
        }
        Some(())
    }
}
