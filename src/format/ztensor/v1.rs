//! zTensor 1.0, 1.1 and 1.2: the manifest is a map, with the tensors by name (1.0 section 4).
//!
//! Depends on `super`, `codec::cbor`. 1.1 renamed `tensors` to `objects` and the dtypes, and gave each
//! component a dtype of its own; 1.2 added `type` and `uncompressed_length`. Those two are read by
//! presence, since 1.2 programs append to 1.1 files without changing the version.
#![forbid(unsafe_code)]

use super::layout::{self, Measure, Measures};
use super::{File, Generation, Manifest, Parsed, Tensor};
use crate::codec::cbor::{Field, Left, Reader};
use crate::error::{ErrorKind, Item, Result, Warning};
use crate::format::Part;
use crate::vocab::{DType, Layout};

/// Section 4.1. Every real 1.0 file has `generator` and `attributes`; the text does not ask for them.
const ROOT_1_0: &[Field] = &[
    Field { key: "version", item: Item::Version, required: true },
    Field { key: "attributes", item: Item::Attributes, required: false },
    Field { key: "tensors", item: Item::Tensors, required: true },
];
const ROOT_1_2: &[Field] = &[
    Field { key: "version", item: Item::Version, required: true },
    Field { key: "attributes", item: Item::Attributes, required: false },
    Field { key: "objects", item: Item::Tensors, required: true },
];

/// Section 4.2.
const TENSOR_1_0: &[Field] = &[
    Field { key: "dtype", item: Item::DType, required: true },
    Field { key: "shape", item: Item::Shape, required: true },
    Field { key: "format", item: Item::Layout, required: true },
    Field { key: "components", item: Item::Components, required: true },
];
const TENSOR_1_2: &[Field] = &[
    Field { key: "shape", item: Item::Shape, required: true },
    Field { key: "format", item: Item::Layout, required: true },
    Field { key: "attributes", item: Item::Attributes, required: false },
    Field { key: "components", item: Item::Components, required: true },
];

/// Section 4.3.
const COMPONENT_1_0: &[Field] = &[
    Field { key: "offset", item: Item::Offset, required: true },
    Field { key: "length", item: Item::Length, required: true },
    Field { key: "encoding", item: Item::Encoding, required: false },
    Field { key: "digest", item: Item::Digest, required: false },
];
const COMPONENT_1_2: &[Field] = &[
    Field { key: "dtype", item: Item::DType, required: true },
    Field { key: "type", item: Item::LogicalType, required: false },
    Field { key: "offset", item: Item::Offset, required: true },
    Field { key: "length", item: Item::Length, required: true },
    Field { key: "uncompressed_length", item: Item::DecodedLength, required: false },
    Field { key: "encoding", item: Item::Encoding, required: false },
    Field { key: "digest", item: Item::Digest, required: false },
];

pub(super) fn root_fields(generation: Generation) -> &'static [Field] {
    if generation == Generation::V1_0 { ROOT_1_0 } else { ROOT_1_2 }
}

pub(super) fn tensor_fields(generation: Generation) -> &'static [Field] {
    if generation == Generation::V1_0 { TENSOR_1_0 } else { TENSOR_1_2 }
}

pub(super) fn component_fields(generation: Generation) -> &'static [Field] {
    if generation == Generation::V1_0 { COMPONENT_1_0 } else { COMPONENT_1_2 }
}

/// The newest minor version known of each container; above it a file is warned of.
fn newest_minor(generation: Generation) -> u32 {
    if generation == Generation::V1_0 { 0 } else { 2 }
}

/// Reads the root.
pub(super) fn root<'a>(file: &mut File<'a>, reader: &mut Reader<'a>) -> Result<()> {
    let manifest = file.manifest;
    reader.item = Item::Manifest;
    let mut record = reader.record(root_fields(manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::Version => version(file, reader),
            Item::Attributes => file.attributes = attributes(reader),
            _ => {
                let left = reader.map();
                file.check_entries(reader, left)?;
            }
        }
    }
    reader.check().map_err(|fault| manifest.error(fault, 0))
}

/// Reads the version (section 6.1): another major is refused, a newer minor warned of.
fn version<'a>(file: &mut File<'a>, reader: &mut Reader<'a>) {
    let at = reader.position();
    let text = reader.text();
    file.version = Some(text);
    let newest = newest_minor(file.manifest.generation);
    let mut numbers = text.as_bytes().split(|byte| *byte == b'.').map(number);
    match (numbers.next(), numbers.next()) {
        (Some(Some(1)), Some(Some(minor))) if minor > newest => file.warnings.add(Warning::NewerMinor),
        (Some(Some(1)), Some(Some(_))) => {}
        (Some(Some(1)), None) => file.warnings.add(Warning::NoMinor),
        (Some(Some(_)), None | Some(Some(_))) => reader.fail(ErrorKind::UnsupportedVersion, at),
        _ => reader.fail(ErrorKind::InvalidVersion, at),
    }
}

/// A number in decimal digits, and nothing else. Large ones are as large as can be.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number.saturating_mul(10).saturating_add(u32::from(digit)))
    })
}

/// Passes the attributes, a map; where they stand.
fn attributes(reader: &mut Reader<'_>) -> u32 {
    let at = reader.position();
    let left = reader.map();
    reader.skip_inside(left);
    at
}

/// Reads the entry of a tensor, its name and its record, with every check of a tensor.
#[inline(never)] // one frame at a time: stack is scarce
pub(super) fn entry<'a>(tensor: &mut Tensor<'a>, reader: &mut Reader<'a>) -> Parsed<()> {
    let manifest = tensor.manifest;
    reader.item = Item::Name;
    tensor.name = reader.text();
    let mut volume = layout::Volume::default();
    let mut parts = Measures::default();
    reader.item = Item::Tensor;
    let mut record = reader.record(tensor_fields(manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::DType => tensor.dtype = layout::dtype(reader, layout::LONG_DTYPES),
            Item::Shape => volume = layout::shape(reader, tensor),
            Item::Attributes => tensor.attributes = attributes(reader),
            Item::Layout => {
                tensor.layout_name = reader.text();
                tensor.layout = layout(manifest.generation, tensor.layout_name);
            }
            _ => components(tensor, reader, &mut parts)?,
        }
    }
    reader.check()?;
    if manifest.generation == Generation::V1_0 {
        for (role, part) in parts.with_roles() {
            part.dtype = dtype_of_role(role, tensor.dtype);
            part.elements()?;
        }
    } else {
        tensor.dtype = parts.dtype(tensor.layout);
    }
    layout::check(tensor, &volume, &parts)
}

/// The layout of that name (section 5; 1.1 added the last one).
pub(super) fn layout(generation: Generation, name: &str) -> Layout {
    match name {
        "dense" => Layout::Dense,
        "sparse_csr" => Layout::SparseCsr,
        "sparse_coo" => Layout::SparseCoo,
        "quantized_group" if generation == Generation::V1_2 => Layout::QuantizedGroup,
        _ => Layout::Other,
    }
}

/// Reads the components of a tensor.
fn components<'a>(tensor: &mut Tensor<'a>, reader: &mut Reader<'a>, parts: &mut Measures) -> Parsed<()> {
    tensor.components = reader.position();
    let mut left = reader.map();
    let all = left;
    let mut largest_role = None;
    while reader.more_pairs(&mut left) {
        let at = reader.position();
        let mut part = tensor.manifest.part("", at, tensor.entry);
        component(tensor.manifest, reader, &mut part)?;
        tensor.warnings |= part.warnings;
        let measure = Measure::of(&part, at);
        measure.elements()?;
        // Larger than all before, as real programs write them, is different from all; others are compared.
        let is_largest = largest_role.is_none_or(|largest| largest < part.role);
        if !parts.add(part.role, measure) || (!is_largest && stands_before(tensor, all, part.role, at)) {
            reader.item = Item::Role;
            return Err(reader.fault(ErrorKind::RepeatedKey, at));
        }
        largest_role = largest_role.max(Some(part.role));
        reader.item = Item::Components;
    }
    Ok(())
}

/// Whether one of the first components, those before position `end`, has this role.
fn stands_before(tensor: &Tensor<'_>, mut left: Left, role: &str, end: u32) -> bool {
    /// Bounds the comparisons. No layout has nearly as many roles, and the known ones are told apart anyway.
    const COMPARED: u32 = 64;
    let mut reader = tensor.manifest.reader(tensor.components);
    reader.map();
    for _ in 0..COMPARED {
        if !reader.more_pairs(&mut left) || reader.position() >= end {
            return false;
        }
        if reader.text() == role {
            return true;
        }
        reader.skip_record();
    }
    false
}

/// Reads a component, its role and its record.
///
/// In 1.0 the dtype is the tensor's and may stand behind: see [`dtype_of_role`].
pub(super) fn component<'a>(manifest: Manifest<'a>, reader: &mut Reader<'a>, part: &mut Part<'a>) -> Parsed<()> {
    let at = reader.position();
    reader.item = Item::Role;
    part.role = reader.text();
    reader.item = Item::Component;
    let mut logical = None;
    let mut record = reader.record(component_fields(manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        match item {
            Item::DType => part.storage = layout::dtype(reader, layout::SHORT_DTYPES),
            Item::LogicalType => {
                let at = reader.position();
                logical = Some((reader.text(), at));
            }
            Item::Offset => part.extent.offset = reader.unsigned(),
            Item::Length => part.extent.length = reader.unsigned(),
            Item::DecodedLength => part.decoded_length = Some(reader.unsigned()),
            Item::Encoding => layout::encoding(reader, part),
            _ => layout::digest(reader, part),
        }
    }
    reader.check()?;
    layout::placed(manifest, part, at)?;
    part.dtype = part.storage;
    if let Some((logical, at)) = logical {
        reader.item = Item::LogicalType;
        layout::logical_type(reader, part, logical, at)?;
    }
    Ok(())
}

/// 1.0: the type of a component's elements, by its role (sections 4.2, 5.1 to 5.3).
pub(super) fn dtype_of_role(role: &str, tensor: Option<DType>) -> Option<DType> {
    match role {
        "data" | "values" => tensor,
        "indices" | "indptr" | "coords" => Some(DType::U64),
        _ => None,
    }
}
