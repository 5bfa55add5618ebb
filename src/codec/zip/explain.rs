//! Reads an archive again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
use zerocopy::FromBytes;

use super::Archive;
#[cfg(not(target_os = "none"))]
use super::directory;
use super::entry::Entry;
#[cfg(not(target_os = "none"))]
use super::record;
use crate::bytes::extent::Extent;
#[cfg(not(target_os = "none"))]
use crate::bytes::num::to_u64;
#[cfg(not(target_os = "none"))]
use crate::bytes::source::Input;
use crate::bytes::source::ParseContext;
#[cfg(not(target_os = "none"))]
use crate::bytes::text::{Phrase, phrase};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};

/// Returns the rule of an archive that was broken, if it is more specific than the wording for all formats.
pub(crate) fn rule(error: &Error) -> Option<&'static str> {
    Some(match (error.kind(), error.part()) {
        (ErrorKind::Malformed, Part::Entry) => "there is no valid entry record here, or its fields do not fit",
        (ErrorKind::Truncated, Part::Footer) => "no end-of-directory record ends at the end of the file",
        (ErrorKind::HeadersDiffer, Part::Footer) => "the two end-of-directory records differ",
        (ErrorKind::HeadersDiffer, Part::Flags) => {
            "the local header disagrees with the directory on encryption (bits 0, 5, 6, 13), on lengths behind the \
             data (bit 3) or on names in UTF-8 (bit 11)"
        }
        (ErrorKind::HeadersDiffer, _) => "the local header disagrees with the directory",
        (ErrorKind::CountsDiffer, _) => "the directory has another number of entries, or spans several disks",
        (ErrorKind::ManifestSize, _) => "the directory does not end where its record begins",
        (ErrorKind::TooMany, _) => "a compressed byte cannot expand to that many",
        (ErrorKind::SizeMismatch, _) => "the two lengths of a stored entry differ",
        (ErrorKind::InvalidName, _) => "a name contains a NUL",
        _ => return None,
    })
}

/// Describes the counts that differ.
#[cfg(not(target_os = "none"))]
pub(crate) fn counts(opening: &ParseContext<'_>, error: &Error) -> Option<Phrase> {
    let [disk, directory_disk, here, entries] = directory::stated(opening, error.format()).ok()?.numbers;
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
            let (archive, _) = Archive::find(opening, error.format()).ok()?;
            let (mut position, mut count) = (0, 0_u64);
            while let Ok(Some(entry)) = archive.entry(position) {
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

/// The reason why the end record of an archive was not found.
#[cfg(not(target_os = "none"))]
pub(crate) enum Truncated {
    /// Other bytes follow the archive, which this sentence describes.
    Followed(Phrase),
    /// The end record is cut. The archive has this many bytes.
    EndRecord(u64),
    /// There is no end record. The archive has at least this many bytes.
    NoDirectory(u64),
}

/// Finds out whether an archive without an end record at its end is truncated, or other bytes follow the archive.
#[cfg(not(target_os = "none"))]
pub(crate) fn truncated(input: Input<'_>) -> Truncated {
    let length = input.length();
    if let Some(end) = end_of_archive(input) {
        return match length.checked_sub(end) {
            Some(behind @ 1..) => Truncated::Followed([
                ("the archive ends at byte ", Some(end)),
                (", and ", Some(behind)),
                (" other bytes follow it, which may be cut off", None),
            ]),
            _ => Truncated::EndRecord(end),
        };
    }
    // The minimum length: the entries, a directory record for each entry, and the end record.
    let (mut at, mut records) = (0_u64, 22_u64);
    while let Some(head) = input.get(Extent::new(at, 30)) {
        let Ok((local, _)) = record::LocalHeader::ref_from_prefix(head) else { break };
        let about = &local.about;
        if local.signature != record::LOCAL {
            break;
        }
        let extra_at = at.saturating_add(30).saturating_add(about.name.get().into());
        let data_at = extra_at.saturating_add(about.extra.get().into());
        records = records.saturating_add(46).saturating_add(about.name.get().into());
        let extra = input.get(Extent::new(extra_at, about.extra.get().into()));
        // Without the length of the data, the position of the next entry is unknown.
        let wide = extra.and_then(|extra| record::widened(about, 0, 0, extra, false));
        let wide = wide.filter(|_| about.flags.get() & 8 == 0);
        at = data_at.saturating_add(wide.as_ref().map_or(0, |wide| wide.stored));
        if wide.is_none() {
            break;
        }
    }
    // Up to three bytes of the end record's signature may be present.
    Truncated::NoDirectory(at.saturating_add(records).max(length.saturating_add(19)))
}

/// Returns the end of the archive: of the last end record that directly follows a directory or a zip64 locator. If
/// there is none, returns the end of the last end record if it is truncated.
#[cfg(not(target_os = "none"))]
fn end_of_archive(input: Input<'_>) -> Option<u64> {
    let start = input.length().saturating_sub(0x1_0015); // the longest comment and the record
    let tail = input.get(Extent::new(start, input.length().saturating_sub(start)))?;
    let places =
        || tail.windows(4).enumerate().rev().filter(|(_, bytes)| *bytes == record::END).map(|(place, _)| place);
    let end_of = |place: usize| {
        let at = start.saturating_add(to_u64(place));
        let (end, _) = record::End::ref_from_prefix(tail.get(place..)?).ok()?;
        let directory = Extent::new(end.directory.get().into(), end.directory_size.get().into());
        let locator = at.checked_sub(20).and_then(|at| input.get(Extent::new(at, 4)));
        let is_it = directory.end() == Some(at) || locator.is_some_and(|locator| locator == record::LOCATOR);
        at.checked_add(22)?.checked_add(end.comment.get().into()).filter(|_| is_it)
    };
    let cut = || {
        let at = start.checked_add(to_u64(places().next()?))?.checked_add(22)?;
        Some(at).filter(|end| *end > input.length())
    };
    places().find_map(end_of).or_else(cut)
}

/// An entry that an error concerns.
pub(crate) struct Concerned<'a> {
    pub(crate) entry: Entry<'a>,
    /// The extent of the entry's data, if it can be read.
    pub(crate) data: Option<Extent>,
    pub(crate) place: Place,
}

/// The place of an error in an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The record of the directory, or the local header.
    Header,
    Data,
    /// The decoded bytes of a compressed entry.
    Decoded,
}

impl<'a> Archive<'a> {
    /// Finds the entry that an error concerns.
    pub(crate) fn concerned(&self, error: &Error) -> Option<Concerned<'a>> {
        let at = error.offset()?;
        let opening = ParseContext::of(self.input);
        // An error inside a compressed entry states the record of the entry.
        let stated = error.entry().and_then(|entry| u32::try_from(entry.checked_sub(self.directory.start)?).ok());
        let mut position = stated.unwrap_or(0);
        while let Ok(Some(entry)) = self.entry(position) {
            position = entry.next;
            let record = self.position(entry.at);
            let data = self.data(&opening, &entry, &mut { u64::MAX }).ok();
            let (is_it, place) = match (error.kind(), error.part()) {
                _ if error.entry().is_some() => (error.entry() == Some(record), Place::Decoded),
                // Data that is too short: the error points to the end of the data, where a record may begin.
                (ErrorKind::Truncated, Part::Header | Part::Data) => {
                    (data.is_some_and(|data| data.end() == Some(at)), Place::Data)
                }
                // A record, or a local header, to which another record may also point.
                (ErrorKind::HeadersDiffer | ErrorKind::OutOfPlace, _) | (_, Part::Entry) => {
                    (at == record || data.is_none(), Place::Header)
                }
                _ => {
                    let distance = data.and_then(|data| at.checked_sub(data.offset));
                    let is_in_data = data.zip(distance).is_some_and(|(data, distance)| distance < data.length);
                    (at == record || is_in_data, if is_in_data { Place::Data } else { Place::Header })
                }
            };
            if is_it {
                return Some(Concerned { entry, data, place });
            }
        }
        None
    }
}
