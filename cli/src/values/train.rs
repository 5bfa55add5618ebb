//! Computes the elements of a tensor train on demand: a train of a few kilobytes may represent more elements than any
//! memory holds.

use tenslice::{Error, blz};

/// The elements of a tensor train, in blocks: elements that share their first indices are computed together.
pub struct Elements<'a> {
    train: blz::Train<'a>,
    shape: Vec<u64>,
    /// The size of an element in bytes.
    size: u64,
    /// The largest bond dimension.
    bond: u64,
    scratch: Vec<u8>,
    /// The number of trailing dimensions in a block; the first indices of the current block; its elements.
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

    /// The work of computing all elements. Each element is a sum along a bond.
    pub fn work_of_all(&self) -> u64 {
        self.shape.iter().fold(self.size, |product, length| product.saturating_mul(*length)).saturating_mul(self.bond)
    }

    /// Chooses blocks for reading `wanted` indices in each dimension: as large as fit in `most` bytes, unless more than
    /// three quarters of a block would be computed in vain.
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

    /// Computes the block with the first indices `first`.
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
