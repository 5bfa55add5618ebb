//! The header of a file: where it is, and what it says of the whole file.
#![forbid(unsafe_code)]

use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::to_u64;
use crate::bytes::source::Input;
use crate::codec::json::Reader;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};

/// The number of bytes before the header. They contain its length.
pub(super) const HEADER: u64 = 8;

/// The longest header that the reference implementation reads (`MAX_HEADER_SIZE`).
pub(super) const MAX_HEADER: u64 = 100_000_000;

/// The position in the header after its opening brace.
pub(super) const START: u32 = 1;

/// The key of the metadata. No tensor can have this name.
pub(super) const METADATA: &[u8] = b"__metadata__";

/// A safetensors file.
#[derive(Clone, Copy, Debug)]
pub struct SafetensorsFile<'a> {
    pub(super) input: Input<'a>,
    pub(super) header: Region<'a>,
    /// The position of the metadata in the header; 0 if there is none.
    pub(super) metadata: u32,
    pub(super) tensors: u32,
    /// True if the names are strictly ascending, and if the data is in the order of the entries. Sorted names or
    /// extents are not compared.
    pub(super) are_names_sorted: bool,
    pub(super) are_places_sorted: bool,
}

impl<'a> SafetensorsFile<'a> {
    /// Returns the extent of the JSON header in the file, including the spaces that pad it.
    #[must_use]
    pub const fn header(&self) -> Extent {
        Extent::new(HEADER, to_u64(self.header.bytes.len()))
    }

    /// Returns the extent of the data in the file. The stored offsets of tensors are relative to its start.
    #[must_use]
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub fn data(&self) -> Extent {
        let start = HEADER.saturating_add(to_u64(self.header.bytes.len()));
        Extent::new(start, self.input.length().saturating_sub(start))
    }

    pub(super) fn reader(&self, position: u32) -> Reader<'a> {
        Reader::new(self.header.bytes, position)
    }

    pub(super) fn error(&self, kind: ErrorKind, item: Part, position: u32) -> Error {
        Error::at(kind, Format::Safetensors, item, HEADER.saturating_add(position.into()))
    }
}

/// The header of a file, if it is in memory.
pub(super) fn header(input: Input<'_>) -> Option<&[u8]> {
    let size = input.get(Extent::new(0, HEADER))?.first_chunk()?;
    input.get(Extent::new(HEADER, u64::from_le_bytes(*size)))
}
