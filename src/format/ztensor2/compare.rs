//! Compares the positions of all components that have bytes. Reads the components again, in the order of the manifest.
#![forbid(unsafe_code)]

use super::blob::Blob;
use super::entry::{self, OBJECT, PART, PART_DEPTH};
use super::manifest::{Keys, Manifest};
use crate::bytes::extent::Extent;
use crate::codec::cbor::strict::{Reader, Record};
use crate::duplicates::Distinct;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};

/// The number of words for comparing components on opening: two for each of up to 1024 components.
#[cfg(not(small))]
pub(super) const WORDS: usize = 2 * 1024;

/// Reads all components that have bytes, to compare them in the caller's memory.
pub(super) struct Places<'r, 'a> {
    manifest: &'r Manifest<'a>,
    error: Option<Error>,
    /// The positions in the manifest of the component that was read last, and of the entry of its tensor.
    last: u32,
    entry: u32,
}

/// The positions in the manifest of a component's blob and of its shard's name (0 if there is none). The position of
/// the record would cost more: its other keys may be long, and each comparison reads the component.
pub(super) type Position = [u32; 2];

/// The point that an iteration has reached: the tensors left, and the components left of the tensor before these.
#[derive(Clone, Copy)]
pub(super) struct Place {
    objects: Keys,
    parts: Keys,
}

impl Place {
    /// The start of an iteration over `objects`, the names of all tensors.
    pub(super) const fn start(objects: Keys) -> Self {
        Self { objects, parts: Keys::NONE }
    }
}

impl<'r, 'a> Places<'r, 'a> {
    pub(super) const fn of(manifest: &'r Manifest<'a>) -> Self {
        Self { manifest, error: None, last: 0, entry: 0 }
    }

    /// The error for the component that was read last: it overlaps another.
    pub(super) fn overlap(&self) -> Error {
        let at = self.manifest.offset(self.last);
        let error = Error::at(ErrorKind::Overlap, Format::Ztensor2, Part::Offset, at);
        error.after_entry(self.last.saturating_sub(self.entry))
    }

    /// Reads the component at the reader's position.
    fn component(&self, reader: &mut Reader<'a>) -> Option<(Blob<'a>, Position)> {
        let [mut blob, mut shard] = [0; 2];
        reader.text_bytes()?;
        let mut record = Record::default();
        reader.record(&mut record, PART)?;
        loop {
            match reader.field(&mut record, PART_DEPTH)? {
                Part::Offset => blob = reader.position(),
                Part::Shard => shard = reader.position(),
                Part::File => break,
                _ => {}
            }
            reader.pass_over_value()?;
        }
        Some((self.at([blob, shard]), [blob, shard]))
    }

    /// Reads the component at `place`, and advances `place`. Also returns the position of the component. Returns
    /// `Some(None)` after the last component, `None` after an error.
    fn read(&mut self, reader: &mut Reader<'a>, place: &mut Place) -> Option<Option<(Blob<'a>, Position)>> {
        loop {
            while let Some(left) = place.parts.left.checked_sub(1) {
                *reader = self.manifest.reader(place.parts.at);
                self.last = reader.position();
                let (blob, position) = self.component(reader)?;
                place.parts = Keys { at: reader.position(), left };
                if blob.extent.length > 0 {
                    return Some(Some((blob, position)));
                }
            }
            let Some(left) = place.objects.left.checked_sub(1) else { return Some(None) };
            *reader = self.manifest.reader(place.objects.at);
            self.entry = reader.position();
            reader.text()?;
            let mut record = Record::default();
            reader.record(&mut record, OBJECT)?;
            loop {
                match reader.field(&mut record, 2)? {
                    Part::File => break,
                    Part::Components => {
                        let mut parts = self.manifest.reader(reader.position());
                        place.parts = Keys::read(&mut parts)?;
                    }
                    _ => {}
                }
                reader.pass_over_value()?;
            }
            place.objects = Keys { at: reader.position(), left };
        }
    }
}

impl<'a> Distinct for Places<'_, 'a> {
    type Entry = Blob<'a>;
    type Place = Place;
    type Position = Position;

    fn next(&mut self, place: &mut Place) -> Option<(Blob<'a>, Position)> {
        let mut reader = self.manifest.reader(0);
        let next = self.read(&mut reader, place);
        if next.is_none() {
            self.error = Some(self.manifest.error(&reader));
        }
        next.flatten()
    }

    fn at(&self, [blob, shard]: Position) -> Blob<'a> {
        let read = |at: u32| self.manifest.reader(at);
        let extent = entry::blob(&mut read(blob)).unwrap_or(Extent::new(0, 0)); // has been read before
        Blob { shard: read(shard).text_bytes().unwrap_or_default(), extent } // position 0 is a map
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}
