//! The frame: its header, its trailer, and the metalayers in both.
//!
//! Depends on `error`, `bytes`. The text calls the parts MessagePack, but every writer puts every field at a
//! constant place with a constant marker before it, so that no general parser is needed; the markers are held to
//! what they must be.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use zerocopy::big_endian::{I16, I32, I64, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::fail;
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{Input, Opening, Stop};
use crate::error::{ErrorKind, Item, Result};

/// The first bytes of a header; the metalayers follow.
#[derive(Debug, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 10],
    header_marker: u8,
    header_length: I32,
    frame_marker: u8,
    frame_length: U64,
    flags_marker: u8,
    pub(super) general_flags: u8,
    frame_type: u8,
    pub(super) codec_flags: u8,
    other_flags: u8,
    nbytes_marker: u8,
    nbytes: I64,
    cbytes_marker: u8,
    cbytes: I64,
    typesize_marker: u8,
    typesize: I32,
    blocksize_marker: u8,
    blocksize: I32,
    chunksize_marker: u8,
    chunksize: I32,
    writers_threads_marker: u8,
    writers_threads: I16,
    readers_threads_marker: u8,
    readers_threads: I16,
    has_variable_metalayers: u8,
    filters_marker: u8,
    filter_count: u8,
    pub(super) filters: [u8; 6],
    pub(super) codec: u8,
    codec_meta: u8,
    pub(super) filters_meta: [u8; 6],
    pub(super) other_flags2: u8,
    reserved: u8,
}

/// Bytes of [`Header`].
pub(super) const HEADER: u64 = 87;
/// Where its fields stand that an error may be about.
const HEADER_LENGTH_AT: u64 = 11;
const FRAME_LENGTH_AT: u64 = 16;
const FLAGS_AT: u64 = 25;
const FRAME_TYPE_AT: u64 = 26;
pub(super) const NBYTES_AT: u64 = 30;
pub(super) const CBYTES_AT: u64 = 39;
pub(super) const TYPESIZE_AT: u64 = 48;
const BLOCKSIZE_AT: u64 = 53;
pub(super) const CHUNKSIZE_AT: u64 = 58;
const HAS_VARIABLE_METALAYERS_AT: u64 = 68;
const FILTER_COUNT_AT: u64 = 70;

/// The markers of MessagePack before the fields of the header.
const MARKERS: &[(u64, u8)] = &[
    (0, 0x9e),
    (1, 0xa8),
    (10, 0xd2),
    (15, 0xcf),
    (24, 0xa4),
    (29, 0xd3),
    (38, 0xd3),
    (47, 0xd2),
    (52, 0xd2),
    (57, 0xd2),
    (62, 0xd1),
    (65, 0xd1),
    (69, 0xd8),
];

/// The end of the trailer: the marker and the length of the trailer, and a fingerprint that nobody writes.
const TAIL: u64 = 23;
/// The shortest trailer: a marker, a version, no metalayers, the tail.
const MIN_TRAILER: u64 = 35;
/// Larger headers and trailers are refused: a limit of ours.
const MAX_METADATA: u64 = 1 << 30;
/// How many metalayers header and trailer have at most.
const MAX_METALAYERS: u16 = 16;

/// Where the parts of a frame stand, as far as the header and the trailer say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    /// The header with its metalayers.
    pub(super) header: &'a [u8],
    pub(super) trailer_at: u64,
}

impl Header {
    pub(super) fn of(header: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(header).ok().map(|(header, _)| header)
    }

    /// 1, 2 or 3.
    pub(super) const fn version(&self) -> u8 {
        self.general_flags & 0x0f
    }

    /// Bytes of the whole frame.
    pub(super) fn frame_length(&self) -> u64 {
        self.frame_length.get()
    }

    /// Bytes of an element, as the writer says.
    pub(super) fn typesize(&self) -> u64 {
        u64::try_from(self.typesize.get()).unwrap_or(0)
    }

    /// Bytes of a block; 0 where that is left to the chunks.
    pub(super) fn blocksize(&self) -> u64 {
        u64::try_from(self.blocksize.get()).unwrap_or(0)
    }

    /// Bytes of all chunks, decoded.
    pub(super) fn nbytes(&self) -> u64 {
        u64::try_from(self.nbytes.get()).unwrap_or(0)
    }

    /// Bytes of all chunks as they are stored, with whatever lies between them. Of a frame without chunks none:
    /// programs leave an old number there.
    pub(super) fn cbytes(&self) -> u64 {
        if self.nbytes() == 0 { 0 } else { u64::try_from(self.cbytes.get()).unwrap_or(0) }
    }

    /// Bytes of a chunk, decoded; 0 where they differ.
    pub(super) fn chunksize(&self) -> u64 {
        u64::try_from(self.chunksize.get()).unwrap_or(0)
    }
}

/// Reads header and trailer, and checks all that concerns neither the chunks nor a metalayer of its own.
pub(super) fn open<'a>(opening: &Opening<'a>) -> core::result::Result<Parts<'a>, Stop> {
    let length = opening.input.length();
    if length < HEADER {
        return Err(fail(ErrorKind::Truncated, Item::Header, length).into());
    }
    let bytes = opening.keep(Extent::new(0, HEADER))?;
    let Some(header) = Header::of(bytes) else {
        return Err(fail(ErrorKind::Truncated, Item::Header, length).into()); // 87 bytes were asked for
    };
    let header_length = header.check(bytes, length)?;
    let frame_length = header.frame_length.get();
    let tail_at = frame_length.saturating_sub(TAIL);
    let tail = opening.keep(Extent::new(tail_at, TAIL))?;
    let trailer_length = match tail {
        [0xce, a, b, c, d, 0xd8, 0x00, ..] => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
        [0xce, _, _, _, _, rest @ ..] => {
            let at = tail_at.saturating_add(if rest.first() == Some(&0xd8) { 6 } else { 5 });
            return Err(fail(ErrorKind::WrongMarker, Item::Trailer, at).into());
        }
        _ => return Err(fail(ErrorKind::WrongMarker, Item::Trailer, tail_at).into()),
    };
    let room = frame_length.saturating_sub(header_length);
    if trailer_length < MIN_TRAILER || trailer_length > room {
        return Err(fail(ErrorKind::FrameLengths, Item::Trailer, tail_at.saturating_add(1)).into());
    }
    if header_length > MAX_METADATA || trailer_length > MAX_METADATA {
        return Err(fail(ErrorKind::ManifestTooLarge, Item::Header, HEADER_LENGTH_AT).into());
    }
    let trailer_at = frame_length.saturating_sub(trailer_length);
    if header.cbytes() > trailer_at.saturating_sub(header_length) {
        return Err(fail(ErrorKind::FrameLengths, Item::Chunk, CBYTES_AT).into());
    }
    let parts = Parts { header: opening.keep(Extent::new(0, header_length))?, trailer_at };
    let trailer = opening.keep(Extent::new(trailer_at, trailer_length))?;
    match trailer {
        [0x94, version, ..] if *version < 0x80 => {}
        [0x94, ..] => return Err(fail(ErrorKind::WrongMarker, Item::Version, trailer_at.saturating_add(1)).into()),
        _ => return Err(fail(ErrorKind::WrongMarker, Item::Trailer, trailer_at).into()),
    }
    parts.metalayers().check()?;
    parts.variable_metalayers(opening.input).check()?;
    Ok(parts)
}

impl Header {
    /// Holds the fields to what they must be; the length of the header with its metalayers.
    fn check(&self, bytes: &[u8], length: u64) -> Result<u64> {
        for (at, marker) in MARKERS {
            if to_usize(*at).and_then(|at| bytes.get(at)) != Some(marker) {
                return Err(fail(ErrorKind::WrongMarker, Item::Header, *at));
            }
        }
        if !matches!(self.has_variable_metalayers, 0xc2 | 0xc3) {
            return Err(fail(ErrorKind::WrongMarker, Item::Header, HAS_VARIABLE_METALAYERS_AT));
        }
        match self.general_flags {
            // Version, then the width of chunk offsets: 1 for 64 bits. The other flags say what the chunks say, too.
            flags if !matches!(flags & 0x0f, 1..=3) => {
                Err(fail(ErrorKind::UnsupportedVersion, Item::Version, FLAGS_AT))
            }
            flags if flags & 0x30 != 0x10 => Err(fail(ErrorKind::UnknownFlags, Item::Flags, FLAGS_AT)),
            _ => Ok(()),
        }?;
        match self.frame_type {
            0 => {}
            1 => return Err(fail(ErrorKind::SparseFrame, Item::Header, FRAME_TYPE_AT)),
            _ => return Err(fail(ErrorKind::UnknownFlags, Item::Header, FRAME_TYPE_AT)),
        }
        let positive =
            |number: i64, at| u64::try_from(number).map_err(|_| fail(ErrorKind::NegativeLength, Item::Header, at));
        let header_length = positive(self.header_length.get().into(), HEADER_LENGTH_AT)?;
        let nbytes = positive(self.nbytes.get(), NBYTES_AT)?;
        positive(self.cbytes.get(), CBYTES_AT)?;
        positive(self.blocksize.get().into(), BLOCKSIZE_AT)?;
        if positive(self.typesize.get().into(), TYPESIZE_AT)? == 0 {
            return Err(fail(ErrorKind::ZeroLength, Item::Header, TYPESIZE_AT));
        }
        // -1 is written for a frame that never had a chunk.
        if nbytes > 0 || self.chunksize.get() != -1 {
            positive(self.chunksize.get().into(), CHUNKSIZE_AT)?;
        }
        if self.filter_count > 6 {
            return Err(fail(ErrorKind::TooMany, Item::Filter, FILTER_COUNT_AT));
        }
        let frame_length = self.frame_length.get();
        if frame_length > length {
            return Err(fail(ErrorKind::Truncated, Item::File, FRAME_LENGTH_AT));
        }
        if frame_length < HEADER.saturating_add(MIN_TRAILER) {
            return Err(fail(ErrorKind::FrameLengths, Item::Header, FRAME_LENGTH_AT));
        }
        if header_length < HEADER || header_length > frame_length.saturating_sub(MIN_TRAILER) {
            return Err(fail(ErrorKind::FrameLengths, Item::Header, HEADER_LENGTH_AT));
        }
        Ok(header_length)
    }
}

impl<'a> Parts<'a> {
    /// The metalayers of the header. Their places are counted from the start of the frame.
    pub(super) fn metalayers(&self) -> Metalayers<'a> {
        Metalayers::new(self.header, 0, HEADER)
    }

    /// Those of the trailer: chunks of their own. Their places are counted from the start of the trailer.
    pub(super) fn variable_metalayers(&self, input: Input<'a>) -> Metalayers<'a> {
        let end = self.number(Header::frame_length).saturating_sub(TAIL);
        let bytes = input.get(Extent::new(self.trailer_at, end.saturating_sub(self.trailer_at)));
        Metalayers::new(bytes.unwrap_or_default(), self.trailer_at, 2)
    }

    /// A number of the header.
    pub(super) fn number(&self, number: fn(&Header) -> u64) -> u64 {
        Header::of(self.header).map_or(0, number)
    }
}

/// A named content of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Metalayer<'a> {
    /// Its name: 31 bytes at most.
    pub name: &'a str,
    /// What it says, as it is stored: MessagePack mostly; in the trailer that is compressed, as a chunk of Blosc.
    pub content: &'a [u8],
    /// Where that stands in the file.
    pub extent: Extent,
}

/// The metalayers of a header or a trailer, in the order of their index.
///
/// They were checked when the file was opened. Should the bytes have changed since, the iterator ends early.
#[derive(Clone, Copy, Debug)]
pub struct Metalayers<'a> {
    /// What the places of contents are counted in, up to where they have to end; it stands at `start` in the file.
    bytes: &'a [u8],
    start: u64,
    /// Where the section begins in it, and where the iterator stands.
    section: u64,
    at: u64,
    left: u16,
}

/// Bytes before the first entry: the markers and numbers of the index.
const INDEX_HEAD: u64 = 7;
/// Bytes before the first content: the marker and the number of contents.
const CONTENTS_HEAD: u64 = 3;
/// Bytes before a content: its marker and its length.
const CONTENT_HEAD: u64 = 5;

impl<'a> Metalayers<'a> {
    fn new(bytes: &'a [u8], start: u64, section: u64) -> Self {
        let mut metalayers = Self { bytes, start, section, at: section.saturating_add(INDEX_HEAD), left: 0 };
        metalayers.left = match metalayers.get(section, INDEX_HEAD) {
            Some([_, _, _, _, _, a, b]) => u16::from_be_bytes([*a, *b]),
            _ => 0,
        };
        metalayers
    }

    fn get(&self, at: u64, length: u64) -> Option<&'a [u8]> {
        Extent::new(at, length).of(self.bytes, 0)
    }

    /// Holds all of them to the rules.
    fn check(self) -> Result<()> {
        let end = to_u64(self.bytes.len());
        let error = |kind, at: u64| fail(kind, Item::Metalayer, self.start.saturating_add(at));
        let section = self.section;
        match self.get(section, INDEX_HEAD) {
            None => return Err(error(ErrorKind::Truncated, end)),
            // The number behind the first 0xcd is the length of the index, which no reader uses.
            Some([0x93, 0xcd, _, _, 0xde, ..]) => {}
            Some(_) => return Err(error(ErrorKind::WrongMarker, section)),
        }
        if self.left > MAX_METALAYERS {
            return Err(error(ErrorKind::TooMany, section.saturating_add(5)));
        }
        let mut index = self;
        while index.left > 0 {
            index.entry().map_err(|(kind, at)| error(kind, at))?;
        }
        let contents = index.at;
        match index.get(contents, CONTENTS_HEAD) {
            Some([0xdc, a, b]) if u16::from_be_bytes([*a, *b]) == self.left => {}
            Some([0xdc, ..]) => return Err(error(ErrorKind::CountsDiffer, contents.saturating_add(1))),
            Some(_) => return Err(error(ErrorKind::WrongMarker, contents)),
            None => return Err(error(ErrorKind::Truncated, end)),
        }
        let mut all = self;
        while all.left > 0 {
            let (name, place) = all.entry().map_err(|(kind, at)| error(kind, at))?;
            if place < contents.saturating_add(CONTENTS_HEAD) {
                return Err(error(ErrorKind::OutOfPlace, all.at.saturating_sub(4)));
            }
            all.content(place).map_err(|(kind, at)| error(kind, at))?;
            let mut others = all;
            while others.left > 0 {
                let at = others.at;
                if others.entry().is_ok_and(|(other, _)| other == name) {
                    return Err(error(ErrorKind::RepeatedKey, at));
                }
            }
        }
        Ok(())
    }

    /// The next entry of the index: a name, and where its content stands.
    fn entry(&mut self) -> core::result::Result<(&'a str, u64), (ErrorKind, u64)> {
        let end = to_u64(self.bytes.len());
        let marker = self.get(self.at, 1).and_then(<[u8]>::first).ok_or((ErrorKind::Truncated, end))?;
        if !matches!(marker, 0xa0..=0xbf) {
            return Err((ErrorKind::WrongMarker, self.at));
        }
        let name_at = self.at.saturating_add(1);
        let length = u64::from(marker & 0x1f);
        let name = self.get(name_at, length).ok_or((ErrorKind::Truncated, end))?;
        let place_at = name_at.saturating_add(length);
        let place = match self.get(place_at, 5) {
            Some([0xd2, a, b, c, d]) => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
            Some(_) => return Err((ErrorKind::WrongMarker, place_at)),
            None => return Err((ErrorKind::Truncated, end)),
        };
        let name = core::str::from_utf8(name).map_err(|_| (ErrorKind::InvalidUtf8, name_at))?;
        self.at = place_at.saturating_add(5);
        self.left = self.left.saturating_sub(1);
        Ok((name, place))
    }

    /// The content at `place`, and where it begins.
    fn content(&self, place: u64) -> core::result::Result<(&'a [u8], u64), (ErrorKind, u64)> {
        let length = match self.get(place, CONTENT_HEAD) {
            Some([0xc6, a, b, c, d]) => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
            Some(_) => return Err((ErrorKind::WrongMarker, place)),
            None => return Err((ErrorKind::OutOfPlace, self.at.saturating_sub(4))),
        };
        let at = place.saturating_add(CONTENT_HEAD);
        let content = self.get(at, length).ok_or((ErrorKind::OutOfPlace, place.saturating_add(1)))?;
        Ok((content, at))
    }

    /// The first of that name.
    #[must_use]
    pub fn get_named(&self, name: &str) -> Option<Metalayer<'a>> {
        let mut all = *self;
        all.find(|metalayer| metalayer.name == name)
    }
}

impl<'a> Iterator for Metalayers<'a> {
    type Item = Metalayer<'a>;

    fn next(&mut self) -> Option<Metalayer<'a>> {
        self.left.checked_sub(1)?;
        let (name, place) = self.entry().ok()?;
        let (content, at) = self.content(place).ok()?;
        let extent = Extent::new(self.start.saturating_add(at), to_u64(content.len()));
        Some(Metalayer { name, content, extent })
    }
}

impl FusedIterator for Metalayers<'_> {}
