//! Reads what the message of an error contains.
#![forbid(unsafe_code)]

use crate::bytes::source::Input;
use crate::codec::zip;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Returns the rule that a file breaks, in the terms of the format.
pub(super) fn context<'a>(_: Input<'a>, error: &Error) -> Context<'a> {
    let rule = match (error.kind(), error.part()) {
        (ErrorKind::UnsupportedFormat, _) => {
            Some("this is a pickle of Python, not a stream of torch.save: it begins with another number")
        }
        (ErrorKind::WrongMarker, Part::Value) => Some("the pickle has an opcode that torch does not write"),
        (ErrorKind::Malformed, Part::Value) => Some("an opcode of the pickle lacks the objects that it takes"),
        (ErrorKind::KeyOrder, Part::Value) => Some("the memo of the pickle has an index twice, or out of order"),
        (ErrorKind::MissingData, Part::Value) => {
            Some("the pickle takes an object from the memo that it has not put there")
        }
        (ErrorKind::MissingData, Part::Data) => Some("the archive has no entry for a storage"),
        (ErrorKind::SizeMismatch, Part::Length) => Some("the entry of a storage is not as long as the storage"),
        (ErrorKind::OutOfPlace, Part::Data) => Some("the view of a tensor reaches past its storage"),
        (ErrorKind::UnexpectedType, Part::Tensor) => {
            Some("a tensor is made of arguments that its function does not take")
        }
        (ErrorKind::UnexpectedType, Part::Key) => Some("a dictionary or a list is a key"),
        (ErrorKind::UnexpectedType, Part::Value) => Some("an opcode of the pickle meets an object of another kind"),
        (ErrorKind::TooMany, Part::Value) => Some("the pickle refers too often to what it made long before"),
        (ErrorKind::InvalidName, Part::Name) => Some("an entry is not in the folder of the first entry"),
        _ => zip::explain::rule(error),
    };
    Context { rule, ..Context::default() }
}
