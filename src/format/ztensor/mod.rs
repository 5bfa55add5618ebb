//! zTensor 0.1, 1.0, 1.1, 1.2 (`.zt`).
//!
//! Depends on `place`, `warning`, `error`, `bytes`, `vocab`, `shape`, `codec::cbor`, and the contract of `format`.
//!
//! ```text
//! 0     magic, 8 bytes: ZTEN0001 (0.1), ZTEN1000 (1.0, 1.1, 1.2)
//! 64    blobs, each at a multiple of 64
//!       manifest, CBOR, directly behind the last blob:
//!         0.1            a list of entries                                (v0.rs)
//!         1.0, 1.1, 1.2  a map with the tensors by name                   (v1.rs)
//! -8    size of the manifest, u64 little-endian                           (0.1, 1.0)
//! -16   size of the manifest, then the magic again                        (1.1, 1.2)
//! ```
//!
//! The text of 1.0 has no magic at the end, and no size can look like it. A 1.1 or 1.2 file that lost its
//! last 8 bytes has a footer as of 1.0, but keeps its tensors under another key, and is refused.
#![forbid(unsafe_code)]

mod entry;
mod explain;
mod layout;
mod v0;
mod v1;

pub(crate) use explain::context;

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use self::layout::Role;
use super::Part;
use crate::attributes::Attributes;
use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::{product, to_u64, to_usize};
use crate::bytes::source::{Opening, Parsed};
use crate::bytes::text::{Text, is_before};
use crate::bytes::words::Words;
use crate::codec::cbor::{Fault, Left, Reader};
use crate::error::{Error, ErrorKind, Result};
use crate::names::{self, Names, Repeated};
use crate::place::{Format, Item};
use crate::shape::Shape;
use crate::vocab::{DType, Layout, Order};
use crate::warning::{Warning, Warnings};

const MAGIC_0: [u8; 8] = *b"ZTEN0001";
const MAGIC_1: [u8; 8] = *b"ZTEN1000";

/// Length of the magic at the start; no blob may begin before it ends.
const HEADER: u64 = 8;

/// Where blobs begin (0.1 "Notes", 1.0 section 2): at multiples of it.
const ALIGNMENT: u64 = 64;

/// The texts of 1.1 and 1.2 have larger manifests refused; for the others it is a limit of ours.
const MAX_MANIFEST: u64 = 1 << 30;

/// The last 16 bytes of a file. In 0.1 and 1.0 the size stands where later files have the magic.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    manifest_size: [u8; 8],
    magic: [u8; 8],
}

/// What the container tells of the version. 1.1 and 1.2 have the same; fields new in 1.2 are read
/// wherever they stand, since programs append to old files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `ZTEN0001`: a list of entries.
    V0_1,
    /// `ZTEN1000` without a magic at the end.
    V1_0,
    /// `ZTEN1000` with a magic at the end: 1.1 and 1.2.
    V1_2,
}

/// The manifest: its bytes, and what it is a manifest of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manifest<'a> {
    region: Region<'a>,
    generation: Generation,
}

impl<'a> Manifest<'a> {
    /// Finds the manifest by the magics and the size (0.1 "Index Reading", 1.0 section 6 steps 1 to 3).
    fn locate(opening: &Opening<'a>) -> Parsed<Self> {
        let fail = |kind, at| Err(opening.fail((kind, Format::Ztensor, Item::Footer), at));
        let length = opening.input.length();
        let Some(tail_at) = length.checked_sub(16) else { return fail(ErrorKind::Truncated, length) };
        let head = opening.keep(Extent::new(0, super::HEAD))?;
        let tail = opening.keep(Extent::new(tail_at, 16))?;
        let Ok(tail) = Tail::ref_from_bytes(tail) else {
            return fail(ErrorKind::Truncated, tail_at); // 16 bytes were asked for
        };
        let (generation, size, footer) = if head.starts_with(&MAGIC_0) {
            (Generation::V0_1, &tail.magic, 8)
        } else if tail.magic.starts_with(&MAGIC_1) {
            (Generation::V1_2, &tail.manifest_size, 16)
        } else {
            (Generation::V1_0, &tail.magic, 8)
        };
        let size = u64::from_le_bytes(*size);
        let footer_at = length.saturating_sub(footer);
        // The text of 1.0 says `<`; its own empty files need `<=` (section 6 step 2).
        let start = footer_at.checked_sub(size).filter(|&start| start >= HEADER);
        let Some(start) = start.filter(|_| size > 0) else { return fail(ErrorKind::ManifestSize, footer_at) };
        if size > MAX_MANIFEST {
            return fail(ErrorKind::ManifestTooLarge, footer_at);
        }
        let bytes = opening.keep(Extent::new(start, size))?;
        Ok(Self { region: Region { bytes, start }, generation })
    }

    /// Length of the file: the manifest stands directly before the footer, so that the sum is what it was found by.
    const fn file_length(&self) -> u64 {
        let footer = match self.generation {
            Generation::V0_1 | Generation::V1_0 => 8,
            Generation::V1_2 => 16,
        };
        self.region.start.wrapping_add(to_u64(self.region.bytes.len())).wrapping_add(footer)
    }

    fn reader(&self, position: u32) -> Reader<'a> {
        Reader::new(self.region.bytes, position)
    }

    /// Whether the manifest is a list of entries, each with one component, and no map.
    const fn is_list(&self) -> bool {
        matches!(self.generation, Generation::V0_1)
    }

    fn error(&self, fault: &Fault) -> Error {
        fault.in_file(Format::Ztensor, self.region.start)
    }

    /// Whether all that `reader` has read is sound.
    fn check(&self, reader: &Reader<'_>) -> Result<()> {
        self.check_found(reader, true)
    }

    /// The same where something was to be found, and `is_found` or not.
    #[inline(never)]
    fn check_found(&self, reader: &Reader<'_>, is_found: bool) -> Result<()> {
        match reader.found_fault() {
            Some(fault) => Err(self.error(fault)),
            None if is_found => Ok(()),
            None => Err(Error::new(ErrorKind::NotFound)),
        }
    }

    /// The same for an iterator, which keeps the error that ends it.
    #[inline(never)]
    fn note(&self, reader: &Reader<'_>, error: &mut Option<Error>) {
        if let Some(fault) = reader.found_fault() {
            *error = Some(self.error(fault));
        }
    }

    /// Reads the name of the entry at which `reader` stands, and passes the rest of it. Also where the
    /// name itself stands.
    fn name(&self, reader: &mut Reader<'a>) -> (&'a [u8], u32) {
        match self.generation {
            Generation::V0_1 => v0::name(reader),
            Generation::V1_0 | Generation::V1_2 => {
                let at = reader.position();
                reader.item = Item::Name;
                let name = reader.text_bytes(); // a text, as was found when the file was opened
                reader.skip_record();
                (name, at)
            }
        }
    }

    /// Whether another entry follows.
    fn more(&self, reader: &mut Reader<'a>, left: &mut Left) -> bool {
        reader.item = Item::Tensors;
        reader.entry = 0;
        self.more_parts(reader, left)
    }

    /// Whether another component follows: one entry is one component in a list.
    fn more_parts(&self, reader: &mut Reader<'a>, left: &mut Left) -> bool {
        if self.is_list() { reader.more(left) } else { reader.more_pairs(left) }
    }

    fn attributes(&self, position: u32, hidden: Words) -> Attributes<'a> {
        if position == 0 {
            return Attributes::NONE;
        }
        Attributes::cbor(self.region, Format::Ztensor, position, hidden)
    }
}

/// A key of a map: where it is, and how much the map still has. In a list the entry that has the name.
#[derive(Clone, Copy)]
struct Key {
    at: u32,
    left: Left,
}

/// The keys of a map that must differ: the names of the tensors, or the roles of the components of one.
struct Keys<'r, 'a> {
    manifest: &'r Manifest<'a>,
    reader: &'r mut Reader<'a>,
}

impl<'a> Names<'a> for Keys<'_, 'a> {
    type Place = Key;

    fn next(&mut self, place: &mut Key) -> Option<(&'a [u8], u32)> {
        self.reader.go_to(place.at);
        if !self.manifest.more_parts(self.reader, &mut place.left) {
            return None;
        }
        let found = self.manifest.name(self.reader);
        place.at = self.reader.position();
        Some(found)
    }

    fn at(&self, position: u32) -> &'a [u8] {
        Reader::text_bytes_at(self.manifest.region.bytes, position)
    }

    fn check(&self) -> Result<()> {
        self.manifest.check(self.reader)
    }
}

/// A zTensor file.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    manifest: Manifest<'a>,
    /// The position of the version in a map.
    version: u32,
    warnings: Warnings,
    entries: u32,
    left: Left,
    count: u32,
    attributes: u32,
    /// Whether the names rise strictly: then no name is there twice, and a search may end early.
    is_sorted: bool,
}

/// Begins to open a file of which the magic is known to be ours: [`File::read`] checks the rest.
pub(crate) fn begin<'a>(opening: &Opening<'a>) -> Parsed<File<'a>> {
    let manifest = Manifest::locate(opening)?;
    Ok(File::new(manifest))
}

impl<'a> File<'a> {
    /// A file of which nothing is known yet but where its manifest stands.
    fn new(manifest: Manifest<'a>) -> Self {
        Self {
            manifest,
            version: 0,
            warnings: Warnings::default(),
            entries: 0,
            left: Left::NONE,
            count: 0,
            attributes: 0,
            is_sorted: true,
        }
    }

    /// What the container tells of the version.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.manifest.generation
    }

    /// Where the manifest stands.
    #[must_use]
    pub const fn manifest(&self) -> Extent {
        Extent::new(self.manifest.region.start, to_u64(self.manifest.region.bytes.len()))
    }

    pub(crate) fn version(&self) -> Option<&'a str> {
        match self.manifest.generation {
            Generation::V0_1 => Some("0.1"), // the magic says so
            _ => Some(self.manifest.reader(self.version).text().as_str()),
        }
    }

    pub(crate) const fn warnings(&self) -> Warnings {
        self.warnings
    }

    pub(crate) fn count(&self) -> u64 {
        u64::from(self.count)
    }

    pub(crate) fn attributes(&self) -> Attributes<'a> {
        self.manifest.attributes(self.attributes, Words::NONE)
    }

    pub(crate) fn unread_tensor(&self) -> Tensor<'a> {
        Tensor::new(self.manifest)
    }

    pub(crate) const fn tensors(&self) -> Tensors<'a> {
        Tensors { manifest: self.manifest, position: self.entries, left: self.left, index: 0, error: None }
    }

    /// Reads the manifest: checks everything but the contents of the blobs.
    pub(crate) fn read(&mut self) -> Result<()> {
        let mut reader = self.manifest.reader(0);
        self.read_manifest(&mut reader);
        self.manifest.check(&reader)
    }

    #[inline(never)]
    fn read_manifest(&mut self, reader: &mut Reader<'a>) {
        if self.manifest.is_list() {
            v0::root(self, reader);
        } else {
            v1::root(self, reader);
        }
        reader.entry = 0;
        if !reader.is_at_end() {
            reader.fail_in(Item::Manifest, ErrorKind::TrailingBytes, reader.position());
        }
        if self.is_sorted || reader.check().is_err() {
            return;
        }
        if self.count > names::MAX_COMPARED {
            self.warnings.add(Warning::NamesUnchecked);
        } else {
            let start = self.first_name();
            let repeated = names::repeated_of_few(&mut Keys { manifest: &self.manifest, reader }, start);
            self.judge_names(repeated, reader);
        }
    }

    /// Where the names of the tensors begin.
    const fn first_name(&self) -> Key {
        Key { at: self.entries, left: self.left }
    }

    /// Checks the entries of a list that has `left` of them; `reader` stands at the first, then behind the last.
    fn check_entries(&mut self, reader: &mut Reader<'a>, mut left: Left) {
        let manifest = self.manifest;
        self.entries = reader.position();
        self.left = left;
        let mut last_name = None;
        while manifest.more(reader, &mut left) {
            let mut tensor = Tensor::new(manifest);
            entry::entry(&mut tensor, reader);
            self.warnings.add_tensor(tensor.warnings, self.count);
            self.is_sorted &= last_name.is_none_or(|last: Text<'_>| is_before(last.bytes(), tensor.name.bytes()));
            last_name = Some(tensor.name);
            self.count = self.count.wrapping_add(1); // an entry takes a byte of the manifest at least
        }
    }

    /// Reads the first tensor of that name into `tensor`. Linear in the bytes of the manifest up to it.
    pub(crate) fn find(&self, name: &[u8], tensor: &mut Tensor<'a>) -> Result<()> {
        let mut reader = self.manifest.reader(self.entries);
        let mut left = self.left;
        let mut is_found = false;
        while self.manifest.more(&mut reader, &mut left) {
            let at = reader.position();
            let (found, _) = self.manifest.name(&mut reader);
            is_found = found == name;
            if is_found {
                reader.go_to(at);
                entry::entry(tensor, &mut reader);
            }
            if is_found || self.is_sorted && is_before(name, found) {
                break;
            }
            tensor.index = tensor.index.wrapping_add(1); // an entry takes a byte of the manifest at least
        }
        self.manifest.check_found(&reader, is_found)
    }

    /// Compares all names and roles, exactly. `scratch` of any size does; the time falls with it, up to one word a tensor.
    pub(crate) fn check_names(&self, scratch: &mut [u32]) -> Result<Warnings> {
        let mut file = *self;
        file.warnings = self.warnings.without(Warning::NamesUnchecked).without(Warning::RolesUnchecked);
        let mut reader = self.manifest.reader(self.entries);
        if !self.is_sorted {
            let mut keys = Keys { manifest: &self.manifest, reader: &mut reader };
            let repeated = names::repeated(&mut keys, self.first_name(), scratch)?;
            file.judge_names(repeated, &mut reader);
        }
        if self.warnings.contains(Warning::RolesUnchecked) {
            let mut tensors = self.tensors();
            let mut tensor = tensors.unread();
            while tensors.advance(&mut tensor) {
                reader.entry = tensor.entry;
                let mut keys = Keys { manifest: &self.manifest, reader: &mut reader };
                if let Some((_, at)) = names::repeated(&mut keys, tensor.first_role(), scratch)? {
                    reader.fail_in(Item::Role, ErrorKind::RepeatedKey, at);
                }
                tensor = tensors.unread();
            }
            if let Some(error) = tensors.error {
                return Err(error);
            }
        }
        self.manifest.check(&reader)?;
        Ok(file.warnings)
    }

    /// 1.x: a repeated name is an error. 0.1: its writers allow it, so it is a warning.
    fn judge_names(&mut self, repeated: Repeated, reader: &mut Reader<'_>) {
        match repeated {
            Some((index, _)) if self.manifest.is_list() => {
                self.warnings.add_tensor(Warning::RepeatedName.tensor_bit(), index);
            }
            Some((_, at)) => reader.fail_in(Item::Name, ErrorKind::RepeatedName, at),
            None => {}
        }
    }
}

/// The tensors of a file, in the order of its manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensors<'a> {
    manifest: Manifest<'a>,
    position: u32,
    left: Left,
    index: u32,
    /// Why the iteration ended early.
    error: Option<Error>,
}

impl<'a> Tensors<'a> {
    pub(crate) const fn error(&self) -> Option<Error> {
        self.error
    }

    pub(crate) fn unread(&self) -> Tensor<'a> {
        Tensor::new(self.manifest)
    }

    /// Reads the next one into `tensor`; `false` at the end, or where there is an error.
    #[inline(never)]
    pub(crate) fn advance(&mut self, tensor: &mut Tensor<'a>) -> bool {
        let mut reader = self.manifest.reader(self.position);
        let more = self.error.is_none() && self.manifest.more(&mut reader, &mut self.left);
        if more {
            tensor.index = self.index;
            entry::entry(tensor, &mut reader);
        }
        self.manifest.note(&reader, &mut self.error);
        self.position = reader.position();
        self.index = self.index.wrapping_add(1);
        more && self.error.is_none()
    }
}

/// A tensor of a zTensor file: where in the manifest its parts stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor<'a> {
    manifest: Manifest<'a>,
    name: Text<'a>,
    layout: Layout,
    layout_name: Text<'a>,
    dtype: Option<DType>,
    index: u32,
    /// `Warning::tensor_bit`s.
    warnings: u8,
    /// Positions in the manifest: of the entry (1.x: its name), the first dimension, the map of the
    /// components (0.1: the entry), the attributes (0: none).
    entry: u32,
    dimensions: u32,
    rank: u32,
    components: u32,
    attributes: u32,
}

impl<'a> Tensor<'a> {
    /// A tensor of which nothing is known yet.
    #[inline(never)] // once: it is large
    const fn new(manifest: Manifest<'a>) -> Self {
        Self {
            manifest,
            name: Text::of(""),
            layout: Layout::Dense,
            layout_name: Text::of("dense"),
            dtype: None,
            index: 0,
            warnings: 0,
            entry: 0,
            dimensions: 0,
            rank: 0,
            components: 0,
            attributes: 0,
        }
    }

    #[allow(clippy::unused_self)] // as for formats of one tensor
    pub(crate) const fn format(&self) -> Format {
        Format::Ztensor
    }

    pub(crate) const fn name(&self) -> Text<'a> {
        self.name
    }

    pub(crate) const fn dtype(&self) -> Option<DType> {
        self.dtype
    }

    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) const fn layout_name(&self) -> Text<'a> {
        self.layout_name
    }

    /// 1.0 section 2.
    pub(crate) const fn order(&self) -> Order {
        Order::RowMajor
    }

    pub(crate) fn index(&self) -> u64 {
        u64::from(self.index)
    }

    pub(crate) fn warnings(&self) -> u32 {
        u32::from(self.warnings)
    }

    pub(crate) fn shape(&self) -> Shape<'a> {
        self.shape_of(self.rank)
    }

    /// The first `rank` dimensions.
    fn shape_of(&self, rank: u32) -> Shape<'a> {
        let from = to_usize(u64::from(self.dimensions));
        let bytes = from.and_then(|from| self.manifest.region.bytes.get(from..)).unwrap_or_default();
        Shape::new(bytes, rank, layout::read_dimension)
    }

    pub(crate) fn attributes(&self) -> Attributes<'a> {
        let hidden = if self.manifest.generation == Generation::V0_1 { v0::ENTRY.keys } else { Words::NONE };
        self.manifest.attributes(self.attributes, hidden)
    }

    pub(crate) fn components(&self) -> Components<'a> {
        let mut left = Left::ONE;
        let reader = self.begin_parts(&mut left);
        let mut components = Components { tensor: *self, position: reader.position(), left, error: None };
        self.manifest.note(&reader, &mut components.error);
        components
    }

    /// Reads the first component of that role into `part`.
    #[inline(never)]
    pub(crate) fn part(&self, role: &[u8], part: &mut Part<'a>) -> Result<()> {
        let mut left = Left::ONE;
        let mut reader = self.begin_parts(&mut left);
        let mut is_found = false;
        while !is_found && self.next_part(&mut reader, &mut left, part) {
            is_found = part.is_of(role);
        }
        self.manifest.check_found(&reader, is_found)
    }

    /// Where the roles of its components begin; an entry of a list has but one.
    fn first_role(&self) -> Key {
        let mut left = Left::ONE;
        let at = self.begin_parts(&mut left).position();
        Key { at, left }
    }

    /// A reader that stands at the first component, of which there are `left`.
    fn begin_parts(&self, left: &mut Left) -> Reader<'a> {
        let mut reader = self.manifest.reader(self.components);
        reader.entry = self.entry;
        if !self.manifest.is_list() {
            *left = reader.map();
        }
        reader
    }

    /// Reads the next component into `part`; `false` at the end, or where the reader has a fault.
    #[inline(never)]
    fn next_part(&self, reader: &mut Reader<'a>, left: &mut Left, part: &mut Part<'a>) -> bool {
        let more = self.manifest.more_parts(reader, left);
        if more {
            entry::component(&self.manifest, reader, part);
            self.complete(part);
        }
        more && reader.check().is_ok()
    }

    /// Whether a sparse tensor has indices and values in one blob, as in 0.1.
    pub(crate) fn is_packed(&self) -> bool {
        self.manifest.generation == Generation::V0_1
    }

    /// Whether it is a sparse tensor of which the one component holds indices and values: `Sparse` checks it.
    fn is_packed_sparse(&self) -> bool {
        self.is_packed() && matches!(self.layout, Layout::SparseCsr | Layout::SparseCoo)
    }

    /// Gives a component what follows from its tensor: the type of its elements (1.0), and how long it is
    /// when decoded, where only the shape tells.
    fn complete(&self, part: &mut Part<'a>) {
        let role = Role::of_name(part.role);
        if self.manifest.generation == Generation::V1_0 {
            part.dtype = role.and_then(|role| role.dtype(self.dtype));
            part.storage = part.dtype;
        } else if self.layout == Layout::Dense && role == Some(Role::Data) {
            part.dtype = self.dtype; // unknown where the size is not that of the storage dtype
        } else if self.is_packed_sparse() {
            part.dtype = None; // indices and values: numbers of two types
        }
        let is_opaque = part.warnings & Warning::UnknownLogicalType.tensor_bit() != 0;
        if let (Some(dtype), None, false) = (part.dtype, part.decoded_length, is_opaque) {
            // All dimensions, or the rows and one more.
            let (rank, more) = match (self.layout, role) {
                (Layout::Dense, Some(Role::Data)) => (self.rank, 0),
                (Layout::SparseCsr, Some(Role::Indptr)) => (self.rank.min(1), 1),
                _ => return,
            };
            let elements = self.shape_of(rank).elements().and_then(|elements| elements.checked_add(more));
            part.decoded_length = product(elements, dtype.size());
        }
    }

    /// Where an error of this tensor is: at its entry.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        self.manifest.error(&Fault { kind, item: Item::Tensor, at: self.entry, back: 0 })
    }
}

/// The components of a tensor, in the order of the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components<'a> {
    tensor: Tensor<'a>,
    position: u32,
    left: Left,
    /// Why the iteration ended early.
    pub(crate) error: Option<Error>,
}

impl<'a> Components<'a> {
    /// Reads the next one into `part`; `false` at the end, or where there is an error.
    pub(crate) fn advance(&mut self, part: &mut Part<'a>) -> bool {
        let mut reader = self.tensor.manifest.reader(self.position);
        reader.entry = self.tensor.entry;
        let is_there = self.error.is_none() && self.tensor.next_part(&mut reader, &mut self.left, part);
        self.position = reader.position();
        self.tensor.manifest.note(&reader, &mut self.error);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// A list of no stated length whose end is gone, as it may be in a mapping that has changed.
    #[test]
    fn listing_says_why_it_ends_early() {
        let bytes = include_bytes!("../../../tests/fixtures/v0.1/sparse_real_layouts.zt");
        let file = begin(&Opening::of(bytes[..].into())).unwrap();
        let Region { bytes, start } = file.manifest.region;
        let mut list = bytes.to_vec();
        assert_eq!(list[0] & 0xe0, 0x80); // of a stated length
        let count = u64::from(list[0] & 0x1f);
        list[0] = 0x9f;
        list.push(0xff);
        for (bytes, expected) in [(&list[..], None), (&list[..list.len() - 1], Some(ErrorKind::Truncated))] {
            let manifest = Manifest { region: Region { bytes, start }, ..file.manifest };
            let mut reader = manifest.reader(0);
            let left = reader.array();
            let mut tensors = Tensors { manifest, position: reader.position(), left, index: 0, error: None };
            let mut listed = 0;
            while tensors.advance(&mut tensors.unread()) {
                listed += 1;
            }
            assert_eq!((listed, tensors.error().map(|error| error.kind())), (count, expected));
        }
    }
}
