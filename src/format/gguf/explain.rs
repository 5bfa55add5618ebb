//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use super::info::Info;
use super::{GgufFile, unknown};
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
#[cfg(not(target_os = "none"))]
use crate::codec::gguf::size_of_kind;
use crate::codec::gguf::{Encoding, Reader};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::{Context, FileFormat};

/// Returns the length of a file before it was truncated, as far as the file states it: the end of the tensors, or the
/// end of the items of the last readable count if each item is as short as possible.
#[cfg(not(target_os = "none"))]
fn needed(opening: &ParseContext<'_>, encoding: Encoding, error: &Error) -> Option<u64> {
    let (at, length) = (error.offset()?, opening.input.length());
    let count_size = if encoding.is_short { 4 } else { 8 };
    let head = 8_u64.saturating_add(count_size).saturating_add(count_size);
    let mut reader = Reader::new(opening, encoding, super::COUNTS);
    let counts = reader.count().ok().zip(reader.count().ok());
    let least = |(tensors, pairs): (u64, u64)| {
        let (pair, info) = if encoding.is_short { (10, 20) } else { (14, 24) };
        head.checked_add(tensors.checked_mul(info)?)?.checked_add(pairs.checked_mul(pair)?)
    };
    let least = counts.map_or(Some(head), least)?;
    match (error.kind(), error.part()) {
        (ErrorKind::OutOfFile, _) => {
            let info = Info::read(&mut Reader::new(opening, encoding, error.entry()?)).ok()?;
            GgufFile::of_metadata(opening)?.data_at.checked_add(info.offset)?.checked_add(info.length)
        }
        (ErrorKind::Truncated, _) => Some(least.max(length.checked_add(1)?)),
        (ErrorKind::CountTooLarge, Part::Tensors | Part::Attributes) => Some(least),
        (ErrorKind::CountTooLarge, _) => {
            let mut reader = Reader::new(opening, encoding, at);
            let count = reader.count().ok()?;
            let bytes = count.checked_mul(smallest(opening, at).unwrap_or(1))?;
            Some(least.max(reader.position().checked_add(bytes)?).max(length.checked_add(1)?))
        }
        _ => None,
    }
}

/// Returns the smallest size in bytes of an item whose count is at `at`: an element of an array, or a byte of a string.
#[cfg(not(target_os = "none"))]
fn smallest(opening: &ParseContext<'_>, at: u64) -> Option<u64> {
    let (mut file, mut reader) = GgufFile::read_head(opening).ok()?;
    file.read_counts(&mut reader).ok()?;
    for _ in 0..file.pairs {
        reader.string().ok()?;
        let of_value = reader.kind().ok()?;
        let value_at = reader.position();
        // Only the count of an array follows the type of its elements.
        if value_at.checked_add(4) == Some(at) {
            return reader.kind().ok().map(size_of_kind).filter(|size| *size > 0);
        }
        reader.skip_value(of_value).ok()?;
    }
    None
}

/// Returns the key of the pair whose value contains an error.
#[cfg(not(target_os = "none"))]
fn key_of_value<'a>(opening: &ParseContext<'a>, error: &Error) -> Option<Text<'a>> {
    let at = error.offset().filter(|_| error.part() == Part::Value)?;
    let (mut file, mut reader) = GgufFile::read_head(opening).ok()?;
    file.read_counts(&mut reader).ok()?;
    let key = (0..file.pairs).find_map(|_| {
        let key = reader.string().ok()?;
        let is_whole = reader.kind().and_then(|kind| reader.skip_value(kind)).is_ok();
        (!is_whole || reader.position() > at).then_some(key)
    });
    core::str::from_utf8(key?).ok().map(Text::from)
}

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match (error.kind(), error.part()) {
            (ErrorKind::InvalidName, _) => Some("a key has 1 to 65535 bytes"),
            (ErrorKind::UnexpectedType, Part::Value) => {
                Some("there is no such type of value, or a truth value is not 0 or 1")
            }
            (ErrorKind::TooMany, Part::Shape) => Some("a tensor has at most 8 dimensions"),
            (ErrorKind::InvalidAlignment, _) => {
                Some("general.alignment must be a power of two, at least 8, of type u32")
            }
            _ => None,
        },
        ..Context::default()
    };
    let opening = ParseContext::of(input);
    let head = GgufFile::read_head(&opening).ok();
    let encoding = head.as_ref().map_or(Encoding { is_big: false, is_short: false }, |(file, _)| file.encoding);
    context.version = head.and_then(|(file, _)| FileFormat::version(&file)).map(Utf8::new);
    let Some(at) = error.offset() else { return context };
    let mut reader = Reader::new(&opening, encoding, at);
    match error.kind() {
        ErrorKind::RepeatedKey | ErrorKind::RepeatedName => {
            let string = reader.string().ok().and_then(|string| core::str::from_utf8(string).ok());
            context.text = string.map(Text::from);
        }
        ErrorKind::UnsupportedVersion => context.number = reader.u32().ok().map(u64::from),
        ErrorKind::UnknownDType => {
            let number = reader.u32().ok();
            context.rule = number.and_then(unknown::rule_of_removed);
            context.hint = Some(if context.rule.is_some() {
                "quantize the model again; its stored bytes and all other tensors can be read"
            } else {
                "a fork of ggml may know it; its stored bytes and all other tensors can be read"
            });
            if context.rule.is_none() {
                (context.rule, context.number) = (Some("unknown type of ggml"), number.map(u64::from));
            }
        }
        ErrorKind::CountTooLarge => context.number = reader.count().ok(),
        _ => {}
    }
    #[cfg(not(target_os = "none"))]
    {
        context.needed = needed(&opening, encoding, error);
        context.attribute = key_of_value(&opening, error);
        if error.kind() == ErrorKind::OutOfFile {
            let data = GgufFile::of_metadata(&opening).map(|file| file.data_at);
            let offset = Reader::new(&opening, encoding, at).u64().ok();
            context.offset = offset.and_then(|offset| offset.checked_add(data?));
        }
    }
    if let Some(entry) = error.entry() {
        let mut reader = Reader::new(&opening, encoding, entry);
        let name = reader.string().ok().and_then(|name| core::str::from_utf8(name).ok());
        context.tensor = name.map(Text::from);
        let mut reader = Reader::new(&opening, encoding, entry);
        if let Ok(info) = Info::read(&mut reader) {
            context.shape = Some(info.shape);
            context.length = info.is_known().then_some(info.length);
        }
    }
    context
}
