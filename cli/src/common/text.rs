//! How what is in a file is written for a person.

use tenslice::DType;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A string of the file with everything escaped that could deceive a reader: quotation marks, backslashes, control
/// characters, and those that reverse the direction of a line.
pub fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            _ if c.is_control() || turns(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// A text cut to that many columns of a terminal, with `…` where something is missing.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.into();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// A number of bytes in readable form.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} byte{}", plural(bytes));
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// The ending of a noun after that number.
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn dtype(dtype: Option<DType>, is_big: bool) -> String {
    format!("{}{}", dtype.map_or("-", DType::name), if is_big { " big-endian" } else { "" })
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
