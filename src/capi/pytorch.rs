//! Functions for PyTorch checkpoints. Absent from libraries built without that format.

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::ErrorKind;
use crate::pytorch::Globals;

/// A name in a PyTorch checkpoint that stands for code: a function or a class. The code is never looked for.
#[repr(C)]
pub struct tenslice_pytorch_global {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// 1 if the name has a meaning here; 0 if objects of this name are skipped.
    pub is_known: u32,
    /// The module.
    pub module: tenslice_str,
    /// The name in the module.
    pub name: tenslice_str,
    /// Offset of the name in the file.
    pub offset: u64,
}

/// Sets `cursor` before the first name that stands for code, for tenslice_pytorch_globals_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_pytorch_globals(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let pytorch = file.get()?.as_pytorch().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        cursor.writable()?.store(&pytorch.globals());
        Ok(OK)
    })
}

/// Reads the next name, in the order of the file, as often as it occurs; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_pytorch_globals_next(
    cursor: HandleMut<tenslice_cursor>,
    global: InfoOut<tenslice_pytorch_global>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let globals = cursor.get_mut::<Globals<'static>>()?;
        let global = global.writable()?;
        match globals.next() {
            Some(next) => global.fill(tenslice_pytorch_global {
                struct_size: 0,
                is_known: next.is_known.into(),
                module: tenslice_str::of_bytes(next.module.as_bytes()),
                name: tenslice_str::of_bytes(next.name.as_bytes()),
                offset: next.offset,
            }),
            None => return details.end(None),
        }
        Ok(OK)
    })
}
