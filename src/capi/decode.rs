//! Decoding, verifying, materializing.

use core::ffi::c_void;

use super::component::tenslice_component;
use super::file::tenslice_file;
use super::pointer::{
    Buffer, CallersDecoder, Capacity, Handle, InfoOut, OptionalIn, OptionalOut, Out, Scratch, ScratchLength, buffers,
};
use super::status::{ApiError, Details, FfiResult, OK, answer, plain, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, to_code};
use crate::bytes::num::to_u64;
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;
use crate::{BuiltIn, Component, DecodeError, Decoder, Verification, Verified};

/// Decodes all of the `stored_length` bytes at `stored`, which are of `encoding` (a TENSLICE_ENCODING_ code), to the
/// front of the `capacity` bytes at `destination`, and sets `length` to the number of decoded bytes. Must not trust a
/// size that the stored bytes state. Returns TENSLICE_OK; TENSLICE_TOO_SMALL where the decoded bytes do not fit into
/// the destination; TENSLICE_UNSUPPORTED_ENCODING; TENSLICE_CHECKSUM_MISMATCH; any other status where the bytes
/// cannot be decoded.
///
/// tenslice_tensor_describe and the calls that verify ask for the first bytes of a stream: the destination is smaller
/// than the output, and the stored bytes may end before the stream does. A decoder that has filled the destination with
/// the first `capacity` bytes sets `length` to `capacity` with TENSLICE_TOO_SMALL. If it does not, these calls report
/// that it cannot do that.
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

/// Like tenslice_decode, for a stream that was compressed with the dictionary of `dictionary_length` bytes at
/// `dictionary`, as chunks of Blosc2 may be. Within one call of this library, the same address and length mean the
/// same dictionary: parsing one takes longer than decoding a short stream, so keep the parsed form.
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

/// A caller-supplied decoder: libzstd on a server, a hardware decompressor on a microcontroller. It is called only
/// during the call that it was passed to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_decoder {
    /// The function; not NULL. Asked for TENSLICE_ENCODING_ZSTD (a frame at a time, where the component is
    /// TENSLICE_ENCODING_ZSTD_SEEKABLE), for chunks of Blosc2 also for TENSLICE_ENCODING_ZLIB, and for entries of NPZ
    /// archives for TENSLICE_ENCODING_DEFLATE.
    pub decode: tenslice_decode,
    /// Passed to the functions.
    pub user: *mut c_void,
    /// The function for streams with a dictionary; NULL if unsupported.
    pub decode_with_dictionary: tenslice_decode_with_dictionary,
}

/// The caller's decoder, or the built-in one if there is none.
pub(super) enum Chosen {
    Callers(CallersDecoder),
    BuiltIn(BuiltIn),
}

pub(super) fn chosen(decoder: &OptionalIn<'_, tenslice_decoder>) -> FfiResult<Chosen> {
    Ok(match decoder.read()? {
        Some(decoder) => Chosen::Callers(decoder),
        None => Chosen::BuiltIn(BuiltIn::default()),
    })
}

impl Decoder for Chosen {
    fn decode(
        &mut self,
        encoding: Encoding,
        stored: &[u8],
        destination: &mut [u8],
    ) -> core::result::Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode(encoding, stored, destination),
            Self::Callers(decoder) => came_to(decoder.decode(encoding, stored, destination), destination.len()),
        }
    }

    fn decode_start(
        &mut self,
        encoding: Encoding,
        stored: &[u8],
        destination: &mut [u8],
    ) -> core::result::Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode_start(encoding, stored, destination),
            Self::Callers(decoder) => {
                let capacity = destination.len();
                let answer = decoder.decode(encoding, stored, destination);
                let is_full = answer == Some((tenslice_status::from(ErrorKind::TooSmall.code()), capacity));
                match came_to(answer, capacity) {
                    Err(DecodeError::DoesNotFit) if is_full => Ok(capacity),
                    Err(DecodeError::DoesNotFit) => Err(DecodeError::Unsupported),
                    decoded => decoded,
                }
            }
        }
    }

    fn set_dictionary(&mut self, encoding: Encoding, new: &[u8]) -> core::result::Result<(), DecodeError> {
        match self {
            Self::BuiltIn(built_in) => return built_in.set_dictionary(encoding, new),
            Self::Callers(decoder) => decoder.set_dictionary(new),
        }
        Ok(())
    }

    fn decode_with_dictionary(
        &mut self,
        encoding: Encoding,
        stored: &[u8],
        destination: &mut [u8],
    ) -> core::result::Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode_with_dictionary(encoding, stored, destination),
            Self::Callers(decoder) => {
                came_to(decoder.decode_with_dictionary(encoding, stored, destination), destination.len())
            }
        }
    }
}

/// Interprets the status and the length that a caller's decoder returned.
fn came_to(answer: Option<(tenslice_status, usize)>, capacity: usize) -> core::result::Result<usize, DecodeError> {
    let Some((status, length)) = answer else { return Err(DecodeError::Unsupported) };
    let is = |kind: ErrorKind| status == tenslice_status::from(kind.code());
    if status == OK && length <= capacity {
        Ok(length)
    } else if is(ErrorKind::TooSmall) {
        Err(DecodeError::DoesNotFit)
    } else if is(ErrorKind::UnsupportedEncoding) {
        Err(DecodeError::Unsupported)
    } else if is(ErrorKind::ChecksumMismatch) {
        Err(DecodeError::Checksum)
    } else {
        Err(DecodeError::Malformed)
    }
}

/// Reports how many bytes were written or, if the destination was too small, how many are needed.
pub(super) fn report_length(
    details: Details<'_>,
    length: &OptionalOut<'_, u64>,
    needed: Option<u64>,
    read: impl FnOnce() -> Result<usize>,
) -> FfiResult<tenslice_status> {
    let length = length.writable()?;
    let result = read();
    let count = match &result {
        Ok(written) => Some(to_u64(*written)),
        Err(error) if error.kind() == ErrorKind::TooSmall => Some(needed.unwrap_or(u64::MAX)),
        Err(_) => None,
    };
    if let (Some(length), Some(count)) = (length, count) {
        length.set(count);
    }
    details.of(result).map(|_| OK)
}

/// Decodes the elements of a component to `destination`: in stored order, in this machine's byte order.
///
/// Errors: TOO_SMALL, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY; CORRUPT_STREAM, INVALID_SEEK_TABLE, INVALID_FRAME,
/// DECODED_LENGTH, CHECKSUM_MISMATCH, PARTIAL_ELEMENT; ENCODED for chunked arrays, which tenslice_tensor_read_into
/// decodes.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_read_into(
    component: Handle<tenslice_component>,
    decoder: OptionalIn<tenslice_decoder>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[component.memory(), decoder.memory(), length.memory()];
        let destination = destination.with_capacity(capacity, others)?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        report_length(details, &length, component.decoded_length(), || {
            component.read_into_with(&mut decoder, destination).map(|written| written.len())
        })
    })
}

/// Reads a range of what tenslice_component_read_into writes: `capacity` bytes from byte `offset` on. Raw bytes are
/// copied; of TENSLICE_ENCODING_ZSTD_SEEKABLE only the frames are decoded that have a share in the range, those that
/// are wanted in part into `scratch` (tenslice_component_range_scratch). A decoder of the caller's is asked for
/// TENSLICE_ENCODING_ZSTD, a frame at a time, and should check the frame's checksum.
///
/// The cost is linear in `capacity`, in the frames that are decoded (at most 16 MiB more than that), and in the table
/// of all frames, 8 or 12 bytes each.
///
/// Errors: NO_SUCH_ELEMENT where there are not as many bytes; PARTIAL_ELEMENT where the range begins or ends within a
/// number; ENCODED where the encoding has no ranges; UNSUPPORTED_ENCODING, OUT_OF_SCRATCH, IN_SHARD, NOT_IN_MEMORY;
/// INVALID_SEEK_TABLE, INVALID_FRAME, DECODED_LENGTH, CORRUPT_STREAM, CHECKSUM_MISMATCH.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_read_range(
    component: Handle<tenslice_component>,
    decoder: OptionalIn<tenslice_decoder>,
    offset: u64,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (destination, scratch) =
            buffers((destination, capacity), (scratch, scratch_length), &[component.memory(), decoder.memory()])?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        details.of(component.read_range_into_with(&mut decoder, offset, destination, scratch))?;
        Ok(OK)
    })
}

/// Sets `length` to how much scratch memory tenslice_component_read_range needs at most: 0 for raw bytes, else what the
/// largest frame decodes to, at most 16 MiB. UINT64_MAX where no range can be read: another encoding, bytes that are
/// not in memory, an invalid table of frames. Linear in that table.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_range_scratch(
    component: Handle<tenslice_component>,
    length: Out<u64>,
) -> tenslice_status {
    plain(|| {
        let needed = component.get()?.range_scratch_length().unwrap_or(u64::MAX);
        length.writable()?.set(needed);
        Ok(OK)
    })
}

/// The description of a tensor's elements.
#[repr(C)]
pub struct tenslice_described {
    /// Its size, set by the caller.
    pub struct_size: u32,
    /// The dtype of the elements; 0 if they have none.
    pub dtype: u32,
    /// The type of the elements as the file spells it, as tenslice_tensor_stated_type returns it; of a compressed entry of
    /// an NPZ archive it is in the scratch memory.
    pub stated_type: tenslice_str,
    /// The product of the dimensions; UINT64_MAX if it exceeds 64 bits.
    pub elements: u64,
    /// The order of the elements, a TENSLICE_ORDER_ code.
    pub order: u32,
    /// The byte order of the elements as they are stored, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
    /// Number of dimensions; 0 for a scalar.
    pub rank: u32,
    /// Warnings about the tensor, with those that only its header gives: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// 1 where the bytes of `stated_type` beyond ASCII are Latin-1, as in NPY before version 3.0; 0 where they are UTF-8.
    pub is_latin_1: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Fills `described` with what the elements of a tensor are, and writes the shape, in the order of the file, to
/// `dimensions`, an array of `capacity` lengths; with a capacity of 0, only the number of dimensions is reported. Of a
/// compressed entry of an NPZ archive, nothing is known before it is decoded: this decodes its header into `scratch`, and
/// nothing behind that. The headers that NumPy writes for numbers have 128 bytes; tenslice_tensor_describe_scratch returns
/// the exact length. For any other tensor nothing is decoded, and `scratch` may be NULL. Linear in the bytes of the header.
///
/// Errors: NOT_BUILT_IN if no decoder reads the start of a stream; OUT_OF_SCRATCH; TOO_SMALL if there are more than
/// `capacity` dimensions, if it is not 0; UNSUPPORTED_ENCODING, CORRUPT_STREAM, DECODED_LENGTH, NOT_IN_MEMORY; those of
/// an invalid NPY file; those of tenslice_tensor_problem.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_describe(
    tensor: Handle<tenslice_tensor>,
    decoder: OptionalIn<tenslice_decoder>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    dimensions: Buffer<u64>,
    capacity: Capacity,
    described: InfoOut<tenslice_described>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (dimensions, scratch) = buffers(
            (dimensions, capacity),
            (scratch, scratch_length),
            &[tensor.memory(), decoder.memory(), described.memory()],
        )?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let described = described.writable()?;
        let found = details.of(tensor.describe(&mut decoder, scratch))?;
        let rank = usize::try_from(found.shape.rank()).unwrap_or(usize::MAX);
        if !dimensions.is_empty() {
            let places = dimensions.get_mut(..rank).ok_or(ApiError::new(ErrorKind::TooSmall))?;
            places.iter_mut().zip(found.shape).for_each(|(place, length)| *place = length);
        }
        described.fill(tenslice_described {
            struct_size: 0,
            dtype: to_code(found.dtype),
            stated_type: found.stated_type.map_or(tenslice_str::NONE, tenslice_str::of_bytes),
            elements: found.shape.element_count().unwrap_or(u64::MAX),
            order: u32::from(found.order.code()),
            byte_order: u32::from(found.byte_order.code()),
            rank: found.shape.rank(),
            warnings: found.warnings.bits(),
            is_latin_1: u32::from(found.is_latin_1),
            reserved: 0,
        });
        Ok(OK)
    })
}

/// Sets `length` to how much scratch memory tenslice_tensor_describe needs: of a compressed entry of an NPZ archive the
/// length of its header, of which 12 bytes are decoded; 0 for any other tensor.
///
/// Errors: those of tenslice_tensor_describe, except OUT_OF_SCRATCH and TOO_SMALL.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_describe_scratch(
    tensor: Handle<tenslice_tensor>,
    decoder: OptionalIn<tenslice_decoder>,
    length: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let length = length.writable()?;
        length.set(details.of(tensor.describe_length(&mut decoder))?);
        Ok(OK)
    })
}

/// Sets `dense` to how many bytes tenslice_tensor_read_into writes, and `scratch` to how much scratch memory it needs.
/// Either may be NULL, and is set to UINT64_MAX where the file does not state it or where there can be no dense array.
/// For a chunked array the headers of all chunks are read, and `scratch` is also UINT64_MAX where one is malformed or
/// not in memory; tenslice_b2nd_region_lengths returns the reason.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_lengths(
    tensor: Handle<tenslice_tensor>,
    dense: OptionalOut<u64>,
    scratch: OptionalOut<u64>,
) -> tenslice_status {
    plain(|| {
        let tensor = tensor.get()?;
        let (dense, scratch) = (dense.writable()?, scratch.writable()?);
        if let Some(dense) = dense {
            dense.set(tensor.dense_length().unwrap_or(u64::MAX));
        }
        if let Some(scratch) = scratch {
            scratch.set(tensor.scratch_length().unwrap_or(u64::MAX));
        }
        Ok(OK)
    })
}

/// Reads a tensor as a dense array, whatever its layout, to `destination`: in this machine's byte order, dense data in
/// its own order, all else row-major. The elements of a chunked array stay in the byte order that its component states.
/// Scratch memory: tenslice_tensor_lengths.
///
/// The cost is proportional to the bytes read and written (of a sparse tensor: to its indices and values, and to the
/// dense length, which the file does not bound), except for two layouts: blocks of chunks are decoded as a whole
/// (tenslice_b2nd_region_work reports how many bytes that is), and tenslice_blz_slice states the cost for the elements
/// of a tensor train.
///
/// Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_LAYOUT, SHAPE_OVERFLOW, those of tenslice_component_read_into; for a
/// sparse tensor INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, COUNT_MISMATCH, PACKED_LENGTH; for a chunked array
/// UNSUPPORTED_CODEC where there is no decoder for its chunks, UNSUPPORTED_FILTER, and the error of a malformed chunk;
/// NO_VALUES if the values are elsewhere or still to be computed.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_read_into(
    tensor: Handle<tenslice_tensor>,
    decoder: OptionalIn<tenslice_decoder>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (destination, scratch) = buffers(
            (destination, capacity),
            (scratch, scratch_length),
            &[tensor.memory(), decoder.memory(), length.memory()],
        )?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        report_length(details, &length, tensor.dense_length(), || {
            tensor.read_into_with(&mut decoder, destination, scratch).map(|written| written.len())
        })
    })
}

/// The outcome of verifying a component, or the counts of the outcomes for several.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_verified {
    /// Its size, set by the caller.
    pub struct_size: u32,
    /// Warnings about the data: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// Components whose bytes match their digest.
    pub verified: u64,
    /// Components for which the file states no digest.
    pub without_digest: u64,
    /// Components whose digest is of an unknown kind.
    pub unknown_digest: u64,
}

impl From<Verified> for tenslice_verified {
    fn from(counts: Verified) -> Self {
        Self {
            struct_size: 0,
            warnings: counts.warnings.bits(),
            verified: counts.verified,
            without_digest: counts.without_digest,
            unknown_digest: counts.unknown_digest,
        }
    }
}

/// Fills `verified` with the outcome for a component.
fn verify(component: &Component<'_>, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<tenslice_verified> {
    let mut counts = Verified::default();
    match component.verify_with(decoder, scratch)? {
        Verification::Verified => counts.verified = 1,
        Verification::NoDigest => counts.without_digest = 1,
        Verification::UnknownDigest => counts.unknown_digest = 1,
    }
    Ok(counts.into())
}

/// Verifies a component against its digest: reads all its bytes. Exactly one of the counts is 1. Where the digest is
/// one of decoded bytes, as in zTensor 2, and these are stored encoded, see tenslice_component_verify_with.
///
/// Errors: DIGEST_MISMATCH, INVALID_DIGEST, INVALID_ELEMENT, IN_SHARD, NOT_IN_MEMORY; OUT_OF_SCRATCH where decoding
/// takes memory; NOT_BUILT_IN.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify(
    component: Handle<tenslice_component>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let component = component.get()?;
        let verified = verified.writable()?;
        verified.fill(details.of(verify(component, &mut BuiltIn::default(), &mut []))?);
        Ok(OK)
    })
}

/// Verifies a component as tenslice_component_verify does; where the digest is one of decoded bytes, they are decoded a
/// frame at a time into `scratch` (tenslice_component_verify_scratch). Linear in the bytes that the digest is of.
///
/// Errors: those of tenslice_component_verify and of tenslice_component_read_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify_with(
    component: Handle<tenslice_component>,
    decoder: OptionalIn<tenslice_decoder>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[component.memory(), decoder.memory(), verified.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let verified = verified.writable()?;
        verified.fill(details.of(verify(&component, &mut decoder, scratch))?);
        Ok(OK)
    })
}

/// Sets `length` to how much scratch memory tenslice_component_verify_with needs: 0 for bytes that are stored as they
/// were digested, else what the largest frame decodes to, at most 16 MiB. UINT64_MAX where it cannot be verified: its
/// bytes are not in memory, the table of frames is invalid, or a digest of that kind is not built in. Linear in that
/// table.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify_scratch(
    component: Handle<tenslice_component>,
    length: Out<u64>,
) -> tenslice_status {
    plain(|| {
        let component = component.get()?;
        let length = length.writable()?;
        length.set(component.verify_scratch_length().unwrap_or(u64::MAX));
        Ok(OK)
    })
}

/// Verifies all components of a file against their digests, and the indices of sparse tensors that are not encoded.
/// Reads all their bytes, repeatedly where several share them: the cost is the sum of their lengths, which may exceed the
/// file's; for files that you do not trust, add them up first (tenslice_component_get_info). See
/// tenslice_file_verify_with for files whose digests are those of decoded bytes.
///
/// Errors: those of tenslice_component_verify, for the first component that fails; INDEX_OUT_OF_RANGE,
/// INVALID_ROW_POINTERS, INDEX_ORDER; NO_VALUES if the values of a Blosc2 array are not in the file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify(
    file: Handle<tenslice_file>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let file = file.get()?;
        let verified = verified.writable()?;
        verified.fill(details.of(file.verify())?.into());
        Ok(OK)
    })
}

/// Verifies all components of a file as tenslice_component_verify_with does, and the indices of sparse tensors that are
/// not encoded. Of a Blosc2 frame, warns if one of the first 2^24 chunks was never written; of compressed entries of an NPZ
/// archive, of what their headers say, such as bytes behind the array: these may be missing without a decoder for the first
/// bytes of a stream, or without memory. Scratch memory: tenslice_file_verify_scratch.
///
/// Errors: those of tenslice_component_verify_with, for the first component that fails; those of tenslice_file_verify;
/// those of an invalid NPY file in a compressed entry.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify_with(
    file: Handle<tenslice_file>,
    decoder: OptionalIn<tenslice_decoder>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[file.memory(), decoder.memory(), verified.memory()])?;
        let file = *file.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let verified = verified.writable()?;
        verified.fill(details.of(file.verify_with(&mut decoder, scratch))?.into());
        Ok(OK)
    })
}

/// Sets `length` to how much scratch memory tenslice_file_verify_with needs: the most that any component, table of chunks or
/// header of a compressed array does; UINT64_MAX where one cannot be verified. Reads the metadata and the tables of frames.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify_scratch(file: Handle<tenslice_file>, length: Out<u64>) -> tenslice_status {
    plain(|| {
        let file = file.get()?;
        let length = length.writable()?;
        length.set(file.verify_scratch_length().unwrap_or(u64::MAX));
        Ok(OK)
    })
}
