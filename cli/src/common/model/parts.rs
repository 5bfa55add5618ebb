//! Groups the parts of GGUF models and finds problems with them, without I/O.
//!
//! The metadata of the files decides (`split.no`, `split.count`, `split.tensors.count`). Names only separate models
//! with equal metadata, such as two quantizations of one model.

use std::collections::BTreeMap;

use tenslice::gguf::PartName;
use tenslice::{ErrorKind, File};

use crate::common::problem::{MISSING_PART, Problem};
use crate::common::text::printable;

/// The kind of the problem that two files are the same part.
pub const REPEATED_PART: &str = "RepeatedPart";

/// The split metadata of a file. `split.tensors.count` may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The number of the part, starting at 0.
    pub index: u64,
    pub count: u64,
    pub tensors: Option<u64>,
}

impl Split {
    /// Reads the metadata; `None` if the file is a complete model.
    pub fn of(file: &File<'_>) -> Option<Self> {
        let attributes = file.as_gguf().map(|_| file.attributes())?;
        let get = |key| attributes.get_u64(key);
        let split = Self { index: get("split.no")?, count: get("split.count")?, tensors: get("split.tensors.count") };
        (split.count > 1).then_some(split)
    }
}

/// A file that is a part of a model.
#[derive(Clone, Debug)]
pub struct ModelPart {
    /// The name of the file, without its folder.
    pub name: String,
    pub split: Split,
}

/// The parts of one model, and its problems.
#[derive(Debug, Default, PartialEq)]
pub struct Model {
    /// Indices of the parts to read, in the order of their numbers: one part per number.
    pub parts: Vec<usize>,
    /// Indices of all files of the model, including duplicate and invalid parts.
    pub files: Vec<usize>,
    /// Missing, repeated and contradictory parts.
    pub problems: Vec<Problem>,
    /// Names that do not match the metadata, and missing metadata.
    pub warnings: Vec<Problem>,
    /// The expected names of the missing parts.
    pub missing: Vec<String>,
    /// The parts to read that have duplicates.
    pub ambiguous: Vec<String>,
}

/// Groups the parts in one folder into models.
pub fn models(parts: &[ModelPart]) -> Vec<Model> {
    let mut by_count: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (i, part) in parts.iter().enumerate() {
        by_count.entry(part.split.count).or_default().push(i);
    }
    let groups = by_count.into_values().flat_map(|group| divide(parts, &group));
    groups.map(|group| judge(parts, &group)).collect()
}

/// Divides parts with the same part count by the names of their files. Incomplete groups that are complete together are
/// one model. A file without a part name joins a model with the same metadata, if possible one that lacks its number.
fn divide(parts: &[ModelPart], group: &[usize]) -> Vec<Vec<usize>> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut others = Vec::new();
    for i in group {
        match parts.get(*i).and_then(|part| PartName::parse(&part.name)) {
            Some(name) => by_name.entry(name.prefix).or_default().push(*i),
            None => others.push(*i),
        }
    }
    let (mut models, incomplete): (Vec<_>, Vec<_>) = by_name.into_values().partition(|some| is_complete(parts, some));
    let together = incomplete.concat();
    if is_complete(parts, &together) {
        models.push(together);
    } else {
        models.extend(incomplete);
    }
    let mut unnamed: Vec<Vec<usize>> = Vec::new();
    for i in others {
        let split = parts.get(i).map(|part| part.split);
        let is_alike =
            |model: &Vec<usize>| splits(parts, model).next().map(|s| s.tensors) == split.map(|s| s.tensors);
        let lacks_it =
            |model: &Vec<usize>| splits(parts, model).all(|other| Some(other.index) != split.map(|s| s.index));
        let mut alike: Vec<_> = models.iter_mut().chain(&mut unnamed).filter(|model| is_alike(model)).collect();
        let place = alike.iter().position(|model| lacks_it(model)).unwrap_or(0);
        match alike.get_mut(place) {
            Some(model) => model.push(i),
            None => unnamed.push(vec![i]),
        }
    }
    models.extend(unnamed);
    models
}

/// Returns true if each number occurs exactly once.
fn is_complete(parts: &[ModelPart], group: &[usize]) -> bool {
    let mut numbers: Vec<u64> = splits(parts, group).map(|split| split.index).collect();
    numbers.sort_unstable();
    let count = splits(parts, group).next().map_or(0, |split| split.count);
    !numbers.is_empty() && numbers.len() as u64 == count && numbers.iter().zip(0..).all(|(number, i)| *number == i)
}

fn splits<'p>(parts: &'p [ModelPart], group: &'p [usize]) -> impl Iterator<Item = Split> + 'p {
    group.iter().filter_map(|i| parts.get(*i)).map(|part| part.split)
}

/// Chooses a file for each number, and finds missing, repeated and out-of-range numbers.
fn judge(parts: &[ModelPart], group: &[usize]) -> Model {
    let mut model = Model { files: group.to_vec(), ..Model::default() };
    let mut of_number: BTreeMap<u64, usize> = BTreeMap::new();
    let mut sorted = group.to_vec();
    // A file whose name matches its metadata takes precedence.
    let is_misnamed = |part: &ModelPart| misnamed(&part.name, Some(part.split)).is_some();
    let name_of = |i: &usize| parts.get(*i).map(|part| (is_misnamed(part), part.name.as_str()));
    sorted.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
    for i in sorted {
        let Some(part) = parts.get(i) else { continue };
        let Split { index, count, .. } = part.split;
        if index >= count {
            let message = format!("split.no is {index}, but split.count is {count}: the numbers begin with 0");
            model.problems.push(Problem::of_file("InvalidPart", &part.name, message));
        } else if let Some(first) = of_number.get(&index).and_then(|first| parts.get(*first)) {
            let message = format!("{}, as {} is", description(part.split), printable(&first.name));
            model.problems.push(Problem::of_file(REPEATED_PART, &part.name, message));
            model.ambiguous.push(first.name.clone());
        } else {
            of_number.insert(index, i);
            model.warnings.extend(misnamed(&part.name, Some(part.split)));
        }
    }
    let chosen = || of_number.values().filter_map(|i| parts.get(*i));
    let first = chosen().next();
    let stated = first.and_then(|part| part.split.tensors);
    for part in chosen().filter(|part| part.split.tensors != stated) {
        let [here, first] = [part.split.tensors, stated].map(|n| n.map_or("missing".into(), |n| n.to_string()));
        let message = format!("split.tensors.count is {here}, but {first} in the first part");
        model.problems.push(Problem::of_file(ErrorKind::CountsDiffer.name(), &part.name, message));
    }
    if let Some(part) = first.filter(|part| part.split.tensors.is_none()) {
        let message = "split.tensors.count is missing: parts may lack tensors";
        model.warnings.push(Problem::of_file(ErrorKind::MissingKey.name(), &part.name, message));
    }
    let count = splits(parts, group).next().map_or(0, |split| split.count);
    let prefix = group.iter().find_map(|i| parts.get(*i).and_then(|part| PartName::parse(&part.name)));
    let prefix = prefix.map(|part| part.prefix);
    let missing = (0..count).filter(|index| !of_number.contains_key(index));
    // A file can state any count, so only this number of missing parts is named.
    const NAMED: usize = 64;
    for index in missing.take(NAMED) {
        let message = format!("part {} of {count} is missing", index.saturating_add(1));
        let name = prefix.map(|prefix| PartName { prefix, index, count }.to_string());
        model.problems.push(Problem { file: name.clone(), ..Problem::new(MISSING_PART, message) });
        model.missing.extend(name);
    }
    let missing = count.saturating_sub(of_number.len() as u64).saturating_sub(NAMED as u64);
    if missing > 0 {
        let message = format!("{missing} more parts of {count} are missing");
        model.problems.push(Problem::new(MISSING_PART, message));
    }
    model.parts = of_number.into_values().collect();
    model
}

/// Returns true if the name is that of the first part of a model.
pub fn is_named_first(name: &str) -> bool {
    PartName::parse(name).is_some_and(|name| name.index == 0)
}

/// The warning that the name of a file does not match its metadata.
pub fn misnamed(name: &str, split: Option<Split>) -> Option<Problem> {
    let message = match (PartName::parse(name), split) {
        (Some(named), Some(split)) if (named.index, named.count) == (split.index, split.count) => return None,
        (None, None) => return None,
        (Some(PartName { count: 1, .. }), None) => return None, // a model in one part states no metadata
        (_, Some(split)) => format!("{}, which its file name does not say", description(split)),
        (Some(named), None) => {
            let number = named.index.saturating_add(1);
            format!("not part of a model, but the file name says part {number} of {}", named.count)
        }
    };
    Some(Problem::of_file("MisnamedPart", name, message))
}

/// Describes the part that a file is.
pub fn description(split: Split) -> String {
    let Split { index, count, .. } = split;
    format!("this is part {} of {count} (split.no {index})", index.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, index: u64, count: u64) -> ModelPart {
        ModelPart { name: name.into(), split: Split { index, count, tensors: Some(9) } }
    }

    /// The files of each model, and the kinds of its problems and warnings.
    fn found(parts: &[ModelPart]) -> Vec<(Vec<&str>, Vec<&str>)> {
        let mut all: Vec<_> = models(parts)
            .iter()
            .map(|model| {
                let names = model.parts.iter().map(|i| parts[*i].name.as_str()).collect();
                let kinds = model.problems.iter().chain(&model.warnings).map(|problem| problem.kind).collect();
                (names, kinds)
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn content_decides_and_names_are_warned_about() {
        let good = [part("m-00001-of-00002.gguf", 0, 2), part("m-00002-of-00002.gguf", 1, 2)];
        assert_eq!(found(&good), [(vec!["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"], vec![])]);
        let swapped = [part("m-00001-of-00002.gguf", 1, 2), part("m-00002-of-00002.gguf", 0, 2)];
        let expected = vec!["m-00002-of-00002.gguf", "m-00001-of-00002.gguf"];
        assert_eq!(found(&swapped), [(expected, vec!["MisnamedPart"; 2])]);
        let renamed = [part("m-00001-of-00002.gguf", 0, 2), part("rest.gguf", 1, 2)];
        assert_eq!(found(&renamed), [(vec!["m-00001-of-00002.gguf", "rest.gguf"], vec!["MisnamedPart"])]);
    }

    #[test]
    fn numbers_are_missing_or_twice() {
        let twice = [
            part("m-00001-of-00003.gguf", 0, 3),
            part("m-00002-of-00003.gguf", 1, 3),
            part("m-00003-of-00003.gguf", 1, 3),
        ];
        let expected = vec!["m-00001-of-00003.gguf", "m-00002-of-00003.gguf"];
        assert_eq!(found(&twice), [(expected, vec!["RepeatedPart", "MissingPart"])]);
        let found_twice = &models(&twice)[0];
        assert_eq!(found_twice.missing, ["m-00003-of-00003.gguf"]);
        assert_eq!(found_twice.ambiguous, ["m-00002-of-00003.gguf"]);
        let without_first = [part("m-00002-of-00002.gguf", 1, 2)];
        assert_eq!(found(&without_first), [(vec!["m-00002-of-00002.gguf"], vec!["MissingPart"])]);
        // A copy under another name, next to the complete model or in place of a part.
        let mut copied = twice.to_vec();
        copied[2] = part("m-00002-of-00003 (1).gguf", 1, 3);
        copied.push(part("m-00003-of-00003.gguf", 2, 3));
        let all = vec!["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
        assert_eq!(found(&copied), [(all, vec!["RepeatedPart"])]);
        let mut renamed = twice.to_vec();
        renamed.push(part("third.gguf", 2, 3));
        let all = vec!["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "third.gguf"];
        assert_eq!(found(&renamed), [(all, vec!["RepeatedPart", "MisnamedPart"])]);
        assert_eq!(
            found(&[part("m-00001-of-00002.gguf", 0, 2), part("x", 2, 2)])[0].1,
            ["InvalidPart", "MissingPart"]
        );
        // The parts disagree about the total.
        let mut differing = [part("m-00001-of-00002.gguf", 0, 2), part("m-00002-of-00002.gguf", 1, 2)];
        differing[1].split.tensors = Some(8);
        assert_eq!(found(&differing)[0].1, ["CountsDiffer"]);
        differing.iter_mut().for_each(|part| part.split.tensors = None);
        assert_eq!(found(&differing)[0].1, ["MissingKey"]);
        let many = models(&[part("x.gguf", 5, u64::MAX)]);
        assert!(many[0].problems.len() < 70 && many[0].missing.len() < 70);
    }

    #[test]
    fn two_models_state_the_same() {
        let parts = [
            part("q4-00001-of-00002.gguf", 0, 2),
            part("q4-00002-of-00002.gguf", 1, 2),
            part("q8-00001-of-00002.gguf", 0, 2),
            part("q8-00002-of-00002.gguf", 1, 2),
        ];
        let expected = [
            (vec!["q4-00001-of-00002.gguf", "q4-00002-of-00002.gguf"], vec![]),
            (vec!["q8-00001-of-00002.gguf", "q8-00002-of-00002.gguf"], vec![]),
        ];
        assert_eq!(found(&parts), expected);
        // One model is complete; the part of the other one is not used for it.
        assert_eq!(models(&parts[..3]).iter().map(|model| model.problems.len()).sum::<usize>(), 1);
    }
}
