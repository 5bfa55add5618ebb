//! Prints the differences between two models.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value as Json, json};

use super::elements::{Measures, Place};
use super::metadata::Different;
use super::tensors::{Compared, Notes, State};
use crate::common::text::{plural, printable, shortened};
use crate::terminal::Terminal;
use crate::values::histogram::short;

/// The differences between two models.
pub struct Report<'m> {
    pub a: &'m Path,
    pub b: &'m Path,
    /// Files and tensors that cannot be read.
    pub problems: Vec<String>,
    pub metadata: Vec<Different>,
    pub tensors: Vec<Compared>,
    pub notes: Notes,
}

impl Report<'_> {
    fn count(&self, states: &[State]) -> u64 {
        self.tensors.iter().filter(|one| states.contains(&one.state)).count() as u64
    }

    fn differing(&self) -> u64 {
        self.count(&[State::Different, State::OnlyA, State::OnlyB])
    }

    fn unread(&self) -> u64 {
        self.count(&[State::Unread, State::OverLimit]) + self.problems.len() as u64
    }

    pub fn is_same(&self) -> bool {
        self.differing() + self.unread() == 0 && self.metadata.is_empty()
    }

    /// The differences of values, the largest first, and the names of their tensors.
    fn values(&self) -> Vec<(&Compared, &Measures)> {
        let mut all: Vec<_> =
            self.tensors.iter().filter_map(|one| one.values.as_ref().map(|values| (one, values))).collect();
        let size = |values: &Measures| values.norms.as_ref().map_or(f64::INFINITY, |norms| norms.relative_l2());
        all.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        all
    }

    pub fn print(&self, terminal: &mut Terminal, no_values: bool) -> io::Result<()> {
        if terminal.json {
            return terminal.record("diff", self.record());
        }
        let look = terminal.look;
        let out = &mut terminal.out;
        let mark = look.yellow("!");
        for problem in &self.problems {
            writeln!(out, "{mark} {problem}")?;
        }
        for Different { key, a, b } in &self.metadata {
            let [a, b] = [a, b].map(|value| value.as_ref().map_or("none".into(), short_value));
            writeln!(out, "{mark} metadata \"{}\": {a}, {b}", printable(key))?;
        }
        for one in &self.tensors {
            for line in &one.lines {
                let name = &one.name;
                match one.state {
                    State::OnlyA => {
                        writeln!(out, "{} {name}: {line}, only in {}", look.painted("31", "-"), self.a.display())?;
                    }
                    State::OnlyB => {
                        writeln!(out, "{} {name}: {line}, only in {}", look.painted("32", "+"), self.b.display())?;
                    }
                    _ => writeln!(out, "{mark} {name}: {line}")?,
                }
            }
        }
        for (one, values) in self.values() {
            writeln!(out, "{mark} {}: {}", one.name, line(values))?;
            if let Some(norms) = &values.norms {
                let cosine = norms.cosine().map(|cosine| format!(", cosine {cosine:.6}")).unwrap_or_default();
                let (mean, l2, relative) = (short(norms.mean()), short(norms.l2()), short(norms.relative_l2()));
                writeln!(out, "    mean {mean}, L2 {l2}, relative L2 {relative}{cosine}")?;
            }
        }
        for (count, what) in self.notes.lines() {
            writeln!(out, "note: {count} tensor{} {what}", plural(count))?;
        }
        let what = if no_values { " by name, shape, dtype and attributes" } else { "" };
        let (same, different, unread) = (self.count(&[State::Same]), self.differing(), self.unread());
        let verb = if different == 1 { "s" } else { "" };
        let not_compared = if unread > 0 { format!(", {unread} not compared") } else { String::new() };
        writeln!(out, "{same} tensor{} the same{what}, {different} differ{verb}{not_compared}", plural(same))
    }

    fn record(&self) -> Json {
        let different = self.tensors.iter().filter(|one| one.state != State::Same).map(|one| {
            let state = match one.state {
                State::Same => "same",
                State::Different => "different",
                State::OnlyA => "only in a",
                State::OnlyB => "only in b",
                State::Unread | State::OverLimit => "not compared",
            };
            let values = one.values.as_ref().map(of_measures);
            json!({"name": one.name, "state": state, "differences": one.lines, "values": values})
        });
        let metadata = self.metadata.iter().map(|one| json!({"key": one.key, "a": one.a, "b": one.b}));
        json!({
            "a": self.a.to_string_lossy(),
            "b": self.b.to_string_lossy(),
            "same": self.count(&[State::Same]),
            "different": self.differing(),
            "not_compared": self.unread(),
            "problems": self.problems,
            "metadata": metadata.collect::<Json>(),
            "tensors": different.collect::<Json>(),
            "notes": self.notes.lines().map(|(count, what)| format!("{count} tensor{} {what}", plural(count)))
                .collect::<Json>(),
        })
    }
}

/// Prints a model that only one of two folders has.
pub fn print_file(terminal: &mut Terminal, a: Option<&Path>, b: Option<&Path>) -> io::Result<()> {
    let [of_a, of_b] = [a, b].map(|path| path.map(|path| path.to_string_lossy()));
    if terminal.json {
        return terminal.record("diff", json!({"a": of_a, "b": of_b}));
    }
    let sign = if a.is_some() { "-" } else { "+" };
    let path = printable(&of_a.or(of_b).unwrap_or_default());
    writeln!(terminal.out, "{sign} {path}: the other folder has no such file")
}

fn line(values: &Measures) -> String {
    let at = |place: &Place| format!("{:?} ({}, {})", place.index, place.a, place.b);
    let Measures { count, total, first, most, .. } = values;
    let most = most.as_ref().map(|(distance, place)| format!(", the most by {} at {}", distance.text(), at(place)));
    format!("{count} of {total} value{} differ, first at {}{}", plural(*total), at(first), most.unwrap_or_default())
}

fn of_measures(values: &Measures) -> Json {
    let at = |place: &Place| json!({"index": place.index, "a": place.a, "b": place.b});
    let norms = values.norms.as_ref();
    json!({
        "count": values.count,
        "total": values.total,
        "first": at(&values.first),
        "max": values.most.as_ref().map(|(distance, _)| distance.text()),
        "max_at": values.most.as_ref().map(|(_, place)| at(place)),
        "mean": norms.map(|norms| norms.mean()),
        "l2": norms.map(|norms| norms.l2()),
        "relative_l2": norms.map(|norms| norms.relative_l2()),
        "cosine": norms.and_then(|norms| norms.cosine()),
    })
}

fn short_value(value: &Json) -> String {
    const LONGEST: usize = 60;
    printable(&shortened(&value.to_string(), LONGEST))
}
