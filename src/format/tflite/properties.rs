//! The attributes of tensors, and the numbers that quantized elements stand for.
#![forbid(unsafe_code)]

use super::tensor::position;
use super::{TfliteFile, of_tensor};
use crate::attributes::{Attributes, Kind, Number, Property};
use crate::bytes::num::Product;
use crate::codec::flatbuffers::{Buffer, Field, Table};
use crate::codec::tflite::schema::{details, dimension, quantization, sparsity, tensor};
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::format::{Quantization, TensorRecord};

const IN_QUANTIZATION: &[Field] = &[tensor::QUANTIZATION];
const IN_DETAILS: &[Field] = &[tensor::QUANTIZATION, quantization::DETAILS];
const IN_SPARSITY: &[Field] = &[tensor::SPARSITY];

/// A list of numbers in the quantization.
const fn list(key: &'static str, field: Field, number: Number) -> Property {
    Property::new(key, field, Kind::Numbers(number)).at(IN_QUANTIZATION)
}

/// A field of details of a kind.
const fn detail(key: &'static str, field: Field, kind: Kind, of: i8) -> Property {
    Property::new(key, field, kind).at(IN_DETAILS).of_kind(quantization::DETAILS_KIND, of)
}

/// A list of numbers in the description of a sparse tensor.
const fn sparse(key: &'static str, field: Field) -> Property {
    Property::new(key, field, Kind::Numbers(Number::I32)).at(IN_SPARSITY)
}

const PROPERTIES: &[Property] = &[
    Property::new("subgraph", tensor::NAME, Kind::Given),
    Property::new("shape_signature", tensor::SHAPE_SIGNATURE, Kind::Numbers(Number::I32)),
    list("scale", quantization::SCALE, Number::F32),
    list("zero_point", quantization::ZERO_POINT, Number::I64),
    Property::new("quantized_dimension", quantization::DIMENSION, Kind::I32)
        .at(IN_QUANTIZATION)
        .with(quantization::SCALE),
    list("min", quantization::MIN, Number::F32),
    list("max", quantization::MAX, Number::F32),
    detail("custom", details::CUSTOM, Kind::Bytes, details::CUSTOM_KIND),
    detail("scales", details::SCALES, Kind::I32, details::BLOCKS_KIND),
    detail("zero_points", details::ZERO_POINTS, Kind::I32, details::BLOCKS_KIND),
    detail("block_size", details::BLOCK_SIZE, Kind::I32, details::BLOCKS_KIND),
    detail("scales", details::SCALES, Kind::I32, details::DIMENSIONS_KIND),
    detail("zero_points", details::ZERO_POINTS, Kind::I32, details::DIMENSIONS_KIND),
    detail("block_size", details::BLOCK_SIZE, Kind::I32, details::DIMENSIONS_KIND),
    detail("quantized_dimensions", details::DIMENSIONS, Kind::Numbers(Number::I32), details::DIMENSIONS_KIND),
    sparse("traversal_order", sparsity::TRAVERSAL_ORDER),
    sparse("block_map", sparsity::BLOCK_MAP),
    Property::new("dim_sizes", sparsity::DIMENSIONS, Kind::Sizes(dimension::FORMAT, dimension::DENSE_SIZE))
        .at(IN_SPARSITY),
];

/// Returns the attributes of a tensor.
pub(super) fn of<'a>(flatbuffer: Buffer<'a>, record: &TensorRecord<'a>) -> Attributes<'a> {
    Attributes::flatbuffers(flatbuffer, position(record), record.attributes, PROPERTIES)
}

/// Checks the offsets that lead to the attributes of a tensor, each once: of [`PROPERTIES`], many are in one table.
pub(super) fn check(tensor: Table<'_>) -> Result<()> {
    use self::details as of;
    use self::quantization::{DIMENSION, MAX, MIN, SCALE, ZERO_POINT};
    check_fields(&tensor, &[(tensor::SHAPE_SIGNATURE, 4)])?;
    if let Some(table) = tensor.table(tensor::SPARSITY)? {
        // The elements of the last one are offsets.
        check_fields(&table, &[(sparsity::TRAVERSAL_ORDER, 4), (sparsity::BLOCK_MAP, 4), (sparsity::DIMENSIONS, 4)])?;
    }
    let Some(table) = tensor.table(tensor::QUANTIZATION)? else { return Ok(()) };
    check_fields(&table, &[(SCALE, 4), (ZERO_POINT, 8), (DIMENSION, NUMBER), (MIN, 4), (MAX, 4)])?;
    const BLOCKS: [(Field, u32); 3] = [(of::SCALES, NUMBER), (of::ZERO_POINTS, NUMBER), (of::BLOCK_SIZE, NUMBER)];
    let fields: &[_] = match table.i8(quantization::DETAILS_KIND)? {
        of::CUSTOM_KIND => &[(of::CUSTOM, 1)],
        of::BLOCKS_KIND => &BLOCKS,
        of::DIMENSIONS_KIND => &[BLOCKS[0], BLOCKS[1], BLOCKS[2], (of::DIMENSIONS, 4)],
        _ => return Ok(()), // no attributes
    };
    let Some(table) = table.table(quantization::DETAILS)? else { return Ok(()) };
    check_fields(&table, fields)
}

/// Stands for the size of the elements of a vector, if a field is a number of 4 bytes and no vector.
const NUMBER: u32 = 0;

/// Checks fields of a table: vectors with elements of a size, or numbers.
fn check_fields(table: &Table<'_>, fields: &[(Field, u32)]) -> Result<()> {
    for (field, size) in fields {
        if *size == NUMBER { table.i32(*field).map(drop) } else { table.vector(*field, *size).map(drop) }?;
    }
    Ok(())
}

impl<'a> TfliteFile<'a> {
    /// Returns the scales and zero points of integers; `None` if the elements are their own values. Fails if their number
    /// does not fit the shape, or if the details say that they are not all, or if integers of more than 16 bits have zero
    /// points: then no number can be given.
    pub(super) fn quantization_of(&self, record: &TensorRecord<'a>) -> Result<Option<Quantization<'a>>> {
        let is_integer = record.dtype.is_some_and(Self::is_integer);
        let table = self.table(record)?;
        let Some(found) = table.table(tensor::QUANTIZATION)?.filter(|_| is_integer) else { return Ok(None) };
        let fail = |part| of_tensor(self.error(ErrorKind::UnsupportedLayout, part, table.at), &table);
        let unsupported = fail(Part::Attributes);
        if found.offset(quantization::DETAILS)?.is_some() {
            return Err(unsupported);
        }
        let scales = found.vector(quantization::SCALE, 4)?.unwrap_or_default();
        let zero_points = found.vector(quantization::ZERO_POINT, 8)?.unwrap_or_default();
        if scales.count == 0 {
            return if zero_points.count == 0 { Ok(None) } else { Err(unsupported) };
        }
        if zero_points.count != 0 && zero_points.count != scales.count {
            return Err(unsupported);
        }
        // An integer that is rounded to an f32 before the zero point is taken from it may leave nothing but the error.
        let is_wide = record.dtype.is_some_and(|dtype| dtype.byte_size() > 2);
        if is_wide && zero_points.bytes.iter().any(|byte| *byte != 0) {
            return Err(fail(Part::Value));
        }
        let mut inner = Product::ONE;
        if scales.count > 1 {
            let along = u32::try_from(found.i32(quantization::DIMENSION)?).ok();
            let along = along.filter(|along| record.shape.dimension(*along) == Some(scales.count.into()));
            let Some(along) = along else { return Err(unsupported) };
            let after = record.shape.iter().zip(0_u32..).filter(|(_, number)| *number > along);
            after.for_each(|(length, _)| inner.multiply(length));
        }
        let inner = inner.total().ok_or(unsupported)?;
        Ok(Some(Quantization { scales: scales.bytes, zero_points: zero_points.bytes, inner }))
    }
}
