//! Statistics of the error of quantizing.

/// The squares of a row: its numbers, and their errors.
#[derive(Clone, Copy, Debug, Default)]
struct Squares {
    numbers: f64,
    errors: f64,
}

impl Squares {
    /// The RMS of the errors, relative to that of the numbers.
    fn relative(self) -> f64 {
        if self.errors == 0.0 { 0.0 } else { (self.errors / self.numbers).sqrt() }
    }
}

/// Differences between numbers and the quantized numbers.
#[derive(Debug)]
pub struct Errors {
    /// The number of elements with the same first index: a row.
    row_length: u64,
    count: u64,
    largest: f64,
    /// The squares of the complete rows, and of the current one.
    done: Squares,
    row: Squares,
    quantized: f64,
    products: f64,
    worst: Row,
}

/// A row, and the RMS of its errors relative to the RMS of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    pub index: u64,
    pub relative: f64,
}

/// The statistics of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The largest magnitude of an error.
    pub largest: f64,
    /// The root of the mean square of the errors.
    pub rms: f64,
    /// The cosine of the angle between the tensor and the quantized tensor.
    pub cosine: f64,
    pub worst: Row,
}

impl Errors {
    /// The errors of a tensor of this shape, which is not empty.
    pub fn new(shape: &[u64]) -> Self {
        let row_length = shape.iter().skip(1).product::<u64>().max(1);
        let (done, row) = Default::default();
        Self { row_length, count: 0, largest: 0.0, done, row, quantized: 0.0, products: 0.0, worst: Row::default() }
    }

    /// Adds the next numbers.
    pub fn add(&mut self, numbers: &[f32], quantized: &[f32]) {
        let mut pairs = numbers.iter().zip(quantized);
        loop {
            let left = self.row_length - self.count % self.row_length;
            let before = self.count;
            for (x, y) in pairs.by_ref().take(left as usize) {
                let (x, y) = (f64::from(*x), f64::from(*y));
                self.largest = self.largest.max((x - y).abs());
                self.row.numbers += x * x;
                self.row.errors += (x - y) * (x - y);
                self.quantized += y * y;
                self.products += x * y;
                self.count += 1;
            }
            if self.count == before {
                return;
            }
            if self.count.is_multiple_of(self.row_length) {
                self.end_row();
            }
        }
    }

    fn end_row(&mut self) {
        let relative = self.row.relative();
        if relative > self.worst.relative {
            self.worst = Row { index: (self.count - 1) / self.row_length, relative };
        }
        self.done.numbers += self.row.numbers;
        self.done.errors += self.row.errors;
        self.row = Squares::default();
    }

    /// The statistics of all numbers that were added.
    pub fn summary(&self) -> Summary {
        let lengths = (self.done.numbers * self.quantized).sqrt();
        Summary {
            largest: self.largest,
            rms: (self.done.errors / self.count.max(1) as f64).sqrt(),
            // Two tensors of zeros are the same.
            cosine: if lengths > 0.0 {
                self.products / lengths
            } else {
                f64::from(u8::from(self.done.errors == 0.0))
            },
            worst: self.worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_counted_once() {
        let (numbers, quantized) = ([3.0, 4.0, 0.0, 0.0, 0.0, 1.0], [3.0, 3.5, 0.0, 0.0, 0.0, 0.5]);
        for split in 0..=6 {
            let mut errors = Errors::new(&[3, 2]);
            errors.add(&numbers[..split], &quantized[..split]);
            errors.add(&numbers[split..], &quantized[split..]);
            let summary = errors.summary();
            assert_eq!((summary.largest, summary.worst), (0.5, Row { index: 2, relative: 0.5 }));
            assert!((summary.rms - (0.5_f64 / 6.0).sqrt()).abs() < 1e-15);
            assert!((summary.cosine - 23.5 / (26.0_f64 * 21.5).sqrt()).abs() < 1e-15);
        }
    }

    #[test]
    fn zeros() {
        let mut errors = Errors::new(&[1, 2]);
        errors.add(&[0.0; 2], &[0.0; 2]);
        let summary = Summary { largest: 0.0, rms: 0.0, cosine: 1.0, worst: Row::default() };
        assert_eq!(errors.summary(), summary);
        errors = Errors::new(&[1, 1]);
        errors.add(&[1e-40], &[0.0]);
        assert_eq!(errors.summary().worst.relative, 1.0);
    }
}
