//! CBOR (RFC 8949): a pull reader, records with known keys, and a walker that needs no recursion.
//!
//! Depends on `error`, `bytes`. minicbor decodes the single items; what it leaves open without an
//! allocator, skipping nested items of indefinite length, is done here with a bounded stack of counters.
//!
//! Accepted is every well-formed encoding: definite and indefinite lengths, heads of any width, tags.
//! Texts are valid UTF-8 wherever they stand. Positions count from the start of the bytes read.
#![forbid(unsafe_code)]

use minicbor::data::Type;
use minicbor::decode::{Decoder, Error as DecodeError};

use crate::bytes::num::{to_u64, to_usize};
use crate::error::{Error, ErrorKind, Format, Item};

/// How deeply containers may be nested inside a value that is passed. A tag counts as one.
const MAX_DEPTH: usize = 32;

/// How many records such a value may stand in, where they are passed as a whole: the entry of a tensor, its
/// components, the record of one of them.
const RECORDS: usize = 3;

/// What is wrong with the value at `at`; the position counts from the start of the bytes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) item: Item,
    pub(crate) at: u32,
}

impl Fault {
    /// The error of a file of kind `format`, where the bytes begin at `start` and the entry of the
    /// tensor concerned at `entry` of them (0: no tensor is concerned).
    pub(crate) fn in_file(self, format: Format, start: u64, entry: u32) -> Error {
        let at = start.saturating_add(u64::from(self.at));
        let back = if entry == 0 { 0 } else { self.at.saturating_sub(entry) };
        Error::at(self.kind, format, self.item, at).behind(back)
    }
}

type Result<T> = core::result::Result<T, Fault>;

/// How many items a container still has. Definite counts never exceed the bytes left, so that the
/// numbers at the top are free to mark the open ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left(u32);

impl Left {
    /// Nothing.
    pub(crate) const NONE: Self = Self(0);
    /// One item.
    pub(crate) const ONE: Self = Self(1);
    /// Until the break code: items of an array.
    const ENDLESS: Self = Self(u32::MAX);
    /// Until the break code: a map whose next item is a key.
    const ENDLESS_KEY: Self = Self(u32::MAX - 1);
    /// A map whose next item is the value of a key already read.
    const ENDLESS_VALUE: Self = Self(u32::MAX - 2);
    /// Until the break code: the pieces of a text.
    const TEXT_CHUNKS: Self = Self(u32::MAX - 3);
    /// Until the break code: the pieces of a byte string.
    const BYTE_CHUNKS: Self = Self(u32::MAX - 4);
    /// The largest definite count.
    const MAX: u32 = u32::MAX - 5;

    /// Whether a break code ends it here.
    fn may_break(self) -> bool {
        self.0 > Self::MAX && self != Self::ENDLESS_VALUE
    }

    /// One item has been read: what is left then.
    fn less_one(self) -> Self {
        match self {
            Self::ENDLESS_KEY => Self::ENDLESS_VALUE,
            Self::ENDLESS_VALUE => Self::ENDLESS_KEY,
            Self::ENDLESS | Self::TEXT_CHUNKS | Self::BYTE_CHUNKS => self,
            Self(count) => Self(count.saturating_sub(1)),
        }
    }
}

/// One item, or the head of one that has others inside.
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
    /// The count is of items: twice the pairs.
    Map(Left),
    Tag(u64),
    TextChunks,
    ByteChunks,
    Break,
}

/// What an item was that has been passed.
enum Passed {
    Single,
    Text,
    Bytes,
    /// A head; inside it, this.
    Inside(Left),
    Break,
}

impl Token<'_> {
    /// What is inside; `None` for a single item.
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

/// A key that a record knows.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    /// What its value is; also what [`Reader::field`] answers.
    pub(crate) item: Item,
    /// Whether it must be there. Where it need not, null means absent.
    pub(crate) required: bool,
}

/// A map that is being read as a record of known keys.
pub(crate) struct Record {
    fields: &'static [Field],
    left: Left,
    /// One bit a field.
    seen: u32,
    at: u32,
}

impl Record {
    /// The field of that key, and its bit.
    fn find(&self, key: &[u8]) -> Option<(&'static Field, u32)> {
        let found = self.fields.iter().zip(0_u32..).find(|(field, _)| field.key.as_bytes() == key);
        found.map(|(field, index)| (field, 1_u32.wrapping_shl(index)))
    }
}

/// Reads items one after the other.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    decoder: Decoder<'a>,
    /// What is being read, for the faults found in it.
    pub(crate) item: Item,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes` that stands at `position`.
    pub(crate) fn new(bytes: &'a [u8], position: u32) -> Self {
        let mut decoder = Decoder::new(bytes);
        decoder.set_position(to_usize(u64::from(position)).unwrap_or(usize::MAX));
        Self { decoder, item: Item::Value }
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> u32 {
        u32::try_from(self.decoder.position()).unwrap_or(u32::MAX)
    }

    /// Whether all bytes have been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.decoder.position() >= self.decoder.input().len()
    }

    /// A fault of the item being read, at `at`.
    pub(crate) fn fault(&self, kind: ErrorKind, at: u32) -> Fault {
        Fault { kind, item: self.item, at }
    }

    /// What minicbor found wrong with the item at `at`, where `other` stands for what it has no test for.
    #[cold]
    fn refused(&self, error: &DecodeError, at: u32, other: ErrorKind) -> Fault {
        let kind = if error.is_end_of_input() {
            ErrorKind::Truncated
        } else if error.is_type_mismatch() {
            match self.type_at(at) {
                Some(Type::Unknown(_)) => ErrorKind::Malformed,
                Some(Type::StringIndef) => ErrorKind::ChunkedText,
                _ => ErrorKind::UnexpectedType,
            }
        } else {
            other
        };
        self.fault(kind, at)
    }

    fn type_at(&self, at: u32) -> Option<Type> {
        Self::new(self.decoder.input(), at).decoder.datatype().ok()
    }

    /// A text in one piece.
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        /// The longest head of a text, its eight bytes of length included.
        const LONGEST_HEAD: u32 = 9;
        let at = self.position();
        self.decoder.str().map_err(|error| {
            // Left to tell apart: not UTF-8 (the text has been passed), and longer than a usize counts
            // (only its head has).
            let head_only = self.position() <= at.saturating_add(LONGEST_HEAD) && self.text_is_endless(at);
            self.refused(&error, at, if head_only { ErrorKind::Truncated } else { ErrorKind::InvalidUtf8 })
        })
    }

    /// Whether the text at `at` claims more bytes than this machine can count.
    fn text_is_endless(&self, at: u32) -> bool {
        let head = to_usize(u64::from(at)).and_then(|at| self.decoder.input().get(at..)?.first_chunk::<9>());
        match head {
            Some([0x7b, length @ ..]) => to_usize(u64::from_be_bytes(*length)).is_none(),
            _ => false,
        }
    }

    /// The bytes of the text at `position` of `bytes`, one that has been read before: to compare it with
    /// others costs no more than its length.
    pub(crate) fn text_bytes(bytes: &'a [u8], position: u32) -> Option<&'a [u8]> {
        let (head, rest) = bytes.get(to_usize(u64::from(position))?..)?.split_first()?;
        // RFC 8949 section 3: lengths below 24 stand in the head itself, else it tells how many bytes follow.
        let width = match head.checked_sub(0x60)? {
            length @ 0..=0x17 => return rest.get(..usize::from(length)),
            width @ 0x18..=0x1b => 1_usize.wrapping_shl(u32::from(width).saturating_sub(0x18)),
            _ => return None,
        };
        let (length, rest) = rest.split_at_checked(width)?;
        let length = length.iter().fold(0_u64, |length, byte| length.wrapping_shl(8) | u64::from(*byte));
        rest.get(..to_usize(length)?)
    }

    /// The bytes of the text that stands next, where its head is the shortest there is, as programs write
    /// the keys that we know: to find those does not take more than to compare them.
    fn short_text(&self) -> Option<&'a [u8]> {
        let (head, rest) = self.decoder.input().get(self.decoder.position()..)?.split_first()?;
        let length = head.checked_sub(0x60).filter(|length| *length < 0x18)?;
        rest.get(..usize::from(length))
    }

    /// An integer from 0 on.
    pub(crate) fn unsigned(&mut self) -> Result<u64> {
        let at = self.position();
        self.decoder.u64().map_err(|error| self.refused(&error, at, ErrorKind::Malformed))
    }

    /// The head of an array.
    pub(crate) fn array(&mut self) -> Result<Left> {
        let at = self.position();
        match self.decoder.array() {
            Ok(count) => self.count(count, 0, Left::ENDLESS, at),
            Err(error) => Err(self.refused(&error, at, ErrorKind::Malformed)),
        }
    }

    /// The head of a map.
    pub(crate) fn map(&mut self) -> Result<Left> {
        let at = self.position();
        match self.decoder.map() {
            Ok(count) => self.count(count, 1, Left::ENDLESS_KEY, at),
            Err(error) => Err(self.refused(&error, at, ErrorKind::Malformed)),
        }
    }

    /// A count of `1 << log2` items each, held to the bytes that are left: an item takes one at least.
    fn count(&self, count: Option<u64>, log2: u32, endless: Left, at: u32) -> Result<Left> {
        let Some(count) = count else { return Ok(endless) };
        let rest = to_u64(self.decoder.input().len().saturating_sub(self.decoder.position()));
        let fault = self.fault(ErrorKind::CountTooLarge, at);
        if count > rest.wrapping_shr(log2) {
            return Err(fault);
        }
        match u32::try_from(count.wrapping_shl(log2)) {
            Ok(items) if items <= Left::MAX => Ok(Left(items)),
            _ => Err(fault),
        }
    }

    /// Whether another item follows. A break code is read.
    pub(crate) fn more(&mut self, left: &mut Left) -> Result<bool> {
        self.more_by(left, 1)
    }

    /// Whether another pair follows in a map, whose count is of items. A break code is read.
    pub(crate) fn more_pairs(&mut self, left: &mut Left) -> Result<bool> {
        self.more_by(left, 2)
    }

    #[inline]
    fn more_by(&mut self, left: &mut Left, items: u32) -> Result<bool> {
        if left.0 > Left::MAX {
            return self.more_until_break();
        }
        let rest = left.0.checked_sub(items);
        *left = Left(rest.unwrap_or(0));
        Ok(rest.is_some())
    }

    #[cold]
    fn more_until_break(&mut self) -> Result<bool> {
        let at = self.position();
        match self.decoder.datatype() {
            Ok(Type::Break) => {
                self.decoder.set_position(self.decoder.position().saturating_add(1));
                Ok(false)
            }
            Ok(_) => Ok(true),
            Err(error) => Err(self.refused(&error, at, ErrorKind::Malformed)),
        }
    }

    /// Reads a null, if one stands here.
    fn null(&mut self) -> bool {
        let null = self.decoder.datatype().is_ok_and(|datatype| datatype == Type::Null);
        null && self.decoder.null().is_ok()
    }

    /// Begins a record: a map of which `fields` are known.
    pub(crate) fn record(&mut self, fields: &'static [Field]) -> Result<Record> {
        let at = self.position();
        Ok(Record { fields, left: self.map()?, seen: 0, at })
    }

    /// The next known field of `record`, the reader standing at its value; `None` at the end.
    ///
    /// Unknown keys are passed with their values. A known key that stands twice and, at the end, a
    /// required one that is missing, are faults.
    pub(crate) fn field(&mut self, record: &mut Record) -> Result<Option<Item>> {
        while self.more_pairs(&mut record.left)? {
            let at = self.position();
            self.item = Item::Key;
            let mut known = None;
            if let Some(key) = self.short_text() {
                known = record.find(key);
                if known.is_some() {
                    // Behind the head, which is one byte, and the key.
                    let length = key.len().saturating_add(1);
                    self.decoder.set_position(self.decoder.position().saturating_add(length));
                }
            }
            if known.is_none() {
                known = self.key()?.and_then(|key| record.find(key.as_bytes()));
            }
            let Some((field, bit)) = known else {
                self.item = Item::Value;
                self.skip()?;
                continue;
            };
            self.item = field.item;
            if record.seen & bit != 0 {
                return Err(self.fault(ErrorKind::RepeatedKey, at));
            }
            record.seen |= bit;
            if field.required || !self.null() {
                return Ok(Some(field.item));
            }
        }
        let mut bit = 1_u32;
        for field in record.fields {
            if field.required && record.seen & bit == 0 {
                return Err(Fault { kind: ErrorKind::MissingKey, item: field.item, at: record.at });
            }
            bit = bit.wrapping_shl(1);
        }
        Ok(None)
    }

    /// A key; `None` for one that is not a text, which has been passed.
    pub(crate) fn key(&mut self) -> Result<Option<&'a str>> {
        let at = self.position();
        match self.text() {
            Ok(key) => Ok(Some(key)),
            Err(fault) if fault.kind == ErrorKind::UnexpectedType => {
                *self = Self { item: self.item, ..Self::new(self.decoder.input(), at) };
                self.skip()?;
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Passes a value, whatever is inside.
    ///
    /// # Errors
    /// Where it is not well-formed, a text is not UTF-8, or it is nested deeper than [`MAX_DEPTH`].
    pub(crate) fn skip(&mut self) -> Result<()> {
        self.skip_items(Left::ONE, MAX_DEPTH)
    }

    /// Passes a record with records inside, whose values have been held to [`MAX_DEPTH`] each.
    pub(crate) fn skip_record(&mut self) -> Result<()> {
        self.skip_items(Left::ONE, MAX_DEPTH.saturating_add(RECORDS))
    }

    /// Passes the items of an open container, its end included.
    pub(crate) fn skip_inside(&mut self, left: Left) -> Result<()> {
        self.skip_items(left, MAX_DEPTH)
    }

    #[inline(never)] // the counters stay off the stack of whoever passes a single item
    fn skip_items(&mut self, mut left: Left, depth: usize) -> Result<()> {
        let mut outer = heapless::Vec::<Left, { MAX_DEPTH + RECORDS }>::new();
        loop {
            // Leave the containers that are complete.
            while left == Left::NONE {
                match outer.pop() {
                    Some(next) => left = next,
                    None => return Ok(()),
                }
            }
            let at = self.position();
            let inside = match (self.pass()?, left) {
                (Passed::Break, _) if left.may_break() => {
                    left = Left::NONE;
                    continue;
                }
                (Passed::Text, Left::TEXT_CHUNKS) | (Passed::Bytes, Left::BYTE_CHUNKS) => None,
                (Passed::Break, _) | (_, Left::TEXT_CHUNKS | Left::BYTE_CHUNKS) => {
                    return Err(self.fault(ErrorKind::Malformed, at));
                }
                (Passed::Inside(inside), _) => Some(inside),
                _ => None,
            };
            left = left.less_one();
            if let Some(inside) = inside {
                if outer.len() >= depth || outer.push(left).is_err() {
                    return Err(self.fault(ErrorKind::TooDeep, at));
                }
                left = inside;
            }
        }
    }

    /// Passes one item, or the head of one that has others inside (RFC 8949 section 3): what it is does not matter,
    /// so that numbers are not made of it.
    fn pass(&mut self) -> Result<Passed> {
        let at = self.position();
        let rest = self.decoder.input().get(self.decoder.position()..).unwrap_or_default();
        let Some(head) = rest.first() else { return Err(self.fault(ErrorKind::Truncated, at)) };
        let (major, info) = (head.wrapping_shr(5), head & 0x1f);
        let malformed = self.fault(ErrorKind::Malformed, at);
        let width = match info {
            0..=23 => 1,
            24 => 2,
            25 => 3,
            26 => 5,
            27 => 9,
            31 => 1,
            _ => return Err(malformed),
        };
        let passed = match (major, info) {
            (2, 31) => Passed::Inside(Left::BYTE_CHUNKS),
            (3, 31) => Passed::Inside(Left::TEXT_CHUNKS),
            (4, 31) => Passed::Inside(Left::ENDLESS),
            (5, 31) => Passed::Inside(Left::ENDLESS_KEY),
            (7, 31) => Passed::Break,
            (_, 31) => return Err(malformed),
            // All that can be wrong with a byte string is its length.
            (2, _) => {
                let bytes = self.decoder.bytes();
                let truncated = |error| self.refused(&error, at, ErrorKind::Truncated);
                return bytes.map(|_| Passed::Bytes).map_err(truncated);
            }
            (3, _) => return self.text().map(|_| Passed::Text),
            (4, _) => return self.array().map(Passed::Inside),
            (5, _) => return self.map().map(Passed::Inside),
            // Below 32 a simple value stands in the head itself.
            (7, 24) if rest.get(1).is_some_and(|value| *value < 32) => return Err(malformed),
            (6, _) => Passed::Inside(Left::ONE),
            _ => Passed::Single,
        };
        if rest.len() < width {
            return Err(self.fault(ErrorKind::Truncated, at));
        }
        self.decoder.set_position(self.decoder.position().saturating_add(width));
        Ok(passed)
    }

    /// Reads one item, or the head of one that has others inside.
    pub(crate) fn token(&mut self) -> Result<Token<'a>> {
        let at = self.position();
        let refused = |reader: &Self, error| reader.refused(&error, at, ErrorKind::Malformed);
        let datatype = self.decoder.datatype().map_err(|error| refused(self, error))?;
        let token = match datatype {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
                return self.unsigned().map(|n| Token::Integer(i128::from(n)));
            }
            Type::String => return self.text().map(Token::Text),
            Type::Array => return self.array().map(Token::Array),
            Type::Map => return self.map().map(Token::Map),
            Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => {
                self.decoder.int().map(|n| Token::Integer(i128::from(n)))
            }
            // All that can be wrong with a byte string is its length.
            Type::Bytes => {
                let bytes = self.decoder.bytes();
                return bytes.map(Token::Bytes).map_err(|error| self.refused(&error, at, ErrorKind::Truncated));
            }
            Type::Bool => self.decoder.bool().map(Token::Bool),
            Type::Null => self.decoder.null().map(|()| Token::Null),
            Type::Undefined => self.decoder.undefined().map(|()| Token::Undefined),
            Type::F16 | Type::F32 | Type::F64 => self.decoder.f64().map(Token::Float),
            Type::Tag => self.decoder.tag().map(|tag| Token::Tag(tag.as_u64())),
            Type::Simple => {
                let value = self.decoder.simple().map_err(|error| refused(self, error))?;
                // RFC 8949 section 3.3: below 32 the value stands in the head itself.
                if value < 32 && self.position() > at.saturating_add(1) {
                    return Err(self.fault(ErrorKind::Malformed, at));
                }
                return Ok(Token::Simple(value));
            }
            Type::StringIndef | Type::BytesIndef | Type::ArrayIndef | Type::MapIndef | Type::Break => {
                self.decoder.set_position(self.decoder.position().saturating_add(1));
                return Ok(match datatype {
                    Type::StringIndef => Token::TextChunks,
                    Type::BytesIndef => Token::ByteChunks,
                    Type::ArrayIndef => Token::Array(Left::ENDLESS),
                    Type::MapIndef => Token::Map(Left::ENDLESS_KEY),
                    _ => Token::Break,
                });
            }
            Type::Unknown(_) => return Err(self.fault(ErrorKind::Malformed, at)),
        };
        token.map_err(|error| refused(self, error))
    }
}
