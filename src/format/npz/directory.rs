//! Where the directory of an archive is: by the record at the end of the file, and that of zip64 before it.
//!
//! Depends on `place`, `error`, `bytes`, and `zip` beside it.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::zip::{self, End, End64, Locator};
use crate::bytes::extent::{Extent, Region};
use crate::bytes::source::{ParseContext, ParseResult};
use crate::error::ErrorKind;
use crate::place::{Format, Item};

const END: u64 = 22;
const END_64: u64 = 56;
const LOCATOR: u64 = 20;
/// The length of the longest possible comment of an archive.
const MAX_COMMENT: u64 = 0xffff;
/// Larger directories are refused: positions in them have 32 bits.
const MAX_DIRECTORY: u64 = 1 << 30;

/// Finds the record at the end: the last one whose comment ends with the file. Nearly all files have no comment, so
/// the last bytes alone are searched first.
fn find_end(opening: &ParseContext<'_>) -> ParseResult<u64> {
    let length = opening.input.length();
    for reach in [LOCATOR.saturating_add(END_64).saturating_add(END), END.saturating_add(MAX_COMMENT)] {
        let start = length.saturating_sub(reach);
        let mut tail = opening.keep(Extent::new(start, length.saturating_sub(start)))?;
        let mut found = None;
        let mut at = start;
        while let Ok((end, _)) = End::ref_from_prefix(tail) {
            if end.signature == zip::END && at.saturating_add(END).saturating_add(end.comment.get().into()) == length
            {
                found = Some(at);
            }
            tail = tail.get(1..).unwrap_or_default();
            at = at.saturating_add(1);
        }
        if let Some(at) = found {
            return Ok(at);
        }
    }
    Err(opening.fail((ErrorKind::Truncated, Format::Npz, Item::Footer), length))
}

/// Finds the directory, and its stated number of entries, from the record at the end and that of zip64.
pub(super) fn find<'a>(opening: &ParseContext<'a>) -> ParseResult<(Region<'a>, u64)> {
    let stop = |kind, at| opening.fail((kind, Format::Npz, Item::Footer), at);
    let rule = (ErrorKind::Truncated, Format::Npz, Item::Footer);
    let end_at = find_end(opening)?;
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
    Ok((Region { bytes: opening.keep(directory)?, start: offset }, entries))
}
