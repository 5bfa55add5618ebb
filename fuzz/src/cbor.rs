//! CBOR items, written in the deterministic encoding or in any well-formed one.

use std::borrow::Cow;

use tenslice::{Attributes, Value};

use crate::choices::Choices;

#[derive(Clone)]
pub enum Node {
    Uint(u64),
    Text(Text),
    Array(Vec<Node>),
    Map(Vec<(Text, Node)>),
    /// Already encoded.
    Raw(&'static [u8]),
}

/// Most texts are constants: copying each would take longer than writing them.
pub type Text = Cow<'static, str>;

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        Self::Uint(number)
    }
}

impl From<&'static str> for Node {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// A map with these keys.
pub fn map(entries: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A list of numbers.
pub fn numbers(numbers: &[u64]) -> Node {
    Node::Array(numbers.iter().map(|number| Node::Uint(*number)).collect())
}

fn head(out: &mut Vec<u8>, major: u8, n: u64, widened: usize) {
    let least = match n {
        0..24 => 0,
        24..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 3,
        _ => 4,
    };
    let (code, length) = [(n as u8, 0), (24, 1), (25, 2), (26, 4), (27, 8)][(least + widened).min(4)];
    out.push(major << 5 | code);
    out.extend(&n.to_be_bytes()[8 - length..]);
}

fn write(out: &mut Vec<u8>, text: &str, widened: usize) {
    head(out, 3, text.len() as u64, widened);
    out.extend_from_slice(text.as_bytes());
}

/// The number of steps by which a head is wider than necessary.
fn widening(choices: &mut Choices<'_>) -> usize {
    if choices.one_in(16) { choices.below(5) } else { 0 }
}

impl Node {
    /// Writes the deterministic encoding.
    pub fn strict(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uint(n) => head(out, 0, *n, 0),
            Self::Text(text) => write(out, text, 0),
            Self::Array(items) => {
                head(out, 4, items.len() as u64, 0);
                items.iter().for_each(|item| item.strict(out));
            }
            Self::Map(entries) => {
                head(out, 5, entries.len() as u64, 0);
                // By the bytes of their encoding: the shorter key first.
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| (key.len(), key));
                for (key, value) in entries {
                    write(out, key, 0);
                    value.strict(out);
                }
            }
            Self::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Writes any encoding: heads of any width, indefinite lengths.
    pub fn spelled(&self, choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        let widened = widening(choices);
        let (major, count) = match self {
            Self::Uint(n) => return head(out, 0, *n, widened),
            Self::Text(text) => return write(out, text, widened),
            Self::Array(items) => (4, items.len()),
            Self::Map(entries) => (5, entries.len()),
            Self::Raw(bytes) => return out.extend_from_slice(bytes),
        };
        let is_endless = choices.one_in(8);
        if is_endless {
            out.push(major << 5 | 31);
        } else {
            head(out, major, count as u64, widened);
        }
        match self {
            Self::Array(items) => items.iter().for_each(|item| item.spelled(choices, out)),
            Self::Map(entries) => entries.iter().for_each(|(key, value)| {
                let widened = widening(choices);
                write(out, key, widened);
                value.spelled(choices, out);
            }),
            _ => {}
        }
        if is_endless {
            out.push(0xff);
        }
    }

    /// A map of any values with distinct keys.
    pub fn any_map(choices: &mut Choices<'_>, is_strict: bool, depth: usize) -> Self {
        let entries = (0..choices.below(4)).map(|k| {
            let keys = [["0", "1", "2"], ["key0", "key1", "key2"], ["é0", "é1", "é2"]];
            (choices.of(&keys)[k].into(), Self::any(choices, is_strict, depth + 1))
        });
        Self::Map(entries.collect())
    }

    fn any(choices: &mut Choices<'_>, is_strict: bool, depth: usize) -> Self {
        // Values that the deterministic encoding allows, then others.
        let strict: [&'static [u8]; 12] = [
            b"\xf6",
            b"\xf4",
            b"\xf5",
            b"\x20",
            b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x40",
            b"\x42\0\xff",
            b"\xf9\x3c\0",
            b"\xf9\x7e\0",
            b"\xf9\0\x01",
            b"\xfa\x3d\xcc\xcc\xcd",
            b"\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a",
        ];
        let others: [&'static [u8]; 8] = [
            b"\xf7",
            b"\xe0",
            b"\xf8\xff",
            b"\xc1\x01",
            b"\x7f\x61a\x60\xff",
            b"\x5f\x41\0\xff",
            b"\xfb\x7f\xf0\0\0\0\0\0\0",
            b"\xc6\xd9\xff\xff\x80",
        ];
        match choices.below(if depth < 4 { 8 } else { 6 }) {
            0 | 1 => Self::Uint(choices.any::<u64>() >> choices.below(64)),
            2 => Self::Text(
                choices.of(&["", "text", "\u{1f600}\0", "a longer text of some more than 24 bytes"]).into(),
            ),
            3 if !is_strict => Self::Raw(choices.of(&others)),
            3..6 => Self::Raw(choices.of(&strict)),
            6 => Self::Array((0..choices.below(4)).map(|_| Self::any(choices, is_strict, depth + 1)).collect()),
            _ => Self::any_map(choices, is_strict, depth),
        }
    }

    /// Compares a map with its listed items, in any order.
    pub fn compare_map(&self, mut listed: Attributes<'_>) {
        let Self::Map(entries) = self else { panic!() };
        for (key, value) in entries {
            value.compare(&listed.get(key).unwrap());
        }
        assert_eq!((listed.by_ref().count(), listed.error()), (entries.len(), None));
    }

    fn compare(&self, found: &Value<'_>) {
        match self {
            Self::Uint(n) => assert_eq!(found.as_u64(), Some(*n)),
            Self::Text(text) => assert!(found.as_text().unwrap() == text[..]),
            Self::Array(items) => {
                let mut listed = found.items().unwrap();
                items.iter().for_each(|item| item.compare(&listed.next().unwrap().value));
                assert!(listed.next().is_none());
            }
            Self::Map(_) => self.compare_map(found.items().unwrap()),
            Self::Raw(_) => {}
        }
    }
}
