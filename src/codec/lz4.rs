//! LZ4 blocks. No crate decodes all valid blocks fast and without panic paths: lz4_flex 0.14 either copies overlapping
//! matches byte by byte through raw pointers, or keeps panic paths.
//!
//! A stream is a sequence of instructions; the last instruction ends after its literals:
//!
//! ```text
//! LLLLMMMM [more L] literals  dd DD [more M]   L bytes follow, copied as literals; then M + 4 bytes are copied from
//!                                              earlier output, from a distance of 1 to 65535 (little-endian). If L or
//!                                              M is 15, all bytes that follow are added to it, up to the first that is
//!                                              not 255.
//! ```
//!
//! Every length is checked against the stream and the destination before it is used.
#![forbid(unsafe_code)]

use super::copies::{WIDE, copy, repeat};
use crate::codec::decoder::DecodeError;

/// The largest length in an instruction's first byte: more length bytes follow.
const LONG: usize = 15;
/// The length of the shortest match.
const SHORTEST: usize = 4;
/// The number of literals that are copied at once, even if fewer are needed.
#[cfg(not(small))]
const FEW: usize = 32;

/// Decodes all of `stored` to the front of `dst`, and returns the number of decoded bytes. Matches may reach back into
/// `dictionary`, as if it preceded `dst`.
#[inline(never)] // keeps its saved registers off the caller's stack frame
pub(crate) fn decode(dictionary: &[u8], stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    let (mut at, mut written) = (0_usize, 0_usize);
    loop {
        let token = usize::from(byte(stored, &mut at)?);
        let (mut literals, mut length) = (token >> 4, token & LONG);
        let distance = if let Some(distance) = short_literals(stored, at, literals, dst, written) {
            at = at.wrapping_add(literals).wrapping_add(2);
            written = written.wrapping_add(literals);
            distance
        } else {
            if literals == LONG {
                literals = more(literals, stored, &mut at)?;
            }
            copy_literals(stored, at, literals, dst, written)?;
            at = at.wrapping_add(literals);
            written = written.wrapping_add(literals);
            if at >= stored.len() {
                return Ok(written);
            }
            u16::from_le_bytes([byte(stored, &mut at)?, byte(stored, &mut at)?]).into()
        };
        if length == LONG {
            length = more(length, stored, &mut at)?.saturating_add(SHORTEST);
        } else {
            length = length.wrapping_add(SHORTEST);
            if short_match(dst, written, distance, length).is_some() {
                written = written.wrapping_add(length);
                continue;
            }
        }
        written = copy_match(dictionary, dst, written, distance, length)?;
    }
}

/// Returns the next byte of the stream.
#[inline(always)]
fn byte(stored: &[u8], at: &mut usize) -> Result<u8, DecodeError> {
    let byte = stored.get(*at).copied().ok_or(DecodeError::Malformed);
    *at = at.wrapping_add(1);
    byte
}

/// Adds all bytes that follow to a length, up to the first that is not 255.
#[inline(always)]
fn more(mut length: usize, stored: &[u8], at: &mut usize) -> Result<usize, DecodeError> {
    loop {
        let more = byte(stored, at)?;
        length = length.saturating_add(usize::from(more));
        if more != u8::MAX {
            return Ok(length);
        }
    }
}

/// Copies fewer than 15 literals, and returns the distance of the match after them. Always copies [`WIDE`] bytes;
/// `None` if the end of the stream or of the destination is too near.
#[inline(always)]
fn short_literals(stored: &[u8], at: usize, literals: usize, dst: &mut [u8], written: usize) -> Option<usize> {
    if literals == LONG || cfg!(small) {
        return None;
    }
    let from = stored.get(at..)?.first_chunk::<{ WIDE + 1 }>()?;
    *dst.get_mut(written..)?.first_chunk_mut::<WIDE>()? = *from.first_chunk()?;
    Some(u16::from_le_bytes(*from.get(literals..)?.first_chunk()?).into())
}

/// Copies a match of at most 18 bytes, always 18 bytes at once. `None` if the match overlaps its source closely, starts
/// before `dst`, or is too near the end of `dst`.
#[inline(always)]
fn short_match(dst: &mut [u8], written: usize, distance: usize, length: usize) -> Option<()> {
    if distance < length.min(8) || cfg!(small) {
        return None;
    }
    let window = dst.get_mut(written.checked_sub(distance)?..)?;
    if distance >= length {
        return step::<{ WIDE + 2 }>(window, 0, distance);
    }
    if window.len().checked_sub(distance)? < WIDE + 2 {
        return None;
    }
    step::<8>(window, 0, distance)?;
    step::<8>(window, 8, distance)?;
    step::<2>(window, 16, distance)
}

/// Copies the `N` bytes at `at` to the position `distance` bytes later.
#[inline(always)]
fn step<const N: usize>(window: &mut [u8], at: usize, distance: usize) -> Option<()> {
    let from = *window.get(at..)?.first_chunk::<N>()?;
    *window.get_mut(at.wrapping_add(distance)..)?.first_chunk_mut::<N>()? = from;
    Some(())
}

/// Copies any number of literals.
#[inline(always)]
fn copy_literals(
    stored: &[u8],
    at: usize,
    literals: usize,
    dst: &mut [u8],
    written: usize,
) -> Result<(), DecodeError> {
    let from = stored.get(at..).unwrap_or_default();
    let to = dst.get_mut(written..).unwrap_or_default();
    #[cfg(not(small))]
    if literals <= FEW {
        if let (Some(from), Some(to)) = (from.first_chunk::<FEW>(), to.first_chunk_mut::<FEW>()) {
            *to = *from;
            return Ok(());
        }
    }
    let from = from.get(..literals).ok_or(DecodeError::Malformed)?;
    copy(to.get_mut(..literals).ok_or(DecodeError::DoesNotFit)?, from);
    Ok(())
}

/// Copies any match, and returns the number of bytes written so far.
#[inline(always)]
fn copy_match(
    dictionary: &[u8],
    dst: &mut [u8],
    written: usize,
    distance: usize,
    length: usize,
) -> Result<usize, DecodeError> {
    if distance == 0 {
        return Err(DecodeError::Malformed);
    }
    let (mut written, mut length) = (written, length);
    if let Some(before) = distance.checked_sub(written).filter(|before| *before > 0) {
        let to = dst.get_mut(written..).unwrap_or_default();
        let count = copy_from_dictionary(dictionary, before, to, length)?;
        (written, length) = (written.wrapping_add(count), length.wrapping_sub(count));
    }
    if length > dst.len().saturating_sub(written) {
        return Err(DecodeError::DoesNotFit);
    }
    repeat(dst, written, distance, length);
    Ok(written.wrapping_add(length))
}

/// Copies the part of a match that is in the dictionary, from `before` bytes before its end. Returns the number of
/// bytes copied.
#[cfg_attr(not(small), cold, inline(never))]
fn copy_from_dictionary(
    dictionary: &[u8],
    before: usize,
    to: &mut [u8],
    length: usize,
) -> Result<usize, DecodeError> {
    let from = dictionary.len().checked_sub(before).ok_or(DecodeError::Malformed)?;
    let count = before.min(length);
    copy(to.get_mut(..count).ok_or(DecodeError::DoesNotFit)?, dictionary.get(from..).unwrap_or_default());
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use lz4_flex::block::{compress, compress_with_dict, decompress_into, decompress_into_with_dict};

    use super::*;

    /// Decodes to `length` bytes, and compares the result with lz4_flex.
    fn both(dictionary: &[u8], stored: &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
        let decoded = |decoder: &dyn Fn(&mut [u8]) -> Result<usize, DecodeError>| {
            let mut dst = vec![0x55; length];
            decoder(&mut dst).map(|written| dst[..written].to_vec())
        };
        let ours = decoded(&|dst| decode(dictionary, stored, dst));
        let theirs = decoded(&|dst| {
            let result = match dictionary {
                [] => decompress_into(stored, dst),
                _ => decompress_into_with_dict(stored, dst, dictionary),
            };
            result.map_err(|_| DecodeError::Malformed)
        });
        // If a stream has several errors, the two decoders may report different ones.
        assert_eq!(
            ours.as_ref().ok(),
            theirs.as_ref().ok(),
            "{stored:02x?} to {length} bytes after {dictionary:02x?}"
        );
        ours
    }

    /// Pseudorandom numbers from 0 up to `below` (xorshift).
    struct Random(u64);

    impl Random {
        fn below(&mut self, below: u64) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 20) % below) as usize
        }
    }

    /// Returns a stream with instructions that the format allows, most of them short.
    fn stream(random: &mut Random, dictionary: usize, count: usize) -> (Vec<u8>, usize) {
        let (mut stream, mut written) = (Vec::new(), 0);
        let length = |random: &mut Random| match random.below(8) {
            0 => random.below(700),
            1 => random.below(60),
            _ => random.below(15),
        };
        for index in 0..=count {
            let (literals, more) = (length(random), length(random));
            let is_last = index == count;
            stream.push((literals.min(LONG) << 4 | if is_last { 0 } else { more.min(LONG) }) as u8);
            let rest = |stream: &mut Vec<u8>, length: usize| {
                if length >= LONG {
                    stream.extend(vec![255; (length - LONG) / 255]);
                    stream.push(((length - LONG) % 255) as u8);
                }
            };
            rest(&mut stream, literals);
            stream.extend((0..literals).map(|_| random.below(256) as u8));
            written += literals;
            if is_last {
                break;
            }
            let farthest = (written + dictionary).min(65535) as u64;
            let near = farthest.min([1, 4, 20, 65535][random.below(4)]);
            // Sometimes a distance that is too large, or 0.
            let distance =
                if random.below(300) == 0 { (farthest as usize + 1) % 65536 } else { random.below(near + 1) };
            stream.extend((distance.max(random.below(1000).min(1)) as u16).to_le_bytes());
            rest(&mut stream, more);
            written += more + SHORTEST;
        }
        (stream, written)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn streams_of_all_kinds_and_damaged_ones_as_lz4_flex_decodes_them() {
        let random = &mut Random(0x9e37_79b9_7f4a_7c15);
        let (mut sound, mut refused) = (0, 0);
        for round in 0..3000 {
            let dictionary: Vec<u8> = (0..round % 3 * 40).map(|i| i as u8).collect();
            let count = random.below(40);
            let (mut stored, length) = stream(random, dictionary.len(), count);
            if both(&dictionary, &stored, length).is_ok() {
                assert!(both(&dictionary, &stored, length + random.below(70)).is_ok());
                let short = length.saturating_sub(1 + random.below(40));
                assert!(length == 0 || both(&dictionary, &stored, short) == Err(DecodeError::DoesNotFit));
                sound += 1;
            } else {
                refused += 1;
            }
            for _ in 0..4 {
                let at = random.below(stored.len() as u64);
                stored[at] = random.below(256) as u8;
                let _ = both(&dictionary, &stored, length);
            }
            stored.truncate(random.below(stored.len() as u64));
            let _ = both(&dictionary, &stored, length);
        }
        assert!(sound > 1000 && refused > 100, "{sound} {refused}");
    }

    #[test]
    fn what_lz4_flex_writes() {
        let random = &mut Random(0x2545_f491_4f6c_dd1d);
        for period in 1..40_usize {
            let once: Vec<u8> = (0..period).map(|_| random.below(4) as u8).collect();
            for length in [0, 1, 12, 13, 30, 64, 100, 1000, 5000] {
                let mut data: Vec<u8> = once.iter().copied().cycle().take(length).collect();
                if length > 500 {
                    (0..length / 40).for_each(|_| data[random.below(length as u64)] = 9);
                }
                assert_eq!(both(&[], &compress(&data), length).unwrap(), data);
                assert_eq!(both(&once, &compress_with_dict(&data, &once), length).unwrap(), data);
            }
        }
    }

    /// The last instruction has only literals, possibly none: a stream that ends after a match is truncated.
    #[test]
    fn no_stream_ends_with_a_match() {
        // One literal, then 4 times the same byte, by one instruction or by two.
        for instructions in [&[0x10, b'a', 1, 0][..], &[0x10, b'a', 1, 0, 0x00, 1, 0]] {
            let length = 1 + 4 * (instructions.len() / 3);
            assert_eq!(both(&[], instructions, length), Err(DecodeError::Malformed));
            assert_eq!(both(&[], &[instructions, &[0x00]].concat(), length), Ok(vec![b'a'; length]));
            assert_eq!(both(&[], &[instructions, &[0x10, b'a']].concat(), length + 1), Ok(vec![b'a'; length + 1]));
        }
    }

    /// A length of which every byte is 255, on machines of any word size.
    #[test]
    fn long_lengths() {
        let mut stored = vec![255_u8; 1 << 16];
        assert_eq!(decode(&[], &stored, &mut [0; 64]), Err(DecodeError::Malformed));
        stored.push(0);
        assert_eq!(decode(&[], &stored, &mut [0; 64]), Err(DecodeError::Malformed));
        // One literal, then 15 + 4 + 255 * 4000 + 1 times the same byte, then one literal.
        let mut stored = vec![0x1f, b'a', 1, 0];
        stored.extend(vec![255; 4000]);
        stored.extend([1, 0x10, b'b']);
        let length = 1 + 15 + 4 + 255 * 4000 + 1 + 1;
        let mut expected = vec![b'a'; length];
        expected[length - 1] = b'b';
        assert_eq!(both(&[], &stored, length).unwrap(), expected);
        assert_eq!(both(&[], &stored, length - 2), Err(DecodeError::DoesNotFit));
    }
}
