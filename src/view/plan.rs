//! The reads that fetch many ranges of a file: aligned, merged, in file order, into one region of memory.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;
use core::mem;

use crate::bytes::extent::Extent;
use crate::bytes::piece::Piece;
use crate::duplicates::sort_by;
use crate::error::{Error, ErrorKind, Result};

/// How a [`Plan`] reads: the alignment of the reads, and the length of a gap that is read although no piece needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    alignment: u64,
    gap: u64,
}

impl PlanOptions {
    /// Creates the default options: an alignment of 4096 bytes, and gaps of up to 65 536 bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self { alignment: 4096, gap: 1 << 16 }
    }

    /// Sets the alignment, a power of two. Each read begins at a multiple of the alignment, in the file and in memory.
    /// Direct I/O requires the size of a block of the device, 512 or 4096. With 1, no byte is read that no piece needs,
    /// except gaps.
    #[must_use]
    pub const fn alignment(mut self, alignment: u64) -> Self {
        self.alignment = alignment;
        self
    }

    /// Sets the length of the longest gap between two pieces that is read as well, so that one read fetches both
    /// pieces. A gap takes memory. A gap as long as the device transfers within its latency saves time: some 64 KiB for
    /// a disk, and a megabyte for a server.
    #[must_use]
    pub const fn gap(mut self, gap: u64) -> Self {
        self.gap = gap;
        self
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The reads that fetch many pieces of a file into one region of memory.
///
/// 1. Make a [`Piece`] for each range of the file, and a plan of all pieces.
/// 2. Allocate [`length`](Self::length) bytes, aligned as the reads are.
/// 3. Fetch each of the [`reads`](Self::reads) to its place in the memory, in any order, in any number of threads.
/// 4. The bytes of each piece are then at [`Piece::at`], without a copy.
///
/// Pieces may overlap and repeat, as those of tied weights do: their bytes are read once, and they share memory. Each
/// piece is contiguous in memory. Bytes that are aligned in the file are aligned in memory, up to the alignment of the
/// reads.
///
/// ```
/// use tenslice::{File, Piece, Plan, PlanOptions};
///
/// let disk = std::fs::read("tests/fixtures/safetensors/py_tiny_mlp.safetensors")?; // or a file that is not in memory
/// let file = File::open(&disk)?;
/// let tensors: Vec<_> = file.tensors().collect();
/// let mut pieces = Vec::new();
/// for (tensor, key) in tensors.iter().zip(0..) {
///     pieces.push(Piece::new(key, tensor.data()?.extent()));
/// }
///
/// let plan = Plan::new(&mut pieces, file.length(), PlanOptions::new())?;
/// let mut memory = vec![0; usize::try_from(plan.length())?];
/// for read in plan.reads(8 << 20) {
///     let (from, to) = (read.extent.offset as usize, read.at as usize);
///     let length = read.extent.length as usize;
///     memory[to..to + length].copy_from_slice(&disk[from..from + length]); // or any other way to read a file
/// }
/// for piece in plan.pieces() {
///     let bytes = piece.bytes(&memory).ok_or("too short")?;
///     assert_eq!(tensors[piece.key() as usize].data()?.bytes()?, bytes);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Plan<'p> {
    pieces: &'p [Piece],
    rules: Rules,
    file_length: u64,
    length: u64,
}

/// A read: a range of the file, and its place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlannedRead {
    /// The range of the file. Its offset is a multiple of the alignment. So is its length, except that a read never
    /// extends past the end of the file.
    pub extent: Extent,
    /// The place in memory, a multiple of the alignment: the offset from the start of the memory.
    pub at: u64,
    /// The length that the memory has for this read: the length of `extent`, rounded up to a multiple of the alignment.
    /// Direct I/O requires that the program requests this many bytes. At the end of the file it gets fewer.
    pub room: u64,
}

impl<'p> Plan<'p> {
    /// Plans the reads of `pieces`, which are ranges of a file of `file_length` bytes. Sorts the pieces in the order of
    /// the file: N log N comparisons.
    ///
    /// # Errors
    /// - `OutOfFile` if a piece extends past the end of the file.
    /// - `InvalidArgument` if the alignment is no power of two, or if the length of the file, rounded up to a multiple
    ///   of the alignment, exceeds 64 bits.
    pub fn new(pieces: &'p mut [Piece], file_length: u64, options: PlanOptions) -> Result<Self> {
        let mask = options.alignment.wrapping_sub(1);
        // The reads are apart from each other, so all of them together are no longer than this.
        if !options.alignment.is_power_of_two() || file_length.checked_add(mask).is_none() {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        if pieces.iter().any(|piece| !piece.extent().is_within(file_length)) {
            return Err(Error::new(ErrorKind::OutOfFile));
        }
        sort_by(pieces, |a, b| (a.offset, a.length, a.key) < (b.offset, b.length, b.key));
        let rules = Rules { mask, gap: options.gap };
        let length = rules.place(pieces);
        Ok(Self { pieces, rules, file_length, length })
    }

    /// Returns the number of bytes of memory that all reads need together, a multiple of the alignment.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Returns the pieces in the order of the file, with their places in memory.
    #[must_use]
    pub const fn pieces(&self) -> &'p [Piece] {
        self.pieces
    }

    /// Returns the reads in the order of the file. Each has at most `longest` bytes, rounded down to a multiple of the
    /// alignment, but at least one such multiple. The reads are computed and take no memory: linear in the number of
    /// pieces and of reads.
    ///
    /// Reads of a few MiB keep a disk busy if several are under way at the same time. With `u64::MAX` each read is a
    /// whole run of pieces, which can be added to a [`Source`](crate::Source).
    #[must_use]
    pub const fn reads(&self, longest: u64) -> PlannedReads<'p> {
        let longest = self.rules.round_down(longest);
        let longest = if longest == 0 { self.rules.mask.saturating_add(1) } else { longest };
        PlannedReads { plan: *self, longest, left: Extent::new(0, 0), at: 0 }
    }
}

/// The rules by which pieces are joined: the alignment minus 1, and the longest gap.
#[derive(Clone, Copy, Debug)]
struct Rules {
    mask: u64,
    gap: u64,
}

/// Pieces that are read together.
struct Run {
    /// The range of the file, from one multiple of the alignment to another.
    extent: Extent,
    /// The number of pieces, with the empty pieces before and between them.
    count: usize,
}

impl Rules {
    const fn round_down(self, n: u64) -> u64 {
        n & !self.mask
    }

    const fn round_up(self, n: u64) -> u64 {
        self.round_down(n.saturating_add(self.mask))
    }

    /// True if a piece that begins at `start` is read together with pieces that end at `end`: the gap is short, or the
    /// reads would touch.
    const fn joins(self, end: u64, start: u64) -> bool {
        start.saturating_sub(end) <= self.gap || self.round_down(start) <= self.round_up(end)
    }

    /// Returns the first run of `pieces`, which are in the order of the file; `None` if all pieces are empty.
    fn first_run(self, pieces: &[Piece]) -> Option<Run> {
        let (mut run, mut count) = (None, 0_usize);
        for piece in pieces {
            let end = piece.offset.saturating_add(piece.length);
            run = match run {
                _ if piece.length == 0 => run,
                None => Some((piece.offset, end)),
                Some((first, last)) if self.joins(last, piece.offset) => Some((first, last.max(end))),
                Some(_) => break,
            };
            count = count.saturating_add(1);
        }
        let (first, last) = run?;
        let first = self.round_down(first);
        Some(Run { extent: Extent::new(first, self.round_up(last).saturating_sub(first)), count })
    }

    /// Gives each piece its place in memory. Returns the length of the memory.
    fn place(self, mut pieces: &mut [Piece]) -> u64 {
        let mut length = 0_u64;
        while let Some(Run { extent, count }) = self.first_run(pieces) {
            let (run, rest) = mem::take(&mut pieces).split_at_mut_checked(count).unwrap_or_default();
            for piece in run {
                let from_start = piece.offset.saturating_sub(extent.offset);
                piece.at = if piece.length == 0 { 0 } else { length.saturating_add(from_start) };
            }
            length = length.saturating_add(extent.length);
            pieces = rest;
        }
        pieces.iter_mut().for_each(|piece| piece.at = 0);
        length
    }
}

/// The reads of a plan. See [`Plan::reads`].
#[derive(Clone, Copy, Debug)]
pub struct PlannedReads<'p> {
    /// The plan, with the pieces of the runs to come.
    plan: Plan<'p>,
    longest: u64,
    /// The range of this run that is left.
    left: Extent,
    /// The place of this range in memory.
    at: u64,
}

impl Iterator for PlannedReads<'_> {
    type Item = PlannedRead;

    fn next(&mut self) -> Option<PlannedRead> {
        if self.left.length == 0 {
            let run = self.plan.rules.first_run(self.plan.pieces)?;
            self.plan.pieces = self.plan.pieces.get(run.count..).unwrap_or_default();
            self.left = run.extent;
        }
        let (offset, room, at) = (self.left.offset, self.left.length.min(self.longest), self.at);
        self.left = Extent::new(offset.saturating_add(room), self.left.length.saturating_sub(room));
        self.at = at.saturating_add(room);
        let length = room.min(self.plan.file_length.saturating_sub(offset));
        Some(PlannedRead { extent: Extent::new(offset, length), at, room })
    }
}

impl FusedIterator for PlannedReads<'_> {}
