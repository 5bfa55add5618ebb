//! Names: of tensors, of entries, and those in a pickle that stand for code.
#![forbid(unsafe_code)]

use core::fmt;

use super::tree::Tree;
use super::{IN_CONSTANTS, IS_KEY, PytorchFile};
use crate::bytes::pickle::globals::Known;
use crate::bytes::pickle::machine::{Event, Kind, Machine};
use crate::bytes::pickle::op;
use crate::bytes::pickle::path::path_at;
use crate::bytes::text::Text;
use crate::codec::zip::Archive;
use crate::duplicates::Distinct;
use crate::error::{Error, Result};

/// Returns the name at a place that [`Found::place`](super::tree::Found::place) was. Reads the pickle up to there,
/// unless the name is a single key.
pub(super) fn name_at<'a>(tree: &Tree<'a>, place: u32) -> Text<'a> {
    let position = place & !(IS_KEY | IN_CONSTANTS);
    if place & IS_KEY != 0 {
        let key = op::read(tree.pickle, position);
        return Text::new(key.map(|key| key.argument).unwrap_or_default(), false);
    }
    path_at(tree.pickle, position).map(|path| path.text(tree.pickle, position, tree.in_constants)).unwrap_or_default()
}

/// The names of the entries of an archive. Positions are those of the entries plus 1.
pub(super) struct Entries<'r, 'a>(pub(super) &'r Archive<'a>, pub(super) Option<Error>);

impl<'a> Distinct for Entries<'_, 'a> {
    type Entry = &'a [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'a [u8], u32)> {
        let at = *place;
        let found = self.0.record(at).unwrap_or_else(|error| {
            self.1 = Some(error);
            None
        });
        let record = found?;
        *place = record.next;
        Some((record.name, at.saturating_add(1)))
    }

    fn at(&self, position: u32) -> &'a [u8] {
        let record = self.0.record(position.saturating_sub(1)).ok().flatten();
        record.map(|record| record.name).unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.1.map_or(Ok(()), Err)
    }
}

/// A name in a pickle that stands for code: a function or a class. The code is never looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global<'a> {
    /// The module, as the pickle spells it.
    pub module: &'a str,
    /// The name in the module.
    pub name: &'a str,
    /// The offset in the file.
    pub offset: u64,
    /// True if the name has a meaning here. Objects of any other name are skipped.
    pub is_known: bool,
}

/// The names in the pickles that stand for code. See [`PytorchFile::globals`].
#[derive(Clone)]
pub struct Globals<'a> {
    file: PytorchFile<'a>,
    /// The program before the next opcode.
    machine: Machine<'a>,
    in_constants: bool,
}

impl<'a> Globals<'a> {
    pub(super) fn new(file: &PytorchFile<'a>) -> Self {
        Self { file: *file, machine: Machine::new(file.pickle(false)), in_constants: false }
    }

    /// Returns the name that the next opcode pushes, if it pushes one, and runs the opcode; `None` at the end.
    fn step(&mut self) -> Option<Option<Global<'a>>> {
        let next = op::read(self.machine.bytes(), self.machine.position()).ok()?;
        let names = match (next.code, self.machine.stack()) {
            (op::GLOBAL, _) => {
                let mut lines = next.argument.split(|byte| *byte == b'\n');
                Some((lines.next().unwrap_or_default(), lines.next().unwrap_or_default()))
            }
            (op::STACK_GLOBAL, [.., module, name]) if module.kind == Kind::Text && name.kind == Kind::Text => {
                Some((self.machine.text(module), self.machine.text(name)))
            }
            _ => None,
        };
        if self.machine.step().ok()? == Event::Stopped {
            return None;
        }
        let flag = if self.in_constants { IN_CONSTANTS } else { 0 };
        Some(names.map(|(module, name)| Global {
            module: core::str::from_utf8(module).unwrap_or_default(),
            name: core::str::from_utf8(name).unwrap_or_default(),
            offset: self.file.offset(next.at | flag),
            is_known: Known::of(module, name) != Known::OPAQUE,
        }))
    }
}

impl fmt::Debug for Globals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> Iterator for Globals<'a> {
    type Item = Global<'a>;

    fn next(&mut self) -> Option<Global<'a>> {
        loop {
            match self.step() {
                Some(Some(global)) => return Some(global),
                Some(None) => {}
                None if !self.in_constants && self.file.has_constants() => {
                    (self.in_constants, self.machine) = (true, Machine::new(self.file.pickle(true)));
                }
                None => return None,
            }
        }
    }
}
