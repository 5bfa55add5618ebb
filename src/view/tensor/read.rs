//! Reads the elements of a tensor of any layout into the caller's memory.
#![forbid(unsafe_code)]

use zerocopy::IntoBytes;

use super::Tensor;
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::codec::sparse::Sparse;
#[cfg(feature = "ztensor2")]
use crate::error::origin::Format;
use crate::error::{ErrorKind, Result};
use crate::format::{Computed, HAS_DENSE, HAS_SPARSE, dispatch};
use crate::types::element::Element;
use crate::types::{ByteOrder, Encoding, Layout};
use crate::view::component::Component;

impl<'a> Tensor<'a> {
    /// Returns the scratch memory that [`read_into`](Self::read_into) needs, in bytes; see
    /// [`requirements`](Self::requirements).
    pub(crate) fn read_scratch(&self) -> Option<u64> {
        if self.layout() == Layout::Dense {
            return Some(0);
        }
        if self.sparse_roles().is_none() {
            return dispatch!(&self.file, file => file.whole_scratch(&self.record));
        }
        self.sparse_scratch()
    }

    /// Returns the scratch memory that [`sparse`](Self::sparse) needs, in bytes: the decoded size of the encoded
    /// components. `None` if the file does not state the size, or if the tensor is not sparse.
    pub(crate) fn sparse_scratch(&self) -> Option<u64> {
        let roles = self.sparse_roles()?;
        let mut encoded = self.encoded(roles).map(|component| component.decoded_length());
        encoded.try_fold(0, |sum: u64, length| sum.checked_add(length?))
    }

    /// Returns the components with one of the roles `roles` that are stored encoded.
    pub(super) fn encoded(&self, roles: &'static [&str]) -> impl Iterator<Item = Component<'a>> {
        self.components()
            .filter(|component| component.encoding() != Encoding::Raw && roles.contains(&component.role()))
    }

    /// Reads the tensor as a dense array into `dst`, whatever its layout, and returns the part of `dst` written.
    /// Elements are written in this machine's byte order, except elements of a chunked array, which keep the byte order
    /// of their component. Dense data keeps its [`order`](Self::order); all other layouts become row-major.
    ///
    /// [`requirements`](Self::requirements) returns the least lengths of `dst` and of the scratch memory. If the file
    /// does not state these lengths, try some length, and a larger one after `TooSmall` or `OutOfScratch`.
    ///
    /// The cost is proportional to the bytes read and written. For a sparse tensor this means its indices and values
    /// plus the length of the output, which the file does not bound. Two layouts cost more:
    ///
    /// - Chunked arrays: blocks are decoded as a whole; [`b2nd::Frame::work_length`](crate::b2nd::Frame::work_length)
    ///   returns the number of bytes decoded.
    /// - Tensor trains: [`blz::Train::slice`](crate::blz::Train::slice) states the cost.
    ///
    /// # Errors
    /// - `TooSmall`. If the length of the output is known, nothing was written.
    /// - `UnsupportedLayout`, and the errors of [`sparse`](Self::sparse) and [`Component::read_into`].
    /// - For chunked arrays `UnsupportedCodec`, `UnsupportedFilter`, and the errors of malformed chunks, after which
    ///   the contents of `dst` are unspecified.
    /// - `NoValues` if the values are in another file or must first be computed.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let tensor = file.find("csr_i32")?; // 5 rows of 6 columns, most of them zero
    /// let mut dst = [0; 5 * 6 * 4];
    /// tensor.read_into(&mut dst, tenslice::ReadOptions::new())?;
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[inline]
    pub fn read_into<'r>(&self, dst: &'r mut [u8], options: ReadOptions<'_>) -> Result<&'r mut [u8]> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.read_into_using(decoder, dst, scratch)
    }

    /// Reads the tensor as [`read_into`](Self::read_into) does, but as elements of type `T` that are always in this
    /// machine's byte order. Returns the part of `dst` written.
    ///
    /// # Errors
    /// `WrongType` if the elements have another type, and the errors of [`read_into`](Self::read_into).
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut numbers = [0_f32; 5 * 6];
    /// let numbers = file.find("csr_i32")?.read_elements(&mut numbers, tenslice::ReadOptions::new())?;
    /// println!("{numbers:?}");
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_elements<'d, T: Element>(&self, dst: &'d mut [T], options: ReadOptions<'_>) -> Result<&'d mut [T]> {
        let Some(dtype) = self.dtype().filter(|dtype| T::reads(*dtype)) else {
            return Err(self.refusal(ErrorKind::WrongType));
        };
        let written = self.read_into(dst.as_mut_bytes(), options)?;
        self.written_order().to_native(written, dtype);
        let count = to_u64(written.len()).wrapping_shr(dtype.log2_size());
        to_usize(count).and_then(|count| dst.get_mut(..count)).ok_or_else(|| self.error(ErrorKind::TooSmall))
    }

    /// Reads the tensor to a vector of elements of type `T`, as [`read_elements`](Self::read_elements) does, with the
    /// built-in decoders. Allocates the vector and the scratch memory.
    ///
    /// The file does not bound the length of a sparse tensor, a tensor train or a chunked array: a small file can
    /// demand any amount of memory. For untrusted files, check [`requirements`](Self::requirements) first.
    ///
    /// # Errors
    /// - `TooSmall` if the file does not state the number of elements, or if there is not enough memory for them;
    ///   `OutOfScratch` if there is not enough scratch memory.
    /// - The errors of [`read_elements`](Self::read_elements).
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let numbers = file.find("csr_i32")?.to_vec::<f32>()?;
    /// assert_eq!(numbers.len(), 5 * 6);
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn to_vec<T: Element>(&self) -> Result<std::vec::Vec<T>> {
        if !self.dtype().is_some_and(T::reads) {
            return Err(self.refusal(ErrorKind::WrongType));
        }
        let count = self.shape().element_count().and_then(to_usize);
        let mut elements = zeroed(count).ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        let scratch = self.read_scratch().and_then(to_usize);
        let mut scratch = zeroed(scratch).ok_or_else(|| self.error(ErrorKind::OutOfScratch))?;
        let length = self.read_elements(&mut elements, ReadOptions::new().scratch(&mut scratch))?.len();
        elements.truncate(length);
        Ok(elements)
    }

    pub(crate) fn read_into_using<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        match self.stored_layout() {
            Layout::Dense => self.data()?.read_into_using(decoder, dst),
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

    /// True if the tensor may be a chunked array or a compressed NPZ entry. A proxy of another array and a
    /// compressed NPZ entry have the layout `Other`. Builds without these formats omit the code for them.
    pub(super) const fn is_verified_as_a_whole(&self) -> bool {
        cfg!(any(feature = "b2nd", feature = "npz", feature = "onnx", feature = "tflite"))
            && matches!(self.record.layout, Layout::Chunked | Layout::Other)
    }

    #[inline(never)] // keeps this stack frame out of callers
    fn read_sparse<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let length = self.read_length().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        let sparse = self.sparse_using(decoder, scratch)?;
        dst.fill(0);
        sparse.scatter(dst).ok_or_else(|| self.error(ErrorKind::IndexOutOfRange))?;
        Ok(dst)
    }

    /// Returns the indices and values of a sparse tensor, checked in one pass: linear in their number. Encoded
    /// components are decoded into the scratch memory, whose length [`requirements`](Self::requirements) returns.
    ///
    /// # Errors
    /// - `UnsupportedLayout` if the tensor is not sparse, or if the dtype of its values is unknown or takes less than a
    ///   byte.
    /// - `InvalidRowPointers`, `IndexOutOfRange`, `CountMismatch`, `PackedLength`, and in zTensor 2 `IndexOrder`, if
    ///   the structure is invalid.
    /// - `OutOfScratch`, and the errors of [`Component::read_into`].
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// for entry in &file.find("csr_i32")?.sparse(tenslice::ReadOptions::new())? {
    ///     println!("({:?}, {:?}): {:?}", entry.index(0), entry.index(1), entry.value::<f32>());
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[inline]
    pub fn sparse<'s>(&self, options: ReadOptions<'s>) -> Result<Sparse<'s>>
    where
        'a: 's,
    {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.sparse_using(decoder, scratch)
    }

    pub(crate) fn sparse_using<'s>(&self, decoder: &mut dyn Decoder, mut scratch: &'s mut [u8]) -> Result<Sparse<'s>>
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
    /// layouts omit that code. Values of a sparse tensor are read one by one. If this is impossible because their dtype
    /// is unknown or takes less than a byte, returns `Other`.
    pub(super) const fn stored_layout(&self) -> Layout {
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
    pub(super) fn sparse_roles(&self) -> Option<&'static [&'static str]> {
        match (self.stored_layout(), self.record.is_packed) {
            (Layout::SparseCsr | Layout::SparseCoo, true) => Some(&["data"]),
            (Layout::SparseCsr, false) => Some(&["values", "indices", "indptr"]),
            (Layout::SparseCoo, false) => Some(&["values", "coords"]),
            (Layout::IndexValue, _) => Some(&["pairs"]),
            _ => None,
        }
    }
}

/// Returns `count` zeros; `None` if the count is unknown, or if there is not enough memory.
#[cfg(feature = "std")]
fn zeroed<T: Element>(count: Option<usize>) -> Option<std::vec::Vec<T>> {
    let mut all = std::vec::Vec::new();
    all.try_reserve_exact(count?).ok()?;
    all.resize(count?, T::new_zeroed());
    Some(all)
}
