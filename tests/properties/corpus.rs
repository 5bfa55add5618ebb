//! Files written by real programs, and malformed files, compared with their known contents
//! (tests/fixtures/README.md).
#![cfg(feature = "ztensor")]

use crate::support::{CHECKPOINT, Case, cases, is_built_in, open_and_check};
use serde_json::Value as Json;
use tenslice::{Attributes, Component, DType, Encoding, Error, File, Format, Layout, Tensor, Value};

#[test]
fn verdicts() {
    for case in cases() {
        let result = open_and_check(&case.bytes);
        match case.expect() {
            "reject" if case.is_seen_at_open() => assert!(result.is_err(), "{}: accepted", case.name()),
            "accept" => assert!(result.is_ok(), "{}: {result:?}", case.name()),
            "accept-with-warning" => {
                let file = result.unwrap_or_else(|error| panic!("{}: {error}", case.name()));
                assert!(!file.warnings().is_empty() || !case.is_seen_at_open(), "{}: no warning", case.name());
            }
            _ => {}
        }
        // The error of a rejected file has an offset in the file and a message.
        if let Err(error) = result {
            assert!(error.offset().is_some_and(|at| at <= case.bytes.len() as u64), "{}: {error}", case.name());
            assert!(error.explain(&case.bytes[..]).to_string().len() > 20);
        }
    }
}

/// Formats whose side-cars have a form of their own, and tests of their own in tests/formats or tests/reference. Any other
/// format uses the side-cars of zTensor.
const OTHER_SIDE_CARS: &[&str] = &["tens", "blz", "b2nd", "b2frame", "npy", "npz", "safetensors", "gguf", "onnx"];

#[test]
fn contents() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| !OTHER_SIDE_CARS.contains(&case.format())) {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let context = case.name();
        let Some(expected) = case.expected["tensors"].as_array() else {
            // A side-car in a folder `bad` has only the verdict, also for files that are accepted after all.
            let has_verdict_only = case.path.iter().any(|part| part == "bad");
            assert!(has_verdict_only, "{context}: the side-car has no `tensors`");
            continue;
        };
        assert_eq!(file.tensor_count(), expected.len() as u64, "{context}");
        assert_eq!(file.tensors().count(), expected.len(), "{context}");
        // A file that is neither right nor wrong may have any attributes.
        if case.expected.get("attributes").is_some() || case.expect() != "either" {
            compare_attributes(&context, file.attributes(), &case.expected["attributes"]);
        }
        for (i, (tensor, expected)) in file.tensors().zip(expected).enumerate() {
            assert_eq!(tensor.index(), i as u64);
            compare_tensor(case, &file, &tensor, expected);
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared}");
}

fn compare_tensor(case: &Case, file: &File<'_>, tensor: &Tensor<'_>, expected: &Json) {
    let context = format!("{}: {:?}", case.name(), tensor.name());
    assert_eq!(tensor.name(), expected["name"].as_str().unwrap(), "{context}");
    let shape: Vec<u64> = expected["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
    assert_eq!(tensor.shape(), shape[..], "{context}");
    assert_eq!(tensor.shape().rank() as usize, shape.len(), "{context}");
    let layout = expected["layout"].as_str().unwrap();
    assert_eq!(tensor.layout_name(), layout, "{context}");
    assert_eq!(tensor.layout() == Layout::Dense, layout == "dense", "{context}");
    compare_attributes(&context, tensor.attributes(), &expected["attributes"]);

    let found = file.find(&tensor.name().to_string()).unwrap();
    if file.warnings().is_empty() {
        let first = file.tensors().find(|other| other.name() == tensor.name()).unwrap();
        assert_eq!(found.index(), first.index(), "{context}");
        assert!(
            first.index() == tensor.index() || file.format() == Format::Tflite,
            "{context}: the name is repeated"
        );
    }
    let components: Vec<_> = tensor.components().collect();
    let Some(expected_parts) = expected["components"].as_array() else { return };
    assert_eq!(components.len(), expected_parts.len(), "{context}");
    for (component, part) in components.iter().zip(expected_parts) {
        let context = format!("{context}.{}", component.role());
        assert_eq!(component.role(), part["role"], "{context}");
        assert_eq!(component.extent().offset, part["offset"].as_u64().unwrap(), "{context}");
        assert_eq!(component.extent().length, part["length"].as_u64().unwrap(), "{context}");
        assert_eq!(component.digest(), part["digest"].as_str(), "{context}");
        assert_eq!(component.encoding_name(), part["encoding"].as_str().unwrap_or("raw"), "{context}");
        if let (Some(dtype), Some(raw)) = (component.storage_dtype(), part["dtype"].as_str()) {
            let raw = match raw {
                "complex64" => "c64",
                "complex128" => "c128",
                "f8_e4m3" => "f8_e4m3fn",
                other => other,
            };
            assert_eq!(dtype.name(), raw, "{context}");
        }
        if let (Encoding::Raw, Some(length)) = (component.encoding(), part["decoded_length"].as_u64()) {
            assert_eq!(component.decoded_length(), Some(length), "{context}");
        }
        let hash = part["data_sha256"].as_str();
        // Components in shards have no bytes in this file. tests/formats/ztensor2.rs reads them.
        if let (Encoding::Raw, Some(hash), None) = (component.encoding(), hash, component.shard()) {
            assert_eq!(sha256(component), hash, "{context}");
        }
    }
}

fn sha256(component: &Component<'_>) -> String {
    let size = component.dtype().map_or(1, DType::lane_size);
    crate::support::sha256(&crate::support::little(component.bytes().unwrap(), component.byte_order(), size))
}

fn compare_attributes(context: &str, attributes: Attributes<'_>, expected: &Json) {
    let count = expected.as_object().map_or(0, |map| map.len());
    assert_eq!(attributes.count(), count, "{context}: {expected}");
    for attribute in attributes {
        let Some(Value::Text(key)) = attribute.key else { panic!("{context}: {:?}", attribute.key) };
        let key = key.to_string();
        compare_value(context, &attribute.value, &expected[&key]);
        assert_eq!(attributes.get(&key).unwrap().kind(), attribute.value.kind(), "{context}");
    }
    assert_eq!(attributes.error(), None);
}

fn compare_value(context: &str, value: &Value<'_>, expected: &Json) {
    match value {
        Value::Null => assert!(expected.is_null(), "{context}"),
        Value::Bool(truth) => assert_eq!(expected, truth, "{context}"),
        Value::Integer(number) => {
            assert_eq!(
                expected.as_i64().map(i128::from).or(expected.as_u64().map(i128::from)),
                Some(*number),
                "{context}"
            );
        }
        Value::Float(number) => {
            // JSON has no NaN and no infinities.
            let expected = expected.as_f64().or_else(|| expected.as_str()?.parse().ok());
            let is_it = expected.is_some_and(|expected| expected == *number || expected.is_nan() && number.is_nan());
            assert!(is_it, "{context}: {number}, not {expected:?}");
        }
        Value::Text(text) => assert_eq!(*text, expected.as_str().unwrap(), "{context}"),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(expected["$bytes"], hex, "{context}");
        }
        Value::Array(items) => {
            let expected = expected.as_array().unwrap();
            assert_eq!(items.count(), expected.len(), "{context}");
            items.zip(expected).for_each(|(item, expected)| compare_value(context, &item.value, expected));
        }
        Value::Map(items) => compare_attributes(context, *items, expected),
        Value::Tagged(tag, items) => {
            assert_eq!(expected["$tag"], *tag, "{context}");
            compare_value(context, &{ *items }.next().unwrap().value, &expected["value"]);
        }
        other => panic!("{context}: {other:?}"),
    }
}

/// The messages of the rejected fixtures, and of tensors that cannot be read. `TENSLICE_UPDATE=1` rewrites them: read
/// the diff.
#[test]
fn messages() {
    let mut messages = String::new();
    for case in cases().iter().filter(|case| !case.path.ends_with(CHECKPOINT)) {
        let Some(name) = case.path.to_str().and_then(|path| path.split_once("tests/fixtures/")) else { continue };
        let problems: Vec<Error> = match File::open(&case.bytes) {
            Ok(file) => file.tensors().filter_map(|tensor| tensor.problem()).collect(),
            Err(error) => vec![error],
        };
        for error in problems {
            messages += &format!("{}: {}\n", name.1, error.explain(&case.bytes[..]));
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/messages.txt");
    // Formats that are not built in have no cases. Folders with other names have zTensor files.
    let is_read = |line: &&str| {
        let folder = line.split('/').next().unwrap();
        let is_2 = line.starts_with("v2/") || line.starts_with("bad/v2/");
        (folder.starts_with('v') || folder == "bad") && (!is_2 || is_built_in("ztensor2")) || is_built_in(folder)
    };
    if std::env::var_os("TENSLICE_UPDATE").is_some() {
        std::fs::write(path, &messages).unwrap();
    }
    let recorded = std::fs::read_to_string(path).unwrap();
    let mut recorded = recorded.lines().filter(is_read);
    for sentence in messages.lines() {
        assert_eq!(Some(sentence), recorded.next(), "{path}: TENSLICE_UPDATE=1 writes it again");
    }
    assert_eq!(recorded.next(), None);
}
