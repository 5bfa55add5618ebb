//! From bytes to numbers: typed slices where alignment and byte order allow, one by one everywhere.
//!
//! Depends on `error`, `vocab`. The only place that casts.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use crate::error::ErrorKind;
use crate::vocab::{ByteOrder, DType};

mod sealed {
    pub trait Sealed: zerocopy::FromBytes + zerocopy::Immutable {}
}

/// A Rust type that elements can be read as: the integers, `f32`, `f64`, and `[f32; 2]`, `[f64; 2]` for complex numbers.
///
/// `u8` also reads `bool` and the 8-bit floats, `u16` also `f16` and `bf16`: their bits.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// Whether elements of `dtype` may be read as this type.
    fn reads(dtype: DType) -> bool;

    /// One element from its bytes, `None` where they are not as many as it takes.
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
    u8: U8 BOOL F8_E4M3FN F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ;
    u16: U16 F16 BF16;
    u32: U32;
    u64: U64;
    u128: U128;
    i8: I8;
    i16: I16;
    i32: I32;
    i64: I64;
    i128: I128;
    f32: F32;
    f64: F64;
}

macro_rules! complex {
    ($($part:ty: $dtype:ident;)*) => { $(
        impl sealed::Sealed for [$part; 2] {}
        impl Element for [$part; 2] {
            fn reads(dtype: DType) -> bool {
                dtype == DType::$dtype
            }
            fn from_bytes(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                let (real, imaginary) = bytes.split_at_checked(size_of::<$part>())?;
                Some([<$part>::from_bytes(real, order)?, <$part>::from_bytes(imaginary, order)?])
            }
        }
    )* };
}

complex! {
    f32: C64;
    f64: C128;
}

/// `bytes` as a slice of `T`, without a copy.
pub(crate) fn typed<T: Element>(bytes: &[u8]) -> Result<&[T], ErrorKind> {
    if bytes.is_empty() {
        return Ok(&[]); // nothing is aligned well enough
    }
    <[T] as zerocopy::FromBytes>::ref_from_bytes(bytes).map_err(|error| match error {
        zerocopy::ConvertError::Alignment(_) => ErrorKind::Misaligned,
        _ => ErrorKind::NotWhole,
    })
}

/// The elements of a run of bytes, one by one: any alignment, any byte order, no copy of the whole.
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    chunks: ChunksExact<'a, u8>,
    order: ByteOrder,
    element: core::marker::PhantomData<T>,
}

impl<'a, T: Element> Elements<'a, T> {
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
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
    fn casts_say_what_is_wrong() {
        #[repr(align(8))]
        struct Aligned([u8; 24]);
        let bytes = Aligned([0; 24]).0;
        let aligned: &[u8] = &bytes;
        let at = aligned.as_ptr().align_offset(8);
        let aligned = &aligned[at..at + 16];
        assert_eq!(typed::<u64>(aligned), Ok(&[0, 0][..]));
        assert_eq!(typed::<u64>(&aligned[..9]), Err(ErrorKind::NotWhole));
        assert_eq!(typed::<u32>(&aligned[1..9]), Err(ErrorKind::Misaligned));
        assert_eq!(typed::<u32>(&[]), Ok(&[][..]));
    }
}
