//! What is in files: a table for a person, or a record for a program.

use std::io::Write;

use tenslice::{ByteOrder, Component, Tensor, Warning};

use super::details::{print_attributes, print_format};
use super::failure::Failure;
use super::model::{Model, Opened};
use super::reading::{Progress, Reading, check_limit, is_compressed_array, stored};
use super::record;
use super::table::{Fit, Look, print};
use super::text::{distinct, dtype, plural, printable, size};

/// What is to be shown of a model.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// A record instead of a table.
    pub json: bool,
    /// Read all data.
    pub digest: bool,
    /// Whatever it decodes to.
    pub no_limit: bool,
}

/// Prints the table, or the record, of a model.
pub fn list(
    out: &mut impl Write,
    look: Look,
    options: Options,
    model: &Model<'_>,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    if options.digest && !options.no_limit {
        for opened in &model.files {
            check_limit(&opened.file)?;
        }
    }
    let progress = options.digest.then_some(progress);
    if options.json {
        return Ok(writeln!(out, "{}", record::of_model(model, progress)?)?);
    }
    if let Some((index, warnings)) = &model.index {
        let (tensors, files) = (index.tensor_count(), model.files.len() as u64);
        let [of_tensors, of_files] = [tensors, files].map(plural);
        writeln!(
            out,
            "{}: safetensors index, {tensors} tensor{of_tensors} in {files} file{of_files}",
            look.bold(&model.path.display().to_string())
        )?;
        print_attributes(out, look, index.metadata())?;
        for warning in warnings.iter() {
            writeln!(out, "{} {}", look.yellow("warning:"), warning.text())?;
        }
    }
    for (i, opened) in model.files.iter().enumerate() {
        if i > 0 || model.index.is_some() {
            writeln!(out)?;
        }
        table(out, look, opened, progress)?;
    }
    Ok(())
}

/// Prints the tensors of a file.
fn table(
    out: &mut impl Write,
    look: Look,
    opened: &Opened<'_>,
    progress: Option<Progress<'_>>,
) -> Result<(), Failure> {
    let file = &opened.file;
    let mut verdict = Ok(());
    let mut found = opened.warnings.bits();
    let mut rows = Vec::new();
    for tensor in file.tensors() {
        let reading = progress.map(|progress| Reading::of(opened, &tensor, progress));
        rows.push(row(&tensor, reading.as_ref()));
        if let Some(reading) = reading {
            found |= reading.warnings;
            verdict = verdict.and(reading.verdict);
        }
    }
    // "ztensor 2" has it already.
    let version = file.version().filter(|version| !file.format().text().ends_with(version));
    let version = version.map(|version| format!(" {}", printable(version))).unwrap_or_default();
    let count = file.tensor_count();
    writeln!(
        out,
        "{}: {}{version}, {count} tensor{}, {} stored",
        look.bold(&opened.path.display().to_string()),
        file.format(),
        plural(count),
        size(file.tensors().map(|tensor| stored(&tensor)).sum())
    )?;
    if count > 0 {
        let titles = [
            ("name", Fit::Cut(8)),
            ("dtype", Fit::Cut(4)),
            ("shape", Fit::Cut(8)),
            ("layout", Fit::LeftOut(1)),
            ("bytes", Fit::Whole),
            ("encoding", Fit::LeftOut(3)),
            ("digest", Fit::LeftOut(2)),
        ];
        print(out, look, titles, &rows)?;
    }
    print_format(out, look, file)?;
    print_attributes(out, look, file.attributes())?;
    for warning in Warning::ALL.iter().filter(|warning| warning.bit() & found != 0) {
        writeln!(out, "{} {}{}", look.yellow("warning:"), warning.text(), opened.first_of(*warning))?;
    }
    verdict.map_err(|error| opened.fail(error))
}

fn row(tensor: &Tensor<'_>, reading: Option<&Reading>) -> [String; 7] {
    let state = |i: usize| reading.map_or("", |reading| reading.digests[i]);
    let array = reading.and_then(|reading| reading.array.as_ref());
    [
        if tensor.name().is_empty() { "\"\"".into() } else { printable(&tensor.name().to_string()) },
        match array {
            Some(array) => dtype(array.dtype, array.is_big),
            None => dtype(tensor.dtype(), tensor.components().any(|c| c.byte_order() == ByteOrder::Big)),
        },
        match array {
            Some(array) => format!("{:?}", array.shape),
            None if is_compressed_array(tensor) => "compressed".into(),
            None => tensor.shape().to_string(),
        },
        printable(tensor.layout_name()),
        stored(tensor).to_string(),
        distinct(tensor.components().map(|c| printable(c.encoding_name()))),
        distinct(tensor.components().enumerate().map(|(i, c)| digest(&c, state(i)))),
    ]
}

/// The kind of a digest, which is before the colon, and the result of verifying it.
fn digest(component: &Component<'_>, state: &str) -> String {
    let kind = component.digest().map_or("-", |digest| digest.split(':').next().unwrap_or(digest));
    format!("{} {state}", printable(kind)).trim_end().into()
}
