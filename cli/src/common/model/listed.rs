//! Compares the index of a safetensors model with the model's files, without I/O.
//!
//! Only the index says which tensors the model has and where. Other tensors in the files are not part of the model.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value as Json;
use tenslice::safetensors::Index;
use tenslice::{ErrorKind, File};

use super::file_of_index;
use crate::common::problem::Problem;
use crate::common::text::{plural, printable};

/// The result for all files of an index.
#[derive(Default)]
pub struct Listed {
    /// The names of tensors that are not part of the model, by file.
    pub unlisted: HashMap<String, HashSet<String>>,
    /// Tensors of the index that their file lacks, and missing files.
    pub problems: Vec<Problem>,
    /// Tensors that are in a file but not in the index.
    pub warnings: Vec<Problem>,
    /// The number of files that the index names.
    pub file_count: u64,
}

/// Compares the index with the files that could be opened, by their names in the index. `missing` has the other files.
pub fn compare(index: &Index<'_>, files: &[(&str, &File<'_>)], missing: Vec<Problem>) -> Listed {
    let mut listed = Listed::default();
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut places: HashMap<String, String> = HashMap::new();
    for entry in index.entries() {
        let (name, file) = (entry.name.to_string(), file_of_index(entry.file));
        expected.entry(file.clone()).or_default().insert(name.clone());
        places.insert(name, file);
    }
    listed.file_count = expected.len() as u64;
    for problem in missing {
        let tensors = problem.file.as_ref().and_then(|file| expected.get(file)).map_or(0, BTreeSet::len) as u64;
        let are = format!("{tensors} tensor{} of the index cannot be read", plural(tensors));
        listed.problems.push(Problem { message: format!("{}: {are}", problem.message), ..problem });
    }
    for (name, file) in files {
        let empty = BTreeSet::new();
        let expected = expected.get(*name).unwrap_or(&empty);
        let mut found = BTreeSet::new();
        for tensor in file.tensors() {
            let tensor = tensor.name().to_string();
            if expected.contains(&tensor) {
                found.insert(tensor);
                continue;
            }
            let elsewhere = match places.get(&tensor) {
                Some(other) => format!("the index places it in {}", printable(other)),
                None => "the index does not list it".into(),
            };
            let message = format!("tensor \"{}\" is not part of the model: {elsewhere}", printable(&tensor));
            listed.warnings.push(Problem::of_tensor("NotInIndex", Some(name), &tensor, message));
            listed.unlisted.entry((*name).into()).or_default().insert(tensor);
        }
        for tensor in expected.difference(&found) {
            let message = format!("tensor \"{}\" is missing; the index places it in this file", printable(tensor));
            listed.problems.push(Problem::of_tensor(ErrorKind::NotFound.name(), Some(name), tensor, message));
        }
    }
    listed
}

/// Tensors of the index that have no file because their value is not a string, as in an index written by hand.
pub fn without_file(text: &[u8]) -> Vec<Problem> {
    let index: Json = serde_json::from_slice(text).unwrap_or_default();
    let map = index.get("weight_map").and_then(Json::as_object).into_iter().flatten();
    let of_one = |(tensor, file): (&String, &Json)| {
        let message = format!("tensor \"{}\" of the index has {file} instead of a file name", printable(tensor));
        Problem::of_tensor(ErrorKind::UnexpectedType.name(), None, tensor, message)
    };
    map.filter(|(_, file)| !file.is_string()).map(of_one).collect()
}
