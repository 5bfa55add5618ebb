//! What is in the file where an error happened, read again for its message. Nothing here is trusted or checked:
//! whatever cannot be read is left out.
//!
//! Depends on `super`. Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use super::{NpzFile, array_name, directory};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::npy;
use crate::error::{Error, ErrorKind};
use crate::format::Context;
use crate::place::Item;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match (error.kind(), error.item()) {
            (ErrorKind::Malformed, Item::Entry) => {
                Some("there is no valid entry record here, or its fields do not fit")
            }
            (ErrorKind::Truncated, Item::Footer) => Some("no end-of-directory record ends at the end of the file"),
            (ErrorKind::HeadersDiffer, Item::Footer) => Some("the two end-of-directory records differ"),
            (ErrorKind::HeadersDiffer, Item::Flags) => Some(
                "the local header disagrees with the directory on encryption (bits 0, 5, 6, 13), on lengths behind the \
                 data (bit 3) or on names in UTF-8 (bit 11)",
            ),
            (ErrorKind::HeadersDiffer, _) => Some("the local header disagrees with the directory"),
            (ErrorKind::CountsDiffer, _) => {
                Some("the directory has another number of entries, or spans several disks")
            }
            (ErrorKind::ManifestSize, _) => Some("the directory does not end where its record begins"),
            (ErrorKind::TooMany, _) => Some("a compressed byte cannot expand to that many"),
            (ErrorKind::SizeMismatch, _) => Some("the two lengths of a stored entry differ"),
            (ErrorKind::InvalidName, _) => Some("a name contains a NUL"),
            _ => None,
        },
        ..Context::default()
    };
    let opening = ParseContext::of(input);
    if matches!(error.item(), Item::Footer | Item::Manifest) {
        return context;
    }
    let (Some(at), Ok(directory)) = (error.offset(), directory::find(&opening)) else { return context };
    let directory = directory.region;
    let file = NpzFile::new(input, directory);
    let mut position = 0;
    while let Ok(Some(entry)) = file.entry(position) {
        position = entry.next;
        let record = directory.start.saturating_add(entry.at.into());
        let data = file.data(&opening, &entry, &mut { u64::MAX }).ok();
        let (is_it, is_in_array) = match (error.kind(), error.item()) {
            // Of an array that is too short: where its data ends, and a record may begin.
            (ErrorKind::Truncated, Item::Header | Item::Data) => {
                let ends = data.is_some_and(|data| data.end() == Some(at));
                (ends, ends)
            }
            // Of a record or a local header, which another record may point to as well.
            (ErrorKind::HeadersDiffer | ErrorKind::OutOfPlace, _) | (_, Item::Entry) => {
                (at == record || data.is_none(), false)
            }
            _ => {
                let distance = data.and_then(|data| at.checked_sub(data.offset));
                let is_inside = data.zip(distance).is_some_and(|(data, distance)| distance < data.length);
                (at == record || is_inside, is_inside)
            }
        };
        if is_it {
            context.tensor = core::str::from_utf8(array_name(entry.name)).ok().map(Text::from);
            context.encoding = Some(Utf8::new(entry.encoding().1));
            if let Some(data) = data.filter(|_| is_in_array) {
                array(&mut context, input, error, data, at);
            }
            return context;
        }
    }
    context
}

/// Adds what can be read of an array whose entry has that data.
fn array<'a>(context: &mut Context<'a>, input: Input<'a>, error: &Error, data: Extent, at: u64) {
    let start = input.get(Extent::new(data.offset, data.length.min(npy::START))).unwrap_or_default();
    let head = npy::head_length(start, data.length).ok();
    let head = head.and_then(|head| input.get(Extent::new(data.offset, head))).unwrap_or_default();
    let at = at.saturating_sub(data.offset);
    let npy::Explained { rule, text, hint, missing, .. } = npy::explain(head, error.kind(), error.item(), at);
    let is_over = matches!(error.kind(), ErrorKind::OutOfFile | ErrorKind::Truncated);
    context.rule = if is_over { Some("the array is longer than its entry") } else { rule };
    (context.text, context.hint, context.missing) = (text.map(Text::from), hint, missing.map(Utf8::new));
}
