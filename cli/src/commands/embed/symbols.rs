//! Symbols: names of tensors as names in C.

use std::collections::{HashMap, HashSet};

/// Converts a name to a C identifier.
pub fn identifier(name: &str) -> String {
    let allowed = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
    let name: String = allowed.collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The names of the output: symbols, and the macros that are named after them, in upper case.
#[derive(Default)]
pub struct Symbols {
    taken: HashSet<String>,
    /// The next number to try after a symbol that is taken, so that no number is tried twice.
    next: HashMap<String, u64>,
}

/// The name of the macro with the length of a dimension.
pub fn dimension(symbol: &str, number: usize) -> String {
    format!("{}_DIM{number}", symbol.to_uppercase())
}

/// The name of the constant with all dimensions, in Rust.
pub fn dimensions(symbol: &str) -> String {
    format!("{}_DIMS", symbol.to_uppercase())
}

/// The name of the macro with the value of the only element.
pub fn value(symbol: &str) -> String {
    format!("{}_VALUE", symbol.to_uppercase())
}

impl Symbols {
    /// Begins with names that are taken.
    pub fn new(taken: HashSet<String>) -> Self {
        Self { taken, next: HashMap::new() }
    }

    /// Reserves a symbol and the macros of an array of `rank` dimensions. If one of them is taken, reserves the first
    /// free one of `symbol_2`, `symbol_3`, ….
    pub fn take(&mut self, symbol: String, rank: usize) -> String {
        if self.reserve(&symbol, rank) {
            return symbol;
        }
        let mut number = *self.next.get(&symbol).unwrap_or(&2);
        let numbered = loop {
            let numbered = format!("{symbol}_{number}");
            number += 1;
            if self.reserve(&numbered, rank) {
                break numbered;
            }
        };
        self.next.insert(symbol, number);
        numbered
    }

    fn reserve(&mut self, symbol: &str, rank: usize) -> bool {
        let mut names = vec![symbol.to_owned(), value(symbol), dimensions(symbol)];
        names.extend((0..rank).map(|number| dimension(symbol, number)));
        let is_free = names.iter().all(|name| !self.taken.contains(name));
        if is_free {
            self.taken.extend(names);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_symbols() {
        assert_eq!(["a.b-c", "7", "", "ü"].map(identifier), ["a_b_c", "_7", "_", "_"]);
        let mut symbols = Symbols::default();
        let mut next = |name: &str| symbols.take(identifier(name), 1);
        assert_eq!([next("a.b"), next("a-b"), next("a_b")], ["a_b", "a_b_2", "a_b_3"]);
        // A name that looks numbered reserves its number.
        assert_eq!([next("x_2"), next("x"), next("x"), next("x_2")], ["x_2", "x", "x_3", "x_2_2"]);
        // The macros would have the same name.
        assert_eq!([next("w"), next("W"), next("W_DIM0"), next("w_value")], ["w", "W_2", "W_DIM0_2", "w_value"]);
    }

    /// Regression test: counting from 2 for each of these names tried 10^10 symbols, which took minutes.
    #[test]
    fn many_names_become_one_symbol() {
        let mut symbols = Symbols::default();
        for i in 0..150_000_u64 {
            symbols.take("w".into(), 0);
            symbols.take(format!("w_{}", 2 * i), 0);
        }
        assert_eq!(symbols.taken.len(), 900_000);
    }
}
