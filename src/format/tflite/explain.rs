//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use super::MOST;
use super::types::ElementType;
use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::{self, Table};
use crate::codec::tflite::Model;
use crate::codec::tflite::schema::{buffer, model, tensor as field};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Returns the rule that a file breaks, in the terms of the format.
const fn rule(error: &Error) -> Option<&'static str> {
    Some(match (error.kind(), error.part()) {
        (ErrorKind::OutOfPlace, Part::Components) => "the model has no buffer with the number that it states",
        (ErrorKind::HeadersDiffer, Part::Data) => "a buffer has bytes in the flatbuffer and a place behind it",
        (ErrorKind::HeadersDiffer, Part::Shard) => "a tensor has a buffer with bytes and an external buffer",
        (ErrorKind::UnknownShard, _) => "there is no external buffer with the ID that the tensor states",
        (ErrorKind::RepeatedKey, Part::Shard) => "two external buffers have one ID",
        (ErrorKind::OutOfPlace, Part::Shards) => "there is no group with the number that an external buffer states",
        (ErrorKind::NameLength, Part::Shards) => "the group of an external buffer has no name",
        (ErrorKind::TooMany, Part::Shard) => "the IDs of more than 1024 external buffers neither rise nor fall",
        (ErrorKind::OutOfShard, Part::Shard) => "offset and length of an external buffer exceed 64 bits",
        (ErrorKind::UnsupportedLayout, Part::Shard) => "texts and sparse tensors are not in external buffers",
        (ErrorKind::TooMany, Part::Tensors) => {
            "lists, names or shapes share bytes: together they are longer than the file"
        }
        (ErrorKind::UnexpectedType, Part::DType) => "a sparse tensor has texts",
        (ErrorKind::RankMismatch, Part::Layout) => {
            "the order of a sparse tensor does not have as many entries as dimensions and blocks"
        }
        (ErrorKind::Malformed, Part::Layout) => "the order of a sparse tensor does not have each dimension once",
        (ErrorKind::PartialBlock, Part::Layout) => "the blocks of a sparse tensor do not divide its dimension",
        (ErrorKind::TooMany, Part::Layout) => "a sparse tensor has more than 16 dimensions and blocks",
        (ErrorKind::CountMismatch, Part::Components) => {
            "a dimension of a sparse tensor has another length than stated"
        }
        (ErrorKind::SizeMismatch, Part::Layout) => "the length does not match the indices of the sparse tensor",
        (ErrorKind::UnsupportedLayout, Part::Layout) => "a dimension of a sparse tensor is of an unknown kind",
        (ErrorKind::UnsupportedLayout, Part::Attributes) => {
            "the scales or zero points are not those of the tensor, or of one of its dimensions"
        }
        (ErrorKind::UnsupportedLayout, Part::Value) => "integers of more than 16 bits have zero points",
        (ErrorKind::CorruptStream, Part::Data) => "the places of the texts do not rise, or are not as many as stated",
        _ => return flatbuffers::explain::rule(error),
    })
}

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context { rule: rule(error), ..Context::default() };
    let bytes = input.available_from(0);
    let bytes = to_usize(MOST).and_then(|most| bytes.get(..most)).unwrap_or(bytes);
    #[cfg(not(target_os = "none"))]
    {
        context.needed = flatbuffers::explain::needed(bytes, error);
    }
    let (Ok(model), Some(at)) = (Model::read(input, bytes), error.offset()) else { return context };
    let table_at = |at: u64| model.flatbuffer().table_at(u32::try_from(at).ok()?, Part::Tensor).ok();
    match error.kind() {
        ErrorKind::MissingKey => context.missing = Some(Utf8::new("subgraphs")),
        ErrorKind::UnsupportedVersion => {
            let version = model.root().ok().and_then(|root| root.u32(model::VERSION).ok());
            context.number = version.map(u64::from);
        }
        ErrorKind::OutOfFile => {
            if let Some(place) = table_at(at).and_then(|table| outside(&table)) {
                (context.offset, context.length) = (Some(place.offset), Some(place.length));
                #[cfg(not(target_os = "none"))]
                {
                    context.needed = place.end();
                }
            }
        }
        _ => {}
    }
    let Some(table) = error.entry().and_then(table_at) else { return context };
    let name = table.text(field::NAME).ok().flatten().unwrap_or_default().bytes;
    context.tensor = core::str::from_utf8(name).ok().map(Text::from);
    let number = table.i8(field::TYPE).ok();
    match error.kind() {
        ErrorKind::UnknownDType => context.number = number.and_then(|number| u64::try_from(number).ok()),
        ErrorKind::SizeMismatch | ErrorKind::ShapeOverflow => {
            context.shape = super::tensor::shape(&table).ok();
            let count = context.shape.and_then(|shape| shape.element_count());
            if let Some(ElementType::Number(dtype)) = number.and_then(ElementType::of) {
                context.dtype = Some(Utf8::new(dtype.name()));
                let expected = count.and_then(|count| dtype.byte_length(count));
                context.expected_length = expected.filter(|_| error.part() == Part::Shape);
            }
            let bytes = table.u32(field::BUFFER).ok().and_then(|index| model.buffer(index).ok().flatten());
            context.length = bytes.map(|bytes| bytes.length);
        }
        _ => {}
    }
    context
}

/// Returns the place of a buffer's bytes that are not in the flatbuffer.
fn outside(table: &Table<'_>) -> Option<Extent> {
    Some(Extent::new(table.u64(buffer::OFFSET).ok()?, table.u64(buffer::SIZE).ok()?))
}
