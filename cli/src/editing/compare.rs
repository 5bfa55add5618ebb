//! Checks that a changed file has the tensors of the old one, with their new names.

use tenslice::{Component, ErrorKind, File, Opened, Source, Tensor};

use super::splice::Edits;
use super::{Changes, Plan};
use crate::common::failure::Failure;
use crate::common::model::checked;

/// A part of a tensor: role, type, offset, length, encoding, digest, shard.
type Part<'a> = (&'a str, Option<tenslice::DType>, u64, u64, &'a str, Option<&'a str>, Option<&'a str>);

/// The properties of a tensor that stay the same.
#[derive(Debug, PartialEq)]
struct Described<'a> {
    name: String,
    dtype: Option<tenslice::DType>,
    shape: Vec<u64>,
    layout: &'a str,
    parts: Vec<Part<'a>>,
}

impl<'a> Described<'a> {
    fn of(tensor: &Tensor<'a>) -> Self {
        let part = |part: Component<'a>| {
            let extent = part.extent();
            let names = (part.encoding_name(), part.digest(), part.shard());
            (part.role(), part.dtype(), extent.offset, extent.length, names.0, names.1, names.2)
        };
        Self {
            name: tensor.name().to_string(),
            dtype: tensor.dtype(),
            shape: tensor.shape().into_iter().collect(),
            layout: tensor.layout_name(),
            parts: tensor.components().map(part).collect(),
        }
    }

    /// All tensors of a file, sorted by name.
    fn all(file: &File<'a>) -> Vec<Self> {
        file.tensors().map(|tensor| Self::of(&tensor)).collect()
    }
}

/// Fails if a file is not the old one with these changes.
pub fn compare(old: &File<'_>, new: &File<'_>, edits: &Edits, changes: &Changes) -> Result<(), Failure> {
    let mut expected = Described::all(old);
    for tensor in &mut expected {
        if let Some(new) = changes.new_name(tensor.name.as_bytes()) {
            tensor.name = new.into();
        }
        // Bytes of another file do not move.
        for part in tensor.parts.iter_mut().filter(|part| part.6.is_none()) {
            part.2 = usize::try_from(part.2).map_or(part.2, |at| edits.moved(at) as u64);
        }
    }
    let mut found = Described::all(new);
    expected.sort_by(|a, b| a.name.cmp(&b.name));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let is_same = old.format() == new.format() && old.version() == new.version() && expected == found;
    if is_same { Ok(()) } else { Err(Failure::new("Io", "the changed file would not have the same tensors")) }
}

/// Checks a file that was written.
pub fn compare_written(old: &File<'_>, new: &[u8], plan: &Plan, changes: &Changes) -> Result<(), Failure> {
    let file = File::open(new).map_err(|error| refused(error, new))?;
    checked(&file).map_err(|error| refused(error, new))?;
    compare(old, &file, &plan.edits, changes)
}

/// Checks a file before it is changed in place. Returns false if this needs a copy of the whole file.
pub fn compare_in_place(old: &File<'_>, bytes: &[u8], plan: &Plan, changes: &Changes) -> Result<bool, Failure> {
    /// The longest file of which a copy in memory is made.
    const SMALL: usize = 1 << 16;
    if bytes.len() <= SMALL {
        return compare_written(old, &plan.edits.apply(bytes, 0..bytes.len()), plan, changes).map(|()| true);
    }
    let metadata = plan.edits.apply(bytes, plan.metadata.clone());
    let refused = |error| refused(error, &metadata);
    let mut source = Source::new(bytes.len() as u64);
    let (before, after) = (0..plan.metadata.start, plan.metadata.end..bytes.len());
    let around = [before, after].map(|part| (part.start, bytes.get(part).unwrap_or_default()));
    let parts = around.into_iter().chain([(plan.metadata.start, &*metadata)]);
    for (at, part) in parts.filter(|(_, part)| !part.is_empty()) {
        source.add(at as u64, part).map_err(refused)?;
    }
    match File::open_source(&source).map_err(refused)? {
        Opened::Need(_) => Ok(false),
        Opened::File(file) => {
            checked(&file).map_err(refused)?;
            compare(old, &file, &plan.edits, changes).map(|()| true)
        }
    }
}

/// The changes would make the file invalid.
fn refused(error: tenslice::Error, bytes: &[u8]) -> Failure {
    let message = format!("the changed file would be refused: {}", error.explain(bytes));
    Failure::new(ErrorKind::name(error.kind()), message)
}
