//! Digests: CRC-32C, SHA-256 and XXH3, and how zTensor spells them; the CRC-32 of archives.
//!
//! Depends on `crc`, `xxh3`.
#![forbid(unsafe_code)]

/// A digest, as stated in a file.
#[cfg(any(feature = "digest", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digest {
    Crc32c(u32),
    #[cfg(feature = "npz")]
    Crc32(u32),
    Sha256([u8; 32]),
    #[cfg(feature = "ztensor2")]
    Xxh3(u64),
}

/// The result of parsing the spelling of a digest.
#[cfg(any(feature = "digest", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelled {
    Known(Digest),
    /// Of a known kind, but with a wrong number of digits.
    Invalid,
    /// Of an unknown kind.
    Unknown,
}

/// Returns whether a digest is of a known kind, by its prefix; the digits are parsed when it is verified.
pub(crate) fn is_of_known_kind(text: &[u8]) -> bool {
    KNOWN_KINDS.iter().any(|kind| text.starts_with(kind.as_bytes()))
}

/// The prefixes of known kinds.
const KNOWN_KINDS: [&str; 3] = [CRC32C, CRC32C_UPPER, SHA256];
const CRC32C: &str = "crc32c:0x";
const CRC32C_UPPER: &str = "crc32c:0X";
const SHA256: &str = "sha256:";

/// Parses `crc32c:0x` with 8 hexadecimal digits, or `sha256:` with 64, upper or lower case (1.0 section 4.3). The
/// reference readers also accept `0x` before a SHA-256, and reject a CRC-32C without it.
#[cfg(any(feature = "digest", test))]
pub(crate) fn spelled(text: &str) -> Spelled {
    let known = |digest: Option<Digest>| digest.map_or(Spelled::Invalid, Spelled::Known);
    if let Some(digits) = text.strip_prefix(CRC32C).or_else(|| text.strip_prefix(CRC32C_UPPER)) {
        known(bytes::<4>(digits).map(|bytes| Digest::Crc32c(u32::from_be_bytes(bytes))))
    } else if let Some(digits) = text.strip_prefix(SHA256) {
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        known(bytes::<32>(digits).map(Digest::Sha256))
    } else {
        Spelled::Unknown
    }
}

/// Parses a digest of zTensor 2: `xxh3:` with 16 hexadecimal digits or `sha256:` with 64, in lower case (section 3.4).
#[cfg(all(feature = "digest", feature = "ztensor2"))]
pub(crate) fn spelled_strictly(text: &str) -> Spelled {
    let is_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
    let known = if let Some(digits) = text.strip_prefix("xxh3:") {
        bytes::<8>(digits).map(|bytes| Digest::Xxh3(u64::from_be_bytes(bytes)))
    } else if let Some(digits) = text.strip_prefix(SHA256) {
        bytes::<32>(digits).map(Digest::Sha256)
    } else {
        return Spelled::Unknown;
    };
    known.filter(|_| !is_upper).map_or(Spelled::Invalid, Spelled::Known)
}

/// Parses two hexadecimal digits per byte.
#[cfg(any(feature = "digest", test))]
fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut pairs = digits.as_bytes().chunks_exact(2);
    for byte in &mut bytes {
        let &[high, low] = pairs.next()? else { return None };
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(high)? << 4 | digit(low)?;
    }
    (pairs.next().is_none() && pairs.remainder().is_empty()).then_some(bytes)
}

#[cfg(any(feature = "digest", test))]
impl Digest {
    /// Returns whether it is the digest of `data`.
    #[cfg(feature = "digest")]
    pub(crate) fn is_of(&self, data: &[u8]) -> bool {
        use sha2::Digest as _;
        match self {
            Self::Crc32c(sum) => crate::crc::crc32c(data) == *sum,
            #[cfg(feature = "npz")]
            Self::Crc32(sum) => crate::crc::crc32(data) == *sum,
            Self::Sha256(sum) => sha2::Sha256::digest(data)[..] == sum[..],
            #[cfg(feature = "ztensor2")]
            Self::Xxh3(sum) => super::xxh3::hash(data) == *sum,
        }
    }
}

/// A digest of bytes that come one part after the other.
#[cfg(all(feature = "digest", feature = "ztensor2"))]
#[allow(clippy::large_enum_variant)] // on the stack, and there is no heap
pub(crate) enum Running {
    Xxh3(super::xxh3::Running),
    Sha256(sha2::Sha256),
    /// Of another kind, which no such bytes have.
    Other,
}

#[cfg(all(feature = "digest", feature = "ztensor2"))]
impl Running {
    /// One of the kind that `digest` is.
    pub(crate) fn like(digest: &Digest) -> Self {
        use sha2::Digest as _;
        match digest {
            Digest::Xxh3(_) => Self::Xxh3(super::xxh3::Running::new()),
            Digest::Sha256(_) => Self::Sha256(sha2::Sha256::new()),
            _ => Self::Other,
        }
    }

    pub(crate) fn add(&mut self, data: &[u8]) {
        use sha2::Digest as _;
        match self {
            Self::Xxh3(running) => running.add(data),
            Self::Sha256(running) => running.update(data),
            Self::Other => {}
        }
    }

    /// Returns whether `digest` is that of all that was added.
    pub(crate) fn is(self, digest: &Digest) -> bool {
        use sha2::Digest as _;
        match (self, digest) {
            (Self::Xxh3(running), Digest::Xxh3(sum)) => running.hash() == *sum,
            (Self::Sha256(running), Digest::Sha256(sum)) => running.finalize()[..] == sum[..],
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        assert_eq!(spelled("crc32c:0x0000ABcd"), Spelled::Known(Digest::Crc32c(0xabcd)));
        assert_eq!(spelled("crc32c:0X0000abcd"), Spelled::Known(Digest::Crc32c(0xabcd)));
        for invalid in [
            "crc32c:0x",
            "crc32c:0x123",
            "crc32c:0x123456789",
            "crc32c:0x1234567g",
            "crc32c:0x+1234567",
            "sha256:",
            "sha256:00",
        ] {
            assert_eq!(spelled(invalid), Spelled::Invalid, "{invalid}");
        }
        for unknown in ["", "crc32c:12345678", "CRC32C:0x12345678", "md5:00", "sha256"] {
            assert_eq!(spelled(unknown), Spelled::Unknown, "{unknown}");
        }
    }

    #[cfg(all(feature = "digest", feature = "ztensor2"))]
    #[test]
    fn spellings_of_version_2() {
        assert_eq!(spelled_strictly("xxh3:00000000000ab0cd"), Spelled::Known(Digest::Xxh3(0xab0cd)));
        let sha256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let Spelled::Known(digest) = spelled_strictly(sha256) else { panic!() };
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
            assert_eq!(spelled_strictly(invalid), Spelled::Invalid, "{invalid}");
        }
        for unknown in ["", ":", "xxh3", "XXH3:00000000000ab0cd", "crc32c:0x00000000", "blake3:00"] {
            assert_eq!(spelled_strictly(unknown), Spelled::Unknown, "{unknown}");
        }
    }

    /// In parts of any length, and in one.
    #[cfg(all(feature = "digest", feature = "ztensor2"))]
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
                let mut other = Running::like(&digest);
                other.add(data);
                other.add(b"x");
                assert!(!other.is(&digest) && digest.is_of(data));
            }
        }
    }

    #[cfg(feature = "digest")]
    #[test]
    fn check_values() {
        assert!(Digest::Crc32c(0xe306_9283).is_of(b"123456789"));
        assert!(!Digest::Crc32c(0xe306_9283).is_of(b"123456788"));
        #[cfg(feature = "npz")]
        assert!(Digest::Crc32(0xcbf4_3926).is_of(b"123456789") && !Digest::Crc32(0xcbf4_3926).is_of(b"123456788"));
        let Spelled::Known(empty) =
            spelled("sha256:E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        else {
            panic!()
        };
        assert!(empty.is_of(b"") && !empty.is_of(b"x"));
    }
}
