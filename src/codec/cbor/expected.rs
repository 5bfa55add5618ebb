//! Reads CBOR that is expected to have a certain form, as real programs write it.
//!
//! Depends on `super`, `bytes`. For hosts: chips have no flash for a second way. Whatever is not as expected is `None`, and
//! nothing is known of it then: [`Reader`](super::Reader) has to read it, which also tells what is wrong.
#![forbid(unsafe_code)]

use super::{ENDLESS, TEXT, UNSIGNED, major};
use crate::bytes::num::{to_u64, to_usize};

/// The bytes from some position on.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Those from `position` on.
    #[inline(always)]
    pub(crate) fn of(bytes: &'a [u8], position: u32) -> Option<Self> {
        bytes.get(to_usize(position.into())?..).map(Self)
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Where they begin in `all`, of which they are the end.
    #[inline(always)]
    pub(crate) fn position_in(self, all: &[u8]) -> u32 {
        u32::try_from(to_u64(all.len().saturating_sub(self.0.len()))).unwrap_or(u32::MAX)
    }

    /// Moves past `bytes`.
    #[inline(always)]
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(bytes)?;
        Some(())
    }

    /// The next byte.
    #[inline(always)]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, after) = self.0.split_first()?;
        self.0 = after;
        Some(*byte)
    }

    /// The next eight bytes as a number, the first one lowest; they are not moved past.
    #[inline(always)]
    pub(crate) fn word(self) -> Option<u64> {
        self.0.first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    /// Moves past so many bytes and returns them.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, after) = self.0.split_at_checked(count)?;
        self.0 = after;
        Some(taken)
    }

    /// A text string, not checked to be UTF-8.
    #[inline(always)]
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = match self.byte()? {
            head @ 0x60..=0x77 => (head & ENDLESS).into(),
            0x78 => self.byte()?.into(),
            head if major(head) == TEXT => self.wide(head & ENDLESS)?,
            _ => return None,
        };
        self.take(to_usize(length)?)
    }

    /// A nonnegative integer.
    #[inline(always)]
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        let head = self.byte()?;
        if head < 24 {
            return Some(head.into());
        }
        let Some(word) = self.0.first_chunk() else { return self.wide(head) };
        // Of any width without a branch, since a reader of numbers cannot foresee it.
        let (width, others) = match head {
            24..=27 => (
                1_usize.wrapping_shl(u32::from(head) & 7),
                64_u32.wrapping_sub(8_u32.wrapping_shl(u32::from(head) & 7)),
            ),
            _ => return None,
        };
        self.take(width)?;
        Some(u64::from_be_bytes(*word).wrapping_shr(others))
    }

    /// The number after the first byte of a head.
    #[inline(never)]
    fn wide(&mut self, info: u8) -> Option<u64> {
        Some(match info {
            24 => self.chunk().map(u8::from_be_bytes)?.into(),
            25 => self.chunk().map(u16::from_be_bytes)?.into(),
            26 => self.chunk().map(u32::from_be_bytes)?.into(),
            27 => self.chunk().map(u64::from_be_bytes)?,
            _ => return None,
        })
    }

    #[inline(always)]
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, after) = self.0.split_first_chunk()?;
        self.0 = after;
        Some(*chunk)
    }
}

/// A text string of less than eight bytes as [`Rest::word`] returns it, without the bytes after it; 0 for a longer one.
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // constants only
pub(crate) const fn text_word(text: &str) -> u64 {
    let text = text.as_bytes();
    if text.len() > 7 {
        return 0;
    }
    let mut word = TEXT as u64 | text.len() as u64;
    let mut at = 0;
    while at < text.len() {
        at += 1;
        word |= (text[at - 1] as u64) << (8 * at);
    }
    word
}
