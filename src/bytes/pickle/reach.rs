//! The number of objects that are above another one before an opcode takes that one.
#![forbid(unsafe_code)]

use super::op;

/// The number of marks that are open at once, at most.
const MARKS: usize = 512;
/// The number of objects above a mark of which it is known how many others were above them.
const KNOWN: u16 = 128;
/// The number of such objects above all marks.
const PEAKS: usize = 4096;

/// The largest number of objects that were pushed above an object, and are gone again when an opcode takes that object
/// and a few others. An object that ever has more above it is taken with all others above a mark, or never. So only few
/// opcodes behind an object tell what it becomes a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reach(u8);

impl Reach {
    /// Any number.
    pub(crate) const LARGE: Self = Self(u8::MAX);

    /// More than that of nearly all pickles. A machine refuses a pickle that has more.
    pub(crate) const USUAL: Self = Self(12);

    /// The number of objects; a large one for [`LARGE`](Self::LARGE).
    pub(super) const fn count(self) -> u8 {
        self.0
    }

    /// The number of objects in groups of eight, rounded up, for [`of_eighths`](Self::of_eighths).
    pub(super) const fn eighths(self) -> u8 {
        self.0.saturating_add(7) >> 3
    }

    pub(super) const fn of_eighths(count: u8) -> Self {
        Self(count << 3)
    }

    /// Returns the reach of a pickle, which is read to its end or its first fault. Reads no more than the opcodes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let (mut peaks, mut groups) = ([0; PEAKS], [Group::EMPTY; MARKS]);
        let (mut reach, mut at, mut marks) = (0, 0, 0_usize);
        while let Ok(next) = op::read(bytes, at) {
            at = next.next;
            if next.code == op::MARK {
                let start = groups.get(marks).map_or(u16::MAX, Group::end);
                marks = marks.saturating_add(1);
                match groups.get_mut(marks) {
                    Some(group) => *group = Group { start, count: 0 },
                    None => return Self::LARGE,
                }
                continue;
            }
            if op::closes_mark(next.code) {
                marks = marks.saturating_sub(1);
            }
            let Some(group) = groups.get_mut(marks) else { return Self::LARGE };
            let found = match next.code {
                op::STOP => break,
                op::TUPLE | op::FROZEN_SET => group.push(&mut peaks),
                code if op::closes_mark(code) || op::is_note(code) => Some(0),
                code if op::takes(code) == 0 => group.push(&mut peaks),
                code => group.take(&mut peaks, op::takes(code), op::adds(code)),
            };
            match found {
                Some(found) => reach = found.max(reach),
                None => return Self::LARGE,
            }
        }
        u8::try_from(reach).map_or(Self::LARGE, Self)
    }
}

/// The objects above a mark.
#[derive(Clone, Copy)]
struct Group {
    /// The place of the first peak: for each object the largest count since it was pushed. Only those of the last
    /// objects are kept.
    start: u16,
    count: u32,
}

impl Group {
    const EMPTY: Self = Self { start: 0, count: 0 };

    /// The place behind the last peak.
    fn end(&self) -> u16 {
        let count = u16::try_from(self.count).unwrap_or(KNOWN).min(KNOWN);
        self.start.saturating_add(count)
    }

    fn peak<'p>(&self, peaks: &'p mut [u32; PEAKS], index: u32) -> Option<&'p mut u32> {
        let place = u16::try_from(index & u32::from(KNOWN).wrapping_sub(1)).ok()?;
        peaks.get_mut(usize::from(self.start.checked_add(place)?))
    }

    /// Pushes an object. `None` if there is no place for its peak.
    fn push(&mut self, peaks: &mut [u32; PEAKS]) -> Option<u32> {
        let peak = self.peak(peaks, self.count)?;
        self.count = self.count.saturating_add(1);
        *peak = self.count;
        Some(0)
    }

    /// Takes objects, and leaves one: the first of them, or another one. Returns the reach of those that are taken.
    /// `None` if it is not known.
    fn take(&mut self, peaks: &mut [u32; PEAKS], takes: u32, is_first_left: bool) -> Option<u32> {
        let (mut reach, mut highest) = (0, 0);
        for _ in 0..takes {
            let Some(index) = self.count.checked_sub(1) else { return Some(0) }; // the machine refuses this
            highest = highest.max(*self.peak(peaks, index)?);
            reach = highest.saturating_sub(index).saturating_sub(1).max(reach);
            self.count = index;
        }
        let left = self.count;
        self.push(peaks)?;
        // The object that is left, and the one below it, keep the count of what was above them.
        for index in [left.checked_sub(1), is_first_left.then_some(left)].into_iter().flatten() {
            let peak = self.peak(peaks, index)?;
            *peak = highest.max(*peak);
        }
        // The peak of an object further away is that of a later object, which is higher.
        (reach < KNOWN.into()).then_some(reach)
    }
}
