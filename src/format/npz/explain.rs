//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use super::array_name;
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::npy;
use crate::codec::zip::Archive;
use crate::codec::zip::explain::{self as zip, Concerned, Place};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Reports that an archive is truncated, with its minimum length, or that other bytes follow the archive.
#[cfg(not(target_os = "none"))]
fn truncated(context: &mut Context<'_>, input: Input<'_>) {
    match zip::truncated(input) {
        zip::Truncated::Followed(phrase) => context.phrase = Some(phrase),
        zip::Truncated::EndRecord(length) => context.needed = Some(length),
        zip::Truncated::NoDirectory(length) => {
            context.rule = Some("the archive has no directory, which is at its end");
            let start = input.get(Extent::new(30, input.length().saturating_sub(30).min(256))).unwrap_or_default();
            if start.windows(9).any(|bytes| bytes == b"/data.pkl") {
                let hint = "its first entry is that of a PyTorch checkpoint";
                let unsupported = "its first entry is that of a PyTorch checkpoint, which is not supported";
                context.hint = Some(if cfg!(feature = "pytorch") { hint } else { unsupported });
            }
            context.needed = Some(length);
        }
    }
}

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context { rule: zip::rule(error), ..Context::default() };
    let opening = ParseContext::of(input);
    #[cfg(not(target_os = "none"))]
    match (error.kind(), error.part()) {
        (ErrorKind::CountsDiffer, _) => context.phrase = zip::counts(&opening, error),
        (ErrorKind::Truncated, Part::Header) if input.length() < 22 => context.needed = Some(22),
        (ErrorKind::Truncated, Part::Footer) => truncated(&mut context, input),
        _ => {}
    }
    if matches!(error.part(), Part::Footer | Part::Manifest) {
        return context;
    }
    let (Some(at), Ok((archive, _))) = (error.offset(), Archive::find(&opening, Format::Npz)) else { return context };
    let Some(Concerned { entry, data, place }) = archive.concerned(error) else { return context };
    context.tensor = core::str::from_utf8(array_name(entry.name)).ok().map(Text::from);
    context.encoding = Some(Utf8::new(entry.encoding().1));
    match (place, data) {
        (Place::Data, Some(data)) => array(&mut context, input, error, data, at),
        (Place::Decoded, _) => compressed(&mut context, error),
        _ => {}
    }
    context
}

/// Adds the rule that the header of a compressed array breaks. The text of the header would have to be decoded.
fn compressed(context: &mut Context<'_>, error: &Error) {
    let npy::Explained { rule, missing, .. } = npy::explain(&[], error.kind(), error.part(), 0);
    let rule = match (error.kind(), error.part()) {
        (ErrorKind::OutOfFile | ErrorKind::Truncated, Part::Header | Part::Data) => IS_OVER,
        (ErrorKind::Malformed, Part::Header) => Some("no header of an array as NumPy writes it is here"),
        (ErrorKind::UnknownDType, _) => None,
        _ => rule,
    };
    context.rule = rule.or(context.rule);
    context.missing = missing.map(Utf8::new);
}

const IS_OVER: Option<&str> = Some("the array is longer than its entry");

/// Adds what can be read of the array in an entry whose data is `data`.
fn array<'a>(context: &mut Context<'a>, input: Input<'a>, error: &Error, data: Extent, at: u64) {
    let start = input.get(Extent::new(data.offset, data.length.min(npy::START))).unwrap_or_default();
    let head = npy::head_length(start, data.length).ok();
    let head = head.and_then(|head| input.get(Extent::new(data.offset, head))).unwrap_or_default();
    let at = at.saturating_sub(data.offset);
    let npy::Explained { rule, text, hint, missing, .. } = npy::explain(head, error.kind(), error.part(), at);
    let is_over = matches!(error.kind(), ErrorKind::OutOfFile | ErrorKind::Truncated);
    context.rule = if is_over { IS_OVER } else { rule };
    (context.text, context.hint, context.missing) = (text.map(Text::from), hint, missing.map(Utf8::new));
}
