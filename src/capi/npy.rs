//! Functions for NPY files. Absent from libraries built without that format.

use super::call::run;
use super::file::tenslice_file;
use super::pointer::{Handle, Out};
use super::status::{ApiError, OK, tenslice_status};
use super::text::tenslice_str;
use crate::error::ErrorKind;

/// Sets `descr` to the type of the elements of an NPY file as the file spells it, such as "'<f4'" or "[('x', '<i2'),
/// ('y', '<f8', (2,))]". It is UTF-8 in version 3.0, Latin-1 before. Linear in the bytes of the header.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_npy_descr(file: Handle<tenslice_file>, descr: Out<tenslice_str>) -> tenslice_status {
    run(|| {
        let npy = file.get()?.as_npy().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        descr.writable()?.set(tenslice_str::of_bytes(npy.descr()));
        Ok(OK)
    })
}
