//! JSON strings that are compared repeatedly: the names of tensors and files.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use crate::bytes::num::to_usize;
use crate::bytes::text::{Chars, Text};
use crate::duplicates::Entry;

/// A string in JSON text that has been checked. A comparison reads a string only up to the first difference, since a
/// string as long as the file may be compared with every other.
#[derive(Clone, Copy)]
pub(crate) struct JsonStr<'a>(&'a [u8]);

impl<'a> JsonStr<'a> {
    /// The string whose opening quotation mark is at `position`.
    pub(crate) fn at(text: &'a [u8], position: u32) -> Self {
        let start = to_usize(position.saturating_add(1).into());
        Self(start.and_then(|start| text.get(start..)).unwrap_or_default())
    }

    /// A string with escapes that has already been read.
    pub(crate) const fn of(text: Text<'a>) -> Self {
        Self(text.raw())
    }

    /// The string, up to its closing quotation mark.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn text(self) -> Text<'a> {
        Text::new(self.0, true)
    }

    /// Compares the decoded string with UTF-8 bytes.
    pub(crate) fn compare(self, other: &[u8]) -> Ordering {
        // Most strings have no escapes. A fold over all bytes is faster than stopping at the first special byte.
        let has_special = || other.iter().fold(false, |has, byte| has | matches!(byte, b'"' | b'\\'));
        if matches!(self.0.strip_prefix(other), Some([b'"', ..])) && !has_special() {
            return Ordering::Equal;
        }
        Chars::to_quote(self.0).cmp(Text::new(other, false).chars())
    }
}

impl Entry for JsonStr<'_> {
    /// Compares the decoded strings. The order of characters is the byte order of UTF-8.
    fn order(self, other: Self) -> Ordering {
        let (mut a, mut b) = (self.0, other.0);
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
        // Faster than comparing characters. On a chip this loop would only cost flash.
        while let ([x, after_a @ ..], [y, after_b @ ..]) = (a, b) {
            if cfg!(small) || is_special(x) || is_special(y) {
                break;
            }
            if x != y {
                return x.cmp(y);
            }
            (a, b) = (after_a, after_b);
        }
        Chars::to_quote(a).cmp(Chars::to_quote(b))
    }

    fn clashes_with(self, other: Self) -> bool {
        self.order(other).is_eq()
    }

    /// FNV-1a over the decoded characters.
    fn hash(self) -> u32 {
        let add = |hash: u32, character| (hash ^ u32::from(character)).wrapping_mul(0x0100_0193);
        Chars::to_quote(self.0).fold(0x811c_9dc5, add)
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::{Entry as _, JsonStr, Ordering};

    /// Published test vectors for 32-bit FNV-1a. An ASCII character hashes like a byte.
    #[test]
    fn hashes() {
        let hash = |text: &str| JsonStr::at(text.as_bytes(), 1).hash();
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(hash(&format!("{{\"{text}\"}}")), expected, "{text}");
        }
        assert_eq!(hash("{\"f\\u006fobar\""), 0xbf9c_f968);
    }

    #[test]
    fn strings_compare_by_what_they_mean() {
        let all = [
            "",
            "a",
            "a\"",
            "a\"b",
            "a\\",
            "ab",
            "a/",
            "\0",
            "\u{1f}",
            "e",
            "\u{e8}",
            "\u{e9}",
            "\u{e9}a",
            "\u{20ac}",
            "\u{ffff}",
            "\u{10000}",
            "\u{1f600}",
        ];
        // Escapes the characters from index `from` on, and leaves the others as they are.
        let spelled = |text: &str, from: usize| {
            let character = |(i, character): (usize, char)| {
                let escaped =
                    || character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
                let is_plain = i < from && !matches!(character, '"' | '\\' | '\0'..='\u{1f}');
                if is_plain { String::from(character) } else { escaped() }
            };
            // The text after the string makes no difference.
            format!("{{\"{}\" :\\", text.chars().enumerate().map(character).collect::<String>())
        };
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            for (from_a, from_b) in (0..3).flat_map(|from_a| (0..3).map(move |from_b| (from_a, from_b))) {
                let (x, y) = (spelled(a, from_a), spelled(b, from_b));
                let (x, y) = (JsonStr::at(x.as_bytes(), 1), JsonStr::at(y.as_bytes(), 1));
                assert_eq!((x.order(y), x.clashes_with(y)), (a.cmp(b), a == b), "{a:?} {b:?} {from_a} {from_b}");
                assert_eq!(x.compare(b.as_bytes()), a.cmp(b), "{a:?} {b:?} {from_a}");
            }
        }
        // The bytes to compare with may contain the quotation mark that ends the string.
        let text = b"\"a\",\"b\"";
        assert_eq!(JsonStr::at(text, 0).compare(b"a\",\"b"), "a".cmp("a\",\"b"));
        assert_eq!(JsonStr::at(text, 0).compare(b"a"), Ordering::Equal);
    }
}
