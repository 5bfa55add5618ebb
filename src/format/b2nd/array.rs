//! The metalayer `b2nd` (formerly `caterva`): the shape of the array that the chunks hold.
//!
//! ```text
//! 97 | version 0 | N | 9N | shape: N x (d3 i64) | 9N | chunk shape: N x (d2 i32) | 9N | block shape: N x (d2 i32)
//! | dtype format | db | i32 length | dtype
//! ```
#![forbid(unsafe_code)]

use zerocopy::FromBytes;
use zerocopy::big_endian::{U32, U64};

use super::frame::{CHUNKSIZE_AT, Cursor, Header, NBYTES_AT, Parts, TYPESIZE_AT};
use super::{MAX_RANK, stop};
use crate::bytes::num::{count_of, quick_product, to_u64, to_usize};
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::types::shape::{ReadDimension, Shape};

/// The size in bytes of a length in the shape: a marker and a number. `SHORT_LENGTH`: in the chunk and block shapes.
const LENGTH: u32 = 9;
const SHORT_LENGTH: u32 = 5;
/// The size in bytes of what precedes the shape: two markers, the version and the number of dimensions.
const HEAD: u32 = 4;
/// The size in bytes of what precedes the dtype: its format, a marker and its length.
const DTYPE_HEAD: u32 = 6;

/// The contents of the metalayer. Positions in its bytes are parsed on demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array<'a> {
    /// The content of the metalayer, from the marker of the shape.
    bytes: &'a [u8],
    rank: u8,
}

/// Finds the array of a frame, if there is one. Checks the array, also against the frame. Also returns the size of an
/// element in bytes.
pub(super) fn of<'a>(opening: &ParseContext<'a>, parts: &Parts<'a>) -> ParseResult<Option<(Array<'a>, u32)>> {
    let metalayers = parts.metalayers();
    for (name, has_dtype) in [(&b"b2nd"[..], true), (b"caterva", false)] {
        if let Some((content, at)) = metalayers.content_of(opening, name) {
            let mut cursor = Cursor::new(opening, content, at);
            let array = Array::read(&mut cursor, content, has_dtype)?;
            return array.check(&cursor, parts).map(|item_size| Some((array, item_size)));
        }
    }
    Ok(None)
}

impl<'a> Array<'a> {
    /// Reads a metalayer of seven fields, or of the five fields before the dtype, as in `caterva`.
    fn read(cursor: &mut Cursor<'_, 'a>, content: &'a [u8], has_dtype: bool) -> ParseResult<Self> {
        let marker = if has_dtype { 0x97 } else { 0x95 };
        let (version, rank) = match cursor.take(3)? {
            [found, version, rank] if *found == marker => (*version, *rank),
            _ => return Err(cursor.stop(ErrorKind::WrongMarker, Part::Metalayer, 0)),
        };
        if version != 0 {
            return Err(cursor.stop(ErrorKind::UnsupportedVersion, Part::Metalayer, 1));
        }
        if u64::from(rank) > to_u64(MAX_RANK) {
            return Err(cursor.stop(ErrorKind::TooMany, Part::Metalayer, 2));
        }
        for (item, marker, width) in [
            (Part::Shape, 0xd3, LENGTH),
            (Part::ChunkShape, 0xd2, SHORT_LENGTH),
            (Part::BlockShape, 0xd2, SHORT_LENGTH),
        ] {
            // For 16 dimensions, this is no longer a valid MessagePack list marker, but it is what programs write.
            let at = cursor.at;
            if *cursor.take(1)? != [0x90_u8.saturating_add(rank)] {
                return Err(cursor.stop(ErrorKind::WrongMarker, item, at));
            }
            for _ in 0..rank {
                let at = cursor.at;
                match cursor.take(width)? {
                    [found, ..] if *found != marker => return Err(cursor.stop(ErrorKind::WrongMarker, item, at)),
                    [_, 0x80..=0xff, ..] => return Err(cursor.stop(ErrorKind::NegativeLength, item, at)),
                    _ => {}
                }
            }
        }
        let at = cursor.at;
        let end = cursor.length();
        if has_dtype {
            let length = match cursor.take(DTYPE_HEAD)? {
                [0x80..=0xff, ..] => return Err(cursor.stop(ErrorKind::WrongMarker, Part::DType, at)),
                [_, 0xdb, a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]),
                _ => return Err(cursor.stop(ErrorKind::WrongMarker, Part::DType, at.saturating_add(1))),
            };
            if length != end.saturating_sub(cursor.at) {
                return Err(cursor.stop(ErrorKind::OutOfPlace, Part::DType, at.saturating_add(2)));
            }
            let text_at = cursor.at;
            if !is_utf8(cursor.take(length)?) {
                return Err(cursor.stop(ErrorKind::InvalidUtf8, Part::DType, text_at));
            }
        } else if at != end {
            return Err(cursor.stop(ErrorKind::TrailingBytes, Part::Metalayer, at));
        }
        Ok(Self { bytes: content.get(3..).unwrap_or_default(), rank })
    }

    /// Checks the shape, chunk shape and block shape against each other, and the chunks of the frame against these
    /// shapes. Returns the size of an element in bytes.
    fn check(&self, cursor: &Cursor<'_, 'a>, parts: &Parts<'a>) -> ParseResult<u32> {
        // The products of the three shapes, and of the shape rounded up to whole chunks. Then the number of chunks, and
        // the number of elements in a chunk rounded up to whole blocks.
        let mut products = [Some(1); 6];
        let mut at = HEAD;
        for ((length, chunk), block) in self.shape().iter().zip(self.chunk_shape()).zip(self.block_shape()) {
            if length > 0 && block == 0 || block > chunk {
                return Err(cursor.stop(ErrorKind::BlockShape, Part::BlockShape, at));
            }
            at = at.saturating_add(LENGTH);
            let count = count_of(length, chunk);
            let padded_chunk = count_of(chunk, block).saturating_mul(block);
            let factors = [length, chunk, block, count.saturating_mul(chunk), count, padded_chunk];
            for (volume, factor) in products.iter_mut().zip(factors) {
                *volume = quick_product(*volume, factor);
            }
        }
        // The limits are those of the writers' types: signed, with 64 and with 32 bits.
        let (long, short) = (i64::MAX.unsigned_abs(), u64::from(i32::MAX.unsigned_abs()));
        let limits = [(long, Part::Shape), (short, Part::ChunkShape), (short, Part::BlockShape), (long, Part::Shape)];
        for (volume, (most, item)) in products.iter().zip(limits) {
            if volume.is_none_or(|volume| volume > most) {
                return Err(cursor.stop(ErrorKind::ShapeOverflow, item, HEAD));
            }
        }
        let [.., chunks, elements] = products.map(|volume| volume.unwrap_or(u64::MAX));
        let grid = |at| Err(stop(cursor.opening, ErrorKind::ChunkGrid, Part::Shape, at));
        let (nbytes, chunksize) = (parts.number(Header::nbytes), parts.number(Header::chunksize));
        let typesize = parts.number(Header::typesize);
        let mut item_size = typesize;
        if chunks > 0 {
            item_size = count_of(chunksize, elements);
            if item_size == 0 || item_size.checked_mul(elements) != Some(chunksize) {
                return grid(CHUNKSIZE_AT);
            }
            // For elements of more than 255 bytes, some writers put 1.
            if item_size != typesize && !(typesize == 1 && item_size > u64::from(u8::MAX)) {
                return grid(TYPESIZE_AT);
            }
        }
        if chunks.checked_mul(chunksize) != Some(nbytes) {
            return grid(NBYTES_AT);
        }
        u32::try_from(item_size).or_else(|_| grid(CHUNKSIZE_AT)) // no longer than a chunk, or a 32-bit number
    }

    pub(super) fn shape(&self) -> Shape<'a> {
        self.lengths(1, 0, read_length)
    }

    pub(super) fn chunk_shape(&self) -> Shape<'a> {
        self.lengths(2, LENGTH, read_short_length)
    }

    pub(super) fn block_shape(&self) -> Shape<'a> {
        self.lengths(3, LENGTH.saturating_add(SHORT_LENGTH), read_short_length)
    }

    fn lengths(&self, markers: u32, each: u32, read: ReadDimension) -> Shape<'a> {
        Shape::new(self.after(markers, each), u32::from(self.rank), read)
    }

    /// Returns the bytes after `markers` markers and `each` bytes per dimension.
    fn after(&self, markers: u32, each: u32) -> &'a [u8] {
        let at = u32::from(self.rank).saturating_mul(each).saturating_add(markers);
        to_usize(at.into()).and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }

    /// Returns the format of the dtype, and the dtype; `None` if the file states no dtype.
    pub(super) fn dtype(&self) -> Option<(u8, Utf8<'a>)> {
        let each = LENGTH.saturating_add(SHORT_LENGTH).saturating_add(SHORT_LENGTH);
        let (head, text) = self.after(3, each).split_first_chunk::<6>()?;
        Some((*head.first()?, Utf8::checked(text)?))
    }
}

/// Returns the shape of a frame without an array: its number of bytes. The header stores this number at byte 29, with a
/// marker before it, as the metalayer stores a length.
pub(super) fn plain_shape<'a>(header: &'a [u8]) -> Shape<'a> {
    Shape::new(header.get(29..).unwrap_or_default(), 1, read_length)
}

fn read_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (_, bytes) = bytes.split_first()?;
    U64::ref_from_prefix(bytes).ok().map(|(length, rest)| (length.get(), rest))
}

fn read_short_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (_, bytes) = bytes.split_first()?;
    U32::ref_from_prefix(bytes).ok().map(|(length, rest)| (u64::from(length.get()), rest))
}
