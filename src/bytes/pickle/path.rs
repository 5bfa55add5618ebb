//! The place of an object in the tree: the keys and places on the way to it.
//!
//! A pickle is written from the inside to the outside: only a later opcode tells what an object becomes a part of. So
//! the opcodes that follow are read until one takes the object. They are read without their meaning: only the number of
//! objects counts. What was found out about a container is kept in its slot, since it holds for all of its contents.
//!
//! An object that has more others above it than the [`Reach`](super::reach::Reach) of the pickle is no longer taken by
//! an opcode that takes a few.
#![forbid(unsafe_code)]

use super::Fault;
use super::decimal::{Digits, decimal};
use super::frames::{Container, Frames, Level};
use super::globals::Known;
use super::machine::{Event, Machine};
use super::op;
use super::slot::{Kind, Puts, Slot};
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// The largest number of pieces in a name.
const MOST_PIECES: usize = 128;
/// The number of marks that are open at once behind the object, at most.
const MOST_MARKS: usize = 512;

/// A piece of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A key: a text, and the position of the opcode that has it.
    Text { at: u32, end: u32, op: u32 },
    /// A key: a number, which an opcode pushes.
    Integer(u32),
    /// A place in a list or a tuple.
    Place(u32),
    /// A key that adds nothing.
    Unnamed,
}

/// The pieces of a name, the last one first. Large.
pub(crate) struct Path {
    pieces: [Piece; MOST_PIECES],
    count: usize,
    /// The containers, the innermost first. In the first ones, a machine cannot continue.
    levels: [Level; MOST_PIECES],
    level_count: usize,
    unusable: usize,
    /// The number of objects above the last key, if they are simple.
    above: Option<u8>,
}

impl Path {
    pub(crate) const EMPTY: Self = Self {
        pieces: [Piece::Place(0); MOST_PIECES],
        count: 0,
        levels: [Level::NONE; MOST_PIECES],
        level_count: 0,
        unusable: 0,
        above: None,
    };

    /// Returns the position where a machine continues to read the values behind this one, which ends at `position`, and
    /// the containers there; `None` if it has to begin earlier.
    pub(crate) fn restart(&self, position: u32) -> Option<(u32, Frames)> {
        let levels = self.levels.get(self.unusable..self.level_count)?;
        let above = self.above.filter(|_| self.unusable == 0);
        let (frames, at) = Frames::of(levels, above)?;
        Some((at.unwrap_or(position), frames))
    }

    /// Returns the opcode of the only key, if the whole tree is a mapping of several, and the value is in it.
    pub(crate) fn only_key(&self) -> Option<u32> {
        match (self.reversed(), self.levels.get(..self.level_count)?) {
            ([Piece::Text { op, .. }], [level]) if level.kind == Level::MAP && level.at == *op && level.is_sure => {
                Some(*op)
            }
            _ => None,
        }
    }

    /// Returns the mapping that the value is in, and the opcode that pushes the key; or, if `outer` is 1, the mapping that
    /// the innermost container is in.
    pub(crate) fn container(&self, outer: usize) -> Option<(Container, u32)> {
        let is_usable = self.unusable <= outer && (outer > 0 || self.above == Some(0));
        let levels = self.levels.get(outer..self.level_count).filter(|_| is_usable)?;
        // The place of an outer key is compared before it is used.
        let key = levels.first().filter(|level| level.is_sure || outer > 0);
        Container::of(levels).zip(key.map(|level| level.at))
    }

    /// Makes this the path of another item of the same mapping, with a key on the stack, a text. Returns `false` if it
    /// would differ in more than the key.
    pub(crate) fn set_key(&mut self, key: &Slot) -> bool {
        let ([Piece::Text { at, end, op }, ..], [level, ..]) = (&mut self.pieces, &mut self.levels) else {
            return false;
        };
        if level.kind != Level::MAP || level.pieces != Some(0) {
            return false;
        }
        (*at, *end, *op) = (key.at, key.end, key.count);
        (level.at, level.is_sure) = (key.start, key.start > 0);
        true
    }

    fn add_level(&mut self, level: Level) {
        match self.levels.get_mut(self.level_count) {
            Some(place) => *place = level,
            None => self.unusable = usize::MAX,
        }
        self.level_count = self.level_count.saturating_add(1);
    }

    /// The containers, the innermost first.
    pub(super) fn levels(&self) -> &[Level] {
        self.levels.get(..self.level_count).unwrap_or_default()
    }

    /// The pieces, the last one first.
    pub(crate) fn reversed(&self) -> &[Piece] {
        self.pieces.get(..self.count).unwrap_or_default()
    }

    /// Returns a piece, counted from the first one.
    pub(crate) fn piece(&self, index: usize) -> Option<Piece> {
        let last = self.count.checked_sub(1)?;
        self.reversed().get(last.checked_sub(index)?).copied()
    }

    fn add(&mut self, piece: Piece) -> Result<(), Fault> {
        let place = self.pieces.get_mut(self.count).ok_or(Fault::new(ErrorKind::TooDeep, Part::Name, 0))?;
        *place = piece;
        self.count = self.count.saturating_add(1);
        Ok(())
    }
}

/// True for the keys of the dictionaries in a module, which add nothing to a name.
pub(super) fn is_of_module(key: &[u8]) -> bool {
    matches!(key, b"_parameters" | b"_buffers" | b"_modules")
}

/// The opcode that takes an object, and the tuples without a mark that it is in before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Role(pub(super) u32);

impl Role {
    pub(super) const UNKNOWN: Self = Self(0);
    /// The object is not a value of the tree: a key, an argument, the member of a set.
    pub(super) const HIDDEN: Self = Self(1);
    /// An object behind the last mark.
    pub(super) const CHILD: Self = Self(2);
    /// The value of `SETITEM`, the item of `APPEND`.
    pub(super) const VALUE: Self = Self(3);
    pub(super) const ITEM: Self = Self(4);
    /// The whole tree.
    pub(super) const ROOT: Self = Self(5);
    pub(super) const KIND: u32 = 7;

    /// The object is the state of another one.
    pub(super) const STATE: u32 = 1 << 3;
    /// The object is the list of pairs of an `OrderedDict`.
    pub(super) const PAIRS: u32 = 1 << 4;
    /// The first object behind the mark stands for the whole tuple.
    pub(super) const FIRST: u32 = 1 << 5;
    /// The mark opens a tuple, whose role this is. Else it opens the items of a mapping, or of a list.
    pub(super) const TUPLE: u32 = 1 << 6;
    pub(super) const LIST: u32 = 1 << 7;
    pub(super) const ITEMS: u32 = 1 << 8;
    /// The number of objects below that the object is joined with.
    pub(super) const DROP_AT: u32 = 9;
    pub(super) const DROP: u32 = 15;
    /// The places in tuples without a mark, two bits each behind a 1.
    pub(super) const WRAPS_AT: u32 = 13;

    /// Stands for the role of a key that has no part in names.
    pub(super) const UNNAMED: u32 = 1 | 1 << 3;

    const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    const fn kind(self) -> Self {
        Self(self.0 & Self::KIND)
    }

    const fn drop(self) -> u32 {
        self.0.wrapping_shr(Self::DROP_AT) & Self::DROP
    }

    const fn wraps(self) -> u32 {
        self.0.wrapping_shr(Self::WRAPS_AT)
    }

    /// True if a list has the pairs of an `OrderedDict`, which is itself a value of the container around it.
    const fn is_of_pairs(self) -> bool {
        self.wraps() == 1 && self.drop() == 1 && self.has(Self::PAIRS) && !self.has(Self::STATE | Self::FIRST)
    }

    /// True if a container, or the mark of a tuple, is itself a value of the container around it, and nothing else.
    const fn is_plain(self) -> bool {
        let expected = if self.has(Self::STATE) { 1 } else { 0 };
        self.wraps() == 1 && self.drop() == expected && !self.has(Self::PAIRS | Self::FIRST)
    }
}

/// The part of a role that says that the object is in no tuple without a mark.
pub(super) const PLAIN: u32 = 1 << Role::WRAPS_AT;

/// The role of an object, as far as the opcodes behind it tell.
struct Ahead {
    flags: u32,
    drop: u32,
    wraps: u32,
}

impl Ahead {
    const START: Self = Self { flags: 0, drop: 0, wraps: 1 };

    fn role(&self, kind: Role) -> Option<Role> {
        let all =
            kind.0 | self.flags | self.drop.wrapping_shl(Role::DROP_AT) | self.wraps.wrapping_shl(Role::WRAPS_AT);
        (self.drop <= Role::DROP).then_some(Role(all))
    }
}

impl<'a> Machine<'a> {
    /// Sets `path` to that of the object that was just pushed. Returns `false` if it is not a value of the tree.
    pub(crate) fn path(&mut self, path: &mut Path) -> Result<bool, Fault> {
        (path.count, path.level_count, path.unusable) = (0, 0, 0);
        let Some(mut index) = self.stack().len().checked_sub(1) else { return Ok(false) };
        // Most objects are arguments: nothing behind such a mark is a value of the tree.
        if let Some(mark) = self.mark() {
            if self.mark_role(mark)? == Role::HIDDEN {
                return Ok(false);
            }
        }
        let mut role = self.role(index)?;
        path.above = self.above(index, role);
        let fault = Fault::new(ErrorKind::TooDeep, Part::Name, self.position());
        loop {
            let mut wraps = role.wraps();
            let mut places = [0_u32; 16];
            let mut count = 0_usize;
            while wraps > 3 {
                if let Some(place) = places.get_mut(count) {
                    *place = wraps & 3;
                }
                count = count.saturating_add(1);
                wraps >>= 2;
            }
            // The innermost tuple is in the highest bits.
            for place in places.iter().take(count).rev() {
                path.add(Piece::Place(*place))?;
            }
            let drop = usize::try_from(role.drop()).unwrap_or(usize::MAX);
            let Some(base) = index.checked_sub(drop) else { return Ok(false) };
            let below = |distance: usize| base.checked_sub(distance);
            let key = below(1).and_then(|key| self.stack().get(key)).copied();
            let start = key.map_or(0, |key| key.start);
            let (container, piece, kind) = match role.kind() {
                Role::ROOT => return Ok(true),
                Role::VALUE => (below(2), below(1).and_then(|key| self.key(key)), Level::MAP_ONE),
                Role::ITEM => {
                    let list = below(1);
                    let place = list.and_then(|list| self.stack().get(list)).map(|list| Piece::Place(list.count));
                    (list, place, Level::LIST_ONE)
                }
                Role::CHILD => {
                    let under = self.stack().get(..base).unwrap_or_default();
                    let Some(at) = under.iter().rposition(|slot| slot.kind == Kind::Mark) else { return Ok(false) };
                    let mark_role = self.mark_role(at)?;
                    let mark = self.stack().get(at).copied();
                    let above = u32::try_from(base.saturating_sub(at).saturating_sub(1)).unwrap_or(u32::MAX);
                    let place = mark.map_or(0, |mark| mark.count).saturating_add(above);
                    let container = at.checked_sub(1);
                    if mark_role.has(Role::TUPLE) {
                        if mark_role.has(Role::FIRST) {
                            if place > 0 {
                                return Ok(false);
                            }
                        } else {
                            path.add(Piece::Place(place))?;
                        }
                        path.add_level(Level { kind: Level::TUPLE, at: place, ..Level::NONE });
                        if !mark_role.is_plain() {
                            path.unusable = path.level_count;
                        }
                        (index, role) = (at, mark_role);
                        continue;
                    } else if mark_role.has(Role::ITEMS) {
                        if place & 1 == 0 {
                            return Ok(false);
                        }
                        if above == 0 {
                            return Err(fault); // the machine has dropped the key: the reach is larger than assumed
                        }
                        (container, below(1).and_then(|key| self.key(key)), Level::MAP)
                    } else if mark_role.has(Role::LIST) {
                        let before = container.and_then(|list| self.stack().get(list)).map_or(0, |list| list.count);
                        (container, Some(Piece::Place(before.saturating_add(place))), Level::LIST)
                    } else {
                        return Ok(false);
                    }
                }
                _ => return Ok(false),
            };
            let (Some(container), Some(mut piece)) = (container, piece) else { return Ok(false) };
            let Some(slot) = self.stack().get(container).copied() else { return Ok(false) };
            if !matches!(slot.kind, Kind::Dict | Kind::Map | Kind::List) {
                return Ok(false);
            }
            let of_container = self.role(container)?;
            let at = if let Piece::Place(place) = piece { place } else { start };
            let state = if of_container.has(Role::STATE) { Level::STATE } else { 0 };
            let is_unnamed = of_container.has(Role::STATE) && self.is_unnamed(piece);
            // The place of a key that has no part in names is not kept.
            let is_sure = !matches!(piece, Piece::Place(_)) && start > 0;
            let pieces = u8::try_from(path.count).ok().filter(|_| is_sure && !is_unnamed);
            let level = Level { kind: kind | state, at, is_sure, pieces };
            if of_container.is_of_pairs() && role.kind() == Role::CHILD {
                // A machine continues at the pair. A list of a single pair has no mark.
                path.unusable = path.level_count;
                let pair = self.stack().get(index).copied().unwrap_or(Slot::EMPTY);
                let is_sure = !pair.is_restored;
                path.add_level(Level { kind: Level::PAIRS, at: pair.start, is_sure, ..Level::NONE });
            } else {
                path.add_level(if is_unnamed { level.unnamed() } else { level });
                if !of_container.is_plain() {
                    path.unusable = path.unusable.max(path.level_count);
                }
            }
            // A pair of an `OrderedDict`: the value has the name of the key, and the pair has none.
            let is_pair = self.is_pair(container, of_container)?;
            if is_pair {
                match piece {
                    // The key is no longer on the stack if the pair was written item by item, which no writer does.
                    Piece::Place(_) if role.kind() == Role::ITEM => return Err(fault),
                    Piece::Place(1) => match below(1).and_then(|key| self.key(key)) {
                        Some(key) => piece = key,
                        None => return Ok(false),
                    },
                    _ => return Ok(false),
                }
            }
            if self.has_pairs(container, of_container)? {
                if count > 0 {
                    return Err(fault);
                }
            } else if !is_unnamed {
                path.add(piece)?;
            }
            (index, role) = (container, of_container);
        }
    }

    /// True if the last mark precedes the items of a mapping. A text on top of the stack is then a key or a value.
    pub(crate) fn is_in_items(&mut self) -> bool {
        let Some(at) = self.mark() else { return false };
        let mapping = at.checked_sub(1).and_then(|mapping| self.stack().get(mapping));
        let is_mapping = mapping.is_some_and(|slot| matches!(slot.kind, Kind::Dict | Kind::Map));
        is_mapping && self.mark_role(at).is_ok_and(|role| role == Role(Role::ITEMS))
    }

    /// True if the object on top of the stack stands behind a text as the value of a key does, but is in a tuple without a
    /// mark, or no value.
    pub(crate) fn only_seems_to_be_a_value(&mut self) -> bool {
        let [others @ .., text, _] = self.stack() else { return false };
        let (index, is_text) = (others.len().saturating_add(1), matches!(text.kind, Kind::Text | Kind::Unknown));
        is_text && !self.role(index).is_ok_and(|role| role.wraps() == 1)
    }

    /// Pushes a tensor, whose arguments are at a place, and continues at `next`. Nothing but an opcode that takes all
    /// objects above the last mark may take it. `puts` are the indices at which the call puts objects into the memo.
    pub(crate) fn push_tensor(&mut self, (at, end): (u32, u32), next: u32, puts: Puts) -> Result<(), Fault> {
        let slot = Slot {
            known: Known::TENSOR_2.number(),
            start: self.position(),
            role: Role::CHILD.0 | PLAIN,
            is_assumed: true,
            ..Slot::new(Kind::Tensor, at, end)
        };
        self.push_call(slot, next, puts)
    }

    /// Returns the number of objects above the key or the place of a value, without the value: the items of tuples that
    /// begin there. `None` if a later opcode may need more than their number.
    fn above(&self, index: usize, role: Role) -> Option<u8> {
        let count = usize::try_from(role.drop()).ok()?;
        let [items @ .., top] = self.stack().get(index.checked_sub(count)?..=index)? else { return None };
        let is_simple = |slot: &Slot| {
            let kinds = [Kind::Tensor, Kind::None, Kind::Bool, Kind::Integer, Kind::Float, Kind::Text, Kind::Bytes];
            kinds.contains(&slot.kind)
        };
        let is_it = !role.has(Role::STATE | Role::PAIRS | Role::FIRST) && items.iter().all(is_simple);
        let is_it = is_it && (is_simple(top) || top.kind == Kind::Unknown);
        u8::try_from(count).ok().filter(|_| is_it)
    }

    /// True if a list is a pair of an `OrderedDict`.
    fn is_pair(&mut self, index: usize, role: Role) -> Result<bool, Fault> {
        let is_plain = role.wraps() == 1 && role.drop() == 0;
        let list = match role.kind() {
            Role::CHILD if is_plain => {
                let under = self.stack().get(..index).unwrap_or_default();
                let mark = under.iter().rposition(|slot| slot.kind == Kind::Mark);
                mark.and_then(|mark| mark.checked_sub(1))
            }
            Role::ITEM if is_plain => index.checked_sub(1),
            _ => None,
        };
        let Some(list) = list.filter(|list| self.stack().get(*list).is_some_and(|slot| slot.kind == Kind::List))
        else {
            return Ok(false);
        };
        let role = self.role(list)?;
        self.has_pairs(list, role)
    }

    /// True if a list has the pairs of an `OrderedDict`: it is the only argument, perhaps behind a mark.
    fn has_pairs(&mut self, index: usize, role: Role) -> Result<bool, Fault> {
        let is_plain = role.kind() == Role::CHILD && role.wraps() == 1 && role.drop() == 0;
        let mark = index.checked_sub(1).filter(|_| is_plain);
        match mark.filter(|mark| self.stack().get(*mark).is_some_and(|slot| slot.kind == Kind::Mark)) {
            Some(mark) => {
                let of_mark = self.mark_role(mark)?;
                Ok(of_mark.has(Role::PAIRS) && of_mark.has(Role::FIRST))
            }
            None => Ok(role.has(Role::PAIRS)),
        }
    }

    /// Returns the piece for a key; `None` for keys that are neither a text nor a whole number.
    fn key(&mut self, index: usize) -> Option<Piece> {
        let slot = *self.stack().get(index)?;
        let slot = self.named(&slot).ok()?;
        match slot.kind {
            Kind::Text => Some(Piece::Text { at: slot.at, end: slot.end, op: slot.count }),
            Kind::Integer => {
                // Wider keys than the tree's other numbers may be have no name.
                op::read(self.bytes(), slot.at).ok().filter(|key| op::integer(key).is_some())?;
                Some(Piece::Integer(slot.at))
            }
            Kind::Bool if slot.role == Role::UNNAMED => Some(Piece::Unnamed),
            _ => None,
        }
    }

    /// True for the keys in a module that add nothing to a name.
    fn is_unnamed(&self, piece: Piece) -> bool {
        let Piece::Text { at, end, .. } = piece else { return matches!(piece, Piece::Unnamed) };
        is_of_module(text_at(self.bytes(), at, end))
    }

    /// Returns the role of the object at `index` of the stack.
    fn role(&mut self, index: usize) -> Result<Role, Fault> {
        let known = Role(self.stack().get(index).map_or(0, |slot| slot.role));
        if known != Role::UNKNOWN {
            return Ok(known);
        }
        let (mut position, mut depths) = (self.position(), Depths::new());
        match self.stack().get(index..).unwrap_or_default() {
            // The opcode that takes all objects above the mark is known.
            [_, mark, ..] if mark.kind == Kind::Mark && mark.end > mark.at => {
                position = mark.end;
                depths.push();
            }
            slots => {
                for slot in slots {
                    if slot.kind == Kind::Mark { depths.open(slot.count)? } else { depths.push() }
                }
            }
        }
        let role = self.look_ahead(position, index, &mut depths)?;
        self.set_role(index, role);
        Ok(role)
    }

    fn set_role(&mut self, index: usize, role: Role) {
        if let Some(slot) = self.slot_mut(index) {
            slot.role = role.0;
        }
    }

    /// Returns the role of a mark.
    fn mark_role(&mut self, index: usize) -> Result<Role, Fault> {
        let known = Role(self.stack().get(index).map_or(0, |slot| slot.role));
        if known != Role::UNKNOWN {
            return Ok(known);
        }
        let above = self.stack().get(index..).unwrap_or_default().iter().skip(1);
        let open = above.filter(|slot| slot.kind == Kind::Mark).count();
        let mut count = 0_u32;
        let role = match op::end_of_group(self.bytes(), self.position(), open, &mut count) {
            Some((code @ (op::SET_ITEMS | op::APPENDS), end)) => {
                if let Some(mark) = self.slot_mut(index) {
                    mark.end = end;
                }
                Role(if code == op::APPENDS { Role::LIST } else { Role::ITEMS })
            }
            Some((op::TUPLE, end)) => {
                let mut depths = Depths::new();
                depths.push();
                let role = self.look_ahead(end, index, &mut depths)?;
                if role.kind() == Role::HIDDEN { role } else { Role(role.0 | Role::TUPLE) }
            }
            _ => Role::HIDDEN,
        };
        self.add_work(count);
        self.set_role(index, role);
        Ok(role)
    }

    /// Reads from `at` on what takes the object at `index`, above which there are `depths` objects.
    fn look_ahead(&mut self, mut at: u32, index: usize, depths: &mut Depths) -> Result<Role, Fault> {
        let mut ahead = Ahead::START;
        let too_deep = Fault::new(ErrorKind::TooDeep, Part::Name, at);
        // Without a mark below, the machine drops no object, and does not find out if one has more above it.
        let has_mark = self.stack().get(..index).unwrap_or_default().iter().any(|slot| slot.kind == Kind::Mark);
        let most = if has_mark { u32::from(self.outline().reach.count()).saturating_add(1) } else { u32::MAX };
        let role = loop {
            let Some((code, next)) = op::skip(self.bytes(), at) else { return Ok(Role::HIDDEN) };
            at = next;
            self.add_work(1);
            let (inner, above) = (depths.open > 0, depths.last());
            let takes = match code {
                op::MARK => {
                    depths.open(0)?;
                    continue;
                }
                code if op::closes_mark(code) => {
                    if !inner {
                        break ahead.role(Role::CHILD);
                    }
                    depths.close();
                    if matches!(code, op::TUPLE | op::FROZEN_SET) {
                        depths.push();
                    }
                    continue;
                }
                code if op::is_note(code) => continue,
                op::STOP => break if inner { None } else { ahead.role(Role::ROOT) },
                code if op::takes(code) > 0 => op::takes(code),
                _ => {
                    depths.push();
                    if !inner && depths.last() > most {
                        break ahead.role(Role::CHILD);
                    }
                    continue;
                }
            };
            if inner || above > takes {
                if above < takes {
                    return Ok(Role::HIDDEN); // refused when the machine comes there
                }
                depths.set(above.saturating_sub(takes).saturating_add(1));
                continue;
            }
            // The object is taken. It is the last but so many of those that the opcode takes.
            let place = takes.saturating_sub(above);
            let first = index.checked_sub(usize::try_from(ahead.drop.saturating_add(place)).unwrap_or(usize::MAX));
            let below = match first.and_then(|first| self.stack().get(first)).copied() {
                Some(below) => Some(self.named(&below)?),
                None => None,
            };
            match (code, place) {
                (op::TUPLE_1 | op::TUPLE_2 | op::TUPLE_3, _) => {
                    ahead.wraps = ahead.wraps << 2 | place & 3;
                    if ahead.wraps >> (32 - Role::WRAPS_AT) != 0 {
                        break None;
                    }
                }
                // Something is added to the object itself.
                (op::BUILD | op::APPEND | op::SET_ITEM, 0) => {}
                (op::SET_ITEM, 2) => break ahead.role(Role::VALUE),
                (op::APPEND, 1) => break ahead.role(Role::ITEM),
                (op::BUILD, 1) => {
                    let is_object = below.is_some_and(|below| below.kind == Kind::Object && !below.is_alias);
                    let state = self.stack().get(index).map(|slot| slot.kind);
                    if !is_object || ahead.wraps != 1 || ahead.flags != 0 || state != Some(Kind::Dict) {
                        return Ok(Role::HIDDEN);
                    }
                    ahead.flags |= Role::STATE;
                }
                (op::REDUCE, 1) => {
                    let known = below.filter(|below| below.kind == Kind::Global).map(|below| below.known());
                    let is_mark = self.stack().get(index).is_some_and(|slot| slot.kind == Kind::Mark);
                    let is_first = ahead.wraps > 1 && ahead.wraps & 3 == 0;
                    let is_alone = ahead.wraps == 1 && ahead.flags == 0;
                    match known {
                        Some(Known::ORDERED_DICT) if is_mark && is_alone => {
                            ahead.flags |= Role::FIRST | Role::PAIRS;
                        }
                        Some(Known::TYPE_TAG | Known::BUILD_LIST | Known::SIZE) if is_mark && is_alone => {
                            ahead.flags |= Role::FIRST;
                        }
                        Some(Known::TYPE_TAG | Known::BUILD_LIST | Known::SIZE) if is_first => ahead.wraps >>= 2,
                        Some(Known::ORDERED_DICT) if is_first && ahead.wraps == 4 && ahead.flags == 0 => {
                            ahead.wraps = 1;
                            ahead.flags |= Role::PAIRS;
                        }
                        _ => return Ok(Role::HIDDEN),
                    }
                }
                _ => return Ok(Role::HIDDEN),
            }
            ahead.drop = ahead.drop.saturating_add(place);
            depths.set(1);
        };
        role.ok_or(too_deep)
    }
}

/// The number of objects above each mark that is open.
struct Depths {
    counts: [u32; MOST_MARKS],
    /// The number of marks. The first count is of the objects before any mark, beginning with the one in question.
    open: usize,
}

impl Depths {
    const fn new() -> Self {
        Self { counts: [0; MOST_MARKS], open: 0 }
    }

    fn last(&self) -> u32 {
        self.counts.get(self.open).copied().unwrap_or(0)
    }

    fn set(&mut self, count: u32) {
        if let Some(last) = self.counts.get_mut(self.open) {
            *last = count;
        }
    }

    fn push(&mut self) {
        self.set(self.last().saturating_add(1));
    }

    fn open(&mut self, count: u32) -> Result<(), Fault> {
        self.open = self.open.saturating_add(1);
        match self.counts.get_mut(self.open) {
            Some(last) => *last = count,
            None => return Err(Fault::new(ErrorKind::TooDeep, Part::Value, 0)),
        }
        Ok(())
    }

    fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

/// Returns a part of the pickle.
pub(crate) fn text_at(bytes: &[u8], at: u32, end: u32) -> &[u8] {
    let (at, end) = (usize::try_from(at).unwrap_or(usize::MAX), usize::try_from(end).unwrap_or(usize::MAX));
    bytes.get(at..end).unwrap_or_default()
}

/// Runs a machine up to a position.
pub(crate) fn run_to(machine: &mut Machine<'_>, at: u32) -> Result<Option<Slot>, Fault> {
    let mut event = Event::Other;
    while machine.position() < at {
        event = machine.step()?;
    }
    Ok(machine.top().filter(|_| event == Event::Pushed))
}

impl Piece {
    /// Returns the bytes of the piece: a slice of the pickle, or digits that are written to `digits`.
    pub(crate) fn bytes<'r>(&self, pickle: &'r [u8], digits: &'r mut Digits) -> &'r [u8] {
        let number = match *self {
            Self::Text { at, end, .. } => return text_at(pickle, at, end),
            Self::Integer(at) => op::read(pickle, at).ok().and_then(|op| op::integer(&op)).unwrap_or(0),
            Self::Place(place) => place.into(),
            Self::Unnamed => return &[],
        };
        let start = decimal(number, digits);
        digits.get(start..).unwrap_or_default()
    }
}
