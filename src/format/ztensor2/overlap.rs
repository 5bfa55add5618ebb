//! Checks the positions of all components while the manifest is read: the bytes of any two must be identical or
//! disjoint (section 2.4), and bytes in a shard must be inside the shard.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

#[cfg(not(small))]
use super::manifest::ALIGNMENT;
use super::manifest::FOOTER;
use super::shards::{Index, Table};
use crate::bytes::extent::Extent;
#[cfg(not(small))]
use crate::bytes::num::{quotient, to_u64};
use crate::bytes::utf8::{Utf8, is_before};
use crate::codec::cbor::AllPlain;
use crate::codec::cbor::strict::Reader;
use crate::duplicates::{self, Entry as _};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::ComponentRecord;

/// The position of a component's bytes. A component without bytes has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Blob<'a> {
    /// The name of the shard; empty for bytes in the file itself.
    pub(super) shard: &'a [u8],
    pub(super) extent: Extent,
}

impl<'a> Blob<'a> {
    fn of(part: &ComponentRecord<'a>) -> Self {
        Self { shard: part.shard.map_or(&[], Utf8::bytes), extent: part.extent }
    }

    /// Returns true if both are in the same file. (memcmp on two empty names takes 100 ns if the C library uses
    /// AVX-512.)
    fn is_beside(self, other: Self) -> bool {
        self.shard.is_empty() && other.shard.is_empty() || self.shard == other.shard
    }

    /// Returns true if this blob sorts after `last`, and is identical to it or disjoint from it.
    fn follows(self, last: Self) -> bool {
        if !self.is_beside(last) {
            return is_before(last.shard, self.shard);
        }
        self.extent.offset >= last.extent.offset && !self.clashes_with(last)
    }
}

impl duplicates::Entry for Blob<'_> {
    fn order(self, other: Self) -> Ordering {
        self.shard.cmp(other.shard).then_with(|| self.extent.order(other.extent))
    }

    /// Identical blobs do not clash.
    #[inline(never)]
    fn clashes_with(self, other: Self) -> bool {
        self.extent != other.extent && self.extent.clashes_with(other.extent) && self.is_beside(other)
    }

    fn hash(self) -> u32 {
        0 // the hash of every extent
    }
}

/// The maximum number of extents in the file itself that hosts remember on opening. Sorting these is far faster than
/// reading the components again, as `compare` does.
#[cfg(not(small))]
const EXTENTS: usize = 2048;

/// An extent in one word: its offset in units of the alignment, above its length. Sorts by offset.
#[cfg(not(small))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64);

#[cfg(not(small))]
impl Packed {
    /// Returns `None` if the extent has 4 GiB or more, or begins at 16 TiB or more. Its offset must be aligned.
    fn of(extent: Extent) -> Option<Self> {
        let unit = u32::try_from(quotient(extent.offset, ALIGNMENT)).ok()?;
        let length = u32::try_from(extent.length).ok()?;
        Some(Self(u64::from(unit) << 32 | u64::from(length)))
    }

    /// Returns true if this extent is identical to `next` or disjoint from it. `next` follows in sorted order; neither
    /// is empty.
    fn is_apart_from(self, next: Self) -> bool {
        let [unit, next_unit] = [self, next].map(|packed| packed.0 >> 32);
        let length = self.0 & u64::from(u32::MAX);
        self == next || length <= next_unit.saturating_sub(unit).saturating_mul(ALIGNMENT)
    }
}

/// The number of components that chips remember, which lack memory for more. One walk over the manifest compares all
/// later components with this block; the next walk does so for the next block.
#[cfg(small)]
const BLOCK: u32 = 8;
#[cfg(small)]
#[allow(clippy::as_conversions)] // widens
const BLOCK_SIZE: usize = BLOCK as usize;

/// Returns true if all extents are identical or disjoint. Sorts them by merging neighbouring sorted runs. The order of
/// the names in a file differs from that of their bytes, but mostly agrees among names of equal length.
#[cfg(not(small))]
#[inline(never)] // keeps its memory off the stack if the extents are sorted
fn are_apart(extents: &mut [Packed]) -> bool {
    let mut spare = heapless::Vec::<Packed, EXTENTS>::new();
    if spare.extend_from_slice(extents).is_err() {
        return false;
    }
    let (mut from, mut to) = (extents, spare.as_mut_slice());
    let mut runs = usize::MAX;
    while runs > 1 {
        runs = 0;
        let (mut rest, mut slots) = (&*from, to.iter_mut());
        while !rest.is_empty() {
            let (mut one, after) = split_run(rest);
            let (mut other, after) = split_run(after);
            rest = after;
            runs = runs.saturating_add(1);
            for slot in slots.by_ref().take(one.len().saturating_add(other.len())) {
                let is_one_next = match (one, other) {
                    ([a, ..], [b, ..]) => a <= b,
                    (one, _) => !one.is_empty(),
                };
                let next = if is_one_next { &mut one } else { &mut other };
                let Some((first, after)) = next.split_first() else { return false };
                (*slot, *next) = (*first, after);
            }
        }
        core::mem::swap(&mut from, &mut to);
    }
    from.windows(2).all(|two| if let [a, b] = two { a.is_apart_from(*b) } else { true })
}

/// Splits off the sorted run at the front.
#[cfg(not(small))]
fn split_run(extents: &[Packed]) -> (&[Packed], &[Packed]) {
    let falls = |two: &[Packed]| if let [a, b] = two { a > b } else { false };
    let length = extents.windows(2).position(falls).map_or(extents.len(), |last| last.saturating_add(1));
    extents.split_at_checked(length).unwrap_or((extents, &[]))
}

/// The positions of the components read so far, as far as they are remembered.
pub(super) struct Seen<'a> {
    last: Blob<'a>,
    /// The number of components with bytes.
    pub(super) count: u32,
    /// True if the order of the components shows that all are identical or disjoint.
    are_sorted: bool,
    pub(super) are_plain: AllPlain,
    /// The extents of all components. Incomplete if some are in shards or too long, or if there are too many.
    #[cfg(not(small))]
    extents: heapless::Vec<Packed, EXTENTS>,
    #[cfg(small)]
    block: Block<'a>,
}

/// Consecutive components, with which all later ones are compared.
#[cfg(small)]
struct Block<'a> {
    places: heapless::Vec<Blob<'a>, BLOCK_SIZE>,
    /// The number of components before the block.
    before: u32,
    /// True if a later component overlaps one in the block.
    has_overlap: bool,
}

impl<'a> Seen<'a> {
    pub(super) const fn new() -> Self {
        Self {
            last: Blob { shard: &[], extent: Extent::new(0, 0) },
            count: 0,
            are_sorted: true,
            are_plain: AllPlain::new(true),
            #[cfg(not(small))]
            extents: heapless::Vec::new(),
            #[cfg(small)]
            block: Block { places: heapless::Vec::new(), before: 0, has_overlap: false },
        }
    }

    /// Returns true if the bytes of all components are known to be identical or disjoint.
    pub(super) fn are_apart(&mut self) -> bool {
        #[cfg(not(small))]
        if !self.are_sorted && self.are_remembered() {
            return are_apart(&mut self.extents);
        }
        self.are_sorted
    }

    /// Returns true if the extents of all components are remembered, so that any overlap can be detected.
    #[cfg(not(small))]
    pub(super) fn are_remembered(&self) -> bool {
        to_u64(self.extents.len()) == u64::from(self.count)
    }

    /// Adds the position of a component. Returns true if the component is the first that overlaps one in the block; on
    /// hosts, which have no block, false.
    #[inline]
    fn add(&mut self, blob: Blob<'a>) -> bool {
        if blob.extent.length == 0 {
            return false;
        }
        self.are_sorted &= blob.follows(self.last);
        self.last = blob;
        #[cfg(not(small))]
        if let (true, Some(extent)) = (blob.shard.is_empty(), Packed::of(blob.extent)) {
            let _ = self.extents.push(extent);
        }
        let index = self.count;
        self.count = self.count.saturating_add(1); // a component takes at least one byte of the manifest
        #[cfg(small)]
        if index >= self.block.before {
            // While the components are sorted, none overlap.
            let overlaps = |other: &Blob<'a>| other.clashes_with(blob);
            if !self.block.has_overlap && !self.are_sorted && self.block.places.iter().any(overlaps) {
                self.block.has_overlap = true;
                return true;
            }
            let _ = self.block.places.push(blob); // has no effect after the block
        }
        #[cfg(not(small))]
        let _ = index;
        false
    }

    /// Returns true if an overlap has been found.
    #[cfg(small)]
    pub(super) const fn has_overlap(&self) -> bool {
        self.block.has_overlap
    }

    /// Begins the next block, for another walk over the manifest. Returns false if no block is left.
    #[cfg(small)]
    pub(super) fn begin_next_block(&mut self) -> bool {
        let before = self.block.before.saturating_add(BLOCK);
        let is_left = before < self.count;
        self.block.before = before;
        self.block.places.clear();
        (self.count, self.are_sorted) = (0, false);
        is_left
    }
}

/// A walk over the manifest that checks the position of each component.
pub(super) struct ManifestWalk<'s, 'a> {
    shards: Index<'s, 'a>,
    /// True if the shards of components are looked up.
    pub(super) are_shards_found: bool,
    pub(super) seen: &'s mut Seen<'a>,
}

impl<'s, 'a> ManifestWalk<'s, 'a> {
    /// Begins a walk. `slots` is memory for the positions of shards.
    pub(super) fn new(table: Table<'a>, slots: &'s mut [u32], seen: &'s mut Seen<'a>) -> Self {
        Self { shards: Index::new(table, slots), are_shards_found: false, seen }
    }

    /// Returns true if the shards are few enough to be looked up on opening.
    pub(super) fn are_shards_few(&self) -> bool {
        self.shards.is_fine()
    }

    /// Adds a component whose position is `at`.
    #[inline]
    pub(super) fn add(&mut self, reader: &mut Reader<'a>, part: &ComponentRecord<'a>, at: u32) -> Option<()> {
        if let (Some(name), true) = (part.shard, self.are_shards_found) {
            self.find_shard(reader, name, part, at)?;
        }
        if self.seen.add(Blob::of(part)) {
            // The reader keeps this error unless it finds another fault.
            let _ = reader.stop_in::<()>(Part::Offset, ErrorKind::Overlap, at);
        }
        Some(())
    }

    /// Adds a component in the file itself.
    #[inline]
    pub(super) fn add_own(&mut self, extent: Extent) {
        self.seen.add(Blob { shard: &[], extent });
    }

    /// Checks that a component is inside its shard.
    #[inline(never)]
    fn find_shard(
        &mut self,
        reader: &mut Reader<'a>,
        name: Utf8<'a>,
        part: &ComponentRecord<'a>,
        at: u32,
    ) -> Option<()> {
        let Some(size) = self.shards.size(name) else {
            return reader.stop_in(Part::Shard, ErrorKind::UnknownShard, at);
        };
        if !part.extent.is_within(size.saturating_sub(FOOTER)) {
            return reader.stop_in(Part::Offset, ErrorKind::OutOfShard, at);
        }
        Some(())
    }
}

#[cfg(all(test, not(small)))]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    #[test]
    fn extents_in_any_order() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut apart, mut clashing) = (0, 0);
        for round in 0..20_000 {
            let longest = if round % 2 == 0 { 2 } else { 9 };
            let mut all: Vec<Extent> = (0..random(12))
                .map(|_| Extent::new(4096 * random(60), 1024 * random(4 * longest) + random(3) % 2 + 1))
                .collect();
            if let (Some(first), 0) = (all.first().copied(), random(2)) {
                all.push(first);
            }
            let clash = |a: &Extent, b: &Extent| a != b && a.clashes_with(*b);
            let expected = !all.iter().any(|a| all.iter().any(|b| clash(a, b)));
            let mut packed: Vec<Packed> = all.iter().filter_map(|extent| Packed::of(*extent)).collect();
            assert_eq!((packed.len(), are_apart(&mut packed)), (all.len(), expected), "{all:?}");
            *(if expected { &mut apart } else { &mut clashing }) += 1;
        }
        assert!(apart > 3000 && clashing > 3000, "{apart} {clashing}");
    }

    #[test]
    fn extents_in_one_word() {
        let longest = u64::from(u32::MAX);
        let of = |unit: u64, length: u64| Packed::of(Extent::new(unit * ALIGNMENT, length));
        assert!(of(longest, longest).is_some());
        assert!(of(longest + 1, 1).is_none() && of(1, longest + 1).is_none());
        let page = |unit| of(unit, ALIGNMENT).unwrap();
        assert!(page(1).is_apart_from(page(2)) && !of(1, ALIGNMENT + 1).unwrap().is_apart_from(page(2)));
        let (first, long) = (of(1, longest).unwrap(), (longest + 1) / ALIGNMENT);
        assert!(first.is_apart_from(of(1 + long, longest).unwrap()) && !first.is_apart_from(of(long, 1).unwrap()));
    }
}
