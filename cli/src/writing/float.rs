//! Conversion to floats of fewer bits.

use half::{bf16, f16};
use tenslice::DType;

use crate::values::number::each_number;

/// The floats that `--dtype` converts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Float {
    F16,
    Bf16,
    F32,
}

impl Float {
    pub fn dtype(self) -> DType {
        match self {
            Self::F16 => DType::F16,
            Self::Bf16 => DType::BF16,
            Self::F32 => DType::F32,
        }
    }
}

/// The message for an element that cannot be converted.
pub fn too_large(element: u64, float: Float) -> String {
    let name = float.dtype().name();
    format!("element {element} is finite and would become infinite as {name}; write f32, or leave the tensor out")
}

/// Rounds to an `f32`, to the odd neighbour unless the number is exact: rounding the result to fewer bits gives the
/// same as rounding the number itself. (`f16::from_f64` rounds wrongly where the machine has no instruction for it.)
fn rounded_to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) == number || number.is_nan() {
        return nearest;
    }
    let is_above = f64::from(nearest).abs() > number.abs();
    let towards_zero = if is_above { nearest.to_bits() - 1 } else { nearest.to_bits() };
    f32::from_bits(towards_zero | 1)
}

/// Converts floats, each rounded once to the nearest, ties to even; to bf16 through f32. Fails with the index of a
/// finite number that would become infinite.
pub fn convert(dtype: DType, bytes: &[u8], float: Float, out: &mut Vec<u8>) -> Result<(), u64> {
    let (mut index, mut failed) = (0, None);
    each_number(dtype, bytes, |number| {
        let is_infinite = match float {
            Float::F16 => {
                let half = f16::from_f32(rounded_to_odd(number));
                out.extend(half.to_le_bytes());
                half.is_infinite()
            }
            Float::Bf16 => {
                let brain = bf16::from_f32(number as f32);
                out.extend(brain.to_le_bytes());
                brain.is_infinite()
            }
            Float::F32 => {
                let single = number as f32;
                out.extend(single.to_le_bytes());
                single.is_infinite()
            }
        };
        if is_infinite && number.is_finite() && failed.is_none() {
            failed = Some(index);
        }
        index += 1;
    });
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(number: f64, float: Float) -> Result<u16, u64> {
        let mut out = Vec::new();
        convert(DType::F64, &number.to_ne_bytes(), float, &mut out)?;
        Ok(u16::from_le_bytes([out[0], out[1]]))
    }

    #[test]
    fn numbers_are_rounded_once() {
        for (number, half) in [
            (1.0, 0x3c00),
            (-0.0, 0x8000),
            // Halfway between two neighbours: to even. A little more or less: to the nearer one. Rounding to f32 first
            // would make all of them halfway.
            (1.0 + 2.0_f64.powi(-11), 0x3c00),
            (1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-50), 0x3c01),
            (1.0 + 3.0 * 2.0_f64.powi(-11) - 2.0_f64.powi(-50), 0x3c01),
            (1.0 + 3.0 * 2.0_f64.powi(-11), 0x3c02),
            // Subnormal numbers.
            (2.0_f64.powi(-24), 1),
            (2.0_f64.powi(-25), 0),
            (2.0_f64.powi(-25) + 2.0_f64.powi(-70), 1),
            (1e-300, 0),
            (65519.999, 0x7bff),
            (f64::INFINITY, 0x7c00),
        ] {
            assert_eq!(converted(number, Float::F16), Ok(half), "{number}");
        }
        assert_eq!(converted(65520.0, Float::F16), Err(0));
        assert_eq!(converted(1e300, Float::F16), Err(0));
        assert_eq!(converted(-1e39, Float::Bf16), Err(0));
        assert_eq!(converted(1.0, Float::Bf16), Ok(0x3f80));
        assert!(f16::from_bits(converted(f64::NAN, Float::F16).unwrap()).is_nan());
    }

    #[test]
    fn halves_stay_as_they_are() {
        for bits in 0..=u16::MAX {
            let number = f16::from_bits(bits);
            if !number.is_nan() {
                assert_eq!(converted(number.into(), Float::F16), Ok(bits));
            }
        }
    }
}
