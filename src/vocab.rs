//! The words that every format shares: dtype, byte order, element order, layout, encoding.
//!
//! Depends on `error` (for the macro that pins numbers).
#![forbid(unsafe_code)]

use core::fmt;

use crate::error::pinned;

/// The type of an element.
///
/// The low byte of its [code](DType::code) names the number; the high byte is kept for several equal
/// numbers in one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType(u16);

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal, $log2:literal;)*) => {
        impl DType {
            $($(#[$doc])* pub const $name: Self = Self($code);)*

            /// Every dtype with its name in the C header, in the order of its code.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, stringify!($name)),)*];

            /// Its usual short name: `f32`, `bf16`, `u8`, `c64`, …
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* _ => "?" }
            }

            /// The names in the order of `ALL`, each closed by a NUL.
            #[cfg(feature = "capi")]
            pub(crate) const NAMES_FOR_C: &'static str = concat!($($text, "\0"),*);

            /// Base-2 logarithm of [`size`](Self::size): every element is a power of two long.
            pub(crate) const fn log2_size(self) -> u32 {
                match self { $(Self::$name => $log2,)* _ => 0 }
            }
        }
    };
}

dtypes! {
    /// Truth value in a byte. Files hold values other than 0 and 1; it is never shown as a Rust `bool`.
    BOOL = 1, "bool", 0;
    /// Unsigned 8-bit integer.
    U8 = 2, "u8", 0;
    /// Unsigned 16-bit integer.
    U16 = 3, "u16", 1;
    /// Unsigned 32-bit integer.
    U32 = 4, "u32", 2;
    /// Unsigned 64-bit integer.
    U64 = 5, "u64", 3;
    /// Unsigned 128-bit integer.
    U128 = 6, "u128", 4;
    /// Signed 8-bit integer.
    I8 = 8, "i8", 0;
    /// Signed 16-bit integer.
    I16 = 9, "i16", 1;
    /// Signed 32-bit integer.
    I32 = 10, "i32", 2;
    /// Signed 64-bit integer.
    I64 = 11, "i64", 3;
    /// Signed 128-bit integer.
    I128 = 12, "i128", 4;
    /// IEEE binary16.
    F16 = 16, "f16", 1;
    /// IEEE binary32.
    F32 = 17, "f32", 2;
    /// IEEE binary64.
    F64 = 18, "f64", 3;
    /// IEEE binary128.
    F128 = 19, "f128", 4;
    /// bfloat16: the upper half of a binary32.
    BF16 = 20, "bf16", 1;
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite and NaN.
    F8_E4M3FN = 24, "f8_e4m3fn", 0;
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    F8_E5M2 = 25, "f8_e5m2", 0;
    /// As `F8_E4M3FN`, with one NaN and no negative zero.
    F8_E4M3FNUZ = 26, "f8_e4m3fnuz", 0;
    /// As `F8_E5M2`, with one NaN, no infinities and no negative zero.
    F8_E5M2FNUZ = 27, "f8_e5m2fnuz", 0;
    /// Complex number of two `f32`: real, imaginary.
    C64 = 32, "c64", 3;
    /// Complex number of two `f64`: real, imaginary.
    C128 = 33, "c128", 4;
}

impl DType {
    /// The pinned number; the same in C.
    #[must_use]
    pub const fn code(self) -> u16 {
        self.0
    }

    /// The dtype of a code; `None` for a number that is no dtype's.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.iter().map(|(dtype, _)| *dtype).find(|dtype| dtype.0 == code)
    }

    /// Bytes of one element: 1 to 16, a power of two.
    #[must_use]
    pub const fn size(self) -> u64 {
        1_u64.wrapping_shl(self.log2_size())
    }

    /// Where a program may read its numbers: the alignment of the Rust, and so of the C type.
    #[cfg(feature = "capi")]
    pub(crate) fn alignment(self) -> usize {
        match self.number_size() {
            2 => align_of::<u16>(),
            4 => align_of::<u32>(),
            8 => align_of::<u64>(),
            16 => align_of::<u128>(),
            _ => 1,
        }
    }

    /// Bytes of one number of an element, to which the byte order applies: half of it for complex ones.
    #[must_use]
    pub fn number_size(self) -> usize {
        let halvings = if matches!(self, Self::C64 | Self::C128) { 1 } else { 0 };
        1_usize.wrapping_shl(self.log2_size().saturating_sub(halvings))
    }

    /// Whether it is an integer type that can number elements.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.0 >= Self::U8.0 && self.0 <= Self::I128.0
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pinned! {
    /// The order of the bytes of a number.
    ByteOrder: u8 {
        Little = 0, "little-endian";
        Big = 1, "big-endian";
    }
}

impl ByteOrder {
    /// This machine's.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    /// Turns elements of this byte order into those of this machine, where they lie.
    pub(crate) fn to_native(self, bytes: &mut [u8], dtype: DType) {
        if self == Self::NATIVE {
            return;
        }
        // One arm a size, so that each has a size known to the compiler.
        match dtype.number_size() {
            2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
            4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
            8 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
            16 => bytes.chunks_exact_mut(16).for_each(<[u8]>::reverse),
            _ => {}
        }
    }
}

pinned! {
    /// The order of the elements of a dense array.
    Order: u8 {
        RowMajor = 0, "row-major";
        ColumnMajor = 1, "column-major";
    }
}

pinned! {
    /// How the components of a tensor add up to it.
    Layout: u8 {
        Dense = 0, "dense";
        SparseCsr = 1, "sparse_csr";
        SparseCoo = 2, "sparse_coo";
        QuantizedGroup = 3, "quantized_group";
        /// A layout of the file's own: its components are listed, its meaning is not known here.
        Other = 255, "other";
    }
}

pinned! {
    /// How the bytes of a component are stored.
    Encoding: u8 {
        Raw = 0, "raw";
        Zstd = 1, "zstd";
        /// In a way that is not known here; the file gives it a name.
        Other = 255, "other";
    }
}
