//! The table of shards: the other files that components may be in (section 7).
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use super::digest;
use super::manifest::{Keys, SMALLEST};
use crate::bytes::extent::Region;
use crate::bytes::keywords::keywords;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::strict::{self, Fields, Reader, fields, key_order};
use crate::codec::digest::{DigestSpec, spelled_strictly};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Cursor, ListedShard};

/// The record of a shard (section 7.1).
pub(super) const SHARD: &Fields = &fields!({ "size": Length, "digest": Digest } required Length Digest);

/// The nesting depth of a shard's record in the manifest.
const DEPTH: usize = 2;

/// The longest name of a shard.
const MAX_NAME: usize = 64;

/// The length in bytes up to which a table is searched on opening on chips. Chips remember no positions, so they search
/// the table for each component.
pub(super) const MAX_PASSED: usize = 1 << 12;

/// The number of positions remembered on opening, two for each shard. To look up more shards, the caller must provide
/// memory.
pub(super) const SLOTS: usize = 2048;

/// True if the positions of shards are remembered.
pub(super) const IS_INDEXED: bool = cfg!(not(small));

/// A file that contains bytes of components, as listed by the file that refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shard<'a> {
    /// A name without a path: letters, digits, `.`, `_` and `-`, and no dot at its start. The program decides which
    /// file has this name.
    pub name: &'a str,
    /// The length of the shard in bytes.
    pub size: u64,
    /// The digest of all bytes of the shard: `xxh3:` or `sha256:`, for example, and hexadecimal digits.
    pub digest: &'a str,
}

/// The record of a shard.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) name: Utf8<'a>,
    size: u64,
    digest: Utf8<'a>,
}

/// The table of shards in the manifest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    pub(super) region: Region<'a>,
    /// The position of the table; 0 if there is none.
    pub(super) position: u32,
}

/// Reads the name of a shard: a key that must come after `last`, or the name in the record of a component.
pub(super) fn name<'a>(reader: &mut Reader<'a>, last: Option<&mut &'a [u8]>) -> Option<Utf8<'a>> {
    let at = reader.position();
    reader.item = Part::Shard;
    let name = match last {
        Some(last) => reader.key_bytes(last)?,
        None => reader.text_bytes()?,
    };
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let kind = match name {
        [] => ErrorKind::NameLength,
        long if long.len() > MAX_NAME => ErrorKind::NameLength,
        [b'.', ..] => ErrorKind::InvalidName,
        ascii if ascii.iter().all(is_allowed) => return Some(Utf8::known(ascii)),
        _ => ErrorKind::InvalidName,
    };
    reader.stop_at(kind, at)
}

/// Reads the entry of a shard, whose name must come after `last`.
fn shard<'a>(reader: &mut Reader<'a>, last: &mut &'a [u8]) -> Option<Record<'a>> {
    let name = name(reader, Some(last))?;
    let (mut size, mut text) = (0, Utf8::new(""));
    let mut record = strict::Record::default();
    reader.record(&mut record, SHARD)?;
    loop {
        let item = reader.field(&mut record, DEPTH)?;
        let at = reader.position();
        match item {
            Part::Length => {
                size = reader.unsigned()?;
                if size < SMALLEST {
                    return reader.stop_at(ErrorKind::ShardSize, at);
                }
            }
            Part::Digest => text = digest::read(reader, &mut 0)?,
            _ => return Some(Record { name, size, digest: text }),
        }
    }
}

/// Returns the position of the size in the entry of a shard, which has been read before.
fn size_at(manifest: &[u8], entry: u32) -> Option<u32> {
    let mut reader = Reader::new(manifest, entry);
    reader.text_bytes()?;
    let mut record = strict::Record::default();
    reader.record(&mut record, SHARD)?;
    (reader.field(&mut record, DEPTH)? == Part::Length).then(|| reader.position()) // the first of two keys
}

/// Checks that `bytes` is the complete file that `shard` describes. `at` is the offset of the shard's entry, for
/// errors. Returns true if the digest was compared. It is not compared if its algorithm is unknown, or is SHA-256 and
/// not built in.
pub(super) fn check(shard: &Record<'_>, bytes: &[u8], at: u64) -> Result<bool> {
    let fail = |kind| Err(Error::at(kind, Format::Ztensor2, Part::Shard, at));
    if to_u64(bytes.len()) != shard.size {
        return fail(ErrorKind::WrongLength);
    }
    match spelled_strictly(shard.digest.bytes()) {
        DigestSpec::Unknown => Ok(false),
        DigestSpec::Invalid => fail(ErrorKind::InvalidDigest),
        DigestSpec::Known(digest) if !digest.is_built_in() => Ok(false),
        DigestSpec::Known(digest) if digest.is_of(bytes) => Ok(true),
        DigestSpec::Known(_) => fail(ErrorKind::DigestMismatch),
    }
}

impl<'a> Table<'a> {
    /// Finds the shard named `name`, and its position. Linear in the bytes of the table up to this shard.
    pub(super) fn find(&self, name: &[u8]) -> Option<(Record<'a>, u32)> {
        let at = self.position_of(name)?;
        let mut reader = Reader::new(self.region.bytes, at);
        Some((shard(&mut reader, &mut &[][..])?, at))
    }

    /// Finds the position of the shard named `name`.
    fn position_of(&self, name: &[u8]) -> Option<u32> {
        let Keys { at, mut left } = self.keys();
        let mut reader = Reader::new(self.region.bytes, at);
        while left > 0 {
            left = left.saturating_sub(1);
            let at = reader.position();
            if reader.text_bytes()? == name {
                return Some(at);
            }
            reader.pass_over_value()?;
        }
        None
    }

    /// The number of words needed to remember all shards: two positions each. 0 on chips, which have no flash to spare
    /// for this.
    pub(super) fn length(&self) -> u64 {
        if IS_INDEXED { u64::from(self.keys().left).saturating_mul(2) } else { 0 }
    }

    /// Reads the table at the reader's position.
    pub(super) fn check(reader: &mut Reader<'a>) -> Option<()> {
        let (mut left, mut last) = (reader.map()?, &[][..]);
        while left > 0 {
            left = left.saturating_sub(1);
            shard(reader, &mut last)?;
        }
        Some(())
    }

    /// The keys of the table.
    fn keys(&self) -> Keys {
        let mut reader = Reader::new(self.region.bytes, self.position);
        let keys = if self.position == 0 { None } else { Keys::read(&mut reader) };
        keys.unwrap_or(Keys::NONE)
    }
}

/// An index of the shards by name. All shards are remembered, in sorted order.
pub(super) struct Index<'s, 'a> {
    table: Table<'a>,
    /// The positions of the names and of the sizes. A size has its own position, since other keys of a record may be
    /// long.
    names: &'s [u32],
    sizes: &'s [u32],
    last: Option<(Utf8<'a>, u64)>,
}

impl<'s, 'a> Index<'s, 'a> {
    /// Fills `slots` with positions if there are at least [`Table::length`] slots.
    pub(super) fn new(table: Table<'a>, slots: &'s mut [u32]) -> Self {
        let mut index = Self { table, names: &[], sizes: &[], last: None };
        if IS_INDEXED && table.length() <= to_u64(slots.len()) {
            let keys = table.keys();
            let count = to_usize(keys.left.into()).unwrap_or(0);
            let (names, sizes) = slots.split_at_mut_checked(count).unwrap_or_default();
            fill(table.region.bytes, keys.at, names, sizes);
            (index.names, index.sizes) = (names, sizes);
        }
        index
    }

    /// Returns true if a lookup costs little.
    pub(super) fn is_fine(&self) -> bool {
        !IS_INDEXED || self.table.length() == to_u64(self.names.len()).saturating_mul(2)
    }

    /// Returns the size of the shard named `name`; `None` if there is no such shard.
    pub(super) fn size(&mut self, name: Utf8<'a>) -> Option<u64> {
        if !IS_INDEXED {
            return self.table.find(name.bytes()).map(|(record, _)| record.size);
        }
        if let Some((_, size)) = self.last.filter(|(last, _)| *last == name) {
            return Some(size);
        }
        let bytes = self.table.region.bytes;
        let name_at = |at: u32| Reader::new(bytes, at).text_bytes().unwrap_or_default();
        let before = self.names.partition_point(|at| key_order(name_at(*at), name.bytes()).is_lt());
        let (at, size_at) = self.names.get(before).zip(self.sizes.get(before))?;
        if name_at(*at) != name.bytes() {
            return None;
        }
        let size = Reader::new(bytes, *size_at).unsigned()?;
        self.last = Some((name, size));
        Some(size)
    }
}

/// Stores the positions of the names, which start at `at`, and of the sizes.
fn fill(bytes: &[u8], at: u32, names: &mut [u32], sizes: &mut [u32]) {
    let mut reader = Reader::new(bytes, at);
    for (name, size) in names.iter_mut().zip(sizes) {
        *name = reader.position();
        *size = size_at(bytes, *name).unwrap_or(0);
        let _ = reader.text_bytes().and_then(|_| reader.pass_over_value());
    }
}

/// The shards that a file lists. See [`Ztensor2File::shards`](super::Ztensor2File::shards).
///
/// The shards were checked when the file was opened. If the bytes have changed since then, the iterator ends early and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct Shards<'a> {
    table: Table<'a>,
    at: u32,
    left: u32,
    error: Option<Error>,
}

impl<'a> Shards<'a> {
    pub(super) fn new(table: Table<'a>) -> Self {
        let Keys { at, left } = table.keys();
        Self { table, at, left, error: None }
    }

    /// Reads the next shard of a table, from the cursor on.
    pub(super) fn read_next(table: Table<'a>, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        let mut shards = Self::new(table);
        if !cursor.is_first() {
            (shards.at, shards.left) = (u32::try_from(cursor.at).unwrap_or(u32::MAX), cursor.left);
        }
        let next = shards.next().map(|Shard { name, size, .. }| ListedShard { name, size: Some(size) });
        (cursor.at, cursor.left) = (shards.at.into(), shards.left);
        shards.error.map_or(Ok(next), Err)
    }

    /// Returns the error that ended the iterator early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }
}

impl<'a> Iterator for Shards<'a> {
    type Item = Shard<'a>;

    fn next(&mut self) -> Option<Shard<'a>> {
        self.left = self.left.checked_sub(1)?;
        let mut reader = Reader::new(self.table.region.bytes, self.at);
        let Some(Record { name, size, digest }) = shard(&mut reader, &mut &[][..]) else {
            self.error = Some(reader.error(Format::Ztensor2, self.table.region.start));
            self.left = 0;
            return None;
        };
        self.at = reader.position();
        Some(Shard { name: name.as_str(), size, digest: digest.as_str() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, to_usize(self.left.into()))
    }
}

impl FusedIterator for Shards<'_> {}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// With memory for all shards, every shard is found, and nothing else: the entry after the table is not.
    #[test]
    #[cfg(not(small))]
    fn shards_are_found_with_memory_for_all() {
        for lengths in [&[][..], &[0; 1], &[0; 7], &[0, 0, 0, 200, 0, 0, 0, 90, 0, 0, 0, 0, 0], &[0, 299, 0]] {
            // The names of the shards, alternating with names that are not in the table.
            let names: Vec<String> = (0..2 * lengths.len()).map(|i| std::format!("{i:02}")).collect();
            let mut bytes = std::vec![0, 0xa0 | lengths.len() as u8];
            for (i, length) in lengths.iter().enumerate() {
                // An unknown key, whose value has `length` bytes.
                let head = match *length {
                    0 => &[0x40][..],
                    length @ ..256 => &[0x58, length as u8],
                    length => &[0x59, (length >> 8) as u8, length as u8],
                };
                bytes.extend([b"\x62", names[2 * i + 1].as_bytes(), b"\xa3\x61x", head].concat());
                bytes.extend(std::vec![0; *length]);
                bytes.extend([&b"\x64size\x18"[..], &[100 + i as u8], b"\x66digest\x67xxh3:00"].concat());
            }
            bytes.extend(b"\x6299\xa2\x64size\x18\x63\x66digest\x67xxh3:00");
            let table = Table { region: Region { bytes: &bytes, start: 4096 }, position: 1 };
            assert_eq!(table.length(), 2 * lengths.len() as u64);
            for memory in 0..30 {
                let mut slots = std::vec![0; memory];
                let mut index = Index::new(table, &mut slots);
                assert_eq!(index.is_fine(), memory >= 2 * lengths.len());
                if !index.is_fine() {
                    continue;
                }
                for _ in 0..2 {
                    for (i, name) in names.iter().enumerate() {
                        let expected = (i % 2 == 1).then_some(100 + i as u64 / 2);
                        assert_eq!(index.size(Utf8::new(name)), expected, "{lengths:?} with {memory}");
                    }
                }
                assert_eq!(index.size(Utf8::new("99")), None, "{lengths:?} with {memory}");
            }
        }
    }

    /// A truncated table, as may happen in a mapping that has changed.
    #[test]
    fn listing_says_why_it_ends_early() {
        let bytes = b"\0\xa2\x61a\xa2dsize\x18\x30fdigestgxxh3:00\x61b\xa2dsize\x18\x31fdigestgxxh3:01";
        let list = |bytes| Shards::new(Table { region: Region { bytes, start: 4096 }, position: 1 });
        let mut whole = list(&bytes[..]);
        assert!(whole.by_ref().map(|shard| (shard.name, shard.size)).eq([("a", 48), ("b", 49)]));
        assert_eq!(whole.error(), None);
        let mut cut = list(&bytes[..bytes.len() - 3]);
        assert!(cut.by_ref().map(|shard| (shard.name, shard.digest)).eq([("a", "xxh3:00")]));
        let error = cut.error().unwrap();
        assert_eq!(
            (error.kind(), error.format(), error.part()),
            (ErrorKind::Truncated, Format::Ztensor2, Part::Digest)
        );
        assert_eq!((cut.next(), cut.size_hint()), (None, (0, Some(0))));
    }
}
