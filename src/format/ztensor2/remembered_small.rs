//! The components that chips remember while the manifest is read, in place of `remembered.rs`: a few, since chips lack
//! memory for more.
#![forbid(unsafe_code)]

use super::blob::Blob;
use crate::duplicates::Entry as _;

/// The number of components in a block. One walk over the manifest compares all later components with the block; the
/// next walk does so for the next block.
const BLOCK: u32 = 8;
#[allow(clippy::as_conversions)] // widens
const BLOCK_SIZE: usize = BLOCK as usize;

/// Consecutive components, with which all later ones are compared.
pub(super) struct Remembered<'a> {
    places: heapless::Vec<Blob<'a>, BLOCK_SIZE>,
    /// The number of components before the block.
    before: u32,
    /// True if a later component overlaps one in the block.
    pub(super) has_overlap: bool,
}

impl<'a> Remembered<'a> {
    pub(super) const fn new() -> Self {
        Self { places: heapless::Vec::new(), before: 0, has_overlap: false }
    }

    /// Adds the component number `index`. Returns true if it is the first that overlaps one in the block. While the
    /// components are sorted, none overlap.
    #[inline]
    pub(super) fn add(&mut self, blob: Blob<'a>, index: u32, are_sorted: bool) -> bool {
        if index >= self.before {
            let overlaps = |other: &Blob<'a>| other.clashes_with(blob);
            if !self.has_overlap && !are_sorted && self.places.iter().any(overlaps) {
                self.has_overlap = true;
                return true;
            }
            let _ = self.places.push(blob); // has no effect after the block
        }
        false
    }

    /// Returns false: overlaps with components outside of the block are not known.
    pub(super) const fn are_apart(&self, _: u32) -> bool {
        false
    }

    /// Begins the next block. Returns false if none of the `count` components is left for it.
    pub(super) fn begin_next_block(&mut self, count: u32) -> bool {
        let before = self.before.saturating_add(BLOCK);
        self.before = before;
        self.places.clear();
        before < count
    }
}
