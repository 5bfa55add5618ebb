//! The place of data in another file.
#![forbid(unsafe_code)]

use super::FORMAT;
use super::schema::{self, entry, tensor};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::codec::protobuf::Reader;
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// The keys with a meaning. Any other is ignored.
const KEYS: Keywords = keywords!["location": 0, "offset": 1, "length": 2, "checksum": 3];

/// The place of data in another file.
pub(super) struct Elsewhere<'a> {
    /// The path from the folder of the model.
    pub(super) location: Utf8<'a>,
    pub(super) extent: Extent,
}

/// A key and a value.
pub(super) struct Pair<'a> {
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
}

impl<'a> Pair<'a> {
    /// Reads an entry.
    pub(super) fn read(opening: &ParseContext<'a>, message: Extent) -> ParseResult<Self> {
        let mut fields = Reader::new(opening, FORMAT, message);
        let mut pair = Pair { key: &[], value: &[] };
        while let Some(field) = fields.next(schema::ENTRY)? {
            match field.number {
                entry::KEY => pair.key = fields.bytes(field.extent())?,
                entry::VALUE => pair.value = fields.bytes(field.extent())?,
                _ => {}
            }
        }
        Ok(pair)
    }
}

impl<'a> Elsewhere<'a> {
    /// Reads the entries of a tensor that needs `length` bytes.
    pub(super) fn read(opening: &ParseContext<'a>, message: Extent, length: u64) -> ParseResult<Self> {
        let mut fields = Reader::new(opening, FORMAT, message);
        let (mut location, mut offset, mut seen) = (None, 0, 0_u8);
        while let Some(field) = fields.next(schema::TENSOR)? {
            if field.number != tensor::EXTERNAL_DATA {
                continue;
            }
            let Pair { key, value } = Pair::read(opening, field.extent())?;
            let number = KEYS.number_of(key);
            if number > 3 {
                continue;
            }
            let bit = 1_u8.wrapping_shl(number.into());
            if seen & bit != 0 {
                return Err(fields.fail(ErrorKind::RepeatedKey, Part::Key, field.at));
            }
            seen |= bit;
            match number {
                0 => location = Some((check(&fields, field.at, value)?, field.at)),
                1 => {
                    offset = decimal(value)
                        .ok_or_else(|| fields.fail(ErrorKind::UnexpectedType, Part::Offset, field.at))?
                }
                2 if decimal(value) != Some(length) => {
                    return Err(fields.fail(ErrorKind::SizeMismatch, Part::Length, field.at));
                }
                _ => {}
            }
        }
        let missing = || fields.fail(ErrorKind::MissingKey, Part::Shard, message.offset);
        let (location, at) = location.ok_or_else(missing)?;
        let extent = Extent::new(offset, length);
        if extent.end().is_none() {
            return Err(fields.fail(ErrorKind::OutOfShard, Part::Shard, at));
        }
        Ok(Self { location, extent })
    }
}

/// Checks that a location is a path that leads to a file inside the folder of the model, on every system.
fn check<'a>(fields: &Reader<'_, '_>, at: u64, location: &'a [u8]) -> ParseResult<Utf8<'a>> {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let leads_out = location.split(is_slash).any(|name| name == b"..");
    let is_absolute = match location {
        [] => true,
        [_, b':', ..] => true,
        [first, ..] => is_slash(first),
    };
    if leads_out || is_absolute || location.contains(&0) {
        return Err(fields.fail(ErrorKind::InvalidName, Part::Shard, at));
    }
    Utf8::checked(location).ok_or_else(|| fields.fail(ErrorKind::InvalidUtf8, Part::Shard, at))
}

/// Returns the number that decimal digits spell.
fn decimal(text: &[u8]) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte.wrapping_sub(b'0')));
    let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(*byte)?);
    (!text.is_empty()).then(|| text.iter().try_fold(0, add))?
}
