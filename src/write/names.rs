//! The names of the declarations, which must differ.
#![forbid(unsafe_code)]

#[cfg(not(small))]
use zerocopy::{FromBytes, IntoBytes};

use super::declaration::{Checked, Declarations, Refusal};
#[cfg(not(small))]
use crate::bytes::num::to_u64;
#[cfg(not(small))]
use crate::duplicates::{Compared, Distinct, MAX_COMPARED, Memory};
use crate::error::ErrorKind;
use crate::error::origin::Part;
#[cfg(not(small))]
use crate::error::{Error, Result};

/// The names of all tensors, or the keys of all attributes.
pub(super) struct Names<'f> {
    file: &'f dyn Declarations,
    are_tensors: bool,
}

impl<'f> Names<'f> {
    pub(super) fn of(file: &'f dyn Declarations, are_tensors: bool) -> Self {
        Self { file, are_tensors }
    }

    /// Returns the name of declaration `index`; `None` past the last.
    #[cfg_attr(small, inline(never))]
    fn get(&self, index: u32) -> Option<&'f [u8]> {
        let name =
            if self.are_tensors { self.file.tensor(index).ok()?.name } else { self.file.attribute(index).ok()?.key };
        Some(name.as_bytes())
    }

    /// Returns the number of words that [`check`](Self::check) needs: on chips none.
    #[cfg(small)]
    pub(super) fn words(&self) -> usize {
        0
    }

    /// Fails if a name is not new, and sets `index` to that of its declaration. Chips compare each name with the
    /// greatest one so far, and only if it is not greater, with all before it: linear if the names are sorted, quadratic
    /// if not.
    #[cfg(small)]
    pub(super) fn check(&self, _: &mut [u64], index: &mut u32) -> Checked {
        let mut greatest: &[u8] = &[];
        let mut number = 0_u32;
        while let Some(name) = self.get(number) {
            if greatest < name {
                greatest = name;
            } else if (0..number).any(|other| self.get(other) == Some(name)) {
                *index = number;
                return Err(self.repeated());
            }
            number = number.saturating_add(1);
        }
        Ok(())
    }

    const fn repeated(&self) -> Refusal {
        if self.are_tensors {
            Refusal::new(ErrorKind::RepeatedName, Part::Name)
        } else {
            Refusal::new(ErrorKind::RepeatedKey, Part::Key)
        }
    }
}

#[cfg(not(small))]
impl<'f> Distinct for Names<'f> {
    type Entry = &'f [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'f [u8], u32)> {
        let name = self.get(*place)?;
        *place = place.checked_add(1)?;
        Some((name, *place))
    }

    fn at(&self, position: u32) -> &'f [u8] {
        self.get(position.wrapping_sub(1)).unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(not(small))]
impl Names<'_> {
    /// True if each name is greater than the one before, which also proves that all differ.
    fn are_sorted(&mut self) -> bool {
        let (mut place, mut last) = (0, None);
        while let Some((name, _)) = self.next(&mut place) {
            if last >= Some(name) {
                return false;
            }
            last = Some(name);
        }
        true
    }

    fn count(&self) -> usize {
        if self.are_tensors { self.file.tensor_count() } else { self.file.attribute_count() }
    }

    /// Returns the number of words that [`check`](Self::check) needs.
    pub(super) fn words(&mut self) -> usize {
        let is_free = to_u64(self.count()) <= MAX_COMPARED.into() || self.are_sorted();
        if is_free { 0 } else { self.count().div_ceil(2) }
    }

    /// Fails if a name is not new, and sets `index` to that of its declaration.
    pub(super) fn check(&mut self, scratch: &mut [u64], index: &mut u32) -> Checked {
        if self.are_sorted() {
            return Ok(());
        }
        let refuse = |error: Error| Refusal::new(error.kind(), Part::File);
        let count = u32::try_from(self.count()).map_err(|_| Refusal::new(ErrorKind::TooMany, Part::File))?;
        let compared = if count <= MAX_COMPARED {
            crate::duplicates::Stack.compare(self, 0, count)
        } else {
            let words = <[u32]>::mut_from_bytes(scratch.as_mut_bytes()).unwrap_or_default();
            words.compare(self, 0, count)
        };
        if let Compared::Clash(position) = compared.map_err(refuse)? {
            *index = position.wrapping_sub(1);
            return Err(self.repeated());
        }
        Ok(())
    }
}
