//! Converts elements to numbers, by type, in this machine's byte order.

use std::fmt;

use half::f16;
use half::slice::HalfFloatSliceExt;
use tenslice::{DType, float};
use zerocopy::FromBytes;

/// The type and the number of an element's lanes. Complex numbers have two lanes.
pub fn lanes(dtype: DType) -> (DType, usize) {
    let is_one = |lane: DType, lanes: u32| lane.with_lanes(lanes) == Some(dtype);
    let all = DType::ALL.iter().map(|(lane, _)| *lane);
    let several =
        all.flat_map(|lane| [2, 4, 8].map(|lanes| (lane, lanes))).find(|(lane, lanes)| is_one(*lane, *lanes));
    several.map_or((dtype, 1), |(lane, lanes)| (lane, lanes as usize))
}

/// For each element of type `$number` in `$bytes`, binds the element to `$x` and calls `$f` with `$value`.
macro_rules! each {
    ($bytes:expr, $number:ty, |$x:ident| $value:expr, $f:expr) => {
        for chunk in $bytes.chunks_exact(size_of::<$number>()) {
            let mut bytes = [0; size_of::<$number>()];
            bytes.copy_from_slice(chunk);
            let $x = <$number>::from_ne_bytes(bytes);
            $f($value);
        }
    };
}

/// The number of elements that are converted at a time. They stay in the fastest cache.
pub const BLOCK: usize = 1024;

/// Converts elements of type `$number` in `$bytes`, bound to `$x`, to the numbers `$value` in `$out`.
macro_rules! convert {
    ($bytes:expr, $number:ty, |$x:ident| $value:expr, $out:expr) => {
        for (chunk, out) in $bytes.chunks_exact(size_of::<$number>()).zip($out) {
            let mut bytes = [0; size_of::<$number>()];
            bytes.copy_from_slice(chunk);
            let $x = <$number>::from_ne_bytes(bytes);
            *out = $value;
        }
    };
}

/// Converts the elements in `bytes` to numbers. Returns false for packed types, and for types with several lanes.
fn to_f64(dtype: DType, bytes: &[u8], out: &mut [f64]) -> bool {
    match dtype {
        DType::BOOL => convert!(bytes, u8, |x| f64::from(u8::from(x != 0)), out),
        DType::U8 => convert!(bytes, u8, |x| x.into(), out),
        DType::I8 => convert!(bytes, i8, |x| x.into(), out),
        DType::U16 => convert!(bytes, u16, |x| x.into(), out),
        DType::I16 => convert!(bytes, i16, |x| x.into(), out),
        DType::U32 => convert!(bytes, u32, |x| x.into(), out),
        DType::I32 => convert!(bytes, i32, |x| x.into(), out),
        DType::U64 => convert!(bytes, u64, |x| x as f64, out),
        DType::I64 => convert!(bytes, i64, |x| x as f64, out),
        DType::U128 => convert!(bytes, u128, |x| x as f64, out),
        DType::I128 => convert!(bytes, i128, |x| x as f64, out),
        DType::F16 => {
            let mut halves = [f16::ZERO; BLOCK];
            convert!(bytes, u16, |x| f16::from_bits(x), &mut halves);
            halves[..out.len()].convert_to_f64_slice(out); // with the instructions of x86-64, if it has them
        }
        // By bits: a conversion that handles NaN is slower.
        DType::BF16 => convert!(bytes, u16, |x| f32::from_bits(u32::from(x) << 16).into(), out),
        DType::F32 => convert!(bytes, f32, |x| x.into(), out),
        DType::F64 => convert!(bytes, f64, |x| x, out),
        DType::F128 => convert!(bytes, u128, |x| DType::binary128_to_f64(x), out),
        DType::F8_E4M3FN => convert!(bytes, u8, |x| float::f8_e4m3fn_to_f32(x).into(), out),
        DType::F8_E5M2 => convert!(bytes, u8, |x| float::f8_e5m2_to_f32(x).into(), out),
        DType::F8_E4M3FNUZ => convert!(bytes, u8, |x| float::f8_e4m3fnuz_to_f32(x).into(), out),
        DType::F8_E5M2FNUZ => convert!(bytes, u8, |x| float::f8_e5m2fnuz_to_f32(x).into(), out),
        DType::F8_E8M0 => convert!(bytes, u8, |x| float::f8_e8m0_to_f32(x).into(), out),
        _ => return false,
    }
    true
}

/// Calls `f` with blocks of at most `BLOCK` numbers: the elements in `bytes`. Returns false for packed types, and for
/// types with several lanes.
pub fn each_block(dtype: DType, bytes: &[u8], mut f: impl FnMut(&[f64])) -> bool {
    let size = dtype.lane_size();
    let mut numbers = [0.0; BLOCK];
    if !to_f64(dtype, &[], &mut []) {
        return false;
    }
    for block in bytes.chunks(BLOCK * size) {
        let numbers = &mut numbers[..block.len() / size];
        to_f64(dtype, block, numbers);
        f(numbers);
    }
    true
}

/// Calls `f` with blocks of at most `BLOCK` numbers: the elements of type `f32` in `bytes`. Copies them only if they are
/// misaligned.
pub fn each_block_of_f32(bytes: &[u8], mut f: impl FnMut(&[f32])) {
    let mut numbers = [0.0; BLOCK];
    for block in bytes.chunks(BLOCK * size_of::<f32>()) {
        if let Ok(aligned) = <[f32]>::ref_from_bytes(block) {
            f(aligned);
            continue;
        }
        let numbers = &mut numbers[..block.len() / size_of::<f32>()];
        convert!(block, f32, |x| x, &mut *numbers);
        f(numbers);
    }
}

/// Calls `f` with each number in `bytes`. Returns false for packed types, and for types with several lanes.
pub fn each_number(dtype: DType, bytes: &[u8], mut f: impl FnMut(f64)) -> bool {
    each_block(dtype, bytes, |numbers| numbers.iter().for_each(|number| f(*number)))
}

/// An integer of 64 or 128 bits, exact: an `f64` would round it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Integer {
    // The order of the variants makes every negative integer less than every other one.
    Negative(i128),
    Natural(u128),
}

impl Integer {
    /// The absolute difference.
    pub fn distance(self, other: Self) -> u128 {
        match (self, other) {
            (Self::Negative(x), Self::Negative(y)) => x.abs_diff(y),
            (Self::Natural(x), Self::Natural(y)) => x.abs_diff(y),
            (Self::Negative(x), Self::Natural(y)) | (Self::Natural(y), Self::Negative(x)) => {
                x.unsigned_abs().saturating_add(y)
            }
        }
    }
}

impl Integer {
    /// The number, or a string if it is beyond 64 bits.
    pub fn to_json(self) -> serde_json::Value {
        let text = self.to_string();
        let small = text.parse::<i64>().map(Into::into).or_else(|_| text.parse::<u64>().map(Into::into));
        small.unwrap_or_else(|_| text.into())
    }
}

impl From<i128> for Integer {
    fn from(x: i128) -> Self {
        if x < 0 { Self::Negative(x) } else { Self::Natural(x.unsigned_abs()) }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Negative(x) => x.fmt(f),
            Self::Natural(x) => x.fmt(f),
        }
    }
}

/// Calls `f` with each integer in `bytes`, elements of a type with one lane. Returns false for other types.
pub fn each_integer(dtype: DType, bytes: &[u8], mut f: impl FnMut(Integer)) -> bool {
    match dtype {
        DType::U64 => each!(bytes, u64, |x| Integer::Natural(x.into()), f),
        DType::I64 => each!(bytes, i64, |x| i128::from(x).into(), f),
        DType::U128 => each!(bytes, u128, |x| Integer::Natural(x), f),
        DType::I128 => each!(bytes, i128, |x| x.into(), f),
        _ => return false,
    }
    true
}

/// Formats an element: integers exactly, floats with the fewest digits that distinguish them as an f32 or f64.
pub fn text(dtype: DType, bytes: &[u8]) -> String {
    let (lane, count) = lanes(dtype);
    if count > 1 {
        let texts: Vec<String> = bytes.chunks_exact(lane.lane_size()).map(|bytes| text(lane, bytes)).collect();
        return format!("({})", texts.join(", "));
    }
    let mut text = String::new();
    match lane {
        DType::BOOL => each!(bytes, u8, |x| (x != 0).to_string(), |word| text = word),
        _ if each_integer(lane, bytes, |x| text = x.to_string()) => {}
        _ => _ = each_number(lane, bytes, |x| text = digits(lane, x)),
    }
    text
}

/// Formats a number: types of less than 64 bits with the digits of an f32, others with the digits of an f64.
pub fn digits(dtype: DType, x: f64) -> String {
    let is_integer = dtype.is_integer() || dtype == DType::BOOL;
    match dtype.bits() {
        _ if is_integer => x.to_string(),
        64.. => format!("{x:?}"),
        _ => format!("{:?}", x as f32),
    }
}

/// Converts elements with one lane to `f32`; `None` for other types. Rounds once, except f128, which rounds via f64.
pub fn to_f32(dtype: DType, bytes: &[u8]) -> Option<Vec<f32>> {
    let mut all = Vec::with_capacity(bytes.len() / dtype.lane_size());
    match dtype {
        // A conversion through `f64` would round these twice.
        DType::U64 => each!(bytes, u64, |x| x as f32, |x| all.push(x)),
        DType::I64 => each!(bytes, i64, |x| x as f32, |x| all.push(x)),
        DType::U128 => each!(bytes, u128, |x| x as f32, |x| all.push(x)),
        DType::I128 => each!(bytes, i128, |x| x as f32, |x| all.push(x)),
        _ if !each_number(dtype, bytes, |x| all.push(x as f32)) => return None,
        _ => {}
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_lanes() {
        assert_eq!(lanes(DType::F32), (DType::F32, 1));
        assert_eq!(lanes(DType::C64), (DType::F32, 2));
        assert_eq!(lanes(DType::C128), (DType::F64, 2));
        assert_eq!(DType::I16.with_lanes(8).map(lanes), Some((DType::I16, 8)));
    }

    #[test]
    fn integers_are_exact() {
        let of = |x: i128| Integer::from(x);
        let greatest = Integer::Natural(u128::MAX);
        assert!(of(i128::MIN) < of(-1) && of(-2) < of(-1) && of(-1) < of(0) && of(i128::MAX) < greatest);
        assert_eq!(of(i128::MIN).distance(of(i128::MAX)), u128::MAX);
        assert_eq!((of(3).distance(of(-4)), of(-4).distance(of(-9)), of(7).distance(of(9))), (7, 5, 2));
        assert_eq!([of(i128::MIN), greatest].map(|x| x.to_string()), [i128::MIN.to_string(), u128::MAX.to_string()]);
        for (dtype, name) in DType::ALL {
            let is_large = dtype.is_integer() && dtype.bits() >= 64;
            assert_eq!(each_integer(*dtype, &[0; 16], |_| {}), is_large, "{name}");
        }
    }

    #[test]
    fn every_type_has_numbers_and_digits() {
        for (dtype, name) in DType::ALL {
            let (lane, _) = lanes(*dtype);
            let mut count = 0;
            let is_number = each_number(lane, &vec![0; lane.lane_size()], |_| count += 1);
            // Packed elements are read as f32.
            assert_eq!((is_number, count), (!dtype.is_packed(), usize::from(!dtype.is_packed())), "{name}");
            assert_eq!(
                text(*dtype, &vec![0; dtype.size().unwrap_or(0) as usize]).is_empty(),
                dtype.is_packed(),
                "{name}"
            );
        }
        assert_eq!(text(DType::I64, &i64::MIN.to_ne_bytes()), "-9223372036854775808");
        assert_eq!(text(DType::F32, &0.1_f32.to_ne_bytes()), "0.1");
        assert_eq!(text(DType::F64, &0.1_f64.to_ne_bytes()), "0.1");
        assert_eq!(text(DType::C64, &[0_u8; 8]), "(0.0, 0.0)");
    }
}
