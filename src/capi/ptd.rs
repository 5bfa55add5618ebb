//! Functions for ExecuTorch's `.ptd` files. Absent from libraries built without that format.

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, OK, tenslice_error, tenslice_status};
use crate::error::ErrorKind;
use crate::ptd::Segments;

/// A segment of an ExecuTorch `.ptd` file: bytes to which any number of names refer.
#[repr(C)]
pub struct tenslice_ptd_segment {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Offset of the segment in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// Sets `cursor` before the first segment of a `.ptd` file, for tenslice_ptd_segments_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_ptd_segments(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let ptd = file.get()?.as_ptd().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        cursor.writable()?.store(&ptd.segments());
        Ok(OK)
    })
}

/// Reads the next segment, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_ptd_segments_next(
    cursor: HandleMut<tenslice_cursor>,
    segment: InfoOut<tenslice_ptd_segment>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let segments = cursor.get_mut::<Segments<'static>>()?;
        let segment = segment.writable()?;
        let Some(next) = segments.next() else { return details.end(segments.error()) };
        segment.fill(tenslice_ptd_segment { struct_size: 0, reserved: 0, offset: next.offset, length: next.length });
        Ok(OK)
    })
}
