//! The attributes of tensors.
#![forbid(unsafe_code)]

use super::tensor::position;
use crate::attributes::{Attributes, Kind, Number, Property};
use crate::codec::flatbuffers::{Buffer, Field, Table};
use crate::codec::tflite::schema::{details, dimension, quantization, sparsity, tensor};
use crate::error::Result;
use crate::format::TensorRecord;

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
