//! The message of an error: one line from the error alone, or the full message with names and numbers.
//!
//! This module is above the formats, so that firmware that never prints contains none of it. It does not use the number
//! formatting and escaping of `core::fmt`, which cost more flash than the rest.
#![forbid(unsafe_code)]

#[cfg_attr(target_os = "none", path = "short.rs")]
mod long;
mod packed;

use core::fmt::{self, Write};

use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::error::origin::{Format, Part};
use crate::error::{Detail, Error, ErrorKind};
use crate::format::{self, Context};

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
    /// # let mut bytes = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt").to_vec();
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
        Formatted::write(f, |out| write(out, self, &Context::default(), None))
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Formatted::write(f, |out| self.write_to(out))
    }
}

/// The destination of a message. Writing returns no result, which would have to be checked after every piece: once the
/// destination is full, the rest of the message is dropped.
pub(crate) trait Out {
    /// Writes a piece of text.
    fn text(&mut self, text: &str);

    /// Writes a character of one byte.
    fn ascii(&mut self, byte: u8);
}

/// A formatter, and its first error: nothing is written after an error.
pub(crate) struct Formatted<'f, 'g> {
    f: &'f mut fmt::Formatter<'g>,
    result: fmt::Result,
}

impl<'f, 'g> Formatted<'f, 'g> {
    pub(crate) fn write(f: &'f mut fmt::Formatter<'g>, write: impl FnOnce(&mut Self)) -> fmt::Result {
        let mut out = Self { f, result: Ok(()) };
        write(&mut out);
        out.result
    }
}

impl Out for Formatted<'_, '_> {
    fn text(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = self.f.write_str(text);
        }
    }

    fn ascii(&mut self, byte: u8) {
        if self.result.is_ok() {
            self.result = self.f.write_char(byte.into());
        }
    }
}

impl Explanation<'_> {
    pub(crate) fn write_to(&self, out: &mut impl Out) {
        let context = format::context(self.input, &self.error);
        write(out, &self.error, &context, Some(self.input.length()));
        long::address(out, self.input, &self.error);
    }
}

#[inline(never)]
fn write(out: &mut impl Out, error: &Error, context: &Context<'_>, file_length: Option<u64>) {
    let kind = error.kind();
    let has_part = kind.shown().has_part();
    if error.format() != Format::Unknown {
        packed::format(out, error.format());
        if let Some(version) = context.version.filter(|_| error.part() != Part::Version) {
            out.text(" ");
            plain(out, version.into());
        }
        colon(out);
    }
    if let Some(role) = context.role {
        quoted(out, "component ", role.into());
        out.text(if context.tensor.is_some() { " of " } else { ": " });
    }
    if let Some(tensor) = context.tensor {
        quoted(out, "tensor ", tensor);
        colon(out);
    }
    long::attribute(out, context);
    if has_part && !matches!(error.part(), Part::File | Part::Tensor | Part::Component) {
        packed::item(out, error.part());
        colon(out);
    }
    if !long::phrase(out, context) {
        rule(out, error, context, file_length);
    }
    long::truncation(out, error, context, file_length);
    if let Some(hint) = context.hint.or_else(|| long::advice(error, context)) {
        out.text(" (");
        out.text(hint);
        out.text(")");
    }
    if let Some(at) = error.offset() {
        number(out, " [at byte ", at);
        out.text("]");
    }
}

/// Writes the violated rule, with the details that are known.
#[inline] // called once
fn rule(out: &mut impl Out, error: &Error, context: &Context<'_>, file_length: Option<u64>) {
    let (kind, detail) = (error.kind(), error.kind().shown().detail());
    let is_placed = match (detail, context.offset, context.length, file_length) {
        (Detail::Place, Some(offset), Some(length), Some(file_length)) if is_out_of_file(error) => {
            bytes(out, "", length);
            number(out, " at offset ", offset);
            out.text(if length == 1 { " extends" } else { " extend" });
            bytes(out, " past the end of the file (", file_length);
            out.text(")");
            return;
        }
        (Detail::Place, Some(offset), Some(length), _) => {
            number(out, "offset ", offset);
            number(out, " + length ", length);
            true
        }
        _ => false,
    };
    if is_placed {
        colon(out);
    }
    match context.rule {
        Some(rule) => out.text(rule),
        None => packed::kind(out, kind),
    }
    match detail {
        Detail::Nothing | Detail::Place => {}
        Detail::Sizes => {
            sizes(out, context);
            if let (ErrorKind::SizeMismatch, Some(expected)) = (kind, context.expected_length) {
                number(out, ", which takes ", expected);
            }
        }
        Detail::Encoding => {
            if let Some(encoding) = context.encoding {
                quoted(out, ": ", encoding.into());
            }
        }
        Detail::Missing => match context.missing {
            Some(missing) => quoted(out, ": ", missing.into()),
            None => {
                out.text(": \"");
                packed::item(out, error.part());
                out.text("\"");
            }
        },
        Detail::Found => match (context.text, context.number) {
            (Some(text), _) => quoted(out, ": ", text),
            (None, Some(found)) => number(out, ": ", found),
            (None, None) => {}
        },
        // Written by `long::truncation`, in the same way for all formats.
        Detail::FileSize if long::needed(error, context).is_some() => {}
        Detail::FileSize => {
            if let (Some(size), Some(file_length)) = (context.number, file_length) {
                number(out, ": ", size);
                number(out, " bytes in a file of ", file_length);
            }
        }
    }
}

/// Returns true if the message compares a place with the length of the file. A shard is another file.
fn is_out_of_file(error: &Error) -> bool {
    error.kind() == ErrorKind::OutOfFile && error.part() != Part::Shard
}

/// Writes the text `before`, then a number of bytes.
fn bytes(out: &mut impl Out, before: &str, count: u64) {
    number(out, before, count);
    out.text(if count == 1 { " byte" } else { " bytes" });
}

#[inline(never)]
fn sizes(out: &mut impl Out, context: &Context<'_>) {
    let mut separator = ": ";
    if let Some(length) = context.length {
        number(out, ": length ", length);
        separator = ", ";
    }
    if let Some(length) = context.decoded_length {
        out.text(separator);
        number(out, "decoded length ", length);
        separator = ", ";
    }
    if let Some(lengths) = context.shape {
        out.text(separator);
        out.text("shape");
        shape(out, lengths.iter());
        separator = ", ";
    }
    if let Some(dtype) = context.dtype {
        out.text(separator);
        out.text("dtype ");
        plain(out, dtype.into());
    }
}

#[inline(never)]
fn colon(out: &mut impl Out) {
    out.text(": ");
}

/// Writes ` [2, 3]`.
#[inline(always)] // a program for a chip has one caller for each type of iterator
pub(crate) fn shape(out: &mut impl Out, lengths: impl Iterator<Item = u64>) {
    let mut before = " [";
    for length in lengths {
        number(out, before, length);
        before = ", ";
    }
    out.text(if before == ", " { "]" } else { " []" });
}

/// Writes the text of a kind.
pub(crate) fn kind_text(out: &mut impl Out, kind: ErrorKind) {
    packed::kind(out, kind);
}

/// Writes the text `before`, then a string of the file in quotation marks.
#[inline(never)]
pub(crate) fn quoted(out: &mut impl Out, before: &str, text: Text<'_>) {
    out.text(before);
    out.text("\"");
    plain(out, text);
    out.text("\"");
}

/// Writes a string of the file unchanged, except that control characters are escaped: no file can forge a line or send
/// codes to a terminal.
#[inline(never)]
pub(crate) fn plain(out: &mut impl Out, text: Text<'_>) {
    for character in text.chars() {
        match character {
            // Besides the C0 and C1 codes, the characters that change the direction of a line.
            '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                out.text("\\u{");
                let code = u32::from(character);
                for shift in [12, 8, 4, 0] {
                    let digit = code.wrapping_shr(shift) & 0xf;
                    if code.wrapping_shr(shift) > 0 || shift == 0 {
                        out.text(char::from_digit(digit, 16).unwrap_or('?').encode_utf8(&mut [0; 4]));
                    }
                }
                out.text("}");
            }
            _ => out.text(character.encode_utf8(&mut [0; 4])),
        }
    }
}

/// Writes the text `before`, then a number in decimal digits.
#[inline(never)]
pub(crate) fn number(out: &mut impl Out, before: &str, number: u64) {
    out.text(before);
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
            out.ascii(digit);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    #[test]
    fn numbers_of_any_size_are_printed() {
        for value in [0, 7, 10, 99, 100, 4213, u64::from(u32::MAX), 10_000_000_000_000_000_000, u64::MAX] {
            let mut text = String::new();
            number(&mut text, "is ", value);
            assert_eq!(text, std::format!("is {value}"));
        }
    }

    #[test]
    fn shapes_of_any_rank_are_printed() {
        for (lengths, expected) in [(&[][..], " []"), (&[7], " [7]"), (&[2, 3, 0], " [2, 3, 0]")] {
            let mut text = String::new();
            shape(&mut text, lengths.iter().copied());
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut text = String::new();
        quoted(&mut text, "", "a\"b\\c\n\u{1b}[31m\u{9b}\u{61c}\u{202e}ü\u{ad}".into());
        assert_eq!(text, "\"a\"b\\c\\u{a}\\u{1b}[31m\\u{9b}\\u{61c}\\u{202e}ü\u{ad}\"");
    }
}
