//! A tensor, as seen in every format.
#![forbid(unsafe_code)]

mod read;
mod verify;

use core::iter::FusedIterator;

pub use self::verify::Verified;
use crate::attributes::Attributes;
use crate::bytes::num::to_usize;
#[cfg(all(feature = "gguf", feature = "ztensor2"))]
use crate::bytes::num::{product, quotient, remainder};
use crate::bytes::source::Source;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
#[cfg(feature = "gguf")]
use crate::codec::blocks::BlockType;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
#[cfg(feature = "ztensor2")]
use crate::error::origin::Format;
use crate::error::origin::Part;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, ComponentCursor, ComponentRecord, Computed, Cursor, Described, FileFormat};
use crate::format::{TensorRecord, dispatch};
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Layout, Order};
use crate::view::component::Component;

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

    /// Returns the file, and the record of the tensor in it.
    #[cfg(all(feature = "tflite", feature = "dequantize"))]
    pub(crate) const fn parts(&self) -> (&AnyFile<'a>, &TensorRecord<'a>) {
        (&self.file, &self.record)
    }

    pub(crate) const fn record_mut(&mut self) -> &mut TensorRecord<'a> {
        &mut self.record
    }

    /// Returns the same tensor, whose data is looked for in `source`: a clone of the source that the file was opened
    /// from, to which the caller has added the data. Constant cost: nothing is parsed again, except the tree of a PyTorch
    /// stream whose numbers have several widths. All calls that read elements then find the data, whatever the layout.
    ///
    /// Add the [extent](Component::extent) of each component in one piece.
    ///
    /// # Errors
    /// `InvalidArgument` if the source describes a file of another length.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// # let fetch = |extent: tenslice::Extent| &bytes[std::ops::Range::try_from(extent).unwrap()];
    /// use tenslice::{File, Opened, ReadOptions, Source};
    ///
    /// let mut source = Source::new(bytes.len() as u64);
    /// while let Opened::Need(need) = File::open_source(&source)? {
    ///     source.add(need.extent.offset, fetch(need.extent))?;
    /// }
    /// let Opened::File(file) = File::open_source(&source)? else { unreachable!() };
    ///
    /// let tensor = file.find("csr_i32")?; // sparse: three components
    /// let mut with_data = source.clone();
    /// for component in tensor.components() {
    ///     with_data.add(component.extent().offset, fetch(component.extent()))?;
    /// }
    /// let mut numbers = [0_f32; 5 * 6];
    /// tensor.with_source(&with_data)?.read_elements(&mut numbers, ReadOptions::new())?;
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn with_source<'b>(&self, source: &'b Source<'_>) -> Result<Tensor<'b>>
    where
        'a: 'b,
    {
        Ok(Tensor { file: self.file.with_source(source)?, record: self.record })
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
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/npy/struct_nested_4.npy");
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
    /// decoded: this method decodes its header, and nothing after the header, into the scratch memory. For any other
    /// tensor it decodes nothing, needs no scratch memory, and returns the results of the other methods.
    ///
    /// Linear in the bytes of the header. [`requirements`](Self::requirements) returns the length of the scratch memory;
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
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/npz/deflated.npz");
    /// use tenslice::{File, ReadOptions};
    ///
    /// let file = File::open(bytes)?;
    /// let mut scratch = [0; 1024];
    /// for tensor in &file {
    ///     let described = tensor.describe(ReadOptions::new().scratch(&mut scratch))?;
    ///     println!("{}: {:?} {}, {}", tensor.name(), described.dtype, described.shape, described.order);
    /// }
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[inline]
    pub fn describe<'s>(&self, options: ReadOptions<'s>) -> Result<Described<'s>>
    where
        'a: 's,
    {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.describe_using(decoder, scratch)
    }

    pub(crate) fn describe_using<'s>(&self, decoder: &mut dyn Decoder, scratch: &'s mut [u8]) -> Result<Described<'s>>
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

    /// Returns the scratch memory that [`describe`](Self::describe) needs, in bytes; `None` if the call will fail.
    pub(crate) fn describe_scratch(&self) -> Option<u64> {
        if self.problem().is_some() {
            return None;
        }
        dispatch!(&self.file, file => file.describe_scratch(&self.record, &mut BuiltIn::default()).ok())
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

    /// True if the file states neither dtype nor shape, as for a compressed entry of an NPZ archive.
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self.layout(), Layout::Other) && self.dtype().is_none()
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
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt");
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
            feature = "pytorch",
            feature = "onnx",
            feature = "ptd",
            feature = "tflite",
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
        Components { tensor: *self, cursor: ComponentCursor::START, error: None }
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
        #[cfg_attr(small, expect(unused_mut, reason = "chips have only the loop"))]
        let mut cursor = Cursor::START;
        // Most tensors have one component. In a loop, the compiler would first compute what only other components need.
        #[cfg(not(small))]
        if dispatch!(&self.file, file => file.next_component(&self.record, &mut cursor, part))? && part.has_role(role)
        {
            return Ok(());
        }
        self.component_after(cursor, role, part)
    }

    /// Reads the first component after `cursor` with the role `role` into `part`.
    #[cfg_attr(not(small), cold, inline(never))]
    #[cfg_attr(small, inline(always))]
    fn component_after(&self, mut cursor: Cursor, role: &[u8], part: &mut ComponentRecord<'a>) -> Result<()> {
        dispatch!(&self.file, file => {
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

    /// Returns the component of a dense tensor, or of a tensor in quantized blocks.
    pub(crate) fn stored_data(&self) -> Result<Component<'a>> {
        if self.layout() == Layout::Blocks { self.component("data") } else { self.data() }
    }

    /// Checks the blocks of a zTensor 2 tensor (`gguf.<type>/1`): the stated block size must be the size of the type,
    /// and the number of bytes must match.
    #[cfg(all(feature = "gguf", feature = "ztensor2"))]
    pub(crate) fn check_block(&self, block: BlockType) -> Result<()> {
        if self.file_format() != Format::Ztensor2 {
            return Ok(());
        }
        let (attributes, count) = (self.attributes(), self.shape().element_count());
        let is_stated = attributes.get_u64("elems_per_block") == Some(block.elements())
            && attributes.get_u64("block_bytes") == Some(block.bytes());
        let is_whole = count.is_some_and(|count| remainder(count, block.elements()) == 0);
        if !is_stated || !is_whole {
            return Err(self.error(ErrorKind::UnsupportedLayout));
        }
        let length = product(count.map(|count| quotient(count, block.elements())), block.bytes());
        if self.stored_data()?.decoded_length() == length { Ok(()) } else { Err(self.error(ErrorKind::SizeMismatch)) }
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
        #[cfg(any(feature = "pytorch", feature = "ptd"))]
        if self.layout() == Layout::Strided {
            let dst = to_usize(u64::from(shape.rank())).and_then(|rank| dst.get_mut(..rank));
            let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
            let stated = dispatch!(&self.file, file => file.strides(&self.record, dst))?;
            return stated.ok_or_else(|| self.error(ErrorKind::UnsupportedLayout));
        }
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
    pub(crate) fn read_length(&self) -> Option<u64> {
        match self.stored_layout() {
            Layout::Dense => self.data().ok()?.decoded_length(),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => {
                self.shape().element_count()?.checked_mul(self.dtype()?.byte_size())
            }
            _ => dispatch!(&self.file, file => file.whole_length(&self.record)),
        }
    }

    /// Returns the format of the file that contains the tensor.
    #[cfg(feature = "ztensor2")]
    pub(crate) const fn file_format(&self) -> Format {
        self.file.format()
    }

    /// Creates an error of the tensor as a whole.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::at(kind, self.file.format(), Part::Tensor, self.record.at)
    }
}

/// The components of a tensor. See [`Tensor::components`].
///
/// The components were checked when the file was opened. If the bytes have changed since, the iterator ends early and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    tensor: Tensor<'a>,
    cursor: ComponentCursor,
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
        self.cursor
            .advance(|cursor| dispatch!(&tensor.file, file => file.next_component(&tensor.record, cursor, part)))
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
