//! Lists tensor files like `tenslice list`, with the same code. Can be built with any features of the library.
//!
//! `cargo run --example inspect -- [--json] [--digest] [--no-limit] FILE...`

#[allow(dead_code)] // the tool uses all of it
#[path = "../../cli/src/common/mod.rs"]
mod common;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::budget::Budget;
use common::failure::Failure;
use common::list::{Options, list};
use common::model::{Mapped, Target};
use common::reading::Work;
use common::record;
use common::table::Look;

const USAGE: &str = "usage: inspect [--json] [--digest] [--no-limit] FILE...";

fn main() -> ExitCode {
    let (mut options, mut has_limits) = (Options::default(), true);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    for argument in arguments.by_ref() {
        match argument.to_str() {
            Some("--") => break,
            Some("--json") => options.json = true,
            Some("--digest") => options.digest = true,
            Some("--no-limit") => has_limits = false,
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
    match run(options, has_limits, &files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS, // the reader stopped early
        Err(error) => {
            eprintln!("inspect: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Lists all files. Returns true if all were accepted.
fn run(options: Options, has_limits: bool, files: &[PathBuf]) -> io::Result<bool> {
    let budget = Budget::new(has_limits);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut all_accepted = true;
    for (i, path) in files.iter().enumerate() {
        if i > 0 && !options.json {
            writeln!(out)?;
        }
        let Err(failure) = show(&mut out, options, path, &budget) else { continue };
        match failure {
            Failure::Refused(kind, message, offset) if options.json => {
                writeln!(out, "{}", record::of_failure(&path.to_string_lossy(), kind, &message, offset))?;
            }
            failure => report(&mut out, path, failure)?,
        }
        all_accepted = false;
    }
    out.flush()?;
    Ok(all_accepted)
}

fn show(out: &mut impl Write, options: Options, path: &Path, budget: &Budget) -> Result<(), Failure> {
    let mapped = Mapped::new(&Target::File(path.into()))?;
    let model = mapped.open()?;
    budget.add_file(model.length());
    list(out, Look::default(), options, &model, Work { budget, progress: &|_| {} })
}

/// Prints why a file was refused. Returns an error if the output cannot be written.
fn report(out: &mut impl Write, path: &Path, failure: Failure) -> io::Result<()> {
    match failure {
        Failure::Output(error) => return Err(error),
        Failure::Reported => {}
        Failure::Several(all) => {
            for failure in all {
                report(out, path, failure)?;
            }
        }
        Failure::Refused(_, message, _) => {
            out.flush()?;
            eprintln!("error: {}: {message}", path.display());
        }
    }
    Ok(())
}
