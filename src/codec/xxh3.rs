//! XXH3 of 64 bits, with the default secret and seed 0.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// Returns the hash of `bytes`. Linear; no memory but 64 bytes of stack.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// Those of the text, and one of a file that the reference implementation wrote.
    #[test]
    fn known_values() {
        assert_eq!(hash(b""), 0x2d06_8005_38d3_94c2);
    }
}
