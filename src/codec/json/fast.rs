//! Strings and numbers in the spelling that nearly all programs write. Hosts read them many bytes at a time.
//!
//! Other spellings are left to [`Reader`](super::Reader). Chips use only that reader, since they need the flash more.
#![forbid(unsafe_code)]

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;

/// Splits a string of plain ASCII characters at its closing quotation mark.
#[inline(always)]
pub(crate) fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (string, rest) = text.split_at_checked(plain_length(text))?;
    Some((string, rest.strip_prefix(b"\"")?))
}

/// Returns the number of plain bytes at the start of a string: ASCII, but no quotation mark, backslash or control
/// character.
#[inline(always)]
pub(super) fn plain_length(string: &[u8]) -> usize {
    let mut rest = string;
    // Eight bytes at a time. The arithmetic may also mark bytes after the first special byte, but none before it.
    while let Some((bytes, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*bytes);
        // Flipping bit 1 turns a quotation mark into 0x20, next to the control characters.
        let is_quote_or_control = (word ^ (0x02 * ONES)).wrapping_sub(0x21 * ONES);
        let is_backslash = (word ^ (0x5c * ONES)).wrapping_sub(ONES);
        let marked = (word | is_quote_or_control | is_backslash) & HIGH;
        if marked != 0 {
            return string.len().wrapping_sub(rest.len()).wrapping_add(bytes_before(marked));
        }
        rest = after;
    }
    while let [b' ' | b'!' | b'#'..=b'[' | b']'..=0x7f, after @ ..] = rest {
        rest = after;
    }
    string.len().wrapping_sub(rest.len())
}

/// Returns the bytes after the next `byte`, an ASCII character.
#[inline(always)]
pub(crate) fn after(text: &[u8], byte: u8) -> Option<&[u8]> {
    let mut rest = text;
    while let Some((bytes, after)) = rest.split_first_chunk::<8>() {
        let other = u64::from_le_bytes(*bytes) ^ u64::from(byte).wrapping_mul(ONES);
        let marked = other.wrapping_sub(ONES) & !other & HIGH;
        if marked != 0 {
            return rest.get(bytes_before(marked).wrapping_add(1)..);
        }
        rest = after;
    }
    let place = rest.iter().position(|other| *other == byte)?;
    rest.get(place.wrapping_add(1)..)
}

/// Returns a word in which the highest bit of each byte equal to `byte` is set.
#[inline(always)]
pub(crate) fn places(bytes: &[u8; 8], byte: u8) -> u64 {
    let other = u64::from_le_bytes(*bytes) ^ u64::from(byte).wrapping_mul(ONES);
    !((other & !HIGH).wrapping_add(!HIGH) | other) & HIGH
}

/// Returns the number of marked bytes.
#[inline(always)]
pub(crate) const fn count(marked: u64) -> u64 {
    (marked >> 7).wrapping_mul(ONES) >> 56
}

/// Returns the number of bytes before the first marked byte of a word. This is a loop because the code that follows
/// need not wait for the count if the branches are predicted correctly, which is usual.
#[inline(always)]
pub(crate) fn bytes_before(marked: u64) -> usize {
    let (mut rest, mut count) = (marked, 0_usize);
    while rest & 0x80 == 0 && count < 8 {
        rest >>= 8;
        count = count.wrapping_add(1);
    }
    count
}

/// Splits a decimal number off the front. The number has at most 15 digits, and enough bytes must follow it to read
/// whole words.
#[inline(always)]
pub(crate) fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (bytes, after) = text.split_first_chunk::<8>()?;
    let (word, count) = leading_digits(bytes);
    if count < 8 {
        // No number of several digits begins with a zero.
        let is_number = count == 1 || count > 1 && word & 0xff != 0;
        return if is_number { Some((number_of(word, count), text.get(count..)?)) } else { None };
    }
    if word & 0xff == 0 { None } else { long_number(number_of(word, 8), after) }
}

/// Returns the number whose first eight digits precede `text`.
#[inline]
fn long_number(first: u64, text: &[u8]) -> Option<(u64, &[u8])> {
    const POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (word, count) = leading_digits(text.first_chunk()?);
    let others = if count > 0 { number_of(word, count) } else { 0 };
    Some((first.wrapping_mul(*POWERS.get(count)?).wrapping_add(others), text.get(count..)?))
}

/// Returns the values of eight digits, the first in the lowest byte, and the number of digits before the first other
/// byte.
#[inline(always)]
fn leading_digits(bytes: &[u8; 8]) -> (u64, usize) {
    let digits = u64::from_le_bytes(*bytes) ^ (0x30 * ONES);
    // May also mark bytes after the first byte that is not a digit.
    let marked = (digits | digits.wrapping_add(0x76 * ONES)) & HIGH;
    (digits, bytes_before(marked))
}

/// Returns the number that consists of the first `count` digits, 1 to 8.
#[inline(always)]
fn number_of(digits: u64, count: usize) -> u64 {
    let others = u32::try_from(count).map_or(0, |count| 64_u32.wrapping_sub(count << 3));
    // Moves the digits to the end of the word, after zeros.
    let word = digits.wrapping_shl(others);
    // Combines pairs of digits, then fours, then all.
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::{after, number, plain_length, string};
    use crate::bytes::num::decimal;

    #[test]
    fn numbers_are_those_of_decimal() {
        let mut random = crate::bytes::tests::random(1);
        for round in 0..200_000 {
            let digits: u32 = (0..random(4)).map(|_| random(8) as u32).sum();
            let number_of = |random: &mut dyn FnMut(u64) -> u64| {
                let number = (random(1 << 31) << 33 | random(1 << 31) << 2) % 10_u64.pow(digits.min(19)).max(1);
                if digits == 0 {
                    String::new()
                } else {
                    format!("{number:0width$}", width = if round % 3 == 0 { digits as usize } else { 0 })
                }
            };
            let mut text = number_of(&mut random).into_bytes();
            (0..random(12)).for_each(|_| text.push(b"0123456789,]} /:\xff\xb0p"[random(19) as usize]));
            let (fast, any) = (number(&text), decimal(&text));
            assert!(fast == any || fast.is_none(), "{:?}", text.escape_ascii().to_string());
            let length = any.map_or(0, |(_, rest)| text.len() - rest.len());
            let is_fast = (1..16).contains(&length) && text.len() >= if length < 8 { 8 } else { 16 };
            assert_eq!(fast.is_some(), is_fast, "{:?}", text.escape_ascii().to_string());
        }
        assert_eq!(number(b"00000000,       "), None);
        assert_eq!(number(b"99999999,       "), Some((99_999_999, &b",       "[..])));
    }

    /// Every byte at every place, in whole words and after them, preceded by bytes at the limits of the plain range.
    #[test]
    fn plain_strings_end_at_the_first_other_byte() {
        for (before, place) in
            [b' ', b'!', b'#', b'[', b']', 0x7f].into_iter().flat_map(|b| (0..30).map(move |p| (b, p)))
        {
            for byte in 0..=0xff {
                let mut text = [before; 30];
                text[place] = byte;
                let is_plain = byte.is_ascii() && byte >= b' ' && byte != b'"' && byte != b'\\';
                let expected = if is_plain { 30 } else { place };
                assert_eq!(plain_length(&text), expected, "{before:x} {byte:x} {place}");
                if byte.is_ascii() && byte != before {
                    assert_eq!(after(&text, byte), text.get(place + 1..));
                    assert_eq!(after(&text[..place], byte), None);
                }
                let ends = text.get(..place).zip(text.get(place + 1..)).filter(|_| byte == b'"');
                assert_eq!(string(&text), ends);
            }
        }
    }
}
