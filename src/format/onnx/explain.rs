//! Reads what the message of an error contains.
#![forbid(unsafe_code)]

use super::graphs::{self, Found};
use super::names::NameOf;
use super::schema::tensor::EXTERNAL_DATA;
use super::tensor::Proto;
use super::{FORMAT, model};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::protobuf::{Field, Reader, Schema};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Returns everything that the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let opening = ParseContext::of(input);
    let mut context = Context { rule: rule(error), ..Context::default() };
    let at = |at: u64| graphs::field_at(&opening, Extent::new(0, input.length()), at).ok();
    if let Some(field) = error.offset().and_then(at) {
        found_at(input, &field, error, &mut context);
    }
    let entry = error.entry().or(error.offset().filter(|_| error.part() == Part::Tensor));
    let found = entry.and_then(|at| graphs::found_at(&opening, model::graph(&opening)?, at).ok()?);
    if let Some(found) = found {
        describe(&opening, &found, error, &mut context);
    }
    context
}

/// Reads the value of the field at the error.
fn found_at<'a>(input: Input<'a>, field: &Field, error: &Error, context: &mut Context<'a>) {
    let opening = ParseContext::of(input);
    // A key of external data, and its value.
    let is_pair = field.number == EXTERNAL_DATA;
    match error.kind() {
        ErrorKind::RepeatedName => context.text = text(input, field.extent()),
        ErrorKind::UnknownDType | ErrorKind::UnknownFlags => context.number = Some(field.value),
        ErrorKind::SizeMismatch if field.has_length() && !is_pair => context.length = Some(field.value),
        ErrorKind::InvalidName | ErrorKind::UnexpectedType | ErrorKind::SizeMismatch if is_pair => {
            let mut fields = Reader::new(&opening, FORMAT, field.extent());
            while let Ok(Some(field)) = fields.next(Schema::UNKNOWN) {
                if field.number == 2 && field.has_length() {
                    context.text = text(input, field.extent());
                }
            }
        }
        _ => {}
    }
}

fn text(input: Input<'_>, extent: Extent) -> Option<Text<'_>> {
    input.get(extent).and_then(Utf8::checked).map(Text::from)
}

/// Reads the name, the shape and the dtype of the tensor concerned.
fn describe<'a>(opening: &ParseContext<'a>, found: &Found, error: &Error, context: &mut Context<'a>) {
    if let Ok(name) = NameOf::read(opening, found) {
        context.tensor = Some(Text::new(name.bytes, false));
    }
    if found.is_sparse {
        return;
    }
    let Ok(proto) = Proto::read(opening, found.message) else { return };
    context.shape = proto.shape(opening).ok();
    let dtype = proto.dtype();
    context.dtype = dtype.map(|dtype| Utf8::new(dtype.name()));
    let count = context.shape.and_then(|shape| shape.element_count());
    context.expected_length = dtype.zip(count).and_then(|(dtype, count)| dtype.byte_length(count));
    if error.kind() == ErrorKind::MissingKey {
        context.missing = Some(Utf8::new(if error.part() == Part::Shard { "location" } else { "data_type" }));
    }
}

/// Returns the rule that a file breaks, in the terms of the format.
fn rule(error: &Error) -> Option<&'static str> {
    Some(match (error.kind(), error.part()) {
        (ErrorKind::ManifestTooLarge, _) => "the file has 4 GiB or more, which no program can write",
        (ErrorKind::Malformed, Part::Key) => "a field has the number 0, or one above 2^29 - 1",
        (ErrorKind::Malformed, Part::Tensors) => "the bytes have changed since the file was opened",
        (ErrorKind::Malformed, _) => "a number has more than ten bytes, or more than 64 bits",
        (ErrorKind::WrongMarker, _) => "a field is a group, or of a wire type that protobuf does not define",
        (ErrorKind::OutOfPlace, Part::Length) => "a field is longer than the message around it",
        (ErrorKind::OutOfPlace, _) => "a message ends within a number",
        (ErrorKind::UnexpectedType, Part::Value) => "a field has another wire type than the format defines",
        (ErrorKind::UnexpectedType, Part::Offset) => "the offset of the data is not a number",
        (ErrorKind::UnexpectedType, Part::DType) => "a sparse tensor has texts",
        (ErrorKind::RepeatedKey, Part::Tensors) => "the model has two graphs",
        (ErrorKind::RepeatedKey, Part::Attributes) => "a Constant node has two values",
        (ErrorKind::RepeatedKey, Part::Value) => "a message that may appear once appears twice",
        (ErrorKind::RepeatedKey, _) => "a key of the external data appears twice",
        (ErrorKind::NameLength, _) => "a tensor has no name",
        (ErrorKind::UnknownDType, _) => "the format defines no such data_type",
        (ErrorKind::TooMany, Part::Shape) => "more than 64 dimensions, or the last bytes, are spelled in two ways",
        (ErrorKind::TooMany, _) => "nodes with many graphs have too many fields before these graphs",
        (ErrorKind::TooDeep, _) => "graphs are nested more than 16 deep",
        (ErrorKind::UnsupportedChunk, _) => "tensors in segments are not supported: no program writes them",
        (ErrorKind::UnknownFlags, _) => "the format defines no such data_location",
        (ErrorKind::UnexpectedData, Part::DType) => "texts cannot be in another file",
        (ErrorKind::UnexpectedData, _) => "there are elements in two places, or more than the shape has",
        (ErrorKind::MissingData, _) => "there are no elements",
        (ErrorKind::TypeMismatch, _) => "elements of this data_type cannot be in this field",
        (ErrorKind::InvalidName, Part::Shard) => {
            "the location of the data must be a path to a file below the folder of the model"
        }
        (ErrorKind::OutOfShard, _) => "offset + length of the external data exceeds 64 bits",
        (ErrorKind::SizeMismatch, Part::Length) => "the length does not match the shape and the data_type",
        (ErrorKind::IndexType, _) => "the indices of a sparse tensor are not i64",
        (ErrorKind::RankMismatch, _) => {
            "a sparse tensor has no dimensions, or its values or its indices have too many"
        }
        (ErrorKind::ZeroLength, _) => "a length of a sparse tensor is 0",
        (ErrorKind::CountMismatch, _) => "a sparse tensor has not one index, or one row of indices, for each value",
        (ErrorKind::MissingComponent, _) => "a sparse tensor has no values or no indices",
        (ErrorKind::IndexOrder, _) => "the indices of a sparse tensor do not ascend",
        (ErrorKind::InvalidElement, _) => "a number is outside the range of its data_type",
        (ErrorKind::DecodedLength, _) => "there are more or fewer numbers than the shape has",
        _ => return None,
    })
}
