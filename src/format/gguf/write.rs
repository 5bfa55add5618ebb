//! Writes GGUF 3, little-endian: the counts, the pairs, the infos, and the data, each tensor padded to the alignment.
//!
//! Pairs and infos are in the order of the declarations. The last tensor is padded as well, as the reference
//! implementation writes it.
#![forbid(unsafe_code)]

use super::info::USUAL_RANK;
use super::{DEFAULT_ALIGNMENT, MAX_KEY, MIN_ALIGNMENT};
use crate::bytes::num::{padding, to_u64};
use crate::codec::blocks;
use crate::codec::gguf::{MAX_DEPTH, MAX_HEADER, kind};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::FormatWriter;
use crate::types::DType;
use crate::write::declaration::{
    Attribute, Checked, Declarations, NewLayout, NewTensor, NewValue, Refusal, Value, attributes, tensors, walk,
};
use crate::write::out::Out;
use crate::write::sum::Sums;

/// The key of the alignment, which the writer adds if the alignment is not the default.
const ALIGNMENT: &str = "general.alignment";

/// The length of the longest name that ggml reads (`GGML_MAX_NAME` counts a NUL).
const MAX_NAME: usize = 63;

pub(crate) struct GgufWriter;

impl FormatWriter for GgufWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = self.alignment(file);
        let is_in_range = alignment >= MIN_ALIGNMENT.into() && u32::try_from(alignment).is_ok();
        if !alignment.is_power_of_two() || !is_in_range {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Alignment));
        }
        if Out::length_of(|out| header(file, alignment, out)) > MAX_HEADER {
            return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Header));
        }
        Ok(())
    }

    fn check_attribute(&self, attribute: &Attribute<'_>) -> Checked {
        let length = to_u64(attribute.key.len());
        if length == 0 || length > MAX_KEY {
            return Err(Refusal::new(ErrorKind::NameLength, Part::Key));
        }
        if attribute.key == ALIGNMENT {
            return Err(Refusal::not_in_format(Part::Key));
        }
        check_value(attribute.value)
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        if tensor.name.len() > MAX_NAME {
            return Err(Refusal::new(ErrorKind::NameLength, Part::Name));
        }
        if tensor.name.contains('\0') {
            return Err(Refusal::new(ErrorKind::InvalidName, Part::Name)); // ggml ends the name there
        }
        if !matches!(tensor.layout, NewLayout::Dense(_) | NewLayout::Blocks(_)) {
            return Err(Refusal::not_in_format(Part::Layout));
        }
        if ggml_type(tensor.layout).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        // gguf-py cannot open a file with a scalar of these types.
        let has_no_scalars = matches!(tensor.layout, NewLayout::Dense(DType::BF16) | NewLayout::Blocks(_));
        let rank = u32::try_from(tensor.shape.len()).unwrap_or(u32::MAX);
        let are_short = tensor.shape.iter().all(|length| i64::try_from(*length).is_ok());
        if rank > USUAL_RANK || !are_short || has_no_scalars && rank == 0 {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        Ok(())
    }

    fn alignment(&self, file: &dyn Declarations) -> u64 {
        file.alignment_or(DEFAULT_ALIGNMENT.into())
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let alignment = self.alignment(file);
        header(file, alignment, out);
        out.pad(alignment);
    }

    fn tail(&self, file: &dyn Declarations, _: &Sums<'_>, out: &mut Out<'_>) {
        out.pad(self.alignment(file));
    }
}

/// Returns ggml's number of the type of the elements; `None` if ggml does not have the type.
fn ggml_type(layout: NewLayout<'_>) -> Option<u32> {
    match layout {
        NewLayout::Dense(dtype) => (0..=30).find(|number| blocks::plain(*number) == Some(dtype)),
        NewLayout::Blocks(block_type) => Some(block_type.code().into()),
        _ => None,
    }
}

/// Writes everything before the data, without the padding.
fn header(file: &dyn Declarations, alignment: u64, out: &mut Out<'_>) {
    let stated = u32::try_from(alignment).ok().filter(|alignment| *alignment != DEFAULT_ALIGNMENT);
    out.bytes(b"GGUF");
    out.u32(3);
    out.u64(to_u64(file.tensor_count()));
    out.u64(to_u64(file.attribute_count()).saturating_add(stated.is_some().into()));
    for (_, attribute) in attributes(file) {
        pair(attribute.key, attribute.value, out);
    }
    if let Some(alignment) = stated {
        pair(ALIGNMENT, &NewValue::U32(alignment), out);
    }
    let mut offset = 0_u64;
    for (_, tensor) in tensors(file) {
        string(tensor.name.as_bytes(), out);
        out.u32(u32::try_from(tensor.shape.len()).unwrap_or_default());
        tensor.shape.iter().rev().for_each(|length| out.u64(*length));
        out.u32(ggml_type(tensor.layout).unwrap_or_default());
        out.u64(offset);
        let end = offset.saturating_add(tensor.length().unwrap_or(u64::MAX));
        offset = end.saturating_add(padding(end, alignment));
    }
}

/// Writes a length and the bytes.
fn string(bytes: &[u8], out: &mut Out<'_>) {
    out.u64(to_u64(bytes.len()));
    out.bytes(bytes);
}

/// Writes a key and its value.
fn pair(key: &str, value: &dyn Value, out: &mut Out<'_>) {
    string(key.as_bytes(), out);
    out.u32(kind_of(value).unwrap_or_default());
    walk::<MAX_DEPTH>(value, |value, _| contents(value, out));
}

/// Returns the type of a value; `None` if GGUF does not have the type.
fn kind_of(value: &dyn Value) -> Option<u32> {
    Some(match value.get().ok()? {
        NewValue::Null | NewValue::Map(_) => return None,
        NewValue::Bool(_) => kind::BOOL,
        NewValue::U8(_) => kind::U8,
        NewValue::U16(_) => kind::U16,
        NewValue::U32(_) => kind::U32,
        NewValue::U64(_) => kind::U64,
        NewValue::I8(_) => kind::I8,
        NewValue::I16(_) => kind::I16,
        NewValue::I32(_) => kind::I32,
        NewValue::I64(_) => kind::I64,
        NewValue::F32(_) => kind::F32,
        NewValue::F64(_) => kind::F64,
        NewValue::Text(_) | NewValue::TextBytes(_) => kind::STRING,
        NewValue::Bytes(_) | NewValue::List(_) => kind::ARRAY,
    })
}

/// Writes a value without its type; of a list, only what precedes the items.
fn contents(value: &dyn Value, out: &mut Out<'_>) {
    let Ok(contents) = value.get() else { return }; // checked before
    match contents {
        NewValue::Null | NewValue::Map(_) => {}
        NewValue::Bool(is_true) => out.bytes(&[is_true.into()]),
        NewValue::U8(number) => out.bytes(&number.to_le_bytes()),
        NewValue::U16(number) => out.bytes(&number.to_le_bytes()),
        NewValue::U32(number) => out.bytes(&number.to_le_bytes()),
        NewValue::U64(number) => out.bytes(&number.to_le_bytes()),
        NewValue::I8(number) => out.bytes(&number.to_le_bytes()),
        NewValue::I16(number) => out.bytes(&number.to_le_bytes()),
        NewValue::I32(number) => out.bytes(&number.to_le_bytes()),
        NewValue::I64(number) => out.bytes(&number.to_le_bytes()),
        NewValue::F32(number) => out.bytes(&number.to_le_bytes()),
        NewValue::F64(number) => out.bytes(&number.to_le_bytes()),
        NewValue::Text(text) => string(text.as_bytes(), out),
        NewValue::TextBytes(bytes) => string(bytes, out),
        NewValue::Bytes(bytes) => {
            out.u32(kind::U8);
            string(bytes, out);
        }
        NewValue::List(_) => {
            // An array must state a type even if it has no elements.
            out.u32(value.inner(0).map_or(Some(kind::U32), kind_of).unwrap_or_default());
            out.u64(to_u64(value.count()));
        }
    }
}

/// Fails if GGUF cannot hold a value or a value inside it.
fn check_value(value: &dyn Value) -> Checked {
    let mut checked = Ok(());
    walk::<MAX_DEPTH>(value, |value, depth| checked = checked.and_then(|()| check_single(value, depth)));
    checked
}

/// Fails if GGUF cannot hold a value that has `depth` values around it.
fn check_single(value: &dyn Value, depth: usize) -> Checked {
    value.get()?;
    let kind = kind_of(value);
    let mut kinds = (0..).map_while(|index| value.inner(index)).map(kind_of);
    let first = kinds.next();
    if kind.is_none() || !kinds.all(|kind| Some(kind) == first) {
        return Err(Refusal::not_in_format(Part::Value));
    }
    let is_deep = kind == Some(kind::ARRAY) && depth >= MAX_DEPTH;
    if is_deep { Err(Refusal::new(ErrorKind::TooDeep, Part::Value)) } else { Ok(()) }
}
