//! Compares the names of tensors, which must be distinct, and the extents of their data, which must not overlap.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::entry::Entry;
use super::header::SafetensorsFile;
use crate::codec::json::Reader;
use crate::duplicates::{self, Distinct};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};
use crate::format::JsonStr;

/// A name, or the extent of data. (A single type, so that the code that compares them exists only once.)
#[derive(Clone, Copy)]
pub(super) enum Unique<'a> {
    Name(JsonStr<'a>),
    /// Only for tensors that are not empty.
    Data(Span<'a>),
}

/// An extent, relative to the start of the data. Its end is read only if it is needed: the white space before the end
/// may be nearly as long as the file.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    text: &'a [u8],
    begin: u64,
    /// The end of the extent; 0 if it has not been read yet. Chips read few tensors and have little stack, so they omit
    /// it.
    #[cfg(not(small))]
    end: u64,
    /// The position in the text of the first of the two offsets.
    position: u32,
}

impl Span<'_> {
    fn end(self) -> u64 {
        #[cfg(not(small))]
        if self.end > 0 {
            return self.end;
        }
        let mut reader = Reader::new(self.text, self.position);
        let mut end = || {
            reader.integer()?;
            reader.expect(b',', ErrorKind::UnexpectedType)?;
            reader.integer()
        };
        end().unwrap_or(self.begin)
    }
}

impl duplicates::Entry for Unique<'_> {
    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Name(a), Self::Name(b)) => a.order(b),
            // Extents that begin at the same byte overlap in either order, since they are not empty.
            (Self::Data(a), Self::Data(b)) => a.begin.cmp(&b.begin),
            _ => Ordering::Equal, // names and extents are never mixed
        }
    }

    fn clashes_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Name(a), Self::Name(b)) => a.clashes_with(b),
            (Self::Data(a), Self::Data(b)) => {
                let (first, second) = if a.begin <= b.begin { (a, b) } else { (b, a) };
                second.begin < first.end()
            }
            _ => false,
        }
    }

    #[inline(never)] // keeps this stack frame out of callers
    fn hash(self) -> u32 {
        match self {
            Self::Name(name) => name.hash(),
            Self::Data(_) => 0, // the hash of every extent
        }
    }
}

/// The names of all tensors, by their positions, or the extents of their data, by the positions of the first offsets.
pub(super) struct Uniques<'r, 'a> {
    file: &'r SafetensorsFile<'a>,
    /// The part of each entry that is compared: the name or the offsets.
    item: Part,
    error: Option<Error>,
    /// The entry that was read last.
    entry: Entry<'a>,
}

impl<'r, 'a> Uniques<'r, 'a> {
    pub(super) fn of(file: &'r SafetensorsFile<'a>, item: Part) -> Self {
        Self { file, item, error: None, entry: Entry::blank() }
    }

    /// Reads the next name or extent. Returns its position, and the end of its data.
    fn read(&mut self, place: &mut u32) -> Result<Option<(u32, u64)>> {
        let entry = &mut self.entry;
        while self.file.next_entry(place, entry)? {
            if self.item == Part::Name {
                return Ok(Some((entry.at, 0)));
            }
            if entry.begin < entry.end {
                let mut reader = self.file.reader(entry.offsets_at);
                let _ = reader.begin(b'['); // has been read before
                return Ok(Some((reader.token_position(), entry.end)));
            }
        }
        Ok(None)
    }

    /// Returns the name or the extent at `position`. `end` is the end of the data, or 0 if it has not been read.
    fn item(&self, position: u32, end: u64) -> Unique<'a> {
        let text = self.file.header.bytes;
        if self.item == Part::Name {
            return Unique::Name(JsonStr::at(text, position));
        }
        #[cfg(small)]
        let _ = end;
        Unique::Data(Span {
            text,
            begin: self.file.reader(position).integer().unwrap_or(0),
            #[cfg(not(small))]
            end,
            position,
        })
    }

    /// The error for the entry that was read last, whose name or extent clashes with an earlier one. The error is at
    /// `position` for a name, otherwise at the list of offsets in the entry.
    pub(super) fn clash(&self, kind: ErrorKind, position: u32) -> Error {
        let Entry { at, offsets_at, .. } = self.entry;
        let (at, distance) = match self.item {
            Part::Name => (position, NO_ENTRY),
            _ => (offsets_at, offsets_at.saturating_sub(at)),
        };
        self.file.error(kind, self.item, at).after_entry(distance)
    }
}

impl<'a> Distinct for Uniques<'_, 'a> {
    type Entry = Unique<'a>;
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(Unique<'a>, u32)> {
        let next = self.read(place).unwrap_or_else(|error| {
            self.error = Some(error);
            None
        });
        next.map(|(position, end)| (self.item(position, end), position))
    }

    fn at(&self, position: u32) -> Unique<'a> {
        self.item(position, 0)
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::{Part, Uniques};
    use crate::bytes::source::{Input, ParseContext};
    use crate::duplicates::find_duplicate_small;
    use crate::error::ErrorKind;
    use crate::error::warning::Warning;
    use crate::format::safetensors::{START, SafetensorsFile};
    use crate::format::{ComponentRecord, Cursor, FileFormat as _, NamedTensors as _, Summary, TensorRecord};

    /// A file with tensors at these extents, and this many spaces before the end of each.
    fn file(places: &[(u64, u64, usize)]) -> Vec<u8> {
        let entry = |(i, (begin, end, spaces)): (usize, &(u64, u64, usize))| {
            let (length, space) = (end - begin, " ".repeat(*spaces));
            format!(r#""{i}":{{"dtype":"U8","shape":[{length}],"data_offsets":[{begin},{space}{end}]}}"#)
        };
        let header = format!("{{{}}}", places.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
        let length = places.iter().map(|(_, end, _)| *end).max().unwrap_or(0);
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + length as usize, 0);
        bytes
    }

    /// Returns true if any of the extents overlap, using the search for chips.
    fn has_overlap(bytes: &[u8]) -> bool {
        let file = SafetensorsFile::open(&ParseContext::of(Input::from(bytes))).ok().unwrap();
        let mut uniques = Uniques::of(&file, Part::Offset);
        let clash = find_duplicate_small(&mut uniques, START);
        assert!(uniques.error.is_none());
        clash.is_some()
    }

    #[test]
    fn overlaps_are_found_without_memory() {
        let mut random = crate::bytes::tests::random(5);
        let mut found = [0; 2];
        for _ in 0..1000 {
            let places: Vec<_> = (0..random(12))
                .map(|_| {
                    let begin = random(100);
                    (begin, begin + 1 + random(6), random(3) as usize)
                })
                .collect();
            let is_apart = |a: &(u64, u64, usize), b: &(u64, u64, usize)| a.1 <= b.0 || b.1 <= a.0;
            let expected = (0..places.len()).any(|i| places[..i].iter().any(|other| !is_apart(other, &places[i])));
            assert_eq!(has_overlap(&file(&places)), expected, "{places:?}");
            found[usize::from(expected)] += 1;
        }
        assert!(found.iter().all(|count| *count > 100), "{found:?}");
    }

    /// Bytes may change in a mapping. Entries that can no longer be read must not count as distinct.
    #[test]
    fn bytes_that_have_changed_are_an_error() {
        let file = b"\x69\0\0\0\0\0\0\0{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},\
            \"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}..";
        let mut file = SafetensorsFile::open(&ParseContext::of(file[..].into())).unwrap();
        let mut summary = Summary::default();
        file.read(&mut summary).unwrap();
        assert!(!file.are_names_sorted && !file.are_places_sorted && summary.tensor_count == 2);
        let (names, places) = (Warning::NamesUnchecked.bit(), Warning::ExtentsUnchecked.bit()); // as if there were many
        assert!(file.check(&Summary::of_one(names | places), &mut [0; 2]).is_ok());
        let whole = file.header.bytes;
        let mut tensor = TensorRecord::blank();
        assert!(file.next_tensor(&mut { Cursor::START }, &mut tensor).unwrap());
        file.header.bytes = &whole[..whole.len() / 2 - 3]; // cut in the offsets of the first tensor
        let error = file.next_component(&tensor, &mut { Cursor::START }, &mut ComponentRecord::blank()).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::UnexpectedType, Part::Offset));
        file.header.bytes = &whole[..20]; // cut in the entry of the first tensor
        assert_eq!(file.tensor_at(START, 0, &mut TensorRecord::blank()).unwrap_err().kind(), ErrorKind::Malformed);
        for unchecked in [names | places, places] {
            file.header.bytes = &whole[..whole.len() - 3];
            let error = file.check(&Summary::of_one(unchecked), &mut [0; 2]).unwrap_err();
            assert_eq!((error.kind(), error.part()), (ErrorKind::UnexpectedType, Part::Offset));
        }
    }
}
