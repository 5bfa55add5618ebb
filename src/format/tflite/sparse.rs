//! Sparse tensors: their description, their components, and their indices.
//!
//! The dimensions of the tensor, and those of blocks, are traversed in an order that the file states. A dense dimension
//! has all its places; a sparse one has the places in a vector of indices, and a vector of segments says where the indices
//! of each place before begin and end. The values are those of the last dimension, one after the other.
#![forbid(unsafe_code)]

use super::{TfliteFile, tensor};
use crate::bytes::extent::Extent;
use crate::bytes::num::{Product, quotient, remainder, to_usize};
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::{Field, Offsets, Table};
use crate::codec::tflite::schema::{dimension, sparsity, tensor as field};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{ComponentRecord, Cursor, TensorRecord};
use crate::types::DType;
use crate::types::shape::Shape;

pub(super) const LAYOUT: &[u8] = b"tflite.sparse";

/// The most dimensions, those of blocks included. This limit is our own.
const MOST: usize = 16;

/// The roles of the components of each dimension.
const ROLES: [[&str; 2]; MOST] = [
    ["segments.0", "indices.0"],
    ["segments.1", "indices.1"],
    ["segments.2", "indices.2"],
    ["segments.3", "indices.3"],
    ["segments.4", "indices.4"],
    ["segments.5", "indices.5"],
    ["segments.6", "indices.6"],
    ["segments.7", "indices.7"],
    ["segments.8", "indices.8"],
    ["segments.9", "indices.9"],
    ["segments.10", "indices.10"],
    ["segments.11", "indices.11"],
    ["segments.12", "indices.12"],
    ["segments.13", "indices.13"],
    ["segments.14", "indices.14"],
    ["segments.15", "indices.15"],
];

/// A vector of segments or indices.
#[derive(Clone, Copy)]
struct Numbers {
    extent: Extent,
    dtype: DType,
}

impl Numbers {
    /// The number of numbers.
    fn count(&self) -> u64 {
        quotient(self.extent.length, self.dtype.byte_size())
    }
}

/// A dimension in the order of traversal.
enum Dimension {
    Dense(u64),
    Sparse { segments: Numbers, indices: Numbers },
}

/// The lengths of the dimensions, in the order of traversal.
struct Lengths {
    all: [u64; MOST],
    count: usize,
}

impl<'a> TfliteFile<'a> {
    fn dimensions(&self, table: &Table<'a>) -> Result<(Table<'a>, Offsets)> {
        let missing = self.error(ErrorKind::MissingKey, Part::Layout, table.at);
        let sparsity = table.table(field::SPARSITY)?.ok_or(missing)?;
        let dimensions = sparsity.offsets(sparsity::DIMENSIONS)?.unwrap_or_default();
        Ok((sparsity, dimensions))
    }

    /// Reads a dimension; `None` after the last.
    fn dimension(&self, dimensions: &Offsets, number: u32) -> Result<Option<Dimension>> {
        let Some(place) = dimensions.get(number) else { return Ok(None) };
        let table = self.model.flatbuffer().table(place, Part::Layout)?;
        match table.i8(dimension::FORMAT)? {
            0 => {
                let size = u64::try_from(table.i32(dimension::DENSE_SIZE)?);
                let negative = self.error(ErrorKind::NegativeLength, Part::Layout, table.at);
                size.map(|size| Some(Dimension::Dense(size))).map_err(|_| negative)
            }
            1 => {
                let segments = self.numbers(&table, dimension::SEGMENTS)?;
                let indices = self.numbers(&table, dimension::INDICES)?;
                Ok(Some(Dimension::Sparse { segments, indices }))
            }
            _ => Err(self.error(ErrorKind::UnsupportedLayout, Part::Layout, table.at)),
        }
    }

    /// Reads a vector of segments or indices: its kind, and the table that it is in.
    fn numbers(&self, table: &Table<'a>, [kind, vector]: [Field; 2]) -> Result<Numbers> {
        let (dtype, size) = match table.i8(kind)? {
            1 => (DType::I32, 4),
            2 => (DType::U16, 2),
            3 => (DType::U8, 1),
            _ => return Err(self.error(ErrorKind::IndexType, Part::Components, table.at)),
        };
        let missing = self.error(ErrorKind::MissingComponent, Part::Components, table.at);
        let vector = table.table(vector)?.ok_or(missing)?;
        let none = Extent::new(vector.at.into(), 0);
        let extent = vector.extent(dimension::VALUES, size, self.model.input.length())?.unwrap_or(none);
        Ok(Numbers { extent, dtype })
    }

    /// Checks the description of a sparse tensor of a shape, and the number of its values in `length` bytes.
    pub(super) fn check_sparse(&self, table: &Table<'a>, shape: &Shape<'a>, dtype: DType, length: u64) -> Result<()> {
        let (lengths, dimensions) = (self.lengths(table, shape)?, self.dimensions(table)?.1);
        let mut leaves = Product::ONE;
        let wrong = self.error(ErrorKind::CountMismatch, Part::Components, table.at);
        for number in 0..dimensions.count {
            match self.dimension(&dimensions, number)? {
                None => break,
                Some(Dimension::Dense(size)) => {
                    let expected = to_usize(number.into()).and_then(|number| lengths.all.get(number));
                    if expected != Some(&size) {
                        return Err(wrong);
                    }
                    leaves.multiply(size);
                }
                Some(Dimension::Sparse { segments, indices }) => {
                    if leaves.total().and_then(|leaves| leaves.checked_add(1)) != Some(segments.count()) {
                        return Err(wrong);
                    }
                    leaves = Product::of(indices.count());
                }
            }
        }
        let expected = leaves.total().and_then(|count| dtype.byte_length(count));
        let wrong = self.error(ErrorKind::SizeMismatch, Part::Layout, table.at);
        if expected == Some(length) { Ok(()) } else { Err(wrong) }
    }

    /// Checks the order of the dimensions and the blocks, and returns the lengths of the dimensions in this order.
    fn lengths(&self, table: &Table<'a>, shape: &Shape<'a>) -> Result<Lengths> {
        let (sparsity, dimensions) = self.dimensions(table)?;
        let fail = |kind| self.error(kind, Part::Layout, sparsity.at);
        let order = sparsity.vector(sparsity::TRAVERSAL_ORDER, 4)?.unwrap_or_default();
        let blocks = sparsity.vector(sparsity::BLOCK_MAP, 4)?.unwrap_or_default();
        let rank = to_usize(shape.rank().into()).ok_or(fail(ErrorKind::TooMany))?;
        let count = u64::from(shape.rank()).saturating_add(blocks.count.into());
        if [order.count, dimensions.count].iter().any(|&other| u64::from(other) != count) {
            return Err(fail(ErrorKind::RankMismatch));
        }
        let count = to_usize(count).filter(|count| *count <= MOST).ok_or(fail(ErrorKind::TooMany))?;
        let number = |bytes: &[u8], index: usize| {
            let number = bytes.get(index.checked_mul(4)?..)?.first_chunk()?;
            usize::try_from(i32::from_le_bytes(*number)).ok()
        };
        // The lengths of the tensor, of which blocks take their share.
        let mut of_tensor = [0; MOST];
        of_tensor.iter_mut().zip(*shape).for_each(|(to, length)| *to = length);
        let mut lengths = Lengths { all: [0; MOST], count };
        let mut seen = 0_u32;
        for (place, length) in lengths.all.iter_mut().take(count).enumerate().rev() {
            let dimension = number(order.bytes, place).filter(|dimension| (*dimension < rank) == (place < rank));
            let dimension = dimension.filter(|dimension| *dimension < count).ok_or(fail(ErrorKind::Malformed))?;
            let bit = 1_u32.wrapping_shl(u32::try_from(dimension).unwrap_or(0));
            if seen & bit != 0 {
                return Err(fail(ErrorKind::Malformed));
            }
            seen |= bit;
            // Blocks come last, and are met first.
            let Some(block) = dimension.checked_sub(rank) else {
                *length = of_tensor.get(dimension).copied().unwrap_or(0);
                continue;
            };
            let Some(Dimension::Dense(size)) = self.dimension(&dimensions, u32::try_from(place).unwrap_or(0))? else {
                return Err(fail(ErrorKind::UnsupportedLayout));
            };
            let whole = number(blocks.bytes, block).filter(|dimension| *dimension < rank);
            let whole = whole.and_then(|dimension| of_tensor.get_mut(dimension)).ok_or(fail(ErrorKind::Malformed))?;
            if size == 0 || remainder(*whole, size) != 0 {
                return Err(fail(ErrorKind::PartialBlock));
            }
            *whole = quotient(*whole, size);
            *length = size;
        }
        Ok(lengths)
    }

    /// Reads a component behind the values.
    pub(super) fn sparse_component(
        &self,
        table: &Table<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let (_, dimensions) = self.dimensions(table)?;
        loop {
            let number = cursor.index.wrapping_sub(1);
            let (dimension, is_indices) = (number >> 1, number & 1 != 0);
            let Some(found) = self.dimension(&dimensions, dimension)? else { return Ok(false) };
            let Dimension::Sparse { segments, indices } = found else {
                cursor.index = cursor.index.saturating_add(2);
                continue;
            };
            cursor.index = cursor.index.saturating_add(1);
            let roles = to_usize(dimension.into()).and_then(|dimension| ROLES.get(dimension));
            let Some([of_segments, of_indices]) = roles else { return Ok(false) };
            let (role, numbers) = if is_indices { (of_indices, indices) } else { (of_segments, segments) };
            *part = ComponentRecord::blank();
            part.role = Utf8::new(role);
            part.dtype = Some(numbers.dtype);
            part.storage = part.dtype;
            part.set_extent(numbers.extent);
            return Ok(true);
        }
    }

    /// Checks the segments and the indices: linear in their number.
    pub(super) fn verify_sparse(&self, tensor: &TensorRecord<'a>) -> Result<()> {
        let table = self.table(tensor)?;
        let lengths = self.lengths(&table, &tensor::shape(&table)?)?;
        let (_, dimensions) = self.dimensions(&table)?;
        for (number, length) in lengths.all.iter().take(lengths.count).enumerate() {
            let dimension = self.dimension(&dimensions, u32::try_from(number).unwrap_or(u32::MAX))?;
            let Some(Dimension::Sparse { segments, indices }) = dimension else { continue };
            let fail = |kind| Error::at(kind, Format::Tflite, Part::Data, segments.extent.offset);
            let bytes = |numbers: Numbers| self.model.input.get(numbers.extent).ok_or(fail(ErrorKind::NotInMemory));
            let (ends, places) = (bytes(segments)?, bytes(indices)?);
            let mut ends = each(ends, segments.dtype);
            let mut places = each(places, indices.dtype);
            let mut last = ends.next();
            if last != Some(Some(0)) {
                return Err(fail(ErrorKind::InvalidRowPointers));
            }
            for end in ends {
                let count = end.zip(last.flatten()).and_then(|(end, start)| end.checked_sub(start));
                let count = count.ok_or(fail(ErrorKind::InvalidRowPointers))?;
                let mut before = None;
                for _ in 0..count {
                    let place = places.next().ok_or(fail(ErrorKind::InvalidRowPointers))?;
                    let place = place.filter(|place| place < length).ok_or(fail(ErrorKind::IndexOutOfRange))?;
                    if before.is_some_and(|before| before >= place) {
                        return Err(fail(ErrorKind::IndexOrder));
                    }
                    before = Some(place);
                }
                last = Some(end);
            }
            if places.next().is_some() {
                return Err(fail(ErrorKind::InvalidRowPointers));
            }
        }
        Ok(())
    }
}

/// Returns the numbers in a vector; `None` for one that is negative.
fn each(bytes: &[u8], dtype: DType) -> impl Iterator<Item = Option<u64>> {
    let size = to_usize(dtype.byte_size()).unwrap_or(1).max(1);
    bytes.chunks_exact(size).map(move |number| match *number {
        [a, b, c, d] => u64::try_from(i32::from_le_bytes([a, b, c, d])).ok(),
        [a, b] => Some(u16::from_le_bytes([a, b]).into()),
        [a] => Some(a.into()),
        _ => None,
    })
}
