//! BLZ1 files of any tensor train. The numbers are small integers, so that every element can be computed exactly and
//! compared. Or one thing is broken.

use tenslice::{Layout, Warning};

use crate::check;
use crate::choices::Choices;

/// A complex number. For a real train the second part is 0.
type Number = (f64, f64);

struct Train {
    is_complex: bool,
    lengths: Vec<u64>,
    bonds: Vec<u64>,
    /// The cores in order, row-major.
    cores: Vec<Vec<Number>>,
    reserved: u8,
    trailing: Vec<u8>,
}

impl Train {
    fn new(choices: &mut Choices<'_>) -> Self {
        let is_complex = choices.below(2) == 1;
        // Long trains have numbers of at most 1, so that all products are exact.
        let is_long = choices.one_in(16);
        let rank = if is_long { 6 + choices.below(60) } else { 1 + choices.below(5) };
        let lengths: Vec<u64> = (0..rank).map(|_| 1 + choices.below(if is_long { 2 } else { 4 }) as u64).collect();
        let inner = (1..rank).map(|_| 1 + choices.below(if is_long { 1 } else { 3 }) as u64);
        let bonds: Vec<u64> = [1].into_iter().chain(inner).chain([1]).collect();
        let mut number = || {
            let digit = if is_long { choices.below(3) as f64 - 1.0 } else { f64::from(choices.any::<i8>() / 16) };
            (digit, if is_complex && !is_long { f64::from(choices.any::<i8>() / 16) } else { 0.0 })
        };
        let cores = (0..rank).map(|k| (0..bonds[k] * lengths[k] * bonds[k + 1]).map(|_| number()).collect()).collect();
        let reserved = if choices.one_in(16) { choices.any() } else { 0 };
        let trailing = if choices.one_in(16) { choices.bytes(9) } else { Vec::new() };
        Self { is_complex, lengths, bonds, cores, reserved, trailing }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = b"BLZ1\x01".to_vec();
        file.extend([self.is_complex.into(), self.lengths.len() as u8, 0, 0, 0, self.reserved, 0, 0, 0, 0]);
        self.lengths.iter().chain(&self.bonds).for_each(|number| file.extend(number.to_le_bytes()));
        for (real, imaginary) in self.cores.iter().flatten() {
            file.extend(real.to_le_bytes());
            if self.is_complex {
                file.extend(imaginary.to_le_bytes());
            }
        }
        file.extend(&self.trailing);
        file
    }

    /// Computes an element by multiplying the cores' matrices.
    fn element(&self, index: &[u64]) -> Number {
        let mut row = vec![(1.0, 0.0)];
        for (k, core) in self.cores.iter().enumerate() {
            let (length, right) = (self.lengths[k], self.bonds[k + 1]);
            row = (0..right)
                .map(|b| {
                    row.iter().zip(0..).fold((0.0, 0.0), |sum: Number, (x, a)| {
                        let y = core[((a * length + index[k]) * right + b) as usize];
                        (sum.0 + x.0 * y.0 - x.1 * y.1, sum.1 + x.0 * y.1 + x.1 * y.0)
                    })
                })
                .collect();
        }
        row[0]
    }

    /// Opens the file and compares it with what was made.
    fn compare(&self, file: &[u8]) {
        let opened = check::sound(file);
        let warnings = opened.warnings();
        assert_eq!(warnings.contains(Warning::TrailingBytes), !self.trailing.is_empty());
        assert_eq!(warnings.contains(Warning::ReservedBytes), self.reserved != 0);
        let tensor = opened.find("").unwrap();
        assert_eq!((tensor.layout(), tensor.components().count()), (Layout::TensorTrain, self.lengths.len()));
        assert_eq!(tensor.shape(), self.lengths[..]);
        let blz = opened.as_blz().unwrap();
        assert!(blz.bond_dimensions().eq(self.bonds.iter().copied()));
        let size = if self.is_complex { 16 } else { 8 };
        assert_eq!(blz.parameters(), self.cores.iter().map(|core| core.len() as u64).sum::<u64>());
        let train = blz.train().unwrap();
        let mut scratch = vec![0x55; train.element_scratch() as usize];
        let last: Vec<u64> = self.lengths.iter().map(|length| length - 1).collect();
        let [real, imaginary] = train.element(&last, &mut scratch).unwrap();
        assert_eq!((real, imaginary), self.element(&last));
        if let Some(dense) = check::dense(&tensor) {
            let mut index = vec![0; self.lengths.len()];
            for element in dense.chunks(size) {
                let mut parts = element.chunks(8).map(|part| f64::from_ne_bytes(part.try_into().unwrap()));
                assert_eq!((parts.next().unwrap(), parts.next().unwrap_or(0.0)), self.element(&index));
                for (i, length) in index.iter_mut().zip(&self.lengths).rev() {
                    *i = (*i + 1) % length;
                    if *i > 0 {
                        break;
                    }
                }
            }
        }
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let made = Train::new(&mut choices);
    let mut file = made.bytes();
    if choices.is_sound {
        return made.compare(&file);
    }
    choices.damage(&mut file);
    if check::all(&file).is_ok() {
        crate::compute::run(&file);
    }
}
