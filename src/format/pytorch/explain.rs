//! Reads what the message of an error contains.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
use crate::bytes::extent::Extent;
#[cfg(not(target_os = "none"))]
use crate::bytes::pickle::op;
use crate::bytes::source::Input;
use crate::codec::zip;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Returns the rule that a file breaks, in the terms of the format.
#[cfg_attr(target_os = "none", expect(unused_variables, reason = "chips have only the rule"))]
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let rule = match (error.kind(), error.part()) {
        (ErrorKind::UnsupportedFormat, _) => {
            Some("this is a pickle of Python, not a stream of torch.save: it begins with another number")
        }
        (ErrorKind::WrongMarker, Part::Value) => Some("the pickle has an opcode that torch does not write"),
        (ErrorKind::Malformed, Part::Tensors) => Some("the bytes have changed since the file was opened"),
        (ErrorKind::Malformed, Part::Value) => Some("an opcode of the pickle lacks the objects that it takes"),
        (ErrorKind::KeyOrder, Part::Value) => Some("the memo of the pickle has an index twice, or out of order"),
        (ErrorKind::MissingData, Part::Value) => {
            Some("the pickle takes an object from the memo that it has not put there")
        }
        (ErrorKind::CountsDiffer, Part::Value) => {
            Some("the last opcode leaves more than one object, or a key of the pickle has no value")
        }
        (ErrorKind::UnsupportedVersion, Part::Value) => Some("the protocol of the pickle is none of 2 to 5"),
        (ErrorKind::TrailingBytes, Part::Value) => Some("bytes follow the last opcode of the pickle"),
        (ErrorKind::MissingData, Part::Data) => Some("the file has no data for a storage of the pickle"),
        (ErrorKind::SizeMismatch, Part::Length) => {
            Some("the data of a storage is not as long as the pickle says, or two places of the pickle differ")
        }
        (ErrorKind::RankMismatch, Part::Shape) => Some("a tensor has another number of strides than of sizes"),
        (ErrorKind::UnexpectedType, Part::Component) => Some("the ID of a storage has items of other types"),
        (ErrorKind::UnexpectedType, Part::Header) => Some("the third pickle is not a dictionary"),
        (ErrorKind::UnexpectedType, Part::Manifest) => Some("the keys of the storages are not a list of texts"),
        (ErrorKind::UnclaimedBytes, Part::Key) => Some("no tensor has a storage with one of the keys"),
        (ErrorKind::OutOfPlace, Part::Data) => Some("the view of a tensor reaches past its storage"),
        (ErrorKind::UnexpectedType, Part::Tensor) => {
            Some("a tensor is made of arguments that its function does not take")
        }
        (ErrorKind::UnexpectedType, Part::Key) => Some("a dictionary or a list is a key"),
        (ErrorKind::UnexpectedType, Part::Value) => Some("an opcode of the pickle meets an object of another kind"),
        (ErrorKind::TooMany, Part::Value) => Some("the pickle refers too often to what it made long before"),
        (ErrorKind::TooMany, Part::Key) => Some("the stream has more than 8192 storages"),
        (ErrorKind::TooMany, Part::Entry) => {
            Some("the entries are too many, and in another order than the tensors refer to them")
        }
        (ErrorKind::TooMany, Part::Data) => {
            Some("finding the data of a tensor takes reading the whole tree, and there are too many tensors for that")
        }
        (ErrorKind::InvalidName, Part::Name) => Some("an entry is not in the folder of the first entry"),
        _ => zip::explain::rule(error),
    };
    let is_slow = matches!((error.kind(), error.part()), (ErrorKind::TooMany, Part::Data));
    Context {
        rule,
        hint: is_slow.then_some("save the file again as an archive, as torch.save does from PyTorch 1.6 on"),
        #[cfg(not(target_os = "none"))]
        needed: needed(input, error),
        ..Context::default()
    }
}

/// Returns the minimum length of a stream that is truncated. (An archive without its end may be one of any format.)
#[cfg(not(target_os = "none"))]
fn needed(input: Input<'_>, error: &Error) -> Option<u64> {
    let (at, more) = (error.offset()?, input.length().checked_add(1)?);
    if input.get(Extent::new(0, 1)) != Some(&[op::PROTO]) {
        return None;
    }
    match (error.kind(), error.part()) {
        (ErrorKind::Truncated, _) => Some(more),
        // The number of elements, which have at least a byte each, precedes them.
        (ErrorKind::OutOfFile, Part::Length) => {
            let count = input.get(Extent::new(at, 8)).map(op::number)?;
            Some(at.checked_add(8)?.checked_add(count)?.max(more))
        }
        _ => None,
    }
}
