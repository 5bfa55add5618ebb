//! JSON (RFC 8259), token by token, from borrowed bytes.
//!
//! Nested values are skipped without recursion. Strings are checked to be UTF-8 with valid escapes; everything else in
//! a JSON text must be ASCII.
#![forbid(unsafe_code)]

use hifijson::SliceLexer;
use hifijson::num::Lex as _;
use hifijson::token::Lex as _;

use crate::bytes::num::decimal;
use crate::bytes::text::{Text, unescaped};
use crate::bytes::utf8::is_utf8;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};

#[cfg(not(small))]
pub(crate) mod fast;
#[cfg(feature = "write")]
pub(crate) mod write;

/// The maximum nesting depth, including the outermost object. The limit is that of `serde_json`, which other readers of
/// these files use.
pub(crate) const MAX_DEPTH: usize = 127;

/// An error and its position in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    kind: ErrorKind,
    item: Part,
    at: u32,
    /// The start of the record concerned; [`NO_RECORD`] if there is none.
    record: u32,
}

/// A value, or the position of the contents of a list or an object.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    /// An integer from -2^64 + 1 to 2^64 - 1.
    Integer(i128),
    /// Any other number, in digits.
    Decimal(Text<'a>),
    Text(Text<'a>),
    List(u32),
    Object(u32),
}

/// The record position if no record is concerned.
pub(crate) const NO_RECORD: u32 = u32::MAX;

impl Fault {
    /// Returns the error for a file whose JSON text begins at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_file(&self, format: Format, start: u64) -> Error {
        let error = Error::at(self.kind, format, self.item, start.saturating_add(self.at.into()));
        // Without a record, the error keeps `NO_ENTRY` as the distance.
        if self.record == NO_RECORD { error } else { error.after_entry(self.at.saturating_sub(self.record)) }
    }
}

/// Reads a text token by token. If a call returns `None`, the reader holds the error, since passing errors from call to
/// call would take more code than the checks.
pub(crate) struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    /// The part of the file being read, and the position of its record.
    pub(crate) item: Part,
    pub(crate) record: u32,
    fault: Option<Fault>,
}

impl<'a> Reader<'a> {
    /// Creates a reader at `position`. The text is shorter than 4 GiB.
    pub(crate) fn new(text: &'a [u8], position: u32) -> Self {
        let rest = usize::try_from(position).ok().and_then(|position| text.get(position..)).unwrap_or_default();
        Self { text, rest, item: Part::Header, record: NO_RECORD, fault: None }
    }

    /// Continues at `rest`, which follows the bytes that have been read.
    #[inline]
    pub(crate) const fn skip_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u32 {
        u32::try_from(self.text.len().saturating_sub(self.rest.len())).unwrap_or(u32::MAX)
    }

    /// Returns the position of `rest`, which is the end of the text. The text is shorter than 4 GiB.
    #[cfg(not(small))]
    #[inline]
    #[allow(clippy::as_conversions, clippy::cast_possible_truncation)]
    pub(crate) const fn position_of(&self, rest: &[u8]) -> u32 {
        self.text.len().wrapping_sub(rest.len()) as u32
    }

    /// Returns the bytes from the last byte read on; empty at the start.
    #[cfg(not(small))]
    #[inline]
    pub(crate) fn rest_with_last(&self) -> &'a [u8] {
        let last = self.text.len().saturating_sub(self.rest.len()).checked_sub(1);
        last.and_then(|last| self.text.get(last..)).unwrap_or_default()
    }

    /// Returns the bytes that have not been read.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the position of the next token.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn token_position(&mut self) -> u32 {
        self.skip_space();
        self.position()
    }

    /// Returns the error, if a call returned `None`.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Returns the error of a call that returned `None`, in a file whose JSON text begins at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn error(&self, format: Format, start: u64) -> Error {
        let unknown = Error::at(ErrorKind::Malformed, format, Part::Header, start);
        self.fault.map_or(unknown, |fault| fault.in_file(format, start))
    }

    /// Stops with an error at the next token.
    #[inline]
    pub(crate) fn stop<T>(&mut self, kind: ErrorKind) -> Option<T> {
        self.fail(kind);
        None
    }

    /// Stops with an error at `at`.
    #[inline]
    pub(crate) fn stop_at<T>(&mut self, kind: ErrorKind, at: u32) -> Option<T> {
        self.fail_at(kind, at);
        None
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, kind: ErrorKind) {
        let at = self.token_position();
        self.fail_at(kind, at);
    }

    #[cold]
    #[inline(never)]
    fn fail_at(&mut self, kind: ErrorKind, at: u32) {
        self.fault = Some(Fault { kind, item: self.item, at, record: self.record });
    }

    #[cfg_attr(small, inline(never))]
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Returns the first byte of the next token.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.rest.first().copied()
    }

    #[inline]
    fn skip_byte(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Returns whether the next token is `byte`, and consumes it if so.
    #[cfg_attr(small, inline(never))]
    fn take(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        if is_it {
            self.skip_byte();
        }
        is_it
    }

    /// Consumes the next token, which must be `byte`.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn expect(&mut self, byte: u8, kind: ErrorKind) -> Option<()> {
        if self.take(byte) { Some(()) } else { self.stop(kind) }
    }

    /// Reads the start of an object, or of a list if `start` is a bracket.
    pub(crate) fn begin(&mut self, start: u8) -> Option<()> {
        self.expect(start, ErrorKind::UnexpectedType)
    }

    /// Advances to the next item of a list or an object that ends with `end`, or to its first item if it has just
    /// begun; returns `false` after the last item.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn more(&mut self, end: u8) -> Option<bool> {
        let last = self.text.len().saturating_sub(self.rest.len()).checked_sub(1).and_then(|at| self.text.get(at));
        let is_first = matches!(last, Some(b'{' | b'[')); // no value ends with these bytes
        let next = self.peek();
        if next == Some(end) {
            self.skip_byte();
            Some(false)
        } else if is_first {
            Some(true)
        } else if next == Some(b',') {
            self.skip_byte(); // the caller reads an item next, as required
            Some(true)
        } else {
            self.stop(ErrorKind::Malformed)
        }
    }

    /// Reads a key of an object.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn key(&mut self) -> Option<Text<'a>> {
        let key = self.string_or(ErrorKind::Malformed)?;
        self.expect(b':', ErrorKind::Malformed)?;
        Some(key)
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> Option<Text<'a>> {
        self.string_or(ErrorKind::UnexpectedType)
    }

    #[cfg_attr(small, inline(never))]
    fn string_or(&mut self, otherwise: ErrorKind) -> Option<Text<'a>> {
        self.skip_space();
        let [b'"', string @ ..] = self.rest else { return self.stop(otherwise) };
        // Much faster. Chips need the flash more.
        #[cfg(not(small))]
        if let Some((plain, [b'"', rest @ ..])) = string.split_at_checked(fast::plain_length(string)) {
            self.rest = rest;
            return Some(Text::new(plain, false));
        }
        self.long_string(string)
    }

    /// Reads a string, without its opening quotation mark.
    #[cfg_attr(not(small), inline(never))]
    fn long_string(&mut self, string: &'a [u8]) -> Option<Text<'a>> {
        let (mut rest, mut is_escaped) = (string, false);
        loop {
            rest = match rest {
                [b'"', after @ ..] => {
                    let length = string.len().saturating_sub(rest.len());
                    let string = string.get(..length).unwrap_or_default();
                    if !is_utf8(string) {
                        return self.stop(ErrorKind::InvalidUtf8);
                    }
                    self.rest = after;
                    return Some(Text::new(string, is_escaped));
                }
                [b'\\', after @ ..] => {
                    is_escaped = true;
                    let Some((_, after)) = unescaped(after) else { return self.stop_in(rest) };
                    after
                }
                [0x20..=0xff, after @ ..] => after,
                _ => return self.stop_in(rest),
            };
        }
    }

    /// Stops because the text is malformed at the start of `rest`.
    fn stop_in<T>(&mut self, rest: &'a [u8]) -> Option<T> {
        self.rest = rest;
        let at = self.position();
        self.stop_at(ErrorKind::Malformed, at)
    }

    /// Reads a number that is written as an integer from 0 to 2^64 - 1: no sign, no fraction, no exponent.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn integer(&mut self) -> Option<u64> {
        self.skip_space();
        #[cfg(not(small))]
        let number = fast::number(self.rest).or_else(|| decimal(self.rest));
        #[cfg(small)]
        let number = decimal(self.rest);
        match number {
            Some((_, [b'.' | b'e' | b'E', ..])) | None => self.stop(ErrorKind::UnexpectedType),
            Some((number, rest)) => {
                self.rest = rest;
                Some(number)
            }
        }
    }

    /// Skips a value that is nested in `depth` others.
    #[inline(never)]
    pub(crate) fn skip_value(&mut self, depth: usize) -> Option<()> {
        // The closing characters of the lists and objects around the current value.
        let mut ends = heapless::Vec::<u8, MAX_DEPTH>::new();
        loop {
            let first = self.peek();
            match first {
                Some(b'{' | b'[') => {
                    let end = if first == Some(b'{') { b'}' } else { b']' };
                    if ends.len().saturating_add(depth) >= MAX_DEPTH || ends.push(end).is_err() {
                        return self.stop(ErrorKind::TooDeep);
                    }
                    self.skip_byte();
                    if !self.take(end) {
                        self.skip_key(end)?;
                        continue;
                    }
                    ends.pop();
                }
                _ => self.skip_single(first)?,
            }
            // The value has ended, and possibly lists and objects around it.
            loop {
                let Some(end) = ends.last().copied() else { return Some(()) };
                if self.take(b',') {
                    self.skip_key(end)?;
                    break;
                }
                self.expect(end, ErrorKind::Malformed)?;
                ends.pop();
            }
        }
    }

    /// Skips the key before a value in an object.
    fn skip_key(&mut self, end: u8) -> Option<()> {
        if end == b'}' { self.key().map(drop) } else { Some(()) }
    }

    /// Skips a value that is neither a list nor an object and begins with `first`.
    fn skip_single(&mut self, first: Option<u8>) -> Option<()> {
        let mut lexer = SliceLexer::new(self.rest);
        let is_valid = match first {
            Some(b'"') => return self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => lexer.num_ignore().validate().is_ok(),
            Some(b'a'..=b'z') => lexer.null_or_bool().is_some(),
            _ => false,
        };
        if !is_valid {
            return self.stop(ErrorKind::Malformed);
        }
        self.rest = lexer.as_slice();
        Some(())
    }

    /// Reads a value, but not its contents, and advances to its end.
    pub(crate) fn value(&mut self) -> Option<Token<'a>> {
        let first = self.peek();
        let (start, inside) = (self.rest, self.position().saturating_add(1));
        if first == Some(b'"') {
            return self.string().map(Token::Text);
        }
        self.skip_value(0)?;
        let spelled = start.get(..start.len().saturating_sub(self.rest.len())).unwrap_or_default();
        Some(match first {
            Some(b'{') => Token::Object(inside),
            Some(b'[') => Token::List(inside),
            Some(b'n') => Token::Null,
            Some(b't' | b'f') => Token::Bool(first == Some(b't')),
            _ => {
                let digits = spelled.strip_prefix(b"-").unwrap_or(spelled);
                let magnitude = decimal(digits).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
                match magnitude.map(i128::from) {
                    Some(0) if digits != spelled => Token::Decimal(Text::new(spelled, false)), // -0
                    Some(number) => Token::Integer(if digits == spelled { number } else { number.wrapping_neg() }),
                    None => Token::Decimal(Text::new(spelled, false)),
                }
            }
        })
    }

    /// Checks that the text ends after the value.
    pub(crate) fn finish(&mut self) -> Option<()> {
        if self.peek().is_none() { Some(()) } else { self.stop(ErrorKind::TrailingBytes) }
    }
}

#[cfg(test)]
mod tests;
