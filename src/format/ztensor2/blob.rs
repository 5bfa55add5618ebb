//! The position of a component's bytes, and its comparison with others.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use crate::bytes::extent::Extent;
use crate::bytes::utf8::{Utf8, is_before};
use crate::duplicates::{self, Entry as _};
use crate::format::ComponentRecord;

/// The position of a component's bytes. A component without bytes has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Blob<'a> {
    /// The name of the shard; empty for bytes in the file itself.
    pub(super) shard: &'a [u8],
    pub(super) extent: Extent,
}

impl<'a> Blob<'a> {
    pub(super) fn of(part: &ComponentRecord<'a>) -> Self {
        Self { shard: part.shard.map_or(&[], Utf8::bytes), extent: part.extent }
    }

    /// Returns true if both are in the same file. (memcmp on two empty names takes 100 ns if the C library uses
    /// AVX-512.)
    fn is_beside(self, other: Self) -> bool {
        self.shard.is_empty() && other.shard.is_empty() || self.shard == other.shard
    }

    /// Returns true if this blob sorts after `last`, and is identical to it or disjoint from it.
    pub(super) fn follows(self, last: Self) -> bool {
        if !self.is_beside(last) {
            return is_before(last.shard, self.shard);
        }
        self.extent.offset >= last.extent.offset && !self.clashes_with(last)
    }
}

impl duplicates::Entry for Blob<'_> {
    fn order(self, other: Self) -> Ordering {
        self.shard.cmp(other.shard).then_with(|| self.extent.order(other.extent))
    }

    /// Identical blobs do not clash.
    #[inline(never)]
    fn clashes_with(self, other: Self) -> bool {
        self.extent != other.extent && self.extent.clashes_with(other.extent) && self.is_beside(other)
    }

    fn hash(self) -> u32 {
        0 // the hash of every extent
    }
}
