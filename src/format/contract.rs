//! The contract between a format and the format-independent API: three traits for the type that represents a file.
#![forbid(unsafe_code)]

use super::{
    ComponentRecord, Context, Cursor, Described, ListedShard, Name, Named, Split, Stated, Summary, TensorRecord,
    Wanted,
};
use crate::attributes::Attributes;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::codec::decoder::Decoder;
use crate::error::origin::{Format, Part};
use crate::error::warning::Warnings;
use crate::error::{Error, ErrorKind, Result};

/// A file of one format. The type that represents a file implements this trait. It also implements [`NamedTensors`] or
/// is marked [`OneTensor`], and implements [`Computed`] or is marked [`StoredElements`].
///
/// A [`TensorRecord`] or [`ComponentRecord`] is passed in blank. Fields that a format does not set keep their defaults.
pub(crate) trait FileFormat<'a>: NamedTensors<'a> + Computed<'a> + Copy {
    /// The format that errors report.
    const FORMAT: Format;

    /// True if the format has dense or sparse tensors, respectively. A build in which no format has them omits the code
    /// that reads them.
    const HAS_DENSE: bool = true;
    const HAS_SPARSE: bool = false;

    /// True if [`name_at`](NamedTensors::name_at) also takes the position of a tensor that differs from that of its name.
    const HAS_NAMES_AT_TENSORS: bool = false;

    /// Opens a file whose magic is that of the format. Checks the structure in one pass without reading tensor data, or
    /// stops and reports which bytes are needed first.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self>;

    /// Lists ranges that [`open`](Self::open) is going to request one by one, as far as the bytes in memory show. Nothing
    /// depends on the list: a range that it omits is requested later. An empty list stands for the range that `open` has
    /// requested.
    fn wanted(_input: Input<'a>, _wanted: &mut Wanted<'_>) {}

    /// Reads the summary of the whole file. [`open`](Self::open) has requested all of the metadata. A format that must
    /// read the metadata once more checks it here. The check works in place, because the state of a file with many
    /// tensors is large for the stack of a chip.
    fn read(&mut self, summary: &mut Summary) -> Result<()>;

    /// The bytes of the file.
    fn input(&self) -> Input<'a>;

    /// Returns the same file over other bytes, which are not checked: the bytes of a source to which the caller has
    /// added ranges, or in tests bytes that have changed.
    fn with_input(self, input: Input<'a>) -> Self;

    /// The version as the file states it.
    fn version(&self) -> Option<&'a str>;

    /// The attributes of the file.
    fn attributes(&self) -> Attributes<'a> {
        Attributes::NONE
    }

    /// The statements of a file that is a part of a model. Linear in the attributes.
    fn split(&self) -> Option<Split> {
        None
    }

    /// True if two tensors may have the same name. The first one counts.
    fn may_names_repeat(&self) -> bool {
        false
    }

    /// Reads the next shard that the file lists. Returns `None` after the last. The cursor advances on success.
    fn next_shard(&self, _cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        Ok(None)
    }

    /// Reads the next tensor into `tensor`, a blank record. Returns `false` after the last. The cursor advances on
    /// success.
    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool>;

    /// Reads the tensor at a position that [`next_name`](NamedTensors::next_name) returned into `tensor`, a blank
    /// record. `index` is the tensor's index in the file.
    fn next_tensor_from(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        // The cursor of an iteration just before this tensor. The exact number of tensors left does not matter.
        let mut cursor = Cursor::new(position.into(), 2, index);
        if self.next_tensor(&mut cursor, tensor)? { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }

    /// Uses the caller's memory to complete the checks that were skipped on opening and reported in its warnings:
    /// names, roles, keys, extents. `summary` is the one from opening. Returns the warnings that remain.
    fn check(&self, summary: &Summary, _scratch: &mut [u32]) -> Result<Warnings> {
        Ok(summary.warnings)
    }

    /// The most words that [`check`](Self::check) uses; 0 if nothing is left to check. With this many words, `check`
    /// reads the names, roles, keys or extents only once.
    fn check_length(&self, _summary: &Summary) -> u64 {
        0
    }

    /// Writes the strides of a tensor to `dst`, in elements, and returns the part written. `None` if they follow from the
    /// shape and the order.
    fn strides<'r>(&self, _tensor: &TensorRecord<'a>, _dst: &'r mut [u64]) -> Result<Option<&'r mut [u64]>> {
        Ok(None)
    }

    /// The attributes of a tensor.
    fn tensor_attributes(&self, _tensor: &TensorRecord<'a>) -> Attributes<'a> {
        Attributes::NONE
    }

    /// The scales and zero points by which the elements of a tensor become numbers; `None` if the elements are the
    /// numbers. Fails if the file states some that do not fit the tensor.
    #[cfg(all(feature = "tflite", feature = "dequantize"))]
    fn quantization(&self, _tensor: &TensorRecord<'a>) -> Result<Option<super::Quantization<'a>>> {
        Ok(None)
    }

    /// The element type as the file spells it, if that says more than a dtype.
    fn stated_type(&self, _tensor: &TensorRecord<'a>) -> Option<Stated<'a>> {
        None
    }

    /// Returns the number of bytes that [`describe`](Self::describe) decodes; 0 if nothing has to be decoded.
    fn describe_scratch(&self, _tensor: &TensorRecord<'a>, _decoder: &mut dyn Decoder) -> Result<u64> {
        Ok(0)
    }

    /// Describes an array whose header has to be decoded into `scratch` first. Returns `None` if the record is
    /// complete.
    fn describe<'s>(
        &self,
        _tensor: &TensorRecord<'a>,
        _decoder: &mut dyn Decoder,
        _scratch: &'s mut [u8],
    ) -> Result<Option<Described<'s>>> {
        Ok(None)
    }

    /// Reads the next component of a tensor into `part`, which is blank for the first component, and holds the previous
    /// component for the others. Returns `false` after the last. The cursor advances on success.
    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool>;

    /// The reason why the elements of a tensor with the warning [`UnreadableTensor`](crate::Warning::UnreadableTensor)
    /// cannot be read. Reads the tensor again.
    fn problem(&self, _tensor: &TensorRecord<'a>) -> Option<Error> {
        None
    }

    /// Returns the warnings that [`Tensor::verify`](crate::Tensor::verify) adds to those of the components.
    /// With less memory than [`verify_scratch`](Self::verify_scratch) bytes, the check may find nothing.
    /// Called for chunked arrays and for layouts that this library does not know. Fails if the tensor has no values, or
    /// if data that must be decoded first is invalid.
    fn verify_whole(
        &self,
        _tensor: &TensorRecord<'a>,
        _decoder: &mut dyn Decoder,
        _scratch: &mut [u8],
    ) -> Result<Warnings> {
        Ok(Warnings::default())
    }

    /// The memory that [`verify_whole`](Self::verify_whole) needs, in bytes.
    fn verify_scratch(&self, _tensor: &TensorRecord<'a>) -> u64 {
        0
    }

    /// Reads the part of the file that the message of an error describes. The bytes are neither trusted nor checked:
    /// anything that cannot be read is omitted.
    fn context(input: Input<'a>, error: &Error) -> Context<'a>;
}

/// The names of the tensors. Implemented by a format whose files have many tensors; for the others see [`OneTensor`].
pub(crate) trait NamedTensors<'a> {
    /// Reads the name of the next tensor and skips the rest of its entry, which has already been read once. Returns
    /// `None` after the last. The cursor advances on success.
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>>;

    /// The name at a position that [`next_name`](Self::next_name) returned. Costs no more than comparing the name.
    fn name_at(&self, position: u32) -> Name<'a>;

    /// Reads the tensor at a position that [`next_name`](Self::next_name) returned into `tensor`, a blank record.
    /// `index` is the tensor's index in the file.
    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()>;

    /// Reads the first tensor named `name` into `tensor`, a blank record, or fails with `NotFound`. Formats that can
    /// skip a tensor without reading it override this with a faster search.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()>
    where
        Self: FileFormat<'a>,
    {
        let mut cursor = Cursor::START;
        while self.next_tensor(&mut cursor, tensor)? {
            if tensor.name().eq_bytes(name) {
                return Ok(());
            }
            *tensor = TensorRecord::blank();
        }
        Err(Error::new(ErrorKind::NotFound))
    }
}

/// Marks a format whose files have one tensor, without a name: its name is empty.
pub(crate) trait OneTensor {}

impl<'a, F: OneTensor + FileFormat<'a>> NamedTensors<'a> for F {
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let name = Text::new(&[], false);
        Ok(cursor.is_first().then_some(Named { name, name_at: 0, tensor_at: 0 }))
    }

    fn name_at(&self, _: u32) -> Name<'a> {
        Name::Plain(&[])
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.next_tensor_from(position, index, tensor)
    }

    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let is_it = name.is_empty() && self.next_tensor(&mut { Cursor::START }, tensor)?;
        if is_it { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }
}

/// The elements of tensors that no component stores as numbers: the format decodes or computes them. Implemented by a
/// format with such a layout; for the others see [`StoredElements`].
pub(crate) trait Computed<'a> {
    /// The number of bytes that [`read_whole`](Self::read_whole) writes; `None` if the number cannot be determined.
    fn whole_length(&self, tensor: &TensorRecord<'a>) -> Option<u64>;

    /// The scratch memory that [`read_whole`](Self::read_whole) needs, in bytes.
    fn whole_scratch(&self, tensor: &TensorRecord<'a>) -> Option<u64>;

    /// Writes all elements of a tensor to `dst` and returns the part written. Called for layouts that are neither dense
    /// nor sparse.
    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        dst: &'d mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'d mut [u8]>;
}

/// Marks a format whose components store all elements. Reading a tensor of another layout as a whole is refused.
pub(crate) trait StoredElements {}

impl<'a, F: StoredElements + FileFormat<'a>> Computed<'a> for F {
    fn whole_length(&self, _: &TensorRecord<'a>) -> Option<u64> {
        None
    }

    fn whole_scratch(&self, _: &TensorRecord<'a>) -> Option<u64> {
        None
    }

    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        _: &mut dyn Decoder,
        _: &'d mut [u8],
        _: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        Err(Error::at(ErrorKind::UnsupportedLayout, F::FORMAT, Part::Tensor, tensor.at))
    }
}
