//! The message of an error: one line from the error alone, or the full message with names and numbers.
//!
//! Depends on `place`, `error`, `bytes`, `format`. It is above the formats, so that firmware that never prints
//! contains none of it. Written without `core::fmt`'s numbers and escapes, which cost more than the rest.
#![forbid(unsafe_code)]

use core::fmt::{self, Write};

use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::error::{Detail, Error, ErrorKind, Shown};
use crate::format::{self, Context};
use crate::place::{Format, Item};

/// The full message of an error: see [`Error::explain`].
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a> {
    error: Error,
    input: Input<'a>,
}

impl Error {
    /// Returns the full message of this error, with names and numbers read from the bytes of the file: a slice
    /// (`&[u8]`) or a [`Source`](crate::Source).
    ///
    /// Nothing is allocated; the bytes are read while the message is printed.
    ///
    /// ```
    /// # let mut bytes = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt").to_vec();
    /// bytes.truncate(1000);
    /// let error = tenslice::File::open(&bytes).unwrap_err();
    /// println!("{}", error.explain(&bytes[..]));
    /// ```
    pub fn explain<'a>(&self, input: impl Into<Input<'a>>) -> Explanation<'a> {
        Explanation { error: *self, input: input.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self, &Context::default(), None)
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl Explanation<'_> {
    pub(crate) fn write_to(&self, out: &mut impl Write) -> fmt::Result {
        let context = format::context(self.input, &self.error);
        write(out, &self.error, &context, Some(self.input.length()))
    }
}

fn write(out: &mut impl Write, error: &Error, context: &Context<'_>, file_length: Option<u64>) -> fmt::Result {
    let kind = error.kind();
    let Shown { item, detail } = kind.shown();
    if error.format() != Format::Unknown {
        out.write_str(error.format().text())?;
        if let Some(version) = context.version.filter(|_| error.item() != Item::Version) {
            out.write_str(" ")?;
            plain(out, version.into())?;
        }
        out.write_str(": ")?;
    }
    if let Some(role) = context.role {
        out.write_str("component ")?;
        quoted(out, role.into())?;
        out.write_str(if context.tensor.is_some() { " of " } else { ": " })?;
    }
    if let Some(tensor) = context.tensor {
        out.write_str("tensor ")?;
        quoted(out, tensor)?;
        out.write_str(": ")?;
    }
    if item && !matches!(error.item(), Item::File | Item::Tensor | Item::Component) {
        out.write_str(error.item().text())?;
        out.write_str(": ")?;
    }
    let rule = context.rule.unwrap_or(kind.text());
    match (detail, context.offset, context.length, file_length) {
        (Detail::Place, Some(offset), Some(length), Some(file_length)) if kind == ErrorKind::OutOfFile => {
            place(out, offset, length)?;
            out.write_str(" exceeds the file (")?;
            decimal(out, file_length)?;
            out.write_str(" bytes)")?;
        }
        (Detail::Place, Some(offset), Some(length), _) if kind != ErrorKind::OutOfFile => {
            place(out, offset, length)?;
            out.write_str(": ")?;
            out.write_str(rule)?;
        }
        _ => out.write_str(rule)?,
    }
    match detail {
        Detail::Nothing | Detail::Place => {}
        Detail::Sizes => {
            sizes(out, context)?;
            if let (ErrorKind::SizeMismatch, Some(expected)) = (kind, context.expected_length) {
                out.write_str(", which takes ")?;
                decimal(out, expected)?;
            }
        }
        Detail::Encoding => {
            if let Some(encoding) = context.encoding {
                out.write_str(": ")?;
                quoted(out, encoding.into())?;
            }
        }
        Detail::Missing => {
            out.write_str(": ")?;
            quoted(out, context.missing.unwrap_or(error.item().text()).into())?;
        }
        Detail::Found => match (context.text, context.number) {
            (Some(text), _) => {
                out.write_str(": ")?;
                quoted(out, text)?;
            }
            (None, Some(number)) => {
                out.write_str(": ")?;
                decimal(out, number)?;
            }
            (None, None) => {}
        },
        Detail::FileSize => {
            if let (Some(size), Some(file_length)) = (context.number, file_length) {
                out.write_str(": ")?;
                decimal(out, size)?;
                out.write_str(" bytes in a file of ")?;
                decimal(out, file_length)?;
            }
        }
    }
    if let Some(hint) = context.hint {
        out.write_str(" (")?;
        out.write_str(hint)?;
        out.write_str(")")?;
    }
    if let Some(at) = error.offset() {
        out.write_str(" [at byte ")?;
        decimal(out, at)?;
        out.write_str("]")?;
    }
    Ok(())
}

fn place(out: &mut impl Write, offset: u64, length: u64) -> fmt::Result {
    out.write_str("offset ")?;
    decimal(out, offset)?;
    out.write_str(" + length ")?;
    decimal(out, length)
}

fn sizes(out: &mut impl Write, context: &Context<'_>) -> fmt::Result {
    let mut separator = ": ";
    if let Some(length) = context.length {
        out.write_str(": length ")?;
        decimal(out, length)?;
        separator = ", ";
    }
    if let Some(length) = context.decoded_length {
        out.write_str(separator)?;
        out.write_str("decoded length ")?;
        decimal(out, length)?;
        separator = ", ";
    }
    if let Some(shape) = context.shape {
        out.write_str(separator)?;
        out.write_str("shape [")?;
        let mut between = "";
        for dimension in shape {
            out.write_str(between)?;
            decimal(out, dimension)?;
            between = ", ";
        }
        out.write_str("]")?;
        separator = ", ";
    }
    if let Some(dtype) = context.dtype {
        out.write_str(separator)?;
        out.write_str("dtype ")?;
        plain(out, dtype.into())?;
    }
    Ok(())
}

/// Writes a string of the file in quotation marks.
pub(crate) fn quoted(out: &mut impl Write, text: Text<'_>) -> fmt::Result {
    out.write_str("\"")?;
    plain(out, text)?;
    out.write_str("\"")
}

/// Writes a string of the file, its quotation marks, backslashes and control characters escaped, so that no file can
/// forge a line or send codes to a terminal.
pub(crate) fn plain(out: &mut impl Write, text: Text<'_>) -> fmt::Result {
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.write_char('\\')?;
                out.write_char(character)?;
            }
            // Besides the C0 and C1 codes, those that reverse the direction of a line.
            '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                out.write_str("\\u{")?;
                let code = u32::from(character);
                for shift in [12, 8, 4, 0] {
                    let digit = code.wrapping_shr(shift) & 0xf;
                    if code.wrapping_shr(shift) > 0 || shift == 0 {
                        out.write_char(char::from_digit(digit, 16).unwrap_or('?'))?;
                    }
                }
                out.write_str("}")?;
            }
            _ => out.write_char(character)?,
        }
    }
    Ok(())
}

/// Writes a number in decimal digits.
pub(crate) fn decimal(out: &mut impl Write, number: u64) -> fmt::Result {
    let mut rest = number;
    let mut begun = false;
    for exponent in (0..20).rev() {
        let place = 10_u64.wrapping_pow(exponent); // 10^19 fits in 64 bits
        let mut digit = b'0';
        while rest >= place {
            rest = rest.saturating_sub(place);
            digit = digit.saturating_add(1);
        }
        begun |= digit != b'0' || place == 1;
        if begun {
            out.write_char(char::from(digit))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;
    use std::string::ToString;

    use super::*;

    #[test]
    fn decimal_prints_every_number() {
        for number in [0, 7, 10, 99, 100, 4213, u64::from(u32::MAX), 10_000_000_000_000_000_000, u64::MAX] {
            let mut text = String::new();
            decimal(&mut text, number).unwrap();
            assert_eq!(text, number.to_string());
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut text = String::new();
        quoted(&mut text, "a\"b\\c\n\u{1b}[31m\u{9b}\u{202e}ü".into()).unwrap();
        assert_eq!(text, r#""a\"b\\c\u{a}\u{1b}[31m\u{9b}\u{202e}ü""#);
    }
}
