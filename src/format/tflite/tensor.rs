//! A listed tensor: the place of its bytes, its type and its shape, and its components.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

use super::external::External;
use super::types::ElementType;
use super::{Constant, TfliteFile, sparse, texts};
use crate::bytes::extent::Extent;
use crate::bytes::num::Product;
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::Table;
use crate::codec::tflite::schema::tensor as field;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::format::{ComponentRecord, Cursor, TensorRecord};
use crate::types::Layout;
use crate::types::shape::Shape;

/// The layout of a tensor whose external buffer is packed in a way that only its program knows.
const PACKED: &str = "tflite.packed";

/// The bytes of a listed tensor.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    Here(Extent),
    /// In another file.
    External(External<'a>),
}

impl Bytes<'_> {
    pub(super) const fn extent(&self) -> Extent {
        match self {
            Self::Here(extent) => *extent,
            Self::External(external) => external.extent,
        }
    }
}

/// The position of a tensor's table.
pub(super) fn position(tensor: &TensorRecord<'_>) -> u32 {
    u32::try_from(tensor.at).unwrap_or(u32::MAX)
}

/// Reads a dimension; also returns the bytes after it.
fn read_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((u64::try_from(i32::from_le_bytes(*length)).ok()?, rest)) // not negative: checked on opening
}

/// Returns the shape of a tensor. Its dimensions end before a negative length.
pub(super) fn shape<'a>(table: &Table<'a>) -> Result<Shape<'a>> {
    let lengths = table.vector(field::SHAPE, 4)?.unwrap_or_default();
    Ok(Shape::new(lengths.bytes, lengths.count, read_length))
}

impl<'a> TfliteFile<'a> {
    /// Returns the bytes of a tensor; `None` if it is not listed.
    pub(super) fn bytes(&self, table: &Table<'a>) -> Result<Option<Bytes<'a>>> {
        let here = self.model.buffer(table.u32(field::BUFFER)?)?;
        let id = table.u32(field::EXTERNAL_BUFFER)?;
        if id == 0 {
            return Ok(here.map(Bytes::Here));
        }
        if here.is_some() {
            return Err(self.error(ErrorKind::HeadersDiffer, Part::Shard, table.at));
        }
        let Some(external) = self.external(id)? else {
            return Err(self.error(ErrorKind::UnknownShard, Part::Shard, table.at));
        };
        Ok(Some(Bytes::External(external)))
    }

    /// Checks the type, the shape and the length of a tensor, and fills in its record.
    pub(super) fn fill(
        &self,
        Constant { place, table, bytes }: &Constant<'a>,
        name: &'a [u8],
        index: u32,
        tensor: &mut TensorRecord<'a>,
    ) -> Result<()> {
        let fail = |kind, item| Err(self.error(kind, item, table.at));
        let number = table.i8(field::TYPE)?;
        let Some(element) = ElementType::of(number) else { return fail(ErrorKind::UnknownDType, Part::DType) };
        let shape = shape(table)?;
        let (mut count, mut rank) = (Product::ONE, 0_u32);
        for length in shape {
            count.multiply(length);
            rank = rank.saturating_add(1);
        }
        if rank < shape.rank() {
            return fail(ErrorKind::NegativeLength, Part::Shape);
        }
        tensor.name = Utf8::known(name); // checked when the file was opened
        tensor.at = table.at.into();
        tensor.index = index;
        tensor.attributes = place.subgraph;
        tensor.shape = shape;
        let is_sparse = table.table(field::SPARSITY)?.is_some();
        let is_plain = !is_sparse && matches!(element, ElementType::Number(_));
        if !is_plain && matches!(bytes, Bytes::External(_)) {
            return fail(ErrorKind::UnsupportedLayout, Part::Shard);
        }
        let ElementType::Number(dtype) = element else {
            if is_sparse {
                return fail(ErrorKind::UnexpectedType, Part::DType);
            }
            tensor.layout = Layout::Other;
            tensor.layout_name = Utf8::known(texts::LAYOUT);
            return Ok(());
        };
        tensor.dtype = Some(dtype);
        if is_sparse {
            tensor.layout = Layout::Other;
            tensor.layout_name = Utf8::known(sparse::LAYOUT);
            return self.check_sparse(table, &shape, dtype, bytes.extent().length);
        }
        let length = count.total().and_then(|count| dtype.byte_length(count));
        let Some(length) = length else { return fail(ErrorKind::ShapeOverflow, Part::Shape) };
        match bytes {
            Bytes::External(external) if external.is_packed => {
                tensor.layout = Layout::Other;
                tensor.layout_name = Utf8::new(PACKED);
            }
            _ if bytes.extent().length != length => return fail(ErrorKind::SizeMismatch, Part::Shape),
            Bytes::Here(extent) => tensor.components = u32::try_from(extent.offset).unwrap_or(0),
            Bytes::External(_) => {}
        }
        Ok(())
    }

    /// Returns the table of a listed tensor.
    pub(super) fn table(&self, tensor: &TensorRecord<'a>) -> Result<Table<'a>> {
        self.model.flatbuffer().table_at(position(tensor), Part::Tensor)
    }

    /// Reads the next component of a tensor.
    pub(super) fn component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        // Dense elements are at a place that is known, and as long as the shape and the dtype require.
        if let (0, Some(place)) = (cursor.index, NonZeroU32::new(tensor.components)) {
            let count = tensor.dtype.zip(tensor.shape.element_count());
            let length = count.and_then(|(dtype, count)| dtype.byte_length(count)).unwrap_or(0);
            (part.dtype, part.storage) = (tensor.dtype, tensor.dtype);
            part.set_extent(Extent::new(place.get().into(), length));
            cursor.index = 1;
            return Ok(true);
        }
        let table = self.table(tensor)?;
        if cursor.index > 0 {
            let is_sparse = tensor.layout_name.bytes() == sparse::LAYOUT;
            return if is_sparse { self.sparse_component(&table, cursor, part) } else { Ok(false) };
        }
        cursor.index = 1;
        let Some(bytes) = self.bytes(&table)? else { return Ok(false) };
        part.dtype = tensor.dtype;
        part.storage = tensor.dtype;
        part.set_extent(bytes.extent());
        if let Bytes::External(external) = bytes {
            part.shard = Some(Utf8::known(external.file));
            part.at = table.at.into();
        }
        Ok(true)
    }
}
