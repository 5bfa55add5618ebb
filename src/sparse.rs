//! Sparse tensors: where their indices and values stand, checked once, then iterated or made dense.
//!
//! Depends on `warning`, `error`, `bytes`, `vocab`, `shape`, `element`.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::Shape;
use crate::vocab::{ByteOrder, DType, Layout};
use crate::warning::{Warning, Warnings};

/// Numbers in memory: the first at `start`, and one every `step` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    bytes: &'a [u8],
    start: u64,
    step: u64,
    dtype: DType,
    order: ByteOrder,
}

impl<'a> Column<'a> {
    /// Numbers one after the other.
    pub(crate) fn new(bytes: &'a [u8], dtype: DType, order: ByteOrder) -> Self {
        Self { bytes, start: 0, step: dtype.size(), dtype, order }
    }

    /// The bytes of number `i`.
    fn element(&self, i: u64) -> Option<&'a [u8]> {
        let offset = i.checked_mul(self.step)?.checked_add(self.start)?;
        Extent::new(offset, self.dtype.size()).of(self.bytes, 0)
    }

    /// Number `i` as an index; `None` for one below 0, too.
    fn index(&self, i: u64) -> Option<u64> {
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

    /// How many numbers there are, one after the other.
    fn count(&self) -> u64 {
        to_u64(self.bytes.len()).wrapping_shr(self.dtype.log2_size())
    }
}

/// Where the indices of the values stand.
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
    /// Places among all elements, the first dimension the fastest.
    Places(Column<'a>),
}

/// A sparse tensor whose structure has been checked: every index is inside the shape.
///
/// Where one place is given several values, the last of them counts when it is made dense or looked up; the
/// iterator gives them all.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    shape: Shape<'a>,
    values: Column<'a>,
    count: u64,
    indices: Indices<'a>,
    /// `Warning::bit`s.
    warnings: u32,
}

impl<'a> Sparse<'a> {
    /// Compressed sparse rows: `pointers` says where each row of `columns` and `values` begins. `None`
    /// where there are not as many of them as the shape and the values ask for.
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

    /// Coordinates: all those of the first dimension, then all of the next, and so on. `None` where they
    /// are not as many as the shape and the values ask for.
    pub(crate) fn coo(shape: Shape<'a>, values: Column<'a>, coordinates: Column<'a>) -> Option<Self> {
        let count = values.count();
        let is_even = coordinates.count() == count.checked_mul(u64::from(shape.rank()))?;
        let to_next_dimension = count.checked_mul(coordinates.step)?;
        let indices = Indices::Coordinates { of_first: coordinates, to_next_dimension };
        is_even.then_some(Self { shape, values, count, indices, warnings: 0 })
    }

    /// Compressed sparse rows in one blob: pointers, columns (`u64` both), values. `None` where the bytes
    /// do not come out even.
    pub(crate) fn packed_csr(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let index = Column { dtype: DType::U64, step: DType::U64.size(), ..blob };
        let columns_at = shape.dimension(0)?.checked_add(1)?.checked_mul(index.step)?;
        let rest = to_u64(blob.bytes.len()).checked_sub(columns_at)?;
        let count = divide(rest, index.step.checked_add(blob.step)?)?;
        let values_at = count.checked_mul(index.step)?.checked_add(columns_at)?;
        let indices = Indices::Rows { pointers: index, columns: Column { start: columns_at, ..index } };
        Some(Self { shape, values: Column { start: values_at, ..blob }, count, indices, warnings: 0 })
    }

    /// Coordinates in one blob: for each value its coordinates (`u64`), then the value.
    pub(crate) fn packed_coo(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let value_at = u64::from(shape.rank()).checked_mul(DType::U64.size())?;
        let step = value_at.checked_add(blob.step)?;
        let count = divide(to_u64(blob.bytes.len()), step)?;
        let of_first = Column { dtype: DType::U64, step, ..blob };
        let indices = Indices::Coordinates { of_first, to_next_dimension: DType::U64.size() };
        Some(Self { shape, values: Column { start: value_at, step, ..blob }, count, indices, warnings: 0 })
    }

    /// Pairs in one blob: the place of a value among all elements (`u64`, little-endian), then the value.
    /// `None` where the bytes do not come out even.
    pub(crate) fn pairs(shape: Shape<'a>, blob: Column<'a>) -> Option<Self> {
        let value_at = DType::U64.size();
        let step = value_at.checked_add(blob.step)?;
        let count = divide(to_u64(blob.bytes.len()), step)?;
        let places = Column { dtype: DType::U64, order: ByteOrder::Little, step, ..blob };
        let values = Column { start: value_at, step, ..blob };
        Some(Self { shape, values, count, indices: Indices::Places(places), warnings: 0 })
    }

    /// Checks every index, in one pass: nothing indexes with them before.
    pub(crate) fn check(&mut self, fail: impl Fn(ErrorKind) -> Error) -> Result<()> {
        let out_of_range = || fail(ErrorKind::IndexOutOfRange);
        match self.indices {
            Indices::Rows { pointers, columns } => {
                let mut dimensions = self.shape.iter();
                let (Some(rows), Some(width), None) = (dimensions.next(), dimensions.next(), dimensions.next())
                else {
                    return Err(fail(ErrorKind::RankMismatch));
                };
                let mut last = 0;
                for row in 0..=rows {
                    let pointer = pointers.index(row).filter(|&pointer| pointer >= last && (row > 0 || pointer == 0));
                    last = pointer.ok_or_else(|| fail(ErrorKind::InvalidRowPointers))?;
                }
                if last != self.count {
                    return Err(fail(ErrorKind::InvalidRowPointers));
                }
                for k in 0..self.count {
                    columns.index(k).filter(|&column| column < width).ok_or_else(out_of_range)?;
                }
            }
            Indices::Places(places) => self.check_places(places).ok_or_else(out_of_range)?,
            Indices::Coordinates { .. } => {
                for (dimension, length) in (0_u64..).zip(self.shape) {
                    for k in 0..self.count {
                        self.coordinate(k, dimension).filter(|&index| index < length).ok_or_else(out_of_range)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks places: that they are inside the shape; whether they rise.
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

    /// The bytes of the value that is stored for an index: of several the last; `None` where there is none.
    ///
    /// Of pairs of index and value whose indices rise, as they do in most files, the time is logarithmic in their
    /// number; else it is linear.
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

    /// The value at a place among all elements, the first dimension the fastest.
    pub(crate) fn at(&self, place: u64) -> Option<&'a [u8]> {
        let Indices::Places(places) = self.indices else { return None };
        if self.warnings & Warning::UnsortedIndices.bit() != 0 {
            let last = (0..self.count).rev().find(|&k| places.index(k) == Some(place))?;
            return self.values.element(last);
        }
        // The first whose place lies behind: the last at the place stands before it.
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.saturating_add(high.saturating_sub(low).wrapping_shr(1));
            if places.index(middle)? > place {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        let last = low.checked_sub(1)?;
        if places.index(last)? == place { self.values.element(last) } else { None }
    }

    fn coordinate(&self, k: u64, dimension: u64) -> Option<u64> {
        match self.indices {
            Indices::Coordinates { of_first, to_next_dimension } => {
                let start = dimension.checked_mul(to_next_dimension)?.checked_add(of_first.start)?;
                Column { start, ..of_first }.index(k)
            }
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

    /// The place of an entry in the dense array, row-major. `lengths` are those of the dimensions that have more
    /// than one index, where it is by their places that values are stored.
    fn dense_place(&self, entry: &Entry<'_, 'a>, lengths: &[u64]) -> Option<u64> {
        let mut place = 0_u64;
        if let Indices::Places(places) = self.indices {
            let mut rest = places.index(entry.k)?;
            for length in lengths {
                place = place.checked_mul(*length)?.checked_add(rest.checked_rem(*length)?)?;
                rest = rest.checked_div(*length)?;
            }
            return Some(place);
        }
        for (length, dimension) in self.shape.iter().zip(0_u32..) {
            place = place.checked_mul(length)?.checked_add(entry.index(dimension)?)?;
        }
        Some(place)
    }

    /// The shape of the tensor.
    #[must_use]
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// The type of the values.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.values.dtype
    }

    /// The byte order of the values, as [`Entry::bytes`] gives them.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.values.order
    }

    /// [`Layout::SparseCsr`], [`Layout::SparseCoo`] or [`Layout::IndexValue`].
    #[must_use]
    pub const fn layout(&self) -> Layout {
        match self.indices {
            Indices::Rows { .. } => Layout::SparseCsr,
            Indices::Coordinates { .. } => Layout::SparseCoo,
            Indices::Places(_) => Layout::IndexValue,
        }
    }

    /// What the check found to warn of.
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        Warnings::from_bits(self.warnings)
    }

    /// How many values are stored, zeros and repeated places included.
    #[must_use]
    pub const fn stored(&self) -> u64 {
        self.count
    }

    /// The values with their indices, in stored order.
    #[must_use]
    pub const fn iter(&self) -> Entries<'_, 'a> {
        Entries { sparse: self, next: 0, row: 0 }
    }

    /// The values from number `next` on, which does not stand in a row before `row`.
    #[cfg(feature = "capi")]
    pub(crate) const fn iter_from(&self, next: u64, row: u64) -> Entries<'_, 'a> {
        Entries { sparse: self, next, row }
    }

    /// Writes the tensor to `dst`, which has its dense length and is zero: native byte order, row-major.
    /// `None` where a value has no place, as changed bytes may have it.
    pub(crate) fn scatter(&self, dst: &mut [u8]) -> Option<()> {
        // There may be any number of dimensions, but of those with several indices no more than a place has bits.
        let mut lengths = heapless::Vec::<u64, 64>::new();
        if matches!(self.indices, Indices::Places(_)) && self.count > 0 {
            for length in self.shape.iter().filter(|length| *length != 1) {
                lengths.push(length).ok()?;
            }
        }
        for entry in self.iter() {
            let size = self.values.dtype.size();
            let to =
                self.dense_place(&entry, &lengths).and_then(|place| place.checked_mul(size)).and_then(|offset| {
                    let from = to_usize(offset)?;
                    dst.get_mut(from..)?.get_mut(..to_usize(size)?)
                });
            let (to, from) = (to?, self.values.element(entry.k)?);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            self.values.order.to_native(to, self.values.dtype);
        }
        Some(())
    }
}

/// `n / by`, where it comes out even.
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

/// The values of a [`Sparse`] tensor with their indices.
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
            // The row whose end lies behind `k`; rows without values are passed.
            while pointers.index(self.row.saturating_add(1))? <= k {
                self.row = self.row.saturating_add(1);
            }
        }
        Some(Entry { sparse: self.sparse, k, row: self.row })
    }
}

#[cfg(feature = "capi")]
impl Entries<'_, '_> {
    /// What [`Sparse::iter_from`] takes.
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
    /// The index in a dimension; `None` where there is no such dimension. Of pairs, linear in `dimension`.
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

    /// All indices, one for each dimension, written to `dst`; `None` where it has fewer places.
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

    /// The value; `None` where `T` does not read the dtype.
    #[must_use]
    pub fn value<T: Element>(&self) -> Option<T> {
        if !T::reads(self.sparse.values.dtype) {
            return None;
        }
        T::from_bytes(self.sparse.values.element(self.k)?, self.sparse.values.order)
    }

    /// The bytes of the value, as they are stored.
    #[must_use]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        self.sparse.values.element(self.k)
    }
}
