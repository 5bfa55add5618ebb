//! The names of the dtypes, in the two forms in which they are searched.
#![forbid(unsafe_code)]

use crate::bytes::keywords::{Keywords, keywords};
use crate::types::DType;

/// Lists the dtypes by name.
macro_rules! dtypes {
    ($($name:literal: $dtype:ident),* $(,)?) => {
        pub(super) const DTYPES: Keywords = keywords![$($name: DType::$dtype.short_code()),*];

        /// The form of the list that a host searches first.
        #[cfg(not(small))]
        pub(super) const SHORT_DTYPES: &[ShortName] = &[$(ShortName::new($name.as_bytes(), DType::$dtype)),*];
    };
}

// All dtypes of the reference implementation 0.8, the most frequent first.
dtypes! {
    "F32": F32,
    "BF16": BF16,
    "F16": F16,
    "I64": I64,
    "U8": U8,
    "F8_E4M3": F8_E4M3FN,
    "I32": I32,
    "U32": U32,
    "I8": I8,
    "BOOL": BOOL,
    "F64": F64,
    "F8_E5M2": F8_E5M2,
    "F8_E8M0": F8_E8M0,
    "F4": F4_E2M1,
    "F6_E2M3": F6_E2M3,
    "F6_E3M2": F6_E3M2,
    "F8_E4M3FNUZ": F8_E4M3FNUZ,
    "F8_E5M2FNUZ": F8_E5M2FNUZ,
    "I16": I16,
    "U16": U16,
    "U64": U64,
    "C64": C64,
}

/// The name of a dtype and its closing quotation mark, as a little-endian number.
#[cfg(not(small))]
pub(super) struct ShortName {
    pub(super) word: u64,
    /// The number of bits in a word that are not part of the name.
    pub(super) others: u32,
    /// The length in bytes, with the quotation mark.
    pub(super) length: usize,
    pub(super) dtype: DType,
}

#[cfg(not(small))]
impl ShortName {
    /// A name too long for a word gets a word that matches no text, so that `fast::long_dtype` finds it.
    #[allow(clippy::arithmetic_side_effects, clippy::as_conversions)] // constants only: an overflow does not compile
    #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)]
    pub(super) const fn new(name: &[u8], dtype: DType) -> Self {
        let (mut word, mut length, mut rest) = (0x22, 1, name);
        while let [others @ .., last] = rest {
            word = word << 8 | *last as u64;
            length += 1;
            rest = others;
        }
        if length > 8 {
            return Self { word: u64::MAX, others: 0, length: usize::MAX, dtype };
        }
        Self { word, others: 64 - 8 * length as u32, length, dtype }
    }
}
