//! The entries of an archive, arrays or not.
#![forbid(unsafe_code)]

use super::NpzFile;
use crate::bytes::extent::Extent;
use crate::bytes::source::ParseContext;
use crate::bytes::utf8::Utf8;
use crate::error::{Error, Result};
use crate::types::Encoding;

impl<'a> NpzFile<'a> {
    /// Returns all entries, arrays or not, in the order of the directory.
    #[must_use]
    pub fn entries(&self) -> ArchiveEntries<'a> {
        ArchiveEntries { file: *self, at: 0, error: None }
    }
}

/// An entry of an archive, array or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveEntry<'a> {
    /// The name of the entry; the name of an array usually ends in `.npy`. Use it only as a label: as a path, it may
    /// lead out of any directory.
    pub name: &'a str,
    /// The extent of the stored bytes, which may be compressed.
    pub extent: Extent,
    /// The encoding of the stored bytes.
    pub encoding: Encoding,
    /// The decoded length in bytes.
    pub decoded_length: u64,
    /// The CRC-32 of the decoded bytes.
    pub crc32: u32,
}

/// The entries of an archive. See [`NpzFile::entries`].
#[derive(Clone, Copy, Debug)]
pub struct ArchiveEntries<'a> {
    pub(super) file: NpzFile<'a>,
    at: u32,
    error: Option<Error>,
}

impl ArchiveEntries<'_> {
    /// Returns why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }
}

impl<'a> ArchiveEntries<'a> {
    fn read(&mut self) -> Result<Option<ArchiveEntry<'a>>> {
        let Some(entry) = self.file.archive.entry(self.at)? else { return Ok(None) };
        let opening = ParseContext::of(self.file.archive.input);
        let extent =
            self.file.archive.data(&opening, &entry, &mut { u64::MAX }).map_err(|stop| opening.error(stop))?;
        self.at = entry.next;
        let (encoding, _) = entry.encoding();
        let name = Utf8::checked(entry.name).map_or("", Utf8::as_str);
        let (decoded_length, crc32) = (entry.size, entry.about.crc.get());
        Ok(Some(ArchiveEntry { name, extent, encoding, decoded_length, crc32 }))
    }
}

impl<'a> Iterator for ArchiveEntries<'a> {
    type Item = ArchiveEntry<'a>;

    fn next(&mut self) -> Option<ArchiveEntry<'a>> {
        if self.error.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }
}
