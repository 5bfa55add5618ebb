//! The entry of a tensor and the record of a component, in every version.
//!
//! The code that reads them also checks them: each rule is stated once, here or in `layout`. The reader keeps the first
//! fault, so nothing here returns early. The caller checks for the fault.
#![forbid(unsafe_code)]

use super::layout::{self, ComponentSizes, ElementCount};
use super::manifest::{Generation, Key, Manifest};
use super::{Keys, is_packed_sparse, v0, v1};
use crate::bytes::utf8::{Utf8, is_before};
use crate::codec::cbor::{Fields, Left, Reader};
use crate::duplicates;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::format::{ComponentRecord, TensorRecord};
use crate::types::{ByteOrder, Encoding};

/// Reads the entry at the reader's position and checks the tensor completely. In a map of tensors, the name precedes
/// the record. In a list, the record contains the name.
#[inline(never)] // one frame at a time: stack is scarce
pub(super) fn entry<'a>(manifest: &Manifest<'a>, tensor: &mut TensorRecord<'a>, reader: &mut Reader<'a>) {
    let is_list = manifest.is_list();
    let at = reader.position();
    tensor.at = manifest.region.start.wrapping_add(at.into()); // offset in the file
    tensor.is_packed = is_list;
    reader.entry = at;
    let mut volume = ElementCount::default();
    let mut parts = ComponentSizes::NONE;
    if is_list {
        tensor.components = at;
        tensor.attributes = at;
    } else {
        reader.item = Part::Name;
        tensor.name = reader.text();
    }
    reader.item = Part::Tensor;
    let mut record = reader.record(tensor_fields(manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        match item {
            Part::Name => tensor.name = reader.text(),
            Part::DType => tensor.dtype = layout::dtype(reader, layout::LONG_DTYPES),
            Part::Shape => layout::shape(reader, tensor, &mut volume),
            Part::Attributes => tensor.attributes = v1::attributes(reader),
            Part::Layout => {
                tensor.layout_name = reader.text();
                tensor.layout = layout::of_name(manifest.generation, tensor.layout_name);
            }
            Part::Components => {
                tensor.components = reader.position();
                let left = reader.map();
                components(manifest, tensor, reader, left, &mut parts);
            }
            _ => reader.skip(), // in a list, a key of the component
        }
    }
    if is_list {
        reader.go_to(at); // the entry is also the component: the reader ends at the same position again
        components(manifest, tensor, reader, Left::ONE, &mut parts);
    } else if manifest.generation == Generation::V1_0 {
        parts.set_types(reader, tensor.dtype);
    } else {
        tensor.dtype = parts.dtype(tensor.layout);
    }
    // Real programs write roles in strictly ascending order, so that duplicates are impossible.
    if parts.are_unsorted {
        compare_roles(manifest, tensor, reader, parts.count);
    }
    layout::check(reader, tensor, &volume, &parts);
}

/// Reads the components of a tensor: those in a map, or the only one if the entry is in a list.
#[cfg_attr(small, inline(never))]
fn components<'a>(
    manifest: &Manifest<'a>,
    tensor: &mut TensorRecord<'a>,
    reader: &mut Reader<'a>,
    mut left: Left,
    parts: &mut ComponentSizes,
) {
    let mut last_role = None;
    let part = &mut ComponentRecord::blank();
    while manifest.more_parts(reader, &mut left) {
        let at = reader.position();
        component(manifest, reader, part);
        tensor.warnings |= u32::from(part.warnings);
        if is_packed_sparse(tensor) {
            return;
        }
        parts.add(reader, part, at);
        parts.are_unsorted |= last_role.is_some_and(|last: Utf8<'_>| !is_before(last.bytes(), part.role.bytes()));
        last_role = Some(part.role);
        reader.item = Part::Components;
    }
}

/// Checks for a duplicate role in another pass over the components.
#[inline(never)] // real programs write roles in order, and should not pay for this stack frame
fn compare_roles<'a>(manifest: &Manifest<'a>, tensor: &mut TensorRecord<'a>, reader: &mut Reader<'a>, count: u32) {
    if count > duplicates::MAX_COMPARED {
        tensor.warnings |= Warning::RolesUnchecked.bit();
        return;
    }
    let after = reader.position();
    reader.go_to(tensor.components);
    let left = reader.map();
    let first = Key { at: reader.position(), left };
    // If the bytes have changed, the reader keeps the fault.
    if let Ok(Some((_, at))) = duplicates::clash_on_stack(&mut Keys { manifest, reader }, first) {
        reader.fail_in(Part::Role, ErrorKind::RepeatedKey, at);
    }
    reader.go_to(after);
}

/// Reads the component at the reader's position into `part`: from its role and its record in a map, or from the entry
/// in a list.
///
/// In 1.0 the dtype belongs to the tensor and may follow the components: see [`layout::Role::dtype`].
#[cfg_attr(small, inline(never))]
pub(super) fn component<'a>(manifest: &Manifest<'a>, reader: &mut Reader<'a>, part: &mut ComponentRecord<'a>) {
    let at = reader.position();
    part.reset(manifest.region.start.wrapping_add(u64::from(at)), at.saturating_sub(reader.entry)); // file offset
    let is_list = manifest.is_list();
    if is_list {
        reader.item = Part::Tensor;
    } else {
        reader.item = Part::Role;
        part.role = reader.text();
        reader.item = Part::Component;
    }
    let mut logical = None;
    let mut record = reader.record(component_fields(manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        let at = reader.position();
        match item {
            Part::DType => {
                part.storage = layout::dtype(reader, if is_list { layout::LONG_DTYPES } else { layout::SHORT_DTYPES })
            }
            Part::LogicalType => logical = Some((reader.text(), at)),
            Part::Offset => part.extent.offset = reader.unsigned(),
            Part::Length => part.extent.length = reader.unsigned(),
            Part::DecodedLength => part.decoded_length = Some(reader.unsigned()),
            Part::Encoding => layout::encoding(reader, part),
            Part::Digest => layout::digest(reader, part),
            Part::ByteOrder => part.order = layout::byte_order(reader),
            _ => reader.skip(), // in a list, a key of the tensor
        }
    }
    if part.encoding != Encoding::Raw {
        part.order = ByteOrder::Little; // the key is defined for raw data only
    }
    part.dtype = part.storage;
    layout::place(manifest, reader, part, at);
    if let Some((logical, at)) = logical {
        layout::logical_type(reader, part, logical, at);
    }
}

/// The keys of a tensor's record.
pub(super) fn tensor_fields(generation: Generation) -> &'static Fields {
    match generation {
        Generation::V0_1 => v0::ENTRY,
        Generation::V1_0 => v1::TENSOR_1_0,
        Generation::V1_2 => v1::TENSOR_1_2,
    }
}

/// The keys of a component's record. In a list, it is also the tensor's record.
pub(super) fn component_fields(generation: Generation) -> &'static Fields {
    match generation {
        Generation::V0_1 => v0::ENTRY,
        Generation::V1_0 => v1::COMPONENT_1_0,
        Generation::V1_2 => v1::COMPONENT_1_2,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ZtensorFile;
    use super::*;
    use crate::bytes::extent::Region;
    use crate::bytes::source::ParseContext;
    use crate::format::{Cursor, FileFormat, Summary};

    /// The data differs from when it was checked, as may happen in a mapping that has changed.
    #[test]
    fn a_fault_is_that_of_what_should_be_there() {
        let fault = |generation, read: fn(&Manifest<'static>, &mut Reader<'static>)| {
            let manifest = Manifest { region: Region { bytes: b"\x05", start: 0 }, generation };
            let mut reader = manifest.reader(0);
            read(&manifest, &mut reader);
            reader.found_fault().map(|fault| (fault.kind, fault.item, fault.at))
        };
        let wrong = |item| Some((ErrorKind::UnexpectedType, item, 0));
        let component = |manifest: &_, reader: &mut _| component(manifest, reader, &mut ComponentRecord::blank());
        let name = |manifest: &Manifest<'static>, reader: &mut Reader<'static>| {
            manifest.name(reader);
        };
        assert_eq!(fault(Generation::V0_1, component), wrong(Part::Tensor));
        assert_eq!(fault(Generation::V1_2, component), wrong(Part::Role));
        assert_eq!(fault(Generation::V1_2, name), wrong(Part::Name));
    }

    #[test]
    fn a_component_that_is_cut_is_an_error() {
        let bytes = include_bytes!("../../../tests/fixtures/v0.1/sparse_real_layouts.zt");
        let mut opened = ZtensorFile::open(&ParseContext::of(bytes[..].into())).unwrap();
        opened.read(&mut Summary::default()).unwrap();
        let mut tensor = TensorRecord::blank();
        assert!(opened.next_tensor(&mut { Cursor::START }, &mut tensor).unwrap());
        let next = |file: &ZtensorFile<'_>, tensor| {
            let found = file.next_component(tensor, &mut { Cursor::START }, &mut ComponentRecord::blank());
            found.map_err(|error| (error.kind(), error.part(), error.offset(), error.entry()))
        };
        assert_eq!(next(&opened, &tensor), Ok(true));
        let Region { bytes, start } = opened.manifest.region;
        let cut = tensor.components as usize + 3; // in the first key
        opened.manifest.region = Region { bytes: &bytes[..cut], start };
        let at = start + u64::from(tensor.components) + 1;
        assert_eq!(next(&opened, &tensor), Err((ErrorKind::Truncated, Part::Key, Some(at), Some(at - 1))));
    }
}
