//! Detects clashes: pairs of entries that a file must not contain, such as equal names or overlapping ranges. Detection
//! is exact, and uses only the caller's memory or a little stack.
//!
//! A format implements [`Distinct`] to read its entries. Entries are compared in blocks: a block is sorted, and every
//! other entry is looked up in it. This takes about n log n comparisons per block, and at most [`MAX_PASSES`] blocks.
//! Sorting uses no hashes, so no file can be crafted to make it slow.
//!
//! When a file is opened, the hashes of names are compared first. If two hashes are equal, by chance or in a crafted
//! file, the entries are then sorted. Chips use a small block of hashes instead and make one comparison per pair: this
//! is still linear in the bytes of the names, since at most [`MAX_COMPARED`] names are compared this way.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::cmp::Ordering;
#[cfg(small)]
use core::marker::PhantomData;

use zerocopy::{FromBytes, IntoBytes};

use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
#[cfg(not(small))]
use crate::bytes::num::to_usize;
use crate::bytes::utf8::{is_before, is_utf8};
use crate::error::{Error, ErrorKind, Result};

/// The maximum number of unsorted entries that are compared without memory from the caller.
pub(crate) const MAX_COMPARED: u32 = 1024;

/// The maximum number of times that entries are read to compare them in the caller's memory. Without this limit, a file
/// of many entries would take quadratic time if the memory is small.
const MAX_PASSES: u32 = 8;

/// The number of entries in a block on the stack, which is scarce on a chip.
const BLOCK: usize = if cfg!(not(small)) { 1024 } else { 32 };

/// A name or a range that must not clash with another entry of its kind.
pub(crate) trait Entry: Copy {
    /// Orders entries so that an entry that clashes with any later entry clashes with the next entry, or is equal to
    /// it.
    fn order(self, other: Self) -> Ordering;

    fn clashes_with(self, other: Self) -> bool;

    /// A hash that is equal for clashing entries.
    fn hash(self) -> u32;
}

/// Names must differ.
impl Entry for &[u8] {
    fn order(self, other: Self) -> Ordering {
        self.cmp(other)
    }

    fn clashes_with(self, other: Self) -> bool {
        self == other
    }

    /// FNV-1a.
    fn hash(self) -> u32 {
        self.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    }
}

/// Ranges must not overlap. Empty ranges never overlap, and callers skip them: an empty range between two others would
/// hide that the others overlap.
impl Entry for Extent {
    fn order(self, other: Self) -> Ordering {
        self.offset.cmp(&other.offset).then(self.length.cmp(&other.length))
    }

    fn clashes_with(self, other: Self) -> bool {
        let has_start_of = |a: Self, b: Self| b.offset.wrapping_sub(a.offset) < a.length;
        has_start_of(self, other) || has_start_of(other, self)
    }

    fn hash(self) -> u32 {
        0
    }
}

/// The position of an entry in a file, in as many words as are needed to read the entry again in constant time.
pub(crate) trait Position: Copy + Ord {
    /// Returns the caller's memory as positions, as many as fit.
    fn slots(words: &mut [u32]) -> &mut [Self];
}

impl Position for u32 {
    fn slots(words: &mut [u32]) -> &mut [Self] {
        words
    }
}

impl Position for [u32; 2] {
    fn slots(words: &mut [u32]) -> &mut [Self] {
        <[Self]>::mut_from_prefix(words.as_mut_bytes()).map_or(&mut [], |(slots, _)| slots)
    }
}

/// The entries of a file, of which no two may clash.
pub(crate) trait Distinct {
    type Entry: Entry;
    /// The point that an iteration over the entries has reached.
    type Place: Copy;
    type Position: Position;

    /// Reads the entry at `place`, and advances `place` to the next entry. Also returns the position of the entry, from
    /// which [`at`](Self::at) reads it again. Positions are never 0 and increase from entry to entry. `None` after the
    /// last entry.
    fn next(&mut self, place: &mut Self::Place) -> Option<(Self::Entry, Self::Position)>;

    /// Returns the entry at a position that `next` returned.
    fn at(&self, position: Self::Position) -> Self::Entry;

    /// Fails if an entry could not be read, because the bytes have changed since the file was opened.
    fn check(&self) -> Result<()>;
}

/// The outcome of comparing entries.
pub(crate) enum Compared {
    Distinct,
    /// The position of an entry that clashes with an earlier entry.
    Clash(u32),
    /// There are too many entries to compare without memory from the caller.
    TooMany,
}

impl Compared {
    fn of(found: Clash) -> Self {
        found.map_or(Self::Distinct, |(_, position)| Self::Clash(position))
    }
}

/// Memory in which entries are compared.
pub(crate) trait Memory {
    /// Compares `count` entries.
    fn compare<D: Distinct<Position = u32>>(
        &mut self,
        items: &mut D,
        start: D::Place,
        count: u32,
    ) -> Result<Compared>;
}

/// A little memory on the stack, for up to [`MAX_COMPARED`] entries.
pub(crate) struct Stack;

impl Memory for Stack {
    fn compare<D: Distinct<Position = u32>>(
        &mut self,
        items: &mut D,
        start: D::Place,
        count: u32,
    ) -> Result<Compared> {
        if count > MAX_COMPARED {
            return Ok(Compared::TooMany);
        }
        let found = clash_on_stack(items, start)?;
        items.check()?;
        Ok(Compared::of(found))
    }
}

/// A little memory on the stack for the hashes of up to [`MAX_COMPARED`] entries that rarely clash. If two hashes are
/// equal, the entries are compared as in [`Stack`].
#[cfg(not(target_os = "none"))]
pub(crate) struct Hashed;

#[cfg(not(target_os = "none"))]
impl Memory for Hashed {
    fn compare<D: Distinct<Position = u32>>(
        &mut self,
        items: &mut D,
        start: D::Place,
        count: u32,
    ) -> Result<Compared> {
        Ok(if count > MAX_COMPARED { Compared::TooMany } else { Compared::of(clash_of_hashed(items, start, count)) })
    }
}

/// The caller's memory, for up to [`MAX_PASSES`] entries per word.
impl Memory for [u32] {
    fn compare<D: Distinct<Position = u32>>(
        &mut self,
        items: &mut D,
        start: D::Place,
        count: u32,
    ) -> Result<Compared> {
        check_room(count.into(), self.len())?;
        clash(items, start, self).map(Compared::of)
    }
}

/// Fails with `OutOfScratch` if `count` entries cannot be compared in [`MAX_PASSES`] passes with memory for `positions`
/// positions. Called before any entry is read.
pub(crate) fn check_room(count: u64, positions: usize) -> Result<()> {
    let is_room = count <= to_u64(positions).saturating_mul(MAX_PASSES.into());
    if is_room { Ok(()) } else { Err(Error::new(ErrorKind::OutOfScratch)) }
}

/// The index and the position of an entry that clashes with an earlier entry; `None` if no entries clash.
pub(crate) type Clash<P = u32> = Option<(u32, P)>;

/// Compares `count` entries, at most [`MAX_COMPARED`], that rarely clash. Hosts compare their hashes first, which needs
/// no sorting. The caller must detect entries that have changed since the file was opened.
pub(crate) fn clash_of_hashed<D: Distinct>(items: &mut D, start: D::Place, count: u32) -> Clash<D::Position> {
    #[cfg(not(small))]
    return if do_hashes_differ(items, start, count) { None } else { clash_on_stack(items, start).unwrap_or(None) };
    #[cfg(small)]
    {
        let _ = count;
        find_duplicate_small(items, start)
    }
}

/// True if the hashes of all entries differ and there is room for all hashes.
#[cfg(not(small))]
#[inline(never)] // frees its stack before the entries are sorted
fn do_hashes_differ<D: Distinct>(items: &mut D, start: D::Place, count: u32) -> bool {
    let mut place = start;
    Hashes::with(count, |mut hashes| {
        while let Some((item, _)) = items.next(&mut place) {
            if !hashes.add(item.hash().max(1)) {
                return false;
            }
        }
        true
    })
}

/// Compares up to [`MAX_COMPARED`] entries with a little memory on the stack.
#[cfg_attr(not(small), inline(never))] // keeps its memory off the stack for sorted entries
pub(crate) fn clash_on_stack<D: Distinct>(items: &mut D, start: D::Place) -> Result<Clash<D::Position>> {
    // Sorting takes only n log n comparisons. Chips need the flash more.
    #[cfg(not(small))]
    return clash(items, start, &mut [0; BLOCK]);
    #[cfg(small)]
    Ok(find_duplicate_small(items, start))
}

/// Compares up to [`MAX_COMPARED`] entries with little memory and code. Each pass remembers a block of entries, and
/// compares every later entry with the block.
#[cfg(any(test, small))]
#[inline(never)] // keeps its memory off the stack for sorted entries, as real programs write them
pub(crate) fn find_duplicate_small<D: Distinct>(items: &mut D, start: D::Place) -> Clash<D::Position> {
    // The first entry after all blocks so far, and its index.
    let (mut next, mut first) = (start, 0_u32);
    loop {
        // The hash and the position of each entry.
        let mut block = heapless::Vec::<(u32, D::Position), BLOCK>::new();
        let (mut place, mut index) = (next, first);
        while let Some((item, at)) = items.next(&mut place) {
            let hash = item.hash();
            // An entry that joins the block is compared only with earlier entries, since it is added afterwards.
            if block.iter().any(|&(other, position)| other == hash && items.at(position).clashes_with(item)) {
                return Some((index, at));
            }
            if block.push((hash, at)).is_ok() {
                next = place;
                first = first.wrapping_add(1);
            }
            index = index.wrapping_add(1);
        }
        if !block.is_full() {
            return None;
        }
    }
}

/// The evidence that the names read so far differ: they are sorted, or their hashes differ. Without either, the names
/// must be [compared](Memory::compare).
pub(crate) struct Seen<'m, 'a> {
    last: Option<&'a [u8]>,
    are_sorted: bool,
    /// Chips lack the memory for the hashes.
    #[cfg(not(small))]
    hashes: Hashes<'m>,
    #[cfg(small)]
    hashes: PhantomData<&'m ()>,
}

impl<'a> Seen<'_, 'a> {
    /// Calls `read` with the evidence of no names. `count` is the number of names that `read` adds, in all lists.
    #[inline(always)]
    pub(crate) fn with<T>(count: u32, read: impl FnOnce(&mut Seen<'_, 'a>) -> T) -> T {
        #[cfg(not(small))]
        return Hashes::with(count, |hashes| read(&mut Seen { last: None, are_sorted: true, hashes }));
        #[cfg(small)]
        {
            let _ = count;
            read(&mut Seen { last: None, are_sorted: true, hashes: PhantomData })
        }
    }

    /// Starts another list of names. The names added before still take up memory.
    pub(crate) const fn begin(&mut self) {
        (self.last, self.are_sorted) = (None, true);
        #[cfg(not(small))]
        {
            self.hashes.do_differ = true;
        }
    }

    /// Adds a name that is not in one piece in the file, and comes in no particular order. Without the name, the names
    /// have to be compared.
    #[cfg(feature = "pytorch")]
    pub(crate) fn add_joined(&mut self, name: Option<&[u8]>) {
        self.are_sorted = false;
        #[cfg(not(small))]
        {
            let hashes = &mut self.hashes;
            hashes.do_differ = hashes.do_differ && name.is_some_and(|name| hashes.add(word_hash(name).0));
        }
        #[cfg(small)]
        let _ = name;
    }

    pub(crate) const fn are_distinct(&self) -> bool {
        #[cfg(not(small))]
        return self.are_sorted || self.hashes.do_differ;
        #[cfg(small)]
        self.are_sorted
    }

    /// Adds a name, and returns whether the name is UTF-8.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn add(&mut self, name: &'a [u8]) -> bool {
        if self.are_sorted {
            self.are_sorted = self.last.is_none_or(|last| is_before(last, name));
            self.last = Some(name);
        }
        #[cfg(not(small))]
        {
            let (hash, is_ascii) = word_hash(name);
            self.hashes.do_differ = self.hashes.do_differ && self.hashes.add(hash);
            if is_ascii {
                return true;
            }
        }
        is_utf8(name)
    }
}

/// The hashes of up to [`MAX_COMPARED`] names, as long as they differ.
#[cfg(not(small))]
struct Hashes<'m> {
    /// Each hash is in the place that it selects or in one of the next 15; 0 marks an empty place. The number of places
    /// is a power of two.
    places: &'m mut [u32],
    free: u32,
    do_differ: bool,
}

#[cfg(not(small))]
impl<'m> Hashes<'m> {
    /// Calls `compare` with room for `count` hashes, at most [`MAX_COMPARED`]. Clearing the places for the most hashes
    /// takes longer than opening a file with a few tensors, so fewer hashes get fewer places.
    #[inline(always)]
    fn with<T>(count: u32, compare: impl FnOnce(Hashes<'_>) -> T) -> T {
        let (mut few, mut some, mut many);
        let places: &mut [u32] = match count {
            0..=32 => {
                few = [0; 64];
                &mut few
            }
            33..=512 => {
                some = [0; 1024];
                &mut some
            }
            _ => {
                many = [0; 2048];
                &mut many
            }
        };
        compare(Hashes::of(places))
    }

    /// Half of the places are used at most.
    fn of(places: &'m mut [u32]) -> Self {
        let free = u32::try_from(places.len() >> 1).unwrap_or(0);
        Self { places, free, do_differ: true }
    }

    /// Adds a hash. Returns false if there is no room, or if the hash is already present.
    #[inline(always)]
    fn add(&mut self, hash: u32) -> bool {
        let Some(free) = self.free.checked_sub(1) else { return false };
        self.free = free;
        let mask = self.places.len().wrapping_sub(1);
        // The last characters of a name, such as the digits of a number, are in the upper bits.
        let first = hash ^ hash >> 16;
        for step in 0..16 {
            let place = to_usize(first.wrapping_add(step).into()).unwrap_or(0) & mask;
            match self.places.get_mut(place) {
                Some(other) if *other == 0 => {
                    *other = hash;
                    return true;
                }
                Some(other) if *other != hash => {}
                _ => return false,
            }
        }
        false
    }
}

/// Returns a hash that is not 0, computed from eight bytes at a time, and whether all bytes are ASCII.
#[cfg(not(small))]
#[inline]
fn word_hash(name: &[u8]) -> (u32, bool) {
    let (mut hash, mut all) = (to_u64(name.len()), 0);
    let mut add = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        all |= word;
    };
    let mut rest = name;
    while let Some((word, after)) = rest.split_first_chunk() {
        add(u64::from_le_bytes(*word));
        rest = after;
    }
    add(match name.last_chunk() {
        Some(word) => u64::from_le_bytes(*word), // may repeat some bytes
        None => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    });
    let [a, b, c, d, ..] = hash.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]).max(1), all & 0x8080_8080_8080_8080 == 0)
}

/// Compares all entries using `scratch`, which must have room for at least one position. With room for all positions,
/// the entries are read once; otherwise they are read once for each block that fits, at most [`MAX_PASSES`] times.
/// Returns the entry that clashes with an earlier entry; this is also the last entry read. If several names are
/// repeated, the first repetition in the file is returned, with any amount of memory.
pub(crate) fn clash<D: Distinct>(items: &mut D, start: D::Place, scratch: &mut [u32]) -> Result<Clash<D::Position>> {
    let slots = D::Position::slots(scratch);
    let (mut next, mut found) = (start, None);
    if slots.is_empty() {
        return Err(Error::new(ErrorKind::OutOfScratch));
    }
    for pass in 0..MAX_PASSES {
        let mut filled = 0_usize;
        for slot in slots.iter_mut() {
            let Some((_, at)) = items.next(&mut next) else { break };
            *slot = at;
            filled = filled.saturating_add(1);
        }
        let is_last = filled < slots.len() || items.next(&mut { next }).is_none();
        let block = slots.get_mut(..filled).unwrap_or_default();
        // Positions in this block and in later blocks are greater than `found`.
        if found.is_some() && found < block.first().copied() {
            break;
        }
        let later = clash_with_block(items, (pass > 0 || !is_last).then_some(start), block);
        items.check()?;
        found = [found, later].into_iter().flatten().min();
        if is_last {
            return Ok(found.map(|position| (index_of(items, start, position), position)));
        }
    }
    match found {
        Some(position) => Ok(Some((index_of(items, start, position), position))),
        None => Err(Error::new(ErrorKind::OutOfScratch)),
    }
}

/// Compares the entries of a block with each other, and, if `start` is given, with the other entries of the file from
/// `start` on. Sorts the block.
#[inline]
fn clash_with_block<D: Distinct>(
    items: &mut D,
    start: Option<D::Place>,
    block: &mut [D::Position],
) -> Option<D::Position> {
    let (first, last) = (block.first().copied(), block.last().copied());
    sort_by(block, |a, b| items.at(a).order(items.at(b)).then(a.cmp(&b)).is_lt());
    // The later entry of a clashing pair is reported.
    let clashing = block.windows(2).filter_map(|two| {
        let [a, b] = two else { return None };
        items.at(*a).clashes_with(items.at(*b)).then_some(*a.max(b))
    });
    let later = clashing.min();
    let Some(mut place) = start.filter(|_| later.is_none()) else { return later };
    // Looks up each entry outside the block. A clashing pair is found in the pass whose block contains the second entry
    // of the pair in sort order. Each entry is read once, not once per comparison.
    while let Some((item, at)) = items.next(&mut place) {
        if first <= Some(at) && Some(at) <= last {
            continue; // the entry is in the block
        }
        let after = block.partition_point(|&other| items.at(other).order(item).is_lt());
        let clashing = block.get(after).filter(|&&other| item.clashes_with(items.at(other)));
        if let Some(other) = clashing {
            return Some(*other.max(&at));
        }
    }
    None
}

/// Returns the index of the entry at `position`.
fn index_of<D: Distinct>(items: &mut D, start: D::Place, position: D::Position) -> u32 {
    let (mut place, mut index) = (start, 0_u32);
    while items.next(&mut place).is_some_and(|(_, at)| at != position) {
        index = index.wrapping_add(1);
    }
    index
}

/// Sorts items by heapsort, as [`sort_places`] does.
pub(crate) fn sort_by<P: Copy>(items: &mut [P], is_less: impl Fn(P, P) -> bool) {
    let items = Cell::from_mut(items).as_slice_of_cells();
    let at = |i: usize| items.get(i).map(Cell::get);
    let is_less = |a, b| matches!((at(a), at(b)), (Some(a), Some(b)) if is_less(a, b));
    sort_places(items.len(), is_less, |a, b| {
        if let (Some(a), Some(b)) = (items.get(a), items.get(b)) {
            b.set(a.replace(b.get()));
        }
    });
}

/// Heapsort of `length` items, of which only their places are known here: in place, without recursion, and with no slow
/// input order. (The sort of `core` keeps a panic path for inconsistent orders, which changing bytes may produce.)
pub(crate) fn sort_places(length: usize, is_less: impl Fn(usize, usize) -> bool, swap: impl Fn(usize, usize)) {
    let sift = |mut root: usize, end: usize| {
        loop {
            let left = root.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if left >= end {
                return;
            }
            let larger = if right < end && is_less(left, right) { right } else { left };
            if !is_less(root, larger) {
                return;
            }
            swap(root, larger);
            root = larger;
        }
    };
    for root in (0..(length >> 1)).rev() {
        sift(root, length);
    }
    for end in (1..length).rev() {
        swap(0, end);
        sift(0, end);
    }
}

#[cfg(test)]
mod tests;
