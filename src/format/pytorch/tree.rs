//! The tensors of a pickle, in the order of the file.
#![forbid(unsafe_code)]

use super::item::{self, Reader, Words};
use super::tensor::{Base, Described, Storage};
use super::{BEHIND_AT, IN_CONSTANTS, IN_CONTAINER, IS_KEY, MOST_BEHIND, POSITION, PytorchFile};
use crate::bytes::num::to_u64;
use crate::bytes::pickle::Fault;
use crate::bytes::pickle::frames::{Container, Frames};
use crate::bytes::pickle::machine::{Event, Machine};
use crate::bytes::pickle::outline::{Outline, Recent};
use crate::bytes::pickle::path::{Path, run_to};
use crate::bytes::pickle::reach::Reach;
use crate::bytes::pickle::recall::Put;
use crate::bytes::pickle::slot::Kind;
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
    pub(super) in_stream: bool,
    /// The mapping that many of the tensors are in. A tensor in it has a place from which it is read at once.
    pub(super) container: Container,
    pub(super) reach: Reach,
    /// True if the tensors that [`item`] reads are values of their keys.
    pub(super) is_plain: bool,
    pub(super) words: Words,
}

/// A tensor in a tree.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) base: Base,
    /// The position behind the opcode that pushed the tensor.
    pub(super) position: u32,
    /// The name; empty if the tensor is not listed.
    pub(super) name: Text<'a>,
    /// The opcode of the key, with a flag, if the tensor is read from there at once: if the key is the whole name and the
    /// whole tree is a mapping, or if the tensor is in the container of the tree.
    key: Option<u32>,
    /// The opcode of the key in the container of the tree, if the tensor is in a container there.
    outer_key: Option<u32>,
    pub(super) in_constants: bool,
    /// The values that were last taken from the memo.
    recent: Recent,
    /// The tensor, if its call was read without a machine.
    pub(super) described: Option<Described>,
    /// True if the tensor is from the memo: it has been checked before.
    pub(super) is_alias: bool,
}

/// The container that most tensors are in, or that the containers of most tensors are in, if one is. Else one of those
/// that many are in.
pub(super) struct Common([(Container, u32); 2]);

impl Common {
    pub(super) const fn new() -> Self {
        Self([(Container::NONE, 0); 2])
    }

    /// Counts a tensor for its containers, and against others.
    pub(super) fn add(&mut self, path: &Path) {
        for ((common, lead), outer) in self.0.iter_mut().zip(0_usize..) {
            let Some((container, _)) = path.container(outer) else { continue };
            if container == *common {
                *lead = lead.saturating_add(1);
            } else if *lead == 0 {
                (*common, *lead) = (container, 1);
            } else {
                *lead = lead.saturating_sub(1);
            }
        }
    }

    pub(super) const fn container(&self) -> Container {
        let [(own, lead), (outer, lead_of_outer)] = self.0;
        if lead_of_outer > lead { outer } else { own }
    }
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

impl Found<'_> {
    /// Returns the tensor.
    pub(super) fn described(&self, machine: &mut Machine<'_>) -> Result<Described, Fault> {
        self.described.map_or_else(|| Described::of(machine, &self.base), Ok)
    }

    /// The place of the tensor and of its name, from which [`Tree::at`] and [`name_at`](super::names::name_at) read them
    /// again.
    pub(super) fn place(&self, tree: &Tree<'_>) -> u32 {
        let flag = if self.in_constants { IN_CONSTANTS } else { 0 };
        let nth = || {
            let key = self.outer_key?;
            let outline = Outline { recent: self.recent, ..tree.outline() };
            let mut machine = tree.container.frames().machine(tree.pickle, &outline, key);
            let mut path = Path::EMPTY;
            for number in 0..MOST_BEHIND {
                if tree.next_behind(&mut machine, key, &mut path).ok()??.position == self.position {
                    return Some(key | number << BEHIND_AT | IN_CONTAINER);
                }
            }
            None
        };
        self.key.or_else(nth).unwrap_or(self.position) | flag
    }

    /// The bytes of the pickle that are read once more to list the next tensor and to read this one's name. `None` if the
    /// name would then be another one.
    pub(super) fn listing_cost(&self, path: &Path, tree: &Tree<'_>) -> Result<Option<u64>, Fault> {
        // A tensor of the memo is made once more, from the start of the pickle on.
        let of_alias = if self.is_alias { u64::from(self.base.end).saturating_mul(4) } else { 0 };
        let of_name = path.text_cost(tree.pickle, &self.name).map(|cost| cost.saturating_add(of_alias));
        let (start, frames) = path.restart(self.position).unwrap_or((0, Frames::START));
        if start == self.position {
            return Ok(of_name);
        }
        let mut machine = frames.machine(tree.pickle, &Outline { recent: self.recent, ..tree.outline() }, start);
        run_to(&mut machine, self.position)?;
        let mut path = Path::EMPTY;
        machine.path(&mut path)?;
        let next = u64::from(self.position.saturating_sub(start)).saturating_add(machine.work());
        Ok(of_name.map(|of_name| of_name.saturating_add(next)))
    }
}

impl<'a> Tree<'a> {
    /// The properties of the pickle that are known.
    const fn outline(&self) -> Outline {
        Outline::of(self.reach)
    }

    /// The limit on the bytes of the pickle that the machine reads again while it runs once.
    fn most_work(&self) -> u64 {
        to_u64(self.pickle.len()).saturating_mul(MOST_AGAIN).saturating_add(MORE)
    }

    /// Returns the tensor that a machine has just pushed.
    fn found(&self, machine: &mut Machine<'a>, path: Option<&Path>) -> Result<Found<'a>, Fault> {
        let changed = Fault::new(ErrorKind::Malformed, Part::Tensor, machine.position());
        let top = machine.top().filter(|top| top.kind == Kind::Tensor).ok_or(changed)?;
        let base = Base::of(machine, &top)?;
        let (position, in_constants) = (machine.position(), self.in_constants);
        let name = path.map_or(Text::default(), |path| path.text(self.pickle, position, self.reach, in_constants));
        let in_container = |outer| {
            let (container, key) = path?.container(outer).filter(|_| !in_constants)?;
            (container == self.container).then_some(key)
        };
        let only_key = path.and_then(Path::only_key).map(|key| key | IS_KEY);
        let own_key = || in_container(0).map(|key| key | IN_CONTAINER);
        let (key, outer_key) = (only_key.filter(|_| !in_constants).or_else(own_key), in_container(1));
        let recent = machine.outline().recent;
        let (described, is_alias) = (None, top.is_alias);
        Ok(Found { base, position, name, key, outer_key, in_constants, recent, described, is_alias })
    }

    /// Runs the whole pickle. Calls `visit` for each tensor, with its path if it is listed, and `storage` for each
    /// storage, with its position. Notes in `words` what the calls take from the memo.
    pub(super) fn check(
        &self,
        visit: &mut impl FnMut(&mut Machine<'a>, &Found<'a>, Option<&Path>) -> Result<(), Error>,
        mut storage: impl FnMut(&Storage, u32) -> Result<(), Error>,
        words: &mut Words,
    ) -> Result<(), Broken> {
        let (mut machine, mut path) = (Machine::new(self.pickle, &self.outline()), Path::EMPTY);
        let most = self.most_work();
        // The mark of the mapping that the last tensor is an item of, if nothing else was pushed after it.
        let mut items = None;
        loop {
            match machine.step()? {
                Event::Stopped if u64::from(machine.position()) < to_u64(self.pickle.len()) => {
                    return Err(Fault::new(ErrorKind::TrailingBytes, Part::Value, machine.position()).into());
                }
                Event::Stopped => return Ok(()),
                Event::Pushed => {}
                Event::Other => continue,
            }
            let Some(top) = machine.top() else { continue };
            let items_before = core::mem::take(&mut items);
            match top.kind {
                Kind::Text if self.is_plain => {
                    let Some(call) = item::value(&mut machine, words) else { continue };
                    // In an archive, the storage is looked for with the tensor.
                    if let Some(of) = call.described.storage.filter(|_| self.in_stream) {
                        storage(&of, call.storage_at).map_err(Broken::Error)?;
                    }
                    let is_next = items_before.is_some() && items_before == machine.mark() && path.set_key(&top);
                    let path = (is_next || machine.path(&mut path)?).then_some(&path);
                    items = machine.mark().filter(|_| path.is_some());
                    let mut found = self.found(&mut machine, path)?;
                    found.described = Some(call.described);
                    visit(&mut machine, &found, path).map_err(Broken::Error)?;
                }
                Kind::Storage if !top.is_alias => {
                    let of = Storage::of(&mut machine, &top)?;
                    storage(&of, top.start).map_err(Broken::Error)?;
                }
                Kind::Tensor => {
                    let path = machine.path(&mut path)?.then_some(&path);
                    let found = self.found(&mut machine, path)?;
                    visit(&mut machine, &found, path).map_err(Broken::Error)?;
                }
                _ => {}
            }
            if machine.work() > most {
                return Err(Fault::new(ErrorKind::TooMany, Part::Value, machine.position()).into());
            }
        }
    }

    /// Runs the whole pickle without looking for tensors: faster than `check`, which needs their paths. Calls `storage` for
    /// each storage, with its position.
    pub(super) fn each_storage(
        &self,
        mut storage: impl FnMut(&Storage, u32) -> Result<(), Error>,
    ) -> Result<(), Broken> {
        let mut machine = Machine::new(self.pickle, &self.outline());
        let most = self.most_work();
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(()),
                Event::Pushed => {}
                Event::Other => continue,
            }
            let pushed = machine.top().filter(|top| top.kind == Kind::Storage && !top.is_alias);
            if let Some(top) = pushed {
                storage(&Storage::of(&mut machine, &top)?, top.start).map_err(Broken::Error)?;
            }
            if machine.work() > most {
                return Err(Fault::new(ErrorKind::TooMany, Part::Value, machine.position()).into());
            }
        }
    }

    /// Returns the next listed tensor behind a cursor, which moves behind it.
    #[inline(never)] // for its machine on the stack
    pub(super) fn next(&self, cursor: &mut Cursor) -> Result<Option<Found<'a>>, Fault> {
        // The position behind the last tensor, and where the machine continues: there or before.
        let after = u32::try_from(cursor.at & u64::from(u32::MAX)).unwrap_or(0);
        let start = u32::try_from(cursor.at >> 32).unwrap_or(0);
        if self.is_plain && start == after {
            if let Some(found) = self.next_item(cursor, after) {
                return Ok(Some(found));
            }
        }
        let (frames, recent) = cursor.pickle();
        let outline = Outline { recent, ..self.outline() };
        let mut machine = frames.machine(self.pickle, &outline, start);
        let mut path = Path::EMPTY;
        let Some(found) = self.next_behind(&mut machine, after, &mut path)? else { return Ok(None) };
        let (start, frames) = path.restart(found.position).unwrap_or((start, frames));
        cursor.at = u64::from(start) << 32 | u64::from(found.position);
        cursor.set_pickle(frames, machine.outline().recent);
        Ok(Some(found))
    }

    /// Reads the next item of the mapping that a cursor is in, if it is read without a machine.
    fn next_item(&self, cursor: &mut Cursor, after: u32) -> Option<Found<'a>> {
        let mut reader = Reader::new(self.pickle, after);
        reader.put()?; // of the tensor before
        let key = reader.text()?;
        let mut put = Put::NONE;
        let mut words = if self.in_constants { Words::NONE } else { self.words };
        let call = reader.call(&mut words, |op| put.named(self.pickle, op))?;
        let (frames, recent) = cursor.pickle();
        let (frames, pieces) = frames.with_key(self.pickle, &key)?;
        let position = call.next;
        let name = pieces.text(self.pickle, self.in_constants)?;
        let place = if self.in_constants {
            None
        } else if pieces.are_one() {
            Some(key.start | IS_KEY)
        } else {
            frames.container().filter(|own| *own == self.container).map(|_| key.start | IN_CONTAINER)
        };
        cursor.at = u64::from(position) << 32 | u64::from(position);
        cursor.set_pickle(frames, recent);
        Some(Found {
            base: Base::plain(call.arguments),
            position,
            name,
            key: place,
            outer_key: None,
            in_constants: self.in_constants,
            recent,
            described: Some(call.described),
            is_alias: false,
        })
    }

    /// Runs a machine to the next listed tensor that ends behind a position.
    fn next_behind(
        &self,
        machine: &mut Machine<'a>,
        after: u32,
        path: &mut Path,
    ) -> Result<Option<Found<'a>>, Fault> {
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(None),
                Event::Pushed if machine.position() > after => {}
                _ => continue,
            }
            if machine.tensor_path(path)? {
                return self.found(machine, Some(path)).map(Some);
            }
        }
    }

    /// Returns the tensor at a place that [`Found::place`] was, without its flag of the second pickle.
    #[inline(never)] // for its machine on the stack
    pub(super) fn at(&self, place: u32) -> Result<Found<'a>, Fault> {
        let key = place & POSITION;
        let changed = Fault::new(ErrorKind::Malformed, Part::Tensor, key);
        let mut path = Path::EMPTY;
        if place & (IS_KEY | IN_CONTAINER) != 0 {
            let is_only = place & IS_KEY != 0;
            let frames = if is_only { Frames::at_only_key(key).ok_or(changed)? } else { self.container.frames() };
            let mut machine = frames.machine(self.pickle, &self.outline(), key);
            for _ in 0..place >> BEHIND_AT & (MOST_BEHIND - 1) {
                self.next_behind(&mut machine, key, &mut path)?;
            }
            return self.next_behind(&mut machine, key, &mut path)?.ok_or(changed);
        }
        let mut machine = Machine::new(self.pickle, &self.outline());
        run_to(&mut machine, place)?;
        let path = machine.tensor_path(&mut path)?.then_some(&path);
        self.found(&mut machine, path)
    }

    /// Finds the tensor with a name. `index` counts the tensors before it.
    #[inline(never)] // for its machine on the stack
    pub(super) fn find(&self, name: &[u8], index: &mut u32) -> Result<Option<Found<'a>>, Fault> {
        let (mut machine, mut path) = (Machine::new(self.pickle, &self.outline()), Path::EMPTY);
        loop {
            match machine.step()? {
                Event::Stopped => return Ok(None),
                Event::Pushed => {}
                Event::Other => continue,
            }
            if machine.tensor_path(&mut path)? {
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
