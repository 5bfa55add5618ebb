//! `tenslice stats`

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Value as Json, json};
use tenslice::DType;

use crate::common::budget::Budget;
use crate::common::columns::{Row, elements, rows, type_name};
use crate::common::failure::{Failure, LIMIT};
use crate::common::model::{Mapped, Model};
use crate::common::pattern::Pattern;
use crate::common::reading::{Progress, verify_whole};
use crate::common::table::{Fit, NOTHING, print};
use crate::common::text::{count, plain_name, plural, printable};
use crate::options::{Checks, Limits};
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::histogram::short;
use crate::values::quantiles::quantiles;
use crate::values::statistics::Statistics;

/// Compute statistics of all tensors: least, greatest, mean, standard deviation, zeros, NaN
///
/// Reads all data once, on all processors. Each quantile costs four more passes over the data, however many there are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Only tensors whose names match: a glob, a regular expression between slashes, or a part of the name
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse)]
    filter: Vec<Pattern>,

    /// Also compute these quantiles, from 0 to 1
    #[arg(long, value_name = "Q,...", value_delimiter = ',', value_parser = quantile)]
    quantiles: Vec<f64>,

    /// Also compute the SHA-256 of the elements as little-endian numbers, in stored order
    #[arg(long)]
    hash: bool,

    /// Fail if any number is NaN or infinite
    #[arg(long)]
    check: bool,

    /// Number of threads; by default the number of processors
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,
}

fn quantile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "a quantile is a number from 0 to 1".into())
}

/// The statistics of a tensor; `None` if its elements are not numbers.
struct Found {
    statistics: Option<Statistics>,
    quantiles: Vec<f64>,
    sha256: Option<String>,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let jobs = self.jobs.map_or(0, NonZeroUsize::get); // 0: the number of processors
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(io::Error::other)?;
        let budget = self.limits.budget();
        terminal.each(&self.files, |terminal, path| self.stats(terminal, path, &budget, &pool))
    }

    fn stats(
        &self,
        terminal: &mut Terminal,
        path: &Path,
        budget: &Budget,
        pool: &rayon::ThreadPool,
    ) -> Result<(), Failure> {
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        budget.add_file(model.length());
        model.files.iter().for_each(|opened| terminal.warn_of_data(opened));
        let rows = rows(&model, &self.filter);
        let length = |row: &Row<'_, '_>| {
            let size = row.tensor.dtype().and_then(DType::size).unwrap_or(4); // blocks are converted to f32
            elements(row.opened, &row.tensor).unwrap_or(0).saturating_mul(size)
        };
        let bar = progress::bar(rows.iter().map(length).fold(0, u64::saturating_add));
        let progress = |bytes: u64| bar.inc(bytes);
        let mut found: Vec<Result<Found, Failure>> =
            pool.install(|| rows.par_iter().map(|row| self.of(row, budget, &progress)).collect());
        // Beside others, memory may have been too scarce.
        for (row, found) in rows.iter().zip(&mut found) {
            if matches!(found, Err(Failure::Refused(LIMIT, ..))) {
                *found = pool.install(|| self.of(row, budget, &progress));
            }
        }
        bar.finish_and_clear();
        let mut failures: Vec<Failure> = Vec::new();
        if self.check {
            failures.extend(rows.iter().zip(&found).filter_map(|(row, found)| not_finite(row, found.as_ref().ok()?)));
        }
        if terminal.json {
            self.print_json(terminal, &model, &rows, &found)?;
        } else {
            self.print(terminal, &model, &rows, &found)?;
        }
        failures.extend(found.into_iter().filter_map(Result::err));
        if failures.is_empty() { Ok(()) } else { Err(Failure::Several(failures)) }
    }

    /// Computes the statistics of a tensor.
    fn of(&self, row: &Row<'_, '_>, budget: &Budget, progress: Progress<'_>) -> Result<Found, Failure> {
        let fail = |stop| row.opened.fail(stop);
        verify_whole(row.opened, &row.tensor, budget, self.checks.are_compared())?;
        let mut values = Values::of(row.opened, &row.tensor, budget)?;
        let statistics = Statistics::of(&mut values, progress).map_err(fail)?;
        let quantiles = match statistics.as_ref().filter(|found| found.count > 0 && !self.quantiles.is_empty()) {
            Some(found) => quantiles(&mut values, found.count, &self.quantiles).map_err(fail)?,
            None => Vec::new(),
        };
        let sha256 = if self.hash { Some(values.sha256().map_err(fail)?) } else { None };
        Ok(Found { statistics, quantiles, sha256 })
    }

    /// Prints a table, without the columns that are 0 for all tensors, and the sums.
    fn print(
        &self,
        terminal: &mut Terminal,
        model: &Model<'_>,
        rows: &[Row<'_, '_>],
        found: &[Result<Found, Failure>],
    ) -> io::Result<()> {
        let Terminal { out, look, .. } = terminal;
        let mut titles: Vec<(String, Fit)> = [("name", Fit::Name), ("dtype", Fit::Cut)]
            .into_iter()
            .chain(["min", "max", "mean", "std"].map(|title| (title, Fit::Whole)))
            .chain(["zeros", "NaN", "infinite"].map(|title| (title, Fit::LeftOut(1))))
            .map(|(title, fit)| (title.to_owned(), fit))
            .collect();
        titles.extend(self.quantiles.iter().map(|quantile| (format!("q{quantile}"), Fit::LeftOut(2))));
        titles.extend(self.hash.then(|| ("sha256".to_owned(), Fit::LeftOut(3))));
        let mut cells: Vec<Vec<String>> = rows.iter().zip(found).map(|(row, found)| self.cells(row, found)).collect();
        for column in (6..9).rev() {
            if cells.iter().all(|row| matches!(&*row[column], "0" | NOTHING)) {
                titles.remove(column);
                cells.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
        let titles: Vec<(&str, Fit)> = titles.iter().map(|(title, fit)| (&**title, *fit)).collect();
        let path = look.bold(&printable(&model.path.display().to_string()));
        let all = found.iter().filter_map(|found| found.as_ref().ok()?.statistics.as_ref());
        let sum = |f: fn(&Statistics) -> u64| all.clone().map(f).sum::<u64>();
        let (tensors, finite, nan, infinite) =
            (rows.len() as u64, sum(|all| all.count), sum(|all| all.nan), sum(|all| all.infinite));
        let numbers = finite + nan + infinite;
        writeln!(
            out,
            "{path}: {tensors} tensor{}, {} number{}, {nan} NaN, {infinite} infinite",
            plural(tensors),
            count(numbers),
            plural(numbers)
        )?;
        if rows.is_empty() { Ok(()) } else { print(out, *look, &titles, &cells) }
    }

    /// The cells of a tensor.
    fn cells(&self, row: &Row<'_, '_>, found: &Result<Found, Failure>) -> Vec<String> {
        let mut cells = vec![plain_name(&row.name), type_name(row.opened, &row.tensor)];
        let found = found.as_ref().ok();
        match found.and_then(|found| found.statistics.as_ref()) {
            Some(all) if all.count > 0 => {
                cells.extend(match all.ends {
                    Some((min, max)) => [min, max].map(|x| x.to_string()),
                    None => [all.min, all.max].map(short),
                });
                cells.extend([all.mean, all.deviation()].map(short));
            }
            _ => cells.extend([NOTHING; 4].map(String::from)),
        }
        let count = |f: fn(&Statistics) -> u64| {
            found.and_then(|found| found.statistics.as_ref()).map_or(NOTHING.into(), |all| f(all).to_string())
        };
        cells.extend([count(|all| all.zeros), count(|all| all.nan), count(|all| all.infinite)]);
        let quantile =
            |i: usize| found.and_then(|found| found.quantiles.get(i)).map_or(NOTHING.into(), |x| short(*x));
        cells.extend((0..self.quantiles.len()).map(quantile));
        let hash = || found.and_then(|found| found.sha256.clone()).unwrap_or_else(|| NOTHING.into());
        cells.extend(self.hash.then(hash));
        cells
    }

    fn print_json(
        &self,
        terminal: &mut Terminal,
        model: &Model<'_>,
        rows: &[Row<'_, '_>],
        found: &[Result<Found, Failure>],
    ) -> io::Result<()> {
        let of_one = |(row, found): (&Row<'_, '_>, &Result<Found, Failure>)| {
            let mut record = json!({"name": row.name, "type": type_name(row.opened, &row.tensor)});
            match found {
                Ok(found) => {
                    record["statistics"] = found.statistics.as_ref().map_or(Json::Null, Statistics::record);
                    let pairs = self.quantiles.iter().zip(&found.quantiles);
                    record["quantiles"] = pairs.map(|(q, number)| json!({"q": q, "value": number})).collect();
                    record["sha256"] = json!(found.sha256);
                }
                Err(failure) => record["error"] = json!(failure.to_string()),
            }
            record
        };
        let tensors: Vec<Json> = rows.iter().zip(found).map(of_one).collect();
        terminal.record("stats", json!({"file": model.path.to_string_lossy(), "tensors": tensors}))
    }
}

/// The failure of `--check`, if any number of a tensor is not finite.
fn not_finite(row: &Row<'_, '_>, found: &Found) -> Option<Failure> {
    let all = found.statistics.as_ref().filter(|all| all.nan + all.infinite > 0)?;
    let name = printable(&row.name);
    let message = format!("tensor \"{name}\": {} NaN, {} infinite", all.nan, all.infinite);
    let failure = Failure::new("NotFinite", message);
    Some(if let Some(name) = row.opened.name { failure.in_file(name) } else { failure })
}
