//! Functions for Blosc2 frames. Absent from libraries built without that format.

use core::ffi::c_void;

use super::call::{run, with_details};
use super::component::tenslice_bytes;
use super::decode::report_length;
use super::file::tenslice_file;
use super::options::{tenslice_read_options, tenslice_requirements};
use super::pointer::{
    Array, Buffer, Capacity, Chosen, Handle, InfoOut, Length, OptionalIn, OptionalOut, Out, buffers,
};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::write_shape;
use super::text::tenslice_str;
use crate::b2nd;
use crate::bytes::num::to_u64;
use crate::error::{Error, ErrorKind};

/// Information about a Blosc2 frame. Codec, filters and block size are the defaults of the frame; each chunk states its
/// own.
#[repr(C)]
pub struct tenslice_b2nd_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// 1 if the frame holds an array, 0 if it holds plain bytes.
    pub is_array: u32,
    /// Size of an element in bytes.
    pub item_size: u64,
    /// Number of chunks.
    pub chunk_count: u64,
    /// Decoded size of a chunk in bytes, padding included; 0 if the sizes of the chunks differ.
    pub chunk_size: u64,
    /// Size of a block in bytes; 0 if each chunk states its own.
    pub block_size: u64,
    /// Decoded size of all chunks in bytes, padding included.
    pub decoded: u64,
    /// Stored size of all chunks in bytes.
    pub stored: u64,
    /// Bytes of scratch memory with which tenslice_b2nd_get_chunk is fast; UINT64_MAX if the table of chunks is
    /// malformed or not in memory.
    pub table_scratch: u64,
    /// Offset of the table of chunks in the file. Add the table to a source before looking up chunks.
    pub table_offset: u64,
    /// Length of the table of chunks in bytes; 0 if there are no chunks.
    pub table_length: u64,
    /// The dtype as the file spells it, such as "<f4"; `data` is NULL if the file states none.
    pub dtype: tenslice_str,
    /// The version of the frame: 1, 2 or 3.
    pub version: u8,
    /// The codec: 0 BloscLZ, 1 LZ4, 2 LZ4HC, 4 zlib, 5 Zstandard; 32 and above are plug-ins.
    pub codec: u8,
    /// Compression level: 0 to 9.
    pub level: u8,
    /// 1 if chunks may have dictionaries, else 0.
    pub has_dictionary: u8,
    /// The filters in the order of application: 0 none, 1 shuffle, 2 bitshuffle, 3 delta, 4 truncated precision, 35
    /// bytedelta; others are plug-ins.
    pub filters: [u8; 6],
    /// The parameter of each filter.
    pub filters_meta: [u8; 6],
}

/// A chunk of a Blosc2 frame.
#[repr(C)]
pub struct tenslice_b2nd_chunk {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Number of blocks.
    pub block_count: u32,
    /// Offset of the chunk in the file; `offset` and `length` are 0 if the file stores no bytes for the chunk.
    pub offset: u64,
    /// Stored length in bytes.
    pub length: u64,
    /// Decoded length in bytes.
    pub decoded_length: u64,
    /// Decoded size of a block in bytes; 0 if the sizes differ. The last block may be shorter.
    pub block_size: u64,
    /// Bytes of scratch memory that tenslice_b2nd_read_chunk needs.
    pub scratch: u64,
    /// How the contents are stored: 0 compressed, 1 copied, 2 zeros, 3 NaN, 4 one value, 5 uninitialized (read as
    /// zeros), 6 compressed in blocks of different lengths.
    pub content: u8,
    /// The codec, numbered as in tenslice_b2nd_info.
    pub codec: u8,
    /// The filters, numbered as in tenslice_b2nd_info.
    pub filters: [u8; 6],
}

/// A metalayer: named metadata of a frame.
#[repr(C)]
pub struct tenslice_b2nd_metalayer {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The name, at most 31 bytes.
    pub name: tenslice_str,
    /// The content as stored, usually MessagePack. The content of a metalayer in the trailer (a variable-length
    /// metalayer) is compressed: tenslice_b2nd_read_metalayer decodes it.
    pub content: tenslice_bytes,
    /// Decoded length in bytes; UINT64_MAX if the chunk of the metalayer is malformed: tenslice_b2nd_read_metalayer
    /// returns the error.
    pub decoded_length: u64,
    /// Bytes of scratch memory that tenslice_b2nd_read_metalayer needs.
    pub scratch: u64,
}

/// Returns the frame that a handle holds.
fn b2nd(file: &Handle<'_, tenslice_file>) -> FfiResult<b2nd::Frame<'static>> {
    file.get()?.as_b2nd().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Fills `info` with information about a Blosc2 frame.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_b2nd_info>,
) -> tenslice_status {
    run(|| {
        let b2nd = b2nd(&file)?;
        let defaults = b2nd.defaults();
        info.writable()?.fill(tenslice_b2nd_info {
            struct_size: 0,
            is_array: b2nd.is_array().into(),
            item_size: b2nd.item_size(),
            chunk_count: b2nd.chunk_count(),
            chunk_size: defaults.chunk_size,
            block_size: defaults.block_size,
            decoded: defaults.decoded,
            stored: defaults.stored,
            table_scratch: b2nd.table_scratch_length().unwrap_or(u64::MAX),
            table_offset: b2nd.table_extent().offset,
            table_length: b2nd.table_extent().length,
            dtype: b2nd.dtype_text().into(),
            version: defaults.version,
            codec: defaults.codec,
            level: defaults.level,
            has_dictionary: defaults.has_dictionary.into(),
            filters: defaults.filters,
            filters_meta: defaults.filters_meta,
        });
        Ok(OK)
    })
}

/// Writes the shape of the chunks of an array (`of_blocks` 0), or the shape of the blocks of a chunk (1), to
/// `dimensions`, an array of `capacity` lengths. `rank` (may be NULL) is set to the number of dimensions, even after
/// TOO_SMALL.
///
/// Errors: TOO_SMALL; NOT_FOUND if the frame has no array.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_chunk_shape(
    file: Handle<tenslice_file>,
    of_blocks: u32,
    dimensions: Buffer<u64>,
    capacity: Capacity,
    rank: OptionalOut<u32>,
) -> tenslice_status {
    run(|| {
        let b2nd = b2nd(&file)?;
        let shape = if of_blocks == 0 { b2nd.chunk_shape() } else { b2nd.block_shape() };
        let shape = shape.ok_or(Error::new(ErrorKind::NotFound))?;
        write_shape(shape, file.memory(), dimensions, capacity, &rank)?;
        Ok(OK)
    })
}

/// Fills `chunk` with information about chunk `index`, read from the header of the chunk. If the file was opened from a
/// source, the table of chunks and the chunk must be in memory.
///
/// The scratch memory is used for the table. With at least `table_scratch` bytes (see tenslice_b2nd_info), part of the
/// table is decoded into it. With fewer, the chunk is looked up without memory; this works for most tables, but is
/// slow for large ones.
///
/// Errors: NOT_FOUND if there is no such chunk; the error of a malformed table or chunk; NOT_IN_MEMORY; NO_VALUES if a
/// proxy has not fetched the chunk, or if the array is still to be computed; OUT_OF_SCRATCH if the table cannot be
/// searched without memory.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_chunk(
    file: Handle<tenslice_file>,
    index: u64,
    options: OptionalIn<tenslice_read_options>,
    chunk: InfoOut<tenslice_b2nd_chunk>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (mut decoder, scratch) = options.apart_from(&[file.memory(), chunk.memory()])?;
        let b2nd = b2nd(&file)?;
        let info = chunk.writable()?;
        let chunk = details.of(b2nd.chunk_using(&mut decoder, index, scratch))?;
        let extent = chunk.extent().unwrap_or_default();
        info.fill(tenslice_b2nd_chunk {
            struct_size: 0,
            block_count: chunk.block_count(),
            offset: extent.offset,
            length: extent.length,
            decoded_length: chunk.decoded_length(),
            block_size: chunk.block_size().unwrap_or(0),
            scratch: chunk.scratch_length(),
            content: chunk.content().code(),
            codec: chunk.codec(),
            filters: chunk.filters(),
        });
        Ok(OK)
    })
}

/// Sets `offset` and `length` to the range of the file that holds chunk `index`, so that the caller can fetch it. Both
/// are 0 if the file stores no bytes for the chunk. The table of chunks must be in memory, and at most the first 32
/// bytes of the chunk. The scratch memory is used as in tenslice_b2nd_get_chunk.
///
/// Errors: the errors of tenslice_b2nd_get_chunk. With NOT_IN_MEMORY, the offset of the error is where the missing 32
/// bytes begin.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_chunk_extent(
    file: Handle<tenslice_file>,
    index: u64,
    options: OptionalIn<tenslice_read_options>,
    offset: Out<u64>,
    length: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (mut decoder, scratch) = options.apart_from(&[file.memory(), offset.memory(), length.memory()])?;
        let b2nd = b2nd(&file)?;
        let (offset, length) = (offset.writable()?, length.writable()?);
        let extent = details.of(b2nd.chunk_extent_using(&mut decoder, index, scratch))?.unwrap_or_default();
        offset.set(extent.offset);
        length.set(extent.length);
        Ok(OK)
    })
}

/// Decodes chunk `index`, padding included, to `destination`. Scratch memory: the `scratch` bytes of
/// tenslice_b2nd_get_chunk; the table of chunks also uses them.
///
/// Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_CODEC, UNSUPPORTED_FILTER, CORRUPT_STREAM, DECODED_LENGTH,
/// CHECKSUM_MISMATCH, NOT_IN_MEMORY, the errors of tenslice_b2nd_get_chunk.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_chunk(
    file: Handle<tenslice_file>,
    index: u64,
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, scratch) =
            buffers((destination, capacity), options, &[file.memory(), length.memory()], &mut decoder)?;
        let b2nd = b2nd(&file)?;
        let chunk = details.of(b2nd.chunk_using(&mut decoder, index, scratch))?;
        report_length(details, &length, Some(chunk.decoded_length()), || {
            chunk.read_into_using(&mut decoder, destination, scratch).map(|written| written.len())
        })
    })
}

/// Sets `count` to the number of chunks that were never written; they read as zeros. Decodes the table of chunks, which
/// must be in memory, but reads no chunk. Linear in the number of chunks, up to 2^32. The scratch memory is used for
/// the table and should have `table_scratch` bytes (see tenslice_b2nd_info). With fewer, the time is quadratic, and
/// limited.
///
/// Errors: OUT_OF_SCRATCH if the table cannot be searched without memory, or would take too long; the error of a
/// malformed table; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_uninitialised_chunks(
    file: Handle<tenslice_file>,
    options: OptionalIn<tenslice_read_options>,
    count: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (mut decoder, scratch) = options.apart_from(&[file.memory(), count.memory()])?;
        let b2nd = b2nd(&file)?;
        let count = count.writable()?;
        count.set(details.of(b2nd.uninitialised_chunks_using(&mut decoder, scratch))?);
        Ok(OK)
    })
}

/// Returns metalayer `index` of the header (`in_trailer` 0) or of the trailer (1).
fn metalayer(
    file: &Handle<'_, tenslice_file>,
    in_trailer: u32,
    index: u32,
) -> FfiResult<(b2nd::Frame<'static>, b2nd::Metalayer<'static>)> {
    let b2nd = b2nd(file)?;
    let mut all = if in_trailer == 0 { b2nd.metalayers() } else { b2nd.variable_metalayers() };
    let found = usize::try_from(index).ok().and_then(|index| all.nth(index));
    found.map(|found| (b2nd, found)).ok_or(ApiError::new(ErrorKind::NotFound))
}

/// Fills `metalayer` with information about metalayer `index` of the header (`in_trailer` 0) or of the trailer (1).
///
/// Errors: NOT_FOUND if there is no such metalayer.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_metalayer(
    file: Handle<tenslice_file>,
    in_trailer: u32,
    index: u32,
    metalayer: InfoOut<tenslice_b2nd_metalayer>,
) -> tenslice_status {
    run(|| {
        let info = metalayer.writable()?;
        let (b2nd, found) = self::metalayer(&file, in_trailer, index)?;
        let (decoded_length, scratch) = match (in_trailer, b2nd.variable_metalayer(&found)) {
            (0, _) => (to_u64(found.content.len()), 0),
            (_, Ok(chunk)) => (chunk.decoded_length(), chunk.scratch_length()),
            (_, Err(_)) => (u64::MAX, 0),
        };
        info.fill(tenslice_b2nd_metalayer {
            struct_size: 0,
            reserved: 0,
            name: Some(found.name).into(),
            content: found.content.into(),
            decoded_length,
            scratch,
        });
        Ok(OK)
    })
}

/// Decodes the content of metalayer `index` of the trailer to `destination`. Scratch memory: the `scratch` bytes of
/// tenslice_b2nd_get_metalayer.
///
/// Errors: NOT_FOUND if there is no such metalayer; the errors of tenslice_b2nd_read_chunk, among them NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_metalayer(
    file: Handle<tenslice_file>,
    index: u32,
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, scratch) =
            buffers((destination, capacity), options, &[file.memory(), length.memory()], &mut decoder)?;
        let (b2nd, metalayer) = metalayer(&file, 1, index)?;
        let chunk = details.of(b2nd.variable_metalayer(&metalayer))?;
        report_length(details, &length, Some(chunk.decoded_length()), || {
            chunk.read_into_using(&mut decoder, destination, scratch).map(|written| written.len())
        })
    })
}

/// Returns the frame, and the indices at which a region begins (included) and ends (excluded).
fn region<'a>(
    file: &Handle<'_, tenslice_file>,
    [start, stop]: [&Array<'a, u64>; 2],
    rank: Length<'_>,
) -> FfiResult<(b2nd::Frame<'static>, [&'a [u64]; 2])> {
    Ok((b2nd(file)?, [start.with_length(rank)?, stop.with_length(rank)?]))
}

/// Fills `requirements` with the memory that tenslice_b2nd_read_region needs. Reads the headers of all chunks that the
/// region touches.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, SHAPE_OVERFLOW; the error of a malformed chunk; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_region_requirements(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    requirements: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let requirements = requirements.writable()?;
        requirements.fill(details.of(b2nd.region_requirements(start, stop))?.into());
        Ok(OK)
    })
}

/// Sets `work` to the maximum number of bytes that tenslice_b2nd_read_region decodes. Codecs decode only whole blocks
/// and streams, so these count in full, even if the region needs little of them. The Zstandard dictionary of each chunk
/// also counts.
///
/// Chunks may extend past the array and share their bytes, so a file of 300 bytes can make a small region cost
/// terabytes. For untrusted files, read only regions whose work is acceptable. Examines the chunks that the region
/// touches and their streams; past 65536 of them, uses an upper bound.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT; the error of a malformed chunk; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_region_work(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    work: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let work = work.writable()?;
        work.set(details.of(b2nd.work_length(start, stop))?);
        Ok(OK)
    })
}

/// Decodes a region to `destination`: row-major, in the byte order that the dtype states. Decodes only the blocks that
/// the region touches, but each as a whole: see tenslice_b2nd_region_work. Scratch memory:
/// tenslice_b2nd_region_requirements. `needed` (may be NULL) is set to the number of bytes written; with TOO_SMALL, to the
/// size that the destination needs; with OUT_OF_SCRATCH, to the number of bytes of scratch memory.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, TOO_SMALL, SHAPE_OVERFLOW; nothing is written in these cases. OUT_OF_SCRATCH.
/// UNSUPPORTED_CODEC, UNSUPPORTED_FILTER, CORRUPT_STREAM, DECODED_LENGTH, CHECKSUM_MISMATCH, other errors of a chunk,
/// and NOT_IN_MEMORY; other regions can still be read. NO_VALUES if a proxy has not fetched a chunk of the region
/// (other regions can still be read), or if the array is still to be computed (no region can be read).
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_region(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    destination: Buffer<c_void>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    needed: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (destination, scratch) = buffers(
            (destination, capacity),
            options,
            &[file.memory(), start.memory(rank), stop.memory(rank), needed.memory()],
            &mut decoder,
        )?;
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let needed = needed.writable()?;
        let read = b2nd.read_region_using(&mut decoder, start, stop, destination, scratch);
        let count = match &read {
            Ok(written) => Some(to_u64(written.len())),
            Err(error) if error.kind() == ErrorKind::TooSmall => b2nd.region_bytes(start, stop).ok(),
            Err(error) if error.kind() == ErrorKind::OutOfScratch => b2nd.scratch_for(Some((start, stop))).ok(),
            Err(_) => None,
        };
        if let (Some(needed), Some(count)) = (needed, count) {
            needed.set(count);
        }
        details.of(read).map(|_| OK)
    })
}
