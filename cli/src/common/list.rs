//! Lists the contents of models: the summary, the metadata, and the tensors, as a table or as a tree.

use std::io::{self, Write};

use tenslice::Attributes;

use super::columns::{Column, Row, Sort, USUAL, rows};
use super::details::{print_attributes, print_format};
use super::failure::Failure;
use super::model::{Model, Opened};
use super::pattern::Pattern;
use super::problem::Problem;
use super::reading::{Reading, Work};
use super::record;
use super::summary::Summary;
use super::table::{Look, print};
use super::text::{plural, printable, size};
use super::tree::print_tree;

/// The tensors and columns of a list, and its form.
#[derive(clap::Args)]
pub struct Options {
    /// Print only the tensors, as values separated by tabs, with exact numbers
    #[arg(long, conflicts_with = "tree")]
    pub tsv: bool,

    /// Print the tensors as a tree of the parts of their names; layers that are alike are printed once
    #[arg(long, conflicts_with = "columns")]
    pub tree: bool,

    /// List only tensors whose names match: a glob such as '*.weight', a regular expression such as '/q_proj|k_proj/',
    /// or a part of the name
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse)]
    pub filter: Vec<Pattern>,

    /// Sort the tensors; by default they are in the order of the file
    #[arg(long, value_name = "KEY")]
    pub sort: Option<Sort>,

    /// Print these columns, also if they say nothing
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub columns: Vec<Column>,

    /// Print only one value of the metadata, as it is: by its key, or by the end of the key, such as chat_template
    #[arg(long, value_name = "KEY", conflicts_with_all = ["tsv", "tree", "columns", "digest"])]
    pub metadata: Option<String>,

    /// Print only the tokens of the vocabulary that match, as --filter does, with their numbers, kinds and scores
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse,
        conflicts_with_all = ["metadata", "tsv", "tree", "columns", "digest"])]
    pub tokens: Option<Pattern>,

    /// Read all data: verify digests, decode, check sparse indices; with --json also print the SHA-256 of the data
    #[arg(long)]
    pub digest: bool,
}

impl Options {
    /// The tensors of a model that are to be listed, in their order. With `work`, reads all of their data.
    pub fn rows<'f, 'm>(&self, model: &'f Model<'m>, work: Option<Work<'_>>) -> Vec<Row<'f, 'm>> {
        let mut rows = rows(model, &self.filter);
        if let Some(work) = work {
            rows.iter_mut().for_each(|row| row.reading = Some(Reading::of(row.opened, &row.tensor, work)));
        }
        if let Some(sort) = self.sort {
            sort.apply(&mut rows);
        }
        rows
    }

    fn tsv_columns(&self) -> &[Column] {
        if self.columns.is_empty() { &USUAL } else { &self.columns }
    }

    /// The columns to print: the requested ones, or those that say something.
    fn columns(&self, rows: &[Row<'_, '_>]) -> Vec<Column> {
        if !self.columns.is_empty() {
            return self.columns.clone();
        }
        let says = |column: &Column| rows.iter().any(|row| !column.is_usual(&row.cell(*column, false, false)));
        USUAL.into_iter().filter(says).collect()
    }
}

/// Prints a model. Unreadable data is a warning, or an error if all data was to be read.
pub fn list(
    out: &mut impl Write,
    look: Look,
    options: &Options,
    json: bool,
    model: &Model<'_>,
    work: Work<'_>,
) -> Result<(), Failure> {
    let work = options.digest.then_some(work);
    let rows = options.rows(model, work);
    if json {
        let record = record::of_model(model, &rows, work)?;
        let is_refused = work.is_some() && record["problems"].as_array().is_some_and(|all| !all.is_empty());
        writeln!(out, "{}", record::to_line("list", record))?;
        return if is_refused { Err(Failure::Reported) } else { Ok(()) };
    }
    let of_row = |row: &Row<'_, '_>| {
        let stop = row.reading.as_ref()?.verdict.err()?;
        Some(Problem::of_stop(row.opened.name, &row.tensor, stop, row.opened.input))
    };
    let mut failures: Vec<Problem> = rows.iter().filter_map(of_row).collect();
    let mut warnings = warnings(model, &rows);
    if work.is_some() { &mut failures } else { &mut warnings }.extend(model.problems.iter().cloned());
    if options.tsv {
        print_tsv(out, options, &rows)?;
        return Failure::all(failures);
    }
    let summary = Summary::of(model);
    print_summary(out, look, model, &summary, &warnings)?;
    print_metadata(out, look, model)?;
    if !options.filter.is_empty() {
        let (shown, all) = (rows.len() as u64, summary.tensors);
        writeln!(out, "  {shown} of {all} tensor{} match", plural(all))?;
    }
    if options.tree {
        print_tree(out, look, &rows)?;
    } else if !rows.is_empty() {
        print_table(out, look, options, &rows)?;
    }
    Failure::all(failures)
}

/// The warnings about a model, its files, and the data that was read.
pub fn warnings(model: &Model<'_>, rows: &[Row<'_, '_>]) -> Vec<Problem> {
    let of_data = |opened: &Opened<'_>| {
        let of_file = rows.iter().filter(|row| std::ptr::eq(row.opened, opened));
        of_file.filter_map(|row| row.reading.as_ref()).fold(0, |bits, reading| bits | reading.warnings)
    };
    let of_index = model.index.iter().flat_map(|(_, warnings)| warnings.iter());
    let of_index = of_index.map(|warning| Problem::new(warning.name(), warning.text()));
    let of_files = model.files.iter().flat_map(|opened| opened.warnings(of_data(opened)));
    of_index.chain(of_files).chain(model.warnings.iter().cloned()).collect()
}

/// The maximum number of warnings and of files shown, unless all are requested.
const SHOWN: usize = 16;

fn print_summary(
    out: &mut impl Write,
    look: Look,
    model: &Model<'_>,
    summary: &Summary,
    warnings: &[Problem],
) -> io::Result<()> {
    let path = look.bold(&printable(&model.path.display().to_string()));
    writeln!(out, "{path}: {}, {}", kind(model), summary.headline())?;
    for (label, text) in summary.lines() {
        writeln!(out, "  {label:<12} {text}")?;
        if label == "complete" {
            let shown = if look.all { warnings.len() } else { SHOWN };
            for warning in warnings.iter().take(shown) {
                writeln!(out, "  {} {}", look.yellow("warning:"), warning.line())?;
            }
            let more = warnings.len().saturating_sub(shown);
            if more > 0 {
                writeln!(out, "  {} {more} more; --all prints them", look.yellow("warning:"))?;
            }
        }
    }
    if model.has_parts() {
        print_files(out, look, model)?;
    }
    model.files.first().map_or(Ok(()), |opened| print_format(out, look, opened))
}

/// The format of a model, and its version.
fn kind(model: &Model<'_>) -> String {
    if model.index.is_some() {
        return model.index_format().into();
    }
    let Some(opened) = model.files.first() else { return "no file".into() };
    let file = &opened.file;
    // The name "ztensor 2" includes the version. That of a checkpoint is not one of PyTorch.
    let version = record::version(file);
    let version = version.filter(|version| !file.format().text().ends_with(version) && file.as_pytorch().is_none());
    let version = version.map(|version| format!(" {}", printable(&version))).unwrap_or_default();
    format!("{}{version}", file.format())
}

/// Prints the files of a model; the missing ones are among the warnings as well.
fn print_files(out: &mut impl Write, look: Look, model: &Model<'_>) -> io::Result<()> {
    writeln!(out, "  {:<12} {} of {}", "files", model.files.len(), model.file_count)?;
    let shown = if look.all { model.files.len() } else { SHOWN };
    for opened in model.files.iter().take(shown) {
        let (name, count) = (opened.name.map(printable).unwrap_or_default(), opened.tensor_count());
        writeln!(out, "    {name}: {count} tensor{}, {}", plural(count), size(opened.stored()))?;
    }
    match model.files.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "    ... and {more} more"),
    }
}

/// Prints the metadata of the index and of the files. The parts of a GGUF model state that of the first part.
fn print_metadata(out: &mut impl Write, look: Look, model: &Model<'_>) -> io::Result<()> {
    let count = if model.index.is_some() { model.files.len() } else { 1 };
    let mut printed = Vec::new();
    let mut print_one = |title: &str, attributes: Attributes<'_>| {
        let record = (count > 1).then(|| record::attributes(attributes));
        if attributes.length() == Some(0) || record.as_ref().is_some_and(|record| printed.contains(record)) {
            return Ok(());
        }
        printed.extend(record);
        print_attributes(out, look, title, attributes)
    };
    if let Some((index, _)) = &model.index {
        print_one("metadata", index.metadata())?;
    }
    for opened in model.files.iter().take(count) {
        let of_file = opened.name.filter(|_| count > 1).map(|name| format!("metadata of {}", printable(name)));
        print_one(of_file.as_deref().unwrap_or("metadata"), opened.file.attributes())?;
    }
    Ok(())
}

fn print_table(out: &mut impl Write, look: Look, options: &Options, rows: &[Row<'_, '_>]) -> io::Result<()> {
    let columns = options.columns(rows);
    let titles: Vec<_> = columns.iter().map(|column| (column.title(), column.fit())).collect();
    let cells = |row: &Row<'_, '_>| columns.iter().map(|column| row.cell(*column, look.all, false)).collect();
    print(out, look, &titles, &rows.iter().map(cells).collect::<Vec<Vec<String>>>())
}

/// The first line of a table of values separated by tabs.
pub fn print_tsv_titles(out: &mut impl Write, options: &Options) -> io::Result<()> {
    let titles: Vec<&str> = options.tsv_columns().iter().map(|column| column.title()).collect();
    writeln!(out, "{}", titles.join("\t"))
}

fn print_tsv(out: &mut impl Write, options: &Options, rows: &[Row<'_, '_>]) -> io::Result<()> {
    for row in rows {
        let cells: Vec<String> = options.tsv_columns().iter().map(|column| row.cell(*column, true, true)).collect();
        writeln!(out, "{}", cells.join("\t"))?;
    }
    Ok(())
}
