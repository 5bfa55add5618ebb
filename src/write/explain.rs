//! The message of an error of a writer, with the names and numbers of the declaration in question.
#![forbid(unsafe_code)]

use core::fmt;

use super::declaration::{Declarations, NewLayout, NewTensor, requested_alignment};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::view::explain::{Formatted, quoted};

/// The message of an error of a writer: prints as text.
#[derive(Clone, Copy)]
pub struct WriteExplanation<'f> {
    file: &'f dyn Declarations,
    error: Error,
}

impl<'f> WriteExplanation<'f> {
    pub(crate) const fn new(file: &'f dyn Declarations, error: Error) -> Self {
        Self { file, error }
    }

    /// Writes the format and the declaration in question.
    fn subject(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.error.format())?;
        let Some(index) = self.error.declaration() else { return Ok(()) };
        let (what, name) = if matches!(self.error.part(), Part::Key | Part::Value) {
            ("attribute", self.file.attribute(index).ok().map_or("", |attribute| attribute.key))
        } else {
            ("tensor", self.file.tensor(index).ok().map_or("", |tensor| tensor.name))
        };
        write!(f, "{what} {index}")?;
        Formatted::write(f, |out| quoted(out, " ", name.into()))?;
        f.write_str(": ")
    }

    /// Writes what the format does not have.
    fn not_in_format(&self, tensor: &NewTensor<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.error.part(), tensor.layout) {
            (Part::DType, NewLayout::Dense(dtype)) => {
                write!(f, "the format has no dtype {}; convert the data", dtype.name_for_c())
            }
            (Part::DType, _) => f.write_str("the format has no such dtype; convert the data"),
            (Part::Layout, layout) => write!(f, "the format cannot hold {}", name_of(layout)),
            (Part::Shape, _) => write!(f, "the format cannot hold the shape {:?}", tensor.shape),
            (Part::Attributes, _) => f.write_str("the format has no attributes of tensors"),
            (part, _) => write!(f, "the format cannot hold this {part}"),
        }
    }
}

/// Describes a layout.
fn name_of(layout: NewLayout<'_>) -> &'static str {
    match layout {
        NewLayout::Dense(_) => "a dense tensor",
        NewLayout::Items { .. } => "items of a type of NumPy; convert the data",
        #[cfg(feature = "gguf")]
        NewLayout::Blocks(_) => "quantized blocks; convert them to floats",
        NewLayout::Csr { .. } | NewLayout::Coo { .. } => "a sparse tensor; write it as a dense tensor",
        NewLayout::Pairs { .. } => "pairs of index and value; write them as a dense tensor",
        NewLayout::Train { .. } => "a tensor train; write it as a dense tensor",
    }
}

impl fmt::Display for WriteExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.subject(f)?;
        let (kind, part) = (self.error.kind(), self.error.part());
        let tensor = self.error.declaration().filter(|_| !matches!(part, Part::Key | Part::Value));
        match (kind, tensor.and_then(|index| self.file.tensor(index).ok())) {
            (ErrorKind::NotInFormat, Some(tensor)) => self.not_in_format(&tensor, f),
            (ErrorKind::NotInFormat, None) if part == Part::Tensors => {
                write!(f, "the format holds one tensor, not {}", self.file.tensor_count())
            }
            (ErrorKind::NotInFormat, None) if part == Part::Frame => {
                f.write_str("a frame must have 1 byte to 16 MiB decoded")
            }
            (ErrorKind::WrongLength, _) => f.write_str(
                "every frame of a component must have the same length decoded, and the last one what is left",
            ),
            (ErrorKind::NotInFormat, None) if part == Part::Alignment => {
                f.write_str("the format has no alignment that can be set")
            }
            (ErrorKind::NotInFormat, None) => write!(f, "the format cannot hold this {part}"),
            (ErrorKind::TooFewBytes, Some(tensor)) => {
                let length = tensor.length().unwrap_or_default();
                write!(f, "not all of its {length} bytes were written")
            }
            (ErrorKind::TooManyBytes, _) => f.write_str("there is more data than the tensors have; all are complete"),
            (ErrorKind::ShapeOverflow, Some(tensor)) => {
                write!(f, "the shape {:?} takes more than 2^64 bytes", tensor.shape)
            }
            (ErrorKind::RepeatedName, _) => f.write_str("another tensor has this name"),
            (ErrorKind::RepeatedKey, _) => f.write_str("another attribute has this key"),
            (ErrorKind::KeyOrder, _) if part != Part::Name => f.write_str(
                "the keys of a map are not in the order that the format requires: short ones first, then by their bytes",
            ),
            (ErrorKind::KeyOrder, _) => f.write_str(
                "more than 1024 tensors must be declared in the order of their names; sort the declarations",
            ),
            (ErrorKind::InvalidAlignment, _) => match requested_alignment(self.file) {
                Some(alignment) => write!(f, "the format does not allow the alignment {alignment}"),
                None => write!(f, "{kind}"),
            },
            (ErrorKind::SinkFailed, _) => match self.error.offset() {
                Some(offset) => write!(f, "the sink failed at byte {offset}"),
                None => write!(f, "{kind}"),
            },
            _ => write!(f, "{part}: {kind}"),
        }
    }
}

impl fmt::Debug for WriteExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
