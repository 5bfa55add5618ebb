//! Minimum, maximum, mean and standard deviation, in one pass.

use super::number::Integer;

/// The number of values in a block.
const BLOCK: u64 = 1024;

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
    /// The complete blocks: the count of their numbers, the mean, the sum of squared distances from the mean.
    summed: f64,
    mean: f64,
    squares: f64,
    /// The current block: the number that distances are measured from, their sum, the sum of their squares.
    pivot: f64,
    sum: f64,
    sum_of_squares: f64,
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
            summed: 0.0,
            mean: 0.0,
            squares: 0.0,
            pivot: 0.0,
            sum: 0.0,
            sum_of_squares: 0.0,
        }
    }
}

impl Statistics {
    pub fn add(&mut self, x: f64) {
        if !x.is_finite() {
            self.nan += u64::from(x.is_nan());
            self.infinite += u64::from(x.is_infinite());
            return;
        }
        if self.count.is_multiple_of(BLOCK) {
            self.end_block();
            self.pivot = if self.count == 0 { x } else { self.mean };
        }
        self.count += 1;
        self.zeros += u64::from(x == 0.0);
        (self.min, self.max) = (self.min.min(x), self.max.max(x));
        let distance = x - self.pivot;
        self.sum += distance;
        self.sum_of_squares += distance * distance;
    }

    /// Adds an integer to `ends` only.
    pub fn add_exact(&mut self, x: Integer) {
        self.ends = Some(self.ends.map_or((x, x), |(min, max)| (min.min(x), max.max(x))));
    }

    /// Merges the block into the previous ones (Chan, Golub and LeVeque). Sums over all numbers would lose digits.
    fn end_block(&mut self) {
        let count = self.count as f64 - self.summed;
        if count > 0.0 {
            let distance = self.pivot + self.sum / count - self.mean;
            let share = count / self.count as f64;
            self.squares += self.sum_of_squares - self.sum / count * self.sum;
            self.squares += distance * distance * self.summed * share;
            self.mean += distance * share;
        }
        (self.summed, self.sum, self.sum_of_squares) = (self.count as f64, 0.0, 0.0);
    }

    /// The mean, and the standard deviation of the population, not of a sample.
    pub fn mean_and_deviation(&mut self) -> (f64, f64) {
        self.end_block();
        self.pivot = self.mean;
        (self.mean, (self.squares.max(0.0) / self.count.max(1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_counted_apart() {
        let mut all = Statistics::default();
        [1.0, 2.0, f64::NAN, 3.0, 0.0, f64::INFINITY, 4.0].into_iter().for_each(|x| all.add(x));
        assert_eq!((all.count, all.nan, all.infinite, all.zeros), (5, 1, 1, 1));
        assert_eq!((all.min, all.max, all.mean_and_deviation().0), (0.0, 4.0, 2.0));
        assert!((all.mean_and_deviation().1 - 2_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn large_integers_keep_their_digits() {
        let mut all = Statistics::default();
        [i64::MAX - 1, i64::MIN + 1, 0, i64::MAX].into_iter().for_each(|x| all.add_exact(i128::from(x).into()));
        let ends = all.ends.map(|(min, max)| (min.to_string(), max.to_string()));
        assert_eq!(ends, Some(("-9223372036854775807".into(), "9223372036854775807".into())));
    }

    /// Small distances from a large mean, over many blocks.
    #[test]
    fn digits_are_kept() {
        let mut all = Statistics::default();
        (0..100_000).for_each(|i| all.add(1e9 + f64::from(i % 2)));
        let (mean, deviation) = all.mean_and_deviation();
        assert!((mean - 1e9 - 0.5).abs() < 1e-6 && (deviation - 0.5).abs() < 1e-6, "{mean} {deviation}");
        let mut all = Statistics::default();
        (0..10_000).for_each(|i| all.add(f64::from(i)));
        let (mean, deviation) = all.mean_and_deviation();
        assert!((mean - 4999.5).abs() < 1e-9 && (deviation - 2_886.751_331_5).abs() < 1e-6, "{mean} {deviation}");
    }
}
