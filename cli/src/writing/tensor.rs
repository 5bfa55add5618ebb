//! A tensor to write: its declaration, and the source of its bytes, which `read` reads.

use std::cell::RefCell;

use tenslice::blocks::BlockType;
use tenslice::write::{NewAttribute, NewLayout, NewTensor, NewValue};
use tenslice::{ByteOrder, Component, DType, Encoding, Layout, Order, Tensor};
use typed_arena::Arena;

use super::Target;
use super::attributes::{self, Named};
use super::float::Float;
use crate::common::checkpoint::check_values;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::text::printable;
use crate::quantizing::Quantizer;
use crate::quantizing::errors::{Errors, Summary};
use crate::values::quantized::is_quantized;
use crate::values::stated::Stated;

/// How tensors are converted.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    pub target: Target,
    pub float: Option<Float>,
    /// Layouts that the target does not hold are written as dense arrays.
    pub is_dense: bool,
}

/// A tensor to write.
pub struct Item<'m> {
    pub name: String,
    pub shape: Vec<u64>,
    layout: OwnedLayout,
    attributes: Vec<Named>,
    pub(super) opened: &'m Opened<'m>,
    pub(super) tensor: Tensor<'m>,
    pub(super) source: Source,
}

/// The layout of a tensor to write: see [`NewLayout`].
#[derive(Clone, Debug)]
enum OwnedLayout {
    Dense(DType),
    Items { descr: String, size: u64 },
    Blocks(BlockType),
    Csr { dtype: DType, count: u64, indices: DType, pointers: DType },
    Coo { dtype: DType, count: u64, indices: DType },
    Pairs { dtype: DType, count: u64 },
    Train { dtype: DType, ranks: Vec<u64> },
}

/// Where the bytes come from.
#[derive(Debug)]
pub(super) enum Source {
    /// The components with these roles, as they are, one after the other.
    Components(Vec<String>),
    /// The elements of a dense array.
    Elements(Elements),
    /// The elements of a dense array of floats, quantized; and the errors of those that have been written.
    Quantized(Elements, Quantizer, RefCell<Errors>),
    /// Bytes that are not in the model.
    Bytes(Vec<u8>),
}

/// How the elements of a dense array are written.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub order: Order,
    /// The dimensions of the source, in the order in which they are written; for row-major order.
    pub permutation: Option<Vec<usize>>,
    /// The float to convert to.
    pub float: Option<Float>,
}

impl Elements {
    pub const ROW_MAJOR: Self = Self { order: Order::RowMajor, permutation: None, float: None };
}

impl<'m> Item<'m> {
    /// Decides how a tensor is written. The layouts that the target cannot hold are refused later, by the writer, which
    /// names the tensor.
    pub fn new(
        (opened, tensor): (&'m Opened<'m>, Tensor<'m>),
        name: String,
        conversion: Conversion,
    ) -> Result<Self, Failure> {
        if let Some(problem) = opened.problem(&tensor) {
            return Err(problem.into());
        }
        check_values(opened, &tensor, ", or leave it out: --exclude")?;
        let of_tensor = attributes::all(tensor.attributes());
        let mut item = Self {
            name,
            shape: tensor.shape().iter().collect(),
            layout: OwnedLayout::Dense(tensor.dtype().unwrap_or(DType::U8)),
            attributes: of_tensor,
            opened,
            tensor,
            source: Source::Elements(Elements::ROW_MAJOR),
        };
        let is_float = matches!(tensor.dtype(), Some(DType::F16 | DType::BF16 | DType::F32 | DType::F64));
        match (tensor.layout(), conversion.float) {
            (Layout::Blocks, Some(float)) => item.convert(float),
            (Layout::Dense, Some(float)) if is_quantized(opened, &tensor) => item.convert(float),
            (Layout::Dense | Layout::Strided | Layout::Chunked, Some(float))
                if is_float && tensor.dtype() != Some(float.dtype()) =>
            {
                item.convert(float);
            }
            (Layout::Dense | Layout::Strided | Layout::Chunked | Layout::Other, _) => item.dense(conversion)?,
            (layout, _) => {
                let is_kept = item.keep()?;
                if !is_kept || conversion.is_dense && !holds(layout, conversion.target) {
                    if !conversion.is_dense {
                        return Err(
                            item.fail(&format!("a tensor of layout {} cannot be written", tensor.layout_name()))
                        );
                    }
                    item.dense(conversion)?;
                }
            }
        }
        if let OwnedLayout::Blocks(_) = item.layout {
            // The writer derives them from the type of the blocks.
            item.attributes.retain(|(key, _)| key != "elems_per_block" && key != "block_bytes");
        }
        Ok(item)
    }

    fn convert(&mut self, float: Float) {
        self.layout = OwnedLayout::Dense(float.dtype());
        self.source = Source::Elements(Elements { float: Some(float), ..Elements::ROW_MAJOR });
        // The scales do not apply to its numbers.
        if self.tensor.layout() == Layout::Blocks || is_quantized(self.opened, &self.tensor) {
            self.attributes.clear();
        }
    }

    /// Writes the elements as a dense array.
    fn dense(&mut self, conversion: Conversion) -> Result<(), Failure> {
        let array = self.opened.array(&self.tensor).map(std::borrow::Cow::into_owned);
        let dtype = array.as_ref().map_or(self.tensor.dtype(), |array| array.dtype);
        if let Some(array) = &array {
            self.shape.clone_from(&array.shape);
        }
        self.layout = match dtype {
            Some(dtype) => OwnedLayout::Dense(dtype),
            None => {
                let stated = Stated::of(self.opened, &self.tensor, None);
                let (Some(descr), Some(size)) = (stated.literal(stated.size()), stated.size()) else {
                    return Err(self.fail(&format!("elements of type {} cannot be written", stated.text)));
                };
                OwnedLayout::Items { descr, size }
            }
        };
        let order = if conversion.target == Target::Tens { Order::ColumnMajor } else { Order::RowMajor };
        let stored = array.map_or(Order::RowMajor, |array| array.order);
        let is_in_order = self.shape.len() < 2 || stored == order;
        let parts: Vec<Component<'_>> = self.tensor.components().collect();
        let is_plain = self.tensor.layout() == Layout::Dense
            && matches!(&parts[..], [part] if part.encoding() != Encoding::Blosc);
        self.source = match is_in_order && is_plain {
            true => Source::Components(vec![parts[0].role().to_string()]),
            false => Source::Elements(Elements { order, ..Elements::ROW_MAJOR }),
        };
        Ok(())
    }

    /// Writes the components as they are. Returns `false` if no writer has such a layout.
    fn keep(&mut self) -> Result<bool, Failure> {
        let tensor = self.tensor;
        let fail = |error| self.opened.fail(error);
        let count = |part: &Component<'_>| {
            let size = part.dtype().and_then(DType::size).unwrap_or(1);
            part.decoded_length().map(|length| length / size.max(1)).unwrap_or(0)
        };
        let index = |role: &str| -> Result<DType, Failure> {
            let part = tensor.component(role).map_err(fail)?;
            part.dtype().ok_or_else(|| self.fail("the type of its indices is unknown"))
        };
        let (layout, roles): (OwnedLayout, Vec<String>) = match tensor.layout() {
            Layout::Blocks => {
                let Some(block_type) = tensor.block_type() else { return Ok(false) };
                (OwnedLayout::Blocks(block_type), tensor.components().map(|part| part.role().to_string()).collect())
            }
            Layout::SparseCsr | Layout::SparseCoo => {
                let values = tensor.component("values").map_err(fail)?;
                let Some(dtype) = values.dtype() else { return Ok(false) };
                let count = count(&values);
                if tensor.layout() == Layout::SparseCsr {
                    let (indices, pointers) = (index("indices")?, index("indptr")?);
                    let roles = ["values", "indices", "indptr"].map(String::from).to_vec();
                    (OwnedLayout::Csr { dtype, count, indices, pointers }, roles)
                } else {
                    let indices = index("coords")?;
                    (OwnedLayout::Coo { dtype, count, indices }, ["values", "coords"].map(String::from).to_vec())
                }
            }
            Layout::IndexValue => {
                let Some(part) = tensor.components().next() else { return Ok(false) };
                let Some(dtype) = tensor.dtype().filter(|_| part.byte_order() == ByteOrder::Little) else {
                    return Ok(false);
                };
                let pair = 8 + dtype.size().unwrap_or(0);
                let count = part.decoded_length().unwrap_or(0) / pair;
                (OwnedLayout::Pairs { dtype, count }, vec![part.role().to_string()])
            }
            Layout::TensorTrain => {
                let Some((blz, dtype)) = self.opened.file.as_blz().zip(tensor.dtype()) else { return Ok(false) };
                let mut ranks: Vec<u64> = blz.cores().map(|core| core.shape[0]).collect();
                ranks.push(1);
                let roles = tensor.components().map(|part| part.role().to_string()).collect();
                (OwnedLayout::Train { dtype, ranks }, roles)
            }
            _ => return Ok(false),
        };
        (self.layout, self.source) = (layout, Source::Components(roles));
        Ok(true)
    }

    /// Permutes the dimensions of a dense array: dimension `n` of what is written is dimension `permutation[n]` of the
    /// source.
    pub fn permute(&mut self, permutation: &[usize]) -> Result<(), Failure> {
        let OwnedLayout::Dense(dtype) = self.layout else {
            return Err(self.fail("only the dimensions of a dense tensor can be permuted"));
        };
        if dtype.is_packed() {
            return Err(self.fail(&format!("the dimensions of {dtype} cannot be permuted: elements share bytes")));
        }
        if self.is_without_scales() {
            return Err(
                self.fail("the dimensions of quantized integers cannot be permuted: convert them with --dtype")
            );
        }
        let elements = self.elements();
        if elements.order != Order::RowMajor {
            return Err(self.fail("the dimensions of a TENS file cannot be permuted: write another format first"));
        }
        self.shape = permutation.iter().map(|from| self.shape[*from]).collect();
        self.source = Source::Elements(Elements { permutation: Some(permutation.to_vec()), ..elements });
        Ok(())
    }

    /// How the elements of a dense array are written.
    pub(super) fn elements(&self) -> Elements {
        match &self.source {
            Source::Elements(elements) | Source::Quantized(elements, ..) => elements.clone(),
            Source::Components(_) | Source::Bytes(_) => Elements::ROW_MAJOR,
        }
    }

    /// The type of a dense array.
    pub fn dtype(&self) -> Option<DType> {
        if let OwnedLayout::Dense(dtype) = self.layout { Some(dtype) } else { None }
    }

    /// Writes the elements of a dense array of floats quantized.
    pub fn quantize(&mut self, quantizer: Quantizer) {
        self.layout = match &quantizer {
            Quantizer::Blocks(block_type) => OwnedLayout::Blocks(*block_type),
            Quantizer::Int8(_) => OwnedLayout::Dense(DType::I8),
        };
        self.source = Source::Quantized(self.elements(), quantizer, RefCell::new(Errors::new(&self.shape)));
    }

    /// The type to which the tensor has been quantized, and the errors; `None` if it is not quantized.
    pub fn errors(&self) -> Option<(&Quantizer, Summary)> {
        match &self.source {
            Source::Quantized(_, quantizer, errors) => Some((quantizer, errors.borrow().summary())),
            _ => None,
        }
    }

    /// Writes these little-endian elements instead of those of the source.
    pub fn replace(&mut self, dtype: DType, elements: Vec<u8>) {
        (self.layout, self.source) = (OwnedLayout::Dense(dtype), Source::Bytes(elements));
    }

    /// A list of little-endian elements that belongs to the tensor, named after it.
    pub fn with_list(&self, ending: &str, dtype: DType, elements: Vec<u8>) -> Self {
        Self {
            name: format!("{}_{ending}", self.name),
            shape: vec![elements.len() as u64 / dtype.size().unwrap_or(1)],
            layout: OwnedLayout::Dense(dtype),
            attributes: Vec::new(),
            opened: self.opened,
            tensor: self.tensor,
            source: Source::Bytes(elements),
        }
    }

    /// The declaration of the tensor, with these attributes.
    pub fn declared<'a>(&'a self, attributes: &'a [NewAttribute<'a>]) -> NewTensor<'a> {
        let layout = match &self.layout {
            OwnedLayout::Dense(dtype) => NewLayout::Dense(*dtype),
            OwnedLayout::Items { descr, size } => NewLayout::Items { descr, size: *size },
            OwnedLayout::Blocks(block_type) => NewLayout::Blocks(*block_type),
            OwnedLayout::Csr { dtype, count, indices, pointers } => {
                NewLayout::Csr { dtype: *dtype, count: *count, indices: *indices, pointers: *pointers }
            }
            OwnedLayout::Coo { dtype, count, indices } => {
                NewLayout::Coo { dtype: *dtype, count: *count, indices: *indices }
            }
            OwnedLayout::Pairs { dtype, count } => NewLayout::Pairs { dtype: *dtype, count: *count },
            OwnedLayout::Train { dtype, ranks } => NewLayout::Train { dtype: *dtype, ranks },
        };
        NewTensor { name: &self.name, shape: &self.shape, layout, attributes }
    }

    /// The attributes that the target holds, with their lists in the arenas.
    pub fn attributes<'a>(&'a self, target: Target, arenas: &'a Arenas<'a>) -> &'a [NewAttribute<'a>] {
        if target.has_tensor_attributes() { arenas.attributes(&self.attributes) } else { &[] }
    }

    /// True if the target does not hold the attributes of this tensor.
    pub fn loses_attributes(&self, target: Target) -> bool {
        !target.has_tensor_attributes() && !self.attributes.is_empty()
    }

    /// True for quantized integers that are written as integers.
    pub fn is_without_scales(&self) -> bool {
        self.elements().float.is_none() && is_quantized(self.opened, &self.tensor)
    }

    /// The number of bytes that are written.
    pub fn length(&self) -> u64 {
        self.declared(&[]).length().unwrap_or(0)
    }

    /// A failure that names the tensor.
    pub fn fail(&self, message: &str) -> Failure {
        Failure::new("WrongType", format!("tensor \"{}\": {message}", printable(&self.name)))
    }
}

/// Memory for lists of values that declarations borrow.
#[derive(Default)]
pub struct Arenas<'a> {
    values: Arena<NewValue<'a>>,
    attributes: Arena<NewAttribute<'a>>,
}

impl<'a> Arenas<'a> {
    /// The attributes for a writer.
    pub fn attributes(&'a self, all: &'a [Named]) -> &'a [NewAttribute<'a>] {
        let new = |(key, value): &'a Named| NewAttribute { key, value: value.to_new(&self.values) };
        let new: Vec<_> = all.iter().map(new).collect();
        self.attributes.alloc_extend(new)
    }
}

/// True if a target holds tensors of a layout that is not dense.
fn holds(layout: Layout, target: Target) -> bool {
    match layout {
        Layout::SparseCsr | Layout::SparseCoo => target.has_tensor_attributes(),
        Layout::IndexValue => target == Target::Tens,
        Layout::TensorTrain => target == Target::Blz,
        Layout::Blocks => true, // --dense does not concern blocks
        _ => false,
    }
}
