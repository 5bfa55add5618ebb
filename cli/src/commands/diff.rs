//! `tenslice diff`

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use tenslice::{DType, Tensor};

use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Opened, Target};
use crate::common::text::{dtype, plural, printable};
use crate::options::{Checks, Limits};
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::number::{Integer, digits, each_integer, each_number, lanes, text};
use crate::values::slice::index_of;

/// The differences between two files: names, shapes, dtypes, values
///
/// Tensors are compared by name and as dense arrays, whatever the formats, the compression or the byte order. Exit status:
/// 0 no difference, 1 differences, 2 wrong usage, or a file was refused.
#[derive(clap::Args)]
pub struct Arguments {
    a: PathBuf,
    b: PathBuf,

    /// Values that differ by no more than that are the same
    #[arg(long, value_name = "DIFFERENCE", default_value_t = 0.0)]
    tolerance: f64,

    /// Compare names, shapes and dtypes alone
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
        let [a, b] = [&self.a, &self.b].map(|path| Mapped::new(&Target::File(path.clone())));
        let [a, b] = match (a, b) {
            (Ok(a), Ok(b)) => [a, b],
            (a, b) => return self.refuse(terminal, a.err(), b.err()),
        };
        match (a.open(), b.open()) {
            (Ok(a), Ok(b)) => {
                let budget = self.limits.budget();
                budget.add_file(a.length().saturating_add(b.length()));
                let [of_a, of_b] = [&a, &b].map(|model| model.tensors().collect::<Vec<_>>());
                let found = self.compare(terminal, &of_a, &of_b, &budget);
                match found {
                    Ok(is_same) => Ok(u8::from(!is_same)),
                    Err(failure) => self.refuse(terminal, Some(failure), None),
                }
            }
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

    /// Prints all differences; returns whether there are none.
    fn compare(
        &self,
        terminal: &mut Terminal,
        a: &[Found<'_, '_>],
        b: &[Found<'_, '_>],
        budget: &Budget,
    ) -> Result<bool, Failure> {
        let by_name = |all: &[Found<'_, '_>]| -> HashMap<String, usize> {
            // Where a name is there twice, as 0.1 allows, the first one counts.
            all.iter().enumerate().rev().map(|(i, (_, tensor))| (tensor.name().to_string(), i)).collect()
        };
        let (of_a, of_b) = (by_name(a), by_name(b));
        let (mut same, mut different) = (0_u64, 0_u64);
        let total = |all: &[Found<'_, '_>]| all.iter().filter_map(|(_, tensor)| tensor.dense_length()).sum();
        let bar = progress::bar(if self.no_values { 0 } else { total(a) });
        for (opened, tensor) in a {
            let name = tensor.name().to_string();
            let shown = if name.is_empty() { "\"\"".into() } else { printable(&name) };
            let Some(other) = of_b.get(&name) else {
                bar.suspend(|| self.only(terminal, "-", &shown, tensor))?;
                different += 1;
                continue;
            };
            let differences = self.differences((opened, *tensor), b[*other], budget)?;
            bar.inc(tensor.dense_length().unwrap_or(0));
            for difference in &differences {
                bar.suspend(|| writeln!(terminal.out, "{} {shown}: {difference}", terminal.look.yellow("!")))?;
            }
            if differences.is_empty() { same += 1 } else { different += 1 }
        }
        for (_, tensor) in b {
            let name = tensor.name().to_string();
            if !of_a.contains_key(&name) {
                bar.suspend(|| self.only(terminal, "+", &printable(&name), tensor))?;
                different += 1;
            }
        }
        bar.finish_and_clear();
        let verb = if different == 1 { "s" } else { "" };
        let s = plural(same);
        let what = if self.no_values { " by name, shape and dtype" } else { "" };
        writeln!(terminal.out, "{same} tensor{s} the same{what}, {different} differ{verb}")?;
        Ok(different == 0)
    }

    /// Prints a tensor that only one of the files has.
    fn only(&self, terminal: &mut Terminal, sign: &str, name: &str, tensor: &Tensor<'_>) -> io::Result<()> {
        let file = if sign == "-" { &self.a } else { &self.b };
        let sign = terminal.look.painted(if sign == "-" { "31" } else { "32" }, sign);
        let (dtype, shape) = (dtype(tensor.dtype(), false), tensor.shape());
        writeln!(terminal.out, "{sign} {name}: {dtype} {shape}, only in {}", file.display())
    }

    /// The differences between two tensors, in words.
    fn differences(&self, a: Found<'_, '_>, b: Found<'_, '_>, budget: &Budget) -> Result<Vec<String>, Failure> {
        let (mut of_a, mut of_b) = match (self.elements(a, budget), self.elements(b, budget)) {
            (Ok(of_a), Ok(of_b)) => (of_a, of_b),
            (of_a, of_b) => {
                let why = of_a.err().or(of_b.err()).unwrap_or_default();
                return Ok(self.stated_differences(&a.1, &b.1, &why));
            }
        };
        // Shape and dtype of what is compressed are known now.
        let mut found = Vec::new();
        if of_a.dtype != of_b.dtype {
            found.push(format!("dtype {}, {}", dtype(of_a.dtype, false), dtype(of_b.dtype, false)));
        }
        if of_a.shape != of_b.shape {
            found.push(format!("shape {:?}, {:?}", of_a.shape, of_b.shape));
        } else if of_a.order != of_b.order && of_a.shape.len() > 1 {
            found.push(format!("element order {}, {}: values not compared", of_a.order.text(), of_b.order.text()));
        } else {
            found.extend(self.values((a.0, &mut of_a), (b.0, &mut of_b))?);
        }
        Ok(found)
    }

    /// The elements of a tensor, if they are wanted; or why they cannot be had.
    fn elements<'f, 'm: 'f>(
        &self,
        (opened, tensor): Found<'f, 'm>,
        budget: &'f Budget,
    ) -> Result<Values<'f>, String> {
        if self.no_values {
            return Err("they are not wanted".into());
        }
        let mut values = Values::of(opened, &tensor, budget).map_err(reason)?;
        values.expect_all().map_err(|stop| reason(opened.fail(stop)))?;
        Ok(values)
    }

    /// The differences in what two files say of tensors, and in their bytes, where the elements cannot be had.
    fn stated_differences(&self, a: &Tensor<'_>, b: &Tensor<'_>, why: &str) -> Vec<String> {
        let mut found = Vec::new();
        if a.dtype() != b.dtype() {
            found.push(format!("dtype {}, {}", dtype(a.dtype(), false), dtype(b.dtype(), false)));
        }
        if a.shape() != b.shape() {
            found.push(format!("shape {}, {}", a.shape(), b.shape()));
        }
        let is_same = || {
            let of_b = b.components().map(|component| component.stored().ok());
            a.components().map(|component| component.stored().ok()).eq(of_b)
        };
        if !self.no_values && found.is_empty() && !is_same() {
            found.push(format!("the stored bytes differ; the elements cannot be compared: {why}"));
        }
        found
    }

    /// What differs between the elements of two tensors of one shape and order.
    fn values(
        &self,
        (opened_a, a): (&Opened<'_>, &mut Values<'_>),
        (opened_b, b): (&Opened<'_>, &mut Values<'_>),
    ) -> Result<Option<String>, Failure> {
        let mut differing = Differing::default();
        let (mut bytes_a, mut bytes_b) = (Vec::new(), Vec::new());
        let mut at = 0;
        let step = a.at_once().min(b.at_once());
        while at < a.count {
            let count = step.min(a.count - at);
            a.read(at, count, &mut bytes_a).map_err(|error| opened_a.fail(error))?;
            b.read(at, count, &mut bytes_b).map_err(|error| opened_b.fail(error))?;
            if a.dtype != b.dtype || bytes_a != bytes_b {
                differing.add(at, (a, &bytes_a), (b, &bytes_b), self.tolerance);
            }
            at += count;
        }
        let Some(first) = differing.first else { return Ok(None) };
        let total = a.count;
        let mut place = |element: u64| -> Result<String, Failure> {
            a.read(element, 1, &mut bytes_a).map_err(|error| opened_a.fail(error))?;
            b.read(element, 1, &mut bytes_b).map_err(|error| opened_b.fail(error))?;
            let shown = |values: &Values<'_>, bytes: &[u8]| match values.dtype {
                Some(dtype) => text(dtype, bytes),
                None => crate::common::text::hex(bytes),
            };
            let index = index_of(element, &a.shape, a.order);
            Ok(format!("{index:?} ({}, {})", shown(a, &bytes_a), shown(b, &bytes_b)))
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

/// Why elements cannot be had.
fn reason(failure: Failure) -> String {
    if let Failure::Refused(_, message, _) = failure { message } else { String::new() }
}

/// Elements that differ.
#[derive(Default)]
struct Differing {
    count: u64,
    first: Option<u64>,
    /// The largest difference, and the element that has it.
    most: Option<(Distance, u64)>,
}

impl Differing {
    /// Compares elements from number `at` on: as numbers, or byte by byte where they are none.
    fn add(&mut self, at: u64, a: (&Values<'_>, &[u8]), b: (&Values<'_>, &[u8]), tolerance: f64) {
        let lanes = |values: &Values<'_>| values.dtype.map(lanes).unwrap_or((DType::U8, 1));
        let ((lane_a, count), (lane_b, others)) = (lanes(a.0), lanes(b.0));
        let is_number = a.0.dtype.is_some() && b.0.dtype.is_some() && count == others;
        let integers = (integers(lane_a, a.1), integers(lane_b, b.1));
        let numbers = (numbers(lane_a, a.1), numbers(lane_b, b.1));
        let distances: Option<Vec<_>> = match (integers, numbers) {
            _ if !is_number => None,
            ((Some(x), Some(y)), _) => Some(x.iter().zip(&y).map(|(x, y)| Distance::Exact(x.distance(*y))).collect()),
            (_, (Some(x), Some(y))) => {
                Some(x.iter().zip(&y).map(|(x, y)| Distance::Rounded(distance(*x, *y))).collect())
            }
            _ => None,
        };
        if let Some(distances) = distances {
            return self.add_distances(at, &distances, count, tolerance);
        }
        if a.0.dtype == b.0.dtype && a.0.size == b.0.size && a.0.size > 0 {
            let size = a.0.size as usize;
            let elements = a.1.chunks(size).zip(b.1.chunks(size)).zip(at..);
            return elements.filter(|((x, y), _)| x != y).for_each(|(_, element)| self.add_one(element, None));
        }
        self.add_one(at, None);
    }

    /// Adds elements of so many lanes, by how far apart the numbers of each lane are.
    fn add_distances(&mut self, at: u64, distances: &[Distance], lanes: usize, tolerance: f64) {
        for (i, lanes) in distances.chunks(lanes).enumerate() {
            let largest = lanes.iter().copied().fold(lanes[0], |x, y| if y > x { y } else { x });
            if largest.rounded() > tolerance {
                self.add_one(at + i as u64, Some(largest));
            }
        }
    }

    fn add_one(&mut self, element: u64, difference: Option<Distance>) {
        self.count += 1;
        self.first = self.first.or(Some(element));
        if let Some(difference) = difference.filter(|x| self.most.is_none_or(|(most, _)| *x > most)) {
            self.most = Some((difference, element));
        }
    }
}

fn integers(lane: DType, bytes: &[u8]) -> Option<Vec<Integer>> {
    let mut all = Vec::new();
    each_integer(lane, bytes, |x| all.push(x)).then_some(all)
}

fn numbers(lane: DType, bytes: &[u8]) -> Option<Vec<f64>> {
    let mut all = Vec::new();
    each_number(lane, bytes, |x| all.push(x)).then_some(all)
}

/// How far apart two numbers are: exact for integers of 64 bits and more. Those of one tensor are all of one kind.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Distance {
    Exact(u128),
    Rounded(f64),
}

impl Distance {
    fn rounded(self) -> f64 {
        match self {
            Self::Exact(x) => x as f64,
            Self::Rounded(x) => x,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Exact(x) => x.to_string(),
            Self::Rounded(x) => digits(DType::F32, x),
        }
    }
}

/// The distance of two numbers. Anything that is not a number is as far from all else as can be.
fn distance(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let distance = (x - y).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
