//! External buffers: bytes in other files, by an ID.
//!
//! A tensor states an ID, not the place of the entry. Writers number the entries, so their IDs rise or fall, and a binary
//! search finds one. If the IDs do neither, at most 1024 entries are compared one by one.
#![forbid(unsafe_code)]

use super::{TfliteFile, Work};
use crate::bytes::extent::Extent;
use crate::bytes::utf8::Utf8;
use crate::codec::flatbuffers::Table;
use crate::codec::tflite::schema::{GROUP_NAME, external};
use crate::duplicates::{Compared, Distinct, MAX_COMPARED, Memory, Stack};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Cursor, ListedShard};

/// The order of the IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdOrder {
    None,
    Rising,
    Falling,
}

/// An external buffer.
#[derive(Clone, Copy)]
pub(super) struct External<'a> {
    /// The name of the file: that of its group.
    pub(super) file: &'a [u8],
    /// The place in that file.
    pub(super) extent: Extent,
    /// True if the bytes are not the elements one after the other.
    pub(super) is_packed: bool,
}

impl<'a> TfliteFile<'a> {
    fn entry(&self, index: u32) -> Result<Option<Table<'a>>> {
        self.model.external().get(index).map(|place| self.model.flatbuffer().table(place, Part::Shard)).transpose()
    }

    /// Checks all groups and external buffers, used or not.
    pub(super) fn check_external(&mut self, work: &mut Work) -> Result<()> {
        for index in 0..self.model.groups().count {
            let Some(place) = self.model.groups().get(index) else { break };
            let group = self.model.flatbuffer().table(place, Part::Shards)?;
            self.text(&group, GROUP_NAME, Part::Shards, work)?;
        }
        let (mut is_rising, mut is_falling, mut last) = (true, true, None);
        for index in 0..self.model.external().count {
            let Some(table) = self.entry(index)? else { break };
            let id = table.u32(external::ID)?;
            is_rising = is_rising && last.is_none_or(|last| last < id);
            is_falling = is_falling && last.is_none_or(|last| last > id);
            last = Some(id);
            self.text(&table, external::PACKING, Part::Shard, work)?;
            self.external_at(&table)?;
        }
        self.id_order = match (is_rising, is_falling) {
            (true, _) => IdOrder::Rising,
            (_, true) => IdOrder::Falling,
            _ => return self.compare_ids(),
        };
        Ok(())
    }

    /// Compares the IDs of few entries, which are in no order.
    fn compare_ids(&self) -> Result<()> {
        let (at, count) = (self.model.root()?.at, self.model.external().count);
        if count > MAX_COMPARED {
            return Err(self.error(ErrorKind::TooMany, Part::Shard, at));
        }
        match Stack.compare(&mut Ids { file: self, error: None }, 0, count)? {
            Compared::Clash(position) => {
                let table = self.entry(position.saturating_sub(1))?;
                let at = table.map_or(at, |table| table.at);
                Err(self.error(ErrorKind::RepeatedKey, Part::Shard, at))
            }
            _ => Ok(()),
        }
    }

    /// Returns the next file that a group of external buffers names.
    pub(super) fn next_group(&self, cursor: &mut Cursor) -> Result<Option<ListedShard<'a>>> {
        while let Some(place) = self.model.groups().get(cursor.index) {
            let group = self.model.flatbuffer().table(place, Part::Shards)?;
            let name = group.text(GROUP_NAME)?.unwrap_or_default().bytes;
            cursor.index = cursor.index.saturating_add(1);
            // A group without a name has no buffers. The texts were checked when the file was opened.
            if !name.is_empty() {
                return Ok(Some(ListedShard { name: Utf8::known(name).as_str(), size: None }));
            }
        }
        Ok(None)
    }

    /// Returns the external buffer with an ID, if there is one.
    pub(super) fn external(&self, id: u32) -> Result<Option<External<'a>>> {
        if self.id_order == IdOrder::None {
            for index in 0..self.model.external().count {
                if let Some(table) = self.entry(index)? {
                    if table.u32(external::ID)? == id {
                        return self.external_at(&table).map(Some);
                    }
                }
            }
            return Ok(None);
        }
        let (mut first, mut count) = (0_u32, self.model.external().count);
        while count > 0 {
            let half = count >> 1;
            let middle = first.saturating_add(half);
            let Some(table) = self.entry(middle)? else { break };
            let found = table.u32(external::ID)?;
            if found == id {
                return self.external_at(&table).map(Some);
            }
            if (found < id) == (self.id_order == IdOrder::Rising) {
                (first, count) = (middle.saturating_add(1), count.saturating_sub(half).saturating_sub(1));
            } else {
                count = half;
            }
        }
        Ok(None)
    }

    /// Reads an external buffer.
    fn external_at(&self, table: &Table<'a>) -> Result<External<'a>> {
        let Some(place) = self.model.groups().get(table.u32(external::GROUP)?) else {
            return Err(self.error(ErrorKind::OutOfPlace, Part::Shards, table.at));
        };
        let group = self.model.flatbuffer().table(place, Part::Shards)?;
        let file = group.text(GROUP_NAME)?.unwrap_or_default().bytes;
        if file.is_empty() {
            return Err(self.error(ErrorKind::NameLength, Part::Shards, group.at));
        }
        let extent = Extent::new(table.u64(external::OFFSET)?, table.u64(external::LENGTH)?);
        if extent.end().is_none() {
            return Err(self.error(ErrorKind::OutOfShard, Part::Shard, table.at));
        }
        let is_packed = table.text(external::PACKING)?.unwrap_or_default().count > 0;
        Ok(External { file, extent, is_packed })
    }
}

/// The IDs of external buffers. Positions are numbers of entries, plus 1.
struct Ids<'r, 'a> {
    file: &'r TfliteFile<'a>,
    error: Option<Error>,
}

impl Ids<'_, '_> {
    fn id(&self, index: u32) -> Result<Option<Id>> {
        let table = self.file.entry(index)?;
        table.map(|table| table.u32(external::ID).map(Id)).transpose()
    }
}

/// An ID, as it is compared.
#[derive(Clone, Copy)]
struct Id(u32);

impl crate::duplicates::Entry for Id {
    fn order(self, other: Self) -> core::cmp::Ordering {
        self.0.cmp(&other.0)
    }

    fn clashes_with(self, other: Self) -> bool {
        self.0 == other.0
    }

    fn hash(self) -> u32 {
        self.0
    }
}

impl Distinct for Ids<'_, '_> {
    type Entry = Id;
    type Place = u32;
    type Position = u32;

    fn next(&mut self, index: &mut u32) -> Option<(Id, u32)> {
        match self.id(*index) {
            Ok(id) => {
                *index = index.saturating_add(1);
                id.map(|id| (id, *index))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    fn at(&self, position: u32) -> Id {
        self.id(position.saturating_sub(1)).ok().flatten().unwrap_or(Id(0))
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}
