//! Tensor trains in BLZ1 files, contracted.
//!
//! The hand-written code is a chain of matrix products: the product of the previous cores, a matrix with a row for
//! each choice of their indices, times the next core, reshaped to a matrix. The order of the loops lets a compiler
//! vectorize the innermost.

use crate::compare;
use crate::random::Random;

pub fn compare_all(filter: &str) {
    let trains: [(&str, &[usize], &[usize]); 3] = [
        ("train 16 32 16", &[48, 40, 64, 32], &[1, 16, 32, 16, 1]),
        ("train 2^20 rank 8", &[4; 10], &[1, 4, 8, 8, 8, 8, 8, 8, 8, 4, 1]),
        ("train 160^3 rank 64", &[160, 160, 160], &[1, 64, 64, 1]),
    ];
    for (name, lengths, bonds) in trains {
        if name.contains(filter) {
            let train = Train::random(lengths, bonds);
            compare(name, &train.file(), |dst| train.contract(dst));
        }
    }
}

struct Train {
    lengths: Vec<usize>,
    bonds: Vec<usize>,
    cores: Vec<Vec<f64>>,
}

impl Train {
    fn random(lengths: &[usize], bonds: &[usize]) -> Self {
        let mut random = Random(1);
        let sizes = lengths.iter().zip(bonds.windows(2)).map(|(length, ends)| ends[0] * length * ends[1]);
        let cores = sizes.map(|size| (0..size).map(|_| random.number()).collect()).collect();
        Self { lengths: lengths.to_vec(), bonds: bonds.to_vec(), cores }
    }

    fn file(&self) -> Vec<u8> {
        let mut bytes = b"BLZ1\x01\x00".to_vec();
        bytes.push(self.lengths.len() as u8);
        bytes.extend([0; 8]);
        self.lengths.iter().chain(&self.bonds).for_each(|n| bytes.extend((*n as u64).to_le_bytes()));
        self.cores.iter().flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes
    }

    fn contract(&self, dst: &mut [u8]) {
        let mut rows = 1;
        let mut product = vec![1.0];
        for ((core, length), ends) in self.cores.iter().zip(&self.lengths).zip(self.bonds.windows(2)) {
            let (inner, width) = (ends[0], length * ends[1]);
            let mut next = vec![0.0; rows * width];
            for (row, to) in product.chunks_exact(inner).zip(next.chunks_exact_mut(width)) {
                for (x, from) in row.iter().zip(core.chunks_exact(width)) {
                    for (sum, y) in to.iter_mut().zip(from) {
                        *sum += x * y;
                    }
                }
            }
            (rows, product) = (rows * length, next);
        }
        for (to, x) in dst.chunks_exact_mut(8).zip(product) {
            to.copy_from_slice(&x.to_ne_bytes());
        }
    }
}
