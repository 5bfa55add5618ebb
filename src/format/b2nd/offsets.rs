//! The table of chunk offsets, which is itself a chunk.
//!
//! The table may be larger than a reader's memory, and writers compress it. If the caller provides enough memory, the
//! table is read block by block; otherwise byte by byte without memory.
#![forbid(unsafe_code)]

use super::block::{Filter, Stream, StreamDecoder};
use super::chunk::{BLOSCLZ, Chunk, Content, DELTA_FILTER, LOG2_SHORT, SHUFFLE, Setting, repeat};
use super::fail;
use crate::bytes::extent::Extent;
use crate::bytes::num::{quotient, to_u64, to_usize};
use crate::codec::blosclz;
use crate::codec::decoder::DecodeError;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};

/// The size of an offset in bytes.
const OFFSET: u64 = 8;

/// The number of streams and BloscLZ instructions that are followed before memory is requested: a few milliseconds.
const PATIENCE: u32 = 1 << 22;

/// Looks up offsets, and remembers which block of the table is in the caller's memory.
pub(super) struct Offsets<'a> {
    table: Chunk<'a>,
    decoded: Option<u32>,
    patience: u32,
}

/// The position of a chunk.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Stored here. The offset is relative to the end of the frame header, as in the table; after checking, to the
    /// file.
    Stored(u64),
    /// Not stored; the chunk has this content.
    Special(Content),
}

impl<'a> Offsets<'a> {
    pub(super) const fn new(table: Chunk<'a>) -> Self {
        Self { table, decoded: None, patience: PATIENCE }
    }

    /// Returns the period, in chunks, after which the table of `count` chunks repeats. The period is `count`, unless
    /// the table is a repeated value. Used to visit chunks of different lengths one by one. A compressed table may not
    /// have more chunks than fit into the `stored` bytes: no writer lets chunks share bytes, and visiting them would
    /// take long.
    pub(super) fn period(&self, count: u64, stored: u64) -> Result<u64> {
        match self.table.content {
            Content::Compressed if count > (stored >> LOG2_SHORT) => {
                Err(self.table.error(ErrorKind::CountTooLarge, Part::ChunkOffset, 4))
            }
            Content::Compressed | Content::Copied => Ok(count),
            // The shortest run of whole values that is also a run of whole offsets.
            Content::Value => {
                let length = to_u64(self.table.payload().len());
                Ok(length.wrapping_shr(length.trailing_zeros().min(OFFSET.trailing_zeros())))
            }
            _ => Ok(1),
        }
    }

    /// Returns the memory that a block of the table needs, and the scratch memory for decoding it.
    pub(super) fn memory(&self) -> (u64, u64) {
        match self.table.content {
            Content::Compressed => (self.table.block_size().unwrap_or(0), self.table.scratch_length()),
            _ => (0, 0),
        }
    }

    /// Returns the sum of both results of [`memory`](Self::memory).
    pub(super) fn memory_length(&self) -> u64 {
        let (memory, scratch) = self.memory();
        memory.saturating_add(scratch)
    }

    /// Looks up offset `index`. `memory` has the size of the first result of [`memory`](Self::memory), or is empty.
    pub(super) fn get(
        &mut self,
        decoder: &mut StreamDecoder<'_, 'a>,
        index: u64,
        memory: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<Place> {
        let mut bytes = [0; 8];
        let mut at = index.saturating_mul(OFFSET);
        match self.table.content {
            Content::Compressed => {
                for byte in &mut bytes {
                    *byte = self.byte(decoder, at, memory, scratch)?;
                    at = at.saturating_add(1);
                }
            }
            Content::Copied => {
                let stored = Extent::new(at, OFFSET).of(self.table.payload(), 0);
                bytes.iter_mut().zip(stored.unwrap_or_default()).for_each(|(to, from)| *to = *from);
            }
            _ => repeat(self.table.value(), at, &mut bytes),
        }
        let offset = u64::from_le_bytes(bytes);
        let [.., kind] = bytes;
        if kind < 0x80 {
            return Ok(Place::Stored(offset));
        }
        let content = match kind & 7 {
            1 => Content::Zeros,
            2 => Content::Nans,
            4 => Content::Uninitialised,
            _ => return Err(self.table.error(ErrorKind::SpecialChunk, Part::ChunkOffset, 0)),
        };
        Ok(Place::Special(content))
    }

    /// Returns the byte of the table at `at`.
    fn byte(
        &mut self,
        decoder: &mut StreamDecoder<'_, 'a>,
        at: u64,
        memory: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<u8> {
        let table = self.table;
        let error = || table.error(ErrorKind::OutOfScratch, Part::ChunkOffset, 0);
        let size = table.block_size().unwrap_or(0);
        let block = u32::try_from(quotient(at, size)).map_err(|_| error())?;
        let at = at.saturating_sub(u64::from(block).saturating_mul(size));
        let length = table.block_length(block)?;
        let dst = to_usize(length).and_then(|length| memory.get_mut(..length));
        let Some(dst) = dst else { return self.traced(block, at, length) };
        if self.decoded != Some(block) {
            self.decoded = None;
            // No writer makes such a table, and decoding it would need memory for another block.
            if let (1.., Some(delta)) = (block, table.steps().find(|filter| filter.id == DELTA_FILTER)) {
                return Err(table.unsupported(delta));
            }
            table.decode_block(decoder, block, None, dst, scratch, None)?;
            self.decoded = Some(block);
        }
        to_usize(at).and_then(|at| dst.get(at).copied()).ok_or_else(error)
    }

    /// Returns the byte at `at` of a block of the table, without memory. Traces the byte back through the shuffle and
    /// the BloscLZ matches to a literal, which works for the tables of all known writers.
    fn traced(&mut self, block: u32, at: u64, length: u64) -> Result<u8> {
        let table = self.table;
        let error = || table.error(ErrorKind::OutOfScratch, Part::ChunkOffset, 0);
        let mut filters = table.steps();
        let at = match (filters.next(), filters.next()) {
            (None, _) => at,
            (Some(Filter { id: SHUFFLE, width, .. }), None) => shuffled(at, to_u64(width), length),
            _ => return Err(error()),
        };
        let mut streams = table.streams(block)?;
        let each = to_u64(streams.length);
        let wanted = quotient(at, each);
        let at = at.saturating_sub(wanted.saturating_mul(each));
        let mut index = 0_u64;
        while let Some(stream) = streams.read()? {
            self.patience = self.patience.checked_sub(1).ok_or_else(error)?;
            if index < wanted {
                index = index.saturating_add(1);
                continue;
            }
            let at = to_usize(at).ok_or_else(error)?;
            return match stream {
                Stream::Run(value) => Ok(value),
                Stream::Raw(bytes) => bytes.get(at).copied().ok_or_else(error),
                Stream::Coded(bytes, from) if table.codec == BLOSCLZ => {
                    let byte = blosclz::byte(bytes, streams.length, at, &mut self.patience);
                    byte.map_err(|kind| match kind {
                        DecodeError::Unsupported => error(), // out of patience
                        DecodeError::DoesNotFit => table.error(ErrorKind::DecodedLength, Part::Stream, from),
                        _ => table.error(ErrorKind::CorruptStream, Part::Stream, from),
                    })
                }
                Stream::Coded(..) => Err(error()),
            };
        }
        Err(error())
    }
}

/// Returns the position that byte `at` of a block has before its shuffle is undone.
fn shuffled(at: u64, width: u64, length: u64) -> u64 {
    let count = quotient(length, width);
    let whole = count.saturating_mul(width);
    if at >= whole {
        return at;
    }
    let element = quotient(at, width);
    let plane = at.saturating_sub(element.saturating_mul(width));
    plane.saturating_mul(count).saturating_add(element)
}

/// Returns the number of offsets in the table, from its header alone. The number must be `expected`, if that is known.
pub(super) fn count(setting: Setting<'_>, at: u64, expected: Option<u64>) -> Result<u32> {
    let (table, _) = Chunk::head(setting, 0, at)?;
    let length = table.decoded_length();
    let count = length >> 3;
    let is_whole = count << 3 == length && table.content != Content::VariableBlocks;
    if !is_whole || expected.is_some_and(|expected| expected != count) {
        return Err(fail(ErrorKind::CountsDiffer, Part::ChunkOffset, at.saturating_add(4)));
    }
    u32::try_from(count).map_err(|_| fail(ErrorKind::CountsDiffer, Part::ChunkOffset, at))
}
