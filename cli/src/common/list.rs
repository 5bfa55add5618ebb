//! Lists the contents of files, as tables or as JSON records.

use std::io::Write;

use tenslice::{Component, Order, Tensor};

use super::details::{print_attributes, print_format};
use super::failure::Failure;
use super::model::{Array, Model, Opened};
use super::problem::Problem;
use super::reading::{Reading, Work, stored};
use super::record;
use super::table::{Fit, Look, print};
use super::text::{descr_text, distinct, dtype, json_line, plural, printable, shortened, size};

/// The options of a listing.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Print a record instead of a table.
    pub json: bool,
    /// Read all data.
    pub digest: bool,
}

/// Prints the table or the record of a model. Unreadable data is a warning, or an error if all data was to be read.
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

/// Prints the tensors of a file. If data was to be read, returns a problem for each tensor that cannot be read.
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
        rows.push(row(opened, look, &tensor, reading.as_ref()));
        if let Some(reading) = reading {
            of_data |= reading.warnings;
            let stop = reading.verdict.err();
            failures.extend(stop.map(|stop| Problem::of_stop(opened.name, &tensor, stop, opened.bytes)));
        }
    }
    // The name "ztensor 2" includes the version.
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
            ("name", Fit::Name),
            ("dtype", Fit::Cut),
            ("shape", Fit::Cut),
            ("layout", Fit::LeftOut(1)),
            ("bytes", Fit::Whole),
            ("encoding", Fit::LeftOut(3)),
            ("digest", Fit::LeftOut(2)),
        ];
        print(out, look, &titles, &rows)?;
    }
    print_format(out, look, opened)?;
    print_attributes(out, look, file.attributes())?;
    for warning in opened.warnings(of_data) {
        writeln!(out, "{} {}", look.yellow("warning:"), warning.message)?;
    }
    Ok(failures)
}

fn row<'m>(opened: &Opened<'m>, look: Look, tensor: &Tensor<'m>, reading: Option<&Reading>) -> [String; 7] {
    let state = |i: usize| reading.map_or("", |reading| reading.digests[i]);
    let array = opened.array(tensor);
    [
        if tensor.name().is_empty() { "\"\"".into() } else { printable(&tensor.name().to_string()) },
        array
            .as_deref()
            .map(type_text)
            .map_or("-".into(), |text| if look.all { text } else { shortened(&text, LONGEST_TYPE) }),
        match &array {
            Some(array) => format!("{:?}", array.shape),
            None if opened.problem(tensor).is_none() => "compressed".into(),
            None => "-".into(),
        },
        printable(opened.layout_name(tensor)) + order(array.as_deref()),
        stored(tensor).to_string(),
        distinct(tensor.components().map(|c| printable(c.encoding_name()))),
        distinct(tensor.components().enumerate().map(|(i, c)| digest(&c, state(i)))),
    ]
}

/// The longest type of a record that a table shows in full.
const LONGEST_TYPE: usize = 100;

/// The dtype, or else the type in NumPy's notation.
pub fn type_text(array: &Array) -> String {
    match (array.dtype, &array.descr) {
        (None, Some(descr)) => descr_text(descr),
        (of, _) => dtype(of, array.is_big),
    }
}

/// The element order, if it is not row-major.
fn order(array: Option<&Array>) -> &'static str {
    let is_unusual = |array: &Array| array.order == Order::ColumnMajor && array.shape.len() > 1;
    if array.is_some_and(is_unusual) { ", column-major" } else { "" }
}

/// The kind of a digest, which precedes the colon, and the result of verifying it.
fn digest(component: &Component<'_>, state: &str) -> String {
    let kind = component.digest().map_or("-", |digest| digest.split(':').next().unwrap_or(digest));
    format!("{} {state}", printable(kind)).trim_end().into()
}
