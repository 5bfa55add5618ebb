//! Elements that are not one after the other.
#![forbid(unsafe_code)]

use super::tensor::Described;
use super::{PytorchFile, fail};
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::decoder::Decoder;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::format::{ComponentRecord, Computed, Cursor, FileFormat, TensorRecord};
use crate::types::DType;

/// The most dimensions of a view that is read. In torch, no operation takes a tensor with more.
const MOST: usize = 64;

/// Copies the elements of a view to `dst`, row after row. `data` begins with the first element of the view, and `dst`
/// has as many bytes as the elements. `None` if an element is outside `data`, because the bytes have changed.
fn gather(described: &Described, pickle: &[u8], data: &[u8], dtype: DType, dst: &mut [u8]) -> Option<()> {
    let size = to_usize(dtype.size()?)?;
    // The length, the stride and the index of each dimension.
    let mut dimensions = [(0_u64, 0_u64, 0_u64); MOST];
    let mut rank = 0_usize;
    for (length, stride) in described.sizes(pickle)?.iter().zip(described.strides(pickle)?) {
        *dimensions.get_mut(rank)? = (length, stride, 0);
        rank = rank.checked_add(1)?;
    }
    let dimensions = dimensions.get_mut(..rank)?;
    let mut at = 0_u64;
    let mut rest = dst;
    while let Some((element, after)) = rest.split_at_mut_checked(size).filter(|_| size > 0) {
        rest = after;
        let start = to_usize(at.checked_mul(to_u64(size))?)?;
        let from = data.get(start..)?.get(..size)?;
        element.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        for (length, stride, index) in dimensions.iter_mut().rev() {
            *index = index.wrapping_add(1);
            if *index < *length {
                at = at.wrapping_add(*stride);
                break;
            }
            at = at.wrapping_sub(stride.wrapping_mul(index.wrapping_sub(1)));
            *index = 0;
        }
    }
    Some(())
}

impl<'a> Computed<'a> for PytorchFile<'a> {
    fn whole_length(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        let is_strided = tensor.layout == crate::types::Layout::Strided;
        tensor.dtype.filter(|_| is_strided)?.byte_length(tensor.shape.element_count()?)
    }

    fn whole_scratch(&self, tensor: &TensorRecord<'a>) -> Option<u64> {
        (tensor.layout == crate::types::Layout::Strided).then_some(0)
    }

    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        _: &mut dyn Decoder,
        dst: &'d mut [u8],
        _: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        let refused = |kind| fail(kind, Part::Tensor, tensor.at);
        let length = self.whole_length(tensor).ok_or(refused(ErrorKind::UnsupportedLayout))?;
        if u64::from(tensor.shape.rank()) > to_u64(MOST) {
            return Err(fail(ErrorKind::TooMany, Part::Shape, tensor.at));
        }
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length)).ok_or(refused(ErrorKind::TooSmall))?;
        let dtype = tensor.dtype.ok_or(refused(ErrorKind::UnsupportedLayout))?;
        let mut part = ComponentRecord::blank();
        self.next_component(tensor, &mut { Cursor::START }, &mut part)?;
        let missing = fail(ErrorKind::NotInMemory, Part::Data, part.extent.offset);
        let data = self.input.get(part.extent).ok_or(missing)?;
        let (base, in_constants) = self.base(tensor);
        let pickle = self.pickle(in_constants);
        let described =
            Described::of(&mut self.machine(in_constants), &base).map_err(|fault| self.error(in_constants, fault))?;
        gather(&described, pickle, data, dtype, dst).ok_or(refused(ErrorKind::OutOfPlace))?;
        self.byte_order().to_native(dst, dtype);
        Ok(dst)
    }
}
