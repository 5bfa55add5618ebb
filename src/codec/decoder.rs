//! The contract between the library and a decoder, built in or provided by the caller.
#![forbid(unsafe_code)]

use core::fmt;

use crate::types::Encoding;

/// The reason why decoding failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// The stored bytes are not a stream of this encoding, or are damaged.
    Malformed,
    /// The decoded bytes do not fit into the destination.
    DoesNotFit,
    /// The decoded bytes do not match the checksum in the stream.
    Checksum,
    /// This decoder does not support the encoding.
    Unsupported,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the bytes are not a stream of this encoding",
            Self::DoesNotFit => "the stream decodes to more bytes than the destination has",
            Self::Checksum => "the stream decodes to other bytes than its checksum was made of",
            Self::Unsupported => "the encoding is not known",
        })
    }
}

impl core::error::Error for DecodeError {}

/// A decoder of components, called by the library: for a server that uses libzstd, or a chip with a hardware
/// decompressor.
pub trait Decoder {
    /// Decodes all of `stored` to the front of `dst`, and returns the number of decoded bytes.
    ///
    /// If the size of the output is known, `dst` has that size. Never trust a size that `stored` states. The bytes of
    /// `dst` after the decoded bytes are unspecified, and after an error all of them are: a decoder may use `dst` as
    /// scratch memory.
    ///
    /// # Errors
    /// See [`DecodeError`].
    fn decode(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError>;

    /// Decodes the first bytes of a stream until `dst` is full, and returns the number of decoded bytes. The number is
    /// less than the length of `dst` only if the stream ends early. `stored` may be the first bytes of a longer stream.
    /// [`Tensor::describe`](crate::Tensor::describe) needs this method.
    ///
    /// # Errors
    /// See [`DecodeError`]; `Unsupported` if this method is not implemented.
    fn decode_start(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        let _ = (encoding, stored, dst);
        Err(DecodeError::Unsupported)
    }

    /// Decodes as [`decode`](Self::decode) does, for a stream that was compressed with `dictionary`. Few streams have a
    /// dictionary; chunks of Blosc2 may.
    ///
    /// # Errors
    /// See [`DecodeError`]; `Unsupported` if this method is not implemented.
    fn decode_with_dictionary(
        &mut self,
        encoding: Encoding,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, DecodeError> {
        let _ = (encoding, dictionary, stored, dst);
        Err(DecodeError::Unsupported)
    }
}
