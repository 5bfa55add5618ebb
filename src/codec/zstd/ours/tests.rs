//! Our decoder compared with libzstd and with ruzstd, for streams of libzstd, damaged streams, and streams by hand.
#![allow(clippy::cast_possible_truncation)]
#![forbid(unsafe_code)]

use std::boxed::Box;
use std::cell::Cell;
use std::string::String;
use std::vec;
use std::vec::Vec;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

use super::*;
use DecodeError::{Checksum, DoesNotFit, Malformed};

/// Pseudorandom numbers from 0 up to `below` (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % below as u64) as usize
    }
}

fn ours(dictionary: &[u8], stored: &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
    let mut dst = vec![0x55; length];
    let written = match dictionary {
        [] => Memory.decode(stored, &mut dst)?,
        _ => Memory.decode_with_dictionary(dictionary, stored, &mut dst)?,
    };
    dst.truncate(written);
    Ok(dst)
}

fn libzstd(dictionary: &[u8], stored: &[u8], length: usize) -> Result<Vec<u8>, &'static str> {
    let mut dst = Vec::with_capacity(length);
    match DCtx::create().decompress_using_dict(&mut dst, stored, dictionary) {
        Ok(_) => Ok(dst),
        Err(code) => Err(get_error_name(code)),
    }
}

/// Decodes with ruzstd, which panics for some damaged streams.
fn ruzstd(stored: &[u8], length: usize) -> Option<Vec<u8>> {
    std::panic::catch_unwind(|| {
        let mut dst = vec![0; length];
        let written = ruzstd::decoding::FrameDecoder::new().decode_all(stored, &mut dst).ok()?;
        dst.truncate(written);
        Some(dst)
    })
    .ok()?
}

std::thread_local! {
    static IS_LENIENT: Cell<bool> = const { Cell::new(false) };
}

/// See the function in `super` of builds without tests.
pub(super) fn is_lenient() -> bool {
    IS_LENIENT.get()
}

/// Decodes as libzstd does, which does not check three rules of RFC 8878.
fn leniently(stored: &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
    IS_LENIENT.set(true);
    let decoded = ours(&[], stored, length);
    IS_LENIENT.set(false);
    decoded
}

/// Content of a kind that compresses in its own way.
fn content(kind: &str, length: usize) -> Vec<u8> {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    match kind {
        "zeros" => vec![0; length],
        "random" => (0..length).map(|_| random.below(256) as u8).collect(),
        "int8" => (0..length).map(|_| ((0..12).map(|_| random.below(16)).sum::<usize>() as i32 - 90) as u8).collect(),
        "f32" => {
            let number = |random: &mut Random| (0..6).map(|_| random.below(1000) as f32).sum::<f32>() * 1e-5 - 0.03;
            (0..length.div_ceil(4)).flat_map(|_| number(random).to_le_bytes()).take(length).collect()
        }
        "text" => {
            let words: Vec<String> = (0..2000)
                .map(|_| (0..2 + random.below(8)).map(|_| char::from(b'a' + random.below(26) as u8)).collect())
                .collect();
            let mut text = String::new();
            while text.len() < length {
                let most = 1 + random.below(words.len());
                text += &words[random.below(most)];
                text.push(if random.below(12) == 0 { '\n' } else { ' ' });
            }
            text.into_bytes()[..length].to_vec()
        }
        _ => {
            let mut runs = Vec::new();
            while runs.len() < length {
                let (value, most) = (random.below(9), 1 << random.below(12));
                runs.resize((runs.len() + random.below(most)).min(length), value as u8);
            }
            runs
        }
    }
}

const KINDS: [&str; 6] = ["zeros", "random", "int8", "f32", "text", "runs"];

/// Returns a frame that libzstd writes.
fn frame(content: &[u8], level: i32, set: &[CParameter], dictionary: &[u8]) -> Vec<u8> {
    let mut context = CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(level)).unwrap();
    for parameter in set {
        context.set_parameter(*parameter).unwrap();
    }
    context.load_dictionary(dictionary).unwrap();
    let mut stored = Vec::with_capacity(compress_bound(content.len()));
    context.compress2(&mut stored, content).unwrap();
    stored
}

/// Returns a frame with a window of `2^log` bytes and these blocks, of which each is its kind, its size and its bytes.
fn of_blocks(log: u8, blocks: &[(u8, usize, &[u8])]) -> Vec<u8> {
    let mut stored = [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..]].concat();
    for (index, (kind, size, bytes)) in blocks.iter().enumerate() {
        let is_last = index + 1 == blocks.len();
        stored.extend(&((size << 3) as u32 | u32::from(*kind) << 1 | u32::from(is_last)).to_le_bytes()[..3]);
        stored.extend(*bytes);
    }
    stored
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn frames_of_all_levels_into_destinations_of_all_sizes() {
    for kind in KINDS {
        for length in [0, 1, 2, 5, 20, 255, 256, 257, 1000, 5000, 70_000, 131_071, 131_072, 131_073, 300_000] {
            let content = content(kind, length);
            for level in [-5, -1, 1, 2, 3, 4, 5, 7, 9, 12, 13, 16, 18, 19] {
                if length > 5000 && ![-5, 1, 3, 9, 19].contains(&level) {
                    continue;
                }
                let checksum = [CParameter::ChecksumFlag(level & 1 == 0)];
                let stored = frame(&content, level, &checksum, &[]);
                for more in [0, 1, 13, 40, 200_000] {
                    let decoded = ours(&[], &stored, length + more);
                    assert!(decoded.as_deref() == Ok(&content), "{kind} {length} {level} {more} {:?}", decoded.err());
                }
                for less in [1, 2, 40, length] {
                    if let Some(length) = length.checked_sub(less.max(1)) {
                        assert_eq!(ours(&[], &stored, length), Err(DoesNotFit), "{kind} {length} {level} -{less}");
                    }
                }
                // Without a size, as streams are written.
                let stored = frame(&content, level, &[CParameter::ContentSizeFlag(false)], &[]);
                assert!(ours(&[], &stored, length).as_deref() == Ok(&content), "{kind} {length} {level}");
                assert!(ours(&[], &stored, length + 100_000).as_deref() == Ok(&content), "{kind} {length} {level}");
                if length > 0 {
                    assert_eq!(ours(&[], &stored, length - 1), Err(DoesNotFit), "{kind} {length} {level}");
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn large_frames_with_small_and_large_windows() {
    for (kind, length) in [("text", 3_000_000), ("f32", 3_000_000), ("runs", 3_000_000), ("zeros", 9_000_000)] {
        let content = content(kind, length);
        for (level, log) in [(1, 10), (1, 14), (3, 17), (3, 27), (9, 20)] {
            let set = [CParameter::WindowLog(log), CParameter::ContentSizeFlag(log & 1 == 0)];
            let stored = frame(&content, level, &set, &[]);
            assert!(ours(&[], &stored, length).as_deref() == Ok(&content), "{kind} {level} {log}");
            assert!(ours(&[], &stored, length + 7).as_deref() == Ok(&content), "{kind} {level} {log}");
            assert_eq!(ours(&[], &stored, length - 1), Err(DoesNotFit), "{kind} {level} {log}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_frame_of_128_mb() {
    let content = content("text", 1 << 22).repeat(32);
    let stored = frame(&content, 3, &[CParameter::EnableLongDistanceMatching(true), CParameter::WindowLog(27)], &[]);
    assert!(ours(&[], &stored, content.len()).unwrap() == content);
}

#[test]
fn concatenated_and_skippable_frames() {
    let (a, b) = (content("text", 3000), content("int8", 2000));
    let skippable = |n: u8, length: u32| {
        [&[0x50 + n, 0x2a, 0x4d, 0x18][..], &length.to_le_bytes(), &vec![7; length as usize]].concat()
    };
    let stored = [
        skippable(0, 0),
        frame(&a, 3, &[], &[]),
        skippable(15, 100),
        frame(&[], 1, &[], &[]),
        frame(&b, 1, &[], &[]),
        skippable(3, 3),
    ]
    .concat();
    let both = [a, b].concat();
    assert_eq!(ours(&[], &stored, both.len()).unwrap(), both);
    assert_eq!(ours(&[], &stored, both.len() - 1), Err(DoesNotFit));
    assert_eq!(ours(&[], &stored[..stored.len() - 1], both.len()), Err(Malformed));
    assert_eq!(ours(&[], &[&stored[..], &[0]].concat(), both.len()), Err(Malformed));
    assert_eq!(ours(&[], &[], 0), Ok(vec![]));
    assert_eq!(ours(&[], &skippable(0, 9), 0), Ok(vec![]));
}

/// A frame does not see the output of the frame before.
#[test]
fn frames_do_not_share_tables_or_output() {
    let content = content("text", 4000);
    let stored = frame(&content, 3, &[CParameter::ContentSizeFlag(false)], &[]);
    let raw = of_blocks(20, &[(0, 4000, &content)]);
    // The second frame begins with a match: no literals, one sequence of predefined codes with an earlier distance.
    let matched = of_blocks(20, &[(2, 5, &[0x00, 0x01, 0x00, 0x00, 0x20])]);
    for first in [&stored, &raw] {
        assert_eq!(ours(&[], &[&first[..], &matched].concat(), 5000), Err(Malformed));
    }
    // Literals that repeat the table of the frame before, and sequences that do.
    let treeless = of_blocks(20, &[(2, 5, &[0x13, 0x40, 0x00, 0x01, 0x00])]);
    assert_eq!(ours(&[], &[&stored[..], &treeless].concat(), 5000), Err(Malformed));
    let repeats = of_blocks(20, &[(2, 4, &[0x08, 7, 0x01, 0xfc])]);
    assert_eq!(ours(&[], &[&stored[..], &repeats].concat(), 5000), Err(Malformed));
}

/// Each table is that of a block before in the frame, and of no block in another frame.
#[test]
fn each_table_is_forgotten() {
    // One literal, and one sequence with tables of one symbol each: 1 literal, the distance before, a match of 3.
    let tables = of_blocks(17, &[(2, 8, &[0x08, 7, 1, 0x54, 1, 0, 0, 1])]);
    assert_eq!(ours(&[], &tables, 100), Ok(vec![7; 4]));
    for (modes, symbols) in [(0xd4, [0, 0]), (0x74, [1, 0]), (0x5c, [1, 0])] {
        let block = [&[0x08, 7, 1, modes][..], &symbols, &[1]].concat();
        let both = of_blocks(17, &[(2, 8, &[0x08, 7, 1, 0x54, 1, 0, 0, 1]), (2, block.len(), &block)]);
        assert_eq!(ours(&[], &both, 100), Ok(vec![7; 8]), "{modes:x}");
        assert_eq!(libzstd(&[], &both, 100), Ok(vec![7; 8]), "{modes:x}");
        let alone = of_blocks(17, &[(2, block.len(), &block)]);
        assert_eq!(ours(&[], &[tables.clone(), alone].concat(), 100), Err(Malformed), "{modes:x}");
    }
}

/// The codes of literals are those of a block before in the frame.
#[test]
fn codes_of_literals_are_of_one_frame() {
    // One literal in a code of one bit, with a description of the codes and without.
    let described = (2, 7, &[0x12, 0xc0, 0, 128, 0x10, 0b11, 0][..]);
    let treeless = (2, 5, &[0x13, 0x40, 0, 0b11, 0][..]);
    let first = of_blocks(17, &[described]);
    let decoded = ours(&[], &first, 10).unwrap();
    assert_eq!(decoded.len(), 1);
    assert_eq!(ours(&[], &of_blocks(17, &[described, treeless]), 10), Ok(decoded.repeat(2)));
    assert_eq!(ours(&[], &[first, of_blocks(17, &[treeless])].concat(), 10), Err(Malformed));
}

/// Returns the description of a table of `2^log` states with these numbers of states for each symbol.
fn described(log: u32, counts: &[u32]) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut put = |value: u32, width: u32| bits.extend((0..width).map(|at| (value >> at & 1) as u8));
    put(log - 5, 4);
    let (mut left, mut rest) = (1_u32 << log, counts);
    while let [count, after @ ..] = rest {
        rest = after;
        let (value, most) = (count + 1, left + 1);
        let width = u32::BITS - most.leading_zeros();
        let half = 1 << (width - 1);
        let short = 2 * half - 1 - most;
        match value {
            _ if value < short => put(value, width - 1),
            _ => put(value + if value < half { 0 } else { short }, width),
        }
        left -= count;
        if *count == 0 {
            let zeros = rest.iter().take_while(|count| **count == 0).count();
            (0..zeros / 3).for_each(|_| put(3, 2));
            put(zeros as u32 % 3, 2);
            rest = &rest[zeros..];
        }
    }
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// The last symbol of an alphabet may have states. The one behind it does not exist.
#[test]
fn symbols_of_each_alphabet() {
    for (alphabet, count) in [
        (Alphabet::LiteralLengths, 36),
        (Alphabet::Offsets, 32),
        (Alphabet::MatchLengths, 53),
        (Alphabet::Weights, 12),
    ] {
        let read = |count: usize| {
            let counts = [&[16][..], &vec![0; count - 2], &[16]].concat();
            fse::Table::<32>::new().read(alphabet, &described(5, &counts)).map(<[u8]>::len)
        };
        assert_eq!((read(count), read(count + 1)), (Some(0), None), "{count}");
    }
}

/// Returns a dictionary for pieces of a text.
fn trained(text: &[u8]) -> Vec<u8> {
    let samples: Vec<&[u8]> = text.chunks(1000).collect();
    zstd::dict::from_samples(&samples, 8000).unwrap()
}

/// The distances that a dictionary states lead into its content.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn distances_of_a_dictionary() {
    let text = content("text", 200_000);
    let trained = trained(&text);
    let first = trained.windows(12).position(|bytes| *bytes == [1, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0]).unwrap();
    let length = (trained.len() - first - 12) as u32;
    let stored = of_blocks(17, &[(0, 3, &[7, 8, 9])]);
    for at in [first, first + 4, first + 8] {
        for (distance, is_sound) in [(0, false), (1, true), (length, true), (length + 1, false)] {
            let mut dictionary = trained.clone();
            dictionary[at..at + 4].copy_from_slice(&distance.to_le_bytes());
            let expected = if is_sound { Ok(vec![7, 8, 9]) } else { Err(Malformed) };
            assert_eq!(ours(&dictionary, &stored, 3), expected, "{distance}");
        }
    }
}

/// Literals are near to their places if a destination has no more room than the output.
#[test]
fn literals_that_move_a_few_bytes() {
    let literals: Vec<u8> = (1..=20).collect();
    for first in 1..16_u8 {
        for more in 0..20_u8 {
            // A number of literals, a match of 3 bytes or more at the distance 1, and the rest of the literals.
            let block = [&[20 << 3][..], &literals, &[1, 0x54, first, 0, more, 1]].concat();
            let stored = of_blocks(17, &[(2, block.len(), &block)]);
            let (before, after) = literals.split_at(first.into());
            let expected = [before, &vec![first; 3 + usize::from(more)], after].concat();
            for room in [0, 1, 100] {
                assert_eq!(ours(&[], &stored, expected.len() + room).as_ref(), Ok(&expected), "{first} {more}");
            }
            assert_eq!(libzstd(&[], &stored, expected.len()), Ok(expected), "{first} {more}");
        }
    }
}

/// If bits are missing, a stream is malformed, even if it needs more room.
#[test]
fn missing_bits_of_a_sequence() {
    // Two literals, and two sequences of a distance with two bits. The first one has only one bit.
    let stored = of_blocks(17, &[(2, 9, &[0x10, 7, 7, 2, 0x54, 1, 2, 0, 0b10])]);
    for room in 2..12 {
        assert!(ours(&[], &stored, room).is_err(), "{room}");
    }
    assert_eq!(ours(&[], &stored, 7), Err(Malformed));
    let sound = of_blocks(17, &[(2, 9, &[0x10, 7, 7, 2, 0x54, 1, 2, 0, 0b1_0000])]);
    assert_eq!(ours(&[], &sound, 7), Err(DoesNotFit));
    assert_eq!(ours(&[], &sound, 8), Ok(vec![7; 8]));
}

/// The weights of a Huffman table leave a last one that is a power of two, and codes of at most 11 bits.
#[test]
fn weights_of_literals() {
    let read = |weights: &[u8]| {
        let packed = weights.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or_default());
        let described: Vec<u8> = std::iter::once(127 + weights.len() as u8).chain(packed).collect();
        huffman::Table::new().read(&described).map(<[u8]>::len)
    };
    for (weights, is_sound) in [
        (&[1][..], true),
        (&[1, 1], true),
        (&[1, 1, 1], true),
        (&[1, 1, 1, 1, 1], false), // 3 of 8 are left
        (&[1, 1, 1, 1, 1, 1], true),
        (&[1, 1, 2, 3], true),
        (&[2], false),       // two of the longest codes differ in the last bit
        (&[2, 2, 1], false), // 3 of 8 are left
        (&[2, 2, 1, 1], true),
        (&[3, 2], false),
        (&[], false),
        (&[0], false),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], true),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], false), // codes of 12 bits
        (&[1, 1, 13], false),
    ] {
        assert_eq!(read(weights), is_sound.then_some(0), "{weights:?}");
    }
}

#[test]
fn raw_and_repeated_blocks() {
    let bytes = content("random", 1000);
    let stored = of_blocks(17, &[(0, 1000, &bytes), (1, 70_000, &[9]), (0, 0, &[]), (1, 0, &[8]), (0, 1, &[3])]);
    let expected = [&bytes[..], &vec![9; 70_000], &[3]].concat();
    assert_eq!(ours(&[], &stored, 71_001).unwrap(), expected);
    assert_eq!(libzstd(&[], &stored, 71_001).unwrap(), expected);
    assert_eq!(ours(&[], &stored, 80_000).unwrap(), expected);
    assert_eq!(ours(&[], &stored, 71_000), Err(DoesNotFit));
    assert_eq!(ours(&[], &stored, 999), Err(DoesNotFit));
    // No block is larger than the window, or than 128 KiB.
    for (log, size, expected) in [
        (10, 1024, Ok(vec![9; 1024])),
        (10, 1025, Err(Malformed)),
        (17, 131_072, Ok(vec![9; 131_072])),
        (20, 131_073, Err(Malformed)),
    ] {
        assert_eq!(ours(&[], &of_blocks(log, &[(1, size, &[9])]), 200_000), expected, "{log} {size}");
        let raw = of_blocks(log, &[(0, size, &vec![9; size])]);
        assert_eq!(ours(&[], &raw, 200_000), expected, "{log} {size}");
    }
    assert_eq!(ours(&[], &of_blocks(17, &[(3, 0, &[])]), 10), Err(Malformed));
}

#[test]
fn literals_without_sequences() {
    // Raw, in headers of one, two and three bytes; one byte repeated, in the same headers.
    for (header, length) in [(&[3 << 3][..], 3), (&[3 << 3 | 8], 3), (&[0x34, 0x00], 3), (&[0x3c, 0x00, 0x00], 3)] {
        for is_run in [false, true] {
            let mut block = header.to_vec();
            block[0] |= u8::from(is_run);
            block.extend(if is_run { &[7][..] } else { &[7, 7, 7] });
            block.push(0);
            let stored = of_blocks(17, &[(2, block.len(), &block)]);
            assert_eq!(ours(&[], &stored, length), Ok(vec![7; length]), "{block:x?}");
            assert_eq!(ours(&[], &stored, length + 1), Ok(vec![7; length]), "{block:x?}");
            assert_eq!(ours(&[], &stored, length + 300_000), Ok(vec![7; length]), "{block:x?}");
            assert_eq!(ours(&[], &stored, length - 1), Err(DoesNotFit), "{block:x?}");
            assert_eq!(libzstd(&[], &stored, length), Ok(vec![7; length]), "{block:x?}");
            // Nothing follows the number of sequences, if it is 0.
            let more = [&block[..], &[0]].concat();
            assert_eq!(ours(&[], &of_blocks(17, &[(2, more.len(), &more)]), 10), Err(Malformed), "{block:x?}");
        }
    }
    // More literals than a block may have.
    let block = [0x0d | 1 << 4, 0x00, 0x20, 7, 0]; // 131 073
    assert_eq!(ours(&[], &of_blocks(20, &[(2, 5, &block)]), 200_000), Err(Malformed));
}

#[test]
fn the_most_sequences() {
    // Each of the sequences, which take no bits, copies one literal and repeats it three times. Their number has three
    // bytes.
    let count = 0x7f00 + 1_usize;
    let literals = (count << 4 | 0x0d).to_le_bytes();
    let block = [&literals[..3], &[7, 255, 1, 0, 0x54, 1, 0, 0, 1]].concat();
    let stored = of_blocks(17, &[(2, block.len(), &block)]);
    let expected = vec![7; 4 * count];
    assert_eq!(libzstd(&[], &stored, 4 * count), Ok(expected.clone()));
    assert_eq!(ours(&[], &stored, 4 * count), Ok(expected));
}

#[test]
fn sizes_of_content() {
    let frame = |descriptor: u8, fields: &[u8]| {
        [&[0x28, 0xb5, 0x2f, 0xfd, descriptor], fields, &[3 << 3 | 1, 0, 0, 7, 8, 9]].concat()
    };
    let size = |size: u64, width: usize| size.to_le_bytes()[..width].to_vec();
    for (stored, room, expected) in [
        (frame(0x20, &[3]), 3, Ok(vec![7, 8, 9])),
        (frame(0x20, &[4]), 4, Err(Malformed)),
        (frame(0x20, &[4]), 3, Err(Malformed)),
        (frame(0x20, &[4]), 2, Err(DoesNotFit)),
        (frame(0x20, &[2]), 3, Err(Malformed)),
        (frame(0xa0, &size(3, 4)), 9, Ok(vec![7, 8, 9])),
        (frame(0xe0, &size(3, 8)), 3, Ok(vec![7, 8, 9])),
        (frame(0xe0, &size(1 << 63, 8)), 3, Err(Malformed)),
        (frame(0xe0, &size(1 << 63, 8)), 2, Err(DoesNotFit)),
        (frame(0xe0, &size(u64::MAX, 8)), 300, Err(Malformed)),
        (frame(0x40, &[0, 3, 0]), 1000, Err(Malformed)), // 259
        (frame(0x00, &[0]), 3, Ok(vec![7, 8, 9])),
        (frame(0x00, &[0xff]), 3, Ok(vec![7, 8, 9])),
        (frame(0x08, &[0]), 3, Err(Malformed)),       // reserved
        (frame(0x10, &[0]), 3, Ok(vec![7, 8, 9])),    // unused
        (frame(0x01, &[0, 0]), 3, Ok(vec![7, 8, 9])), // dictionary 0: none
        (frame(0x01, &[0, 1]), 3, Err(Malformed)),
        (frame(0x03, &[0, 0, 0, 0, 1]), 3, Err(Malformed)),
        (frame(0x04, &[0]), 3, Err(Malformed)), // no checksum
    ] {
        assert_eq!(ours(&[], &stored, room), expected, "{stored:x?} {room}");
    }
    let checked = |sum: u32| [frame(0x04, &[0]), sum.to_le_bytes().to_vec()].concat();
    let sum = xxhash_rust::xxh64::xxh64(&[7, 8, 9], 0) as u32;
    assert_eq!(ours(&[], &checked(sum), 3), Ok(vec![7, 8, 9]));
    assert_eq!(ours(&[], &checked(sum ^ 1), 3), Err(Checksum));
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn dictionaries() {
    let text = content("text", 200_000);
    let trained = trained(&text);
    let id = u32::from_le_bytes(trained[4..8].try_into().unwrap());
    let raw = &text[..5000];
    for dictionary in [&trained[..], raw, &[1, 2, 3], &text[..200]] {
        for (length, level) in [(1, 1), (100, 1), (300, 19), (1000, 3), (1000, 19), (50_000, 3), (150_000, 5)] {
            for is_stated in [false, true] {
                for log in [10, 20] {
                    let content = &text[3000..][..length];
                    let set = [CParameter::DictIdFlag(is_stated), CParameter::WindowLog(log)];
                    let stored = frame(content, level, &set, dictionary);
                    let decoded = ours(dictionary, &stored, length);
                    assert!(
                        decoded.as_deref() == Ok(content),
                        "{length} {level} {is_stated} {log} {:?}",
                        decoded.err()
                    );
                    assert!(ours(dictionary, &[&stored[..], &stored].concat(), 2 * length + 9).is_ok());
                    if is_stated && dictionary.starts_with(&[0x37, 0xa4, 0x30, 0xec]) {
                        assert_eq!(ours(&[], &stored, length), Err(Malformed));
                        assert_eq!(ours(raw, &stored, length), Err(Malformed));
                        let mut other = dictionary.to_vec();
                        other[4] ^= 1;
                        assert_eq!(ours(&other, &stored, length), Err(Malformed));
                    }
                }
            }
        }
    }
    // A dictionary is not needed by a frame that does not refer to it.
    let plain = frame(&text[..1000], 3, &[], &[]);
    assert!(ours(&trained, &plain, 1000).as_deref() == Ok(&text[..1000]));
    assert!(id != 0);
    // Damaged dictionaries: never a panic, and where both decode, the same.
    let random = &mut Random(77);
    let stored = frame(&text[3000..4000], 19, &[CParameter::DictIdFlag(false)], &trained);
    for round in 0..3000 {
        let mut damaged = trained.clone();
        for _ in 0..=random.below(2) {
            let at = random.below(if round % 2 == 0 { 150 } else { damaged.len() });
            damaged[at] = random.below(256) as u8;
        }
        if round % 5 == 0 {
            damaged.truncate(random.below(300));
        }
        let (ours, theirs) = (ours(&damaged, &stored, 1000), libzstd(&damaged, &stored, 1000));
        if let Ok(ours) = &ours {
            assert!(theirs.as_ref() == Ok(ours), "{round} {:?}", theirs.err());
        }
    }
}

/// A match may refer to the dictionary, even past the window, until the output is as large as the window.
#[test]
fn the_window_and_the_dictionary() {
    // Sequences whose three codes are repeated: 1 literal, a match of 3, and an offset code with bits.
    let block = |offset: u32| {
        let value = offset + 3;
        let code = value.ilog2();
        let bits = (value - (1 << code)) | 1 << code; // below the bit that ends the stream
        let mut block = vec![0x08, 7, 0x01, 0b0101_0100, 1, code as u8, 0];
        block.extend(&bits.to_le_bytes()[..(code as usize + 1).div_ceil(8)]);
        block
    };
    let run = |length: usize| (1, length, &[9][..]);
    let dictionary = content("random", 3000);
    for (before, offset, dictionary, expected) in [
        (1000, 1001, &[][..], true),
        (1000, 1002, &[], false),
        (1024, 1024, &[], true),
        (1024, 1025, &[], false), // outside the window
        (1000, 1002, &dictionary, true),
        (1000, 4001, &dictionary, true),
        (1000, 4002, &dictionary, false),
        (1023, 4000, &dictionary, true),
        (1024, 4000, &dictionary, false), // the output has 1025 bytes
    ] {
        let block = block(offset);
        let stored = of_blocks(10, &[run(before), (2, block.len(), &block)]);
        let decoded = ours(dictionary, &stored, before + 4);
        assert_eq!(decoded.is_ok(), expected, "{before} {offset} {:?}", decoded.err());
        if let Ok(decoded) = decoded {
            let all = [dictionary, &decoded[..=before]].concat();
            let from = all.len() - offset as usize;
            let copied: Vec<u8> = all[from..].iter().copied().cycle().take(3).collect();
            assert_eq!(decoded[before + 1..], copied, "{before} {offset}");
            assert_eq!(libzstd(dictionary, &stored, before + 4), Ok(decoded), "{before} {offset}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn truncated_frames() {
    for kind in ["text", "f32", "int8", "runs"] {
        let content = content(kind, 3000);
        for set in [&[CParameter::ContentSizeFlag(false)][..], &[CParameter::ChecksumFlag(true)]] {
            let stored = frame(&content, 5, set, &[]);
            for length in 1..stored.len() {
                assert_eq!(ours(&[], &stored[..length], 3000), Err(Malformed), "{kind} {length}");
            }
        }
    }
}

/// Compares three decoders; where ours decodes, libzstd decodes to the same bytes.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn damaged_frames() {
    std::panic::set_hook(Box::new(|info| {
        // ruzstd may panic
        if !info.location().is_some_and(|location| location.file().contains("ruzstd")) {
            std::eprintln!("{info}");
        }
    }));
    let random = &mut Random(0x2545_f491_4f6c_dd1d);
    let (mut sound, mut refused, mut stricter, mut total) = (0, 0, 0, 0);
    for kind in KINDS {
        for (length, level) in [(10, 1), (300, 19), (700, 3), (3000, 1), (3000, 19), (6000, -3), (40_000, 6)] {
            let content = content(kind, length);
            let stored = frame(&content, level, &[CParameter::ContentSizeFlag(level != 3)], &[]);
            for round in 0..if length > 10_000 { 300 } else { 3000 } {
                let mut damaged = stored.clone();
                for _ in 0..=random.below(3) {
                    let near = if round % 3 == 0 { damaged.len() } else { damaged.len().min(60) };
                    let at = random.below(near);
                    match random.below(3) {
                        0 => damaged[at] = random.below(256) as u8,
                        1 => damaged[at] ^= 1 << random.below(8),
                        _ => damaged[at] = damaged[at].wrapping_add(1),
                    }
                }
                let room = [length, length + 1, length + 500, length - 1][random.below(4)];
                total += 1;
                let (ours, theirs) = (ours(&[], &damaged, room), libzstd(&[], &damaged, room));
                match (&ours, &theirs) {
                    (Ok(ours), Ok(theirs)) => {
                        sound += 1;
                        assert!(ours == theirs, "{kind} {length} {level} {round}");
                        if round % 10 == 0 {
                            if let Some(third) = ruzstd(&damaged, room) {
                                assert!(*ours == third, "{kind} {length} {level} {round}");
                            }
                        }
                    }
                    // libzstd supports windows of up to 2 GiB, and 31 is the logarithm.
                    (Ok(_), Err("Frame requires too much memory for decoding")) => {}
                    (Ok(_), Err(error)) => panic!("only ours: {error}: {kind} {length} {level} {round} {damaged:x?}"),
                    // The bits before the start of a literal stream differ, so the bytes may.
                    (Err(error), Ok(_)) => {
                        stricter += 1;
                        let lenient = leniently(&damaged, room).err();
                        assert!(lenient.is_none(), "{error}: {kind} {length} {level} {round} {room} {damaged:x?}");
                    }
                    (Err(_), Err(_)) => refused += 1,
                }
            }
        }
    }
    let _ = std::panic::take_hook();
    std::eprintln!("{total}: {sound} decoded, {refused} refused by both, {stricter} only here");
    assert!(total > 100_000 && sound > 10_000 && refused > 10_000, "{total} {sound} {refused}");
}
