//! Patterns that choose names.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;

/// A pattern: `/regex/`, a glob for whole names, or, without wildcards, a part of a name.
#[derive(Clone, Debug)]
pub enum Pattern {
    Glob(GlobMatcher),
    Regex(Regex),
    Part(String),
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(regex) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            return Regex::new(regex).map(Self::Regex).map_err(|error| error.to_string());
        }
        if text.contains(['*', '?', '[', '{']) { glob(text).map(Self::Glob) } else { Ok(Self::Part(text.into())) }
    }

    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Glob(glob) => glob.is_match(name),
            Self::Regex(regex) => regex.is_match(name),
            Self::Part(part) => name.contains(part),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob(glob) => f.write_str(glob.glob().glob()),
            Self::Regex(regex) => write!(f, "/{regex}/"),
            Self::Part(part) => f.write_str(part),
        }
    }
}

/// Parses a pattern for whole names.
pub fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(false).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        let matches = |pattern: &str, name: &str| glob(pattern).unwrap().is_match(name);
        assert!(
            matches("*.weight", "a/b.weight") && matches("layers.[0-2].*", "layers.1.x") && matches("a?c", "abc")
        );
        assert!(!matches("weight", "a.weight") && !matches("*.weight", "a.weight_scale"));
    }

    #[test]
    fn patterns_are_globs_expressions_or_parts() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).unwrap().matches(name);
        assert!(matches("weight", "a.weight_scale") && matches("*.weight", "a.weight"));
        assert!(matches(r"/\.[0-9]+\./", "a.10.b") && !matches(r"/\.[0-9]+\./", "a.b.c") && matches("/", "a/b"));
        assert!(!matches("*.weight", "a.weight_scale"));
        for wrong in ["/(/", "[a"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(["a*", "/b/", "c"].map(|text| Pattern::parse(text).unwrap().to_string()), ["a*", "/b/", "c"]);
    }
}
