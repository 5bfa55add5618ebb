//! The tables of a TFLite model, in a flatbuffer, as its schema of version 3 defines them.
//!
//! Attributes and the format read the same tables.
#![forbid(unsafe_code)]

pub(crate) mod schema;

use self::schema::{buffer, model};
use super::flatbuffers::{Buffer, Offsets, Table};
use crate::bytes::extent::Extent;
use crate::bytes::source::Input;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};

/// A model: its file, and the vectors that tensors need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'a> {
    pub(crate) input: Input<'a>,
    /// The bytes from the start of the file on, up to the end of the last table at least.
    bytes: &'a [u8],
    pub(crate) subgraphs: Offsets,
    buffers: Offsets,
    /// The positions of the lists of groups and of external buffers. The lists would make every handle larger.
    groups: u32,
    external: u32,
}

impl<'a> Model<'a> {
    /// Reads the root table.
    pub(crate) fn read(input: Input<'a>, bytes: &'a [u8]) -> Result<Self> {
        let none = Offsets::default();
        let mut all = Self { input, bytes, subgraphs: none, buffers: none, groups: 0, external: 0 };
        let root = all.root()?;
        let fields = [model::SUBGRAPHS, model::BUFFERS, model::GROUPS, model::EXTERNAL_BUFFERS];
        let mut lists = [none; 4];
        for (list, field) in lists.iter_mut().zip(fields) {
            *list = root.offsets(field)?.unwrap_or_default();
        }
        let [subgraphs, buffers, groups, external] = lists;
        (all.subgraphs, all.buffers) = (subgraphs, buffers);
        (all.groups, all.external) = (groups.position(), external.position());
        Ok(all)
    }

    /// Returns the same model over other bytes behind its tables.
    pub(crate) const fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    pub(crate) const fn flatbuffer(&self) -> Buffer<'a> {
        Buffer::new(self.bytes, Format::Tflite)
    }

    pub(crate) fn root(&self) -> Result<Table<'a>> {
        self.flatbuffer().table(0, Part::Header)
    }

    pub(crate) fn groups(&self) -> Offsets {
        self.flatbuffer().offsets(self.groups)
    }

    pub(crate) fn external(&self) -> Offsets {
        self.flatbuffer().offsets(self.external)
    }

    /// The number of buffers.
    pub(crate) const fn buffer_count(&self) -> u32 {
        self.buffers.count
    }

    /// Returns the place of a buffer's bytes; `None` if it has none, or if there is no such buffer. Buffer 0 stands for
    /// none.
    pub(crate) fn buffer(&self, index: u32) -> Result<Option<Extent>> {
        if index == 0 { Ok(None) } else { self.any_buffer(index) }
    }

    /// Returns the place of the bytes of any buffer, also of buffer 0: in the flatbuffer, or anywhere else in the file.
    pub(crate) fn any_buffer(&self, index: u32) -> Result<Option<Extent>> {
        let Some(place) = self.buffers.get(index) else { return Ok(None) };
        let table = self.flatbuffer().table(place, Part::Data)?;
        let length = self.input.length();
        let inside = table.extent(buffer::DATA, 1, length)?.filter(|data| data.length > 0);
        let outside = Extent::new(table.u64(buffer::OFFSET)?, table.u64(buffer::SIZE)?);
        // An offset of 1 stands for one that a writer has not filled in.
        if outside.offset <= 1 || outside.length == 0 {
            return Ok(inside);
        }
        if inside.is_some() {
            return Err(self.flatbuffer().error(ErrorKind::HeadersDiffer, Part::Data, table.at));
        }
        if !outside.is_within(length) {
            return Err(self.flatbuffer().error(ErrorKind::OutOfFile, Part::Data, table.at));
        }
        Ok(Some(outside))
    }
}
