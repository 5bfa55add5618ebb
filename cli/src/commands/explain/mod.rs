//! `tenslice explain`

mod hexdump;
mod sections;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tenslice::safetensors::Index;
use tenslice::{Error, ErrorKind, File};

use crate::common::budget::{Budget, Stop};
use crate::common::checkpoint::{code, unknown_globals};
use crate::common::failure::Failure;
use crate::common::mapping::map;
use crate::common::model::array::Unreadable;
use crate::common::model::{Mapped, Opened, checked};
use crate::common::problem::Problem;
use crate::common::reading::{Reading, Work};
use crate::common::record::of_problem;
use crate::common::table::Look;
use crate::common::text::plural;
use crate::options::Limits;
use crate::terminal::Terminal;

/// Explain why files are refused: the rule, the section of the specification, the bytes around the error
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also read all data: digests, compressed streams, sparse indices
    #[arg(long)]
    digest: bool,

    #[command(flatten)]
    limits: Limits,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let budget = self.limits.budget();
        terminal.each(&self.files, |terminal, path| self.explain(terminal, path, &budget))
    }

    fn explain(&self, terminal: &mut Terminal, path: &Path, budget: &Budget) -> Result<(), Failure> {
        let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
        if let Err(error) = open(&bytes) {
            return refused(terminal, path, &bytes, error);
        }
        if path == Path::new("-") {
            // Standard input cannot be read twice.
            return accepted(terminal, path, None, &[], None);
        }
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let unreadable = model.tensors().find_map(|(opened, tensor)| Some((opened, tensor.problem()?)));
        if let Some((opened, error)) = unreadable {
            return refused(terminal, opened.path, opened.bytes, error);
        }
        if let Some((opened, unreadable)) = model.tensors().find_map(|(opened, tensor)| {
            opened.arrays.get(&tensor.index()).and_then(|array| Some((opened, array.as_ref().err()?)))
        }) {
            return unreadable_array(terminal, opened, unreadable);
        }
        if !model.problems.is_empty() {
            return Failure::all(model.problems);
        }
        if self.digest {
            budget.add_file(model.length());
            for (opened, tensor) in model.tensors() {
                match Reading::of(opened, &tensor, Work { budget, progress: &|_| {} }).verdict {
                    Ok(()) => {}
                    Err(Stop::Error(error)) => return refused(terminal, opened.path, opened.bytes, error),
                    Err(stop) => return Err(Problem::of_stop(opened.name, &tensor, stop, opened.input).into()),
                }
            }
        }
        let of_files = model.files.iter().flat_map(|opened| opened.warnings(0));
        let warnings: Vec<Problem> = of_files.chain(model.warnings.iter().cloned()).collect();
        let names = unknown_globals(&model);
        accepted(terminal, path, Some((model.tensors().count() as u64, self.digest)), &warnings, names)
    }
}

/// Says that a file is accepted: the number of its tensors, and true if all data was read; the names of unknown code.
fn accepted(
    terminal: &mut Terminal,
    path: &Path,
    tensors: Option<(u64, bool)>,
    warnings: &[Problem],
    unknown_globals: Option<Vec<String>>,
) -> Result<(), Failure> {
    if terminal.json {
        let fields = json!({
            "file": path.to_string_lossy(),
            "accepted": true,
            "data_read": tensors.is_some_and(|(_, is_read)| is_read),
            "warnings": warnings.iter().map(of_problem).collect::<Json>(),
            "unknown_globals": unknown_globals,
        });
        return Ok(terminal.record("explain", fields)?);
    }
    let Terminal { out, look, .. } = terminal;
    let what = match tensors {
        None => String::new(),
        Some((count, is_read)) => {
            let read = if is_read { "all data read" } else { "data not read: --digest reads it" };
            format!(", {count} tensor{}, {read}", plural(count))
        }
    };
    writeln!(out, "{}: {}{what}", path.display(), look.painted("32", "accepted"))?;
    for warning in warnings {
        writeln!(out, "  {} {}", look.yellow("warning:"), warning.line())?;
    }
    unknown_globals.map_or(Ok(()), |names| Ok(line(out, *look, "code", &code(&names))?))
}

/// Opens a file, or the index of a model.
fn open(bytes: &[u8]) -> Result<(), Error> {
    match File::open(bytes) {
        Err(error) if error.kind() == ErrorKind::UnknownFormat => match Index::open(bytes) {
            Err(of_index) if bytes.trim_ascii_start().first() == Some(&b'{') => Err(of_index),
            Err(_) => Err(error),
            Ok(_) => Ok(()),
        },
        opened => checked(&opened?).map(drop),
    }
}

/// Prints everything known about an error.
fn refused(terminal: &mut Terminal, path: &Path, bytes: &[u8], error: Error) -> Result<(), Failure> {
    let message = error.explain(bytes).to_string();
    if terminal.json {
        return record(terminal, path, &message, (error, bytes));
    }
    let Terminal { out, look, .. } = terminal;
    let look = *look;
    facts(out, look, path, &message, (error, bytes))?;
    if let Some(at) = error.offset() {
        place(out, look, (error, bytes), at, "")?;
    }
    Err(Failure::Reported)
}

/// Prints the record of an error.
fn record(
    terminal: &mut Terminal,
    path: &Path,
    message: &str,
    (error, bytes): (Error, &[u8]),
) -> Result<(), Failure> {
    let fields = json!({
        "file": path.to_string_lossy(),
        "accepted": false,
        "error": {
            "kind": error.kind().name(),
            "code": error.kind().code(),
            "message": message,
            "rule": error.kind().text(),
            "part": error.part().text(),
            "section": sections::of(&error, bytes),
            "offset": error.offset(),
        },
    });
    terminal.record("explain", fields)?;
    Err(Failure::Reported)
}

/// Prints everything known about a compressed array whose header is invalid. The bytes printed are the decoded ones.
fn unreadable_array(
    terminal: &mut Terminal,
    opened: &Opened<'_>,
    Unreadable { problem, error, inside }: &Unreadable,
) -> Result<(), Failure> {
    let error = *error;
    if terminal.json {
        return record(terminal, opened.path, &problem.message, (error, opened.bytes));
    }
    let Terminal { out, look, .. } = terminal;
    let look = *look;
    facts(out, look, opened.path, &problem.message, (error, opened.bytes))?;
    match (inside, error.offset()) {
        (Some((inside, head)), _) => {
            place(out, look, (*inside, head), inside.offset().unwrap_or(0), " of the decoded header")?;
        }
        (None, Some(at)) => place(out, look, (error, opened.bytes), at, "")?,
        (None, None) => {}
    }
    Err(Failure::Reported)
}

/// Prints the message, the rule, and the section that states the rule.
fn facts(
    out: &mut impl Write,
    look: Look,
    path: &Path,
    message: &str,
    (error, bytes): (Error, &[u8]),
) -> io::Result<()> {
    writeln!(out, "{}: {}", path.display(), look.painted("31", "refused"))?;
    line(out, look, "message", message)?;
    line(out, look, "rule", &format!("{} ({}): {}", error.kind().name(), error.kind().code(), error.kind().text()))?;
    line(out, look, "part", error.part().text())?;
    if let Some(section) = sections::of(&error, bytes) {
        line(out, look, "text", &section)?;
    }
    if let Some(entry) = error.entry().filter(|entry| Some(*entry) != error.offset()) {
        let start = usize::try_from(entry).ok().and_then(|entry| bytes.get(entry..)).unwrap_or_default();
        let is_metadata = start.starts_with(b"\"__metadata__\"");
        let name = if is_metadata { "metadata" } else { "tensor" };
        line(out, look, name, &format!("its entry begins at byte {entry}"))?;
    }
    Ok(())
}

fn line(out: &mut impl Write, look: Look, name: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {} {text}", look.bold(&format!("{name:<8}")))
}

/// Prints the bytes around the offset of an error.
fn place(out: &mut impl Write, look: Look, (error, bytes): (Error, &[u8]), at: u64, note: &str) -> io::Result<()> {
    line(out, look, "place", &format!("byte {at} of {}{note}", bytes.len()))?;
    hexdump::print(out, look, bytes, at, hexdump::field(&error, bytes, at))
}
