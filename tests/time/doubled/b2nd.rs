//! Blosc2 frames.

use crate::support::frames::{Chunk, Frame, NOT_SPLIT, all_first, copied, of_streams, of_variable_blocks, repeated};

/// `size` copies of one chunk of `size` blocks, all but the last of which are empty.
pub fn shared_blocks(size: usize) -> Vec<u8> {
    let bytes = vec![7; size];
    let mut blocks: Vec<&[u8]> = vec![&[]; size - 1];
    blocks.push(&bytes);
    let (chunks, table) = (of_variable_blocks(&blocks), all_first(size as u32));
    Frame { chunks: &chunks, table: &table, length: (size * size) as u64, ..Frame::default() }.bytes()
}

/// `size` copies of one chunk of one byte, in a frame that states no chunk length.
pub fn one_chunk_again_and_again(size: usize) -> Vec<u8> {
    let (chunks, table) = (copied(&[7]), all_first(size as u32));
    Frame { chunks: &chunks, table: &table, length: size as u64, ..Frame::default() }.bytes()
}

/// `size` periods of `size` chunks, all but the last of which are empty: more chunks than bytes.
pub fn empty_chunks(size: usize) -> Vec<u8> {
    let chunks = [copied(&[]), copied(&[7])].concat();
    let mut turn = vec![0; 8 * size];
    turn[8 * size - 8] = copied(&[]).len() as u8;
    let table = repeated(&turn, (8 * size * size) as u32);
    Frame { chunks: &chunks, table: &table, length: (size * size) as u64, ..Frame::default() }.bytes()
}

/// 100 elements, each the first one of a row of `size` bytes, which is a run of one byte.
pub fn padding(size: usize) -> Vec<u8> {
    let size = size as u32;
    let row = Chunk {
        length: size,
        block_size: size,
        flags: NOT_SPLIT,
        payload: &[36, 0, 0, 0, 0, 0, 0, 0],
        ..Chunk::default()
    };
    let (chunks, table) = (row.bytes(), all_first(100));
    let array = Some((&[100, 1][..], &[1, size][..], &[1, size][..]));
    Frame {
        chunks: &chunks,
        table: &table,
        length: 100 * u64::from(size),
        chunk_length: size,
        array,
        ..Frame::default()
    }
    .bytes()
}

/// Consecutive chunks of one byte, with a table of as many offsets, and with or without a common chunk length.
fn own_chunks(size: usize, chunk_length: u32) -> Vec<u8> {
    let one = copied(&[7]);
    let table: Vec<u8> = (0..size).flat_map(|i| ((i * one.len()) as u64).to_le_bytes()).collect();
    let (chunks, table) = (one.repeat(size), copied(&table));
    Frame { chunks: &chunks, table: &table, length: size as u64, chunk_length, ..Frame::default() }.bytes()
}

pub fn chunks(size: usize) -> Vec<u8> {
    own_chunks(size, 1)
}

pub fn chunks_of_own_lengths(size: usize) -> Vec<u8> {
    own_chunks(size, 0)
}

/// A chunk of `size` blocks, each with its own stream.
pub fn blocks(size: usize) -> Vec<u8> {
    filtered(&vec![&[7; 8][..]; size], 8, [0; 6])
}

/// A block that uses the largest number of filters.
pub fn filters(size: usize) -> Vec<u8> {
    filtered(&[&vec![7; size]], size as u32, [1, 1, 1, 1, 1, 1])
}

/// A chunk of these blocks of `block_size` bytes.
fn filtered(streams: &[&[u8]], block_size: u32, filters: [u8; 6]) -> Vec<u8> {
    let length = block_size * streams.len() as u32;
    let chunk = Chunk { length, block_size, flags: NOT_SPLIT, filters, ..Chunk::default() };
    let (chunks, table) = (of_streams(chunk, streams), all_first(1));
    Frame { chunks: &chunks, table: &table, length: length.into(), chunk_length: length, ..Frame::default() }.bytes()
}

/// Sixteen metalayers of `size` bytes each, in the header and in the trailer.
pub fn metalayers(size: usize) -> Vec<u8> {
    let (content, chunk) = (vec![7; size], copied(&vec![7; size]));
    let names: Vec<String> = (0..16).map(|i| format!("{i}")).collect();
    let all: Vec<_> = names.iter().map(|name| (&name[..], &content[..])).collect();
    let variable: Vec<_> = names.iter().map(|name| (&name[..], &chunk[..])).collect();
    let (chunks, table) = (copied(&[7]), all_first(1));
    let frame = Frame { chunks: &chunks, table: &table, length: 1, chunk_length: 1, ..Frame::default() };
    Frame { metalayers: &all, variable_metalayers: &variable, ..frame }.bytes()
}

/// Metalayers, one of which is repeated.
pub fn spoiled(size: usize) -> Vec<u8> {
    let content = vec![7; size];
    let (chunks, table) = (copied(&[7]), all_first(1));
    let all = [("a", &content[..]), ("b", &content), ("a", &content)];
    Frame { chunks: &chunks, table: &table, length: 1, chunk_length: 1, metalayers: &all, ..Frame::default() }.bytes()
}
