//! Damaged files: every prefix of every fixture, and many mutations. No panic, one error, the same from a slice and
//! from parts.
#![cfg(feature = "ztensor")]

mod support;

use support::{Random, cases, describe, open_in_parts};
use tenslice::{File, Source};

/// Opens `bytes` whole and in parts, and reads everything from both.
fn open_both_ways(context: &str, bytes: &[u8]) -> bool {
    let whole = File::open(bytes);
    let mut source = Source::new(bytes.len() as u64);
    let parts = open_in_parts(bytes, &[], &mut source);
    match (whole, parts) {
        (Ok(whole), Ok(parts)) => {
            assert_eq!(describe(&whole), describe(&parts), "{context}");
            for tensor in whole.tensors() {
                // Those in another file: tests/ztensor2.rs.
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

#[test]
fn every_prefix_is_refused() {
    let mut prefixes = 0;
    for case in cases().iter().filter(|case| case.bytes.len() < 8192) {
        // A bad file may begin with a good one; which prefixes of other formats are good is in a table
        // (tests/tens.rs).
        let is_good = case.expect().starts_with("accept") && case.format() == "ztensor";
        for length in 0..case.bytes.len() {
            let accepted = open_both_ways(&case.name(), &case.bytes[..length]);
            assert!(!accepted || !is_good, "{}: {length} bytes", case.name());
            prefixes += 1;
        }
    }
    assert!(prefixes > 50_000, "{prefixes}");
}

#[test]
fn every_prefix_of_a_large_file_is_refused() {
    let bytes = support::fixture("v1.2/many_tensors.zt");
    for length in 0..bytes.len() {
        assert!(File::open(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn every_byte_of_the_metadata_mutated() {
    let mut accepted = 0;
    for case in cases().iter().filter(|case| case.bytes.len() < 3000) {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let mut bytes = case.bytes.clone();
        let metadata = match file.as_ztensor() {
            Some(file) => file.manifest().offset as usize..bytes.len(),
            None => 8..bytes.len().min(200),
        };
        for at in (0..8).chain(metadata) {
            let original = bytes[at];
            for new in [0, 0x7f, 0xff, original.wrapping_add(1), original ^ 0x20, original ^ 0x80] {
                bytes[at] = new;
                accepted += usize::from(open_both_ways(&case.name(), &bytes));
            }
            bytes[at] = original;
        }
    }
    assert!(accepted > 1000, "{accepted}"); // names and values may change freely, so some mutants are valid
}

#[test]
fn random_damage() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for case in cases().iter().filter(|case| case.bytes.len() < 20_000) {
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

#[test]
fn open_in_any_parts_equals_open_of_the_whole() {
    let mut random = Random(42);
    for case in cases() {
        let whole = File::open(&case.bytes);
        for _ in 0..30 {
            // Segments that the caller happened to have already, cut anywhere.
            let given: Vec<_> = (0..random.below(5))
                .map(|_| {
                    let from = random.below(case.bytes.len());
                    (from, from + random.below(case.bytes.len() - from))
                })
                .collect();
            let mut source = Source::new(case.bytes.len() as u64);
            let parts = open_in_parts(&case.bytes, &given, &mut source);
            match (&whole, &parts) {
                (Ok(whole), Ok(parts)) => assert_eq!(describe(whole), describe(parts), "{}", case.name()),
                (Err(whole), Err(parts)) => assert_eq!(whole, parts, "{}", case.name()),
                _ => panic!("{}: {whole:?} whole, {parts:?} in parts", case.name()),
            }
        }
    }
}
