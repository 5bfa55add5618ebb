//! zTensor 2 (`.zt`).
//!
//! ```text
//! 0     magic, 8 bytes: 89 5A 54 32 0D 0A 1A 0A
//! 4096  blobs, each at a multiple of 4096; one of them is the manifest, deterministic CBOR:
//!         {"shards"?: {name: {size, digest}}, "objects": {name: object}, "attributes"?: map}
//!         object: {"parts": {role: part}, "shape": [length], "layout": text, "attributes"?: map}      (entry.rs)
//!         part: {"blob": [offset, length], "type"?, "dtype", "shard"?, "digest"?, "encoding"? and "decoded_length"?}
//! -40   footer: offset, length and XXH3-64 of the manifest, u64 each; version 2, u32; u32 ignored; magic
//! ```
//!
//! The rules are those of Draft 4 of the specification, as far as the reference implementation, the crate `ztensor`
//! 2.1, enforces them. A file without a manifest is a shard: it contains blobs that other files refer to.
#![forbid(unsafe_code)]

mod blob;
mod compare;
mod digest;
mod entry;
mod explain;
mod layout;
mod manifest;
mod overlap;
#[cfg_attr(small, path = "remembered_small.rs")]
mod remembered;
#[cfg_attr(small, path = "fast_none.rs")]
mod fast;
mod shards;
#[cfg(feature = "write")]
mod write;

use core::cmp::Ordering;

#[cfg(not(small))]
use self::compare::WORDS;
use self::compare::{Place, Places};
use self::manifest::{FOOTER, Footer, Keys, Manifest, ROOT, SMALLEST, is_aligned};
use self::overlap::{ManifestWalk, Seen};
use self::shards::Table;
pub use self::shards::{Shard, Shards};
#[cfg(feature = "write")]
pub(super) use self::write::Ztensor2Writer;
use super::{
    ComponentRecord, Context, Cursor, FileFormat, ListedShard, Name, Named, NamedTensors, StoredElements, Summary,
    TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::fast::AllPlain;
use crate::codec::cbor::strict::{Reader, Record, key_order};
use crate::codec::xxh3;
use crate::duplicates::{self, Distinct as _, MAX_COMPARED};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};

const MAGIC: [u8; 8] = *b"\x89ZT2\r\n\x1a\n";

/// The longest manifest (section 3.1).
const MAX_MANIFEST: u64 = 1 << 30;

/// A zTensor 2 file.
#[derive(Clone, Copy, Debug)]
pub struct Ztensor2File<'a> {
    input: Input<'a>,
    manifest: Manifest<'a>,
    /// Positions in the manifest: of the table of shards and of the attributes; 0 if absent.
    shards: u32,
    attributes: u32,
    /// The names of the tensors.
    objects: Keys,
    are_plain: AllPlain,
}

impl<'a> Ztensor2File<'a> {
    /// Returns the extent of the manifest in the file. The extent is empty if there is no manifest.
    #[must_use]
    pub const fn manifest(&self) -> Extent {
        Extent::new(self.manifest.region.start, to_u64(self.manifest.region.bytes.len()))
    }

    /// Returns true if the file has no manifest: it only contains bytes for other files, which list it as a shard.
    #[must_use]
    pub const fn is_shard(&self) -> bool {
        self.manifest.region.bytes.is_empty()
    }

    /// Returns an iterator over the shards: the other files that components may be in.
    #[must_use]
    pub fn shards(&self) -> Shards<'a> {
        Shards::new(self.table())
    }

    /// Checks that `bytes` is the complete shard named `name`, by its size and its digest. Then
    /// [`Component::with_shard`](crate::Component::with_shard) can use `bytes` for every component in the shard. Linear
    /// in the bytes. Returns true if the digest was compared. It is not compared if its algorithm is unknown, or is
    /// SHA-256 and not built in.
    ///
    /// # Errors
    /// `NotFound` if the file lists no such shard. `WrongLength` or `DigestMismatch` if `bytes` is another file.
    /// `InvalidDigest` if the digest is misspelled.
    pub fn check_shard(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.check_shard_bytes(name.as_bytes(), bytes)
    }

    pub(crate) fn check_shard_bytes(&self, name: &[u8], bytes: &[u8]) -> Result<bool> {
        match self.table().find(name) {
            Some((shard, at)) => shards::check(&shard, bytes, self.manifest.offset(at)),
            None => Err(Error::new(ErrorKind::NotFound)),
        }
    }

    const fn table(&self) -> Table<'a> {
        Table { region: self.manifest.region, position: self.shards }
    }

    /// Reads the manifest from its start. Adds its warnings and the tensor count to `summary`, and the positions of
    /// components to `seen`. `memory` belongs to the caller; it is `None` on opening.
    #[inline(never)] // keeps its stack frame separate from the comparison
    fn read_manifest(
        &mut self,
        reader: &mut Reader<'a>,
        summary: &mut Summary,
        seen: &mut Seen<'a>,
        memory: Option<&mut [u32]>,
    ) -> Option<()> {
        let mut memory = memory;
        let mut record = Record::default();
        reader.record(&mut record, ROOT)?;
        loop {
            let item = reader.field(&mut record, 0)?;
            let at = reader.position();
            match item {
                Part::Shards => {
                    self.shards = at;
                    let left = reader.rest().len();
                    Table::check(reader)?;
                    let length = left.saturating_sub(reader.rest().len());
                    if !shards::IS_INDEXED && length > shards::MAX_PASSED {
                        summary.warnings.add(Warning::ExtentsUnchecked);
                    }
                }
                Part::Tensors => {
                    self.objects = Keys::read(reader)?;
                    match memory.take() {
                        Some(memory) => self.read_objects(reader, summary, seen, memory, false)?,
                        None if !shards::IS_INDEXED || self.shards == 0 => {
                            self.read_objects(reader, summary, seen, &mut [], true)?;
                        }
                        None => self.read_objects_in_shards(reader, summary, seen)?,
                    }
                    (reader.item, reader.entry) = (Part::Manifest, NO_ENTRY);
                }
                Part::Attributes => {
                    self.attributes = at;
                    entry::attributes(reader, 1)?;
                }
                _ => break,
            }
        }
        reader.item = Part::Manifest; // not the part of an unknown key
        let at = reader.position();
        if reader.rest().is_empty() { Some(()) } else { reader.stop_at(ErrorKind::TrailingBytes, at) }
    }

    /// Reads all tensors. Provides a little memory for the positions of shards.
    #[inline(never)] // keeps the memory off the stack for files without shards
    fn read_objects_in_shards(
        &self,
        reader: &mut Reader<'a>,
        summary: &mut Summary,
        seen: &mut Seen<'a>,
    ) -> Option<()> {
        self.read_objects(reader, summary, seen, &mut [0; shards::SLOTS], true)
    }

    /// Reads all tensors and checks each completely.
    #[inline(never)]
    fn read_objects(
        &self,
        reader: &mut Reader<'a>,
        summary: &mut Summary,
        seen: &mut Seen<'a>,
        slots: &mut [u32],
        may_defer: bool,
    ) -> Option<()> {
        let mut walk = ManifestWalk::new(self.table(), slots, seen);
        if may_defer && !walk.are_shards_few() {
            summary.warnings.add(Warning::ExtentsUnchecked);
        }
        walk.are_shards_found = !may_defer || !summary.warnings.contains(Warning::ExtentsUnchecked);
        let mut left = self.objects.left;
        let (mut last, mut index) = (&[][..], 0_u32);
        while left > 0 {
            left = left.saturating_sub(1);
            if let Some(entry) = fast::check(&self.manifest, reader.position(), last) {
                reader.go_to(entry.after);
                walk.add_own(entry.extent);
                last = entry.name;
                index = index.wrapping_add(1);
                continue;
            }
            walk.seen.are_plain = AllPlain::new(false);
            let mut tensor = TensorRecord::blank();
            self.read_object(reader, &mut last, &mut tensor, Some(&mut walk))?;
            summary.warnings.add_tensor(tensor.warnings, index);
            index = index.wrapping_add(1); // an entry takes at least one byte of the manifest
        }
        summary.tensor_count = index.into();
        Some(())
    }

    /// Reads the entry of a tensor, whose name must come after `last`.
    #[inline]
    fn read_object(
        &self,
        reader: &mut Reader<'a>,
        last: &mut &'a [u8],
        tensor: &mut TensorRecord<'a>,
        walk: Option<&mut ManifestWalk<'_, 'a>>,
    ) -> Option<()> {
        let at = reader.position();
        tensor.at = self.manifest.offset(at);
        reader.entry = at;
        tensor.name = entry::name(reader, Part::Name, last)?;
        entry::object(&self.manifest, reader, tensor, walk)
    }

    /// Reads the entry at `position` if it is plain. Returns the position after it.
    #[inline]
    fn read_plain(&self, tensor: &mut TensorRecord<'a>, position: u32) -> Option<u32> {
        let read = if self.are_plain.get() { fast::read::<true> } else { fast::read::<false> };
        read(&self.manifest, tensor, position)
    }

    /// Returns the name of the entry at `position` if it is plain, and the position after the entry.
    #[inline(always)]
    fn skip_plain(&self, position: u32) -> Option<(&'a [u8], u32)> {
        if self.are_plain.get() {
            return fast::skip_unchecked::<true>(&self.manifest, position);
        }
        fast::skip_unchecked::<false>(&self.manifest, position)
    }

    /// Reads the next tensor, plain or not.
    #[cfg_attr(not(small), inline(never))]
    fn next_of_any(&self, key: Keys, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let mut reader = self.manifest.reader(key.at);
        let read = self.read_object(&mut reader, &mut &[][..], tensor, None);
        if read.is_some() {
            advance(cursor, reader.position(), key.left);
        }
        self.manifest.outcome(&reader, read.map(|()| true))
    }

    /// Reads the next component, plain or not.
    #[cfg_attr(not(small), inline(never))]
    fn next_of_any_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let Keys { at, left } =
            if cursor.index == 0 { Keys { at: tensor.components, left: 0 } } else { keys(cursor) };
        let mut reader = self.manifest.reader_in(tensor, at);
        let mut next = || {
            let left = if cursor.index == 0 { reader.map()? } else { left };
            let Some(left) = left.checked_sub(1) else { return Some(false) };
            entry::component(&self.manifest, &mut reader, &mut &[][..], part)?;
            layout::complete(tensor, part);
            advance(cursor, reader.position(), left);
            Some(true)
        };
        let found = next();
        self.manifest.outcome(&reader, found)
    }

    /// Detects overlaps between the components that were seen on opening.
    #[cfg(not(small))]
    #[inline(never)] // keeps its memory off the stack while the manifest is read
    fn compare_seen(&self, _: &mut Reader<'a>, warnings: &mut Warnings, seen: &mut Seen<'a>) -> Result<()> {
        if seen.are_apart() {
            return Ok(());
        }
        // If all extents are remembered, some overlap, and the comparison finds the error.
        if !seen.are_remembered() && seen.count > MAX_COMPARED {
            warnings.add(Warning::ExtentsUnchecked);
            return Ok(());
        }
        self.compare(&mut [0; WORDS])
    }

    /// Detects overlaps between the components that were seen on opening. Reads all of them again for each block.
    #[cfg(small)]
    fn compare_seen(&self, reader: &mut Reader<'a>, warnings: &mut Warnings, seen: &mut Seen<'a>) -> Result<()> {
        let mut is_next = !seen.are_apart();
        if is_next && seen.count > MAX_COMPARED {
            warnings.add(Warning::ExtentsUnchecked);
            is_next = false;
        }
        let mut summary = Summary::default();
        summary.warnings.add(Warning::ExtentsUnchecked); // shards have already been looked up
        while is_next {
            if seen.has_overlap() {
                return Err(self.manifest.error(reader));
            }
            is_next = seen.begin_next_block();
            *reader = self.manifest.reader(self.objects.at);
            if is_next && self.read_objects(reader, &mut summary, seen, &mut [], true).is_none() {
                return Err(self.manifest.error(reader)); // the bytes have changed
            }
        }
        Ok(())
    }

    /// Detects overlaps between components.
    fn compare(&self, memory: &mut [u32]) -> Result<()> {
        let mut places = Places::of(&self.manifest);
        let start = Place::start(self.objects);
        // `clash` has read the overlapping component last, to find its index.
        duplicates::clash(&mut places, start, memory)?.map_or(Ok(()), |_| Err(places.overlap()))
    }
}

impl<'a> FileFormat<'a> for Ztensor2File<'a> {
    const FORMAT: Format = Format::Ztensor2;
    const HAS_SPARSE: bool = true;

    /// Locates the manifest by the footer (section 8).
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (input, length) = (opening.input, opening.input.length());
        let fail = |kind, item, at| Err(opening.fail((kind, Format::Ztensor2, item), at));
        let data_end = length.saturating_sub(FOOTER);
        if length < SMALLEST {
            return fail(ErrorKind::Truncated, Part::Footer, length);
        }
        let footer: &Footer = opening.read(data_end, (ErrorKind::Truncated, Format::Ztensor2, Part::Footer))?;
        let [offset, size, hash] = [footer.offset, footer.length, footer.hash].map(u64::from_le_bytes);
        if footer.magic != MAGIC {
            return fail(ErrorKind::MissingMagic, Part::Footer, length.saturating_sub(8));
        }
        if u32::from_le_bytes(footer.version) != 2 {
            return fail(ErrorKind::UnsupportedVersion, Part::Version, data_end.saturating_add(24));
        }
        let extent = Extent::new(offset, size);
        let is_absent = size == 0 && offset == 0 && hash == 0;
        if size > MAX_MANIFEST {
            return fail(ErrorKind::ManifestTooLarge, Part::Footer, data_end.saturating_add(8));
        } else if !is_absent && (size == 0 || !extent.is_within(data_end)) {
            return fail(ErrorKind::ManifestSize, Part::Footer, data_end);
        } else if !is_absent && !is_aligned(offset) {
            return fail(ErrorKind::MisalignedOffset, Part::Footer, data_end);
        }
        let bytes = opening.keep(extent)?;
        if !is_absent && xxh3::hash(bytes) != hash {
            return fail(ErrorKind::ManifestHash, Part::Manifest, offset);
        }
        let manifest = Manifest { region: Region { bytes, start: offset }, data_end };
        Ok(Self { input, manifest, shards: 0, attributes: 0, objects: Keys::NONE, are_plain: AllPlain::new(false) })
    }

    /// Reads the manifest and checks everything but the contents of the blobs.
    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        if self.is_shard() {
            return Ok(());
        }
        let mut reader = self.manifest.reader(0);
        let mut seen = Seen::new();
        let read = self.read_manifest(&mut reader, summary, &mut seen, None);
        if read.is_none() {
            reader.prefer_fault_of_encoding();
            return Err(self.manifest.error(&reader));
        }
        self.are_plain = seen.are_plain;
        self.compare_seen(&mut reader, &mut summary.warnings, &mut seen)
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some("2")
    }

    fn attributes(&self) -> Attributes<'a> {
        self.manifest.attributes(self.attributes)
    }

    fn next_shard(&self, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        Shards::read_next(self.table(), cursor)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let Keys { at, left } = if cursor.index == 0 { self.objects } else { keys(cursor) };
        let Some(left) = left.checked_sub(1) else { return Ok(false) };
        tensor.index = cursor.index;
        if let Some(after) = self.read_plain(tensor, at) {
            advance(cursor, after, left);
            return Ok(true);
        }
        self.next_of_any(Keys { at, left }, cursor, tensor)
    }

    /// Compares all extents exactly, and looks up all shards.
    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let checked = summary.warnings.without(Warning::ExtentsUnchecked);
        if !summary.warnings.contains(Warning::ExtentsUnchecked) {
            return Ok(checked);
        }
        if scratch.is_empty() || self.table().length() > to_u64(scratch.len()) {
            return Err(Error::new(ErrorKind::OutOfScratch));
        }
        let mut reader = self.manifest.reader(0);
        let mut seen = Seen::new();
        let read = Self { ..*self }.read_manifest(&mut reader, &mut Summary::default(), &mut seen, Some(scratch));
        read.ok_or_else(|| self.manifest.error(&reader))?;
        if !seen.are_apart() {
            let scratch = if scratch.len() < 2 { &mut [0; 2] } else { scratch }; // one position takes two words
            duplicates::check_room(seen.count.into(), scratch.len() >> 1)?;
            self.compare(scratch)?;
        }
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        if !summary.warnings.contains(Warning::ExtentsUnchecked) {
            return 0;
        }
        let mut places = Places::of(&self.manifest);
        let (mut place, mut count) = (Place::start(self.objects), 0_u64);
        while places.next(&mut place).is_some() {
            count = count.saturating_add(1);
        }
        count.saturating_mul(2).max(self.table().length()).max(1)
    }

    fn tensor_attributes(&self, tensor: &TensorRecord<'a>) -> Attributes<'a> {
        self.manifest.attributes(tensor.attributes)
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        if cursor.index == 0 {
            let read = if self.are_plain.get() { fast::read_data::<true> } else { fast::read_data::<false> };
            if let Some(after) = read(&self.manifest, tensor, part) {
                advance(cursor, after, 0);
                return Ok(true);
            }
        }
        self.next_of_any_component(tensor, cursor, part)
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for Ztensor2File<'a> {
    /// The cost is linear in the bytes of the manifest up to the tensor. The names are sorted, shorter ones first.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let Keys { at, mut left } = self.objects;
        let mut reader = self.manifest.reader(at);
        let mut find = || {
            while left > 0 {
                left = left.saturating_sub(1);
                let at = reader.position();
                match self.skip_plain(at) {
                    Some((found, after)) if key_order(found, name) == Ordering::Less => {
                        reader.go_to(after);
                        tensor.index = tensor.index.wrapping_add(1); // see below
                        continue;
                    }
                    Some((found, _)) if found == name && self.read_plain(tensor, at).is_some() => {
                        return Some(true);
                    }
                    _ => {}
                }
                let found = reader.text_bytes()?;
                match key_order(found, name) {
                    Ordering::Less => {}
                    Ordering::Equal => {
                        reader = self.manifest.reader(at);
                        self.read_object(&mut reader, &mut &[][..], tensor, None)?;
                        return Some(true);
                    }
                    Ordering::Greater => break,
                }
                reader.pass_over_value()?;
                tensor.index = tensor.index.wrapping_add(1); // an entry takes at least one byte of the manifest
            }
            Some(false)
        };
        let found = find();
        if self.manifest.outcome(&reader, found)? { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }

    #[cfg_attr(not(small), inline(always))]
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let Keys { at, left } = if cursor.index == 0 { self.objects } else { keys(cursor) };
        let Some(left) = left.checked_sub(1) else { return Ok(None) };
        if let Some((name, after)) = self.skip_plain(at) {
            advance(cursor, after, left);
            return Ok(Some(Named { name: Text::new(name, false), name_at: at, tensor_at: at }));
        }
        let mut reader = self.manifest.reader(at);
        let name = reader.text().and_then(|name| reader.pass_over_value().map(|()| Text::new(name.bytes(), false)));
        let name = name.ok_or_else(|| self.manifest.error(&reader))?;
        advance(cursor, reader.position(), left);
        Ok(Some(Named { name, name_at: at, tensor_at: at }))
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        if self.are_plain.get() && fast::read_alone(&self.manifest, tensor, position).is_some() {
            tensor.index = index;
            return Ok(());
        }
        self.next_tensor_from(position, index, tensor)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        if let Some(name) = fast::name(&self.manifest, position) {
            return Name::Plain(name);
        }
        Name::Plain(self.manifest.reader(position).text().map_or(&[], Utf8::bytes))
    }
}

impl StoredElements for Ztensor2File<'_> {}

/// Moves an iteration to the key at `position`, with `left` keys left.
fn advance(cursor: &mut Cursor, position: u32, left: u32) {
    *cursor = Cursor::new(position.into(), left, cursor.index.saturating_add(1));
}

/// The keys at which `cursor` continues an iteration.
fn keys(cursor: &Cursor) -> Keys {
    Keys { at: u32::try_from(cursor.at).unwrap_or(u32::MAX), left: cursor.left }
}

#[cfg(test)]
mod tests;
