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
//! more, with a seed that depends on all of them. Where that is no better, the numbers are sorted by name instead, in time
//! of the order of N log N, and looked up by bisection:
//!
//! ```text
//! N     where each tensor is
//! N     where each name is
//! N     the numbers of the tensors, counted from 0, in the order of their names
//! ```
//!
//! So it is as well where a name does not stand at the start of its tensor (zTensor 0.1): there it may take long to read it
//! from where the tensor is.
#![forbid(unsafe_code)]

use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::distinct::sort_by;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, FileFormat, Named, TensorRecord, dispatch};
use crate::tensor::Tensor;
use crate::warning::Warnings;

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
    /// Of [`length`] words; none where the file has a single tensor, or none.
    words: &'m [u32],
    order: Order,
}

/// How the names are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// By their hashes with that seed.
    Slots(u64),
    Sorted,
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
        let order = dispatch!(&file, file => fill(file, warnings, words))?;
        Ok(Self { file, words, order })
    }

    /// Returns the first tensor with that name: the one that [`File::find`](crate::File::find) does, in time that hardly
    /// depends on how many there are.
    ///
    /// # Errors
    /// `NotFound`, also where the bytes have changed since the index was made and another name is where this one was;
    /// another error where the tensor itself has changed.
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        self.find_bytes(name.as_bytes())
    }

    /// Like [`find`](Self::find), for a name that need not be UTF-8.
    #[inline]
    pub(crate) fn find_bytes(&self, name: &[u8]) -> Result<Tensor<'a>> {
        let candidates = self.candidates(name)?;
        let mut record = TensorRecord::blank();
        dispatch!(&self.file, file => read(file, candidates, name, &mut record))?;
        Ok(Tensor::new(self.file, record))
    }

    /// Where a tensor of that name may be. A tensor is large: none is made for a name that is nowhere.
    #[inline]
    fn candidates(&self, name: &[u8]) -> Result<Candidates<'m>> {
        let found = match self.order {
            _ if self.words.is_empty() => Some(Candidates::Only),
            Order::Slots(seed) => Slots::of(hash(seed, name), self.words).some(),
            Order::Sorted => dispatch!(&self.file, file => find_sorted(file, self.words, name)),
        };
        found.ok_or(Error::new(ErrorKind::NotFound))
    }
}

/// Where a tensor of a name may be.
#[derive(Clone, Copy)]
enum Candidates<'m> {
    /// It is the only one of the file.
    Only,
    /// There; and its index.
    One(u32, u32),
    /// In one of these slots.
    Slots(Slots<'m>),
}

/// Fills the words with an index of the file.
fn fill<'a, F: FileFormat<'a>>(file: &F, warnings: Warnings, words: &mut [u32]) -> Result<Order> {
    let mut seed = 0;
    if !F::HAS_NAMES || words.is_empty() {
        return Ok(Order::Slots(seed));
    }
    let mut filled = fill_slots(file, words, seed)?;
    if filled == Filled::Crowded {
        seed = seed_of(file, third(words))?;
        filled = fill_slots(file, words, seed)?;
    }
    let is_repeated = match filled {
        Filled::All => return Ok(Order::Slots(seed)),
        Filled::Repeated => true,
        Filled::Crowded | Filled::Apart => fill_sorted(file, words)?,
    };
    if is_repeated {
        // Only the format can tell whether it forbids that, and where the fault is.
        file.check(warnings, words)?;
        fill_sorted(file, words)?;
    }
    Ok(Order::Sorted)
}

/// A seed that depends on all names.
#[inline(never)]
fn seed_of<'a, F: FileFormat<'a>>(file: &F, count: usize) -> Result<u64> {
    let (mut seed, mut cursor) = (0, Cursor::START);
    for _ in 0..count {
        seed = hash_of(seed, next_name(file, &mut cursor)?.name);
    }
    Ok(seed)
}

/// Reads the first of the candidates that has the name into `tensor`, a blank record.
fn read<'a, F: FileFormat<'a>>(
    file: &F,
    candidates: Candidates<'_>,
    name: &[u8],
    tensor: &mut TensorRecord<'a>,
) -> Result<()> {
    let mut slots = match candidates {
        Candidates::Only => {
            let is_it = file.next_tensor(&mut { Cursor::START }, tensor)? && tensor.name().means(name);
            return if is_it { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) };
        }
        Candidates::One(position, index) => {
            file.tensor_at(position, index, tensor)?;
            // The name, which is elsewhere, has been compared there.
            return if tensor.name().means(name) { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) };
        }
        Candidates::Slots(slots) => slots,
    };
    // Nearly always it is the first: so that the name is compared once, it is read as a part of the tensor. No tensor is
    // read twice: this costs no more than looking at all of them.
    while let Some((position, index)) = slots.next() {
        file.tensor_at(position, index, tensor)?;
        if tensor.name().means(name) {
            return Ok(());
        }
        *tensor = TensorRecord::blank();
    }
    Err(Error::new(ErrorKind::NotFound))
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
        let Named { name, name_at, tensor_at } = next_name(file, &mut cursor)?;
        if name_at != tensor_at {
            return Ok(Filled::Apart);
        }
        let Place { slot: mut at, tag } = Place::of(hash_of(seed, name), slots);
        let (mut left, mut met) = (MAX_STEPS, 0_u32);
        while let Some(slot) = slots.get(at).copied().filter(|slot| *slot != 0) {
            if slot.wrapping_shr(bits) == tag {
                let other = positions.get(self::number(slot, bits)).copied().unwrap_or(0);
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
fn next_name<'a, F: FileFormat<'a>>(file: &F, cursor: &mut Cursor) -> Result<Named<'a>> {
    file.next_name(cursor)?.ok_or(Error::new(ErrorKind::Malformed))
}

/// The number in a slot that is not empty, counted from 0.
fn number(slot: u32, bits: u32) -> usize {
    let number = slot & !u32::MAX.wrapping_shl(bits);
    to_usize(number.into()).unwrap_or(0).wrapping_sub(1)
}

/// The slots that a name may be in, as far as they are not empty.
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

    /// Those from the first on that has the same part of the hash; nothing where none has.
    #[inline]
    fn some(mut self) -> Option<Candidates<'m>> {
        self.seek()?;
        Some(Candidates::Slots(self))
    }

    /// Moves on to a slot that has the same part of the hash, and returns what is in it.
    #[inline]
    fn seek(&mut self) -> Option<u32> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let slot = *self.slots.get(self.slot)?;
            if slot == 0 {
                return None;
            }
            if slot.wrapping_shr(self.bits) == self.tag {
                self.left = self.left.wrapping_add(1);
                return Some(slot);
            }
            self.skip();
        }
    }

    #[inline]
    fn skip(&mut self) {
        self.slot = self.slot.wrapping_add(1);
        if self.slot == self.slots.len() {
            self.slot = 0;
        }
    }

    /// The position of the next tensor that has the same part of the hash, and its index.
    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        let number = number(self.seek()?, self.bits);
        self.left = self.left.saturating_sub(1);
        self.skip();
        Some((*self.positions.get(number)?, u32::try_from(number).unwrap_or(u32::MAX)))
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
fn find_sorted<'m, 'a, F: FileFormat<'a>>(file: &F, words: &'m [u32], name: &[u8]) -> Option<Candidates<'m>> {
    let (positions, others) = words.split_at_checked(third(words))?;
    let (names, order) = others.split_at_checked(positions.len())?;
    let at = |list: &[u32], index: u32| to_usize(index.into()).and_then(|index| list.get(index)).copied();
    let name_of = |index: u32| file.name_at(at(names, index).unwrap_or(0));
    let before = order.partition_point(|&index| name_of(index).compare(name).is_lt());
    let index = *order.get(before)?;
    if name_of(index).compare(name).is_ne() {
        return None;
    }
    Some(Candidates::One(at(positions, index)?, index))
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const LAST_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// A hash of what a name means: of its bytes of UTF-8.
fn hash_of(seed: u64, name: Text<'_>) -> u64 {
    if name.is_escaped() { escaped_hash(seed, name) } else { hash(seed, name.raw()) }
}

/// The hash of bytes, eight at a time.
#[inline]
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let (mut hash, mut rest) = (Hash(seed, FACTOR), bytes);
    while let Some((word, after)) = rest.split_first_chunk() {
        hash.add(u64::from_le_bytes(*word));
        rest = after;
    }
    let last = match bytes.last_chunk() {
        // Those that have not been added, in the low bytes: the last word without the others.
        Some(word) => {
            let others = u32::try_from(rest.len()).map_or(0, |left| 64_u32.wrapping_sub(left.wrapping_shl(3)));
            u64::from_le_bytes(*word).checked_shr(others).unwrap_or(0)
        }
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    hash.add(last);
    hash.finish(to_u64(bytes.len()))
}

/// The hash of a name that has escapes, character by character.
#[inline(never)]
fn escaped_hash(seed: u64, name: Text<'_>) -> u64 {
    let (mut hash, mut word, mut length) = (Hash(seed, FACTOR), 0, 0_u64);
    for character in name.chars() {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            word |= u64::from(byte) << (length & 7).wrapping_shl(3);
            length = length.wrapping_add(1);
            if length & 7 == 0 {
                hash.add(word);
                word = 0;
            }
        }
    }
    hash.add(word);
    hash.finish(length)
}

/// Two hashes, of every other word each: a processor works on both at a time. The first one begins with a seed.
struct Hash(u64, u64);

impl Hash {
    #[inline]
    const fn add(&mut self, word: u64) {
        *self = Self(self.1, mixed(self.0, word));
    }

    #[inline]
    const fn finish(&self, length: u64) -> u64 {
        let hash = (mixed(self.0, self.1) ^ length).wrapping_mul(LAST_FACTOR);
        hash ^ hash.wrapping_shr(32)
    }
}

#[inline]
const fn mixed(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(FACTOR).rotate_left(32)
}

#[cfg(test)]
mod tests;
