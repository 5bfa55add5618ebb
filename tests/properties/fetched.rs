//! Data that the program fetches itself: tensors of a file that was opened in parts, read after `with_source`; and the
//! plan of the reads of many tensors.

use crate::support::{Random, cases, open_in_parts, open_in_rounds, some_hundred};
use tenslice::{
    Error, ErrorKind, Extent, File, Opened, Piece, Plan, PlanOptions, PlannedRead, Purpose, ReadOptions, Source,
    Tensor,
};

/// Reads a tensor, unless its output is too long for a test.
fn read(tensor: &Tensor<'_>) -> Result<Vec<u8>, Error> {
    let needed = tensor.requirements(Purpose::Read);
    let mut output = vec![0; needed.output.unwrap_or(1 << 16).min(1 << 20) as usize];
    let mut scratch = vec![0; needed.scratch.unwrap_or(1 << 16).min(1 << 20) as usize];
    tensor.read_into(&mut output, ReadOptions::new().scratch(&mut scratch)).map(|bytes| bytes.to_vec())
}

/// The bits of the first numbers as `f32`.
#[cfg(feature = "dequantize")]
fn read_f32(tensor: &Tensor<'_>) -> Result<Vec<u32>, Error> {
    let needed = tensor.requirements(Purpose::ReadF32);
    let mut scratch = vec![0; needed.scratch.unwrap_or(1 << 16).min(1 << 20) as usize];
    let mut numbers = vec![0.0; tensor.shape().element_count().unwrap_or(0).min(1 << 18) as usize];
    let numbers = tensor.read_f32_into(&mut numbers, ReadOptions::new().scratch(&mut scratch))?;
    Ok(numbers.iter().map(|number| number.to_bits()).collect())
}

/// The ranges that a program fetches to read a tensor.
fn ranges(file: &File<'_>, tensor: &Tensor<'_>) -> Vec<Extent> {
    let _ = file;
    #[allow(unused_mut)]
    let mut ranges: Vec<_> = tensor.components().filter(|c| c.shard().is_none()).map(|c| c.extent()).collect();
    #[cfg(feature = "blz")]
    if let Some(train) = file.as_blz() {
        return vec![train.extent()]; // the cores are read as one range
    }
    #[cfg(feature = "b2nd")]
    ranges.extend(file.as_b2nd().map(|frame| frame.table_extent()));
    ranges
}

/// Rounds of one range are the requested ranges, one after the other.
#[test]
fn opening_in_rounds_equals_opening_a_slice() {
    let names = |file: File<'_>| file.tensors().map(|tensor| tensor.name().to_string()).collect::<Vec<_>>();
    for case in cases() {
        let whole = File::open(&case.bytes).map(names);
        let in_rounds = |room| {
            let mut source = Source::new(case.bytes.len() as u64);
            let (file, rounds, fetched) = open_in_rounds(&case.bytes, room, &mut source);
            assert_eq!(file.map(names), whole, "{}, {room}", case.name());
            (rounds, fetched)
        };
        let one_by_one = in_rounds(1);
        for room in [2, 3, 64] {
            let (rounds, fetched) = in_rounds(room);
            // A range of a list ends 256 bytes behind a header, perhaps among bytes that are in memory.
            assert!(rounds <= one_by_one.0 && fetched <= one_by_one.1 + 256, "{}, {room}", case.name());
        }
    }
}

#[test]
fn reading_with_a_source_equals_reading_a_slice() {
    let (mut read_later, mut others) = (0, 0);
    for case in cases() {
        let Ok(whole) = File::open(&case.bytes) else { continue };
        let mut source = Source::new(case.bytes.len() as u64);
        open_in_parts(&case.bytes, &[], &mut source).unwrap();
        let Ok(Opened::File(parts)) = File::open_source(&source) else { panic!("{}", case.name()) };
        for (tensor, expected) in some_hundred(&parts).zip(some_hundred(&whole)) {
            let mut with_data = source.clone();
            for extent in ranges(&parts, &tensor) {
                let bytes = &case.bytes[std::ops::Range::try_from(extent).unwrap()];
                if with_data.add(extent.offset, bytes).is_err() {
                    // Too many segments. The ranges from opening are in any case not enough.
                    with_data.add(0, &case.bytes).unwrap();
                }
            }
            let context = format!("{} {}", case.name(), tensor.name());
            let bound = tensor.with_source(&with_data).unwrap();
            let by_file = parts.with_source(&with_data).unwrap();
            let by_file = by_file.tensors().nth(tensor.index() as usize).unwrap();
            let result = read(&expected);
            assert_eq!(read(&bound), result, "{context}");
            assert_eq!(read(&by_file), result, "{context}");
            #[cfg(feature = "dequantize")]
            assert_eq!(read_f32(&bound), read_f32(&expected), "{context}");
            assert_eq!(bound.dtype(), expected.dtype());
            // The tensor itself has not changed.
            match read(&tensor) {
                Err(error) if error.kind() == ErrorKind::NotInMemory => read_later += usize::from(result.is_ok()),
                _ => others += 1,
            }
        }
    }
    let least = if cfg!(feature = "formats") { 1000 } else { 10 };
    assert!(read_later > least && (others > 0 || least == 10), "{read_later} {others}");
}

#[test]
#[cfg(feature = "ztensor")]
fn a_source_of_another_length_is_refused() {
    let bytes = crate::support::fixture("v1.2/dense_all_dtypes.zt");
    let file = File::open(&bytes).unwrap();
    let tensor = file.tensors().next().unwrap();
    for length in [0, bytes.len() as u64 - 1, bytes.len() as u64 + 1] {
        let source = Source::new(length);
        let kind = |error: Error| error.kind();
        assert_eq!(tensor.with_source(&source).map(drop).map_err(kind), Err(ErrorKind::InvalidArgument));
        assert_eq!(file.with_source(&source).map(drop).map_err(kind), Err(ErrorKind::InvalidArgument));
    }
    // A source without the metadata: what the tensor already knows is read, and nothing else.
    let extent = tensor.data().unwrap().extent();
    let mut source = Source::new(bytes.len() as u64);
    source.add(extent.offset, &bytes[std::ops::Range::try_from(extent).unwrap()]).unwrap();
    assert_eq!(read(&tensor.with_source(&source).unwrap()), read(&tensor));
    assert_eq!(file.with_source(&source).unwrap().length(), file.length());
}

/// Fetches the table of a chunked array and the chunks of a region, in two steps, from a file that is opened once.
#[test]
#[cfg(feature = "b2nd")]
fn a_region_is_read_from_fetched_chunks() {
    let bytes = crate::support::fixture("b2nd/good/nd02_lz4_0.b2nd");
    let (start, stop) = ([7, 4], [9, 7]);
    let region = |file: &File<'_>| {
        let frame = file.as_b2nd().unwrap();
        let needed = frame.region_requirements(&start, &stop)?;
        let (mut output, mut scratch) =
            (vec![0; needed.output.unwrap() as usize], vec![0; needed.scratch.unwrap() as usize]);
        frame.read_region(&start, &stop, &mut output, ReadOptions::new().scratch(&mut scratch)).map(|r| r.to_vec())
    };
    let fetch = |extent: Extent| &bytes[std::ops::Range::try_from(extent).unwrap()];
    let mut source = Source::new(bytes.len() as u64);
    open_in_parts(&bytes, &[], &mut source).unwrap();
    let Ok(Opened::File(file)) = File::open_source(&source) else { panic!() };
    assert_eq!(region(&file).unwrap_err().kind(), ErrorKind::NotInMemory);

    let mut with_table = source.clone();
    let table = file.as_b2nd().unwrap().table_extent();
    with_table.add(table.offset, fetch(table)).unwrap();
    let mut with_chunks = with_table.clone();
    let frame = file.with_source(&with_table).unwrap().as_b2nd().unwrap();
    let mut scratch = vec![0; frame.table_scratch_length().unwrap() as usize];
    for chunk in 0..frame.chunk_count() {
        let mut with_head = with_table.clone();
        let missing = frame.chunk_extent(chunk, ReadOptions::new().scratch(&mut scratch)).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotInMemory);
        let head = Extent::new(missing.offset().unwrap(), 32);
        with_head.add(head.offset, fetch(head)).unwrap();
        let frame = file.with_source(&with_head).unwrap().as_b2nd().unwrap();
        let extent = frame.chunk_extent(chunk, ReadOptions::new().scratch(&mut scratch)).unwrap().unwrap();
        with_chunks.add(extent.offset, fetch(extent)).unwrap();
    }
    let whole = File::open(&bytes).unwrap();
    assert_eq!(region(&file.with_source(&with_chunks).unwrap()).unwrap(), region(&whole).unwrap());
}

/// The byte at a place in a file, for files that exist only as a rule.
fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Checks a plan byte by byte: what is read where.
fn check_plan(given: &[Extent], length: u64, options: (u64, u64), longest: u64) {
    let (alignment, gap) = options;
    let context = format!("{given:?} of {length}, alignment {alignment}, gap {gap}, longest {longest}");
    let mut pieces: Vec<_> = (0..).zip(given).map(|(key, &extent)| Piece::new(key, extent)).collect();
    let plan = Plan::new(&mut pieces, length, PlanOptions::new().alignment(alignment).gap(gap)).unwrap();

    let mut memory = vec![None; plan.length() as usize];
    let mut is_read = vec![false; length as usize];
    let most = (longest & !(alignment - 1)).max(alignment);
    let mut before: Option<PlannedRead> = None;
    for read in plan.reads(longest) {
        let PlannedRead { extent, at, room } = read;
        assert!(extent.length > 0 && extent.length <= room && room <= most, "{context}: {read:?}");
        assert_eq!((extent.offset % alignment, at % alignment, room % alignment), (0, 0, 0), "{context}: {read:?}");
        assert_eq!(extent.length, room.min(length - extent.offset), "{context}: {read:?}");
        if let Some(before) = before {
            assert!(before.extent.offset + before.room <= extent.offset, "{context}: {before:?} {read:?}");
            // Reads that touch are two only because the first is as long as may be.
            let touch = before.extent.offset + before.room == extent.offset;
            assert!(!touch || before.room == most, "{context}: {before:?} {read:?}");
        }
        before = Some(read);
        for place in 0..extent.length {
            let (from, to) = ((extent.offset + place) as usize, (at + place) as usize);
            assert!(!std::mem::replace(&mut is_read[from], true), "{context}: {from} is read twice");
            assert_eq!(memory[to].replace(byte_at(from as u64)), None, "{context}: {to} is written twice");
        }
        assert!(at + room <= plan.length(), "{context}: {read:?}");
    }
    assert_eq!(plan.reads(longest).map(|read| read.room).sum::<u64>(), plan.length(), "{context}");

    // Every piece is where the plan says, and they are in the order of the file.
    let memory: Vec<u8> = memory.into_iter().map(Option::unwrap_or_default).collect();
    let mut keys: Vec<_> = plan.pieces().iter().map(Piece::key).collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..given.len() as u64), "{context}");
    assert!(plan.pieces().is_sorted_by_key(|piece| piece.extent().offset), "{context}");
    for piece in plan.pieces() {
        let Extent { offset, length } = piece.extent();
        assert_eq!(piece.extent(), given[piece.key() as usize], "{context}");
        let expected: Vec<_> = (offset..offset + length).map(byte_at).collect();
        assert_eq!(piece.bytes(&memory), Some(&expected[..]), "{context}: {piece:?}");
        assert!((offset..offset + length).all(|byte| is_read[byte as usize]), "{context}: {piece:?}");
    }
    // No byte is read without a reason: it is needed, in a short gap, or within the alignment of one that is needed.
    let is_needed = |byte: u64| given.iter().any(|extent| byte.wrapping_sub(extent.offset) < extent.length);
    let needed: Vec<bool> = (0..length).map(is_needed).collect();
    for byte in (0..length).filter(|&byte| is_read[byte as usize] && !needed[byte as usize]) {
        let first = (byte & !(alignment - 1)) as usize;
        let block = &needed[first..(first + alignment as usize).min(length as usize)];
        let start = needed[..byte as usize].iter().rposition(|is| *is);
        let end = needed[byte as usize..].iter().position(|is| *is).map(|end| end + byte as usize);
        let is_gap = start.zip(end).is_some_and(|(start, end)| (end - start - 1) as u64 <= gap);
        assert!(block.contains(&true) || is_gap, "{context}: {byte}");
    }
    // Gaps that are short enough are read.
    let mut last = None;
    for byte in (0..length as usize).filter(|&byte| needed[byte]) {
        let from = last.replace(byte).map_or(byte, |last| last + 1);
        assert!((byte - from) as u64 > gap || is_read[from..byte].iter().all(|is| *is), "{context}: {from}..{byte}");
    }
}

#[test]
fn a_plan_reads_every_piece_once() {
    let mut random = Random(17);
    let mut below = |bound: u64| random.next() % bound;
    for _ in 0..4000 {
        let length = below(600);
        let alignment = 1 << below(8);
        let gap = [0, 1, alignment, below(200), u64::MAX][below(5) as usize];
        let longest = [0, 1, alignment, below(300), u64::MAX][below(5) as usize];
        let mut given: Vec<Extent> = Vec::new();
        for _ in 0..below(9) {
            let offset = below(length + 1);
            let most = [length - offset, 9.min(length - offset), 0][below(3) as usize];
            given.push(Extent::new(offset, below(most + 1)));
            if below(4) == 0 {
                given.push(given[below(given.len() as u64) as usize]); // tied weights
            }
        }
        check_plan(&given, length, (alignment, gap), longest);
    }
}

#[test]
fn plans_of_special_pieces() {
    for alignment in [1, 64] {
        check_plan(&[], 0, (alignment, 0), 0);
        check_plan(&[], 100, (alignment, 0), 8);
        check_plan(&[Extent::new(0, 0), Extent::new(100, 0)], 100, (alignment, 0), 8);
        check_plan(&[Extent::new(0, 100)], 100, (alignment, 0), 33);
        check_plan(&[Extent::new(99, 1), Extent::new(100, 0), Extent::new(0, 1)], 100, (alignment, 0), 33);
        check_plan(&[Extent::new(10, 50), Extent::new(20, 5), Extent::new(90, 1)], 100, (alignment, 29), 33);
        check_plan(&[Extent::new(10, 50), Extent::new(20, 5), Extent::new(90, 1)], 100, (alignment, 30), 33);
    }
    // The places that the caller has left in the pieces are not used.
    let mut pieces = [Piece::new(1, Extent::new(5, 0)), Piece::new(2, Extent::new(5, 1))];
    Plan::new(&mut pieces, 10, PlanOptions::new()).unwrap();
    assert_eq!(pieces.map(|piece| (piece.key(), piece.at())), [(1, 0), (2, 5)]);
    assert_eq!(pieces[1].bytes(&[1; 6]), Some(&[1][..]));
    assert_eq!(pieces[1].bytes(&[1; 5]), None);
    Plan::new(&mut pieces, 10, PlanOptions::default().alignment(1)).unwrap();
    assert_eq!(pieces.map(|piece| piece.at()), [0, 0]);
}

#[test]
fn default_options_of_a_plan() {
    for (gap, runs) in [(65_535, 1), (65_536, 1), (65_537, 2)] {
        let mut pieces = [Piece::new(0, Extent::new(4095, 1)), Piece::new(1, Extent::new(4096 + gap, 1))];
        let plan = Plan::new(&mut pieces, 1 << 20, PlanOptions::new()).unwrap();
        assert_eq!(plan.reads(u64::MAX).count(), runs, "{gap}");
        assert_eq!(plan.reads(0).next().map(|read| read.room), Some(4096));
    }
    assert_eq!(PlanOptions::default(), PlanOptions::new());
}

#[test]
fn plans_of_large_files() {
    const GIB: u64 = 1 << 30;
    // Two pieces of a file beyond 4 GiB: the plan needs no such memory to be computed.
    let mut pieces = [Piece::new(0, Extent::new(900 * GIB + 1, 5 * GIB)), Piece::new(1, Extent::new(7, 6 * GIB))];
    let plan = Plan::new(&mut pieces, 1000 * GIB, PlanOptions::new()).unwrap();
    assert_eq!(plan.length(), 11 * GIB + 8192);
    assert_eq!(plan.pieces()[1].at(), 6 * GIB + 4097);
    assert_eq!(plan.reads(GIB).count(), 13);
    assert_eq!(plan.reads(u64::MAX).map(|read| read.at).collect::<Vec<_>>(), [0, 6 * GIB + 4096]);

    // The largest numbers.
    let plan = |offset, length, file_length, alignment| {
        let mut pieces = [Piece::new(0, Extent::new(offset, length))];
        let plan = Plan::new(&mut pieces, file_length, PlanOptions::new().alignment(alignment).gap(u64::MAX));
        plan.map(|plan| (plan.length(), plan.reads(u64::MAX).count())).map_err(|error| error.kind())
    };
    let (out, bad) = (Err(ErrorKind::OutOfFile), Err(ErrorKind::InvalidArgument));
    assert_eq!(plan(0, u64::MAX, u64::MAX, 1), Ok((u64::MAX, 1)));
    assert_eq!(plan(0, 1 << 63, 1 << 63, 1 << 63), Ok((1 << 63, 1)));
    assert_eq!(plan(u64::MAX - 1, 1, u64::MAX, 1), Ok((1, 1)));
    assert_eq!(plan(u64::MAX - 4095, 0, u64::MAX - 4095, 4096), Ok((0, 0)));
    assert_eq!(plan(0, 1, u64::MAX - 4095, 4096), Ok((4096, 1)));
    assert_eq!(plan(0, 1, u64::MAX - 4094, 4096), bad);
    assert_eq!(plan(0, 0, 1 << 63, 1 << 63), Ok((0, 0)));
    assert_eq!(plan(0, 0, (1 << 63) + 1, 1 << 63), bad);
    for alignment in [0, 3, 4095, u64::MAX] {
        assert_eq!(plan(0, 1, 10, alignment), bad);
    }
    for (offset, length) in [(10, 1), (11, 0), (0, 11), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(plan(offset, length, 10, 4096), out);
    }
}

/// The intended use: all tensors of a file are planned, fetched, and read through one source.
#[test]
fn all_tensors_of_a_file_are_read_after_a_plan() {
    for case in cases() {
        let Ok(whole) = File::open(&case.bytes) else { continue };
        let mut source = Source::new(case.bytes.len() as u64);
        open_in_parts(&case.bytes, &[], &mut source).unwrap();
        let Ok(Opened::File(file)) = File::open_source(&source) else { panic!("{}", case.name()) };
        let extents = file.tensors().flat_map(|tensor| ranges(&file, &tensor));
        let mut pieces: Vec<_> = extents.map(|extent| Piece::new(0, extent)).collect();
        let options = PlanOptions::new().alignment(64).gap(1 << 12);
        let plan = Plan::new(&mut pieces, file.length(), options).unwrap();
        let mut memory = vec![0; plan.length() as usize];
        for read in plan.reads(1 << 10) {
            let bytes = &case.bytes[std::ops::Range::try_from(read.extent).unwrap()];
            memory[read.at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let mut with_data = source.clone();
        let is_room = plan.reads(u64::MAX).all(|run| {
            let bytes = &memory[run.at as usize..][..run.extent.length as usize];
            with_data.add(run.extent.offset, bytes).is_ok()
        });
        if is_room {
            let file = file.with_source(&with_data).unwrap();
            for (tensor, expected) in file.tensors().zip(whole.tensors()) {
                assert_eq!(read(&tensor), read(&expected), "{} {}", case.name(), tensor.name());
            }
        }
    }
}
