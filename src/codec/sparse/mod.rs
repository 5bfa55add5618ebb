//! Sparse tensors: locates indices and values, checks them once, and then iterates over them or materializes the
//! tensor.
#![forbid(unsafe_code)]

#[cfg(not(small))]
mod batches;
#[cfg(small)]
mod one_by_one;

use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::element::Element;
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Layout};

/// Numbers in memory: the first at `start`, then one every `step` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    bytes: &'a [u8],
    start: u64,
    step: u64,
    dtype: DType,
    order: ByteOrder,
}

impl<'a> Column<'a> {
    /// Creates a column of contiguous numbers.
    pub(crate) fn new(bytes: &'a [u8], dtype: DType, order: ByteOrder) -> Self {
        Self { bytes, start: 0, step: dtype.byte_size(), dtype, order }
    }

    /// Returns the bytes of number `i`.
    fn element(&self, i: u64) -> Option<&'a [u8]> {
        let offset = i.checked_mul(self.step)?.checked_add(self.start)?;
        Extent::new(offset, self.dtype.byte_size()).of(self.bytes, 0)
    }

    /// Returns number `i` as an index; `None` if it is negative or does not exist.
    pub(crate) fn index(&self, i: u64) -> Option<u64> {
        let bytes = self.element(i)?;
        match self.dtype {
            DType::U8 => u8::from_bytes(bytes, self.order).map(u64::from),
            DType::U16 => u16::from_bytes(bytes, self.order).map(u64::from),
            DType::U32 => u32::from_bytes(bytes, self.order).map(u64::from),
            DType::U64 => u64::from_bytes(bytes, self.order),
            DType::I8 => u64::try_from(i8::from_bytes(bytes, self.order)?).ok(),
            DType::I16 => u64::try_from(i16::from_bytes(bytes, self.order)?).ok(),
            DType::I32 => u64::try_from(i32::from_bytes(bytes, self.order)?).ok(),
            DType::I64 => u64::try_from(i64::from_bytes(bytes, self.order)?).ok(),
            _ => None,
        }
    }

    /// True if the first `count` numbers are indices of a dimension of length `length`.
    fn all_below(&self, count: u64, length: u64) -> bool {
        self.all(count, |batch| batch.iter().all(|index| *index < length))
    }

    /// Returns the number of contiguous numbers in the bytes.
    fn count(&self) -> u64 {
        to_u64(self.bytes.len()).wrapping_shr(self.dtype.log2_size())
    }
}

/// The place of the indices of the values.
#[derive(Clone, Copy, Debug)]
enum Indices<'a> {
    Rows {
        pointers: Column<'a>,
        columns: Column<'a>,
    },
    Coordinates {
        of_first: Column<'a>,
        to_next_dimension: u64,
    },
    /// Linear indices; the first dimension varies fastest.
    Places(Column<'a>),
}

/// A sparse tensor whose structure has been checked: every index is inside the shape.
///
/// If an index has several values, the last value counts when the tensor is materialized or an element is looked up;
/// the iterator returns all values.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    shape: Shape<'a>,
    values: Column<'a>,
    count: u64,
    indices: Indices<'a>,
    /// The bits of the warnings, as in `Warning::bit`.
    warnings: u32,
}

impl<'a> Sparse<'a> {
    /// Compressed sparse rows: `pointers` contains the start of each row in `columns` and `values`. `None` if the
    /// counts do not match the shape and the values.
    pub(crate) fn csr(
        shape: Shape<'a>,
        values: Column<'a>,
        columns: Column<'a>,
        pointers: Column<'a>,
    ) -> Option<Self> {
        let count = values.count();
        let is_even = columns.count() == count && pointers.count() == shape.dimension(0)?.checked_add(1)?;
        is_even.then_some(Self { shape, values, count, indices: Indices::Rows { pointers, columns }, warnings: 0 })
    }

    /// Coordinates: all coordinates of the first dimension, then all of the next dimension, and so on. `None` if their
    /// count does not match the shape and the values.
    pub(crate) fn coo(shape: Shape<'a>, values: Column<'a>, coordinates: Column<'a>) -> Option<Self> {
        let count = values.count();
        let is_even = coordinates.count() == count.checked_mul(u64::from(shape.rank()))?;
        let to_next_dimension = count.checked_mul(coordinates.step)?;
        let indices = Indices::Coordinates { of_first: coordinates, to_next_dimension };
        is_even.then_some(Self { shape, values, count, indices, warnings: 0 })
    }

    /// Compressed sparse rows in one blob: pointers, columns (both `u64`), values. `None` if the length of the blob
    /// does not match.
    pub(crate) fn packed_csr(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let index = Column { dtype: DType::U64, step: DType::U64.byte_size(), ..blob };
        let columns_at = shape.dimension(0)?.checked_add(1)?.checked_mul(index.step)?;
        let rest = to_u64(blob.bytes.len()).checked_sub(columns_at)?;
        let count = divide(rest, index.step.checked_add(blob.step)?)?;
        let values_at = count.checked_mul(index.step)?.checked_add(columns_at)?;
        let indices = Indices::Rows { pointers: index, columns: Column { start: columns_at, ..index } };
        Some(Self { shape, values: Column { start: values_at, ..blob }, count, indices, warnings: 0 })
    }

    /// Coordinates in one blob: for each value its coordinates (`u64`), then the value.
    pub(crate) fn packed_coo(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let value_at = u64::from(shape.rank()).checked_mul(DType::U64.byte_size())?;
        let step = value_at.checked_add(blob.step)?;
        let count = divide(to_u64(blob.bytes.len()), step)?;
        let of_first = Column { dtype: DType::U64, step, ..blob };
        let indices = Indices::Coordinates { of_first, to_next_dimension: DType::U64.byte_size() };
        Some(Self { shape, values: Column { start: value_at, step, ..blob }, count, indices, warnings: 0 })
    }

    /// Pairs in one blob: the linear index of a value (`u64`, little-endian), then the value. `None` if the length of
    /// the blob does not match.
    pub(crate) fn pairs(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let value_at = DType::U64.byte_size();
        let step = value_at.checked_add(blob.step)?;
        let count = divide(to_u64(blob.bytes.len()), step)?;
        let places = Column { dtype: DType::U64, order: ByteOrder::Little, step, ..blob };
        let values = Column { start: value_at, step, ..blob };
        Some(Self { shape, values, count, indices: Indices::Places(places), warnings: 0 })
    }

    /// Checks every index in one pass, before any index is used.
    pub(crate) fn check(&mut self, fail: impl Fn(ErrorKind) -> Error) -> Result<()> {
        let out_of_range = || fail(ErrorKind::IndexOutOfRange);
        match self.indices {
            Indices::Rows { pointers, columns } => {
                let mut dimensions = self.shape.iter();
                let (Some(rows), Some(width), None) = (dimensions.next(), dimensions.next(), dimensions.next())
                else {
                    return Err(fail(ErrorKind::RankMismatch));
                };
                let (mut last, count) = (0, rows.saturating_add(1));
                let do_increase =
                    |batch: &[u64]| batch.iter().all(|pointer| core::mem::replace(&mut last, *pointer) <= *pointer);
                if pointers.index(0) != Some(0) || !pointers.all(count, do_increase) || last != self.count {
                    return Err(fail(ErrorKind::InvalidRowPointers));
                }
                if !columns.all_below(self.count, width) {
                    return Err(out_of_range());
                }
            }
            Indices::Places(places) => self.check_places(places).ok_or_else(out_of_range)?,
            Indices::Coordinates { .. } => {
                for (dimension, length) in (0_u64..).zip(self.shape) {
                    let coordinates = self.coordinates(dimension).ok_or_else(out_of_range)?;
                    if !coordinates.all_below(self.count, length) {
                        return Err(out_of_range());
                    }
                }
            }
        }
        Ok(())
    }

    /// True if the columns of each row increase. The pointers must have been checked.
    #[cfg(feature = "ztensor2")]
    pub(crate) fn rows_increase(&self) -> bool {
        let Indices::Rows { pointers, columns } = self.indices else { return true };
        let (mut k, mut row, mut row_end, mut last) = (0, 0_u64, 0, None);
        columns.all(self.count, |batch| {
            batch.iter().all(|column| {
                while row_end <= k {
                    row = row.saturating_add(1);
                    let Some(end) = pointers.index(row) else { return false };
                    (row_end, last) = (end, None);
                }
                k = k.saturating_add(1);
                last.replace(*column).is_none_or(|last| last < *column)
            })
        })
    }

    /// Checks that linear indices are inside the shape, and records warnings if they are not sorted or are repeated.
    fn check_places(&mut self, places: Column<'a>) -> Option<()> {
        let elements = self.shape.element_count()?;
        let mut last = None;
        for k in 0..self.count {
            let place = places.index(k).filter(|&place| place < elements)?;
            self.warnings |= match last {
                Some(last) if place < last => Warning::UnsortedIndices.bit(),
                Some(last) if place == last => Warning::RepeatedIndices.bit(),
                _ => 0,
            };
            last = Some(place);
        }
        Some(())
    }

    /// Returns the bytes of the value stored at `index`, the last one if there are several; `None` if no value is
    /// stored there.
    ///
    /// Logarithmic in the number of values for index-value pairs that are sorted by index, as in most files; linear
    /// otherwise.
    #[must_use]
    pub fn get(&self, index: &[u64]) -> Option<&'a [u8]> {
        if self.shape.rank() != u32::try_from(index.len()).ok()? {
            return None;
        }
        if let Indices::Places(_) = self.indices {
            let (mut place, mut stride) = (0_u64, 1_u64);
            for (i, length) in index.iter().zip(self.shape) {
                place = i.checked_mul(stride)?.checked_add(place).filter(|_| *i < length)?;
                stride = stride.checked_mul(length)?;
            }
            return self.at(place);
        }
        let is_there = |entry: &Entry<'_, 'a>| (0..).zip(index).all(|(d, i)| entry.index(d) == Some(*i));
        self.iter().filter(is_there).last()?.bytes()
    }

    /// Returns the value at a linear index; the first dimension varies fastest.
    pub(crate) fn at(&self, place: u64) -> Option<&'a [u8]> {
        let Indices::Places(places) = self.indices else { return None };
        if self.warnings & Warning::UnsortedIndices.bit() != 0 {
            let last = (0..self.count).rev().find(|&k| places.index(k) == Some(place))?;
            return self.values.element(last);
        }
        // Finds the first pair with a larger index: the pair before it is the last at this index.
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.saturating_add(high.saturating_sub(low) >> 1);
            if places.index(middle)? > place {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        let last = low.checked_sub(1)?;
        if places.index(last)? == place { self.values.element(last) } else { None }
    }

    /// Returns the coordinates of all values in a dimension; `None` if the indices are not coordinates.
    fn coordinates(&self, dimension: u64) -> Option<Column<'a>> {
        let Indices::Coordinates { of_first, to_next_dimension } = self.indices else { return None };
        let start = dimension.checked_mul(to_next_dimension)?; // the first dimension is at the beginning
        Some(Column { start, ..of_first })
    }

    fn coordinate(&self, k: u64, dimension: u64) -> Option<u64> {
        match self.indices {
            Indices::Coordinates { .. } => self.coordinates(dimension)?.index(k),
            Indices::Rows { columns, .. } => columns.index(k),
            Indices::Places(places) => {
                let mut rest = places.index(k)?;
                let mut lengths = self.shape.iter();
                for _ in 0..dimension {
                    rest = rest.checked_div(lengths.next()?)?;
                }
                rest.checked_rem(lengths.next()?)
            }
        }
    }

    /// Returns the lengths of the dimensions longer than 1, if values are stored by linear index. A shape may have any
    /// number of dimensions, but at most 64 of them are longer than 1, since a linear index has 64 bits.
    fn long_dimensions(&self) -> Option<heapless::Vec<u64, 64>> {
        let mut lengths = heapless::Vec::new();
        if matches!(self.indices, Indices::Places(_)) && self.count > 0 {
            for length in self.shape.iter().filter(|length| *length != 1) {
                lengths.push(length).ok()?;
            }
        }
        Some(lengths)
    }

    /// Returns the shape of the tensor.
    #[must_use]
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// Returns the dtype of the values.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.values.dtype
    }

    /// Returns the byte order of the values, as in [`Entry::bytes`].
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.values.order
    }

    /// Returns [`Layout::SparseCsr`], [`Layout::SparseCoo`] or [`Layout::IndexValue`].
    #[must_use]
    pub const fn layout(&self) -> Layout {
        match self.indices {
            Indices::Rows { .. } => Layout::SparseCsr,
            Indices::Coordinates { .. } => Layout::SparseCoo,
            Indices::Places(_) => Layout::IndexValue,
        }
    }

    /// Returns the warnings that the check produced.
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        Warnings::from_bits(self.warnings)
    }

    /// Returns the number of stored values, including zeros and duplicate indices.
    #[must_use]
    pub const fn stored(&self) -> u64 {
        self.count
    }

    /// Returns an iterator over the values with their indices, in stored order.
    #[must_use]
    pub const fn iter(&self) -> Entries<'_, 'a> {
        Entries { sparse: self, next: 0, row: 0 }
    }

    /// Iterates from value `next` on; that value must not be in a row before `row`.
    #[cfg(feature = "capi")]
    pub(crate) const fn iter_from(&self, next: u64, row: u64) -> Entries<'_, 'a> {
        Entries { sparse: self, next, row }
    }
}

/// Returns `n / by` if the division is exact.
fn divide(n: u64, by: u64) -> Option<u64> {
    (n.checked_rem(by)? == 0).then_some(n.checked_div(by)?)
}

impl<'s, 'a> IntoIterator for &'s Sparse<'a> {
    type Item = Entry<'s, 'a>;
    type IntoIter = Entries<'s, 'a>;

    fn into_iter(self) -> Entries<'s, 'a> {
        self.iter()
    }
}

/// An iterator over the values of a [`Sparse`] tensor with their indices.
#[derive(Clone, Debug)]
pub struct Entries<'s, 'a> {
    sparse: &'s Sparse<'a>,
    next: u64,
    row: u64,
}

impl<'s, 'a> Iterator for Entries<'s, 'a> {
    type Item = Entry<'s, 'a>;

    fn next(&mut self) -> Option<Entry<'s, 'a>> {
        if self.next >= self.sparse.count {
            return None;
        }
        let k = self.next;
        self.next = k.saturating_add(1);
        if let Indices::Rows { pointers, .. } = self.sparse.indices {
            // Moves to the row that ends after `k`, skipping empty rows.
            while pointers.index(self.row.saturating_add(1))? <= k {
                self.row = self.row.saturating_add(1);
            }
        }
        Some(Entry { sparse: self.sparse, k, row: self.row })
    }
}

#[cfg(feature = "capi")]
impl Entries<'_, '_> {
    /// Returns the arguments with which [`Sparse::iter_from`] resumes here.
    pub(crate) const fn position(&self) -> (u64, u64) {
        (self.next, self.row)
    }
}

/// A stored value of a [`Sparse`] tensor.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'s, 'a> {
    sparse: &'s Sparse<'a>,
    k: u64,
    row: u64,
}

impl<'a> Entry<'_, 'a> {
    /// Returns the index in a dimension; `None` if the dimension does not exist. For pairs, linear in `dimension`.
    #[must_use]
    pub fn index(&self, dimension: u32) -> Option<u64> {
        if dimension >= self.sparse.shape.rank() {
            return None;
        }
        match (self.sparse.indices, dimension) {
            (Indices::Rows { .. }, 0) => Some(self.row),
            _ => self.sparse.coordinate(self.k, u64::from(dimension)),
        }
    }

    /// Writes all indices, one per dimension, to `dst`, and returns the part written; `None` if `dst` is too short.
    #[must_use]
    pub fn indices<'r>(&self, dst: &'r mut [u64]) -> Option<&'r mut [u64]> {
        let dst = dst.get_mut(..usize::try_from(self.sparse.shape.rank()).ok()?)?;
        if let Indices::Places(places) = self.sparse.indices {
            let mut rest = places.index(self.k)?;
            for (index, length) in dst.iter_mut().zip(self.sparse.shape) {
                *index = rest.checked_rem(length)?;
                rest = rest.checked_div(length)?;
            }
        } else {
            for (index, dimension) in dst.iter_mut().zip(0..) {
                *index = self.index(dimension)?;
            }
        }
        Some(dst)
    }

    /// Returns the value; `None` if `T` cannot read the dtype.
    #[must_use]
    pub fn value<T: Element>(&self) -> Option<T> {
        if !T::reads(self.sparse.values.dtype) {
            return None;
        }
        T::from_bytes(self.sparse.values.element(self.k)?, self.sparse.values.order)
    }

    /// Returns the bytes of the value as stored.
    #[must_use]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        self.sparse.values.element(self.k)
    }
}

#[cfg(test)]
mod tests;
