//! ONNX models: what a file is, its tensors, and data in other files.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, fixture, out, run};

fn model(name: &str) -> String {
    fixture(&format!("onnx/{name}.onnx"))
}

fn record(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn a_model_is_listed() {
    let text = out(&["list", &model("py_typed_all_types")]);
    assert!(text.contains("onnx 10, 27 tensors"), "{text}");
    for part in ["  producer     ", "  operators    ai.onnx ", "onnx.varint", "int4", "uint2", "f8_e8m0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let of_model = record(&["list", &model("py_ir_1000")]);
    assert_eq!((&of_model["version"], &of_model["onnx"]["opsets"][0]["domain"]), (&json!("1000"), &json!("")));
    assert_eq!(record(&["list", &fixture("npy/dt_le_f4.npy")])["onnx"], Value::Null);
    // Names of graphs are attributes.
    let shown = out(&["show", &model("py_if_branches"), "shared.name"]);
    assert!(shown.contains("onnx.graph: else_graph"), "{shown}");
}

/// Numbers in varints are decoded, and those of sparse tensors put at their places.
#[test]
fn numbers_are_shown_and_extracted() {
    let folder = Folder::new();
    let shown = out(&["show", &model("hm_int_forms"), "five.bytes"]);
    assert!(shown.contains("varint"), "{shown}");
    for (name, tensor, length) in [("hm_int_forms", "five.bytes", 8), ("py_sparse", "sp.linear", 80)] {
        let to = folder.path("numbers.bin");
        out(&["extract", &model(name), tensor, "-o", &to]);
        assert_eq!(fs::read(&to).unwrap().len(), length, "{name}");
        fs::remove_file(&to).unwrap();
    }
    let npy = folder.path("sparse.npy");
    out(&["extract", &model("py_sparse"), "sp.linear", "-o", &npy]);
    let bytes = fs::read(&npy).unwrap();
    assert_eq!(bytes.len() % 64, 80 % 64);
    let refused = run(&["extract", &model("py_strings"), "words", "-o", &folder.path("words.bin")]);
    assert!(refused.status == 1 && refused.err.contains("tensor \"words\""), "{refused:?}");
}

/// A model and its data in another folder, with an offset of 4096.
#[test]
fn data_in_other_files_is_read() {
    let folder = Folder::new();
    let path = folder.write("m.onnx", &fs::read(model("py_external")).unwrap());
    let missing = record(&["list", &path]);
    assert_eq!(missing["summary"]["complete"], json!(false));
    let names: Vec<_> = missing["problems"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(names, vec![json!("MissingShard"); names.len()]);
    assert!(missing["problems"].to_string().contains("model.data"), "{missing}");
    let refused = run(&["extract", &path, "w2", "-o", &folder.path("w2.bin")]);
    assert!(refused.status == 1 && refused.err.contains("model.data"), "{refused:?}");

    folder.write("model.data", &(0..5000_u32).map(|byte| byte as u8).collect::<Vec<_>>());
    fs::create_dir_all(folder.path("sub/folder")).unwrap();
    folder.write("sub/folder/b.bin", &[7; 12]);
    // Integers of 4 bits become numbers: 0, 0, 1, 0, 2.
    let numbers: Vec<u8> = [0.0, 0.0, 1.0, 0.0, 2.0_f32].iter().flat_map(|number| number.to_le_bytes()).collect();
    for (tensor, expected) in [("w2", numbers), ("bare", vec![7; 12])] {
        let to = folder.path("out.bin");
        let is_small: &[&str] = if tensor == "w2" { &["--f32"] } else { &[] };
        out(&[&["extract", &path, tensor, "-o", &to, "--force"], is_small].concat());
        assert_eq!(fs::read(&to).unwrap(), expected, "{tensor}");
    }
    let listed = record(&["list", &path]);
    assert!(!listed["problems"].to_string().contains("model.data"), "{listed}");
    assert!(listed["problems"].to_string().contains("other.bin"), "{listed}");
}

/// A symbolic link that leads out of the folder of the model is not followed.
#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    let (folder, outside) = (Folder::new(), Folder::new());
    let path = folder.write("m.onnx", &fs::read(model("py_external")).unwrap());
    let secret = outside.write("secret", &[1; 5000]);
    std::os::unix::fs::symlink(&secret, folder.path("model.data")).unwrap();
    let refused = run(&["extract", &path, "w1", "-o", &folder.path("w1.bin")]);
    assert!(refused.status == 1 && refused.err.contains("model.data"), "{refused:?}");
    // A link inside the folder is.
    folder.write("inside", &[1; 5000]);
    fs::remove_file(folder.path("model.data")).unwrap();
    std::os::unix::fs::symlink("inside", folder.path("model.data")).unwrap();
    out(&["extract", &path, "w1", "-o", &folder.path("w1.bin")]);
    assert_eq!(fs::read(folder.path("w1.bin")).unwrap(), [1; 1024]);
}

#[test]
fn a_refused_model_is_explained() {
    let run = run(&["explain", &model("bad/raw_short")]);
    assert!(run.status == 1 && run.out.contains("length 23"), "{run:?}");
    assert!(run.out.contains("ONNX, IR.md"), "{run:?}");
}
