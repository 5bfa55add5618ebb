//! Writes a model to several files: safetensors with an index, or the parts of a GGUF model.

use std::path::Path;

use indicatif::ProgressBar;
use serde_json::json;
use tenslice::gguf::ValueType;

use super::Target;
use super::attributes::{Meta, Named};
use super::file::{Properties, write};
use super::tensor::Item;
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::output::{Output, publish_all};

/// How tensors are distributed to files.
#[derive(Clone, Copy, Debug)]
pub enum Shards {
    /// At most this many bytes of tensors in each file; a larger tensor is in a file of its own.
    OfSize(u64),
    /// At most this many tensors in each file.
    OfCount(u64),
}

/// Parses a number of bytes: `5GB`, `512MiB`, `1000000`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let (digits, unit) =
        UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit))).unwrap_or((text, 1));
    let size = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|size| *size > 0);
    size.ok_or_else(|| "write a number of bytes, with KB, MB, GB, KiB, MiB or GiB behind it if you like".into())
}

/// Distributes the tensors, in their order.
fn distribute<'i, 'm>(items: &[&'i Item<'m>], target: Target, shards: Shards, align: u64) -> Vec<Vec<&'i Item<'m>>> {
    let mut parts: Vec<Vec<&Item<'m>>> = vec![Vec::new()];
    let mut held = 0_u64;
    for item in items {
        // GGUF counts the padding, as gguf-split does.
        let length =
            if target == Target::Gguf { item.length().next_multiple_of(align.max(1)) } else { item.length() };
        let is_full = |part: &Vec<&Item<'m>>| match shards {
            Shards::OfSize(size) => held.saturating_add(length) > size,
            Shards::OfCount(count) => part.len() as u64 >= count,
        };
        if parts.last().is_some_and(|part| !part.is_empty() && is_full(part)) {
            parts.push(Vec::new());
            held = 0;
        }
        held = held.saturating_add(length);
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts
}

/// Writes the files: all under temporary names first, then with their own names, the index last.
pub fn write_all(
    path: &Path,
    properties: Properties,
    items: &[&Item<'_>],
    attributes: &[Named],
    shards: Shards,
    (budget, bar): (&Budget, &ProgressBar),
) -> Result<(), Failure> {
    let target = properties.target;
    if !matches!(target, Target::Safetensors | Target::Gguf) {
        let message = "only safetensors and GGUF models are written in several files";
        return Err(Failure::new("InvalidArgument", message));
    }
    let parts = distribute(items, target, shards, properties.alignment.unwrap_or(32));
    let count = parts.len();
    if count == 1 {
        return write(path, properties, items.to_vec(), attributes, budget, bar)?.finish();
    }
    let names: Vec<String> = (1..=count).map(|number| part_name(path, number, count)).collect();
    let mut outputs = Vec::new();
    for (number, (part, name)) in parts.iter().zip(&names).enumerate() {
        let of_part = match target {
            Target::Gguf => split_attributes(attributes, number, count, items.len())?,
            _ => attributes.to_vec(),
        };
        outputs.push(write(&path.with_file_name(name), properties, part.clone(), &of_part, budget, bar)?);
    }
    if target == Target::Safetensors {
        outputs.push(index(path, properties, &parts, &names)?);
    }
    publish_all(outputs)
}

/// The name of a part: `model-00001-of-00003.safetensors`.
fn part_name(path: &Path, number: usize, count: usize) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    format!("{stem}-{number:05}-of-{count:05}{ending}")
}

/// The attributes of a part of a GGUF model: all in the first part, and the three keys of a part in each.
fn split_attributes(all: &[Named], number: usize, count: usize, tensors: usize) -> Result<Vec<Named>, Failure> {
    if count > usize::from(u16::MAX) || i32::try_from(tensors).is_err() {
        return Err(Failure::new("TooMany", format!("{count} parts of {tensors} tensors are too many for GGUF")));
    }
    let mut attributes = if number == 0 { all.to_vec() } else { Vec::new() };
    for (key, value, kind) in [
        ("split.no", number, ValueType::U16),
        ("split.count", count, ValueType::U16),
        ("split.tensors.count", tensors, ValueType::I32),
    ] {
        attributes.push((key.into(), Meta::Integer(value as i128, Some(kind))));
    }
    Ok(attributes)
}

/// Writes the index of a safetensors model, as Hugging Face's libraries do.
fn index(path: &Path, properties: Properties, parts: &[Vec<&Item<'_>>], names: &[String]) -> Result<Output, Failure> {
    let mut map = serde_json::Map::new();
    let mut total = 0_u64;
    let mut places: Vec<(&str, &str)> = Vec::new();
    for (part, name) in parts.iter().zip(names) {
        places.extend(part.iter().map(|item| (item.name.as_str(), name.as_str())));
        total = part.iter().map(|item| item.length()).fold(total, u64::saturating_add);
    }
    places.sort_unstable();
    map.extend(places.into_iter().map(|(name, file)| (name.to_owned(), json!(file))));
    let index = json!({ "metadata": { "total_size": total }, "weight_map": map });
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let mut output =
        Output::create(&path.with_file_name(format!("{stem}.safetensors.index.json")), properties.by_force)?;
    let written = serde_json::to_writer_pretty(&mut output, &index).map_err(std::io::Error::from);
    written.map_err(|error| output.fail(&error))?;
    Ok(output)
}
