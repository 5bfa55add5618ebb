//! The declarations of a file to write: its tensors and attributes, before their data.
//!
//! A writer reads the declarations as often as it needs them, and copies nothing.
#![forbid(unsafe_code)]

use crate::bytes::num::{Product, to_usize};
#[allow(unused_imports)] // depends on the formats that are built in
use crate::bytes::num::{product, to_u64};
#[cfg(feature = "gguf")]
use crate::bytes::num::{quotient, remainder};
#[cfg(feature = "gguf")]
use crate::codec::blocks::BlockType;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::types::DType;

/// A tensor to write.
///
/// ```
/// use tenslice::DType;
/// use tenslice::write::NewTensor;
///
/// let weight = NewTensor::dense("layer1.weight", DType::F32, &[64, 32]);
/// assert_eq!(weight.length(), Some(64 * 32 * 4));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewTensor<'a> {
    /// The name. Formats with a single unnamed tensor ignore it.
    pub name: &'a str,
    /// The lengths of the dimensions, outermost first as in a row-major array. Empty for a scalar.
    pub shape: &'a [u64],
    /// The type of the elements, and how they are stored.
    pub layout: NewLayout<'a>,
    /// The attributes of the tensor, in formats that have them: zTensor.
    pub attributes: &'a [NewAttribute<'a>],
}

/// The layout of a tensor to write: the types and the lengths of its components, in the order in which their bytes are
/// passed to the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewLayout<'a> {
    /// An array of elements, row-major (in TENS: column-major), little-endian.
    Dense(DType),
    /// An array of items that no dtype describes, such as texts and times, with their type as NumPy spells it and their
    /// size in bytes. Only NPY and NPZ have such items.
    Items {
        /// The value of `descr` in the header of an NPY file: a Python literal, such as `'<M8[ns]'`.
        descr: &'a str,
        /// The size of an item in bytes.
        size: u64,
    },
    /// An array of quantized blocks, as GGUF and zTensor 2 store them.
    #[cfg(feature = "gguf")]
    Blocks(BlockType),
    /// A matrix in compressed rows: the values, their column indices, and for each row the position of its first value.
    Csr {
        /// The type of the values.
        dtype: DType,
        /// The number of values.
        count: u64,
        /// The type of the column indices.
        indices: DType,
        /// The type of the row positions, of which there is one more than there are rows.
        pointers: DType,
    },
    /// Values and their coordinates: all indices of the first dimension, then those of the second, and so on.
    Coo {
        /// The type of the values.
        dtype: DType,
        /// The number of values.
        count: u64,
        /// The type of the indices.
        indices: DType,
    },
    /// Pairs of a 64-bit linear index and a value, as TENS stores them. The index of the first dimension varies fastest.
    Pairs {
        /// The type of the values.
        dtype: DType,
        /// The number of pairs.
        count: u64,
    },
    /// The cores of a tensor train, as BLZ1 stores them.
    Train {
        /// The type of the elements: `f64` or `c128`.
        dtype: DType,
        /// The bond dimensions, one more than the tensor has dimensions. The first and the last are 1.
        ranks: &'a [u64],
    },
}

impl<'a> NewTensor<'a> {
    /// A dense array of `dtype`, without attributes.
    #[must_use]
    pub const fn dense(name: &'a str, dtype: DType, shape: &'a [u64]) -> Self {
        Self { name, shape, layout: NewLayout::Dense(dtype), attributes: &[] }
    }

    /// An array of quantized blocks, without attributes. The shape is in elements.
    #[cfg(feature = "gguf")]
    #[must_use]
    pub const fn blocks(name: &'a str, block_type: BlockType, shape: &'a [u64]) -> Self {
        Self { name, shape, layout: NewLayout::Blocks(block_type), attributes: &[] }
    }

    /// Returns the number of elements; `None` beyond 64 bits.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        let mut count = Product::ONE;
        count.multiply_all(self.shape);
        count.total()
    }

    /// Returns the number of bytes of all components together; `None` beyond 64 bits, if a dimension is not a whole
    /// number of blocks, or if no format that is built in has the layout.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.total().ok()
    }

    /// Returns the number of bytes of all components together. Fails if the shape and the layout contradict each other,
    /// or if the number exceeds 64 bits.
    pub(crate) fn total(&self) -> Checked<u64> {
        let count = self.component_count();
        if count == 1 {
            return self.component_length(0); // less flash on chips whose format has no others
        }
        let mut total = 0_u64;
        for index in 0..count {
            let sum = total.checked_add(self.component_length(index)?);
            total = sum.ok_or(Refusal::new(ErrorKind::ShapeOverflow, Part::Shape))?;
        }
        Ok(total)
    }

    /// Fails if the lengths, multiplied from left to right, exceed 64 bits, even if a later one is 0: some readers
    /// multiply them so.
    #[cfg(any(feature = "ztensor", feature = "ztensor2", feature = "b2nd"))]
    pub(crate) fn check_running_product(&self) -> Checked {
        let product = self.shape.iter().try_fold(1_u64, |count, length| count.checked_mul(*length));
        product.map(drop).ok_or(Refusal::new(ErrorKind::ShapeOverflow, Part::Shape))
    }

    /// Returns the number of components; 1 if no format that is built in has the layout.
    pub(crate) fn component_count(&self) -> u32 {
        match self.layout {
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            NewLayout::Csr { .. } => 3,
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            NewLayout::Coo { .. } => 2,
            #[cfg(feature = "blz")]
            NewLayout::Train { .. } => u32::try_from(self.shape.len()).unwrap_or(u32::MAX),
            _ => 1,
        }
    }

    /// Returns the length in bytes of component `index`, of which there is one. Fails if the shape and the layout
    /// contradict each other.
    pub(crate) fn component_length(&self, index: u32) -> Checked<u64> {
        use NewLayout as L;
        let length = match (self.layout, index) {
            (L::Dense(dtype), _) => {
                let mut length = Product::ONE;
                length.multiply_all(self.shape);
                length.scale_to_bytes(dtype.short_bits());
                length.total()
            }
            #[cfg(feature = "npy")]
            (L::Items { size, .. }, _) => product(self.element_count(), size),
            #[cfg(feature = "gguf")]
            (L::Blocks(block_type), _) => {
                let count = self.element_count();
                if remainder(self.shape.last().copied().unwrap_or(1), block_type.elements()) != 0 {
                    return Err(Refusal::new(ErrorKind::PartialBlock, Part::Shape));
                }
                let blocks = count.map(|count| quotient(count, block_type.elements()));
                product(blocks, block_type.bytes())
            }
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            (L::Csr { dtype, count, .. } | L::Coo { dtype, count, .. }, 0) => dtype.byte_length(count),
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            (L::Csr { count, indices, .. }, 1) => indices.byte_length(count),
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            (L::Csr { pointers, .. }, _) => {
                let [rows, _] = self.shape else { return Err(Refusal::new(ErrorKind::RankMismatch, Part::Shape)) };
                rows.checked_add(1).and_then(|count| pointers.byte_length(count))
            }
            #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
            (L::Coo { count, indices, .. }, _) => {
                let numbers = product(Some(to_u64(self.shape.len())), count);
                numbers.and_then(|numbers| indices.byte_length(numbers))
            }
            #[cfg(feature = "tens")]
            (L::Pairs { dtype, count }, _) => {
                let pair = dtype.size().and_then(|size| size.checked_add(8));
                product(pair, count)
            }
            #[cfg(feature = "blz")]
            (L::Train { dtype, ranks }, _) => {
                let core = usize::try_from(index).unwrap_or(usize::MAX);
                let length = self.shape.get(core).copied().unwrap_or_default();
                let [left, right, ..] = ranks.get(core..).unwrap_or_default() else {
                    return Err(Refusal::new(ErrorKind::RankMismatch, Part::BondDimension));
                };
                let count = product(product(Some(*left), length), *right);
                count.and_then(|count| dtype.byte_length(count))
            }
            // No format that is built in has the layout.
            #[allow(unreachable_patterns)] // with all formats
            _ => return Err(Refusal::not_in_format(Part::Layout)),
        };
        length.ok_or(Refusal::new(ErrorKind::ShapeOverflow, Part::Shape))
    }

    /// Returns the role of component `index`, and the type of its elements; `None` for blocks.
    #[cfg(any(feature = "ztensor", feature = "ztensor2"))]
    pub(crate) const fn component_role(&self, index: u32) -> (&'static str, Option<DType>) {
        match (self.layout, index) {
            (NewLayout::Csr { dtype, .. } | NewLayout::Coo { dtype, .. }, 0) => ("values", Some(dtype)),
            (NewLayout::Csr { indices, .. }, 1) => ("indices", Some(indices)),
            (NewLayout::Csr { pointers, .. }, _) => ("indptr", Some(pointers)),
            (NewLayout::Coo { indices, .. }, _) => ("coords", Some(indices)),
            (NewLayout::Dense(dtype), _) => ("data", Some(dtype)),
            _ => ("data", None),
        }
    }
}

/// An attribute to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewAttribute<'a> {
    /// The key.
    pub key: &'a str,
    /// The value.
    pub value: NewValue<'a>,
}

impl<'a> NewAttribute<'a> {
    /// An attribute with the value `value`: a number, a boolean or a text.
    pub fn new(key: &'a str, value: impl Into<NewValue<'a>>) -> Self {
        Self { key, value: value.into() }
    }
}

/// The value of an attribute to write.
///
/// GGUF stores the width of a number; all other formats store only its value. safetensors has only texts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the names of the types say it
pub enum NewValue<'a> {
    Null,
    Bool(bool),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    Text(&'a str),
    /// A text of any bytes. Only GGUF stores texts that are not UTF-8.
    TextBytes(&'a [u8]),
    Bytes(&'a [u8]),
    /// Values without keys. In GGUF all must be of one type.
    List(&'a [NewValue<'a>]),
    /// Pairs of a key and a value, one after the other. In zTensor 2 the keys are texts, short ones first, and those of
    /// one length in the order of their bytes.
    Map(&'a [NewValue<'a>]),
}

macro_rules! from {
    ($($variant:ident $ty:ty;)*) => { $(
        impl<'a> From<$ty> for NewValue<'a> {
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        }
    )* };
}

from! {
    Bool bool; U8 u8; U16 u16; U32 u32; U64 u64; I8 i8; I16 i16; I32 i32; I64 i64; F32 f32; F64 f64; Text &'a str;
}

impl NewValue<'_> {
    /// Returns the value if it is an integer.
    pub(crate) fn integer(&self) -> Option<i128> {
        Some(match *self {
            Self::U8(n) => n.into(),
            Self::U16(n) => n.into(),
            Self::U32(n) => n.into(),
            Self::U64(n) => n.into(),
            Self::I8(n) => n.into(),
            Self::I16(n) => n.into(),
            Self::I32(n) => n.into(),
            Self::I64(n) => n.into(),
            _ => return None,
        })
    }
}

/// A file to write: its format, its tensors and its attributes.
///
/// ```
/// use tenslice::write::{NewAttribute, NewFile, NewTensor};
/// use tenslice::{DType, Format};
///
/// let tensors = [NewTensor::dense("w", DType::F32, &[2, 3]), NewTensor::dense("b", DType::F32, &[3])];
/// let attributes = [NewAttribute::new("format", "pt")];
/// let file = NewFile::new(Format::Safetensors, &tensors).attributes(&attributes);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewFile<'a> {
    tensors: &'a [NewTensor<'a>],
    attributes: &'a [NewAttribute<'a>],
    format: Format,
    alignment: Option<u64>,
    has_digests: bool,
    frame_length: Option<u64>,
}

impl<'a> NewFile<'a> {
    /// A file of `format` with these tensors, whose data is written in this order.
    #[must_use]
    pub const fn new(format: Format, tensors: &'a [NewTensor<'a>]) -> Self {
        Self { tensors, attributes: &[], format, alignment: None, has_digests: false, frame_length: None }
    }

    /// Sets the attributes of the file. The default is none.
    #[must_use]
    pub const fn attributes(self, attributes: &'a [NewAttribute<'a>]) -> Self {
        Self { attributes, ..self }
    }

    /// Sets the alignment of the data in the file, a power of two: of the first tensor in safetensors, of each tensor
    /// in the others. The default is that of the format: 8 in safetensors, 32 in GGUF, 64 in zTensor 1.2 and NPY, 4096
    /// in zTensor 2, 1 in NPZ. GGUF allows 8 and more, NPY 16 to 8192, NPZ at most 32768, zTensor no less than its
    /// default. TENS, BLZ1 and b2nd have no alignment.
    #[must_use]
    pub const fn alignment(self, alignment: u64) -> Self {
        Self { alignment: Some(alignment), ..self }
    }

    /// Stores a digest of each component: a CRC-32C in zTensor 1.2. zTensor 2 and NPZ always store one, and the other
    /// formats have none. The default is false.
    #[must_use]
    pub const fn digests(self, has_digests: bool) -> Self {
        Self { has_digests, ..self }
    }

    /// Stores every component with data in Zstandard frames, which the caller compresses and passes to
    /// [`Writer::frame`](super::Writer::frame). Each holds `frame_length` bytes of a component, and the last one of a
    /// component the rest. Only zTensor 2, with at most 16 MiB a frame, and zTensor 1.2 have such components.
    #[must_use]
    pub const fn frames(self, frame_length: u64) -> Self {
        Self { frame_length: Some(frame_length), ..self }
    }
}

/// The declarations of a file, in the memory of the caller.
pub(crate) trait Declarations {
    fn format(&self) -> Format;

    /// Returns the requested alignment of the data, or `default`, that of the format.
    fn alignment_or(&self, default: u64) -> u64;

    /// True if a digest of each component is stored, in formats that do not require one.
    fn has_digests(&self) -> bool;

    /// Returns the decoded length of the Zstandard frames in which components are stored; `None` if they are stored raw.
    fn frame_length(&self) -> Option<u64>;

    /// Returns the number of tensors.
    fn tensor_count(&self) -> usize;

    /// Returns tensor `index`. Fails past the last, and if the caller's memory does not hold a valid declaration. The
    /// attributes are those of [`tensor_attribute`](Self::tensor_attribute).
    fn tensor(&self, index: u32) -> Checked<NewTensor<'_>>;

    /// Returns the number of attributes.
    fn attribute_count(&self) -> usize;

    /// Returns attribute `index`, as [`tensor`](Self::tensor) does.
    fn attribute(&self, index: u32) -> Checked<Attribute<'_>>;

    /// Returns attribute `index` of tensor `tensor`, as [`tensor`](Self::tensor) does.
    fn tensor_attribute(&self, tensor: u32, index: u32) -> Checked<Attribute<'_>>;

    /// Returns the number of attributes of tensor `tensor`.
    fn tensor_attribute_count(&self, tensor: u32) -> usize;
}

impl Declarations for NewFile<'_> {
    fn format(&self) -> Format {
        self.format
    }

    fn alignment_or(&self, default: u64) -> u64 {
        self.alignment.unwrap_or(default)
    }

    fn has_digests(&self) -> bool {
        self.has_digests
    }

    fn frame_length(&self) -> Option<u64> {
        self.frame_length
    }

    fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    fn tensor(&self, index: u32) -> Checked<NewTensor<'_>> {
        nth(self.tensors, index).copied()
    }

    fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    fn attribute(&self, index: u32) -> Checked<Attribute<'_>> {
        nth(self.attributes, index).map(Attribute::of)
    }

    fn tensor_attribute(&self, tensor: u32, index: u32) -> Checked<Attribute<'_>> {
        nth(nth(self.tensors, tensor)?.attributes, index).map(Attribute::of)
    }

    fn tensor_attribute_count(&self, tensor: u32) -> usize {
        nth(self.tensors, tensor).map_or(0, |tensor| tensor.attributes.len())
    }
}

/// Returns declaration `index`. Fails past the last.
fn nth<T>(all: &[T], index: u32) -> Checked<&T> {
    let found = to_usize(index.into()).and_then(|index| all.get(index));
    found.ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::File))
}

/// An attribute to write, in the memory of the caller.
#[derive(Clone, Copy)]
pub(crate) struct Attribute<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a dyn Value,
}

impl<'a> Attribute<'a> {
    pub(crate) fn of(declared: &'a NewAttribute<'a>) -> Self {
        Self { key: declared.key, value: &declared.value }
    }
}

/// A value to write, in the memory of the caller: a [`NewValue`], or a struct of C.
pub(crate) trait Value {
    /// Returns the value; a list or a map with or without the values in it. Fails if the caller's memory does not hold a
    /// valid value.
    fn get(&self) -> Checked<NewValue<'_>>;

    /// Returns the number of values in a list or map; 0 for all other values.
    fn count(&self) -> usize;

    /// Returns value `index` in a list or map.
    fn inner(&self, index: usize) -> Option<&dyn Value>;
}

impl NewValue<'_> {
    /// Returns the values in a list or map.
    const fn items(&self) -> &[Self] {
        match self {
            Self::List(items) | Self::Map(items) => items,
            _ => &[],
        }
    }
}

impl Value for NewValue<'_> {
    fn get(&self) -> Checked<NewValue<'_>> {
        Ok(*self)
    }

    fn count(&self) -> usize {
        self.items().len()
    }

    fn inner(&self, index: usize) -> Option<&dyn Value> {
        self.items().get(index).map(|value| -> &dyn Value { value })
    }
}

/// The maximum depth of values inside values.
pub(crate) const MAX_DEPTH: usize = 32;

/// Fails if a value or a value inside it is not valid: values are nested too deeply, or a map has a key without a value.
#[allow(dead_code)] // depends on the formats that are built in
pub(crate) fn check_value(value: &dyn Value) -> Checked {
    let mut checked = Ok(());
    walk::<MAX_DEPTH>(value, |value, depth| {
        checked = checked.and_then(|()| match value.get()? {
            _ if depth > MAX_DEPTH => Err(Refusal::new(ErrorKind::TooDeep, Part::Value)),
            NewValue::Map(_) if value.count() & 1 != 0 => Err(Refusal::new(ErrorKind::InvalidArgument, Part::Value)),
            _ => Ok(()),
        });
    });
    checked
}

/// Calls `visit` for a value and the values in it, in the order in which they are written, with the number of values
/// around each. Ends inside a value that has others nested deeper than `DEPTH`.
#[allow(dead_code)] // depends on the formats that are built in
pub(crate) fn walk<'a, const DEPTH: usize>(value: &'a dyn Value, mut visit: impl FnMut(&'a dyn Value, usize)) {
    visit(value, 0);
    let mut levels = heapless::Vec::<(&dyn Value, usize), DEPTH>::new();
    let (mut outer, mut index) = (value, 0_usize);
    loop {
        let Some(inner) = outer.inner(index) else {
            match levels.pop() {
                Some(level) => (outer, index) = level,
                None => return,
            }
            continue;
        };
        index = index.saturating_add(1);
        visit(inner, levels.len().saturating_add(1));
        if inner.count() > 0 {
            if levels.push((outer, index)).is_err() {
                return;
            }
            (outer, index) = (inner, 0);
        }
    }
}

/// Returns the requested alignment of the data; `None` for that of the format.
pub(crate) fn requested_alignment(file: &dyn Declarations) -> Option<u64> {
    let alignment = file.alignment_or(1);
    // Two defaults show whether there is a request.
    if alignment == file.alignment_or(2) { Some(alignment) } else { None }
}

/// Iterates over the tensors and their indices.
pub(crate) fn tensors(file: &dyn Declarations) -> impl Iterator<Item = (u32, NewTensor<'_>)> {
    (0..).map_while(|index| Some((index, file.tensor(index).ok()?)))
}

/// Iterates over the attributes of the file and their indices.
pub(crate) fn attributes(file: &dyn Declarations) -> impl Iterator<Item = (u32, Attribute<'_>)> {
    (0..).map_while(|index| Some((index, file.attribute(index).ok()?)))
}

/// The result of checking a declaration.
pub(crate) type Checked<T = ()> = Result<T, Refusal>;

/// The reason why a format cannot hold a tensor or an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: ErrorKind,
    pub(crate) part: Part,
}

impl Refusal {
    pub(crate) const fn new(kind: ErrorKind, part: Part) -> Self {
        Self { kind, part }
    }

    /// The format has no `part` like this one.
    pub(crate) const fn not_in_format(part: Part) -> Self {
        Self::new(ErrorKind::NotInFormat, part)
    }

    /// The same reason, in an attribute of a tensor.
    pub(crate) const fn in_attributes(self) -> Self {
        Self { part: Part::Attributes, ..self }
    }

    /// Returns the error for a file of `format`.
    pub(crate) const fn of_file(self, format: Format) -> Error {
        Error::at_file(self.kind, format, self.part)
    }

    /// Returns the error for declaration `index` of a file of `format`.
    pub(crate) const fn of(self, format: Format, index: u32) -> Error {
        Error::declared(self.kind, format, self.part, index)
    }
}
