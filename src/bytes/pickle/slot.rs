//! An object on the stack or in the memo: its kind, and its place in the pickle.
#![forbid(unsafe_code)]

use super::globals::Known;
use super::op::{self, Op};
use crate::bytes::num::to_usize;
use crate::bytes::utf8::is_utf8;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not an object: where a group of objects begins.
    Mark,
    /// An object from the memo that is no longer known.
    Unknown,
    None,
    Bool,
    Integer,
    Float,
    Text,
    /// Bytes, or a text of Python 2 that is not UTF-8.
    Bytes,
    Dict,
    List,
    Set,
    Tuple,
    /// `OrderedDict` or `defaultdict`.
    Map,
    Global,
    Storage,
    Tensor,
    /// Anything else: skipped.
    Object,
}

/// An object on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    /// True if the object is from the memo: nothing may be added to it, and its contents are listed elsewhere.
    pub(crate) is_alias: bool,
    /// True if this is a mark, and an object that was dropped behind it cannot be a key.
    pub(crate) is_bad: bool,
    /// True if the object was not read from its place: its first opcode may be elsewhere.
    pub(crate) is_restored: bool,
    /// True if the role of the object does not come from the opcodes behind it.
    pub(crate) is_assumed: bool,
    /// The number of a [`Known`] name: of a global, or of the function that made an object.
    pub(crate) known: u16,
    /// The position of the first opcode that the object is made of.
    pub(crate) start: u32,
    /// The place in the pickle. Of a text, its bytes; of a tuple, its items; of what a function made, the items of the
    /// function's arguments; of a storage, those of its ID; of a mark, the position behind it; of others, the opcode.
    pub(crate) at: u32,
    pub(crate) end: u32,
    /// The number of objects: of a mark, those that were dropped; of a list or a tuple, those that it has. Of a text,
    /// the position of the opcode that has it.
    pub(crate) count: u32,
    /// Where the object stands, once that is known: see [`path`](super::path).
    pub(crate) role: u32,
}

impl Slot {
    pub(super) const EMPTY: Self = Self::new(Kind::Mark, 0, 0);

    pub(super) const fn new(kind: Kind, at: u32, end: u32) -> Self {
        Self {
            kind,
            is_alias: false,
            is_bad: false,
            is_restored: false,
            is_assumed: false,
            known: 0,
            start: at,
            at,
            end,
            count: 0,
            role: 0,
        }
    }

    /// An object of which only this is known.
    pub(super) const fn known_as(kind: Kind, role: u32, count: u32) -> Self {
        Self { role, count, is_restored: true, ..Self::new(kind, 0, 0) }
    }

    /// The name of a global, or the function that made the object.
    pub(crate) const fn known(&self) -> Known {
        Known::from_number(self.known)
    }

    pub(super) const fn is_hashable(&self) -> bool {
        !matches!(self.kind, Kind::Dict | Kind::List | Kind::Set | Kind::Map)
    }

    /// True for containers to which items are added behind their opcode.
    pub(super) const fn takes_items(&self) -> bool {
        matches!(self.kind, Kind::Dict | Kind::Map | Kind::Object) && !self.is_alias
    }
}

/// Indices of the memo, which rise: the first, the last, and their number.
#[derive(Clone, Copy, Default)]
pub(crate) struct Puts {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) count: u32,
}

impl Puts {
    /// Adds an index; `None` if it is not above the last one.
    pub(crate) fn add(self, index: u32) -> Option<Self> {
        let first = if self.count > 0 { self.first } else { index };
        let does_rise = self.count == 0 || index > self.last;
        Some(Self { first, last: index, count: self.count.checked_add(1)? }).filter(|_| does_rise)
    }
}

/// Returns the bytes of a text or of bytes.
pub(crate) fn bytes_of<'a>(bytes: &'a [u8], slot: &Slot) -> &'a [u8] {
    let start = to_usize(slot.at.into()).unwrap_or(usize::MAX);
    let end = to_usize(slot.end.into()).unwrap_or(usize::MAX);
    bytes.get(start..end).unwrap_or_default()
}

/// Returns the object of an opcode that pushes a text or a name; `None` for other opcodes, and if it is not UTF-8.
pub(crate) fn simple(op: &Op<'_>) -> Option<Slot> {
    if !is_utf8(op.argument) {
        return None;
    }
    Some(match op.code {
        op::TEXT_1 | op::TEXT_4 | op::TEXT_8 | op::STRING_1 | op::STRING_4 => {
            Slot { start: op.at, count: op.at, ..Slot::new(Kind::Text, op.argument_at, op.next) }
        }
        op::GLOBAL => {
            let mut lines = op.argument.split(|byte| *byte == b'\n');
            let (module, name) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            Slot { known: Known::of(module, name).number(), ..Slot::new(Kind::Global, op.at, op.next) }
        }
        _ => return None,
    })
}
