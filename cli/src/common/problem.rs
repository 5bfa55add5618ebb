//! Problems and warnings: something is wrong with a part of a model, but the rest can be read.

use tenslice::{Error, File, Input, Tensor, Warning, Warnings};

use super::budget::Stop;
use super::failure::{Failure, LIMIT};
use super::text::printable;

/// A finding about a model: a missing file, an unreadable tensor, a warning. The list that contains it decides if it is
/// an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// For programs: the name of an error or a warning of the library, or of a rule about several files.
    pub kind: &'static str,
    /// The name of the file in the index or in the naming convention; `None` for the file that the user named.
    pub file: Option<String>,
    pub tensor: Option<String>,
    pub message: String,
    /// The offset in the file, if there is one.
    pub offset: Option<u64>,
    /// The number of missing files. Other problems have 0.
    pub missing_files: u64,
}

impl Problem {
    /// Returns true if a file is missing, in which case nothing is wrong with the files that are present.
    pub fn is_missing_file(&self) -> bool {
        self.missing_files > 0
    }

    /// A finding about the model as a whole.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, file: None, tensor: None, message: message.into(), offset: None, missing_files: 0 }
    }

    /// A finding about a file as a whole.
    pub fn of_file(kind: &'static str, file: &str, message: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::new(kind, message) }
    }

    /// A finding about a tensor of a file; the message names the tensor.
    pub fn of_tensor(kind: &'static str, file: Option<&str>, tensor: &str, message: impl Into<String>) -> Self {
        Self { file: file.map(Into::into), tensor: Some(tensor.into()), ..Self::new(kind, message) }
    }

    /// An error of the library about a tensor.
    pub fn of_error(file: Option<&str>, tensor: &Tensor<'_>, error: Error, input: Input<'_>) -> Self {
        let (name, message) = (tensor.name().to_string(), error.explain(input).to_string());
        Self { offset: error.offset(), ..Self::of_tensor(error.kind().name(), file, &name, message) }
    }

    /// The reason why a tensor was not read.
    pub fn of_stop(file: Option<&str>, tensor: &Tensor<'_>, stop: Stop, input: Input<'_>) -> Self {
        let name = tensor.name().to_string();
        match (stop, Failure::of(stop, input)) {
            (Stop::Error(error), _) => Self::of_error(file, tensor, error, input),
            (_, Failure::Refused(kind, message, _)) => {
                Self::of_tensor(kind, file, &name, format!("tensor \"{}\": {message}", printable(&name)))
            }
            _ => Self::of_tensor(LIMIT, file, &name, String::new()),
        }
    }

    /// The warnings of a file, each with the first tensor it is about.
    pub fn of_warnings(file: &File<'_>, name: Option<&str>, warnings: Warnings, others: u32) -> Vec<Self> {
        let set = Warning::ALL.iter().filter(|warning| warning.bit() & (warnings.bits() | others) != 0);
        let of_one = |warning: &Warning| {
            let first = warnings.first_tensor(*warning).and_then(|i| file.tensors().nth(usize::try_from(i).ok()?));
            let first = first.map(|tensor| tensor.name().to_string());
            let of_first = first.as_ref().map(|first| format!(" (first: tensor \"{}\")", printable(first)));
            let message = format!("{}{}", warning.text(), of_first.unwrap_or_default());
            Self { file: name.map(Into::into), tensor: first, ..Self::new(warning.name(), message) }
        };
        set.map(of_one).collect()
    }

    /// Merges the problems of all tensors that were not read because of a limit into one.
    pub fn with_one_limit(all: Vec<Self>) -> Vec<Self> {
        let (limits, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(|problem| problem.kind == LIMIT);
        let more = limits.len().saturating_sub(1);
        others.extend(limits.into_iter().next().map(|mut first| {
            if more > 0 {
                first.message +=
                    &format!(" ({more} more tensor{} not read)", if more == 1 { " was" } else { "s were" });
            }
            first
        }));
        others
    }

    /// The message, prefixed with the name of its file.
    pub fn line(&self) -> String {
        let file = self.file.as_ref().map(|file| format!("{}: ", printable(file))).unwrap_or_default();
        format!("{file}{}", self.message)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem.kind, problem.line(), problem.offset)
    }
}
