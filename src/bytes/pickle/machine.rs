//! The stack machine: what each opcode leaves on the stack.
#![forbid(unsafe_code)]

use super::Fault;
use super::globals::Known;
use super::memo::{Memo, NOTHING};
use super::op::{self, Op, number};
use super::outline::Outline;
use super::path::Path;
use super::recall::Put;
use super::slot::{Kind, Puts, Slot, bytes_of, simple};
use crate::bytes::num::to_u64;
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// The number of objects and marks that are on the stack at most. A dictionary in a dictionary takes three.
const SLOTS: usize = 512;
/// The number of objects above a mark that are kept, at least. Of earlier ones, only the number is.
const KEPT: u8 = 12;

/// The effect of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Another object is on top of the stack.
    Pushed,
    /// Something else.
    Other,
    /// The end: the only object on the stack is the result.
    Stopped,
}

/// The largest number of items that [`Machine::items`] returns.
pub(crate) const MOST_ITEMS: usize = 10;

/// The items of a tuple.
#[derive(Clone, Copy)]
pub(crate) struct Items {
    slots: [Slot; MOST_ITEMS],
    count: usize,
}

impl Items {
    pub(crate) fn all(&self) -> &[Slot] {
        self.slots.get(..self.count).unwrap_or_default()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Slot> {
        self.all().get(index)
    }
}

/// The part of a program that is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// The whole pickle.
    Whole,
    /// A part, once more. Objects from the memo are only looked for if something depends on them.
    Part,
    /// All up to an object that the memo no longer has, to find it.
    Memo,
}

/// The state of a program at a position.
#[derive(Clone)]
pub(crate) struct Machine<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: u32,
    stack: [Slot; SLOTS],
    height: usize,
    /// The number of objects and marks below the last mark, and that mark; 0 if there is none.
    below: usize,
    pub(super) memo: Memo,
    pub(super) run: Run,
    pub(super) outline: Outline,
    /// Where an object of the memo was last found.
    pub(super) last_put: Put,
    /// The bytes that were read again for the memo.
    pub(super) work: u64,
}

impl<'a> Machine<'a> {
    /// A machine at the start of a pickle.
    pub(crate) fn new(bytes: &'a [u8], outline: &Outline) -> Self {
        Self::with(bytes, outline, 0, Run::Whole)
    }

    #[inline] // large
    fn with(bytes: &'a [u8], outline: &Outline, at: u32, run: Run) -> Self {
        Self {
            bytes,
            at,
            stack: [Slot::EMPTY; SLOTS],
            height: 0,
            below: 0,
            memo: Memo::new(),
            run,
            outline: *outline,
            last_put: Put::NONE,
            work: 0,
        }
    }

    /// A machine at `at` with an empty stack, which [`Frames`](super::frames::Frames) fills.
    pub(super) fn at(bytes: &'a [u8], outline: &Outline, at: u32) -> Self {
        Self::with(bytes, outline, at, Run::Part)
    }

    pub(crate) const fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Pushes an object of which not all is known.
    pub(super) fn push_known(&mut self, slot: Slot) {
        let _ = self.push(slot);
    }

    /// Pushes the key of the opcode at `at`.
    pub(super) fn push_key(&mut self, at: u32) {
        let key = op::read(self.bytes, at).ok();
        let kind = key.filter(|op| matches!(op.code, op::GET_1 | op::GET_4)).map_or(Kind::Integer, |_| Kind::Unknown);
        let text = key.and_then(|op| simple(&op));
        self.push_known(text.unwrap_or(Slot::new(kind, at, at)));
    }

    /// The bytes that have been read again, to find objects that the memo no longer has.
    pub(crate) const fn work(&self) -> u64 {
        self.work
    }

    /// Notes that so many opcodes were read once more.
    pub(crate) fn add_work(&mut self, count: u32) {
        self.work = self.work.saturating_add(count.into());
    }

    /// Returns an object that an opcode takes from the memo, if it is remembered.
    pub(crate) fn known(&mut self, op: &Op<'_>) -> Option<Slot> {
        self.memo.get(u32::try_from(number(op.argument)).ok()?)
    }

    /// Pushes what a call has made, and continues at `next`. The indices at which the call puts objects into the memo must
    /// be above those before.
    pub(super) fn push_call(&mut self, slot: Slot, next: u32, puts: Puts) -> Result<(), Fault> {
        if puts.count > 0 {
            if self.memo.last.is_some_and(|before| puts.first <= before) || puts.last == NOTHING {
                return Err(Fault::new(ErrorKind::KeyOrder, Part::Value, self.at));
            }
            self.memo.last = Some(puts.last);
            self.memo.count = self.memo.count.saturating_add(puts.count);
        }
        self.push(slot)?;
        self.at = next;
        Ok(())
    }

    /// Returns the items of a tuple, or the arguments of what made an object: from `at` to `end`. The objects are read
    /// once more, so nothing is known of their surroundings. More than [`MOST_ITEMS`] are a fault.
    pub(crate) fn items(&mut self, at: u32, end: u32) -> Result<Items, Fault> {
        self.aside(at, end, |machine| {
            machine.push(Slot::new(Kind::Mark, at, at))?;
            while machine.at < end {
                machine.step()?;
            }
            let wrong = Fault::new(ErrorKind::CountsDiffer, Part::Value, at);
            let start = machine.mark().ok_or(wrong)?;
            let mut items = Items { slots: [Slot::EMPTY; MOST_ITEMS], count: 0 };
            match machine.stack().get(start..) {
                Some([mark, rest @ ..]) if mark.count == 0 && rest.len() <= MOST_ITEMS => {
                    items.slots.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                    items.count = rest.len();
                }
                _ => return Err(wrong),
            }
            for slot in items.slots.iter_mut().take(items.count) {
                *slot = machine.resolved(slot)?;
            }
            Ok(items)
        })
    }

    /// Calls `each` with the keys and values of a dictionary, which begins at `at`; its items end before `end`.
    pub(crate) fn each_pair(&mut self, at: u32, end: u32, mut each: impl FnMut(&Slot, &Slot)) -> Result<(), Fault> {
        self.aside(at, end, |machine| {
            // Behind a mark, no object below is dropped.
            machine.push(Slot::new(Kind::Mark, at, at))?;
            let base = machine.height;
            while machine.at < end {
                let height = machine.height;
                let code = op::read(machine.bytes, machine.at)?.code;
                let pairs = match (code, machine.stack().get(base..).unwrap_or_default()) {
                    (op::SET_ITEM, [_, _, _]) => base.saturating_add(1)..,
                    (op::SET_ITEMS, [_, mark, items @ ..]) => {
                        if mark.count > 0 {
                            return Err(Fault::new(ErrorKind::TooMany, Part::Value, machine.at));
                        }
                        let is_nested = items.iter().any(|slot| slot.kind == Kind::Mark);
                        if is_nested { height.. } else { base.saturating_add(2).. }
                    }
                    _ => height..,
                };
                for first in pairs.step_by(2).take_while(|first| *first < height) {
                    let pair = machine.stack().get(first..).unwrap_or_default();
                    let [key, value, ..] = *pair else { break };
                    each(&machine.resolved(&key)?, &machine.resolved(&value)?);
                }
                machine.step()?;
            }
            Ok(())
        })
    }

    /// Runs a part once more, above the objects on the stack.
    fn aside<T>(&mut self, at: u32, end: u32, part: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let (position, height, below, run) = (self.at, self.height, self.below, self.run);
        (self.at, self.run) = (at, Run::Part);
        let result = part(self);
        (self.at, self.height, self.below, self.run) = (position, height, below, run);
        self.work = self.work.saturating_add(end.saturating_sub(at).into());
        result
    }

    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The position of the next opcode.
    pub(crate) const fn position(&self) -> u32 {
        self.at
    }

    /// The objects on the stack, the last one on top.
    pub(crate) fn stack(&self) -> &[Slot] {
        self.stack.get(..self.height).unwrap_or_default()
    }

    pub(crate) fn slot_mut(&mut self, index: usize) -> Option<&mut Slot> {
        self.stack.get_mut(..self.height)?.get_mut(index)
    }

    /// Sets `path` to that of the tensor on top of the stack. Returns `false` if there is none, or if it is not a value of
    /// the tree. An object from the memo is only looked for if it is such a value.
    pub(crate) fn tensor_path(&mut self, path: &mut Path) -> Result<bool, Fault> {
        let Some(top) = self.top().filter(|top| matches!(top.kind, Kind::Tensor | Kind::Unknown)) else {
            return Ok(false);
        };
        if !self.path(path)? {
            return Ok(false);
        }
        let tensor = self.resolved(&top)?;
        if let Some(slot) = self.slot_mut(self.height.saturating_sub(1)) {
            *slot = Slot { role: top.role, ..tensor };
        }
        Ok(tensor.kind == Kind::Tensor)
    }

    /// The object on top of the stack.
    pub(crate) fn top(&self) -> Option<Slot> {
        self.stack().last().copied()
    }

    pub(super) const fn fault<T>(&self, kind: ErrorKind, op: &Op<'_>) -> Result<T, Fault> {
        Err(Fault::new(kind, Part::Value, op.at))
    }

    fn push(&mut self, slot: Slot) -> Result<(), Fault> {
        let too_deep = Fault::new(ErrorKind::TooDeep, Part::Value, self.at);
        if slot.kind != Kind::Mark {
            self.drop_oldest();
        }
        *self.stack.get_mut(self.height).ok_or(too_deep)? = slot;
        self.height = self.height.saturating_add(1);
        if slot.kind == Kind::Mark {
            self.below = self.height;
        }
        Ok(())
    }

    /// The index of the last mark.
    pub(crate) const fn mark(&self) -> Option<usize> {
        self.below.checked_sub(1)
    }

    /// Drops the oldest object above the last mark, if there are many.
    #[inline]
    fn drop_oldest(&mut self) {
        // An object with more above it than the reach is no longer needed.
        let kept = usize::from(self.outline.reach.count().saturating_add(2).max(KEPT));
        if self.below == 0 || self.height.saturating_sub(self.below) < kept {
            return;
        }
        let from = self.below.saturating_sub(1);
        let Some([mark, oldest, rest @ ..]) = self.stack.get_mut(from..self.height) else { return };
        mark.is_bad |= mark.count & 1 == 0 && !oldest.is_hashable();
        mark.count = mark.count.saturating_add(1);
        let mut place = oldest;
        for slot in rest {
            *place = *slot;
            place = slot;
        }
        self.height = self.height.saturating_sub(1);
    }

    /// True if the object below the one on top was dropped, which may be the key of its container: then the reach is larger
    /// than assumed. A part that is run once more begins anywhere.
    fn is_cut(&self) -> bool {
        let is_first = self.below > 0 && self.height == self.below.saturating_add(1);
        let mark = self.mark().and_then(|mark| self.stack.get(mark));
        is_first && self.run != Run::Part && mark.is_some_and(|mark| mark.count > 0)
    }

    /// Takes the object on top of the stack.
    fn pop(&mut self, op: &Op<'_>) -> Result<Slot, Fault> {
        match self.top() {
            Some(slot) if slot.is_assumed || self.is_cut() => self.fault(ErrorKind::TooDeep, op),
            Some(slot) if slot.kind != Kind::Mark => {
                self.height = self.height.saturating_sub(1);
                // An earlier object is gone if it was dropped.
                Ok(slot)
            }
            Some(mark) if mark.count > 0 => self.fault(ErrorKind::TooDeep, op),
            _ => self.fault(ErrorKind::Malformed, op),
        }
    }

    /// Returns the object on top of the stack, to which the opcode at `at` adds something.
    fn last(&mut self, at: u32) -> Result<&mut Slot, Fault> {
        let missing = Fault::new(ErrorKind::Malformed, Part::Value, at);
        if self.is_cut() {
            return Err(Fault { kind: ErrorKind::TooDeep, ..missing });
        }
        let slot = self.height.checked_sub(1).and_then(|index| self.stack.get_mut(index)).ok_or(missing)?;
        match slot.kind {
            Kind::Mark if slot.count > 0 => Err(Fault { kind: ErrorKind::TooDeep, ..missing }),
            Kind::Mark => Err(missing),
            _ => Ok(slot),
        }
    }

    /// Takes everything above the last mark, and the mark. Returns the mark, the number of objects, and whether one
    /// at an even place cannot be a key.
    fn pop_mark(&mut self, op: &Op<'_>) -> Result<(Slot, u32, bool), Fault> {
        let Some(index) = self.mark() else { return self.fault(ErrorKind::Malformed, op) };
        let Some([mark, items @ ..]) = self.stack.get(index..self.height) else {
            return self.fault(ErrorKind::Malformed, op);
        };
        let (mut count, mut is_bad) = (mark.count, mark.is_bad);
        for slot in items {
            is_bad |= count & 1 == 0 && !slot.is_hashable();
            count = count.saturating_add(1);
        }
        let mark = *mark;
        self.height = index;
        let before = self.stack().iter().rposition(|slot| slot.kind == Kind::Mark);
        self.below = before.map_or(0, |before| before.saturating_add(1));
        Ok((mark, count, is_bad))
    }

    /// Runs the program until an object has been pushed, or to the end.
    pub(crate) fn step(&mut self) -> Result<Event, Fault> {
        let op = op::read(self.bytes, self.at)?;
        if (self.at == 0) != (op.code == op::PROTO) {
            return self.fault(ErrorKind::WrongMarker, &op);
        }
        let event = self.run(&op)?;
        self.at = op.next;
        Ok(event)
    }

    fn run(&mut self, op: &Op<'a>) -> Result<Event, Fault> {
        let slot = |kind| Slot::new(kind, op.at, op.next);
        let data = |kind| Slot { start: op.at, ..Slot::new(kind, op.argument_at, op.next) };
        let pushed = match op.code {
            op::PROTO => {
                if !matches!(op.argument, [2..=5]) {
                    return self.fault(ErrorKind::UnsupportedVersion, op);
                }
                return Ok(Event::Other);
            }
            op::FRAME => {
                let left = to_u64(self.bytes.len()).saturating_sub(op.next.into());
                if number(op.argument) > left {
                    return self.fault(ErrorKind::Truncated, op);
                }
                return Ok(Event::Other);
            }
            op::MARK => {
                self.push(Slot::new(Kind::Mark, op.next, op.next))?;
                return Ok(Event::Other);
            }
            op::NONE => slot(Kind::None),
            op::TRUE | op::FALSE => slot(Kind::Bool),
            op::INT_TEXT if op::is_truth(op) => slot(Kind::Bool),
            op::INT_1 | op::INT_2 | op::INT_4 | op::LONG_1 | op::LONG_4 => slot(Kind::Integer),
            op::INT_TEXT => {
                if op::integer(op).is_none() {
                    return self.fault(ErrorKind::Malformed, op);
                }
                slot(Kind::Integer)
            }
            op::FLOAT => slot(Kind::Float),
            op::TEXT_1 | op::TEXT_4 | op::TEXT_8 | op::GLOBAL => match simple(op) {
                Some(slot) => slot,
                None => return self.fault(ErrorKind::InvalidUtf8, op),
            },
            op::STRING_1 | op::STRING_4 => simple(op).unwrap_or(data(Kind::Bytes)),
            op::BYTES_1 | op::BYTES_4 | op::BYTES_8 => data(Kind::Bytes),
            op::BYTE_ARRAY => slot(Kind::Object),
            op::EMPTY_DICT => slot(Kind::Dict),
            op::EMPTY_LIST => slot(Kind::List),
            op::EMPTY_SET => slot(Kind::Set),
            op::EMPTY_TUPLE => Slot::new(Kind::Tuple, op.at, op.at),
            op::TUPLE => {
                let (mark, count, _) = self.pop_mark(op)?;
                Slot { start: mark.at.saturating_sub(1), count, ..Slot::new(Kind::Tuple, mark.at, op.at) }
            }
            op::TUPLE_1 => self.tuple(1, op)?,
            op::TUPLE_2 => self.tuple(2, op)?,
            op::TUPLE_3 => self.tuple(3, op)?,
            op::FROZEN_SET => {
                let at = self.pop_mark(op)?.0.at;
                Slot { start: at.saturating_sub(1), known: 1, ..slot(Kind::Set) }
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop(op)?, self.pop(op)?);
                let (name, module) = (self.named(&name)?, self.named(&module)?);
                if name.kind != Kind::Text || module.kind != Kind::Text {
                    return self.refuse_unknown(&[name, module], ErrorKind::UnexpectedType, op);
                }
                let known = Known::of(self.text(&module), self.text(&name)).number();
                Slot { known, start: module.start, ..slot(Kind::Global) }
            }
            op::REDUCE => self.reduce(op)?,
            op::NEW_OBJECT | op::NEW_OBJECT_EX => self.new_object(op)?,
            op::PERSISTENT_ID => self.persistent(op)?,
            op::PUT_1 | op::PUT_4 | op::MEMOIZE => {
                let index = self.index(op);
                self.put(index, op.at)?;
                return Ok(Event::Other);
            }
            op::GET_1 | op::GET_4 => self.recalled(op)?,
            op::STOP => {
                return match self.stack() {
                    [only] if only.kind != Kind::Mark => Ok(Event::Stopped),
                    _ => self.fault(ErrorKind::CountsDiffer, op),
                };
            }
            _ => {
                self.add(op)?;
                return Ok(Event::Other);
            }
        };
        self.push(pushed)?;
        Ok(Event::Pushed)
    }

    /// Puts the object on top of the stack into the memo. The opcode for that is at `at`.
    fn put(&mut self, index: u32, at: u32) -> Result<(), Fault> {
        let top = *self.last(at)?;
        if self.run == Run::Part {
            return Ok(());
        }
        if self.memo.last.is_some_and(|last| index <= last) || index == NOTHING {
            return Err(Fault::new(ErrorKind::KeyOrder, Part::Value, at));
        }
        self.memo.last = Some(index);
        self.memo.count = self.memo.count.saturating_add(1);
        // Most objects are never taken from the memo: mappings, tuples, what is neither.
        if matches!(top.kind, Kind::Text | Kind::Global | Kind::Storage | Kind::Tensor) {
            self.memo.put(index, Slot { is_alias: true, role: 0, ..top });
        }
        Ok(())
    }

    /// Runs the opcode that puts the object on top of the stack into the memo, if that is the next one and has an index.
    pub(crate) fn step_put(&mut self) -> Result<(), Fault> {
        if let Some((index, next)) = op::put(self.bytes, self.at) {
            self.put(index, self.at)?;
            self.at = next;
        }
        Ok(())
    }

    /// The error for objects of a wrong kind; if one of them is no longer known, an error that says so.
    fn refuse_unknown<T>(&self, slots: &[Slot], kind: ErrorKind, op: &Op<'_>) -> Result<T, Fault> {
        let is_unknown = slots.iter().any(|slot| slot.kind == Kind::Unknown);
        self.fault(if is_unknown { ErrorKind::TooMany } else { kind }, op)
    }

    /// Returns the bytes of a text or of bytes.
    pub(crate) fn text(&self, slot: &Slot) -> &'a [u8] {
        bytes_of(self.bytes, slot)
    }

    fn tuple(&mut self, count: usize, op: &Op<'_>) -> Result<Slot, Fault> {
        let mut first = op.at;
        for _ in 0..count {
            first = self.pop(op)?.start;
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Slot { count, ..Slot::new(Kind::Tuple, first, op.at) })
    }

    /// Takes the arguments and the function, or the class, of a call.
    fn call(&mut self, op: &Op<'a>) -> Result<(Slot, Slot), Fault> {
        let (arguments, function) = (self.pop(op)?, self.pop(op)?);
        Ok((self.resolved(&arguments)?, self.resolved(&function)?))
    }

    /// Notes that a function, or a class, was called. Only the known ones have a meaning.
    fn reduce(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        let (arguments, function) = self.call(op)?;
        if !may_be(&arguments, &[Kind::Tuple]) || !may_be(&function, &[Kind::Global, Kind::Object]) {
            return self.refuse_unknown(&[arguments, function], ErrorKind::UnexpectedType, op);
        }
        let known = if function.kind == Kind::Global { function.known() } else { Known::OPAQUE };
        // The arguments are read again later, so they stand before the call. No writer takes them from the memo.
        if arguments.is_alias && (known.makes_tensor() || known == Known::SIZE) {
            return self.fault(ErrorKind::UnexpectedType, op);
        }
        let kind = match known {
            Known::ORDERED_DICT if arguments.count > 1 => return self.fault(ErrorKind::UnexpectedType, op),
            Known::ORDERED_DICT | Known::DEFAULT_DICT => Kind::Map,
            Known::SIZE => Kind::Tuple,
            known if known.makes_tensor() => Kind::Tensor,
            _ => Kind::Object,
        };
        let known = known.number();
        Ok(Slot { known, start: function.start, ..Slot::new(kind, arguments.at, arguments.end) })
    }

    fn new_object(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        if op.code == op::NEW_OBJECT_EX {
            let keywords = self.pop(op)?;
            if !matches!(keywords.kind, Kind::Dict | Kind::Unknown) {
                return self.fault(ErrorKind::UnexpectedType, op);
            }
        }
        let (arguments, class) = self.call(op)?;
        if !may_be(&arguments, &[Kind::Tuple]) || !may_be(&class, &[Kind::Global, Kind::Object]) {
            return self.refuse_unknown(&[arguments, class], ErrorKind::UnexpectedType, op);
        }
        let is_map = class.kind == Kind::Global && class.known() == Known::ORDERED_DICT;
        let kind = if is_map { Kind::Map } else { Kind::Object };
        Ok(Slot { start: class.start, ..Slot::new(kind, arguments.at, arguments.end) })
    }

    /// The index of the memo entry that an opcode makes.
    fn index(&self, op: &Op<'_>) -> u32 {
        match op.code {
            op::MEMOIZE => self.memo.count,
            _ => u32::try_from(number(op.argument)).unwrap_or(NOTHING),
        }
    }

    /// Reads a persistent ID: a storage, or the class of a module. What the ID says is checked when it is used.
    fn persistent(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        let id = self.pop(op)?;
        let id = self.resolved(&id)?;
        if id.kind != Kind::Tuple || id.is_alias {
            return self.refuse_unknown(&[id], ErrorKind::UnexpectedType, op);
        }
        // Only the first item tells, a text. In a tuple without items, the opcode that makes it is here.
        let first = op::read(self.bytes, id.at)?;
        let word = match first.code {
            op::TEXT_1 | op::TEXT_4 | op::TEXT_8 | op::STRING_1 | op::STRING_4 => first.argument,
            op::GET_1 | op::GET_4 => {
                let slot = self.recalled(&first)?;
                let slot = self.named(&slot)?;
                if slot.kind == Kind::Text { self.text(&slot) } else { &[] }
            }
            _ => &[],
        };
        let kind = match word {
            b"storage" => Kind::Storage,
            b"module" => Kind::Object,
            _ => return self.fault(ErrorKind::UnexpectedType, op),
        };
        Ok(Slot { start: id.start, ..Slot::new(kind, id.at, id.end) })
    }

    /// Adds something to the object that is then on top of the stack.
    fn add(&mut self, op: &Op<'_>) -> Result<(), Fault> {
        let refused = Fault::new(ErrorKind::UnexpectedType, Part::Value, op.at);
        let bad_key = Fault::new(ErrorKind::UnexpectedType, Part::Key, op.at);
        match op.code {
            op::SET_ITEM => {
                let (_, key) = (self.pop(op)?, self.pop(op)?);
                if !key.is_hashable() {
                    return Err(bad_key);
                }
                if self.last(op.at)?.takes_items() { Ok(()) } else { Err(refused) }
            }
            op::SET_ITEMS => {
                let (_, count, is_bad) = self.pop_mark(op)?;
                if count & 1 != 0 {
                    return self.fault(ErrorKind::CountsDiffer, op);
                }
                if is_bad {
                    return Err(bad_key);
                }
                if self.last(op.at)?.takes_items() { Ok(()) } else { Err(refused) }
            }
            op::APPEND | op::APPENDS | op::ADD_ITEMS => {
                let more = if op.code == op::APPEND {
                    self.pop(op)?;
                    1
                } else {
                    self.pop_mark(op)?.1
                };
                let to = self.last(op.at)?;
                to.count = to.count.saturating_add(more);
                let is_it = match to.kind {
                    Kind::Set => op.code == op::ADD_ITEMS && to.known == 0,
                    Kind::List => op.code != op::ADD_ITEMS,
                    Kind::Object => true,
                    _ => false,
                };
                if is_it && !to.is_alias { Ok(()) } else { Err(refused) }
            }
            op::BUILD => {
                self.pop(op)?;
                let to = self.last(op.at)?;
                let is_it = matches!(to.kind, Kind::Map | Kind::Object) && !to.is_alias;
                if is_it { Ok(()) } else { Err(refused) }
            }
            _ => Err(Fault::new(ErrorKind::WrongMarker, Part::Value, op.at)),
        }
    }
}

/// True if an object is of one of these kinds, or may be. Only in a run that finds an object of the memo are others of
/// the memo unknown, since it does not look for them.
fn may_be(slot: &Slot, kinds: &[Kind]) -> bool {
    kinds.contains(&slot.kind) || slot.kind == Kind::Unknown
}
