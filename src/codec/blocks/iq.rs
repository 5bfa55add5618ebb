//! The IQ types: blocks of 256 numbers; each four or eight numbers are a row of a grid.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, transmute_mut, transmute_ref};

use super::small::iq4_to_f32;
use super::{binary16, grids};

/// The values of the columns of a grid. The grids of IQ2 and IQ1 use only the first three values.
const IQ2: [f32; 4] = [8.0, 25.0, 43.0, 0.0];
const IQ3_XXS: [f32; 8] = [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0];
const IQ3_S: [f32; 8] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0];
const IQ1: [f32; 4] = [-1.0, 0.0, 1.0, 0.0];

/// 32 numbers of IQ2_XXS.
#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq2XxsGroup {
    rows: [u8; 4],
    /// Four times 7 sign bits, then a scale of 4 bits.
    signs: U32,
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq2Xxs {
    d: U16,
    groups: [Iq2XxsGroup; 8],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq2Xs {
    d: U16,
    /// Nine bits of a row, then 7 sign bits.
    rows: [[[U16; 2]; 2]; 8],
    /// Two scales of 4 bits in each byte, each for 16 numbers.
    scales: [u8; 8],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq2S {
    d: U16,
    rows: [[[u8; 2]; 2]; 8],
    signs: [[[u8; 2]; 2]; 8],
    /// The high 2 bits of four rows.
    high: [u8; 8],
    scales: [u8; 8],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq3Xxs {
    d: U16,
    rows: [[[u8; 2]; 4]; 8],
    /// The same layout as in `Iq2XxsGroup`.
    signs: [U32; 8],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq3S {
    d: U16,
    rows: [[[[u8; 2]; 4]; 2]; 4],
    /// The highest bits of eight rows.
    high: [[u8; 2]; 4],
    signs: [[[u8; 4]; 2]; 4],
    /// Two scales of 4 bits in each byte, each for 32 numbers.
    scales: [u8; 4],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq1S {
    d: U16,
    rows: [[u8; 4]; 8],
    /// The high 3 bits of four rows, a scale of 3 bits, the sign of the shift.
    high: [U16; 8],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq1M {
    rows: [[[u8; 2]; 4]; 4],
    /// For each row half a byte: its high 3 bits, and the sign of its shift.
    high: [[u8; 4]; 4],
    /// Four scales of 3 bits, each for 16 numbers, then 4 bits of the block's scale.
    scales: [U16; 4],
}

#[derive(FromBytes, Immutable)]
#[repr(C)]
struct Iq4Xs {
    d: U16,
    /// The high 2 bits of the scales.
    high: U16,
    /// The low 4 bits of two scales, each for 32 numbers.
    low: [u8; 4],
    qs: [[[u8; 16]; 2]; 4],
}

/// Writes the numbers of an IQ2_XXS block.
pub fn iq2_xxs_to_f32(block: &[u8; 66], dst: &mut [f32; 256]) {
    let Iq2Xxs { d, groups } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[f32; 8]; 4]; 8] = transmute_mut!(dst);
    for (dst, Iq2XxsGroup { rows, signs }) in dst.iter_mut().zip(groups) {
        let signs = signs.get();
        let scale = d * (0.5 + highest_4_bits(signs)) * 0.25;
        for ((dst, low), shift) in dst.iter_mut().zip(rows).zip([0, 7, 14, 21]) {
            let signs = with_parity(signs.wrapping_shr(shift));
            write_signed(row(&grids::IQ2_XXS, *low, 0), &IQ2, signs, scale, dst);
        }
    }
}

/// Writes the numbers of an IQ2_XS block.
pub fn iq2_xs_to_f32(block: &[u8; 74], dst: &mut [f32; 256]) {
    let Iq2Xs { d, rows, scales } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[[f32; 8]; 2]; 2]; 8] = transmute_mut!(dst);
    for ((dst, rows), scales) in dst.iter_mut().zip(rows).zip(scales) {
        for ((dst, rows), scale) in dst.iter_mut().zip(rows).zip([scales & 15, scales >> 4]) {
            let scale = d * (0.5 + f32::from(scale)) * 0.25;
            for (dst, bits) in dst.iter_mut().zip(rows) {
                let [low, high] = bits.to_bytes();
                let signs = with_parity((high >> 1).into());
                write_signed(row(&grids::IQ2_XS, low, high & 1), &IQ2, signs, scale, dst);
            }
        }
    }
}

/// Writes the numbers of an IQ2_S block.
pub fn iq2_s_to_f32(block: &[u8; 82], dst: &mut [f32; 256]) {
    let Iq2S { d, rows, signs, high, scales } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[[f32; 8]; 2]; 2]; 8] = transmute_mut!(dst);
    for ((((dst, rows), signs), high), scales) in dst.iter_mut().zip(rows).zip(signs).zip(high).zip(scales) {
        let halves = [(scales & 15, [0, 2]), (scales >> 4, [4, 6])];
        for (((dst, rows), signs), (scale, shifts)) in dst.iter_mut().zip(rows).zip(signs).zip(halves) {
            let scale = d * (0.5 + f32::from(scale)) * 0.25;
            for (((dst, low), signs), shift) in dst.iter_mut().zip(rows).zip(signs).zip(shifts) {
                let row = row(&grids::IQ2_S, *low, high.wrapping_shr(shift) & 3);
                write_signed(row, &IQ2, *signs, scale, dst);
            }
        }
    }
}

/// Writes the numbers of an IQ3_XXS block.
pub fn iq3_xxs_to_f32(block: &[u8; 98], dst: &mut [f32; 256]) {
    let Iq3Xxs { d, rows, signs } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[[f32; 4]; 2]; 4]; 8] = transmute_mut!(dst);
    for ((dst, rows), signs) in dst.iter_mut().zip(rows).zip(signs) {
        let signs = signs.get();
        let scale = d * (0.5 + highest_4_bits(signs)) * 0.5;
        for (([first, second], [low, second_low]), shift) in dst.iter_mut().zip(rows).zip([0, 7, 14, 21]) {
            let signs = with_parity(signs.wrapping_shr(shift));
            write_signed(row(&grids::IQ3_XXS, *low, 0), &IQ3_XXS, signs, scale, first);
            write_signed(row(&grids::IQ3_XXS, *second_low, 0), &IQ3_XXS, signs >> 4, scale, second);
        }
    }
}

/// Writes the numbers of an IQ3_S block.
pub fn iq3_s_to_f32(block: &[u8; 110], dst: &mut [f32; 256]) {
    let Iq3S { d, rows, high, signs, scales } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[[[f32; 4]; 2]; 4]; 2]; 4] = transmute_mut!(dst);
    for ((((dst, rows), high), signs), scales) in dst.iter_mut().zip(rows).zip(high).zip(signs).zip(scales) {
        let scales = [scales & 15, scales >> 4];
        for ((((dst, rows), high), signs), scale) in dst.iter_mut().zip(rows).zip(high).zip(signs).zip(scales) {
            let scale = d * (1.0 + 2.0 * f32::from(scale));
            let eights = dst.iter_mut().zip(rows).zip(signs).zip([0, 2, 4, 6]);
            for ((([first, second], [low, second_low]), signs), shift) in eights {
                let high = high.wrapping_shr(shift);
                write_signed(row(&grids::IQ3_S, *low, high & 1), &IQ3_S, *signs, scale, first);
                write_signed(row(&grids::IQ3_S, *second_low, high >> 1 & 1), &IQ3_S, signs >> 4, scale, second);
            }
        }
    }
}

/// Writes the numbers of an IQ1_S block.
pub fn iq1_s_to_f32(block: &[u8; 50], dst: &mut [f32; 256]) {
    let Iq1S { d, rows, high } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[f32; 8]; 4]; 8] = transmute_mut!(dst);
    for ((dst, rows), high) in dst.iter_mut().zip(rows).zip(high) {
        let [_, top] = high.to_bytes();
        let scale = d * (2.0 * f32::from(top >> 4 & 7) + 1.0);
        for ((dst, low), shift) in dst.iter_mut().zip(rows).zip([0, 3, 6, 9]) {
            let [high, _] = high.get().wrapping_shr(shift).to_le_bytes();
            write_shifted(row(&grids::IQ1_S, *low, high & 7), top & 0x80 != 0, scale, dst);
        }
    }
}

/// Writes the numbers of an IQ1_M block.
pub fn iq1_m_to_f32(block: &[u8; 56], dst: &mut [f32; 256]) {
    let Iq1M { rows, high, scales } = transmute_ref!(block);
    let [a, b, c, d] = scales.map(|scales| scales.get() & 0xf000);
    let d = binary16(U16::new(a >> 12 | b >> 8 | c >> 4 | d));
    let dst: &mut [[[[f32; 8]; 2]; 4]; 4] = transmute_mut!(dst);
    for (((dst, rows), high), scales) in dst.iter_mut().zip(rows).zip(high).zip(scales) {
        for (((dst, rows), high), shift) in dst.iter_mut().zip(rows).zip(high).zip([0, 3, 6, 9]) {
            let scale = d * (2.0 * f32::from(scales.get().wrapping_shr(shift) & 7) + 1.0);
            for ((dst, low), high) in dst.iter_mut().zip(rows).zip([high & 15, high >> 4]) {
                write_shifted(row(&grids::IQ1_S, *low, high & 7), high & 8 != 0, scale, dst);
            }
        }
    }
}

/// Writes the numbers of an IQ4_XS block.
pub fn iq4_xs_to_f32(block: &[u8; 136], dst: &mut [f32; 256]) {
    let Iq4Xs { d, high, low, qs } = transmute_ref!(block);
    let d = binary16(*d);
    let dst: &mut [[[f32; 32]; 2]; 4] = transmute_mut!(dst);
    for (((dst, qs), low), shift) in dst.iter_mut().zip(qs).zip(low).zip([0, 4, 8, 12]) {
        let [high, _] = high.get().wrapping_shr(shift).to_le_bytes();
        let scales = [low & 15 | (high & 3) << 4, low >> 4 | (high >> 2 & 3) << 4];
        for ((dst, qs), scale) in dst.iter_mut().zip(qs).zip(scales) {
            iq4_to_f32(d * (f32::from(scale) - 32.0), qs, dst);
        }
    }
}

/// Returns the highest 4 bits as a number.
fn highest_4_bits(bits: u32) -> f32 {
    let [.., top] = bits.to_le_bytes();
    f32::from(top >> 4)
}

/// Returns the low 7 bits, with their parity as the eighth bit.
fn with_parity(bits: u32) -> u8 {
    let [low, ..] = bits.to_le_bytes();
    let low = low & 0x7f;
    low | u8::from(low.count_ones() & 1 == 1) << 7
}

/// Returns the row whose number has the low bits `low` and the high bits `high`.
fn row<const ROWS: usize>(grid: &[u16; ROWS], low: u8, high: u8) -> u16 {
    grid.get(usize::from(u16::from_le_bytes([low, high]))).copied().unwrap_or_default()
}

/// Writes the values of a row times `scale`, negated if their sign bit is set.
#[inline]
fn write_signed<const VALUES: usize, const COLUMNS: usize>(
    row: u16,
    values: &[f32; VALUES],
    signs: u8,
    scale: f32,
    dst: &mut [f32; COLUMNS],
) {
    for ((number, value), shift) in dst.iter_mut().zip(columns::<VALUES, COLUMNS>(row, values)).zip(0..) {
        let magnitude = scale * value;
        *number = if signs.wrapping_shr(shift) & 1 == 0 { magnitude } else { -magnitude };
    }
}

/// Writes the values of a row of IQ1, all shifted by an eighth, times `scale`.
#[inline]
fn write_shifted(row: u16, is_down: bool, scale: f32, dst: &mut [f32; 8]) {
    let shift = if is_down { -0.125 } else { 0.125 };
    for (number, value) in dst.iter_mut().zip(columns::<4, 8>(row, &IQ1)) {
        *number = scale * (value + shift);
    }
}

/// Returns the values of the columns of a row: 8 columns of 2 bits, or 4 columns of 4 bits.
#[inline]
fn columns<const VALUES: usize, const COLUMNS: usize>(row: u16, values: &[f32; VALUES]) -> [f32; COLUMNS] {
    let bits = 16_u32.wrapping_shr(COLUMNS.trailing_zeros());
    let mut columns = [0.0; COLUMNS];
    for (column, index) in columns.iter_mut().zip(0_u32..) {
        let place = usize::from(row.wrapping_shr(index.wrapping_mul(bits))) & VALUES.wrapping_sub(1);
        *column = values.get(place).copied().unwrap_or_default();
    }
    columns
}
