//! Compares the names, which must be distinct.
#![forbid(unsafe_code)]

use super::{PtdFile, fail};
use crate::duplicates::{Compared, Distinct, Memory};
use crate::error::origin::Part;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Name;
use crate::format::{Cursor, NamedTensors};

impl PtdFile<'_> {
    /// Looks for equal names, with the caller's memory or the little memory that is available on opening.
    pub(super) fn compare_names(&self, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        match memory.compare(&mut Names { file: self, error: None }, 0, self.names.count)? {
            Compared::Clash(place) => {
                let table = self.buffer().table(place, Part::Tensor)?;
                return Err(fail(ErrorKind::RepeatedName, Part::Name, table.at.into()));
            }
            Compared::TooMany => warnings.add(Warning::NamesUnchecked),
            Compared::Distinct => {}
        }
        Ok(())
    }
}

/// The names, by the places of their offsets.
struct Names<'r, 'a> {
    file: &'r PtdFile<'a>,
    error: Option<Error>,
}

impl<'a> Distinct for Names<'_, 'a> {
    type Entry = &'a [u8];
    /// An index.
    type Place = u32;
    type Position = u32;

    fn next(&mut self, index: &mut u32) -> Option<(&'a [u8], u32)> {
        let mut cursor = Cursor::new(0, 0, *index);
        match self.file.next_name(&mut cursor) {
            Ok(named) => {
                *index = cursor.index;
                named.map(|named| (named.name.raw(), named.name_at))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    fn at(&self, position: u32) -> &'a [u8] {
        match self.file.name_at(position) {
            Name::Plain(name) => name,
            #[allow(unreachable_patterns)] // depends on the formats that are built in
            _ => &[],
        }
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}
