//! TENS, the binary tensor format of cc4s, versions 0x00010000 and 0x00009000.
//!
//! ```text
//! 0       header, 32 bytes: "TENS", version, number type, bytes per number, numbers per element, order N,
//!         flags, 0
//! 32      N dimensions, 8 bytes each: length, index name, flags, 0
//! 32+8N   0x00010000: chunks, the last of them DENSDATA or, without a head, the pairs    (chunk.rs)
//!         0x00009000: the elements, as cc4s and sisi4s write them
//! ```
//!
//! All integers of headers are little-endian. The specification leaves much open, and the programs that write the older
//! version do not follow the published one. Comments at the code say how each such case is read.
#![forbid(unsafe_code)]

mod chunk;
mod explain;
#[cfg(feature = "write")]
mod write;

pub use chunk::{Symmetry, TensChunk, TensChunks};
#[cfg(feature = "write")]
pub(super) use write::TensWriter;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{ComponentRecord, Context, Cursor, FileFormat, OneTensor, StoredElements, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, UNKNOWN, keywords};
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, Interrupted, ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::codec::sparse::{Column, Sparse};
use crate::error::origin::{Format, Part};
use crate::error::warning::Warning;
use crate::error::{Error, ErrorKind, Result};
use crate::types::element::Element;
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Layout, Order};

/// Section "Header".
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U32,
    number_type: [u8; 4],
    bytes_per_number: U32,
    numbers_per_element: U32,
    order: U32,
    flags: U32,
    reserved: U32,
}

/// Section "Dimension information".
#[derive(Debug, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DimensionHeader {
    length: U32,
    name: u8,
    flags: u8,
    reserved: U16,
}

const HEADER: u64 = 32;
const DIMENSION: u64 = 8;

/// The offsets of header fields that an error may refer to.
const VERSION_AT: u64 = 4;
const NUMBER_TYPE_AT: u64 = 8;
const BYTES_PER_NUMBER_AT: u64 = 12;
const NUMBERS_PER_ELEMENT_AT: u64 = 16;
const ORDER_AT: u64 = 20;
const FLAGS_AT: u64 = 24;

/// The published version, which has chunks.
const VERSION_1_0: u32 = 0x0001_0000;
/// The version that all known programs write, which has no chunks.
const VERSION_0_9: u32 = 0x0000_9000;

/// Tensor flag: the data is stored as index-value pairs.
const IX: u32 = 1;
/// Dimension flag: the dimension is sparse. Informational only.
const SP: u8 = 1;

/// The size of the largest accepted dimension table in bytes: 2^27 dimensions. This limit is our own.
const MAX_DIMENSIONS: u64 = 1 << 30;

/// The size in bytes of the global index before the value of a pair. The index is always little-endian.
const INDEX: u64 = 8;

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::Tens, item, at)
}

/// Stops opening with an error.
fn stop(opening: &ParseContext<'_>, kind: ErrorKind, item: Part, at: u64) -> Interrupted {
    opening.fail((kind, Format::Tens, item), at)
}

/// The dtypes that the header permits.
#[derive(Clone, Copy)]
struct Types {
    /// The dtype of an element; `None` if no number has that width.
    element: Option<DType>,
    order: ByteOrder,
    /// The dtype of a complex element if the header states the width of the whole element as the width of a number.
    halved: Option<DType>,
}

impl Types {
    fn of(opening: &ParseContext<'_>, header: &Header) -> ParseResult<Self> {
        let lanes = header.numbers_per_element.get();
        let kind = NUMBER_TYPES.number_of(&header.number_type);
        if kind == UNKNOWN {
            return Err(stop(opening, ErrorKind::NumberType, Part::NumberType, NUMBER_TYPE_AT));
        }
        if !matches!(lanes, 1 | 2 | 4 | 8) {
            return Err(stop(opening, ErrorKind::NumberCount, Part::NumberType, NUMBERS_PER_ELEMENT_AT));
        }
        let width = header.bytes_per_number.get();
        let number = DType::from_keyword(kind & !BIG).and_then(|smallest| smallest.widened_to(width));
        Ok(Self {
            element: number.and_then(|number| number.with_lanes(lanes)),
            order: if kind & BIG == 0 { ByteOrder::Little } else { ByteOrder::Big },
            halved: match (kind, lanes, width) {
                (FLOAT, 2, 16) => Some(DType::C128),
                (FLOAT, 2, 32) => DType::F128.with_lanes(2),
                _ => None,
            },
        })
    }
}

/// The smallest dtype of each number type, and a bit for big-endian. The specification's sentence on capitals mentions
/// only integers; all real files are little-endian.
const NUMBER_TYPES: Keywords = keywords![
    "uint": DType::U8.short_code(),
    "UINT": DType::U8.short_code() | BIG,
    "sint": DType::I8.short_code(),
    "SINT": DType::I8.short_code() | BIG,
    "IEEE": FLOAT,
];
const FLOAT: u8 = DType::F32.short_code();
const BIG: u8 = 0x80;

/// A TENS file: a single tensor, and the details that are specific to this format.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/tens/good/sym_1_anti.tens");
/// let file = tenslice::File::open(bytes)?;
/// let tens = file.as_tens().ok_or("another format")?;
/// for dimension in tens.dimensions() {
///     println!("{} has {} indices", dimension.name.escape_ascii(), dimension.length);
/// }
/// for symmetry in tens.chunks().filter_map(|chunk| chunk.symmetry()) {
///     println!("{}", symmetry.operation().escape_ascii());
/// }
/// let first: Option<f64> = tens.element(&vec![0; tens.dimensions().len()])?; // `None`: no pair gives it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TensFile<'a> {
    input: Input<'a>,
    /// The header and the dimensions.
    head: &'a [u8],
    version: u32,
    dtype: DType,
    byte_order: ByteOrder,
    layout: Layout,
    has_chunks: bool,
    warnings: u32,
    /// The elements, pairs or packed elements, without the head of their chunk.
    data: Extent,
}

/// Checks the headers of the dimensions; returns the number of elements.
fn check_dimensions(file: &mut TensFile<'_>, opening: &ParseContext<'_>) -> ParseResult<u64> {
    // Programs leave these bytes uninitialized. The specification of 1.0 requires zeros.
    let is_clean = |d: &DimensionHeader| d.flags & !SP == 0 && d.reserved.get() == 0;
    if file.version == VERSION_1_0 && !file.headers().all(is_clean) {
        file.warn(Warning::ReservedBytes);
    }
    file.shape().element_count().ok_or_else(|| stop(opening, ErrorKind::ShapeOverflow, Part::Shape, HEADER))
}

/// Accepts everything after the dimensions as the elements, as cc4s and sisi4s write them, if it has the length of the
/// elements or if no chunk begins there. Returns `false` if a chunk begins there.
fn raw(file: &mut TensFile<'_>, opening: &ParseContext<'_>, types: Types, volume: u64) -> ParseResult<bool> {
    let rest = file.data.length;
    let bytes = |dtype: DType| volume.checked_mul(dtype.byte_size());
    let stated = types.element.and_then(bytes);
    if stated != Some(rest) {
        // Since 2018, these programs state the full width of a complex number as the width of each of its two numbers.
        if let Some(halved) = types.halved.filter(|halved| bytes(*halved) == Some(rest)) {
            file.dtype = halved;
            file.warn(Warning::LegacyComplexWidth);
        } else if chunk::begins_with_known(file, opening, volume)? {
            return Ok(false);
        } else if types.element.is_none() {
            return Err(stop(opening, ErrorKind::NumberType, Part::NumberType, BYTES_PER_NUMBER_AT));
        } else {
            let Some(stated) = stated else {
                return Err(stop(opening, ErrorKind::ShapeOverflow, Part::Shape, HEADER));
            };
            if stated > rest {
                return Err(stop(opening, ErrorKind::Truncated, Part::Data, file.input.length()));
            }
            file.data.length = stated;
            file.warn(Warning::TrailingBytes);
        }
    }
    file.has_chunks = false;
    file.warn(Warning::LegacyLayout);
    Ok(true)
}

/// A dimension of a TENS file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The length of the dimension: the number of values of its index.
    pub length: u32,
    /// The name of the index: one byte. Most files use `b'a'` and so on, but any byte is allowed.
    pub name: u8,
    /// True if the file marks the dimension as sparse. Informational only. Never set for files of the older version,
    /// which leave the byte uninitialized.
    pub is_sparse: bool,
}

impl<'a> TensFile<'a> {
    fn warn(&mut self, warning: Warning) {
        self.warnings |= warning.bit();
    }

    /// Returns the headers of the dimensions.
    fn headers(&self) -> core::slice::Iter<'a, DimensionHeader> {
        let bytes = self.head.get(32..).unwrap_or_default();
        <[DimensionHeader]>::ref_from_bytes(bytes).unwrap_or_default().iter()
    }

    fn dimension_count(&self) -> u32 {
        u32::try_from(self.headers().len()).unwrap_or(u32::MAX)
    }

    /// Returns the version as stored in the header: 0x00010000 or 0x00009000.
    #[must_use]
    pub const fn version_number(&self) -> u32 {
        self.version
    }

    /// Returns the dimensions, fastest first: the first index changes from element to element.
    #[must_use]
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = Dimension> + use<'a> {
        let has_flags = self.version == VERSION_1_0;
        self.headers().map(move |header| Dimension {
            length: header.length.get(),
            name: header.name,
            is_sparse: has_flags && header.flags & SP != 0,
        })
    }

    /// Returns the variable chunks and the data chunk, in file order. There are none if the data directly follows the
    /// dimensions. For a file opened over a source, the chunks must be in memory: add them before opening.
    #[must_use]
    pub fn chunks(&self) -> TensChunks<'a> {
        TensChunks::new(self)
    }

    /// Returns the global index of an element: its position among all elements, column-major.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`.
    pub fn global_index(&self, index: &[u64]) -> Result<u64> {
        if index.len() != self.headers().len() {
            return Err(Error::new(ErrorKind::WrongRank));
        }
        let (mut place, mut stride) = (0_u64, 1_u64);
        for (i, header) in index.iter().zip(self.headers()) {
            let length = u64::from(header.length.get());
            if *i >= length {
                return Err(Error::new(ErrorKind::NoSuchElement));
            }
            // This cannot overflow: the number of elements was computed when the file was opened.
            place = place.saturating_add(i.saturating_mul(stride));
            stride = stride.saturating_mul(length);
        }
        Ok(place)
    }

    /// Returns the bytes of an element; `None` if the file stores pairs and none has this index, so the element is 0.
    /// With pairs, each call reads all of them; [`pairs`](Self::pairs) checks them once for many lookups.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`, `NotInMemory`; `UnsupportedLayout` for packed elements; `IndexOutOfRange` if the
    /// index of a pair is outside the tensor.
    pub fn element_bytes(&self, index: &[u64]) -> Result<Option<&'a [u8]>> {
        let place = self.global_index(index)?;
        match self.layout {
            Layout::Dense => {
                // This cannot overflow: the element is inside the data.
                let offset = self.data.offset.saturating_add(place.saturating_mul(self.dtype.byte_size()));
                self.get(Extent::new(offset, self.dtype.byte_size())).map(Some)
            }
            Layout::IndexValue => Ok(self.pairs()?.at(place)),
            _ => Err(self.error(ErrorKind::UnsupportedLayout)),
        }
    }

    /// Returns an element as a number, or as an array if it has several numbers; see
    /// [`element_bytes`](Self::element_bytes).
    ///
    /// # Errors
    /// The errors of [`element_bytes`](Self::element_bytes), `WrongType`.
    pub fn element<T: Element>(&self, index: &[u64]) -> Result<Option<T>> {
        if !T::reads(self.dtype) {
            return Err(fail(ErrorKind::WrongType, Part::DType, NUMBER_TYPE_AT));
        }
        Ok(self.element_bytes(index)?.and_then(|bytes| T::from_bytes(bytes, self.byte_order)))
    }

    /// Returns the index-value pairs, checked in one pass.
    ///
    /// # Errors
    /// `UnsupportedLayout` if the file stores no pairs; `IndexOutOfRange`, `NotInMemory`.
    pub fn pairs(&self) -> Result<Sparse<'a>> {
        self.pairs_in(self.get(self.data)?)
    }

    /// Does the same as [`pairs`](Self::pairs) with bytes that the caller has read from the extent of the component
    /// `pairs`.
    ///
    /// # Errors
    /// The errors of [`pairs`](Self::pairs), `WrongLength`.
    pub fn pairs_in<'b>(&self, bytes: &'b [u8]) -> Result<Sparse<'b>>
    where
        'a: 'b,
    {
        if self.layout != Layout::IndexValue {
            return Err(self.error(ErrorKind::UnsupportedLayout));
        }
        if to_u64(bytes.len()) != self.data.length {
            return Err(Error::new(ErrorKind::WrongLength));
        }
        let pairs = Sparse::pairs(self.shape(), Column::new(bytes, self.dtype, self.byte_order));
        let mut pairs = pairs.ok_or_else(|| self.error(ErrorKind::PackedLength))?;
        pairs.check(|kind| fail(kind, Part::Pairs, self.data.offset))?;
        Ok(pairs)
    }

    fn get(&self, extent: Extent) -> Result<&'a [u8]> {
        self.input.get(extent).ok_or(fail(ErrorKind::NotInMemory, Part::Data, extent.offset))
    }

    /// Returns the size of a pair in bytes.
    fn pair_size(&self) -> u64 {
        INDEX.saturating_add(self.dtype.byte_size())
    }
}

impl<'a> TensFile<'a> {
    fn shape(&self) -> Shape<'a> {
        Shape::new(self.head.get(32..).unwrap_or_default(), self.dimension_count(), read_dimension)
    }

    /// Returns an error of the tensor as a whole, which points to its data.
    fn error(&self, kind: ErrorKind) -> Error {
        fail(kind, Part::Tensor, self.data.offset)
    }
}

fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (header, rest) = DimensionHeader::ref_from_prefix(bytes).ok()?;
    Some((u64::from(header.length.get()), rest))
}

impl<'a> FileFormat<'a> for TensFile<'a> {
    const FORMAT: Format = Format::Tens;
    const HAS_SPARSE: bool = true;

    /// Checks everything except indices and values.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let input = opening.input;
        let length = input.length();
        let header: &Header = opening.read(0, (ErrorKind::Truncated, Format::Tens, Part::Header))?;
        let rest = length.saturating_sub(HEADER);
        let version = header.version.get();
        if version != VERSION_1_0 && version != VERSION_0_9 {
            let is_swapped = matches!(version.swap_bytes(), VERSION_1_0 | VERSION_0_9);
            let kind = if is_swapped { ErrorKind::ByteSwapped } else { ErrorKind::UnsupportedVersion };
            return Err(stop(opening, kind, Part::Version, VERSION_AT));
        }
        let types = Types::of(opening, header)?;
        if header.flags.get() & !IX != 0 {
            return Err(stop(opening, ErrorKind::UnknownFlags, Part::Flags, FLAGS_AT)); // may change the storage
        }
        let dimensions = u64::from(header.order.get()).saturating_mul(DIMENSION);
        if dimensions > rest {
            return Err(stop(opening, ErrorKind::CountTooLarge, Part::Header, ORDER_AT));
        }
        if dimensions > MAX_DIMENSIONS {
            return Err(stop(opening, ErrorKind::ManifestTooLarge, Part::Header, ORDER_AT));
        }
        let start = HEADER.saturating_add(dimensions);
        let mut file = Self {
            input,
            head: opening.keep(Extent::new(0, start))?,
            version,
            dtype: types.element.unwrap_or(DType::U8),
            byte_order: types.order,
            layout: if header.flags.get() & IX == 0 { Layout::Dense } else { Layout::IndexValue },
            has_chunks: true,
            warnings: 0,
            data: Extent::new(start, length.saturating_sub(start)),
        };
        if header.reserved.get() != 0 {
            file.warn(Warning::ReservedBytes);
        }
        let volume = match chunk::known_volume(opening) {
            Some(volume) => volume,
            None => check_dimensions(&mut file, opening)?,
        };
        if version == VERSION_0_9 && file.layout == Layout::Dense && raw(&mut file, opening, types, volume)? {
            return Ok(file);
        }
        if types.element.is_none() {
            return Err(stop(opening, ErrorKind::NumberType, Part::NumberType, BYTES_PER_NUMBER_AT));
        }
        if version == VERSION_0_9 {
            file.warn(Warning::LegacyVersion);
        }
        chunk::find_data(&mut file, opening, volume)?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary::of_one(self.warnings);
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some(if self.version == VERSION_1_0 { "1.0" } else { "0.9" })
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        tensor.dtype = Some(self.dtype);
        tensor.shape = self.shape();
        // Dense elements are stored by ascending global index. Pairs are materialized row-major, as all computed
        // layouts are.
        tensor.order = if self.layout == Layout::IndexValue { Order::RowMajor } else { Order::ColumnMajor };
        // With `self.layout`, the compiler would keep the names of all layouts.
        tensor.set_layout(match self.layout {
            Layout::IndexValue => Layout::IndexValue,
            Layout::Packed => Layout::Packed,
            _ => Layout::Dense,
        });
        tensor.warnings = self.warnings;
        tensor.at = self.data.offset;
        Ok(cursor.is_first())
    }

    fn next_component(
        &self,
        _: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let (role, dtype) = match self.layout {
            Layout::Dense => ("data", Some(self.dtype)),
            Layout::IndexValue => ("pairs", None), // indices and values have two different dtypes
            _ => ("packed", Some(self.dtype)),
        };
        part.role = Utf8::new(role);
        part.dtype = dtype;
        part.storage = Some(self.dtype);
        part.order = self.byte_order;
        part.set_extent(self.data);
        Ok(cursor.is_first())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl StoredElements for TensFile<'_> {}

impl OneTensor for TensFile<'_> {}
