//! The entry of a tensor and the record of a component. The code that reads them also checks them.
#![forbid(unsafe_code)]

use super::layout::{self, ComponentSizes, ElementCount};
use super::manifest::{FOOTER, MAX_NAME, Manifest, is_aligned};
use super::overlap::ManifestWalk;
use super::{digest, shards};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::keywords;
use crate::bytes::num::to_u64;
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::codec::cbor::strict::{Fields, Reader, Record, fields};
use crate::duplicates::Entry as _;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{ComponentRecord, Contents, TensorRecord};
use crate::types::Encoding;

/// The record of a tensor (section 3.3).
pub(super) const OBJECT: &Fields = &fields!({
    "parts": Components,
    "shape": Shape,
    "layout": Layout,
    "attributes": Attributes,
} required Components Shape Layout);

/// The record of a component (section 3.4).
pub(super) const PART: &Fields = &fields!({
    "blob": Offset,
    "type": LogicalType,
    "dtype": DType,
    "shard": Shard,
    "digest": Digest,
    "encoding": Encoding,
    "decoded_length": DecodedLength,
} required Offset DType);

/// The nesting depth of the records in the manifest.
const OBJECT_DEPTH: usize = 2;
pub(super) const PART_DEPTH: usize = 4;

/// Reads the name of `item`: a key that must come after `last` and follow the rules for names (section 3.5).
#[cfg_attr(small, inline(never))]
pub(super) fn name<'a>(reader: &mut Reader<'a>, item: Part, last: &mut &'a [u8]) -> Option<Utf8<'a>> {
    let at = reader.position();
    reader.item = item;
    let name = reader.key_bytes(last)?;
    let (any, least) = name.iter().fold((0, 0xff), |(any, least), byte| (any | byte, least.min(*byte)));
    let kind = if name.is_empty() || name.len() > MAX_NAME {
        ErrorKind::NameLength
    } else if least == 0 {
        ErrorKind::InvalidName
    } else if any < 0x80 || is_utf8(name) {
        return Some(Utf8::known(name)); // nearly all names are ASCII
    } else {
        ErrorKind::InvalidUtf8
    };
    reader.stop_at(kind, at)
}

/// Reads the attributes, a map at nesting depth `depth`. The contents of the values only have to follow the rules for
/// CBOR.
#[inline(never)]
pub(super) fn attributes(reader: &mut Reader<'_>, depth: usize) -> Option<()> {
    let (mut left, mut last) = (reader.map()?, &[][..]);
    while left > 0 {
        left = left.saturating_sub(1);
        name(reader, Part::Key, &mut last)?;
        reader.item = Part::Value;
        reader.skip_value(depth.saturating_add(1))?;
    }
    Some(())
}

/// Reads the record of a tensor and checks it completely. In a `walk` over all tensors, also makes the checks that
/// depend on other tensors.
#[inline]
pub(super) fn object<'a>(
    manifest: &Manifest<'a>,
    reader: &mut Reader<'a>,
    tensor: &mut TensorRecord<'a>,
    mut walk: Option<&mut ManifestWalk<'_, 'a>>,
) -> Option<()> {
    let (mut volume, mut parts) = (ElementCount::default(), ComponentSizes::NONE);
    reader.item = Part::Tensor;
    let mut record = Record::default();
    reader.record(&mut record, OBJECT)?;
    loop {
        match reader.field(&mut record, OBJECT_DEPTH)? {
            Part::Components => components(manifest, reader, tensor, &mut parts, walk.as_deref_mut())?,
            Part::Shape => volume = layout::shape(reader, tensor)?,
            Part::Layout => {
                tensor.layout_name = reader.text()?;
                tensor.layout = layout::of_name(tensor.layout_name.bytes());
            }
            Part::Attributes => {
                tensor.attributes = reader.position();
                attributes(reader, OBJECT_DEPTH.saturating_add(1))?;
            }
            _ => return layout::check(reader, tensor, &volume, &parts),
        }
    }
}

/// Reads the components of a tensor.
#[cfg_attr(small, inline(never))]
fn components<'a>(
    manifest: &Manifest<'a>,
    reader: &mut Reader<'a>,
    tensor: &mut TensorRecord<'a>,
    parts: &mut ComponentSizes,
    mut walk: Option<&mut ManifestWalk<'_, 'a>>,
) -> Option<()> {
    tensor.components = reader.position();
    let (mut left, mut last) = (reader.map()?, &[][..]);
    if left == 0 {
        return reader.stop_at(ErrorKind::MissingComponent, tensor.components);
    }
    let mut part = ComponentRecord::blank();
    while left > 0 {
        left = left.saturating_sub(1);
        let at = reader.position();
        component(manifest, reader, &mut last, &mut part)?;
        if let Some(walk) = walk.as_deref_mut() {
            walk.add(reader, &part, at)?;
        }
        tensor.warnings |= u32::from(part.warnings);
        parts.add(&part, at);
    }
    Some(())
}

/// Reads a component into `part`: its role, which must come after `last`, and its record.
#[cfg_attr(small, inline(never))]
pub(super) fn component<'a>(
    manifest: &Manifest<'a>,
    reader: &mut Reader<'a>,
    last: &mut &'a [u8],
    part: &mut ComponentRecord<'a>,
) -> Option<()> {
    let start = reader.position();
    part.reset(manifest.offset(start), start.saturating_sub(reader.entry));
    part.role = name(reader, Part::Role, last)?;
    reader.item = Part::Component;
    let record_at = reader.position();
    let mut record = Record::default();
    reader.record(&mut record, PART)?;
    // The positions of the blob and of the logical type; 0 if absent.
    let (mut blob_at, mut logical_at) = (0, 0);
    loop {
        let item = reader.field(&mut record, PART_DEPTH)?;
        let at = reader.position();
        match item {
            Part::Offset => {
                blob_at = at;
                part.extent = blob(reader)?;
            }
            Part::LogicalType => {
                logical_at = at;
                part.dtype = layout::logical_dtype(reader.text()?.bytes());
            }
            Part::DType => part.storage = Some(layout::dtype(reader)?),
            Part::Shard => part.shard = Some(shards::name(reader, None)?),
            Part::Digest => part.digest = Some(digest::read(reader, &mut part.warnings)?),
            Part::Encoding => {
                part.encoding_name = reader.text()?;
                part.encoding = layout::encoding(part.encoding_name.bytes());
            }
            Part::DecodedLength => part.decoded_length = Some(reader.unsigned()?),
            _ => break,
        }
    }
    // The encoding and the decoded length require each other (section 3.4).
    let missing = match (part.encoding, part.decoded_length) {
        (Encoding::Raw, None) => {
            part.decoded_length = Some(part.extent.length);
            None
        }
        (Encoding::Raw, _) => Some(Part::Encoding),
        (_, None) => Some(Part::DecodedLength),
        _ => None,
    };
    if let Some(missing) = missing {
        return reader.stop_in(missing, ErrorKind::MissingKey, record_at);
    }
    part.decoded = Some(Contents::Any);
    if logical_at == 0 {
        part.dtype = part.storage;
    } else {
        layout::check_logical_type(reader, part, logical_at)?;
    }
    place(manifest, reader, part, blob_at)
}

/// Checks that the bytes of a component are where blobs may be (sections 2.4 and 3.6). `at` is the position of the
/// extent in the manifest. The end of a shard is not checked: its size is only in the table of shards.
fn place(manifest: &Manifest<'_>, reader: &mut Reader<'_>, part: &ComponentRecord<'_>, at: u32) -> Option<()> {
    let extent = part.extent;
    let kind = if !is_aligned(extent.offset) {
        ErrorKind::MisalignedOffset
    } else if part.shard.is_some() {
        return Some(());
    } else if let Some(kind) = check_bounds(manifest, extent) {
        kind
    } else {
        return Some(());
    };
    reader.stop_in(Part::Offset, kind, at)
}

/// Returns the error in the position of a blob in this file, if any. Ignores the alignment.
#[inline(always)]
pub(super) fn check_bounds(manifest: &Manifest<'_>, extent: Extent) -> Option<ErrorKind> {
    let own = Extent::new(manifest.region.start, to_u64(manifest.region.bytes.len()));
    Some(if !extent.is_within(manifest.data_end.saturating_add(FOOTER)) {
        ErrorKind::OutOfFile
    } else if !extent.is_within(manifest.data_end) {
        ErrorKind::OverFooter
    } else if extent.length > 0 && extent != own && extent.clashes_with(own) {
        ErrorKind::OverManifest
    } else {
        return None;
    })
}

/// Reads an offset and a length.
#[cfg_attr(small, inline(never))]
pub(super) fn blob(reader: &mut Reader<'_>) -> Option<Extent> {
    let at = reader.position();
    if reader.array()? != 2 {
        return reader.stop_at(ErrorKind::UnexpectedType, at);
    }
    Some(Extent::new(reader.unsigned()?, reader.unsigned()?))
}
