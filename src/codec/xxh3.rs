//! XXH3 of 64 bits, with the default secret and seed 0. The names of the primes are those of the XXH3 specification.
//!
//! This implementation takes 1.4 KB of Cortex-M4 flash; `xxhash-rust` takes 2.9 KB, and is as fast on hosts, where the
//! loop over the stripes is also vectorized here. The tests compare the two.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::bytes::num::to_u64;

/// The default secret.
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, //
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, //
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, //
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, //
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, //
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, //
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, //
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, //
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb, //
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, //
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, //
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e, //
];

const PRIME32_1: u64 = 0x9e37_79b1;
const PRIME32_2: u64 = 0x85eb_ca77;
const PRIME32_3: u64 = 0xc2b2_ae3d;
const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME64_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME64_5: u64 = 0x27d4_eb2f_1656_67c5;
const PRIME_MX1: u64 = 0x1656_6791_9e37_79f9;
const PRIME_MX2: u64 = 0x9fb2_1c65_1e98_df25;

/// The block size in which longer inputs are read.
const STRIPE: usize = 64;

/// The length of the longest input that is not read in stripes.
const LONGEST: usize = 240;

/// Returns the hash of `bytes`. Linear, 9 to 20 GB/s on a host; uses only the stack.
#[cfg_attr(small, inline(never))] // keeps the lanes off the stack of callers
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    if bytes.len() <= LONGEST {
        return hash_short(bytes);
    }
    let mut lanes = Lanes::START;
    lanes.add(bytes.split_last().map_or(&[], |(_, before)| before));
    bytes.last_chunk().map_or(0, |last| lanes.hash(last, to_u64(bytes.len())))
}

/// Returns the eight bytes at `at`.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the exclusive or of the two halves of the product.
#[cfg_attr(small, inline(never))]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(b.into());
    #[allow(clippy::as_conversions)] // the lower half of the bits
    let fold = (product ^ product >> 64) as u64;
    fold
}

/// Mixes 16 bytes with 16 bytes of the secret.
#[inline]
fn mix(block: &[u8], key: &[u8]) -> u64 {
    fold(word(block, 0) ^ word(key, 0), word(block, 8) ^ word(key, 8))
}

#[cfg_attr(small, inline(never))]
fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 37).wrapping_mul(PRIME_MX1);
    hash ^ hash >> 32
}

/// Returns the hash of up to [`LONGEST`] bytes.
#[inline(never)]
fn hash_short(bytes: &[u8]) -> u64 {
    let length = to_u64(bytes.len());
    // Both ends of the input, which meet or overlap.
    let quarters = |bytes: &[u8]| {
        let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
        Some((u32::from_le_bytes(*first), u32::from_le_bytes(*last)))
    };
    match length {
        0..=3 => {
            let mut hash = word(&SECRET, 56) ^ word(&SECRET, 64);
            if let ([first, ..], [.., last]) = (bytes, bytes) {
                let middle = bytes.get(bytes.len() >> 1).unwrap_or(last);
                let [length, ..] = length.to_le_bytes();
                let key = word(&SECRET, 0);
                hash = u64::from(u32::from_le_bytes([*last, length, *first, *middle]));
                hash ^= (key ^ key >> 32) & 0xffff_ffff;
            }
            hash = (hash ^ hash >> 33).wrapping_mul(PRIME64_2);
            hash = (hash ^ hash >> 29).wrapping_mul(PRIME64_3);
            hash ^ hash >> 32
        }
        4..=8 => {
            let (first, last) = quarters(bytes).unwrap_or_default();
            let mut hash = u64::from(first) << 32 | u64::from(last);
            hash ^= word(&SECRET, 8) ^ word(&SECRET, 16);
            hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
            hash = hash.wrapping_mul(PRIME_MX2);
            hash = (hash ^ (hash >> 35).wrapping_add(length)).wrapping_mul(PRIME_MX2);
            hash ^ hash >> 28
        }
        9..=16 => {
            let first = word(bytes, 0) ^ word(&SECRET, 24) ^ word(&SECRET, 32);
            let last = word(bytes, bytes.len().saturating_sub(8)) ^ word(&SECRET, 40) ^ word(&SECRET, 48);
            let hash = length.wrapping_add(first.swap_bytes()).wrapping_add(last).wrapping_add(fold(first, last));
            avalanche(hash)
        }
        #[cfg(not(small))]
        _ => hash_by_blocks(bytes, length),
        #[cfg(small)]
        _ => hash_by_places(bytes, length),
    }
}

/// Returns the hash of 17 to [`LONGEST`] bytes. Takes half the time of [`hash_by_places`], and more flash.
#[cfg(not(small))]
fn hash_by_blocks(bytes: &[u8], length: u64) -> u64 {
    if let Some((head, tail)) = bytes.split_at_checked(128).filter(|(_, tail)| !tail.is_empty()) {
        let hash = mixed(head, &SECRET).wrapping_add(length.wrapping_mul(PRIME64_1));
        let last = bytes.last_chunk::<16>().zip(SECRET.get(119..)).map_or(0, |(last, key)| mix(last, key));
        let tail = mixed(tail, SECRET.get(3..).unwrap_or_default());
        return avalanche(avalanche(hash).wrapping_add(tail).wrapping_add(last));
    }
    // From both ends to the middle, which the last two blocks may share.
    let (mut front, mut back, mut keys) = (bytes, bytes, SECRET.as_slice());
    let (mut hash, mut left) = (length.wrapping_mul(PRIME64_1), bytes.len());
    while left > 0 {
        let Some((first, after)) = front.split_first_chunk::<16>() else { break };
        let Some((before, last)) = back.split_last_chunk::<16>() else { break };
        let Some((key, later_keys)) = keys.split_first_chunk::<32>() else { break };
        let last_key = key.last_chunk::<16>().unwrap_or(last);
        hash = hash.wrapping_add(mix(first, key)).wrapping_add(mix(last, last_key));
        (front, back, keys, left) = (after, before, later_keys, left.saturating_sub(32));
    }
    avalanche(hash)
}

/// Returns the hash of 17 to [`LONGEST`] bytes, for chips.
#[cfg(any(small, test))]
fn hash_by_places(bytes: &[u8], length: u64) -> u64 {
    #[inline(never)]
    fn mix_at(bytes: &[u8], at: usize, key: usize) -> u64 {
        mix(bytes.get(at..).unwrap_or_default(), SECRET.get(key..).unwrap_or_default())
    }
    let mut hash = length.wrapping_mul(PRIME64_1);
    let last = bytes.len().saturating_sub(16);
    let is_long = length > 128;
    let mut at = 0_usize;
    // Whole blocks of 16 bytes from the front; up to 128 bytes only to the middle, with as many blocks from the end.
    while if is_long { at <= last } else { at.wrapping_mul(2) < bytes.len() } {
        if is_long {
            let key = if at < 128 { at } else { at.wrapping_sub(125) };
            hash = hash.wrapping_add(mix_at(bytes, at, key));
            if at == 112 {
                hash = avalanche(hash);
            }
        } else {
            let key = at.wrapping_mul(2);
            hash = hash.wrapping_add(mix_at(bytes, at, key));
            hash = hash.wrapping_add(mix_at(bytes, last.wrapping_sub(at), key.wrapping_add(16)));
        }
        at = at.wrapping_add(16);
    }
    if is_long {
        hash = hash.wrapping_add(mix_at(bytes, last, 119));
    }
    avalanche(hash)
}

/// Returns the sum of all whole blocks of 16 bytes, mixed.
#[cfg(not(small))]
fn mixed(mut bytes: &[u8], mut keys: &[u8]) -> u64 {
    let mut sum = 0_u64;
    // Not a loop over chunks: vectorized, it would take twice as long, since vectors have no such products.
    while let (Some((block, after)), Some((key, keys_after))) =
        (bytes.split_first_chunk::<16>(), keys.split_first_chunk::<16>())
    {
        sum = sum.wrapping_add(mix(block, key));
        (bytes, keys) = (after, keys_after);
    }
    sum
}

/// The state after the stripes read so far.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Lanes {
    lanes: [u64; 8],
    /// The position of the next stripe's key in the secret.
    key: u64,
}

impl Lanes {
    const START: Self = Self {
        lanes: [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1],
        key: 0,
    };

    /// Reads the whole stripes of `bytes`.
    #[inline(never)] // is vectorized only if separate from code that reads single lanes
    fn add(&mut self, bytes: &[u8]) {
        let Self { mut lanes, key } = *self;
        let [key, ..] = key.to_le_bytes(); // the secret is shorter than 256 bytes
        let mut keys = SECRET.get(usize::from(key)..).unwrap_or(&SECRET);
        let mut rest = bytes;
        while let (Some((stripe, after)), Some(key)) = (rest.split_first_chunk(), keys.first_chunk()) {
            rest = after;
            read_stripe(&mut lanes, stripe, key);
            keys = keys.get(8..).unwrap_or_default();
            if keys.len() == STRIPE {
                // The end of a block.
                for (lane, key) in lanes.iter_mut().zip(keys.chunks_exact(8)) {
                    *lane = (*lane ^ *lane >> 47 ^ word(key, 0)).wrapping_mul(PRIME32_1);
                }
                keys = &SECRET;
            }
        }
        *self = Self { lanes, key: to_u64(SECRET.len().wrapping_sub(keys.len())) };
    }

    /// Returns the hash of `length` bytes. The lanes contain the stripes before the end; `last` are the last [`STRIPE`]
    /// bytes.
    #[inline(always)] // programs that verify nothing have only one of the two callers
    fn hash(&mut self, last: &[u8; STRIPE], length: u64) -> u64 {
        if let Some(key) = SECRET.get(121..).and_then(<[u8]>::first_chunk) {
            read_stripe(&mut self.lanes, last, key);
        }
        let keys = SECRET.get(11..).unwrap_or_default().chunks_exact(16);
        let mut hash = length.wrapping_mul(PRIME64_1);
        for (pair, key) in self.lanes.chunks_exact(2).zip(keys) {
            if let [a, b] = pair {
                hash = hash.wrapping_add(fold(a ^ word(key, 0), b ^ word(key, 8)));
            }
        }
        avalanche(hash)
    }
}

/// Reads a stripe into the lanes.
#[cfg_attr(small, inline(never))]
fn read_stripe(lanes: &mut [u64; 8], stripe: &[u8; STRIPE], key: &[u8; STRIPE]) {
    let product = |word: u64| (word & 0xffff_ffff).wrapping_mul(word >> 32);
    for ((pair, words), key) in lanes.chunks_exact_mut(2).zip(stripe.chunks_exact(16)).zip(key.chunks_exact(16)) {
        if let [a, b] = pair {
            let (x, y) = (word(words, 0), word(words, 8));
            *a = a.wrapping_add(y).wrapping_add(product(x ^ word(key, 0)));
            *b = b.wrapping_add(x).wrapping_add(product(y ^ word(key, 8)));
        }
    }
}

/// The maximum number of bytes held back until more bytes follow; a short input is held back entirely.
const HELD: usize = 256;

/// The hash of bytes that arrive in parts. It has no padding, so that it can be kept in memory of the caller.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Running {
    lanes: Lanes,
    length: u64,
    /// The number of bytes at the start of `held` that are the latest input, which the lanes do not contain yet. The
    /// end of `held` has the input before them.
    count: u64,
    held: [u8; HELD],
}

impl Running {
    pub(crate) const fn new() -> Self {
        Self { lanes: Lanes::START, length: 0, count: 0, held: [0; HELD] }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.length = self.length.wrapping_add(to_u64(bytes.len()));
        let mut rest = bytes;
        let mut held = self.held_count();
        while !rest.is_empty() {
            if held == HELD {
                self.lanes.add(&self.held);
                held = 0;
            }
            // Whole stripes are read without a copy, except for the last.
            let whole = rest.len().saturating_sub(1) & !STRIPE.wrapping_sub(1);
            if let (0, HELD.., Some((stripes, after))) = (held, whole, rest.split_at_checked(whole)) {
                self.lanes.add(stripes);
                let before = self.held.iter_mut().rev().zip(stripes.iter().rev().take(STRIPE));
                before.for_each(|(held, byte)| *held = *byte);
                rest = after;
            }
            let free = self.held.get_mut(held..).unwrap_or_default();
            let count = free.len().min(rest.len());
            free.iter_mut().zip(rest).for_each(|(held, byte)| *held = *byte);
            held = held.saturating_add(count);
            rest = rest.get(count..).unwrap_or_default();
        }
        self.count = to_u64(held);
    }

    /// Returns `count`, at most [`HELD`] whatever the memory contains.
    fn held_count(&self) -> usize {
        let [low, high, ..] = self.count.to_le_bytes();
        usize::from(u16::from_le_bytes([low, high])).min(HELD)
    }

    pub(crate) fn hash(&self) -> u64 {
        let held = self.held.get(..self.held_count()).unwrap_or_default();
        if self.length <= to_u64(LONGEST) {
            return hash_short(held);
        }
        let mut lanes = self.lanes;
        lanes.add(held.split_last().map_or(&[], |(_, before)| before));
        // The last bytes. If too few bytes are held, bytes that are already in the lanes precede them.
        let mut last = [0; STRIPE];
        let bytes = held.iter().rev().chain(self.held.iter().rev());
        last.iter_mut().rev().zip(bytes).for_each(|(last, byte)| *last = *byte);
        lanes.hash(&last, self.length)
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use xxhash_rust::xxh3::xxh3_64;

    use super::hash;

    /// Digests in files of the reference implementation.
    #[test]
    fn known_values() {
        assert_eq!(hash(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(hash(&[0xab; 8]), 0xf88e_5e79_bd7c_033d);
        assert_eq!(hash(&[1; 16]), 0xa741_31e6_2938_d20e);
    }

    /// Pseudorandom bytes.
    fn bytes(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn of_chips() {
        let all = bytes(super::LONGEST);
        for length in 17..=super::LONGEST {
            assert_eq!(super::hash_by_places(&all[..length], length as u64), xxh3_64(&all[..length]), "{length}");
        }
    }

    /// Every length through three blocks of stripes, and around the end of a later block.
    #[test]
    fn of_any_length() {
        let all = bytes(70_000);
        for length in (0..=3200).chain(65_530..65_610) {
            assert_eq!(hash(&all[..length]), xxh3_64(&all[..length]), "{length}");
            let end = &all[all.len() - length..];
            assert_eq!(hash(end), xxh3_64(end), "{length}");
        }
    }

    #[test]
    fn in_parts() {
        use super::Running;
        let all = bytes(5000);
        for length in 0..=1100 {
            for part in [1, 7, 63, 64, 65, 240, 255, 256, 257, 320, 321, 1024, 1100] {
                let mut running = Running::new();
                all[..length].chunks(part).for_each(|part| running.add(part));
                assert_eq!(running.hash(), xxh3_64(&all[..length]), "{length} {part}");
            }
        }
        // Parts of all lengths, one after the other, and the hash of the bytes added so far.
        for step in 1..400 {
            let (mut running, mut at) = (Running::new(), 0);
            for count in (0..).step_by(step) {
                let end = all.len().min(at + count);
                running.add(&all[at..end]);
                assert_eq!(running.hash(), xxh3_64(&all[..end]), "{step} {end}");
                at = end;
                if at == all.len() {
                    break;
                }
            }
        }
    }
}
