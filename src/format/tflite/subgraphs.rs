//! The subgraphs of a model: the graph that a caller runs, and those that its operators call.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use super::TfliteFile;
use crate::codec::tflite::schema::{SUBGRAPH_NAME, TENSORS};
use crate::error::origin::Part;
use crate::error::{Error, Result};

/// A subgraph. See [`TfliteFile::subgraphs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subgraph<'a> {
    /// The name, which may be empty; empty also if it is not UTF-8.
    pub name: &'a str,
    /// The number of tensors, most of which are activations without bytes in the file.
    pub tensors: u32,
}

impl<'a> TfliteFile<'a> {
    /// Returns an iterator over the subgraphs, in the order of the file. The attribute `subgraph` of a tensor counts them
    /// from 0.
    #[must_use]
    pub const fn subgraphs(&self) -> Subgraphs<'a> {
        Subgraphs { file: *self, index: 0, error: None }
    }
}

/// The subgraphs of a model. See [`TfliteFile::subgraphs`].
#[derive(Clone, Copy, Debug)]
pub struct Subgraphs<'a> {
    file: TfliteFile<'a>,
    index: u32,
    error: Option<Error>,
}

impl<'a> Subgraphs<'a> {
    /// Returns why the iterator ended early: the bytes have changed since the file was opened, or a name is not within
    /// the flatbuffer. Opening does not read the names of subgraphs.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    fn read(&mut self) -> Result<Option<Subgraph<'a>>> {
        let model = &self.file.model;
        let Some(place) = model.subgraphs.get(self.index) else { return Ok(None) };
        let table = model.flatbuffer().table(place, Part::Tensors)?;
        let name = table.text(SUBGRAPH_NAME)?.unwrap_or_default().bytes;
        let tensors = table.offsets(TENSORS)?.unwrap_or_default().count;
        self.index = self.index.saturating_add(1);
        Ok(Some(Subgraph { name: core::str::from_utf8(name).unwrap_or_default(), tensors }))
    }
}

impl<'a> Iterator for Subgraphs<'a> {
    type Item = Subgraph<'a>;

    fn next(&mut self) -> Option<Subgraph<'a>> {
        if self.error.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }
}

impl FusedIterator for Subgraphs<'_> {}
