//! The digest of a component, computed while its bytes pass.
//!
//! The digests of complete components are stored in the scratch memory, one word for each component. In front of them
//! is the state of an XXH3, which is too large for the writer.
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor2")]
use zerocopy::{FromBytes, IntoBytes};

#[cfg(feature = "crc32c")]
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
}

impl SumKind {
    /// Returns the number of words of scratch memory for the digests of `components` components.
    pub(crate) fn words(self, components: u64) -> u64 {
        let state = crate::bytes::num::to_u64(self.state_words());
        if self == Self::None { 0 } else { state.saturating_add(components) }
    }

    /// Returns the number of words of scratch memory before the digests.
    const fn state_words(self) -> usize {
        match self {
            #[cfg(feature = "ztensor2")]
            Self::Xxh3 => size_of::<xxh3::Running>() >> 3,
            _ => 0,
        }
    }

    /// Returns the index of the word with the digest of component `number`.
    fn word(self, number: u32) -> Option<usize> {
        usize::try_from(number).ok()?.checked_add(self.state_words())
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
    kind: SumKind,
    value: u32,
}

impl Sum {
    /// No digest.
    pub(crate) const NONE: Self = Self { kind: SumKind::None, value: 0 };

    /// The digest of no bytes.
    pub(crate) fn start(kind: SumKind, scratch: &mut [u64]) -> Self {
        let _ = &scratch; // unused without XXH3
        #[cfg(feature = "ztensor2")]
        if let (SumKind::Xxh3, Some(state)) = (kind, running(scratch)) {
            *state = xxh3::Running::new();
        }
        Self { kind, value: 0 }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8], scratch: &mut [u64]) {
        let _ = (bytes, &scratch); // unused if no kind is built in
        match self.kind {
            SumKind::None => {}
            #[cfg(feature = "crc32c")]
            SumKind::Crc32c => self.value = crc::crc32c_after(self.value, bytes),
            #[cfg(feature = "ztensor2")]
            SumKind::Xxh3 => {
                if let Some(state) = running(scratch) {
                    state.add(bytes);
                }
            }
        }
    }

    /// Stores the digest of component `number`.
    pub(crate) fn store(&self, number: u32, scratch: &mut [u64]) {
        let value = match self.kind {
            SumKind::None => return,
            #[cfg(feature = "crc32c")]
            SumKind::Crc32c => self.value.into(),
            #[cfg(feature = "ztensor2")]
            SumKind::Xxh3 => running(scratch).map_or(0, |state| state.hash()),
        };
        if let Some(slot) = self.kind.word(number).and_then(|word| scratch.get_mut(word)) {
            *slot = value;
        }
    }
}

/// The digests of the components that are complete.
#[derive(Clone, Copy)]
pub(crate) struct Sums<'s> {
    kind: SumKind,
    words: &'s [u64],
}

impl<'s> Sums<'s> {
    pub(crate) const fn new(kind: SumKind, words: &'s [u64]) -> Self {
        Self { kind, words }
    }

    /// True if the file has digests.
    pub(crate) fn are_stored(&self) -> bool {
        self.kind != SumKind::None
    }

    /// Returns the digest of component `number`; 0 if it is not known, as while a file is only measured.
    pub(crate) fn of(&self, number: u32) -> u64 {
        self.kind.word(number).and_then(|word| self.words.get(word)).copied().unwrap_or_default()
    }
}
