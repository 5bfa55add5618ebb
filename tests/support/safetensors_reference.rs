//! Compares the reference implementation of safetensors with ours: both accept or both reject a file, and list the
//! same contents. If they differ, the cause is a row of [`DIFFERENCES`], and removing it makes both agree.
//!
//! Shared by the tests and the fuzz target. The including module provides `open_and_check` of `support`.

use std::collections::BTreeMap;

use safetensors::SafeTensors;
use serde_json::Value as Json;

use super::open_and_check;

/// The members of a header: keys and values as spelled.
pub type Members = Vec<(Vec<u8>, Vec<u8>)>;

/// A cause: its name, which of the two readers rejects such files, and a function that removes the cause.
pub type Difference = (&'static str, Refuses, fn(Members) -> Members);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refuses {
    Ours,
    Reference,
}

pub const DIFFERENCES: &[Difference] = &[
    (WHITE_SPACE, Refuses::Ours, |members| members), // joined without white space
    ("a name twice", Refuses::Ours, without_earlier_names),
    ("an entry as a list", Refuses::Ours, without_lists),
    ("a dtype as an object", Refuses::Ours, without_dtype_objects),
    ("a number like 1e999", Refuses::Reference, without_large_numbers),
    ("overflow before a length of 0", Refuses::Reference, without_large_empty_shapes),
    ("an empty tensor inside another", Refuses::Reference, without_empty_inside),
];

const WHITE_SPACE: &str = "white space before {";

/// Not a difference in the outcome: the reference keeps the last value, ours lists both.
pub const METADATA_TWICE: &str = "a metadata key twice";

/// The names of the dtypes in a file, and ours.
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

/// The contents that a reader lists: dtype, shape and range of the data by name, and the metadata.
#[derive(PartialEq, Debug)]
struct Listed {
    tensors: BTreeMap<String, (&'static str, Vec<u64>, u64, u64)>,
    metadata: BTreeMap<String, String>,
}

/// Lists a file with the reference.
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

/// Lists a file with ours. Also returns true if a key of the metadata is repeated.
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

/// Compares the outcomes of both readers. The error has both lists if they differ.
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

/// The outcome of both readers for a file.
#[derive(Debug)]
pub enum Verdict {
    Accepted {
        is_repeated: bool,
    },
    Refused,
    /// Only one of them accepts the file, because of this row.
    Explained(&'static str),
    /// Both lists, or the reasons for rejecting.
    Unexplained(String),
}

/// Compares the outcomes of both readers for a file, and explains the difference.
pub fn judge(bytes: &[u8]) -> Verdict {
    let text = || String::from_utf8_lossy(bytes);
    match compare(bytes) {
        Ok(Outcome::Accepted { is_repeated }) => Verdict::Accepted { is_repeated },
        Ok(Outcome::Refused) => Verdict::Refused,
        Ok(Outcome::Differs(refuses)) => match explain(bytes, refuses) {
            Some(row) => Verdict::Explained(row),
            None => {
                Verdict::Unexplained(format!("{refuses:?} {:?}\n{:?}\n{:?}", text(), ours(bytes), reference(bytes)))
            }
        },
        Err(listed) => Verdict::Unexplained(format!("{:?}: {listed}", text())),
    }
}

/// Finds the row of a difference: the first whose cause, when removed, makes both readers agree; otherwise several
/// causes are removed.
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

/// Splits JSON into its tokens, including white space. All bytes belong to some token.
pub fn tokens(mut text: &[u8]) -> Vec<Vec<u8>> {
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

/// True if a token is white space.
fn is_space(token: &[u8]) -> bool {
    token.iter().all(u8::is_ascii_whitespace)
}

/// The number of tokens of the value at the start of `tokens`.
pub fn value_length(tokens: &[Vec<u8>]) -> Option<usize> {
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

/// The members of an object, without white space. `None` if the tokens are not those of an object.
pub fn members(tokens: &[Vec<u8>]) -> Option<Members> {
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

/// The object with these members.
fn joined(members: &Members) -> Vec<u8> {
    let members: Vec<_> = members.iter().map(|(key, value)| [key, &b":"[..], value].concat()).collect();
    [b"{", &members.join(&b","[..])[..], b"}"].concat()
}

/// The decoded contents of a string.
pub fn meaning(string: &[u8]) -> Option<String> {
    serde_json::from_slice(string).ok()
}

/// The value of a member. `Null` if `serde_json` cannot read it.
fn json(value: &[u8]) -> Json {
    serde_json::from_slice(value).unwrap_or_default()
}

/// Applies `change` to the members of each entry.
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
