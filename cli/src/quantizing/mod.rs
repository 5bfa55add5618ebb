//! The arithmetic of quantizing: all in `f32`, each operation rounded by itself, no fused multiply-add.
//!
//! `blocks` has the block types of ggml, `int8` integers with one scale, `requantize` the integers that CMSIS-NN takes
//! besides, and `errors` the statistics of the error.

pub mod blocks;
pub mod errors;
pub mod int8;
pub mod requantize;

use tenslice::DType;
use tenslice::blocks::{BlockType, dequantize};

use int8::Scales;

/// The reason why a number cannot be quantized, and its index.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub element: u64,
    pub reason: String,
}

impl Fault {
    /// Fails at the first number that is not finite.
    pub fn check_finite(first: u64, numbers: &[f32]) -> Result<(), Self> {
        match numbers.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let kind = if numbers[at].is_nan() { "NaN" } else { "infinite" };
                Err(Self { element: first + at as u64, reason: format!("is {kind}, which cannot be quantized") })
            }
        }
    }
}

/// The type to which a tensor is quantized.
#[derive(Clone, Debug)]
pub enum Quantizer {
    Blocks(BlockType),
    Int8(Scales),
}

impl Quantizer {
    /// The name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blocks(block_type) => block_type.layout_name().trim_start_matches("gguf."),
            Self::Int8(_) => DType::I8.name(),
        }
    }

    /// Appends the quantized numbers to `out`. The numbers begin with element `first`, for blocks with a whole block.
    pub fn quantize(&self, first: u64, numbers: &[f32], out: &mut Vec<u8>) {
        match self {
            Self::Blocks(block_type) => blocks::quantize(*block_type, numbers, out),
            Self::Int8(scales) => scales.quantize(first, numbers, out),
        }
    }

    /// Writes the numbers that quantized ones stand for to `numbers`.
    pub fn dequantize(&self, first: u64, quantized: &[u8], numbers: &mut [f32]) {
        match self {
            Self::Blocks(block_type) => _ = dequantize(*block_type, quantized, 0, numbers),
            Self::Int8(scales) => scales.dequantize(first, quantized, numbers),
        }
    }
}
