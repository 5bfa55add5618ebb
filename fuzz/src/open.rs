//! Any bytes: opened whole and in parts, and listed completely. Both ways give the same result.

use crate::check;

pub fn run(bytes: &[u8]) {
    let Ok(file) = check::open(bytes) else { return };
    for tensor in file.tensors() {
        if let (Ok(data), Some(dtype), Some(elements)) = (tensor.data(), tensor.dtype(), tensor.shape().element_count())
            && let Ok(bytes) = data.bytes()
        {
            // Indexing by the shape stays inside of the bytes.
            assert_eq!(dtype.byte_length(elements), Some(bytes.len() as u64));
        }
    }
}
