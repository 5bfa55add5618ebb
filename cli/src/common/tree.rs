//! A tree of tensors by the parts of their names.

use std::io::{self, Write};

use super::columns::{Row, elements, natural, type_name};
use super::reading::stored;
use super::table::{Fit, Look, NOTHING, print};
use super::text::{count, printable, short_size};

/// A part of names, and the parts below it.
#[derive(Clone, Default)]
struct Node {
    name: String,
    below: Vec<Node>,
    /// The type and the shape, if a tensor ends here.
    tensor: Option<(String, String)>,
    tensors: u64,
    elements: u64,
    bytes: u64,
    /// The number of siblings that this part stands for, if they differ only in their numbers.
    alike: usize,
}

/// Prints the tree. Siblings that differ only in their numbers are printed once, unless all are requested.
pub fn print_tree(out: &mut impl Write, look: Look, rows: &[Row<'_, '_>]) -> io::Result<()> {
    let parts = |row: &Row<'_, '_>| row.name.split_inclusive(['.', '/']).map(String::from).collect::<Vec<_>>();
    let mut sorted: Vec<_> = rows.iter().map(|row| (parts(row), row)).collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut root = Node::default();
    for (parts, row) in sorted {
        root.add(&parts, row);
    }
    root.join();
    if !look.all {
        root.fold();
    }
    let mut lines = Vec::new();
    root.below.iter().for_each(|node| node.lines(0, &mut lines));
    let titles = [
        ("name", Fit::Cut),
        ("dtype", Fit::Cut),
        ("shape", Fit::Cut),
        ("tensors", Fit::LeftOut(3)),
        ("elements", Fit::LeftOut(2)),
        ("size", Fit::LeftOut(1)),
    ];
    print(out, look, &titles, &lines)
}

impl Node {
    /// Adds a tensor below this part. Tensors are added in the order of their parts.
    fn add(&mut self, parts: &[String], row: &Row<'_, '_>) {
        self.tensors += 1;
        self.elements = self.elements.saturating_add(elements(row.opened, &row.tensor).unwrap_or(0));
        self.bytes = self.bytes.saturating_add(stored(&row.tensor));
        let Some((part, rest)) = parts.split_first() else {
            let shape = row.opened.array(&row.tensor).map_or(NOTHING.into(), |array| format!("{:?}", array.shape));
            self.tensor = Some((type_name(row.opened, &row.tensor), shape));
            return;
        };
        // In zTensor 0.1, several tensors may have the same name.
        let is_it = |node: &Self| node.name == *part && (!rest.is_empty() || node.tensor.is_none());
        if !self.below.last().is_some_and(is_it) {
            self.below.push(Self { name: part.clone(), alike: 1, ..Self::default() });
        }
        if let Some(last) = self.below.last_mut() {
            last.add(rest, row);
        }
    }

    /// Sorts the parts in natural order, and joins each one with the only part below it.
    fn join(&mut self) {
        self.below.sort_by(|a, b| natural(&a.name, &b.name));
        self.below.iter_mut().for_each(Self::join);
        if !self.name.is_empty() && self.tensor.is_none() && self.below.len() == 1 {
            if let Some(only) = self.below.pop() {
                *self = Self { name: self.name.clone() + &only.name, ..only };
            }
        }
    }

    /// Merges siblings that differ only in the first number in their names, if these numbers are successive.
    fn fold(&mut self) {
        self.below.iter_mut().for_each(Self::fold);
        let mut folded: Vec<(Self, String)> = Vec::new();
        for node in self.below.drain(..) {
            match folded.last_mut() {
                Some((first, last_name)) if first.is_alike(&node) && follows(&node.name, last_name) => {
                    first.alike += 1;
                    first.tensors += node.tensors;
                    first.elements = first.elements.saturating_add(node.elements);
                    first.bytes = first.bytes.saturating_add(node.bytes);
                    *last_name = node.name;
                }
                _ => folded.push((node.clone(), node.name)),
            }
        }
        self.below = folded.into_iter().map(|(node, last_name)| node.named_to(&last_name)).collect();
    }

    /// Returns true if the other part has the same tensors below it, and a name that differs only in a number.
    fn is_alike(&self, other: &Self) -> bool {
        let names = numbered(&self.name).zip(numbered(&other.name));
        let is_numbered = names.is_some_and(|((a, _, b), (c, _, d))| (a, b) == (c, d));
        is_numbered && self.tensor == other.tensor && is_same(&self.below, &other.below)
    }

    /// Gives a part that stands for others a name with the first and the last number.
    fn named_to(mut self, last_name: &str) -> Self {
        if let (2.., Some(((before, first, after), (_, last, _)))) =
            (self.alike, numbered(&self.name).zip(numbered(last_name)))
        {
            self.name = format!("{before}{first}…{last}{after}");
        }
        self
    }

    fn lines(&self, depth: usize, lines: &mut Vec<[String; 6]>) {
        let (dtype, shape) = self.tensor.clone().unwrap_or_default();
        let name = if self.name.is_empty() { "\"\"".into() } else { printable(&self.name) };
        let alike = if self.alike > 1 { format!(" × {}", self.alike) } else { String::new() };
        lines.push([
            format!("{:1$}{name}{alike}", "", 2 * depth),
            dtype,
            shape,
            self.tensors.to_string(),
            count(self.elements),
            short_size(self.bytes),
        ]);
        self.below.iter().for_each(|node| node.lines(depth + 1, lines));
    }
}

/// Returns true if the same tensors are below both parts.
fn is_same(a: &[Node], b: &[Node]) -> bool {
    let is_one = |(a, b): (&Node, &Node)| {
        (&a.name, &a.tensor, a.alike) == (&b.name, &b.tensor, b.alike) && is_same(&a.below, &b.below)
    };
    a.len() == b.len() && a.iter().zip(b).all(is_one)
}

/// Returns true if the number in a name is that in the other name plus 1.
fn follows(name: &str, other: &str) -> bool {
    let number = |name: &str| numbered(name).and_then(|(_, number, _)| number.parse::<u64>().ok());
    number(other).and_then(|other| other.checked_add(1)).is_some_and(|next| number(name) == Some(next))
}

/// Splits a name at its first number: the text before, the number, the text after.
fn numbered(name: &str) -> Option<(&str, &str, &str)> {
    let start = name.find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = name.split_at(start);
    let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    Some((before, number, after))
}
