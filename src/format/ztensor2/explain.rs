//! Reads the part of the file that an error message describes. The bytes are neither trusted nor checked: anything that
//! cannot be read is omitted.
//!
//! Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use super::entry::{OBJECT, PART};
use super::manifest::{FOOTER, Footer, ROOT};
use super::shards::SHARD;
use super::{entry, layout};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
#[cfg(not(target_os = "none"))]
use crate::bytes::text::{Phrase, phrase};
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::strict::{Fields, Reader, Record};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::{Context, TensorRecord};
use crate::types::{DType, Layout};

/// The message for a file without a footer.
#[cfg(not(target_os = "none"))]
const CUT: Phrase = phrase(
    "the file does not end with a footer, as a complete file does: it is truncated, or something was appended to it",
);

/// Reads everything that the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context { rule: rule(error), ..Context::default() };
    #[cfg(not(target_os = "none"))]
    match error.kind() {
        ErrorKind::Truncated if matches!(error.part(), Part::Header | Part::Footer) => {
            context.needed = Some(super::manifest::SMALLEST)
        }
        ErrorKind::MissingMagic => context.phrase = Some(CUT),
        _ => {}
    }
    let footer_at = input.length().saturating_sub(FOOTER);
    let unused = (ErrorKind::Truncated, Format::Ztensor2, Part::Footer);
    let opening = ParseContext::of(input);
    let Ok(footer) = opening.read::<Footer>(footer_at, unused) else { return context };
    let [start, size] = [footer.offset, footer.length].map(u64::from_le_bytes);
    match error.kind() {
        #[cfg(target_os = "none")]
        ErrorKind::MissingMagic => context.hint = Some("was the file cut off, or something appended?"),
        ErrorKind::UnsupportedVersion => context.number = Some(u32::from_le_bytes(footer.version).into()),
        ErrorKind::ManifestSize if size == 0 => {
            context.rule = Some("a file without a manifest must state 0 for its offset and its hash, too");
        }
        ErrorKind::ManifestSize | ErrorKind::ManifestTooLarge => context.number = Some(size),
        ErrorKind::MisalignedOffset => (context.offset, context.length) = (Some(start), Some(size)),
        _ => {}
    }
    if matches!(error.part(), Part::Footer | Part::Version | Part::File) {
        return context;
    }
    let Some(manifest) = input.get(Extent::new(start, size)) else { return context };
    let position = |at: u64| at.checked_sub(start).and_then(|at| u32::try_from(at).ok());
    let Some(at) = error.offset().and_then(position) else { return context };
    context.text = Reader::new(manifest, at).text().map(Text::from);
    context.number = Reader::new(manifest, at).unsigned();
    if error.kind() == ErrorKind::MissingKey {
        let fields = [ROOT, OBJECT, PART, SHARD].into_iter();
        let mut keys = fields.flat_map(|fields| fields.keys);
        let key = keys.find_map(|(key, number)| (Part::from_code(number) == Some(error.part())).then_some(key));
        context.missing = key.map(Utf8::known);
    }
    let entry = error.entry().and_then(position).or((error.part() == Part::Tensor).then_some(at));
    if let Some(entry) = entry {
        let _ = object(manifest, &mut context, error, entry, at);
    }
    context
}

/// The rule in terms of the format, if that is more specific than the wording for all formats.
fn rule(error: &Error) -> Option<&'static str> {
    Some(match (error.kind(), error.part()) {
        (ErrorKind::Malformed, _) => "this is not well-formed CBOR",
        (ErrorKind::UnexpectedType, Part::Offset) => "a blob must be a list of two numbers: an offset and a length",
        (ErrorKind::UnexpectedType, _) => "the value is of the wrong CBOR type",
        (ErrorKind::TooMany, Part::Shape) => "there are more than 64 dimensions",
        (ErrorKind::InvalidDigest, _) => {
            "it must be a kind, a colon, and as many hexadecimal digits in lower case as that kind has"
        }
        (ErrorKind::InvalidName, Part::Shard) => {
            "it may have letters, digits, `.`, `_` and `-` only, and no dot at its start"
        }
        (ErrorKind::InvalidName, _) => "it must not contain a NUL",
        (ErrorKind::NameLength, Part::Shard) => "it must have 1 to 64 bytes",
        (ErrorKind::NameLength, _) => "it must have 1 to 1024 bytes",
        (ErrorKind::IndexType, _) => "indices must be u32 or u64, all of the same type",
        (ErrorKind::DigestMismatch, Part::Digest) => "the decoded bytes do not match the digest",
        (ErrorKind::OutOfFile, Part::Shard) => "the component extends past the end of its shard",
        (ErrorKind::WrongLength, Part::Shard) => "the file is not as long as the shard",
        _ => return None,
    })
}

/// Calls `f` for each field of the record at the reader's position, as far as it can be read. `depth` is the nesting
/// depth of the record.
fn each_field<'a>(
    reader: &mut Reader<'a>,
    fields: &'static Fields,
    depth: usize,
    mut f: impl FnMut(u32, Part),
) -> Option<()> {
    let mut record = Record::default();
    reader.record(&mut record, fields)?;
    loop {
        match reader.field(&mut record, depth)? {
            Part::File => return Some(()),
            item => f(reader.position(), item),
        }
        reader.skip_value(depth.saturating_add(1))?;
    }
}

/// Reads the entry of a tensor at `entry`, and the record of its component that contains position `at`.
fn object<'a>(manifest: &'a [u8], context: &mut Context<'a>, error: &Error, entry: u32, at: u32) -> Option<()> {
    let reader_at = |at: u32| Reader::new(manifest, at);
    let mut reader = reader_at(entry);
    let name = reader.text()?;
    // If the error is in the name, `text` already contains it.
    if entry != at || error.part() == Part::Tensor {
        context.tensor = Some(name.into());
    }
    let (mut parts_at, mut layout) = (None, None);
    let end = each_field(&mut reader, OBJECT, 2, |at, item| match item {
        Part::Components => parts_at = Some(at),
        Part::Shape => {
            let mut tensor = TensorRecord::blank();
            context.shape = layout::shape(&mut reader_at(at), &mut tensor).map(|_| tensor.shape);
        }
        Part::Layout => layout = reader_at(at).text().map(|name| layout::of_name(name.bytes())),
        _ => {}
    });
    let of_layout: &[&str] = match layout {
        Some(Layout::Dense) => &["data"],
        Some(Layout::SparseCsr) => &["values", "indices", "indptr"],
        Some(Layout::SparseCoo) => &["values", "coords"],
        _ => &[],
    };
    let mut reader = reader_at(parts_at?);
    let mut left = reader.map()?;
    let (mut found, mut unexpected) = (0_u32, None);
    while left > 0 {
        left = left.saturating_sub(1);
        let from = reader.position();
        let role = reader.text()?;
        let part = reader.position();
        let is_whole = reader.skip_value(4).is_some();
        match of_layout.iter().zip(0_u32..).find(|(known, _)| known.as_bytes() == role.bytes()) {
            Some((_, place)) => found |= 1_u32.wrapping_shl(place),
            None => unexpected = unexpected.or(Some(role)),
        }
        if from <= at && (at < reader.position() || !is_whole) {
            context.role = Some(role);
            let _ = component(context, error.kind(), reader_at, part);
        }
        if !is_whole {
            return None;
        }
    }
    if layout != Some(Layout::Dense) {
        context.expected_length = None;
    }
    match error.kind() {
        ErrorKind::MissingComponent => {
            let is_missing = |(_, place): &(&&str, u32)| found.wrapping_shr(*place) & 1 == 0;
            context.missing = of_layout.iter().zip(0_u32..).find(is_missing).map(|(role, _)| Utf8::new(role));
        }
        ErrorKind::UnexpectedComponent => context.text = unexpected.map(Text::from),
        _ => {}
    }
    end
}

/// Reads the record of a component.
fn component<'a>(
    context: &mut Context<'a>,
    kind: ErrorKind,
    reader_at: impl Fn(u32) -> Reader<'a>,
    part: u32,
) -> Option<()> {
    let mut logical = None;
    let elements = context.shape.and_then(|shape| shape.element_count());
    let end = each_field(&mut reader_at(part), PART, 4, |at, item| {
        let mut reader = reader_at(at);
        match item {
            Part::Offset => {
                let blob = entry::blob(&mut reader);
                (context.offset, context.length) = (blob.map(|blob| blob.offset), blob.map(|blob| blob.length));
            }
            Part::LogicalType => logical = reader.text(),
            Part::DType => context.dtype = reader.text(),
            Part::Shard if kind == ErrorKind::UnknownShard => context.text = reader.text().map(Text::from),
            Part::Encoding => context.encoding = reader.text(),
            Part::DecodedLength => context.decoded_length = reader.unsigned(),
            _ => {}
        }
    });
    let dtype = match logical {
        Some(name) => layout::logical_dtype(name.bytes()),
        None => context.dtype.and_then(|name| layout::storage_dtype(name.bytes())),
    };
    context.dtype = logical.or(context.dtype);
    context.expected_length = elements.zip(dtype).and_then(|(count, dtype): (u64, DType)| dtype.byte_length(count));
    end
}
