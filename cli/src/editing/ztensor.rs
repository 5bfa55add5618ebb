//! Edits of zTensor files: in the manifest, whose other items stay as they are encoded, and in the footer.

use std::ops::Range;

use half::f16;
use minicbor::data::{Int, Type};
use minicbor::{Decoder, Encoder};
use xxhash_rust::xxh3::xxh3_64;

use super::splice::Edits;
use super::value::{Kind, Scalar};
use super::{Changes, absent, broken, refuse, refuse_value};
use crate::common::failure::Failure;
use crate::common::text::printable;

/// The rules of a generation.
#[derive(Clone, Copy, PartialEq)]
pub enum Rules {
    /// Attributes are texts.
    V1_1,
    V1_2,
    /// Maps are sorted by the bytes of their keys, and keys and names have limits.
    V2,
}

/// The longest key or name in zTensor 2.
const MAX_NAME: usize = 1024;

/// The length of the footer of zTensor 2, and the place in it of the length and the hash of the manifest.
const FOOTER: usize = 40;
const SUMMARY: Range<usize> = 8..24;

/// A map of the manifest.
struct Map<'a> {
    bytes: &'a [u8],
    head: Range<usize>,
    is_definite: bool,
    items: Vec<Item>,
    /// The end of the last item.
    end: usize,
}

/// A key and its value.
struct Item {
    /// `None` if the key is not a text.
    text: Option<String>,
    key: Range<usize>,
    value: Range<usize>,
}

/// The encoded key and value of an item.
type Raw = (Vec<u8>, Vec<u8>);

impl<'a> Map<'a> {
    /// Reads the map at `at`.
    fn read(bytes: &'a [u8], at: usize) -> Result<Self, minicbor::decode::Error> {
        let mut decoder = Decoder::new(bytes);
        decoder.set_position(at);
        let count = decoder.map()?;
        let mut map =
            Self { bytes, head: at..decoder.position(), is_definite: count.is_some(), items: Vec::new(), end: 0 };
        let mut left = count;
        loop {
            map.end = decoder.position();
            match left {
                Some(0) => return Ok(map),
                None if decoder.datatype()? == Type::Break => return Ok(map),
                _ => left = left.map(|left| left - 1),
            }
            let text = text_at(bytes, map.end);
            decoder.skip()?;
            let between = decoder.position();
            decoder.skip()?;
            map.items.push(Item { text, key: map.end..between, value: between..decoder.position() });
        }
    }

    /// The item of the key. A key that is there twice is refused.
    fn find(&self, key: &str) -> Result<Option<&Item>, Failure> {
        let mut found = self.items.iter().filter(|item| item.text.as_deref() == Some(key));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(refuse(format!("attribute \"{}\" is there twice", printable(key)))),
            (item, _) => Ok(item),
        }
    }

    /// The encoded key and value of an item.
    fn raw(&self, item: &Item) -> Raw {
        let raw = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default().to_vec();
        (raw(&item.key), raw(&item.value))
    }

    /// Adds an edit that changes the number of items, which is not stored in a map of indefinite length.
    fn recount(&self, count: usize, edits: &mut Edits) {
        if self.is_definite {
            edits.replace(self.head.clone(), head(count));
        }
    }
}

/// The text at a position, or the joined parts of a text.
fn text_at(bytes: &[u8], at: usize) -> Option<String> {
    let mut decoder = Decoder::new(bytes);
    decoder.set_position(at);
    match decoder.datatype().ok()? {
        Type::String | Type::StringIndef => decoder.str_iter().ok()?.collect::<Result<String, _>>().ok(),
        _ => None,
    }
}

/// Encodes an item.
fn encoded(encode: impl FnOnce(&mut Encoder<Vec<u8>>)) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    encode(&mut encoder);
    encoder.into_writer()
}

/// The head of a map.
fn head(count: usize) -> Vec<u8> {
    encoded(|encoder| drop(encoder.map(count as u64)))
}

fn text(text: &str) -> Vec<u8> {
    encoded(|encoder| drop(encoder.str(text)))
}

/// Encodes a float as the shortest one that has the same value; a NaN as the only one of deterministic CBOR.
fn float(number: f64) -> Vec<u8> {
    let (half, single) = (f16::from_f64(number), number as f32);
    if number.is_nan() {
        return [&[0xf9][..], &f16::NAN.to_be_bytes()].concat();
    }
    if half.to_f64().to_bits() == number.to_bits() {
        return [&[0xf9][..], &half.to_be_bytes()].concat();
    }
    encoded(|encoder| {
        let is_single = f64::from(single).to_bits() == number.to_bits();
        drop(if is_single { encoder.f32(single) } else { encoder.f64(number) });
    })
}

/// Encodes a value; fails if an integer has more than 64 bits.
fn value(scalar: &Scalar) -> Result<Vec<u8>, String> {
    Ok(match scalar {
        Scalar::Bool(is_true) => encoded(|encoder| drop(encoder.bool(*is_true))),
        Scalar::Integer(integer) => {
            let integer = Int::try_from(*integer).map_err(|_| "does not fit: zTensor holds -2^64 to 2^64 - 1")?;
            encoded(|encoder| drop(encoder.int(integer)))
        }
        Scalar::Float(number) => float(*number),
        Scalar::Text(content) => text(content),
    })
}

/// The kind of the value at a position; `None` for null, which states no kind.
fn kind_of(bytes: &[u8], at: usize) -> Result<Option<Kind>, String> {
    let mut decoder = Decoder::new(bytes);
    decoder.set_position(at);
    let kind = decoder.datatype().map_err(|_| "cannot be read".to_owned())?;
    Ok(Some(match kind {
        Type::Null => return Ok(None),
        Type::Bool => Kind::Bool,
        Type::F16 | Type::F32 | Type::F64 => Kind::Float,
        Type::String | Type::StringIndef => Kind::Text,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Kind::Integer,
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => Kind::Integer,
        Type::Array | Type::ArrayIndef => return Err("is to replace a list: lists cannot be set".into()),
        Type::Map | Type::MapIndef => return Err("is to replace a map: maps cannot be set".into()),
        Type::Bytes | Type::BytesIndef => return Err("is to replace bytes: bytes cannot be set".into()),
        other => return Err(format!("is to replace a value that cannot be set: {other}")),
    }))
}

/// Returns the edits that make the changes.
pub fn edits(bytes: &[u8], manifest: Range<usize>, rules: Rules, changes: &Changes) -> Result<Edits, Failure> {
    let start = manifest.start;
    let old = bytes.get(manifest.clone()).ok_or_else(broken)?;
    let root = Map::read(old, 0).map_err(|_| broken())?;
    let mut of_manifest = Edits::default();
    if changes.keys().next().is_some() {
        edit_attributes(&root, rules, changes, &mut of_manifest)?;
    }
    if !changes.names.is_empty() {
        edit_names(&root, rules, changes, &mut of_manifest)?;
    }
    let new = of_manifest.apply(old, 0..old.len());
    let mut edits = Edits::default();
    edits.add_part(start, of_manifest);
    let length = (new.len() as u64).to_le_bytes();
    if rules == Rules::V2 {
        let footer = bytes.len().checked_sub(FOOTER).ok_or_else(broken)?;
        let summary = [length, xxh3_64(&new).to_le_bytes()].concat();
        edits.replace(footer + SUMMARY.start..footer + SUMMARY.end, summary);
    } else {
        edits.replace(manifest.end..manifest.end + 8, length.to_vec());
    }
    Ok(edits)
}

/// Refuses a key or a name that the generation does not allow.
fn check_name(name: &str, what: &str, rules: Rules) -> Result<(), Failure> {
    let why = match name.len() {
        _ if rules != Rules::V2 => return Ok(()),
        1..=MAX_NAME if !name.contains('\0') => return Ok(()),
        1..=MAX_NAME => "contains NUL".into(),
        length => format!("has {length} bytes: zTensor 2 allows 1 to {MAX_NAME}"),
    };
    Err(refuse(format!("the {what} \"{}\" {why}", printable(name))))
}

fn edit_attributes(root: &Map<'_>, rules: Rules, changes: &Changes, edits: &mut Edits) -> Result<(), Failure> {
    const KEY: &str = "attributes";
    let old = root.find(KEY)?;
    // Null means that there are none.
    let map = match old.map(|old| Map::read(root.bytes, old.value.start)) {
        Some(Ok(map)) => map,
        _ => Map { bytes: root.bytes, head: 0..0, is_definite: true, items: Vec::new(), end: 0 },
    };
    for key in &changes.unset {
        map.find(key)?.ok_or_else(|| absent(key))?;
    }
    let kept = map.items.iter().filter(|item| !changes.unset.iter().any(|key| item.text.as_ref() == Some(key)));
    let mut items: Vec<(Option<&str>, Raw)> = kept.map(|item| (item.text.as_deref(), map.raw(item))).collect();
    for (key, written) in &changes.pairs {
        let why = |why: String| refuse_value(key, written, &why);
        let old = map.find(key)?;
        let kind = old.map(|item| kind_of(map.bytes, item.value.start)).transpose().map_err(why)?;
        let scalar = match kind.flatten() {
            Some(kind) => Scalar::parse(written, kind),
            None if rules == Rules::V1_1 => Ok(Scalar::Text(written.clone())),
            None => Scalar::guess(written),
        };
        let new = scalar.and_then(|scalar| value(&scalar)).map_err(why)?;
        match items.iter_mut().find(|(text, _)| old.is_some() && *text == Some(key)) {
            Some((_, (_, value))) => *value = new,
            None => {
                check_name(key, "key", rules)?;
                items.push((Some(key), (text(key), new)));
            }
        }
    }
    let mut items: Vec<Raw> = items.into_iter().map(|(_, raw)| raw).collect();
    if rules == Rules::V2 {
        items.sort();
    }
    let count = items.len();
    let all = items.into_iter().flat_map(|(key, value)| [key, value].concat());
    let new: Vec<u8> = head(count).into_iter().chain(all).collect();
    match old {
        Some(old) if count > 0 => edits.replace(old.value.clone(), new),
        Some(old) => {
            edits.replace(old.key.start..old.value.end, Vec::new());
            root.recount(root.items.len() - 1, edits);
        }
        None => {
            let key = text(KEY);
            let is_next = |item: &&Item| match rules {
                Rules::V2 => root.raw(item).0 > key,
                _ => item.text.as_deref() == Some("objects"),
            };
            let at = root.items.iter().find(is_next).map_or(root.end, |item| item.key.start);
            edits.replace(at..at, [key, new].concat());
            root.recount(root.items.len() + 1, edits);
        }
    }
    Ok(())
}

/// Renames tensors. Sorted names stay sorted.
fn edit_names(root: &Map<'_>, rules: Rules, changes: &Changes, edits: &mut Edits) -> Result<(), Failure> {
    let objects = root.find("objects")?.ok_or_else(broken)?;
    let objects = Map::read(root.bytes, objects.value.start).map_err(|_| broken())?;
    let are_sorted = objects.items.is_sorted_by_key(|item| &item.text);
    let mut items = Vec::new();
    for item in &objects.items {
        let (mut key, value) = objects.raw(item);
        let mut name = item.text.as_deref();
        if let Some(new) = name.and_then(|name| changes.new_name(name.as_bytes())) {
            check_name(new, "name", rules)?;
            (key, name) = (text(new), Some(new));
        }
        items.push((name, key, value));
    }
    match rules {
        Rules::V2 => items.sort_by(|(_, a, _), (_, b, _)| a.cmp(b)),
        _ if are_sorted => items.sort_by_key(|(name, ..)| *name),
        _ => {}
    }
    let new: Vec<u8> = items.into_iter().flat_map(|(_, key, value)| [key, value].concat()).collect();
    edits.replace(objects.head.end..objects.end, new);
    Ok(())
}
