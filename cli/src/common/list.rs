//! What is in files: a table for a person, or a record for a program.

use std::io::Write;

use tenslice::{ByteOrder, Component, Order, Tensor};

use super::details::{print_attributes, print_format};
use super::failure::Failure;
use super::model::{Model, Opened};
use super::problem::Problem;
use super::reading::{CompressedArray, Reading, Work, is_compressed_array, is_without_header, stored};
use super::record;
use super::table::{Fit, Look, print};
use super::text::{distinct, dtype, json_line, plural, printable, size};

/// What is to be shown of a model.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// A record instead of a table.
    pub json: bool,
    /// Read all data.
    pub digest: bool,
}

/// Prints the table, or the record, of a model. What cannot be read is a warning, and an error if all data was to be read.
pub fn list(
    out: &mut impl Write,
    look: Look,
    options: Options,
    model: &Model<'_>,
    work: Work<'_>,
) -> Result<(), Failure> {
    let work = options.digest.then_some(work);
    if options.json {
        let record = record::of_model(model, work)?;
        writeln!(out, "{}", json_line(&record))?;
        let is_refused = work.is_some() && record["problems"].as_array().is_some_and(|all| !all.is_empty());
        return if is_refused { Err(Failure::Reported) } else { Ok(()) };
    }
    if let Some((index, _)) = &model.index {
        let (tensors, files) = (index.tensor_count(), model.file_count);
        let [of_tensors, of_files] = [tensors, files].map(plural);
        writeln!(
            out,
            "{}: safetensors index, {tensors} tensor{of_tensors} in {files} file{of_files}",
            look.bold(&printable(&model.path.display().to_string()))
        )?;
        print_attributes(out, look, index.metadata())?;
    }
    let mut failures = Vec::new();
    for (i, opened) in model.files.iter().enumerate() {
        if i > 0 || model.index.is_some() {
            writeln!(out)?;
        }
        failures.extend(table(out, look, opened, work)?);
    }
    let mut warnings = model.warnings.clone();
    if work.is_some() { &mut failures } else { &mut warnings }.extend(model.problems.iter().cloned());
    for warning in warnings {
        writeln!(out, "{} {}", look.yellow("warning:"), warning.line())?;
    }
    Failure::all(failures)
}

/// Prints the tensors of a file. Returns why those cannot be read whose data was to be read.
fn table(
    out: &mut impl Write,
    look: Look,
    opened: &Opened<'_>,
    work: Option<Work<'_>>,
) -> Result<Vec<Problem>, Failure> {
    let file = &opened.file;
    let mut failures = Vec::new();
    let mut of_data = 0;
    let mut rows = Vec::new();
    for tensor in opened.tensors() {
        let reading = work.map(|work| Reading::of(opened, &tensor, work));
        rows.push(row(&tensor, reading.as_ref()));
        if let Some(reading) = reading {
            of_data |= reading.warnings;
            let stop = reading.verdict.err();
            failures.extend(stop.map(|stop| Problem::of_stop(opened.name, &tensor, stop, opened.bytes)));
        }
    }
    // "ztensor 2" has it already.
    let version = file.version().filter(|version| !file.format().text().ends_with(version));
    let version = version.map(|version| format!(" {}", printable(version))).unwrap_or_default();
    let count = opened.tensor_count();
    writeln!(
        out,
        "{}: {}{version}, {count} tensor{}, {} stored",
        look.bold(&printable(&opened.path.display().to_string())),
        file.format(),
        plural(count),
        size(opened.stored())
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
    print_format(out, look, opened)?;
    print_attributes(out, look, file.attributes())?;
    for warning in opened.warnings(of_data) {
        writeln!(out, "{} {}", look.yellow("warning:"), warning.message)?;
    }
    Ok(failures)
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
            None if is_without_header(tensor) => "-".into(),
            None => tensor.shape().to_string(),
        },
        printable(tensor.layout_name()) + order(tensor, array),
        stored(tensor).to_string(),
        distinct(tensor.components().map(|c| printable(c.encoding_name()))),
        distinct(tensor.components().enumerate().map(|(i, c)| digest(&c, state(i)))),
    ]
}

/// The order of the elements, if it is not the usual one.
fn order(tensor: &Tensor<'_>, array: Option<&CompressedArray>) -> &'static str {
    let (order, has_several) = match array {
        Some(array) => (array.order, array.shape.len() > 1),
        None => (tensor.order(), tensor.shape().rank() > 1),
    };
    if order == Order::ColumnMajor && has_several { ", column-major" } else { "" }
}

/// The kind of a digest, which is before the colon, and the result of verifying it.
fn digest(component: &Component<'_>, state: &str) -> String {
    let kind = component.digest().map_or("-", |digest| digest.split(':').next().unwrap_or(digest));
    format!("{} {state}", printable(kind)).trim_end().into()
}
