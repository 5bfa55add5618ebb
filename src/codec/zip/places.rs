//! Overlaps of entries.
//!
//! Everything was validated when the archive was opened. It is not validated again, because each entry is read many
//! times.
#![forbid(unsafe_code)]

use zerocopy::FromBytes;

use super::Archive;
use super::entry::{Entry, LOCAL};
use super::record::LocalHeader;
use crate::bytes::extent::Extent;
use crate::duplicates::{Compared, Distinct, Memory};
use crate::error::origin::Part;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};

/// The extents of entries, from the local header to the end of the data. Positions are those of the entries plus 1.
struct Places<'r, 'a>(&'r Archive<'a>, Option<Error>);

impl<'a> Archive<'a> {
    /// Looks for overlapping entries, with the caller's memory or the little memory that is available on opening.
    pub(crate) fn compare_places(
        &self,
        entries: u32,
        warnings: &mut Warnings,
        memory: &mut (impl Memory + ?Sized),
    ) -> Result<()> {
        match memory.compare(&mut Places(self, None), 0, entries)? {
            Compared::Clash(position) => {
                return Err(self.error(ErrorKind::Overlap, Part::Entry, position.saturating_sub(1)));
            }
            Compared::TooMany => warnings.add(Warning::ExtentsUnchecked),
            Compared::Distinct => {}
        }
        Ok(())
    }

    /// Returns the extent of an entry, without repeating the checks of opening: each extent is read many times.
    fn place(&self, entry: &Entry<'a>) -> Extent {
        let local = self.input.get(Extent::new(entry.local_at, LOCAL));
        let about = local.and_then(|local| LocalHeader::ref_from_bytes(local).ok()).map(|local| &local.about);
        let lengths = about.map_or(0, |about| u64::from(about.name.get()).saturating_add(about.extra.get().into()));
        Extent::new(entry.local_at, LOCAL.saturating_add(lengths).saturating_add(entry.stored))
    }
}

impl Distinct for Places<'_, '_> {
    type Entry = Extent;
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(Extent, u32)> {
        let found = self.0.entry_if(*place, true).unwrap_or_else(|error| {
            self.1 = Some(error);
            None
        });
        let entry = found?;
        *place = entry.next;
        Some((self.0.place(&entry), entry.at.saturating_add(1)))
    }

    fn at(&self, position: u32) -> Extent {
        let entry = self.0.entry_if(position.saturating_sub(1), true).ok().flatten();
        entry.map(|entry| self.0.place(&entry)).unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.1.map_or(Ok(()), Err)
    }
}
