//! Quantizes to the block types of ggml, bit for bit as its `quantize_row_*_ref`.
//!
//! gguf-py gives the same bytes with one exception: for a block of zeros whose first number is -0, it writes the scale
//! +0, and ggml -0. Where ggml's C is undefined, because the inverse of a scale is infinite, all numbers become zeros.

use half::f16;
use tenslice::blocks::BlockType;

use super::Fault;

/// The number of elements in a block of every type that can be written.
pub const ELEMENTS: usize = 32;

/// The scale of a block, and the number that is subtracted first: a number is `quantized * scale + least`.
#[derive(Debug)]
struct Scale {
    scale: f32,
    /// 1 / scale, or 0 if that is infinite.
    inverse: f32,
    least: f32,
}

impl Scale {
    /// The scale of numbers from `least` on.
    fn new(scale: f32, least: f32) -> Self {
        let inverse = 1.0 / scale;
        Self { scale, inverse: if inverse.is_finite() { inverse } else { 0.0 }, least }
    }

    /// The scale of a block. The scales of Q4_0 and Q5_0 map the number of the largest magnitude, the first of several,
    /// to the least integer.
    fn of(block_type: BlockType, numbers: &[f32]) -> Self {
        let extreme = || numbers.iter().fold(0.0_f32, |most, x| if x.abs() > most.abs() { *x } else { most });
        let range = || {
            let least = numbers.iter().fold(f32::MAX, |least, x| if *x < least { *x } else { least });
            let most = numbers.iter().fold(-f32::MAX, |most, x| if *x > most { *x } else { most });
            (least, most)
        };
        match block_type {
            BlockType::Q4_0 => Self::new(extreme() / -8.0, 0.0),
            BlockType::Q5_0 => Self::new(extreme() / -16.0, 0.0),
            BlockType::Q4_1 => {
                let (least, most) = range();
                Self::new((most - least) / 15.0, least)
            }
            BlockType::Q5_1 => {
                let (least, most) = range();
                Self::new((most - least) / 31.0, least)
            }
            _ => Self::new(extreme().abs() / 127.0, 0.0),
        }
    }
}

/// Fails if a number is not finite, or if `f16` cannot hold the scale of a block. The numbers begin with element
/// `first`, at the beginning of a block.
pub fn check(block_type: BlockType, first: u64, numbers: &[f32]) -> Result<(), Fault> {
    Fault::check_finite(first, numbers)?;
    for (block, element) in numbers.chunks_exact(ELEMENTS).zip((first..).step_by(ELEMENTS)) {
        let Scale { scale, least, .. } = Scale::of(block_type, block);
        let is_large = |x: &f32| f16::from_f32(*x).is_infinite();
        if let Some(large) = [scale, least].iter().find(|x| is_large(x)) {
            let reason = format!("begins a block whose scale {large} is above the largest f16, 65504");
            return Err(Fault { element, reason });
        }
    }
    Ok(())
}

/// Appends the blocks of whole blocks of numbers to `out`.
pub fn quantize(block_type: BlockType, numbers: &[f32], out: &mut Vec<u8>) {
    for block in numbers.chunks_exact(ELEMENTS) {
        let scale = Scale::of(block_type, block);
        out.extend(f16::from_f32(scale.scale).to_le_bytes());
        match block_type {
            BlockType::Q4_0 => put_nibbles(&integers(block, &scale, 8.5, 15), out),
            BlockType::Q5_0 => put_fives(&integers(block, &scale, 16.5, 31), out),
            BlockType::Q4_1 => {
                out.extend(f16::from_f32(scale.least).to_le_bytes());
                put_nibbles(&integers(block, &scale, 0.5, 15), out);
            }
            BlockType::Q5_1 => {
                out.extend(f16::from_f32(scale.least).to_le_bytes());
                put_fives(&integers(block, &scale, 0.5, 31), out);
            }
            // Half away from zero.
            _ => out.extend(block.iter().map(|x| (x * scale.inverse).round() as i8 as u8)),
        }
    }
}

/// The integers of a block: scaled, moved by `offset`, truncated, and at most `most`.
fn integers(block: &[f32], scale: &Scale, offset: f32, most: u8) -> [u8; ELEMENTS] {
    let mut all = [0; ELEMENTS];
    for (integer, x) in all.iter_mut().zip(block) {
        *integer = (((x - scale.least) * scale.inverse + offset) as u8).min(most);
    }
    all
}

/// Appends integers of 4 bits: elements 0 to 15 are the low halves of the bytes, the others the high halves.
fn put_nibbles(integers: &[u8; ELEMENTS], out: &mut Vec<u8>) {
    let (low, high) = integers.split_at(ELEMENTS / 2);
    out.extend(low.iter().zip(high).map(|(low, high)| low & 15 | high << 4));
}

/// Appends integers of 5 bits: their fifth bits, and then the others.
fn put_fives(integers: &[u8; ELEMENTS], out: &mut Vec<u8>) {
    let fifth = integers.iter().rev().fold(0_u32, |bits, integer| bits << 1 | u32::from(integer >> 4));
    out.extend(fifth.to_le_bytes());
    put_nibbles(integers, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenslice::blocks::dequantize;

    /// The block types that numbers can be quantized to.
    const TYPES: [BlockType; 5] =
        [BlockType::Q8_0, BlockType::Q4_0, BlockType::Q4_1, BlockType::Q5_0, BlockType::Q5_1];

    fn quantized(block_type: BlockType, numbers: &[f32; ELEMENTS]) -> Vec<u8> {
        let mut out = Vec::new();
        quantize(block_type, numbers, &mut out);
        assert_eq!(out.len() as u64, block_type.bytes());
        out
    }

    #[test]
    fn ends_and_ties() {
        // A scale of 1: ties are rounded away from zero.
        let mut numbers = [0.0; ELEMENTS];
        (numbers[0], numbers[1], numbers[2], numbers[31]) = (127.0, 2.5, -2.5, -127.0);
        let block = quantized(BlockType::Q8_0, &numbers);
        assert_eq!(block[..5], [0, 0x3c, 127, 3, 253]);
        assert_eq!(block[33], 129);
        // The first of two extremes has the sign of the scale, and the other one is clipped.
        (numbers[0], numbers[1], numbers[2], numbers[31]) = (8.0, -8.0, 0.5, 0.0);
        assert_eq!(quantized(BlockType::Q4_0, &numbers)[..5], [0, 0xbc, 0x80, 0x8f, 0x88]);
        let block = quantized(BlockType::Q5_0, &numbers);
        assert_eq!((&block[..2], &block[6..9]), (&[0, 0xb8][..], &[0, 0xf, 0xf][..]));
        assert_eq!(u32::from_le_bytes([block[2], block[3], block[4], block[5]]), u32::MAX - 0b101);
    }

    #[test]
    fn zeros() {
        for (block_type, scale) in TYPES.into_iter().zip([0, 0x80, 0, 0x80, 0]) {
            for zero in [0.0, -0.0] {
                let block = quantized(block_type, &[zero; ELEMENTS]);
                assert_eq!(block[..2], [0, scale], "{block_type}");
                let mut numbers = [1.0; ELEMENTS];
                dequantize(block_type, &block, 0, &mut numbers).unwrap();
                assert_eq!(numbers, [0.0; ELEMENTS], "{block_type}");
            }
        }
    }

    /// The inverse of the scale would be infinite.
    #[test]
    fn tiny_numbers_become_zeros() {
        for block_type in TYPES {
            let mut numbers = [0.0; ELEMENTS];
            (numbers[3], numbers[4]) = (1e-44, -1e-44);
            let block = quantized(block_type, &numbers);
            dequantize(block_type, &block, 0, &mut numbers).unwrap();
            assert_eq!(numbers, [0.0; ELEMENTS], "{block_type}");
        }
    }

    #[test]
    fn faults() {
        let at = |block_type, index: usize, x: f32| {
            let mut numbers = [0.0; 3 * ELEMENTS];
            numbers[index] = x;
            check(block_type, 64, &numbers).map_err(|fault| fault.element)
        };
        for block_type in TYPES {
            for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                assert_eq!(at(block_type, 40, x), Err(104), "{block_type}");
            }
            assert_eq!(at(block_type, 40, f32::MAX), Err(96), "{block_type}");
            assert_eq!(at(block_type, 40, 65503.0), Ok(()), "{block_type}");
        }
        assert_eq!(at(BlockType::Q8_0, 95, 65519.0 * 127.0), Ok(()));
        assert_eq!(at(BlockType::Q8_0, 95, 65520.0 * 127.0), Err(128));
        // The least number is stored besides the scale.
        assert_eq!(at(BlockType::Q4_1, 95, -65520.0), Err(128));
        assert_eq!(at(BlockType::Q4_1, 95, 65520.0), Ok(()));
    }
}
