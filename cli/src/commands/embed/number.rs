//! The numbers of an array, as types and literals of C and Rust.

use tenslice::DType;

use crate::values::number::lanes;

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Float,
    Double,
    /// An integer of this many bytes.
    Signed(usize),
    /// An unsigned integer, or the bits of a number that C has no type for.
    Unsigned(usize),
}

impl Number {
    /// The numbers of elements of a type: of their lanes, if there are several. Elements of 16 bytes are two numbers.
    pub fn of(dtype: Option<DType>) -> Self {
        let lane = dtype.map_or(DType::U8, |dtype| lanes(dtype).0);
        match (lane, lane.lane_size()) {
            (DType::F32, _) => Self::Float,
            (DType::F64, _) => Self::Double,
            (DType::I8 | DType::I16 | DType::I32 | DType::I64, size) => Self::Signed(size),
            (_, size) => Self::Unsigned(size.min(8)),
        }
    }

    pub fn size(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Double => 8,
            Self::Signed(size) | Self::Unsigned(size) => size,
        }
    }

    pub fn c_type(self) -> String {
        match self {
            Self::Float => "float".into(),
            Self::Double => "double".into(),
            Self::Signed(size) => format!("int{}_t", 8 * size),
            Self::Unsigned(size) => format!("uint{}_t", 8 * size),
        }
    }

    pub fn rust_type(self) -> String {
        match self {
            Self::Float => "f32".into(),
            Self::Double => "f64".into(),
            Self::Signed(size) => format!("i{}", 8 * size),
            Self::Unsigned(size) => format!("u{}", 8 * size),
        }
    }

    /// A literal of C, C++ and the preprocessor; `None` for NaN and infinity, which have none. `bytes` are
    /// little-endian.
    pub fn in_c(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Float => Some(f32_of(bytes)).filter(|x| x.is_finite()).map(|x| format!("{x:?}f")),
            Self::Double => Some(f64_of(bytes)).filter(|x| x.is_finite()).map(|x| format!("{x:?}")),
            Self::Signed(_) => Some(match signed(bytes) {
                // The positive number has no type.
                i64::MIN => format!("(-{} - 1)", i64::MAX),
                integer => integer.to_string(),
            }),
            Self::Unsigned(1..=2) => Some(unsigned(bytes).to_string()),
            Self::Unsigned(_) => Some(format!("{}u", unsigned(bytes))),
        }
    }

    /// A literal of Rust. `bytes` are little-endian.
    pub fn in_rust(self, bytes: &[u8]) -> String {
        match self {
            Self::Float if f32_of(bytes).is_finite() => format!("{:?}", f32_of(bytes)),
            Self::Float => format!("f32::from_bits({})", unsigned(bytes)),
            Self::Double if f64_of(bytes).is_finite() => format!("{:?}", f64_of(bytes)),
            Self::Double => format!("f64::from_bits({})", unsigned(bytes)),
            Self::Signed(_) => signed(bytes).to_string(),
            Self::Unsigned(_) => unsigned(bytes).to_string(),
        }
    }
}

/// The integer of up to 8 bytes.
fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}

fn f32_of(bytes: &[u8]) -> f32 {
    f32::from_bits(unsigned(bytes) as u32)
}

fn f64_of(bytes: &[u8]) -> f64 {
    f64::from_bits(unsigned(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let (float, nan) = (Number::Float, f32::from_bits(0x7fc0_1234).to_le_bytes());
        assert_eq!(float.in_c(&0.1_f32.to_le_bytes()).unwrap(), "0.1f");
        assert_eq!(float.in_c(&1e-40_f32.to_le_bytes()).unwrap(), "1e-40f");
        assert_eq!(float.in_rust(&(-0.0_f32).to_le_bytes()), "-0.0");
        assert_eq!((float.in_c(&nan), float.in_rust(&nan)), (None, "f32::from_bits(2143294004)".into()));
        assert_eq!(Number::Double.in_c(&1e300_f64.to_le_bytes()).unwrap(), "1e300");
        let least = i64::MIN.to_le_bytes();
        assert_eq!(Number::Signed(8).in_c(&least).unwrap(), "(-9223372036854775807 - 1)");
        assert_eq!(Number::Signed(8).in_rust(&least), "-9223372036854775808");
        assert_eq!(Number::Signed(2).in_c(&[0xfe, 0xff]).unwrap(), "-2");
        assert_eq!(Number::Unsigned(8).in_c(&[255; 8]).unwrap(), "18446744073709551615u");
        assert_eq!(Number::Unsigned(1).in_c(&[255]).unwrap(), "255");
    }

    #[test]
    fn every_type_has_numbers() {
        for (dtype, name) in DType::ALL {
            let number = Number::of(Some(*dtype));
            assert_eq!(dtype.size().unwrap_or(1) % number.size() as u64, 0, "{name}");
        }
        assert_eq!(Number::of(Some(DType::C128)), Number::Double);
        assert_eq!(Number::of(Some(DType::BF16)), Number::Unsigned(2));
        assert_eq!(Number::of(None), Number::Unsigned(1));
    }
}
