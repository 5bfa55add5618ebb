//! The objects of the memo, and how those are found again that it no longer has.
#![forbid(unsafe_code)]

use super::Fault;
use super::machine::{Kind, Machine, Run, Slot, simple};
use super::memo::NOTHING;
use super::op::{self, Op, number};
use crate::error::ErrorKind;
use crate::error::origin::Part;

impl<'a> Machine<'a> {
    /// Returns an object of the memo.
    pub(super) fn recalled(&mut self, op: &Op<'a>) -> Result<Slot, Fault> {
        let index = u32::try_from(number(op.argument)).unwrap_or(NOTHING);
        let found = match self.memo.get(index) {
            Some(slot) => slot,
            None if self.run == Run::Memo => Slot { is_alias: true, ..Slot::new(Kind::Unknown, op.at, op.next) },
            None => {
                let found = self.find(index, op)?;
                self.memo.put(index, found);
                found
            }
        };
        if found.kind == Kind::Unknown && self.run != Run::Memo {
            return self.fault(ErrorKind::TooMany, op);
        }
        Ok(Slot { start: op.at, ..found })
    }

    /// Returns the text or the name of an index, if it was lately taken from the memo.
    fn recent(&self, index: u32) -> Option<Slot> {
        self.outline.recent.iter().find_map(|at| {
            let before = op::read(self.bytes, at).ok()?;
            let put = op::read(self.bytes, before.next).ok()?;
            let is_put = matches!(put.code, op::PUT_1 | op::PUT_4) && number(put.argument) == u64::from(index);
            simple(&before).filter(|_| is_put)
        })
    }

    /// Fills the memo of a machine that did not start at the start of the pickle: with texts and names from there on, up to
    /// an index that has not been passed. Returns the object of the index, if it is one of these.
    fn fill(&mut self, index: u32, end: u32) -> Result<Option<Slot>, Fault> {
        let mut before = None::<Op<'_>>;
        while self.filled < end {
            let next = op::read(self.bytes, self.filled)?;
            self.work = self.work.saturating_add(1);
            let of = match next.code {
                op::MEMOIZE => self.filled_count,
                op::PUT_1 | op::PUT_4 => u32::try_from(number(next.argument)).unwrap_or(NOTHING),
                _ => {
                    self.filled = next.next;
                    before = Some(next);
                    continue;
                }
            };
            if of > index {
                return Ok(None);
            }
            self.filled = next.next;
            self.filled_count = self.filled_count.saturating_add(1);
            let slot = before.take().and_then(|before| simple(&before)).map(|slot| Slot { is_alias: true, ..slot });
            if let Some(slot) = slot {
                self.memo.put(of, slot);
            }
            if of == index {
                return Ok(slot);
            }
        }
        Ok(None)
    }

    /// Finds an object that the memo no longer has: reads the pickle again up to where the object was put. A text, a
    /// number or a name is found without its surroundings.
    fn find(&mut self, index: u32, op: &Op<'a>) -> Result<Slot, Fault> {
        if self.run == Run::Items {
            let found = match self.recent(index) {
                Some(slot) => Some(Slot { is_alias: true, ..slot }),
                None => self.fill(index, op.at)?,
            };
            if let Some(slot) = found {
                self.outline.recent.add(if slot.kind == Kind::Text { slot.count } else { slot.at });
                return Ok(slot);
            }
        }
        let unknown = Fault::new(ErrorKind::MissingData, Part::Value, op.at);
        let (mut at, mut count, mut before) = (0, 0_u32, None::<Op<'_>>);
        while at < op.at {
            let next = op::read(self.bytes, at)?;
            at = next.next;
            self.work = self.work.saturating_add(1);
            let of = match next.code {
                op::MEMOIZE => count,
                op::PUT_1 | op::PUT_4 => u32::try_from(number(next.argument)).unwrap_or(NOTHING),
                _ => {
                    before = Some(next);
                    continue;
                }
            };
            count = count.saturating_add(1);
            if of != index {
                continue;
            }
            if let Some(slot) = before.and_then(|before| simple(&before)) {
                return Ok(Slot { is_alias: true, ..slot });
            }
            let mut machine = Self::new(self.bytes, &self.outline);
            machine.run = Run::Memo;
            self.work = self.work.saturating_add(u64::from(at).saturating_mul(4));
            while machine.at < next.at {
                machine.step()?;
            }
            return machine.top().map(|top| Slot { is_alias: true, role: 0, ..top }).ok_or(unknown);
        }
        Err(unknown)
    }
}
