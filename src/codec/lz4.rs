//! LZ4 blocks, decoded by lz4_flex.
//!
//! Depends on `decode` for the names of errors. Of that crate's two decoders the one with raw pointers is built,
//! since the other keeps panic paths. Near the end of the stream or of the destination it compares every read and
//! write with those ends; before, it keeps a distance from both that the longest step does not cross; and it checks
//! every match distance against the bytes written and the dictionary. We pass it nothing but slices, and take nothing
//! from it but a length. It is fuzzed with a sanitizer: `fuzz/fuzz_targets/chunk.rs`.
//!
//! One thing it does not check: it sums lengths, 255 for each byte, in a `usize`, which 16 MiB of a stream can
//! overflow if it has 32 bits. On such machines streams of that length are not passed to it.
#![forbid(unsafe_code)]

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};

use crate::decode::DecodeError;

/// Decodes all of `stored` to the front of `dst`, and returns the number of bytes.
pub(crate) fn decode(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    check_length(stored)?;
    decompress_into(stored, dst).map_err(named)
}

/// Ensures that no sum of lengths in the stream exceeds a `usize`: see above.
fn check_length(stored: &[u8]) -> Result<(), DecodeError> {
    if stored.len() > usize::MAX >> 8 { Err(DecodeError::Unsupported) } else { Ok(()) }
}

/// Like [`decode`], where matches may reach back into `dictionary`, as if it preceded `dst`.
pub(crate) fn decode_with_dictionary(dictionary: &[u8], stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    check_length(stored)?;
    decompress_into_with_dict(stored, dst, dictionary).map_err(named)
}

#[allow(clippy::needless_pass_by_value)] // the signature that `map_err` needs
fn named(error: DecompressError) -> DecodeError {
    match error {
        DecompressError::OutputTooSmall { .. } => DecodeError::DoesNotFit,
        _ => DecodeError::Malformed,
    }
}
