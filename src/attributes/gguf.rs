//! Attributes in GGUF, one value after the other.
//!
//! Values are read in place; if the file is only partly in memory, values may be missing.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::is_utf8;
use crate::codec::gguf::{Encoding, Reader, ValueType, kind};
use crate::error::Error;
use crate::error::origin::Part;

/// The pairs of a file, or the elements of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    input: Input<'a>,
    encoding: Encoding,
    /// The start of the next item, and the end of the last item of an array.
    at: u32,
    end: u32,
    left: u64,
    /// The type of all elements; `None` for pairs.
    kind: Option<u32>,
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns `count` pairs of a file, from `at` on.
    pub(crate) const fn gguf(input: Input<'a>, encoding: Encoding, at: u32, count: u64) -> Self {
        Self(Inner::Gguf(Items { input, encoding, at, end: 0, left: count, kind: None, error: None }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Returns the number of items left.
    pub(super) const fn length(&self) -> u64 {
        if self.error.is_some() { 0 } else { self.left }
    }

    /// Returns the place of the remaining elements of an array; `None` for pairs.
    pub(super) fn extent(&self) -> Option<Extent> {
        self.kind.map(|_| Extent::new(self.at.into(), self.end.saturating_sub(self.at).into()))
    }

    /// Returns the type of the next value; `None` at the end.
    pub(super) fn value_type(mut self) -> Option<ValueType> {
        let kind = self.step(|items, reader| match items.kind {
            Some(kind) => Ok(kind),
            None => {
                reader.string()?;
                reader.kind()
            }
        });
        ValueType::from_code(kind?)
    }

    /// Moves past the first pair with the key `key`, and returns its value. The values before it need not be in memory.
    pub(super) fn find(&mut self, key: &[u8]) -> Option<Value<'a>> {
        if self.kind.is_some() {
            return None; // the values of a list have no keys
        }
        loop {
            let value = self.step(|items, reader| {
                reader.item = Part::Key;
                let is_it = reader.string()? == key;
                let kind = reader.kind()?;
                reader.item = Part::Value;
                if is_it { items.value(reader, kind).map(Some) } else { reader.skip_value(kind).map(|()| None) }
            })?;
            if value.is_some() {
                return value;
            }
        }
    }

    /// Reads the next item, if there is one.
    fn step<T>(&mut self, read: impl FnOnce(&Self, &mut Reader<'_, 'a>) -> ParseResult<T>) -> Option<T> {
        if self.error.is_some() || self.left == 0 {
            return None;
        }
        let opening = ParseContext::of(self.input);
        let mut reader = Reader::new(&opening, self.encoding, self.at.into());
        match read(self, &mut reader) {
            Ok(next) => {
                self.at = position(&reader);
                self.left = self.left.saturating_sub(1);
                Some(next)
            }
            Err(stop) => {
                self.error = Some(opening.error(stop));
                None
            }
        }
    }

    fn read(&self, reader: &mut Reader<'_, 'a>) -> ParseResult<Attribute<'a>> {
        let (key, kind) = match self.kind {
            Some(kind) => (None, kind),
            None => {
                reader.item = Part::Key;
                let key = reader.string()?;
                (Some(Value::Text(Text::new(key, false))), reader.kind()?)
            }
        };
        reader.item = Part::Value;
        let value = self.value(reader, kind)?;
        Ok(Attribute { key, value })
    }

    /// Reads a value, skipping the elements of an array.
    fn value(&self, reader: &mut Reader<'_, 'a>, kind: u32) -> ParseResult<Value<'a>> {
        Ok(match kind {
            kind::U8 => Value::Integer(u8::from_le_bytes(reader.number()?).into()),
            kind::I8 => Value::Integer(i8::from_le_bytes(reader.number()?).into()),
            kind::U16 => Value::Integer(u16::from_le_bytes(reader.number()?).into()),
            kind::I16 => Value::Integer(i16::from_le_bytes(reader.number()?).into()),
            kind::U32 => Value::Integer(u32::from_le_bytes(reader.number()?).into()),
            kind::I32 => Value::Integer(i32::from_le_bytes(reader.number()?).into()),
            kind::U64 => Value::Integer(u64::from_le_bytes(reader.number()?).into()),
            kind::I64 => Value::Integer(i64::from_le_bytes(reader.number()?).into()),
            kind::F32 => Value::Float(f32::from_le_bytes(reader.number()?).into()),
            kind::F64 => Value::Float(f64::from_le_bytes(reader.number()?)),
            kind::BOOL => Value::Bool(reader.boolean()?),
            kind::STRING => {
                let bytes = reader.string()?;
                // Tokens of a vocabulary may be incomplete characters.
                if is_utf8(bytes) { Value::Text(Text::new(bytes, false)) } else { Value::Bytes(bytes) }
            }
            _ => {
                let start = reader.position();
                let array = reader.array()?;
                let (kind, at) = (Some(array.kind), position(reader));
                reader.go_to(start);
                reader.skip_array()?;
                let end = position(reader);
                Value::Array(Attributes(Inner::Gguf(Items { at, end, left: array.count, kind, ..*self })))
            }
        })
    }
}

/// Returns the position of a reader, which is within a header of at most 1 GiB.
fn position(reader: &Reader<'_, '_>) -> u32 {
    u32::try_from(reader.position()).unwrap_or(u32::MAX)
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        self.step(Self::read)
    }
}
