//! A file that is only partly in memory.

use core::ffi::c_void;

use super::call::run;
use super::pointer::{Array, HandleMut, Length, Out};
use super::status::{OK, tenslice_status};
use crate::Source;

/// A file that is only partly in memory: its length, and the ranges fetched so far (at most TENSLICE_MAX_SEGMENTS). Do
/// not add to a source while anything opened from it is used. Instead, add bytes read later to a copy of the source, for
/// tenslice_tensor_with_source, or pass them to tenslice_component_with_bytes.
#[repr(C)]
pub struct tenslice_source {
    opaque: [u64; 130],
}

/// A range of bytes that must be fetched. It is always shorter than 4 GiB and inside the file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_need {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// 1 if the bytes must stay in place while anything opened from the source is used. 0 if they may be overwritten
    /// after the next call of tenslice_file_open_source has returned.
    pub keep: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Makes `source` describe a file of `file_length` bytes, with no bytes in memory yet.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_init(source: Out<tenslice_source>, file_length: u64) -> tenslice_status {
    run(|| {
        source.writable()?.store(&Source::new(file_length));
        Ok(OK)
    })
}

/// Adds the `length` bytes at `data`, which are at `offset` in the file. Add each range in one piece, as it was
/// requested or larger. A range that covers earlier ones replaces them; a range that an earlier one covers is ignored.
/// If the last request had `keep` 0, and the bytes contain all of the requested range, the source uses the bytes for
/// the next call of tenslice_file_open_source only.
///
/// Errors: INVALID_ARGUMENT also if the bytes extend past the end of the file; TOO_MANY_SEGMENTS. The source is
/// unchanged after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_add(
    source: HandleMut<tenslice_source>,
    offset: u64,
    data: Array<'static, c_void>,
    length: Length,
) -> tenslice_status {
    run(|| {
        let memory = source.memory();
        source.get_mut()?.add(offset, data.with_length_beside(length, memory)?)?;
        Ok(OK)
    })
}
