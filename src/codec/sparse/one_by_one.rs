//! Reads indices and writes a dense tensor, one value after the other, in little code.
//!
//! For chips; hosts use `batches`, which is faster.
#![forbid(unsafe_code)]

use core::slice;

use super::{Column, Entry, Indices, Sparse};
use crate::bytes::num::to_usize;

impl Column<'_> {
    /// True if the first `count` numbers are indices and `valid` returns true for each of them.
    pub(super) fn all(&self, count: u64, mut valid: impl FnMut(&[u64]) -> bool) -> bool {
        (0..count).all(|i| self.index(i).is_some_and(|index| valid(slice::from_ref(&index))))
    }
}

impl<'a> Sparse<'a> {
    /// Returns the linear index of an entry in the dense row-major array. `lengths` are the lengths of the dimensions
    /// longer than 1, if values are stored by linear index.
    fn dense_place(&self, entry: &Entry<'_, 'a>, lengths: &[u64]) -> Option<u64> {
        let mut place = 0_u64;
        if let Indices::Places(places) = self.indices {
            let mut rest = places.index(entry.k)?;
            for length in lengths {
                place = place.checked_mul(*length)?.checked_add(rest.checked_rem(*length)?)?;
                rest = rest.checked_div(*length)?;
            }
            return Some(place);
        }
        for (length, dimension) in self.shape.iter().zip(0_u32..) {
            place = place.checked_mul(length)?.checked_add(entry.index(dimension)?)?;
        }
        Some(place)
    }

    /// Writes the tensor to `dst` in native byte order, row-major; `dst` has its dense length and is zero-filled.
    /// `None` if a value is out of bounds, which is possible if the bytes have changed.
    pub(crate) fn scatter(&self, dst: &mut [u8]) -> Option<()> {
        let lengths = self.long_dimensions()?;
        for entry in self.iter() {
            let size = self.values.dtype.byte_size();
            let to =
                self.dense_place(&entry, &lengths).and_then(|place| place.checked_mul(size)).and_then(|offset| {
                    let from = to_usize(offset)?;
                    dst.get_mut(from..)?.get_mut(..to_usize(size)?)
                });
            let (to, from) = (to?, self.values.element(entry.k)?);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            self.values.order.to_native(to, self.values.dtype);
        }
        Some(())
    }
}
