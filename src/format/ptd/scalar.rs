//! The types of elements, by their numbers in the schema.
#![forbid(unsafe_code)]

use crate::types::DType;

/// A type of elements.
#[derive(Clone, Copy)]
pub(super) struct ScalarType {
    /// `None` for the quantized types, whose scales are not in the file, and for bits.
    pub(super) dtype: Option<DType>,
    /// A dtype of the same size.
    pub(super) storage: DType,
    /// The name in the schema, in lower case, of a type without a dtype.
    opaque: &'static str,
}

impl ScalarType {
    const fn plain(dtype: DType) -> Self {
        Self { dtype: Some(dtype), storage: dtype, opaque: "" }
    }

    const fn opaque(name: &'static str, storage: DType) -> Self {
        Self { dtype: None, storage, opaque: name }
    }

    /// The name of the type.
    pub(super) const fn name(&self) -> &'static str {
        match self.dtype {
            Some(dtype) => dtype.name(),
            None => self.opaque,
        }
    }

    /// Returns the type with a number; `None` if the schema has none. It lacks the complex types of PyTorch, 8 to 10, and
    /// most types of bits, 18 to 21.
    pub(super) const fn of(number: i8) -> Option<Self> {
        Some(match number {
            0 => Self::plain(DType::U8),
            1 => Self::plain(DType::I8),
            2 => Self::plain(DType::I16),
            3 => Self::plain(DType::I32),
            4 => Self::plain(DType::I64),
            5 => Self::plain(DType::F16),
            6 => Self::plain(DType::F32),
            7 => Self::plain(DType::F64),
            11 => Self::plain(DType::BOOL),
            12 => Self::opaque("qint8", DType::I8),
            13 => Self::opaque("quint8", DType::U8),
            14 => Self::opaque("qint32", DType::I32),
            15 => Self::plain(DType::BF16),
            // One byte for each element of the shape.
            16 => Self::opaque("quint4x2", DType::U8),
            17 => Self::opaque("quint2x4", DType::U8),
            22 => Self::opaque("bits16", DType::U16),
            23 => Self::plain(DType::F8_E5M2),
            24 => Self::plain(DType::F8_E4M3FN),
            25 => Self::plain(DType::F8_E5M2FNUZ),
            26 => Self::plain(DType::F8_E4M3FNUZ),
            27 => Self::plain(DType::U16),
            28 => Self::plain(DType::U32),
            29 => Self::plain(DType::U64),
            _ => return None,
        })
    }
}
