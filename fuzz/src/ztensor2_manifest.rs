//! Any bytes as the manifest of a zTensor 2 file, with a correct hash: opened whole and in parts, checked with the
//! caller's memory, and listed completely.

use crate::check;
use crate::ztensor2::{self, MAGIC};

/// The manifest at 12288, after two pages of data. If `bytes` is a whole file, the file with its hash repaired.
pub(crate) fn file_of(bytes: &[u8]) -> Vec<u8> {
    if let Some(footer) = bytes.len().checked_sub(40).filter(|_| bytes.starts_with(MAGIC)) {
        let mut file = bytes.to_vec();
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let range = usize::try_from(number(footer)).ok().zip(usize::try_from(number(footer + 8)).ok());
        let manifest = range.and_then(|(at, length)| file.get(at..at.checked_add(length)?));
        if let Some(hash) = manifest.map(xxhash_rust::xxh3::xxh3_64) {
            file[footer + 16..footer + 24].copy_from_slice(&hash.to_le_bytes());
        }
        return file;
    }
    let mut data = MAGIC.to_vec();
    data.extend((8..12288).map(|i| (i % 251) as u8));
    ztensor2::finish(&data, bytes)
}

pub fn run(bytes: &[u8]) {
    let bytes = &file_of(bytes)[..];
    let Ok(file) = check::all(bytes) else { return };
    let view = file.as_ztensor2().unwrap();
    let shards = view.shards();
    assert_eq!(shards.error(), None);
    for shard in shards {
        assert!(shard.size >= 48 && !shard.name.is_empty() && !shard.name.starts_with('.'));
        let _ = view.check_shard(shard.name, bytes);
    }
    for component in file.tensors().flat_map(|tensor| tensor.components()) {
        assert!(component.extent().offset % 4096 == 0 && component.extent().offset > 0);
    }
}
