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
    let (Some(at), Ok((directory, _))) = (error.offset(), directory::find(&opening)) else { return context };
    let file = NpzFile::new(input, directory);
    let mut position = 0;
    while let Ok(Some(entry)) = file.entry(position) {
        position = entry.next;
        let record = directory.start.saturating_add(entry.at.into());
        let data = file.data(&opening, &entry, &mut { u64::MAX }).ok();
        let place = data.map_or(Extent::new(entry.local_at, 0), |data| entry.place(data));
        let is_inside = at.checked_sub(place.offset).is_some_and(|distance| distance < place.length);
        // An error of data that is too short points to its end, where a record may begin.
        let is_it = match (error.kind(), error.item()) {
            (ErrorKind::Truncated, Item::Header | Item::Data) => place.end() == Some(at),
            _ => at == record || at == place.offset || is_inside,
        };
        if is_it {
            context.tensor = core::str::from_utf8(array_name(entry.name)).ok().map(Text::from);
            context.encoding = Some(Utf8::new(entry.encoding().1));
            if let Some(data) = data.filter(|data| at >= data.offset && at < directory.start) {
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
    let npy::Explained { rule, text, hint, .. } = npy::explain(head, error.kind(), error.item(), at);
    let is_over = matches!(error.kind(), ErrorKind::OutOfFile | ErrorKind::Truncated);
    context.rule = if is_over { Some("the array is longer than its entry") } else { rule };
    (context.text, context.hint) = (text.map(Text::from), hint);
}
