//! Attributes in FlatBuffers: fields of a table, and the numbers in a vector.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::text::Text;
use crate::codec::flatbuffers::{Buffer, Field};
use crate::error::origin::Part;
use crate::error::{Error, Result};

/// A field of a table that is an attribute.
#[derive(Debug)]
pub(crate) struct Property {
    key: &'static str,
    field: Field,
    kind: Kind,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    I8,
    /// A vector of numbers, which is no attribute if it is empty.
    U8s,
}

impl Property {
    pub(crate) const fn i8(key: &'static str, field: Field) -> Self {
        Self { key, field, kind: Kind::I8 }
    }

    pub(crate) const fn u8s(key: &'static str, field: Field) -> Self {
        Self { key, field, kind: Kind::U8s }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'a> {
    Fields(Fields<'a>),
    Numbers(&'a [u8]),
}

/// The fields of the table at a position that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    buffer: Buffer<'a>,
    table: u32,
    left: &'static [Property],
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns the fields `properties` of the table at a position.
    pub(crate) const fn flatbuffers(buffer: Buffer<'a>, table: u32, properties: &'static [Property]) -> Self {
        Self(Inner::Flatbuffers(Items::Fields(Fields { buffer, table, left: properties, error: None })))
    }
}

impl Items<'_> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        match self {
            Self::Fields(fields) => fields.error,
            Self::Numbers(_) => None,
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        match self {
            Self::Fields(fields) => fields.next(),
            Self::Numbers(numbers) => {
                let (number, rest) = numbers.split_first()?;
                *numbers = rest;
                Some(Attribute { key: None, value: Value::Integer((*number).into()) })
            }
        }
    }
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<Attribute<'a>> {
        while let ([property, rest @ ..], None) = (self.left, self.error) {
            self.left = rest;
            match self.value(property) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let key = Some(Value::Text(Text::from(property.key)));
                    return Some(Attribute { key, value });
                }
                Err(error) => self.error = Some(error),
            }
        }
        None
    }

    /// Reads a field; `None` if it is empty.
    fn value(&self, property: &Property) -> Result<Option<Value<'a>>> {
        let table = self.buffer.table_at(self.table, Part::Attributes)?;
        Ok(match property.kind {
            Kind::I8 => Some(Value::Integer(table.i8(property.field)?.into())),
            Kind::U8s => {
                let numbers = table.vector(property.field, 1)?.unwrap_or_default().bytes;
                let value = Value::Array(Attributes(Inner::Flatbuffers(Items::Numbers(numbers))));
                Some(value).filter(|_| !numbers.is_empty())
            }
        })
    }
}
