//! Blosc2 contiguous frames, and the arrays that their `b2nd` metalayer describes.
//!
//! ```text
//! 0        header: 87 bytes, then metalayers                                       (frame.rs, array.rs)
//!          chunks, in any order and with gaps: blocks, each of one or more streams (chunk.rs, block.rs)
//!          a chunk that has the offsets of the chunks; not in a frame without any  (offsets.rs)
//!          trailer: more metalayers, each a chunk of its own                       (frame.rs)
//! ```
//!
//! The specification describes the metalayer. This module reads frames and chunks as c-blosc2 writes them, but rejects
//! input that c-blosc2 reads and no writer produces, such as arbitrary bytes for MessagePack markers.
#![forbid(unsafe_code)]

mod array;
mod block;
mod chunk;
mod cost;
mod explain;
mod frame;
mod grid;
mod lookup;
mod offsets;
mod region;
mod values;
#[cfg(feature = "write")]
mod write;

pub use chunk::{Chunk, Content, codec_name, filter_name};
pub use frame::{Metalayer, Metalayers};
#[cfg(feature = "write")]
pub(super) use write::B2ndWriter;

use super::{ComponentRecord, Computed, Context, Cursor, FileFormat, OneTensor, Stated, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::num::{count_of, to_u64};
use crate::bytes::source::{Input, Interrupted, ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::codec::decoder::Decoder;
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Encoding, Layout};

use array::Array;
use chunk::Setting;
use frame::{Header, Parts};
use offsets::Offsets;
use values::Values;

/// The largest number of dimensions of an array.
pub const MAX_RANK: usize = 16;

/// The number of chunks that verifying a tensor looks up at most; they take less than a second.
const MOST_VERIFIED: u64 = 1 << 24;

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::B2nd, item, at)
}

/// Stops opening with an error.
fn stop(opening: &ParseContext<'_>, kind: ErrorKind, item: Part, at: u64) -> Interrupted {
    opening.fail((kind, Format::B2nd, item), at)
}

/// A Blosc2 frame. It holds one array or, without an array, the concatenated bytes of its chunks.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/b2nd/good/default_f4_0.b2nd");
/// let file = tenslice::File::open(bytes)?;
/// let frame = file.as_b2nd().ok_or("another format")?;
/// println!("{:?} of {} in chunks of {:?}", frame.dtype_text(), frame.shape(), frame.chunk_shape());
/// for metalayer in frame.metalayers() {
///     println!("{}: {} bytes", metalayer.name, metalayer.content.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    input: Input<'a>,
    parts: Parts<'a>,
    /// The array; `None` in a frame of bytes.
    array: Option<Array<'a>>,
    /// The dtype of the array; `None` if its size differs from the element size. `u8` in a frame without an array.
    dtype: Option<DType>,
    byte_order: ByteOrder,
    version: u8,
    /// The element size in bytes that filters use. For an array, this is the actual element size, because some writers
    /// put 1 in the header.
    typesize: u32,
    chunk_count: u32,
    warnings: u32,
    values: Values,
}

/// The settings in the header of a frame: the writer's defaults. Each chunk has its own codec, filters and block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The version of the frame: 1, 2 or 3.
    pub version: u8,
    /// The codec: see [`codec_name`].
    pub codec: u8,
    /// The compression level: 0 to 9.
    pub level: u8,
    /// The filters in the order in which they are applied, 0 for none: see [`filter_name`].
    pub filters: [u8; 6],
    /// The parameter of each filter, such as the width of a shuffle.
    pub filters_meta: [u8; 6],
    /// The size of an element in bytes, as in the header. In a frame without an array, this is the element size. For an
    /// array, see [`Frame::item_size`]: some writers put 1 here if elements have more than 255 bytes.
    pub typesize: u64,
    /// The size of a block in bytes; 0 if each chunk states its own.
    pub block_size: u64,
    /// The decoded size of a chunk in bytes; 0 if chunks differ in length.
    pub chunk_size: u64,
    /// The decoded size of all chunks in bytes, including the padding of arrays.
    pub decoded: u64,
    /// The stored size of all chunks in bytes.
    pub stored: u64,
    /// True if chunks may have dictionaries.
    pub has_dictionary: bool,
}

impl<'a> Frame<'a> {
    /// Returns true if the frame holds an array; if not, [`shape`](Self::shape) is the number of bytes.
    #[must_use]
    pub const fn is_array(&self) -> bool {
        self.array.is_some()
    }

    /// Returns the shape of the array; without an array, a single dimension: the number of bytes.
    #[must_use]
    pub fn shape(&self) -> Shape<'a> {
        self.array.map_or_else(|| array::plain_shape(self.parts.header), |array| array.shape())
    }

    /// Returns the shape of the chunks, which may extend past the end of the array; `None` without an array.
    #[must_use]
    pub fn chunk_shape(&self) -> Option<Shape<'a>> {
        self.array.map(|array| array.chunk_shape())
    }

    /// Returns the shape of the blocks, which may extend past the end of their chunk; `None` without an array.
    #[must_use]
    pub fn block_shape(&self) -> Option<Shape<'a>> {
        self.array.map(|array| array.block_shape())
    }

    /// Returns the size of an element in bytes; 1 without an array.
    #[must_use]
    pub fn item_size(&self) -> u64 {
        if self.is_array() { u64::from(self.typesize) } else { 1 }
    }

    /// Returns the dtype of the array as the file spells it, such as `<f4` or `[('x', '<i2'), ('y', '<f8')]`. Returns
    /// `None` if the file states no dtype, or states it in a notation other than NumPy's. The dtype may disagree with
    /// [`item_size`](Self::item_size), which takes precedence.
    #[must_use]
    pub fn dtype_text(&self) -> Option<&'a str> {
        self.dtype_bytes().map(Utf8::as_str)
    }

    fn dtype_bytes(&self) -> Option<Utf8<'a>> {
        let (format, text) = self.array?.dtype()?;
        (format == 0).then_some(text)
    }

    /// Returns the settings in the header.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        let header = Header::of(self.parts.header);
        let of = |f: fn(&Header) -> u8| header.map_or(0, f);
        Defaults {
            version: of(Header::version),
            // Codec 6 is user-defined; its number is in another field.
            codec: match of(|header| header.codec_flags & 0x0f) {
                6 => of(|header| header.codec),
                codec => codec,
            },
            level: of(|header| header.codec_flags >> 4),
            filters: header.map_or([0; 6], |header| header.filters),
            filters_meta: header.map_or([0; 6], |header| header.filters_meta),
            typesize: self.parts.number(Header::typesize),
            block_size: self.parts.number(Header::blocksize),
            chunk_size: self.chunksize(),
            decoded: self.nbytes(),
            stored: self.parts.number(Header::cbytes),
            has_dictionary: of(|header| header.other_flags2) & 1 != 0,
        }
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn chunk_count(&self) -> u64 {
        u64::from(self.chunk_count)
    }

    /// Returns the metalayers of the header, including the one that describes the array.
    #[must_use]
    pub fn metalayers(&self) -> Metalayers<'a> {
        self.parts.metalayers()
    }

    /// Returns the variable-length metalayers (vlmeta) of the trailer, such as user attributes. Their contents are
    /// chunks: see [`variable_metalayer`](Self::variable_metalayer).
    #[must_use]
    pub fn variable_metalayers(&self) -> Metalayers<'a> {
        self.parts.variable_metalayers(self.input)
    }

    /// Returns the content of a metalayer of the trailer, as a chunk to decode.
    ///
    /// # Errors
    /// The errors of an invalid chunk.
    pub fn variable_metalayer(&self, metalayer: &Metalayer<'a>) -> Result<Chunk<'a>> {
        let Extent { offset, length } = metalayer.extent;
        let chunk = Chunk::read(self.setting(offset.saturating_add(length)), 0, offset)?;
        match chunk.extent() {
            Some(extent) if extent.length == length => Ok(chunk),
            _ => Err(fail(ErrorKind::ChunkSize, Part::Metalayer, offset)),
        }
    }

    /// Returns the extent of all chunks, including any gaps between them.
    fn region(&self) -> Extent {
        Extent::new(to_u64(self.parts.header.len()), self.parts.number(Header::cbytes))
    }

    /// Returns the offset of the chunk that holds the table of offsets.
    fn table_at(&self) -> u64 {
        let Extent { offset, length } = self.region();
        offset.saturating_add(length)
    }

    /// Returns the decoded size of all chunks in bytes. `chunksize` is the size of each chunk; 0 if chunks differ in
    /// length.
    fn nbytes(&self) -> u64 {
        self.parts.number(Header::nbytes)
    }

    fn chunksize(&self) -> u64 {
        self.parts.number(Header::chunksize)
    }

    fn setting(&self, end: u64) -> Setting<'a> {
        Setting { input: self.input, typesize: self.typesize, end }
    }

    fn offsets(&self) -> Result<Offsets<'a>> {
        Ok(Offsets::new(Chunk::read(self.setting(self.parts.trailer_at), 0, self.table_at())?))
    }

    /// Returns the decoded size of the largest possible chunk in bytes.
    fn largest_chunk(&self) -> u64 {
        if self.chunksize() > 0 { self.chunksize() } else { self.nbytes() }
    }

    /// Fails with `NoValues` if no chunk has values, or if a proxy does not record which values were fetched.
    fn check_values(&self) -> Result<()> {
        if self.values == Values::Fetched && self.parts.are_mixed(self.input) {
            return Err(fail(ErrorKind::NoValues, Part::Component, self.region().offset));
        }
        self.no_values().map_or(Ok(()), Err)
    }

    /// Returns the error of an array whose values are not in the file; `None` if some may be, such as those that a
    /// proxy has fetched.
    pub(crate) fn no_values(&self) -> Option<Error> {
        (self.values == Values::Lazy).then(|| self.error(ErrorKind::NoValues))
    }

    /// Fails with `NoValues` if `content`, stated at `at`, is that of a chunk that a proxy has not fetched. A
    /// placeholder looks like a fetched chunk that contains only zeros, so both are rejected.
    fn check_fetched(&self, content: Content, at: u64) -> Result<()> {
        let is_missing = matches!(content, Content::Zeros | Content::Uninitialised);
        if self.values == Values::Fetched && is_missing {
            return Err(fail(ErrorKind::NoValues, Part::Chunk, at));
        }
        Ok(())
    }
}

impl Frame<'_> {
    /// Returns an error of the tensor as a whole, which points to its chunks.
    fn error(&self, kind: ErrorKind) -> Error {
        fail(kind, Part::Tensor, self.region().offset)
    }
}

/// Returns the version of a frame as text.
const fn version(version: u8) -> Option<&'static str> {
    match version {
        1 => Some("1"),
        2 => Some("2"),
        3 => Some("3"),
        _ => None,
    }
}

impl<'a> FileFormat<'a> for Frame<'a> {
    const FORMAT: Format = Format::B2nd;
    const HAS_DENSE: bool = false;

    /// Checks header, trailer and metalayers, and the region of the chunks. The table of offsets and the chunks are
    /// checked when they are read.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (parts, values) = frame::open(opening)?;
        let array = array::of(opening, &parts)?;
        let (version, typesize) =
            Header::of(parts.header).map_or((0, 0), |header| (header.version(), header.short_typesize()));
        let mut file = Self {
            input: opening.input,
            parts,
            array: array.map(|(array, _)| array),
            dtype: Some(DType::U8),
            byte_order: ByteOrder::NATIVE,
            version,
            typesize,
            chunk_count: 0,
            warnings: 0,
            values,
        };
        if file.values == Values::Lazy {
            file.warnings = Warning::UnreadableTensor.bit();
        }
        if let Some((_, item_size)) = array {
            file.typesize = item_size;
            // The size of the dtype may differ from the element size.
            let dtype = file
                .dtype_bytes()
                .and_then(|text| from_numpy(text.bytes()))
                .filter(|(dtype, _)| dtype.byte_size() == file.item_size());
            file.dtype = dtype.map(|(dtype, _)| dtype);
            file.byte_order = dtype.map_or(ByteOrder::NATIVE, |(_, order)| order);
        }
        let (nbytes, chunksize) = (file.nbytes(), file.chunksize());
        if nbytes > 0 {
            let count = (chunksize > 0).then(|| count_of(nbytes, chunksize));
            // Only the header of the table's chunk is needed. It is requested here in one piece.
            let at = file.table_at();
            let available = parts.trailer_at.saturating_sub(at);
            opening.keep(Extent::new(at, available.min(chunk::LONG)))?;
            let counted = offsets::count(file.setting(parts.trailer_at), at, count);
            file.chunk_count = counted.map_err(|error| opening.stop(error))?;
            // If chunks differ in length, some may be empty. More chunks than bytes are rejected, because visiting them
            // would take long.
            if file.chunk_count() > nbytes {
                return Err(stop(opening, ErrorKind::CountTooLarge, Part::ChunkOffset, at.saturating_add(4)));
            }
        }
        if parts.number(Header::frame_length) < opening.input.length() {
            file.warnings |= Warning::TrailingBytes.bit();
        }
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
        version(self.version)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        tensor.dtype = self.dtype;
        tensor.shape = self.shape();
        match self.values.layout_name() {
            None => tensor.set_layout(Layout::Chunked),
            Some(name) => {
                tensor.layout = Layout::Other;
                tensor.layout_name = Utf8::new(name);
            }
        }
        tensor.warnings = self.warnings;
        tensor.at = self.region().offset;
        Ok(cursor.is_first())
    }

    fn problem(&self, _: &TensorRecord<'a>) -> Option<Error> {
        self.no_values()
    }

    fn stated_type(&self, _: &TensorRecord<'a>) -> Option<Stated<'a>> {
        self.dtype_bytes().map(|text| Stated { text: text.bytes(), is_latin_1: false })
    }

    fn next_component(
        &self,
        _: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        part.role = Utf8::new("chunks");
        part.dtype = self.dtype;
        part.storage = self.dtype;
        part.order = self.byte_order;
        part.set_extent(self.region());
        part.encoding = Encoding::Blosc;
        part.encoding_name = Utf8::new(Encoding::Blosc.text());
        part.decoded_length = Some(self.nbytes());
        Ok(self.values <= Values::Fetched && cursor.is_first())
    }

    /// Checks that there are values and that every chunk was written. Checks only the first [`MOST_VERIFIED`] entries
    /// of the table, to bound the time. An unreadable table is not reported here, but when the chunks are read.
    fn verify_whole(&self, _: &TensorRecord<'a>, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Warnings> {
        self.check_values()?;
        let mut warnings = Warnings::default();
        let result = self.each_special(decoder, scratch, MOST_VERIFIED, |content, _| {
            if content == Content::Uninitialised {
                warnings.add(Warning::Uninitialised);
            }
            self.check_fetched(content, self.table_at())
        });
        match result {
            Err(error) if error.kind() == ErrorKind::NoValues => Err(error),
            _ => Ok(warnings),
        }
    }

    fn verify_scratch(&self, _: &TensorRecord<'a>) -> u64 {
        self.table_scratch_length().unwrap_or(0)
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl OneTensor for Frame<'_> {}

impl<'a> Computed<'a> for Frame<'a> {
    fn whole_length(&self, _: &TensorRecord<'a>) -> Option<u64> {
        self.shape().element_count()?.checked_mul(self.item_size())
    }

    fn whole_scratch(&self, _: &TensorRecord<'a>) -> Option<u64> {
        self.scratch_for(None).ok()
    }

    /// Reads all elements without the padding. Elements of an array stay in their stored byte order. Elements of a
    /// proxy are converted to native byte order, because the layout of a proxy does not say that its values are in
    /// chunks.
    fn read_whole<'d>(
        &self,
        _: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        dst: &'d mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        self.check_values()?;
        let written = self.decode(decoder, None, dst, scratch)?;
        if let (Values::Fetched, Some(dtype)) = (self.values, self.dtype) {
            self.byte_order.to_native(written, dtype);
        }
        Ok(written)
    }
}

/// Parses NumPy's spelling of a dtype and its byte order. Returns `None` for types that `DType` does not have: times,
/// strings, records.
fn from_numpy(text: &[u8]) -> Option<(DType, ByteOrder)> {
    let (order, name) = text.split_first()?;
    let order = match order {
        b'<' => ByteOrder::Little,
        b'>' => ByteOrder::Big,
        b'|' | b'=' => ByteOrder::NATIVE,
        _ => return None,
    };
    let dtype = DType::from_numpy(name)?;
    Some((dtype, order))
}
