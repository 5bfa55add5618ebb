//! The dimensions of a tensor, decoded one by one from the file's bytes.
//!
//! The function that reads a dimension is stored with the bytes.
#![forbid(unsafe_code)]

use core::fmt;

use crate::bytes::num::{Product, decimal};

/// Reads one dimension from the front of the bytes: returns its length and the remaining bytes.
pub(crate) type ReadDimension = fn(&[u8]) -> Option<(u64, &[u8])>;

/// Reads a length in decimal digits, and skips anything before the digits. For formats that write lengths as text,
/// which has already been checked.
pub(crate) fn decimal_dimension(lengths: &[u8]) -> Option<(u64, &[u8])> {
    let start = lengths.iter().position(u8::is_ascii_digit)?;
    decimal(lengths.get(start..)?)
}

/// The shape of a tensor: its dimensions, in the order of the file, of any rank.
///
/// The first dimension is the outermost of a row-major array and the innermost of a column-major array: see
/// [`Order`](crate::Order).
///
/// No lengths are stored: they are decoded from the file's bytes on demand. Rank 0 is a scalar.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    bytes: &'a [u8],
    rank: u32,
    read: ReadDimension,
}

impl<'a> Shape<'a> {
    /// The shape of a scalar.
    pub(crate) const SCALAR: Self = Self { bytes: &[], rank: 0, read: |_| None };

    pub(crate) const fn new(bytes: &'a [u8], rank: u32, read: ReadDimension) -> Self {
        Self { bytes, rank, read }
    }

    /// Returns the bytes of the file from the first dimension on. They do not end with the last dimension.
    #[cfg(all(feature = "safetensors", not(small)))]
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the first dimensions, at most `rank` of them.
    pub(crate) fn first(self, rank: u32) -> Self {
        Self { rank: self.rank.min(rank), ..self }
    }

    /// Returns the number of dimensions; 0 for a scalar.
    #[must_use]
    pub const fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns an iterator over the lengths of the dimensions, in the order of the file.
    #[must_use]
    pub const fn iter(&self) -> Dimensions<'a> {
        Dimensions { rest: self.bytes, left: self.rank, read: self.read }
    }

    /// Returns the length of dimension `index`. Linear in `index`.
    #[must_use]
    pub fn dimension(&self, index: u32) -> Option<u64> {
        self.iter().nth(usize::try_from(index).ok()?)
    }

    /// Returns the lengths if there are exactly `N` dimensions.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// # let file = tenslice::File::open(bytes)?;
    /// let Some([rows, columns]) = file.find("t.float32")?.shape().dims() else { return Ok(()) };
    /// println!("{rows} x {columns}");
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[must_use]
    pub fn dims<const N: usize>(&self) -> Option<[u64; N]> {
        let mut dims = [0; N];
        let mut lengths = self.iter();
        for dim in &mut dims {
            *dim = lengths.next()?;
        }
        (lengths.left == 0).then_some(dims)
    }

    /// True if the order of the elements matters: at least two dimensions are longer than 1.
    pub(crate) fn has_order(&self) -> bool {
        self.iter().filter(|length| *length > 1).nth(1).is_some()
    }

    /// Returns the product of the lengths; `None` if it exceeds 64 bits, which is possible for a sparse tensor. If any
    /// length is 0, the product is 0, whatever the other lengths are.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        let mut count = Product::ONE;
        let mut dimensions = self.iter();
        dimensions.by_ref().for_each(|length| count.multiply(length));
        count.total().filter(|_| dimensions.left == 0) // otherwise the bytes have changed since opening
    }
}

impl<'a> IntoIterator for Shape<'a> {
    type Item = u64;
    type IntoIter = Dimensions<'a>;

    fn into_iter(self) -> Dimensions<'a> {
        self.iter()
    }
}

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl PartialEq<[u64]> for Shape<'_> {
    fn eq(&self, other: &[u64]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[u64; N]> for Shape<'_> {
    fn eq(&self, other: &[u64; N]) -> bool {
        *self == other[..]
    }
}

/// Prints `[2, 3]`.
impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An iterator over the lengths of the dimensions of a [`Shape`].
#[derive(Clone, Copy)]
pub struct Dimensions<'a> {
    rest: &'a [u8],
    left: u32,
    read: ReadDimension,
}

impl Iterator for Dimensions<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let left = self.left.checked_sub(1)?;
        let (length, rest) = (self.read)(self.rest)?;
        (self.rest, self.left) = (rest, left);
        Some(length)
    }
}
