//! Finds the names that a user may have meant.

use super::text::{plain_name, unescaped};

/// The only name that the tool prints as `shown`: quoted if it is empty, with escapes, or cut in the middle.
pub fn printed_as(shown: &str, all: impl Iterator<Item = String>) -> Option<String> {
    if shown == plain_name("") {
        return Some(String::new());
    }
    if let Some(name) = unescaped(shown) {
        return Some(name);
    }
    let (start, end) = shown.split_once('…')?;
    let is_it = |name: &String| {
        let name = plain_name(name);
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let mut found = all.filter(is_it);
    found.next().filter(|_| found.next().is_none())
}

/// Up to three names that resemble `wanted`, the nearest first.
pub fn near(wanted: &str, all: impl Iterator<Item = String>) -> Vec<String> {
    const SIMILAR: f64 = 0.7;
    const SHOWN: usize = 3;
    let similarity = |name: &str| match name.to_lowercase() == wanted.to_lowercase() {
        true => 1.0,
        false => strsim::normalized_damerau_levenshtein(wanted, name),
    };
    let mut found: Vec<(f64, String)> = all.map(|name| (similarity(&name), name)).collect();
    found.retain(|(similarity, _)| *similarity >= SIMILAR);
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_they_are_printed() {
        let all = || ["layers.1.weight", "layers.2.weight", "layers.2.bias", ""].into_iter().map(String::from);
        let found = |shown| printed_as(shown, all());
        assert_eq!(found("la….2.weight").as_deref(), Some("layers.2.weight"));
        assert_eq!((found("la…weight"), found("x…t"), found("layers")), (None, None, None));
        assert_eq!((found("\"\"").as_deref(), found(r"\u{41}").as_deref()), (Some(""), Some("A")));
    }

    #[test]
    fn near_names_are_similar() {
        let all = || ["fc1.weight", "fc2.weight", "fc1.bias", "embedding"].into_iter().map(String::from);
        assert_eq!(near("fc1.wieght", all()), ["fc1.weight", "fc2.weight"]);
        assert_eq!(near("FC1.BIAS", all()), ["fc1.bias"]);
        assert!(near("nothing", all()).is_empty());
    }
}
