//! `tenslice verify`

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tenslice::{Tensor, Warning};

use super::list::total;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Model, Opened};
use crate::common::reading::{Reading, check_limit, stored};
use crate::common::text::{plural, size};
use crate::progress;
use crate::terminal::Terminal;

/// Reads all data: compares digests, decodes, checks sparse indices
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Tensors that are read at the same time; by default as many as there are processors
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Also decode arrays of more than 1 GiB, with the padding of their chunks, or 2^24 chunks
    #[arg(long)]
    no_limit: bool,

    /// Say nothing of files that are as they should be
    #[arg(long, short)]
    quiet: bool,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        terminal.each(&self.files, |terminal, path| self.verify(terminal, path))
    }

    fn verify(&self, terminal: &mut Terminal, path: &Path) -> Result<(), Failure> {
        let mapped = Mapped::new(path)?;
        let model = mapped.open()?;
        if !self.no_limit {
            for opened in &model.files {
                check_limit(&opened.file)?;
            }
        }
        let tensors: Vec<_> = model.tensors().collect();
        let readings = self.read(&tensors, total(&model));
        let mut failures = tensors.iter().zip(&readings).filter_map(|((opened, _), reading)| {
            let error = reading.verdict.err()?;
            Some(opened.fail(error))
        });
        if let Some(first) = failures.next() {
            terminal.refuse(path, first)?;
            for failure in failures {
                terminal.refuse(path, failure)?;
            }
            return Err(Failure::Reported);
        }
        if self.quiet {
            return Ok(());
        }
        self.report(terminal, path, &model, &readings)
    }

    /// Reads the tensors by as many threads as there are to be, each taking the next that is left.
    fn read(&self, tensors: &[(&Opened<'_>, Tensor<'_>)], total: u64) -> Vec<Reading> {
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let bar = progress::bar(total);
        let next = AtomicUsize::new(0);
        let readings: Mutex<Vec<(usize, Reading)>> = Mutex::default();
        let work = || {
            while let Some((i, (opened, tensor))) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                tensors.get(i).map(|tensor| (i, tensor))
            } {
                let reading = Reading::of(opened, tensor, &|bytes| bar.inc(bytes));
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

    /// Says what was found in a file that is as it should be.
    fn report(
        &self,
        terminal: &mut Terminal,
        path: &Path,
        model: &Model<'_>,
        readings: &[Reading],
    ) -> Result<(), Failure> {
        let Terminal { out, look, .. } = terminal;
        let count = |state: &str| {
            readings.iter().flat_map(|reading| &reading.digests).filter(|digest| **digest == state).count() as u64
        };
        let tensors = readings.len() as u64;
        let bytes = model.tensors().map(|(_, tensor)| stored(&tensor)).sum();
        let mut parts = vec![format!("{tensors} tensor{}, {}", plural(tensors), size(bytes))];
        for (state, text) in [("verified", "verified"), ("of unknown kind", "of unknown kind")] {
            let digests = count(state);
            if digests > 0 {
                parts.push(format!("{digests} digest{} {text}", plural(digests)));
            }
        }
        let missing = count("in a shard that is not here");
        if missing > 0 {
            parts.push(format!("{missing} component{} in shards that are not here", plural(missing)));
        }
        writeln!(out, "{}: {} ({})", path.display(), look.painted("32", "ok"), parts.join(", "))?;
        let found = readings.iter().fold(0, |bits, reading| bits | reading.warnings);
        for opened in &model.files {
            for warning in Warning::ALL.iter().filter(|warning| warning.bit() & (opened.warnings.bits() | found) != 0)
            {
                let first = opened.first_of(*warning);
                writeln!(out, "  {} {}{first}", look.yellow("warning:"), warning.text())?;
            }
        }
        Ok(())
    }
}
