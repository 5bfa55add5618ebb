//! The names of the declarations, which must differ.
#![forbid(unsafe_code)]

#[cfg(not(small))]
use zerocopy::{FromBytes, IntoBytes};

use super::declaration::Declarations;
use crate::bytes::num::to_u64;
#[cfg(not(small))]
use crate::duplicates::{Compared, Memory};
use crate::duplicates::{Distinct, MAX_COMPARED};
#[cfg(small)]
use crate::duplicates::{check_room, find_duplicate_small};
use crate::error::{Error, ErrorKind, Result};

/// Returns the name of a declaration.
pub(super) type NameOf = for<'f> fn(&'f dyn Declarations, u32) -> Option<&'f str>;

/// The names of the tensors.
pub(super) fn tensor_name(file: &dyn Declarations, index: u32) -> Option<&str> {
    file.tensor(index).map(|tensor| tensor.name)
}

/// The keys of the attributes.
pub(super) fn attribute_key(file: &dyn Declarations, index: u32) -> Option<&str> {
    file.attribute(index).map(|attribute| attribute.key)
}

/// The names of all tensors, or the keys of all attributes.
pub(super) struct Names<'f> {
    pub(super) file: &'f dyn Declarations,
    pub(super) name: NameOf,
}

/// Positions are indices + 1, since a position is never 0.
impl<'f> Distinct for Names<'f> {
    type Entry = &'f [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'f [u8], u32)> {
        let name = (self.name)(self.file, *place)?;
        *place = place.checked_add(1)?;
        Some((name.as_bytes(), *place))
    }

    fn at(&self, position: u32) -> &'f [u8] {
        (self.name)(self.file, position.wrapping_sub(1)).unwrap_or_default().as_bytes()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

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

    /// Returns the number of words that [`first_repeated`](Self::first_repeated) needs for `count` names.
    pub(super) fn words(&mut self, count: usize) -> usize {
        let is_free = to_u64(count) <= MAX_COMPARED.into() || self.are_sorted();
        if is_free { 0 } else { count.div_ceil(2) }
    }

    /// Returns the index of the first name that is not new.
    pub(super) fn first_repeated(&mut self, count: usize, scratch: &mut [u64]) -> Result<Option<u32>> {
        if self.are_sorted() {
            return Ok(None);
        }
        let count = u32::try_from(count).map_err(|_| Error::new(ErrorKind::TooMany))?;
        Ok(self.clash(count, scratch)?.map(|position| position.wrapping_sub(1)))
    }

    /// Returns the position of the first name that is not new.
    #[cfg(not(small))]
    fn clash(&mut self, count: u32, scratch: &mut [u64]) -> Result<Option<u32>> {
        let compared = if count <= MAX_COMPARED {
            crate::duplicates::Stack.compare(self, 0, count)
        } else {
            let words = <[u32]>::mut_from_bytes(scratch.as_mut_bytes()).unwrap_or_default();
            words.compare(self, 0, count)
        };
        Ok(match compared? {
            Compared::Clash(position) => Some(position),
            _ => None,
        })
    }

    /// The same in less flash: without sorting, however many names there are.
    #[cfg(small)]
    fn clash(&mut self, count: u32, scratch: &[u64]) -> Result<Option<u32>> {
        if count > MAX_COMPARED {
            check_room(count.into(), scratch.len().saturating_mul(2))?;
        }
        Ok(find_duplicate_small(self, 0).map(|(_, position)| position))
    }
}
