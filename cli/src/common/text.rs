//! Formats the contents of files for display.

use std::str::Utf8Chunk;

use tenslice::DType;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A string of the file, unchanged, on one line. Only control characters are escaped, as `\u{…}`, so that no file can
/// forge a line or send codes to a terminal.
pub fn printable(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if is_control(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The name of a tensor, for display. An empty name is quoted.
pub fn plain_name(name: &str) -> String {
    if name.is_empty() { "\"\"".into() } else { printable(name) }
}

/// Returns true for control characters, and for characters that change the text direction.
fn is_control(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Bytes as text, on one line. Bytes that are not UTF-8 are escaped as `\xNN`.
pub fn printable_bytes(bytes: &[u8]) -> String {
    let of_chunk = |chunk: Utf8Chunk<'_>| {
        let invalid: String = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")).collect();
        printable(chunk.valid()) + &invalid
    };
    bytes.utf8_chunks().map(of_chunk).collect()
}

/// The text that `printable` shows as `shown`; `None` if `shown` has no escapes.
pub fn unescaped(shown: &str) -> Option<String> {
    let (mut text, mut rest) = (Vec::new(), shown);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.extend(before.as_bytes());
        let decoded = escape_of(escape);
        let (bytes, length) = decoded.unwrap_or((b"\\".to_vec(), 1));
        text.extend(bytes);
        rest = &escape[length..];
    }
    text.extend(rest.as_bytes());
    String::from_utf8(text).ok().filter(|text| text != shown)
}

/// The bytes that the escape at the start of a text represents, and the length of the escape.
fn escape_of(text: &str) -> Option<(Vec<u8>, usize)> {
    if let Some(digits) = text.strip_prefix("\\u{") {
        let digits = &digits[..digits.find('}')?];
        let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        return Some((character.to_string().into_bytes(), digits.len() + 4));
    }
    let digits = text.strip_prefix("\\x")?.get(..2)?;
    Some((vec![u8::from_str_radix(digits, 16).ok()?], 4))
}

/// A JSON record with the characters escaped that `printable` escapes. JSON itself escapes those below U+0020.
pub fn json_line(record: &serde_json::Value) -> String {
    let mut line = String::new();
    for c in record.to_string().chars() {
        if is_control(c) { line += &format!("\\u{:04x}", u32::from(c)) } else { line.push(c) }
    }
    line
}

/// Cuts a text to `columns` columns of a terminal, with `…` in place of the rest.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.into();
    }
    fitting(text.chars(), columns.saturating_sub(1)).into_iter().chain(['…']).collect()
}

/// The first and the last characters of a text that fit in `columns` columns of a terminal with `…` between them.
pub fn both_ends(text: &str, columns: usize) -> (String, String) {
    let left = columns.saturating_sub(1);
    let end = fitting(text.chars().rev(), left / 2);
    let begin = fitting(text.chars(), left.div_ceil(2));
    (begin.into_iter().collect(), end.into_iter().rev().collect())
}

/// The first characters that fit in `columns` columns of a terminal.
fn fitting(all: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut left = columns;
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    all.take_while(fits).collect()
}

/// A number of bytes in readable form.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 { format!("{bytes} byte{}", plural(bytes)) } else { short_size(bytes) }
}

/// A number of bytes for a table.
pub fn short_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// A count in three digits, as models are named: `7.24 B` for billions.
pub fn count(number: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "B", "T", "Q", "Qi"];
    if number < 1000 {
        return number.to_string();
    }
    let mut amount = number as f64 / 1000.0;
    let mut unit = 0;
    while amount >= 999.5 {
        amount /= 1000.0;
        unit += 1;
    }
    let places = if amount < 9.995 { 2 } else { usize::from(amount < 99.95) };
    format!("{amount:.places$} {}", UNITS[unit])
}

/// The plural ending of a noun for this count.
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn dtype(dtype: Option<DType>, is_big: bool) -> String {
    format!("{}{}", dtype.map_or("-", DType::name), if is_big { " big-endian" } else { "" })
}

/// A type in NumPy's notation, for display.
pub fn descr_text(descr: &str) -> String {
    printable(unquoted(descr))
}

/// A type in NumPy's notation, without the quotation marks around a code.
pub fn unquoted(descr: &str) -> &str {
    let inner = ['\'', '"'].iter().find_map(|quote| descr.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(descr)
}

/// Decodes a string of a header, which is Latin-1 or UTF-8.
pub fn header_text(text: &[u8], is_latin_1: bool) -> String {
    if is_latin_1 {
        return text.iter().map(|byte| char::from(*byte)).collect();
    }
    String::from_utf8_lossy(text).into_owned()
}

/// The distinct strings, in order of appearance.
pub fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.is_empty() { "-".into() } else { all.join("+") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_are_escaped() {
        for plain in [r#"{"a": "b\c"}"#, "<|im_start|>", "ü\u{ad}👩\u{200d}🔬", r"\u{a}", "a'b"] {
            assert_eq!(printable(plain), plain);
        }
        for (text, shown) in [
            ("a\nb\t", r"a\u{a}b\u{9}"),
            ("\u{1b}[31m\u{7f}\u{80}\u{9f}", r"\u{1b}[31m\u{7f}\u{80}\u{9f}"),
            (
                "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}",
                r"\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}",
            ),
        ] {
            assert_eq!(printable(text), shown);
            assert_eq!(unescaped(shown).as_deref(), Some(text));
        }
    }

    #[test]
    fn bytes_that_are_not_text() {
        assert_eq!(printable_bytes(b"caf\xe9 \xff\0\xc3\xa9"), "caf\\xe9 \\xff\\u{0}é");
        assert_eq!(printable_bytes(b""), "");
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped(r"\xc3\xa9\u{41}b").as_deref(), Some("éAb"));
        for nothing in [
            "",
            "a",
            r"\",
            r"\u",
            r"\u{",
            r"\u{}",
            r"\u{d800}",
            r"\x4",
            r"\xzz",
            r"\u{110000}",
            r"\n",
            r"\xff",
            r"\xé",
        ] {
            assert_eq!(unescaped(nothing), None, "{nothing}");
        }
        assert_eq!(unescaped(r"\\x41").as_deref(), Some(r"\A"));
    }

    #[test]
    fn numbers_and_names_are_short() {
        let all = [0, 999, 1000, 9_994, 9_995, 99_950, 999_499, 999_500, 7_241_732_096, 1_000_000_000_000];
        let short = ["0", "999", "1.00 K", "9.99 K", "10.0 K", "100 K", "999 K", "1.00 M", "7.24 B", "1.00 T"];
        assert_eq!(all.map(count), short);
        assert_eq!(count(u64::MAX), "18.4 Qi");
        assert_eq!([0, 1023, 1024, 1 << 30].map(short_size), ["0 B", "1023 B", "1.0 KiB", "1.0 GiB"]);
        assert_eq!(both_ends("layers.10.weight", 9), ("laye".into(), "ight".into()));
        assert_eq!([2, 1].map(|columns| both_ends("layers", columns).0), ["l", ""]);
        assert_eq!(both_ends("你好吗世界", 6), ("你".into(), "界".into()));
    }

    #[test]
    fn json_has_no_control_characters() {
        let text = "a\n\u{7f}\u{9b}\u{202e}é\"";
        let line = json_line(&serde_json::json!({ "t": text }));
        assert_eq!(line, r#"{"t":"a\n\u007f\u009b\u202eé\""}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["t"], text);
    }
}
