//! An index of the names of a file, in the caller's memory.
//!
//! Depends on `error`, `bytes`, `distinct`, `format`, `tensor`.
//!
//! The memory has three words for each of N tensors. Nearly always they are used so:
//!
//! ```text
//! N     where each tensor is in the metadata, in the order of the file
//! 2 N   slots: 0, or the number of a tensor, counted from 1, and in the bits that are left a part of its name's hash
//! ```
//!
//! A name is in the slot that its hash chooses, or in one of the next few. Names may be made to choose the same slots:
//! where one finds none within [`MAX_STEPS`], or too many on the way have the same part of the hash, all are hashed once
//! more, with a seed that depends on all of them and on the address of the memory: on a host, whoever makes a file cannot
//! know that. Where that is no better, the numbers are sorted by name instead, in time of the order of N log N, and looked
//! up by bisection:
//!
//! ```text
//! N     where each tensor is
//! N     where each name is
//! N     the numbers of the tensors, counted from 0, in the order of their names
//! ```
//!
//! So it is as well where a name does not stand at the start of its tensor (zTensor 0.1): there it may take long to read it
//! from where the tensor is.
//!
//! A file with a single tensor, or with none, takes no memory: the index itself has the hash of the name.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::duplicates::sort_by;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, FileFormat, Named, Summary, TensorRecord, dispatch};
use crate::view::tensor::Tensor;

/// How many slots a name may be in.
const MAX_STEPS: usize = 128;

/// How many names with the same part of their hashes a name may meet on the way to its slot.
const MAX_MET: u32 = 4;

/// Which tensor has which name. See [`File::index`](crate::File::index).
///
/// Holds the memory that it was made in, and the file; copy it freely, share it between threads.
#[derive(Clone, Copy, Debug)]
pub struct Index<'m, 'a> {
    file: AnyFile<'a>,
    /// [`length`] words.
    words: &'m [u32],
    order: Order,
}

/// How the names are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// By their hashes with that seed.
    Slots(u64),
    Sorted,
    /// The only name, by its hash; `at` is where its tensor is.
    One {
        hash: u64,
        at: u32,
    },
}

/// How many words an index of `count` tensors takes; `None` beyond what can be addressed.
pub(crate) fn length(count: u64) -> Option<usize> {
    if count < 2 { Some(0) } else { count.checked_mul(3).and_then(to_usize) }
}

impl<'m, 'a> Index<'m, 'a> {
    /// Makes an index of a file that has these warnings and `count` tensors.
    pub(crate) fn new(file: AnyFile<'a>, warnings: Warnings, count: u64, words: &'m mut [u32]) -> Result<Self> {
        let words = length(count).and_then(|length| words.get_mut(..length));
        let words = words.ok_or(Error::new(ErrorKind::OutOfScratch))?;
        // What the names of a file could not be made to collide with.
        let salt = to_u64(words.as_ptr().addr());
        // What else opening has left is not compared.
        let warnings = warnings.only(Warning::NamesUnchecked);
        let summary = Summary { warnings, tensor_count: count };
        let order = dispatch!(&file, file => fill(file, &summary, words, salt))?;
        Ok(Self { file, words, order })
    }

    /// Returns the first tensor with that name: the one that [`File::find`](crate::File::find) does, in time that hardly
    /// depends on how many there are.
    ///
    /// # Errors
    /// `NotFound`, also where the bytes have changed since the index was made and another name is where this one was;
    /// another error where the tensor itself has changed.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        self.find_bytes(name.as_bytes())
    }

    /// Like [`find`](Self::find), for a name that need not be UTF-8.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub(crate) fn find_bytes(&self, name: &[u8]) -> Result<Tensor<'a>> {
        let Some(candidate) = self.candidate(name) else { return Err(Error::new(ErrorKind::NotFound)) };
        // Where all this is inlined on a host, a tensor is not copied. It is large: none is made for a name that is nowhere.
        let mut record = TensorRecord::blank();
        match self.read(candidate, name, &mut record) {
            Ok(true) => return Ok(Tensor::new(self.file, record)),
            Ok(false) => {}
            Err(error) => return Err(error),
        }
        self.find_among_others(name)
    }

    /// Reads a candidate into `record`, a blank one; `false` where it has another name.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))] // a single copy of all formats
    fn read(&self, candidate: Candidate, name: &[u8], record: &mut TensorRecord<'a>) -> Result<bool> {
        dispatch!(&self.file, file => read(file, candidate, name, record))
    }

    /// Where the tensor of that name is, if there is one.
    #[cfg_attr(target_pointer_width = "64", inline(never))]
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

    /// Looks further, where the first tensor whose name has the same part of its hash has another name. No tensor is read
    /// twice: this costs no more than looking at all of them.
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

/// Where a tensor may be: its position, and its number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    position: u32,
    number: NonZeroU32,
}

impl Candidate {
    /// The only tensor of a file, at that position, if its name may be `name`: no other name is read to know that it is not.
    #[inline(never)]
    fn only(hash: u64, position: u32, name: &[u8]) -> Option<Self> {
        (self::hash(0, name) == hash).then_some(Self { position, number: NonZeroU32::MIN })
    }

    /// The tensor with that number among those at these positions.
    #[inline]
    fn of(number: u32, positions: &[u32]) -> Option<Self> {
        let position = positions.get(to_usize(number.into())?.checked_sub(1)?)?;
        Some(Self { position: *position, number: NonZeroU32::new(number)? })
    }
}

/// Fills the words with an index of the file. The seed of the second hash depends on the salt, too.
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
        // Only the format can tell whether it forbids that, and where the fault is.
        file.check(summary, words)?;
        fill_sorted(file, words)?;
    }
    Ok(Order::Sorted)
}

/// How the name of a file with a single tensor is found, or none in a file without tensors.
fn order_of_few<'a, F: FileFormat<'a>>(file: &F, count: u64) -> Result<Order> {
    if count == 0 {
        return Ok(Order::Sorted); // among no words
    }
    let (name, at) = if F::HAS_NAMES {
        let named = next_name(file, &mut { Cursor::START })?;
        (named.name, named.tensor_at)
    } else {
        (Text::new(&[], false), 0)
    };
    Ok(Order::One { hash: hash_of(0, name), at })
}

/// A seed that depends on the salt and on all names.
#[inline(never)]
fn seed_of<'a, F: FileFormat<'a>>(file: &F, salt: u64, count: usize) -> Result<u64> {
    let (mut seed, mut cursor) = (salt, Cursor::START);
    for _ in 0..count {
        seed = hash_of(seed, next_name(file, &mut cursor)?.name);
    }
    Ok(seed)
}

/// Reads a candidate into `tensor`, a blank record; `false` where it has another name. The name is read as a part of the
/// tensor, so that it is compared once.
#[inline]
fn read<'a, F: FileFormat<'a>>(
    file: &F,
    candidate: Candidate,
    name: &[u8],
    tensor: &mut TensorRecord<'a>,
) -> Result<bool> {
    file.tensor_at(candidate.position, candidate.number.get().wrapping_sub(1), tensor)?;
    Ok(tensor.name().means(name))
}

/// How many tensors are in an index of these words.
fn third(words: &[u32]) -> usize {
    words.len().checked_div(3).unwrap_or(0)
}

/// How the names got into the slots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    All,
    /// One of them is there twice.
    Repeated,
    /// One of them found no slot.
    Crowded,
    /// They may not be in slots: they stand apart from their tensors.
    Apart,
}

/// Where a name goes, among so many slots: the first slot that it may be in, and what is in it besides the number.
#[derive(Clone, Copy)]
struct Place {
    slot: usize,
    tag: u32,
}

/// How many bits of a slot are the number of a tensor.
fn number_bits(slots: &[u32]) -> u32 {
    // Half as many tensors as slots, counted from 1.
    usize::BITS.wrapping_sub(slots.len().wrapping_shr(1).leading_zeros())
}

impl Place {
    fn of(hash: u64, slots: &[u32]) -> Self {
        let (high, low) = (hash.wrapping_shr(32), u32::try_from(hash & 0xffff_ffff).unwrap_or(0));
        let slot = to_usize(high.wrapping_mul(to_u64(slots.len())).wrapping_shr(32)).unwrap_or(0);
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
        // Inline on a host: what it returns is large.
        let named = file.next_name(&mut cursor)?;
        let Named { name, name_at, tensor_at } = named.ok_or(Error::new(ErrorKind::Malformed))?;
        if name_at != tensor_at {
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
            if left == 0 || met > MAX_MET {
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

/// Reads the next name of a file that had another one when it was opened.
#[inline(never)]
fn next_name<'a, F: FileFormat<'a>>(file: &F, cursor: &mut Cursor) -> Result<Named<'a>> {
    file.next_name(cursor)?.ok_or(Error::new(ErrorKind::Malformed))
}

/// The number in a slot, counted from 1; 0 in an empty one.
const fn number(slot: u32, bits: u32) -> u32 {
    slot & !u32::MAX.wrapping_shl(bits)
}

/// The slots that a name may be in, as far as they are not empty: an iterator over those with the same part of the hash.
#[derive(Clone, Copy)]
struct Slots<'m> {
    positions: &'m [u32],
    slots: &'m [u32],
    /// The next one, and how many there are from it on.
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

    /// The first one.
    #[cfg(not(target_pointer_width = "64"))]
    fn first(hash: u64, words: &[u32]) -> Option<Candidate> {
        Slots::of(hash, words).next()
    }

    /// The first one.
    #[cfg(target_pointer_width = "64")]
    #[inline(always)]
    fn first(hash: u64, words: &'m [u32]) -> Option<Candidate> {
        // Four slots at a time: in which of them a name is, or whether it is in none, cannot be foreseen, and a processor
        // that guesses it wrongly waits for memory instead of going on.
        let all = Self::of(hash, words);
        if let Some(four) = all.four() {
            let (tag, others) = all.tag_and_others();
            // All at once, in a vector.
            let is_any = |[a, b, c, d]: [bool; 4]| a | b | c | d;
            let (has_it, has_empty) =
                (is_any(four.map(|slot| (slot ^ tag) & others == 0)), is_any(four.map(|slot| slot == 0)));
            if !has_it & has_empty {
                return None;
            }
            // Most are in the first.
            let [slot, ..] = four;
            if has_it && (slot ^ tag) & others == 0 && *slot != 0 {
                return Candidate::of(slot & !others, all.positions);
            }
        }
        first_from(words, all.slot, all.tag, all.bits)
    }

    /// The next four slots, if as many follow.
    #[cfg(target_pointer_width = "64")]
    #[inline(always)]
    fn four(&self) -> Option<&'m [u32; 4]> {
        self.slots.get(self.slot..)?.first_chunk()
    }

    /// What is in a slot besides the number, and the bits of it.
    #[cfg(target_pointer_width = "64")]
    #[inline(always)]
    const fn tag_and_others(&self) -> (u32, u32) {
        (self.tag.wrapping_shl(self.bits), u32::MAX.wrapping_shl(self.bits))
    }
}

/// The first one from a slot on.
#[cfg(target_pointer_width = "64")]
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

/// Sorts the numbers of all tensors by name; whether a name is there twice.
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

/// Looks a name up among those sorted.
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

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const LAST_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// A hash of what a name means: of its bytes of UTF-8.
fn hash_of(seed: u64, name: Text<'_>) -> u64 {
    if name.is_escaped() { escaped_hash(seed, name) } else { hash(seed, name.raw()) }
}

/// The hash of bytes.
#[inline]
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    match bytes.last_chunk() {
        Some(last) => long_hash(seed, bytes, last),
        None => short_hash(seed, bytes),
    }
}

/// The hash of bytes, sixteen at a time; `last` are the last of them.
#[inline]
fn long_hash(seed: u64, bytes: &[u8], last: &[u8; 16]) -> u64 {
    let (mut hash, mut rest) = (Hash::new(seed), bytes);
    // Not the last sixteen, so that how often this is done depends less on the length.
    while let Some((block, after)) = rest.split_first_chunk().filter(|(_, after)| !after.is_empty()) {
        hash.add(u128::from_le_bytes(*block));
        rest = after;
    }
    hash.add(u128::from_le_bytes(*last)); // some of its bytes for the second time
    hash.finish(to_u64(bytes.len()))
}

#[inline(never)]
fn short_hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = Hash::new(seed);
    hash.add(short(bytes));
    hash.finish(to_u64(bytes.len()))
}

/// Less than sixteen bytes as the last of a number that has as many.
fn short(bytes: &[u8]) -> u128 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return bytes.iter().fold(0, |before, byte| last_sixteen(before, *byte));
    };
    // From eight on: the last eight, and the first as far as they are none of those.
    let others = u32::try_from(bytes.len()).map_or(0, |length| 128_u32.wrapping_sub(length.wrapping_shl(3)));
    let low = u64::from_le_bytes(*first).checked_shl(others).unwrap_or(0);
    u128::from(u64::from_le_bytes(*last)).wrapping_shl(64) | u128::from(low)
}

/// The bytes of a number without the lowest, and one more, which is the highest then.
#[inline]
fn last_sixteen(before: u128, byte: u8) -> u128 {
    before.wrapping_shr(8) | u128::from(byte).wrapping_shl(120)
}

/// The hash of a name that has escapes, character by character.
#[inline(never)]
fn escaped_hash(seed: u64, name: Text<'_>) -> u64 {
    let (mut hash, mut last, mut length) = (Hash::new(seed), 0_u128, 0_u64);
    for character in name.chars() {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            if length & 15 == 0 && length > 0 {
                hash.add(last);
            }
            last = last_sixteen(last, byte);
            length = length.wrapping_add(1);
        }
    }
    hash.add(last);
    hash.finish(length)
}

/// Two hashes, of every other word each: a processor works on both at a time. Both begin with a seed.
struct Hash(u64, u64);

impl Hash {
    #[inline]
    const fn new(seed: u64) -> Self {
        Self(seed, seed ^ FACTOR)
    }

    #[inline]
    fn add(&mut self, block: u128) {
        let [low, high] = [block, block.wrapping_shr(64)].map(|word| word & u128::from(u64::MAX));
        let word = |word| u64::try_from(word).unwrap_or(0);
        *self = Self(mixed(self.0, word(low)), mixed(self.1, word(high)));
    }

    #[inline]
    const fn finish(&self, length: u64) -> u64 {
        // Mixed once more, the first: one byte that differs in each of the two may otherwise make no difference.
        let hash = (mixed(mixed(self.0, 0), self.1) ^ length).wrapping_mul(LAST_FACTOR);
        hash ^ hash.wrapping_shr(32)
    }
}

#[inline]
const fn mixed(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(FACTOR).rotate_left(32)
}

#[cfg(test)]
mod tests;
