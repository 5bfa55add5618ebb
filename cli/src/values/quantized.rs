//! Integers that stand for other numbers: those of TFLite models, by scales and zero points.

use tenslice::{DType, Tensor};

use super::Values;
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::Opened;

/// The attributes of which a quantized tensor has one at least.
const ATTRIBUTES: [&str; 4] = ["scale", "zero_point", "custom", "block_size"];

/// Returns true if the elements of a tensor are not its numbers: reading them as `f32` gives these numbers, or fails.
pub fn is_quantized(opened: &Opened<'_>, tensor: &Tensor<'_>) -> bool {
    let is_packed = |dtype| matches!(dtype, DType::INT4 | DType::UINT4 | DType::INT2 | DType::UINT2);
    opened.file.as_tflite().is_some()
        && tensor.dtype().is_some_and(|dtype| dtype.is_integer() || is_packed(dtype))
        && ATTRIBUTES.iter().any(|key| tensor.attributes().get(key).is_some())
}

impl<'a> Values<'a> {
    /// Prepares to read the numbers of a tensor.
    pub fn of<'m: 'a>(opened: &'a Opened<'m>, tensor: &Tensor<'m>, budget: &'a Budget) -> Result<Self, Failure> {
        Self::new(opened, tensor, budget, is_quantized(opened, tensor))
    }

    /// Prepares to read the elements as they are stored: quantized integers without their scales.
    pub fn stored<'m: 'a>(opened: &'a Opened<'m>, tensor: &Tensor<'m>, budget: &'a Budget) -> Result<Self, Failure> {
        Self::new(opened, tensor, budget, false)
    }
}
