//! Finds the directory of an archive from the end record, at the end of the file, and the zip64 record before it.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::entry::at_once;
use super::record::{self, End, End64, Locator};
use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::to_u64;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};

pub(crate) const END_64: u64 = 56;
const LOCATOR: u64 = 20;
/// The numbers of bytes to search at the end of the file. The first two are for an archive that ends with the file,
/// with a short comment and with the longest comment. The others, from index [`PADDED`], are for an archive followed by
/// padding (zeros, line ends, erased flash). More padding exceeds our own limit.
const REACHES: [u32; 5] = [98, 0x1_0015, 1 << 17, 1 << 20, 1 << 24];
const PADDED: usize = 2;
/// The size of the largest accepted directory in bytes. Positions in a directory have 32 bits.
pub(crate) const MAX_DIRECTORY: u64 = 1 << 30;

/// The directory of an archive.
pub(crate) struct Directory<'a> {
    pub(crate) region: Region<'a>,
    /// The number of entries, as the end record states it.
    pub(crate) entries: u64,
    /// True if padding follows the archive.
    pub(crate) is_padded: bool,
}

/// Finds the end record: the last record whose comment ends with the file. Nearly all files have no comment, so only
/// the last bytes are searched first. If there is no such record, padding may follow the archive. Returns the position
/// of the record, and whether padding follows.
fn find_end(opening: &ParseContext<'_>, format: Format) -> ParseResult<(u64, bool)> {
    for (i, reach) in REACHES.into_iter().enumerate() {
        let may_be_padded = i >= PADDED;
        let (start, tail) = last_bytes(opening, reach.into())?;
        let used = if may_be_padded { without_padding(tail) } else { tail.len() };
        if let Some(at) = last_record(start, tail, used) {
            return Ok((at, may_be_padded));
        }
        // The record of a padded archive may be before these bytes only if most of them are padding. Bare-metal
        // programs omit this check to save flash.
        if cfg!(not(target_os = "none")) && may_be_padded && used > (tail.len() >> 1) {
            break;
        }
    }
    Err(opening.fail((ErrorKind::Truncated, format, Part::Footer), opening.input.length()))
}

/// Returns the number of bytes before the padding at the end.
fn without_padding(tail: &[u8]) -> usize {
    let last = tail.iter().rposition(|byte| !matches!(byte, 0 | b'\n' | b'\r' | 0xff));
    last.map_or(0, |last| last.saturating_add(1))
}

/// Returns the last bytes of the file, and their position. If they are missing, a host requests more bytes, which
/// usually include the directory.
fn last_bytes<'a>(opening: &ParseContext<'a>, reach: u64) -> ParseResult<(u64, &'a [u8])> {
    let length = opening.input.length();
    let last = |count: u64| {
        let start = length.saturating_sub(count);
        Extent::new(start, length.saturating_sub(start))
    };
    let extent = last(reach);
    if cfg!(not(target_os = "none")) && opening.input.get(extent).is_none() {
        opening.keep(last(at_once(length).max(reach)))?;
    }
    Ok((extent.offset, opening.keep(extent)?))
}

/// Returns the position in the file of the last end record in `tail` that ends at or after byte `used` of `tail`.
/// `start` is the position of `tail`.
fn last_record(start: u64, tail: &[u8], used: usize) -> Option<u64> {
    let (mut rest, mut found) = (tail, None);
    while let Ok((end, _)) = End::ref_from_prefix(rest) {
        // The number of bytes after the record.
        let after = rest.len().checked_sub(size_of::<End>().saturating_add(end.comment.get().into()));
        if end.signature == record::END && after.is_some_and(|after| after <= tail.len().saturating_sub(used)) {
            found = Some(start.saturating_add(to_u64(tail.len().saturating_sub(rest.len()))));
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    found
}

/// The numbers in the end record of an archive, or in the zip64 record.
pub(crate) struct Stated {
    /// The disk, the disk with the directory, the number of entries on this disk, and the number of all entries.
    pub(crate) numbers: [u64; 4],
    /// The offset and the length of the directory.
    place: [u64; 2],
    /// The end of the directory.
    directory_end: u64,
    end_at: u64,
    is_padded: bool,
}

/// Reads the end record and the zip64 record.
#[inline] // nearly all of `find`, its only caller on bare metal
pub(crate) fn stated(opening: &ParseContext<'_>, format: Format) -> ParseResult<Stated> {
    let stop = |kind, at| opening.fail((kind, format, Part::Footer), at);
    let rule = (ErrorKind::Truncated, format, Part::Footer);
    let (end_at, is_padded) = find_end(opening, format)?;
    let end: &End = opening.read(end_at, rule)?;
    let narrow = [&end.disk, &end.directory_disk, &end.entries_here, &end.entries].map(|number| number.get());
    let narrow_place = [end.directory.get(), end.directory_size.get()];
    let (mut numbers, mut place) = (narrow.map(u64::from), narrow_place.map(u64::from));
    let mut directory_end = end_at;
    if let Some(locator_at) = end_at.checked_sub(LOCATOR) {
        let locator: &Locator = opening.read(locator_at, rule)?;
        let at = locator.end.get();
        if locator.signature == record::LOCATOR {
            let available = locator_at.checked_sub(at).filter(|available| *available >= END_64);
            if available.is_none() || locator.disk.get() != 0 || locator.disks.get() != 1 {
                return Err(stop(ErrorKind::OutOfPlace, locator_at));
            }
            let wide: &End64 = opening.read(at, rule)?;
            // The stated size excludes the signature and the size itself: 12 bytes.
            if wide.signature != record::END_64 || wide.size.get().checked_add(12) != available {
                return Err(stop(ErrorKind::OutOfPlace, locator_at));
            }
            let disks = [wide.disk.get(), wide.directory_disk.get()].map(u64::from);
            let wide_place = [wide.directory.get(), wide.directory_size.get()];
            let [disk, directory_disk] = disks;
            let wider = [disk, directory_disk, wide.entries_here.get(), wide.entries.get()];
            let differs = |(narrow, wide): (&u16, &u64)| *narrow != u16::MAX && u64::from(*narrow) != *wide;
            let is_elsewhere = |(narrow, wide): (&u32, &u64)| *narrow != u32::MAX && u64::from(*narrow) != *wide;
            if narrow.iter().zip(&wider).any(differs) || narrow_place.iter().zip(&wide_place).any(is_elsewhere) {
                return Err(stop(ErrorKind::HeadersDiffer, at));
            }
            (numbers, place, directory_end) = (wider, wide_place, at);
        }
    }
    Ok(Stated { numbers, place, directory_end, end_at, is_padded })
}

/// Finds the directory from the end record and the zip64 record.
pub(crate) fn find<'a>(opening: &ParseContext<'a>, format: Format) -> ParseResult<Directory<'a>> {
    let stop = |kind, at| opening.fail((kind, format, Part::Footer), at);
    let Stated { numbers, place, directory_end, end_at, is_padded } = stated(opening, format)?;
    let ([disk, directory_disk, here, entries], [offset, length]) = (numbers, place);
    if disk != 0 || directory_disk != 0 || here != entries {
        return Err(stop(ErrorKind::CountsDiffer, end_at));
    }
    let directory = Extent::new(offset, length);
    if directory.end() != Some(directory_end) {
        return Err(stop(ErrorKind::ManifestSize, end_at));
    }
    if length > MAX_DIRECTORY {
        return Err(stop(ErrorKind::ManifestTooLarge, end_at));
    }
    Ok(Directory { region: Region { bytes: opening.keep(directory)?, start: offset }, entries, is_padded })
}
