//! The integers that CMSIS-NN and TensorFlow Lite Micro take besides 8-bit weights: biases of 32 bits, and the factors
//! that convert sums to the scale of the output. `examples/requantize.h` has the same arithmetic in C.

/// The factor `real` as a multiplier and a shift: `real` is about `multiplier / 2^31 * 2^shift`. `None` if the factor is
/// too large.
pub fn multiplier(real: f64) -> Option<(i32, i32)> {
    const EXPONENT_BITS: u64 = 0x7ff;
    const HALF: u64 = 0x3fe;
    let exponent = real.to_bits() >> 52 & EXPONENT_BITS;
    // From 0.5 on, below 1.
    let fraction = f64::from_bits(real.to_bits() & !(EXPONENT_BITS << 52) | HALF << 52);
    let mut shift = exponent as i32 - HALF as i32;
    let mut fixed = (fraction * 2_f64.powi(31)).round() as i64;
    if fixed == 1 << 31 {
        fixed /= 2;
        shift += 1;
    }
    match shift {
        ..-31 => Some((0, 0)), // 0 has the least exponent
        31.. => None,
        _ => Some((fixed as i32, shift)),
    }
}

/// A bias as an integer of the scale `scale`: rounded, half away from zero. `None` if 32 bits cannot hold it.
pub fn bias(bias: f32, scale: f64) -> Option<i32> {
    let rounded = (f64::from(bias) / scale).round();
    let is_small = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&rounded);
    is_small.then_some(rounded as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers() {
        for (real, expected) in [
            (0.5, Some((1 << 30, 0))),
            (1.0, Some((1 << 30, 1))),
            (0.75, Some((3 << 29, 0))),
            (0.001, Some((1_099_511_628, -9))),
            // Rounds up to 1.
            (1.0 - f64::EPSILON, Some((1 << 30, 1))),
            (2.0_f64.powi(-32), Some((1 << 30, -31))),
            (2.0_f64.powi(-33), Some((0, 0))),
            (0.0, Some((0, 0))),
            (1e-310, Some((0, 0))),
            (2.0_f64.powi(29), Some((1 << 30, 30))),
            (2.0_f64.powi(30), None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(multiplier(real), expected, "{real}");
        }
    }

    #[test]
    fn biases() {
        assert_eq!([1.0, -1.25, 1.25, 0.0].map(|x| bias(x, 0.5)), [2, -3, 3, 0].map(Some));
        assert_eq!(bias(1.0, 1.0 / f64::from(i32::MAX)), Some(i32::MAX));
        assert_eq!(bias(1.0, 1e-10), None);
        assert_eq!(bias(f32::NAN, 1.0), None);
    }
}
