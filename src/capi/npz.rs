//! Functions for NPZ archives. Absent from libraries built without that format.

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::ErrorKind;
use crate::npz::ArchiveEntries;

/// An entry of an NPZ archive. It need not be an array.
#[repr(C)]
pub struct tenslice_npz_entry {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// How the bytes are stored, a TENSLICE_ENCODING_ code.
    pub encoding: u32,
    /// The name; that of an array usually ends with ".npy". Use it only as a label: it may be a path that leads out of
    /// any directory.
    pub name: tenslice_str,
    /// Offset of the stored bytes in the file. They may be compressed.
    pub offset: u64,
    /// Stored length in bytes.
    pub length: u64,
    /// Decoded length in bytes.
    pub decoded_length: u64,
    /// CRC-32 of the decoded bytes.
    pub crc32: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Sets `cursor` before the first entry of an NPZ archive, for tenslice_npz_entries_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_npz_entries(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    run(|| {
        let npz = file.get()?.as_npz().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        cursor.writable()?.store(&npz.entries());
        Ok(OK)
    })
}

/// Reads the next entry, in the order of the archive's directory; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_npz_entries_next(
    cursor: HandleMut<tenslice_cursor>,
    entry: InfoOut<tenslice_npz_entry>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let entries = cursor.get_mut::<ArchiveEntries<'static>>()?;
        let entry = entry.writable()?;
        match (entries.next(), entries.error()) {
            (Some(next), _) => entry.fill(tenslice_npz_entry {
                struct_size: 0,
                encoding: u32::from(next.encoding.code()),
                name: tenslice_str::of_bytes(next.name.as_bytes()),
                offset: next.extent.offset,
                length: next.extent.length,
                decoded_length: next.decoded_length,
                crc32: next.crc32,
                reserved: 0,
            }),
            (None, error) => return details.end(error),
        }
        Ok(OK)
    })
}
