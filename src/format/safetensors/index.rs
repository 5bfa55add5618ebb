//! The index of a model in several files, `model.safetensors.index.json`, which maps each tensor to its file.
//!
//! The index is JSON, not a tensor file:
//!
//! ```text
//! {"metadata": {"total_size": 1234, ...}, "weight_map": {name of a tensor: name of its file, ...}}
//! ```
//!
//! The index has no specification: this module reads what the common tools write. Some tools write the
//! sum of the tensors as `total_size`, others the sum of the files, so nothing depends on it. Values of the map that
//! are not strings, as found in indices written by hand, are ignored.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;
use core::slice;

use super::header::MAX_HEADER;
use crate::attributes::Attributes;
use crate::bytes::extent::Region;
use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::codec::json::{NO_RECORD, Reader, Token};
use crate::duplicates::{self, Compared, Distinct, Entry as _, Memory, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::JsonStr;

/// The keys of an index. Unknown keys are skipped.
pub(super) const FIELDS: Keywords = keywords![
    "weight_map": Part::Tensors.code(),
    "metadata": Part::Attributes.code(),
];

/// The index of a model in several files.
///
/// Does not open any file. A program opens the files that it needs in the usual way, and finds the tensors in them.
///
/// ```
/// use tenslice::safetensors::Index;
///
/// let text = br#"{"metadata": {"total_size": 24}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#;
/// let index = Index::open(text)?;
/// assert_eq!(index.find("b")?, "2.safetensors");
///
/// let mut scratch = vec![0; index.tensor_count() as usize];
/// for file in index.files(&mut scratch)? {
///     println!("{file}"); // a path from the folder of the index, which does not lead out of it
/// }
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    text: &'a [u8],
    /// The positions of the two objects. The position of the metadata is 0 if there is none.
    map: u32,
    metadata: u32,
    tensors: u32,
    warnings: Warnings,
    is_sorted: bool,
}

/// A tensor, and the file that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// The name of the tensor.
    pub name: Text<'a>,
    /// The path of the file from the folder of the index, such as `model-00001-of-00002.safetensors`. `/` separates
    /// folders. The path has been checked: it does not lead out of the folder of the index.
    pub file: Text<'a>,
}

/// An entry, and its positions in the text.
pub(crate) struct ReadEntry<'a> {
    pub(crate) entry: IndexEntry<'a>,
    pub(crate) name_at: u32,
    file_at: u32,
}

/// The tensors of an index. See [`Index::entries`].
#[derive(Clone, Copy, Debug)]
pub struct IndexEntries<'a> {
    text: &'a [u8],
    /// The position after the last entry that was read, or the start of the map.
    position: u32,
    error: Option<Error>,
}

/// The files of an index. See [`Index::files`].
#[derive(Clone, Debug)]
pub struct Files<'s, 'a> {
    text: &'a [u8],
    /// The positions of the names in the text.
    positions: slice::Iter<'s, u32>,
}

impl<'a> Index<'a> {
    /// Opens an index that is in memory. Checks all of it in one pass. Copies and allocates nothing.
    ///
    /// # Errors
    /// Fails if the index is not well-formed, has no `weight_map`, has a name twice, or names a file that is not in its
    /// folder or below: an absolute path, a backslash, a drive, `..`.
    pub fn open(text: &'a [u8]) -> Result<Self> {
        let mut index =
            Self { text, map: 0, metadata: 0, tensors: 0, warnings: Warnings::default(), is_sorted: true };
        if to_u64(text.len()) > MAX_HEADER {
            return Err(error(ErrorKind::ManifestTooLarge, Part::File, 0));
        }
        let mut reader = Reader::new(text, 0);
        let read = index.read(&mut reader);
        read.ok_or_else(|| reader.error(Format::SafetensorsIndex, 0))?;
        index.warnings = index.compare(&mut Stack)?;
        Ok(index)
    }

    fn read(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        reader.begin(b'{')?;
        let mut has_metadata = false;
        while reader.more(b'}')? {
            reader.item = Part::Key;
            let at = reader.token_position();
            let field = Part::from_code(FIELDS.number_of_text(reader.key()?));
            let position = reader.token_position();
            let is_repeated = match field {
                Some(Part::Tensors) => core::mem::replace(&mut self.map, position) != 0,
                Some(_) => core::mem::replace(&mut has_metadata, true),
                None => false,
            };
            if is_repeated {
                return reader.stop_at(ErrorKind::RepeatedKey, at);
            }
            match field {
                Some(Part::Tensors) => self.read_map(reader)?,
                Some(_) => {
                    if matches!(reader.value()?, Token::Object(_)) {
                        self.metadata = position;
                    }
                }
                None => reader.skip_value(1)?,
            }
            (reader.record, reader.item) = (NO_RECORD, Part::Header);
        }
        reader.finish()?;
        if self.map == 0 {
            reader.item = Part::Tensors;
            return reader.stop_at(ErrorKind::MissingKey, 0);
        }
        Some(())
    }

    /// Reads the map, and checks the names of files.
    fn read_map(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        reader.item = Part::Tensors;
        reader.begin(b'{')?;
        let mut last = None;
        while reader.more(b'}')? {
            reader.item = Part::Name;
            let name = reader.key()?;
            reader.item = Part::Value;
            let at = reader.token_position();
            if let Token::Text(file) = reader.value()? {
                if !is_below(file) {
                    return reader.stop_at(ErrorKind::InvalidName, at);
                }
                self.is_sorted &= last.is_none_or(|last: Text<'_>| last < name);
                last = Some(name);
                self.tensors = self.tensors.saturating_add(1);
            }
        }
        Some(())
    }

    /// Detects equal names. `memory` comes from the caller, or is the little that is available on opening.
    fn compare(&self, memory: &mut (impl Memory + ?Sized)) -> Result<Warnings> {
        let mut warnings = Warnings::default();
        if !self.is_sorted {
            let keys = &mut Keys { text: self.text, error: None };
            match memory.compare(keys, self.map.saturating_add(1), self.tensors)? {
                Compared::Clash(at) => return Err(error(ErrorKind::RepeatedName, Part::Name, at)),
                Compared::TooMany => warnings.add(Warning::NamesUnchecked),
                Compared::Distinct => {}
            }
        }
        Ok(warnings)
    }

    /// Returns the warnings: at most [`NamesUnchecked`](Warning::NamesUnchecked).
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        self.warnings
    }

    /// Compares all names exactly if [`open`](Self::open) could not, for lack of memory. Returns the warnings that
    /// remain. One element of `scratch` for each tensor is always enough. With fewer elements, the names are read once
    /// for each part that fits, at most eight times.
    ///
    /// # Errors
    /// `RepeatedName` if two names are equal. `OutOfScratch` if there are more than eight names for each element.
    pub fn check(&self, scratch: &mut [u32]) -> Result<Warnings> {
        self.compare(scratch)
    }

    /// Returns the number of tensors.
    #[must_use]
    pub fn tensor_count(&self) -> u64 {
        self.tensors.into()
    }

    /// Returns the metadata, such as `total_size`. The metadata is empty if the index has none.
    #[must_use]
    pub fn metadata(&self) -> Attributes<'a> {
        if self.metadata == 0 {
            return Attributes::NONE;
        }
        Attributes::json(Region { bytes: self.text, start: 0 }, Format::SafetensorsIndex, self.metadata)
    }

    /// Returns an iterator over the tensors and their files, in the order of the index.
    #[must_use]
    pub const fn entries(&self) -> IndexEntries<'a> {
        IndexEntries { text: self.text, position: self.map.saturating_add(1), error: None }
    }

    /// Returns the entry whose name is at `position`, if there is one whose file has a valid name.
    pub(crate) fn entry_at(&self, position: u32) -> Option<IndexEntry<'a>> {
        let mut reader = Reader::new(self.text, position);
        let (name, file) = (reader.key()?, reader.string()?);
        is_below(file).then_some(IndexEntry { name, file })
    }

    /// The text of the index.
    pub(crate) const fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the name of the file that contains the tensor named `name`. Linear in the length of the index.
    ///
    /// # Errors
    /// `NotFound` if there is no such tensor. Another error if the bytes have changed since the index was opened.
    pub fn find(&self, name: &str) -> Result<Text<'a>> {
        self.find_bytes(name.as_bytes())
    }

    pub(crate) fn find_bytes(&self, name: &[u8]) -> Result<Text<'a>> {
        let mut entries = self.entries();
        match entries.by_ref().find(|entry| entry.name.eq_bytes(name)) {
            Some(entry) => Ok(entry.file),
            None => Err(entries.error.unwrap_or(Error::new(ErrorKind::NotFound))),
        }
    }

    /// Returns the names of the files, each once, in alphabetical order.
    ///
    /// `scratch` needs one element per tensor: see [`tensor_count`](Self::tensor_count). The cost is that of sorting
    /// this many names.
    ///
    /// # Errors
    /// `OutOfScratch` if `scratch` is too short. Another error if the bytes have changed since the index was opened.
    pub fn files<'s>(&self, scratch: &'s mut [u32]) -> Result<Files<'s, 'a>> {
        let (mut entries, mut count) = (self.entries(), 0_u64);
        while let Some(read) = entries.read()? {
            let place = to_usize(count).and_then(|place| scratch.get_mut(place));
            *place.ok_or(Error::new(ErrorKind::OutOfScratch))? = read.file_at;
            count = count.saturating_add(1);
        }
        let positions = to_usize(count).and_then(|count| scratch.get_mut(..count)).unwrap_or_default();
        duplicates::sort_by(positions, |a, b| {
            JsonStr::at(self.text, a).order(JsonStr::at(self.text, b)).then(a.cmp(&b)).is_lt()
        });
        // Moves the first of equal names to the front.
        let mut kept = 0_usize;
        let mut last = None;
        for from in 0..positions.len() {
            let position = positions.get(from).copied().unwrap_or(0);
            let file = JsonStr::at(self.text, position);
            if last.is_none_or(|last: JsonStr<'_>| !last.clashes_with(file)) {
                if let Some(place) = positions.get_mut(kept) {
                    *place = position;
                }
                kept = kept.saturating_add(1);
                last = Some(file);
            }
        }
        Ok(Files { text: self.text, positions: positions.get(..kept).unwrap_or_default().iter() })
    }

    /// Returns the name of a file at `position`, if there is a string that is a valid file name.
    #[cfg(feature = "capi")]
    pub(crate) fn file_at(&self, position: u32) -> Option<Text<'a>> {
        Reader::new(self.text, position).string().filter(|file| is_below(*file))
    }
}

const fn error(kind: ErrorKind, item: Part, at: u32) -> Error {
    #[allow(clippy::as_conversions)] // widens
    Error::at(kind, Format::SafetensorsIndex, item, at as u64)
}

/// Returns true for the path of a file in the folder of the index or below it, on any system. The path consists of
/// names between `/`. No name is `..`, and the last one must be the name of a file.
fn is_below(file: Text<'_>) -> bool {
    // The current name: its number of characters, and true if all are dots.
    let (mut length, mut is_dots) = (0_u32, true);
    let mut is_first = true;
    for character in file.chars() {
        match character {
            '\\' | ':' | '\0' => return false,
            '/' if length == 0 && is_first || length == 2 && is_dots => return false,
            '/' => (length, is_dots, is_first) = (0, true, false),
            _ => (length, is_dots) = (length.saturating_add(1), is_dots && character == '.'),
        }
    }
    length > 0 && !(is_dots && length <= 2)
}

/// Returns the name of a file at `position`.
fn file_at(text: &[u8], position: u32) -> Text<'_> {
    Reader::new(text, position).string().unwrap_or_default()
}

/// The names of tensors, by their positions in the text. The decoded names must be distinct.
struct Keys<'a> {
    text: &'a [u8],
    error: Option<Error>,
}

impl<'a> Keys<'a> {
    /// Reads the position of the next name. Skips keys whose value is not a string.
    fn read(reader: &mut Reader<'a>) -> Option<Option<u32>> {
        while reader.more(b'}')? {
            let at = reader.token_position();
            reader.key()?;
            if matches!(reader.value()?, Token::Text(_)) {
                return Some(Some(at));
            }
        }
        Some(None)
    }
}

impl<'a> Distinct for Keys<'a> {
    type Entry = JsonStr<'a>;
    /// The position after the start of the map, or after a member.
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(JsonStr<'a>, u32)> {
        let mut reader = Reader::new(self.text, *place);
        let next = Self::read(&mut reader);
        let next = next.ok_or_else(|| reader.error(Format::SafetensorsIndex, 0)).unwrap_or_else(|error| {
            self.error = Some(error);
            None
        });
        if next.is_some() {
            *place = reader.position(); // unchanged at the end
        }
        next.map(|at| (self.at(at), at))
    }

    fn at(&self, position: u32) -> JsonStr<'a> {
        JsonStr::at(self.text, position)
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

impl<'a> IndexEntries<'a> {
    /// Returns the error that ended the iterator early: the bytes have changed since the index was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Reads the next entry.
    pub(crate) fn read(&mut self) -> Result<Option<ReadEntry<'a>>> {
        let mut reader = Reader::new(self.text, self.position);
        let mut next = || {
            while reader.more(b'}')? {
                let name_at = reader.token_position();
                let name = reader.key()?;
                let file_at = reader.token_position();
                if let Token::Text(file) = reader.value()? {
                    // The bytes may have changed since the index was opened, and programs open this file.
                    if !is_below(file) {
                        return reader.stop_at(ErrorKind::InvalidName, file_at);
                    }
                    return Some(Some(ReadEntry { entry: IndexEntry { name, file }, name_at, file_at }));
                }
            }
            Some(None)
        };
        let next = next();
        let next = next.ok_or_else(|| reader.error(Format::SafetensorsIndex, 0))?;
        if next.is_some() {
            self.position = reader.position(); // unchanged at the end
        }
        Ok(next)
    }
}

impl<'a> Iterator for IndexEntries<'a> {
    type Item = IndexEntry<'a>;

    fn next(&mut self) -> Option<IndexEntry<'a>> {
        if self.error.is_some() {
            return None;
        }
        let next = self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        });
        next.map(|read| read.entry)
    }
}

impl<'a> Iterator for Files<'_, 'a> {
    type Item = Text<'a>;

    fn next(&mut self) -> Option<Text<'a>> {
        let file = self.positions.next().map(|position| file_at(self.text, *position))?;
        is_below(file).then_some(file) // false only if the bytes have changed
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl ExactSizeIterator for Files<'_, '_> {}
impl FusedIterator for Files<'_, '_> {}

#[cfg(all(test, feature = "capi"))]
mod tests {
    use super::*;

    /// The bytes may change in a mapping.
    #[test]
    fn bytes_that_have_changed_are_an_error() {
        let text = br#"{"weight_map": {"a": "b", "c": "d"}}"#;
        let mut entries = Index::open(text).unwrap().entries();
        assert_eq!(entries.next().map(|entry| entry.name), Some("a".into()));
        entries.text = &text[..30];
        assert_eq!((entries.next(), entries.error().map(|error| error.kind())), (None, Some(ErrorKind::Malformed)));
        entries.text = text;
        assert_eq!(entries.next(), None); // it has ended, even if the bytes are restored
        let mut keys = Keys { text, error: None };
        let mut place = 16;
        let mut next = || keys.next(&mut place).map(|(_, at)| at);
        assert_eq!([next(), next(), next(), next()], [Some(16), Some(26), None, None]);
        assert!(keys.check().is_ok());
        (keys.text, place) = (&text[..30], 16);
        assert!(keys.next(&mut place).is_some() && keys.next(&mut place).is_none() && keys.check().is_err());
        let mut entries = Index::open(text).unwrap().entries();
        entries.text = br#"{"weight_map": {"a": "/", "c": "d"}}"#;
        assert_eq!((entries.next(), entries.error().map(|error| error.kind())), (None, Some(ErrorKind::InvalidName)));
    }

    #[test]
    fn only_names_of_files_are_found_by_number() {
        let text = br#"{"weight_map": {"../a": "b"}}"#;
        let index = Index::open(text).unwrap();
        assert_eq!(index.file_at(24), Some("b".into()));
        assert_eq!(index.file_at(16), None);
        assert_eq!(index.file_at(u32::MAX), None);
    }
}
