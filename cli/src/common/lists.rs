//! Lists in the metadata: their lengths and types, and their first items on one line.

use tenslice::gguf::ValueType;
use tenslice::{Attributes, Value};
use unicode_width::UnicodeWidthStr;

use super::details::{ITEMS, line};
use super::table::Look;
use super::text::{plural, printable};

/// The length of a line if lines may have any length.
const LINE: usize = 120;
/// The least number of texts of a long list on one line.
const LEAST: usize = 2;

/// The number of items in a list.
pub fn length(items: Attributes<'_>) -> usize {
    items.length().map_or_else(|| items.count(), |count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// A list in words: `list of 512 i32`.
pub fn title(items: Attributes<'_>) -> String {
    let count = length(items);
    let s = plural(count as u64);
    let has_only = |is_it: fn(&Value<'_>) -> bool| { items }.all(|item| is_it(&item.value));
    match items.value_type() {
        _ if count == 0 => "empty list".into(),
        Some(ValueType::String) => format!("list of {count} text{s}"),
        Some(ValueType::Array) => format!("list of {count} list{s}"),
        Some(number) => format!("list of {count} {number}"),
        None if has_only(|value| matches!(value, Value::Text(_))) => format!("list of {count} text{s}"),
        None if has_only(is_number) => format!("list of {count} number{s}"),
        None => format!("list of {count}"),
    }
}

/// The first items of a list, after a line that begins with `before` columns. `None` if they belong on lines of their
/// own: containers, long texts, and all items of a long list.
pub fn on_one_line(look: Look, before: usize, items: Attributes<'_>) -> Option<String> {
    let count = length(items);
    let is_long = count > ITEMS;
    if count == 0 || is_long && look.all {
        return None;
    }
    let (mut text, mut shown, mut has_texts) = (String::new(), 0, false);
    for item in items.take(ITEMS) {
        let item = match item.value {
            Value::Text(text) => {
                has_texts = true;
                format!("\"{}\"", printable(&text.to_string()))
            }
            value if is_number(&value) || matches!(value, Value::Bool(_) | Value::Null) => line(&value),
            _ => return None,
        };
        let end = before + text.width() + item.width() + ", , …".len();
        if shown > 0 && end > look.width.unwrap_or(LINE) && (is_long || has_texts) {
            break;
        }
        let comma = if shown > 0 { ", " } else { "" };
        text += &format!("{comma}{item}");
        shown += 1;
    }
    match is_long {
        true if has_texts && shown < LEAST => None,
        true => Some(text + ", …"),
        false => Some(text).filter(|_| shown == count),
    }
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Integer(_) | Value::Float(_) | Value::Decimal(_))
}
