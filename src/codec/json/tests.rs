//! Compares the reader with `serde_json`, over texts at random and their damage.
#![forbid(unsafe_code)]

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
