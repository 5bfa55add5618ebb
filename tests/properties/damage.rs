//! Damaged files: every prefix of every fixture, and many mutations. Nothing may panic, and a slice and parts must
//! give the same error.
#![cfg(feature = "ztensor")]

use crate::support::{Case, Random, cases, describe, open_in_parts};
use tenslice::{File, Source};

/// Declares the tests of each format. Separate tests run in parallel, and a failure names the format.
macro_rules! of_each_format {
    ($($format:ident)*) => {
        const FORMATS: &[&str] = &[$(stringify!($format)),*];

        $(mod $format {
            const FORMAT: &str = stringify!($format);

            #[test]
            fn rejects_every_prefix() {
                super::rejects_every_prefix(FORMAT);
            }

            #[test]
            fn every_byte_of_the_metadata_mutated() {
                super::every_byte_of_the_metadata_mutated(FORMAT);
            }

            #[test]
            fn random_damage() {
                super::random_damage(FORMAT);
            }

            #[test]
            fn opening_in_any_parts_equals_opening_whole() {
                super::opening_in_any_parts_equals_opening_whole(FORMAT);
            }
        })*
    };
}

of_each_format!(ztensor tens blz b2nd npy npz safetensors gguf pytorch onnx ptd tflite);

/// The cases of a format. (zTensor 2 files are too large for most of the tests; tests/formats/ztensor2.rs has its own.)
fn cases_of(format: &str) -> Vec<Case> {
    let mut all = cases();
    all.retain(|case| {
        let found = match case.format() {
            "b2frame" => "b2nd", // the same format, without an array
            found => found,
        };
        assert!(FORMATS.contains(&found), "{found} has no tests here");
        found == format
    });
    assert_eq!(!all.is_empty(), crate::support::is_built_in(format), "{format}");
    all
}

/// Opens `bytes` whole and in parts, and reads everything from both.
fn open_both_ways(context: &str, bytes: &[u8]) -> bool {
    let whole = File::open(bytes);
    let mut source = Source::new(bytes.len() as u64);
    let parts = open_in_parts(bytes, &[], &mut source);
    match (whole, parts) {
        (Ok(whole), Ok(parts)) => {
            assert_eq!(describe(&whole), describe(&parts), "{context}");
            for tensor in whole.tensors() {
                // Components in shards have no bytes in this file: tests/formats/ztensor2.rs.
                for component in tensor.components().filter(|component| component.shard().is_none()) {
                    assert!(component.extent().is_within(bytes.len() as u64), "{context}");
                    assert_eq!(component.stored().unwrap().len() as u64, component.extent().length, "{context}");
                }
            }
            true
        }
        (Err(whole), Err(parts)) => {
            assert_eq!(whole, parts, "{context}");
            assert!(whole.explain(bytes).to_string().len() > 10, "{context}");
            assert!(whole.offset().is_some_and(|at| at <= bytes.len() as u64), "{context}: {whole:?}");
            false
        }
        (whole, parts) => panic!("{context}: {whole:?} whole, {parts:?} in parts"),
    }
}

fn rejects_every_prefix(format: &str) {
    let mut prefixes = 0;
    let all = cases_of(format);
    for case in all.iter().filter(|case| case.bytes.len() < 8192) {
        // A bad file may begin with a good one. Prefixes in other formats may be valid: tests/formats/tens.rs has a table.
        let is_good = case.expect().starts_with("accept") && case.format() == "ztensor";
        for length in 0..case.bytes.len() {
            let accepted = open_both_ways(&case.name(), &case.bytes[..length]);
            assert!(!accepted || !is_good, "{}: {length} bytes", case.name());
            prefixes += 1;
        }
    }
    assert!(prefixes > 1000 || all.is_empty(), "{format}: only {prefixes} prefixes of its files");
}

#[test]
fn rejects_every_prefix_of_a_large_file() {
    let bytes = crate::support::fixture("v1.2/many_tensors.zt");
    for length in 0..bytes.len() {
        assert!(File::open(&bytes[..length]).is_err(), "{length} bytes");
    }
}

fn every_byte_of_the_metadata_mutated(format: &str) {
    let (mut accepted, mut refused) = (0, 0);
    let all = cases_of(format);
    for case in all.iter().filter(|case| case.bytes.len() < 3000) {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let mut bytes = case.bytes.clone();
        let metadata = match file.as_ztensor() {
            Some(file) => file.manifest().offset as usize..bytes.len(),
            None => 8..bytes.len().min(200),
        };
        for at in (0..bytes.len().min(8)).chain(metadata) {
            let original = bytes[at];
            for new in [0, 0x7f, 0xff, original.wrapping_add(1), original ^ 0x20, original ^ 0x80] {
                bytes[at] = new;
                let count = if open_both_ways(&case.name(), &bytes) { &mut accepted } else { &mut refused };
                *count += 1;
            }
            bytes[at] = original;
        }
    }
    // Names and values may change freely.
    assert!(all.is_empty() || accepted > 50 && refused > 50, "{format}: {accepted} {refused}");
}

fn random_damage(format: &str) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for case in cases_of(format).iter().filter(|case| case.bytes.len() < 20_000) {
        for _ in 0..200 {
            let mut bytes = case.bytes.clone();
            for _ in 0..=random.below(4) {
                let at = bytes.len().saturating_sub(1 + random.below(bytes.len().min(600)));
                match random.below(3) {
                    0 if at < bytes.len() => bytes[at] = random.next() as u8,
                    1 if at < bytes.len() => drop(bytes.remove(at)),
                    _ => bytes.insert(at, random.next() as u8),
                }
            }
            open_both_ways(&case.name(), &bytes);
        }
    }
}

fn opening_in_any_parts_equals_opening_whole(format: &str) {
    let mut random = Random(42);
    for case in cases_of(format) {
        let whole = File::open(&case.bytes);
        for _ in 0..30 {
            // Segments that the caller already has, cut anywhere.
            let given: Vec<_> = (0..random.below(5))
                .map(|_| {
                    let from = random.below(case.bytes.len());
                    (from, from + random.below(case.bytes.len() - from))
                })
                .collect();
            let mut source = Source::new(case.bytes.len() as u64);
            let parts = open_in_parts(&case.bytes, &given, &mut source);
            match (&whole, &parts) {
                (Ok(whole), Ok(parts)) => {
                    let described = describe(parts);
                    // A long value of GGUF need not be in memory. It is available once the header is.
                    #[cfg(feature = "gguf")]
                    let described = match parts.as_gguf() {
                        Some(gguf) if described.contains("NotInMemory") => {
                            let header = (0, case.bytes.len().min(gguf.data_offset() as usize));
                            describe(&open_in_parts(&case.bytes, &[header], &mut source).unwrap())
                        }
                        _ => described,
                    };
                    assert_eq!(describe(whole), described, "{}", case.name());
                }
                (Err(whole), Err(parts)) => assert_eq!(whole, parts, "{}", case.name()),
                _ => panic!("{}: {whole:?} whole, {parts:?} in parts", case.name()),
            }
        }
    }
}
