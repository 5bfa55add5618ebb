//! JSON (RFC 8259), token by token, from borrowed bytes.
//!
//! Nested values are skipped without recursion. Strings are checked to be UTF-8 with valid escapes; everything else in
//! a JSON text must be ASCII.
#![forbid(unsafe_code)]

use hifijson::SliceLexer;
use hifijson::num::Lex as _;
use hifijson::token::Lex as _;

use crate::bytes::num::decimal;
use crate::bytes::text::{Text, unescaped};
use crate::bytes::utf8::is_utf8;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};

#[cfg(not(small))]
pub(crate) mod usual;

/// The maximum nesting depth, including the outermost object. The limit is that of `serde_json`, which other readers of
/// these files use.
pub(crate) const MAX_DEPTH: usize = 127;

/// An error and its position in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    kind: ErrorKind,
    item: Part,
    at: u32,
    /// The start of the record concerned; [`NO_RECORD`] if there is none.
    record: u32,
}

/// A value, or the position of the contents of a list or an object.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    /// An integer from -2^64 + 1 to 2^64 - 1.
    Integer(i128),
    /// Any other number, in digits.
    Decimal(Text<'a>),
    Text(Text<'a>),
    List(u32),
    Object(u32),
}

/// The record position if no record is concerned.
pub(crate) const NO_RECORD: u32 = u32::MAX;

impl Fault {
    /// Returns the error for a file whose JSON text begins at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_file(&self, format: Format, start: u64) -> Error {
        let error = Error::at(self.kind, format, self.item, start.saturating_add(self.at.into()));
        // Without a record, the error keeps `NO_ENTRY` as the distance.
        if self.record == NO_RECORD { error } else { error.after_entry(self.at.saturating_sub(self.record)) }
    }
}

/// Reads a text token by token. If a call returns `None`, the reader holds the error, since passing errors from call to
/// call would take more code than the checks.
pub(crate) struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    /// The part of the file being read, and the position of its record.
    pub(crate) item: Part,
    pub(crate) record: u32,
    fault: Option<Fault>,
}

impl<'a> Reader<'a> {
    /// Creates a reader at `position`. The text is shorter than 4 GiB.
    pub(crate) fn new(text: &'a [u8], position: u32) -> Self {
        let rest = usize::try_from(position).ok().and_then(|position| text.get(position..)).unwrap_or_default();
        Self { text, rest, item: Part::Header, record: NO_RECORD, fault: None }
    }

    /// Continues at `rest`, which follows the bytes that have been read.
    #[cfg(not(small))]
    #[inline]
    pub(crate) const fn skip_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u32 {
        u32::try_from(self.text.len().saturating_sub(self.rest.len())).unwrap_or(u32::MAX)
    }

    /// Returns the position of `rest`, which is the end of the text. The text is shorter than 4 GiB.
    #[cfg(not(small))]
    #[inline]
    #[allow(clippy::as_conversions, clippy::cast_possible_truncation)]
    pub(crate) const fn position_of(&self, rest: &[u8]) -> u32 {
        self.text.len().wrapping_sub(rest.len()) as u32
    }

    /// Returns the bytes from the last byte read on; empty at the start.
    #[cfg(not(small))]
    #[inline]
    pub(crate) fn rest_with_last(&self) -> &'a [u8] {
        let last = self.text.len().saturating_sub(self.rest.len()).checked_sub(1);
        last.and_then(|last| self.text.get(last..)).unwrap_or_default()
    }

    /// Returns the bytes that have not been read.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the position of the next token.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn token_position(&mut self) -> u32 {
        self.skip_space();
        self.position()
    }

    /// Returns the error, if a call returned `None`.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Returns the error of a call that returned `None`, in a file whose JSON text begins at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn error(&self, format: Format, start: u64) -> Error {
        let unknown = Error::at(ErrorKind::Malformed, format, Part::Header, start);
        self.fault.map_or(unknown, |fault| fault.in_file(format, start))
    }

    /// Stops with an error at the next token.
    #[inline]
    pub(crate) fn stop<T>(&mut self, kind: ErrorKind) -> Option<T> {
        self.fail(kind);
        None
    }

    /// Stops with an error at `at`.
    #[inline]
    pub(crate) fn stop_at<T>(&mut self, kind: ErrorKind, at: u32) -> Option<T> {
        self.fail_at(kind, at);
        None
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, kind: ErrorKind) {
        let at = self.token_position();
        self.fail_at(kind, at);
    }

    #[cold]
    #[inline(never)]
    fn fail_at(&mut self, kind: ErrorKind, at: u32) {
        self.fault = Some(Fault { kind, item: self.item, at, record: self.record });
    }

    #[cfg_attr(small, inline(never))]
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Returns the first byte of the next token.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.rest.first().copied()
    }

    #[inline]
    fn skip_byte(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Returns whether the next token is `byte`, and consumes it if so.
    #[cfg_attr(small, inline(never))]
    fn take(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        if is_it {
            self.skip_byte();
        }
        is_it
    }

    /// Consumes the next token, which must be `byte`.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn expect(&mut self, byte: u8, kind: ErrorKind) -> Option<()> {
        if self.take(byte) { Some(()) } else { self.stop(kind) }
    }

    /// Reads the start of an object, or of a list if `start` is a bracket.
    pub(crate) fn begin(&mut self, start: u8) -> Option<()> {
        self.expect(start, ErrorKind::UnexpectedType)
    }

    /// Advances to the next item of a list or an object that ends with `end`, or to its first item if it has just
    /// begun; returns `false` after the last item.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn more(&mut self, end: u8) -> Option<bool> {
        let last = self.text.len().saturating_sub(self.rest.len()).checked_sub(1).and_then(|at| self.text.get(at));
        let is_first = matches!(last, Some(b'{' | b'[')); // no value ends with these bytes
        let next = self.peek();
        if next == Some(end) {
            self.skip_byte();
            Some(false)
        } else if is_first {
            Some(true)
        } else if next == Some(b',') {
            self.skip_byte(); // the caller reads an item next, as required
            Some(true)
        } else {
            self.stop(ErrorKind::Malformed)
        }
    }

    /// Reads a key of an object.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn key(&mut self) -> Option<Text<'a>> {
        let key = self.string_or(ErrorKind::Malformed)?;
        self.expect(b':', ErrorKind::Malformed)?;
        Some(key)
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> Option<Text<'a>> {
        self.string_or(ErrorKind::UnexpectedType)
    }

    #[cfg_attr(small, inline(never))]
    fn string_or(&mut self, otherwise: ErrorKind) -> Option<Text<'a>> {
        self.skip_space();
        let [b'"', string @ ..] = self.rest else { return self.stop(otherwise) };
        // Much faster. Chips need the flash more.
        #[cfg(not(small))]
        if let Some((plain, [b'"', rest @ ..])) = string.split_at_checked(usual::plain_length(string)) {
            self.rest = rest;
            return Some(Text::new(plain, false));
        }
        self.long_string(string)
    }

    /// Reads a string, without its opening quotation mark.
    #[cfg_attr(not(small), inline(never))]
    fn long_string(&mut self, string: &'a [u8]) -> Option<Text<'a>> {
        let (mut rest, mut is_escaped) = (string, false);
        loop {
            rest = match rest {
                [b'"', after @ ..] => {
                    let length = string.len().saturating_sub(rest.len());
                    let string = string.get(..length).unwrap_or_default();
                    if !is_utf8(string) {
                        return self.stop(ErrorKind::InvalidUtf8);
                    }
                    self.rest = after;
                    return Some(Text::new(string, is_escaped));
                }
                [b'\\', after @ ..] => {
                    is_escaped = true;
                    let Some((_, after)) = unescaped(after) else { return self.stop_in(rest) };
                    after
                }
                [0x20..=0xff, after @ ..] => after,
                _ => return self.stop_in(rest),
            };
        }
    }

    /// Stops because the text is malformed at the start of `rest`.
    fn stop_in<T>(&mut self, rest: &'a [u8]) -> Option<T> {
        self.rest = rest;
        let at = self.position();
        self.stop_at(ErrorKind::Malformed, at)
    }

    /// Reads a number that is written as an integer from 0 to 2^64 - 1: no sign, no fraction, no exponent.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn integer(&mut self) -> Option<u64> {
        self.skip_space();
        #[cfg(not(small))]
        let number = usual::number(self.rest).or_else(|| decimal(self.rest));
        #[cfg(small)]
        let number = decimal(self.rest);
        match number {
            Some((_, [b'.' | b'e' | b'E', ..])) | None => self.stop(ErrorKind::UnexpectedType),
            Some((number, rest)) => {
                self.rest = rest;
                Some(number)
            }
        }
    }

    /// Skips a value that is nested in `depth` others.
    #[inline(never)]
    pub(crate) fn skip_value(&mut self, depth: usize) -> Option<()> {
        // The closing characters of the lists and objects around the current value.
        let mut ends = heapless::Vec::<u8, MAX_DEPTH>::new();
        loop {
            let first = self.peek();
            match first {
                Some(b'{' | b'[') => {
                    let end = if first == Some(b'{') { b'}' } else { b']' };
                    if ends.len().saturating_add(depth) >= MAX_DEPTH || ends.push(end).is_err() {
                        return self.stop(ErrorKind::TooDeep);
                    }
                    self.skip_byte();
                    if !self.take(end) {
                        self.skip_key(end)?;
                        continue;
                    }
                    ends.pop();
                }
                _ => self.skip_single(first)?,
            }
            // The value has ended, and possibly lists and objects around it.
            loop {
                let Some(end) = ends.last().copied() else { return Some(()) };
                if self.take(b',') {
                    self.skip_key(end)?;
                    break;
                }
                self.expect(end, ErrorKind::Malformed)?;
                ends.pop();
            }
        }
    }

    /// Skips the key before a value in an object.
    fn skip_key(&mut self, end: u8) -> Option<()> {
        if end == b'}' { self.key().map(drop) } else { Some(()) }
    }

    /// Skips a value that is neither a list nor an object and begins with `first`.
    fn skip_single(&mut self, first: Option<u8>) -> Option<()> {
        let mut lexer = SliceLexer::new(self.rest);
        let is_valid = match first {
            Some(b'"') => return self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => lexer.num_ignore().validate().is_ok(),
            Some(b'a'..=b'z') => lexer.null_or_bool().is_some(),
            _ => false,
        };
        if !is_valid {
            return self.stop(ErrorKind::Malformed);
        }
        self.rest = lexer.as_slice();
        Some(())
    }

    /// Reads a value, but not its contents, and advances to its end.
    pub(crate) fn value(&mut self) -> Option<Token<'a>> {
        let first = self.peek();
        let (start, inside) = (self.rest, self.position().saturating_add(1));
        if first == Some(b'"') {
            return self.string().map(Token::Text);
        }
        self.skip_value(0)?;
        let spelled = start.get(..start.len().saturating_sub(self.rest.len())).unwrap_or_default();
        Some(match first {
            Some(b'{') => Token::Object(inside),
            Some(b'[') => Token::List(inside),
            Some(b'n') => Token::Null,
            Some(b't' | b'f') => Token::Bool(first == Some(b't')),
            _ => {
                let digits = spelled.strip_prefix(b"-").unwrap_or(spelled);
                let magnitude = decimal(digits).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
                match magnitude.map(i128::from) {
                    Some(0) if digits != spelled => Token::Decimal(Text::new(spelled, false)), // -0
                    Some(number) => Token::Integer(if digits == spelled { number } else { number.wrapping_neg() }),
                    None => Token::Decimal(Text::new(spelled, false)),
                }
            }
        })
    }

    /// Checks that the text ends after the value.
    pub(crate) fn finish(&mut self) -> Option<()> {
        if self.peek().is_none() { Some(()) } else { self.stop(ErrorKind::TrailingBytes) }
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;
    use std::string::ToString;

    use serde_json::Value;

    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }

        fn pick<'t>(&mut self, some: &[&'t str]) -> &'t str {
            some[self.below(some.len())]
        }

        /// Returns a string with its quotation marks, made of valid pieces and, if `may_fail`, invalid ones.
        fn string(&mut self, may_fail: bool) -> Vec<u8> {
            let valid: [&[u8]; 14] = [
                b"a",
                b"plain-ascii",
                b" ",
                b"/",
                b"\x7f",
                b"\xc3\xa9",
                b"\xef\xbf\xbf",
                b"\xf0\x9f\x98\x80",
                br"\n",
                br#"\""#,
                br"\\",
                br"\u0000",
                br"\uD83D\ude00",
                br"\uffFF",
            ];
            let others: [&[u8]; 14] = [
                br"\ud83d",
                br"\ude00",
                br"\ud83d\u0041",
                br"\ud83d\n",
                br"\x41",
                br"\u12",
                br"\u00g0",
                b"\x1f",
                b"\n",
                b"\x80",
                b"\xc0\x80",
                b"\xed\xa0\x80",
                b"\xf4\x90\x80\x80",
                b"\xe2\x82",
            ];
            let pieces = (0..self.below(12)).map(|_| match self.below(if may_fail { 40 } else { 14 }) {
                39 => others[self.below(14)],
                i => valid[i % 14],
            });
            [b"\"", &pieces.collect::<Vec<_>>().concat()[..], b"\""].concat()
        }

        fn value(&mut self, out: &mut Vec<u8>, depth: usize) {
            let space = [" ", "\t", "\r\n", "", "", "", "", ""];
            out.extend(self.pick(&space).bytes());
            match self.below(if depth == 0 { 6 } else { 10 }) {
                0 => out.extend(self.pick(&["null", "true", "false"]).bytes()),
                1 => out.extend(self.string(true)),
                2 => out.extend(self.pick(&NUMBERS[..12]).bytes()),
                3 => out.extend(self.pick(NUMBERS).bytes()),
                4 => out.extend(self.below(1000).to_string().bytes()),
                5 => {
                    let depth = 110 + self.below(20);
                    out.extend([&*"[".repeat(depth), &*"]".repeat(depth)].concat().bytes());
                }
                end => {
                    let (begin, end) = if end % 2 == 0 { (b'[', b']') } else { (b'{', b'}') };
                    out.push(begin);
                    for i in 0..self.below(4) {
                        if i > 0 {
                            out.push(b',');
                        }
                        if end == b'}' {
                            out.extend(self.string(false));
                            out.extend(self.pick(&[":", " :", ": "]).bytes());
                        }
                        self.value(out, depth - 1);
                    }
                    out.push(end);
                }
            }
            out.extend(self.pick(&space).bytes());
        }

        fn damage(&mut self, text: &mut Vec<u8>) {
            let (at, other) = (self.below(text.len()), self.below(text.len()));
            let byte = b"\"\\{}[]:,0-+.eEu/ \n\x0b\0\x1f\x7f\x80\xffntf"[self.below(27)];
            match self.below(5) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => text.truncate(at.max(1)),
                3 => text.swap(at, other),
                _ => text[at] ^= 1 << self.below(8),
            }
        }
    }

    /// The first twelve are valid numbers.
    const NUMBERS: &[&str] = &[
        "0",
        "-0",
        "1",
        "-1.5",
        "1e5",
        "0E-7",
        "12.25E+3",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551615",
        "9223372036854775808",
        "1e-999",
        "1e999",
        "-1E+400",
        "00",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "1_0",
        "NaN",
        "Infinity",
        "-Infinity",
        "1.0.0",
        "--1",
        "1-",
        "0e",
        "-01",
    ];

    /// Returns whether `serde_json` accepts the text; `None` if it rejects a number that is out of the range of `f64`.
    fn is_value(text: &[u8]) -> Option<bool> {
        match serde_json::from_slice::<Value>(text) {
            Ok(_) => Some(true),
            Err(error) if error.to_string().starts_with("number out of range") => None,
            Err(_) => Some(false),
        }
    }

    /// Reads all of `text` with `read`.
    fn all<'a, T>(text: &'a [u8], read: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> Option<T> {
        let mut reader = Reader::new(text, 0);
        let value = read(&mut reader).and_then(|value| reader.finish().map(|()| value));
        assert_eq!(value.is_none(), reader.fault().is_some());
        assert!(reader.fault().is_none_or(|fault| fault.at as usize <= text.len()));
        value
    }

    /// Replaces numbers beyond `f64`, which are the only difference to `serde_json`.
    fn with_smaller_numbers(text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for number in [&b"1e999"[..], b"1E+400"] {
            while let Some(at) = text.windows(number.len()).position(|part| part == number) {
                text.splice(at..at + number.len(), *b"1");
            }
        }
        text
    }

    #[test]
    fn values_are_those_of_serde_json() {
        let mut random = Random(1);
        let (mut accepted, mut refused, mut out_of_range) = (0, 0, 0);
        for round in 0..60_000 {
            let mut text = Vec::new();
            random.value(&mut text, 4);
            for _ in 0..round % 3 {
                random.damage(&mut text);
            }
            let found = all(&text, |reader| reader.skip_value(0)).is_some();
            assert_eq!(all(&text, |reader| reader.value()).is_some(), found);
            let Some(expected) = is_value(&text) else {
                // `serde_json` stops at such a number: the rest of the text is compared without these numbers.
                let smaller = with_smaller_numbers(&text);
                let expected = is_value(&smaller);
                assert!(expected.is_none_or(|expected| expected == found), "{:?}", String::from_utf8_lossy(&text));
                out_of_range += 1;
                continue;
            };
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&text));
            if found { accepted += 1 } else { refused += 1 }
        }
        assert!(accepted > 10_000 && refused > 10_000 && out_of_range > 300, "{accepted} {refused} {out_of_range}");
    }

    #[test]
    fn depth_is_that_of_serde_json() {
        for depth in 120..135 {
            for (begin, end) in [("[", "]"), ("{\"\":", "}"), ("[{\"\":", "}]")] {
                let levels = begin.matches(['[', '{']).count();
                for inside in ["1", "[]", "{}"] {
                    let count = depth / levels;
                    let text = [&begin.repeat(count), inside, &end.repeat(count)].concat();
                    let found = all(text.as_bytes(), |reader| reader.skip_value(0));
                    assert_eq!(Some(found.is_some()), is_value(text.as_bytes()), "{text}");
                    // Nested in other values.
                    let found = all(text.as_bytes(), |reader| reader.skip_value(3));
                    let text = format!("[[[{text}]]]");
                    assert_eq!(Some(found.is_some()), is_value(text.as_bytes()), "{text}");
                }
            }
        }
    }

    #[test]
    fn strings_are_those_of_serde_json() {
        let mut random = Random(2);
        let mut accepted = 0;
        for round in 0..60_000 {
            let mut text = random.string(true);
            if round % 4 == 0 {
                random.damage(&mut text);
            }
            let found = all(&text, |reader| reader.string());
            let expected = serde_json::from_slice::<String>(&text);
            match (found, expected) {
                (Some(found), Ok(expected)) => {
                    assert_eq!(found.to_string(), expected);
                    assert_eq!(found.is_escaped(), found.raw().contains(&b'\\'));
                    accepted += 1;
                }
                (None, Err(_)) => {}
                (found, expected) => {
                    std::panic!("{:?}: {found:?} {expected:?}", String::from_utf8_lossy(&text));
                }
            }
        }
        assert!((20_000..55_000).contains(&accepted), "{accepted}");
    }

    #[test]
    fn every_byte_at_every_place_of_a_string() {
        for byte in 0..=0xff {
            for (before, after) in (0..18).flat_map(|before| [(before, 0), (before, 9)]) {
                let text = [&b"\""[..], &vec![b'x'; before], &[byte], &vec![b'~'; after], b"\""].concat();
                let found = all(&text, |reader| reader.string()).map(|text| text.to_string());
                assert_eq!(found, serde_json::from_slice(&text).ok(), "{byte:#x} after {before}");
            }
        }
    }

    #[test]
    fn integers_are_plain() {
        let mut random = Random(3);
        for round in 0..20_000 {
            let mut text = match round % 3 {
                0 => random.pick(NUMBERS).to_string(),
                1 => (u64::MAX - random.below(30) as u64).to_string(),
                _ => random.below(100_000).to_string(),
            }
            .into_bytes();
            if round % 2 == 0 {
                random.damage(&mut text);
            }
            let found = all(&text, |reader| reader.integer());
            assert_eq!(found, serde_json::from_slice(&text).ok(), "{:?}", String::from_utf8_lossy(&text));
            // Also as a value, and with a sign.
            match (all(&text, |reader| reader.value()), serde_json::from_slice::<Value>(&text)) {
                (Some(Token::Integer(number)), Ok(Value::Number(expected))) => {
                    let is_same = expected.as_i128() == Some(number) || expected.as_f64() == Some(number as f64);
                    assert!(is_same, "{number} {expected}");
                    assert!(number.unsigned_abs() < 1 << 64);
                }
                (Some(Token::Decimal(number)), Ok(Value::Number(expected))) => {
                    assert_eq!(number.as_str().unwrap().trim(), std::str::from_utf8(&text).unwrap().trim());
                    assert!(expected.is_f64());
                }
                (Some(Token::Decimal(_)), Err(error)) => assert!(error.to_string().contains("out of range")),
                (Some(_), expected) => assert!(expected.is_ok_and(|expected| !expected.is_number())),
                (None, expected) => assert!(expected.is_err()),
            }
        }
    }
}
