//! Finds the chunks of a frame by the table of their offsets.
#![forbid(unsafe_code)]

use super::block::StreamDecoder;
use super::chunk::{Chunk, Content};
use super::offsets::{Offsets, Place};
use super::{Frame, fail};
use crate::bytes::extent::Extent;
use crate::bytes::num::{count_of, to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};

impl<'a> Frame<'a> {
    /// Returns chunk `index`, as described by its header.
    ///
    /// For a file opened over a source, add the table of offsets and the chunk to the source before opening. The
    /// scratch memory is for the table: [`table_scratch_length`](Self::table_scratch_length) bytes are enough to decode
    /// it. With less, the chunk is looked up without memory, which works for most tables but is slow in large ones. Each
    /// call decodes one block of the table again; in most files, that block is the whole table. To go through many
    /// chunks, read a [region](Self::read_region). A table may be compressed with Zstandard or zlib, for which the
    /// decoder is called, though no known writer does that.
    ///
    /// # Errors
    /// `NotFound` if `index` is past the last chunk; `OutOfScratch` if the lookup needs memory; the errors of an
    /// invalid table or chunk; `NotInMemory`, at the missing byte.
    #[inline]
    pub fn chunk(&self, index: u64, options: ReadOptions<'_>) -> Result<Chunk<'a>> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.chunk_using(decoder, index, scratch)
    }

    pub(crate) fn chunk_using(&self, decoder: &mut dyn Decoder, index: u64, scratch: &mut [u8]) -> Result<Chunk<'a>> {
        self.chunk_of(index, self.place(&mut StreamDecoder::new(decoder), index, scratch)?)
    }

    /// Returns the extent of chunk `index` in the file, for a caller who fetches the chunk; `None` if nothing is stored
    /// for it. Needs the table in memory, as [`chunk`](Self::chunk) does, but at most the first 32 bytes of the chunk.
    ///
    /// # Errors
    /// The errors of [`chunk`](Self::chunk). `NotInMemory` points to the first of the 32 bytes that is missing.
    #[inline]
    pub fn chunk_extent(&self, index: u64, options: ReadOptions<'_>) -> Result<Option<Extent>> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.chunk_extent_using(decoder, index, scratch)
    }

    pub(crate) fn chunk_extent_using(
        &self,
        decoder: &mut dyn Decoder,
        index: u64,
        scratch: &mut [u8],
    ) -> Result<Option<Extent>> {
        let Place::Stored(at) = self.place(&mut StreamDecoder::new(decoder), index, scratch)? else {
            return Ok(None);
        };
        let (_, length) = Chunk::head(self.setting(self.table_at()), index, at)?;
        Ok(Some(Extent::new(at, length)))
    }

    /// Returns the extent of the table of chunk offsets, which is empty in a frame without chunks. Add the table to the
    /// source before looking up chunks.
    #[must_use]
    pub fn table_extent(&self) -> Extent {
        let end = if self.chunk_count > 0 { self.parts.trailer_at } else { 0 };
        Extent::new(self.table_at(), end.saturating_sub(self.table_at()))
    }

    /// Looks up chunk `index`, using `scratch` if it is large enough.
    pub(super) fn place(&self, decoder: &mut StreamDecoder<'_, 'a>, index: u64, scratch: &mut [u8]) -> Result<Place> {
        if index >= self.chunk_count() {
            return Err(Error::new(ErrorKind::NotFound));
        }
        let mut offsets = self.offsets()?;
        let (memory, scratch) = table_memory(&offsets, scratch);
        self.place_in(&mut offsets, decoder, index, memory, scratch)
    }

    /// Returns the scratch memory in bytes that lets [`chunk`](Self::chunk) look up chunks fast: enough for one block
    /// of the table of offsets.
    ///
    /// # Errors
    /// The errors of an invalid table; `NotInMemory`.
    pub fn table_scratch_length(&self) -> Result<u64> {
        if self.chunk_count == 0 {
            return Ok(0);
        }
        Ok(self.offsets()?.memory_length())
    }

    /// Returns the number of chunks that were never written; they read as zeros. Decodes the table of offsets, but
    /// reads no chunk. The time is linear in the number of chunks, up to 2^32; of a table that repeats, only the first
    /// period is read.
    ///
    /// For a file opened over a source, the [table](Self::table_extent) must be in memory. The scratch memory is for
    /// the table: [`table_scratch_length`](Self::table_scratch_length) bytes. With less, the time is quadratic, and
    /// limited.
    ///
    /// # Errors
    /// `OutOfScratch` if the lookup needs memory, or would take long without; the errors of an invalid table;
    /// `NotInMemory`.
    #[inline]
    pub fn uninitialised_chunks(&self, options: ReadOptions<'_>) -> Result<u64> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.uninitialised_chunks_using(decoder, scratch)
    }

    pub(crate) fn uninitialised_chunks_using(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<u64> {
        let mut found = 0_u64;
        self.each_special(decoder, scratch, u64::MAX, |content, chunks| {
            if content == Content::Uninitialised {
                found = found.saturating_add(chunks);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `f` for each of the first `most` entries of the table that describes chunks without stored bytes. `f`
    /// receives the content of the chunks and the number of chunks that the entry describes.
    pub(super) fn each_special(
        &self,
        decoder: &mut dyn Decoder,
        scratch: &mut [u8],
        most: u64,
        mut f: impl FnMut(Content, u64) -> Result<()>,
    ) -> Result<()> {
        if self.chunk_count == 0 {
            return Ok(());
        }
        let decoder = &mut StreamDecoder::new(decoder);
        let mut offsets = self.offsets()?;
        let (memory, scratch) = table_memory(&offsets, scratch);
        let period = offsets.period(self.chunk_count(), u64::MAX)?;
        for index in 0..period.min(self.chunk_count()).min(most) {
            let place = self.place_in(&mut offsets, decoder, index, memory, scratch)?;
            if let Place::Special(content) = place {
                f(content, count_of(self.chunk_count().saturating_sub(index), period))?;
            }
        }
        Ok(())
    }

    /// Looks up chunk `index` and reads its header. `memory` and `scratch` are for the table of offsets.
    pub(super) fn chunk_at(
        &self,
        offsets: &mut Offsets<'a>,
        decoder: &mut StreamDecoder<'_, 'a>,
        index: u64,
        memory: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<Chunk<'a>> {
        self.chunk_of(index, self.place_in(offsets, decoder, index, memory, scratch)?)
    }

    /// Reads the chunk at `place`.
    fn chunk_of(&self, index: u64, place: Place) -> Result<Chunk<'a>> {
        let chunk = match place {
            Place::Stored(at) => self.stored_chunk(index, at),
            Place::Special(content) => self.special_chunk(index, content),
        }?;
        self.check_values()?;
        self.check_fetched(chunk.content, chunk.at)?;
        Ok(chunk)
    }

    /// Returns the position of chunk `index` in the file. The offset in the table must be inside the region of the
    /// chunks.
    fn place_in(
        &self,
        offsets: &mut Offsets<'a>,
        decoder: &mut StreamDecoder<'_, 'a>,
        index: u64,
        memory: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<Place> {
        let Extent { offset: start, length } = self.region();
        match offsets.get(decoder, index, memory, scratch)? {
            Place::Stored(offset) if offset < length => Ok(Place::Stored(start.saturating_add(offset))),
            Place::Stored(_) => Err(fail(ErrorKind::OutOfPlace, Part::ChunkOffset, self.table_at())),
            special => Ok(special),
        }
    }

    /// Returns the decoded length of chunk `index`; `None` if chunks differ in length.
    fn expected_length(&self, index: u64) -> Option<u64> {
        let chunksize = self.chunksize();
        let before = index.saturating_mul(chunksize);
        (chunksize > 0).then(|| self.nbytes().saturating_sub(before).min(chunksize))
    }

    /// Reads the chunk that is stored at `at`.
    fn stored_chunk(&self, index: u64, at: u64) -> Result<Chunk<'a>> {
        let chunk = Chunk::read(self.setting(self.table_at()), index, at)?;
        let length = chunk.decoded_length();
        let is_fitting = self.expected_length(index).map_or(length <= self.nbytes(), |expected| length == expected);
        if is_fitting { Ok(chunk) } else { Err(chunk.error(ErrorKind::ChunkSize, Part::Chunk, 4)) }
    }

    /// Returns a chunk that only the table describes.
    fn special_chunk(&self, index: u64, content: Content) -> Result<Chunk<'a>> {
        let at = self.table_at();
        let length = self.expected_length(index).and_then(|length| u32::try_from(length).ok());
        let length = length.ok_or(fail(ErrorKind::SpecialChunk, Part::ChunkOffset, at))?;
        let chunk = Chunk::special(index, at, content, length, self.typesize);
        if content == Content::Nans {
            chunk.check_nans(at, Part::ChunkOffset)?;
        }
        Ok(chunk)
    }
}

/// Splits `scratch` into memory for a block of the table and scratch memory for decoding it. Both are empty if
/// `scratch` is too small.
fn table_memory<'s>(offsets: &Offsets<'_>, scratch: &'s mut [u8]) -> (&'s mut [u8], &'s mut [u8]) {
    let (memory, _) = offsets.memory();
    let memory = if offsets.memory_length() > to_u64(scratch.len()) { 0 } else { memory };
    let parts = to_usize(memory).and_then(|memory| scratch.split_at_mut_checked(memory));
    parts.unwrap_or_default()
}
