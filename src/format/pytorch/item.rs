//! The tensors of most files: items of a mapping, a key and a call of `_rebuild_tensor_v2` as `torch.save` writes it.
//!
//! Such a call is read straight from the front to the back. Anything else is left to the [`Machine`], which reads such a
//! call as well, in several times as long.
//!
//! ```text
//! function ( ( "storage" class key place count [None] t Q offset sizes strides requires_grad OrderedDict () R t R
//! ```
#![forbid(unsafe_code)]

use super::tensor::{Described, Numbers, Storage};
use crate::bytes::num::to_usize;
use crate::bytes::pickle::globals::Known;
use crate::bytes::pickle::machine::Machine;
use crate::bytes::pickle::op::{self, Op};
use crate::bytes::pickle::recall::Put;
use crate::bytes::pickle::slot::{Kind, Puts, Slot, bytes_of, simple};

/// The call of a function that makes a tensor.
pub(super) struct Call {
    pub(super) described: Described,
    /// The opcode of the storage's ID, the opcode behind the call, and the places of the arguments: from the first one to
    /// the opcode behind the last one.
    pub(super) storage_at: u32,
    pub(super) next: u32,
    pub(super) arguments: (u32, u32),
    /// The indices at which the call puts objects into the memo.
    pub(super) puts: Puts,
}

/// The indices of the objects that most calls take from the memo: the function, the word "storage", the class of the
/// storage and which one it is, its place, the class of the hooks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    function: u8,
    word: u8,
    class: u8,
    of_class: u8,
    place: u8,
    hooks: u8,
}

impl Words {
    /// No index. Those of objects that most calls take are small.
    const NOT_TAKEN: u8 = u8::MAX;

    pub(super) const NONE: Self = Self {
        function: Self::NOT_TAKEN,
        word: Self::NOT_TAKEN,
        class: Self::NOT_TAKEN,
        of_class: 0,
        place: Self::NOT_TAKEN,
        hooks: Self::NOT_TAKEN,
    };
}

/// A position in a pickle.
pub(super) struct Reader<'a> {
    pickle: &'a [u8],
    pub(super) at: u32,
    puts: Puts,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(pickle: &'a [u8], at: u32) -> Self {
        Self { pickle, at, puts: Puts { first: 0, last: 0, count: 0 } }
    }

    /// Reads an opcode.
    fn op(&mut self) -> Option<Op<'a>> {
        let op = op::read(self.pickle, self.at).ok()?;
        self.at = op.next;
        Some(op)
    }

    /// Reads an opcode, which must not have an argument.
    fn any_code(&mut self) -> Option<u8> {
        let code = self.pickle.get(to_usize(self.at.into())?).copied()?;
        self.at = self.at.checked_add(1)?;
        Some(code)
    }

    /// Reads one opcode without an argument.
    fn code(&mut self, code: u8) -> Option<()> {
        (self.any_code()? == code).then_some(())
    }

    /// Reads past the opcode that puts an object into the memo, if there is one. Indices must rise.
    pub(super) fn put(&mut self) -> Option<()> {
        if let Some((index, next)) = op::put(self.pickle, self.at) {
            (self.puts, self.at) = (self.puts.add(index)?, next);
        }
        Some(())
    }

    /// Reads a text that is not taken from the memo.
    pub(super) fn text(&mut self) -> Option<Slot> {
        let text = simple(&self.op()?).filter(|text| text.kind == Kind::Text)?;
        self.put()?;
        Some(text)
    }

    /// Reads an object: a text, or one that `recalled` knows. Returns its index in the memo as well.
    fn object(&mut self, recalled: &mut impl FnMut(&Op<'a>) -> Option<Slot>) -> Option<(Slot, u8)> {
        let op = self.op()?;
        if matches!(op.code, op::GET_1 | op::GET_4) {
            let index = u8::try_from(op::number(op.argument)).unwrap_or(Words::NOT_TAKEN);
            return recalled(&op).map(|object| (Slot { start: op.at, ..object }, index));
        }
        let text = simple(&op).filter(|text| text.kind == Kind::Text)?;
        self.put()?;
        Some((text, Words::NOT_TAKEN))
    }

    /// Reads past an object of the memo, if it is the one at an index.
    fn takes(&mut self, index: u8) -> bool {
        let rest = to_usize(self.at.into()).and_then(|at| self.pickle.get(at..)).unwrap_or_default();
        let is_it = matches!(*rest, [op::GET_1, taken, ..] if taken == index && taken != Words::NOT_TAKEN);
        if is_it {
            self.at = self.at.saturating_add(2);
        }
        is_it
    }

    /// Reads a whole number that is not negative.
    fn number(&mut self) -> Option<u64> {
        if let Some((number, next)) = op::whole(self.pickle, self.at) {
            self.at = next;
            return Some(number);
        }
        let op = self.op().filter(|op| !op::is_truth(op))?;
        u64::try_from(op::integer(&op)?).ok()
    }

    /// Reads a tuple of such numbers.
    fn numbers(&mut self) -> Option<Numbers> {
        let is_marked = self.pickle.get(to_usize(self.at.into())?) == Some(&op::MARK);
        self.at = self.at.checked_add(is_marked.into())?;
        let (start, mut count) = (self.at, 0_u32);
        let end = loop {
            let code = *self.pickle.get(to_usize(self.at.into())?)?;
            match (code, count) {
                (op::EMPTY_TUPLE, 0) | (op::TUPLE_1, 1) | (op::TUPLE_2, 2) | (op::TUPLE_3, 3) if !is_marked => {
                    break self.at;
                }
                (op::TUPLE, _) if is_marked => break self.at,
                _ => {
                    self.number()?;
                    count = count.saturating_add(1);
                }
            }
        };
        self.at = end.checked_add(1)?;
        self.put()?;
        Some(Numbers { at: start, end, count })
    }

    /// Reads a call whose tensor is an item of a mapping. `None` if it is not written in the usual way, if something in it
    /// is wrong, or if the tensor is in a tuple without a mark, or is set alone. `words` are those of another call, and
    /// become those of this one; `recalled` returns any object of the memo, if it is a text or a name.
    pub(super) fn call(
        mut self,
        words: &mut Words,
        mut recalled: impl FnMut(&Op<'a>) -> Option<Slot>,
    ) -> Option<Call> {
        if !self.takes(words.function) {
            let (function, index) = self.object(&mut recalled)?;
            words.function = index;
            (function.kind == Kind::Global && function.known() == Known::TENSOR_2).then_some(())?;
        }
        self.code(op::MARK)?;
        let first = self.at;
        let described = self.arguments(words, recalled)?;
        let end = self.at;
        self.code(op::TUPLE)?;
        self.put()?;
        self.code(op::REDUCE)?;
        let behind = op::put(self.pickle, self.at).map_or(self.at, |(_, behind)| behind);
        let (code, _) = op::skip(self.pickle, behind)?;
        (op::takes(code) == 0).then_some(())?;
        let arguments = (first, end);
        Some(Call { described, storage_at: first, next: self.at, arguments, puts: self.puts })
    }

    /// Reads the arguments of a call: a storage, and the view of it.
    fn arguments(
        &mut self,
        words: &mut Words,
        mut recalled: impl FnMut(&Op<'a>) -> Option<Slot>,
    ) -> Option<Described> {
        let first = self.at;
        self.code(op::MARK)?;
        if !self.takes(words.word) {
            let (word, index) = self.object(&mut recalled)?;
            words.word = index;
            (word.kind == Kind::Text && bytes_of(self.pickle, &word) == b"storage").then_some(())?;
        }
        let mut known = Known::from_number(words.of_class.into());
        if !self.takes(words.class) {
            let (class, index) = self.object(&mut recalled)?;
            known = class.known();
            (words.class, words.of_class) = (index, u8::try_from(known.number()).ok()?);
            (class.kind == Kind::Global).then_some(())?;
        }
        let (key, _) = self.object(&mut recalled)?;
        (key.kind == Kind::Text).then_some(())?;
        if !self.takes(words.place) {
            let (place, index) = self.object(&mut recalled)?;
            words.place = index;
            (place.kind == Kind::Text).then_some(())?;
        }
        let count = self.number()?;
        let end = self.any_code()?;
        let has_sixth = end == op::NONE;
        if has_sixth {
            self.code(op::TUPLE)?;
        } else if end != op::TUPLE {
            return None;
        }
        self.put()?;
        self.code(op::PERSISTENT_ID)?;
        self.put()?;
        let storage = Storage::plain(&key, known, count, has_sixth)?;
        let offset = self.number()?;
        let (sizes, strides) = (self.numbers()?, self.numbers()?);
        let flag = self.any_code()?;
        matches!(flag, op::TRUE | op::FALSE).then_some(())?;
        if !self.takes(words.hooks) {
            let (hooks, index) = self.object(&mut recalled)?;
            words.hooks = index;
            (hooks.kind == Kind::Global && hooks.known() == Known::ORDERED_DICT).then_some(())?;
        }
        self.code(op::EMPTY_TUPLE)?;
        self.code(op::REDUCE)?;
        self.put()?;
        Described::plain(&storage, offset, (sizes, strides), first)
    }
}

/// Reads the arguments of a call of `_rebuild_tensor_v2`, which start at a position. `None` if they are not written in the
/// usual way. `words` are those of another call.
pub(super) fn arguments(pickle: &[u8], at: u32, mut words: Words) -> Option<Described> {
    let (mut reader, mut put) = (Reader::new(pickle, at), Put::NONE);
    let described = reader.arguments(&mut words, |op| put.named(pickle, op))?;
    reader.code(op::TUPLE)?;
    Some(described)
}

/// Reads the call behind a text, which a machine has just pushed, and pushes the tensor: the value of a key. `None` if the
/// text is in no mapping whose items are behind a mark, or if anything else follows.
pub(super) fn value(machine: &mut Machine<'_>, words: &mut Words) -> Option<Call> {
    if !machine.is_in_items() {
        return None;
    }
    machine.step_put().ok()?;
    let reader = Reader::new(machine.bytes(), machine.position());
    let mut taken = *words;
    let call = reader.call(&mut taken, |op| machine.known(op))?;
    machine.push_tensor(call.arguments, call.next, call.puts).ok()?;
    *words = taken;
    Some(call)
}
