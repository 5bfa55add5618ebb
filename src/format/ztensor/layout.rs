//! What all versions of zTensor share: the words for types and encodings, where blobs may lie, and what
//! each layout requires of its components.
//!
//! Depends on `super`, `codec::cbor`. Each rule stands here once, for the check and for reading.
#![forbid(unsafe_code)]

use super::{ALIGNMENT, HEADER, Manifest, Parsed, Tensor};
use crate::bytes::num::to_usize;
use crate::codec;
use crate::codec::cbor::{Fault, Reader};
use crate::error::{ErrorKind, Item, Warning};
use crate::format::Part;
use crate::vocab::{DType, Encoding, Layout};

/// 0.1 "Supported Data Types", 1.0 section 4.2.
pub(super) const LONG_DTYPES: &[(&str, DType)] = &[
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("float64", DType::F64),
    ("int64", DType::I64),
    ("int32", DType::I32),
    ("int16", DType::I16),
    ("int8", DType::I8),
    ("uint64", DType::U64),
    ("uint32", DType::U32),
    ("uint16", DType::U16),
    ("uint8", DType::U8),
    ("bool", DType::BOOL),
];

/// 1.1 and 1.2. The last four are in the text of 1.1 alone, and no program writes them.
pub(super) const SHORT_DTYPES: &[(&str, DType)] = &[
    ("f32", DType::F32),
    ("f16", DType::F16),
    ("bf16", DType::BF16),
    ("f64", DType::F64),
    ("i64", DType::I64),
    ("i32", DType::I32),
    ("i16", DType::I16),
    ("i8", DType::I8),
    ("u64", DType::U64),
    ("u32", DType::U32),
    ("u16", DType::U16),
    ("u8", DType::U8),
    ("bool", DType::BOOL),
    ("f8_e4m3", DType::F8_E4M3FN),
    ("f8_e5m2", DType::F8_E5M2),
    ("complex64", DType::C64),
    ("complex128", DType::C128),
];

/// 1.2: the logical types, and the dtype that each is stored as.
const LOGICAL_TYPES: &[(&str, DType, DType)] = &[
    ("f8_e4m3fn", DType::U8, DType::F8_E4M3FN),
    ("f8_e5m2", DType::U8, DType::F8_E5M2),
    ("f8_e4m3fnuz", DType::U8, DType::F8_E4M3FNUZ),
    ("f8_e5m2fnuz", DType::U8, DType::F8_E5M2FNUZ),
    ("complex64", DType::F32, DType::C64),
    ("complex128", DType::F64, DType::C128),
];

/// Reads a dtype: one of `names`, and nothing else.
pub(super) fn dtype(reader: &mut Reader<'_>, names: &[(&str, DType)]) -> Option<DType> {
    let at = reader.position();
    let text = reader.text();
    let found = names.iter().find(|(name, _)| *name == text).map(|&(_, dtype)| dtype);
    if found.is_none() {
        reader.fail(ErrorKind::UnknownDType, at);
    }
    found
}

/// Gives `part` its logical type. An unknown one leaves the storage dtype, with a warning.
pub(super) fn logical_type(reader: &Reader<'_>, part: &mut Part<'_>, name: &str, at: u32) -> Parsed<()> {
    match LOGICAL_TYPES.iter().find(|(known, ..)| *known == name) {
        Some(&(_, storage, logical)) if part.storage == Some(storage) => part.dtype = Some(logical),
        Some(&(.., logical)) if part.storage == Some(logical) => {} // says again what the dtype says
        Some(_) => return Err(reader.fault(ErrorKind::TypeMismatch, at)),
        None => part.warnings |= Warning::UnknownLogicalType.tensor_bit(),
    }
    Ok(())
}

/// Reads an encoding. One that is not known is listed, and its bytes are never taken for raw.
pub(super) fn encoding<'a>(reader: &mut Reader<'a>, part: &mut Part<'a>) {
    part.encoding_name = reader.text();
    part.encoding = match part.encoding_name {
        "raw" => Encoding::Raw,
        "zstd" => Encoding::Zstd,
        _ => Encoding::Other,
    };
}

/// Reads a digest: kept as it is spelled, and held to it by whoever verifies.
pub(super) fn digest<'a>(reader: &mut Reader<'a>, part: &mut Part<'a>) {
    let digest = reader.text();
    if !codec::digest::is_of_known_kind(digest) {
        part.warnings |= Warning::UnknownDigest.tensor_bit();
    }
    part.digest = Some(digest);
}

/// Holds the blob of the component at `at` to its place (1.0 section 7.1): inside the file, behind the
/// header, before the manifest. A blob of no bytes only has to be inside the file.
pub(super) fn placed(manifest: Manifest<'_>, part: &mut Part<'_>, at: u32) -> Parsed<()> {
    let fault = |kind, item| Err(Fault { kind, item, at });
    let extent = part.extent;
    if !extent.is_within(manifest.file_length()) {
        return fault(ErrorKind::OutOfFile, Item::Offset);
    }
    if extent.length > 0 {
        if extent.offset < HEADER {
            return fault(ErrorKind::OverHeader, Item::Offset);
        }
        if !extent.is_within(manifest.region.start) {
            return fault(ErrorKind::OverManifest, Item::Offset);
        }
    }
    if extent.offset & ALIGNMENT.wrapping_sub(1) != 0 {
        part.warnings |= Warning::MisalignedOffset.tensor_bit();
    }
    if part.encoding == Encoding::Raw {
        if part.decoded_length.is_some_and(|length| length != extent.length) {
            return fault(ErrorKind::SizeMismatch, Item::DecodedLength);
        }
        part.decoded_length = Some(extent.length);
    }
    Ok(())
}

/// How one dimension is read off the bytes of a shape.
pub(super) fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = Reader::new(bytes, 0);
    let length = reader.unsigned();
    reader.check().ok()?;
    Some((length, bytes.get(to_usize(u64::from(reader.position()))?..)?))
}

/// What the layouts ask of a shape.
pub(super) struct Volume {
    pub(super) at: u32,
    /// The length of the first dimension.
    rows: u64,
    /// The product of the lengths, from left to right; `None` beyond 64 bits.
    elements: Option<u64>,
}

impl Default for Volume {
    fn default() -> Self {
        Self { at: 0, rows: 0, elements: Some(1) }
    }
}

/// Reads the shape of `tensor`.
pub(super) fn shape<'a>(reader: &mut Reader<'a>, tensor: &mut Tensor<'a>) -> Volume {
    let mut volume = Volume { at: reader.position(), ..Volume::default() };
    let mut left = reader.array();
    tensor.dimensions = reader.position();
    while reader.more(&mut left) {
        let length = reader.unsigned();
        if tensor.rank == 0 {
            volume.rows = length;
        }
        volume.elements = volume.elements.and_then(|elements| elements.checked_mul(length));
        tensor.rank = tensor.rank.saturating_add(1); // a dimension takes a byte of the manifest at least
    }
    volume
}

/// What the layouts ask of a component.
#[derive(Clone, Copy, Default)]
pub(super) struct Measure {
    is_there: bool,
    at: u32,
    pub(super) dtype: Option<DType>,
    /// Decoded length in bytes, where it is known.
    length: Option<u64>,
    /// The logical type is unknown, and so is what the length ought to be.
    is_opaque: bool,
}

impl Measure {
    /// The measure of `part`, which stands at `at`.
    pub(super) fn of(part: &Part<'_>, at: u32) -> Self {
        let is_opaque = part.warnings & Warning::UnknownLogicalType.tensor_bit() != 0;
        Self { is_there: true, at, dtype: part.dtype, length: part.decoded_length, is_opaque }
    }

    fn fault<T>(&self, kind: ErrorKind) -> Parsed<T> {
        Err(Fault { kind, item: Item::Length, at: self.at })
    }

    /// How many elements there are: `None` where the length or the type is not known.
    pub(super) fn elements(&self) -> Parsed<Option<u64>> {
        let (Some(length), Some(dtype), false) = (self.length, self.dtype, self.is_opaque) else { return Ok(None) };
        if length & dtype.size().wrapping_sub(1) != 0 {
            return self.fault(ErrorKind::NotWhole);
        }
        Ok(Some(length.wrapping_shr(dtype.log2_size())))
    }

    /// Holds an index component to an integer type and `count` elements.
    fn indexes(&self, count: Option<u64>) -> Parsed<()> {
        if self.dtype.is_none_or(|dtype| !dtype.is_integer()) {
            return Err(Fault { kind: ErrorKind::IndexType, item: Item::DType, at: self.at });
        }
        match (self.elements()?, count) {
            (Some(have), Some(want)) if have != want => self.fault(ErrorKind::CountMismatch),
            _ => Ok(()),
        }
    }
}

/// The roles that layouts ask for, in the order of [`Measures`].
const ROLES: [&str; 5] = ["data", "values", "indices", "indptr", "coords"];

/// The components whose roles a layout asks for.
#[derive(Default)]
pub(super) struct Measures {
    of_role: [Measure; ROLES.len()],
    /// How many components there are, of any role, and the type of the last.
    count: u32,
    last: Option<DType>,
}

impl Measures {
    /// Adds the measure of a component; `false` where one of this known role is there already.
    pub(super) fn add(&mut self, role: &str, measure: Measure) -> bool {
        self.count = self.count.saturating_add(1);
        self.last = measure.dtype;
        match self.with_roles().find(|(known, _)| *known == role) {
            Some((_, place)) => !core::mem::replace(place, measure).is_there,
            None => true,
        }
    }

    /// Each role with its measure.
    pub(super) fn with_roles(&mut self) -> impl Iterator<Item = (&'static str, &mut Measure)> {
        ROLES.into_iter().zip(&mut self.of_role)
    }

    /// The type of a tensor of that layout: that of `data` or `values`, else of the only component.
    pub(super) fn dtype(&self, layout: Layout) -> Option<DType> {
        let [data, values, ..] = &self.of_role;
        let only = if self.count == 1 { self.last } else { None };
        match layout {
            Layout::SparseCsr | Layout::SparseCoo => values.dtype,
            _ => data.dtype.or(values.dtype).or(only),
        }
    }
}

/// The roles that a layout requires (1.0 sections 5.1 to 5.3).
pub(super) fn required(layout: Layout) -> &'static [&'static str] {
    match layout {
        Layout::Dense => &["data"],
        Layout::SparseCsr => &["values", "indices", "indptr"],
        Layout::SparseCoo => &["values", "coords"],
        // Real files hold a quantized group to nothing but whole elements, which are checked already.
        _ => &[],
    }
}

/// Holds the components of `tensor` to what its layout requires (1.0 sections 5.1 to 5.3).
pub(super) fn check(tensor: &mut Tensor<'_>, volume: &Volume, parts: &Measures) -> Parsed<()> {
    let fault = |kind, item, at| Err(Fault { kind, item, at });
    let required = required(tensor.layout);
    if ROLES.iter().zip(&parts.of_role).any(|(role, part)| !part.is_there && required.contains(role)) {
        return fault(ErrorKind::MissingComponent, Item::Components, tensor.components);
    }
    let [data, values, indices, indptr, coords] = &parts.of_role;
    match tensor.layout {
        Layout::Dense => {
            let size = tensor.dtype.map_or(1, DType::size);
            let Some(length) = volume.elements.and_then(|elements| elements.checked_mul(size)) else {
                return fault(ErrorKind::ShapeOverflow, Item::Shape, volume.at);
            };
            match data.length {
                Some(is) if is != length && data.is_opaque => tensor.dtype = None,
                Some(is) if is != length => return data.fault(ErrorKind::SizeMismatch),
                _ => {}
            }
        }
        Layout::SparseCsr => {
            if tensor.rank != 2 {
                return fault(ErrorKind::RankMismatch, Item::Shape, volume.at);
            }
            let Some(pointers) = volume.rows.checked_add(1) else {
                return fault(ErrorKind::ShapeOverflow, Item::Shape, volume.at);
            };
            indices.indexes(values.elements()?)?;
            indptr.indexes(Some(pointers))?;
        }
        Layout::SparseCoo => {
            let nnz = values.elements()?;
            let coordinates = nnz.map(|nnz| nnz.checked_mul(u64::from(tensor.rank)));
            if coordinates == Some(None) {
                return fault(ErrorKind::ShapeOverflow, Item::Shape, volume.at);
            }
            coords.indexes(coordinates.flatten())?;
        }
        _ => {}
    }
    Ok(())
}
