//! Blosc2 frames with one wrong field: the kind and part of each error, and the byte that it points to.
#![cfg(feature = "b2nd")]

use crate::support::frames::{Chunk, Frame, NOT_SPLIT, all_first, copied, of_streams, of_variable_blocks, repeated};
use tenslice::ErrorKind::*;
use tenslice::{Error, ErrorKind, File, Part, ReadOptions};

type Found = (ErrorKind, Part, Option<u64>);

fn found(error: Error) -> Found {
    (error.kind(), error.part(), error.offset())
}

fn patched(bytes: &[u8], at: usize, patch: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

/// The offsets of the parts of [`array`]: the contents of its metalayers, the chunks, the table of their offsets, the
/// trailer and its end.
const ARRAY: u64 = 128;
const SECOND: u64 = 162;
const CHUNKS: u64 = 180;
const TABLE: u64 = 308;
const TRAILER: u64 = 356;
const TAIL: u64 = 416;
const LENGTH: u64 = 439;

/// An array of 64 bytes in two chunks, with two more metalayers, and one in the trailer.
fn array() -> Vec<u8> {
    let content: Vec<u8> = (0..64).collect();
    let chunks = [copied(&content[..32]), copied(&content[32..])];
    let offsets = [0, chunks[0].len() as u64].map(u64::to_le_bytes).concat();
    let bytes = Frame {
        chunks: &chunks.concat(),
        table: &copied(&offsets),
        length: 64,
        chunk_length: 32,
        array: Some((&[64][..], &[32][..], &[8][..])),
        metalayers: &[("xy", &b"more"[..]), ("xz", &b"most"[..])],
        variable_metalayers: &[("v", &copied(b"text"))],
    }
    .bytes();
    assert_eq!(bytes.len() as u64, LENGTH);
    assert_eq!((bytes[ARRAY as usize], bytes[SECOND as usize], bytes[TAIL as usize]), (0x97, 0xc6, 0xce));
    assert_eq!((bytes[CHUNKS as usize], bytes[TABLE as usize], bytes[TRAILER as usize]), (5, 5, 0x94));
    bytes
}

#[test]
fn errors_of_frames() {
    let good = array();
    let read = |bytes: &[u8]| -> Result<Vec<u8>, Error> {
        let file = File::open(bytes)?;
        let mut dst = vec![0; 64];
        file.as_b2nd().unwrap().read_region(&[0], &[64], &mut dst, ReadOptions::new())?;
        Ok(dst)
    };
    assert_eq!(read(&good), Ok((0..64).collect()));
    // The offset of the patch, the patched bytes, and the expected kind, part and offset of the error.
    let cases: &[(u64, &[u8], ErrorKind, Part, u64)] = &[
        (15, &[0xce], WrongMarker, Part::Header, 15),
        (24, &[0xa5], WrongMarker, Part::Header, 24),
        (29, &[0xd2], WrongMarker, Part::Header, 29),
        (38, &[0xd2], WrongMarker, Part::Header, 38),
        (47, &[0xd3], WrongMarker, Part::Header, 47),
        (52, &[0xd3], WrongMarker, Part::Header, 52),
        (57, &[0xd3], WrongMarker, Part::Header, 57),
        (62, &[0xd2], WrongMarker, Part::Header, 62),
        (65, &[0xd2], WrongMarker, Part::Header, 65),
        (68, &[0xc4], WrongMarker, Part::Header, 68),
        (69, &[0xd9], WrongMarker, Part::Header, 69),
        (25, &[0x10], UnsupportedVersion, Part::Version, 25),
        (25, &[0x14], UnsupportedVersion, Part::Version, 25),
        (25, &[0x02], UnknownFlags, Part::Flags, 25), // offsets of 32 bits
        (25, &[0x22], UnknownFlags, Part::Flags, 25),
        (26, &[1], SparseFrame, Part::Header, 26),
        (26, &[2], UnknownFlags, Part::Header, 26),
        (11, &[0x80], NegativeLength, Part::Header, 11),
        (30, &[0x80], NegativeLength, Part::Header, 30),
        (39, &[0x80], NegativeLength, Part::Header, 39),
        (48, &[0x80], NegativeLength, Part::Header, 48),
        (53, &[0x80], NegativeLength, Part::Header, 53),
        (58, &[0xff; 4], NegativeLength, Part::Header, 58), // -1 is for frames without chunks
        (48, &[0; 4], ZeroLength, Part::Header, 48),
        (48, &[0, 0, 0, 0, 0xd2, 0x80], NegativeLength, Part::Header, 53),
        (70, &[7], TooMany, Part::Filter, 70),
        // The lengths of the header and of the frame. The trailer has at least 35 bytes.
        (11, &86_u32.to_be_bytes(), FrameLengths, Part::Header, 11),
        (11, &(LENGTH as u32 - 34).to_be_bytes(), FrameLengths, Part::Header, 11),
        (11, &(LENGTH as u32 - 35).to_be_bytes(), FrameLengths, Part::Trailer, TAIL + 1),
        (16, &(LENGTH + 1).to_be_bytes(), Truncated, Part::File, 16),
        (16, &121_u64.to_be_bytes(), FrameLengths, Part::Header, 16),
        (16, &122_u64.to_be_bytes(), FrameLengths, Part::Header, 11),
        // The length of the chunks: up to the trailer, which leaves no room for a table.
        (39, &(TRAILER - CHUNKS + 1).to_be_bytes(), FrameLengths, Part::Chunk, 39),
        (39, &(TRAILER - CHUNKS).to_be_bytes(), OutOfPlace, Part::Chunk, TRAILER),
        // The end of the trailer, and its start.
        (TAIL, &[0xcd], WrongMarker, Part::Trailer, TAIL),
        (TAIL + 1, &34_u32.to_be_bytes(), FrameLengths, Part::Trailer, TAIL + 1),
        (TAIL + 1, &(LENGTH as u32 - CHUNKS as u32 + 1).to_be_bytes(), FrameLengths, Part::Trailer, TAIL + 1),
        (TAIL + 5, &[0xd7], WrongMarker, Part::Trailer, TAIL + 5),
        (TAIL + 6, &[1], WrongMarker, Part::Trailer, TAIL + 6),
        (TRAILER, &[0x93], WrongMarker, Part::Trailer, TRAILER),
        (TRAILER + 1, &[0x80], WrongMarker, Part::Version, TRAILER + 1),
        // The index of the metalayers: their count, then the name of each and the offset of its content.
        (87, &[0x92], WrongMarker, Part::Metalayer, 87),
        (88, &[0xcc], WrongMarker, Part::Metalayer, 87),
        (91, &[0xdf], WrongMarker, Part::Metalayer, 87),
        (92, &[0, 17], TooMany, Part::Metalayer, 92),
        (92, &[0, 4], WrongMarker, Part::Metalayer, 120),
        (92, &[0, 2], WrongMarker, Part::Metalayer, 112),
        (94, &[0xc4], WrongMarker, Part::Metalayer, 94),
        (95, &[0xff], InvalidUtf8, Part::Metalayer, 95),
        (99, &[0xd3], WrongMarker, Part::Metalayer, 99),
        (114, b"y", RepeatedKey, Part::Metalayer, 112),
        (100, &122_u32.to_be_bytes(), OutOfPlace, Part::Metalayer, 100),
        (108, &122_u32.to_be_bytes(), OutOfPlace, Part::Metalayer, 108),
        (108, &(CHUNKS as u32 - 4).to_be_bytes(), OutOfPlace, Part::Metalayer, 108),
        (108, &(CHUNKS as u32 - 5).to_be_bytes(), WrongMarker, Part::Metalayer, CHUNKS - 5),
        // The contents of the metalayers.
        (120, &[0xdd], WrongMarker, Part::Metalayer, 120),
        (121, &[0, 2], CountsDiffer, Part::Metalayer, 121),
        (SECOND, &[0xc5], WrongMarker, Part::Metalayer, SECOND),
        (SECOND + 1, &14_u32.to_be_bytes(), OutOfPlace, Part::Metalayer, SECOND + 1),
        // The metalayers of the trailer.
        (TRAILER + 2, &[0x92], WrongMarker, Part::Metalayer, TRAILER + 2),
        (TRAILER + 12, &18_u32.to_be_bytes(), OutOfPlace, Part::Metalayer, TRAILER + 12),
        (TRAILER + 20, &37_u32.to_be_bytes(), OutOfPlace, Part::Metalayer, TRAILER + 20),
        // The array: version, rank, shape, chunk shape, block shape, dtype.
        (ARRAY, &[0x95], WrongMarker, Part::Metalayer, ARRAY),
        (ARRAY + 1, &[1], UnsupportedVersion, Part::Metalayer, ARRAY + 1),
        (ARRAY + 2, &[17], TooMany, Part::Metalayer, ARRAY + 2),
        (ARRAY + 3, &[0x92], WrongMarker, Part::Shape, ARRAY + 3),
        (ARRAY + 4, &[0xd2], WrongMarker, Part::Shape, ARRAY + 4),
        (ARRAY + 5, &[0x80], NegativeLength, Part::Shape, ARRAY + 4),
        (ARRAY + 13, &[0x92], WrongMarker, Part::ChunkShape, ARRAY + 13),
        (ARRAY + 14, &[0xd3], WrongMarker, Part::ChunkShape, ARRAY + 14),
        (ARRAY + 15, &[0x80], NegativeLength, Part::ChunkShape, ARRAY + 14),
        (ARRAY + 19, &[0x92], WrongMarker, Part::BlockShape, ARRAY + 19),
        (ARRAY + 20, &[0xd3], WrongMarker, Part::BlockShape, ARRAY + 20),
        (ARRAY + 21, &[0x80], NegativeLength, Part::BlockShape, ARRAY + 20),
        (ARRAY + 25, &[0x80], WrongMarker, Part::DType, ARRAY + 25),
        (ARRAY + 26, &[0xda], WrongMarker, Part::DType, ARRAY + 26),
        (ARRAY + 27, &2_u32.to_be_bytes(), OutOfPlace, Part::DType, ARRAY + 27),
        (ARRAY + 27, &4_u32.to_be_bytes(), OutOfPlace, Part::DType, ARRAY + 27),
        (ARRAY + 31, &[0xff], InvalidUtf8, Part::DType, ARRAY + 31),
        (ARRAY - 4, &30_u32.to_be_bytes(), Truncated, Part::Metalayer, ARRAY + 30),
        (ARRAY - 4, &2_u32.to_be_bytes(), Truncated, Part::Metalayer, ARRAY + 2),
        // The shapes are compared with each other, with 64 bits, and with the lengths in the header.
        (ARRAY + 21, &33_u32.to_be_bytes(), BlockShape, Part::BlockShape, ARRAY + 4),
        (ARRAY + 21, &0_u32.to_be_bytes(), BlockShape, Part::BlockShape, ARRAY + 4),
        (ARRAY + 5, &i64::MAX.to_be_bytes(), ShapeOverflow, Part::Shape, ARRAY + 4),
        (58, &33_u32.to_be_bytes(), ChunkGrid, Part::Shape, 58),
        (58, &0_u32.to_be_bytes(), ChunkGrid, Part::Shape, 58),
        (58, &64_u32.to_be_bytes(), ChunkGrid, Part::Shape, 48), // elements of 2 bytes, not of 1
        (58, &(32 * 255_u32).to_be_bytes(), ChunkGrid, Part::Shape, 48),
        (58, &(32 * 256_u32).to_be_bytes(), ChunkGrid, Part::Shape, 30), // some writers say 1 for so many bytes
        (30, &65_u64.to_be_bytes(), ChunkGrid, Part::Shape, 30),
        // The number of offsets in the table, and where it ends.
        (TABLE + 4, &17_u32.to_le_bytes(), CountsDiffer, Part::ChunkOffset, TABLE + 4),
        (TABLE + 4, &24_u32.to_le_bytes(), CountsDiffer, Part::ChunkOffset, TABLE + 4),
        (TABLE + 12, &49_u32.to_le_bytes(), OutOfPlace, Part::Chunk, TABLE + 12),
        // An offset past the chunks, an offset with no room for a chunk, and an unknown kind of special chunk.
        (TABLE + 40, &128_u64.to_le_bytes(), OutOfPlace, Part::ChunkOffset, TABLE),
        (TABLE + 40, &113_u64.to_le_bytes(), OutOfPlace, Part::Chunk, CHUNKS + 113),
        (TABLE + 47, &[0x80], SpecialChunk, Part::ChunkOffset, TABLE),
        (TABLE + 47, &[0x83], SpecialChunk, Part::ChunkOffset, TABLE),
        (TABLE + 47, &[0x82], SpecialChunk, Part::ChunkOffset, TABLE), // NaN of one byte
    ];
    for &(at, patch, kind, item, offset) in cases {
        let result = read(&patched(&good, at as usize, patch));
        assert_eq!(result.map_err(found), Err((kind, item, Some(offset))), "{patch:x?} at {at}");
    }
    for (at, patch, part) in
        [(10, 0xd3, ": 211 ["), (25, 0x22, ": 34 ["), (ARRAY + 1, 7, ": 7 ["), (25, 0x14, ": 4 [")]
    {
        let bytes = patched(&good, at as usize, &[patch]);
        let message = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(message.contains(part), "{message}");
    }
    // The largest chunk shape has as many elements as fit in 31 bits.
    let of_chunk = |chunk: &[u32]| {
        let rank = chunk.len();
        let (shape, blocks) = (vec![1; rank], vec![1; rank]);
        let length = chunk.iter().product::<u32>().min(0x7fff_ffff);
        let array = Some((&shape[..], chunk, &blocks[..]));
        let frame = Frame {
            table: &all_first(1),
            length: u64::from(length),
            chunk_length: length,
            array,
            ..Frame::default()
        };
        File::open(&frame.bytes()).map(drop).map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(of_chunk(&[0x7fff_ffff]), Ok(()));
    assert_eq!(of_chunk(&[0x8000, 0x1_0000]), Err((ShapeOverflow, Part::ChunkShape)));
    // The second dimension.
    let array = Some((&[8, 8][..], &[4, 4][..], &[4, 5][..]));
    let bytes = Frame { array, length: 64, chunk_length: 16, ..Frame::default() }.bytes();
    assert_eq!(File::open(&bytes).map(drop).map_err(found), Err((BlockShape, Part::BlockShape, Some(112 + 4 + 9))));
    // Fields that may differ.
    let accepted: &[(u64, &[u8])] = &[
        (25, &[0x11]),
        (25, &[0x13]),
        (68, &[0xc2]),
        (70, &[0]),
        (TRAILER + 1, &[0x7f]),
        (108, &123_u32.to_be_bytes()), // metalayers with the same content
        (ARRAY + 25, &[0x7f]),
    ];
    for &(at, patch) in accepted {
        let result = read(&patched(&good, at as usize, patch));
        assert_eq!(result, Ok((0..64).collect()), "{patch:x?} at {at}");
    }
    // A file that ends right after the fixed part of the header, or before.
    let header = |length: usize| {
        File::open(&patched(&good, 16, &(length as u64).to_be_bytes())[..length]).map(drop).map_err(found)
    };
    assert_eq!(header(87), Err((FrameLengths, Part::Header, Some(16))));
    assert_eq!(header(86), Err((Truncated, Part::Header, Some(86))));
    let cut = &good[..good.len() - 1];
    let error = File::open(cut).unwrap_err();
    let message = error.explain(cut).to_string();
    assert!(
        message.contains(
            "; the file is truncated: it has 438 bytes and should have at least 439 bytes, so at least 1 is missing"
        ),
        "{message}"
    );
    // The message needs only the bytes of the field.
    let message = error.explain(&good[..24]).to_string();
    assert!(
        message.contains("it has 24 bytes and should have at least 439 bytes, so at least 415 are missing"),
        "{message}"
    );

    // A frame without chunks.
    let none = |length: i32| {
        let bytes = patched(&Frame::default().bytes(), 58, &length.to_be_bytes());
        File::open(&bytes).map(drop).map_err(found)
    };
    assert_eq!((none(0), none(-1)), (Ok(()), Ok(())));
    assert_eq!(none(-2), Err((NegativeLength, Part::Header, Some(58))));
    // It also has no table, though there may be unused bytes.
    let bytes = Frame { chunks: b"abc", ..Frame::default() }.bytes();
    assert_eq!(File::open(&bytes).unwrap().as_b2nd().unwrap().table_extent(), tenslice::Extent::new(97, 0));

    // For elements of more than 255 bytes the header may say 1, but no other wrong number.
    let wide = include_bytes!("../fixtures/b2nd/hostile/bytedelta_300.b2nd");
    for (typesize, expected) in [(1_u32, None), (300, None), (2, Some(48)), (299, Some(48))] {
        let result = File::open(&patched(wide, 48, &typesize.to_be_bytes())).map(drop).map_err(found);
        assert_eq!(result.err(), expected.map(|at| (ChunkGrid, Part::Shape, Some(at))), "{typesize}");
    }
}

/// Reads the only chunk of a frame, whose decoded length is `length`. Offsets count from the start of the chunk.
fn read_chunk(chunk: &[u8], length: u32) -> Result<Vec<u8>, Found> {
    const AT: u64 = 97;
    let frame = Frame {
        chunks: chunk,
        table: &all_first(1),
        length: length.into(),
        chunk_length: length,
        ..Frame::default()
    };
    let bytes = frame.bytes();
    let file = File::open(&bytes).unwrap();
    let from_start = |error: Error| (error.kind(), error.part(), error.offset().map(|at| at - AT));
    let chunk = file.as_b2nd().unwrap().chunk(0, ReadOptions::new()).map_err(from_start)?;
    let mut dst = vec![0x55; chunk.decoded_length() as usize];
    let mut scratch = vec![0xaa; chunk.scratch_length() as usize];
    chunk.read_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).map_err(from_start)?;
    Ok(dst)
}

/// Checks that chunks of 32 bytes are rejected with these bytes at an offset.
fn refused(chunk: &[u8], cases: &[(usize, &[u8], ErrorKind, Part, u64)]) {
    for &(at, patch, kind, item, offset) in cases {
        let result = read_chunk(&patched(chunk, at, patch), 32);
        assert_eq!(result, Err((kind, item, Some(offset))), "{patch:x?} at {at}");
    }
}

#[test]
fn errors_of_chunks() {
    let content: Vec<u8> = (100..132).collect();
    let good = copied(&content);
    assert_eq!(read_chunk(&good, 32), Ok(content.clone()));
    refused(
        &good,
        &[
            (3, &[0], ZeroLength, Part::Chunk, 3),
            (7, &[0x80], NegativeLength, Part::Chunk, 4),
            (11, &[0x80], NegativeLength, Part::Chunk, 8),
            (15, &[0x80], NegativeLength, Part::Chunk, 12),
            (8, &[0; 4], ChunkSize, Part::Block, 8),
            (8, &536_866_817_u32.to_le_bytes(), ChunkSize, Part::Block, 8),
            (12, &31_u32.to_le_bytes(), ChunkSize, Part::Chunk, 12), // less than the header
            (12, &63_u32.to_le_bytes(), ChunkSize, Part::Chunk, 12), // less than the content
            (12, &65_u32.to_le_bytes(), OutOfPlace, Part::Chunk, 12),
            (30, &[1], UnsupportedChunk, Part::Flags, 30), // blocks of different lengths in a copied chunk
            (30, &[2], UnsupportedChunk, Part::Flags, 30),
            (31, &[0x08], UnsupportedChunk, Part::Flags, 31),
            (31, &[0x80], UnsupportedChunk, Part::Flags, 31),
            (31, &[0x50], SpecialChunk, Part::Chunk, 31),
        ],
    );
    assert_eq!(read_chunk(&patched(&good, 8, &536_866_816_u32.to_le_bytes()), 32), Ok(content));
    // With the shorter header, which has half the length.
    let short = [&[2, 1, NOT_SPLIT | 2, 1, 8, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0][..], b"abcdefgh"].concat();
    assert_eq!(read_chunk(&short, 8), Ok(b"abcdefgh".to_vec()));
    // Its filters are flags. The flag of the byte shuffle has no effect on elements of one byte.
    for (flags, typesize, expected) in
        [(1, 1, [0, 0]), (1, 2, [0, 1]), (4, 1, [0, 2]), (8, 1, [3, 0]), (9, 2, [3, 1])]
    {
        let bytes = patched(&short, 2, &[NOT_SPLIT | 2 | flags, typesize]);
        let frame = Frame { chunks: &bytes, table: &all_first(1), length: 8, chunk_length: 8, ..Frame::default() };
        let bytes = frame.bytes();
        let chunk = File::open(&bytes).unwrap().as_b2nd().unwrap().chunk(0, ReadOptions::new()).unwrap();
        assert_eq!(chunk.filters(), [0, 0, 0, 0, expected[0], expected[1]], "{flags} {typesize}");
    }

    let special = |kind: u8, typesize: u8, length: u32, payload: &[u8]| {
        let chunk = Chunk {
            length,
            block_size: 32,
            typesize,
            flags: NOT_SPLIT,
            flags1: kind << 4,
            payload,
            ..Chunk::default()
        };
        read_chunk(&chunk.bytes(), 32)
    };
    let at = |kind, item, offset| Err((kind, item, Some(offset)));
    assert_eq!(special(1, 1, 32, &[]), Ok(vec![0; 32]));
    assert_eq!(special(1, 1, 33, &[]), at(ChunkSize, Part::Chunk, 4)); // not the length that the frame states
    assert_eq!(special(2, 4, 32, &[]), Ok(f32::NAN.to_le_bytes().repeat(8)));
    assert_eq!(special(2, 8, 32, &[]), Ok(f64::NAN.to_le_bytes().repeat(4)));
    assert_eq!(special(2, 2, 32, &[]), at(SpecialChunk, Part::Chunk, 3));
    for length in [29, 30, 31] {
        assert_eq!(special(2, 4, length, &[]), at(SpecialChunk, Part::Chunk, 3));
    }
    assert_eq!(special(3, 1, 32, b"ab"), Ok(b"ab".repeat(16)));
    assert_eq!(special(3, 1, 32, &[]), at(SpecialChunk, Part::Chunk, 12));
    assert_eq!(special(3, 1, 32, b"abcde"), at(SpecialChunk, Part::Chunk, 12));
}

#[test]
fn errors_of_blocks() {
    const LZ4: u8 = 1 << 5;
    let (first, second): (Vec<u8>, Vec<u8>) = ((0..16).collect(), (16..32).collect());
    // Two blocks: their offsets at 32, their streams at 40 and 60.
    let chunk = Chunk { length: 32, block_size: 16, flags: LZ4 | NOT_SPLIT, ..Chunk::default() };
    let good = of_streams(chunk, &[&first, &second]);
    assert_eq!((good.len(), read_chunk(&good, 32)), (80, Ok((0..32).collect())));
    let run = |value: i32, token: u8| [&value.to_le_bytes()[..], &[token]].concat();
    let coded = |stored: &[u8]| [&(stored.len() as u32).to_le_bytes()[..], stored].concat();
    refused(
        &good,
        &[
            (2, &[2 << 5 | 0x15], UnsupportedCodec, Part::Codec, 2),
            (2, &[5 << 5 | 0x15], UnsupportedCodec, Part::Codec, 2),
            (2, &[7 << 5 | 0x15], UnsupportedCodec, Part::Codec, 2),
            (8, &[2], CountTooLarge, Part::Block, 8), // 16 blocks, whose offsets take 64 bytes
            (8, &[3], OutOfPlace, Part::Block, 32),   // 11 blocks: the first would be at 76
            (12, &[31], ChunkSize, Part::Chunk, 12),  // less than the header
            (16, &[50], UnsupportedFilter, Part::Filter, 16),
            (19, &[50], UnsupportedFilter, Part::Filter, 19),
            (21, &[32], UnsupportedFilter, Part::Filter, 21),
            (32, &[39], OutOfPlace, Part::Block, 32),
            (36, &[39], OutOfPlace, Part::Block, 36),
            (36, &[80], OutOfPlace, Part::Block, 36),
            (39, &[0x80], OutOfPlace, Part::Block, 36),
            (36, &[79], OutOfPlace, Part::Stream, 79),
            (60, &[17], OutOfPlace, Part::Stream, 60),
            (60, &run(-5, 0), InvalidRun, Part::Stream, 64),
            (60, &run(-256, 1), InvalidRun, Part::Stream, 60),
            (60, &coded(&[0x10, b'x', 5, 0, 0]), CorruptStream, Part::Stream, 64), // a match before the start
            (60, &coded(&[0x10, b'x']), DecodedLength, Part::Stream, 64),          // a byte
        ],
    );
    let frame = |chunk: &[u8]| {
        Frame { chunks: chunk, table: &all_first(1), length: 32, chunk_length: 32, ..Frame::default() }.bytes()
    };
    // The filter is unknown: the message has its name, or its number.
    for (filter, part) in [(32, ": \"ndcell\" ["), (50, ": 50 [")] {
        let bytes = frame(&patched(&good, 21, &[filter]));
        let file = File::open(&bytes).unwrap();
        let error = file
            .as_b2nd()
            .unwrap()
            .read_region(&[0], &[32], &mut [0; 32], ReadOptions::new().scratch(&mut [0; 32]))
            .map(drop)
            .unwrap_err();
        assert_eq!(found(error), (UnsupportedFilter, Part::Filter, Some(97 + 21)));
        let message = error.explain(&bytes[..]).to_string();
        assert!(message.contains(part), "{message}");
    }
    // There is no decoder: the message has the number in the flags, or that of the user's codec, whose byte is the
    // last one read.
    for (codec, user, part) in [(2, 0, ": 2 ["), (7, 0, ": 7 ["), (6, 200, ": 200 ("), (6, 34, ": \"zfp_prec\" (")] {
        let stored = coded(&[0x10, b'x']);
        let chunk = patched(&patched(&patched(&good, 60, &stored), 2, &[codec << 5 | 0x15]), 22, &[user]);
        let bytes = frame(&chunk);
        let file = File::open(&bytes).unwrap();
        let error = file
            .as_b2nd()
            .unwrap()
            .read_region(&[16], &[32], &mut [0; 16], ReadOptions::new().scratch(&mut [0; 16]))
            .map(drop)
            .unwrap_err();
        assert_eq!(found(error), (UnsupportedCodec, Part::Codec, Some(97 + 2)));
        let chunk = file.as_b2nd().unwrap().chunk(0, ReadOptions::new());
        assert_eq!(chunk.is_ok_and(|chunk| chunk.codec() == user), codec == 6);
        for length in [bytes.len(), 97 + if codec == 6 { 23 } else { 3 }] {
            let message = error.explain(&bytes[..length]).to_string();
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(read_chunk(&patched(&good, 60, &run(-255, 1)), 32).unwrap()[16..], [255; 16]);
    assert_eq!(read_chunk(&patched(&good, 60, &run(0, 0)), 32).unwrap()[16..], [0; 16]);
    // A run whose byte is missing.
    let end = patched(&patched(&good, 36, &[76]), 76, &(-5_i32).to_le_bytes());
    assert_eq!(read_chunk(&end, 32), Err((OutOfPlace, Part::Stream, Some(80))));
    // Blocks of 16 bytes in three streams.
    let uneven = patched(&patched(&good, 2, &[LZ4 | 5]), 3, &[3]);
    assert_eq!(read_chunk(&uneven, 32), Err((UnevenSplit, Part::Block, Some(0))));

    // A dictionary follows the offsets: its length, then its bytes.
    let chunk = Chunk { flags1: 1, ..chunk };
    let with_length =
        |length: i32| read_chunk(&patched(&of_streams(chunk, &[&first, &second]), 40, &length.to_le_bytes()), 32);
    for length in [0, -1, 33, 37, 32_769] {
        assert_eq!(with_length(length), Err((OutOfPlace, Part::Dictionary, Some(40))), "{length}");
    }
    let bytes = frame(&patched(&of_streams(chunk, &[&first, &second]), 40, &[33]));
    let looked_up =
        File::open(&bytes).unwrap().as_b2nd().unwrap().chunk(0, ReadOptions::new()).map(drop).map_err(found);
    assert_eq!(looked_up, Err((OutOfPlace, Part::Dictionary, Some(97 + 40))));
    // Blocks begin after the dictionary.
    assert_eq!(with_length(8), Err((OutOfPlace, Part::Block, Some(32))));
    // A codec without dictionaries ignores the flag.
    let of_blosclz = Chunk { flags: NOT_SPLIT, ..chunk };
    assert_eq!(read_chunk(&of_streams(of_blosclz, &[&first, &second]), 32), Ok((0..32).collect()));
    // The largest dictionary.
    let content = [7; 40_000];
    let with_dictionary = |length: u32| {
        let [place, count, stored] = [32 + 4 + 4 + length, length, 40_000].map(u32::to_le_bytes);
        let payload = &[&place[..], &count, &vec![1; length as usize], &stored, &content].concat();
        read_chunk(&Chunk { length: 40_000, block_size: 40_000, payload, ..chunk }.bytes(), 40_000)
    };
    assert_eq!(with_dictionary(32_768), Ok(content.to_vec()));
    assert_eq!(with_dictionary(32_769), Err((OutOfPlace, Part::Dictionary, Some(36))));
}

#[test]
fn errors_of_variable_blocks() {
    let (first, second): (Vec<u8>, Vec<u8>) = ((0..12).collect(), (12..32).collect());
    // Offsets at 32, blocks at 40 and 56.
    let good = of_variable_blocks(&[&first, &second]);
    assert_eq!((good.len(), read_chunk(&good, 32)), (80, Ok((0..32).collect())));
    refused(
        &good,
        &[
            (2, &[7 << 5 | 0x15], UnsupportedCodec, Part::Codec, 2),
            (8, &[33], CountTooLarge, Part::Block, 8), // more blocks than bytes
            (8, &[13], CountTooLarge, Part::Block, 8), // more offsets than fit
            (8, &[12], OutOfPlace, Part::Block, 32),   // the offsets fit, but the first block would overlap them
            (21, &[3], UnsupportedFilter, Part::Filter, 21), // differences from the first block
            (31, &[0x10], UnsupportedChunk, Part::Flags, 30),
            (36, &[39], OutOfPlace, Part::Block, 36),
            (36, &[77], OutOfPlace, Part::Block, 77), // no room for its length
            (36, &[43], OutOfPlace, Part::Block, 40), // no room for the length of the first
            (59, &[0x80], NegativeLength, Part::Block, 56),
            (56, &[21], DecodedLength, Part::Block, 0), // the lengths do not add up
            (56, &[19], DecodedLength, Part::Block, 0),
        ],
    );
    assert_eq!(read_chunk(&of_variable_blocks(&[b"a", b""]), 1), Err((CountTooLarge, Part::Block, Some(8))));
    // More blocks than bytes.
    let many = of_variable_blocks(&[&b"a"[..], b"b"].iter().copied().chain([&b""[..]; 31]).collect::<Vec<_>>());
    assert_eq!(read_chunk(&patched(&many, 4, &[32]), 32), Err((CountTooLarge, Part::Block, Some(8))));
}

/// Filters of a whole chunk: the other blocks are differences from the first, and only some filters have a width of
/// their own.
#[test]
fn errors_of_filters() {
    let (first, second): (Vec<u8>, Vec<u8>) = ((1..17).collect(), (101..117).collect());
    let of = |filter| {
        let filters = [0, 0, 0, 0, 0, filter];
        let chunk = Chunk { length: 32, block_size: 16, flags: NOT_SPLIT, filters, ..Chunk::default() };
        of_streams(chunk, &[&first, &second])
    };
    let mut differences = first.clone();
    (1..16).for_each(|at| differences[at] ^= differences[at - 1]);
    differences.extend(second.iter().zip(differences.clone()).map(|(byte, of_first)| byte ^ of_first));
    assert_eq!(read_chunk(&of(3), 32), Ok(differences.clone()));
    assert_eq!(read_chunk(&patched(&of(3), 29, &[2]), 32), Ok(differences.clone()));
    let chunk =
        Chunk { length: 48, block_size: 16, flags: NOT_SPLIT, filters: [0, 0, 0, 0, 0, 3], ..Chunk::default() };
    let thrice = of_streams(chunk, &[&first, &second, &second]);
    assert_eq!(read_chunk(&thrice, 48), Ok([&differences[..], &differences[16..]].concat()));
    let bits = read_chunk(&of(2), 32).unwrap();
    assert!(bits[..16] != first && bits[16..] != second);
    assert_eq!(read_chunk(&patched(&of(2), 29, &[2]), 32), Ok(bits));
    let in_pairs: Vec<u8> =
        [&first, &second].iter().flat_map(|block| (0..16).map(|i| block[i % 2 * 8 + i / 2])).collect();
    assert_eq!(read_chunk(&of(1), 32), Ok([&first[..], &second].concat()));
    assert_eq!(read_chunk(&patched(&of(1), 29, &[2]), 32), Ok(in_pairs));
}

/// A table in several blocks that are differences from the first one.
#[test]
fn errors_of_tables() {
    let contents = [&b"abcd"[..], b"efgh", b"ijkl", b"mnop"];
    let chunks = contents.map(copied).concat();
    let offsets = [0, 36, 72, 108].map(u64::to_le_bytes);
    let table = |filter| {
        let filters = [0, 0, 0, 0, 0, filter];
        let chunk = Chunk { length: 32, block_size: 16, typesize: 8, flags: NOT_SPLIT, filters, ..Chunk::default() };
        of_streams(chunk, &[&offsets[..2].concat(), &offsets[2..].concat()])
    };
    let read = |table: &[u8], index, scratch: &mut [u8]| {
        let bytes = Frame { chunks: &chunks, table, length: 16, chunk_length: 4, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let chunk = file.as_b2nd().unwrap().chunk(index, ReadOptions::new().scratch(scratch)).map_err(found)?;
        Ok(chunk.read_into(&mut [0; 4], ReadOptions::new()).unwrap().to_vec())
    };
    for (index, content) in (0..).zip(contents) {
        assert_eq!(read(&table(0), index, &mut [0; 16]), Ok(content.to_vec()), "{index}");
        assert_eq!(read(&table(0), index, &mut [0; 15]), Ok(content.to_vec()), "{index}"); // without memory
    }
    let shuffled = [[0, 36], [72, 108]].map(|low| [&low[..], &[0; 14]].concat());
    let filters = [0, 0, 0, 0, 0, 1];
    let chunk = Chunk { length: 32, block_size: 16, typesize: 8, flags: NOT_SPLIT, filters, ..Chunk::default() };
    for memory in [0, 32] {
        let table = of_streams(chunk, &[&shuffled[0], &shuffled[1]]);
        assert_eq!(read(&table, 3, &mut vec![0; memory]), Ok(b"mnop".to_vec()), "{memory}");
    }
    // The first offset is 0, so the first block is unchanged by taking differences.
    let at = 97 + chunks.len() as u64;
    assert_eq!(read(&table(3), 1, &mut [0; 16]), Ok(b"efgh".to_vec()));
    assert_eq!(read(&table(3), 2, &mut [0; 16]), Err((UnsupportedFilter, Part::Filter, Some(at + 21))));
    assert_eq!(read(&table(3), 1, &mut []), Err((OutOfScratch, Part::ChunkOffset, Some(at))));
    // Chunks of different lengths have at least 16 bytes each.
    let one = copied(b"a");
    let table = of_streams(Chunk { length: 24, block_size: 24, ..chunk }, &[&[0; 24]]);
    let bytes = Frame { chunks: &one, table: &table, length: 3, ..Frame::default() }.bytes();
    let result = File::open(&bytes).unwrap().as_b2nd().unwrap().region_requirements(&[0], &[3]).map_err(found);
    assert_eq!(result, Err((CountTooLarge, Part::ChunkOffset, Some(97 + 33 + 4))));
    // A table has blocks of one length.
    let table = of_variable_blocks(&[&offsets.concat()]);
    let bytes = Frame { chunks: &chunks, table: &table, length: 16, chunk_length: 4, ..Frame::default() }.bytes();
    assert_eq!(File::open(&bytes).map(drop).map_err(found), Err((CountsDiffer, Part::ChunkOffset, Some(at + 4))));
    // Compressed to 16 bytes instead of 32, and with a match before the start.
    let chunk = Chunk { length: 32, block_size: 32, flags: NOT_SPLIT, ..Chunk::default() };
    for (stream, kind) in
        [(&[&[15][..], &[0; 16]].concat()[..], DecodedLength), (&[0, 0, 0x20, 1, 0, 0], CorruptStream)]
    {
        for memory in [0, 32] {
            let result = read(&of_streams(chunk, &[stream]), 1, &mut vec![0; memory]);
            assert_eq!(result, Err((kind, Part::Stream, Some(at + 40))), "{memory}");
        }
    }
}

/// Chunks that the caller reads one by one.
#[test]
fn errors_of_calls() {
    let content = [7; 32];
    let shuffled = Chunk {
        length: 32,
        block_size: 16,
        typesize: 2,
        flags: NOT_SPLIT,
        filters: [0, 0, 0, 0, 0, 1],
        ..Chunk::default()
    };
    let chunk = of_streams(shuffled, &[&content[..16], &content[16..]]);
    let bytes =
        Frame { chunks: &chunk, table: &all_first(1), length: 32, chunk_length: 32, ..Frame::default() }.bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let chunk = frame.chunk(0, ReadOptions::new()).unwrap();
    assert_eq!((chunk.scratch_length(), chunk.block_size(), chunk.block_count()), (16, Some(16), 2));
    let of_a_byte = of_streams(Chunk { length: 1, block_size: 5, flags: NOT_SPLIT, ..Chunk::default() }, &[b"x"]);
    let one =
        Frame { chunks: &of_a_byte, table: &all_first(1), length: 1, chunk_length: 1, ..Frame::default() }.bytes();
    let one = File::open(&one).unwrap().as_b2nd().unwrap().chunk(0, ReadOptions::new()).unwrap().block_size();
    assert_eq!(one, Some(1));
    let read = |dst: &mut [u8], scratch: &mut [u8]| {
        chunk.read_into(dst, ReadOptions::new().scratch(scratch)).map(drop).map_err(found)
    };
    assert_eq!(read(&mut [0; 32], &mut [0; 16]), Ok(()));
    assert_eq!(read(&mut [0; 31], &mut [0; 16]), Err((TooSmall, Part::Chunk, Some(97 + 4))));
    assert_eq!(read(&mut [0; 32], &mut [0; 15]), Err((OutOfScratch, Part::Block, Some(97))));
    assert_eq!(chunk.block_length(2).map_err(found), Err((NotFound, Part::Block, Some(97))));
    assert_eq!(frame.chunk(1, ReadOptions::new()).map(drop).map_err(|error| error.kind()), Err(NotFound));
    let all = |dst: &mut [u8]| {
        frame.read_region(&[0], &[32], dst, ReadOptions::new().scratch(&mut [0; 99])).map(drop).map_err(found)
    };
    assert_eq!(all(&mut [0; 31]), Err((TooSmall, Part::Tensor, Some(97))));

    // Chunks of different lengths that add up to more or less than the frame, and a chunk that only the table
    // describes, so that its length is unknown.
    let of_part = |table: &[u8], length, stop| {
        let chunks = copied(&content);
        let bytes = Frame { chunks: &chunks, table, length, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let mut dst = vec![0; stop as usize];
        frame.read_region(&[0], &[stop], &mut dst, ReadOptions::new()).map(|read| read.len()).map_err(found)
    };
    let of = |table: &[u8], length| of_part(table, length, length);
    assert_eq!(of(&all_first(2), 64), Ok(64));
    assert_eq!(of(&all_first(2), 65), Err((ChunkGrid, Part::Tensor, Some(97))));
    assert_eq!(of(&all_first(2), 63), Err((ChunkGrid, Part::Tensor, Some(97))));
    let thrice = copied(&[0; 24]);
    assert_eq!(of(&thrice, 96), Ok(96));
    assert_eq!(of_part(&thrice, 96, 62), Ok(62));
    assert_eq!(of_part(&thrice, 63, 62), Err((ChunkGrid, Part::Tensor, Some(97))));
    assert_eq!(of(&all_first(1), 31), Err((ChunkSize, Part::Chunk, Some(97 + 4))));
    let zeros = repeated(&[0, 0, 0, 0, 0, 0, 0, 0x81], 8);
    assert_eq!(of(&zeros, 32), Err((SpecialChunk, Part::ChunkOffset, Some(97 + 64))));
}
