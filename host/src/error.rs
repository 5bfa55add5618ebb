//! The reasons why nothing can be read.

use std::path::PathBuf;
use std::{fmt, io};

/// The reason why a model cannot be opened. `Display` writes the name of the file and a sentence.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    Unreadable { path: PathBuf, error: io::Error },
    /// The folder cannot be listed.
    Unlisted { path: PathBuf, error: io::Error },
    /// The file is invalid. `message` explains the error with names and numbers from the file.
    Invalid { name: String, error: tenslice::Error, message: String },
    /// The folder has several models. The names are those of two of them.
    SeveralModels(String, String),
    /// The folder has no tensor file.
    NoTensorFile,
    /// The metadata does not fit in the memory of this machine.
    OutOfMemory,
}

impl Error {
    pub(crate) fn invalid<'a>(name: &str, error: tenslice::Error, bytes: impl Into<tenslice::Input<'a>>) -> Self {
        Self::Invalid { name: name.into(), error, message: error.explain(bytes).to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => write!(f, "{}: {}", path.display(), without_number(error)),
            Self::Unlisted { path, .. } => write!(f, "{}: the folder cannot be listed", path.display()),
            Self::Invalid { name, message, .. } if name.is_empty() => f.write_str(message),
            Self::Invalid { name, message, .. } => write!(f, "{name}: {message}"),
            Self::SeveralModels(one, other) => {
                write!(f, "the folder has several models: pass the path of one, such as {one} or {other}")
            }
            Self::NoTensorFile => f.write_str("the folder has no tensor file"),
            Self::OutOfMemory => f.write_str("out of memory"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { error, .. } | Self::Unlisted { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// The message of the system, without its number: `No such file or directory`.
fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().into()
}
