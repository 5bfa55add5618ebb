//! Writes zTensor 1.2: the magic, the blobs, and the manifest with its size. The manifest comes last, so a file that was
//! cut off is never mistaken for a complete one.
//!
//! The blobs are in the order of the declarations, the names in the manifest in the order of their bytes, as the
//! reference implementation writes them.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::layout::{LOGICAL_TYPES, SHORT_DTYPES, storage_of};
use crate::bytes::num::{padding, to_usize};
use crate::codec::cbor::write as cbor;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, Place, check_attributes, check_sorted, each_sorted};
use crate::types::{DType, Encoding};
use crate::write::declaration::{
    Attribute, Checked, Declarations, NewLayout, NewTensor, Refusal, attributes, check_value,
};
use crate::write::out::Out;
use crate::write::sum::{SumKind, Sums};

const MAGIC: &[u8; 8] = b"ZTEN1000";

/// The position of the first blob, and the alignment of all blobs.
const ALIGNMENT: u64 = 64;

/// The largest manifest that readers accept.
const MAX_MANIFEST: u64 = 1 << 30;

pub(crate) struct ZtensorWriter;

impl FormatWriter for ZtensorWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = self.alignment(file);
        if !alignment.is_power_of_two() || alignment < ALIGNMENT {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Offset));
        }
        if file.has_digests() && self.sum(file) == SumKind::None {
            return Err(Refusal::new(ErrorKind::NotBuiltIn, Part::Digest));
        }
        check_sorted(file, order)?;
        if Out::length_of(|out| manifest(file, &Sums::new(self.kept(file), &[]), alignment, out)) > MAX_MANIFEST {
            return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Manifest));
        }
        Ok(())
    }

    fn check_attribute(&self, attribute: &Attribute<'_>) -> Checked {
        check_value(attribute.value)
    }

    fn has_tensor_attributes(&self) -> bool {
        true
    }

    fn check_tensor(&self, file: &dyn Declarations, index: u32, tensor: &NewTensor<'_>) -> Checked {
        let dtypes = match tensor.layout {
            NewLayout::Dense(dtype) => [dtype; 3],
            NewLayout::Csr { dtype, indices, pointers, .. } => [dtype, indices, pointers],
            NewLayout::Coo { dtype, indices, .. } => [dtype, indices, indices],
            _ => return Err(Refusal::not_in_format(Part::Layout)),
        };
        if dtypes.iter().any(|dtype| names_of(*dtype).is_none()) {
            return Err(Refusal::not_in_format(Part::DType));
        }
        let [_, rest @ ..] = dtypes;
        if matches!(tensor.layout, NewLayout::Dense(_)) {
            tensor.check_running_product()?;
        } else if !rest.iter().all(|dtype| dtype.is_integer()) {
            return Err(Refusal::new(ErrorKind::IndexType, Part::DType));
        }
        check_attributes(file, index, |attribute| check_value(attribute.value))
    }

    fn sum(&self, file: &dyn Declarations) -> SumKind {
        match file.has_digests() {
            #[cfg(feature = "crc32c")]
            true => SumKind::Crc32c,
            _ => SumKind::None,
        }
    }

    fn max_frame(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn alignment(&self, file: &dyn Declarations) -> u64 {
        file.alignment_or(ALIGNMENT)
    }

    fn head(&self, _: &dyn Declarations, out: &mut Out<'_>) {
        out.bytes(MAGIC);
    }

    fn tail(&self, file: &dyn Declarations, sums: &Sums<'_>, out: &mut Out<'_>) {
        out.pad(ALIGNMENT);
        let start = out.position.at;
        manifest(file, sums, self.alignment(file), out);
        out.u64(out.position.at.saturating_sub(start));
        out.bytes(MAGIC);
    }

    fn compare(&self, a: &NewTensor<'_>, b: &NewTensor<'_>) -> Ordering {
        order(a.name, b.name)
    }
}

/// The order of the names in the manifest.
fn order(a: &str, b: &str) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

/// Writes the manifest.
fn manifest(file: &dyn Declarations, sums: &Sums<'_>, alignment: u64, out: &mut Out<'_>) {
    let has_attributes = file.attribute_count() > 0;
    cbor::map(if has_attributes { 3 } else { 2 }, out);
    cbor::text("version", out);
    cbor::text("1.2.0", out);
    if has_attributes {
        cbor::text("attributes", out);
        cbor::map(file.attribute_count(), out);
        for (_, attribute) in attributes(file) {
            cbor::text(attribute.key, out);
            cbor::value(attribute.value, out);
        }
    }
    cbor::text("objects", out);
    cbor::map(file.tensor_count(), out);
    each_sorted(file, order, Place { at: 8, number: 0 }, alignment, sums, |index, tensor, place| {
        object(file, index, tensor, place, alignment, sums, out);
    });
}

/// Writes the name of a tensor and its record.
fn object(
    file: &dyn Declarations,
    index: u32,
    tensor: &NewTensor<'_>,
    mut place: Place,
    alignment: u64,
    sums: &Sums<'_>,
    out: &mut Out<'_>,
) {
    let attribute_count = file.tensor_attribute_count(index);
    cbor::text(tensor.name, out);
    cbor::map(if attribute_count == 0 { 3 } else { 4 }, out);
    cbor::text("shape", out);
    cbor::list(tensor.shape.len(), out);
    tensor.shape.iter().for_each(|length| cbor::number(*length, out));
    cbor::text("format", out);
    let layout = match tensor.layout {
        NewLayout::Csr { .. } => "sparse_csr",
        NewLayout::Coo { .. } => "sparse_coo",
        _ => "dense",
    };
    cbor::text(layout, out);
    if attribute_count > 0 {
        cbor::text("attributes", out);
        cbor::map(attribute_count, out);
        let mut number = 0_u32;
        while let Ok(attribute) = file.tensor_attribute(index, number) {
            cbor::text(attribute.key, out);
            cbor::value(attribute.value, out);
            number = number.saturating_add(1);
        }
    }
    cbor::text("components", out);
    let count = tensor.component_count();
    cbor::map(to_usize(count.into()).unwrap_or_default(), out);
    for number in 0..count {
        let Ok(length) = tensor.component_length(number) else { return };
        let (role, dtype) = tensor.component_role(number);
        place.at = place.at.saturating_add(padding(place.at, alignment));
        cbor::text(role, out);
        let Some((storage, logical)) = dtype.and_then(names_of) else { return };
        let stored = sums.stored_length(place.number, length);
        let is_framed = sums.are_framed(length);
        let fields = 3_usize.saturating_add(logical.is_some().into()).saturating_add(sums.are_stored().into());
        cbor::map(fields.saturating_add(if is_framed { 2 } else { 0 }), out);
        cbor::text("dtype", out);
        cbor::word(storage, out);
        if let Some(logical) = logical {
            cbor::text("type", out);
            cbor::word(logical, out);
        }
        cbor::text("offset", out);
        cbor::number(place.at, out);
        cbor::text("length", out);
        cbor::number(stored, out);
        if is_framed {
            cbor::text("uncompressed_length", out);
            cbor::number(length, out);
            cbor::text("encoding", out);
            cbor::text(Encoding::Zstd.text(), out);
        }
        if sums.are_stored() {
            cbor::text("digest", out);
            cbor::text_of_length(17, out);
            out.bytes(b"crc32c:0x");
            out.hexadecimal(sums.of(place.number) << 32, 8, b'A');
        }
        place.at = place.at.saturating_add(stored);
        place.number = place.number.saturating_add(1);
    }
}

/// Returns the names of the stored dtype and of the logical type; `None` if the format does not have the dtype.
fn names_of(dtype: DType) -> Option<(&'static [u8], Option<&'static [u8]>)> {
    let code = dtype.single_code()?;
    match LOGICAL_TYPES.word_of(code) {
        Some(logical) => Some((SHORT_DTYPES.word_of(storage_of(dtype).short_code())?, Some(logical))),
        None => Some((SHORT_DTYPES.word_of(code)?, None)),
    }
}
