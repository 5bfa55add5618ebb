//! The quantized blocks of ggml: small integers with a common scale.
//!
//! Tensors of GGUF and of zTensor 2 are stored in such blocks. A program may decode ranges of any type ([`dequantize`])
//! or of one type ([`dequantize_with`]), decode single blocks (a function for each type), or compute with the
//! [blocks](Block) in place. The numbers are those of ggml, bit for bit, except that the bits of a NaN are not defined.
//! Nothing allocates.
#![forbid(unsafe_code)]

#[cfg(feature = "dequantize")]
mod grids;
#[cfg(feature = "dequantize")]
mod iq;
#[cfg(feature = "dequantize")]
mod k;
mod layout;
#[cfg(feature = "dequantize")]
mod small;
#[cfg(feature = "dequantize")]
mod ternary;

#[cfg(feature = "dequantize")]
pub use iq::{
    iq1_m_to_f32, iq1_s_to_f32, iq2_s_to_f32, iq2_xs_to_f32, iq2_xxs_to_f32, iq3_s_to_f32, iq3_xxs_to_f32,
    iq4_xs_to_f32,
};
#[cfg(feature = "dequantize")]
pub use k::{q2_k_to_f32, q3_k_to_f32, q4_k_to_f32, q5_k_to_f32, q6_k_to_f32, q8_k_to_f32};
pub use layout::{Block, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, Q8_1, Q8_K};
#[cfg(feature = "dequantize")]
pub use small::{
    iq4_nl_to_f32, mxfp4_to_f32, nvfp4_to_f32, q1_0_to_f32, q2_0_to_f32, q4_0_to_f32, q4_1_to_f32, q5_0_to_f32,
    q5_1_to_f32, q8_0_to_f32, q8_1_to_f32,
};
#[cfg(feature = "dequantize")]
pub use ternary::{tq1_0_to_f32, tq2_0_to_f32};

use crate::bytes::keywords::keywords;
#[cfg(feature = "dequantize")]
use crate::bytes::num::{count_of, to_u64, to_usize};
use crate::error::abi_enum::abi_enum;
use crate::types::DType;

macro_rules! block_types {
    ($($name:ident = $code:literal, $text:literal, $elements:literal, $bytes:literal, $to_f32:ident;)*) => {
        abi_enum! {
            /// The type of a quantized block. Its [code](BlockType::code) is ggml's number.
            #[allow(non_camel_case_types)] // the names are ggml's
            BlockType: u8 { $($name = $code, $text;)* }
        }

        impl BlockType {
            /// Returns the number of elements in a block: 32, 64, 128 or 256.
            #[must_use]
            pub const fn elements(self) -> u64 {
                match self { $(Self::$name => $elements,)* }
            }

            /// Returns the number of bytes in a block: 17 to 292.
            #[must_use]
            pub const fn bytes(self) -> u64 {
                match self { $(Self::$name => $bytes,)* }
            }

            /// Returns the name of the layout of a tensor of such blocks: `gguf.q4_k`.
            #[must_use]
            pub const fn layout_name(self) -> &'static str {
                match self { $(Self::$name => concat!("gguf.", $text),)* }
            }

            /// Returns the type whose [layout](Self::layout_name) is named `name`.
            #[must_use]
            pub fn from_layout_name(name: &[u8]) -> Option<Self> {
                let names = keywords![$($text: $code),*];
                Self::from_code(names.number_of(name.strip_prefix(b"gguf.")?))
            }
        }

        /// Decodes elements from number `first` on to fill `dst`; `bytes` are the blocks from number 0 on. A range may
        /// begin and end within a block. Returns `None`, with nothing written, if there are too few elements; an
        /// incomplete block at the end does not count.
        ///
        /// Links the code and the tables of all types, which [`dequantize_with`] avoids. The cost is linear in `dst`,
        /// wherever the range is, plus at most two blocks.
        ///
        /// ```
        /// use tenslice::blocks::{BlockType, dequantize};
        ///
        /// let mut block = [0; 34];
        /// block[1] = 0x38; // 0.5
        /// block[2..6].copy_from_slice(&[10, 20, 30, 0xff]);
        /// let mut numbers = [0.0; 3];
        /// dequantize(BlockType::Q8_0, &block, 1, &mut numbers).unwrap();
        /// assert_eq!(numbers, [10.0, 15.0, -0.5]);
        /// ```
        #[cfg(feature = "dequantize")]
        #[must_use]
        pub fn dequantize(block_type: BlockType, bytes: &[u8], first: u64, dst: &mut [f32]) -> Option<()> {
            let decode: fn(&[u8], &mut [f32]) = match block_type {
                $(BlockType::$name => |bytes, dst| each::<$bytes, $elements>($to_f32, bytes, dst),)*
            };
            range((block_type.bytes(), block_type.elements()), &decode, bytes, first, dst)
        }
    };
}

block_types! {
    Q4_0 = 2, "q4_0", 32, 18, q4_0_to_f32;
    Q4_1 = 3, "q4_1", 32, 20, q4_1_to_f32;
    Q5_0 = 6, "q5_0", 32, 22, q5_0_to_f32;
    Q5_1 = 7, "q5_1", 32, 24, q5_1_to_f32;
    Q8_0 = 8, "q8_0", 32, 34, q8_0_to_f32;
    Q8_1 = 9, "q8_1", 32, 36, q8_1_to_f32;
    Q2_K = 10, "q2_k", 256, 84, q2_k_to_f32;
    Q3_K = 11, "q3_k", 256, 110, q3_k_to_f32;
    Q4_K = 12, "q4_k", 256, 144, q4_k_to_f32;
    Q5_K = 13, "q5_k", 256, 176, q5_k_to_f32;
    Q6_K = 14, "q6_k", 256, 210, q6_k_to_f32;
    Q8_K = 15, "q8_k", 256, 292, q8_k_to_f32;
    IQ2_XXS = 16, "iq2_xxs", 256, 66, iq2_xxs_to_f32;
    IQ2_XS = 17, "iq2_xs", 256, 74, iq2_xs_to_f32;
    IQ3_XXS = 18, "iq3_xxs", 256, 98, iq3_xxs_to_f32;
    IQ1_S = 19, "iq1_s", 256, 50, iq1_s_to_f32;
    IQ4_NL = 20, "iq4_nl", 32, 18, iq4_nl_to_f32;
    IQ3_S = 21, "iq3_s", 256, 110, iq3_s_to_f32;
    IQ2_S = 22, "iq2_s", 256, 82, iq2_s_to_f32;
    IQ4_XS = 23, "iq4_xs", 256, 136, iq4_xs_to_f32;
    IQ1_M = 29, "iq1_m", 256, 56, iq1_m_to_f32;
    TQ1_0 = 34, "tq1_0", 256, 54, tq1_0_to_f32;
    TQ2_0 = 35, "tq2_0", 256, 66, tq2_0_to_f32;
    MXFP4 = 39, "mxfp4", 32, 17, mxfp4_to_f32;
    NVFP4 = 40, "nvfp4", 64, 36, nvfp4_to_f32;
    Q1_0 = 41, "q1_0", 128, 18, q1_0_to_f32;
    Q2_0 = 42, "q2_0", 64, 18, q2_0_to_f32;
}

impl BlockType {
    /// Returns whether blocks of this type contain numbers of more than a byte, whose byte order in a big-endian file
    /// is undefined.
    #[cfg(feature = "dequantize")]
    pub(crate) const fn has_wide_numbers(self) -> bool {
        !matches!(self, Self::MXFP4 | Self::NVFP4)
    }

    /// Returns the block type with ggml's number `id`; `None` for types without blocks, and for removed and unknown
    /// types.
    #[must_use]
    pub const fn from_ggml(id: u32) -> Option<Self> {
        match id.to_le_bytes() {
            [code, 0, 0, 0] => Self::from_code(code),
            _ => None,
        }
    }
}

/// Returns the dtype with ggml's number `id`; `None` for block types, and for removed and unknown types.
#[must_use]
pub const fn plain(id: u32) -> Option<DType> {
    Some(match id {
        0 => DType::F32,
        1 => DType::F16,
        24 => DType::I8,
        25 => DType::I16,
        26 => DType::I32,
        27 => DType::I64,
        28 => DType::F64,
        30 => DType::BF16,
        _ => return None,
    })
}

/// Returns the value of a binary16, the type of most scales.
#[cfg(feature = "dequantize")]
#[inline]
fn binary16(bits: zerocopy::little_endian::U16) -> f32 {
    crate::types::float::f16_to_f32(bits.get())
}

/// Decodes as many blocks as both slices have room for.
#[cfg(feature = "dequantize")]
fn each<const BYTES: usize, const ELEMENTS: usize>(
    decode: impl Fn(&[u8; BYTES], &mut [f32; ELEMENTS]),
    bytes: &[u8],
    dst: &mut [f32],
) {
    for (block, numbers) in bytes.chunks_exact(BYTES).zip(dst.chunks_exact_mut(ELEMENTS)) {
        if let (Ok(block), Ok(numbers)) = (block.try_into(), numbers.try_into()) {
            decode(block, numbers);
        }
    }
}

/// Decodes elements as [`dequantize`] does, for blocks of one type, which `to_f32` decodes. The code and tables of
/// other types are not linked.
///
/// A function for blocks of more than 256 elements, or of a number of elements that is not a power of two, does not
/// compile.
///
/// ```
/// use tenslice::blocks::{dequantize_with, q8_0_to_f32};
///
/// let mut blocks = [0; 68];
/// (blocks[1], blocks[35]) = (0x38, 0x3c); // 0.5 and 1
/// (blocks[33], blocks[36]) = (30, 40);
/// let mut numbers = [0.0; 2];
/// dequantize_with(q8_0_to_f32, &blocks, 31, &mut numbers).unwrap(); // the last of one block, the first of the next
/// assert_eq!(numbers, [15.0, 40.0]);
/// ```
#[cfg(feature = "dequantize")]
#[must_use]
pub fn dequantize_with<const BYTES: usize, const ELEMENTS: usize>(
    to_f32: impl Fn(&[u8; BYTES], &mut [f32; ELEMENTS]),
    bytes: &[u8],
    first: u64,
    dst: &mut [f32],
) -> Option<()> {
    const { assert!(BYTES != 0 && ELEMENTS.is_power_of_two() && ELEMENTS <= MOST_ELEMENTS) };
    let decode = |bytes: &[u8], dst: &mut [f32]| each(&to_f32, bytes, dst);
    range((to_u64(BYTES), to_u64(ELEMENTS)), &decode, bytes, first, dst)
}

/// The maximum number of elements in a block.
#[cfg(feature = "dequantize")]
const MOST_ELEMENTS: usize = 256;

/// Decodes a range of elements. A block has `length` bytes and `elements` elements; `decode` decodes whole blocks. Not
/// generic, so that the code exists once for all types.
#[cfg(feature = "dequantize")]
fn range(
    (length, elements): (u64, u64),
    decode: &dyn Fn(&[u8], &mut [f32]),
    bytes: &[u8],
    first: u64,
    dst: &mut [f32],
) -> Option<()> {
    // `elements` is a power of two.
    let block = to_usize(first.wrapping_shr(elements.trailing_zeros()))?;
    let within = to_usize(first & elements.wrapping_sub(1))?;
    let count = to_usize(count_of(to_u64(within.checked_add(dst.len())?), elements))?;
    let (length, elements) = (to_usize(length)?, to_usize(elements)?);
    let bytes = bytes.get(block.checked_mul(length)?..)?.get(..count.checked_mul(length)?)?;

    // Decodes the part of a block that is wanted.
    let part = |block: &[u8], within: usize, dst: &mut [f32]| {
        let mut numbers = [0.0; MOST_ELEMENTS];
        decode(block, &mut numbers);
        dst.iter_mut().zip(numbers.iter().skip(within)).for_each(|(to, from)| *to = *from);
    };
    let mut rest = bytes;
    let head_length = if within == 0 { 0 } else { elements.wrapping_sub(within).min(dst.len()) };
    let (head, dst) = dst.split_at_mut_checked(head_length)?;
    if !head.is_empty() {
        let (block, after) = rest.split_at_checked(length)?;
        part(block, within, head);
        rest = after;
    }
    let whole_length = dst.len() & !elements.wrapping_sub(1);
    let (whole, tail) = dst.split_at_mut_checked(whole_length)?;
    decode(rest, whole);
    if !tail.is_empty() {
        part(bytes.get(bytes.len().checked_sub(length)?..)?, 0, tail);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;
    use crate::bytes::num::to_u64;

    #[test]
    fn blocks_have_the_sizes_of_their_types() {
        fn check<B: Block>(all: &mut Vec<BlockType>) {
            assert_eq!((to_u64(size_of::<B>()), align_of::<B>()), (B::TYPE.bytes(), 1), "{}", B::TYPE);
            let length = size_of::<B>();
            let bytes = std::vec![0; 2 * length];
            assert_eq!(B::slice(&bytes).map(<[B]>::len), Some(2));
            assert!(B::slice(&bytes[1..]).is_none());
            all.push(B::TYPE);
        }
        let mut all = Vec::new();
        check::<Q4_0>(&mut all);
        check::<Q4_1>(&mut all);
        check::<Q5_0>(&mut all);
        check::<Q5_1>(&mut all);
        check::<Q8_0>(&mut all);
        check::<Q8_1>(&mut all);
        check::<Q2_K>(&mut all);
        check::<Q3_K>(&mut all);
        check::<Q4_K>(&mut all);
        check::<Q5_K>(&mut all);
        check::<Q6_K>(&mut all);
        check::<Q8_K>(&mut all);
        assert_eq!(all, BlockType::ALL[..12]);
    }

    /// The bound in `docs/promises.md` on the number of bytes of `f32` per stored byte.
    #[test]
    fn bytes_become_29_at_most() {
        let most = BlockType::ALL.iter().map(|block| (4 * block.elements()).div_ceil(block.bytes())).max();
        assert_eq!(most, Some(29));
    }

    #[test]
    fn every_number_of_ggml() {
        let mut types = 0;
        for id in (0..1000).chain([258, u32::MAX]) {
            let (block, plain) = (BlockType::from_ggml(id), plain(id));
            assert!(block.is_none() || plain.is_none(), "{id}");
            assert!(block.is_none_or(|block| u32::from(block.code()) == id));
            types += u32::from(block.is_some()) + u32::from(plain.is_some());
            let is_gone = matches!(id, 4 | 5 | 31..=33 | 36..=38);
            assert_eq!(block.is_none() && plain.is_none(), is_gone || id > 42, "{id}");
        }
        assert_eq!((types, BlockType::ALL.len()), (35, 27));
    }

    #[test]
    fn names_of_layouts() {
        for block in BlockType::ALL {
            let name = block.layout_name();
            assert_eq!(name, std::format!("gguf.{block}"));
            assert_eq!(name, std::format!("gguf.{}", block.name().to_lowercase()));
            assert_eq!(BlockType::from_layout_name(name.as_bytes()), Some(*block));
            assert!(block.elements().is_power_of_two());
        }
        for name in ["", "gguf.", "q4_k", "gguf.Q4_K", "gguf.q4_k ", "gguf.q4_", "gguf.f32", "dense"] {
            assert_eq!(BlockType::from_layout_name(name.as_bytes()), None, "{name}");
        }
    }
}
