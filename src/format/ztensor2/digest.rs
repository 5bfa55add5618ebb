//! The digest of a component or of a shard (section 3.4).
#![forbid(unsafe_code)]

use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::strict::Reader;
use crate::error::ErrorKind;
use crate::error::warning::Warning;

/// The digests that can be verified.
const DIGESTS: Keywords = keywords!["xxh3": 0, "sha256": 1];

/// Reads a digest (section 3.4): the name of an algorithm, a colon, and lower-case hexadecimal digits. Adds a warning
/// to `warnings` if the algorithm is unknown.
#[cfg_attr(small, inline(never))]
pub(super) fn read<'a>(reader: &mut Reader<'a>, warnings: &mut u8) -> Option<Utf8<'a>> {
    let at = reader.position();
    let digest = reader.text_bytes()?;
    let is_end = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'a'..=b'z');
    // Nearly all digests use this algorithm. Chips need the flash more than the speed.
    let is_usual = cfg!(not(small)) && digest.starts_with(b"xxh3:");
    let end = if is_usual { 4 } else { digest.iter().position(is_end).unwrap_or(digest.len()) };
    if let Some((algorithm @ [_, ..], [b':', digits @ ..])) = digest.split_at_checked(end) {
        // Faster than stopping at the first invalid one of many digits.
        let are_digits = digits.iter().fold(true, |all, digit| all & matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if are_digits && !digits.is_empty() {
            let mut known = DIGESTS;
            if !is_usual && known.take_until(algorithm).is_none() {
                *warnings |= Warning::UnknownDigest.tensor_bit();
            }
            return Some(Utf8::known(digest));
        }
    }
    reader.stop_at(ErrorKind::InvalidDigest, at)
}
