//! A component: a named run of bytes that a tensor is made of.
//!
//! Depends on `error`, `bytes`, `vocab`, `element`, `format`.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::Input;
use crate::element::{Element, Elements, typed};
use crate::error::{Error, ErrorKind, Format, Item, Result};
use crate::format::Part;
use crate::vocab::{ByteOrder, DType, Encoding};

/// A component of a tensor: its role, its place in the file, and how to read it.
///
/// A value of at most 128 bytes that borrows from the file's bytes; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct Component<'a> {
    part: Part<'a>,
    input: Input<'a>,
    format: Format,
    /// Whether the input is not the file but just the bytes of this component.
    is_bound: bool,
}

impl<'a> Component<'a> {
    pub(crate) const fn new(part: Part<'a>, input: Input<'a>, format: Format) -> Self {
        Self { part, input, format, is_bound: false }
    }

    /// What it is to its tensor, in the format's own words: `data`, `values`, `indices`, …
    #[must_use]
    pub const fn role(&self) -> &'a str {
        self.part.role
    }

    /// The type of its elements; `None` where the format does not say.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        self.part.dtype
    }

    /// The type that its elements are stored as: differs from [`dtype`](Self::dtype) where the file states
    /// a logical type, as for `f8_e4m3fn` over `u8`.
    #[must_use]
    pub const fn storage_dtype(&self) -> Option<DType> {
        self.part.storage
    }

    /// The byte order of its elements.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.part.order
    }

    /// Where its bytes are stored: for a caller who reads them from elsewhere. Inside the file, as checked.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.part.extent
    }

    /// How its bytes are stored.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.part.encoding
    }

    /// The name of the encoding, as the file spells it.
    #[must_use]
    pub const fn encoding_name(&self) -> &'a str {
        self.part.encoding_name
    }

    /// How many bytes it decodes to; `None` where the file does not say.
    #[must_use]
    pub const fn decoded_length(&self) -> Option<u64> {
        self.part.decoded_length
    }

    /// Its digest as the file spells it, such as `crc32c:0x1A2B3C4D`; not verified.
    #[must_use]
    pub const fn digest(&self) -> Option<&'a str> {
        self.part.digest
    }

    /// Its bytes as they are stored, perhaps encoded.
    ///
    /// # Errors
    /// `NotInMemory` where the file was opened over a source of which no segment has them all: read
    /// [`extent`](Self::extent) and use [`with_bytes`](Self::with_bytes).
    pub fn stored(&self) -> Result<&'a [u8]> {
        let offset = if self.is_bound { 0 } else { self.part.extent.offset };
        let bytes = self.input.get(Extent::new(offset, self.part.extent.length));
        bytes.ok_or_else(|| self.error(ErrorKind::NotInMemory, Item::Component))
    }

    /// Its bytes, without a copy: the elements in stored order, in the byte order of the file.
    ///
    /// # Errors
    /// `Encoded` where it has to be decoded first, `UnsupportedEncoding` where nobody here can, `NotInMemory`.
    pub fn bytes(&self) -> Result<&'a [u8]> {
        match self.part.encoding {
            Encoding::Raw => self.stored(),
            Encoding::Zstd => Err(self.error(ErrorKind::Encoded, Item::Component)),
            Encoding::Other => Err(self.error(ErrorKind::UnsupportedEncoding, Item::Encoding)),
        }
    }

    /// Its elements as a slice, without a copy.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes), then `WrongType`, `ForeignEndian`, `NotWhole`, and `Misaligned`
    /// where the bytes do not lie at a multiple of `T`'s alignment in memory. [`elements`](Self::elements)
    /// reads those.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt");
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
        let bytes = self.aligned_bytes(align_of::<T>())?;
        typed(bytes).map_err(|kind| self.error(kind, Item::Component))
    }

    /// Its bytes, in this machine's byte order, at a multiple of `alignment` in memory.
    pub(crate) fn aligned_bytes(&self, alignment: usize) -> Result<&'a [u8]> {
        let bytes = self.bytes()?;
        let is_single = self.part.dtype.is_some_and(|dtype| dtype.size() == 1);
        if self.part.order != ByteOrder::NATIVE && !is_single {
            return Err(self.error(ErrorKind::ForeignEndian, Item::ByteOrder));
        }
        if !bytes.is_empty() && bytes.as_ptr().addr() & alignment.wrapping_sub(1) != 0 {
            return Err(self.error(ErrorKind::Misaligned, Item::Component));
        }
        Ok(bytes)
    }

    /// Its elements one by one, whatever their alignment and byte order.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes), then `WrongType`.
    pub fn elements<T: Element>(&self) -> Result<Elements<'a, T>> {
        Ok(Elements::new(self.bytes_of::<T>()?, self.part.order))
    }

    /// The same component over bytes that the caller read from [`extent`](Self::extent).
    ///
    /// # Errors
    /// `WrongLength` where they are not as many.
    pub fn with_bytes<'b>(&self, bytes: &'b [u8]) -> Result<Component<'b>>
    where
        'a: 'b,
    {
        if to_u64(bytes.len()) != self.part.extent.length {
            return Err(self.error(ErrorKind::WrongLength, Item::Component));
        }
        Ok(Component { part: self.part, input: bytes.into(), format: self.format, is_bound: true })
    }

    fn bytes_of<T: Element>(&self) -> Result<&'a [u8]> {
        if !self.part.dtype.is_some_and(T::reads) {
            return Err(self.error(ErrorKind::WrongType, Item::DType));
        }
        self.bytes()
    }

    /// An error of this component: at its record.
    pub(crate) fn error(&self, kind: ErrorKind, item: Item) -> Error {
        Error::at(kind, self.format, item, self.part.at).behind(self.part.back)
    }
}
