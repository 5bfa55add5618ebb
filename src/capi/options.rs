//! How a call reads data: the caller's decoder and scratch memory, and how much memory a call needs. `decoder` reads the
//! structs.

use core::ffi::c_void;

use super::status::{ApiError, FfiResult, tenslice_status};
use crate::codec::options::{Purpose, Requirements};
use crate::error::ErrorKind;

/// A decoding function that the program supplies. It decodes the `stored_length` bytes at `stored`, encoded as
/// `encoding` (a TENSLICE_ENCODING_ code), to the front of the `capacity` bytes at `destination`, and sets `length` to
/// the number of decoded bytes. It must not trust a size that the stored bytes state. It returns TENSLICE_OK;
/// TENSLICE_TOO_SMALL if the decoded bytes do not fit into the destination; TENSLICE_UNSUPPORTED_ENCODING;
/// TENSLICE_CHECKSUM_MISMATCH; or any other status if the bytes cannot be decoded.
///
/// tenslice_tensor_describe and the calls that verify request only the first bytes of a stream: the destination is
/// smaller than the decoded stream, and the stored bytes may end before the stream does. A decoder that has filled the
/// destination with the first `capacity` bytes sets `length` to `capacity` and returns TENSLICE_TOO_SMALL. For a
/// decoder that does not, these calls report that the first bytes cannot be decoded.
pub type tenslice_decode = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        encoding: u32,
        stored: *const c_void,
        stored_length: usize,
        destination: *mut c_void,
        capacity: usize,
        length: *mut usize,
    ) -> tenslice_status,
>;

/// A decoding function as tenslice_decode, for a stream compressed with the dictionary of `dictionary_length` bytes at
/// `dictionary`; chunks of Blosc2 may have one. Within one call of the library, the same address and length mean the
/// same dictionary. Keep its parsed form: parsing a dictionary takes longer than decoding a short stream.
pub type tenslice_decode_with_dictionary = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        encoding: u32,
        dictionary: *const c_void,
        dictionary_length: usize,
        stored: *const c_void,
        stored_length: usize,
        destination: *mut c_void,
        capacity: usize,
        length: *mut usize,
    ) -> tenslice_status,
>;

/// A decoder that the program supplies, such as libzstd on a server or a hardware decompressor on a microcontroller. It
/// is called only during the call whose tenslice_read_options name it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_decoder {
    /// The decoding function; not NULL. Called with TENSLICE_ENCODING_ZSTD (one frame at a time if the component is
    /// TENSLICE_ENCODING_ZSTD_SEEKABLE), for chunks of Blosc2 also with TENSLICE_ENCODING_ZLIB, and for entries of NPZ
    /// archives with TENSLICE_ENCODING_DEFLATE.
    pub decode: tenslice_decode,
    /// Passed to both functions as `user`.
    pub user: *mut c_void,
    /// The function for streams with a dictionary; NULL if the decoder has none.
    pub decode_with_dictionary: tenslice_decode_with_dictionary,
}

/// How a call reads data. NULL selects the built-in decoder and no scratch memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_read_options {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The decoder; NULL selects the built-in decoder.
    pub decoder: *const tenslice_decoder,
    /// Working memory of any alignment; may be NULL if `scratch_length` is 0.
    pub scratch: *mut c_void,
    /// Length of the scratch memory in bytes.
    pub scratch_length: usize,
}

/// The memory that a call needs.
#[repr(C)]
pub struct tenslice_requirements {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Length of the output: a number of elements for TENSLICE_PURPOSE_READ_F32 and GET_F32, else a number of bytes; 0 if the call
    /// has no destination. UINT64_MAX if the file does not state the length, if the caller chooses it, or if the call
    /// will fail.
    pub output: u64,
    /// Length of the scratch memory in bytes. UINT64_MAX if the file does not state it, or if the call will fail.
    pub scratch: u64,
}

impl From<Requirements> for tenslice_requirements {
    fn from(requirements: Requirements) -> Self {
        Self {
            struct_size: 0,
            reserved: 0,
            output: requirements.output.unwrap_or(u64::MAX),
            scratch: requirements.scratch.unwrap_or(u64::MAX),
        }
    }
}

/// Returns the purpose with the code `purpose`.
pub(super) fn to_purpose(purpose: u32) -> FfiResult<Purpose> {
    let found = u8::try_from(purpose).ok().and_then(Purpose::from_code);
    found.ok_or(ApiError::new(ErrorKind::InvalidArgument))
}
