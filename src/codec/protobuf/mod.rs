//! Protobuf messages, read in place.
//!
//! A message is a row of fields: a tag, which has the field's number and wire type, and a value. A message inside another
//! one is a value with a length, so it is skipped in one step, and read with a [`Reader`] of its own: nothing recurses.
#![forbid(unsafe_code)]

pub(crate) mod levels;
pub(crate) mod numbers;

use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{Interrupted, ParseContext, ParseResult};
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};

/// True on a chip, which reads from a card into little memory. On a host, a request costs more than its bytes.
const IS_CHIP: bool = cfg!(target_os = "none");

/// The minimum and maximum size of a request for missing bytes. In between, a request is as large as the bytes already
/// in memory, so that a file takes few requests.
const LEAST: u64 = if IS_CHIP { 512 } else { 1 << 16 };
const MOST: u64 = 1 << 30;

/// The wire types of fields. The others are groups, which end with a field of their own, and two undefined ones.
pub(crate) mod wire {
    pub(crate) const VARINT: u8 = 0;
    pub(crate) const EIGHT: u8 = 1;
    pub(crate) const BYTES: u8 = 2;
    pub(crate) const FOUR: u8 = 5;
}

/// The wire types that each field of a message may have, by its number: a bit for each type. A field that is not listed
/// may have any type.
#[derive(Clone, Copy)]
pub(crate) struct Schema(pub(crate) &'static [u8]);

impl Schema {
    /// A message whose fields may have any type.
    pub(crate) const UNKNOWN: Self = Self(&[]);

    pub(crate) const ANY: u8 = 0;
    pub(crate) const NUMBER: u8 = 1 << wire::VARINT;
    pub(crate) const BYTES: u8 = 1 << wire::BYTES;
    pub(crate) const NUMBERS: u8 = Self::NUMBER | Self::BYTES;
    pub(crate) const FLOAT: u8 = 1 << wire::FOUR;
    pub(crate) const FLOATS: u8 = Self::FLOAT | Self::BYTES;
    pub(crate) const DOUBLES: u8 = 1 << wire::EIGHT | Self::BYTES;

    fn allows(self, number: u32, wire: u8) -> bool {
        let types = to_usize(number.into()).and_then(|number| self.0.get(number)).copied().unwrap_or(Self::ANY);
        types == Self::ANY || types.wrapping_shr(wire.into()) & 1 != 0
    }
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) wire: u8,
    /// The offset of the tag.
    pub(crate) at: u64,
    /// The offset of the value; of its first byte behind a length.
    pub(crate) place: u64,
    /// The number, or the length of the value in bytes.
    pub(crate) value: u64,
}

impl Field {
    /// The bytes of the value, of any type but a varint.
    pub(crate) const fn extent(&self) -> Extent {
        Extent::new(self.place, self.value)
    }

    /// True if the value has a length: a message, a text or a packed run.
    pub(crate) const fn has_length(&self) -> bool {
        self.wire == wire::BYTES
    }
}

/// A reader of one message, field by field.
pub(crate) struct Reader<'r, 'a> {
    opening: &'r ParseContext<'a>,
    format: Format,
    /// The bytes from `at` on, as far as they are contiguous in memory, up to the end of the message.
    rest: &'a [u8],
    at: u64,
    end: u64,
}

impl<'r, 'a> Reader<'r, 'a> {
    /// Creates a reader of the message in `message`, a range inside the file.
    #[inline]
    pub(crate) fn new(opening: &'r ParseContext<'a>, format: Format, message: Extent) -> Self {
        let end = message.offset.saturating_add(message.length);
        let mut reader = Self { opening, format, rest: &[], at: message.offset, end };
        reader.load();
        reader
    }

    /// The offset of the next field.
    pub(crate) const fn position(&self) -> u64 {
        self.at
    }

    /// Continues at `at`, a position inside the message.
    #[inline]
    pub(crate) fn go_to(&mut self, at: u64) {
        self.at = at.min(self.end);
        self.load();
    }

    #[inline]
    fn load(&mut self) {
        let bytes = self.opening.input.available_from(self.at);
        let left = to_usize(self.end.saturating_sub(self.at));
        self.rest = left.and_then(|left| bytes.get(..left)).unwrap_or(bytes);
    }

    /// Reads the next field; `None` after the last. The bytes of a value with a length need not be in memory.
    #[cfg_attr(not(small), inline(always))] // a walk over a model is little else
    pub(crate) fn next(&mut self, schema: Schema) -> ParseResult<Option<Field>> {
        #[cfg(not(small))]
        if let Some(field) = self.next_short(schema) {
            return Ok(Some(field));
        }
        self.next_any(schema)
    }

    /// Reads a field that takes most of a file: with a tag of one byte and a number or a length of one or two, all in
    /// memory. Returns `None` for any other field, and leaves it and its errors to [`next_any`](Self::next_any).
    #[cfg(not(small))]
    #[inline(always)]
    fn next_short(&mut self, schema: Schema) -> Option<Field> {
        let [tag @ 8..=0x7f, rest @ ..] = self.rest else { return None };
        let (number, wire) = (u32::from(tag >> 3), tag & 7);
        let (value, place, rest) = match rest {
            [low @ ..=0x7f, rest @ ..] => (u64::from(*low), 2, rest),
            [low, high @ ..=0x7f, rest @ ..] => (u64::from(low & 0x7f) | u64::from(*high) << 7, 3, rest),
            _ => return None,
        };
        let (before, place) = (self.at.wrapping_add(1), self.at.wrapping_add(place));
        if !schema.allows(number, wire) {
            return None;
        }
        let at = self.at;
        match wire {
            wire::VARINT => {
                (self.rest, self.at) = (rest, place);
                Some(Field { number, wire, at, place: before, value })
            }
            wire::BYTES => {
                (self.rest, self.at) = (rest.get(to_usize(value)?..)?, place.wrapping_add(value));
                Some(Field { number, wire, at, place, value })
            }
            _ => None,
        }
    }

    /// Reads any field.
    #[cfg_attr(not(small), inline(never))]
    fn next_any(&mut self, schema: Schema) -> ParseResult<Option<Field>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        let tag = self.varint(Part::Key)?;
        let Some(number) = u32::try_from(tag).ok().map(|tag| tag >> 3).filter(|number| *number > 0) else {
            return Err(self.fail(ErrorKind::Malformed, Part::Key, at));
        };
        let [tag, ..] = tag.to_le_bytes();
        let wire = tag & 7;
        if !matches!(wire, wire::VARINT | wire::EIGHT | wire::BYTES | wire::FOUR) {
            return Err(self.fail(ErrorKind::WrongMarker, Part::Key, at));
        }
        if !schema.allows(number, wire) {
            return Err(self.fail(ErrorKind::UnexpectedType, Part::Value, at));
        }
        let before = self.at;
        let value = match wire {
            wire::VARINT => {
                let value = self.varint(Part::Value)?;
                return Ok(Some(Field { number, wire, at, place: before, value }));
            }
            wire::EIGHT => 8,
            wire::FOUR => 4,
            _ => self.varint(Part::Length)?,
        };
        let place = self.at;
        if value > self.end.saturating_sub(place) {
            return Err(self.fail(ErrorKind::OutOfPlace, Part::Length, before));
        }
        self.at = place.saturating_add(value);
        match to_usize(value).and_then(|length| self.rest.get(length..)) {
            Some(rest) => self.rest = rest,
            None => self.load(),
        }
        Ok(Some(Field { number, wire, at, place, value }))
    }

    /// Returns the bytes of a value, all of them, or requests them.
    pub(crate) fn bytes(&self, extent: Extent) -> ParseResult<&'a [u8]> {
        let bytes = self.opening.input.get(extent);
        bytes.ok_or_else(|| self.request(extent.offset, extent.length))
    }

    #[inline]
    fn varint(&mut self, part: Part) -> ParseResult<u64> {
        if let [byte @ ..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            self.at = self.at.saturating_add(1);
            return Ok((*byte).into());
        }
        self.long_varint(part)
    }

    #[inline(never)]
    fn long_varint(&mut self, part: Part) -> ParseResult<u64> {
        if let Varint::Cut = varint(self.rest) {
            self.load(); // another segment may continue here
        }
        match varint(self.rest) {
            Varint::Number(value, rest) => {
                let length = self.rest.len().saturating_sub(rest.len());
                self.rest = rest;
                self.at = self.at.saturating_add(to_u64(length));
                Ok(value)
            }
            Varint::TooLong => Err(self.fail(ErrorKind::Malformed, part, self.at)),
            Varint::Cut => {
                let available = self.at.saturating_add(to_u64(self.rest.len()));
                if available >= self.end {
                    return Err(self.fail(ErrorKind::OutOfPlace, part, self.at));
                }
                Err(self.request(self.at, MOST_BYTES))
            }
        }
    }

    /// Requests at least `least` bytes from `at` on, which are not all in memory.
    #[cold]
    fn request(&self, at: u64, least: u64) -> Interrupted {
        let length = self.opening.input.held().clamp(LEAST, MOST).max(least);
        let left = self.opening.input.length().saturating_sub(at);
        match self.opening.keep(Extent::new(at, length.min(left))) {
            Ok(_) => self.fail(ErrorKind::NotInMemory, Part::Data, at), // the bytes have changed
            Err(stop) => stop,
        }
    }

    /// Stops with an error at byte `at` of the file.
    #[cold]
    pub(crate) fn fail(&self, kind: ErrorKind, part: Part, at: u64) -> Interrupted {
        self.opening.fail((kind, self.format, part), at)
    }
}

/// The most bytes of a varint.
const MOST_BYTES: u64 = 10;

/// The outcome of reading a varint.
pub(crate) enum Varint<'a> {
    /// The number, and the bytes behind it.
    Number(u64, &'a [u8]),
    /// The bytes end within the number.
    Cut,
    /// The number has more than ten bytes, or more than 64 bits.
    TooLong,
}

/// Reads a varint at the front of `bytes`: 7 bits in a byte, the lowest first. The top bit of each byte but the last is
/// set.
pub(crate) fn varint(bytes: &[u8]) -> Varint<'_> {
    let (mut value, mut shift, mut rest) = (0_u64, 0_u32, bytes);
    while let [byte, after @ ..] = rest {
        if shift == 63 && *byte > 1 {
            return Varint::TooLong;
        }
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        if *byte < 0x80 {
            return Varint::Number(value, after);
        }
        (shift, rest) = (shift.saturating_add(7), after);
    }
    Varint::Cut
}

#[cfg(test)]
mod tests;
