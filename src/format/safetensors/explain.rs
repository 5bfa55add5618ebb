//! Reads the part of the file that an error message describes. The bytes are neither trusted nor checked: anything that
//! cannot be read is omitted.
//!
//! Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use super::entry::Entry;
use super::header::{HEADER, METADATA, header};
use super::member::FIELDS;
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::Input;
#[cfg(not(target_os = "none"))]
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::json::Reader;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::Context;
use crate::types::DType;

/// The largest end of data among the tensors before the first one that cannot be read.
#[cfg(not(target_os = "none"))]
fn end_of_data(header: &[u8]) -> u64 {
    let (mut reader, mut entry, mut last) = (Reader::new(header, 0), Entry::blank(), 0);
    let mut read = || {
        reader.begin(b'{')?;
        while reader.more(b'}')? {
            if reader.key()?.eq_bytes(METADATA) {
                reader.skip_value(1)?;
            } else {
                entry.read(&mut reader)?;
                last = last.max(entry.end);
            }
        }
        Some(())
    };
    let _ = read(); // up to the first fault
    last
}

/// Returns the key in the metadata whose value is at `at`. The metadata is at the reader's position.
#[cfg(not(target_os = "none"))]
fn metadata_key<'a>(reader: &mut Reader<'a>, at: u32) -> Option<Text<'a>> {
    reader.begin(b'{')?;
    while reader.more(b'}')? {
        let key = reader.key()?;
        if reader.token_position() >= at || reader.skip_value(1).is_none() {
            return Some(key);
        }
    }
    None
}

/// Reads everything that the message of `error` may contain. The error may also be in an index.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let is_index = error.format() == Format::SafetensorsIndex;
    let mut context = Context {
        rule: match (error.kind(), error.part()) {
            (ErrorKind::Malformed, _) => Some("this is not well-formed JSON"),
            (ErrorKind::TrailingBytes, _) => Some("only white space may follow the JSON object"),
            (ErrorKind::UnexpectedType, Part::Header) => Some("the text must be a JSON object"),
            (ErrorKind::UnexpectedType, Part::Tensor) => Some("an entry must be an object"),
            (ErrorKind::UnexpectedType, Part::DType) => Some("a dtype must be a string"),
            (ErrorKind::UnexpectedType, Part::Shape) => {
                Some("a shape must be a list of plain integers from 0 to 2^64 - 1")
            }
            (ErrorKind::UnexpectedType, Part::Offset) => {
                Some("the offsets must be two plain integers from 0 to 2^64 - 1")
            }
            (ErrorKind::UnexpectedType, Part::Attributes) => Some("the metadata must be an object"),
            (ErrorKind::UnexpectedType, Part::Value) => Some("values of the metadata must be strings"),
            (ErrorKind::NegativeLength, _) => Some("the data ends before it begins"),
            (ErrorKind::Overlap, _) => Some("the data of two tensors overlaps"),
            (ErrorKind::UnexpectedType, Part::Tensors) => Some("\"weight_map\" must be an object"),
            (ErrorKind::InvalidName, _) => {
                Some("the path of a file must stay in the folder: no `..`, no root or drive, and `/` between names")
            }
            _ => None,
        },
        ..Context::default()
    };
    let (text, start) = if is_index {
        (input.get(Extent::new(0, input.length())), 0)
    } else {
        let size = input.get(Extent::new(0, HEADER)).and_then(|size| size.first_chunk());
        let size = size.map(|size| u64::from_le_bytes(*size));
        context.number = match error.kind() {
            ErrorKind::ManifestTooLarge => size,
            ErrorKind::Truncated => size.and_then(|size| size.checked_add(HEADER)),
            _ => None,
        };
        (header(input), HEADER)
    };
    #[cfg(not(target_os = "none"))]
    if let (ErrorKind::OutOfFile, Some(text)) = (error.kind(), text) {
        context.needed = start.saturating_add(to_u64(text.len())).checked_add(end_of_data(text));
    }
    let position = |at: u64| u32::try_from(at.checked_sub(start)?).ok();
    let (Some(text), Some(at)) = (text, error.offset().and_then(position)) else { return context };
    #[cfg(not(target_os = "none"))]
    if is_index && matches!(error.kind(), ErrorKind::Malformed | ErrorKind::UnexpectedType) {
        let rest = text.trim_ascii_end();
        let is_open = rest.trim_ascii_start().starts_with(b"{") && !rest.ends_with(b"}");
        let is_cut = u64::from(at) >= to_u64(rest.len()) || is_open;
        context.hint = is_cut.then_some("the text ends within the JSON object: it is truncated");
    }
    if matches!(
        (error.kind(), error.part()),
        (ErrorKind::RepeatedName | ErrorKind::RepeatedKey | ErrorKind::UnknownDType | ErrorKind::InvalidName, _)
    ) {
        context.text = Reader::new(text, at).string();
    }
    if error.kind() == ErrorKind::MissingKey {
        let mut fields = if is_index { super::index::FIELDS } else { FIELDS };
        let key = fields.find_map(|(key, number)| (Part::from_code(number) == Some(error.part())).then_some(key));
        context.missing = key.map(Utf8::known);
    }
    let Some(record) = error.entry().and_then(position).filter(|_| !is_index) else { return context };
    let mut reader = Reader::new(text, record);
    context.tensor = reader.key().filter(|name| !name.eq_bytes(METADATA));
    #[cfg(not(target_os = "none"))]
    if context.tensor.is_none() && error.part() == Part::Value {
        context.attribute = metadata_key(&mut reader, at);
    }
    let mut entry = Entry::blank();
    if entry.read(&mut reader).is_some() {
        let data = start.saturating_add(to_u64(text.len()));
        context.offset = data.checked_add(entry.begin);
        context.length = entry.end.checked_sub(entry.begin);
        context.shape = Some(entry.shape);
        context.dtype = entry.dtype.map(DType::name).map(Utf8::new);
        context.expected_length = entry.expected_length();
        if error.kind() == ErrorKind::SizeMismatch && !entry.fills_bytes() {
            context.rule = Some("the elements do not fill whole bytes");
        }
    }
    context
}
