//! Digests: CRC-32C, SHA-256 and XXH3, as zTensor spells them, and the CRC-32 of archives. Every digest is parsed; it
//! is computed only if its algorithm is built in.
#![forbid(unsafe_code)]

/// A digest, as stated in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digest {
    Crc32c(u32),
    #[cfg(any(feature = "npz", feature = "pytorch"))]
    Crc32(u32),
    Sha256([u8; 32]),
    #[cfg(feature = "ztensor2")]
    Xxh3(u64),
}

/// The result of parsing the spelling of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DigestSpec {
    Known(Digest),
    /// A known kind with the wrong number of digits.
    Invalid,
    /// An unknown kind.
    Unknown,
}

/// Returns whether a digest is of a known kind, by its prefix. The digits are parsed when the digest is verified.
pub(crate) fn is_of_known_kind(text: &[u8]) -> bool {
    KNOWN_KINDS.iter().any(|kind| text.starts_with(kind))
}

/// The prefixes of known kinds.
const KNOWN_KINDS: [&[u8]; 3] = [CRC32C, CRC32C_UPPER, SHA256];
const CRC32C: &[u8] = b"crc32c:0x";
const CRC32C_UPPER: &[u8] = b"crc32c:0X";
const SHA256: &[u8] = b"sha256:";

/// Parses `crc32c:0x` with 8 hexadecimal digits, or `sha256:` with 64, in upper or lower case (1.0 section 4.3). The
/// reference readers also accept `0x` before a SHA-256, and reject a CRC-32C without it.
pub(crate) fn spelled(text: &[u8]) -> DigestSpec {
    let known = |digest: Option<Digest>| digest.map_or(DigestSpec::Invalid, DigestSpec::Known);
    if let Some(digits) = text.strip_prefix(CRC32C).or_else(|| text.strip_prefix(CRC32C_UPPER)) {
        known(bytes::<4>(digits).map(|bytes| Digest::Crc32c(u32::from_be_bytes(bytes))))
    } else if let Some(digits) = text.strip_prefix(SHA256) {
        let digits = digits.strip_prefix(b"0x").or_else(|| digits.strip_prefix(b"0X")).unwrap_or(digits);
        known(bytes::<32>(digits).map(Digest::Sha256))
    } else {
        DigestSpec::Unknown
    }
}

/// Parses a digest of zTensor 2: `xxh3:` with 16 hexadecimal digits or `sha256:` with 64, in lower case (section 3.4).
#[cfg(feature = "ztensor2")]
pub(crate) fn spelled_strictly(text: &[u8]) -> DigestSpec {
    let known = if let Some(digits) = text.strip_prefix(b"xxh3:") {
        bytes::<8>(digits).map(|bytes| Digest::Xxh3(u64::from_be_bytes(bytes)))
    } else if let Some(digits) = text.strip_prefix(SHA256) {
        bytes::<32>(digits).map(Digest::Sha256)
    } else {
        return DigestSpec::Unknown;
    };
    let is_upper = text.iter().fold(false, |is_upper, byte| is_upper | byte.is_ascii_uppercase());
    known.filter(|_| !is_upper).map_or(DigestSpec::Invalid, DigestSpec::Known)
}

/// Parses two hexadecimal digits per byte.
fn bytes<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let pairs = digits.chunks_exact(2);
    let mut is_valid = pairs.len() == N && pairs.remainder().is_empty();
    // Has no branch for each of up to 64 digits.
    let digit = |digit: u8| (digit & 0xf).wrapping_add((digit >> 6).wrapping_mul(9));
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        if let &[high, low] = pair {
            is_valid &= high.is_ascii_hexdigit() & low.is_ascii_hexdigit();
            *byte = digit(high) << 4 | digit(low) & 0xf;
        }
    }
    is_valid.then_some(bytes)
}

impl Digest {
    /// Returns whether `self` is the digest of `data`; false if the algorithm is not [built in](Self::is_built_in).
    pub(crate) fn is_of(&self, data: &[u8]) -> bool {
        let _ = data; // unused if nothing is built in
        match self {
            #[cfg(feature = "crc32c")]
            Self::Crc32c(sum) => crate::codec::crc::crc32c(data) == *sum,
            #[cfg(all(feature = "crc32", any(feature = "npz", feature = "pytorch")))]
            Self::Crc32(sum) => crate::codec::crc::crc32(data) == *sum,
            #[cfg(feature = "sha256")]
            Self::Sha256(sum) => <sha2::Sha256 as sha2::Digest>::digest(data)[..] == sum[..],
            #[cfg(feature = "ztensor2")]
            Self::Xxh3(sum) => super::xxh3::hash(data) == *sum,
            #[cfg(not(all(
                feature = "crc32c",
                feature = "sha256",
                any(feature = "crc32", not(any(feature = "npz", feature = "pytorch")))
            )))]
            _ => false,
        }
    }

    /// True if the algorithm is built in: each algorithm has a feature, except XXH3, which its format enables.
    pub(crate) const fn is_built_in(&self) -> bool {
        match self {
            Self::Crc32c(_) => cfg!(feature = "crc32c"),
            #[cfg(any(feature = "npz", feature = "pytorch"))]
            Self::Crc32(_) => cfg!(feature = "crc32"),
            Self::Sha256(_) => cfg!(feature = "sha256"),
            #[cfg(feature = "ztensor2")]
            Self::Xxh3(_) => true,
        }
    }
}

/// A digest computed over parts, one after the other.
#[cfg(feature = "ztensor2")]
#[allow(clippy::large_enum_variant)] // on the stack, since there is no heap
pub(crate) enum Running {
    Xxh3(super::xxh3::Running),
    #[cfg(feature = "sha256")]
    Sha256(sha2::Sha256),
    /// Another kind, which decoded bytes never have, or a kind that is not built in.
    Other,
}

#[cfg(feature = "ztensor2")]
impl Running {
    /// Creates an empty digest of the same kind as `digest`.
    pub(crate) fn like(digest: &Digest) -> Self {
        match digest {
            Digest::Xxh3(_) => Self::Xxh3(super::xxh3::Running::new()),
            #[cfg(feature = "sha256")]
            Digest::Sha256(_) => Self::Sha256(sha2::Digest::new()),
            _ => Self::Other,
        }
    }

    pub(crate) fn add(&mut self, data: &[u8]) {
        match self {
            Self::Xxh3(running) => running.add(data),
            #[cfg(feature = "sha256")]
            Self::Sha256(running) => sha2::Digest::update(running, data),
            Self::Other => {}
        }
    }

    /// Returns whether `digest` is the digest of all bytes added.
    pub(crate) fn is(self, digest: &Digest) -> bool {
        match (self, digest) {
            (Self::Xxh3(running), Digest::Xxh3(sum)) => running.hash() == *sum,
            #[cfg(feature = "sha256")]
            (Self::Sha256(running), Digest::Sha256(sum)) => sha2::Digest::finalize(running)[..] == sum[..],
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        assert_eq!(spelled(b"crc32c:0x0000ABcd"), DigestSpec::Known(Digest::Crc32c(0xabcd)));
        assert_eq!(spelled(b"crc32c:0X0000abcd"), DigestSpec::Known(Digest::Crc32c(0xabcd)));
        for prefix in ["", "0x", "0X"] {
            let text = std::format!("sha256:{prefix}{}", "aB".repeat(32));
            assert_eq!(spelled(text.as_bytes()), DigestSpec::Known(Digest::Sha256([0xab; 32])), "{text}");
        }
        for invalid in [
            "crc32c:0x",
            "crc32c:0x123",
            "crc32c:0x123456789",
            "crc32c:0x1234567g",
            "crc32c:0x+1234567",
            "sha256:",
            "sha256:00",
        ] {
            assert_eq!(spelled(invalid.as_bytes()), DigestSpec::Invalid, "{invalid}");
        }
        for unknown in ["", "crc32c:12345678", "CRC32C:0x12345678", "md5:00", "sha256"] {
            assert_eq!(spelled(unknown.as_bytes()), DigestSpec::Unknown, "{unknown}");
        }
    }

    #[cfg(all(feature = "ztensor2", feature = "sha256"))]
    #[test]
    fn spellings_of_version_2() {
        assert_eq!(spelled_strictly(b"xxh3:00000000000ab0cd"), DigestSpec::Known(Digest::Xxh3(0xab0cd)));
        let sha256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let DigestSpec::Known(digest) = spelled_strictly(sha256.as_bytes()) else { panic!() };
        assert!(digest.is_of(b""));
        for invalid in [
            "xxh3:",
            "xxh3:0",
            "xxh3:00000000000AB0CD",
            "xxh3:0000000000000ab0cd",
            "xxh3:0x000000000ab0cd",
            "xxh3:+0000000000ab0cd",
            "sha256:00",
            &sha256.to_uppercase().replace("SHA", "sha"),
        ] {
            assert_eq!(spelled_strictly(invalid.as_bytes()), DigestSpec::Invalid, "{invalid}");
        }
        for unknown in ["", ":", "xxh3", "XXH3:00000000000ab0cd", "crc32c:0x00000000", "blake3:00"] {
            assert_eq!(spelled_strictly(unknown.as_bytes()), DigestSpec::Unknown, "{unknown}");
        }
    }

    /// In parts of any length, and in one part.
    #[cfg(all(feature = "ztensor2", feature = "sha256"))]
    #[test]
    fn running_digests() {
        let data: std::vec::Vec<u8> = (0..5000_u32).map(|i| ((i * i) >> 7) as u8).collect();
        for length in [0, 1, 16, 240, 241, 1024, 5000] {
            let data = &data[..length];
            let xxh3 = Digest::Xxh3(crate::codec::xxh3::hash(data));
            let sha256 = Digest::Sha256(<sha2::Sha256 as sha2::Digest>::digest(data).into());
            for digest in [xxh3, sha256] {
                for part in [1, 63, 64, 255, 256, 257, 1 << 20] {
                    let mut running = Running::like(&digest);
                    data.chunks(part).for_each(|part| running.add(part));
                    assert!(running.is(&digest), "{length} by {part}");
                }
                // A digest of one kind never equals a digest of another kind.
                for kind in [&xxh3, &sha256, &Digest::Crc32c(0)].into_iter().filter(|kind| **kind != digest) {
                    let mut running = Running::like(kind);
                    running.add(data);
                    assert!(!running.is(&digest), "{kind:?} {digest:?}");
                }
                assert!(!Running::like(&Digest::Crc32c(0)).is(&Digest::Crc32c(0))); // not computed for parts
                let mut other = Running::like(&digest);
                other.add(data);
                other.add(b"x");
                assert!(!other.is(&digest) && digest.is_of(data));
            }
        }
    }

    #[test]
    fn what_is_not_built_in_is_of_nothing() {
        for (digest, is_built_in) in [
            (Digest::Crc32c(0xe306_9283), cfg!(feature = "crc32c")),
            #[cfg(any(feature = "npz", feature = "pytorch"))]
            (Digest::Crc32(0xcbf4_3926), cfg!(feature = "crc32")),
            #[cfg(feature = "ztensor2")]
            (Digest::Xxh3(crate::codec::xxh3::hash(b"123456789")), true),
        ] {
            assert_eq!((digest.is_built_in(), digest.is_of(b"123456789")), (is_built_in, is_built_in), "{digest:?}");
        }
        assert_eq!(Digest::Sha256([0; 32]).is_built_in(), cfg!(feature = "sha256"));
    }

    /// A digest with any bit changed does not match.
    #[cfg(feature = "sha256")]
    #[test]
    fn every_bit_of_a_digest_is_compared() {
        let sum: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(b"abc").into();
        assert!(Digest::Sha256(sum).is_of(b"abc"));
        for bit in 0..256 {
            let mut other = sum;
            other[bit / 8] ^= 1 << (bit % 8);
            let other = Digest::Sha256(other);
            assert!(!other.is_of(b"abc"), "{bit}");
            #[cfg(feature = "ztensor2")]
            {
                let mut running = Running::like(&other);
                running.add(b"abc");
                assert!(!running.is(&other), "{bit}");
            }
        }
    }

    #[cfg(feature = "digest")]
    #[test]
    fn check_values() {
        assert!(Digest::Crc32c(0xe306_9283).is_of(b"123456789"));
        assert!(!Digest::Crc32c(0xe306_9283).is_of(b"123456788"));
        #[cfg(any(feature = "npz", feature = "pytorch"))]
        assert!(Digest::Crc32(0xcbf4_3926).is_of(b"123456789") && !Digest::Crc32(0xcbf4_3926).is_of(b"123456788"));
        let DigestSpec::Known(empty) =
            spelled(b"sha256:E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        else {
            panic!()
        };
        assert!(empty.is_of(b"") && !empty.is_of(b"x"));
    }
}
