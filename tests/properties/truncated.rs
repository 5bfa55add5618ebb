//! Truncated files: the message says so, how long the file should be, and how many bytes are missing.
#![cfg(feature = "formats")]

use std::path::{Path, PathBuf};

use crate::support::gguf::Gguf;
use tenslice::safetensors::Index;
use tenslice::{ErrorKind, File, Format, Part};

/// Collects the fixtures below the folder, except for those that must be rejected.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_file = path.extension().is_some_and(|ending| ending != "json" && ending != "txt" && ending != "md");
        if path.is_dir() && !path.ends_with("bad") {
            files(&path, all);
        } else if is_file && !path.is_dir() {
            all.push(path);
        }
    }
}

fn explained(bytes: &[u8]) -> Option<(ErrorKind, Format, Part, String)> {
    let error = File::open(bytes).err()?;
    Some((error.kind(), error.format(), error.part(), error.explain(bytes).to_string()))
}

/// The two numbers of `should have at least N bytes, M are missing`, or `so at least M`.
fn numbers(message: &str) -> Option<(u64, u64)> {
    let (_, rest) = message.split_once("should have at least ")?;
    let (length, rest) = rest.split_once(" byte")?;
    let (_, rest) = rest.split_once(", ")?;
    let rest = rest.trim_start_matches("so at least ");
    let (missing, rest) = rest.split_once(' ')?;
    assert!(rest.starts_with(if missing == "1" { "is missing" } else { "are missing" }), "{message}");
    Some((length.parse().unwrap(), missing.parse().unwrap()))
}

/// All lengths of a short file. For a longer file, lengths near its ends and some in between.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    let step = (length / 256).max(1);
    (0..length).filter(move |cut| *cut < 600 || length - cut < 64 || cut.is_multiple_of(step))
}

#[test]
fn states_missing_bytes_in_every_format() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let (mut all, mut counts) = (Vec::new(), std::collections::BTreeMap::new());
    files(Path::new(root), &mut all);
    // It begins with fields that no format defines.
    all.retain(|path| !path.ends_with("hm_unknown_fields.onnx"));
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(file) = File::open(&bytes) else { continue };
        // Padding and bytes after the data may be missing.
        let least = (0..=bytes.len()).rev().find(|cut| File::open(&bytes[..*cut]).is_err()).map_or(0, |cut| cut + 1);
        for cut in cuts(least) {
            let Some((kind, format, item, message)) = explained(&bytes[..cut]) else { continue };
            let context = format!("{}, {cut} of {least}: {message}", path.display());
            let is_said = ["is truncated", "is empty", "cut off", "has a 1.1 or 1.2 file lost its last 8 bytes"];
            assert!(is_said.iter().any(|part| message.contains(part)), "{context}");
            // If the length is stated at the end of the file, or in first bytes that are incomplete, it is unknown.
            let has_end = matches!(format, Format::Ztensor | Format::Ztensor2 | Format::Unknown);
            let Some((needed, missing)) = numbers(&message) else {
                assert!(has_end, "{context}");
                continue;
            };
            assert_eq!(needed, cut as u64 + missing, "{context}");
            assert!(format != file.format() || needed <= least as u64, "{context}");
            let is_exact = match format {
                Format::Gguf | Format::Safetensors => kind == ErrorKind::OutOfFile,
                Format::Npy => item == Part::Data,
                Format::Blz => kind == ErrorKind::OutOfFile,
                Format::B2nd => item == Part::File,
                _ => false,
            };
            assert!(!is_exact || needed == least as u64, "{context}");
            *counts.entry((format, is_exact)).or_insert(0) += 1;
        }
    }
    for format in [Format::Gguf, Format::Safetensors, Format::Npy, Format::Blz, Format::B2nd] {
        assert!(counts[&(format, true)] > 100, "{format:?}: {counts:?}");
    }
    for format in [Format::Tens, Format::Npz, Format::Pytorch, Format::Ptd, Format::Tflite] {
        assert!(counts[&(format, false)] > 100, "{format:?}: {counts:?}");
    }
}

#[track_caller]
fn says(bytes: &[u8], part: &str) {
    let (_, _, _, message) = explained(bytes).unwrap();
    assert!(message.contains(part), "{message}");
}

#[test]
fn uses_the_tensor_that_ends_last() {
    // Two tensors. The data of the first entry comes last.
    let header = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[2,6]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes().chain([0; 6]));
    assert!(File::open(&bytes).is_ok());
    let start = bytes.len() - 6;
    for cut in 0..6 {
        let missing = 6 - cut;
        let verb = if missing == 1 { "is" } else { "are" };
        says(&bytes[..start + cut], &format!("should have at least {} bytes, {missing} {verb} missing", bytes.len()));
    }

    let mut gguf = Gguf::default();
    gguf.info("a", &[3], 0, 0).info("b", &[2, 5], 0, 32).data = vec![0; 72];
    let bytes = gguf.bytes();
    assert!(File::open(&bytes).is_ok());
    let place = bytes.len() - 40;
    let end = format!(
        "tensor \"b\": 40 bytes at offset {place} extend past the end of the file ({} bytes); the file is \
        truncated: it should have at least {} bytes, 72 are missing",
        bytes.len() - 72,
        bytes.len()
    );
    says(&bytes[..bytes.len() - 72], &end);
}

#[test]
fn impossible_numbers_are_not_truncation() {
    // An offset near 2^64 is wrong, and does not mean that the file is truncated. A count may be wrong, too.
    let header = format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{0}],\"data_offsets\":[0,{0}]}}}}", 1_u64 << 60);
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    let (_, _, _, message) = explained(&bytes).unwrap();
    assert!(message.contains("extend past the end of the file") && !message.contains("truncated"), "{message}");
    let counted = [&b"GGUF\x03\0\0\0"[..], &1000_u64.to_le_bytes(), &0_u64.to_le_bytes(), &[0; 40]].concat();
    says(
        &counted,
        "unless the count is wrong, the file is truncated: it has 64 bytes and should have at least 24024",
    );
}

/// Bytes after an archive are not a truncation: the message says how many there are.
#[test]
fn bytes_after_an_archive() {
    let good = crate::support::fixture("npz/stored.npz");
    for extra in [&b"x"[..], b"more bytes"] {
        let bytes = [&good[..], extra].concat();
        let part = format!("the archive ends at byte {}, and {} other bytes follow it", good.len(), extra.len());
        says(&bytes, &part);
    }
}

#[test]
fn truncated_index() {
    let text = br#"{"metadata": {"total_size": 24}, "weight_map": {"a.b": "1.safetensors", "c": "2.safetensors"}}"#;
    assert!(Index::open(text).is_ok());
    for cut in 0..text.len() {
        let error = Index::open(&text[..cut]).unwrap_err();
        let message = error.explain(&text[..cut]).to_string();
        assert!(message.contains("the text ends within the JSON object: it is truncated"), "{cut}: {message}");
    }
    let wrong = br#"{"weight_map": {"a" "b"}}"#;
    let message = Index::open(wrong).unwrap_err().explain(&wrong[..]).to_string();
    assert!(!message.contains("truncated"), "{message}");
}
