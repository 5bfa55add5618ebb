//! Where the bytes of all components are: the same or apart (section 2.4), and inside the shards that they are in.
//!
//! Depends on `super`, `codec::cbor_strict`, `distinct`.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::entry::OBJECT;
use super::shards::{Index, Table};
use super::{FOOTER, Keys, Ztensor2File, entry};
use crate::bytes::extent::Extent;
#[cfg(target_pointer_width = "64")]
use crate::bytes::num::to_u64;
use crate::codec::cbor_strict::Reader;
#[cfg(target_pointer_width = "64")]
use crate::distinct::Item as _;
use crate::distinct::{self, Distinct};
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};
use crate::format::ComponentRecord;
use crate::place::Item;

/// Where the bytes of a component are; not of one without bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Blob<'a> {
    shard: Option<&'a [u8]>,
    extent: Extent,
}

impl<'a> Blob<'a> {
    fn of(part: &ComponentRecord<'a>) -> Self {
        Self { shard: part.shard.map(|shard| shard.bytes()), extent: part.extent }
    }
}

impl distinct::Item for Blob<'_> {
    fn order(self, other: Self) -> Ordering {
        self.shard.cmp(&other.shard).then_with(|| self.extent.order(other.extent))
    }

    /// Those that are the same do not.
    fn clashes_with(self, other: Self) -> bool {
        self != other && self.shard == other.shard && self.extent.clashes_with(other.extent)
    }

    fn hash(self) -> u32 {
        0 // as that of every extent
    }
}

/// How many extents in the file itself are remembered on opening: sorting them is faster by far than reading them again,
/// as [`Places`] does. Chips lack the memory.
#[cfg(target_pointer_width = "64")]
const EXTENTS: usize = 1024;

/// Whether extents are the same or apart. Puts them in order, by merging neighbouring runs that are: the names in a file
/// are in another order than their bytes, but those of one length are mostly not.
#[cfg(target_pointer_width = "64")]
#[inline(never)] // keeps its memory off the stack for those in order
fn are_apart(extents: &mut [Extent]) -> bool {
    let mut spare = [Extent::default(); EXTENTS];
    let Some(spare) = spare.get_mut(..extents.len()) else { return false };
    let (mut from, mut to) = (extents, spare);
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
                    ([a, ..], [b, ..]) => a.order(*b).is_le(),
                    (one, _) => !one.is_empty(),
                };
                let next = if is_one_next { &mut one } else { &mut other };
                let Some((first, after)) = next.split_first() else { return false };
                (*slot, *next) = (*first, after);
            }
        }
        core::mem::swap(&mut from, &mut to);
    }
    from.windows(2).all(|two| if let [a, b] = two { a == b || !a.clashes_with(*b) } else { true })
}

/// Splits off the extents at the front that are in order.
#[cfg(target_pointer_width = "64")]
fn split_run(extents: &[Extent]) -> (&[Extent], &[Extent]) {
    let falls = |two: &[Extent]| if let [a, b] = two { a.order(*b).is_gt() } else { false };
    let length = extents.windows(2).position(falls).map_or(extents.len(), |last| last.saturating_add(1));
    extents.split_at_checked(length).unwrap_or((extents, &[]))
}

/// What is known of the components read so far, in one pass over all of them.
pub(super) struct Pass<'s, 'a> {
    shards: Index<'s, 'a>,
    /// Whether the shards are looked up: not on opening if they are too many for that.
    pub(super) are_shards_found: bool,
    last: Option<Blob<'a>>,
    /// How many have bytes, and whether their order shows that they are the same or apart.
    pub(super) count: u32,
    are_sorted: bool,
    /// The extents of them all, in the file itself; too few if some are in shards, or there are too many.
    #[cfg(target_pointer_width = "64")]
    extents: heapless::Vec<Extent, EXTENTS>,
}

impl<'s, 'a> Pass<'s, 'a> {
    /// Begins; `slots` are memory for the positions of shards. On opening, which `may_defer` to look them up.
    pub(super) fn new(table: Table<'a>, slots: &'s mut [u32], may_defer: bool) -> Self {
        let shards = Index::new(table, slots);
        let are_shards_found = shards.is_fine() || !may_defer;
        Self {
            shards,
            are_shards_found,
            last: None,
            count: 0,
            are_sorted: true,
            #[cfg(target_pointer_width = "64")]
            extents: heapless::Vec::new(),
        }
    }

    /// Whether it is known that the bytes of all components are the same or apart.
    pub(super) fn are_apart(&mut self) -> bool {
        #[cfg(target_pointer_width = "64")]
        if !self.are_sorted && to_u64(self.extents.len()) == u64::from(self.count) {
            return are_apart(&mut self.extents);
        }
        self.are_sorted
    }

    /// Adds a component, which is at `at`.
    #[inline]
    pub(super) fn add(&mut self, reader: &mut Reader<'a>, part: &ComponentRecord<'a>, at: u32) -> Option<()> {
        if part.shard.is_some() {
            self.find_shard(reader, part, at)?;
        }
        let blob = Blob::of(part);
        if blob.extent.length == 0 {
            return Some(());
        }
        #[cfg(target_pointer_width = "64")]
        if blob.shard.is_none() {
            let _ = self.extents.push(blob.extent);
        }
        self.count = self.count.saturating_add(1); // each takes at least one byte of the manifest
        let follows = |last: Blob<'a>| {
            let distance = blob.extent.offset.checked_sub(last.extent.offset);
            let is_apart = distance.is_some_and(|distance| distance >= last.extent.length);
            if blob.shard == last.shard { is_apart || blob == last } else { last.shard < blob.shard }
        };
        self.are_sorted &= self.last.is_none_or(follows);
        self.last = Some(blob);
        Some(())
    }

    /// Holds a component to be inside the shard that it is in.
    #[inline(never)]
    fn find_shard(&mut self, reader: &mut Reader<'a>, part: &ComponentRecord<'a>, at: u32) -> Option<()> {
        let Some(name) = part.shard.filter(|_| self.are_shards_found) else { return Some(()) };
        let Some(size) = self.shards.size(name) else {
            return reader.stop_in(Item::Shard, ErrorKind::UnknownShard, at);
        };
        if !part.extent.is_within(size.saturating_sub(FOOTER)) {
            return reader.stop_in(Item::Offset, ErrorKind::OutOfShard, at);
        }
        Some(())
    }
}

/// The extents of all components that have bytes, by their positions in the manifest.
pub(super) struct Places<'r, 'a> {
    pub(super) file: &'r Ztensor2File<'a>,
    pub(super) error: Option<Error>,
}

/// The next tensor, and the next component of the one before it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    objects: Keys,
    parts: Keys,
}

impl<'a> Places<'_, 'a> {
    pub(super) fn start(&self) -> Place {
        Place { objects: self.file.objects, parts: Keys::NONE }
    }

    /// Reads the component at `place`, whose position it also returns; `None` after the last.
    fn read(&self, reader: &mut Reader<'a>, place: &mut Place) -> Option<Option<(Blob<'a>, u32)>> {
        let mut part = ComponentRecord::blank();
        loop {
            while let Some(left) = place.parts.left.checked_sub(1) {
                let at = place.parts.at;
                *reader = self.file.manifest.reader(at);
                entry::component(&self.file.manifest, reader, &mut &[][..], &mut part)?;
                place.parts = Keys { at: reader.position(), left };
                if part.extent.length > 0 {
                    return Some(Some((Blob::of(&part), at)));
                }
            }
            let Some(left) = place.objects.left.checked_sub(1) else { return Some(None) };
            *reader = self.file.manifest.reader(place.objects.at);
            reader.text()?;
            let mut record = reader.record(OBJECT)?;
            loop {
                match reader.field(&mut record, 2)? {
                    Item::File => break,
                    Item::Components => {
                        let mut parts = self.file.manifest.reader(reader.position());
                        place.parts = Keys::read(&mut parts)?;
                    }
                    _ => {}
                }
                reader.skip_value(3)?;
            }
            place.objects = Keys { at: reader.position(), left };
        }
    }
}

impl<'a> Distinct for Places<'_, 'a> {
    type Item = Blob<'a>;
    type Place = Place;

    fn next(&mut self, place: &mut Place) -> Option<(Blob<'a>, u32)> {
        let mut reader = self.file.manifest.reader(0);
        let next = self.read(&mut reader, place);
        if next.is_none() {
            self.error = Some(self.file.manifest.error(&reader));
        }
        next.flatten()
    }

    fn at(&self, position: u32) -> Blob<'a> {
        let mut part = ComponentRecord::blank();
        let mut reader = self.file.manifest.reader(position);
        reader.entry = NO_ENTRY;
        let _ = entry::component(&self.file.manifest, &mut reader, &mut &[][..], &mut part); // it has been read before
        Blob::of(&part)
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
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
            let mut all: Vec<Extent> =
                (0..random(12)).map(|_| Extent::new(4 * random(60), 1 + random(longest))).collect();
            if let (Some(first), 0) = (all.first().copied(), random(2)) {
                all.push(first);
            }
            let clash = |a: &Extent, b: &Extent| a != b && a.clashes_with(*b);
            let expected = !all.iter().any(|a| all.iter().any(|b| clash(a, b)));
            assert_eq!(are_apart(&mut all.clone()), expected, "{all:?}");
            *(if expected { &mut apart } else { &mut clashing }) += 1;
        }
        assert!(apart > 3000 && clashing > 3000, "{apart} {clashing}");
    }
}
