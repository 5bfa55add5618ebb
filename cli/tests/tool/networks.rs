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

/// Integers with scales are shown, converted and extracted as the numbers that they stand for, or as integers with a
/// warning.
#[test]
fn quantized_integers_are_not_taken_for_numbers() {
    let (path, folder) = (fixture("tflite/py_quantized.tflite"), Folder::new());
    let shown = out(&["show", &path, "per_tensor"]);
    assert!(shown.contains("values:  -51.0 52.0 30.0") && shown.contains("min -59.5"), "{shown}");
    let to = folder.path("numbers.npy");
    assert_eq!(run(&["convert", &path, "-o", &to, "--only", "per_tensor", "--dtype", "f32"]).status, 0);
    assert!(out(&["show", &to]).contains("values:  -51.0 52.0 30.0"));
    let kept = run(&["convert", &path, "-o", &folder.path("kept.npy"), "--only", "per_tensor"]);
    assert!(kept.status == 0 && kept.err.contains("have scales"), "{kept:?}");
    // This format keeps them.
    let kept = run(&["convert", &path, "-o", &folder.path("kept.zt"), "--only", "per_*"]);
    assert!(kept.status == 0 && !kept.err.contains("have scales"), "{kept:?}");
    let permuted = run(&["convert", &path, "-o", &folder.path("p.npy"), "--only", "per_tensor", "--permute", "1,0"]);
    assert!(permuted.status == 1 && permuted.err.contains("convert them with --dtype"), "{permuted:?}");
    for (flag, values) in [("--force", "-105 101 57"), ("--f32", "-51.0 52.0 30.0")] {
        let to = folder.path(&format!("{flag}.npy"));
        out(&["extract", &path, "per_tensor", "-o", &to, flag]);
        assert!(out(&["show", &to]).contains(values), "{flag}");
    }
    let unknown = run(&["show", &path, "only_zero"]);
    assert!(unknown.status == 1 && unknown.err.contains("\"only_zero\""), "{unknown:?}");
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
