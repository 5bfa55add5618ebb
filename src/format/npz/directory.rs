//! Where the directory of an archive is: by the record at the end of the file, and that of zip64 before it.
//!
//! Depends on `place`, `error`, `bytes`, and `zip` beside it.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::zip::{self, End, End64, Locator};
use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::to_u64;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::error::ErrorKind;
use crate::error::origin::{Format, Item};

const END_64: u64 = 56;
const LOCATOR: u64 = 20;
/// The numbers of bytes to search at the end of the file: for an archive that ends with the file, with a short comment and
/// with the longest; then, from [`PADDED`] on, for an archive that padding follows (zeros, line ends, erased flash). More
/// padding exceeds our own limit.
const REACHES: [u32; 5] = [98, 0x1_0015, 1 << 17, 1 << 20, 1 << 24];
const PADDED: usize = 2;
/// Larger directories are refused: positions in them have 32 bits.
const MAX_DIRECTORY: u64 = 1 << 30;

/// The directory of an archive.
pub(super) struct Directory<'a> {
    pub(super) region: Region<'a>,
    /// The number of its entries, as the record at the end states it.
    pub(super) entries: u64,
    /// True if padding follows the archive.
    pub(super) is_padded: bool,
}

/// Finds the record at the end: the last one whose comment ends with the file. Nearly all files have no comment, so
/// the last bytes alone are searched first. If there is none, padding may follow the archive. Returns whether it does.
fn find_end(opening: &ParseContext<'_>) -> ParseResult<(u64, bool)> {
    for (i, reach) in REACHES.into_iter().enumerate() {
        let may_be_padded = i >= PADDED;
        let (start, tail) = last_bytes(opening, reach.into())?;
        let used = if may_be_padded { without_padding(tail) } else { tail.len() };
        if let Some(at) = last_record(start, tail, used) {
            return Ok((at, may_be_padded));
        }
        // The record of a padded archive may be before these bytes only if most of them are padding. (A chip has them all.)
        if cfg!(not(target_os = "none")) && may_be_padded && used > tail.len().wrapping_shr(1) {
            break;
        }
    }
    Err(opening.fail((ErrorKind::Truncated, Format::Npz, Item::Footer), opening.input.length()))
}

/// The number of bytes before the padding at the end.
fn without_padding(tail: &[u8]) -> usize {
    let last = tail.iter().rposition(|byte| !matches!(byte, 0 | b'\n' | b'\r' | 0xff));
    last.map_or(0, |last| last.saturating_add(1))
}

/// The last bytes of the file, and where they begin.
fn last_bytes<'a>(opening: &ParseContext<'a>, reach: u64) -> ParseResult<(u64, &'a [u8])> {
    let length = opening.input.length();
    let start = length.saturating_sub(reach);
    Ok((start, opening.keep(Extent::new(start, length.saturating_sub(start)))?))
}

/// The position in the file of the last record in `tail`, which begins at `start`, that ends at or after byte `used` of it.
fn last_record(start: u64, tail: &[u8], used: usize) -> Option<u64> {
    let (mut rest, mut found) = (tail, None);
    while let Ok((end, _)) = End::ref_from_prefix(rest) {
        // How many bytes follow it.
        let after = rest.len().checked_sub(size_of::<End>().saturating_add(end.comment.get().into()));
        if end.signature == zip::END && after.is_some_and(|after| after <= tail.len().saturating_sub(used)) {
            found = Some(start.saturating_add(to_u64(tail.len().saturating_sub(rest.len()))));
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    found
}

/// The numbers in the record at the end of an archive, or in that of zip64.
pub(super) struct Stated {
    /// The disk, the disk with the directory, the number of entries on the disk, the number of entries.
    pub(super) numbers: [u64; 4],
    /// The offset and the length of the directory.
    place: [u64; 2],
    /// The end of the directory.
    directory_end: u64,
    end_at: u64,
    is_padded: bool,
}

/// Reads the record at the end and that of zip64.
#[inline] // nearly all of `find`, and of it alone on chips
pub(super) fn stated(opening: &ParseContext<'_>) -> ParseResult<Stated> {
    let stop = |kind, at| opening.fail((kind, Format::Npz, Item::Footer), at);
    let rule = (ErrorKind::Truncated, Format::Npz, Item::Footer);
    let (end_at, is_padded) = find_end(opening)?;
    let end: &End = opening.read(end_at, rule)?;
    let narrow = [&end.disk, &end.directory_disk, &end.entries_here, &end.entries].map(|number| number.get());
    let narrow_place = [end.directory.get(), end.directory_size.get()];
    let (mut numbers, mut place) = (narrow.map(u64::from), narrow_place.map(u64::from));
    let mut directory_end = end_at;
    if let Some(locator_at) = end_at.checked_sub(LOCATOR) {
        let locator: &Locator = opening.read(locator_at, rule)?;
        let at = locator.end.get();
        if locator.signature == zip::LOCATOR {
            let available = locator_at.checked_sub(at).filter(|available| *available >= END_64);
            if available.is_none() || locator.disk.get() != 0 || locator.disks.get() != 1 {
                return Err(stop(ErrorKind::OutOfPlace, locator_at));
            }
            let wide: &End64 = opening.read(at, rule)?;
            // The size that it states excludes the 12 bytes up to and including the size.
            if wide.signature != zip::END_64 || wide.size.get().checked_add(12) != available {
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

/// Finds the directory from the record at the end and that of zip64.
pub(super) fn find<'a>(opening: &ParseContext<'a>) -> ParseResult<Directory<'a>> {
    let stop = |kind, at| opening.fail((kind, Format::Npz, Item::Footer), at);
    let Stated { numbers, place, directory_end, end_at, is_padded } = stated(opening)?;
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
