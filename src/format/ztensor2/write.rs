//! Writes zTensor 2: the magic, the blobs, the manifest, and the footer with the hash of the manifest. The footer comes
//! last, so a file that was cut off is never mistaken for a complete one.
//!
//! The blobs are in the order of the declarations. The manifest is deterministic CBOR: every map is in the order of its
//! encoded keys, in which short names come first.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::layout::{DTYPES, LAYOUTS, LOGICAL_TYPES, MAX_RANK, storage_of};
use super::manifest::{ALIGNMENT, MAX_NAME};
use super::{MAGIC, MAX_MANIFEST};
use crate::bytes::num::{padding, to_u64};
use crate::codec::cbor::write as cbor;
use crate::codec::{seekable, xxh3};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, Place, Stage, check_attributes, check_sorted, each_attribute_sorted, each_sorted};
use crate::types::{DType, Encoding, Layout};
use crate::write::declaration::{
    Attribute, Checked, Declarations, NewAttribute, NewLayout, NewTensor, NewValue, Refusal,
};
use crate::write::out::{Out, Position};
use crate::write::sum::{SumKind, Sums};

/// The nesting depth of the values of attributes of the file, and of a tensor.
const FILE_VALUES: usize = 2;
const TENSOR_VALUES: usize = 4;

pub(crate) struct Ztensor2Writer;

impl FormatWriter for Ztensor2Writer {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = self.alignment(file);
        if !alignment.is_power_of_two() || alignment < ALIGNMENT {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Offset));
        }
        check_sorted(file, cbor::key_order)?;
        if Out::length_of(|out| manifest(file, &Sums::new(self.kept(file), &[]), alignment, out)) > MAX_MANIFEST {
            return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Manifest));
        }
        Ok(())
    }

    fn check_attribute(&self, attribute: &Attribute<'_>) -> Checked {
        check_name(attribute.key, Part::Key)?;
        cbor::check_strict(attribute.value, FILE_VALUES)
    }

    fn has_tensor_attributes(&self) -> bool {
        true
    }

    fn check_tensor(&self, file: &dyn Declarations, index: u32, tensor: &NewTensor<'_>) -> Checked {
        check_name(tensor.name, Part::Name)?;
        if to_u64(tensor.shape.len()) > MAX_RANK.into() {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        tensor.check_running_product()?;
        let (dtype, indices) = match tensor.layout {
            NewLayout::Dense(dtype) => (dtype, None),
            #[cfg(feature = "gguf")]
            NewLayout::Blocks(_) => (DType::U8, None),
            NewLayout::Csr { dtype, indices, pointers, .. } => (dtype, Some((indices, pointers))),
            NewLayout::Coo { dtype, indices, .. } => (dtype, Some((indices, indices))),
            _ => return Err(Refusal::not_in_format(Part::Layout)),
        };
        if names_of(dtype).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        // Both index components have the same type.
        if indices.is_some_and(|(a, b)| a != b || !matches!(a, DType::U32 | DType::U64)) {
            return Err(Refusal::new(ErrorKind::IndexType, Part::DType));
        }
        let of_blocks = block_attributes(tensor);
        check_attributes(file, index, |attribute| {
            let integer = attribute.value.get()?.integer();
            if of_blocks.iter().any(|block| attribute.key == block.key && integer != block.value.integer()) {
                return Err(Refusal::new(ErrorKind::CountsDiffer, Part::Attributes));
            }
            check_name(attribute.key, Part::Attributes)?;
            cbor::check_strict(attribute.value, TENSOR_VALUES)
        })
    }

    fn sum(&self, _: &dyn Declarations) -> SumKind {
        SumKind::Xxh3
    }

    fn max_frame(&self) -> Option<u64> {
        Some(seekable::MAX_CONTENT.into())
    }

    fn has_seek_table(&self) -> bool {
        true
    }

    fn check_frame(&self, frame: &[u8], length: u64) -> Checked {
        if seekable::is_frame(frame, length) {
            return Ok(());
        }
        Err(Refusal::new(ErrorKind::InvalidFrame, Part::Frame))
    }

    fn alignment(&self, file: &dyn Declarations) -> u64 {
        file.alignment_or(ALIGNMENT)
    }

    /// A truth value is 0 or 1, and half a byte that belongs to no element is 0.
    fn check_data(&self, file: &dyn Declarations, stage: Stage, missing: u64, bytes: &[u8]) -> Checked {
        let Ok(tensor) = file.tensor(stage.tensor) else { return Ok(()) };
        let (_, Some(dtype)) = tensor.component_role(stage.component) else { return Ok(()) };
        let is_valid = match dtype {
            DType::BOOL => bytes.iter().fold(0, |any, byte| any | byte) <= 1,
            DType::F4_E2M1 if to_u64(bytes.len()) == missing => {
                let count = match tensor.layout {
                    NewLayout::Dense(_) => tensor.element_count(),
                    NewLayout::Csr { count, .. } | NewLayout::Coo { count, .. } => Some(count),
                    _ => None,
                };
                let is_odd = count.is_some_and(|count| count & 1 != 0);
                !is_odd || bytes.last().is_none_or(|last| *last < 0x10)
            }
            _ => true,
        };
        if is_valid { Ok(()) } else { Err(Refusal::new(ErrorKind::InvalidElement, Part::Data)) }
    }

    fn head(&self, _: &dyn Declarations, out: &mut Out<'_>) {
        out.bytes(&MAGIC);
    }

    fn tail(&self, file: &dyn Declarations, sums: &Sums<'_>, out: &mut Out<'_>) {
        let alignment = self.alignment(file);
        out.pad(ALIGNMENT);
        let start = out.position.at;
        manifest(file, sums, alignment, out);
        let length = out.position.at.saturating_sub(start);
        let mut hash = xxh3::Running::new();
        let mut hashed = |_: u64, bytes: &[u8]| {
            hash.add(bytes);
            Ok(())
        };
        manifest(file, sums, alignment, &mut Out::to(&mut hashed, Position::default()));
        out.u64(start);
        out.u64(length);
        out.u64(hash.hash());
        out.u32(2);
        out.u32(0);
        out.bytes(&MAGIC);
    }

    fn compare(&self, a: &NewTensor<'_>, b: &NewTensor<'_>) -> Ordering {
        cbor::key_order(a.name, b.name)
    }
}

/// Fails if a name breaks the rules for names (section 3.5).
fn check_name(name: &str, part: Part) -> Checked {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(Refusal::new(ErrorKind::NameLength, part));
    }
    if name.as_bytes().contains(&0) { Err(Refusal::new(ErrorKind::InvalidName, part)) } else { Ok(()) }
}

/// Writes the manifest.
fn manifest(file: &dyn Declarations, sums: &Sums<'_>, alignment: u64, out: &mut Out<'_>) {
    let has_attributes = file.attribute_count() > 0;
    cbor::map(if has_attributes { 2 } else { 1 }, out);
    cbor::text("objects", out);
    cbor::map(file.tensor_count(), out);
    let start = Place { at: to_u64(MAGIC.len()), number: 0 };
    each_sorted(file, cbor::key_order, start, alignment, sums, |index, tensor, place| {
        object(file, index, tensor, place, alignment, sums, out)
    });
    if has_attributes {
        cbor::text("attributes", out);
        cbor::map(file.attribute_count(), out);
        each_attribute_sorted(|index| file.attribute(index).ok(), cbor::key_order, |attribute| entry(attribute, out));
    }
}

/// Writes an attribute.
fn entry(attribute: &Attribute<'_>, out: &mut Out<'_>) {
    cbor::text(attribute.key, out);
    cbor::value(attribute.value, out);
}

/// Writes the name of a tensor and its record.
fn object(
    file: &dyn Declarations,
    index: u32,
    tensor: &NewTensor<'_>,
    place: Place,
    alignment: u64,
    sums: &Sums<'_>,
    out: &mut Out<'_>,
) {
    let of_blocks = block_attributes(tensor);
    // Skips attributes of blocks that the caller has declared as well.
    let declared = || (0..).map_while(|number| file.tensor_attribute(index, number).ok());
    let others = || declared().filter(|a| of_blocks.iter().all(|b| a.key != b.key));
    let all = || of_blocks.iter().map(Attribute::of).chain(others());
    let attribute = |number| all().nth(usize::try_from(number).ok()?);
    let attribute_count = all().count();
    cbor::text(tensor.name, out);
    cbor::map(if attribute_count == 0 { 3 } else { 4 }, out);
    cbor::text("parts", out);
    parts(tensor, place, alignment, sums, out);
    cbor::text("shape", out);
    cbor::list(tensor.shape.len(), out);
    tensor.shape.iter().for_each(|length| cbor::number(*length, out));
    cbor::text("layout", out);
    let layout = match tensor.layout {
        #[cfg(feature = "gguf")]
        NewLayout::Blocks(block_type) => {
            let name = block_type.layout_name();
            cbor::text_of_length(name.len().saturating_add(2), out);
            out.bytes(name.as_bytes());
            out.bytes(b"/1");
            None
        }
        NewLayout::Csr { .. } => Some(Layout::SparseCsr),
        NewLayout::Coo { .. } => Some(Layout::SparseCoo),
        _ => Some(Layout::Dense),
    };
    if let Some(name) = layout.and_then(|layout| LAYOUTS.word_of(layout.code())) {
        cbor::word(name, out);
    }
    if attribute_count > 0 {
        cbor::text("attributes", out);
        cbor::map(attribute_count, out);
        each_attribute_sorted(attribute, cbor::key_order, |attribute| entry(attribute, out));
    }
}

/// Returns the attributes that the layout of blocks requires.
fn block_attributes(tensor: &NewTensor<'_>) -> heapless::Vec<NewAttribute<'static>, 2> {
    let numbers: Option<[u64; 2]> = match tensor.layout {
        #[cfg(feature = "gguf")]
        NewLayout::Blocks(block_type) => Some([block_type.bytes(), block_type.elements()]),
        _ => None,
    };
    let keys = ["block_bytes", "elems_per_block"].into_iter();
    keys.zip(numbers.into_iter().flatten())
        .map(|(key, number)| NewAttribute { key, value: NewValue::U64(number) })
        .collect()
}

/// Writes the records of the components, in the order of their roles.
fn parts(tensor: &NewTensor<'_>, place: Place, alignment: u64, sums: &Sums<'_>, out: &mut Out<'_>) {
    // The order of the encoded roles: "coords" before "values", "indptr" before "values" before "indices".
    let order: &[u32] = match tensor.layout {
        NewLayout::Csr { .. } => &[2, 0, 1],
        NewLayout::Coo { .. } => &[1, 0],
        _ => &[0],
    };
    cbor::map(order.len(), out);
    for wanted in order {
        let mut place = place;
        for index in 0..tensor.component_count() {
            let Ok(length) = tensor.component_length(index) else { break };
            let start = place.at.saturating_add(padding(place.at, alignment));
            if index == *wanted {
                part(tensor.component_role(index), length, Place { at: start, ..place }, sums, out);
            }
            let end = start.saturating_add(sums.stored_length(place.number, length));
            place = Place { at: end, number: place.number.saturating_add(1) };
        }
    }
}

/// Writes the record of a component of `length` bytes.
fn part((role, dtype): (&str, Option<DType>), length: u64, place: Place, sums: &Sums<'_>, out: &mut Out<'_>) {
    let Some((storage, logical)) = names_of(dtype.unwrap_or(DType::U8)) else { return };
    cbor::text(role, out);
    let is_framed = sums.are_framed(length);
    cbor::map(3_usize.saturating_add(logical.is_some().into()).saturating_add(if is_framed { 2 } else { 0 }), out);
    cbor::text("blob", out);
    cbor::list(2, out);
    cbor::number(place.at, out);
    cbor::number(sums.stored_length(place.number, length), out);
    if let Some(logical) = logical {
        cbor::text("type", out);
        cbor::word(logical, out);
    }
    cbor::text("dtype", out);
    cbor::word(storage, out);
    cbor::text("digest", out);
    cbor::text_of_length(21, out);
    out.bytes(b"xxh3:");
    out.hexadecimal(sums.of(place.number), 16, b'a');
    if is_framed {
        cbor::text("encoding", out);
        cbor::text(Encoding::ZstdSeekable.text(), out);
        cbor::text("decoded_length", out);
        cbor::number(length, out);
    }
}

/// Returns the names of the stored dtype and of the logical type; `None` if the format does not have the dtype.
fn names_of(dtype: DType) -> Option<(&'static [u8], Option<&'static [u8]>)> {
    let code = dtype.single_code()?;
    match LOGICAL_TYPES.word_of(code) {
        Some(logical) => Some((DTYPES.word_of(storage_of(dtype).short_code())?, Some(logical))),
        None => Some((DTYPES.word_of(code)?, None)),
    }
}
