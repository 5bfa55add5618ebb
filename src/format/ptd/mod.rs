//! ExecuTorch's `.ptd`, the weights of a program in a file of their own, as written since release 1.0.
//!
//! ```text
//! 0    offset of the root table, "FT01"
//! 8    header: "FH01", its length, the place of the flatbuffer, the place of the data       (header.rs)
//!      flatbuffer: version, segments, named data                                            (codec/flatbuffers)
//!      data       the segments, at offsets from its start
//! ```
//!
//! The header was put into a finished flatbuffer, behind its first 8 bytes: the offset of the root leads over it. Named
//! data is a tensor if it has a layout (entry.rs), else a blob: bytes for a part of the program.
#![forbid(unsafe_code)]

mod compare;
mod entry;
mod explain;
mod header;
mod order;
mod scalar;
mod segments;

use self::entry::{Entry, KEY};
use self::header::{Header, Places};
pub use self::segments::Segments;
use super::{ComponentRecord, Context, Cursor, FileFormat, Name, Named, NamedTensors, Stated, Summary, TensorRecord};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::codec::flatbuffers::{Buffer, Field, Offsets};
use crate::duplicates::{Seen, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};

/// The fields of the root table.
const VERSION: Field = Field::new(0, Part::Version);
const SEGMENTS: Field = Field::new(1, Part::Data);
const NAMED_DATA: Field = Field::new(2, Part::Tensors);
/// Fields that only releases before 1.0 wrote, with other fields in the slots before.
const LEGACY: [Field; 2] = [Field::new(3, Part::Version), Field::new(4, Part::Version)];

/// An ExecuTorch file of named data.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/ptd/py_tied.ptd");
/// let file = tenslice::File::open(bytes)?;
/// let ptd = file.as_ptd().ok_or("another format")?;
/// println!("{} names of {} segments", file.tensor_count(), ptd.segments().count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PtdFile<'a> {
    input: Input<'a>,
    /// The bytes from the start of the file to the end of the flatbuffer.
    bytes: &'a [u8],
    /// The place of all data.
    data: Extent,
    segments: Offsets,
    names: Offsets,
    are_names_distinct: bool,
    has_trailing_bytes: bool,
}

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::Ptd, item, at)
}

impl<'a> PtdFile<'a> {
    const fn buffer(&self) -> Buffer<'a> {
        Buffer::new(self.bytes, Format::Ptd)
    }

    /// Reads the root table, and checks everything else.
    fn check_all(&mut self) -> Result<()> {
        let root = self.buffer().table(0, Part::Header)?;
        for field in LEGACY {
            if let Some(at) = root.offset(field)? {
                return Err(fail(ErrorKind::UnsupportedVersion, Part::Manifest, at.into()));
            }
        }
        if root.u32(VERSION)? != 0 {
            let at = root.offset(VERSION)?.unwrap_or(root.at);
            return Err(fail(ErrorKind::UnsupportedVersion, Part::Version, at.into()));
        }
        let missing = |part| fail(ErrorKind::MissingKey, part, root.at.into());
        self.segments = root.offsets(SEGMENTS)?.ok_or(missing(Part::Data))?;
        self.names = root.offsets(NAMED_DATA)?.ok_or(missing(Part::Tensors))?;
        self.check_segments()?;
        Seen::with(self.names.count, |seen| self.check_names(seen))
    }

    /// Checks each name, and the work that reading them takes. Names and shapes that share bytes could demand more work
    /// than the bytes of the file.
    fn check_names(&mut self, seen: &mut Seen<'_, 'a>) -> Result<()> {
        let (mut index, mut work) = (0_u32, 0_u64);
        while let Some(place) = self.names.get(index) {
            let entry = self.entry(place)?;
            if !seen.add(entry.key.bytes) {
                return Err(entry.error(ErrorKind::InvalidUtf8, Part::Name, entry.key.at));
            }
            let rank = entry.layout.map_or(0, |layout| layout.shape.rank());
            let bytes = u64::from(rank).saturating_mul(5).saturating_add(entry.key.count.into()).saturating_add(4);
            work = work.saturating_add(bytes);
            if work > to_u64(self.bytes.len()) {
                return Err(entry.error(ErrorKind::TooMany, Part::Name, entry.at));
            }
            index = index.saturating_add(1);
        }
        self.are_names_distinct = seen.are_distinct();
        Ok(())
    }

    /// Returns the key of the name at a place.
    fn key(&self, place: u32) -> Result<Text<'a>> {
        let key = self.buffer().table(place, Part::Tensor)?.text(KEY)?;
        Ok(Text::new(key.unwrap_or_default().bytes, false))
    }

    /// Reads the tensor at a place.
    fn tensor(&self, place: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        let entry = self.entry(place)?;
        tensor.components = place;
        tensor.index = index;
        entry.fill(tensor);
        Ok(())
    }
}

impl<'a> FileFormat<'a> for PtdFile<'a> {
    const FORMAT: Format = Format::Ptd;

    /// Checks everything but the data.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (input, length) = (opening.input, opening.input.length());
        let header: &Header = opening.read(0, (ErrorKind::Truncated, Format::Ptd, Part::Header))?;
        let Places { end, data } = header.places(length).map_err(|error| opening.stop(error))?;
        let mut file = Self {
            input,
            bytes: opening.keep(Extent::new(0, end))?,
            data,
            segments: Offsets::default(),
            names: Offsets::default(),
            are_names_distinct: true,
            has_trailing_bytes: data.end().is_none_or(|data_end| data_end.max(end) < length),
        };
        file.check_all().map_err(|error| opening.stop(error))?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        summary.tensor_count = self.names.count.into();
        if self.has_trailing_bytes {
            summary.warnings.add(Warning::TrailingBytes);
        }
        if self.are_names_distinct {
            return Ok(());
        }
        self.compare_names(&mut summary.warnings, &mut Stack)
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some("0")
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let Some(place) = self.names.get(cursor.index) else { return Ok(false) };
        self.tensor(place, cursor.index, tensor)?;
        cursor.index = cursor.index.saturating_add(1);
        Ok(true)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let mut checked = summary.warnings.without(Warning::NamesUnchecked);
        if summary.warnings.contains(Warning::NamesUnchecked) {
            self.compare_names(&mut checked, scratch)?;
        }
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        if summary.warnings.contains(Warning::NamesUnchecked) { self.names.count.into() } else { 0 }
    }

    fn strides<'r>(&self, tensor: &TensorRecord<'a>, dst: &'r mut [u64]) -> Result<Option<&'r mut [u64]>> {
        self.strides_of(tensor, dst)
    }

    fn tensor_attributes(&self, tensor: &TensorRecord<'a>) -> Attributes<'a> {
        Attributes::flatbuffers(self.buffer(), tensor.attributes, 0, entry::attributes(tensor))
    }

    fn stated_type(&self, tensor: &TensorRecord<'a>) -> Option<Stated<'a>> {
        let layout = self.entry(tensor.components).ok()?.layout.filter(|layout| layout.scalar.dtype().is_none())?;
        Some(Stated { text: layout.scalar.name().as_bytes(), is_latin_1: false })
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let Entry { segment, .. } = self.entry(tensor.components)?;
        part.dtype = tensor.dtype;
        part.storage = tensor.dtype;
        part.set_extent(Extent::new(self.data.offset.saturating_add(segment.offset), segment.length));
        Ok(cursor.is_first())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for PtdFile<'a> {
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let Some(place) = self.names.get(cursor.index) else { return Ok(None) };
        let name = self.key(place)?;
        cursor.index = cursor.index.saturating_add(1);
        Ok(Some(Named { name, name_at: place, tensor_at: place }))
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        Name::Plain(self.key(position).unwrap_or_default().raw())
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.tensor(position, index, tensor)
    }

    /// Compares the keys, and reads only the tensor that is found.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let mut cursor = Cursor::START;
        while let Some(named) = self.next_name(&mut cursor)? {
            if named.name.raw() == name {
                return self.tensor(named.tensor_at, cursor.index.wrapping_sub(1), tensor);
            }
        }
        Err(Error::new(ErrorKind::NotFound))
    }
}
