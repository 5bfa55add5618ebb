//! Prints the bytes around an offset, with the field there marked.

use std::io::{self, Write};

use tenslice::{Error, Format, Part};

use crate::common::table::Look;

/// The number of lines before and after the field.
const AROUND: u64 = 2;
/// The longest field that is marked in full.
const LONGEST: u64 = 64;

/// The length of the field at `at`, derived from its first bytes.
pub fn field(error: &Error, bytes: &[u8], at: u64) -> u64 {
    let here = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let length = match error.format() {
        Format::Ztensor | Format::Ztensor2 => cbor(here),
        Format::Safetensors | Format::SafetensorsIndex if at >= 8 || here.first() == Some(&b'"') => json(here),
        Format::Safetensors => 8,
        Format::Gguf => match error.part() {
            Part::Tensors | Part::Shape | Part::Offset | Part::Name | Part::Key => 8,
            Part::DType | Part::Version | Part::Alignment => 4,
            _ => 1,
        },
        Format::Tens | Format::Npz | Format::Zip => 4,
        Format::Blz => {
            if matches!(error.part(), Part::Shape | Part::BondDimension) {
                8
            } else {
                1
            }
        }
        _ => 1,
    };
    length.clamp(1, LONGEST).min((here.len() as u64).max(1))
}

/// The length of a CBOR item without its contents; a string includes its characters.
fn cbor(bytes: &[u8]) -> u64 {
    let Some(first) = bytes.first() else { return 1 };
    let head = match first & 0x1f {
        24 => 2,
        25 => 3,
        26 => 5,
        27 => 9,
        _ => 1,
    };
    let argument = match head {
        1 => u64::from(first & 0x1f),
        _ => bytes.iter().take(head).skip(1).fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    let is_string = matches!(first >> 5, 2 | 3) && first & 0x1f < 28;
    head as u64 + if is_string { argument.min(LONGEST) } else { 0 }
}

/// The length of a JSON token: a string, a number, a literal, or a punctuation character.
fn json(bytes: &[u8]) -> u64 {
    let length = match bytes.first() {
        Some(b'"') => {
            let mut is_escaped = false;
            let is_end = |byte: &u8| {
                let is_end = *byte == b'"' && !is_escaped;
                is_escaped = *byte == b'\\' && !is_escaped;
                is_end
            };
            bytes.iter().skip(1).position(is_end).map_or(1, |end| end + 2)
        }
        Some(first) if first.is_ascii_alphanumeric() || *first == b'-' => {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
            bytes.iter().take_while(|byte| is_word(byte)).count()
        }
        _ => 1,
    };
    length as u64
}

/// Prints the lines around the field at `at`. The field is marked with colours, or with carets below the line.
pub fn print(out: &mut impl Write, look: Look, bytes: &[u8], at: u64, length: u64) -> io::Result<()> {
    let end = bytes.len() as u64;
    let of_line = if look.width.is_some_and(|width| width < 78) { 8 } else { 16 };
    let has_text = look.width.is_none_or(|width| width >= 46);
    let field = at..at.saturating_add(length);
    let first = (at / of_line).saturating_sub(AROUND);
    let last = (field.end - 1) / of_line + AROUND;
    let digits = format!("{:x}", (last + 1) * of_line).len().max(4);
    for line in first..=last {
        let start = line * of_line;
        if start > end || (start == end && start != at) {
            break;
        }
        let mut hex = String::new();
        let mut text = String::new();
        let mut marks = String::new();
        for at in start..start + of_line {
            let byte = usize::try_from(at).ok().and_then(|at| bytes.get(at));
            let is_marked = field.contains(&at);
            let shown = byte.map_or("  ".into(), |byte| format!("{byte:02x}"));
            hex += " ";
            hex += &if is_marked && byte.is_some() { look.painted("7", &shown) } else { shown };
            marks += if is_marked { " ^^" } else { "   " };
            if let Some(byte) = byte {
                let shown =
                    if byte.is_ascii_graphic() || *byte == b' ' { (*byte as char).to_string() } else { ".".into() };
                text += &if is_marked { look.painted("7", &shown) } else { shown };
            }
        }
        let text = if has_text { format!("  {text}") } else { String::new() };
        writeln!(out, "  {start:0digits$x} {hex}{text}")?;
        if !look.is_colored && marks.contains('^') {
            writeln!(out, "  {:digits$} {}", "", marks.trim_end())?;
        }
    }
    if at >= end {
        writeln!(out, "  the file ends here")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_measured_by_their_first_bytes() {
        assert_eq!(
            [cbor(b"\x18\x20"), cbor(b"\x64abcdefg"), cbor(b"\xa2"), cbor(b"\x1a\0\0\0\0"), cbor(b"")],
            [2, 5, 1, 5, 1]
        );
        assert_eq!(
            [json(b"\"a\\\"b\":1"), json(b"-12.5e3,"), json(b"[1]"), json(b"true}"), json(b"")],
            [6, 7, 1, 4, 1]
        );
        assert_eq!(cbor(b"\x7b\xff\xff\xff\xff\xff\xff\xff\xff"), 9 + LONGEST);
    }

    #[test]
    fn a_place_behind_the_end_is_said_to_be_there() {
        let mut out = Vec::new();
        print(&mut out, Look::default(), &[1; 16], 16, 1).unwrap();
        assert!(String::from_utf8(out).unwrap().ends_with("the file ends here\n"));
    }
}
