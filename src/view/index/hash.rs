//! The hash of a name, by which an index finds it.
#![forbid(unsafe_code)]

use crate::bytes::num::to_u64;
use crate::bytes::text::Text;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const LAST_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Returns the hash of the decoded name, in UTF-8.
pub(crate) fn hash_of(seed: u64, name: Text<'_>) -> u64 {
    if name.is_escaped() { escaped_hash(seed, name) } else { hash(seed, name.raw()) }
}

/// Returns the hash of bytes.
#[inline]
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    match bytes.last_chunk() {
        Some(last) => long_hash(seed, bytes, last),
        None => short_hash(seed, bytes),
    }
}

/// Returns the hash of bytes, sixteen at a time; `last` are the last sixteen bytes.
#[inline]
pub(super) fn long_hash(seed: u64, bytes: &[u8], last: &[u8; 16]) -> u64 {
    let (mut hash, mut rest) = (Hash::new(seed), bytes);
    // Excludes the last sixteen bytes, so that the number of rounds depends less on the length.
    while let Some((block, after)) = rest.split_first_chunk().filter(|(_, after)| !after.is_empty()) {
        hash.add(u128::from_le_bytes(*block));
        rest = after;
    }
    hash.add(u128::from_le_bytes(*last)); // may repeat some bytes
    hash.finish(to_u64(bytes.len()))
}

#[inline(never)]
pub(super) fn short_hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = Hash::new(seed);
    hash.add(short(bytes));
    hash.finish(to_u64(bytes.len()))
}

/// Returns fewer than sixteen bytes as the highest bytes of a 16-byte number.
fn short(bytes: &[u8]) -> u128 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return bytes.iter().fold(0, |before, byte| last_sixteen(before, *byte));
    };
    // For eight bytes or more: the last eight bytes, and the first bytes that are not among the last eight.
    let others = u32::try_from(bytes.len()).map_or(0, |length| 128_u32.wrapping_sub(length << 3));
    let low = u64::from_le_bytes(*first).checked_shl(others).unwrap_or(0);
    u128::from(u64::from_le_bytes(*last)) << 64 | u128::from(low)
}

/// Drops the lowest byte of a 16-byte number and appends `byte` as the highest byte.
#[inline]
fn last_sixteen(before: u128, byte: u8) -> u128 {
    before >> 8 | u128::from(byte) << 120
}

/// Returns the hash of a name that has escapes, character by character.
#[inline(never)]
fn escaped_hash(seed: u64, name: Text<'_>) -> u64 {
    let (mut hash, mut last, mut length) = (Hash::new(seed), 0_u128, 0_u64);
    for character in name.chars() {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            if length & 15 == 0 && length > 0 {
                hash.add(last);
            }
            last = last_sixteen(last, byte);
            length = length.wrapping_add(1);
        }
    }
    hash.add(last);
    hash.finish(length)
}

/// Two hashes, one of the even words and one of the odd words: a processor computes both in parallel. Both start from
/// the seed.
struct Hash(u64, u64);

impl Hash {
    #[inline]
    const fn new(seed: u64) -> Self {
        Self(seed, seed ^ FACTOR)
    }

    #[inline]
    fn add(&mut self, block: u128) {
        let [low, high] = [block, block >> 64].map(|word| word & u128::from(u64::MAX));
        let word = |word| u64::try_from(word).unwrap_or(0);
        *self = Self(mixed(self.0, word(low)), mixed(self.1, word(high)));
    }

    #[inline]
    const fn finish(&self, length: u64) -> u64 {
        // Mixes the first hash once more: otherwise a byte that differs in both hashes may cancel out.
        let hash = (mixed(mixed(self.0, 0), self.1) ^ length).wrapping_mul(LAST_FACTOR);
        hash ^ hash >> 32
    }
}

#[inline]
const fn mixed(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(FACTOR).rotate_left(32)
}

/// Names that were crafted to have certain hashes.
#[cfg(test)]
pub(crate) mod crafted {
    use std::prelude::v1::*;

    use super::{FACTOR, LAST_FACTOR, mixed};

    pub(crate) struct Random(pub(crate) u64);

    impl Random {
        pub(crate) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 ^ self.0 >> 29
        }
    }

    /// Returns the multiplicative inverse of `factor`.
    fn inverse(factor: u64) -> u64 {
        // Newton's method: each step doubles the number of correct bits.
        (0..6).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
    }

    /// Returns a name of 16 bytes with the hash `hash` for the seed `seed`: the second half cancels the first half.
    pub(crate) fn name_of_hash(seed: u64, hash: u64, random: &mut Random) -> String {
        let mixed_last = (hash ^ hash >> 32).wrapping_mul(inverse(LAST_FACTOR)) ^ 16;
        let states = mixed_last.rotate_right(32).wrapping_mul(inverse(FACTOR));
        loop {
            let first = random.next() & 0x7f7f_7f7f_7f7f_7f7f;
            let other = mixed(mixed(seed, first), 0) ^ states;
            let second = other.rotate_right(32).wrapping_mul(inverse(FACTOR)) ^ seed ^ FACTOR;
            let bytes = [first.to_le_bytes(), second.to_le_bytes()].concat();
            if let Some(name) = String::from_utf8(bytes).ok().filter(|name| name.is_ascii()) {
                assert_eq!(super::hash(seed, name.as_bytes()), hash);
                return name;
            }
        }
    }

    /// Returns names that all have the same hash for the seed `seed`.
    pub(crate) fn colliding(seed: u64, count: usize) -> Vec<String> {
        let mut random = Random(1);
        (0..count).map(|_| name_of_hash(seed, 0x2545_f491_4f6c_dd1d, &mut random)).collect()
    }
}
