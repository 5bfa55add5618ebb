//! Zstandard by libzstd.
#![forbid(unsafe_code)]

use core::fmt;

use zstd_safe::DCtx;

use crate::codec::decoder::DecodeError;

/// Memory that is kept from stream to stream: libzstd's own memory, 160 KB. Allocating it takes longer than
/// decoding a short stream.
#[derive(Default)]
pub(crate) struct Memory(Option<DCtx<'static>>);

impl Memory {
    pub(crate) fn decode(&mut self, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        self.context()?.decompress(dst, stored).map_err(named)
    }

    pub(crate) fn decode_with_dictionary(
        &mut self,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, DecodeError> {
        self.context()?.decompress_using_dict(dst, stored, dictionary).map_err(named)
    }

    fn context(&mut self) -> Result<&mut DCtx<'static>, DecodeError> {
        match &mut self.0 {
            Some(context) => Ok(context),
            none => Ok(none.insert(DCtx::try_create().ok_or(DecodeError::Unsupported)?)),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// The safe interface returns an error's name, not its number.
fn named(code: zstd_safe::ErrorCode) -> DecodeError {
    match zstd_safe::get_error_name(code) {
        "Destination buffer is too small" => DecodeError::DoesNotFit,
        "Restored data doesn't match checksum" => DecodeError::Checksum,
        _ => DecodeError::Malformed,
    }
}
