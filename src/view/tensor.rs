//! A tensor, as seen in every format.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use zerocopy::IntoBytes;

use crate::attributes::Attributes;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
#[cfg(feature = "gguf")]
use crate::codec::blocks::BlockType;
use crate::codec::decoder::Decoder;
use crate::codec::sparse::Sparse;
#[cfg(feature = "ztensor2")]
use crate::error::origin::Format;
use crate::error::origin::Item;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, Described, FileFormat, HAS_DENSE, HAS_SPARSE, TensorRecord, dispatch};
use crate::types::element::Element;
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Encoding, Layout, Order};
use crate::view::component::{Component, Verification};

/// A tensor of an open file: its description and its components.
///
/// A value of at most 184 bytes that borrows the file's bytes. Copying a `Tensor` is cheap.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    file: AnyFile<'a>,
    record: TensorRecord<'a>,
}

impl<'a> Tensor<'a> {
    /// Creates a tensor of `file`.
    pub(crate) const fn new(file: AnyFile<'a>, record: TensorRecord<'a>) -> Self {
        Self { file, record }
    }

    /// Creates a blank tensor to read into.
    pub(crate) fn blank(file: AnyFile<'a>) -> Self {
        Self { file, record: TensorRecord::blank() }
    }

    pub(crate) const fn record_mut(&mut self) -> &mut TensorRecord<'a> {
        &mut self.record
    }

    /// Returns the name of the tensor, which may be empty or contain any character.
    #[must_use]
    pub const fn name(&self) -> Text<'a> {
        self.record.name()
    }

    /// Returns the dtype of the elements; `None` if the file does not state it.
    ///
    /// This is the dtype of the component `data` or `values`, of the values of index-value pairs, or of the numbers of
    /// a tensor train; otherwise it is the dtype of the only component.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        self.record.dtype
    }

    /// Returns the type of the elements as the file spells it, if the spelling says more than [`dtype`](Self::dtype):
    /// texts, times, records.
    ///
    /// - NPY, and stored entries of NPZ: the `descr`, in quotation marks if it is a string: `'<M8[s]'`, `[('x', '<i2'),
    ///   ('y', '<f8')]`. The bytes are UTF-8 in version 3.0 and Latin-1 before.
    /// - Blosc2 arrays: the dtype, a string without quotation marks: `<M8[s]`.
    /// - `None` if the file states no type, for other formats, and for compressed entries of NPZ, which
    ///   [`describe`](Self::describe) decodes.
    ///
    /// Linear in the bytes of the header.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/npy/struct_nested_4.npy");
    /// let file = tenslice::File::open(bytes)?;
    /// if let Some(stated) = file.find("")?.stated_type() {
    ///     println!("{}", stated.escape_ascii());
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[must_use]
    pub fn stated_type(&self) -> Option<&'a [u8]> {
        dispatch!(&self.file, file => file.stated_type(&self.record)).map(|stated| stated.text)
    }

    /// Describes the elements. The elements of a compressed entry of an NPZ archive are unknown until the entry is
    /// decoded: this method decodes its header, and nothing after the header, into `scratch`. For any other tensor it
    /// decodes nothing, needs no scratch memory, and returns the results of the other methods.
    ///
    /// Linear in the bytes of the header. [`describe_length`](Self::describe_length) returns the scratch memory needed;
    /// the headers that NumPy writes for numbers have 128 bytes. If the file was opened from a source, the first bytes
    /// of the entry, which opening requested, are usually enough.
    ///
    /// # Errors
    /// - `NotBuiltIn` if no decoder can decode the start of a stream: see [`Decoder::decode_start`].
    /// - `OutOfScratch`, `UnsupportedEncoding`, `CorruptStream`, `DecodedLength`, `NotInMemory`.
    /// - The errors of an invalid NPY file.
    /// - The tensor's own [`problem`](Self::problem), if it has one.
    ///
    /// ```
    /// # #[cfg(feature = "zlib")] {
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/npz/deflated.npz");
    /// use tenslice::{BuiltIn, File};
    ///
    /// let file = File::open(bytes)?;
    /// let mut scratch = [0; 1024];
    /// for tensor in &file {
    ///     let described = tensor.describe(&mut BuiltIn::default(), &mut scratch)?;
    ///     println!("{}: {:?} {}, {}", tensor.name(), described.dtype, described.shape, described.order);
    /// }
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn describe<'s>(&self, decoder: &mut dyn Decoder, scratch: &'s mut [u8]) -> Result<Described<'s>>
    where
        'a: 's,
    {
        self.problem().map_or(Ok(()), Err)?;
        if let Some(described) = dispatch!(&self.file, file => file.describe(&self.record, decoder, scratch))? {
            return Ok(described);
        }
        let stated = dispatch!(&self.file, file => file.stated_type(&self.record));
        let has_elements = |component: &Component<'a>| component.dtype() == self.dtype();
        Ok(Described {
            dtype: self.dtype(),
            shape: self.shape(),
            order: self.order(),
            byte_order: self.components().find(has_elements).map_or(ByteOrder::Little, |c| c.byte_order()),
            stated_type: stated.map(|stated| stated.text),
            is_latin_1: stated.is_some_and(|stated| stated.is_latin_1),
            warnings: self.warnings(),
        })
    }

    /// Returns the scratch memory that [`describe`](Self::describe) needs, in bytes: the length of the header of a
    /// compressed entry of an NPZ archive, found by decoding the first 12 bytes of the entry; 0 for any other tensor.
    ///
    /// # Errors
    /// The errors of [`describe`](Self::describe), except `OutOfScratch`.
    pub fn describe_length(&self, decoder: &mut dyn Decoder) -> Result<u64> {
        self.problem().map_or(Ok(()), Err)?;
        dispatch!(&self.file, file => file.describe_length(&self.record, decoder))
    }

    /// Returns the shape, in the order of the file: the first dimension is the outermost of a row-major array and the
    /// innermost of a column-major array.
    #[must_use]
    pub const fn shape(&self) -> Shape<'a> {
        self.record.shape
    }

    /// Returns the order of the elements in a stored dense array, or the order in which [`read_into`](Self::read_into)
    /// writes them.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.record.order
    }

    /// Returns how the components make up the tensor.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.record.layout
    }

    /// Returns the name of the layout, as the file spells it.
    #[must_use]
    pub fn layout_name(&self) -> &'a str {
        self.layout_name_text().as_str()
    }

    pub(crate) const fn layout_name_text(&self) -> Utf8<'a> {
        self.record.layout_name
    }

    /// Returns the type of the blocks if the tensor is [quantized](Layout::Blocks); `None` otherwise.
    #[cfg(feature = "gguf")]
    #[must_use]
    pub fn block_type(&self) -> Option<BlockType> {
        if self.layout() != Layout::Blocks {
            return None;
        }
        let name = self.record.layout_name.bytes();
        // Layout names of zTensor 2 end in a version: `gguf.q4_k/1`.
        #[cfg(feature = "ztensor2")]
        let name = name.strip_suffix(b"/1").unwrap_or(name);
        BlockType::from_layout_name(name)
    }

    /// Returns the index of the tensor in the file, counted from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        u64::from(self.record.index)
    }

    /// Returns the warnings about this tensor. A warning that depends on other tensors, such as a duplicate name, is
    /// one of the file's warnings instead. If the format has one tensor per file, the file's warnings are the tensor's
    /// own.
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        Warnings::from_bits(self.record.warnings)
    }

    /// Returns why the elements cannot be read, if the tensor has the warning
    /// [`UnreadableTensor`](crate::Warning::UnreadableTensor): its type is unknown, its header is invalid, or its
    /// values are not in the file. Each call that reads elements returns this error. If the tensor has a component, the
    /// component still gives access to the stored bytes.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// for tensor in &file {
    ///     if let Some(error) = tensor.problem() {
    ///         println!("{}: {}", tensor.name(), error.explain(bytes));
    ///     }
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[must_use]
    pub fn problem(&self) -> Option<Error> {
        if !self.warnings().contains(Warning::UnreadableTensor) {
            return None;
        }
        dispatch!(&self.file, file => file.problem(&self.record))
    }

    /// Returns the error of a call that cannot read the elements: the tensor's own problem if it has one, otherwise
    /// `kind`. Inlined in builds without dense tensors: the compiler drops the code that reads dense tensors only if it
    /// sees that the result is an error.
    #[cold]
    #[cfg_attr(
        any(
            feature = "ztensor",
            feature = "ztensor2",
            feature = "tens",
            feature = "npy",
            feature = "npz",
            feature = "safetensors",
            feature = "gguf"
        ),
        inline(never)
    )]
    pub(crate) fn refusal(&self, kind: ErrorKind) -> Error {
        self.problem().unwrap_or_else(|| self.error(kind))
    }

    /// Returns the attributes of the tensor.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(&self.file, file => file.tensor_attributes(&self.record))
    }

    /// Returns an iterator over the components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> Components<'a> {
        Components { tensor: *self, cursor: Cursor::START, error: None }
    }

    /// Returns the first component with the role `role`. Linear in the number of components.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn component(&self, role: &str) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        self.component_into(role.as_bytes(), &mut component).map(|()| component)
    }

    /// Creates a blank component to read into.
    pub(crate) fn blank_component(&self) -> Component<'a> {
        Component::blank(dispatch!(&self.file, file => file.input()), self.file.format())
    }

    /// Reads the component with the role `role` into `component`, a blank component of this tensor. A component is
    /// large for a microcontroller's stack, so it is filled in place.
    pub(crate) fn component_into(&self, role: &[u8], component: &mut Component<'a>) -> Result<()> {
        let part = component.record_mut();
        dispatch!(&self.file, file => {
            let mut cursor = Cursor::START;
            while file.next_component(&self.record, &mut cursor, part)? {
                if part.has_role(role) {
                    return Ok(());
                }
            }
        });
        Err(Error::new(ErrorKind::NotFound))
    }

    /// Returns the component that holds all elements of a dense tensor.
    ///
    /// # Errors
    /// `NotDense` for any other layout.
    pub fn data(&self) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        self.data_into(&mut component).map(|()| component)
    }

    /// Reads the component that holds a dense tensor into `component`, a blank component of this tensor.
    pub(crate) fn data_into(&self, component: &mut Component<'a>) -> Result<()> {
        if self.stored_layout() != Layout::Dense {
            return Err(self.refusal(ErrorKind::NotDense));
        }
        self.component_into(b"data", component)
    }

    /// Writes the strides to `dst`, one per dimension, and returns the part of `dst` written. A stride is the distance,
    /// in elements, between elements whose indices differ by one in that dimension. The strides are those of the stored
    /// dense tensor, or of the output of [`read_into`](Self::read_into).
    ///
    /// # Errors
    /// `TooSmall` if `dst` is shorter than the rank. `ShapeOverflow` if a tensor without elements has lengths whose
    /// product exceeds 64 bits.
    pub fn strides<'r>(&self, dst: &'r mut [u64]) -> Result<&'r mut [u64]> {
        let shape = self.shape();
        let dst = to_usize(u64::from(shape.rank())).and_then(|rank| dst.get_mut(..rank));
        let strides = dst.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        strides.iter_mut().zip(shape).for_each(|(stride, length)| *stride = length);
        let mut next = Some(1_u64);
        let mut set = |length: &mut u64| {
            let stride = next.ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
            next = stride.checked_mul(*length);
            *length = stride;
            Ok::<(), Error>(())
        };
        match self.order() {
            Order::RowMajor => strides.iter_mut().rev().try_for_each(&mut set)?,
            Order::ColumnMajor => strides.iter_mut().try_for_each(&mut set)?,
        }
        Ok(strides)
    }

    /// Returns the number of bytes that [`read_into`](Self::read_into) writes; `None` if the file does not state it, or
    /// if the tensor cannot be materialized.
    #[must_use]
    pub fn dense_length(&self) -> Option<u64> {
        match self.stored_layout() {
            Layout::Dense => self.data().ok()?.decoded_length(),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => {
                self.shape().element_count()?.checked_mul(self.dtype()?.whole_size())
            }
            _ => dispatch!(&self.file, file => file.whole_length(&self.record)),
        }
    }

    /// Returns the scratch memory that [`read_into`](Self::read_into) and [`sparse`](Self::sparse) need, in bytes:
    ///
    /// - sparse tensors: the decoded size of the encoded components;
    /// - tensor trains: the vectors along the train;
    /// - chunked arrays: one or two blocks; this call reads the headers of all chunks.
    ///
    /// `None` if the file does not state the size, if the tensor cannot be materialized, or if a chunk is malformed or
    /// not in memory.
    #[must_use]
    pub fn scratch_length(&self) -> Option<u64> {
        if self.layout() == Layout::Dense {
            return Some(0);
        }
        let Some(roles) = self.sparse_roles() else {
            return dispatch!(&self.file, file => file.whole_scratch_length(&self.record));
        };
        let mut encoded = self.encoded(roles).map(|component| component.decoded_length());
        encoded.try_fold(0, |sum: u64, length| sum.checked_add(length?))
    }

    /// Returns the components with one of the roles `roles` that are stored encoded.
    fn encoded(&self, roles: &'static [&str]) -> impl Iterator<Item = Component<'a>> {
        self.components()
            .filter(|component| component.encoding() != Encoding::Raw && roles.contains(&component.role()))
    }

    /// Reads the tensor as a dense array into `dst`, whatever its layout, and returns the part of `dst` written.
    /// Elements are written in this machine's byte order, except elements of a chunked array, which keep the byte order
    /// of their component. Dense data keeps its [`order`](Self::order); all other layouts become row-major.
    ///
    /// `dst` must have at least [`dense_length`](Self::dense_length) bytes, and `scratch` at least
    /// [`scratch_length`](Self::scratch_length) bytes. If the file does not state these sizes, try some size, and a
    /// larger one after `TooSmall` or `OutOfScratch`.
    ///
    /// The cost is proportional to the bytes read and written. For a sparse tensor this means its indices and values
    /// plus [`dense_length`](Self::dense_length), which the file does not bound. Two layouts cost more:
    ///
    /// - Chunked arrays: blocks are decoded as a whole; [`b2nd::Frame::work_length`](crate::b2nd::Frame::work_length)
    ///   returns the number of bytes decoded.
    /// - Tensor trains: [`blz::Train::slice`](crate::blz::Train::slice) states the cost.
    ///
    /// # Errors
    /// - `TooSmall`. If [`dense_length`](Self::dense_length) is known, nothing was written.
    /// - `UnsupportedLayout`, and the errors of [`sparse`](Self::sparse) and [`Component::read_into`].
    /// - For chunked arrays `UnsupportedCodec`, `UnsupportedFilter`, and the errors of malformed chunks, after which
    ///   the contents of `dst` are unspecified.
    /// - `NoValues` if the values are in another file or must first be computed.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let tensor = file.find("csr_i32")?; // 5 rows of 6 columns, most of them zero
    /// let mut dst = [0; 5 * 6 * 4];
    /// tensor.read_into(&mut dst, &mut [])?;
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_into<'r>(&self, dst: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.read_into_with(&mut BuiltIn::default(), dst, scratch)
    }

    /// Reads the tensor as [`read_into`](Self::read_into) does, but as elements of type `T` that are always in this
    /// machine's byte order. Returns the part of `dst` written.
    ///
    /// # Errors
    /// `WrongType` if the elements have another type, and the errors of [`read_into`](Self::read_into).
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut numbers = [0_f32; 5 * 6];
    /// let numbers = file.find("csr_i32")?.read_elements(&mut numbers, &mut [])?;
    /// println!("{numbers:?}");
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_elements<'d, T: Element>(&self, dst: &'d mut [T], scratch: &mut [u8]) -> Result<&'d mut [T]> {
        let Some(dtype) = self.dtype().filter(|dtype| T::reads(*dtype)) else {
            return Err(self.refusal(ErrorKind::WrongType));
        };
        let written = self.read_into(dst.as_mut_bytes(), scratch)?;
        self.written_order().to_native(written, dtype);
        let count = to_u64(written.len()).wrapping_shr(dtype.log2_size());
        to_usize(count).and_then(|count| dst.get_mut(..count)).ok_or_else(|| self.error(ErrorKind::TooSmall))
    }

    /// Reads the tensor as [`read_into`](Self::read_into) does, with a decoder that the caller provides.
    ///
    /// # Errors
    /// The errors of [`read_into`](Self::read_into).
    pub fn read_into_with<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        match self.stored_layout() {
            Layout::Dense => self.data()?.read_into_with(decoder, dst),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => self.read_sparse(decoder, dst, scratch),
            _ => {
                self.problem().map_or(Ok(()), Err)?;
                dispatch!(&self.file, file => file.read_whole(&self.record, decoder, dst, scratch))
            }
        }
    }

    /// Returns the byte order in which [`read_into`](Self::read_into) writes.
    pub(crate) fn written_order(&self) -> ByteOrder {
        if self.layout() == Layout::Chunked {
            return self.components().next().map_or(ByteOrder::NATIVE, |chunks| chunks.byte_order());
        }
        ByteOrder::NATIVE
    }

    /// True if the tensor may be a chunked array or a compressed NPZ entry. A proxy of another array is chunked, too;
    /// its layout has no code of its own. Builds without these formats omit the code for them.
    const fn is_verified_as_a_whole(&self) -> bool {
        cfg!(any(feature = "b2nd", feature = "npz")) && matches!(self.record.layout, Layout::Chunked | Layout::Other)
    }

    #[inline(never)] // keeps its stack frame out of the others
    fn read_sparse<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let length = self.dense_length().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        let sparse = self.sparse_with(decoder, scratch)?;
        dst.fill(0);
        sparse.scatter(dst).ok_or_else(|| self.error(ErrorKind::IndexOutOfRange))?;
        Ok(dst)
    }

    /// Returns the indices and values of a sparse tensor, checked in one pass: linear in their number. Encoded
    /// components are decoded into `scratch`; see [`scratch_length`](Self::scratch_length).
    ///
    /// # Errors
    /// - `UnsupportedLayout` if the tensor is not sparse, or if the dtype of its values is unknown or takes less than a
    ///   byte.
    /// - `InvalidRowPointers`, `IndexOutOfRange`, `CountMismatch`, `PackedLength`, and in zTensor 2 `IndexOrder`, if
    ///   the structure is invalid.
    /// - `OutOfScratch`, and the errors of [`Component::read_into`].
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// for entry in &file.find("csr_i32")?.sparse(&mut [])? {
    ///     println!("({:?}, {:?}): {:?}", entry.index(0), entry.index(1), entry.value::<f32>());
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn sparse<'s>(&self, scratch: &'s mut [u8]) -> Result<Sparse<'s>>
    where
        'a: 's,
    {
        self.sparse_with(&mut BuiltIn::default(), scratch)
    }

    /// Returns the indices and values as [`sparse`](Self::sparse) does, with a decoder that the caller provides.
    ///
    /// # Errors
    /// The errors of [`sparse`](Self::sparse).
    pub fn sparse_with<'s>(&self, decoder: &mut dyn Decoder, mut scratch: &'s mut [u8]) -> Result<Sparse<'s>>
    where
        'a: 's,
    {
        let shape = self.shape();
        let mut column = |role: &str| self.component(role)?.column(decoder, &mut scratch);
        let (sparse, uneven) = match (self.layout(), self.sparse_roles().unwrap_or_default()) {
            (Layout::SparseCsr, [blob]) => (Sparse::packed_csr(shape, column(blob)?), ErrorKind::PackedLength),
            (Layout::SparseCoo, [blob]) => (Sparse::packed_coo(shape, column(blob)?), ErrorKind::PackedLength),
            (Layout::IndexValue, [blob]) => (Sparse::pairs(shape, column(blob)?), ErrorKind::PackedLength),
            (Layout::SparseCsr, [values, indices, indptr]) => {
                let (values, columns, pointers) = (column(values)?, column(indices)?, column(indptr)?);
                (Sparse::csr(shape, values, columns, pointers), ErrorKind::CountMismatch)
            }
            (Layout::SparseCoo, [values, coords]) => {
                let (values, coordinates) = (column(values)?, column(coords)?);
                (Sparse::coo(shape, values, coordinates), ErrorKind::CountMismatch)
            }
            _ => return Err(self.refusal(ErrorKind::UnsupportedLayout)),
        };
        let mut sparse = sparse.ok_or_else(|| self.error(uneven))?;
        sparse.check(|kind| self.error(kind))?;
        // zt.sparse_csr/1, Validation. The other formats specify no order.
        #[cfg(feature = "ztensor2")]
        if self.file_format() == Format::Ztensor2 && !sparse.rows_increase() {
            return Err(self.error(ErrorKind::IndexOrder));
        }
        Ok(sparse)
    }

    /// Returns the layout, for code that reads stored dense or sparse elements. Builds whose formats have no such
    /// layouts omit that code. Values of a sparse tensor are read one by one, which is impossible if their dtype is
    /// unknown or takes less than a byte.
    const fn stored_layout(&self) -> Layout {
        let has_values =
            !cfg!(feature = "ztensor2") || matches!(self.record.dtype, Some(dtype) if !dtype.is_packed());
        match self.record.layout {
            Layout::Dense if !HAS_DENSE => Layout::Other,
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue if !HAS_SPARSE || !has_values => Layout::Other,
            layout => layout,
        }
    }

    /// Returns the roles of the components that a sparse tensor is read from, in the order in which the readers expect
    /// them: values and indices, or one blob of both. `None` if the tensor is not sparse.
    fn sparse_roles(&self) -> Option<&'static [&'static str]> {
        match (self.stored_layout(), self.record.is_packed) {
            (Layout::SparseCsr | Layout::SparseCoo, true) => Some(&["data"]),
            (Layout::SparseCsr, false) => Some(&["values", "indices", "indptr"]),
            (Layout::SparseCoo, false) => Some(&["values", "coords"]),
            (Layout::IndexValue, _) => Some(&["pairs"]),
            _ => None,
        }
    }

    /// Verifies the components against their digests. Also checks:
    ///
    /// - the indices of a sparse tensor without encoded components, as [`sparse`](Self::sparse) does, unless `sparse`
    ///   cannot read its values. If a logical type is unknown, a wrong number of indices is not reported;
    /// - the chunks of a chunked array: warns if one of the first 2^24 chunks was never written;
    /// - the header of a compressed NPZ entry: returns its warnings, such as bytes after the array.
    ///
    /// The cost is the sum of the costs of [`Component::verify`] for each component, even if components share bytes,
    /// and is linear in the number of chunks.
    ///
    /// # Errors
    /// The errors of [`Component::verify`] for the first component that fails, and of [`sparse`](Self::sparse).
    /// `NoValues`. The errors of an invalid header in a compressed entry of an NPZ archive.
    pub fn verify(&self) -> Result<Verified> {
        self.verify_with(&mut BuiltIn::default(), &mut [])
    }

    /// Verifies the tensor as [`verify`](Self::verify) does, with a decoder and scratch memory:
    /// [`verify_scratch_length`](Self::verify_scratch_length) bytes for components whose digest covers decoded bytes,
    /// for the table of chunks, and for the header of a compressed array. With less memory, warnings about the chunks
    /// and the header may be missing.
    ///
    /// # Errors
    /// The errors of [`Component::verify_with`] for the first component that fails, and of [`verify`](Self::verify).
    pub fn verify_with(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verified> {
        self.problem().map_or(Ok(()), Err)?;
        let mut verified = Verified::default();
        let mut components = self.components();
        for component in components.by_ref() {
            verified.add(component.verify_with(decoder, scratch)?);
        }
        if let Some(error) = components.error() {
            return Err(error);
        }
        if self.sparse_roles().is_some_and(|roles| self.encoded(roles).next().is_none()) {
            match self.sparse(&mut []) {
                Ok(sparse) => verified.warnings = sparse.warnings(),
                Err(error) if self.may_differ_in_count(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_verified_as_a_whole() {
            verified.warnings = dispatch!(&self.file, file => file.verify_whole(&self.record, decoder, scratch))?;
        }
        Ok(verified)
    }

    /// True if `fault` is no error in a sparse tensor whose logical type is unknown: an element may consist of several
    /// stored elements, or of part of one. Wrong lengths that are known to be wrong were rejected when the file was
    /// opened.
    fn may_differ_in_count(&self, fault: ErrorKind) -> bool {
        matches!(fault, ErrorKind::CountMismatch | ErrorKind::PartialElement)
            && self.warnings().contains(Warning::UnknownLogicalType)
    }

    /// Returns the memory that [`verify_with`](Self::verify_with) needs, in bytes: the maximum over the components, the
    /// table of chunks and the header of a compressed array. `None` if a component [cannot be
    /// verified](Component::verify_scratch_length).
    #[must_use]
    pub fn verify_scratch_length(&self) -> Option<u64> {
        let whole = dispatch!(&self.file, file => file.verify_scratch_length(&self.record));
        self.components().try_fold(whole, |most: u64, component| Some(component.verify_scratch_length()?.max(most)))
    }

    /// Returns the format of the file that contains the tensor.
    #[cfg(feature = "ztensor2")]
    pub(crate) const fn file_format(&self) -> Format {
        self.file.format()
    }

    /// Creates an error of the tensor as a whole.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::at(kind, self.file.format(), Item::Tensor, self.record.at)
    }
}

/// The outcome of verifying components against their digests, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Components whose bytes match their digest.
    pub verified: u64,
    /// Components for which the file states no digest.
    pub without_digest: u64,
    /// Components whose digest is of an unknown kind.
    pub unknown_digest: u64,
    /// Warnings about the data.
    pub warnings: Warnings,
}

impl Verified {
    fn add(&mut self, verification: Verification) {
        let count = match verification {
            Verification::Verified => &mut self.verified,
            Verification::NoDigest => &mut self.without_digest,
            Verification::UnknownDigest => &mut self.unknown_digest,
        };
        *count = count.saturating_add(1);
    }

    pub(crate) fn add_all(&mut self, other: Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.without_digest = self.without_digest.saturating_add(other.without_digest);
        self.unknown_digest = self.unknown_digest.saturating_add(other.unknown_digest);
        self.warnings = Warnings::from_bits(self.warnings.bits() | other.warnings.bits());
    }
}

/// The components of a tensor. See [`Tensor::components`].
///
/// The components were checked when the file was opened. If the bytes have changed since, the iterator ends early and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    tensor: Tensor<'a>,
    cursor: Cursor,
    error: Option<Error>,
}

impl<'a> Components<'a> {
    /// Returns the reason why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Creates a blank component to read into.
    pub(crate) fn blank(&self) -> Component<'a> {
        self.tensor.blank_component()
    }

    /// Reads the next component into `component`, which must be blank; returns `false` after the last component.
    pub(crate) fn read_next(&mut self, component: &mut Component<'a>) -> Result<bool> {
        let (tensor, part) = (&self.tensor, component.record_mut());
        dispatch!(&tensor.file, file => file.next_component(&tensor.record, &mut self.cursor, part))
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Component<'a>;

    fn next(&mut self) -> Option<Component<'a>> {
        if self.error.is_some() {
            return None;
        }
        let mut component = self.blank();
        let is_there = self.read_next(&mut component);
        self.error = is_there.err();
        is_there.unwrap_or(false).then_some(component)
    }
}

impl FusedIterator for Components<'_> {}
