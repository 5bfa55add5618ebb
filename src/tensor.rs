//! A tensor as every format shows it.
//!
//! Depends on `place`, `error`, `bytes`, `vocab`, `shape`, `sparse`, `decode`, `format`, `component`.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use zerocopy::IntoBytes;

use crate::attributes::Attributes;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::codec::BuiltIn;
use crate::component::Component;
#[cfg(feature = "digest")]
use crate::component::Verification;
use crate::decode::Decoder;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, FileFormat, HAS_STORED_ELEMENTS, TensorRecord, dispatch};
use crate::place::Item;
use crate::shape::Shape;
use crate::sparse::Sparse;
use crate::vocab::{ByteOrder, DType, Encoding, Layout, Order};
use crate::warning::Warnings;

/// A tensor of an open file: what it is, and the components that it is made of.
///
/// A value of at most 184 bytes that borrows from the file's bytes; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    file: AnyFile<'a>,
    record: TensorRecord<'a>,
}

impl<'a> Tensor<'a> {
    /// A tensor of which nothing has been read yet.
    pub(crate) fn blank(file: AnyFile<'a>) -> Self {
        Self { file, record: TensorRecord::blank() }
    }

    pub(crate) const fn record_mut(&mut self) -> &mut TensorRecord<'a> {
        &mut self.record
    }

    /// Its name, which may be empty or hold any character.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name_text().as_str()
    }

    pub(crate) const fn name_text(&self) -> Text<'a> {
        self.record.name
    }

    /// The type of its elements; `None` where the file does not say: that of `data` or `values`, of the values of
    /// pairs, of the numbers of a tensor train, else of the only component.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        self.record.dtype
    }

    /// Its dimensions, in the order of the file: the first is the outermost of a row-major array, the innermost of
    /// a column-major one.
    #[must_use]
    pub const fn shape(&self) -> Shape<'a> {
        self.record.shape
    }

    /// The order of the elements, as they are stored in a dense array, or as [`read_into`](Self::read_into)
    /// writes them.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.record.order
    }

    /// How its components add up to it.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.record.layout
    }

    /// The name of the layout, as the file spells it.
    #[must_use]
    pub fn layout_name(&self) -> &'a str {
        self.layout_name_text().as_str()
    }

    pub(crate) const fn layout_name_text(&self) -> Text<'a> {
        self.record.layout_name
    }

    /// Its place among the tensors of the file, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        u64::from(self.record.index)
    }

    /// What there is to warn of it, as bits: [`Warning::bit`](crate::Warning::bit) each. What takes a look at other
    /// tensors too, a repeated name, is among those of the file; in a format of one tensor those of the file are
    /// its own.
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        Warnings::from_bits(self.record.warnings)
    }

    /// What else the file says about it.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(&self.file, file => file.tensor_attributes(&self.record))
    }

    /// Its components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> Components<'a> {
        Components { tensor: *self, cursor: Cursor::START, error: None }
    }

    /// The first component of that role. Linear in the number of components.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn component(&self, role: &str) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        self.component_into(role.as_bytes(), &mut component).map(|()| component)
    }

    /// A component of which nothing has been read yet.
    pub(crate) fn blank_component(&self) -> Component<'a> {
        Component::blank(dispatch!(&self.file, file => file.input()), self.file.format())
    }

    /// Reads the component into `component`, a blank one of this tensor: in place, since it is large for a chip.
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

    /// The component that holds a dense tensor, all of it.
    ///
    /// # Errors
    /// `NotDense` for any other layout.
    pub fn data(&self) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        self.data_into(&mut component).map(|()| component)
    }

    /// Reads that component into `component`, a blank one of this tensor.
    pub(crate) fn data_into(&self, component: &mut Component<'a>) -> Result<()> {
        if self.stored_layout() != Layout::Dense {
            return Err(self.error(ErrorKind::NotDense));
        }
        self.component_into(b"data", component)
    }

    /// How far apart elements lie whose indices differ by one in a dimension, for each dimension: in elements
    /// of a dense tensor, or of what [`read_into`](Self::read_into) writes. They are put into `dst`, which has
    /// as many places as there are dimensions.
    ///
    /// # Errors
    /// `TooSmall`; `ShapeOverflow` where a tensor without elements has lengths whose product exceeds 64 bits.
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

    /// How many bytes [`read_into`](Self::read_into) writes; `None` where the file does not say, or where
    /// the tensor cannot be made dense.
    #[must_use]
    pub fn dense_length(&self) -> Option<u64> {
        match self.stored_layout() {
            Layout::Dense => self.data().ok()?.decoded_length(),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => {
                self.shape().element_count()?.checked_mul(self.dtype()?.size())
            }
            _ => dispatch!(&self.file, file => file.whole_length(&self.record)),
        }
    }

    /// How much scratch memory [`read_into`](Self::read_into) and [`sparse`](Self::sparse) need, in bytes:
    /// what the encoded components of a sparse tensor decode to; the vectors along a tensor train; a block or
    /// two of an array in chunks, for which the headers of all chunks are read. `None` where the file does not say,
    /// where the tensor cannot be made dense, and where a chunk is broken or not in memory.
    #[must_use]
    pub fn scratch_length(&self) -> Option<u64> {
        if self.layout() == Layout::Dense {
            return Some(0);
        }
        let Some(roles) = self.sparse_roles() else {
            return dispatch!(&self.file, file => file.whole_scratch_length(&self.record));
        };
        let encoded = self.components().filter(|c| c.encoding() != Encoding::Raw && roles.contains(&c.role()));
        encoded.map(|component| component.decoded_length()).try_fold(0, |sum: u64, length| sum.checked_add(length?))
    }

    /// The tensor as a dense array in `dst`, whatever its layout: in this machine's byte order, dense
    /// data in its [`order`](Self::order), all else row-major. The part written. An array in chunks stays in the
    /// byte order that it is stored in: that of its component.
    ///
    /// `dst` has at least [`dense_length`](Self::dense_length) bytes, `scratch` [`scratch_length`](Self::scratch_length);
    /// where the file does not say, give some, and more after `TooSmall` or `OutOfScratch`.
    ///
    /// The work is of the order of the bytes read and written, but for two layouts: blocks of chunks are decoded as a
    /// whole ([`b2nd::Frame::work_length`](crate::b2nd::Frame::work_length) says how much that is), and what the elements of a
    /// tensor train take is said at [`blz::Train::slice`](crate::blz::Train::slice).
    ///
    /// # Errors
    /// `TooSmall`, then nothing was written where [`dense_length`](Self::dense_length) is known. `UnsupportedLayout`,
    /// those of [`sparse`](Self::sparse) and of [`Component::read_into`]; for chunks `UnsupportedCodec`,
    /// `UnsupportedFilter`, and what is wrong with them: `dst` holds nothing of use then.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let tensor = file.find("csr_i32")?; // 5 rows of 6 columns, most of them zero
    /// let mut dst = [0; 5 * 6 * 4];
    /// tensor.read_into(&mut dst, &mut [])?;
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_into<'r>(&self, dst: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.read_into_with(&mut BuiltIn::default(), dst, scratch)
    }

    /// The tensor as numbers: what [`read_into`](Self::read_into) writes, as elements of type `T`, in this machine's byte
    /// order whatever the layout. The part of `dst` written.
    ///
    /// # Errors
    /// `WrongType` where the elements are of another type, and those of [`read_into`](Self::read_into).
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut numbers = [0_f32; 5 * 6];
    /// let numbers = file.find("csr_i32")?.read_elements(&mut numbers, &mut [])?;
    /// println!("{numbers:?}");
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_elements<'d, T: Element>(&self, dst: &'d mut [T], scratch: &mut [u8]) -> Result<&'d mut [T]> {
        let Some(dtype) = self.dtype().filter(|dtype| T::reads(*dtype)) else {
            return Err(self.error(ErrorKind::WrongType));
        };
        let written = self.read_into(dst.as_mut_bytes(), scratch)?;
        // Chunks stay in the order in which they are stored.
        if self.layout() == Layout::Chunked {
            let order = self.components().next().map_or(ByteOrder::NATIVE, |chunks| chunks.byte_order());
            order.to_native(written, dtype);
        }
        let count = to_u64(written.len()).wrapping_shr(dtype.log2_size());
        to_usize(count).and_then(|count| dst.get_mut(..count)).ok_or_else(|| self.error(ErrorKind::TooSmall))
    }

    /// The same by a decoder of the caller's.
    ///
    /// # Errors
    /// Those of [`read_into`](Self::read_into).
    pub fn read_into_with<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        match self.stored_layout() {
            Layout::Dense => self.data()?.read_into_with(decoder, dst),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => self.read_sparse(decoder, dst, scratch),
            _ => dispatch!(&self.file, file => file.read_whole(&self.record, decoder, dst, scratch)),
        }
    }

    #[inline(never)] // off the stack of the others
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

    /// The indices and values of a sparse tensor, checked in one pass: linear in their number. `scratch`
    /// takes the components that are stored encoded, see [`scratch_length`](Self::scratch_length).
    ///
    /// # Errors
    /// `UnsupportedLayout` where it is not sparse. `InvalidRowPointers`, `IndexOutOfRange`, `CountMismatch`,
    /// `PackedLength` where the structure is broken. `OutOfScratch`, and those of [`Component::read_into`].
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
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

    /// The same by a decoder of the caller's.
    ///
    /// # Errors
    /// Those of [`sparse`](Self::sparse).
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
            _ => return Err(self.error(ErrorKind::UnsupportedLayout)),
        };
        let mut sparse = sparse.ok_or_else(|| self.error(uneven))?;
        sparse.check(|kind| self.error(kind))?;
        Ok(sparse)
    }

    /// Its layout, for what reads elements that are stored, densely or sparsely: a library of formats without any leaves
    /// that out.
    const fn stored_layout(&self) -> Layout {
        if HAS_STORED_ELEMENTS { self.record.layout } else { Layout::Other }
    }

    /// The roles of the components that a sparse tensor is read from, in the order in which they are:
    /// values and indices, or one blob of both. `None` where it is not sparse.
    fn sparse_roles(&self) -> Option<&'static [&'static str]> {
        match (self.stored_layout(), self.record.is_packed) {
            (Layout::SparseCsr | Layout::SparseCoo, true) => Some(&["data"]),
            (Layout::SparseCsr, false) => Some(&["values", "indices", "indptr"]),
            (Layout::SparseCoo, false) => Some(&["values", "coords"]),
            (Layout::IndexValue, _) => Some(&["pairs"]),
            _ => None,
        }
    }

    /// Verifies its components against their digests and, where it is sparse and none of them is encoded, its
    /// indices as [`sparse`](Self::sparse) does.
    ///
    /// # Errors
    /// Those of [`Component::verify`], of the first component that fails; those of [`sparse`](Self::sparse).
    #[cfg(feature = "digest")]
    pub fn verify(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut components = self.components();
        for component in components.by_ref() {
            verified.add(component.verify()?);
        }
        if let Some(error) = components.error() {
            return Err(error);
        }
        if self.sparse_roles().is_some() && self.scratch_length() == Some(0) {
            verified.warnings = self.sparse(&mut [])?.warnings();
        }
        Ok(verified)
    }

    /// An error of the tensor as a whole.
    fn error(&self, kind: ErrorKind) -> Error {
        Error::at(kind, self.file.format(), Item::Tensor, self.record.at)
    }
}

/// How many components were verified against their digests, and how many could not be.
#[cfg(feature = "digest")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Those whose stored bytes are the ones that their digest was made of.
    pub verified: u64,
    /// Those for which the file states no digest.
    pub without_digest: u64,
    /// Those whose digest is of a kind that is not known here.
    pub unknown_digest: u64,
    /// What there is to warn of the data, as bits: [`Warning::bit`](crate::Warning::bit) each.
    pub warnings: Warnings,
}

#[cfg(feature = "digest")]
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
/// What they are was checked when the file was opened. Should the bytes have changed since, the iterator
/// ends early and [`error`](Self::error) says why.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    tensor: Tensor<'a>,
    cursor: Cursor,
    error: Option<Error>,
}

impl<'a> Components<'a> {
    /// Why the iterator ended early: the bytes are not what they were when the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// A component of which nothing has been read yet.
    pub(crate) fn blank(&self) -> Component<'a> {
        self.tensor.blank_component()
    }

    /// Reads the next component into `component`, a blank one; `false` after the last.
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
