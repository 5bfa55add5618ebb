//! The reason why processing a file ended.

use std::{fmt, io};

use tenslice::Input;

use super::budget::{Limit, Stop};
use super::problem::Problem;
use super::text::printable;

/// The kind of a failure caused by a limit of the command.
pub const LIMIT: &str = "limit";

/// The reason why processing a file ended.
#[derive(Debug)]
pub enum Failure {
    /// The file or the request is refused: the kind of error, the message, the offset in the file.
    Refused(&'static str, String, Option<u64>),
    /// The failure was reported already.
    Reported,
    /// Several failures.
    Several(Vec<Failure>),
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(_, message, _) => f.write_str(message),
            Self::Reported => Ok(()),
            Self::Several(failures) => failures.iter().try_for_each(|failure| writeln!(f, "{failure}")),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    /// A failure without an offset in the file.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Refused(kind, message.into(), None)
    }

    /// An error of the library, explained with names and numbers from the bytes of the file; or a limit.
    pub fn of<'a>(stop: impl Into<Stop>, bytes: impl Into<Input<'a>>) -> Self {
        match stop.into() {
            Stop::Error(error) => {
                Self::Refused(error.kind().name(), error.explain(bytes).to_string(), error.offset())
            }
            Stop::Limit(limit) => Self::limit(limit),
            Stop::TooFew => Self::new("TooSmall", "there are fewer elements than the shape requires"),
        }
    }

    pub fn unreadable(error: &io::Error) -> Self {
        Self::new("Io", error.to_string())
    }

    /// A limit of the command was exceeded.
    pub fn limit(limit: Limit) -> Self {
        Self::new(LIMIT, limit.to_string())
    }

    /// Fails with all problems, if there are any.
    pub fn all(problems: Vec<Problem>) -> Result<(), Self> {
        let all: Vec<Self> = Problem::with_one_limit(problems).into_iter().map(Self::from).collect();
        if all.is_empty() { Ok(()) } else { Err(Self::Several(all)) }
    }

    /// Adds the name of a file of the model to the message, if the user named another file.
    pub fn in_file(self, name: &str) -> Self {
        match self {
            Self::Refused(kind, message, at) => Self::Refused(kind, format!("{}: {message}", printable(name)), at),
            other => other,
        }
    }
}
