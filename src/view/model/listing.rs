//! The index of a safetensors model: which tensors the model has, and in which files they are.
#![forbid(unsafe_code)]

use crate::bytes::text::Text;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::safetensors::{Index, IndexEntries, IndexEntry};
use crate::format::{JsonStr, Name};

/// The index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing<'a>(pub(super) Index<'a>);

/// A tensor that the index lists.
pub(super) struct Listed<'a> {
    pub(super) name: Text<'a>,
    /// The position of the name in the index.
    pub(super) name_at: u32,
    pub(super) file: Text<'a>,
}

/// An iterator over the tensors that the index lists.
pub(super) struct Entries<'a>(IndexEntries<'a>);

impl<'a> Listing<'a> {
    pub(super) fn count(&self) -> u64 {
        self.0.tensor_count()
    }

    pub(super) const fn entries(&self) -> Entries<'a> {
        Entries(self.0.entries())
    }

    /// The name at a position.
    pub(super) fn name_at(&self, position: u32) -> Name<'a> {
        Name::Json(JsonStr::at(self.0.text(), position))
    }

    /// The name at a position and the file listed for it; `None` if the bytes have changed.
    pub(super) fn at(&self, position: u32) -> Option<(Text<'a>, Text<'a>)> {
        self.0.entry_at(position).map(|IndexEntry { name, file }| (name, file))
    }

    /// The error that the name at a position is listed twice.
    pub(super) const fn repeated(position: u32) -> Error {
        #[allow(clippy::as_conversions)] // widens
        Error::at(ErrorKind::RepeatedName, Format::SafetensorsIndex, Part::Name, position as u64)
    }
}

impl<'a> Entries<'a> {
    /// Reads the next tensor. `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Listed<'a>>> {
        let read = self.0.read()?;
        Ok(read.map(|read| Listed { name: read.entry.name, name_at: read.name_at, file: read.entry.file }))
    }
}
