//! The status that every call returns, and the details of an error.

use core::ffi::c_char;

use crate::Feature;
use crate::error::{Error, ErrorKind, Result};

/// The result of a call: a number from the list in tenslice/codes.h that begins with TENSLICE_OK.
pub type tenslice_status = i32;

/// The call succeeded.
pub(super) const OK: tenslice_status = 0;
/// There are no more items.
pub(super) const END: tenslice_status = 1;
/// Bytes must be fetched first.
pub(super) const NEED: tenslice_status = 2;

/// Version of the ABI: incremented when programs compiled earlier would stop working.
const ABI_VERSION: u32 = 1;

/// The details of an error: plain numbers that can be stored and copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_error {
    /// Offset in the file at which the rule is broken; UINT64_MAX for mistakes of the caller.
    pub offset: u64,
    /// Number of bytes from the record of the tensor to `offset`; UINT32_MAX if no tensor is involved.
    pub entry_distance: u32,
    /// The rule, the same number as the status.
    pub kind: u16,
    /// The kind of file, a TENSLICE_FORMAT_ code.
    pub format: u8,
    /// The part of the file, a TENSLICE_PART_ code.
    pub part: u8,
}

impl tenslice_error {
    /// No error.
    pub(super) const NONE: Self = Self { offset: u64::MAX, entry_distance: u32::MAX, kind: 0, format: 0, part: 0 };

    pub(super) fn to_rust(self) -> Result<Error> {
        Error::from_parts(self.offset, self.entry_distance, self.kind, self.format, self.part)
            .ok_or(Error::new(ErrorKind::InvalidArgument))
    }
}

/// Why a call failed: a mistake of the caller, or an error whose details have already been stored.
///
/// Small enough for a register: passing a 16-byte error up from every check of an argument would take more code than
/// the check.
#[derive(Clone, Copy)]
pub(super) struct ApiError {
    pub(super) kind: ErrorKind,
    pub(super) is_reported: bool,
}

/// A result on the C side of a call.
pub(super) type FfiResult<T> = core::result::Result<T, ApiError>;

impl ApiError {
    /// Creates the error for a mistake of the caller.
    pub(super) const fn new(kind: ErrorKind) -> Self {
        Self { kind, is_reported: false }
    }
}

impl From<ApiError> for Error {
    fn from(refused: ApiError) -> Self {
        Self::new(refused.kind)
    }
}

/// Returns the ABI version of the library. Compare it with TENSLICE_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_abi_version() -> u32 {
    ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns 1 if the library was built with `feature`, a TENSLICE_FEATURE_ code; else 0, also for an unknown code.
///
/// A function that belongs to a feature is missing in a library without it, so a program that calls the function does not
/// link. A file of a format that is missing is rejected with NOT_BUILT_IN.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_has(feature: u32) -> u32 {
    u8::try_from(feature).ok().and_then(Feature::from_code).is_some_and(Feature::is_built_in).into()
}

/// Returns the name of a status, such as "NotFound".
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_status_name(status: tenslice_status) -> *const c_char {
    static_text(status, "Ok\0End\0Need\0", ErrorKind::NAMES)
}

/// Returns a description of a status.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_status_text(status: tenslice_status) -> *const c_char {
    static_text(status, "success\0there are no more items\0bytes must be fetched first\0", ErrorKind::TEXTS)
}

fn static_text(status: tenslice_status, success: &'static str, kinds: &'static str) -> *const c_char {
    match status {
        OK => nth_text(success, Some(0)),
        END => nth_text(success, Some(1)),
        NEED => nth_text(success, Some(2)),
        code => nth_text(kinds, u16::try_from(code).ok().and_then(ErrorKind::from_code).map(ErrorKind::place)),
    }
}

/// The text for a number that no text has.
///
/// A static, because the compiler puts literals that end with NUL into one section, and a linker keeps or drops a
/// section as a whole: with a literal here, programs for chips would contain every template of a message.
static UNKNOWN: [u8; 2] = *b"?\0";

/// Returns string number `n` of several NUL-terminated strings; "?" if there is none.
pub(super) fn nth_text(texts: &'static str, n: Option<usize>) -> *const c_char {
    let nth = n.and_then(|n| texts.as_bytes().split_inclusive(|byte| *byte == 0).nth(n));
    nth.unwrap_or(&UNKNOWN).as_ptr().cast()
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
                offset_of!(E, entry_distance),
                offset_of!(E, kind),
                offset_of!(E, format),
                offset_of!(E, part)
            ],
            [0, 8, 12, 14, 15]
        );
    }
}
