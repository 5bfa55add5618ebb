//! The stream that `torch.save` wrote before 1.6.
//!
//! ```text
//! pickle    a number, the magic
//! pickle    1001, the protocol
//! pickle    a dictionary about the machine
//! pickle    the tree
//! pickle    a list of the keys of all storages
//! for each key of the list: the number of elements, 8 bytes, and the elements, little-endian
//! ```
//!
//! The stream does not state how wide the elements are: the tree does, where it refers to the storage.
#![forbid(unsafe_code)]

use super::item::Words;
use super::order::Order;
use super::tensor::Storage;
use super::{Body, Flags, LARGEST, PytorchFile, fail};
use crate::bytes::extent::Extent;
use crate::bytes::pickle::Fault;
use crate::bytes::pickle::frames::Container;
use crate::bytes::pickle::machine::{Event, Machine};
use crate::bytes::pickle::op;
use crate::bytes::pickle::outline::Outline;
use crate::bytes::pickle::reach::Reach;
use crate::bytes::pickle::slot::{Kind, bytes_of};
use crate::bytes::source::{ParseContext, ParseResult};
use crate::duplicates::Seen;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};

const MAGIC: i128 = 119_547_037_146_038_801_333_356;
const PROTOCOL: i128 = 1001;
/// The bytes at the start that are requested first. If the pickles are longer, four times as many, and so on.
const FIRST: u64 = 1 << 16;
/// The largest number of storages.
pub(super) const MOST_KEYS: usize = 8192;
/// The length of the number of elements.
const COUNT: u64 = 8;
/// Limits the bytes of the tree that are read again to list all tensors, where only the tree shows the places of storages:
/// this number of times the length of the tree, plus `MORE_BYTES`.
const MOST_TREES: u64 = 32;
/// Bytes that are added to this limit, so that a small file may have more tensors.
const MORE_BYTES: u64 = 1 << 25;

/// The storages of a stream.
struct Storages<'a> {
    order: Order<'a>,
    /// The width of the elements of each, in the order of the list; 0 if it is not known.
    widths: [u8; MOST_KEYS],
    /// The offset in the file of every so many, from the first one on, as far as it is known.
    offsets: [u64; MOST_KEYS >> NEAR_BITS],
}

/// The widths of elements, in the order in which they are tried.
const WIDTHS: [u8; 5] = [4, 8, 2, 1, 16];
/// The number of storages whose widths are kept.
const OTHERS: usize = 3;

/// How to find a storage without the tree, which alone states the widths of the elements. All storages are looked for in
/// this way when a file is opened, and those for which it finds a wrong width are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    usual: Usual,
    /// The storages with other widths, in their order; at the end `u16::MAX`, which is none.
    others: [u16; OTHERS],
    of_others: [u8; OTHERS],
}

/// The widths of most storages.
#[derive(Clone, Copy, Debug)]
struct Usual {
    /// The width of all, or the one that is tried first.
    width: u8,
    /// True if widths are tried. With the right one, the bytes behind the elements look like the number of elements of the
    /// next storage.
    is_tried: bool,
}

/// The offset of a storage, which begins with the number of its elements, and that number.
#[derive(Clone, Copy)]
struct Start {
    at: u64,
    elements: u64,
}

impl Start {
    /// The extent of the elements.
    fn data(&self, width: u8) -> Extent {
        Extent::new(self.at.saturating_add(COUNT), self.elements.saturating_mul(width.into()))
    }
}

/// The number of storages from one whose offset is kept to the next.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 6;

/// The places of the pickles in the stream.
struct Places {
    tree: (u64, u32),
    keys: (u64, u32),
}

/// A broken rule, and its offset in the file.
type Broken = (ErrorKind, Part, u64);

/// Reads a pickle to its end. Returns the machine, and the position behind the pickle.
fn whole(bytes: &[u8], start: u64) -> core::result::Result<(Machine<'_>, u64), Broken> {
    let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    let rest = rest.get(..usize::try_from(LARGEST).unwrap_or(usize::MAX)).unwrap_or(rest);
    let mut machine = Machine::new(rest, &Outline::of(Reach::of(rest)));
    loop {
        match machine.step() {
            Ok(Event::Stopped) => break,
            Ok(_) => {}
            Err(fault) => return Err((fault.kind, fault.item, start.saturating_add(fault.at.into()))),
        }
    }
    let end = start.saturating_add(machine.position().into());
    Ok((machine, end))
}

/// Finds the pickles in the first bytes of a stream.
fn places(bytes: &[u8]) -> core::result::Result<Places, Broken> {
    let integer = |machine: &Machine<'_>| {
        let top = machine.top().filter(|top| top.kind == Kind::Integer)?;
        op::integer(&op::read(machine.bytes(), top.at).ok()?)
    };
    let (magic, at) = whole(bytes, 0)?;
    if integer(&magic) != Some(MAGIC) {
        return Err((ErrorKind::UnsupportedFormat, Part::File, 0));
    }
    let (protocol, after) = whole(bytes, at)?;
    if integer(&protocol) != Some(PROTOCOL) {
        return Err((ErrorKind::UnsupportedVersion, Part::Version, at));
    }
    let (mut about, tree) = whole(bytes, after)?;
    let wrong = |at| (ErrorKind::UnexpectedType, Part::Header, at);
    let dictionary = about.top().filter(|top| top.kind == Kind::Dict).ok_or(wrong(after))?;
    let (text, end) = (about.bytes(), about.position());
    let mut is_big = false;
    let of_pair = about.each_pair(dictionary.at, end.saturating_sub(1), |key, value| {
        let is_false = op::read(text, value.at).is_ok_and(|op| op.code == op::FALSE || op.argument == b"00\n");
        is_big |= bytes_of(text, key) == b"little_endian" && value.kind == Kind::Bool && is_false;
    });
    of_pair.map_err(|fault| (fault.kind, fault.item, after.saturating_add(fault.at.into())))?;
    if is_big {
        return Err((ErrorKind::InvalidByteOrder, Part::ByteOrder, after));
    }
    let (_, keys) = whole(bytes, tree)?;
    let (list, end) = whole(bytes, keys)?;
    if list.top().is_none_or(|top| top.kind != Kind::List) {
        return Err((ErrorKind::UnexpectedType, Part::Manifest, keys));
    }
    let length = |from: u64, to: u64| u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
    Ok(Places { tree: (tree, length(tree, keys)), keys: (keys, length(keys, end)) })
}

/// The keys in a list of texts, or the last ones: the rest of the pickle.
pub(super) struct Keys<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (text, after) = op::first_text(self.0)?;
        self.0 = after;
        Some(text)
    }
}

impl<'a> PytorchFile<'a> {
    /// The keys of the storages, in the order of the stream.
    pub(super) fn keys(&self) -> Keys<'a> {
        Keys(self.pickle(true))
    }

    /// Opens a stream.
    #[inline(never)] // for its machine on the stack
    pub(super) fn open_legacy(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let length = opening.input.length();
        let mut reach = FIRST.min(length);
        let found = loop {
            let bytes = opening.keep(Extent::new(0, reach))?;
            match places(bytes) {
                Err((ErrorKind::Truncated, ..)) if reach < length => reach = reach.saturating_mul(4).min(length),
                found => break found,
            }
        };
        let Places { tree, keys } =
            found.map_err(|(kind, item, at)| opening.fail((kind, Format::Pytorch, item), at))?;
        let mut file = Self {
            input: opening.input,
            body: Body::Stream(None),
            data_at: tree.0,
            constants_at: keys.0,
            data_length: tree.1,
            constants_length: keys.1,
            count: 0,
            container: Container::NONE,
            words: Words::NONE,
            first_key: 0,
            flags: Flags(Flags::LEGACY | Flags::DISTINCT_ENTRIES | Flags::SORTED_PLACES),
            reach: Reach::LARGE,
        };
        file.find_reach().map_err(|error| opening.stop(error))?;
        file.check_keys().map_err(|error| opening.stop(error))?;
        let mut storages = file.storages().map_err(|error| opening.stop(error))?;
        let end = file.check_data(opening, &mut storages)?;
        file.find_widths(&storages);
        file.flags.set(Flags::PADDED, end < length);
        let checked = file.check_trees(|file, seen| file.check_legacy_tree(&storages, seen));
        checked.map_err(|error| opening.stop(error))?;
        file.check_work().map_err(|error| opening.stop(error))?;
        Ok(file)
    }

    /// Fails if only the tree shows the places of storages, and listing all tensors would read it too often.
    fn check_work(&self) -> Result<()> {
        let tree = u64::from(self.data_length);
        let most = tree.saturating_mul(MOST_TREES).saturating_add(MORE_BYTES);
        let work = tree.saturating_mul(self.count.into());
        let is_read_again = matches!(self.body, Body::Stream(None));
        if is_read_again && work > most {
            return Err(fail(ErrorKind::TooMany, Part::Data, self.data_at));
        }
        Ok(())
    }

    /// Checks that the list consists of texts.
    fn check_keys(&self) -> Result<()> {
        let pickle = self.pickle(true);
        let mut machine = Machine::new(pickle, &Outline::of(Reach::of(pickle)));
        let (mut count, mut has_list, mut is_last) = (0_u32, false, false);
        while !is_last {
            let event = machine.step().map_err(|fault| self.legacy_error(fault))?;
            is_last = event == Event::Stopped;
            match machine.top().filter(|_| event == Event::Pushed) {
                Some(top) if top.kind == Kind::Text && !top.is_alias => count = count.saturating_add(1),
                Some(_) if !has_list => has_list = true, // the list itself, which is below all else
                Some(top) => {
                    let fault = Fault::new(ErrorKind::UnexpectedType, Part::Manifest, top.at);
                    return Err(self.legacy_error(fault));
                }
                None => {}
            }
        }
        let too_many = Fault::new(ErrorKind::TooMany, Part::Key, 0);
        if usize::try_from(count).is_ok_and(|count| count > MOST_KEYS) {
            return Err(self.legacy_error(too_many));
        }
        Ok(())
    }

    /// The error for a fault in the list of keys.
    fn legacy_error(&self, fault: Fault) -> crate::error::Error {
        fail(fault.kind, fault.item, self.constants_at.saturating_add(fault.at.into()))
    }

    /// Reads the list of keys, and the tree for the widths of all storages. Fails if two keys are equal, if two references
    /// to a storage differ, or if a storage has none.
    #[inline(never)] // large
    fn storages(&self) -> Result<Storages<'a>> {
        let repeated = Fault::new(ErrorKind::RepeatedKey, Part::Key, 0);
        let order = Order::new(self.pickle(true)).ok_or_else(|| self.legacy_error(repeated))?;
        let mut storages = Storages { order, widths: [0; MOST_KEYS], offsets: [0; MOST_KEYS >> NEAR_BITS] };
        let file = *self;
        let tree = self.tree(false);
        let Storages { order, widths, .. } = &mut storages;
        let each = |storage: &Storage, at| {
            let at = file.offset(at);
            if !storage.has_sixth {
                return Err(fail(ErrorKind::CountsDiffer, Part::Component, at));
            }
            let missing = fail(ErrorKind::MissingData, Part::Data, at);
            let place = order.place(storage.key.bytes(file.pickle(false))).ok_or(missing)?;
            let width = usize::try_from(place).ok().and_then(|place| widths.get_mut(place)).ok_or(missing)?;
            if *width != 0 && *width != storage.width() {
                return Err(fail(ErrorKind::SizeMismatch, Part::Length, at));
            }
            *width = storage.width();
            Ok(())
        };
        let checked = tree.each_storage(each);
        checked.map_err(|broken| broken.error(self, false))?;
        if widths.get(..order.count()).unwrap_or_default().contains(&0) {
            return Err(fail(ErrorKind::UnclaimedBytes, Part::Key, self.constants_at));
        }
        Ok(storages)
    }

    /// Reads the numbers of elements, which must fit in the file. Returns the end of the last storage.
    fn check_data(&self, opening: &ParseContext<'a>, storages: &mut Storages<'a>) -> ParseResult<u64> {
        let length = opening.input.length();
        let mut at = self.constants_at.saturating_add(self.constants_length.into());
        let mut offsets = storages.offsets.iter_mut();
        for (place, width) in storages.widths.iter().take(storages.order.count()).enumerate() {
            if place & (NEAR - 1) == 0 {
                if let Some(offset) = offsets.next() {
                    *offset = at;
                }
            }
            let count = Extent::new(at, COUNT);
            if !count.is_within(length) {
                return Err(opening.fail((ErrorKind::Truncated, Format::Pytorch, Part::Data), length));
            }
            let elements = op::number(opening.keep(count)?);
            let data =
                elements.checked_mul(u64::from(*width)).map(|bytes| Extent::new(at.saturating_add(COUNT), bytes));
            match data.filter(|data| data.is_within(length)) {
                Some(data) => at = data.end().unwrap_or(u64::MAX),
                None => return Err(opening.fail((ErrorKind::OutOfFile, Format::Pytorch, Part::Length), at)),
            }
        }
        Ok(at)
    }

    /// The first storage.
    fn first_storage(&self) -> Option<Start> {
        self.storage_at(self.constants_at.saturating_add(self.constants_length.into()))
    }

    /// The storage at an offset. `None` if the number of its elements is not in memory.
    fn storage_at(&self, at: u64) -> Option<Start> {
        Some(Start { at, elements: op::number(self.input.get(Extent::new(at, COUNT))?) })
    }

    /// The storage behind one with elements of a width.
    fn behind(&self, storage: &Start, width: u8) -> Option<Start> {
        self.storage_at(storage.data(width).end()?)
    }

    /// The storage behind one, without those whose widths are kept.
    fn likely_behind(&self, storage: &Start, Usual { width, is_tried }: Usual) -> Option<Start> {
        let usual = self.behind(storage, width);
        let (mut next, mut others) = (usual, WIDTHS.iter());
        // An element takes at least a byte.
        while is_tried && next.is_none_or(|next| next.elements == 0 || !next.data(1).is_within(self.input.length())) {
            let Some(width) = others.next() else { return usual };
            next = self.behind(storage, *width);
        }
        next
    }

    /// Finds out whether the storages can be found without the tree, and how.
    fn find_widths(&mut self, storages: &Storages<'a>) {
        let widths = storages.widths.get(..storages.order.count()).unwrap_or_default();
        let mut found = None;
        for is_tried in [false, true] {
            for width in WIDTHS {
                found = found.or_else(|| self.likely_widths(Usual { width, is_tried }, widths));
            }
        }
        self.body = Body::Stream(found);
    }

    /// Compares the storages that are found in one way with the true ones. `None` if too many differ.
    fn likely_widths(&self, usual: Usual, widths: &[u8]) -> Option<Widths> {
        let (_, all_but_last) = widths.split_last()?;
        let mut found = Widths { usual, others: [u16::MAX; OTHERS], of_others: [0; OTHERS] };
        let mut others = found.others.iter_mut().zip(&mut found.of_others);
        let mut storage = self.first_storage()?;
        for (width, place) in all_but_last.iter().zip(0_u16..) {
            let next = self.behind(&storage, *width)?;
            if self.likely_behind(&storage, usual).is_none_or(|likely| likely.at != next.at) {
                let (other, of_other) = others.next()?;
                (*other, *of_other) = (place, *width);
            }
            storage = next;
        }
        Some(found)
    }

    /// Looks for the widths again, if they are tried: other bytes are in memory now.
    pub(super) fn with_widths_again(mut self) -> Self {
        if let Body::Stream(Some(Widths { usual: Usual { is_tried: true, .. }, .. })) = self.body {
            if let Ok(storages) = self.storages() {
                self.find_widths(&storages);
            }
        }
        self
    }

    /// Returns the extent of a storage, and the number of its elements.
    fn legacy_data(&self, place: u32, storages: &Storages<'a>) -> Result<(Extent, u64)> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        // From the last storage before it whose offset is kept.
        let kept = storages
            .offsets
            .iter()
            .zip(0_usize..)
            .take_while(|(at, number)| **at > 0 && *number <= place >> NEAR_BITS);
        let first = self.constants_at.saturating_add(self.constants_length.into());
        let (mut at, from) = kept.last().map_or((first, 0), |(at, number)| (*at, number << NEAR_BITS));
        for (width, other) in storages.widths.iter().zip(0_usize..).skip(from) {
            let missing = fail(ErrorKind::NotInMemory, Part::Data, at);
            let storage = self.storage_at(at).ok_or(missing)?;
            let data = storage.data(*width);
            if other == place {
                return Ok((data, storage.elements));
            }
            at = data.end().unwrap_or(u64::MAX);
        }
        Err(fail(ErrorKind::MissingData, Part::Data, at))
    }

    /// Returns the extent of a storage of the tree. If storages cannot be found without the tree, this reads it once more.
    pub(super) fn legacy_storage(&self, wanted: &Storage) -> Result<Extent> {
        let key = wanted.key.bytes(self.pickle(false));
        let missing = fail(ErrorKind::MissingData, Part::Data, self.constants_at);
        let Body::Stream(Some(widths)) = self.body else {
            let storages = self.storages()?;
            let place = storages.order.place(key).ok_or(missing)?;
            return self.legacy_data(place, &storages).map(|(data, _)| data);
        };
        let mut others = widths.others.into_iter().zip(widths.of_others).peekable();
        let absent = fail(ErrorKind::NotInMemory, Part::Data, self.constants_at);
        let mut storage = self.first_storage().ok_or(absent)?;
        for (other, place) in self.keys().zip(0_u16..) {
            if other == key {
                return Ok(storage.data(wanted.width()));
            }
            let next = match others.next_if(|(other, _)| *other == place) {
                Some((_, width)) => self.behind(&storage, width),
                None => self.likely_behind(&storage, widths.usual),
            };
            storage = next.ok_or(absent)?;
        }
        Err(missing)
    }

    /// Checks the tree: its tensors, and that each storage has as many elements as the stream states.
    fn check_legacy_tree(&mut self, storages: &Storages<'a>, seen: &mut Seen<'_, 'a>) -> Result<()> {
        let file = *self;
        self.check_tree(false, seen, |storage, at| {
            let at = file.offset(at);
            let missing = fail(ErrorKind::MissingData, Part::Data, at);
            let place = storages.order.place(storage.key.bytes(file.pickle(false))).ok_or(missing)?;
            let (_, elements) = file.legacy_data(place, storages)?;
            if elements.checked_mul(storage.width().into()) != Some(storage.bytes) {
                return Err(fail(ErrorKind::SizeMismatch, Part::Length, at));
            }
            Ok(())
        })
    }
}
