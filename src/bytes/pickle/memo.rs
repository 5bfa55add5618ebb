//! The objects that a pickle puts aside, to use them once more.
#![forbid(unsafe_code)]

use super::machine::Slot;

/// The number of entries that are remembered.
const REMEMBERED: usize = 128;

/// The memo, as far as it is remembered. An entry that was used once more gets a second chance before it makes place.
#[derive(Clone)]
pub(super) struct Memo {
    entries: [(u32, Slot); REMEMBERED],
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
            entries: [(NOTHING, Slot::EMPTY); REMEMBERED],
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
            let (Some(entry), Some(was_used)) = (self.entries.get_mut(hand), self.was_used.get_mut(hand)) else {
                return;
            };
            if !core::mem::replace(was_used, false) {
                *entry = (index, slot);
                return;
            }
        }
    }

    pub(super) fn get(&mut self, index: u32) -> Option<Slot> {
        let found = self.entries.iter().position(|(of, _)| *of == index)?;
        if let Some(was_used) = self.was_used.get_mut(found) {
            *was_used = true;
        }
        self.entries.get(found).map(|(_, slot)| *slot)
    }
}
