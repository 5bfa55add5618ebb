//! Runs a call: converts its result to a status, and stores the details of its error.

use super::pointer::{Holds, OptionalOut, Writable};
use super::status::{ApiError, END, FfiResult, tenslice_error, tenslice_status};
use crate::error::{Error, ErrorKind, Result};

/// The destination for the details of an error; `None` if the caller wants none.
#[derive(Clone, Copy)]
pub(super) struct Details<'a>(Option<Writable<'a, tenslice_error>>);

impl Details<'_> {
    /// Converts a result of the library, and stores the details of its error.
    pub(super) fn of<T>(self, result: Result<T>) -> FfiResult<T> {
        result.map_err(|error| self.report(&error))
    }

    /// Converts the state of an iterator that has ended: the end, or the `error` that ended it early.
    pub(super) fn end(self, error: Option<Error>) -> FfiResult<tenslice_status> {
        match error {
            Some(error) => Err(self.report(&error)),
            None => Ok(END),
        }
    }

    /// Returns the status of a call that failed. Stores the details of the error if that has not been done.
    #[cold]
    #[inline(never)]
    fn status(self, refused: ApiError) -> tenslice_status {
        if !refused.is_reported {
            self.report(&Error::new(refused.kind));
        }
        tenslice_status::from(refused.kind.code())
    }

    /// Stores the details of an error.
    #[inline(always)]
    pub(super) fn report(self, error: &Error) -> ApiError {
        ApiError { kind: self.stored(error), is_reported: true }
    }

    /// Stores the details of an error, and returns its kind, which fits in a register.
    #[cold]
    #[inline(never)]
    fn stored(self, error: &Error) -> ErrorKind {
        if let Some(place) = self.0 {
            let (offset, entry_distance, kind, format, part) = error.parts();
            place.set(tenslice_error { offset, entry_distance, kind, format, part });
        }
        error.kind()
    }
}

/// Runs a call and returns its status. Stores the details of an error in `error`, which may be NULL.
pub(super) fn with_details<'a>(
    error: &OptionalOut<'a, tenslice_error>,
    call: impl FnOnce(Details<'a>) -> FfiResult<tenslice_status>,
) -> tenslice_status {
    let Ok(details) = error.writable().map(Details) else {
        return tenslice_status::from(ErrorKind::InvalidArgument.code());
    };
    call(details).unwrap_or_else(|refused| details.status(refused))
}

/// Runs a call without error details and returns its status.
pub(super) fn run(call: impl FnOnce() -> Result<tenslice_status>) -> tenslice_status {
    call().unwrap_or_else(|error| tenslice_status::from(error.kind().code()))
}

impl<H> Writable<'_, H> {
    /// Stores a result as [`store`](Self::store) does; for an error, writes nothing.
    pub(super) fn store_found<T: 'static>(self, details: Details<'_>, found: &Result<T>) -> FfiResult<()>
    where
        H: Holds<T>,
    {
        match found {
            Ok(found) => {
                self.store(found);
                Ok(())
            }
            Err(error) => Err(details.report(error)),
        }
    }
}
