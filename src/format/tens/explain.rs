//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::{BYTES_PER_NUMBER_AT, DIMENSION, HEADER, Header, INDEX, Types, VERSION_1_0, read_dimension};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;
use crate::types::DType;
use crate::types::shape::Shape;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context::default();
    let Some(at) = error.offset() else { return context };
    #[cfg(not(target_os = "none"))]
    if input.length() < HEADER {
        context.needed = Some(HEADER);
    }
    let Some(header) = input.get(Extent::new(0, HEADER)) else { return context };
    let Ok(header) = Header::ref_from_bytes(header) else { return context };
    let number = |width| {
        input
            .get(Extent::new(at, width))
            .map(|bytes| bytes.iter().rev().fold(0_u64, |n, byte| n << 8 | u64::from(*byte)))
    };
    match error.part() {
        Part::Version => {
            context.number = number(4);
            context.hint = Some("known versions are 65536, which is 1.0, and 36864, which programs write");
        }
        Part::NumberType if at < BYTES_PER_NUMBER_AT => {
            context.text = core::str::from_utf8(&header.number_type).ok().map(Text::from);
            context.hint = Some("uint, UINT, sint, SINT and IEEE are defined");
        }
        Part::Header | Part::Flags | Part::NumberType => context.number = number(4),
        Part::Chunk | Part::Symmetry | Part::Pairs => context.number = number(8),
        _ => {}
    }
    if error.kind() == ErrorKind::ManifestTooLarge {
        context.number = context.number.map(|order| order.saturating_mul(DIMENSION));
    }
    context.version = Some(Utf8::new(if header.version.get() == VERSION_1_0 { "1.0" } else { "0.9" }));
    let order = header.order.get();
    let dimensions = Extent::new(HEADER, u64::from(order).saturating_mul(DIMENSION));
    context.shape = input.get(dimensions).map(|bytes| Shape::new(bytes, order, read_dimension));
    let dtype = Types::of(&ParseContext::of(input), header).ok().and_then(|types| types.element);
    context.dtype = dtype.map(DType::name).map(Utf8::new);
    if let (ErrorKind::OutOfFile, Some(number)) = (error.kind(), context.number) {
        (context.offset, context.length) = match (error.part(), dtype) {
            (Part::Chunk, _) => (at.checked_sub(super::chunk::SIZE_AT), Some(number)),
            (_, Some(dtype)) => (at.checked_add(INDEX), number.checked_mul(INDEX.saturating_add(dtype.byte_size()))),
            _ => (None, None),
        };
    }
    if error.kind() == ErrorKind::SizeMismatch {
        context.length = context.number.and_then(|size| size.checked_sub(super::chunk::HEAD));
        let volume = context.shape.and_then(|shape| shape.element_count());
        context.expected_length = volume.zip(dtype).and_then(|(volume, dtype)| volume.checked_mul(dtype.byte_size()));
    }
    #[cfg(not(target_os = "none"))]
    {
        context.needed = needed(input, header, error, &context);
    }
    context
}

/// Returns the length of a file before it was truncated, as far as the header and the record at the end state it.
#[cfg(not(target_os = "none"))]
fn needed(input: Input<'_>, header: &Header, error: &Error, context: &Context<'_>) -> Option<u64> {
    let (length, chunk) = (input.length(), super::chunk::HEAD);
    let start = HEADER.checked_add(u64::from(header.order.get()).checked_mul(DIMENSION)?)?;
    if error.kind() == ErrorKind::CountTooLarge && error.part() == Part::Header {
        return Some(start);
    }
    let types = Types::of(&ParseContext::of(input), header).ok()?;
    let data = |dtype: DType| context.shape?.element_count()?.checked_mul(dtype.byte_size());
    // Before 1.0, the data may be without a chunk, and the stated width may be that of a whole complex number, if the
    // length of the data agrees.
    let raw = || {
        let ends = [types.halved, types.element].map(|dtype| start.checked_add(data(dtype?)?));
        ends.into_iter().flatten().filter(|end| *end > length).min()
    };
    let is_raw = header.version.get() != VERSION_1_0 && header.flags.get() & super::IX == 0;
    let least = match (error.kind(), error.part()) {
        (ErrorKind::OutOfFile, _) => {
            let (at, size) = (context.offset?, context.length?);
            // The padding at the end of the data may be missing.
            let is_data = error.part() == Part::Chunk && input.get(Extent::new(at, 8))? == super::chunk::DENSE;
            let unpadded = if is_data { data(types.element?)?.checked_add(chunk)? } else { size };
            at.checked_add(size.min(unpadded))
        }
        (ErrorKind::Truncated, Part::Data) | (ErrorKind::NumberType, _) => raw(),
        (ErrorKind::MissingData | ErrorKind::Truncated, _) => {
            // The position where the chunk with the data begins, or could begin.
            let rest = Extent::new(start, length.saturating_sub(start).min(8));
            let is_data = input.get(rest).is_some_and(|rest| super::chunk::DENSE.starts_with(rest));
            if is_data && header.flags.get() & super::IX == 0 {
                start.checked_add(chunk)?.checked_add(data(types.element?)?)
            } else {
                Some(start.saturating_add(INDEX).max(length.checked_add(1)?))
            }
        }
        _ => None,
    }?;
    Some(raw().filter(|_| is_raw).map_or(least, |raw| raw.min(least)))
}
