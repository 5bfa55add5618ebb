//! Minimum, maximum, mean and standard deviation, in one pass.

/// What is known of some numbers.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Finite numbers.
    pub count: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
            zeros: 0,
            nan: 0,
            infinite: 0,
        }
    }
}

impl Statistics {
    /// Adds a number. The mean is corrected by each one (Welford's method): sums would lose digits.
    pub fn add(&mut self, x: f64) {
        if x.is_nan() {
            self.nan += 1;
        } else if x.is_infinite() {
            self.infinite += 1;
        } else {
            self.count += 1;
            self.zeros += u64::from(x == 0.0);
            (self.min, self.max) = (self.min.min(x), self.max.max(x));
            let distance = x - self.mean;
            self.mean += distance / self.count as f64;
            self.squares += distance * (x - self.mean);
        }
    }

    /// The standard deviation of all numbers, not of a sample.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
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
        assert_eq!((all.min, all.max, all.mean), (0.0, 4.0, 2.0));
        assert!((all.deviation() - 2_f64.sqrt()).abs() < 1e-15);
    }
}
