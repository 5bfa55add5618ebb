//! The vocabulary that all formats share: dtype, byte order, element order, layout, encoding.
#![forbid(unsafe_code)]

pub(crate) mod element;
pub(crate) mod feature;
#[cfg(feature = "dequantize")]
pub mod float;
pub(crate) mod shape;

use core::fmt;
use core::num::NonZeroU16;

use crate::bytes::keywords::{Keywords, UNKNOWN, keywords};
use crate::bytes::num::Product;
#[cfg(not(small))]
use crate::bytes::num::product;
use crate::error::abi_enum::abi_enum;

/// The type of an element.
///
/// The low byte of the [code](DType::code) is the type of one lane. The high byte is the base-2 logarithm of the number
/// of lanes, as in `i16x2` and `f64x4`. Two lanes of `f32` or `f64` are the complex types `c64` and `c128`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType(NonZeroU16); // nonzero, so that `Option<DType>` is no larger

/// The names of dtypes in NumPy's spelling: kind and size, without the byte order.
const NUMPY: Keywords = keywords![
    "b1": DType::BOOL.short_code(),
    "u1": DType::U8.short_code(),
    "u2": DType::U16.short_code(),
    "u4": DType::U32.short_code(),
    "u8": DType::U64.short_code(),
    "i1": DType::I8.short_code(),
    "i2": DType::I16.short_code(),
    "i4": DType::I32.short_code(),
    "i8": DType::I64.short_code(),
    "f2": DType::F16.short_code(),
    "f4": DType::F32.short_code(),
    "f8": DType::F64.short_code(),
    "c8": DType::C64.short_code(),
    "c16": DType::C128.short_code(),
];

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal, $log2:literal;)*) => {
        impl DType {
            $($(#[$doc])* pub const $name: Self = Self::of_number($code);)*

            /// All single-lane dtypes, including the complex ones, with their names in the C header, in the order of
            /// their codes. For dtypes with several lanes see [`with_lanes`](Self::with_lanes).
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, stringify!($name)),)*];

            /// Returns the usual short name: `f32`, `bf16`, `u8`, `c64`, `i16x2`, …
            #[must_use]
            pub const fn name(self) -> &'static str {
                let names = match self.number() {
                    $(Self::$name => [$text, concat!($text, "x2"), concat!($text, "x4"), concat!($text, "x8")],)*
                    _ => ["?"; 4],
                };
                let [one, two, four, eight] = names;
                match self.log2_lanes() { 0 => one, 1 => two, 2 => four, _ => eight }
            }

            /// The names in the order of `ALL`, four for each dtype: with 1, 2, 4 and 8 lanes. Each name is
            /// NUL-terminated.
            pub(crate) const NAMES_FOR_C: &'static str =
                concat!($($text, "\0", $text, "x2\0", $text, "x4\0", $text, "x8\0"),*);

            /// Returns the index of the dtype's name in [`NAMES_FOR_C`](Self::NAMES_FOR_C).
            pub(crate) fn place_of_name(self) -> Option<usize> {
                let number = Self::ALL.iter().position(|(number, _)| *number == self.number())?;
                number.checked_mul(4)?.checked_add(usize::try_from(self.log2_lanes()).ok()?)
            }

            /// Returns [`name`](Self::name) from the string that holds the names for C. Chips print this one: a linker
            /// keeps separate short strings even if no remaining code uses them.
            pub(crate) fn name_for_c(self) -> &'static str {
                let mut names = Self::NAMES_FOR_C.as_bytes().split(|byte| *byte == 0);
                let name = self.place_of_name().and_then(|place| names.nth(place));
                name.and_then(|name| core::str::from_utf8(name).ok()).unwrap_or("?")
            }

            /// Returns the base-2 logarithm of the size of one lane in bytes, where less than a byte counts as one;
            /// [`UNLISTED`](Self::UNLISTED) if the lane is not in `ALL`.
            #[cfg_attr(small, inline(never))] // a single copy of the byte table
            const fn log2_number_size(self) -> u8 {
                match self.code() & 0xff { $($code => $log2,)* _ => Self::UNLISTED }
            }
        }
    };
}

dtypes! {
    /// Boolean in a byte. Files contain values other than 0 and 1, so a boolean is never returned as a Rust `bool`.
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
    /// 8-bit float with 4 exponent and 3 mantissa bits, NaN but no infinities.
    F8_E4M3FN = 24, "f8_e4m3fn", 0;
    /// 8-bit float with 5 exponent and 2 mantissa bits, NaN and infinities.
    F8_E5M2 = 25, "f8_e5m2", 0;
    /// 8-bit float with 4 exponent and 3 mantissa bits, one NaN, no infinities and no negative zero.
    F8_E4M3FNUZ = 26, "f8_e4m3fnuz", 0;
    /// 8-bit float with 5 exponent and 2 mantissa bits, one NaN, no infinities and no negative zero.
    F8_E5M2FNUZ = 27, "f8_e5m2fnuz", 0;
    /// A power of two in 8 bits, 2^(bits - 127), without a sign; 255 is NaN. Used for scales.
    F8_E8M0 = 28, "f8_e8m0", 0;
    /// Complex number of two `f32`: real, imaginary.
    C64 = 32, "c64", 3;
    /// Complex number of two `f64`: real, imaginary.
    C128 = 33, "c128", 4;
    /// 4-bit float with 2 exponent bits and 1 mantissa bit, without NaN and infinities. Two are packed in a byte.
    F4_E2M1 = 40, "f4_e2m1", 0;
    /// 6-bit float with 2 exponent and 3 mantissa bits, without NaN and infinities. Four are packed in three bytes.
    F6_E2M3 = 41, "f6_e2m3", 0;
    /// 6-bit float with 3 exponent and 2 mantissa bits, without NaN and infinities. Four are packed in three bytes.
    F6_E3M2 = 42, "f6_e3m2", 0;
    /// Unsigned 4-bit integer. Two are packed in a byte, the first in the low bits. (`u4` is NumPy's name for 4 bytes.)
    UINT4 = 43, "uint4", 0;
    /// Signed 4-bit integer, in two's complement. Two are packed in a byte, the first in the low bits.
    INT4 = 44, "int4", 0;
    /// Unsigned 2-bit integer. Four are packed in a byte, the first in the low bits.
    UINT2 = 45, "uint2", 0;
    /// Signed 2-bit integer, in two's complement. Four are packed in a byte, the first in the low bits.
    INT2 = 46, "int2", 0;
}

impl DType {
    /// Returns the pinned numeric code, which is the same in C.
    #[must_use]
    pub const fn code(self) -> u16 {
        self.0.get()
    }

    const fn of_number(code: u16) -> Self {
        match NonZeroU16::new(code) {
            Some(code) => Self(code),
            None => Self(NonZeroU16::MIN), // unreachable: no code is 0
        }
    }

    /// Returns the dtype of the same kind, such as unsigned integers, that is `width` bytes wide; `width` is 16 at
    /// most. The codes of a kind are consecutive.
    pub(crate) fn widened_to(self, width: u32) -> Option<Self> {
        if !width.is_power_of_two() || width > 16 {
            return None;
        }
        let steps = width.trailing_zeros().checked_sub(self.log2_size())?;
        Some(Self::of_number(self.code().checked_add(u16::try_from(steps).ok()?)?))
    }

    /// Returns the code of a single-lane dtype, in a byte.
    pub(crate) const fn short_code(self) -> u8 {
        let [code, _] = self.code().to_le_bytes();
        code
    }

    /// Returns the code of a dtype with a single lane, in a byte; `None` for several lanes.
    #[cfg(feature = "write")]
    pub(crate) fn single_code(self) -> Option<u8> {
        (self.log2_lanes() == 0).then_some(self.short_code())
    }

    /// Returns the dtype for the number that a keyword list returned: a short code, or [`UNKNOWN`].
    pub(crate) fn from_keyword(number: u8) -> Option<Self> {
        if number == UNKNOWN { None } else { NonZeroU16::new(number.into()).map(Self) }
    }

    /// Returns the dtype for a name in NumPy's spelling: kind and size, without the byte order. `None` for names of
    /// other types: times, strings, records.
    pub(crate) fn from_numpy(name: &[u8]) -> Option<Self> {
        Self::from_keyword(NUMPY.number_of(name))
    }

    /// Returns the name in NumPy's spelling, as [`from_numpy`](Self::from_numpy) takes it; `None` if NumPy does not have
    /// the dtype.
    #[cfg(all(feature = "write", any(feature = "npy", feature = "b2nd")))]
    pub(crate) fn numpy_name(self) -> Option<&'static str> {
        core::str::from_utf8(NUMPY.word_of(self.single_code()?)?).ok()
    }

    /// Returns the dtype with this code; `None` if the number is not the code of a dtype.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        let given = Self(NonZeroU16::new(code)?);
        let (number, log2) = (given.number(), given.log2_lanes());
        // Two lanes of these are a dtype of its own, a complex number.
        let is_complex = log2 == 1 && matches!(number, Self::F32 | Self::F64);
        let has_lanes = log2 <= 3 && number >= Self::U8 && number <= Self::BF16 && !is_complex;
        ((log2 == 0 || has_lanes) && given.log2_number_size() != Self::UNLISTED).then_some(given)
    }

    /// Returns the dtype whose elements have `lanes` lanes of this type: 1, 2, 4 or 8, as for quaternions. `None` for
    /// other counts, and for types that cannot have lanes: booleans, floats of 8 bits or less, complex numbers.
    #[must_use]
    pub const fn with_lanes(self, lanes: u32) -> Option<Self> {
        match (self, lanes) {
            (_, 1) => Some(self),
            (Self::F32, 2) => Some(Self::C64),
            (Self::F64, 2) => Some(Self::C128),
            (_, 2 | 4 | 8) if self.code() >= Self::U8.code() && self.code() <= Self::BF16.code() => {
                #[allow(clippy::as_conversions)] // at most 3
                let log2 = lanes.trailing_zeros() as u16;
                Some(Self::of_number(self.code() | log2 << 8))
            }
            _ => None,
        }
    }

    const UNLISTED: u8 = u8::MAX;

    /// Returns the dtype of a single lane.
    pub(crate) const fn number(self) -> Self {
        Self::of_number(self.code() & 0xff)
    }

    pub(crate) const fn log2_lanes(self) -> u32 {
        #[allow(clippy::as_conversions)] // widens
        {
            (self.code() >> 8) as u32
        }
    }

    /// Returns the base-2 logarithm of the size of one element in bytes, which is a power of two. Less than a byte
    /// counts as one.
    pub(crate) const fn log2_size(self) -> u32 {
        #[allow(clippy::as_conversions)] // widens
        self.log2_lanes().saturating_add(self.log2_number_size() as u32)
    }

    /// Returns the number of bits of one element: 2 to 1024.
    #[must_use]
    pub const fn bits(self) -> u64 {
        #[allow(clippy::as_conversions)] // widens
        {
            self.short_bits() as u64
        }
    }

    /// Returns the number of bits of one element in half a word.
    #[cfg_attr(small, inline(never))]
    pub(crate) const fn short_bits(self) -> u32 {
        if self.is_packed() {
            match self {
                Self::F6_E2M3 | Self::F6_E3M2 => 6,
                Self::UINT2 | Self::INT2 => 2,
                _ => 4,
            }
        } else {
            8_u32.wrapping_shl(self.log2_size())
        }
    }

    /// Returns whether an element takes less than a byte. Such elements are packed without gaps, and cannot be
    /// addressed.
    #[must_use]
    pub const fn is_packed(self) -> bool {
        self.code() >= Self::F4_E2M1.code() && self.code() <= Self::INT2.code()
    }

    /// Returns the size of one element in bytes: 1 to 128, a power of two; `None` if it is less than a byte.
    #[must_use]
    pub const fn size(self) -> Option<u64> {
        if self.is_packed() { None } else { Some(self.byte_size()) }
    }

    /// Returns the number of bytes that `count` elements take; `None` beyond 64 bits. If packed elements end within a
    /// byte, the whole byte counts.
    #[must_use]
    pub fn byte_length(self, count: u64) -> Option<u64> {
        // Fast path for nearly all dtypes. Chips do without it, to save flash.
        #[cfg(not(small))]
        if !self.is_packed() {
            return product(Some(count), self.byte_size());
        }
        let mut length = Product::of(count);
        length.scale_to_bytes(self.short_bits());
        length.total()
    }

    /// Returns whether `count` elements fill whole bytes.
    pub(crate) fn fills_bytes(self, count: u64) -> bool {
        #[cfg(not(small))]
        if !self.is_packed() {
            return true;
        }
        self.bits_of_rest(count) & 7 == 0
    }

    /// Returns the number of bits of the elements after the last group of eight, of which there are at most 7.
    fn bits_of_rest(self, count: u64) -> u32 {
        let [low, ..] = count.to_le_bytes();
        u32::from(low & 7).wrapping_mul(self.short_bits())
    }

    /// Returns the size of one element in bytes; 1 for packed elements.
    pub(crate) const fn byte_size(self) -> u64 {
        #[allow(clippy::as_conversions)] // widens
        {
            1_u32.wrapping_shl(self.log2_size()) as u64
        }
    }

    /// Returns whether `bytes`, a length, is a whole number of elements, which are at most 128 bytes each. (Formats
    /// that pack elements check the length of each tensor.)
    pub(crate) const fn is_whole(self, bytes: u64) -> bool {
        let [low, ..] = bytes.to_le_bytes();
        low & 1_u8.wrapping_shl(self.log2_size()).wrapping_sub(1) == 0
    }

    /// Returns the alignment needed to read lanes in place: that of the Rust type, and so of the C type.
    #[cfg(feature = "capi")]
    #[inline(always)] // a program for a chip has one caller
    pub(crate) fn alignment(self) -> usize {
        // The lane size, except for types that have a smaller alignment on some machines.
        match self.lane_size() {
            8 => align_of::<u64>(),
            16 => align_of::<u128>(),
            size => size,
        }
    }

    /// Returns the size of one lane in bytes, the unit of the byte order. It is half the element for complex numbers,
    /// and 1 for elements of less than a byte.
    #[must_use]
    pub fn lane_size(self) -> usize {
        let halvings = if matches!(self, Self::C64 | Self::C128) { 1 } else { self.log2_lanes() };
        1_usize.wrapping_shl(self.log2_size().saturating_sub(halvings))
    }

    /// Returns whether the dtype is an integer type that can be used for indices.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.code() >= Self::U8.code() && self.code() <= Self::I128.code()
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

abi_enum! {
    /// The byte order of a number.
    ByteOrder: u8 {
        Little = 0, "little-endian";
        Big = 1, "big-endian";
    }
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    /// Converts elements from this byte order to that of this machine, in place.
    pub(crate) fn to_native(self, bytes: &mut [u8], dtype: DType) {
        if self == Self::NATIVE {
            return;
        }
        // One arm per size, so that each size is known at compile time.
        match dtype.lane_size() {
            2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
            4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
            8 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
            16 => bytes.chunks_exact_mut(16).for_each(<[u8]>::reverse),
            _ => {}
        }
    }
}

abi_enum! {
    /// The order of the elements of a dense array.
    Order: u8 {
        RowMajor = 0, "row-major";
        ColumnMajor = 1, "column-major";
    }
}

abi_enum! {
    /// How the components of a tensor represent its elements.
    Layout: u8 {
        Dense = 0, "dense";
        SparseCsr = 1, "sparse_csr";
        SparseCoo = 2, "sparse_coo";
        QuantizedGroup = 3, "quantized_group";
        /// Pairs of a linear index and a value.
        IndexValue = 4, "index_value";
        /// The elements that remain after removing those that follow by symmetry, in an order that the format does not
        /// define.
        Packed = 5, "packed";
        /// Cores whose products are the elements.
        TensorTrain = 6, "tensor_train";
        /// A single array in chunks, each compressed on its own.
        Chunked = 7, "chunked";
        /// Blocks of quantized numbers. The name of the layout states their type.
        Blocks = 8, "blocks";
        /// Small floats with a power of two as a scale for each block: the microscaling formats of the Open Compute
        /// Project.
        Microscaling = 9, "microscaling";
        /// A view of stored elements, which are not one after the other: [`Tensor::strides`](crate::Tensor::strides) are
        /// those of the file.
        Strided = 10, "strided";
        /// A layout that the file names but this library does not know: its components are listed, but their meaning is
        /// unknown. Also an array in chunks whose values are elsewhere or still to be computed.
        Other = 255, "other";
    }
}

abi_enum! {
    /// How the bytes of a component are encoded.
    Encoding: u8 {
        Raw = 0, "raw";
        Zstd = 1, "zstd";
        /// A zlib stream (RFC 1950). A [`Decoder`](crate::Decoder) is asked for it to decode chunks; no component is
        /// stored this way.
        Zlib = 2, "zlib";
        /// Chunks of Blosc, decoded by [`Tensor::read_into`](crate::Tensor::read_into). A [`Decoder`](crate::Decoder)
        /// is never asked for this encoding.
        Blosc = 3, "blosc2";
        /// A raw deflate stream (RFC 1951), as in archives.
        Deflate = 4, "deflate";
        /// Zstandard frames that are decoded one by one, and a table of them: any range can be read without decoding
        /// what is before it. A [`Decoder`](crate::Decoder) is asked for [`Zstd`](Self::Zstd), one frame at a time.
        ZstdSeekable = 5, "zt.zstd-seekable/1";
        /// Numbers as protobuf writes them: 7 bits in a byte, the lowest first. They are in one run, or in the fields of a
        /// message.
        Varint = 6, "varint";
        /// Numbers of 4 or 8 bytes in several fields of a protobuf message.
        Fixed = 7, "fixed";
        /// An encoding that the file names but this library does not know.
        Other = 255, "other";
    }
}

#[cfg(test)]
mod tests {
    use super::DType;

    #[test]
    fn bits_and_bytes() {
        for &(dtype, _) in DType::ALL {
            assert_eq!(dtype.size().is_none(), dtype.bits() < 8, "{dtype}");
            assert!(dtype.size().is_none_or(|size| size * 8 == dtype.bits()), "{dtype}");
            for count in (0..100).chain([1 << 32, (1 << 60) + 3]) {
                let bits = u128::from(count) * u128::from(dtype.bits());
                let bytes = u64::try_from(bits.div_ceil(8)).ok();
                assert_eq!(
                    (dtype.byte_length(count), dtype.fills_bytes(count)),
                    (bytes, bits % 8 == 0),
                    "{dtype} {count}"
                );
            }
        }
        assert_eq!(DType::F32.byte_length(1 << 62), None);
        assert_eq!(DType::F4_E2M1.byte_length(u64::MAX), Some(1 << 63));
        assert_eq!(DType::F6_E2M3.byte_length(u64::MAX), Some(3 << 62));
    }

    #[test]
    fn widths() {
        use DType as D;
        let widths = [1, 2, 4, 8, 16];
        assert_eq!(widths.map(|n| D::U8.widened_to(n)), [D::U8, D::U16, D::U32, D::U64, D::U128].map(Some));
        assert_eq!(widths.map(|n| D::I8.widened_to(n)), [D::I8, D::I16, D::I32, D::I64, D::I128].map(Some));
        let floats = [None, None, Some(D::F32), Some(D::F64), Some(D::F128)];
        assert_eq!(widths.map(|n| D::F32.widened_to(n)), floats);
        for width in [0, 3, 12, 17, 32, u32::MAX] {
            assert_eq!((D::U8.widened_to(width), D::F32.widened_to(width)), (None, None), "{width}");
        }
    }

    #[test]
    fn lanes() {
        let quaternion = DType::F64.with_lanes(4).unwrap();
        assert_eq!((quaternion.name(), quaternion.size(), quaternion.lane_size()), ("f64x4", Some(32), 8));
        assert_eq!(DType::from_code(quaternion.code()), Some(quaternion));
        assert_eq!(DType::F32.with_lanes(2), Some(DType::C64));
        assert_eq!((DType::F128.with_lanes(8).unwrap().bits(), DType::U8.with_lanes(8).unwrap().bits()), (1024, 64));
        for (dtype, lanes) in [(DType::C64, 2), (DType::BOOL, 2), (DType::F8_E5M2, 4), (DType::F32, 3)] {
            assert_eq!(dtype.with_lanes(lanes), None);
        }
        // Complex numbers have no lanes, and a code that is not listed is not a dtype.
        for code in [0, 7, DType::F64.code() | 0x100, DType::C64.code() | 0x100, DType::F64.code() | 0x400, 0xff11] {
            assert_eq!(DType::from_code(code), None, "{code}");
        }
    }
}
