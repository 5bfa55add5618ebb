//! ONNX models (`.onnx`), as files of tensors. Nothing in a model is computed.
//!
//! ```text
//! ModelProto  1 ir_version, 7 graph, 14 metadata_props
//! GraphProto  1 node, 2 name, 5 initializer, 15 sparse_initializer                        (graphs.rs)
//! NodeProto   2 output, 4 op_type, 5 attribute, which may hold a tensor or a graph        (node.rs)
//! TensorProto 1 dims, 2 data_type, 8 name, and the elements: 9 raw_data, a typed field or
//!             13 external_data                                                            (tensor.rs)
//! ```
//!
//! A file is one protobuf message from the first byte to the last. It has no magic: a file of no other format is walked
//! by the lengths of its fields. The tensors are the initializers and the values of Constant nodes, of the graph and of
//! all graphs inside. The rules are those of the format's checker, except where readers differ: then a file is rejected.
#![forbid(unsafe_code)]

mod dims;
mod explain;
mod external;
mod graphs;
mod model;
mod names;
mod node;
mod schema;
mod sparse;
mod tensor;
mod values;

use core::num::NonZeroU32;

use self::graphs::{Found, MAIN, NAMELESS, Nodes, UNKNOWN, Walk};
pub(super) use self::model::is_model;
pub use self::model::{Opset, Opsets};
use self::names::NameOf;
use self::sparse::Sparse;
use self::tensor::{Place, Proto};
use super::{
    ComponentRecord, Context, Cursor, FileFormat, ListedShard, Name, Named, NamedTensors, Summary, TensorRecord,
};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::decoder::Decoder;
#[cfg(not(target_os = "none"))]
use crate::duplicates::Hashed as Few;
#[cfg(target_os = "none")]
use crate::duplicates::Stack as Few;
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::Layout;

const FORMAT: Format = Format::Onnx;

/// The longest file. Protobuf's own limit is 2 GiB; larger models have their data in other files.
const LONGEST: u64 = 0xffff_ffff;

/// An ONNX model.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/onnx/py_metadata.onnx");
/// let file = tenslice::File::open(bytes)?;
/// let model = file.as_onnx().ok_or("another format")?;
/// println!("IR version {}, written by {:?}", model.ir_version(), model.producer_name());
/// for opset in model.opsets() {
///     println!("operators {:?}, version {}", opset.domain, opset.version);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OnnxFile<'a> {
    input: Input<'a>,
    /// The start and the end of the main graph.
    start: u32,
    end: u32,
    count: u32,
    /// True if graphs inside the main graph have tensors.
    is_nested: bool,
    /// True if a node holds a tensor or a graph with tensors.
    has_nodes: bool,
}

/// An offset in a file, whose length [`LONGEST`] limits.
fn offset(at: u64) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<'a> OnnxFile<'a> {
    /// The main graph.
    fn graph(&self) -> Extent {
        Extent::from(u64::from(self.start)..u64::from(self.end))
    }

    /// The nodes that a walk behind opening reads.
    const fn nodes(&self) -> Nodes {
        if self.has_nodes { Nodes::Read } else { Nodes::Skip }
    }

    /// Reads and checks a tensor into `tensor`.
    fn fill(&self, opening: &ParseContext<'a>, found: &Found, tensor: &mut TensorRecord<'a>) -> ParseResult<()> {
        let read = self.fill_in(opening, found, tensor);
        read.map_err(|stop| {
            let error = opening.error(stop);
            let distance = error.offset().and_then(|at| at.checked_sub(found.at));
            let distance = distance.and_then(|distance| u32::try_from(distance).ok());
            opening.stop(distance.map_or(error, |distance| error.after_entry(distance)))
        })
    }

    fn fill_in(&self, opening: &ParseContext<'a>, found: &Found, tensor: &mut TensorRecord<'a>) -> ParseResult<()> {
        tensor.at = found.at;
        if found.is_sparse {
            tensor.name = Utf8::known(NameOf::read(opening, found)?.bytes);
            let sparse = Sparse::read(opening, found.message)?;
            tensor.dtype = sparse.check(opening)?.dtype;
            tensor.shape = sparse.shape(opening)?;
            (tensor.layout, tensor.layout_name) = (Layout::Other, Utf8::new("onnx.sparse"));
            return Ok(());
        }
        let proto = Proto::read(opening, found.message)?;
        let name = if found.is_constant { found.output } else { proto.name };
        tensor.name = Utf8::known(NameOf::of(opening, found, name)?.bytes);
        let (dtype, place) = proto.check(opening)?;
        tensor.dtype = dtype;
        tensor.shape = proto.shape(opening)?;
        match place {
            Place::Texts(_) => (tensor.layout, tensor.layout_name) = (Layout::Other, Utf8::new("onnx.string")),
            Place::Encoded(encoding, ..) => tensor.layout_name = tensor::layout_of(encoding),
            Place::Here(_) | Place::Elsewhere(_) if dtype.is_none() => {
                (tensor.layout, tensor.layout_name) = (Layout::Other, Utf8::new("onnx.string"));
            }
            Place::Here(extent) => tensor.components = offset(extent.offset),
            Place::Elsewhere(_) => {}
        }
        Ok(())
    }

    /// True if a sparse tensor has one number for each index, not one for each dimension.
    fn has_linear_indices(&self, tensor: &TensorRecord<'a>) -> Result<bool> {
        let opening = ParseContext::of(self.input);
        let found = self.found(&opening, tensor.at)?;
        let parts = Sparse::read(&opening, found.message).and_then(|sparse| sparse.check(&opening));
        parts.map(|parts| parts.indices.dims.rank == 1).map_err(|stop| opening.error(stop))
    }

    /// Returns the tensor at a position in the main graph or in a graph inside.
    fn found(&self, opening: &ParseContext<'a>, position: u64) -> Result<Found> {
        let found = graphs::found_at(opening, self.graph(), position).map_err(|stop| opening.error(stop))?;
        found.ok_or(Error::new(ErrorKind::NotFound))
    }

    /// Walks over all tensors and checks each completely.
    fn check_tensors(&mut self, opening: &ParseContext<'a>) -> ParseResult<()> {
        let mut walk = Walk::new(opening, self.graph(), Nodes::Read);
        while let Some(found) = walk.next()? {
            self.fill(opening, &found, &mut TensorRecord::blank())?;
            self.is_nested |= walk.mark() != MAIN;
            self.has_nodes |= found.is_constant || self.is_nested;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }
}

impl<'a> FileFormat<'a> for OnnxFile<'a> {
    const FORMAT: Format = FORMAT;
    const HAS_NAMES_AT_TENSORS: bool = true;

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let graph = model::check(opening)?;
        let (start, end) = (offset(graph.offset), offset(graphs::end(graph)));
        let mut file = Self { input: opening.input, start, end, count: 0, is_nested: false, has_nodes: false };
        file.check_tensors(opening)?;
        Ok(file)
    }

    /// Compares the names.
    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        summary.tensor_count = self.count.into();
        if names::compare(self, &mut Few)? {
            summary.warnings.add(Warning::NamesUnchecked);
        }
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    /// The version of the format, as far as there is a text for it. See [`OnnxFile::ir_version`].
    fn version(&self) -> Option<&'a str> {
        model::version(self.ir_version())
    }

    fn attributes(&self) -> Attributes<'a> {
        Attributes::onnx(self.input, Extent::new(0, self.input.length()), schema::model::METADATA, None)
    }

    /// A graph inside another one may repeat its names, as may two graphs of a node.
    fn may_names_repeat(&self) -> bool {
        self.is_nested
    }

    fn next_shard(&self, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        values::next_shard(self, cursor)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        if cursor.index >= self.count {
            return Ok(false);
        }
        let opening = ParseContext::of(self.input);
        let mut walk = Walk::at(&opening, self.graph(), self.nodes(), cursor);
        let mut next = || {
            let changed = || opening.fail((ErrorKind::Malformed, FORMAT, Part::Tensors), 0);
            let found = walk.next()?.ok_or_else(changed)?;
            self.fill(&opening, &found, tensor)
        };
        next().map_err(|stop| opening.error(stop))?;
        tensor.attributes = walk.mark();
        tensor.index = cursor.index;
        walk.save(cursor);
        Ok(true)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        if summary.warnings.contains(Warning::NamesUnchecked) {
            names::compare(self, scratch)?;
        }
        Ok(summary.warnings.without(Warning::NamesUnchecked))
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        if summary.warnings.contains(Warning::NamesUnchecked) { names::most(self).into() } else { 0 }
    }

    fn tensor_attributes(&self, tensor: &TensorRecord<'a>) -> Attributes<'a> {
        let opening = ParseContext::of(self.input);
        let Ok(found) = self.found(&opening, tensor.at) else { return Attributes::NONE };
        let mark = match tensor.attributes {
            _ if !self.is_nested => MAIN,
            UNKNOWN => graphs::mark_at(&opening, self.graph(), tensor.at).unwrap_or(MAIN),
            mark => mark,
        };
        let graph = match mark {
            MAIN => None,
            NAMELESS => Some(&[][..]),
            at => Some(names::name_of_graph(self, at)),
        };
        let message =
            if found.is_sparse { names::values(&opening, &found).ok().flatten() } else { Some(found.message) };
        let message = message.unwrap_or(Extent::new(0, 0));
        Attributes::onnx(self.input, message, schema::tensor::METADATA, graph)
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        // Dense elements are at a place that is known, and as long as the shape and the dtype require.
        if let (0, Some(place)) = (cursor.index, NonZeroU32::new(tensor.components)) {
            (part.dtype, part.storage) = (tensor.dtype, tensor.dtype);
            let length =
                tensor.dtype.zip(tensor.shape.element_count()).and_then(|(dtype, count)| dtype.byte_length(count));
            part.set_extent(Extent::new(place.get().into(), length.unwrap_or(0)));
            cursor.index = 1;
            return Ok(true);
        }
        let opening = ParseContext::of(self.input);
        let found = self.found(&opening, tensor.at)?;
        let mut read = || {
            let proto = match (found.is_sparse, cursor.index) {
                (false, 0) => Proto::read(&opening, found.message)?,
                (true, index @ 0..=1) => {
                    part.reset(tensor.at, 0);
                    let parts = Sparse::read(&opening, found.message)?.check(&opening)?;
                    part.role = Utf8::new(if index == 0 { "values" } else { "indices" });
                    if index == 0 { parts.values } else { parts.indices }
                }
                _ => return Ok(false),
            };
            proto.fill(&opening, part)?;
            Ok(true)
        };
        let is_there = read().map_err(|stop| opening.error(stop))?;
        cursor.index = cursor.index.saturating_add(is_there.into());
        Ok(is_there)
    }

    fn verify_whole(&self, tensor: &TensorRecord<'a>, _: &mut dyn Decoder, _: &mut [u8]) -> Result<Warnings> {
        values::check_indices(self, tensor)?;
        Ok(Warnings::default())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for OnnxFile<'a> {
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let opening = ParseContext::of(self.input);
        let mut walk = Walk::new(&opening, self.graph(), self.nodes());
        let mut index = 0_u32;
        let mut find = || {
            while let Some(found) = walk.next()? {
                if NameOf::read(&opening, &found)?.bytes == name {
                    self.fill(&opening, &found, tensor)?;
                    tensor.attributes = walk.mark();
                    return Ok(true);
                }
                index = index.saturating_add(1);
            }
            Ok(false)
        };
        let is_there = find().map_err(|stop| opening.error(stop))?;
        tensor.index = index;
        if is_there { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }

    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let opening = ParseContext::of(self.input);
        let mut walk = Walk::at(&opening, self.graph(), self.nodes(), cursor);
        let mut next = || {
            let Some(found) = walk.next()? else { return Ok(None) };
            let name = NameOf::read(&opening, &found)?;
            let (text, name_at) = (Text::new(name.bytes, false), offset(name.at));
            Ok(Some(Named { name: text, name_at, tensor_at: offset(found.at) }))
        };
        let named = next().map_err(|stop| opening.error(stop))?;
        if named.is_some() {
            walk.save(cursor);
        }
        Ok(named)
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        Name::Plain(names::name_at(self, position))
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        let opening = ParseContext::of(self.input);
        let found = self.found(&opening, position.into())?;
        self.fill(&opening, &found, tensor).map_err(|stop| opening.error(stop))?;
        tensor.index = index;
        Ok(())
    }
}
