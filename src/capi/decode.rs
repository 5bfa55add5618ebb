//! Decoding, verifying, and reading whole tensors.

use core::ffi::c_void;

use super::component::tenslice_component;
use super::file::tenslice_file;
use super::pointer::{
    Buffer, CallersDecoder, Capacity, Handle, InfoOut, OptionalIn, OptionalOut, Out, Scratch, ScratchLength, buffers,
};
use super::status::{ApiError, Details, FfiResult, OK, run, tenslice_error, tenslice_status, with_details};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, to_code};
use crate::bytes::num::to_u64;
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;
use crate::{BuiltIn, Component, DecodeError, Decoder, Verification, Verified};

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
/// is called only during the call that it is passed to.
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

/// The caller's decoder, or the built-in one if the caller passes none.
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

/// Sets `length` to the number of bytes written or, if the destination was too small, to the number needed.
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

/// Decodes the elements of a component to `destination`, in stored order and in this machine's byte order.
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
    with_details(&error, |details| {
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
/// copied. With TENSLICE_ENCODING_ZSTD_SEEKABLE, only the frames that overlap the range are decoded; frames that are
/// needed in part are decoded into `scratch` (tenslice_component_range_scratch). A caller's decoder is called with
/// TENSLICE_ENCODING_ZSTD, one frame at a time, and should check the checksum of the frame.
///
/// The cost is linear in `capacity`, in the decoded frames (at most 16 MiB more than `capacity`), and in the table of
/// all frames, 8 or 12 bytes each.
///
/// Errors: NO_SUCH_ELEMENT if the range extends past the end; PARTIAL_ELEMENT if the range begins or ends within a
/// number; ENCODED if the encoding does not support ranges; UNSUPPORTED_ENCODING, OUT_OF_SCRATCH, IN_SHARD,
/// NOT_IN_MEMORY; INVALID_SEEK_TABLE, INVALID_FRAME, DECODED_LENGTH, CORRUPT_STREAM, CHECKSUM_MISMATCH.
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
    with_details(&error, |details| {
        let (destination, scratch) =
            buffers((destination, capacity), (scratch, scratch_length), &[component.memory(), decoder.memory()])?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        details.of(component.read_range_into_with(&mut decoder, offset, destination, scratch))?;
        Ok(OK)
    })
}

/// Sets `length` to the maximum number of bytes of scratch memory that tenslice_component_read_range needs: 0 for raw
/// bytes, else the decoded size of the largest frame, at most 16 MiB. UINT64_MAX if no range can be read: the encoding
/// does not support ranges, the bytes are not in memory, or the table of frames is invalid. Linear in that table.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_range_scratch(
    component: Handle<tenslice_component>,
    length: Out<u64>,
) -> tenslice_status {
    run(|| {
        let needed = component.get()?.range_scratch_length().unwrap_or(u64::MAX);
        length.writable()?.set(needed);
        Ok(OK)
    })
}

/// A description of the elements of a tensor.
#[repr(C)]
pub struct tenslice_described {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The dtype of the elements; 0 if they have none.
    pub dtype: u32,
    /// The type of the elements as the file spells it, as tenslice_tensor_stated_type returns it. For a compressed
    /// entry of an NPZ archive, it points into the scratch memory.
    pub stated_type: tenslice_str,
    /// The product of the dimensions; UINT64_MAX if it exceeds 64 bits.
    pub elements: u64,
    /// The order of the elements, a TENSLICE_ORDER_ code.
    pub order: u32,
    /// The byte order of the stored elements, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
    /// Number of dimensions; 0 for a scalar.
    pub rank: u32,
    /// Warnings about the tensor, including those known only from its header: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// 1 if bytes of `stated_type` beyond ASCII are Latin-1, as in NPY before version 3.0; 0 if they are UTF-8.
    pub is_latin_1: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Fills `described` with a description of the elements of a tensor, and writes the shape, in the order of the file, to
/// `dimensions`, an array of `capacity` lengths. With a capacity of 0, only the number of dimensions is reported.
/// Linear in the bytes of the header.
///
/// For a compressed entry of an NPZ archive, decodes the header of the array into `scratch`, but not the elements.
/// tenslice_tensor_describe_scratch returns the length of the header; it is 128 bytes for the numbers that NumPy
/// writes. For any other tensor nothing is decoded, and `scratch` may be NULL.
///
/// Errors: NOT_BUILT_IN if no decoder reads the start of a stream; OUT_OF_SCRATCH; TOO_SMALL if `capacity` is not 0 and
/// less than the number of dimensions; UNSUPPORTED_ENCODING, CORRUPT_STREAM, DECODED_LENGTH, NOT_IN_MEMORY; the errors
/// of an invalid NPY file; the errors of tenslice_tensor_problem.
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
    with_details(&error, |details| {
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

/// Sets `length` to the number of bytes of scratch memory that tenslice_tensor_describe needs. For a compressed entry
/// of an NPZ archive, this is the length of its header, which the call decodes from the first 12 bytes of the header.
/// For any other tensor `length` is set to 0.
///
/// Errors: the errors of tenslice_tensor_describe, except OUT_OF_SCRATCH and TOO_SMALL.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_describe_scratch(
    tensor: Handle<tenslice_tensor>,
    decoder: OptionalIn<tenslice_decoder>,
    length: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let length = length.writable()?;
        length.set(details.of(tensor.describe_length(&mut decoder))?);
        Ok(OK)
    })
}

/// Sets `dense` to the number of bytes that tenslice_tensor_read_into writes, and `scratch` to the number of bytes of
/// scratch memory that it needs. Either may be NULL. A value is UINT64_MAX if the file does not state it or there can
/// be no dense array. For a chunked array, reads the headers of all chunks; `scratch` is also UINT64_MAX if a chunk is
/// malformed or not in memory, and tenslice_b2nd_region_lengths returns the error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_lengths(
    tensor: Handle<tenslice_tensor>,
    dense: OptionalOut<u64>,
    scratch: OptionalOut<u64>,
) -> tenslice_status {
    run(|| {
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

/// Reads a tensor of any layout as a dense array to `destination`. The elements are in this machine's byte order,
/// except those of a chunked array, which stay in the byte order that its component states. Dense data keeps its order;
/// all other layouts are written row-major. Scratch memory: tenslice_tensor_lengths.
///
/// The cost is linear in the bytes read and written. For a sparse tensor these are its indices and values, and the
/// dense array, whose length the file does not bound. Two layouts cost more: blocks of chunks are decoded as a whole
/// (see tenslice_b2nd_region_work), and the elements of a tensor train are computed (see tenslice_blz_slice).
///
/// Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_LAYOUT, SHAPE_OVERFLOW, the errors of tenslice_component_read_into;
/// for a sparse tensor INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, COUNT_MISMATCH, PACKED_LENGTH; for a chunked array
/// UNSUPPORTED_CODEC if there is no decoder for its chunks, UNSUPPORTED_FILTER, and the error of a malformed chunk;
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
    with_details(&error, |details| {
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

/// The result of verifying one component, or the counts of the results for several.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_verified {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Warnings about the data: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// Number of components whose bytes match their digest.
    pub verified: u64,
    /// Number of components for which the file states no digest.
    pub without_digest: u64,
    /// Number of components whose digest is of an unknown kind.
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

/// Verifies a component and returns the result for C.
fn verify(component: &Component<'_>, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<tenslice_verified> {
    let mut counts = Verified::default();
    match component.verify_with(decoder, scratch)? {
        Verification::Verified => counts.verified = 1,
        Verification::NoDigest => counts.without_digest = 1,
        Verification::UnknownDigest => counts.unknown_digest = 1,
    }
    Ok(counts.into())
}

/// Verifies a component against its digest. Reads all bytes of the component. Exactly one of the counts in `verified`
/// is set to 1. If the digest covers the decoded bytes, as in zTensor 2, and the bytes are stored encoded, use
/// tenslice_component_verify_with.
///
/// Errors: DIGEST_MISMATCH, INVALID_DIGEST, INVALID_ELEMENT, IN_SHARD, NOT_IN_MEMORY; OUT_OF_SCRATCH if decoding needs
/// memory; NOT_BUILT_IN.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify(
    component: Handle<tenslice_component>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let component = component.get()?;
        let verified = verified.writable()?;
        verified.fill(details.of(verify(component, &mut BuiltIn::default(), &mut []))?);
        Ok(OK)
    })
}

/// Verifies a component as tenslice_component_verify does. If the digest covers the decoded bytes, they are decoded one
/// frame at a time into `scratch` (tenslice_component_verify_scratch). Linear in the bytes that the digest covers.
///
/// Errors: the errors of tenslice_component_verify and tenslice_component_read_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify_with(
    component: Handle<tenslice_component>,
    decoder: OptionalIn<tenslice_decoder>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let others = &[component.memory(), decoder.memory(), verified.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let verified = verified.writable()?;
        verified.fill(details.of(verify(&component, &mut decoder, scratch))?);
        Ok(OK)
    })
}

/// Sets `length` to the number of bytes of scratch memory that tenslice_component_verify_with needs: 0 if the digest
/// covers the bytes as stored, else the decoded size of the largest frame, at most 16 MiB. UINT64_MAX if the component
/// cannot be verified: its bytes are not in memory, the table of frames is invalid, or its kind of digest is not built
/// in. Linear in that table.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify_scratch(
    component: Handle<tenslice_component>,
    length: Out<u64>,
) -> tenslice_status {
    run(|| {
        let component = component.get()?;
        let length = length.writable()?;
        length.set(component.verify_scratch_length().unwrap_or(u64::MAX));
        Ok(OK)
    })
}

/// Verifies all components of a file against their digests, and the indices of sparse tensors that are not encoded.
/// Reads all bytes of the components; bytes that several components share are read once for each component. The cost is
/// the sum of the lengths of all components, which may exceed the length of the file. For untrusted files, add up the
/// lengths first (tenslice_component_get_info). If digests cover decoded bytes, use tenslice_file_verify_with.
///
/// Errors: the errors of tenslice_component_verify, for the first component that fails; INDEX_OUT_OF_RANGE,
/// INVALID_ROW_POINTERS, INDEX_ORDER; NO_VALUES if the values of a Blosc2 array are not in the file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify(
    file: Handle<tenslice_file>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let file = file.get()?;
        let verified = verified.writable()?;
        verified.fill(details.of(file.verify())?.into());
        Ok(OK)
    })
}

/// Verifies all components of a file as tenslice_component_verify_with does, and the indices of sparse tensors that are
/// not encoded. Scratch memory: tenslice_file_verify_scratch.
///
/// Adds warnings that opening cannot produce: one of the first 2^24 chunks of a Blosc2 frame was never written, or the
/// header of a compressed entry of an NPZ archive causes a warning, such as bytes behind the array. These warnings may
/// be missing if no decoder reads the first bytes of a stream, or if `scratch` is too small.
///
/// Errors: the errors of tenslice_component_verify_with, for the first component that fails; the errors of
/// tenslice_file_verify; the errors of an invalid NPY file in a compressed entry.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify_with(
    file: Handle<tenslice_file>,
    decoder: OptionalIn<tenslice_decoder>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[file.memory(), decoder.memory(), verified.memory()])?;
        let file = *file.get()?; // a copy: the decoder may use the handle
        let mut decoder = chosen(&decoder)?;
        let verified = verified.writable()?;
        verified.fill(details.of(file.verify_with(&mut decoder, scratch))?.into());
        Ok(OK)
    })
}

/// Sets `length` to the number of bytes of scratch memory that tenslice_file_verify_with needs: the maximum over all
/// components, tables of chunks and headers of compressed arrays. UINT64_MAX if a component cannot be verified. Reads
/// the metadata and the tables of frames.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify_scratch(file: Handle<tenslice_file>, length: Out<u64>) -> tenslice_status {
    run(|| {
        let file = file.get()?;
        let length = length.writable()?;
        length.set(file.verify_scratch_length().unwrap_or(u64::MAX));
        Ok(OK)
    })
}
