//! What is in the file where an error happened, read again for its message. Nothing here is trusted or checked:
//! whatever cannot be read is left out.
//!
//! Depends on `super`. Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use super::info::Info;
use super::{GgufFile, unknown};
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::gguf::{Encoding, Reader};
use crate::error::{Error, ErrorKind};
use crate::format::Context;
use crate::place::Item;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match (error.kind(), error.item()) {
            (ErrorKind::InvalidName, _) => Some("a key has 1 to 65535 bytes"),
            (ErrorKind::UnexpectedType, Item::Value) => {
                Some("there is no such type of value, or a truth value is not 0 or 1")
            }
            (ErrorKind::TooMany, Item::Shape) => Some("a tensor has at most 8 dimensions"),
            (ErrorKind::InvalidAlignment, _) => Some("the alignment must be a power of two, at least 8, of type u32"),
            _ => None,
        },
        ..Context::default()
    };
    let opening = ParseContext::of(input);
    let head = GgufFile::read_head(&opening).ok();
    let encoding = head.as_ref().map_or(Encoding { is_big: false, is_short: false }, |(file, _)| file.encoding);
    context.version = head.and_then(|(file, _)| crate::format::FileFormat::version(&file)).map(Utf8::new);
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
