//! Attributes: values of CBOR as a user sees them, one after the other.
//!
//! Depends on `super`, `error`, `bytes`.
#![forbid(unsafe_code)]

use super::{Fault, Field, Left, Reader, Token};
use crate::bytes::extent::Region;
use crate::error::{Error, ErrorKind, Format, pinned};

type Result<T> = core::result::Result<T, Fault>;

/// A value of an attribute.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Null.
    Null,
    /// Undefined.
    Undefined,
    /// A truth value.
    Bool(bool),
    /// An integer from -2^64 to 2^64 - 1.
    Integer(i128),
    /// A number of 16, 32 or 64 bits, widened without loss.
    Float(f64),
    /// Another simple value, by its number.
    Simple(u8),
    /// A text.
    Text(&'a str),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A list of values.
    Array(Attributes<'a>),
    /// A map.
    Map(Attributes<'a>),
    /// A tag, and the one value that it marks.
    Tagged(u64, Attributes<'a>),
    /// A text in pieces, each a [`Value::Text`].
    TextChunks(Attributes<'a>),
    /// A byte string in pieces, each a [`Value::Bytes`].
    ByteChunks(Attributes<'a>),
}

pinned! {
    /// The kind of a [`Value`].
    ValueKind: u8 {
        Null = 1, "null";
        Undefined = 2, "undefined";
        Bool = 3, "truth value";
        Integer = 4, "integer";
        Float = 5, "floating-point number";
        Simple = 6, "simple value";
        Text = 7, "text";
        Bytes = 8, "byte string";
        Array = 9, "list";
        Map = 10, "map";
        Tagged = 11, "tagged value";
        TextChunks = 12, "text in pieces";
        ByteChunks = 13, "byte string in pieces";
    }
}

impl<'a> Value<'a> {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Undefined => ValueKind::Undefined,
            Self::Bool(_) => ValueKind::Bool,
            Self::Integer(_) => ValueKind::Integer,
            Self::Float(_) => ValueKind::Float,
            Self::Simple(_) => ValueKind::Simple,
            Self::Text(_) => ValueKind::Text,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::Array(_) => ValueKind::Array,
            Self::Map(_) => ValueKind::Map,
            Self::Tagged(..) => ValueKind::Tagged,
            Self::TextChunks(_) => ValueKind::TextChunks,
            Self::ByteChunks(_) => ValueKind::ByteChunks,
        }
    }

    /// The values inside it; `None` for a single value.
    #[must_use]
    pub const fn items(&self) -> Option<Attributes<'a>> {
        match self {
            Self::Array(items)
            | Self::Map(items)
            | Self::Tagged(_, items)
            | Self::TextChunks(items)
            | Self::ByteChunks(items) => Some(*items),
            _ => None,
        }
    }
}

/// One of [`Attributes`].
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// The key, in a map most often a text; `None` where the values are no map's.
    pub key: Option<Value<'a>>,
    /// The value.
    pub value: Value<'a>,
}

/// The attributes of a file or a tensor, or the values inside one of them: an iterator over the bytes.
///
/// The structure was checked when the file was opened. Should the bytes have changed since, the iterator
/// ends early and [`error`](Self::error) says why.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    region: Region<'a>,
    format: Format,
    position: u32,
    left: Left,
    is_map: bool,
    /// Keys that are not attributes.
    hidden: &'static [Field],
    fault: Option<Fault>,
}

impl<'a> Attributes<'a> {
    /// No attributes.
    pub(crate) const NONE: Self = Self {
        region: Region { bytes: &[], start: 0 },
        format: Format::Unknown,
        position: 0,
        left: Left::NONE,
        is_map: true,
        hidden: &[],
        fault: None,
    };

    /// The pairs of the map at `position` of `region`, of a file of kind `format`, but those whose keys are
    /// `hidden`.
    pub(crate) fn map(region: Region<'a>, format: Format, position: u32, hidden: &'static [Field]) -> Self {
        let mut reader = Reader::new(region.bytes, position);
        let none = Self { region, format, position, hidden, ..Self::NONE };
        match reader.map() {
            Ok(left) => Self { position: reader.position(), left, ..none },
            Err(fault) => Self { fault: Some(fault), ..none },
        }
    }

    /// Why the iterator ended early: the bytes are not what they were when the file was opened.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.fault.map(|fault| fault.in_file(self.format, self.region.start, 0))
    }

    /// The value of the first attribute whose key is the text `key`. Linear.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let mut all = *self;
        all.find(|attribute| matches!(attribute.key, Some(Value::Text(text)) if text == key))
            .map(|attribute| attribute.value)
    }

    fn read(&mut self) -> Result<Option<Attribute<'a>>> {
        let mut reader = Reader::new(self.region.bytes, self.position);
        loop {
            let more = if self.is_map { reader.more_pairs(&mut self.left)? } else { reader.more(&mut self.left)? };
            let attribute = if !more {
                None
            } else if self.is_map {
                let key = self.value(&mut reader)?;
                let value = self.value(&mut reader)?;
                if matches!(key, Value::Text(text) if self.hidden.iter().any(|field| field.key == text)) {
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

    /// Reads a value, passing what is inside it.
    fn value(&self, reader: &mut Reader<'a>) -> Result<Value<'a>> {
        let at = reader.position();
        let token = reader.token()?;
        let inside = Self {
            position: reader.position(),
            left: token.inside().unwrap_or(Left::NONE),
            is_map: matches!(token, Token::Map(_)),
            hidden: &[],
            ..*self
        };
        if token.inside().is_some() {
            reader.skip_inside(inside.left)?;
        }
        Ok(match token {
            Token::Null => Value::Null,
            Token::Undefined => Value::Undefined,
            Token::Bool(truth) => Value::Bool(truth),
            Token::Integer(n) => Value::Integer(n),
            Token::Float(x) => Value::Float(x),
            Token::Simple(n) => Value::Simple(n),
            Token::Text(text) => Value::Text(text),
            Token::Bytes(bytes) => Value::Bytes(bytes),
            Token::Array(_) => Value::Array(inside),
            Token::Map(_) => Value::Map(inside),
            Token::Tag(tag) => Value::Tagged(tag, inside),
            Token::TextChunks => Value::TextChunks(inside),
            Token::ByteChunks => Value::ByteChunks(inside),
            Token::Break => return Err(reader.fault(ErrorKind::Malformed, at)),
        })
    }
}

impl<'a> Iterator for Attributes<'a> {
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

impl core::iter::FusedIterator for Attributes<'_> {}
