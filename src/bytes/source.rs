//! Where the bytes of a file come from: one slice, or the few segments that the caller has fetched.
//!
//! Depends on `error`, `extent`, `num`. The library never reads, seeks or waits: a parser that misses
//! bytes ends with the range it needs, the caller fetches that range and opens again.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::fmt;

use super::extent::{Extent, Region};
use super::num::to_u64;
use crate::error::{Error, ErrorKind, Result};

/// How many segments a [`Source`] holds.
pub const MAX_SEGMENTS: usize = 8;

/// A range of bytes that has to be fetched before a file can be opened. Shorter than 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    /// The bytes to fetch, all of them inside the file.
    pub extent: Extent,
    /// Whether the bytes must stay in place for as long as anything opened from the source is used.
    /// Where this is `false` they may be dropped once the next call has returned.
    pub keep: bool,
}

/// A file of which only some ranges are in memory.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use tenslice::{Extent, File, MAX_SEGMENTS, Opened, Source};
///
/// let mut disk = std::fs::File::open("tests/fixtures/v1.2/dense_all_dtypes.zt")?;
/// let mut fetch = |extent: Extent, room: &mut Vec<u8>| {
///     room.resize(extent.length as usize, 0);
///     disk.seek(SeekFrom::Start(extent.offset)).and_then(|_| disk.read_exact(room))
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
/// A range is found only inside one segment, so hand over each range just as it was asked for: the next
/// call then never asks for it again, and opening ends. Ranges that need not be kept
/// ([`Need::keep`]) take no room among the segments: a file that is walked from chunk to chunk may ask for any
/// number of them, one after the other.
#[derive(Clone)]
pub struct Source<'a> {
    segments: Segments<'a>,
    /// The range that the last call asked for. If in passing, its bytes are good for the next call alone.
    asked: Cell<Option<Need>>,
    passing: Option<(u64, &'a [u8])>,
    /// How far the last call came, and the error that it ended with: the next one ends with it, too.
    walk: Cell<Walk>,
    failed: Cell<Option<Error>>,
}

/// The ranges that are kept.
#[derive(Clone)]
struct Segments<'a> {
    length: u64,
    held: heapless::Vec<(u64, &'a [u8]), MAX_SEGMENTS>,
}

/// How far a walk over a file came whose earlier parts may be gone: where it stands, and what the format
/// has to remember of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    /// 0: it has not begun.
    pub(crate) at: u64,
    pub(crate) memory: [u64; 3],
}

impl<'a> Source<'a> {
    /// A file of `length` bytes, none of them in memory yet.
    #[must_use]
    pub const fn new(length: u64) -> Self {
        let segments = Segments { length, held: heapless::Vec::new() };
        let walk = Walk { at: 0, memory: [0; 3] };
        Self { segments, asked: Cell::new(None), passing: None, walk: Cell::new(walk), failed: Cell::new(None) }
    }

    /// Length of the whole file in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.segments.length
    }

    /// Adds `bytes`, which stand at `offset` of the file. A segment that they cover is dropped, and a part of one
    /// that is there already is not added again. Where the last call asked for a range that need not be kept, bytes
    /// that have all of it are good for the next call of [`File::open_source`](crate::File::open_source) alone.
    ///
    /// Data may be added before the file is opened, for calls that read from the file itself.
    ///
    /// # Errors
    /// `InvalidArgument` where the bytes would reach beyond the file, `TooManySegments` when there are
    /// [`MAX_SEGMENTS`] already. The source is unchanged then.
    pub fn add(&mut self, offset: u64, bytes: &'a [u8]) -> Result<()> {
        let new = Extent::new(offset, to_u64(bytes.len()));
        if !new.is_within(self.segments.length) {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        // What was asked for in passing is let go with all that came with it, such as the rest of its sectors.
        if self.asked_in_passing(offset, bytes) {
            self.passing = Some((offset, bytes));
            return Ok(());
        }
        self.segments.add(offset, bytes)
    }

    /// Whether the last call asked in passing for a range of which these bytes, which stand at `offset`, have all.
    fn asked_in_passing(&self, offset: u64, bytes: &[u8]) -> bool {
        self.asked.get().is_some_and(|asked| !asked.keep && asked.extent.of(bytes, offset).is_some())
    }
}

/// Whether `outer` has all of `inner`.
#[inline(never)]
fn covers((at, outer): &(u64, &[u8]), (offset, inner): &(u64, &[u8])) -> bool {
    Extent::new(*offset, to_u64(inner.len())).of(outer, *at).is_some()
}

impl<'a> Segments<'a> {
    fn add(&mut self, offset: u64, bytes: &'a [u8]) -> Result<()> {
        let new = (offset, bytes);
        // Those that the new one covers make room.
        let mut held = heapless::Vec::new();
        for old in &self.held {
            if !covers(&new, old) {
                let _ = held.push(*old); // no more than there are
            }
        }
        let is_new = held.len() == self.held.len();
        if is_new && self.held.iter().any(|old| covers(old, &new)) {
            return Ok(()); // a part of what is there
        }
        held.push(new).map_err(|_| Error::new(ErrorKind::TooManySegments))?;
        self.held = held;
        Ok(())
    }

    /// The bytes of `extent`, if one segment has them all.
    fn get(&self, extent: Extent) -> Option<&'a [u8]> {
        self.held.iter().find_map(|&(at, bytes)| extent.of(bytes, at))
    }
}

/// The bytes of a file as a reader sees them: all in one slice, or in the segments of a source.
#[derive(Clone, Copy)]
pub struct Input<'a>(Bytes<'a>);

#[derive(Clone, Copy)]
enum Bytes<'a> {
    Whole(&'a [u8]),
    Parts(&'a Segments<'a>),
}

/// Prints where the segments lie, not what is in them.
impl fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = self.held.iter().map(|&(start, bytes)| Region { bytes, start });
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
    /// Length of the file in bytes.
    pub(crate) const fn length(&self) -> u64 {
        match self.0 {
            Bytes::Whole(bytes) => to_u64(bytes.len()),
            Bytes::Parts(segments) => segments.length,
        }
    }

    /// The bytes of `extent`, if they are in memory in one piece.
    pub(crate) fn get(&self, extent: Extent) -> Option<&'a [u8]> {
        match self.0 {
            Bytes::Whole(bytes) => extent.of(bytes, 0),
            // No bytes are in memory wherever they lie, as in a slice.
            Bytes::Parts(segments) if extent.length == 0 => extent.is_within(segments.length).then_some(&[]),
            Bytes::Parts(segments) => segments.get(extent),
        }
    }
}

/// What a parser opens a file from: the bytes that stay, those that are there for this call alone, and how
/// far the last call came.
#[derive(Clone)]
pub(crate) struct Opening<'a> {
    pub(crate) input: Input<'a>,
    passing: Option<(u64, &'a [u8])>,
    /// How far the walk came, kept for the next call.
    pub(crate) walk: Cell<Walk>,
    /// The range that was asked for last and is not there.
    lacks: Cell<Option<Need>>,
}

impl<'a> Opening<'a> {
    /// Opens from bytes that all stay.
    pub(crate) fn of(input: Input<'a>) -> Self {
        Self { input, passing: None, walk: Cell::default(), lacks: Cell::new(None) }
    }

    /// Opens from a source, which is told by [`Source::note`] what came of it.
    pub(crate) fn of_source(source: &'a Source<'_>) -> Self {
        let passing = source.passing.filter(|&(at, bytes)| source.asked_in_passing(at, bytes));
        Self { input: source.into(), passing, walk: source.walk.clone(), lacks: Cell::new(None) }
    }

    /// The bytes of `extent`, which lies in the file, or the range to fetch. What is opened may refer to them.
    pub(crate) fn keep(&self, extent: Extent) -> core::result::Result<&'a [u8], Stop> {
        self.find(extent).ok_or(Stop(Error::new(ErrorKind::NotInMemory)))
    }

    /// The same, without words.
    #[inline(never)]
    pub(crate) fn find(&self, extent: Extent) -> Option<&'a [u8]> {
        let bytes = self.input.get(extent);
        if bytes.is_none() {
            self.lacks.set(Some(Need { extent, keep: true }));
        }
        bytes
    }

    /// The bytes of `extent`, which lies in the file, to be looked at now alone; or the range to fetch. What
    /// came before is asked for no more if the walk says so.
    pub(crate) fn pass(&self, extent: Extent) -> core::result::Result<&'a [u8], Stop> {
        let passing = || self.passing.and_then(|(at, bytes)| extent.of(bytes, at));
        self.input.get(extent).or_else(passing).ok_or_else(|| {
            self.lacks.set(Some(Need { extent, keep: false }));
            Stop(Error::new(ErrorKind::NotInMemory))
        })
    }

    /// The range that has to be fetched, where a parser stopped for the lack of it.
    pub(crate) fn need(&self) -> Option<Need> {
        self.lacks.get()
    }
}

impl Source<'_> {
    /// Remembers how far a call came, and why it stopped.
    pub(crate) fn note(&self, opening: &Opening<'_>, error: Option<Error>) {
        let need = opening.need();
        self.walk.set(opening.walk.get());
        self.asked.set(need);
        if need.is_none() {
            self.failed.set(error);
        }
    }

    /// The error that an earlier call ended with.
    pub(crate) fn failed(&self) -> Option<Error> {
        self.failed.get()
    }
}

/// Why a parser stopped: the file is at fault, or bytes are missing, of which the [`Opening`] tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop(pub(crate) Error);

impl From<Stop> for Error {
    fn from(Stop(error): Stop) -> Self {
        error
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

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
        for i in 0..8 {
            source.add(10 * i, &[0; 3]).unwrap();
        }
        source.add(10, &[0; 2]).unwrap(); // inside a segment: nothing to add
        assert!(source.add(90, &[0; 3]).is_err_and(|e| e.kind() == ErrorKind::TooManySegments));
        source.add(10, &[7; 8]).unwrap(); // takes the place of the segment that it covers
        source.add(10, &moved).unwrap(); // and so does the same range from another place
        assert_eq!(Input::from(&source).get(Extent::new(10, 8)).map(<[u8]>::as_ptr), Some(moved.as_ptr()));
        assert_eq!(Input::from(&source).get(Extent::new(10, 8)), Some(&[7_u8; 8][..]));
        assert_eq!(source.segments.held.len(), MAX_SEGMENTS);
    }
}
