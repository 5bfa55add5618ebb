//! Conversion of bytes to numbers: typed slices if alignment and byte order allow, element by element otherwise.
//!
//! The only module that casts bytes.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use crate::error::ErrorKind;
use crate::types::{ByteOrder, DType};

mod sealed {
    pub trait Sealed: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable {}
}

/// A Rust type that elements can be read as: the integers, `f32` and `f64`; `[f32; 2]` and `[f64; 2]` for complex
/// numbers; an array for elements of several lanes, such as `[i16; 4]`.
///
/// `u8` also reads the bits of `bool` and the 8-bit floats, `u16` those of `f16` and `bf16`, and `u128` those of
/// `f128`. [`DType::binary128_to_f64`] converts the bits of an `f128` to a number.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// Returns true if elements of `dtype` may be read as this type.
    fn reads(dtype: DType) -> bool;

    /// Decodes one element from its bytes; `None` if `bytes` does not have exactly the length of an element.
    #[doc(hidden)]
    fn from_bytes(bytes: &[u8], order: ByteOrder) -> Option<Self>;
}

macro_rules! numbers {
    ($($ty:ty: $($dtype:ident)+;)*) => { $(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            fn reads(dtype: DType) -> bool {
                matches!(dtype, $(DType::$dtype)|+)
            }
            fn from_bytes(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                let bytes = bytes.try_into().ok()?;
                Some(match order {
                    ByteOrder::Little => Self::from_le_bytes(bytes),
                    ByteOrder::Big => Self::from_be_bytes(bytes),
                })
            }
        }
    )* };
}

numbers! {
    u8: U8 BOOL F8_E4M3FN F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ F8_E8M0;
    u16: U16 F16 BF16;
    u32: U32;
    u64: U64;
    u128: U128 F128;
    i8: I8;
    i16: I16;
    i32: I32;
    i64: I64;
    i128: I128;
    f32: F32;
    f64: F64;
}

macro_rules! arrays {
    ($($number:ty)*) => { $(
        arrays!($number, 2);
        arrays!($number, 4);
        arrays!($number, 8);
    )* };
    ($number:ty, $lanes:literal) => {
        impl sealed::Sealed for [$number; $lanes] {}
        impl Element for [$number; $lanes] {
            fn reads(dtype: DType) -> bool {
                DType::ALL.iter().any(|&(number, _)| {
                    <$number>::reads(number) && number.with_lanes($lanes) == Some(dtype)
                })
            }
            fn from_bytes(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                let mut numbers = bytes.chunks_exact(size_of::<$number>());
                let mut all = [<$number>::default(); $lanes];
                for number in &mut all {
                    *number = <$number>::from_bytes(numbers.next()?, order)?;
                }
                (numbers.next().is_none() && numbers.remainder().is_empty()).then_some(all)
            }
        }
    };
}

arrays! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 }

impl DType {
    /// Returns the `f64` nearest to the IEEE binary128 number with the bits `bits`; ties go to even. Overflow gives
    /// infinity, underflow gives zero. A NaN stays a NaN and keeps the upper bits of its payload.
    ///
    /// ```
    /// assert_eq!(tenslice::DType::binary128_to_f64(0x3fff_8000_0000_0000_0000_0000_0000_0000), 1.5);
    /// ```
    #[must_use]
    pub fn binary128_to_f64(bits: u128) -> f64 {
        /// The fraction bits of both formats, and the exponent of infinities and NaN.
        const WIDE: u32 = 112;
        const NARROW: u32 = 52;
        const ENDLESS: u64 = 0x7fff;
        /// The difference of the exponent biases.
        const BIAS: i64 = 16383 - 1023;

        let low64 = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
        let sign = low64(bits >> 64) & 1_u64 << 63;
        let exponent = low64(bits >> WIDE) & ENDLESS;
        let fraction = bits & (1_u128 << WIDE).wrapping_sub(1);
        let infinity = 0x7ff_u64 << NARROW;
        if exponent == ENDLESS {
            let quiet = if fraction == 0 { 0 } else { 1_u64.wrapping_shl(NARROW.wrapping_sub(1)) };
            let payload = low64(fraction.wrapping_shr(WIDE.wrapping_sub(NARROW)));
            return f64::from_bits(sign | infinity | payload | quiet);
        }
        // The fraction with its leading bit, and the shift to the fraction of an f64. The shift is larger below the
        // smallest normal number. (A subnormal binary128 number is far below: it becomes 0.)
        let exponent = i64::try_from(exponent).unwrap_or(0).wrapping_sub(BIAS);
        let below = 1_i64.wrapping_sub(exponent).clamp(0, 64);
        let shift = WIDE.wrapping_sub(NARROW).saturating_add(u32::try_from(below).unwrap_or(64));
        let significand = fraction | 1_u128 << WIDE;
        let kept = low64(significand.wrapping_shr(shift));
        let rest = significand & 1_u128.wrapping_shl(shift).wrapping_sub(1);
        let half = 1_u128.wrapping_shl(shift.wrapping_sub(1));
        let round_up = rest > half || (rest == half && kept & 1 == 1);
        // A carry out of the fraction increments the exponent, which is correct.
        let biased = exponent.max(1).unsigned_abs().wrapping_sub(1).min(0x7ff);
        let magnitude = (biased << NARROW).saturating_add(kept).saturating_add(u64::from(round_up));
        f64::from_bits(sign | magnitude.min(infinity))
    }
}

/// Returns `bytes` as a slice of `T`, without a copy.
pub(crate) fn typed<T: Element>(bytes: &[u8]) -> Result<&[T], ErrorKind> {
    if bytes.is_empty() {
        return Ok(&[]); // an empty slice may not be aligned
    }
    <[T] as zerocopy::FromBytes>::ref_from_bytes(bytes).map_err(|error| match error {
        zerocopy::ConvertError::Alignment(_) => ErrorKind::Misaligned,
        _ => ErrorKind::PartialElement,
    })
}

/// An iterator that decodes the elements in a run of bytes one by one, from any alignment and byte order, without
/// copying the whole.
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    chunks: ChunksExact<'a, u8>,
    order: ByteOrder,
    element: core::marker::PhantomData<T>,
}

impl<'a, T: Element> Elements<'a, T> {
    /// Iterates over arbitrary bytes, such as the bytes of a region of a chunked array, as consecutive elements in the
    /// byte order `order`. An incomplete element at the end is ignored.
    #[must_use]
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { chunks: bytes.chunks_exact(size_of::<T>()), order, element: core::marker::PhantomData }
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        T::from_bytes(self.chunks.next()?, self.order)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}
impl<T: Element> FusedIterator for Elements<'_, T> {}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;
    use std::vec;

    use super::*;

    #[test]
    fn elements_follow_the_byte_order() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        let read = |order| Elements::<u16>::new(&bytes, order).collect::<Vec<_>>();
        assert_eq!(read(ByteOrder::Little), [0x0201, 0x0403, 0x0605, 0x0807]);
        assert_eq!(read(ByteOrder::Big), [0x0102, 0x0304, 0x0506, 0x0708]);
        let complex = Elements::<[f32; 2]>::new(&[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40], ByteOrder::Little).next();
        assert_eq!(complex, Some([1.0, 2.0]));
    }

    #[test]
    fn elements_have_as_many_bytes_as_they_take() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        for length in 0..9 {
            let bytes = &bytes[..length];
            assert_eq!(u32::from_bytes(bytes, ByteOrder::Big), (length == 4).then_some(0x0102_0304));
            let lanes = <[i16; 2]>::from_bytes(bytes, ByteOrder::Little);
            assert_eq!(lanes, (length == 4).then_some([0x0201, 0x0403]), "{length}");
            let mut elements = Elements::<[i16; 2]>::new(bytes, ByteOrder::Big);
            assert_eq!(elements.len(), length / 4);
            assert_eq!(elements.by_ref().count(), length / 4);
            assert_eq!((elements.len(), elements.next()), (0, None));
        }
    }

    #[test]
    fn types_read_elements_of_their_own_kind() {
        fn read(reads: fn(DType) -> bool) -> Vec<DType> {
            DType::ALL.iter().map(|(dtype, _)| *dtype).filter(|dtype| reads(*dtype)).collect()
        }
        assert_eq!((read(u32::reads), read(i64::reads)), (vec![DType::U32], vec![DType::I64]));
        assert_eq!((read(f64::reads), read(i8::reads)), (vec![DType::F64], vec![DType::I8]));
        assert!(u16::reads(DType::F16) && u16::reads(DType::BF16) && u128::reads(DType::F128));
        assert!(u8::reads(DType::BOOL) && u8::reads(DType::F8_E5M2) && read(u8::reads).len() == 7);
        for (number, lanes) in DType::ALL.iter().flat_map(|(number, _)| [1, 2, 4, 8].map(|lanes| (*number, lanes))) {
            let Some(dtype) = number.with_lanes(lanes) else { continue };
            let found = [<[i16; 2]>::reads(dtype), <[i16; 4]>::reads(dtype), <[i16; 8]>::reads(dtype)];
            assert_eq!(found, [2, 4, 8].map(|count| number == DType::I16 && lanes == count), "{dtype}");
        }
        assert!(<[u16; 2]>::reads(DType::F16.with_lanes(2).unwrap()) && !<[u16; 2]>::reads(DType::F16));
    }

    #[test]
    fn casts_say_what_is_wrong() {
        #[repr(align(8))]
        struct Aligned([u8; 24]);
        let bytes = Aligned([0; 24]).0;
        let aligned: &[u8] = &bytes;
        let at = aligned.as_ptr().align_offset(8);
        let aligned = &aligned[at..at + 16];
        assert_eq!(typed::<u64>(aligned), Ok(&[0, 0][..]));
        assert_eq!(typed::<u64>(&aligned[..9]), Err(ErrorKind::PartialElement));
        assert_eq!(typed::<u32>(&aligned[1..9]), Err(ErrorKind::Misaligned));
        assert_eq!(typed::<u32>(&[]), Ok(&[][..]));
    }
}
