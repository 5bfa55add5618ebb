//! Attributes in ONNX: pairs of texts, each a message in a field of another one.
#![forbid(unsafe_code)]

use super::{Attribute, Attributes, Inner, Value};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::codec::protobuf::{Reader, Schema};
use crate::error::Error;
use crate::error::origin::Format;

/// The key of the name of the graph that a tensor is in.
const GRAPH: &str = "onnx.graph";

/// The pairs in the fields of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    input: Input<'a>,
    /// The rest of the message.
    message: Extent,
    /// The number of the fields.
    field: u32,
    /// The name of the graph, which comes before the pairs.
    graph: Option<&'a [u8]>,
    error: Option<Error>,
}

impl<'a> Attributes<'a> {
    /// Returns the name of a graph, if there is one, and the pairs in the fields numbered `field` of a message.
    pub(crate) const fn onnx(input: Input<'a>, message: Extent, field: u32, graph: Option<&'a [u8]>) -> Self {
        Self(Inner::Onnx(Items { input, message, field, graph, error: None }))
    }
}

impl<'a> Items<'a> {
    /// Returns the reason why the iterator ended early.
    pub(super) const fn error(&self) -> Option<Error> {
        self.error
    }

    fn read(&mut self, opening: &ParseContext<'a>) -> ParseResult<Option<Attribute<'a>>> {
        let end = self.message.offset.saturating_add(self.message.length);
        let mut fields = Reader::new(opening, Format::Onnx, self.message);
        while let Some(pair) = fields.next(Schema::UNKNOWN)? {
            self.message = Extent::from(fields.position()..end);
            if pair.number == self.field {
                let [key, value] = texts(opening, pair.extent())?;
                return Ok(Some(attribute(key, value)));
            }
        }
        self.message = Extent::new(end, 0);
        Ok(None)
    }
}

/// Returns the key and the value in a message. Of several, the last one counts.
fn texts<'a>(opening: &ParseContext<'a>, message: Extent) -> ParseResult<[&'a [u8]; 2]> {
    let (mut fields, [mut key, mut value]) = (Reader::new(opening, Format::Onnx, message), [&[][..]; 2]);
    while let Some(field) = fields.next(Schema::UNKNOWN)? {
        match field.number {
            1 => key = fields.bytes(field.extent())?,
            2 => value = fields.bytes(field.extent())?,
            _ => {}
        }
    }
    Ok([key, value])
}

const fn attribute<'a>(key: &'a [u8], value: &'a [u8]) -> Attribute<'a> {
    Attribute { key: Some(Value::Text(Text::new(key, false))), value: Value::Text(Text::new(value, false)) }
}

impl<'a> Iterator for Items<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        if let Some(graph) = self.graph.take() {
            return Some(attribute(GRAPH.as_bytes(), graph));
        }
        if self.error.is_some() {
            return None;
        }
        let opening = ParseContext::of(self.input);
        self.read(&opening).unwrap_or_else(|stop| {
            self.error = Some(opening.error(stop));
            None
        })
    }
}
