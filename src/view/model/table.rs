//! The table of the names of a model, in the caller's memory.
//!
//! The memory has six words for each of N tensors:
//!
//! ```text
//! 4 N   entries: the file, the positions of the name and of the tensor in it, the tensor's index in the file
//! 2 N   slots: 0, or the number of an entry, counted from 1, with a part of the hash of its name in the other bits
//! ```
//!
//! A name is in one of the slots from the slot that its hash selects on, as in [`view::index`](crate::view::index). If
//! names collide, all are hashed again with another seed. If they still collide, the first N slots have the entries in
//! the order of their names instead.
//!
//! If an index lists the tensors, an entry first has the position of the name in the index. It gets the positions in
//! its file when the names of the files are read.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::ModelFile;
use super::files::{file_named, is_spare};
use super::listing::Listing;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::duplicates::sort_by;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Cursor, FileFormat, Name, Named, NamedTensors, TensorRecord, dispatch};
use crate::view::file::File;
use crate::view::index::hash::hash_of;
use crate::view::index::{MAX_COLLISIONS, MAX_STEPS, Place, number, number_bits};
use crate::view::tensor::Tensor;

/// The number of words for each tensor.
const WORDS: u64 = 6;

/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Entry {
    /// The number of the file, or [`NO_FILE`](Self::NO_FILE), and two bits.
    file: u32,
    /// The position of the name in the file or, if the file does not have the tensor, in the index.
    name: u32,
    tensor: u32,
    index: u32,
}

impl Entry {
    /// The file does not have the tensor, although the index says so.
    const MISSING: u32 = 1 << 31;
    /// Another tensor has the same name.
    const REPEATED: u32 = 1 << 30;
    /// The number for a file that is not among the files of the model.
    const NO_FILE: u32 = Self::REPEATED - 1;

    /// The number of the file that has the tensor, or that the index names; `None` if it is not a file of the model.
    pub(super) fn file(&self) -> Option<usize> {
        let number = self.file & Self::NO_FILE;
        to_usize(number.into()).filter(|_| number != Self::NO_FILE)
    }

    pub(super) const fn is_missing(&self) -> bool {
        self.file & Self::MISSING != 0
    }

    pub(super) const fn is_repeated(&self) -> bool {
        self.file & Self::REPEATED != 0
    }

    /// Returns true if this is tensor `index` of file `file`.
    pub(super) fn is_at(&self, file: usize, index: u64) -> bool {
        !self.is_missing() && self.file() == Some(file) && u64::from(self.index) == index
    }

    /// The position of the name in the index, for an entry that [is missing](Self::is_missing).
    pub(super) const fn name_in_index(&self) -> u32 {
        self.name
    }

    /// Reads the tensor; `None` if it is in no file that could be opened.
    pub(super) fn tensor<'a>(&self, files: &[ModelFile<'a>]) -> Option<Result<Tensor<'a>>> {
        let file = self.file().filter(|_| !self.is_missing()).and_then(|number| files.get(number))?.file()?;
        let mut record = TensorRecord::blank();
        let read = dispatch!(file.inner(), format => format.tensor_at(self.tensor, self.index, &mut record));
        Some(read.map(|()| Tensor::new(*file.inner(), record)))
    }
}

/// The sources of names: the files, and the index if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'p, 'a> {
    pub(super) files: &'p [ModelFile<'a>],
    pub(super) listing: Option<Listing<'a>>,
}

impl<'a> Names<'_, 'a> {
    /// The number of entries.
    pub(super) fn count(&self) -> u64 {
        let counts = || (0..self.files.len()).filter_map(|file| Some(self.opened(file)?.tensor_count()));
        self.listing.map_or_else(|| counts().fold(0, u64::saturating_add), |listing| listing.count())
    }

    /// The number of the entry of tensor `index` of file `file`, if no index lists the tensors. Linear in the files.
    pub(super) fn number(&self, file: usize, index: u64) -> Option<usize> {
        let before = (0..file).filter_map(|file| Some(self.opened(file)?.tensor_count()));
        to_usize(before.fold(index, u64::saturating_add)).filter(|_| self.listing.is_none())
    }

    /// The file numbered `file` if its tensors are tensors of the model.
    fn opened(&self, file: usize) -> Option<&File<'a>> {
        let opened = self.files.get(file)?.file()?;
        (self.listing.is_some() || !is_spare(self.files, file)).then_some(opened)
    }

    /// The name of an entry.
    fn name(&self, entry: &Entry) -> Name<'a> {
        if entry.is_missing() {
            return self.listing.map_or(Name::Plain(&[]), |listing| listing.name_at(entry.name));
        }
        let file = entry.file().and_then(|number| self.files.get(number)?.file());
        file.map_or(Name::Plain(&[]), |file| dispatch!(file.inner(), format => format.name_at(entry.name)))
    }

    /// Calls `add` for each tensor that the index lists or, without an index, for each tensor of the files, until it
    /// returns false. Returns false then.
    fn each(&self, add: &mut dyn FnMut(Entry, Text<'a>) -> Result<bool>) -> Result<bool> {
        let Some(listing) = self.listing else { return self.each_in_files(add) };
        let mut entries = listing.entries();
        // Tensors that are next to each other are often in the same file.
        let mut last: Option<(Text<'a>, u32)> = None;
        while let Some(listed) = entries.next()? {
            let known = last.filter(|(path, _)| *path == listed.file).map(|(_, number)| number);
            let found = || file_named(self.files, listed.file).and_then(|number| u32::try_from(number).ok());
            let file = known.or_else(found).unwrap_or(Entry::NO_FILE);
            last = Some((listed.file, file));
            let entry = Entry { file: file | Entry::MISSING, name: listed.name_at, tensor: 0, index: 0 };
            if !add(entry, listed.name)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn each_in_files(&self, add: &mut dyn FnMut(Entry, Text<'a>) -> Result<bool>) -> Result<bool> {
        for (number, file) in (0_u32..Entry::NO_FILE).zip(0..self.files.len()) {
            let Some(opened) = self.opened(file) else { continue };
            let mut cursor = Cursor::START;
            for index in 0..u32::try_from(opened.tensor_count()).unwrap_or(u32::MAX) {
                let next = dispatch!(opened.inner(), format => format.next_name(&mut cursor))?;
                let Named { name, name_at, tensor_at } = next.ok_or(Error::new(ErrorKind::Malformed))?;
                let entry = Entry { file: number, name: name_at, tensor: tensor_at, index };
                if !add(entry, name)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns true if two tensors of a file may have the same name: the first one counts.
    fn may_repeat(&self, entry: &Entry) -> bool {
        let file = entry.file().and_then(|number| self.files.get(number)?.file());
        file.is_some_and(|file| dispatch!(file.inner(), format => format.may_names_repeat()))
    }

    /// Marks two entries with the same name, if the name may not repeat.
    fn mark(&self, first: &mut Entry, other: &mut Entry) -> Result<()> {
        if self.listing.is_some() {
            return Err(Listing::repeated(other.name));
        }
        if first.file() != other.file() || !self.may_repeat(first) {
            first.file |= Entry::REPEATED;
            other.file |= Entry::REPEATED;
        }
        Ok(())
    }
}

/// The table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'m> {
    pub(super) entries: &'m [Entry],
    slots: &'m [u32],
    pub(super) order: Order,
}

/// The way in which names are found: see the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Slots { seed: u64 },
    Sorted,
}

/// The outcome of looking for a name among the slots.
enum Search {
    /// The number of the entry.
    Found(usize),
    /// The first free slot, and the hash tag to store in it.
    Free(usize, u32),
    Crowded,
}

/// Returns the number of words that a table of `count` names takes; `None` if this machine cannot address them.
pub(crate) fn length(count: u64) -> Option<usize> {
    count.checked_mul(WORDS).and_then(to_usize)
}

impl<'m> Table<'m> {
    /// Fills the words with a table.
    pub(super) fn new(names: &Names<'_, '_>, words: &'m mut [u32]) -> Result<Self> {
        let count = names.count();
        let out_of_scratch = Error::new(ErrorKind::OutOfScratch);
        let words = length(count).and_then(|length| words.get_mut(..length)).ok_or(out_of_scratch)?;
        // The author of a file cannot know the address, and so cannot craft names that collide with this salt.
        let salt = to_u64(words.as_ptr().addr());
        let middle = to_usize(count.saturating_mul(4)).ok_or(out_of_scratch)?;
        let (entries, slots) = words.split_at_mut_checked(middle).ok_or(out_of_scratch)?;
        let entries = <[Entry]>::mut_from_bytes(entries.as_mut_bytes()).map_err(|_| out_of_scratch)?;
        let order = fill(names, entries, slots, salt)?;
        if names.listing.is_some() {
            locate(names, entries, slots, order)?;
        }
        Ok(Self { entries, slots, order })
    }

    /// Returns the entry named `name`.
    pub(super) fn find(&self, names: &Names<'_, '_>, name: Text<'_>) -> Option<&'m Entry> {
        self.entries.get(find(names, self.entries, self.slots, self.order, name)?)
    }
}

fn fill(names: &Names<'_, '_>, entries: &mut [Entry], slots: &mut [u32], salt: u64) -> Result<Order> {
    if fill_slots(names, entries, slots, 0)? {
        return Ok(Order::Slots { seed: 0 });
    }
    let mut seed = salt;
    names.each(&mut |_, name| {
        seed = hash_of(seed, name);
        Ok(true)
    })?;
    if fill_slots(names, entries, slots, seed)? {
        return Ok(Order::Slots { seed });
    }
    fill_sorted(names, entries, slots)?;
    Ok(Order::Sorted)
}

/// Puts all names into slots. Returns false if a name found no slot.
fn fill_slots(names: &Names<'_, '_>, entries: &mut [Entry], slots: &mut [u32], seed: u64) -> Result<bool> {
    slots.fill(0);
    let bits = number_bits(slots);
    let mut count = 0_usize;
    names.each(&mut |entry, name| {
        let (known, others) = entries.split_at_mut_checked(count).unwrap_or_default();
        let Some(place) = others.first_mut() else { return Err(Error::new(ErrorKind::Malformed)) };
        *place = entry;
        match search(names, known, slots, hash_of(seed, name), name) {
            Search::Crowded => return Ok(false),
            Search::Found(first) => {
                known.get_mut(first).map_or(Ok(()), |first| names.mark(first, place))?;
            }
            Search::Free(at, tag) => {
                if let Some(slot) = slots.get_mut(at) {
                    *slot = tag.wrapping_shl(bits) | u32::try_from(count).unwrap_or(0).wrapping_add(1);
                }
            }
        }
        count = count.wrapping_add(1);
        Ok(true)
    })
}

/// Looks for a name among the slots.
fn search(names: &Names<'_, '_>, entries: &[Entry], slots: &[u32], hash: u64, name: Text<'_>) -> Search {
    let Place { slot: mut at, tag } = Place::of(hash, slots);
    let bits = number_bits(slots);
    let mut met = 0_u32;
    for _ in 0..MAX_STEPS {
        let Some(slot) = slots.get(at).copied() else { break };
        if slot == 0 {
            return Search::Free(at, tag);
        }
        if slot.wrapping_shr(bits) == tag {
            let found = to_usize(number(slot, bits).into()).and_then(|number| number.checked_sub(1));
            if let Some((number, entry)) = found.and_then(|number| Some((number, entries.get(number)?))) {
                if names.name(entry).is(name) {
                    return Search::Found(number);
                }
            }
            met = met.wrapping_add(1);
            if met > MAX_COLLISIONS {
                break;
            }
        }
        at = at.wrapping_add(1);
        if at == slots.len() {
            at = 0;
        }
    }
    Search::Crowded
}

/// Sorts the entries by name, into the first slots.
fn fill_sorted(names: &Names<'_, '_>, entries: &mut [Entry], slots: &mut [u32]) -> Result<()> {
    let mut count = 0_usize;
    names.each(&mut |entry, _| {
        let place = entries.get_mut(count).ok_or(Error::new(ErrorKind::Malformed))?;
        *place = entry;
        count = count.wrapping_add(1);
        Ok(true)
    })?;
    let order = slots.get_mut(..entries.len()).unwrap_or_default();
    order.iter_mut().zip(0..).for_each(|(slot, number)| *slot = number);
    let name = |number: u32| names.name(entry_at(entries, number));
    sort_by(order, |a, b| name(a).order(name(b)).then(a.cmp(&b)).is_lt());
    for two in order.windows(2) {
        let [a, b] = two else { continue };
        let (mut first, mut other) = (*entry_at(entries, *a), *entry_at(entries, *b));
        if names.name(&first).order(names.name(&other)).is_eq() {
            names.mark(&mut first, &mut other)?;
            for (number, marked) in [(a, first), (b, other)] {
                if let Some(entry) = to_usize((*number).into()).and_then(|number| entries.get_mut(number)) {
                    *entry = marked;
                }
            }
        }
    }
    Ok(())
}

/// The entry numbered `number`, which is one of the table.
fn entry_at(entries: &[Entry], number: u32) -> &Entry {
    const NONE: &Entry = &Entry { file: u32::MAX, name: 0, tensor: 0, index: 0 };
    to_usize(number.into()).and_then(|number| entries.get(number)).unwrap_or(NONE)
}

/// Returns the number of the entry named `name`.
fn find(names: &Names<'_, '_>, entries: &[Entry], slots: &[u32], order: Order, name: Text<'_>) -> Option<usize> {
    match order {
        Order::Slots { seed } => match search(names, entries, slots, hash_of(seed, name), name) {
            Search::Found(number) => Some(number),
            _ => None,
        },
        Order::Sorted => {
            let order = slots.get(..entries.len())?;
            let is_before = |number: &u32| names.name(entry_at(entries, *number)).order(name.into()).is_lt();
            let before = order.partition_point(is_before);
            let number = *order.get(before)?;
            names.name(entry_at(entries, number)).is(name).then_some(())?;
            to_usize(number.into())
        }
    }
}

/// Gives each entry of an index the position of its tensor in its file.
fn locate(names: &Names<'_, '_>, entries: &mut [Entry], slots: &[u32], order: Order) -> Result<()> {
    names.each_in_files(&mut |tensor, name| {
        let number = find(names, entries, slots, order, name);
        if let Some(entry) = number.and_then(|number| entries.get_mut(number)) {
            if entry.file() == tensor.file() {
                if entry.is_missing() {
                    *entry = tensor;
                } else if !names.may_repeat(entry) {
                    entry.file |= Entry::REPEATED;
                }
            }
        }
        Ok(true)
    })?;
    Ok(())
}
