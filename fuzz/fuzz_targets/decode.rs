//! Any bytes, once as a file whose tensors are made dense, and once as a compressed stream. What is read
//! has the size that was promised, and no sparse index leads outside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenslice::{BuiltIn, Component, Decoder, Encoding, ErrorKind, File};

const LARGEST: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    stream(bytes);
    let Ok(file) = File::open(bytes) else { return };
    for tensor in file.tensors() {
        for component in tensor.components() {
            let length = component.decoded_length().unwrap_or(4096);
            let mut room = vec![0; length.min(LARGEST) as usize];
            match component.read_into(&mut room) {
                Ok(decoded) => {
                    assert!(component.decoded_length().is_none_or(|n| n == decoded.len() as u64));
                    ranges(&component, decoded, bytes);
                }
                Err(error) => assert!(error.kind() != ErrorKind::TooSmall || length > LARGEST || component.decoded_length().is_none()),
            }
        }
        let mut scratch = vec![0; tensor.scratch_length().unwrap_or(1 << 16).min(LARGEST) as usize];
        if let Ok(sparse) = tensor.sparse(&mut scratch) {
            let shape: Vec<u64> = sparse.shape().iter().collect();
            assert_eq!(sparse.iter().count() as u64, sparse.stored());
            for entry in &sparse {
                for (dimension, length) in (0..).zip(&shape) {
                    assert!(entry.index(dimension).unwrap() < *length);
                }
                assert_eq!(sparse.dtype().size(), Some(entry.bytes().unwrap().len() as u64));
            }
        }
        let Some(length) = tensor.dense_length().filter(|length| *length <= LARGEST) else { continue };
        let mut room = vec![0; length as usize];
        if let Ok(dense) = tensor.read_into(&mut room, &mut scratch) {
            assert_eq!(dense.len() as u64, length);
        }
    }
});

/// A range is a part of the whole, wherever it is.
fn ranges(component: &Component<'_>, whole: &[u8], bytes: &[u8]) {
    let Some(length) = component.range_scratch_length() else { return };
    let mut scratch = vec![0; length as usize];
    let lane = component.dtype().map_or(1, |dtype| dtype.lane_size());
    for two in bytes.chunks_exact(2).take(8) {
        let start = usize::from(two[0]) * whole.len() / 256 / lane * lane;
        let length = usize::from(two[1]) * (whole.len() - start) / 255 / lane * lane;
        let mut part = vec![0; length];
        component.read_range_into(start as u64, &mut part, &mut scratch).unwrap();
        assert_eq!(part, whole[start..start + length]);
    }
}

/// The first two bytes are the room, the others the stream.
fn stream(bytes: &[u8]) {
    let Some((room, stream)) = bytes.split_first_chunk::<2>() else { return };
    let mut room = vec![0; usize::from(u16::from_le_bytes(*room))];
    if let Ok(length) = BuiltIn::default().decode(Encoding::Zstd, stream, &mut room) {
        assert!(length <= room.len());
    }
}
