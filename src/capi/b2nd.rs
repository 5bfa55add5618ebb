//! What only Blosc2 frames have. Not in libraries that were built without that format.

use core::ffi::c_void;

use super::component::tenslice_bytes;
use super::decode::{chosen, report_length, tenslice_decoder};
use super::file::tenslice_file;
use super::pointer::{
    Array, Buffer, Capacity, Handle, InfoOut, Length, OptionalIn, OptionalOut, Out, Scratch, ScratchLength, buffers,
};
use super::status::{ApiError, FfiResult, OK, answer, plain, tenslice_error, tenslice_status};
use super::tensor::write_shape;
use super::text::tenslice_str;
use crate::b2nd;
use crate::bytes::num::to_u64;
use crate::error::{Error, ErrorKind};

/// What there is to know of a Blosc2 frame. Set `struct_size` to `sizeof` before the call. What is said of codec,
/// filters and blocks are the writer's defaults: each chunk has its own.
#[repr(C)]
pub struct tenslice_b2nd_info {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// 1 where it holds an array, else 0: then it is one of bytes.
    pub is_array: u32,
    /// Bytes of an element.
    pub item_size: u64,
    /// How many chunks there are.
    pub chunk_count: u64,
    /// Bytes of a chunk, decoded, with its padding; 0 where they differ.
    pub chunk_size: u64,
    /// Bytes of a block; 0 where that is left to the chunks.
    pub block_size: u64,
    /// Bytes of all chunks, decoded, with the padding of arrays.
    pub decoded: u64,
    /// Bytes of all chunks as they are stored.
    pub stored: u64,
    /// How much scratch memory makes tenslice_b2nd_get_chunk fast; UINT64_MAX where the table of chunks is broken, or
    /// not in memory.
    pub table_scratch: u64,
    /// Where the table of chunks stands: to be added to a source before chunks are looked up.
    pub table_offset: u64,
    /// Number of bytes; 0 where there are no chunks.
    pub table_length: u64,
    /// The dtype as the file spells it, such as "<f4"; `data` is NULL where it says none.
    pub dtype: tenslice_str,
    /// The version of the frame: 1, 2 or 3.
    pub version: u8,
    /// 0 BloscLZ, 1 LZ4, 2 LZ4HC, 4 zlib, 5 Zstandard, from 32 on those of plug-ins.
    pub codec: u8,
    /// How hard the writer tried: 0 to 9.
    pub level: u8,
    /// Whether chunks may have dictionaries: 0 or 1.
    pub has_dictionary: u8,
    /// In the order in which they are applied: 0 none, 1 shuffle, 2 bitshuffle, 3 delta, 4 truncated precision, 35
    /// bytedelta, others of plug-ins.
    pub filters: [u8; 6],
    /// What each filter takes besides.
    pub filters_meta: [u8; 6],
}

/// A chunk. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_b2nd_chunk {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// How many blocks it has.
    pub block_count: u32,
    /// Where it stands in the file, and its bytes there; both 0 where nothing is stored of it.
    pub offset: u64,
    /// Number of bytes as they are stored.
    pub length: u64,
    /// Number of bytes, decoded.
    pub decoded_length: u64,
    /// Bytes of a block, decoded: the last one may be shorter; 0 where they differ.
    pub block_size: u64,
    /// How much scratch memory tenslice_b2nd_read_chunk needs.
    pub scratch: u64,
    /// How its bytes come about: 0 compressed, 1 copied, 2 zeros, 3 NaN, 4 one value, 5 never written (zeros here), 6
    /// compressed in blocks of different lengths.
    pub content: u8,
    /// As in tenslice_b2nd_info.
    pub codec: u8,
    /// As in tenslice_b2nd_info.
    pub filters: [u8; 6],
}

/// A metalayer: a named content of a frame. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_b2nd_metalayer {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Its name: 31 bytes at most.
    pub name: tenslice_str,
    /// What it says, as it is stored: MessagePack mostly. For one of the trailer (a variable-length metalayer) that is
    /// compressed, and tenslice_b2nd_read_metalayer decodes it.
    pub content: tenslice_bytes,
    /// Bytes of it, decoded; UINT64_MAX where the chunk is broken, and reading it says how.
    pub decoded_length: u64,
    /// How much scratch memory tenslice_b2nd_read_metalayer needs.
    pub scratch: u64,
}

/// The frame that a handle holds.
fn b2nd(file: &Handle<'_, tenslice_file>) -> FfiResult<b2nd::Frame<'static>> {
    file.get()?.as_b2nd().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Fills `info`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_b2nd_info>,
) -> tenslice_status {
    plain(|| {
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

/// Writes the shape of the chunks of an array (`of_blocks` 0), or that of the blocks of a chunk (1), to `dimensions`,
/// which has room for `capacity` lengths. `rank` (may be NULL) gets how many there are, in any case.
///
/// Errors: TOO_SMALL, then nothing is written; NOT_FOUND in a frame without an array; INVALID_ARGUMENT, also for a file
/// of another format; INVALID_HANDLE; MALFORMED where the bytes are not what they were when the file was opened.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_chunk_shape(
    file: Handle<tenslice_file>,
    of_blocks: u32,
    dimensions: Buffer<u64>,
    capacity: Capacity,
    rank: OptionalOut<u32>,
) -> tenslice_status {
    plain(|| {
        let b2nd = b2nd(&file)?;
        let shape = if of_blocks == 0 { b2nd.chunk_shape() } else { b2nd.block_shape() };
        let shape = shape.ok_or(Error::new(ErrorKind::NotFound))?;
        write_shape(shape, file.memory(), dimensions, capacity, &rank)?;
        Ok(OK)
    })
}

/// Fills `chunk`, of which the caller has set `struct_size`, with what the header of chunk `index` says. Of a file
/// opened over a source the table of chunks and the chunk have to be in memory. `scratch` (may be NULL) is for the table:
/// with as many bytes as tenslice_b2nd_get_info says a part of it is decoded; with less the chunk is looked up
/// without memory, which does for most tables, but takes long in large ones.
///
/// Errors: NOT_FOUND beyond the last; what is wrong with the table or the chunk; NOT_IN_MEMORY; OUT_OF_SCRATCH where the
/// table cannot be looked up without memory; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_chunk(
    file: Handle<tenslice_file>,
    index: u64,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    chunk: InfoOut<tenslice_b2nd_chunk>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[file.memory(), chunk.memory()])?;
        let b2nd = b2nd(&file)?;
        let info = chunk.writable()?;
        let chunk = details.of(b2nd.chunk(index, scratch))?;
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

/// Says where chunk `index` stands in the file, for a caller who fetches it: `offset` and `length`, both 0 where nothing
/// is stored of it. Takes the table, as tenslice_b2nd_get_chunk does, but of the chunk its first 32 bytes at most.
///
/// Errors: those of tenslice_b2nd_get_chunk. With NOT_IN_MEMORY the error's offset says from where the 32 bytes are
/// missing.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_chunk_extent(
    file: Handle<tenslice_file>,
    index: u64,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    offset: Out<u64>,
    length: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[file.memory(), offset.memory(), length.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let b2nd = b2nd(&file)?;
        let (offset, length) = (offset.writable()?, length.writable()?);
        let extent = details.of(b2nd.chunk_extent(index, scratch))?.unwrap_or_default();
        offset.set(extent.offset);
        length.set(extent.length);
        Ok(OK)
    })
}

/// Writes chunk `index`, decoded, with its padding, to the `capacity` bytes at `destination`. `scratch` has the memory
/// that tenslice_b2nd_get_chunk asks for, and may be NULL where that is none; the table of chunks uses it, too. `decoder`
/// may be NULL: then what is built in decodes. `length` (may be NULL) gets the number of bytes written or, with
/// TOO_SMALL, needed.
///
/// Errors: TOO_SMALL, then nothing was written; OUT_OF_SCRATCH; UNSUPPORTED_CODEC, UNSUPPORTED_FILTER, CORRUPT_STREAM,
/// DECODED_LENGTH, CHECKSUM_MISMATCH, and those of tenslice_b2nd_get_chunk: the destination holds nothing of use then.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_chunk(
    file: Handle<tenslice_file>,
    index: u64,
    decoder: OptionalIn<tenslice_decoder>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[file.memory(), decoder.memory(), length.memory()];
        let (destination, scratch) = buffers((destination, capacity), (scratch, scratch_length), others)?;
        let b2nd = b2nd(&file)?;
        let mut decoder = chosen(&decoder)?;
        let chunk = details.of(b2nd.chunk_with(&mut decoder, index, scratch))?;
        report_length(details, &length, Some(chunk.decoded_length()), || {
            chunk.read_into_with(&mut decoder, destination, scratch).map(|written| written.len())
        })
    })
}

/// The metalayer of the header (`in_trailer` 0) or of the trailer (1) at `index`.
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

/// Fills `metalayer`, of which the caller has set `struct_size`, with metalayer `index` of the header
/// (`in_trailer` 0) or of the trailer (1).
///
/// Errors: NOT_FOUND beyond the last; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_get_metalayer(
    file: Handle<tenslice_file>,
    in_trailer: u32,
    index: u32,
    metalayer: InfoOut<tenslice_b2nd_metalayer>,
) -> tenslice_status {
    plain(|| {
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

/// Writes the content of metalayer `index` of the trailer, decoded, to the `capacity` bytes at `destination`, with the
/// scratch memory that tenslice_b2nd_get_metalayer asks for. All else as for tenslice_b2nd_read_chunk.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_metalayer(
    file: Handle<tenslice_file>,
    index: u32,
    decoder: OptionalIn<tenslice_decoder>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[file.memory(), decoder.memory(), length.memory()];
        let (destination, scratch) = buffers((destination, capacity), (scratch, scratch_length), others)?;
        let (b2nd, metalayer) = metalayer(&file, 1, index)?;
        let mut decoder = chosen(&decoder)?;
        let chunk = details.of(b2nd.variable_metalayer(&metalayer))?;
        report_length(details, &length, Some(chunk.decoded_length()), || {
            chunk.read_into_with(&mut decoder, destination, scratch).map(|written| written.len())
        })
    })
}

/// The frame, and the indices that a region of it begins at and ends before.
fn region<'a>(
    file: &Handle<'_, tenslice_file>,
    [start, stop]: [&Array<'a, u64>; 2],
    rank: Length<'_>,
) -> FfiResult<(b2nd::Frame<'static>, [&'a [u64]; 2])> {
    Ok((b2nd(file)?, [start.with_length(rank)?, stop.with_length(rank)?]))
}

/// How many bytes tenslice_b2nd_read_region writes (`length`) for the region from index `start` up to, but without
/// index `stop`, `rank` numbers each, and how much scratch memory it needs (`scratch`). Each of both may be NULL.
/// For the scratch memory the headers of all chunks that the region touches are read.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, SHAPE_OVERFLOW; for `scratch` what is wrong with the chunks, NOT_IN_MEMORY;
/// INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_region_lengths(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    length: OptionalOut<u64>,
    scratch: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let (length, scratch) = (length.writable()?, scratch.writable()?);
        let bytes = details.of(b2nd.region_len(start, stop))?;
        let memory = if scratch.is_some() { details.of(b2nd.scratch_length(start, stop))? } else { 0 };
        if let Some(length) = length {
            length.set(bytes);
        }
        if let Some(scratch) = scratch {
            scratch.set(memory);
        }
        Ok(OK)
    })
}

/// How many bytes tenslice_b2nd_read_region decodes (`work`) for the region from index `start` up to, but without index
/// `stop`, `rank` numbers each, at most: blocks and streams as a whole, also where little of them is wanted, since a codec
/// has no other way. Chunks reach beyond the array, and may share their bytes, so that a file of 300 bytes can make a small
/// region cost terabytes: of files that you do not trust, read those whose work you would wait for. Looks at the chunks
/// that the region touches and at their streams; beyond 65536 of them it is what they may be at most.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT; what is wrong with the chunks, NOT_IN_MEMORY; INVALID_ARGUMENT, also for a file
/// of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_region_work(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    work: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let work = work.writable()?;
        work.set(details.of(b2nd.work_length(start, stop))?);
        Ok(OK)
    })
}

/// Writes the elements from index `start` up to, but without index `stop`, `rank` numbers each, to the `capacity` bytes
/// at `destination`: row-major, in the byte order that the dtype states. In a frame without an array elements are
/// bytes. Decodes only the blocks that the region touches, but each as a whole: tenslice_b2nd_region_work says how much
/// that is. `scratch` has the memory that
/// tenslice_b2nd_region_lengths asks for, and may be NULL where that is none. `decoder` may be NULL: then what is
/// built in decodes. `needed` (may be NULL) gets the number of bytes written; with TOO_SMALL those that the destination
/// needs; with OUT_OF_SCRATCH those that `scratch` needs.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, TOO_SMALL, SHAPE_OVERFLOW: nothing is written then. OUT_OF_SCRATCH;
/// UNSUPPORTED_CODEC, UNSUPPORTED_FILTER, CORRUPT_STREAM, DECODED_LENGTH, CHECKSUM_MISMATCH and others of a chunk;
/// NOT_IN_MEMORY: the destination holds nothing of use then, but other regions can be read. INVALID_ARGUMENT, also
/// for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_b2nd_read_region(
    file: Handle<tenslice_file>,
    start: Array<u64>,
    stop: Array<u64>,
    rank: Length,
    decoder: OptionalIn<tenslice_decoder>,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    needed: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[file.memory(), start.memory(rank), stop.memory(rank), decoder.memory(), needed.memory()];
        let (destination, scratch) = buffers((destination, capacity), (scratch, scratch_length), others)?;
        let (b2nd, [start, stop]) = region(&file, [&start, &stop], rank)?;
        let mut decoder = chosen(&decoder)?;
        let needed = needed.writable()?;
        let read = b2nd.read_region_with(&mut decoder, start, stop, destination, scratch);
        let count = match &read {
            Ok(written) => Some(to_u64(written.len())),
            Err(error) if error.kind() == ErrorKind::TooSmall => b2nd.region_len(start, stop).ok(),
            Err(error) if error.kind() == ErrorKind::OutOfScratch => b2nd.scratch_length(start, stop).ok(),
            Err(_) => None,
        };
        if let (Some(needed), Some(count)) = (needed, count) {
            needed.set(count);
        }
        details.of(read).map(|_| OK)
    })
}
