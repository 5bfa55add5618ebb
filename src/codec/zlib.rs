//! zlib and raw deflate streams (RFC 1950, 1951), by miniz_oxide, which uses 11 KiB of stack for its tables.
//!
//! The only panic paths that remain are in miniz_oxide itself, as `.ci/no-panic-zlib` shows.
#![forbid(unsafe_code)]

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use crate::codec::decoder::DecodeError;

/// Decodes all of `stored` to the front of `dst`, and returns the number of decoded bytes.
pub(crate) fn decode(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    whole(stored, dst, inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_COMPUTE_ADLER32)
}

/// Decodes as [`decode`] does, for a raw stream, which has neither header nor checksum.
pub(crate) fn decode_raw(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    whole(stored, dst, 0)
}

/// Decodes the first bytes of a raw stream until `dst` is full; `stored` may be the first bytes of a longer stream.
pub(crate) fn start_raw(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    match inflate(stored, dst, 0) {
        (_, _, written) if written == dst.len() => Ok(written), // anything may follow
        (TINFLStatus::Done, _, written) => Ok(written),
        _ => Err(DecodeError::Malformed),
    }
}

fn whole(stored: &[u8], dst: &mut [u8], flags: u32) -> Result<usize, DecodeError> {
    match inflate(stored, dst, flags) {
        (TINFLStatus::Done, read, written) if read == stored.len() => Ok(written),
        (TINFLStatus::HasMoreOutput, ..) => Err(DecodeError::DoesNotFit),
        (TINFLStatus::Adler32Mismatch, ..) => Err(DecodeError::Checksum),
        _ => Err(DecodeError::Malformed),
    }
}

/// Decodes as much as `stored` has and `dst` holds; returns the number of bytes read and the number of bytes written.
#[inline(never)] // gives the code that panics a symbol of its own
fn inflate(stored: &[u8], dst: &mut [u8], flags: u32) -> (TINFLStatus, usize, usize) {
    let flags = flags | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    decompress(&mut DecompressorOxide::new(), stored, dst, 0, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_a_start() {
        // A block of four stored bytes; then another block begins.
        let stream = b"\x00\x04\0\xfb\xffabcd\x01\x01\0\xfe\xffe";
        let mut dst = [0; 8];
        for (stored, length, expected) in [
            (&stream[..], 0, Ok(0)),
            (stream, 3, Ok(3)),
            (stream, 4, Ok(4)),
            (stream, 8, Ok(5)),
            (&stream[..8], 3, Ok(3)),
            (&stream[..9], 4, Ok(4)),
            (&stream[..9], 5, Err(DecodeError::Malformed)),
            (&stream[..4], 1, Err(DecodeError::Malformed)),
            (b"\x07", 1, Err(DecodeError::Malformed)),
            (b"\x00\x04\0\xfb\xffabcd\x07", 4, Ok(4)), // an invalid block follows
        ] {
            assert_eq!(start_raw(stored, &mut dst[..length]), expected, "{stored:?} {length}");
        }
        assert_eq!(&dst[..4], b"abcd");
    }

    #[test]
    fn a_stream_takes_all_of_its_bytes() {
        // A stream of no bytes, and a stream with one stored byte.
        for (stream, length) in
            [(&b"\x78\x9c\x03\0\0\0\0\x01"[..], 0), (b"\x78\x01\x01\x01\0\xfe\xffx\0\x79\0\x79", 1)]
        {
            assert_eq!(decode(stream, &mut [0; 4]), Ok(length));
            assert_eq!(decode(&[stream, &[0]].concat(), &mut [0; 4]), Err(DecodeError::Malformed));
            let raw = &stream[2..stream.len() - 4];
            assert_eq!(start_raw(raw, &mut [0; 4]), Ok(length));
            assert_eq!(start_raw(&raw[..raw.len() - 1], &mut [0; 4]), Err(DecodeError::Malformed));
            assert_eq!(decode_raw(raw, &mut [0; 4]), Ok(length));
            assert_eq!(decode_raw(&[raw, &[0]].concat(), &mut [0; 4]), Err(DecodeError::Malformed));
        }
    }
}
