//! The header, and the places that it states.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::fail;
use crate::bytes::extent::Extent;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};

/// The first bytes of a file, all of which ExecuTorch reads at once.
#[derive(Debug, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    /// The offset of the root table, which the flatbuffer begins with.
    root: U32,
    /// The identifier of the flatbuffer. A file with another one does not come here.
    identifier: [u8; 4],
    magic: [u8; 4],
    length: U32,
    /// The number of bytes that were put in behind the first 8 of the flatbuffer, and the flatbuffer's length before.
    inserted: U64,
    flatbuffer: U64,
    /// The place of all data.
    data_offset: U64,
    data_length: U64,
    /// The padding behind the header, or the start of the flatbuffer's tables.
    rest: [u8; 16],
}

pub(super) const MAGIC_AT: u64 = 8;
pub(super) const LENGTH_AT: u64 = 12;
pub(super) const FLATBUFFER_AT: u64 = 16;
pub(super) const DATA_AT: u64 = 32;

const MAGIC: [u8; 4] = *b"FH01";

/// The length of the header. A later version may append fields.
const LENGTH: u32 = 40;

/// The most bytes before the end of the flatbuffer. This limit is our own.
const MOST: u64 = 1 << 30;

/// The places in a file, which are within the file.
pub(super) struct Places {
    /// The end of the flatbuffer.
    pub(super) end: u64,
    pub(super) data: Extent,
}

impl Header {
    /// Returns the place of the flatbuffer, counted from the start of the file, if its end does not exceed 64 bits.
    pub(super) const fn flatbuffer(&self) -> Extent {
        Extent::new(self.inserted.get(), self.flatbuffer.get())
    }

    pub(super) const fn data(&self) -> Extent {
        Extent::new(self.data_offset.get(), self.data_length.get())
    }

    /// Checks the header of a file of `length` bytes.
    pub(super) fn places(&self, length: u64) -> Result<Places> {
        if self.magic != MAGIC {
            return Err(fail(ErrorKind::Malformed, Part::Header, MAGIC_AT));
        }
        if self.length.get() < LENGTH {
            return Err(fail(ErrorKind::Malformed, Part::Length, LENGTH_AT));
        }
        let (flatbuffer, data) = (self.flatbuffer(), self.data());
        if flatbuffer.offset < self.length.get().into() {
            return Err(fail(ErrorKind::OverHeader, Part::Manifest, FLATBUFFER_AT));
        }
        let end = flatbuffer.end().filter(|end| *end <= length);
        let end = end.ok_or(fail(ErrorKind::OutOfFile, Part::Manifest, FLATBUFFER_AT))?;
        if end > MOST {
            return Err(fail(ErrorKind::ManifestTooLarge, Part::Manifest, FLATBUFFER_AT));
        }
        if !data.is_within(length) {
            return Err(fail(ErrorKind::OutOfFile, Part::Data, DATA_AT));
        }
        if data.length > 0 && data.offset < end {
            return Err(fail(ErrorKind::OverManifest, Part::Data, DATA_AT));
        }
        Ok(Places { end, data })
    }
}
