//! Attributes in CBOR, one value after the other.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::extent::Region;
use crate::bytes::keywords::{Found, Keywords};
use crate::codec::cbor::{Fault, Left, Reader, Token};
use crate::error::origin::Format;
use crate::error::{Error, ErrorKind};

type Result<T> = core::result::Result<T, Fault>;

/// The items of a container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    region: Region<'a>,
    format: Format,
    position: u32,
    left: Left,
    is_map: bool,
    /// Keys that are not reported as attributes.
    hidden: Keywords,
    fault: Option<Fault>,
}

impl<'a> Attributes<'a> {
    /// Returns the pairs of the map at `position` of `region`, in a file of format `format`, except pairs with `hidden`
    /// keys.
    pub(crate) fn cbor(region: Region<'a>, format: Format, position: u32, hidden: Keywords) -> Self {
        let mut reader = Reader::new(region.bytes, position);
        let left = reader.map();
        let fault = reader.check().err();
        let position = reader.position();
        Self(Inner::Cbor(Items { region, format, position, left, is_map: true, hidden, fault }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) fn error(&self) -> Option<Error> {
        self.fault.map(|fault| fault.in_file(self.format, self.region.start))
    }

    fn read(&mut self) -> Result<Option<Attribute<'a>>> {
        let mut reader = Reader::new(self.region.bytes, self.position);
        loop {
            let more = if self.is_map { reader.more_pairs(&mut self.left) } else { reader.more(&mut self.left) };
            let attribute = if !more {
                reader.check()?;
                None
            } else if self.is_map {
                let key = self.value(&mut reader)?;
                let value = self.value(&mut reader)?;
                if matches!(key, Value::Text(text) if self.hidden.find(text.raw()) != Found::NOTHING) {
                    continue;
                }
                Some(Attribute { key: Some(key), value })
            } else {
                Some(Attribute { key: None, value: self.value(&mut reader)? })
            };
            self.position = reader.position();
            return Ok(attribute);
        }
    }

    /// Reads a value, skipping its contents.
    fn value(&self, reader: &mut Reader<'a>) -> Result<Value<'a>> {
        let at = reader.position();
        let token = reader.token()?;
        let inside = Items {
            position: reader.position(),
            left: token.inside().unwrap_or(Left::NONE),
            is_map: matches!(token, Token::Map(_)),
            hidden: Keywords::NONE,
            ..*self
        };
        if token.inside().is_some() {
            reader.skip_inside(inside.left);
            reader.check()?;
        }
        let items = Attributes(Inner::Cbor(inside));
        Ok(match token {
            Token::Null => Value::Null,
            Token::Undefined => Value::Undefined,
            Token::Bool(truth) => Value::Bool(truth),
            Token::Integer(n) => Value::Integer(n),
            Token::Float(x) => Value::Float(x),
            Token::Simple(n) => Value::Simple(n),
            Token::Text(text) => Value::Text(text.into()),
            Token::Bytes(bytes) => Value::Bytes(bytes),
            Token::Array(_) => Value::Array(items),
            Token::Map(_) => Value::Map(items),
            Token::Tag(tag) => Value::Tagged(tag, items),
            Token::TextChunks => Value::TextChunks(items),
            Token::ByteChunks => Value::ByteChunks(items),
            Token::Break => return Err(reader.fault(ErrorKind::Malformed, at)),
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        if self.fault.is_some() {
            return None;
        }
        match self.read() {
            Ok(Some(attribute)) => Some(attribute),
            Ok(None) => {
                self.left = Left::NONE;
                None
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}
