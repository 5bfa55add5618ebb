//! Any bytes, once as a file whose tensors are read in every way, and once as a compressed stream.

use tenslice::{BuiltIn, Decoder, Encoding, File};

use crate::check;

pub fn run(bytes: &[u8]) {
    stream(bytes);
    if let Ok(file) = File::open(bytes) {
        file.tensors().for_each(|tensor| check::read(&tensor));
    }
}

/// The first two bytes are the length of the destination, the rest is the stream.
fn stream(bytes: &[u8]) {
    let Some((room, stream)) = bytes.split_first_chunk::<2>() else { return };
    let room = usize::from(u16::from_le_bytes(*room));
    for encoding in [Encoding::Zstd, Encoding::Zlib, Encoding::Deflate] {
        let mut room = vec![0; room];
        if let Ok(length) = BuiltIn::default().decode(encoding, stream, &mut room) {
            assert!(length <= room.len());
        }
    }
}
