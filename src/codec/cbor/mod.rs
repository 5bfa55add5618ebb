//! CBOR (RFC 8949): a pull reader, records with known keys, and skipping without recursion.
//!
//! minicbor decodes the values that users see. This module reads the structure around them head by head, for two
//! reasons: minicbor cannot skip nested items of indefinite length without an allocator, and its decoder for single
//! items takes a third of the flash budget of the whole reader on a microcontroller.
//!
//! Every well-formed encoding is accepted: definite and indefinite lengths, heads of any width, tags. Text strings must
//! be valid UTF-8 everywhere. Positions count from the start of the bytes read.
//!
//! The file `strict` reads the deterministic encoding instead, which zTensor 2 requires. On hosts, `fast` reads what
//! real programs write, and `skip` skips what has been checked.
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor")]
mod record;
#[cfg(feature = "write")]
pub(crate) mod write;
#[cfg_attr(small, path = "fast_none.rs")]
pub(crate) mod fast;
#[cfg(not(small))]
pub(crate) mod skip;
#[cfg(feature = "ztensor2")]
pub(crate) mod strict;

use minicbor::data::Type;
use minicbor::decode::Decoder;

use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, NO_ENTRY};

#[cfg(all(feature = "ztensor", not(small)))]
pub(crate) use self::record::Expected;
#[cfg(feature = "ztensor")]
pub(crate) use self::record::{Fields, fields, first_bits};

/// The maximum nesting depth of containers inside a skipped value. A tag counts as one level.
const MAX_DEPTH: usize = 32;

/// The number of records that may enclose a value if they are skipped as a whole: the entry of a tensor, its
/// components, the record of a component.
const RECORDS: usize = 3;

/// An error in the value at `at`, a position counted from the start of the bytes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) item: Part,
    pub(crate) at: u32,
    /// The distance back from `at` to the entry of the tensor; [`NO_ENTRY`] if there is no entry.
    pub(crate) entry_distance: u32,
}

impl Fault {
    /// Returns the error for a file of format `format` whose bytes begin at offset `start`.
    #[cold]
    #[inline(never)] // a single copy: a 64-bit sum at each call site would take flash
    pub(crate) fn in_file(&self, format: Format, start: u64) -> Error {
        Error::at(self.kind, format, self.item, start.saturating_add(u64::from(self.at)))
            .after_entry(self.entry_distance)
    }
}

type Result<T> = core::result::Result<T, Fault>;

/// The number of items left in a container. Definite counts never exceed the number of bytes left, so the largest
/// numbers can mark indefinite lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left(u32);

impl Left {
    /// No items.
    pub(crate) const NONE: Self = Self(0);
    /// One item.
    pub(crate) const ONE: Self = Self(1);
    /// Items of an array, up to the break code.
    const ENDLESS: Self = Self(u32::MAX);
    /// Items of a map, up to the break code; the next item is a key.
    const ENDLESS_KEY: Self = Self(u32::MAX - 1);
    /// Items of a map, up to the break code; the next item is the value of a key already read.
    const ENDLESS_VALUE: Self = Self(u32::MAX - 2);
    /// Chunks of a text string, up to the break code.
    const TEXT_CHUNKS: Self = Self(u32::MAX - 3);
    /// Chunks of a byte string, up to the break code.
    const BYTE_CHUNKS: Self = Self(u32::MAX - 4);
    /// The largest definite count.
    const MAX: u32 = u32::MAX - 5;

    /// Returns the count as a plain number, for storage.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the count after a pair; `None` if no pair is left, or if only a break code marks the end.
    #[cfg(feature = "ztensor")]
    #[inline]
    pub(crate) const fn less_a_pair(self) -> Option<Self> {
        match self.0.checked_sub(2) {
            Some(left) if self.0 <= Self::MAX => Some(Self(left)),
            _ => None,
        }
    }

    /// Returns whether a break code may end the container here.
    fn may_break(self) -> bool {
        self.0 > Self::MAX && self != Self::ENDLESS_VALUE
    }

    /// Returns the count after one item has been read.
    fn less_one(self) -> Self {
        match self {
            Self::ENDLESS_KEY => Self::ENDLESS_VALUE,
            Self::ENDLESS_VALUE => Self::ENDLESS_KEY,
            Self::ENDLESS | Self::TEXT_CHUNKS | Self::BYTE_CHUNKS => self,
            Self(count) => Self(count.saturating_sub(1)),
        }
    }
}

/// An item, or the head of an item that contains others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Null,
    Undefined,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Simple(u8),
    Text(&'a str),
    Bytes(&'a [u8]),
    Array(Left),
    /// A map; the count is the number of items, twice the number of pairs.
    Map(Left),
    Tag(u64),
    TextChunks,
    ByteChunks,
    Break,
}

impl Token<'_> {
    /// Returns the number of items inside; `None` for a single item.
    pub(crate) fn inside(&self) -> Option<Left> {
        match *self {
            Self::Array(left) | Self::Map(left) => Some(left),
            Self::Tag(_) => Some(Left::ONE),
            Self::TextChunks => Some(Left::TEXT_CHUNKS),
            Self::ByteChunks => Some(Left::BYTE_CHUNKS),
            _ => None,
        }
    }
}

/// Reads items one after the other.
///
/// The first error is kept: after it, every read returns an empty value, no further item follows, and
/// [`check`](Self::check) returns the error. So a record is read to its end and then checked once, before any of its
/// values is used.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: u32,
    /// The part of the file being read, for errors in it, and the start of the entry of its tensor ([`NO_ENTRY`] if
    /// there is no entry).
    pub(crate) item: Part,
    pub(crate) entry: u32,
    fault: Option<Fault>,
    /// The argument of the head that was read last: a value, a length, or a count.
    argument: u64,
}

/// A first byte that no head has (RFC 8949 section 3): [`Reader::head`] returns it after an error.
const NO_HEAD: u8 = 0xfc;
/// The major types, in the bits of the first byte.
const UNSIGNED: u8 = 0x00;
const BYTES: u8 = 0x40;
const TEXT: u8 = 0x60;
const ARRAY: u8 = 0x80;
const MAP: u8 = 0xa0;
const TAG: u8 = 0xc0;
const NULL: u8 = 0xf6;
const BREAK: u8 = 0xff;
/// The low bits of a first byte: the value for an indefinite length, and the mask of these bits.
const ENDLESS: u8 = 0x1f;

const fn major(head: u8) -> u8 {
    head & 0xe0
}

impl<'a> Reader<'a> {
    /// Creates a reader of `bytes` at `position`.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn new(bytes: &'a [u8], position: u32) -> Self {
        Self { bytes, position, item: Part::Value, entry: NO_ENTRY, fault: None, argument: 0 }
    }

    /// Returns the current position.
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// Moves to `position`, to read bytes that have been skipped.
    pub(crate) fn go_to(&mut self, position: u32) {
        self.position = position;
    }

    /// Returns whether all bytes have been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Returns the first error found so far, if any.
    pub(crate) fn check(&self) -> Result<()> {
        self.fault.map_or(Ok(()), Err)
    }

    /// Returns the first error, if there is one.
    pub(crate) const fn found_fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Creates an error in the part being read, at `at`.
    pub(crate) fn fault(&self, kind: ErrorKind, at: u32) -> Fault {
        let entry_distance = if self.entry == NO_ENTRY { NO_ENTRY } else { at.saturating_sub(self.entry) };
        Fault { kind, item: self.item, at, entry_distance }
    }

    /// Records an error in the part being read, if it is the first error.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&mut self, kind: ErrorKind, at: u32) {
        if self.fault.is_none() {
            self.fault = Some(self.fault(kind, at));
        }
    }

    /// Records an error in `item`, which was read earlier, if it is the first error.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail_in(&mut self, item: Part, kind: ErrorKind, at: u32) {
        self.item = item;
        self.fail(kind, at);
    }

    /// Returns the bytes from the current position on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        to_usize(u64::from(self.position)).and_then(|position| self.bytes.get(position..)).unwrap_or_default()
    }

    /// Returns the next byte without reading it; [`NO_HEAD`] at the end. Not called after an error.
    fn peek(&self) -> u8 {
        self.rest().first().copied().unwrap_or(NO_HEAD)
    }

    /// Reads a head: returns its first byte and stores its number in `argument`. A reserved width is malformed.
    #[inline]
    fn head(&mut self) -> u8 {
        // Most heads have one or two bytes. Chips have no flash for this fast path.
        #[cfg(not(small))]
        if let (None, [head, rest @ ..]) = (&self.fault, self.rest()) {
            let argument = match (head & ENDLESS, rest) {
                (info @ 0..24, _) => Some((info, 1)),
                (24, [argument, ..]) => Some((*argument, 2)),
                _ => None,
            };
            if let Some((argument, length)) = argument {
                self.argument = argument.into();
                self.position = self.position.wrapping_add(length); // within the bytes: they have been read
                return *head;
            }
        }
        self.any_head()
    }

    /// Reads a head of any width.
    #[inline(never)]
    fn any_head(&mut self) -> u8 {
        let at = self.position;
        if self.fault.is_some() {
            return NO_HEAD;
        }
        let Some((head, rest)) = self.rest().split_first() else {
            self.fail(ErrorKind::Truncated, at);
            return NO_HEAD;
        };
        let info = head & ENDLESS;
        if info < 24 {
            self.argument = u64::from(info);
            self.position = at.saturating_add(1);
            return *head;
        }
        let width = match info {
            24..=27 => 1_u32.wrapping_shl(u32::from(info).wrapping_sub(24)),
            ENDLESS if matches!(major(*head), BYTES..=MAP) || *head == BREAK => 0,
            _ => {
                self.fail(ErrorKind::Malformed, at);
                return NO_HEAD;
            }
        };
        let Some(number) = rest.get(..to_usize(u64::from(width)).unwrap_or(0)) else {
            self.fail(ErrorKind::Truncated, at);
            return NO_HEAD;
        };
        self.argument = match *number {
            #[cfg(not(small))]
            [a, b] => u16::from_be_bytes([a, b]).into(),
            #[cfg(not(small))]
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            _ => number.iter().fold(0, |n: u64, byte| n << 8 | u64::from(*byte)),
        };
        self.position = at.saturating_add(1).saturating_add(width);
        *head
    }

    /// Reads the head of an item with the major type `expected`: returns its first byte, or [`NO_HEAD`] for another
    /// type. The caller must check for an indefinite length.
    fn head_of(&mut self, expected: u8) -> u8 {
        let at = self.position;
        let head = self.head();
        if major(head) != expected {
            self.fail(ErrorKind::UnexpectedType, at);
            return NO_HEAD;
        }
        head
    }

    /// Returns the bytes of a string whose head, at `at`, has just been read.
    fn string(&mut self, at: u32) -> &'a [u8] {
        let bytes = to_usize(self.argument).and_then(|length| self.rest().get(..length));
        let Some((bytes, length)) = bytes.zip(u32::try_from(self.argument).ok()) else {
            self.fail(ErrorKind::Truncated, at);
            return &[];
        };
        self.position = self.position.saturating_add(length);
        bytes
    }

    /// Reads the bytes of a text string in one piece, without checking that they are UTF-8.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn text_bytes(&mut self) -> &'a [u8] {
        let at = self.position;
        match self.head_of(TEXT) {
            NO_HEAD => &[],
            head if head & ENDLESS == ENDLESS => {
                self.fail(ErrorKind::ChunkedText, at);
                &[]
            }
            _ => self.string(at),
        }
    }

    /// Reads a text string in one piece.
    pub(crate) fn text(&mut self) -> Utf8<'a> {
        let at = self.position;
        Utf8::checked(self.text_bytes()).unwrap_or_else(|| {
            self.fail(ErrorKind::InvalidUtf8, at);
            Utf8::new("")
        })
    }

    /// Returns the bytes of the text string at `position` of `bytes`, which has been read before: comparing the string
    /// costs no more than its length.
    #[inline(never)]
    pub(crate) fn text_bytes_at(bytes: &'a [u8], position: u32) -> &'a [u8] {
        Self::new(bytes, position).text_bytes()
    }

    /// Reads a nonnegative integer.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn unsigned(&mut self) -> u64 {
        if self.head_of(UNSIGNED) == NO_HEAD { 0 } else { self.argument }
    }

    /// Reads the head of an array.
    pub(crate) fn array(&mut self) -> Left {
        let at = self.position;
        let head = self.head_of(ARRAY);
        self.count(head, at)
    }

    /// Reads the head of a map.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn map(&mut self) -> Left {
        let at = self.position;
        let head = self.head_of(MAP);
        self.count(head, at)
    }

    /// Returns the number of items in the array or map with the head `head`. The number is checked against the bytes
    /// left: each item takes at least one byte.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    fn count(&mut self, head: u8, at: u32) -> Left {
        let is_map = major(head) == MAP;
        if head == NO_HEAD {
            return Left::NONE;
        }
        if head & ENDLESS == ENDLESS {
            return if is_map { Left::ENDLESS_KEY } else { Left::ENDLESS };
        }
        let count = u32::try_from(self.argument).ok();
        let items = count.and_then(|count| count.checked_add(if is_map { count } else { 0 }));
        let fits = |items: &u32| *items <= Left::MAX && u64::from(*items) <= to_u64(self.rest().len());
        let Some(items) = items.filter(fits) else {
            self.fail(ErrorKind::CountTooLarge, at);
            return Left::NONE;
        };
        Left(items)
    }

    /// Returns whether another item follows; consumes the break code.
    pub(crate) fn more(&mut self, left: &mut Left) -> bool {
        self.more_by(left, 1)
    }

    /// Returns whether another pair follows in a map, whose count is in items; consumes the break code.
    pub(crate) fn more_pairs(&mut self, left: &mut Left) -> bool {
        self.more_by(left, 2)
    }

    fn more_by(&mut self, left: &mut Left, items: u32) -> bool {
        if self.fault.is_some() {
            return false;
        }
        if left.0 <= Left::MAX {
            let rest = left.0.checked_sub(items);
            *left = Left(rest.unwrap_or(0));
            return rest.is_some();
        }
        let head = self.peek();
        if head == BREAK {
            self.position = self.position.saturating_add(1);
            *left = Left::NONE;
        } else if self.is_at_end() {
            self.fail(ErrorKind::Truncated, self.position);
            return false;
        }
        head != BREAK
    }

    /// Skips a value of any kind. Checks that it is well-formed, that its text strings are UTF-8, and that it is nested
    /// no deeper than [`MAX_DEPTH`].
    pub(crate) fn skip(&mut self) {
        self.skip_items(Left::ONE, MAX_DEPTH);
    }

    /// Skips a record that contains records; each of their values has been checked against [`MAX_DEPTH`].
    pub(crate) fn skip_record(&mut self) {
        self.skip_items(Left::ONE, MAX_DEPTH.saturating_add(RECORDS));
    }

    /// Moves past a record that has been read before.
    #[cfg(not(small))]
    pub(crate) fn pass_over_record(&mut self) {
        if let Some(rest) = skip::skip_unchecked(self.rest()) {
            let end = self.bytes.len().saturating_sub(rest.len());
            self.position = u32::try_from(end).unwrap_or(u32::MAX);
            return;
        }
        self.skip_record();
    }

    /// Skips the items of an open container, including its end.
    pub(crate) fn skip_inside(&mut self, left: Left) {
        self.skip_items(left, MAX_DEPTH);
    }

    #[inline(never)] // keeps the counters off the stack of callers that skip a single item
    fn skip_items(&mut self, mut left: Left, depth: usize) {
        let mut outer = heapless::Vec::<Left, { MAX_DEPTH + RECORDS }>::new();
        while self.fault.is_none() {
            if left == Left::NONE {
                // Leave the containers that are complete.
                match outer.pop() {
                    Some(next) => left = next,
                    None => return,
                }
                continue;
            }
            let at = self.position;
            let head = self.head();
            let is_endless = head & ENDLESS == ENDLESS;
            if head == BREAK && left.may_break() {
                left = Left::NONE;
                continue;
            }
            let is_piece = match left {
                Left::TEXT_CHUNKS => major(head) == TEXT && !is_endless,
                Left::BYTE_CHUNKS => major(head) == BYTES && !is_endless,
                _ => head != BREAK,
            };
            if !is_piece {
                self.fail(ErrorKind::Malformed, at);
                return;
            }
            left = left.less_one();
            let inside = match major(head) {
                BYTES if is_endless => Left::BYTE_CHUNKS,
                TEXT if is_endless => Left::TEXT_CHUNKS,
                BYTES => {
                    self.string(at);
                    continue;
                }
                TEXT => {
                    if !is_utf8(self.string(at)) {
                        self.fail(ErrorKind::InvalidUtf8, at);
                    }
                    continue;
                }
                ARRAY | MAP => self.count(head, at),
                TAG => Left::ONE,
                _ => {
                    // RFC 8949 section 3.3: a simple value below 32 is in the first byte itself.
                    if head == 0xf8 && self.argument < 32 {
                        self.fail(ErrorKind::Malformed, at);
                    }
                    continue;
                }
            };
            if outer.len() >= depth || outer.push(left).is_err() {
                self.fail(ErrorKind::TooDeep, at);
                return;
            }
            left = inside;
        }
    }

    /// Reads one item as users see it, or the head of an item that contains others.
    pub(crate) fn token(&mut self) -> Result<Token<'a>> {
        let at = self.position;
        let mut decoder = Decoder::new(self.bytes);
        decoder.set_position(to_usize(u64::from(at)).unwrap_or(usize::MAX));
        let datatype = decoder.datatype();
        let token = match datatype {
            Ok(Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int) => {
                decoder.int().map(|n| Token::Integer(i128::from(n)))
            }
            Ok(Type::F16 | Type::F32 | Type::F64) => decoder.f64().map(Token::Float),
            Ok(Type::Bool) => decoder.bool().map(Token::Bool),
            Ok(Type::Null) => decoder.null().map(|()| Token::Null),
            Ok(Type::Undefined) => decoder.undefined().map(|()| Token::Undefined),
            Ok(Type::Simple) => decoder.simple().map(Token::Simple),
            // A string, a container, or malformed.
            _ => return self.structure(),
        };
        // Rejects everything that skipping the item would reject.
        self.skip();
        self.check()?;
        token.map_err(|_| self.fault(ErrorKind::Malformed, at))
    }

    /// Reads a nonnegative integer, a string, or the head of a container.
    fn structure(&mut self) -> Result<Token<'a>> {
        let at = self.position;
        let head = self.head();
        let is_endless = head & ENDLESS == ENDLESS;
        let token = match major(head) {
            UNSIGNED => Token::Integer(self.argument.into()),
            BYTES if is_endless => Token::ByteChunks,
            TEXT if is_endless => Token::TextChunks,
            BYTES => Token::Bytes(self.string(at)),
            TEXT => match core::str::from_utf8(self.string(at)) {
                Ok(text) => Token::Text(text),
                Err(_) => return Err(self.fault(ErrorKind::InvalidUtf8, at)),
            },
            ARRAY => Token::Array(self.count(head, at)),
            MAP => Token::Map(self.count(head, at)),
            TAG => Token::Tag(self.argument),
            _ => Token::Break,
        };
        self.check()?;
        Ok(token)
    }
}

#[cfg(test)]
mod tests;
