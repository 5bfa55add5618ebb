//! The meaning of the names of dtypes, encodings and layouts, and the components that each layout requires. Each rule
//! is stated once, for both checking and reading.
#![forbid(unsafe_code)]

use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::num::product;
#[cfg(not(small))]
use crate::codec::cbor::fast::Rest;
use crate::codec::cbor::strict::Reader;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::format::{ComponentRecord, Contents, TensorRecord};
use crate::types::shape::Shape;
use crate::types::{DType, Encoding, Layout};

/// The highest rank (section 3.3).
pub(super) const MAX_RANK: u32 = 64;

/// Declares a list that maps names to dtypes.
macro_rules! dtypes {
    ($($name:literal: $dtype:ident),* $(,)?) => { keywords![$($name: DType::$dtype.short_code()),*] };
}

/// The stored dtypes (section 4.1), the most frequent first.
macro_rules! storage_dtypes {
    ($use:ident) => {
        $use! {
            "f32": F32,
            "bf16": BF16,
            "f16": F16,
            "u8": U8,
            "i8": I8,
            "i32": I32,
            "u32": U32,
            "i64": I64,
            "u64": U64,
            "f64": F64,
            "i16": I16,
            "u16": U16,
        }
    };
}
#[cfg(not(small))]
pub(super) use storage_dtypes;

pub(super) const DTYPES: Keywords = storage_dtypes!(dtypes);

/// The logical types (appendix A).
pub(super) const LOGICAL_TYPES: Keywords = dtypes! {
    "bool": BOOL,
    "f8_e4m3fn": F8_E4M3FN,
    "f8_e5m2": F8_E5M2,
    "f8_e4m3fnuz": F8_E4M3FNUZ,
    "f8_e5m2fnuz": F8_E5M2FNUZ,
    "f8_e8m0": F8_E8M0,
    "f4_e2m1": F4_E2M1,
    "complex64": C64,
    "complex128": C128,
};

/// The dtype that a logical type is stored as.
pub(super) fn storage_of(logical: DType) -> DType {
    match logical {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        _ => DType::U8,
    }
}

/// The stored dtype named `name`.
#[inline]
pub(super) fn storage_dtype(name: &[u8]) -> Option<DType> {
    let mut names = DTYPES;
    DType::from_keyword(names.take_until(name)?)
}

/// The dtype of the logical type named `name`.
pub(super) fn logical_dtype(name: &[u8]) -> Option<DType> {
    let mut names = LOGICAL_TYPES;
    DType::from_keyword(names.take_until(name)?)
}

/// Reads a dtype. Rejects names that are not those of stored dtypes.
#[cfg_attr(small, inline(never))]
pub(super) fn dtype(reader: &mut Reader<'_>) -> Option<DType> {
    let at = reader.position();
    let name = reader.text_bytes()?;
    storage_dtype(name).or_else(|| reader.stop_at(ErrorKind::UnknownDType, at))
}

/// Checks that the logical type of `part`, at position `at`, fits the storage dtype. An unknown type adds a warning;
/// its meaning is not guessed.
pub(super) fn check_logical_type(reader: &mut Reader<'_>, part: &mut ComponentRecord<'_>, at: u32) -> Option<()> {
    match part.dtype {
        None => part.warnings |= Warning::UnknownLogicalType.tensor_bit(),
        Some(logical) if part.storage != Some(storage_of(logical)) => {
            return reader.stop_in(Part::LogicalType, ErrorKind::TypeMismatch, at);
        }
        Some(DType::BOOL) => part.decoded = Some(Contents::Bools),
        Some(_) => {}
    }
    Some(())
}

/// The encoding named `name`.
pub(super) fn encoding(name: &[u8]) -> Encoding {
    if name == Encoding::ZstdSeekable.text().as_bytes() { Encoding::ZstdSeekable } else { Encoding::Other }
}

pub(super) const LAYOUTS: Keywords = keywords![
    "dense": Layout::Dense.code(),
    "zt.sparse_csr/1": Layout::SparseCsr.code(),
    "zt.sparse_coo/1": Layout::SparseCoo.code(),
    "zt.quant_group/1": Layout::QuantizedGroup.code(),
    "zt.mx/1": Layout::Microscaling.code(),
];

/// The layout named `name` (section 5).
pub(super) fn of_name(name: &[u8]) -> Layout {
    if name.starts_with(b"gguf.") && name.ends_with(b"/1") {
        return Layout::Blocks;
    }
    let mut names = LAYOUTS;
    names.take_until(name).and_then(Layout::from_code).unwrap_or(Layout::Other)
}

/// The properties of a shape that layouts depend on.
#[derive(Default)]
pub(super) struct ElementCount {
    at: u32,
    /// The length of the first dimension, and the product of all lengths.
    rows: u64,
    elements: u64,
}

/// Reads one dimension from the bytes of a shape.
pub(super) fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    #[cfg(not(small))]
    if let Some(mut rest) = Rest::of(bytes, 0) {
        if let Some(length) = rest.unsigned() {
            return Some((length, rest.bytes()));
        }
    }
    let mut reader = Reader::new(bytes, 0);
    let length = reader.unsigned()?;
    Some((length, reader.rest()))
}

/// Reads the shape of `tensor`. In every layout, the product of the lengths, from left to right, has at most 64 bits
/// (section 3.3).
#[cfg_attr(small, inline(never))]
pub(super) fn shape<'a>(reader: &mut Reader<'a>, tensor: &mut TensorRecord<'a>) -> Option<ElementCount> {
    let at = reader.position();
    let rank = reader.array()?;
    if rank > MAX_RANK {
        return reader.stop_at(ErrorKind::TooMany, at);
    }
    tensor.shape = Shape::new(reader.rest(), rank, read_dimension);
    let (mut elements, mut rows) = (Some(1_u64), 0);
    for dimension in 0..rank {
        let length = reader.unsigned()?;
        if dimension == 0 {
            rows = length;
        }
        elements = product(elements, length);
    }
    let Some(elements) = elements else { return reader.stop_in(Part::Shape, ErrorKind::ShapeOverflow, at) };
    Some(ElementCount { at, rows, elements })
}

/// The properties of a component that layouts depend on. All zero if there is no such component.
#[derive(Clone, Copy)]
struct Measure {
    /// The component's position in the manifest; never 0 if the component is present.
    at: u32,
    /// The dtype; `None` if the logical type is unknown.
    dtype: Option<DType>,
    /// The decoded length in bytes.
    length: u64,
}

impl Measure {
    const NONE: Self = Self { at: 0, dtype: None, length: 0 };

    fn stop(&self, reader: &mut Reader<'_>, kind: ErrorKind) -> Option<()> {
        reader.stop_in(Part::Length, kind, self.at)
    }

    /// Checks that the component has `count` elements, if their size is known.
    #[cfg_attr(small, inline(never))]
    fn hold_to(&self, reader: &mut Reader<'_>, count: Option<u64>, kind: ErrorKind) -> Option<()> {
        let Some(dtype) = self.dtype else { return Some(()) };
        let length = count.and_then(|count| dtype.byte_length(count));
        if length == Some(self.length) { Some(()) } else { self.stop(reader, kind) }
    }
}

/// The roles that layouts require, as indices into [`ComponentSizes::of_role`].
const ROLES: Keywords = keywords!["data": 0, "values": 1, "indices": 2, "indptr": 3, "coords": 4];

/// The sizes of the components whose roles a layout requires, the number of components of any role, and the dtype of
/// the last one.
pub(super) struct ComponentSizes {
    of_role: [Measure; 5],
    count: u32,
    last_dtype: Option<DType>,
}

impl ComponentSizes {
    pub(super) const NONE: Self = Self { of_role: [Measure::NONE; 5], count: 0, last_dtype: None };

    /// Adds the size of a component whose position is `at`.
    #[inline]
    pub(super) fn add(&mut self, part: &ComponentRecord<'_>, at: u32) {
        let (dtype, length) = (part.dtype, part.decoded_length.unwrap_or(0));
        self.last_dtype = dtype;
        self.count = self.count.saturating_add(1);
        let mut roles = ROLES;
        let place = roles.take_until(part.role.bytes()).and_then(|place| self.of_role.get_mut(usize::from(place)));
        if let Some(place) = place {
            *place = Measure { at, dtype, length }; // a copy would be a call on a chip
        }
    }
}

/// Checks that `tensor` has the components that its layout requires: section 5.1, and the profiles of the sparse
/// layouts. Any other layout may have components of any role and length.
#[inline]
pub(super) fn check(
    reader: &mut Reader<'_>,
    tensor: &mut TensorRecord<'_>,
    volume: &ElementCount,
    parts: &ComponentSizes,
) -> Option<()> {
    let [data, ..] = &parts.of_role;
    match tensor.layout {
        Layout::Dense => {
            tensor.dtype = data.dtype;
            let length = data.dtype.map(|dtype| dtype.byte_length(volume.elements));
            if data.at == 0 || parts.count > 1 {
                return stop_parts(reader, tensor, parts);
            }
            match length {
                Some(None) => reader.stop_in(Part::Shape, ErrorKind::ShapeOverflow, volume.at),
                Some(Some(length)) if length != data.length => data.stop(reader, ErrorKind::SizeMismatch),
                _ => Some(()),
            }
        }
        Layout::SparseCsr | Layout::SparseCoo => check_sparse(reader, tensor, volume, parts),
        _ => {
            tensor.dtype = if parts.count == 1 { parts.last_dtype } else { None };
            Some(())
        }
    }
}

/// Stops with an error: components are missing, or there are too many.
#[cold]
#[inline(never)]
fn stop_parts(reader: &mut Reader<'_>, tensor: &TensorRecord<'_>, parts: &ComponentSizes) -> Option<()> {
    let bits = match tensor.layout {
        Layout::Dense => 0b00001,
        Layout::SparseCsr => 0b01110,
        _ => 0b10010_u32,
    };
    let is_missing = |(part, place): (&Measure, u32)| part.at == 0 && bits.wrapping_shr(place) & 1 != 0;
    let is_any_missing = parts.of_role.iter().zip(0_u32..).any(is_missing);
    let kind = if is_any_missing { ErrorKind::MissingComponent } else { ErrorKind::UnexpectedComponent };
    reader.stop_in(Part::Components, kind, tensor.components)
}

/// Checks the components of a sparse tensor. `zt.sparse_csr/1` is checked as in the reference implementation. That
/// implementation does not check `zt.sparse_coo/1`, so only what reading requires is checked.
#[inline(never)]
fn check_sparse(
    reader: &mut Reader<'_>,
    tensor: &mut TensorRecord<'_>,
    volume: &ElementCount,
    parts: &ComponentSizes,
) -> Option<()> {
    let [_, values, indices, indptr, coords] = &parts.of_role;
    tensor.dtype = values.dtype;
    let is_coo = tensor.layout == Layout::SparseCoo;
    if !is_coo && tensor.shape.rank() != 2 {
        return reader.stop_in(Part::Shape, ErrorKind::RankMismatch, volume.at);
    }
    // `counted` determines the number of elements. `places` must have a coordinate for each element and dimension
    // (COO), or one element more than there are rows (CSR).
    let (counted, places, index) = if is_coo { (values, coords, coords) } else { (indices, indptr, indices) };
    if values.at == 0 || counted.at == 0 || places.at == 0 || !is_coo && parts.count != 3 {
        return stop_parts(reader, tensor, parts);
    }
    if !matches!(index.dtype, Some(DType::U32 | DType::U64)) {
        return reader.stop_in(Part::DType, ErrorKind::IndexType, index.at);
    }
    if places.dtype != index.dtype {
        return reader.stop_in(Part::DType, ErrorKind::IndexType, places.at);
    }
    let Some(dtype) = counted.dtype.filter(|dtype| !dtype.is_packed()) else { return Some(()) };
    if !dtype.is_whole(counted.length) {
        return counted.stop(reader, ErrorKind::PartialElement);
    }
    let count = Some(counted.length.wrapping_shr(dtype.log2_size()));
    if is_coo {
        // One coordinate for each element and dimension.
        return places.hold_to(reader, product(count, tensor.shape.rank().into()), ErrorKind::CountMismatch);
    }
    let pointers = volume.rows.checked_add(1);
    if pointers.and_then(|count| dtype.byte_length(count)).is_none() {
        return reader.stop_in(Part::Shape, ErrorKind::ShapeOverflow, volume.at);
    }
    places.hold_to(reader, pointers, ErrorKind::CountMismatch)?;
    values.hold_to(reader, count, ErrorKind::SizeMismatch)
}

/// Sets the property of a component that depends on its tensor: an unused half of its last byte.
pub(super) fn complete(tensor: &TensorRecord<'_>, part: &mut ComponentRecord<'_>) {
    let is_packed = tensor.layout == Layout::Dense && part.dtype == Some(DType::F4_E2M1);
    if is_packed && tensor.shape.element_count().is_some_and(|count| count & 1 != 0) {
        part.decoded = Some(Contents::OddHalves);
    }
}
