//! Compares the names of the tensors, and the roles of the components of a tensor, which must be distinct.
#![forbid(unsafe_code)]

use super::ZtensorFile;
use super::manifest::{Key, Manifest};
use crate::codec::cbor::Reader;
use crate::duplicates::{self, Distinct};
use crate::error::origin::Part;
use crate::error::warning::{Warning, Warnings};
use crate::error::{ErrorKind, Result};
use crate::format::{Cursor, FileFormat as _, Summary, TensorRecord};

/// The keys of a map that must be distinct: the names of the tensors, or the roles of the components of one tensor.
pub(super) struct Keys<'r, 'a> {
    pub(super) manifest: &'r Manifest<'a>,
    pub(super) reader: &'r mut Reader<'a>,
}

impl<'a> Distinct for Keys<'_, 'a> {
    type Entry = &'a [u8];
    type Place = Key;
    type Position = u32;

    fn next(&mut self, place: &mut Key) -> Option<(&'a [u8], u32)> {
        self.reader.go_to(place.at);
        if !self.manifest.more_parts(self.reader, &mut place.left) {
            return None;
        }
        let found = self.manifest.name(self.reader);
        place.at = self.reader.position();
        Some(found)
    }

    fn at(&self, position: u32) -> &'a [u8] {
        Reader::text_bytes_at(self.manifest.region.bytes, position)
    }

    fn check(&self) -> Result<()> {
        self.manifest.check(self.reader)
    }
}

impl<'a> ZtensorFile<'a> {
    /// Compares all names, and the roles of those tensors whose roles were not compared on opening.
    pub(super) fn compare(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let warnings = summary.warnings;
        let mut checked = warnings.without(Warning::NamesUnchecked).without(Warning::RolesUnchecked);
        let mut reader = self.manifest.reader(self.entries);
        if warnings.contains(Warning::NamesUnchecked) {
            duplicates::check_room(summary.tensor_count, scratch.len())?;
            let mut keys = Keys { manifest: &self.manifest, reader: &mut reader };
            let repeated = duplicates::clash(&mut keys, self.first_name(), scratch)?;
            self.judge_names(repeated, &mut reader, &mut checked);
            self.manifest.check(&reader)?;
        }
        if warnings.contains(Warning::RolesUnchecked) {
            self.each_unchecked(|reader, first| {
                let mut keys = Keys { manifest: &self.manifest, reader };
                if let Some((_, at)) = duplicates::clash(&mut keys, first, scratch)? {
                    reader.fail_in(Part::Role, ErrorKind::RepeatedKey, at);
                }
                Ok(())
            })?;
        }
        self.manifest.check(&reader).map(|()| checked)
    }

    /// The most words that [`compare`](Self::compare) uses.
    pub(super) fn compared(&self, summary: &Summary) -> u64 {
        let names = if summary.warnings.contains(Warning::NamesUnchecked) { summary.tensor_count } else { 0 };
        let mut most = names;
        if summary.warnings.contains(Warning::RolesUnchecked) {
            // `check` reports bytes that have changed.
            let _ = self.each_unchecked(|reader, Key { mut left, .. }| {
                let mut count = 0_u64;
                while self.manifest.more_parts(reader, &mut left) {
                    self.manifest.name(reader);
                    count = count.saturating_add(1);
                }
                most = most.max(count);
                Ok(())
            });
        }
        most
    }

    /// Calls `visit` for each tensor whose roles were not compared on opening, with a reader in it and the first role.
    #[inline(never)]
    fn each_unchecked(&self, mut visit: impl FnMut(&mut Reader<'a>, Key) -> Result<()>) -> Result<()> {
        let (mut cursor, mut tensor) = (Cursor::START, TensorRecord::blank());
        while self.next_tensor(&mut cursor, &mut tensor)? {
            if tensor.warnings & Warning::RolesUnchecked.bit() != 0 {
                let mut reader = self.reader_in(&tensor, tensor.components);
                let left = reader.map();
                let first = Key { at: reader.position(), left };
                visit(&mut reader, first)?;
                self.manifest.check(&reader)?;
            }
            tensor = TensorRecord::blank();
        }
        Ok(())
    }
}
