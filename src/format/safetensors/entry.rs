//! An entry of the header: the rules for names, dtypes, shapes and offsets.
//!
//! Depends on `codec::json`, `bytes`, `vocab`, `shape`.
#![forbid(unsafe_code)]

use core::mem;

use super::{HEADER, METADATA};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, keywords};
#[cfg(target_pointer_width = "64")]
use crate::bytes::num::decimal;
use crate::bytes::text::Text;
use crate::codec::json::Reader;
use crate::error::ErrorKind;
use crate::format::TensorRecord;
use crate::place::Item;
#[cfg(target_pointer_width = "64")]
use crate::shape::ElementCount;
use crate::shape::{Shape, decimal_dimension};
use crate::vocab::DType;

/// The keys of an entry. Others are skipped.
pub(super) const FIELDS: Keywords = keywords![
    "dtype": Item::DType.code(),
    "shape": Item::Shape.code(),
    "data_offsets": Item::Offset.code(),
];

/// All dtypes of the reference implementation 0.8, the most frequent first.
const DTYPES: Keywords = keywords![
    "F32": DType::F32.short_code(),
    "BF16": DType::BF16.short_code(),
    "F16": DType::F16.short_code(),
    "I64": DType::I64.short_code(),
    "U8": DType::U8.short_code(),
    "F8_E4M3": DType::F8_E4M3FN.short_code(),
    "I32": DType::I32.short_code(),
    "U32": DType::U32.short_code(),
    "I8": DType::I8.short_code(),
    "BOOL": DType::BOOL.short_code(),
    "F64": DType::F64.short_code(),
    "F8_E5M2": DType::F8_E5M2.short_code(),
    "F8_E8M0": DType::F8_E8M0.short_code(),
    "F4": DType::F4_E2M1.short_code(),
    "F6_E2M3": DType::F6_E2M3.short_code(),
    "F6_E3M2": DType::F6_E3M2.short_code(),
    "F8_E4M3FNUZ": DType::F8_E4M3FNUZ.short_code(),
    "F8_E5M2FNUZ": DType::F8_E5M2FNUZ.short_code(),
    "I16": DType::I16.short_code(),
    "U16": DType::U16.short_code(),
    "U64": DType::U64.short_code(),
    "C64": DType::C64.short_code(),
];

/// An entry: a tensor, or the metadata.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) name: Text<'a>,
    /// The positions of the name and the value in the header.
    pub(super) at: u32,
    pub(super) position: u32,
    pub(super) dtype: Option<DType>,
    pub(super) shape: Shape<'a>,
    /// The product of the shape; `None` beyond 64 bits.
    pub(super) count: Option<u64>,
    /// Where the data begins and ends, relative to the start of all data.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// The positions of shape and offsets in the header; 0 where there is none.
    shape_at: u32,
    pub(super) offsets_at: u32,
}

impl<'a> Entry<'a> {
    /// Of no tensor.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))] // a single copy: it is large
    pub(super) const fn blank() -> Self {
        Self {
            name: Text::new(&[], false),
            at: 0,
            position: 0,
            dtype: None,
            shape: Shape::SCALAR,
            count: None,
            begin: 0,
            end: 0,
            shape_at: 0,
            offsets_at: 0,
        }
    }

    /// Whether it is not a tensor.
    pub(super) fn is_metadata(&self) -> bool {
        self.name.means(METADATA)
    }

    /// Where the data is, relative to the start of all data. (It ends after it begins, or the check says so.)
    pub(super) const fn data(&self) -> Extent {
        Extent::new(self.begin, self.end.wrapping_sub(self.begin))
    }

    /// How many bytes the shape and the dtype require; `None` beyond 64 bits.
    pub(super) fn expected_length(&self) -> Option<u64> {
        self.dtype?.byte_length(self.count?)
    }

    /// Whether the elements fill whole bytes.
    pub(super) fn fills_bytes(&self) -> bool {
        self.dtype.zip(self.count).is_some_and(|(dtype, count)| dtype.fills_bytes(count))
    }

    /// Reads the next member of the header of a file that has that many bytes of data; `false` after the last. The
    /// metadata is left to be read.
    #[inline(never)]
    pub(super) fn next(&mut self, reader: &mut Reader<'a>, data_length: u64) -> Option<bool> {
        if !reader.more(b'}')? {
            return Some(false);
        }
        self.at = reader.token_position();
        self.member(reader, data_length)?;
        Some(true)
    }

    /// Reads the member whose name is next, at [`at`](Self::at).
    #[inline(always)]
    pub(super) fn member(&mut self, reader: &mut Reader<'a>, data_length: u64) -> Option<()> {
        (reader.record, reader.item) = (self.at, Item::Name);
        self.name = reader.key()?;
        self.position = reader.token_position();
        if !self.is_metadata() {
            self.read(reader)?;
            self.check(reader, data_length)?;
        }
        Some(())
    }

    /// Fills in the record of the tensor, whose index is `index`.
    #[inline]
    pub(super) fn fill(&self, tensor: &mut TensorRecord<'a>, index: u32) {
        tensor.set_name(self.name);
        tensor.at = HEADER.saturating_add(self.at.into());
        tensor.index = index;
        tensor.dtype = self.dtype;
        tensor.shape = self.shape;
        tensor.components = self.position;
    }

    /// Reads the object of an entry.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn read(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        // Faster by half; a microcontroller needs the flash more.
        #[cfg(target_pointer_width = "64")]
        if let Some(rest) = self.read_usual(reader.rest()) {
            reader.skip_to(rest);
            reader.item = Item::Tensor; // as `read_any` leaves it, for a fault of what follows
            return Some(());
        }
        self.read_any(reader)
    }

    /// Reads an object at the front of `text` that is spelled as the reference implementation does, without white
    /// space, and returns what follows it. Nothing for any other: [`read_any`](Self::read_any) reads it, and says what is
    /// wrong.
    #[cfg(target_pointer_width = "64")]
    #[inline]
    fn read_usual(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        let position = self.position;
        let at = |rest: &[u8]| {
            let distance = u32::try_from(text.len().saturating_sub(rest.len())).unwrap_or(u32::MAX);
            position.saturating_add(distance)
        };
        let rest = text.strip_prefix(b"{\"dtype\":\"")?;
        let (name, rest) = rest.split_at_checked(rest.iter().take(12).position(|byte| *byte == b'"')?)?;
        self.dtype = Some(DType::from_keyword(DTYPES.number_of(name))?);
        let rest = rest.strip_prefix(b"\",\"shape\":")?;
        self.shape_at = at(rest);
        let lengths = rest.strip_prefix(b"[")?;
        let (mut rest, mut rank, mut count) = (lengths, 0_u32, ElementCount::ONE);
        if !rest.starts_with(b"]") {
            loop {
                let (length, after) = decimal(rest)?;
                count.multiply(length);
                rank = rank.saturating_add(1);
                rest = after;
                let Some(after) = rest.strip_prefix(b",") else { break };
                rest = after;
            }
        }
        (self.shape, self.count) = (Shape::new(lengths, rank, decimal_dimension), count.total());
        let rest = rest.strip_prefix(b"],\"data_offsets\":")?;
        self.offsets_at = at(rest);
        let (begin, rest) = decimal(rest.strip_prefix(b"[")?)?;
        let (end, rest) = decimal(rest.strip_prefix(b",")?)?;
        (self.begin, self.end) = (begin, end);
        rest.strip_prefix(b"]}")
    }

    /// Reads an object with keys in any order and any spelling, and with keys that are unknown.
    #[inline(never)]
    fn read_any(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        reader.item = Item::Tensor;
        reader.begin(b'{')?;
        (self.dtype, self.shape_at, self.offsets_at) = (None, 0, 0);
        while reader.more(b'}')? {
            reader.item = Item::Key;
            let key_at = reader.token_position();
            let field = Item::from_code(FIELDS.number_of_text(reader.key()?));
            let at = reader.token_position();
            let is_repeated = match field {
                Some(Item::DType) => self.dtype.replace(read_dtype(reader)?).is_some(),
                Some(Item::Shape) => {
                    self.shape = read_shape(reader)?;
                    self.count = self.shape.element_count();
                    mem::replace(&mut self.shape_at, at) != 0
                }
                Some(_) => {
                    (self.begin, self.end) = offsets(reader)?;
                    mem::replace(&mut self.offsets_at, at) != 0
                }
                None => {
                    reader.skip_value(2)?;
                    false
                }
            };
            if is_repeated {
                return fault(reader, ErrorKind::RepeatedKey, Item::Key, key_at);
            }
            reader.item = Item::Tensor;
        }
        let missing = match (self.dtype, self.shape_at, self.offsets_at) {
            (None, _, _) => Item::DType,
            (_, 0, _) => Item::Shape,
            (_, _, 0) => Item::Offset,
            _ => return Some(()),
        };
        fault(reader, ErrorKind::MissingKey, missing, self.position)
    }

    /// Holds the tensor to the rules of a file that has that many bytes of data.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn check(&self, reader: &mut Reader<'a>, data_length: u64) -> Option<()> {
        let expected = self.expected_length();
        let (kind, item, at) = if self.end < self.begin {
            (ErrorKind::NegativeLength, Item::Offset, self.offsets_at)
        } else if self.end > data_length {
            (ErrorKind::OutOfFile, Item::Offset, self.offsets_at)
        } else if expected.is_none() {
            (ErrorKind::ShapeOverflow, Item::Shape, self.shape_at)
        } else if expected != Some(self.data().length) || !self.fills_bytes() {
            (ErrorKind::SizeMismatch, Item::Offset, self.offsets_at)
        } else {
            return Some(());
        };
        fault(reader, kind, item, at)
    }
}

/// Moves past the value of a member of the header, which has been read before.
pub(super) fn pass_over(reader: &mut Reader<'_>) -> Option<()> {
    // As for `Entry::read`.
    #[cfg(target_pointer_width = "64")]
    if let Some(rest) = after_usual(reader.rest()) {
        reader.skip_to(rest);
        return Some(());
    }
    reader.skip_value(1)
}

/// Returns what follows an object that is spelled as the reference implementation does; nothing for any other.
#[cfg(target_pointer_width = "64")]
#[inline]
fn after_usual(text: &[u8]) -> Option<&[u8]> {
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

/// Stops with a fault of `item`.
fn fault<T>(reader: &mut Reader<'_>, kind: ErrorKind, item: Item, at: u32) -> Option<T> {
    reader.item = item;
    reader.stop_at(kind, at)
}

/// Reads a dtype.
fn read_dtype(reader: &mut Reader<'_>) -> Option<DType> {
    reader.item = Item::DType;
    let at = reader.token_position();
    let name = reader.string()?;
    DType::from_keyword(DTYPES.number_of_text(name)).or_else(|| reader.stop_at(ErrorKind::UnknownDType, at))
}

/// Reads a list of lengths.
fn read_shape<'a>(reader: &mut Reader<'a>) -> Option<Shape<'a>> {
    reader.item = Item::Shape;
    reader.begin(b'[')?;
    let (lengths, mut rank) = (reader.rest(), 0_u32);
    while reader.more(b']')? {
        reader.integer()?;
        rank = rank.saturating_add(1);
    }
    Some(Shape::new(lengths, rank, decimal_dimension))
}

/// Reads the offsets of a tensor: where its data begins and ends.
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(super) fn offsets(reader: &mut Reader<'_>) -> Option<(u64, u64)> {
    reader.item = Item::Offset;
    reader.begin(b'[')?;
    let begin = reader.integer()?;
    reader.expect(b',', ErrorKind::UnexpectedType)?;
    let end = reader.integer()?;
    reader.expect(b']', ErrorKind::UnexpectedType)?;
    Some((begin, end))
}

/// Holds the metadata to be an object of texts.
#[inline(never)]
pub(super) fn check_metadata(reader: &mut Reader<'_>) -> Option<()> {
    reader.item = Item::Attributes;
    reader.begin(b'{')?;
    while reader.more(b'}')? {
        reader.item = Item::Key;
        reader.key()?;
        reader.item = Item::Value;
        reader.string()?;
    }
    Some(())
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::path::Path;
    use std::prelude::v1::*;
    use std::{format, fs};

    use super::*;

    /// Reads the entry at `position` both ways; whether it is one in the usual spelling, after which both are the same.
    fn read_both(text: &[u8], position: u32) -> bool {
        let (mut usual, mut any) = (Entry { position, ..Entry::blank() }, Entry { position, ..Entry::blank() });
        let Some(rest) = usual.read_usual(&text[position as usize..]) else { return false };
        let mut reader = Reader::new(text, position);
        let all = |entry: &Entry<'_>| {
            let Entry { name: _, at: _, position, dtype, shape, count, begin, end, shape_at, offsets_at } = *entry;
            let lengths = shape.iter().collect::<Vec<_>>();
            (dtype, lengths, shape.rank(), count, begin, end, [position, shape_at, offsets_at])
        };
        assert!(any.read_any(&mut reader).is_some(), "{:?}", String::from_utf8_lossy(text));
        assert_eq!(all(&any), all(&usual), "{:?}", String::from_utf8_lossy(text));
        assert_eq!(reader.rest(), rest);
        true
    }

    /// The headers of all fixtures that have one.
    fn headers(folder: &Path, all: &mut Vec<Vec<u8>>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                headers(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "safetensors") {
                let bytes = fs::read(path).unwrap();
                let Some((size, rest)) = bytes.split_first_chunk() else { continue };
                let size = usize::try_from(u64::from_le_bytes(*size)).unwrap_or(usize::MAX);
                all.extend(rest.get(..size).map(<[u8]>::to_vec));
            }
        }
    }

    #[test]
    fn both_ways_to_read_an_entry_give_the_same() {
        let mut all = Vec::new();
        headers(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/safetensors"), &mut all);
        let (mut usual, mut others) = (0, 0);
        for header in &all {
            // Wherever an object may begin.
            for (position, _) in header.iter().enumerate().filter(|(_, byte)| **byte == b'{') {
                if read_both(header, u32::try_from(position).unwrap()) { usual += 1 } else { others += 1 }
            }
        }
        assert!(usual > 1000 && others > 100, "{usual} {others}");
    }

    #[test]
    fn both_ways_to_read_a_mutated_entry_give_the_same() {
        let mut seed = 1_u64;
        let mut random = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound.max(1)
        };
        let entries = [
            r#"{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b""#,
            r#"{"dtype":"F8_E4M3FNUZ","shape":[],"data_offsets":[10,11]}}"#,
            r#"{"dtype":"U8","shape":[18446744073709551615,0],"data_offsets":[0,18446744073709551615]} ,"#,
        ];
        let pieces = [
            "\"",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "0",
            "1",
            "9",
            "00",
            "-",
            ".",
            "e1",
            " ",
            "\t",
            "\\u0055",
            "U8",
            "F32",
            "BF16",
            "18446744073709551616",
            "\"x\":1,",
            "\"dtype\":\"U8\",",
            "],[",
            "1,",
            ",1",
            "",
        ];
        let (mut usual, mut others) = (0, 0);
        for _ in 0..100_000 {
            let mut text = entries[random(entries.len())].as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(text.len());
                let piece = pieces[random(pieces.len())].bytes();
                match random(6) {
                    0 if at < text.len() => text[at] ^= 1 << random(8),
                    1 => drop(text.splice(at..at, piece)),
                    2 => drop(text.splice(at..(at + 1 + random(3)).min(text.len()), piece)),
                    3 => text.truncate(at.max(1)),
                    _ => {
                        // Other digits.
                        let digits = text.iter().skip(at).position(u8::is_ascii_digit).map(|place| at + place);
                        let Some(digits) = digits else { continue };
                        let number = format!("{}", random(30));
                        drop(text.splice(digits..=digits, number.bytes()));
                    }
                }
            }
            if read_both(&text, 0) { usual += 1 } else { others += 1 }
        }
        assert!(usual > 10_000 && others > 10_000, "{usual} {others}");
    }
}
