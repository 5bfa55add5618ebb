//! ZIP archives (APPNOTE 4.3), the container of several formats.
//!
//! ```text
//! entries     local header, name, extra fields, data, and for some of them a data descriptor    (entry.rs)
//! directory   a record for each entry                                                           (entry.rs)
//! zip64       in large archives: the record of the directory's end, and a locator of that       (directory.rs)
//! end         the record of the directory's end: 22 bytes, and a comment
//! ```
//!
//! The directory is authoritative. Some readers follow the local headers instead, so these must agree with the
//! directory. A local header may have other extra fields than the directory's record, so only the local header states
//! where the data begins. Its lengths and its CRC-32 may be zero: then they follow the data, and the directory has them.
//! The names of entries are any UTF-8 without NUL; a format compares them byte by byte.
#![forbid(unsafe_code)]

mod directory;
mod entry;
pub(crate) mod explain;
mod places;
pub(crate) mod record;

#[cfg(all(feature = "npz", feature = "write", feature = "crc32"))]
pub(crate) use self::directory::{END_64, MAX_DIRECTORY};
pub(crate) use self::entry::Checking;
pub(crate) use self::entry::Entry;
#[cfg(all(feature = "npz", feature = "write", feature = "crc32"))]
pub(crate) use self::entry::{LENGTHS_FOLLOW, LOCAL, STORED, UTF8_NAME};
use crate::bytes::extent::Region;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};

/// An archive whose directory is in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Archive<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) directory: Region<'a>,
    /// The format of the file, which errors state.
    format: Format,
}

/// The facts that the end of an archive states besides the place of the directory.
pub(crate) struct Stated {
    /// The number of entries.
    entries: u64,
    /// True if padding follows the archive.
    pub(crate) is_padded: bool,
}

impl<'a> Archive<'a> {
    /// Finds the directory of an archive, which is a file of `format`.
    pub(crate) fn find(opening: &ParseContext<'a>, format: Format) -> ParseResult<(Self, Stated)> {
        let directory::Directory { region, entries, is_padded } = directory::find(opening, format)?;
        Ok((Self { input: opening.input, directory: region, format }, Stated { entries, is_padded }))
    }

    /// An archive whose directory was found before.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn of(input: Input<'a>, directory: Region<'a>, format: Format) -> Self {
        Self { input, directory, format }
    }

    pub(crate) fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    /// Returns an error at position `at` of the directory.
    pub(crate) fn error(&self, kind: ErrorKind, item: Part, at: u32) -> Error {
        Error::at(kind, self.format, item, self.position(at))
    }

    /// Returns the offset in the file of position `at` of the directory.
    pub(crate) fn position(&self, at: u32) -> u64 {
        self.directory.start.saturating_add(at.into())
    }
}
