//! The names of tensors. Those of one graph must differ.
#![forbid(unsafe_code)]

use super::graphs::{self, Found, Item, Step, Walk};
use super::schema::{self, node, tensor};
use super::{FORMAT, OnnxFile, offset};
use crate::bytes::extent::Extent;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::is_utf8;
use crate::codec::protobuf::levels::DEPTH;
use crate::codec::protobuf::{Field, Reader};
use crate::duplicates::{Compared, Distinct, Memory};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};

/// The name of a tensor.
pub(super) struct NameOf<'a> {
    pub(super) bytes: &'a [u8],
    /// The offset of the field with the name.
    pub(super) at: u64,
}

impl<'a> NameOf<'a> {
    /// Reads and checks the name of a tensor.
    pub(super) fn read(opening: &ParseContext<'a>, found: &Found) -> ParseResult<Self> {
        let field = if found.is_constant {
            found.output
        } else {
            let values = if found.is_sparse { values(opening, found)? } else { Some(found.message) };
            let Some(values) = values else {
                return Err(opening.fail((ErrorKind::MissingComponent, FORMAT, Part::Components), found.at));
            };
            name_field(opening, values)?
        };
        Self::of(opening, found, field)
    }

    /// Checks the name in a field.
    pub(super) fn of(opening: &ParseContext<'a>, found: &Found, field: Option<Field>) -> ParseResult<Self> {
        let Some(field) = field.filter(|field| field.value > 0) else {
            let at = field.map_or(found.at, |field| field.at);
            return Err(opening.fail((ErrorKind::NameLength, FORMAT, Part::Name), at));
        };
        let bytes = Reader::new(opening, FORMAT, field.extent()).bytes(field.extent())?;
        if !is_utf8(bytes) {
            return Err(opening.fail((ErrorKind::InvalidUtf8, FORMAT, Part::Name), field.at));
        }
        Ok(Self { bytes, at: field.at })
    }
}

/// Returns the message with the values of a sparse tensor.
pub(super) fn values(opening: &ParseContext<'_>, found: &Found) -> ParseResult<Option<Extent>> {
    let (mut fields, mut values) = (Reader::new(opening, FORMAT, found.message), None);
    while let Some(field) = fields.next(schema::SPARSE)? {
        if field.number == schema::sparse::VALUES {
            values = Some(field.extent());
        }
    }
    Ok(values)
}

/// Returns the name of the graph with a mark, the offset of its field.
pub(super) fn name_of_graph<'a>(file: &OnnxFile<'a>, mark: u32) -> &'a [u8] {
    let field = graphs::field_at(&ParseContext::of(file.input), file.graph(), mark.into());
    field.ok().and_then(|field| file.input.get(field.extent())).unwrap_or_default()
}

/// Returns the last field with a name of a tensor's message.
fn name_field(opening: &ParseContext<'_>, message: Extent) -> ParseResult<Option<Field>> {
    let (mut fields, mut name) = (Reader::new(opening, FORMAT, message), None);
    while let Some(field) = fields.next(schema::TENSOR)? {
        if field.number == tensor::NAME {
            name = Some(field);
        }
    }
    Ok(name)
}

/// Returns the name at the offset of its field, or at the offset of its tensor; none if the bytes have changed.
pub(super) fn name_at<'a>(file: &OnnxFile<'a>, position: u32) -> &'a [u8] {
    let opening = ParseContext::of(file.input);
    let read = || {
        let field = graphs::field_at(&opening, file.graph(), position.into())?;
        // The fields of tensors and nodes with a name have other numbers than the fields of graphs with them.
        if matches!(field.number, tensor::NAME | node::OUTPUT) {
            return Ok(file.input.get(field.extent()));
        }
        let found = graphs::found_at(&opening, file.graph(), position.into())?;
        found.map(|found| NameOf::read(&opening, &found).map(|name| name.bytes)).transpose()
    };
    read().ok().flatten().unwrap_or_default()
}

/// The names in one graph. Positions are the offsets of the fields with the names.
struct Names<'r, 'a> {
    file: &'r OnnxFile<'a>,
    opening: &'r ParseContext<'a>,
    end: u64,
    error: Option<Error>,
}

impl<'a> Names<'_, 'a> {
    fn read(&self, place: &mut u32) -> ParseResult<Option<(&'a [u8], u32)>> {
        let mut fields = Reader::new(self.opening, FORMAT, Extent::from(u64::from(*place)..self.end));
        while let Some(item) = graphs::next_item(self.opening, &mut fields, self.file.nodes())? {
            if let Item::Tensor(found) = item {
                *place = offset(fields.position());
                let name = NameOf::read(self.opening, &found)?;
                return Ok(Some((name.bytes, offset(name.at))));
            }
        }
        Ok(None)
    }
}

impl<'a> Distinct for Names<'_, 'a> {
    type Entry = &'a [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'a [u8], u32)> {
        self.read(place).unwrap_or_else(|stop| {
            self.error = Some(self.opening.error(stop));
            None
        })
    }

    fn at(&self, position: u32) -> &'a [u8] {
        name_at(self.file, position)
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Calls `f` for each graph with its extent and the number of its tensors.
fn each_graph(
    file: &OnnxFile<'_>,
    opening: &ParseContext<'_>,
    mut f: impl FnMut(Extent, u32) -> Result<()>,
) -> Result<()> {
    let mut walk = Walk::new(opening, file.graph(), file.nodes());
    // The numbers of tensors so far, of the graph that the walk is in and those around.
    let mut counts = [0_u32; DEPTH + 1];
    loop {
        let step = walk.step().map_err(|stop| opening.error(stop))?;
        let Some(count) = counts.get_mut(walk.depth()) else { return Ok(()) };
        match step {
            Step::Entered => *count = 0,
            Step::Tensor(_) => *count = count.saturating_add(1),
            Step::Left => f(walk.graph, *count)?,
            Step::End => return Ok(()),
        }
    }
}

/// Compares the names in each graph. Returns true if a graph has too many to compare them.
pub(super) fn compare(file: &OnnxFile<'_>, memory: &mut (impl Memory + ?Sized)) -> Result<bool> {
    let (opening, mut are_many) = (ParseContext::of(file.input), false);
    let mut compare = |graph: Extent, count| {
        if count < 2 {
            return Ok(());
        }
        let mut names = Names { file, opening: &opening, end: graphs::end(graph), error: None };
        match memory.compare(&mut names, offset(graph.offset), count)? {
            Compared::Clash(at) => {
                return Err(Error::at(ErrorKind::RepeatedName, FORMAT, Part::Name, at.into()));
            }
            Compared::TooMany => are_many = true,
            Compared::Distinct => {}
        }
        Ok(())
    };
    if file.is_nested { each_graph(file, &opening, compare) } else { compare(file.graph(), file.count) }?;
    Ok(are_many)
}

/// Returns the number of tensors in the graph with the most.
pub(super) fn most(file: &OnnxFile<'_>) -> u32 {
    let mut most = 0;
    let counted = each_graph(file, &ParseContext::of(file.input), |_, count| {
        most = most.max(count);
        Ok(())
    });
    counted.map_or(0, |()| most)
}
