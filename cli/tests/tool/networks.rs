//! Models for engines: TFLite, and the weights of ExecuTorch.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, fixture, out, run};

fn record(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&[arguments, &["--json"]].concat())).unwrap()
}

/// The number of problems of a kind.
fn count_of(listed: &Value, kind: &str) -> usize {
    listed["problems"].as_array().unwrap().iter().filter(|problem| problem["kind"] == kind).count()
}

#[test]
fn constants_of_a_model() {
    let path = fixture("tflite/py_subgraphs.tflite");
    let listed = record(&["list", &path]);
    assert_eq!((&listed["format"], &listed["version"]), (&json!("tflite"), &json!("3")));
    // Three tensors have one name: the first counts, and nothing is wrong.
    assert_eq!((&listed["problems"], &listed["summary"]["complete"]), (&json!([]), &json!(true)));
    assert_eq!(listed["tflite"]["subgraphs"][1], json!({"name": "then", "tensors": 2}), "{listed}");
    assert!(out(&["list", &path]).contains("  subgraphs    \"main\" of "));
    let numbers = out(&["show", &fixture("tflite/py_quantized.tflite"), "per_tensor"]);
    assert!(numbers.contains("scale") && numbers.contains("zero_point"), "{numbers}");
}

/// External buffers are read from the folder of the model, and missing ones are named.
#[test]
fn buffers_in_other_files() {
    let folder = Folder::new();
    let path = folder.write("m.tflite", &fs::read(fixture("tflite/py_external_buffers.tflite")).unwrap());
    let listed = record(&["list", &path]);
    assert_eq!((&listed["summary"]["complete"], count_of(&listed, "MissingShard")), (&json!(false), 2));
    folder.write("weights.bin", &(0..200).collect::<Vec<u8>>());
    let listed = record(&["list", &path]);
    assert_eq!(count_of(&listed, "MissingShard"), 1, "{listed}");
    let to = folder.path("e5.bin");
    out(&["extract", &path, "e5", "-o", &to]);
    assert_eq!(fs::read(&to).unwrap(), (0..24).collect::<Vec<u8>>());
    let refused = run(&["extract", &path, "e9", "-o", &folder.path("e9.bin")]);
    assert!(refused.status == 1 && refused.err.contains("https://host.invalid/w2.bin"), "{refused:?}");
}

/// The bytes of blobs are no parameters.
#[test]
fn blobs_and_tensors() {
    let listed = record(&["list", &fixture("ptd/py_blobs.ptd")]);
    let summary = &listed["summary"];
    assert_eq!(
        (&summary["tensors"], &summary["parameters"], &summary["bits_per_parameter"]),
        (&json!(4), &json!(3), &json!(8.0))
    );
    assert_eq!(listed["ptd"]["segments"][0]["length"], json!(33), "{listed}");
    let text = out(&["list", &fixture("ptd/py_blobs.ptd")]);
    for part in ["4 tensors, 3 parameters", "ptd.blob", "  segments     4"] {
        assert!(text.contains(part), "{text}");
    }
}
