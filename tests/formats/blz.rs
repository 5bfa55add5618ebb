//! BLZ1 files compared with their known contents: every field, and values computed with the trains.
#![cfg(feature = "blz")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{cases_of, damaged, fixture, folders, open_in_parts, sha256};
use serde_json::Value as Json;
use tenslice::blz::{self, Scaled, Train};
use tenslice::{
    DType, Error, ErrorKind, File, Format, Layout, Opened, Order, Part, Purpose, ReadOptions, Source, Warning,
};

/// The warning of a side-car's code.
fn warning(code: &str) -> Warning {
    match code {
        "trailing_bytes" => Warning::TrailingBytes,
        "reserved_nonzero" => Warning::ReservedBytes,
        "ndim_one" => Warning::OneDimension,
        other => panic!("{other}"),
    }
}

fn compare_warnings(context: &str, file: &File<'_>, codes: &Json) {
    let expected: BTreeSet<_> =
        codes.as_array().unwrap().iter().map(|code| warning(code.as_str().unwrap())).collect();
    assert_eq!(file.warnings().iter().collect::<BTreeSet<_>>(), expected, "{context}");
    assert_eq!(file.find("").unwrap().warnings(), file.warnings(), "{context}");
}

/// Memory that begins at an odd address, filled with values that must not matter.
struct Scratch(Vec<u8>);

impl Scratch {
    fn new(length: u64) -> Self {
        Self(vec![0xa5; length as usize + 1])
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.0[1..]
    }
}

fn blz<'a>(file: &File<'a>) -> blz::BlzFile<'a> {
    file.as_blz().unwrap()
}

fn unsigned(list: &Json) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

/// A number of a side-car, real or complex. Each part is a string of decimal digits.
fn number(parts: &Json) -> [f64; 2] {
    let parts: Vec<f64> =
        parts.as_array().unwrap().iter().map(|part| part.as_str().unwrap().parse().unwrap()).collect();
    [parts[0], parts.get(1).copied().unwrap_or(0.0)]
}

fn is_near(a: [f64; 2], b: [f64; 2], tolerance: f64) -> bool {
    a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= tolerance || (a.is_nan() && b.is_nan()) || a == b)
}

fn norm(train: &Train<'_>) -> Scaled {
    train.norm(Scratch::new(train.inner_scratch(train)).get()).unwrap()
}

#[test]
fn every_field() {
    let mut compared = 0;
    for case in cases_of("blz") {
        let Some(expected) = case.expected["tensors"].as_array().map(|all| &all[0]) else { continue };
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let blz = blz(&file);
        compare_warnings(&context, &file, &case.expected["warnings"]);
        assert_eq!(file.version(), Some("1"), "{context}");
        assert!(blz.bond_dimensions().eq(unsigned(&case.expected["ranks"])), "{context}");
        assert_eq!(case.expected["nparams"], blz.parameters(), "{context}");
        assert_eq!(case.expected["data_offset"], blz.extent().offset, "{context}");
        assert_eq!(case.expected["data_end"], blz.extent().end().unwrap(), "{context}");
        let tensor = file.find("").unwrap();
        let shape = unsigned(&expected["shape"]);
        assert_eq!(tensor.shape(), shape[..], "{context}");
        let elements = shape.iter().try_fold(1, |product: u64, length| product.checked_mul(*length));
        let size = if expected["dtype"] == "complex128" { 16 } else { 8 };
        assert_eq!(
            tensor.requirements(Purpose::Read).output,
            elements.and_then(|elements| elements.checked_mul(size)),
            "{context}"
        );
        assert_eq!(file.find("a").unwrap_err().kind(), ErrorKind::NotFound, "{context}");
        assert_eq!((tensor.layout(), tensor.order()), (Layout::TensorTrain, Order::RowMajor), "{context}");
        let dtype = if expected["dtype"] == "complex128" { DType::C128 } else { DType::F64 };
        assert_eq!((tensor.dtype(), blz.dtype()), (Some(dtype), dtype), "{context}");
        let error = tensor.strides(&mut []).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::TooSmall, Some(blz.extent().offset)), "{context}");
        let known = expected["components"].as_array().unwrap();
        assert_eq!((blz.cores().len(), tensor.components().count()), (known.len(), known.len()), "{context}");
        let mut cores = blz.cores();
        assert_eq!((cores.next().map(|core| core.index), cores.len()), (Some(0), known.len() - 1), "{context}");
        let mut all = Vec::new();
        for ((core, part), known) in blz.cores().zip(tensor.components()).zip(known) {
            assert_eq!(known["k"], core.index, "{context}");
            assert_eq!(part.role(), format!("core.{}", core.index), "{context}");
            assert_eq!(unsigned(&known["shape"]), core.shape, "{context}");
            assert_eq!((part.dtype(), part.storage_dtype()), (Some(dtype), Some(dtype)), "{context}");
            assert_eq!(part.extent(), core.extent, "{context}");
            assert_eq!(tensor.component(part.role()).unwrap().extent(), core.extent, "{context}");
            assert_eq!(known["offset"], core.extent.offset, "{context}");
            assert_eq!(known["length"], core.extent.length, "{context}");
            all.extend(part.bytes().unwrap());
        }
        assert_eq!(sha256(&all), expected["data_sha256"].as_str().unwrap(), "{context}");
        let elements = shape.iter().map(|n| *n as f64).product::<f64>();
        assert_eq!(blz.compression_ratio(), elements / blz.parameters() as f64, "{context}");
        // Scratch memory has the numbers that the side-car states.
        let train = blz.train().unwrap();
        let scratch = &case.expected["scratch_elements"];
        assert_eq!(scratch["element"], train.element_scratch() * 8 / dtype.bits(), "{context}");
        assert_eq!(scratch["norm"], train.inner_scratch(&train) * 8 / dtype.bits(), "{context}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn elements_norms_and_sums() {
    let mut compared = 0;
    for case in cases_of("blz") {
        let Some(samples) = case.expected["samples"].as_array() else { continue };
        let context = case.name();
        let file = File::open(&case.bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let mut scratch = Scratch::new(train.element_scratch());
        for sample in samples {
            let index = unsigned(&sample["index"]);
            let found = train.element(&index, scratch.get()).unwrap();
            let known = number(&sample["value"]);
            let tolerance = sample["abs_tol"].as_f64().unwrap();
            assert!(is_near(found, known, tolerance), "{context} {index:?}: {found:?}, not {known:?}");
            compared += 1;
        }
        let sum = train.sum(scratch.get()).unwrap().value();
        let known = number(&case.expected["sum"]["value"]);
        let tolerance = case.expected["sum"]["abs_tol"].as_f64().unwrap_or(0.0);
        assert!(is_near(sum, known, tolerance), "{context}: {sum:?}, not {known:?}");
        let [found, imaginary] = norm(&train).value();
        let known: f64 = case.expected["norm"]["value"].as_str().unwrap().parse().unwrap();
        let tolerance = known * case.expected["norm"]["rel_tol"].as_f64().unwrap_or(0.0);
        assert!(is_near([found, 0.0], [known, 0.0], tolerance), "{context}: {found:?}, not {known:?}");
        assert_eq!(imaginary, 0.0);
    }
    assert!(compared > 200, "{compared}");
}

/// Numbers in native byte order. Real numbers have an imaginary part of 0.
fn numbers(bytes: &[u8], dtype: DType) -> Vec<[f64; 2]> {
    let all: Vec<f64> = bytes.chunks(8).map(|number| f64::from_ne_bytes(number.try_into().unwrap())).collect();
    match dtype {
        DType::F64 => all.into_iter().map(|real| [real, 0.0]).collect(),
        _ => all.chunks(2).map(|parts| [parts[0], parts[1]]).collect(),
    }
}

#[test]
fn slices_and_reconstructions() {
    let mut compared = 0;
    for case in cases_of("blz") {
        let context = case.name();
        let Ok(file) = File::open(&case.bytes) else { continue };
        let blz = blz(&file);
        let train = blz.train().unwrap();
        let mut scratch = Scratch::new(train.slice_scratch());
        // The error bound of naive evaluation. The side-car states it only for some elements.
        let tolerance = |value: [f64; 2]| {
            let samples = case.expected["samples"].as_array().into_iter().flatten();
            let worst = samples.map(|sample| sample["abs_tol"].as_f64().unwrap()).fold(0.0, f64::max);
            worst * 4.0 + 1e-11 * value[0].abs().max(value[1].abs())
        };
        if case.expected["slice"].is_object() {
            let known = &case.expected["slice"];
            let fixed: Vec<Option<u64>> = known["fixed"].as_array().unwrap().iter().map(Json::as_u64).collect();
            let mut room = vec![0xa5; train.slice_length(&fixed).unwrap() as usize + 5];
            let found = numbers(train.slice(&fixed, &mut room, scratch.get()).unwrap(), blz.dtype());
            let known: Vec<_> = known["values"].as_array().unwrap().iter().map(number).collect();
            assert_eq!(found.len(), known.len(), "{context}");
            for (found, known) in found.iter().zip(known) {
                assert!(is_near(*found, known, tolerance(known)), "{context}: {found:?}, not {known:?}");
                compared += 1;
            }
        }
        let tensor = file.find("").unwrap();
        let Some(length) = tensor.requirements(Purpose::Read).output.filter(|length| *length < 1 << 22) else {
            continue;
        };
        assert_eq!(tensor.requirements(Purpose::Read).scratch, Some(train.slice_scratch()), "{context}");
        let mut room = vec![0xa5; length as usize];
        let found =
            numbers(tensor.read_into(&mut room, ReadOptions::new().scratch(scratch.get())).unwrap(), blz.dtype());
        if case.expected["reconstruct"].is_object() {
            let known: Vec<_> =
                case.expected["reconstruct"]["values"].as_array().unwrap().iter().map(number).collect();
            assert_eq!(found.len(), known.len(), "{context}");
            for (found, known) in found.iter().zip(known) {
                assert!(is_near(*found, known, tolerance(known)), "{context}: {found:?}, not {known:?}");
                compared += 1;
            }
        }
        // Every element computed on its own is the same, bit for bit.
        let shape: Vec<u64> = tensor.shape().iter().collect();
        let mut scratch = Scratch::new(train.element_scratch());
        for (place, found) in found.iter().enumerate().step_by(1 + found.len() / 1000) {
            let mut rest = place as u64;
            let mut index = vec![0; shape.len()];
            for (i, length) in index.iter_mut().zip(&shape).rev() {
                (*i, rest) = (rest % length, rest / length);
            }
            let element = train.element(&index, scratch.get()).unwrap();
            let is_same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) || a == b;
            assert!(found.iter().zip(&element).all(is_same), "{context} {index:?}: {found:?} {element:?}");
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn slices_are_parts_of_the_whole() {
    for case in cases_of("blz").iter().filter(|case| case.expect() == "accept") {
        let file = File::open(&case.bytes).unwrap();
        let blz = blz(&file);
        let train = blz.train().unwrap();
        let shape: Vec<u64> = blz.cores().map(|core| core.shape[1]).collect();
        let Some(length) = train.slice_length(&[]).filter(|length| *length < 1 << 16) else { continue };
        let mut scratch = Scratch::new(train.slice_scratch());
        let mut whole = vec![0; length as usize];
        train.slice(&[], &mut whole, scratch.get()).unwrap();
        let size = (blz.dtype().bits() / 8) as usize;
        for pattern in 0..1_u32 << shape.len().min(6) {
            let fixed: Vec<Option<u64>> =
                (0..shape.len()).map(|d| (d < 6 && pattern >> d & 1 == 1).then(|| shape[d] - 1)).collect();
            let mut room = vec![0; train.slice_length(&fixed).unwrap() as usize];
            let found = train.slice(&fixed, &mut room, scratch.get()).unwrap();
            let is_in = |place: usize| {
                let mut rest = place as u64;
                shape.iter().zip(&fixed).rev().all(|(length, fixed)| {
                    let index = rest % length;
                    rest /= length;
                    fixed.is_none_or(|fixed| fixed == index)
                })
            };
            let expected: Vec<u8> = whole
                .chunks(size)
                .enumerate()
                .filter(|(place, _)| is_in(*place))
                .flat_map(|(_, x)| x.to_vec())
                .collect();
            assert!(found == &expected[..], "{} {fixed:?}", case.name());
        }
    }
}

#[test]
fn pairs_of_trains() {
    let mut compared = 0;
    for folder in folders() {
        for folder in [folder.join("blz"), folder] {
            let Ok(table) = std::fs::read(folder.join("pairs.json")) else { continue };
            let table: Json = serde_json::from_slice(&table).unwrap();
            for pair in table["pairs"].as_array().unwrap() {
                compare_pair(&folder, pair);
                compared += 1;
            }
        }
    }
    assert!(compared >= 2, "{compared}");
}

fn compare_pair(folder: &Path, pair: &Json) {
    let read = |key: &str| std::fs::read(folder.join(pair[key].as_str().unwrap())).unwrap();
    let (a, b) = (read("a"), read("b"));
    let (a, b) = (File::open(&a).unwrap(), File::open(&b).unwrap());
    let (a, b) = (blz(&a).train().unwrap(), blz(&b).train().unwrap());
    let mut scratch = Scratch::new(a.inner_scratch(&b).max(b.inner_scratch(&a)));
    let inner = a.inner(&b, scratch.get()).unwrap().value();
    let relative = pair["rel_tol"].as_f64().unwrap();
    let known = number(&pair["inner_conj_a"]);
    // The loss by cancellation is relative to the norms.
    let ([norm_a, _], [norm_b, _]) = (norm(&a).value(), norm(&b).value());
    assert!(is_near(inner, known, relative * norm_a * norm_b), "{inner:?}, not {known:?}");
    let text = |key: &str| pair[key].as_str().unwrap().parse::<f64>().unwrap();
    let distance = (norm_a * norm_a + norm_b * norm_b - 2.0 * inner[0]).sqrt();
    assert!((distance - text("distance")).abs() <= relative * distance, "{distance}");
    let fidelity = (inner[0] * inner[0] + inner[1] * inner[1]) / (norm_a * norm_a * norm_b * norm_b);
    assert!((fidelity - text("fidelity")).abs() <= 10.0 * relative * fidelity.max(1e-4), "{fidelity}");
    // Swapping the arguments gives the conjugate.
    let swapped = b.inner(&a, scratch.get()).unwrap().value();
    assert!(is_near(swapped, [inner[0], -inner[1]], relative * norm_a * norm_b), "{swapped:?}");
}

#[test]
fn results_beyond_an_f64_are_scaled() {
    // 40 cores of one number each, 1e100: the norm is 1e4000.
    let mut bytes = b"BLZ1\x01\x00\x28\0\0\0\0\0\0\0\0".to_vec();
    (0..40 + 41).for_each(|_| bytes.extend(1_u64.to_le_bytes()));
    (0..40).for_each(|_| bytes.extend(1e100_f64.to_le_bytes()));
    let file = File::open(&bytes).unwrap();
    let train = blz(&file).train().unwrap();
    let norm = norm(&train);
    assert_eq!(norm.value(), [f64::INFINITY, 0.0]);
    let log10 = norm.parts[0].log10() + f64::from(norm.exponent) * 2_f64.log10();
    assert!((log10 - 4000.0).abs() < 1e-9, "{log10}");
    let sum = train.sum(&mut [0; 16]).unwrap();
    assert!((sum.parts[0].log10() + f64::from(sum.exponent) * 2_f64.log10() - 4000.0).abs() < 1e-9);
}

#[test]
fn every_mutation_in_the_tables() {
    let mut seen = BTreeSet::new();
    for case in damaged("blz") {
        let context = format!("{} ({}, {})", case.name, case.expect, case.codes);
        match (case.expect.as_str(), File::open(&case.bytes)) {
            ("reject", Err(error)) => assert!(error.explain(&case.bytes[..]).to_string().len() > 20, "{context}"),
            ("accept", Ok(file)) => assert!(file.warnings().is_empty(), "{context}"),
            ("accept-with-warning", Ok(file)) => {
                compare_warnings(&context, &file, &serde_json::from_str(&case.codes).unwrap());
            }
            (_, result) => panic!("{context}: {result:?}"),
        }
        seen.insert(case.expect);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn rejects_impossible_computations() {
    let kind = |error: Error| error.kind();
    let (f64s, c128s) = (fixture("blz/good/pair_a_f64.blz"), fixture("blz/good/pair_a_c64.blz"));
    let (f64s, c128s) = (File::open(&f64s).unwrap(), File::open(&c128s).unwrap());
    let train = blz(&f64s).train().unwrap();
    let rank = blz(&f64s).cores().len();
    let mut scratch = Scratch::new(train.inner_scratch(&train));
    let mut room = vec![0xa5; train.slice_length(&[]).unwrap() as usize];
    assert_eq!(train.element(&[], scratch.get()).map_err(kind), Err(ErrorKind::WrongRank));
    assert_eq!(train.element(&vec![999; rank], scratch.get()).map_err(kind), Err(ErrorKind::NoSuchElement));
    let lengths: Vec<u64> = blz(&f64s).cores().map(|core| core.shape[1]).collect();
    for (dimension, length) in lengths.iter().enumerate() {
        let mut last = vec![0; rank];
        last[dimension] = length - 1;
        assert!(train.element(&last, scratch.get()).is_ok(), "{dimension}");
        last[dimension] = *length;
        assert_eq!(train.element(&last, scratch.get()).map_err(kind), Err(ErrorKind::NoSuchElement), "{dimension}");
        let fixed: Vec<_> = last.into_iter().map(Some).collect();
        let result =
            train.slice(&fixed, &mut room, Scratch::new(train.slice_scratch()).get()).map(drop).map_err(kind);
        assert_eq!(result, Err(ErrorKind::NoSuchElement), "{dimension}");
    }
    assert_eq!(train.element(&vec![0; rank], &mut []).map_err(kind), Err(ErrorKind::OutOfScratch));
    assert_eq!(train.norm(&mut []).map_err(kind), Err(ErrorKind::OutOfScratch));
    let slice = |fixed: &[Option<u64>], room: &mut [u8]| {
        train.slice(fixed, room, Scratch::new(train.slice_scratch()).get()).map(drop).map_err(kind)
    };
    assert_eq!(slice(&vec![None; rank + 1], &mut room), Err(ErrorKind::WrongRank));
    assert_eq!(slice(&[Some(999)], &mut room), Err(ErrorKind::NoSuchElement));
    assert_eq!(slice(&[], &mut room[1..]), Err(ErrorKind::TooSmall));
    assert_eq!(train.slice(&[], &mut room, &mut []).map(drop).map_err(kind), Err(ErrorKind::OutOfScratch));
    assert!(room.iter().all(|byte| *byte == 0xa5), "written to");
    let other = blz(&c128s).train().unwrap();
    assert_eq!(train.inner(&other, scratch.get()).map_err(kind), Err(ErrorKind::WrongType));
    let identity = fixture("blz/good/identity_matrix_f64.blz");
    let other = File::open(&identity).unwrap();
    let other = blz(&other).train().unwrap();
    assert_eq!(train.inner(&other, scratch.get()).map_err(kind), Err(ErrorKind::InvalidArgument));

    // More elements than 64 bits can count. They are computed one by one.
    let bytes = fixture("blz/good/nd255_r2_f64.blz");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("").unwrap();
    assert_eq!((tensor.requirements(Purpose::Read).output, tensor.shape().element_count()), (None, None));
    let result =
        tensor.read_into(&mut room, ReadOptions::new().scratch(&mut vec![0; 1 << 16])).map(drop).map_err(kind);
    assert_eq!(result, Err(ErrorKind::ShapeOverflow));
}

/// Only the tables have to be in memory. The cores are read when they are needed.
#[test]
fn computes_with_cores_read_by_the_caller() {
    let bytes = fixture("blz/good/pair_a_f64.blz");
    let mut source = Source::new(bytes.len() as u64);
    let file = open_in_parts(&bytes, &[], &mut source).unwrap();
    let blz = blz(&file);
    assert_eq!(blz.train().map(drop).map_err(|error| error.kind()), Err(ErrorKind::NotInMemory));
    let extent = blz.extent();
    let cores = &bytes[extent.offset as usize..extent.end().unwrap() as usize];
    let train = blz.train_in(cores).unwrap();
    let whole = File::open(&bytes).unwrap().as_blz().unwrap().train().unwrap();
    assert_eq!(norm(&train), norm(&whole));
    assert!(blz.train_in(&cores[1..]).is_err());
}

/// Other formats begin with the same four bytes. They must not be reported as damaged tensor trains.
#[test]
fn formats_that_share_the_magic() {
    for name in ["version_2", "dtype_2"] {
        let error = File::open(&fixture(&format!("blz/bad/{name}.blz"))).unwrap_err();
        assert_eq!((error.kind(), error.format()), (ErrorKind::UnknownFormat, Format::Unknown), "{name}");
    }
    for name in ["foreign_BLZ1_records", "foreign_BLZ1_cache", "internal_ranks_only"] {
        let bytes = fixture(&format!("blz/bad/{name}.blz"));
        let sentence = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(sentence.contains("other formats begin in the same way"), "{sentence}");
    }
    let mut source = Source::new(3);
    source.add(0, b"BLZ").unwrap();
    assert!(!matches!(File::open_source(&source), Ok(Opened::File(_))));
}

/// A train of the given bond dimensions and cores.
fn file_of(lengths: &[u64], bonds: &[u64], numbers: &[f64]) -> Vec<u8> {
    let mut bytes = b"BLZ1\x01\x00".to_vec();
    bytes.push(lengths.len() as u8);
    bytes.extend([0; 8]);
    lengths.iter().chain(bonds).for_each(|n| bytes.extend(n.to_le_bytes()));
    numbers.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}

/// The scale follows from the largest number of a vector or matrix, not from the last one.
#[test]
fn large_numbers_in_front_of_small_ones() {
    let (large, small) = (2_f64.powi(600), 2_f64.powi(-600));
    let bytes = file_of(&[1, 1, 1], &[1, 2, 2, 1], &[large, 1.0, large, 1.0, 1.0, 1.0, small, 0.0]);
    let file = File::open(&bytes).unwrap();
    let train = blz(&file).train().unwrap();
    assert_eq!(train.element(&[0; 3], Scratch::new(train.element_scratch()).get()), Ok([large, 0.0]));
    // The largest number may also be in one of the matrices that a sum adds.
    for middle in [[large, small], [small, large]] {
        let bytes = file_of(&[1, 2, 1], &[1; 4], &[&[large][..], &middle, &[2_f64.powi(-700)]].concat());
        let file = File::open(&bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let sum = train.sum(Scratch::new(train.slice_scratch()).get()).unwrap();
        assert_eq!(sum.value(), [2_f64.powi(500), 0.0]);
    }
}

/// Zero is not scaled.
#[test]
fn zeros_have_no_exponent() {
    for numbers in [[0.0, 1.0], [1.0, 0.0]] {
        let bytes = file_of(&[1, 1], &[1; 3], &numbers);
        let file = File::open(&bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let sum = train.sum(Scratch::new(train.slice_scratch()).get()).unwrap();
        assert_eq!((sum.parts, sum.exponent), ([0.0; 2], 0));
    }
}

/// For each inner bond a vector and its exponent, and two vectors of the largest bond.
#[test]
fn scratch_length_of_a_slice() {
    let bytes = file_of(&[1, 1, 1], &[1, 3, 2, 1], &[1.0; 3 + 6 + 2]);
    let file = File::open(&bytes).unwrap();
    let train = blz(&file).train().unwrap();
    assert_eq!((train.element_scratch(), train.slice_scratch()), (8 * (3 + 3), 8 * (3 + 1 + 2 + 1 + 3 + 3)));
}

/// Small numbers beside large ones keep their digits. Multiplying by zeros does no harm.
#[test]
fn numbers_of_very_different_scale() {
    let element = |bytes: &[u8], index: &[u64]| {
        let file = File::open(bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let [real, _] = train.element(index, Scratch::new(train.element_scratch()).get()).unwrap();
        let fixed: Vec<_> = index.iter().map(|i| Some(*i)).collect();
        let mut room = [0; 8];
        train.slice(&fixed, &mut room, Scratch::new(train.slice_scratch()).get()).unwrap();
        assert_eq!(f64::from_ne_bytes(room).to_bits(), real.to_bits());
        real
    };
    let stored = [f64::MAX, 1.234_567_890_123_456_7e-71, 1e-100, 1e-300, 5e-324, f64::INFINITY, -0.5];
    let bytes = file_of(&[7], &[1, 1], &stored);
    for (i, x) in stored.iter().enumerate() {
        assert_eq!(element(&bytes, &[i as u64]), *x);
    }
    let bytes = file_of(&[1, 2], &[1, 2, 1], &[1e200, 1e-200, 1.0, 0.0, 0.0, 1e200]);
    assert_eq!((element(&bytes, &[0, 0]), element(&bytes, &[0, 1])), (1e200, 1e-200 * 1e200));
    // Intermediate results that exceed either end of the range of an `f64` and return.
    let bytes = file_of(&[1; 4], &[1; 5], &[1e300, 1e300, 1e-300, 1e-300]);
    assert!((element(&bytes, &[0; 4]) - 1.0).abs() < 1e-12);
    let bytes = file_of(&[1; 4], &[1; 5], &[1e-300, 1e-300, 1e300, 1e300]);
    assert!((element(&bytes, &[0; 4]) - 1.0).abs() < 1e-12);
    let bytes = file_of(&[1; 4], &[1; 5], &[5e-324, 5e-324, 1e308, 1e308]);
    assert!((element(&bytes, &[0; 4]) / (5e-324 * 1e308 * (5e-324 * 1e308)) - 1.0).abs() < 1e-12);
    // The first number is too large by one bit, which the last product must restore.
    let power = |exponent| 2_f64.powi(exponent);
    for first in [1016, 1017, 1018, 1019, 1020] {
        let bytes = file_of(&[1; 5], &[1; 6], &[power(first), power(-500), power(-500), power(-20), 3.0]);
        assert_eq!(element(&bytes, &[0; 5]), 3.0 * power(first - 1020), "{first}");
    }
}

/// A sum of many terms exceeds an `f64`, though no term does.
#[test]
fn sums_of_many_terms() {
    let power = |exponent| 2_f64.powi(exponent);
    for bond in [16, 64, 128, 1024] {
        for large in [1000, 1014, 1018, 1023] {
            let count = bond as usize;
            let numbers = [vec![1.0; count], vec![power(large); count], vec![power(-200)]].concat();
            let bytes = file_of(&[1; 3], &[1, bond, 1, 1], &numbers);
            let file = File::open(&bytes).unwrap();
            let train = blz(&file).train().unwrap();
            let mut scratch = Scratch::new(train.slice_scratch());
            let expected = bond as f64 * power(large - 200);
            let context = format!("{bond} {large}");
            assert_eq!(train.element(&[0; 3], scratch.get()).unwrap(), [expected, 0.0], "{context}");
            assert_eq!(train.sum(scratch.get()).unwrap().value(), [expected, 0.0], "{context}");
            assert_eq!(norm(&train).value(), [expected, 0.0], "{context}");
            let mut room = [0; 8];
            train.slice(&[], &mut room, scratch.get()).unwrap();
            assert_eq!(f64::from_ne_bytes(room), expected, "{context}");
        }
    }
}

#[test]
fn offsets_of_errors() {
    let refused = |lengths: &[u64], bonds: &[u64], numbers: usize| {
        let bytes = file_of(lengths, bonds, &vec![1.0; numbers]);
        let error = File::open(&bytes).map(drop).unwrap_err();
        let is_doubted = error.explain(&bytes[..]).to_string().contains("other formats begin in the same way");
        (error.kind(), error.part(), error.offset(), is_doubted)
    };
    // The lengths are at 15, the bond dimensions at 39.
    let zero = ErrorKind::ZeroLength;
    assert_eq!(refused(&[0, 2, 2], &[1; 4], 9), (zero, Part::Shape, Some(15), false));
    assert_eq!(refused(&[2, 0, 2], &[1; 4], 9), (zero, Part::Shape, Some(23), false));
    assert_eq!(refused(&[2, 2, 0], &[1; 4], 9), (zero, Part::Shape, Some(31), false));
    assert_eq!(refused(&[2; 3], &[1, 0, 1, 1], 9), (zero, Part::BondDimension, Some(47), false));
    assert_eq!(refused(&[2; 3], &[1, 2, 0, 1], 9), (zero, Part::BondDimension, Some(55), false));
    let boundary = ErrorKind::BoundaryRank;
    assert_eq!(refused(&[2; 3], &[0, 1, 1, 1], 9), (boundary, Part::BondDimension, Some(39), true));
    assert_eq!(refused(&[2; 3], &[2, 1, 1, 1], 9), (boundary, Part::BondDimension, Some(39), true));
    assert_eq!(refused(&[2; 3], &[1, 1, 1, 0], 9), (boundary, Part::BondDimension, Some(63), true));
    assert_eq!(refused(&[], &[1], 9), (ErrorKind::RankMismatch, Part::Shape, Some(6), true));
    assert_eq!(refused(&[2; 3], &[1; 4], 5), (ErrorKind::OutOfFile, Part::Core, Some(55), false));
    let overflow = ErrorKind::ShapeOverflow;
    assert_eq!(refused(&[2, 1 << 60, 2], &[1, 2, 8, 1], 4), (overflow, Part::Core, Some(47), false));
    // One number fewer than the number of bytes that 64 bits can count.
    assert_eq!(refused(&[2, (1 << 61) - 1, 2], &[1; 4], 2), (ErrorKind::OutOfFile, Part::Core, Some(47), false));
    assert_eq!(refused(&[2, 1 << 61, 2], &[1; 4], 2), (overflow, Part::Core, Some(47), false));
}

/// Elements computed in blocks equal those computed one by one, bit for bit, whether or not some of the intermediate
/// vectors have to be scaled.
#[test]
fn element_blocks_equal_single_elements() {
    const FACTORS: [f64; 9] = [1.0, 1e-160, 1e160, 1e-300, 1e300, 1e-320, 0.0, f64::INFINITY, f64::NAN];
    let mut random = crate::support::Random(11);
    let (mut large, mut small) = (0, 0);
    for round in 0..400_usize {
        let dtype = if round % 2 == 0 { DType::F64 } else { DType::C128 };
        // All sizes of blocks and bonds, and all remainders of either.
        let lengths: Vec<u64> = (0..3).map(|_| 4 + random.next() % 10).collect();
        let bonds = [1, 1 + random.next() % 13, 1 + random.next() % 13, 1];
        let mut numbers = Vec::new();
        for (length, ends) in lengths.iter().zip(bonds.windows(2)) {
            let kinds = if round % 5 == 0 { FACTORS.len() } else { 7 };
            let factor = FACTORS[random.below(kinds)];
            for _ in 0..length * ends[0] * ends[1] * dtype.bits() / 64 {
                let other = if random.below(16) == 0 { FACTORS[random.below(kinds)] } else { factor };
                numbers.push(other * ((random.next() % 2001) as f64 / 1000.0 - 1.0));
            }
        }
        let mut bytes = file_of(&lengths, &bonds, &numbers);
        bytes[5] = u8::from(dtype == DType::C128);
        let file = File::open(&bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let mut room = vec![0xa5; train.slice_length(&[]).unwrap() as usize];
        let mut scratch = Scratch::new(train.slice_scratch());
        let found = self::numbers(train.slice(&[], &mut room, scratch.get()).unwrap(), dtype);
        for (place, found) in (0_u64..).zip(found) {
            let index = [place / lengths[2] / lengths[1], place / lengths[2] % lengths[1], place % lengths[2]];
            let element = train.element(&index, scratch.get()).unwrap();
            let is_same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(found.iter().zip(&element).all(is_same), "{round} {index:?}: {found:?} {element:?}");
            large += u32::from(element[0].abs() > 1e150);
            small += u32::from(element[0] != 0.0 && element[0].abs() < 1e-150);
        }
    }
    assert!(large > 10_000 && small > 10_000, "{large} {small}");
}

/// Elements that share the product of the last cores equal those computed one by one, except for the last digits.
#[test]
fn products_from_the_right() {
    let mut random = crate::support::Random(5);
    for dtype in [DType::F64, DType::C128] {
        for factors in [[1.0, 1.0], [1e300, 1e-300], [1e-300, 1e300]] {
            let (mut lengths, mut bonds) = (vec![1; 21], vec![2; 22]);
            (lengths[0], bonds[0], bonds[21]) = (100, 1, 1);
            let mut numbers = |count: usize, factor: f64| -> Vec<f64> {
                let count = count * (dtype.bits() / 64) as usize;
                (0..count).map(|_| factor * (1 + random.next() % 1000) as f64 / 1000.0).collect()
            };
            let cores = [numbers(200, 1.0), numbers(40, factors[0]), numbers(38, factors[1])].concat();
            let mut bytes = file_of(&lengths, &bonds, &cores);
            bytes[5] = u8::from(dtype == DType::C128);
            let file = File::open(&bytes).unwrap();
            let train = blz(&file).train().unwrap();
            let mut room = vec![0; train.slice_length(&[]).unwrap() as usize];
            let mut scratch = Scratch::new(train.slice_scratch());
            let found = self::numbers(train.slice(&[], &mut room, scratch.get()).unwrap(), dtype);
            let mut differ = 0;
            for (i, found) in (0..).zip(found) {
                let mut index = [0; 21];
                index[0] = i;
                let element = train.element(&index, scratch.get()).unwrap();
                assert!(element[0] != 0.0 && element[0].is_finite(), "{element:?}");
                assert!(is_near(found, element, 1e-12 * element[0].hypot(element[1])), "{found:?} {element:?}");
                differ += usize::from(found != element);
            }
            assert!(differ > 0, "not from the right");
        }
    }
}

#[test]
fn the_norm_of_a_difference_is_a_number() {
    let mut random = crate::support::Random(7);
    let mut number = || (random.next() % 2001) as f64 / 1000.0 - 1.0;
    for _ in 0..300 {
        // A - B, where B is A with its first core times c and its last core divided by c: both ranks are doubled.
        let (a, b): (Vec<f64>, Vec<f64>) = ((0..6).map(|_| number()).collect(), (0..6).map(|_| number()).collect());
        let c = 3.0 + number();
        let mut first = Vec::new();
        for i in 0..3 {
            first.extend([a[2 * i], a[2 * i + 1], a[2 * i] * c, a[2 * i + 1] * c]);
        }
        let mut second: Vec<f64> = b.clone();
        second.extend(b.iter().map(|x| -x / c));
        first.extend(second);
        let bytes = file_of(&[3, 3], &[1, 4, 1], &first);
        let file = File::open(&bytes).unwrap();
        let [norm, _] = norm(&blz(&file).train().unwrap()).value();
        assert!((0.0..1e-6).contains(&norm), "{norm}");
    }
}

/// One vector has numbers at both ends of the range of an `f64`. It is scaled down no further than the number of its
/// products requires, and the small numbers are kept.
#[test]
fn products_at_the_limit_of_scaling() {
    let power = |exponent| 2_f64.powi(exponent);
    // The last core has three rows for each of eight indices. The last index is used.
    let mut last = vec![0.0; 3 * 8];
    last[8 + 7] = power(600);
    for first in [415, 416] {
        let numbers = [vec![power(first), 5e-324, 0.0], last.clone()].concat();
        let bytes = file_of(&[1, 8], &[1, 3, 1], &numbers);
        let file = File::open(&bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let mut scratch = Scratch::new(train.slice_scratch());
        assert_eq!(train.element(&[0, 7], scratch.get()), Ok([power(-474), 0.0]), "{first}");
    }
    // From there on the vectors are scaled, in a slice as in an element.
    for first in 410..425 {
        let numbers = [vec![power(first), 5e-324, 0.0], last.clone()].concat();
        let bytes = file_of(&[1, 8], &[1, 3, 1], &numbers);
        let file = File::open(&bytes).unwrap();
        let train = blz(&file).train().unwrap();
        let mut scratch = Scratch::new(train.slice_scratch());
        let mut room = [0; 8 * 8];
        train.slice(&[], &mut room, scratch.get()).unwrap();
        let [element, _] = train.element(&[0, 7], scratch.get()).unwrap();
        assert_eq!(room[56..], element.to_ne_bytes(), "{first}");
    }
}

/// A number too small for a multiplication is replaced by its exponent.
#[test]
fn how_small_numbers_are_scaled() {
    let power = |exponent| 2_f64.powi(exponent);
    let sum = |numbers: &[f64]| {
        let bytes = file_of(&vec![1; numbers.len()], &vec![1; numbers.len() + 1], numbers);
        blz(&File::open(&bytes).unwrap()).train().unwrap().sum(&mut [0; 16]).unwrap()
    };
    assert_eq!(sum(&[power(-960)]), Scaled { parts: [power(-960), 0.0], exponent: 0 });
    assert_eq!(sum(&[power(-961)]), Scaled { parts: [power(-61), 0.0], exponent: -900 });
    assert_eq!(sum(&[power(-500), power(-600)]), Scaled { parts: [1.0, 0.0], exponent: -1100 });
}

/// Inner products of small numbers, and of so many large ones that their sum would exceed an `f64`.
#[test]
fn inner_products_are_scaled_as_needed() {
    let power = |exponent| 2_f64.powi(exponent);
    let inner = |a: &[u8], b: &[u8]| {
        let (a, b) = (File::open(a).unwrap(), File::open(b).unwrap());
        let (a, b) = (blz(&a).train().unwrap(), blz(&b).train().unwrap());
        a.inner(&b, Scratch::new(a.inner_scratch(&b)).get()).unwrap()
    };
    let small = file_of(&[1, 1], &[1, 1, 1], &[1.0, power(-1000)]);
    let Scaled { parts: [square, _], exponent } = inner(&small, &small);
    assert_eq!(square.log2() + f64::from(exponent), -2000.0);
    assert_eq!(norm(&blz(&File::open(&small).unwrap()).train().unwrap()).value(), [power(-1000), 0.0]);
    // 256 rows for each of 128 indices.
    let large = 1.5 * power(600);
    let ours = file_of(&[1, 128], &[1, 256, 1], &[vec![1.0; 256], vec![large; 256 * 128]].concat());
    let theirs = file_of(&[1, 128], &[1, 1, 1], &[vec![1.0], vec![large; 128]].concat());
    let Scaled { parts: [product, _], exponent } = inner(&ours, &theirs);
    assert!(product.is_finite());
    assert_eq!((product / 2.25).log2() + f64::from(exponent), 1215.0);
}

/// A file of one tensor leaves nothing to compare with memory.
#[test]
fn nothing_is_left_to_check() {
    let bytes = crate::support::fixture("blz/good/nd10_qtt_c64.blz");
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.check_length(), file.check(&mut []).unwrap()), (Some(0), file.warnings()));
}
