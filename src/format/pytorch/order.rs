//! The list of keys of a stream, so that a key is found in few steps.
#![forbid(unsafe_code)]

use super::legacy::{Keys, MOST_KEYS};
use crate::bytes::num::to_usize;
use crate::duplicates::sort_by;

/// The number of keys from one that is marked to the next.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 4;
const MARKS: usize = MOST_KEYS >> NEAR_BITS;

/// The keys in a list of texts: at most [`MOST_KEYS`].
pub(super) struct Order<'a> {
    pickle: &'a [u8],
    /// The position before every so many keys.
    marks: [u32; MARKS],
    /// The places of the keys in the order of their texts.
    sorted: [u16; MOST_KEYS],
    count: usize,
}

impl<'a> Order<'a> {
    /// Reads the list. `None` if two keys are equal.
    pub(super) fn new(pickle: &'a [u8]) -> Option<Self> {
        let mut order = Self { pickle, marks: [0; MARKS], sorted: [0; MOST_KEYS], count: 0 };
        let (mut keys, mut last, mut are_sorted) = (Keys(pickle), None::<&[u8]>, true);
        loop {
            let at = pickle.len().saturating_sub(keys.0.len());
            let Some(key) = keys.next() else { break };
            if order.count & (NEAR - 1) == 0 {
                if let Some(mark) = order.marks.get_mut(order.count >> NEAR_BITS) {
                    *mark = u32::try_from(at).unwrap_or(u32::MAX);
                }
            }
            if let Some(place) = order.sorted.get_mut(order.count) {
                *place = u16::try_from(order.count).unwrap_or(0);
            }
            are_sorted &= last.is_none_or(|last| last < key);
            last = Some(key);
            order.count = order.count.saturating_add(1);
        }
        if !are_sorted {
            let mut sorted = order.sorted;
            let used = sorted.get_mut(..order.count)?;
            sort_by(used, |a, b| order.key(a) < order.key(b));
            let is_repeated = |two: &[u16]| matches!(two, [a, b] if order.key(*a) == order.key(*b));
            if used.windows(2).any(is_repeated) {
                return None;
            }
            order.sorted = sorted;
        }
        Some(order)
    }

    /// The key at a place.
    fn key(&self, place: u16) -> &'a [u8] {
        let place = usize::from(place);
        let at = self.marks.get(place >> NEAR_BITS).copied().unwrap_or(0);
        let rest = to_usize(at.into()).and_then(|at| self.pickle.get(at..)).unwrap_or_default();
        Keys(rest).nth(place & (NEAR - 1)).unwrap_or_default()
    }

    /// Returns the place of a key.
    pub(super) fn place(&self, key: &[u8]) -> Option<u32> {
        let sorted = self.sorted.get(..self.count)?;
        let place = *sorted.get(sorted.partition_point(|place| self.key(*place) < key))?;
        (self.key(place) == key).then_some(place.into())
    }

    /// The number of keys.
    pub(super) const fn count(&self) -> usize {
        self.count
    }
}
