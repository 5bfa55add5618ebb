//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::entry::{KEY, SCALAR_TYPE, SEGMENT_INDEX};
use super::header::{DATA_AT, FLATBUFFER_AT, Header, MAGIC_AT};
use super::scalar::ScalarType;
use super::{VERSION, entry, segments};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::{self, Buffer, Table};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Returns the rule that a file breaks, in the terms of the format.
const fn rule(error: &Error) -> Option<&'static str> {
    Some(match (error.kind(), error.part(), error.offset()) {
        (ErrorKind::Malformed, Part::Header, Some(MAGIC_AT)) => "the header does not begin with \"FH01\"",
        (ErrorKind::Malformed, Part::Length, _) => "the header is shorter than 40 bytes",
        (ErrorKind::UnsupportedVersion, Part::Manifest, _) => "the file has the layout of ExecuTorch before 1.0",
        (ErrorKind::OutOfPlace, Part::Length, _) => "a segment reaches past the end of the data",
        (ErrorKind::Overlap, Part::Offset, _) => "a segment begins before the end of the one before it",
        (ErrorKind::OutOfPlace, Part::Components, _) => "the file has no segment with the number that it states",
        (ErrorKind::RankMismatch, Part::Order, _) => "dim_order and sizes have different lengths",
        (ErrorKind::Malformed, Part::Order, _) => "dim_order does not have each dimension once",
        (ErrorKind::TooMany, Part::Name, _) => {
            "names and shapes share bytes: together they are longer than the flatbuffer"
        }
        _ => return flatbuffers::explain::rule(error),
    })
}

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context { rule: rule(error), ..Context::default() };
    let bytes = input.get(Extent::new(0, to_u64(size_of::<Header>())));
    let header = bytes.and_then(|bytes| Header::ref_from_bytes(bytes).ok());
    #[cfg(not(target_os = "none"))]
    {
        context.needed = needed(header, error);
    }
    let (Some(header), Some(at)) = (header, error.offset()) else { return context };
    let place = match at {
        FLATBUFFER_AT => Some(header.flatbuffer()),
        DATA_AT => Some(header.data()),
        _ => None,
    };
    (context.offset, context.length) = (place.map(|place| place.offset), place.map(|place| place.length));
    let end = header.flatbuffer().end().unwrap_or(0);
    let buffer = Buffer::new(input.get(Extent::new(0, end)).unwrap_or_default(), Format::Ptd);
    let table_at = |at: u64| buffer.table_at(u32::try_from(at).ok()?, Part::Tensor).ok();
    let key = |table: &Table<'a>| core::str::from_utf8(table.text(KEY).ok()??.bytes).ok().map(Text::from);
    match error.kind() {
        ErrorKind::RepeatedName => context.text = table_at(at).and_then(|table| key(&table)),
        ErrorKind::MissingKey => {
            context.missing = Some(Utf8::new(match error.part() {
                Part::Data => "segments",
                Part::Tensors => "named_data",
                _ => "key",
            }));
        }
        ErrorKind::UnsupportedVersion if error.part() == Part::Version => {
            let root = buffer.table(0, Part::Header).ok();
            context.number = root.and_then(|root| root.u32(VERSION).ok()).map(u64::from);
        }
        ErrorKind::UnknownDType => {
            let number = table_at(at).and_then(|table| table.i8(SCALAR_TYPE).ok());
            context.number = number.and_then(|number| u64::try_from(number).ok());
        }
        ErrorKind::SizeMismatch | ErrorKind::ShapeOverflow => {
            if let Some(layout) = table_at(at) {
                sizes(&layout, &mut context);
            }
        }
        _ => {}
    }
    let Some(table) = error.entry().and_then(table_at) else { return context };
    context.tensor = key(&table);
    if error.kind() == ErrorKind::SizeMismatch {
        let segment = table.u32(SEGMENT_INDEX).ok().and_then(|index| segment(&buffer, index));
        context.length = segment.and_then(|segment| segment.u64(segments::SIZE).ok());
    }
    context
}

/// Adds what the layout of a tensor states.
fn sizes<'a>(layout: &Table<'a>, context: &mut Context<'a>) {
    let shape = entry::shape(layout).ok();
    let scalar = layout.i8(SCALAR_TYPE).ok().and_then(ScalarType::of);
    context.shape = shape;
    context.dtype = scalar.map(|scalar| Utf8::new(scalar.name()));
    let count = shape.and_then(|shape| shape.element_count());
    context.expected_length = scalar.zip(count).and_then(|(scalar, count)| scalar.storage.byte_length(count));
}

/// Returns the table of a segment.
fn segment<'a>(buffer: &Buffer<'a>, index: u32) -> Option<Table<'a>> {
    let segments = buffer.table(0, Part::Header).ok()?.offsets(super::SEGMENTS).ok()??;
    buffer.table(segments.get(index)?, Part::Data).ok()
}

/// Returns the length of the whole file, as far as the bytes that are left state it.
#[cfg(not(target_os = "none"))]
fn needed(header: Option<&Header>, error: &Error) -> Option<u64> {
    match (error.kind(), header) {
        (ErrorKind::Truncated, _) => Some(to_u64(size_of::<Header>())),
        (ErrorKind::OutOfFile, Some(header)) => {
            let end = header.flatbuffer().end()?;
            Some(header.data().end().map_or(end, |data| data.max(end)))
        }
        _ => None,
    }
}
