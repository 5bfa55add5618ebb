//! The values of attributes: of all types, nested in lists and maps.

use tenslice::write::NewValue;
use tenslice::{Format, Value};

use crate::choices::Choices;

/// The values that a format can hold.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// Texts.
    Texts,
    /// Lists whose items have one type, and no maps.
    Gguf,
    /// Maps whose keys are texts in the order of their encoded bytes.
    Sorted,
    /// Anything, whether a format can hold it or not.
    Any,
}

/// Texts, also such as are escaped or encoded in another way.
pub const TEXTS: [&str; 12] = [
    "",
    "a",
    "b",
    "aa",
    "a\"b\\",
    "\n\u{1f}\u{7f}",
    "\0",
    "\u{e9}",
    "\u{2028}\u{1f600}",
    "a/../b",
    ".npy",
    "key of 24 characters long",
];

/// Keys in the order of their encoded bytes.
const KEYS: [&str; 6] = ["", "a", "z", "zz", "\u{e9}", "key"];

/// Makes values, up to a number of levels of lists and maps, and passes them on.
pub fn with(choices: &mut Choices<'_>, style: Style, then: &mut dyn FnMut(&mut Choices<'_>, &[NewValue<'_>])) {
    let is_deep = style == Style::Any && choices.one_in(16);
    let levels = if is_deep { 5 + choices.below(36) } else { choices.below(3) };
    nested(choices, style, &[], (levels, is_deep), then);
}

fn nested(
    choices: &mut Choices<'_>,
    style: Style,
    inside: &[NewValue<'_>],
    (levels, is_deep): (usize, bool),
    then: &mut dyn FnMut(&mut Choices<'_>, &[NewValue<'_>]),
) {
    let all = if is_deep && !inside.is_empty() {
        let inner = if choices.below(2) == 0 { NewValue::List(inside) } else { NewValue::Map(inside) };
        // A list of one kind, or a map.
        if choices.below(2) == 0 { vec![inner] } else { vec![NewValue::Text("a"), inner] }
    } else {
        level(choices, style, inside)
    };
    match levels.checked_sub(1) {
        Some(levels) => nested(choices, style, &all, (levels, is_deep), then),
        None => then(choices, &all),
    }
}

/// Values, some of which contain values of `inside`.
fn level<'a>(choices: &mut Choices<'_>, style: Style, inside: &'a [NewValue<'a>]) -> Vec<NewValue<'a>> {
    match style {
        Style::Sorted => {
            let mut all = Vec::new();
            for key in KEYS {
                if choices.one_in(3) {
                    all.push(NewValue::Text(key));
                    all.push(value(choices, style, inside));
                }
            }
            all
        }
        Style::Gguf => {
            let count = choices.below(4);
            let variant = choices.below(13);
            let is_list = !inside.is_empty() && choices.below(2) == 0;
            let mut item = || if is_list { NewValue::List(part(choices, inside)) } else { scalar(choices, variant) };
            (0..count).map(|_| item()).collect()
        }
        Style::Texts | Style::Any => (0..choices.below(5)).map(|_| value(choices, style, inside)).collect(),
    }
}

/// A value, which may contain values of `inside`.
fn value<'a>(choices: &mut Choices<'_>, style: Style, inside: &'a [NewValue<'a>]) -> NewValue<'a> {
    match choices.below(4) {
        _ if style == Style::Texts => scalar(choices, 0),
        0 => NewValue::List(part(choices, inside)),
        1 => {
            let items = part(choices, inside);
            let is_whole = style == Style::Any;
            // Each key with its value, from the first key of the level on.
            let (start, end) = (inside.len() - inside.len() % 2, items.len() - items.len() % 2);
            NewValue::Map(if is_whole { items } else { &inside[..end.min(start)] })
        }
        _ => any_scalar(choices),
    }
}

/// A part of the values.
fn part<'a>(choices: &mut Choices<'_>, inside: &'a [NewValue<'a>]) -> &'a [NewValue<'a>] {
    let start = choices.below(inside.len() + 1);
    &inside[start..start + choices.below(inside.len() - start + 1)]
}

/// A value that is no list and no map. In GGUF, byte strings are lists.
pub fn any_scalar(choices: &mut Choices<'_>) -> NewValue<'static> {
    let variant = choices.below(15);
    scalar(choices, variant)
}

/// A value that a format can hold as an attribute, and which is no list and no map.
pub fn sound_scalar(choices: &mut Choices<'_>, style: Style) -> NewValue<'static> {
    let variant = match style {
        Style::Texts => 0,
        Style::Gguf => choices.below(14),
        _ => choices.below(15),
    };
    scalar(choices, variant)
}

/// A value of one type.
fn scalar(choices: &mut Choices<'_>, variant: usize) -> NewValue<'static> {
    use NewValue as V;
    match variant {
        0 => V::Text(choices.of(&TEXTS)),
        1 => V::TextBytes(choices.of(&[&b""[..], b"text", b"\xff\0", b"\xc3\xa9", b"\xc3"])),
        2 => V::Bool(choices.below(2) == 1),
        3 => V::U8(choices.any()),
        4 => V::U16(choices.any()),
        5 => V::U32(choices.any()),
        6 => V::U64(choices.any()),
        7 => V::I8(choices.any()),
        8 => V::I16(choices.any()),
        9 => V::I32(choices.any()),
        10 => V::I64(choices.any()),
        11 => V::F32(f32::from_bits(choices.any())),
        12 => match choices.below(3) {
            0 => V::F64(f64::from_bits(choices.any())),
            // Numbers that also have a shorter form.
            1 => V::F64(f32::from_bits(choices.any()).into()),
            _ => V::F64(f64::from(choices.any::<i16>()) / choices.of(&[1.0, 256.0, 16_777_216.0])),
        },
        13 => V::Bytes(choices.of(&[&b""[..], b"\0\xff\x80", &[7; 30]])),
        _ => V::Null,
    }
}

/// Compares a value that was read with the declared one.
pub fn compare(format: Format, declared: &NewValue<'_>, found: &Value<'_>) {
    use NewValue as V;
    let integer = |number: i128| assert_eq!(format!("{found:?}"), format!("{:?}", Value::Integer(number)));
    let float = |number: f64| match found {
        Value::Float(found) => {
            assert!(
                found.to_bits() == number.to_bits() || found.is_nan() && number.is_nan(),
                "{found}, not {number}"
            );
        }
        found => panic!("{found:?}, not {number}"),
    };
    match *declared {
        V::Null => assert!(matches!(found, Value::Null), "{found:?}"),
        V::Bool(declared) => assert_eq!(found.as_bool(), Some(declared)),
        V::U8(number) => integer(number.into()),
        V::U16(number) => integer(number.into()),
        V::U32(number) => integer(number.into()),
        V::U64(number) => integer(number.into()),
        V::I8(number) => integer(number.into()),
        V::I16(number) => integer(number.into()),
        V::I32(number) => integer(number.into()),
        V::I64(number) => integer(number.into()),
        V::F32(number) => float(number.into()),
        V::F64(number) => float(number),
        V::Text(text) => assert!(found.as_text().unwrap() == text, "{found:?}, not {text:?}"),
        V::TextBytes(bytes) if format == Format::Gguf => match std::str::from_utf8(bytes) {
            Ok(text) => assert!(found.as_text().unwrap() == text),
            Err(_) => assert_eq!(found.as_bytes(), Some(bytes)),
        },
        V::Bytes(bytes) if format == Format::Gguf => {
            let mut items = found.items().unwrap();
            for byte in bytes {
                assert_eq!(items.next().unwrap().value.as_u64(), Some((*byte).into()));
            }
            assert!(items.next().is_none() && items.error().is_none());
        }
        V::TextBytes(bytes) | V::Bytes(bytes) => assert_eq!(found.as_bytes(), Some(bytes)),
        V::List(declared) => {
            assert!(matches!(found, Value::Array(_)), "{found:?}");
            let mut items = found.items().unwrap();
            declared.iter().for_each(|declared| compare(format, declared, &items.next().unwrap().value));
            assert!(items.next().is_none() && items.error().is_none());
        }
        V::Map(declared) => {
            assert!(matches!(found, Value::Map(_)), "{found:?}");
            let mut items = found.items().unwrap();
            for pair in declared.chunks(2) {
                let item = items.next().unwrap();
                compare(format, &pair[0], &item.key.unwrap());
                compare(format, &pair[1], &item.value);
            }
            assert!(items.next().is_none() && items.error().is_none());
        }
        _ => panic!("{declared:?} is not a value of this test"),
    }
}
