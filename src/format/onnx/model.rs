//! The model: the message that is the file, without its graph.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use super::schema::{self, model, opset};
use super::tensor::check_pair;
use super::{FORMAT, LONGEST, OnnxFile};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::protobuf::{Field, Reader};
use crate::error::ErrorKind;
use crate::error::origin::Part;

/// Returns true if the whole file is the fields of a model, with a version and a graph. Reads the tag and the length of
/// each field.
pub(in super::super) fn is_model(opening: &ParseContext<'_>) -> ParseResult<bool> {
    let mut fields = reader(opening);
    let (mut version, mut has_graph) = (0, false);
    loop {
        match fields.next(schema::MODEL) {
            Ok(Some(Field { number: model::IR_VERSION, value, .. })) => version = value.cast_signed(),
            Ok(Some(field)) => has_graph |= field.number == model::GRAPH,
            Ok(None) => return Ok(version > 0 && has_graph),
            Err(stop) if opening.is_lacking() => return Err(stop),
            Err(_) => return Ok(false),
        }
    }
}

fn reader<'r, 'a>(opening: &'r ParseContext<'a>) -> Reader<'r, 'a> {
    Reader::new(opening, FORMAT, Extent::new(0, opening.input.length()))
}

/// Checks the fields of a model, and returns its graph.
pub(super) fn check(opening: &ParseContext<'_>) -> ParseResult<Extent> {
    let (mut fields, mut graph) = (reader(opening), None);
    if opening.input.length() > LONGEST {
        return Err(fields.fail(ErrorKind::ManifestTooLarge, Part::File, LONGEST));
    }
    while let Some(field) = fields.next(schema::MODEL)? {
        match field.number {
            model::GRAPH if graph.is_some() => {
                return Err(fields.fail(ErrorKind::RepeatedKey, Part::Tensors, field.at));
            }
            model::GRAPH => graph = Some(field.extent()),
            model::METADATA => check_pair(opening, &fields, &field)?,
            _ => {}
        }
    }
    graph.ok_or_else(|| fields.fail(ErrorKind::MissingKey, Part::Tensors, 0))
}

/// Returns the graph of a model, if there is one.
pub(super) fn graph(opening: &ParseContext<'_>) -> Option<Extent> {
    let mut fields = reader(opening);
    loop {
        let field = fields.next(schema::MODEL).ok()??;
        if field.number == model::GRAPH {
            return Some(field.extent());
        }
    }
}

/// Returns the text of a version below 100.
pub(super) fn version(version: u64) -> Option<&'static str> {
    /// Each two digits, so that a version is a part of the text.
    const DIGITS: &str = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243\
                          4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687\
                          888990919293949596979899";
    let end = to_usize(version)?.checked_mul(2)?.checked_add(2)?;
    let start = end.checked_sub(if version < 10 { 1 } else { 2 })?;
    DIGITS.get(start..end)
}

/// A set of operators that a model needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opset<'a> {
    /// The domain of the operators; empty for those of ONNX itself.
    pub domain: &'a str,
    /// The version of the set.
    pub version: i64,
}

/// An iterator over the sets of operators that a model needs, in the order of the file. See [`OnnxFile::opsets`].
#[derive(Clone, Copy, Debug)]
pub struct Opsets<'a> {
    file: OnnxFile<'a>,
    at: u64,
}

impl<'a> Iterator for Opsets<'a> {
    type Item = Opset<'a>;

    fn next(&mut self) -> Option<Opset<'a>> {
        let opening = ParseContext::of(self.file.input);
        let mut fields = reader(&opening);
        fields.go_to(self.at);
        let field = loop {
            let field = fields.next(schema::MODEL).ok()??;
            if field.number == model::OPSET_IMPORT {
                break field;
            }
        };
        self.at = fields.position();
        let mut found = Opset { domain: "", version: 0 };
        let mut fields = Reader::new(&opening, FORMAT, field.extent());
        while let Some(field) = fields.next(schema::OPSET).ok()? {
            match field.number {
                opset::DOMAIN => found.domain = text(&fields, &field).unwrap_or_default(),
                opset::VERSION => found.version = field.value.cast_signed(),
                _ => {}
            }
        }
        Some(found)
    }
}

impl FusedIterator for Opsets<'_> {}

fn text<'a>(fields: &Reader<'_, 'a>, field: &Field) -> Option<&'a str> {
    core::str::from_utf8(fields.bytes(field.extent()).ok()?).ok()
}

impl<'a> OnnxFile<'a> {
    /// Returns the version of the format that the file states, at least 1.
    #[must_use]
    pub fn ir_version(&self) -> u64 {
        self.last(model::IR_VERSION).map_or(0, |field| field.value)
    }

    /// Returns the name of the program that wrote the file; `None` if the file states none, or no UTF-8.
    #[must_use]
    pub fn producer_name(&self) -> Option<&'a str> {
        self.text(model::PRODUCER_NAME)
    }

    /// Returns the version of the program that wrote the file; `None` if the file states none, or no UTF-8.
    #[must_use]
    pub fn producer_version(&self) -> Option<&'a str> {
        self.text(model::PRODUCER_VERSION)
    }

    /// Returns an iterator over the sets of operators that the model needs.
    #[must_use]
    pub const fn opsets(&self) -> Opsets<'a> {
        Opsets { file: *self, at: 0 }
    }

    fn text(&self, number: u32) -> Option<&'a str> {
        let opening = ParseContext::of(self.input);
        text(&reader(&opening), &self.last(number)?)
    }

    /// Returns the last field of the model with a number, which counts.
    fn last(&self, number: u32) -> Option<Field> {
        let opening = ParseContext::of(self.input);
        let (mut fields, mut last) = (reader(&opening), None);
        while let Ok(Some(field)) = fields.next(schema::MODEL) {
            if field.number == number {
                last = Some(field);
            }
        }
        last
    }
}
