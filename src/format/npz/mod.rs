//! NPZ, the archives of NumPy: ZIP files whose entries are arrays.
//!
//! An entry is either stored and read in place, or compressed. Of a compressed entry, only the decoded length is known.
#![forbid(unsafe_code)]

mod compare;
mod compressed;
mod entry;
mod explain;
#[cfg(all(feature = "write", feature = "crc32"))]
mod write;

use self::compare::Names;
use self::compressed::{HEAD_ON_STACK, LONGEST_HEAD};
pub use self::entry::{ArchiveEntries, ArchiveEntry};
#[cfg(all(feature = "write", feature = "crc32"))]
pub(crate) use self::write::NpzWriter;
use super::{
    ComponentRecord, Context, Cursor, Described, FileFormat, Name, Named, NamedTensors, Stated, StoredElements,
    Summary, TensorRecord, Wanted,
};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::{Utf8, is_before};
use crate::codec::decoder::Decoder;
use crate::codec::npy::{self, Header};
use crate::codec::zip::{Archive, Checking, Entry};
use crate::duplicates::{Compared, Memory, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Layout, Order};

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::Npz, item, at)
}

/// An NPZ archive.
#[derive(Clone, Copy, Debug)]
pub struct NpzFile<'a> {
    archive: Archive<'a>,
    entries: u32,
    arrays: u32,
    warnings: u32,
    /// The index of the first array that cannot be read; `u32::MAX` if all can be read.
    first_unreadable: u32,
    /// True if the names of the entries are strictly ascending, so there are no duplicates. `are_places_sorted`: true
    /// if the extents are strictly ascending, so they do not overlap.
    are_names_sorted: bool,
    are_places_sorted: bool,
}

/// An entry that is an array.
struct Array<'a> {
    name: &'a [u8],
    /// The extent of the entry's stored bytes.
    data: Extent,
    contents: Contents<'a>,
}

/// The known facts about an array.
enum Contents<'a> {
    /// Nothing is known before the entry is decoded.
    Compressed,
    /// The header, the extent of the items, warnings.
    Stored(Header<'a>, Extent, u32),
    /// The array cannot be read, for this reason.
    Unreadable(Error),
}

impl<'a> NpzFile<'a> {
    /// Returns the array in an entry whose data is `data`. An array is recognized by the name of its entry or, if the
    /// entry is stored, by its first bytes.
    fn array_in(
        &self,
        opening: &ParseContext<'a>,
        entry: &Entry<'a>,
        data: Extent,
    ) -> ParseResult<Option<Array<'a>>> {
        let name = array_name(entry.name);
        let is_named = name.len() < entry.name.len();
        if !entry.is_stored() {
            return Ok(is_named.then_some(Array { name, data, contents: Contents::Compressed }));
        }
        let start = self.archive.keep(opening, Extent::new(data.offset, data.length.min(npy::START)))?;
        if !is_named && !start.starts_with(npy::MAGIC) {
            return Ok(None);
        }
        let contents = match npy::head_length(start, data.length) {
            Ok(head) => stored(self.archive.keep(opening, Extent::new(data.offset, head))?, data),
            Err(fault) => Err(fault),
        };
        let contents = contents.unwrap_or_else(|(kind, item, at)| {
            Contents::Unreadable(fail(kind, item, data.offset.saturating_add(at)))
        });
        Ok(Some(Array { name, data, contents }))
    }

    /// Returns the array in an entry; `None` if the entry is not an array.
    fn array(&self, entry: &Entry<'a>) -> Result<Option<Array<'a>>> {
        let opening = ParseContext::of(self.archive.input);
        let data = self.archive.data(&opening, entry, &mut { u64::MAX });
        data.and_then(|data| self.array_in(&opening, entry, data)).map_err(|stop| opening.error(stop))
    }

    /// Returns the array at or after position `at` of the directory; `None` at the end of the directory.
    #[cfg_attr(small, inline(always))] // as `next_tensor`
    fn next_array(&self, mut at: u32) -> Result<Option<(Entry<'a>, Array<'a>)>> {
        while let Some(entry) = self.archive.entry(at)? {
            if let Some(array) = self.array(&entry)? {
                return Ok(Some((entry, array)));
            }
            at = entry.next;
        }
        Ok(None)
    }

    /// Returns whether an entry is an array, from the name alone if that is decisive.
    fn is_array(&self, entry: &Entry<'a>) -> Result<bool> {
        let is_named = entry.name.ends_with(b".npy");
        Ok(is_named || entry.is_stored() && self.array(entry)?.is_some())
    }

    /// Returns the entry of the array at or after position `at` of the directory. Contents are not read if the name is
    /// decisive.
    #[cfg_attr(small, inline(always))] // as `next_tensor`
    fn next_named(&self, mut at: u32) -> Result<Option<Entry<'a>>> {
        while let Some(entry) = self.archive.entry(at)? {
            if self.is_array(&entry)? {
                return Ok(Some(entry));
            }
            at = entry.next;
        }
        Ok(None)
    }

    /// Returns a copy of the file that compares only what opening has not compared.
    fn left_by(&self, summary: &Summary) -> Self {
        Self {
            are_names_sorted: !summary.warnings.contains(Warning::NamesUnchecked),
            are_places_sorted: !summary.warnings.contains(Warning::ExtentsUnchecked),
            ..*self
        }
    }

    /// Looks for duplicate names and overlapping extents, with the caller's memory or the little memory that is
    /// available on opening.
    fn compare(&self, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        if !self.are_names_sorted {
            let names = &mut Names(self, None);
            match memory.compare(names, 0, self.arrays)? {
                Compared::Clash(position) => {
                    return Err(self.archive.error(ErrorKind::RepeatedName, Part::Name, position.saturating_sub(1)));
                }
                Compared::TooMany => warnings.add(Warning::NamesUnchecked),
                Compared::Distinct => {}
            }
        }
        if !self.are_places_sorted {
            self.archive.compare_places(self.entries, warnings, memory)?;
        }
        Ok(())
    }

    /// Fills in the tensor record for the array of an entry.
    fn fill(&self, tensor: &mut TensorRecord<'a>, entry: &Entry<'a>, array: &Array<'a>) {
        tensor.name = Utf8::checked(array.name).unwrap_or(Utf8::new("")); // checked when the entry was read
        tensor.at = self.archive.position(entry.at);
        tensor.components = entry.at;
        match &array.contents {
            Contents::Stored(header, _, warnings) => {
                tensor.dtype = header.items.dtype;
                tensor.shape = header.shape;
                tensor.order = if header.is_column_major { Order::ColumnMajor } else { Order::RowMajor };
                tensor.warnings = *warnings;
            }
            Contents::Compressed => {
                tensor.layout = Layout::Other;
                tensor.layout_name = Utf8::new("npy");
            }
            Contents::Unreadable(_) => tensor.set_unreadable("npy"),
        }
    }
}

/// Reads the array in an entry that begins with `head`, the bytes before the items.
fn stored<'a>(head: &'a [u8], data: Extent) -> core::result::Result<Contents<'a>, npy::Fault> {
    let header = Header::read(head)?;
    let before = to_u64(head.len());
    let (items, warnings) = header.items_length(before, data.length)?;
    Ok(Contents::Stored(header, Extent::new(data.offset.saturating_add(before), items), warnings))
}

/// Returns the name of the array in an entry named `name`.
fn array_name(name: &[u8]) -> &[u8] {
    name.strip_suffix(b".npy").unwrap_or(name)
}

impl<'a> FileFormat<'a> for NpzFile<'a> {
    const FORMAT: Format = Format::Npz;

    /// Checks everything except the items and the contents of compressed entries. An array counts as unreadable if its
    /// header is invalid, or if the array is longer than its entry.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (archive, stated) = Archive::find(opening, Format::Npz)?;
        let mut file = Self {
            archive,
            entries: 0,
            arrays: 0,
            warnings: if stated.is_padded { Warning::TrailingBytes.bit() } else { 0 },
            first_unreadable: u32::MAX,
            are_names_sorted: true,
            are_places_sorted: true,
        };
        let (mut checking, mut last_name) = (Checking::new(&file.archive), None);
        while let Some((entry, data)) = checking.next(&file.archive, opening, &stated)? {
            match file.array_in(opening, &entry, data)? {
                Some(array) => {
                    match array.contents {
                        Contents::Stored(_, _, warnings) => file.warnings |= warnings,
                        Contents::Compressed => {}
                        Contents::Unreadable(_) => file.first_unreadable = file.first_unreadable.min(file.arrays),
                    }
                    file.are_names_sorted &= last_name.is_none_or(|last| is_before(last, array.name));
                    last_name = Some(array.name);
                    file.arrays = file.arrays.saturating_add(1);
                }
                None if data.length == 0 && entry.name.ends_with(b"/") => {} // a folder
                None => file.warnings |= Warning::NoArray.bit(),
            }
        }
        (file.entries, file.are_places_sorted) = (checking.entries, checking.are_places_sorted);
        if file.arrays == 0 && file.entries > 0 {
            return Err(opening.fail((ErrorKind::UnsupportedFormat, Format::Zip, Part::File), 0));
        }
        Ok(file)
    }

    /// Lists the start of each entry, unless it is in memory.
    fn wanted(input: Input<'a>, wanted: &mut Wanted<'_>) {
        if let Ok((archive, _)) = Archive::find(&ParseContext::of(input), Format::Npz) {
            archive.each_start(|_| false, |start| wanted.add(start));
        }
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary { warnings: Warnings::from_bits(self.warnings), tensor_count: self.arrays.into() };
        summary.warnings.add_unreadable(self.first_unreadable);
        self.compare(&mut summary.warnings, &mut Stack)
    }

    fn input(&self) -> Input<'a> {
        self.archive.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { archive: self.archive.with_input(input), ..self }
    }

    fn version(&self) -> Option<&'a str> {
        None
    }

    #[cfg_attr(small, inline(always))] // an index calls it too; others must not pay for that
    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let at = u32::try_from(cursor.at).unwrap_or(u32::MAX);
        let Some((entry, array)) = self.next_array(at)? else { return Ok(false) };
        tensor.index = cursor.index;
        self.fill(tensor, &entry, &array);
        *cursor = Cursor::new(entry.next.into(), 0, cursor.index.saturating_add(1));
        Ok(true)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let mut checked = summary.warnings.without(Warning::NamesUnchecked).without(Warning::ExtentsUnchecked);
        self.left_by(summary).compare(&mut checked, scratch)?;
        if npy::Names::ARE_COMPARED && summary.warnings.contains(Warning::NamesUnchecked) {
            self.compare_fields(scratch)?;
        }
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        let left = self.left_by(summary);
        let places = if left.are_places_sorted { 0 } else { self.entries };
        let names = if left.are_names_sorted { 0 } else { self.arrays.max(self.most_fields()) };
        places.max(names).into()
    }

    /// Returns the `descr` of a stored entry. A compressed entry must be decoded first.
    fn stated_type(&self, tensor: &TensorRecord<'a>) -> Option<Stated<'a>> {
        let entry = self.archive.entry(tensor.components).ok()??;
        let array = self.array(&entry).ok()??;
        match array.contents {
            Contents::Stored(header, ..) => {
                let start = self.archive.input.available_from(array.data.offset);
                Some(Stated { text: header.descr, is_latin_1: npy::is_latin_1(start) })
            }
            _ => None,
        }
    }

    fn describe_scratch(&self, tensor: &TensorRecord<'a>, decoder: &mut dyn Decoder) -> Result<u64> {
        match self.compressed(tensor)? {
            Some((entry, data)) => self.head_length(&entry, data, decoder),
            None => Ok(0),
        }
    }

    fn describe<'s>(
        &self,
        tensor: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        scratch: &'s mut [u8],
    ) -> Result<Option<Described<'s>>> {
        self.described(tensor, decoder, scratch)
    }

    fn verify_whole(
        &self,
        tensor: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        scratch: &mut [u8],
    ) -> Result<Warnings> {
        self.header_warnings(tensor, decoder, scratch)
    }

    fn verify_scratch(&self, tensor: &TensorRecord<'a>) -> u64 {
        match self.compressed(tensor) {
            Ok(Some((entry, _))) if entry.size > to_u64(HEAD_ON_STACK) => entry.size.min(LONGEST_HEAD),
            _ => 0,
        }
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let changed = self.archive.error(ErrorKind::Malformed, Part::Entry, tensor.components);
        let entry = self.archive.entry(tensor.components)?.ok_or(changed)?;
        let array = self.array(&entry)?.ok_or(changed)?;
        part.set_extent(array.data);
        match array.contents {
            Contents::Stored(header, items, _) => {
                part.dtype = header.items.dtype;
                part.storage = header.items.dtype;
                part.order = header.items.order;
                part.set_extent(items);
            }
            Contents::Compressed => {
                let (encoding, name) = entry.encoding();
                part.encoding = encoding;
                part.encoding_name = Utf8::new(name);
                part.decoded_length = Some(entry.size);
            }
            Contents::Unreadable(_) => {}
        }
        part.crc32 = (!entry.is_locked()).then_some((entry.about.crc.get(), array.data));
        Ok(cursor.is_first())
    }

    fn problem(&self, tensor: &TensorRecord<'a>) -> Option<Error> {
        let array = self
            .archive
            .entry(tensor.components)
            .and_then(|entry| entry.map_or(Ok(None), |entry| self.array(&entry)));
        match array {
            Ok(Some(Array { contents: Contents::Unreadable(error), .. })) | Err(error) => Some(error),
            Ok(_) => None,
        }
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for NpzFile<'a> {
    /// Skips entries with other names without reading their contents, if their names are decisive.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let (mut at, mut index) = (0, 0_u32);
        while let Some(entry) = self.archive.entry(at)? {
            if array_name(entry.name) == name {
                if let Some(array) = self.array(&entry)? {
                    tensor.index = index;
                    self.fill(tensor, &entry, &array);
                    return Ok(());
                }
            }
            index = index.saturating_add(u32::from(self.is_array(&entry)?));
            at = entry.next;
        }
        Err(Error::new(ErrorKind::NotFound))
    }

    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let at = u32::try_from(cursor.at).unwrap_or(u32::MAX);
        let Some(entry) = self.next_named(at)? else { return Ok(None) };
        cursor.at = entry.next.into();
        let name = Text::new(array_name(entry.name), false);
        Ok(Some(Named { name, name_at: entry.at, tensor_at: entry.at }))
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.next_tensor_from(position, index, tensor)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        let record = self.archive.record(position).ok().flatten();
        Name::Plain(array_name(record.map(|record| record.name).unwrap_or_default()))
    }
}

impl StoredElements for NpzFile<'_> {}
