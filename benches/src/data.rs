//! The arrays to compress: 32-bit floats, little-endian, the same in every run.

use std::f64::consts::TAU;

use crate::{COLUMNS, ROWS};

/// A smooth field with two decimals, such as temperatures in kelvin.
pub fn smooth() -> Vec<u8> {
    field(250.0, 20.0, 0.009)
}

/// Weights of a model: normally distributed, with all digits.
pub fn weights() -> Vec<u8> {
    let mut random = Random(1);
    array(|_, _| 0.02 * random.normal())
}

/// A field of smaller numbers with noise.
pub fn noisy() -> Vec<u8> {
    field(20.0, 5.0, 0.04)
}

/// Waves and noise around a mean, rounded to two decimals.
fn field(mean: f64, height: f64, noise: f64) -> Vec<u8> {
    let mut random = Random(1);
    array(|row, column| {
        let wave = (row / 75.0).sin() * (column / 400.0).cos();
        ((mean + height * wave + noise * random.normal()) * 100.0).round() / 100.0
    })
}

fn array(mut element: impl FnMut(f64, f64) -> f64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROWS * COLUMNS * 4);
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            bytes.extend((element(row as f64, column as f64) as f32).to_le_bytes());
        }
    }
    bytes
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number greater than 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number with mean 0 and deviation 1, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}
