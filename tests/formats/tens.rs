//! TENS files compared with their known contents: every field, every sample, and all damage in the tables.
#![cfg(feature = "tens")]

use std::collections::BTreeSet;

use crate::support::{Case, cases_of, damaged, fixture, little, open_in_parts, sha256, unhex};
use serde_json::Value as Json;
use tenslice::{
    ByteOrder, DType, Element, Error, ErrorKind, File, Layout, Order, Part, Purpose, ReadOptions, Source, Warning,
};

/// The warning of a side-car's code.
fn warning(code: &str) -> Warning {
    match code {
        "legacy_raw_data" => Warning::LegacyLayout,
        "legacy_complex_width" => Warning::LegacyComplexWidth,
        "legacy_version_with_chunks" => Warning::LegacyVersion,
        "trailing_bytes" => Warning::TrailingBytes,
        "reserved_nonzero" | "dim_reserved_nonzero" | "nonzero_padding" | "symmetry_flags_reserved" => {
            Warning::ReservedBytes
        }
        "oversized_chunk"
        | "oversized_densdata"
        | "missing_final_padding"
        | "unpadded_densdata"
        | "chunk_size_align4" => Warning::ChunkLength,
        "symmetry_empty_operation" | "ambiguous_index_names" => Warning::UnclearSymmetry,
        "packed_dense_opaque" => Warning::OpaqueOrder,
        "ix_unsorted" => Warning::UnsortedIndices,
        "ix_duplicate" => Warning::RepeatedIndices,
        other => panic!("{other}"),
    }
}

/// All warnings of a file, including those of its pairs.
fn warnings(file: &File<'_>) -> Result<BTreeSet<Warning>, Error> {
    let pairs = match file.as_tens().unwrap().pairs() {
        Ok(pairs) => {
            // Verifying gives the same warnings.
            let verified = file.tensors().next().unwrap().verify(ReadOptions::new()).unwrap();
            assert_eq!(verified.warnings.bits(), pairs.warnings().bits());
            pairs.warnings().bits()
        }
        Err(error) if error.kind() == ErrorKind::UnsupportedLayout => 0,
        Err(error) => return Err(error),
    };
    let bits = file.warnings().bits() | pairs;
    Ok(Warning::ALL.iter().copied().filter(|warning| bits & warning.bit() != 0).collect())
}

fn compare_warnings(context: &str, file: &File<'_>, codes: &Json) {
    let expected: BTreeSet<_> =
        codes.as_array().unwrap().iter().map(|code| warning(code.as_str().unwrap())).collect();
    let mut found = warnings(file).unwrap_or_else(|error| panic!("{context}: {error}"));
    // A repeated index among unsorted ones. The side-cars report only the first of the two warnings.
    if expected.contains(&Warning::UnsortedIndices) && !expected.contains(&Warning::RepeatedIndices) {
        found.remove(&Warning::RepeatedIndices);
    }
    assert_eq!(found, expected, "{context}");
}

#[test]
fn every_field() {
    let mut compared = 0;
    for case in cases_of("tens") {
        let Some(expected) = case.expected["tensors"].as_array().map(|all| &all[0]) else { continue };
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let tens = file.as_tens().unwrap();
        assert_eq!(u64::from(tens.version_number()), case.expected["version"], "{context}");
        let name = if tens.version_number() == 0x10000 { "1.0" } else { "0.9" };
        assert_eq!(file.version(), Some(name), "{context}");
        compare_dimensions(&case, &file);
        compare_chunks(&case, &file);
        if case.is_seen_at_open() || case.expect() != "reject" {
            compare_warnings(&context, &file, &case.expected["warnings"]);
        }
        let tensor = file.find("").unwrap();
        let shape: Vec<u64> = expected["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
        assert_eq!(tensor.shape(), shape[..], "{context}");
        let elements = tensor.shape().element_count().map(|n| n.to_string());
        assert_eq!(elements.as_deref(), expected["num_elements"].as_str(), "{context}");
        let dtype = tensor.dtype().unwrap();
        assert_eq!((dtype.bits() / 8), expected["element_bytes"], "{context}");
        let lanes = (dtype.bits() / 8) / dtype.lane_size() as u64;
        assert_eq!(lanes, expected["numbers_per_element"], "{context}");
        let layout = match expected["layout"].as_str().unwrap() {
            "dense" => Layout::Dense,
            "coo" => Layout::IndexValue,
            "packed" => Layout::Packed,
            other => panic!("{other}"),
        };
        assert_eq!(tensor.layout(), layout, "{context}");
        let part = tensor.components().next().unwrap();
        let role = match layout {
            Layout::Dense => "data",
            Layout::IndexValue => "pairs",
            _ => "packed",
        };
        let known = expected["components"].as_array().unwrap().iter().find(|part| part["role"] == role).unwrap();
        assert_eq!((part.role(), tensor.components().count()), (role, 1), "{context}");
        assert_eq!(known["offset"], part.extent().offset, "{context}");
        assert_eq!(known["length"], part.extent().length, "{context}");
        let order = if part.byte_order() == ByteOrder::Big { "big" } else { "little" };
        // Single bytes have no byte order. The side-cars have the requested one.
        assert!(expected["byte_order"] == order || dtype.lane_size() == 1, "{context}");
        if layout == Layout::Dense {
            let bytes = little(part.bytes().unwrap(), part.byte_order(), dtype.lane_size());
            assert_eq!(sha256(&bytes), expected["data_sha256"].as_str().unwrap(), "{context}");
            let mut strides = vec![0; shape.len()];
            if let Ok(strides) = tensor.strides(&mut strides) {
                let known = expected["strides_elements"].as_array().unwrap();
                assert!(
                    strides.iter().map(u64::to_string).eq(known.iter().map(|s| s.as_str().unwrap())),
                    "{context}"
                );
            } else {
                assert!(shape.contains(&0), "{context}");
            }
        }
        if layout == Layout::IndexValue && case.expect() != "reject" {
            let pairs = tens.pairs().unwrap();
            let values: Vec<u8> = pairs.iter().flat_map(|pair| pair.bytes().unwrap().to_vec()).collect();
            let values = little(&values, part.byte_order(), dtype.lane_size());
            assert_eq!(sha256(&values), expected["data_sha256"].as_str().unwrap(), "{context}");
            let stride = (dtype.bits() / 8) as usize + 8;
            let indices =
                part.bytes().unwrap().chunks(stride).flat_map(|pair| &pair[..8]).copied().collect::<Vec<_>>();
            assert_eq!(sha256(&indices), expected["indices_sha256"].as_str().unwrap(), "{context}");
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

fn compare_dimensions(case: &Case, file: &File<'_>) {
    let tens = file.as_tens().unwrap();
    let known = case.expected["dims"].as_array().unwrap();
    assert_eq!(tens.dimensions().len(), known.len(), "{}", case.name());
    for (dimension, known) in tens.dimensions().zip(known) {
        assert_eq!(known["length"], dimension.length, "{}", case.name());
        assert_eq!(known["name"], dimension.name, "{}", case.name());
        assert_eq!(known["sparse"].as_bool().unwrap_or(false), dimension.is_sparse, "{}", case.name());
    }
}

fn compare_chunks(case: &Case, file: &File<'_>) {
    let context = case.name();
    let tens = file.as_tens().unwrap();
    let mut chunks = tens.chunks();
    let known = case.expected["chunks"].as_array().unwrap();
    let mut symmetries = case.expected["symmetries"].as_array().unwrap().iter();
    for known in known {
        let chunk = chunks.next().unwrap_or_else(|| panic!("{context}: {:?}", chunks.error()));
        assert_eq!(known["magic"], chunk.magic.map(|byte| format!("{byte:02x}")).concat(), "{context}");
        assert_eq!(known["offset"], chunk.extent.offset, "{context}");
        assert_eq!(known["size"], chunk.extent.length, "{context}");
        let Some(symmetry) = chunk.symmetry() else { continue };
        let known = symmetries.next().unwrap();
        assert_eq!(known["packed"], symmetry.is_packed(), "{context}");
        assert_eq!(known["operation"].as_str().unwrap().as_bytes(), symmetry.operation(), "{context}");
        assert_eq!(known["map"], Json::from(symmetry.map().to_vec()), "{context}");
        let permutation: Option<Vec<u32>> = (0..symmetry.map().len() as u32).map(|p| symmetry.source_of(p)).collect();
        assert_eq!(known["permutation"], Json::from(permutation), "{context}");
    }
    assert!(chunks.next().is_none() && chunks.error().is_none() && symmetries.next().is_none(), "{context}");
}

/// The numbers of an element as `f64`, each rounded to the nearest.
fn as_f64(bytes: &[u8], dtype: DType, order: ByteOrder) -> Vec<f64> {
    fn each<T: Element>(bytes: &[u8], order: ByteOrder, f: impl Fn(T) -> f64) -> Vec<f64> {
        bytes.chunks(size_of::<T>()).map(|number| f(T::from_bytes(number, order).unwrap())).collect()
    }
    let name = dtype.name();
    match name.split('x').next().unwrap() {
        "u8" => each::<u8>(bytes, order, f64::from),
        "u16" => each::<u16>(bytes, order, f64::from),
        "u32" => each::<u32>(bytes, order, f64::from),
        "u64" => each::<u64>(bytes, order, |x| x as f64),
        "u128" => each::<u128>(bytes, order, |x| x as f64),
        "i8" => each::<i8>(bytes, order, f64::from),
        "i16" => each::<i16>(bytes, order, f64::from),
        "i32" => each::<i32>(bytes, order, f64::from),
        "i64" => each::<i64>(bytes, order, |x| x as f64),
        "i128" => each::<i128>(bytes, order, |x| x as f64),
        "f32" | "c64" => each::<f32>(bytes, order, f64::from),
        "f64" | "c128" => each::<f64>(bytes, order, |x| x),
        "f128" => each::<u128>(bytes, order, DType::binary128_to_f64),
        _ => panic!("{name}"),
    }
}

#[test]
fn every_sample() {
    let (mut compared, mut rounded) = (0, 0);
    for case in cases_of("tens") {
        let Some(samples) = case.expected["samples"].as_array() else { continue };
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let tens = file.as_tens().unwrap();
        let tensor = file.find("").unwrap();
        let (dtype, order) = (tensor.dtype().unwrap(), tensor.components().next().unwrap().byte_order());
        // All elements at once, if there are not too many.
        let dense = tensor.requirements(Purpose::Read).output.filter(|length| *length < 1 << 24).map(|length| {
            let mut room = vec![0xaa; length as usize];
            tensor.read_into(&mut room, ReadOptions::new()).unwrap_or_else(|error| panic!("{context}: {error}"));
            room
        });
        for sample in samples {
            let index: Vec<u64> = sample["index"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
            let known: Vec<u8> =
                sample["le_hex"].as_array().unwrap().iter().flat_map(|hex| unhex(hex.as_str().unwrap())).collect();
            assert_eq!(tens.global_index(&index).unwrap(), sample["linear"], "{context}");
            for (dimension, length) in tensor.shape().iter().enumerate() {
                let mut outside = index.clone();
                outside[dimension] = length;
                let error = tens.global_index(&outside).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NoSuchElement, "{context}");
            }
            let mut bytes = tens.element_bytes(&index).unwrap().unwrap();
            // For a repeated index a sample has the pair that it names. A lookup returns the last pair.
            let is_repeated = case.expected["warnings"].to_string().contains("ix_");
            if let Some(pair) = sample["pair"].as_u64().filter(|_| is_repeated) {
                bytes = tens.pairs().unwrap().iter().nth(pair as usize).unwrap().bytes().unwrap();
            }
            assert_eq!(little(bytes, order, dtype.lane_size()), known, "{context} {index:?}");
            let start = bytes.as_ptr().addr() - case.bytes.as_ptr().addr();
            assert_eq!(sample["offset"], start, "{context}");
            for (number, bits) in as_f64(bytes, dtype, order).iter().zip(sample["f64_hex"].as_array().unwrap()) {
                let bits = u64::from_str_radix(bits.as_str().unwrap(), 16).unwrap();
                let is_same = number.to_bits() == bits || (number.is_nan() && f64::from_bits(bits).is_nan());
                assert!(is_same, "{context} {index:?}: {number:e} and {:e}", f64::from_bits(bits));
                rounded += 1;
            }
            if let Some(dense) = dense.as_ref().filter(|_| !is_repeated) {
                let place = match tensor.order() {
                    Order::ColumnMajor => tens.global_index(&index).unwrap(),
                    _ => tensor.shape().iter().zip(&index).fold(0, |place, (length, i)| place * length + i),
                };
                let at = (place * (dtype.bits() / 8)) as usize;
                let read = &dense[at..at + (dtype.bits() / 8) as usize];
                assert_eq!(little(read, ByteOrder::NATIVE, dtype.lane_size()), known, "{context} {index:?}");
            }
            compared += 1;
        }
        if let Some(absent) = case.expected["absent"]["index"].as_array() {
            let index: Vec<u64> = absent.iter().map(|i| i.as_u64().unwrap()).collect();
            assert_eq!(tens.element_bytes(&index).unwrap(), None, "{context}");
        }
        // Elements that are not stored are zero.
        if let (Layout::IndexValue, Some(dense)) = (tensor.layout(), dense) {
            let zeros =
                dense.chunks((dtype.bits() / 8) as usize).filter(|element| element.iter().all(|byte| *byte == 0));
            let stored = tens.pairs().unwrap();
            let nonzero = stored.iter().filter(|pair| pair.bytes().unwrap().iter().any(|byte| *byte != 0));
            let places: BTreeSet<Vec<_>> = nonzero
                .map(|pair| (0..tensor.shape().rank()).map(|dimension| pair.index(dimension).unwrap()).collect())
                .collect();
            assert_eq!(
                zeros.count() as u64,
                tensor.shape().element_count().unwrap() - places.len() as u64,
                "{context}"
            );
        }
    }
    assert!(compared > 600 && rounded > compared, "{compared} {rounded}");
}

#[test]
fn every_mutation_in_the_tables() {
    let mut seen = BTreeSet::new();
    for case in damaged("tens") {
        let context = format!("{} ({}, {})", case.name, case.expect, case.codes);
        let result = File::open(&case.bytes).and_then(|file| warnings(&file).map(|_| file));
        match (case.expect.as_str(), &result) {
            ("reject", Err(error)) => assert!(error.explain(&case.bytes[..]).to_string().len() > 20, "{context}"),
            ("accept", Ok(file)) => assert!(warnings(file).unwrap().is_empty(), "{context}"),
            ("accept-with-warning", Ok(file)) => {
                compare_warnings(&context, file, &serde_json::from_str(&case.codes).unwrap());
            }
            _ => panic!("{context}: {result:?}"),
        }
        seen.insert(case.expect);
    }
    assert_eq!(seen.len(), 3);
}

/// The chunks of a file are visited one by one, so they need not be in memory all at once.
#[test]
fn many_chunks_need_no_space_in_a_source() {
    let bytes = fixture("tens/good/unknown_chunks_many.tens");
    let mut source = Source::new(bytes.len() as u64);
    let mut passed = 0;
    let file = loop {
        match File::open_source(&source).unwrap() {
            tenslice::Opened::File(file) => break file,
            tenslice::Opened::Need(need) => {
                passed += usize::from(!need.keep);
                assert!(passed < 100, "asked for {need:?}");
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
        }
    };
    assert!(passed > 20, "{passed}");
    let data = file.find("").unwrap().data().unwrap();
    assert_eq!(data.stored().unwrap_err().kind(), ErrorKind::NotInMemory);
    let extent = data.extent();
    let whole = File::open(&bytes).unwrap().find("").unwrap().data().unwrap();
    assert_eq!(extent, whole.extent());
    // The transient bytes are gone. Listing the chunks needs them again, and reports that.
    let mut chunks = file.as_tens().unwrap().chunks();
    assert!(chunks.next().is_none());
    let error = chunks.error().unwrap();
    let first = File::open(&bytes).unwrap().as_tens().unwrap().chunks().next().unwrap().extent.offset;
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::NotInMemory, Part::Chunk, Some(first)));
}

/// Bytes added along with the answer to a transient request are kept.
#[test]
fn keeps_bytes_added_with_a_request() {
    let bytes = fixture("tens/good/unknown_chunks_many.tens");
    let data = File::open(&bytes).unwrap().find("").unwrap().data().unwrap().extent();
    let mut source = Source::new(bytes.len() as u64);
    let mut is_added = false;
    let part = |extent: tenslice::Extent| &bytes[extent.offset as usize..][..extent.length as usize];
    let file = loop {
        match File::open_source(&source).unwrap() {
            tenslice::Opened::File(file) => break file,
            tenslice::Opened::Need(need) => {
                if !need.keep && !is_added {
                    source.add(data.offset, part(data)).unwrap();
                    is_added = true;
                }
                source.add(need.extent.offset, part(need.extent)).unwrap();
            }
        }
    };
    assert!(is_added);
    assert_eq!(file.find("").unwrap().data().unwrap().stored().unwrap().len() as u64, data.length);
}

#[test]
fn elements_are_read_with_their_type() {
    let bytes = fixture("tens/good/order3_f64.tens");
    let file = File::open(&bytes).unwrap();
    let tens = file.as_tens().unwrap();
    assert!(tens.element::<f64>(&[0, 0, 0]).unwrap().is_some());
    let kind = |error: Error| error.kind();
    assert_eq!(tens.element::<f32>(&[0, 0, 0]).map_err(kind), Err(ErrorKind::WrongType));
    assert_eq!(tens.element::<f64>(&[0, 0]).map_err(kind), Err(ErrorKind::WrongRank));
    assert_eq!(tens.element::<f64>(&[0, 0, 1000]).map_err(kind), Err(ErrorKind::NoSuchElement));
    assert_eq!(tens.pairs().map(drop).map_err(kind), Err(ErrorKind::UnsupportedLayout));

    let bytes = fixture("tens/good/nt_SINTbe2_x4.tens");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("").unwrap();
    assert_eq!((tensor.dtype().unwrap().name(), tensor.order()), ("i16x4", Order::ColumnMajor));
    let data = tensor.data().unwrap();
    let first = data.elements::<[i16; 4]>().unwrap().next().unwrap();
    let index = vec![0; tensor.shape().rank() as usize];
    assert_eq!(file.as_tens().unwrap().element(&index), Ok(Some(first)));

    let bytes = fixture("tens/good/sym_packed_dense_opaque.tens");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("").unwrap();
    assert_eq!(file.as_tens().unwrap().element::<f64>(&[0, 0]).map_err(kind), Err(ErrorKind::UnsupportedLayout));
    assert_eq!(
        tensor.read_into(&mut [0; 72], ReadOptions::new()).map(drop).map_err(kind),
        Err(ErrorKind::UnsupportedLayout)
    );
    assert_eq!(tensor.component("packed").unwrap().bytes().unwrap().len(), 48);
}

#[test]
fn lookups_among_pairs() {
    for name in
        ["good/ix_f64_1000x1000", "bad/warn_ix_unsorted", "bad/warn_ix_duplicate", "bad/warn_ix_unsorted_duplicate"]
    {
        let bytes = fixture(&format!("tens/{name}.tens"));
        let file = File::open(&bytes).unwrap();
        let tens = file.as_tens().unwrap();
        let pairs = tens.pairs().unwrap();
        for pair in &pairs {
            let index: Vec<u64> = (0..pairs.shape().rank()).map(|d| pair.index(d).unwrap()).collect();
            // If an index is repeated, the last value counts.
            let last = pairs.iter().filter(|other| (0..).zip(&index).all(|(d, i)| other.index(d) == Some(*i))).last();
            assert_eq!(tens.element_bytes(&index).unwrap(), last.unwrap().bytes(), "{name} {index:?}");
        }
        let part = file.find("").unwrap().component("pairs").unwrap();
        assert_eq!(tens.pairs_in(part.bytes().unwrap()).unwrap().stored(), pairs.stored());
        assert!(tens.pairs_in(&[]).is_err());
    }
}

#[test]
fn binary128_is_rounded_to_the_nearest() {
    let wide = |exponent: u128, fraction: u128| exponent << 112 | fraction;
    for (bits, expected) in [
        (wide(0x3fff, 0), 1.0),
        (wide(0x3fff, 1 << 59), 1.0), // halfway to the next: rounded to even
        (wide(0x3fff, (1 << 59) + 1), 1.0 + f64::EPSILON),
        (wide(0x3fff, (1 << 60) + (1 << 59)), 1.0 + 2.0 * f64::EPSILON), // halfway: rounded to even
        (wide(0x3fff, (1 << 112) - 1), 2.0),
        (wide(0x43fe, ((1 << 52) - 1) << 60), f64::MAX),
        (wide(0x43fe, (1 << 112) - 1), f64::INFINITY),
        (wide(0x43ff, 0), f64::INFINITY),
        (wide(0x7ffe, 0), f64::INFINITY),
        (wide(0x3c01, 0), f64::MIN_POSITIVE),
        (wide(0x3c00, (1 << 112) - 1), f64::MIN_POSITIVE),
        (wide(0x3bcd, 0), 5e-324),
        (wide(0x3bcc, 1), 5e-324),
        (wide(0x3bcc, 0), 0.0), // half of the smallest: rounded to even
        (wide(0x0001, 0), 0.0),
        (wide(0, 1), 0.0),
        (wide(0x7fff, 0), f64::INFINITY),
    ] {
        assert_eq!(DType::binary128_to_f64(bits).to_bits(), expected.to_bits(), "{bits:032x}");
        assert_eq!(DType::binary128_to_f64(bits | 1 << 127).to_bits(), (-expected).to_bits(), "{bits:032x}");
    }
    assert!(DType::binary128_to_f64(wide(0x7fff, 1)).is_nan());
    assert_eq!(DType::binary128_to_f64(wide(0x7fff, 0xabc << 100)).to_bits(), 0x7ffa_bc00_0000_0000);
}

#[test]
fn parts_equal_the_whole() {
    for case in cases_of("tens") {
        let mut source = Source::new(case.bytes.len() as u64);
        let parts = open_in_parts(&case.bytes, &[], &mut source);
        match (File::open(&case.bytes), parts) {
            (Ok(whole), Ok(parts)) => {
                assert_eq!(whole.warnings(), parts.warnings(), "{}", case.name());
                let extent = |file: &File<'_>| file.find("").unwrap().components().next().unwrap().extent();
                assert_eq!(extent(&whole), extent(&parts), "{}", case.name());
            }
            (whole, parts) => assert_eq!(whole.err(), parts.err(), "{}", case.name()),
        }
    }
}

/// A dense file of one `u8` per element with these dimensions, after these encoded chunks.
fn file_of(dimensions: &[(u32, u8)], chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"TENS\0\0\x01\0uint\x01\0\0\0\x01\0\0\0".to_vec();
    bytes.extend((dimensions.len() as u32).to_le_bytes());
    bytes.extend([0; 8]);
    for (length, name) in dimensions {
        bytes.extend(length.to_le_bytes());
        bytes.extend([*name, 0, 0, 0]);
    }
    chunks.iter().for_each(|chunk| bytes.extend(chunk));
    let volume: usize = dimensions.iter().map(|(length, _)| *length as usize).product();
    let padded = volume.next_multiple_of(8);
    bytes.extend(b"DENSDATA");
    bytes.extend((padded as u64 + 16).to_le_bytes());
    bytes.resize(bytes.len() + padded, 0);
    bytes
}

fn symmetry(map: &[u8]) -> Vec<u8> {
    let mut chunk = b"SYMMETRY".to_vec();
    chunk.extend(((18 + 1 + map.len()).next_multiple_of(8) as u64).to_le_bytes());
    chunk.extend([0, 1, b'x']);
    chunk.extend(map);
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    chunk
}

#[test]
fn symmetries_of_shared_names() {
    let verdict = |dimensions: &[(u32, u8)], map: &[u8]| {
        let bytes = file_of(dimensions, &[symmetry(map)]);
        let file = File::open(&bytes).map_err(|error| error.kind())?;
        let symmetry = file.as_tens().unwrap().chunks().next().unwrap().symmetry().unwrap();
        let is_unclear = file.warnings().contains(Warning::UnclearSymmetry);
        let sources: Vec<_> = (0..map.len() as u32).map(|place| symmetry.source_of(place)).collect();
        assert_eq!(sources.iter().any(Option::is_none), is_unclear);
        assert!(!is_unclear || sources.iter().all(Option::is_none), "some of what is open is told");
        Ok(is_unclear)
    };
    let two_of_three = [(2, b'a'), (2, b'a'), (3, b'b')];
    assert_eq!(verdict(&two_of_three, b"aab"), Ok(true));
    for impossible in [b"bbb", b"abb", b"aaa", b"aba", b"baa"] {
        assert_eq!(verdict(&two_of_three, impossible), Err(ErrorKind::NotPermutation), "{impossible:?}");
    }
    assert_eq!(verdict(&two_of_three, b"aac"), Err(ErrorKind::UnknownIndexName));
    assert_eq!(verdict(&[(2, b'a'), (2, b'b')], b"ba"), Ok(false));
    assert_eq!(verdict(&[(2, b'a'), (2, b'b')], b"aa"), Err(ErrorKind::NotPermutation));
    assert_eq!(verdict(&[(2, b'a'), (3, b'b')], b"ba"), Err(ErrorKind::NotPermutation));
    // More dimensions than a byte has values, so that all names but one are repeated.
    let many: Vec<(u32, u8)> = (0..300).map(|i| (1, if i == 299 { b'!' } else { b'a' })).collect();
    let names: Vec<u8> = many.iter().map(|(_, name)| *name).collect();
    assert_eq!(verdict(&many, &names), Ok(true));
    assert_eq!(verdict(&many, &[b'a'; 300]), Err(ErrorKind::NotPermutation));
    // The first unknown name determines the error. Repeated names are counted at the end.
    assert_eq!(verdict(&two_of_three, b"bbc"), Err(ErrorKind::NotPermutation));
    assert_eq!(verdict(&[(1, b'a'), (1, b'a'), (1, b'b'), (1, b'b')], b"aaac"), Err(ErrorKind::UnknownIndexName));
    // Two names whose counts are off by 65536.
    let many: Vec<(u32, u8)> = (0..65_540).map(|i| (1, if i < 2 { b'b' } else { b'a' })).collect();
    let swapped: Vec<u8> = many.iter().map(|(_, name)| if *name == b'a' { b'b' } else { b'a' }).collect();
    assert_eq!(verdict(&many, &swapped), Err(ErrorKind::NotPermutation));
}

/// A source keeps returning the same error, and does not request again what it has.
#[test]
fn errors_of_a_source_are_permanent() {
    let mut broken = b"COMMENT \x0f\0\0\0\0\0\0\0".to_vec(); // a chunk cannot have 15 bytes
    broken.extend([0; 16]);
    let mut whole = b"COMMENT \x18\0\0\0\0\0\0\0".to_vec();
    whole.extend([0; 8]);
    let bytes = file_of(&[(2, b'a')], &[whole, broken]);
    let mut source = Source::new(bytes.len() as u64);
    let error = open_in_parts(&bytes, &[], &mut source).unwrap_err();
    assert_eq!((error.kind(), Some(error)), (ErrorKind::ChunkSize, File::open(&bytes).err()));
    assert_eq!(File::open_source(&source).unwrap_err(), error);
}

/// Single bytes have no byte order, even if an element has several of them.
#[test]
fn single_bytes_have_no_byte_order() {
    let mut bytes = file_of(&[(4, b'a')], &[]);
    bytes[8..12].copy_from_slice(b"UINT");
    bytes[16] = 2;
    let at = bytes.len() - 16 - 8 + 8;
    bytes[at..at + 8].copy_from_slice(&24_u64.to_le_bytes());
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("").unwrap().data().unwrap().as_slice::<[u8; 2]>().unwrap().len(), 4);
}

/// Neither many dimensions nor many chunks make a file slow.
#[test]
fn many_dimensions_with_many_pairs() {
    const MANY: u32 = 40_000;
    let mut bytes = b"TENS\0\0\x01\0uint\x01\0\0\0\x01\0\0\0".to_vec();
    bytes.extend((MANY + 1).to_le_bytes());
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    for i in 0..=MANY {
        bytes.extend((if i == 0 { MANY } else { 1_u32 }).to_le_bytes());
        bytes.extend([b'a', 0, 0, 0]);
    }
    bytes.extend(u64::from(MANY).to_le_bytes());
    for i in 0..u64::from(MANY) {
        bytes.extend(i.to_le_bytes());
        bytes.push(i as u8);
    }
    let file = File::open(&bytes).unwrap();
    let mut room = vec![0; MANY as usize];
    file.find("").unwrap().read_into(&mut room, ReadOptions::new()).unwrap();
    assert!(room.iter().enumerate().all(|(i, byte)| *byte == i as u8));
}

/// A file of two pairs, which give the first and the third of three elements this value: `count` numbers of `width`
/// bytes.
fn pairs_of(name: &[u8; 4], width: u8, count: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = b"TENS\0\0\x01\0".to_vec();
    bytes.extend(name);
    bytes.extend([width, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([3, 0, 0, 0, b'a', 0, 0, 0]);
    bytes.extend(2_u64.to_le_bytes());
    for index in [0, 2_u64] {
        bytes.extend(index.to_le_bytes());
        bytes.extend(value);
    }
    bytes
}

/// Values of 1 to 128 bytes are placed whole, each of their numbers in native byte order.
#[test]
fn pairs_of_every_width() {
    let elements = [1, 2, 4, 8, 16].map(|width| [1, 2, 4, 8].map(|count| (width, count)));
    for (name, order) in [(b"uint", ByteOrder::Little), (b"UINT", ByteOrder::Big)] {
        for (width, count) in elements.into_iter().flatten() {
            let mut value: Vec<u8> = (1..=width * count).collect();
            let bytes = pairs_of(name, width, count, &value);
            let mut dst = vec![0xff; 3 * value.len()];
            File::open(&bytes).unwrap().find("").unwrap().read_into(&mut dst, ReadOptions::new()).unwrap();
            if order != ByteOrder::NATIVE {
                value.chunks_exact_mut(width.into()).for_each(<[u8]>::reverse);
            }
            let zero = vec![0; value.len()];
            assert_eq!(dst, [&value, &zero, &value].map(Vec::as_slice).concat(), "{width} bytes, {count} numbers");
        }
    }
}

/// One wrong field: the part of each error, the byte that it points to, and the number in its message.
#[test]
fn offsets_of_errors() {
    let good = file_of(&[(2, b'a'), (3, b'b')], &[symmetry(b"ab")]);
    assert!(File::open(&good).is_ok());
    /// Bytes at an offset, the resulting error, and a part of its message.
    type Wrong<'a> = (usize, &'a [u8], ErrorKind, Part, u64, &'a str);
    let cases: &[Wrong<'_>] = &[
        (4, &0x0002_0000_u32.to_le_bytes(), ErrorKind::UnsupportedVersion, Part::Version, 4, ": 131072 ("),
        (4, &0x0001_0001_u32.to_le_bytes(), ErrorKind::UnsupportedVersion, Part::Version, 4, ": 65537 ("),
        (4, &0_u32.to_le_bytes(), ErrorKind::UnsupportedVersion, Part::Version, 4, ": 0 ("),
        (4, &0x0001_0000_u32.to_be_bytes(), ErrorKind::ByteSwapped, Part::Version, 4, ""),
        (4, &0x0000_9000_u32.to_be_bytes(), ErrorKind::ByteSwapped, Part::Version, 4, ""),
        (8, b"Uint", ErrorKind::NumberType, Part::NumberType, 8, "\"Uint\" (uint, UINT"),
        (12, &[3], ErrorKind::NumberType, Part::NumberType, 12, ": 3 ["),
        (12, &[0], ErrorKind::NumberType, Part::NumberType, 12, ": 0 ["),
        (16, &[3], ErrorKind::NumberCount, Part::NumberType, 16, ": 3 ["),
        (16, &[0, 1], ErrorKind::NumberCount, Part::NumberType, 16, ": 256 ["),
        (
            20,
            &[0xff; 4],
            ErrorKind::CountTooLarge,
            Part::Header,
            20,
            ": 4294967295; unless the count is wrong, the file is truncated: it has 96 bytes",
        ),
        (24, &[3], ErrorKind::UnknownFlags, Part::Flags, 24, ": 3 ["),
        (24, &[0, 0, 0, 0x80], ErrorKind::UnknownFlags, Part::Flags, 24, ": 2147483648 ["),
        // The symmetry chunk at 48: its size, the length of its operation, its names.
        (56, &[25], ErrorKind::ChunkSize, Part::Chunk, 56, ": 25 ["),
        (56, &[0], ErrorKind::ChunkSize, Part::Chunk, 56, ": 0 ["),
        (67, b"z", ErrorKind::UnknownIndexName, Part::Symmetry, 48, ""),
        (67, b"b", ErrorKind::NotPermutation, Part::Symmetry, 48, ""),
        // The data chunk at 72.
        (
            80,
            &[0xf8, 0xff],
            ErrorKind::OutOfFile,
            Part::Chunk,
            80,
            "65528 bytes at offset 72 extend past the end of the file (96 bytes)",
        ),
        (80, &[16], ErrorKind::SizeMismatch, Part::Chunk, 80, ": length 0, shape [2, 3], dtype u8, which takes 6"),
    ];
    for &(at, patch, kind, item, offset, part) in cases {
        let mut bytes = good.clone();
        bytes[at..at + patch.len()].copy_from_slice(patch);
        let error = File::open(&bytes).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, item, Some(offset)), "{patch:x?} at {at}");
        let message = error.explain(&bytes[..]).to_string();
        assert!(message.contains(part), "{message}");
    }
}

/// Bytes in a chunk beyond what it needs, and after the last chunk.
#[test]
fn chunks_longer_than_necessary() {
    let found = |bytes: &[u8]| {
        let file = File::open(bytes).unwrap();
        let tensor = file.find("").unwrap();
        assert_eq!(tensor.warnings(), file.warnings());
        let extent = tensor.components().next().unwrap().extent();
        (file.warnings().iter().collect::<Vec<_>>(), extent.offset, extent.length)
    };
    // The data at 48 + 16: eight bytes, and eight more in its chunk.
    let mut bytes = file_of(&[(2, b'a'), (4, b'b')], &[]);
    assert_eq!(found(&bytes), (vec![], 64, 8));
    bytes[56] = 32;
    bytes.extend([1; 8]);
    assert_eq!(found(&bytes), (vec![Warning::ChunkLength], 64, 8));
    // Four bytes of data, and four that should be 0.
    let mut bytes = file_of(&[(2, b'a'), (2, b'b')], &[]);
    assert_eq!(found(&bytes), (vec![], 64, 4));
    *bytes.last_mut().unwrap() = 1;
    assert_eq!(found(&bytes), (vec![Warning::ReservedBytes], 64, 4));
    // An unknown chunk whose size is only a multiple of 4.
    let unknown = [&b"UNKNOWN "[..], &20_u64.to_le_bytes(), &[0; 4]].concat();
    let bytes = file_of(&[(2, b'a'), (4, b'b')], &[unknown]);
    assert_eq!(found(&bytes), (vec![Warning::ChunkLength], 48 + 20 + 16, 8));
    // The symmetry at 48 with eight extra bytes in its chunk, and the data after it.
    let mut longer = symmetry(b"ab");
    longer[8] += 8;
    longer.extend([1; 8]);
    let bytes = file_of(&[(2, b'a'), (2, b'b')], &[longer.clone()]);
    assert_eq!(found(&bytes), (vec![Warning::ChunkLength], 48 + 32 + 16, 4));
    // Packed data that fills its chunk, and bytes after the chunk.
    longer[16] = 1;
    let mut bytes = file_of(&[(2, b'a'), (2, b'b')], &[longer]);
    bytes.extend([1; 40]);
    let expected: BTreeSet<_> = [Warning::ChunkLength, Warning::OpaqueOrder, Warning::TrailingBytes].into();
    let (warnings, offset, length) = found(&bytes);
    assert_eq!((warnings.into_iter().collect(), offset, length), (expected, 48 + 32 + 16, 8));
    // A chunk up to the end of the file, and one byte longer.
    bytes[48 + 32 + 8] = 16 + 8 + 40;
    assert_eq!(found(&bytes).2, 48);
    bytes[48 + 32 + 8] += 1;
    let error = File::open(&bytes).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::OutOfFile, Some(48 + 32 + 8)));
}

/// Pairs with as many bytes as the elements would have are still pairs.
#[test]
fn pairs_of_the_older_version() {
    let mut bytes = file_of(&[(4, b'a'), (2, b'b')], &[]);
    bytes.truncate(48);
    bytes[4..8].copy_from_slice(&[0, 0x90, 0, 0]);
    bytes[24] = 1;
    bytes.extend([0; 8]); // the number of pairs
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("").unwrap().layout(), Layout::IndexValue);
    assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::LegacyVersion]);
    assert_eq!(file.as_tens().unwrap().pairs().unwrap().stored(), 0);
}

#[test]
fn errors_of_the_tensor_point_to_its_data() {
    let bytes = file_of(&[(2, b'a'), (3, b'b')], &[symmetry(b"ab")]);
    let file = File::open(&bytes).unwrap();
    let error = file.find("").unwrap().strides(&mut [0]).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::TooSmall, Part::Tensor, Some(88)));
}

/// The message states how many bytes the dimensions would take.
#[test]
fn more_dimensions_than_the_limit() {
    let mut bytes = file_of(&[], &[]);
    bytes[20..24].copy_from_slice(&((1_u32 << 27) + 1).to_le_bytes());
    let mut source = Source::new(2 << 30);
    source.add(0, &bytes).unwrap();
    let error = File::open_source(&source).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ManifestTooLarge);
    let message = error.explain(&source).to_string();
    assert!(message.contains(": 1073741832 bytes in a file of 2147483648 ["), "{message}");
}
