//! The objects of the memo, and how those are found again that it no longer has.
#![forbid(unsafe_code)]

use super::Fault;
use super::globals::Known;
use super::machine::{Machine, Run};
use super::memo::NOTHING;
use super::op::{self, Op, number};
use super::slot::{Kind, Slot, simple};
use crate::error::ErrorKind;
use crate::error::origin::Part;

impl<'a> Machine<'a> {
    /// Returns an object of the memo. A run of a part does not look for one that it has not seen.
    pub(super) fn recalled(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        let index = index(op);
        let found = match self.memo.get(index) {
            Some(slot) => slot,
            None if self.run == Run::Whole => {
                let found = self.find(op)?;
                self.memo.put(index, found);
                found
            }
            None => Slot::new(Kind::Unknown, op.at, op.next),
        };
        Ok(Slot { start: op.at, ..found })
    }

    /// Returns an object with what it is, if it is from the memo.
    pub(crate) fn resolved(&mut self, slot: &Slot) -> Result<Slot, Fault> {
        let named = self.named(slot)?;
        if named.kind != Kind::Unknown || self.run == Run::Memo {
            return Ok(named);
        }
        let op = op::read(self.bytes, slot.at)?;
        let found = self.find(&op)?;
        self.memo.put(index(&op), found);
        Ok(Slot { start: slot.start, ..found })
    }

    /// Returns an object with what it is, if it is a text or a name from the memo.
    pub(super) fn named(&mut self, slot: &Slot) -> Result<Slot, Fault> {
        if slot.kind != Kind::Unknown {
            return Ok(*slot);
        }
        let op = op::read(self.bytes, slot.at)?;
        let index = index(&op);
        let mut found = self.memo.get(index).or_else(|| self.recent(index));
        if found.is_none() {
            let (last, before) = self.last_put.find(self.bytes, &op, &mut self.work)?;
            found = complete(self.bytes, &last, before, &mut self.work);
        }
        let Some(found) = found else { return Ok(*slot) };
        self.memo.put(index, found);
        if matches!(found.kind, Kind::Text | Kind::Global) {
            self.outline.recent.add(if found.kind == Kind::Text { found.count } else { found.at });
        }
        Ok(Slot { start: slot.start, ..found })
    }

    /// Returns the text or the name of an index, if it was lately taken from the memo.
    fn recent(&self, index: u32) -> Option<Slot> {
        self.outline.recent.iter().find_map(|at| {
            let before = op::read(self.bytes, at).ok()?;
            let put = op::read(self.bytes, before.next).ok()?;
            let is_put = matches!(put.code, op::PUT_1 | op::PUT_4) && number(put.argument) == u64::from(index);
            let slot = simple(&before).filter(|_| is_put)?;
            Some(Slot { is_alias: true, ..slot })
        })
    }

    /// Finds an object that the memo does not have: reads the pickle again up to where the object was put.
    fn find(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        let (last, before) = self.last_put.find(self.bytes, op, &mut self.work)?;
        if let Some(slot) = complete(self.bytes, &last, before, &mut self.work) {
            return Ok(slot);
        }
        let mut machine = Self::new(self.bytes, &self.outline);
        machine.run = Run::Memo;
        while machine.at < last.next {
            machine.step()?;
        }
        self.work = self.work.saturating_add(u64::from(last.next).saturating_mul(4)).saturating_add(machine.work);
        let unknown = Fault::new(ErrorKind::MissingData, Part::Value, op.at);
        let found = machine.top().ok_or(unknown)?;
        if found.kind == Kind::Unknown {
            return Err(Fault::new(ErrorKind::TooMany, Part::Value, op.at));
        }
        Ok(Slot { is_alias: true, role: 0, ..found })
    }
}

/// Returns the index of the memo in an opcode's argument.
fn index(op: &Op<'_>) -> u32 {
    u32::try_from(number(op.argument)).unwrap_or(NOTHING)
}

/// Returns an object of the memo whose last opcode is `last`, behind two others that are no notes, if these tell all of
/// it: a text, a name, an empty container.
fn complete(bytes: &[u8], last: &Op<'_>, before: [u32; 2], work: &mut u64) -> Option<Slot> {
    let empty = |kind| Slot::new(kind, last.at, last.next);
    let slot = match last.code {
        op::EMPTY_DICT => empty(Kind::Dict),
        op::EMPTY_LIST => empty(Kind::List),
        op::STACK_GLOBAL => {
            let [module, name] = before;
            let (module, name) = (text_of(bytes, module, work)?, text_of(bytes, name, work)?);
            Slot { known: Known::of(module, name).number(), ..empty(Kind::Global) }
        }
        _ => simple(last)?,
    };
    Some(Slot { is_alias: true, ..slot })
}

/// Returns the text that an opcode pushes, perhaps from the memo.
pub(crate) fn text_of<'a>(bytes: &'a [u8], at: u32, work: &mut u64) -> Option<&'a [u8]> {
    let mut pushes = op::read(bytes, at).ok()?;
    if matches!(pushes.code, op::GET_1 | op::GET_4) {
        let mut start = Put::NONE;
        (pushes, _) = start.find(bytes, &pushes, work).ok()?;
    }
    simple(&pushes).filter(|text| text.kind == Kind::Text).map(|_| pushes.argument)
}

/// The bytes at the start of a pickle in which most texts and names are that are taken from the memo.
const NEAR: usize = 1 << 10;

/// The place where an object was put into the memo: its index, the position behind, the number of objects up to there, and
/// the last three opcodes, without notes.
#[derive(Clone, Copy)]
pub(crate) struct Put {
    index: u32,
    next: u32,
    count: u32,
    before: [u32; 3],
}

impl Put {
    pub(crate) const NONE: Self = Self { index: 0, next: 0, count: 0, before: [0; 3] };

    /// Returns an object that an opcode takes from the memo, if it is a text or a name near the start of the pickle.
    pub(crate) fn named(&mut self, pickle: &[u8], op: &Op<'_>) -> Option<Slot> {
        let near = pickle.get(..NEAR).unwrap_or(pickle);
        let (last, before) = self.find(near, op, &mut 0).ok()?;
        complete(near, &last, before, &mut 0)
    }

    /// Returns the last opcode of the object that an opcode takes from the memo, and the two before it, without notes. Reads
    /// the pickle from its start or, since indices rise, from this place on, which becomes that of the object. Adds the
    /// number of opcodes to `work`.
    fn find<'a>(&mut self, bytes: &'a [u8], op: &Op<'_>, work: &mut u64) -> Result<(Op<'a>, [u32; 2]), Fault> {
        let (wanted, unknown) = (index(op), Fault::new(ErrorKind::MissingData, Part::Value, op.at));
        let start = if wanted > self.index { *self } else { Self::NONE };
        let (mut at, mut count, mut before) = (start.next, start.count, start.before);
        while at < op.at {
            let (code, next) = op::skip(bytes, at).ok_or(unknown)?;
            *work = work.saturating_add(1);
            let index = match code {
                op::MEMOIZE => count,
                op::PUT_1 | op::PUT_4 => index(&op::read(bytes, at)?),
                op::FRAME | op::PROTO => {
                    at = next;
                    continue;
                }
                _ => {
                    let [_, second, last] = before;
                    before = [second, last, core::mem::replace(&mut at, next)];
                    continue;
                }
            };
            (at, count) = (next, count.saturating_add(1));
            if index == wanted {
                *self = Self { index, next: at, count, before };
                let [module, name, last] = before;
                return op::read(bytes, last).map(|op| (op, [module, name]));
            }
        }
        Err(unknown)
    }
}
