//! A component: a named run of bytes; a tensor consists of one or more components.
#![forbid(unsafe_code)]

mod range;
mod verify;

pub use range::Caps;
pub use verify::Verification;

use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::Input;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
use crate::codec::decoder::{DecodeError, Decoder};
#[cfg(all(any(feature = "npz", feature = "pytorch"), feature = "crc32"))]
use crate::codec::digest::Digest;
use crate::codec::options::{Purpose, ReadOptions, Requirements};
use crate::codec::sparse::Column;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::ComponentRecord;
use crate::types::element::{Element, Elements, typed};
use crate::types::{ByteOrder, DType, Encoding};

/// A component of a tensor: its role, its place in the file, and methods to read it.
///
/// A value of at most 184 bytes that borrows the file's bytes. Copying a `Component` is cheap.
#[derive(Clone, Copy, Debug)]
pub struct Component<'a> {
    record: ComponentRecord<'a>,
    input: Input<'a>,
    format: Format,
    /// True if the input holds only the bytes of this component, not the file.
    is_bound: bool,
}

impl<'a> Component<'a> {
    /// Creates a blank component to read into.
    pub(crate) fn blank(input: Input<'a>, format: Format) -> Self {
        Self { record: ComponentRecord::blank(), input, format, is_bound: false }
    }

    pub(crate) const fn record_mut(&mut self) -> &mut ComponentRecord<'a> {
        &mut self.record
    }

    /// Returns the role of the component in the tensor, in the format's own terms: `data`, `values`, `indices`, …
    #[must_use]
    pub fn role(&self) -> &'a str {
        self.record.role().as_str()
    }

    #[cfg(feature = "capi")]
    pub(crate) fn role_text(&self) -> Utf8<'a> {
        self.record.role()
    }

    /// Returns the dtype of the elements; `None` if the format does not specify a dtype.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        self.record.dtype
    }

    /// Returns the dtype in which the elements are stored. It differs from [`dtype`](Self::dtype) if the file states a
    /// logical type, such as `f8_e4m3fn` over `u8`.
    #[must_use]
    pub const fn storage_dtype(&self) -> Option<DType> {
        self.record.storage
    }

    /// Returns the byte order of the elements.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.record.order
    }

    /// Returns the place of the stored bytes in the file, for a caller that reads them elsewhere. The range was checked
    /// to be inside the file.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.record.extent
    }

    /// Returns the encoding of the stored bytes.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.record.encoding
    }

    /// Returns the name of the encoding, as the file spells it.
    #[must_use]
    pub const fn encoding_name(&self) -> &'a str {
        self.record.encoding_name.as_str()
    }

    #[cfg(feature = "capi")]
    pub(crate) const fn encoding_name_text(&self) -> Utf8<'a> {
        self.record.encoding_name
    }

    /// Returns the decoded length in bytes; `None` if the file does not state it.
    #[must_use]
    pub const fn decoded_length(&self) -> Option<u64> {
        self.record.decoded_length
    }

    /// Returns the digest as the file spells it, such as `crc32c:0x1A2B3C4D`, without verifying it.
    #[must_use]
    pub const fn digest(&self) -> Option<&'a str> {
        match self.record.digest {
            Some(digest) => Some(digest.as_str()),
            None => None,
        }
    }

    #[cfg(feature = "capi")]
    pub(crate) const fn digest_text(&self) -> Option<Utf8<'a>> {
        self.record.digest
    }

    /// Returns the name of the shard that contains the bytes, if they are in another file. [`extent`](Self::extent) is
    /// then a place in the shard, and the component can be read after [`with_shard`](Self::with_shard) or
    /// [`with_bytes`](Self::with_bytes). Only zTensor 2, ONNX and TFLite have shards. In ONNX, the name is a path from the
    /// folder of the model, which never leads out of that folder.
    #[must_use]
    pub const fn shard(&self) -> Option<&'a str> {
        match self.shard_text() {
            Some(name) => Some(name.as_str()),
            None => None,
        }
    }

    pub(crate) const fn shard_text(&self) -> Option<Utf8<'a>> {
        #[cfg(any(feature = "ztensor2", feature = "onnx", feature = "tflite"))]
        return self.record.shard;
        #[cfg(not(any(feature = "ztensor2", feature = "onnx", feature = "tflite")))]
        None
    }

    /// Returns the bytes as stored, possibly encoded.
    ///
    /// # Errors
    /// - `InShard` if the bytes are in another file.
    /// - `NotInMemory` if the file was opened from a source and no segment contains all of the bytes: read
    ///   [`extent`](Self::extent) and use [`with_bytes`](Self::with_bytes) or
    ///   [`Tensor::with_source`](crate::Tensor::with_source).
    pub fn stored(&self) -> Result<&'a [u8]> {
        if !self.is_bound && self.shard_text().is_some() {
            return Err(self.error(ErrorKind::InShard, Part::Component));
        }
        let offset = if self.is_bound { 0 } else { self.record.extent.offset };
        let bytes = self.input.get(Extent::new(offset, self.record.extent.length));
        bytes.ok_or_else(|| self.error(ErrorKind::NotInMemory, Part::Component))
    }

    /// Returns the bytes without a copy: the elements in stored order, in the byte order of the file.
    ///
    /// # Errors
    /// `Encoded` if the bytes must be decoded first, `UnsupportedEncoding` if the library does not know the encoding,
    /// `InShard`, `NotInMemory`.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub fn bytes(&self) -> Result<&'a [u8]> {
        match self.record.encoding {
            Encoding::Raw => self.stored(),
            Encoding::Other => Err(self.error(ErrorKind::UnsupportedEncoding, Part::Encoding)),
            _ => Err(self.error(ErrorKind::Encoded, Part::Component)),
        }
    }

    /// Returns the elements as a slice, without a copy.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes), then `WrongType`, `ForeignEndian`, `PartialElement`, and `Misaligned` if
    /// the address of the bytes is not a multiple of `T`'s alignment. [`elements`](Self::elements) reads misaligned
    /// bytes, too.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let component = file.find("t.float64")?.data()?;
    /// match component.as_slice::<f64>() {
    ///     Ok(numbers) => println!("{} numbers where they lie", numbers.len()),
    ///     Err(error) => println!("{error}; one by one: {:?}", component.elements::<f64>()?.next()),
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        self.bytes_of::<T>()?;
        let bytes = self.aligned_bytes(align_of::<T>(), ByteOrder::NATIVE)?;
        typed(bytes).map_err(|kind| self.error(kind, Part::Component))
    }

    /// Returns the bytes if they are in the byte order `order` and their address is a multiple of `alignment`.
    /// Inlined: a program for a chip has one caller.
    #[inline(always)]
    pub(crate) fn aligned_bytes(&self, alignment: usize, order: ByteOrder) -> Result<&'a [u8]> {
        let bytes = self.bytes()?;
        let is_single = self.record.dtype.is_some_and(|dtype| dtype.lane_size() == 1);
        let (kind, item) = if !self.is_whole(bytes) {
            (ErrorKind::PartialElement, Part::Length)
        } else if self.record.order != order && !is_single {
            (ErrorKind::ForeignEndian, Part::ByteOrder)
        } else if !bytes.is_empty() && bytes.as_ptr().addr() & alignment.wrapping_sub(1) != 0 {
            (ErrorKind::Misaligned, Part::Component)
        } else {
            return Ok(bytes);
        };
        Err(self.error(kind, item))
    }

    /// Returns an iterator over the elements, whatever their alignment and byte order.
    ///
    /// # Errors
    /// The errors of [`bytes`](Self::bytes), then `WrongType`.
    pub fn elements<T: Element>(&self) -> Result<Elements<'a, T>> {
        Ok(Elements::new(self.bytes_of::<T>()?, self.record.order))
    }

    /// Decodes the elements into `dst`, in stored order and in this machine's byte order, and returns the part of `dst`
    /// written.
    ///
    /// `dst` must have at least [`decoded_length`](Self::decoded_length) bytes. If the file does not state that length,
    /// try some size, and a larger one after `TooSmall`. Linear in the stored bytes and in the written bytes, which
    /// never exceed `dst`. Needs no scratch memory.
    ///
    /// # Errors
    /// - `TooSmall`. If the length is known, nothing was written.
    /// - `UnsupportedEncoding`, `InShard`, `NotInMemory`.
    /// - `Encoded` for chunked arrays, which [`Tensor::read_into`](crate::Tensor::read_into) decodes.
    /// - `CorruptStream`, `InvalidSeekTable`, `InvalidFrame`, `DecodedLength`, `ChecksumMismatch`, `PartialElement`,
    ///   after which the contents of `dst` are unspecified.
    #[inline]
    pub fn read_into<'r>(&self, dst: &'r mut [u8], options: ReadOptions<'_>) -> Result<&'r mut [u8]> {
        self.read_into_using(options.parts(&mut BuiltIn::default()).0, dst)
    }

    pub(crate) fn read_into_using<'r>(&self, decoder: &mut dyn Decoder, dst: &'r mut [u8]) -> Result<&'r mut [u8]> {
        let fail = |kind| self.error(kind, Part::Component);
        let stored = self.decodable()?;
        let known = match self.record.decoded_length {
            Some(length) => Some(to_usize(length).ok_or_else(|| fail(ErrorKind::TooSmall))?),
            None => None,
        };
        let dst = match known {
            Some(length) => dst.get_mut(..length).ok_or_else(|| fail(ErrorKind::TooSmall))?,
            None => dst,
        };
        let length = match self.record.encoding {
            Encoding::Raw => {
                dst.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
                dst.len()
            }
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => self.read_frames(decoder, stored, dst)?,
            #[cfg(feature = "onnx")]
            encoding @ (Encoding::Varint | Encoding::Fixed) => {
                let dtype = self.record.dtype.ok_or_else(|| fail(ErrorKind::UnsupportedEncoding))?;
                self.record.numbers.decode(encoding, stored, dtype, dst).map_err(fail)?;
                dst.len()
            }
            encoding => decoder.decode(encoding, stored, dst).map_err(|error| match error {
                DecodeError::Malformed => fail(ErrorKind::CorruptStream),
                DecodeError::Checksum => fail(ErrorKind::ChecksumMismatch),
                DecodeError::Unsupported => self.error(ErrorKind::UnsupportedEncoding, Part::Encoding),
                DecodeError::DoesNotFit if known.is_some() => fail(ErrorKind::DecodedLength),
                DecodeError::DoesNotFit => fail(ErrorKind::TooSmall),
            })?,
        };
        if known.is_some_and(|known| known != length) {
            return Err(fail(ErrorKind::DecodedLength));
        }
        let decoded = dst.get_mut(..length).ok_or_else(|| fail(ErrorKind::DecodedLength))?;
        #[cfg(all(any(feature = "npz", feature = "pytorch"), feature = "crc32"))]
        if let (Some((sum, _)), true) = (self.record.crc32, self.record.encoding != Encoding::Raw) {
            if !Digest::Crc32(sum).is_of(decoded) {
                return Err(fail(ErrorKind::ChecksumMismatch));
            }
        }
        if let Some(dtype) = self.record.dtype {
            if !dtype.is_whole(to_u64(length)) {
                return Err(fail(ErrorKind::PartialElement));
            }
            self.record.order.to_native(decoded, dtype);
        }
        Ok(decoded)
    }

    /// Returns the memory that a call needs: for [`Read`](Purpose::Read), [`ReadRange`](Purpose::ReadRange) and
    /// [`Verify`](Purpose::Verify). A component has no other calls.
    ///
    /// - `Read`: the [decoded length](Self::decoded_length), and no scratch memory.
    /// - `ReadRange`: no scratch memory for raw bytes, otherwise the decoded size of the largest frame, at most 16 MiB.
    ///   `None` if no range can be read: another encoding, bytes that are not in memory, or an invalid table of frames.
    /// - `Verify`: no scratch memory if the digest covers the bytes as stored, otherwise the decoded size of the
    ///   largest frame, at most 16 MiB. `None` if the component cannot be verified: its bytes are not in memory, the
    ///   table of frames is invalid, or the kind of digest is not built in.
    ///
    /// Linear in the size of the table of frames.
    #[must_use]
    #[inline]
    pub fn requirements(&self, purpose: Purpose) -> Requirements {
        match purpose {
            Purpose::Read => Requirements { output: self.decoded_length(), scratch: Some(0) },
            Purpose::ReadRange => Requirements { output: None, scratch: self.range_scratch() },
            Purpose::Verify => Requirements::of_scratch(self.verify_scratch()),
            _ => Requirements::UNKNOWN,
        }
    }

    /// Returns the stored bytes, if [`read_into`](Self::read_into) can decode their encoding.
    fn decodable(&self) -> Result<&'a [u8]> {
        match self.record.encoding {
            Encoding::Other => Err(self.error(ErrorKind::UnsupportedEncoding, Part::Encoding)),
            Encoding::Blosc => Err(self.error(ErrorKind::Encoded, Part::Component)),
            _ => self.stored(),
        }
    }

    /// Returns this component over `bytes`, which the caller read from [`extent`](Self::extent).
    ///
    /// # Errors
    /// `WrongLength` if `bytes` has another length.
    pub fn with_bytes<'b>(&self, bytes: &'b [u8]) -> Result<Component<'b>>
    where
        'a: 'b,
    {
        if to_u64(bytes.len()) != self.record.extent.length {
            return Err(self.error(ErrorKind::WrongLength, Part::Component));
        }
        Ok(Component { record: self.record, input: bytes.into(), format: self.format, is_bound: true })
    }

    /// Returns this component over its bytes in `shard`, the complete file named by [`shard`](Self::shard). Constant
    /// cost: the shard is not compared with its description in the file. The format's own view compares it, in zTensor
    /// 2 `check_shard`: call that once before binding components.
    ///
    /// # Errors
    /// `NotInShard`. `OutOfFile` if the shard is too short.
    pub fn with_shard<'b>(&self, shard: &'b [u8]) -> Result<Component<'b>>
    where
        'a: 'b,
    {
        if self.shard_text().is_none() {
            return Err(self.error(ErrorKind::NotInShard, Part::Component));
        }
        let bytes = self.record.extent.of(shard, 0);
        let bytes = bytes.ok_or_else(|| self.error(ErrorKind::OutOfFile, Part::Shard))?;
        Ok(Component { record: self.record, input: bytes.into(), format: self.format, is_bound: true })
    }

    /// Returns the elements as a column of numbers. If they are stored encoded, they are decoded to the front of
    /// `scratch`, which is then shortened to the remainder.
    pub(crate) fn column<'s>(&self, decoder: &mut dyn Decoder, scratch: &mut &'s mut [u8]) -> Result<Column<'s>>
    where
        'a: 's,
    {
        // A blob that also holds indices has no dtype of its own, but its values have a dtype.
        let dtype = self.record.dtype.or(self.record.storage);
        let Some(dtype) = dtype else { return Err(self.error(ErrorKind::WrongType, Part::DType)) };
        let is_native = self.record.encoding != Encoding::Raw && self.record.dtype.is_some();
        let order = if is_native { ByteOrder::NATIVE } else { self.record.order };
        Ok(Column::new(self.decoded(decoder, scratch)?, dtype, order))
    }

    /// Returns the bytes. If they are stored encoded, they are decoded to the front of `scratch`, in this machine's
    /// byte order, and `scratch` is shortened to the remainder.
    pub(crate) fn decoded<'s>(&self, decoder: &mut dyn Decoder, scratch: &mut &'s mut [u8]) -> Result<&'s [u8]>
    where
        'a: 's,
    {
        if self.record.encoding == Encoding::Raw {
            return self.whole_bytes();
        }
        let out_of_scratch = |kind| match kind {
            ErrorKind::TooSmall => ErrorKind::OutOfScratch,
            other => other,
        };
        let dst = core::mem::take(scratch);
        let length = match self.read_into_using(decoder, dst) {
            Ok(decoded) => decoded.len(),
            Err(error) => return Err(self.error(out_of_scratch(error.kind()), error.part())),
        };
        let parts = dst.split_at_mut_checked(length);
        let (decoded, rest) = parts.ok_or_else(|| self.error(ErrorKind::OutOfScratch, Part::Component))?;
        *scratch = rest;
        Ok(decoded)
    }

    fn bytes_of<T: Element>(&self) -> Result<&'a [u8]> {
        if !self.record.dtype.is_some_and(T::reads) {
            return Err(self.error(ErrorKind::WrongType, Part::DType));
        }
        self.whole_bytes()
    }

    /// Returns the bytes if they are a whole number of elements.
    fn whole_bytes(&self) -> Result<&'a [u8]> {
        let bytes = self.bytes()?;
        if self.is_whole(bytes) { Ok(bytes) } else { Err(self.error(ErrorKind::PartialElement, Part::Length)) }
    }

    fn is_whole(&self, bytes: &[u8]) -> bool {
        self.record.dtype.is_none_or(|dtype| dtype.is_whole(to_u64(bytes.len())))
    }

    /// Creates an error of this component, at the position of its record.
    #[cold]
    #[inline(never)]
    pub(crate) fn error(&self, kind: ErrorKind, item: Part) -> Error {
        Error::at(kind, self.format, item, self.record.at).after_entry(self.record.entry_distance)
    }
}

#[cfg(all(test, feature = "ztensor2", feature = "digest"))]
mod tests;
