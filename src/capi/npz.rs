//! What only NPZ archives have. Not in libraries that were built without that format.

use super::attributes::tenslice_cursor;
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, OK, answer, plain, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::ErrorKind;
use crate::npz::ArchiveEntries;

/// An entry of an NPZ archive, an array or not. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_npz_entry {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// How its bytes are stored, a TENSLICE_ENCODING_ code.
    pub encoding: u32,
    /// Its name: of an array most often with ".npy" at the end. Only a label: it may be a path out of any folder.
    pub name: tenslice_str,
    /// Where its bytes are stored in the file, perhaps compressed.
    pub offset: u64,
    /// How many bytes are stored.
    pub length: u64,
    /// How many bytes they decode to.
    pub decoded_length: u64,
    /// CRC-32 of the decoded bytes.
    pub crc32: u32,
    /// 0.
    pub reserved: u32,
}

/// Sets `cursor` before the first entry of an NPZ archive, for tenslice_npz_entries_next.
///
/// Errors: INVALID_ARGUMENT for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_npz_entries(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    plain(|| {
        let npz = file.get()?.as_npz().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        cursor.writable()?.store(&npz.entries());
        Ok(OK)
    })
}

/// The next entry, in the order of the archive's directory; TENSLICE_END after the last. The caller has set `struct_size` of
/// `entry`.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT; another one where the bytes are not what they were when the file was opened.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_npz_entries_next(
    cursor: HandleMut<tenslice_cursor>,
    entry: InfoOut<tenslice_npz_entry>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
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
