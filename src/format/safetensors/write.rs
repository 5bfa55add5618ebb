//! Writes safetensors: the length of the header, the header in JSON, and the data without gaps.
//!
//! The header lists the tensors in the order of their data. Spaces at its end align the data.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::dtypes::DTYPES;
use super::header::MAX_HEADER;
use crate::codec::json;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::FormatWriter;
use crate::types::DType;
use crate::write::declaration::{
    Checked, Declarations, NewAttribute, NewLayout, NewTensor, NewValue, Refusal, attributes, tensors,
};
use crate::write::out::{Out, padding};

/// The key of the attributes, which no tensor can have as its name.
const METADATA: &str = "__metadata__";

pub(crate) struct SafetensorsWriter;

impl FormatWriter for SafetensorsWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        if !alignment(file).is_power_of_two() || alignment(file) < 8 {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Header));
        }
        let length = Out::length_of(|out| header(file, out));
        if length > MAX_HEADER {
            return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Header));
        }
        if length.saturating_add(spaces_after(length, file)) > MAX_HEADER {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Header));
        }
        Ok(())
    }

    fn check_attribute(&self, attribute: &NewAttribute<'_>) -> Checked {
        if matches!(attribute.value, NewValue::Text(_)) { Ok(()) } else { Err(Refusal::not_in_format(Part::Value)) }
    }

    fn check_tensor(&self, _: &dyn Declarations, tensor: &NewTensor<'_>) -> Checked {
        if tensor.name == METADATA {
            return Err(Refusal::not_in_format(Part::Name));
        }
        let NewLayout::Dense(dtype) = tensor.layout else { return Err(Refusal::not_in_format(Part::Layout)) };
        if name_of(dtype).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        if !tensor.attributes.is_empty() {
            return Err(Refusal::not_in_format(Part::Attributes));
        }
        // The reference implementation refuses elements that do not fill whole bytes.
        if tensor.element_count().is_some_and(|count| !dtype.fills_bytes(count)) {
            return Err(Refusal::new(ErrorKind::PartialElement, Part::Shape));
        }
        Ok(())
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let length = Out::length_of(|out| header(file, out));
        let spaces = spaces_after(length, file);
        out.u64(length.saturating_add(spaces));
        header(file, out);
        out.repeat(&[b' '; 64], spaces);
    }

    /// The order of the reference implementation: by dtype, then by name. It aligns each tensor to its elements.
    fn compare(&self, a: &NewTensor<'_>, b: &NewTensor<'_>) -> Ordering {
        let place = |tensor: &NewTensor<'_>| match tensor.layout {
            NewLayout::Dense(dtype) => ORDER.iter().position(|other| *other == dtype),
            _ => None,
        };
        place(a).cmp(&place(b)).then_with(|| a.name.cmp(b.name))
    }
}

/// The dtypes in the order of the reference implementation.
const ORDER: [DType; 22] = [
    DType::U64,
    DType::I64,
    DType::F64,
    DType::C64,
    DType::F32,
    DType::U32,
    DType::I32,
    DType::BF16,
    DType::F16,
    DType::U16,
    DType::I16,
    DType::F8_E5M2FNUZ,
    DType::F8_E4M3FNUZ,
    DType::F8_E8M0,
    DType::F8_E4M3FN,
    DType::F8_E5M2,
    DType::I8,
    DType::U8,
    DType::F6_E3M2,
    DType::F6_E2M3,
    DType::F4_E2M1,
    DType::BOOL,
];

fn alignment(file: &dyn Declarations) -> u64 {
    file.options().alignment.unwrap_or(8)
}

/// Returns the number of spaces that align the data after a header of `length` bytes.
fn spaces_after(length: u64, file: &dyn Declarations) -> u64 {
    padding(length.saturating_add(8), alignment(file))
}

/// Writes the header without the spaces at its end.
fn header(file: &dyn Declarations, out: &mut Out<'_>) {
    out.bytes(b"{");
    let mut separator: &[u8] = b"";
    if file.attribute_count() > 0 {
        entry(METADATA, &mut separator, out);
        out.bytes(b"{");
        let mut separator: &[u8] = b"";
        for (_, attribute) in attributes(file) {
            entry(attribute.key, &mut separator, out);
            if let NewValue::Text(text) = attribute.value {
                json::write::string(text, out);
            }
        }
        out.bytes(b"}");
    }
    let mut start = 0_u64;
    for (_, tensor) in tensors(file) {
        let NewLayout::Dense(dtype) = tensor.layout else { break };
        let end = start.saturating_add(tensor.length().unwrap_or(u64::MAX));
        entry(tensor.name, &mut separator, out);
        out.bytes(b"{\"dtype\":\"");
        out.bytes(name_of(dtype).unwrap_or_default());
        out.bytes(b"\",\"shape\":");
        json::write::numbers(tensor.shape, out);
        out.bytes(b",\"data_offsets\":");
        json::write::numbers(&[start, end], out);
        out.bytes(b"}");
        start = end;
    }
    out.bytes(b"}");
}

/// Writes the key of a pair, after what separates it from the pair before.
#[cfg_attr(small, inline(never))]
fn entry(name: &str, separator: &mut &[u8], out: &mut Out<'_>) {
    out.bytes(separator);
    *separator = b",";
    json::write::string(name, out);
    out.bytes(b":");
}

/// Returns the name of a dtype in the header; `None` if the format does not have it.
fn name_of(dtype: DType) -> Option<&'static [u8]> {
    DTYPES.word_of(dtype.single_code()?)
}
