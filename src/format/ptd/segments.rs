//! The segments: the pieces of the data that names refer to.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use super::PtdFile;
use crate::bytes::extent::Extent;
use crate::codec::flatbuffers::{Field, Table};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};

/// The fields of a segment.
pub(super) const OFFSET: Field = Field::new(0, Part::Data);
pub(super) const SIZE: Field = Field::new(1, Part::Data);

impl<'a> PtdFile<'a> {
    /// Returns an iterator over the segments, in the order of the file, as places in the file. Several names may refer
    /// to one segment, or none.
    #[must_use]
    pub const fn segments(&self) -> Segments<'a> {
        Segments { file: *self, index: 0, error: None }
    }

    /// Returns the table of a segment; `None` after the last.
    pub(super) fn segment_table(&self, index: u32) -> Result<Option<Table<'a>>> {
        self.segments.get(index).map(|place| self.buffer().table(place, Part::Data)).transpose()
    }

    /// Returns the place of a segment, counted from the start of all data.
    pub(super) fn segment(&self, table: &Table<'_>) -> Result<Extent> {
        let segment = Extent::new(table.u64(OFFSET)?, table.u64(SIZE)?);
        let outside = self.buffer().error(ErrorKind::OutOfPlace, Part::Length, table.at);
        if segment.is_within(self.data.length) { Ok(segment) } else { Err(outside) }
    }

    /// Checks all segments: they are in the data, in the order of their places, and do not overlap.
    pub(super) fn check_segments(&self) -> Result<()> {
        let (mut index, mut end) = (0_u32, 0);
        while let Some(table) = self.segment_table(index)? {
            let segment = self.segment(&table)?;
            if segment.offset < end {
                return Err(self.buffer().error(ErrorKind::Overlap, Part::Offset, table.at));
            }
            end = segment.offset.saturating_add(segment.length); // at most the length of the data
            index = index.saturating_add(1);
        }
        Ok(())
    }
}

/// The segments of a file. See [`PtdFile::segments`].
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    file: PtdFile<'a>,
    index: u32,
    error: Option<Error>,
}

impl Segments<'_> {
    /// Returns why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    fn read(&mut self) -> Result<Option<Extent>> {
        let Some(table) = self.file.segment_table(self.index)? else { return Ok(None) };
        let segment = self.file.segment(&table)?;
        self.index = self.index.saturating_add(1);
        Ok(Some(Extent::new(self.file.data.offset.saturating_add(segment.offset), segment.length)))
    }
}

impl Iterator for Segments<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        if self.error.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }
}

impl FusedIterator for Segments<'_> {}
