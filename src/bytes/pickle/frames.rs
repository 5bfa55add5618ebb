//! The containers that a value is in, in a few bytes, so that a machine continues there without the pickle before it.
#![forbid(unsafe_code)]

use super::globals::Known;
use super::machine::Machine;
use super::op;
use super::outline::Outline;
use super::path::{PLAIN, Piece, Role, is_of_module, text_at};
use super::slot::{Kind, Slot, simple};
use super::trail::{distance, moved, name_of, read, write};
use crate::bytes::text::Text;

/// The bytes of all containers. A module in another one takes three or four.
const LENGTH: usize = 46;

/// A container, and where the value stands in it.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) kind: u8,
    /// The opcode that pushed the key, perhaps from the memo; or a place.
    pub(super) at: u32,
    /// True if a machine can continue at the key, or at the pair.
    pub(super) is_sure: bool,
    /// The number of pieces of the name behind the one of the key; `None` if a machine that starts at the key does not
    /// find this piece first.
    pub(super) pieces: Option<u8>,
}

impl Level {
    pub(super) const NONE: Self = Self { kind: Self::MAP, at: 0, is_sure: false, pieces: None };

    /// A mapping whose items are behind a mark, or which takes one item without a mark.
    pub(super) const MAP: u8 = 0;
    pub(super) const MAP_ONE: u8 = 1;
    /// A list, the same.
    pub(super) const LIST: u8 = 2;
    pub(super) const LIST_ONE: u8 = 3;
    /// A tuple behind a mark.
    pub(super) const TUPLE: u8 = 4;
    /// Added to a mapping whose key has no part in names.
    pub(super) const UNNAMED: u8 = 5;
    /// The pairs of an `OrderedDict` as Python 2 writes it: a list behind a mark, in a tuple of one item.
    pub(super) const PAIRS: u8 = 7;
    /// Added to a mapping that is the state of an object.
    pub(super) const STATE: u8 = 8;

    /// True if the opcode of a key is needed.
    const fn has_key(self) -> bool {
        matches!(self.kind & 7, Self::MAP | Self::MAP_ONE)
    }

    /// The same level, if its key has no part in names: then only that is kept, so a machine cannot continue at the key.
    pub(super) const fn unnamed(self) -> Self {
        Self { kind: self.kind.saturating_add(Self::UNNAMED), at: 0, is_sure: false, ..self }
    }
}

/// A mapping whose items are behind a mark, and the containers around it: as [`Frames`], in fewer bytes. All zeros is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Container([u8; CONTAINER]);

/// The bytes of a container.
const CONTAINER: usize = 8;

impl Container {
    pub(crate) const NONE: Self = Self([0; CONTAINER]);

    /// Returns the innermost container of `levels`, the innermost first; `None` if it is none, or has more bytes.
    pub(super) fn of(levels: &[Level]) -> Option<Self> {
        let (mut container, mut used, mut last) = (Self::NONE, 0_usize, 0_u32);
        for (number, level) in levels.iter().enumerate().rev() {
            let place = match (number, level.has_key()) {
                (0, _) => 0, // the key differs from item to item
                (_, true) => distance(core::mem::replace(&mut last, level.at), level.at),
                (_, false) => level.at.into(),
            };
            write(&mut container.0, &mut used, place << 4 | u64::from(level.kind))?;
        }
        levels.first().filter(|level| level.kind & 7 == Level::MAP).map(|_| container)
    }

    /// Returns the containers of a machine at a key of the container.
    pub(crate) fn frames(&self) -> Frames {
        let mut frames = Frames { is_known: true, ..Frames::START };
        frames.bytes.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        frames
    }
}

/// The pieces of a short name, the first one first.
pub(crate) struct Pieces {
    pieces: [Piece; MOST_PIECES],
    count: usize,
}

const MOST_PIECES: usize = 8;

impl Pieces {
    const NONE: Self = Self { pieces: [Piece::Unnamed; MOST_PIECES], count: 0 };

    fn add(&mut self, piece: Piece) -> Option<()> {
        *self.pieces.get_mut(self.count)? = piece;
        self.count = self.count.checked_add(1)?;
        Some(())
    }

    /// True if the name is one key.
    pub(crate) const fn are_one(&self) -> bool {
        self.count == 1
    }

    /// Returns the name, if it fits in a trail.
    pub(crate) fn text<'a>(&self, pickle: &'a [u8], in_constants: bool) -> Option<Text<'a>> {
        name_of(pickle, self.pieces.iter().take(self.count), in_constants)
    }
}

/// The containers around a value, and where a machine continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// The containers, the outermost first: each a number whose lowest four bits are the kind.
    bytes: [u8; LENGTH],
    /// The number of objects on the stack above the last key or place; 0 if the last key is not on the stack.
    above: u8,
    is_known: bool,
}

impl Frames {
    /// A machine starts at the start of the pickle.
    pub(crate) const START: Self = Self { bytes: [0; LENGTH], above: 0, is_known: false };

    /// Returns the containers for `levels`, the innermost first. `above` is the number of objects above the last key;
    /// `None` if they are not simple. Also returns the position of the last key if a machine has to continue before it.
    pub(super) fn of(levels: &[Level], above: Option<u8>) -> Option<(Self, Option<u32>)> {
        let mut frames = Self { is_known: true, ..Self::START };
        let (mut used, mut last) = (0_usize, 0_u32);
        // Up to the last level with a key that fits.
        let mut before = None::<(Self, Option<u32>)>;
        for level in levels.iter().rev() {
            let place = if level.has_key() {
                distance(core::mem::replace(&mut last, level.at), level.at)
            } else {
                level.at.into()
            };
            if write(&mut frames.bytes, &mut used, place << 4 | u64::from(level.kind)).is_none() {
                return before;
            }
            if level.is_sure {
                before = Some((frames, Some(level.at)));
            }
        }
        match above {
            Some(above) => Some((Self { above: above.saturating_add(1), ..frames }, None)),
            None => before,
        }
    }

    /// Returns the containers behind another item of the innermost one, and the name of its value. `None` if the innermost
    /// one is not a mapping whose items are behind a mark, if its key adds nothing to the name, or if a key before is taken
    /// from the memo.
    pub(crate) fn with_key(&self, pickle: &[u8], key: &Slot) -> Option<(Self, Pieces)> {
        let (mut next, mut last, mut pieces) = (0_u8, 0_u32, Pieces::NONE);
        loop {
            let start = next;
            let number = read(&self.bytes, &mut next)?;
            let (kind, place) = (u8::try_from(number & 15).ok()?, number >> 4);
            if read(&self.bytes, &mut { next }).is_none() {
                let mut used = usize::from(start);
                let mut frames = Self { above: 1, ..*self };
                frames.bytes.iter_mut().skip(used).for_each(|byte| *byte = 0);
                write(&mut frames.bytes, &mut used, distance(last, key.start) << 4 | u64::from(kind))?;
                pieces.add(Piece::Text { at: key.at, end: key.end, op: key.start })?;
                let is_unnamed = kind & Level::STATE != 0 && is_of_module(text_at(pickle, key.at, key.end));
                return (kind & 7 == Level::MAP && !is_unnamed).then_some((frames, pieces));
            }
            match kind & 7 {
                Level::MAP | Level::MAP_ONE => {
                    last = moved(last, place)?;
                    let key = simple(&op::read(pickle, last).ok()?)?;
                    pieces.add(Piece::Text { at: key.at, end: key.end, op: last })?;
                }
                Level::LIST | Level::LIST_ONE | Level::TUPLE => {
                    pieces.add(Piece::Place(u32::try_from(place).ok()?))?
                }
                Level::PAIRS => return None,
                _ => {}
            }
        }
    }

    /// Returns the innermost container, if it is a mapping whose items are behind a mark.
    pub(crate) fn container(&self) -> Option<Container> {
        let (mut next, mut start) = (0_u8, 0_u8);
        while read(&self.bytes, &mut { next }).is_some() {
            start = next;
            read(&self.bytes, &mut next)?;
        }
        let kind = read(&self.bytes, &mut { start })? & 15;
        let mut container = Container::NONE;
        let outer = container.0.get_mut(..usize::from(start))?;
        outer.iter_mut().zip(self.bytes).for_each(|(to, from)| *to = from);
        write(&mut container.0, &mut usize::from(start), kind)?;
        (kind & 7 == u64::from(Level::MAP)).then_some(container)
    }

    /// A machine at a key of the outermost container, which takes items behind a mark.
    pub(crate) fn at_only_key(at: u32) -> Option<Self> {
        Self::at_key(Level::MAP, at)
    }

    /// A machine at a key of a container of this kind, around which nothing is known.
    pub(super) fn at_key(kind: u8, at: u32) -> Option<Self> {
        let level = Level { kind, at, is_sure: true, ..Level::NONE };
        Self::of(&[level], None).map(|(frames, _)| frames)
    }

    /// A machine at `at`, in these containers. Of what was on the stack, only the keys are known, and that there were
    /// simple values.
    pub(crate) fn machine<'a>(&self, pickle: &'a [u8], outline: &Outline, at: u32) -> Machine<'a> {
        if !self.is_known {
            return Machine::new(pickle, outline);
        }
        let mut machine = Machine::at(pickle, outline, at);
        let (mut next, mut last) = (0_u8, 0_u32);
        let mut own = Role::ROOT.0 | PLAIN;
        while let Some(number) = read(&self.bytes, &mut next) {
            let (kind, place) = (u8::try_from(number & 15).unwrap_or(0), number >> 4);
            let count = u32::try_from(place).unwrap_or(0);
            let is_last = read(&self.bytes, &mut { next }).is_none();
            if kind & Level::STATE != 0 {
                machine.push_known(Slot::known_as(Kind::Object, 0, 0));
                own |= Role::STATE | 1 << Role::DROP_AT;
            }
            let form = kind & 7;
            let unnamed = form.checked_sub(Level::UNNAMED).filter(|_| form != Level::PAIRS);
            let (form, is_named) = unnamed.map_or((form, true), |form| (form, false));
            match form {
                Level::MAP | Level::MAP_ONE => {
                    machine.push_known(Slot::known_as(
                        if kind & Level::STATE != 0 { Kind::Dict } else { Kind::Map },
                        own,
                        0,
                    ));
                    if form == Level::MAP {
                        machine.push_known(Slot::known_as(Kind::Mark, Role::ITEMS, 0));
                    }
                    if is_named {
                        last = moved(last, place).unwrap_or(0);
                    }
                    match (self.above > 0 || !is_last, is_named) {
                        (true, true) => machine.push_key(last),
                        (true, false) => machine.push_known(Slot::known_as(Kind::Bool, Role::UNNAMED, 0)),
                        (false, _) => {}
                    }
                }
                Level::LIST => {
                    machine.push_known(Slot::known_as(Kind::List, own, 0));
                    machine.push_known(Slot::known_as(Kind::Mark, Role::LIST, count));
                }
                Level::PAIRS => {
                    let known = Known::ORDERED_DICT.number();
                    machine.push_known(Slot { known, ..Slot::known_as(Kind::Global, 0, 0) });
                    machine.push_known(Slot::known_as(Kind::List, own | Role::PAIRS | 1 << Role::DROP_AT, 0));
                    machine.push_known(Slot::known_as(Kind::Mark, Role::LIST, 0));
                }
                Level::LIST_ONE => machine.push_known(Slot::known_as(Kind::List, own, count)),
                _ => machine.push_known(Slot::known_as(Kind::Mark, own | Role::TUPLE, count)),
            }
            own = PLAIN
                | match form {
                    Level::MAP_ONE => Role::VALUE.0,
                    Level::LIST_ONE => Role::ITEM.0,
                    _ => Role::CHILD.0,
                };
        }
        for _ in 0..self.above {
            machine.push_known(Slot::known_as(Kind::Bool, 0, 0));
        }
        machine
    }
}
