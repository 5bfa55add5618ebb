//! The entries of a list of tensors in the caller's memory: what a program asks most often, without reading the file
//! again.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::bytes::text::Text;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{AnyFile, Cursor, FileFormat, NamedTensors, dispatch};
use crate::types::shape::Shape;
use crate::types::{DType, Encoding, Layout, Order};
use crate::view::component::Component;
use crate::view::tensor::Tensor;

/// A tensor in a list that [`File::list`](crate::File::list) has filled: its name, dtype and shape, and the place of its
/// bytes. [`File::tensor`](crate::File::tensor) returns the whole tensor.
///
/// A value of 96 bytes that borrows the file's bytes. Its methods read nothing from the file, except those of the
/// [`Shape`]. The default is an empty entry, for memory that is filled later.
#[derive(Clone, Copy, Debug)]
pub struct TensorEntry<'a> {
    name: Text<'a>,
    shape: Shape<'a>,
    /// 0 if their number exceeds 64 bits, which `has_element_count` tells from a tensor without elements.
    elements: u64,
    extent: Extent,
    /// The position of the tensor, as [`NamedTensors::next_name`] returns it.
    at: u32,
    index: u32,
    dtype: Option<DType>,
    layout: Layout,
    order: Order,
    has_element_count: bool,
    is_in_place: bool,
}

impl Default for TensorEntry<'_> {
    fn default() -> Self {
        Self {
            name: Text::default(),
            shape: Shape::SCALAR,
            elements: 0,
            extent: Extent::new(0, 0),
            at: 0,
            index: 0,
            dtype: None,
            layout: Layout::Other,
            order: Order::RowMajor,
            has_element_count: false,
            is_in_place: false,
        }
    }
}

impl<'a> TensorEntry<'a> {
    /// The entry of a tensor at the position `at`.
    fn new(tensor: &Tensor<'a>, at: u32) -> Result<Self> {
        let is_stored = matches!(tensor.layout(), Layout::Dense | Layout::Blocks) && tensor.problem().is_none();
        let mut components = tensor.components();
        let data = if is_stored { components.find(|component| component.role() == "data") } else { None };
        components.error().map_or(Ok(()), Err)?;
        let is_in_place = |data: &Component<'a>| data.encoding() == Encoding::Raw && data.shard_text().is_none();
        let data = data.filter(is_in_place).map(|data| data.extent());
        let elements = tensor.shape().element_count();
        Ok(Self {
            name: tensor.name(),
            shape: tensor.shape(),
            elements: elements.unwrap_or(0),
            extent: data.unwrap_or(Extent::new(0, 0)),
            at,
            index: u32::try_from(tensor.index()).unwrap_or(u32::MAX),
            dtype: tensor.dtype(),
            layout: tensor.layout(),
            order: tensor.order(),
            has_element_count: elements.is_some(),
            is_in_place: data.is_some(),
        })
    }

    /// Returns the name of the tensor, as [`Tensor::name`](crate::Tensor::name) does.
    #[must_use]
    pub const fn name(&self) -> Text<'a> {
        self.name
    }

    /// Returns the dtype of the elements, as [`Tensor::dtype`](crate::Tensor::dtype) does.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        self.dtype
    }

    /// Returns the shape, in the order of the file.
    #[must_use]
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// Returns the product of the dimensions; `None` if it exceeds 64 bits. The product is stored, not computed again.
    #[must_use]
    pub const fn element_count(&self) -> Option<u64> {
        if self.has_element_count { Some(self.elements) } else { None }
    }

    /// Returns the order of the elements.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// Returns how the components make up the tensor.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the place in the file of all elements of a dense tensor, or of all blocks of a quantized one, if they are
    /// stored raw. Returns `None` for any other tensor, and if the bytes are in a shard. A checksum of these bytes is
    /// not verified: see [`Tensor::verify`](crate::Tensor::verify).
    #[must_use]
    pub const fn extent(&self) -> Option<Extent> {
        if self.is_in_place { Some(self.extent) } else { None }
    }

    /// Returns the index of the tensor in the file, counted from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        u64::from(self.index)
    }

    /// The position of the tensor and its index, for [`NamedTensors::tensor_at`].
    pub(crate) const fn place(&self) -> (u32, u32) {
        (self.at, self.index)
    }
}

/// Fills the first places of `places` with all `count` tensors of a file, in the caller's type; returns these places.
pub(crate) fn list<'m, 'a, T>(
    file: AnyFile<'a>,
    count: u64,
    places: &'m mut [T],
    of: impl Fn(TensorEntry<'a>) -> T,
) -> Result<&'m mut [T]> {
    let places =
        to_usize(count).and_then(|count| places.get_mut(..count)).ok_or(Error::new(ErrorKind::OutOfScratch))?;
    dispatch!(&file, format => {
        let (mut names, mut tensors) = (Cursor::START, Cursor::START);
        for place in places.iter_mut() {
            let mut tensor = Tensor::blank(file);
            let named = format.next_name(&mut names)?;
            let is_read = format.next_tensor(&mut tensors, tensor.record_mut())?;
            let named = named.filter(|_| is_read).ok_or(Error::new(ErrorKind::Malformed))?;
            *place = of(TensorEntry::new(&tensor, named.tensor_at)?);
        }
    });
    Ok(places)
}
