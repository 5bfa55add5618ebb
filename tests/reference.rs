//! The reference implementation of safetensors beside ours, over the files with known contents, their prefixes, and
//! 100 000 headers made of them by mutations: both accept or both refuse a file, and list the same. Where they differ,
//! the cause is a row of [`DIFFERENCES`], and a file without that cause is the same to both. `--nocapture` prints how
//! many files each row has.
#![cfg(all(feature = "safetensors", target_pointer_width = "64"))] // the reference reads lengths as `usize`

mod support;

use std::collections::BTreeMap;

use safetensors::SafeTensors;
use serde_json::Value as Json;
use support::{Random, cases, open_and_check};

/// A header as its members: keys and values as they are spelled.
type Members = Vec<(Vec<u8>, Vec<u8>)>;

/// A cause: its name, whether ours refuses such files or the reference does, and what takes the cause away.
type Difference = (&'static str, Refuses, fn(Members) -> Members);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refuses {
    Ours,
    Reference,
}

const DIFFERENCES: &[Difference] = &[
    (WHITE_SPACE, Refuses::Ours, |members| members), // joined without white space
    ("a name twice", Refuses::Ours, without_earlier_names),
    ("an entry as a list", Refuses::Ours, without_lists),
    ("__metadata__ is null", Refuses::Ours, without_null_metadata),
    ("a dtype as an object", Refuses::Ours, without_dtype_objects),
    ("a number like 1e999", Refuses::Reference, without_large_numbers),
    ("overflow before a length of 0", Refuses::Reference, without_large_empty_shapes),
    ("an empty tensor inside another", Refuses::Reference, without_empty_inside),
];

const WHITE_SPACE: &str = "white space before {";

/// Not a difference in the outcome: the reference keeps the last, ours lists both.
const METADATA_TWICE: &str = "a metadata key twice";

/// The dtypes: the name in a file, and ours.
const DTYPES: [(&str, &str); 22] = [
    ("BOOL", "bool"),
    ("U8", "u8"),
    ("I8", "i8"),
    ("F4", "f4_e2m1"),
    ("F6_E2M3", "f6_e2m3"),
    ("F6_E3M2", "f6_e3m2"),
    ("F8_E4M3", "f8_e4m3fn"),
    ("F8_E5M2", "f8_e5m2"),
    ("F8_E8M0", "f8_e8m0"),
    ("F8_E4M3FNUZ", "f8_e4m3fnuz"),
    ("F8_E5M2FNUZ", "f8_e5m2fnuz"),
    ("U16", "u16"),
    ("I16", "i16"),
    ("F16", "f16"),
    ("BF16", "bf16"),
    ("F32", "f32"),
    ("U32", "u32"),
    ("I32", "i32"),
    ("C64", "c64"),
    ("F64", "f64"),
    ("U64", "u64"),
    ("I64", "i64"),
];

/// What a reader lists: by name the dtype, the shape and where the data is; the metadata.
#[derive(PartialEq, Debug)]
struct Listed {
    tensors: BTreeMap<String, (&'static str, Vec<u64>, u64, u64)>,
    metadata: BTreeMap<String, String>,
}

/// What the reference lists.
fn reference(bytes: &[u8]) -> Result<Listed, String> {
    let (size, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let start = 8 + size as u64;
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let dtype = DTYPES.iter().find(|(theirs, _)| *theirs == info.dtype.to_string()).unwrap().1;
        let (begin, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        (name, (dtype, info.shape.iter().map(|length| *length as u64).collect(), start + begin, end - begin))
    });
    let texts = metadata.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone()));
    Ok(Listed { tensors: tensors.collect(), metadata: texts.collect() })
}

/// What ours lists, and whether a key of the metadata is there twice.
fn ours(bytes: &[u8]) -> Result<(Listed, bool), String> {
    let file = open_and_check(bytes).map_err(|error| error.explain(bytes).to_string())?;
    if file.as_safetensors().is_none() {
        return Err("another format".into());
    }
    let mut listed = Listed { tensors: BTreeMap::new(), metadata: BTreeMap::new() };
    for tensor in &file {
        let extent = tensor.data().unwrap().extent();
        let about = (tensor.dtype().unwrap().name(), tensor.shape().iter().collect(), extent.offset, extent.length);
        assert_eq!(listed.tensors.insert(tensor.name().to_string(), about), None, "{}", tensor.name());
    }
    assert_eq!(listed.tensors.len() as u64, file.tensor_count());
    let mut is_repeated = false;
    for attribute in file.attributes() {
        let key = attribute.key.unwrap().as_text().unwrap().to_string();
        let text = attribute.value.as_text().unwrap().to_string();
        is_repeated |= listed.metadata.insert(key, text).is_some();
    }
    Ok((listed, is_repeated))
}

/// Whether both list the same, or one refuses the file; or else both of what they list.
fn compare(bytes: &[u8]) -> Result<Outcome, String> {
    match (ours(bytes), reference(bytes)) {
        (Ok((ours, is_repeated)), Ok(theirs)) if ours == theirs => Ok(Outcome::Accepted { is_repeated }),
        (Err(_), Err(_)) => Ok(Outcome::Refused),
        (Err(_), Ok(_)) => Ok(Outcome::Differs(Refuses::Ours)),
        (Ok(_), Err(_)) => Ok(Outcome::Differs(Refuses::Reference)),
        (ours, theirs) => Err(format!("ours {ours:?}, the reference {theirs:?}")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Accepted { is_repeated: bool },
    Refused,
    Differs(Refuses),
}

/// How many files were compared, by the outcome.
#[derive(Default)]
struct Table {
    accepted: usize,
    refused: usize,
    rows: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

impl Table {
    fn add(&mut self, context: &str, bytes: &[u8]) {
        let row = match compare(bytes) {
            Ok(Outcome::Accepted { is_repeated }) => {
                self.accepted += 1;
                is_repeated.then_some(METADATA_TWICE)
            }
            Ok(Outcome::Refused) => {
                self.refused += 1;
                None
            }
            Ok(Outcome::Differs(refuses)) => {
                let row = explain(bytes, refuses);
                if row.is_none() {
                    let text = format!("{context}: {refuses:?} {:?}", String::from_utf8_lossy(bytes));
                    self.unexplained.push(format!("{text}\n{:?}\n{:?}", ours(bytes), reference(bytes)));
                }
                row
            }
            Err(listed) => {
                self.unexplained.push(format!("{context}: {:?}: {listed}", String::from_utf8_lossy(bytes)));
                None
            }
        };
        if let Some(row) = row {
            *self.rows.entry(row).or_default() += 1;
        }
    }

    /// Prints the table, and holds everything to be explained.
    fn finish(&self, of: &str) {
        println!("{of}: {} accepted by both, {} refused by both", self.accepted, self.refused);
        for (row, count) in &self.rows {
            println!("{count:8} {row}");
        }
        let some: Vec<_> = self.unexplained.iter().take(5).collect();
        assert!(some.is_empty(), "{of}: {} unexplained: {some:#?}", self.unexplained.len());
    }
}

/// The row of a difference: the first whose cause, taken away, makes the file the same to both; then several of them.
fn explain(bytes: &[u8], refuses: Refuses) -> Option<&'static str> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (header, data) = rest.split_at_checked(u64::from_le_bytes(*size) as usize)?;
    let members = members(&tokens(header))?;
    let is_settled = |members: &Members| {
        let header = joined(members);
        let bytes = [&(header.len() as u64).to_le_bytes()[..], &header, data].concat();
        matches!(compare(&bytes), Ok(Outcome::Accepted { .. }))
    };
    let has_space = header.first()?.is_ascii_whitespace();
    let causes =
        || DIFFERENCES.iter().filter(|(name, who, _)| *who == refuses && (*name != WHITE_SPACE || has_space));
    let settles = |(name, _, repair): &&Difference| {
        let repaired = repair(members.clone());
        (*name == WHITE_SPACE || repaired != members) && is_settled(&repaired)
    };
    let several = || {
        let repaired = causes().fold(members.clone(), |members, (_, _, repair)| repair(members));
        repaired != members && is_settled(&repaired)
    };
    causes().find(settles).map(|(name, _, _)| *name).or_else(|| several().then_some("several of these"))
}

/// Splits JSON into its tokens, white space included; any bytes are some tokens.
fn tokens(mut text: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let is_space = |byte: &u8| b" \t\r\n".contains(byte);
    let is_word = |byte: &u8| !b" \t\r\n\"{}[]:,".contains(byte);
    while let Some(first) = text.first() {
        let length = match first {
            b'"' => {
                let mut end = 1;
                while end < text.len() && text[end] != b'"' {
                    end += if text[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            first if is_space(first) => text.iter().take_while(|byte| is_space(byte)).count(),
            first if is_word(first) => text.iter().take_while(|byte| is_word(byte)).count(),
            _ => 1,
        };
        let (token, rest) = text.split_at(length.min(text.len()));
        tokens.push(token.to_vec());
        text = rest;
    }
    tokens
}

/// Whether a token is white space.
fn is_space(token: &[u8]) -> bool {
    token.iter().all(u8::is_ascii_whitespace)
}

/// How many tokens the value at the start of `tokens` has.
fn value_length(tokens: &[Vec<u8>]) -> Option<usize> {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match &token[..] {
            b"{" | b"[" => depth += 1,
            b"}" | b"]" if depth == 0 => return None,
            b"}" | b"]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && !is_space(token) {
            return Some(i + 1);
        }
    }
    None
}

/// The members of an object, if its tokens are those of one; without white space.
fn members(tokens: &[Vec<u8>]) -> Option<Members> {
    let tokens: Vec<_> = tokens.iter().filter(|token| !is_space(token)).cloned().collect();
    let mut rest = tokens.strip_prefix(&[b"{".to_vec()])?;
    let mut members = Vec::new();
    while let [key, colon, value @ ..] = rest {
        let (value, after) = value.split_at(value_length(value)?);
        if colon != b":" {
            return None;
        }
        members.push((key.clone(), value.concat()));
        rest = match after {
            [comma, after @ ..] if comma == b"," => after,
            _ => after,
        };
    }
    (rest == [b"}".to_vec()]).then_some(members)
}

/// The object of those members.
fn joined(members: &Members) -> Vec<u8> {
    let members: Vec<_> = members.iter().map(|(key, value)| [key, &b":"[..], value].concat()).collect();
    [b"{", &members.join(&b","[..])[..], b"}"].concat()
}

/// What a string means.
fn meaning(string: &[u8]) -> Option<String> {
    serde_json::from_slice(string).ok()
}

/// What the value of a member is; `Null` where `serde_json` cannot read it.
fn json(value: &[u8]) -> Json {
    serde_json::from_slice(value).unwrap_or_default()
}

/// Replaces each entry by what `change` makes of its members.
fn with_entries(header: Members, change: fn(Members) -> Members) -> Members {
    let entry = |value: &[u8]| members(&tokens(value)).map(|entry| joined(&change(entry)));
    header.into_iter().map(|(key, value)| (key, entry(&value).unwrap_or(value))).collect()
}

fn without_earlier_names(members: Members) -> Members {
    let names: Vec<_> = members.iter().map(|(key, _)| meaning(key)).collect();
    let is_last = |i: usize| names[i].as_deref() == Some("__metadata__") || !names[i + 1..].contains(&names[i]);
    members.into_iter().enumerate().filter(|(i, _)| is_last(*i)).map(|(_, member)| member).collect()
}

fn without_lists(members: Members) -> Members {
    let entry = |value: Vec<u8>| match &json(&value) {
        Json::Array(list) if list.len() == 3 => {
            format!(r#"{{"dtype":{},"shape":{},"data_offsets":{}}}"#, list[0], list[1], list[2]).into_bytes()
        }
        _ => value,
    };
    members.into_iter().map(|(key, value)| (key, entry(value))).collect()
}

fn without_null_metadata(mut members: Members) -> Members {
    members.retain(|(key, value)| !(value == b"null" && meaning(key).as_deref() == Some("__metadata__")));
    members
}

fn without_dtype_objects(members: Members) -> Members {
    with_entries(members, |entry| {
        let dtype = |key: &[u8], value: Vec<u8>| match self::members(&tokens(&value)).as_deref() {
            Some([(name, _)]) if meaning(key).as_deref() == Some("dtype") => name.clone(),
            _ => value,
        };
        entry.into_iter().map(|(key, value)| (key.clone(), dtype(&key, value))).collect()
    })
}

fn without_large_numbers(members: Members) -> Members {
    let is_large = |token: &[u8]| {
        let number =
            std::str::from_utf8(token).ok().filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()));
        number.and_then(|text| text.parse().ok()).is_some_and(f64::is_infinite)
    };
    let value = |value: &[u8]| -> Vec<u8> {
        tokens(value).into_iter().flat_map(|token| if is_large(&token) { b"0".to_vec() } else { token }).collect()
    };
    members.into_iter().map(|(key, text)| (key, value(&text))).collect()
}

fn without_large_empty_shapes(members: Members) -> Members {
    with_entries(members, |entry| {
        let shape = |key: &[u8], value: Vec<u8>| {
            let lengths = json(&value).as_array().cloned().unwrap_or_default();
            let lengths: Option<Vec<_>> = lengths.iter().map(Json::as_u64).collect();
            let before = lengths.as_deref().and_then(|lengths| lengths.split(|length| *length == 0).next());
            let is_large =
                before.is_some_and(|before| before.iter().try_fold(1, |a: u64, b| a.checked_mul(*b)).is_none());
            let is_it =
                meaning(key).as_deref() == Some("shape") && lengths.is_some_and(|lengths| lengths.contains(&0));
            if is_it && is_large { b"[0]".to_vec() } else { value }
        };
        entry.into_iter().map(|(key, value)| (key.clone(), shape(&key, value))).collect()
    })
}

fn without_empty_inside(members: Members) -> Members {
    let offsets = |value: &[u8]| {
        let entry = self::members(&tokens(value))?;
        let (_, value) = entry.into_iter().find(|(key, _)| meaning(key).as_deref() == Some("data_offsets"))?;
        Some((json(&value)[0].as_u64()?, json(&value)[1].as_u64()?))
    };
    let all: Vec<_> = members.iter().map(|(_, value)| offsets(value)).collect();
    let is_inside = |value: &[u8]| {
        offsets(value).is_some_and(|(at, end)| at == end && all.iter().flatten().any(|(b, e)| *b < at && at < *e))
    };
    let entry = |value: Vec<u8>| {
        if !is_inside(&value) {
            return value;
        }
        let entry = self::members(&tokens(&value)).unwrap().into_iter().map(|(key, value)| {
            let is_offsets = meaning(&key).as_deref() == Some("data_offsets");
            (key, if is_offsets { b"[0,0]".to_vec() } else { value })
        });
        joined(&entry.collect())
    };
    members.iter().map(|(key, value)| (key.clone(), entry(value.clone()))).collect()
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

/// What the mutations start from: headers, and the lengths of the data.
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

/// Tokens that a reader may slip on.
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

/// Makes a file of one of the headers: mutations of tokens and members, then of bytes.
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
            // A character of a string as an escape.
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
            // A value that nests about as deeply as is allowed, or not at all.
            let depth = [1, 2, 62, 124, 125, 126, 127, 128, 202][random.below(9)];
            let (begin, end) = if random.below(2) == 0 { ("[", "]") } else { ("{\"\":", "}") };
            let value = [&*begin.repeat(depth), "1", &*end.repeat(depth)].concat();
            let key = ["\"x\"", "\"dtype\"", "\"z\\u0000\""][random.below(3)];
            tokens.insert(colon - 1, format!("{key}:{value},").into_bytes());
        }
        (10, Some(colon), Some(copied)) => drop(tokens.splice(colon - 1..colon - 1, copied)), // twice
        (11, Some(colon), Some(copied)) => {
            // To another place.
            tokens.drain(colon - 1..(colon + copied.len() - 1).min(tokens.len() - 1));
            let colons: Vec<usize> = (1..tokens.len()).filter(|at| tokens[*at] == b":").collect();
            let Some(to) = colons.get(random.below(colons.len())) else { return };
            tokens.splice(to - 1..to - 1, copied);
        }
        (12, Some(colon), Some(copied)) => {
            tokens.splice(colon + 1..colon + copied.len() - 2, [new]); // another value
        }
        (13, Some(colon), _) => {
            // Another member, which may well be valid.
            let new = if random.below(2) == 0 { new } else { known().rev().nth(random.below(12)).unwrap() };
            let key = ["\"0\"", "\"__metadata__\"", "\"\u{e9}\\/\""][random.below(3)];
            tokens.splice(colon - 1..colon - 1, [key.into(), b":".to_vec(), new, b",".to_vec()]);
        }
        (15, Some(colon), _) if tokens[colon + 1][0] == b'"' => {
            // A string as an object, as which the reference reads a dtype.
            tokens.splice(colon + 1..colon + 1, [b"{".to_vec()]);
            tokens.splice(colon + 3..colon + 3, [b":".to_vec(), b"null".to_vec(), b"}".to_vec()]);
        }
        (14, Some(_), _) => {
            // An entry as the list of its values.
            let objects = (2..tokens.len()).filter(|at| tokens[*at] == b"{" && tokens[*at - 1] == b":");
            let objects: Vec<usize> = objects.collect();
            let Some(object) = objects.get(random.below(objects.len())).copied() else { return };
            let Some(length) = value_length(&tokens[object..]) else { return };
            let Some(entry) = members(&tokens[object..object + length]) else { return };
            let values: Vec<_> = entry.into_iter().map(|(_, value)| value).collect();
            tokens.splice(object..object + length, [[b"[", &values.join(&b","[..])[..], b"]"].concat()]);
        }
        _ => {
            // Another number.
            let numbers: Vec<usize> = (0..tokens.len()).filter(|at| tokens[*at][0].is_ascii_digit()).collect();
            let Some(number) = numbers.get(random.below(numbers.len())) else { return };
            let known: Vec<_> = known().filter(|token| matches!(token[0], b'-' | b'0'..=b'9')).collect();
            tokens[*number] = known[random.below(known.len())].clone();
        }
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
