//! What every call returns, and the details that it may leave behind.

use core::ffi::c_char;

use super::pointer::{OptionalOut, Writable};
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
    /// How many bytes before it the record of the tensor concerned begins; UINT32_MAX where no tensor is concerned.
    pub entry_distance: u32,
    /// The rule: the same number as the status.
    pub kind: u16,
    /// The kind of file, a TENSLICE_FORMAT_ code.
    pub format: u8,
    /// The part of the file, a TENSLICE_ITEM_ code.
    pub item: u8,
}

impl tenslice_error {
    pub(super) fn to_rust(self) -> Result<Error> {
        Error::from_parts(self.offset, self.entry_distance, self.kind, self.format, self.item)
            .ok_or(Error::new(ErrorKind::InvalidArgument))
    }
}

/// Why a call came to nothing: the caller's own mistake, or an error whose details are where they belong already.
///
/// Small enough for a register: an error of 16 bytes that every check of an argument hands on takes more of a chip than
/// the check.
#[derive(Clone, Copy)]
pub(super) struct ApiError {
    kind: ErrorKind,
    is_told: bool,
}

/// A result of C's side of a call.
pub(super) type FfiResult<T> = core::result::Result<T, ApiError>;

impl ApiError {
    /// For the caller's own mistake.
    pub(super) const fn new(kind: ErrorKind) -> Self {
        Self { kind, is_told: false }
    }
}

impl From<ApiError> for Error {
    fn from(refused: ApiError) -> Self {
        Self::new(refused.kind)
    }
}

/// Where the details of an error go: nowhere, if the caller wants none.
#[derive(Clone, Copy)]
pub(super) struct Details<'a>(Option<Writable<'a, tenslice_error>>);

impl Details<'_> {
    /// What the library found, or its error told.
    pub(super) fn of<T>(self, result: Result<T>) -> FfiResult<T> {
        result.map_err(|error| self.report(&error))
    }

    /// What an iterator came to that gives nothing more: the end, or the `error` for which it ended early.
    pub(super) fn end(self, error: Option<Error>) -> FfiResult<tenslice_status> {
        match error {
            Some(error) => Err(self.report(&error)),
            None => Ok(END),
        }
    }

    /// The status of a call that came to nothing, which is told if it has not been.
    #[cold]
    #[inline(never)]
    fn status(self, refused: ApiError) -> tenslice_status {
        if !refused.is_told {
            self.report(&Error::new(refused.kind));
        }
        tenslice_status::from(refused.kind.code())
    }

    /// Tells an error.
    #[cold]
    #[inline(never)]
    pub(super) fn report(self, error: &Error) -> ApiError {
        if let Some(place) = self.0 {
            let (offset, entry_distance, kind, format, item) = error.parts();
            place.set(tenslice_error { offset, entry_distance, kind, format, item });
        }
        ApiError { kind: error.kind(), is_told: true }
    }
}

/// The status of a call, its details written where the caller wants them.
pub(super) fn answer<'a>(
    error: &OptionalOut<'a, tenslice_error>,
    call: impl FnOnce(Details<'a>) -> FfiResult<tenslice_status>,
) -> tenslice_status {
    let Ok(details) = error.writable().map(Details) else {
        return tenslice_status::from(ErrorKind::InvalidArgument.code());
    };
    call(details).unwrap_or_else(|refused| details.status(refused))
}

/// The status of a call that has no details to tell.
pub(super) fn plain(call: impl FnOnce() -> Result<tenslice_status>) -> tenslice_status {
    call().unwrap_or_else(|error| tenslice_status::from(error.kind().code()))
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
                offset_of!(E, entry_distance),
                offset_of!(E, kind),
                offset_of!(E, format),
                offset_of!(E, item)
            ],
            [0, 8, 12, 14, 15]
        );
    }
}
