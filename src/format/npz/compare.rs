//! Uniqueness checks of an archive: the names of arrays, and the names of fields in a record.
//!
//! Everything was validated when the archive was opened. It is not validated again, because each entry is read many
//! times.
#![forbid(unsafe_code)]

use super::{Array, Contents, NpzFile, array_name, fail};
use crate::codec::npy::{self, Header};
use crate::duplicates::Distinct;
use crate::error::warning::Warning;
use crate::error::{Error, Result};

/// The names of arrays. Positions are those of their entries plus 1.
pub(super) struct Names<'r, 'a>(pub(super) &'r NpzFile<'a>, pub(super) Option<Error>);

impl<'a> Distinct for Names<'_, 'a> {
    type Entry = &'a [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'a [u8], u32)> {
        let found = self.0.next_named(*place).unwrap_or_else(|error| {
            self.1 = Some(error);
            None
        });
        let entry = found?;
        *place = entry.next;
        Some((array_name(entry.name), entry.at.saturating_add(1)))
    }

    fn at(&self, position: u32) -> &'a [u8] {
        let record = self.0.archive.record(position.saturating_sub(1)).ok().flatten();
        array_name(record.map(|record| record.name).unwrap_or_default())
    }

    fn check(&self) -> Result<()> {
        self.1.map_or(Ok(()), Err)
    }
}

impl<'a> NpzFile<'a> {
    /// Compares the field names that opening has not compared, array by array.
    pub(super) fn compare_fields(&self, scratch: &mut [u32]) -> Result<()> {
        let mut at = 0;
        while let Some((entry, array)) = self.next_array(at)? {
            if let Some(header) = self.fields_left(&array) {
                let compared = header.names.compare(header.descr, scratch)?;
                compared.map_err(|(kind, item, at)| fail(kind, item, array.data.offset.saturating_add(at)))?;
            }
            at = entry.next;
        }
        Ok(())
    }

    /// Returns the number of names in the largest record that opening has not compared.
    pub(super) fn most_fields(&self) -> u32 {
        let (mut at, mut most) = (0, 0);
        while npy::Names::ARE_COMPARED {
            let Ok(Some((entry, array))) = self.next_array(at) else { break };
            most = most.max(self.fields_left(&array).map_or(0, |header| header.names.length(header.descr)));
            at = entry.next;
        }
        most
    }

    /// Returns the header of an array with a record whose field names opening has not compared.
    fn fields_left<'r>(&self, array: &'r Array<'a>) -> Option<&'r Header<'a>> {
        let Contents::Stored(header, _, warnings) = &array.contents else { return None };
        Some(header).filter(|_| warnings & Warning::NamesUnchecked.bit() != 0)
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::ParseContext;
    use crate::error::ErrorKind;
    use crate::error::warning::Warning;
    use crate::format::npz::NpzFile;
    use crate::format::{FileFormat as _, Summary};

    /// The bytes of a memory-mapped file may change. Entries that become unreadable are an error; they are neither
    /// treated as distinct nor omitted from a list.
    #[test]
    fn bytes_that_have_changed_are_an_error() {
        let bytes = include_bytes!("../../../tests/fixtures/npz/hm_aligned_64.npz");
        let mut file = NpzFile::open(&ParseContext::of(bytes[..].into())).ok().unwrap();
        let (whole, count) = (file.archive.directory.bytes, file.entries().count());
        assert!(count > 1);
        let check = |file: &NpzFile<'_>, warnings: &[Warning]| {
            let bits = warnings.iter().fold(0, |bits, warning| bits | warning.bit());
            file.check(&Summary::of_one(bits), &mut [0; 8])
        };
        assert!(check(&file, &[Warning::NamesUnchecked, Warning::ExtentsUnchecked]).is_ok());
        file.archive.directory.bytes = &whole[..whole.len() - 1];
        for unchecked in [Warning::NamesUnchecked, Warning::ExtentsUnchecked] {
            let error = check(&file, &[unchecked]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated);
        }
        let mut entries = file.entries();
        assert_eq!(entries.by_ref().count(), count - 1);
        assert_eq!(entries.error().map(|error| error.kind()), Some(ErrorKind::Truncated));
        entries.file.archive.directory.bytes = whole;
        assert!(entries.next().is_none()); // the iterator stays ended, even if the bytes are valid again
    }
}
