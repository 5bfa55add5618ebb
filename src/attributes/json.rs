//! Attributes in JSON, one value after the other.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::extent::Region;
use crate::codec::json::{Fault, Reader, Token};
use crate::error::Error;
use crate::error::origin::Format;

/// The items of a list or an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    region: Region<'a>,
    format: Format,
    position: u32,
    is_map: bool,
    fault: Option<Fault>,
}

impl<'a> Attributes<'a> {
    /// Returns the members of the object at `position` of `region`, in a file of format `format`.
    pub(crate) fn json(region: Region<'a>, format: Format, position: u32) -> Self {
        let mut reader = Reader::new(region.bytes, position);
        let fault = reader.begin(b'{').map_or(reader.fault(), |()| None);
        let position = reader.position();
        Self(Inner::Json(Items { region, format, position, is_map: true, fault }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) fn error(&self) -> Option<Error> {
        self.fault.map(|fault| fault.in_file(self.format, self.region.start))
    }

    /// Reads the next item, or `Some(None)` after the last; `None` if the reader has found a fault.
    fn read(&mut self, reader: &mut Reader<'a>) -> Option<Option<Attribute<'a>>> {
        if !reader.more(if self.is_map { b'}' } else { b']' })? {
            return Some(None); // the position is unchanged: the next call ends here, too
        }
        let key = if self.is_map { Some(Value::Text(reader.key()?)) } else { None };
        let value = self.value(reader)?;
        self.position = reader.position();
        Some(Some(Attribute { key, value }))
    }

    /// Reads a value, skipping its contents.
    fn value(&self, reader: &mut Reader<'a>) -> Option<Value<'a>> {
        let token = reader.value()?;
        let inside = |position| {
            let is_map = matches!(token, Token::Object(_));
            Attributes(Inner::Json(Items { position, is_map, ..*self }))
        };
        Some(match token {
            Token::Null => Value::Null,
            Token::Bool(truth) => Value::Bool(truth),
            Token::Integer(number) => Value::Integer(number),
            Token::Decimal(number) => Value::Decimal(number),
            Token::Text(text) => Value::Text(text),
            Token::List(position) => Value::Array(inside(position)),
            Token::Object(position) => Value::Map(inside(position)),
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        if self.fault.is_some() {
            return None;
        }
        let mut reader = Reader::new(self.region.bytes, self.position);
        self.read(&mut reader).unwrap_or_else(|| {
            self.fault = reader.fault();
            None
        })
    }
}
