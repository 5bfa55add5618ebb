//! The tensors of a pickle, in the order of the file.
#![forbid(unsafe_code)]

use super::tensor::{Base, Storage};
use super::{IN_CONSTANTS, IS_KEY, PytorchFile};
use crate::bytes::num::to_u64;
use crate::bytes::pickle::Fault;
use crate::bytes::pickle::machine::{Event, Kind, Machine};
use crate::bytes::pickle::path::{Path, Piece, resumed, run_to};
use crate::bytes::text::Text;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Cursor;

/// The bytes that may be read again to find objects of the memo: so many times the pickle, and so many more.
const MOST_AGAIN: u64 = 64;
const MORE: u64 = 1 << 16;

/// A pickle with a tree.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) pickle: &'a [u8],
    pub(super) in_constants: bool,
}

/// A tensor in a tree.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pickle: &'a [u8],
    pub(super) base: Base,
    /// The position behind the opcode that pushed the tensor.
    pub(super) position: u32,
    /// The key, if it is the whole name.
    key: Option<Key>,
    pub(super) in_constants: bool,
    /// True if the tensor is from the memo: it has been checked before.
    pub(super) is_alias: bool,
}

/// A key that is a text.
#[derive(Clone, Copy)]
struct Key {
    at: u32,
    end: u32,
    op: u32,
}

/// The reason why a pickle is refused.
pub(super) enum Broken {
    Fault(Fault),
    Error(Error),
}

impl Broken {
    pub(super) fn error(self, file: &PytorchFile<'_>, in_constants: bool) -> Error {
        match self {
            Self::Fault(fault) => file.error(in_constants, fault),
            Self::Error(error) => error,
        }
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<'a> Found<'a> {
    /// The name.
    pub(super) fn name(&self) -> Text<'a> {
        match self.key {
            Some(key) => Text::new(crate::bytes::pickle::path::text_at(self.pickle, key.at, key.end), false),
            None => Text::joined(self.pickle, self.flagged()),
        }
    }

    /// The name, if it is a single key.
    pub(super) fn key(&self) -> Option<&'a [u8]> {
        self.key.map(|key| crate::bytes::pickle::path::text_at(self.pickle, key.at, key.end))
    }

    /// The position of the name, from which [`name_at`](super::names::name_at) reads it again.
    pub(super) fn name_at(&self) -> u32 {
        self.key.map_or(self.flagged(), |key| key.op | IS_KEY)
    }

    const fn flagged(&self) -> u32 {
        if self.in_constants { self.position | IN_CONSTANTS } else { self.position }
    }
}

impl<'a> Tree<'a> {
    /// Returns the tensor that a machine has just pushed.
    fn found(&self, machine: &mut Machine<'a>, path: Option<&Path>) -> Result<Found<'a>, Fault> {
        let changed = Fault::new(ErrorKind::Malformed, Part::Tensor, machine.position());
        let top = machine.top().filter(|top| top.kind == Kind::Tensor).ok_or(changed)?;
        let base = Base::of(machine, &top)?;
        // Of a machine that continues in an inner container, the path has as many pieces as that of the tree, or fewer.
        let only = path.filter(|path| path.count() == 1 && !self.in_constants).and_then(|path| path.piece(0));
        let only = only.filter(|_| machine.is_in_one());
        let key = match only {
            Some(Piece::Text { at, end, op }) => Some(Key { at, end, op }),
            _ => None,
        };
        let (position, in_constants) = (machine.position(), self.in_constants);
        Ok(Found { pickle: self.pickle, base, position, key, in_constants, is_alias: top.is_alias })
    }

    /// Runs the whole pickle. Calls `visit` for each tensor, with its path if it is listed, and `storage` for each
    /// storage, with its position.
    pub(super) fn check(
        &self,
        visit: &mut impl FnMut(&mut Machine<'a>, &Found<'a>, Option<&Path>) -> Result<(), Error>,
        mut storage: impl FnMut(&Storage, u32) -> Result<(), Error>,
    ) -> Result<(), Broken> {
        let mut machine = Machine::new(self.pickle);
        let length = to_u64(self.pickle.len());
        let most = length.saturating_mul(MOST_AGAIN).saturating_add(MORE);
        loop {
            match machine.step()? {
                Event::Stopped if u64::from(machine.position()) < length => {
                    return Err(Fault::new(ErrorKind::TrailingBytes, Part::Value, machine.position()).into());
                }
                Event::Stopped => return Ok(()),
                Event::Pushed => {}
                Event::Other => continue,
            }
            let Some(top) = machine.top() else { continue };
            match top.kind {
                Kind::Storage if !top.is_alias => {
                    let of = Storage::of(&mut machine, &top)?;
                    storage(&of, top.start).map_err(Broken::Error)?;
                }
                Kind::Tensor => {
                    let path = machine.path()?;
                    let found = self.found(&mut machine, path.as_ref())?;
                    visit(&mut machine, &found, path.as_ref()).map_err(Broken::Error)?;
                }
                _ => {}
            }
            if machine.work() > most {
                return Err(Fault::new(ErrorKind::TooMany, Part::Value, machine.position()).into());
            }
        }
    }

    /// A machine that continues where a cursor is.
    fn machine(&self, at: u64) -> Result<Machine<'a>, Fault> {
        let position = u32::try_from(at & u64::from(u32::MAX)).unwrap_or(0);
        let frames = u32::try_from(at >> 32).unwrap_or(0);
        if frames > 0 {
            return Ok(resumed(self.pickle, position, frames));
        }
        let mut machine = Machine::new(self.pickle);
        run_to(&mut machine, position)?;
        Ok(machine)
    }

    /// Returns the next listed tensor behind a cursor, which moves behind it.
    pub(super) fn next(&self, cursor: &mut Cursor) -> Result<Option<Found<'a>>, Fault> {
        let mut machine = self.machine(cursor.at)?;
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(None),
                Event::Pushed if machine.top().is_some_and(|top| top.kind == Kind::Tensor) => {}
                _ => continue,
            }
            if let Some(path) = machine.path()? {
                let found = self.found(&mut machine, Some(&path))?;
                cursor.at = u64::from(machine.frames()) << 32 | u64::from(machine.position());
                return Ok(Some(found));
            }
        }
    }

    /// Returns the tensor at a position that [`Found::position`] was.
    pub(super) fn at(&self, position: u32) -> Result<Found<'a>, Fault> {
        let mut machine = Machine::new(self.pickle);
        run_to(&mut machine, position)?;
        let path = machine.path()?;
        self.found(&mut machine, path.as_ref())
    }

    /// Finds the tensor with a name. `index` counts the tensors before it.
    pub(super) fn find(&self, name: &[u8], index: &mut u32) -> Result<Option<Found<'a>>, Fault> {
        let mut machine = Machine::new(self.pickle);
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(None),
                Event::Pushed if machine.top().is_some_and(|top| top.kind == Kind::Tensor) => {}
                _ => continue,
            }
            if let Some(path) = machine.path()? {
                if self.is_named(&path, name) {
                    return self.found(&mut machine, Some(&path)).map(Some);
                }
                *index = index.saturating_add(1);
            }
        }
    }

    /// True if a path is a name.
    fn is_named(&self, path: &Path, name: &[u8]) -> bool {
        let mut rest = name;
        if self.in_constants {
            match rest.strip_prefix(b"CONSTANTS.c") {
                Some(after) => rest = after,
                None => return false,
            }
        }
        for (piece, number) in path.reversed().iter().rev().zip(0_u32..) {
            if number > 0 {
                match rest.strip_prefix(b".") {
                    Some(after) => rest = after,
                    None => return false,
                }
            }
            match rest.strip_prefix(piece.bytes(self.pickle, &mut [0; 40])) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Writes a name to `dst`. `None` if it is longer.
    pub(super) fn write<'d>(&self, path: &Path, dst: &'d mut [u8]) -> Option<&'d [u8]> {
        let mut at = 0_usize;
        let mut add = |bytes: &[u8]| {
            let end = at.checked_add(bytes.len())?;
            let place = dst.get_mut(at..end)?;
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            at = end;
            Some(())
        };
        if self.in_constants {
            add(b"CONSTANTS.c")?;
        }
        for (piece, number) in path.reversed().iter().rev().zip(0_u32..) {
            if number > 0 {
                add(b".")?;
            }
            add(piece.bytes(self.pickle, &mut [0; 40]))?;
        }
        dst.get(..at)
    }
}
