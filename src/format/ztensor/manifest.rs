//! The manifest: where it is in a file, the versions of its container, and the way from one entry to the next.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

#[cfg(not(small))]
use super::fast;
use super::v0;
use crate::attributes::Attributes;
use crate::bytes::extent::{Extent, Region};
use crate::bytes::keywords::Keywords;
use crate::bytes::num::to_u64;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::cbor::{Fault, Left, Reader};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};
use crate::format::{Cursor, HEAD};

const MAGIC_0: [u8; 8] = *b"ZTEN0001";
pub(super) const MAGIC_1: [u8; 8] = *b"ZTEN1000";

/// The length of the magic at the start. No blob may begin before its end.
pub(super) const HEADER: u64 = 8;

/// The alignment of blobs, and the offset of the first one (0.1 "Notes", 1.0 section 2).
pub(super) const ALIGNMENT: u64 = 64;

/// The longest manifest. The specifications of 1.1 and 1.2 reject larger ones. For the other versions, this limit is
/// our own.
const MAX_MANIFEST: u64 = 1 << 30;

/// The last 16 bytes of a file. In 0.1 and 1.0, the size is where later versions have the magic.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    manifest_size: [u8; 8],
    magic: [u8; 8],
}

/// The version, as far as the container reveals it. 1.1 and 1.2 share a container. Fields that are new in 1.2 are read
/// wherever they occur, since programs append to older files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `ZTEN0001`: a list of entries.
    V0_1,
    /// `ZTEN1000` without a magic at the end.
    V1_0,
    /// `ZTEN1000` with a magic at the end: 1.1 and 1.2.
    V1_2,
}

/// The manifest: its bytes, and the container it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manifest<'a> {
    pub(super) region: Region<'a>,
    pub(super) generation: Generation,
}

impl<'a> Manifest<'a> {
    /// Locates the manifest by the magics and the size (0.1 "Index Reading", 1.0 section 6 steps 1 to 3).
    pub(super) fn locate(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let fail = |kind, at| Err(opening.fail((kind, Format::Ztensor, Part::Footer), at));
        let length = opening.input.length();
        let Some(tail_at) = length.checked_sub(16) else { return fail(ErrorKind::Truncated, length) };
        let head = opening.keep(Extent::new(0, HEAD))?;
        let tail: &Tail = opening.read(tail_at, (ErrorKind::Truncated, Format::Ztensor, Part::Footer))?;
        let (generation, size, footer) = if head.starts_with(&MAGIC_0) {
            (Generation::V0_1, &tail.magic, 8)
        } else if tail.magic.starts_with(&MAGIC_1) {
            (Generation::V1_2, &tail.manifest_size, 16)
        } else {
            (Generation::V1_0, &tail.magic, 8)
        };
        let size = u64::from_le_bytes(*size);
        let footer_at = length.saturating_sub(footer);
        // The specification of 1.0 has `<`, but its own empty files need `<=` (section 6 step 2).
        let start = footer_at.checked_sub(size).filter(|&start| start >= HEADER);
        let Some(start) = start.filter(|_| size > 0) else { return fail(ErrorKind::ManifestSize, footer_at) };
        if size > MAX_MANIFEST {
            return fail(ErrorKind::ManifestTooLarge, footer_at);
        }
        let bytes = opening.keep(Extent::new(start, size))?;
        Ok(Self { region: Region { bytes, start }, generation })
    }

    /// The length of the file: the end of the footer, which directly follows the manifest.
    pub(super) const fn file_length(&self) -> u64 {
        let footer = match self.generation {
            Generation::V0_1 | Generation::V1_0 => 8,
            Generation::V1_2 => 16,
        };
        self.region.start.wrapping_add(to_u64(self.region.bytes.len())).wrapping_add(footer)
    }

    pub(super) fn reader(&self, position: u32) -> Reader<'a> {
        Reader::new(self.region.bytes, position)
    }

    /// True if the manifest is a list of entries with one component each, rather than a map.
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.generation, Generation::V0_1)
    }

    pub(super) fn error(&self, fault: &Fault) -> Error {
        fault.in_file(Format::Ztensor, self.region.start)
    }

    /// Fails if the reader has found a fault.
    pub(super) fn check(&self, reader: &Reader<'_>) -> Result<()> {
        self.check_found(reader, true)
    }

    /// Does the same as [`check`](Self::check), and fails with `NotFound` unless `is_found`.
    #[inline(never)]
    pub(super) fn check_found(&self, reader: &Reader<'_>, is_found: bool) -> Result<()> {
        match reader.found_fault() {
            Some(fault) => Err(self.error(fault)),
            None if is_found => Ok(()),
            None => Err(Error::new(ErrorKind::NotFound)),
        }
    }

    /// Reads the name of the entry at the reader's position and skips the rest of the entry. Returns the name and its
    /// position.
    pub(super) fn name(&self, reader: &mut Reader<'a>) -> (&'a [u8], u32) {
        match self.generation {
            Generation::V0_1 => v0::name(reader),
            Generation::V1_0 | Generation::V1_2 => {
                let at = reader.position();
                reader.item = Part::Name;
                let name = reader.text_bytes(); // valid UTF-8: checked when the file was opened
                reader.skip_record();
                (name, at)
            }
        }
    }

    /// A faster [`name`](Self::name) for an entry that has been read before: skips the rest without checking it again.
    #[inline]
    pub(super) fn name_of_checked(&self, reader: &mut Reader<'a>) -> (&'a [u8], u32) {
        #[cfg(not(small))]
        if !self.is_list() {
            let at = reader.position();
            if let Some((name, after)) = fast::skip_unchecked::<false>(self, at) {
                reader.go_to(after);
                return (name, at);
            }
            let name = reader.text_bytes();
            reader.pass_over_record();
            return (name, at);
        }
        self.name(reader)
    }

    /// Returns true if another entry follows.
    pub(super) fn more(&self, reader: &mut Reader<'a>, left: &mut Left) -> bool {
        reader.item = Part::Tensors;
        reader.entry = NO_ENTRY;
        self.more_parts(reader, left)
    }

    /// Returns true if another component follows. In a list, an entry is one component.
    pub(super) fn more_parts(&self, reader: &mut Reader<'a>, left: &mut Left) -> bool {
        if self.is_list() { reader.more(left) } else { reader.more_pairs(left) }
    }

    pub(super) fn attributes(&self, position: u32, hidden: Keywords) -> Attributes<'a> {
        if position == 0 {
            return Attributes::NONE;
        }
        Attributes::cbor(self.region, Format::Ztensor, position, hidden)
    }
}

/// The position of a key in a map, and the number of items left in the map. In a list, the position of an entry.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) at: u32,
    pub(super) left: Left,
}

impl Key {
    /// The key at which `cursor` continues an iteration.
    pub(super) fn at(cursor: &Cursor) -> Self {
        Self { at: position(cursor.at), left: Left::from_bits(cursor.left) }
    }

    /// The next key. `read` reads the item at this key and returns the position after it. Returns `None` if no item is
    /// left or `read` fails.
    #[inline]
    pub(super) fn passed(self, read: impl FnOnce(u32) -> Option<u32>) -> Option<Self> {
        let left = self.left.less_a_pair()?;
        Some(Self { at: read(self.at)?, left })
    }

    /// Stores this key as the position at which an iteration continues.
    pub(super) fn store(self, cursor: &mut Cursor) {
        let index = cursor.index.wrapping_add(1); // each item takes at least one byte of the manifest
        *cursor = Cursor::new(self.at.into(), self.left.bits(), index);
    }
}

/// Converts a position in the manifest, which is at most 1 GiB long.
pub(super) fn position(at: u64) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
