//! Views of stored elements that are not one after the other.
#![forbid(unsafe_code)]

#[cfg(feature = "pytorch")]
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::types::DType;

/// The most dimensions of a view that is read. In torch, no operation takes a tensor with more.
pub(crate) const MOST: usize = 64;

/// Returns the bytes from the first to the last element of a view, whose elements have `size` bytes. The first element
/// is element `offset` of the storage. `dimensions` are the lengths, none of which is 0, and the strides, in elements.
/// `None` if a number exceeds 64 bits.
#[cfg(feature = "pytorch")]
pub(crate) fn extent(dimensions: impl Iterator<Item = (u64, u64)>, offset: u64, size: u64) -> Option<Extent> {
    let mut reach = 0_u64;
    for (length, stride) in dimensions {
        reach = reach.checked_add(length.saturating_sub(1).checked_mul(stride)?)?;
    }
    Some(Extent::new(offset.checked_mul(size)?, reach.checked_add(1)?.checked_mul(size)?))
}

/// Copies the elements of a view to `dst`, row after row. `dimensions` are the lengths and the strides, in elements, from
/// the outermost on. `data` begins with the first element of the view, and `dst` has as many bytes as the elements.
/// `None` if an element is outside `data`, because the bytes have changed.
pub(crate) fn gather(
    dimensions: impl Iterator<Item = (u64, u64)>,
    dtype: DType,
    data: &[u8],
    dst: &mut [u8],
) -> Option<()> {
    let size = to_usize(dtype.size()?)?;
    // The length, the stride and the index of each dimension.
    let mut all = [(0_u64, 0_u64, 0_u64); MOST];
    let mut rank = 0_usize;
    for (length, stride) in dimensions {
        *all.get_mut(rank)? = (length, stride, 0);
        rank = rank.checked_add(1)?;
    }
    let dimensions = all.get_mut(..rank)?;
    let mut at = 0_u64;
    let mut rest = dst;
    while let Some((element, after)) = rest.split_at_mut_checked(size).filter(|_| size > 0) {
        rest = after;
        let start = to_usize(at.checked_mul(to_u64(size))?)?;
        let from = data.get(start..)?.get(..size)?;
        element.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        for (length, stride, index) in dimensions.iter_mut().rev() {
            *index = index.wrapping_add(1);
            if *index < *length {
                at = at.wrapping_add(*stride);
                break;
            }
            at = at.wrapping_sub(stride.wrapping_mul(index.wrapping_sub(1)));
            *index = 0;
        }
    }
    Some(())
}
