//! Elements that are not one after the other.
#![forbid(unsafe_code)]

use super::tensor::Described;
use super::{PytorchFile, fail};
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::decoder::Decoder;
use crate::codec::strided;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::format::{ComponentRecord, Computed, Cursor, FileFormat, TensorRecord};

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
        if u64::from(tensor.shape.rank()) > to_u64(strided::MOST) {
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
        let changed = refused(ErrorKind::OutOfPlace);
        let (sizes, strides) = described.sizes(pickle).zip(described.strides(pickle)).ok_or(changed)?;
        strided::gather(sizes.iter().zip(strides), dtype, data, dst).ok_or(changed)?;
        self.byte_order().to_native(dst, dtype);
        Ok(dst)
    }
}
