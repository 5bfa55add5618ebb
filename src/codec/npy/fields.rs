//! The names of the fields of records: in each record they must differ, as NumPy requires.
//!
//! Chips use `any_fields.rs` instead.
//!
//! The names and titles of a record form one set, including the title and the name of the same field. Nested records
//! have sets of their own. A name may be empty: NumPy treats such fields as padding if their type is void or a
//! subarray, and then allows any number of them. Names are compared with their escapes decoded.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::{Fault, Reader};
use crate::bytes::num::{to_u64, to_usize};
use crate::duplicates::{self, Compared, Distinct, Hashed, Memory};
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::error::{ErrorKind, Result};

/// The field names of a type, and whether they were compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names {
    /// The position of the type, relative to the start of the array.
    at: u64,
    is_utf8: bool,
    /// True if a record has too many names to compare without memory.
    are_unchecked: bool,
}

impl Names {
    pub(crate) const ARE_COMPARED: bool = true;

    /// Returns the names in the type that is read next.
    pub(super) fn before(reader: &Reader<'_>) -> Self {
        let at = reader.text.len().saturating_sub(reader.rest.trim_ascii_start().len());
        Self { at: to_u64(at), ..Self::default() }
    }

    /// Compares the names when the array is opened. The header begins after `before` bytes.
    pub(super) fn compared(mut self, descr: &[u8], before: u64, is_utf8: bool) -> core::result::Result<Self, Fault> {
        (self.at, self.is_utf8) = (self.at.saturating_add(before), is_utf8);
        // Few types are records.
        if descr.starts_with(b"[") {
            self.are_unchecked = !self.compare(descr, &mut Hashed).unwrap_or(Ok(false))?;
        }
        Ok(self)
    }

    /// Compares the names in `memory`. Returns whether the memory was sufficient.
    pub(crate) fn compare(
        &self,
        descr: &[u8],
        memory: &mut (impl Memory + ?Sized),
    ) -> Result<core::result::Result<bool, Fault>> {
        Ok(match (Descr { text: descr, is_utf8: self.is_utf8 }).compare(memory)? {
            Compared::Distinct => Ok(true),
            Compared::TooMany => Ok(false),
            Compared::Clash(at) => Err((ErrorKind::RepeatedName, Part::Name, self.at.saturating_add(at.into()))),
        })
    }

    /// Returns the number of words needed to compare the names that are still unchecked.
    pub(crate) fn length(&self, descr: &[u8]) -> u32 {
        if self.are_unchecked { (Descr { text: descr, is_utf8: self.is_utf8 }).longest() } else { 0 }
    }

    pub(super) fn warnings(&self) -> u32 {
        if self.are_unchecked { Warning::NamesUnchecked.bit() } else { 0 }
    }
}

/// The spelling of a type, which has been read before.
#[derive(Clone, Copy)]
struct Descr<'a> {
    text: &'a [u8],
    is_utf8: bool,
}

/// The names of a record, including titles.
struct InRecord<'a>(Descr<'a>);

/// A position between two names.
#[derive(Clone, Copy)]
struct Place {
    at: u32,
    /// True if the title of a field precedes the position, and the name of the field follows.
    is_titled: bool,
}

/// A name as spelled, up to the quote `quote`. Comparisons read no more of the name than needed: a name as long as the
/// header may be compared with every other name.
#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a [u8],
    quote: u8,
    is_utf8: bool,
}

impl<'a> Descr<'a> {
    fn at(&self, position: u32) -> Reader<'a> {
        let rest = to_usize(position.into()).and_then(|at| self.text.get(at..));
        Reader { rest: rest.unwrap_or_default(), ..Reader::new(self.text, true) }
    }

    /// Returns the position of a reader. A header has at most 1 GiB.
    fn position(&self, reader: &Reader<'_>) -> u32 {
        u32::try_from(self.text.len().saturating_sub(reader.rest.len())).unwrap_or(u32::MAX)
    }

    /// Compares the names of each record in `memory`. Returns the position of a repeated name or title.
    fn compare(self, memory: &mut (impl Memory + ?Sized)) -> Result<Compared> {
        let (mut at, mut all) = (0, Compared::Distinct);
        while let Some((start, count)) = self.next_record(&mut at) {
            if count < 2 {
                continue;
            }
            match memory.compare(&mut InRecord(self), start, count)? {
                Compared::Distinct => {}
                Compared::TooMany => all = Compared::TooMany,
                clash @ Compared::Clash(_) => return Ok(clash),
            }
        }
        Ok(all)
    }

    /// Returns the number of names in the largest record.
    fn longest(self) -> u32 {
        let (mut at, mut most) = (0, 0);
        while let Some((_, count)) = self.next_record(&mut at) {
            most = most.max(count);
        }
        most
    }

    /// Returns the start of the next record at or after `at`, and the number of its names.
    fn next_record(self, at: &mut u32) -> Option<(Place, u32)> {
        let mut reader = self.at(*at);
        loop {
            match reader.rest.split_first()? {
                (b'\'' | b'"', _) => drop(reader.quoted()?),
                (b'[', rest) => {
                    reader.rest = rest;
                    *at = self.position(&reader);
                    let start = Place { at: *at, is_titled: false };
                    let (mut names, mut place, mut count) = (InRecord(self), start, 0_u32);
                    while names.next(&mut place).is_some() {
                        count = count.saturating_add(1);
                    }
                    return Some((start, count));
                }
                (_, rest) => reader.rest = rest,
            }
        }
    }
}

impl<'a> InRecord<'a> {
    fn read(&self, place: &mut Place) -> Option<(Name<'a>, u32)> {
        loop {
            let mut reader = self.0.at(place.at);
            reader.take(b',');
            let is_title = !place.is_titled && reader.take(b'(') && reader.take(b'(');
            reader.skip_space();
            let position = self.0.position(&reader);
            let is_empty = reader.quoted()?.is_empty(); // fails at the bracket at the end
            let is_titled = core::mem::replace(&mut place.is_titled, is_title);
            let is_padding = !is_title && skip_type(&mut reader, is_titled)? && is_empty && !is_titled;
            place.at = self.0.position(&reader);
            if !is_padding {
                return Some((self.at(position), position));
            }
        }
    }
}

/// Skips the type of a field, and the parenthesis after it. Returns whether NumPy treats the type as `numpy.void`
/// without fields: raw bytes, or a subarray.
fn skip_type(reader: &mut Reader<'_>, is_titled: bool) -> Option<bool> {
    let (mut is_void, mut open, mut records) = (false, 1_u32.saturating_add(is_titled.into()), 0_u32);
    loop {
        let (byte, rest) = reader.rest.split_first()?;
        match byte {
            b'\'' | b'"' => {
                let text = reader.quoted()?;
                is_void |= records == 0 && matches!(text, [b'V', ..] | [_, b'V', ..]);
                continue;
            }
            b'[' => records = records.saturating_add(1),
            b']' => records = records.saturating_sub(1),
            b'(' => open = open.saturating_add(1),
            b')' => open = open.saturating_sub(1),
            b'0'..=b'9' => is_void |= records == 0, // a length of a subarray
            _ => {}
        }
        reader.rest = rest;
        if open == 0 {
            return Some(is_void);
        }
    }
}

impl<'a> Distinct for InRecord<'a> {
    type Entry = Name<'a>;
    type Place = Place;
    type Position = u32;

    fn next(&mut self, place: &mut Place) -> Option<(Name<'a>, u32)> {
        self.read(place)
    }

    fn at(&self, position: u32) -> Name<'a> {
        let (quote, text) = self.0.at(position).rest.split_first().unwrap_or((&0, &[]));
        Name { text, quote: *quote, is_utf8: self.0.is_utf8 }
    }

    /// Always succeeds: the bytes were read before; if they have changed, the positions are different.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Name<'_> {
    /// Returns the next character as a number, with escapes decoded as in Python.
    fn next(&mut self) -> Option<u32> {
        // A backslash at the end of a line continues it. A loop, since a file may have any number of such lines.
        while let [b'\\', b'\n', rest @ ..] = self.text {
            self.text = rest;
        }
        let (first, rest) = self.text.split_first().filter(|(first, _)| **first != self.quote)?;
        self.text = rest;
        if *first == b'\\' {
            return self.escaped();
        }
        // A UTF-8 character of up to four bytes.
        let more = if self.is_utf8 && *first >= 0xc0 { first.leading_ones().saturating_sub(1) } else { 0 };
        let high = if more == 0 { *first } else { first & 0x3f_u8.wrapping_shr(more) };
        Some((0..more).fold(high.into(), |number, _| {
            let Some((byte, rest)) = self.text.split_first() else { return number };
            self.text = rest;
            number << 6 | u32::from(byte & 0x3f)
        }))
    }

    /// Decodes the escape after a backslash. An invalid escape is the backslash itself.
    fn escaped(&mut self) -> Option<u32> {
        let Some((kind, rest)) = self.text.split_first() else { return Some(b'\\'.into()) };
        let digits = |base, most: usize, text: &mut &[u8]| {
            let mut number = 0_u32;
            for _ in 0..most {
                let digit = text.first().and_then(|digit| char::from(*digit).to_digit(base));
                let Some((digit, (_, rest))) = digit.zip(text.split_first()) else { break };
                number = number.wrapping_mul(base).wrapping_add(digit);
                *text = rest;
            }
            Some(number)
        };
        let simple = match kind {
            b'0'..=b'7' => return digits(8, 3, &mut self.text),
            b'x' | b'u' | b'U' => {
                self.text = rest;
                let most = match kind {
                    b'x' => 2,
                    b'u' => 4,
                    _ => 8,
                };
                return digits(16, most, &mut self.text);
            }
            b'\\' | b'\'' | b'"' => *kind,
            b'a' => 7,
            b'b' => 8,
            b't' => 9,
            b'n' => 10,
            b'v' => 11,
            b'f' => 12,
            b'r' => 13,
            _ => return Some(b'\\'.into()),
        };
        self.text = rest;
        Some(simple.into())
    }

    fn characters(mut self) -> impl Iterator<Item = u32> {
        core::iter::from_fn(move || self.next())
    }
}

impl duplicates::Entry for Name<'_> {
    fn order(self, other: Self) -> Ordering {
        self.characters().cmp(other.characters())
    }

    fn clashes_with(self, other: Self) -> bool {
        self.order(other).is_eq()
    }

    /// FNV-1a, one character at a time.
    fn hash(self) -> u32 {
        self.characters().fold(0x811c_9dc5, |hash, character| (hash ^ character).wrapping_mul(0x0100_0193))
    }
}
