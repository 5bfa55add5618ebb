//! The bytes of a file: one slice, or the few segments that the caller has fetched.
//!
//! The library never reads, seeks or waits. A parser that lacks bytes stops and returns the range it needs; the caller
//! fetches that range and opens again.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::fmt;

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::extent::{Extent, Region};
use super::num::{to_u64, to_usize};
use super::piece::{Piece, PieceList};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};

/// The maximum number of segments in a [`Source`].
pub const MAX_SEGMENTS: usize = 32;

/// The maximum number of long values that a [`Source`] remembers as skipped. Their bytes need not be kept. Only GGUF
/// has such values.
const MAX_SKIPPED: usize = if cfg!(feature = "gguf") { 8 } else { 0 };

/// A range of bytes that must be fetched before a file can be opened. Shorter than 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    /// The range to fetch, entirely inside the file.
    pub extent: Extent,
    /// True if the bytes must stay in place as long as anything opened from the source is used. If `false`, the bytes
    /// may be dropped after the next call has returned.
    pub keep: bool,
}

/// A file of which only some ranges are in memory.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use tenslice::{Extent, File, MAX_SEGMENTS, Opened, Source};
///
/// let mut disk = std::fs::File::open("tests/fixtures/v1.2/dense_all_dtypes.zt")?;
/// let mut fetch = |extent: Extent, buffer: &mut Vec<u8>| {
///     buffer.resize(extent.length as usize, 0);
///     disk.seek(SeekFrom::Start(extent.offset)).and_then(|_| disk.read_exact(buffer))
/// };
///
/// let mut buffers = vec![Vec::new(); MAX_SEGMENTS]; // they outlive the source
/// let mut unused = buffers.iter_mut();
/// let mut source = Source::new(std::fs::metadata("tests/fixtures/v1.2/dense_all_dtypes.zt")?.len());
/// let file = loop {
///     match File::open_source(&source)? {
///         Opened::File(file) => break file,
///         Opened::Need(need) => {
///             let buffer = unused.next().ok_or("too many ranges")?;
///             fetch(need.extent, buffer)?;
///             source.add(need.extent.offset, buffer)?;
///         }
///     }
/// };
///
/// let data = file.find("t.int32")?.data()?;
/// let mut numbers = Vec::new();
/// fetch(data.extent(), &mut numbers)?; // only what is wanted
/// assert_eq!(data.with_bytes(&numbers)?.elements::<i32>()?.len(), 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A range is found only inside a single segment, so add each range exactly as it was requested: the range is then
/// never requested again, and the loop terminates. Ranges that need not be kept ([`Need::keep`]) do not count as
/// segments. A file that is walked from chunk to chunk may request any number of such ranges, one after the other.
#[derive(Clone)]
pub struct Source<'a> {
    segments: Segments<'a>,
    /// The range that the last call requested. If it is transient, its bytes are valid for the next call only.
    asked: Cell<Option<Need>>,
    transient: Option<Segment<'a>>,
    /// The progress of the last call, from which the next call continues.
    walk: Cell<Walk>,
    /// The value that the last call skipped. The next [`add`](Self::add) moves it to [`Segments::skipped`].
    #[cfg(feature = "gguf")]
    skipped: Cell<Skipped>,
    /// The error that the last call ended with, which the next call also returns.
    failed: Cell<Option<Error>>,
}

/// The ranges that are kept.
#[derive(Clone)]
struct Segments<'a> {
    length: u64,
    held: [Option<Segment<'a>>; MAX_SEGMENTS],
    /// A list of ranges in the caller's memory.
    list: Option<PieceList<'a>>,
    search: Search,
    /// The start and end of values that were skipped and need not be in memory.
    skipped: [Skipped; MAX_SKIPPED],
}

/// Returns the bytes of an extent, if one segment or piece contains all of them. On chips, the function is called by its
/// address, so that a program links it only if the program has a source, and links the search of the list only if the
/// program adds a list. On hosts, that would make listing a file 7 % slower.
type Search = for<'s, 'a> fn(&'s Segments<'a>, &Extent) -> Option<&'a [u8]>;

/// Returns the bytes from `at` on of those that begin at `start`.
fn from(at: u64, start: u64, bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(to_usize(at.checked_sub(start)?)?..)
}

/// The length of an extent that stands for all bytes of a piece from an offset on. No segment is as long.
const REST: u64 = u64::MAX;

/// See [`Search`]. Searches the segments.
fn search_held<'a>(segments: &Segments<'a>, extent: &Extent) -> Option<&'a [u8]> {
    segments.held.iter().flatten().find_map(|&(at, bytes)| extent.of(bytes, at))
}

/// See [`Search`]. Searches the segments, then the list.
fn search_all<'a>(segments: &Segments<'a>, extent: &Extent) -> Option<&'a [u8]> {
    search_held(segments, extent).or_else(|| {
        let rest = segments.list?.available_from(extent.offset)?;
        if extent.length == REST { Some(rest) } else { extent.of(rest, extent.offset) }
    })
}

/// The start and end of a value; neither is 0.
type Skipped = (u64, u64);

/// No value.
const NOTHING: Skipped = (0, 0);

/// The offset of some bytes in the file, and the bytes.
type Segment<'a> = (u64, &'a [u8]);

/// The progress of a walk over a file whose earlier parts may be gone: its position, and the data that the format has
/// to remember from those parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// 0: the walk has not begun.
    pub(crate) at: u64,
    pub(crate) memory: [u64; 3],
}

impl Walk {
    const NONE: Self = Self { at: 0, memory: [0; 3] };
}

impl<'a> Source<'a> {
    /// Describes a file of `length` bytes, none of which are in memory yet.
    #[must_use]
    pub const fn new(length: u64) -> Self {
        let (held, skipped) = ([None; MAX_SEGMENTS], [NOTHING; MAX_SKIPPED]);
        let segments = Segments { length, held, list: None, search: search_held, skipped };
        Self {
            segments,
            asked: Cell::new(None),
            transient: None,
            walk: Cell::new(Walk::NONE),
            #[cfg(feature = "gguf")]
            skipped: Cell::new(NOTHING),
            failed: Cell::new(None),
        }
    }

    /// Returns the length of the whole file in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.segments.length
    }

    /// Adds `bytes`, which are at `offset` in the file. An existing segment that `bytes` cover is dropped. Bytes that
    /// an existing segment already covers are not added again. If the last call requested a range that need not be
    /// kept, and `bytes` contain all of that range, the bytes are valid for the next call of
    /// [`File::open_source`](crate::File::open_source) only.
    ///
    /// Tensor data may also be added before the file is opened. Calls that return data then find it in the source.
    ///
    /// # Errors
    /// `InvalidArgument` if the bytes would extend past the end of the file, `TooManySegments` if there are already
    /// [`MAX_SEGMENTS`] segments. After an error the source is unchanged.
    #[cfg_attr(small, inline(always))] // most programs for a chip call it once
    pub fn add(&mut self, offset: u64, bytes: &'a [u8]) -> Result<()> {
        let new = Extent::new(offset, to_u64(bytes.len()));
        if !new.is_within(self.segments.length) {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        #[cfg(feature = "gguf")]
        self.segments.remember(self.skipped.replace(NOTHING));
        // Bytes added for a transient request are dropped as a whole, including surrounding bytes such as the rest of a
        // sector.
        if self.asked_transient(offset, bytes) {
            self.transient = Some((offset, bytes));
            return Ok(());
        }
        self.segments.add(offset, bytes)
    }

    /// Adds the `pieces` that [`needs`](Self::needs) has listed, whose bytes are in `memory` at their places. A single
    /// piece is added as by [`add`](Self::add). Several pieces stay in the caller's memory, as a list. They take no
    /// segment, but a source holds only one list.
    ///
    /// # Errors
    /// `InvalidArgument` if a piece begins or ends before an earlier one, or extends past the end of the file or of the
    /// memory. `TooManySegments` if there is already a list. After an error the source is unchanged.
    pub fn add_pieces(&mut self, pieces: &'a [Piece], memory: &'a [u8]) -> Result<()> {
        let list = PieceList::new(pieces, memory, self.segments.length);
        let list = list.ok_or(Error::new(ErrorKind::InvalidArgument))?;
        match pieces {
            [] => return Ok(()),
            [single] => return self.add(single.offset, single.bytes(memory).unwrap_or_default()),
            _ if self.segments.list.is_some() => return Err(Error::new(ErrorKind::TooManySegments)),
            _ => (self.segments.list, self.segments.search) = (Some(list), search_all),
        }
        #[cfg(feature = "gguf")]
        self.segments.remember(self.skipped.replace(NOTHING));
        Ok(())
    }

    /// Returns whether the source has a list, so that it cannot hold another.
    pub(crate) const fn has_list(&self) -> bool {
        self.segments.list.is_some()
    }

    /// Returns the bytes of `extent`, if they are within the bytes that are valid for this call.
    fn get_transient(&self, extent: Extent) -> Option<&'a [u8]> {
        let (at, bytes) = self.transient.filter(|&(at, bytes)| self.asked_transient(at, bytes))?;
        extent.of(bytes, at)
    }

    /// The range that the last call requested, if any.
    pub(crate) fn need(&self) -> Option<Need> {
        self.asked.get()
    }

    /// The error that an earlier call ended with.
    pub(crate) fn failed(&self) -> Option<Error> {
        self.failed.get()
    }

    /// Records how a call ended. If bytes were missing, the range needed has already been recorded.
    pub(crate) fn note(&self, opening: &ParseContext<'_>, error: Option<Error>) {
        if !opening.lacks.get() {
            self.asked.set(None);
            self.failed.set(error);
        }
    }

    /// True if the last call requested a transient range that `bytes`, at `offset` in the file, contain entirely.
    fn asked_transient(&self, offset: u64, bytes: &[u8]) -> bool {
        self.asked.get().is_some_and(|asked| !asked.keep && asked.extent.of(bytes, offset).is_some())
    }
}

/// True if `outer` contains all of `inner`.
#[inline(never)]
fn covers((at, outer): &Segment<'_>, (offset, inner): &Segment<'_>) -> bool {
    Extent::new(*offset, to_u64(inner.len())).of(outer, *at).is_some()
}

impl<'a> Segments<'a> {
    #[cfg(feature = "gguf")]
    fn remember(&mut self, skipped: Skipped) {
        if let Some(place) = self.skipped.iter_mut().find(|place| **place == NOTHING) {
            *place = skipped;
        }
    }

    #[cfg_attr(small, inline(always))] // as `Source::add`
    fn add(&mut self, offset: u64, bytes: &'a [u8]) -> Result<()> {
        let new = (offset, bytes);
        let mut place = None;
        for slot in &mut self.held {
            match slot {
                Some(old) if covers(&new, old) => *slot = None,  // frees its slot
                Some(old) if covers(old, &new) => return Ok(()), // already covered, so it covers no other segment
                Some(_) => continue,
                None => {}
            }
            place = place.or(Some(slot));
        }
        *place.ok_or(Error::new(ErrorKind::TooManySegments))? = Some(new);
        Ok(())
    }

    /// See [`Search`].
    fn get(&self, extent: &Extent) -> Option<&'a [u8]> {
        if cfg!(small) { (self.search)(self, extent) } else { search_all(self, extent) }
    }

    /// Returns the longest run of bytes from `at` on, so that a parser does not stop at the end of a segment that another
    /// segment continues.
    #[cfg_attr(not(small), inline(never))] // so that the search of a slice is inlined
    fn longest_from(&self, at: u64) -> Option<&'a [u8]> {
        let held = self.held.iter().flatten().filter_map(|&(start, bytes)| from(at, start, bytes));
        held.chain(self.get(&Extent::new(at, REST))).max_by_key(|bytes| bytes.len())
    }
}

/// The bytes of a file as seen by a reader: a single slice, or the segments of a source.
#[derive(Clone, Copy)]
pub struct Input<'a>(Bytes<'a>);

#[derive(Clone, Copy)]
enum Bytes<'a> {
    Whole(&'a [u8]),
    Parts(&'a Segments<'a>),
}

/// Prints the positions of the segments, not their contents.
impl fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = self.held.iter().flatten().map(|&(start, bytes)| Region { bytes, start });
        write!(f, "{} bytes, of which ", self.length)?;
        f.debug_list().entries(segments).finish()
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.segments, f)
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Bytes::Whole(bytes) => write!(f, "{} bytes", bytes.len()),
            Bytes::Parts(segments) => fmt::Debug::fmt(segments, f),
        }
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Bytes::Whole(bytes))
    }
}

impl<'s, 'a: 's> From<&'s Source<'a>> for Input<'s> {
    fn from(source: &'s Source<'a>) -> Self {
        Self(Bytes::Parts(&source.segments))
    }
}

impl<'a> Input<'a> {
    /// Returns the length of the file in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        match self.0 {
            Bytes::Whole(bytes) => to_u64(bytes.len()),
            Bytes::Parts(segments) => segments.length,
        }
    }

    /// Returns the bytes of `extent`, if they are contiguous in memory.
    pub(crate) fn get(&self, extent: Extent) -> Option<&'a [u8]> {
        match self.0 {
            Bytes::Whole(bytes) => extent.of(bytes, 0),
            // An empty range inside the file is always in memory, as in a slice.
            Bytes::Parts(segments) if extent.length == 0 => extent.is_within(segments.length).then_some(&[]),
            Bytes::Parts(segments) => segments.get(&extent),
        }
    }
}

impl<'a> Input<'a> {
    /// Returns the bytes from `at` on, as far as they are contiguous in memory; empty if no segment contains `at`.
    pub(crate) fn available_from(&self, at: u64) -> &'a [u8] {
        let found = match self.0 {
            Bytes::Whole(bytes) => from(at, 0, bytes),
            Bytes::Parts(segments) => segments.longest_from(at),
        };
        found.unwrap_or_default()
    }

    /// Returns the number of bytes in memory, without those in a list.
    pub(crate) fn held(&self) -> u64 {
        match self.0 {
            Bytes::Whole(bytes) => to_u64(bytes.len()),
            Bytes::Parts(segments) => {
                let lengths = segments.held.iter().flatten().map(|(_, bytes)| to_u64(bytes.len()));
                lengths.fold(0, u64::saturating_add)
            }
        }
    }

    /// Returns the end of the value that begins at `at`, if a parser has skipped the value.
    pub(crate) fn skipped_end(&self, at: u64) -> Option<u64> {
        let Bytes::Parts(segments) = self.0 else { return None };
        let is_it = |(start, _): &&Skipped| *start == at; // an unused entry has 0, where no value begins
        segments.skipped.iter().find(is_it).map(|(_, end)| *end)
    }

    /// Returns whether another value may be skipped without being kept.
    pub(crate) fn can_skip(&self) -> bool {
        let Bytes::Parts(segments) = self.0 else { return false };
        segments.skipped.contains(&NOTHING)
    }
}

/// The input of a parser, and the record of why the parser stopped.
#[derive(Clone)]
pub(crate) struct ParseContext<'a> {
    pub(crate) input: Input<'a>,
    /// The source of the input, which keeps its state from call to call.
    source: Option<&'a Source<'a>>,
    error: Cell<Error>,
    /// True if the parser stopped because bytes are missing.
    lacks: Cell<bool>,
}

/// A signal that a parser stopped: the file is malformed, or bytes are missing. The [`ParseContext`] holds the reason,
/// since passing an error from call to call would take more code than the checks that detect it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

/// The result of a parser.
pub(crate) type ParseResult<T> = core::result::Result<T, Interrupted>;

impl<'a> ParseContext<'a> {
    /// Creates a context for bytes that all remain available.
    pub(crate) const fn of(input: Input<'a>) -> Self {
        let error = Cell::new(Error::new(ErrorKind::NotInMemory));
        Self { input, source: None, error, lacks: Cell::new(false) }
    }

    /// Creates a context for a source, which receives the outcome through [`Source::note`].
    pub(crate) fn of_source(source: &'a Source<'a>) -> Self {
        Self { source: Some(source), ..Self::of(source.into()) }
    }

    /// Returns the bytes of `extent`, which is inside the file, or requests the range. The opened file may refer to
    /// these bytes.
    #[inline(never)]
    pub(crate) fn keep(&self, extent: Extent) -> ParseResult<&'a [u8]> {
        self.input.get(extent).ok_or_else(|| self.lack(Need { extent, keep: true }))
    }

    /// Returns the structure at offset `at` of the file, and keeps its bytes. A file that ends inside the structure is
    /// rejected with `rule`, at the end of the file.
    pub(crate) fn read<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        &self,
        at: u64,
        rule: Rule,
    ) -> ParseResult<&'a T> {
        let (extent, length) = (Extent::new(at, to_u64(size_of::<T>())), self.input.length());
        if !extent.is_within(length) {
            return Err(self.fail(rule, length));
        }
        T::ref_from_bytes(self.keep(extent)?).map_err(|_| Interrupted) // the length is the size of `T`
    }

    /// Returns the bytes of `extent`, which is inside the file, for immediate use only; or requests the range. Bytes
    /// before `extent` are not requested again if the walk records its progress.
    #[inline(never)]
    pub(crate) fn transient(&self, extent: Extent) -> ParseResult<&'a [u8]> {
        let held = || self.source.and_then(|source| source.get_transient(extent));
        self.input.get(extent).or_else(held).ok_or_else(|| self.lack(Need { extent, keep: false }))
    }

    /// Records that the value from `start` to `end` was skipped, if the file has a source. Then stops once and requests
    /// `extent`, such as the bytes after the value.
    #[cfg(feature = "gguf")]
    pub(crate) fn skip(&self, start: u64, end: u64, extent: Extent) -> ParseResult<()> {
        match self.source {
            Some(source) => {
                source.skipped.set((start, end));
                Err(self.lack(Need { extent, keep: true }))
            }
            None => Ok(()),
        }
    }

    /// Stops because bytes are missing.
    #[cold]
    fn lack(&self, need: Need) -> Interrupted {
        self.lacks.set(true);
        if let Some(source) = self.source {
            source.asked.set(Some(need));
        }
        self.stop(Error::at(ErrorKind::NotInMemory, Format::Unknown, Part::File, need.extent.offset))
    }

    /// Stops with an error in `item` at byte `at` of the file, whose format is `format`.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&self, (kind, format, item): Rule, at: u64) -> Interrupted {
        self.stop(Error::at(kind, format, item, at))
    }

    /// Stops with an error.
    pub(crate) fn stop(&self, error: Error) -> Interrupted {
        self.error.set(error);
        Interrupted
    }

    /// Returns the reason why the parser stopped.
    pub(crate) fn error(&self, Interrupted: Interrupted) -> Error {
        self.error.get() // always set: only the methods above create an `Interrupted`
    }

    /// True if the parser stopped because bytes are missing.
    #[cfg(feature = "onnx")]
    pub(crate) fn is_lacking(&self) -> bool {
        self.lacks.get()
    }

    /// Returns the progress of the walk over the file in earlier calls.
    pub(crate) fn walk(&self) -> Walk {
        self.source.map_or(Walk::NONE, |source| source.walk.get())
    }

    /// Stores the progress of the walk for the next call.
    pub(crate) fn set_walk(&self, walk: Walk) {
        if let Some(source) = self.source {
            source.walk.set(walk);
        }
    }
}

/// An error without an offset: the rule, the format, and the part of the file.
pub(crate) type Rule = (ErrorKind, Format, Part);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_inside_one_segment_only() {
        let mut source = Source::new(100);
        source.add(10, &[1; 10]).unwrap();
        source.add(20, &[2; 10]).unwrap();
        let input = Input::from(&source);
        assert_eq!(input.get(Extent::new(12, 3)), Some(&[1_u8; 3][..]));
        assert_eq!(input.get(Extent::new(20, 10)), Some(&[2_u8; 10][..]));
        assert_eq!(input.get(Extent::new(18, 4)), None);
        assert_eq!(input.get(Extent::new(29, 2)), None);
        assert_eq!(input.get(Extent::new(u64::MAX, 1)), None);
    }

    #[test]
    fn adding_checks_the_range_and_the_room() {
        let moved = [7; 8];
        let mut source = Source::new(100);
        let outside = |error: Error| error.kind() == ErrorKind::InvalidArgument;
        assert!(source.add(100, &[0]).is_err_and(outside));
        assert!(source.add(u64::MAX, &[0]).is_err_and(outside));
        let mut source = Source::new(1000);
        for i in 0..32 {
            source.add(10 * i, &[0; 3]).unwrap();
        }
        source.add(10, &[0; 2]).unwrap(); // inside a segment: nothing to add
        assert_eq!(Input::from(&source).get(Extent::new(10, 3)), Some(&[0; 3][..]));
        assert!(source.add(900, &[0; 3]).is_err_and(|e| e.kind() == ErrorKind::TooManySegments));
        source.add(10, &[7; 8]).unwrap(); // replaces the segment that it covers
        source.add(10, &moved).unwrap(); // the same range from another address also replaces the segment
        assert_eq!(Input::from(&source).get(Extent::new(10, 8)).map(<[u8]>::as_ptr), Some(moved.as_ptr()));
        assert_eq!(Input::from(&source).get(Extent::new(10, 8)), Some(&[7_u8; 8][..]));
        assert!(source.segments.held.iter().all(Option::is_some));
    }

    #[test]
    fn pieces_are_checked_and_found() {
        fn added(length: u64, pieces: &[Piece], memory: &[u8]) -> core::result::Result<(), ErrorKind> {
            Source::new(length).add_pieces(pieces, memory).map_err(|error| error.kind())
        }
        let memory: [u8; 64] = core::array::from_fn(|i| i as u8);
        let piece = |offset, length, at| Piece { key: 0, offset, length, at };
        let pieces = [piece(10, 5, 0), piece(12, 9, 20), piece(12, 9, 30), piece(40, 5, 59)];
        assert_eq!(added(45, &pieces, &memory), Ok(()));
        assert_eq!(added(44, &pieces, &memory), Err(ErrorKind::InvalidArgument)); // the file is shorter
        assert_eq!(added(45, &pieces, &memory[..63]), Err(ErrorKind::InvalidArgument));
        for wrong in [
            [piece(10, 5, 0), piece(9, 9, 0)],  // begins before an earlier piece
            [piece(10, 5, 0), piece(11, 3, 0)], // ends before it
            [piece(10, 5, 0), piece(u64::MAX, 5, 0)],
            [piece(10, 5, 0), piece(20, 5, u64::MAX)],
        ] {
            assert_eq!(added(45, &wrong, &memory), Err(ErrorKind::InvalidArgument), "{wrong:?}");
        }

        let mut source = Source::new(45);
        source.add_pieces(&[], &[]).unwrap(); // adds nothing
        source.add_pieces(&pieces[3..], &memory).unwrap(); // a segment
        source.add_pieces(&pieces, &memory).unwrap();
        let full = source.add_pieces(&pieces, &memory).map_err(|error| error.kind());
        assert_eq!(full, Err(ErrorKind::TooManySegments));
        source.add(14, &[7; 3]).unwrap();
        source.add(16, &[8; 20]).unwrap();
        let input = Input::from(&source);
        let get = |offset, length| input.get(Extent::new(offset, length)).map(|bytes| bytes[0]);
        assert_eq!([get(9, 1), get(10, 2), get(10, 5), get(11, 5)], [None, Some(0), Some(0), None]);
        assert_eq!([get(12, 9), get(13, 9), get(20, 1), get(21, 15)], [Some(30), None, Some(8), Some(8)]);
        assert_eq!([get(14, 3), get(14, 4), get(35, 2), get(40, 5)], [Some(7), Some(32), None, Some(59)]);
        assert_eq!([9, 10, 14, 16, 44, 45].map(|at| input.available_from(at).len()), [0, 5, 7, 20, 1, 0]);
    }

    #[cfg(feature = "gguf")]
    #[test]
    fn so_many_values_are_remembered() {
        let mut source = Source::new(100);
        assert!(!Input::from(&[0; 100][..]).can_skip());
        for i in 1..=9 {
            assert_eq!(Input::from(&source).can_skip(), i < 9, "{i}");
            let extent = Extent::new(i, 1);
            assert!(ParseContext::of_source(&source).skip(10 * i, 10 * i + 5, extent).is_err());
            assert_eq!(source.need(), Some(Need { extent, keep: true }));
            assert_eq!(Input::from(&source).skipped_end(10 * i), None); // not before bytes are added
            source.add(i, &[0]).unwrap();
            assert_eq!(Input::from(&source).skipped_end(10 * i), (i < 9).then_some(10 * i + 5), "{i}");
        }
        let input = Input::from(&source);
        assert_eq!([9, 10, 15, 80].map(|at| input.skipped_end(at)), [None, Some(15), None, Some(85)]);
    }
}
