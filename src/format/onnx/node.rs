//! A node of a graph: whether it is a Constant, and whether graphs are inside.
#![forbid(unsafe_code)]

use super::FORMAT;
use super::graphs::{Found, is_graph};
use super::schema::{self, attribute, node};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::protobuf::{Field, Reader};
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// A node, as far as its tensors matter.
pub(super) struct Node {
    /// The value, if the node is a Constant: its message, and whether it is sparse.
    value: Option<(Extent, bool)>,
    /// The field with the name of the first output.
    output: Option<Field>,
    /// True if attributes hold graphs. Those of a Constant are not read: the operator has no such attribute.
    pub(super) has_graphs: bool,
}

impl Node {
    /// Reads the node in a field of a graph, and all of its attributes.
    pub(super) fn read(opening: &ParseContext<'_>, node: &Field) -> ParseResult<Self> {
        let mut fields = Reader::new(opening, FORMAT, node.extent());
        let mut found = Self { value: None, output: None, has_graphs: false };
        let (mut is_constant, mut is_standard, mut second) = (false, true, None);
        while let Some(field) = fields.next(schema::NODE)? {
            match field.number {
                node::OUTPUT => found.output = found.output.or(Some(field)),
                node::OP_TYPE => is_constant = is_text(&fields, &field, b"Constant")?,
                node::DOMAIN => is_standard = field.value == 0 || is_text(&fields, &field, b"ai.onnx")?,
                node::ATTRIBUTE => {
                    let value = found.read_attribute(opening, &field)?;
                    if value.is_some() && found.value.is_some() {
                        second = Some(field.at);
                    }
                    found.value = found.value.or(value);
                }
                _ => {}
            }
        }
        if !is_constant || !is_standard {
            found.value = None;
        } else if let Some(at) = second {
            return Err(fields.fail(ErrorKind::RepeatedKey, Part::Attributes, at));
        } else {
            found.has_graphs = false;
        }
        Ok(found)
    }

    /// Reads an attribute. Returns the tensor in it, if that would be the value of a Constant.
    fn read_attribute(
        &mut self,
        opening: &ParseContext<'_>,
        attribute: &Field,
    ) -> ParseResult<Option<(Extent, bool)>> {
        let mut fields = Reader::new(opening, FORMAT, attribute.extent());
        let (mut name, mut dense, mut sparse, mut graph) = (None, None, None, None);
        while let Some(field) = fields.next(schema::ATTRIBUTE)? {
            let place = match field.number {
                attribute::NAME => {
                    name = Some(field);
                    continue;
                }
                attribute::TENSOR => &mut dense,
                attribute::SPARSE_TENSOR => &mut sparse,
                attribute::GRAPH => &mut graph,
                _ => {
                    self.has_graphs |= is_graph(&field);
                    continue;
                }
            };
            if place.replace(field.extent()).is_some() {
                return Err(fields.fail(ErrorKind::RepeatedKey, Part::Value, field.at));
            }
        }
        self.has_graphs |= graph.is_some();
        let Some(name) = name.filter(|_| dense.is_some() || sparse.is_some()) else { return Ok(None) };
        if is_text(&fields, &name, b"value")? {
            return Ok(dense.map(|message| (message, false)));
        }
        let is_sparse = is_text(&fields, &name, b"sparse_value")?;
        Ok(sparse.filter(|_| is_sparse).map(|message| (message, true)))
    }

    /// Returns the tensor of a Constant node, which is in the field `node` of a graph.
    pub(super) fn found(&self, node: &Field) -> Option<Found> {
        let (message, is_sparse) = self.value?;
        Some(Found { at: node.at, message, is_sparse, output: self.output, is_constant: true })
    }
}

/// True if the value of a field is `text`.
fn is_text(fields: &Reader<'_, '_>, field: &Field, text: &[u8]) -> ParseResult<bool> {
    Ok(field.value == to_u64(text.len()) && fields.bytes(field.extent())? == text)
}
