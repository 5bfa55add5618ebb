//! UTF-8 strings of a file.
//!
//! Has its own check: the one in `core` takes 620 bytes of flash, including a table.
#![forbid(unsafe_code)]

use super::text::Text;

/// Bytes that have been checked to be UTF-8. They are converted to a `str` only for Rust callers; C receives the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Utf8<'a>(&'a [u8]);

impl<'a> Utf8<'a> {
    /// Wraps a string, which is UTF-8 by type.
    pub(crate) const fn new(text: &'a str) -> Self {
        Self(text.as_bytes())
    }

    /// Wraps bytes that are known to be UTF-8.
    pub(crate) const fn known(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Wraps `bytes` if they are UTF-8.
    pub(crate) fn checked(bytes: &'a [u8]) -> Option<Self> {
        is_utf8(bytes).then_some(Self(bytes))
    }

    /// Returns the bytes of a text, including its escapes.
    #[cfg(any(feature = "safetensors", feature = "gguf"))]
    pub(crate) const fn of(text: Text<'a>) -> Self {
        Self(text.raw())
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.0
    }

    pub(crate) const fn as_str(self) -> &'a str {
        match core::str::from_utf8(self.0) {
            Ok(text) => text,
            Err(_) => "", // the bytes have changed since opening
        }
    }
}

impl<'a> From<Utf8<'a>> for Text<'a> {
    fn from(text: Utf8<'a>) -> Self {
        Self::new(text.0, false)
    }
}

/// True if `text` sorts before `other`, byte by byte.
#[inline(never)]
pub(crate) fn is_before(text: &[u8], other: &[u8]) -> bool {
    text < other
}

/// True if `bytes` are UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    // Most texts are ASCII, which hosts check eight bytes at a time.
    #[cfg(not(small))]
    if is_ascii(bytes) {
        return true;
    }
    is_any_utf8(bytes)
}

/// True if all bytes are ASCII. The check in `core` is optimized for long texts.
#[cfg(not(small))]
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    let mut all = 0;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        all |= u64::from_le_bytes(*word);
        rest = after;
    }
    all |= match bytes.last_chunk() {
        Some(word) => u64::from_le_bytes(*word), // may repeat some bytes
        None => rest.iter().fold(0, |all, byte| all | u64::from(*byte)),
    };
    all & 0x8080_8080_8080_8080 == 0
}

/// True if `bytes` are UTF-8: the well-formed sequences of the Unicode standard, table 3-7.
#[inline(never)]
fn is_any_utf8(bytes: &[u8]) -> bool {
    // The number of continuation bytes that the character still needs, and the valid range of the next byte.
    let (mut left, mut low, mut high) = (0_u32, 0x80, 0xbf);
    for &byte in bytes {
        if left == 0 {
            if byte < 0x80 {
                continue;
            }
            if !(0xc2..=0xf4).contains(&byte) {
                return false;
            }
            left = 1_u32.wrapping_add((byte >= 0xe0).into()).wrapping_add((byte >= 0xf0).into());
            match byte {
                0xe0 => low = 0xa0,  // below: overlong encodings
                0xed => high = 0x9f, // above: the surrogates
                0xf0 => low = 0x90,  // below: overlong encodings
                0xf4 => high = 0x8f, // up to U+10FFFF
                _ => {}
            }
        } else if byte < low || byte > high {
            return false;
        } else {
            (left, low, high) = (left.wrapping_sub(1), 0x80, 0xbf);
        }
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::{Text, Utf8, is_utf8};

    #[test]
    fn a_backslash_is_one() {
        let text = Text::from(Utf8::new("\\u0061"));
        assert_eq!((text.as_str(), text.is_escaped()), (Some("\\u0061"), false));
    }

    /// Every sequence of up to two bytes, and every sequence of three or four bytes next to a boundary of the table.
    #[test]
    fn agrees_with_core() {
        let all: Vec<u8> = (0..=0xff).collect();
        let borders = [
            0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
            0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ];
        for (next, longest) in [(&all[..], 2), (&borders, 4)] {
            let mut sequences = vec![Vec::new()];
            for _ in 0..longest {
                sequences =
                    sequences.iter().flat_map(|all| next.iter().map(|byte| [all, &[*byte][..]].concat())).collect();
                for sequence in &sequences {
                    assert_eq!(is_utf8(sequence), core::str::from_utf8(sequence).is_ok(), "{sequence:x?}");
                }
            }
        }
        // An extra byte after each kind of character.
        for character in ["a", "\u{e9}", "\u{20ac}", "\u{1f600}"] {
            for byte in 0..=0xff {
                let sequence = [character.as_bytes(), &[byte]].concat();
                assert_eq!(is_utf8(&sequence), core::str::from_utf8(&sequence).is_ok(), "{sequence:x?}");
            }
        }
    }
}
