//! Writes the copy of the sources that contains all mutants at once, each behind a switch.

use std::ops::Range;

use super::sites::{Change, ConstFn, Mutation};

/// A source with its mutants.
pub struct Instrumented {
    pub text: String,
    /// The bytes that belong to each mutant, to attribute compile errors.
    pub places: Vec<(Range<usize>, usize)>,
}

/// Inserts the mutations of `numbered` into `source`, and removes the word `const` from functions that cannot keep it.
/// The mutations are ordered by place, outer ones first.
pub fn instrument(source: &str, numbered: &[(usize, &Mutation)], consts: &[&ConstFn]) -> Instrumented {
    // Blanks keep all later positions the same.
    let mut bytes = source.to_owned();
    for function in consts {
        bytes.replace_range(function.word.clone(), &" ".repeat(function.word.len()));
    }
    let mut writer = Writer { source: &bytes, numbered, next: 0, text: String::new(), places: Vec::new() };
    writer.write(0..bytes.len());
    Instrumented { text: writer.text, places: writer.places }
}

struct Writer<'s> {
    source: &'s str,
    numbered: &'s [(usize, &'s Mutation)],
    next: usize,
    text: String,
    places: Vec<(Range<usize>, usize)>,
}

impl Writer<'_> {
    /// Writes a range of the source, with its mutants.
    fn write(&mut self, range: Range<usize>) {
        let mut from = range.start;
        while let Some((_, mutation)) = self.numbered.get(self.next).filter(|(_, it)| it.range.start < range.end) {
            let place = mutation.range.clone();
            self.text.push_str(&self.source[from..place.start]);
            let count = self.numbered[self.next..].iter().take_while(|(_, it)| it.range == place).count();
            let group = &self.numbered[self.next..self.next + count];
            self.next += count;
            self.group(place.clone(), group);
            from = place.end;
        }
        self.text.push_str(&self.source[from..range.end]);
    }

    /// Writes the source at one place, with all mutants of that place.
    fn group(&mut self, place: Range<usize>, group: &[(usize, &Mutation)]) {
        let is_expression = matches!(group.first(), Some((_, Mutation { change: Change::Expression(_), .. })));
        // Parentheses inside the braces, too: without them, an expression that begins with a block would be a
        // statement.
        let (open, close) = if is_expression { ("(", ")") } else { ("", "") };
        self.text.push_str(open);
        for (number, mutation) in group {
            let start = self.text.len();
            let switch = format!("crate::mutant::is({number})");
            self.text.push_str(&match &mutation.change {
                Change::Expression(instead) | Change::Statement(instead) => {
                    format!("if {switch} {{ {open}{instead}{close} }} else ")
                }
                Change::Body(value) => format!(" if {switch} {{ return {value}; }}"),
                Change::Arm => format!(" if !{switch}"),
            });
            self.places.push((start..self.text.len(), *number));
        }
        if place.is_empty() {
            return;
        }
        self.text.push_str(&format!("{{ {open}"));
        self.write(place);
        self.text.push_str(&format!("{close} }}{close}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites;
    use super::instrument;

    #[test]
    fn mutants_stand_inside_one_another() {
        let source = "fn f(a: u8) -> bool { if a < 2 && g(a) { return true; } while unsafe { h() } != 0 {} false }";
        let (all, consts) = sites::of(source, &|_| true).unwrap();
        assert!(consts.is_empty());
        let numbered: Vec<_> = all.iter().enumerate().collect();
        let instrumented = instrument(source, &numbered, &[]);
        syn::parse_file(&instrumented.text).unwrap();
        let whats: Vec<&str> = all.iter().map(|mutation| &mutation.what[..]).collect();
        for what in [
            "returns true at once",
            "a < 2 => a <= 2",
            "a < 2 && g(a) => g(a)",
            "a < 2 && g(a) => false",
            "2 => 2 + 1",
            "unsafe { h() } != 0 => unsafe { h() } == 0",
            "return true; left out",
            "false => true",
        ] {
            assert!(whats.contains(&what), "{what}: {whats:?}");
        }
        for (place, number) in &instrumented.places {
            assert!(instrumented.text[place.clone()].contains(&format!("is({number})")));
        }
        assert_eq!(instrument(source, &[], &[]).text, source);
    }
}
