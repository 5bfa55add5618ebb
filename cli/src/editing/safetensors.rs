//! Edits of safetensors files: in the text of the header, whose other entries stay as they are written.

use std::fmt;
use std::ops::Range;

use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::splice::Edits;
use super::{Changes, absent, broken, refuse};
use crate::common::failure::Failure;
use crate::common::text::printable;

/// The key of the attributes.
const METADATA: &str = "__metadata__";

/// The position of the header's text, after its length.
const TEXT: usize = 8;

/// The alignment of the data that the reference implementation writes, and the largest that is recognized.
const USUAL_ALIGNMENT: usize = 8;
const MAX_ALIGNMENT: usize = 65536;

/// The keys and values of an object, as they are written.
struct Object<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Object(all))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl<'a> Object<'a> {
    fn parse(text: &'a str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|_| broken())
    }

    /// The value of the key. A key that is there twice is refused.
    fn find(&self, key: &str) -> Result<Option<&'a RawValue>, Failure> {
        let mut found = self.0.iter().filter(|(other, _)| is(other, key)).map(|(_, value)| *value);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(refuse(format!("attribute \"{}\" is there twice", printable(key)))),
            (value, _) => Ok(value),
        }
    }
}

/// True if a string of JSON stands for `text`.
fn is(raw: &RawValue, text: &str) -> bool {
    let raw = raw.get();
    let plain = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match plain {
        Some(plain) if !plain.contains('\\') => plain == text,
        _ => serde_json::from_str::<String>(raw).is_ok_and(|raw| raw == text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the edits that make the changes. The data begins at `data_at`.
pub fn edits(bytes: &[u8], data_at: usize, changes: &Changes) -> Result<Edits, Failure> {
    let text = bytes.get(TEXT..data_at).and_then(|text| str::from_utf8(text).ok()).ok_or_else(broken)?;
    // The range in the file of a part of the text.
    let range_of = |part: &str| -> Range<usize> {
        let start = part.as_ptr().addr() - text.as_ptr().addr() + TEXT;
        start..start + part.len()
    };
    let header = Object::parse(text)?;
    let mut edits = Edits::default();
    if changes.keys().next().is_some() {
        edit_metadata(text, &header, changes, &mut edits, range_of)?;
    }
    for (raw, _) in &header.0 {
        let name: String = serde_json::from_str(raw.get()).map_err(|_| broken())?;
        let Some(new) = changes.new_name(name.as_bytes()).filter(|_| name != METADATA) else { continue };
        if new == METADATA {
            let message = format!("a tensor cannot be named {METADATA}: this is the name of the attributes");
            return Err(refuse(message));
        }
        edits.replace(range_of(raw.get()), quoted(new).into_bytes());
    }
    edit_length(text, data_at, &mut edits);
    Ok(edits)
}

fn edit_metadata<'a>(
    text: &'a str,
    header: &Object<'a>,
    changes: &Changes,
    edits: &mut Edits,
    range_of: impl Fn(&str) -> Range<usize>,
) -> Result<(), Failure> {
    let at = header.0.iter().position(|(key, _)| is(key, METADATA));
    let old = at.and_then(|at| header.0.get(at));
    let object = match old {
        Some((_, value)) if value.get() != "null" => Object::parse(value.get())?,
        _ => Object(Vec::new()),
    };
    for key in &changes.unset {
        object.find(key)?.ok_or_else(|| absent(key))?;
    }
    let mut added = Vec::new();
    let mut replaced = Vec::new();
    for (key, text) in &changes.pairs {
        match object.find(key)? {
            Some(value) => replaced.push((value, quoted(text))),
            None => added.push(format!("{}:{}", quoted(key), quoted(text))),
        }
    }
    if added.is_empty() && changes.unset.is_empty() {
        replaced.into_iter().for_each(|(value, new)| edits.replace(range_of(value.get()), new.into_bytes()));
        return Ok(());
    }
    let kept = object.0.iter().filter(|(key, _)| !changes.unset.iter().any(|unset| is(key, unset)));
    let kept = kept.map(|(key, value)| {
        let new = replaced.iter().find(|(old, _)| std::ptr::eq(*old, *value)).map(|(_, new)| new.as_str());
        format!("{}:{}", key.get(), new.unwrap_or(value.get()))
    });
    let all: Vec<String> = kept.chain(added).collect();
    let new = format!("{{{}}}", all.join(","));
    let open = text.find('{').map_or(TEXT, |at| TEXT + at + 1);
    match (old, at) {
        (Some((_, value)), _) if !all.is_empty() => edits.replace(range_of(value.get()), new.into_bytes()),
        (Some((key, value)), Some(at)) => {
            // The entry goes, and the comma before or after the entry.
            let before = at.checked_sub(1).and_then(|at| header.0.get(at));
            let after = header.0.get(at + 1);
            let range = match (before, after) {
                (Some((_, before)), _) => range_of(before.get()).end..range_of(value.get()).end,
                (None, Some((after, _))) => range_of(key.get()).start..range_of(after.get()).start,
                (None, None) => range_of(key.get()).start..range_of(value.get()).end,
            };
            edits.replace(range, Vec::new());
        }
        _ => {
            let comma = if header.0.is_empty() { "" } else { "," };
            edits.replace(open..open, format!("\"{METADATA}\":{new}{comma}").into_bytes());
        }
    }
    Ok(())
}

/// Fits the spaces behind the text, and the length before the text, to the other edits.
fn edit_length(text: &str, data_at: usize, edits: &mut Edits) {
    let end = TEXT + text.trim_end().len();
    let new_end = edits.moved(end);
    if new_end == end {
        return;
    }
    let spaces = data_at - end;
    // More spaces than usual align the data to more than usual.
    let alignment = match spaces {
        0..USUAL_ALIGNMENT => USUAL_ALIGNMENT,
        _ => (1 << data_at.trailing_zeros().min(MAX_ALIGNMENT.trailing_zeros())).max(USUAL_ALIGNMENT),
    };
    let new_data_at = new_end.next_multiple_of(alignment);
    edits.replace(end..data_at, vec![b' '; new_data_at - new_end]);
    edits.replace(0..TEXT, ((new_data_at - TEXT) as u64).to_le_bytes().to_vec());
}
