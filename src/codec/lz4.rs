//! LZ4 blocks, by lz4_flex.
//!
//! Depends on `decode` for the names of errors. Of the two decoders of that crate the one over raw pointers is
//! built, since the other keeps panic paths. It compares every read with the end of the stream and every write
//! with the end of the room, and holds every distance to what has been written (and the dictionary), as the
//! other does; we give it nothing but slices, and take nothing from it but a length. It is fuzzed with
//! a sanitizer: `fuzz/fuzz_targets/chunk.rs`.
#![forbid(unsafe_code)]

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};

use crate::decode::DecodeError;

/// Decodes all of `stored` to the front of `room`; the number of bytes.
pub(crate) fn decode(stored: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
    decompress_into(stored, room).map_err(named)
}

/// The same where copies may reach back into `dictionary`, as if it stood before the room.
pub(crate) fn decode_with_dictionary(
    dictionary: &[u8],
    stored: &[u8],
    room: &mut [u8],
) -> Result<usize, DecodeError> {
    decompress_into_with_dict(stored, room, dictionary).map_err(named)
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
fn named(error: DecompressError) -> DecodeError {
    match error {
        DecompressError::OutputTooSmall { .. } => DecodeError::DoesNotFit,
        _ => DecodeError::Malformed,
    }
}
