//! Parses NumPy types as headers spell them.

use super::code::Code;
use super::{Field, Type};

/// The maximum nesting depth of field types: more than the library accepts.
const DEEPEST: usize = 32;

/// A parser of NumPy types: a code such as `'<f4'`, a list of fields, or a pair of a type and a shape.
pub struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    /// Parses a whole text.
    pub fn read(text: &'t str) -> Option<Type> {
        let mut parser = Self { rest: text };
        let found = parser.item(DEEPEST)?;
        parser.rest.trim().is_empty().then_some(found)
    }

    /// Consumes the character `c` if it is next, after white space.
    fn take(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    /// Consumes a string, and returns it as written, without the quotation marks.
    fn string(&mut self) -> Option<&'t str> {
        let text = self.rest.trim_start();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let mut is_escaped = false;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                c if c == quote => {
                    self.rest = text.get(at + 1..)?;
                    return text.get(1..at);
                }
                _ => {}
            }
        }
        None
    }

    fn item(&mut self, depth: usize) -> Option<Type> {
        let depth = depth.checked_sub(1)?;
        let start = self.rest.trim_start().chars().next()?;
        match start {
            '[' => self.fields(depth),
            '(' => {
                self.take('(')?;
                let of = self.item(depth)?;
                self.take(',')?;
                let shape = self.shape()?;
                _ = self.take(',');
                self.take(')')?;
                Some(Type::Array(Box::new(of), shape))
            }
            _ => Code::parse(self.string()?).map(Type::Code),
        }
    }

    /// Parses fields in brackets, each with a name (or a title and a name), a type, and optionally a shape.
    fn fields(&mut self, depth: usize) -> Option<Type> {
        let mut all = Vec::new();
        self.take('[')?;
        while self.take(']').is_none() {
            self.take('(')?;
            let (title, name) = if self.take('(').is_some() {
                let title = self.string()?;
                self.take(',')?;
                let name = self.string()?;
                self.take(')')?;
                (Some(unescaped(title)), name)
            } else {
                (None, self.string()?)
            };
            self.take(',')?;
            let mut of = self.item(depth)?;
            if self.take(',').is_some() && !self.rest.trim_start().starts_with(')') {
                of = Type::Array(Box::new(of), self.shape()?);
                _ = self.take(',');
            }
            self.take(')')?;
            all.push(Field { title, name: unescaped(name), of });
            if self.take(',').is_none() {
                self.take(']')?;
                break;
            }
        }
        Some(Type::Record(all))
    }

    /// Consumes the shape of an array in each element.
    fn shape(&mut self) -> Option<Vec<usize>> {
        let text = self.rest.trim_start();
        let end = if text.starts_with('(') { text.find(')')? + 1 } else { text.find([',', ')'])? };
        let (shape, rest) = text.split_at(end);
        self.rest = rest;
        let lengths = shape.trim_matches(['(', ')']).split(',').map(str::trim).filter(|length| !length.is_empty());
        lengths.map(|length| length.trim_end_matches('L').parse().ok()).collect()
    }
}

/// Decodes a Python string literal: the escapes that occur in names.
fn unescaped(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        shown += before;
        let Some(kind) = after.chars().next() else { break };
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code = after.get(1..=digits).filter(|_| digits > 0).and_then(|code| u32::from_str_radix(code, 16).ok());
        rest = match (code.and_then(char::from_u32), kind) {
            (Some(c), _) => {
                shown.push(c);
                &after[1 + digits..]
            }
            (None, 'n' | 't' | 'r') => {
                shown.push(match kind {
                    'n' => '\n',
                    't' => '\t',
                    _ => '\r',
                });
                &after[1..]
            }
            (None, '\\' | '\'' | '"') => {
                shown.push(kind);
                &after[1..]
            }
            _ => {
                shown.push('\\');
                after
            }
        };
    }
    shown + rest
}
