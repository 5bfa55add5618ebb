//! The safetensors format (`.safetensors`).
//!
//! ```text
//! 0      length of the header, u64 little-endian
//! 8      header, a JSON object: the name of each tensor, and {"dtype", "shape", "data_offsets": [begin, end]};
//!        "__metadata__", and an object of texts                                                    (member.rs)
//! 8 + N  data, to the end of the file: row-major, little-endian, every byte of it in one tensor
//! ```
//!
//! The rules are those of the format's README. Anything left open there follows the reference implementation, the crate
//! `safetensors` 0.8, except in cases where that crate reads one file in two ways: a name that appears twice, white
//! space before the header, an entry that is a list, a dtype that is an object.
#![forbid(unsafe_code)]

mod compare;
mod dtypes;
mod entry;
mod explain;
mod header;
mod index;
mod member;
#[cfg(feature = "write")]
mod write;
#[cfg_attr(small, path = "fast_none.rs")]
mod fast;

use core::mem;

use self::compare::Uniques;
use self::entry::Entry;
pub use self::header::SafetensorsFile;
use self::header::{HEADER, MAX_HEADER, METADATA, START};
pub use self::index::{Files, Index, IndexEntries, IndexEntry};
#[cfg(feature = "write")]
pub(crate) use self::write::SafetensorsWriter;
use super::{
    ComponentRecord, Context, Cursor, FileFormat, JsonStr, Name, Named, NamedTensors, StoredElements, Summary,
    TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::{Extent, Region};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::codec::json::{NO_RECORD, Reader};
use crate::duplicates::{Compared, Memory, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};

impl<'a> SafetensorsFile<'a> {
    /// Reads the header from its start. Returns the offset in the data of the first byte that belongs to no tensor (0
    /// if the data is not in the order of the entries), and the number of bytes of all tensors.
    #[inline(never)] // keeps its stack frame separate from the comparison
    fn read_header(&mut self, reader: &mut Reader<'a>, is_null: &mut bool) -> Option<(u64, u64)> {
        let data = self.data();
        let (mut claimed, mut total, mut last_end) = (0_u64, 0_u64, 0);
        let (mut entry, mut last_name) = (Entry::blank(), None);
        reader.begin(b'{')?;
        while entry.next(reader, data.length)? {
            if entry.is_metadata() {
                if mem::replace(&mut self.metadata, entry.position) != 0 {
                    return reader.stop_at(ErrorKind::RepeatedKey, entry.at);
                }
                *is_null = member::check_metadata(reader)?;
                continue;
            }
            if entry.begin < entry.end {
                if entry.begin < claimed {
                    reader.item = Part::Offset;
                    return reader.stop_at(ErrorKind::Overlap, entry.offsets_at);
                }
                if entry.begin == claimed {
                    claimed = entry.end;
                }
                self.are_places_sorted &= last_end <= entry.begin;
                last_end = entry.end;
                total = total.saturating_add(entry.data().length);
            }
            self.are_names_sorted &= last_name.is_none_or(|last: Text<'_>| last < entry.name);
            last_name = Some(entry.name);
            self.tensors = self.tensors.saturating_add(1);
        }
        (reader.record, reader.item) = (NO_RECORD, Part::Header);
        reader.finish()?;
        Some((if self.are_places_sorted { claimed } else { 0 }, total))
    }

    /// Reads the next tensor in any spelling.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn next_of_any(&self, mut position: u32, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let mut entry = Entry::blank();
        if !self.next_entry(&mut position, &mut entry)? {
            return Ok(false);
        }
        entry.fill(tensor, cursor.index);
        *cursor = Cursor::new(position.into(), 0, cursor.index.saturating_add(1));
        Ok(true)
    }

    /// Reads the next name, with it and its tensor in any spelling.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn name_of_any(&self, position: u32, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let mut reader = self.reader(position);
        let mut next = || {
            while reader.more(b'}')? {
                let at = reader.token_position();
                let name = reader.key()?;
                reader.skip_value(1)?;
                if !name.eq_bytes(METADATA) {
                    return Some(Some(Named { name, name_at: at, tensor_at: at }));
                }
            }
            Some(None)
        };
        let next = next().ok_or_else(|| reader.error(Format::Safetensors, HEADER))?;
        cursor.at = reader.position().into();
        Ok(next)
    }

    /// Reads the tensor at `position` in any spelling.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn any_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        let (mut reader, mut entry) = (self.reader(position), Entry::blank());
        entry.at = position;
        let read = entry.member(&mut reader, self.data().length);
        read.ok_or_else(|| reader.error(Format::Safetensors, HEADER))?;
        entry.fill(tensor, index);
        Ok(())
    }

    /// Reads the component of a tensor in any spelling.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn component_of_any(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let mut reader = self.reader(tensor.components);
        let (mut entry, data) = (Entry::blank(), self.data());
        let read = entry.reread(&mut reader, tensor).and_then(|()| entry.check(&mut reader, data.length));
        read.ok_or_else(|| reader.error(Format::Safetensors, HEADER))?;
        part.dtype = entry.dtype;
        part.storage = entry.dtype;
        let Extent { offset, length } = entry.data();
        part.set_extent(Extent::new(data.offset.saturating_add(offset), length));
        Ok(cursor.is_first())
    }

    /// A copy of the file that compares only what opening has not compared: names or extents.
    fn left_by(&self, summary: &Summary) -> Self {
        Self {
            are_names_sorted: !summary.warnings.contains(Warning::NamesUnchecked),
            are_places_sorted: !summary.warnings.contains(Warning::ExtentsUnchecked),
            ..*self
        }
    }

    /// Detects equal names and overlapping data. `memory` comes from the caller, or is the little that is available on
    /// opening.
    fn compare(&self, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        if !self.are_names_sorted {
            self.compare_items(Part::Name, warnings, memory)?;
        }
        if !self.are_places_sorted {
            self.compare_items(Part::Offset, warnings, memory)?;
        }
        Ok(())
    }

    /// Detects equal names, or offsets of overlapping data.
    #[inline(never)]
    fn compare_items(&self, item: Part, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        let uniques = &mut Uniques::of(self, item);
        let (kind, unchecked) = match item {
            Part::Name => (ErrorKind::RepeatedName, Warning::NamesUnchecked),
            _ => (ErrorKind::Overlap, Warning::ExtentsUnchecked),
        };
        match memory.compare(uniques, START, self.tensors)? {
            Compared::Clash(at) => return Err(uniques.clash(kind, at)),
            Compared::TooMany => warnings.add(unchecked),
            Compared::Distinct => {}
        }
        Ok(())
    }
}

impl Index<'_> {
    /// Describes the place in an index where an error occurred.
    pub(crate) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> FileFormat<'a> for SafetensorsFile<'a> {
    const FORMAT: Format = Format::Safetensors;

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (input, length) = (opening.input, opening.input.length());
        let fail = |kind, at| Err(opening.fail((kind, Format::Safetensors, Part::Header), at));
        let size = u64::from_le_bytes(*opening.read(0, (ErrorKind::Truncated, Format::Safetensors, Part::Header))?);
        if size > MAX_HEADER {
            return fail(ErrorKind::ManifestTooLarge, 0);
        }
        if size > length.saturating_sub(HEADER) {
            return fail(ErrorKind::Truncated, length);
        }
        let header = Region { bytes: opening.keep(Extent::new(HEADER, size))?, start: HEADER };
        Ok(Self { input, header, metadata: 0, tensors: 0, are_names_sorted: true, are_places_sorted: true })
    }

    /// Reads the header and checks everything but the data.
    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        let mut reader = self.reader(0);
        let mut is_null = false;
        let read = self.read_header(&mut reader, &mut is_null);
        let (claimed, total) = read.ok_or_else(|| reader.error(Format::Safetensors, HEADER))?;
        if is_null {
            self.metadata = 0;
            summary.warnings.add(Warning::NullMetadata);
        }
        summary.tensor_count = self.tensors.into();
        // If no bytes overlap and the totals are equal, every byte belongs to a tensor.
        let data = self.data();
        let kind = if total < data.length {
            ErrorKind::UnclaimedBytes
        } else if total > data.length {
            ErrorKind::Overlap
        } else {
            return self.compare(&mut summary.warnings, &mut Stack);
        };
        Err(Error::at(kind, Format::Safetensors, Part::Data, data.offset.saturating_add(claimed)))
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        None
    }

    fn attributes(&self) -> Attributes<'a> {
        if self.metadata == 0 {
            return Attributes::NONE;
        }
        Attributes::json(self.header, Format::Safetensors, self.metadata)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let position = u32::try_from(cursor.at).unwrap_or(u32::MAX).max(START);
        let mut reader = self.reader(position);
        if fast::read_next(&mut reader, tensor).is_some() {
            tensor.index = cursor.index;
            *cursor = Cursor::new(reader.position().into(), 0, cursor.index.saturating_add(1));
            return Ok(true);
        }
        self.next_of_any(position, cursor, tensor)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let mut checked = summary.warnings.without(Warning::NamesUnchecked).without(Warning::ExtentsUnchecked);
        self.left_by(summary).compare(&mut checked, scratch)?;
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        let left = self.left_by(summary);
        if left.are_names_sorted && left.are_places_sorted { 0 } else { self.tensors.into() }
    }

    #[cfg_attr(not(small), inline(always))]
    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        if let Some(extent) = fast::read_extent(self, tensor) {
            part.dtype = tensor.dtype;
            part.storage = tensor.dtype;
            part.set_extent(extent);
            return Ok(cursor.is_first());
        }
        self.component_of_any(tensor, cursor, part)
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for SafetensorsFile<'a> {
    #[cfg_attr(not(small), inline(always))]
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let position = u32::try_from(cursor.at).unwrap_or(u32::MAX).max(START);
        let mut reader = self.reader(position);
        if let Some((name, at)) = fast::skip_unchecked(&mut reader) {
            cursor.at = reader.position().into();
            return Ok(Some(Named { name, name_at: at, tensor_at: at }));
        }
        self.name_of_any(position, cursor)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        Name::Json(JsonStr::at(self.header.bytes, position))
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        if fast::read_alone(&self.reader(position), position, tensor).is_some() {
            tensor.index = index;
            return Ok(());
        }
        self.any_at(position, index, tensor)
    }
}

impl StoredElements for SafetensorsFile<'_> {}
