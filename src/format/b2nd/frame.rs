//! The frame: its header, its trailer, and the metalayers in both.
//!
//! The specification calls these parts MessagePack. However, every writer puts every field at a constant offset after a
//! constant marker, so no general parser is needed. Each marker must have its expected value.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use zerocopy::big_endian::{I16, I32, I64, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::stop;
use super::values::{self, OBJECT, Values};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{Input, Interrupted, ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// The fixed part of a header; the metalayers follow.
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

/// The size of [`Header`] in bytes.
pub(super) const HEADER: u64 = 87;
/// The offsets of header fields that an error may refer to.
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

/// The MessagePack markers before the fields of the header, with their offsets.
const MARKERS: &[(u8, u8)] = &[
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

/// The offsets of the header's signed lengths, which must not be negative.
const LENGTHS: &[u64] = &[HEADER_LENGTH_AT, NBYTES_AT, CBYTES_AT, BLOCKSIZE_AT, TYPESIZE_AT];

/// The size of the trailer's end: a marker, a length, and a fingerprint that no writer fills in.
const TAIL: u64 = 23;
/// The size of the shortest trailer: a marker, a version, no metalayers, and the end.
const MIN_TRAILER: u64 = 35;
/// The largest header or trailer that is accepted. This limit is our own.
const MAX_METADATA: u64 = 1 << 30;
/// The largest number of metalayers in a header or trailer.
const MAX_METALAYERS: u16 = 16;

/// The extents of the parts of a frame, as stated by the header and the trailer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    /// The header, including its metalayers.
    pub(super) header: &'a [u8],
    pub(super) trailer_at: u64,
}

impl Header {
    pub(super) fn of(header: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(header).ok().map(|(header, _)| header)
    }

    /// Returns the version of the frame: 1, 2 or 3.
    pub(super) const fn version(&self) -> u8 {
        self.general_flags & 0x0f
    }

    /// Returns the size of the whole frame in bytes.
    pub(super) fn frame_length(&self) -> u64 {
        self.frame_length.get()
    }

    /// Returns the size of an element in bytes, as the writer states it.
    pub(super) fn typesize(&self) -> u64 {
        u64::from(self.short_typesize())
    }

    /// Returns [`typesize`](Self::typesize) in its native 32 bits.
    pub(super) fn short_typesize(&self) -> u32 {
        u32::try_from(self.typesize.get()).unwrap_or(0)
    }

    /// Returns the size of a block in bytes; 0 if each chunk states its own.
    pub(super) fn blocksize(&self) -> u64 {
        u64::try_from(self.blocksize.get()).unwrap_or(0)
    }

    /// Returns the decoded size of all chunks in bytes.
    pub(super) fn nbytes(&self) -> u64 {
        u64::try_from(self.nbytes.get()).unwrap_or(0)
    }

    /// Returns the stored size of all chunks in bytes, including any gaps between them. Returns 0 for a frame without
    /// chunks, where writers leave a stale number.
    pub(super) fn cbytes(&self) -> u64 {
        if self.nbytes() == 0 { 0 } else { u64::try_from(self.cbytes.get()).unwrap_or(0) }
    }

    /// Returns the decoded size of a chunk in bytes; 0 if chunks differ in length.
    pub(super) fn chunksize(&self) -> u64 {
        u64::try_from(self.chunksize.get()).unwrap_or(0)
    }
}

/// Reads the header and the trailer. Checks everything except the chunks and the contents of metalayers.
pub(super) fn open<'a>(opening: &ParseContext<'a>) -> ParseResult<(Parts<'a>, Values)> {
    let length = opening.input.length();
    let truncated = || stop(opening, ErrorKind::Truncated, Part::Header, length);
    if length < HEADER {
        return Err(truncated());
    }
    let bytes = opening.keep(Extent::new(0, HEADER))?;
    let header = Header::of(bytes).ok_or_else(truncated)?; // 87 bytes were requested
    let header_length = header.check(opening, bytes)?;
    let frame_length = header.frame_length.get();
    let tail_at = frame_length.saturating_sub(TAIL);
    let wrong_marker = |item, at| stop(opening, ErrorKind::WrongMarker, item, at);
    let trailer_length = match opening.keep(Extent::new(tail_at, TAIL))? {
        [0xce, a, b, c, d, 0xd8, 0x00, ..] => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
        [0xce, _, _, _, _, rest @ ..] => {
            let at = tail_at.saturating_add(if rest.first() == Some(&0xd8) { 6 } else { 5 });
            return Err(wrong_marker(Part::Trailer, at));
        }
        _ => return Err(wrong_marker(Part::Trailer, tail_at)),
    };
    let available = frame_length.saturating_sub(header_length);
    if trailer_length < MIN_TRAILER || trailer_length > available {
        return Err(stop(opening, ErrorKind::FrameLengths, Part::Trailer, tail_at.saturating_add(1)));
    }
    if header_length > MAX_METADATA || trailer_length > MAX_METADATA {
        return Err(stop(opening, ErrorKind::ManifestTooLarge, Part::Header, HEADER_LENGTH_AT));
    }
    let trailer_at = frame_length.saturating_sub(trailer_length);
    if header.cbytes() > trailer_at.saturating_sub(header_length) {
        return Err(stop(opening, ErrorKind::FrameLengths, Part::Chunk, CBYTES_AT));
    }
    let parts = Parts { header: opening.keep(Extent::new(0, header_length))?, trailer_at };
    match opening.keep(Extent::new(trailer_at, trailer_length))? {
        [0x94, 0..0x80, ..] => {}
        [0x94, ..] => return Err(wrong_marker(Part::Version, trailer_at.saturating_add(1))),
        _ => return Err(wrong_marker(Part::Trailer, trailer_at)),
    }
    let values = parts.metalayers().check(opening)?;
    parts.variable_metalayers(opening.input).check(opening)?;
    Ok((parts, values))
}

/// Returns the metalayers of a frame's header, for an error message.
pub(super) fn metalayers_of(input: Input<'_>) -> Option<Metalayers<'_>> {
    let header = Header::of(input.get(Extent::new(0, HEADER))?)?;
    let length = u64::try_from(header.header_length.get()).ok()?;
    Some(Metalayers::new(input.get(Extent::new(0, length))?, 0, METALAYERS_AT))
}

/// Returns the number of metalayers in the index whose contents are counted at `at`, for an error message.
#[cfg(not(target_os = "none"))]
pub(super) fn indexed_at(input: Input<'_>, at: u64) -> Option<u64> {
    let header = Header::of(input.get(Extent::new(0, HEADER))?)?;
    let of_header = metalayers_of(input)?;
    if at < to_u64(of_header.bytes.len()) {
        return Some(of_header.left.into());
    }
    let tail_at = header.frame_length.get().checked_sub(TAIL)?;
    let length = input.get(Extent::new(tail_at, TAIL))?.get(1..)?.first_chunk::<4>()?;
    let trailer_at = header.frame_length.get().checked_sub(u32::from_be_bytes(*length).into())?;
    let trailer = input.get(Extent::new(trailer_at, tail_at.checked_sub(trailer_at)?))?;
    Some(Metalayers::new(trailer, trailer_at, 2).left.into())
}

impl Header {
    /// Checks the fields; returns the length of the header with its metalayers.
    fn check(&self, opening: &ParseContext<'_>, bytes: &[u8]) -> ParseResult<u64> {
        let fail = |kind, item, at| Err(stop(opening, kind, item, at));
        for (at, marker) in MARKERS {
            if bytes.get(usize::from(*at)) != Some(marker) {
                return fail(ErrorKind::WrongMarker, Part::Header, u64::from(*at));
            }
        }
        if !matches!(self.has_variable_metalayers, 0xc2 | 0xc3) {
            return fail(ErrorKind::WrongMarker, Part::Header, HAS_VARIABLE_METALAYERS_AT);
        }
        // The version, then the width of chunk offsets: 1 for 64 bits. The other flags repeat what the chunks state.
        if !matches!(self.version(), 1..=3) {
            return fail(ErrorKind::UnsupportedVersion, Part::Version, FLAGS_AT);
        }
        if self.general_flags & 0x30 != 0x10 {
            return fail(ErrorKind::UnknownFlags, Part::Flags, FLAGS_AT);
        }
        match self.frame_type {
            0 => {}
            1 => return fail(ErrorKind::SparseFrame, Part::Header, FRAME_TYPE_AT),
            _ => return fail(ErrorKind::UnknownFlags, Part::Header, FRAME_TYPE_AT),
        }
        let is_negative = |at: u64| to_usize(at).and_then(|at| bytes.get(at)).is_none_or(|byte| *byte >= 0x80);
        // Writers put -1 in a frame that never had a chunk.
        let has_no_chunk = self.chunksize.get() == -1 && self.nbytes.get() == 0;
        let chunk_size = if has_no_chunk { None } else { Some(&CHUNKSIZE_AT) };
        for at in LENGTHS.iter().chain(chunk_size) {
            if is_negative(*at) {
                return fail(ErrorKind::NegativeLength, Part::Header, *at);
            }
            if *at == TYPESIZE_AT && self.typesize.get() == 0 {
                return fail(ErrorKind::ZeroLength, Part::Header, TYPESIZE_AT);
            }
        }
        if self.filter_count > 6 {
            return fail(ErrorKind::TooMany, Part::Filter, FILTER_COUNT_AT);
        }
        let header_length = u64::try_from(self.header_length.get()).unwrap_or(0);
        let frame_length = self.frame_length.get();
        if frame_length > opening.input.length() {
            return fail(ErrorKind::Truncated, Part::File, FRAME_LENGTH_AT);
        }
        if frame_length < HEADER.saturating_add(MIN_TRAILER) {
            return fail(ErrorKind::FrameLengths, Part::Header, FRAME_LENGTH_AT);
        }
        if header_length < HEADER || header_length > frame_length.saturating_sub(MIN_TRAILER) {
            return fail(ErrorKind::FrameLengths, Part::Header, HEADER_LENGTH_AT);
        }
        Ok(header_length)
    }
}

impl<'a> Parts<'a> {
    /// Returns the metalayers of the header, with offsets from the start of the frame.
    pub(super) fn metalayers(&self) -> Metalayers<'a> {
        Metalayers::new(self.header, 0, METALAYERS_AT)
    }

    /// Returns the metalayers of the trailer, which are chunks, with offsets from the start of the trailer.
    pub(super) fn variable_metalayers(&self, input: Input<'a>) -> Metalayers<'a> {
        let end = self.number(Header::frame_length).saturating_sub(TAIL);
        let bytes = input.get(Extent::new(self.trailer_at, end.saturating_sub(self.trailer_at)));
        Metalayers::new(bytes.unwrap_or_default(), self.trailer_at, 2)
    }

    /// Returns whether a proxy does not record which values in its chunks were fetched.
    #[inline(never)] // keeps its stack frame out of the others
    pub(super) fn are_mixed(&self, input: Input<'a>) -> bool {
        let mut trailer = self.variable_metalayers(input);
        trailer.any(|metalayer| matches!(metalayer.name, "proxy-fetched-blocks" | "proxy-dirty"))
    }

    /// Returns a number of the header.
    pub(super) fn number(&self, number: fn(&Header) -> u64) -> u64 {
        Header::of(self.header).map_or(0, number)
    }
}

/// Reads bytes in order. Offsets count from the start of the bytes and never exceed 32 bits.
pub(super) struct Cursor<'o, 'a> {
    pub(super) opening: &'o ParseContext<'a>,
    bytes: &'a [u8],
    /// The offset of `bytes` in the file.
    start: u64,
    /// The offset of the next byte.
    pub(super) at: u32,
}

impl<'o, 'a> Cursor<'o, 'a> {
    pub(super) const fn new(opening: &'o ParseContext<'a>, bytes: &'a [u8], start: u64) -> Self {
        Self { opening, bytes, start, at: 0 }
    }

    /// Takes the next `count` bytes.
    #[inline(never)]
    pub(super) fn take(&mut self, count: u32) -> ParseResult<&'a [u8]> {
        match part(self.bytes, self.at, count) {
            Some(taken) => {
                self.at = self.at.saturating_add(count);
                Ok(taken)
            }
            None => Err(self.stop(ErrorKind::Truncated, Part::Metalayer, self.length())),
        }
    }

    /// Returns the number of bytes.
    pub(super) fn length(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Returns an error of `item` at `at` that stops opening.
    #[inline(never)]
    pub(super) fn stop(&self, kind: ErrorKind, item: Part, at: u32) -> Interrupted {
        stop(self.opening, kind, item, self.start.saturating_add(u64::from(at)))
    }
}

/// Returns `length` bytes from `at`.
fn part(bytes: &[u8], at: u32, length: u32) -> Option<&[u8]> {
    bytes.get(to_usize(at.into())?..)?.get(..to_usize(length.into())?)
}

/// A metalayer: named metadata of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Metalayer<'a> {
    /// The name of the metalayer: 31 bytes at most.
    pub name: &'a str,
    /// The content as stored: usually MessagePack. In the trailer, the content is compressed as a Blosc2 chunk.
    pub content: &'a [u8],
    /// The extent of the content in the file.
    pub extent: Extent,
}

/// An iterator over the metalayers of a header or a trailer, in the order of their index.
///
/// Metalayers are checked when the file is opened. If the bytes have changed since, the iterator ends early.
#[derive(Clone, Copy, Debug)]
pub struct Metalayers<'a> {
    /// The bytes that the offsets of contents refer to, up to where contents must end. `start` is their offset in the
    /// file.
    bytes: &'a [u8],
    start: u64,
    /// The position of the iterator.
    at: u32,
    left: u16,
}

/// The offset of the metalayers in the header: after the fixed part.
const METALAYERS_AT: u32 = 87;
/// The size in bytes of what precedes the first entry: the markers and numbers of the index.
const INDEX_HEAD: u32 = 7;
/// The size in bytes of what precedes the first content: a marker and the number of contents.
const CONTENTS_HEAD: u32 = 3;
/// The size in bytes of what precedes a content: its marker and its length.
const CONTENT_HEAD: u32 = 5;
/// The size in bytes of an offset, the last field of an entry. Errors of an offset point this far before the entry's
/// end.
const PLACE: u32 = 4;

impl<'a> Metalayers<'a> {
    /// Returns the metalayers whose index begins at `index`.
    fn new(bytes: &'a [u8], start: u64, index: u32) -> Self {
        let left = match part(bytes, index, INDEX_HEAD) {
            Some([_, _, _, _, _, a, b]) => u16::from_be_bytes([*a, *b]),
            _ => 0,
        };
        Self { bytes, start, at: index.saturating_add(INDEX_HEAD), left }
    }

    /// Returns a cursor at `at`.
    fn cursor<'o>(&self, opening: &'o ParseContext<'a>, at: u32) -> Cursor<'o, 'a> {
        Cursor { at, ..Cursor::new(opening, self.bytes, self.start) }
    }

    /// Checks all metalayers. Returns where the values are, according to the metalayers of a header.
    fn check(self, opening: &ParseContext<'a>) -> ParseResult<Values> {
        let mut index = self.cursor(opening, self.at.saturating_sub(INDEX_HEAD));
        let index_at = index.at;
        let all = self.cursor(opening, self.at);
        let fail = |kind, at| Err(all.stop(kind, Part::Metalayer, at));
        // The number after 0xcd is the length of the index, which no reader uses.
        if !matches!(index.take(INDEX_HEAD)?, [0x93, 0xcd, _, _, 0xde, ..]) {
            return fail(ErrorKind::WrongMarker, index_at);
        }
        if self.left > MAX_METALAYERS {
            return fail(ErrorKind::TooMany, index_at.saturating_add(5));
        }
        for _ in 0..self.left {
            entry(&mut index)?;
        }
        let contents = index.at;
        match index.take(CONTENTS_HEAD)? {
            [0xdc, a, b] if u16::from_be_bytes([*a, *b]) == self.left => {}
            [0xdc, ..] => return fail(ErrorKind::CountsDiffer, contents.saturating_add(1)),
            _ => return fail(ErrorKind::WrongMarker, contents),
        }
        let mut values = u8::MAX;
        let mut each = self.cursor(opening, self.at);
        for before in 1..=self.left {
            let (name, place) = entry(&mut each)?;
            if place < index.at {
                return fail(ErrorKind::OutOfPlace, each.at.saturating_sub(PLACE));
            }
            self.content(&each, place)?;
            values = values.min(values::NAMES.number_of(name.bytes()));
            let mut others = self.cursor(opening, each.at);
            for _ in before..self.left {
                let at = others.at;
                if entry(&mut others)?.0 == name {
                    return fail(ErrorKind::RepeatedKey, at);
                }
            }
        }
        Ok(Values::of_number(values))
    }

    /// Returns the content at `place`, an offset from the entry that `index` has just read, and the content's own
    /// offset.
    fn content(&self, index: &Cursor<'_, 'a>, place: u32) -> ParseResult<(&'a [u8], u32)> {
        let stop = |kind, at| index.stop(kind, Part::Metalayer, at);
        let length = match part(self.bytes, place, CONTENT_HEAD) {
            Some([0xc6, a, b, c, d]) => u32::from_be_bytes([*a, *b, *c, *d]),
            Some(_) => return Err(stop(ErrorKind::WrongMarker, place)),
            None => return Err(stop(ErrorKind::OutOfPlace, index.at.saturating_sub(PLACE))),
        };
        let at = place.saturating_add(CONTENT_HEAD);
        let content = part(self.bytes, at, length);
        Ok((content.ok_or_else(|| stop(ErrorKind::OutOfPlace, place.saturating_add(1)))?, at))
    }

    /// Reads the next metalayer: its name, its content, and the content's offset in the file.
    fn read(&mut self, opening: &ParseContext<'a>) -> Option<(Utf8<'a>, &'a [u8], u64)> {
        self.left = self.left.checked_sub(1)?;
        let mut index = self.cursor(opening, self.at);
        let (name, place) = entry(&mut index).ok()?;
        let (content, at) = self.content(&index, place).ok()?;
        self.at = index.at;
        Some((name, content, self.start.saturating_add(u64::from(at))))
    }

    /// Returns the content of the first metalayer named `name`, and the content's offset in the file.
    pub(super) fn content_of(mut self, opening: &ParseContext<'a>, name: &[u8]) -> Option<(&'a [u8], u64)> {
        loop {
            let (found, content, at) = self.read(opening)?;
            if found.bytes() == name {
                return Some((content, at));
            }
        }
    }

    /// Returns the start of the name of an object's kind, for an error message. Returns `None` if the array is not an
    /// object, or if its metalayer is not the MessagePack map that python-blosc2 writes, whose first key is `kind`.
    pub(super) fn kind(self) -> Option<&'a [u8]> {
        self.get_named(OBJECT)?.content.strip_prefix(b"\x82\xa4kind")?.get(1..)
    }

    /// Returns the first metalayer named `name`.
    #[must_use]
    pub fn get_named(&self, name: &str) -> Option<Metalayer<'a>> {
        let mut all = *self;
        all.find(|metalayer| metalayer.name == name)
    }
}

/// Reads an entry of the index: a name, and the offset of its content.
#[inline(never)]
fn entry<'a>(index: &mut Cursor<'_, 'a>) -> ParseResult<(Utf8<'a>, u32)> {
    let at = index.at;
    let length = match index.take(1)? {
        [marker @ 0xa0..=0xbf] => u32::from(marker & 0x1f),
        _ => return Err(index.stop(ErrorKind::WrongMarker, Part::Metalayer, at)),
    };
    let (name_at, name) = (index.at, index.take(length)?);
    let place_at = index.at;
    let place = match index.take(5)? {
        [0xd2, a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => return Err(index.stop(ErrorKind::WrongMarker, Part::Metalayer, place_at)),
    };
    let name = Utf8::checked(name);
    Ok((name.ok_or_else(|| index.stop(ErrorKind::InvalidUtf8, Part::Metalayer, name_at))?, place))
}

impl<'a> Iterator for Metalayers<'a> {
    type Item = Metalayer<'a>;

    fn next(&mut self) -> Option<Metalayer<'a>> {
        let (name, content, at) = self.read(&ParseContext::of(self.bytes.into()))?;
        Some(Metalayer { name: name.as_str(), content, extent: Extent::new(at, to_u64(content.len())) })
    }
}

impl FusedIterator for Metalayers<'_> {}
