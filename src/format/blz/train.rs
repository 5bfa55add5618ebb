//! Computing with a tensor train in the caller's memory: elements, norm, sum and inner product. `slice.rs` computes
//! slices.
//!
//! An element is the product of a row vector and one matrix of each core. For a slice, the last cores may be multiplied
//! from the right, into a column vector, if that takes much less work.
//!
//! If a product could leave the range of an `f64`, the vector is first scaled by a power of two. Scaling up loses
//! nothing. Scaling down, if the largest products could overflow, may lose numbers that are 10^300 times smaller than
//! the largest number of their vector. Apart from those, a result is infinite or zero only if its true value is too
//! large or too small.
#![forbid(unsafe_code)]

use core::ops::Range;

use zerocopy::little_endian::{F64, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unalign, Unaligned};

use super::{Tables, fail};
use crate::bytes::num::{to_u64, to_usize};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::types::DType;

/// A real or complex number to compute with.
pub(super) trait Number: Copy + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The stored form: little-endian, at any address.
    type Stored: Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned;
    const ZERO: Self;
    const ONE: Self;
    fn of(stored: Self::Stored) -> Self;
    fn stored(self) -> Self::Stored;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn conjugate(self) -> Self;
    /// Returns the magnitude of the larger part.
    fn magnitude(self) -> f64;
    /// Returns the number times 2^`exponent`.
    fn scaled(self, exponent: i32) -> Self;
    fn parts(self) -> [f64; 2];
    /// Returns a whole number, without an imaginary part.
    fn whole(number: i32) -> Self;
}

impl Number for f64 {
    type Stored = F64;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn of(stored: F64) -> Self {
        stored.get()
    }

    fn stored(self) -> F64 {
        F64::new(self)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn conjugate(self) -> Self {
        self
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn scaled(self, exponent: i32) -> Self {
        if exponent == 0 { self } else { libm::scalbn(self, exponent) }
    }

    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }

    fn whole(number: i32) -> Self {
        number.into()
    }
}

/// A complex number: real and imaginary part.
impl Number for [f64; 2] {
    type Stored = [F64; 2];
    const ZERO: Self = [0.0, 0.0];
    const ONE: Self = [1.0, 0.0];

    fn of(stored: [F64; 2]) -> Self {
        stored.map(F64::get)
    }

    fn stored(self) -> [F64; 2] {
        self.map(F64::new)
    }

    fn plus(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self, other);
        [a + c, b + d]
    }

    fn times(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self, other);
        [a * c - b * d, a * d + b * c]
    }

    fn conjugate(self) -> Self {
        let [real, imaginary] = self;
        [real, -imaginary]
    }

    fn magnitude(self) -> f64 {
        let [real, imaginary] = self.map(f64::abs);
        if real > imaginary { real } else { imaginary }
    }

    fn scaled(self, exponent: i32) -> Self {
        self.map(|part| part.scaled(exponent))
    }

    fn parts(self) -> [f64; 2] {
        self
    }

    fn whole(number: i32) -> Self {
        [number.into(), 0.0]
    }
}

/// Numbers in scratch memory, at any address.
pub(super) type Vector<N> = [Unalign<N>];

/// A result that may be outside the range of an `f64`: `parts` times 2^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// The real and imaginary part.
    pub parts: [f64; 2],
    /// The power of two by which to multiply `parts`.
    pub exponent: i32,
}

impl Scaled {
    /// Returns the real and imaginary part. A part outside the range of an `f64` is infinite or zero.
    #[must_use]
    pub fn value(&self) -> [f64; 2] {
        self.parts.scaled(self.exponent)
    }

    /// Returns the square root of a number that is real and, up to rounding, not negative.
    fn square_root(self) -> Self {
        let [square, _] = self.parts;
        let square = if square < 0.0 { 0.0 } else { square };
        // An even exponent is halved; an odd exponent leaves a factor of two.
        let odd = self.exponent & 1;
        Self { parts: [libm::sqrt(square.scaled(odd)), 0.0], exponent: self.exponent.wrapping_sub(odd) >> 1 }
    }
}

/// A tensor train to compute with: the tables, and the numbers of all cores, wherever they are in memory.
///
/// The caller provides scratch memory of any alignment. A function returns each size in bytes beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    pub(super) tables: Tables<'a>,
    cores: &'a [u8],
}

/// The numbers of a core.
pub(super) struct View<'a, N: Number> {
    pub(super) left: usize,
    pub(super) length: u64,
    pub(super) right: usize,
    pub(super) numbers: &'a [N::Stored],
}

impl<'a, N: Number> View<'a, N> {
    /// Returns row `row` of the matrix for index `index`. The length is the bond dimension after the core.
    fn row(&self, row: usize, index: u64) -> Option<&'a [N::Stored]> {
        let number = to_u64(row).checked_mul(self.length)?.checked_add(index)?;
        slice_of(self.numbers, to_usize(number)?, self.right)
    }

    /// Returns the exponent of the largest number of the matrix for index `index`.
    pub(super) fn exponent(&self, index: u64) -> Option<i32> {
        let rows = (0..self.left).filter_map(|row| self.row(row, index));
        exponent_of(rows.flatten().map(|number| N::of(*number)))
    }

    /// Adds `vector`, divided by 2^`scale`, times the matrix for index `index` to `product`.
    fn add_product(&self, vector: &Vector<N>, scale: i32, index: u64, product: &mut Vector<N>) -> Option<()> {
        for (x, row) in vector.iter().zip(0..self.left) {
            let x = x.get().scaled(scale.wrapping_neg());
            for (sum, y) in product.iter_mut().zip(self.row(row, index)?) {
                sum.set(sum.get().plus(x.times(N::of(*y))));
            }
        }
        Some(())
    }

    /// Writes `vector` times the sum of the matrices for `indices` to `product`. Returns the power of two by which to
    /// multiply the product.
    pub(super) fn multiply(&self, vector: &Vector<N>, indices: Range<u64>, product: &mut Vector<N>) -> Option<i32> {
        let matrices = indices.clone().filter_map(|index| self.exponent(index)).max();
        let terms = to_u64(self.left).saturating_mul(indices.end.saturating_sub(indices.start));
        let scale = scale_of(exponent_of(vector.iter().map(Unalign::get)), matrices, terms);
        product.iter_mut().for_each(|x| x.set(N::ZERO));
        for index in indices {
            self.add_product(vector, scale, index, product)?;
        }
        Some(scale)
    }

    /// Writes `vector` times the matrices from index `first` to `product`, side by side, until `product` is full. Only
    /// for vectors that need [no scaling](Unscaled); the sums are then those of [`multiply`](Self::multiply).
    pub(super) fn multiply_unscaled(&self, vector: &Vector<N>, first: u64, product: &mut Vector<N>) -> Option<()> {
        let stride = to_usize(self.length)?.checked_mul(self.right)?;
        let mut columns = self.numbers.get(to_usize(first)?.checked_mul(self.right)?..)?;
        let mut rest = product;
        while !rest.is_empty() {
            // The largest number of sums that fit into registers.
            let width = match rest.len() {
                8.. => 8,
                4.. => 4,
                _ => 1,
            };
            let (part, after) = rest.split_at_mut_checked(width)?;
            match width {
                8 => sums_of::<N, 8>(vector, columns, stride, part)?,
                4 => sums_of::<N, 4>(vector, columns, stride, part)?,
                _ => sums_of::<N, 1>(vector, columns, stride, part)?,
            }
            (columns, rest) = (columns.get(width..)?, after);
        }
        Some(())
    }

    /// Writes the matrix for index `index` times `column` to `product`, after scaling `column` in place. Returns the
    /// power of two by which to multiply the product.
    pub(super) fn multiply_column(
        &self,
        index: u64,
        column: &mut [N::Stored],
        product: &mut [N::Stored],
    ) -> Option<i32> {
        let largest = exponent_of(column.iter().map(|x| N::of(*x)));
        let scale = scale_of(largest, self.exponent(index), to_u64(self.right));
        column.iter_mut().for_each(|x| *x = N::of(*x).scaled(scale.wrapping_neg()).stored());
        for (product, row) in product.iter_mut().zip(0..self.left) {
            let terms = self.row(row, index)?.iter().zip(&*column).map(|(x, y)| N::of(*x).times(N::of(*y)));
            *product = terms.fold(N::ZERO, N::plus).stored();
        }
        Some(scale)
    }
}

/// Writes the products of `vector` with `WIDTH` columns to `part`. The rows of `columns` begin every `stride` numbers.
fn sums_of<N: Number, const WIDTH: usize>(
    vector: &Vector<N>,
    columns: &[N::Stored],
    stride: usize,
    part: &mut Vector<N>,
) -> Option<()> {
    let mut sums = [N::ZERO; WIDTH];
    let mut rest = columns;
    for x in vector {
        let row: &[N::Stored; WIDTH] = rest.first_chunk()?;
        for (sum, y) in sums.iter_mut().zip(row) {
            *sum = sum.plus(x.get().times(N::of(*y)));
        }
        rest = rest.get(stride..).unwrap_or_default();
    }
    part.iter_mut().zip(sums).for_each(|(to, sum)| to.set(sum));
    Some(())
}

/// A range for the largest number of a vector, in which products with given matrices need no scaling.
#[derive(Clone, Copy)]
pub(super) struct Unscaled {
    least: f64,
    below: f64,
}

impl Unscaled {
    /// Returns the range for matrices whose largest numbers have exponents between these `ends`, and for sums of up to
    /// `terms` products. [`scale_of`] returns 0 for every vector in the range.
    pub(super) fn of(ends: Option<(i32, i32)>, terms: u64) -> Self {
        let Some((low, high)) = ends else { return Self { least: 0.0, below: f64::INFINITY } };
        let most = MOST.saturating_sub(high).saturating_sub(bits_of(terms));
        Self { least: 1.0.scaled(LEAST.saturating_sub(low)), below: 1.0.scaled(most.saturating_add(1)) }
    }

    /// Returns whether `vector` is in the range. Always false on chips, to save flash.
    pub(super) fn has<N: Number>(self, vector: &Vector<N>) -> bool {
        if cfg!(small) {
            return false;
        }
        let largest = largest_of(vector.iter().map(Unalign::get));
        largest == 0.0 || (self.least <= largest && largest < self.below)
    }
}

/// Returns part `index` of `numbers`, which are divided into parts of `width`.
fn slice_of<T>(numbers: &[T], index: usize, width: usize) -> Option<&[T]> {
    numbers.get(index.checked_mul(width)?..)?.get(..width)
}

fn slice_of_mut<T>(numbers: &mut [T], index: usize, width: usize) -> Option<&mut [T]> {
    numbers.get_mut(index.checked_mul(width)?..)?.get_mut(..width)
}

/// Returns the exponent of the largest number. Returns `None` if all numbers are zero, or one is infinite: scaling
/// changes neither.
fn exponent_of<N: Number>(numbers: impl Iterator<Item = N>) -> Option<i32> {
    let largest = largest_of(numbers);
    if largest == 0.0 || largest == f64::INFINITY {
        return None;
    }
    Some(libm::ilogb(largest))
}

/// Returns the magnitude of the largest number, ignoring NaN.
fn largest_of<N: Number>(numbers: impl Iterator<Item = N>) -> f64 {
    numbers.map(N::magnitude).fold(0.0, |a: f64, b| if b > a { b } else { a })
}

/// Returns the number of bits that `n` takes.
fn bits_of(n: u64) -> i32 {
    i32::try_from(u64::BITS.saturating_sub(n.leading_zeros())).unwrap_or(64)
}

/// The largest exponent, 1023, less a margin for a complex product and rounding.
const MOST: i32 = 1018;
/// The smallest normal exponent, -1022, plus a margin for the digits of a number.
const LEAST: i32 = -960;

/// Returns the power of two by which to divide numbers up to 2^`factor` before summing `terms` products with numbers up
/// to 2^`other`. Returns 0 if the sum is far from both ends of the range of an `f64`.
fn scale_of(factor: Option<i32>, other: Option<i32>, terms: u64) -> i32 {
    let (Some(factor), Some(other)) = (factor, other) else { return 0 };
    let product = factor.saturating_add(other);
    let most = product.saturating_add(bits_of(terms));
    if most > MOST {
        most.saturating_sub(MOST)
    } else if product < LEAST {
        // Scales until the product is about 1, if the factor itself stays in range.
        product.max(factor.saturating_sub(900)).min(0)
    } else {
        0
    }
}

/// Returns `count` numbers at the front of scratch memory.
fn numbers_in<N: Number>(scratch: &mut [u8], count: u64) -> Option<&mut Vector<N>> {
    let (numbers, _) = <Vector<N>>::mut_from_prefix_with_elems(scratch, to_usize(count)?).ok()?;
    Some(numbers)
}

impl<'a> Train<'a> {
    pub(super) const fn new(tables: Tables<'a>, cores: &'a [u8]) -> Self {
        Self { tables, cores }
    }

    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        fail(kind, Part::Core, self.tables.bond_at(0))
    }

    pub(super) fn bytes(&self, numbers: u64) -> u64 {
        numbers.saturating_mul(self.tables.number_size())
    }

    pub(super) fn length(&self, core: usize) -> Option<u64> {
        self.tables.lengths.get(core).map(|length| length.get())
    }

    pub(super) fn bond(&self, core: usize) -> Option<u64> {
        self.tables.bonds.get(core).map(|bond| bond.get())
    }

    /// Returns the number of numbers in core `core`.
    pub(super) fn size(&self, core: usize) -> Option<u64> {
        self.bond(core)?.checked_mul(self.length(core)?)?.checked_mul(self.bond(core.checked_add(1)?)?)
    }

    /// Returns core `core`, which is preceded by `before` numbers of other cores.
    pub(super) fn view<N: Number>(&self, core: usize, before: u64) -> Option<View<'a, N>> {
        let numbers = <[N::Stored]>::ref_from_bytes(self.cores).ok()?;
        let size = self.size(core)?;
        if size == 0 {
            return None; // no core is empty: the bytes have changed since
        }
        Some(View {
            left: to_usize(self.bond(core)?)?,
            length: self.length(core)?,
            right: to_usize(self.bond(core.checked_add(1)?)?)?,
            numbers: numbers.get(to_usize(before)?..)?.get(..to_usize(size)?)?,
        })
    }

    /// Returns the scratch memory that [`element`](Self::element) and [`sum`](Self::sum) need, in bytes: two vectors.
    #[must_use]
    pub fn element_scratch(&self) -> u64 {
        self.bytes(self.tables.largest_bond().saturating_mul(2))
    }

    /// Computes an element and returns its real and imaginary part. The number of multiplications is the size of one
    /// matrix of each core, added up.
    ///
    /// # Errors
    /// `WrongRank`, `NoSuchElement`, `OutOfScratch`.
    pub fn element(&self, index: &[u64], scratch: &mut [u8]) -> Result<[f64; 2]> {
        if index.len() != self.tables.lengths.len() {
            return Err(Error::new(ErrorKind::WrongRank));
        }
        if index.iter().zip(self.tables.lengths).any(|(i, length)| *i >= length.get()) {
            return Err(Error::new(ErrorKind::NoSuchElement));
        }
        Ok(self.sum_over(Some(index), scratch)?.value())
    }

    /// Computes the sum of all elements, with one multiplication per number of the cores.
    ///
    /// # Errors
    /// `OutOfScratch`; see [`element_scratch`](Self::element_scratch).
    pub fn sum(&self, scratch: &mut [u8]) -> Result<Scaled> {
        self.sum_over(None, scratch)
    }

    /// Computes the element at `index`, or the sum of all elements.
    fn sum_over(&self, index: Option<&[u64]>, scratch: &mut [u8]) -> Result<Scaled> {
        let is_enough = to_u64(scratch.len()) >= self.element_scratch();
        let sum = match self.tables.dtype {
            _ if !is_enough => return Err(Error::new(ErrorKind::OutOfScratch)),
            DType::F64 => self.sum_of::<f64>(index, scratch),
            _ => self.sum_of::<[f64; 2]>(index, scratch),
        };
        sum.ok_or_else(|| self.error(ErrorKind::OutOfFile)) // the bytes have changed since
    }

    fn sum_of<N: Number>(&self, index: Option<&[u64]>, scratch: &mut [u8]) -> Option<Scaled> {
        let size = self.tables.largest_bond();
        let both = numbers_in::<N>(scratch, size.checked_mul(2)?)?;
        let (mut vector, mut product) = both.split_at_mut_checked(to_usize(size)?)?;
        vector.first_mut()?.set(N::ONE);
        let (mut before, mut exponent) = (0_u64, 0_i32);
        for core in 0..self.tables.lengths.len() {
            let view = self.view::<N>(core, before)?;
            let indices = match index {
                Some(index) => {
                    let index = *index.get(core)?;
                    index..index.checked_add(1)?
                }
                None => 0..view.length,
            };
            let scale = view.multiply(vector.get(..view.left)?, indices, product.get_mut(..view.right)?)?;
            exponent = exponent.saturating_add(scale);
            core::mem::swap(&mut vector, &mut product);
            before = before.checked_add(self.size(core)?)?;
        }
        Some(Scaled { parts: vector.first()?.get().parts(), exponent })
    }

    /// Returns the scratch memory that [`inner`](Self::inner) needs, in bytes. With the train itself as `other`,
    /// returns the memory that [`norm`](Self::norm) needs.
    #[must_use]
    pub fn inner_scratch(&self, other: &Train<'_>) -> u64 {
        let steps = self.tables.bonds.windows(2).zip(other.tables.bonds.windows(2));
        let largest = steps.map(|(ours, theirs)| {
            let ([a, b], [c, d]) = (ours, theirs) else { return 0 };
            let matrix = |rows: &U64, columns: &U64| rows.get().saturating_mul(columns.get());
            matrix(a, c).saturating_add(matrix(a, d)).saturating_add(matrix(b, d))
        });
        self.bytes(largest.max().unwrap_or(0))
    }

    /// Computes the inner product with another train of the same shape and dtype: the sum of all elements of this
    /// train, conjugated, times those of the other. For each index of a core with bonds r and r', and s and s' in the
    /// other train, takes r s s' + r r' s' multiplications.
    ///
    /// # Errors
    /// `WrongType`, `InvalidArgument` if the shapes differ, `OutOfScratch`.
    pub fn inner(&self, other: &Train<'_>, scratch: &mut [u8]) -> Result<Scaled> {
        if self.tables.dtype != other.tables.dtype {
            return Err(Error::new(ErrorKind::WrongType));
        }
        if self.tables.lengths != other.tables.lengths {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        if to_u64(scratch.len()) < self.inner_scratch(other) {
            return Err(Error::new(ErrorKind::OutOfScratch));
        }
        let inner = match self.tables.dtype {
            DType::F64 => self.inner_of::<f64>(other, scratch),
            _ => self.inner_of::<[f64; 2]>(other, scratch),
        };
        inner.ok_or_else(|| self.error(ErrorKind::OutOfFile)) // the bytes have changed since
    }

    /// Computes the norm: the square root of the sum of the squared magnitudes of all elements. If parts of the train
    /// cancel, a result below about 10^-8 of their norms is rounding error. Takes as many multiplications as
    /// [`inner`](Self::inner).
    ///
    /// # Errors
    /// `OutOfScratch`; see [`inner_scratch`](Self::inner_scratch).
    pub fn norm(&self, scratch: &mut [u8]) -> Result<Scaled> {
        self.inner(self, scratch).map(Scaled::square_root)
    }

    fn inner_of<N: Number>(&self, other: &Train<'_>, scratch: &mut [u8]) -> Option<Scaled> {
        let count = self.inner_scratch(other).wrapping_shr(self.tables.dtype.log2_size());
        let all = numbers_in::<N>(scratch, count)?;
        all.first_mut()?.set(N::ONE);
        let (mut ours_before, mut theirs_before, mut exponent) = (0_u64, 0_u64, 0_i32);
        for core in 0..self.tables.lengths.len() {
            let ours = self.view::<N>(core, ours_before)?;
            let theirs = other.view::<N>(core, theirs_before)?;
            let so_far = ours.left.checked_mul(theirs.left)?;
            let half = ours.left.checked_mul(theirs.right)?;
            let done = ours.right.checked_mul(theirs.right)?;
            let (so_far, rest) = all.split_at_mut_checked(so_far)?;
            let (half, rest) = rest.split_at_mut_checked(half)?;
            let product = rest.get_mut(..done)?;
            product.iter_mut().for_each(|x| x.set(N::ZERO));
            // Both steps use the same scale for all indices, because their products are summed.
            let of = |numbers: &[N::Stored]| exponent_of(numbers.iter().map(|number| N::of(*number)));
            let (a, b) = (of(ours.numbers), of(theirs.numbers));
            let factor = exponent_of(so_far.iter().map(Unalign::get));
            let first = scale_of(factor, b, to_u64(theirs.left));
            let factor = factor.zip(b).map(|(factor, b)| factor.saturating_add(b).saturating_sub(first));
            let factor = factor.map(|factor| factor.saturating_add(bits_of(to_u64(theirs.left))));
            let second = scale_of(factor, a, to_u64(ours.left).saturating_mul(ours.length));
            for index in 0..ours.length {
                half.iter_mut().for_each(|x| x.set(N::ZERO));
                for row in 0..ours.left {
                    let to = slice_of_mut(half, row, theirs.right)?;
                    theirs.add_product(slice_of(so_far, row, theirs.left)?, first, index, to)?;
                }
                for row in 0..ours.left {
                    let half = slice_of(half, row, theirs.right)?;
                    for (x, column) in ours.row(row, index)?.iter().zip(0_usize..) {
                        let x = N::of(*x).conjugate();
                        for (sum, y) in slice_of_mut(product, column, theirs.right)?.iter_mut().zip(half) {
                            sum.set(sum.get().plus(x.times(y.get().scaled(second.wrapping_neg()))));
                        }
                    }
                }
            }
            exponent = exponent.saturating_add(first).saturating_add(second);
            // Moves the product to the front, where the next core expects it.
            let from = so_far.len().checked_add(half.len())?;
            for i in 0..done {
                let number = *all.get(from.checked_add(i)?)?;
                *all.get_mut(i)? = number;
            }
            ours_before = ours_before.checked_add(self.size(core)?)?;
            theirs_before = theirs_before.checked_add(other.size(core)?)?;
        }
        Some(Scaled { parts: all.first()?.get().parts(), exponent })
    }
}
