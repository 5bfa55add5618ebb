//! The values of attributes as the user writes them.

use tenslice::gguf::ValueType;

/// A value without the width of its number.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
}

/// The kinds of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Bool,
    Integer,
    Float,
    Text,
}

impl Scalar {
    /// Reads a value whose kind is known. Texts are taken as they are.
    pub fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        match kind {
            Kind::Bool => match text {
                "true" => Ok(Self::Bool(true)),
                "false" => Ok(Self::Bool(false)),
                _ => Err("is neither true nor false".into()),
            },
            Kind::Integer if is_integer(text) => text.parse().map(Self::Integer).map_err(|_| "is too large".into()),
            Kind::Integer => Err("is not an integer".into()),
            Kind::Float => float(text).map(Self::Float),
            Kind::Text => Ok(Self::Text(text.into())),
        }
    }

    /// Reads the value of a new attribute, whose form decides what it is.
    pub fn guess(text: &str) -> Result<Self, String> {
        let is_number = text.contains(['.', 'e', 'E']) && text.parse::<f64>().is_ok();
        let kind = match text {
            _ if text.starts_with('"') => {
                let quoted = serde_json::from_str(text).map(Self::Text);
                return quoted.map_err(|_| "begins with a quotation mark but is no string of JSON".into());
            }
            "true" | "false" => Kind::Bool,
            _ if is_integer(text) => Kind::Integer,
            _ if is_number => Kind::Float,
            _ => Kind::Text,
        };
        Self::parse(text, kind)
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Reads a number; refuses digits whose value would become infinite.
fn float(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    if number.is_infinite() && is_finite(text) { Err("is too large".into()) } else { Ok(number) }
}

/// True if the number is written with digits.
fn is_finite(text: &str) -> bool {
    text.bytes().any(|digit| digit.is_ascii_digit())
}

/// A type of GGUF that `--type` states.
pub fn value_type(text: &str) -> Result<ValueType, String> {
    let mut types = ValueType::ALL.iter().copied().filter(|kind| *kind != ValueType::Array);
    types.clone().find(|kind| kind.text() == text).ok_or_else(|| {
        let first = types.next().map(|kind| kind.text().to_owned()).unwrap_or_default();
        let all = types.fold(first, |all, kind| format!("{all}, {}", kind.text()));
        format!("the types are {all}")
    })
}

/// The type of a new value of GGUF: for an integer the smallest one from 32 bits on, for a float `f32` if it is exact.
pub fn usual_type(value: &Scalar) -> Result<ValueType, String> {
    Ok(match value {
        Scalar::Bool(_) => ValueType::Bool,
        Scalar::Integer(integer) => {
            crate::writing::attributes::smallest(*integer, *integer).ok_or("does not fit into 64 bits")?
        }
        Scalar::Float(number) if f64::from(*number as f32) == *number => ValueType::F32,
        Scalar::Float(_) => ValueType::F64,
        Scalar::Text(_) => ValueType::String,
    })
}

/// Reads a value of a type of GGUF, and returns its little-endian bytes; those of a string without its length.
pub fn encode(text: &str, kind: ValueType) -> Result<Vec<u8>, String> {
    let general = match kind {
        ValueType::Bool => Kind::Bool,
        ValueType::F32 | ValueType::F64 => Kind::Float,
        ValueType::String => Kind::Text,
        ValueType::Array => return Err("is to replace an array: arrays cannot be set".into()),
        _ => Kind::Integer,
    };
    match Scalar::parse(text, general)? {
        Scalar::Bool(is_true) => Ok(vec![is_true.into()]),
        Scalar::Text(text) => Ok(text.into_bytes()),
        Scalar::Float(number) if kind == ValueType::F64 => Ok(number.to_le_bytes().to_vec()),
        Scalar::Float(_) => {
            // Read again, so that the number is rounded only once.
            let number: f32 = text.parse().map_err(|_| "is not a number".to_owned())?;
            let is_lost = number.is_infinite() && is_finite(text);
            if is_lost { Err("is too large for f32".into()) } else { Ok(number.to_le_bytes().to_vec()) }
        }
        Scalar::Integer(integer) => {
            let (least, most, size) = range_of(kind);
            if !(least..=most).contains(&integer) {
                return Err(format!("does not fit: {kind} holds {least} to {most}"));
            }
            Ok(integer.to_le_bytes().get(..size).unwrap_or_default().to_vec())
        }
    }
}

/// The least and the greatest integer of a type, and its size in bytes.
fn range_of(kind: ValueType) -> (i128, i128, usize) {
    match kind {
        ValueType::U8 => (0, u8::MAX.into(), 1),
        ValueType::I8 => (i8::MIN.into(), i8::MAX.into(), 1),
        ValueType::U16 => (0, u16::MAX.into(), 2),
        ValueType::I16 => (i16::MIN.into(), i16::MAX.into(), 2),
        ValueType::U32 => (0, u32::MAX.into(), 4),
        ValueType::I32 => (i32::MIN.into(), i32::MAX.into(), 4),
        ValueType::U64 => (0, u64::MAX.into(), 8),
        _ => (i64::MIN.into(), i64::MAX.into(), 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_decides() {
        let text = |text: &str| Ok(Scalar::Text(text.into()));
        for (written, expected) in [
            ("true", Ok(Scalar::Bool(true))),
            ("False", text("False")),
            ("-12", Ok(Scalar::Integer(-12))),
            ("12 ", text("12 ")),
            ("1_2", text("1_2")),
            ("-", text("-")),
            ("", text("")),
            ("1.5", Ok(Scalar::Float(1.5))),
            ("-1e3", Ok(Scalar::Float(-1000.0))),
            ("1.2.0", text("1.2.0")),
            ("inf", text("inf")),
            ("nan", text("nan")),
            ("e", text("e")),
            ("\"12\"", text("12")),
            (r#""a\nb""#, text("a\nb")),
        ] {
            assert_eq!(Scalar::guess(written), expected, "{written}");
        }
        for wrong in ["\"", "\"a\" b", "1e999", &"9".repeat(50)] {
            assert!(Scalar::guess(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_fit_their_types() {
        for (text, kind, expected) in [
            ("255", ValueType::U8, Some(vec![255])),
            ("256", ValueType::U8, None),
            ("-1", ValueType::U64, None),
            ("-2", ValueType::I16, Some(vec![0xfe, 0xff])),
            ("1.0", ValueType::I16, None),
            ("18446744073709551615", ValueType::U64, Some(vec![0xff; 8])),
            ("9223372036854775808", ValueType::I64, None),
            ("1", ValueType::Bool, None),
            ("false", ValueType::Bool, Some(vec![0])),
            ("3", ValueType::F32, Some(3_f32.to_le_bytes().into())),
            ("1e39", ValueType::F32, None),
            ("-inf", ValueType::F32, Some(f32::NEG_INFINITY.to_le_bytes().into())),
            ("0.1", ValueType::F64, Some(0.1_f64.to_le_bytes().into())),
            ("ten", ValueType::F64, None),
            ("\"a\"", ValueType::String, Some(b"\"a\"".into())),
        ] {
            assert_eq!(encode(text, kind).ok(), expected, "{text} {kind}");
        }
    }
}
