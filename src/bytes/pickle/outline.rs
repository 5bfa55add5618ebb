//! Facts about a whole pickle, for a machine that starts in its middle.
#![forbid(unsafe_code)]

use super::reach::Reach;

/// Facts about a whole pickle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outline {
    pub(crate) reach: Reach,
    pub(crate) recent: Recent,
}

impl Outline {
    pub(crate) const fn of(reach: Reach) -> Self {
        Self { reach, recent: Recent::NONE }
    }
}

/// The opcodes of texts and names that were lately taken from the memo and are far from the start, the last one first:
/// such as the keys of an optimizer's states. 0 is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent([u32; RECENT]);

const RECENT: usize = 6;
/// The position before which none is kept: they are found quickly.
const NEAR: u32 = 1 << 11;

impl Recent {
    pub(crate) const NONE: Self = Self([0; RECENT]);

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.into_iter().filter(|at| *at > 0)
    }

    /// Moves the opcode at a position to the front.
    pub(super) fn add(&mut self, position: u32) {
        if position < NEAR {
            return;
        }
        let mut moved = position;
        for place in &mut self.0 {
            core::mem::swap(place, &mut moved);
            if moved == position {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An opcode that is taken again moves to the front, and is not listed twice.
    #[test]
    fn the_last_opcodes_are_kept_once() {
        let mut recent = Recent::NONE;
        for position in [NEAR - 1, NEAR, NEAR + 1, NEAR + 2, NEAR] {
            recent.add(position);
        }
        assert!(recent.iter().eq([NEAR, NEAR + 2, NEAR + 1]));
        (NEAR + 3..NEAR + 9).for_each(|position| recent.add(position));
        assert!(recent.iter().eq((NEAR + 3..NEAR + 9).rev()));
    }
}
