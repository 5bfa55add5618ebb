//! The cost of reading a region: the memory needed and the number of bytes decoded.
//!
//! Each chunk may be of a different kind, so chunk headers are read, but only as many as take a few milliseconds.
#![forbid(unsafe_code)]

use super::Frame;
use super::block::{Stream, StreamDecoder};
use super::chunk::{Chunk, Content, MAX_DICTIONARY, ZSTD};
use super::grid::Grid;
use super::offsets::Offsets;
use super::region::{has_its_blocks, plane_width};
use crate::bytes::num::to_u64;
use crate::codec::BuiltIn;
use crate::codec::options::Requirements;
use crate::error::{ErrorKind, Result};

/// The largest number of chunks that are examined, and of their streams or blocks.
const MOST: u32 = 1 << 16;

impl<'a> Frame<'a> {
    /// Returns the memory that [`read_region`](Self::read_region) needs. With that much scratch memory, reading never
    /// fails with `OutOfScratch`; with less, it may still succeed, possibly more slowly. Neither length is `None`.
    ///
    /// Reads the headers of the chunks that the region touches, because each chunk may be of a different kind. For more
    /// than 65536 chunks, or if chunks cannot be looked up without memory, returns an upper bound: three times the
    /// bytes of a chunk, plus the table. For more than 65536 blocks of different lengths, the bound is the bytes of
    /// their chunk.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`; `ShapeOverflow` if the output exceeds 64 bits; the errors of invalid chunks.
    pub fn region_requirements(&self, start: &[u64], stop: &[u64]) -> Result<Requirements> {
        let output = self.region_bytes(start, stop)?;
        Ok(Requirements { output: Some(output), scratch: Some(self.scratch_for(Some((start, stop)))?) })
    }

    /// Returns the scratch memory that reading a region needs or, if `region` is `None`, reading the whole array.
    pub(crate) fn scratch_for(&self, region: Option<(&[u64], &[u64])>) -> Result<u64> {
        let mut grid = Grid::NONE;
        grid.set(self, region)?;
        if grid.is_empty() {
            return Ok(0);
        }
        let mut offsets = self.offsets()?;
        let (memory, mut largest) = offsets.memory();
        // Past this number of chunks, all others repeat earlier ones.
        let different = self.period(&offsets)?;
        let (mut seen, mut patience) = (0_u64, MOST);
        let has_seen_all = self.look_at_chunks(&mut grid, &mut offsets, |chunk, grid| {
            largest = largest.max(memory_length(chunk, grid, &mut patience)?);
            seen = seen.saturating_add(1);
            Ok(seen < different)
        })?;
        // A block is no larger than its chunk, and takes up to three times its size in memory.
        let any = if has_seen_all { 0 } else { self.largest_chunk().saturating_mul(3) };
        Ok(memory.saturating_add(largest).saturating_add(any))
    }

    /// Returns an upper bound for the number of bytes that are decoded to read a region. Counts whole blocks and
    /// streams, even if little of them is in the region, because codecs cannot decode less, and the Zstandard
    /// dictionaries that they need. Raw streams, runs of one byte and chunks of one value are not decoded. The table of
    /// offsets is not counted.
    ///
    /// Chunks may extend past the array and share their bytes, so in a file of 300 bytes, reading a small region can
    /// cost terabytes. For untrusted files, read only regions whose cost is acceptable.
    ///
    /// Examines the chunks that the region touches, as [`region_requirements`](Self::region_requirements) does, and up
    /// to 65536 streams; past these, whole blocks count as decoded. For more than 65536 chunks, or if chunks cannot be
    /// looked up without memory, the bound is the decoded bytes of all chunks of the frame. If the header or an
    /// examined chunk has dictionaries, 32 KiB for each chunk are added.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`; the errors of invalid chunks.
    pub fn work_length(&self, start: &[u64], stop: &[u64]) -> Result<u64> {
        let mut grid = Grid::NONE;
        grid.set(self, Some((start, stop)))?;
        if grid.is_empty() {
            return Ok(0);
        }
        let (mut work, mut dictionaries, mut patience) = (0_u64, 0_u64, MOST);
        let has_seen_all = self.look_at_chunks(&mut grid, &mut self.offsets()?, |chunk, grid| {
            work = work.saturating_add(work_for(chunk, grid, &mut patience)?);
            dictionaries = dictionaries.saturating_add(dictionary_length(chunk)?);
            Ok(true)
        })?;
        if has_seen_all {
            return Ok(work.saturating_add(dictionaries));
        }
        let has_dictionaries = dictionaries > 0 || self.defaults().has_dictionary;
        let any = if has_dictionaries { self.chunk_count().saturating_mul(MAX_DICTIONARY) } else { 0 };
        Ok(self.nbytes().saturating_add(any))
    }

    /// Calls `f` with each chunk that the region touches, until `f` returns `false`. Returns `false` if there are too
    /// many chunks to examine, or if they cannot be looked up without memory.
    fn look_at_chunks(
        &self,
        grid: &mut Grid,
        offsets: &mut Offsets<'a>,
        mut f: impl FnMut(&Chunk<'a>, &mut Grid) -> Result<bool>,
    ) -> Result<bool> {
        let mut built_in = BuiltIn::default();
        let decoder = &mut StreamDecoder::new(&mut built_in);
        let period = self.period(offsets)?;
        // Chunks before the region also count if each takes long to look up.
        let takes_long = offsets.memory_length() > 0;
        let mut looked_at = 0_u32;
        let result = self.each_chunk(grid, period, |grid, index| {
            let chunk = self.chunk_at(offsets, decoder, index, &mut [], &mut [])?;
            let is_touched = self.touches(&chunk, grid);
            if is_touched || takes_long {
                looked_at = looked_at.saturating_add(1);
            }
            if looked_at > MOST {
                return Err(self.error(ErrorKind::OutOfScratch));
            }
            let goes_on = !is_touched || f(&chunk, grid)?;
            Ok(goes_on.then(|| chunk.decoded_length()))
        });
        match result {
            Err(error) if error.kind() == ErrorKind::OutOfScratch => Ok(false),
            other => other.map(|()| true),
        }
    }
}

/// Returns the memory that a chunk needs besides its destination. Examines up to `patience` blocks of different
/// lengths, and checks that these lengths add up to the chunk before any block is decoded.
pub(super) fn memory_length(chunk: &Chunk<'_>, grid: &Grid, patience: &mut u32) -> Result<u64> {
    let blocks = match chunk.content {
        Content::VariableBlocks if !grid.is_array => chunk.largest_variable_block(patience)?,
        Content::Compressed => chunk.block_size().unwrap_or(0),
        _ => return Ok(0),
    };
    // A block, the source from which its shuffles are undone, and the first block if others are differences to it.
    let is_foreign = grid.is_array && !has_its_blocks(chunk, grid);
    let is_gathered = !is_foreign && plane_width(chunk, grid).is_some();
    let shuffles = if chunk.has_shuffles() && !is_gathered { blocks } else { 0 };
    let first = if chunk.has_delta() && !is_foreign { blocks } else { 0 };
    let decoded = if is_foreign { chunk.decoded_length() } else { blocks };
    Ok(decoded.saturating_add(shuffles).saturating_add(first))
}

/// Returns the number of dictionary bytes that a decoder reads before it can decode anything of a chunk. The dictionary
/// counts for every chunk, because alternating chunks may each have to load theirs.
fn dictionary_length(chunk: &Chunk<'_>) -> Result<u64> {
    if !matches!(chunk.content, Content::Compressed | Content::VariableBlocks) || chunk.codec != ZSTD {
        return Ok(0);
    }
    Ok(chunk.dictionary()?.map_or(0, |dictionary| to_u64(dictionary.len())))
}

/// Returns an upper bound for the bytes of the current chunk that are decoded. Examines up to `patience` streams.
fn work_for(chunk: &Chunk<'_>, grid: &mut Grid, patience: &mut u32) -> Result<u64> {
    let all = chunk.decoded_length();
    let block = match chunk.content {
        Content::Compressed if !grid.is_array || has_its_blocks(chunk, grid) => chunk.block_size().unwrap_or(0),
        Content::Compressed | Content::VariableBlocks => return Ok(all),
        _ => return Ok(0),
    };
    let before = (!grid.is_array).then(|| grid.take(grid.corner(), all, block));
    let parts = grid.part_count();
    let first = if chunk.has_delta() { 1 } else { 0 };
    let mut work = parts.saturating_add(first).saturating_mul(block).min(all);
    let streams = parts.saturating_mul(if chunk.is_split() { chunk.typesize.into() } else { 1 });
    let left = u64::from(*patience).checked_sub(streams).filter(|_| plane_width(chunk, grid).is_some());
    if let Some(left) = left {
        *patience = u32::try_from(left).unwrap_or(0);
        work = 0;
        grid.first_part();
        loop {
            let mut streams = chunk.streams(u32::try_from(grid.part_index()).unwrap_or(u32::MAX))?;
            while let Some(stream) = streams.read()? {
                let is_coded = matches!(stream, Stream::Coded(..));
                work = work.saturating_add(if is_coded { to_u64(streams.length) } else { 0 });
            }
            if !grid.next_part() {
                break;
            }
        }
    }
    if let Some(before) = before {
        grid.give(before);
    }
    Ok(work)
}
