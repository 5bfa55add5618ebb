//! Carries attributes from one format to another.

use tenslice::Format;

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
        match converted(value, target).filter(|_| is_key(&key, target)) {
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
fn converted(value: Meta, target: Target) -> Option<Meta> {
    match target {
        Target::Safetensors => match value {
            Meta::Text(_) => Some(value),
            other => json(&other).map(Meta::Text),
        },
        Target::Gguf => typed(value, true),
        Target::Ztensor2 | Target::Ztensor12 => plain(value),
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
        Meta::Float(number, true) => format!("{:?}", *number as f32),
        Meta::Float(number, false) => format!("{number:?}"),
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

/// The value with a type of GGUF. Lists in lists come only from GGUF, where all have types.
fn typed(value: Meta, is_outermost: bool) -> Option<Meta> {
    Some(match value {
        Meta::Bool(_) | Meta::Text(_) | Meta::BrokenText(_) => value,
        Meta::Integer(integer, kind) => Meta::Integer(integer, Some(kind.or(smallest(integer, integer))?)),
        Meta::Float(number, is_single) => Meta::Float(number, is_single || is_exact(number)),
        Meta::Bytes(_) if is_outermost => value,
        Meta::List(items) => Meta::List(alike(items)?),
        Meta::Null | Meta::Bytes(_) | Meta::Map(_) | Meta::Other => return None,
    })
}

/// True if an `f32` has the same value.
fn is_exact(number: f64) -> bool {
    f64::from(number as f32).to_bits() == number.to_bits() || number.is_nan()
}

/// In a list of texts of which some are not UTF-8, treats all alike.
fn one_kind_of_text(items: Vec<Meta>) -> Vec<Meta> {
    if !items.iter().any(|item| matches!(item, Meta::BrokenText(_))) {
        return items;
    }
    let broken = |item: Meta| match item {
        Meta::Text(text) => Meta::BrokenText(text.into_bytes()),
        other => other,
    };
    items.into_iter().map(broken).collect()
}

/// Gives all items of a list one type; `None` if they are of different kinds.
fn alike(items: Vec<Meta>) -> Option<Vec<Meta>> {
    let items = one_kind_of_text(items);
    let is_typed =
        items.iter().any(|item| matches!(item, Meta::Integer(_, Some(_)) | Meta::Float(_, true) | Meta::List(_)));
    if is_typed {
        return Some(items); // from a list of GGUF
    }
    let integers: Vec<i128> = items
        .iter()
        .filter_map(|item| if let Meta::Integer(integer, _) = item { Some(*integer) } else { None })
        .collect();
    if let (true, Some(least), Some(most)) =
        (integers.len() == items.len(), integers.iter().min(), integers.iter().max())
    {
        let kind = smallest(*least, *most)?;
        return Some(integers.into_iter().map(|integer| Meta::Integer(integer, Some(kind))).collect());
    }
    let are_single = items.iter().all(|item| matches!(item, Meta::Float(number, _) if is_exact(*number)));
    let kind = items.first().map(std::mem::discriminant);
    let one = |item: Meta| match item {
        _ if Some(std::mem::discriminant(&item)) != kind => None,
        Meta::Float(number, _) => Some(Meta::Float(number, are_single)),
        other => typed(other, false),
    };
    items.into_iter().map(one).collect()
}

/// The value as zTensor stores it, without the widths of numbers.
fn plain(value: Meta) -> Option<Meta> {
    Some(match value {
        Meta::Other => return None,
        Meta::BrokenText(bytes) => Meta::Bytes(bytes),
        Meta::List(items) => Meta::List(one_kind_of_text(items).into_iter().map(plain).collect::<Option<_>>()?),
        Meta::Map(pairs) => {
            let pair = |(key, value)| Some((plain(key)?, plain(value)?));
            Meta::Map(pairs.into_iter().map(pair).collect::<Option<_>>()?)
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
            (Meta::Float(0.1_f32.into(), true), text("0.1")),
            (Meta::Float(0.1, false), text("0.1")),
            (Meta::Float(f64::NAN, false), None),
            (Meta::Bytes(vec![1]), None),
        ] {
            assert_eq!(to(Target::Safetensors, value), expected);
        }
    }

    #[test]
    fn gguf_gets_types() {
        use tenslice::gguf::ValueType;
        let integer = |integer, kind| Meta::Integer(integer, kind);
        let (list, empty) = (|items: &[Meta]| Meta::List(items.to_vec()), Meta::List(Vec::new()));
        for (value, expected) in [
            (integer(7, None), Some(integer(7, Some(ValueType::U32)))),
            (integer(-7, None), Some(integer(-7, Some(ValueType::I32)))),
            (integer(1 << 40, None), Some(integer(1 << 40, Some(ValueType::U64)))),
            (integer(-1 << 40, None), Some(integer(-1 << 40, Some(ValueType::I64)))),
            (integer(1 << 64, None), None),
            (Meta::Float(0.5, false), Some(Meta::Float(0.5, true))),
            (Meta::Float(0.1, false), Some(Meta::Float(0.1, false))),
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
    fn keys_about_the_layout_stay_behind() {
        let attributes = ["general.alignment", "split.no", "general.name"];
        let attributes = attributes.map(|key| (key.to_owned(), Meta::Bool(true))).to_vec();
        let carried = carry(attributes, Format::Gguf, Target::Ztensor12);
        assert_eq!((carried.kept.len(), carried.lost.len()), (1, 0));
    }
}
