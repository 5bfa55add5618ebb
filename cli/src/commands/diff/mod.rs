//! `tenslice diff`

mod elements;
mod metadata;
mod report;
mod tensors;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tenslice::Purpose;

use self::metadata::metadata_differences;
use self::report::Report;
use self::tensors::{Compared, Notes, State, Tensors, Unread, describe};
use crate::common::budget::Budget;
use crate::common::failure::{Failure, LIMIT};
use crate::common::model::{Mapped, Model};
use crate::common::text::plain_name;
use crate::options::{Checks, Limits};
use crate::paths;
use crate::progress;
use crate::terminal::Terminal;

/// Compare two models: names, shapes, dtypes, attributes, values, metadata
///
/// Tensors are compared by name and as dense arrays, regardless of format, compression, byte order and element order.
/// Element types are compared as well: units of times, fields of records, quantized types. The tensors that differ the
/// most come first: sorted by the L2 norm of the difference, relative to that of the tensor of A. Two folders with
/// several models are compared file by file. Exit status: 0 if there is no difference, 1 if tensors or metadata differ
/// or cannot be read, 2 for wrong usage or a refused file.
#[derive(clap::Args)]
pub struct Arguments {
    a: PathBuf,
    b: PathBuf,

    /// Treat numbers as equal if |a - b| <= DIFFERENCE + RATIO * |b|, as NumPy's allclose does: this is DIFFERENCE
    #[arg(long, visible_alias = "tolerance", value_name = "DIFFERENCE", default_value_t = 0.0)]
    atol: f64,

    /// RATIO: see --atol
    #[arg(long, value_name = "RATIO", default_value_t = 0.0)]
    rtol: f64,

    /// Compare only names, shapes, dtypes, attributes and metadata
    #[arg(long)]
    no_values: bool,

    /// Do not compare the metadata of the files; it is compared only if both have the same format
    #[arg(long)]
    no_metadata: bool,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let budget = self.limits.budget();
        let [of_a, of_b] = [&self.a, &self.b].map(|path| models(path));
        let (of_a, of_b) = match (of_a, of_b) {
            (Ok(a), Ok(b)) => (a, b),
            (a, b) => return self.refuse(terminal, (&self.a, a.err()), (&self.b, b.err())),
        };
        if let ([a], [b]) = (&of_a[..], &of_b[..]) {
            return self.pair(terminal, &a.1, &b.1, &budget);
        }
        // Both are folders: files with the same path below them are compared.
        let mut pairs: BTreeMap<PathBuf, [Option<PathBuf>; 2]> = BTreeMap::new();
        for (i, (below, path)) in of_a.into_iter().map(|one| (0, one)).chain(of_b.into_iter().map(|one| (1, one))) {
            pairs.entry(below).or_default()[i] = Some(path);
        }
        let mut status = 0;
        for [a, b] in pairs.into_values() {
            status = status.max(match (a, b) {
                (Some(a), Some(b)) => self.pair(terminal, &a, &b, &budget)?,
                (a, b) => report::print_file(terminal, a.as_deref(), b.as_deref()).map(|()| 1)?,
            });
        }
        Ok(status)
    }

    /// Compares two models, and prints the differences.
    fn pair(&self, terminal: &mut Terminal, a: &Path, b: &Path, budget: &Budget) -> io::Result<u8> {
        let (of_a, of_b) = match (Mapped::new(a), Mapped::new(b)) {
            (Ok(a), Ok(b)) => (a, b),
            (of_a, of_b) => return self.refuse(terminal, (a, of_a.err()), (b, of_b.err())),
        };
        let [mut tables_a, mut tables_b] = [&of_a, &of_b].map(Mapped::tables);
        match (of_a.open(&mut tables_a), of_b.open(&mut tables_b)) {
            (Ok(of_a), Ok(of_b)) => {
                of_a.files.iter().chain(&of_b.files).for_each(|opened| terminal.warn_of_data(opened));
                let report = self.compare(&of_a, &of_b, budget);
                report.print(terminal, self.no_values)?;
                Ok(u8::from(!report.is_same()))
            }
            (of_a, of_b) => self.refuse(terminal, (a, of_a.err()), (b, of_b.err())),
        }
    }

    fn refuse(
        &self,
        terminal: &mut Terminal,
        (path_a, a): (&Path, Option<Failure>),
        (path_b, b): (&Path, Option<Failure>),
    ) -> io::Result<u8> {
        for (path, failure) in [(path_a, a), (path_b, b)] {
            if let Some(failure) = failure {
                terminal.refuse(path, failure)?;
            }
        }
        Ok(2)
    }

    fn compare<'m>(&self, a: &'m Model<'_>, b: &'m Model<'_>, budget: &Budget) -> Report<'m> {
        budget.add_file(a.length().saturating_add(b.length()));
        let (of_a, of_b) = (Tensors::of(a), Tensors::of(b));
        let mut notes = Notes::default();
        let lengths = of_a.all.iter().filter_map(|(_, (_, tensor))| tensor.requirements(Purpose::Read).output);
        let bar = progress::bar(if self.no_values { 0 } else { lengths.fold(0, u64::saturating_add) });
        let mut compared = Vec::new();
        for (key, found) in &of_a.all {
            let Some(other) = of_b.get(key) else {
                compared.push(Compared::new(plain_name(&key.0), State::OnlyA, vec![describe(*found)]));
                continue;
            };
            let differences = tensors::differences(self, *found, other, budget, &mut notes);
            bar.inc(found.1.requirements(Purpose::Read).output.unwrap_or(0));
            compared.push(match differences {
                Ok((lines, values)) => {
                    let state = if lines.is_empty() && values.is_none() { State::Same } else { State::Different };
                    Compared { values, ..Compared::new(plain_name(&key.0), state, lines) }
                }
                Err(Unread { kind, why }) => {
                    // Tensors after the first one that exceeds a limit are only counted.
                    let is_counted = kind == LIMIT && compared.iter().any(Compared::is_over_limit);
                    let lines = if is_counted { Vec::new() } else { vec![format!("not compared: {why}")] };
                    let state = if kind == LIMIT { State::OverLimit } else { State::Unread };
                    Compared::new(plain_name(&key.0), state, lines)
                }
            });
        }
        bar.finish_and_clear();
        let only_b = of_b.all.iter().filter(|(key, _)| of_a.get(key).is_none());
        compared.extend(
            only_b.map(|(key, found)| Compared::new(plain_name(&key.0), State::OnlyB, vec![describe(*found)])),
        );
        let mut problems = Vec::new();
        for (model, tensors) in [(a, &of_a), (b, &of_b)] {
            // A listed tensor is reported as "not compared" above.
            let is_there = |name: &String| tensors.has(name);
            let others = model.problems.iter().filter(|problem| !problem.tensor.as_ref().is_some_and(is_there));
            problems.extend(others.map(|problem| format!("{}: {}", model.path.display(), problem.line())));
        }
        let metadata = if self.no_metadata { Vec::new() } else { metadata_differences(a, b) };
        Report { a: a.path, b: b.path, problems, metadata, tensors: compared, notes }
    }
}

/// The models at a path, each with its path below the folder.
fn models(path: &Path) -> Result<Vec<(PathBuf, PathBuf)>, Failure> {
    let found = paths::expand(path).map_err(|error| Failure::unreadable(&error))?;
    if found.is_empty() {
        return Err(Failure::new("NotFound", paths::NO_FILES));
    }
    let below = |found: PathBuf| (found.strip_prefix(path).unwrap_or(&found).to_owned(), found);
    Ok(found.into_iter().map(below).collect())
}
