//! Maps the elements of a tensor piece by piece, on all processors if the pieces can be read independently.

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tenslice::{ByteOrder, DType, Encoding, ReadOptions};

use super::number::lanes;
use super::{Origin, Values};
use crate::common::budget::Stop;
use crate::common::reading::to_little_endian;
use crate::common::text::hex;

/// The bytes of a piece. Results do not depend on the number of processors, because the pieces do not.
const PIECE: u64 = 1 << 20;

impl Values<'_> {
    /// Calls `f` with all elements, piece by piece in stored order. Returns the results in this order.
    pub fn map_pieces<T: Send>(&mut self, f: impl Fn(&[u8]) -> T + Send + Sync) -> Result<Vec<T>, Stop> {
        self.plan_all()?;
        if self.size == 0 || self.count == 0 {
            return Ok(Vec::new());
        }
        let (size, count) = (self.size, self.count);
        let at_once = (PIECE / size).max(1);
        if let Some(bytes) = self.in_memory() {
            self.budget.work(bytes.len() as u64)?;
            return Ok(bytes.par_chunks((at_once * size) as usize).map(f).collect());
        }
        let pieces = (0..count.div_ceil(at_once)).into_par_iter();
        let piece = |i: u64| (i * at_once, at_once.min(count - i * at_once));
        match &self.origin {
            Origin::Ranges(data, scratch) if scratch.is_empty() => {
                self.budget.work(count.saturating_mul(size))?;
                let read = |bytes: &mut Vec<u8>, i: u64| {
                    let (at, count) = piece(i);
                    bytes.resize((count * size) as usize, 0);
                    data.read_range_into(at * size, bytes, ReadOptions::new())?;
                    Ok(f(bytes))
                };
                pieces.map_init(Vec::new, read).collect()
            }
            Origin::Converted(tensor) => {
                self.budget.work(count.saturating_mul(size))?;
                let read = |(numbers, bytes): &mut (Vec<f32>, Vec<u8>), i: u64| {
                    let (at, count) = piece(i);
                    numbers.resize(count as usize, 0.0);
                    tensor.read_f32_range(at, numbers)?;
                    bytes.clear();
                    bytes.extend(numbers.iter().flat_map(|x| x.to_ne_bytes()));
                    Ok(f(bytes))
                };
                pieces.map_init(Default::default, read).collect()
            }
            _ => {
                let (mut all, mut bytes, mut at) = (Vec::new(), Vec::new(), 0);
                while at < count {
                    self.read(at, at_once.min(count - at), &mut bytes)?;
                    all.push(f(&bytes));
                    at += at_once;
                }
                Ok(all)
            }
        }
    }

    /// The SHA-256 of the elements in stored order: of numbers as little-endian, of others as stored.
    pub fn sha256(&mut self) -> Result<String, Stop> {
        self.plan_all()?;
        let size = self.dtype.map_or(1, |dtype| DType::lane_size(lanes(dtype).0));
        let (mut hash, mut bytes, mut at) = (Sha256::new(), Vec::new(), 0);
        while at < self.count {
            self.read(at, self.at_once(), &mut bytes)?;
            to_little_endian(&mut bytes, size);
            hash.update(&bytes);
            at += self.at_once();
        }
        Ok(hex(&hash.finalize()))
    }

    /// The bytes of all elements, if they are in memory or in the mapped file as they are needed.
    fn in_memory(&self) -> Option<&[u8]> {
        match &self.origin {
            Origin::Whole => Some(&self.window.1),
            Origin::Ranges(data, _) => {
                let is_native = data.byte_order() == ByteOrder::NATIVE
                    || self.dtype.is_none_or(|dtype| DType::lane_size(dtype) == 1);
                data.bytes().ok().filter(|_| is_native && data.encoding() == Encoding::Raw)
            }
            _ => None,
        }
    }
}
