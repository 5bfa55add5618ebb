//! Compares the reference implementation of safetensors with ours: the files with known contents, their prefixes, and
//! 100 000 mutated headers. `--nocapture` prints the number of files for each row of the differences.
#![cfg(all(feature = "safetensors", target_pointer_width = "64"))] // the reference reads lengths as `usize`

#[path = "../support/safetensors_reference.rs"]
mod both;
use std::collections::BTreeMap;

use crate::support::{Random, cases, open_and_check};
use both::{DIFFERENCES, METADATA_TWICE, Verdict, judge, meaning, members, tokens, value_length};

/// The number of compared files by outcome.
#[derive(Default)]
struct Table {
    accepted: usize,
    refused: usize,
    rows: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

impl Table {
    fn add(&mut self, context: &str, bytes: &[u8]) {
        let row = match judge(bytes) {
            Verdict::Accepted { is_repeated } => {
                self.accepted += 1;
                is_repeated.then_some(METADATA_TWICE)
            }
            Verdict::Refused => {
                self.refused += 1;
                None
            }
            Verdict::Explained(row) => Some(row),
            Verdict::Unexplained(text) => {
                self.unexplained.push(format!("{context}: {text}"));
                None
            }
        };
        if let Some(row) = row {
            *self.rows.entry(row).or_default() += 1;
        }
    }

    /// Prints the table and checks that every difference is explained.
    fn finish(&self, of: &str) {
        println!("{of}: {} accepted by both, {} refused by both", self.accepted, self.refused);
        for (row, count) in &self.rows {
            println!("{count:8} {row}");
        }
        let some: Vec<_> = self.unexplained.iter().take(5).collect();
        assert!(some.is_empty(), "{of}: {} unexplained: {some:#?}", self.unexplained.len());
    }
}

#[test]
fn files() {
    let mut table = Table::default();
    for case in cases() {
        table.add(&case.name(), &case.bytes);
    }
    table.finish("files");
    assert!(table.accepted > 50 && table.refused > 500, "{} {}", table.accepted, table.refused);
    assert!(table.rows.len() >= 6, "{:?}", table.rows);
}

#[test]
fn prefixes() {
    let mut table = Table::default();
    for case in cases().iter().filter(|case| case.format() == "safetensors" && case.bytes.len() < 2000) {
        for length in 0..case.bytes.len() {
            table.add(&case.name(), &case.bytes[..length]);
        }
    }
    table.finish("prefixes");
    assert!(table.refused > 20_000, "{}", table.refused);
}

/// The starting points of the mutations: headers, and the lengths of the data.
const HEADERS: &[(&str, usize)] = &[
    (r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#, 3),
    (
        r#"{"b":{"dtype":"F16","shape":[2,1],"data_offsets":[2,6]},
            "a":{"shape":[],"data_offsets":[0,2],"dtype":"I16"}}  "#,
        6,
    ),
    (
        r#"{"__metadata__":{"format":"pt","k\n":"\u00e9\ud83d\ude00"},
            "a\u002eb":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},
            "\"":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[1,4]}}"#,
        4,
    ),
    (
        r#"{"x":{"dtype":"BOOL","shape":[0,5],"data_offsets":[2,2]},
            "y":{"x":[1.5e-3,-0,{"z":null,"":[true,false]}],"dtype":"C64","shape":[1],"data_offsets":[2,10]},
            "w":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}}"#,
        10,
    ),
    (
        r#"{"é":{"dtype":"F32","shape":[18446744073709551615,0],"data_offsets":[0,0]},
            "c":{"dtype":"I8","shape":[2,2,1],"data_offsets":[0,4]},"__metadata__":{}}"#,
        4,
    ),
    ("{\r\n\t\"a\" : { \"dtype\" : \"U64\", \"shape\" : [ 1 ], \"data_offsets\" : [ 0, 8 ] }\n}\n", 8),
    ("{}", 0),
];

/// Tokens that a reader may handle wrongly.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"\"",
    "\"a\"",
    "\"\\u0061\"",
    "\"__metadata__\"",
    "\"__met\\u0061data__\"",
    "\"dtype\"",
    "\"dty\\u0070e\"",
    "\"shape\"",
    "\"data_offsets\"",
    "\"U8\"",
    "\"\\u00558\"",
    "\"I64\"",
    "\"F8_E4M3FN\"",
    "\"u8\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"\\x\"",
    "\"\t\"",
    "\"\u{7f}\"",
    "\"\u{10ffff}\"",
    "0",
    "1",
    "2",
    "3",
    "4",
    "6",
    "8",
    "-0",
    "-1",
    "00",
    "1.0",
    "1e1",
    "0e0",
    "1e-999",
    "1e999",
    "-1E+999",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1.",
    ".5",
    "+1",
    "1e",
    "-",
    "true",
    "false",
    "null",
    "True",
    "NaN",
    "Infinity",
    " ",
    "\t\r\n",
    "\u{b}",
    "\u{c}",
    "\u{a0}",
    "\u{feff}",
    "\0",
    "//",
    "[0]",
    "[]",
    "{}",
    "[1,2]",
    "[0,0]",
    "[2,2]",
    "[4294967296,4294967296,0]",
    "[9223372036854775808,2,0,3]",
    "[0,9223372036854775808,2]",
    "{\"U8\":null}",
    "{\"U8\":{}}",
    "{\"F16\":[]}",
    "[{\"a\":1,\"a\":[]}]",
    "[\"U8\",[3],[0,3]]",
    "null",
    "[\"U8\",[0],[0,0]]",
    "[\"U8\",[0],[1,1],0]",
    "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}",
    "{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}",
];

/// Makes a file from one of the headers: mutates tokens and members, then bytes.
fn mutant(random: &mut Random) -> Vec<u8> {
    let (header, mut length) = HEADERS[random.below(HEADERS.len())];
    let mut tokens = tokens(header.as_bytes());
    for _ in 0..1 + random.below(3) {
        mutate(random, &mut tokens);
    }
    let mut header = tokens.concat();
    for _ in 0..random.below(8).saturating_sub(6) {
        let (at, other) = (random.below(header.len()), random.below(header.len()));
        match random.below(5) {
            _ if header.is_empty() => {}
            0 => header[at] = random.next() as u8,
            1 => header[at] ^= 1 << random.below(8),
            2 => header.insert(at, random.next() as u8),
            3 => drop(header.remove(at)),
            _ => header.swap(at, other),
        }
    }
    let mut size = header.len() as u64;
    match random.below(32) {
        0 => size = size.wrapping_add(random.below(9) as u64).wrapping_sub(4),
        1 => size = [0, 1, 99_999_999, 100_000_000, 100_000_001, 1 << 32, 1 << 63, u64::MAX][random.below(8)],
        2 => length = length.saturating_sub(1 + random.below(2)),
        3 => length += 1,
        _ => {}
    }
    [&size.to_le_bytes()[..], &header, &vec![0; length]].concat()
}

/// Mutates a header, token by token or member by member.
fn mutate(random: &mut Random, tokens: &mut Vec<Vec<u8>>) {
    let (at, other) = (random.below(tokens.len()), random.below(tokens.len()));
    if tokens.is_empty() {
        return;
    }
    let known = || TOKENS.iter().map(|token| token.as_bytes().to_vec());
    let new = known().nth(random.below(TOKENS.len())).unwrap();
    let colons: Vec<usize> = (1..tokens.len().saturating_sub(1)).filter(|at| tokens[*at] == b":").collect();
    let colon = colons.get(random.below(colons.len())).copied();
    // The key and the value of a member.
    let member =
        |tokens: &[Vec<u8>], colon: usize| Some((colon - 1, colon + 1 + value_length(&tokens[colon + 1..])?));
    let copied = colon
        .and_then(|colon| member(tokens, colon))
        .map(|(from, to)| [&tokens[from..to], &[b",".to_vec()]].concat());
    match (random.below(18), colon, copied) {
        (0, ..) => tokens[at] = new,
        (1, ..) => tokens.insert(at, new),
        (2, ..) => drop(tokens.remove(at)),
        (3, ..) => tokens.swap(at, other),
        (4, ..) => tokens.insert(at, tokens[other].clone()),
        (5 | 6, ..) => {
            let space: &[u8] = [" ", "\t", "\n", "\r\n", "   ", "\u{b}", "\u{a0}"][random.below(7)].as_bytes();
            let at = if random.below(4) == 0 { 0 } else { at };
            tokens.insert(at, space.to_vec());
        }
        (7 | 8, ..) => {
            // Writes a character of a string as an escape.
            let strings: Vec<usize> =
                (0..tokens.len()).filter(|at| tokens[*at].len() > 2 && tokens[*at][0] == b'"').collect();
            let Some(string) = strings.get(random.below(strings.len())) else { return };
            let Some(text) = meaning(&tokens[*string]) else { return };
            let place = random.below(text.chars().count());
            let spelled = |(i, character): (usize, char)| {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                let escaped = units
                    .iter()
                    .map(|unit| if i % 2 == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") });
                let is_plain = i != place && !matches!(character, '"' | '\\' | '\0'..='\u{1f}');
                if is_plain { character.to_string() } else { escaped.collect() }
            };
            tokens[*string] =
                format!("\"{}\"", text.chars().enumerate().map(spelled).collect::<String>()).into_bytes();
        }
        (9, Some(colon), _) => {
            // A value that is nested about as deeply as allowed, or not at all.
            let depth = [1, 2, 62, 124, 125, 126, 127, 128, 202][random.below(9)];
            let (begin, end) = if random.below(2) == 0 { ("[", "]") } else { ("{\"\":", "}") };
            let value = [&*begin.repeat(depth), "1", &*end.repeat(depth)].concat();
            let key = ["\"x\"", "\"dtype\"", "\"z\\u0000\""][random.below(3)];
            tokens.insert(colon - 1, format!("{key}:{value},").into_bytes());
        }
        (10, Some(colon), Some(copied)) => drop(tokens.splice(colon - 1..colon - 1, copied)), // twice
        (11, Some(colon), Some(copied)) => {
            // Moves the member.
            tokens.drain(colon - 1..(colon + copied.len() - 1).min(tokens.len() - 1));
            let colons: Vec<usize> = (1..tokens.len()).filter(|at| tokens[*at] == b":").collect();
            let Some(to) = colons.get(random.below(colons.len())) else { return };
            tokens.splice(to - 1..to - 1, copied);
        }
        (12, Some(colon), Some(copied)) => {
            tokens.splice(colon + 1..colon + copied.len() - 2, [new]); // another value
        }
        (13, Some(colon), _) => {
            // Inserts a member, which may be valid.
            let new = if random.below(2) == 0 { new } else { known().rev().nth(random.below(12)).unwrap() };
            let key = ["\"0\"", "\"__metadata__\"", "\"\u{e9}\\/\""][random.below(3)];
            tokens.splice(colon - 1..colon - 1, [key.into(), b":".to_vec(), new, b",".to_vec()]);
        }
        (15, Some(colon), _) if tokens[colon + 1][0] == b'"' => {
            // Replaces a string by an object, which the reference reads as a dtype.
            tokens.splice(colon + 1..colon + 1, [b"{".to_vec()]);
            tokens.splice(colon + 3..colon + 3, [b":".to_vec(), b"null".to_vec(), b"}".to_vec()]);
        }
        (14, Some(_), _) => {
            // Replaces an entry by the list of its values.
            let objects = (2..tokens.len()).filter(|at| tokens[*at] == b"{" && tokens[*at - 1] == b":");
            let objects: Vec<usize> = objects.collect();
            let Some(object) = objects.get(random.below(objects.len())).copied() else { return };
            let Some(length) = value_length(&tokens[object..]) else { return };
            let Some(entry) = members(&tokens[object..object + length]) else { return };
            let values: Vec<_> = entry.into_iter().map(|(_, value)| value).collect();
            tokens.splice(object..object + length, [[b"[", &values.join(&b","[..])[..], b"]"].concat()]);
        }
        _ => {
            // Replaces a number.
            let numbers: Vec<usize> = (0..tokens.len()).filter(|at| tokens[*at][0].is_ascii_digit()).collect();
            let Some(number) = numbers.get(random.below(numbers.len())) else { return };
            let known: Vec<_> = known().filter(|token| matches!(token[0], b'-' | b'0'..=b'9')).collect();
            tokens[*number] = known[random.below(known.len())].clone();
        }
    }
}

/// The rows of docs/safetensors.md: files that only the reference rejects.
#[test]
fn files_that_only_the_reference_rejects() {
    let entry = |shape: &str, offsets: &str| format!(r#"{{"dtype":"U8","shape":{shape},"data_offsets":{offsets}}}"#);
    let (empty, data) = (entry("[9223372036854775808,2,0]", "[0,0]"), entry("[2]", "[0,2]"));
    for (row, header, length) in [
        ("overflow before a length of 0", format!(r#"{{"a":{empty}}}"#), 0),
        ("an empty tensor inside another", format!(r#"{{"a":{},"b":{data}}}"#, entry("[0]", "[1,1]")), 2),
        ("a number like 1e999", format!(r#"{{"a":{}}}"#, data.replace('{', r#"{"x":1e999,"#)), 2),
    ] {
        let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; length][..]].concat();
        assert!(matches!(judge(&bytes), Verdict::Explained(found) if found == row), "{row}");
        let tensor = tenslice::File::open(&bytes).unwrap().find("a").unwrap();
        let count = tensor.shape().element_count().unwrap();
        assert_eq!(tensor.data().unwrap().bytes().unwrap().len() as u64, count, "{row}");
    }
}

#[test]
fn mutated_headers() {
    let mut random = Random(0x5afe_7e45_0125_0bad);
    let mut table = Table::default();
    for i in 0..100_000 {
        table.add(&i.to_string(), &mutant(&mut random));
    }
    table.finish("mutated headers");
    assert!(table.accepted > 10_000 && table.refused > 10_000, "{} {}", table.accepted, table.refused);
    // The mutations reach every row.
    for (row, _, _) in DIFFERENCES {
        assert!(table.rows.contains_key(row), "{row}");
    }
    assert!(table.rows.contains_key(METADATA_TWICE));
}
