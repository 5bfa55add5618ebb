//! `tenslice diff`

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use tenslice::{DType, Tensor};

use crate::common::failure::Failure;
use crate::common::model::{Mapped, Opened, Target};
use crate::common::text::{dtype, plural, printable};
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::number::{digits, each_number, lanes, text};
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

    /// Also decode what takes more than 1 GiB of memory
    #[arg(long)]
    no_limit: bool,
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
                let found =
                    self.compare(terminal, &a.tensors().collect::<Vec<_>>(), &b.tensors().collect::<Vec<_>>());
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
    fn compare(&self, terminal: &mut Terminal, a: &[Found<'_, '_>], b: &[Found<'_, '_>]) -> Result<bool, Failure> {
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
            let differences = self.differences((opened, *tensor), b[*other])?;
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
    fn differences(&self, a: Found<'_, '_>, b: Found<'_, '_>) -> Result<Vec<String>, Failure> {
        let (mut of_a, mut of_b) = match (self.elements(a), self.elements(b)) {
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
    fn elements<'f, 'm: 'f>(&self, (opened, tensor): Found<'f, 'm>) -> Result<Values<'f>, String> {
        if self.no_values {
            return Err("they are not wanted".into());
        }
        Values::of(opened, &tensor, self.no_limit).map_err(reason)
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
            text += &format!(", the most by {} at {}", digits(DType::F32, difference), place(element)?);
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
    most: Option<(f64, u64)>,
}

impl Differing {
    /// Compares elements from number `at` on: as numbers, or byte by byte where they are none.
    fn add(&mut self, at: u64, a: (&Values<'_>, &[u8]), b: (&Values<'_>, &[u8]), tolerance: f64) {
        let numbers = |(values, bytes): (&Values<'_>, &[u8])| {
            let (lane, count) = lanes(values.dtype?);
            let mut all = Vec::new();
            each_number(lane, bytes, |x| all.push(x)).then_some((all, count))
        };
        let is_one_type = a.0.dtype == b.0.dtype;
        // Integers of 64 bits may differ where the numbers nearest to them do not.
        let is_exact = is_one_type && a.0.dtype.is_some_and(|dtype| lanes(dtype).0.is_integer());
        let bytes = |i: usize| {
            let of = |(values, bytes): (&Values<'_>, &[u8])| {
                let size = values.size as usize;
                bytes[i * size..(i + 1) * size].to_vec()
            };
            of(a) == of(b)
        };
        match (numbers(a), numbers(b)) {
            (Some((x, lanes)), Some((y, others))) if lanes == others => {
                for (i, (x, y)) in x.chunks(lanes).zip(y.chunks(lanes)).enumerate() {
                    let distance = x.iter().zip(y).map(|(x, y)| distance(*x, *y)).fold(0.0, f64::max);
                    if distance > tolerance || (is_exact && distance == 0.0 && !bytes(i)) {
                        self.add_one(at + i as u64, Some(distance));
                    }
                }
            }
            (None, None) if is_one_type && a.0.size == b.0.size && a.0.size > 0 => {
                let count = a.1.len() / a.0.size as usize;
                (0..count).filter(|i| !bytes(*i)).for_each(|i| self.add_one(at + i as u64, None));
            }
            _ => self.add_one(at, None),
        }
    }

    fn add_one(&mut self, element: u64, difference: Option<f64>) {
        self.count += 1;
        self.first = self.first.or(Some(element));
        if let Some(difference) = difference.filter(|x| self.most.is_none_or(|(most, _)| *x > most)) {
            self.most = Some((difference, element));
        }
    }
}

/// How far apart two numbers are. Anything that is not a number is as far from all else as can be.
fn distance(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let distance = (x - y).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
