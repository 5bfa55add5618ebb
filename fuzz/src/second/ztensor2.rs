//! The crate `ztensor` 2.1.1, the reference implementation of zTensor 2, beside ours. The differences are those of
//! `tests/ztensor2_reference.rs`.

#[path = "../../../tests/support/ztensor2_reference.rs"]
mod both;

use std::sync::LazyLock;

use ztensor::Vocabulary;

use super::open_and_check;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::standard);

/// Any bytes as a file, and as the manifest of one, whose hash is made right: else hardly any comes as far as that.
pub fn run(bytes: &[u8]) {
    compare(bytes);
    compare(&crate::ztensor2_manifest::file_of(bytes));
}

/// Compares what both make of a file.
fn compare(bytes: &[u8]) {
    if !bytes.starts_with(b"\x89ZT2\r\n\x1a\n") {
        return; // ours also opens other formats
    }
    if let both::Verdict::Unexplained(text) = both::judge(bytes, &VOCABULARY) {
        panic!("{text}");
    }
}
