//! The ternary types: blocks of 256 numbers that are -1, 0 or 1 times the scale.
#![forbid(unsafe_code)]

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, transmute_mut, transmute_ref};

use super::binary16;

/// A block of TQ1_0: four or five base-3 digits in each byte.
#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Ternary {
    by_32: [u8; 32],
    by_16: [u8; 16],
    by_4: [u8; 4],
    d: U16,
}

/// The numbers of a block: the first digits of some bytes, then their second digits, and so on.
#[derive(FromBytes, IntoBytes, KnownLayout)]
#[repr(C)]
struct TernaryNumbers {
    by_32: [[f32; 32]; 5],
    by_16: [[f32; 16]; 5],
    by_4: [[f32; 4]; 4],
}

/// Writes the numbers of a TQ1_0 block.
pub fn tq1_0_to_f32(block: &[u8; 54], dst: &mut [f32; 256]) {
    let Ternary { by_32, by_16, by_4, d } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut TernaryNumbers = transmute_mut!(dst);
    digits(by_32, d, &mut dst.by_32);
    digits(by_16, d, &mut dst.by_16);
    digits(by_4, d, &mut dst.by_4);
}

/// Writes the numbers of the digits, the most significant digits first. A byte is a fraction with denominator 256, in
/// base 3: multiplying it by three carries the next digit out of the byte.
fn digits<const BYTES: usize, const DIGITS: usize>(bytes: &[u8; BYTES], d: f32, dst: &mut [[f32; BYTES]; DIGITS]) {
    let mut fractions = *bytes;
    for numbers in dst {
        for (number, fraction) in numbers.iter_mut().zip(&mut fractions) {
            let [rest, digit] = u16::from(*fraction).wrapping_mul(3).to_le_bytes();
            *fraction = rest;
            *number = (f32::from(digit) - 1.0) * d;
        }
    }
}

/// Writes the numbers of a TQ2_0 block: digits of 2 bits.
pub fn tq2_0_to_f32(block: &[u8; 66], dst: &mut [f32; 256]) {
    let [qs @ .., d0, d1] = block;
    let d = binary16(U16::from_bytes([*d0, *d1]));
    let qs: &[[u8; 32]; 2] = transmute_ref!(qs);
    let dst: &mut [[[f32; 32]; 4]; 2] = transmute_mut!(dst);
    for (dst, qs) in dst.iter_mut().zip(qs) {
        for (dst, shift) in dst.iter_mut().zip([0, 2, 4, 6]) {
            for (number, q) in dst.iter_mut().zip(qs) {
                *number = (f32::from(q.wrapping_shr(shift) & 3) - 1.0) * d;
            }
        }
    }
}
