//! The K types: blocks of 256 numbers in groups, whose scales are themselves numbers of few bits.
//!
//! The integers of a group are unpacked first and then converted. The packed bytes are shifted down by constants. So
//! each loop is over bytes or over floats, and a compiler vectorizes both.
#![forbid(unsafe_code)]

use zerocopy::little_endian::U32;
use zerocopy::{transmute, transmute_mut, transmute_ref};

use super::binary16;
use super::layout::{Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K};

/// The low bits of each of four bytes.
const LOW_2: u32 = 0x0303_0303;
const LOW_4: u32 = 0x0f0f_0f0f;
const LOW_6: u32 = 0x3f3f_3f3f;

/// Writes the numbers of a Q2_K block.
pub fn q2_k_to_f32(block: &[u8; 84], dst: &mut [f32; 256]) {
    let Q2_K { scales, qs, d, dmin } = transmute_ref!(block);
    let (d, dmin) = (binary16(*d), binary16(*dmin));
    let scales: &[[[u8; 2]; 4]; 2] = transmute_ref!(scales);
    let packed: &[[u8; 32]; 2] = transmute_ref!(qs);
    let dst: &mut [[[[f32; 16]; 2]; 4]; 2] = transmute_mut!(dst);
    for ((dst, packed), scales) in dst.iter_mut().zip(packed).zip(scales) {
        let mut packed = *packed;
        for (dst, scales) in dst.iter_mut().zip(scales) {
            let mut qs = [0; 32];
            for (q, packed) in qs.iter_mut().zip(&mut packed) {
                *q = *packed & 3;
                *packed >>= 2;
            }
            let qs: [[u8; 16]; 2] = transmute!(qs);
            for ((group, qs), scale) in dst.iter_mut().zip(&qs).zip(scales) {
                let (scale, min) = (d * f32::from(scale & 15), dmin * f32::from(scale >> 4));
                write(qs, group, |q| scale * q - min);
            }
        }
    }
}

/// Writes the numbers of a Q3_K block.
pub fn q3_k_to_f32(block: &[u8; 110], dst: &mut [f32; 256]) {
    let Q3_K { hmask, qs, scales, d } = transmute_ref!(block);
    let d = binary16(*d);
    let [a, b, c] = words(scales);
    let high = |shift| (c.wrapping_shr(shift) & LOW_2) << 4;
    let scales = [a & LOW_4 | high(0), b & LOW_4 | high(2), a >> 4 & LOW_4 | high(4), b >> 4 & LOW_4 | high(6)];
    let scales: [[[u8; 2]; 4]; 2] = transmute!(scales.map(u32::to_le_bytes));
    let packed: &[[u8; 32]; 2] = transmute_ref!(qs);
    let mut high = *hmask;
    let dst: &mut [[[[f32; 16]; 2]; 4]; 2] = transmute_mut!(dst);
    for ((dst, packed), scales) in dst.iter_mut().zip(packed).zip(scales) {
        let mut packed = *packed;
        for (dst, scales) in dst.iter_mut().zip(scales) {
            let mut qs = [0; 32];
            for ((q, packed), high) in qs.iter_mut().zip(&mut packed).zip(&mut high) {
                *q = *packed & 3 | (*high & 1) << 2;
                *packed >>= 2;
                *high >>= 1;
            }
            let qs: [[u8; 16]; 2] = transmute!(qs);
            for ((group, qs), scale) in dst.iter_mut().zip(&qs).zip(scales) {
                let scale = d * (f32::from(scale) - 32.0);
                write(qs, group, |q| scale * (q - 4.0));
            }
        }
    }
}

/// Writes the numbers of a Q4_K block.
pub fn q4_k_to_f32(block: &[u8; 144], dst: &mut [f32; 256]) {
    let Q4_K { d, dmin, scales, qs } = transmute_ref!(block);
    let scales = scales_and_minima(binary16(*d), binary16(*dmin), scales);
    let qs: &[[u8; 32]; 4] = transmute_ref!(qs);
    let dst: &mut [[[f32; 32]; 2]; 4] = transmute_mut!(dst);
    for (([low, high], packed), [(d, m), (high_d, high_m)]) in dst.iter_mut().zip(qs).zip(scales) {
        // Uses 16-bit numbers: from bytes, LLVM unpacks and converts only four at a time, as wide as the floats.
        let (mut low_qs, mut high_qs) = ([0_u16; 32], [0_u16; 32]);
        for ((low, high), packed) in low_qs.iter_mut().zip(&mut high_qs).zip(packed) {
            (*low, *high) = ((packed & 15).into(), (packed >> 4).into());
        }
        write(&low_qs, low, |q| d * q - m);
        write(&high_qs, high, |q| high_d * q - high_m);
    }
}

/// Writes the numbers of a Q5_K block.
pub fn q5_k_to_f32(block: &[u8; 176], dst: &mut [f32; 256]) {
    let Q5_K { d, dmin, scales, qh, qs } = transmute_ref!(block);
    let scales = scales_and_minima(binary16(*d), binary16(*dmin), scales);
    let qs: &[[u8; 32]; 4] = transmute_ref!(qs);
    let dst: &mut [[[f32; 32]; 2]; 4] = transmute_mut!(dst);
    let mut fifths = *qh;
    for (([low, high], qs), [(d, m), (high_d, high_m)]) in dst.iter_mut().zip(qs).zip(scales) {
        let (mut low_qs, mut high_qs) = ([0; 32], [0; 32]);
        for (((low, high), q), fifth) in low_qs.iter_mut().zip(&mut high_qs).zip(qs).zip(&mut fifths) {
            *low = q & 15 | (*fifth & 1) << 4;
            *high = q >> 4 | (*fifth & 2) << 3;
            *fifth >>= 2;
        }
        write(&low_qs, low, |q| d * q - m);
        write(&high_qs, high, |q| high_d * q - high_m);
    }
}

/// Writes the numbers of a Q6_K block.
pub fn q6_k_to_f32(block: &[u8; 210], dst: &mut [f32; 256]) {
    let Q6_K { ql, qh, scales, d } = transmute_ref!(block);
    let d = binary16(*d);
    let ql: &[[[u8; 32]; 2]; 2] = transmute_ref!(ql);
    let qh: &[[u8; 32]; 2] = transmute_ref!(qh);
    let scales: &[[[i8; 2]; 4]; 2] = transmute_ref!(scales);
    let dst: &mut [[[[f32; 16]; 2]; 4]; 2] = transmute_mut!(dst);
    for (((dst, ql), qh), scales) in dst.iter_mut().zip(ql).zip(qh).zip(scales) {
        let (mut low, mut high) = (*ql, *qh);
        for (at, (dst, scales)) in dst.iter_mut().zip(scales).enumerate() {
            let [a, b] = &mut low;
            let low = if at & 1 == 0 { a } else { b };
            let mut qs = [0; 32];
            for ((q, low), high) in qs.iter_mut().zip(low).zip(&mut high) {
                *q = *low & 15 | (*high & 3) << 4;
                *low >>= 4;
                *high >>= 2;
            }
            let qs: [[u8; 16]; 2] = transmute!(qs);
            for ((group, qs), scale) in dst.iter_mut().zip(&qs).zip(scales) {
                let scale = d * f32::from(*scale);
                write(qs, group, |q| scale * (q - 32.0));
            }
        }
    }
}

/// Writes the numbers of a Q8_K block.
pub fn q8_k_to_f32(block: &[u8; 292], dst: &mut [f32; 256]) {
    let Q8_K { d, qs, bsums: _ } = transmute_ref!(block);
    let d = d.get();
    dst.iter_mut().zip(qs).for_each(|(number, q)| *number = d * f32::from(*q));
}

/// Returns the scales and minima of Q4_K and Q5_K, two groups at a time.
fn scales_and_minima(d: f32, dmin: f32, packed: &[u8; 12]) -> [[(f32, f32); 2]; 4] {
    let [a, b, c] = words(packed);
    let scales = [a & LOW_6, c & LOW_4 | (a >> 6 & LOW_2) << 4];
    let minima = [b & LOW_6, c >> 4 & LOW_4 | (b >> 6 & LOW_2) << 4];
    let scales: [[u8; 2]; 4] = transmute!(scales.map(u32::to_le_bytes));
    let minima: [[u8; 2]; 4] = transmute!(minima.map(u32::to_le_bytes));
    let mut both = [[(0.0, 0.0); 2]; 4];
    for ((both, scales), minima) in both.iter_mut().zip(scales).zip(minima) {
        for ((both, scale), min) in both.iter_mut().zip(scales).zip(minima) {
            *both = (d * f32::from(scale), dmin * f32::from(min));
        }
    }
    both
}

/// Returns packed scales as numbers, so that four scales are unpacked at once.
fn words(packed: &[u8; 12]) -> [u32; 3] {
    let words: &[U32; 3] = transmute_ref!(packed);
    words.map(U32::get)
}

/// Writes a number for each small integer.
#[inline]
fn write<Q: Copy, const N: usize>(qs: &[Q; N], dst: &mut [f32; N], number: impl Fn(f32) -> f32)
where
    f32: From<Q>,
{
    dst.iter_mut().zip(qs).for_each(|(to, q)| *to = number(f32::from(*q)));
}
