//! zTensor 0.1: the manifest is a list of entries, one map a tensor ("Tensor Metadata").
//!
//! Depends on `super`, `codec::cbor`. Real writers emit every entry as a map of indefinite length.
#![forbid(unsafe_code)]

use super::layout::{self, Measure, Measures};
use super::{File, Manifest, Parsed, Tensor};
use crate::codec::cbor::{Fault, Field, Reader};
use crate::error::{ErrorKind, Item, Result};
use crate::format::Part;
use crate::vocab::{ByteOrder, Encoding, Layout};

/// The keys of an entry. `layout` is listed as required, and "dense" as its default: absent means dense.
/// Unknown keys are the tensor's attributes.
pub(super) const ENTRY: &[Field] = &[
    Field { key: "name", item: Item::Name, required: true },
    Field { key: "offset", item: Item::Offset, required: true },
    Field { key: "size", item: Item::Length, required: true },
    Field { key: "dtype", item: Item::DType, required: true },
    Field { key: "shape", item: Item::Shape, required: true },
    Field { key: "encoding", item: Item::Encoding, required: true },
    Field { key: "layout", item: Item::Layout, required: false },
    Field { key: "data_endianness", item: Item::ByteOrder, required: false },
    Field { key: "checksum", item: Item::Digest, required: false },
];

/// Reads the root.
pub(super) fn root<'a>(file: &mut File<'a>, reader: &mut Reader<'a>) -> Result<()> {
    file.version = Some("0.1"); // the magic says so
    reader.item = Item::Manifest;
    let left = reader.array();
    file.check_entries(reader, left)
}

/// The name of the entry at which `reader` stands, and where it stands; the rest is passed.
pub(super) fn name<'a>(reader: &mut Reader<'a>) -> (&'a [u8], u32) {
    let mut name: (&[u8], u32) = (&[], 0);
    let mut record = reader.record(ENTRY);
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::Name => {
                let at = reader.position();
                name = (reader.text().as_bytes(), at);
            }
            _ => reader.skip(),
        }
    }
    name
}

/// Reads an entry, with every check of a tensor.
#[inline(never)] // one frame at a time: stack is scarce
pub(super) fn entry<'a>(tensor: &mut Tensor<'a>, reader: &mut Reader<'a>) -> Parsed<()> {
    let (manifest, at) = (tensor.manifest, tensor.entry);
    tensor.components = at;
    tensor.attributes = at;
    let mut volume = layout::Volume::default();
    reader.item = Item::Tensor;
    let mut record = reader.record(ENTRY);
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::Name => tensor.name = reader.text(),
            Item::Shape => volume = layout::shape(reader, tensor),
            Item::DType => tensor.dtype = layout::dtype(reader, layout::LONG_DTYPES),
            Item::Layout => {
                tensor.layout_name = reader.text();
                tensor.layout = match tensor.layout_name {
                    "dense" => Layout::Dense,
                    // What the writers really emit; the text's `sparse` keeps its indices in attributes.
                    "sparsecsr" => Layout::SparseCsr,
                    "sparsecoo" => Layout::SparseCoo,
                    _ => Layout::Other,
                };
            }
            _ => reader.skip(), // the component's
        }
    }
    reader.check()?;
    let behind = reader.position();
    let mut part = manifest.part("data", at, at);
    component(manifest, &mut manifest.reader(at), &mut part)?;
    *reader = manifest.reader(behind);
    tensor.warnings = part.warnings;
    // Of a sparse tensor the one component holds indices too; `Sparse` checks it.
    if tensor.layout == Layout::SparseCsr && tensor.rank != 2 {
        return Err(Fault { kind: ErrorKind::RankMismatch, item: Item::Shape, at: volume.at });
    }
    if !matches!(tensor.layout, Layout::SparseCsr | Layout::SparseCoo) {
        let measure = Measure::of(&part, at);
        measure.elements()?;
        let mut parts = Measures::default();
        parts.add(part.role, measure);
        layout::check(tensor, &volume, &parts)?;
    }
    Ok(())
}

/// Reads the one component of the entry at which `reader` stands.
pub(super) fn component<'a>(manifest: Manifest<'a>, reader: &mut Reader<'a>, part: &mut Part<'a>) -> Parsed<()> {
    let at = reader.position();
    reader.item = Item::Tensor;
    let mut record = reader.record(ENTRY);
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::Offset => part.extent.offset = reader.unsigned(),
            Item::Length => part.extent.length = reader.unsigned(),
            Item::DType => part.dtype = layout::dtype(reader, layout::LONG_DTYPES),
            Item::Encoding => layout::encoding(reader, part),
            Item::Digest => layout::digest(reader, part),
            Item::ByteOrder => {
                let at = reader.position();
                part.order = match reader.text() {
                    "little" => ByteOrder::Little,
                    "big" => ByteOrder::Big,
                    _ => {
                        reader.fail(ErrorKind::InvalidByteOrder, at);
                        ByteOrder::Little
                    }
                };
            }
            _ => reader.skip(), // the tensor's
        }
    }
    reader.check()?;
    if part.encoding != Encoding::Raw {
        part.order = ByteOrder::Little; // the key is defined for raw data only
    }
    part.storage = part.dtype;
    layout::placed(manifest, part, at)
}
