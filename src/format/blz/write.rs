//! Writes BLZ1: the header, the lengths, the bond dimensions, and the cores without gaps.
#![forbid(unsafe_code)]

use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, check_single};
use crate::types::DType;
use crate::write::declaration::{Checked, Declarations, NewLayout, NewTensor, Refusal};
use crate::write::out::Out;

pub(crate) struct BlzWriter;

impl FormatWriter for BlzWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        check_single(file)
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        let NewLayout::Train { dtype, ranks } = tensor.layout else {
            return Err(Refusal::not_in_format(Part::Layout));
        };
        if !matches!(dtype, DType::F64 | DType::C128) {
            return Err(Refusal::not_in_format(Part::DType));
        }
        if !matches!(tensor.shape.len(), 1..=255) {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        if ranks.len() != tensor.shape.len().saturating_add(1) {
            return Err(Refusal::new(ErrorKind::RankMismatch, Part::BondDimension));
        }
        for (numbers, part) in [(tensor.shape, Part::Shape), (ranks, Part::BondDimension)] {
            if numbers.contains(&0) {
                return Err(Refusal::new(ErrorKind::ZeroLength, part));
            }
        }
        if let ([1, ..], [.., 1]) = (ranks, ranks) {
            return Ok(());
        }
        Err(Refusal::new(ErrorKind::BoundaryRank, Part::BondDimension))
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(0) else { return };
        let NewLayout::Train { dtype, ranks } = tensor.layout else { return };
        out.bytes(b"BLZ1\x01");
        let dimensions = u8::try_from(tensor.shape.len()).unwrap_or(u8::MAX);
        out.bytes(&[u8::from(dtype == DType::C128), dimensions]);
        out.zeros(8);
        tensor.shape.iter().chain(ranks).for_each(|number| out.u64(*number));
    }
}
