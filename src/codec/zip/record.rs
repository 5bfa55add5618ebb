//! The records of a ZIP archive (APPNOTE 4.3), as they are in the file. All numbers are little-endian.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

pub(crate) const LOCAL: [u8; 4] = *b"PK\x03\x04";
pub(crate) const ENTRY: [u8; 4] = *b"PK\x01\x02";
pub(crate) const END: [u8; 4] = *b"PK\x05\x06";
pub(crate) const END_64: [u8; 4] = *b"PK\x06\x06";
pub(crate) const LOCATOR: [u8; 4] = *b"PK\x06\x07";
#[cfg(all(feature = "write", feature = "crc32"))]
pub(crate) const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";

/// The value of a 16-bit or 32-bit field whose number is in a zip64 field or record.
pub(crate) const ALL_ONES_16: u16 = u16::MAX;
pub(crate) const ALL_ONES_32: u32 = u32::MAX;

/// The ID of the extra field that contains such numbers.
pub(crate) const ZIP64: u16 = 1;

/// The header before the data of an entry; its name and extra fields follow.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct LocalHeader {
    pub(crate) signature: [u8; 4],
    version: U16,
    pub(crate) about: About,
}

/// The fields that an entry's local header and its record in the directory have in common.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct About {
    pub(crate) flags: U16,
    pub(crate) method: U16,
    time: U32,
    pub(crate) crc: U32,
    pub(crate) stored: U32,
    pub(crate) size: U32,
    pub(crate) name: U16,
    pub(crate) extra: U16,
}

/// The record of an entry in the directory; its name, extra fields and comment follow.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct DirectoryEntry {
    pub(crate) signature: [u8; 4],
    made_by: U16,
    version: U16,
    pub(crate) about: About,
    pub(crate) comment: U16,
    pub(crate) disk: U16,
    attributes: [u8; 6],
    pub(crate) offset: U32,
}

/// The record at the end of the file; a comment follows.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct End {
    pub(crate) signature: [u8; 4],
    pub(crate) disk: U16,
    pub(crate) directory_disk: U16,
    pub(crate) entries_here: U16,
    pub(crate) entries: U16,
    pub(crate) directory_size: U32,
    pub(crate) directory: U32,
    pub(crate) comment: U16,
}

/// The zip64 record before the locator; fields of later versions may follow.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct End64 {
    pub(crate) signature: [u8; 4],
    /// The number of bytes after this field.
    pub(crate) size: U64,
    versions: [u8; 4],
    pub(crate) disk: U32,
    pub(crate) directory_disk: U32,
    pub(crate) entries_here: U64,
    pub(crate) entries: U64,
    pub(crate) directory_size: U64,
    pub(crate) directory: U64,
}

/// The locator of the zip64 record, directly before the end record.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Locator {
    pub(crate) signature: [u8; 4],
    pub(crate) disk: U32,
    pub(crate) end: U64,
    pub(crate) disks: U32,
}

/// The numbers of a record, in the order of the zip64 field. A number that is all ones in the record is taken from
/// there.
pub(crate) struct Wide {
    pub(crate) size: u64,
    pub(crate) stored: u64,
    pub(crate) offset: u64,
    pub(crate) disk: u32,
}

/// The largest number of extra fields before the zip64 field. This limit is our own; writers put the zip64 field first.
const MOST_BEFORE: u32 = 64;

/// Returns the numbers of a record, reading those that are all ones from `extra`. Returns `None` if the extra fields do
/// not fit, or if the zip64 field is too short or follows too many others. Extra fields that were `checked` before are
/// read only up to the zip64 field.
pub(crate) fn widened(about: &About, offset: u32, disk: u16, extra: &[u8], checked: bool) -> Option<Wide> {
    let mut field = zip64(extra, checked)?;
    let mut take = |narrow: u32| {
        if narrow != ALL_ONES_32 || field.is_none() {
            return Some(u64::from(narrow));
        }
        let (number, rest) = U64::ref_from_prefix(field?).ok()?;
        field = Some(rest);
        Some(number.get())
    };
    let (size, stored, offset) = (take(about.size.get())?, take(about.stored.get())?, take(offset)?);
    let disk = match field {
        Some(rest) if disk == ALL_ONES_16 => U32::ref_from_prefix(rest).ok()?.0.get(),
        _ => disk.into(),
    };
    Some(Wide { size, stored, offset, disk })
}

/// Finds the zip64 field among the extra fields, if there is one. Returns `None` if a field is longer than the
/// remaining bytes, or if too many fields precede the zip64 field. Remaining bytes shorter than a field's head are
/// padding.
fn zip64(extra: &[u8], checked: bool) -> Option<Option<&[u8]>> {
    let (mut rest, mut found, mut before) = (extra, None, 0_u32);
    while let Ok(([id, length], after)) = <[U16; 2]>::ref_from_prefix(rest) {
        let (field, after) = after.split_at_checked(length.get().into())?;
        if id.get() == ZIP64 {
            if before > MOST_BEFORE {
                return None;
            }
            found = found.or(Some(field));
        }
        // Only on hosts: chips have few entries and little flash.
        if cfg!(not(small)) && checked && (found.is_some() || before > MOST_BEFORE) {
            break;
        }
        before = before.wrapping_add(1); // there are 65 535 bytes at most
        rest = after;
    }
    Some(found)
}
