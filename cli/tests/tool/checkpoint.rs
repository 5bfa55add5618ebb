//! Checkpoints of PyTorch: what a file is, if it names code, its views, and tensors whose values it does not have.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenslice::{File, Model, ModelFile, ReadOptions, safetensors::Index};

use crate::support::{Folder, fixture, has, out, printed, run};

fn checkpoint(name: &str) -> String {
    fixture(&format!("pytorch/{name}.pt"))
}

/// The description of a fixture in its side-car.
fn stated(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(&format!("pytorch/{name}.pt.json"))).unwrap()).unwrap()
}

fn record(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&[arguments, &["--json"]].concat())).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The summary says what kind of checkpoint a file is, how large the model is, and which code the file names.
#[test]
fn a_summary_says_what_a_checkpoint_is() {
    let cases = [
        ("state_mlp_p3", "pytorch, 9 tensors, 43 parameters", "archive of torch.save, version 3", "only names"),
        ("legacy_plain", "pytorch, 1 tensor, 4 parameters", "stream of torch.save", "only names"),
        ("script_seq", "pytorch, 7 tensors", "TorchScript archive, version 3", "3 classes of TorchScript"),
        ("script_frozen", "pytorch, 2 tensors, 6 parameters", "TorchScript archive", "1 class of TorchScript"),
        (
            "module_tied",
            "pytorch, 3 tensors, 41 parameters",
            "archive of torch.save",
            "4 unknown names, skipped here",
        ),
    ];
    for (name, headline, form, code) in cases {
        let text = out(&["list", &checkpoint(name)]);
        let line = |label: &str| text.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or_default();
        assert!(text.contains(headline) && text.contains("  complete     yes\n"), "{name}: {text}");
        assert!(line("form ").contains(form) && line("code ").contains(code), "{name}: {text}");
    }
    // Names outside of PyTorch come first, each once.
    let names = record(&["list", &checkpoint("module_tied")])["summary"]["unknown_globals"].clone();
    let names: Vec<&str> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let first_of_torch = names.iter().position(|name| name.starts_with("torch.")).unwrap();
    assert!(first_of_torch > 0 && names[first_of_torch..].iter().all(|name| name.starts_with("torch.")), "{names:?}");
    assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name)), "{names:?}");
    let explained = run(&["explain", &checkpoint("module_tied")]);
    assert!(explained.status == 0 && explained.out.contains("that PyTorch may run"), "{}", explained.out);
    assert_eq!(record(&["explain", &checkpoint("module_tied")])["unknown_globals"], json!(names));
    assert_eq!(record(&["explain", &checkpoint("views")])["unknown_globals"], json!([]));
    let other = fixture("safetensors/py_tiny_mlp.safetensors");
    assert_eq!(record(&["explain", &other])["unknown_globals"], Value::Null);
    assert!(!out(&["list", &other]).contains("  code "));
}

#[test]
fn names_of_code_are_listed() {
    let file = checkpoint("opaque_b");
    let text = out(&["show", "--globals", &file]);
    let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert!(text.lines().next().unwrap().ends_with("names of functions and classes; none is called"), "{text}");
    let record = record(&["show", "--globals", &file]);
    let globals = record["globals"].as_array().unwrap();
    assert_eq!((rows.len(), record["record"].as_str()), (globals.len(), Some("globals")));
    let bytes = fs::read(&file).unwrap();
    for (row, global) in rows.iter().zip(globals) {
        let text = |key: &str| global[key].as_str().unwrap();
        let meaning = if global["known"] == true { "known" } else { "skipped" };
        let offset = global["offset"].as_u64().unwrap();
        assert_eq!(*row, [&*offset.to_string(), text("module"), text("name"), meaning]);
        let at = &bytes[offset as usize..];
        let found = at.windows(text("name").len()).position(|bytes| bytes == text("name").as_bytes());
        assert!(found.is_some_and(|found| found < 64), "{global}");
    }
    let known = |known: bool| globals.iter().filter(|global| global["known"] == known).count();
    assert!(known(true) > 1 && known(false) > 0, "{text}");
    let refused = run(&["show", "--globals", &fixture("safetensors/py_tiny_mlp.safetensors")]);
    assert!(refused.err.contains("a safetensors file names no functions or classes"), "{}", refused.err);
    assert_eq!(run(&["show", "--globals", &file, "w"]).status, 2);
}

/// The values of views are the ones that PyTorch wrote down, in row-major order, whatever reads them.
#[test]
fn views_are_read_row_after_row() {
    let folder = Folder::new();
    let (path, mut compared) = (folder.path("x.bin"), 0);
    for name in ["views", "views_overlap", "views_complex", "be_types", "empties", "shared_storage", "dtypes_new"] {
        let file = checkpoint(name);
        let listed = record(&["list", "--digest", &file]);
        for (tensor, listed) in
            stated(name)["tensors"].as_array().unwrap().iter().zip(listed["tensors"].as_array().unwrap())
        {
            let tensor_name = tensor["name"].as_str().unwrap();
            for key in ["name", "shape", "dtype", "layout"] {
                assert_eq!(listed[key], tensor[key], "{name}: {tensor_name}");
            }
            if tensor["data_sha256"].is_null() {
                continue;
            }
            assert_eq!(listed["data_sha256"], tensor["data_sha256"], "{name}: {tensor_name}");
            out(&["extract", &file, tensor_name, "-o", &path, "--force"]);
            assert_eq!(sha256(&fs::read(&path).unwrap()), tensor["data_sha256"], "{name}: {tensor_name}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
    let text = out(&["show", &checkpoint("views"), "t"]);
    assert!(text.contains("  f32 [4, 3, 2], strided\n") && text.contains("  24 elements, 96 bytes\n"), "{text}");
    let slice = out(&["show", &checkpoint("views"), "t", "--slice", "0,:,1"]);
    let whole = out(&["show", &checkpoint("views"), "whole", "--slice", "1,:,0"]);
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit(']').next().unwrap().trim().into()).collect()
    };
    assert_eq!(values(&slice).join(" "), values(&whole).join(" "));
    let statistics = |name: &str| {
        let record = record(&["stats", &checkpoint("views"), "--filter", name]);
        let one = record["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == name).unwrap().clone();
        one["statistics"].clone()
    };
    assert_eq!(statistics("t"), statistics("whole"));
    let same = out(&["diff", &checkpoint("views"), &checkpoint("views")]);
    assert!(same.ends_with("8 tensors the same, 0 differ\n"), "{same}");
}

/// Every target gets the values of the views, row after row.
#[test]
fn views_are_converted() {
    let folder = Folder::new();
    let source = checkpoint("views");
    let expected = stated("views");
    for ending in ["safetensors", "gguf", "npz", "zt"] {
        let path = folder.path(&format!("views.{ending}"));
        assert_eq!(out(&["convert", &source, "-o", &path]), "");
        let bytes = fs::read(&path).unwrap();
        let file = File::open(&bytes).unwrap();
        for tensor in expected["tensors"].as_array().unwrap() {
            let written = file.find(tensor["name"].as_str().unwrap()).unwrap();
            assert_eq!(json!(written.shape().iter().collect::<Vec<_>>()), tensor["shape"], "{ending}");
            assert_eq!(sha256(written.data().unwrap().bytes().unwrap()), tensor["data_sha256"], "{ending}: {tensor}");
        }
        assert_eq!(file.tensor_count(), 8);
        let same = out(&["diff", "--no-metadata", &source, &path]);
        assert!(same.contains("8 tensors the same, 0 differ\n"), "{ending}: {same}");
    }
    // The values are converted, too.
    let path = folder.path("half.safetensors");
    out(&["convert", &source, "-o", &path, "--dtype", "f16"]);
    let bytes = fs::read(&path).unwrap();
    let mut numbers = [0.0; 24];
    let turned = File::open(&bytes).unwrap().find("t").unwrap();
    let turned = turned.read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
    assert_eq!(turned[..3], [0.0, 12.0, 4.0]);
}

/// Arrays for C have the values of the views, row after row.
#[test]
fn views_are_embedded() {
    let folder = Folder::new();
    let source = checkpoint("views");
    out(&["embed", &source, "-o", &folder.path("w.c")]);
    let program = "#include <stdio.h>
        #include \"w.h\"
        int main(void) {
            printf(\"%g %g %g\", w_t[0], w_t[1], w_t[2]);
            printf(\" %d %g %g\", (int)(sizeof w_column / sizeof *w_column), w_column[0], w_column[1]);
            return 0;
        }";
    if has("cc") {
        assert_eq!(printed(&folder, "cc", program, &["w.c"]), "0 12 4 2 6 18");
    }
    let refused = run(&["embed", &checkpoint("quantized"), "-o", &folder.path("q.S")]);
    assert!(refused.status == 1 && refused.err.contains("choose other tensors: --only"), "{}", refused.err);
    for command in ["merge", "repack"] {
        let refused = run(&[command, &source, "-o", &folder.path("m.safetensors")]);
        assert!(refused.err.contains("files of format pytorch cannot be written: use convert"), "{}", refused.err);
    }
}

/// A tensor whose values are not in the file as numbers: the message says why, and what to save instead.
#[test]
fn tensors_without_values() {
    let folder = Folder::new();
    let path = folder.path("x.safetensors");
    let cases = [
        ("quantized", "q", "save x.dequantize()"),
        ("quantized_packed", "q4", "save x.dequantize()"),
        ("sparse_coo", "s", "save x.to_dense()"),
        ("conj", "conj", "save x.resolve_conj()"),
        ("conj", "neg", "save x.resolve_neg()"),
        ("subclass", "sub", "save plain tensors"),
        ("meta", "m", "it has only a shape"),
    ];
    for (file, name, advice) in cases {
        let file = checkpoint(file);
        let array = folder.path("x.npy");
        let all = [
            &["extract", &file, name, "-o", &array][..],
            &["show", &file, name],
            &["stats", &file],
            &["convert", &file, "-o", &path, "--only", name],
        ];
        for arguments in all {
            let refused = run(arguments);
            let says = [&format!("tensor \"{name}\": its layout is torch."), advice, "PyTorch"];
            assert!(refused.status == 1 && says.iter().all(|text| refused.err.contains(text)), "{}", refused.err);
        }
        assert!(run(all[3]).err.contains("or leave it out: --exclude"));
        assert!(folder.names().is_empty());
        assert_eq!(run(&["verify", &file]).status, 0, "{name}");
        let kept = run(&["convert", &file, "-o", &path, "--exclude", "[!pw]*"]);
        assert_eq!((kept.status, kept.err.as_str()), (0, ""), "{name}");
        assert!(File::open(&fs::read(&path).unwrap()).unwrap().tensor_count() == 1, "{name}");
        fs::remove_file(&path).unwrap();
    }
}

/// Files that are no checkpoint, or none that is read, have an answer that says what to do.
#[test]
fn other_files_of_pytorch() {
    let folder = Folder::new();
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"sys_info");
    tar[257..262].copy_from_slice(b"ustar");
    let cases = [
        (folder.write("old.pt", &tar), "a checkpoint of PyTorch 0.1, in a tar archive, which is not supported"),
        (checkpoint("other_plain_p4"), "pickle of Python"),
        (checkpoint("other_empty"), "the file is empty"),
        (checkpoint("zip_cut_half"), "truncated"),
        (checkpoint("zip_encrypted"), "encrypted"),
    ];
    for (file, says) in cases {
        let refused = run(&["list", &file]);
        assert!(refused.status == 1 && refused.err.contains(says), "{file}: {}", refused.err);
    }
    let explained = run(&["explain", &checkpoint("op_code_00")]).out;
    assert!(
        explained.contains("Python, pickletools, section \"opcodes\"") && explained.contains("  place"),
        "{explained}"
    );
}

const INDEX: &str = "pytorch_model.bin.index.json";

/// A model in several checkpoints: files of one tensor each, and an index.
fn sharded(folder: &Folder) -> String {
    let map = json!({"0.weight": "pytorch_model-00001-of-00002.bin", "w": "pytorch_model-00002-of-00002.bin"});
    fs::copy(checkpoint("state_mlp_p3"), folder.path("pytorch_model-00001-of-00002.bin")).unwrap();
    fs::copy(checkpoint("opaque_b"), folder.path("pytorch_model-00002-of-00002.bin")).unwrap();
    folder.write(INDEX, json!({"metadata": {"total_size": 56}, "weight_map": map}).to_string().as_bytes())
}

/// The index decides which tensors of which checkpoints the model has.
#[test]
fn a_model_in_several_checkpoints() {
    let folder = Folder::new();
    let index = sharded(&folder);
    for path in [&index, folder.as_path().to_str().unwrap()] {
        let text = out(&["list", path]);
        assert!(
            text.contains("pytorch index, 2 tensors, 14 parameters") && text.contains("files        2 of 2\n"),
            "{text}"
        );
        assert!(text.contains("unknown name") && text.contains("not list"), "{text}");
        assert!(out(&["show", path, "w"]).contains("f32 [2], dense"), "{text}");
    }
    let record = record(&["list", &index]);
    assert_eq!((&record["format"], record["tensors"].as_array().unwrap().len()), (&json!("pytorch index"), 2));
    let path = folder.path("whole.safetensors");
    out(&["convert", &index, "-o", &path]);
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    // The same through the library.
    let text = fs::read(&index).unwrap();
    let index_of = Index::open(&text).unwrap();
    let names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"];
    let bytes = names.map(|name| fs::read(folder.path(name)).unwrap());
    let mut files: Vec<ModelFile<'_>> =
        names.iter().zip(&bytes).map(|(name, bytes)| ModelFile::new(*name, File::open(bytes).unwrap())).collect();
    let mut words = vec![0; Model::length_with_index(&index_of).unwrap()];
    let model = Model::with_index(index_of, &mut files, &mut words).unwrap();
    assert!(model.problems().all(|problem| problem.kind().is_warning()));
    for (name, number) in [("0.weight", 0), ("w", 1)] {
        let (found, tensor) = model.find(name).unwrap();
        let written = File::open(&whole).unwrap().find(name).unwrap();
        assert_eq!(found, number);
        assert_eq!(tensor.data().unwrap().bytes().unwrap(), written.data().unwrap().bytes().unwrap());
    }
    assert_eq!(File::open(&whole).unwrap().tensor_count(), 2);
    fs::remove_file(folder.path(names[1])).unwrap();
    let text = out(&["list", &index]);
    assert!(text.contains("NO: 1 missing file") && text.contains(names[1]), "{text}");
    assert_eq!(run(&["verify", &index]).status, 1);
}

/// A stream whose tree is a list in a pair, which is read again for each of its values.
#[test]
fn values_that_take_too_long_are_not_left_out_in_silence() {
    let stream = |count: usize| {
        let head =
            b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}X\x0d\0\0\0little_endian\x88s.";
        [head, &b"\x80\x02]("[..], &b"K\x01".repeat(count), b"eN\x86.\x80\x02]q\0."].concat()
    };
    let folder = Folder::new();
    for (count, is_whole) in [(300, true), (4000, false)] {
        let path = folder.write("values.pt", &stream(count));
        let printed = run(&["list", &path]);
        assert_eq!(printed.status, 0, "{}{}", printed.out, printed.err);
        assert_eq!(!printed.out.contains("values of the tree are listed: pytorch: name: "), is_whole, "{count}");
    }
}
