//! Why the work on a file ended.

use std::io;

use tenslice::Error;

use super::text::{printable, size};

/// Why the work on a file ended.
#[derive(Debug)]
pub enum Failure {
    /// The file, or what was asked of it, is refused: the kind of error, the message, the offset in the file.
    Refused(&'static str, String, Option<u64>),
    /// It has been said already.
    Reported,
    /// Several of these.
    Several(Vec<Failure>),
    /// The output cannot be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    /// A message without a place in the file.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Refused(kind, message.into(), None)
    }

    /// An error of the library, with names and numbers from the bytes of the file.
    pub fn of(error: Error, bytes: &[u8]) -> Self {
        Self::Refused(error.kind().name(), error.explain(bytes).to_string(), error.offset())
    }

    pub fn unreadable(error: &io::Error) -> Self {
        Self::new("Io", error.to_string())
    }

    pub fn no_such_tensor(name: &str) -> Self {
        Self::new("NotFound", format!("there is no tensor \"{}\"", printable(name)))
    }

    pub fn too_large(length: u64, chunks: u64) -> Self {
        let chunks = if chunks > 1 { format!(" in {chunks} chunks") } else { String::new() };
        Self::new("limit", format!("{}{chunks}: more than is decoded without --no-limit", size(length)))
    }

    /// All of them as one, if there are any.
    pub fn all(failures: Vec<Self>) -> Result<(), Self> {
        if failures.is_empty() { Ok(()) } else { Err(Self::Several(failures)) }
    }

    /// The same failure, in the file of that name beside the one that the user named.
    pub fn in_file(self, name: &str) -> Self {
        match self {
            Self::Refused(kind, message, at) => Self::Refused(kind, format!("{}: {message}", printable(name)), at),
            other => other,
        }
    }
}
