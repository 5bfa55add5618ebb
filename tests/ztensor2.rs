//! zTensor 2: the rules of the reference implementation's own conformance suite, damaged files, shards.
#![cfg(all(feature = "ztensor2", feature = "digest"))]

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use support::{Random, describe, fixture, open_in_parts};
use tenslice::{BuiltIn, Error, ErrorKind, File, Item, Source, Tensor};

/// What the suite asks of a reader, and what ours says: the file, the rule, the kind of our error and its item.
const REFUSED: &[(&str, &str, ErrorKind, Item)] = &[
    ("attribute-key-empty", "Name", ErrorKind::NameLength, Item::Key),
    ("attribute-key-not-text", "Schema", ErrorKind::UnexpectedType, Item::Key),
    ("attribute-key-nul", "Name", ErrorKind::InvalidName, Item::Key),
    ("attributes-not-a-map", "Schema", ErrorKind::UnexpectedType, Item::Attributes),
    ("blob-array-with-three-elements", "Schema", ErrorKind::UnexpectedType, Item::Offset),
    ("blob-misaligned", "BlobAlignment", ErrorKind::MisalignedOffset, Item::Offset),
    ("blob-offset-zero", "BlobAlignment", ErrorKind::MisalignedOffset, Item::Offset),
    ("blob-out-of-bounds", "BlobBounds", ErrorKind::OutOfFile, Item::Offset),
    ("blob-partial-overlap", "BlobOverlap", ErrorKind::Overlap, Item::Offset),
    ("bool-invalid-byte", "LayoutData", ErrorKind::InvalidElement, Item::Component),
    ("cbor-depth", "CborDepth", ErrorKind::TooDeep, Item::Manifest),
    ("cbor-duplicate-key", "CborDuplicateKey", ErrorKind::RepeatedKey, Item::Manifest),
    ("cbor-indefinite", "CborSyntax", ErrorKind::IndefiniteLength, Item::Manifest),
    ("cbor-non-shortest", "CborDeterminism", ErrorKind::NotShortest, Item::Manifest),
    ("cbor-tag", "CborSyntax", ErrorKind::Tagged, Item::Manifest),
    ("cbor-trailing-bytes", "CborSyntax", ErrorKind::TrailingBytes, Item::Manifest),
    ("cbor-unsorted-keys", "CborDeterminism", ErrorKind::KeyOrder, Item::Manifest),
    ("csr-index-out-of-cols", "LayoutData", ErrorKind::IndexOutOfRange, Item::Tensor),
    ("csr-indptr-count", "LayoutRule", ErrorKind::CountMismatch, Item::Length),
    ("csr-indptr-not-zero-based", "LayoutData", ErrorKind::InvalidRowPointers, Item::Tensor),
    ("csr-missing-part", "LayoutRule", ErrorKind::MissingComponent, Item::Components),
    ("csr-row-not-increasing", "LayoutData", ErrorKind::IndexOrder, Item::Tensor),
    ("csr-signed-indices", "LayoutRule", ErrorKind::IndexType, Item::DType),
    ("csr-values-size", "LayoutRule", ErrorKind::SizeMismatch, Item::Length),
    ("data-shard-nonzero-offset", "ManifestBounds", ErrorKind::ManifestSize, Item::Footer),
    ("dense-extra-part", "LayoutRule", ErrorKind::UnexpectedComponent, Item::Components),
    ("dense-f4-size-mismatch", "DenseSize", ErrorKind::SizeMismatch, Item::Length),
    ("dense-size-mismatch", "DenseSize", ErrorKind::SizeMismatch, Item::Length),
    ("f4-nonzero-odd-nibble", "LayoutData", ErrorKind::InvalidElement, Item::Component),
    // Too short to have the magic.
    ("file-too-small", "FileTooSmall", ErrorKind::UnknownFormat, Item::File),
    ("footer-magic", "FooterMagic", ErrorKind::MissingMagic, Item::Footer),
    ("header-magic", "HeaderMagic", ErrorKind::UnknownFormat, Item::File),
    ("manifest-hash-mismatch", "ManifestHash", ErrorKind::ManifestHash, Item::Manifest),
    ("manifest-misaligned", "BlobAlignment", ErrorKind::MisalignedOffset, Item::Footer),
    ("manifest-out-of-bounds", "ManifestBounds", ErrorKind::ManifestSize, Item::Footer),
    ("manifest-too-large", "ManifestTooLarge", ErrorKind::ManifestTooLarge, Item::Footer),
    ("name-empty", "Name", ErrorKind::NameLength, Item::Name),
    ("name-nul", "Name", ErrorKind::InvalidName, Item::Name),
    ("name-too-long", "Name", ErrorKind::NameLength, Item::Name),
    ("object-attributes-not-a-map", "Schema", ErrorKind::UnexpectedType, Item::Attributes),
    ("schema-blob-arity", "Schema", ErrorKind::UnexpectedType, Item::Offset),
    ("schema-digest-uppercase-hex", "Schema", ErrorKind::InvalidDigest, Item::Digest),
    ("schema-encoding-without-decoded-length", "Schema", ErrorKind::MissingKey, Item::DecodedLength),
    ("schema-ltype-dtype-mismatch", "Schema", ErrorKind::TypeMismatch, Item::LogicalType),
    ("schema-missing-objects", "Schema", ErrorKind::MissingKey, Item::Tensors),
    ("schema-unknown-dtype", "Schema", ErrorKind::UnknownDType, Item::DType),
    ("shape-product-overflow", "Shape", ErrorKind::ShapeOverflow, Item::Shape),
    ("shape-rank-65", "Shape", ErrorKind::TooMany, Item::Shape),
    ("shard-blob-partial-overlap", "BlobOverlap", ErrorKind::Overlap, Item::Offset),
    ("shard-name-empty", "ShardName", ErrorKind::NameLength, Item::Shard),
    ("shard-name-leading-dot", "ShardName", ErrorKind::InvalidName, Item::Shard),
    ("shard-name-separator", "ShardName", ErrorKind::InvalidName, Item::Shard),
    ("shard-name-traversal", "ShardName", ErrorKind::InvalidName, Item::Shard),
    ("shard-ref-not-in-table", "ShardRef", ErrorKind::UnknownShard, Item::Shard),
    ("shard-table-key-not-text", "Schema", ErrorKind::UnexpectedType, Item::Shard),
    ("verify-digest-mismatch", "Digest", ErrorKind::DigestMismatch, Item::Digest),
    ("version-unsupported", "Version", ErrorKind::UnsupportedVersion, Item::Version),
];

/// Those that it must accept, and the operation that may then fail.
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

/// The suite, which lies beside the checkout where it is there at all: it is not ours to pass on.
fn suite() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let corpus = std::env::var_os("TENSLICE_CORPUS").map_or(beside, PathBuf::from);
    let suite = corpus.join("ztensor-v2-conformance");
    if suite.join("manifest.json").exists() {
        return Some(suite);
    }
    assert!(std::env::var_os("TENSLICE_NO_SKIP").is_none(), "no suite at {}", suite.display());
    None
}

/// Does what the case says, on the tensor that it names.
fn operate(operation: &str, file: &File<'_>, case: &Json) -> Result<(), Error> {
    let tensor = || file.find(case["target"][0].as_str().unwrap());
    match operation {
        "open" => Ok(()),
        "assemble csr" => tensor()?.sparse(&mut []).map(drop),
        "verify digest / content" => tensor()?.verify().map(drop),
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
            // What only an operation may find does not keep the file from being opened.
            let error = match (operation, opened) {
                ("open", opened) => opened.expect_err(name),
                (operation, opened) => operate(operation, &opened.expect(name), case).expect_err(name),
            };
            assert_eq!((error.kind(), error.item()), (*kind, *item), "{name}: {error}");
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

/// Compares a tensor with what the suite says of it.
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
            Some(sha256) => assert_eq!(support::sha256(component.stored().unwrap()), sha256, "{context}"),
            None => assert_eq!(component.stored().unwrap_err().kind(), ErrorKind::InShard, "{context}"),
        }
    }
}
