//! Reading any hyper-rectangle of an array. Only the blocks that the region touches are decoded, each directly into the
//! destination.
//!
//! ```text
//! array    chunks, row-major; the last ones may extend past its end
//! chunk    blocks, row-major; the last ones may extend past its end
//! block    elements, row-major
//! ```
//!
//! Bytes past the end are padding, which is never returned. A frame without an array is read as an array of bytes.
#![forbid(unsafe_code)]

use super::Frame;
use super::block::{Stream, StreamDecoder};
use super::chunk::{Chunk, Content, SHUFFLE, repeat};
use super::cost::memory_length;
use super::grid::Grid;
use super::offsets::Offsets;
use crate::bytes::extent::Extent;
use crate::bytes::num::{quotient, remainder, to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::codec::shuffle::{Planes, WIDEST, copy, cut_planes, interleave};
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};

/// Filling this many bytes takes no longer than finding out how many of them are needed.
const SHORT: usize = 256;

/// The region to read, and the memory to write to.
struct Reader<'r, 'd, 'a> {
    decoder: &'r mut StreamDecoder<'d, 'a>,
    grid: &'r mut Grid,
    dst: &'r mut [u8],
}

/// The bytes of a block or a chunk, in the form in which they are available.
enum View<'v> {
    /// Contiguous.
    Bytes(&'v [u8]),
    /// A value that repeats from the start of the chunk, and the position in the chunk where this view begins.
    Value(&'v [u8], u64),
    /// The bytes of elements of the given width, in planes.
    Planes(usize, &'v Planes<'v>),
    /// Planes, where a plane of one byte represents that byte repeated.
    Runs(usize, &'v Planes<'v>),
}

impl View<'_> {
    /// Fills `dst` with the bytes at `from`; returns `None` if there are too few.
    fn write(&self, from: u64, dst: &mut [u8]) -> Option<()> {
        match self {
            View::Bytes(bytes) => copy(dst, Extent::new(from, to_u64(dst.len())).of(bytes, 0)?),
            View::Value(value, start) => repeat(value, start.saturating_add(from), dst),
            View::Planes(width, planes) => {
                // The width is a power of two, and the region begins and ends with whole elements.
                let element = to_usize(from)?.checked_shr(width.trailing_zeros())?;
                return interleave(*width, planes, element, dst).then_some(());
            }
            View::Runs(width, planes) => return write_runs(*width, planes, to_usize(from)?, dst),
        }
        Some(())
    }
}

/// Writes elements of `width` bytes to `dst`, byte by byte from their planes, starting `from` bytes in. A plane of one
/// byte represents that byte repeated.
#[inline(never)] // keeps its counters off the stack of the callers
fn write_runs(width: usize, planes: &Planes<'_>, from: usize, mut dst: &mut [u8]) -> Option<()> {
    let mut element = from.checked_shr(width.trailing_zeros())?;
    while !dst.is_empty() {
        let (to, after) = dst.split_at_mut_checked(width)?;
        for (byte, plane) in to.iter_mut().zip(planes) {
            *byte = match plane {
                [run] => *run,
                bytes => *bytes.get(element)?,
            };
        }
        (dst, element) = (after, element.checked_add(1)?);
    }
    Some(())
}

impl<'a> Frame<'a> {
    /// Returns the number of bytes that [`read_region`](Self::read_region) writes.
    pub(crate) fn region_bytes(&self, start: &[u64], stop: &[u64]) -> Result<u64> {
        let mut grid = Grid::NONE;
        grid.set(self, Some((start, stop)))?;
        grid.wanted_bytes().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))
    }

    /// Reads the elements from index `start` up to, but excluding index `stop`, to the front of `dst`. Elements are
    /// written row-major, in the byte order that the dtype states. Returns the part written. In a frame without an
    /// array, elements are bytes.
    ///
    /// [`region_requirements`](Self::region_requirements) returns the lengths of `dst` and of the scratch memory. With
    /// less scratch memory, reading may still succeed, possibly more slowly. Decodes each block that the region touches
    /// once and as a whole. [`work_length`](Self::work_length) returns how much that is; the size of the region does not
    /// bound it. The decoder is called for Zstandard and zlib.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`, `TooSmall`, `ShapeOverflow`: nothing is written. `OutOfScratch`,
    /// `UnsupportedCodec`, `UnsupportedFilter`, the errors of an invalid chunk, `NotInMemory`, and `NoValues` for a
    /// chunk that a proxy has not fetched: the contents of `dst` are unspecified, but other regions can still be read.
    /// `NoValues` for every region of an array that is still to be computed.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/b2nd/good/many_tiny_chunks_0.b2nd");
    /// use tenslice::{File, ReadOptions};
    ///
    /// let file = File::open(bytes)?;
    /// let array = file.as_b2nd().ok_or("another format")?;
    /// let mut stop: Vec<u64> = array.shape().iter().collect();
    /// stop[0] = stop[0].min(1); // the first row alone
    /// let start = vec![0; stop.len()];
    /// let needed = array.region_requirements(&start, &stop)?;
    /// let mut dst = vec![0; needed.output.ok_or("too long")? as usize];
    /// let mut scratch = vec![0; needed.scratch.ok_or("too long")? as usize];
    /// let row = array.read_region(&start, &stop, &mut dst, ReadOptions::new().scratch(&mut scratch))?;
    /// println!("{} bytes of dtype {:?}", row.len(), array.dtype_text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn read_region<'r>(
        &self,
        start: &[u64],
        stop: &[u64],
        dst: &'r mut [u8],
        options: ReadOptions<'_>,
    ) -> Result<&'r mut [u8]> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.read_region_using(decoder, start, stop, dst, scratch)
    }

    pub(crate) fn read_region_using<'r>(
        &self,
        decoder: &mut dyn Decoder,
        start: &[u64],
        stop: &[u64],
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        self.check_values()?;
        self.decode(decoder, Some((start, stop)), dst, scratch)
    }

    /// Decodes a region or, if `region` is `None`, the whole array; see [`read_region`](Self::read_region).
    /// The caller has checked that there are values. A check in this function would add 56 bytes to the deepest stack.
    pub(super) fn decode<'r>(
        &self,
        decoder: &mut dyn Decoder,
        region: Option<(&[u64], &[u64])>,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let decoder = &mut StreamDecoder::new(decoder);
        let mut grid = Grid::NONE;
        grid.set(self, region)?;
        let length = grid.wanted_bytes().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        if dst.is_empty() {
            return Ok(dst);
        }
        let mut found = self.offsets();
        let offsets = found.as_mut().map_err(|error| *error)?; // borrowed, not moved: the offsets are large for a stack
        let (memory, _) = offsets.memory();
        // The memory for the table is at the end of the scratch memory, if that is large enough.
        let has_room = offsets.memory_length() <= to_u64(scratch.len());
        let mut table = if has_room { to_usize(memory).unwrap_or(0) } else { 0 };
        let period = self.period(offsets)?;
        self.each_chunk(&mut grid, period, |grid, index| {
            let work = scratch.len().saturating_sub(table);
            let (work, memory) = scratch.split_at_mut_checked(work).unwrap_or_default();
            let found = self.chunk_at(offsets, decoder, index, memory, work);
            let chunk = found.as_ref().map_err(|error| *error)?; // borrowed, as above
            if !self.touches(chunk, grid) {
                return Ok(Some(chunk.decoded_length())); // a chunk before the region
            }
            let needed = memory_length(chunk, grid, &mut { u32::MAX })?;
            // The chunk takes precedence over the table, which is read without memory from then on.
            if needed > to_u64(work.len()) {
                table = 0;
            }
            let work = to_usize(needed).and_then(|needed| scratch.get_mut(..needed));
            let work = work.ok_or_else(|| chunk.error(ErrorKind::OutOfScratch, Part::Chunk, 0))?;
            let mut reader = Reader { decoder, grid, dst };
            if self.is_array() { reader.chunk(chunk, work) } else { reader.chunk_of_bytes(chunk, work) }?;
            Ok(Some(chunk.decoded_length()))
        })?;
        Ok(dst)
    }

    /// Returns the period, in chunks, after which the table repeats. The period is unlimited if all chunks have the
    /// same length, because such chunks are never visited one by one.
    pub(super) fn period(&self, offsets: &Offsets<'_>) -> Result<u64> {
        match self.chunksize() {
            0 => offsets.period(self.chunk_count(), self.region().length),
            _ => Ok(u64::MAX),
        }
    }

    /// Calls `f` with the index of each chunk that the region touches, after making it the current chunk. `f` returns
    /// the number of bytes in the chunk, or `None` to stop. `period` is the result of [`period`](Self::period).
    pub(super) fn each_chunk(
        &self,
        grid: &mut Grid,
        period: u64,
        mut f: impl FnMut(&mut Grid, u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        if self.chunksize() == 0 {
            return self.walk_chunks(grid, period, &mut f);
        }
        grid.first_chunk();
        loop {
            let index = grid.chunk_index(self.shape());
            if f(grid, index)?.is_none() || !grid.next_chunk() {
                return Ok(());
            }
        }
    }

    /// Does the same as [`each_chunk`](Self::each_chunk) for chunks of different lengths. Also visits chunks before and
    /// after the region. If the table repeats every `period` chunks, whole periods are skipped at a time.
    #[inline(never)] // keeps its counters off the stack of the others
    fn walk_chunks(
        &self,
        grid: &mut Grid,
        period: u64,
        f: &mut dyn FnMut(&mut Grid, u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        let ((start, stop), nbytes) = (grid.wanted(), self.nbytes());
        let (mut at, mut index) = (0_u64, 0_u64);
        // The start of the current period, and the number of its chunks that remain.
        let (mut turn_at, mut left) = (at, period);
        // If the region includes the end of the frame, visits all chunks, to detect extra chunks past the end as well
        // as chunks that exceed it.
        while index < self.chunk_count() && (at < stop || stop >= nbytes) {
            grid.take(at, 0, 0);
            let Some(length) = f(grid, index)? else { return Ok(()) };
            at = at.saturating_add(length);
            index = index.saturating_add(1);
            left = left.saturating_sub(1);
            if left == 0 {
                let bytes = at.saturating_sub(turn_at);
                // All periods, a whole number of them, must add up to the length of the frame. Then no period has more
                // chunks than bytes.
                if quotient(self.chunk_count(), period).saturating_mul(bytes) != nbytes {
                    return Err(self.error(ErrorKind::ChunkGrid));
                }
                let passed = quotient(start.saturating_sub(at), bytes);
                at = at.saturating_add(passed.saturating_mul(bytes));
                index = index.saturating_add(passed.saturating_mul(period));
                (turn_at, left) = (at, period);
            }
            if at > nbytes {
                return Err(self.error(ErrorKind::ChunkGrid));
            }
        }
        // The chunks must add up to the length that the frame states.
        if at >= stop { Ok(()) } else { Err(self.error(ErrorKind::ChunkGrid)) }
    }

    /// Returns whether the region touches the current chunk. Chunks of equal length, such as those of an array, are
    /// visited only if it does.
    pub(super) fn touches(&self, chunk: &Chunk<'_>, grid: &Grid) -> bool {
        self.chunksize() > 0 || grid.wants(chunk.decoded_length())
    }
}

impl<'a> Reader<'_, '_, 'a> {
    /// Writes the part of the region that is in a chunk of bytes, which states its own length and the length of its
    /// blocks. `work` has the size that [`memory_length`] returns.
    #[inline(never)] // its saved state is on its own stack frame only
    fn chunk_of_bytes(&mut self, chunk: &Chunk<'a>, work: &mut [u8]) -> Result<()> {
        let corner = self.grid.corner();
        let before = self.grid.take(corner, chunk.decoded_length(), chunk.block_size().unwrap_or(0));
        let result = self.chunk(chunk, work);
        self.grid.give(before);
        result
    }

    /// Writes the part of the region that is in the chunk. `work` has the size that [`memory_length`] returns.
    fn chunk(&mut self, chunk: &Chunk<'a>, work: &mut [u8]) -> Result<()> {
        let is_array = self.grid.is_array;
        self.grid.cut(true);
        if !self.grid.touches_chunk() {
            return Ok(()); // a chunk before the region
        }
        let value = chunk.value();
        let has_whole_values = remainder(self.grid.item_size, to_u64(value.len())) == 0;
        match chunk.content {
            Content::Compressed => self.blocks(chunk, work),
            Content::VariableBlocks if !is_array => self.variable_blocks(chunk, work),
            Content::VariableBlocks => Err(chunk.error(ErrorKind::UnsupportedChunk, Part::Flags, 30)),
            Content::Copied if is_array => self.parts(chunk, |start| View::Bytes(bytes_from(chunk.payload(), start))),
            Content::Copied => self.whole(chunk, &View::Bytes(chunk.payload())),
            // If the value starts anew at every element, the chunk needs no blocks. Otherwise the value continues from
            // block to block.
            _ if has_whole_values || !is_array => self.whole(chunk, &View::Value(value, 0)),
            _ => self.parts(chunk, |start| View::Value(value, start)),
        }
    }

    /// Writes the part of the region that is in a chunk whose bytes are available as a whole.
    fn whole(&mut self, chunk: &Chunk<'a>, view: &View<'_>) -> Result<()> {
        self.grid.cut(false);
        self.grid.first_part();
        self.rows(chunk, view)
    }

    /// Writes the part of the region that is in each block. `view` receives an offset and returns a view of the chunk
    /// that begins there.
    fn parts<'v>(&mut self, chunk: &Chunk<'a>, view: impl Fn(u64) -> View<'v>) -> Result<()> {
        let size = self.grid.block_bytes();
        self.grid.first_part();
        loop {
            let start = self.grid.part_index().saturating_mul(size);
            self.rows(chunk, &view(start))?;
            if !self.grid.next_part() {
                return Ok(());
            }
        }
    }

    /// Decodes the blocks of a compressed chunk that the region touches.
    fn blocks(&mut self, chunk: &Chunk<'a>, work: &mut [u8]) -> Result<()> {
        let out_of_scratch = || chunk.error(ErrorKind::OutOfScratch, Part::Chunk, 0);
        if !has_its_blocks(chunk, self.grid) {
            let length = to_usize(chunk.decoded_length());
            let parts = length.and_then(|length| work.split_at_mut_checked(length));
            let (decoded, work) = parts.ok_or_else(out_of_scratch)?;
            chunk.decode_blocks(self.decoder, decoded, work)?;
            return self.parts(chunk, |start| View::Bytes(bytes_from(decoded, start)));
        }
        // The first block, if others are differences to it.
        let ahead = if chunk.has_delta() { chunk.block_length(0)? } else { 0 };
        let parts = to_usize(ahead).and_then(|ahead| work.split_at_mut_checked(ahead));
        let (first, work) = parts.ok_or_else(out_of_scratch)?;
        if ahead > 0 {
            chunk.decode_block(self.decoder, 0, None, first, work, None)?;
        }
        let first = Some(&*first).filter(|first| !first.is_empty());
        self.grid.first_part();
        loop {
            let index = u32::try_from(self.grid.part_index()).unwrap_or(u32::MAX);
            self.block(chunk, index, first, work)?;
            if !self.grid.next_part() {
                return Ok(());
            }
        }
    }

    /// Decodes the blocks that the region touches in a chunk of bytes whose blocks differ in length. [`memory_length`]
    /// has checked that the lengths add up.
    fn variable_blocks(&mut self, chunk: &Chunk<'a>, work: &mut [u8]) -> Result<()> {
        let mut corner = self.grid.corner();
        for index in 0..chunk.block_count() {
            let length = chunk.block_length(index)?;
            // Treats each block as a chunk of its own with a single part.
            self.grid.take(corner, length, length);
            if self.grid.touches_chunk() {
                self.block(chunk, index, None, work)?;
            }
            corner = corner.saturating_add(length);
        }
        Ok(())
    }

    /// Decodes block `index`, which is the current part, and writes the part of the region that is in the block.
    /// `first` is the first block, if others are differences to it.
    fn block(&mut self, chunk: &Chunk<'a>, index: u32, first: Option<&[u8]>, work: &mut [u8]) -> Result<()> {
        if let (Some(first), 0) = (first, index) {
            return self.rows(chunk, &View::Bytes(first));
        }
        if let Some(width) = plane_width(chunk, self.grid) {
            return self.gathered_block(chunk, index, width, work);
        }
        let length = chunk.block_length(index)?;
        let rows = self.grid.first_row();
        let size = to_usize(length).unwrap_or(usize::MAX);
        let (decoded, work) =
            work.split_at_mut_checked(size).ok_or_else(|| chunk.error(ErrorKind::OutOfScratch, Part::Block, 0))?;
        // If the whole block is needed in one piece, it is decoded directly to the destination.
        let dst = to_usize(rows.to).and_then(|to| self.dst.get_mut(to..)?.get_mut(..size));
        if let (true, Some(dst)) = (rows.are_one_of(length), dst) {
            return chunk.decode_block(self.decoder, index, first, dst, work, None);
        }
        let wanted = to_usize(rows.from).unwrap_or(0)..to_usize(self.grid.end_in_part()).unwrap_or(size);
        chunk.decode_block(self.decoder, index, first, decoded, work, Some(&wanted))?;
        self.rows(chunk, &View::Bytes(decoded))
    }

    /// Does the same as [`block`](Self::block) for elements of `width` bytes that are gathered from their planes as
    /// they are written.
    #[inline(never)] // the planes are on its own stack frame only
    fn gathered_block(&mut self, chunk: &Chunk<'a>, index: u32, width: usize, work: &mut [u8]) -> Result<()> {
        let mut found: Planes<'_> = [&[]; WIDEST];
        let keeps_runs = planes(self.decoder, chunk, index, width, work, &mut found, self.grid)?;
        let [only, ..] = found;
        let view = match width {
            _ if keeps_runs => View::Runs(width, &found),
            1 => View::Bytes(only),
            _ => View::Planes(width, &found),
        };
        self.rows(chunk, &view)
    }

    /// Writes the part of the region that is in the current part, from a view of that part.
    fn rows(&mut self, chunk: &Chunk<'a>, view: &View<'_>) -> Result<()> {
        let mut rows = self.grid.first_row();
        loop {
            let dst = to_usize(rows.to).zip(to_usize(rows.length));
            let dst = dst.and_then(|(to, length)| self.dst.get_mut(to..)?.get_mut(..length));
            let written = dst.and_then(|dst| view.write(rows.from, dst));
            written.ok_or_else(|| chunk.error(ErrorKind::ChunkGrid, Part::Block, 0))?;
            if !self.grid.next_row(&mut rows) {
                return Ok(());
            }
        }
    }
}

/// Returns the bytes after the first `first` bytes.
fn bytes_from(bytes: &[u8], first: u64) -> &[u8] {
    to_usize(first).and_then(|first| bytes.get(first..)).unwrap_or_default()
}

/// Finds the planes of a block, whose elements have `width` bytes: raw streams in place, the others decoded to `work`.
/// If the region needs little of the block, a stream that repeats one byte is kept as that byte, to avoid filling in
/// unneeded bytes. Returns whether such streams are kept.
#[inline(never)] // its stack frame is released before the elements are gathered
fn planes<'v, 'a: 'v>(
    decoder: &mut StreamDecoder<'_, 'a>,
    chunk: &Chunk<'a>,
    index: u32,
    width: usize,
    work: &'v mut [u8],
    found: &mut Planes<'v>,
    grid: &Grid,
) -> Result<bool> {
    let out_of_scratch = || chunk.error(ErrorKind::OutOfScratch, Part::Block, 0);
    let streams = chunk.streams(index)?;
    let mut keeps_runs = false;
    let length = |stream: &Stream<'_>, keeps_runs| match stream {
        Stream::Run(_) if keeps_runs => streams.length.min(1),
        _ => streams.length,
    };
    let mut reader = streams;
    let mut rest = &mut *work;
    while let Some(stream) = reader.read()? {
        let is_long_run = matches!(&stream, Stream::Run(_)) && streams.length > SHORT;
        keeps_runs = keeps_runs || is_long_run && grid.wants_little();
        let parts = rest.split_at_mut_checked(length(&stream, keeps_runs));
        let (plane, remaining) = parts.ok_or_else(out_of_scratch)?;
        if !matches!(stream, Stream::Raw(_)) {
            chunk.decode_stream(decoder, stream, plane)?;
        }
        rest = remaining;
    }
    let mut reader = streams;
    let mut rest: &'v [u8] = work;
    for plane in found.iter_mut() {
        let Some(stream) = reader.read()? else { break };
        let (decoded, remaining) = rest.split_at_checked(length(&stream, keeps_runs)).ok_or_else(out_of_scratch)?;
        *plane = if let Stream::Raw(stored) = stream { stored } else { decoded };
        rest = remaining;
    }
    // The only stream contains all planes, one after the other.
    if streams.count == 1 {
        let [all, ..] = *found;
        if keeps_runs {
            *found = [all; WIDEST];
        } else {
            let count = all.len().wrapping_shr(width.trailing_zeros());
            let planes = found.get_mut(..width).and_then(|planes| cut_planes(all, count, planes));
            planes.ok_or_else(out_of_scratch)?;
        }
    }
    Ok(keeps_runs)
}

/// Returns whether the blocks of the chunk are those of the array; all known writers make them so.
pub(super) fn has_its_blocks(chunk: &Chunk<'_>, grid: &Grid) -> bool {
    chunk.block_size() == Some(grid.block_bytes())
}

/// Returns the element width of a chunk whose only filter is a shuffle that can be undone element by element, as
/// elements are written to the destination.
pub(super) fn plane_width(chunk: &Chunk<'_>, grid: &Grid) -> Option<usize> {
    if chunk.content != Content::Compressed {
        return None;
    }
    let mut filters = chunk.steps();
    let width = match (filters.next(), filters.next()) {
        (Some(filter), None) if filter.id == SHUFFLE => filter.width,
        (None, _) if !chunk.is_split() => 1,
        _ => return None,
    };
    // Elements of the array, and therefore its blocks and chunks, begin and end with whole elements of the shuffle.
    let is_known = matches!(width, 1 | 2 | 4 | 8 | 16);
    let is_whole = is_known && grid.item_size & to_u64(width).wrapping_sub(1) == 0;
    let is_split_so = !chunk.is_split() || usize::from(chunk.typesize) == width;
    (is_whole && is_split_so).then_some(width)
}
