//! `tenslice explain`

mod hexdump;
mod sections;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{Error, ErrorKind, File};

use crate::common::budget::{Budget, Stop};
use crate::common::failure::Failure;
use crate::common::mapping::map;
use crate::common::model::array::Unreadable;
use crate::common::model::{Mapped, Opened, checked};
use crate::common::problem::Problem;
use crate::common::reading::{Reading, Work};
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
        let Terminal { out, look, .. } = terminal;
        if let Err(error) = open(&bytes) {
            return refused(out, *look, path, &bytes, error);
        }
        if path == Path::new("-") {
            // Standard input cannot be read twice.
            return Ok(writeln!(out, "-: {}", look.painted("32", "accepted"))?);
        }
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let unreadable = model.tensors().find_map(|(opened, tensor)| Some((opened, tensor.problem()?)));
        if let Some((opened, error)) = unreadable {
            return refused(out, *look, opened.path, opened.bytes, error);
        }
        if let Some((opened, unreadable)) = model.tensors().find_map(|(opened, tensor)| {
            opened.arrays.get(&tensor.index()).and_then(|array| Some((opened, array.as_ref().err()?)))
        }) {
            return unreadable_array(out, *look, opened, unreadable);
        }
        if !model.problems.is_empty() {
            return Failure::all(model.problems);
        }
        if self.digest {
            budget.add_file(model.length());
            for (opened, tensor) in model.tensors() {
                match Reading::of(opened, &tensor, Work { budget, progress: &|_| {} }).verdict {
                    Ok(()) => {}
                    Err(Stop::Error(error)) => return refused(out, *look, opened.path, opened.bytes, error),
                    Err(stop) => return Err(Problem::of_stop(opened.name, &tensor, stop, opened.bytes).into()),
                }
            }
        }
        let count = model.tensors().count() as u64;
        let read = if self.digest { ", all data read" } else { ", data not read: --digest reads it" };
        let accepted = look.painted("32", "accepted");
        writeln!(out, "{}: {accepted}, {count} tensor{}{read}", path.display(), plural(count))?;
        let of_files = model.files.iter().flat_map(|opened| opened.warnings(0));
        for warning in of_files.chain(model.warnings.iter().cloned()) {
            writeln!(out, "  {} {}", look.yellow("warning:"), warning.line())?;
        }
        Ok(())
    }
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
fn refused(out: &mut impl Write, look: Look, path: &Path, bytes: &[u8], error: Error) -> Result<(), Failure> {
    facts(out, look, path, &error.explain(bytes).to_string(), (error, bytes))?;
    if let Some(at) = error.offset() {
        place(out, look, (error, bytes), at, "")?;
    }
    Err(Failure::Reported)
}

/// Prints everything known about a compressed array whose header is invalid. The bytes printed are the decoded ones.
fn unreadable_array(
    out: &mut impl Write,
    look: Look,
    opened: &Opened<'_>,
    Unreadable { problem, error, inside }: &Unreadable,
) -> Result<(), Failure> {
    let error = *error;
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
