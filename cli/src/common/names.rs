//! Cuts names to the width of a column, and finds the names that a user may have meant.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::text::{both_ends, plain_name, unescaped};

/// Cuts names to `columns` columns of a terminal, in the middle. Names with the same ends are cut in two places
/// instead, so that the part in which they differ is left: `….10.…proj.weight`.
pub fn cut(names: &[&str], columns: usize) -> Vec<String> {
    let ends: Vec<_> = names.iter().map(|name| both_ends(name, columns)).collect();
    // For both ends: one of the names that have them, and the number of bytes with which all of these names begin.
    let mut starts: HashMap<_, (&str, usize)> = HashMap::new();
    for (name, ends) in names.iter().zip(&ends) {
        let (first, same) = starts.entry(ends).or_insert((name, name.len()));
        *same = (*same).min(first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count());
    }
    let of_one = |(name, ends): (&&str, &(String, String))| {
        if name.width() <= columns {
            return (*name).into();
        }
        let same = starts.get(ends).map_or(name.len(), |(_, same)| *same);
        // The part in which the names differ begins with a separator: `….0.` does not fit layer 10.
        let start = name.as_bytes().get(..same).and_then(|same| same.iter().rposition(|byte| b"._/-".contains(byte)));
        match start.and_then(|start| name.get(start..)).filter(|_| same < name.len()) {
            Some(rest) if rest.width() < columns => format!("…{rest}"),
            Some(rest) => {
                let (begin, end) = both_ends(rest, columns.saturating_sub(1));
                format!("…{begin}…{end}")
            }
            None => format!("{}…{}", ends.0, ends.1),
        }
    };
    names.iter().zip(&ends).map(of_one).collect()
}

/// The names that the tool prints as `shown`: quoted if they are empty, with escapes, or cut.
pub fn printed_as(shown: &str, all: impl Iterator<Item = String>) -> Vec<String> {
    if shown == plain_name("") {
        return vec![String::new()];
    }
    if let Some(name) = unescaped(shown) {
        return vec![name];
    }
    let Some((start, rest)) = shown.split_once('…') else { return Vec::new() };
    let (middle, end) = rest.rsplit_once('…').unwrap_or(("", rest));
    let is_it = |name: &String| {
        let name = plain_name(name);
        let rest = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        rest.is_some_and(|rest| rest.contains(middle))
    };
    all.filter(is_it).collect()
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
        let all = ["layers.1.weight", "layers.2.weight", "layers.2.bias", ""];
        let found = |shown| printed_as(shown, all.into_iter().map(String::from));
        assert_eq!(found("la….2.weight"), ["layers.2.weight"]);
        assert_eq!(found("la…weight"), ["layers.1.weight", "layers.2.weight"]);
        assert_eq!(found("…2.…s"), ["layers.2.bias"]);
        assert_eq!((found("x…t").len(), found("layers").len(), found("layers.2.bi…bias").len()), (0, 0, 0));
        assert_eq!((found("\"\""), found(r"\u{41}")), (vec![String::new()], vec!["A".into()]));
    }

    #[test]
    fn cut_names_are_distinct() {
        let names = ["1", "10", "2"].map(|layer| format!("model.layers.{layer}.self_attn.q_proj.weight"));
        let names: Vec<&str> = names.iter().map(String::as_str).chain(["embed", "model.norm.weight"]).collect();
        assert_eq!(
            cut(&names, 16),
            ["….1.self….weight", "….10.sel….weight", "….2.self….weight", "embed", "model.no….weight"]
        );
        assert_eq!(cut(&names, 28)[1], "….10.self_attn.q_proj.weight");
        assert!(cut(&names, 40).iter().zip(&names).all(|(short, name)| short == name));
        // Name 1 is whole, and has the ends of name 10.
        assert_eq!(cut(&["layers.1.weight", "layers.10.weight"], 15), ["layers.1.weight", "….10.weight"]);
        // The same name twice, and names without a separator.
        assert_eq!(cut(&["aaaaaaaa"; 2], 5), ["aa…aa"; 2]);
        assert_eq!(cut(&["aaaa1aaaa", "aaaa2aaaa"], 5), ["aa…aa"; 2]);
    }

    #[test]
    fn near_names_are_similar() {
        let all = || ["fc1.weight", "fc2.weight", "fc1.bias", "embedding"].into_iter().map(String::from);
        assert_eq!(near("fc1.wieght", all()), ["fc1.weight", "fc2.weight"]);
        assert_eq!(near("FC1.BIAS", all()), ["fc1.bias"]);
        assert!(near("nothing", all()).is_empty());
    }
}
