//! A tensor: its fields, and the rules that they must follow. Validated and read by the same code.
#![forbid(unsafe_code)]

use super::FORMAT;
use super::dims::Dims;
use super::external::{Elsewhere, Pair};
use super::schema::{self, tensor};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::codec::protobuf::numbers::Numbers;
use crate::codec::protobuf::{Field, Reader};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::ComponentRecord;
use crate::types::shape::Shape;
use crate::types::{DType, Encoding};

/// The dtypes by their numbers, and the typed field that may hold the elements of each. The dtype of texts is `None`.
const TYPES: [(Option<DType>, u32); 28] = [
    (Some(DType::F32), tensor::FLOAT_DATA),
    (Some(DType::U8), tensor::INT32_DATA),
    (Some(DType::I8), tensor::INT32_DATA),
    (Some(DType::U16), tensor::INT32_DATA),
    (Some(DType::I16), tensor::INT32_DATA),
    (Some(DType::I32), tensor::INT32_DATA),
    (Some(DType::I64), tensor::INT64_DATA),
    (None, tensor::STRING_DATA),
    (Some(DType::BOOL), tensor::INT32_DATA),
    (Some(DType::F16), tensor::INT32_DATA),
    (Some(DType::F64), tensor::DOUBLE_DATA),
    (Some(DType::U32), tensor::UINT64_DATA),
    (Some(DType::U64), tensor::UINT64_DATA),
    (Some(DType::C64), tensor::FLOAT_DATA),
    (Some(DType::C128), tensor::DOUBLE_DATA),
    (Some(DType::BF16), tensor::INT32_DATA),
    (Some(DType::F8_E4M3FN), tensor::INT32_DATA),
    (Some(DType::F8_E4M3FNUZ), tensor::INT32_DATA),
    (Some(DType::F8_E5M2), tensor::INT32_DATA),
    (Some(DType::F8_E5M2FNUZ), tensor::INT32_DATA),
    (Some(DType::UINT4), tensor::INT32_DATA),
    (Some(DType::INT4), tensor::INT32_DATA),
    (Some(DType::F4_E2M1), tensor::INT32_DATA),
    (Some(DType::F8_E8M0), tensor::INT32_DATA),
    (Some(DType::UINT2), tensor::INT32_DATA),
    (Some(DType::INT2), tensor::INT32_DATA),
    (Some(DType::F6_E2M3), tensor::INT32_DATA),
    (Some(DType::F6_E3M2), tensor::INT32_DATA),
];

/// The place and the form of the elements.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// The elements, one after the other.
    Here(Extent),
    /// Numbers that must be decoded.
    Encoded(Encoding, Extent, Numbers),
    /// Texts, each in a field of the message.
    Texts(Extent),
    /// In another file, which the fields of the message name.
    Elsewhere(Extent),
}

/// A tensor's message, as far as it matters.
#[derive(Clone, Copy)]
pub(super) struct Proto {
    message: Extent,
    /// The last field with a name.
    pub(super) name: Option<Field>,
    pub(super) dims: Dims,
    /// The number of the dtype.
    kind: Option<Field>,
    raw: Option<Field>,
    /// The first field with elements besides `raw`, and the first one of another number.
    typed: Option<Field>,
    other: Option<Field>,
    /// The number of fields with elements, and of the bytes of their values; of texts, only of the fields.
    pieces: u64,
    bytes: u64,
    location: Option<Field>,
    segment: Option<Field>,
}

impl Proto {
    /// Reads all fields of a tensor.
    pub(super) fn read(opening: &ParseContext<'_>, message: Extent) -> ParseResult<Self> {
        let mut fields = Reader::new(opening, FORMAT, message);
        let mut proto = Self {
            message,
            name: None,
            dims: Dims::NONE,
            kind: None,
            raw: None,
            typed: None,
            other: None,
            pieces: 0,
            bytes: 0,
            location: None,
            segment: None,
        };
        while let Some(field) = fields.next(schema::TENSOR)? {
            match field.number {
                tensor::DIMS => proto.dims.add(&fields, &field)?,
                tensor::DATA_TYPE => proto.kind = Some(field),
                tensor::SEGMENT => proto.segment = Some(field),
                tensor::NAME => proto.name = Some(field),
                tensor::RAW_DATA => proto.raw = Some(field),
                tensor::DATA_LOCATION => proto.location = Some(field),
                tensor::METADATA => check_pair(opening, &fields, &field)?,
                tensor::FLOAT_DATA
                | tensor::INT32_DATA
                | tensor::INT64_DATA
                | tensor::DOUBLE_DATA
                | tensor::UINT64_DATA => {
                    let length = fields.position().saturating_sub(field.place);
                    if length > 0 {
                        proto.add(&field, length);
                    }
                }
                tensor::STRING_DATA => proto.add(&field, 0),
                _ => {}
            }
        }
        Ok(proto)
    }

    /// Adds a field with elements.
    fn add(&mut self, field: &Field, length: u64) {
        let first = *self.typed.get_or_insert(*field);
        if first.number != field.number {
            self.other = self.other.or(Some(*field));
        }
        self.pieces = self.pieces.saturating_add(1);
        self.bytes = self.bytes.saturating_add(length);
    }

    /// Checks the tensor, and returns its dtype and the place of its elements.
    pub(super) fn check(&self, opening: &ParseContext<'_>) -> ParseResult<(Option<DType>, Place)> {
        let fields = Reader::new(opening, FORMAT, self.message);
        let start = self.message.offset;
        let fail = |kind, part, at| Err(fields.fail(kind, part, at));
        if let Some(segment) = self.segment {
            return fail(ErrorKind::UnsupportedChunk, Part::Chunk, segment.at);
        }
        let Some(kind) = self.kind else { return fail(ErrorKind::MissingKey, Part::DType, start) };
        let known = kind.value.checked_sub(1).and_then(to_usize).and_then(|kind| TYPES.get(kind));
        let Some((dtype, of_kind)) = known.copied() else {
            return fail(ErrorKind::UnknownDType, Part::DType, kind.at);
        };
        let count = self.dims.product.total();
        let bits = |dtype: DType| count.and_then(|count| count.checked_mul(dtype.bits()));
        let (Some(count), true) = (count, dtype.is_none_or(|dtype| bits(dtype).is_some())) else {
            return fail(ErrorKind::ShapeOverflow, Part::Shape, self.dims.at(start));
        };
        let length = dtype.and_then(|dtype| dtype.byte_length(count)).unwrap_or(0);
        let raw = self.raw.filter(|raw| raw.value > 0);
        let data = raw.or(self.typed);
        match self.location {
            Some(location) if location.value > 1 => return fail(ErrorKind::UnknownFlags, Part::Data, location.at),
            Some(location) if location.value == 1 => {
                if let Some(data) = data {
                    return fail(ErrorKind::UnexpectedData, Part::Data, data.at);
                }
                if dtype.is_none() {
                    return fail(ErrorKind::UnexpectedData, Part::DType, kind.at);
                }
                let elsewhere = Elsewhere::read(opening, self.message, length)?;
                return Ok((dtype, Place::Elsewhere(elsewhere.extent)));
            }
            _ => {}
        }
        if let Some(second) = if raw.is_some() { self.typed } else { self.other } {
            return fail(ErrorKind::UnexpectedData, Part::Data, second.at);
        }
        match (data, raw) {
            (None, _) if count > 0 => fail(ErrorKind::MissingData, Part::Data, start),
            (Some(data), _) if count == 0 => fail(ErrorKind::UnexpectedData, Part::Data, data.at),
            (None, _) => Ok((dtype, Place::Here(Extent::new(start, 0)))),
            (Some(_), Some(raw)) if dtype.is_none() => fail(ErrorKind::TypeMismatch, Part::Data, raw.at),
            (Some(_), Some(raw)) if raw.value != length => fail(ErrorKind::SizeMismatch, Part::Length, raw.at),
            (Some(_), Some(raw)) => Ok((dtype, Place::Here(raw.extent()))),
            (Some(typed), None) if typed.number != of_kind => fail(ErrorKind::TypeMismatch, Part::Data, typed.at),
            (Some(typed), None) => match self.place(&typed, dtype, count, length) {
                Some(place) => Ok((dtype, place)),
                None => fail(ErrorKind::SizeMismatch, Part::Length, typed.at),
            },
        }
    }

    /// Returns the place of elements that are not raw. `None` if they are not as many as the shape requires, as far as
    /// their length tells.
    fn place(&self, typed: &Field, dtype: Option<DType>, count: u64, length: u64) -> Option<Place> {
        let Some(dtype) = dtype else {
            return (self.pieces == count).then_some(Place::Texts(self.message));
        };
        let run = Some(typed.extent()).filter(|_| typed.has_length() && self.pieces == 1);
        let is_fixed = matches!(typed.number, tensor::FLOAT_DATA | tensor::DOUBLE_DATA);
        if is_fixed && self.bytes != length {
            return None;
        }
        if let Some(run) = run.filter(|_| is_fixed) {
            return Some(Place::Here(run));
        }
        let per_number = match dtype {
            DType::F6_E2M3 | DType::F6_E3M2 => count,
            _ if dtype.is_packed() => length,
            DType::C64 | DType::C128 => count.saturating_mul(2),
            _ => count,
        };
        // A number takes at least a byte.
        let count = u32::try_from(per_number).ok().filter(|_| per_number <= self.bytes)?;
        let encoding = if is_fixed { Encoding::Fixed } else { Encoding::Varint };
        Some(match run {
            Some(run) => Place::Encoded(encoding, run, Numbers { count, field: 0 }),
            None => Place::Encoded(encoding, self.message, Numbers { count, field: typed.number }),
        })
    }

    /// Fills in the record of the component that has the elements.
    pub(super) fn fill<'a>(&self, opening: &ParseContext<'a>, part: &mut ComponentRecord<'a>) -> ParseResult<()> {
        let (dtype, place) = self.check(opening)?;
        (part.dtype, part.storage) = (dtype, dtype);
        let length = dtype.zip(self.dims.product.total()).and_then(|(dtype, count)| dtype.byte_length(count));
        match place {
            Place::Here(extent) => part.set_extent(extent),
            Place::Texts(message) => part.set_extent(message),
            Place::Encoded(encoding, extent, numbers) => {
                part.set_extent(extent);
                (part.encoding, part.encoding_name) = (encoding, Utf8::new(encoding.text()));
                (part.decoded_length, part.numbers) = (length, numbers);
            }
            Place::Elsewhere(extent) => {
                part.set_extent(extent);
                let elsewhere = Elsewhere::read(opening, self.message, extent.length)?;
                part.shard = Some(elsewhere.location);
                part.at = self.message.offset;
            }
        }
        Ok(())
    }
}

impl Proto {
    /// Returns the dtype, unless it is unknown or of texts.
    pub(super) fn dtype(&self) -> Option<DType> {
        TYPES.get(to_usize(self.kind?.value.checked_sub(1)?)?)?.0
    }

    /// Returns the name of the file that has the elements, if they are in another file.
    pub(super) fn location<'a>(&self, opening: &ParseContext<'a>) -> ParseResult<Option<Utf8<'a>>> {
        match self.check(opening)?.1 {
            Place::Elsewhere(extent) => Ok(Some(Elsewhere::read(opening, self.message, extent.length)?.location)),
            _ => Ok(None),
        }
    }

    /// Returns the shape of the tensor.
    pub(super) fn shape<'a>(&self, opening: &ParseContext<'a>) -> ParseResult<Shape<'a>> {
        self.dims.shape::<{ tensor::DIMS }>(opening, self.message)
    }
}

/// The name of the layout of elements that must be decoded.
pub(super) fn layout_of(encoding: Encoding) -> Utf8<'static> {
    Utf8::new(if encoding == Encoding::Varint { "onnx.varint" } else { "onnx.fixed" })
}

/// Checks an entry of metadata, whose key and value are texts.
pub(super) fn check_pair(opening: &ParseContext<'_>, fields: &Reader<'_, '_>, field: &Field) -> ParseResult<()> {
    let pair = Pair::read(opening, field.extent())?;
    let part = if is_utf8(pair.key) { Part::Value } else { Part::Key };
    if is_utf8(pair.key) && is_utf8(pair.value) {
        return Ok(());
    }
    Err(fields.fail(ErrorKind::InvalidUtf8, part, field.at))
}
