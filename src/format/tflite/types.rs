//! The types of elements, by their numbers in the schema.
#![forbid(unsafe_code)]

use crate::types::DType;

/// A type of elements.
pub(super) enum ElementType {
    Number(DType),
    Text,
}

impl ElementType {
    /// Returns the type with a number; `None` for resources (13) and variants (14), which are no data, and for numbers
    /// that the schema does not have.
    pub(super) const fn of(number: i8) -> Option<Self> {
        Some(Self::Number(match number {
            0 => DType::F32,
            1 => DType::F16,
            2 => DType::I32,
            3 => DType::U8,
            4 => DType::I64,
            5 => return Some(Self::Text),
            6 => DType::BOOL,
            7 => DType::I16,
            8 => DType::C64,
            9 => DType::I8,
            10 => DType::F64,
            11 => DType::C128,
            12 => DType::U64,
            15 => DType::U32,
            16 => DType::U16,
            17 => DType::INT4,
            18 => DType::BF16,
            19 => DType::INT2,
            20 => DType::UINT4,
            21 => DType::F8_E4M3FN,
            22 => DType::F8_E5M2,
            _ => return None,
        }))
    }
}
