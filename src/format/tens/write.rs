//! Writes TENS 1.0: the header, the dimensions, and a chunk with the elements in column-major order, or pairs.
//!
//! Names of indices are the letters from `a` on, as the programs that write TENS number them.
#![forbid(unsafe_code)]

use super::{BIG, IX, MAX_DIMENSIONS, NUMBER_TYPES, VERSION_1_0};
use crate::bytes::num::{padding, quotient, to_u64};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, Stage, check_single};
use crate::types::DType;
use crate::write::declaration::{Checked, Declarations, NewLayout, NewTensor, Refusal};
use crate::write::out::Out;
use crate::write::sum::Sum;

pub(crate) struct TensWriter;

impl FormatWriter for TensWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        check_single(file)
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        let (NewLayout::Dense(dtype) | NewLayout::Pairs { dtype, .. }) = tensor.layout else {
            return Err(Refusal::not_in_format(Part::Layout));
        };
        if Number::of(dtype).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        let is_long = |length: &u64| u32::try_from(*length).is_err();
        if tensor.shape.iter().any(is_long) || to_u64(tensor.shape.len()) > quotient(MAX_DIMENSIONS, 8) {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        let volume = tensor.element_count().ok_or(Refusal::new(ErrorKind::ShapeOverflow, Part::Shape))?;
        match tensor.layout {
            NewLayout::Pairs { count, .. } if count > volume => {
                Err(Refusal::new(ErrorKind::TooManyPairs, Part::Pairs))
            }
            _ => Ok(()),
        }
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(0) else { return };
        let (dtype, pairs) = match tensor.layout {
            NewLayout::Dense(dtype) => (dtype, None),
            NewLayout::Pairs { dtype, count } => (dtype, Some(count)),
            _ => return,
        };
        let Some(number) = Number::of(dtype) else { return };
        out.bytes(b"TENS");
        out.u32(VERSION_1_0);
        out.bytes(number.kind.as_bytes());
        out.u32(number.width);
        out.u32(number.lanes);
        out.u32(u32::try_from(tensor.shape.len()).unwrap_or(u32::MAX));
        out.u32(if pairs.is_some() { IX } else { 0 });
        out.u32(0);
        let mut name = b'a';
        for length in tensor.shape {
            out.u32(u32::try_from(*length).unwrap_or(u32::MAX));
            out.bytes(&[name, 0, 0, 0]);
            name = name.wrapping_add(1);
        }
        match pairs {
            Some(count) => out.u64(count),
            None => {
                let length = tensor.length().unwrap_or(u64::MAX);
                out.bytes(b"DENSDATA");
                out.u64(length.saturating_add(padding(length, 8)).saturating_add(16));
            }
        }
    }

    fn after(&self, file: &dyn Declarations, _: Stage, _: &Sum, out: &mut Out<'_>) {
        if file.tensor(0).is_ok_and(|tensor| matches!(tensor.layout, NewLayout::Dense(_))) {
            out.pad(8);
        }
    }
}

/// The description of an element in the header.
struct Number {
    kind: &'static str,
    width: u32,
    lanes: u32,
}

impl Number {
    /// Returns the description of a dtype; `None` if the format does not have the dtype.
    fn of(dtype: DType) -> Option<Self> {
        let (number, lanes) = match dtype {
            DType::C64 => (DType::F32, 2),
            DType::C128 => (DType::F64, 2),
            _ => (dtype.number(), 1_u32.wrapping_shl(dtype.log2_lanes())),
        };
        let width = 1_u32.wrapping_shl(number.log2_size());
        let has_width =
            |kind: u8| DType::from_keyword(kind).and_then(|least| least.widened_to(width)) == Some(number);
        let mut kinds = NUMBER_TYPES;
        let (kind, _) = Iterator::find(&mut kinds, |(_, kind)| kind & BIG == 0 && has_width(*kind))?;
        Some(Self { kind: core::str::from_utf8(kind).ok()?, width, lanes })
    }
}
