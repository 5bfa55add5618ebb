//! A range of bytes of a file.
//!
//! Depends on `num`.
#![forbid(unsafe_code)]

use core::fmt;

use super::num::to_usize;

/// A range of bytes: where it begins in the file, and its length. Nothing says that the file is that long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Offset of the first byte, counted from the start of the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Extent {
    /// The range of `length` bytes from `offset` on.
    #[must_use]
    pub const fn new(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// The offset behind the last byte; `None` beyond 64 bits.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }

    /// Whether all of it lies in `0..end`.
    #[must_use]
    pub const fn is_within(&self, end: u64) -> bool {
        match end.checked_sub(self.offset) {
            Some(available) => self.length <= available,
            None => false,
        }
    }

    /// The bytes it covers of `bytes`, which begin at offset `start` of the file.
    #[inline(never)] // once: 64-bit numbers take room
    pub(crate) fn of<'a>(&self, bytes: &'a [u8], start: u64) -> Option<&'a [u8]> {
        let from = to_usize(self.offset.checked_sub(start)?)?;
        let length = to_usize(self.length)?;
        bytes.get(from..)?.get(..length)
    }
}

/// The offsets of the bytes; up to `u64::MAX` where the end would lie beyond it.
impl From<Extent> for core::ops::Range<u64> {
    fn from(extent: Extent) -> Self {
        extent.offset..extent.offset.saturating_add(extent.length)
    }
}

/// The offsets of the bytes, to index a slice that is the whole file.
impl TryFrom<Extent> for core::ops::Range<usize> {
    type Error = core::num::TryFromIntError;

    fn try_from(extent: Extent) -> Result<Self, Self::Error> {
        let core::ops::Range { start, end } = extent.into();
        Ok(usize::try_from(start)?..usize::try_from(end)?)
    }
}

/// Bytes that stand in one piece, and where in the file they begin.
#[derive(Clone, Copy)]
pub(crate) struct Region<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) start: u64,
}

/// Prints where it lies, not what is in it.
impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {}", self.bytes.len(), self.start)
    }
}
