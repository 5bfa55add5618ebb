//! zlib and raw deflate streams (RFC 1950, 1951), by miniz_oxide, which uses 11 KiB of stack for its tables.
//!
//! Depends on `decode` for the names of errors. It keeps panic paths, all of them in miniz_oxide itself, as
//! `.ci/no-panic-zlib` shows.
#![forbid(unsafe_code)]

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use crate::decode::DecodeError;

/// Decodes all of `stored` to the front of `dst`, and returns the number of bytes.
pub(crate) fn decode(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    inflate(stored, dst, inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_COMPUTE_ADLER32)
}

/// Like [`decode`], for a raw stream, which has neither header nor checksum.
pub(crate) fn decode_raw(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    inflate(stored, dst, 0)
}

#[inline(never)] // so that the code that panics has a symbol of its own
fn inflate(stored: &[u8], dst: &mut [u8], flags: u32) -> Result<usize, DecodeError> {
    let flags = flags | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut DecompressorOxide::new(), stored, dst, 0, flags);
    match status {
        TINFLStatus::Done if read == stored.len() => Ok(written),
        TINFLStatus::HasMoreOutput => Err(DecodeError::DoesNotFit),
        TINFLStatus::Adler32Mismatch => Err(DecodeError::Checksum),
        _ => Err(DecodeError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_takes_all_of_its_bytes() {
        // Of no bytes, and of one that is stored as it is.
        for (stream, length) in
            [(&b"\x78\x9c\x03\0\0\0\0\x01"[..], 0), (b"\x78\x01\x01\x01\0\xfe\xffx\0\x79\0\x79", 1)]
        {
            assert_eq!(decode(stream, &mut [0; 4]), Ok(length));
            assert_eq!(decode(&[stream, &[0]].concat(), &mut [0; 4]), Err(DecodeError::Malformed));
            let raw = &stream[2..stream.len() - 4];
            assert_eq!(decode_raw(raw, &mut [0; 4]), Ok(length));
            assert_eq!(decode_raw(&[raw, &[0]].concat(), &mut [0; 4]), Err(DecodeError::Malformed));
        }
    }
}
