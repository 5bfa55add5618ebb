//! TENS files.

/// The header and the dimensions of a file of one `u8` per element.
fn head(is_sparse: bool, dimensions: &[(u32, u8)]) -> Vec<u8> {
    let mut bytes = b"TENS\0\0\x01\0uint\x01\0\0\0\x01\0\0\0".to_vec();
    bytes.extend((dimensions.len() as u32).to_le_bytes());
    bytes.extend([u8::from(is_sparse), 0, 0, 0, 0, 0, 0, 0]);
    for (length, name) in dimensions {
        bytes.extend(length.to_le_bytes());
        bytes.extend([*name, 0, 0, 0]);
    }
    bytes
}

/// A dense file with these dimensions, after these chunks.
fn dense(dimensions: &[(u32, u8)], chunks: &[u8]) -> Vec<u8> {
    let volume: usize = dimensions.iter().map(|(length, _)| *length as usize).product();
    let padded = volume.next_multiple_of(8);
    [&head(false, dimensions)[..], chunks, b"DENSDATA", &(padded as u64 + 16).to_le_bytes(), &vec![0; padded]]
        .concat()
}

fn symmetry(map: &[u8]) -> Vec<u8> {
    let mut chunk = b"SYMMETRY".to_vec();
    chunk.extend(((18 + 1 + map.len()).next_multiple_of(8) as u64).to_le_bytes());
    chunk.extend([0, 1, b'x']);
    chunk.extend(map);
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    chunk
}

/// Symmetries of two dimensions.
pub fn symmetries(size: usize) -> Vec<u8> {
    dense(&[(2, b'a'), (2, b'b')], &symmetry(b"ba").repeat(size))
}

/// Twenty symmetries of `size` dimensions, which share names.
pub fn wide_symmetries(size: usize) -> Vec<u8> {
    let names: Vec<u8> = (0..size).map(|i| i as u8).collect();
    let dimensions: Vec<_> = names.iter().map(|name| (1, *name)).collect();
    dense(&dimensions, &symmetry(&names).repeat(20))
}

/// Chunks of an unknown kind.
pub fn chunks(size: usize) -> Vec<u8> {
    dense(&[(2, b'a')], &[&b"UNKNOWN!"[..], &[24, 0, 0, 0, 0, 0, 0, 0], &[7; 8]].concat().repeat(size))
}

/// Chunks, the last of which has a length that is not a multiple of 4.
pub fn spoiled(size: usize) -> Vec<u8> {
    let chunk = [&b"UNKNOWN!"[..], &[24, 0, 0, 0, 0, 0, 0, 0], &[7; 8]].concat();
    let bad = [&b"UNKNOWN!"[..], &[17, 0, 0, 0, 0, 0, 0, 0]].concat();
    dense(&[(2, b'a')], &[chunk.repeat(size), bad].concat())
}

pub fn dimensions(size: usize) -> Vec<u8> {
    dense(&vec![(1, b'a'); size], &[])
}

pub fn data(size: usize) -> Vec<u8> {
    dense(&[(size as u32, b'a')], &[])
}

/// Pairs in descending order.
pub fn pairs(size: usize) -> Vec<u8> {
    let mut bytes = head(true, &[(size as u32, b'a')]);
    bytes.extend((size as u64).to_le_bytes());
    (0..size as u64).rev().for_each(|i| bytes.extend([&i.to_le_bytes()[..], &[7]].concat()));
    bytes
}

/// `size` dimensions and `size` pairs.
pub fn wide_pairs(size: usize) -> Vec<u8> {
    let dimensions: Vec<_> = (0..size).map(|i| (if i == 0 { size as u32 } else { 1 }, b'a')).collect();
    let mut bytes = head(true, &dimensions);
    bytes.extend((size as u64).to_le_bytes());
    (0..size as u64).for_each(|i| bytes.extend([&i.to_le_bytes()[..], &[7]].concat()));
    bytes
}
