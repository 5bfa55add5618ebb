//! The names that a pickle may refer to and that have a meaning here. Any other name is opaque: it is never looked up,
//! imported or called.
#![forbid(unsafe_code)]

/// A known name, by its number; [`OPAQUE`](Self::OPAQUE) for any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known(u16);

macro_rules! known {
    ($($name:ident = $number:literal, $module:literal, $word:literal;)*) => {
        impl Known {
            $(pub(crate) const $name: Self = Self($number);)*

            const NAMES: &'static [(&'static [u8], &'static [u8], Self)] =
                &[$(($module.as_bytes(), $word.as_bytes(), Self::$name),)*];
        }
    };
}

known! {
    ORDERED_DICT = 1, "collections", "OrderedDict";
    DEFAULT_DICT = 2, "collections", "defaultdict";
    SIZE = 3, "torch", "Size";
    TYPE_TAG = 4, "torch.jit._pickle", "restore_type_tag";
    TENSOR_1 = 10, "torch._utils", "_rebuild_tensor";
    TENSOR_2 = 11, "torch._utils", "_rebuild_tensor_v2";
    TENSOR_3 = 12, "torch._utils", "_rebuild_tensor_v3";
    PARAMETER = 13, "torch._utils", "_rebuild_parameter";
    PARAMETER_WITH_STATE = 14, "torch._utils", "_rebuild_parameter_with_state";
    FROM_TYPE = 15, "torch._tensor", "_rebuild_from_type_v2";
    QUANTIZED = 16, "torch._utils", "_rebuild_qtensor";
    SPARSE = 17, "torch._utils", "_rebuild_sparse_tensor";
    NESTED = 18, "torch._utils", "_rebuild_nested_tensor";
    META = 19, "torch._utils", "_rebuild_meta_tensor_no_storage";
    WRAPPER = 20, "torch._utils", "_rebuild_wrapper_subclass";
    GET_LAYOUT = 21, "torch.serialization", "_get_layout";
    CLASS_PARAMETER = 22, "torch.nn.parameter", "Parameter";
    CLASS_TENSOR = 23, "torch", "Tensor";
    CLASS_BUFFER = 24, "torch.nn.parameter", "Buffer";
}

/// The numbers of storage classes begin here, in the order of `STORAGES`; those of dtypes in the order of `DTYPES`.
const FIRST_STORAGE: u16 = 64;
const FIRST_DTYPE: u16 = 128;

/// The storage classes, in the order of `DTYPES`: those of the first ones. Those of `torch.cuda` have the same names.
const STORAGES: &[&str] = &[
    "FloatStorage",
    "DoubleStorage",
    "HalfStorage",
    "BFloat16Storage",
    "LongStorage",
    "IntStorage",
    "ShortStorage",
    "CharStorage",
    "ByteStorage",
    "BoolStorage",
    "ComplexFloatStorage",
    "ComplexDoubleStorage",
    "QInt8Storage",
    "QUInt8Storage",
    "QInt32Storage",
    "QUInt4x2Storage",
    "QUInt2x4Storage",
];

/// A dtype of torch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TorchType {
    /// With the module: `torch.float32`.
    pub(crate) name: &'static str,
    /// The size of an element in bytes.
    pub(crate) size: u64,
}

const fn dtype(name: &'static str, size: u64) -> TorchType {
    TorchType { name, size }
}

static DTYPES: &[TorchType] = &[
    dtype("torch.float32", 4),
    dtype("torch.float64", 8),
    dtype("torch.float16", 2),
    dtype("torch.bfloat16", 2),
    dtype("torch.int64", 8),
    dtype("torch.int32", 4),
    dtype("torch.int16", 2),
    dtype("torch.int8", 1),
    dtype("torch.uint8", 1),
    dtype("torch.bool", 1),
    dtype("torch.complex64", 8),
    dtype("torch.complex128", 16),
    dtype("torch.qint8", 1),
    dtype("torch.quint8", 1),
    dtype("torch.qint32", 4),
    dtype("torch.quint4x2", 1),
    dtype("torch.quint2x4", 1),
    dtype("torch.uint16", 2),
    dtype("torch.uint32", 4),
    dtype("torch.uint64", 8),
    dtype("torch.float8_e4m3fn", 1),
    dtype("torch.float8_e5m2", 1),
    dtype("torch.float8_e4m3fnuz", 1),
    dtype("torch.float8_e5m2fnuz", 1),
    dtype("torch.float8_e8m0fnu", 1),
    dtype("torch.complex32", 4),
    dtype("torch.float4_e2m1fn_x2", 1),
    dtype("torch.bits8", 1),
    dtype("torch.bits16", 2),
    dtype("torch.bits1x8", 1),
    dtype("torch.bits2x4", 1),
    dtype("torch.bits4x2", 1),
];

/// The elements of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageType {
    /// Elements of a type.
    Typed(&'static TorchType),
    /// Bytes.
    Untyped,
}

impl Known {
    pub(crate) const OPAQUE: Self = Self(0);
    /// The functions of TorchScript that return a list of one type.
    pub(crate) const BUILD_LIST: Self = Self(5);
    const UNTYPED_STORAGE: Self = Self(63);

    /// Returns the number of a name. Module and name are compared as a whole.
    pub(crate) fn of(module: &[u8], name: &[u8]) -> Self {
        let number = |first: u16, index: usize| Self(first.saturating_add(u16::try_from(index).unwrap_or(0)));
        let found = Self::NAMES.iter().find(|(of, word, _)| *of == module && *word == name);
        if let Some((.., known)) = found {
            return *known;
        }
        match module {
            b"torch" | b"torch.cuda" => {
                if let Some(index) = STORAGES.iter().position(|class| class.as_bytes() == name) {
                    return number(FIRST_STORAGE, index);
                }
                let is_it = |dtype: &TorchType| dtype.name.as_bytes().strip_prefix(b"torch.") == Some(name);
                match DTYPES.iter().position(is_it).filter(|_| module == b"torch") {
                    Some(index) => number(FIRST_DTYPE, index),
                    None => Self::OPAQUE,
                }
            }
            b"torch.storage" if name == b"UntypedStorage" => Self::UNTYPED_STORAGE,
            b"torch.jit._pickle" if name.starts_with(b"build_") && name.ends_with(b"list") => Self::BUILD_LIST,
            _ => Self::OPAQUE,
        }
    }

    /// Returns the number for a slot.
    pub(crate) const fn number(self) -> u16 {
        self.0
    }

    /// Returns the name with this number.
    pub(crate) const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// True for the functions that make a tensor.
    pub(crate) const fn makes_tensor(self) -> bool {
        self.0 >= Self::TENSOR_1.0 && self.0 <= Self::WRAPPER.0
    }

    /// Returns the dtype, if the name is one.
    pub(crate) fn dtype(self) -> Option<&'static TorchType> {
        DTYPES.get(usize::from(self.0.checked_sub(FIRST_DTYPE)?))
    }

    /// Returns the elements of a storage, if the name is a class of storages.
    pub(crate) fn storage(self) -> Option<StorageType> {
        if self == Self::UNTYPED_STORAGE {
            return Some(StorageType::Untyped);
        }
        let index = usize::from(self.0.checked_sub(FIRST_STORAGE)?);
        DTYPES.get(index).map(StorageType::Typed)
    }
}
