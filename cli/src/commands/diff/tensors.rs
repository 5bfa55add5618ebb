//! Compares two tensors.

use std::collections::HashMap;

use tenslice::{ErrorKind, Tensor};

use super::Arguments;
use super::elements::{Differing, Measures, Norms, Place};
use super::metadata::{attribute_differences, stored_differences};
use crate::common::budget::Budget;
use crate::common::columns::type_name;
use crate::common::failure::Failure;
use crate::common::model::{Model, Opened};
use crate::common::reading::verify_whole;
use crate::values::Values;
use crate::values::slice::index_of;
use crate::values::stated::Stated;

/// A tensor and its file.
pub type Found<'f, 'm> = (&'f Opened<'m>, Tensor<'m>);

/// The result for a tensor of one or of both models.
pub struct Compared {
    pub name: String,
    pub state: State,
    /// The differences other than values; for a tensor of one model, its type and shape.
    pub lines: Vec<String>,
    pub values: Option<Measures>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum State {
    Same,
    Different,
    OnlyA,
    OnlyB,
    Unread,
    /// Not read because of a limit of the command.
    OverLimit,
}

impl Compared {
    pub fn new(name: String, state: State, lines: Vec<String>) -> Self {
        Self { name, state, lines, values: None }
    }

    pub fn is_over_limit(&self) -> bool {
        self.state == State::OverLimit
    }
}

/// The type and the shape of a tensor.
pub fn describe((opened, tensor): Found<'_, '_>) -> String {
    let shape = opened.array(&tensor).map(|array| format!(" {:?}", array.shape));
    format!("{}{}", type_name(opened, &tensor), shape.unwrap_or_default())
}

/// Describes the differences between two tensors, or returns why one of them cannot be read.
pub fn differences(
    options: &Arguments,
    a: Found<'_, '_>,
    b: Found<'_, '_>,
    budget: &Budget,
    notes: &mut Notes,
) -> Result<(Vec<String>, Option<Measures>), Unread> {
    let (of_a, of_b) = (elements(options, a, budget)?, elements(options, b, budget)?);
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
    let mut measures = None;
    match (of_a, of_b) {
        _ if options.no_values || shape_a != shape_b => {}
        (Elements::Decoded(mut of_a), Elements::Decoded(mut of_b)) => {
            let are_numbers = of_a.dtype.is_some() && of_b.dtype.is_some();
            if type_a == type_b || are_numbers {
                let (x, y) = ((a.0, &mut *of_a, &type_a), (b.0, &mut *of_b, &type_b));
                measures = values(options, x, y, notes)?;
            }
        }
        (Elements::Unsupported(why), _) | (_, Elements::Unsupported(why)) => {
            found.extend(stored_differences(a, b, &why));
        }
        _ => {}
    }
    Ok((found, measures))
}

/// Prepares the elements of a tensor, unless values are not compared.
fn elements<'f, 'm: 'f>(
    options: &Arguments,
    (opened, tensor): Found<'f, 'm>,
    budget: &'f Budget,
) -> Result<Elements<'f>, Unread> {
    if let Some(problem) = opened.problem(&tensor).filter(|_| options.no_values) {
        return Err(unread(opened, problem.into()));
    }
    if options.no_values {
        return Ok(Elements::Unwanted);
    }
    let read = || {
        verify_whole(opened, &tensor, budget, options.checks.are_compared())?;
        let mut values = Values::of(opened, &tensor, budget)?;
        values.plan_all().map_err(|stop| opened.fail(stop))?;
        Ok(Elements::Decoded(Box::new(values)))
    };
    read().or_else(|failure: Failure| match failure {
        Failure::Refused(kind, message, _) if is_unsupported(kind) => Ok(Elements::Unsupported(message)),
        failure => Err(unread(opened, failure)),
    })
}

/// Measures the elements that differ between two tensors of the same shape.
fn values(
    options: &Arguments,
    (opened_a, a, type_a): (&Opened<'_>, &mut Values<'_>, &Stated),
    (opened_b, b, type_b): (&Opened<'_>, &mut Values<'_>, &Stated),
    notes: &mut Notes,
) -> Result<Option<Measures>, Unread> {
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
            differing.add(at, (a, &bytes_a), (b, &bytes_b), (options.atol, options.rtol));
        }
        at += count;
    }
    let Some(first) = differing.first else { return Ok(None) };
    let mut place = |element: u64| -> Result<Place, Unread> {
        a.read(element, 1, &mut bytes_a).map_err(|stop| unread(opened_a, opened_a.fail(stop)))?;
        b.read(element, 1, &mut bytes_b).map_err(|stop| unread(opened_b, opened_b.fail(stop)))?;
        let index = index_of(element, &a.shape, a.order);
        Ok(Place { index, a: a.text(&bytes_a), b: b.text(&bytes_b) })
    };
    let first = place(first)?;
    let most = differing.most.map(|(distance, element)| place(element).map(|place| (distance, place)));
    let most = most.transpose()?;
    let mut measures = Measures { count: differing.count, total: a.count, first, most, norms: None };
    let mut norms = Norms::default();
    let mut at = 0;
    while at < a.count && measures.most.is_some() {
        let count = step.min(a.count - at);
        a.read(at, count, &mut bytes_a).map_err(|stop| unread(opened_a, opened_a.fail(stop)))?;
        b.read(at, count, &mut bytes_b).map_err(|stop| unread(opened_b, opened_b.fail(stop)))?;
        norms.add((a, &bytes_a), (b, &bytes_b));
        at += count;
    }
    measures.norms = Some(norms).filter(|_| measures.most.is_some());
    Ok(Some(measures))
}

/// The name of a tensor and a number, because zTensor 0.1 allows several tensors of the same name.
pub type Key = (String, u64);

/// The tensors of a model, indexed by name.
pub struct Tensors<'f, 'm> {
    pub all: Vec<(Key, Found<'f, 'm>)>,
    by_name: HashMap<Key, usize>,
}

impl<'f, 'm> Tensors<'f, 'm> {
    pub fn of(model: &'f Model<'m>) -> Self {
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

    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(&(name.into(), 1))
    }

    pub fn get(&self, key: &Key) -> Option<Found<'f, 'm>> {
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
pub struct Notes {
    /// Tensors whose elements are in different orders.
    pub orders: u64,
    /// Tensors that have attributes in one file, if the format of the other file has none.
    pub attributes: u64,
}

impl Notes {
    /// The counts of tensors, and what the notes say about them.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let notes = [
            (self.orders, "row-major in one file and column-major in the other: compared by index"),
            (self.attributes, "with attributes in one file; the format of the other has none: not compared"),
        ];
        notes.into_iter().filter(|(count, _)| *count > 0)
    }
}

/// The reason why a tensor was not read: its kind, and the message with the path of the file.
pub struct Unread {
    pub kind: &'static str,
    pub why: String,
}

fn unread(opened: &Opened<'_>, failure: Failure) -> Unread {
    let (kind, why) = match failure {
        Failure::Refused(kind, message, _) => (kind, message),
        other => ("Io", format!("{other:?}")),
    };
    Unread { kind, why: format!("{}: {why}", opened.path.display()) }
}
