//! Sparse tensors: values, and where they are. Linear indices, or a row of coordinates for each value.
#![forbid(unsafe_code)]

use super::FORMAT;
use super::dims::Dims;
use super::schema::{self, sparse};
use super::tensor::{Place, Proto};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Interrupted, ParseContext, ParseResult};
use crate::codec::protobuf::Reader;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::types::DType;
use crate::types::shape::{Dimensions, Shape};

/// The messages of a sparse tensor.
#[derive(Clone, Copy)]
pub(super) struct Sparse {
    message: Extent,
    pub(super) dims: Dims,
    values: Option<Extent>,
    indices: Option<Extent>,
}

/// A sparse tensor whose parts were read.
pub(super) struct Parts {
    pub(super) values: Proto,
    pub(super) indices: Proto,
    pub(super) dtype: Option<DType>,
}

impl Sparse {
    pub(super) fn read(opening: &ParseContext<'_>, message: Extent) -> ParseResult<Self> {
        let mut fields = Reader::new(opening, FORMAT, message);
        let mut found = Self { message, dims: Dims::NONE, values: None, indices: None };
        while let Some(field) = fields.next(schema::SPARSE)? {
            let place = match field.number {
                sparse::VALUES => &mut found.values,
                sparse::INDICES => &mut found.indices,
                sparse::DIMS => {
                    found.dims.add(&fields, &field)?;
                    continue;
                }
                _ => continue,
            };
            if place.replace(field.extent()).is_some() {
                return Err(fields.fail(ErrorKind::RepeatedKey, Part::Value, field.at));
            }
        }
        Ok(found)
    }

    /// Reads the values, which have the name of the tensor.
    pub(super) fn values(&self, opening: &ParseContext<'_>) -> ParseResult<Proto> {
        match self.values {
            Some(values) => Proto::read(opening, values),
            None => Err(self.fail(opening, ErrorKind::MissingComponent, Part::Components)),
        }
    }

    /// Checks the lengths, the values and the indices, but not where the indices point.
    pub(super) fn check(&self, opening: &ParseContext<'_>) -> ParseResult<Parts> {
        let fail = |kind, part| Err(self.fail(opening, kind, part));
        let values = self.values(opening)?;
        let Some(indices) = self.indices else { return fail(ErrorKind::MissingComponent, Part::Components) };
        let indices = Proto::read(opening, indices)?;
        let (dtype, place) = values.check(opening)?;
        let (index, _) = indices.check(opening)?;
        let (rank, count) = (self.dims.rank, values.dims.product.total());
        if matches!(place, Place::Texts(_)) {
            return fail(ErrorKind::UnexpectedType, Part::DType);
        }
        if index != Some(DType::I64) {
            return fail(ErrorKind::IndexType, Part::DType);
        }
        if rank == 0 || values.dims.rank != 1 || !matches!(indices.dims.rank, 1 | 2) {
            return fail(ErrorKind::RankMismatch, Part::Shape);
        }
        let Some(product) = self.dims.product.total() else { return fail(ErrorKind::ShapeOverflow, Part::Shape) };
        if product == 0 {
            return fail(ErrorKind::ZeroLength, Part::Shape);
        }
        let each = if indices.dims.rank == 1 { 1 } else { u64::from(rank) };
        let is_row = indices.dims.rank == 1 || indices.dims.last == u64::from(rank);
        if !is_row || indices.dims.product.total() != count.and_then(|count| count.checked_mul(each)) {
            return fail(ErrorKind::CountMismatch, Part::Shape);
        }
        Ok(Parts { values, indices, dtype })
    }

    /// Returns the shape of the tensor.
    pub(super) fn shape<'a>(&self, opening: &ParseContext<'a>) -> ParseResult<Shape<'a>> {
        self.dims.shape::<{ sparse::DIMS }>(opening, self.message)
    }

    fn fail(&self, opening: &ParseContext<'_>, kind: ErrorKind, part: Part) -> Interrupted {
        opening.fail((kind, FORMAT, part), self.message.offset)
    }
}

/// Checks that indices are inside the lengths of `shape`, and strictly rising, in the order of the elements.
pub(super) struct Rising<'a> {
    lengths: Shape<'a>,
    /// The number of coordinates of each index; 1 for linear indices.
    rank: u32,
    product: u64,
    /// The coordinates that were read of the current index, their linear index, and the one before.
    dimensions: Dimensions<'a>,
    read: u32,
    linear: u64,
    before: Option<u64>,
}

impl<'a> Rising<'a> {
    pub(super) fn new(lengths: Shape<'a>, are_linear: bool) -> Self {
        let rank = if are_linear { 1 } else { lengths.rank() };
        let product = lengths.element_count().unwrap_or(0);
        Self { lengths, rank, product, dimensions: lengths.iter(), read: 0, linear: 0, before: None }
    }

    /// Adds a linear index or the next coordinate. Returns the linear index of each whole index.
    pub(super) fn add(&mut self, number: u64) -> Result<Option<u64>, ErrorKind> {
        if self.rank == self.lengths.rank() && self.read == 0 {
            self.dimensions = self.lengths.iter();
        }
        let length = if self.rank == 1 { Some(self.product) } else { self.dimensions.next() };
        // A negative number is larger than any length.
        let length = length.filter(|length| number < *length).ok_or(ErrorKind::IndexOutOfRange)?;
        // Less than the product of the lengths, which has at most 64 bits.
        self.linear = self.linear.wrapping_mul(length).wrapping_add(number);
        self.read = self.read.saturating_add(1);
        if self.read < self.rank {
            return Ok(None);
        }
        let linear = core::mem::take(&mut self.linear);
        self.read = 0;
        if self.before.is_some_and(|before| before >= linear) {
            return Err(ErrorKind::IndexOrder);
        }
        self.before = Some(linear);
        Ok(Some(linear))
    }
}
