//! The extents of components that hosts remember while the manifest is read. They are sorted and compared once, at the
//! end. On chips, `remembered_small.rs` takes the place of this file.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::blob::Blob;
use super::manifest::ALIGNMENT;
use crate::bytes::extent::Extent;
use crate::bytes::num::{quotient, to_u64};

/// The maximum number of extents in the file itself that are remembered on opening. Sorting these is far faster than
/// reading the components again, as `compare` does.
const EXTENTS: usize = 2048;

/// An extent in one word: its offset in units of the alignment, above its length. Sorts by offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64);

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

/// Returns true if all extents are identical or disjoint. Sorts them by merging neighbouring sorted runs. The order of
/// the names in a file differs from that of their bytes, but mostly agrees among names of equal length.
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
fn split_run(extents: &[Packed]) -> (&[Packed], &[Packed]) {
    let falls = |two: &[Packed]| if let [a, b] = two { a > b } else { false };
    let length = extents.windows(2).position(falls).map_or(extents.len(), |last| last.saturating_add(1));
    extents.split_at_checked(length).unwrap_or((extents, &[]))
}

/// The extents of all components. Incomplete if some are in shards or too long, or if there are too many.
pub(super) struct Remembered<'a> {
    extents: heapless::Vec<Packed, EXTENTS>,
    blobs: PhantomData<Blob<'a>>,
}

impl<'a> Remembered<'a> {
    pub(super) const fn new() -> Self {
        Self { extents: heapless::Vec::new(), blobs: PhantomData }
    }

    /// Adds a component. Returns false: nothing is compared yet.
    #[inline]
    pub(super) fn add(&mut self, blob: Blob<'a>, _: u32, _: bool) -> bool {
        if let (true, Some(extent)) = (blob.shard.is_empty(), Packed::of(blob.extent)) {
            let _ = self.extents.push(extent);
        }
        false
    }

    /// Returns true if the extents of all `count` components are remembered.
    pub(super) fn are_all(&self, count: u32) -> bool {
        to_u64(self.extents.len()) == u64::from(count)
    }

    /// Returns true if the extents of all `count` components are remembered, and are identical or disjoint.
    pub(super) fn are_apart(&mut self, count: u32) -> bool {
        self.are_all(count) && are_apart(&mut self.extents)
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;
    use crate::duplicates::Entry as _;

    #[test]
    fn extents_in_any_order() {
        let mut random = crate::bytes::tests::random(7);
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
