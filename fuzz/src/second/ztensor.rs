//! Compares the crate `ztensor` 1.2.3, the last one that reads zTensor 0.1, 1.1 and 1.2, with ours.
//!
//! The crate trusts the manifest: it checks neither offsets nor sizes, allocates the stated size of a component, and
//! decodes Zstandard without a bound. So its component readers are called only if ours has read the component.
//!
//! If only one of them accepts a file, the version and the rule that ours names explain the difference: [`LAXER`] has
//! the reasons.

use std::collections::BTreeMap;
use std::io::Cursor;

use ciborium::Value as Cbor;
use tenslice::ztensor::Generation;
use tenslice::{Attributes, ErrorKind, File, Value, ReadOptions};
use ztensor1::{Checksum, Compression, DType, Encoding, Error, Format, Object, Reader, Writer};

use super::{compare_made, guarded, open_and_check};
use crate::choices::Choices;

/// Rules that ours enforces and the crate does not check.
const LAXER: &[(ErrorKind, &str)] = &[
    (ErrorKind::OutOfFile, "section 6 of the text of 1.0: a place lies inside the file; the crate reads until it fails"),
    (ErrorKind::OverHeader, "a component is behind the header"),
    (ErrorKind::OverManifest, "a component is before the manifest"),
    (ErrorKind::ShapeOverflow, "the size of a tensor fits into 64 bits; the crate multiplies when it reads"),
    (ErrorKind::SizeMismatch, "the length of a dense tensor is that of its shape"),
    (ErrorKind::PartialElement, "a component is a whole number of elements"),
    (ErrorKind::MissingKey, "a key is a text; the crate takes byte strings of the same letters and texts with tags, too"),
    (ErrorKind::MissingComponent, "a layout has the components that it needs"),
    (ErrorKind::RankMismatch, "rows are those of a matrix"),
    (ErrorKind::IndexType, "indices are integers"),
    (ErrorKind::CountMismatch, "as many indices as values"),
    (ErrorKind::TypeMismatch, "a logical type is stored in a dtype of its size"),
    (ErrorKind::TrailingBytes, "the manifest is one item of CBOR; the crate stops reading after it"),
    (ErrorKind::RepeatedKey, "a key appears once; the crate keeps the last of unknown ones"),
    (ErrorKind::RepeatedName, "a name appears once; the crate keeps the last"),
    (ErrorKind::InvalidVersion, "a version is two or three numbers; the crate takes any text"),
    (ErrorKind::UnsupportedVersion, "another major version is another format; the crate takes any text"),
    (ErrorKind::InvalidDigest, "a digest has as many digits as its kind; the crate looks when it reads"),
    (ErrorKind::InvalidByteOrder, "a byte order is little or big; the crate does not read it"),
    (ErrorKind::UnexpectedType, "a key that both know has a value of its type, also where the crate does not read it"),
    (ErrorKind::Malformed, "values are well-formed CBOR: the crate takes chunks inside of chunks"),
    (ErrorKind::TooDeep, "a limit of ours, beyond what any writer nests"),
    (ErrorKind::ChunkedText, "a name is a text in one piece, so that it can be borrowed"),
    (ErrorKind::UnknownDType, "of 0.1: the crate leaves out what is not dense"),
];

/// The optional keys of a record. Ours must be plain texts. The crate also accepts byte strings with the same letters
/// and tagged texts, and so lists values that ours does not.
const OPTIONAL: &[&str] = &["attributes", "type", "uncompressed_length", "encoding", "digest"];

/// Uses any bytes as a file; as the manifest of a file, after 64 bytes of header and 64 of data; and as choices from
/// which the crate makes a file.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"ZTEN") {
        return compare(bytes);
    }
    compare_made(bytes, made, compare);
    let Some((version, manifest)) = bytes.split_first() else { return };
    let is_first = version % 2 == 0;
    let mut file = if is_first { b"ZTEN0001".to_vec() } else { b"ZTEN1000".to_vec() };
    file.resize(64, 0);
    file.extend(0..64);
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    if !is_first {
        file.extend(b"ZTEN1000");
    }
    compare(&file);
}

/// A valid file, written by the crate.
fn made(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut file).expect("in memory");
    let dtypes = [(DType::F32, 4), (DType::U8, 1), (DType::I64, 8), (DType::BF16, 2), (DType::Bool, 1), (DType::U64, 8)];
    if choices.one_in(3) {
        let values = [
            Cbor::Null,
            Cbor::from(choices.any::<i64>()),
            Cbor::from(choices.any::<f64>()),
            Cbor::from("text"),
            Cbor::Bytes(choices.bytes(5)),
            Cbor::Array(vec![Cbor::from(true), Cbor::Map(vec![(Cbor::from(1), Cbor::from(2.5))])]),
        ];
        writer.set_attributes((0..choices.below(4)).map(|i| (format!("k{i}"), choices.of(&values))).collect());
    }
    for i in 0..choices.below(4) {
        let (dtype, size) = choices.of(&dtypes);
        let shape: Vec<u64> = (0..choices.below(4)).map(|_| choices.below(4) as u64).collect();
        let length = shape.iter().product::<u64>() * size;
        let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
        let compression = choices.of(&[Compression::Raw, Compression::Zstd(1)]);
        let checksum = choices.of(&[Checksum::None, Checksum::Crc32c, Checksum::Sha256]);
        let name = format!("t{i}");
        let added = match choices.below(4) {
            0 => writer.add_csr_bytes(&name, vec![2, 4], dtype, &data[..0], &[], &[0, 0, 0], compression, checksum),
            1 => {
                let parts = [("packed_weight", dtype, None, &data[..]), ("scales", DType::U8, Some("f8_e4m3fn"), &data)];
                writer.add_object(&name, shape, Format::Other("own".into()), &parts, None, compression, checksum)
            }
            _ => writer.add_bytes(&name, shape, dtype, compression, &data, checksum),
        };
        added.expect("another name");
    }
    writer.finish().expect("in memory");
    file.into_inner()
}

fn compare(bytes: &[u8]) {
    let ours = open_and_check(bytes);
    if ours.as_ref().is_ok_and(|file| file.as_ztensor().is_none()) {
        return;
    }
    let theirs = guarded(|| Reader::open_any(Cursor::new(bytes)));
    match (ours, theirs) {
        (Ok(_), Some(Ok(_))) if has_other_keys(bytes) => {}
        (Ok(ours), Some(Ok(theirs))) => same(&ours, &theirs),
        (Ok(ours), Some(Err(error))) => assert!(is_stricter(&ours, &error), "refused by the crate alone: {error}"),
        (Ok(_), None) => panic!("refused by the crate alone, by a panic"),
        (Err(error), Some(Ok(_))) => {
            let is_known = LAXER.iter().any(|(kind, _)| *kind == error.kind());
            assert!(is_known, "refused by ours alone: {error:?} {}", error.explain(bytes));
        }
        (Err(_), _) => {}
    }
}

/// True if one of [`OPTIONAL`] may be a byte string, or have a tag.
fn has_other_keys(bytes: &[u8]) -> bool {
    let is_other = |before: &[u8], length: u8| match before {
        [.., head] if *head == 0x40 | length => true,
        [.., 0xc0..=0xd7, head] => *head == 0x60 | length,
        _ => false,
    };
    OPTIONAL.iter().any(|key| {
        let mut places = bytes.windows(key.len()).enumerate().filter(|(_, part)| *part == key.as_bytes());
        places.any(|(at, _)| is_other(&bytes[..at], key.len() as u8))
    })
}

/// True if the crate rejects what the specifications allow.
fn is_stricter(ours: &File<'_>, error: &Error) -> bool {
    // No later release reads the layout of the 1.0 specification, which ends without the magic.
    ours.as_ztensor().is_some_and(|file| file.generation() == Generation::V1_0)
        // Its Rust types accept only the encodings, dtypes and keys of its release.
        || matches!(error, Error::CborDeserialize(_) | Error::UnsupportedDType(_))
}

fn same(ours: &File<'_>, theirs: &Reader<Cursor<&[u8]>>) {
    let generation = ours.as_ztensor().expect("a zTensor file").generation();
    let is_first = generation == Generation::V0_1;
    let manifest = &theirs.manifest;
    if !is_first {
        assert_eq!(ours.version(), Some(&manifest.version[..]));
        assert_eq!(ours.tensor_count(), manifest.objects.len() as u64);
        same_map(ours.attributes(), manifest.attributes.as_ref());
    }
    let mut listed = BTreeMap::new();
    for tensor in ours.tensors() {
        // In 0.1 a name may be repeated: the crate keeps the last tensor. It skips tensors that are not dense.
        if !is_first || tensor.layout_name() == "dense" {
            listed.insert(tensor.name().to_string(), tensor);
        }
    }
    assert!(listed.keys().eq(manifest.objects.keys()));
    for (tensor, (name, object)) in listed.values().zip(&manifest.objects) {
        assert!(tensor.shape() == object.shape[..] && tensor.layout_name() == object.format.as_str(), "{name}");
        if !is_first {
            same_map(tensor.attributes(), object.attributes.as_ref());
        }
        same_components(tensor, object, theirs, is_first);
    }
}

fn same_components(tensor: &tenslice::Tensor<'_>, object: &Object, theirs: &Reader<Cursor<&[u8]>>, is_first: bool) {
    let name = tensor.name();
    assert_eq!(tensor.components().count(), object.components.len(), "{name}");
    for part in tensor.components() {
        let other = &object.components[part.role()];
        assert_eq!(part.storage_dtype().map(|dtype| dtype.name()), Some(other.dtype.as_str()), "{name}");
        assert_eq!((part.extent().offset, part.extent().length), (other.offset, other.length), "{name}");
        if is_first && !["raw", "zstd"].contains(&part.encoding_name()) {
            continue; // which the crate reads as raw in 0.1
        }
        let encoding = if other.encoding == Encoding::Zstd { "zstd" } else { "raw" };
        assert_eq!((part.encoding_name(), part.digest()), (encoding, other.digest.as_deref()), "{name}");
        if let Some(length) = other.uncompressed_length.filter(|_| encoding == "zstd") {
            assert_eq!(part.decoded_length(), Some(length), "{name}");
        }
        // The crate rejects other offsets, and returns the big-endian numbers of 0.1 unchanged.
        let length = part.decoded_length().unwrap_or(1 << 16).min(1 << 16) as usize;
        let mut room = vec![0; length];
        let Ok(decoded) = part.read_into(&mut room, ReadOptions::new()) else { continue };
        if part.byte_order() == tenslice::ByteOrder::Big {
            assert!(is_first);
            continue;
        }
        match theirs.read_component(other) {
            Ok(read) => assert!(read == *decoded, "{name}"),
            Err(Error::InvalidAlignment { .. }) => assert!(other.offset % 64 != 0, "{name}"),
            // The crate verifies while reading. Ours has a separate call.
            Err(Error::ChecksumMismatch { .. } | Error::ChecksumFormatError(_)) => {
                assert!(part.verify(ReadOptions::new()).is_err(), "{name}");
            }
            // Ours assumes that reserved bits of a block are zero (RFC 8878, 3.1.1.3.2.1). libzstd checks them.
            Err(Error::ZstdDecompression(_)) => {}
            Err(error) => panic!("{name}: read by ours alone: {error}"),
        }
    }
}

/// Compares attributes. If a key is repeated, the last one counts.
fn same_map(ours: Attributes<'_>, theirs: Option<&BTreeMap<String, ciborium::Value>>) {
    let mut listed = BTreeMap::new();
    let mut items = ours;
    for attribute in items.by_ref() {
        listed.insert(attribute.key.expect("a map").as_text().map(|text| text.to_string()), attribute.value);
    }
    assert_eq!(items.error(), None);
    assert_eq!(listed.len(), theirs.map_or(0, BTreeMap::len));
    for ((key, value), (other, theirs)) in listed.iter().zip(theirs.into_iter().flatten()) {
        assert_eq!(key.as_ref(), Some(other));
        assert_eq!(describe(value), describe_theirs(theirs), "{other}");
    }
}

/// A value as text. Chunks of texts and byte strings are joined, since the crate does not distinguish them.
fn describe(value: &Value<'_>) -> String {
    let list = |items: Attributes<'_>| items.map(|item| describe(&item.value)).collect::<Vec<_>>().join(", ");
    match *value {
        Value::Null | Value::Undefined => "null".into(), // the crate does not distinguish them
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => float(number),
        Value::Text(text) => format!("{:?}", text.to_string()),
        Value::TextChunks(items) => {
            format!("{:?}", items.filter_map(|item| item.value.as_text().map(|text| text.to_string())).collect::<String>())
        }
        Value::Bytes(bytes) => format!("{bytes:02x?}"),
        Value::ByteChunks(items) => {
            format!("{:02x?}", items.filter_map(|item| item.value.as_bytes()).collect::<Vec<_>>().concat())
        }
        Value::Array(items) => format!("[{}]", list(items)),
        Value::Map(items) => {
            let pair = |item: tenslice::Attribute<'_>| {
                format!("{}: {}", describe(&item.key.expect("a map")), describe(&item.value))
            };
            format!("{{{}}}", items.map(pair).collect::<Vec<_>>().join(", "))
        }
        Value::Tagged(tag, items) => format!("{tag}({})", list(items)),
        ref other => format!("{other:?}"),
    }
}

fn describe_theirs(value: &ciborium::Value) -> String {
    use ciborium::Value as Theirs;
    let list = |items: &[Theirs]| items.iter().map(describe_theirs).collect::<Vec<_>>().join(", ");
    match value {
        Theirs::Null => "null".into(),
        Theirs::Bool(truth) => truth.to_string(),
        Theirs::Integer(number) => i128::from(*number).to_string(),
        Theirs::Float(number) => float(*number),
        Theirs::Text(text) => format!("{text:?}"),
        Theirs::Bytes(bytes) => format!("{bytes:02x?}"),
        Theirs::Array(items) => format!("[{}]", list(items)),
        Theirs::Map(items) => {
            let pair = |(key, value): &(Theirs, Theirs)| format!("{}: {}", describe_theirs(key), describe_theirs(value));
            format!("{{{}}}", items.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Theirs::Tag(tag, inner) => format!("{tag}({})", describe_theirs(inner)),
        other => format!("{other:?}"),
    }
}

fn float(number: f64) -> String {
    if number.is_nan() { "nan".into() } else { format!("float {:x}", number.to_bits()) }
}
