//! The microscaling formats of the Open Compute Project, as zTensor 2 stores them: layout `zt.mx/1`.
//!
//! A tensor consists of blocks of small floats or integers. Each block has a scale, a power of two by which its
//! elements are multiplied. The attributes state the size of the blocks and the dimension along which they run.
#![forbid(unsafe_code)]

use super::to_f32;
use crate::bytes::num::{quotient, remainder, to_usize};
use crate::codec::decoder::Decoder;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::types::float;
use crate::types::{ByteOrder, DType, Encoding};
use crate::view::component::Component;
use crate::view::tensor::Tensor;

/// The parts of a tensor that [`Tensor::read_f32_into`] and [`Tensor::read_f32_range`] read.
pub(super) struct Scaled<'a> {
    data: Component<'a>,
    scales: Component<'a>,
    dtype: DType,
    /// The number of elements in a block.
    block: u64,
}

impl<'a> Scaled<'a> {
    /// Checks the components, attributes and sizes against the profile.
    ///
    /// # Errors
    /// `UnsupportedLayout` if the attributes differ, or if the blocks run along a dimension other than the last, for
    /// which the profile does not define the order of the scales. `WrongType` if the profile does not list the type of
    /// the elements.
    pub(super) fn of(tensor: &Tensor<'a>) -> Result<Self> {
        let (data, scales) = (tensor.component("data")?, tensor.component("scales")?);
        let dtype = match data.dtype() {
            Some(dtype @ (DType::F4_E2M1 | DType::F8_E4M3FN | DType::F8_E5M2 | DType::I8)) => dtype,
            _ => return Err(tensor.error(ErrorKind::WrongType)),
        };
        if scales.dtype() != Some(DType::F8_E8M0) {
            return Err(tensor.error(ErrorKind::WrongType));
        }
        let attributes = tensor.attributes();
        let unsupported = || tensor.error(ErrorKind::UnsupportedLayout);
        let last = tensor.shape().rank().checked_sub(1).ok_or_else(unsupported)?;
        let along = tensor.shape().dimension(last).ok_or_else(unsupported)?;
        let block = attributes.get_u64("block_size").filter(|block| *block >= 2 && remainder(along, *block) == 0);
        let block = block.ok_or_else(unsupported)?;
        let axis = attributes.get("axis").map_or(Some(u64::from(last)), |_| attributes.get_u64("axis"));
        if axis != Some(last.into()) || attributes.get_str("scale_form") != Some("e8m0_exponent") {
            return Err(unsupported());
        }
        let count = tensor.shape().element_count().ok_or_else(|| tensor.error(ErrorKind::ShapeOverflow))?;
        let is_as_long = data.decoded_length() == dtype.byte_length(count)
            && scales.decoded_length() == Some(quotient(count, block));
        if !is_as_long {
            return Err(tensor.error(ErrorKind::SizeMismatch));
        }
        Ok(Self { data, scales, dtype, block })
    }

    /// Returns the scratch memory that [`read`](Self::read) needs: the decoded size of encoded components.
    pub(super) fn scratch(&self) -> Option<u64> {
        let of = |part: &Component<'_>| if is_raw(part) { Some(0) } else { part.decoded_length() };
        of(&self.data)?.checked_add(of(&self.scales)?)
    }

    /// Reads all elements, decoding components that are stored encoded.
    pub(super) fn read(&self, decoder: &mut dyn Decoder, dst: &mut [f32], scratch: &mut [u8]) -> Result<()> {
        let mut scratch = &mut *scratch; // reborrowed for this call only
        let data = self.data.decoded(decoder, &mut scratch)?;
        let scales = self.scales.decoded(decoder, &mut scratch)?;
        self.convert(data, scales, 0, dst)
    }

    /// Reads elements from number `first` on; the components must be stored raw.
    pub(super) fn read_range(&self, first: u64, dst: &mut [f32]) -> Result<()> {
        self.convert(self.data.bytes()?, self.scales.bytes()?, first, dst)
    }

    fn convert(&self, data: &[u8], scales: &[u8], first: u64, dst: &mut [f32]) -> Result<()> {
        self.to_f32(data, scales, first, dst).ok_or_else(|| self.data.error(ErrorKind::PartialElement, Part::Length))
    }

    fn to_f32(&self, data: &[u8], scales: &[u8], first: u64, mut dst: &mut [f32]) -> Option<()> {
        // Integers are fixed-point numbers with 6 fraction bits.
        let unit = if self.dtype == DType::I8 { 1.0 / 64.0 } else { 1.0 };
        to_f32(data, first, self.dtype, ByteOrder::Little, dst)?;
        let mut left = self.block.saturating_sub(remainder(first, self.block)); // in the first block
        for scale in scales.get(to_usize(quotient(first, self.block))?..)? {
            let length = to_usize(left).map_or(dst.len(), |left| left.min(dst.len()));
            let (block, rest) = dst.split_at_mut_checked(length)?;
            let scale = float::f8_e8m0_to_f32(*scale) * unit;
            block.iter_mut().for_each(|number| *number *= scale);
            (dst, left) = (rest, self.block);
            if dst.is_empty() {
                break;
            }
        }
        dst.is_empty().then_some(())
    }
}

fn is_raw(part: &Component<'_>) -> bool {
    part.encoding() == Encoding::Raw
}
