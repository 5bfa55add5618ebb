//! The types of elements, by their numbers in the schema.
#![forbid(unsafe_code)]

use crate::types::DType;

/// The codes of the dtypes; of types without a dtype, that of a dtype of the same size. 0: the schema lacks the number, as
/// those of the complex types of PyTorch, 8 to 10, and of most types of bits, 18 to 21.
const CODES: [u8; 30] = [
    DType::U8.short_code(),
    DType::I8.short_code(),
    DType::I16.short_code(),
    DType::I32.short_code(),
    DType::I64.short_code(),
    DType::F16.short_code(),
    DType::F32.short_code(),
    DType::F64.short_code(),
    0,
    0,
    0,
    DType::BOOL.short_code(),
    DType::I8.short_code(),  // qint8
    DType::U8.short_code(),  // quint8
    DType::I32.short_code(), // qint32
    DType::BF16.short_code(),
    DType::U8.short_code(), // quint4x2: a byte for each element of the shape
    DType::U8.short_code(), // quint2x4
    0,
    0,
    0,
    0,
    DType::U16.short_code(), // bits16
    DType::F8_E5M2.short_code(),
    DType::F8_E4M3FN.short_code(),
    DType::F8_E5M2FNUZ.short_code(),
    DType::F8_E4M3FNUZ.short_code(),
    DType::U16.short_code(),
    DType::U32.short_code(),
    DType::U64.short_code(),
];

/// A type of elements.
#[derive(Clone, Copy)]
pub(super) struct ScalarType {
    number: i8,
    /// The dtype; of a type without a dtype, one of the same size.
    pub(super) storage: DType,
}

impl ScalarType {
    /// Returns the type with a number; `None` if the schema has none.
    pub(super) fn of(number: i8) -> Option<Self> {
        let code = CODES.get(usize::try_from(number).ok()?)?;
        Some(Self { number, storage: DType::from_code((*code).into())? })
    }

    /// The dtype; `None` for the quantized types, whose scales are not in the file, and for bits.
    pub(super) fn dtype(&self) -> Option<DType> {
        let has_none = matches!(self.number, 12..=14 | 16 | 17 | 22);
        (!has_none).then_some(self.storage)
    }

    /// The name of the type: that of its dtype, or the one in the schema, in lower case.
    pub(super) const fn name(&self) -> &'static str {
        match self.number {
            12 => "qint8",
            13 => "quint8",
            14 => "qint32",
            16 => "quint4x2",
            17 => "quint2x4",
            22 => "bits16",
            _ => self.storage.name(),
        }
    }
}
