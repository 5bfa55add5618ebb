//! Any bytes as a file that is verified.

use tenslice::File;

use crate::check;

pub fn run(bytes: &[u8]) {
    if let Ok(file) = File::open(bytes) {
        check::verify(&file, bytes);
    }
}
