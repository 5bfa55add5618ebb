//! Blocks of 32, 64 and 128 numbers.
//!
//! Four functions are never inlined, which makes them 1.1 to 2 times as fast on x86-64: inside the loop over the
//! blocks, LLVM would unroll them and compute one number of four blocks at a time, whose bytes it would fetch one by
//! one.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{U16, U32};
use zerocopy::{transmute, transmute_mut, transmute_ref};

use super::binary16;
use super::layout::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1};
use crate::types::float;

/// The values that IQ4 types select from: `kvalues_iq4nl` of ggml (MIT licence, see `grids.rs`).
const IQ4_VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Writes the numbers of a Q4_0 block.
#[inline(never)]
pub fn q4_0_to_f32(block: &[u8; 18], dst: &mut [f32; 32]) {
    let Q4_0 { d, qs } = transmute_ref!(block);
    let d = binary16(*d);
    each_half(qs, dst, |q| (f32::from(q) - 8.0) * d);
}

/// Writes the numbers of a Q4_1 block.
#[inline(never)]
pub fn q4_1_to_f32(block: &[u8; 20], dst: &mut [f32; 32]) {
    let Q4_1 { d, m, qs } = transmute_ref!(block);
    let (d, m) = (binary16(*d), binary16(*m));
    each_half(qs, dst, |q| f32::from(q) * d + m);
}

/// Writes the numbers of a Q5_0 block.
#[inline(never)]
pub fn q5_0_to_f32(block: &[u8; 22], dst: &mut [f32; 32]) {
    let Q5_0 { d, qh, qs } = transmute_ref!(block);
    let d = binary16(*d);
    each_of_5_bits(*qh, qs, dst, |q| (q - 16.0) * d);
}

/// Writes the numbers of a Q5_1 block.
#[inline(never)]
pub fn q5_1_to_f32(block: &[u8; 24], dst: &mut [f32; 32]) {
    let Q5_1 { d, m, qh, qs } = transmute_ref!(block);
    let (d, m) = (binary16(*d), binary16(*m));
    each_of_5_bits(*qh, qs, dst, |q| q * d + m);
}

/// Writes the numbers of a Q8_0 block.
pub fn q8_0_to_f32(block: &[u8; 34], dst: &mut [f32; 32]) {
    let Q8_0 { d, qs } = transmute_ref!(block);
    let d = binary16(*d);
    dst.iter_mut().zip(qs).for_each(|(number, q)| *number = f32::from(*q) * d);
}

/// Writes the numbers of a Q8_1 block.
pub fn q8_1_to_f32(block: &[u8; 36], dst: &mut [f32; 32]) {
    let Q8_1 { d, s: _, qs } = transmute_ref!(block);
    let d = binary16(*d);
    dst.iter_mut().zip(qs).for_each(|(number, q)| *number = f32::from(*q) * d);
}

/// Writes the numbers of a Q1_0 block: `d` or `-d`.
pub fn q1_0_to_f32(block: &[u8; 18], dst: &mut [f32; 128]) {
    let [d0, d1, bits @ ..] = block;
    let d = binary16(U16::from_bytes([*d0, *d1]));
    let dst: &mut [[f32; 8]; 16] = transmute_mut!(dst);
    for (eight, bits) in dst.iter_mut().zip(bits) {
        for (number, shift) in eight.iter_mut().zip(0..) {
            *number = if bits.wrapping_shr(shift) & 1 == 0 { -d } else { d };
        }
    }
}

/// Writes the numbers of a Q2_0 block: `d` times -1, 0, 1 or 2.
pub fn q2_0_to_f32(block: &[u8; 18], dst: &mut [f32; 64]) {
    let [d0, d1, qs @ ..] = block;
    let d = binary16(U16::from_bytes([*d0, *d1]));
    let dst: &mut [[f32; 4]; 16] = transmute_mut!(dst);
    for (four, qs) in dst.iter_mut().zip(qs) {
        for (number, shift) in four.iter_mut().zip([0, 2, 4, 6]) {
            *number = (f32::from(qs.wrapping_shr(shift) & 3) - 1.0) * d;
        }
    }
}

/// Writes the numbers of an IQ4_NL block: `d` times one of 16 values.
pub fn iq4_nl_to_f32(block: &[u8; 18], dst: &mut [f32; 32]) {
    let [d0, d1, qs @ ..] = block;
    iq4_to_f32(binary16(U16::from_bytes([*d0, *d1])), qs, dst);
}

/// Writes 32 numbers of an IQ4 type.
#[inline]
pub(super) fn iq4_to_f32(scale: f32, qs: &[u8; 16], dst: &mut [f32; 32]) {
    let values = IQ4_VALUES.map(|value| scale * f32::from(value));
    each_half(qs, dst, |q| pick(&values, q));
}

/// Writes the numbers of an MXFP4 block: 4-bit floats with a common power of two.
pub fn mxfp4_to_f32(block: &[u8; 17], dst: &mut [f32; 32]) {
    let [e, qs @ ..] = block;
    // Half the power, because the values are doubled. The two smallest powers are subnormal.
    let scale = match *e {
        0 => 0x0020_0000,
        1 => 0x0040_0000,
        e => u32::from(e.wrapping_sub(1)) << 23,
    };
    let values = doubled_e2m1(f32::from_bits(scale));
    each_half(qs, dst, |q| pick(&values, q));
}

/// Writes the numbers of an NVFP4 block: four groups of 16 4-bit floats, each with an 8-bit float as its scale.
pub fn nvfp4_to_f32(block: &[u8; 36], dst: &mut [f32; 64]) {
    let [s0, s1, s2, s3, qs @ ..] = block;
    let qs: &[[u8; 8]; 4] = transmute_ref!(qs);
    let dst: &mut [[[f32; 8]; 2]; 4] = transmute_mut!(dst);
    for ((group, qs), scale) in dst.iter_mut().zip(qs).zip([s0, s1, s2, s3]) {
        // Half the scale, without its sign. 0x7f is NaN in other formats, but 0 here; with the sign bit it is 480.
        let scale = match *scale {
            0x7f => 0.0,
            0xff => 240.0,
            bits => float::f8_e4m3fn_to_f32(bits & 0x7f) * 0.5,
        };
        let values = doubled_e2m1(scale);
        let [low, high] = group;
        for ((low, high), byte) in low.iter_mut().zip(high).zip(qs) {
            (*low, *high) = (pick(&values, byte & 15), pick(&values, byte >> 4));
        }
    }
}

/// Returns the values of a 4-bit float, doubled and times `scale`. There is no negative zero.
fn doubled_e2m1(scale: f32) -> [f32; 16] {
    const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
    DOUBLED.map(|value| f32::from(value) * scale)
}

/// Returns the value that 4 bits select.
fn pick(values: &[f32; 16], q: u8) -> f32 {
    values.get(usize::from(q)).copied().unwrap_or_default()
}

/// Writes a number for each half byte: first the low halves, then the high halves.
#[inline]
fn each_half(qs: &[u8; 16], dst: &mut [f32; 32], number: impl Fn(u8) -> f32) {
    let [low, high]: &mut [[f32; 16]; 2] = transmute_mut!(dst);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(qs) {
        (*low, *high) = (number(byte & 15), number(byte >> 4));
    }
}

/// Writes numbers as [`each_half`] does, with a fifth bit from `qh` above the four bits.
#[inline]
fn each_of_5_bits(qh: U32, qs: &[u8; 16], dst: &mut [f32; 32], number: impl Fn(f32) -> f32) {
    const MASKS: [u8; 8] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80];
    let fifths = qh.to_bytes().map(|byte| MASKS.map(|mask| if byte & mask == 0 { 0_u8 } else { 0x10 }));
    let [low_fifths, high_fifths]: [[u8; 16]; 2] = transmute!(fifths);
    let [low, high]: &mut [[f32; 16]; 2] = transmute_mut!(dst);
    for ((to, q), fifth) in low.iter_mut().zip(qs).zip(low_fifths) {
        *to = number(f32::from(q & 15 | fifth));
    }
    for ((to, q), fifth) in high.iter_mut().zip(qs).zip(high_fifths) {
        *to = number(f32::from(q >> 4 | fifth));
    }
}
