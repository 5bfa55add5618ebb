//! The elements of sparse tensors, and the files that hold data.
#![forbid(unsafe_code)]

use super::graphs::{self, Walk};
use super::sparse::Rising;
use super::tensor::Proto;
use super::{FORMAT, OnnxFile, offset};
use crate::bytes::num::to_usize;
use crate::bytes::source::ParseContext;
use crate::codec::decoder::Decoder;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{ComponentRecord, Computed, Cursor, FileFormat, ListedShard, TensorRecord};
use crate::types::{DType, Encoding};

const SPARSE: &[u8] = b"onnx.sparse";

/// The size of the largest element in bytes.
const LARGEST: usize = 16;

/// Returns the next file that holds data of tensors. A file is listed again behind data in another one.
pub(super) fn next_shard<'a>(file: &OnnxFile<'a>, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
    let opening = ParseContext::of(file.input);
    let mut walk = Walk::at(&opening, file.graph(), file.nodes(), cursor);
    let location = |at: u64| {
        let Some(found) = graphs::found_at(&opening, file.graph(), at)?.filter(|found| !found.is_sparse) else {
            return Ok(None);
        };
        Proto::read(&opening, found.message)?.location(&opening)
    };
    // The index of the cursor is the place of the last tensor with data elsewhere.
    let last = if cursor.index == 0 { None } else { location(cursor.index.into()).ok().flatten() };
    let mut next = || {
        while let Some(found) = walk.next()? {
            let name = location(found.at)?;
            if name.is_some() && name != last {
                return Ok(name.map(|name| (name, found.at)));
            }
        }
        Ok(None)
    };
    let Some((name, at)) = next().map_err(|stop| opening.error(stop))? else { return Ok(None) };
    walk.save(cursor);
    cursor.index = offset(at);
    Ok(Some(ListedShard { name: name.as_str(), size: None }))
}

/// A component of a sparse tensor, with its bytes.
struct Column<'a> {
    part: ComponentRecord<'a>,
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Column<'a> {
    fn next(file: &OnnxFile<'a>, tensor: &TensorRecord<'a>, cursor: &mut Cursor) -> Result<Self> {
        let mut part = ComponentRecord::blank();
        let fail = |kind| Error::at(kind, FORMAT, Part::Component, tensor.at);
        if !file.next_component(tensor, cursor, &mut part)? {
            return Err(fail(ErrorKind::MissingComponent));
        }
        if part.shard.is_some() {
            return Err(fail(ErrorKind::InShard));
        }
        let bytes = file.input.get(part.extent).ok_or_else(|| fail(ErrorKind::NotInMemory))?;
        Ok(Self { part, bytes, at: tensor.at })
    }

    /// Calls `f` with the bits of each index.
    fn each(&self, f: impl FnMut(u64) -> core::result::Result<(), ErrorKind>) -> Result<()> {
        let read = if self.part.encoding == Encoding::Raw {
            let numbers = self.bytes.chunks_exact(8).filter_map(|bytes| bytes.first_chunk());
            numbers.map(|number| u64::from_le_bytes(*number)).try_for_each(f)
        } else {
            self.part.numbers.each(self.part.encoding, self.bytes, DType::I64, f)
        };
        read.map_err(|kind| Error::at(kind, FORMAT, Part::Component, self.at))
    }

    /// Writes the elements to `dst`.
    fn copy_to(&self, dst: &mut [u8], dtype: DType) -> Result<()> {
        if self.part.encoding == Encoding::Raw {
            dst.iter_mut().zip(self.bytes).for_each(|(to, from)| *to = *from);
            return Ok(());
        }
        let read = self.part.numbers.decode(self.part.encoding, self.bytes, dtype, dst);
        read.map_err(|kind| Error::at(kind, FORMAT, Part::Component, self.at))
    }
}

/// Calls `f` with the linear index of each value of a sparse tensor, in ascending order.
fn each_index<'a>(
    file: &OnnxFile<'a>,
    tensor: &TensorRecord<'a>,
    indices: &Column<'a>,
    mut f: impl FnMut(u64) -> Option<()>,
) -> Result<()> {
    let mut rising = Rising::new(tensor.shape, file.has_linear_indices(tensor)?);
    indices.each(|number| match rising.add(number)? {
        Some(index) => f(index).ok_or(ErrorKind::IndexOutOfRange),
        None => Ok(()),
    })
}

/// Checks the indices of a tensor, if it is sparse.
pub(super) fn check_indices<'a>(file: &OnnxFile<'a>, tensor: &TensorRecord<'a>) -> Result<()> {
    if tensor.layout_name.bytes() != SPARSE {
        return Ok(());
    }
    let mut cursor = Cursor::START;
    cursor.index = 1;
    let indices = Column::next(file, tensor, &mut cursor)?;
    each_index(file, tensor, &indices, |_| Some(()))
}

impl<'a> Computed<'a> for OnnxFile<'a> {
    fn whole_length(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        let is_sparse = tensor.layout_name.bytes() == SPARSE;
        let dtype = tensor.dtype.filter(|dtype| is_sparse && !dtype.is_packed())?;
        dtype.byte_length(tensor.shape.element_count()?)
    }

    fn whole_scratch(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        self.whole_length(tensor).map(|_| 0)
    }

    /// Writes the values of a sparse tensor to the end of `dst`. From there each moves to its place, which is never
    /// behind: the indices ascend.
    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        _: &mut dyn Decoder,
        dst: &'d mut [u8],
        _: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        let refused = |kind| Error::at(kind, FORMAT, Part::Tensor, tensor.at);
        let length = self.whole_length(tensor).ok_or(refused(ErrorKind::UnsupportedLayout))?;
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length)).ok_or(refused(ErrorKind::TooSmall))?;
        let dtype = tensor.dtype.ok_or(refused(ErrorKind::UnsupportedLayout))?;
        let mut cursor = Cursor::START;
        let values = Column::next(self, tensor, &mut cursor)?;
        let indices = Column::next(self, tensor, &mut cursor)?;
        let stored = values.part.decoded_length.and_then(to_usize).unwrap_or(usize::MAX);
        let start = dst.len().checked_sub(stored).ok_or(refused(ErrorKind::IndexOutOfRange))?;
        values.copy_to(dst.get_mut(start..).unwrap_or_default(), dtype)?;
        let size = dtype.size().and_then(to_usize).unwrap_or(1);
        let (mut from, mut filled) = (start, 0_usize);
        each_index(self, tensor, &indices, |index| {
            let to = to_usize(index)?.checked_mul(size)?;
            let mut value = [0_u8; LARGEST];
            let value = value.get_mut(..size)?;
            let stored = dst.get(from..)?.get(..size)?;
            value.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
            dst.get_mut(filled..to)?.fill(0);
            let place = dst.get_mut(to..)?.get_mut(..size)?;
            place.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
            (from, filled) = (from.checked_add(size)?, to.checked_add(size)?);
            Some(())
        })?;
        dst.get_mut(filled..).unwrap_or_default().fill(0);
        Ok(dst)
    }
}
