//! The walk over the tensors of all graphs, in the order of the file, without recursion.
//!
//! A graph is inside an attribute of a node of the graph around it. A walk knows its position, the end of the graph it is
//! in, and the node of each graph around that one. Behind a graph, the attributes of its node are read once more.
#![forbid(unsafe_code)]

use super::node::Node;
use super::schema::{self, attribute, graph, node};
use super::{FORMAT, offset};
use crate::bytes::extent::Extent;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::bytes::utf8::is_utf8;
use crate::codec::protobuf::levels::Levels;
use crate::codec::protobuf::{Field, Reader, Schema};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::Cursor;

/// The fields that may be read once more, behind graphs, for each byte of the model, and for any model.
const MOST_AGAIN: u64 = 64;
const MORE: u64 = 1 << 16;

/// The marks of graphs: of one that must be looked for, of one without a name, and of the main graph. The mark of any
/// other graph is the offset of the field with its name.
pub(super) const UNKNOWN: u32 = 0;
pub(super) const NAMELESS: u32 = 1;
pub(super) const MAIN: u32 = u32::MAX;

/// A tensor in a graph.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// The offset of the field of the graph: of an initializer, or of a Constant node.
    pub(super) at: u64,
    /// The message of the tensor, and whether the tensor is sparse.
    pub(super) message: Extent,
    pub(super) is_sparse: bool,
    /// The field that names the output of a Constant node; `None` for an initializer, which has its own name.
    pub(super) output: Option<Field>,
    /// True if the tensor is the value of a Constant node.
    pub(super) is_constant: bool,
}

/// The nodes of a graph, for a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nodes {
    Read,
    /// No node holds a tensor or a graph with tensors, so each is skipped in one step.
    Skip,
}

/// A step of a walk.
pub(super) enum Step {
    Entered,
    Tensor(Found),
    /// The walk is behind the last field of this graph.
    Left,
    End,
}

/// A walk over all graphs.
pub(super) struct Walk<'r, 'a> {
    opening: &'r ParseContext<'a>,
    /// The main graph.
    root: Extent,
    /// The graph that the walk is in, and the reader of its fields.
    pub(super) graph: Extent,
    fields: Reader<'r, 'a>,
    /// The nodes that hold the graph and those around it. The marks are the offsets of the names of graphs.
    levels: Levels,
    nodes: Nodes,
    /// True behind the last field of the graph.
    is_behind: bool,
    /// The fields that were read again.
    work: u64,
}

impl<'r, 'a> Walk<'r, 'a> {
    /// A walk over the main graph `root` and the graphs inside, from its start.
    pub(super) fn new(opening: &'r ParseContext<'a>, root: Extent, nodes: Nodes) -> Self {
        let fields = Reader::new(opening, FORMAT, root);
        Self { opening, root, graph: root, fields, levels: Levels::START, nodes, is_behind: false, work: 0 }
    }

    /// A walk that continues at a cursor.
    pub(super) fn at(opening: &'r ParseContext<'a>, root: Extent, nodes: Nodes, cursor: &Cursor) -> Self {
        if cursor.at == 0 {
            return Self::new(opening, root, nodes);
        }
        let graph = Extent::from(cursor.at..u64::from(cursor.left));
        let fields = Reader::new(opening, FORMAT, graph);
        Self { opening, root, graph, fields, levels: cursor.levels(), nodes, is_behind: false, work: 0 }
    }

    /// Moves a cursor to the position of the walk.
    pub(super) fn save(&self, cursor: &mut Cursor) {
        *cursor = Cursor::new(self.fields.position(), offset(end(self.graph)), cursor.index.saturating_add(1));
        cursor.set_levels(self.levels);
    }

    /// The offset of the name of the graph that the walk is in, [`NAMELESS`] or [`MAIN`]. [`UNKNOWN`] only between the end of
    /// a graph in more than eight others and the next tensor.
    pub(super) fn mark(&self) -> u32 {
        self.levels.last().map_or(MAIN, |_| self.levels.mark())
    }

    /// The number of graphs around the one that the walk is in.
    pub(super) fn depth(&self) -> usize {
        self.levels.depth()
    }

    /// Returns the next tensor.
    pub(super) fn next(&mut self) -> ParseResult<Option<Found>> {
        loop {
            match self.step()? {
                Step::Tensor(found) => return Ok(Some(found)),
                Step::End => return Ok(None),
                Step::Entered | Step::Left => {}
            }
        }
    }

    /// Reads up to the next tensor, or to the start or behind the end of a graph.
    pub(super) fn step(&mut self) -> ParseResult<Step> {
        if self.is_behind {
            match self.leave()? {
                Step::Left => {}
                step => return Ok(step),
            }
        }
        match next_item(self.opening, &mut self.fields, self.nodes)? {
            Some(Item::Tensor(found)) => {
                if self.mark() == UNKNOWN {
                    let name = self.name()?;
                    self.levels.set_mark(mark_of(name));
                }
                Ok(Step::Tensor(found))
            }
            Some(Item::Graphs(node)) => self.enter(node),
            None => {
                self.is_behind = true;
                Ok(Step::Left)
            }
        }
    }

    /// Continues behind a graph: with the next graph of the same node, or behind the node.
    fn leave(&mut self) -> ParseResult<Step> {
        let Some(node) = self.levels.last() else { return Ok(Step::End) };
        if let Some(next) = self.graph_behind(node, end(self.graph))? {
            return self.begin(next);
        }
        self.levels.pop();
        let graph = match self.levels.last() {
            Some(outer) => self.graph_behind(outer, node.into())?,
            None => None,
        };
        self.graph = graph.unwrap_or(self.root);
        let after = end(self.field_at(node)?.extent());
        self.fields = Reader::new(self.opening, FORMAT, Extent::from(after..end(self.graph)));
        self.is_behind = false;
        Ok(Step::Left)
    }

    /// Enters the first graph of the node at `at`.
    fn enter(&mut self, at: u64) -> ParseResult<Step> {
        if self.levels.push(offset(at)).is_none() {
            return Err(self.fields.fail(ErrorKind::TooDeep, Part::Tensors, at));
        }
        match self.graph_behind(offset(at), at)? {
            Some(first) => self.begin(first),
            None => Err(self.fields.fail(ErrorKind::Malformed, Part::Tensors, at)), // the bytes have changed
        }
    }

    /// Begins a graph of the innermost node.
    fn begin(&mut self, graph: Extent) -> ParseResult<Step> {
        self.graph = graph;
        self.fields = Reader::new(self.opening, FORMAT, graph);
        self.is_behind = false;
        let name = name(self.opening, graph, &mut 0)?;
        if let Some(field) = name {
            if !is_utf8(self.fields.bytes(field.extent())?) {
                return Err(self.fields.fail(ErrorKind::InvalidUtf8, Part::Name, field.at));
            }
        }
        self.levels.set_mark(mark_of(name));
        Ok(Step::Entered)
    }

    /// Returns the field at an offset in the main graph.
    fn field_at(&self, at: u32) -> ParseResult<Field> {
        field_at(self.opening, self.root, at.into())
    }

    /// Returns the first graph in the attributes of the node at `node` that ends behind `position`.
    fn graph_behind(&mut self, node: u32, position: u64) -> ParseResult<Option<Extent>> {
        let of_node = self.field_at(node)?;
        let (mut fields, mut work, mut found) = (Reader::new(self.opening, FORMAT, of_node.extent()), 0_u64, None);
        'attributes: while let Some(field) = fields.next(schema::NODE)? {
            work = work.saturating_add(1);
            if field.number != node::ATTRIBUTE || end(field.extent()) <= position {
                continue;
            }
            let mut fields = Reader::new(self.opening, FORMAT, field.extent());
            while let Some(field) = fields.next(schema::ATTRIBUTE)? {
                work = work.saturating_add(1);
                if is_graph(&field) && end(field.extent()) > position {
                    found = Some(field.extent());
                    break 'attributes;
                }
            }
        }
        self.again(work, of_node.at)?;
        Ok(found)
    }

    /// Returns the field with the name of the graph, whose fields are read once more.
    fn name(&mut self) -> ParseResult<Option<Field>> {
        let mut work = 0;
        let name = name(self.opening, self.graph, &mut work)?;
        self.again(work, self.graph.offset)?;
        Ok(name)
    }

    /// Counts fields that were read again, of the message at `at`.
    fn again(&mut self, work: u64, at: u64) -> ParseResult<()> {
        self.work = self.work.saturating_add(work);
        let is_too_much = self.work > self.root.length.saturating_mul(MOST_AGAIN).saturating_add(MORE);
        if is_too_much { Err(self.fields.fail(ErrorKind::TooMany, Part::Tensors, at)) } else { Ok(()) }
    }
}

/// A field of a graph that matters: a tensor, or a node with graphs, by its offset.
pub(super) enum Item {
    Tensor(Found),
    Graphs(u64),
}

/// Returns the next item in the fields of a graph.
pub(super) fn next_item(
    opening: &ParseContext<'_>,
    fields: &mut Reader<'_, '_>,
    nodes: Nodes,
) -> ParseResult<Option<Item>> {
    while let Some(field) = fields.next(schema::GRAPH)? {
        if let Some(found) = initializer(&field) {
            return Ok(Some(Item::Tensor(found)));
        }
        if field.number != graph::NODE || nodes == Nodes::Skip {
            continue;
        }
        let node = Node::read(opening, &field)?;
        if let Some(found) = node.found(&field) {
            return Ok(Some(Item::Tensor(found)));
        }
        if node.has_graphs {
            return Ok(Some(Item::Graphs(field.at)));
        }
    }
    Ok(None)
}

/// The tensor in a field of a graph, if the field is an initializer.
fn initializer(field: &Field) -> Option<Found> {
    let is_sparse = field.number == graph::SPARSE_INITIALIZER;
    let found = Found { at: field.at, message: field.extent(), is_sparse, output: None, is_constant: false };
    (is_sparse || field.number == graph::INITIALIZER).then_some(found)
}

/// Returns the tensor in the field at `at` of a graph inside `root`, if there is one.
pub(super) fn found_at(opening: &ParseContext<'_>, root: Extent, at: u64) -> ParseResult<Option<Found>> {
    let field = field_at(opening, root, at)?;
    if field.number == graph::NODE && field.has_length() {
        return Ok(Node::read(opening, &field)?.found(&field));
    }
    Ok(initializer(&field).filter(|_| field.has_length()))
}

/// Returns the field at an offset inside `root`.
pub(super) fn field_at(opening: &ParseContext<'_>, root: Extent, at: u64) -> ParseResult<Field> {
    let mut fields = Reader::new(opening, FORMAT, Extent::from(at..end(root)));
    match fields.next(Schema::UNKNOWN)? {
        Some(field) => Ok(field),
        None => Err(fields.fail(ErrorKind::OutOfPlace, Part::Tensor, at)),
    }
}

/// Returns the field with the name of a graph. Of several, the last counts. Adds the number of fields to `work`.
fn name(opening: &ParseContext<'_>, graph: Extent, work: &mut u64) -> ParseResult<Option<Field>> {
    let (mut fields, mut name) = (Reader::new(opening, FORMAT, graph), None);
    while let Some(field) = fields.next(schema::GRAPH)? {
        *work = work.saturating_add(1);
        if field.number == graph::NAME {
            name = Some(field);
        }
    }
    Ok(name)
}

/// Returns the mark of a graph whose name is in a field.
fn mark_of(name: Option<Field>) -> u32 {
    name.map_or(NAMELESS, |field| offset(field.at))
}

/// Returns the mark of the innermost graph around an offset. Linear in the fields of the graphs around the offset.
pub(super) fn mark_at(opening: &ParseContext<'_>, root: Extent, at: u64) -> ParseResult<u32> {
    let (mut graph, mut mark) = (root, MAIN);
    let contains = |extent: Extent| extent.offset <= at && at < end(extent);
    'graphs: loop {
        let mut nodes = Reader::new(opening, FORMAT, graph);
        while let Some(node) = nodes.next(schema::GRAPH)? {
            if node.number != graph::NODE || node.at == at || !contains(node.extent()) {
                continue;
            }
            let mut attributes = Reader::new(opening, FORMAT, node.extent());
            while let Some(attribute) = attributes.next(schema::NODE)? {
                if attribute.number != node::ATTRIBUTE || !contains(attribute.extent()) {
                    continue;
                }
                let mut fields = Reader::new(opening, FORMAT, attribute.extent());
                while let Some(field) = fields.next(schema::ATTRIBUTE)? {
                    if is_graph(&field) && contains(field.extent()) {
                        graph = field.extent();
                        mark = mark_of(name(opening, graph, &mut 0)?);
                        continue 'graphs;
                    }
                }
            }
        }
        return Ok(mark);
    }
}

/// True for the fields of an attribute that hold graphs.
pub(super) const fn is_graph(field: &Field) -> bool {
    matches!(field.number, attribute::GRAPH | attribute::GRAPHS)
}

/// The end of an extent inside the file.
pub(super) const fn end(extent: Extent) -> u64 {
    extent.offset.saturating_add(extent.length)
}
