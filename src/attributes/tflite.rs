//! Attributes of TFLite models: the description, and metadata by name.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::text::Text;
use crate::codec::tflite::Model;
use crate::codec::tflite::schema::{metadata, model};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};

/// The description, if it has not been read yet, and the metadata that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    model: Model<'a>,
    /// 0: the description. Else the number of the next metadata, counted from 1.
    next: u32,
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns the attributes of a model.
    pub(crate) const fn tflite(model: Model<'a>) -> Self {
        Self(Inner::Tflite(Items { model, next: 0, error: None }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Reads the next attribute; the one at `next` may be missing.
    fn read(&self) -> Result<Option<Attribute<'a>>> {
        let root = self.model.root()?;
        let attribute = |key, value| Some(Attribute { key: Some(Value::Text(Text::new(key, false))), value });
        let Some(index) = self.next.checked_sub(1) else {
            let description = root.text(model::DESCRIPTION)?.unwrap_or_default().bytes;
            let value = Value::Text(Text::new(description, false));
            return Ok(attribute(b"description", value).filter(|_| !description.is_empty()));
        };
        let Some(place) = root.offsets(model::METADATA)?.unwrap_or_default().get(index) else { return Ok(None) };
        let table = self.model.flatbuffer().table(place, Part::Attributes)?;
        let name = table.text(metadata::NAME)?.unwrap_or_default().bytes;
        let place = self.model.buffer(table.u32(metadata::BUFFER)?)?;
        let missing = |at| Error::at(ErrorKind::NotInMemory, Format::Tflite, Part::Value, at);
        let bytes = match place {
            Some(place) => self.model.input.get(place).ok_or(missing(place.offset))?,
            None => &[],
        };
        Ok(attribute(name, Value::Bytes(bytes)))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        while self.error.is_none() {
            match self.read() {
                Ok(None) if self.next > 0 => return None,
                Ok(found) => {
                    self.next = self.next.saturating_add(1);
                    if found.is_some() {
                        return found;
                    }
                }
                Err(error) => self.error = Some(error),
            }
        }
        None
    }
}
