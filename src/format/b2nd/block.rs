//! The blocks of a chunk: decoding their streams, and undoing the filters.
//!
//! ```text
//! block    one stream, or as many as the typesize has bytes, each of them with the same part of the block
//! stream   i32 n: 0 for zeros; negative for a run of the byte -n, then a byte of flags, of which bit 0 is set;
//!          else n bytes: raw if n is the decoded length, else compressed
//! block of its own length    i32 n, the decoded length, then its bytes up to the next block
//! ```
#![forbid(unsafe_code)]

use core::ops::Range;

use super::chunk::{
    BITSHUFFLE, BLOSCLZ, BYTEDELTA, Chunk, Content, DELTA_FILTER, LZ4, OLD_BYTEDELTA, SHUFFLE, TRUNCATE,
    TRUNCATE_INTEGERS, ZLIB, ZSTD,
};
use crate::bytes::extent::Extent;
use crate::bytes::num::{quotient, to_u64, to_usize};
use crate::codec::decoder::{DecodeError, Decoder};
use crate::codec::shuffle::{copy, unbitshuffle, undo_bytedelta, undo_delta, unshuffle};
use crate::codec::{blosclz, lz4};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::types::Encoding;

/// The number of bytes by which a stream may exceed twice its decoded length. The bounds that codecs state for the
/// shortest input need no more.
const EXPANSION: usize = 64;

/// The streams of a block.
#[derive(Clone, Copy)]
pub(super) struct Streams<'c, 'a> {
    chunk: &'c Chunk<'a>,
    /// The offset of the next stream in the chunk.
    at: u64,
    left: u16,
    /// The decoded length of each stream.
    pub(super) length: usize,
    /// The number of streams in the block.
    pub(super) count: u16,
}

/// A stream, as stored.
#[derive(Clone, Copy)]
pub(super) enum Stream<'a> {
    Run(u8),
    Raw(&'a [u8]),
    /// A compressed stream, and its offset in the chunk.
    Coded(&'a [u8], u64),
}

/// A block that states its own length.
#[derive(Clone, Copy)]
pub(super) struct VariableBlock<'a> {
    pub(super) length: u32,
    stored: &'a [u8],
    /// The offset of `stored` in the chunk.
    at: u64,
}

/// The caller's decoder, and the dictionary of the stream that it decodes. Every function between a read and a stream
/// passes on one reference to it: `&mut dyn Decoder` has two words, which took 56 bytes more of the stack on an M0. With
/// the decoder as the only field, reading took 16 bytes more on an M4.
pub(super) struct StreamDecoder<'d, 'a> {
    decoder: &'d mut dyn Decoder,
    dictionary: Option<&'a [u8]>,
}

impl<'d, 'a> StreamDecoder<'d, 'a> {
    pub(super) fn new(decoder: &'d mut dyn Decoder) -> Self {
        Self { decoder, dictionary: None }
    }

    /// Decodes a Zstandard stream.
    #[inline(never)] // its arguments are not on the stack while other streams are decoded
    fn zstd(&mut self, stored: &[u8], dst: &mut [u8]) -> core::result::Result<usize, DecodeError> {
        match self.dictionary {
            None => self.decoder.decode(Encoding::Zstd, stored, dst),
            Some(dictionary) => self.decoder.decode_with_dictionary(Encoding::Zstd, dictionary, stored, dst),
        }
    }
}

/// A filter to undo, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) id: u8,
    pub(super) width: usize,
    /// The position of the filter among the filters of its chunk.
    slot: u8,
}

impl<'a> Streams<'_, 'a> {
    /// Reads the next stream.
    pub(super) fn read(&mut self) -> Result<Option<Stream<'a>>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let at = self.at;
        let error = |kind, at| self.chunk.error(kind, Part::Stream, at);
        let number = self.chunk.number(at).ok_or_else(|| error(ErrorKind::OutOfPlace, at))?;
        let data_at = at.saturating_add(4);
        let (stream, length) = match number {
            0 => (Stream::Run(0), 0),
            ..0 => {
                let flags = Extent::new(data_at, 1).of(self.chunk.bytes, 0).and_then(<[u8]>::first);
                let flags = flags.ok_or_else(|| error(ErrorKind::OutOfPlace, data_at))?;
                let value = u8::try_from(number.unsigned_abs()).map_err(|_| error(ErrorKind::InvalidRun, at))?;
                if flags & 1 == 0 {
                    return Err(error(ErrorKind::InvalidRun, data_at));
                }
                (Stream::Run(value), 1)
            }
            _ => {
                let length = u64::from(number.unsigned_abs());
                let data = Extent::new(data_at, length).of(self.chunk.bytes, 0);
                let data = data.ok_or_else(|| error(ErrorKind::OutOfPlace, at))?;
                let is_raw = data.len() == self.length;
                if is_too_long(data, self.length) {
                    return Err(error(ErrorKind::DecodedLength, at));
                }
                (if is_raw { Stream::Raw(data) } else { Stream::Coded(data, data_at) }, length)
            }
        };
        self.left = left;
        self.at = data_at.saturating_add(length);
        Ok(Some(stream))
    }
}

impl<'a> Chunk<'a> {
    /// Returns the streams of block `index` of a compressed chunk.
    pub(super) fn streams(&self, index: u32) -> Result<Streams<'_, 'a>> {
        let length = self.block_length(index)?;
        // A shorter last block is never split.
        let is_split = self.is_split() && Some(length) == self.block_size();
        let count = if is_split { u16::from(self.typesize) } else { 1 };
        let each = quotient(length, u64::from(count));
        if each.saturating_mul(u64::from(count)) != length {
            return Err(self.error(ErrorKind::UnevenSplit, Part::Block, 0));
        }
        let each = to_usize(each).ok_or_else(|| self.error(ErrorKind::TooSmall, Part::Block, 0))?;
        Ok(Streams { chunk: self, at: self.place(index)?, left: count, length: each, count })
    }

    /// Returns block `index` of a chunk whose blocks differ in length.
    pub(super) fn variable_block(&self, index: u32) -> Result<VariableBlock<'a>> {
        let place = self.place(index)?;
        let next = index.saturating_add(1);
        let end = if next < self.block_count() { self.place(next)? } else { to_u64(self.bytes.len()) };
        let error = |kind| self.error(kind, Part::Block, place);
        let at = place.saturating_add(4);
        let stored = end.checked_sub(at).and_then(|length| Extent::new(at, length).of(self.bytes, 0));
        let stored = stored.ok_or_else(|| error(ErrorKind::OutOfPlace))?;
        let length = self.number(place).ok_or_else(|| error(ErrorKind::OutOfPlace))?;
        let length = u32::try_from(length).map_err(|_| error(ErrorKind::NegativeLength))?;
        if is_too_long(stored, to_usize(length.into()).unwrap_or(usize::MAX)) {
            return Err(error(ErrorKind::DecodedLength));
        }
        Ok(VariableBlock { length, stored, at })
    }

    /// Returns the length of the largest block in bytes, for a chunk whose blocks differ in length. The lengths must
    /// add up to that of the chunk. If there are more blocks than `patience` has left, returns the length of the chunk
    /// instead.
    pub(super) fn largest_variable_block(&self, patience: &mut u32) -> Result<u64> {
        match patience.checked_sub(self.block_count()) {
            Some(rest) => *patience = rest,
            None => return Ok(self.decoded_length()),
        }
        let (mut sum, mut largest) = (0_u64, 0);
        for index in 0..self.block_count() {
            let length = u64::from(self.variable_block(index)?.length);
            (sum, largest) = (sum.saturating_add(length), length.max(largest));
        }
        if sum != self.decoded_length() {
            return Err(self.error(ErrorKind::DecodedLength, Part::Block, 0));
        }
        Ok(largest)
    }

    /// Returns the filters to undo, the last one first.
    pub(super) fn steps(&self) -> impl Iterator<Item = Filter> + use<'_, 'a> {
        let filters = self.filters.iter().zip(&self.filters_meta).zip(&[0, 1, 2, 3, 4, 5]).rev();
        let active = filters.filter(|((id, _), _)| !matches!(**id, 0 | TRUNCATE | TRUNCATE_INTEGERS));
        active.map(|((id, meta), slot)| {
            let own_width = matches!(*id, SHUFFLE | BYTEDELTA | OLD_BYTEDELTA) && *meta != 0;
            let width = usize::from(if own_width { *meta } else { self.typesize });
            Filter { id: *id, width, slot: *slot }
        })
    }

    /// Returns the element width for undoing differences between bytes: the width of the filter or, if it has none, of
    /// the frame, which may exceed what a chunk can state.
    fn difference_width(&self, filter: Filter) -> usize {
        match self.filters_meta.get(usize::from(filter.slot)) {
            // A width that exceeds memory exceeds any block, so there is nothing to undo.
            Some(0) => to_usize(self.frame_typesize.into()).unwrap_or(usize::MAX),
            _ => filter.width,
        }
    }

    /// Returns whether any filter is undone from one buffer to another.
    pub(super) fn has_shuffles(&self) -> bool {
        self.steps().any(|filter| is_shuffle(filter.id))
    }

    pub(super) fn has_delta(&self) -> bool {
        self.steps().any(|filter| filter.id == DELTA_FILTER)
    }

    /// Decodes a stream, which must fill `dst`.
    #[inline(never)] // one copy for three callers
    pub(super) fn decode_stream(
        &self,
        decoder: &mut StreamDecoder<'_, 'a>,
        stream: Stream<'_>,
        dst: &mut [u8],
    ) -> Result<()> {
        let (stored, at) = match stream {
            Stream::Coded(stored, at) => (stored, at),
            Stream::Run(value) => {
                dst.fill(value);
                return Ok(());
            }
            Stream::Raw(stored) => {
                copy(dst, stored);
                return Ok(());
            }
        };
        let dictionary = self.dictionary()?;
        let decoded = match (self.codec, dictionary) {
            (BLOSCLZ, _) => blosclz::decode(stored, dst),
            (LZ4, dictionary) => lz4::decode(dictionary.unwrap_or_default(), stored, dst),
            (ZLIB, _) => decoder.decoder.decode(Encoding::Zlib, stored, dst),
            (ZSTD, dictionary) => {
                decoder.dictionary = dictionary;
                decoder.zstd(stored, dst)
            }
            _ => Err(DecodeError::Unsupported),
        };
        let kind = match decoded {
            Ok(length) if length == dst.len() => return Ok(()),
            Ok(_) | Err(DecodeError::DoesNotFit) => ErrorKind::DecodedLength,
            Err(DecodeError::Malformed) => ErrorKind::CorruptStream,
            Err(DecodeError::Checksum) => ErrorKind::ChecksumMismatch,
            Err(DecodeError::Unsupported) => return Err(self.error(ErrorKind::UnsupportedCodec, Part::Codec, 2)),
        };
        Err(self.error(kind, Part::Stream, at))
    }

    /// Decodes block `index` to `dst`, which has the length of the block. With shuffles, `scratch` is no shorter. If
    /// blocks are differences to the first block, `first` is that block; `None` for the first block itself. Only the
    /// `wanted` bytes need be written; `None` for all.
    pub(super) fn decode_block(
        &self,
        decoder: &mut StreamDecoder<'_, 'a>,
        index: u32,
        first: Option<&[u8]>,
        dst: &mut [u8],
        scratch: &mut [u8],
        wanted: Option<&Range<usize>>,
    ) -> Result<()> {
        let shuffles = self.check_filters()?;
        let needed = if shuffles > 0 { dst.len() } else { 0 };
        let scratch = scratch.get_mut(..needed);
        let scratch = scratch.ok_or_else(|| self.error(ErrorKind::OutOfScratch, Part::Block, 0))?;
        let (mut from, mut to) = (dst, scratch);
        if shuffles & 1 == 1 {
            core::mem::swap(&mut from, &mut to);
        }
        self.decode_streams(decoder, index, from)?;
        // Other filters may need all bytes.
        let all = 0..usize::MAX;
        let wanted = wanted.filter(|_| self.steps().nth(1).is_none()).unwrap_or(&all);
        for filter in self.steps() {
            match filter.id {
                SHUFFLE => unshuffle(filter.width, from, to),
                // Blosc 1 did not bitshuffle a block whose elements do not fill groups of eight.
                BITSHUFFLE if self.version <= 2 && !has_whole_groups(from.len(), filter.width) => copy(to, from),
                BITSHUFFLE => unbitshuffle(filter.width, from, to, wanted),
                DELTA_FILTER => undo_delta(filter.width, first, from),
                id => undo_bytedelta(self.difference_width(filter), id == OLD_BYTEDELTA, from),
            }
            if is_shuffle(filter.id) {
                core::mem::swap(&mut from, &mut to);
            }
        }
        Ok(())
    }

    /// Decodes the streams of a block to `dst`, one after the other, without undoing the filters.
    fn decode_streams(&self, decoder: &mut StreamDecoder<'_, 'a>, index: u32, dst: &mut [u8]) -> Result<()> {
        if self.content == Content::VariableBlocks {
            let block = self.variable_block(index)?;
            let is_raw = block.stored.len() == dst.len();
            let stream = if is_raw { Stream::Raw(block.stored) } else { Stream::Coded(block.stored, block.at) };
            return self.decode_stream(decoder, stream, dst);
        }
        let mut streams = self.streams(index)?;
        let mut rest = dst;
        while let Some(stream) = streams.read()? {
            let parts = rest.split_at_mut_checked(streams.length);
            let (part, after) = parts.ok_or_else(|| self.error(ErrorKind::TooSmall, Part::Block, 0))?;
            self.decode_stream(decoder, stream, part)?;
            rest = after;
        }
        Ok(())
    }

    /// Returns the error of a filter that cannot be undone. (In the short header, the filters are flags.)
    pub(super) fn unsupported(&self, filter: Filter) -> Error {
        self.error(ErrorKind::UnsupportedFilter, Part::Filter, u64::from(filter.slot).saturating_add(16))
    }

    /// Checks that all filters can be undone; returns the number of shuffles among them.
    fn check_filters(&self) -> Result<u32> {
        let mut shuffles = 0_u32;
        for filter in self.steps() {
            match filter.id {
                SHUFFLE | BITSHUFFLE => shuffles = shuffles.saturating_add(1),
                BYTEDELTA | OLD_BYTEDELTA => {}
                DELTA_FILTER if self.content != Content::VariableBlocks => {}
                _ => return Err(self.unsupported(filter)),
            }
        }
        Ok(shuffles)
    }

    /// Decodes all blocks of a compressed chunk to `dst`, which has the length of the chunk.
    pub(super) fn decode_blocks(
        &self,
        decoder: &mut StreamDecoder<'_, 'a>,
        dst: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<()> {
        if self.content == Content::VariableBlocks {
            self.largest_variable_block(&mut { u32::MAX })?; // checks that the lengths add up
        }
        // The first block remains borrowed, because the others may be differences to it.
        let mut first: Option<&[u8]> = None;
        let mut rest = dst;
        for index in 0..self.block_count() {
            let parts = to_usize(self.block_length(index)?).and_then(|length| rest.split_at_mut_checked(length));
            let (block, after) = parts.ok_or_else(|| self.error(ErrorKind::TooSmall, Part::Block, 0))?;
            self.decode_block(decoder, index, first, block, scratch, None)?;
            if index == 0 {
                first = Some(block);
            }
            rest = after;
        }
        Ok(())
    }
}

/// Returns whether a stream that decodes to `length` bytes is longer than any that writers store, because no writer
/// stores a stream that grew. Many blocks may share a stream, and many chunks a block, so a stream that decodes to
/// little must not take long.
const fn is_too_long(stored: &[u8], length: usize) -> bool {
    stored.len() > length.saturating_mul(2).saturating_add(EXPANSION)
}

pub(super) const fn is_shuffle(id: u8) -> bool {
    matches!(id, SHUFFLE | BITSHUFFLE)
}

fn has_whole_groups(length: usize, width: usize) -> bool {
    length.checked_div(width).is_some_and(|count| count & 7 == 0)
}
