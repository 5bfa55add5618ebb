//! The crate `safetensors` 0.8.0, the reference implementation, beside ours. The differences are those of
//! `tests/reference.rs`, which says how each is told: what takes its cause away makes the file the same to both.

#[path = "../../../tests/support/safetensors_reference.rs"]
mod both;

use super::open_and_check;

/// Any bytes as a file; as a header, of which the first byte is how much data follows; and as choices from which two files
/// are made, of which one is valid.
pub fn run(bytes: &[u8]) {
    compare(bytes);
    crate::safetensors::files(bytes).iter().for_each(|file| compare(file));
    let Some((length, header)) = bytes.split_first() else { return };
    let size = (header.len() as u64).to_le_bytes();
    compare(&[&size[..], header, &vec![0; (*length).into()]].concat());
}

/// Compares what both make of a file.
fn compare(bytes: &[u8]) {
    if let both::Verdict::Unexplained(text) = both::judge(bytes) {
        panic!("{text}");
    }
}
