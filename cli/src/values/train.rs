//! The elements of a tensor train, computed as they are asked for: a train of a few kilobytes may stand for more elements
//! than any memory holds.

use tenslice::{Error, blz};

/// The elements of a tensor train, in blocks: those that share their first indices are computed together.
pub struct Elements<'a> {
    train: blz::Train<'a>,
    shape: Vec<u64>,
    /// Bytes of an element.
    size: u64,
    /// The largest bond dimension.
    bond: u64,
    scratch: Vec<u8>,
    /// Dimensions of a block, the last ones; the first indices of the block that is held, and its elements.
    free: usize,
    held: Option<Vec<u64>>,
    block: Vec<u8>,
}

impl<'a> Elements<'a> {
    pub fn new(blz: &blz::BlzFile<'a>, shape: &[u64], size: u64) -> Result<Self, Error> {
        let train = blz.train()?;
        let scratch = vec![0; usize::try_from(train.slice_scratch()).unwrap_or(usize::MAX)];
        let bond = blz.bond_dimensions().max().unwrap_or(1);
        Ok(Self { train, shape: shape.into(), size, bond, scratch, free: 0, held: None, block: Vec::new() })
    }

    /// The work of computing all elements: each is a sum along a bond.
    pub fn work_of_all(&self) -> u64 {
        self.shape.iter().fold(self.size, |product, length| product.saturating_mul(*length)).saturating_mul(self.bond)
    }

    /// Chooses blocks for reading so many indices in each dimension: as large as fit in `most` bytes, unless three quarters
    /// of a block would be computed in vain.
    pub fn plan(&mut self, wanted: &[u64], most: u64) {
        const IN_VAIN: u64 = 4;
        let (mut elements, mut used, mut free) = (1_u64, 1_u64, 0);
        for (length, wanted) in self.shape.iter().zip(wanted).rev() {
            elements = elements.saturating_mul(*length);
            used = used.saturating_mul(*wanted);
            if elements.saturating_mul(self.size) > most || elements > used.saturating_mul(IN_VAIN) {
                break;
            }
            free += 1;
        }
        (self.free, self.held) = (free, None);
    }

    /// The bytes of an element.
    pub fn at(&mut self, index: &[u64]) -> Result<&[u8], Error> {
        let (first, rest) = index.split_at(index.len().saturating_sub(self.free));
        if self.held.as_deref() != Some(first) {
            self.compute(first)?;
        }
        let lengths = &self.shape[first.len()..];
        let number = rest.iter().zip(lengths).fold(0, |number, (index, length)| number * length + index);
        let start = (number * self.size) as usize;
        Ok(&self.block[start..start + self.size as usize])
    }

    /// Computes the block with those first indices.
    fn compute(&mut self, first: &[u64]) -> Result<(), Error> {
        let fixed: Vec<Option<u64>> = first.iter().map(|index| Some(*index)).collect();
        self.held = None;
        let length = self.train.slice_length(&fixed).unwrap_or(u64::MAX);
        self.block.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        self.train.slice(&fixed, &mut self.block, &mut self.scratch)?;
        self.held = Some(first.to_vec());
        Ok(())
    }
}
