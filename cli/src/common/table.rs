//! Tables that fit the width of the terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::names::cut;
use super::text::shortened;

/// The appearance of output.
#[derive(Clone, Copy, Default)]
pub struct Look {
    /// The width of the terminal in columns; `None` if lines may have any length.
    pub width: Option<usize>,
    /// True to write terminal codes for bold and coloured text.
    pub is_colored: bool,
    /// True to write lists in full.
    pub all: bool,
}

impl Look {
    pub fn bold(self, text: &str) -> String {
        self.painted("1", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.painted("33", text)
    }

    /// The text with a terminal code around it, if output is coloured.
    pub fn painted(self, code: &str, text: &str) -> String {
        if self.is_colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

/// The treatment of a column in a terminal that is too narrow for all columns.
#[derive(Clone, Copy, PartialEq)]
pub enum Fit {
    Whole,
    /// The column is omitted. The column with the highest number is omitted first.
    LeftOut(u8),
    /// Cells are cut at the end.
    Cut,
    /// Names, which are cut in the middle, and stay distinct.
    Name,
    /// Names of secondary importance: they are cut like names before any other column, and omitted like `LeftOut`.
    Secondary(u8),
}

/// The maximum padding of cells if lines may have any length. Longer cells overflow, so that one long name does not
/// widen every row.
const WIDEST: usize = 120;
/// Columns are omitted before cells are cut to fewer columns of the terminal than this.
const COMFORTABLE: usize = 16;
/// The least width that cells are cut to.
const LEAST: usize = 4;

/// A cell that says nothing.
pub const NOTHING: &str = "-";

/// Prints rows under their titles, in columns as wide as necessary. Numbers and sizes are right-aligned.
pub fn print<R: AsRef<[String]>>(
    out: &mut impl Write,
    look: Look,
    titles: &[(&str, Fit)],
    rows: &[R],
) -> io::Result<()> {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.as_ref().get(column));
    let width = |(column, (title, _)): (usize, &(&str, Fit))| {
        cells(column).map(|cell| cell.width()).chain([title.width()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = titles.iter().enumerate().map(width).collect();
    let fits: Vec<Fit> = titles.iter().map(|(_, fit)| *fit).collect();
    fit(&mut widths, &fits, look.width);
    let has_numbers = |column: usize| {
        let has_digit = |cell: &String| cell.bytes().any(|byte| byte.is_ascii_digit());
        cells(column).all(|cell| is_number(cell)) && cells(column).any(has_digit)
    };
    let right: Vec<bool> = (0..titles.len()).map(has_numbers).collect();
    // The cells of columns of names, cut.
    let of_names = |column: usize| {
        let all: Vec<&str> = cells(column).map(String::as_str).collect();
        let is_of_names = matches!(fits[column], Fit::Name | Fit::Secondary(_)) && widths[column] > 0;
        look.width.filter(|_| is_of_names).map(|_| cut(&all, widths[column]))
    };
    let names: Vec<Option<Vec<String>>> = (0..titles.len()).map(of_names).collect();
    let line = |cells: &[&str]| {
        let mut line = String::from(" ");
        for (i, cell) in cells.iter().enumerate().filter(|(i, _)| widths[*i] > 0) {
            let cell = if look.width.is_some() { shortened(cell, widths[i]) } else { (*cell).into() };
            let pad = " ".repeat(widths[i].saturating_sub(cell.width()));
            line += &if right[i] { format!(" {pad}{cell} ") } else { format!(" {cell}{pad} ") };
        }
        line.trim_end().to_owned()
    };
    writeln!(out, "{}", look.bold(&line(&titles.iter().map(|(title, _)| *title).collect::<Vec<_>>())))?;
    for (i, row) in rows.iter().enumerate() {
        let cell = |(column, cell): (usize, &'_ String)| match names.get(column) {
            Some(Some(names)) => names[i].clone(),
            _ => cell.clone(),
        };
        let cells: Vec<String> = row.as_ref().iter().enumerate().map(cell).collect();
        writeln!(out, "{}", line(&cells.iter().map(String::as_str).collect::<Vec<_>>()))?;
    }
    Ok(())
}

/// Returns true for a number, with or without a unit.
fn is_number(cell: &str) -> bool {
    let unit = cell.trim_start_matches(|c: char| c.is_ascii_digit() || ".-+e".contains(c));
    let has_digit = cell.bytes().any(|byte| byte.is_ascii_digit());
    let is_unit = ["", " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"].contains(&unit);
    is_unit && (has_digit || cell.is_empty() || cell == NOTHING)
}

/// Narrows the columns until a line fits; an omitted column has width 0. If lines may have any length, limits each
/// width to `WIDEST`.
fn fit(widths: &mut [usize], fits: &[Fit], terminal: Option<usize>) {
    let Some(terminal) = terminal else {
        widths.iter_mut().for_each(|width| *width = (*width).min(WIDEST));
        return;
    };
    let is_cut = |i: usize| matches!(fits[i], Fit::Cut | Fit::Name | Fit::Secondary(_));
    // Includes the space before the first column, excludes the one after the last.
    let line = |widths: &[usize], most: usize| -> usize {
        let of_one = |(i, width): (usize, &usize)| if is_cut(i) { (*width).min(most) } else { *width } + 2;
        widths.iter().enumerate().filter(|(_, width)| **width > 0).map(of_one).sum()
    };
    while line(widths, COMFORTABLE) > terminal {
        let order = |i: &usize| match fits[*i] {
            Fit::LeftOut(number) | Fit::Secondary(number) => number,
            _ => 0,
        };
        let last = (0..fits.len()).filter(|i| widths[*i] > 0 && order(i) > 0).max_by_key(order);
        let Some(last) = last else { break };
        widths[last] = 0;
    }
    let is_secondary = |i: &usize| matches!(fits[*i], Fit::Secondary(_)) && widths[*i] > COMFORTABLE;
    for i in (0..fits.len()).filter(is_secondary).collect::<Vec<_>>() {
        widths[i] -= line(widths, usize::MAX).saturating_sub(terminal).min(widths[i] - COMFORTABLE);
    }
    while line(widths, usize::MAX) > terminal {
        let widest = (0..fits.len()).filter(|i| is_cut(*i) && widths[*i] > LEAST).max_by_key(|i| widths[*i]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a table in `width` columns.
    fn table(width: usize, titles: &[(&str, Fit)], row: &[&str]) -> Vec<String> {
        let rows = [row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()];
        let mut out = Vec::new();
        print(&mut out, Look { width: Some(width), ..Look::default() }, titles, &rows).unwrap();
        String::from_utf8(out).unwrap().lines().map(String::from).collect()
    }

    #[test]
    fn narrow_tables_keep_the_type_and_both_ends_of_names() {
        let titles = [
            ("name", Fit::Name),
            ("dtype", Fit::Cut),
            ("shape", Fit::Cut),
            ("size", Fit::LeftOut(1)),
            ("file", Fit::Secondary(2)),
        ];
        let row = ["model.layers.10.self_attn.q_proj.weight", "bf16", "[4096, 4096]", "32.0 MiB", "a"];
        assert_eq!(
            table(80, &titles, &row)[1],
            "  model.layers.10.self_attn.q_proj.weight  bf16   [4096, 4096]  32.0 MiB  a"
        );
        assert_eq!(table(60, &titles, &row)[1], "  model.laye…roj.weight  bf16   [4096, 4096]  32.0 MiB  a");
        assert_eq!(table(40, &titles, &row)[1], "  model.la…j.weight  bf16   [4096, 4096]");
        assert_eq!(table(24, &titles, &row)[1], "  mod…ght  bf16   [4096…");
    }

    /// The file leaves room for the name.
    #[test]
    fn secondary_names_are_cut_first() {
        let titles =
            [("name", Fit::Name), ("dtype", Fit::Cut), ("size", Fit::LeftOut(1)), ("file", Fit::Secondary(2))];
        let row = ["model.layers.10.mlp.up_proj.weight", "bf16", "32.0 MiB", "model-00001-of-00003.safetensors"];
        let of_width =
            |width| table(width, &titles, &row)[1].split("  bf16   32.0 MiB").map(String::from).collect::<Vec<_>>();
        let name = "  model.layers.10.mlp.up_proj.weight";
        assert_eq!(of_width(82), [name, "  model-00001-o…3.safetensors"]);
        assert_eq!(of_width(71), [name, "  model-00…tensors"]);
        assert_eq!(of_width(61), ["  model.layers…proj.weight", "  model-00…tensors"]);
        assert_eq!(of_width(50), ["  model.layers.10….up_proj.weight", ""]);
    }

    #[test]
    fn sizes_are_numbers() {
        assert!(["", "-", "12", "1.5 KiB", "-1e-9"].into_iter().all(is_number));
        assert!(!["KiB", "1 x", "a", "[1]"].into_iter().any(is_number));
    }
}
