//! The archive of a checkpoint: its entries, and its storages.
#![forbid(unsafe_code)]

use super::item::Words;
use super::storages::{Order, Orders};
use super::{Body, Flags, IN_CONSTANTS, LARGEST, PytorchFile, fail};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::pickle::frames::Container;
use crate::bytes::pickle::reach::Reach;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::zip::{self, Archive, Checking};
use crate::duplicates::Seen;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};

/// True if an archive is a checkpoint: its first entry is in a folder, and a folder has a `data.pkl`.
pub(crate) fn is_checkpoint<'a>(opening: &ParseContext<'a>) -> ParseResult<bool> {
    let (archive, _) = Archive::find(opening, Format::Npz)?;
    let mut at = 0;
    while let Ok(Some(record)) = archive.record(at) {
        if !record.name.contains(&b'/') && at == 0 {
            return Ok(false); // the arrays of NPZ are in no folder
        }
        if record.name.ends_with(b"/data.pkl") && record.name.iter().filter(|byte| **byte == b'/').count() == 1 {
            return Ok(true);
        }
        at = record.next;
    }
    Ok(false)
}

/// Returns the name of an entry in the folder that all entries are in.
pub(super) fn in_folder(name: &[u8]) -> &[u8] {
    let slash = name.iter().position(|byte| *byte == b'/');
    slash.and_then(|slash| name.get(slash.saturating_add(1)..)).unwrap_or_default()
}

/// True for the names of entries that are read when an archive is opened.
pub(super) fn is_read(name: &[u8]) -> bool {
    matches!(in_folder(name), b"data.pkl" | b"constants.pkl" | b"byteorder" | b"version")
}

impl<'a> PytorchFile<'a> {
    /// Opens an archive.
    #[inline(never)] // for its machine on the stack
    pub(super) fn open_archive(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (archive, stated) = Archive::find(opening, Format::Pytorch)?;
        let length = to_u64(archive.directory.bytes.len());
        let length = u32::try_from(length).unwrap_or(u32::MAX); // the directory has no more than 1 GiB
        let mut file = Self {
            input: archive.input,
            body: Body::Archive { start: archive.directory.start, length, order: Order::None },
            data_at: 0,
            constants_at: 0,
            data_length: 0,
            constants_length: 0,
            count: 0,
            container: Container::NONE,
            words: Words::NONE,
            first_key: 0,
            flags: Flags(if stated.is_padded { Flags::PADDED } else { 0 }),
            reach: Reach::LARGE,
        };
        let has_version = Seen::with(u32::MAX, |entries| file.read_entries(opening, &stated, entries))?;
        if file.data_length == 0 {
            return Err(opening.fail((ErrorKind::MissingData, Format::Pytorch, Part::Manifest), 0));
        }
        if !has_version {
            return Err(opening.fail((ErrorKind::MissingData, Format::Pytorch, Part::Version), 0));
        }
        file.check_trees(|file, seen| {
            file.check_archive_tree(false, seen)?;
            if file.constants_length > 0 { file.check_archive_tree(true, seen) } else { Ok(()) }
        })
        .map_err(|error| opening.stop(error))?;
        Ok(file)
    }

    /// Returns the entry of a storage: its position in the directory, the extent of its data, and its CRC-32.
    pub(super) fn storage(&self, position: u32) -> Result<(Extent, u32)> {
        let changed = self.archive().error(ErrorKind::Malformed, Part::Entry, position);
        let entry = self.archive().entry(position)?.ok_or(changed)?;
        let opening = ParseContext::of(self.input);
        let data = self.archive().data(&opening, &entry, &mut { u64::MAX });
        Ok((data.map_err(|stop| opening.error(stop))?, entry.about.crc.get()))
    }

    /// Reads the directory of an archive, and its entries besides the storages. Returns whether it states a version.
    pub(super) fn read_entries(
        &mut self,
        opening: &ParseContext<'a>,
        stated: &zip::Stated,
        entries: &mut Seen<'_, 'a>,
    ) -> ParseResult<bool> {
        let (archive, folder) = (self.archive(), self.folder());
        let (mut checking, mut orders, mut has_version) = (Checking::new(&archive), Orders::new(), false);
        while let Some((entry, data)) = checking.next(&archive, opening, stated)? {
            let stop = |kind, item| opening.stop(archive.error(kind, item, entry.at));
            let name = entry.name.strip_prefix(folder).filter(|_| !folder.is_empty());
            let name = name.ok_or_else(|| stop(ErrorKind::InvalidName, Part::Name))?;
            entries.add(entry.name);
            orders.add(&entry);
            if !is_read(entry.name) {
                continue;
            }
            if !entry.is_stored() {
                return Err(stop(ErrorKind::UnsupportedEncoding, Part::Encoding));
            }
            let length = u32::try_from(data.length).ok().filter(|_| data.length <= LARGEST);
            let length = length.ok_or_else(|| stop(ErrorKind::ManifestTooLarge, Part::Manifest))?;
            let bytes = opening.keep(data)?;
            #[cfg(feature = "crc32")]
            if entry.about.crc.get() != 0 && crate::codec::crc::crc32(bytes) != entry.about.crc.get() {
                return Err(stop(ErrorKind::ChecksumMismatch, Part::Digest));
            }
            match name {
                b"data.pkl" => (self.data_at, self.data_length) = (data.offset, length),
                b"constants.pkl" => (self.constants_at, self.constants_length) = (data.offset, length),
                b"byteorder" => match bytes {
                    b"little" => {}
                    b"big" => self.flags.set(Flags::BIG, true),
                    _ => {
                        return Err(opening
                            .fail((ErrorKind::InvalidByteOrder, Format::Pytorch, Part::ByteOrder), data.offset));
                    }
                },
                _ => {
                    has_version = true;
                    if !matches!(Self::number(bytes), Some(1..=10)) {
                        let rule = (ErrorKind::UnsupportedVersion, Format::Pytorch, Part::Version);
                        return Err(opening.fail(rule, data.offset));
                    }
                }
            }
        }
        if let Body::Archive { order, .. } = &mut self.body {
            *order = orders.order(&archive, checking.entries);
        }
        self.flags.set(Flags::SORTED_PLACES, checking.are_places_sorted);
        self.flags.set(Flags::DISTINCT_ENTRIES, entries.are_distinct());
        Ok(has_version)
    }

    /// Checks a whole pickle of an archive: also the storages that no tensor uses must be there.
    fn check_archive_tree(&mut self, in_constants: bool, seen: &mut Seen<'_, 'a>) -> Result<()> {
        let file = *self;
        let flag = if in_constants { IN_CONSTANTS } else { 0 };
        let (mut hint, mut work) = (0, 0);
        let most = self.most_work();
        self.check_tree(in_constants, seen, |storage, at| {
            let at = file.offset(at | flag);
            let key = storage.key.bytes(file.pickle(in_constants));
            let missing = fail(ErrorKind::MissingData, Part::Data, at);
            let entry = file.find_storage(key, in_constants, &mut hint, &mut work)?.ok_or(missing)?;
            if work > most {
                return Err(fail(ErrorKind::TooMany, Part::Entry, at));
            }
            if entry.is_stored() && entry.stored != storage.bytes {
                return Err(fail(ErrorKind::SizeMismatch, Part::Length, at));
            }
            Ok(())
        })
    }

    /// Returns the number of an entry that holds a decimal number, and at most one line end.
    fn number(text: &[u8]) -> Option<u64> {
        let digits = text.strip_suffix(b"\n").unwrap_or(text);
        let (number, rest) = crate::bytes::num::decimal(digits)?;
        rest.is_empty().then_some(number)
    }
}
