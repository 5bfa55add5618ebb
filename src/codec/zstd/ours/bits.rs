//! Bits of a stream that is read from its end to its start (RFC 8878, 4.1 and 4.2.2), and bits of a table's description,
//! which is read forwards.
#![forbid(unsafe_code)]

use crate::bytes::num::to_usize;

/// The bytes of the container.
const WORD: usize = 8;
/// The number of bytes from which refilling needs no care: one container to leave, and the next one.
const PLENTY: usize = 2 * WORD;

/// A stream that is read backwards. After [`refill`](Self::refill), 57 bits can be read. Bits before the start of the
/// stream are zero.
#[derive(Clone, Copy)]
pub(super) struct Backward<'a> {
    /// The bytes up to the end of the container.
    rest: &'a [u8],
    /// The last eight bytes of `rest`.
    container: u64,
    /// The number of bits that were read from the top of the container.
    used: u32,
}

impl<'a> Backward<'a> {
    /// Starts below the highest bit that is set in the last byte. `None` if there is no such bit.
    pub(super) fn new(stream: &'a [u8]) -> Option<Self> {
        let last = stream.last().filter(|last| **last != 0)?;
        let used = last.leading_zeros().wrapping_add(1);
        Some(Self { rest: stream, container: last_word(stream), used })
    }

    /// Returns true if the next refill is one of the fast kind.
    #[inline(always)]
    pub(super) fn has_plenty(&self) -> bool {
        self.rest.len() >= PLENTY
    }

    /// Moves the container down to the first byte of which bits remain. `None` if more bits were read than there are.
    #[inline(always)]
    pub(super) fn refill(&mut self) -> Option<()> {
        if !self.has_plenty() {
            return self.refill_at_start();
        }
        let read = to_usize(u64::from(self.used >> 3 & 15))?;
        self.rest = self.rest.get(..self.rest.len().checked_sub(read)?)?;
        self.container = u64::from_le_bytes(*self.rest.last_chunk()?);
        self.used &= 7;
        Some(())
    }

    #[cfg_attr(not(small), cold)]
    #[inline(never)]
    fn refill_at_start(&mut self) -> Option<()> {
        let read = to_usize(u64::from(self.used >> 3))?;
        self.bits_left()?;
        self.rest = self.rest.get(..self.rest.len().checked_sub(read)?)?;
        self.container = last_word(self.rest);
        self.used &= 7;
        Some(())
    }

    /// Returns the next `N` bits, of 1 to 32, without skipping them.
    #[inline(always)]
    pub(super) fn peek<const N: u32>(&self) -> u64 {
        self.container.wrapping_shl(self.used).wrapping_shr(64_u32.wrapping_sub(N))
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.used = self.used.wrapping_add(count);
    }

    /// Reads the next `count` bits, of 0 to 57.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u32) -> u64 {
        let bits = (self.container.wrapping_shl(self.used) >> 1).wrapping_shr(63_u32.wrapping_sub(count));
        self.skip(count);
        bits
    }

    /// Returns the number of bits that were not read; `None` if more bits were read than there are.
    pub(super) fn bits_left(&self) -> Option<usize> {
        self.rest.len().saturating_mul(8).checked_sub(to_usize(self.used.into())?)
    }
}

/// Returns the last eight bytes as a number. Bytes that are missing are zero.
fn last_word(bytes: &[u8]) -> u64 {
    match bytes.last_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            bytes
                .iter()
                .rev()
                .fold((0, 56_u32), |(word, at), byte| (word | u64::from(*byte).wrapping_shl(at), at.wrapping_sub(8)))
                .0
        }
    }
}

/// The description of a table, which is read forwards.
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    /// The number of bits that were read.
    read: usize,
}

impl<'a> Forward<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, read: 0 }
    }

    /// Returns the next bits, at least 17, without skipping them. Bits after the end are zero.
    pub(super) fn peek(&self) -> u32 {
        let bytes = self.bytes.get(self.read >> 3..).unwrap_or_default();
        let word = bytes.iter().take(3).rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        word >> (self.read & 7)
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.read = self.read.saturating_add(count);
    }

    /// Returns the bytes after the last one that was read; `None` if more bits were read than there are.
    pub(super) fn rest(self) -> Option<&'a [u8]> {
        self.bytes.get(self.read.saturating_add(7) >> 3..)
    }
}
