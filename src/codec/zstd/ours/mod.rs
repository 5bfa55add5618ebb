//! Zstandard (RFC 8878) without a heap. The destination is the window, and the tables are on the stack: 14 KiB.
//!
//! No crate does so: ruzstd and zstd-rs allocate the window, the literals and the tables, and have panic paths.
//!
//! ```text
//! frame    magic, header, blocks, checksum                          `frames`
//! block    literals: raw, one byte, or Huffman codes                 `huffman`
//!          sequences: three interleaved states that give lengths     `fse`, `sequences`
//!          and distances, read backwards                             `bits`
//! ```
//!
//! Every length is checked against the stream and the destination before it is used. Streams that the format forbids are
//! rejected, also where libzstd decodes them.
#![forbid(unsafe_code)]

mod bits;
mod frames;
mod fse;
mod huffman;
mod sequences;
#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::is_lenient;

use self::fse::Alphabet;
use crate::bytes::num::to_usize;
use crate::codec::decoder::DecodeError;

/// The largest size of a block, stored and decoded (section 3.1.1.2.4).
const MAX_BLOCK: usize = 1 << 17;

/// No memory is kept from stream to stream.
#[derive(Debug, Default)]
pub(crate) struct Memory;

#[allow(clippy::unused_self)] // libzstd uses it
impl Memory {
    pub(crate) fn decode(&mut self, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        frames::decode(&[], stored, dst)
    }

    pub(crate) fn decode_with_dictionary(
        &mut self,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, DecodeError> {
        frames::decode(dictionary, stored, dst)
    }
}

/// Everything that blocks take over from the block before.
struct Tables {
    literals: huffman::Table,
    literal_lengths: fse::Table<512>,
    offsets: fse::Table<256>,
    match_lengths: fse::Table<512>,
    /// The last distances, the most recent one first.
    recent: [u32; 3],
}

impl Tables {
    const fn new() -> Self {
        Self {
            literals: huffman::Table::new(),
            literal_lengths: fse::Table::new(),
            offsets: fse::Table::new(),
            match_lengths: fse::Table::new(),
            recent: [0; 3],
        }
    }

    /// Prepares for a frame without a dictionary.
    fn forget(&mut self) {
        self.literals.forget();
        self.literal_lengths.forget();
        self.offsets.forget();
        self.match_lengths.forget();
        self.recent = [1, 4, 8];
    }

    /// Reads the tables of a dictionary, which follow its number, and returns its content (section 5).
    fn read_dictionary<'d>(&mut self, dictionary: &'d [u8]) -> Option<&'d [u8]> {
        let rest = self.literals.read(dictionary)?;
        let rest = self.offsets.read(Alphabet::Offsets, rest)?;
        let rest = self.match_lengths.read(Alphabet::MatchLengths, rest)?;
        let mut content = self.literal_lengths.read(Alphabet::LiteralLengths, rest)?;
        for recent in &mut self.recent {
            let (distance, rest) = content.split_first_chunk()?;
            *recent = u32::from_le_bytes(*distance);
            content = rest;
        }
        let is_inside = |distance: &u32| to_usize(u64::from(*distance)).is_some_and(|d| d > 0 && d <= content.len());
        self.recent.iter().all(is_inside).then_some(content)
    }
}

/// The output to which matches may refer.
struct Window<'d> {
    /// The content of the dictionary, as if it preceded the output.
    dictionary: &'d [u8],
    /// The largest distance of a match.
    size: usize,
}

/// Returns true if a test asks to accept what libzstd accepts: literal streams with unused bits (section 4.2.2), blocks
/// that are larger than the window (3.1.1.2.4), matches from outside the window (3.1.1.1.2).
#[cfg(not(test))]
const fn is_lenient() -> bool {
    false
}

/// Returns the checksum of a frame's output: the lower half of XXH64 (section 3.1.1).
fn checksum(output: &[u8]) -> u64 {
    xxhash_rust::xxh64::xxh64(output, 0) & 0xffff_ffff
}
