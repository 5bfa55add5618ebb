//! TFLite (LiteRT) models, schema version 3: the constants of all subgraphs.
//!
//! ```text
//! 0    offset of the root table, "TFL3"
//!      flatbuffer: the model, subgraphs, tensors, buffers                      (codec/tflite, codec/flatbuffers)
//!      bytes of buffers that are not in the flatbuffer, and anything else
//! ```
//!
//! A tensor is listed if its buffer has bytes, or if it has an external buffer (external.rs). All others are activations,
//! which only a graph needs. Tables and the bytes of buffers take turns in a flatbuffer: opening in parts asks for more
//! and more of the file, until all tables are there.
#![forbid(unsafe_code)]

mod explain;
mod external;
mod properties;
#[cfg(feature = "dequantize")]
mod scales;
mod sparse;
mod subgraphs;
mod tensor;
mod texts;
mod types;

use self::external::IdOrder;
pub use self::subgraphs::{Subgraph, Subgraphs};
use self::tensor::Bytes;
pub use self::texts::Texts;
use super::{
    ComponentRecord, Context, Cursor, FileFormat, ListedShard, Name, Named, NamedTensors, StoredElements, Summary,
    TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::is_utf8;
use crate::codec::decoder::Decoder;
use crate::codec::flatbuffers::{Field, Offsets, Table};
use crate::codec::tflite::Model;
use crate::codec::tflite::schema::{TENSORS, metadata, model, tensor as field};
use crate::error::origin::{Format, Part};
use crate::error::warning::Warnings;
use crate::error::{Error, ErrorKind, Result};

/// The number of bytes that opening asks for after the first ones, and the factor by which it asks for more.
const WINDOW: u64 = 1 << 16;
const MORE: u64 = 4;

/// The most bytes in which the tables may be: the positions have 32 bits.
const MOST: u64 = 0xffff_ffff;

/// A TFLite model.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/tflite/py_subgraphs.tflite");
/// let file = tenslice::File::open(bytes)?;
/// let tflite = file.as_tflite().ok_or("another format")?;
/// for subgraph in tflite.subgraphs() {
///     println!("{}: {} tensors", subgraph.name, subgraph.tensors);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TfliteFile<'a> {
    model: Model<'a>,
    /// The position of the list of tensors of the first subgraph, which mostly has all constants.
    first: u32,
    /// The number of constants.
    count: u32,
    /// The number of bits of a [`Place`] that are the number of a tensor in its subgraph.
    tensor_bits: u32,
    id_order: IdOrder,
}

/// The place of a tensor: its subgraph, and its number there.
#[derive(Clone, Copy)]
struct Place {
    subgraph: u32,
    tensor: u32,
}

impl Place {
    /// The place in a cursor.
    fn of_cursor(cursor: &Cursor) -> Self {
        Self::of(cursor.at, 32)
    }

    /// The place in a number whose lowest bits are the number of a tensor.
    fn of(number: u64, tensor_bits: u32) -> Self {
        let (subgraph, tensor) = (number.wrapping_shr(tensor_bits), number & (1_u64 << tensor_bits).wrapping_sub(1));
        Self {
            subgraph: u32::try_from(subgraph).unwrap_or(u32::MAX),
            tensor: u32::try_from(tensor).unwrap_or(u32::MAX),
        }
    }

    fn number(self, tensor_bits: u32) -> u64 {
        u64::from(self.subgraph).wrapping_shl(tensor_bits) | u64::from(self.tensor)
    }
}

/// A listed tensor: its place, its table and its bytes.
struct Constant<'a> {
    place: Place,
    table: Table<'a>,
    bytes: Bytes<'a>,
}

/// The bytes of the file that reading all names and shapes takes.
struct Work {
    left: u64,
}

impl Work {
    /// Takes `bytes`; fails with an error at `at` if the file has fewer.
    fn take(&mut self, file: &TfliteFile<'_>, bytes: u64, at: u32) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or(file.error(ErrorKind::TooMany, Part::Tensors, at))?;
        Ok(())
    }
}

impl<'a> TfliteFile<'a> {
    fn error(&self, kind: ErrorKind, part: Part, at: u32) -> Error {
        self.model.flatbuffer().error(kind, part, at)
    }

    /// Reads and checks a model whose tables are within `bytes`.
    fn over(input: Input<'a>, bytes: &'a [u8]) -> Result<Self> {
        let model = Model::read(input, bytes)?;
        let last = model.subgraphs.count.saturating_sub(1);
        let mut file = Self { model, first: 0, count: 0, tensor_bits: last.leading_zeros(), id_order: IdOrder::None };
        file.check_model()?;
        Ok(file)
    }

    /// Checks everything but the bytes of buffers. Vectors and texts that share bytes could demand more work than the
    /// bytes of the file.
    fn check_model(&mut self) -> Result<()> {
        let root = self.model.root()?;
        let work = &mut Work { left: self.model.input.length() };
        if root.u32(model::VERSION)? != 3 {
            let at = root.offset(model::VERSION)?.unwrap_or(root.at);
            return Err(self.error(ErrorKind::UnsupportedVersion, Part::Version, at));
        }
        if self.model.subgraphs.count == 0 {
            return Err(self.error(ErrorKind::MissingKey, Part::Tensors, root.at));
        }
        self.text(&root, model::DESCRIPTION, Part::Attributes, work)?;
        for index in 0..self.model.buffer_count() {
            self.model.any_buffer(index)?;
        }
        let metadata = root.offsets(model::METADATA)?.unwrap_or_default();
        for index in 0..metadata.count {
            let Some(place) = metadata.get(index) else { break };
            let table = self.model.flatbuffer().table(place, Part::Attributes)?;
            self.text(&table, metadata::NAME, Part::Key, work)?;
            self.check_index(table.u32(metadata::BUFFER)?, &table)?;
        }
        self.check_external(work)?;
        for subgraph in 0..self.model.subgraphs.count {
            let Some(tensors) = self.tensors(subgraph)? else { break };
            if subgraph == 0 {
                self.first = tensors.position();
            }
            work.take(self, 4, root.at)?;
            if u64::from(tensors.count) > 1_u64 << self.tensor_bits {
                return Err(self.error(ErrorKind::TooMany, Part::Tensors, root.at));
            }
            for tensor in 0..tensors.count {
                let Some(at) = tensors.get(tensor) else { break };
                let table = self.model.flatbuffer().table(at, Part::Tensor)?;
                let checked = self.check_tensor(Place { subgraph, tensor }, &table, work);
                checked.map_err(|error| of_tensor(error, &table))?;
            }
        }
        Ok(())
    }

    /// Checks the tensor with this table, and counts it if it is listed.
    fn check_tensor(&mut self, place: Place, table: &Table<'a>, work: &mut Work) -> Result<()> {
        let name = self.text(table, field::NAME, Part::Name, work)?;
        let rank = table.vector(field::SHAPE, 4)?.unwrap_or_default().count;
        work.take(self, u64::from(rank).saturating_mul(4).saturating_add(4), table.at)?;
        let buffer = table.u32(field::BUFFER)?;
        self.check_index(buffer, table)?;
        let Some(bytes) = self.bytes(table)? else { return Ok(()) };
        self.count = self.count.saturating_add(1);
        let mut record = TensorRecord::blank();
        self.fill(&Constant { place, table: *table, bytes }, name, 0, &mut record)?;
        properties::check(*table)
    }

    /// Checks that there is a buffer with a number that a table states. 0 stands for none.
    fn check_index(&self, buffer: u32, table: &Table<'_>) -> Result<()> {
        if buffer > 0 && buffer >= self.model.buffer_count() {
            return Err(self.error(ErrorKind::OutOfPlace, Part::Components, table.at));
        }
        Ok(())
    }

    /// Reads a text, which must be UTF-8.
    fn text(&self, table: &Table<'a>, field: Field, part: Part, work: &mut Work) -> Result<&'a [u8]> {
        let text = table.text(field)?.unwrap_or_default();
        work.take(self, text.count.into(), table.at)?;
        if is_utf8(text.bytes) { Ok(text.bytes) } else { Err(self.error(ErrorKind::InvalidUtf8, part, text.at)) }
    }

    /// Returns the offsets of the tensors of a subgraph; `None` after the last subgraph.
    fn tensors(&self, subgraph: u32) -> Result<Option<Offsets>> {
        if subgraph == 0 && self.first > 0 {
            return Ok(Some(self.model.flatbuffer().offsets(self.first)));
        }
        let Some(place) = self.model.subgraphs.get(subgraph) else { return Ok(None) };
        let table = self.model.flatbuffer().table(place, Part::Tensors)?;
        Ok(Some(table.offsets(TENSORS)?.unwrap_or_default()))
    }

    /// Returns the first listed tensor at or behind a place, which moves behind it; `None` after the last.
    fn next(&self, place: &mut Place) -> Result<Option<Constant<'a>>> {
        while let Some(tensors) = self.tensors(place.subgraph)? {
            while let Some(at) = tensors.get(place.tensor) {
                let here = *place;
                place.tensor = place.tensor.saturating_add(1);
                let table = self.model.flatbuffer().table(at, Part::Tensor)?;
                if let Some(bytes) = self.bytes(&table)? {
                    return Ok(Some(Constant { place: here, table, bytes }));
                }
            }
            *place = Place { subgraph: place.subgraph.saturating_add(1), tensor: 0 };
        }
        Ok(None)
    }

    /// Returns the listed tensor at a position.
    fn constant(&self, position: u32) -> Result<Constant<'a>> {
        let mut place = Place::of(position.into(), self.tensor_bits);
        let changed = Error::at(ErrorKind::Malformed, Format::Tflite, Part::Tensors, 0);
        self.next(&mut place)?.ok_or(changed)
    }

    /// Reads the tensor at a position.
    fn tensor(&self, constant: &Constant<'a>, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        let name = constant.table.text(field::NAME)?.unwrap_or_default().bytes;
        self.fill(constant, name, index, tensor).map_err(|error| of_tensor(error, &constant.table))
    }
}

impl<'a> TfliteFile<'a> {
    /// Keeps the bytes of metadata, which are attributes of the file.
    fn keep_metadata(&self, opening: &ParseContext<'a>) -> ParseResult<()> {
        let mut index = 0_u32;
        while let Some(place) = self.metadata(index).map_err(|error| opening.stop(error))? {
            opening.keep(place)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }

    /// Returns the place of the bytes of metadata, which may be empty; `None` after the last.
    fn metadata(&self, index: u32) -> Result<Option<Extent>> {
        let all = self.model.root()?.offsets(model::METADATA)?.unwrap_or_default();
        let Some(place) = all.get(index) else { return Ok(None) };
        let table = self.model.flatbuffer().table(place, Part::Attributes)?;
        let bytes = self.model.buffer(table.u32(metadata::BUFFER)?)?;
        Ok(Some(bytes.unwrap_or(Extent::new(0, 0))))
    }
}

/// Adds the tensor with this table to an error that lies behind its start.
fn of_tensor(error: Error, table: &Table<'_>) -> Error {
    let distance = error.offset().and_then(|at| u32::try_from(at.checked_sub(table.at.into())?).ok());
    error.after_entry(distance.unwrap_or(crate::error::NO_ENTRY))
}

impl<'a> FileFormat<'a> for TfliteFile<'a> {
    const FORMAT: Format = Format::Tflite;

    /// Names are for people. Tools that strip models empty them all.
    fn may_names_repeat(&self) -> bool {
        true
    }

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let most = opening.input.length().min(MOST);
        let mut bytes = opening.input.available_from(0);
        bytes = to_usize(most).and_then(|most| bytes.get(..most)).unwrap_or(bytes);
        let file = loop {
            let length = to_u64(bytes.len());
            match Self::over(opening.input, bytes) {
                Ok(file) => break file,
                Err(error) if length >= most => return Err(opening.stop(error)),
                Err(_) => bytes = opening.keep(Extent::new(0, length.saturating_mul(MORE).max(WINDOW).min(most)))?,
            }
        };
        file.keep_metadata(opening)?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary { warnings: Warnings::default(), tensor_count: self.count.into() };
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.model.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { model: self.model.with_input(input), ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some("3")
    }

    fn attributes(&self) -> Attributes<'a> {
        Attributes::tflite(self.model)
    }

    fn next_shard(&self, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        self.next_group(cursor)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let mut place = Place::of_cursor(cursor);
        let Some(constant) = self.next(&mut place)? else { return Ok(false) };
        self.tensor(&constant, cursor.index, tensor)?;
        *cursor = Cursor::new(place.number(32), 0, cursor.index.saturating_add(1));
        Ok(true)
    }

    fn tensor_attributes(&self, tensor: &TensorRecord<'a>) -> Attributes<'a> {
        properties::of(self.model.flatbuffer(), tensor)
    }

    #[cfg(feature = "dequantize")]
    fn quantization(&self, tensor: &TensorRecord<'a>) -> Result<Option<super::Quantization<'a>>> {
        self.quantization_of(tensor)
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        self.component(tensor, cursor, part)
    }

    fn verify_whole(&self, tensor: &TensorRecord<'a>, _: &mut dyn Decoder, _: &mut [u8]) -> Result<Warnings> {
        match tensor.layout_name.bytes() {
            texts::LAYOUT => self.verify_texts(tensor)?,
            sparse::LAYOUT => self.verify_sparse(tensor)?,
            _ => {}
        }
        Ok(Warnings::default())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for TfliteFile<'a> {
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let mut place = Place::of_cursor(cursor);
        let Some(constant) = self.next(&mut place)? else { return Ok(None) };
        let name = constant.table.text(field::NAME)?.unwrap_or_default().bytes;
        *cursor = Cursor::new(place.number(32), 0, cursor.index.saturating_add(1));
        let position = u32::try_from(constant.place.number(self.tensor_bits)).unwrap_or(u32::MAX);
        Ok(Some(Named { name: Text::new(name, false), name_at: position, tensor_at: position }))
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        let name = self.constant(position).and_then(|constant| constant.table.text(field::NAME));
        Name::Plain(name.ok().flatten().unwrap_or_default().bytes)
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.tensor(&self.constant(position)?, index, tensor)
    }

    /// Compares the names, and reads only the tensor that is found.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let mut cursor = Cursor::START;
        while let Some(named) = self.next_name(&mut cursor)? {
            if named.name.raw() == name {
                return self.tensor_at(named.tensor_at, cursor.index.wrapping_sub(1), tensor);
            }
        }
        Err(Error::new(ErrorKind::NotFound))
    }
}

impl StoredElements for TfliteFile<'_> {}
