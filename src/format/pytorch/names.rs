//! Names: of tensors, of entries, and those in a pickle that stand for code.
#![forbid(unsafe_code)]

use super::tree::Tree;
use super::{IN_CONSTANTS, IN_CONTAINER, IS_KEY, POSITION, PytorchFile};
use crate::bytes::num::to_u64;
use crate::bytes::pickle::globals::Known;
use crate::bytes::pickle::op;
use crate::bytes::pickle::recall::text_of;
use crate::bytes::text::Text;
use crate::codec::zip::Archive;
use crate::duplicates::Distinct;
use crate::error::{Error, Result};

/// Returns the name at a place that [`Found::place`](super::tree::Found::place) was. Reads the pickle up to there,
/// unless the name is a single key, or the tensor is in the container of the tree.
pub(super) fn name_at<'a>(tree: &Tree<'a>, place: u32) -> Text<'a> {
    let position = place & POSITION;
    if place & IN_CONTAINER != 0 {
        return tree.at(place & !IN_CONSTANTS).map(|found| found.name).unwrap_or_default();
    }
    if place & IS_KEY != 0 {
        let key = op::read(tree.pickle, position);
        return Text::new(key.map(|key| key.argument).unwrap_or_default(), false);
    }
    tree.at(position).map(|found| found.name).unwrap_or_default()
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
#[derive(Clone, Copy, Debug)]
pub struct Globals<'a> {
    file: PytorchFile<'a>,
    at: u32,
    in_constants: bool,
    /// The opcodes that were read again to find texts of the memo.
    work: u64,
}

/// The opcodes that are read again, at most: so many times the bytes of the pickle, and so many more.
const MOST_AGAIN: u64 = 64;
const MORE: u64 = 1 << 16;

impl<'a> Globals<'a> {
    pub(super) const fn new(file: &PytorchFile<'a>) -> Self {
        Self { file: *file, at: 0, in_constants: false, work: 0 }
    }

    fn next_in(&mut self, pickle: &'a [u8]) -> Option<Global<'a>> {
        // The last two opcodes that pushed a text, with nothing but notes for the memo between them.
        let mut last = [None; 2];
        loop {
            let next = op::read(pickle, self.at).ok()?;
            self.at = next.next;
            let names = match (next.code, last) {
                (op::GLOBAL, _) => {
                    let mut lines = next.argument.split(|byte| *byte == b'\n');
                    Some((lines.next().unwrap_or_default(), lines.next().unwrap_or_default()))
                }
                (op::STACK_GLOBAL, [Some(module), Some(name)]) => {
                    let module = text_of(pickle, module, &mut self.work)?;
                    Some((module, text_of(pickle, name, &mut self.work)?))
                }
                (op::PUT_1 | op::PUT_4 | op::MEMOIZE | op::FRAME, _) => continue,
                (code, [_, name]) if is_text(code) || matches!(code, op::GET_1 | op::GET_4) => {
                    last = [name, Some(next.at)];
                    continue;
                }
                _ => None,
            };
            last = [None; 2];
            if self.work > to_u64(pickle.len()).saturating_mul(MOST_AGAIN).saturating_add(MORE) {
                return None;
            }
            let Some((module, name)) = names else { continue };
            let flag = if self.in_constants { IN_CONSTANTS } else { 0 };
            return Some(Global {
                module: core::str::from_utf8(module).unwrap_or_default(),
                name: core::str::from_utf8(name).unwrap_or_default(),
                offset: self.file.offset(next.at | flag),
                is_known: Known::of(module, name) != Known::OPAQUE,
            });
        }
    }
}

/// True for the opcodes that push a text.
const fn is_text(code: u8) -> bool {
    matches!(code, op::TEXT_1 | op::TEXT_4 | op::TEXT_8 | op::STRING_1 | op::STRING_4)
}

impl<'a> Iterator for Globals<'a> {
    type Item = Global<'a>;

    fn next(&mut self) -> Option<Global<'a>> {
        loop {
            let found = self.next_in(self.file.pickle(self.in_constants));
            if found.is_some() || self.in_constants || !self.file.has_constants() {
                return found;
            }
            (self.in_constants, self.at) = (true, 0);
        }
    }
}
