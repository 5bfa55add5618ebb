//! Minimum, maximum, mean and standard deviation, in one pass.

use std::ops::Add;

use pulp::{Arch, NullaryFnOnce};
use serde_json::{Value as Json, json};
use tenslice::DType;

use super::Values;
use super::number::{Integer, each_block, each_block_of_f32, each_integer, lanes};
use crate::common::budget::Stop;
use crate::common::reading::Progress;

/// A type whose numbers are compared as they are, and summed as `f64`.
trait Number: Copy + PartialOrd + Into<f64> + Add<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    /// Positive and negative infinity.
    const ENDS: [Self; 2];
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const ENDS: [Self; 2] = [Self::INFINITY, Self::NEG_INFINITY];
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const ENDS: [Self; 2] = [Self::INFINITY, Self::NEG_INFINITY];
}

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
        // The type of most tensors: its numbers are compared without conversion, in half of the time.
        if lane == DType::F32 {
            each_block_of_f32(bytes, |numbers| all = all.with(&Self::of_block(numbers)));
            return all;
        }
        each_block(lane, bytes, |numbers| all = all.with(&Self::of_block(numbers)));
        each_integer(lane, bytes, |x| {
            all.ends = Some(all.ends.map_or((x, x), |(min, max)| (min.min(x), max.max(x))))
        });
        all
    }

    /// Computes the statistics of a few numbers. Most blocks have only finite ones, which need no test of each number.
    fn of_block<T: Number>(numbers: &[T]) -> Self {
        let all = Arch::new().dispatch(OfFinite(numbers));
        if all.squares.is_finite() {
            return all;
        }
        let finite: Vec<T> = numbers.iter().copied().filter(|x| (*x).into().is_finite()).collect();
        let nan = numbers.iter().filter(|x| (**x).into().is_nan()).count() as u64;
        let infinite = (numbers.len() - finite.len()) as u64 - nan;
        Self { nan, infinite, ..Self::of_finite(&finite) }
    }

    /// Computes the statistics of a few finite numbers.
    #[inline(always)]
    fn of_finite<T: Number>(numbers: &[T]) -> Self {
        let [least, greatest] = T::ENDS;
        let min = in_lanes(numbers, least, |min, x| if x < min { x } else { min });
        let max = in_lanes(numbers, greatest, |max, x| if x > max { x } else { max });
        // A count would leave the vectors.
        let zeros = in_lanes(numbers, T::ZERO, |zeros, x| zeros + if x == T::ZERO { T::ONE } else { T::ZERO });
        let sum: f64 = in_lanes(numbers, 0.0, |sum, x| sum + x.into()).into_iter().sum();
        let mean = sum / numbers.len().max(1) as f64;
        let squares = in_lanes(numbers, 0.0, |squares, x| {
            let distance = x.into() - mean;
            squares + distance * distance
        });
        Self {
            count: numbers.len() as u64,
            min: min.into_iter().map(T::into).fold(f64::INFINITY, f64::min),
            max: max.into_iter().map(T::into).fold(f64::NEG_INFINITY, f64::max),
            zeros: zeros.into_iter().map(T::into).sum::<f64>() as u64,
            mean,
            squares: squares.into_iter().sum(),
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

/// The statistics of finite numbers, compiled for several widths of vectors. The additions and their order are the same.
struct OfFinite<'a, T>(&'a [T]);

impl<T: Number> NullaryFnOnce for OfFinite<'_, T> {
    type Output = Statistics;

    #[inline(always)]
    fn call(self) -> Statistics {
        Statistics::of_finite(self.0)
    }
}

const LANES: usize = 8;

/// Folds every eighth number from the first one on, from the second one on, and so on. A loop for each statistic, without
/// branches, uses vector instructions; one loop for all of them does not.
#[inline(always)]
fn in_lanes<T: Copy, A: Copy>(numbers: &[T], start: A, fold: impl Fn(A, T) -> A) -> [A; LANES] {
    let mut lanes = [start; LANES];
    let blocks = numbers.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane = fold(*lane, *x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = fold(*lane, *x);
    }
    lanes
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

    /// Numbers of 32 bits have the statistics of the same numbers of 64 bits.
    #[test]
    fn numbers_of_32_bits() {
        let numbers: Vec<f32> = (0..5_003_u16).map(|i| (f32::from(i % 117) - 40.0) * 1.7e5).collect();
        for at in [None, Some(2), Some(1030), Some(5002)] {
            let mut numbers = numbers.clone();
            at.into_iter().for_each(|at| numbers[at] = [f32::NAN, f32::INFINITY][at % 2]);
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
            let (all, same) = (
                Statistics::of_bytes(DType::F32, &bytes),
                of(&numbers.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()),
            );
            assert_eq!(format!("{all:?}"), format!("{same:?}"), "{at:?}");
            assert!(all.zeros > 0 && all.count + all.nan + all.infinite == 5_003, "{all:?}");
        }
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
