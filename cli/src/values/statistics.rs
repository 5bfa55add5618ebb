//! Minimum, maximum, mean and standard deviation, in one pass.

use serde_json::{Value as Json, json};
use tenslice::DType;

use super::Values;
use super::number::{Integer, each_block, each_integer, lanes};
use crate::common::budget::Stop;
use crate::common::reading::Progress;

/// The statistics of a sequence of numbers.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// The number of finite numbers.
    pub count: u64,
    pub min: f64,
    pub max: f64,
    /// The least and the greatest integer of a type of 64 bits or more, for which `min` and `max` are rounded.
    pub ends: Option<(Integer, Integer)>,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
    pub mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            ends: None,
            zeros: 0,
            nan: 0,
            infinite: 0,
            mean: 0.0,
            squares: 0.0,
        }
    }
}

impl Statistics {
    /// Computes the statistics of the numbers of a tensor: every lane counts by itself. `None` if they are not numbers.
    pub fn of(values: &mut Values<'_>, progress: Progress<'_>) -> Result<Option<Self>, Stop> {
        let Some((lane, _)) = values.dtype.map(lanes) else { return Ok(None) };
        let pieces = values.map_pieces(|bytes| {
            progress(bytes.len() as u64);
            Self::of_bytes(lane, bytes)
        })?;
        Ok(Some(pieces.iter().fold(Self::default(), |all, piece| all.with(piece))))
    }

    /// Computes the statistics of elements with one lane.
    fn of_bytes(lane: DType, bytes: &[u8]) -> Self {
        let mut all = Self::default();
        each_block(lane, bytes, |numbers| all = all.with(&Self::of_block(numbers)));
        each_integer(lane, bytes, |x| {
            all.ends = Some(all.ends.map_or((x, x), |(min, max)| (min.min(x), max.max(x))))
        });
        all
    }

    /// Computes the statistics of a few numbers. Most blocks have only finite ones, which need no test of each number.
    fn of_block(numbers: &[f64]) -> Self {
        let all = Self::of_finite(numbers);
        if all.squares.is_finite() {
            return all;
        }
        let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let nan = numbers.iter().filter(|x| x.is_nan()).count() as u64;
        let infinite = (numbers.len() - finite.len()) as u64 - nan;
        Self { nan, infinite, ..Self::of_finite(&finite) }
    }

    /// Computes the statistics of finite numbers. The loops have no branches, so that they use vector instructions.
    fn of_finite(numbers: &[f64]) -> Self {
        const LANES: usize = 8;
        let blocks = numbers.chunks_exact(LANES);
        let rest = blocks.remainder();
        let (mut min, mut max) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let (mut sum, mut squares, mut zeros) = ([0.0; LANES], [0.0; LANES], [0_u64; LANES]);
        let mut add = |i: usize, x: f64| {
            min[i] = if x < min[i] { x } else { min[i] };
            max[i] = if x > max[i] { x } else { max[i] };
            sum[i] += x;
            zeros[i] += u64::from(x == 0.0);
        };
        for block in blocks.clone() {
            (0..LANES).for_each(|i| add(i, block[i]));
        }
        rest.iter().for_each(|x| add(0, *x));
        let count = numbers.len() as f64;
        let mean = sum.iter().sum::<f64>() / count.max(1.0);
        let mut square = |i: usize, x: f64| squares[i] += (x - mean) * (x - mean);
        for block in blocks {
            (0..LANES).for_each(|i| square(i, block[i]));
        }
        rest.iter().for_each(|x| square(0, *x));
        Self {
            count: numbers.len() as u64,
            min: min.into_iter().fold(f64::INFINITY, f64::min),
            max: max.into_iter().fold(f64::NEG_INFINITY, f64::max),
            zeros: zeros.iter().sum(),
            mean,
            squares: squares.iter().sum(),
            ..Self::default()
        }
    }

    /// The statistics of both sequences together (Chan, Golub and LeVeque). Sums over all numbers would lose digits.
    fn with(&self, other: &Self) -> Self {
        let count = self.count + other.count;
        let share = other.count as f64 / count.max(1) as f64;
        let distance = other.mean - self.mean;
        let ends = match (self.ends, other.ends) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (a, b) => a.or(b),
        };
        Self {
            count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            ends,
            zeros: self.zeros + other.zeros,
            nan: self.nan + other.nan,
            infinite: self.infinite + other.infinite,
            mean: if self.count == 0 { other.mean } else { self.mean + distance * share },
            squares: self.squares + other.squares + distance * distance * self.count as f64 * share,
        }
    }

    /// The record. Integers of 64 bits and more are exact; beyond 64 bits they are strings.
    pub fn record(&self) -> Json {
        let number = |x: f64| if self.count > 0 { json!(x) } else { Json::Null };
        let [min, max] = match self.ends {
            Some((min, max)) => [min, max].map(|x| x.to_json()),
            None => [self.min, self.max].map(number),
        };
        json!({
            "count": self.count, "min": min, "max": max, "mean": number(self.mean), "std": number(self.deviation()),
            "zeros": self.zeros, "nan": self.nan, "infinite": self.infinite,
        })
    }

    /// The standard deviation of the population, not of a sample.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Statistics {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        Statistics::of_bytes(DType::F64, &bytes)
    }

    #[test]
    fn numbers_that_are_none_are_counted_apart() {
        let all = of(&[1.0, 2.0, f64::NAN, 3.0, 0.0, f64::INFINITY, 4.0]);
        assert_eq!((all.count, all.nan, all.infinite, all.zeros), (5, 1, 1, 1));
        assert_eq!((all.min, all.max, all.mean), (0.0, 4.0, 2.0));
        assert!((all.deviation() - 2_f64.sqrt()).abs() < 1e-15);
        let none = of(&[f64::NAN, f64::NEG_INFINITY]);
        assert_eq!((none.count, none.nan, none.infinite), (0, 1, 1));
        assert_eq!(of(&[f64::NAN, 7.0]).mean, 7.0);
    }

    #[test]
    fn large_integers_keep_their_digits() {
        let bytes: Vec<u8> = [i64::MAX - 1, i64::MIN + 1, 0, i64::MAX].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let ends = Statistics::of_bytes(DType::I64, &bytes).ends;
        let ends = ends.map(|(min, max)| (min.to_string(), max.to_string()));
        assert_eq!(ends, Some(("-9223372036854775807".into(), "9223372036854775807".into())));
    }

    /// Small distances from a large mean, over many blocks.
    #[test]
    fn digits_are_kept() {
        let all = of(&(0..100_000).map(|i| 1e9 + f64::from(i % 2)).collect::<Vec<_>>());
        assert!((all.mean - 1e9 - 0.5).abs() < 1e-6 && (all.deviation() - 0.5).abs() < 1e-6, "{all:?}");
        let all = of(&(0..10_001).map(f64::from).collect::<Vec<_>>());
        assert!((all.mean - 5000.0).abs() < 1e-9 && (all.deviation() - 2_887.040_006_650_7).abs() < 1e-6, "{all:?}");
    }
}
