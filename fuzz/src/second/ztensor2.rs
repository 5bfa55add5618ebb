//! Compares the crate `ztensor` 2.1.1, the reference implementation of zTensor 2, with ours. The differences are
//! those of `tests/reference/ztensor2.rs`.

#[path = "../../../tests/support/ztensor2_reference.rs"]
#[allow(dead_code)] // some of it is only for the tests of the library
mod both;

use std::sync::LazyLock;

use ztensor::Vocabulary;

use super::open_and_check;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::standard);

/// Uses any bytes as a file, and as the manifest of a file with a correct hash, since hardly any input would get past
/// the hash.
pub fn run(bytes: &[u8]) {
    compare(bytes);
    compare(&crate::ztensor2_manifest::file_of(bytes));
}

/// Compares the outcomes of both readers for a file.
fn compare(bytes: &[u8]) {
    if !bytes.starts_with(b"\x89ZT2\r\n\x1a\n") {
        return; // ours also opens other formats
    }
    if let both::Verdict::Unexplained(text) = both::judge(bytes, &VOCABULARY) {
        panic!("{text}");
    }
}
