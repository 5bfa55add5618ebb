//! The entries of an archive: the records of the directory, and the local headers, which must agree with them.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::record::{self, About, DirectoryEntry, LocalHeader};
use super::{Archive, Stated};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;

/// The length of a local header without its name and extra fields.
pub(crate) const LOCAL: u64 = 30;

/// The limits of [`at_once`].
const NEAR: u64 = 1 << 12;
const FAR: u64 = 1 << 16;
/// The number of bytes after a local header, as far as the directory shows its length, that usually include the
/// remaining extra fields and the head of an array. NumPy writes extra fields of 20 bytes and nearly always a head of
/// 128 bytes; writers that align arrays in memory add up to 63 bytes.
const AFTER_HEADER: u64 = 256;
/// The largest number of bytes between two entries that are requested with the start of the first one.
const MOST_BETWEEN: u64 = 1 << 16;
/// The largest number of bytes that `deflate` decodes from one byte. From no bytes, it decodes a few.
const MAX_EXPANSION: u64 = 1032;

/// Returns the number of bytes that are requested at the start of an entry, and at the end of an archive: a sixteenth of
/// the archive, within limits. At the start of an entry, these bytes usually include the head of the array and, in an
/// archive of small arrays, the following entries; at the end, the directory. So there are fewer requests.
pub(crate) fn at_once(length: u64) -> u64 {
    (length >> 4).clamp(NEAR, FAR)
}

pub(crate) const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The flags of an encrypted, patched, strongly encrypted or masked entry, whose bytes cannot be read.
const LOCKED: u16 = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 13;
/// The local header lacks the lengths, which follow the data.
pub(crate) const LENGTHS_FOLLOW: u16 = 1 << 3;
/// The name is UTF-8. Without this flag, some readers decode the name as code page 437 and see a different name.
pub(crate) const UTF8_NAME: u16 = 1 << 11;

/// The record of an entry in the directory.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The positions in the directory of this record and of the next record.
    pub(crate) at: u32,
    pub(crate) next: u32,
    pub(crate) name: &'a [u8],
    pub(crate) about: &'a About,
    /// The sizes of the data in bytes: as stored, and decoded.
    pub(crate) stored: u64,
    pub(crate) size: u64,
    pub(crate) local_at: u64,
}

/// A record of the directory, as it is in the file.
pub(crate) struct Record<'a> {
    header: &'a DirectoryEntry,
    pub(crate) name: &'a [u8],
    extra: &'a [u8],
    pub(crate) next: u32,
}

impl Entry<'_> {
    pub(crate) fn is_stored(&self) -> bool {
        self.about.method.get() == STORED && !self.is_locked()
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.about.flags.get() & LOCKED != 0
    }

    /// Returns the encoding of the entry's bytes, and the name of the encoding.
    pub(crate) fn encoding(&self) -> (Encoding, &'static str) {
        match self.about.method.get() {
            _ if self.is_locked() => (Encoding::Other, "encrypted"),
            STORED => (Encoding::Raw, "raw"),
            DEFLATED => (Encoding::Deflate, "deflate"),
            1 => (Encoding::Other, "shrink"),
            6 => (Encoding::Other, "implode"),
            9 => (Encoding::Other, "deflate64"),
            12 => (Encoding::Other, "bzip2"),
            14 => (Encoding::Other, "lzma"),
            93 => (Encoding::Other, "zip zstd"),
            95 => (Encoding::Other, "xz"),
            98 => (Encoding::Other, "ppmd"),
            _ => (Encoding::Other, "unknown method"),
        }
    }
}

/// The progress of opening, which checks each entry once, in the order of the directory.
pub(crate) struct Checking {
    at: u32,
    /// The number of bytes before the directory that do not yet belong to an entry.
    left: u64,
    last_end: u64,
    pub(crate) entries: u32,
    /// True if the extents of the entries are strictly ascending, so they do not overlap.
    pub(crate) are_places_sorted: bool,
}

impl Checking {
    pub(crate) const fn new(archive: &Archive<'_>) -> Self {
        Self { at: 0, left: archive.directory.start, last_end: 0, entries: 0, are_places_sorted: true }
    }

    /// Checks the next entry: its record, its name and its local header. Returns the entry and the extent of its data.
    /// After the last entry, checks the count of entries that the end record states, and returns `None`.
    pub(crate) fn next<'a>(
        &mut self,
        archive: &Archive<'a>,
        opening: &ParseContext<'a>,
        stated: &Stated,
    ) -> ParseResult<Option<(Entry<'a>, Extent)>> {
        let Some(entry) = archive.entry(self.at).map_err(|error| opening.stop(error))? else {
            if u64::from(self.entries) != stated.entries {
                return Err(opening.stop(archive.error(ErrorKind::CountsDiffer, Part::Manifest, 0)));
            }
            // Without entries, nothing may precede the directory, not even entries that the directory omits.
            if self.entries == 0 && archive.directory.start > 0 {
                return Err(opening.stop(archive.error(ErrorKind::ManifestSize, Part::Footer, 0)));
            }
            return Ok(None);
        };
        archive.check_name(&entry).map_err(|error| opening.stop(error))?;
        let data = archive.data(opening, &entry, &mut self.left)?;
        self.are_places_sorted &= entry.local_at >= self.last_end;
        self.last_end = data.end().unwrap_or(u64::MAX);
        self.entries = self.entries.saturating_add(1); // each takes 46 bytes of the directory
        self.at = entry.next;
        Ok(Some((entry, data)))
    }
}

impl<'a> Archive<'a> {
    /// Reads the record at position `at` of the directory; `None` at the end of the directory.
    pub(crate) fn entry(&self, at: u32) -> Result<Option<Entry<'a>>> {
        self.entry_if(at, false)
    }

    /// Reads a record like [`entry`](Self::entry). On hosts, a record that has been `checked` is read in constant time.
    pub(crate) fn entry_if(&self, at: u32, checked: bool) -> Result<Option<Entry<'a>>> {
        self.record(at)?.map(|record| self.entry_of(at, &record, checked)).transpose()
    }

    /// Returns the entry of the record at position `at` of the directory, which may have been `checked`.
    pub(crate) fn entry_of(&self, at: u32, record: &Record<'a>, checked: bool) -> Result<Entry<'a>> {
        let Record { header, name, extra, next } = *record;
        let about = &header.about;
        let wide = record::widened(about, header.offset.get(), header.disk.get(), extra, checked);
        let wide = wide.ok_or(self.error(ErrorKind::Malformed, Part::Entry, at))?;
        if wide.disk != 0 {
            return Err(self.error(ErrorKind::CountsDiffer, Part::Entry, at));
        }
        Ok(Entry { at, next, name, about, stored: wide.stored, size: wide.size, local_at: wide.offset })
    }

    /// Reads a record without looking at its extra fields.
    pub(crate) fn record(&self, at: u32) -> Result<Option<Record<'a>>> {
        let rest = to_usize(at.into()).and_then(|at| self.directory.bytes.get(at..)).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let truncated = self.error(ErrorKind::Truncated, Part::Entry, at);
        let (header, rest) = DirectoryEntry::ref_from_prefix(rest).map_err(|_| truncated)?;
        if header.signature != record::ENTRY {
            return Err(self.error(ErrorKind::Malformed, Part::Entry, at));
        }
        let about = &header.about;
        let (name, rest) = rest.split_at_checked(about.name.get().into()).ok_or(truncated)?;
        let (extra, rest) = rest.split_at_checked(about.extra.get().into()).ok_or(truncated)?;
        let rest = rest.get(usize::from(header.comment.get())..).ok_or(truncated)?;
        let next = self.directory.bytes.len().saturating_sub(rest.len());
        let next = u32::try_from(next).unwrap_or(u32::MAX); // the directory has no more than 1 GiB
        Ok(Some(Record { header, name, extra, next }))
    }

    /// Checks that the name of an entry is UTF-8 without NUL. Called when the file is opened.
    pub(crate) fn check_name(&self, entry: &Entry<'_>) -> Result<()> {
        if Utf8::checked(entry.name).is_none() {
            return Err(self.error(ErrorKind::InvalidUtf8, Part::Name, entry.at));
        }
        if entry.name.contains(&0) {
            return Err(self.error(ErrorKind::InvalidName, Part::Name, entry.at));
        }
        Ok(())
    }

    /// Calls `add` with the start of each entry that is not in memory, until it returns false; with all of the data, if
    /// `is_whole` returns true for the name.
    pub(crate) fn each_start(&self, is_whole: impl Fn(&[u8]) -> bool, mut add: impl FnMut(Extent) -> bool) {
        let mut at = 0;
        while let Ok(Some(entry)) = self.entry(at) {
            at = entry.next;
            let Some(mut start) = self.start_of(&entry) else { return };
            // The bytes between the entries, perhaps many that align the data: as a rule they are before the data. In
            // NPZ, the next entry of the directory may be far behind.
            let mut between = 0;
            if cfg!(feature = "pytorch") && self.format == Format::Pytorch {
                let next = self.entry(at).ok().flatten().map_or(self.directory.start, |next| next.local_at);
                between = next.saturating_sub(entry.local_at).saturating_sub(entry.stored).min(MOST_BETWEEN);
            }
            let more = if is_whole(entry.name) { entry.stored } else { 0 };
            let available = self.directory.start.saturating_sub(start.offset);
            start.length = start.length.max(between).saturating_add(more).min(available);
            if self.input.get(start).is_none() && !add(start) {
                return;
            }
        }
    }

    /// Returns the range that usually includes the local header of an entry and the head of an array; `None` if it does
    /// not begin before the directory.
    pub(crate) fn start_of(&self, entry: &Entry<'_>) -> Option<Extent> {
        let available = self.directory.start.checked_sub(entry.local_at).filter(|available| *available > 0)?;
        let lengths = u64::from(entry.about.name.get()).saturating_add(entry.about.extra.get().into());
        let usual = LOCAL.saturating_add(lengths).saturating_add(AFTER_HEADER);
        Some(Extent::new(entry.local_at, usual.min(available)))
    }

    /// Returns the bytes of `extent`, which is before the directory. If bytes are missing, requests more than `extent`.
    pub(crate) fn keep(&self, opening: &ParseContext<'a>, extent: Extent) -> ParseResult<&'a [u8]> {
        if opening.input.get(extent).is_none() {
            let available = self.directory.start.saturating_sub(extent.offset);
            let length = at_once(self.directory.start).max(extent.length).min(available);
            opening.keep(Extent::new(extent.offset, length))?;
        }
        opening.keep(extent)
    }

    /// Returns the extent of an entry's data, from its local header, which must agree with the directory.
    ///
    /// `left` is the number of bytes before the directory that do not yet belong to an entry. Entries that do not
    /// overlap need no more, so this bounds the work that all entries can cause.
    pub(crate) fn data(&self, opening: &ParseContext<'a>, entry: &Entry<'a>, left: &mut u64) -> ParseResult<Extent> {
        let Entry { local_at, about, .. } = *entry;
        let stop = |kind, item| opening.stop(self.error(kind, item, entry.at));
        let available = self.directory.start.checked_sub(local_at).filter(|available| *available >= LOCAL);
        let Some(available) = available else { return Err(stop(ErrorKind::OutOfPlace, Part::Offset)) };
        let head = self.keep(opening, Extent::new(local_at, LOCAL))?;
        let local_stop = |kind, item| opening.fail((kind, self.format, item), local_at);
        let Ok((local, _)) = LocalHeader::ref_from_prefix(head) else {
            return Err(local_stop(ErrorKind::Truncated, Part::Entry)); // that many bytes were requested
        };
        if local.signature != record::LOCAL {
            return Err(local_stop(ErrorKind::Malformed, Part::Entry));
        }
        let length =
            LOCAL.saturating_add(local.about.name.get().into()).saturating_add(local.about.extra.get().into());
        if length > available {
            return Err(local_stop(ErrorKind::OutOfPlace, Part::Data));
        }
        let taken = left.checked_sub(length).and_then(|left| left.checked_sub(entry.stored));
        let Some(after_this) = taken else {
            let is_too_long = entry.stored > available;
            let (kind, item) =
                if is_too_long { (ErrorKind::OutOfPlace, Part::Data) } else { (ErrorKind::Overlap, Part::Entry) };
            return Err(stop(kind, item));
        };
        *left = after_this;
        let head = self.keep(opening, Extent::new(local_at, length))?;
        let after = head.get(size_of::<LocalHeader>()..).unwrap_or_default();
        let (name, extra) = after.split_at_checked(local.about.name.get().into()).unwrap_or_default();
        if name != entry.name {
            return Err(local_stop(ErrorKind::HeadersDiffer, Part::Name));
        }
        let both = about.flags.get() ^ local.about.flags.get();
        if both & (LOCKED | LENGTHS_FOLLOW | UTF8_NAME) != 0 {
            return Err(local_stop(ErrorKind::HeadersDiffer, Part::Flags));
        }
        if about.method.get() != local.about.method.get() {
            return Err(local_stop(ErrorKind::HeadersDiffer, Part::Encoding));
        }
        if about.flags.get() & LENGTHS_FOLLOW == 0 {
            let wide = record::widened(&local.about, 0, 0, extra, false);
            let lengths = wide.map(|wide| (wide.stored, wide.size));
            if lengths != Some((entry.stored, entry.size)) {
                return Err(local_stop(ErrorKind::HeadersDiffer, Part::Length));
            }
            if about.crc.get() != local.about.crc.get() {
                return Err(local_stop(ErrorKind::HeadersDiffer, Part::Digest));
            }
        }
        let data = Extent::new(local_at.saturating_add(length), entry.stored);
        if !data.is_within(self.directory.start) {
            return Err(stop(ErrorKind::OutOfPlace, Part::Data));
        }
        let largest = entry.stored.saturating_add(1).saturating_mul(MAX_EXPANSION);
        match entry.about.method.get() {
            STORED if entry.size != entry.stored && !entry.is_locked() => {
                Err(stop(ErrorKind::SizeMismatch, Part::Length))
            }
            DEFLATED if entry.size > largest => Err(stop(ErrorKind::TooMany, Part::DecodedLength)),
            _ => Ok(data),
        }
    }
}
