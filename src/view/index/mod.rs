//! An index of the names of a file, in the caller's memory.
//!
//! The memory has three words for each of N tensors. It nearly always has this layout:
//!
//! ```text
//! N     the position of each tensor in the metadata, in the order of the file
//! 2 N   slots: 0, or the number of a tensor, counted from 1, with a part of the hash of its name in the other bits
//! ```
//!
//! A name is in the slot that its hash selects, or in one of the next few slots. Names may be crafted to select the
//! same slots. If a name finds no slot within [`MAX_STEPS`], or passes too many slots with the same part of the hash,
//! all names are hashed again with a seed that depends on all names and on the address of the memory. On a host, the
//! author of a file cannot know that address. If that fails, too, the numbers are sorted by name in about N log N
//! comparisons, and looked up by bisection:
//!
//! ```text
//! N     the position of each tensor
//! N     the position of each name
//! N     the numbers of the tensors, counted from 0, in the order of their names
//! ```
//!
//! This second layout is also used if a name is not stored at the start of its tensor (zTensor 0.1): finding the name
//! from the position of the tensor may take long.
//!
//! A file with at most one tensor needs no memory: the index itself contains the hash of the name.
#![forbid(unsafe_code)]

pub(crate) mod hash;

use core::num::NonZeroU32;

use self::hash::{hash, hash_of, long_hash, short_hash};
use crate::bytes::num::{to_u64, to_usize};
use crate::duplicates::sort_by;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, FileFormat, Named, Summary, TensorRecord, dispatch};
use crate::view::tensor::Tensor;

/// The maximum number of slots that are tried for a name.
pub(crate) const MAX_STEPS: usize = 128;

/// The maximum number of slots with the same hash tag that a name may pass on the way to its own slot.
pub(crate) const MAX_COLLISIONS: u32 = 4;

/// A name-to-tensor index. See [`File::index`](crate::File::index).
///
/// Borrows the memory that holds the index, and the file. An `Index` can be copied freely and shared between threads.
#[derive(Clone, Copy, Debug)]
pub struct Index<'m, 'a> {
    file: AnyFile<'a>,
    /// [`length`] words.
    words: &'m [u32],
    order: Order,
}

/// The way in which names are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// In slots, by their hashes with this seed.
    Slots(u64),
    Sorted,
    /// The only name, by its hash; `at` is the position of its tensor.
    One {
        hash: u64,
        at: u32,
    },
}

/// Returns the number of words that an index of `count` tensors takes; `None` if the words could not be addressed.
pub(crate) fn length(count: u64) -> Option<usize> {
    if count < 2 { Some(0) } else { count.checked_mul(3).and_then(to_usize) }
}

impl<'m, 'a> Index<'m, 'a> {
    /// Builds an index of a file that has the warnings `warnings` and `count` tensors.
    pub(crate) fn new(file: AnyFile<'a>, warnings: Warnings, count: u64, words: &'m mut [u32]) -> Result<Self> {
        let words = length(count).and_then(|length| words.get_mut(..length));
        let words = words.ok_or(Error::new(ErrorKind::OutOfScratch))?;
        // The author of a file cannot know the address, and so cannot craft names that collide with this salt.
        let salt = to_u64(words.as_ptr().addr());
        // Only names are compared here, not the other items that opening left unchecked.
        let warnings = warnings.only(Warning::NamesUnchecked);
        let summary = Summary { warnings, tensor_count: count };
        let order = dispatch!(&file, file => fill(file, &summary, words, salt))?;
        Ok(Self { file, words, order })
    }

    /// Returns the first tensor named `name`, as [`File::find`](crate::File::find) does, in time that hardly depends on
    /// the number of tensors.
    ///
    /// # Errors
    /// `NotFound` if no tensor has that name, or if the bytes have changed since the index was built and the tensor now
    /// has another name. Another error if the tensor itself has changed.
    #[cfg_attr(not(small), inline(always))]
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        self.find_bytes(name.as_bytes())
    }

    /// Finds a tensor as [`find`](Self::find) does, by a name that need not be UTF-8.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn find_bytes(&self, name: &[u8]) -> Result<Tensor<'a>> {
        let Some(candidate) = self.candidate(name) else { return Err(Error::new(ErrorKind::NotFound)) };
        // Inlined on a host, this avoids a copy of the tensor, which is large. A name without a candidate needs no
        // record.
        let mut record = TensorRecord::blank();
        match self.read(candidate, name, &mut record) {
            Ok(true) => return Ok(Tensor::new(self.file, record)),
            Ok(false) => {}
            Err(error) => return Err(error),
        }
        self.find_among_others(name)
    }

    /// Reads a candidate into `record`, which must be blank; returns `false` if the candidate has another name.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))] // a single copy for all formats
    fn read(&self, candidate: Candidate, name: &[u8], record: &mut TensorRecord<'a>) -> Result<bool> {
        dispatch!(&self.file, file => read(file, candidate, name, record))
    }

    /// Returns a tensor that may have the name `name`, if there is one.
    #[cfg_attr(not(small), inline(never))]
    fn candidate(&self, name: &[u8]) -> Option<Candidate> {
        match self.order {
            Order::Slots(seed) => match name.last_chunk() {
                Some(last) => Slots::first(long_hash(seed, name, last), self.words),
                None => self.candidate_of_short(seed, name),
            },
            Order::Sorted => self.sorted_candidate(name),
            Order::One { hash, at } => Candidate::only(hash, at, name),
        }
    }

    #[inline(never)]
    fn candidate_of_short(&self, seed: u64, name: &[u8]) -> Option<Candidate> {
        Slots::first(short_hash(seed, name), self.words)
    }

    #[cold]
    #[inline(never)]
    fn sorted_candidate(&self, name: &[u8]) -> Option<Candidate> {
        dispatch!(&self.file, file => find_sorted(file, self.words, name))
    }

    /// Continues the search after a first candidate that has the same hash tag but another name. No tensor is read
    /// twice.
    #[cold]
    #[inline(never)]
    fn find_among_others(&self, name: &[u8]) -> Result<Tensor<'a>> {
        let Order::Slots(seed) = self.order else { return Err(Error::new(ErrorKind::NotFound)) };
        for candidate in Slots::of(hash(seed, name), self.words).skip(1) {
            let mut record = TensorRecord::blank();
            if self.read(candidate, name, &mut record)? {
                return Ok(Tensor::new(self.file, record));
            }
        }
        Err(Error::new(ErrorKind::NotFound))
    }
}

/// A tensor that may have the name: its position, and its number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    position: u32,
    number: NonZeroU32,
}

impl Candidate {
    /// Returns the only tensor of a file, at `position`, if the hashes match. The name in the file is not read to
    /// reject another name.
    #[inline(never)]
    fn only(hash: u64, position: u32, name: &[u8]) -> Option<Self> {
        (self::hash(0, name) == hash).then_some(Self { position, number: NonZeroU32::MIN })
    }

    /// Returns the tensor numbered `number`, which is at one of `positions`.
    #[inline]
    fn of(number: u32, positions: &[u32]) -> Option<Self> {
        let position = positions.get(to_usize(number.into())?.checked_sub(1)?)?;
        Some(Self { position: *position, number: NonZeroU32::new(number)? })
    }
}

/// Fills the words with an index of the file. The seed of the second hash also depends on the salt.
fn fill<'a, F: FileFormat<'a>>(file: &F, summary: &Summary, words: &mut [u32], salt: u64) -> Result<Order> {
    let mut seed = 0;
    if words.is_empty() {
        return order_of_few(file, summary.tensor_count);
    }
    let mut filled = fill_slots(file, words, seed)?;
    if filled == Filled::Crowded {
        seed = seed_of(file, salt, third(words))?;
        filled = fill_slots(file, words, seed)?;
    }
    let is_repeated = match filled {
        Filled::All => return Ok(Order::Slots(seed)),
        Filled::Repeated => true,
        Filled::Crowded | Filled::Apart => fill_sorted(file, words)?,
    };
    if is_repeated {
        // Only the format knows whether repeated names are forbidden, and where the error is.
        file.check(summary, words)?;
        fill_sorted(file, words)?;
    }
    Ok(Order::Sorted)
}

/// Returns the order for a file with a single tensor, or without tensors.
fn order_of_few<'a, F: FileFormat<'a>>(file: &F, count: u64) -> Result<Order> {
    if count == 0 {
        return Ok(Order::Sorted); // no words to search
    }
    let first = next_name(file, &mut { Cursor::START })?;
    Ok(Order::One { hash: hash_of(0, first.name), at: first.tensor_at })
}

/// Returns a seed that depends on the salt and on all names.
#[inline(never)]
fn seed_of<'a, F: FileFormat<'a>>(file: &F, salt: u64, count: usize) -> Result<u64> {
    let (mut seed, mut cursor) = (salt, Cursor::START);
    for _ in 0..count {
        seed = hash_of(seed, next_name(file, &mut cursor)?.name);
    }
    Ok(seed)
}

/// Reads a candidate into `tensor`, a blank record; returns `false` if the candidate has another name. The name is read
/// as a part of the tensor, so that it is compared once.
#[inline]
fn read<'a, F: FileFormat<'a>>(
    file: &F,
    candidate: Candidate,
    name: &[u8],
    tensor: &mut TensorRecord<'a>,
) -> Result<bool> {
    file.tensor_at(candidate.position, candidate.number.get().wrapping_sub(1), tensor)?;
    Ok(tensor.name().eq_bytes(name))
}

/// Returns the number of tensors in an index of these words.
fn third(words: &[u32]) -> usize {
    words.len().checked_div(3).unwrap_or(0)
}

/// The outcome of putting the names into slots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    All,
    /// A name is repeated.
    Repeated,
    /// A name found no slot.
    Crowded,
    /// Slots cannot be used: names are stored apart from their tensors.
    Apart,
}

/// The place of a name among the slots: the first slot that it may be in, and the tag stored there besides the number.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) tag: u32,
}

/// Returns the number of bits of a slot that hold the number of a tensor.
pub(crate) fn number_bits(slots: &[u32]) -> u32 {
    // There are half as many tensors as slots, counted from 1.
    usize::BITS.wrapping_sub((slots.len() >> 1).leading_zeros())
}

impl Place {
    pub(crate) fn of(hash: u64, slots: &[u32]) -> Self {
        let (high, low) = (hash >> 32, u32::try_from(hash & 0xffff_ffff).unwrap_or(0));
        let slot = to_usize(high.wrapping_mul(to_u64(slots.len())) >> 32).unwrap_or(0);
        Self { slot, tag: low.wrapping_shr(number_bits(slots)) }
    }
}

/// Puts all names into slots.
fn fill_slots<'a, F: FileFormat<'a>>(file: &F, words: &mut [u32], seed: u64) -> Result<Filled> {
    let (positions, slots) = words.split_at_mut_checked(third(words)).unwrap_or_default();
    slots.fill(0);
    let bits = number_bits(slots);
    let mut cursor = Cursor::START;
    for number in 0..positions.len() {
        // Inlined on a host: the returned value is large.
        let named = file.next_name(&mut cursor)?;
        let Named { name, name_at, tensor_at } = named.ok_or(Error::new(ErrorKind::Malformed))?;
        if name_at != tensor_at && !F::HAS_NAMES_AT_TENSORS {
            return Ok(Filled::Apart);
        }
        let Place { slot: mut at, tag } = Place::of(hash_of(seed, name), slots);
        let (mut left, mut met) = (MAX_STEPS, 0_u32);
        while let Some(slot) = slots.get(at).copied().filter(|slot| *slot != 0) {
            if slot.wrapping_shr(bits) == tag {
                let other = Candidate::of(self::number(slot, bits), positions).map_or(0, |other| other.position);
                if file.name_at(other).is(name) {
                    return Ok(Filled::Repeated);
                }
                met = met.saturating_add(1);
            }
            left = left.saturating_sub(1);
            if left == 0 || met > MAX_COLLISIONS {
                return Ok(Filled::Crowded);
            }
            at = at.wrapping_add(1);
            if at == slots.len() {
                at = 0;
            }
        }
        if let Some((position, slot)) = positions.get_mut(number).zip(slots.get_mut(at)) {
            *position = tensor_at;
            *slot = tag.wrapping_shl(bits) | u32::try_from(number).unwrap_or(0).wrapping_add(1);
        }
    }
    Ok(Filled::All)
}

/// Reads the next name; an error if the file has fewer names than when it was opened.
#[inline(never)]
fn next_name<'a, F: FileFormat<'a>>(file: &F, cursor: &mut Cursor) -> Result<Named<'a>> {
    file.next_name(cursor)?.ok_or(Error::new(ErrorKind::Malformed))
}

/// Returns the number in a slot, counted from 1; 0 for an empty slot.
pub(crate) const fn number(slot: u32, bits: u32) -> u32 {
    slot & !u32::MAX.wrapping_shl(bits)
}

/// An iterator over the slots that a name may be in, up to the first empty slot. Returns only slots with the same tag.
#[derive(Clone, Copy)]
struct Slots<'m> {
    positions: &'m [u32],
    slots: &'m [u32],
    /// The next slot, and the number of slots left from there on.
    slot: usize,
    left: usize,
    tag: u32,
    bits: u32,
}

impl<'m> Slots<'m> {
    #[inline]
    fn of(hash: u64, words: &'m [u32]) -> Self {
        let (positions, slots) = words.split_at_checked(third(words)).unwrap_or_default();
        let Place { slot, tag } = Place::of(hash, slots);
        Self { positions, slots, slot, left: MAX_STEPS, tag, bits: number_bits(slots) }
    }

    /// Returns the first slot with the same tag.
    #[cfg(small)]
    fn first(hash: u64, words: &[u32]) -> Option<Candidate> {
        Slots::of(hash, words).next()
    }

    /// Returns the first slot with the same tag.
    #[cfg(not(small))]
    #[inline(always)]
    fn first(hash: u64, words: &'m [u32]) -> Option<Candidate> {
        // Compares four slots at a time: a branch per slot would often be mispredicted, and the processor would wait
        // for memory.
        let all = Self::of(hash, words);
        if let Some(four) = all.four() {
            let (tag, others) = all.tag_and_others();
            // All four comparisons in a vector.
            let is_any = |[a, b, c, d]: [bool; 4]| a | b | c | d;
            let (has_it, has_empty) =
                (is_any(four.map(|slot| (slot ^ tag) & others == 0)), is_any(four.map(|slot| slot == 0)));
            if !has_it & has_empty {
                return None;
            }
            // Most names are in their first slot.
            let [slot, ..] = four;
            if has_it && (slot ^ tag) & others == 0 && *slot != 0 {
                return Candidate::of(slot & !others, all.positions);
            }
        }
        first_from(words, all.slot, all.tag, all.bits)
    }

    /// Returns the next four slots, if there are four before the end.
    #[cfg(not(small))]
    #[inline(always)]
    fn four(&self) -> Option<&'m [u32; 4]> {
        self.slots.get(self.slot..)?.first_chunk()
    }

    /// The hash tag stored in a slot, and its mask.
    #[cfg(not(small))]
    #[inline(always)]
    const fn tag_and_others(&self) -> (u32, u32) {
        (self.tag.wrapping_shl(self.bits), u32::MAX.wrapping_shl(self.bits))
    }
}

/// Returns the first slot with the tag `tag` from `slot` on.
#[cfg(not(small))]
#[inline(never)] // few arguments, so that the caller need not save registers
fn first_from(words: &[u32], slot: usize, tag: u32, bits: u32) -> Option<Candidate> {
    let (positions, slots) = words.split_at_checked(third(words)).unwrap_or_default();
    let mut all = Slots { positions, slots, slot, left: MAX_STEPS, tag, bits };
    if let Some(four) = all.four() {
        let (tag, others) = all.tag_and_others();
        let found = four.iter().rev().fold(0, |later, slot| {
            let found = if (slot ^ tag) & others == 0 { *slot } else { later };
            if *slot == 0 { 0 } else { found }
        });
        if found != 0 {
            return Candidate::of(found & !others, positions);
        }
    }
    all.next()
}

impl Iterator for Slots<'_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let slot = *self.slots.get(self.slot).filter(|slot| **slot != 0)?;
            self.slot = self.slot.wrapping_add(1);
            if self.slot == self.slots.len() {
                self.slot = 0;
            }
            if slot.wrapping_shr(self.bits) == self.tag {
                return Candidate::of(number(slot, self.bits), self.positions);
            }
        }
    }
}

/// Sorts the numbers of all tensors by name; returns whether a name is repeated.
fn fill_sorted<'a, F: FileFormat<'a>>(file: &F, words: &mut [u32]) -> Result<bool> {
    let count = third(words);
    let (positions, others) = words.split_at_mut_checked(count).unwrap_or_default();
    let (names, order) = others.split_at_mut_checked(count).unwrap_or_default();
    let mut cursor = Cursor::START;
    for ((position, name), (number, index)) in positions.iter_mut().zip(&mut *names).zip(order.iter_mut().zip(0..)) {
        let named = next_name(file, &mut cursor)?;
        (*position, *name, *number) = (named.tensor_at, named.name_at, index);
    }
    let names = &*names;
    let name =
        |index: u32| file.name_at(to_usize(index.into()).and_then(|index| names.get(index)).copied().unwrap_or(0));
    sort_by(order, |a, b| name(a).order(name(b)).then(a.cmp(&b)).is_lt());
    let is_repeated = |two: &[u32]| matches!(two, [a, b] if name(*a).order(name(*b)).is_eq());
    Ok(order.windows(2).any(is_repeated))
}

/// Looks up a name among the sorted names.
#[inline(never)]
fn find_sorted<'a, F: FileFormat<'a>>(file: &F, words: &[u32], name: &[u8]) -> Option<Candidate> {
    let (positions, others) = words.split_at_checked(third(words))?;
    let (names, order) = others.split_at_checked(positions.len())?;
    let at = |list: &[u32], index: u32| to_usize(index.into()).and_then(|index| list.get(index)).copied();
    let name_of = |index: u32| file.name_at(at(names, index).unwrap_or(0));
    let before = order.partition_point(|&index| name_of(index).compare(name).is_lt());
    let index = *order.get(before)?;
    if name_of(index).compare(name).is_ne() {
        return None;
    }
    Candidate::of(index.wrapping_add(1), positions)
}

#[cfg(test)]
mod tests;
