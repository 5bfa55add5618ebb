//! The chunks after the dimensions. The same walk finds the data and lists the chunks.
//!
//! Chunks are visited one by one, so a file that is fetched in parts can be opened regardless of their number. The
//! state between calls fits into a few words.
#![forbid(unsafe_code)]

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{DimensionHeader, INDEX, TensFile, fail, stop};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{ParseContext, ParseResult, Walk};
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::error::{Error, ErrorKind};
use crate::types::Layout;

/// Section "Variable chunks". The size includes the head.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ChunkHead {
    magic: [u8; 8],
    size: U64,
}

pub(super) const HEAD: u64 = 16;
/// The offset of the size in a chunk.
pub(super) const SIZE_AT: u64 = 8;
const SYMMETRY: [u8; 8] = *b"SYMMETRY";
pub(super) const DENSE: [u8; 8] = *b"DENSDATA";

/// Symmetry flag: this symmetry packs the data.
const PK: u8 = 1;

/// The size in bytes of a symmetry chunk before the operation: the head, the flags and the length of the operation.
const SYMMETRY_HEAD: u64 = 18;

/// A chunk of a TENS file.
#[derive(Clone, Copy, Debug)]
pub struct TensChunk<'a> {
    /// The kind of the chunk: `SYMMETRY`, `DENSDATA`, or eight bytes unknown to this library.
    pub magic: [u8; 8],
    /// The extent of the chunk in the file, including its head of 16 bytes.
    pub extent: Extent,
    symmetry: Option<Symmetry<'a>>,
}

impl<'a> TensChunk<'a> {
    /// Returns the symmetry of a symmetry chunk.
    #[must_use]
    pub const fn symmetry(&self) -> Option<Symmetry<'a>> {
        self.symmetry
    }
}

/// A permutation of the indices, with an operation on the elements, under which the tensor is invariant.
#[derive(Clone, Copy, Debug)]
pub struct Symmetry<'a> {
    flags: u8,
    operation: &'a [u8],
    map: &'a [u8],
    dimensions: &'a [DimensionHeader],
    /// True if the permutation is ambiguous because dimensions share names.
    is_unclear: bool,
}

impl<'a> Symmetry<'a> {
    /// Returns whether the data omits elements that follow from others by this symmetry.
    #[must_use]
    pub const fn is_packed(&self) -> bool {
        self.flags & PK != 0
    }

    /// Returns the operation, such as `x`, `-x`, `conj(x)`: free text of unspecified encoding.
    #[must_use]
    pub const fn operation(&self) -> &'a [u8] {
        self.operation
    }

    /// Returns the index names in their permuted order, one byte per dimension; `bacd` exchanges the first two.
    #[must_use]
    pub const fn map(&self) -> &'a [u8] {
        self.map
    }

    /// Returns the dimension whose index moves to position `place`. Returns `None` if `place` is past the last
    /// dimension, or if dimensions share names, which makes the permutation ambiguous. Searches the dimensions
    /// linearly, 256 at most: among more dimensions, some share names.
    #[must_use]
    pub fn source_of(&self, place: u32) -> Option<u32> {
        if self.is_unclear {
            return None;
        }
        let name = self.map.get(usize::try_from(place).ok()?)?;
        self.dimensions.iter().zip(0..).find(|(dimension, _)| dimension.name == *name).map(|(_, at)| at)
    }
}

/// An iterator over the chunks of a TENS file. See [`TensFile::chunks`].
#[derive(Clone, Debug)]
pub struct TensChunks<'a> {
    file: TensFile<'a>,
    /// The position of the next chunk; `None` after the last.
    at: Option<u64>,
    error: Option<Error>,
}

impl<'a> TensChunks<'a> {
    pub(super) fn new(file: &TensFile<'a>) -> Self {
        let at = if file.has_chunks { Some(to_u64(file.head.len())) } else { None };
        Self { file: *file, at, error: None }
    }

    /// Returns why the iterator ended early: a chunk is not in memory, or has changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }
}

impl<'a> Iterator for TensChunks<'a> {
    type Item = TensChunk<'a>;

    fn next(&mut self) -> Option<TensChunk<'a>> {
        let at = self.at.take()?;
        // Pairs have no chunk head.
        if self.file.layout == Layout::IndexValue && at.saturating_add(INDEX) >= self.file.data.offset {
            return None;
        }
        let mut memory = Memory::of([0; 3]);
        memory.packed = u32::from(self.file.layout == Layout::Packed);
        let opening = ParseContext::of(self.file.input);
        match read(&self.file, &opening, at, &mut memory) {
            Ok(chunk) => {
                self.at = if chunk.magic == DENSE { None } else { chunk.extent.end() };
                Some(chunk)
            }
            Err(stop) => {
                let error = opening.error(stop);
                self.error = Some(match error.kind() {
                    kind @ ErrorKind::NotInMemory => fail(kind, Part::Chunk, error.offset().unwrap_or(at)),
                    _ => error,
                });
                None
            }
        }
    }
}

/// Returns whether the data position holds a chunk of a known kind.
pub(super) fn begins_with_known(file: &TensFile<'_>, opening: &ParseContext<'_>, volume: u64) -> ParseResult<bool> {
    /// A flag in the memory of the walk: no known chunk.
    const NONE: u64 = 1 << 62;
    let mut walk = opening.walk();
    if walk.at == 0 {
        let start = Extent::new(file.data.offset, 8);
        let is_known =
            start.is_within(file.input.length()) && [&SYMMETRY[..], &DENSE].contains(&opening.transient(start)?);
        walk.at = start.offset;
        walk.memory = [if is_known { 0 } else { NONE }, 0, volume];
        opening.set_walk(walk);
    }
    let [state, ..] = walk.memory;
    Ok(state & NONE == 0)
}

/// Returns the number of elements, if an earlier call has reached the chunks and has therefore passed all preceding
/// checks.
pub(super) fn known_volume(opening: &ParseContext<'_>) -> Option<u64> {
    let Walk { at, memory: [.., volume] } = opening.walk();
    if at == 0 { None } else { Some(volume) }
}

/// The state of a walk, in the words that a source keeps for it.
#[derive(Clone, Copy)]
struct Memory {
    warnings: u32,
    /// The number of symmetries that pack the data.
    packed: u32,
    /// The length of the data, once it is found.
    data_length: Option<u64>,
    /// The number of padding bytes at the end of the data chunk that have not been checked yet.
    padding: u8,
}

impl Memory {
    const FOUND: u64 = 1 << 63;

    fn of(words: [u64; 3]) -> Self {
        let [state, length, _] = words;
        Self {
            warnings: u32::try_from(state & u64::from(u32::MAX)).unwrap_or(0),
            packed: u32::try_from(state >> 32 & 0xffff).unwrap_or(0),
            data_length: if state & Self::FOUND == 0 { None } else { Some(length) },
            padding: u8::try_from(state >> 48 & 7).unwrap_or(0),
        }
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings |= warning.bit();
    }

    fn words(self, volume: u64) -> [u64; 3] {
        let found = if self.data_length.is_some() { Self::FOUND } else { 0 };
        let packed = u64::from(self.packed.min(0xffff)) << 32;
        let padding = u64::from(self.padding) << 48;
        [found | padding | packed | u64::from(self.warnings), self.data_length.unwrap_or(0), volume]
    }
}

/// Walks and checks the chunks, and sets the extent of the data of `file`.
pub(super) fn find_data(file: &mut TensFile<'_>, opening: &ParseContext<'_>, volume: u64) -> ParseResult<()> {
    let mut walk = opening.walk();
    if walk.at == 0 {
        walk.at = file.data.offset;
    }
    let mut memory = Memory::of(walk.memory);
    memory.warnings |= file.warnings;
    while memory.data_length.is_none() {
        (walk.at, memory) = step(file, opening, volume, walk.at, memory)?;
        walk.memory = memory.words(volume);
        opening.set_walk(walk);
    }
    file.data = Extent::new(walk.at, memory.data_length.unwrap_or(0));
    if memory.padding > 0 {
        let at = file.data.end().unwrap_or(u64::MAX);
        if opening.transient(Extent::new(at, memory.padding.into()))?.iter().any(|byte| *byte != 0) {
            memory.warn(Warning::ReservedBytes);
        }
        memory.padding = 0;
        walk.memory = memory.words(volume);
        opening.set_walk(walk);
    }
    file.warnings = memory.warnings;
    if file.layout == Layout::Dense && memory.packed > 0 {
        file.layout = Layout::Packed;
    }
    Ok(())
}

/// Steps over the chunk or the data at `at`. Returns the new position and the new state of the walk.
fn step(
    file: &TensFile<'_>,
    opening: &ParseContext<'_>,
    volume: u64,
    at: u64,
    mut memory: Memory,
) -> ParseResult<(u64, Memory)> {
    let length = file.input.length();
    let rest = length.saturating_sub(at);
    if rest == 0 {
        return Err(stop(opening, ErrorKind::MissingData, Part::Data, at));
    }
    if file.layout == Layout::IndexValue {
        if rest < INDEX {
            return Err(stop(opening, ErrorKind::Truncated, Part::Pairs, length));
        }
        let start = opening.transient(Extent::new(at, INDEX))?;
        // The pairs have no magic. Unlike a magic, their count is not ASCII text: eight printable bytes as a number
        // would be more than 2^61 pairs.
        if !start.iter().all(|byte| matches!(byte, 0x20..=0x7e)) {
            let data = pairs(file, opening, U64::read_from_bytes(start).unwrap_or_default().get(), at, volume)?;
            return found(file, data, data.end().unwrap_or(length), memory);
        }
    }
    let chunk = read(file, opening, at, &mut memory)?;
    if let Some(symmetry) = chunk.symmetry {
        memory.packed = memory.packed.saturating_add(u32::from(symmetry.is_packed()));
    }
    let end = chunk.extent.end().unwrap_or(length).min(length);
    if chunk.magic != DENSE {
        return Ok((end, memory));
    }
    let data_at = at.saturating_add(HEAD);
    let data = match memory.packed {
        0 => Extent::new(data_at, volume.saturating_mul(file.dtype.byte_size())),
        // The specification does not say how the elements are packed, so the whole chunk may be elements.
        1 => {
            memory.warn(Warning::OpaqueOrder);
            Extent::new(data_at, chunk.extent.length.saturating_sub(HEAD))
        }
        // The specification: "only index-value storage is supported".
        _ => return Err(stop(opening, ErrorKind::UnexpectedData, Part::Data, at)),
    };
    // A chunk that is too long already has its warning.
    let padding = data.end().and_then(|data_end| u8::try_from(end.checked_sub(data_end)?).ok());
    memory.padding = padding.filter(|padding| *padding < 8).unwrap_or(0);
    found(file, data, end, memory)
}

/// Records the data that has been found, in a chunk or block that ends at `end`.
fn found(file: &TensFile<'_>, data: Extent, end: u64, mut memory: Memory) -> ParseResult<(u64, Memory)> {
    if end < file.input.length() {
        memory.warn(Warning::TrailingBytes);
    }
    memory.data_length = Some(data.length);
    Ok((data.offset, memory))
}

/// Returns the extent of `count` pairs. Their count is at `at` (section "Index-value storage").
fn pairs(file: &TensFile<'_>, opening: &ParseContext<'_>, count: u64, at: u64, volume: u64) -> ParseResult<Extent> {
    if count > volume {
        return Err(stop(opening, ErrorKind::TooManyPairs, Part::Pairs, at));
    }
    let start = at.saturating_add(INDEX);
    let extent = count.checked_mul(file.pair_size()).map(|length| Extent::new(start, length));
    let extent = extent.filter(|extent| extent.is_within(file.input.length()));
    extent.ok_or_else(|| stop(opening, ErrorKind::OutOfFile, Part::Pairs, at))
}

/// Returns `n` rounded up to a multiple of 8; `None` if the result exceeds 64 bits.
fn align8(n: u64) -> Option<u64> {
    n.checked_add(7).map(|n| n & !7)
}

/// Reads the chunk at `at`. Checks its size and, for a symmetry, its contents.
fn read<'a>(
    file: &TensFile<'a>,
    opening: &ParseContext<'a>,
    at: u64,
    memory: &mut Memory,
) -> ParseResult<TensChunk<'a>> {
    let length = file.input.length();
    let rest = length.saturating_sub(at);
    if rest < HEAD {
        return Err(stop(opening, ErrorKind::Truncated, Part::Chunk, length));
    }
    let Ok(&ChunkHead { magic, size }) = ChunkHead::ref_from_bytes(opening.transient(Extent::new(at, HEAD))?) else {
        return Err(stop(opening, ErrorKind::Truncated, Part::Chunk, length)); // 16 bytes were requested
    };
    let size = size.get();
    let refused = |kind| stop(opening, kind, Part::Chunk, at.saturating_add(SIZE_AT));
    if size < HEAD {
        return Err(refused(ErrorKind::ChunkSize));
    }
    let mut chunk = TensChunk { magic, extent: Extent::new(at, size), symmetry: None };
    if magic == DENSE {
        if file.layout == Layout::IndexValue {
            return Err(stop(opening, ErrorKind::UnexpectedData, Part::Data, at));
        }
        check_dense(file, size, rest, memory).map_err(refused)?;
        return Ok(chunk);
    }
    if size > rest {
        return Err(refused(ErrorKind::OutOfFile));
    }
    if size & 7 != 0 {
        // The specification says "multiples of 4" in one sentence, and multiples of 8 in three.
        if size & 3 != 0 {
            return Err(refused(ErrorKind::ChunkSize));
        }
        memory.warn(Warning::ChunkLength);
    }
    if magic == SYMMETRY {
        chunk.symmetry = Some(symmetry(file, opening, chunk.extent, memory)?);
    }
    Ok(chunk)
}

/// Compares the size of a data chunk with the size that shape and dtype require, rounded up to 8. With a warning, the
/// size may also be unrounded, larger, or lack the padding at the end of the file. Packed data may have any size.
fn check_dense(file: &TensFile<'_>, size: u64, rest: u64, memory: &mut Memory) -> Result<(), ErrorKind> {
    if memory.packed > 0 {
        return if size > rest { Err(ErrorKind::OutOfFile) } else { Ok(()) };
    }
    let payload = file.shape().element_count().and_then(|volume| volume.checked_mul(file.dtype.byte_size()));
    let least = payload.and_then(|payload| payload.checked_add(HEAD)).ok_or(ErrorKind::ShapeOverflow)?;
    let padded = align8(least).ok_or(ErrorKind::ShapeOverflow)?;
    if size < least {
        return Err(ErrorKind::SizeMismatch);
    }
    if size > rest && (size != padded || least > rest) {
        return Err(ErrorKind::OutOfFile);
    }
    if size != padded || size > rest {
        if size != least && size & 3 != 0 {
            return Err(ErrorKind::ChunkSize);
        }
        memory.warn(Warning::ChunkLength);
    }
    Ok(())
}

/// Reads and checks a symmetry (section "Symmetry chunk").
fn symmetry<'a>(
    file: &TensFile<'a>,
    opening: &ParseContext<'a>,
    extent: Extent,
    memory: &mut Memory,
) -> ParseResult<Symmetry<'a>> {
    let dimensions = file.headers().as_slice();
    let order = to_u64(dimensions.len());
    // The size of a symmetry chunk with the longest operation and its padding.
    let longest = SYMMETRY_HEAD.saturating_add(u64::from(u8::MAX)).saturating_add(order).saturating_add(7);
    let bytes = opening.transient(Extent::new(extent.offset, extent.length.min(longest)))?;
    let too_short = || stop(opening, ErrorKind::ChunkSize, Part::Symmetry, extent.offset.saturating_add(SIZE_AT));
    let parts = bytes.split_at_checked(18).and_then(|(head, rest)| {
        let [.., flags, length] = *head else { return None };
        let (operation, rest) = rest.split_at_checked(usize::from(length))?;
        let (map, padding) = rest.split_at_checked(dimensions.len())?;
        Some((Symmetry { flags, operation, map, dimensions, is_unclear: false }, padding))
    });
    let (mut symmetry, padding) = parts.ok_or_else(too_short)?;
    let used = SYMMETRY_HEAD.saturating_add(to_u64(symmetry.operation.len())).saturating_add(order);
    let padded = align8(used).unwrap_or(used);
    if extent.length > padded {
        memory.warn(Warning::ChunkLength);
    }
    let padding = padding.get(..to_usize(padded.saturating_sub(used)).unwrap_or(0)).unwrap_or(padding);
    if symmetry.flags & !PK != 0 || padding.iter().any(|byte| *byte != 0) {
        memory.warn(Warning::ReservedBytes);
    }
    let checked = is_unclear(dimensions.iter(), symmetry.map.iter());
    symmetry.is_unclear = checked.map_err(|kind| stop(opening, kind, Part::Symmetry, extent.offset))?;
    if symmetry.is_unclear || symmetry.operation.is_empty() {
        memory.warn(Warning::UnclearSymmetry);
    }
    Ok(symmetry)
}

/// Checks the map of a symmetry. Returns whether the permutation is ambiguous because dimensions share names. Visits
/// the dimensions at most 17 times and the map at most 9 times, for any names.
///
/// # Errors `UnknownIndexName` for a name that no dimension has; `NotPermutation` if a name occurs more or less often
/// than dimensions have it, or if indices of different lengths would change places.
fn is_unclear<'d>(
    dimensions: impl Iterator<Item = &'d DimensionHeader> + Clone,
    mut map: impl Iterator<Item = &'d u8> + Clone,
) -> Result<bool, ErrorKind> {
    let (mut known, mut shared, mut used) = (Names::default(), Names::default(), Names::default());
    for dimension in dimensions.clone() {
        if !known.insert(dimension.name) {
            shared.insert(dimension.name);
        }
    }
    let mut is_permutation = true;
    // One word of the set at a time: counters for all 256 names would take a kilobyte of stack.
    for (word, _) in known.0.iter().enumerate().filter(|(_, names)| **names != 0) {
        // For a shared name, the number of dimensions that have it; for any other name, the length of its dimension.
        let mut numbers = [0_u32; 32];
        for dimension in dimensions.clone() {
            if let Some(number) = number_of(&mut numbers, word, dimension.name) {
                *number =
                    if shared.contains(dimension.name) { number.saturating_add(1) } else { dimension.length.get() };
            }
        }
        let map = map.clone().take_while(|name| known.contains(**name));
        for (name, dimension) in map.zip(dimensions.clone()) {
            let Some(number) = number_of(&mut numbers, word, *name) else { continue };
            if shared.contains(*name) {
                is_permutation &= *number > 0;
                *number = number.saturating_sub(1);
            } else if !used.insert(*name) || *number != dimension.length.get() {
                return Err(ErrorKind::NotPermutation);
            }
        }
    }
    if !map.all(|name| known.contains(*name)) {
        return Err(ErrorKind::UnknownIndexName);
    }
    // The map has one name per dimension: if no name occurs too often, none is missing.
    if is_permutation { Ok(!shared.is_empty()) } else { Err(ErrorKind::NotPermutation) }
}

/// Returns the counter of a name, if the name is in word `word` of a set.
fn number_of(numbers: &mut [u32; 32], word: usize, name: u8) -> Option<&mut u32> {
    if Names::place(name).0 == word { numbers.get_mut(usize::from(name & 31)) } else { None }
}

/// A set of index names.
#[derive(Default)]
struct Names([u32; 8]);

impl Names {
    /// Returns the word that contains a name, and the name's bit in that word.
    fn place(name: u8) -> (usize, u32) {
        (usize::from(name >> 5), 1_u32.wrapping_shl(u32::from(name & 31)))
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; 8]
    }

    fn contains(&self, name: u8) -> bool {
        let (word, bit) = Self::place(name);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds a name; returns `false` if the set already contains it.
    fn insert(&mut self, name: u8) -> bool {
        let (word, bit) = Self::place(name);
        let is_new = !self.contains(name);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::vec::Vec;

    use super::*;

    /// Returns the number of visits to dimensions and map names if `is_unclear` has to visit all of them.
    fn steps(names: &[u8]) -> u32 {
        let length = 1.into();
        let headers = names.iter().map(|name| DimensionHeader { length, name: *name, flags: 0, reserved: 0.into() });
        let headers: Vec<_> = headers.collect();
        let steps = Cell::new(0);
        let count = || steps.set(steps.get() + 1);
        let verdict = is_unclear(headers.iter().inspect(|_| count()), names.iter().inspect(|_| count()));
        assert_eq!(verdict, Ok(true));
        steps.get()
    }

    /// Ten dimensions per name. Either all names are shared, or only the first.
    #[test]
    fn symmetries_of_many_names_take_no_step_more() {
        for is_all_shared in [true, false] {
            let steps = |names: usize| {
                let rank = |i: usize| if is_all_shared { i % names } else { i.saturating_sub(names * 9) };
                steps(&(0..names * 10).map(|i| (rank(i) * 256 / names) as u8).collect::<Vec<_>>())
            };
            for names in [32, 64, 128] {
                let (few, many) = (steps(names), steps(names * 2));
                assert!(many * 10 <= few * 22, "{few} {many}");
            }
        }
    }
}
