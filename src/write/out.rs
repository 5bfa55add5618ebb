//! Where a writer's bytes go: the caller's sink, and the count of the bytes before it.
#![forbid(unsafe_code)]

use crate::bytes::num::{padding, to_u64, to_usize};

/// Takes the bytes of a file that is being written: stores them in a file or in flash, or sends them.
///
/// A closure is a sink:
///
/// ```
/// use tenslice::write::{Sink, SinkError};
///
/// let mut bytes = Vec::new();
/// let mut sink = |_offset: u64, piece: &[u8]| -> Result<(), SinkError> {
///     bytes.extend_from_slice(piece);
///     Ok(())
/// };
/// sink.write(0, b"first").unwrap();
/// ```
pub trait Sink {
    /// Takes all of `bytes`, whose first byte is byte `offset` of the file. The offsets increase without gaps from call
    /// to call. Pieces of metadata can be as short as one byte: a sink that prefers longer pieces collects them.
    ///
    /// # Errors
    ///
    /// Any failure: the writer stops. The sink itself remembers the reason.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError>;
}

/// A failure of a [`Sink`], which remembers the reason itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkError;

impl<F: FnMut(u64, &[u8]) -> Result<(), SinkError>> Sink for F {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        self(offset, bytes)
    }
}

/// The point that a file being written has reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// The number of bytes before this point.
    pub(crate) at: u64,
    /// The bytes before this point are already in the file: they were written before a restart.
    pub(crate) resumed_at: u64,
}

/// Writes to a sink, or only counts. After an error, nothing more is written: callers ask for the error once, at the
/// end.
pub(crate) struct Out<'s> {
    sink: Option<&'s mut dyn Sink>,
    pub(crate) position: Position,
    /// True if the sink has failed. The position stays where it happened.
    pub(super) has_failed: bool,
}

impl<'s> Out<'s> {
    pub(crate) fn to(sink: &'s mut dyn Sink, position: Position) -> Self {
        Self { sink: Some(sink), position, has_failed: false }
    }

    /// Only counts, from `at` on, as if all bytes were already in the file.
    pub(crate) const fn counting(at: u64) -> Self {
        Self { sink: None, position: Position { at, resumed_at: u64::MAX }, has_failed: false }
    }

    /// Returns the number of bytes that `write` writes; `u64::MAX` for more.
    pub(crate) fn length_of(write: impl FnOnce(&mut Out<'_>)) -> u64 {
        let mut out = Out::counting(0);
        write(&mut out);
        out.position.at
    }

    /// Writes bytes, except those that are already in the file.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.skip(to_u64(bytes.len()));
        let Position { at: end, resumed_at } = self.position;
        let (Some(sink), false) = (&mut self.sink, self.has_failed || bytes.is_empty() || end <= resumed_at) else {
            return;
        };
        let missing = to_usize(end.wrapping_sub(resumed_at)).unwrap_or(usize::MAX);
        let missing = bytes.get(bytes.len().saturating_sub(missing)..).unwrap_or_default();
        let offset = end.wrapping_sub(to_u64(missing.len()));
        if sink.write(offset, missing).is_err() {
            self.has_failed = true;
            self.position.at = offset;
        }
    }

    /// Writes a byte.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    /// Counts bytes that are written elsewhere. The count stops at `u64::MAX`, and a file of that length is refused.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn skip(&mut self, length: u64) {
        if !self.has_failed {
            self.position.at = self.position.at.saturating_add(length);
        }
    }

    /// Writes `byte` `count` times.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn repeat(&mut self, byte: u8, count: u64) {
        // There may be very many that are already in the file.
        let there = self.position.resumed_at.saturating_sub(self.position.at).min(count);
        self.skip(there);
        let mut left = count.wrapping_sub(there);
        let block = [byte; 16];
        while left > 0 && !self.has_failed {
            let part = to_usize(left).and_then(|left| block.get(..left)).unwrap_or(&block);
            self.bytes(part);
            left = left.wrapping_sub(to_u64(part.len()));
        }
    }

    /// Writes zeros up to a multiple of `alignment`.
    pub(crate) fn pad(&mut self, alignment: u64) {
        self.repeat(0, padding(self.position.at, alignment));
    }

    /// Writes `count` zeros.
    #[cfg(any(feature = "b2nd", feature = "blz", feature = "npz"))]
    pub(crate) fn zeros(&mut self, count: u64) {
        self.repeat(0, count);
    }

    pub(crate) fn u16(&mut self, number: u16) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Writes a number in decimal digits.
    pub(crate) fn decimal(&mut self, number: u64) {
        let (mut digits, mut left, mut start) = ([0_u8; 20], number.to_be_bytes(), 0);
        for (index, place) in digits.iter_mut().enumerate().rev() {
            // Divides by ten, byte by byte.
            let mut rest = 0_u32;
            for byte in &mut left {
                let number = rest << 8 | u32::from(*byte); // less than 2560
                let tenth = number.wrapping_mul(0x199a) >> 16;
                rest = number.wrapping_sub(tenth.wrapping_mul(10));
                [*byte, ..] = tenth.to_le_bytes();
            }
            let [digit, ..] = rest.to_le_bytes();
            *place = b'0'.wrapping_add(digit);
            start = index;
            if left == [0; 8] {
                break;
            }
        }
        self.bytes(digits.get(start..).unwrap_or_default());
    }

    /// Writes the first `count` hexadecimal digits of a number; `ten` is the letter for 10.
    pub(crate) fn hexadecimal(&mut self, number: u64, count: u32, ten: u8) {
        let mut left = number;
        for _ in 0..count {
            let [digit, ..] = (left >> 60).to_le_bytes();
            self.bytes(&[digit.wrapping_add(if digit < 10 { b'0' } else { ten.wrapping_sub(10) })]);
            left <<= 4;
        }
    }
}
