//! ExecuTorch's `.ptd` files.

use crate::support::ptd::Ptd;

const I8: i8 = 1;

pub fn tensors(size: usize) -> Vec<u8> {
    of_names((0..size).map(|i| format!("{i:06}")))
}

pub fn falling_tensors(size: usize) -> Vec<u8> {
    of_names((0..size).rev().map(|i| format!("{i:06}")))
}

/// `size` tensors with names of `size` bytes and four digits. The names differ only in the digits and descend.
pub fn tensors_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    of_names((0..size).rev().map(|i| format!("{start}{i:04}")))
}

/// Descending names, the first of which is as long as all others together.
pub fn long_name(size: usize) -> Vec<u8> {
    let long = "x".repeat(6 * size);
    of_names([long].into_iter().chain((0..size).rev().map(|i| format!("{i:06}"))))
}

/// Tensors of a byte in a segment each.
fn of_names(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut file = Ptd::default();
    for name in names {
        file.tensor(name, I8, &[1], &[7]);
    }
    file.bytes()
}

/// Names of one segment.
pub fn shared(size: usize) -> Vec<u8> {
    let mut file = Ptd::default();
    let segment = file.segment(&[7]);
    for i in 0..size {
        file.name(format!("{i:06}"), segment, Some((I8, vec![1], vec![0])));
    }
    file.bytes()
}

/// Tensors of the highest rank, whose dimensions are in another order.
pub fn strided(size: usize) -> Vec<u8> {
    let mut file = Ptd::default();
    let mut order: Vec<u8> = (0..=u8::MAX).collect();
    order.swap(0, 1);
    for i in 0..size {
        file.ordered(format!("{i:06}"), I8, &[1; 256], order.clone(), &[7]);
    }
    file.bytes()
}

/// Segments without names.
pub fn unused_segments(size: usize) -> Vec<u8> {
    let mut file = Ptd::default();
    for _ in 0..size {
        file.segment(&[7]);
    }
    file.tensor("a", I8, &[1], &[7]).bytes()
}

/// A tensor of `size` rows of 8 bytes.
pub fn data(size: usize) -> Vec<u8> {
    Ptd::default().tensor("a", I8, &[size as i32, 8], &vec![7; 8 * size]).bytes()
}

/// The same with the dimensions in another order.
pub fn strided_data(size: usize) -> Vec<u8> {
    Ptd::default().ordered("a", I8, &[2, size as i32, 4], vec![0, 2, 1], &vec![7; 8 * size]).bytes()
}

/// Tensors, the last of which has a segment that is too short.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut file = Ptd::default();
    for i in 0..size {
        file.tensor(format!("{i:06}"), I8, &[1], &[7]);
    }
    file.tensor("last", I8, &[2], &[7]).bytes()
}
