//! Permutes the dimensions of a row-major array.

use crate::common::failure::Failure;

/// The number of bytes to pass on at a time.
const AT_ONCE: usize = 1 << 22;

/// Takes elements: the number of the first one, and their bytes.
pub type Receiver<'r> = dyn FnMut(u64, &[u8]) -> Result<(), Failure> + 'r;

/// Passes the elements of a row-major array on in the order of the permuted dimensions, piece by piece, each with the
/// number of its first element. Dimension `n` of the result is dimension `permutation[n]` of the array.
pub fn each(
    bytes: &[u8],
    shape: &[u64],
    size: usize,
    permutation: &[usize],
    f: &mut Receiver<'_>,
) -> Result<(), Failure> {
    if bytes.is_empty() {
        return Ok(());
    }
    // The distance between elements in each dimension of the array, and then of the result.
    let mut strides = vec![size; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension] * shape[dimension] as usize;
    }
    let lengths: Vec<usize> = permutation.iter().map(|from| shape[*from] as usize).collect();
    let strides: Vec<usize> = permutation.iter().map(|from| strides[*from]).collect();
    let (mut index, mut at) = (vec![0; lengths.len()], 0);
    let (mut piece, mut first, mut done) = (Vec::with_capacity(AT_ONCE + size), 0, 0_u64);
    loop {
        piece.extend_from_slice(&bytes[at..at + size]);
        done += 1;
        if piece.len() >= AT_ONCE {
            f(first, &piece)?;
            piece.clear();
            first = done;
        }
        // Counts up, the last dimension first.
        let mut dimension = lengths.len();
        loop {
            let Some(next) = dimension.checked_sub(1) else {
                return if piece.is_empty() { Ok(()) } else { f(first, &piece) };
            };
            dimension = next;
            index[dimension] += 1;
            at += strides[dimension];
            if index[dimension] < lengths[dimension] {
                break;
            }
            at -= strides[dimension] * lengths[dimension];
            index[dimension] = 0;
        }
    }
}

/// Parses a permutation, such as `0,2,3,1`.
pub fn parse(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || "write each dimension once, from 0 on: 0,2,3,1".to_owned();
    let dimensions: Result<Vec<usize>, _> = text.split(',').map(|dimension| dimension.trim().parse()).collect();
    let dimensions = dimensions.map_err(|_| wrong())?;
    let is_permutation = (0..dimensions.len()).all(|dimension| dimensions.contains(&dimension));
    if is_permutation { Ok(dimensions) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_its_place() {
        let (shape, permutation) = ([2_u64, 3, 4, 5], [0, 2, 3, 1]);
        let bytes: Vec<u8> = (0..120_u16).flat_map(u16::to_le_bytes).collect();
        let mut found = Vec::new();
        let mut collect = |first: u64, piece: &[u8]| {
            assert_eq!(first as usize * 2, found.len());
            found.extend_from_slice(piece);
            Ok(())
        };
        each(&bytes, &shape, 2, &permutation, &mut collect).unwrap();
        let mut expected = Vec::new();
        for o in 0..2_u16 {
            for h in 0..4 {
                for w in 0..5 {
                    for i in 0..3 {
                        expected.extend((((o * 3 + i) * 4 + h) * 5 + w).to_le_bytes());
                    }
                }
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn permutations_are_parsed() {
        assert_eq!(parse("0,2,3,1"), Ok(vec![0, 2, 3, 1]));
        for wrong in ["", "0,0", "1,2", "0,1,3", "a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
