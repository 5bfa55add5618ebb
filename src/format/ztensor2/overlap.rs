//! Checks the positions of all components while the manifest is read: the bytes of any two must be identical or
//! disjoint (section 2.4), and bytes in a shard must be inside the shard.
#![forbid(unsafe_code)]

use super::blob::Blob;
use super::manifest::FOOTER;
use super::remembered::Remembered;
use super::shards::{Index, Table};
use crate::bytes::extent::Extent;
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::fast::AllPlain;
use crate::codec::cbor::strict::Reader;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::ComponentRecord;

/// The positions of the components read so far, as far as they are remembered.
pub(super) struct Seen<'a> {
    last: Blob<'a>,
    /// The number of components with bytes.
    pub(super) count: u32,
    /// True if the order of the components shows that all are identical or disjoint.
    are_sorted: bool,
    pub(super) are_plain: AllPlain,
    remembered: Remembered<'a>,
}

impl<'a> Seen<'a> {
    pub(super) const fn new() -> Self {
        Self {
            last: Blob { shard: &[], extent: Extent::new(0, 0) },
            count: 0,
            are_sorted: true,
            are_plain: AllPlain::new(true),
            remembered: Remembered::new(),
        }
    }

    /// Returns true if the bytes of all components are known to be identical or disjoint.
    pub(super) fn are_apart(&mut self) -> bool {
        self.are_sorted || self.remembered.are_apart(self.count)
    }

    /// Adds the position of a component. Returns true if the component is the first that overlaps a component that is
    /// compared at once, which only chips do.
    #[inline]
    fn add(&mut self, blob: Blob<'a>) -> bool {
        if blob.extent.length == 0 {
            return false;
        }
        self.are_sorted &= blob.follows(self.last);
        self.last = blob;
        let index = self.count;
        self.count = self.count.saturating_add(1); // a component takes at least one byte of the manifest
        self.remembered.add(blob, index, self.are_sorted)
    }

    /// Returns true if the extents of all components are remembered, so that any overlap can be detected.
    #[cfg(not(small))]
    pub(super) fn are_remembered(&self) -> bool {
        self.remembered.are_all(self.count)
    }

    /// Returns true if an overlap has been found.
    #[cfg(small)]
    pub(super) const fn has_overlap(&self) -> bool {
        self.remembered.has_overlap
    }

    /// Begins the next block, for another walk over the manifest. Returns false if no block is left.
    #[cfg(small)]
    pub(super) fn begin_next_block(&mut self) -> bool {
        let is_left = self.remembered.begin_next_block(self.count);
        (self.count, self.are_sorted) = (0, false);
        is_left
    }
}

/// A walk over the manifest that checks the position of each component.
pub(super) struct ManifestWalk<'s, 'a> {
    shards: Index<'s, 'a>,
    /// True if the shards of components are looked up.
    pub(super) are_shards_found: bool,
    pub(super) seen: &'s mut Seen<'a>,
}

impl<'s, 'a> ManifestWalk<'s, 'a> {
    /// Begins a walk. `slots` is memory for the positions of shards.
    pub(super) fn new(table: Table<'a>, slots: &'s mut [u32], seen: &'s mut Seen<'a>) -> Self {
        Self { shards: Index::new(table, slots), are_shards_found: false, seen }
    }

    /// Returns true if the shards are few enough to be looked up on opening.
    pub(super) fn are_shards_few(&self) -> bool {
        self.shards.is_fine()
    }

    /// Adds a component whose position is `at`.
    #[inline]
    pub(super) fn add(&mut self, reader: &mut Reader<'a>, part: &ComponentRecord<'a>, at: u32) -> Option<()> {
        if let (Some(name), true) = (part.shard, self.are_shards_found) {
            self.find_shard(reader, name, part, at)?;
        }
        if self.seen.add(Blob::of(part)) {
            // The reader keeps this error unless it finds another fault.
            let _ = reader.stop_in::<()>(Part::Offset, ErrorKind::Overlap, at);
        }
        Some(())
    }

    /// Adds a component in the file itself.
    #[inline]
    pub(super) fn add_own(&mut self, extent: Extent) {
        self.seen.add(Blob { shard: &[], extent });
    }

    /// Checks that a component is inside its shard.
    #[inline(never)]
    fn find_shard(
        &mut self,
        reader: &mut Reader<'a>,
        name: Utf8<'a>,
        part: &ComponentRecord<'a>,
        at: u32,
    ) -> Option<()> {
        let Some(size) = self.shards.size(name) else {
            return reader.stop_in(Part::Shard, ErrorKind::UnknownShard, at);
        };
        if !part.extent.is_within(size.saturating_sub(FOOTER)) {
            return reader.stop_in(Part::Offset, ErrorKind::OutOfShard, at);
        }
        Some(())
    }
}
