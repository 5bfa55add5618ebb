//! Streams written by libzstd: whole, truncated, changed and synthetic.
#![forbid(unsafe_code)]

use std::io::Write;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::{Result, Seekable};
use crate::codec::decoder::{DecodeError, Decoder};
use crate::error::ErrorKind;
use crate::types::Encoding;

/// Returns a frame with the content `content`; its header states the size only if `has_size`.
fn frame(content: &[u8], level: i32, has_checksum: bool, has_size: bool) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level).unwrap();
    encoder.include_checksum(has_checksum).unwrap();
    if has_size {
        encoder.set_pledged_src_size(Some(content.len() as u64)).unwrap();
    }
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An entry of the table: the stored length of a frame, its content length and perhaps a checksum.
type Entry = (usize, usize, Option<u32>);

/// Returns the table of frames.
fn table(frames: &[Entry]) -> Vec<u8> {
    let mut entries = Vec::new();
    for (stored, content, checksum) in frames {
        entries.extend((*stored as u32).to_le_bytes());
        entries.extend((*content as u32).to_le_bytes());
        entries.extend(checksum.iter().flat_map(|sum| sum.to_le_bytes()));
    }
    let has_checksums = frames.iter().any(|(.., checksum)| checksum.is_some());
    let mut table = vec![0x5e, 0x2a, 0x4d, 0x18];
    table.extend((entries.len() as u32 + 9).to_le_bytes());
    table.extend(entries);
    table.extend((frames.len() as u32).to_le_bytes());
    table.extend([if has_checksums { 0x80 } else { 0 }, 0xb1, 0xea, 0x92, 0x8f]);
    table
}

/// Joins frames and their table.
fn joined(frames: &[(Vec<u8>, usize)], has_checksums: bool) -> Vec<u8> {
    let entry = |(frame, content): &(Vec<u8>, usize)| {
        let checksum = u32::from_le_bytes(*frame.last_chunk().unwrap());
        (frame.len(), *content, has_checksums.then_some(checksum))
    };
    let entries: Vec<_> = frames.iter().map(entry).collect();
    let mut stream: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.clone()).collect();
    stream.extend(table(&entries));
    stream
}

/// Returns a stream of `content` as the reference implementation writes it, with `chunk` bytes per frame.
pub(crate) fn stream(content: &[u8], chunk: usize) -> Vec<u8> {
    let frames: Vec<_> = content.chunks(chunk).map(|part| (frame(part, 3, true, false), part.len())).collect();
    joined(&frames, false)
}

/// Returns bytes that compress, and bytes that do not.
pub(crate) fn content(length: usize) -> Vec<u8> {
    let mut seed = 1_u32;
    let byte = |i: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if i % 1000 < 600 { (i / 50) as u8 } else { (seed >> 24) as u8 }
    };
    (0..length).map(byte).collect()
}

/// libzstd with a count of its calls and bytes.
#[derive(Default)]
pub(crate) struct Libzstd {
    pub(crate) calls: usize,
    pub(crate) bytes: usize,
}

impl Decoder for Libzstd {
    fn decode(
        &mut self,
        encoding: Encoding,
        stored: &[u8],
        dst: &mut [u8],
    ) -> core::result::Result<usize, DecodeError> {
        assert_eq!(encoding, Encoding::Zstd);
        self.calls += 1;
        self.bytes += dst.len();
        zstd::bulk::decompress_to_buffer(stored, dst).map_err(|error| match error.to_string() {
            text if text.contains("checksum") => DecodeError::Checksum,
            text if text.contains("too small") => DecodeError::DoesNotFit,
            _ => DecodeError::Malformed,
        })
    }
}

fn whole(stream: &[u8], length: Option<u64>) -> Result<Vec<u8>> {
    let seekable = Seekable::open(stream, length)?;
    let mut dst = vec![0xee; seekable.length() as usize];
    seekable.read(&mut Libzstd::default(), 0, &mut dst, &mut [])?;
    #[cfg(feature = "zstd")]
    {
        let mut other = vec![0xdd; dst.len()];
        seekable.read(&mut crate::codec::BuiltIn::default(), 0, &mut other, &mut []).unwrap();
        assert!(other == dst);
    }
    Ok(dst)
}

#[test]
fn whole_streams() {
    let content = content(300_000);
    for length in [0, 1, 2, 99, 100, 101, 1000, 131_071, 131_072, 131_073, 300_000] {
        for chunk in [1, 3, 100, 4096, 131_072, 300_000, 1 << 20] {
            if length / chunk > 200 {
                continue;
            }
            let content = &content[..length];
            let stream = stream(content, chunk);
            assert_eq!(whole(&stream, Some(length as u64)).unwrap(), content, "{length} by {chunk}");
            assert_eq!(whole(&stream, None).unwrap(), content);
            for wrong in [length as u64 + 1, (length as u64).wrapping_sub(1), u64::MAX] {
                assert_eq!(whole(&stream, Some(wrong)), Err(ErrorKind::DecodedLength));
            }
        }
    }
    assert_eq!(stream(&[], 1).len(), 17); // only the table
}

/// Levels, stated sizes, and checksums in the table.
#[test]
fn forms_of_streams() {
    let content = content(10_000);
    for level in [-5, 1, 3, 19] {
        for (has_size, has_checksums) in [(false, false), (true, false), (false, true), (true, true)] {
            let part = |part: &[u8]| (frame(part, level, true, has_size), part.len());
            let frames: Vec<_> = content.chunks(300).map(part).collect();
            assert_eq!(whole(&joined(&frames, has_checksums), Some(10_000)).unwrap(), content);
        }
    }
}

/// A frame states the size of its content in one byte, in two bytes minus 256, or in four.
#[test]
fn sizes_that_frames_state() {
    let content = content(66_000);
    for (length, width) in [(255, 0), (256, 1), (511, 1), (512, 1), (1000, 1), (65_791, 1), (65_792, 2)] {
        let frame = frame(&content[..length], 1, true, true);
        assert_eq!(frame[4] >> 6, width, "{length}");
        let stream = joined(&[(frame, length)], false);
        assert_eq!(whole(&stream, Some(length as u64)).as_deref(), Ok(&content[..length]), "{length}");
    }
}

#[test]
fn ranges() {
    let content = content(1050);
    for chunk in [1, 7, 100, 105, 2000] {
        let stream = stream(&content, chunk);
        let seekable = Seekable::open(&stream, Some(1050)).unwrap();
        let largest = seekable.largest_frame() as usize;
        assert_eq!(largest, chunk.min(1050));
        for start in (0..=1050).step_by(if chunk < 100 { 35 } else { 5 }) {
            for length in [0, 1, 2, 6, 7, 8, 99, 100, 101, 210, 1049, 1050] {
                let end = start + length;
                let (mut dst, mut scratch, mut decoder) = (vec![0; length], vec![0; largest], Libzstd::default());
                let read = seekable.read(&mut decoder, start as u64, &mut dst, &mut scratch);
                if end > 1050 {
                    assert_eq!((read, decoder.calls), (Err(ErrorKind::NoSuchElement), 0));
                    continue;
                }
                assert_eq!(read, Ok(()));
                assert_eq!(dst, content[start..end], "{start}..{end} by {chunk}");
                // Only the frames that overlap the range are decoded, each of them once.
                let touched = if length == 0 { 0 } else { (end - 1) / chunk - start / chunk + 1 };
                assert_eq!(decoder.calls, touched, "{start}..{end} by {chunk}");
                // A frame that overlaps in part needs scratch memory; without it, nothing is written.
                let is_even = start % chunk == 0 && (end % chunk == 0 || end == 1050) || length == 0;
                dst.fill(0xaa);
                let read = seekable.read(&mut decoder, start as u64, &mut dst, &mut []);
                assert_eq!(read.is_ok(), is_even, "{start}..{end} by {chunk}");
                if !is_even {
                    assert_eq!((read, dst), (Err(ErrorKind::OutOfScratch), vec![0xaa; length]));
                }
            }
        }
        let mut decoder = Libzstd::default();
        assert_eq!(seekable.read(&mut decoder, u64::MAX, &mut [0], &mut [0; 2000]), Err(ErrorKind::NoSuchElement));
    }
}

#[test]
fn every_truncation_and_every_mutation() {
    let content = content(500);
    for has_checksums in [false, true] {
        let frames: Vec<_> = content.chunks(120).map(|part| (frame(part, 3, true, true), part.len())).collect();
        let stream = joined(&frames, has_checksums);
        for end in 0..stream.len() {
            assert!(whole(&stream[..end], Some(500)).is_err(), "{end}");
            assert!(whole(&stream[end + 1..], Some(500)).is_err(), "{end}");
        }
        let (mut refused, mut accepted) = (0, Vec::new());
        let mut changed = stream.clone();
        for at in 0..stream.len() {
            for bit in 0..8 {
                changed[at] ^= 1 << bit;
                // A change that is still accepted does not change the content: an unused bit of a frame's descriptor,
                // and the bit that turns a one-byte size into a window.
                match whole(&changed, Some(500)) {
                    Ok(decoded) => {
                        assert_eq!(decoded, content, "{at} {bit}");
                        accepted.push(bit);
                    }
                    Err(_) => refused += 1,
                }
                changed[at] ^= 1 << bit;
            }
        }
        assert_eq!(accepted, [[4, 5]; 5].concat());
        assert_eq!(refused + 10, stream.len() * 8);
    }
}

#[test]
fn tables_that_lie() {
    let content = content(1000);
    let parts: Vec<_> = content.chunks(300).map(|part| (frame(part, 3, true, false), part.len())).collect();
    let all: Vec<u8> = parts.iter().flat_map(|(frame, _)| frame.clone()).collect();
    let honest: Vec<_> = parts.iter().map(|(frame, content)| (frame.len(), *content, None)).collect();
    let with = |entries: &[Entry]| {
        let stream = [all.clone(), table(entries)].concat();
        whole(&stream, None)
    };
    assert!(with(&honest).is_ok());
    let lie = |change: fn(&mut Vec<Entry>)| {
        let mut entries = honest.clone();
        change(&mut entries);
        with(&entries)
    };
    let table_error = Err(ErrorKind::InvalidSeekTable);
    // Lengths that do not add up, or do not match the positions of the frames.
    assert_eq!(lie(|entries| entries[0].0 += 1), table_error);
    assert_eq!(lie(|entries| entries[3].0 -= 1), table_error);
    assert_eq!(lie(|entries| entries[0].0 = u32::MAX as usize), table_error);
    assert_eq!(lie(|entries| entries.truncate(3)), table_error);
    assert_eq!(lie(|entries| entries.push((0, 0, None))), table_error); // the entry before it is too short
    assert_eq!(
        lie(|entries| {
            entries[1].0 += 1;
            entries[2].0 -= 1;
        }),
        Err(ErrorKind::InvalidFrame)
    );
    // More frames than the bytes allow, although all bytes belong to frames.
    let last = honest.last().map_or(0, |(frame, ..)| *frame);
    let stream = [&all[..all.len() - last], &table(&[&honest[..3], &[(1, 300, None)]].concat())].concat();
    assert_eq!(whole(&stream, None), table_error);
    // Contents that are not equal, too large, or different from the frames.
    assert_eq!(lie(|entries| entries[1].1 -= 1), table_error);
    assert_eq!(lie(|entries| entries.iter_mut().for_each(|entry| entry.1 = (16 << 20) + 1)), table_error);
    assert_eq!(lie(|entries| entries.iter_mut().for_each(|entry| entry.1 = 16 << 20)), Err(ErrorKind::InvalidFrame));
    // No size in the frames: the size of a raw block disagrees, or else the decoded size.
    let disagree = [table_error.clone(), Err(ErrorKind::InvalidFrame)];
    assert!(disagree.contains(&lie(|entries| entries.iter_mut().for_each(|entry| entry.1 = 299))));
    assert!(disagree.contains(&lie(|entries| entries[3].1 += 1)));
    assert!(disagree.contains(&lie(|entries| entries[3].1 -= 1)));
    let zeros = frame(&[0; 1000], 3, true, false);
    for size in [999, 1001] {
        assert!(disagree.contains(&whole(&joined(&[(zeros.clone(), size)], false), None)));
    }
    let text = b"to be or not to be, that is the question; to be or not to be".repeat(3);
    for size in [text.len() - 1, text.len() + 1] {
        assert_eq!(whole(&joined(&[(frame(&text, 19, true, false), size)], false), None), table_error);
        // A size that the frame states is checked before anything is decoded.
        let stated = joined(&[(frame(&text, 19, true, true), size)], false);
        assert_eq!(whole(&stated, None), Err(ErrorKind::InvalidFrame));
    }
    assert_eq!(lie(|entries| entries.iter_mut().for_each(|entry| entry.2 = Some(5))), table_error);

    // An invalid table.
    let stream = [all.clone(), table(&honest)].concat();
    let at = all.len();
    for (offset, byte) in [(0, 0x50), (3, 0x19), (4, 0), (8 + 32 + 4, 1), (8 + 32 + 4, 0x81), (8 + 32 + 8, 0)] {
        let mut changed = stream.clone();
        changed[at + offset] = byte;
        assert_eq!(whole(&changed, None), table_error, "{offset}");
    }
    let mut changed = stream.clone();
    changed[at + 8 + 32..][..4].fill(0xff); // 4294967295 frames
    assert_eq!(whole(&changed, None), table_error);
    assert_eq!(whole(&[&stream[..], &[0]].concat(), None), table_error);
    assert_eq!(whole(&all, None), table_error);
    // Bytes before the frames, and between the frames and the table.
    assert_eq!(whole(&[&[0], &stream[..]].concat(), None), table_error);
}

/// Frames that do not overlap a range are not checked.
#[test]
fn ranges_beside_invalid_frames() {
    let content = content(300);
    let frames: Vec<_> =
        content.chunks(100).map(|part| (frame(part, 3, part[0] != content[100], false), 100)).collect();
    let stream = joined(&frames, false);
    let seekable = Seekable::open(&stream, None).unwrap();
    for (range, is_good) in [(0..100, true), (10..90, true), (200..300, true), (99..101, false), (0..300, false)] {
        let (mut dst, mut scratch) = (vec![0; range.len()], [0; 100]);
        let mut decoder = Libzstd::default();
        let read = seekable.read(&mut decoder, range.start as u64, &mut dst, &mut scratch);
        assert_eq!(read, if is_good { Ok(()) } else { Err(ErrorKind::InvalidFrame) }, "{range:?}");
        // If a frame in the range is invalid, the frames before it are not decoded either.
        assert_eq!(decoder.calls > 0, is_good, "{range:?}");
        assert!(!is_good || dst == content[range]);
    }
}

/// A frame must be a single frame, with a checksum, without a dictionary, and must agree with the table.
#[test]
fn frames_that_are_not_as_required() {
    let content = content(300);
    let good = frame(&content, 3, true, true);
    let refused = |frame: &[u8], size: usize| {
        let stream = joined(&[(frame.to_vec(), size)], false);
        assert_eq!(whole(&stream, None), Err(ErrorKind::InvalidFrame));
        let seekable = Seekable::open(&stream, None).unwrap();
        assert_eq!(
            seekable.read(&mut Libzstd::default(), 0, &mut [0], &mut vec![0; size]),
            Err(ErrorKind::InvalidFrame)
        );
    };
    assert!(whole(&joined(&[(good.clone(), 300)], true), Some(300)).is_ok());
    refused(&frame(&content, 3, false, true), 300);
    refused(&good, 301);
    refused(&good, 299);
    refused(&[&good[..], &good[..]].concat(), 600);
    refused(&[&good[..], &[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]].concat(), 300);
    refused(&[&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0], &good[..]].concat(), 300);
    refused(&good[..good.len() - 1], 300);
    let mut with_dictionary = good.clone();
    with_dictionary[4] |= 1;
    with_dictionary.insert(5, 7);
    refused(&with_dictionary, 300);
    let mut reserved = good.clone();
    reserved[4] |= 8;
    refused(&reserved, 300);
    // A block of the reserved type, and a block that is too large: header, window, one block, checksum.
    for block in [[7, 0, 0], [0x09, 0x00, 0x10]] {
        let mut made_up = vec![0x28, 0xb5, 0x2f, 0xfd, 4, 0x58];
        made_up.extend(block);
        made_up.resize(made_up.len() + (1 << 17) + 1, 0);
        made_up.extend([0; 4]);
        refused(&made_up, 300);
    }
    // A frame of 16 MiB does not fit in a few bytes: it needs a block for each 128 KiB.
    refused(&frame(&content, 3, true, false), 1 << 20);
}

/// The decoded size of the blocks, as far as their headers state it, must agree with the table: minimum, maximum, or
/// exact.
#[test]
fn contents_that_the_blocks_cannot_have() {
    // Raw blocks, repeated bytes, compressed blocks: the type and size in the header, and the number of bytes that
    // follow.
    let block = |kind: u32, size: u32, is_last: bool| {
        let header = (size << 3 | kind << 1 | u32::from(is_last)).to_le_bytes();
        [header[..3].to_vec(), vec![0; if kind == 1 { 1 } else { size as usize }]].concat()
    };
    let made_up =
        |blocks: &[Vec<u8>]| [&[0x28, 0xb5, 0x2f, 0xfd, 4, 0x58][..], &blocks.concat()[..], &[0; 4]].concat();
    let is_valid = |frame: &[u8], content: usize| {
        let stream = joined(&[(frame.to_vec(), content)], false);
        let seekable = Seekable::open(&stream, None).unwrap();
        let mut decoder = Libzstd::default();
        let read = seekable.read(&mut decoder, 0, &mut vec![0; content], &mut []);
        assert_eq!(decoder.calls == 0, read == Err(ErrorKind::InvalidFrame));
        decoder.calls == 1
    };
    let most = 1 << 17;
    for (blocks, least, most) in [
        (vec![block(0, 300, true)], 300, 300),
        (vec![block(1, 300, true)], 300, 300),
        (vec![block(1, most, true)], most, most),
        (vec![block(0, 0, true)], 0, 0),
        (vec![block(2, 10, true)], 0, most),
        (vec![block(0, 100, false), block(1, 50, true)], 150, 150),
        (vec![block(0, 100, false), block(2, 9, false), block(1, 50, true)], 150, 150 + most),
        (vec![block(2, 9, false), block(2, 9, true)], 0, 2 * most),
    ] {
        let frame = made_up(&blocks);
        for content in [least, least + 1, most.wrapping_sub(1), most, most + 1, least.wrapping_sub(1)] {
            if content > 3 << 17 {
                continue; // below 0
            }
            let is_possible = (least..=most).contains(&content);
            assert_eq!(is_valid(&frame, content as usize), is_possible, "{content} in {least}..={most}");
        }
        // Too few or too many bytes for the last block and the checksum.
        assert!(!is_valid(&frame[..frame.len() - 1], least as usize));
        assert!(!is_valid(&[&frame[..], &[0]].concat(), least as usize));
    }
    // More than a block may decode to, although the table agrees.
    assert!([block(0, most + 1, true), block(1, most + 1, true), block(2, most + 1, true)].iter().all(|block| {
        let frame = made_up(std::slice::from_ref(block));
        !is_valid(&frame, most as usize) && !is_valid(&frame, most as usize + 1)
    }));
    for wrong in [block(3, 10, true), block(1, most + 1, true), block(0, 10, false)] {
        assert!((0..20).all(|content| !is_valid(&made_up(std::slice::from_ref(&wrong)), content)));
    }
}

/// Empty frames, which no rule forbids: each is decoded once when everything is read, and not at all for a range next
/// to it.
#[test]
fn empty_frames() {
    let empty = (frame(&[], 3, true, false), 0);
    let stream = joined(&vec![empty.clone(); 50], true);
    assert_eq!(whole(&stream, Some(0)), Ok(vec![]));
    let last = (frame(&[1, 2, 3], 3, true, false), 3);
    let stream = joined(&[empty.clone(), empty, last], false);
    assert_eq!(whole(&stream, Some(3)), Ok(vec![1, 2, 3]));
    let mut decoder = Libzstd::default();
    let mut byte = [0];
    Seekable::open(&stream, None).unwrap().read(&mut decoder, 1, &mut byte, &mut [0; 3]).unwrap();
    assert_eq!((byte, decoder.calls), ([2], 1));
}

/// Reading the whole stream decodes every frame once; reading a range decodes only the frames in the range.
#[test]
fn work() {
    let content = content(1 << 20);
    for chunk in [1 << 10, 1 << 14, 1 << 20] {
        let stream = stream(&content, chunk);
        let seekable = Seekable::open(&stream, None).unwrap();
        let (mut dst, mut scratch) = (vec![0; 1 << 20], vec![0; chunk]);
        let mut decoder = Libzstd::default();
        seekable.read(&mut decoder, 0, &mut dst, &mut []).unwrap();
        assert_eq!((decoder.calls, decoder.bytes), ((1 << 20) / chunk, 1 << 20));
        let mut decoder = Libzstd::default();
        seekable.read(&mut decoder, 5, &mut dst[..100], &mut scratch).unwrap();
        assert_eq!((decoder.calls, decoder.bytes), (1, chunk));
        let mut all = Vec::new();
        let mut decoder = Libzstd::default();
        seekable
            .each(&mut decoder, &mut scratch, |content, is_last| {
                all.extend_from_slice(content);
                assert_eq!(is_last, all.len() == 1 << 20);
            })
            .unwrap();
        assert!(all == content && decoder.bytes == 1 << 20);
        let too_small = seekable.each(&mut decoder, &mut scratch[1..], |_, _| panic!());
        assert_eq!(too_small, Err(ErrorKind::OutOfScratch));
    }
}
