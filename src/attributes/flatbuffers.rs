//! Attributes in FlatBuffers: fields of a table and of the tables that it leads to, and the numbers in a vector.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::text::Text;
use crate::codec::flatbuffers::{Buffer, Field, Offsets, Table};
use crate::error::origin::Part;
use crate::error::{Error, Result};

/// A field that is an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Property {
    key: &'static str,
    /// The fields that lead to the table of the field.
    path: &'static [Field],
    /// The condition that this table has the field.
    condition: Condition,
    field: Field,
    kind: Kind,
}

/// A condition that a table fulfils.
#[derive(Clone, Copy, Debug)]
enum Condition {
    None,
    /// A vector of numbers of 4 bytes is not empty.
    NotEmpty(Field),
    /// A number in the table before has a value: the kind of a union.
    Union(Field, i8),
}

/// The type of a field. A list is an attribute only if it is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    I8,
    I32,
    Bytes,
    Numbers(Number),
    /// A number that is passed in instead, unless it is 0.
    Given,
    /// A field of each of the tables in a vector; -1 for a table in which another field is 1.
    Sizes(Field, Field),
}

/// The type of the numbers in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    U8,
    I32,
    I64,
    F32,
}

impl Number {
    const fn size(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// Reads the number at the front of a list.
    fn read<'a>(self, list: &mut &'a [u8]) -> Option<Value<'a>> {
        Some(match self {
            Self::U8 => Value::Integer(u8::from_le_bytes(take(list)?).into()),
            Self::I32 => Value::Integer(i32::from_le_bytes(take(list)?).into()),
            Self::I64 => Value::Integer(i64::from_le_bytes(take(list)?).into()),
            Self::F32 => Value::Float(f32::from_le_bytes(take(list)?).into()),
        })
    }
}

/// Takes bytes from the front of a list.
fn take<const N: usize>(list: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = list.split_first_chunk()?;
    *list = rest;
    Some(*bytes)
}

impl Property {
    /// A field of the table itself.
    pub(crate) const fn new(key: &'static str, field: Field, kind: Kind) -> Self {
        Self { key, path: &[], condition: Condition::None, field, kind }
    }

    /// The same field of the table that other fields lead to.
    pub(crate) const fn at(self, path: &'static [Field]) -> Self {
        Self { path, ..self }
    }

    /// The same field, if a vector of numbers of 4 bytes in its table is not empty.
    pub(crate) const fn with(self, list: Field) -> Self {
        Self { condition: Condition::NotEmpty(list), ..self }
    }

    /// The same field, if the last table of the path is of a kind, which a field of the table before states.
    pub(crate) const fn of_kind(self, union: Field, kind: i8) -> Self {
        Self { condition: Condition::Union(union, kind), ..self }
    }

    /// Finds the table of the field; `None` if it has none.
    fn table<'a>(&self, table: Table<'a>) -> Result<Option<Table<'a>>> {
        let mut found = table;
        if let [path @ .., last] = self.path {
            for field in path {
                let Some(next) = found.table(*field)? else { return Ok(None) };
                found = next;
            }
            if let Condition::Union(field, kind) = self.condition {
                if found.i8(field)? != kind {
                    return Ok(None);
                }
            }
            let Some(next) = found.table(*last)? else { return Ok(None) };
            found = next;
        }
        if let Condition::NotEmpty(list) = self.condition {
            if found.vector(list, 4)?.unwrap_or_default().count == 0 {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'a> {
    Fields(Fields<'a>),
    Numbers(&'a [u8], Number),
    Sizes(Sizes<'a>),
}

/// The fields that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    buffer: Buffer<'a>,
    /// The position of the table.
    table: u32,
    given: u32,
    left: &'static [Property],
    error: Option<Error>,
}

/// The sizes of tables that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes<'a> {
    buffer: Buffer<'a>,
    tables: Offsets,
    next: u32,
    fields: (Field, Field),
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns the fields `properties` of the table at a position.
    pub(crate) const fn flatbuffers(
        buffer: Buffer<'a>,
        table: u32,
        given: u32,
        properties: &'static [Property],
    ) -> Self {
        Self(Inner::Flatbuffers(Items::Fields(Fields { buffer, table, given, left: properties, error: None })))
    }
}

impl Items<'_> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        match self {
            Self::Fields(fields) => fields.error,
            Self::Numbers(..) => None,
            Self::Sizes(sizes) => sizes.error,
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let value = match self {
            Self::Fields(fields) => return fields.next(),
            Self::Numbers(list, number) => number.read(list),
            Self::Sizes(sizes) => sizes.next(),
        };
        value.map(|value| Attribute { key: None, value })
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
        let field = property.field;
        let Some(table) = property.table(self.buffer.table_at(self.table, Part::Attributes)?)? else {
            return Ok(None);
        };
        let list = |items| Some(Value::Array(Attributes(Inner::Flatbuffers(items))));
        Ok(match property.kind {
            Kind::I8 => Some(Value::Integer(table.i8(field)?.into())),
            Kind::I32 => Some(Value::Integer(table.i32(field)?.into())),
            Kind::Given => Some(Value::Integer(self.given.into())).filter(|_| self.given > 0),
            Kind::Bytes => {
                let bytes = table.vector(field, 1)?.unwrap_or_default().bytes;
                Some(Value::Bytes(bytes)).filter(|_| !bytes.is_empty())
            }
            Kind::Numbers(number) => {
                let bytes = table.vector(field, number.size())?.unwrap_or_default().bytes;
                list(Items::Numbers(bytes, number)).filter(|_| !bytes.is_empty())
            }
            Kind::Sizes(sparse, size) => {
                let tables = table.offsets(field)?.unwrap_or_default();
                let sizes = Sizes { buffer: self.buffer, tables, next: 0, fields: (sparse, size), error: None };
                list(Items::Sizes(sizes)).filter(|_| tables.count > 0)
            }
        })
    }
}

impl<'a> Sizes<'a> {
    fn next(&mut self) -> Option<Value<'a>> {
        let place = self.tables.get(self.next).filter(|_| self.error.is_none())?;
        self.next = self.next.saturating_add(1);
        let (sparse, size) = self.fields;
        let read = || {
            let table = self.buffer.table(place, Part::Attributes)?;
            if table.i8(sparse)? == 1 { Ok(-1) } else { table.i32(size) }
        };
        match read() {
            Ok(number) => Some(Value::Integer(number.into())),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}
