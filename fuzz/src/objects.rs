//! Tensors of any layout with the components that the layout requires, independent of a format.

use tenslice::{DType, Tensor};

use crate::check;
use crate::choices::Choices;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Dense,
    Csr,
    Coo,
    /// Components of any roles.
    Other,
}

/// A component, in little-endian order.
pub struct Stored {
    pub role: &'static str,
    pub dtype: DType,
    pub bytes: Vec<u8>,
}

pub struct Object {
    pub kind: Kind,
    pub shape: Vec<u64>,
    pub dtype: DType,
    pub parts: Vec<Stored>,
    /// The elements, if they are known.
    pub dense: Option<Vec<u8>>,
    /// The coordinates and values of a sparse tensor.
    pub entries: Vec<(Vec<u64>, Vec<u8>)>,
}

impl Object {
    /// Makes a tensor with elements of one of `dtypes` and indices of one of `indices`.
    pub fn new(choices: &mut Choices<'_>, kind: Kind, dtypes: &[DType], indices: &[DType]) -> Self {
        let dtype = choices.of(dtypes);
        let rank = if kind == Kind::Csr { 2 } else { choices.below(4) };
        let shape: Vec<u64> = (0..rank).map(|_| choices.below(5) as u64).collect();
        let count: u64 = shape.iter().product();
        let seed = choices.any::<u8>();
        let value = |dtype: DType, k: usize, count: u64| -> Vec<u8> {
            let length = dtype.byte_length(count).unwrap() as usize;
            let bytes = (0..length).map(|i| seed.wrapping_add((k * 31 + i * i) as u8));
            // Booleans are 0 and 1.
            bytes.map(|byte| if dtype == DType::BOOL { byte & 1 } else { byte }).collect()
        };
        let mut made = Self { kind, shape, dtype, parts: Vec::new(), dense: None, entries: Vec::new() };
        match kind {
            Kind::Dense => {
                let mut bytes = value(dtype, 0, count);
                if let Some(last) = bytes.last_mut().filter(|_| dtype == DType::F4_E2M1 && count % 2 == 1) {
                    *last &= 0xf; // half of the last byte is unused
                }
                made.dense = Some(bytes.clone());
                made.parts.push(Stored { role: "data", dtype, bytes });
            }
            Kind::Other => {
                for role in ["alpha", "data", "indices", "zeta"] {
                    if choices.below(2) == 0 {
                        let dtype = choices.of(dtypes);
                        let bytes = value(dtype, 0, 2 * choices.below(5) as u64);
                        made.parts.push(Stored { role, dtype, bytes });
                    }
                }
                if made.parts.is_empty() {
                    made.parts.push(Stored { role: "only", dtype, bytes: Vec::new() });
                }
            }
            Kind::Csr | Kind::Coo => {
                let index = choices.of(indices);
                made.sparse(choices, index, |k| value(dtype, k, 1));
            }
        }
        made
    }

    fn sparse(&mut self, choices: &mut Choices<'_>, index: DType, value: impl Fn(usize) -> Vec<u8>) {
        let size = self.dtype.size().unwrap();
        let count: u64 = self.shape.iter().product();
        for place in 0..count {
            if choices.below(3) == 0 {
                let mut rest = place;
                let mut at: Vec<u64> =
                    self.shape.iter().rev().map(|length| (rest % length, rest /= length).0).collect();
                at.reverse();
                self.entries.push((at, value(self.entries.len())));
            }
        }
        let wide = |number: u64| number.to_le_bytes()[..index.size().unwrap() as usize].to_vec();
        if self.kind == Kind::Csr {
            let mut pointers = wide(0);
            for row in 0..self.shape[0] {
                pointers.extend(wide(self.entries.iter().filter(|(at, _)| at[0] <= row).count() as u64));
            }
            let columns = self.entries.iter().flat_map(|(at, _)| wide(at[1])).collect();
            self.parts.push(Stored { role: "indices", dtype: index, bytes: columns });
            self.parts.push(Stored { role: "indptr", dtype: index, bytes: pointers });
        } else {
            if choices.below(2) == 0 {
                self.entries.reverse(); // in any order
            }
            let coordinates =
                (0..self.shape.len()).flat_map(|d| self.entries.iter().flat_map(move |(at, _)| wide(at[d])));
            let coordinates = coordinates.collect();
            self.parts.push(Stored { role: "coords", dtype: index, bytes: coordinates });
        }
        let values = self.entries.iter().flat_map(|(_, value)| value.clone()).collect();
        self.parts.push(Stored { role: "values", dtype: self.dtype, bytes: values });
        let mut dense = vec![0; (count * size) as usize];
        for (at, value) in &self.entries {
            let place = at.iter().zip(&self.shape).fold(0, |place, (at, length)| place * length + at);
            dense[(place * size) as usize..][..size as usize].copy_from_slice(value);
        }
        self.dense = Some(dense);
    }

    /// Compares the elements, in the byte order in which they were made.
    pub fn compare(&self, tensor: &Tensor<'_>) {
        assert_eq!(tensor.shape(), self.shape[..]);
        if let Some(dense) = &self.dense {
            assert_eq!(tensor.dtype(), Some(self.dtype));
            let lane = self.dtype.lane_size();
            let found = check::dense(tensor).unwrap();
            if cfg!(target_endian = "big") {
                assert!(found.chunks(lane).flat_map(|lane| lane.iter().rev()).eq(dense));
            } else {
                assert_eq!(&found, dense);
            }
        }
    }
}

/// The SHA-256 digest, as both versions of zTensor spell it.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let mut text = String::from("sha256:");
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    sha2::Sha256::digest(bytes).iter().for_each(|byte| text.extend([digit(byte >> 4), digit(byte & 15)]));
    text
}

/// A Zstandard frame with a checksum: stored blocks and runs of at most `block` bytes.
pub fn zstd_frame(content: &[u8], block: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd];
    // A single segment. The length of the content is in one byte, or in two bytes that start at 256.
    match content.len() {
        length @ 0..256 => frame.extend([0x24, length as u8]),
        length => {
            frame.push(0x64);
            frame.extend((length as u16 - 256).to_le_bytes());
        }
    }
    let mut blocks: Vec<&[u8]> = content.chunks(block).collect();
    if blocks.is_empty() {
        blocks.push(&[]);
    }
    for (k, block) in blocks.iter().enumerate() {
        let is_run = block.len() > 1 && block.iter().all(|byte| *byte == block[0]);
        let head = u32::from(k + 1 == blocks.len()) | u32::from(is_run) << 1 | (block.len() as u32) << 3;
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(if is_run { &block[..1] } else { block });
    }
    frame.extend((xxhash_rust::xxh64::xxh64(content, 0) as u32).to_le_bytes());
    frame
}
