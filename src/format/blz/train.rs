//! Computing with a tensor train: elements, slices, the whole tensor, norm, sum and inner product, in memory
//! that the caller gives.
//!
//! Depends on `super`. An element is the product of one matrix of each core, a row vector at first. Cores and
//! vectors of unusual scale are multiplied by powers of two on the way, which is exact, so that only a result
//! that is too large or too small itself leaves the range of an `f64`.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{F64, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unalign, Unaligned};

use super::{Tables, fail};
use crate::bytes::num::{to_u64, to_usize};
use crate::error::{Error, ErrorKind, Item, Result};
use crate::vocab::DType;

/// A number of either type, as it is computed with.
trait Number: Copy + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// As it is stored: little-endian, at any address.
    type Stored: Copy + FromBytes + Immutable + KnownLayout + Unaligned;
    const ZERO: Self;
    const ONE: Self;
    fn of(stored: Self::Stored) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn conjugate(self) -> Self;
    /// The magnitude of its larger part.
    fn magnitude(self) -> f64;
    /// Times 2^`exponent`.
    fn scaled(self, exponent: i32) -> Self;
    fn by(self, factor: f64) -> Self;
    fn parts(self) -> [f64; 2];
    /// A number that is whole and real.
    fn whole(number: i32) -> Self;
}

impl Number for f64 {
    type Stored = F64;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn of(stored: F64) -> Self {
        stored.get()
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

    fn by(self, factor: f64) -> Self {
        self * factor
    }

    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }

    fn whole(number: i32) -> Self {
        number.into()
    }
}

/// Real and imaginary part.
impl Number for [f64; 2] {
    type Stored = [F64; 2];
    const ZERO: Self = [0.0, 0.0];
    const ONE: Self = [1.0, 0.0];

    fn of(stored: [F64; 2]) -> Self {
        stored.map(F64::get)
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

    fn by(self, factor: f64) -> Self {
        self.map(|part| part * factor)
    }

    fn parts(self) -> [f64; 2] {
        self
    }

    fn whole(number: i32) -> Self {
        [number.into(), 0.0]
    }
}

/// Numbers in scratch memory, at any address.
type Vector<N> = [Unalign<N>];

/// A result that may lie beyond the range of an `f64`: `parts` times 2^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// Real and imaginary part.
    pub parts: [f64; 2],
    /// The power of two that they have to be multiplied by.
    pub exponent: i32,
}

impl Scaled {
    /// Real and imaginary part; infinite or zero where they are beyond the range of an `f64`.
    #[must_use]
    pub fn value(&self) -> [f64; 2] {
        self.parts.scaled(self.exponent)
    }

    /// The square root of a number that is real and not negative.
    fn square_root(self) -> Self {
        let [square, _] = self.parts;
        // An even exponent is halved; an odd one leaves a factor of two.
        let odd = self.exponent & 1;
        Self { parts: [libm::sqrt(square.scaled(odd)), 0.0], exponent: self.exponent.wrapping_sub(odd) >> 1 }
    }
}

/// The index asked for in a dimension; `None` for all of them.
pub(crate) type Fixed<'f> = dyn Fn(usize) -> Option<u64> + 'f;

/// A tensor train to compute with: the tables and the numbers of all cores, wherever they lie.
///
/// Scratch memory is the caller's, of any alignment, and stated beforehand in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    tables: Tables<'a>,
    cores: &'a [u8],
}

/// The numbers of a core, read as multiples of 2^`exponent`.
struct View<'a, N: Number> {
    left: usize,
    length: u64,
    right: usize,
    numbers: &'a [N::Stored],
    exponent: i32,
    /// 2^-`exponent`.
    factor: f64,
}

impl<'a, N: Number> View<'a, N> {
    /// Row `row` of the matrix for index `index`: as many numbers as the bond behind the core has.
    fn row(&self, row: usize, index: u64) -> Option<&'a [N::Stored]> {
        let number = to_u64(row).checked_mul(self.length)?.checked_add(index)?;
        slice_of(self.numbers, to_usize(number)?, self.right)
    }

    fn number(&self, stored: N::Stored) -> N {
        N::of(stored).by(self.factor)
    }

    /// The exponent that brings its largest number into the usual range.
    fn find_exponent(&self) -> i32 {
        excess_of(self.numbers.iter().map(|number| N::of(*number)))
    }

    /// The same numbers as multiples of 2^`exponent`.
    fn scaled(self, exponent: i32) -> Self {
        Self { exponent, factor: libm::scalbn(1.0, exponent.wrapping_neg()), ..self }
    }

    /// Adds `vector` times the matrix for index `index` to `product`.
    fn add_product(&self, vector: &Vector<N>, index: u64, product: &mut Vector<N>) -> Option<()> {
        for (x, row) in vector.iter().zip(0..self.left) {
            let x = x.get();
            for (sum, y) in product.iter_mut().zip(self.row(row, index)?) {
                sum.set(sum.get().plus(x.times(self.number(*y))));
            }
        }
        Some(())
    }
}

/// Part `index` of numbers that are cut into parts of `width`.
fn slice_of<T>(numbers: &[T], index: usize, width: usize) -> Option<&[T]> {
    numbers.get(index.checked_mul(width)?..)?.get(..width)
}

fn slice_of_mut<T>(numbers: &mut [T], index: usize, width: usize) -> Option<&mut [T]> {
    numbers.get_mut(index.checked_mul(width)?..)?.get_mut(..width)
}

fn clear<N: Number>(vector: &mut Vector<N>) {
    vector.iter_mut().for_each(|x| x.set(N::ZERO));
}

/// By which power of two the largest of some numbers exceeds the usual range, 2^-200 to 2^200: 0 inside it, and
/// where all are zero or one is infinite. Numbers of that range can be multiplied three at a time, and summed,
/// without leaving that of an `f64`; the small ones beside them keep their digits.
fn excess_of<N: Number>(numbers: impl Iterator<Item = N>) -> i32 {
    const USUAL: i32 = 200;
    let largest = numbers.map(N::magnitude).fold(0.0, |a: f64, b| if b > a { b } else { a });
    // The exponent of a number stands in its bits; of subnormal ones it is at most this.
    let biased = largest.to_bits().wrapping_shr(52) & 0x7ff;
    if largest == 0.0 || biased == 0x7ff {
        return 0;
    }
    let exponent = i32::try_from(biased).unwrap_or(0).wrapping_sub(1023);
    exponent.wrapping_sub(exponent.clamp(-USUAL, USUAL))
}

/// Divides `vector` by the power of two by which it exceeds the usual range; its exponent.
fn normalise<N: Number>(vector: &mut Vector<N>) -> i32 {
    let exponent = excess_of(vector.iter().map(Unalign::get));
    if exponent != 0 {
        vector.iter_mut().for_each(|x| x.set(x.get().scaled(exponent.wrapping_neg())));
    }
    exponent
}

/// `count` numbers at the front of scratch memory.
fn numbers_in<N: Number>(scratch: &mut [u8], count: u64) -> Option<&mut Vector<N>> {
    let (numbers, _) = <Vector<N>>::mut_from_prefix_with_elems(scratch, to_usize(count)?).ok()?;
    Some(numbers)
}

impl<'a> Train<'a> {
    pub(super) const fn new(tables: Tables<'a>, cores: &'a [u8]) -> Self {
        Self { tables, cores }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        fail(kind, Item::Core, self.tables.bond_at(0))
    }

    fn bytes(&self, numbers: u64) -> u64 {
        numbers.saturating_mul(self.tables.dtype.size())
    }

    fn last(&self) -> usize {
        self.tables.lengths.len().saturating_sub(1)
    }

    fn length(&self, core: usize) -> Option<u64> {
        self.tables.lengths.get(core).map(|length| length.get())
    }

    fn bond(&self, core: usize) -> Option<u64> {
        self.tables.bonds.get(core).map(|bond| bond.get())
    }

    /// How many numbers core `core` has.
    fn size(&self, core: usize) -> Option<u64> {
        self.bond(core)?.checked_mul(self.length(core)?)?.checked_mul(self.bond(core.checked_add(1)?)?)
    }

    /// Core `core`, the numbers of which stand `before` numbers behind the first; not scaled.
    fn view<N: Number>(&self, core: usize, before: u64) -> Option<View<'a, N>> {
        let numbers = <[N::Stored]>::ref_from_bytes(self.cores).ok()?;
        Some(View {
            left: to_usize(self.bond(core)?)?,
            length: self.length(core)?,
            right: to_usize(self.bond(core.checked_add(1)?)?)?,
            numbers: numbers.get(to_usize(before)?..)?.get(..to_usize(self.size(core)?)?)?,
            exponent: 0,
            factor: 1.0,
        })
    }

    /// The same, brought into the usual range.
    fn scaled_view<N: Number>(&self, core: usize, before: u64) -> Option<View<'a, N>> {
        let view = self.view(core, before)?;
        let exponent = view.find_exponent();
        Some(view.scaled(exponent))
    }

    /// Scratch memory for [`element`](Self::element) and [`sum`](Self::sum): two vectors.
    #[must_use]
    pub fn element_scratch(&self) -> u64 {
        self.bytes(self.tables.largest_bond().saturating_mul(2))
    }

    /// An element: real and imaginary part. Takes a product of a vector and a matrix for each core.
    ///
    /// # Errors
    /// `RankMismatch`, `IndexOutOfRange`, `OutOfScratch`.
    pub fn element(&self, index: &[u64], scratch: &mut [u8]) -> Result<[f64; 2]> {
        if index.len() != self.tables.lengths.len() {
            return Err(self.error(ErrorKind::RankMismatch));
        }
        if index.iter().zip(self.tables.lengths).any(|(i, length)| *i >= length.get()) {
            return Err(self.error(ErrorKind::IndexOutOfRange));
        }
        Ok(self.sum_over(Some(index), scratch)?.value())
    }

    /// The sum of all elements. Takes a product of a vector and a matrix for each index of each core.
    ///
    /// # Errors
    /// `OutOfScratch`, as much as for [`element`](Self::element).
    pub fn sum(&self, scratch: &mut [u8]) -> Result<Scaled> {
        self.sum_over(None, scratch)
    }

    /// The element of that index, or the sum of all.
    fn sum_over(&self, index: Option<&[u64]>, scratch: &mut [u8]) -> Result<Scaled> {
        let is_enough = to_u64(scratch.len()) >= self.element_scratch();
        let sum = match self.tables.dtype {
            _ if !is_enough => return Err(self.error(ErrorKind::OutOfScratch)),
            DType::F64 => self.sum_of::<f64>(index, scratch),
            _ => self.sum_of::<[f64; 2]>(index, scratch),
        };
        sum.ok_or_else(|| self.error(ErrorKind::OutOfFile)) // the bytes have changed since
    }

    fn sum_of<N: Number>(&self, index: Option<&[u64]>, scratch: &mut [u8]) -> Option<Scaled> {
        let room = self.tables.largest_bond();
        let both = numbers_in::<N>(scratch, room.checked_mul(2)?)?;
        let (mut vector, mut product) = both.split_at_mut_checked(to_usize(room)?)?;
        vector.first_mut()?.set(N::ONE);
        let (mut before, mut exponent) = (0_u64, 0_i32);
        for core in 0..self.tables.lengths.len() {
            let view = self.scaled_view::<N>(core, before)?;
            let indices = match index {
                Some(index) => {
                    let index = *index.get(core)?;
                    index..index.checked_add(1)?
                }
                None => 0..view.length,
            };
            let sum = product.get_mut(..view.right)?;
            clear(sum);
            for i in indices {
                view.add_product(vector.get(..view.left)?, i, sum)?;
            }
            exponent = exponent.saturating_add(view.exponent);
            if core < self.last() {
                exponent = exponent.saturating_add(normalise(sum)); // the parts of a result may differ in scale
            }
            core::mem::swap(&mut vector, &mut product);
            before = before.checked_add(self.size(core)?)?;
        }
        Some(Scaled { parts: vector.first()?.get().parts(), exponent })
    }

    /// Scratch memory for [`slice`](Self::slice): a vector for each bond, and a number for each bond and core.
    #[must_use]
    pub fn slice_scratch(&self) -> u64 {
        self.bytes(self.vectors().saturating_add(to_u64(self.tables.lengths.len())))
    }

    /// How many numbers the vectors of all inner bonds have, each with one for its exponent.
    fn vectors(&self) -> u64 {
        let inner = self.tables.bonds.iter().skip(1).take(self.last());
        inner.fold(0, |sum, bond| sum.saturating_add(bond.get()).saturating_add(1))
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
    /// `RankMismatch` for too many entries, `IndexOutOfRange`; `ShapeOverflow`, `TooSmall`, `OutOfScratch`:
    /// nothing was written then.
    pub fn slice<'r>(&self, fixed: &[Option<u64>], room: &'r mut [u8], scratch: &mut [u8]) -> Result<&'r mut [u8]> {
        self.check_rank(fixed.len())?;
        self.slice_by(&|core| fixed.get(core).copied().flatten(), room, scratch)
    }

    /// Refuses more fixed indices than there are dimensions.
    pub(crate) fn check_rank(&self, fixed: usize) -> Result<()> {
        if fixed > self.tables.lengths.len() { Err(self.error(ErrorKind::RankMismatch)) } else { Ok(()) }
    }

    pub(crate) fn slice_by<'r>(
        &self,
        fixed: &Fixed<'_>,
        room: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let mut dimensions = self.tables.lengths.iter().zip(0..);
        if dimensions.any(|(length, core)| fixed(core).is_some_and(|index| index >= length.get())) {
            return Err(self.error(ErrorKind::IndexOutOfRange));
        }
        let length = self.slice_len_by(fixed).ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let room = to_usize(length).and_then(|length| room.get_mut(..length));
        let room = room.ok_or_else(|| self.error(ErrorKind::TooSmall))?;
        if to_u64(scratch.len()) < self.slice_scratch() {
            return Err(self.error(ErrorKind::OutOfScratch));
        }
        let written = match self.tables.dtype {
            DType::F64 => self.slice_to::<f64>(fixed, room, scratch),
            _ => self.slice_to::<[f64; 2]>(fixed, room, scratch),
        };
        written.ok_or_else(|| self.error(ErrorKind::OutOfFile))?; // the bytes have changed since
        Ok(room)
    }

    fn slice_to<N: Number>(&self, fixed: &Fixed<'_>, room: &mut [u8], scratch: &mut [u8]) -> Option<()> {
        let all = numbers_in::<N>(scratch, self.slice_scratch().wrapping_shr(self.tables.dtype.log2_size()))?;
        let (vectors, exponents) = all.split_at_mut_checked(to_usize(self.vectors())?)?;
        let mut elements = <Vector<N>>::mut_from_bytes(room).ok()?.iter_mut();
        let last = self.last();
        let mut end = Place { core: 0, before: 0, vector: 0 };
        loop {
            let exponent = self.view::<N>(end.core, end.before)?.find_exponent();
            exponents.get_mut(end.core)?.set(N::whole(exponent));
            if end.core == last {
                break;
            }
            end = end.next(self)?;
        }
        let core = self.view::<N>(last, end.before)?.scaled(exponent_at(exponents, last)?);
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
                let core = self.view(place.core, place.before)?.scaled(exponent_at(exponents, place.core)?);
                self.multiply(place, &core, first.checked_add(index)?, vectors)?;
                index = 0;
                place = place.next(self)?;
            }
            let one = [Unalign::new(N::ONE)];
            let (vector, exponent) = if last == 0 { (&one[..], 0) } else { vector_at(vectors, end, core.left)? };
            for (index, element) in (first..first.checked_add(count)?).zip(&mut elements) {
                let mut sum = [Unalign::new(N::ZERO)];
                core.add_product(vector, index, &mut sum)?;
                let [sum] = sum;
                element.set(sum.get().scaled(exponent.saturating_add(core.exponent)));
            }
            block = block.checked_add(1)?;
        }
        Some(())
    }

    /// Multiplies the vector in front of a core with its matrix for index `index`: gives the vector behind it.
    fn multiply<N: Number>(
        &self,
        place: Place,
        core: &View<'_, N>,
        index: u64,
        vectors: &mut Vector<N>,
    ) -> Option<()> {
        let one = [Unalign::new(N::ONE)];
        let (before, behind) = vectors.split_at_mut_checked(to_usize(place.next(self)?.vector)?)?;
        let (vector, exponent) = if place.core == 0 { (&one[..], 0) } else { vector_at(before, place, core.left)? };
        let (product, rest) = behind.split_at_mut_checked(core.right)?;
        clear(product);
        core.add_product(vector, index, product)?;
        let exponent = exponent.saturating_add(core.exponent).saturating_add(normalise(product));
        rest.first_mut()?.set(N::whole(exponent));
        Some(())
    }

    /// Scratch memory for [`inner`](Self::inner), and, with the train itself, for [`norm`](Self::norm).
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

    /// The inner product with another train of the same shape and type: the sum of all elements of this one,
    /// conjugated, times those of the other. Takes of the order of the product of three bond dimensions for
    /// each index of each core.
    ///
    /// # Errors
    /// `WrongType`, `InvalidArgument` for another shape, `OutOfScratch`.
    pub fn inner(&self, other: &Train<'_>, scratch: &mut [u8]) -> Result<Scaled> {
        if self.tables.dtype != other.tables.dtype {
            return Err(self.error(ErrorKind::WrongType));
        }
        if self.tables.lengths != other.tables.lengths {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        if to_u64(scratch.len()) < self.inner_scratch(other) {
            return Err(self.error(ErrorKind::OutOfScratch));
        }
        let inner = match self.tables.dtype {
            DType::F64 => self.inner_of::<f64>(other, scratch),
            _ => self.inner_of::<[f64; 2]>(other, scratch),
        };
        inner.ok_or_else(|| self.error(ErrorKind::OutOfFile)) // the bytes have changed since
    }

    /// The norm: the square root of the sum of the squared magnitudes of all elements.
    ///
    /// # Errors
    /// `OutOfScratch`: see [`inner_scratch`](Self::inner_scratch).
    pub fn norm(&self, scratch: &mut [u8]) -> Result<Scaled> {
        self.inner(self, scratch).map(Scaled::square_root)
    }

    fn inner_of<N: Number>(&self, other: &Train<'_>, scratch: &mut [u8]) -> Option<Scaled> {
        let count = self.inner_scratch(other).wrapping_shr(self.tables.dtype.log2_size());
        let all = numbers_in::<N>(scratch, count)?;
        all.first_mut()?.set(N::ONE);
        let (mut ours_before, mut theirs_before, mut exponent) = (0_u64, 0_u64, 0_i32);
        for core in 0..self.tables.lengths.len() {
            let ours = self.scaled_view::<N>(core, ours_before)?;
            let theirs = other.scaled_view::<N>(core, theirs_before)?;
            let so_far = ours.left.checked_mul(theirs.left)?;
            let half = ours.left.checked_mul(theirs.right)?;
            let done = ours.right.checked_mul(theirs.right)?;
            let (so_far, rest) = all.split_at_mut_checked(so_far)?;
            let (half, rest) = rest.split_at_mut_checked(half)?;
            let product = rest.get_mut(..done)?;
            clear(product);
            for index in 0..ours.length {
                clear(half);
                for row in 0..ours.left {
                    let to = slice_of_mut(half, row, theirs.right)?;
                    theirs.add_product(slice_of(so_far, row, theirs.left)?, index, to)?;
                }
                for row in 0..ours.left {
                    let half = slice_of(half, row, theirs.right)?;
                    for (x, column) in ours.row(row, index)?.iter().zip(0_usize..) {
                        let x = ours.number(*x).conjugate();
                        for (sum, y) in slice_of_mut(product, column, theirs.right)?.iter_mut().zip(half) {
                            sum.set(sum.get().plus(x.times(y.get())));
                        }
                    }
                }
            }
            exponent = exponent.saturating_add(ours.exponent).saturating_add(theirs.exponent);
            exponent = exponent.saturating_add(normalise(product));
            // The product comes to the front, where the next core finds it.
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
