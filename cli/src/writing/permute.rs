//! Permutes the dimensions of a row-major array.

use globset::GlobMatcher;

use super::tensor::Item;
use crate::common::failure::Failure;
use crate::common::pattern::glob;

/// The options that permute tensors.
#[derive(clap::Args)]
pub struct Permute {
    /// Permute the dimensions of all dense tensors with this many: 0,2,3,1 turns OIHW into OHWI
    #[arg(long, value_name = "DIMENSIONS", value_parser = parse)]
    permute: Option<Permutation>,

    /// Permute only tensors whose whole new name matches
    #[arg(long, value_name = "GLOB", value_parser = glob, requires = "permute")]
    permute_only: Option<GlobMatcher>,
}

/// The order of dimensions. (A list would be an option that can be repeated.)
#[derive(Clone, Debug, PartialEq)]
struct Permutation(Vec<usize>);

impl Permute {
    /// Permutes the chosen tensors.
    pub fn apply(&self, items: &mut [Item<'_>]) -> Result<(), Failure> {
        let Some(Permutation(permutation)) = &self.permute else { return Ok(()) };
        let is_chosen = |item: &&mut Item<'_>| {
            let glob = self.permute_only.as_ref();
            item.shape.len() == permutation.len() && glob.is_none_or(|glob| glob.is_match(&item.name))
        };
        items.iter_mut().filter(is_chosen).try_for_each(|item| item.permute(permutation))
    }
}

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
fn parse(text: &str) -> Result<Permutation, String> {
    let wrong = || "write each dimension once, from 0 on: 0,2,3,1".to_owned();
    let dimensions: Result<Vec<usize>, _> = text.split(',').map(|dimension| dimension.trim().parse()).collect();
    let dimensions = dimensions.map_err(|_| wrong())?;
    let is_permutation = (0..dimensions.len()).all(|dimension| dimensions.contains(&dimension));
    if is_permutation { Ok(Permutation(dimensions)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each piece has the number of its first element, also behind the first one.
    #[test]
    fn large_arrays_come_in_pieces() {
        let rows = AT_ONCE / 2 + 7;
        let bytes = [1, 2, 3, 4].repeat(rows);
        let (mut expected, mut pieces) = (0, 0);
        let mut count = |first: u64, piece: &[u8]| {
            assert_eq!(first, expected);
            for (number, element) in (first..).zip(piece) {
                assert_eq!(u64::from(*element), number / rows as u64 + 1);
            }
            expected += piece.len() as u64;
            pieces += 1;
            Ok(())
        };
        assert!(each(&bytes, &[rows as u64, 4], 1, &[1, 0], &mut count).is_ok());
        assert_eq!((expected, pieces), (4 * rows as u64, 3));
    }

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
        assert_eq!(parse("0,2,3,1"), Ok(Permutation(vec![0, 2, 3, 1])));
        for wrong in ["", "0,0", "1,2", "0,1,3", "a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
