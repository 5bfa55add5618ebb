//! Reads the members of the header: entries of tensors in any spelling, and the metadata. [`fast`](super::fast) reads
//! most of them on hosts.
#![forbid(unsafe_code)]

use core::mem;

use super::dtypes::DTYPES;
use super::entry::Entry;
use super::fast::offsets as fast_offsets;
use super::header::{HEADER, SafetensorsFile};
use crate::bytes::keywords::{Keywords, keywords};
use crate::codec::json::Reader;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};
use crate::format::TensorRecord;
use crate::types::DType;
use crate::types::shape::{Shape, decimal_dimension};

/// The keys of an entry. Unknown keys are skipped.
pub(super) const FIELDS: Keywords = keywords![
    "dtype": Part::DType.code(),
    "shape": Part::Shape.code(),
    "data_offsets": Part::Offset.code(),
];

impl<'a> SafetensorsFile<'a> {
    /// Reads the tensor after `position` into `entry`, and advances `position`. Returns `false` after the last.
    pub(super) fn next_entry(&self, position: &mut u32, entry: &mut Entry<'a>) -> Result<bool> {
        let mut reader = self.reader(*position);
        let mut next = || {
            while entry.next(&mut reader, self.data().length)? {
                if !entry.is_metadata() {
                    return Some(true);
                }
                reader.skip_value(1)?;
            }
            Some(false)
        };
        let next = next();
        let is_one = next.ok_or_else(|| reader.error(Format::Safetensors, HEADER))?;
        if is_one {
            *position = reader.position(); // unchanged at the end
        }
        Ok(is_one)
    }
}

impl<'a> Entry<'a> {
    /// Reads the next member of the header. Returns `false` after the last. `data_length` is the length of the data in
    /// the file. The caller must read the value of the metadata.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub(super) fn next(&mut self, reader: &mut Reader<'a>, data_length: u64) -> Option<bool> {
        // The fast path saves two thirds of the time. Chips need the flash more.
        if let Some(rest) = self.next_fast(reader, data_length) {
            reader.skip_to(rest);
            // The state that `next_general` leaves: an error in the text that follows reports it.
            (reader.record, reader.item) = (self.at, Part::Tensor);
            return Some(true);
        }
        self.next_general(reader, data_length)
    }

    /// Reads the next member in any spelling, or reports its fault.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn next_general(&mut self, reader: &mut Reader<'a>, data_length: u64) -> Option<bool> {
        if !reader.more(b'}')? {
            return Some(false);
        }
        self.at = reader.token_position();
        self.member(reader, data_length)?;
        Some(true)
    }

    /// Reads the member at [`at`](Self::at), the reader's position, in any spelling, or reports its fault.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    pub(super) fn member(&mut self, reader: &mut Reader<'a>, data_length: u64) -> Option<()> {
        (reader.record, reader.item) = (self.at, Part::Name);
        self.name = reader.key()?;
        self.position = reader.token_position();
        if !self.is_metadata() {
            self.read(reader)?;
            self.check(reader, data_length)?;
        }
        Some(())
    }

    /// Reads the object of an entry.
    pub(super) fn read(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        // The fast path, as in `next`.
        if let Some(rest) = self.read_fast(reader, reader.rest()) {
            reader.skip_to(rest);
            reader.item = Part::Tensor; // the state that `read_general` leaves, for later errors
            return Some(());
        }
        self.read_general(reader)
    }

    /// Reads an object with known and unknown keys, in any order and any spelling.
    #[inline(never)]
    fn read_general(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        reader.item = Part::Tensor;
        reader.begin(b'{')?;
        (self.dtype, self.shape_at, self.offsets_at) = (None, 0, 0);
        while reader.more(b'}')? {
            reader.item = Part::Key;
            let key_at = reader.token_position();
            let field = Part::from_code(FIELDS.number_of_text(reader.key()?));
            let at = reader.token_position();
            let is_repeated = match field {
                Some(Part::DType) => self.dtype.replace(read_dtype(reader)?).is_some(),
                Some(Part::Shape) => {
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
                return fault(reader, ErrorKind::RepeatedKey, Part::Key, key_at);
            }
            reader.item = Part::Tensor;
        }
        let missing = match (self.dtype, self.shape_at, self.offsets_at) {
            (None, _, _) => Part::DType,
            (_, 0, _) => Part::Shape,
            (_, _, 0) => Part::Offset,
            _ => return Some(()),
        };
        fault(reader, ErrorKind::MissingKey, missing, self.position)
    }

    /// Checks the tensor by the rules for a file with `data_length` bytes of data.
    pub(super) fn check(&self, reader: &mut Reader<'a>, data_length: u64) -> Option<()> {
        let Some((kind, item)) = self.fault(data_length) else { return Some(()) };
        let at = if item == Part::Shape { self.shape_at } else { self.offsets_at };
        fault(reader, kind, item, at)
    }

    /// Reads the entry of `tensor`, which has been read before.
    #[inline(always)]
    pub(super) fn reread(&mut self, reader: &mut Reader<'a>, tensor: &TensorRecord<'a>) -> Option<()> {
        // The record stores everything but the offsets. On a chip, reading the whole entry takes less code.
        #[cfg(not(small))]
        {
            (self.dtype, self.count, self.offsets_at) =
                (tensor.dtype, tensor.shape.element_count(), tensor.components);
            (self.begin, self.end) = offsets(reader)?;
            Some(())
        }
        #[cfg(small)]
        {
            self.position = tensor.components;
            self.read(reader)
        }
    }
}

/// Stops with an error in `item`, which is at `at`.
fn fault<T>(reader: &mut Reader<'_>, kind: ErrorKind, item: Part, at: u32) -> Option<T> {
    reader.item = item;
    reader.stop_at(kind, at)
}

/// Reads a dtype.
fn read_dtype(reader: &mut Reader<'_>) -> Option<DType> {
    reader.item = Part::DType;
    let at = reader.token_position();
    let name = reader.string()?;
    DType::from_keyword(DTYPES.number_of_text(name)).or_else(|| reader.stop_at(ErrorKind::UnknownDType, at))
}

/// Reads a list of lengths.
fn read_shape<'a>(reader: &mut Reader<'a>) -> Option<Shape<'a>> {
    reader.item = Part::Shape;
    reader.begin(b'[')?;
    let (lengths, mut rank) = (reader.rest(), 0_u32);
    while reader.more(b']')? {
        reader.integer()?;
        rank = rank.saturating_add(1);
    }
    Some(Shape::new(lengths, rank, decimal_dimension))
}

/// Reads the offsets of a tensor: the start and the end of its data.
#[cfg_attr(small, inline(never))]
pub(super) fn offsets(reader: &mut Reader<'_>) -> Option<(u64, u64)> {
    // The fast path, as in `Entry::next`.
    if let Some((offsets, rest)) = fast_offsets(reader.rest()) {
        reader.skip_to(rest);
        return Some(offsets);
    }
    reader.item = Part::Offset;
    reader.begin(b'[')?;
    let begin = reader.integer()?;
    reader.expect(b',', ErrorKind::UnexpectedType)?;
    let end = reader.integer()?;
    reader.expect(b']', ErrorKind::UnexpectedType)?;
    Some((begin, end))
}

/// Checks that the metadata is an object of strings. Returns true for `null`, which MLX writes into files without
/// metadata.
#[inline(never)]
pub(super) fn check_metadata(reader: &mut Reader<'_>) -> Option<bool> {
    reader.item = Part::Attributes;
    // `token_position` has skipped the space before the value.
    if reader.rest().first() == Some(&b'n') {
        return reader.skip_value(1).map(|()| true);
    }
    reader.begin(b'{')?;
    while reader.more(b'}')? {
        reader.item = Part::Key;
        reader.key()?;
        reader.item = Part::Value;
        reader.string()?;
    }
    Some(false)
}

#[cfg(all(test, not(small)))]
mod tests {
    use std::path::Path;
    use std::prelude::v1::*;
    use std::string::ToString;
    use std::{format, fs};

    use super::*;

    /// Reads the entry at `position` with the fast path and with the general parser. Returns true if the fast path
    /// accepts the entry; then both results must agree.
    fn read_both(text: &[u8], position: u32) -> bool {
        let (mut fast, mut general) = (Entry { position, ..Entry::blank() }, Entry { position, ..Entry::blank() });
        let Some(rest) = fast.read_fast(&Reader::new(text, 0), &text[position as usize..]) else { return false };
        let mut reader = Reader::new(text, position);
        let all = |entry: &Entry<'_>| {
            let Entry { name: _, at: _, position, dtype, shape, count, begin, end, shape_at, offsets_at } = *entry;
            let lengths = shape.iter().collect::<Vec<_>>();
            (dtype, lengths, shape.rank(), count, begin, end, [position, shape_at, offsets_at])
        };
        assert!(general.read_general(&mut reader).is_some(), "{:?}", String::from_utf8_lossy(text));
        assert_eq!(all(&general), all(&fast), "{:?}", String::from_utf8_lossy(text));
        assert_eq!(reader.rest(), rest);
        true
    }

    /// Collects the headers of all fixtures that have one.
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
        let (mut fast, mut others) = (0, 0);
        for header in &all {
            // Tries every position at which an object may begin.
            for (position, _) in header.iter().enumerate().filter(|(_, byte)| **byte == b'{') {
                if read_both(header, u32::try_from(position).unwrap()) { fast += 1 } else { others += 1 }
            }
        }
        assert!(fast > 1000 && others > 100, "{fast} {others}");
    }

    #[test]
    fn both_ways_to_read_a_mutated_entry_give_the_same() {
        let mut random_of = crate::bytes::tests::random(1);
        let mut random = |bound: usize| random_of(bound.max(1) as u64) as usize;
        let entries = [
            r#"{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b""#,
            r#"{"dtype":"F8_E4M3FNUZ","shape":[],"data_offsets":[10,11]}}       "#,
            r#"{"dtype":"BF16","shape":[123456789012345,0],"data_offsets":[12345678,12345678]}}       "#,
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
        let (mut fast, mut others) = (0, 0);
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
                        // Replaces a digit by another number.
                        let digits = text.iter().skip(at).position(u8::is_ascii_digit).map(|place| at + place);
                        let Some(digits) = digits else { continue };
                        let number = format!("{}", random(30));
                        drop(text.splice(digits..=digits, number.bytes()));
                    }
                }
            }
            if read_both(&text, 0) { fast += 1 } else { others += 1 }
        }
        assert!(fast > 10_000 && others > 10_000, "{fast} {others}");
    }

    /// Reads all members of a header, with the fast path if `fast`. Returns the members and the error.
    fn members(text: &[u8], fast: bool) -> (Vec<String>, String) {
        let (mut reader, mut entry, mut all) = (Reader::new(text, 0), Entry::blank(), Vec::new());
        let _ = reader.begin(b'{');
        let end = loop {
            let next = if fast { entry.next(&mut reader, 1 << 20) } else { entry.next_general(&mut reader, 1 << 20) };
            match next {
                Some(true) if entry.is_metadata() => {
                    if check_metadata(&mut reader).is_none() {
                        break None;
                    }
                }
                Some(true) => {
                    let Entry { name, at, position, dtype, shape, count, begin, end, shape_at, offsets_at } = entry;
                    let numbers = [at, position, shape_at, offsets_at, reader.position()];
                    all.push(format!("{name} {dtype:?} {shape:?} {count:?} {begin} {end} {numbers:?}"));
                }
                other => break other,
            }
        };
        (all, format!("{end:?} {:?}", reader.fault()))
    }

    /// Returns the names in a header and their positions, found with the fast path if `fast`.
    fn names(text: &[u8], fast: bool) -> Vec<(String, u32)> {
        let (mut reader, mut all) = (Reader::new(text, 0), Vec::new());
        let _ = reader.begin(b'{');
        loop {
            if let Some((name, at)) = fast.then(|| super::super::fast::skip_unchecked(&mut reader)).flatten() {
                all.push((format!("{name}"), at));
                continue;
            }
            if reader.more(b'}') != Some(true) {
                return all;
            }
            let at = reader.token_position();
            let name = reader.key().map(|name| format!("{name}"));
            all.extend(name.zip(Some(at)).filter(|(name, _)| name != "__metadata__"));
            if reader.skip_value(1).is_none() {
                return all;
            }
        }
    }

    /// Reads all tensors of a valid header, with the fast path for checked entries if `fast`.
    fn tensors(text: &[u8], fast: bool) -> Vec<String> {
        let (mut reader, mut entry, mut all) = (Reader::new(text, 0), Entry::blank(), Vec::new());
        let _ = reader.begin(b'{');
        loop {
            let mut tensor = TensorRecord::blank();
            if fast && super::super::fast::read_next(&mut reader, &mut tensor).is_some() {
                let (mut alone, at) = (TensorRecord::blank(), u32::try_from(tensor.at - HEADER).unwrap());
                super::super::fast::read_alone(&Reader::new(text, at), at, &mut alone).unwrap();
                assert_eq!(format!("{alone:?}"), format!("{tensor:?}"));
            } else if entry.next_general(&mut reader, 1 << 20) != Some(true) {
                return all;
            } else if entry.is_metadata() {
                check_metadata(&mut reader).unwrap();
                continue;
            } else {
                entry.fill(&mut tensor, 0);
            }
            let lengths = tensor.shape.iter().collect::<Vec<_>>();
            all.push(format!("{tensor:?} {} {lengths:?} {:?}", reader.position(), tensor.shape.element_count()));
        }
    }

    #[test]
    fn both_ways_to_read_a_header_give_the_same() {
        let mut all = Vec::new();
        headers(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/safetensors"), &mut all);
        let mut random_of = crate::bytes::tests::random(1);
        let mut random = |bound: usize| random_of(bound.max(1) as u64) as usize;
        let (mut valid, mut others) = (0, 0);
        for header in all.iter().filter(|header| header.len() < 3000) {
            for round in 0..60 {
                let mut text = header.clone();
                for _ in 0..round.min(2) {
                    let (at, from) = (random(text.len()), random(text.len()));
                    match random(4) {
                        0 if at < text.len() => text[at] ^= 1 << random(8),
                        1 => text.truncate(at),
                        2 => drop(text.splice(at..at, header.iter().skip(from).take(random(9)).copied())),
                        _ => drop(text.splice(at..(at + random(4)).min(text.len()), *b",")),
                    }
                }
                let fast = members(&text, true);
                assert_eq!(fast, members(&text, false), "{:?}", text.escape_ascii().to_string());
                if fast.1.starts_with("Some") {
                    assert_eq!(names(&text, true), names(&text, false), "{:?}", text.escape_ascii().to_string());
                    assert_eq!(tensors(&text, true), tensors(&text, false), "{:?}", text.escape_ascii().to_string());
                    valid += 1;
                } else {
                    others += 1;
                }
            }
        }
        assert!(valid > 150 && others > 5000, "{valid} {others}");
    }
}
