//! Blosc2 frames compared with their known contents: every field, every region, and malformed frames.
#![cfg(all(feature = "b2nd", feature = "zlib", feature = "zstd"))]

use std::collections::BTreeSet;

use crate::support::frames::{
    Chunk, Frame, NOT_SPLIT, ZSTD, all_first, copied, of_streams, of_variable_blocks, repeated,
};
use crate::support::{Case, Random, cases_of, fixture, open_in_parts, sha256};
use serde_json::Value as Json;
use tenslice::b2nd::{self, Content, codec_name, filter_name};
use tenslice::{
    BuiltIn, ByteOrder, DType, DecodeError, Decoder, Encoding, Error, ErrorKind, File, Format, Layout, Opened, Part,
    Purpose, ReadOptions, Source, Tensor, Warning,
};

/// The two lengths that reading a region requires, which are never unknown.
pub(crate) trait RegionLengths {
    fn region_output(&self, start: &[u64], stop: &[u64]) -> Result<u64, Error>;
    fn region_scratch(&self, start: &[u64], stop: &[u64]) -> Result<u64, Error>;
}

impl RegionLengths for b2nd::Frame<'_> {
    fn region_output(&self, start: &[u64], stop: &[u64]) -> Result<u64, Error> {
        Ok(self.region_requirements(start, stop)?.output.unwrap())
    }

    fn region_scratch(&self, start: &[u64], stop: &[u64]) -> Result<u64, Error> {
        Ok(self.region_requirements(start, stop)?.scratch.unwrap())
    }
}

fn numbers(list: &Json) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Reads a region with exactly the reported amount of memory, filled with garbage.
fn region(file: &b2nd::Frame<'_>, start: &[u64], stop: &[u64]) -> Result<Vec<u8>, Error> {
    let mut room = vec![0x55; file.region_output(start, stop)? as usize];
    let mut scratch = vec![0xaa; file.region_scratch(start, stop)? as usize];
    let length = file.read_region(start, stop, &mut room, ReadOptions::new().scratch(&mut scratch))?.len();
    assert_eq!(length, room.len());
    Ok(room)
}

fn whole(file: &b2nd::Frame<'_>) -> Result<Vec<u8>, Error> {
    let stop: Vec<u64> = file.shape().iter().collect();
    region(file, &vec![0; stop.len()], &stop)
}

/// Reads a tensor as a caller does that does not use chunks.
fn dense(tensor: &Tensor<'_>) -> Result<Vec<u8>, Error> {
    let mut room = vec![0x55; tensor.requirements(Purpose::Read).output.unwrap() as usize];
    let mut scratch = vec![0xaa; tensor.requirements(Purpose::Read).scratch.unwrap_or(0) as usize];
    tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch))?;
    Ok(room)
}

/// Cases that must be accepted and decoded.
fn good() -> Vec<Case> {
    let mut good = cases_of("b2nd");
    good.retain(|case| case.expect() == "accept" && case.expected["decode"] != "unsupported");
    assert!(good.len() > 300);
    good
}

#[test]
fn every_field() {
    let (all, mut simple_dtypes) = (cases_of("b2nd"), BTreeSet::new());
    for case in all.iter().filter(|case| case.expect() == "accept") {
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let tensor = file.find("").unwrap();
        let known = &case.expected;
        let defaults = frame.defaults();
        assert_eq!(known["frame_version"], defaults.version, "{context}");
        assert_eq!(known["nbytes"], defaults.decoded, "{context}");
        if known["nbytes"] != 0 {
            assert_eq!(known["cbytes"], defaults.stored, "{context}");
        }
        assert_eq!(known["typesize"], defaults.typesize, "{context}");
        assert_eq!(known["chunksize"].as_i64().unwrap().max(0) as u64, defaults.chunk_size, "{context}");
        assert_eq!(known["blocksize"], defaults.block_size, "{context}");
        assert_eq!(known["nchunks"], frame.chunk_count(), "{context}");
        assert_eq!(known["codec_id"], defaults.codec, "{context}");
        if known["decode"] != "unsupported" {
            assert_eq!(known["codec"].as_str(), codec_name(defaults.codec), "{context}");
        }
        assert_eq!(numbers(&known["filter_ids"]), defaults.filters.map(u64::from), "{context}");
        assert_eq!(numbers(&known["filters_meta"]), defaults.filters_meta.map(u64::from), "{context}");
        if let Some(level) = known["clevel"].as_u64() {
            assert_eq!(level, u64::from(defaults.level), "{context}");
            assert_eq!(known["use_dict"].as_u64(), Some(defaults.has_dictionary.into()), "{context}");
        }
        for id in defaults.filters {
            assert!(filter_name(id).is_some(), "{context}");
        }
        assert_eq!(frame.is_array(), case.format() == "b2nd", "{context}");
        assert_eq!(tensor.layout(), Layout::Chunked, "{context}");
        if frame.is_array() {
            assert_eq!(tensor.shape(), numbers(&known["shape"])[..], "{context}");
            assert_eq!(frame.chunk_shape().unwrap(), numbers(&known["chunkshape"])[..], "{context}");
            assert_eq!(frame.block_shape().unwrap(), numbers(&known["blockshape"])[..], "{context}");
            assert_eq!(known["itemsize"], frame.item_size(), "{context}");
            assert_eq!(known["dtype"].as_str(), frame.dtype_text(), "{context}");
            assert_eq!(tensor.stated_type(), frame.dtype_text().map(str::as_bytes), "{context}");
            assert_eq!(known["array_nbytes"].as_u64(), tensor.requirements(Purpose::Read).output, "{context}");
            let dtype = tensor.dtype();
            assert!(dtype.is_none_or(|dtype| dtype.size() == Some(frame.item_size())), "{context}");
            let simple = match frame.dtype_text() {
                Some("<f4") => Some((DType::F32, ByteOrder::Little)),
                Some(">f4") => Some((DType::F32, ByteOrder::Big)),
                Some("|u1") => Some((DType::U8, ByteOrder::NATIVE)),
                _ => None,
            };
            let part = tensor.components().next().unwrap();
            if let Some((dtype, order)) = simple.filter(|(dtype, _)| dtype.size() == Some(frame.item_size())) {
                assert_eq!((tensor.dtype(), part.byte_order()), (Some(dtype), order), "{context}");
                simple_dtypes.insert(frame.dtype_text());
            }
        } else {
            assert_eq!(tensor.shape(), [defaults.decoded][..], "{context}");
            assert_eq!((tensor.dtype(), frame.dtype_text()), (Some(DType::U8), None), "{context}");
            assert_eq!(tensor.stated_type(), None, "{context}");
        }
        compare_metalayers(&context, &frame, known);
        let trailing = file.warnings().contains(Warning::TrailingBytes);
        assert_eq!(trailing, known["frame_len"] != case.bytes.len(), "{context}");
    }
    assert_eq!(simple_dtypes.len(), 3);
}

fn compare_metalayers(context: &str, frame: &b2nd::Frame<'_>, known: &Json) {
    let expected = known["metalayers"].as_array().unwrap();
    assert_eq!(frame.metalayers().count(), expected.len(), "{context}");
    for (metalayer, expected) in frame.metalayers().zip(expected) {
        assert_eq!(metalayer.name, expected["name"], "{context}");
        assert_eq!(metalayer.extent.length, metalayer.content.len() as u64);
        assert_eq!(sha256(metalayer.content), expected["sha256"].as_str().unwrap(), "{context}");
    }
    let expected = known["vlmetalayers"].as_array().unwrap();
    assert_eq!(frame.variable_metalayers().count(), expected.len(), "{context}");
    for (metalayer, expected) in frame.variable_metalayers().zip(expected) {
        assert_eq!(metalayer.name, expected["name"], "{context}");
        assert_eq!(metalayer.content.len(), expected["stored_len"], "{context}");
        let chunk = frame.variable_metalayer(&metalayer).unwrap();
        let mut room = vec![0x55; chunk.decoded_length() as usize];
        let decoded = chunk
            .read_into(&mut room, ReadOptions::new().scratch(&mut vec![0; chunk.scratch_length() as usize]))
            .unwrap();
        assert_eq!(decoded.len(), expected["len"], "{context}");
        assert_eq!(sha256(decoded), expected["sha256"].as_str().unwrap(), "{context}");
    }
}

#[test]
fn every_array_and_every_region() {
    let mut regions = 0;
    for case in good() {
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let dense = dense(&file.find("").unwrap()).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(sha256(&dense), case.expected["data_sha256"].as_str().unwrap(), "{context}");
        for slice in case.expected["slices"].as_array().into_iter().flatten() {
            let (start, stop) = (numbers(&slice["start"]), numbers(&slice["stop"]));
            let found = region(&frame, &start, &stop).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(sha256(&found), slice["sha256"].as_str().unwrap(), "{context}: {start:?} to {stop:?}");
            regions += 1;
        }
    }
    assert!(regions > 1500, "{regions}");
}

/// The expected bytes of a region, cut from the whole array.
fn cut(array: &[u8], shape: &[u64], item: usize, start: &[u64], stop: &[u64]) -> Vec<u8> {
    let mut cut = Vec::new();
    let mut at = start.to_vec();
    if start.iter().zip(stop).any(|(start, stop)| start >= stop) {
        return cut;
    }
    loop {
        let place = at.iter().zip(shape).fold(0, |place, (at, length)| place * length + at) as usize * item;
        cut.extend(&array[place..place + item]);
        let Some(next) = (0..at.len()).rev().find(|&d| at[d] + 1 < stop[d]) else { return cut };
        at[next] += 1;
        at[next + 1..].copy_from_slice(&start[next + 1..]);
    }
}

#[test]
fn regions_are_parts_of_the_whole() {
    let mut random = Random(0xb10c_5c2e);
    let mut without_memory = 0;
    for case in good().iter().filter(|case| case.bytes.len() < 20_000) {
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let array = whole(&frame).unwrap();
        let shape: Vec<u64> = frame.shape().iter().collect();
        for _ in 0..12 {
            let mut side = |length: &u64| {
                let from = random.next() % (length + 1);
                (from, from + random.next() % (length - from + 1))
            };
            let (start, stop): (Vec<u64>, Vec<u64>) = shape.iter().map(&mut side).unzip();
            let expected = cut(&array, &shape, frame.item_size() as usize, &start, &stop);
            let context = format!("{}: {start:?} to {stop:?}", case.name());
            assert_eq!(region(&frame, &start, &stop).unwrap(), expected, "{context}");
            // Reading may succeed with no memory or with less than the reported need.
            let need = frame.region_scratch(&start, &stop).unwrap();
            for scratch in [0, need / 2, need.saturating_sub(1), need + 1000] {
                let mut room = vec![0; expected.len()];
                match frame.read_region(
                    &start,
                    &stop,
                    &mut room,
                    ReadOptions::new().scratch(&mut vec![0x33; scratch as usize]),
                ) {
                    Ok(found) => {
                        assert_eq!(found, expected, "{context} with {scratch} of {need}");
                        without_memory += usize::from(scratch < need);
                    }
                    Err(error) => {
                        assert!(scratch < need, "{context} with {scratch} of {need}: {error}");
                        assert_eq!(error.kind(), ErrorKind::OutOfScratch, "{context}");
                    }
                }
            }
        }
    }
    assert!(without_memory > 100, "{without_memory}");
}

#[test]
fn every_chunk() {
    let mut seen = [0; 7];
    for case in good() {
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let known = &case.expected;
        let mut all = 0;
        for index in 0..frame.chunk_count() {
            let mut scratch = vec![0xaa; frame.table_scratch_length().unwrap() as usize];
            let chunk = frame
                .chunk(index, ReadOptions::new().scratch(&mut scratch))
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            match frame.chunk(index, ReadOptions::new()) {
                Ok(same) => assert_eq!(same.extent(), chunk.extent(), "{context}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::OutOfScratch, "{context}"),
            }
            seen[usize::from(chunk.content().code())] += 1;
            assert_eq!(chunk.index(), index);
            let mut room = vec![0x55; chunk.decoded_length() as usize];
            let mut scratch = vec![0xaa; chunk.scratch_length() as usize];
            let decoded = chunk.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap();
            all += decoded.len() as u64;
            if let Some(expected) = known["chunks"].get(index as usize) {
                assert_eq!(decoded.len(), expected["nbytes"], "{context}");
                assert_eq!(sha256(decoded), expected["sha256"].as_str().unwrap(), "{context}");
            }
            if let Some(blocks) = known["vlblocks"].get(index as usize).and_then(Json::as_array) {
                let lengths = (0..chunk.block_count()).map(|block| chunk.block_length(block).unwrap());
                assert!(lengths.eq(blocks.iter().map(|block| block["nbytes"].as_u64().unwrap())), "{context}");
                assert_eq!((chunk.content(), chunk.block_size()), (Content::VariableBlocks, None), "{context}");
            }
            let lengths = (0..chunk.block_count()).map(|block| chunk.block_length(block).unwrap());
            assert_eq!(lengths.sum::<u64>(), chunk.decoded_length(), "{context}");
            assert!(chunk.block_length(chunk.block_count()).is_err());
            assert!(chunk.extent().is_none_or(|extent| extent.is_within(case.bytes.len() as u64)));
        }
        assert_eq!(all, frame.defaults().decoded, "{context}");
        assert_eq!(frame.chunk(frame.chunk_count(), ReadOptions::new()).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn codecs_and_filters_of_plug_ins_are_named() {
    let mut seen = 0;
    for case in cases_of("b2nd").iter().filter(|case| case.expected["decode"] == "unsupported") {
        let file = File::open(&case.bytes).unwrap();
        let error = dense(&file.find("").unwrap()).unwrap_err();
        let [kind, id] = case.expected["unsupported"].as_str().unwrap().split(' ').collect::<Vec<_>>()[..] else {
            panic!("{}", case.name())
        };
        let is_codec = kind == "codec";
        let expected = if is_codec { ErrorKind::UnsupportedCodec } else { ErrorKind::UnsupportedFilter };
        assert_eq!(error.kind(), expected, "{}", case.name());
        let id = id.parse().unwrap();
        let name = if is_codec { codec_name(id) } else { filter_name(id) }.unwrap();
        let sentence = error.explain(&case.bytes[..]).to_string();
        assert!(sentence.contains(name), "{sentence}");
        seen += 1;
    }
    assert!(seen >= 5);
}

#[test]
fn bad_chunks_are_rejected_on_reading() {
    let mut seen = 0;
    for case in cases_of("b2nd").iter().filter(|case| case.expect() == "reject" && !case.is_seen_at_open()) {
        let context = case.name();
        seen += 1;
        let Ok(file) = File::open(&case.bytes) else { continue };
        let frame = file.as_b2nd().unwrap();
        let metalayers = || -> Result<(), Error> {
            for metalayer in frame.variable_metalayers() {
                let chunk = frame.variable_metalayer(&metalayer)?;
                let mut room = vec![0; chunk.decoded_length() as usize];
                chunk.read_into(
                    &mut room,
                    ReadOptions::new().scratch(&mut vec![0; chunk.scratch_length() as usize]),
                )?;
            }
            Ok(())
        };
        let error = whole(&frame).err().or(metalayers().err()).unwrap_or_else(|| panic!("{context}: accepted"));
        assert!(error.offset().is_some_and(|at| at <= case.bytes.len() as u64), "{context}: {error:?}");
        assert!(error.explain(&case.bytes[..]).to_string().len() > 20);
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn other_chunks_remain_readable() {
    // The second of several chunks of rows is broken.
    let bytes = fixture("b2nd/bad/chunk_codec_2_0.b2nd");
    let good = fixture("b2nd/good/q_plain_0.b2nd");
    let (bad, good) = (File::open(&bytes).unwrap(), File::open(&good).unwrap());
    let (bad, good) = (bad.as_b2nd().unwrap(), good.as_b2nd().unwrap());
    let broken: Vec<u64> =
        (0..bad.chunk_count()).filter(|&index| bad.chunk(index, ReadOptions::new()).is_err()).collect();
    assert_eq!(broken.len(), 1, "{broken:?} of {}", bad.chunk_count());
    assert_eq!(whole(&bad).unwrap_err().kind(), ErrorKind::UnsupportedCodec);
    assert!(bad.chunk_count() > 1 && whole(&good).is_ok());
    let readable = (0..bad.chunk_count()).filter_map(|index| bad.chunk(index, ReadOptions::new()).ok());
    for chunk in readable {
        let mut room = vec![0; chunk.decoded_length() as usize];
        chunk
            .read_into(&mut room, ReadOptions::new().scratch(&mut vec![0; chunk.scratch_length() as usize]))
            .unwrap();
    }
}

#[test]
fn parts_are_read_like_the_whole() {
    for case in good() {
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let mut source = Source::new(case.bytes.len() as u64);
        let extent = file.find("").unwrap().components().next().unwrap().extent();
        // Opening requests everything but the data. Reading then fails at the first missing byte.
        let parts = open_in_parts(&case.bytes, &[], &mut source).unwrap();
        let in_parts = parts.as_b2nd().unwrap();
        let stop: Vec<u64> = frame.shape().iter().collect();
        let start = vec![0; stop.len()];
        let has_data = frame.chunk_count() > 0 && frame.region_output(&start, &stop).unwrap() > 0;
        if let Err(error) = in_parts.region_scratch(&start, &stop) {
            assert!(has_data && error.kind() == ErrorKind::NotInMemory, "{}: {error}", case.name());
            assert!(error.offset().is_some_and(|at| at >= extent.offset), "{}", case.name());
        }
        // If the chunks and their table are added before opening, everything is available.
        let mut source = Source::new(case.bytes.len() as u64);
        let given = [(extent.offset as usize, case.bytes.len())];
        let parts = open_in_parts(&case.bytes, &given, &mut source).unwrap();
        assert_eq!(whole(&parts.as_b2nd().unwrap()).unwrap(), whole(&frame).unwrap(), "{}", case.name());
    }
}

/// An array with no data in memory: fetches the table, then the extent of each chunk, then the chunks one by one.
#[test]
fn chunks_are_fetched_one_by_one() {
    let mut fetched = 0;
    for case in good().iter().filter(|case| case.bytes.len() < 20_000) {
        let file = File::open(&case.bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let (table, item) = (frame.table_extent(), case.bytes.as_slice());
        let bytes = |from: u64, length: u64| (from as usize, (from + length) as usize);
        let with_table = [bytes(table.offset, table.length)];
        for index in 0..frame.chunk_count().min(5) {
            let whole = frame
                .chunk(
                    index,
                    ReadOptions::new().scratch(&mut vec![0; frame.table_scratch_length().unwrap() as usize]),
                )
                .unwrap();
            let mut head = Vec::new();
            let extent = loop {
                let mut source = Source::new(item.len() as u64);
                let given: Vec<_> = with_table.iter().chain(&head).copied().collect();
                let parts = open_in_parts(item, &given, &mut source).unwrap();
                let parts = parts.as_b2nd().unwrap();
                match parts.chunk_extent(
                    index,
                    ReadOptions::new().scratch(&mut vec![0; parts.table_scratch_length().unwrap() as usize]),
                ) {
                    Ok(extent) => break extent,
                    Err(error) => {
                        assert!(
                            head.is_empty() && error.kind() == ErrorKind::NotInMemory,
                            "{}: {error}",
                            case.name()
                        );
                        let at = error.offset().unwrap();
                        head.push(bytes(at, (item.len() as u64 - at).min(32)));
                    }
                }
            };
            assert_eq!(extent, whole.extent(), "{}", case.name());
            let Some(extent) = extent else { continue };
            let mut source = Source::new(item.len() as u64);
            let given = [with_table[0], bytes(extent.offset, extent.length)];
            let parts = open_in_parts(item, &given, &mut source).unwrap();
            let parts = parts.as_b2nd().unwrap();
            let chunk = parts
                .chunk(
                    index,
                    ReadOptions::new().scratch(&mut vec![0; parts.table_scratch_length().unwrap() as usize]),
                )
                .unwrap();
            let mut room = vec![0; chunk.decoded_length() as usize];
            chunk
                .read_into(&mut room, ReadOptions::new().scratch(&mut vec![0; chunk.scratch_length() as usize]))
                .unwrap();
            fetched += 1;
        }
    }
    assert!(fetched > 500, "{fetched}");
}

#[test]
fn results_do_not_depend_on_previous_memory_contents() {
    let mut random = Random(7);
    let mut accepted = 0;
    for case in good().iter().filter(|case| case.bytes.len() < 3000) {
        for _ in 0..40 {
            let mut bytes = case.bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            let Ok(file) = File::open(&bytes) else { continue };
            let frame = file.as_b2nd().unwrap();
            let stop: Vec<u64> = frame.shape().iter().collect();
            let start = vec![0; stop.len()];
            let (Ok(length), Ok(scratch)) = (frame.region_output(&start, &stop), frame.region_scratch(&start, &stop))
            else {
                continue;
            };
            if length.max(scratch) > 1 << 20 {
                continue;
            }
            let read = |fill: u8| {
                let mut room = vec![fill; length as usize];
                let mut scratch = vec![!fill; scratch as usize];
                frame
                    .read_region(&start, &stop, &mut room, ReadOptions::new().scratch(&mut scratch))
                    .map(|room| room.to_vec())
            };
            let (first, second) = (read(0x00), read(0xc3));
            accepted += usize::from(first.is_ok());
            assert_eq!(first, second, "{}", case.name());
        }
    }
    assert!(accepted > 500, "{accepted}");
}

#[test]
fn wrong_arguments() {
    let bytes = fixture("b2nd/good/nd03_lz4_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let shape: Vec<u64> = frame.shape().iter().collect();
    let fails = |start: &[u64], stop: &[u64], room: &mut [u8], kind: ErrorKind| {
        let before = room.to_vec();
        assert_eq!(
            frame
                .read_region(start, stop, room, ReadOptions::new().scratch(&mut vec![0; 1 << 16]))
                .unwrap_err()
                .kind(),
            kind
        );
        assert_eq!(room, before, "{kind:?}");
    };
    let zero = vec![0; shape.len()];
    let beyond: Vec<u64> = shape.iter().map(|length| length + 1).collect();
    let mut room = vec![9; 1 << 16];
    fails(&zero[1..], &shape, &mut room, ErrorKind::WrongRank);
    fails(&zero, &shape[1..], &mut room, ErrorKind::WrongRank);
    fails(&zero, &beyond, &mut room, ErrorKind::NoSuchElement);
    fails(&shape, &zero, &mut room, ErrorKind::NoSuchElement);
    let length = frame.region_output(&zero, &shape).unwrap() as usize;
    fails(&zero, &shape, &mut room[..length - 1], ErrorKind::TooSmall);
    // An empty region needs no memory.
    assert!(frame.read_region(&shape, &shape, &mut [], ReadOptions::new()).unwrap().is_empty());
    assert_eq!(frame.region_scratch(&shape, &shape).unwrap(), 0);
    // A component cannot be read if only the tensor can decode it.
    let component = file.find("").unwrap().components().next().unwrap();
    assert_eq!(component.read_into(&mut room, ReadOptions::new()).unwrap_err().kind(), ErrorKind::Encoded);
    assert_eq!(component.bytes().unwrap_err().kind(), ErrorKind::Encoded);
    assert!(component.stored().is_ok());
}

#[test]
fn calls_the_callers_decoder() {
    #[derive(Default)]
    struct Counting {
        built_in: BuiltIn,
        streams: u64,
        streams_with_one: u64,
    }
    impl Decoder for Counting {
        fn decode(&mut self, encoding: Encoding, stored: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
            assert!(matches!(encoding, Encoding::Zstd | Encoding::Zlib));
            self.streams += 1;
            self.built_in.decode(encoding, stored, room)
        }
        fn decode_with_dictionary(
            &mut self,
            encoding: Encoding,
            dictionary: &[u8],
            stored: &[u8],
            room: &mut [u8],
        ) -> Result<usize, DecodeError> {
            assert!(dictionary.starts_with(&[0x37, 0xa4, 0x30, 0xec]));
            self.streams_with_one += 1;
            self.built_in.decode_with_dictionary(encoding, dictionary, stored, room)
        }
    }
    struct Refusing;
    impl Decoder for Refusing {
        fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
            Err(DecodeError::Unsupported)
        }
    }
    for (name, with_dictionary) in [
        ("default_f4_0", false),
        ("cf_zlib_shuf_0", false),
        ("dict_zstd_shuffle_0", true),
        ("dict_zstd_bitshuffle_0", true),
    ] {
        let bytes = fixture(&format!("b2nd/good/{name}.b2nd"));
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("").unwrap();
        let mut room = vec![0; tensor.requirements(Purpose::Read).output.unwrap() as usize];
        let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
        let mut counting = Counting::default();
        tensor.read_into(&mut room, ReadOptions::new().decoder(&mut counting).scratch(&mut scratch)).unwrap();
        assert_eq!(room, dense(&tensor).unwrap(), "{name}");
        // The dictionary of a chunk serves several streams.
        let chunks = if with_dictionary { file.as_b2nd().unwrap().chunk_count() } else { 0 };
        assert!(counting.streams_with_one >= 2 * chunks, "{name}: {}", counting.streams_with_one);
        assert_eq!(counting.streams > 0, !with_dictionary, "{name}");
        let refused =
            tensor.read_into(&mut room, ReadOptions::new().decoder(&mut Refusing).scratch(&mut scratch)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UnsupportedCodec, "{name}");
    }
}

/// The error of a bad fixture, on opening or on reading all of it.
fn error_of(name: &str) -> ErrorKind {
    let path = [format!("b2nd/bad/{name}.b2nd"), format!("b2nd/bad/{name}.b2frame")];
    let exists = |path: &&String| std::path::Path::new("tests/fixtures").join(path).exists();
    let bytes = fixture(path.iter().find(exists).unwrap_or_else(|| panic!("no fixture {name}")));
    let result = File::open(&bytes).and_then(|file| {
        let frame = file.as_b2nd().unwrap();
        whole(&frame)?;
        for metalayer in frame.variable_metalayers() {
            let chunk = frame.variable_metalayer(&metalayer)?;
            chunk.read_into(
                &mut vec![0; chunk.decoded_length() as usize],
                ReadOptions::new().scratch(&mut [0; 4096]),
            )?;
        }
        Ok(())
    });
    result.expect_err(name).kind()
}

/// The classes of malformed frames that other readers are known to have accepted. Each class has its own files.
macro_rules! refused {
    ($($(#[$meta:meta])* $class:ident: $($file:literal = $kind:ident),+;)*) => {
        $($(#[$meta])* #[test] fn $class() { $(assert_eq!(error_of($file), ErrorKind::$kind, $file);)+ })*
    };
}

refused! {
    products_beyond_64_bits: "b2nd_prod_overflow_64_0" = ShapeOverflow, "b2nd_shape_max_0" = ShapeOverflow,
        "b2nd_ext_overflow_0" = ShapeOverflow;
    products_beyond_32_bits: "b2nd_chunk_prod_overflow_0" = ShapeOverflow, "b2nd_chunkbytes_overflow_0" = ChunkGrid;
    sums_beyond_32_bits: "vl_chunk_overflow_0" = DecodedLength, "vl_chunk_neg_0" = NegativeLength, "vl_chunk_sum_0" = DecodedLength;
    offset_and_length_wrap_around: "meta_len_7fffffff_0" = OutOfPlace, "off_max_0" = OutOfPlace,
        "chunk_cbytes_7fffffff_0" = OutOfPlace, "cbytes_7fffffffffffffff_0" = FrameLengths;
    negative_lengths: "cbytes_8000000000000000_0" = NegativeLength, "chunk_nbytes_ffffffff_0" = NegativeLength,
        "b2nd_shape_neg_0" = NegativeLength, "chunk_blocksize_ffffffff_0" = NegativeLength,
        "chunksize_fffffffe_0" = NegativeLength;
    header_and_trailer_beyond_the_frame: "header_len_322_0" = FrameLengths, "header_len_7fffffff_0" = FrameLengths,
        "trl_len_322_0" = FrameLengths, "trl_len_0_0" = FrameLengths, "frame_len_10_0" = FrameLengths;
    metalayers_in_the_fixed_header: "meta_off_10_0" = OutOfPlace, "vl_off_2_0" = OutOfPlace;
    chunks_beyond_their_region: "chunk_cbytes_106b_0" = OutOfPlace, "off_eof_0" = OutOfPlace, "off_past_0" = OutOfPlace,
        "offchunk_cbytes_trailer_0" = OutOfPlace;
    more_or_fewer_chunks_than_offsets: "offchunk_short_0" = CountsDiffer, "offchunk_long_0" = CountsDiffer,
        "nbytes_4000000000000000_0" = ChunkGrid, "chunksize_1_0" = ChunkGrid;
    blocks_before_the_end_of_the_dictionary: "chunk_dict_overlap_0" = OutOfPlace, "chunk_bstart_1f_0" = OutOfPlace;
    blocks_split_unevenly: "chunk_split_ragged_0" = UnevenSplit;
    runs_of_no_byte: "chunk_run_256_0" = InvalidRun, "chunk_run_token0_0" = InvalidRun;
    runs_without_a_token: "chunk_run_notoken_0" = OutOfPlace;
    values_that_do_not_fill_a_chunk: "chunk_value_0_0" = SpecialChunk, "chunk_value_nodiv_0" = SpecialChunk,
        "chunk_value_wide_0" = SpecialChunk;
    dictionaries_of_absurd_size: "chunk_dict_0_0" = OutOfPlace, "chunk_dict_max_0" = OutOfPlace,
        "chunk_dict_neg_0" = OutOfPlace;
    streams_that_decode_to_more: "chunk_zlib_bomb_0" = DecodedLength, "chunk_lz4_long_0" = DecodedLength,
        "chunk_blz_len255_0" = DecodedLength;
    streams_that_reach_before_their_start: "chunk_blz_dist_0" = CorruptStream, "chunk_lz4_before_0" = CorruptStream;
    streams_that_end_early: "chunk_lz4_trunc_0" = CorruptStream, "chunk_blz_trunc_match_0" = CorruptStream;
    checksums_of_streams: "chunk_zlib_adler_0" = ChecksumMismatch, "chunk_zstd_checksum_0" = ChecksumMismatch;
    files_of_more_than_one_file: "sparse_frame" = SparseFrame;
    arrays_nested_instead_of_fields: "b2nd_nested_arrays_0" = UnsupportedVersion;
    names_that_stand_twice: "b2nd_duplicate_0" = RepeatedKey;
    markers_of_the_other_metalayer: "b2nd_marker_95" = WrongMarker, "caterva_trailing" = TrailingBytes;
    blocks_of_different_lengths_in_an_array: "vl_blocks_in_an_array" = UnsupportedChunk;
    chunks_that_do_not_add_up: "var_chunks_left_over" = ChunkGrid, "var_chunk_too_long" = ChunkSize,
        "var_chunk_too_long_table" = ChunkSize;
    more_chunks_than_bytes: "more_chunks_than_bytes" = CountTooLarge;
    nan_of_half_an_element: "nan_not_whole" = SpecialChunk, "nan_offset_not_whole" = SpecialChunk;
}

#[test]
fn huge_windows_need_no_memory() {
    assert!(matches!(error_of("chunk_zstd_window_0"), ErrorKind::CorruptStream | ErrorKind::DecodedLength));
}

#[test]
fn deeply_nested_dtypes_are_not_parsed() {
    let bytes = fixture("b2nd/bad/b2nd_dtype_deep_0.b2nd");
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("").unwrap().dtype(), None);
    assert!(file.as_b2nd().unwrap().dtype_text().unwrap().len() > 1000);
}

/// Many blocks may share one stream, so a stream that decodes to few bytes must be short.
#[test]
fn rejects_streams_too_long_for_their_content() {
    let data: Vec<u8> = (0..200).collect();
    // A Zstandard frame of one raw block, then a skippable frame, with a total of `length` bytes.
    let stream = |length: usize| {
        let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 200];
        stream.extend(&(200_u32 << 3 | 1).to_le_bytes()[..3]);
        stream.extend(&data);
        let skipped = length - stream.len() - 8;
        stream.extend([0x50, 0x2a, 0x4d, 0x18]);
        stream.extend((skipped as u32).to_le_bytes());
        stream.resize(length, 0);
        stream
    };
    for (stored, is_accepted) in [(300, true), (2 * 200 + 64, true), (2 * 200 + 65, false), (10_000, false)] {
        let chunk = Chunk { length: 200, block_size: 200, flags: ZSTD | NOT_SPLIT, ..Chunk::default() };
        let chunks = of_streams(chunk, &[&stream(stored)]);
        let bytes =
            Frame { chunks: &chunks, table: &all_first(1), length: 200, chunk_length: 200, ..Frame::default() }
                .bytes();
        let file = File::open(&bytes).unwrap();
        let read = whole(&file.as_b2nd().unwrap());
        if is_accepted {
            assert_eq!(read.unwrap(), data, "{stored}");
            continue;
        }
        let error = read.expect_err("accepted");
        assert_eq!((error.kind(), error.part()), (ErrorKind::DecodedLength, Part::Stream), "{stored}");
        assert_eq!(error.offset(), Some(97 + 36), "{stored}"); // the position of its length
    }
}

/// Many chunks may share a block that states its own length, so such a block must also be short if it decodes to few
/// bytes or none.
#[test]
fn rejects_variable_blocks_too_long_for_their_content() {
    // A Zstandard frame of one byte after empty blocks, with a total of `length` bytes.
    let stream = |length: usize| {
        let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 1];
        stream.resize(length - 4, 0);
        stream.extend([1 << 3 | 1, 0, 0, b'x']);
        stream
    };
    for (length, is_accepted) in [(10, true), (64, true), (67, false), (3010, false)] {
        let stored = stream(length);
        let payload = &[&36_u32.to_le_bytes()[..], &1_u32.to_le_bytes(), &stored].concat();
        let chunk =
            Chunk { length: 1, block_size: 1, flags: ZSTD | NOT_SPLIT, flags2: 1, payload, ..Chunk::default() };
        let bytes =
            Frame { chunks: &chunk.bytes(), table: &all_first(1000), length: 1000, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let read = frame
            .read_region(&[0], &[1000], &mut [0; 1000], ReadOptions::new().scratch(&mut [0; 16]))
            .map(|read| read.to_vec());
        if is_accepted {
            assert_eq!(read.unwrap(), [b'x'; 1000], "{length}");
            continue;
        }
        // Reading fails, and so does asking for the memory, for the whole region and for one chunk.
        let chunk = frame.chunk(7, ReadOptions::new()).unwrap();
        let errors = [
            read.expect_err("accepted"),
            frame.region_scratch(&[0], &[1000]).expect_err("accepted"),
            chunk.block_length(0).expect_err("accepted"),
            chunk.read_into(&mut [0], ReadOptions::new()).map(|read| read.to_vec()).expect_err("accepted"),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.part()), (ErrorKind::DecodedLength, Part::Block), "{length}");
            assert_eq!(error.offset(), Some(97 + 36), "{length}"); // the position of its length
        }
    }
}

/// Parsing a dictionary is slow, and each of many short chunks may have its own.
#[test]
fn rejects_dictionaries_longer_than_their_chunk() {
    let dictionary: Vec<u8> = (0..100).collect();
    for (length, is_accepted) in [(101, true), (100, true), (99, false), (1, false)] {
        // LZ4: `length` literals.
        let stream = [&[0xf0, length as u8 - length.min(15) as u8][..], &dictionary, &dictionary].concat();
        let stream = match length {
            1 => vec![0x10, b'x'],
            _ => stream[..2 + length as usize].to_vec(),
        };
        let [place, size, count] = [32 + 4 + 4 + 100, 100, stream.len() as u32].map(u32::to_le_bytes);
        let payload = [&place[..], &size, &dictionary, &count, &stream].concat();
        let chunk = Chunk {
            length,
            block_size: length,
            flags: 1 << 5 | NOT_SPLIT,
            flags1: 1,
            payload: &payload,
            ..Chunk::default()
        };
        let bytes = Frame {
            chunks: &chunk.bytes(),
            table: &all_first(1),
            length: length.into(),
            chunk_length: length,
            array: None,
            ..Frame::default()
        }
        .bytes();
        let file = File::open(&bytes).unwrap();
        let read = whole(&file.as_b2nd().unwrap());
        if is_accepted {
            assert_eq!(read.unwrap().len(), length as usize);
            continue;
        }
        let error = read.expect_err("accepted");
        assert_eq!((error.kind(), error.part()), (ErrorKind::OutOfPlace, Part::Dictionary), "{length}");
        assert_eq!(error.offset(), Some(97 + 36), "{length}"); // the position of its length
    }
}

/// Two gigabytes of zeros in a few bytes: reading a region costs only what the region needs.
#[test]
fn chunks_of_zeros_are_not_materialized() {
    let bytes = fixture("b2nd/bad/bomb_2gib_zeros_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let last: Vec<u64> = frame.shape().iter().map(|length| length - 1).collect();
    let stop: Vec<u64> = frame.shape().iter().collect();
    assert_eq!(frame.region_scratch(&last, &stop).unwrap(), 0);
    assert!(region(&frame, &last, &stop).unwrap().iter().all(|&byte| byte == 0));
}

/// Eight million chunks in a table of one block, split into 255 runs: the bound for any chunk is returned quickly.
#[test]
fn unsearchable_tables_have_a_bound() {
    let bytes = fixture("b2nd/bad/bomb_split_table.b2nd");
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let stop: Vec<u64> = frame.shape().iter().collect();
    let need = frame.region_scratch(&vec![0; stop.len()], &stop).unwrap();
    assert!(need >= 3 * frame.defaults().chunk_size && need < 1 << 30, "{need}");
}

/// A table of 2·10^8 chunks in 300 bytes is never walked.
#[test]
fn tables_of_one_repeated_offset_are_not_materialized() {
    let bytes = fixture("b2nd/bad/bomb_nchunks_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert!(frame.chunk_count() > 100_000_000);
    let stop: Vec<u64> = frame.shape().iter().collect();
    let start: Vec<u64> = stop.iter().map(|length| length - 1).collect();
    let _ = region(&frame, &start, &stop);
}

/// Written by c-blosc2 3.3.5 through its C API, since the Python API rejects such a width: 40 elements of 200 and of
/// 300 bytes. `bytedelta` without a width of its own takes the differences between elements of the size that the
/// frame states.
#[test]
fn differences_of_wide_elements() {
    let of_200 = include_bytes!("../fixtures/b2nd/hostile/bytedelta_200.b2nd");
    let of_300 = include_bytes!("../fixtures/b2nd/hostile/bytedelta_300.b2nd");
    // Some programs write 1 for elements of more than 255 bytes.
    let mut said_to_be_1 = of_300.to_vec();
    assert_eq!(said_to_be_1[48..52], 300_u32.to_be_bytes());
    said_to_be_1[48..52].copy_from_slice(&1_u32.to_be_bytes());
    for (bytes, size) in [(&of_200[..], 200), (of_300, 300), (&said_to_be_1, 300)] {
        let file = File::open(bytes).unwrap();
        assert_eq!(file.as_b2nd().unwrap().item_size(), size);
        let expected: Vec<u8> = (0..40 * size).map(|i| b'a' + ((i * 7 + i / 13) % 5) as u8).collect();
        assert!(dense(&file.find("").unwrap()).unwrap() == expected, "{size}");
        assert!(
            region(&file.as_b2nd().unwrap(), &[13], &[14]).unwrap()
                == expected[13 * size as usize..][..size as usize]
        );
    }
}

/// An array of `rows` by 1, in chunks of one row of `width` bytes. All chunks have the contents `row`.
fn wide_rows(rows: u32, width: u32, row: &[u8]) -> Vec<u8> {
    let array = Some((&[u64::from(rows), 1][..], &[1, width][..], &[1, width][..]));
    let length = u64::from(rows) * u64::from(width);
    Frame { chunks: row, table: &all_first(rows), length, chunk_length: width, array, ..Frame::default() }.bytes()
}

/// The decoding cost is known in advance. It includes only work that a codec cannot avoid.
#[test]
fn work_is_known_in_advance() {
    let work = |bytes: &[u8], stop: &[u64]| {
        let file = File::open(bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        // The cost is at least the decoded length of the streams that a decoder is called for.
        struct Counting(BuiltIn, u64);
        impl Decoder for Counting {
            fn decode(&mut self, encoding: Encoding, stored: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
                self.1 += room.len() as u64;
                self.0.decode(encoding, stored, room)
            }
        }
        let start = vec![0; stop.len()];
        let mut room = vec![0; frame.region_output(&start, stop).unwrap() as usize];
        let mut scratch = vec![0; frame.region_scratch(&start, stop).unwrap() as usize];
        let mut counting = Counting(BuiltIn::default(), 0);
        frame
            .read_region(&start, stop, &mut room, ReadOptions::new().decoder(&mut counting).scratch(&mut scratch))
            .unwrap();
        let work = frame.work_length(&start, stop).unwrap();
        assert!(counting.1 <= work && work <= frame.defaults().decoded, "{} {work}", counting.1);
        (work, counting.1, room)
    };
    let width = 1 << 20;
    let row = Chunk { length: width, block_size: width, flags: ZSTD | NOT_SPLIT, ..Chunk::default() };
    let zeros = zstd::bulk::compress(&vec![7; width as usize], 1).unwrap();
    let stream = of_streams(row, &[&zeros]);
    // A Zstandard stream is decoded as a whole, even for one element of each row.
    let all = 100 * u64::from(width);
    assert_eq!(work(&wide_rows(100, width, &stream), &[100, 1]), (all, all, vec![7; 100]));
    assert_eq!(
        work(&wide_rows(100, width, &stream), &[3, 1]),
        (3 * u64::from(width), 3 * u64::from(width), vec![7; 3])
    );
    // A run of one byte costs nothing, with and without a shuffle. Nor does a raw row.
    let run = (-7_i32).to_le_bytes();
    for (filter, typesize) in [(0, 1), (1, 1), (1, 4)] {
        let payload = &[&36_u32.to_le_bytes()[..], &run, &[1]].concat();
        let chunk = Chunk { flags: NOT_SPLIT, filters: [0, 0, 0, 0, 0, filter], typesize, payload, ..row };
        assert_eq!(work(&wide_rows(100, width, &chunk.bytes()), &[100, 1]).0, if typesize == 4 { all } else { 0 });
        assert_eq!(work(&wide_rows(100, width, &chunk.bytes()), &[100, 1]).2, [7; 100]);
    }
    assert_eq!(work(&wide_rows(100, width, &copied(&vec![7; width as usize])), &[100, 1]), (0, 0, vec![7; 100]));
    // With another filter the whole block is decoded.
    let payload = &[&36_u32.to_le_bytes()[..], &run, &[1]].concat();
    let chunk = Chunk { flags: NOT_SPLIT, filters: [0, 0, 0, 0, 0, 2], payload, ..row };
    assert_eq!(work(&wide_rows(100, width, &chunk.bytes()), &[100, 1]).0, all);
    // If there are too many chunks to examine, the cost is the cost of all of them.
    let rows = (1 << 16) + 1;
    let bytes = wide_rows(rows, 16, &copied(&[7; 16]));
    assert_eq!(work(&bytes, &[u64::from(rows), 1]).0, 16 * u64::from(rows));
    assert_eq!(work(&bytes, &[u64::from(rows) - 1, 1]).0, 0);
}

/// Dictionaries are part of the cost of each chunk.
#[test]
fn work_includes_dictionaries() {
    struct Counting(u64);
    impl Decoder for Counting {
        fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
            Err(DecodeError::Unsupported)
        }
        fn decode_with_dictionary(
            &mut self,
            _: Encoding,
            dictionary: &[u8],
            _: &[u8],
            dst: &mut [u8],
        ) -> Result<usize, DecodeError> {
            self.0 += dictionary.len() as u64 + dst.len() as u64;
            dst.fill(7);
            Ok(dst.len())
        }
    }
    let dictionary = [0; 1000];
    let places = [32 + 4 + 4 + 1000_u32, 1000].map(u32::to_le_bytes).concat();
    // A dictionary may be as long as its chunk. The chunk has one block, of the usual length or of a length stated
    // before its stream.
    let (length, flags) = (1000, ZSTD | NOT_SPLIT);
    for (block_size, flags2, before, stream) in [(length, 0, 1_u32, &[0][..]), (1, 1, length, &[0; 100])] {
        let payload = &[&places[..], &dictionary, &before.to_le_bytes(), stream].concat();
        let chunk = Chunk { length, block_size, flags, flags1: 1, flags2, payload, ..Chunk::default() };
        let chunk = chunk.bytes();
        let turn = [0, chunk.len() as u64].map(u64::to_le_bytes).concat();
        let (chunks, table) = ([&chunk[..], &chunk].concat(), repeated(&turn, 8 * 100));
        let frame = Frame { chunks: &chunks, table: &table, length: 100_000, chunk_length: 1000, ..Frame::default() };
        let bytes = frame.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let (mut counting, mut room) = (Counting(0), [0; 100_000]);
        frame
            .read_region(
                &[0],
                &[100_000],
                &mut room,
                ReadOptions::new().decoder(&mut counting).scratch(&mut [0; 1000]),
            )
            .unwrap();
        assert_eq!((room, counting.0), ([7; 100_000], 100 * (1000 + 1000)));
        assert_eq!(frame.work_length(&[0], &[100_000]), Ok(100 * (1000 + 1000)));
    }
}

/// Reads a few elements of a block whose planes are runs of one byte, raw, and compressed.
#[test]
fn elements_are_gathered_from_streams_of_every_kind() {
    const COUNT: usize = 1000;
    let raw: Vec<u8> = (0..COUNT).map(|i| (i % 251) as u8).collect();
    let coded: Vec<u8> = (0..COUNT).map(|i| (i / 7) as u8).collect();
    let stored = zstd::bulk::compress(&coded, 1).unwrap();
    let mut payload = 36_u32.to_le_bytes().to_vec();
    payload.extend((-9_i32).to_le_bytes());
    payload.push(1);
    for stream in [&raw, &stored] {
        payload.extend((stream.len() as u32).to_le_bytes());
        payload.extend(stream);
    }
    payload.extend(0_i32.to_le_bytes());
    let length = 4 * COUNT as u32;
    // Split into four streams, one for each byte of an element.
    let chunk = Chunk {
        length,
        block_size: length,
        typesize: 4,
        flags: ZSTD,
        filters: [0, 0, 0, 0, 0, 1],
        payload: &payload,
        ..Chunk::default()
    };
    let array = Some((&[COUNT as u64][..], &[COUNT as u32][..], &[COUNT as u32][..]));
    let chunks = chunk.bytes();
    let mut bytes = Frame {
        chunks: &chunks,
        table: &all_first(1),
        length: length.into(),
        chunk_length: length,
        array,
        ..Frame::default()
    }
    .bytes();
    bytes[51] = 4; // bytes of an element
    let expected: Vec<u8> = (0..COUNT).flat_map(|i| [9, raw[i], coded[i], 0]).collect();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!(frame.item_size(), 4);
    for (start, stop) in [(0, COUNT), (0, 1), (10, 12), (COUNT - 1, COUNT), (3, 500), (2, 252), (7, 256)] {
        let found = region(&frame, &[start as u64], &[stop as u64]).unwrap();
        assert!(found == expected[4 * start..4 * stop], "{start} {stop}: {found:?}");
        assert_eq!(frame.work_length(&[start as u64], &[stop as u64]).unwrap(), COUNT as u64);
    }
}

/// In a block whose bits are shuffled, only the elements of the region are put together, in steps of 1024.
#[test]
fn parts_of_a_block_with_shuffled_bits() {
    const ROW: usize = 1300;
    const COUNT: usize = 2 * ROW;
    let stored: Vec<u8> = (0..2 * COUNT).map(|i| (i * i / 7 + i) as u8).collect();
    let length = 2 * COUNT as u32;
    let filters = [0, 0, 0, 0, 0, 2];
    let chunk = Chunk { length, block_size: length, typesize: 2, flags: NOT_SPLIT, filters, ..Chunk::default() };
    let chunks = of_streams(chunk, &[&stored]);
    let sides = [2_u32, ROW as u32];
    let mut bytes = Frame {
        chunks: &chunks,
        table: &all_first(1),
        length: length.into(),
        chunk_length: length,
        array: Some((&sides.map(u64::from), &sides, &sides)),
        ..Frame::default()
    }
    .bytes();
    bytes[51] = 2; // bytes of an element
    let bit = |row: usize, element: usize| stored[row * COUNT / 8 + element / 8] >> (element % 8) & 1;
    let byte = |at: usize| (0..8).map(|k| bit(at % 2 * 8 + k, at / 2) << k).sum();
    let expected: Vec<u8> = (0..2 * COUNT).map(byte).collect();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!(frame.item_size(), 2);
    for (first, last) in [(0, 0), (0, 1023), (1, 1024), (1023, 1023), (1024, 1024), (700, 1299), (1299, 1299)] {
        for rows in [0..1, 1..2, 0..2] {
            let (start, stop) = ([rows.start, first], [rows.end, last + 1]);
            let cut = cut(&expected, &[2, ROW as u64], 2, &start, &stop);
            assert!(region(&frame, &start, &stop).unwrap() == cut, "{start:?} {stop:?}");
        }
    }
}

/// Chunks of different lengths whose table repeats. Whole periods are skipped; the result is the same as visiting
/// each chunk.
#[test]
fn skips_periods_of_a_repeating_table() {
    let chunks = [&b"abc"[..], b"", b"defgh"].map(copied);
    let mut offsets = Vec::new();
    for length in [0, chunks[0].len(), chunks[0].len() + chunks[1].len()] {
        offsets.extend((length as u64).to_le_bytes());
    }
    let all = chunks.concat();
    let frame = |turns: u32, length: u64| {
        let table = repeated(&offsets, 24 * turns);
        Frame { chunks: &all, table: &table, length, ..Frame::default() }.bytes()
    };
    let bytes = frame(7, 7 * 8);
    let file = File::open(&bytes).unwrap();
    let frame_of_7 = file.as_b2nd().unwrap();
    let expected = b"abcdefgh".repeat(7);
    for start in 0..=expected.len() {
        for stop in start..=expected.len() {
            assert_eq!(region(&frame_of_7, &[start as u64], &[stop as u64]).unwrap(), expected[start..stop]);
        }
    }
    // Ten million periods take no more time.
    let bytes = frame(10_000_000, 80_000_000);
    let file = File::open(&bytes).unwrap();
    assert_eq!(region(&file.as_b2nd().unwrap(), &[79_999_990], &[79_999_995]).unwrap(), b"ghabc");
    assert_eq!(file.as_b2nd().unwrap().region_scratch(&[0], &[80_000_000]), Ok(0));
    // Lengths that do not add up are rejected, whichever region past the first period is read.
    for length in [40, 55, 57, 65, 200] {
        let bytes = frame(7, length);
        let file = File::open(&bytes).unwrap();
        for start in [8, 20, length - 1] {
            let error = region(&file.as_b2nd().unwrap(), &[start], &[start + 1]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ChunkGrid, "{length} {start}");
        }
    }
}

/// A block size larger than the chunk is reduced to the chunk's length. The only block is then full, and is split.
#[test]
fn limits_blocks_to_their_chunk() {
    for block_size in [10, 11, 100] {
        let chunk = Chunk { length: 10, block_size, typesize: 2, filters: [0, 0, 0, 0, 0, 1], ..Chunk::default() };
        let streams =
            [5_u32.to_le_bytes().to_vec(), b"abcde".to_vec(), 5_u32.to_le_bytes().to_vec(), b"vwxyz".to_vec()];
        let payload = [36_u32.to_le_bytes().to_vec(), streams.concat()].concat();
        let chunks = Chunk { payload: &payload, ..chunk }.bytes();
        let bytes =
            Frame { chunks: &chunks, table: &all_first(1), length: 10, chunk_length: 10, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let chunk = frame.chunk(0, ReadOptions::new()).unwrap();
        assert_eq!(
            (chunk.block_size(), chunk.block_count(), chunk.scratch_length()),
            (Some(10), 1, 10),
            "{block_size}"
        );
        assert_eq!(
            chunk.read_into(&mut [0; 10], ReadOptions::new().scratch(&mut [0; 10])).unwrap(),
            b"avbwcxdyez",
            "{block_size}"
        );
        assert_eq!(region(&frame, &[3], &[8]).unwrap(), b"wcxdy", "{block_size}");
    }
}

/// Only undoing a shuffle needs memory besides the destination.
#[test]
fn memory_of_single_chunks() {
    let content = [7; 32];
    let in_blocks = |filters| {
        let chunk = Chunk { length: 32, block_size: 8, typesize: 2, flags: NOT_SPLIT, filters, ..Chunk::default() };
        of_streams(chunk, &[&content[..8]; 4])
    };
    let [none, differences] = [0, 3].map(|filter| in_blocks([0, 0, 0, 0, 0, filter]));
    let [shuffled, bits] = [1, 2].map(|filter| in_blocks([0, 0, 0, 0, filter, 0]));
    let both = in_blocks([0, 0, 0, 0, 1, 2]);
    let unequal = of_variable_blocks(&[&content[..20], &content[20..]]);
    let mut unequal_shuffled = unequal.clone();
    unequal_shuffled[21] = 1;
    let mut copied_shuffled = copied(&content);
    copied_shuffled[21] = 1;
    for (chunk, expected) in [
        (none, 0),
        (differences, 0),
        (shuffled, 8),
        (bits, 8),
        (both, 8),
        (unequal, 0),
        (unequal_shuffled, 20), // the largest block
        (copied(&content), 0),
        (copied_shuffled, 0), // without its filters
        (repeated(&[7, 8], 32), 0),
    ] {
        let bytes =
            Frame { chunks: &chunk, table: &all_first(1), length: 32, chunk_length: 32, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let chunk = file.as_b2nd().unwrap().chunk(0, ReadOptions::new()).unwrap();
        assert_eq!(chunk.scratch_length(), expected, "{chunk:?}");
        assert!(
            chunk.read_into(&mut [0; 32], ReadOptions::new().scratch(&mut vec![0; expected as usize])).is_ok(),
            "{chunk:?}"
        );
    }
}

/// Chunks whose block size differs from the array's are decoded as a whole.
#[test]
fn blocks_that_differ_from_the_arrays() {
    let content: Vec<u8> = (0..64).collect();
    // With a shape, and without one. Without a shape one block at a time is decoded, whatever its size.
    for (block_size, filter, expected, of_bytes) in [
        (8, 0, 8, 8), // a block of the array
        (16, 0, 32, 16),
        (32, 0, 32, 32),
        (16, 1, 32 + 16, 16), // a block to undo the shuffle from; without a shape it is undone on writing
        (16, 2, 32 + 16, 16 + 16),
        (16, 3, 32, 16 + 16), // the chunk has the first block; without a shape it is kept
    ] {
        // The chunk shape is 4 by 8, the block shape 2 by 4.
        let filters = [0, 0, 0, 0, 0, filter];
        let chunk = Chunk { length: 32, block_size, flags: NOT_SPLIT, filters, ..Chunk::default() };
        let chunks = [&content[..32], &content[32..]].map(|content| {
            let blocks: Vec<&[u8]> = content.chunks(block_size as usize).collect();
            of_streams(chunk, &blocks)
        });
        let offsets = [0, chunks[0].len() as u64].map(u64::to_le_bytes).concat();
        let array = Frame {
            chunks: &chunks.concat(),
            table: &copied(&offsets),
            length: 64,
            chunk_length: 32,
            array: Some((&[8, 8][..], &[4, 8][..], &[2, 4][..])),
            ..Frame::default()
        };
        let bytes = Frame { array: None, ..array }.bytes();
        let found = File::open(&bytes).unwrap().as_b2nd().unwrap().region_scratch(&[0], &[64]);
        assert_eq!(found, Ok(of_bytes), "{block_size} {filter}");

        let bytes = array.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        for (start, stop) in [([0, 0], [8, 8]), ([3, 1], [5, 7]), ([7, 7], [8, 8])] {
            let found = region(&frame, &start, &stop).unwrap();
            assert_eq!(frame.region_scratch(&start, &stop), Ok(expected), "{block_size} {filter}");
            let touched = stop[0].div_ceil(4) - start[0] / 4;
            // For whole chunks the cost does not depend on how streams are stored.
            let work = if block_size == 8 { 0 } else { 32 * touched };
            assert_eq!(frame.work_length(&start, &stop), Ok(work), "{block_size} {filter}");
            if filter > 1 {
                continue; // the filter changes the bytes
            }
            // The blocks are stored one after the other, each row-major.
            let place = |row: u64, column: u64| {
                let block = row / 4 * 4 + row % 4 / 2 * 2 + column / 4;
                block * 8 + row % 2 * 4 + column % 4
            };
            let rows = start[0]..stop[0];
            let elements = rows.flat_map(|row| (start[1]..stop[1]).map(move |column| place(row, column) as u8));
            assert!(found.into_iter().eq(elements), "{block_size} {filter} {start:?}");
        }
    }
}

/// A value longer than an element continues from block to block, in the order of the blocks.
#[test]
fn repeated_values_longer_than_an_element() {
    for length in [1, 2, 4, 8, 16, 32] {
        let value: Vec<u8> = (1..=length).collect();
        let chunk = repeated(&value, 32);
        let bytes = Frame {
            chunks: &chunk,
            table: &all_first(2),
            length: 64,
            chunk_length: 32,
            array: Some((&[8, 8][..], &[4, 8][..], &[2, 4][..])),
            ..Frame::default()
        }
        .bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        for (start, stop) in [([0, 0], [8, 8]), ([3, 1], [5, 7]), ([7, 7], [8, 8])] {
            let place = |row: u64, column: u64| (row % 4 / 2 * 2 + column / 4) * 8 + row % 2 * 4 + column % 4;
            let columns = |row| (start[1]..stop[1]).map(move |column| place(row, column));
            let expected: Vec<_> =
                (start[0]..stop[0]).flat_map(columns).map(|at| value[at as usize % value.len()]).collect();
            assert_eq!(region(&frame, &start, &stop).unwrap(), expected, "{length} {start:?}");
        }
    }
}

/// Blosc 1 did not shuffle a block at all if its elements do not fill groups of eight. Later versions skip only the
/// last elements.
#[test]
fn bit_shuffle_of_blosc_1() {
    for version in [2, 3, 5] {
        for length in [16_u8, 12, 20, 24] {
            let stored: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37) ^ 0x5a).collect();
            // The shorter header. The flags say bit shuffle, not split.
            let mut chunk = vec![version, 1, 0x14, 1];
            let all = 16 + 4 + 4 + length;
            for number in [length, length, all, 20, length] {
                chunk.extend([number, 0, 0, 0]);
            }
            chunk.extend(&stored);
            let length = u32::from(length);
            let bytes = Frame {
                chunks: &chunk,
                table: &all_first(1),
                length: length.into(),
                chunk_length: length,
                ..Frame::default()
            }
            .bytes();
            let file = File::open(&bytes).unwrap();
            let grouped = if version == 2 && length % 8 != 0 { 0 } else { stored.len() / 8 * 8 };
            // Bit 0 of all elements, then bit 1 of all elements, and so on.
            let bit = |i: usize, k: usize| stored[k * grouped / 8 + i / 8] >> (i % 8) & 1;
            let element = |i| (0..8).map(|k| bit(i, k) << k).sum();
            let mut expected: Vec<u8> = (0..grouped).map(element).collect();
            expected.extend(&stored[grouped..]);
            assert_eq!(whole(&file.as_b2nd().unwrap()).unwrap(), expected, "{version} {length}");
        }
    }
}

#[test]
fn the_component_of_a_frame() {
    let bytes = fixture("b2nd/good/nd03_lz4_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let tensor = file.find("").unwrap();
    let all: Vec<_> = tensor.components().collect();
    let [part] = &all[..] else { panic!("{}", all.len()) };
    assert_eq!((part.role(), part.encoding(), part.encoding_name()), ("chunks", Encoding::Blosc, "blosc2"));
    assert_eq!((part.dtype(), part.storage_dtype()), (tensor.dtype(), tensor.dtype()));
    assert_eq!(part.decoded_length(), Some(frame.defaults().decoded));
    assert_eq!(part.extent().end(), Some(frame.table_extent().offset));
    assert_eq!(part.extent().length, frame.defaults().stored);
    assert_eq!(tensor.component("chunks").unwrap().extent(), part.extent());
    let error = tensor.strides(&mut []).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::TooSmall, Some(part.extent().offset)));
    let longer = [&bytes[..], b"more"].concat();
    let warnings = File::open(&longer).unwrap().find("").unwrap().warnings();
    assert!(tensor.warnings().is_empty() && warnings.iter().eq([Warning::TrailingBytes]));
}

/// The product of the lengths and the element size would exceed 64 bits if the last length were not 0.
#[test]
fn an_empty_array_of_long_rows() {
    let shape = [1 << 62, 0];
    let array = Some((&shape[..], &[1 << 30, 1][..], &[1 << 30, 1][..]));
    let mut bytes = Frame { array, ..Frame::default() }.bytes();
    bytes[51] = 8; // bytes of an element
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!((frame.item_size(), frame.shape().element_count()), (8, Some(0)));
    assert_eq!(frame.region_output(&[0, 0], &shape), Ok(0));
    assert_eq!(frame.read_region(&[0, 0], &shape, &mut [], ReadOptions::new()).map(|read| read.len()), Ok(0));
    assert_eq!((frame.region_scratch(&[0, 0], &shape), frame.work_length(&[0, 0], &shape)), (Ok(0), Ok(0)));
}

/// A frame of one chunk.
fn of_one_chunk(chunk: &[u8], length: u32) -> Vec<u8> {
    Frame { chunks: chunk, table: &all_first(1), length: length.into(), chunk_length: length, ..Frame::default() }
        .bytes()
}

/// The cost of a region is the compressed streams that it touches, or all blocks if a filter has to be undone as a
/// whole.
#[test]
fn the_work_of_single_blocks() {
    const LZ4: u8 = 1 << 5;
    let literals = b"\x80abcdefgh"; // eight literals
    let chunk = Chunk { length: 32, block_size: 8, ..Chunk::default() };
    let regions = [(0, 32), (0, 8), (8, 16), (7, 9), (9, 24), (24, 32)];
    for (filter, flags, typesize, expected) in [
        (0, NOT_SPLIT, 1, [16, 8, 0, 8, 8, 0]),
        (0, NOT_SPLIT, 4, [16, 8, 0, 8, 8, 0]),
        (0, 0, 1, [32, 8, 8, 16, 16, 8]),
        (2, NOT_SPLIT, 1, [32, 8, 8, 16, 16, 8]),
        (3, NOT_SPLIT, 1, [32, 16, 16, 24, 24, 16]), // plus the first block
    ] {
        let chunk = Chunk { flags: LZ4 | flags, typesize, filters: [0, 0, 0, 0, 0, filter], ..chunk };
        let bytes = of_one_chunk(&of_streams(chunk, &[literals, b"ijklmnop", literals, b"qrstuvwx"]), 32);
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let work = regions.map(|(start, stop)| frame.work_length(&[start], &[stop]).unwrap());
        assert_eq!(work, expected, "{filter} {flags} {typesize}");
        assert_eq!(region(&frame, &[0], &[32]).unwrap().len(), 32);
    }
}

/// Dictionaries that are not counted: those of other codecs than Zstandard, and bytes that look like a dictionary in
/// a chunk that is not compressed.
#[test]
fn work_excludes_unused_dictionaries() {
    let [place, size, stored] = [32 + 4 + 4 + 8, 8, 8_u32].map(u32::to_le_bytes);
    let payload = &[&place[..], &size, &[1; 8], &stored, &[7; 8]].concat();
    let chunk = Chunk { length: 8, block_size: 8, flags1: 1, ..Chunk::default() };
    for (chunk, content, expected) in [
        (Chunk { flags: ZSTD | NOT_SPLIT, payload, ..chunk }, 7, 8),
        (Chunk { flags: 1 << 5 | NOT_SPLIT, payload, ..chunk }, 7, 0),
        (Chunk { flags: ZSTD | NOT_SPLIT | 2, payload: &[0xff; 8], ..chunk }, 0xff, 0),
    ] {
        let bytes = of_one_chunk(&chunk.bytes(), 8);
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        assert_eq!(frame.work_length(&[0], &[8]), Ok(expected));
        assert_eq!(region(&frame, &[0], &[8]).unwrap(), [content; 8]);
    }
}

/// 65536 streams are examined, in one chunk or in several. The blocks of all others count as compressed.
#[test]
fn the_work_of_many_blocks() {
    let length = 40_000_u32;
    let places = (32 + 4 * length).to_le_bytes().repeat(length as usize);
    let payload = &[&places[..], &1_u32.to_le_bytes(), b"x"].concat();
    let chunk = Chunk { length, block_size: 1, typesize: 4, flags: NOT_SPLIT, payload, ..Chunk::default() };
    let bytes = Frame {
        chunks: &chunk.bytes(),
        table: &all_first(2),
        length: 80_000,
        chunk_length: length,
        ..Frame::default()
    }
    .bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    for (stop, work) in [(40_000, 0), (65_536, 0), (65_537, 25_537), (80_000, 40_000)] {
        assert_eq!(frame.work_length(&[0], &[stop]), Ok(work), "{stop}");
    }
}

/// A split block counts as many streams as an element has bytes.
#[test]
fn the_work_of_many_streams() {
    let count = 20_000_u32;
    let payload = &[(32 + 4 * count).to_le_bytes().repeat(count as usize), vec![0; 16]].concat(); // four runs of zeros
    let filters = [0, 0, 0, 0, 0, 1];
    let chunk = Chunk { length: 4 * count, block_size: 4, typesize: 4, filters, payload, ..Chunk::default() };
    let array = Some((&[u64::from(count)][..], &[count][..], &[1][..]));
    let frame = Frame { chunks: &chunk.bytes(), table: &all_first(1), array, ..Frame::default() };
    let mut bytes = Frame { length: chunk.length.into(), chunk_length: chunk.length, ..frame }.bytes();
    bytes[51] = 4; // bytes of an element
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!((frame.work_length(&[0], &[16_384]), frame.work_length(&[0], &[16_385])), (Ok(0), Ok(65_540)));
}

/// 65536 chunks are examined. Beyond that, the cost is the bytes of all chunks, plus a dictionary for each if any has
/// one.
#[test]
fn the_work_of_many_chunks() {
    const MANY: u32 = (1 << 16) + 1;
    let payload = &[41_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let payload = &[&payload[..], b"d", &1_u32.to_le_bytes(), b"x"].concat();
    let with_dictionary =
        Chunk { length: 1, block_size: 1, flags: ZSTD | NOT_SPLIT, flags1: 1, payload, ..Chunk::default() };
    let many = u64::from(MANY);
    let dictionaries = many << 15;
    for (chunk, is_said, of_all, of_others) in [
        (copied(b"a"), false, many, 0),
        (copied(b"a"), true, many + dictionaries, 0),
        (with_dictionary.bytes(), false, many + dictionaries, many - 1),
    ] {
        let table = all_first(MANY);
        let mut bytes =
            Frame { chunks: &chunk, table: &table, length: many, chunk_length: 1, ..Frame::default() }.bytes();
        bytes[85] = is_said.into();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        assert_eq!(frame.work_length(&[0], &[many]), Ok(of_all));
        assert_eq!(frame.work_length(&[0], &[many - 1]), Ok(of_others));
    }
}

/// Chunks of different lengths. Only chunks that the region touches are read and need memory, not those before or
/// behind it, nor an empty chunk at its end.
#[test]
fn ignores_chunks_outside_the_region() {
    let in_blocks = Chunk { length: 8, block_size: 8, flags: NOT_SPLIT, ..Chunk::default() };
    let nothing = Chunk { length: 0, block_size: 1, flags: NOT_SPLIT, ..Chunk::default() };
    let mut chunks = [of_streams(in_blocks, &[b"abcdefgh"]), copied(b"ijk"), nothing.bytes()];
    let second = chunks[0].len();
    let offsets = [0, second, second + chunks[1].len()].map(|at| (at as u64).to_le_bytes()).concat();
    let table = copied(&offsets);
    let frame = |chunks: &[u8]| Frame { chunks, table: &table, length: 11, ..Frame::default() }.bytes();
    let bytes = frame(&chunks.concat());
    let file = File::open(&bytes).unwrap();
    let whole = file.as_b2nd().unwrap();
    assert_eq!((whole.region_scratch(&[0], &[11]), whole.region_scratch(&[8], &[11])), (Ok(8), Ok(0)));
    assert_eq!(whole.read_region(&[8], &[11], &mut [0; 3], ReadOptions::new()).unwrap(), b"ijk");
    // An empty chunk inside the region is skipped.
    let [first, second, third] = [0, 8, 16].map(|at| &offsets[at..at + 8]);
    let moved = copied(&[first, third, second].concat());
    let bytes = Frame { table: &moved, chunks: &chunks.concat(), length: 11, ..Frame::default() }.bytes();
    let file = File::open(&bytes).unwrap();
    assert_eq!(region(&file.as_b2nd().unwrap(), &[3], &[11]).unwrap(), b"defghijk");
    chunks[1][3] = 0; // bytes of an element
    let bytes = frame(&chunks.concat());
    let file = File::open(&bytes).unwrap();
    let damaged = file.as_b2nd().unwrap();
    assert_eq!(region(&damaged, &[3], &[8]).unwrap(), b"defgh");
    assert_eq!(region(&damaged, &[3], &[9]).unwrap_err().kind(), ErrorKind::ZeroLength);
}

/// Chunks of different lengths whose table repeats one value, shorter or longer than an offset.
#[test]
fn tables_of_repeated_values_of_any_length() {
    let expected = b"ab".repeat(60);
    let chunk = copied(b"ab");
    let zeros = Chunk { length: 480, block_size: 480, flags: NOT_SPLIT, flags1: 1 << 4, ..Chunk::default() };
    let values = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24].map(|length| repeated(&vec![0; length], 480));
    for table in values.iter().chain([&zeros.bytes()]) {
        let bytes = Frame { chunks: &chunk, table, length: 120, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        assert_eq!(whole(&frame).unwrap(), expected);
        assert_eq!(region(&frame, &[101], &[106]).unwrap(), b"babab");
    }
    // An odd number of chunks.
    let zeros = Chunk { length: 24, block_size: 24, ..zeros };
    let bytes = Frame { chunks: &chunk, table: &zeros.bytes(), length: 6, ..Frame::default() }.bytes();
    assert_eq!(whole(&File::open(&bytes).unwrap().as_b2nd().unwrap()).unwrap(), b"ababab");
    // Two alternating offsets.
    let chunks = [copied(b"ab"), copied(b"cde")];
    let turn = [0, chunks[0].len() as u64].map(u64::to_le_bytes).concat();
    let bytes =
        Frame { chunks: &chunks.concat(), table: &repeated(&turn, 16 * 4), length: 20, ..Frame::default() }.bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    let expected = b"abcde".repeat(4);
    for start in 0..20 {
        assert_eq!(region(&frame, &[start], &[20]).unwrap(), expected[start as usize..], "{start}");
    }
}

/// Tables as programs write them, shuffled, in one stream or in eight, are searched without memory. So are tables
/// whose last bytes do not fill an element of the shuffle.
#[test]
fn tables_are_searched_without_memory() {
    let contents = [7, 8].map(|byte| vec![byte; 300]);
    let chunks = [&contents[0][..], &contents[1]].map(copied);
    let bytes = [chunks[0].len() as u64, 0].map(u64::to_le_bytes).concat();
    let shuffled = |width: usize| -> Vec<u8> {
        let count = 16 / width;
        let planes = (0..count * width).map(|at| bytes[at % count * width + at / count]);
        planes.chain(bytes[count * width..].iter().copied()).collect()
    };
    let chunk = Chunk { length: 16, block_size: 16, filters: [0, 0, 0, 0, 0, 1], ..Chunk::default() };
    let streams = shuffled(8).chunks(2).flat_map(|plane| [&2_u32.to_le_bytes(), plane].concat()).collect::<Vec<_>>();
    let payload = &[&36_u32.to_le_bytes()[..], &streams].concat();
    let mut tables = vec![Chunk { typesize: 8, payload, ..chunk }.bytes()];
    for width in [1, 3, 5, 7, 8, 16] {
        tables.push(of_streams(Chunk { typesize: width, flags: NOT_SPLIT, ..chunk }, &[&shuffled(width.into())]));
    }
    for table in tables {
        let bytes =
            Frame { chunks: &chunks.concat(), table: &table, length: 600, chunk_length: 300, ..Frame::default() }
                .bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let memory = frame.table_scratch_length().unwrap();
        assert_eq!(memory, 32);
        for (index, content) in [(0, &contents[1]), (1, &contents[0])] {
            for length in [0, 31, 32] {
                let chunk = frame.chunk(index, ReadOptions::new().scratch(&mut vec![0xaa; length])).unwrap();
                assert_eq!(chunk.read_into(&mut [0; 300], ReadOptions::new()).unwrap(), content, "{index} {length}");
            }
        }
        for length in [0, 31, 32] {
            let mut room = [0; 600];
            frame.read_region(&[0], &[600], &mut room, ReadOptions::new().scratch(&mut vec![0xaa; length])).unwrap();
            assert_eq!((&room[..300], &room[300..]), (&contents[1][..], &contents[0][..]), "{length}");
        }
    }
}

/// Elements of the array that are smaller than the shuffled elements cannot be read one by one.
#[test]
fn shuffles_wider_than_an_element() {
    let content: Vec<u8> = (0..12).collect();
    let shuffled: Vec<u8> = (0..12).map(|i| content[i % 4 * 3 + i / 4]).collect();
    let filters = [0, 0, 0, 0, 0, 1];
    let chunk = Chunk { length: 12, block_size: 12, typesize: 3, flags: NOT_SPLIT, filters, ..Chunk::default() };
    let chunk = of_streams(chunk, &[&shuffled]);
    let array = Some((&[12][..], &[12][..], &[12][..]));
    let bytes =
        Frame { chunks: &chunk, table: &all_first(1), length: 12, chunk_length: 12, array, ..Frame::default() }
            .bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    for (start, stop) in [(0, 12), (1, 5), (4, 8), (11, 12)] {
        assert_eq!(region(&frame, &[start], &[stop]).unwrap(), content[start as usize..stop as usize]);
    }
}

/// Up to four million streams and instructions of the table are followed. Beyond that, memory is required.
#[test]
fn slow_tables_need_memory() {
    // 255 streams: to find a byte of the table, all bytes before it in its stream are read, too. For every 255 chunks
    // that is 8 * 255 * 256 / 2 bytes.
    let in_streams = |count: u32| {
        let payload = &[&36_u32.to_le_bytes()[..], &[0; 4 * 255]].concat();
        Chunk { length: 8 * count, block_size: 8 * count, typesize: 255, payload, ..Chunk::default() }.bytes()
    };
    // One instruction for each byte of the table: all instructions are read for each byte.
    let in_instructions = |count: u32| {
        let chunk = Chunk { length: 8 * count, block_size: 8 * count, flags: NOT_SPLIT, ..Chunk::default() };
        of_streams(chunk, &[&[0; 16].repeat(count as usize)])
    };
    let tables = [
        (255_u32 * 16, in_streams(255 * 16), true),
        (255 * 17, in_streams(255 * 17), false),
        (255, in_instructions(255), true),
        (256, in_instructions(256), false),
    ];
    let chunk = copied(b"a");
    for (count, table, is_found) in tables {
        let length = u64::from(count);
        let bytes = Frame { chunks: &chunk, table: &table, length, chunk_length: 1, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let mut room = vec![0; count as usize];
        let read = frame.read_region(&[0], &[length], &mut room, ReadOptions::new()).map(|read| read.to_vec());
        let expected = if is_found { Ok(vec![b'a'; count as usize]) } else { Err(ErrorKind::OutOfScratch) };
        assert_eq!(read.map_err(|error| error.kind()), expected, "{count}");
        // The table, and three times the length of a chunk, which is not examined.
        let memory = 8 * length + if is_found { 0 } else { 3 };
        assert_eq!(frame.region_scratch(&[0], &[length]), Ok(memory), "{count}");
    }
}

/// Chunks of different lengths: the chunks before the region count, too, if each has to be searched for in a
/// compressed table.
#[test]
fn counts_chunks_before_the_region_in_slow_tables() {
    for (count, of_chunks) in [(65_536_u32, 0), (65_537, 3 * 65_537)] {
        let payload = &[36_u32, 0].map(u32::to_le_bytes).concat(); // a run of zeros
        let table = Chunk { length: 8 * count, block_size: 8 * count, flags: NOT_SPLIT, payload, ..Chunk::default() };
        let mut chunks = copied(b"a");
        chunks.resize(16 * count as usize, 0); // room for `count` chunks
        let length = u64::from(count);
        for (table, expected) in [(table.bytes(), 8 * length + of_chunks), (copied(&vec![0; 8 * count as usize]), 0)]
        {
            let bytes = Frame { chunks: &chunks, table: &table, length, ..Frame::default() }.bytes();
            let file = File::open(&bytes).unwrap();
            let found = file.as_b2nd().unwrap().region_scratch(&[length - 1], &[length]);
            assert_eq!(found, Ok(expected), "{count}");
        }
    }
}

/// A chunk may use the memory of the table.
#[test]
fn chunks_reuse_the_memory_of_the_table() {
    const LZ4: u8 = 1 << 5;
    let contents = [b'a', b'b', b'c', b'd'].map(|byte| [byte; 32]);
    let chunk = Chunk { length: 32, block_size: 32, flags: LZ4 | NOT_SPLIT, ..Chunk::default() };
    // 32 literals each.
    let chunks = contents.map(|content| of_streams(chunk, &[&[&[0xf0, 17][..], &content].concat()]));
    let offsets = [0, 1, 2, 3].map(|index| (index * chunks[0].len() as u64).to_le_bytes()).concat();
    let table = of_streams(chunk, &[&offsets]);
    let frame = Frame { chunks: &chunks.concat(), table: &table, length: 128, chunk_length: 32, ..Frame::default() };
    let bytes = frame.bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!((frame.table_scratch_length(), frame.region_scratch(&[0], &[128])), (Ok(32), Ok(64)));
    for length in [32, 33, 63, 64] {
        let mut room = [0; 128];
        frame.read_region(&[0], &[128], &mut room, ReadOptions::new().scratch(&mut vec![0xaa; length])).unwrap();
        assert_eq!(room[..], contents.concat(), "{length}");
    }
}

/// A table that cannot be searched without memory stays decoded if there is enough memory for it and a chunk.
#[test]
fn the_table_keeps_its_memory() {
    const LZ4: u8 = 1 << 5;
    let chunk = Chunk { length: 16, block_size: 16, flags: LZ4 | NOT_SPLIT, ..Chunk::default() };
    let literals = |bytes: &[u8]| of_streams(chunk, &[&[&[0xf0, bytes.len() as u8 - 15][..], bytes].concat()]);
    let contents = [b'a', b'b'].map(|byte| [byte; 16]);
    let chunks = contents.map(|content| literals(&content));
    let table = literals(&[0, chunks[0].len() as u64].map(u64::to_le_bytes).concat());
    let bytes =
        Frame { chunks: &chunks.concat(), table: &table, length: 32, chunk_length: 16, ..Frame::default() }.bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    // Without the table's memory nothing is known about the chunks: each may need three times its bytes.
    assert_eq!((frame.table_scratch_length(), frame.region_scratch(&[0], &[32])), (Ok(16), Ok(16 + 3 * 16)));
    let read = |length: usize| {
        let mut room = [0; 32];
        let read = frame
            .read_region(&[0], &[32], &mut room, ReadOptions::new().scratch(&mut vec![0xaa; length]))
            .map(|read| read.to_vec());
        read.map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(read(16 + 16), Ok(contents.concat()));
    assert_eq!(read(16 + 15), Err((ErrorKind::OutOfScratch, Part::ChunkOffset)));
}

/// Chunks that a table repeats are examined once: here one of two chunks with 40 000 blocks of different lengths.
#[test]
fn memory_of_chunks_that_a_table_repeats() {
    let blocks: Vec<&[u8]> = vec![b"x"; 40_000];
    let chunk = of_variable_blocks(&blocks);
    let bytes = Frame { chunks: &chunk, table: &all_first(2), length: 80_000, ..Frame::default() }.bytes();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.as_b2nd().unwrap().region_scratch(&[0], &[80_000]), Ok(1));
}

/// A chunk of one repeated value must contain the value, even if the chunk is empty.
#[test]
fn rejects_empty_repeated_values() {
    for (value, expected) in [(&b"x"[..], Ok(0)), (b"", Err((ErrorKind::SpecialChunk, Part::Chunk, Some(109))))] {
        let nothing = repeated(value, 0);
        let chunks = [nothing, copied(b"ab")];
        let offsets = [0, chunks[0].len() as u64].map(u64::to_le_bytes).concat();
        let table = copied(&offsets);
        let bytes = Frame { chunks: &chunks.concat(), table: &table, length: 2, ..Frame::default() }.bytes();
        let file = File::open(&bytes).unwrap();
        let chunk = file.as_b2nd().unwrap().chunk(0, ReadOptions::new()).map(|chunk| chunk.decoded_length());
        let chunk = chunk.map_err(|error| (error.kind(), error.part(), error.offset()));
        assert_eq!(chunk, expected, "{value:?}");
    }
}

/// Chunks of version 3 have five filters. The byte of the sixth filter is ignored.
#[test]
fn filters_of_version_3() {
    let filters = [0, 0, 0, 0, 0, 99];
    let chunk = Chunk { length: 8, block_size: 8, flags: NOT_SPLIT, filters, ..Chunk::default() };
    let mut chunk = of_streams(chunk, &[b"abcdefgh"]);
    for (version, expected) in [(3, Ok(b"abcdefgh".to_vec())), (4, Err(ErrorKind::UnsupportedFilter))] {
        chunk[0] = version;
        let bytes = of_one_chunk(&chunk, 8);
        let file = File::open(&bytes).unwrap();
        let read = region(&file.as_b2nd().unwrap(), &[0], &[8]).map_err(|error| error.kind());
        assert_eq!(read, expected, "{version}");
    }
}

/// All blocks of an array have one length.
#[test]
fn rejects_arrays_with_variable_blocks() {
    let chunk = of_variable_blocks(&[&[7; 12], &[8; 20]]);
    let array = Some((&[32][..], &[32][..], &[8][..]));
    let bytes =
        Frame { chunks: &chunk, table: &all_first(1), length: 32, chunk_length: 32, array, ..Frame::default() }
            .bytes();
    let file = File::open(&bytes).unwrap();
    let frame = file.as_b2nd().unwrap();
    assert_eq!(frame.region_scratch(&[0], &[32]), Ok(0));
    let error = region(&frame, &[0], &[32]).unwrap_err();
    let at = file.find("").unwrap().components().next().unwrap().extent().offset;
    assert_eq!(
        (error.kind(), error.part(), error.offset()),
        (ErrorKind::UnsupportedChunk, Part::Flags, Some(at + 30))
    );
}

/// Elements of four bytes: all of a block in one run, and shuffled with a width that differs from that of the
/// streams.
#[test]
fn elements_wider_than_the_streams() {
    let read = |chunk: Chunk<'_>, start: u64, stop: u64| {
        let count = chunk.length / 4;
        let array = Some((&[u64::from(count)][..], &[count][..], &[count][..]));
        let frame = Frame {
            chunks: &chunk.bytes(),
            table: &all_first(1),
            length: chunk.length.into(),
            chunk_length: chunk.length,
            array,
            ..Frame::default()
        };
        let mut bytes = frame.bytes();
        bytes[51] = 4; // bytes of an element
        let file = File::open(&bytes).unwrap();
        region(&file.as_b2nd().unwrap(), &[start], &[stop]).unwrap()
    };
    let filters = [0, 0, 0, 0, 0, 1];
    let payload = &[&36_u32.to_le_bytes()[..], &(-9_i32).to_le_bytes(), &[1]].concat();
    let run =
        Chunk { length: 4000, block_size: 4000, typesize: 4, flags: NOT_SPLIT, filters, payload, ..Chunk::default() };
    assert_eq!(read(run, 10, 12), [9; 8]);
    assert_eq!(read(run, 0, 1000), [9; 4000]);
    // Four streams of eight bytes, which together form two planes of 16.
    let stored: Vec<u8> = (0..32).collect();
    let streams = stored.chunks(8).flat_map(|stream| [&8_u32.to_le_bytes(), stream].concat()).collect::<Vec<_>>();
    let payload = &[&36_u32.to_le_bytes()[..], &streams].concat();
    let split = Chunk { length: 32, block_size: 32, typesize: 4, filters, payload, ..Chunk::default() };
    let of_four: Vec<u8> = (0..32).map(|at| at % 4 * 8 + at / 4).collect();
    assert_eq!(read(split, 0, 8), of_four);
    let of_two: Vec<u8> = (0..32).map(|at| at % 2 * 16 + at / 2).collect();
    assert_eq!(read(Chunk { filters_meta: [0, 0, 0, 0, 0, 2], ..split }, 0, 8), of_two);
}

/// Opening requests only the header of the table.
#[test]
fn opening_requests_only_the_header_of_the_table() {
    let chunk = copied(b"a");
    let of_blosc_1 = [&[2, 1, NOT_SPLIT | 2, 1, 8, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0][..], &[0; 8]].concat();
    for (table, count, head) in [(copied(&[0; 8000]), 1000, 32), (of_blosc_1, 1, 24)] {
        let bytes =
            Frame { chunks: &chunk, table: &table, length: count, chunk_length: 1, ..Frame::default() }.bytes();
        let mut source = Source::new(bytes.len() as u64);
        let mut asked = Vec::new();
        while let Opened::Need(need) = File::open_source(&source).unwrap() {
            let (from, length) = (need.extent.offset as usize, need.extent.length as usize);
            source.add(need.extent.offset, &bytes[from..from + length]).unwrap();
            asked.push((from, length));
        }
        let is_asked = asked.contains(&(97 + chunk.len(), head));
        assert!(is_asked && asked.iter().all(|(_, length)| *length < 100), "{asked:?}");
    }
}

/// A file that is a prefix of the magic is reported as truncated, but only if the magic is where it must be.
#[test]
fn detects_truncated_magic_only_at_its_place() {
    let found = |bytes: &[u8]| File::open(bytes).map(drop).map_err(|error| (error.kind(), error.format()));
    assert_eq!(found(b"b2fr"), Err((ErrorKind::UnknownFormat, Format::Unknown)));
    assert_eq!(found(b"ZTEN"), Err((ErrorKind::Truncated, Format::Ztensor)));
}
