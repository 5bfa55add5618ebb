//! Writes safetensors: the length of the header, the header in JSON, and the data without gaps.
//!
//! The header lists the tensors in the order of their data. Spaces at its end align the data.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::dtypes::DTYPES;
use super::header::MAX_HEADER;
use crate::bytes::num::padding;
use crate::codec::json;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::FormatWriter;
use crate::types::DType;
use crate::write::declaration::{Attribute, Checked, Declarations, NewLayout, NewTensor, NewValue, Refusal};
use crate::write::out::Out;

/// The key of the attributes, which no tensor can have as its name.
const METADATA: &str = "__metadata__";

pub(crate) struct SafetensorsWriter;

impl FormatWriter for SafetensorsWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = alignment(file);
        if alignment < 8 || alignment & alignment.wrapping_sub(1) != 0 {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Header));
        }
        if length(file) <= MAX_HEADER {
            return Ok(());
        }
        let is_bare_too_long = Out::length_of(|out| header(file, out)) > MAX_HEADER;
        let kind = if is_bare_too_long { ErrorKind::ManifestTooLarge } else { ErrorKind::InvalidAlignment };
        Err(Refusal::new(kind, Part::Header))
    }

    fn check_attribute(&self, attribute: &Attribute<'_>) -> Checked {
        match attribute.value.get()? {
            NewValue::Text(_) => Ok(()),
            _ => Err(Refusal::not_in_format(Part::Value)),
        }
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        if tensor.name == METADATA {
            return Err(Refusal::not_in_format(Part::Name));
        }
        let NewLayout::Dense(dtype) = tensor.layout else { return Err(Refusal::not_in_format(Part::Layout)) };
        if name_of(dtype).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        // The reference implementation refuses elements that do not fill whole bytes.
        if tensor.element_count().is_some_and(|count| !dtype.fills_bytes(count)) {
            return Err(Refusal::new(ErrorKind::PartialElement, Part::Shape));
        }
        Ok(())
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        head(length(file), file, out);
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
    file.alignment_or(8)
}

/// Returns the length of the header with the spaces at its end.
#[cfg_attr(small, inline(never))]
fn length(file: &dyn Declarations) -> u64 {
    Out::length_of(|out| head(0, file, out)).wrapping_sub(8)
}

/// Writes the length of the header, the header, and the spaces that align the data.
#[cfg_attr(small, inline(never))]
fn head(length: u64, file: &dyn Declarations, out: &mut Out<'_>) {
    out.u64(length);
    header(file, out);
    out.repeat(b' ', padding(out.position.at, alignment(file)));
}

/// Writes the header without the spaces at its end.
fn header(file: &dyn Declarations, out: &mut Out<'_>) {
    let mut separator = b'{';
    if file.attribute_count() > 0 {
        entry(METADATA, &mut separator, out);
        let mut separator = b'{';
        let mut index = 0_u32;
        while let Ok(attribute) = file.attribute(index) {
            entry(attribute.key, &mut separator, out);
            if let Ok(NewValue::Text(text)) = attribute.value.get() {
                json::write::string(text, out);
            }
            index = index.saturating_add(1);
        }
        out.byte(b'}');
    }
    let (mut start, mut index) = (0_u64, 0_u32);
    while let Ok(tensor) = &file.tensor(index) {
        let (NewLayout::Dense(dtype), Ok(length)) = (tensor.layout, tensor.total()) else { break };
        let Some(dtype) = name_of(dtype) else { break };
        let end = start.wrapping_add(length); // a longer file is refused
        entry(tensor.name, &mut separator, out);
        out.bytes(b"{\"dtype\":\"");
        out.bytes(dtype);
        out.bytes(b"\",\"shape\":[");
        json::write::numbers(tensor.shape, out);
        // No literal here has 4, 8, 16 or 32 bytes: those of one such length are in one section, which a linker keeps or
        // drops as a whole.
        out.bytes(b"],\"data_offsets\":[");
        json::write::numbers(&[start, end], out);
        out.bytes(b"]}");
        (start, index) = (end, index.saturating_add(1));
    }
    if separator == b'{' {
        out.byte(separator);
    }
    out.byte(b'}');
}

/// Writes the key of a pair, after the separator: a brace before the first, and then a comma.
#[cfg_attr(small, inline(never))]
fn entry(name: &str, separator: &mut u8, out: &mut Out<'_>) {
    out.byte(*separator);
    *separator = b',';
    json::write::string(name, out);
    out.byte(b':');
}

/// Returns the name of a dtype in the header; `None` if the format does not have it.
fn name_of(dtype: DType) -> Option<&'static [u8]> {
    DTYPES.word_of(dtype.single_code()?)
}
