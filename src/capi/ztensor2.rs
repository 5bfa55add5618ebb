//! Functions for zTensor 2 files. Absent from libraries built without that format.

use core::ffi::{c_char, c_void};

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Array, Handle, HandleMut, InfoOut, Length, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::ErrorKind;
use crate::ztensor2::{Shards, Ztensor2File};

/// A shard: another file that holds bytes of components, as a zTensor 2 file lists it.
#[repr(C)]
pub struct tenslice_ztensor2_shard {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The name: 1 to 64 letters, digits, dots, hyphens and underscores, not beginning with a dot. The reference
    /// implementation looks for shard NAME of model.zt at model-NAME.zt.
    pub name: tenslice_str,
    /// Length of the shard in bytes.
    pub size: u64,
    /// The digest of all bytes of the shard, such as "xxh3:" and 16 hexadecimal digits.
    pub digest: tenslice_str,
}

fn of(file: Handle<'_, tenslice_file>) -> FfiResult<Ztensor2File<'static>> {
    file.get()?.as_ztensor2().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Sets `cursor` before the first shard that a zTensor 2 file lists, for tenslice_ztensor2_shards_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_ztensor2_shards(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let file = of(file)?;
        cursor.writable()?.store(&file.shards());
        Ok(OK)
    })
}

/// Reads the next shard, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_ztensor2_shards_next(
    cursor: HandleMut<tenslice_cursor>,
    shard: InfoOut<tenslice_ztensor2_shard>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let shards = cursor.get_mut::<Shards<'static>>()?;
        let shard = shard.writable()?;
        let Some(next) = shards.next() else { return details.end(shards.error()) };
        shard.fill(tenslice_ztensor2_shard {
            struct_size: 0,
            reserved: 0,
            name: tenslice_str::of_bytes(next.name.as_bytes()),
            size: next.size,
            digest: tenslice_str::of_bytes(next.digest.as_bytes()),
        });
        Ok(OK)
    })
}

/// Checks that the `length` bytes at `data` are the complete shard named `name`, by their size and digest, so that
/// tenslice_component_with_shard can use them for every component in the shard. Linear in the bytes. `is_verified` (may
/// be NULL) is set to 1 if the digest was compared; to 0 if it is of an unknown kind, or SHA-256 and that is not built
/// in.
///
/// Errors: NOT_FOUND if the file lists no such shard; WRONG_LENGTH, DIGEST_MISMATCH: the bytes are of another file;
/// INVALID_DIGEST.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_ztensor2_check_shard(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    name_length: Length,
    data: Array<c_void>,
    length: Length,
    is_verified: OptionalOut<u32>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let is_verified = is_verified.writable()?;
        let file = of(file)?;
        let (name, data) = (name.text(name_length)?, data.with_length(length)?);
        let checked = details.of(file.check_shard_bytes(name, data))?;
        if let Some(is_verified) = is_verified {
            is_verified.set(checked.into());
        }
        Ok(OK)
    })
}
