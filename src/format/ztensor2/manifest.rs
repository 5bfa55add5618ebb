//! The manifest, which lists everything in a file, and the footer that locates the manifest. All modules of this format
//! read the manifest through [`Manifest`].
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::attributes::Attributes;
use crate::bytes::extent::Region;
use crate::bytes::keywords::{Keywords, keywords};
use crate::codec::cbor::strict::{Fields, Reader, fields};
use crate::error::origin::{Format, Part};
use crate::error::{Error, NO_ENTRY, Result};
use crate::format::TensorRecord;

/// The alignment of blobs, and the offset of the first one (section 2.4).
pub(super) const ALIGNMENT: u64 = 4096;

/// The longest name of a tensor, role of a component, or key of an attribute (section 3.5).
pub(super) const MAX_NAME: usize = 1024;

/// The length of the footer. No blob extends into it.
pub(super) const FOOTER: u64 = 40;

/// The length of the shortest file: the magic and the footer.
pub(super) const SMALLEST: u64 = 48;

/// The end of a file (section 2.3).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Footer {
    pub(super) offset: [u8; 8],
    pub(super) length: [u8; 8],
    pub(super) hash: [u8; 8],
    pub(super) version: [u8; 4],
    reserved: [u8; 4],
    pub(super) magic: [u8; 8],
}

/// The manifest (section 3.2).
pub(super) const ROOT: &Fields =
    &fields!({ "shards": Shards, "objects": Tensors, "attributes": Attributes } required Tensors);

/// The manifest, and the end of the data in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manifest<'a> {
    /// Empty if there is no manifest.
    pub(super) region: Region<'a>,
    pub(super) data_end: u64,
}

impl<'a> Manifest<'a> {
    pub(super) fn reader(&self, position: u32) -> Reader<'a> {
        Reader::new(self.region.bytes, position)
    }

    /// A reader at `position` whose errors refer to `tensor`.
    pub(super) fn reader_in(&self, tensor: &TensorRecord<'_>, position: u32) -> Reader<'a> {
        let mut reader = self.reader(position);
        reader.entry = u32::try_from(tensor.at.wrapping_sub(self.region.start)).unwrap_or(NO_ENTRY);
        reader
    }

    #[cold]
    pub(super) fn error(&self, reader: &Reader<'_>) -> Error {
        reader.error(Format::Ztensor2, self.region.start)
    }

    /// Returns the result in `found`, or the reader's error if there is none.
    #[cfg_attr(small, inline(never))]
    pub(super) fn outcome(&self, reader: &Reader<'_>, found: Option<bool>) -> Result<bool> {
        found.ok_or_else(|| self.error(reader))
    }

    /// Converts a position in the manifest to an offset in the file.
    pub(super) fn offset(&self, position: u32) -> u64 {
        self.region.start.wrapping_add(position.into())
    }

    pub(super) fn attributes(&self, position: u32) -> Attributes<'a> {
        if position == 0 {
            return Attributes::NONE;
        }
        Attributes::cbor(self.region, Format::Ztensor2, position, Keywords::NONE)
    }
}

/// The keys left in a map: the position of the next one, and their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) at: u32,
    pub(super) left: u32,
}

impl Keys {
    pub(super) const NONE: Self = Self { at: 0, left: 0 };

    /// Reads the head of the map at the reader's position.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let left = reader.map()?;
        Some(Self { at: reader.position(), left })
    }
}

/// Returns true if a blob may begin at this offset of the file.
pub(super) const fn is_aligned(offset: u64) -> bool {
    offset != 0 && offset & ALIGNMENT.wrapping_sub(1) == 0
}
