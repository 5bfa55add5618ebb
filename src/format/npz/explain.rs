//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
use zerocopy::FromBytes;

#[cfg(not(target_os = "none"))]
use super::zip;
use super::{NpzFile, array_name, directory};
use crate::bytes::extent::Extent;
#[cfg(not(target_os = "none"))]
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::npy;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;
#[cfg(not(target_os = "none"))]
use crate::format::{Phrase, phrase};

/// Describes the counts that differ.
#[cfg(not(target_os = "none"))]
fn counts(opening: &ParseContext<'_>, error: &Error) -> Option<Phrase> {
    let [disk, directory_disk, here, entries] = directory::stated(opening).ok()?.numbers;
    match error.part() {
        Part::Footer if here != entries => Some([
            ("the record at the end says that the archive has ", Some(entries)),
            (" entries, and that ", Some(here)),
            (" of them are in this file: archives on several disks are not supported", None),
        ]),
        Part::Footer => Some([
            ("the record at the end says that this is disk ", Some(disk)),
            (" of several, and that the directory is on disk ", Some(directory_disk)),
            (": only one file, disk 0, is supported", None),
        ]),
        Part::Manifest => {
            let directory = directory::find(opening).ok()?.region;
            let (file, mut position, mut count) = (NpzFile::new(opening.input, directory), 0, 0_u64);
            while let Ok(Some(entry)) = file.entry(position) {
                (position, count) = (entry.next, count.saturating_add(1));
            }
            Some([
                ("the directory has ", Some(count)),
                (" entries, but the record at the end says ", Some(entries)),
                ("", None),
            ])
        }
        _ => Some(phrase("the entry says that it is on another disk than disk 0, but the archive is one file")),
    }
}

/// Reports that an archive is truncated, with its minimum length, or that other bytes follow the archive.
#[cfg(not(target_os = "none"))]
fn truncated(context: &mut Context<'_>, input: Input<'_>) {
    let length = input.length();
    if let Some(end) = end_of_archive(input) {
        match length.checked_sub(end) {
            Some(behind @ 1..) => {
                let cut = " other bytes follow it, which may be cut off";
                context.phrase =
                    Some([("the archive ends at byte ", Some(end)), (", and ", Some(behind)), (cut, None)]);
            }
            _ => context.needed = Some(end),
        }
        return;
    }
    context.rule = Some("the archive has no directory, which is at its end");
    // The minimum length: the entries, a directory record for each entry, and the end record.
    let (mut at, mut records) = (0_u64, 22_u64);
    while let Some(head) = input.get(Extent::new(at, 30)) {
        let Ok((local, _)) = zip::LocalHeader::ref_from_prefix(head) else { break };
        let about = &local.about;
        if local.signature != zip::LOCAL {
            break;
        }
        let extra_at = at.saturating_add(30).saturating_add(about.name.get().into());
        let data_at = extra_at.saturating_add(about.extra.get().into());
        records = records.saturating_add(46).saturating_add(about.name.get().into());
        let extra = input.get(Extent::new(extra_at, about.extra.get().into()));
        // Without the length of the data, the position of the next entry is unknown.
        let wide = extra.and_then(|extra| zip::widened(about, 0, 0, extra, false));
        let wide = wide.filter(|_| about.flags.get() & 8 == 0);
        at = data_at.saturating_add(wide.as_ref().map_or(0, |wide| wide.stored));
        if wide.is_none() {
            break;
        }
    }
    let pytorch = input.get(Extent::new(30, input.length().saturating_sub(30).min(256))).unwrap_or_default();
    if pytorch.windows(9).any(|bytes| bytes == b"/data.pkl") {
        context.hint = Some("its first entry is that of a PyTorch checkpoint, which is not supported");
    }
    // Up to three bytes of the end record's signature may be present.
    context.needed = Some(at.saturating_add(records).max(length.saturating_add(19)));
}

/// Returns the end of the archive: of the last end record that directly follows a directory or a zip64 locator. If
/// there is none, returns the end of the last end record if it is truncated.
#[cfg(not(target_os = "none"))]
fn end_of_archive(input: Input<'_>) -> Option<u64> {
    let start = input.length().saturating_sub(0x1_0015); // the longest comment and the record
    let tail = input.get(Extent::new(start, input.length().saturating_sub(start)))?;
    let places = || tail.windows(4).enumerate().rev().filter(|(_, bytes)| *bytes == zip::END).map(|(place, _)| place);
    let end_of = |place: usize| {
        let at = start.saturating_add(to_u64(place));
        let (end, _) = zip::End::ref_from_prefix(tail.get(place..)?).ok()?;
        let directory = Extent::new(end.directory.get().into(), end.directory_size.get().into());
        let locator = at.checked_sub(20).and_then(|at| input.get(Extent::new(at, 4)));
        let is_it = directory.end() == Some(at) || locator.is_some_and(|locator| locator == zip::LOCATOR);
        at.checked_add(22)?.checked_add(end.comment.get().into()).filter(|_| is_it)
    };
    let cut = || {
        let at = start.checked_add(to_u64(places().next()?))?.checked_add(22)?;
        Some(at).filter(|end| *end > input.length())
    };
    places().find_map(end_of).or_else(cut)
}

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match (error.kind(), error.part()) {
            (ErrorKind::Malformed, Part::Entry) => {
                Some("there is no valid entry record here, or its fields do not fit")
            }
            (ErrorKind::Truncated, Part::Footer) => Some("no end-of-directory record ends at the end of the file"),
            (ErrorKind::HeadersDiffer, Part::Footer) => Some("the two end-of-directory records differ"),
            (ErrorKind::HeadersDiffer, Part::Flags) => Some(
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
    #[cfg(not(target_os = "none"))]
    match (error.kind(), error.part()) {
        (ErrorKind::CountsDiffer, _) => context.phrase = counts(&opening, error),
        (ErrorKind::Truncated, Part::Header) if input.length() < 22 => context.needed = Some(22),
        (ErrorKind::Truncated, Part::Footer) => truncated(&mut context, input),
        _ => {}
    }
    if matches!(error.part(), Part::Footer | Part::Manifest) {
        return context;
    }
    let (Some(at), Ok(directory)) = (error.offset(), directory::find(&opening)) else { return context };
    let directory = directory.region;
    let file = NpzFile::new(input, directory);
    // An error inside a compressed entry states the record of the entry.
    let stated = error.entry().and_then(|entry| u32::try_from(entry.checked_sub(directory.start)?).ok());
    let mut position = stated.unwrap_or(0);
    while let Ok(Some(entry)) = file.entry(position) {
        position = entry.next;
        let record = directory.start.saturating_add(entry.at.into());
        let data = file.data(&opening, &entry, &mut { u64::MAX }).ok();
        let is_inside = error.entry() == Some(record);
        let (is_it, is_in_array) = match (error.kind(), error.part()) {
            _ if error.entry().is_some() => (is_inside, false),
            // An array that is too short: the error points to the end of its data, where a record may begin.
            (ErrorKind::Truncated, Part::Header | Part::Data) => {
                let ends = data.is_some_and(|data| data.end() == Some(at));
                (ends, ends)
            }
            // A record, or a local header, to which another record may also point.
            (ErrorKind::HeadersDiffer | ErrorKind::OutOfPlace, _) | (_, Part::Entry) => {
                (at == record || data.is_none(), false)
            }
            _ => {
                let distance = data.and_then(|data| at.checked_sub(data.offset));
                let is_in_data = data.zip(distance).is_some_and(|(data, distance)| distance < data.length);
                (at == record || is_in_data, is_in_data)
            }
        };
        if is_it {
            context.tensor = core::str::from_utf8(array_name(entry.name)).ok().map(Text::from);
            context.encoding = Some(Utf8::new(entry.encoding().1));
            if let Some(data) = data.filter(|_| is_in_array) {
                array(&mut context, input, error, data, at);
            } else if is_inside {
                compressed(&mut context, error);
            }
            return context;
        }
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
