//! The quantized blocks of ggml as structs, for programs that compute with them in place.
//!
//! The structs are those of ggml's `ggml-common.h`. Their fields are bytes or unaligned little-endian numbers, so a
//! block may be at any address.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // the names are ggml's

use zerocopy::little_endian::{F32, I16, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::BlockType;

mod sealed {
    pub trait Sealed {}
}

/// A quantized block as a struct, without padding and at any address.
pub trait Block: sealed::Sealed + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned {
    /// The type of the block.
    const TYPE: BlockType;

    /// Returns the blocks in `bytes`, in place; `None` if `bytes` are not whole blocks.
    ///
    /// ```
    /// use tenslice::blocks::{Block, Q8_0};
    ///
    /// let bytes = [0x00, 0x3c, 7, 8, 9]; // the scale is 1
    /// let bytes: [u8; 68] = std::array::from_fn(|i| bytes.get(i % 34).copied().unwrap_or(0));
    /// let blocks = Q8_0::slice(&bytes).unwrap();
    /// assert_eq!((blocks.len(), blocks[1].qs[2]), (2, 9));
    /// ```
    fn slice(bytes: &[u8]) -> Option<&[Self]>
    where
        Self: Sized,
    {
        <[Self]>::ref_from_bytes(bytes).ok()
    }
}

macro_rules! blocks {
    ($(
        $name:ident, $elements:literal, $to_f32:ident:
        $(#[$doc:meta])* { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl sealed::Sealed for $name {}

        impl Block for $name {
            const TYPE: BlockType = BlockType::$name;
        }

        #[cfg(feature = "dequantize")]
        impl $name {
            /// Writes the numbers of the block.
            #[inline]
            pub fn to_f32(&self, dst: &mut [f32; $elements]) {
                super::$to_f32(zerocopy::transmute_ref!(self), dst);
            }
        }
    )* };
}

blocks! {
    Q4_0, 32, q4_0_to_f32:
    /// 32 numbers of 4 bits: `d * (q - 8)`.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// Byte `i` has number `i` in its low half, number `16 + i` in its high half.
        qs: [u8; 16],
    }

    Q4_1, 32, q4_1_to_f32:
    /// 32 numbers of 4 bits: `d * q + m`.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// The smallest number, a binary16 by its bits.
        m: U16,
        /// Byte `i` has number `i` in its low half, number `16 + i` in its high half.
        qs: [u8; 16],
    }

    Q5_0, 32, q5_0_to_f32:
    /// 32 numbers of 5 bits: `d * (q - 16)`.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// Bit `i` is the highest of number `i`.
        qh: U32,
        /// The low 4 bits: byte `i` has number `i` in its low half, number `16 + i` in its high half.
        qs: [u8; 16],
    }

    Q5_1, 32, q5_1_to_f32:
    /// 32 numbers of 5 bits: `d * q + m`.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// The smallest number, a binary16 by its bits.
        m: U16,
        /// Bit `i` is the highest of number `i`.
        qh: U32,
        /// The low 4 bits: byte `i` has number `i` in its low half, number `16 + i` in its high half.
        qs: [u8; 16],
    }

    Q8_0, 32, q8_0_to_f32:
    /// 32 numbers of 8 bits: `d * q`.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// The numbers.
        qs: [i8; 32],
    }

    Q8_1, 32, q8_1_to_f32:
    /// 32 numbers of 8 bits, `d * q`, and their sum. ggml uses this type for computation; no model is stored in it.
    {
        /// The scale, a binary16 by its bits.
        d: U16,
        /// `d` times the sum of `qs`, a binary16 by its bits.
        s: U16,
        /// The numbers.
        qs: [i8; 32],
    }

    Q2_K, 256, q2_k_to_f32:
    /// 256 numbers of 2 bits, in groups of 16: `d * scale * q - dmin * min`.
    {
        /// Group `i` of 16 numbers: its scale in the low half of a byte, its minimum in the high half.
        scales: [u8; 16],
        /// Number `i` is in byte `32 * (i / 128) + i % 32`, `2 * (i % 128 / 32)` bits up.
        qs: [u8; 64],
        /// The scale of the scales, a binary16 by its bits.
        d: U16,
        /// The scale of the minima, a binary16 by its bits.
        dmin: U16,
    }

    Q3_K, 256, q3_k_to_f32:
    /// 256 numbers of 3 bits, in groups of 16: `d * (scale - 32) * (q - 4)`.
    {
        /// The highest bit of number `i` is bit `i / 32` of byte `i % 32`.
        hmask: [u8; 32],
        /// The low bits: number `i` is in byte `32 * (i / 128) + i % 32`, `2 * (i % 128 / 32)` bits up.
        qs: [u8; 64],
        /// 16 scales of 6 bits: the low 4 bits of scale `i` are in byte `i % 8`, `4 * (i / 8)` bits up, the high 2
        /// in byte `8 + i % 4`, `2 * (i / 4)` bits up.
        scales: [u8; 12],
        /// The scale of the scales, a binary16 by its bits.
        d: U16,
    }

    Q4_K, 256, q4_k_to_f32:
    /// 256 numbers of 4 bits, in groups of 32: `d * scale * q - dmin * min`.
    {
        /// The scale of the scales, a binary16 by its bits.
        d: U16,
        /// The scale of the minima, a binary16 by its bits.
        dmin: U16,
        /// 8 scales and 8 minima of 6 bits. For groups 0 to 3, they are the low 6 bits of bytes 0 to 3 and of bytes 4
        /// to 7. For groups 4 to 7, the low 4 bits are in bytes 8 to 11, with the scale in the low half, and the high 2
        /// bits are at the top of bytes 0 to 3 and of bytes 4 to 7.
        scales: [u8; 12],
        /// Number `i` is in byte `32 * (i / 64) + i % 32`, in its high half if `i % 64` is 32 or more.
        qs: [u8; 128],
    }

    Q5_K, 256, q5_k_to_f32:
    /// 256 numbers of 5 bits, in groups of 32: `d * scale * q - dmin * min`.
    {
        /// The scale of the scales, a binary16 by its bits.
        d: U16,
        /// The scale of the minima, a binary16 by its bits.
        dmin: U16,
        /// 8 scales and 8 minima of 6 bits, as in [`Q4_K`].
        scales: [u8; 12],
        /// The highest bit of number `i` is bit `i / 32` of byte `i % 32`.
        qh: [u8; 32],
        /// The low 4 bits: number `i` is in byte `32 * (i / 64) + i % 32`, in its high half if `i % 64` is 32 or more.
        qs: [u8; 128],
    }

    Q6_K, 256, q6_k_to_f32:
    /// 256 numbers of 6 bits, in groups of 16: `d * scale * (q - 32)`.
    {
        /// The low 4 bits: number `i` is in byte `64 * (i / 128) + i % 64`, in its high half if `i % 128` is 64 or
        /// more.
        ql: [u8; 128],
        /// The high 2 bits: number `i` is in byte `32 * (i / 128) + i % 32`, `2 * (i % 128 / 32)` bits up.
        qh: [u8; 64],
        /// The scales of the groups.
        scales: [i8; 16],
        /// The scale of the scales, a binary16 by its bits.
        d: U16,
    }

    Q8_K, 256, q8_k_to_f32:
    /// 256 numbers of 8 bits, `d * q`, and their sums. ggml uses this type for computation; no model is stored in it.
    {
        /// The scale.
        d: F32,
        /// The numbers.
        qs: [i8; 256],
        /// The sums of groups of 16 numbers.
        bsums: [I16; 16],
    }
}
