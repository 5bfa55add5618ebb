//! The objects that a pickle puts aside, to use them once more.
#![forbid(unsafe_code)]

use super::slot::Slot;

/// The number of entries that are remembered.
const REMEMBERED: usize = 128;

/// The memo, as far as it is remembered. An entry that was used once more gets a second chance before it makes place.
#[derive(Clone)]
pub(super) struct Memo {
    /// The index of each, and the object.
    indices: [u32; REMEMBERED],
    slots: [Slot; REMEMBERED],
    was_used: [bool; REMEMBERED],
    hand: usize,
    /// The number of entries that `MEMOIZE` counts, and the last index.
    pub(super) count: u32,
    pub(super) last: Option<u32>,
}

/// The index of no entry.
pub(super) const NOTHING: u32 = u32::MAX;

impl Memo {
    pub(super) const fn new() -> Self {
        Self {
            indices: [NOTHING; REMEMBERED],
            slots: [Slot::EMPTY; REMEMBERED],
            was_used: [false; REMEMBERED],
            hand: 0,
            count: 0,
            last: None,
        }
    }

    pub(super) fn put(&mut self, index: u32, slot: Slot) {
        for _ in 0..=REMEMBERED {
            let hand = self.hand;
            self.hand = if hand.wrapping_add(1) < REMEMBERED { hand.wrapping_add(1) } else { 0 };
            let (Some(of), Some(place), Some(was_used)) =
                (self.indices.get_mut(hand), self.slots.get_mut(hand), self.was_used.get_mut(hand))
            else {
                return;
            };
            if !core::mem::replace(was_used, false) {
                (*of, *place) = (index, slot);
                return;
            }
        }
    }

    pub(super) fn get(&mut self, index: u32) -> Option<Slot> {
        let found = self.indices.iter().position(|of| *of == index)?;
        if let Some(was_used) = self.was_used.get_mut(found) {
            *was_used = true;
        }
        self.slots.get(found).copied()
    }
}
