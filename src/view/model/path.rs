//! The path of a file of a model, from the folder of the model. `./a//b` is the same path as `a/b`.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use crate::bytes::text::{Chars, Text};

/// Compares two paths.
pub(super) fn compare(a: Text<'_>, b: Text<'_>) -> Ordering {
    Characters::of(a).cmp(Characters::of(b))
}

/// The characters of a path, without empty components and components that are a single dot.
struct Characters<'a> {
    rest: Chars<'a>,
    is_at_start: bool,
}

impl<'a> Characters<'a> {
    const fn of(path: Text<'a>) -> Self {
        Self { rest: path.chars(), is_at_start: true }
    }
}

impl Iterator for Characters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        while self.is_at_start {
            let mut ahead = self.rest;
            match ahead.next() {
                Some('/') => self.rest = ahead,
                Some('.') if ahead.next() == Some('/') => self.rest = ahead,
                _ => self.is_at_start = false,
            }
        }
        let next = self.rest.next()?;
        self.is_at_start = next == '/';
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_many_spellings() {
        for same in ["a/b.c", "./a/b.c", "a//b.c", "a/./b.c", ".//a/././b.c"] {
            assert!(compare("a/b.c".into(), same.into()).is_eq(), "{same}");
        }
        // Only JSON has escapes.
        if cfg!(feature = "safetensors") {
            assert!(compare(Text::new(br"\u002e\/a", true), "a".into()).is_eq());
        }
        for other in ["a/b", "a/b.c/", "a/.b.c", "a/..b.c", "a/../b.c", ".a/b.c", ""] {
            assert!(compare("a/b.c".into(), other.into()).is_ne(), "{other}");
        }
        assert!(compare("a".into(), "b".into()).is_lt() && compare("b".into(), "./a".into()).is_gt());
    }
}
