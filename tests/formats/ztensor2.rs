//! zTensor 2: the reference implementation's conformance suite, damaged files, shards.
#![cfg(all(feature = "ztensor2", feature = "digest"))]

use std::path::PathBuf;

use crate::support::ztensor2::{Object, Stored, file};
use crate::support::{Cbor, Random, check_with_any_memory, describe, fixture, open_in_parts};
use serde_json::Value as Json;
use tenslice::{Error, ErrorKind, File, Part, Purpose, ReadOptions, Source, Tensor, Warning};

/// The files that the suite requires readers to reject: the file, the suite's rule, and the kind and part of our
/// error.
const REFUSED: &[(&str, &str, ErrorKind, Part)] = &[
    ("attribute-key-empty", "Name", ErrorKind::NameLength, Part::Key),
    ("attribute-key-not-text", "Schema", ErrorKind::UnexpectedType, Part::Key),
    ("attribute-key-nul", "Name", ErrorKind::InvalidName, Part::Key),
    ("attributes-not-a-map", "Schema", ErrorKind::UnexpectedType, Part::Attributes),
    ("blob-array-with-three-elements", "Schema", ErrorKind::UnexpectedType, Part::Offset),
    ("blob-misaligned", "BlobAlignment", ErrorKind::MisalignedOffset, Part::Offset),
    ("blob-offset-zero", "BlobAlignment", ErrorKind::MisalignedOffset, Part::Offset),
    ("blob-out-of-bounds", "BlobBounds", ErrorKind::OutOfFile, Part::Offset),
    ("blob-partial-overlap", "BlobOverlap", ErrorKind::Overlap, Part::Offset),
    ("bool-invalid-byte", "LayoutData", ErrorKind::InvalidElement, Part::Component),
    ("cbor-depth", "CborDepth", ErrorKind::TooDeep, Part::Manifest),
    ("cbor-duplicate-key", "CborDuplicateKey", ErrorKind::RepeatedKey, Part::Key),
    ("cbor-indefinite", "CborSyntax", ErrorKind::IndefiniteLength, Part::Manifest),
    ("cbor-non-shortest", "CborDeterminism", ErrorKind::NotShortest, Part::Manifest),
    ("cbor-tag", "CborSyntax", ErrorKind::Tagged, Part::Manifest),
    ("cbor-trailing-bytes", "CborSyntax", ErrorKind::TrailingBytes, Part::Manifest),
    ("cbor-unsorted-keys", "CborDeterminism", ErrorKind::KeyOrder, Part::Key),
    ("csr-index-out-of-cols", "LayoutData", ErrorKind::IndexOutOfRange, Part::Tensor),
    ("csr-indptr-count", "LayoutRule", ErrorKind::CountMismatch, Part::Length),
    ("csr-indptr-not-zero-based", "LayoutData", ErrorKind::InvalidRowPointers, Part::Tensor),
    ("csr-missing-part", "LayoutRule", ErrorKind::MissingComponent, Part::Components),
    ("csr-row-not-increasing", "LayoutData", ErrorKind::IndexOrder, Part::Tensor),
    ("csr-signed-indices", "LayoutRule", ErrorKind::IndexType, Part::DType),
    ("csr-values-size", "LayoutRule", ErrorKind::SizeMismatch, Part::Length),
    ("data-shard-nonzero-offset", "ManifestBounds", ErrorKind::ManifestSize, Part::Footer),
    ("dense-extra-part", "LayoutRule", ErrorKind::UnexpectedComponent, Part::Components),
    ("dense-f4-size-mismatch", "DenseSize", ErrorKind::SizeMismatch, Part::Length),
    ("dense-size-mismatch", "DenseSize", ErrorKind::SizeMismatch, Part::Length),
    ("f4-nonzero-odd-nibble", "LayoutData", ErrorKind::InvalidElement, Part::Component),
    // Too short for the magic.
    ("file-too-small", "FileTooSmall", ErrorKind::UnknownFormat, Part::File),
    ("footer-magic", "FooterMagic", ErrorKind::MissingMagic, Part::Footer),
    ("header-magic", "HeaderMagic", ErrorKind::UnknownFormat, Part::File),
    ("manifest-hash-mismatch", "ManifestHash", ErrorKind::ManifestHash, Part::Manifest),
    ("manifest-misaligned", "BlobAlignment", ErrorKind::MisalignedOffset, Part::Footer),
    ("manifest-out-of-bounds", "ManifestBounds", ErrorKind::ManifestSize, Part::Footer),
    ("manifest-too-large", "ManifestTooLarge", ErrorKind::ManifestTooLarge, Part::Footer),
    ("name-empty", "Name", ErrorKind::NameLength, Part::Name),
    ("name-nul", "Name", ErrorKind::InvalidName, Part::Name),
    ("name-too-long", "Name", ErrorKind::NameLength, Part::Name),
    ("object-attributes-not-a-map", "Schema", ErrorKind::UnexpectedType, Part::Attributes),
    ("schema-blob-arity", "Schema", ErrorKind::UnexpectedType, Part::Offset),
    ("schema-digest-uppercase-hex", "Schema", ErrorKind::InvalidDigest, Part::Digest),
    ("schema-encoding-without-decoded-length", "Schema", ErrorKind::MissingKey, Part::DecodedLength),
    ("schema-ltype-dtype-mismatch", "Schema", ErrorKind::TypeMismatch, Part::LogicalType),
    ("schema-missing-objects", "Schema", ErrorKind::MissingKey, Part::Tensors),
    ("schema-unknown-dtype", "Schema", ErrorKind::UnknownDType, Part::DType),
    ("shape-product-overflow", "Shape", ErrorKind::ShapeOverflow, Part::Shape),
    ("shape-rank-65", "Shape", ErrorKind::TooMany, Part::Shape),
    ("shard-blob-partial-overlap", "BlobOverlap", ErrorKind::Overlap, Part::Offset),
    ("shard-name-empty", "ShardName", ErrorKind::NameLength, Part::Shard),
    ("shard-name-leading-dot", "ShardName", ErrorKind::InvalidName, Part::Shard),
    ("shard-name-separator", "ShardName", ErrorKind::InvalidName, Part::Shard),
    ("shard-name-traversal", "ShardName", ErrorKind::InvalidName, Part::Shard),
    ("shard-ref-not-in-table", "ShardRef", ErrorKind::UnknownShard, Part::Shard),
    ("shard-table-key-not-text", "Schema", ErrorKind::UnexpectedType, Part::Shard),
    ("verify-digest-mismatch", "Digest", ErrorKind::DigestMismatch, Part::Digest),
    ("version-unsupported", "Version", ErrorKind::UnsupportedVersion, Part::Version),
];

/// The files that a reader must accept, and the error of the operation that may then fail.
const ACCEPTED: &[(&str, Option<ErrorKind>)] = &[
    ("aliased-identical-blobs", None),
    ("attributes-kitchen-sink", None),
    ("canonical-basic", None),
    ("csr-data-valid", None),
    ("csr-metadata-valid", None),
    ("data-shard", None),
    ("empty-objects", None),
    ("f4-packed-odd-count", None),
    ("local-and-foreign-parts-together", None),
    ("minimal", None),
    ("nonzero-reserved-ignored", None),
    ("scalar", None),
    ("shard-reference-is-a-valid-image", None),
    ("shards-table", None),
    ("unknown-layout-structural", None),
    ("unknown-ltype-structural", None),
    ("verify-ok", None),
    ("view-unknown-encoding-refused", Some(ErrorKind::UnsupportedEncoding)),
    ("zero-size-tensor", None),
];

/// The suite, if `TENSLICE_CORPUS` names a corpus that has it. We may not redistribute it.
fn suite() -> Option<PathBuf> {
    let suite = std::env::var_os("TENSLICE_CORPUS").map(PathBuf::from)?.join("ztensor-v2-conformance");
    let is_there = suite.join("manifest.json").exists();
    assert!(is_there || std::env::var_os("TENSLICE_NO_SKIP").is_none(), "no suite at {}", suite.display());
    is_there.then_some(suite)
}

/// Performs the operation of the case on the tensor that it names.
fn operate(operation: &str, file: &File<'_>, case: &Json) -> Result<(), Error> {
    let tensor = || file.find(case["target"][0].as_str().unwrap());
    match operation {
        "open" => Ok(()),
        "assemble csr" => tensor()?.sparse(ReadOptions::new()).map(drop),
        "verify digest / content" => tensor()?.verify(ReadOptions::new()).map(drop),
        "zero-copy view" => tensor()?.data()?.bytes().map(drop),
        other => panic!("{other}"),
    }
}

#[test]
fn conformance_rule_by_rule() {
    let Some(suite) = suite() else { return };
    let manifest: Json = serde_json::from_slice(&std::fs::read(suite.join("manifest.json")).unwrap()).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 76);
    assert_eq!(REFUSED.len() + ACCEPTED.len(), 76);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let bytes = std::fs::read(suite.join(case["file"].as_str().unwrap())).unwrap();
        let operation = case["operation"].as_str().unwrap();
        let opened = File::open(&bytes);
        if case["expect"] == "reject" {
            let (_, rule, kind, item) = REFUSED.iter().find(|(known, ..)| *known == name).expect(name);
            assert_eq!(case["rule"], *rule, "{name}");
            // An error that only an operation can detect does not prevent opening.
            let error = match (operation, opened) {
                ("open", opened) => opened.expect_err(name),
                (operation, opened) => operate(operation, &opened.expect(name), case).expect_err(name),
            };
            assert_eq!((error.kind(), error.part()), (*kind, *item), "{name}: {error}");
            continue;
        }
        let (_, fails) = ACCEPTED.iter().find(|(known, _)| *known == name).expect(name);
        let file = opened.expect(name);
        assert_eq!(operate(operation, &file, case).err().map(|error| error.kind()), *fails, "{name}");
        assert_eq!(file.as_ztensor2().unwrap().is_shard(), case["expect"] == "accept-data-shard", "{name}");
        let expected = case["tensors"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(file.tensor_count(), expected.len() as u64, "{name}");
        for expected in expected {
            compare(&file.find(expected["name"].as_str().unwrap()).unwrap(), expected);
        }
    }
}

/// Compares a tensor with its description in the suite.
fn compare(tensor: &Tensor<'_>, expected: &Json) {
    let context = tensor.name().to_string();
    let shape: Vec<u64> = expected["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
    assert_eq!(tensor.shape(), shape[..], "{context}");
    assert_eq!(tensor.layout_name(), expected["layout"], "{context}");
    let parts = expected["parts"].as_array().unwrap();
    assert_eq!(tensor.components().count(), parts.len(), "{context}");
    for part in parts {
        let component = tensor.component(part["role"].as_str().unwrap()).unwrap();
        assert_eq!(component.storage_dtype().unwrap().name(), part["dtype"], "{context}");
        assert_eq!(component.extent().offset, part["offset"].as_u64().unwrap(), "{context}");
        assert_eq!(component.extent().length, part["length"].as_u64().unwrap(), "{context}");
        assert_eq!(component.encoding_name(), part["encoding"].as_str().unwrap_or("raw"), "{context}");
        assert_eq!(component.digest(), part["digest"].as_str(), "{context}");
        assert_eq!(component.shard(), part["shard"].as_str(), "{context}");
        match part["stored_sha256"].as_str() {
            Some(sha256) => assert_eq!(crate::support::sha256(component.stored().unwrap()), sha256, "{context}"),
            None => assert_eq!(component.stored().unwrap_err().kind(), ErrorKind::InShard, "{context}"),
        }
    }
}

/// The bytes of a file with this manifest: 4096 bytes of header and padding, `data` up to the next multiple of 4096,
/// the manifest, the footer.
fn file_of(manifest: &[u8], data: &[u8]) -> Vec<u8> {
    let mut file = b"\x89ZT2\r\n\x1a\n".to_vec();
    file.resize(4096, 0);
    file.extend(data);
    file.resize(file.len().next_multiple_of(4096), 0);
    let offset = file.len() as u64;
    file.extend(manifest);
    file.extend(offset.to_le_bytes());
    file.extend((manifest.len() as u64).to_le_bytes());
    file.extend(xxhash_rust::xxh3::xxh3_64(manifest).to_le_bytes());
    file.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(b"\x89ZT2\r\n\x1a\n");
    file
}

/// The range of the manifest in a file.
fn manifest_of(bytes: &[u8]) -> std::ops::Range<usize> {
    let footer = &bytes[bytes.len() - 40..];
    let number = |at: usize| u64::from_le_bytes(footer[at..at + 8].try_into().unwrap()) as usize;
    number(0)..number(0) + number(8)
}

/// Updates the hash of the manifest.
fn repair(bytes: &mut [u8]) {
    let hash = xxhash_rust::xxh3::xxh3_64(&bytes[manifest_of(bytes)]);
    let at = bytes.len() - 24;
    bytes[at..at + 8].copy_from_slice(&hash.to_le_bytes());
}

/// The fixtures of zTensor 2 that must be accepted.
fn good() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for case in crate::support::cases() {
        if case.expected["generation"] == "2" && case.expect() == "accept" {
            all.push((case.name(), case.bytes));
        }
    }
    assert!(all.len() >= 15, "{}", all.len());
    all
}

/// Opens the file whole and in parts, and reads everything from both. Returns the error of opening.
fn open_both_ways(context: &str, bytes: &[u8]) -> Result<(), Error> {
    let mut source = Source::new(bytes.len() as u64);
    match (File::open(bytes), open_in_parts(bytes, &[], &mut source)) {
        (Ok(whole), Ok(parts)) => {
            assert_eq!(describe(&whole), describe(&parts), "{context}");
            for tensor in whole.tensors() {
                let name = tensor.name().to_string();
                assert_eq!(whole.find(&name).unwrap().index(), tensor.index(), "{context}");
                assert!(whole.find(&format!("{name}?")).is_err(), "{context}");
                for component in tensor.components() {
                    match component.shard() {
                        Some(name) => assert!(whole.as_ztensor2().unwrap().shards().any(|shard| shard.name == name)),
                        None => assert_eq!(component.stored().unwrap().len() as u64, component.extent().length),
                    }
                }
            }
            Ok(())
        }
        (Err(whole), Err(parts)) => {
            assert_eq!(whole, parts, "{context}");
            assert!(whole.offset().is_some_and(|at| at <= bytes.len() as u64), "{context}: {whole:?}");
            assert!(whole.explain(bytes).to_string().len() > 10, "{context}");
            Err(whole)
        }
        (whole, parts) => panic!("{context}: {whole:?} whole, {parts:?} in parts"),
    }
}

#[test]
fn rejects_every_prefix() {
    let mut prefixes = 0;
    for (name, bytes) in good() {
        for length in 0..bytes.len() {
            // A program appends after the footer: this prefix is the whole file before that.
            if name.ends_with("append_generation.zt") && length == 8334 {
                assert_eq!(File::open(&bytes[..length]).unwrap().tensor_count(), 1);
                continue;
            }
            assert!(File::open(&bytes[..length]).is_err(), "{name}: {length} bytes");
            // A prefix is rejected because of its end. That also holds in parts, for which a sample is enough.
            if length % 509 == 0 || bytes.len() - length < 64 || length < 64 {
                assert!(open_both_ways(&name, &bytes[..length]).is_err());
            }
            prefixes += 1;
        }
    }
    assert!(prefixes > 200_000, "{prefixes}");
}

/// A changed bit is detected by the hash. With a repaired hash, the violated rule is reported, if there is one.
#[test]
fn detects_every_changed_bit_of_the_manifest() {
    let (mut refused, mut accepted) = (0, 0);
    let mut kinds = std::collections::BTreeMap::<&str, u32>::new();
    for (name, mut bytes) in good().into_iter().filter(|(_, bytes)| manifest_of(bytes).len() < 1500) {
        for at in manifest_of(&bytes) {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let error = File::open(&bytes).expect_err(&name);
                assert_eq!((error.kind(), error.part()), (ErrorKind::ManifestHash, Part::Manifest), "{name}");
                repair(&mut bytes);
                match open_both_ways(&name, &bytes) {
                    Ok(()) => accepted += 1, // the name, shape and length, or digest changed
                    Err(error) => {
                        refused += 1;
                        assert_ne!(error.kind(), ErrorKind::ManifestHash, "{name}");
                        *kinds.entry(error.kind().name()).or_default() += 1;
                    }
                }
                bytes[at] ^= 1 << bit;
                repair(&mut bytes);
            }
        }
    }
    assert!(refused > 20_000 && accepted > 1000, "{refused} {accepted}");
    assert!(kinds.len() > 20, "{kinds:?}");
}

#[test]
fn random_damage() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for (name, original) in good() {
        for _ in 0..400 {
            let mut bytes = original.clone();
            for _ in 0..=random.below(4) {
                let manifest = manifest_of(&original);
                let at = manifest.start + random.below(manifest.len());
                match random.below(4) {
                    0 => bytes[at] = random.next() as u8,
                    1 => bytes[at] ^= 1 << random.below(8),
                    2 => bytes[at] = original[manifest.start + random.below(manifest.len())],
                    _ => {
                        let from = manifest.start + random.below(manifest.len());
                        let length = random.below(20).min(manifest.end - from.max(at));
                        bytes.copy_within(from..from + length, at);
                    }
                }
            }
            repair(&mut bytes);
            accepted += u32::from(open_both_ways(&name, &bytes).is_ok());
        }
    }
    assert!(accepted > 100, "{accepted}");
}

/// A part in the encoding that writers use.
fn part(cbor: &mut Cbor, offset: u64, length: u64, shard: Option<&str>) {
    cbor.map(2 + u64::from(shard.is_some())).text("blob").array(2).uint(offset).uint(length).text("dtype").text("u8");
    if let Some(shard) = shard {
        cbor.text("shard").text(shard);
    }
}

/// A dense tensor of `length` bytes.
fn object(cbor: &mut Cbor, name: &str, offset: u64, length: u64, shard: Option<&str>) {
    cbor.text(name).map(3).text("parts").map(1).text("data");
    part(cbor, offset, length, shard);
    cbor.text("shape").array(1).uint(length).text("layout").text("dense");
}

/// A manifest with `count` tensors of one byte, and `shards` shards.
fn manifest(count: u64, shards: u64, mut place: impl FnMut(u64) -> (u64, u64, Option<String>)) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1 + u64::from(shards > 0));
    if shards > 0 {
        cbor.text("shards").map(shards);
        for i in 0..shards {
            cbor.text(&format!("{i:06}"))
                .map(2)
                .text("size")
                .uint(1 << 40)
                .text("digest")
                .text("xxh3:0011223344556677");
        }
    }
    cbor.text("objects").map(count);
    for i in 0..count {
        let (offset, length, shard) = place(i);
        object(&mut cbor, &format!("{i:06}"), offset, length, shard.as_deref());
    }
    cbor.0
}

/// Collects the offsets of all heads in the CBOR value at `at`, which has definite lengths. Returns the end of the
/// value.
fn heads(cbor: &[u8], at: usize, all: &mut Vec<usize>) -> usize {
    all.push(at);
    let (number, after) = match cbor[at] & 0x1f {
        info @ 0..24 => (usize::from(info), at + 1),
        24 => (cbor[at + 1].into(), at + 2),
        25 => (u16::from_be_bytes([cbor[at + 1], cbor[at + 2]]).into(), at + 3),
        26 => (u32::from_be_bytes(cbor[at + 1..at + 5].try_into().unwrap()) as usize, at + 5),
        info => panic!("{info}"),
    };
    match cbor[at] >> 5 {
        2 | 3 => after + number,
        4 => (0..number).fold(after, |at, _| heads(cbor, at, all)),
        5 => (0..2 * number).fold(after, |at, _| heads(cbor, at, all)),
        _ => after,
    }
}

/// Each head of a manifest in another encoding: longer than necessary, with indefinite length, or after a tag. The
/// error is at that head.
#[test]
fn rejects_other_encodings_of_every_head() {
    let long = "n".repeat(300);
    let attributes = serde_json::json!({ "k": [1, 300, 70_000, true, null], "text": "abc", "long": long });
    let part = |role, stored: &[u8]| Stored {
        role,
        dtype: "u8",
        stored: stored.to_vec(),
        digest: Some(crate::support::ztensor2::xxh3(stored)),
        ..Stored::default()
    };
    let object = |name, shape: &[u64], attributes: Json, stored: &[u8]| Object {
        name,
        shape: shape.to_vec(),
        layout: "dense",
        attributes,
        parts: vec![part("data", stored)],
    };
    let name: &str = Box::leak("w".repeat(260).into_boxed_str());
    let objects = [
        object("a", &[3], Json::Null, &[1, 2, 3]),
        object("b", &[5, 300], attributes, &[0; 1500]),
        object("layer.0.weight.of.that.name", &[], Json::Null, &[9]),
        object(name, &[2, 1], Json::Null, &[8, 7]),
    ];
    let shards = [("other", 70_000, crate::support::ztensor2::xxh3(b"x"))];
    let bytes = file(&objects, &shards);
    assert!(File::open(&bytes).is_ok());
    let place = manifest_of(&bytes);
    let (manifest, data) = (&bytes[place.clone()], &bytes[4096..place.start]);
    let mut all = Vec::new();
    assert_eq!(heads(manifest, 0, &mut all), manifest.len());
    assert!(all.len() > 100, "{}", all.len());
    let refused = |at: usize, end: usize, head: &[u8], expected: ErrorKind| {
        let changed = [&manifest[..at], head, &manifest[end..]].concat();
        let bytes = file_of(&changed, data);
        let context = format!("{head:x?} at {at} for {:x?}", &manifest[at..end]);
        let error = open_both_ways(&context, &bytes).expect_err(&context);
        assert_eq!((error.kind(), error.offset()), (expected, Some((place.start + at) as u64)), "{context}");
    };
    for at in all {
        let (of, info) = (manifest[at] & 0xe0, manifest[at] & 0x1f);
        let width = if info < 24 { 0 } else { 1 << (info - 24) };
        let mut number = [0; 8];
        match width {
            0 => number[7] = info,
            _ => number[8 - width..].copy_from_slice(&manifest[at + 1..at + 1 + width]),
        }
        let end = at + 1 + width;
        for wider in [1, 2, 4, 8_usize].into_iter().filter(|wider| *wider > width) {
            let head = [&[of | (24 + wider.trailing_zeros() as u8)], &number[8 - wider..]].concat();
            let is_simple = of == 0xe0; // a simple value has no other encoding: a wider head is a number or invalid
            if !is_simple {
                refused(at, end, &head, ErrorKind::NotShortest);
            }
        }
        refused(at, end, &[&[0xc1], &manifest[at..end]].concat(), ErrorKind::Tagged);
        match of {
            0x60..=0xa0 => refused(at, end, &[of | 0x1f], ErrorKind::IndefiniteLength),
            _ => refused(at, end, &[of | 0x1f], ErrorKind::Malformed),
        }
        refused(at, end, &[of | 0x1c], ErrorKind::Malformed);
    }
    // Truncated anywhere, or followed by a byte.
    for end in 1..manifest.len() {
        let error = File::open(&file_of(&manifest[..end], data)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated | ErrorKind::CountTooLarge), "{end}: {error}");
    }
    refused(manifest.len(), manifest.len(), &[0], ErrorKind::TrailingBytes);
}

/// An unknown key is ignored, whatever its value is. A key with one different letter is unknown.
#[test]
fn unknown_keys_of_every_record() {
    let stored = [1, 2, 3];
    let digest = crate::support::ztensor2::xxh3(&stored);
    let base = serde_json::json!({
        "objects": { "t": {
            "shape": [3], "layout": "dense", "attributes": { "a": 1 },
            "parts": { "data": { "dtype": "u8", "type": "u8", "blob": [4096, 3], "digest": digest } },
        } },
        "shards": { "s": { "size": 8192, "digest": digest } },
        "attributes": {},
    });
    let open = |manifest: &Json| File::open(&file_of(&crate::support::ztensor2::cbor(manifest), &stored)).map(|_| ());
    assert_eq!(open(&base), Ok(()));
    type Keys<'a> = &'a [(&'a str, Option<Part>)];
    let records: [(&str, Keys<'_>); 4] = [
        ("", &[("objects", Some(Part::Tensors)), ("shards", None), ("attributes", None)]),
        (
            "/objects/t",
            &[
                ("shape", Some(Part::Shape)),
                ("layout", Some(Part::Layout)),
                ("parts", Some(Part::Components)),
                ("attributes", None),
            ],
        ),
        (
            "/objects/t/parts/data",
            &[
                ("dtype", Some(Part::DType)),
                ("blob", Some(Part::Offset)),
                ("digest", None),
                ("type", None),
                ("encoding", None),
                ("shard", None),
                ("decoded_length", None),
            ],
        ),
        ("/shards/s", &[("size", Some(Part::Length)), ("digest", Some(Part::Digest))]),
    ];
    for (record, keys) in records {
        for (key, item) in keys {
            for at in 0..=key.len() {
                let mut other = key.as_bytes().to_vec();
                match other.get_mut(at) {
                    Some(letter) => *letter ^= 0x20,
                    None => drop(other.pop()),
                }
                let other = String::from_utf8(other).unwrap();
                for value in [Json::from(7), Json::from("text"), Json::Null, serde_json::json!({ "k": [[], {}, 1] })]
                {
                    // Beside the right key, and instead of it.
                    let mut manifest = base.clone();
                    let entries = manifest.pointer_mut(record).unwrap().as_object_mut().unwrap();
                    entries.insert(other.clone(), value.clone());
                    assert_eq!(open(&manifest), Ok(()), "{record} {other}");
                    let entries = manifest.pointer_mut(record).unwrap().as_object_mut().unwrap();
                    entries.remove(*key);
                    let found = open(&manifest).map_err(|error| (error.kind(), error.part()));
                    let expected = item.map_or(Ok(()), |item| Err((ErrorKind::MissingKey, item)));
                    assert_eq!(found, expected, "{record} {other}");
                }
            }
        }
    }
}

/// The value of an unknown key and an attribute may be nested as deeply as any other value: 32 levels below the root.
#[test]
fn unknown_values_of_every_record_are_bounded() {
    let stored = [1, 2, 3];
    let digest = crate::support::ztensor2::xxh3(&stored);
    let records = [("", 0), ("/objects/t", 2), ("/objects/t/parts/data", 4), ("/shards/s", 2)];
    for (record, depth) in records.into_iter().chain([("/attributes", 1), ("/objects/t/attributes", 3)]) {
        for (levels, expected) in [(31 - depth, None), (32 - depth, Some(ErrorKind::TooDeep))] {
            let mut manifest = serde_json::json!({
                "objects": { "t": {
                    "shape": [3], "layout": "dense", "attributes": {},
                    "parts": { "data": { "dtype": "u8", "blob": [4096, 3] } },
                } },
                "shards": { "s": { "size": 8192, "digest": digest } },
                "attributes": {},
            });
            let nested = (0..levels).fold(Json::from(0), |value, _| Json::Array(vec![value]));
            manifest.pointer_mut(record).unwrap().as_object_mut().unwrap().insert("unknown".into(), nested);
            let bytes = file_of(&crate::support::ztensor2::cbor(&manifest), &stored);
            let found = open_both_ways(record, &bytes).err().map(|error| error.kind());
            assert_eq!(found, expected, "{levels} levels in {record}");
        }
    }
}

#[test]
fn extents_must_be_equal_or_disjoint() {
    let data = vec![0; 3 * 4096];
    for (places, expected) in [
        (&[(4096, 10), (4096, 10)][..], None),
        (&[(4096, 10), (4096, 11)], Some(ErrorKind::Overlap)),
        (&[(4096, 4097), (8192, 10)], Some(ErrorKind::Overlap)),
        (&[(8192, 10), (4096, 4097)], Some(ErrorKind::Overlap)),
        (&[(8192, 10), (4096, 4096), (8192, 10)], None),
        (&[(4096, 9000), (8192, 0)], None), // no bytes
        (&[(4096, 3 * 4096)], None),
        (&[(4096, 3 * 4096 + 1)], Some(ErrorKind::OverManifest)),
        (&[(16384, 1)], Some(ErrorKind::OverManifest)),
        (&[(16384, 0)], None),
    ] {
        let manifest = manifest(places.len() as u64, 0, |i| (places[i as usize].0, places[i as usize].1, None));
        let bytes = file_of(&manifest, &data);
        let found = open_both_ways(&format!("{places:?}"), &bytes).err();
        assert_eq!(found.map(|error| error.kind()), expected, "{places:?}");
    }
    // A blob that covers the manifest itself.
    for more in [0, 1] {
        let mut length = 100;
        let bytes = loop {
            let manifest = manifest(1, 0, |_| (4096, length, None));
            if manifest.len() as u64 + more == length {
                break file_of(&manifest, &[]);
            }
            length = manifest.len() as u64 + more;
        };
        let found = open_both_ways("the manifest", &bytes).err().map(|error| error.kind());
        assert_eq!(found, if more == 0 { None } else { Some(ErrorKind::OverFooter) });
    }
}

/// Extents are compared within each file, whatever is between them.
#[test]
fn extents_in_several_files_must_be_equal_or_disjoint() {
    let (own, first, second) = (None, Some(0), Some(1));
    for (places, expected) in [
        (&[(own, 10), (first, 11), (second, 12)][..], None),
        (&[(first, 10), (second, 11), (first, 10), (own, 12), (first, 10)], None),
        (&[(first, 10), (first, 11)], Some(ErrorKind::Overlap)),
        (&[(first, 10), (own, 10), (first, 11)], Some(ErrorKind::Overlap)),
        (&[(own, 10), (first, 10), (own, 11)], Some(ErrorKind::Overlap)),
        (&[(first, 10), (second, 10), (first, 11)], Some(ErrorKind::Overlap)),
        (&[(second, 10), (first, 10), (second, 11)], Some(ErrorKind::Overlap)),
        (&[(second, 10), (own, 10), (first, 10), (second, 11)], Some(ErrorKind::Overlap)),
    ] {
        let manifest = manifest(places.len() as u64, 2, |i| {
            let (shard, length) = places[i as usize];
            (4096, length, shard.map(|shard| format!("{shard:06}")))
        });
        let bytes = file_of(&manifest, &[0; 4096]);
        let found = open_both_ways(&format!("{places:?}"), &bytes).err();
        assert_eq!(found.map(|error| error.kind()), expected, "{places:?}");
    }
}

/// Opening compares up to 2048 extents, or 1024 on a chip. Comparing more needs memory of the caller.
#[test]
fn many_extents_out_of_order() {
    let most = if cfg!(not(small)) { 2048 } else { 1024 };
    for count in [2, 9, 33, 1000, 1024, 1025, 2048, 2049, 3000] {
        for overlap in [None, Some(0), Some(count / 2 - 1), Some(count - 2)] {
            let manifest = manifest(count, 0, |i| {
                // The extent that reaches into the next page overlaps a blob there.
                (4096 * (count - i), if overlap.is_some_and(|at| i == at + 1) { 4097 } else { 1 }, None)
            });
            let bytes = file_of(&manifest, &vec![0; 4096 * count as usize]);
            let opened = File::open(&bytes);
            // The error points to the extent that comes later in the file.
            let check_message = |error: Option<Error>| {
                assert_eq!(error.map(|error| error.kind()), overlap.map(|_| ErrorKind::Overlap), "{count}");
                if let (Some(error), Some(at)) = (error, overlap) {
                    let sentence = error.explain(&bytes[..]).to_string();
                    let part = format!("component \"data\" of tensor \"{:06}\"", at + 1);
                    assert!(sentence.contains(&part), "{count} {at}: {sentence}");
                }
            };
            if count <= most {
                check_message(opened.err());
                continue;
            }
            let file = opened.unwrap();
            assert!(file.warnings().contains(Warning::ExtentsUnchecked));
            assert_eq!(file.check_length(), Some(2 * count as usize));
            let checked = check_with_any_memory(&file);
            check_message(checked.err());
            assert!(checked.is_err() || checked.unwrap().is_empty());
        }
    }
}

#[test]
fn repeated_names() {
    let mut cbor = Cbor::default();
    cbor.map(1).text("objects").map(2);
    object(&mut cbor, "a", 4096, 1, None);
    let second = cbor.0.len() as u64;
    object(&mut cbor, "a", 8192, 1, None);
    let bytes = file_of(&cbor.0, &[0; 8192]);
    let error = File::open(&bytes).unwrap_err();
    let at = Some(3 * 4096 + second);
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::RepeatedName, Part::Name, at));
    assert!(error.explain(&bytes[..]).to_string().contains("\"a\""), "{}", error.explain(&bytes[..]));
}

/// The number of shards in [`manifest`], of 51 bytes each, that opening looks up.
const MOST_SHARDS: u64 = if cfg!(not(small)) { 1024 } else { 4096 / 51 };

/// Opening looks up shards if there are at most 1024, or, on a chip, if their table has at most 4096 bytes. `check`
/// looks up the rest.
#[test]
fn many_shards() {
    for shards in [1, 2, 31, 32, 33, 64, 65, 1000, 1024, 1025, 5000] {
        for (wrong, expected) in [
            (None, None),
            (Some(format!("{shards:06}")), Some(ErrorKind::UnknownShard)),
            (Some("00000".into()), Some(ErrorKind::UnknownShard)),
            (Some("0000000".into()), Some(ErrorKind::UnknownShard)),
        ] {
            let count = shards.min(40);
            let manifest = manifest(count, shards, |i| {
                let shard = if i + 1 == count { wrong.clone() } else { None };
                (4096 * (count - i), 1, Some(shard.unwrap_or_else(|| format!("{:06}", i * 7919 % shards))))
            });
            let bytes = file_of(&manifest, &[]);
            let opened = File::open(&bytes);
            let Ok(file) = &opened else {
                assert!(shards <= MOST_SHARDS, "{shards}");
                assert_eq!(opened.err().map(|error| error.kind()), expected, "{shards}");
                continue;
            };
            assert!(shards > MOST_SHARDS || expected.is_none(), "{shards}");
            assert_eq!(file.as_ztensor2().unwrap().shards().count() as u64, shards);
            assert_eq!(file.warnings().contains(Warning::ExtentsUnchecked), shards > MOST_SHARDS, "{shards}");
            let checked = check_with_any_memory(file);
            assert_eq!(checked.err().map(|error| error.kind()), expected, "{shards}");
        }
    }
    // On a chip, a few shards with many bytes are not looked up either.
    for others in [1, 200, 600] {
        let mut cbor = Cbor::default();
        cbor.map(2).text("shards").map(3);
        for name in ["a", "b", "c"] {
            cbor.text(name).map(3).text("x").array(16 * others).raw(&vec![0; 16 * others as usize]);
            cbor.text("size").uint(1 << 40).text("digest").text("xxh3:0011223344556677");
        }
        cbor.text("objects").map(3);
        for (i, shard) in ["c", "a", "b"].iter().enumerate() {
            object(&mut cbor, &format!("{i:06}"), 4096, 1, Some(shard));
        }
        let bytes = file_of(&cbor.0, &[]);
        let file = File::open(&bytes).unwrap();
        let is_left = cfg!(small) && others > 100;
        assert_eq!(file.warnings().contains(Warning::ExtentsUnchecked), is_left, "{others}");
        assert!(check_with_any_memory(&file).unwrap().is_empty());
    }
    // The length of a shard is the one that the table states.
    for (length, expected) in [((1 << 40) - 4096 - 40, None), ((1 << 40) - 4096 - 39, Some(ErrorKind::OutOfShard))] {
        let bytes = file_of(&manifest(1, 1, |_| (4096, length, Some("000000".into()))), &[]);
        assert_eq!(open_both_ways("a shard", &bytes).err().map(|error| error.kind()), expected);
    }
}

#[test]
fn components_in_shards() {
    let (bytes, shard) = (fixture("v2/shards.zt"), fixture("v2/shards-base.zt"));
    let file = File::open(&bytes).unwrap();
    let view = file.as_ztensor2().unwrap();
    let listed: Vec<_> = view.shards().map(|shard| (shard.name, shard.size)).collect();
    assert_eq!(listed, [("base", shard.len() as u64)]);
    assert!(view.check_shard("base", &shard).unwrap());
    assert_eq!(view.check_shard("other", &shard).unwrap_err().kind(), ErrorKind::NotFound);
    let kind = |bytes: &[u8]| view.check_shard("base", bytes).unwrap_err().kind();
    assert_eq!(kind(&shard[1..]), ErrorKind::WrongLength);
    let mut changed = shard.clone();
    changed[5000] ^= 1;
    assert_eq!(kind(&changed), ErrorKind::DigestMismatch);

    let mut in_shard = 0;
    for tensor in file.tensors() {
        let data = tensor.data().unwrap();
        let Some(name) = data.shard() else {
            assert!(data.verify(ReadOptions::new()).is_ok() && data.bytes().is_ok());
            assert_eq!(data.with_shard(&shard).unwrap_err().kind(), ErrorKind::NotInShard);
            continue;
        };
        assert_eq!(name, "base");
        assert_eq!(data.bytes().unwrap_err().kind(), ErrorKind::InShard);
        assert_eq!(data.verify(ReadOptions::new()).unwrap_err().kind(), ErrorKind::InShard);
        assert_eq!(tensor.read_into(&mut [0; 64], ReadOptions::new()).unwrap_err().kind(), ErrorKind::InShard);
        let bound = data.with_shard(&shard).unwrap();
        assert_eq!(bound.verify(ReadOptions::new()).unwrap(), tenslice::Verification::Verified);
        let extent = data.extent();
        let at = extent.offset as usize;
        let part = data.with_bytes(&shard[at..at + extent.length as usize]).unwrap();
        assert_eq!(part.bytes().unwrap(), bound.bytes().unwrap());
        in_shard += 1;
    }
    assert_eq!(in_shard, 2);
}

/// The digests of decoded bytes match in all good files.
#[test]
fn all_digests_match() {
    let mut verified = 0;
    for (name, bytes) in good() {
        let file = File::open(&bytes).unwrap();
        for component in file.tensors().flat_map(|tensor| tensor.components()) {
            if component.shard().is_some() || component.digest().is_none() {
                continue;
            }
            if !cfg!(feature = "zstd") && component.encoding_name() != "raw" {
                continue;
            }
            let length = component.requirements(Purpose::Verify).scratch.unwrap() as usize;
            let outcome = component.verify(ReadOptions::new().scratch(&mut vec![0; length]));
            assert_eq!(outcome.unwrap(), tenslice::Verification::Verified, "{name}");
            verified += 1;
        }
    }
    assert!(verified > 60, "{verified}");
}

/// Values of four bits are packed two to a byte, so they cannot be read one by one. Values of an unknown type may
/// have any size.
#[test]
fn rejects_sparse_values_of_packed_or_unknown_types() {
    let part = |role, dtype, stored: &[u8]| Stored { role, dtype, stored: stored.to_vec(), ..Stored::default() };
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    for (logical, count) in [("f4_e2m1", 1_u32), ("f4_e2m1", 2), ("f4_e2m1", 3), ("future", 1), ("future", 2)] {
        let stored = &[0x21, 0x43][..count.div_ceil(2) as usize];
        let values = Stored { logical: Some(logical), ..part("values", "u8", stored) };
        let columns: Vec<u32> = (0..count).collect();
        let csr = vec![
            part("indices", "u32", &numbers(&columns)),
            part("indptr", "u32", &numbers(&[0, count, count, count])),
            values.clone(),
        ];
        // The same number of coordinates as values, and as bytes.
        let coo = |count: usize| vec![part("coords", "u32", &vec![0; 2 * 4 * count]), values.clone()];
        let all = [
            ("zt.sparse_csr/1", csr),
            ("zt.sparse_coo/1", coo(count as usize)),
            ("zt.sparse_coo/1", coo(stored.len())),
        ];
        for (layout, parts) in all {
            // An odd number of elements: in a dense tensor half of the last byte would be unused and 0.
            let shape = vec![3, 3];
            let bytes = file(&[Object { name: "t", shape, layout, attributes: Json::Null, parts }], &[]);
            let file = File::open(&bytes).unwrap();
            let tensor = file.find("t").unwrap();
            let unsupported =
                |result: Result<(), Error>| assert_eq!(result.unwrap_err().kind(), ErrorKind::UnsupportedLayout);
            unsupported(tensor.sparse(ReadOptions::new()).map(drop));
            let mut dst = [0xee; 9];
            unsupported(tensor.read_into(&mut dst, ReadOptions::new()).map(drop));
            assert_eq!(dst, [0xee; 9]);
            #[cfg(feature = "dequantize")]
            assert!(tensor.read_f32_into(&mut [0.0; 9], ReadOptions::new().scratch(&mut [0; 64])).is_err());
            assert_eq!(tensor.requirements(Purpose::Read).output, None);
            // The stored bytes can be read and verified.
            assert_eq!(tensor.component("values").unwrap().bytes().unwrap(), stored);
            tensor.verify(ReadOptions::new()).unwrap();
        }
    }
}

/// A file of one tensor.
fn one(layout: &'static str, shape: &[u64], parts: Vec<Stored>) -> Vec<u8> {
    file(&[Object { name: "t", shape: shape.to_vec(), layout, attributes: Json::Null, parts }], &[])
}

/// Zero-filled components with these roles, dtypes and lengths.
fn parts(all: &[(&'static str, &'static str, usize)]) -> Vec<Stored> {
    let part = |&(role, dtype, length)| Stored { role, dtype, stored: vec![0; length], ..Stored::default() };
    all.iter().map(part).collect()
}

/// An unknown digest algorithm is a warning, not a reason to reject the file.
#[test]
fn unknown_digests_are_warnings() {
    for (digest, is_known) in [("crc32:00ff", false), ("sha25:00", false), ("sha256:00", true), ("xxh3:00", true)] {
        let data = Stored { digest: Some(digest.into()), ..parts(&[("data", "u8", 1)]).remove(0) };
        let bytes = one("dense", &[1], vec![data]);
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("t").unwrap();
        assert_eq!(file.warnings().contains(Warning::UnknownDigest), !is_known, "{digest}");
        assert_eq!(tensor.warnings().contains(Warning::UnknownDigest), !is_known, "{digest}");
        assert_eq!(file.verify(ReadOptions::new()).is_err(), is_known, "{digest}"); // this digest does not match a byte of 0 either
    }
}

/// The type is checked even for bytes that are not compared with a digest.
#[test]
fn checks_booleans_without_a_known_digest() {
    for digest in [None, Some("blake3:00".into())] {
        for (last, is_valid) in [(1, true), (2, false)] {
            let part = parts(&[("data", "u8", 4)]).remove(0);
            let data = Stored { logical: Some("bool"), stored: vec![0, 1, 0, last], digest: digest.clone(), ..part };
            let bytes = one("dense", &[4], vec![data]);
            let verified = File::open(&bytes).unwrap().find("t").unwrap().verify(ReadOptions::new());
            let expected = if is_valid { None } else { Some(ErrorKind::InvalidElement) };
            assert_eq!(verified.err().map(|error| error.kind()), expected, "{digest:?}");
        }
    }
}

/// If there are no elements, indices are not checked, even if a component is encoded.
#[test]
fn an_empty_sparse_tensor_with_an_encoded_component() {
    let mut all = parts(&[("values", "f32", 3), ("indices", "u64", 0), ("indptr", "u64", 24)]);
    all[0].decoded_length = Some(0);
    let mut bytes = one("zt.sparse_csr/1", &[2, 3], all);
    // An unknown encoding.
    let name = b"zt.zstd-seekable/1";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at] = b'x';
    repair(&mut bytes);
    let file = File::open(&bytes).unwrap();
    assert!(file.verify(ReadOptions::new()).is_ok(), "{:?}", file.verify(ReadOptions::new()));
}

/// Continuation bytes alone, as the whole name.
#[test]
fn rejects_names_that_are_not_utf_8() {
    for length in [1, 7, 8, 9, 16] {
        let name: &str = "t".repeat(length).leak();
        let data = parts(&[("data", "u8", 1)]);
        let object = Object { name, shape: vec![1], layout: "dense", attributes: Json::Null, parts: data };
        let mut bytes = file(&[object], &[]);
        let at = place_of(&[&[0x60 | length as u8], name.as_bytes(), b"\xa3\x65parts"].concat(), &bytes);
        bytes[at as usize + 1..][..length].fill(0x80);
        repair(&mut bytes);
        let error = File::open(&bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (ErrorKind::InvalidUtf8, Part::Name, Some(at)), "{length}");
    }
}

/// Every shard has a name, and every component in a shard states a name.
#[test]
fn rejects_empty_names_of_shards() {
    let shard = |name| (name, 1 << 12, "xxh3:00".to_owned());
    let data = Stored { shard: Some(""), ..parts(&[("data", "u8", 1)]).remove(0) };
    let object = Object { name: "t", shape: vec![1], layout: "dense", attributes: Json::Null, parts: vec![data] };
    for bytes in [file(&[], &[shard("")]), file(&[object], &[shard("a")])] {
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::NameLength, Part::Shard));
    }
}

/// In the table, and in a component that states a shard.
#[test]
fn names_of_shards_have_at_most_64_bytes() {
    for (length, expected) in [(64, Ok(())), (65, Err((ErrorKind::NameLength, Part::Shard)))] {
        let name: &str = "n".repeat(length).leak();
        let data = Stored { shard: Some(name), ..parts(&[("data", "u8", 1)]).remove(0) };
        let object = Object { name: "t", shape: vec![1], layout: "dense", attributes: Json::Null, parts: vec![data] };
        let shard = [(name, 1 << 13, "xxh3:00".to_owned())];
        for bytes in [file(&[], &shard), file(&[object], &shard)] {
            let found = open_both_ways(name, &bytes).map_err(|error| (error.kind(), error.part()));
            assert_eq!(found, expected, "{length}");
        }
    }
}

#[test]
fn characters_in_names_of_shards() {
    for (name, is_good) in [
        ("a", true),
        ("aZ09._-.", true),
        ("-", true),
        (".a", false),
        ("a/b", false),
        ("a\\b", false),
        ("a b", false),
        ("a\0", false),
        ("a\u{e4}", false),
        ("/", false),
        ("a:", false),
    ] {
        let data = Stored { shard: Some(name), ..parts(&[("data", "u8", 1)]).remove(0) };
        let object = Object { name: "t", shape: vec![1], layout: "dense", attributes: Json::Null, parts: vec![data] };
        let shard = [(name, 1 << 13, "xxh3:00".to_owned())];
        for bytes in [file(&[], &shard), file(&[object], &shard)] {
            let found = open_both_ways(name, &bytes).map_err(|error| (error.kind(), error.part()));
            assert_eq!(found, if is_good { Ok(()) } else { Err((ErrorKind::InvalidName, Part::Shard)) }, "{name:?}");
        }
    }
}

/// From the start of the data: up to the last byte before the footer, into the footer, and past the end of the file.
#[test]
fn rejects_extents_past_the_data() {
    let with = |length| file_of(&manifest(1, 0, |_| (4096, length, None)), b"data");
    let end = with(4097).len() as u64 - 4096;
    for (length, kind) in [
        (end - 40, ErrorKind::OverManifest),
        (end - 39, ErrorKind::OverFooter),
        (end, ErrorKind::OverFooter),
        (end + 1, ErrorKind::OutOfFile),
    ] {
        let bytes = with(length);
        let error = File::open(&bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (kind, Part::Offset, Some(place_of(b"\x64blob", &bytes) + 5)), "{length} of {end}");
    }
}

/// The smallest file has the magic and a footer: a shard without data.
#[test]
fn file_with_only_a_footer() {
    let bytes = [b"\x89ZT2\r\n\x1a\n", &[0; 24][..], &[2, 0, 0, 0, 0, 0, 0, 0], b"\x89ZT2\r\n\x1a\n"].concat();
    assert_eq!(File::open(&bytes).unwrap().tensor_count(), 0);
    let error = File::open(&bytes[..47]).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::Truncated, Part::Footer, Some(47)));
}

/// If the layout is unknown, a tensor of one component has the dtype of that component. Other tensors have none.
#[test]
fn dtype_of_a_tensor_with_an_unknown_layout() {
    for (all, dtype) in
        [(&[("a", "u16", 6)][..], Some(tenslice::DType::U16)), (&[("a", "u16", 6), ("b", "u8", 1)], None)]
    {
        let bytes = one("of somebody", &[3], parts(all));
        assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().dtype(), dtype, "{all:?}");
    }
}

/// The rules of each layout for its components: kind and part of the error, the role or shape that its
/// offset points to, and the message.
#[test]
fn components_of_each_layout() {
    use ErrorKind::*;
    const DENSE: &str = "dense";
    const CSR: &str = "zt.sparse_csr/1";
    const COO: &str = "zt.sparse_coo/1";
    let lacks = |role: &str| format!("tensor \"t\": the layout lacks a component that it requires: \"{role}\"");
    let too_many = |role: &str| format!("tensor \"t\": the layout does not allow this component: \"{role}\"");
    let of = |role: &str, message: &str| format!("component \"{role}\" of tensor \"t\": {message}");
    let sizes = "the length does not match the shape and the dtype";
    let index = "dtype: indices must be u32 or u64, all of the same type";
    let count = "length: the index component has a wrong number of elements for the layout";
    let partial = "the length is not a multiple of the element size";
    let overflow = "tensor \"t\": the product of the shape, in bytes, exceeds 64 bits";
    let rank = "tensor \"t\": shape: the layout does not allow this rank";
    let (values, indices, indptr) = (("values", "u16", 6), ("indices", "u32", 12), ("indptr", "u32", 12));
    let (coords, other) = (("coords", "u32", 24), ("other", "u8", 1));
    let good: [(&str, &[u64], &[_]); 9] = [
        (DENSE, &[2, 3], &[("data", "u16", 12)]),
        (DENSE, &[2, 0], &[("data", "u16", 0)]),
        (CSR, &[2, 3], &[values, indices, indptr]),
        (CSR, &[0, 3], &[("values", "u16", 0), ("indices", "u64", 0), ("indptr", "u64", 8)]),
        (COO, &[2, 3], &[values, coords]),
        (COO, &[2, 3], &[values, coords, other]),
        (COO, &[2, 3, 4], &[values, ("coords", "u32", 36)]),
        (COO, &[2, 3], &[values, ("coords", "u64", 48)]),
        ("of somebody", &[2, 3], &[other]),
    ];
    for (layout, shape, all) in good {
        let bytes = one(layout, shape, parts(all));
        open_both_ways(layout, &bytes).unwrap_or_else(|error| panic!("{layout} {all:?}: {error}"));
    }
    type Bad<'a, P> = (&'static str, &'a [u64], &'a [P], ErrorKind, Part, &'static str, String);
    let bad: [Bad<'_, _>; 32] = [
        (DENSE, &[1], &[other], MissingComponent, Part::Components, "", lacks("data")),
        (DENSE, &[1], &[other, ("more", "u8", 1)], MissingComponent, Part::Components, "", lacks("data")),
        (DENSE, &[1], &[("data", "u8", 1), other], UnexpectedComponent, Part::Components, "", too_many("other")),
        (DENSE, &[1], &[("data", "u8", 1), values], UnexpectedComponent, Part::Components, "", too_many("values")),
        (
            DENSE,
            &[2, 3],
            &[("data", "u16", 6)],
            SizeMismatch,
            Part::Length,
            "data",
            of("data", &format!("{sizes}: length 6, shape [2, 3], dtype u16, which takes 12")),
        ),
        (
            DENSE,
            &[1 << 63],
            &[("data", "u16", 0)],
            ShapeOverflow,
            Part::Shape,
            "shape",
            format!("{overflow}: shape [9223372036854775808]"),
        ),
        (CSR, &[2, 3], &[indices, indptr], MissingComponent, Part::Components, "", lacks("values")),
        (CSR, &[2, 3], &[values, indptr], MissingComponent, Part::Components, "", lacks("indices")),
        (CSR, &[2, 3], &[values, indices], MissingComponent, Part::Components, "", lacks("indptr")),
        (CSR, &[2, 3], &[indices, indptr, other], MissingComponent, Part::Components, "", lacks("values")),
        (CSR, &[2, 3], &[values, indptr, other], MissingComponent, Part::Components, "", lacks("indices")),
        (CSR, &[2, 3], &[values, indices, other], MissingComponent, Part::Components, "", lacks("indptr")),
        (
            CSR,
            &[2, 3],
            &[values, indices, indptr, other],
            UnexpectedComponent,
            Part::Components,
            "",
            too_many("other"),
        ),
        (
            CSR,
            &[2, 3],
            &[values, indices, indptr, coords],
            UnexpectedComponent,
            Part::Components,
            "",
            too_many("coords"),
        ),
        (CSR, &[6], &[values, indices, indptr], RankMismatch, Part::Shape, "shape", rank.into()),
        (CSR, &[2, 3, 1], &[values, indices, indptr], RankMismatch, Part::Shape, "shape", rank.into()),
        (CSR, &[], &[values, indices, indptr], RankMismatch, Part::Shape, "shape", rank.into()),
        (
            CSR,
            &[2, 3],
            &[values, ("indices", "i32", 12), indptr],
            IndexType,
            Part::DType,
            "indices",
            of("indices", index),
        ),
        (
            CSR,
            &[2, 3],
            &[values, ("indices", "u16", 6), indptr],
            IndexType,
            Part::DType,
            "indices",
            of("indices", index),
        ),
        (
            CSR,
            &[2, 3],
            &[values, indices, ("indptr", "u64", 24)],
            IndexType,
            Part::DType,
            "indptr",
            of("indptr", index),
        ),
        (
            CSR,
            &[2, 3],
            &[values, indices, ("indptr", "i32", 12)],
            IndexType,
            Part::DType,
            "indptr",
            of("indptr", index),
        ),
        (
            CSR,
            &[2, 3],
            &[values, ("indices", "u32", 13), indptr],
            PartialElement,
            Part::Length,
            "indices",
            of("indices", &format!("{partial}: length 13, shape [2, 3], dtype u32")),
        ),
        (
            CSR,
            &[2, 3],
            &[values, indices, ("indptr", "u32", 8)],
            CountMismatch,
            Part::Length,
            "indptr",
            of("indptr", &format!("{count}: length 8, shape [2, 3], dtype u32")),
        ),
        (
            CSR,
            &[3, 2],
            &[values, indices, indptr],
            CountMismatch,
            Part::Length,
            "indptr",
            of("indptr", &format!("{count}: length 12, shape [3, 2], dtype u32")),
        ),
        (
            CSR,
            &[2, 3],
            &[("values", "u16", 8), indices, indptr],
            SizeMismatch,
            Part::Length,
            "values",
            of("values", &format!("{sizes}: length 8, shape [2, 3], dtype u16")),
        ),
        (
            CSR,
            &[u64::MAX, 1],
            &[values, indices, indptr],
            ShapeOverflow,
            Part::Shape,
            "shape",
            format!("{overflow}: shape [18446744073709551615, 1]"),
        ),
        (
            CSR,
            &[(1 << 62) - 1, 1],
            &[values, indices, indptr],
            ShapeOverflow,
            Part::Shape,
            "shape",
            format!("{overflow}: shape [4611686018427387903, 1]"),
        ),
        (COO, &[2, 3], &[coords, other], MissingComponent, Part::Components, "", lacks("values")),
        (COO, &[2, 3], &[values, other], MissingComponent, Part::Components, "", lacks("coords")),
        (COO, &[2, 3], &[values, ("coords", "i32", 24)], IndexType, Part::DType, "coords", of("coords", index)),
        (
            COO,
            &[2, 3],
            &[("values", "u16", 7), coords],
            PartialElement,
            Part::Length,
            "values",
            of("values", &format!("{partial}: length 7, shape [2, 3], dtype u16")),
        ),
        (
            COO,
            &[2, 3],
            &[values, ("coords", "u32", 12)],
            CountMismatch,
            Part::Length,
            "coords",
            of("coords", &format!("{count}: length 12, shape [2, 3], dtype u32")),
        ),
    ];
    for (layout, shape, all, kind, item, at, message) in bad {
        let context = format!("{layout} {shape:?} {all:?}");
        let bytes = one(layout, shape, parts(all));
        let error = open_both_ways(&context, &bytes).expect_err(&context);
        let start = error.offset().unwrap();
        assert_eq!(
            error.explain(&bytes[..]).to_string(),
            format!("ztensor 2: {message} [at byte {start}]"),
            "{context}"
        );
        assert_eq!((error.kind(), error.part()), (kind, item), "{context}");
        // A component's error points to its role, a shape's to the shape, and a count's to the components.
        let mut expected = Cbor::default();
        match at {
            "" => expected.map(all.len() as u64),
            "shape" => expected.array(shape.len() as u64),
            role => expected.text(role),
        };
        assert!(bytes[start as usize..].starts_with(&expected.0), "{context}: {start}");
    }
}

/// Section 2.3: without a manifest, all three numbers are 0.
#[test]
fn numbers_are_0_without_a_manifest() {
    let good = crate::support::ztensor2::shard(&[7; 9]);
    let footer = good.len() - 40;
    assert!(open_both_ways("a shard", &good).is_ok());
    for (at, number) in [(footer, 4096_u64), (footer, 1), (footer + 8, 1), (footer + 16, 1)] {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let error = open_both_ways("a shard", &bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.offset());
        if at == footer + 8 {
            // One byte at offset 0.
            assert_eq!(found, (ErrorKind::MisalignedOffset, Part::Footer, Some(footer as u64)));
        } else {
            assert_eq!(found, (ErrorKind::ManifestSize, Part::Footer, Some(footer as u64)), "{at}");
        }
    }
}

/// A file with this manifest, and two pages of data.
fn with_manifest(manifest: &Json) -> Vec<u8> {
    file_of(&crate::support::ztensor2::cbor(manifest), &[0; 8192])
}

/// A manifest with a tensor of one byte. These keys are added to its component.
fn with_keys(keys: Json) -> Vec<u8> {
    let mut manifest = serde_json::json!({ "objects": { "t": {
        "shape": [1], "layout": "dense", "parts": { "data": { "dtype": "u8", "blob": [4096, 1] } },
    } } });
    let part = manifest.pointer_mut("/objects/t/parts/data").unwrap().as_object_mut().unwrap();
    let Json::Object(keys) = keys else { panic!("{keys}") };
    part.extend(keys);
    with_manifest(&manifest)
}

/// The position of the only occurrence of these bytes from the manifest on.
fn place_of(needle: &[u8], bytes: &[u8]) -> u64 {
    let start = manifest_of(bytes).start;
    let all: Vec<_> =
        (start..bytes.len()).filter(|at| bytes[*at..].starts_with(needle)).map(|at| at as u64).collect();
    assert_eq!(all.len(), 1, "{needle:x?}");
    all[0]
}

/// Section 3.4: an encoding and a decoded length require each other.
#[test]
fn encoding_requires_a_decoded_length() {
    for (keys, missing) in [
        (serde_json::json!({ "encoding": "zt.zstd-seekable/1" }), Part::DecodedLength),
        (serde_json::json!({ "encoding": "raw" }), Part::DecodedLength),
        (serde_json::json!({ "decoded_length": 1 }), Part::Encoding),
    ] {
        let bytes = with_keys(keys);
        let error = open_both_ways("one of them", &bytes).unwrap_err();
        let record = place_of(b"\xa1\x64data", &bytes) + 6;
        assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::MissingKey, missing, Some(record)));
    }
}

#[test]
fn encodings_by_their_names() {
    use tenslice::Encoding;
    for (name, encoding) in [
        ("zt.zstd-seekable/1", Encoding::ZstdSeekable),
        ("zt.zstd-seekable/2", Encoding::Other),
        ("zstd", Encoding::Other),
        ("raw", Encoding::Other),
        ("", Encoding::Other),
    ] {
        let bytes = with_keys(serde_json::json!({ "encoding": name, "decoded_length": 1 }));
        let file = File::open(&bytes).unwrap();
        let data = file.find("t").unwrap().data().unwrap();
        assert_eq!((data.encoding(), data.encoding_name()), (encoding, name));
    }
}

#[test]
fn layouts_by_their_names() {
    use tenslice::Layout;
    for (name, layout) in [
        ("gguf.q4_0/1", Layout::Blocks),
        ("gguf.q4_0/2", Layout::Other),
        ("gguf/1", Layout::Other),
        ("zt.quant_group/1", Layout::QuantizedGroup),
        ("zt.mx/1", Layout::Microscaling),
        ("zt.mx/2", Layout::Other),
    ] {
        let bytes = one(name, &[1], parts(&[("p", "u8", 1)]));
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("t").unwrap();
        assert_eq!((tensor.layout(), tensor.layout_name().to_string()), (layout, name.to_owned()));
    }
}

/// Appendix A: the storage type of each logical type.
#[test]
fn storage_types_of_logical_types() {
    for (logical, stored_in, length) in [
        ("bool", "u8", 1),
        ("f8_e4m3fn", "u8", 1),
        ("f4_e2m1", "u8", 1),
        ("complex64", "f32", 8),
        ("complex128", "f64", 16),
        ("of somebody", "any", 1),
    ] {
        for dtype in ["u8", "i8", "f32", "f64"] {
            let mut data = parts(&[("data", dtype, length)]).remove(0);
            data.logical = Some(logical);
            let bytes = one("dense", &[1], vec![data]);
            let at = place_of(&Cbor::default().text("type").text(logical).0, &bytes) + 5;
            let found = open_both_ways(logical, &bytes).map_err(|error| (error.kind(), error.part(), error.offset()));
            let expected = match stored_in == dtype || stored_in == "any" {
                true => Ok(()),
                false => Err((ErrorKind::TypeMismatch, Part::LogicalType, Some(at))),
            };
            assert_eq!(found, expected, "{logical} in {dtype}");
        }
    }
}

#[test]
fn rejects_nul_in_names() {
    for name in ["\0", "a\0", "\0a", "a\0b", "eight by\0tes", "\u{e4}\0"] {
        let data = parts(&[("data", "u8", 1)]);
        let object = |name, attributes, parts| Object { name, shape: vec![1], layout: "dense", attributes, parts };
        let key = serde_json::json!({ name: 1 });
        let role = Stored { role: name, ..data[0].clone() };
        for (object, item) in [
            (object(name, Json::Null, data.clone()), Part::Name),
            (object("t", key, data.clone()), Part::Key),
            (object("t", Json::Null, vec![role]), Part::Role),
        ] {
            let bytes = file(&[object], &[]);
            let error = open_both_ways(name, &bytes).unwrap_err();
            let at = place_of(&Cbor::default().text(name).0, &bytes);
            let found = (error.kind(), error.part(), error.offset());
            assert_eq!(found, (ErrorKind::InvalidName, item, Some(at)), "{name:?}");
            assert!(error.explain(&bytes[..]).to_string().contains("it must not contain a NUL"));
        }
    }
}

/// Each tensor is found by its own name, whatever precedes it, and by no other.
#[test]
fn finds_tensors_only_by_their_names() {
    let plain = manifest(3, 0, |i| (4096 * (i + 1), i + 1, None));
    let data = [7; 3 * 4096];
    let file = file_of(&plain, &data);
    let file = File::open(&file).unwrap();
    for i in 0..3 {
        let name = format!("{i:06}");
        let tensor = file.find(&name).unwrap();
        assert_eq!((tensor.index(), tensor.name().to_string()), (i, name));
        assert_eq!(tensor.data().unwrap().extent().offset, 4096 * (i + 1));
    }
    let mut words = [0; 9];
    let index = file.index(&mut words).unwrap();
    for tensor in file.tensors() {
        let found = index.find(&tensor.name().to_string()).unwrap();
        assert_eq!(describe_tensor(&found), describe_tensor(&tensor));
    }
    for name in ["", "00000", "00000/", "000000 ", "000003", "zzzzzz", "0000000"] {
        assert_eq!(file.find(name).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
    }
}

/// Names of tensors with and without attributes, of attributes, and of components.
#[test]
fn names_have_at_most_1024_bytes() {
    for (length, is_good) in [(1024, true), (1025, false)] {
        let long: &str = "n".repeat(length).leak();
        let object = |name, layout, attributes, role| {
            let part = Stored { role, ..parts(&[("", "u8", 1)]).remove(0) };
            Object { name, shape: vec![1], layout, attributes, parts: vec![part] }
        };
        let key = serde_json::json!({ long: 1 });
        for (object, item) in [
            (object(long, "dense", Json::Null, "data"), Part::Name),
            (object(long, "dense", serde_json::json!({}), "data"), Part::Name),
            (object("t", "dense", key, "data"), Part::Key),
            (object("t", "of somebody", Json::Null, long), Part::Role),
        ] {
            let found =
                open_both_ways("a long name", &file(&[object], &[])).map_err(|error| (error.kind(), error.part()));
            assert_eq!(found, if is_good { Ok(()) } else { Err((ErrorKind::NameLength, item)) }, "{length}");
        }
    }
}

/// A backslash is an ordinary character.
#[test]
fn names_have_no_escapes() {
    for attributes in [Json::Null, serde_json::json!({ "k": 1 })] {
        let object = |name| {
            let parts = parts(&[("data", "u8", 1)]);
            Object { name, shape: vec![1], layout: "dense", attributes: attributes.clone(), parts }
        };
        let names = ["c", "a\\u0062", "a\\n"];
        let bytes = file(&names.map(object), &[]);
        let file = File::open(&bytes).unwrap();
        let mut words = [0; 9];
        let index = file.index(&mut words).unwrap();
        for name in names {
            assert_eq!(index.find(name).unwrap().index(), file.find(name).unwrap().index());
            assert_eq!(index.find(name).unwrap().name().to_string(), name);
        }
        for name in ["ab", "a\n", "\\u0063"] {
            assert_eq!(index.find(name).unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
}

/// The description of a tensor.
fn describe_tensor(tensor: &Tensor<'_>) -> (u64, String, Vec<u64>, usize, Option<tenslice::Extent>) {
    let (shape, extent): (Vec<_>, _) =
        (tensor.shape().iter().collect(), tensor.data().ok().map(|data| data.extent()));
    assert_eq!(tensor.shape().rank() as usize, shape.len());
    (tensor.index(), tensor.layout_name().to_string(), shape, tensor.attributes().count(), extent)
}

/// An index may mix tensors of the usual kind with other tensors.
#[test]
fn an_index_of_tensors_of_every_kind() {
    let object = |name, layout, attributes| {
        let parts = parts(&[("data", "u16", 12)]);
        Object { name, shape: vec![2, 3], layout, attributes, parts }
    };
    let bytes = file(
        &[
            object("a", "dense", Json::Null),
            object("b", "dense", serde_json::json!({ "k": 1, "l": 2 })),
            object("c", "of somebody", Json::Null),
        ],
        &[],
    );
    let file = File::open(&bytes).unwrap();
    let mut words = [0; 9];
    assert_eq!(file.version(), Some("2"));
    let index = file.index(&mut words).unwrap();
    let described = |name| describe_tensor(&index.find(name).unwrap());
    let extent = |page: u64| Some(tenslice::Extent::new(4096 * page, 12));
    assert_eq!(described("a"), (0, "dense".to_owned(), vec![2, 3], 0, extent(1)));
    assert_eq!(described("b"), (1, "dense".to_owned(), vec![2, 3], 2, extent(2)));
    assert_eq!(described("c"), (2, "of somebody".to_owned(), vec![2, 3], 0, None));
}

/// Memory is needed only if opening has skipped a check: here, whether a shard is listed.
#[test]
fn checking_many_shards_needs_memory() {
    for (shards, expected) in [(MOST_SHARDS, Ok(())), (MOST_SHARDS + 1, Err(ErrorKind::OutOfScratch))] {
        let bytes = file_of(&manifest(1, shards, |_| (4096, 1, Some("000000".into()))), &[]);
        let file = File::open(&bytes).unwrap();
        let checked = file.check(&mut []).map(|warnings| assert!(warnings.is_empty()));
        assert_eq!(checked.map_err(|error| error.kind()), expected, "{shards}");
        assert!(check_with_any_memory(&file).unwrap().is_empty());
        if cfg!(not(small)) {
            assert_eq!(file.check_length(), Some(if expected.is_ok() { 0 } else { 2 * shards as usize }));
        }
    }
}

/// Any number of ordered extents needs no memory. Unordered extents are remembered in the file itself, but not in
/// shards.
#[test]
fn many_extents_in_order() {
    let shard = || Some("000000".to_owned());
    let with = |count, place: &dyn Fn(u64) -> (u64, u64, Option<String>)| {
        let bytes = file_of(&manifest(count, 1, place), &[0; 8192]);
        let file = File::open(&bytes).unwrap();
        assert!(check_with_any_memory(&file).unwrap().is_empty());
        file.warnings().contains(Warning::ExtentsUnchecked)
    };
    assert!(!with(1100, &|i| (4096 * (i + 1), 1, shard())));
    assert!(!with(1100, &|_| (4096, 1, shard())));
    assert!(!with(1100, &|i| if i == 0 { (4096, 11, None) } else { (4096 * i, 10, shard()) }));
    assert!(!with(1100, &|i| (4096 * (2000 - i), 0, shard())));
    assert!(!with(1024, &|i| (4096 * (2000 - i), 1, shard())));
    assert!(with(1025, &|i| (4096 * (2000 - i), 1, shard())));
    if cfg!(not(small)) {
        assert!(!with(1025, &|i| (4096 * (2 - i % 2), 1, None)));
        assert!(!with(2048, &|i| (4096 * (2 - i % 2), 1, None)));
    }
    // The last but one overlaps the last.
    let kind = |error: Error| Err(error.kind());
    let overlapping = |shard: Option<String>| {
        let place = |i| (4096 * (2 - i % 2), if i == 1099 { 4097 } else { 1 }, shard.clone());
        file_of(&manifest(1100, 1, place), &[0; 8192])
    };
    let bytes = overlapping(shard());
    let opened = File::open(&bytes).unwrap();
    assert_eq!(check_with_any_memory(&opened).map(drop).or_else(kind), Err(ErrorKind::Overlap));
    if cfg!(not(small)) {
        assert_eq!(File::open(&overlapping(None)).map(drop).or_else(kind), Err(ErrorKind::Overlap));
    }
}

/// Unordered extents in a shard. Empty extents have no position, and unknown keys are ignored.
#[test]
fn extents_in_a_shard_in_any_order() {
    let tensor = |offset: u64, length: u64| {
        serde_json::json!({
            "shape": [length], "layout": "dense",
            "parts": { "data": { "dtype": "u8", "blob": [offset, length], "shard": "s" } },
        })
    };
    let base = serde_json::json!({
        "objects": { "a": tensor(16384, 1), "b": tensor(4096, 9000), "c": tensor(8192, 0) },
        "shards": { "s": { "size": 1 << 20, "digest": "xxh3:0011223344556677" } },
    });
    assert_eq!(open_both_ways("empty", &with_manifest(&base)), Ok(()));
    for (key, levels) in [("/objects/b", 29), ("/objects/b/parts/data", 27)] {
        let mut manifest = base.clone();
        let deep = (0..levels).fold(Json::from(0), |value, _| Json::Array(vec![value]));
        manifest.pointer_mut(key).unwrap().as_object_mut().unwrap().insert("unknown".into(), deep);
        assert_eq!(open_both_ways(key, &with_manifest(&manifest)), Ok(()));
    }
    let mut manifest = base;
    manifest["objects"]["c"] = tensor(8192, 1);
    let found = open_both_ways("overlap", &with_manifest(&manifest)).map_err(|error| error.kind());
    assert_eq!(found, Err(ErrorKind::Overlap));
}

/// Names of shards are ordered by length first. Only the table lists shards, whatever else looks like one.
#[test]
fn shards_are_only_in_the_table() {
    let names = ["a", "zz", "objects", "objectz", "model-00001-of-00002.zt", "model-00002-of-00002.zt"];
    let digest = "xxh3:0011223344556677";
    let entry = serde_json::json!({ "size": 8192, "digest": digest });
    let with = |shard: &str| {
        let shards: serde_json::Map<_, _> = names.iter().map(|name| (name.to_string(), entry.clone())).collect();
        let part = serde_json::json!({ "dtype": "u8", "blob": [4096, 1], "shard": shard });
        let bytes = with_manifest(&serde_json::json!({
            "objects": { "t": { "shape": [1], "layout": "dense", "parts": { "data": part } } },
            "shards": shards, "attributes": entry, "looks like one": entry,
        }));
        open_both_ways(shard, &bytes).map_err(|error| (error.kind(), error.part()))
    };
    names.iter().for_each(|name| assert_eq!(with(name), Ok(()), "{name}"));
    // Without a table there are no shards.
    let part = serde_json::json!({ "dtype": "u8", "blob": [4096, 1], "shard": "attributes" });
    let bytes = with_manifest(&serde_json::json!({
        "objects": { "t": { "shape": [1], "layout": "dense", "parts": { "data": part } } }, "attributes": entry,
    }));
    assert_eq!(open_both_ways("no table", &bytes).unwrap_err().kind(), ErrorKind::UnknownShard);
    let bytes = with_manifest(&serde_json::json!({ "objects": {}, "attributes": entry }));
    let file = File::open(&bytes).unwrap();
    let (view, mut listed) = (file.as_ztensor2().unwrap(), file.as_ztensor2().unwrap().shards());
    assert_eq!(view.check_shard("attributes", &[0; 8192]).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!((listed.next(), listed.error()), (None, None));
    for other in ["b", "z", "object", "objectt", "attributes", "model-00003-of-00002.zt", "digest", "size"] {
        assert_eq!(with(other), Err((ErrorKind::UnknownShard, Part::Shard)), "{other}");
    }
}

/// More shards than opening remembers. With memory, the shards of the table are found, and nothing after the table is
/// one.
#[test]
fn many_shards_are_only_in_the_table() {
    let entry = serde_json::json!({ "size": 8192, "digest": "xxh3:0011223344556677" });
    let shards: serde_json::Map<_, _> = (0..1030).map(|i| (format!("{i:04}"), entry.clone())).collect();
    let with = |shard: &str| {
        let part = serde_json::json!({ "dtype": "u8", "blob": [4096, 1], "shard": shard });
        with_manifest(&serde_json::json!({
            "objects": { "t": { "shape": [1], "layout": "dense", "parts": { "data": part } } },
            "shards": shards, "attributes": entry,
        }))
    };
    for (shard, is_one) in [("0000", true), ("0517", true), ("1029", true), ("1030", false), ("attributes", false)] {
        let bytes = with(shard);
        let checked = check_with_any_memory(&File::open(&bytes).unwrap()).map(drop);
        let expected = if is_one { Ok(()) } else { Err((ErrorKind::UnknownShard, Part::Shard)) };
        assert_eq!(checked.map_err(|error| (error.kind(), error.part())), expected, "{shard}");
    }
}

#[test]
fn errors_name_their_tensor() {
    let part = serde_json::json!({ "dtype": "u8", "blob": [4096, 1] });
    let bytes = with_manifest(&serde_json::json!({
        "objects": { "a name": { "shape": [1], "layout": "dense", "parts": { "data": part } } },
    }));
    let error = File::open(&bytes).unwrap().find("a name").unwrap().strides(&mut []).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::TooSmall, Part::Tensor));
    let message = error.explain(&bytes[..]).to_string();
    assert!(message.contains("tensor \"a name\""), "{message}");
}

/// Errors of the manifest as a whole and of an entry, after different parts have been read.
#[test]
fn errors_after_other_parts_were_read() {
    let base = serde_json::json!({ "objects": { "t": {
        "shape": [1], "layout": "dense", "parts": { "data": { "dtype": "u8", "blob": [4096, 1] } },
    } } });
    let with = |key: &str, value: Json| {
        let mut manifest = base.clone();
        manifest[key] = value;
        crate::support::ztensor2::cbor(&manifest)
    };
    for manifest in [
        crate::support::ztensor2::cbor(&base),
        with("attributes", serde_json::json!({})),
        with("attributes", serde_json::json!({ "k": 1 })),
        with("a key that nobody knows", serde_json::json!({ "k": 1 })),
    ] {
        let bytes = file_of(&[&manifest[..], b"\0"].concat(), &[0]);
        let error = open_both_ways("a byte more", &bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.entry());
        assert_eq!(found, (ErrorKind::TrailingBytes, Part::Manifest, None));
        assert_eq!(error.offset(), Some(8192 + manifest.len() as u64));
    }
    // The attributes of the file belong to no tensor.
    let mut manifest = base.clone();
    manifest["attributes"] = Json::from(7);
    for attributes in [Json::Null, serde_json::json!({})] {
        if attributes.is_object() {
            manifest["objects"]["t"]["attributes"] = attributes;
        }
        let bytes = with_manifest(&manifest);
        let error = open_both_ways("no attributes", &bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.entry(), error.offset());
        let at = place_of(b"attributes\x07", &bytes) + 10;
        assert_eq!(found, (ErrorKind::UnexpectedType, Part::Attributes, None, Some(at)));
    }
    let empty = serde_json::json!({ "shape": [1], "layout": "of somebody", "parts": {} });
    let bytes = with_manifest(&serde_json::json!({ "objects": { "t": empty } }));
    let error = open_both_ways("no component", &bytes).unwrap_err();
    let found = (error.kind(), error.part(), error.offset());
    let at = place_of(b"\x65parts", &bytes) + 6;
    assert_eq!(found, (ErrorKind::MissingComponent, Part::Components, Some(at)));
    let bytes = with_manifest(&serde_json::json!({ "objects": { "t": 7 } }));
    let error = open_both_ways("no entry", &bytes).unwrap_err();
    let found = (error.kind(), error.part(), error.entry(), error.offset());
    let at = place_of(b"\x61t", &bytes);
    let of_a_number = serde_json::json!({ "shape": [1], "layout": "dense", "parts": { "data": 7 } });
    let bytes = with_manifest(&serde_json::json!({ "objects": { "t": of_a_number } }));
    let component = open_both_ways("no component", &bytes).unwrap_err();
    let place = place_of(b"\x64data", &bytes) + 5;
    let found_there = (component.kind(), component.part(), component.offset());
    assert_eq!(found_there, (ErrorKind::UnexpectedType, Part::Component, Some(place)));
    assert_eq!(found, (ErrorKind::UnexpectedType, Part::Tensor, Some(at), Some(at + 2)));
}

/// Invalid encoding is reported before any other error, wherever it is.
#[test]
fn encoding_errors_come_first() {
    let manifest = crate::support::ztensor2::cbor(&serde_json::json!({ "objects": { "t": 7 } }));
    let bytes = file_of(&[&manifest[..], b"\0"].concat(), &[0]);
    let error = open_both_ways("a byte more", &bytes).unwrap_err();
    let found = (error.kind(), error.part(), error.offset());
    assert_eq!(found, (ErrorKind::TrailingBytes, Part::Manifest, Some(8192 + manifest.len() as u64)));
}

/// For an odd number of elements of four bits, half of the last byte is unused and must be 0.
#[test]
fn unused_half_of_the_last_byte() {
    for (count, last, is_good) in
        [(1, 0x10, false), (1, 0x01, true), (2, 0x10, true), (3, 0x10, false), (4, 0x10, true), (5, 0x0f, true)]
    {
        let mut stored = vec![0xff; (count as usize).div_ceil(2)];
        *stored.last_mut().unwrap() = last;
        let data = Stored { logical: Some("f4_e2m1"), stored, ..parts(&[("data", "u8", 0)]).remove(0) };
        let bytes = one("dense", &[count], vec![data]);
        let verified = File::open(&bytes).unwrap().verify(ReadOptions::new()).map(drop).map_err(|error| error.kind());
        assert_eq!(verified, if is_good { Ok(()) } else { Err(ErrorKind::InvalidElement) }, "{count} {last:x}");
    }
}

#[test]
fn rejects_the_hash_of_another_manifest() {
    let mut bytes = one("dense", &[1], parts(&[("data", "u8", 1)]));
    let at = bytes.len() - 24;
    bytes[at] ^= 1;
    let error = open_both_ways("a hash", &bytes).unwrap_err();
    let start = manifest_of(&bytes).start as u64;
    let found = (error.kind(), error.part(), error.offset());
    assert_eq!(found, (ErrorKind::ManifestHash, Part::Manifest, Some(start)));
}

#[test]
fn rejects_other_versions() {
    let mut bytes = one("dense", &[1], parts(&[("data", "u8", 1)]));
    let at = bytes.len() - 16;
    for version in [0, 1, 3, 0x102, u32::MAX] {
        bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
        let error = open_both_ways("a version", &bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (ErrorKind::UnsupportedVersion, Part::Version, Some(at as u64)));
    }
}

/// The error of a component has the offset of its tensor's entry, and its message names the tensor.
#[test]
fn errors_of_components_name_the_tensor() {
    let good = crate::support::ztensor2::xxh3(&[0]);
    let part = |role, digest: &str| Stored { role, digest: Some(digest.into()), ..parts(&[("", "u8", 1)]).remove(0) };
    let wrong = "xxh3:0011223344556677";
    let object = |name, parts| Object { name, shape: vec![1], layout: "own", attributes: Json::Null, parts };
    let bytes = file(
        &[
            object("a", vec![part("p", &good), part("q", &good)]),
            object("b", vec![part("p", &good), part("q", wrong)]),
        ],
        &[],
    );
    let opened = File::open(&bytes).unwrap();
    let error = opened.verify(ReadOptions::new()).unwrap_err();
    assert_eq!((error.kind(), error.entry()), (ErrorKind::DigestMismatch, Some(place_of(b"\x61b", &bytes))));
    let message = error.explain(&bytes[..]).to_string();
    let expected = "ztensor 2: component \"q\" of tensor \"b\": digest: the decoded bytes do not match the digest";
    assert!(message.starts_with(expected), "{message}");
}

/// Checks the message for a file, except for the offset.
#[track_caller]
fn says(bytes: &[u8], expected: &str) {
    let error = open_both_ways(expected, bytes).unwrap_err();
    let at = error.offset().unwrap();
    assert_eq!(error.explain(bytes).to_string(), format!("ztensor 2: {expected} [at byte {at}]"));
}

#[test]
fn messages_about_components() {
    let of_data = |message: &str| format!("component \"data\" of tensor \"t\": {message}");
    let blob = "offset: a blob must be a list of two numbers: an offset and a length";
    says(&with_keys(serde_json::json!({ "blob": [4096, 1, 1] })), &of_data(blob));
    let digest = "digest: it must be a kind, a colon, and as many hexadecimal digits in lower case as that kind has";
    for misspelled in
        ["xxh3:00AA", "xxh3:", "md5:", ":00", "00", "xxh3:00ag", "md5:0-", "md5:G0", "MD5:00", "xxh3:xxh3:"]
    {
        says(&with_keys(serde_json::json!({ "digest": misspelled })), &of_data(digest));
    }
    let wrong_type = "the value is of the wrong CBOR type: 7";
    says(&with_keys(serde_json::json!({ "digest": 7 })), &of_data(&format!("digest: {wrong_type}")));
    says(
        &with_keys(serde_json::json!({ "blob": [4097, 1] })),
        &of_data("offset 4097 + length 1: the offset is not a multiple of the alignment"),
    );
    says(
        &with_keys(serde_json::json!({ "shard": "elsewhere" })),
        &of_data("a component is in a shard that the file does not list: \"elsewhere\""),
    );
    says(
        &with_keys(serde_json::json!({ "dtype": "u9", "shard": "elsewhere" })),
        &of_data("the dtype is not defined in this format version: \"u9\""),
    );
    let bytes = with_keys(serde_json::json!({ "encoding": "of somebody", "decoded_length": 1 }));
    let error = File::open(&bytes).unwrap().find("t").unwrap().data().unwrap().bytes().unwrap_err();
    let message = error.explain(&bytes[..]).to_string();
    let no_decoder =
        of_data("encoding: there is no decoder for the encoding: \"of somebody\" (pass a decoder that knows it)");
    assert_eq!(message, format!("ztensor 2: {no_decoder} [at byte {}]", error.offset().unwrap()));
    // A component of another role, with all keys that a component may have.
    let deep = (0..27).fold(Json::from(0), |value, _| Json::Array(vec![value]));
    let other = serde_json::json!({ "dtype": "u8", "blob": [4096, 1], "unknown": deep });
    let object = serde_json::json!({ "shape": [1], "layout": "dense", "parts": { "other": other } });
    let lacking = "tensor \"t\": the layout lacks a component that it requires: \"data\"";
    says(&with_manifest(&serde_json::json!({ "objects": { "t": object } })), lacking);
    let dot = "shard: it may have letters, digits, `.`, `_` and `-` only, and no dot at its start: \".hidden\"";
    says(&with_keys(serde_json::json!({ "shard": ".hidden" })), &of_data(dot));
    let no_blob = serde_json::json!({ "dtype": "u8" });
    let object = serde_json::json!({ "shape": [1], "layout": "dense", "parts": { "data": no_blob } });
    says(
        &with_manifest(&serde_json::json!({ "objects": { "t": object } })),
        &of_data("a required key is missing: \"blob\""),
    );
    let small = serde_json::json!({ "objects": {}, "shards": { "s": { "size": 47, "digest": "xxh3:00" } } });
    says(&with_manifest(&small), "a shard is smaller than any file of the format: 47");
}

/// The message has the wrong name, and the logical type of a component if it has one.
#[test]
fn messages_about_names_and_types() {
    let data = parts(&[("data", "f32", 8)]);
    let object = |name, parts| Object { name, shape: vec![2], layout: "dense", attributes: Json::Null, parts };
    says(&file(&[object("a\0", data.clone())], &[]), "name: it must not contain a NUL: \"a\\u{0}\"");
    let complex = Stored { logical: Some("complex64"), ..data[0].clone() };
    let sizes = "the length does not match the shape and the dtype: length 8, shape [2], dtype complex64";
    says(
        &file(&[object("t", vec![complex])], &[]),
        &format!("component \"data\" of tensor \"t\": {sizes}, which takes 16"),
    );
    let decoded =
        "the length does not match the shape and the dtype: length 1, decoded length 5, shape [1], dtype u8";
    says(
        &with_keys(serde_json::json!({ "encoding": "zt.zstd-seekable/1", "decoded_length": 5 })),
        &format!("component \"data\" of tensor \"t\": {decoded}, which takes 1"),
    );
    // A value of the largest depth precedes what the message needs.
    let deep = (0..27).fold(Json::from(0), |value, _| Json::Array(vec![value]));
    let too_short = "the length does not match the shape and the dtype: length 7, shape [1], dtype u8, which takes 1";
    says(
        &with_keys(serde_json::json!({ "u": deep, "blob": [4096, 7] })),
        &format!("component \"data\" of tensor \"t\": {too_short}"),
    );
}

/// The component that contains an encoding error. An error after all components is in none.
#[test]
fn messages_about_unreadable_components() {
    // Two components and what follows them, in a tensor whose layout allows both.
    let with = |first: &[u8], second: &[u8], after: &[u8]| {
        let mut cbor = Cbor::default();
        cbor.map(1).text("objects").map(1).text("t").map(3).text("parts").map(2);
        cbor.raw(first).raw(second).raw(after);
        file_of(&cbor.0, &[0; 4096])
    };
    let (first, second) = (b"\x61a\xa2\x64blob\x82\x19\x10\x00\x01\x65dtype\x62u8", b"\x61b\xa2\x64blob");
    let second = [&second[..], &first[8..]].concat();
    let after = b"\x65shape\x81\x01\x66layout\x63own";
    open_both_ways("good", &with(first, &second, after)).unwrap();

    let not_shortest = b"\x61a\xa2\x64blob\x82\x19\x10\x00\x18\x01\x65dtype\x62u8";
    says(
        &with(not_shortest, &second, after),
        "component \"a\" of tensor \"t\": offset: a value is not encoded in the fewest bytes",
    );
    let reserved = b"\x61a\xa2\x64blob\x82\x19\x10\x00\x1c\x65dtype\x62u8";
    says(&with(reserved, &second, after), "component \"a\" of tensor \"t\": offset: this is not well-formed CBOR");
    let twice = b"\x61a\xa2\x64blob\x82\x19\x10\x00\x01\x64blob\x82\x19\x10\x00\x01";
    says(&with(twice, &second, after), "component \"a\" of tensor \"t\": a key appears twice: \"blob\"");
    says(
        &with(first, &second, b"\x65parts\x81\x01\x66layout\x63own"),
        "tensor \"t\": a key appears twice: \"parts\"",
    );
}

/// An error of the footer, and an error of a tensor that only a call can detect.
#[test]
fn messages_about_offsets_and_shapes() {
    let mut bytes = one("dense", &[1], parts(&[("data", "u8", 1)]));
    let (footer, place) = (bytes.len() - 40, manifest_of(&bytes));
    bytes[footer..][..8].copy_from_slice(&(place.start as u64 + 1).to_le_bytes());
    bytes[footer + 8..][..8].copy_from_slice(&9_u64.to_le_bytes());
    says(&bytes, "offset 8193 + length 9: the offset is not a multiple of the alignment");

    let bytes = one("dense", &[0, 1 << 63, 4], parts(&[("data", "u8", 0)]));
    let file = File::open(&bytes).unwrap();
    let error = file.find("t").unwrap().strides(&mut [0; 3]).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::ShapeOverflow, Part::Tensor));
    let message = error.explain(&bytes[..]).to_string();
    assert!(message.contains("in bytes, exceeds 64 bits: shape [0, 9223372036854775808, 4]"), "{message}");
}
