//! The digest of a component, computed while its bytes pass.
//!
//! The digests of complete components are stored in the scratch memory, one word for each component. So are the stored
//! lengths if components are stored in frames. In front of both is the state of an XXH3, which is too large for the
//! writer.
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor2")]
use zerocopy::{FromBytes, IntoBytes};

use crate::bytes::num::{to_u64, to_usize};
#[cfg(any(feature = "crc32c", all(feature = "crc32", feature = "npz")))]
use crate::codec::crc;
#[cfg(feature = "ztensor2")]
use crate::codec::xxh3;

/// The kind of digest that a file stores for each component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumKind {
    None,
    #[cfg(feature = "crc32c")]
    Crc32c,
    #[cfg(feature = "ztensor2")]
    Xxh3,
    #[cfg(all(feature = "crc32", feature = "npz"))]
    Crc32,
}

impl SumKind {
    /// True if the digest covers the decoded bytes of a component, false if it covers the stored bytes.
    pub(crate) const fn is_of_decoded(self) -> bool {
        match self {
            #[cfg(feature = "ztensor2")]
            Self::Xxh3 => true,
            _ => false,
        }
    }

    /// Returns the number of words of scratch memory for the state of a digest.
    const fn state_words(self) -> usize {
        match self {
            #[cfg(feature = "ztensor2")]
            Self::Xxh3 => size_of::<xxh3::Running>() >> 3,
            _ => 0,
        }
    }
}

/// The contents of the scratch memory for each component: the digest, and the stored length if components are stored in
/// frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) kind: SumKind,
    pub(crate) has_lengths: bool,
}

impl Kept {
    /// Nothing.
    pub(crate) const NONE: Self = Self { kind: SumKind::None, has_lengths: false };

    /// Returns the number of words of scratch memory for `components` components.
    pub(crate) fn words(self, components: u64) -> u64 {
        let each = u64::from(self.kind != SumKind::None).saturating_add(self.has_lengths.into());
        to_u64(self.kind.state_words()).saturating_add(components.saturating_mul(each))
    }

    /// Returns the index of the first word of component `number`.
    fn word(self, number: u32) -> Option<usize> {
        to_usize(self.words(number.into()))
    }

    /// Returns the index of the word with the stored length of component `number`.
    fn length_word(self, number: u32) -> Option<usize> {
        self.word(number)?.checked_add(usize::from(self.kind != SumKind::None))
    }

    /// Returns the stored length of component `number` so far; `None` if components are not stored in frames, or if
    /// there is no scratch memory.
    pub(crate) fn length_mut(self, number: u32, scratch: &mut [u64]) -> Option<&mut u64> {
        if self.has_lengths { scratch.get_mut(self.length_word(number)?) } else { None }
    }
}

/// Returns the state of an XXH3; `None` if there is no scratch memory, as while a file is only measured.
#[cfg(feature = "ztensor2")]
fn running(scratch: &mut [u64]) -> Option<&mut xxh3::Running> {
    xxh3::Running::mut_from_prefix(scratch.as_mut_bytes()).ok().map(|(running, _)| running)
}

/// The digest of the bytes of a component that have passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    kept: Kept,
    /// The CRC, if that is the kind.
    #[cfg_attr(not(any(feature = "crc32c", all(feature = "crc32", feature = "npz"))), expect(dead_code))]
    value: u32,
}

impl Sum {
    /// No digest.
    pub(crate) const NONE: Self = Self { kept: Kept::NONE, value: 0 };

    /// The digest of no bytes.
    pub(crate) fn start(kept: Kept, scratch: &mut [u64]) -> Self {
        let _ = &scratch; // unused without XXH3
        #[cfg(feature = "ztensor2")]
        if let (SumKind::Xxh3, Some(state)) = (kept.kind, running(scratch)) {
            *state = xxh3::Running::new();
        }
        Self { kept, value: 0 }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8], scratch: &mut [u64]) {
        let _ = (bytes, &scratch); // unused if no kind is built in
        match self.kept.kind {
            SumKind::None => {}
            #[cfg(feature = "crc32c")]
            SumKind::Crc32c => self.value = crc::crc32c_after(self.value, bytes),
            #[cfg(feature = "ztensor2")]
            SumKind::Xxh3 => {
                if let Some(state) = running(scratch) {
                    state.add(bytes);
                }
            }
            #[cfg(all(feature = "crc32", feature = "npz"))]
            SumKind::Crc32 => self.value = crc::crc32_after(self.value, bytes),
        }
    }

    /// Returns the CRC of the bytes so far.
    #[cfg(all(feature = "crc32", feature = "npz"))]
    pub(crate) const fn crc(&self) -> u32 {
        self.value
    }

    /// Stores the digest of component `number`.
    pub(crate) fn store(&self, number: u32, scratch: &mut [u64]) {
        let value: Option<u64> = match self.kept.kind {
            SumKind::None => None,
            #[cfg(feature = "crc32c")]
            SumKind::Crc32c => Some(self.value.into()),
            #[cfg(all(feature = "crc32", feature = "npz"))]
            SumKind::Crc32 => Some(self.value.into()),
            #[cfg(feature = "ztensor2")]
            SumKind::Xxh3 => running(scratch).map(|state| state.hash()),
        };
        let slot = self.kept.word(number).and_then(|word| scratch.get_mut(word));
        if let (Some(value), Some(slot)) = (value, slot) {
            *slot = value;
        }
    }
}

/// The digests and stored lengths of the components that are complete.
#[derive(Clone, Copy)]
pub(crate) struct Sums<'s> {
    kept: Kept,
    words: &'s [u64],
}

impl<'s> Sums<'s> {
    pub(crate) const fn new(kept: Kept, words: &'s [u64]) -> Self {
        Self { kept, words }
    }

    /// True if the file has digests.
    pub(crate) fn are_stored(&self) -> bool {
        self.kept.kind != SumKind::None
    }

    /// Returns the digest of component `number`; 0 if it is not known, as while a file is only measured.
    pub(crate) fn of(&self, number: u32) -> u64 {
        self.kept.word(number).and_then(|word| self.words.get(word)).copied().unwrap_or_default()
    }

    /// Returns the stored length of component `number`, which has `length` bytes decoded.
    pub(crate) fn stored_length(&self, number: u32, length: u64) -> u64 {
        let word = if self.are_framed(length) { self.kept.length_word(number) } else { None };
        word.and_then(|word| self.words.get(word)).copied().unwrap_or(length)
    }

    /// True if a component of `length` bytes is stored in frames.
    pub(crate) const fn are_framed(&self, length: u64) -> bool {
        self.kept.has_lengths && length > 0
    }
}
