//! Entries in the spelling of the reference implementation, which nearly all are in. A host reads them in a third of the
//! time; a chip needs the flash more. What is spelled in another way is left to [`Entry::next`], as is what breaks a rule:
//! the general way says which.
//!
//! Depends on `super::entry`, `codec::json`, `bytes`, `vocab`, `shape`.
#![forbid(unsafe_code)]

use super::METADATA;
use super::entry::{DTYPES, Entry, SHORT_DTYPES};
use crate::bytes::text::Text;
use crate::codec::json::Reader;
use crate::codec::json::usual::{number, string};
use crate::shape::{ElementCount, Shape, decimal_dimension};
use crate::vocab::DType;

impl<'a> Entry<'a> {
    /// Reads the next member of the header if that is a valid tensor after another one, and returns what follows.
    #[inline(always)]
    pub(super) fn next_usual(&mut self, reader: &Reader<'a>, data_length: u64) -> Option<&'a [u8]> {
        let rest = reader.from_last().strip_prefix(b"},\"")?;
        let (name, rest) = string(rest)?;
        if name == METADATA {
            return None;
        }
        let value = rest.strip_prefix(b":")?;
        self.at = reader.position_of(reader.rest()).wrapping_add(1);
        self.name = Text::new(name, false);
        self.position = reader.position_of(value);
        let rest = self.read_usual(reader, value)?;
        if self.fault(data_length).is_some() {
            return None;
        }
        Some(rest)
    }

    /// Reads the object of an entry at the front of `text`, the end of what the reader reads, and returns what follows.
    #[inline(always)]
    pub(super) fn read_usual(&mut self, reader: &Reader<'a>, text: &'a [u8]) -> Option<&'a [u8]> {
        let (dtype, rest) = dtype(text.strip_prefix(b"{\"dtype\":\"")?)?;
        self.dtype = Some(dtype);
        let rest = rest.strip_prefix(b",\"shape\":")?;
        self.shape_at = reader.position_of(rest);
        let lengths = rest.strip_prefix(b"[")?;
        let (mut rest, mut rank, mut count) = (lengths, 0_u32, ElementCount::ONE);
        if !rest.starts_with(b"]") {
            loop {
                let (length, after) = number(rest)?;
                count.multiply(length);
                rank = rank.wrapping_add(1);
                rest = after;
                let Some(after) = rest.strip_prefix(b",") else { break };
                rest = after;
            }
        }
        (self.shape, self.count) = (Shape::new(lengths, rank, decimal_dimension), count.total());
        let rest = rest.strip_prefix(b"],\"data_offsets\":")?;
        self.offsets_at = reader.position_of(rest);
        let (begin, rest) = number(rest.strip_prefix(b"[")?)?;
        let (end, rest) = number(rest.strip_prefix(b",")?)?;
        (self.begin, self.end) = (begin, end);
        rest.strip_prefix(b"]}")
    }
}

/// Returns what follows an entry that [`Entry::read_usual`] reads.
#[inline]
pub(super) fn after_usual(text: &[u8]) -> Option<&[u8]> {
    fn after_numbers(mut rest: &[u8]) -> &[u8] {
        while let [b'0'..=b'9' | b',', after @ ..] = rest {
            rest = after;
        }
        rest
    }
    let rest = text.strip_prefix(b"{\"dtype\":\"")?;
    let (_, rest) = rest.split_at_checked(rest.iter().take(12).position(|byte| *byte == b'"')?)?;
    let rest = after_numbers(rest.strip_prefix(b"\",\"shape\":[")?);
    after_numbers(rest.strip_prefix(b"],\"data_offsets\":[")?).strip_prefix(b"]}")
}

/// The name of a dtype, as the number that its bytes are with the quotation mark after it.
pub(super) struct ShortName {
    word: u64,
    /// How many bits of a word follow it.
    others: u32,
    /// How many bytes it has.
    length: usize,
    dtype: DType,
}

impl ShortName {
    /// Of one that is longer, nothing that is in a text.
    pub(super) const fn new(name: &[u8], dtype: DType) -> Self {
        let (mut word, mut length, mut rest) = (0x22, 1, name);
        while let [others @ .., last] = rest {
            word = word << 8 | *last as u64;
            length += 1;
            rest = others;
        }
        if length > 8 {
            return Self { word: u64::MAX, others: 0, length: 8, dtype };
        }
        Self { word, others: 64 - 8 * length as u32, length, dtype }
    }
}

/// Splits the name of a dtype off the front, and the quotation mark after it.
#[inline(always)]
fn dtype(text: &[u8]) -> Option<(DType, &[u8])> {
    let word = u64::from_le_bytes(*text.first_chunk()?);
    let short = SHORT_DTYPES.iter().find(|name| (name.word ^ word).wrapping_shl(name.others) == 0);
    match short {
        Some(name) => Some((name.dtype, text.get(name.length..)?)),
        None => long_dtype(text),
    }
}

#[inline(never)]
fn long_dtype(text: &[u8]) -> Option<(DType, &[u8])> {
    let (name, rest) = text.split_at_checked(text.iter().take(12).position(|byte| *byte == b'"')?)?;
    Some((DType::from_keyword(DTYPES.number_of(name))?, rest.strip_prefix(b"\"")?))
}
