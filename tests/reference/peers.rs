//! Formats that other programs also read: every field of every file is compared with the side-car, and so is the
//! outcome for damaged files.
#![cfg(all(feature = "npy", feature = "npz", feature = "safetensors", feature = "gguf"))]

use std::collections::BTreeMap;

use crate::support::{Case, cases_of, damaged, little, sha256};
use serde_json::{Value as Json, json};
use tenslice::{ByteOrder, Component, Encoding, File, Layout, Purpose, ReadOptions, Tensor, Value};

const FORMATS: [&str; 4] = ["npy", "npz", "safetensors", "gguf"];

#[test]
fn contents() {
    for format in FORMATS {
        let mut compared = 0;
        for case in cases_of(format) {
            let (Some(expected), Ok(file)) = (case.expected["tensors"].as_array(), File::open(&case.bytes)) else {
                continue;
            };
            let name = case.name();
            assert_eq!(file.format().text(), format, "{name}");
            assert_eq!(file.version(), case.expected["version"].as_str(), "{name}");
            assert_eq!(
                (file.tensor_count(), file.tensors().count()),
                (expected.len() as u64, expected.len()),
                "{name}"
            );
            if case.expect() == "accept" {
                compare_attributes(&name, &file, &case.expected["attributes"]);
            }
            for (tensor, expected) in file.tensors().zip(expected) {
                compare(&case, &file, &tensor, expected);
                compared += 1;
            }
        }
        assert!(compared > 50, "{format}: {compared}");
    }
}

/// Compares attributes. If a key is repeated, a JSON object has the last value.
fn compare_attributes(context: &str, file: &File<'_>, expected: &Json) {
    let expected = expected.as_object();
    let mut found = BTreeMap::new();
    for attribute in file.attributes() {
        let key = attribute.key.and_then(|key| key.as_text()).unwrap().to_string();
        assert!(file.attributes().get(&key).is_some(), "{context}: {key}");
        found.insert(key, value(&attribute.value));
    }
    assert_eq!(file.attributes().error(), None, "{context}");
    assert!(expected.map_or(found.is_empty(), |expected| found.iter().eq(expected)), "{context}: {found:?}");
}

/// A value in the notation of the side-cars.
fn value(found: &Value<'_>) -> Json {
    match found {
        Value::Text(text) => text.to_string().into(),
        Value::Bytes(bytes) => {
            json!({"$bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()})
        }
        Value::Bool(truth) => (*truth).into(),
        Value::Integer(_) => found.as_u64().map_or_else(|| json!(found.as_i64().unwrap()), Json::from),
        Value::Float(number) if number.is_finite() => json!(number),
        Value::Float(number) => number.to_string().into(),
        Value::Array(items) => {
            let length = items.length().unwrap();
            let items: Vec<Json> = items.map(|item| value(&item.value)).collect();
            assert_eq!(items.len() as u64, length);
            items.into()
        }
        other => panic!("{other:?}"),
    }
}

fn compare(case: &Case, file: &File<'_>, tensor: &Tensor<'_>, expected: &Json) {
    let context = format!("{}: {:?}", case.name(), tensor.name());
    let name = expected["name"].as_str().unwrap();
    assert_eq!(tensor.name(), name, "{context}");
    assert_eq!(file.find(name).unwrap().index(), tensor.index(), "{context}");
    let components: Vec<_> = tensor.components().collect();
    let [data] = &components[..] else { panic!("{context}: {} components", components.len()) };
    assert_eq!(data.role(), "data", "{context}");
    assert_eq!(data.extent().offset, expected["data_offset"].as_u64().unwrap(), "{context}");
    assert_eq!(data.extent().length, expected["data_length"].as_u64().unwrap(), "{context}");
    if let Some(encoding) = expected["encoding"].as_str() {
        // The compressed bytes are a whole file: an NPY file.
        assert_eq!(
            (data.encoding_name(), tensor.layout_name(), tensor.dtype()),
            (encoding, "npy", None),
            "{context}"
        );
        assert_eq!(data.decoded_length(), expected["decoded_length"].as_u64(), "{context}");
        if cfg!(feature = "zlib") {
            let mut array = vec![0; data.decoded_length().unwrap() as usize];
            let array = File::open(data.read_into(&mut array, ReadOptions::new()).unwrap()).unwrap();
            compare_array(&context, &array.find("").unwrap(), expected);
        }
    } else if tensor.layout() == Layout::Blocks {
        let block = tensor.block_type().unwrap();
        assert_eq!((tensor.layout_name(), tensor.dtype()), (expected["layout"].as_str().unwrap(), None), "{context}");
        assert_eq!(u64::from(block.code()), expected["ggml_type"].as_u64().unwrap(), "{context}");
        assert_eq!(tensor.shape(), shape_of(expected)[..], "{context}");
        assert_eq!(sha256(data.bytes().unwrap()), expected["stored_sha256"], "{context}");
    } else {
        compare_array(&context, tensor, expected);
    }
}

fn shape_of(expected: &Json) -> Vec<u64> {
    expected["shape"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).collect()
}

/// Compares an array that is not compressed.
fn compare_array(context: &str, tensor: &Tensor<'_>, expected: &Json) {
    assert_eq!(tensor.shape(), shape_of(expected)[..], "{context}");
    assert_eq!((tensor.layout(), tensor.layout_name()), (Layout::Dense, "dense"), "{context}");
    assert_eq!(tensor.dtype().map(|dtype| dtype.name()), expected["dtype"].as_str(), "{context}");
    assert_eq!(tensor.order().text(), expected["order"], "{context}");
    let data: Component<'_> = tensor.data().unwrap();
    assert_eq!(data.encoding(), Encoding::Raw, "{context}");
    let size = data.dtype().map_or(1, |dtype| dtype.lane_size());
    let bytes = data.bytes().unwrap();
    assert_eq!(sha256(&little(bytes, data.byte_order(), size)), expected["data_sha256"], "{context}");
    // The elements are in native byte order, whatever the stored order is.
    let mut read = vec![0xa5; tensor.requirements(Purpose::Read).output.unwrap() as usize];
    tensor.read_into(&mut read, ReadOptions::new()).unwrap();
    let order = if data.dtype().is_some() { ByteOrder::NATIVE } else { data.byte_order() };
    assert_eq!(sha256(&little(&read, order, size)), expected["data_sha256"], "{context}");
}

#[test]
fn every_mutation_in_the_tables() {
    for format in FORMATS {
        for case in damaged(format) {
            let result = File::open(&case.bytes);
            match (case.expect.as_str(), &result) {
                ("reject", Ok(_)) if case.codes.contains("data") => {} // detected when the bytes are decoded
                ("reject", result) => assert!(result.is_err(), "{}: accepted", case.name),
                ("accept", result) => assert!(result.is_ok(), "{}: {result:?}", case.name),
                ("accept-with-warning", Ok(file)) => assert!(!file.warnings().is_empty(), "{}", case.name),
                ("either", _) => {}
                (expect, result) => panic!("{}: {expect}, but {result:?}", case.name),
            }
        }
    }
}
