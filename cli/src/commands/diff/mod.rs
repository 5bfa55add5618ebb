//! `tenslice diff`

mod elements;
mod metadata;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use tenslice::{ErrorKind, Purpose, Tensor};

use self::elements::Differing;
use self::metadata::{attribute_differences, stored_differences};

use crate::common::budget::Budget;
use crate::common::columns::type_name;
use crate::common::failure::{Failure, LIMIT};
use crate::common::model::{Mapped, Model, Opened};
use crate::common::problem::Problem;
use crate::common::reading::verify_whole;
use crate::common::text::{plural, printable};
use crate::options::{Checks, Limits};
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::slice::index_of;
use crate::values::stated::Stated;

/// Compare two files: names, shapes, dtypes, attributes of tensors, values
///
/// Tensors are compared by name and as dense arrays, regardless of format, compression, byte order and element order.
/// Element types are compared as well: units of times, fields of records, quantized types. Exit status: 0 if there is
/// no difference, 1 if tensors differ or cannot be read, 2 for wrong usage or a refused file.
#[derive(clap::Args)]
pub struct Arguments {
    a: PathBuf,
    b: PathBuf,

    /// Treat values within DIFFERENCE as equal
    #[arg(long, value_name = "DIFFERENCE", default_value_t = 0.0)]
    tolerance: f64,

    /// Compare only names, shapes, dtypes and attributes
    #[arg(long)]
    no_values: bool,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,
}

type Found<'f, 'm> = (&'f Opened<'m>, Tensor<'m>);

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let [a, b] = [&self.a, &self.b].map(|path| Mapped::new(path));
        let [a, b] = match (a, b) {
            (Ok(a), Ok(b)) => [a, b],
            (a, b) => return self.refuse(terminal, a.err(), b.err()),
        };
        let [mut tables_a, mut tables_b] = [&a, &b].map(Mapped::tables);
        match (a.open(&mut tables_a), b.open(&mut tables_b)) {
            (Ok(a), Ok(b)) => self.compare(terminal, &a, &b).map(|is_same| u8::from(!is_same)),
            (a, b) => self.refuse(terminal, a.err(), b.err()),
        }
    }

    fn refuse(&self, terminal: &mut Terminal, a: Option<Failure>, b: Option<Failure>) -> io::Result<u8> {
        for (path, failure) in [(&self.a, a), (&self.b, b)] {
            if let Some(failure) = failure {
                terminal.refuse(path, failure)?;
            }
        }
        Ok(2)
    }

    /// Prints all differences. Returns true if there are none.
    fn compare(&self, terminal: &mut Terminal, a: &Model<'_>, b: &Model<'_>) -> io::Result<bool> {
        let budget = self.limits.budget();
        budget.add_file(a.length().saturating_add(b.length()));
        let (of_a, of_b) = (Tensors::of(a), Tensors::of(b));
        let (mut same, mut different, mut unread) = (0_u64, 0_u64, 0_u64);
        let (mut notes, mut is_over_limit) = (Notes::default(), false);
        let total = of_a
            .all
            .iter()
            .filter_map(|(_, (_, tensor))| tensor.requirements(Purpose::Read).output)
            .fold(0, u64::saturating_add);
        let bar = progress::bar(if self.no_values { 0 } else { total });
        a.files.iter().chain(&b.files).for_each(|opened| terminal.warn_of_data(opened));
        for (path, model, tensors) in [(&self.a, a, &of_a), (&self.b, b, &of_b)] {
            // A listed tensor is reported as "not compared" below.
            let is_there = |problem: &&Problem| problem.tensor.as_ref().is_some_and(|name| tensors.has(name));
            for problem in model.problems.iter().filter(|problem| !is_there(problem)) {
                writeln!(terminal.out, "{} {}: {}", terminal.look.yellow("!"), path.display(), problem.line())?;
                unread += 1;
            }
        }
        let shown = |name: &str| if name.is_empty() { "\"\"".into() } else { printable(name) };
        for (key, found) in &of_a.all {
            let shown = shown(&key.0);
            let Some(other) = of_b.get(key) else {
                bar.suspend(|| self.only(terminal, "-", &shown, *found))?;
                different += 1;
                continue;
            };
            let differences = self.differences(*found, other, &budget, &mut notes);
            bar.inc(found.1.requirements(Purpose::Read).output.unwrap_or(0));
            let lines = match differences {
                Ok(differences) => {
                    *if differences.is_empty() { &mut same } else { &mut different } += 1;
                    differences
                }
                // Tensors after the first one that exceeds a limit are only counted.
                Err(Unread { kind: LIMIT, .. }) if is_over_limit => {
                    unread += 1;
                    continue;
                }
                Err(Unread { kind, why }) => {
                    is_over_limit |= kind == LIMIT;
                    unread += 1;
                    vec![format!("not compared: {why}")]
                }
            };
            for line in lines {
                bar.suspend(|| writeln!(terminal.out, "{} {shown}: {line}", terminal.look.yellow("!")))?;
            }
        }
        for (key, found) in &of_b.all {
            if of_a.get(key).is_none() {
                bar.suspend(|| self.only(terminal, "+", &shown(&key.0), *found))?;
                different += 1;
            }
        }
        bar.finish_and_clear();
        notes.print(&mut terminal.out)?;
        let what = if self.no_values { " by name, shape, dtype and attributes" } else { "" };
        let (s, verb) = (plural(same), if different == 1 { "s" } else { "" });
        let not_compared = if unread > 0 { format!(", {unread} not compared") } else { String::new() };
        writeln!(terminal.out, "{same} tensor{s} the same{what}, {different} differ{verb}{not_compared}")?;
        Ok(different + unread == 0)
    }

    /// Prints a tensor that only one of the files has.
    fn only(
        &self,
        terminal: &mut Terminal,
        sign: &str,
        name: &str,
        (opened, tensor): Found<'_, '_>,
    ) -> io::Result<()> {
        let file = if sign == "-" { &self.a } else { &self.b };
        let sign = terminal.look.painted(if sign == "-" { "31" } else { "32" }, sign);
        let what = opened.array(&tensor).map(|array| format!("{} {:?}", type_name(opened, &tensor), array.shape));
        writeln!(terminal.out, "{sign} {name}: {}, only in {}", what.unwrap_or("-".into()), file.display())
    }

    /// Describes the differences between two tensors, or returns why one of them cannot be read.
    fn differences(
        &self,
        a: Found<'_, '_>,
        b: Found<'_, '_>,
        budget: &Budget,
        notes: &mut Notes,
    ) -> Result<Vec<String>, Unread> {
        let (of_a, of_b) = (self.elements(a, budget)?, self.elements(b, budget)?);
        let prepared = |values: &Elements<'_>, found: Found<'_, '_>| {
            let values = if let Elements::Decoded(values) = values { Some(&**values) } else { None };
            let of_header = || found.0.array(&found.1).map(|array| array.shape.clone()).unwrap_or_default();
            let shape = values.map_or_else(of_header, |values| values.shape.clone());
            (Stated::of(found.0, &found.1, values), shape)
        };
        let ((type_a, shape_a), (type_b, shape_b)) = (prepared(&of_a, a), prepared(&of_b, b));
        let mut found = Vec::new();
        if type_a != type_b {
            found.push(format!("dtype {}, {}", type_a.text, type_b.text));
        }
        if shape_a != shape_b {
            found.push(format!("shape {shape_a:?}, {shape_b:?}"));
        }
        found.extend(attribute_differences(a, b, notes));
        match (of_a, of_b) {
            _ if self.no_values || shape_a != shape_b => {}
            (Elements::Decoded(mut of_a), Elements::Decoded(mut of_b)) => {
                let are_numbers = of_a.dtype.is_some() && of_b.dtype.is_some();
                if type_a == type_b || are_numbers {
                    let (x, y) = ((a.0, &mut *of_a, &type_a), (b.0, &mut *of_b, &type_b));
                    found.extend(self.values(x, y, notes)?);
                }
            }
            (Elements::Unsupported(why), _) | (_, Elements::Unsupported(why)) => {
                found.extend(stored_differences(a, b, &why));
            }
            _ => {}
        }
        Ok(found)
    }

    /// Prepares the elements of a tensor, unless values are not compared.
    fn elements<'f, 'm: 'f>(
        &self,
        (opened, tensor): Found<'f, 'm>,
        budget: &'f Budget,
    ) -> Result<Elements<'f>, Unread> {
        if let Some(problem) = opened.problem(&tensor).filter(|_| self.no_values) {
            return Err(unread(opened, problem.into()));
        }
        if self.no_values {
            return Ok(Elements::Unwanted);
        }
        let read = || {
            verify_whole(opened, &tensor, budget, self.checks.are_compared())?;
            let mut values = Values::of(opened, &tensor, budget)?;
            values.plan_all().map_err(|stop| opened.fail(stop))?;
            Ok(Elements::Decoded(Box::new(values)))
        };
        read().or_else(|failure: Failure| match failure {
            Failure::Refused(kind, message, _) if is_unsupported(kind) => Ok(Elements::Unsupported(message)),
            failure => Err(unread(opened, failure)),
        })
    }

    /// Describes the elements that differ between two tensors of the same shape.
    fn values(
        &self,
        (opened_a, a, type_a): (&Opened<'_>, &mut Values<'_>, &Stated),
        (opened_b, b, type_b): (&Opened<'_>, &mut Values<'_>, &Stated),
        notes: &mut Notes,
    ) -> Result<Option<String>, Unread> {
        if a.order != b.order && a.shape.len() > 1 {
            notes.orders += 1;
            a.make_row_major(opened_a).map_err(|failure| unread(opened_a, failure))?;
            b.make_row_major(opened_b).map_err(|failure| unread(opened_b, failure))?;
        }
        let mut differing = Differing::default();
        let (mut bytes_a, mut bytes_b) = (Vec::new(), Vec::new());
        let mut at = 0;
        let step = a.at_once().min(b.at_once());
        while at < a.count {
            let count = step.min(a.count - at);
            a.read(at, count, &mut bytes_a).map_err(|stop| unread(opened_a, opened_a.fail(stop)))?;
            b.read(at, count, &mut bytes_b).map_err(|stop| unread(opened_b, opened_b.fail(stop)))?;
            type_a.to_native(&mut bytes_a);
            type_b.to_native(&mut bytes_b);
            if a.dtype != b.dtype || bytes_a != bytes_b {
                differing.add(at, (a, &bytes_a), (b, &bytes_b), self.tolerance);
            }
            at += count;
        }
        let Some(first) = differing.first else { return Ok(None) };
        let total = a.count;
        let mut place = |element: u64| -> Result<String, Unread> {
            a.read(element, 1, &mut bytes_a).map_err(|stop| unread(opened_a, opened_a.fail(stop)))?;
            b.read(element, 1, &mut bytes_b).map_err(|stop| unread(opened_b, opened_b.fail(stop)))?;
            let index = index_of(element, &a.shape, a.order);
            Ok(format!("{index:?} ({}, {})", a.text(&bytes_a), b.text(&bytes_b)))
        };
        let Differing { count, most, .. } = differing;
        let s = plural(total);
        let mut text = format!("{count} of {} value{s} differ, first at {}", total, place(first)?);
        if let Some((difference, element)) = most {
            text += &format!(", the most by {} at {}", difference.text(), place(element)?);
        }
        Ok(Some(text))
    }
}

/// The name of a tensor and a number, because zTensor 0.1 allows several tensors of the same name.
type Key = (String, u64);

/// The tensors of a model, indexed by name.
struct Tensors<'f, 'm> {
    all: Vec<(Key, Found<'f, 'm>)>,
    by_name: HashMap<Key, usize>,
}

impl<'f, 'm> Tensors<'f, 'm> {
    fn of(model: &'f Model<'m>) -> Self {
        let mut counts: HashMap<String, u64> = HashMap::new();
        let numbered = |found: Found<'f, 'm>| {
            let name = found.1.name().to_string();
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            ((name, *count), found)
        };
        let all: Vec<_> = model.tensors().map(numbered).collect();
        let by_name = all.iter().enumerate().map(|(i, (key, _))| (key.clone(), i)).collect();
        Self { all, by_name }
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(&(name.into(), 1))
    }

    fn get(&self, key: &Key) -> Option<Found<'f, 'm>> {
        self.by_name.get(key).and_then(|i| self.all.get(*i)).map(|(_, found)| *found)
    }
}

/// The elements of a tensor, as far as they can be compared.
enum Elements<'f> {
    Decoded(Box<Values<'f>>),
    /// The elements cannot be decoded for this reason, but their stored bytes can be compared.
    Unsupported(String),
    Unwanted,
}

/// Returns true if the kind of error means "not supported" rather than "damaged".
fn is_unsupported(kind: &str) -> bool {
    let kind = ErrorKind::ALL.iter().find(|one| one.name() == kind);
    kind.is_some_and(|kind| {
        let is_unsupported = kind.code() / 100 == 3 && *kind != ErrorKind::NoValues;
        is_unsupported || matches!(kind, ErrorKind::ForeignEndian | ErrorKind::NotDense)
    })
}

/// Notes that are printed after all tensors.
#[derive(Default)]
struct Notes {
    /// Tensors whose elements are in different orders.
    orders: u64,
    /// Tensors that have attributes in one file, if the format of the other file has none.
    attributes: u64,
}

impl Notes {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let notes = [
            (self.orders, "row-major in one file and column-major in the other: compared by index"),
            (self.attributes, "with attributes in one file; the format of the other has none: not compared"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "note: {count} tensor{} {what}", plural(count))?;
        }
        Ok(())
    }
}

/// The reason why a tensor was not read: its kind, and the message with the path of the file.
struct Unread {
    kind: &'static str,
    why: String,
}

fn unread(opened: &Opened<'_>, failure: Failure) -> Unread {
    let (kind, why) = match failure {
        Failure::Refused(kind, message, _) => (kind, message),
        other => ("Io", format!("{other:?}")),
    };
    Unread { kind, why: format!("{}: {why}", opened.path.display()) }
}
