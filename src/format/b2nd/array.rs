//! The metalayer `b2nd` (once `caterva`): the shape of the array that the chunks hold.
//!
//! Depends on `error`, `bytes`, `shape`, and on `frame`. Section numbers are those of the fields in the text.
//!
//! ```text
//! 97 | version 0 | N | 9N | shape: N x (d3 i64) | 9N | chunk shape: N x (d2 i32) | 9N | block shape: N x (d2 i32)
//! | dtype format | db | i32 length | dtype
//! ```
#![forbid(unsafe_code)]

use zerocopy::FromBytes;
use zerocopy::big_endian::{U32, U64};

use super::frame::{CHUNKSIZE_AT, Header, Metalayer, NBYTES_AT, Parts, TYPESIZE_AT};
use super::{MAX_RANK, fail};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::error::{ErrorKind, Item, Result};
use crate::shape::{ReadDimension, Shape};

/// Bytes of a length of the shape, of the chunk shape, of the block shape: a marker and a number.
const LENGTH: u64 = 9;
const SHORT_LENGTH: u64 = 5;
/// Bytes before the shape: two markers, the version and the number of dimensions.
const HEAD: u64 = 4;
/// Bytes before the dtype: its format, a marker, its length.
const DTYPE_HEAD: u64 = 6;

/// What the metalayer says: positions in its bytes, parsed on demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array<'a> {
    /// The content of the metalayer, from the marker of the shape on.
    bytes: &'a [u8],
    rank: u8,
}

/// The array of a frame, if it is one: found and checked, but for what it asks of the frame.
pub(super) fn of<'a>(parts: &Parts<'a>) -> Result<Option<Array<'a>>> {
    let metalayers = parts.metalayers();
    if let Some(metalayer) = metalayers.get_named("b2nd") {
        return Array::read(&metalayer, true).map(Some);
    }
    metalayers.get_named("caterva").map(|metalayer| Array::read(&metalayer, false)).transpose()
}

impl<'a> Array<'a> {
    /// Reads a metalayer of seven fields, or of the five before the dtype that `caterva` had.
    fn read(metalayer: &Metalayer<'a>, has_dtype: bool) -> Result<Self> {
        let Metalayer { content, extent, .. } = metalayer;
        let start = extent.offset;
        let place = |at: u64| start.saturating_add(at);
        let end = extent.end().unwrap_or(u64::MAX);
        let truncated = || fail(ErrorKind::Truncated, Item::Metalayer, end);
        let (version, rank) = match content {
            [0x97, version, rank, ..] if has_dtype => (*version, *rank),
            [0x95, version, rank, ..] if !has_dtype => (*version, *rank),
            [_, _, _, ..] => return Err(fail(ErrorKind::WrongMarker, Item::Metalayer, start)),
            _ => return Err(truncated()),
        };
        if version != 0 {
            return Err(fail(ErrorKind::UnsupportedVersion, Item::Metalayer, place(1)));
        }
        if u64::from(rank) > to_u64(MAX_RANK) {
            return Err(fail(ErrorKind::TooMany, Item::Metalayer, place(2)));
        }
        let array = Self { bytes: content.get(3..).unwrap_or_default(), rank };
        let count = u64::from(rank);
        let mut at = 3_u64;
        for (item, marker, width) in [
            (Item::Shape, 0xd3, LENGTH),
            (Item::ChunkShape, 0xd2, SHORT_LENGTH),
            (Item::BlockShape, 0xd2, SHORT_LENGTH),
        ] {
            // For 16 dimensions this is no marker of a list any more, but what programs write.
            let list = to_usize(at).and_then(|at| content.get(at)).ok_or_else(truncated)?;
            if *list != 0x90_u8.saturating_add(rank) {
                return Err(fail(ErrorKind::WrongMarker, item, place(at)));
            }
            at = at.saturating_add(1);
            for _ in 0..count {
                let number = Extent::new(at, width).of(content, 0).ok_or_else(truncated)?;
                match number {
                    [found, ..] if *found != marker => return Err(fail(ErrorKind::WrongMarker, item, place(at))),
                    [_, 0x80..=0xff, ..] => return Err(fail(ErrorKind::NegativeLength, item, place(at))),
                    _ => at = at.saturating_add(width),
                }
            }
        }
        if has_dtype {
            let head = Extent::new(at, DTYPE_HEAD).of(content, 0).ok_or_else(truncated)?;
            let length = match head {
                [0x80..=0xff, ..] => return Err(fail(ErrorKind::WrongMarker, Item::DType, place(at))),
                [_, 0xdb, a, b, c, d] => u64::from(u32::from_be_bytes([*a, *b, *c, *d])),
                _ => return Err(fail(ErrorKind::WrongMarker, Item::DType, place(at).saturating_add(1))),
            };
            let text_at = at.saturating_add(DTYPE_HEAD);
            if length != to_u64(content.len()).saturating_sub(text_at) {
                return Err(fail(ErrorKind::OutOfPlace, Item::DType, place(at).saturating_add(2)));
            }
            let text = Extent::new(text_at, length).of(content, 0).ok_or_else(truncated)?;
            if core::str::from_utf8(text).is_err() {
                return Err(fail(ErrorKind::InvalidUtf8, Item::DType, place(text_at)));
            }
        }
        if !has_dtype && at != to_u64(content.len()) {
            return Err(fail(ErrorKind::TrailingBytes, Item::Metalayer, place(at)));
        }
        array.check_shapes(start)?;
        Ok(array)
    }

    /// Holds shape, chunk shape and block shape to each other.
    fn check_shapes(&self, start: u64) -> Result<()> {
        let mut at = start.saturating_add(HEAD);
        for ((length, chunk), block) in self.shape().iter().zip(self.chunk_shape()).zip(self.block_shape()) {
            if length > 0 && (chunk == 0 || block == 0) || block > chunk {
                return Err(fail(ErrorKind::BlockShape, Item::BlockShape, at));
            }
            at = at.saturating_add(LENGTH);
        }
        // Products are held to the types of those who write them: signed, of 64 and of 32 bits.
        let fits = |product: Option<u64>, most: u64| product.is_some_and(|product| product <= most);
        let (long, short) = (i64::MAX.unsigned_abs(), u64::from(i32::MAX.unsigned_abs()));
        let products = [
            (product(self.shape().iter()), long, Item::Shape),
            (product(self.chunk_shape().iter()), short, Item::ChunkShape),
            (product(self.block_shape().iter()), short, Item::BlockShape),
            (product(self.padded_shape()), long, Item::Shape),
        ];
        for (product, most, item) in products {
            if !fits(product, most) {
                return Err(fail(ErrorKind::ShapeOverflow, item, start.saturating_add(HEAD)));
            }
        }
        Ok(())
    }

    pub(super) fn shape(&self) -> Shape<'a> {
        self.lengths(1, read_length)
    }

    pub(super) fn chunk_shape(&self) -> Shape<'a> {
        let shape = u64::from(self.rank).saturating_mul(LENGTH);
        self.lengths(shape.saturating_add(2), read_short_length)
    }

    pub(super) fn block_shape(&self) -> Shape<'a> {
        let shapes = u64::from(self.rank).saturating_mul(LENGTH.saturating_add(SHORT_LENGTH));
        self.lengths(shapes.saturating_add(3), read_short_length)
    }

    fn lengths(&self, at: u64, read: ReadDimension) -> Shape<'a> {
        let bytes = to_usize(at).and_then(|at| self.bytes.get(at..));
        Shape::new(bytes.unwrap_or_default(), u32::from(self.rank), read)
    }

    /// The shape with all chunks whole.
    fn padded_shape(&self) -> impl Iterator<Item = u64> + use<'a> {
        let lengths = self.shape().iter().zip(self.chunk_shape());
        lengths.map(|(length, chunk)| padded(length, chunk))
    }

    /// The format of the dtype, and the dtype; `None` where the file states none.
    pub(super) fn dtype(&self) -> Option<(u8, &'a str)> {
        let shapes =
            u64::from(self.rank).saturating_mul(LENGTH.saturating_add(SHORT_LENGTH).saturating_add(SHORT_LENGTH));
        let head = to_usize(shapes.saturating_add(3))?;
        let (head, text) = self.bytes.get(head..)?.split_first_chunk::<6>()?;
        Some((*head.first()?, core::str::from_utf8(text).ok()?))
    }

    /// Holds the chunks to the shape; the bytes of an element.
    pub(super) fn check_frame(&self, parts: &Parts<'_>) -> Result<u32> {
        let (nbytes, chunksize) = (parts.number(Header::nbytes), parts.number(Header::chunksize));
        let typesize = parts.number(Header::typesize);
        let grid = |at| fail(ErrorKind::ChunkGrid, Item::Shape, at);
        let lengths = self.shape().iter().zip(self.chunk_shape());
        let counts = lengths.map(|(length, chunk)| count_of(length, chunk));
        let chunks = product(counts).ok_or(grid(NBYTES_AT))?;
        if chunks == 0 {
            return if nbytes == 0 {
                u32::try_from(typesize).map_err(|_| grid(TYPESIZE_AT))
            } else {
                Err(grid(NBYTES_AT))
            };
        }
        let elements =
            product(self.chunk_shape().iter().zip(self.block_shape()).map(|(chunk, block)| padded(chunk, block)));
        let elements = elements.filter(|elements| *elements > 0).ok_or(grid(CHUNKSIZE_AT))?;
        let item_size = chunksize.checked_div(elements).unwrap_or(0);
        if item_size == 0 || item_size.checked_mul(elements) != Some(chunksize) {
            return Err(grid(CHUNKSIZE_AT));
        }
        // One byte is written for elements of more than 255, by some.
        if item_size != typesize && !(typesize == 1 && item_size > u64::from(u8::MAX)) {
            return Err(grid(TYPESIZE_AT));
        }
        if chunks.checked_mul(chunksize) != Some(nbytes) {
            return Err(grid(NBYTES_AT));
        }
        u32::try_from(item_size).map_err(|_| grid(CHUNKSIZE_AT))
    }
}

/// The shape of a frame without an array: as many bytes as it has.
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

fn product(mut lengths: impl Iterator<Item = u64>) -> Option<u64> {
    lengths.try_fold(1_u64, u64::checked_mul)
}

/// How many parts of `part` it takes for `length`; 0 where the part is 0.
pub(super) fn count_of(length: u64, part: u64) -> u64 {
    let count = length.checked_div(part).unwrap_or(0);
    let is_whole = count.saturating_mul(part) == length;
    if is_whole || part == 0 { count } else { count.saturating_add(1) }
}

/// A length with its last part whole; saturating, which no product allows.
fn padded(length: u64, part: u64) -> u64 {
    count_of(length, part).saturating_mul(part)
}
