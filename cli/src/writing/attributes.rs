//! Attributes as the tool holds them between reading and writing.

use tenslice::gguf::ValueType;
use tenslice::write::NewValue;
use tenslice::{Attributes, Value};
use typed_arena::Arena;

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    Null,
    Bool(bool),
    /// An integer, and its type if the file states one.
    Integer(i128, Option<ValueType>),
    /// A floating-point number, and its type if the file states one.
    Float(f64, Option<ValueType>),
    Text(String),
    /// A text that is not UTF-8.
    BrokenText(Vec<u8>),
    Bytes(Vec<u8>),
    List(Vec<Meta>),
    Map(Vec<(Meta, Meta)>),
    /// A value that no writer stores: a tag, an undefined value.
    Other,
}

/// An attribute.
pub type Named = (String, Meta);

/// Reads all attributes. Those whose keys are not texts have the value [`Meta::Other`].
pub fn all(mut attributes: Attributes<'_>) -> Vec<Named> {
    let mut all = Vec::new();
    loop {
        let kind = attributes.value_type();
        let Some(attribute) = attributes.next() else { return all };
        let key = attribute.key.and_then(|key| key.as_text()).and_then(text_of);
        all.push(match key {
            Some(key) => (key, Meta::of(&attribute.value, kind)),
            None => (format!("{:?}", attribute.key), Meta::Other),
        });
    }
}

fn text_of(text: tenslice::Text<'_>) -> Option<String> {
    if text.is_escaped() { Some(text.to_string()) } else { text.as_str().map(Into::into) }
}

impl Meta {
    /// Reads a value; `kind` is its type in GGUF.
    pub fn of(value: &Value<'_>, kind: Option<ValueType>) -> Self {
        match *value {
            Value::Null => Self::Null,
            Value::Bool(is_true) => Self::Bool(is_true),
            Value::Integer(integer) => Self::Integer(integer, kind),
            Value::Float(number) => Self::Float(number, kind),
            Value::Text(text) => match text_of(text) {
                Some(text) => Self::Text(text),
                None => Self::BrokenText(text.raw().to_vec()),
            },
            Value::Bytes(bytes) if kind == Some(ValueType::String) => Self::BrokenText(bytes.to_vec()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Array(items) => Self::List(items_of(items)),
            Value::Map(mut items) => {
                let mut pairs = Vec::new();
                for item in items.by_ref() {
                    let key = item.key.as_ref().map_or(Self::Other, |key| Self::of(key, None));
                    pairs.push((key, Self::of(&item.value, None)));
                }
                Self::Map(pairs)
            }
            Value::TextChunks(chunks) => {
                let text: Option<String> = chunks.map(|chunk| text_of(chunk.value.as_text()?)).collect();
                text.map_or(Self::Other, Self::Text)
            }
            Value::ByteChunks(chunks) => {
                let bytes: Option<Vec<Vec<u8>>> =
                    chunks.map(|chunk| Some(chunk.value.as_bytes()?.to_vec())).collect();
                bytes.map_or(Self::Other, |bytes| Self::Bytes(bytes.concat()))
            }
            _ => Self::Other,
        }
    }

    /// The value for a writer, with its lists in `arena`.
    pub fn to_new<'a>(&'a self, arena: &'a Arena<NewValue<'a>>) -> NewValue<'a> {
        match self {
            Self::Null | Self::Other => NewValue::Null,
            Self::Bool(is_true) => NewValue::Bool(*is_true),
            Self::Integer(integer, kind) => integer_of(*integer, *kind).unwrap_or(NewValue::Null),
            Self::Float(number, Some(ValueType::F32)) => NewValue::F32(*number as f32),
            Self::Float(number, _) => NewValue::F64(*number),
            Self::Text(text) => NewValue::Text(text),
            Self::BrokenText(bytes) => NewValue::TextBytes(bytes),
            Self::Bytes(bytes) => NewValue::Bytes(bytes),
            Self::List(items) => {
                // Collects the items first, since lists in them also use the arena.
                let items: Vec<NewValue<'a>> = items.iter().map(|item| item.to_new(arena)).collect();
                NewValue::List(arena.alloc_extend(items))
            }
            Self::Map(pairs) => {
                let values = pairs.iter().flat_map(|(key, value)| [key, value]);
                let values: Vec<NewValue<'a>> = values.map(|value| value.to_new(arena)).collect();
                NewValue::Map(arena.alloc_extend(values))
            }
        }
    }
}

fn items_of(mut items: Attributes<'_>) -> Vec<Meta> {
    let mut all = Vec::new();
    loop {
        let kind = items.value_type();
        let Some(item) = items.next() else { return all };
        all.push(Meta::of(&item.value, kind));
    }
}

/// An integer of the stated type or, without one, of the smallest type of GGUF from 32 bits on; `None` if it does not
/// fit.
pub fn integer_of(integer: i128, kind: Option<ValueType>) -> Option<NewValue<'static>> {
    Some(match kind {
        Some(ValueType::U8) => NewValue::U8(integer.try_into().ok()?),
        Some(ValueType::I8) => NewValue::I8(integer.try_into().ok()?),
        Some(ValueType::U16) => NewValue::U16(integer.try_into().ok()?),
        Some(ValueType::I16) => NewValue::I16(integer.try_into().ok()?),
        Some(ValueType::U32) => NewValue::U32(integer.try_into().ok()?),
        Some(ValueType::I32) => NewValue::I32(integer.try_into().ok()?),
        Some(ValueType::U64) => NewValue::U64(integer.try_into().ok()?),
        Some(ValueType::I64) => NewValue::I64(integer.try_into().ok()?),
        _ => return smallest(integer, integer).and_then(|kind| integer_of(integer, Some(kind))),
    })
}

/// Returns the smallest type of GGUF, from 32 bits on, that holds the integers from `least` to `most`.
pub fn smallest(least: i128, most: i128) -> Option<ValueType> {
    let fits = |low: i128, high: i128| low <= least && most <= high;
    let types = [
        (ValueType::U32, 0, u32::MAX.into()),
        (ValueType::I32, i32::MIN.into(), i32::MAX.into()),
        (ValueType::U64, 0, u64::MAX.into()),
        (ValueType::I64, i64::MIN.into(), i64::MAX.into()),
    ];
    types.into_iter().find(|(_, low, high)| fits(*low, *high)).map(|(kind, ..)| kind)
}
