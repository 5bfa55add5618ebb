//! Conversion of many `f16` to `f32`, with the instructions of x86-64 and ARMv8 if the machine has them, otherwise with
//! code for any machine.
//!
//! All ways give the same bits as [`f16_to_f32`](crate::types::float::f16_to_f32): a NaN keeps its sign and its payload,
//! and becomes quiet. The call of the function that uses the instruction of x86-64 is unsafe, and so is the inline
//! assembly for ARMv8. Miri, which supports neither, runs the code for any machine.

use crate::types::ByteOrder;
use crate::types::element::Elements;

/// Converts the first `dst.len()` numbers; `None` if there are fewer.
pub(crate) fn to_f32(bytes: &[u8], order: ByteOrder, dst: &mut [f32]) -> Option<()> {
    let bytes = bytes.get(..dst.len().checked_mul(size_of::<u16>())?)?;
    #[cfg(all(
        any(
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
        ),
        not(miri)
    ))]
    if let Some(()) = instructions::to_f32(bytes, order, dst) {
        return Some(());
    }
    one_by_one(bytes, order, dst);
    Some(())
}

#[inline(never)] // one copy of the loop, which also converts the numbers after the last block
fn one_by_one(bytes: &[u8], order: ByteOrder, dst: &mut [f32]) {
    dst.iter_mut().zip(Elements::new(bytes, order)).for_each(|(number, bits)| *number = any_machine(bits));
}

/// Converts a number without branches, so that the compiler can vectorize the loop.
///
/// The exponent and the fraction move to their places in an `f32`, whose exponent bias is larger by 112. If the exponent
/// is 0, the fraction has no leading bit: it gets the exponent 1 and a leading bit, whose value is then subtracted. No
/// operand is NaN or subnormal, because machines treat these differently.
fn any_machine(bits: u16) -> f32 {
    const INFINITY: u16 = 0x7c00;
    let magnitude = bits & 0x7fff;
    // Upper halves of the bits of an `f32`: vectors have twice as many lanes of 16 bits as of 32.
    let (bias, leading) = if magnitude >> 10 == 0 { (113 << 7, 113 << 7) } else { (112 << 7, 0) };
    let infinite = if magnitude >= INFINITY { 0x7f80 } else { 0 };
    let quiet = if magnitude > INFINITY { 0x40 } else { 0 };
    let [bias, leading, others] =
        [bias, leading, bits & 0x8000 | infinite | quiet].map(|upper| u32::from(upper) << 16);
    let moved = (u32::from(magnitude) << 13).wrapping_add(bias);
    let value = f32::from_bits(moved) - f32::from_bits(leading);
    f32::from_bits(value.to_bits() | others)
}

#[cfg(all(
    any(
        all(target_arch = "x86_64", target_feature = "sse2"),
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    ),
    not(miri)
))]
mod instructions {
    #[cfg(target_arch = "aarch64")]
    use core::arch::aarch64::{float32x4_t, uint16x8_t};
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::_mm256_cvtph_ps;

    use zerocopy::{FromBytes, IntoBytes};

    use super::one_by_one;
    #[cfg(target_arch = "x86_64")]
    use crate::codec::cpu::has_f16c;
    use crate::types::ByteOrder;

    /// The number of elements in an iteration, which executes two conversions on x86-64. A loop with one takes up to
    /// twice as long, depending on its address.
    const BLOCK: usize = 16;

    /// Converts all numbers; `None` if the machine does not have the instruction.
    pub(super) fn to_f32(bytes: &[u8], order: ByteOrder, dst: &mut [f32]) -> Option<()> {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the machine has the instruction, and the function needs nothing else.
            if has_f16c() { unsafe { by_blocks(bytes, order, dst) } } else { None }
        }
        #[cfg(target_arch = "aarch64")]
        by_blocks(bytes, order, dst)
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "f16c"))]
    fn by_blocks(bytes: &[u8], order: ByteOrder, dst: &mut [f32]) -> Option<()> {
        let in_blocks = dst.len() & !(BLOCK - 1);
        let (bytes, last_bytes) = bytes.split_at_checked(in_blocks.wrapping_mul(2))?;
        let (dst, last) = dst.split_at_mut_checked(in_blocks)?;
        let bytes = FromBytes::ref_from_bytes(bytes).ok()?;
        let dst = FromBytes::mut_from_bytes(dst.as_mut_bytes()).ok()?;
        match order {
            ByteOrder::Little => blocks::<false>(bytes, dst),
            ByteOrder::Big => blocks::<true>(bytes, dst),
        }
        one_by_one(last_bytes, order, last);
        Some(())
    }

    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "f16c"))]
    fn blocks<const ARE_SWAPPED: bool>(bytes: &[[u8; 2 * BLOCK]], dst: &mut [[f32; BLOCK]]) {
        for (numbers, bytes) in dst.iter_mut().zip(bytes) {
            let eights: [[u16; 8]; BLOCK >> 3] = zerocopy::transmute!(*bytes);
            let convert = |bits: [u16; 8]| eight(if ARE_SWAPPED { bits.map(u16::swap_bytes) } else { bits });
            *numbers = zerocopy::transmute!(eights.map(convert));
        }
    }

    #[inline]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "f16c")]
    fn eight(bits: [u16; 8]) -> [f32; 8] {
        zerocopy::transmute!(_mm256_cvtph_ps(zerocopy::transmute!(bits)))
    }

    /// The intrinsics for the instructions need Rust 1.94.
    #[inline]
    #[cfg(target_arch = "aarch64")]
    fn eight(bits: [u16; 8]) -> [f32; 8] {
        let bits: uint16x8_t = zerocopy::transmute!(bits);
        let (low, high): (float32x4_t, float32x4_t);
        // SAFETY: the instructions belong to NEON, and access nothing but these registers.
        unsafe {
            core::arch::asm!(
                "fcvtl {low:v}.4s, {bits:v}.4h",
                "fcvtl2 {high:v}.4s, {bits:v}.8h",
                bits = in(vreg) bits, low = out(vreg) low, high = out(vreg) high,
                options(pure, nomem, nostack)
            );
        }
        zerocopy::transmute!([low, high])
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;
    use crate::types::float::f16_to_f32;

    type Way = fn(&[u8], ByteOrder, &mut [f32]);

    /// All ways that this machine supports.
    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        ways.push(|bytes, order, dst| to_f32(bytes, order, dst).unwrap());
        ways.push(one_by_one);
        #[cfg(all(
            any(
                all(target_arch = "x86_64", target_feature = "sse2"),
                all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
            ),
            not(miri)
        ))]
        {
            #[cfg(target_arch = "x86_64")]
            let is_found = std::is_x86_feature_detected!("f16c");
            #[cfg(target_arch = "aarch64")]
            let is_found = true;
            if is_found {
                ways.push(|bytes, order, dst| instructions::to_f32(bytes, order, dst).unwrap());
            }
        }
        ways
    }

    /// Converts `numbers` from both byte orders, at an even and an odd address, and compares the bits.
    #[track_caller]
    fn compare(numbers: &[u16]) {
        let expected: Vec<u32> = numbers.iter().map(|bits| f16_to_f32(*bits).to_bits()).collect();
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let in_order = |bits: &u16| if order == ByteOrder::Big { bits.to_be_bytes() } else { bits.to_le_bytes() };
            for before in [0, 1] {
                let mut bytes = vec![0; before];
                bytes.extend(numbers.iter().flat_map(in_order));
                for (way, convert) in ways().into_iter().enumerate() {
                    let mut dst = vec![1.0; numbers.len()];
                    convert(&bytes[before..], order, &mut dst);
                    let found: Vec<u32> = dst.iter().map(|number| number.to_bits()).collect();
                    assert!(found == expected, "way {way}, {} numbers, {order:?}, {before} before", numbers.len());
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn every_number() {
        compare(&(0..=u16::MAX).collect::<Vec<_>>());
    }

    /// Every class of numbers is in each place of a block, and after the last one.
    #[test]
    fn every_length() {
        let numbers = [0x3c00, 0x8001, 0x7c01, 0xfc00, 0x0000, 0x03ff, 0xfbff, 0x8000, 0x7e00, 0x0400, 0xffff];
        let numbers: Vec<u16> = numbers.into_iter().cycle().take(if cfg!(miri) { 20 } else { 100 }).collect();
        (0..=numbers.len()).for_each(|length| compare(&numbers[..length]));
    }

    #[test]
    fn too_few_bytes() {
        let mut dst = [1.0; 9];
        assert_eq!(to_f32(&[0; 17], ByteOrder::Little, &mut dst), None);
        assert_eq!(dst, [1.0; 9]);
        assert_eq!(to_f32(&[0; 19], ByteOrder::Little, &mut dst), Some(()));
        assert_eq!(dst, [0.0; 9]);
    }
}
