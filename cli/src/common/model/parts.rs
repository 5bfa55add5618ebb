//! The parts of GGUF models: which files are the parts of one model, and what is wrong with them. Without I/O.
//!
//! What a file states of itself decides (`split.no`, `split.count`, `split.tensors.count`). Its name only tells models apart
//! whose parts state the same, such as two quantizations of one model.

use std::collections::BTreeMap;

use tenslice::gguf::{PartName, Split};

use crate::common::problem::Problem;
use crate::common::text::printable;

/// The kind of the problem that no file is a certain part.
pub const MISSING_PART: &str = "MissingPart";

/// A file that states that it is a part of a model.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the file, without its folder.
    pub name: String,
    pub split: Split,
}

/// What is known of the parts of one model.
#[derive(Debug, Default, PartialEq)]
pub struct Model {
    /// The parts to read, by their indices in the list, in the order of their numbers: one for each number.
    pub parts: Vec<usize>,
    /// These, and files that repeat one of them.
    pub files: Vec<usize>,
    /// Why the model is not complete.
    pub problems: Vec<Problem>,
    /// Files whose names are those of other parts.
    pub warnings: Vec<Problem>,
    /// The names that the missing parts should have.
    pub missing: Vec<String>,
}

/// Sorts parts from one folder into models.
pub fn models(parts: &[Part]) -> Vec<Model> {
    let mut groups: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (i, part) in parts.iter().enumerate() {
        groups.entry((part.split.count, part.split.tensors)).or_default().push(i);
    }
    let groups = groups.into_values().flat_map(|group| divide(parts, group));
    groups.map(|group| judge(parts, &group)).collect()
}

/// Divides files that state the same numbers into those of one model each: first those of one name that are complete; the
/// others are one model if they are complete, whatever their names, or one for each name.
fn divide(parts: &[Part], group: Vec<usize>) -> Vec<Vec<usize>> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for i in group {
        let part = parts.get(i).and_then(|part| PartName::parse(&part.name));
        by_name.entry(part.map_or("", |part| part.prefix)).or_default().push(i);
    }
    let (mut models, rest): (Vec<_>, Vec<_>) = by_name.into_values().partition(|some| is_complete(parts, some));
    let together = rest.concat();
    if is_complete(parts, &together) {
        models.push(together);
    } else {
        models.extend(rest);
    }
    models
}

/// Whether each number is there once.
fn is_complete(parts: &[Part], group: &[usize]) -> bool {
    let mut numbers: Vec<u64> = splits(parts, group).map(|split| split.index).collect();
    numbers.sort_unstable();
    let count = splits(parts, group).next().map_or(0, |split| split.count);
    !numbers.is_empty() && numbers.len() as u64 == count && numbers.iter().zip(0..).all(|(number, i)| *number == i)
}

fn splits<'p>(parts: &'p [Part], group: &'p [usize]) -> impl Iterator<Item = Split> + 'p {
    group.iter().filter_map(|i| parts.get(*i)).map(|part| part.split)
}

/// Chooses a file for each number, and says which numbers are missing or stored twice.
fn judge(parts: &[Part], group: &[usize]) -> Model {
    let mut model = Model::default();
    let mut of_number: BTreeMap<u64, usize> = BTreeMap::new();
    let mut sorted = group.to_vec();
    // A file that is named as its content says comes before others with that content.
    let is_misnamed = |part: &Part| misnamed(&part.name, Some(part.split)).is_some();
    let name_of = |i: &usize| parts.get(*i).map(|part| (is_misnamed(part), part.name.as_str()));
    sorted.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
    for i in sorted {
        let Some(part) = parts.get(i) else { continue };
        let index = part.split.index;
        let this = description(part.split);
        if let Some(first) = of_number.get(&index).and_then(|first| parts.get(*first)) {
            let message = format!("{this}, as {} is", printable(&first.name));
            model.problems.push(Problem::of_file("RepeatedPart", &part.name, message));
            continue;
        }
        of_number.insert(index, i);
        model.warnings.extend(misnamed(&part.name, Some(part.split)));
    }
    let count = splits(parts, group).next().map_or(0, |split| split.count);
    let prefix = group.iter().find_map(|i| parts.get(*i).and_then(|part| PartName::parse(&part.name)));
    let prefix = prefix.map_or("model", |part| part.prefix);
    // No more than there are files: a file can state any count.
    let missing = (0..count).filter(|index| !of_number.contains_key(index));
    const NAMED: usize = 64;
    for index in missing.take(NAMED) {
        let name = PartName { prefix, index, count }.to_string();
        let message = format!("part {} of {count} is missing", index.saturating_add(1));
        model.problems.push(Problem::of_file(MISSING_PART, &name, message));
        model.missing.push(name);
    }
    let missing = count.saturating_sub(of_number.len() as u64).saturating_sub(NAMED as u64);
    if missing > 0 {
        let message = format!("{missing} more parts of {count} are missing");
        model.problems.push(Problem::new(MISSING_PART, message));
    }
    model.parts = of_number.into_values().collect();
    model.files = group.to_vec();
    model
}

/// Whether a file has the name of the first part of a model.
pub fn is_named_first(name: &str) -> bool {
    PartName::parse(name).is_some_and(|name| name.index == 0)
}

/// The warning that the name of a file and what it states of itself disagree.
pub fn misnamed(name: &str, split: Option<Split>) -> Option<Problem> {
    let message = match (PartName::parse(name), split) {
        (Some(named), Some(split)) if (named.index, named.count) == (split.index, split.count) => return None,
        (None, None) => return None,
        (_, Some(split)) => format!("{}, which its name does not say", description(split)),
        (Some(named), None) => {
            format!("this is no part of a model, though its name says part {} of {}", named.index + 1, named.count)
        }
    };
    Some(Problem::of_file("MisnamedPart", name, message))
}

fn description(split: Split) -> String {
    let Split { index, count, .. } = split;
    format!("this is part {} of {count} (split.no {index})", index.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, index: u64, count: u64) -> Part {
        Part { name: name.into(), split: Split { index, count, tensors: 9 } }
    }

    /// The files of each model, and the kinds of what was found.
    fn found(parts: &[Part]) -> Vec<(Vec<&str>, Vec<&str>)> {
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
        assert_eq!(models(&twice)[0].missing, ["m-00003-of-00003.gguf"]);
        let without_first = [part("m-00002-of-00002.gguf", 1, 2)];
        assert_eq!(found(&without_first), [(vec!["m-00002-of-00002.gguf"], vec!["MissingPart"])]);
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
        // One is complete; the part of the other is not taken for its own.
        assert_eq!(models(&parts[..3]).iter().map(|model| model.problems.len()).sum::<usize>(), 1);
    }
}
