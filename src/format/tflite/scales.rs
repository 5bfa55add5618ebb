//! The numbers that quantized integers stand for: scales and zero points.
#![forbid(unsafe_code)]

use super::{TfliteFile, of_tensor};
use crate::bytes::num::Product;
use crate::codec::tflite::schema::{quantization, tensor};
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::format::{Quantization, TensorRecord};
use crate::types::DType;

impl<'a> TfliteFile<'a> {
    /// Returns the scales and zero points of integers; `None` if the elements are their own values. Fails if their number
    /// does not fit the shape, or if the details say that they are not all, or if integers of more than 16 bits have zero
    /// points: then no number can be given.
    pub(super) fn quantization_of(&self, record: &TensorRecord<'a>) -> Result<Option<Quantization<'a>>> {
        let is_integer = record.dtype.is_some_and(is_integer);
        let table = self.table(record)?;
        let Some(found) = table.table(tensor::QUANTIZATION)?.filter(|_| is_integer) else { return Ok(None) };
        let fail = |part| of_tensor(self.error(ErrorKind::UnsupportedLayout, part, table.at), &table);
        let unsupported = fail(Part::Attributes);
        if found.offset(quantization::DETAILS)?.is_some() {
            return Err(unsupported);
        }
        let scales = found.vector(quantization::SCALE, 4)?.unwrap_or_default();
        let zero_points = found.vector(quantization::ZERO_POINT, 8)?.unwrap_or_default();
        if scales.count == 0 {
            return if zero_points.count == 0 { Ok(None) } else { Err(unsupported) };
        }
        if zero_points.count != 0 && zero_points.count != scales.count {
            return Err(unsupported);
        }
        // An integer that is rounded to an f32 before the zero point is taken from it may leave nothing but the error.
        let is_wide = record.dtype.is_some_and(|dtype| dtype.byte_size() > 2);
        if is_wide && zero_points.bytes.iter().any(|byte| *byte != 0) {
            return Err(fail(Part::Value));
        }
        let mut inner = Product::ONE;
        if scales.count > 1 {
            let along = u32::try_from(found.i32(quantization::DIMENSION)?).ok();
            let along = along.filter(|along| record.shape.dimension(*along) == Some(scales.count.into()));
            let Some(along) = along else { return Err(unsupported) };
            let after = record.shape.iter().zip(0_u32..).filter(|(_, number)| *number > along);
            after.for_each(|(length, _)| inner.multiply(length));
        }
        let inner = inner.total().ok_or(unsupported)?;
        Ok(Some(Quantization { scales: scales.bytes, zero_points: zero_points.bytes, inner }))
    }
}

/// True if elements of a dtype are integers, which may be quantized.
const fn is_integer(dtype: DType) -> bool {
    dtype.is_integer() || matches!(dtype, DType::INT4 | DType::UINT4 | DType::INT2 | DType::UINT2)
}
