//! The records of a file, a tensor and a component, and the context of an error, which each format fills in.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
#[cfg(feature = "pytorch")]
use crate::bytes::pickle::frames::Frames;
#[cfg(feature = "pytorch")]
use crate::bytes::pickle::outline::Recent;
#[cfg(feature = "pytorch")]
use crate::bytes::pickle::trail::Trail;
#[cfg(not(target_os = "none"))]
use crate::bytes::text::Phrase;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
#[cfg(feature = "onnx")]
use crate::codec::protobuf::{levels::Levels, numbers::Numbers};
use crate::error::NO_ENTRY;
#[cfg(any(feature = "gguf", feature = "npz"))]
use crate::error::warning::Warning;
use crate::error::warning::Warnings;
use crate::types::shape::Shape;
use crate::types::{ByteOrder, DType, Encoding, Layout, Order};

/// A file as a whole, as its format reports it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) warnings: Warnings,
    pub(crate) tensor_count: u64,
}

impl Summary {
    /// The summary of a file with one tensor and these warnings, given as [`Warning::bit`](crate::Warning::bit)s.
    pub(crate) const fn of_one(warnings: u32) -> Self {
        Self { warnings: Warnings::from_bits(warnings), tensor_count: 1 }
    }
}

/// The position of an iteration over tensors or components, in numbers that each format defines. [`START`](Self::START)
/// is before the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// The position of the next tensor or component.
    pub(crate) at: u64,
    /// The number of tensors or components left, if the format counts them.
    pub(crate) left: u32,
    /// The number of tensors or components read so far.
    pub(crate) index: u32,
    /// The containers or messages around the next tensor.
    #[cfg(any(feature = "pytorch", feature = "onnx"))]
    pub(crate) inside: Inside,
}

/// The containers or messages around a tensor, of a format in which they nest.
#[cfg(any(feature = "pytorch", feature = "onnx"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inside {
    Nothing,
    /// The containers in a pickle, and the values that were last taken from its memo.
    #[cfg(feature = "pytorch")]
    Pickle(Frames, Recent),
    #[cfg(feature = "onnx")]
    Messages(Levels),
}

/// The position of an iteration over components: a [`Cursor`] without what only tensors need.
#[cfg(any(feature = "pytorch", feature = "onnx"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentCursor {
    at: u64,
    left: u32,
    index: u32,
}

#[cfg(any(feature = "pytorch", feature = "onnx"))]
impl ComponentCursor {
    pub(crate) const START: Self = Self { at: 0, left: 0, index: 0 };

    /// Returns what `next` returns for a whole cursor, which moves.
    pub(crate) fn advance<T>(&mut self, next: impl FnOnce(&mut Cursor) -> T) -> T {
        let mut cursor = Cursor::new(self.at, self.left, self.index);
        let result = next(&mut cursor);
        *self = Self { at: cursor.at, left: cursor.left, index: cursor.index };
        result
    }
}

/// The position of an iteration over components. A copy of its fields would take more flash.
#[cfg(not(any(feature = "pytorch", feature = "onnx")))]
pub(crate) type ComponentCursor = Cursor;

impl Cursor {
    pub(crate) const START: Self = Self::new(0, 0, 0);

    pub(crate) const fn new(at: u64, left: u32, index: u32) -> Self {
        Self {
            at,
            left,
            index,
            #[cfg(any(feature = "pytorch", feature = "onnx"))]
            inside: Inside::Nothing,
        }
    }

    /// The containers in a pickle that the next tensor is in, and the values that were last taken from the memo.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn pickle(&self) -> (Frames, Recent) {
        if let Inside::Pickle(frames, recent) = self.inside {
            (frames, recent)
        } else {
            (Frames::START, Recent::NONE)
        }
    }

    #[cfg(feature = "pytorch")]
    pub(crate) const fn set_pickle(&mut self, frames: Frames, recent: Recent) {
        self.inside = Inside::Pickle(frames, recent);
    }

    /// The messages that the next tensor is in.
    #[cfg(feature = "onnx")]
    pub(crate) const fn levels(&self) -> Levels {
        if let Inside::Messages(levels) = self.inside { levels } else { Levels::START }
    }

    #[cfg(feature = "onnx")]
    pub(crate) const fn set_levels(&mut self, levels: Levels) {
        self.inside = Inside::Messages(levels);
    }

    /// Returns what `next` returns for this cursor, which moves.
    #[cfg(not(any(feature = "pytorch", feature = "onnx")))]
    pub(crate) fn advance<T>(&mut self, next: impl FnOnce(&mut Self) -> T) -> T {
        next(self)
    }

    /// Returns true on the first call only. Enough for a format that has one tensor, or one component.
    pub(crate) const fn is_first(&mut self) -> bool {
        core::mem::replace(&mut self.index, 1) == 0
    }
}

/// A tensor as its format reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorRecord<'a> {
    /// The name as the file spells it.
    pub(crate) name: Utf8<'a>,
    /// The layout as the file spells it.
    pub(crate) layout_name: Utf8<'a>,
    pub(crate) shape: Shape<'a>,
    /// The file offset of the tensor's record, or of its data if the format has no such records.
    pub(crate) at: u64,
    /// The tensor's index in the file.
    pub(crate) index: u32,
    /// The warnings, as [`Warning::bit`](crate::Warning::bit)s.
    pub(crate) warnings: u32,
    /// The positions of the components and of the attributes, in numbers that each format defines.
    pub(crate) components: u32,
    pub(crate) attributes: u32,
    pub(crate) dtype: Option<DType>,
    pub(crate) order: Order,
    pub(crate) layout: Layout,
    /// True if the only component of a sparse tensor holds both indices and values.
    pub(crate) is_packed: bool,
    /// True if the name contains JSON escapes.
    #[cfg(feature = "safetensors")]
    pub(crate) is_name_escaped: bool,
    /// The trail of a name in a pickle, if `name` is a part of it.
    #[cfg(feature = "pytorch")]
    pub(crate) trail: Trail,
}

/// The statements of a file that is a part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The index of the part, counted from 0.
    pub index: u64,
    /// The number of parts.
    pub count: u64,
    /// The number of tensors in all parts, if the file states it.
    pub tensors: Option<u64>,
}

/// A shard, a file that holds bytes of components, as another file lists it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedShard<'a> {
    pub(crate) name: &'a str,
    /// The length of the whole file, if it is stated.
    pub(crate) size: Option<u64>,
}

/// An element type as a file spells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stated<'a> {
    pub(crate) text: &'a [u8],
    /// True if bytes beyond ASCII are Latin-1, not UTF-8.
    pub(crate) is_latin_1: bool,
}

/// The description of a tensor's elements. See [`Tensor::describe`](crate::Tensor::describe).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Described<'a> {
    /// The dtype of the elements; `None` if they have none.
    pub dtype: Option<DType>,
    /// The lengths of the dimensions, in the order of the file.
    pub shape: Shape<'a>,
    /// The order of the elements.
    pub order: Order,
    /// The byte order of the elements as they are stored.
    pub byte_order: ByteOrder,
    /// The type of the elements as the file spells it. See [`Tensor::stated_type`](crate::Tensor::stated_type).
    pub stated_type: Option<&'a [u8]>,
    /// True if bytes of `stated_type` beyond ASCII are Latin-1, as in NPY before version 3.0; otherwise they are UTF-8.
    pub is_latin_1: bool,
    /// The warnings about the tensor, including those that only its header gives.
    pub warnings: Warnings,
}

/// The scales and zero points of integers: an element stands for the difference to its zero point, times its scale.
#[cfg(all(feature = "tflite", feature = "dequantize"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantization<'a> {
    /// An `f32` for the whole tensor, or for each index of a dimension.
    pub(crate) scales: &'a [u8],
    /// The zero points: as many `i64`, or none. Then all are 0.
    pub(crate) zero_points: &'a [u8],
    /// The number of elements, one after the other, that have one scale; 1 if there is only one scale.
    pub(crate) inner: u64,
}

impl<'a> TensorRecord<'a> {
    /// A dense, row-major scalar without a name.
    #[cfg_attr(small, inline(never))] // a single copy: the record is large
    pub(crate) fn blank() -> Self {
        Self {
            name: Utf8::new(""),
            layout_name: Utf8::new("dense"),
            shape: Shape::SCALAR,
            at: 0,
            index: 0,
            warnings: 0,
            components: 0,
            attributes: 0,
            dtype: None,
            order: Order::RowMajor,
            layout: Layout::Dense,
            is_packed: false,
            #[cfg(feature = "safetensors")]
            is_name_escaped: false,
            #[cfg(feature = "pytorch")]
            trail: Trail::NONE,
        }
    }

    #[cfg(feature = "safetensors")]
    pub(crate) const fn set_name(&mut self, name: Text<'a>) {
        self.name = Utf8::of(name);
        self.is_name_escaped = name.is_escaped();
    }

    /// Sets a name that may be the path to a value of a pickle.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn set_text(&mut self, name: Text<'a>) {
        self.name = Utf8::known(name.raw());
        self.trail = name.trail();
    }

    /// The name with its escapes decoded.
    pub(crate) const fn name(&self) -> Text<'a> {
        #[cfg(feature = "pytorch")]
        if !self.trail.is_none() {
            return Text::joined(self.name.bytes(), self.trail);
        }
        #[cfg(feature = "safetensors")]
        return Text::new(self.name.bytes(), self.is_name_escaped);
        #[cfg(not(feature = "safetensors"))]
        Text::new(self.name.bytes(), false)
    }

    /// Marks a tensor whose elements cannot be read. The format provides the reason.
    #[cfg(any(feature = "gguf", feature = "npz"))]
    pub(crate) fn set_unreadable(&mut self, layout_name: &'static str) {
        self.layout = Layout::Other;
        self.layout_name = Utf8::new(layout_name);
        self.warnings = Warning::UnreadableTensor.bit();
    }

    /// Sets a layout that the file does not spell out.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
        self.layout_name = Utf8::new(layout.text());
    }
}

/// A rule for the values of a component's decoded bytes, besides the digest.
#[cfg(feature = "ztensor2")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Any bytes.
    Any,
    /// Only 0 and 1.
    Bools,
    /// The upper half of the last byte is 0: the number of 4-bit elements is odd.
    OddHalves,
}

/// A component as its format reports it: where its bytes are and how to read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentRecord<'a> {
    /// The role without its number. Role `core` with number 7 is `core.7`, a string that is not in the file.
    pub(crate) role: Utf8<'a>,
    #[cfg(feature = "blz")]
    pub(crate) number: Option<u8>,
    /// The dtype of the elements; `None` if the format does not state it.
    pub(crate) dtype: Option<DType>,
    /// The dtype that the elements are stored as. Differs from `dtype` if the file also states a logical type.
    pub(crate) storage: Option<DType>,
    pub(crate) order: ByteOrder,
    pub(crate) extent: Extent,
    pub(crate) encoding: Encoding,
    pub(crate) encoding_name: Utf8<'a>,
    /// The number of bytes after decoding; `None` if the file does not state it.
    pub(crate) decoded_length: Option<u64>,
    /// The digest as the file spells it.
    pub(crate) digest: Option<Utf8<'a>>,
    /// The CRC-32 of the decoded bytes of this extent, which contains the component and possibly more.
    #[cfg(any(feature = "npz", feature = "pytorch"))]
    pub(crate) crc32: Option<(u32, Extent)>,
    /// The name, as this file spells it, of the other file that contains the extent.
    #[cfg(any(feature = "ztensor2", feature = "onnx", feature = "tflite"))]
    pub(crate) shard: Option<Utf8<'a>>,
    /// The numbers of a protobuf message that the elements are decoded from.
    #[cfg(feature = "onnx")]
    pub(crate) numbers: Numbers,
    /// The content check for the decoded bytes. If it is `None`, the digest covers the stored bytes.
    #[cfg(feature = "ztensor2")]
    pub(crate) decoded: Option<Contents>,
    /// The warnings, as `Warning::tensor_bit`s.
    pub(crate) warnings: u8,
    /// The file offset of the component's record.
    pub(crate) at: u64,
    /// The distance of that record from the start of the tensor's record; [`NO_ENTRY`] if there is none.
    pub(crate) entry_distance: u32,
}

impl<'a> ComponentRecord<'a> {
    /// A component of raw little-endian bytes called `data`.
    #[cfg_attr(small, inline(never))] // a single copy: the record is large
    pub(crate) fn blank() -> Self {
        Self::recorded_at(0, NO_ENTRY)
    }

    /// A blank component whose record is at `at`. (A constant would take as much flash again, to be copied from.)
    #[inline]
    fn recorded_at(at: u64, entry_distance: u32) -> Self {
        Self {
            role: Utf8::new("data"),
            #[cfg(feature = "blz")]
            number: None,
            dtype: None,
            storage: None,
            order: ByteOrder::Little,
            extent: Extent::new(0, 0),
            encoding: Encoding::Raw,
            encoding_name: Utf8::new("raw"),
            decoded_length: None,
            digest: None,
            #[cfg(any(feature = "npz", feature = "pytorch"))]
            crc32: None,
            #[cfg(any(feature = "ztensor2", feature = "onnx", feature = "tflite"))]
            shard: None,
            #[cfg(feature = "onnx")]
            numbers: Numbers::NONE,
            #[cfg(feature = "ztensor2")]
            decoded: None,
            warnings: 0,
            at,
            entry_distance,
        }
    }

    /// Makes the record blank, except for its position.
    #[cfg_attr(small, inline(never))] // a single copy, and in place
    pub(crate) fn reset(&mut self, at: u64, entry_distance: u32) {
        *self = Self::recorded_at(at, entry_distance);
    }

    /// Sets the position of the component's bytes, which are stored raw. Errors also point there, since the component
    /// has no record of its own.
    pub(crate) fn set_extent(&mut self, extent: Extent) {
        self.extent = extent;
        self.decoded_length = Some(extent.length);
        self.at = extent.offset;
    }

    /// The role with its number.
    pub(crate) fn role(&self) -> Utf8<'a> {
        #[cfg(feature = "blz")]
        if let Some(number) = self.number {
            return Utf8::new(super::blz::role(number));
        }
        self.role
    }

    pub(crate) fn has_role(&self, role: &[u8]) -> bool {
        #[cfg(feature = "blz")]
        if let Some(number) = self.number {
            return is_numbered(role, self.role.bytes(), number);
        }
        self.role.bytes() == role
    }
}

/// Returns true if `role` is `word`, a dot and `number`.
#[cfg(feature = "blz")]
fn is_numbered(role: &[u8], word: &[u8], number: u8) -> bool {
    let digits = role.strip_prefix(word).and_then(|rest| rest.strip_prefix(b"."));
    let Some(digits @ ([b'0'] | [b'1'..=b'9', ..])) = digits else { return false };
    let value = digits.iter().try_fold(0_u32, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| value.saturating_mul(10).saturating_add(u32::from(digit)))
    });
    value == Some(u32::from(number))
}

/// A description of the place in a file where an error occurred, as far as it can still be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context<'a> {
    /// The version that the file states.
    pub(crate) version: Option<Utf8<'a>>,
    /// The name of the tensor concerned.
    pub(crate) tensor: Option<Text<'a>>,
    /// The role of the component concerned.
    pub(crate) role: Option<Utf8<'a>>,
    pub(crate) offset: Option<u64>,
    pub(crate) length: Option<u64>,
    pub(crate) decoded_length: Option<u64>,
    pub(crate) encoding: Option<Utf8<'a>>,
    pub(crate) shape: Option<Shape<'a>>,
    pub(crate) dtype: Option<Utf8<'a>>,
    /// The number of bytes that the shape and the dtype require.
    pub(crate) expected_length: Option<u64>,
    /// The missing key or role.
    pub(crate) missing: Option<Utf8<'a>>,
    /// The string or number at the offset of the error.
    pub(crate) text: Option<Text<'a>>,
    pub(crate) number: Option<u64>,
    /// The rule in terms of the format, if that is more specific than the wording for all formats.
    pub(crate) rule: Option<&'static str>,
    /// Additional advice for the user.
    pub(crate) hint: Option<&'static str>,
    /// The key of the attribute concerned.
    #[cfg(not(target_os = "none"))]
    pub(crate) attribute: Option<Text<'a>>,
    /// A sentence with numbers that replaces the rule.
    #[cfg(not(target_os = "none"))]
    pub(crate) phrase: Option<Phrase>,
    /// The minimum file length that the contents require. It exceeds the actual length if the file was truncated.
    #[cfg(not(target_os = "none"))]
    pub(crate) needed: Option<u64>,
}

#[cfg(all(test, feature = "blz"))]
mod tests {
    use std::format;

    use super::{ComponentRecord, Utf8};

    #[test]
    fn numbered_roles() {
        let of =
            |number| ComponentRecord { role: Utf8::new("core"), number: Some(number), ..ComponentRecord::blank() };
        for number in 0..=u8::MAX {
            let part = of(number);
            assert!(part.has_role(part.role().bytes()), "{number}");
            let others =
                ["core", "core.", "data", "core.256", "core.1:", "core.-1", "core.+1", "core.1 ", "core.4294967296"];
            let others = others.into_iter().map(str::as_bytes);
            assert!(!others.into_iter().any(|role| part.has_role(role)), "{number}");
            for role in [format!("core.0{number}"), format!("core.{number}0"), format!("Core.{number}")] {
                let is_another = part.has_role(role.as_bytes()) && role != format!("core.{number}");
                assert!(!is_another, "{number} {role}");
            }
        }
    }
}
