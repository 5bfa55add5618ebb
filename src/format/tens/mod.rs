//! TENS, the binary tensor format of cc4s, versions 0x00010000 and 0x00009000.
//!
//! Depends on `place`, `warning`, `error`, `bytes`, `vocab`, `shape`, `sparse`, `element`, and the contract of
//! `format`.
//!
//! ```text
//! 0       header, 32 bytes: "TENS", version, number type, bytes per number, numbers per element, order N,
//!         flags, 0
//! 32      N dimensions, 8 bytes each: length, index name, flags, 0
//! 32+8N   0x00010000: chunks, the last of them DENSDATA or, without a head, the pairs    (chunk.rs)
//!         0x00009000: the elements, as cc4s and sisi4s write them
//! ```
//!
//! All integers of headers are little-endian. The text leaves much open, and the programs that write the
//! older version follow another one than is published; what is made of that is said where it is done.
#![forbid(unsafe_code)]

mod chunk;
mod explain;

pub use chunk::{Symmetry, TensChunk, TensChunks};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{ComponentRecord, Context, Cursor, FileFormat, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, UNKNOWN, keywords};
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, Interrupted, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::place::{Format, Item};
use crate::shape::Shape;
use crate::sparse::{Column, Sparse};
use crate::vocab::{ByteOrder, DType, Layout, Order};
use crate::warning::{Warning, Warnings};

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

/// Where the fields of the header stand that an error may be about.
const VERSION_AT: u64 = 4;
const NUMBER_TYPE_AT: u64 = 8;
const BYTES_PER_NUMBER_AT: u64 = 12;
const NUMBERS_PER_ELEMENT_AT: u64 = 16;
const ORDER_AT: u64 = 20;
const FLAGS_AT: u64 = 24;

/// The published version: chunks.
const VERSION_1_0: u32 = 0x0001_0000;
/// The version of all known programs: no chunks.
const VERSION_0_9: u32 = 0x0000_9000;

/// Tensor flag: the data is stored in pairs of index and value.
const IX: u32 = 1;
/// Dimension flag: the dimension is sparse. For information only.
const SP: u8 = 1;

/// Larger headers are refused: a limit of ours, 2^27 dimensions.
const MAX_DIMENSIONS: u64 = 1 << 30;

/// What is stored in front of the value of a pair: its global index, always little-endian.
const INDEX: u64 = 8;

const fn fail(kind: ErrorKind, item: Item, at: u64) -> Error {
    Error::at(kind, Format::Tens, item, at)
}

/// Stops opening.
fn stop(opening: &ParseContext<'_>, kind: ErrorKind, item: Item, at: u64) -> Interrupted {
    opening.fail((kind, Format::Tens, item), at)
}

/// The types that the header announces.
#[derive(Clone, Copy)]
struct Types {
    /// That of an element; `None` where no number is that wide.
    element: Option<DType>,
    order: ByteOrder,
    /// That of a complex element, should the header state the width of all of it as that of a number.
    halved: Option<DType>,
}

impl Types {
    fn of(opening: &ParseContext<'_>, header: &Header) -> ParseResult<Self> {
        let lanes = header.numbers_per_element.get();
        let kind = NUMBER_TYPES.number_of(&header.number_type);
        if kind == UNKNOWN {
            return Err(stop(opening, ErrorKind::NumberType, Item::NumberType, NUMBER_TYPE_AT));
        }
        if !matches!(lanes, 1 | 2 | 4 | 8) {
            return Err(stop(opening, ErrorKind::NumberCount, Item::NumberType, NUMBERS_PER_ELEMENT_AT));
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

/// The smallest dtype of each type of numbers, and whether they are big-endian. The sentence on capitals names integers
/// alone; all real files are little-endian.
const NUMBER_TYPES: Keywords = keywords![
    "uint": DType::U8.short_code(),
    "UINT": DType::U8.short_code() | BIG,
    "sint": DType::I8.short_code(),
    "SINT": DType::I8.short_code() | BIG,
    "IEEE": FLOAT,
];
const FLOAT: u8 = DType::F32.short_code();
const BIG: u8 = 0x80;

/// A TENS file: the one tensor that it holds, and what only this format says of it.
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
    /// Elements, pairs or packed elements: without the head of their chunk.
    data: Extent,
}

/// Checks the headers of the dimensions; the number of elements.
fn check_dimensions(file: &mut TensFile<'_>, opening: &ParseContext<'_>) -> ParseResult<u64> {
    // Programs leave these bytes as they find them; the text of 1.0 has them 0.
    let is_clean = |d: &DimensionHeader| d.flags & !SP == 0 && d.reserved.get() == 0;
    if file.version == VERSION_1_0 && !file.headers().all(is_clean) {
        file.warn(Warning::ReservedBytes);
    }
    file.shape().element_count().ok_or_else(|| stop(opening, ErrorKind::ShapeOverflow, Item::Shape, HEADER))
}

/// Takes all that follows the dimensions for the elements, as cc4s and sisi4s write them: if it is as long as
/// they are, or if no chunk begins there. `false` where one does.
fn raw(file: &mut TensFile<'_>, opening: &ParseContext<'_>, types: Types, volume: u64) -> ParseResult<bool> {
    let rest = file.data.length;
    let bytes = |dtype: DType| volume.checked_mul(dtype.size());
    let stated = types.element.and_then(bytes);
    if stated != Some(rest) {
        // Since 2018 they state the width of a complex number as that of each of its two numbers.
        if let Some(halved) = types.halved.filter(|halved| bytes(*halved) == Some(rest)) {
            file.dtype = halved;
            file.warn(Warning::LegacyComplexWidth);
        } else if chunk::begins_with_known(file, opening, volume)? {
            return Ok(false);
        } else if types.element.is_none() {
            return Err(stop(opening, ErrorKind::NumberType, Item::NumberType, BYTES_PER_NUMBER_AT));
        } else {
            let Some(stated) = stated else {
                return Err(stop(opening, ErrorKind::ShapeOverflow, Item::Shape, HEADER));
            };
            if stated > rest {
                return Err(stop(opening, ErrorKind::Truncated, Item::Data, file.input.length()));
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
    /// How many indices it has.
    pub length: u32,
    /// The name of its index: one byte, `b'a'` and so on in most files, but it may be any.
    pub name: u8,
    /// Whether the file calls it sparse: for information only. Never in files of the older version, which
    /// leave that byte as they find it.
    pub is_sparse: bool,
}

impl<'a> TensFile<'a> {
    fn warn(&mut self, warning: Warning) {
        self.warnings |= warning.bit();
    }

    /// The headers of the dimensions.
    fn headers(&self) -> core::slice::Iter<'a, DimensionHeader> {
        let bytes = self.head.get(32..).unwrap_or_default();
        <[DimensionHeader]>::ref_from_bytes(bytes).unwrap_or_default().iter()
    }

    fn dimension_count(&self) -> u32 {
        u32::try_from(self.headers().len()).unwrap_or(u32::MAX)
    }

    /// The version as the header has it: 0x00010000 or 0x00009000.
    #[must_use]
    pub const fn version_number(&self) -> u32 {
        self.version
    }

    /// The dimensions, the fastest first: the index of the first one changes from element to element.
    #[must_use]
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = Dimension> + use<'a> {
        let has_flags = self.version == VERSION_1_0;
        self.headers().map(move |header| Dimension {
            length: header.length.get(),
            name: header.name,
            is_sparse: has_flags && header.flags & SP != 0,
        })
    }

    /// The variable chunks with the data chunk, in the order of the file; none where the data follows the
    /// dimensions. Of a file opened over a source the chunks have to be in memory: add them before it is opened.
    #[must_use]
    pub fn chunks(&self) -> TensChunks<'a> {
        TensChunks::new(self)
    }

    /// The global index of an element: its place among all elements, column-major.
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
            // No overflow: the volume has been computed when the file was opened.
            place = place.saturating_add(i.saturating_mul(stride));
            stride = stride.saturating_mul(length);
        }
        Ok(place)
    }

    /// The bytes of an element; `None` where the file stores pairs and none of them gives it: it is 0 then.
    /// With pairs all of them are read: [`pairs`](Self::pairs) checks them once for many look-ups.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`, `NotInMemory`; `UnsupportedLayout` for packed elements; `IndexOutOfRange` where a
    /// pair has no place in the tensor.
    pub fn element_bytes(&self, index: &[u64]) -> Result<Option<&'a [u8]>> {
        let place = self.global_index(index)?;
        match self.layout {
            Layout::Dense => {
                // Inside the data: no overflow.
                let offset = self.data.offset.saturating_add(place.saturating_mul(self.dtype.size()));
                self.get(Extent::new(offset, self.dtype.size())).map(Some)
            }
            Layout::IndexValue => Ok(self.pairs()?.at(place)),
            _ => Err(self.error(ErrorKind::UnsupportedLayout)),
        }
    }

    /// An element as a number, or as an array of several: see [`element_bytes`](Self::element_bytes).
    ///
    /// # Errors
    /// Those of [`element_bytes`](Self::element_bytes), `WrongType`.
    pub fn element<T: Element>(&self, index: &[u64]) -> Result<Option<T>> {
        if !T::reads(self.dtype) {
            return Err(fail(ErrorKind::WrongType, Item::DType, NUMBER_TYPE_AT));
        }
        Ok(self.element_bytes(index)?.and_then(|bytes| T::from_bytes(bytes, self.byte_order)))
    }

    /// The pairs of index and value, checked in one pass.
    ///
    /// # Errors
    /// `UnsupportedLayout` where the file stores none; `IndexOutOfRange`, `NotInMemory`.
    pub fn pairs(&self) -> Result<Sparse<'a>> {
        self.pairs_in(self.get(self.data)?)
    }

    /// The same over bytes that the caller read from the extent of the component `pairs`.
    ///
    /// # Errors
    /// Those of [`pairs`](Self::pairs), `WrongLength`.
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
        pairs.check(|kind| fail(kind, Item::Pairs, self.data.offset))?;
        Ok(pairs)
    }

    fn get(&self, extent: Extent) -> Result<&'a [u8]> {
        self.input.get(extent).ok_or(fail(ErrorKind::NotInMemory, Item::Data, extent.offset))
    }

    /// Bytes of a pair.
    fn pair_size(&self) -> u64 {
        INDEX.saturating_add(self.dtype.size())
    }
}

impl<'a> TensFile<'a> {
    fn shape(&self) -> Shape<'a> {
        Shape::new(self.head.get(32..).unwrap_or_default(), self.dimension_count(), read_dimension)
    }

    /// An error of the tensor as a whole: at its data.
    fn error(&self, kind: ErrorKind) -> Error {
        fail(kind, Item::Tensor, self.data.offset)
    }
}

fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (header, rest) = DimensionHeader::ref_from_prefix(bytes).ok()?;
    Some((u64::from(header.length.get()), rest))
}

impl<'a> FileFormat<'a> for TensFile<'a> {
    const FORMAT: Format = Format::Tens;

    /// Everything is checked when a file is opened but indices and values.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let input = opening.input;
        let length = input.length();
        let header: &Header = opening.read(0, (ErrorKind::Truncated, Format::Tens, Item::Header))?;
        let rest = length.saturating_sub(HEADER);
        let version = header.version.get();
        if version != VERSION_1_0 && version != VERSION_0_9 {
            let is_swapped = matches!(version.swap_bytes(), VERSION_1_0 | VERSION_0_9);
            let kind = if is_swapped { ErrorKind::ByteSwapped } else { ErrorKind::UnsupportedVersion };
            return Err(stop(opening, kind, Item::Version, VERSION_AT));
        }
        let types = Types::of(opening, header)?;
        if header.flags.get() & !IX != 0 {
            return Err(stop(opening, ErrorKind::UnknownFlags, Item::Flags, FLAGS_AT)); // they may change how data is stored
        }
        let dimensions = u64::from(header.order.get()).saturating_mul(DIMENSION);
        if dimensions > rest {
            return Err(stop(opening, ErrorKind::CountTooLarge, Item::Header, ORDER_AT));
        }
        if dimensions > MAX_DIMENSIONS {
            return Err(stop(opening, ErrorKind::ManifestTooLarge, Item::Header, ORDER_AT));
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
            return Err(stop(opening, ErrorKind::NumberType, Item::NumberType, BYTES_PER_NUMBER_AT));
        }
        if version == VERSION_0_9 {
            file.warn(Warning::LegacyVersion);
        }
        chunk::find_data(&mut file, opening, volume)?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary { warnings: Warnings::from_bits(self.warnings), tensor_count: 1 };
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn version(&self) -> Option<&'a str> {
        Some(if self.version == VERSION_1_0 { "1.0" } else { "0.9" })
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        tensor.dtype = Some(self.dtype);
        tensor.shape = self.shape();
        // Dense elements are stored by ascending global index; pairs are materialized as all computed layouts are.
        tensor.order = if self.layout == Layout::IndexValue { Order::RowMajor } else { Order::ColumnMajor };
        tensor.set_layout(self.layout);
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
            Layout::IndexValue => ("pairs", None), // indices and values: numbers of two types
            _ => ("packed", Some(self.dtype)),
        };
        part.role = Text::new(role);
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
