//! Rules shared by all versions of zTensor: the names of dtypes and encodings, where blobs may be, and what each layout
//! requires of its components. Each rule is stated once, for both checking and reading.
#![forbid(unsafe_code)]

use super::is_packed_sparse;
use super::manifest::{ALIGNMENT, Generation, HEADER, Manifest};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::num::{product, to_usize};
use crate::bytes::utf8::Utf8;
use crate::codec;
use crate::codec::cbor::Reader;
#[cfg(not(small))]
use crate::codec::cbor::fast::Rest;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::format::{ComponentRecord, TensorRecord};
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Encoding, Layout};

/// Declares a list that maps names to dtypes.
macro_rules! dtypes {
    ($($name:literal: $dtype:ident),* $(,)?) => { keywords![$($name: DType::$dtype.short_code()),*] };
}

/// Returns the dtype with this name in the list `known`.
#[inline(never)]
pub(super) fn dtype_of(known: Keywords, name: Utf8<'_>) -> Option<DType> {
    DType::from_keyword(known.number_of(name.bytes()))
}

/// The dtype names of 0.1 ("Supported Data Types") and 1.0 (section 4.2).
pub(super) const LONG_DTYPES: Keywords = dtypes! {
    "float32": F32,
    "float16": F16,
    "bfloat16": BF16,
    "float64": F64,
    "int64": I64,
    "int32": I32,
    "int16": I16,
    "int8": I8,
    "uint64": U64,
    "uint32": U32,
    "uint16": U16,
    "uint8": U8,
    "bool": BOOL,
};

/// The dtype names of 1.1 and 1.2. Only the specification of 1.1 has the last four, and no program writes them.
macro_rules! short_dtypes {
    ($use:ident) => {
        $use! {
            "f32": F32,
            "f16": F16,
            "bf16": BF16,
            "f64": F64,
            "i64": I64,
            "i32": I32,
            "i16": I16,
            "i8": I8,
            "u64": U64,
            "u32": U32,
            "u16": U16,
            "u8": U8,
            "bool": BOOL,
            "f8_e4m3": F8_E4M3FN,
            "f8_e5m2": F8_E5M2,
            "complex64": C64,
            "complex128": C128,
        }
    };
}
#[cfg(not(small))]
pub(super) use short_dtypes;

pub(super) const SHORT_DTYPES: Keywords = short_dtypes!(dtypes);

/// The logical types of 1.2.
pub(super) const LOGICAL_TYPES: Keywords = dtypes! {
    "f8_e4m3fn": F8_E4M3FN,
    "f8_e5m2": F8_E5M2,
    "f8_e4m3fnuz": F8_E4M3FNUZ,
    "f8_e5m2fnuz": F8_E5M2FNUZ,
    "complex64": C64,
    "complex128": C128,
};

/// The dtype that a logical type of 1.2 is stored as.
pub(super) fn storage_of(logical: DType) -> DType {
    match logical {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        _ => DType::U8,
    }
}

/// Reads a dtype. Rejects names that are not in `known`.
pub(super) fn dtype(reader: &mut Reader<'_>, known: Keywords) -> Option<DType> {
    let at = reader.position();
    let found = dtype_of(known, reader.text());
    if found.is_none() {
        reader.fail(ErrorKind::UnknownDType, at);
    }
    found
}

/// Sets the logical type of `part`, which may repeat the dtype. An unknown type adds a warning and leaves the storage
/// dtype.
pub(super) fn logical_type(reader: &mut Reader<'_>, part: &mut ComponentRecord<'_>, name: Utf8<'_>, at: u32) {
    match dtype_of(LOGICAL_TYPES, name) {
        Some(logical) if part.storage == Some(storage_of(logical)) => part.dtype = Some(logical),
        // The logical type repeats the dtype.
        Some(logical) if part.storage == Some(logical) => {}
        None if part.storage == dtype_of(SHORT_DTYPES, name) => {}
        Some(_) => reader.fail_in(Part::LogicalType, ErrorKind::TypeMismatch, at),
        None => part.warnings |= Warning::UnknownLogicalType.tensor_bit(),
    }
}

/// The layout named `name` (1.0 section 5; 1.1 added the last one). For 0.1, only the names that its writers really
/// emit: the `sparse` of its specification keeps its indices in attributes.
pub(super) fn of_name(generation: Generation, name: Utf8<'_>) -> Layout {
    // The versions that have a name are bits of its number, next to the code of the layout.
    const V0_1: u8 = 0x10;
    const V1_0: u8 = 0x20;
    const V1_2: u8 = 0x40;
    let names = keywords![
        "dense": Layout::Dense.code() | V0_1 | V1_0 | V1_2,
        "sparsecsr": Layout::SparseCsr.code() | V0_1,
        "sparsecoo": Layout::SparseCoo.code() | V0_1,
        "sparse_csr": Layout::SparseCsr.code() | V1_0 | V1_2,
        "sparse_coo": Layout::SparseCoo.code() | V1_0 | V1_2,
        "quantized_group": Layout::QuantizedGroup.code() | V1_2,
    ];
    let number = names.number_of(name.bytes());
    let version = match generation {
        Generation::V0_1 => V0_1,
        Generation::V1_0 => V1_0,
        Generation::V1_2 => V1_2,
    };
    let code = if number & version == 0 { Layout::Other.code() } else { number & 0x0f };
    Layout::from_code(code).unwrap_or(Layout::Other) // unknown names also end here
}

/// Reads the byte order of 0.1.
pub(super) fn byte_order(reader: &mut Reader<'_>) -> ByteOrder {
    let at = reader.position();
    let orders = keywords!["little": ByteOrder::Little.code(), "big": ByteOrder::Big.code()];
    let found = ByteOrder::from_code(orders.number_of(reader.text().bytes()));
    if found.is_none() {
        reader.fail(ErrorKind::InvalidByteOrder, at);
    }
    found.unwrap_or(ByteOrder::Little)
}

/// Reads an encoding. An unknown encoding is reported as unknown, and its bytes are never treated as raw.
pub(super) fn encoding<'a>(reader: &mut Reader<'a>, part: &mut ComponentRecord<'a>) {
    part.encoding_name = reader.text();
    let encodings = keywords!["raw": Encoding::Raw.code(), "zstd": Encoding::Zstd.code()];
    let found = Encoding::from_code(encodings.number_of(part.encoding_name.bytes()));
    part.encoding = found.unwrap_or(Encoding::Other);
}

/// Reads a digest and keeps it as spelled. Verification compares it with the data.
pub(super) fn digest<'a>(reader: &mut Reader<'a>, part: &mut ComponentRecord<'a>) {
    let digest = reader.text();
    if !codec::digest::is_of_known_kind(digest.bytes()) {
        part.warnings |= Warning::UnknownDigest.tensor_bit();
    }
    part.digest = Some(digest);
}

/// Returns the error in the position of a blob, if any (1.0 section 7.1). A blob must be inside the file, after the
/// header and before the manifest. An empty blob only has to be inside the file.
#[inline]
pub(super) fn check_bounds(manifest: &Manifest<'_>, extent: Extent) -> Option<ErrorKind> {
    if !extent.is_within(manifest.file_length()) {
        Some(ErrorKind::OutOfFile)
    } else if extent.length > 0 && extent.offset < HEADER {
        Some(ErrorKind::OverHeader)
    } else if extent.length > 0 && !extent.is_within(manifest.region.start) {
        Some(ErrorKind::OverManifest)
    } else {
        None
    }
}

/// Returns true if a blob begins at a multiple of the alignment.
pub(super) const fn is_aligned(extent: Extent) -> bool {
    extent.offset & ALIGNMENT.wrapping_sub(1) == 0
}

/// Checks the position of a blob, and its length if it is stored raw. `at` is the position of its component.
pub(super) fn place(manifest: &Manifest<'_>, reader: &mut Reader<'_>, part: &mut ComponentRecord<'_>, at: u32) {
    let extent = part.extent;
    if let Some(kind) = check_bounds(manifest, extent) {
        reader.fail_in(Part::Offset, kind, at);
    }
    if !is_aligned(extent) {
        part.warnings |= Warning::MisalignedOffset.tensor_bit();
    }
    if part.encoding == Encoding::Raw {
        if part.decoded_length.is_some_and(|length| length != extent.length) {
            reader.fail_in(Part::DecodedLength, ErrorKind::SizeMismatch, at);
        }
        part.decoded_length = Some(extent.length);
    }
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
    let length = reader.unsigned();
    reader.check().ok()?;
    Some((length, bytes.get(to_usize(u64::from(reader.position()))?..)?))
}

/// The properties of a shape that layouts depend on.
pub(super) struct ElementCount {
    pub(super) at: u32,
    /// The length of the first dimension.
    rows: u64,
    /// The product of the lengths, from left to right; `None` if it exceeds 64 bits.
    elements: Option<u64>,
}

impl Default for ElementCount {
    fn default() -> Self {
        Self { at: 0, rows: 0, elements: Some(1) }
    }
}

/// Reads the shape of `tensor`, and the properties of the shape that layouts depend on.
pub(super) fn shape<'a>(reader: &mut Reader<'a>, tensor: &mut TensorRecord<'a>, volume: &mut ElementCount) {
    volume.at = reader.position();
    let mut left = reader.array();
    let dimensions = reader.rest();
    let mut rank = 0_u32;
    while reader.more(&mut left) {
        let length = reader.unsigned();
        if rank == 0 {
            volume.rows = length;
        }
        volume.elements = product(volume.elements, length);
        rank = rank.wrapping_add(1); // a dimension takes at least one byte of the manifest
    }
    tensor.shape = Shape::new(dimensions, rank, read_dimension);
}

/// The properties of a component that layouts depend on. All zero if there is no such component.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// The component's position in the manifest; never 0 if the component is present.
    at: u32,
    dtype: Option<DType>,
    length: Length,
    /// The decoded length in bytes, if it is known.
    bytes: u64,
}

/// States if the decoded length of a component is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Unknown,
    Known,
    /// The logical type is unknown, so the length that it requires is also unknown.
    Opaque,
}

impl Measure {
    const NONE: Self = Self { at: 0, dtype: None, length: Length::Unknown, bytes: 0 };

    fn fail(&self, reader: &mut Reader<'_>, kind: ErrorKind) {
        reader.fail_in(Part::Length, kind, self.at);
    }

    /// The number of elements; `None` if the length or the dtype is unknown.
    fn elements(&self, reader: &mut Reader<'_>) -> Option<u64> {
        let dtype = self.dtype.filter(|_| self.length == Length::Known)?;
        if !dtype.is_whole(self.bytes) {
            self.fail(reader, ErrorKind::PartialElement);
        }
        Some(self.bytes.wrapping_shr(dtype.log2_size()))
    }

    /// Checks that an index component has an integer dtype and `count` elements.
    fn hold_to(&self, reader: &mut Reader<'_>, count: Option<u64>) {
        if self.dtype.is_none_or(|dtype| !dtype.is_integer()) {
            reader.fail_in(Part::DType, ErrorKind::IndexType, self.at);
        }
        let is = self.elements(reader);
        if is.zip(count).is_some_and(|(is, count)| is != count) {
            self.fail(reader, ErrorKind::CountMismatch);
        }
    }
}

/// The roles that layouts require, in the order of [`ComponentSizes`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Data,
    Values,
    Indices,
    Indptr,
    Coords,
}

static ROLES: [Role; 5] = [Role::Data, Role::Values, Role::Indices, Role::Indptr, Role::Coords];
const ROLE_NAMES: Keywords = keywords!["data": 0, "values": 1, "indices": 2, "indptr": 3, "coords": 4];

impl Role {
    pub(super) fn of_name(name: Utf8<'_>) -> Option<Self> {
        // Needs less code than a lookup in `ROLES`.
        match ROLE_NAMES.number_of(name.bytes()) {
            0 => Some(Self::Data),
            1 => Some(Self::Values),
            2 => Some(Self::Indices),
            3 => Some(Self::Indptr),
            4 => Some(Self::Coords),
            _ => None,
        }
    }

    /// The dtype in 1.0 of a component with this role (sections 4.2, 5.1 to 5.3) if its tensor has dtype `tensor`.
    pub(super) fn dtype(self, tensor: Option<DType>) -> Option<DType> {
        match self {
            Self::Data | Self::Values => tensor,
            Self::Indices | Self::Indptr | Self::Coords => Some(DType::U64),
        }
    }
}

/// The sizes of the components whose roles a layout requires.
pub(super) struct ComponentSizes {
    of_role: [Measure; ROLES.len()],
    /// True if a role does not sort after the previous one, so that duplicates are possible.
    pub(super) are_unsorted: bool,
    /// The number of components of any role, and the dtype of the last one.
    pub(super) count: u32,
    last: Option<DType>,
}

impl ComponentSizes {
    /// The sizes for a tensor without components.
    pub(super) const NONE: Self =
        Self { of_role: [Measure::NONE; ROLES.len()], are_unsorted: false, count: 0, last: None };

    /// Adds the size of `part`, whose position is `at`.
    #[inline(never)]
    pub(super) fn add(&mut self, reader: &mut Reader<'_>, part: &ComponentRecord<'_>, at: u32) {
        let length = match part.decoded_length {
            None => Length::Unknown,
            Some(_) if part.warnings & Warning::UnknownLogicalType.tensor_bit() != 0 => Length::Opaque,
            Some(_) => Length::Known,
        };
        let measure = Measure { at, dtype: part.dtype, length, bytes: part.decoded_length.unwrap_or(0) };
        measure.elements(reader);
        self.count = self.count.saturating_add(1);
        self.last = measure.dtype;
        let place = ROLE_NAMES.number_of(part.role.bytes());
        if let Some(place) = self.of_role.get_mut(usize::from(place)) {
            // Not deferred to the comparison of all roles: readers use the first of equal roles, but `place` keeps the
            // last.
            if place.at != 0 {
                reader.fail_in(Part::Role, ErrorKind::RepeatedKey, at);
            }
            *place = measure;
        }
    }

    /// Sets the dtype of each component from its role, as 1.0 requires.
    pub(super) fn set_types(&mut self, reader: &mut Reader<'_>, tensor: Option<DType>) {
        for (part, role) in self.of_role.iter_mut().zip(&ROLES) {
            part.dtype = role.dtype(tensor);
            part.elements(reader);
        }
    }

    /// The dtype of a tensor with this layout: that of `values` if sparse, else of `data`, `values` or the only
    /// component.
    pub(super) fn dtype(&self, layout: Layout) -> Option<DType> {
        let [data, values, ..] = &self.of_role;
        let only = if self.count == 1 { self.last } else { None };
        match layout {
            Layout::SparseCsr | Layout::SparseCoo => values.dtype,
            _ => data.dtype.or(values.dtype).or(only),
        }
    }
}

/// The roles that a layout requires (1.0 sections 5.1 to 5.3), in order.
pub(super) fn required(layout: Layout) -> impl Iterator<Item = &'static [u8]> {
    let bits = required_bits(layout);
    ROLE_NAMES.filter(move |(_, place)| bits.wrapping_shr(u32::from(*place)) & 1 != 0).map(|(role, _)| role)
}

/// The roles that a layout requires, as bits in the order of [`ROLES`].
fn required_bits(layout: Layout) -> u32 {
    match layout {
        Layout::Dense => 0b00001,
        Layout::SparseCsr => 0b01110,
        Layout::SparseCoo => 0b10010,
        // Real quantized groups meet only one requirement: whole elements, which have already been checked.
        _ => 0,
    }
}

/// Checks that the components of `tensor` are what its layout requires (1.0 sections 5.1 to 5.3).
#[inline(never)] // separate from the stack frame that reads components
pub(super) fn check(
    reader: &mut Reader<'_>,
    tensor: &mut TensorRecord<'_>,
    volume: &ElementCount,
    parts: &ComponentSizes,
) {
    let is_packed = is_packed_sparse(tensor);
    let required = if is_packed { 0 } else { required_bits(tensor.layout) };
    let is_missing = |(part, place): (&Measure, u32)| part.at == 0 && required.wrapping_shr(place) & 1 != 0;
    if parts.of_role.iter().zip(0_u32..).any(is_missing) {
        reader.fail_in(Part::Components, ErrorKind::MissingComponent, tensor.components);
    }
    let [data, values, indices, indptr, coords] = &parts.of_role;
    match tensor.layout {
        Layout::Dense => {
            let size = tensor.dtype.map_or(1, DType::byte_size);
            let length = product(volume.elements, size);
            if length.is_none() {
                reader.fail_in(Part::Shape, ErrorKind::ShapeOverflow, volume.at);
            } else if length != Some(data.bytes) {
                match data.length {
                    Length::Unknown => {}
                    Length::Known => data.fail(reader, ErrorKind::SizeMismatch),
                    Length::Opaque => tensor.dtype = None,
                }
            }
        }
        Layout::SparseCsr => {
            if tensor.shape.rank() != 2 {
                reader.fail_in(Part::Shape, ErrorKind::RankMismatch, volume.at);
            }
            if is_packed {
                return;
            }
            let pointers = volume.rows.checked_add(1);
            if pointers.is_none() {
                reader.fail_in(Part::Shape, ErrorKind::ShapeOverflow, volume.at);
            }
            let count = values.elements(reader);
            indices.hold_to(reader, count);
            indptr.hold_to(reader, pointers);
        }
        Layout::SparseCoo if !is_packed => {
            let count = values.elements(reader);
            let coordinates = product(count, u64::from(tensor.shape.rank()));
            if count.is_some() && coordinates.is_none() {
                reader.fail_in(Part::Shape, ErrorKind::ShapeOverflow, volume.at);
            }
            coords.hold_to(reader, coordinates);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Generation, Utf8, of_name, read_dimension};
    use crate::types::Layout;

    #[test]
    fn a_dimension_is_a_number() {
        assert_eq!(read_dimension(b"\x18\x20\x01"), Some((32, &[1][..])));
        assert_eq!([&b"\x60"[..], b"\x18", b"\xf6", b""].map(read_dimension), [None; 4]);
    }

    #[test]
    fn layouts_of_each_version() {
        let names = ["dense", "sparsecsr", "sparsecoo", "sparse_csr", "sparse_coo", "quantized_group", "denser", ""];
        let of = |generation| names.map(|name| of_name(generation, Utf8::new(name)));
        let (dense, csr, coo, other) = (Layout::Dense, Layout::SparseCsr, Layout::SparseCoo, Layout::Other);
        assert_eq!(of(Generation::V0_1), [dense, csr, coo, other, other, other, other, other]);
        assert_eq!(of(Generation::V1_0), [dense, other, other, csr, coo, other, other, other]);
        assert_eq!(of(Generation::V1_2), [dense, other, other, csr, coo, Layout::QuantizedGroup, other, other]);
    }
}
