//! The messages around a position, in a few words, so that a walk over nested messages can stop and continue.
#![forbid(unsafe_code)]

/// The maximum number of levels.
pub(crate) const DEPTH: usize = 16;
/// The number of marks. The levels that are deeper share the last one.
const MARKED: usize = 8;

/// For each level, the offset of the field that holds the next level, and a mark: a number that the format defines. Leaving
/// a level clears the mark that it shares with the one around it. An offset is never 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    places: [u32; DEPTH],
    marks: [u32; MARKED],
}

impl Levels {
    pub(crate) const START: Self = Self { places: [0; DEPTH], marks: [0; MARKED] };

    /// The number of levels.
    pub(crate) fn depth(&self) -> usize {
        self.places.iter().take_while(|place| **place != 0).count()
    }

    /// The offset of the field that holds the innermost level; `None` outside of all.
    pub(crate) fn last(&self) -> Option<u32> {
        self.depth().checked_sub(1).and_then(|last| self.places.get(last)).copied()
    }

    /// Enters the field at `place`. `None` if there are too many levels.
    pub(crate) fn push(&mut self, place: u32) -> Option<()> {
        let depth = self.depth();
        *self.places.get_mut(depth)? = place;
        Some(())
    }

    /// Leaves the innermost level.
    pub(crate) fn pop(&mut self) {
        if self.depth() > MARKED {
            self.set_mark(0);
        }
        if let Some(place) = self.depth().checked_sub(1).and_then(|last| self.places.get_mut(last)) {
            *place = 0;
        }
    }

    /// The mark of the innermost level; 0 if it was cleared.
    pub(crate) fn mark(&self) -> u32 {
        let last = self.depth().checked_sub(1);
        last.and_then(|last| self.marks.get(last.min(MARKED - 1))).copied().unwrap_or(0)
    }

    /// Sets the mark of the innermost level.
    pub(crate) fn set_mark(&mut self, mark: u32) {
        let last = self.depth().checked_sub(1);
        if let Some(place) = last.and_then(|last| self.marks.get_mut(last.min(MARKED - 1))) {
            *place = mark;
        }
    }
}
