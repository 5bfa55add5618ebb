//! zTensor 0.1, 1.0, 1.1, 1.2 (`.zt`).
//!
//! ```text
//! 0     magic, 8 bytes: ZTEN0001 (0.1), ZTEN1000 (1.0, 1.1, 1.2)
//! 64    blobs, each at a multiple of 64
//!       manifest, CBOR, directly after the last blob:
//!         0.1            a list of entries                                (v0.rs)
//!         1.0, 1.1, 1.2  a map with the tensors by name                   (v1.rs)
//! -8    size of the manifest, u64 little-endian                           (0.1, 1.0)
//! -16   size of the manifest, then the magic again                        (1.1, 1.2)
//! ```
//!
//! The specification of 1.0 has no magic at the end, and no valid manifest size can be mistaken for one. A 1.1 or 1.2
//! file that lost its last 8 bytes has the footer of 1.0, but its tensors are under another key, so it is rejected.
#![forbid(unsafe_code)]

mod compare;
mod entry;
mod explain;
mod layout;
mod manifest;
#[cfg_attr(small, path = "fast_none.rs")]
mod fast;
mod v0;
mod v1;
#[cfg(feature = "write")]
mod write;

use self::compare::Keys;
use self::layout::Role;
pub use self::manifest::Generation;
use self::manifest::{Key, Manifest, position};
#[cfg(feature = "write")]
pub(crate) use self::write::ZtensorWriter;
use super::{
    ComponentRecord, Context, Cursor, FileFormat, Name, Named, NamedTensors, StoredElements, Summary, TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::keywords::Keywords;
use crate::bytes::num::{product, to_u64};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::is_before;
use crate::codec::cbor::fast::AllPlain;
use crate::codec::cbor::{Left, Reader};
use crate::duplicates::{self, Clash};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::Layout;

/// A zTensor file.
#[derive(Clone, Copy, Debug)]
pub struct ZtensorFile<'a> {
    input: Input<'a>,
    manifest: Manifest<'a>,
    /// Positions in the manifest: of the version in a map, of the first entry, and of the attributes (0 if there are
    /// none).
    version: u32,
    entries: u32,
    attributes: u32,
    /// The number of items in the container of the entries.
    left: Left,
    /// True if the names are strictly ascending. Then there are no duplicates, and a search may end early.
    is_sorted: bool,
    are_plain: AllPlain,
}

impl ZtensorFile<'_> {
    /// Returns the version, as far as the container reveals it.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.manifest.generation
    }

    /// Returns the extent of the manifest in the file.
    #[must_use]
    pub const fn manifest(&self) -> Extent {
        Extent::new(self.manifest.region.start, to_u64(self.manifest.region.bytes.len()))
    }
}

impl<'a> ZtensorFile<'a> {
    #[inline(never)]
    fn read_manifest(&mut self, reader: &mut Reader<'a>, summary: &mut Summary) {
        if self.manifest.is_list() {
            v0::root(self, reader, summary);
        } else {
            v1::root(self, reader, summary);
        }
        if !reader.is_at_end() {
            reader.fail_in(Part::Manifest, ErrorKind::TrailingBytes, reader.position());
        }
        if self.is_sorted || reader.check().is_err() {
            return;
        }
        let count = u32::try_from(summary.tensor_count).unwrap_or(u32::MAX);
        if count > duplicates::MAX_COMPARED {
            summary.warnings.add(Warning::NamesUnchecked);
        } else {
            let start = self.first_name();
            // If the bytes have changed, the reader keeps the fault.
            let repeated = duplicates::clash_of_hashed(&mut Keys { manifest: &self.manifest, reader }, start, count);
            self.judge_names(repeated, reader, &mut summary.warnings);
        }
    }

    /// The key of the first tensor name.
    const fn first_name(&self) -> Key {
        Key { at: self.entries, left: self.left }
    }

    /// Checks the entries, of which `left` remain. Moves `reader` from the first to the end of the last.
    fn check_entries(&mut self, reader: &mut Reader<'a>, summary: &mut Summary, mut left: Left) {
        self.entries = reader.position();
        self.left = left;
        let mut last_name = None;
        let mut index = 0_u32;
        while self.manifest.more(reader, &mut left) {
            if let Some((name, after)) = fast::check(&self.manifest, reader.position()) {
                reader.go_to(after);
                self.is_sorted &= last_name.is_none_or(|last: &[u8]| is_before(last, name));
                last_name = Some(name);
                index = index.wrapping_add(1);
                continue;
            }
            self.are_plain = AllPlain::new(false);
            let mut tensor = TensorRecord::blank();
            entry::entry(&self.manifest, &mut tensor, reader);
            summary.warnings.add_tensor(tensor.warnings, index);
            self.is_sorted &= last_name.is_none_or(|last: &[u8]| is_before(last, tensor.name.bytes()));
            last_name = Some(tensor.name.bytes());
            index = index.wrapping_add(1); // an entry takes at least one byte of the manifest
        }
        summary.tensor_count = index.into();
    }

    /// Reads the next tensor, plain or not.
    #[cfg_attr(not(small), inline(never))]
    fn next_of_any(&self, key: Key, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let Key { at, mut left } = key;
        let mut reader = self.manifest.reader(at);
        let is_there = self.manifest.more(&mut reader, &mut left);
        if is_there {
            entry::entry(&self.manifest, tensor, &mut reader);
        }
        self.manifest.check(&reader)?;
        Key { at: reader.position(), left }.store(cursor);
        Ok(is_there)
    }

    /// Reads the next component, plain or not.
    #[cfg_attr(not(small), inline(never))]
    fn next_of_any_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let Key { at, mut left } = Key::at(cursor);
        let is_begun = cursor.index > 0;
        let mut reader = self.reader_in(tensor, if is_begun { at } else { tensor.components });
        if !is_begun {
            left = if self.manifest.is_list() { Left::ONE } else { reader.map() };
        }
        let is_there = self.manifest.more_parts(&mut reader, &mut left);
        if is_there {
            entry::component(&self.manifest, &mut reader, part);
            complete(self.manifest.generation, tensor, part);
        }
        self.manifest.check(&reader)?;
        Key { at: reader.position(), left }.store(cursor);
        Ok(is_there)
    }

    /// Reads the next name, with its entry plain or not.
    #[cfg_attr(not(small), inline(never))]
    fn name_of_any(&self, key: Key, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let Key { at, mut left } = key;
        let mut reader = self.manifest.reader(at);
        let is_there = self.manifest.more(&mut reader, &mut left);
        let tensor_at = reader.position();
        let (name, name_at) = if is_there { self.manifest.name_of_checked(&mut reader) } else { (&[][..], 0) };
        self.manifest.check(&reader)?;
        Key { at: reader.position(), left }.store(cursor);
        Ok(is_there.then_some(Named { name: Text::new(name, false), name_at, tensor_at }))
    }

    /// Reads the entry at `position` if it is plain. Returns the position after it.
    #[inline]
    fn read_plain(&self, tensor: &mut TensorRecord<'a>, position: u32) -> Option<u32> {
        let read = if self.are_plain.get() { fast::read::<true> } else { fast::read::<false> };
        read(&self.manifest, tensor, position)
    }

    /// Reads the component of a tensor if it is plain. Returns the position after it.
    #[inline]
    fn read_plain_data(&self, tensor: &TensorRecord<'a>, part: &mut ComponentRecord<'a>) -> Option<u32> {
        let read = if self.are_plain.get() { fast::read_data::<true> } else { fast::read_data::<false> };
        read(&self.manifest, tensor, part)
    }

    /// Reads the entry at the reader's position, which has been checked. Leaves the reader at an unspecified position.
    fn read_entry(&self, tensor: &mut TensorRecord<'a>, reader: &mut Reader<'a>) {
        if self.read_plain(tensor, reader.position()).is_some() {
            return;
        }
        entry::entry(&self.manifest, tensor, reader);
    }

    /// Reports a duplicate name: an error in 1.x, a warning in 0.1, whose writers allow duplicates.
    fn judge_names(&self, repeated: Clash, reader: &mut Reader<'_>, warnings: &mut Warnings) {
        match repeated {
            Some((index, _)) if self.manifest.is_list() => warnings.add_tensor(Warning::RepeatedName.bit(), index),
            Some((_, at)) => reader.fail_in(Part::Name, ErrorKind::RepeatedName, at),
            None => {}
        }
    }

    /// A reader at position `at` of the manifest, whose errors refer to `tensor`.
    fn reader_in(&self, tensor: &TensorRecord<'_>, at: u32) -> Reader<'a> {
        let mut reader = self.manifest.reader(at);
        reader.entry = position(tensor.at.wrapping_sub(self.manifest.region.start));
        reader
    }
}

impl<'a> FileFormat<'a> for ZtensorFile<'a> {
    const FORMAT: Format = Format::Ztensor;
    const HAS_SPARSE: bool = true;

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let manifest = Manifest::locate(opening)?;
        let input = opening.input;
        Ok(Self {
            input,
            manifest,
            version: 0,
            entries: 0,
            attributes: 0,
            left: Left::NONE,
            is_sorted: true,
            are_plain: AllPlain::new(true),
        })
    }

    /// Reads the manifest and checks everything but the contents of the blobs.
    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        let mut reader = self.manifest.reader(0);
        self.read_manifest(&mut reader, summary);
        self.manifest.check(&reader)
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        match self.manifest.generation {
            Generation::V0_1 => Some("0.1"), // stated by the magic
            _ => Some(self.manifest.reader(self.version).text().as_str()),
        }
    }

    fn attributes(&self) -> Attributes<'a> {
        self.manifest.attributes(self.attributes, Keywords::NONE)
    }

    /// In 0.1, whose manifest is a list.
    fn may_names_repeat(&self) -> bool {
        self.manifest.is_list()
    }

    #[cfg_attr(small, inline(never))]
    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let key = if cursor.index == 0 { self.first_name() } else { Key::at(cursor) };
        tensor.index = cursor.index;
        if let Some(next) = key.passed(|at| self.read_plain(tensor, at)) {
            next.store(cursor);
            return Ok(true);
        }
        self.next_of_any(key, cursor, tensor)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        self.compare(summary, scratch)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        self.compared(summary)
    }

    fn tensor_attributes(&self, tensor: &TensorRecord<'a>) -> Attributes<'a> {
        let hidden = if self.manifest.is_list() { v0::ENTRY.keys } else { Keywords::NONE };
        self.manifest.attributes(tensor.attributes, hidden)
    }

    #[cfg_attr(small, inline(never))]
    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        if cursor.index == 0 {
            if let Some(at) = self.read_plain_data(tensor, part) {
                Key { at, left: Left::NONE }.store(cursor);
                return Ok(true);
            }
        }
        self.next_of_any_component(tensor, cursor, part)
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for ZtensorFile<'a> {
    /// The cost is linear in the bytes of the manifest up to the tensor.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let mut reader = self.manifest.reader(self.entries);
        let mut left = self.left;
        let mut is_found = false;
        while self.manifest.more(&mut reader, &mut left) {
            let at = reader.position();
            let (found, _) = self.manifest.name_of_checked(&mut reader);
            is_found = found == name;
            if is_found {
                reader.go_to(at);
                self.read_entry(tensor, &mut reader);
            }
            if is_found || self.is_sorted && is_before(name, found) {
                break;
            }
            tensor.index = tensor.index.wrapping_add(1); // an entry takes at least one byte of the manifest
        }
        self.manifest.check_found(&reader, is_found)
    }

    #[cfg_attr(not(small), inline(always))]
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let key = if cursor.index == 0 { self.first_name() } else { Key::at(cursor) };
        let mut name = &[][..];
        let skip_unchecked = |at| {
            let skipped = if self.are_plain.get() {
                fast::skip_unchecked::<true>(&self.manifest, at)
            } else {
                fast::skip_unchecked::<false>(&self.manifest, at)
            };
            skipped.map(|(found, after)| (name = found, after).1)
        };
        if let Some(next) = key.passed(skip_unchecked) {
            next.store(cursor);
            return Ok(Some(Named { name: Text::new(name, false), name_at: key.at, tensor_at: key.at }));
        }
        self.name_of_any(key, cursor)
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        if self.are_plain.get() && fast::read_alone(&self.manifest, tensor, position).is_some() {
            tensor.index = index;
            return Ok(());
        }
        self.next_tensor_from(position, index, tensor)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        Name::Plain(Reader::text_bytes_at(self.manifest.region.bytes, position))
    }
}

impl StoredElements for ZtensorFile<'_> {}

/// Returns true for a sparse tensor whose only component has both indices and values. `Sparse` checks them.
fn is_packed_sparse(tensor: &TensorRecord<'_>) -> bool {
    tensor.is_packed && matches!(tensor.layout, Layout::SparseCsr | Layout::SparseCoo)
}

/// Sets what a component inherits from its tensor: the dtype of the elements (1.0), and the decoded length if only the
/// shape determines it.
fn complete(generation: Generation, tensor: &TensorRecord<'_>, part: &mut ComponentRecord<'_>) {
    let role = Role::of_name(part.role);
    if generation == Generation::V1_0 {
        part.dtype = role.and_then(|role| role.dtype(tensor.dtype));
        part.storage = part.dtype;
    } else if tensor.layout == Layout::Dense && role == Some(Role::Data) {
        part.dtype = tensor.dtype; // `None` if its size differs from that of the storage dtype
    } else if is_packed_sparse(tensor) {
        part.dtype = None; // indices and values have different dtypes
    }
    let is_opaque = part.warnings & Warning::UnknownLogicalType.tensor_bit() != 0;
    if let (Some(dtype), None, false) = (part.dtype, part.decoded_length, is_opaque) {
        // All dimensions, or the number of rows plus one.
        let (rank, more) = match (tensor.layout, role) {
            (Layout::Dense, Some(Role::Data)) => (u32::MAX, 0),
            (Layout::SparseCsr, Some(Role::Indptr)) => (1, 1),
            _ => return,
        };
        let elements = tensor.shape.first(rank).element_count().and_then(|elements| elements.checked_add(more));
        part.decoded_length = product(elements, dtype.byte_size());
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;
    use crate::bytes::extent::Region;

    /// A list of indefinite length whose end is missing, as may happen in a mapping that has changed.
    #[test]
    fn listing_says_why_it_ends_early() {
        let bytes = include_bytes!("../../../tests/fixtures/v0.1/sparse_real_layouts.zt");
        let file = ZtensorFile::open(&ParseContext::of(bytes[..].into())).unwrap();
        let Region { bytes, start } = file.manifest.region;
        let mut list = bytes.to_vec();
        assert_eq!(list[0] & 0xe0, 0x80); // of definite length
        let count = u64::from(list[0] & 0x1f);
        list[0] = 0x9f;
        list.push(0xff);
        for (bytes, expected) in [(&list[..], None), (&list[..list.len() - 1], Some(ErrorKind::Truncated))] {
            let manifest = Manifest { region: Region { bytes, start }, ..file.manifest };
            let mut reader = manifest.reader(0);
            let left = reader.array();
            let file = ZtensorFile { manifest, entries: reader.position(), left, ..file };
            let mut cursor = Cursor::START;
            let mut listed = 0;
            let end = loop {
                match file.next_tensor(&mut cursor, &mut TensorRecord::blank()) {
                    Ok(true) => listed += 1,
                    Ok(false) => break None,
                    Err(error) => break Some(error.kind()),
                }
            };
            assert_eq!((listed, end), (count, expected));
            let mut cursor = Cursor::START;
            let mut names = 0;
            let end = loop {
                match file.next_name(&mut cursor) {
                    Ok(Some(_)) if names == count => break Some(ErrorKind::RepeatedName), // the listing does not end
                    Ok(Some(_)) => names += 1,
                    Ok(None) => break None,
                    Err(error) => break Some(error.kind()),
                }
            };
            assert_eq!((names, end), (count, expected));
        }
    }
}
