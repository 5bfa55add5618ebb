//! Memory that C passes: its address, and whether a pointer to it can be valid. Nothing here reads or writes it.

use core::ptr::{self, NonNull};

/// Memory passed to a call: its address, and its length in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    at: usize,
    length: usize,
}

/// Describes the `count` values at `data`. An absurd count is harmless: `range` rejects it before the values are read
/// or written.
pub(super) fn memory<T>(data: *const T, count: usize) -> Memory {
    Memory { at: data.addr(), length: count.wrapping_mul(size_of::<T>()) }
}

impl Memory {
    /// Returns whether `self` and `other` share a byte.
    pub(super) fn shares_with(self, other: Self) -> bool {
        self.has_start_of(other) || other.has_start_of(self)
    }

    /// Returns whether `other` begins inside `self`. Empty memory never does.
    fn has_start_of(self, other: Self) -> bool {
        other.length != 0 && other.at.wrapping_sub(self.at) < self.length
    }
}

/// Returns the address of `count` values at `data`, each of `size` bytes and aligned to `alignment`, if the pointer can
/// be valid for them. Accepts NULL only if `count` is 0.
#[inline(never)]
pub(super) fn range(data: *const u8, count: usize, size: usize, alignment: usize) -> Option<NonNull<u8>> {
    if count == 0 {
        return NonNull::new(ptr::without_provenance_mut(alignment));
    }
    let length = isize::try_from(count.checked_mul(size)?).ok()?;
    data.addr().checked_add_signed(length)?;
    NonNull::new(data.cast_mut()).filter(|_| data.addr() & alignment.wrapping_sub(1) == 0)
}

/// Returns the same as [`range`], if the values overlap none of `others`.
#[inline(never)]
pub(super) fn range_apart(
    data: *mut u8,
    count: usize,
    size: usize,
    alignment: usize,
    others: &[Memory],
) -> Option<NonNull<u8>> {
    let first = range(data, count, size, alignment)?;
    let this = Memory { at: data.addr(), length: count.wrapping_mul(size) };
    if others.iter().any(|other| this.shares_with(*other)) { None } else { Some(first) }
}

/// Returns the same as [`range`] for bytes, if they do not overlap `other`. It takes no list of ranges, because the
/// list would stay on the stack of the caller, beneath everything that opens a file.
#[inline(never)]
pub(super) fn range_beside(data: *const u8, length: usize, other: Memory) -> Option<NonNull<u8>> {
    if memory(data, length).shares_with(other) { None } else { range(data, length, 1, 1) }
}
