//! An entry of the header, and the rules that its shape, dtype and offsets must follow. `member` and `fast` read it.
#![forbid(unsafe_code)]

use super::header::{HEADER, METADATA};
use crate::bytes::extent::Extent;
use crate::bytes::text::Text;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::TensorRecord;
use crate::types::DType;
use crate::types::shape::Shape;

/// An entry: a tensor, or the metadata.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) name: Text<'a>,
    /// The positions of the name and the value in the header.
    pub(super) at: u32,
    pub(super) position: u32,
    pub(super) dtype: Option<DType>,
    pub(super) shape: Shape<'a>,
    /// The product of the shape; `None` if it exceeds 64 bits.
    pub(super) count: Option<u64>,
    /// The start and the end of the data, relative to the start of all data.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// The positions of the shape and the offsets in the header; 0 if absent.
    pub(super) shape_at: u32,
    pub(super) offsets_at: u32,
}

impl<'a> Entry<'a> {
    /// An entry that is not filled in.
    #[cfg_attr(small, inline(never))] // a single copy: the entry is large
    pub(super) const fn blank() -> Self {
        Self {
            name: Text::new(&[], false),
            at: 0,
            position: 0,
            dtype: None,
            shape: Shape::SCALAR,
            count: None,
            begin: 0,
            end: 0,
            shape_at: 0,
            offsets_at: 0,
        }
    }

    /// Returns true if the entry is the metadata.
    pub(super) fn is_metadata(&self) -> bool {
        self.name.eq_bytes(METADATA)
    }

    /// The extent of the data, relative to the start of all data. (A check rejects data that ends before it begins.)
    pub(super) const fn data(&self) -> Extent {
        Extent::new(self.begin, self.end.wrapping_sub(self.begin))
    }

    /// The number of bytes that the shape and the dtype require; `None` if it exceeds 64 bits.
    pub(super) fn expected_length(&self) -> Option<u64> {
        self.dtype?.byte_length(self.count?)
    }

    /// Returns true if the elements fill whole bytes.
    pub(super) fn fills_bytes(&self) -> bool {
        self.dtype.zip(self.count).is_some_and(|(dtype, count)| dtype.fills_bytes(count))
    }

    /// Fills in the record of the tensor. `index` is the tensor's index in the file.
    #[inline]
    pub(super) fn fill(&self, tensor: &mut TensorRecord<'a>, index: u32) {
        tensor.set_name(self.name);
        tensor.at = HEADER.saturating_add(self.at.into());
        tensor.index = index;
        tensor.dtype = self.dtype;
        tensor.shape = self.shape;
        // The position at which `reread` begins.
        tensor.components = if cfg!(not(small)) { self.offsets_at } else { self.position };
    }

    /// Returns the rule that the tensor breaks in a file with `data_length` bytes of data, if any, and the part of the
    /// entry that breaks the rule.
    #[inline(always)]
    pub(super) fn fault(&self, data_length: u64) -> Option<(ErrorKind, Part)> {
        let expected = self.expected_length();
        if self.end < self.begin {
            Some((ErrorKind::NegativeLength, Part::Offset))
        } else if self.end > data_length {
            Some((ErrorKind::OutOfFile, Part::Offset))
        } else if expected.is_none() {
            Some((ErrorKind::ShapeOverflow, Part::Shape))
        } else if expected != Some(self.data().length) || !self.fills_bytes() {
            Some((ErrorKind::SizeMismatch, Part::Offset))
        } else {
            None
        }
    }
}
