//! What is in the file where an error happened, read again for its message. Nothing here is trusted or checked:
//! whatever cannot be read is left out.
//!
//! Depends on `super`. Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use crate::bytes::source::Input;
use crate::error::Error;
use crate::format::Context;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(_input: Input<'a>, _error: &Error) -> Context<'a> {
    Context::default()
}
