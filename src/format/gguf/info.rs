//! The info of a tensor: name, shape, type, offset.
#![forbid(unsafe_code)]

#[cfg(not(small))]
use crate::bytes::extent::Extent;
use crate::bytes::num::{product, to_u64, to_usize};
#[cfg(not(small))]
use crate::bytes::source::Input;
use crate::bytes::source::ParseResult;
use crate::codec::blocks::{self, BlockType};
use crate::codec::gguf::{Encoding, Reader};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::types::DType;
use crate::types::shape::{ReadDimension, Shape};

/// The largest rank of a tensor. This limit is our own: ggml reads 4, but published video models have 5.
const MAX_RANK: u32 = 8;

/// The largest rank that ggml reads (`GGML_MAX_DIMS`).
pub(super) const USUAL_RANK: u32 = 4;

/// A type of ggml.
#[derive(Clone, Copy)]
struct Type {
    /// The size of a block in bytes; 0 if the type is unknown or was removed.
    bytes: u16,
    /// The base-2 logarithm of the number of elements in a block.
    log2_elements: u8,
    /// The dtype of the elements, if they are not in quantized blocks.
    dtype: Option<DType>,
}

impl Type {
    const UNKNOWN: Self = Self { bytes: 0, log2_elements: 0, dtype: None };

    /// Returns the number of bytes of `count` elements; 0 for an unknown type. `None` beyond 64 bits.
    #[inline]
    fn size_of(&self, count: Option<u64>) -> Option<u64> {
        let blocks = count.map(|count| count.wrapping_shr(self.log2_elements.into()));
        product(blocks, self.bytes.into())
    }
}

/// The types by number. A table, because opening a file needs both sizes for each tensor.
static TYPES: [Type; 43] = {
    let mut all = [Type::UNKNOWN; 43];
    let mut number = 0;
    let mut rest: &mut [Type] = &mut all;
    while let Some((one, after)) = rest.split_first_mut() {
        one.dtype = blocks::plain(number);
        let (elements, bytes) = match (one.dtype, BlockType::from_ggml(number)) {
            (Some(dtype), _) => (1, dtype.byte_size()),
            (None, Some(block)) => (block.elements(), block.bytes()),
            (None, None) => (1, 0),
        };
        let [low, high, ..] = bytes.to_le_bytes();
        one.bytes = u16::from_le_bytes([low, high]);
        [one.log2_elements, ..] = elements.trailing_zeros().to_le_bytes();
        rest = after;
        number += 1;
    }
    all
};

/// Returns the type with number `number`.
fn type_of(number: u32) -> &'static Type {
    to_usize(number.into()).and_then(|number| TYPES.get(number)).unwrap_or(&Type::UNKNOWN)
}

/// The info of a tensor.
#[derive(Clone, Copy)]
pub(super) struct Info<'a> {
    pub(super) name: &'a [u8],
    /// The shape, the outermost dimension first: the reverse of the stored order.
    pub(super) shape: Shape<'a>,
    /// The number of the type, and the type.
    pub(super) ggml_type: u32,
    found: &'static Type,
    /// The offset of the tensor, relative to the data, and its size in bytes: 0 if the type is unknown.
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The position of the offset in the file.
    pub(super) offset_at: u64,
}

/// The part of an info that a tensor needs. Only for hosts; chips use the whole info.
#[cfg(not(small))]
#[derive(Clone, Copy)]
pub(super) struct Checked<'a> {
    pub(super) name: &'a [u8],
    pub(super) shape: Shape<'a>,
    pub(super) ggml_type: u32,
}

#[cfg(not(small))]
impl Checked<'_> {
    /// Returns the dtype of the elements, if they are not in quantized blocks.
    #[inline]
    pub(super) fn dtype(&self) -> Option<DType> {
        type_of(self.ggml_type).dtype
    }

    /// Returns the type of the quantized blocks, if the elements are in quantized blocks.
    #[inline]
    pub(super) fn block(&self) -> Option<BlockType> {
        BlockType::from_ggml(self.ggml_type)
    }
}

/// The reason why an info was not read.
struct Stop {
    item: Part,
    kind: ErrorKind,
    /// The position of the fault, from the start of the record.
    at: usize,
    /// The smallest number of bytes of the record that are needed, if too few are available.
    needed: Option<u64>,
}

impl Stop {
    const fn fault(item: Part, kind: ErrorKind, at: usize) -> Self {
        Self { item, kind, at, needed: None }
    }
}

impl<'a> Info<'a> {
    /// Reads an info, and makes it the record that later faults belong to.
    #[cfg_attr(not(small), inline(always))]
    pub(super) fn read(reader: &mut Reader<'_, 'a>) -> ParseResult<Self> {
        let start = reader.position();
        reader.record = Some(start);
        loop {
            let window = reader.window();
            match reader.encoding.specialized(|encoding| Self::parse(window, encoding)) {
                Ok((info, rest)) => {
                    reader.advance_to(rest);
                    return Ok(Self { offset_at: start.wrapping_add(info.offset_at), ..info });
                }
                Err(Stop { item, kind, needed: Some(needed), .. }) => {
                    reader.item = item;
                    reader.require(needed, kind)?;
                }
                Err(Stop { item, kind, at, needed: None }) => {
                    reader.item = item;
                    return reader.fail(kind, start.wrapping_add(to_u64(at)));
                }
            }
        }
    }

    /// Reads the info at `at` if it is valid and entirely in memory. Also returns the end of the info.
    ///
    /// Only for hosts. The info has been read before, so this nearly always succeeds. It takes half the time of
    /// [`read`](Self::read), which can also report what is wrong or missing.
    #[cfg(not(small))]
    #[inline(always)]
    pub(super) fn at(input: Input<'a>, encoding: Encoding, at: u32) -> Option<(Self, u64)> {
        let (window, at) = (input.available_from(at.into()), u64::from(at));
        let (info, rest) = encoding.specialized(|encoding| Self::parse(window, encoding)).ok()?;
        let end = at.wrapping_add(to_u64(window.len().wrapping_sub(rest.len())));
        Some((Self { offset_at: at.wrapping_add(info.offset_at), ..info }, end))
    }

    /// Reads the part that a tensor needs of the info at `at`, which has been checked. Also returns the end of the
    /// info.
    #[cfg(not(small))]
    #[inline(always)]
    pub(super) fn checked(input: Input<'a>, encoding: Encoding, at: u32) -> Option<(Checked<'a>, u64)> {
        let window = input.available_from(at.into());
        let (info, rest) = encoding.specialized(|encoding| {
            let (length, rest) = encoding.split_count(window)?;
            let (name, rest) = rest.split_at_checked(to_usize(length)?)?;
            let (rank, lengths) = encoding.split_u32(rest)?;
            let size = u64::from(rank.min(MAX_RANK)).wrapping_mul(encoding.count_size());
            let (lengths, rest) = lengths.split_at_checked(to_usize(size)?)?;
            let (ggml_type, rest) = encoding.split_u32(rest)?;
            let shape = Shape::new(lengths, rank, read_dimension(encoding));
            Some((Checked { name, shape, ggml_type }, rest.get(8..)?))
        })?;
        Some((info, u64::from(at).wrapping_add(to_u64(window.len().wrapping_sub(rest.len())))))
    }

    /// Reads the type, and the place of the data relative to all data, of a tensor that [`checked`](Self::checked) has
    /// read. `rank` lengths are at `lengths_at`. Returns `None` also for an unknown type.
    #[cfg(not(small))]
    #[inline(always)]
    pub(super) fn data(
        input: Input<'a>,
        encoding: Encoding,
        lengths_at: u64,
        rank: u32,
    ) -> Option<(Option<DType>, Extent)> {
        let window = input.available_from(lengths_at);
        encoding.specialized(|encoding| {
            let size = u64::from(rank.min(MAX_RANK)).wrapping_mul(encoding.count_size());
            let (lengths, rest) = window.split_at_checked(to_usize(size)?)?;
            let (ggml_type, rest) = encoding.split_u32(rest)?;
            let (offset, _) = encoding.split_u64(rest)?;
            let found = type_of(ggml_type);
            let length = found.size_of(count_of(lengths, encoding).0).filter(|_| found.bytes > 0)?;
            Some((found.dtype, Extent::new(offset, length)))
        })
    }

    /// Reads the info at the start of `record`; also returns the bytes after it. Positions are relative to `record`.
    #[cfg_attr(not(small), inline(always))]
    fn parse(record: &'a [u8], encoding: Encoding) -> Result<(Self, &'a [u8]), Stop> {
        let position = |rest: &[u8]| record.len().wrapping_sub(rest.len());
        // `more` bytes are needed from the start of `rest`.
        let short = |item, kind, rest: &[u8], more: u64| Stop {
            item,
            kind,
            at: 0,
            needed: Some(to_u64(position(rest)).saturating_add(more)),
        };
        let cut = |item, rest: &[u8], more| short(item, ErrorKind::Truncated, rest, more);

        let Some((length, rest)) = encoding.split_count(record) else {
            return Err(cut(Part::Name, record, encoding.count_size()));
        };
        let Some((name, rest)) = to_usize(length).and_then(|length| rest.split_at_checked(length)) else {
            return Err(short(Part::Name, ErrorKind::CountTooLarge, rest, length));
        };
        let Some((rank, lengths)) = encoding.split_u32(rest) else { return Err(cut(Part::Shape, rest, 4)) };
        if rank > MAX_RANK {
            return Err(Stop::fault(Part::Shape, ErrorKind::TooMany, position(rest)));
        }
        let size = u64::from(rank).wrapping_mul(encoding.count_size());
        let Some((lengths, rest)) = to_usize(size).and_then(|size| lengths.split_at_checked(size)) else {
            return Err(cut(Part::Shape, lengths, size));
        };
        let Some((ggml_type, offset)) = encoding.split_u32(rest) else { return Err(cut(Part::DType, rest, 4)) };
        let found = type_of(ggml_type);
        let Some((offset, after)) = encoding.split_u64(offset) else { return Err(cut(Part::Offset, offset, 8)) };

        let shape_at = position(rest).wrapping_sub(lengths.len());
        let (count, innermost) = count_of(lengths, encoding);
        let shift = u32::from(found.log2_elements);
        // The innermost dimension must be a whole number of blocks.
        if shift > 0 && innermost.unwrap_or(1).trailing_zeros() < shift {
            return Err(Stop::fault(Part::Shape, ErrorKind::PartialBlock, shape_at));
        }
        let Some(length) = found.size_of(count) else {
            return Err(Stop::fault(Part::Shape, ErrorKind::ShapeOverflow, shape_at));
        };
        let shape = Shape::new(lengths, rank, read_dimension(encoding));
        let offset_at = to_u64(position(rest)).wrapping_add(4);
        Ok((Self { name, shape, ggml_type, found, offset, length, offset_at }, after))
    }

    /// Returns whether the type, and therefore the size in bytes, is known.
    pub(super) const fn is_known(&self) -> bool {
        self.found.bytes > 0
    }

    /// Returns the dtype of the elements, if they are not in quantized blocks.
    pub(super) const fn dtype(&self) -> Option<DType> {
        self.found.dtype
    }

    /// Returns the part that a tensor needs.
    #[cfg(not(small))]
    #[inline]
    pub(super) const fn for_tensor(&self) -> Checked<'a> {
        Checked { name: self.name, shape: self.shape, ggml_type: self.ggml_type }
    }

    /// Returns the type of the quantized blocks, if the elements are in quantized blocks.
    #[cfg(small)]
    pub(super) const fn block(&self) -> Option<BlockType> {
        BlockType::from_ggml(self.ggml_type)
    }
}

/// Returns the product of the lengths, `None` beyond 64 bits, and the first length, which is the innermost.
#[cfg_attr(not(small), inline(always))]
fn count_of(lengths: &[u8], encoding: Encoding) -> (Option<u64>, Option<u64>) {
    let mut count = Some(1);
    let mut dimensions = lengths;
    let mut innermost = None;
    while let Some((length, after)) = encoding.split_count(dimensions) {
        innermost = innermost.or(Some(length));
        count = if length == 0 { Some(0) } else { product(count, length) };
        dimensions = after;
    }
    (count, innermost)
}

#[inline]
fn read_dimension(encoding: Encoding) -> ReadDimension {
    match (encoding.is_short, encoding.is_big) {
        (true, _) => last_of_32_bits,
        (false, false) => last_of_64_bits,
        (false, true) => last_swapped,
    }
}

/// Reads the last of the remaining lengths, which belongs to the outermost dimension.
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

#[cfg(all(test, not(small)))]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::*;

    /// Checks that reading an info with the short paths agrees with reading it in full. Returns whether the info is
    /// valid.
    fn agree(bytes: &[u8], encoding: Encoding) -> bool {
        let Ok((info, rest)) = Info::parse(&bytes[3..], encoding) else { return false };
        let end = (bytes.len() - rest.len()) as u64;
        let (whole, whole_end) = Info::at(bytes.into(), encoding, 3).unwrap();
        let (checked, checked_end) = Info::checked(bytes.into(), encoding, 3).unwrap();
        assert_eq!((whole_end, checked_end, whole.offset_at), (end, end, info.offset_at + 3));
        let lengths_at = 3 + encoding.count_size() + info.name.len() as u64 + 4;
        let data = Info::data(bytes.into(), encoding, lengths_at, info.shape.rank());
        let expected = info.is_known().then_some((info.dtype(), Extent::new(info.offset, info.length)));
        assert_eq!(data, expected);
        let all =
            |info: &Info<'_>| format!("{:?}", (info.name, info.shape, info.shape.rank(), info.offset, info.length));
        assert_eq!(all(&whole), all(&info));
        assert_eq!(
            (checked.name, checked.shape.rank(), checked.ggml_type),
            (info.name, info.shape.rank(), info.ggml_type)
        );
        assert!(checked.shape.iter().eq(info.shape) && checked.dtype() == info.dtype());
        assert_eq!(checked.dtype().is_some() || checked.block().is_some(), info.is_known());
        assert!(checked.dtype().is_none() || checked.block().is_none());
        true
    }

    #[test]
    fn what_has_been_checked_is_read_as_before() {
        let mut valid = 0;
        for (is_big, is_short) in [(false, false), (true, false), (false, true)] {
            let number = |number: u64, size: usize| {
                let bytes = number.to_le_bytes();
                let bytes: Vec<u8> = bytes[..size].to_vec();
                if is_big { bytes.into_iter().rev().collect() } else { bytes }
            };
            let count = |length| number(length, if is_short { 4 } else { 8 });
            for (lengths, kind) in [(&[][..], 0), (&[5], 1), (&[64, 3], 8), (&[256, 2, 3, 7], 12), (&[3, 5], 139)] {
                let mut info = [b"xyz".to_vec(), count(3), b"abc".to_vec(), number(lengths.len() as u64, 4)].concat();
                lengths.iter().for_each(|length| info.extend(count(*length)));
                info.extend([number(kind, 4), number(96, 8), b"and so on".to_vec()].concat());
                let encoding = Encoding { is_big, is_short };
                assert!(agree(&info, encoding));
                for (at, byte) in (3..info.len()).flat_map(|at| (0..=0xff).map(move |byte| (at, byte))) {
                    let mut info = info.clone();
                    info[at] = byte;
                    valid += u32::from(agree(&info, encoding));
                }
                let end = info.len() - b"and so on".len();
                assert!((3..end).all(|length| !agree(&info[..length], encoding)));
            }
        }
        assert!(valid > 50_000, "{valid}");
    }
}
