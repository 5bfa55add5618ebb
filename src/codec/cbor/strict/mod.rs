//! CBOR in its deterministic encoding (RFC 8949 section 4.2.1), from borrowed bytes: shortest heads, definite lengths,
//! and the keys of a map in the order of their encoded bytes, so that keys are distinct. No tags.
//!
//! minicbor does not report the width of a head. Records are read key by key; other values are skipped without
//! recursion. All bytes that are read or skipped are checked against these rules. Positions count from the start of the
//! bytes read.
#![forbid(unsafe_code)]

mod float;

use core::cmp::Ordering;

use self::float::float_fits_in_less;
use crate::bytes::keywords::Keywords;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::utf8::{Utf8, is_utf8};
#[cfg(not(small))]
use crate::codec::cbor::skip::skip_unchecked;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, NO_ENTRY};

/// The maximum depth of a value: the outermost value is at depth 0, its contents are at depth 1.
const MAX_DEPTH: usize = 32;

/// The first error and its position.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: ErrorKind,
    item: Part,
    at: u32,
    entry_distance: u32,
}

/// The known keys of a record, in the order of their encoded bytes: shorter keys first. Each key has the number of the
/// [`Part`] of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) keys: Keywords,
    #[cfg(not(small))]
    pub(crate) words: &'static [Word],
    /// The required parts, as bits.
    pub(crate) required: u64,
}

/// Declares the [`Fields`] of a record.
macro_rules! fields {
    ({ $($key:literal: $item:ident),* $(,)? } required $($needed:ident)*) => {
        $crate::codec::cbor::strict::Fields {
            keys: keywords!($($key: Part::$item.code()),*),
            #[cfg(not(small))]
            words: &[$($crate::codec::cbor::strict::Word::of($key, Part::$item)),*],
            required: $($crate::codec::cbor::strict::bit(Part::$needed) |)* 0,
        }
    };
}
pub(crate) use fields;

/// A known key as encoded, for hosts. Its first eight bytes, or all if there are fewer, are compared at once, which is
/// twice as fast on 64-bit hosts. Keys of more than seven letters differ in their first seven letters.
#[cfg(not(small))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    first: u64,
    mask: u64,
    key: &'static [u8],
    item: Part,
}

#[cfg(not(small))]
impl Word {
    #[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // constants only
    pub(crate) const fn of(key: &'static str, item: Part) -> Self {
        let key = key.as_bytes();
        assert!(key.len() < 24);
        let (mut first, mut mask) = (TEXT as u64 | key.len() as u64, 0xff);
        let mut at = 0;
        while at < key.len() && at < 7 {
            first |= (key[at] as u64) << (8 * (at + 1));
            mask |= 0xff << (8 * (at + 1));
            at += 1;
        }
        Self { first, mask, key, item }
    }
}

/// Returns the bit of a part in a set of parts.
pub(crate) const fn bit(item: Part) -> u64 {
    #[allow(clippy::as_conversions)] // widens
    1_u64.wrapping_shl(item.code() as u32) // below 64: only such parts are used this way
}

/// A map being read as a record of known keys.
#[derive(Default)]
pub(crate) struct Record {
    /// The keys that may still follow.
    #[cfg(small)]
    keys: Keywords,
    #[cfg(not(small))]
    keys: &'static [Word],
    /// The number of pairs left.
    left: u32,
    /// The parts that must still follow, as bits.
    required: u64,
    at: u32,
    /// The position of the last key ([`NO_KEY`] before the first), and whether the last key was a known key or there
    /// was none.
    last: u32,
    is_last_known: bool,
}

/// Reads values one after the other. If a call returns `None`, the reader holds the error.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    /// The part of the file being read, for errors in it, and the start of the entry of its tensor ([`NO_ENTRY`] if
    /// there is no entry).
    pub(crate) item: Part,
    pub(crate) entry: u32,
    /// The number of the last head. (On chips, returning a pair would go through memory.)
    number: u64,
    fault: Option<Fault>,
}

/// The major types, in the bits of the first byte of a head.
const UNSIGNED: u8 = 0x00;
const NEGATIVE: u8 = 0x20;
const BYTES: u8 = 0x40;
const TEXT: u8 = 0x60;
const ARRAY: u8 = 0x80;
const MAP: u8 = 0xa0;
const TAG: u8 = 0xc0;
const SIMPLE: u8 = 0xe0;

/// The heads of simple values and of floating-point numbers.
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const HALF: u8 = 0xf9;
const SINGLE: u8 = 0xfa;
const DOUBLE: u8 = 0xfb;
/// The bits of the only NaN that is allowed.
const NAN: u64 = 0x7e00;

const fn major(head: u8) -> u8 {
    head & 0xe0
}

/// A container that is being skipped.
struct Level {
    /// The number of items left; keys and values of a map count separately.
    left: u32,
    /// In a map, the positions of the current item and of the last key; otherwise [`NO_KEY`].
    item: u32,
    last: u32,
}

/// A position that stands for no key.
const NO_KEY: u32 = u32::MAX;

impl<'a> Reader<'a> {
    /// Creates a reader at `position`. There are fewer than 4 GiB of bytes.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn new(bytes: &'a [u8], position: u32) -> Self {
        let rest = to_usize(position.into()).and_then(|position| bytes.get(position..)).unwrap_or_default();
        Self { bytes, rest, item: Part::Manifest, entry: NO_ENTRY, number: 0, fault: None }
    }

    /// Returns the position of the next byte.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn position(&self) -> u32 {
        u32::try_from(self.bytes.len().saturating_sub(self.rest.len())).unwrap_or(u32::MAX)
    }

    /// Moves to `position`.
    #[inline]
    pub(crate) fn go_to(&mut self, position: u32) {
        self.rest = to_usize(position.into()).and_then(|position| self.bytes.get(position..)).unwrap_or_default();
    }

    /// Returns the bytes that have not been read.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the error of a call that returned `None`, in a file whose CBOR begins at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn error(&self, format: Format, start: u64) -> Error {
        let Some(fault) = self.fault else { return Error::at(ErrorKind::Malformed, format, Part::Manifest, start) };
        Error::at(fault.kind, format, fault.item, start.saturating_add(fault.at.into()))
            .after_entry(fault.entry_distance)
    }

    /// Stops with an error at `at`.
    pub(crate) fn stop_at<T>(&mut self, kind: ErrorKind, at: u32) -> Option<T> {
        self.set_fault(self.item, kind, at);
        None
    }

    /// Stops with an error in `item`, which is at `at`.
    pub(crate) fn stop_in<T>(&mut self, item: Part, kind: ErrorKind, at: u32) -> Option<T> {
        self.set_fault(item, kind, at);
        None
    }

    /// Stops with an error at the start of `rest`.
    fn stop<T>(&mut self, kind: ErrorKind, rest: &'a [u8]) -> Option<T> {
        self.set_fault_of(kind, rest);
        None
    }

    #[cold]
    #[inline(never)] // a single copy for all types
    fn set_fault(&mut self, item: Part, kind: ErrorKind, at: u32) {
        self.item = item;
        let entry_distance = if self.entry == NO_ENTRY { NO_ENTRY } else { at.saturating_sub(self.entry) };
        self.fault = Some(Fault { kind, item, at, entry_distance });
    }

    #[cold]
    #[inline(never)]
    fn set_fault_of(&mut self, kind: ErrorKind, rest: &'a [u8]) {
        self.rest = rest;
        self.set_fault(self.item, kind, self.position());
    }

    /// Reads a head: returns its first byte, and stores the number that follows.
    #[cfg_attr(small, inline(never))]
    fn head(&mut self) -> Option<u8> {
        match self.rest {
            [head, rest @ ..] if head & 0x1f < 24 => {
                (self.rest, self.number) = (rest, u64::from(head & 0x1f));
                Some(*head)
            }
            // The lengths of most names have this form.
            #[cfg(not(small))]
            [head @ 0..=0xf7, number @ 24..=0xff, rest @ ..] if head & 0x1f == 24 => {
                (self.rest, self.number) = (rest, u64::from(*number));
                Some(*head)
            }
            rest => self.wide_head(rest),
        }
    }

    /// Reads a head of more than one byte, or a malformed head.
    #[inline(never)]
    fn wide_head(&mut self, start: &'a [u8]) -> Option<u8> {
        let [head, rest @ ..] = start else { return self.stop(ErrorKind::Truncated, start) };
        let info = head & 0x1f;
        if info > 27 {
            let may_be_open = info == 31 && matches!(major(*head), BYTES..=MAP);
            let kind = if may_be_open { ErrorKind::IndefiniteLength } else { ErrorKind::Malformed };
            return self.stop(kind, start);
        }
        let width = 1_u32.wrapping_shl(u32::from(info).wrapping_sub(24));
        let Some((number, rest)) = to_usize(width.into()).and_then(|width| rest.split_at_checked(width)) else {
            return self.stop(ErrorKind::Truncated, start);
        };
        let number = number.iter().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
        let fits_in_less = match *head {
            HALF..=DOUBLE => float_fits_in_less(*head, number),
            SIMPLE.. => return self.stop(ErrorKind::Malformed, start),
            // The number fits in the first byte itself, or in half the bytes.
            _ => match width {
                1 => number < 24,
                2 => number < 1 << 8,
                4 => number < 1 << 16,
                _ => number < 1 << 32,
            },
        };
        if fits_in_less {
            return self.stop(ErrorKind::NotShortest, start);
        }
        (self.rest, self.number) = (rest, number);
        Some(*head)
    }

    /// Reads the head of a value with the major type `expected`, and stores its number.
    #[cfg_attr(small, inline(never))]
    fn head_of(&mut self, expected: u8) -> Option<()> {
        let start = self.rest;
        let head = self.head()?;
        if major(head) != expected {
            return self.wrong_type(head, start);
        }
        Some(())
    }

    /// Stops at a value of an unexpected type. A tag has an error kind of its own.
    fn wrong_type(&mut self, head: u8, start: &'a [u8]) -> Option<()> {
        self.stop(if major(head) == TAG { ErrorKind::Tagged } else { ErrorKind::UnexpectedType }, start)
    }

    /// Reads an integer from 0 to 2^64 - 1.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        // Most offsets and lengths have these forms. Chips need the flash more.
        #[cfg(not(small))]
        match self.rest {
            [0x19, a @ 1..=0xff, b, rest @ ..] => {
                self.rest = rest;
                return Some(u16::from_be_bytes([*a, *b]).into());
            }
            [0x1a, a, b, c, d, rest @ ..] if *a | *b != 0 => {
                self.rest = rest;
                return Some(u32::from_be_bytes([*a, *b, *c, *d]).into());
            }
            _ => {}
        }
        self.head_of(UNSIGNED)?;
        Some(self.number)
    }

    /// Reads a text string.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn text(&mut self) -> Option<Utf8<'a>> {
        let start = self.rest;
        let text = self.text_bytes()?;
        Utf8::checked(text).or_else(|| self.stop(ErrorKind::InvalidUtf8, start))
    }

    /// Reads a text string that may not be UTF-8, for callers that compare it with valid strings.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn text_bytes(&mut self) -> Option<&'a [u8]> {
        let start = self.rest;
        self.head_of(TEXT)?;
        self.take(start)
    }

    /// Reads the contents of a string; the last head states their length. The string begins at `start`.
    #[cfg_attr(small, inline(never))]
    fn take(&mut self, start: &'a [u8]) -> Option<&'a [u8]> {
        let split = to_usize(self.number).and_then(|length| self.rest.split_at_checked(length));
        let Some((bytes, rest)) = split else { return self.stop(ErrorKind::Truncated, start) };
        self.rest = rest;
        Some(bytes)
    }

    /// Reads the head of an array, and returns its number of items.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn array(&mut self) -> Option<u32> {
        let start = self.rest;
        self.head_of(ARRAY)?;
        self.count(1, start)
    }

    /// Reads the head of a map, and returns its number of pairs.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn map(&mut self) -> Option<u32> {
        let start = self.rest;
        self.head_of(MAP)?;
        self.count(2, start)
    }

    /// Checks the count in the last head against the bytes left: each counted item takes at least `least` bytes.
    #[cfg_attr(small, inline(never))]
    fn count(&mut self, least: u64, start: &'a [u8]) -> Option<u32> {
        match u32::try_from(self.number) {
            Ok(short) if self.number.wrapping_mul(least) <= to_u64(self.rest.len()) => Some(short),
            _ => self.stop(ErrorKind::CountTooLarge, start),
        }
    }

    /// Begins `record`: a map with the known keys `fields`. (Filled in place, which avoids a copy on chips.)
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn record(&mut self, record: &mut Record, fields: &'static Fields) -> Option<()> {
        let at = self.position();
        let left = self.map()?;
        #[cfg(small)]
        let keys = fields.keys;
        #[cfg(not(small))]
        let keys = fields.words;
        *record = Record { keys, left, required: fields.required, at, last: NO_KEY, is_last_known: true };
        Some(())
    }

    /// Returns the next known field of `record`, a map at depth `depth`, with the reader at its value; [`Part::File`]
    /// at the end. Unknown keys are skipped together with their values.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn field(&mut self, record: &mut Record, depth: usize) -> Option<Part> {
        while let Some(left) = record.left.checked_sub(1) {
            record.left = left;
            self.item = Part::Key;
            let at = self.position();
            let known = self.known_key(&mut record.keys);
            if known.is_none() {
                self.skip_value(depth.saturating_add(1))?;
            }
            // Two known keys are in order, since each is searched for after the previous one.
            if known.is_none() || !record.is_last_known {
                self.hold_order(record.last, at)?;
            }
            (record.last, record.is_last_known) = (at, known.is_some());
            if let Some(item) = known {
                record.required &= !bit(item);
                self.item = item;
                return Some(item);
            }
            self.item = Part::Value;
            self.skip_value(depth.saturating_add(1))?;
        }
        if record.required == 0 { Some(Part::File) } else { self.stop_missing(record) }
    }

    /// Reads a key if it is in the list, and removes it and the keys before it from the list.
    #[cfg(not(small))]
    #[inline]
    fn known_key(&mut self, keys: &mut &'static [Word]) -> Option<Part> {
        // The mask ignores the bytes after the key, of which there is at least one; at the end there may be fewer than
        // eight bytes.
        let first = match self.rest.first_chunk() {
            Some(first) => u64::from_le_bytes(*first),
            None => self.rest.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte)),
        };
        let place = keys.iter().position(|word| first & word.mask == word.first)?;
        let (word, left) = keys.get(place..)?.split_first()?;
        let (key, rest) = self.rest.split_at_checked(word.key.len().saturating_add(1))?;
        // The part of the key after the first eight bytes.
        if key.len() > 8 && key.get(8..) != word.key.get(7..) {
            return None;
        }
        (*keys, self.rest) = (left, rest);
        Some(word.item)
    }

    /// Reads a key if it is in the list, and removes it and the keys before it from the list.
    #[cfg(small)]
    #[inline]
    fn known_key(&mut self, keys: &mut Keywords) -> Option<Part> {
        let [head, rest @ ..] = self.rest else { return None };
        let length = usize::from(head.wrapping_sub(TEXT)); // below 24 for a known key
        let (key, rest) = rest.split_at_checked(length)?;
        let number = keys.take_until(key)?;
        self.rest = rest;
        Part::from_code(number)
    }

    /// Stops with the first required part that is missing in a record.
    #[cold]
    #[inline(never)]
    fn stop_missing<T>(&mut self, record: &Record) -> Option<T> {
        let missing = u8::try_from(record.required.trailing_zeros()).ok().and_then(Part::from_code);
        self.stop_in(missing.unwrap_or(Part::Key), ErrorKind::MissingKey, record.at)
    }

    /// Reads a key of a map whose keys are all nonempty text strings. The key must come after `last`, and replaces it;
    /// `last` is empty before the first key. The key may not be UTF-8.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn key_bytes(&mut self, last: &mut &'a [u8]) -> Option<&'a [u8]> {
        let start = self.rest;
        let key = self.text_bytes()?;
        let order = if last.is_empty() { Ordering::Less } else { key_order(last, key) };
        let kind = match order {
            Ordering::Less => {
                *last = key;
                return Some(key);
            }
            Ordering::Equal if self.item == Part::Name => ErrorKind::RepeatedName,
            Ordering::Equal => ErrorKind::RepeatedKey,
            Ordering::Greater => ErrorKind::KeyOrder,
        };
        self.stop(kind, start)
    }

    /// Stops unless the key at `at`, which has just been read, comes after the key at `last`, if there is one. Compares
    /// the keys as encoded.
    #[inline(never)]
    fn hold_order(&mut self, last: u32, at: u32) -> Option<()> {
        let from = |at: u32| to_usize(at.into()).and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        let start = from(at);
        let key = until(start, self.rest);
        // No encoded item is a prefix of another: if the last key is longer, it differs before the end of this key.
        let last = from(last).get(..key.len()).unwrap_or_default();
        match last.cmp(key) {
            Ordering::Less => Some(()),
            Ordering::Equal => self.stop(ErrorKind::RepeatedKey, start),
            Ordering::Greater => self.stop(ErrorKind::KeyOrder, start),
        }
    }

    /// Replaces the error with the first encoding error in all of the bytes, if there is one: bytes with an invalid
    /// encoding have no meaning.
    #[cold]
    #[inline(never)]
    pub(crate) fn prefer_fault_of_encoding(&mut self) {
        let mut all = Self::new(self.bytes, 0);
        if all.skip_value(0).is_some() && !all.rest.is_empty() {
            all.stop::<()>(ErrorKind::TrailingBytes, all.rest);
        }
        // A repeated name is also a repeated key.
        let is_same = |other: &Fault| {
            let is_kind = |kind| kind == other.kind || kind == ErrorKind::RepeatedName;
            self.fault.is_some_and(|own| own.at == other.at && is_kind(own.kind))
        };
        if let Some(fault) = all.fault.filter(|fault| !is_same(fault)) {
            self.fault = Some(fault);
        }
    }

    /// Moves past a value that has been read before.
    #[cfg(small)] // saves flash
    pub(crate) fn pass_over_value(&mut self) -> Option<()> {
        self.skip_value(0)
    }

    /// Moves past a value that has been read before.
    #[cfg(not(small))]
    pub(crate) fn pass_over_value(&mut self) -> Option<()> {
        let start = self.rest;
        match skip_unchecked(start) {
            Some(rest) => self.rest = rest,
            None => return self.stop(ErrorKind::Malformed, start),
        }
        Some(())
    }

    /// Skips a value at depth `depth`.
    #[inline(never)] // keeps the levels off the stack of callers
    pub(crate) fn skip_value(&mut self, depth: usize) -> Option<()> {
        let mut levels = heapless::Vec::<Level, { MAX_DEPTH + 1 }>::new();
        loop {
            let start = self.rest;
            if depth.saturating_add(levels.len()) > MAX_DEPTH {
                return self.stop(ErrorKind::TooDeep, start);
            }
            let head = self.head()?;
            let mut inside = None;
            match major(head) {
                UNSIGNED | NEGATIVE => {}
                BYTES | TEXT => {
                    let string = self.take(start)?;
                    if major(head) == TEXT && !is_utf8(string) {
                        return self.stop(ErrorKind::InvalidUtf8, start);
                    }
                }
                ARRAY => inside = Some(Level { left: self.count(1, start)?, item: NO_KEY, last: NO_KEY }),
                MAP => {
                    let left = self.count(2, start)?.saturating_mul(2);
                    inside = Some(Level { left, item: self.position(), last: NO_KEY });
                }
                SIMPLE if matches!(head, FALSE | TRUE | NULL | HALF | SINGLE | DOUBLE) => {}
                _ => return self.wrong_type(head, start),
            }
            let mut is_complete = inside.is_none();
            if inside.is_some_and(|level| levels.push(level).is_err()) {
                return self.stop(ErrorKind::TooDeep, start);
            }
            // Leave the containers that are complete: each was an item of the container around it.
            loop {
                let Some(level) = levels.last_mut() else { return Some(()) };
                if is_complete {
                    level.left = level.left.saturating_sub(1);
                    if level.item != NO_KEY {
                        let at = level.item;
                        level.item = self.position();
                        if level.left & 1 != 0 {
                            let last = core::mem::replace(&mut level.last, at);
                            self.hold_order(last, at)?;
                        }
                    }
                }
                if level.left > 0 {
                    break;
                }
                levels.pop();
                is_complete = true;
            }
        }
    }
}

/// Returns the order of two text strings as keys: as encoded, with the length first.
#[cfg_attr(small, inline(never))]
pub(crate) fn key_order(key: &[u8], other: &[u8]) -> Ordering {
    key.len().cmp(&other.len()).then_with(|| key.cmp(other))
}

/// Returns the bytes from the start of `start` to the start of `end`, which is later in the same slice.
#[inline]
fn until<'a>(start: &'a [u8], end: &[u8]) -> &'a [u8] {
    start.get(..start.len().saturating_sub(end.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
