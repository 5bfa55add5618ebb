//! Codecs: encodings of numbers, strings and nested values, and compression of bytes.
//!
//! A codec does not depend on the formats that use it.
#![deny(unsafe_code)] // `cpu`, `crc` and `f16` need it; every other file forbids it

#[cfg(feature = "b2nd")]
pub(crate) mod blosclz;
#[cfg(any(feature = "b2nd", feature = "zstd"))]
mod copies;
#[cfg(feature = "gguf")]
pub mod blocks;
#[cfg(any(feature = "ztensor", feature = "ztensor2"))]
pub(crate) mod cbor;
#[cfg(all(
    any(all(target_arch = "x86_64", target_feature = "sse2"), all(target_arch = "aarch64", target_feature = "neon")),
    not(miri)
))]
#[allow(unsafe_code)]
mod cpu;
#[cfg(any(feature = "crc32", feature = "crc32c"))]
#[allow(unsafe_code)]
pub(crate) mod crc;
pub(crate) mod decoder;
pub(crate) mod digest;
#[cfg(all(feature = "dequantize", not(small)))]
#[allow(unsafe_code)]
pub(crate) mod f16;
#[cfg(any(feature = "ptd", feature = "tflite"))]
pub(crate) mod flatbuffers;
#[cfg(feature = "gguf")]
pub(crate) mod gguf;
#[cfg(feature = "safetensors")]
pub(crate) mod json;
#[cfg(feature = "b2nd")]
pub(crate) mod lz4;
#[cfg(feature = "npy")]
pub(crate) mod npy;
pub(crate) mod options;
#[cfg(feature = "onnx")]
pub(crate) mod protobuf;
#[cfg(feature = "ztensor2")]
pub(crate) mod seekable;
#[cfg(feature = "b2nd")]
pub(crate) mod shuffle;
pub mod sparse;
#[cfg(any(feature = "pytorch", feature = "ptd"))]
pub(crate) mod strided;
#[cfg(feature = "tflite")]
pub(crate) mod tflite;
#[cfg(feature = "ztensor2")]
pub(crate) mod xxh3;
#[cfg(any(feature = "npz", feature = "pytorch"))]
pub(crate) mod zip;
#[cfg(feature = "zlib")]
pub(crate) mod zlib;
#[cfg(feature = "zstd")]
pub(crate) mod zstd;

use crate::codec::decoder::{DecodeError, Decoder};
use crate::types::Encoding;

/// The built-in decoders: Zstandard with the feature `zstd`, zlib and deflate with the feature `zlib`, otherwise none.
/// LZ4 and BloscLZ in chunks of Blosc need no decoder. Zstandard needs 17 KB of stack. With `zstd-c`, `BuiltIn` keeps
/// libzstd's memory from stream to stream; otherwise it is empty.
#[derive(Debug, Default)]
pub struct BuiltIn {
    #[cfg(feature = "zstd")]
    zstd: zstd::Memory,
}

impl BuiltIn {
    /// True if a decoder for streams of `encoding` is built in.
    pub(crate) const fn decodes(encoding: Encoding) -> bool {
        let has_zstd = cfg!(feature = "zstd");
        let has_zlib = cfg!(feature = "zlib");
        matches!(encoding, Encoding::Zstd if has_zstd)
            || matches!(encoding, Encoding::Zlib | Encoding::Deflate if has_zlib)
    }
}

impl Decoder for BuiltIn {
    fn decode(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        let _ = (stored, &dst); // unused if nothing is built in
        match encoding {
            #[cfg(feature = "zstd")]
            Encoding::Zstd => self.zstd.decode(stored, dst),
            #[cfg(feature = "zlib")]
            Encoding::Zlib => zlib::decode(stored, dst),
            #[cfg(feature = "zlib")]
            Encoding::Deflate => zlib::decode_raw(stored, dst),
            _ => Err(DecodeError::Unsupported),
        }
    }

    /// Supports deflate only, the encoding of NPZ entries.
    fn decode_start(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        let _ = (stored, &dst); // unused if nothing is built in
        match encoding {
            #[cfg(all(feature = "zlib", feature = "npz"))]
            Encoding::Deflate => zlib::start_raw(stored, dst),
            _ => Err(DecodeError::Unsupported),
        }
    }

    fn decode_with_dictionary(
        &mut self,
        encoding: Encoding,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, DecodeError> {
        let _ = (dictionary, stored, &dst); // unused if nothing is built in
        match encoding {
            #[cfg(feature = "zstd")]
            Encoding::Zstd => self.zstd.decode_with_dictionary(dictionary, stored, dst),
            _ => Err(DecodeError::Unsupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BuiltIn, DecodeError, Decoder, Encoding};

    #[test]
    fn what_is_said_to_be_decoded_is_decoded() {
        for &encoding in Encoding::ALL {
            let is_refused = BuiltIn::default().decode(encoding, &[], &mut []) == Err(DecodeError::Unsupported);
            assert_eq!(BuiltIn::decodes(encoding), !is_refused, "{encoding}");
        }
    }
}
