//! Compares the crate `safetensors` 0.8.0, the reference implementation, with ours. The differences are those of
//! `tests/reference/safetensors.rs`. Each is recognized by removing its cause, after which both must agree.

#[path = "../../../tests/support/safetensors_reference.rs"]
#[allow(dead_code)] // some of it is only for the tests of the library
mod both;

use super::open_and_check;

/// Uses any bytes as a file; as a header, whose first byte is the length of the data; and as choices from which two
/// files are made, one of them valid.
pub fn run(bytes: &[u8]) {
    compare(bytes);
    crate::safetensors::files(bytes).iter().for_each(|file| compare(file));
    let Some((length, header)) = bytes.split_first() else { return };
    let size = (header.len() as u64).to_le_bytes();
    compare(&[&size[..], header, &vec![0; (*length).into()]].concat());
}

/// Compares the outcomes of both readers for a file.
fn compare(bytes: &[u8]) {
    if let both::Verdict::Unexplained(text) = both::judge(bytes) {
        panic!("{text}");
    }
}
