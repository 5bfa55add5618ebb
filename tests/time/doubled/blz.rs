//! BLZ1 files.

/// A train of ones.
fn train(lengths: &[u64], bonds: &[u64]) -> Vec<u8> {
    let mut bytes = b"BLZ1\x01\x00".to_vec();
    bytes.push(lengths.len() as u8);
    bytes.extend([0; 8]);
    lengths.iter().chain(bonds).for_each(|n| bytes.extend(n.to_le_bytes()));
    let count: u64 = lengths.iter().zip(bonds.windows(2)).map(|(length, bonds)| bonds[0] * length * bonds[1]).sum();
    (0..count).for_each(|_| bytes.extend(1_f64.to_le_bytes()));
    bytes
}

/// Dimensions of length 1, up to 255 of them.
pub fn dimensions(size: usize) -> Vec<u8> {
    train(&vec![1; size], &vec![1; size + 1])
}

/// A bond of that dimension, and a longer first dimension.
pub fn bond(size: usize) -> Vec<u8> {
    train(&[8, 8], &[1, size as u64, 1])
}

/// A dimension of that length.
pub fn length(size: usize) -> Vec<u8> {
    train(&[size as u64, 2, 2], &[1, 4, 4, 1])
}

/// Cores, the last of which has a bond dimension of 0.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut bonds = vec![1; size + 1];
    bonds[size - 1] = 0;
    train(&vec![1; size], &bonds)
}
