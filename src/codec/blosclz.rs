//! BloscLZ, the byte-oriented LZ77 of Blosc, for which there is no crate.
//!
//! A stream is a sequence of instructions:
//!
//! ```text
//! 000nnnnn                         n + 1 bytes follow, copied as literals; in the first instruction of a stream, the
//!                                  top three bits are ignored
//! LLLhhhhh [more length] dddddddd  copy from earlier output: length LLL + 2; if LLL is 7, add all bytes that follow,
//!                                  up to the first that is not 255; distance hhhhhdddddddd + 1; if that is 8192, add
//!                                  the two bytes that follow, big-endian
//! ```
//!
//! Every length is checked against the destination before it is used; nothing is written past the end of the
//! destination or read from before its start.
#![forbid(unsafe_code)]

use super::copies::repeat;
use crate::codec::decoder::DecodeError;

/// The largest distance that fits in two bytes; larger distances take four.
const NEAR: usize = 0x1fff;

/// The longest run of literals.
const LITERALS: usize = 32;

/// The output of an instruction.
#[derive(Clone, Copy)]
struct Instruction {
    from: Source,
    length: usize,
    /// The number of bytes written before the instruction.
    written: usize,
}

#[derive(Clone, Copy)]
enum Source {
    /// The bytes at this position of the stream.
    Stored(usize),
    /// The bytes at this distance back in the output: at least 1, at most the number of bytes written.
    Output(usize),
}

/// Iterates over the instructions of a stream, checked against the end of the stream and the end of the output.
struct Instructions<'a> {
    stored: &'a [u8],
    /// The length of the output.
    dst: usize,
    at: usize,
    written: usize,
    /// The first byte of the next instruction; `None` at the end.
    next: Option<u8>,
}

impl<'a> Instructions<'a> {
    fn new(stored: &'a [u8], dst: usize) -> Self {
        Self { stored, dst, at: 1, written: 0, next: stored.first().map(|first| first & 0x1f) }
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = self.stored.get(self.at).copied();
        self.at = self.at.saturating_add(1);
        byte.ok_or(DecodeError::Malformed)
    }

    #[inline(always)]
    fn read(&mut self) -> Result<Option<Instruction>, DecodeError> {
        let Some(instruction) = self.next else { return Ok(None) };
        let left = self.dst.saturating_sub(self.written);
        let written = self.written;
        let (from, length) = if instruction < 0x20 {
            let length = usize::from(instruction).saturating_add(1);
            let from = self.at;
            self.at = from.saturating_add(length);
            if self.at > self.stored.len() {
                return Err(DecodeError::Malformed);
            }
            (Source::Stored(from), length)
        } else {
            let mut length = usize::from(instruction >> 5).saturating_add(2);
            let mut distance = usize::from(instruction & 0x1f) << 8;
            if instruction >= 0xe0 {
                loop {
                    let more = self.byte()?;
                    length = length.saturating_add(usize::from(more));
                    if length > left {
                        return Err(DecodeError::DoesNotFit);
                    }
                    if more != u8::MAX {
                        break;
                    }
                }
            }
            distance |= usize::from(self.byte()?);
            if distance == NEAR {
                let far = [self.byte()?, self.byte()?];
                distance = distance.saturating_add(usize::from(u16::from_be_bytes(far)));
            }
            let distance = distance.saturating_add(1);
            // The original decoder reads the next instruction before it copies, so there must be one.
            if self.at >= self.stored.len() || distance > written {
                return Err(DecodeError::Malformed);
            }
            (Source::Output(distance), length)
        };
        if length > left {
            return Err(DecodeError::DoesNotFit);
        }
        self.next = self.stored.get(self.at).copied();
        self.at = self.at.saturating_add(1);
        self.written = written.saturating_add(length);
        Ok(Some(Instruction { from, length, written }))
    }
}

/// Decodes all of `stored` to the front of `dst`, and returns the number of decoded bytes.
pub(crate) fn decode(stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    let mut instructions = Instructions::new(stored, dst.len());
    while let Some(Instruction { from, length, written }) = instructions.read()? {
        match from {
            Source::Stored(from) => literals(stored, from, dst, written, length),
            Source::Output(distance) => repeat(dst, written, distance, length),
        }
    }
    Ok(instructions.written)
}

/// Returns byte `at` of the output of `stored`, which has `length` bytes, without decoding the whole: follows each copy
/// to its origin. Reads the instructions again for each copy, decrements `patience` for each instruction, and fails
/// with `Unsupported` when `patience` is used up.
pub(crate) fn byte(stored: &[u8], length: usize, mut at: usize, patience: &mut u32) -> Result<u8, DecodeError> {
    let mut is_checked = false;
    loop {
        let mut found = Err(DecodeError::Malformed);
        let mut instructions = Instructions::new(stored, length);
        while let Some(instruction) = instructions.read()? {
            *patience = patience.checked_sub(1).ok_or(DecodeError::Unsupported)?;
            let Some(ahead) = at.checked_sub(instruction.written) else { continue };
            if ahead >= instruction.length {
                continue;
            }
            found = Ok((instruction, ahead));
            if is_checked {
                break;
            }
        }
        // Reads all instructions once, so that a stream that is rejected as a whole is also rejected here.
        if !is_checked && instructions.written != length {
            return Err(DecodeError::DoesNotFit);
        }
        is_checked = true;
        let (instruction, ahead) = found?;
        match instruction.from {
            Source::Stored(from) => {
                return stored.get(from.saturating_add(ahead)).copied().ok_or(DecodeError::Malformed);
            }
            // The copy repeats with a period of the distance.
            Source::Output(distance) => {
                let ahead = ahead.checked_rem(distance).unwrap_or(0);
                at = instruction.written.saturating_sub(distance).saturating_add(ahead);
            }
        }
    }
}

/// Copies `length` literal bytes of the stream, at most [`LITERALS`].
#[inline(always)]
fn literals(stored: &[u8], from: usize, dst: &mut [u8], written: usize, length: usize) {
    let from = stored.get(from..).unwrap_or_default();
    let to = dst.get_mut(written..).unwrap_or_default();
    if let (Some(from), Some(to)) = (from.first_chunk::<LITERALS>(), to.first_chunk_mut::<LITERALS>()) {
        *to = *from;
        return;
    }
    to.iter_mut().zip(from).take(length).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::{byte, decode};
    use crate::codec::decoder::DecodeError;

    /// Decodes a stream as a whole and byte by byte.
    fn both(stored: &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
        let mut dst = vec![0x55; length];
        let whole = decode(stored, &mut dst).map(|written| dst[..written].to_vec());
        // Only the last bytes of a long output.
        for at in length.saturating_sub(100)..length {
            let expected = whole.as_ref().map(|bytes| bytes[at]).map_err(|error| *error);
            assert_eq!(byte(stored, length, at, &mut 1000), expected, "{stored:02x?} at {at}");
        }
        whole
    }

    #[test]
    fn a_match_reaches_back_to_the_first_byte_and_no_further() {
        // Two literals, three bytes from `distance` back, one literal.
        let near = |distance: u8| [0x01, b'a', b'b', 0x20, distance - 1, 0x00, b'c'];
        assert_eq!(both(&near(1), 6).unwrap(), b"abbbbc");
        assert_eq!(both(&near(2), 6).unwrap(), b"ababac");
        for distance in [3, 4, 5, 6, 7, 255] {
            assert_eq!(both(&near(distance), 6), Err(DecodeError::Malformed), "{distance}");
        }
        // The second match includes bytes that the first match wrote.
        assert_eq!(both(&[0x00, b'a', 0x20, 0, 0x20, 3, 0x00, b'b'], 8).unwrap(), b"aaaaaaab");
        assert_eq!(both(&[0x00, b'a', 0x20, 0, 0x20, 4, 0x00, b'b'], 8), Err(DecodeError::Malformed));

        // A four-byte distance of 8192 or more: one literal, 8191 equal bytes, three bytes from far back, one literal.
        let far = |more: [u8; 2]| {
            let mut stored = vec![0x00, b'a', 0xe0];
            stored.extend([255; 32]);
            stored.extend([22, 0]); // 7 + 2 + 32 * 255 + 22, from one byte back
            stored.extend([0x3f, 0xff, more[0], more[1], 0x00, b'b']);
            stored
        };
        let mut expected = [b'a'; 8196];
        expected[8195] = b'b';
        assert_eq!(both(&far([0, 0]), 8196).unwrap(), expected);
        for more in [[0, 1], [1, 0], [255, 255]] {
            assert_eq!(both(&far(more), 8196), Err(DecodeError::Malformed), "{more:?}");
        }
        assert_eq!(both(&[0x00, b'a', 0x3f, 0xff, 0, 0, 0x00, b'b'], 5), Err(DecodeError::Malformed));
        // A distance that would fill the rest of the destination.
        assert_eq!(both(&[0x00, b'a', 0xe0, 0, 1, 0x00, b'b'], 10), Err(DecodeError::Malformed));
    }

    /// Also if the bytes before it fill the destination, so that the match would write nothing.
    #[test]
    fn a_match_is_not_the_last_instruction() {
        for last in [&[0x20, 0][..], &[0x20, 1], &[0xe0, 0, 0], &[0xe0, 255, 0, 0]] {
            let stored = [&[0x01, b'a', b'b'], last].concat();
            for length in [2, 5, 600] {
                let mut dst = vec![0; length];
                let expected =
                    if last[0] == 0xe0 && length < 9 { DecodeError::DoesNotFit } else { DecodeError::Malformed };
                assert_eq!(decode(&stored, &mut dst), Err(expected), "{last:x?} to {length}");
                assert_eq!(byte(&stored, length, 0, &mut 10), Err(expected), "{last:x?} to {length}");
            }
        }
    }

    /// Pseudorandom numbers from 0 up to `below` (xorshift).
    struct Random(u64);

    impl Random {
        fn below(&mut self, below: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) as usize % below
        }
    }

    /// A stream, its decoded bytes, and the start of each instruction with the number of bytes written before it.
    struct Made {
        stored: Vec<u8>,
        decoded: Vec<u8>,
        instructions: Vec<(usize, usize)>,
    }

    fn made(random: &mut Random) -> Made {
        let mut made = Made { stored: Vec::new(), decoded: Vec::new(), instructions: Vec::new() };
        let Made { stored, decoded, instructions } = &mut made;
        let count = random.below(12);
        for index in 0..=count {
            instructions.push((stored.len(), decoded.len()));
            if index == 0 || index == count || random.below(2) == 0 {
                let length = [1, 31, 32, 1 + random.below(32)][random.below(4)];
                stored.push((length - 1) as u8 | if index == 0 { 0x20 } else { 0 });
                for _ in 0..length {
                    decoded.push(random.below(256) as u8);
                }
                stored.extend(&decoded[decoded.len() - length..]);
                continue;
            }
            let farthest = decoded.len().min(8191 + 65536);
            let distance =
                1 + [0, 15, 16, 31, 32, 8190, 8191, random.below(farthest)][random.below(8)].min(farthest - 1);
            let length = 3 + [0, 5, 6, 7, 260, 261, 262, random.below(10), 9000][random.below(9)];
            let (short, far) = ((length - 2).min(7), (distance - 1).min(8191));
            stored.push((short << 5 | far >> 8) as u8);
            if short == 7 {
                stored.extend(vec![255; (length - 9) / 255]);
                stored.push(((length - 9) % 255) as u8);
            }
            stored.push(far as u8);
            if far == 8191 {
                stored.extend(((distance - 1 - far) as u16).to_be_bytes());
            }
            for _ in 0..length {
                decoded.push(decoded[decoded.len() - distance]);
            }
        }
        made
    }

    /// Streams of all instructions: decoded whole, to a destination of another length, cut anywhere, and byte by byte.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn streams_of_all_kinds() {
        let random = &mut Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..400 {
            let Made { stored, decoded, instructions } = made(random);
            assert_eq!(both(&stored, decoded.len()).as_ref(), Ok(&decoded));
            for _ in 0..20 {
                let at = random.below(decoded.len());
                assert_eq!(byte(&stored, decoded.len(), at, &mut 1000), Ok(decoded[at]));
            }
            // In a larger destination, bytes past the output stay unchanged, except for a few bytes after the last.
            let mut dst = vec![0x55; decoded.len() + 100];
            assert_eq!(decode(&stored, &mut dst), Ok(decoded.len()));
            assert!(dst[..decoded.len()] == decoded && dst[decoded.len() + 32..].iter().all(|byte| *byte == 0x55));
            assert_eq!(byte(&stored, dst.len(), 0, &mut 1000), Err(DecodeError::DoesNotFit));
            for short in [1, 2, 3, 32, 33, 1 + random.below(decoded.len())] {
                let Some(length) = decoded.len().checked_sub(short) else { continue };
                assert_eq!(both(&stored, length), Err(DecodeError::DoesNotFit), "{short} bytes too short");
            }
            for _ in 0..20 {
                let cut = random.below(stored.len());
                // Whole instructions are a valid stream, unless the last one is a match.
                let before =
                    instructions.iter().position(|(at, _)| *at == cut).and_then(|index| index.checked_sub(1));
                let is_whole = before.is_none_or(|before| before == 0 || stored[instructions[before].0] < 0x20);
                let expected = match instructions.iter().find(|(at, _)| *at == cut) {
                    Some((_, written)) if is_whole => Ok(*written),
                    _ => Err(DecodeError::Malformed),
                };
                assert_eq!(decode(&stored[..cut], &mut dst), expected, "{cut} of {}", stored.len());
            }
        }
    }

    /// Reading a byte costs one unit of patience for each instruction read: all instructions at first, then for each
    /// copy the instructions up to its origin.
    #[test]
    fn patience() {
        // Two literals, four bytes from 2 back, one literal, five from 4 back, one literal.
        let stored = [0x01, b'a', b'b', 0x40, 1, 0x00, b'c', 0x60, 3, 0x00, b'd'];
        assert_eq!(both(&stored, 13).unwrap(), b"abababcbabcbd");
        for (at, found, needed) in
            [(0, b'a', 5), (12, b'd', 5), (3, b'b', 5 + 1), (7, b'b', 5 + 2 + 1), (10, b'c', 5 + 3)]
        {
            let mut patience = needed;
            assert_eq!((byte(&stored, 13, at, &mut patience), patience), (Ok(found), 0), "{at}");
            assert_eq!(byte(&stored, 13, at, &mut (needed - 1)), Err(DecodeError::Unsupported), "{at}");
        }
    }
}
