//! Formats floats wider than a double with the fewest digits that distinguish a number from its neighbours.

use num_bigint::BigUint;

/// The format of a 16-byte `long double`. NumPy does not state the format, and machines differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LongDouble {
    /// The 80-bit format of x87, and padding.
    X87,
    /// IEEE 754 binary128.
    Binary128,
    /// Not certain; for example, the pair of doubles of PowerPC.
    Unknown,
}

impl LongDouble {
    /// Determines the format of 16-byte little-endian elements. Padding is usually 0, but may be anything.
    pub fn of<'b>(elements: impl Iterator<Item = &'b [u8; 16]>) -> Self {
        let (mut has_no_padding, mut may_be_x87, mut may_be_binary128, mut numbers) = (true, true, true, 0_u32);
        for bytes in elements {
            has_no_padding &= bytes[10..].iter().all(|byte| *byte == 0);
            may_be_x87 &= x87(bytes).is_some();
            numbers = numbers.saturating_add(is_usual([bytes[8], bytes[9]]).into());
            may_be_binary128 &= is_usual([bytes[14], bytes[15]]) || bytes[..15].iter().all(|byte| *byte == 0);
        }
        match (may_be_x87, may_be_binary128) {
            (true, _) if has_no_padding => Self::X87,
            (true, false) => Self::X87,
            // Leftover bytes in the padding may look like the end of a binary128 in each element. Conversely, one
            // binary128 in thirty looks like an x87 number.
            (true, true) if numbers > 1 => Self::X87,
            (false, true) => Self::Binary128,
            _ => Self::Unknown,
        }
    }

    /// A note for the user about how the numbers were read.
    pub fn note(self) -> &'static str {
        match self {
            Self::X87 => "long double, read as the 80-bit floats of x86",
            Self::Binary128 => "long double, read as IEEE 754 binary128",
            Self::Unknown => "long double of unknown format, shown as bytes",
        }
    }

    /// Formats a little-endian number of 16 bytes, or of 12 bytes on 32-bit x86; `None` if the bytes are not a number.
    pub fn text(self, bytes: &[u8]) -> Option<String> {
        match (self, bytes.len()) {
            (Self::X87, _) | (_, 12) => x87(bytes),
            (Self::Binary128, 16) => binary128(bytes),
            _ => None,
        }
    }
}

/// Returns true for the sign and exponent of a number that is roughly in the range of a double.
fn is_usual(top: [u8; 2]) -> bool {
    let exponent = u16::from_le_bytes(top) & 0x7fff;
    exponent.abs_diff(0x3fff) < 1100 || exponent == 0x7fff
}

/// Formats the number in the first ten bytes. A nonzero number with exponent 0 would be less than 10^-4931, so it is
/// not considered a number.
fn x87(bytes: &[u8]) -> Option<String> {
    let fraction = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let top = u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?);
    let exponent = top & 0x7fff;
    let is_valid = if exponent == 0 { fraction == 0 } else { fraction >> 63 == 1 };
    let is_special = (exponent == 0x7fff).then_some(fraction << 1 == 0);
    is_valid.then(|| text(top >> 15 == 1, is_special, fraction.into(), i32::from(exponent) - 16383 - 63))
}

fn binary128(bytes: &[u8]) -> Option<String> {
    let bits = u128::from_le_bytes(bytes.try_into().ok()?);
    let (exponent, fraction) = ((bits >> 112) as i32 & 0x7fff, bits & ((1 << 112) - 1));
    let is_special = (exponent == 0x7fff).then_some(fraction == 0);
    let fraction = if exponent == 0 { fraction } else { fraction | 1 << 112 };
    Some(text(bits >> 127 == 1, is_special, fraction, exponent.max(1) - 16383 - 112))
}

fn text(is_negative: bool, is_infinite: Option<bool>, fraction: u128, exponent: i32) -> String {
    let sign = if is_negative { "-" } else { "" };
    match is_infinite {
        Some(true) => format!("{sign}inf"),
        Some(false) => "NaN".into(),
        None if fraction == 0 => format!("{sign}0.0"),
        None => format!("{sign}{}", shortest(fraction, exponent)),
    }
}

/// The shortest decimal that is nearer to `fraction` × 2^`exponent` than to the neighbours of that number.
fn shortest(fraction: u128, exponent: i32) -> String {
    // Counts quarters of the last bit, times a power of ten that makes all values integers: 2^-n is 5^n * 10^-n.
    let scale = exponent - 2;
    let (unit, places) = match scale {
        ..0 => (BigUint::from(5_u8).pow(scale.unsigned_abs()), scale),
        _ => (BigUint::from(1_u8) << scale.unsigned_abs(), 0),
    };
    let value = &unit * (fraction << 2);
    // Below a power of two, the neighbour is half as far away.
    let reach = unit * if fraction.is_power_of_two() { 1_u8 } else { 2 };
    let length = value.to_string().len() as u32;
    let (mut kept, mut left_out) = (value.clone(), 0);
    for digits in 1..length {
        let ten = BigUint::from(10_u8).pow(length - digits);
        let (quotient, rest) = (&value / &ten, &value % &ten);
        let is_up = &rest * 2_u8 >= ten;
        let distance = if is_up { &ten - rest } else { rest };
        if distance < reach {
            (kept, left_out) = (quotient + u8::from(is_up), length - digits);
            break;
        }
    }
    let kept = kept.to_string();
    // The exponent of the first digit.
    let first = kept.len() as i32 - 1 + left_out as i32 + places;
    let kept = match kept.trim_end_matches('0') {
        "" => "0",
        kept => kept,
    };
    let length = kept.len() as i32;
    match first {
        0..16 if length <= first + 1 => format!("{kept}{}.0", "0".repeat((first + 1 - length) as usize)),
        0..16 => format!("{}.{}", &kept[..first as usize + 1], &kept[first as usize + 1..]),
        -5..0 => format!("0.{}{kept}", "0".repeat((-first - 1) as usize)),
        _ if length == 1 => format!("{kept}e{first}"),
        _ => format!("{}.{}e{first}", &kept[..1], &kept[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A double in the 80-bit format of x87.
    fn of_double(x: f64) -> [u8; 16] {
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as u16, bits & ((1 << 52) - 1));
        let mut bytes = [0; 16];
        let (exponent, fraction) = match exponent {
            0 => (0, 0),
            0x7ff => (0x7fff, 1 << 63 | fraction << 11),
            _ => (exponent + (16383 - 1023), 1 << 63 | fraction << 11),
        };
        bytes[..8].copy_from_slice(&fraction.to_le_bytes());
        bytes[8..10].copy_from_slice(&(exponent | (bits >> 48) as u16 & 0x8000).to_le_bytes());
        bytes
    }

    #[test]
    fn digits_are_the_shortest() {
        for (x, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e16"),
            (123.456e10, "1234560000000.0"),
            (0.5, "0.5"),
            (1.0 / 1024.0, "0.0009765625"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
            (4096.0, "4096.0"),
            (99_999_999.0, "99999999.0"),
        ] {
            assert_eq!(LongDouble::X87.text(&of_double(x)).as_deref(), Some(expected));
        }
        // The output of np.longdouble for these bits.
        let x87 = |fraction: u64, top: u16| {
            let bytes = [&fraction.to_le_bytes()[..], &top.to_le_bytes(), &[0; 2]].concat();
            LongDouble::X87.text(&bytes).unwrap()
        };
        assert_eq!(x87(0xcccc_cccc_cccc_cccd, 0x3ffb), "0.1");
        assert_eq!(x87(0xaaaa_aaaa_aaaa_aaab, 0x3ffd), "0.33333333333333333334");
        assert_eq!(x87(0xc90f_daa2_2168_c235, 0x4000), "3.1415926535897932385");
        assert_eq!(x87(0xffff_ffff_ffff_ffff, 0x7ffe), "1.189731495357231765e4932");
        assert_eq!(x87(0x8000_0000_0000_0000, 0x0001), "3.3621031431120935063e-4932");
        assert_eq!(x87(0xa2a6_82a5_da57_c0bd + 1, 0x7415).len(), "1.23456789012345678901e4000".len() - 1);
        // 1, a third, the greatest and the least number of binary128.
        let quad = |bits: u128| LongDouble::Binary128.text(&bits.to_le_bytes()).unwrap();
        assert_eq!(quad(0x3fff << 112), "1.0");
        assert_eq!(quad(0x3ffd_5555_5555_5555_5555_5555_5555_5555), "0.3333333333333333333333333333333333");
        assert_eq!(quad(0x7ffe_ffff_ffff_ffff_ffff_ffff_ffff_ffff), "1.189731495357231765085759326628007e4932");
        assert_eq!(quad(1), "6e-4966");
        assert_eq!(quad(0xbfff << 112), "-1.0");
    }

    #[test]
    fn doubles_have_the_digits_of_their_value() {
        // The shortest digits for 64 bits still determine the double.
        let mut x = 1.0_f64;
        for i in 0..2000 {
            x = (x * 1.1 + f64::from(i)) % 1e300;
            let shown = LongDouble::X87.text(&of_double(x)).unwrap();
            assert_eq!(shown.parse::<f64>(), Ok(x), "{shown}");
            let y = 1.0 / (x + 1.0);
            assert_eq!(LongDouble::X87.text(&of_double(y)).unwrap().parse::<f64>(), Ok(y));
        }
    }

    #[test]
    fn the_form_is_determined_or_not() {
        let of = |all: &[[u8; 16]]| LongDouble::of(all.iter());
        let quad = |x: u128| (0x3fff << 112 | x << 100).to_le_bytes();
        let mut garbage = of_double(0.1);
        garbage[10..].copy_from_slice(&[7, 9, 3, 200, 17, 93]);
        assert_eq!(of(&[of_double(1.0), of_double(0.1), [0; 16]]), LongDouble::X87);
        assert_eq!(of(&[garbage, of_double(3.0)]), LongDouble::X87);
        let third = 0x3ffd_5555_5555_5555_5555_5555_5555_5555_u128.to_le_bytes();
        assert_eq!(of(&[quad(0), quad(77), third]), LongDouble::Binary128);
        // Ambiguous: x87 zeros with other bytes in the padding, or binary128 numbers with few digits.
        assert_eq!(of(&[quad(0), quad(77)]), LongDouble::Unknown);
        // Padding with leftover bytes of doubles.
        let left = |x: f64| {
            let mut bytes = of_double(x);
            bytes[10..].copy_from_slice(&(x * 3.7).to_le_bytes()[2..]);
            bytes
        };
        assert_eq!(of(&[left(0.3), left(-1.7), left(0.0)]), LongDouble::X87);
        assert_eq!(of(&[left(0.3)]), LongDouble::Unknown);
        // A PowerPC pair of doubles; the second one is 0.
        let mut two = [0; 16];
        two[..8].copy_from_slice(&1.5_f64.to_le_bytes());
        assert_eq!(of(&[two]), LongDouble::Unknown);
        assert_eq!(LongDouble::X87.text(&two), None);
        assert_eq!(LongDouble::Unknown.text(&two), None);
    }
}
