//! Attributes in PyTorch checkpoints: texts, numbers, truth values and bytes of the tree, by their path.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::extent::Region;
use crate::bytes::num::to_u64;
use crate::bytes::pickle::frames::Frames;
use crate::bytes::pickle::machine::{Event, Machine};
use crate::bytes::pickle::outline::Outline;
use crate::bytes::pickle::path::Path;
use crate::bytes::pickle::reach::Reach;
use crate::bytes::pickle::slot::{Kind, Slot};
use crate::bytes::pickle::{Fault, op};
use crate::bytes::text::Text;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};

/// The bytes of a pickle that may be read once more to list values in deep containers: so many times the pickle, and so
/// many more.
const MOST_AGAIN: u64 = 256;
const MORE: u64 = 1 << 20;

/// The values of two pickles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    pickles: [Region<'a>; 2],
    in_constants: bool,
    outline: Outline,
    /// The position behind the last value, and where a machine continues: there or before, in these containers.
    after: u32,
    at: u32,
    frames: Frames,
    /// The bytes of the pickle that were read once more.
    work: u64,
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns the values of a pickle and of a pickle of constants, which may be empty.
    pub(crate) const fn pytorch(data: Region<'a>, constants: Region<'a>, reach: Reach) -> Self {
        Self(Inner::Pytorch(Items {
            pickles: [data, constants],
            in_constants: false,
            outline: Outline::of(reach),
            after: 0,
            at: 0,
            frames: Frames::START,
            work: 0,
            error: None,
        }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Reads the next value of a pickle.
    #[inline(never)] // for its machine on the stack
    fn read(&mut self, pickle: &'a [u8]) -> Result<Option<Attribute<'a>>, Fault> {
        let mut machine = self.frames.machine(pickle, &self.outline, self.at);
        let mut path = Path::EMPTY;
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(None),
                Event::Pushed => {}
                Event::Other => continue,
            }
            let position = machine.position();
            if position <= self.after {
                continue;
            }
            let top = machine.top().filter(|top| value(&machine, top).is_some() || top.kind == Kind::Unknown);
            let Some(top) = top else { continue };
            if !machine.path(&mut path)? {
                continue;
            }
            let top = machine.resolved(&top)?;
            let Some(value) = value(&machine, &top) else { continue };
            let again = u64::from(self.after.saturating_sub(self.at)).saturating_add(machine.work());
            self.work = self.work.saturating_add(again);
            if self.work > to_u64(pickle.len()).saturating_mul(MOST_AGAIN).saturating_add(MORE) {
                return Err(Fault::new(ErrorKind::TooDeep, Part::Name, position));
            }
            self.outline = *machine.outline();
            self.after = position;
            if let Some((at, frames)) = path.restart(position) {
                (self.at, self.frames) = (at, frames);
            }
            let key = Some(Value::Text(path.text(pickle, position, self.outline.reach, self.in_constants)));
            return Ok(Some(Attribute { key, value }));
        }
    }
}

/// Returns the value of an object; `None` for anything that is not an attribute.
fn value<'a>(machine: &Machine<'a>, top: &Slot) -> Option<Value<'a>> {
    let code = || op::read(machine.bytes(), top.at).ok();
    Some(match top.kind {
        Kind::None => Value::Null,
        Kind::Bool => code().map(|op| Value::Bool(op.code == op::TRUE || op.argument == b"01\n"))?,
        Kind::Integer => {
            let number = op::integer(&code()?)?;
            let fits = number >= i64::MIN.into() && number <= u64::MAX.into();
            Value::Integer(Some(number).filter(|_| fits)?)
        }
        Kind::Float => {
            let bytes = code()?.argument.first_chunk().copied()?;
            Value::Float(f64::from_be_bytes(bytes))
        }
        Kind::Text => Value::Text(Text::new(machine.text(top), false)),
        Kind::Bytes => Value::Bytes(machine.text(top)),
        Kind::Global => Value::Text(Text::from(top.known().dtype()?.name)),
        _ => return None,
    })
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        loop {
            let [data, constants] = self.pickles;
            let pickle = if self.in_constants { constants } else { data };
            if self.error.is_some() || pickle.bytes.is_empty() {
                return None;
            }
            match self.read(pickle.bytes) {
                Ok(Some(attribute)) => return Some(attribute),
                Ok(None) if !self.in_constants => {
                    let outline = Outline::of(self.outline.reach);
                    let start = Self { outline, after: 0, at: 0, frames: Frames::START, work: 0, ..*self };
                    *self = Self { in_constants: true, ..start };
                }
                Ok(None) => return None,
                Err(fault) => {
                    let offset = pickle.start.saturating_add(fault.at.into());
                    self.error = Some(Error::at(fault.kind, Format::Pytorch, fault.item, offset));
                    return None;
                }
            }
        }
    }
}
