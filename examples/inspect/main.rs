//! Shows what is in tensor files, as `tenslice list` does: the same code, to be built with any features of the library.
//!
//! `cargo run --example inspect -- [--json] [--digest] [--no-limit] FILE...`

#[allow(dead_code)] // the tool uses all of it
#[path = "../../cli/src/common/mod.rs"]
mod common;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::failure::Failure;
use common::list::{Options, list};
use common::model::{Mapped, Target};
use common::record;
use common::table::Look;

const USAGE: &str = "usage: inspect [--json] [--digest] [--no-limit] FILE...";

fn main() -> ExitCode {
    let mut options = Options::default();
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    for argument in arguments.by_ref() {
        match argument.to_str() {
            Some("--") => break,
            Some("--json") => options.json = true,
            Some("--digest") => options.digest = true,
            Some("--no-limit") => options.no_limit = true,
            Some(other) if other.starts_with("--") => {
                eprintln!("inspect: unknown option {other}\n{USAGE}");
                return ExitCode::from(2);
            }
            _ => files.push(argument.into()),
        }
    }
    files.extend(arguments.map(PathBuf::from));
    if files.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match run(options, &files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS, // the reader has seen enough
        Err(error) => {
            eprintln!("inspect: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Shows all files; returns whether all were accepted.
fn run(options: Options, files: &[PathBuf]) -> io::Result<bool> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut all_accepted = true;
    for (i, path) in files.iter().enumerate() {
        if i > 0 && !options.json {
            writeln!(out)?;
        }
        match show(&mut out, options, path) {
            Ok(()) => continue,
            Err(Failure::Output(error)) => return Err(error),
            Err(Failure::Reported) => {}
            Err(Failure::Refused(kind, message, offset)) if options.json => {
                writeln!(out, "{}", record::of_failure(&path.to_string_lossy(), kind, &message, offset))?;
            }
            Err(Failure::Refused(_, message, _)) => {
                out.flush()?;
                eprintln!("error: {}: {message}", path.display());
            }
        }
        all_accepted = false;
    }
    out.flush()?;
    Ok(all_accepted)
}

fn show(out: &mut impl Write, options: Options, path: &Path) -> Result<(), Failure> {
    list(out, Look::default(), options, &Mapped::new(&Target::File(path.into()))?.open()?, &|_| {})
}
