//! `tenslice verify`

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value as Json, json};
use tenslice::Tensor;

use super::list::total;
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Model, Opened};
use crate::common::problem::Problem;
use crate::common::reading::{Reading, Work};
use crate::common::record::of_problem;
use crate::common::text::{plural, printable, size};
use crate::options::Limits;
use crate::progress;
use crate::terminal::Terminal;

/// Read all data: verify digests, decode, check sparse indices
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Number of tensors to read in parallel; by default the number of processors
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    limits: Limits,

    /// Print nothing for valid files
    #[arg(long, short)]
    quiet: bool,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let budget = self.limits.shared_budget();
        terminal.each(&self.files, |terminal, path| self.verify(terminal, path, &budget))
    }

    fn verify(&self, terminal: &mut Terminal, path: &Path, budget: &Budget) -> Result<(), Failure> {
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        budget.add_file(model.length());
        let tensors: Vec<_> = model.tensors().collect();
        let readings = self.read(&tensors, total(&model), budget);
        let of_model = model.problems.iter().cloned();
        let of_tensors = tensors.iter().zip(&readings).filter_map(|((opened, tensor), reading)| {
            let stop = reading.verdict.err()?;
            Some(Problem::of_stop(opened.name, tensor, stop, opened.input))
        });
        let failures: Vec<_> = of_model.chain(of_tensors).collect();
        if terminal.json {
            terminal.record("verify", record(&model, &readings, &failures))?;
            return if failures.is_empty() { Ok(()) } else { Err(Failure::Reported) };
        }
        if failures.is_empty() && !self.quiet {
            report(terminal, &model, &readings)?;
        } else if !failures.is_empty() {
            warn(terminal, &model, &readings)?;
        }
        Failure::all(failures)
    }

    /// Reads the tensors on several threads, each of which takes the next unread tensor.
    fn read(&self, tensors: &[(&Opened<'_>, Tensor<'_>)], total: u64, budget: &Budget) -> Vec<Reading> {
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let bar = progress::bar(total);
        let next = AtomicUsize::new(0);
        let readings: Mutex<Vec<(usize, Reading)>> = Mutex::default();
        let work = || {
            while let Some((i, (opened, tensor))) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                tensors.get(i).map(|tensor| (i, tensor))
            } {
                let reading = Reading::of(opened, tensor, Work { budget, progress: &|bytes| bar.inc(bytes) });
                if let Ok(mut readings) = readings.lock() {
                    readings.push((i, reading));
                }
            }
        };
        thread::scope(|scope| {
            (1..jobs.min(tensors.len())).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        bar.finish_and_clear();
        let mut readings = readings.into_inner().unwrap_or_default();
        readings.sort_by_key(|(i, _)| *i);
        readings.into_iter().map(|(_, reading)| reading).collect()
    }
}

/// The number of checksums in a state.
fn count(readings: &[Reading], state: &str) -> u64 {
    readings.iter().flat_map(|reading| &reading.digests).filter(|digest| **digest == state).count() as u64
}

/// The warnings about a model and its data.
fn warnings(model: &Model<'_>, readings: &[Reading]) -> Vec<Problem> {
    let of_data = readings.iter().fold(0, |bits, reading| bits | reading.warnings);
    let of_files = model.files.iter().flat_map(|opened| opened.warnings(of_data));
    of_files.chain(model.warnings.iter().cloned()).collect()
}

/// The record of the results.
fn record(model: &Model<'_>, readings: &[Reading], failures: &[Problem]) -> Json {
    json!({
        "file": model.path.to_string_lossy(),
        "ok": failures.is_empty(),
        "tensors": readings.len(),
        "bytes": model.files.iter().map(Opened::stored).fold(0, u64::saturating_add),
        "verified": count(readings, "verified"),
        "unknown": count(readings, "of unknown kind"),
        "problems": Problem::with_one_limit(failures.to_vec()).iter().map(of_problem).collect::<Json>(),
        "warnings": warnings(model, readings).iter().map(of_problem).collect::<Json>(),
    })
}

/// Prints the results for a model without errors.
fn report(terminal: &mut Terminal, model: &Model<'_>, readings: &[Reading]) -> Result<(), Failure> {
    let tensors = readings.len() as u64;
    let bytes = model.files.iter().map(Opened::stored).fold(0, u64::saturating_add);
    let mut parts = vec![format!("{tensors} tensor{}, {}", plural(tensors), size(bytes))];
    for state in ["verified", "of unknown kind"] {
        let checksums = count(readings, state);
        if checksums > 0 {
            parts.push(format!("{checksums} checksum{} {state}", plural(checksums)));
        }
    }
    if parts.len() == 1 {
        parts.push("nothing to verify: no checksums".into());
    }
    let ok = terminal.look.painted("32", "ok");
    writeln!(terminal.out, "{}: {ok} ({})", model.path.display(), parts.join(", "))?;
    let files: Vec<String> = model.files.iter().filter_map(|opened| opened.name.map(printable)).collect();
    if !files.is_empty() {
        writeln!(terminal.out, "  files: {}", files.join(", "))?;
    }
    warn(terminal, model, readings)
}

/// Prints the warnings about a model and its data.
fn warn(terminal: &mut Terminal, model: &Model<'_>, readings: &[Reading]) -> Result<(), Failure> {
    let Terminal { out, look, .. } = terminal;
    for warning in warnings(model, readings) {
        writeln!(out, "  {} {}", look.yellow("warning:"), warning.line())?;
    }
    Ok(())
}
