//! The digest of a component, computed while its bytes pass.
//!
//! The digests of complete components are stored in the scratch memory, one word for each component.
#![forbid(unsafe_code)]

#[cfg(feature = "crc32c")]
use crate::codec::crc;

/// The kind of digest that a file stores for each component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumKind {
    None,
    #[cfg(feature = "crc32c")]
    Crc32c,
}

impl SumKind {
    /// Returns the number of words of scratch memory for the digests of `components` components.
    pub(crate) const fn words(self, components: u64) -> u64 {
        match self {
            Self::None => 0,
            #[cfg(feature = "crc32c")]
            Self::Crc32c => components,
        }
    }
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
    pub(crate) const fn start(kind: SumKind, _scratch: &mut [u64]) -> Self {
        Self { kind, value: 0 }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8], _scratch: &mut [u64]) {
        let _ = bytes; // unused if no kind is built in
        match self.kind {
            SumKind::None => {}
            #[cfg(feature = "crc32c")]
            SumKind::Crc32c => self.value = crc::crc32c_after(self.value, bytes),
        }
    }

    /// Stores the digest of component `number`.
    pub(crate) fn store(&self, number: u32, scratch: &mut [u64]) {
        let slot = usize::try_from(number).ok().and_then(|number| scratch.get_mut(number));
        if let (true, Some(slot)) = (self.kind != SumKind::None, slot) {
            *slot = self.value.into();
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
        usize::try_from(number).ok().and_then(|number| self.words.get(number)).copied().unwrap_or_default()
    }
}
