//! Blosc2 frames: arrays of any grid, with chunks that are copied, special, repeated values, or compressed, shuffled
//! and split; and frames without an array, with blocks of different lengths. What was made is read back by chunk,
//! whole, and in regions. Or one thing is broken: in a chunk (its length is then corrected), in the table of offsets,
//! or anywhere.

use tenslice::{File, ReadOptions};

use crate::check;
use crate::choices::Choices;
use crate::frames::{self, Chunk, Frame, NOT_SPLIT, ZSTD};
use crate::objects;

const LZ4: u8 = 1 << 5;

struct Made {
    /// Shape, chunk shape and block shape. Empty without an array.
    shape: Vec<u64>,
    chunk_shape: Vec<u32>,
    block_shape: Vec<u32>,
    /// The elements of the array, row-major, one byte each.
    elements: Vec<u8>,
    /// For each chunk: its decoded bytes, its stored bytes, and the table entry if nothing is stored.
    chunks: Vec<(Vec<u8>, Vec<u8>, Option<u64>)>,
}

/// Calls `f` with every index inside of `shape`, row-major.
fn each(shape: &[u64], mut f: impl FnMut(&[u64])) {
    let mut at = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        f(&at);
        for (i, length) in at.iter_mut().zip(shape).rev() {
            *i = (*i + 1) % length;
            if *i > 0 {
                break;
            }
        }
    }
}

fn shuffle(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut result = bytes.to_vec();
    for element in 0..count {
        for byte in 0..width {
            result[byte * count + element] = bytes[element * width + byte];
        }
    }
    result
}

/// A stream with its length: zeros, a run, raw, or compressed to another length.
fn stream(choices: &mut Choices<'_>, codec: u8, bytes: &[u8]) -> Vec<u8> {
    let is_run = bytes.iter().all(|byte| *byte == bytes[0]);
    match choices.below(3) {
        0 if is_run && bytes[0] == 0 => return vec![0; 4],
        0 if is_run => return [&(-i32::from(bytes[0])).to_le_bytes()[..], &[1]].concat(),
        1 => {
            let coded = if codec == ZSTD {
                // With smaller blocks the headers alone would exceed the limit for a stream.
                objects::zstd_frame(bytes, 3 + choices.below(62))
            } else {
                lz4_flex::block::compress(bytes)
            };
            // A stream as long as its content would be read as raw.
            if coded.len() != bytes.len() {
                return [&(coded.len() as u32).to_le_bytes()[..], &coded].concat();
            }
        }
        _ => {}
    }
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// Blocks of one length, each with one stream or one for each byte of an element.
fn compressed(choices: &mut Choices<'_>, bytes: &[u8], block: usize) -> Vec<u8> {
    let codec = choices.of(&[LZ4, ZSTD]);
    let typesize = choices.of(&[1, 2, 4, 8, 3]);
    let is_shuffled = choices.below(2) == 0;
    // The last block may be shorter, and is then not split.
    let is_split = block.is_multiple_of(typesize) && choices.below(2) == 0;
    let (mut places, mut all) = (Vec::new(), Vec::new());
    let count = bytes.len().div_ceil(block);
    for part in bytes.chunks(block) {
        places.extend((32 + 4 * count + all.len()).to_le_bytes()[..4].iter());
        let filtered = if is_shuffled { shuffle(part, typesize) } else { part.to_vec() };
        let length = if is_split && part.len() == block { block / typesize } else { part.len() };
        filtered.chunks(length).for_each(|part| all.extend(stream(choices, codec, part)));
    }
    let chunk = Chunk {
        length: bytes.len() as u32,
        block_size: block as u32,
        typesize: typesize as u8,
        flags: codec | if is_split { 0 } else { NOT_SPLIT },
        filters: [0, 0, 0, 0, 0, is_shuffled.into()],
        payload: &[places, all].concat(),
        ..Chunk::default()
    };
    chunk.bytes()
}

/// Stores a chunk. Also returns its table entry if only the table describes it.
fn stored(choices: &mut Choices<'_>, bytes: &[u8], block: usize) -> (Vec<u8>, Option<u64>) {
    let is_one = bytes.iter().all(|byte| *byte == bytes[0]);
    match choices.below(5) {
        0 if is_one && bytes[0] == 0 => (Vec::new(), Some(choices.of(&[0x81 << 56, 0x84 << 56]))),
        1 if is_one => (frames::repeated(&bytes[..1], bytes.len() as u32), None),
        1 if bytes.len().is_multiple_of(2) && bytes.chunks(2).all(|pair| pair == &bytes[..2]) => {
            (frames::repeated(&bytes[..2], bytes.len() as u32), None)
        }
        2 => (frames::copied(bytes), None),
        _ => (compressed(choices, bytes, block), None),
    }
}

impl Made {
    fn array(choices: &mut Choices<'_>) -> Self {
        let rank = 1 + choices.below(4);
        let shape: Vec<u64> = (0..rank).map(|_| 1 + choices.below(6) as u64).collect();
        let chunk_shape: Vec<u32> = (0..rank).map(|_| 1 + choices.below(4) as u32).collect();
        let mut part_of = |length: &u32| 1 + choices.below(*length as usize) as u32;
        let block_shape: Vec<u32> = chunk_shape.iter().map(&mut part_of).collect();
        let count = shape.iter().product::<u64>() as usize;
        let (seed, kind) = (choices.any::<u8>(), choices.below(4));
        let elements: Vec<u8> = (0..count)
            .map(|i| match kind {
                0 => seed & 1,
                1 => if i > count / 2 { seed } else { 0 },
                2 => seed.wrapping_add((i / 5) as u8),
                _ => seed.wrapping_mul((i * i) as u8).wrapping_add((i >> 3) as u8),
            })
            .collect();
        // Blocks at the end of a chunk are padded, and so are chunks at the end of the array.
        let of = |lengths: &[u32]| lengths.iter().map(|length| u64::from(*length)).collect::<Vec<u64>>();
        let (chunk, block) = (of(&chunk_shape), of(&block_shape));
        let grid = |whole: &[u64], part: &[u64]| -> Vec<u64> {
            whole.iter().zip(part).map(|(whole, part)| whole.div_ceil(*part)).collect()
        };
        let mut contents = Vec::new();
        each(&grid(&shape, &chunk), |chunk_at| {
            let mut bytes = Vec::new();
            each(&grid(&chunk, &block), |block_at| {
                each(&block, |at| {
                    let mut place = Some(0);
                    for d in 0..rank {
                        let in_chunk = block_at[d] * block[d] + at[d];
                        let i = chunk_at[d] * chunk[d] + in_chunk;
                        place = place.filter(|_| in_chunk < chunk[d] && i < shape[d]).map(|place| place * shape[d] + i);
                    }
                    bytes.push(place.map_or(0, |place| elements[place as usize]));
                });
            });
            contents.push(bytes);
        });
        let size = block.iter().product::<u64>() as usize;
        let chunks = contents
            .into_iter()
            .map(|bytes| {
                let (stored, place) = stored(choices, &bytes, size);
                (bytes, stored, place)
            })
            .collect();
        Self { shape, chunk_shape, block_shape, elements, chunks }
    }

    /// Without an array: chunks of different lengths, and blocks.
    fn plain(choices: &mut Choices<'_>) -> Self {
        let chunks = (0..1 + choices.below(4))
            .map(|_| {
                let seed = choices.any::<u8>();
                let bytes: Vec<u8> = (0..1 + choices.below(60)).map(|i| seed.wrapping_mul(i as u8)).collect();
                let stored = if choices.below(2) == 0 {
                    let blocks: Vec<&[u8]> = bytes.chunks(1 + choices.below(20)).collect();
                    frames::of_variable_blocks(&blocks)
                } else {
                    frames::copied(&bytes)
                };
                (bytes, stored, None)
            })
            .collect();
        Self { shape: Vec::new(), chunk_shape: Vec::new(), block_shape: Vec::new(), elements: Vec::new(), chunks }
    }

    /// The frame. `change` may change the table.
    fn frame(&self, choices: &mut Choices<'_>, change: impl FnOnce(&mut Choices<'_>, &mut Vec<u8>)) -> Vec<u8> {
        let (mut chunks, mut table) = (Vec::new(), Vec::new());
        for (_, stored, place) in &self.chunks {
            table.extend(place.unwrap_or(chunks.len() as u64).to_le_bytes());
            chunks.extend(stored);
        }
        change(choices, &mut table);
        let is_one = table.len() == 8;
        let table = match choices.below(3) {
            0 if is_one => frames::repeated(&table, 8),
            1 if !table.is_empty() => {
                let block = table.len();
                let length = table.len() as u32;
                let chunk = Chunk { length, block_size: block as u32, flags: NOT_SPLIT, ..Chunk::default() };
                frames::of_streams(chunk, &[&table])
            }
            _ => frames::copied(&table),
        };
        let array = (!self.shape.is_empty()).then_some((&self.shape[..], &self.chunk_shape[..], &self.block_shape[..]));
        let length = self.chunks.iter().map(|(bytes, ..)| bytes.len() as u64).sum();
        let chunk_length = if array.is_some() { self.chunks[0].0.len() as u32 } else { 0 };
        Frame { chunks: &chunks, table: &table, length, chunk_length, array, ..Frame::default() }.bytes()
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut made = if choices.one_in(4) { Made::plain(&mut choices) } else { Made::array(&mut choices) };
    let mut file = made.frame(&mut choices, |_, _| {});
    if choices.is_sound {
        compare(&check::sound(&file), &made);
        return crate::frame::run(&file);
    }
    match choices.below(4) {
        0 | 1 => {
            let which = choices.below(made.chunks.len());
            let stored = &mut made.chunks[which].1;
            choices.damage(stored);
            let length = (stored.len() as u32).to_le_bytes();
            if let Some(field) = stored.get_mut(12..16) {
                field.copy_from_slice(&length);
            }
            file = made.frame(&mut choices, |_, _| {});
        }
        2 => {
            file = made.frame(&mut choices, |choices, table| {
                let length = table.len();
                choices.damage(table);
                table.resize(length, 0);
            });
        }
        _ => choices.damage(&mut file),
    }
    let _ = check::all(&file);
    crate::frame::run(&file);
}

fn compare(file: &File<'_>, made: &Made) {
    let frame = file.as_b2nd().unwrap();
    assert_eq!(frame.chunk_count(), made.chunks.len() as u64);
    for (index, (bytes, ..)) in (0..).zip(&made.chunks) {
        let chunk = frame.chunk(index, ReadOptions::new()).unwrap();
        let mut room = vec![0x66; bytes.len()];
        let mut scratch = vec![0x99; chunk.scratch_length() as usize];
        assert_eq!(chunk.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap(), bytes);
    }
    if !made.shape.is_empty() {
        let tensor = file.find("").unwrap();
        assert_eq!(tensor.shape(), made.shape[..]);
        assert_eq!(check::dense(&tensor).unwrap(), made.elements);
    }
}
