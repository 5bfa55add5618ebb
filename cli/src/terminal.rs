//! Standard output and standard error.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use tenslice::ErrorKind;

use crate::Color;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::table::Look;
use crate::paths;

/// Standard output, and the appearance of standard output and standard error.
pub struct Terminal {
    pub out: BufWriter<StdoutLock<'static>>,
    pub look: Look,
    errors: Look,
}

impl Terminal {
    pub fn new(color: Color, width: Option<usize>) -> Self {
        let out = io::stdout().lock();
        // `AutoStream` only decides. Output bypasses it, because it strips bytes that look like terminal codes.
        let is_colored = |choice: ColorChoice| match color {
            Color::Auto => choice != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        };
        let of_terminal = || terminal_size::terminal_size_of(&out).map(|(width, _)| width.0.into());
        let look =
            Look { width: width.or_else(of_terminal), is_colored: is_colored(AutoStream::choice(&out)), all: false };
        let errors = Look { is_colored: is_colored(AutoStream::choice(&io::stderr())), ..look };
        Self { out: BufWriter::new(out), look, errors }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes a warning to standard error after flushing standard output.
    pub fn warn(&mut self, message: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr(), "{} {message}", self.errors.yellow("warning:"));
    }

    /// Writes the warnings that concern every user of a file's data to standard error.
    pub fn warn_of_data(&mut self, opened: &Opened<'_>) {
        for warning in opened.warnings_of_data() {
            self.warn(&format!("{}: {}", opened.path.display(), warning.message));
        }
    }

    /// Writes an error message to standard error after flushing standard output.
    pub fn complain(&mut self, message: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr(), "{} {message}", self.errors.painted("31", "error:"));
    }

    fn complain_of(&mut self, path: &Path, message: &str) {
        self.complain(&format!("{}: {message}", path.display()));
    }

    /// Reports why a file was refused. Returns an error if the output cannot be written.
    pub fn refuse(&mut self, path: &Path, failure: Failure) -> io::Result<()> {
        match failure {
            Failure::Output(error) => return Err(error),
            Failure::Reported => {}
            Failure::Several(failures) => {
                for failure in failures {
                    match failure {
                        Failure::Refused(_, message, _) => self.complain_of(path, &message),
                        other => self.refuse(path, other)?,
                    }
                }
            }
            Failure::Refused(kind, message, _) => {
                self.complain_of(path, &message);
                if let Some(advice) = advice(kind, path) {
                    let _ = writeln!(io::stderr(), "  {advice}");
                }
            }
        }
        Ok(())
    }

    /// Calls `f` with every file, including files in folders, and reports refused files. Returns the exit status.
    pub fn each(
        &mut self,
        files: &[PathBuf],
        mut f: impl FnMut(&mut Self, &Path) -> Result<(), Failure>,
    ) -> io::Result<u8> {
        let mut status = 0;
        for path in files {
            let found = paths::expand(path);
            let is_folder = path.is_dir();
            if is_folder && matches!(&found, Ok(found) if found.is_empty()) {
                self.complain_of(path, paths::NO_FILES);
                status = 1;
            }
            match found {
                Err(error) => {
                    self.complain_of(path, &error.to_string());
                    status = 1;
                }
                Ok(found) => {
                    for path in found {
                        if let Err(failure) = f(self, &path) {
                            self.refuse(&path, failure)?;
                            status = 1;
                        }
                    }
                }
            }
        }
        Ok(status)
    }

    /// Reports the result of processing one file, and returns the exit status.
    pub fn status_of(&mut self, path: &Path, result: Result<(), Failure>) -> io::Result<u8> {
        match result {
            Ok(()) => Ok(0),
            Err(failure) => self.refuse(path, failure).map(|()| 1),
        }
    }
}

/// Advice about a refused file; `None` if the message says what to do.
fn advice(kind: &str, path: &Path) -> Option<String> {
    let kind = ErrorKind::ALL.iter().find(|one| one.name() == kind)?;
    // Malformed and corrupt files: see `ErrorKind::code`.
    if !path.is_file() || !matches!(kind.code() / 100, 2 | 4) {
        return None;
    }
    let again = if matches!(kind, ErrorKind::Truncated | ErrorKind::OutOfFile) {
        "download or copy the file again, if its size is not that of the original; "
    } else {
        ""
    };
    Some(format!("{again}`tenslice explain --digest {}` shows the rule and the bytes", path.display()))
}
