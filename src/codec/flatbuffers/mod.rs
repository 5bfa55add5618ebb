//! FlatBuffers: tables, vectors and texts that refer to each other by offsets. All numbers are little-endian.
//!
//! ```text
//! offset   u32, counted from its own position; forward only, never 0
//! table    i32: its position minus that of its vtable; then the fields
//! vtable   u16 its length, u16 the length of the table, u16 for each slot: the place of the field in the table, or 0
//! vector   u32 count, then the elements; for tables: their offsets
//! text     a vector of bytes, then a NUL that does not count
//! ```
//!
//! Field `n` of the schema is in slot `n`. A field has its default if its slot is 0 or beyond the vtable. Numbers are
//! aligned to their size, vtables to 2 bytes, tables and vectors to 4, all counted from the first byte of the file.
//!
//! Offsets lead forward, so that nothing contains itself. Several offsets may lead to one thing: the formats limit the
//! work. Every offset is checked where it is read, each time that it is read. Unknown slots are ignored.
#![forbid(unsafe_code)]

pub(crate) mod explain;
#[cfg(test)]
mod tests;

use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};

/// The bytes before the first table: the offset of the root, and the identifier.
const HEAD: u32 = 8;

/// The bytes of a file from the first to the last that a table may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer<'a> {
    bytes: &'a [u8],
    /// The format of the file, which errors state.
    format: Format,
}

/// A field of a table: its number in the schema, and the part of the file that it states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    slot: u16,
    part: Part,
}

/// A table whose vtable has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    buffer: Buffer<'a>,
    /// The position of the table, and of its vtable.
    pub(crate) at: u32,
    vtable: u32,
    /// The lengths of the vtable and of the table.
    vtable_length: u16,
    length: u16,
}

/// A vector, all of which is in the buffer. The default is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vector<'a> {
    /// The elements.
    pub(crate) bytes: &'a [u8],
    /// The position of the first element.
    pub(crate) at: u32,
    pub(crate) count: u32,
}

/// A vector of offsets. The default is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offsets {
    /// The position of the first offset.
    at: u32,
    pub(crate) count: u32,
}

impl Offsets {
    /// The position of the first offset, from which [`Buffer::offsets`] makes the vector again; 0 for an empty vector.
    pub(crate) const fn position(&self) -> u32 {
        if self.count == 0 { 0 } else { self.at }
    }

    /// Returns the position of an offset; `None` after the last.
    pub(crate) fn get(&self, index: u32) -> Option<u32> {
        self.at.checked_add(index.checked_mul(4)?).filter(|_| index < self.count)
    }
}

impl Field {
    pub(crate) const fn new(slot: u16, part: Part) -> Self {
        Self { slot, part }
    }
}

impl<'a> Buffer<'a> {
    /// Wraps `bytes`, which begin with the first byte of a file of `format`.
    pub(crate) const fn new(bytes: &'a [u8], format: Format) -> Self {
        Self { bytes, format }
    }

    /// Returns an error of `part` at a position.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn error(&self, kind: ErrorKind, part: Part, at: u32) -> Error {
        Error::at(kind, self.format, part, at.into())
    }

    /// Returns the vector of offsets whose first one is at a position; empty for 0.
    pub(crate) fn offsets(&self, at: u32) -> Offsets {
        let count = at.checked_sub(4).map_or(0, |at| u32::from_le_bytes(self.number(at)));
        Offsets { at, count }
    }

    /// Reads the bytes of a number at a position.
    pub(crate) fn get<const N: usize>(&self, at: u32) -> Option<[u8; N]> {
        self.bytes.get(to_usize(at.into())?..)?.first_chunk().copied()
    }

    /// Reads the bytes of a number at a position that is known to be in the buffer.
    fn number<const N: usize>(&self, at: u32) -> [u8; N] {
        self.get(at).unwrap_or([0; N])
    }

    /// True if `length` bytes at a position are in the buffer.
    fn has(&self, at: u32, length: u32) -> bool {
        u64::from(at).saturating_add(length.into()) <= to_u64(self.bytes.len())
    }

    /// Returns the position that the offset at `at` leads to. At least the 4 bytes that begin a table or a vector follow
    /// there.
    #[cfg_attr(small, inline(never))]
    fn follow(&self, at: u32, part: Part) -> Result<u32> {
        let offset = self.get(at).map_or(0, u32::from_le_bytes);
        let target = at.checked_add(offset).filter(|target| offset > 0 && self.has(*target, 4));
        target.ok_or_else(|| self.error(ErrorKind::OutOfPlace, part, at))
    }

    /// Returns the table that the offset at `at` leads to.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn table(&self, at: u32, part: Part) -> Result<Table<'a>> {
        self.table_at(self.follow(at, part)?, part)
    }

    /// Returns the table at a position.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn table_at(&self, at: u32, part: Part) -> Result<Table<'a>> {
        if at & 3 != 0 {
            return Err(self.error(ErrorKind::MisalignedOffset, part, at));
        }
        let table = || {
            let distance = i32::from_le_bytes(self.get(at).filter(|_| at >= HEAD)?);
            let vtable = u32::try_from(i64::from(at).wrapping_sub(distance.into())).ok()?;
            let vtable_length = u16::from_le_bytes(self.get(vtable)?);
            let length = u16::from_le_bytes(self.get(vtable.checked_add(2)?)?);
            let is_whole = vtable & 1 == 0 && vtable_length & 1 == 0 && vtable_length >= 4 && length >= 4;
            let fits = self.has(vtable, vtable_length.into()) && self.has(at, length.into());
            (is_whole && fits).then_some(Table { buffer: *self, at, vtable, vtable_length, length })
        };
        table().ok_or_else(|| self.error(ErrorKind::Malformed, part, at))
    }

    /// Returns the position of the vector that the offset at `at` leads to.
    #[cfg_attr(small, inline(never))]
    fn vector_at(&self, at: u32, part: Part) -> Result<u32> {
        let start = self.follow(at, part)?;
        if start & 3 == 0 { Ok(start) } else { Err(self.error(ErrorKind::MisalignedOffset, part, start)) }
    }

    /// Returns the vector that the offset at `at` leads to, with elements of `size` bytes.
    #[cfg_attr(small, inline(never))]
    fn vector(&self, at: u32, size: u32, part: Part) -> Result<Vector<'a>> {
        let start = self.vector_at(at, part)?;
        let count = u32::from_le_bytes(self.number(start));
        let elements = || {
            let at = start.checked_add(4)?;
            let length = to_usize(u64::from(count).checked_mul(size.into())?)?;
            let bytes = self.bytes.get(to_usize(at.into())?..)?.get(..length)?;
            Some(Vector { bytes, at, count })
        };
        elements().ok_or_else(|| self.error(ErrorKind::CountTooLarge, part, start))
    }
}

impl<'a> Table<'a> {
    /// Returns the position of a field of `width` bytes; `None` if the field has its default.
    #[cfg_attr(small, inline(never))]
    fn place(&self, Field { slot, part }: Field, width: u16) -> Result<Option<u32>> {
        let entry = slot.saturating_mul(2).saturating_add(4);
        if entry >= self.vtable_length {
            return Ok(None);
        }
        let entry = self.vtable.saturating_add(entry.into());
        let place = u16::from_le_bytes(self.buffer.number(entry));
        if place == 0 {
            return Ok(None);
        }
        if place < 4 || place.checked_add(width).is_none_or(|end| end > self.length) {
            return Err(self.buffer.error(ErrorKind::OutOfPlace, part, entry));
        }
        let at = self.at.saturating_add(place.into());
        if at & u32::from(width).wrapping_sub(1) != 0 {
            return Err(self.buffer.error(ErrorKind::MisalignedOffset, part, at));
        }
        Ok(Some(at))
    }

    /// Reads the bytes of a number; zeros if the field has its default.
    fn number<const N: usize>(&self, field: Field, width: u16) -> Result<[u8; N]> {
        Ok(self.place(field, width)?.map_or([0; N], |at| self.buffer.number(at)))
    }

    /// Returns the place of the elements of a vector, which must end before `end` but need not be in memory.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn extent(&self, field: Field, size: u32, end: u64) -> Result<Option<Extent>> {
        let Some(at) = self.offset(field)? else { return Ok(None) };
        let start = self.buffer.vector_at(at, field.part)?;
        let count = u32::from_le_bytes(self.buffer.number(start));
        let length = u64::from(count).saturating_mul(size.into());
        let extent = Extent::new(u64::from(start).saturating_add(4), length);
        if extent.is_within(end) {
            Ok(Some(extent))
        } else {
            Err(self.buffer.error(ErrorKind::CountTooLarge, field.part, start))
        }
    }

    /// Returns the bytes of a number of 8 bytes in the file; other bytes, zeros, if the field has its default.
    pub(crate) fn bytes(&self, field: Field) -> Result<&'a [u8]> {
        let bytes = |at: u32| self.buffer.bytes.get(to_usize(at.into())?..)?.get(..8);
        Ok(self.place(field, 8)?.and_then(bytes).unwrap_or(&[0; 8]))
    }

    #[cfg_attr(small, inline(never))]
    pub(crate) fn i8(&self, field: Field) -> Result<i8> {
        self.number(field, 1).map(i8::from_le_bytes)
    }

    #[cfg_attr(small, inline(never))]
    pub(crate) fn i32(&self, field: Field) -> Result<i32> {
        self.number(field, 4).map(i32::from_le_bytes)
    }

    #[cfg_attr(small, inline(never))]
    pub(crate) fn u32(&self, field: Field) -> Result<u32> {
        self.number(field, 4).map(u32::from_le_bytes)
    }

    #[cfg_attr(small, inline(never))]
    pub(crate) fn u64(&self, field: Field) -> Result<u64> {
        self.number(field, 8).map(u64::from_le_bytes)
    }

    /// Returns the position of the offset in a field; `None` if there is none.
    pub(crate) fn offset(&self, field: Field) -> Result<Option<u32>> {
        self.place(field, 4)
    }

    #[cfg_attr(small, inline(never))]
    pub(crate) fn table(&self, field: Field) -> Result<Option<Self>> {
        self.offset(field)?.map(|at| self.buffer.table(at, field.part)).transpose()
    }

    /// Returns a vector of elements of `size` bytes.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn vector(&self, field: Field, size: u32) -> Result<Option<Vector<'a>>> {
        self.offset(field)?.map(|at| self.buffer.vector(at, size, field.part)).transpose()
    }

    /// Returns a vector of offsets.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn offsets(&self, field: Field) -> Result<Option<Offsets>> {
        Ok(self.vector(field, 4)?.map(|Vector { at, count, .. }| Offsets { at, count }))
    }

    /// Returns the bytes of a text, which need not be UTF-8.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn text(&self, field: Field) -> Result<Option<Vector<'a>>> {
        let Some(text) = self.vector(field, 1)? else { return Ok(None) };
        let end = text.at.saturating_add(text.count);
        match self.buffer.get(end) {
            Some([0]) => Ok(Some(text)),
            _ => Err(self.buffer.error(ErrorKind::Malformed, field.part, end)),
        }
    }
}
