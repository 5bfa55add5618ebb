//! Digests: CRC-32C and SHA-256, and how zTensor 0.1 to 1.2 spell them; the CRC-32 of archives.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// A digest, as stated in a file.
#[cfg(any(feature = "digest", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digest {
    Crc32c(u32),
    #[cfg(feature = "npz")]
    Crc32(u32),
    Sha256([u8; 32]),
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
            // A single table of 1 KiB: larger ones keep a panic path, and fill the flash of a microcontroller.
            Self::Crc32c(sum) => {
                const CRC: crc::Crc<u32, crc::Table<1>> = crc::Crc::<u32, crc::Table<1>>::new(&crc::CRC_32_ISCSI);
                CRC.checksum(data) == *sum
            }
            #[cfg(feature = "npz")]
            Self::Crc32(sum) => {
                const CRC: crc::Crc<u32, crc::Table<1>> = crc::Crc::<u32, crc::Table<1>>::new(&crc::CRC_32_ISO_HDLC);
                CRC.checksum(data) == *sum
            }
            Self::Sha256(sum) => sha2::Sha256::digest(data)[..] == sum[..],
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
