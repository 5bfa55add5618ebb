//! A chunk: its header, its kind, and the positions of its blocks. All integers in a chunk are little-endian.
//!
//! ```text
//! 0     version, codec version, flags, typesize, i32 nbytes, i32 blocksize, i32 cbytes
//! 16    if flags 0 and 2 are set: 6 filters, user codec, its meta, 6 filters' metas, flags2, flags1
//!       then, in a chunk that is neither copied nor special: i32 offsets of blocks; with a dictionary
//!       i32 length, dictionary; streams                                                           (block.rs)
//! ```
#![forbid(unsafe_code)]

use zerocopy::little_endian::I32;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::block::StreamDecoder;
use super::fail;
use crate::bytes::extent::Extent;
use crate::bytes::num::{remainder, short_count_of, to_u64, to_usize};
use crate::bytes::source::Input;
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::codec::shuffle::copy;
use crate::error::abi_enum::abi_enum;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Short {
    version: u8,
    codec_version: u8,
    flags: u8,
    typesize: u8,
    nbytes: I32,
    blocksize: I32,
    cbytes: I32,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Long {
    filters: [u8; FILTERS],
    user_codec: u8,
    codec_meta: u8,
    filters_meta: [u8; FILTERS],
    flags2: u8,
    flags1: u8,
}

/// The number of filter slots of a chunk.
pub(super) const FILTERS: usize = 6;

/// The sizes of the short and the long header in bytes.
const SHORT: u64 = 1 << LOG2_SHORT;
pub(super) const LOG2_SHORT: u32 = 4;
pub(super) const LONG: u64 = 32;
/// The offsets of chunk header fields that an error may refer to.
const FLAGS_AT: u64 = 2;
const TYPESIZE_AT: u64 = 3;
const NBYTES_AT: u64 = 4;
const BLOCKSIZE_AT: u64 = 8;
const CBYTES_AT: u64 = 12;
const FLAGS2_AT: u64 = 30;
const FLAGS1_AT: u64 = 31;
/// The largest block size that writers use.
pub(super) const MAX_BLOCKSIZE: i32 = 536_866_816;
/// The size of the largest dictionary in bytes.
pub(super) const MAX_DICTIONARY: u64 = 32_768;

/// Flags of the short header.
const SHUFFLED: u8 = 1;
const COPIED: u8 = 2;
const BITSHUFFLED: u8 = 4;
const DELTA: u8 = 8;
const NOT_SPLIT: u8 = 0x10;
/// Both shuffles at once: the header is a long one, which lists the filters.
const EXTENDED: u8 = SHUFFLED | BITSHUFFLED;
/// `flags1` of the long header.
const HAS_DICTIONARY: u8 = 1;
const LAZY: u8 = 8;
const INSTRUMENTED: u8 = 0x80;
/// `flags2`: the blocks differ in length.
const VARIABLE: u8 = 1;

/// The filters; see [`filter_name`] for their names.
pub(super) const SHUFFLE: u8 = 1;
pub(super) const BITSHUFFLE: u8 = 2;
pub(super) const DELTA_FILTER: u8 = 3;
pub(super) const TRUNCATE: u8 = 4;
pub(super) const OLD_BYTEDELTA: u8 = 34;
pub(super) const BYTEDELTA: u8 = 35;
pub(super) const TRUNCATE_INTEGERS: u8 = 36;

/// The codecs, as numbered in chunks.
pub(super) const BLOSCLZ: u8 = 0;
pub(super) const LZ4: u8 = 1;
pub(super) const ZLIB: u8 = 3;
pub(super) const ZSTD: u8 = 4;
const USER: u8 = 6;

/// Returns the usual name of a filter by its number; `None` for an unknown one.
#[must_use]
pub const fn filter_name(id: u8) -> Option<&'static str> {
    Some(match id {
        0 => "none",
        SHUFFLE => "shuffle",
        BITSHUFFLE => "bitshuffle",
        DELTA_FILTER => "delta",
        TRUNCATE => "trunc_prec",
        32 => "ndcell",
        33 => "ndmean",
        OLD_BYTEDELTA => "bytedelta (before 2.8)",
        BYTEDELTA => "bytedelta",
        TRUNCATE_INTEGERS => "int_trunc",
        _ => return None,
    })
}

/// Returns the usual name of a codec by its number in the header of a frame; `None` for an unknown one.
#[must_use]
pub const fn codec_name(id: u8) -> Option<&'static str> {
    Some(match id {
        0 => "blosclz",
        1 => "lz4",
        2 => "lz4hc",
        4 => "zlib",
        5 => "zstd",
        32 => "ndlz",
        33 => "zfp_acc",
        34 => "zfp_prec",
        35 => "zfp_rate",
        36 => "openhtj2k",
        37 => "grok",
        38 => "openzl",
        _ => return None,
    })
}

abi_enum! {
    /// The kind of a chunk: how its bytes are stored or defined.
    Content: u8 {
        Compressed = 0, "compressed";
        /// Stored as is, without filters.
        Copied = 1, "copied";
        Zeros = 2, "zeros";
        /// NaN of 32 or 64 bits.
        Nans = 3, "NaN";
        Value = 4, "one value";
        /// Never written; reads as zeros.
        Uninitialised = 5, "uninitialised";
        VariableBlocks = 6, "blocks of different lengths";
    }
}

/// A chunk of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    pub(super) index: u64,
    /// The position of the chunk in the file. If nothing is stored for the chunk, the position of what describes it.
    pub(super) at: u64,
    /// The stored bytes of the chunk.
    pub(super) bytes: &'a [u8],
    pub(super) content: Content,
    pub(super) version: u8,
    flags: u8,
    pub(super) typesize: u8,
    /// The codec, as numbered in chunks, not in frames.
    pub(super) codec: u8,
    pub(super) user_codec: u8,
    pub(super) filters: [u8; FILTERS],
    pub(super) filters_meta: [u8; FILTERS],
    /// The size of an element in bytes, from the frame. If it exceeds 255, chunks state 1.
    pub(super) frame_typesize: u32,
    has_dictionary: bool,
    header: u8,
    /// The decoded sizes of the chunk and of a block in bytes. If blocks differ in length, `block_size` is their
    /// number.
    length: u32,
    block_size: u32,
}

/// The context in which a chunk is read.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) input: Input<'a>,
    /// The typesize of the frame.
    pub(super) typesize: u32,
    /// The end of the region that must contain the chunk.
    pub(super) end: u64,
}

impl<'a> Chunk<'a> {
    /// Reads the chunk at `at`.
    pub(super) fn read(setting: Setting<'a>, index: u64, at: u64) -> Result<Self> {
        let (mut chunk, length) = Self::head(setting, index, at)?;
        let bytes = setting.input.get(Extent::new(at, length));
        chunk.bytes = bytes.ok_or_else(|| chunk.error(ErrorKind::NotInMemory, Part::Chunk, 0))?;
        chunk.check()?;
        Ok(chunk)
    }

    /// Reads the header of the chunk; also returns the number of stored bytes.
    pub(super) fn head(setting: Setting<'a>, index: u64, at: u64) -> Result<(Self, u64)> {
        let error = |kind, item, field: u64| fail(kind, item, at.saturating_add(field));
        let head = setting.head(at, SHORT)?;
        let Ok(short) = Short::ref_from_bytes(head) else { return Err(error(ErrorKind::Truncated, Part::Chunk, 0)) };
        let is_long = short.flags & EXTENDED == EXTENDED;
        let header = if is_long { LONG } else { SHORT };
        let long = match is_long {
            true => setting.head(at, LONG)?.get(16..).and_then(|long| Long::ref_from_bytes(long).ok()),
            false => None,
        };
        let dst = setting.end.saturating_sub(at);
        let size = |number: I32, field| {
            u32::try_from(number.get()).map_err(|_| error(ErrorKind::NegativeLength, Part::Chunk, field))
        };
        let cbytes = u64::from(size(short.cbytes, CBYTES_AT)?);
        if cbytes < header {
            return Err(error(ErrorKind::ChunkSize, Part::Chunk, CBYTES_AT));
        }
        if cbytes > dst {
            return Err(error(ErrorKind::OutOfPlace, Part::Chunk, CBYTES_AT));
        }
        let length = size(short.nbytes, NBYTES_AT)?;
        let block_size = size(short.blocksize, BLOCKSIZE_AT)?;
        if block_size == 0 || short.blocksize.get() > MAX_BLOCKSIZE {
            return Err(error(ErrorKind::ChunkSize, Part::Block, BLOCKSIZE_AT));
        }
        if short.typesize == 0 {
            return Err(error(ErrorKind::ZeroLength, Part::Chunk, TYPESIZE_AT));
        }
        let mut chunk = Self {
            index,
            at,
            bytes: &[],
            content: Content::Compressed,
            version: short.version,
            flags: short.flags,
            typesize: short.typesize,
            codec: short.flags >> 5,
            user_codec: 0,
            filters: short_filters(short),
            filters_meta: [0; FILTERS],
            frame_typesize: setting.typesize,
            has_dictionary: false,
            header: if is_long { 32 } else { 16 },
            length,
            block_size,
        };
        if let Some(long) = long {
            chunk.extend(long)?;
        } else if short.flags & COPIED != 0 {
            chunk.content = Content::Copied;
        }
        Ok((chunk, cbytes))
    }

    /// Returns a chunk without stored bytes, as stated at `at`.
    pub(super) fn special(index: u64, at: u64, content: Content, length: u32, typesize: u32) -> Self {
        Self {
            index,
            at,
            bytes: &[],
            content,
            version: 5,
            flags: 0,
            typesize: u8::try_from(typesize).unwrap_or(1), // as a chunk would state it
            codec: BLOSCLZ,
            user_codec: 0,
            filters: [0; FILTERS],
            filters_meta: [0; FILTERS],
            frame_typesize: typesize,
            has_dictionary: false,
            header: 0,
            length,
            block_size: length,
        }
    }

    /// Copies the fields of the long header.
    fn extend(&mut self, long: &Long) -> Result<()> {
        self.filters = long.filters;
        self.filters_meta = long.filters_meta;
        self.user_codec = long.user_codec;
        self.has_dictionary = long.flags1 & HAS_DICTIONARY != 0;
        if let (3, Some(last)) = (self.version, self.filters.last_mut()) {
            *last = 0; // chunks of version 3 have something else there
        }
        if long.flags2 & !VARIABLE != 0 {
            return Err(self.error(ErrorKind::UnsupportedChunk, Part::Flags, FLAGS2_AT));
        }
        if long.flags1 & (LAZY | INSTRUMENTED) != 0 {
            return Err(self.error(ErrorKind::UnsupportedChunk, Part::Flags, FLAGS1_AT));
        }
        let is_copied = self.flags & COPIED != 0;
        self.content = match (long.flags2 & VARIABLE != 0, long.flags1 >> 4 & 7) {
            (false, 0) if is_copied => Content::Copied,
            (false, 0) => Content::Compressed,
            (false, 1) => Content::Zeros,
            (false, 2) => Content::Nans,
            (false, 3) => Content::Value,
            (false, 4) => Content::Uninitialised,
            (true, 0) if !is_copied => Content::VariableBlocks,
            (true, _) => return Err(self.error(ErrorKind::UnsupportedChunk, Part::Flags, FLAGS2_AT)),
            _ => return Err(self.error(ErrorKind::SpecialChunk, Part::Chunk, FLAGS1_AT)),
        };
        Ok(())
    }

    /// Checks the stored bytes of the chunk against its header.
    fn check(&mut self) -> Result<()> {
        let stored = to_u64(self.bytes.len()).saturating_sub(u64::from(self.header));
        let length = u64::from(self.length);
        match self.content {
            Content::Copied if stored != length => {
                return Err(self.error(ErrorKind::ChunkSize, Part::Chunk, CBYTES_AT));
            }
            Content::Value if stored == 0 || remainder(length, stored) != 0 => {
                return Err(self.error(ErrorKind::SpecialChunk, Part::Chunk, CBYTES_AT));
            }
            Content::Nans => self.check_nans(self.at.saturating_add(TYPESIZE_AT), Part::Chunk)?,
            Content::Compressed => {
                // Limited to the chunk, as c-blosc2 does.
                self.block_size = self.block_size.min(self.length.max(1));
                self.check_places()?;
                self.dictionary()?;
            }
            Content::VariableBlocks => {
                self.check_places()?;
                // Some blocks may be empty, but more blocks than bytes are rejected, because visiting them would take
                // long. Block lengths are checked when the blocks are read: the time of a lookup must not depend on the
                // number of blocks.
                if u64::from(self.block_count()) > length.max(1) {
                    return Err(self.error(ErrorKind::CountTooLarge, Part::Block, BLOCKSIZE_AT));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the NaN values have 32 or 64 bits and fill the chunk. An error points to `at`.
    pub(super) fn check_nans(&self, at: u64, item: Part) -> Result<()> {
        let is_whole = self.length & u32::from(self.typesize).wrapping_sub(1) == 0;
        let is_known = matches!(self.typesize, 4 | 8) && is_whole;
        if is_known { Ok(()) } else { Err(fail(ErrorKind::SpecialChunk, item, at)) }
    }

    /// Checks that the offsets of the blocks fit into the chunk, and that the codec exists.
    fn check_places(&self) -> Result<()> {
        let stored = to_u64(self.bytes.len()).saturating_sub(u64::from(self.header));
        if u64::from(self.block_count()).saturating_mul(4) > stored {
            return Err(self.error(ErrorKind::CountTooLarge, Part::Block, BLOCKSIZE_AT));
        }
        match self.codec {
            BLOSCLZ | LZ4 | ZLIB | ZSTD | USER => Ok(()),
            _ => Err(self.error(ErrorKind::UnsupportedCodec, Part::Codec, FLAGS_AT)),
        }
    }

    /// Returns the index of the chunk in the frame, from 0.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Returns the extent of the chunk in the file; `None` if nothing is stored for the chunk.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        (!self.bytes.is_empty()).then(|| Extent::new(self.at, to_u64(self.bytes.len())))
    }

    /// Returns how the bytes of the chunk are stored or defined.
    #[must_use]
    pub const fn content(&self) -> Content {
        self.content
    }

    /// Returns the decoded length of the chunk in bytes.
    #[must_use]
    pub fn decoded_length(&self) -> u64 {
        u64::from(self.length)
    }

    /// Returns the decoded length of a block in bytes; the last block may be shorter. `None` if blocks differ in
    /// length.
    #[must_use]
    pub fn block_size(&self) -> Option<u64> {
        (self.content != Content::VariableBlocks).then(|| u64::from(self.block_size))
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        if self.content == Content::VariableBlocks {
            return self.block_size;
        }
        short_count_of(self.length, self.block_size)
    }

    /// Returns the decoded length of block `index` in bytes.
    ///
    /// # Errors
    /// `NotFound` if `index` is past the last block; `OutOfPlace` if the bytes have changed since the chunk was looked
    /// up.
    pub fn block_length(&self, index: u32) -> Result<u64> {
        if index >= self.block_count() {
            return Err(self.error(ErrorKind::NotFound, Part::Block, 0));
        }
        if self.content == Content::VariableBlocks {
            return self.variable_block(index).map(|block| u64::from(block.length));
        }
        let before = u64::from(index).saturating_mul(u64::from(self.block_size));
        Ok(u64::from(self.length).saturating_sub(before).min(u64::from(self.block_size)))
    }

    /// Returns the numbers of the chunk's filters in the order in which they were applied; 0 for none. See
    /// [`filter_name`].
    #[must_use]
    pub const fn filters(&self) -> [u8; FILTERS] {
        self.filters
    }

    /// Returns the codec of the chunk, as numbered in frames; see [`codec_name`].
    #[must_use]
    pub const fn codec(&self) -> u8 {
        match self.codec {
            BLOSCLZ | LZ4 => self.codec,
            USER => self.user_codec,
            other => other.saturating_add(1),
        }
    }

    /// Returns the scratch memory that [`read_into`](Self::read_into) needs, in bytes.
    #[must_use]
    pub fn scratch_length(&self) -> u64 {
        let largest = match self.content {
            Content::Compressed => u64::from(self.block_size),
            Content::VariableBlocks => self.largest_variable_block(&mut { u32::MAX }).unwrap_or(0), // see `read_into`
            _ => 0,
        };
        if self.has_shuffles() { largest } else { 0 }
    }

    /// Decodes the chunk to the front of `dst` and returns the part written. The scratch memory must have
    /// [`scratch_length`](Self::scratch_length) bytes. The decoder is called for Zstandard and zlib.
    ///
    /// # Errors
    /// `TooSmall`, `OutOfScratch`; `UnsupportedCodec`, `UnsupportedFilter`; the errors of an invalid chunk. After an
    /// error, the contents of `dst` are unspecified.
    #[inline]
    pub fn read_into<'r>(&self, dst: &'r mut [u8], options: ReadOptions<'_>) -> Result<&'r mut [u8]> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.read_into_using(decoder, dst, scratch)
    }

    pub(crate) fn read_into_using<'r>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'r mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'r mut [u8]> {
        let too_small = || self.error(ErrorKind::TooSmall, Part::Chunk, NBYTES_AT);
        let dst = to_usize(self.decoded_length()).and_then(|length| dst.get_mut(..length)).ok_or_else(too_small)?;
        match self.content {
            Content::Copied => copy(dst, self.payload()),
            Content::Compressed | Content::VariableBlocks => {
                self.decode_blocks(&mut StreamDecoder::new(decoder), dst, scratch)?;
            }
            _ => repeat(self.value(), 0, dst),
        }
        Ok(dst)
    }

    /// Returns the bytes after the header.
    pub(super) fn payload(&self) -> &'a [u8] {
        self.bytes.get(usize::from(self.header)..).unwrap_or_default()
    }

    /// Returns the value that a special chunk repeats from its start.
    pub(super) fn value(&self) -> &'a [u8] {
        match (self.content, self.typesize) {
            (Content::Value, _) => self.payload(),
            (Content::Nans, 4) => &[0, 0, 0xc0, 0x7f],
            (Content::Nans, _) => &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
            _ => &[0],
        }
    }

    /// Returns whether full-size blocks are split into one stream for each byte of an element.
    pub(super) const fn is_split(&self) -> bool {
        self.flags & NOT_SPLIT == 0
    }

    /// Returns the dictionary of the chunk's streams, which follows the block offsets.
    pub(super) fn dictionary(&self) -> Result<Option<&'a [u8]>> {
        if !self.has_dictionary || !matches!(self.codec, LZ4 | ZSTD) {
            return Ok(None);
        }
        let at = u64::from(self.header).saturating_add(u64::from(self.block_count()).saturating_mul(4));
        let error = || self.error(ErrorKind::OutOfPlace, Part::Dictionary, at);
        let length = u64::try_from(self.number(at).ok_or_else(error)?).unwrap_or(0);
        // Writers build a dictionary from the chunk, with at most a twentieth of the chunk's length. The limit bounds
        // the time to read short chunks: each may have its own dictionary to parse.
        if length == 0 || length > MAX_DICTIONARY || length > self.decoded_length() {
            return Err(error());
        }
        let dictionary = Extent::new(at.saturating_add(4), length).of(self.bytes, 0);
        dictionary.map(Some).ok_or_else(error)
    }

    /// Returns the offset of block `index` in the chunk; it must be past the block offsets and the dictionary.
    pub(super) fn place(&self, index: u32) -> Result<u64> {
        let head = u64::from(self.header);
        let at = head.saturating_add(u64::from(index).saturating_mul(4));
        let error = || self.error(ErrorKind::OutOfPlace, Part::Block, at);
        let place = u64::try_from(self.number(at).ok_or_else(error)?).map_err(|_| error())?;
        let places = u64::from(self.block_count()).saturating_mul(4);
        let dictionary = self.dictionary()?.map_or(0, |dictionary| to_u64(dictionary.len()).saturating_add(4));
        let first = head.saturating_add(places).saturating_add(dictionary);
        if place < first || place >= to_u64(self.bytes.len()) { Err(error()) } else { Ok(place) }
    }

    /// Returns the number at `at` in the chunk.
    pub(super) fn number(&self, at: u64) -> Option<i32> {
        let bytes = Extent::new(at, 4).of(self.bytes, 0)?;
        bytes.first_chunk::<4>().map(|bytes| i32::from_le_bytes(*bytes))
    }

    /// Returns an error at `field` of the chunk.
    pub(super) fn error(&self, kind: ErrorKind, item: Part, field: u64) -> crate::error::Error {
        fail(kind, item, self.at.saturating_add(field))
    }
}

impl<'a> Setting<'a> {
    /// Returns the first `length` bytes of the chunk at `at`.
    fn head(&self, at: u64, length: u64) -> Result<&'a [u8]> {
        let extent = Extent::new(at, length);
        if !extent.is_within(self.end) {
            return Err(fail(ErrorKind::OutOfPlace, Part::Chunk, at));
        }
        self.input.get(extent).ok_or(fail(ErrorKind::NotInMemory, Part::Chunk, at))
    }
}

/// Returns the filters of a Blosc 1 chunk, which are flags.
fn short_filters(short: &Short) -> [u8; FILTERS] {
    let delta = if short.flags & DELTA != 0 { DELTA_FILTER } else { 0 };
    let shuffle = match short.flags & EXTENDED {
        SHUFFLED if short.typesize > 1 => SHUFFLE,
        BITSHUFFLED => BITSHUFFLE,
        _ => 0,
    };
    [0, 0, 0, 0, delta, shuffle]
}

/// Fills `dst` with repetitions of `value`, starting `from` bytes into the repeated sequence.
pub(super) fn repeat(value: &[u8], from: u64, dst: &mut [u8]) {
    if let [byte] = value {
        return dst.fill(*byte);
    }
    let skip = to_usize(remainder(from, to_u64(value.len()))).unwrap_or(0);
    let (after, before) = value.split_at_checked(skip).map_or((value, value), |(before, after)| (after, before));
    // Copies the value once, then doubles what has been written.
    let length = dst.len();
    copy(dst, after);
    copy(dst.get_mut(after.len()..).unwrap_or_default(), before);
    let mut done = value.len().max(1);
    while done < length {
        let Some((from, to)) = dst.split_at_mut_checked(done) else { return };
        copy(to, from);
        done = done.saturating_add(done);
    }
}
