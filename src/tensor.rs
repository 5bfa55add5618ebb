//! A tensor as every format shows it.
//!
//! Depends on `place`, `error`, `bytes`, `vocab`, `shape`, `sparse`, `decode`, `format`, `component`.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use crate::attributes::Attributes;
use crate::bytes::num::to_usize;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::codec::BuiltIn;
use crate::component::Component;
#[cfg(feature = "digest")]
use crate::component::Verification;
use crate::decode::Decoder;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{dispatch, map_each, one_of_each};
use crate::place::Format;
use crate::shape::Shape;
use crate::sparse::Sparse;
use crate::vocab::{DType, Encoding, Layout, Order};

/// A tensor of an open file: what it is, and the components that it is made of.
///
/// A value of at most 128 bytes that borrows from the file's bytes; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    input: Input<'a>,
    inner: Inner<'a>,
}

one_of_each! {
    /// The tensor of the format it comes from.
    pub(crate) Inner of Tensor
}

impl<'a> Tensor<'a> {
    pub(crate) const fn new(inner: Inner<'a>, input: Input<'a>) -> Self {
        Self { input, inner }
    }

    pub(crate) const fn inner_mut(&mut self) -> &mut Inner<'a> {
        &mut self.inner
    }

    /// Its name, which may be empty or hold any character.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name_text().as_str()
    }

    pub(crate) fn name_text(&self) -> Text<'a> {
        dispatch!(Inner &self.inner, tensor => tensor.name())
    }

    /// The type of its elements; `None` where the file does not say: that of `data` or `values`, of the values of
    /// pairs, of the numbers of a tensor train, else of the only component.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        dispatch!(Inner &self.inner, tensor => tensor.dtype())
    }

    /// Its dimensions, in the order of the file: the first is the outermost of a row-major array, the innermost of
    /// a column-major one.
    #[must_use]
    pub fn shape(&self) -> Shape<'a> {
        dispatch!(Inner &self.inner, tensor => tensor.shape())
    }

    /// The order of the elements, as they are stored in a dense array, or as [`read_into`](Self::read_into)
    /// writes them.
    #[must_use]
    pub fn order(&self) -> Order {
        dispatch!(Inner &self.inner, tensor => tensor.order())
    }

    /// How its components add up to it.
    #[must_use]
    pub fn layout(&self) -> Layout {
        dispatch!(Inner &self.inner, tensor => tensor.layout())
    }

    /// The name of the layout, as the file spells it.
    #[must_use]
    pub fn layout_name(&self) -> &'a str {
        self.layout_name_text().as_str()
    }

    pub(crate) fn layout_name_text(&self) -> Text<'a> {
        dispatch!(Inner &self.inner, tensor => tensor.layout_name())
    }

    #[cfg(feature = "blz")]
    #[allow(unreachable_patterns)] // in a build with one format
    const fn as_blz(&self) -> Option<&crate::format::blz::File<'a>> {
        match &self.inner {
            Inner::Single(tensor) => tensor.0.as_blz(),
            _ => None,
        }
    }

    #[cfg(feature = "b2nd")]
    #[allow(unreachable_patterns)] // in a build with one format
    const fn as_b2nd(&self) -> Option<&crate::format::b2nd::File<'a>> {
        match &self.inner {
            Inner::Single(tensor) => tensor.0.as_b2nd(),
            _ => None,
        }
    }

    /// The kind of file that it is in.
    fn format(&self) -> Format {
        dispatch!(Inner &self.inner, tensor => tensor.format())
    }

    /// Its place among the tensors of the file, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        dispatch!(Inner &self.inner, tensor => tensor.index())
    }

    /// What there is to warn of it, as bits: [`Warning::bit`](crate::Warning::bit) each. What takes a look at other
    /// tensors too, a repeated name, is among those of the file; in a format of one tensor those of the file are
    /// its own.
    #[must_use]
    pub fn warnings(&self) -> u32 {
        dispatch!(Inner &self.inner, tensor => tensor.warnings())
    }

    /// What else the file says about it.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(Inner &self.inner, tensor => tensor.attributes())
    }

    /// Its components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> Components<'a> {
        Components {
            input: self.input,
            format: self.format(),
            inner: map_each!(Inner &self.inner, tensor => InnerComponents tensor.components()),
        }
    }

    /// The first component of that role. Linear in the number of components.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn component(&self, role: &str) -> Result<Component<'a>> {
        let mut component = self.unread_component();
        self.component_into(role.as_bytes(), &mut component).map(|()| component)
    }

    /// A component of which nothing has been read yet.
    pub(crate) fn unread_component(&self) -> Component<'a> {
        Component::unread(self.input, self.format())
    }

    /// Reads the component into `component`, an unread one of this tensor: where it is to be, it is large for a chip.
    pub(crate) fn component_into(&self, role: &[u8], component: &mut Component<'a>) -> Result<()> {
        dispatch!(Inner &self.inner, tensor => tensor.part(role, component.part_mut()))
    }

    /// The component that holds a dense tensor, all of it.
    ///
    /// # Errors
    /// `NotDense` for any other layout.
    pub fn data(&self) -> Result<Component<'a>> {
        let mut component = self.unread_component();
        self.data_into(&mut component).map(|()| component)
    }

    /// The same into `component`, an unread one of this tensor.
    pub(crate) fn data_into(&self, component: &mut Component<'a>) -> Result<()> {
        if self.layout() != Layout::Dense {
            return Err(self.error(ErrorKind::NotDense));
        }
        self.component_into(b"data", component)
    }

    /// How far apart elements lie whose indices differ by one in a dimension, for each dimension: in elements
    /// of a dense tensor, or of what [`read_into`](Self::read_into) writes. They are put into `room`, which has
    /// as many places as there are dimensions.
    ///
    /// # Errors
    /// `TooSmall`; `ShapeOverflow` where a tensor without elements has lengths whose product exceeds 64 bits.
    pub fn strides<'r>(&self, room: &'r mut [u64]) -> Result<&'r mut [u64]> {
        let shape = self.shape();
        let room = to_usize(u64::from(shape.rank())).and_then(|rank| room.get_mut(..rank));
        let strides = room.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
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
    pub fn dense_len(&self) -> Option<u64> {
        #[cfg(feature = "b2nd")]
        if let Some(array) = self.as_b2nd() {
            return array.dense_len();
        }
        match self.layout() {
            Layout::Dense => self.data().ok()?.decoded_length(),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue | Layout::TensorTrain => {
                self.shape().elements()?.checked_mul(self.dtype()?.size())
            }
            _ => None,
        }
    }

    /// How much scratch memory [`read_into`](Self::read_into) and [`sparse`](Self::sparse) need, in bytes:
    /// what the encoded components of a sparse tensor decode to; the vectors along a tensor train; a block or
    /// two of an array in chunks, for which the headers of all chunks are read. `None` where the file does not say,
    /// where the tensor cannot be made dense, and where a chunk is broken or not in memory.
    #[must_use]
    pub fn scratch_len(&self) -> Option<u64> {
        #[cfg(feature = "blz")]
        if let Some(train) = self.as_blz() {
            return Some(train.scratch_len());
        }
        #[cfg(feature = "b2nd")]
        if let Some(array) = self.as_b2nd() {
            return array.scratch_for_all();
        }
        if self.layout() == Layout::Dense {
            return Some(0);
        }
        let roles = self.sparse_roles()?;
        let encoded = self.components().filter(|c| c.encoding() != Encoding::Raw && roles.contains(&c.role()));
        encoded.map(|component| component.decoded_length()).try_fold(0, |sum: u64, length| sum.checked_add(length?))
    }

    /// The tensor as a dense array in `room`, whatever its layout: in this machine's byte order, dense
    /// data in its [`order`](Self::order), all else row-major. The part written. An array in chunks stays in the
    /// byte order that it is stored in: that of its component.
    ///
    /// `room` has at least [`dense_len`](Self::dense_len) bytes, `scratch` [`scratch_len`](Self::scratch_len);
    /// where the file does not say, give some, and more after `TooSmall` or `OutOfScratch`.
    ///
    /// The work is of the order of the bytes read and written, but for two layouts: blocks of chunks are decoded as a
    /// whole ([`b2nd::File::work_len`](crate::b2nd::File::work_len) says how much that is), and what the elements of a
    /// tensor train take is said at [`blz::Train::slice`](crate::blz::Train::slice).
    ///
    /// # Errors
    /// `TooSmall`, then nothing was written where [`dense_len`](Self::dense_len) is known. `UnsupportedLayout`,
    /// those of [`sparse`](Self::sparse) and of [`Component::read_into`]; for chunks `UnsupportedCodec`,
    /// `UnsupportedFilter`, and what is wrong with them: `room` holds nothing of use then.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let tensor = file.find("csr_i32")?; // 5 rows of 6 columns, most of them zero
    /// let mut room = [0; 5 * 6 * 4];
    /// tensor.read_into(&mut room, &mut [])?;
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_into<'r>(&self, room: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.read_into_by(&mut BuiltIn::default(), room, scratch)
    }

    /// The same by a decoder of the caller's.
    ///
    /// # Errors
    /// Those of [`read_into`](Self::read_into).
    pub fn read_into_by<'r>(
        &self,
        decoder: &mut dyn Decoder,
        room: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        #[cfg(feature = "blz")]
        if let Some(train) = self.as_blz() {
            return train.contract(room, scratch);
        }
        #[cfg(feature = "b2nd")]
        if let Some(array) = self.as_b2nd() {
            return array.read_all(decoder, room, scratch);
        }
        match self.layout() {
            Layout::Dense => self.data()?.read_into_by(decoder, room),
            Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue => {
                let length = self.dense_len().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
                let room = to_usize(length).and_then(|length| room.get_mut(..length));
                let room = room.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
                let sparse = self.sparse_by(decoder, scratch)?;
                room.fill(0);
                sparse.scatter(room).ok_or_else(|| self.error(ErrorKind::IndexOutOfRange))?;
                Ok(room)
            }
            _ => Err(self.error(ErrorKind::UnsupportedLayout)),
        }
    }

    /// The indices and values of a sparse tensor, checked in one pass: linear in their number. `scratch`
    /// takes the components that are stored encoded, see [`scratch_len`](Self::scratch_len).
    ///
    /// # Errors
    /// `UnsupportedLayout` where it is not sparse. `RowPointers`, `IndexOutOfRange`, `CountMismatch`,
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
        self.sparse_by(&mut BuiltIn::default(), scratch)
    }

    /// The same by a decoder of the caller's.
    ///
    /// # Errors
    /// Those of [`sparse`](Self::sparse).
    pub fn sparse_by<'s>(&self, decoder: &mut dyn Decoder, mut scratch: &'s mut [u8]) -> Result<Sparse<'s>>
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

    /// The roles of the components that a sparse tensor is read from, in the order in which they are:
    /// values and indices, or one blob of both. `None` where it is not sparse.
    fn sparse_roles(&self) -> Option<&'static [&'static str]> {
        let is_packed = dispatch!(Inner &self.inner, tensor => tensor.is_packed());
        match (self.layout(), is_packed) {
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
        if self.sparse_roles().is_some() && self.scratch_len() == Some(0) {
            verified.warnings = self.sparse(&mut [])?.warnings();
        }
        Ok(verified)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        dispatch!(Inner &self.inner, tensor => tensor.error(kind))
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
    pub warnings: u32,
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
        self.warnings |= other.warnings;
    }
}

/// The components of a tensor. See [`Tensor::components`].
///
/// What they are was checked when the file was opened. Should the bytes have changed since, the iterator
/// ends early and [`error`](Self::error) says why.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    input: Input<'a>,
    format: Format,
    inner: InnerComponents<'a>,
}

one_of_each! { InnerComponents of Components }

impl Components<'_> {
    /// Why the iterator ended early: the bytes are not what they were when the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        dispatch!(InnerComponents &self.inner, components => components.error)
    }
}

impl<'a> Components<'a> {
    /// A component of which nothing has been read yet.
    pub(crate) fn unread(&self) -> Component<'a> {
        Component::unread(self.input, self.format)
    }

    /// Reads the next component into `component`, an unread one; `false` at the end.
    pub(crate) fn advance(&mut self, component: &mut Component<'a>) -> bool {
        dispatch!(InnerComponents &mut self.inner, components => components.advance(component.part_mut()))
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Component<'a>;

    fn next(&mut self) -> Option<Component<'a>> {
        let mut component = self.unread();
        self.advance(&mut component).then_some(component)
    }
}

impl FusedIterator for Components<'_> {}
