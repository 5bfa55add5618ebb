//! Decoding, verifying, and reading whole tensors.

use core::ffi::c_void;

use super::call::{Details, with_details};
use super::component::tenslice_component;
use super::file::tenslice_file;
use super::options::{tenslice_read_options, tenslice_requirements, to_purpose};
use super::pointer::{Buffer, Capacity, Chosen, Handle, InfoOut, OptionalIn, OptionalOut, buffers};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, to_code};
use crate::bytes::num::to_u64;
use crate::error::{ErrorKind, Result};
use crate::{BuiltIn, Component, Decoder, Verification, Verified};

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
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, _) =
            buffers((destination, capacity), options, &[component.memory(), length.memory()], &mut decoder)?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        report_length(details, &length, component.decoded_length(), || {
            component.read_into_using(&mut decoder, destination).map(|written| written.len())
        })
    })
}

/// Reads a range of what tenslice_component_read_into writes: `capacity` bytes from byte `offset` on. Raw bytes are
/// copied. With TENSLICE_ENCODING_ZSTD_SEEKABLE, only the frames that overlap the range are decoded; frames that are
/// needed in part are decoded into the scratch memory (TENSLICE_PURPOSE_READ_RANGE). A caller's decoder is called with
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
    offset: u64,
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, scratch) = buffers((destination, capacity), options, &[component.memory()], &mut decoder)?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        details.of(component.read_range_into_using(&mut decoder, offset, destination, scratch))?;
        Ok(OK)
    })
}

/// A description of the elements of a tensor.
#[repr(C)]
pub struct tenslice_described {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The dtype of the elements; 0 if the library has no dtype for their type.
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
/// For a compressed entry of an NPZ archive, decodes the header of the array into the scratch memory, but not the
/// elements. tenslice_tensor_requirements returns the length of the header (TENSLICE_PURPOSE_DESCRIBE); it is 128 bytes
/// for the numbers that NumPy writes. For any other tensor nothing is decoded, and no scratch memory is needed.
///
/// Errors: NOT_BUILT_IN if no decoder reads the start of a stream; OUT_OF_SCRATCH; TOO_SMALL if `capacity` is not 0 and
/// less than the number of dimensions; UNSUPPORTED_ENCODING, CORRUPT_STREAM, DECODED_LENGTH, NOT_IN_MEMORY; the errors
/// of an invalid NPY file; the errors of tenslice_tensor_problem.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_describe(
    tensor: Handle<tenslice_tensor>,
    dimensions: Buffer<u64>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    described: InfoOut<tenslice_described>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (dimensions, scratch) =
            buffers((dimensions, capacity), options, &[tensor.memory(), described.memory()], &mut decoder)?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let described = described.writable()?;
        let found = details.of(tensor.describe_using(&mut decoder, scratch))?;
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

/// Fills `requirements` with the memory that a call needs. `purpose` is the TENSLICE_PURPOSE_ code of the call:
///
/// - READ: tenslice_tensor_read_into. Scratch memory: for a sparse tensor the decoded size of the encoded components, for
///   a tensor train the vectors along the train, for a chunked array one or two blocks.
/// - READ_F32: tenslice_tensor_read_f32_into. Scratch memory: 0 for dense data and quantized blocks that are stored raw.
/// - GET_F32: tenslice_tensor_get_f32. No memory if the elements are returned in place, otherwise that of READ_F32.
/// - SPARSE: tenslice_tensor_sparse.
/// - VERIFY: the part of tenslice_file_verify that is about this tensor.
/// - DESCRIBE: tenslice_tensor_describe. Scratch memory: for a compressed entry of an NPZ archive, the length of its
///   header. To determine this length, the built-in decoder decodes the first 12 bytes of the header.
///
/// READ_RANGE applies only to components: for a tensor, both lengths are UINT64_MAX. For a chunked array, READ,
/// READ_F32 and GET_F32 read the headers of all chunks; the scratch memory is also UINT64_MAX if a chunk is malformed or not in
/// memory, and tenslice_b2nd_region_requirements returns the error.
///
/// Errors: INVALID_ARGUMENT if there is no such purpose.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_requirements(
    tensor: Handle<tenslice_tensor>,
    purpose: u32,
    requirements: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |_| {
        let (tensor, purpose) = (tensor.get()?, to_purpose(purpose)?);
        requirements.writable()?.fill(tensor.requirements(purpose).into());
        Ok(OK)
    })
}

/// Fills `requirements` with the memory that a call needs for a component. `purpose` is the TENSLICE_PURPOSE_ code of
/// the call:
///
/// - READ: tenslice_component_read_into. The output is the decoded length; needs no scratch memory.
/// - READ_RANGE: tenslice_component_read_range. Scratch memory: 0 for raw bytes, else the decoded size of the largest
///   frame, at most 16 MiB. UINT64_MAX if no range can be read: the encoding does not support ranges, the bytes are not
///   in memory, or the table of frames is invalid.
/// - VERIFY: tenslice_component_verify. Scratch memory: 0 if the digest covers the bytes as stored, else the decoded
///   size of the largest frame, at most 16 MiB. UINT64_MAX if the component cannot be verified: its bytes are not in
///   memory, the table of frames is invalid, or its kind of digest is not built in.
///
/// With another purpose, both lengths are UINT64_MAX. Linear in the table of frames.
///
/// Errors: INVALID_ARGUMENT if there is no such purpose.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_requirements(
    component: Handle<tenslice_component>,
    purpose: u32,
    requirements: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |_| {
        let (component, purpose) = (component.get()?, to_purpose(purpose)?);
        requirements.writable()?.fill(component.requirements(purpose).into());
        Ok(OK)
    })
}

/// Fills `requirements` with the memory that a call needs if it is made for all tensors of a file, one after the other:
/// the maximum over the results of tenslice_tensor_requirements, or UINT64_MAX if one of them is. With
/// TENSLICE_PURPOSE_VERIFY this is the memory that tenslice_file_verify needs. Reads the metadata and the tables of
/// frames.
///
/// Errors: INVALID_ARGUMENT if there is no such purpose.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_requirements(
    file: Handle<tenslice_file>,
    purpose: u32,
    requirements: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |_| {
        let (file, purpose) = (file.get()?, to_purpose(purpose)?);
        requirements.writable()?.fill(file.requirements(purpose).into());
        Ok(OK)
    })
}

/// Reads a tensor of any layout as a dense array to `destination`. The elements are in this machine's byte order,
/// except those of a chunked array, which stay in the byte order that its component states. Dense data keeps its order;
/// all other layouts are written row-major. Scratch memory: TENSLICE_PURPOSE_READ.
///
/// The cost is linear in the bytes read and written. For a sparse tensor these are its indices and values, and the
/// dense array, whose length the file does not bound. Two layouts cost more: blocks of chunks are decoded as a whole
/// (see tenslice_b2nd_region_work), and the elements of a tensor train are computed (see tenslice_blz_slice).
///
/// Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_LAYOUT, SHAPE_OVERFLOW, NOT_IN_MEMORY; the errors of
/// tenslice_component_read_into; for a sparse tensor INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, INDEX_ORDER,
/// COUNT_MISMATCH, PACKED_LENGTH; for a chunked array UNSUPPORTED_CODEC if there is no decoder for its chunks,
/// UNSUPPORTED_FILTER, and the error of a malformed chunk; NO_VALUES if the values are elsewhere or still to be
/// computed.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_read_into(
    tensor: Handle<tenslice_tensor>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, scratch) =
            buffers((destination, capacity), options, &[tensor.memory(), length.memory()], &mut decoder)?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        report_length(details, &length, tensor.read_length(), || {
            tensor.read_into_using(&mut decoder, destination, scratch).map(|written| written.len())
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
    match component.verify_using(decoder, scratch)? {
        Verification::Verified => counts.verified = 1,
        Verification::NoDigest => counts.without_digest = 1,
        Verification::UnknownDigest => counts.unknown_digest = 1,
    }
    Ok(counts.into())
}

/// Verifies a component against its digest. Reads all bytes of the component. Exactly one of the counts in `verified`
/// is set to 1. If the digest covers the decoded bytes, as in zTensor 2, and the bytes are stored encoded, they are
/// decoded one frame at a time into the scratch memory (TENSLICE_PURPOSE_VERIFY). Linear in the bytes that the digest
/// covers.
///
/// Errors: DIGEST_MISMATCH, INVALID_DIGEST, INVALID_ELEMENT, IN_SHARD, NOT_IN_MEMORY; OUT_OF_SCRATCH if decoding needs
/// memory; NOT_BUILT_IN; the errors of tenslice_component_read_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_verify(
    component: Handle<tenslice_component>,
    options: OptionalIn<tenslice_read_options>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        // Only digests of zTensor 2 cover decoded bytes. Without that format, the options are unused, and so is the copy
        // for a decoder that uses the handle: checking and copying would take 360 bytes of flash.
        if !cfg!(feature = "ztensor2") {
            let (component, verified) = (component.get()?, verified.writable()?);
            verified.fill(details.of(verify(component, &mut BuiltIn::default(), &mut []))?);
            return Ok(OK);
        }
        let (mut decoder, scratch) = options.apart_from(&[component.memory(), verified.memory()])?;
        let component = *component.get()?; // a copy: the decoder may use the handle
        let verified = verified.writable()?;
        verified.fill(details.of(verify(&component, &mut decoder, scratch))?);
        Ok(OK)
    })
}

/// Verifies all components of a file against their digests, and the indices of sparse tensors that are not encoded.
/// Reads all bytes of the components; bytes that several components share are read once for each component. The cost is
/// the sum of the lengths of all components, which may exceed the length of the file. For untrusted files, add up the
/// lengths first (tenslice_component_get_info). Scratch memory: tenslice_file_requirements, TENSLICE_PURPOSE_VERIFY.
///
/// Adds warnings that opening cannot produce: one of the first 2^24 chunks of a Blosc2 frame was never written, or the
/// header of a compressed entry of an NPZ archive causes a warning, such as bytes after the array. These warnings may
/// be missing if no decoder reads the first bytes of a stream, or if the scratch memory is too small.
///
/// Errors: the errors of tenslice_component_verify, among them NOT_IN_MEMORY, for the first component that fails;
/// INDEX_OUT_OF_RANGE, INVALID_ROW_POINTERS, INDEX_ORDER, COUNT_MISMATCH, PACKED_LENGTH; NO_VALUES if the values of a
/// Blosc2 array are not in the file; the errors of an invalid NPY file in a compressed entry.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_verify(
    file: Handle<tenslice_file>,
    options: OptionalIn<tenslice_read_options>,
    verified: InfoOut<tenslice_verified>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (mut decoder, scratch) = options.apart_from(&[file.memory(), verified.memory()])?;
        let file = *file.get()?; // a copy: the decoder may use the handle
        let verified = verified.writable()?;
        verified.fill(details.of(file.verify_using(&mut decoder, scratch))?.into());
        Ok(OK)
    })
}
