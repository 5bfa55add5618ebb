//! A histogram of bars, drawn with characters.

use std::io::{self, Write};

use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthStr;

use super::Values;
use super::number::{each_number, lanes};
use super::statistics::Statistics;
use crate::common::budget::Stop;
use crate::common::reading::Progress;
use crate::common::table::Look;

const BINS: usize = 16;
/// The maximum width, which is also the width without a terminal.
const WIDEST: usize = 72;
/// Eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Counts of numbers in equal intervals.
pub struct Histogram {
    min: f64,
    width: f64,
    counts: Vec<u64>,
}

impl Histogram {
    /// Creates a histogram of finite numbers from `min` to `max`.
    fn new(min: f64, max: f64) -> Self {
        let bins = if min == max { 1 } else { BINS };
        Self { min, width: (max / bins as f64) - (min / bins as f64), counts: vec![0; bins] }
    }

    /// The histogram of the finite numbers of a tensor.
    pub fn of(values: &mut Values<'_>, all: &Statistics, progress: Progress<'_>) -> Result<Self, Stop> {
        let mut histogram = Self::new(all.min, all.max);
        let Some((lane, _)) = values.dtype.map(lanes).filter(|_| all.count > 0) else { return Ok(histogram) };
        let pieces = values.map_pieces(|bytes| {
            let mut of_piece = Self::new(all.min, all.max);
            each_number(lane, bytes, |x| of_piece.add(x));
            progress(bytes.len() as u64);
            of_piece.counts
        })?;
        for counts in pieces {
            histogram.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(histogram)
    }

    fn add(&mut self, x: f64) {
        if x.is_finite() {
            let bin = if self.width > 0.0 { ((x - self.min) / self.width) as usize } else { 0 };
            let last = self.counts.len() - 1;
            self.counts[bin.min(last)] += 1;
        }
    }

    /// The record: the ends of the intervals, and the counts.
    pub fn record(&self) -> Json {
        let ends: Vec<f64> = (0..=self.counts.len()).map(|bin| self.min + self.width * bin as f64).collect();
        json!({"ends": ends, "counts": self.counts})
    }

    /// Draws a line for each interval: its lower end, a bar, and the count.
    pub fn draw(&self, out: &mut impl Write, look: Look) -> io::Result<()> {
        let begins: Vec<String> =
            (0..self.counts.len()).map(|bin| short(self.min + self.width * bin as f64)).collect();
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let label = begins.iter().map(|text| text.width()).max().unwrap_or(0);
        let digits = most.to_string().len();
        let room = look.width.unwrap_or(WIDEST).min(WIDEST).saturating_sub(label + digits + 8).max(8);
        for (begin, count) in begins.iter().zip(&self.counts) {
            let eighths = (*count as f64 / most as f64 * room as f64 * 8.0).round() as usize;
            // A nonzero count is always visible.
            let eighths = eighths.max(usize::from(*count > 0));
            let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
            let pad = " ".repeat((room + 1).saturating_sub(bar.width()));
            writeln!(out, "    {begin:>label$} │{}{pad}{count:>digits$}", look.painted("36", &bar))?;
        }
        Ok(())
    }
}

/// A number in about four digits.
pub fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e5).contains(&size) {
        let places = if size >= 1000.0 { 0 } else { 3 - size.max(1.0).log10().floor() as usize };
        format!("{x:.places$}")
    } else {
        format!("{x:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_a_bin() {
        let mut histogram = Histogram::new(-1.0, 1.0);
        [-1.0, 1.0, 0.0, f64::NAN].into_iter().for_each(|x| histogram.add(x));
        assert_eq!(histogram.counts.iter().sum::<u64>(), 3);
        assert_eq!((histogram.counts[0], histogram.counts[15], histogram.counts[8]), (1, 1, 1));
        let mut one = Histogram::new(5.0, 5.0);
        one.add(5.0);
        assert_eq!(one.counts, [1]);
        let mut wide = Histogram::new(f64::MIN, f64::MAX);
        [f64::MIN, 0.0, f64::MAX].into_iter().for_each(|x| wide.add(x));
        assert_eq!(wide.counts.iter().sum::<u64>(), 3);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 1.0, -12.25, 99999.0, 1e-9].map(short), ["0.000", "1.000", "-12.25", "99999", "1.00e-9"]);
    }
}
