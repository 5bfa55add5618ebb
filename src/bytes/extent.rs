//! A range of bytes in a file.
#![forbid(unsafe_code)]

use core::fmt;

use super::num::to_usize;

/// A range of bytes: its offset in the file and its length. The range may extend past the end of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The offset of the first byte, counted from the start of the file.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

impl Extent {
    /// Creates the range of `length` bytes that begins at `offset`.
    #[must_use]
    pub const fn new(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// Returns the offset after the last byte; `None` beyond 64 bits.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }

    /// Returns whether the whole range is within `0..end`.
    #[must_use]
    pub const fn is_within(&self, end: u64) -> bool {
        match end.checked_sub(self.offset) {
            Some(available) => self.length <= available,
            None => false,
        }
    }

    /// Returns the part of `bytes` that this range covers; `bytes` begin at offset `start` of the file.
    #[cfg_attr(small, inline(never))] // out of line: 64-bit arithmetic is large
    pub(crate) fn of<'a>(&self, bytes: &'a [u8], start: u64) -> Option<&'a [u8]> {
        let from = to_usize(self.offset.checked_sub(start)?)?;
        let length = to_usize(self.length)?;
        bytes.get(from..)?.get(..length)
    }
}

/// The bytes at these offsets. If the end is before the start, the extent is empty and begins at the start.
impl From<core::ops::Range<u64>> for Extent {
    fn from(offsets: core::ops::Range<u64>) -> Self {
        Self::new(offsets.start, offsets.end.saturating_sub(offsets.start))
    }
}

/// The offsets of the bytes; the end saturates at `u64::MAX`.
impl From<Extent> for core::ops::Range<u64> {
    fn from(extent: Extent) -> Self {
        extent.offset..extent.offset.saturating_add(extent.length)
    }
}

/// The offsets of the bytes, for indexing a slice that holds the whole file.
impl TryFrom<Extent> for core::ops::Range<usize> {
    type Error = core::num::TryFromIntError;

    fn try_from(extent: Extent) -> Result<Self, Self::Error> {
        let core::ops::Range { start, end } = extent.into();
        Ok(usize::try_from(start)?..usize::try_from(end)?)
    }
}

/// A contiguous run of bytes, and its offset in the file.
#[derive(Clone, Copy)]
pub(crate) struct Region<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) start: u64,
}

/// Prints the position, not the contents.
impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {}", self.bytes.len(), self.start)
    }
}
