//! The info of a tensor: name, shape, type, offset.
//!
//! Depends on `codec::gguf`, `codec::blocks`, `bytes`, `vocab`, `shape`.
#![forbid(unsafe_code)]

use crate::bytes::num::{product, quotient, remainder};
use crate::bytes::source::ParseResult;
use crate::codec::blocks::{self, BlockType};
use crate::codec::gguf::Reader;
use crate::error::ErrorKind;
use crate::place::Item;
use crate::shape::{ElementCount, ReadDimension, Shape};
use crate::vocab::DType;

const MAX_RANK: u32 = 4;

/// What a tensor consists of.
#[derive(Clone, Copy)]
pub(super) enum Element {
    Number(DType),
    Block(BlockType),
}

impl Element {
    /// That of a type of ggml, by its number; `None` for those that are unknown or were removed.
    fn of_number(number: u32) -> Option<Self> {
        blocks::plain(number).map(Self::Number).or_else(|| BlockType::from_ggml(number).map(Self::Block))
    }

    pub(super) const fn dtype(self) -> Option<DType> {
        if let Self::Number(dtype) = self { Some(dtype) } else { None }
    }

    pub(super) const fn block(self) -> Option<BlockType> {
        if let Self::Block(block) = self { Some(block) } else { None }
    }

    /// How many elements a block has, and how many bytes.
    fn sizes(self) -> (u64, u64) {
        match self {
            Self::Number(dtype) => (1, dtype.whole_size()),
            Self::Block(block) => (block.elements(), block.bytes()),
        }
    }
}

/// The info of a tensor.
#[derive(Clone, Copy)]
pub(super) struct Info<'a> {
    pub(super) name: &'a [u8],
    /// The outermost dimension first: the reverse of how they are stored.
    pub(super) shape: Shape<'a>,
    pub(super) element: Element,
    /// The number of its type.
    pub(super) ggml_type: u32,
    /// Where the tensor begins, relative to the data, and how many bytes it has.
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Where the offset is in the file.
    pub(super) offset_at: u64,
}

impl<'a> Info<'a> {
    /// Reads an info. It is the record that later faults belong to.
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_, 'a>) -> ParseResult<Self> {
        reader.record = Some(reader.position());
        reader.item = Item::Name;
        let name = reader.string()?;
        reader.item = Item::Shape;
        let rank_at = reader.position();
        let rank = reader.u32()?;
        if rank > MAX_RANK {
            return reader.fail(ErrorKind::TooMany, rank_at);
        }
        let shape_at = reader.position();
        let encoding = reader.encoding;
        let read: ReadDimension = match (encoding.is_short, encoding.is_big) {
            (true, _) => last_of_32_bits,
            (false, false) => last_of_64_bits,
            (false, true) => last_swapped,
        };
        let lengths = reader.take(u64::from(rank).saturating_mul(encoding.count_size()))?;
        let shape = Shape::new(lengths, rank, read);
        reader.item = Item::DType;
        let type_at = reader.position();
        let ggml_type = reader.u32()?;
        let Some(element) = Element::of_number(ggml_type) else {
            return reader.fail(ErrorKind::UnknownDType, type_at);
        };
        reader.item = Item::Offset;
        let offset_at = reader.position();
        let offset = reader.u64()?;
        reader.item = Item::Shape;
        let (block, size) = element.sizes();
        let innermost = encoding.split_count(lengths).map_or(1, |(innermost, _)| innermost);
        if remainder(innermost, block) != 0 {
            return reader.fail(ErrorKind::PartialBlock, shape_at);
        }
        // Whole blocks: the innermost dimension is a multiple of them.
        let mut count = ElementCount::ONE;
        let mut rest = lengths;
        while let Some((length, after)) = encoding.split_count(rest) {
            count.multiply(length);
            rest = after;
        }
        let blocks = count.total().map(|count| quotient(count, block));
        let Some(length) = product(blocks, size) else {
            return reader.fail(ErrorKind::ShapeOverflow, shape_at);
        };
        Ok(Self { name, shape, element, ggml_type, offset, length, offset_at })
    }
}

/// Reads the last length of those left, which is that of the outermost dimension.
fn last_of_64_bits(lengths: &[u8]) -> Option<(u64, &[u8])> {
    let (rest, last) = lengths.split_last_chunk()?;
    Some((u64::from_le_bytes(*last), rest))
}

fn last_swapped(lengths: &[u8]) -> Option<(u64, &[u8])> {
    let (rest, last) = lengths.split_last_chunk()?;
    Some((u64::from_be_bytes(*last), rest))
}

fn last_of_32_bits(lengths: &[u8]) -> Option<(u64, &[u8])> {
    let (rest, last) = lengths.split_last_chunk()?;
    Some((u32::from_le_bytes(*last).into(), rest))
}
