//! Slices of a tensor train, up to the whole tensor. Elements share products.
//!
//! From the left, one vector is kept for each core, so that elements with the same leading indices share their
//! products. The last cores may be multiplied from the right, into a column vector, if that takes much less work.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Unalign};

use super::train::{Number, Train, Unscaled, Vector, View};
use crate::bytes::num::{to_u64, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::types::DType;

/// A function that returns the index requested in a dimension; `None` for all indices.
pub(crate) type Fixed<'f> = dyn Fn(usize) -> Option<u64> + 'f;

impl Train<'_> {
    fn last(&self) -> usize {
        self.tables.lengths.len().saturating_sub(1)
    }

    /// Returns the scratch memory that [`slice`](Self::slice) needs, in bytes: for each bond a vector and a number for
    /// its exponent, and two more vectors.
    #[must_use]
    pub fn slice_scratch(&self) -> u64 {
        let inner = self.tables.bonds.iter().skip(1).take(self.last());
        let vectors = inner.fold(0, |sum: u64, bond| sum.saturating_add(bond.get()).saturating_add(1));
        self.bytes(vectors).saturating_add(self.element_scratch())
    }

    /// Returns the number of bytes that [`slice`](Self::slice) writes; `None` if it exceeds 64 bits.
    #[must_use]
    pub fn slice_length(&self, fixed: &[Option<u64>]) -> Option<u64> {
        self.slice_length_with(&|core| fixed.get(core).copied().flatten())
    }

    pub(crate) fn slice_length_with(&self, fixed: &Fixed<'_>) -> Option<u64> {
        let free = (0..=self.last()).map(|core| self.choices(core, fixed).map(|(_, count)| count));
        let elements = free.into_iter().try_fold(1_u64, |product, count| product.checked_mul(count?))?;
        elements.checked_mul(self.tables.number_size())
    }

    /// Returns the first of the indices requested in a dimension, and their number.
    fn choices(&self, core: usize, fixed: &Fixed<'_>) -> Option<(u64, u64)> {
        match fixed(core) {
            Some(index) => Some((index, 1)),
            None => Some((0, self.length(core)?)),
        }
    }

    /// Computes the elements whose indices match `fixed` and writes them to the front of `dst`, row-major, in native
    /// byte order. `None`, or no entry for a dimension, selects all of its indices. Returns the part written.
    ///
    /// Takes at most 4 (N (R² + R) + N M / L) multiplications for N elements. R is the largest bond dimension. M is the
    /// sum, over all cores, of the size of one matrix. L is the length of the longest dimension that is not fixed; 1 if
    /// all are fixed. [`Tensor::read_into`](crate::Tensor::read_into) takes as many. The last cores are multiplied from
    /// the right if that saves three quarters of the multiplications; the last digits may then differ from those of
    /// [`element`](Self::element).
    ///
    /// # Errors
    /// `WrongRank` for too many entries, `NoSuchElement`; `ShapeOverflow`, `TooSmall`, `OutOfScratch`. After an error,
    /// nothing is written.
    pub fn slice<'r>(&self, fixed: &[Option<u64>], dst: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.check_rank(fixed.len())?;
        self.slice_with(&|core| fixed.get(core).copied().flatten(), dst, scratch)
    }

    /// Rejects more fixed indices than there are dimensions.
    pub(crate) fn check_rank(&self, fixed: usize) -> Result<()> {
        if fixed > self.tables.lengths.len() { Err(Error::new(ErrorKind::WrongRank)) } else { Ok(()) }
    }

    pub(crate) fn slice_with<'r>(
        &self,
        fixed: &Fixed<'_>,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let mut dimensions = self.tables.lengths.iter().zip(0..);
        if dimensions.any(|(length, core)| fixed(core).is_some_and(|index| index >= length.get())) {
            return Err(Error::new(ErrorKind::NoSuchElement));
        }
        let length = self.slice_length_with(fixed).ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let dst = to_usize(length).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or(Error::new(ErrorKind::TooSmall))?;
        if to_u64(scratch.len()) < self.slice_scratch() {
            return Err(Error::new(ErrorKind::OutOfScratch));
        }
        let written = match self.tables.dtype {
            DType::F64 => self.slice_to::<f64>(fixed, dst, scratch),
            _ => self.slice_to::<[f64; 2]>(fixed, dst, scratch),
        };
        written.ok_or_else(|| self.error(ErrorKind::OutOfFile))?; // the bytes have changed since
        Ok(dst)
    }

    /// Returns the first core of the tail, and the number of choices of the tail's indices. The tail is the cores that
    /// are multiplied from the right, once for each choice. If a tail would not save three quarters of the
    /// multiplications, the tail is the last core and everything is multiplied from the left. The elements are then
    /// those that [`element`](Self::element) returns.
    fn tail(&self, fixed: &Fixed<'_>, elements: u64) -> Option<(usize, u64)> {
        let matrix = |core: usize| Some(self.bond(core)?.saturating_mul(self.bond(core.checked_add(1)?)?));
        let mut after = (0..=self.last()).filter_map(matrix).fold(0, u64::saturating_add);
        let (mut head, mut choices) = (0_u64, 1_u64);
        let (mut least, mut tail) = (u64::MAX, None);
        for core in 0..=self.last() {
            // The cost of a tail that begins here: each choice of its indices takes the whole train, and each element
            // two vectors.
            let tails = elements.checked_div(choices)?;
            let each = elements.saturating_mul(self.bond(core)?);
            let work = tails.saturating_mul(head.saturating_add(after)).saturating_add(each);
            if work < least {
                (least, tail) = (work, Some((core, tails)));
            }
            choices = choices.saturating_mul(self.choices(core, fixed)?.1);
            head = head.saturating_add(choices.saturating_mul(matrix(core)?));
            after = after.saturating_sub(matrix(core)?);
        }
        tail.filter(|_| least < (head >> 2)).or(Some((self.last(), 1)))
    }

    fn slice_to<N: Number>(&self, fixed: &Fixed<'_>, dst: &mut [u8], scratch: &mut [u8]) -> Option<()> {
        let elements = <Vector<N>>::mut_from_bytes(dst).ok()?;
        let (tail, choices) = self.tail(fixed, to_u64(elements.len()))?;
        let last = self.last();
        let unscaled = self.unscaled::<N>(fixed)?;
        let mut end = Place { core: 0, before: 0, vector: 0 };
        while end.core < tail {
            end = end.next(self)?;
        }
        let mut after = end;
        while after.core <= last {
            after = after.next(self)?;
        }
        let (vectors, columns) = <Vector<N>>::mut_from_prefix_with_elems(scratch, to_usize(after.vector)?).ok()?;
        for choice in 0..to_usize(choices)? {
            let (core, (first, count), exponent_behind) = if tail == last {
                (self.view(last, end.before)?, self.choices(last, fixed)?, 0)
            } else {
                let (numbers, exponent) = self.column::<N>(after, tail, to_u64(choice), fixed, columns)?;
                (View { left: numbers.len(), length: 1, right: 1, numbers }, (0, 1), exponent)
            };
            // A block is a run of elements that differ only in the index of `core`. Of the vectors before `core`, only
            // those are recomputed that depend on an index that has changed since the previous block.
            let (mut block, mut at) = (0_u64, choice);
            while at < elements.len() {
                let (mut place, mut rest, mut index) = (end, block, 0);
                while place.core > 0 && index == 0 {
                    place = place.previous(self)?;
                    let (_, count) = self.choices(place.core, fixed)?;
                    index = rest.checked_rem(count)?;
                    rest = rest.checked_div(count)?;
                }
                while place.core < tail {
                    let (first, _) = self.choices(place.core, fixed)?;
                    self.step(place, first.checked_add(index)?, unscaled, vectors)?;
                    index = 0;
                    place = place.next(self)?;
                }
                let one = [Unalign::new(N::ONE)];
                let (vector, exponent) = if tail == 0 { (&one[..], 0) } else { vector_at(vectors, end, core.left)? };
                block = block.checked_add(1)?;
                if tail == last && unscaled.has(vector) {
                    let count = to_usize(count)?;
                    let to = elements.get_mut(at..)?.get_mut(..count)?;
                    core.multiply_unscaled(vector, first, to)?;
                    if exponent != 0 {
                        to.iter_mut().for_each(|element| element.set(element.get().scaled(exponent)));
                    }
                    at = at.checked_add(count)?;
                    continue;
                }
                for index in first..first.checked_add(count)? {
                    let mut product = [Unalign::new(N::ZERO)];
                    let scale = core.multiply(vector, index..index.checked_add(1)?, &mut product)?;
                    let [product] = product;
                    let exponent = exponent.saturating_add(exponent_behind).saturating_add(scale);
                    elements.get_mut(at)?.set(product.get().scaled(exponent));
                    at = at.checked_add(to_usize(choices)?)?;
                }
            }
        }
        Some(())
    }

    /// Returns the range of vectors whose products with every requested matrix need no scaling. Almost all vectors are
    /// in the range, unless numbers are of very different sizes.
    fn unscaled<N: Number>(&self, fixed: &Fixed<'_>) -> Option<Unscaled> {
        let (mut ends, mut before) = (None, 0_u64);
        if cfg!(small) {
            return Some(Unscaled::of(None, 0)); // unused on chips
        }
        for core in 0..=self.last() {
            let view = self.view::<N>(core, before)?;
            let (first, count) = self.choices(core, fixed)?;
            for exponent in (first..first.checked_add(count)?).filter_map(|index| view.exponent(index)) {
                let (low, high) = ends.unwrap_or((exponent, exponent));
                ends = Some((exponent.min(low), exponent.max(high)));
            }
            before = before.checked_add(self.size(core)?)?;
        }
        Some(Unscaled::of(ends, self.tables.largest_bond()))
    }

    /// Returns the product of the cores from `core` to `end` for one choice of their indices, as a column vector, and
    /// the power of two by which to multiply it.
    fn column<'s, N: Number>(
        &self,
        end: Place,
        core: usize,
        mut choice: u64,
        fixed: &Fixed<'_>,
        scratch: &'s mut [u8],
    ) -> Option<(&'s [N::Stored], i32)> {
        let dst = to_usize(self.tables.largest_bond())?;
        let (mut column, rest) = <[N::Stored]>::mut_from_prefix_with_elems(scratch, dst).ok()?;
        let (mut product, _) = <[N::Stored]>::mut_from_prefix_with_elems(rest, dst).ok()?;
        *column.first_mut()? = N::ONE.stored();
        let (mut place, mut exponent) = (end, 0_i32);
        while place.core > core {
            place = place.previous(self)?;
            let core = self.view::<N>(place.core, place.before)?;
            let (first, count) = self.choices(place.core, fixed)?;
            let index = first.checked_add(choice.checked_rem(count)?)?;
            choice = choice.checked_div(count)?;
            let scale = core.multiply_column(index, column.get_mut(..core.right)?, product.get_mut(..core.left)?)?;
            exponent = exponent.saturating_add(scale);
            core::mem::swap(&mut column, &mut product);
        }
        Some((column.get(..to_usize(self.bond(core)?)?)?, exponent))
    }

    /// Multiplies the vector before a core by the matrix for index `index`; the product is the vector after the core.
    fn step<N: Number>(&self, place: Place, index: u64, unscaled: Unscaled, vectors: &mut Vector<N>) -> Option<()> {
        let core = self.view::<N>(place.core, place.before)?;
        let one = [Unalign::new(N::ONE)];
        let (before, after) = vectors.split_at_mut_checked(to_usize(place.next(self)?.vector)?)?;
        let (vector, exponent) = if place.core == 0 { (&one[..], 0) } else { vector_at(before, place, core.left)? };
        let (product, rest) = after.split_at_mut_checked(core.right)?;
        let scale = if unscaled.has(vector) {
            core.multiply_unscaled(vector, index, product)?;
            0
        } else {
            core.multiply(vector, index..index.checked_add(1)?, product)?
        };
        rest.first_mut()?.set(N::whole(exponent.saturating_add(scale)));
        Some(())
    }
}

/// A position in the train: a core, and the sizes of what precedes it.
#[derive(Clone, Copy)]
struct Place {
    core: usize,
    /// The number of numbers in the cores before this core.
    before: u64,
    /// The position in the scratch memory of the vector before this core; the first core needs none.
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

/// Returns the vector before a core, and the power of two by which to multiply it.
fn vector_at<N: Number>(vectors: &Vector<N>, place: Place, length: usize) -> Option<(&Vector<N>, i32)> {
    let (vector, rest) = vectors.get(to_usize(place.vector)?..)?.split_at_checked(length)?;
    Some((vector, exponent_at(rest, 0)?))
}

/// Returns an exponent that is stored among numbers.
fn exponent_at<N: Number>(numbers: &Vector<N>, index: usize) -> Option<i32> {
    let [exponent, _] = numbers.get(index)?.get().parts();
    #[allow(clippy::as_conversions)] // a whole number, made by `Number::whole`
    Some(exponent as i32)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::vec;
    use std::vec::Vec;

    use zerocopy::little_endian::{F64, U64};
    use zerocopy::{Immutable, IntoBytes, KnownLayout};

    use super::super::Tables;
    use super::*;

    std::thread_local!(static MULTIPLICATIONS: Cell<u64> = const { Cell::new(0) });

    /// A number that counts its multiplications.
    #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(transparent)]
    struct Counted(f64);

    impl Number for Counted {
        type Stored = F64;
        const ZERO: Self = Self(0.0);
        const ONE: Self = Self(1.0);

        fn of(stored: F64) -> Self {
            Self(stored.get())
        }

        fn stored(self) -> F64 {
            F64::new(self.0)
        }

        fn plus(self, other: Self) -> Self {
            Self(self.0 + other.0)
        }

        fn times(self, other: Self) -> Self {
            MULTIPLICATIONS.set(MULTIPLICATIONS.get() + 1);
            Self(self.0 * other.0)
        }

        fn conjugate(self) -> Self {
            self
        }

        fn magnitude(self) -> f64 {
            self.0.abs()
        }

        fn scaled(self, exponent: i32) -> Self {
            Self(self.0.scaled(exponent))
        }

        fn parts(self) -> [f64; 2] {
            self.0.parts()
        }

        fn whole(number: i32) -> Self {
            Self(number.into())
        }
    }

    /// The length of each dimension and, if only one index of it is requested, that index.
    type Dimensions = Vec<(u64, Option<u64>)>;

    /// Counts the multiplications for a slice of a train. Checks the count against the documented limit of `slice`, and
    /// the elements against `element`. All inner bond dimensions are `bond`.
    fn multiplications(dimensions: &Dimensions, bond: u64) -> u64 {
        let (lengths, fixed): (Vec<u64>, Vec<_>) = dimensions.iter().copied().unzip();
        let mut bonds = vec![bond; lengths.len() + 1];
        (bonds[0], bonds[lengths.len()]) = (1, 1);
        let matrices = || lengths.iter().zip(bonds.windows(2)).map(|(length, ends)| (*length, ends[0] * ends[1]));
        let count: u64 = matrices().map(|(length, numbers)| length * numbers).sum();
        let numbers: Vec<_> = (0..count).map(|i| F64::new((i * 7 % 11 + 1) as f64 / 12.0)).collect();
        let wire = |table: &[u64]| table.iter().map(|n| U64::new(*n)).collect::<Vec<_>>();
        let (lengths, bonds) = (wire(&lengths), wire(&bonds));
        let tables = Tables { dtype: DType::F64, lengths: &lengths, bonds: &bonds };
        let train = Train::new(tables, numbers.as_bytes());

        let mut dst = vec![0.0; train.slice_length(&fixed).unwrap() as usize / 8];
        let mut scratch = vec![0xa5; train.slice_scratch() as usize];
        MULTIPLICATIONS.set(0);
        train.slice_to::<Counted>(&|core| fixed[core], dst.as_mut_bytes(), &mut scratch).unwrap();
        let taken = MULTIPLICATIONS.get();

        let choices = |(length, fixed): &(u64, Option<u64>)| fixed.map_or(*length, |_| 1);
        let elements = dst.len() as u64;
        let longest = dimensions.iter().map(choices).max().unwrap();
        let all: u64 = matrices().map(|(_, numbers)| numbers).sum();
        let most = 4 * (elements * (bond * bond + bond) + elements * all / longest);
        assert!(taken <= most, "{taken}, not {most}: {dimensions:?}");
        for (place, found) in dst.iter().enumerate().step_by(1 + dst.len() / 100) {
            let mut rest = place as u64;
            let mut index: Vec<u64> = fixed.iter().map(|fixed| fixed.unwrap_or(0)).collect();
            for (i, dimension) in index.iter_mut().zip(dimensions).rev().filter(|(_, (_, fixed))| fixed.is_none()) {
                (*i, rest) = (rest % dimension.0, rest / dimension.0);
            }
            let [element, _] = train.element(&index, &mut scratch).unwrap();
            assert!((found / element - 1.0).abs() < 1e-12, "{found}, not {element}: {dimensions:?}");
        }
        taken
    }

    /// Dimensions with a single choice, as many as another dimension is long: doubling both must double the time.
    #[test]
    fn products_that_elements_share_are_computed_once() {
        let run = |count: u64| vec![(1, None); count as usize];
        let all = |length: u64| vec![(length, None)];
        let shapes: [&dyn Fn(u64) -> Dimensions; 7] = [
            &|n| [run(n), all(n)].concat(),
            &|n| [all(n), run(n)].concat(),
            &|n| [all(n), vec![(3, Some(1)); n as usize]].concat(),
            &|n| [all(n), all(2), all(2), run(n)].concat(),
            &|n| [all(n), run(n), all(2), all(3)].concat(),
            &|n| [all(2), run(n), all(n)].concat(),
            &|n| [all(2), run(n), all(n), run(n), all(2)].concat(),
        ];
        for shape in shapes {
            for n in [30, 60] {
                let (few, many) = (multiplications(&shape(n), 5), multiplications(&shape(2 * n), 5));
                assert!(many * 10 <= few * 22, "{few} {many}: {:?}", shape(n));
            }
        }
        multiplications(&[all(8000), run(241)].concat(), 8);
        // All but the first core are multiplied from the right, once for each of two choices. Each choice takes 6 + 36
        // + 36 multiplications, and 10 * 6 for the vectors of the first core. Then each of 20 elements takes 6.
        assert_eq!(multiplications(&[all(10), all(2), run(2)].concat(), 6), 2 * (6 + 36 + 36 + 60) + 20 * 6);
    }
}
