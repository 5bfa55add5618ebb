//! The order of the dimensions in the data, and the elements of tensors that are neither row-major nor column-major.
#![forbid(unsafe_code)]

use super::{PtdFile, fail};
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::decoder::Decoder;
use crate::codec::strided;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{ComponentRecord, Computed, Cursor, FileFormat, TensorRecord};
use crate::types::{ByteOrder, Layout};

/// The order of the dimensions, from the outermost in the data to the innermost.
#[derive(Clone, Copy)]
pub(super) enum DimOrder<'a> {
    RowMajor,
    ColumnMajor,
    Other(&'a [u8]),
}

impl<'a> DimOrder<'a> {
    /// Returns an order; `None` if it lacks a dimension. A list of bytes names at most 256.
    pub(super) fn of(order: &'a [u8]) -> Option<Self> {
        let (mut is_rising, mut is_falling, mut seen) = (true, true, [0_u32; 8]);
        let mut left = order.len();
        for (number, place) in order.iter().zip(0_usize..) {
            left = left.wrapping_sub(1);
            let dimension = usize::from(*number);
            is_rising &= dimension == place;
            is_falling &= dimension == left;
            let word = seen.get_mut(dimension >> 5)?;
            let bit = 1_u32.wrapping_shl(u32::from(*number));
            if *word & bit != 0 || dimension >= order.len() {
                return None;
            }
            *word |= bit;
        }
        Some(match (is_rising, is_falling) {
            (true, _) => Self::RowMajor,
            (_, true) => Self::ColumnMajor,
            _ => Self::Other(order),
        })
    }
}

impl<'a> PtdFile<'a> {
    /// Writes the strides of a tensor to `dst`; `None` if they follow from its shape and its order.
    pub(super) fn strides_of<'r>(
        &self,
        tensor: &TensorRecord<'a>,
        dst: &'r mut [u64],
    ) -> Result<Option<&'r mut [u64]>> {
        let layout = self.entry(tensor.components)?.layout;
        let Some(DimOrder::Other(order)) = layout.map(|layout| layout.order) else { return Ok(None) };
        let dst = dst.get_mut(..order.len()).ok_or(Error::new(ErrorKind::TooSmall))?;
        dst.iter_mut().zip(tensor.shape).for_each(|(stride, length)| *stride = length);
        let mut next = 1_u64;
        for dimension in order.iter().rev() {
            let Some(stride) = dst.get_mut(usize::from(*dimension)) else { continue }; // a permutation: always there
            // The product of a shape without elements may exceed 64 bits. Then no stride is used.
            let after = next.saturating_mul(*stride);
            *stride = next;
            next = after;
        }
        Ok(Some(dst))
    }
}

impl<'a> Computed<'a> for PtdFile<'a> {
    fn whole_length(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        let is_strided = tensor.layout == Layout::Strided;
        tensor.dtype.filter(|_| is_strided)?.byte_length(tensor.shape.element_count()?)
    }

    fn whole_scratch(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        (tensor.layout == Layout::Strided).then_some(0)
    }

    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        _: &mut dyn Decoder,
        dst: &'d mut [u8],
        _: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        let refused = |kind| fail(kind, Part::Tensor, tensor.at);
        let unsupported = refused(ErrorKind::UnsupportedLayout);
        let length = self.whole_length(tensor).ok_or(unsupported)?;
        let dtype = tensor.dtype.ok_or(unsupported)?;
        if u64::from(tensor.shape.rank()) > to_u64(strided::MOST) {
            return Err(fail(ErrorKind::TooMany, Part::Shape, tensor.at));
        }
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length)).ok_or(refused(ErrorKind::TooSmall))?;
        let mut part = ComponentRecord::blank();
        self.next_component(tensor, &mut { Cursor::START }, &mut part)?;
        let missing = fail(ErrorKind::NotInMemory, Part::Data, part.extent.offset);
        let data = self.input.get(part.extent).ok_or(missing)?;
        let mut strides = [0; strided::MOST];
        let strides = self.strides_of(tensor, &mut strides)?.ok_or(unsupported)?;
        let dimensions = tensor.shape.iter().zip(strides.iter().copied());
        strided::gather(dimensions, dtype, data, dst).ok_or(refused(ErrorKind::OutOfPlace))?;
        ByteOrder::Little.to_native(dst, dtype);
        Ok(dst)
    }
}
