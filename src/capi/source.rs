//! A file of which only some ranges are in memory.

use core::ffi::c_void;

use super::pointer::{Array, HandleMut, Length, Out};
use super::status::{OK, plain, tenslice_status};
use crate::Source;

/// A file of which only some ranges are in memory: its length, and the ranges fetched so far (at most
/// TENSLICE_MAX_SEGMENTS). It and they must outlive, unmoved, everything opened from it. Once a file has
/// been opened nothing may be added any more: bytes read later go to tenslice_component_with_bytes.
#[repr(C)]
pub struct tenslice_source {
    opaque: [u64; 112],
}

/// A range of bytes that has to be fetched. Always shorter than 4 GiB, and inside the file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_need {
    /// Where it begins in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// 1: the bytes must stay for as long as anything opened from the source is used.
    /// 0: they may be dropped, or overwritten, when the next call of tenslice_file_open_source has returned.
    pub keep: u32,
    /// 0.
    pub reserved: u32,
}

/// Makes `source` a file of `file_length` bytes, none of them in memory yet.
///
/// Errors: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_init(source: Out<tenslice_source>, file_length: u64) -> tenslice_status {
    plain(|| {
        source.writable()?.store(&Source::new(file_length));
        Ok(OK)
    })
}

/// Adds the bytes at `data`, which stand at `offset` of the file. Hand over each range as it was asked for, or with
/// more around it, in one piece. A range that covers earlier ones takes their place; a part of an earlier one
/// is not added again. Where a range was asked for with `keep` 0, bytes that have all of it are let go with it.
///
/// Data that calls read from the file itself (tenslice_tensor_read_into, tenslice_tensor_sparse,
/// tenslice_tens_element, tenslice_tens_chunks_next, those of tenslice_b2nd_ that read chunks) is added before the file is
/// opened: open it once to learn where its components are, then again from a second source that has them, too. For an
/// array in chunks those are the table of chunks and the chunks that are wanted: tenslice_b2nd_get_info and
/// tenslice_b2nd_chunk_extent say where they stand.
///
/// Errors: INVALID_HANDLE; INVALID_ARGUMENT, also where they reach beyond the file; TOO_MANY_SEGMENTS. The
/// source is unchanged then.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_add(
    source: HandleMut<tenslice_source>,
    offset: u64,
    data: Array<'static, c_void>,
    length: Length,
) -> tenslice_status {
    plain(|| {
        let memory = source.memory();
        source.get_mut()?.add(offset, data.with_length_beside(length, memory)?)?;
        Ok(OK)
    })
}
