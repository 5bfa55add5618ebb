//! Compressed entries. The header that describes the array must be decoded first.
#![forbid(unsafe_code)]

use super::{Array, Contents, NpzFile};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_usize;
use crate::codec::decoder::{DecodeError, Decoder};
use crate::codec::npy::{self, Header};
use crate::codec::zip::Entry;
use crate::error::origin::Part;
use crate::error::warning::Warnings;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Described, TensorRecord};
use crate::types::{Encoding, Order};

/// The size of the stack memory for the header of a compressed array that is verified. NumPy writes 128 bytes for a
/// number.
pub(super) const HEAD_ON_STACK: usize = 256;
/// The length of the longest header of version 1.0, plus [`npy::START`].
pub(super) const LONGEST_HEAD: u64 = 12 + 0xffff;

impl<'a> NpzFile<'a> {
    /// Returns an error in the decoded bytes of a compressed entry. The error states the record as the tensor's entry;
    /// no other error of an archive does.
    fn error_inside(&self, kind: ErrorKind, item: Part, at: u32) -> Error {
        self.archive.error(kind, item, at).after_entry(0)
    }

    /// Returns the entry of a tensor whose array is unknown until it is decoded, and the extent of the entry's data.
    pub(super) fn compressed(&self, tensor: &TensorRecord<'a>) -> Result<Option<(Entry<'a>, Extent)>> {
        let Some(entry) = self.archive.entry(tensor.components)? else { return Ok(None) };
        let data = match self.array(&entry)? {
            Some(Array { data, contents: Contents::Compressed, .. }) => data,
            _ => return Ok(None),
        };
        Ok(Some((entry, data)))
    }

    /// Fills `dst` with the first decoded bytes of an entry.
    fn decode_start(&self, entry: &Entry<'a>, data: Extent, decoder: &mut dyn Decoder, dst: &mut [u8]) -> Result<()> {
        let fail = |kind, item| self.error_inside(kind, item, entry.at);
        let encoding = match entry.encoding() {
            (Encoding::Other, _) => return Err(fail(ErrorKind::UnsupportedEncoding, Part::Encoding)),
            (encoding, _) => encoding,
        };
        // Opening has kept the first bytes of each entry in memory, which may suffice.
        let stored = self.archive.input.available_from(data.offset);
        let wanted = to_usize(data.length).unwrap_or(usize::MAX);
        let stored = stored.get(..wanted).unwrap_or(stored);
        let is_cut = stored.len() < wanted;
        if dst.is_empty() {
            return Ok(());
        }
        match decoder.decode_start(encoding, stored, dst) {
            Ok(length) if length == dst.len() => Ok(()),
            Ok(_) => Err(fail(ErrorKind::DecodedLength, Part::Component)),
            Err(DecodeError::Unsupported) => Err(fail(ErrorKind::NotBuiltIn, Part::Encoding)),
            Err(_) if is_cut => Err(fail(ErrorKind::NotInMemory, Part::Component)),
            Err(_) => Err(fail(ErrorKind::CorruptStream, Part::Component)),
        }
    }

    /// Returns the number of bytes before the items of a compressed entry's array.
    pub(super) fn head_length(&self, entry: &Entry<'a>, data: Extent, decoder: &mut dyn Decoder) -> Result<u64> {
        let mut room = [0; 12]; // npy::START
        let length = to_usize(entry.size.min(npy::START)).unwrap_or(0);
        let start = room.get_mut(..length).unwrap_or_default();
        self.decode_start(entry, data, decoder, start)?;
        npy::head_length(start, entry.size).map_err(|(kind, item, _)| self.error_inside(kind, item, entry.at))
    }

    /// Decodes the header of a compressed array, and nothing after it.
    pub(super) fn described<'s>(
        &self,
        tensor: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        scratch: &'s mut [u8],
    ) -> Result<Option<Described<'s>>> {
        let Some((entry, data)) = self.compressed(tensor)? else { return Ok(None) };
        let fail = |(kind, item, _): npy::Fault| self.error_inside(kind, item, entry.at);
        let length = self.head_length(&entry, data, decoder)?;
        let head = to_usize(length).and_then(|length| scratch.get_mut(..length));
        let head = head.ok_or_else(|| fail((ErrorKind::OutOfScratch, Part::Header, 0)))?;
        self.decode_start(&entry, data, decoder, head)?;
        let head: &'s [u8] = head;
        let header = Header::read(head).map_err(fail)?;
        let (_, warnings) = header.items_length(length, entry.size).map_err(fail)?;
        Ok(Some(Described {
            dtype: header.items.dtype,
            shape: header.shape,
            order: if header.is_column_major { Order::ColumnMajor } else { Order::RowMajor },
            byte_order: header.items.order,
            stated_type: Some(header.descr),
            is_latin_1: npy::is_latin_1(head),
            warnings: Warnings::from_bits(tensor.warnings | warnings),
        }))
    }

    /// Returns the warnings that only the header of a compressed array gives: bytes after the items, an unstated byte
    /// order. Returns no warnings if the header cannot be decoded here, or is longer than the memory.
    pub(super) fn header_warnings(
        &self,
        tensor: &TensorRecord<'a>,
        decoder: &mut dyn Decoder,
        scratch: &mut [u8],
    ) -> Result<Warnings> {
        let mut own = [0; HEAD_ON_STACK];
        let scratch = if scratch.len() < own.len() { &mut own } else { scratch };
        match self.described(tensor, decoder, scratch) {
            Ok(described) => Ok(described.map(|described| described.warnings).unwrap_or_default()),
            Err(error) => match error.kind() {
                ErrorKind::OutOfScratch
                | ErrorKind::NotBuiltIn
                | ErrorKind::UnsupportedEncoding
                | ErrorKind::NotInMemory => Ok(Warnings::default()),
                _ => Err(error),
            },
        }
    }
}
