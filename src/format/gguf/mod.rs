//! GGUF, versions 1 to 3, little- and big-endian.
//!
//! ```text
//! 0    "GGUF", version u32, count of tensors, count of pairs
//!      pairs         key, type, value: the attributes of the file                       (codec/gguf.rs)
//!      infos         name, rank, lengths, type, offset: one for each tensor             (info.rs)
//!      data          at a multiple of the alignment; each tensor follows the one before, padded to it
//! ```
//!
//! The file does not state the lengths of pairs and infos, so both are walked over. No flag states the byte order. In a
//! big-endian file, the low half of the version is 0 when read as little-endian.
#![forbid(unsafe_code)]

mod compare;
mod explain;
mod info;
mod split;
mod unknown;
#[cfg(feature = "write")]
mod write;

#[cfg(not(small))]
use self::info::Checked;
use self::info::{Info, USUAL_RANK};
pub use self::split::PartName;
#[cfg(feature = "write")]
pub(crate) use self::write::GgufWriter;
use super::{
    ComponentRecord, Context, Cursor, FileFormat, Name, Named, NamedTensors, Split, StoredElements, Summary,
    TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
#[cfg(not(small))]
use crate::bytes::num::to_u64;
use crate::bytes::num::{align_up, quotient, to_usize};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
pub use crate::codec::gguf::ValueType;
use crate::codec::gguf::{Encoding, MAX_HEADER, Reader, kind};
use crate::duplicates::{Seen, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
#[cfg(not(small))]
use crate::types::DType;
use crate::types::{ByteOrder, Layout};

/// The offset of the counts.
const COUNTS: u64 = 8;

/// The alignment of a file that states none, and the smallest alignment that a file may state.
const DEFAULT_ALIGNMENT: u32 = 32;
const MIN_ALIGNMENT: u32 = 8;

const ALIGNMENT_KEY: &[u8] = b"general.alignment";

const MAX_KEY: u64 = 65535;

/// A GGUF file.
#[derive(Clone, Copy, Debug)]
pub struct GgufFile<'a> {
    input: Input<'a>,
    encoding: Encoding,
    version: u8,
    are_keys_distinct: bool,
    are_names_distinct: bool,
    has_trailing_bytes: bool,
    has_many_dimensions: bool,
    alignment: u32,
    pairs: u32,
    tensors: u32,
    /// The positions in the file of the pairs, the infos and the data.
    pairs_at: u32,
    infos_at: u32,
    data_at: u64,
    /// The index of the first tensor of an unknown type; `u32::MAX` if there is none.
    first_unknown: u32,
}

impl<'a> GgufFile<'a> {
    /// Returns the byte order of the numbers in the file.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        if self.encoding.is_big { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Returns the alignment of the tensors in the file, in bytes.
    #[must_use]
    pub const fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Returns the position of the data in the file. The stored offsets of tensors are relative to the data.
    #[must_use]
    pub const fn data_offset(&self) -> u64 {
        self.data_at
    }

    /// Returns the stored descriptions of the tensors, in file order, as ggml sees them.
    #[must_use]
    pub const fn infos(&self) -> Infos<'a> {
        Infos { file: *self, at: self.infos_at, left: self.tensors, error: None }
    }

    fn reader<'o>(&self, opening: &'o ParseContext<'a>, at: u32) -> Reader<'o, 'a> {
        Reader::new(opening, self.encoding, at.into())
    }

    /// Reads the start of the file.
    fn read_head<'o>(opening: &'o ParseContext<'a>) -> ParseResult<(Self, Reader<'o, 'a>)> {
        let mut encoding = Encoding { is_big: false, is_short: false };
        let mut reader = Reader::new(opening, encoding, 4);
        reader.item = Part::Version;
        let version: [u8; 4] = reader.number()?;
        encoding.is_big = version.starts_with(&[0, 0]);
        let version = if encoding.is_big { u32::from_be_bytes(version) } else { u32::from_le_bytes(version) };
        encoding.is_short = version == 1;
        let version = match (version, encoding.is_big) {
            (1, false) => 1,
            (2, false) => 2,
            (3, _) => 3,
            _ => return reader.fail(ErrorKind::UnsupportedVersion, 4),
        };
        reader.encoding = encoding;
        let file = Self {
            input: opening.input,
            encoding,
            version,
            are_keys_distinct: true,
            are_names_distinct: true,
            has_trailing_bytes: false,
            has_many_dimensions: false,
            alignment: DEFAULT_ALIGNMENT,
            pairs: 0,
            tensors: 0,
            pairs_at: 0,
            infos_at: 0,
            data_at: 0,
            first_unknown: u32::MAX,
        };
        Ok((file, reader))
    }

    /// Reads the counts, and checks them against the smallest possible sizes of pairs and infos.
    fn read_counts(&mut self, reader: &mut Reader<'_, 'a>) -> ParseResult<()> {
        let (pair, info) = if self.encoding.is_short { (10, 20) } else { (14, 24) };
        reader.item = Part::Tensors;
        let tensors = reader.count()?;
        reader.item = Part::Attributes;
        let pairs = reader.count()?;
        let left = reader.left().min(MAX_HEADER);
        let fits = |count: u64, size: u64| count <= quotient(left, size);
        if !fits(pairs, pair) {
            return reader.fail(ErrorKind::CountTooLarge, if self.encoding.is_short { 12 } else { 16 });
        }
        reader.item = Part::Tensors;
        match (u32::try_from(tensors), u32::try_from(pairs)) {
            (Ok(tensors), Ok(pairs)) if fits(tensors.into(), info) => (self.tensors, self.pairs) = (tensors, pairs),
            _ => return reader.fail(ErrorKind::CountTooLarge, COUNTS),
        }
        Ok(())
    }

    /// Reads the pairs and the infos.
    #[cfg_attr(small, inline(always))]
    fn read_records(&mut self, reader: &mut Reader<'_, 'a>) -> ParseResult<()> {
        Seen::with(self.pairs.saturating_add(self.tensors), |seen| {
            self.read_pairs(reader, seen)?;
            self.read_infos(reader, seen)
        })
    }

    /// Returns the position of the reader; fails if the header is too large.
    #[cfg_attr(small, inline(never))]
    fn position(reader: &Reader<'_, 'a>) -> ParseResult<u32> {
        match u32::try_from(reader.position()) {
            Ok(position) if u64::from(position) <= MAX_HEADER => Ok(position),
            _ => reader.fail(ErrorKind::ManifestTooLarge, reader.position()),
        }
    }

    #[cfg_attr(not(small), inline(never))] // for the reader in this function
    fn read_pairs(&mut self, reader: &mut Reader<'_, 'a>, seen: &mut Seen<'_, 'a>) -> ParseResult<()> {
        self.pairs_at = Self::position(reader)?;
        // A separate reader that nothing else refers to: hosts can keep it in registers.
        #[cfg(not(small))]
        let reader = &mut self.reader(reader.opening(), self.pairs_at);
        let mut has_alignment = false;
        for _ in 0..self.pairs {
            #[cfg(not(small))]
            if let Some((key, after)) = reader.usual_pair(MAX_KEY).filter(|(key, _)| *key != ALIGNMENT_KEY) {
                if !seen.add(key) {
                    reader.item = Part::Key;
                    return reader.fail(ErrorKind::InvalidUtf8, reader.position());
                }
                reader.advance_to(after);
                reader.item = Part::Value;
                continue;
            }
            let at = u64::from(Self::position(reader)?);
            reader.item = Part::Key;
            let length = reader.string_length()?;
            if length == 0 || length > MAX_KEY {
                return reader.fail(ErrorKind::InvalidName, at);
            }
            let key = reader.take(length)?;
            if !seen.add(key) {
                return reader.fail(ErrorKind::InvalidUtf8, at);
            }
            reader.item = Part::Value;
            let kind_at = reader.position();
            let kind = reader.kind()?;
            if key == ALIGNMENT_KEY {
                // Not left to the comparison of all keys, because the position of the data depends on it.
                if core::mem::replace(&mut has_alignment, true) {
                    reader.item = Part::Key;
                    return reader.fail(ErrorKind::RepeatedKey, at);
                }
                let at = reader.position();
                self.alignment = if kind == kind::U32 { reader.u32()? } else { 0 };
                if !self.alignment.is_power_of_two() || self.alignment < MIN_ALIGNMENT {
                    reader.item = Part::Alignment;
                    return reader.fail(ErrorKind::InvalidAlignment, if kind == kind::U32 { at } else { kind_at });
                }
            } else {
                reader.skip_value(kind)?;
            }
        }
        self.are_keys_distinct = seen.are_distinct();
        self.infos_at = Self::position(reader)?;
        Ok(())
    }

    #[cfg_attr(not(small), inline(never))] // for the reader in this function
    fn read_infos(&mut self, reader: &mut Reader<'_, 'a>, seen: &mut Seen<'_, 'a>) -> ParseResult<()> {
        seen.begin();
        // A separate reader, as in `read_pairs`.
        #[cfg(not(small))]
        let reader = &mut self.reader(reader.opening(), self.infos_at);
        // The position of the next tensor, relative to the data.
        let mut next = 0_u64;
        let (mut last_at, mut last_end) = (reader.position(), 0_u64);
        // True if the length of the previous tensor is unknown. Then the next tensor may be at any aligned position
        // from `next`.
        let mut is_open = false;
        for index in 0..self.tensors {
            let at = u64::from(Self::position(reader)?);
            let info = Info::read(reader)?;
            if !seen.add(info.name) {
                reader.item = Part::Name;
                return reader.fail(ErrorKind::InvalidUtf8, at);
            }
            if is_open {
                next = next.max(align_up(info.offset, self.alignment).unwrap_or(0));
            }
            if info.offset != next {
                reader.item = Part::Offset;
                return reader.fail(ErrorKind::InvalidOffset, info.offset_at);
            }
            let end = info.offset.checked_add(info.length);
            let Some((end, after)) = end.and_then(|end| Some((end, align_up(end, self.alignment)?))) else {
                reader.item = Part::Shape;
                return reader.fail(ErrorKind::ShapeOverflow, at);
            };
            (last_at, last_end, next, is_open) = (info.offset_at, end, after, !info.is_known());
            if info.shape.rank() > USUAL_RANK {
                self.has_many_dimensions = true;
            }
            if is_open {
                self.first_unknown = self.first_unknown.min(index);
            }
        }
        self.are_names_distinct = seen.are_distinct();
        let (end, length) = (u64::from(Self::position(reader)?), self.input.length());
        self.data_at = align_up(end, self.alignment).unwrap_or(u64::MAX);
        let available = length.checked_sub(self.data_at);
        if self.tensors > 0 && available.is_none_or(|available| last_end > available) {
            reader.item = Part::Offset;
            return reader.fail(ErrorKind::OutOfFile, last_at);
        }
        self.has_trailing_bytes = !is_open && available.is_some_and(|available| available > next);
        // Apart from the magic, nothing shows that such a file has this format.
        if self.has_trailing_bytes && self.tensors == 0 && self.pairs == 0 {
            reader.item = Part::Tensors;
            return reader.fail(ErrorKind::UnclaimedBytes, end);
        }
        Ok(())
    }

    /// Reads the metadata of a rejected file, for its error message. The end of the data is not checked.
    #[cfg(not(target_os = "none"))]
    fn of_metadata(opening: &ParseContext<'a>) -> Option<Self> {
        let (mut file, mut reader) = Self::read_head(opening).ok()?;
        file.read_counts(&mut reader).ok()?;
        // The position of the data is known before its end is checked.
        let _ = file.read_records(&mut reader);
        Some(file).filter(|file| file.data_at > 0)
    }

    /// Reads the info at `at`; also returns the end of the info.
    #[cfg_attr(not(small), inline(always))]
    fn info(&self, at: u32) -> Result<(Info<'a>, u64)> {
        #[cfg(not(small))]
        if let Some(info) = Info::at(self.input, self.encoding, at) {
            return Ok(info);
        }
        self.info_anywhere(at)
    }

    /// Reads the tensor whose info is at `at` and whose index is `index`. Returns the end of the info.
    #[cfg_attr(not(small), inline(always))]
    fn read_tensor(&self, at: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<u64> {
        let (info, end) = self.checked_info(at)?;
        tensor.name = Utf8::of(Text::new(info.name, false)); // UTF-8, which was checked when the file was opened
        tensor.at = at.into();
        tensor.components = at;
        tensor.index = index;
        tensor.shape = info.shape;
        tensor.dtype = info.dtype();
        if let Some(block) = info.block() {
            tensor.layout = Layout::Blocks;
            tensor.layout_name = Utf8::new(block.layout_name());
        } else if tensor.dtype.is_none() {
            tensor.set_unreadable(unknown::layout_name(info.ggml_type));
        }
        Ok(end)
    }

    /// Reads the part that a tensor needs of the info at `at`, which has been checked.
    #[cfg(not(small))]
    #[inline(always)]
    fn checked_info(&self, at: u32) -> Result<(Checked<'a>, u64)> {
        // The fast path, as in `info`.
        if let Some(info) = Info::checked(self.input, self.encoding, at) {
            return Ok(info);
        }
        self.info_anywhere(at).map(|(info, end)| (info.for_tensor(), end))
    }

    /// Reads the component of a tensor of any type, which may be unknown.
    #[cfg_attr(not(small), cold, inline(never))]
    #[cfg_attr(small, inline(always))]
    fn component_of_any(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let (info, next) = self.info(tensor.components)?;
        part.dtype = info.dtype();
        part.storage = part.dtype;
        part.order = self.byte_order();
        let mut length = info.length;
        if !info.is_known() {
            let end = if tensor.index.wrapping_add(1) < self.tensors {
                self.info(u32::try_from(next).unwrap_or(u32::MAX))?.0.offset
            } else {
                self.input.length().wrapping_sub(self.data_at)
            };
            length = end.wrapping_sub(info.offset); // checked when the file was opened, and again on access
        }
        part.set_extent(Extent::new(self.data_at.saturating_add(info.offset), length));
        Ok(cursor.is_first())
    }

    /// Returns the dtype and the place of the data of `tensor`, which [`checked_info`](Self::checked_info) has read. The
    /// place is relative to all data.
    #[cfg(not(small))]
    #[inline(always)]
    fn checked_data(&self, tensor: &TensorRecord<'a>) -> Option<(Option<DType>, Extent)> {
        // The lengths follow the name, after its length, and the rank.
        let before = self.encoding.count_size().wrapping_add(to_u64(tensor.name.bytes().len())).wrapping_add(4);
        Info::data(self.input, self.encoding, u64::from(tensor.components).wrapping_add(before), tensor.shape.rank())
    }

    #[cfg(small)]
    fn checked_info(&self, at: u32) -> Result<(Info<'a>, u64)> {
        self.info(at)
    }

    /// Reads the info at `at`, or returns the error in it.
    #[cfg_attr(not(small), inline(never))]
    #[cfg_attr(small, inline(always))]
    fn info_anywhere(&self, at: u32) -> Result<(Info<'a>, u64)> {
        let opening = ParseContext::of(self.input);
        let mut reader = self.reader(&opening, at);
        let info = Info::read(&mut reader).map_err(|stop| opening.error(stop))?;
        Ok((info, reader.position()))
    }
}

/// A tensor as ggml sees it. See [`GgufFile::infos`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorInfo<'a> {
    /// The name.
    pub name: &'a str,
    /// The lengths of the dimensions, the innermost first: the reverse of [`Tensor::shape`](crate::Tensor::shape).
    /// Lengths past the rank are 1.
    pub ne: [u64; 8],
    /// The number of dimensions.
    pub rank: u32,
    /// The ggml number of the type, such as 12 for Q4_K.
    pub ggml_type: u32,
    /// The offset of the tensor, relative to the data.
    pub offset: u64,
}

/// The tensors of a file as ggml sees them. See [`GgufFile::infos`].
#[derive(Clone, Copy, Debug)]
pub struct Infos<'a> {
    file: GgufFile<'a>,
    at: u32,
    left: u32,
    error: Option<Error>,
}

impl<'a> Infos<'a> {
    /// Returns why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    fn read(&mut self) -> Result<TensorInfo<'a>> {
        let (info, end) = self.file.info(self.at)?;
        self.at = u32::try_from(end).unwrap_or(u32::MAX);
        let mut ne = [1; 8];
        // The outermost dimension is the last.
        let used = to_usize(info.shape.rank().into()).and_then(|rank| ne.get_mut(..rank)).unwrap_or_default();
        used.iter_mut().rev().zip(info.shape).for_each(|(to, from)| *to = from);
        let name = core::str::from_utf8(info.name).unwrap_or_default();
        let (rank, ggml_type, offset) = (info.shape.rank(), info.ggml_type, info.offset);
        Ok(TensorInfo { name, ne, rank, ggml_type, offset })
    }
}

impl<'a> Iterator for Infos<'a> {
    type Item = TensorInfo<'a>;

    fn next(&mut self) -> Option<TensorInfo<'a>> {
        if self.error.is_some() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        self.read().map_err(|error| self.error = Some(error)).ok()
    }
}

impl<'a> FileFormat<'a> for GgufFile<'a> {
    const FORMAT: Format = Format::Gguf;

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (mut file, mut reader) = Self::read_head(opening)?;
        file.read_counts(&mut reader)?;
        file.read_records(&mut reader)?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        let trailing = if self.has_trailing_bytes { Warning::TrailingBytes.bit() } else { 0 };
        let many = if self.has_many_dimensions { Warning::ManyDimensions.bit() } else { 0 };
        *summary = Summary { warnings: Warnings::from_bits(trailing | many), tensor_count: self.tensors.into() };
        summary.warnings.add_unreadable(self.first_unknown);
        self.compare(&mut summary.warnings, &mut Stack)
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some(match self.version {
            1 => "1",
            2 => "2",
            _ => "3",
        })
    }

    fn attributes(&self) -> Attributes<'a> {
        Attributes::gguf(self.input, self.encoding, self.pairs_at, self.pairs.into())
    }

    fn split(&self) -> Option<Split> {
        GgufFile::split(self)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        if cursor.index >= self.tensors {
            return Ok(false);
        }
        let at = if cursor.index == 0 { self.infos_at } else { u32::try_from(cursor.at).unwrap_or(u32::MAX) };
        let end = self.read_tensor(at, cursor.index, tensor)?;
        *cursor = Cursor::new(end, 0, cursor.index.saturating_add(1));
        Ok(true)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let mut checked = summary.warnings.without(Warning::NamesUnchecked).without(Warning::KeysUnchecked);
        self.left_by(summary).compare(&mut checked, scratch)?;
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        let left = self.left_by(summary);
        let keys = if left.are_keys_distinct { 0 } else { self.pairs };
        u64::from(if left.are_names_distinct { keys } else { keys.max(self.tensors) })
    }

    #[cfg_attr(not(small), inline(always))]
    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        #[cfg(not(small))]
        if let Some((dtype, extent)) = self.checked_data(tensor) {
            (part.dtype, part.storage, part.order) = (dtype, dtype, self.byte_order());
            part.set_extent(Extent::new(self.data_at.saturating_add(extent.offset), extent.length));
            return Ok(cursor.is_first());
        }
        self.component_of_any(tensor, cursor, part)
    }

    fn problem(&self, tensor: &TensorRecord<'a>) -> Option<Error> {
        // The name, after its length, and the dimensions, after their number, precede the type: at most 1 GiB.
        let numbers = tensor.shape.rank().wrapping_add(1).wrapping_mul(if self.encoding.is_short { 4 } else { 8 });
        let name = u32::try_from(tensor.name.bytes().len()).unwrap_or(0);
        let distance = numbers.wrapping_add(name).wrapping_add(4);
        let at = tensor.at.wrapping_add(distance.into());
        Some(Error::at(ErrorKind::UnknownDType, Format::Gguf, Part::DType, at).after_entry(distance))
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for GgufFile<'a> {
    #[cfg_attr(not(small), inline(always))]
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        if cursor.index >= self.tensors {
            return Ok(None);
        }
        let at = if cursor.index == 0 { self.infos_at } else { u32::try_from(cursor.at).unwrap_or(u32::MAX) };
        let (info, end) = self.checked_info(at)?;
        *cursor = Cursor::new(end, 0, cursor.index.saturating_add(1));
        Ok(Some(Named { name: Text::new(info.name, false), name_at: at, tensor_at: at }))
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        #[cfg(not(small))]
        return self.read_tensor(position, index, tensor).map(drop);
        #[cfg(small)]
        self.next_tensor_from(position, index, tensor)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        let opening = ParseContext::of(self.input);
        Name::Plain(self.reader(&opening, position).string().unwrap_or_default())
    }
}

impl StoredElements for GgufFile<'_> {}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// The bytes of a memory-mapped file may change. Strings that become unreadable are an error; they are neither
    /// treated as distinct nor omitted from a list.
    #[test]
    fn bytes_that_have_changed_are_an_error() {
        let mut bytes = b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
        for key in *b"ba" {
            bytes.extend([&[1, 0, 0, 0, 0, 0, 0, 0, key][..], &[0; 5]].concat()); // a number of one byte
        }
        let infos_at = bytes.len();
        for name in *b"ba" {
            // One dimension of length 0, `i8`, at offset 0.
            bytes.extend([&[1, 0, 0, 0, 0, 0, 0, 0, name, 1, 0, 0, 0][..], &[0; 8], &[24], &[0; 11]].concat());
        }
        let end = bytes.len();
        bytes.resize(end.next_multiple_of(32), 0);
        let mut file = GgufFile::open(&ParseContext::of(bytes[..].into())).unwrap();
        let (keys, names) = (Warning::KeysUnchecked.bit(), Warning::NamesUnchecked.bit()); // as if they were many
        assert!(file.check(&Summary::of_one(keys | names), &mut [0; 2]).is_ok());
        for (unchecked, cut) in [(keys | names, infos_at - 1), (names, end - 1)] {
            file.input = bytes[..cut].into();
            let error = file.check(&Summary::of_one(unchecked), &mut [0; 2]).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(cut as u64)));
        }
        assert!(file.next_name(&mut Cursor { index: 2, ..Cursor::START }).unwrap().is_none());
        let mut infos = file.infos();
        assert!(infos.by_ref().map(|info| info.name).eq(["b"]));
        assert_eq!(infos.error().map(|error| error.kind()), Some(ErrorKind::Truncated));
        // The iterator stays ended, even if the bytes are valid again.
        infos.file.input = bytes[..].into();
        infos.left = 1;
        assert!(infos.next().is_none());
    }
}
