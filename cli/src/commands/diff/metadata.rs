//! Compares the metadata and the stored bytes of two tensors.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use tenslice::Layout;

use super::tensors::{Found, Notes};
use crate::common::model::Model;
use crate::common::record::attributes;
use crate::common::summary;
use crate::common::text::{printable, shortened};

/// The differences in the stored bytes of two tensors whose elements cannot be compared.
pub fn stored_differences(a: Found<'_, '_>, b: Found<'_, '_>, why: &str) -> Vec<String> {
    let mut found = Vec::new();
    if a.1.layout_name() != b.1.layout_name() {
        found.push(format!("layout {}, {}", printable(a.1.layout_name()), printable(b.1.layout_name())));
    }
    match (stored(a), stored(b)) {
        (Some(a), Some(b)) if a == b => {}
        (Some(_), Some(_)) => {
            found.push(format!("the stored bytes differ; the elements cannot be compared: {why}"));
        }
        _ => found.push(format!("the elements cannot be compared: {why}")),
    }
    found
}

/// The stored bytes of all components; `None` if the bytes of a component are missing.
fn stored<'f>((opened, tensor): Found<'f, '_>) -> Option<Vec<&'f [u8]>> {
    let of = |component| opened.with_shard(&component).ok()??.stored().ok();
    tensor.components().map(of).collect()
}

/// Words in attribute names that say which numbers the elements represent.
const QUANTIZATION: [&str; 4] = ["scale", "zero_point", "quant", "logical"];

/// The differences in the attributes of two tensors. If one format has no attributes, those of the other are a
/// difference only if they say which numbers the elements of a dense tensor represent.
pub fn attribute_differences(a: Found<'_, '_>, b: Found<'_, '_>, notes: &mut Notes) -> Vec<String> {
    let has_some =
        |(opened, _): Found<'_, '_>| opened.file.as_ztensor().is_some() || opened.file.as_ztensor2().is_some();
    let are_both = has_some(a) && has_some(b);
    let all = |(_, tensor): Found<'_, '_>| match attributes(tensor.attributes()) {
        Json::Object(all) => all,
        _ => Map::new(),
    };
    let (of_a, of_b) = (all(a), all(b));
    let mut found = Vec::new();
    let mut is_noted = false;
    let is_dense = a.1.layout() == Layout::Dense && b.1.layout() == Layout::Dense;
    let keys: BTreeSet<&String> =
        of_a.keys().chain(of_b.keys()).filter(|key| of_a.get(*key) != of_b.get(*key)).collect();
    for key in keys {
        let (x, y) = (of_a.get(key), of_b.get(key));
        let is_quantization = is_dense && QUANTIZATION.iter().any(|word| key.to_lowercase().contains(word));
        if are_both || is_quantization {
            let [x, y] = [x, y].map(|value| value.map_or("none".into(), |value| shortened(&value.to_string(), 60)));
            found.push(format!("attribute \"{}\" {}, {}", printable(key), printable(&x), printable(&y)));
        } else {
            is_noted = true;
        }
    }
    notes.attributes += u64::from(is_noted);
    found
}

/// A key of the metadata with different values.
pub struct Different {
    pub key: String,
    pub a: Option<Json>,
    pub b: Option<Json>,
}

/// The differences in the metadata of two models of the same format. The metadata of other formats has other keys.
pub fn metadata_differences(a: &Model<'_>, b: &Model<'_>) -> Vec<Different> {
    let format = |model: &Model<'_>| model.files.first().map(|opened| opened.file.format());
    if format(a) != format(b) {
        return Vec::new();
    }
    let all = |model: &Model<'_>| -> Vec<(String, Json)> {
        let maps = summary::attributes(model).map(attributes);
        let pairs = maps.filter_map(|map| if let Json::Object(map) = map { Some(map) } else { None }).flatten();
        // These keys say how a model is divided into files.
        pairs.filter(|(key, _)| !key.starts_with("split.") && key != "total_size").collect()
    };
    let (of_a, of_b) = (all(a), all(b));
    let value = |all: &[(String, Json)], key: &str| {
        all.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
    };
    let mut found: Vec<Different> = Vec::new();
    for (key, _) in of_a.iter().chain(&of_b) {
        let (x, y) = (value(&of_a, key), value(&of_b, key));
        if x != y && found.iter().all(|other| other.key != *key) {
            found.push(Different { key: key.clone(), a: x, b: y });
        }
    }
    found
}
