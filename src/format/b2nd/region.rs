//! Reading: any hyper-rectangle of an array, from only those blocks that it touches, each straight into place.
//!
//! Depends on `error`, `bytes`, `codec`, `decode`, and on the rest of the format.
//!
//! ```text
//! array    chunks, row-major; those at its end reach beyond it
//! chunk    blocks, row-major; those at its end reach beyond it
//! block    elements, row-major
//! ```
//!
//! What reaches beyond is padding that nobody sees. A frame without an array is read as one of bytes.
#![forbid(unsafe_code)]

use super::array::count_of;
use super::block::Stream;
use super::chunk::{Chunk, Content, SHUFFLE, repeat};
use super::grid::{Area, Grid, Index, each, place_of};
use super::{File, MAX_RANK};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::shuffle::{Planes, WIDEST, copy, interleave, planes_of};
use crate::decode::Decoder;
use crate::error::{ErrorKind, Item, Result};

/// What to read, and where to.
struct Reader<'d, 'r> {
    decoder: &'d mut dyn Decoder,
    grid: Grid,
    is_array: bool,
    wanted: Area,
    room: &'r mut [u8],
}

/// Bytes of a block or of a chunk, in whatever way they are at hand.
enum View<'v> {
    /// One after the other.
    Bytes(&'v [u8]),
    /// A value again and again, from the start of the chunk on, and where in the chunk this begins.
    Value(&'v [u8], u64),
    /// The bytes of elements of that width, in planes.
    Planes(usize, &'v Planes<'v>),
}

impl View<'_> {
    /// Writes what stands `from` bytes in to all of `room`; `None` where there is less.
    fn write(&self, from: u64, room: &mut [u8]) -> Option<()> {
        match self {
            View::Bytes(bytes) => copy(room, Extent::new(from, to_u64(room.len())).of(bytes, 0)?),
            View::Value(value, start) => repeat(value, start.saturating_add(from), room),
            View::Planes(width, planes) => {
                // A power of two: the region begins and ends with whole elements.
                let element = to_usize(from)?.checked_shr(width.trailing_zeros())?;
                let count = room.len().checked_shr(width.trailing_zeros())?;
                let mut part: Planes<'_> = [&[]; WIDEST];
                for (part, plane) in part.iter_mut().zip(*planes).take(*width) {
                    *part = plane.get(element..)?.get(..count)?;
                }
                interleave(*width, &part, room);
            }
        }
        Some(())
    }
}

impl<'a> File<'a> {
    /// How many bytes [`read_region`](Self::read_region) writes.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`; `ShapeOverflow` beyond 64 bits.
    pub fn region_len(&self, start: &[u64], stop: &[u64]) -> Result<u64> {
        let grid = Grid::of(self);
        grid.bytes(&grid.area(start, stop)?).ok_or_else(|| self.error(ErrorKind::ShapeOverflow))
    }

    /// How much scratch memory [`read_region`](Self::read_region) needs to be fast, in bytes. Reads the headers of the
    /// chunks that the region touches, since each may be of another kind. Where there are so many of them that
    /// looking them up without memory takes long, what would be enough for any.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`; what is wrong with the chunks.
    pub fn scratch_len(&self, start: &[u64], stop: &[u64]) -> Result<u64> {
        let grid = Grid::of(self);
        let area = grid.area(start, stop)?;
        if area.is_empty(grid.rank) {
            return Ok(0);
        }
        let mut offsets = self.offsets()?;
        let (memory, mut largest) = offsets.memory();
        let all_chunks = self.each_chunk(&grid, &area, |index, _| {
            let chunk = self.chunk_at(&mut offsets, &mut BuiltIn, index, &mut [], &mut [])?;
            largest = largest.max(work_len(&chunk, &grid, self.is_array()));
            Ok(chunk.decoded_length())
        });
        match all_chunks {
            Ok(()) => Ok(memory.saturating_add(largest)),
            // A block is no larger than its chunk, and takes the room of three.
            Err(error) if error.kind() == ErrorKind::OutOfScratch => {
                Ok(self.largest_chunk().saturating_mul(3).saturating_add(memory).saturating_add(largest))
            }
            Err(error) => Err(error),
        }
    }

    /// The elements from index `start` up to, but without index `stop`, to the front of `room`, row-major, as they
    /// are stored: in the byte order that the dtype states. The part written. In a frame without an array elements are
    /// bytes.
    ///
    /// `room` has at least [`region_len`](Self::region_len) bytes, `scratch` [`scratch_len`](Self::scratch_len); with
    /// less it may do, if more slowly. Decodes the blocks that the region touches, each once.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`, `TooSmall`: nothing is written then. `OutOfScratch`; `UnsupportedCodec`,
    /// `UnsupportedFilter`; what is wrong with a chunk, `NotInMemory`: `room` holds nothing of use then, but other
    /// regions can be read.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/b2nd/good/many_tiny_chunks_0.b2nd");
    /// let file = tenslice::File::open(bytes)?;
    /// let array = file.as_b2nd().ok_or("another format")?;
    /// let mut stop: Vec<u64> = array.shape().iter().collect();
    /// stop[0] = stop[0].min(1); // the first row alone
    /// let start = vec![0; stop.len()];
    /// let mut room = vec![0; array.region_len(&start, &stop)? as usize];
    /// let mut scratch = vec![0; array.scratch_len(&start, &stop)? as usize];
    /// let row = array.read_region(&start, &stop, &mut room, &mut scratch)?;
    /// println!("{} bytes of dtype {:?}", row.len(), array.dtype_text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_region<'r>(
        &self,
        start: &[u64],
        stop: &[u64],
        room: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        self.read_region_by(&mut BuiltIn, start, stop, room, scratch)
    }

    /// The same by a decoder of the caller's, which is asked for Zstandard and zlib.
    ///
    /// # Errors
    /// Those of [`read_region`](Self::read_region).
    pub fn read_region_by<'r>(
        &self,
        decoder: &mut dyn Decoder,
        start: &[u64],
        stop: &[u64],
        room: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let grid = Grid::of(self);
        let wanted = grid.area(start, stop)?;
        let length = grid.bytes(&wanted).ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let room = to_usize(length).and_then(|length| room.get_mut(..length));
        let room = room.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        if room.is_empty() {
            return Ok(room);
        }
        let mut offsets = self.offsets()?;
        let (memory, _) = offsets.memory();
        // At the end of the scratch memory, if it has the room.
        let has_room = offsets.memory_len() <= to_u64(scratch.len());
        let mut table = if has_room { to_usize(memory).unwrap_or(0) } else { 0 };
        let mut reader = Reader { decoder, grid, is_array: self.is_array(), wanted, room };
        self.each_chunk(&grid, &wanted, |index, corner| {
            let work = scratch.len().saturating_sub(table);
            let (work, memory) = scratch.split_at_mut_checked(work).unwrap_or_default();
            let chunk = self.chunk_at(&mut offsets, reader.decoder, index, memory, work)?;
            let length = chunk.decoded_length();
            let needed = work_len(&chunk, &grid, self.is_array());
            // The chunk needs the memory more than the table does.
            if needed > to_u64(work.len()) {
                table = 0;
                offsets.forget();
            }
            let work = to_usize(needed).and_then(|needed| scratch.get_mut(..needed));
            let work = work.ok_or_else(|| chunk.error(ErrorKind::OutOfScratch, Item::Chunk, 0))?;
            reader.chunk(&chunk, corner, work)?;
            Ok(length)
        })?;
        Ok(reader.room)
    }

    /// Calls `f` with the index and the corner of each chunk that the area touches, which returns the bytes of the
    /// chunk. Where chunks are of different lengths all of them are looked at, up to the last that is touched.
    fn each_chunk(&self, grid: &Grid, area: &Area, mut f: impl FnMut(u64, &Index) -> Result<u64>) -> Result<()> {
        if self.chunksize() > 0 {
            let touched = area.parts(&grid.chunk);
            let counts = each(&grid.shape, &grid.chunk, count_of);
            let mut at = touched.low;
            loop {
                let corner = each(&at, &grid.chunk, u64::saturating_mul);
                f(place_of(&at, &counts, grid.rank), &corner)?;
                if !touched.advance(&mut at, grid.rank) {
                    return Ok(());
                }
            }
        }
        let [high, ..] = area.high;
        let mut corner: Index = [0; MAX_RANK];
        for index in 0..self.chunk_count() {
            let at = corner.first().copied().unwrap_or(0);
            if at >= high {
                break;
            }
            let length = f(index, &corner)?;
            corner = each(&corner, &[length; MAX_RANK], u64::saturating_add);
        }
        // They add up to what the frame says.
        let [end, ..] = corner;
        if end >= high { Ok(()) } else { Err(self.error(ErrorKind::ChunkGrid)) }
    }
}

impl Reader<'_, '_> {
    /// Writes what is wanted of a chunk. `work` has what [`work_len`] says.
    fn chunk(&mut self, chunk: &Chunk<'_>, corner: &Index, work: &mut [u8]) -> Result<()> {
        let mut shape = self.grid.chunk;
        let mut block = self.grid.block;
        if !self.is_array {
            shape = [chunk.decoded_length(); MAX_RANK];
            block = [chunk.block_size().unwrap_or(0); MAX_RANK];
        }
        let area = self.wanted.within(corner, &shape);
        if area.is_empty(self.grid.rank) {
            return Ok(()); // one on the way to those that are wanted
        }
        let value = chunk.value();
        let has_one_value = to_u64(value.len());
        let is_everywhere = !self.is_array || self.grid.item_size.checked_rem(has_one_value) == Some(0);
        match chunk.content {
            Content::VariableBlocks => return self.variable_blocks(chunk, corner, &area, work),
            Content::Copied if !self.is_array => {
                return self.rows(chunk, &area, corner, &shape, &View::Bytes(chunk.payload()));
            }
            Content::Zeros | Content::Nans | Content::Value | Content::Uninitialised if is_everywhere => {
                return self.rows(chunk, &area, corner, &shape, &View::Value(value, 0));
            }
            _ => {}
        }
        let size = self.grid.block_bytes();
        let foreign = self.is_array && chunk.content == Content::Compressed && !has_its_blocks(chunk, &self.grid);
        let has_first = chunk.content == Content::Compressed && chunk.has_delta();
        let ahead = match (foreign, has_first) {
            (true, _) => chunk.decoded_length(),
            (false, true) => chunk.block_length(0)?,
            (false, false) => 0,
        };
        let ahead = to_usize(ahead).and_then(|ahead| work.split_at_mut_checked(ahead));
        let (ahead, work) = ahead.ok_or_else(|| chunk.error(ErrorKind::OutOfScratch, Item::Chunk, 0))?;
        if foreign {
            chunk.decode_blocks(self.decoder, ahead, work)?;
        } else if has_first {
            chunk.decode_block(self.decoder, 0, None, ahead, work)?;
        }
        let counts = each(&shape, &block, count_of);
        let touched = area.from(corner).parts(&block);
        let mut at = touched.low;
        loop {
            let origin = each(&each(&at, &block, u64::saturating_mul), corner, u64::saturating_add);
            // What lies beyond the chunk is the next one's.
            let part = area.within(&origin, &block);
            let index = place_of(&at, &counts, self.grid.rank);
            let start = index.saturating_mul(size);
            let bytes = |bytes| Extent::new(start, size).of(bytes, 0).unwrap_or_default();
            match chunk.content {
                Content::Copied => self.rows(chunk, &part, &origin, &block, &View::Bytes(bytes(chunk.payload())))?,
                Content::Compressed if foreign => {
                    self.rows(chunk, &part, &origin, &block, &View::Bytes(bytes(ahead)))?;
                }
                Content::Compressed => {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    let first = Some(&*ahead).filter(|first| !first.is_empty());
                    self.block(chunk, index, first, &part, &origin, &block, work)?;
                }
                _ => self.rows(chunk, &part, &origin, &block, &View::Value(value, start))?,
            }
            if !touched.advance(&mut at, self.grid.rank) {
                return Ok(());
            }
        }
    }

    /// Writes what is wanted of block `index` of a compressed chunk. `first` is the first block, where others are
    /// differences to it.
    #[allow(clippy::too_many_arguments)]
    fn block(
        &mut self,
        chunk: &Chunk<'_>,
        index: u32,
        first: Option<&[u8]>,
        part: &Area,
        origin: &Index,
        block: &Index,
        work: &mut [u8],
    ) -> Result<()> {
        if let (Some(first), 0) = (first, index) {
            return self.rows(chunk, part, origin, block, &View::Bytes(first));
        }
        if let Some(width) = plane_width(chunk, &self.grid) {
            let planes = planes(self.decoder, chunk, index, width, work)?;
            let [only, ..] = planes;
            let view = if width == 1 { View::Bytes(only) } else { View::Planes(width, &planes) };
            return self.rows(chunk, part, origin, block, &view);
        }
        let out_of_scratch = || chunk.error(ErrorKind::OutOfScratch, Item::Block, 0);
        let length = to_usize(chunk.block_length(index)?).ok_or_else(out_of_scratch)?;
        let (decoded, work) = work.split_at_mut_checked(length).ok_or_else(out_of_scratch)?;
        let rows = Rows::of(&self.grid, &self.wanted, part, origin, block);
        // All of it in one piece is decoded where it is wanted.
        if let (true, Some(room)) = (rows.outer == 0 && rows.length == length, rows.only(self.room)) {
            return chunk.decode_block(self.decoder, index, first, room, work);
        }
        chunk.decode_block(self.decoder, index, first, decoded, work)?;
        self.rows(chunk, part, origin, block, &View::Bytes(decoded))
    }

    /// Writes what is wanted of a chunk whose blocks are of different lengths: one of bytes.
    fn variable_blocks(&mut self, chunk: &Chunk<'_>, corner: &Index, area: &Area, work: &mut [u8]) -> Result<()> {
        let mut origin = *corner;
        for index in 0..chunk.block_count() {
            let length = [chunk.block_length(index)?; MAX_RANK];
            let part = area.within(&origin, &length);
            if !part.is_empty(self.grid.rank) {
                self.block(chunk, index, None, &part, &origin, &length, work)?;
            }
            origin = each(&origin, &length, u64::saturating_add);
        }
        Ok(())
    }

    /// Writes `part`, which is wanted, from a view of what lies from `origin` on and is of the shape `shape`.
    fn rows(&mut self, chunk: &Chunk<'_>, part: &Area, origin: &Index, shape: &Index, view: &View<'_>) -> Result<()> {
        let rows = Rows::of(&self.grid, &self.wanted, part, origin, shape);
        rows.write(view, self.room).ok_or_else(|| chunk.error(ErrorKind::ChunkGrid, Item::Block, 0))
    }
}

/// The pieces of an area that lie in one piece both where they come from and where they go to.
struct Rows<'r> {
    grid: &'r Grid,
    wanted: &'r Area,
    part: &'r Area,
    origin: &'r Index,
    shape: &'r Index,
    /// Bytes of a piece.
    length: usize,
    /// The outer dimensions, which they differ in.
    outer: usize,
}

impl<'r> Rows<'r> {
    fn of(grid: &'r Grid, wanted: &'r Area, part: &'r Area, origin: &'r Index, shape: &'r Index) -> Self {
        let (mut outer, mut length) = (grid.rank, grid.item_size);
        let sides = part.lengths(grid.rank).zip(wanted.lengths(grid.rank).zip(shape));
        let mut inner = [(0, false); MAX_RANK];
        for (to, (part, (wanted, shape))) in inner.iter_mut().zip(sides) {
            *to = (part, part == *shape && part == wanted);
        }
        // Up to and with the first dimension from the end of which not all is taken.
        for (part, is_all) in inner.iter().take(grid.rank).rev() {
            outer = outer.saturating_sub(1);
            length = length.saturating_mul(*part);
            if !is_all {
                break;
            }
        }
        Self { grid, wanted, part, origin, shape, length: to_usize(length).unwrap_or(usize::MAX), outer }
    }

    /// Where the piece at `at` comes from and goes to, in bytes.
    fn places(&self, at: &Index) -> (u64, u64) {
        let Grid { rank, item_size, .. } = *self.grid;
        let wanted = each(&self.wanted.high, &self.wanted.low, u64::saturating_sub);
        let from = place_of(&each(at, self.origin, u64::saturating_sub), self.shape, rank);
        let to = place_of(&each(at, &self.wanted.low, u64::saturating_sub), &wanted, rank);
        (from.saturating_mul(item_size), to.saturating_mul(item_size))
    }

    /// Where the first piece goes to.
    fn only<'m>(&self, room: &'m mut [u8]) -> Option<&'m mut [u8]> {
        let (_, to) = self.places(&self.part.low);
        room.get_mut(to_usize(to)?..)?.get_mut(..self.length)
    }

    fn write(&self, view: &View<'_>, room: &mut [u8]) -> Option<()> {
        let mut at = self.part.low;
        // The innermost of the outer dimensions goes in equal steps.
        let Some(stepped) = self.outer.checked_sub(1) else {
            return view.write(self.places(&at).0, self.only(room)?);
        };
        let mut next = at;
        if let Some(next) = next.get_mut(stepped) {
            *next = next.saturating_add(1);
        }
        let (from, to) = self.places(&at);
        let (next_from, next_to) = self.places(&next);
        let (from_step, to_step) = (next_from.saturating_sub(from), next_to.saturating_sub(to));
        let steps = self.part.lengths(self.grid.rank).nth(stepped)?;
        loop {
            let (mut from, to) = self.places(&at);
            let mut to = to_usize(to)?;
            for _ in 0..steps {
                view.write(from, room.get_mut(to..)?.get_mut(..self.length)?)?;
                from = from.saturating_add(from_step);
                to = to.saturating_add(to_usize(to_step)?);
            }
            if !self.part.advance(&mut at, stepped) {
                return Some(());
            }
        }
    }
}

/// The streams of a block as planes of elements of `width` bytes: those that are stored as they are where they
/// lie, the others decoded to `work`.
fn planes<'v>(
    decoder: &mut dyn Decoder,
    chunk: &Chunk<'v>,
    index: u32,
    width: usize,
    work: &'v mut [u8],
) -> Result<Planes<'v>> {
    let out_of_scratch = || chunk.error(ErrorKind::OutOfScratch, Item::Block, 0);
    let streams = chunk.streams(index)?;
    let mut reader = streams;
    let mut rest = &mut *work;
    while let Some(stream) = reader.read()? {
        let (plane, behind) = rest.split_at_mut_checked(streams.length).ok_or_else(out_of_scratch)?;
        if !matches!(stream, Stream::Raw(_)) {
            chunk.decode_stream(decoder, stream, plane)?;
        }
        rest = behind;
    }
    let mut reader = streams;
    let mut rest: &'v [u8] = work;
    let mut found: Planes<'v> = [&[]; WIDEST];
    for plane in &mut found {
        let Some(stream) = reader.read()? else { break };
        let (decoded, behind) = rest.split_at_checked(streams.length).ok_or_else(out_of_scratch)?;
        *plane = if let Stream::Raw(stored) = stream { stored } else { decoded };
        rest = behind;
    }
    // One stream has all planes, one after the other.
    match found {
        [all, ..] if streams.count == 1 => {
            let count = all.len().wrapping_shr(width.trailing_zeros());
            planes_of(all, width, count).ok_or_else(out_of_scratch)
        }
        _ => Ok(found),
    }
}

/// How much memory a chunk takes beside its destination.
fn work_len(chunk: &Chunk<'_>, grid: &Grid, is_array: bool) -> u64 {
    let blocks = match chunk.content {
        Content::VariableBlocks => chunk.largest_variable_block(),
        Content::Compressed => chunk.block_size().unwrap_or(0),
        _ => return 0,
    };
    // A block, what its shuffles are undone from, and the first block where others are differences to it.
    let is_foreign = is_array && !has_its_blocks(chunk, grid);
    let is_gathered = !is_foreign && plane_width(chunk, grid).is_some();
    let shuffles = if chunk.has_shuffles() && !is_gathered { blocks } else { 0 };
    let first = if chunk.has_delta() && !is_foreign { blocks } else { 0 };
    let decoded = if is_foreign { chunk.decoded_length() } else { blocks };
    decoded.saturating_add(shuffles).saturating_add(first)
}

/// Whether the blocks of the chunk are those of the array, as all known writers have it.
fn has_its_blocks(chunk: &Chunk<'_>, grid: &Grid) -> bool {
    chunk.block_size() == Some(grid.block_bytes())
}

/// The width of the elements of a chunk whose only filter is a shuffle that can be undone on the way to the
/// destination, element by element.
fn plane_width(chunk: &Chunk<'_>, grid: &Grid) -> Option<usize> {
    if chunk.content != Content::Compressed {
        return None;
    }
    let mut filters = chunk.steps();
    let width = match (filters.next(), filters.next()) {
        (Some(filter), None) if filter.id == SHUFFLE => filter.width,
        (None, _) if !chunk.is_split() => 1,
        _ => return None,
    };
    // Elements of the array begin and end with elements of the shuffle, and so does each stream.
    let divides = |bytes: u64| bytes & to_u64(width).wrapping_sub(1) == 0;
    let is_known = matches!(width, 1 | 2 | 4 | 8 | 16);
    let is_whole =
        is_known && divides(grid.item_size) && divides(chunk.block_size()?) && divides(chunk.decoded_length());
    let is_split_so = !chunk.is_split() || usize::from(chunk.typesize) == width;
    (is_whole && is_split_so).then_some(width)
}
