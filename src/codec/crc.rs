//! CRC-32C and CRC-32. CRC-32C uses the CRC instructions of x86-64 and ARMv8 if the machine has them, otherwise tables.
//!
//! The functions that use the instructions are safe on machines that have them. Only their calls, in one function, are
//! unsafe. The tests compare all implementations. Miri, which does not support the instructions, runs the tables only.

/// Hosts use large tables; chips need the flash more.
#[cfg(not(small))]
type Tables = crc::Table<16>;
#[cfg(small)]
type Tables = crc::Table<1>;

type Crc = crc::Crc<u32, Tables>;

#[cfg(feature = "crc32c")]
static CRC_32C: Crc = Crc::new(&crc::CRC_32_ISCSI);
#[cfg(all(feature = "crc32", any(feature = "npz", feature = "pytorch")))]
static CRC_32: Crc = Crc::new(&crc::CRC_32_ISO_HDLC);

/// Returns the CRC-32C, as in zTensor.
#[cfg(feature = "crc32c")]
pub(crate) fn crc32c(data: &[u8]) -> u32 {
    #[cfg(all(
        any(
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_feature = "neon")
        ),
        not(miri)
    ))]
    if let Some(sum) = instructions::crc32c(data) {
        return sum;
    }
    by_tables(&CRC_32C, data)
}

/// Returns the CRC-32C of `data` after bytes whose CRC-32C is `sum`; 0 for no bytes.
#[cfg(all(feature = "crc32c", feature = "write"))]
pub(crate) fn crc32c_after(sum: u32, data: &[u8]) -> u32 {
    #[cfg(all(
        any(
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_feature = "neon")
        ),
        not(miri)
    ))]
    if let Some(sum) = instructions::crc32c_after(sum, data) {
        return sum;
    }
    by_tables_after(&CRC_32C, sum, data)
}

/// Continues a checksum with tables. Reads sixteen bytes at a time, a length for which the crate's loop has no panic
/// path; the remaining bytes are read one by one.
#[cfg(any(not(small), feature = "write"))]
fn by_tables_after(tables: &'static Crc, sum: u32, data: &[u8]) -> u32 {
    // Both checksums are reflected and inverted.
    let mut digest = tables.digest_with_initial((sum ^ u32::MAX).reverse_bits());
    let mut blocks = data.chunks_exact(16);
    for block in &mut blocks {
        if let Ok(block) = <&[u8; 16]>::try_from(block) {
            digest.update(block);
        }
    }
    blocks.remainder().iter().for_each(|byte| digest.update(core::slice::from_ref(byte)));
    digest.finalize()
}

/// Returns the CRC-32, as in ZIP archives.
#[cfg(all(feature = "crc32", any(feature = "npz", feature = "pytorch")))]
pub(crate) fn crc32(data: &[u8]) -> u32 {
    by_tables(&CRC_32, data)
}

/// Returns the CRC-32 of `data` after bytes whose CRC-32 is `sum`; 0 for no bytes.
#[cfg(all(feature = "crc32", feature = "npz", feature = "write"))]
pub(crate) fn crc32_after(sum: u32, data: &[u8]) -> u32 {
    by_tables_after(&CRC_32, sum, data)
}

/// Computes a checksum with tables.
#[cfg(not(small))]
fn by_tables(tables: &'static Crc, data: &[u8]) -> u32 {
    by_tables_after(tables, 0, data)
}

#[cfg(small)]
fn by_tables(tables: &'static Crc, data: &[u8]) -> u32 {
    tables.checksum(data)
}

/// CRC-32C with the instruction that adds eight bytes to a sum. Each instruction waits three cycles for the previous
/// one. Therefore the bytes are split into three parts, whose sums are computed in parallel and then combined by a
/// carry-less multiplication.
#[cfg(all(
    feature = "crc32c",
    any(all(target_arch = "x86_64", target_feature = "sse2"), all(target_arch = "aarch64", target_feature = "neon")),
    not(miri)
))]
mod instructions {
    #[cfg(target_arch = "aarch64")]
    use core::arch::aarch64::{__crc32cb, __crc32cd, vmull_p64};
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi32_si128, _mm_cvtsi128_si64,
    };

    use zerocopy::FromBytes;
    use zerocopy::little_endian::U64;

    use crate::codec::cpu::{has_carryless_product, has_crc32c};

    /// Returns the sum, or `None` if the machine does not have the instructions.
    pub(super) fn crc32c(data: &[u8]) -> Option<u32> {
        crc32c_after(0, data)
    }

    /// Returns the sum of `data` after bytes with the sum `before`, or `None` as above.
    pub(super) fn crc32c_after(before: u32, data: &[u8]) -> Option<u32> {
        let state = before ^ u32::MAX;
        let (has_sum, has_product) = (has_crc32c(), has_carryless_product());
        if has_sum && has_product {
            // SAFETY: the machine has both instructions, and the function needs nothing else.
            Some(unsafe { by_three(state, data) } ^ u32::MAX)
        } else if has_sum {
            // SAFETY: the machine has the instruction, and the function needs nothing else.
            Some(unsafe { one_by_one(state, data) } ^ u32::MAX)
        } else {
            None
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc,aes"))]
    fn by_three(sum: u32, data: &[u8]) -> u32 {
        let (sum, rest) = blocks::<512>(sum, data);
        let (sum, rest) = blocks::<32>(sum, rest);
        one_by_one(sum, rest)
    }

    /// Adds all whole blocks of three times `WORDS` words, and returns the sum and the remaining bytes.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc,aes"))]
    fn blocks<const WORDS: usize>(mut sum: u32, mut data: &[u8]) -> (u32, &[u8]) {
        let (twice, once) = const { (zeros(WORDS, 2), zeros(WORDS, 1)) };
        while let Ok(([first, second, third], rest)) = <[[U64; WORDS]; 3]>::ref_from_prefix(data) {
            let (mut second_sum, mut third_sum) = (0, 0);
            for ((first, second), third) in first.iter().zip(second).zip(third) {
                sum = add_word(sum, first.get());
                second_sum = add_word(second_sum, second.get());
                third_sum = add_word(third_sum, third.get());
            }
            sum = add_word(0, product(sum, twice) ^ product(second_sum, once)) ^ third_sum;
            data = rest;
        }
        (sum, data)
    }

    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
    fn one_by_one(mut sum: u32, data: &[u8]) -> u32 {
        let mut words = data.chunks_exact(8);
        for word in &mut words {
            sum = add_word(sum, U64::read_from_bytes(word).map_or(0, U64::get));
        }
        for byte in words.remainder() {
            sum = add_byte(sum, *byte);
        }
        sum
    }

    /// Returns the factor that appends `times * words` words of zeros to a sum: x to the power of their number of bits,
    /// minus the 33 bits that [`product`] and [`add_word`] add. The highest power is in the lowest bit.
    const fn zeros(words: usize, times: usize) -> u32 {
        let mut left = words.saturating_mul(64).saturating_mul(times).saturating_sub(33);
        let mut power = 1_u32 << 31;
        while left > 0 {
            let carry = if power & 1 == 1 { 0x82f6_3b78 } else { 0 };
            power = power >> 1 ^ carry;
            left = left.saturating_sub(1);
        }
        power
    }

    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
    fn add_word(sum: u32, word: u64) -> u32 {
        #[cfg(target_arch = "x86_64")]
        {
            // The upper half of the result is zero.
            let [a, b, c, d, ..] = _mm_crc32_u64(sum.into(), word).to_le_bytes();
            u32::from_le_bytes([a, b, c, d])
        }
        #[cfg(target_arch = "aarch64")]
        __crc32cd(sum, word)
    }

    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
    fn add_byte(sum: u32, byte: u8) -> u32 {
        #[cfg(target_arch = "x86_64")]
        return _mm_crc32_u8(sum, byte);
        #[cfg(target_arch = "aarch64")]
        __crc32cb(sum, byte)
    }

    /// Returns the product of two polynomials, not reduced.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2,pclmulqdq"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc,aes"))]
    fn product(one: u32, other: u32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            let [one, other] = [one, other].map(|factor| _mm_cvtsi32_si128(factor.cast_signed()));
            _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(one, other)).cast_unsigned()
        }
        #[cfg(target_arch = "aarch64")]
        {
            // The product fits in 63 bits.
            let [low @ .., _, _, _, _, _, _, _, _] = vmull_p64(one.into(), other.into()).to_le_bytes();
            u64::from_le_bytes(low)
        }
    }

    /// Returns the sums of all implementations that this machine supports.
    #[cfg(test)]
    pub(super) fn all(data: &[u8]) -> std::vec::Vec<u32> {
        let (has_sum, has_product) = (has_crc32c(), has_carryless_product());
        let mut sums = std::vec::Vec::new();
        if has_sum {
            // SAFETY: the machine has the instruction.
            sums.push(unsafe { one_by_one(u32::MAX, data) } ^ u32::MAX);
        }
        if has_sum && has_product {
            // SAFETY: the machine has both instructions.
            sums.push(unsafe { by_three(u32::MAX, data) } ^ u32::MAX);
        }
        sums
    }
}

#[cfg(all(test, feature = "digest"))]
mod tests {
    use super::*;

    /// Compares all implementations that this machine supports with a bitwise one.
    fn compare(data: &[u8]) {
        static BITS: crc::Crc<u32, crc::NoTable> = crc::Crc::<u32, crc::NoTable>::new(&crc::CRC_32_ISCSI);
        let sum = BITS.checksum(data);
        let at = data.as_ptr().addr() & 63;
        assert_eq!(crc32c(data), sum, "{} bytes at {at}", data.len());
        assert_eq!(by_tables(&CRC_32C, data), sum, "by tables, {} bytes at {at}", data.len());
        #[cfg(feature = "write")]
        for (first, second) in [0, 1, 7, 100, data.len()].iter().filter_map(|at| data.split_at_checked(*at)) {
            assert_eq!(crc32c_after(crc32c_after(0, first), second), sum, "{} and {}", first.len(), second.len());
            let by_tables = by_tables_after(&CRC_32C, by_tables_after(&CRC_32C, 0, first), second);
            assert_eq!(by_tables, sum, "by tables, {} and {}", first.len(), second.len());
        }
        #[cfg(all(
            any(
                all(target_arch = "x86_64", target_feature = "sse2"),
                all(target_arch = "aarch64", target_feature = "neon")
            ),
            not(miri)
        ))]
        for (way, found) in instructions::all(data).into_iter().enumerate() {
            assert_eq!(found, sum, "way {way}, {} bytes at {at}", data.len());
        }
        #[cfg(any(feature = "npz", feature = "pytorch"))]
        {
            static BITS: crc::Crc<u32, crc::NoTable> = crc::Crc::<u32, crc::NoTable>::new(&crc::CRC_32_ISO_HDLC);
            let sum = BITS.checksum(data);
            assert_eq!(crc32(data), sum, "CRC-32, {} bytes at {at}", data.len());
            #[cfg(feature = "write")]
            for (first, second) in [0, 1, 7, 100, data.len()].iter().filter_map(|at| data.split_at_checked(*at)) {
                assert_eq!(crc32_after(crc32_after(0, first), second), sum, "{} and {}", first.len(), second.len());
            }
        }
    }

    /// Pseudorandom bytes (xorshift).
    fn random(length: usize) -> std::vec::Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn check_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa); // RFC 3720, B.4
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        #[cfg(any(feature = "npz", feature = "pytorch"))]
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    /// Every length up to beyond the shorter blocks, at every address within a word.
    #[test]
    fn short_lengths_at_all_alignments() {
        let most = if cfg!(miri) { 64 } else { 1024 };
        let data = random(most + 8);
        for start in 0..8 {
            for length in 0..=most {
                compare(&data[start..start + length]);
            }
        }
    }

    /// Lengths around the longer blocks, and many blocks with every remainder.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn long_lengths() {
        let data = random(100_000);
        for blocks in [1, 2, 7] {
            for around in 0..=32 {
                compare(&data[blocks..][..blocks * 3 * 4096 + around - 16]);
            }
        }
        for start in 0..64 {
            compare(&data[start..data.len() - start * 769]);
        }
    }
}
