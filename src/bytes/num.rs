//! Between file numbers (`u64`) and memory sizes (`usize`): the only two conversions of the crate; and products.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// A file number as a size in memory; `None` where this machine's memory cannot be that large.
pub(crate) fn to_usize(n: u64) -> Option<usize> {
    usize::try_from(n).ok()
}

/// A size in memory as a file number. Lossless: no target has a `usize` beyond 64 bits.
#[allow(clippy::as_conversions)]
pub(crate) const fn to_u64(n: usize) -> u64 {
    n as u64
}

/// The product of two file numbers; `None` beyond 64 bits, or where there is no first one.
#[inline(never)] // once: on 32-bit machines it is long
pub(crate) fn product(a: Option<u64>, b: u64) -> Option<u64> {
    a.and_then(|a| a.checked_mul(b))
}
