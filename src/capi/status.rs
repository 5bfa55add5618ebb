//! What every call returns, and the details that it may leave behind.

use core::ffi::c_char;

use crate::error::{Error, ErrorKind, Result};

/// What a call came to: TENSLICE_OK, or one of the codes above.
pub type tenslice_status = i32;

/// The call did what it was asked for.
pub(super) const OK: tenslice_status = 0;
/// There is no further one.
pub(super) const END: tenslice_status = 1;
/// Bytes have to be fetched first.
pub(super) const NEED: tenslice_status = 2;

/// Number of the ABI: raised when a program compiled before would no longer work.
const ABI_VERSION: u32 = 1;

/// The details of an error: plain numbers, to be kept and copied at will.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_error {
    /// The byte of the file at which the rule is broken; UINT64_MAX for the caller's own errors.
    pub offset: u64,
    /// How far before it the entry of the tensor concerned begins; 0 where there is none.
    pub back: u32,
    /// The rule: the same number as the status.
    pub kind: u16,
    /// The kind of file, a TENSLICE_FORMAT_ code.
    pub format: u8,
    /// The part of the file, a TENSLICE_ITEM_ code.
    pub item: u8,
}

impl tenslice_error {
    pub(super) fn to_rust(self) -> Result<Error> {
        Error::from_parts(self.offset, self.back, self.kind, self.format, self.item)
            .ok_or(Error::new(ErrorKind::InvalidArgument))
    }
}

/// The status of a call, its details written where the caller wants them.
///
/// # Safety
/// `details` is NULL or points to an error that may be written.
pub(super) unsafe fn finish(
    details: *mut tenslice_error,
    call: impl FnOnce() -> Result<tenslice_status>,
) -> tenslice_status {
    if !details.is_null() && !details.is_aligned() {
        return tenslice_status::from(ErrorKind::InvalidArgument.code());
    }
    match call() {
        Ok(status) => status,
        // What has no details is known to have none where it is compiled, and stores no error.
        Err(error) if details.is_null() => tenslice_status::from(error.kind().code()),
        // SAFETY: as the caller says.
        Err(error) => unsafe { report(details, &error) },
    }
}

/// The status of an error, its details written to `details`.
///
/// # Safety
/// The pointer may be written.
#[cold]
#[inline(never)]
unsafe fn report(details: *mut tenslice_error, error: &Error) -> tenslice_status {
    let (offset, back, kind, format, item) = error.parts();
    // SAFETY: as the caller says.
    unsafe { details.write(tenslice_error { offset, back, kind, format, item }) };
    tenslice_status::from(error.kind().code())
}

/// The number of the ABI that the library was built with. Compare it with TENSLICE_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the library, such as "0.1.0"; closed by a NUL, and there for good.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status, such as "NotFound"; closed by a NUL, and there for good. "?" for another number.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_status_name(status: tenslice_status) -> *const c_char {
    static_text(status, "Ok\0End\0Need\0", ErrorKind::NAMES_FOR_C)
}

/// The rule behind a status in words; closed by a NUL, and there for good. "?" for another number.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_status_text(status: tenslice_status) -> *const c_char {
    static_text(status, "success\0there is no further one\0bytes are needed\0", ErrorKind::TEXTS_FOR_C)
}

fn static_text(status: tenslice_status, success: &'static str, kinds: &'static str) -> *const c_char {
    match status {
        OK => nth_text(success, Some(0)),
        END => nth_text(success, Some(1)),
        NEED => nth_text(success, Some(2)),
        code => nth_text(kinds, ErrorKind::ALL.iter().position(|kind| tenslice_status::from(kind.code()) == code)),
    }
}

/// The text number `n` of several that are closed by a NUL each; "?" for none.
pub(super) fn nth_text(texts: &'static str, n: Option<usize>) -> *const c_char {
    let nth = n.and_then(|n| texts.as_bytes().split_inclusive(|byte| *byte == 0).nth(n));
    nth.unwrap_or(b"?\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_layouts_are_pinned() {
        use super::tenslice_error as E;
        use core::mem::offset_of;
        assert_eq!(size_of::<E>(), 16);
        assert_eq!(
            [
                offset_of!(E, offset),
                offset_of!(E, back),
                offset_of!(E, kind),
                offset_of!(E, format),
                offset_of!(E, item)
            ],
            [0, 8, 12, 14, 15]
        );
    }
}
