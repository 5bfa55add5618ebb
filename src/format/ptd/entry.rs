//! Named data: its key, its segment, and the layout of a tensor.
#![forbid(unsafe_code)]

use super::order::DimOrder;
use super::scalar::ScalarType;
use super::{PtdFile, segments};
use crate::attributes::{Kind, Number, Property};
use crate::bytes::extent::Extent;
use crate::bytes::num::{Product, to_u64};
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::{Buffer, Field, Table, Vector};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};
use crate::format::TensorRecord;
use crate::types::shape::Shape;
use crate::types::{Layout, Order};

/// The fields of named data.
pub(super) const KEY: Field = Field::new(0, Part::Name);
pub(super) const SEGMENT_INDEX: Field = Field::new(1, Part::Component);
const LAYOUT: Field = Field::new(2, Part::Layout);

/// The fields of the layout of a tensor.
pub(super) const SCALAR_TYPE: Field = Field::new(0, Part::DType);
const SIZES: Field = Field::new(1, Part::Shape);
const DIM_ORDER: Field = Field::new(2, Part::Order);

/// The attributes of a tensor, in the table of its layout.
const ATTRIBUTES: &[Property] = &[
    Property::new("scalar_type", SCALAR_TYPE, Kind::I8),
    Property::new("dim_order", DIM_ORDER, Kind::Numbers(Number::U8)),
];

/// Named data that has been checked, except that its key is UTF-8.
pub(super) struct Entry<'a> {
    buffer: Buffer<'a>,
    /// The position of its table.
    pub(super) at: u32,
    pub(super) key: Vector<'a>,
    /// The place of its segment, counted from the start of all data.
    pub(super) segment: Extent,
    /// The bytes of a blob as its shape.
    length: Shape<'a>,
    /// `None` for a blob.
    pub(super) layout: Option<TensorLayout<'a>>,
}

/// The layout of a tensor.
#[derive(Clone, Copy)]
pub(super) struct TensorLayout<'a> {
    /// The position of its table.
    at: u32,
    pub(super) scalar: ScalarType,
    pub(super) shape: Shape<'a>,
    pub(super) order: DimOrder<'a>,
}

/// Reads a dimension; also returns the bytes after it.
fn read_size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (size, rest) = bytes.split_first_chunk()?;
    Some((u64::try_from(i32::from_le_bytes(*size)).ok()?, rest)) // not negative: checked on opening
}

/// Returns the shape that a layout states. Its dimensions end before a negative length.
pub(super) fn shape<'a>(layout: &Table<'a>) -> Result<Shape<'a>> {
    let sizes = layout.vector(SIZES, 4)?.unwrap_or_default();
    Ok(Shape::new(sizes.bytes, sizes.count, read_size))
}

/// Reads the number of bytes of a blob.
fn read_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*length), rest))
}

/// Adds the entry at a position to an error that lies behind its start.
fn of_entry(error: Error, entry: u32) -> Error {
    let distance = error.offset().and_then(|at| u32::try_from(at.checked_sub(entry.into())?).ok());
    error.after_entry(distance.unwrap_or(NO_ENTRY))
}

impl<'a> PtdFile<'a> {
    /// Reads the named data whose offset is at `place`.
    pub(super) fn entry(&self, place: u32) -> Result<Entry<'a>> {
        let table = self.buffer().table(place, Part::Tensor)?;
        self.entry_of(&table).map_err(|error| of_entry(error, table.at))
    }

    #[inline]
    fn entry_of(&self, table: &Table<'a>) -> Result<Entry<'a>> {
        let fail = |kind, item, at| Err(self.buffer().error(kind, item, at));
        let Some(key) = table.text(KEY)? else { return fail(ErrorKind::MissingKey, Part::Name, table.at) };
        let segment = self.segment_table(table.u32(SEGMENT_INDEX)?)?;
        let Some(of_segment) = segment else { return fail(ErrorKind::OutOfPlace, Part::Components, table.at) };
        let segment = self.segment(&of_segment)?;
        let layout = table.table(LAYOUT)?.map(|layout| self.tensor_layout(&layout)).transpose()?;
        if let Some(layout) = &layout {
            let Some(length) = layout.byte_length() else {
                return fail(ErrorKind::ShapeOverflow, Part::Shape, layout.at);
            };
            if length != segment.length {
                return fail(ErrorKind::SizeMismatch, Part::Shape, layout.at);
            }
        }
        let length = Shape::new(of_segment.bytes(segments::SIZE)?, 1, read_length);
        Ok(Entry { buffer: self.buffer(), at: table.at, key, segment, length, layout })
    }

    fn tensor_layout(&self, table: &Table<'a>) -> Result<TensorLayout<'a>> {
        let fail = |kind, item| Err(self.buffer().error(kind, item, table.at));
        let Some(scalar) = ScalarType::of(table.i8(SCALAR_TYPE)?) else {
            return fail(ErrorKind::UnknownDType, Part::DType);
        };
        let shape = shape(table)?;
        if to_u64(shape.iter().count()) < shape.rank().into() {
            return fail(ErrorKind::NegativeLength, Part::Shape);
        }
        let order = table.vector(DIM_ORDER, 1)?.unwrap_or_default();
        if order.count != shape.rank() {
            return fail(ErrorKind::RankMismatch, Part::Order);
        }
        let Some(order) = DimOrder::of(order.bytes) else { return fail(ErrorKind::Malformed, Part::Order) };
        Ok(TensorLayout { at: table.at, scalar, shape, order })
    }
}

impl TensorLayout<'_> {
    /// Returns the number of bytes of the elements; `None` beyond 64 bits.
    pub(super) fn byte_length(&self) -> Option<u64> {
        let mut length = Product::of(self.shape.element_count()?);
        length.multiply(self.scalar.storage.byte_size());
        length.total()
    }
}

impl<'a> Entry<'a> {
    /// Returns an error of the entry at a position.
    pub(super) fn error(&self, kind: ErrorKind, item: Part, at: u32) -> Error {
        of_entry(self.buffer.error(kind, item, at), self.at)
    }

    /// Fills in the record of the tensor, or of the blob.
    pub(super) fn fill(&self, tensor: &mut TensorRecord<'a>) {
        tensor.name = Utf8::known(self.key.bytes); // checked when the file was opened
        tensor.at = self.at.into();
        let Some(layout) = self.layout else {
            tensor.layout = Layout::Other;
            tensor.layout_name = Utf8::new("ptd.blob");
            tensor.shape = self.length;
            return;
        };
        tensor.attributes = layout.at;
        tensor.dtype = layout.scalar.dtype();
        tensor.shape = layout.shape;
        match layout.order {
            DimOrder::RowMajor => {}
            DimOrder::ColumnMajor => tensor.order = Order::ColumnMajor,
            DimOrder::Other(_) => tensor.set_layout(Layout::Strided),
        }
    }
}

/// Returns the attributes of a tensor: its type if it has no dtype, and the order of its dimensions unless that is
/// row-major.
pub(super) fn attributes(tensor: &TensorRecord<'_>) -> &'static [Property] {
    let is_row_major = tensor.layout == Layout::Dense && tensor.order == Order::RowMajor;
    let (first, last) = match (tensor.layout, tensor.dtype) {
        (Layout::Other, _) => return &[],
        (_, None) => (0, if is_row_major { 1 } else { 2 }),
        (_, Some(_)) => (1, if is_row_major { 1 } else { 2 }),
    };
    ATTRIBUTES.get(first..last).unwrap_or_default()
}
