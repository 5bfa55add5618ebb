//! Tables that fit the width of the terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

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
    /// Cells are cut, at least to this width, if no more columns can be omitted.
    Cut(usize),
}

/// The maximum padding of cells if lines may have any length. Longer cells overflow, so that one long name does not
/// widen every row.
const WIDEST: usize = 120;

/// Prints rows under their titles, in columns as wide as necessary. Numbers are right-aligned.
pub fn print<const N: usize>(
    out: &mut impl Write,
    look: Look,
    titles: [(&str, Fit); N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.chain([titles[column].0.width()]).max().unwrap_or(0)
    };
    let mut widths: [usize; N] = std::array::from_fn(width);
    fit(&mut widths, titles.map(|(_, fit)| fit), look.width);
    let is_number = |column: usize| {
        let is_digits = |cell: &String| cell.bytes().all(|b| b.is_ascii_digit());
        !rows.is_empty() && rows.iter().all(|row| is_digits(&row[column]))
    };
    let right: [bool; N] = std::array::from_fn(is_number);
    let line = |cells: [&str; N]| {
        let mut line = String::from(" ");
        for ((cell, width), right) in cells.into_iter().zip(widths).zip(right).filter(|((_, width), _)| *width > 0) {
            let cell = if look.width.is_some() { shortened(cell, width) } else { cell.into() };
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            line += &if right { format!(" {pad}{cell} ") } else { format!(" {cell}{pad} ") };
        }
        line.trim_end().to_owned()
    };
    writeln!(out, "{}", look.bold(&line(titles.map(|(title, _)| title))))?;
    for row in rows {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}

/// Narrows the columns until a line fits; an omitted column has width 0. If lines may have any length, limits each
/// width to `WIDEST`.
fn fit<const N: usize>(widths: &mut [usize; N], fits: [Fit; N], terminal: Option<usize>) {
    let Some(terminal) = terminal else {
        *widths = widths.map(|width| width.min(WIDEST));
        return;
    };
    let excess = |widths: &[usize; N]| {
        let line: usize = widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum();
        line.saturating_sub(terminal) // includes the space before the first column, excludes the one after the last
    };
    while excess(widths) > 0 {
        let order = |fit: Fit| if let Fit::LeftOut(number) = fit { number } else { 0 };
        let last = (0..N).filter(|i| widths[*i] > 0 && order(fits[*i]) > 0).max_by_key(|i| order(fits[*i]));
        let Some(last) = last else { break };
        widths[last] = 0;
    }
    for i in 0..N {
        if let Fit::Cut(least) = fits[i] {
            widths[i] -= excess(widths).min(widths[i].saturating_sub(least));
        }
    }
}
