//! The public view of a string in a file: its decoded meaning, however the file spells it.
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::fmt::{self, Write};
use core::hash::{Hash, Hasher};
use core::iter::FusedIterator;

#[cfg(feature = "pytorch")]
use super::pickle::trail::{Pieces, Trail};
use crate::error::{Error, ErrorKind, Result};

/// A string of a file, empty by default.
///
/// Most strings are stored as UTF-8, and [`as_str`](Self::as_str) returns them in place. JSON may spell characters as
/// escapes, such as `\u0061` for `a` and `\"` for a quotation mark. Escapes are rare in names, and common in attributes
/// that contain JSON themselves. A string with escapes is not a slice of the file. Printing, comparing, hashing,
/// iterating and copying decode the escapes on the fly, without memory, so a `Text` always behaves as its decoded
/// meaning.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
/// let file = tenslice::File::open(bytes)?;
/// for tensor in &file {
///     if tensor.name() == "t.float64" {
///         println!("{} has {} bytes", tensor.name(), tensor.name().length());
///     }
/// }
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Text<'a> {
    bytes: &'a [u8],
    is_escaped: bool,
    /// If there is one, the bytes are a part of a pickle, or the whole, and the string is the name of a value there: keys
    /// and places, joined by dots.
    #[cfg(feature = "pytorch")]
    trail: Trail,
}

impl<'a> Text<'a> {
    /// Wraps UTF-8. If `is_escaped`, `bytes` are a JSON string without its quotation marks, whose escapes are valid.
    pub(crate) const fn new(bytes: &'a [u8], is_escaped: bool) -> Self {
        Self {
            bytes,
            is_escaped,
            #[cfg(feature = "pytorch")]
            trail: Trail::NONE,
        }
    }

    /// Wraps the part of a pickle that a trail belongs to. Without a trail, the bytes are the string.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn joined(bytes: &'a [u8], trail: Trail) -> Self {
        Self { bytes, is_escaped: !trail.is_none(), trail }
    }

    /// Returns the trail of a name in a pickle; none for any other string.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn trail(&self) -> Trail {
        self.trail
    }

    /// True if the string is a name of several pieces.
    #[cfg(feature = "pytorch")]
    pub(crate) const fn is_joined(&self) -> bool {
        !self.trail.is_none()
    }

    /// Returns the string if the file stores it without escapes; `None` if characters are spelled as escapes.
    #[must_use]
    pub const fn as_str(&self) -> Option<&'a str> {
        if self.is_escaped {
            return None;
        }
        match core::str::from_utf8(self.bytes) {
            Ok(text) => Some(text),
            Err(_) => None, // the bytes have changed since opening
        }
    }

    /// Returns the bytes of the string as stored in the file, including escapes.
    #[must_use]
    pub const fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns whether characters are spelled as escapes, so that [`raw`](Self::raw) differs from the decoded string.
    #[must_use]
    pub const fn is_escaped(&self) -> bool {
        self.is_escaped
    }

    /// Returns whether the string has no characters.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty() // a name of several pieces has at least a dot
    }

    /// Returns the length in bytes of UTF-8, with escapes decoded. Linear if the string has escapes.
    #[must_use]
    pub fn length(&self) -> usize {
        if self.is_escaped {
            self.chars().fold(0, |length: usize, character| length.saturating_add(character.len_utf8()))
        } else {
            self.bytes.len()
        }
    }

    /// Returns an iterator over the characters, with escapes decoded.
    #[must_use]
    pub const fn chars(&self) -> Chars<'a> {
        #[cfg(feature = "pytorch")]
        if self.is_joined() {
            return Chars { rest: &[], is_escaped: false, pieces: Some(Pieces::new(self.bytes, self.trail)) };
        }
        Chars {
            rest: self.bytes,
            is_escaped: self.is_escaped,
            #[cfg(feature = "pytorch")]
            pieces: None,
        }
    }

    /// Writes the string to `dst`, with escapes decoded, and returns the part written: [`length`](Self::length) bytes.
    ///
    /// # Errors
    /// `TooSmall` if `dst` is shorter; nothing was written then.
    pub fn copy_to<'d>(&self, dst: &'d mut [u8]) -> Result<&'d str> {
        let dst = dst.get_mut(..self.length()).ok_or(Error::new(ErrorKind::TooSmall))?;
        if self.is_escaped {
            let mut rest = &mut *dst;
            for character in self.chars() {
                let mut encoded = [0; 4];
                let encoded = character.encode_utf8(&mut encoded).as_bytes();
                let Some((place, after)) = rest.split_at_mut_checked(encoded.len()) else { break };
                place.iter_mut().zip(encoded).for_each(|(to, from)| *to = *from);
                rest = after;
            }
        } else {
            dst.iter_mut().zip(self.bytes).for_each(|(to, from)| *to = *from);
        }
        Ok(core::str::from_utf8(dst).unwrap_or_default()) // empty if the bytes have changed since opening
    }

    /// Returns whether the decoded string equals `other`, which is UTF-8.
    #[inline]
    pub(crate) fn eq_bytes(&self, other: &[u8]) -> bool {
        if self.is_escaped { self.compare(&Text::new(other, false)).is_eq() } else { self.bytes == other }
    }

    /// Compares the decoded strings. The order of characters is the order of their UTF-8 bytes.
    fn compare(&self, other: &Text<'_>) -> Ordering {
        if self.is_escaped || other.is_escaped {
            self.chars().cmp(other.chars())
        } else {
            self.bytes.cmp(other.bytes)
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text.as_bytes(), false)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.eq_bytes(other.as_bytes())
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.eq_bytes(other.as_bytes())
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.chars().for_each(|character| character.hash(state));
        state.write_u8(0xff);
    }
}

/// Prints the decoded string. Width and alignment apply only if [`as_str`](Text::as_str) returns the string.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => f.pad(text),
            None => self.chars().try_for_each(|character| f.write_char(character)),
        }
    }
}

/// Prints the decoded string as a Rust string literal.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.chars().flat_map(char::escape_debug).try_for_each(|character| f.write_char(character))?;
        f.write_char('"')
    }
}

/// The characters of a [`Text`].
#[derive(Clone, Copy, Debug)]
pub struct Chars<'a> {
    rest: &'a [u8],
    is_escaped: bool,
    #[cfg(feature = "pytorch")]
    pieces: Option<Pieces<'a>>,
}

impl<'a> Chars<'a> {
    /// Returns the characters of a JSON string, up to the closing quotation mark. The escapes are valid.
    #[cfg(feature = "safetensors")]
    pub(crate) const fn to_quote(rest: &'a [u8]) -> Self {
        Self {
            rest,
            is_escaped: true,
            #[cfg(feature = "pytorch")]
            pieces: None,
        }
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        #[cfg(feature = "pytorch")]
        if let Some(pieces) = &mut self.pieces {
            while self.rest.is_empty() {
                self.rest = pieces.more()?;
            }
        }
        let (character, rest) = match self.rest {
            [b'"', ..] if self.is_escaped => return None,
            [b'\\', rest @ ..] if self.is_escaped => unescaped(rest)?,
            rest => split_char(rest)?,
        };
        self.rest = rest;
        Some(character)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.rest.len()))
    }
}

impl FusedIterator for Chars<'_> {}

/// Reads a character from the front of UTF-8.
fn split_char(bytes: &[u8]) -> Option<(char, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (high, more) = match first {
        0..=0x7f => (*first, 0),
        0..=0xdf => (first & 0x1f, 1),
        0..=0xef => (first & 0xf, 2),
        _ => (first & 7, 3),
    };
    let (tail, rest) = rest.split_at_checked(more)?;
    let code = tail.iter().fold(u32::from(high), |code, byte| code << 6 | u32::from(byte & 0x3f));
    Some((char::from_u32(code)?, rest))
}

/// Reads a JSON escape from the front of `rest`, which follows a backslash. A character beyond U+FFFF is two escapes
/// (RFC 8259, section 7). `None` if the escape is invalid.
#[cfg(feature = "safetensors")]
#[inline(never)]
pub(crate) fn unescaped(rest: &[u8]) -> Option<(char, &[u8])> {
    use hifijson::{Read, escape::Lex};

    let mut lexer = hifijson::SliceLexer::new(rest);
    let kind = lexer.take_next()?;
    let character = lexer.escape(kind).ok()?;
    Some((character, lexer.as_slice()))
}

/// No format in this build has escapes.
#[cfg(not(feature = "safetensors"))]
fn unescaped(_: &[u8]) -> Option<(char, &[u8])> {
    None
}

/// Pieces of a sentence, each with the number that follows it, if any.
#[cfg(not(target_os = "none"))]
pub(crate) type Phrase = [(&'static str, Option<u64>); 3];

/// A sentence without numbers.
#[cfg(not(target_os = "none"))]
pub(crate) const fn phrase(text: &'static str) -> Phrase {
    [(text, None), ("", None), ("", None)]
}

#[cfg(all(test, feature = "safetensors"))]
mod tests {
    use std::format;
    use std::hash::DefaultHasher;
    use std::prelude::v1::*;
    use std::string::ToString;

    use super::*;

    fn hash(text: Text<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn a_text_is_what_it_means() {
        let spellings = [
            ("a.b", r"a\u002eb"),
            ("\u{1f600}", r"\ud83d\ude00"),
            ("\"\\/\u{8}\u{c}\n\r\t", r#"\"\\\/\b\f\n\r\t"#),
            ("gr\u{fc}n \u{20ac}", "gr\\u00fcn \u{20ac}"),
            ("\0", r"\u0000"),
        ];
        for (meaning, spelled) in spellings {
            let (plain, escaped) = (Text::from(meaning), Text::new(spelled.as_bytes(), true));
            assert_eq!(escaped, plain);
            assert_eq!(escaped, meaning);
            assert!(escaped == *meaning && plain == *meaning && escaped != *spelled && plain != *"");
            assert_eq!(escaped.partial_cmp(&Text::from("")), Some(Ordering::Greater));
            assert_eq!((escaped.is_empty(), plain.is_empty(), Text::default().is_empty()), (false, false, true));
            assert!(escaped.eq_bytes(meaning.as_bytes()) && !escaped.eq_bytes(spelled.as_bytes()));
            let places = (0..meaning.chars().count()).map(|at| meaning.chars().nth(at));
            assert!(places.eq(escaped.chars().map(Some)) && escaped.chars().size_hint() == (0, Some(spelled.len())));
            assert_eq!(hash(escaped), hash(plain));
            assert_ne!(hash(plain), hash(Text::default()));
            assert_eq!((escaped.to_string(), plain.to_string()), (meaning.into(), meaning.into()));
            assert_eq!(format!("{escaped:?}"), format!("{plain:?}"));
            assert_eq!(escaped.chars().collect::<String>(), meaning);
            assert_eq!((escaped.as_str(), plain.as_str()), (None, Some(meaning)));
            assert_eq!((escaped.length(), plain.length()), (meaning.len(), meaning.len()));
            for text in [escaped, plain] {
                let mut dst = [7; 32];
                assert_eq!(text.copy_to(&mut dst).unwrap(), meaning);
                assert!(dst[meaning.len()..].iter().all(|byte| *byte == 7));
                let mut short = vec![7; meaning.len() - 1];
                assert_eq!(text.copy_to(&mut short).unwrap_err().kind(), ErrorKind::TooSmall);
                assert!(short.iter().all(|byte| *byte == 7));
            }
            assert_ne!(escaped, spelled);
            assert_ne!(escaped, format!("{meaning}x").as_str());
        }
    }

    #[test]
    fn texts_one_after_the_other_are_not_joined() {
        let hash = |texts: [&str; 2]| {
            let mut hasher = DefaultHasher::new();
            texts.map(Text::from).hash(&mut hasher);
            hasher.finish()
        };
        assert_ne!(hash(["a", "b"]), hash(["ab", ""]));
    }

    #[test]
    fn order_is_that_of_strings() {
        let all = ["", "a", "a.", "a.b", "b", "\u{e9}", "\u{ffff}", "\u{10000}"];
        let escape = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<String>();
        for a in all {
            for b in all {
                let (x, y) = (escape(a), escape(b));
                let (x, y) = (Text::new(x.as_bytes(), true), Text::new(y.as_bytes(), true));
                let (a_text, b_text) = (Text::from(a), Text::from(b));
                assert_eq!((x == y, x == b_text, a_text == b_text), (a == b, a == b, a == b));
                assert_eq!((x.cmp(&y), x.cmp(&b.into()), Text::from(a).cmp(&y)), (a.cmp(b), a.cmp(b), a.cmp(b)));
            }
        }
    }

    #[test]
    fn every_character_is_read() {
        for character in ('\0'..=char::MAX).step_by(7).chain(['\u{7f}', '\u{80}', '\u{7ff}', '\u{800}', '\u{ffff}']) {
            let text = character.to_string();
            assert_eq!(Text::from(text.as_str()).chars().collect::<String>(), text);
        }
    }
}
