//! Compares the reference implementation of zTensor 2, the crate `ztensor` 2.1.1, with ours: both accept or both
//! reject a file, and list the same contents. If they differ, the cause is one of [`Difference`].
//!
//! Shared by the tests and the fuzz target. The including module provides `open_and_check` of `support`.

use tenslice::{Error, ErrorKind, File, Layout};
use ztensor::format::cbor::Value;
use ztensor::format::validate::image;
use ztensor::{Error as Theirs, Manifest, Vocabulary};

use super::open_and_check;

/// The reason that ours rejects a file that the reference accepts. The opposite never occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// The bytes that shape and dtype require exceed 64 bits: the reference then accepts any length.
    SizeOverflow,
    /// The components of `zt.sparse_coo/1` do not match: the reference does not check them.
    Coordinates,
}

/// The outcome of both readers for a file.
#[derive(Debug)]
pub enum Verdict {
    Accepted,
    /// The reference's rule, and our error.
    Refused(String, Error),
    /// Only ours rejects the file, for this reason.
    Explained(Difference),
    /// Both lists, or the reasons for rejecting.
    Unexplained(String),
}

/// Compares the outcomes of both readers for a file, and explains the difference.
pub fn judge(bytes: &[u8], vocabulary: &Vocabulary) -> Verdict {
    match (image(bytes, vocabulary), open_and_check(bytes)) {
        (Ok(theirs), Ok(ours)) => {
            let manifest = theirs.clone().unwrap_or_default(); // a shard has none
            let (listed, theirs_listed) = (list(&ours), list_theirs(&manifest));
            let is_shard = ours.as_ztensor2().map(|file| file.is_shard());
            if listed == theirs_listed && is_shard == Some(theirs.is_none()) {
                Verdict::Accepted
            } else {
                Verdict::Unexplained(format!("{is_shard:?} {listed}, the reference {theirs_listed}"))
            }
        }
        (Err(Theirs::Reject { rule, .. }), Err(error)) => Verdict::Refused(format!("{rule:?}"), error),
        (Ok(theirs), Err(error)) => match error.kind() {
            ErrorKind::ShapeOverflow => Verdict::Explained(Difference::SizeOverflow),
            ErrorKind::SizeMismatch if is_large(theirs.as_ref()) => Verdict::Explained(Difference::SizeOverflow),
            _ if has_coordinates(theirs.as_ref()) => Verdict::Explained(Difference::Coordinates),
            _ => Verdict::Unexplained(format!("refused by ours alone: {error:?}, {}", error.explain(bytes))),
        },
        (Err(error), Ok(_)) => Verdict::Unexplained(format!("refused by the reference alone: {error}")),
        (Err(error), Err(_)) => Verdict::Unexplained(format!("another error: {error}")),
    }
}

fn has_coordinates(manifest: Option<&Manifest>) -> bool {
    manifest.is_some_and(|manifest| manifest.objects.values().any(|object| object.layout == "zt.sparse_coo/1"))
}

/// True if the values of a sparse tensor are so many that their size exceeds 64 bits.
fn is_large(manifest: Option<&Manifest>) -> bool {
    let sizes = manifest.into_iter().flat_map(|manifest| manifest.objects.values());
    sizes.flat_map(|object| object.parts.values()).any(|part| part.decoded_size() > 1 << 60)
}

/// Lists a file with ours, as text.
fn list(file: &File<'_>) -> String {
    let mut lines = Vec::new();
    for shard in file.as_ztensor2().unwrap().shards() {
        lines.push(format!("shard {} {} {}", shard.name, shard.size, shard.digest));
    }
    lines.push(format!("{} attributes", file.attributes().count()));
    for tensor in file.tensors() {
        let shape: Vec<_> = tensor.shape().iter().collect();
        let count = tensor.attributes().count();
        assert_eq!(tensor.layout() == Layout::Dense, tensor.layout_name() == "dense");
        lines.push(format!("{} {shape:?} {} {count}", tensor.name(), tensor.layout_name()));
        for part in tensor.components() {
            let storage = part.storage_dtype().unwrap();
            let encoding = part.encoding_name();
            lines.push(format!(
                "{} {} {storage} {:?} {} {:?} {encoding} {:?} {:?}",
                tensor.name(),
                part.role(),
                part.shard(),
                part.extent().offset,
                part.extent().length,
                part.decoded_length(),
                part.digest()
            ));
        }
    }
    lines.sort(); // the reference has another order
    lines.join("\n")
}

/// Lists a file with the reference, in the same way.
fn list_theirs(manifest: &Manifest) -> String {
    let mut lines = Vec::new();
    let count = |attributes: &Option<Value>| attributes.as_ref().and_then(Value::as_map).map_or(0, <[_]>::len);
    for (name, shard) in &manifest.shards {
        lines.push(format!("shard {name} {} {}", shard.size, shard.digest));
    }
    lines.push(format!("{} attributes", count(&manifest.attributes)));
    for (name, object) in &manifest.objects {
        lines.push(format!("{name} {:?} {} {}", object.shape, object.layout, count(&object.attributes)));
        for (role, part) in &object.parts {
            lines.push(format!(
                "{name} {role} {} {:?} {} {:?} {} {:?} {:?}",
                part.dtype,
                part.blob.shard.as_deref(),
                part.blob.offset,
                part.blob.length,
                part.encoding.as_deref().unwrap_or("raw"),
                Some(part.decoded_size()),
                part.digest.as_deref()
            ));
        }
    }
    lines.sort();
    lines.join("\n")
}
