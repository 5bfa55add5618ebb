//! Chooses the tensors to write, and renames them.

use globset::GlobMatcher;
use regex::Regex;

use crate::common::failure::Failure;
use crate::common::pattern::glob;

/// The options that choose and rename tensors.
#[derive(clap::Args, Default)]
pub struct Selection {
    /// Write only tensors whose whole name matches; `*` matches anything
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    only: Vec<GlobMatcher>,

    /// Leave out tensors whose whole name matches
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    exclude: Vec<GlobMatcher>,

    /// Replace the first match of the regular expression A in each name by B, after --only and --exclude
    #[arg(long, value_name = "s/A/B/", value_parser = Rename::parse)]
    rename: Vec<Rename>,
}

impl Selection {
    /// Returns the new name of a tensor; `None` if the tensor is not chosen.
    pub fn name_of(&self, name: &str) -> Option<String> {
        is_chosen(name, &self.only, &self.exclude)
            .then(|| self.rename.iter().fold(name.to_owned(), |name, rename| rename.apply(&name)))
    }
}

/// True if a name matches one of the first patterns, if there are any, and none of the others.
pub fn is_chosen(name: &str, only: &[GlobMatcher], exclude: &[GlobMatcher]) -> bool {
    let matches = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(name));
    (only.is_empty() || matches(only)) && !matches(exclude)
}

/// A substitution of names, as in `sed`.
#[derive(Clone, Debug)]
pub struct Rename {
    from: Regex,
    to: String,
}

impl Rename {
    /// Parses `s/A/B/`, where any character can stand for the slash. `\1` in B is the first group of A.
    fn parse(text: &str) -> Result<Self, String> {
        let usage = || "write a substitution as s/A/B/".to_owned();
        let rest = text.strip_prefix('s').ok_or_else(usage)?;
        let separator = rest.chars().next().ok_or_else(usage)?;
        let parts: Vec<&str> = rest.split(separator).collect();
        let ["", from, to, ""] = parts[..] else { return Err(usage()) };
        let from = Regex::new(from).map_err(|error| error.to_string())?;
        // The crate writes groups as ${1}.
        let group = Regex::new(r"\\([0-9])").map_err(|error| error.to_string())?;
        let to = group.replace_all(&to.replace('$', "$$"), "$${$1}").into_owned();
        Ok(Self { from, to })
    }

    fn apply(&self, name: &str) -> String {
        self.from.replace(name, self.to.as_str()).into_owned()
    }
}

/// Fails if two tensors have the same name.
pub fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let message = format!("two tensors are named \"{}\"", crate::common::text::printable(name));
            return Err(Failure::new("RepeatedName", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions() {
        let renamed = |substitution: &str, name: &str| Rename::parse(substitution).unwrap().apply(name);
        assert_eq!(renamed("s/^model\\.//", "model.layer"), "layer");
        assert_eq!(renamed("s|a|$1|", "a.a"), "$1.a");
        assert_eq!(renamed(r"s/(\w+)\.(\w+)/\2.\1/", "one.two"), "two.one");
        for wrong in ["", "s", "s/a", "s/a/b", "s/a/b/c/", "x/a/b/", "s/(/b/"] {
            assert!(Rename::parse(wrong).is_err(), "{wrong}");
        }
    }
}
