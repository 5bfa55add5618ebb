//! `tenslice show`

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use tenslice::pytorch::Global;
use tenslice::{ByteOrder, DType, Layout, Tensor};

use crate::common::budget::Budget;
use crate::common::columns::type_name;
use crate::common::details::print_attributes;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Opened};
use crate::common::reading::{has_checksum, is_sparse, stored, verify_components, verify_whole};
use crate::common::record;
use crate::common::table::{Fit, print};
use crate::common::text::{dtype, plural, printable, size};
use crate::options::{Checks, Limits};
use crate::paths;
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::histogram::Histogram;
use crate::values::number::{digits, lanes};
use crate::values::quantized::is_quantized;
use crate::values::slice;
use crate::values::statistics::Statistics;

/// Show a tensor: components, attributes, statistics, first values, histogram
///
/// If the elements cannot be decoded, everything else is printed, the error goes to standard error, and the exit status
/// is 1.
#[derive(clap::Args)]
pub struct Arguments {
    file: PathBuf,

    /// The name of the tensor; optional if the file has only one
    name: Option<String>,

    /// Print only this part, in NumPy's slice notation: '0:4,:,-1', '::-1', '...,0'
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    slice: Option<String>,

    /// Print no statistics and no histogram: reads only the first values
    #[arg(long)]
    no_stats: bool,

    /// List the functions and classes that a PyTorch checkpoint names, which are never called
    #[arg(long, conflicts_with_all = ["name", "slice"])]
    globals: bool,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,

    /// Print long lists and long lines in full
    #[arg(long)]
    all: bool,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        terminal.look.all = self.all;
        let result = self.show(terminal);
        terminal.status_of(&self.file, result)
    }

    fn show(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let mapped = Mapped::new(&paths::only(&self.file)?)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        if self.globals {
            return model.files.iter().try_for_each(|opened| globals(terminal, opened));
        }
        let (opened, tensor) = model.find(self.name.as_deref())?;
        terminal.warn_of_data(opened);
        let budget = self.limits.budget();
        budget.add_file(model.length());
        if terminal.json {
            let record = self.record(opened, &tensor, &budget)?;
            return Ok(terminal.record("show", record)?);
        }
        if let Some(part) = &self.slice {
            return self.show_part(terminal, opened, &tensor, part, &budget);
        }
        describe(terminal, opened, &tensor)?;
        if is_quantized(opened, &tensor) {
            writeln!(terminal.out, "  the numbers are those that scale and zero point give")?;
        }
        terminal.flush()?; // reading a large tensor takes a while
        let is_verified = self.verify(opened, &tensor, &budget)?;
        let mut values = Values::of(opened, &tensor, &budget)?;
        if !is_verified && has_checksum(&tensor) {
            writeln!(terminal.out, "  not verified")?;
        }
        first_values(terminal, opened, &tensor, &mut values)?;
        if self.no_stats { Ok(()) } else { statistics(terminal, opened, &tensor, &mut values) }
    }

    /// Verifies the checksums of a tensor before it is read. Returns true if they were verified.
    fn verify<'m>(&self, opened: &Opened<'m>, tensor: &Tensor<'m>, budget: &Budget) -> Result<bool, Failure> {
        if self.slice.is_none() && !self.no_stats {
            let are_compared = self.checks.are_compared();
            return verify_whole(opened, tensor, budget, are_compared).map(|()| are_compared);
        }
        let are_compared = self.checks.are_compared_for_a_part(stored(tensor));
        if are_compared {
            verify_components(opened, tensor, budget)?;
        }
        Ok(are_compared)
    }

    /// The record of a tensor: what `list` says about it, and its values and statistics, or those of a part.
    fn record<'m>(&self, opened: &Opened<'m>, tensor: &Tensor<'m>, budget: &Budget) -> Result<Json, Failure> {
        let fail = |stop| opened.fail(stop);
        let mut record = json!({
            "file": opened.path.to_string_lossy(),
            "tensor": record::of_tensor(opened, tensor, None, None).map_err(fail)?,
        });
        let is_verified = self.verify(opened, tensor, budget)?;
        let mut values = Values::of(opened, tensor, budget)?;
        record["verified"] = json!(is_verified && has_checksum(tensor));
        if let Some(part) = &self.slice {
            let spans = slice::parse(part, &values.shape).map_err(|why| Failure::new("InvalidArgument", why))?;
            let texts = slice::texts(opened, &mut values, &spans)?;
            record["slice"] = json!({"shape": slice::shape(&spans), "values": texts});
            return Ok(record);
        }
        record["first_values"] = json!(slice::first_texts(&mut values, opened)?);
        if self.no_stats || tensor.layout() == Layout::TensorTrain {
            return Ok(record);
        }
        if let Some(statistics) = Statistics::of(&mut values, &|_| {}).map_err(fail)? {
            record["statistics"] = statistics.record();
            record["histogram"] = Histogram::of(&mut values, &statistics, &|_| {}).map_err(fail)?.record();
        }
        Ok(record)
    }

    /// Prints part of a tensor. For a large tensor, verifying checksums takes longer than reading the part.
    fn show_part<'m>(
        &self,
        terminal: &mut Terminal,
        opened: &Opened<'m>,
        tensor: &Tensor<'m>,
        part: &str,
        budget: &Budget,
    ) -> Result<(), Failure> {
        let mut values = Values::of(opened, tensor, budget)?;
        let spans = slice::parse(part, &values.shape).map_err(|why| Failure::new("InvalidArgument", why))?;
        let total = stored(tensor);
        let is_whole = values.is_decoded() && self.checks.are_compared();
        let is_verified = is_whole || self.checks.are_compared_for_a_part(total);
        if is_verified {
            verify_components(opened, tensor, budget)?;
        }
        slice::print(&mut terminal.out, terminal.look, opened, &mut values, &spans)?;
        if !is_verified && has_checksum(tensor) {
            // Encoded elements: an estimate in proportion to the part.
            let share = u128::from(total) * u128::from(slice::count(&spans)) / u128::from(values.count.max(1));
            writeln!(terminal.out, "    not verified ({share} of {total} bytes read)")?;
        }
        Ok(())
    }
}

/// Prints the names in a checkpoint that stand for code, in the order of the file.
fn globals(terminal: &mut Terminal, opened: &Opened<'_>) -> Result<(), Failure> {
    let Some(pytorch) = opened.file.as_pytorch() else {
        let message = format!("a {} file names no functions or classes", opened.file.format());
        return Err(Failure::new("InvalidArgument", message));
    };
    if terminal.json {
        let record = |global: Global<'_>| {
            let Global { offset, module, name, is_known } = global;
            json!({"offset": offset, "module": module, "name": name, "known": is_known})
        };
        let all: Vec<_> = pytorch.globals().map(record).collect();
        return Ok(terminal.record("globals", json!({"file": opened.path.to_string_lossy(), "globals": all}))?);
    }
    let rows: Vec<_> = pytorch
        .globals()
        .map(|global| {
            let meaning = if global.is_known { "known" } else { "skipped" };
            [global.offset.to_string(), printable(global.module), printable(global.name), meaning.into()]
        })
        .collect();
    let Terminal { out, look, .. } = terminal;
    let (count, s) = (rows.len() as u64, plural(rows.len() as u64));
    writeln!(out, "{}: {count} name{s} of functions and classes; none is called", opened.path.display())?;
    let titles = [("offset", Fit::Whole), ("module", Fit::Cut), ("name", Fit::Cut), ("meaning", Fit::Whole)];
    Ok(print(out, *look, &titles, &rows)?)
}

/// Prints the metadata of a tensor.
fn describe<'m>(terminal: &mut Terminal, opened: &Opened<'m>, tensor: &Tensor<'m>) -> Result<(), Failure> {
    let Terminal { out, look, .. } = terminal;
    let name = format!("tensor \"{}\"", printable(&tensor.name().to_string()));
    writeln!(out, "{}: {}", opened.path.display(), look.bold(&name))?;
    let array = opened.array(tensor);
    let layout = opened.layout_name(tensor);
    let is_dense = tensor.layout() == Layout::Dense || layout == "dense";
    let what = array.as_deref().map_or("-".into(), |array| {
        let order = if is_dense { format!(", {}", array.order.text()) } else { String::new() };
        format!("{} {:?}, {}{order}", type_name(opened, tensor), array.shape, printable(layout))
    });
    writeln!(out, "  {what}")?;
    let titles = [
        ("component", Fit::Cut),
        ("dtype", Fit::Cut),
        ("offset", Fit::Whole),
        ("length", Fit::Whole),
        ("encoding", Fit::LeftOut(2)),
        ("digest", Fit::LeftOut(1)),
    ];
    let rows: Vec<_> = tensor
        .components()
        .map(|component| {
            let stored_as = component.storage_dtype().filter(|stored| Some(*stored) != component.dtype());
            let stored_as = stored_as.map(|stored| format!(" over {stored}")).unwrap_or_default();
            let shard = component.shard().map(|name| format!(" in shard {}", printable(name))).unwrap_or_default();
            [
                printable(component.role()) + &shard,
                dtype(component.dtype(), component.byte_order() == ByteOrder::Big) + &stored_as,
                component.extent().offset.to_string(),
                component.extent().length.to_string(),
                printable(component.encoding_name()),
                component.digest().map_or("-".into(), printable),
            ]
        })
        .collect();
    print(out, *look, &titles, &rows)?;
    Ok(print_attributes(out, *look, "attributes", tensor.attributes())?)
}

/// Prints the number of elements, their size in the file and in memory, and the first ones.
fn first_values(
    terminal: &mut Terminal,
    opened: &Opened<'_>,
    tensor: &Tensor<'_>,
    values: &mut Values<'_>,
) -> Result<(), Failure> {
    let (length, stored) = (values.count.saturating_mul(values.size), stored(tensor));
    let dense = if is_sparse(tensor) { ", zeros included" } else { "" };
    if tensor.shape().element_count().is_some() {
        let (count, s) = (values.count, plural(values.count));
        let mut sizes = size(length);
        if stored != length {
            let form = values.dtype.map_or("decoded".into(), |dtype| format!("as {}", dtype.name()));
            sizes = format!("{} stored, {sizes} {form}", size(stored));
        }
        writeln!(terminal.out, "  {count} element{s}, {sizes}{dense}")?;
    } else {
        writeln!(terminal.out, "  2^64 elements or more")?;
    }
    slice::print_first(&mut terminal.out, terminal.look, values, opened)?;
    if let Some(note) = values.note() {
        writeln!(terminal.out, "    note:    {note}")?;
    }
    Ok(terminal.flush()?)
}

/// Prints statistics and a histogram, in two passes over the elements.
fn statistics(
    terminal: &mut Terminal,
    opened: &Opened<'_>,
    tensor: &Tensor<'_>,
    values: &mut Values<'_>,
) -> Result<(), Failure> {
    if tensor.layout() == Layout::TensorTrain {
        // The elements may exceed any memory.
        return Ok(writeln!(terminal.out, "    numbers: not computed for a tensor train")?);
    }
    let Some((lane, count)) = values.dtype.map(lanes) else { return Ok(()) };
    let bar = progress::bar(values.count.saturating_mul(values.size).saturating_mul(2));
    let progress = |bytes: u64| bar.inc(bytes);
    let fail = |stop| opened.fail(stop);
    let Some(statistics) = Statistics::of(values, &progress).map_err(fail)? else { return Ok(()) };
    let histogram = Histogram::of(values, &statistics, &progress).map_err(fail)?;
    bar.finish_and_clear();
    let Terminal { out, look, .. } = terminal;
    if count > 1 {
        writeln!(out, "    each of {count} numbers:")?;
    }
    if statistics.count == 0 {
        writeln!(out, "    numbers: none{}", others(&statistics))?;
        return Ok(());
    }
    let (mean, deviation) = (statistics.mean, statistics.deviation());
    let [min, max] = match statistics.ends {
        Some((min, max)) => [min, max].map(|x| x.to_string()),
        None => [statistics.min, statistics.max].map(|x| digits(lane, x)),
    };
    // Next to exact minimum and maximum, f32 digits are too few.
    let shown_as = if statistics.ends.is_some() { DType::F64 } else { DType::F32 };
    let [mean, deviation] = [mean, deviation].map(|x| digits(shown_as, x));
    let line = format!("min {min}, max {max}, mean {mean}, std {deviation}");
    match look.width {
        // One number per line if they do not fit on one line.
        Some(width) if line.len() + 13 > width => {
            line.split(", ").try_for_each(|part| writeln!(out, "    {part}"))?;
        }
        _ => writeln!(out, "    numbers: {line}")?,
    }
    writeln!(out, "    zeros:   {}{}", statistics.zeros, others(&statistics))?;
    Ok(histogram.draw(out, *look)?)
}

/// The counts of NaN and infinite numbers, which the statistics exclude.
fn others(statistics: &Statistics) -> String {
    let mut text = String::new();
    for (count, name) in [(statistics.nan, "NaN"), (statistics.infinite, "infinite")] {
        if count > 0 {
            text += &format!(", {count} {name}");
        }
    }
    text
}
