//! Records: maps with known keys, in any order. The order in which real programs write the keys is fast.
//!
//! Hosts first compare a key with the expected next key, eight bytes at once; nearly every key of a real file matches.
//! Chips have no flash for a second method.
#![forbid(unsafe_code)]

use super::{Left, NULL, Reader, TEXT, major};
use crate::bytes::keywords::{Found, Keywords};
#[cfg(not(small))]
use crate::bytes::num::to_usize;
use crate::bytes::utf8::is_utf8;
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// The known keys of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// The keys, each with the number of the [`Part`] of its value, which [`Reader::field`] also returns. Required keys
    /// come first. An optional key whose value is null counts as absent.
    pub(crate) keys: Keywords,
    /// A bit for each required key.
    pub(crate) required: u32,
    #[cfg(not(small))]
    pub(crate) expected: &'static [Expected],
}

/// Declares the [`Fields`] of a record.
macro_rules! fields {
    ({ $($key:literal: $item:ident),* $(,)? } optional { $($other:literal: $its:ident),* $(,)? }) => {
        $crate::codec::cbor::Fields {
            keys: keywords!($($key: Part::$item.code(),)* $($other: Part::$its.code()),*),
            required: $crate::codec::cbor::first_bits(&[$(Part::$item),*]),
            #[cfg(not(small))]
            expected: &$crate::codec::cbor::Expected::of(&[
                $(($key, Part::$item),)* $(($other, Part::$its)),*
            ], $crate::codec::cbor::first_bits(&[$(Part::$item),*])),
        }
    };
}
pub(crate) use fields;

/// Returns a mask with one bit set per part.
pub(crate) const fn first_bits(items: &[Part]) -> u32 {
    let mut bits = 0_u32;
    let mut rest = items;
    while let [_, after @ ..] = rest {
        bits = bits << 1 | 1;
        rest = after;
    }
    bits
}

/// A map being read as a record of known keys.
pub(crate) struct Record {
    fields: &'static Fields,
    left: Left,
    /// A bit for each field that has been read.
    seen: u32,
    at: u32,
    /// The known keys after the last one, in the order in which real programs write them.
    #[cfg(not(small))]
    next: &'static [Expected],
}

#[cfg(not(small))]
impl Record {
    /// Expects the keys that follow the key `found` in the list.
    #[cold]
    fn expect_after(&mut self, found: Found) {
        if found != Found::NOTHING {
            let after = to_usize(found.place().into()).and_then(|place| self.fields.expected.get(place..)?.get(1..));
            self.next = after.unwrap_or_default();
        }
    }
}

/// A known key as encoded: its first eight bytes as a word, a mask of the bytes it has, and the remaining bytes.
#[cfg(not(small))]
#[derive(Debug)]
pub(crate) struct Expected {
    word: u64,
    mask: u64,
    rest: &'static [u8],
    length: u32,
    item: Part,
    /// The bit of the field in [`Record::seen`].
    bit: u32,
    is_optional: bool,
}

#[cfg(not(small))]
impl Expected {
    const NONE: Self = Self { word: 0, mask: 0, rest: &[], length: 0, item: Part::Key, bit: 0, is_optional: false };

    /// Returns the keys as encoded.
    #[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // constants only
    pub(crate) const fn of<const N: usize>(keys: &[(&'static str, Part); N], required: u32) -> [Self; N] {
        let mut all = [const { Self::NONE }; N];
        let mut place = 0;
        while place < N {
            let (key, item) = &keys[place];
            let (key, mut rest) = (key.as_bytes(), key.as_bytes());
            assert!(key.len() < 24); // a head of one byte
            let (mut word, mut mask) = (TEXT as u64 | key.len() as u64, 0xff_u64);
            let mut at = 1;
            while at < 8 {
                if let [byte, after @ ..] = rest {
                    word |= (*byte as u64) << (8 * at);
                    mask |= 0xff << (8 * at);
                    rest = after;
                }
                at += 1;
            }
            let bit = 1 << place;
            let length = key.len() as u32 + 1;
            all[place] = Self { word, mask, rest, length, item: *item, bit, is_optional: required & bit == 0 };
            place += 1;
        }
        all
    }
}

impl Reader<'_> {
    /// Begins a record: a map with the known keys `fields`.
    pub(crate) fn record(&mut self, fields: &'static Fields) -> Record {
        let at = self.position;
        Record {
            fields,
            left: self.map(),
            seen: 0,
            at,
            #[cfg(not(small))]
            next: fields.expected,
        }
    }

    /// Returns the next known field of `record`, with the reader at its value; `None` at the end.
    ///
    /// Unknown keys are skipped together with their values. A duplicate known key is an error, and so is a missing
    /// required key at the end.
    #[inline]
    pub(crate) fn field(&mut self, record: &mut Record) -> Option<Part> {
        #[cfg(not(small))]
        if let Some(item) = self.expected_field(record) {
            return Some(item);
        }
        self.any_field(record)
    }

    /// Reads the next key if it is the key that real programs write here.
    #[cfg(not(small))]
    #[inline]
    fn expected_field(&mut self, record: &mut Record) -> Option<Part> {
        let left = record.left.less_a_pair().filter(|_| self.fault.is_none())?;
        let (expected, next) = record.next.split_first()?;
        let (word, after) = self.rest().split_first_chunk()?;
        if (u64::from_le_bytes(*word) ^ expected.word) & expected.mask != 0
            || !expected.rest.is_empty() && !after.starts_with(expected.rest)
        {
            return None;
        }
        if record.seen & expected.bit != 0 || expected.is_optional {
            return None; // a duplicate, or a value that may be null
        }
        record.next = next;
        record.left = left;
        record.seen |= expected.bit;
        self.item = expected.item;
        self.position = self.position.wrapping_add(expected.length); // within the bytes, which have been compared
        Some(expected.item)
    }

    /// Reads any key.
    #[cfg_attr(not(small), inline(never))]
    fn any_field(&mut self, record: &mut Record) -> Option<Part> {
        let fields = record.fields;
        while self.more_pairs(&mut record.left) {
            let at = self.position;
            self.item = Part::Key;
            let mut known = Found::NOTHING;
            if major(self.peek()) == TEXT {
                let key = self.text_bytes();
                known = fields.keys.find(key);
                #[cfg(not(small))]
                record.expect_after(known);
                if known == Found::NOTHING && !is_utf8(key) {
                    self.fail(ErrorKind::InvalidUtf8, at);
                }
            } else {
                self.skip();
            }
            let Some(item) = Part::from_code(known.number()) else {
                self.item = Part::Value;
                self.skip();
                continue;
            };
            let bit = 1_u32.wrapping_shl(known.place());
            self.item = item;
            if record.seen & bit != 0 {
                self.fail(ErrorKind::RepeatedKey, at);
                return None;
            }
            record.seen |= bit;
            // For an optional field, null means absent.
            if fields.required & bit != 0 || self.peek() != NULL {
                return Some(item);
            }
            self.position = self.position.saturating_add(1);
        }
        let mut missing = fields.required & !record.seen;
        if missing == 0 {
            return None;
        }
        for (_, number) in fields.keys {
            if let (Some(item), true) = (Part::from_code(number), missing & 1 != 0) {
                self.fail_in(item, ErrorKind::MissingKey, record.at); // the first error is kept
            }
            missing >>= 1;
        }
        None
    }
}
