//! A file of which only some ranges are in memory.

use core::ffi::c_void;

use super::pointer::{Array, HandleMut, Length, Out};
use super::status::{OK, plain, tenslice_status};
use crate::Source;

/// A file of which only some ranges are in memory: its length, and the ranges fetched so far (at most
/// TENSLICE_MAX_SEGMENTS). Nothing may be added while anything opened from it is used: bytes read later go to
/// tenslice_component_with_bytes, or the file is opened again.
#[repr(C)]
pub struct tenslice_source {
    opaque: [u64; 130],
}

/// A range of bytes that must be fetched. Always shorter than 4 GiB, and inside the file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_need {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// 1: the bytes must stay for as long as anything opened from the source is used. 0: they may be dropped or
    /// overwritten once the next call of tenslice_file_open_source has returned.
    pub keep: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Makes `source` describe a file of `file_length` bytes, none of them in memory yet.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_init(source: Out<tenslice_source>, file_length: u64) -> tenslice_status {
    plain(|| {
        source.writable()?.store(&Source::new(file_length));
        Ok(OK)
    })
}

/// Adds the bytes at `data`, found at `offset` of the file. Add each range as it was requested, or with more around it,
/// in one piece. A range that covers earlier ones replaces them; bytes that an earlier one already covers are not added
/// again. Where a range was requested with `keep` 0, bytes that contain all of it are dropped with it.
///
/// Errors: INVALID_ARGUMENT, also where the bytes reach past the end of the file; TOO_MANY_SEGMENTS. The source is
/// unchanged then.
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
