//! Integers in decimal digits: a key of a dictionary, or a place in a list, as a part of a name.
#![forbid(unsafe_code)]

/// A buffer for the digits of a number, which may be negative.
pub(super) type Digits = [u8; 40];

/// Writes a number to the end of `digits`, and returns the position of the first digit. Divides byte by byte: for a
/// division of 128 bits, a program in C needs a function of the compiler.
pub(super) fn decimal(number: i128, digits: &mut Digits) -> usize {
    let (mut rest, mut at) = (number.unsigned_abs().to_be_bytes(), digits.len());
    let mut put = |byte| {
        at = at.saturating_sub(1);
        digits.get_mut(at).map(|place| *place = byte)
    };
    loop {
        let mut ones = 0_u16;
        for byte in &mut rest {
            let value = ones << 8 | u16::from(*byte);
            [_, *byte] = value.checked_div(10).unwrap_or(0).to_be_bytes();
            ones = value.checked_rem(10).unwrap_or(0);
        }
        let [_, ones] = ones.to_be_bytes();
        put(b'0'.wrapping_add(ones));
        if rest == [0; 16] {
            break;
        }
    }
    if number < 0 {
        put(b'-');
    }
    at
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::decimal;

    #[test]
    fn the_digits_are_those_of_core() {
        for number in
            [0, 9, 10, 255, 256, -1, -10, 65_535, u64::MAX.into(), i128::from(u64::MAX) + 1, i128::MAX, i128::MIN]
        {
            let mut digits = [0xee; 40];
            let start = decimal(number, &mut digits);
            assert_eq!(&digits[start..], number.to_string().as_bytes());
            assert!(digits[..start].iter().all(|byte| *byte == 0xee));
        }
    }
}
