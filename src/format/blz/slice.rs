//! Slices of a tensor train, and all of it: elements that share products.
//!
//! Depends on `super` and `train`. From the left a vector is kept for each core, so that what the indices of a core
//! have in common is computed once.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Unalign};

use super::train::{Number, Train, Vector, numbers_in};
use crate::bytes::num::{to_u64, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::DType;

/// The index asked for in a dimension; `None` for all of them.
pub(crate) type Fixed<'f> = dyn Fn(usize) -> Option<u64> + 'f;

impl Train<'_> {
    fn last(&self) -> usize {
        self.tables.lengths.len().saturating_sub(1)
    }

    /// Scratch memory for [`slice`](Self::slice): a vector for each bond, and a number for its exponent.
    #[must_use]
    pub fn slice_scratch(&self) -> u64 {
        let inner = self.tables.bonds.iter().skip(1).take(self.last());
        self.bytes(inner.fold(0, |sum, bond| sum.saturating_add(bond.get()).saturating_add(1)))
    }

    /// How many bytes [`slice`](Self::slice) writes; `None` beyond 64 bits.
    #[must_use]
    pub fn slice_len(&self, fixed: &[Option<u64>]) -> Option<u64> {
        self.slice_len_by(&|core| fixed.get(core).copied().flatten())
    }

    pub(crate) fn slice_len_by(&self, fixed: &Fixed<'_>) -> Option<u64> {
        let free = (0..=self.last()).map(|core| self.choices(core, fixed).map(|(_, count)| count));
        let elements = free.into_iter().try_fold(1_u64, |product, count| product.checked_mul(count?))?;
        elements.checked_mul(self.tables.dtype.size())
    }

    /// The indices that are asked for in a dimension: the first, and how many.
    fn choices(&self, core: usize, fixed: &Fixed<'_>) -> Option<(u64, u64)> {
        match fixed(core) {
            Some(index) => Some((index, 1)),
            None => Some((0, self.length(core)?)),
        }
    }

    /// The elements whose indices are as `fixed` says, `None` standing for all of a dimension, and so does a
    /// dimension that `fixed` has no entry for: row-major, to the front of `room`, in this machine's byte
    /// order. The part written. Vectors that several elements share are computed once.
    ///
    /// # Errors
    /// `WrongRank` for too many entries, `NoSuchElement`; `ShapeOverflow`, `TooSmall`, `OutOfScratch`:
    /// nothing was written then.
    pub fn slice<'r>(&self, fixed: &[Option<u64>], room: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.check_rank(fixed.len())?;
        self.slice_by(&|core| fixed.get(core).copied().flatten(), room, scratch)
    }

    /// Refuses more fixed indices than there are dimensions.
    pub(crate) fn check_rank(&self, fixed: usize) -> Result<()> {
        if fixed > self.tables.lengths.len() { Err(Error::new(ErrorKind::WrongRank)) } else { Ok(()) }
    }

    pub(crate) fn slice_by<'r>(
        &self,
        fixed: &Fixed<'_>,
        room: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let mut dimensions = self.tables.lengths.iter().zip(0..);
        if dimensions.any(|(length, core)| fixed(core).is_some_and(|index| index >= length.get())) {
            return Err(Error::new(ErrorKind::NoSuchElement));
        }
        let length = self.slice_len_by(fixed).ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let room = to_usize(length).and_then(|length| room.get_mut(..length));
        let room = room.ok_or(Error::new(ErrorKind::TooSmall))?;
        if to_u64(scratch.len()) < self.slice_scratch() {
            return Err(Error::new(ErrorKind::OutOfScratch));
        }
        let written = match self.tables.dtype {
            DType::F64 => self.slice_to::<f64>(fixed, room, scratch),
            _ => self.slice_to::<[f64; 2]>(fixed, room, scratch),
        };
        written.ok_or_else(|| self.error(ErrorKind::OutOfFile))?; // the bytes have changed since
        Ok(room)
    }

    fn slice_to<N: Number>(&self, fixed: &Fixed<'_>, room: &mut [u8], scratch: &mut [u8]) -> Option<()> {
        let vectors = numbers_in::<N>(scratch, self.slice_scratch().wrapping_shr(self.tables.dtype.log2_size()))?;
        let mut elements = <Vector<N>>::mut_from_bytes(room).ok()?.iter_mut();
        let last = self.last();
        let mut end = Place { core: 0, before: 0, vector: 0 };
        while end.core < last {
            end = end.next(self)?;
        }
        let core = self.view::<N>(last, end.before)?;
        let (first, count) = self.choices(last, fixed)?;
        // A block is what the last core alone makes different. Of the vectors before it those are computed
        // anew that belong to an index which has changed since the block before.
        let mut block = 0_u64;
        while elements.len() > 0 {
            let (mut place, mut rest, mut index) = (end, block, 0);
            while place.core > 0 && (index == 0 || block == 0) {
                place = place.previous(self)?;
                let (_, count) = self.choices(place.core, fixed)?;
                index = rest.checked_rem(count)?;
                rest = rest.checked_div(count)?;
            }
            while place.core < last {
                let (first, _) = self.choices(place.core, fixed)?;
                self.step(place, first.checked_add(index)?, vectors)?;
                index = 0;
                place = place.next(self)?;
            }
            let one = [Unalign::new(N::ONE)];
            let (vector, exponent) = if last == 0 { (&one[..], 0) } else { vector_at(vectors, end, core.left)? };
            for (index, element) in (first..first.checked_add(count)?).zip(&mut elements) {
                let mut product = [Unalign::new(N::ZERO)];
                let scale = core.multiply(vector, index..index.checked_add(1)?, &mut product)?;
                let [product] = product;
                element.set(product.get().scaled(exponent.saturating_add(scale)));
            }
            block = block.checked_add(1)?;
        }
        Some(())
    }

    /// Multiplies the vector in front of a core with its matrix for index `index`: gives the vector behind it.
    fn step<N: Number>(&self, place: Place, index: u64, vectors: &mut Vector<N>) -> Option<()> {
        let core = self.view::<N>(place.core, place.before)?;
        let one = [Unalign::new(N::ONE)];
        let (before, behind) = vectors.split_at_mut_checked(to_usize(place.next(self)?.vector)?)?;
        let (vector, exponent) = if place.core == 0 { (&one[..], 0) } else { vector_at(before, place, core.left)? };
        let (product, rest) = behind.split_at_mut_checked(core.right)?;
        let scale = core.multiply(vector, index..index.checked_add(1)?, product)?;
        rest.first_mut()?.set(N::whole(exponent.saturating_add(scale)));
        Some(())
    }
}

/// A core on the way along the train.
#[derive(Clone, Copy)]
struct Place {
    core: usize,
    /// How many numbers the cores before it have.
    before: u64,
    /// Where in the scratch memory the vector in front of it stands; the first core needs none.
    vector: u64,
}

impl Place {
    fn next(self, train: &Train<'_>) -> Option<Self> {
        let passed = if self.core == 0 { 0 } else { train.bond(self.core)?.checked_add(1)? };
        Some(Self {
            core: self.core.checked_add(1)?,
            before: self.before.checked_add(train.size(self.core)?)?,
            vector: self.vector.checked_add(passed)?,
        })
    }

    fn previous(self, train: &Train<'_>) -> Option<Self> {
        let core = self.core.checked_sub(1)?;
        let passed = if core == 0 { 0 } else { train.bond(core)?.checked_add(1)? };
        Some(Self {
            core,
            before: self.before.checked_sub(train.size(core)?)?,
            vector: self.vector.checked_sub(passed)?,
        })
    }
}

/// The vector in front of a core, and the power of two that it has to be multiplied by.
fn vector_at<N: Number>(vectors: &Vector<N>, place: Place, length: usize) -> Option<(&Vector<N>, i32)> {
    let (vector, rest) = vectors.get(to_usize(place.vector)?..)?.split_at_checked(length)?;
    Some((vector, exponent_at(rest, 0)?))
}

/// An exponent among numbers.
fn exponent_at<N: Number>(numbers: &Vector<N>, index: usize) -> Option<i32> {
    let [exponent, _] = numbers.get(index)?.get().parts();
    #[allow(clippy::as_conversions)] // a whole number, as `Number::whole` makes them
    Some(exponent as i32)
}
