//! Reads CBOR in the form that real programs write.
//!
//! For hosts; chips have no flash for a second reader. A method returns `None` if its input has another form, whether
//! valid or not. The reader in `cbor` or `strict` must then read the input, and reports any error.
#![forbid(unsafe_code)]

use crate::bytes::num::{to_u64, to_usize};

/// True if all entries of a manifest are plain, as the module `fast` of the format defines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllPlain(bool);

impl AllPlain {
    pub(crate) const fn new(are: bool) -> Self {
        Self(are)
    }

    pub(crate) const fn get(self) -> bool {
        self.0
    }
}

/// The first byte of an empty text string, the bits of the major type, and the bits of the number in a first byte.
const TEXT: u8 = 0x60;
const MAJOR: u8 = 0xe0;
const INFO: u8 = 0x1f;

/// The bytes from some position on.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Returns the bytes from `position` on.
    #[inline(always)]
    pub(crate) fn of(bytes: &'a [u8], position: u32) -> Option<Self> {
        bytes.get(to_usize(position.into())?..).map(Self)
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the position in `all`, of which these bytes are the end.
    #[inline(always)]
    pub(crate) fn position_in(self, all: &[u8]) -> u32 {
        u32::try_from(to_u64(all.len().wrapping_sub(self.0.len()))).unwrap_or(u32::MAX)
    }

    /// Reads the next `N` bytes.
    #[inline(always)]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, after) = self.0.split_first_chunk()?;
        self.0 = after;
        Some(chunk)
    }

    /// Reads the next byte.
    #[inline(always)]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, after) = self.0.split_first()?;
        self.0 = after;
        Some(*byte)
    }

    /// Reads the next `count` bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, after) = self.0.split_at_checked(count)?;
        self.0 = after;
        Some(taken)
    }

    /// Reads a text string, without checking that it is UTF-8.
    #[cfg(feature = "ztensor")]
    #[inline(always)]
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let head = self.byte()?;
        self.text_of(head)
    }

    /// Reads a text string, without checking that it is UTF-8. Also returns whether its head [`is_shortest`].
    #[cfg(feature = "ztensor2")]
    #[inline(always)]
    pub(crate) fn text_and_is_shortest(&mut self) -> Option<(&'a [u8], bool)> {
        let head = self.byte()?;
        let text = self.text_of(head)?;
        Some((text, is_shortest(head, to_u64(text.len()))))
    }

    /// Reads a text string whose first byte is `head`.
    #[inline(always)]
    pub(crate) fn text_of(&mut self, head: u8) -> Option<&'a [u8]> {
        let length = match head {
            0x60..=0x77 => (head & INFO).into(),
            0x78 => self.byte()?.into(),
            _ if head & MAJOR == TEXT => self.wide(head & INFO)?,
            _ => return None,
        };
        self.take(to_usize(length)?)
    }

    /// Reads a text string of fewer than eight bytes that is followed by more bytes. Returns it as [`text_word`] does.
    #[inline(always)]
    pub(crate) fn short_text(&mut self) -> Option<u64> {
        let word = u64::from_le_bytes(*self.0.first_chunk()?);
        let length = word & 0xff ^ u64::from(TEXT);
        if length > 7 {
            return None;
        }
        self.take(to_usize(length.wrapping_add(1))?)?;
        // Clears the bytes after the text.
        let others = 56_u32.wrapping_sub(u32::try_from(length).unwrap_or(0) << 3);
        Some(word.wrapping_shl(others).wrapping_shr(others))
    }

    /// Skips a text string of fewer than 24 bytes that has been read before.
    #[inline(always)]
    pub(crate) fn skip_short_text(&mut self) -> Option<()> {
        let head = self.byte()?;
        self.take(usize::from(head & INFO)).map(drop)
    }

    /// Reads a key of seven bytes, its head included, that has been compared before. Returns the first byte of its
    /// value.
    #[inline(always)]
    pub(crate) fn checked_key(&mut self) -> Option<u8> {
        let [.., value] = self.chunk::<8>()?;
        Some(*value)
    }

    /// Reads a key of seven bytes, its head included, and returns the first byte of its value. All eight bytes are read
    /// at once and compared with `key`, which [`key_word`] returned.
    #[inline(always)]
    pub(crate) fn key(&mut self, key: u64) -> Option<u8> {
        let word = u64::from_le_bytes(*self.chunk()?);
        u8::try_from(word.rotate_left(8) ^ key).ok()
    }

    /// Reads a nonnegative integer.
    #[inline(always)]
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        let head = self.byte()?;
        self.unsigned_of(head)
    }

    /// Reads a nonnegative integer whose first byte is `head`.
    #[inline(always)]
    pub(crate) fn unsigned_of(&mut self, head: u8) -> Option<u64> {
        if head < 24 {
            return Some(head.into());
        }
        let Some(word) = self.0.first_chunk() else { return self.wide(head) };
        if head > 27 {
            return None;
        }
        // Handles every width without a branch, since the width is unpredictable.
        let width = 1_u32.wrapping_shl(u32::from(head) & 7);
        self.take(to_usize(width.into())?)?;
        Some(u64::from_be_bytes(*word).wrapping_shr(64_u32.wrapping_sub(width << 3)))
    }

    /// Skips a nonnegative integer that has been read before.
    #[inline(always)]
    pub(crate) fn skip_unsigned(&mut self) -> Option<()> {
        let head = self.byte()?;
        let size = if head < 24 { 0 } else { 1_usize.wrapping_shl(u32::from(head) & 3) };
        self.take(size).map(drop)
    }

    /// Reads the number after the first byte of a head.
    #[inline(always)]
    fn wide(&mut self, info: u8) -> Option<u64> {
        let (number, after) = self.any_wide(info)?;
        self.0 = after;
        Some(number)
    }

    #[inline(never)]
    fn any_wide(mut self, info: u8) -> Option<(u64, &'a [u8])> {
        let number = match info {
            24 => u8::from_be_bytes(*self.chunk()?).into(),
            25 => u16::from_be_bytes(*self.chunk()?).into(),
            26 => u32::from_be_bytes(*self.chunk()?).into(),
            27 => u64::from_be_bytes(*self.chunk()?),
            _ => return None,
        };
        Some((number, self.0))
    }
}

/// True if the number of a head is encoded in the fewest bytes, as in `strict`. `head` is its first byte.
#[cfg(feature = "ztensor2")]
#[inline(always)]
pub(crate) fn is_shortest(head: u8, number: u64) -> bool {
    // For 1, 2, 4, and 8 bytes.
    const LEAST: [u64; 4] = [24, 1 << 8, 1 << 16, 1 << 32];
    head & INFO < 24 || LEAST.get(usize::from(head & 3)).is_some_and(|least| number >= *least)
}

/// Returns seven bytes as the number that [`Rest::key`] expects.
pub(crate) const fn key_word(key: &[u8; 7]) -> u64 {
    let [a, b, c, d, e, f, g] = *key;
    u64::from_le_bytes([0, a, b, c, d, e, f, g])
}

/// Returns a text string of fewer than eight bytes as a number, with its head as the lowest byte; 0 for a longer
/// string.
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
