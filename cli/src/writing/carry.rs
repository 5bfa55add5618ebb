//! Carries attributes from one format to another.

use tenslice::Format;
use tenslice::gguf::ValueType;

use super::Target;
use super::attributes::{Meta, Named, smallest};

/// The attributes that a target holds, and the keys of those that it does not hold.
#[derive(Debug, Default)]
pub struct Carried {
    pub kept: Vec<Named>,
    pub lost: Vec<String>,
}

/// Converts the attributes of a file of format `from`. Those that say how the file was laid out are not attributes of
/// the model: they are dropped without notice.
pub fn carry(attributes: Vec<Named>, from: Format, target: Target) -> Carried {
    let mut carried = Carried::default();
    for (key, value) in attributes {
        if from == Format::Gguf && is_layout(&key) {
            continue;
        }
        match converted(value, from, target).filter(|_| is_key(&key, target)) {
            Some(value) => carried.kept.push((key, value)),
            None => carried.lost.push(key),
        }
    }
    carried
}

/// True for a key of GGUF that says how the file is laid out.
pub fn is_layout(key: &str) -> bool {
    key == "general.alignment" || key.starts_with("split.")
}

/// True if attributes of a target can have this key.
fn is_key(key: &str, target: Target) -> bool {
    target != Target::Ztensor2 || (1..=1024).contains(&key.len()) && !key.contains('\0')
}

/// Converts a value; `None` if the target cannot hold it.
fn converted(value: Meta, from: Format, target: Target) -> Option<Meta> {
    match target {
        Target::Safetensors => match value {
            Meta::Text(_) => Some(value),
            other => json(&other).map(Meta::Text),
        },
        Target::Gguf if from == Format::Gguf => Some(texts_alike(value)),
        Target::Gguf => typed(value),
        Target::Ztensor2 => plain(value).and_then(sorted),
        Target::Ztensor12 => plain(value),
        Target::Npy | Target::Npz | Target::Tens | Target::Blz | Target::B2nd => None,
    }
}

/// The value as JSON; `None` if JSON has no such value.
fn json(value: &Meta) -> Option<String> {
    let quoted = |text: &str| serde_json::to_string(text).ok();
    Some(match value {
        Meta::Null => "null".into(),
        Meta::Bool(is_true) => is_true.to_string(),
        Meta::Integer(integer, _) => integer.to_string(),
        Meta::Float(number, _) if !number.is_finite() => return None,
        // The shortest digits that give the number back.
        Meta::Float(number, Some(ValueType::F32)) => format!("{:?}", *number as f32),
        Meta::Float(number, _) => format!("{number:?}"),
        Meta::Text(text) => quoted(text)?,
        Meta::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(json).collect();
            format!("[{}]", items?.join(","))
        }
        Meta::Map(pairs) => {
            let pair = |(key, value): &(Meta, Meta)| match key {
                Meta::Text(key) => Some(format!("{}:{}", quoted(key)?, json(value)?)),
                _ => None,
            };
            let pairs: Option<Vec<String>> = pairs.iter().map(pair).collect();
            format!("{{{}}}", pairs?.join(","))
        }
        Meta::BrokenText(_) | Meta::Bytes(_) | Meta::Other => return None,
    })
}

/// The value with a type of GGUF; `None` if it has none.
fn typed(value: Meta) -> Option<Meta> {
    Some(match value {
        Meta::Bool(_) | Meta::Text(_) | Meta::Bytes(_) => value,
        Meta::Integer(integer, _) => Meta::Integer(integer, Some(smallest(integer, integer)?)),
        Meta::Float(number, _) => Meta::Float(number, Some(float_type(is_exact(number)))),
        Meta::List(items) => Meta::List(typed_items(items)?),
        Meta::BrokenText(_) | Meta::Null | Meta::Map(_) | Meta::Other => return None,
    })
}

/// Gives all items of a list one type; `None` if they are of different kinds, or not single values.
fn typed_items(items: Vec<Meta>) -> Option<Vec<Meta>> {
    let integer = |item: &Meta| if let Meta::Integer(integer, _) = item { Some(*integer) } else { None };
    let integers: Option<Vec<i128>> = items.iter().map(integer).collect();
    if let Some((least, most)) = integers.as_ref().and_then(|all| all.iter().min().zip(all.iter().max())) {
        let kind = smallest(*least, *most)?;
        return Some(integers.into_iter().flatten().map(|integer| Meta::Integer(integer, Some(kind))).collect());
    }
    let are_exact = items.iter().all(|item| matches!(item, Meta::Float(number, _) if is_exact(*number)));
    let kind = items.first().map(std::mem::discriminant);
    let one = |item: Meta| match item {
        _ if Some(std::mem::discriminant(&item)) != kind => None,
        Meta::Float(number, _) => Some(Meta::Float(number, Some(float_type(are_exact)))),
        Meta::Bool(_) | Meta::Text(_) => Some(item),
        _ => None,
    };
    items.into_iter().map(one).collect()
}

/// True if an `f32` has the same value.
fn is_exact(number: f64) -> bool {
    f64::from(number as f32).to_bits() == number.to_bits() || number.is_nan()
}

fn float_type(is_single: bool) -> ValueType {
    if is_single { ValueType::F32 } else { ValueType::F64 }
}

/// In lists of texts of which some are not UTF-8, treats all alike.
fn texts_alike(value: Meta) -> Meta {
    let Meta::List(items) = value else { return value };
    let is_broken = items.iter().any(|item| matches!(item, Meta::BrokenText(_)));
    let one = |item: Meta| match item {
        Meta::Text(text) if is_broken => Meta::BrokenText(text.into_bytes()),
        other => texts_alike(other),
    };
    Meta::List(items.into_iter().map(one).collect())
}

/// The value as zTensor stores it, without the widths of numbers.
fn plain(value: Meta) -> Option<Meta> {
    Some(match texts_alike(value) {
        Meta::Other => return None,
        Meta::BrokenText(bytes) => Meta::Bytes(bytes),
        Meta::List(items) => Meta::List(items.into_iter().map(plain).collect::<Option<_>>()?),
        Meta::Map(pairs) => {
            let pair = |(key, value)| Some((plain(key)?, plain(value)?));
            Meta::Map(pairs.into_iter().map(pair).collect::<Option<_>>()?)
        }
        other => other,
    })
}

/// The value with the maps in it in the order of their encoded keys, which are texts; `None` if a key is not.
fn sorted(value: Meta) -> Option<Meta> {
    Some(match value {
        Meta::List(items) => Meta::List(items.into_iter().map(sorted).collect::<Option<_>>()?),
        Meta::Map(pairs) => {
            let pair = |(key, value)| if let Meta::Text(key) = key { Some((key, sorted(value)?)) } else { None };
            let mut pairs: Vec<(String, Meta)> = pairs.into_iter().map(pair).collect::<Option<_>>()?;
            pairs.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
            Meta::Map(pairs.into_iter().map(|(key, value)| (Meta::Text(key), value)).collect())
        }
        other => other,
    })
}

/// Adds the attributes of another input. The first value of a key wins.
pub fn merge(all: &mut Carried, more: Carried) {
    for (key, value) in more.kept {
        if !all.kept.iter().any(|(other, _)| *other == key) {
            all.kept.push((key, value));
        }
    }
    for key in more.lost {
        if !all.lost.contains(&key) {
            all.lost.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(target: Target, value: Meta) -> Option<Meta> {
        let mut carried = carry(vec![("key".into(), value)], Format::Ztensor2, target);
        carried.kept.pop().map(|(_, value)| value)
    }

    fn text(text: &str) -> Option<Meta> {
        Some(Meta::Text(text.into()))
    }

    #[test]
    fn safetensors_gets_json() {
        let list = Meta::List(vec![Meta::Null, Meta::Bool(true), Meta::Integer(-3, None), Meta::Text("a\"".into())]);
        let map = Meta::Map(vec![(Meta::Text("k".into()), list.clone())]);
        for (value, expected) in [
            (Meta::Text("plain".into()), text("plain")),
            (list, text("[null,true,-3,\"a\\\"\"]")),
            (map, text("{\"k\":[null,true,-3,\"a\\\"\"]}")),
            (Meta::Float(0.1_f32.into(), Some(ValueType::F32)), text("0.1")),
            (Meta::Float(0.1, None), text("0.1")),
            (Meta::Float(f64::NAN, None), None),
            (Meta::Bytes(vec![1]), None),
        ] {
            assert_eq!(to(Target::Safetensors, value), expected);
        }
    }

    #[test]
    fn gguf_gets_types() {
        let integer = |integer, kind| Meta::Integer(integer, kind);
        let (list, empty) = (|items: &[Meta]| Meta::List(items.to_vec()), Meta::List(Vec::new()));
        for (value, expected) in [
            (integer(7, None), Some(integer(7, Some(ValueType::U32)))),
            (integer(-7, None), Some(integer(-7, Some(ValueType::I32)))),
            (integer(1 << 40, None), Some(integer(1 << 40, Some(ValueType::U64)))),
            (integer(-1 << 40, None), Some(integer(-1 << 40, Some(ValueType::I64)))),
            (integer(1 << 64, None), None),
            (Meta::Float(0.5, None), Some(Meta::Float(0.5, Some(ValueType::F32)))),
            (Meta::Float(0.1, None), Some(Meta::Float(0.1, Some(ValueType::F64)))),
            (list(&[list(&[])]), None),
            (
                list(&[integer(1, None), integer(-1, None)]),
                Some(list(&[integer(1, Some(ValueType::I32)), integer(-1, Some(ValueType::I32))])),
            ),
            (list(&[integer(1, None), Meta::Bool(true)]), None),
            (list(&[Meta::Null]), None),
            (empty.clone(), Some(empty)),
            (Meta::Map(Vec::new()), None),
        ] {
            assert_eq!(to(Target::Gguf, value.clone()), expected, "{value:?}");
        }
    }

    #[test]
    fn maps_are_sorted_for_ztensor_2() {
        let pair = |key: &str| (Meta::Text(key.into()), Meta::Null);
        let map = Meta::List(vec![Meta::Map(vec![pair("bb"), pair("c"), pair("aa")])]);
        let expected = Meta::List(vec![Meta::Map(vec![pair("c"), pair("aa"), pair("bb")])]);
        assert_eq!(to(Target::Ztensor2, map.clone()), Some(expected));
        assert_eq!(to(Target::Ztensor12, map.clone()), Some(map));
        assert_eq!(to(Target::Ztensor2, Meta::Map(vec![(Meta::Bool(true), Meta::Null)])), None);
    }

    #[test]
    fn texts_that_are_not_utf_8() {
        let texts = Meta::List(vec![Meta::Text("a".into()), Meta::BrokenText(vec![0xff])]);
        let bytes = Meta::List(vec![Meta::Bytes(b"a".to_vec()), Meta::Bytes(vec![0xff])]);
        let broken = Meta::List(vec![Meta::BrokenText(b"a".to_vec()), Meta::BrokenText(vec![0xff])]);
        assert_eq!(to(Target::Ztensor2, texts.clone()), Some(bytes));
        assert_eq!(to(Target::Safetensors, texts.clone()), None);
        assert_eq!(converted(texts, Format::Gguf, Target::Gguf), Some(broken));
    }

    #[test]
    fn keys_about_the_layout_stay_behind() {
        let attributes = ["general.alignment", "split.no", "general.name"];
        let attributes = attributes.map(|key| (key.to_owned(), Meta::Bool(true))).to_vec();
        let carried = carry(attributes, Format::Gguf, Target::Ztensor12);
        assert_eq!((carried.kept.len(), carried.lost.len()), (1, 0));
    }
}
