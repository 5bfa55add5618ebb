//! Standard output and standard error.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use serde_json::{Value as Json, json};
use tenslice::ErrorKind;

use crate::Color;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::record;
use crate::common::table::Look;
use crate::{output, paths};

/// Standard output, and the appearance of standard output and standard error.
pub struct Terminal {
    pub out: BufWriter<StdoutLock<'static>>,
    pub look: Look,
    /// True to print records instead of texts and tables.
    pub json: bool,
    errors: Look,
}

impl Terminal {
    pub fn new(color: Color, width: Option<usize>, json: bool) -> Self {
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
        Self { out: BufWriter::new(out), look, json, errors }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Prints a record on one line: see `docs/tool-schema.json`.
    pub fn record(&mut self, kind: &str, fields: Json) -> io::Result<()> {
        writeln!(self.out, "{}", record::to_line(kind, fields))
    }

    /// Writes a warning to standard error after flushing standard output.
    pub fn warn(&mut self, message: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr(), "{} {message}", self.errors.yellow("warning:"));
    }

    /// Writes a remark to standard error after flushing standard output.
    #[cfg(feature = "url")]
    pub fn remark(&mut self, message: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr(), "{message}");
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

    /// Reports an error about a path: as a message, or as a record.
    fn report(&mut self, path: &Path, kind: &str, message: &str, offset: Option<u64>) -> io::Result<()> {
        if self.json {
            return self.record("error", record::of_failure(&path.to_string_lossy(), kind, message, offset));
        }
        self.complain(&format!("{}: {message}", path.display()));
        Ok(())
    }

    /// Reports why a file was refused. Returns an error if the output cannot be written.
    pub fn refuse(&mut self, path: &Path, failure: Failure) -> io::Result<()> {
        match failure {
            Failure::Output(error) => return Err(error),
            Failure::Reported => {}
            // Advice about the first of them concerns all.
            Failure::Several(failures) => {
                let mut advised = None;
                for failure in failures {
                    match failure {
                        Failure::Refused(kind, message, offset) => {
                            self.report(path, kind, &message, offset)?;
                            advised = advised.or_else(|| advice(kind, &message, path));
                        }
                        other => self.refuse(path, other)?,
                    }
                }
                self.advise(advised);
            }
            Failure::Refused(kind, message, offset) => {
                self.report(path, kind, &message, offset)?;
                self.advise(advice(kind, &message, path));
            }
        }
        Ok(())
    }

    /// Writes advice after an error message. Records have none.
    fn advise(&self, advice: Option<String>) {
        if let Some(advice) = advice.filter(|_| !self.json) {
            let _ = writeln!(io::stderr(), "  {advice}");
        }
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
                self.report(path, ErrorKind::NotFound.name(), paths::NO_FILES, None)?;
                status = 1;
            }
            match found {
                Err(error) => {
                    self.report(path, "Io", &error.to_string(), None)?;
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

    /// Reports the result of processing one file, and returns the exit status. A record names the files that were
    /// written.
    pub fn status_of(&mut self, path: &Path, result: Result<(), Failure>) -> io::Result<u8> {
        match result {
            Ok(()) => {
                let written = output::take_written();
                if self.json && !written.is_empty() {
                    let written: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
                    self.record("written", json!({"file": path.to_string_lossy(), "written": written}))?;
                }
                Ok(0)
            }
            Err(failure) => self.refuse(path, failure).map(|()| 1),
        }
    }
}

const AGAIN_IF_SHORT: &str = "download or copy the file again, if its size is not that of the original; ";

/// Advice about a refused file; `None` if the message says what to do.
fn advice(kind: &str, message: &str, path: &Path) -> Option<String> {
    let kind = ErrorKind::ALL.iter().find(|one| one.name() == kind)?;
    // Malformed and corrupt files: see `ErrorKind::code`. Of an index, `explain` shows nothing.
    let is_index = path.extension().is_some_and(|extension| extension == "json");
    if !path.is_file() || is_index || !matches!(kind.code() / 100, 2 | 4) {
        return None;
    }
    let again = match kind {
        ErrorKind::Truncated | ErrorKind::OutOfFile => AGAIN_IF_SHORT,
        ErrorKind::DigestMismatch | ErrorKind::ChecksumMismatch => {
            "download or copy the file again: these are not the bytes that were written; "
        }
        _ if message.contains("the file is truncated") => AGAIN_IF_SHORT,
        _ => "",
    };
    Some(format!("{again}`tenslice explain --digest {}` shows the rule and the bytes", path.display()))
}
