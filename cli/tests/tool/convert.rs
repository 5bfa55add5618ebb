use std::fs;
use std::path::Path;

use tenslice::{DType, File, Format, Layout, Order, Purpose, ReadOptions, Tensor};

use crate::support::{Folder, fixture, npy, npz, out, run};

/// The elements of a tensor in row-major order, or its components one after the other if it is not dense.
fn elements(tensor: &Tensor<'_>) -> Vec<u8> {
    let is_plain = matches!(tensor.layout(), Layout::Dense | Layout::Chunked);
    if !is_plain {
        let stored = tensor.components().map(|part| {
            let mut bytes = vec![0; part.decoded_length().unwrap() as usize];
            part.read_into(&mut bytes, ReadOptions::new()).unwrap().to_vec()
        });
        return stored.flatten().collect();
    }
    let needed = tensor.requirements(Purpose::Read);
    let (mut bytes, mut scratch) =
        (vec![0; needed.output.unwrap() as usize], vec![0; needed.scratch.unwrap() as usize]);
    let bytes = tensor.read_into(&mut bytes, ReadOptions::new().scratch(&mut scratch)).unwrap();
    if tensor.order() == Order::RowMajor || tensor.shape().rank() < 2 {
        return bytes.to_vec();
    }
    // Only matrices are column-major in these tests.
    let [rows, columns] = tensor.shape().dims().unwrap();
    let size = bytes.len() / (rows * columns) as usize;
    let element = |row, column| &bytes[(column * rows + row) as usize * size..][..size];
    (0..rows).flat_map(|row| (0..columns).flat_map(move |column| element(row, column).to_vec())).collect()
}

/// Every file to every target: the tensors are the same, or the message names the one that the target cannot hold.
#[test]
fn every_file_to_every_target() {
    let files = [
        "v1.2/dense_all_dtypes.zt",
        "v1.2/zstd.zt",
        "v0.1/big_endian.zt",
        "v2/zstd_seekable.zt",
        "safetensors/py_tiny_mlp.safetensors",
        "gguf/be_f32_f16_i64.gguf",
        "gguf/type_08_Q8_0.gguf",
        "npz/stored.npz",
    ];
    let targets = ["safetensors", "gguf", "ztensor-2", "ztensor-1.2", "npz"];
    let (mut written, mut refused) = (0, 0);
    for name in files {
        let source = fixture(name);
        let bytes = fs::read(&source).unwrap();
        let before = File::open(&bytes).unwrap();
        for target in targets {
            let folder = Folder::new();
            let path = folder.path("out");
            let run = run(&["convert", &source, "-o", &path, "--format", target]);
            if run.status == 1 {
                let names_one =
                    before.tensors().any(|tensor| run.err.contains(&format!("{:?}", tensor.name().to_string())));
                assert!(names_one && folder.names().is_empty(), "{name} -> {target}: {}", run.err);
                refused += 1;
                continue;
            }
            assert_eq!(run.status, 0, "{name} -> {target}: {}", run.err);
            let bytes = fs::read(&path).unwrap();
            let after = File::open(&bytes).unwrap();
            assert_eq!(after.tensor_count(), before.tensor_count());
            for tensor in &before {
                let same = after.find(&tensor.name().to_string()).unwrap();
                assert_eq!(same.shape(), tensor.shape(), "{name} -> {target}");
                assert!(
                    same.block_type() == tensor.block_type()
                        && (same.dtype() == tensor.dtype() || same.block_type().is_some()),
                    "{name} -> {target}"
                );
                assert!(elements(&same) == elements(&tensor), "{name} -> {target}: {}", tensor.name());
            }
            written += 1;
        }
    }
    assert!(written > 20 && refused > 5, "{written} {refused}");
}

/// Formats of one tensor, without a name: it takes the stem of its file.
#[test]
fn arrays() {
    let folder = Folder::new();
    let items: Vec<u8> = (0..24).collect();
    let source = folder.write("a.npy", &npy("'<i2'", true, "(3, 4)", &items));
    for ending in ["npy", "npz", "tens", "b2nd", "safetensors", "zt"] {
        let path = folder.path(&format!("b.{ending}"));
        assert_eq!(out(&["convert", &source, "-o", &path]), "");
        let bytes = fs::read(&path).unwrap();
        let file = File::open(&bytes).unwrap();
        let tensor = file.tensors().next().unwrap();
        let is_named = matches!(ending, "npz" | "safetensors" | "zt");
        assert_eq!(tensor.name().to_string(), if is_named { "a" } else { "" });
        assert_eq!((tensor.dtype(), tensor.shape() == [3, 4]), (Some(DType::I16), true));
        assert_eq!(tensor.order() == Order::ColumnMajor, ending == "tens");
        let source = fs::read(&source).unwrap();
        assert_eq!(elements(&tensor), elements(&File::open(&source).unwrap().find("").unwrap()), "{ending}");
    }
    // Two inputs, and a compressed entry.
    let archive = folder.write("c.npz", &npz(&[("x", &npy("'<f4'", false, "(2,)", &[0; 8]), true)]));
    let both = folder.path("both.npz");
    assert_eq!(out(&["convert", &source, &archive, "-o", &both]), "");
    assert_eq!(File::open(&fs::read(&both).unwrap()).unwrap().tensor_count(), 2);
    let refused = run(&["convert", &both, "-o", &folder.path("two.npy")]);
    assert!(refused.status == 1 && refused.err.contains("this format holds one tensor, not 2"), "{}", refused.err);
}

#[test]
fn tensors_are_chosen_renamed_and_converted() {
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let path = folder.path("out.safetensors");
    let convert = |options: &[&str]| {
        let all = [&["convert", &source, "-o", &path, "--force"], options].concat();
        let run = run(&all);
        assert_eq!(run.status, 0, "{}", run.err);
        let bytes = fs::read(&path).unwrap();
        let file = File::open(&bytes).unwrap();
        let names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
        let dtypes: Vec<_> = file.tensors().map(|tensor| tensor.dtype().unwrap()).collect();
        (names, dtypes)
    };
    let (all, _) = convert(&[]);
    assert!(all.len() > 2);
    let (weights, _) = convert(&["--only", "*weight"]);
    assert!(weights.len() < all.len() && weights.iter().all(|name| name.ends_with("weight")));
    let (others, _) = convert(&["--exclude", "*weight"]);
    assert_eq!(others.len() + weights.len(), all.len());
    let (renamed, _) = convert(&["--only", "*weight", "--rename", "s/weight/w/"]);
    assert!(renamed.iter().all(|name| name.ends_with('w')), "{renamed:?}");
    let (_, dtypes) = convert(&["--dtype", "bf16"]);
    assert!(dtypes.iter().all(|dtype| *dtype == DType::BF16), "{dtypes:?}");
    let clash = run(&["convert", &source, "-o", &path, "--force", "--rename", "s/.*/same/"]);
    assert!(clash.status == 1 && clash.err.contains("two tensors are named \"same\""), "{}", clash.err);
    let large =
        folder.write("large.npy", &npy("'<f8'", false, "(2,)", &[0.0_f64, 1e300].map(f64::to_le_bytes).concat()));
    let infinite = run(&["convert", &large, "-o", &folder.path("x.npy"), "--dtype", "f16"]);
    assert!(
        infinite.err.contains("tensor \"large\": element 1 is finite and would become infinite"),
        "{}",
        infinite.err
    );
}

#[test]
fn dimensions_are_permuted() {
    let folder = Folder::new();
    let source = folder.write("a.npy", &npy("'|u1'", false, "(2, 3, 1, 2)", &(0..12).collect::<Vec<u8>>()));
    let path = folder.path("b.npy");
    assert_eq!(out(&["convert", &source, "-o", &path, "--permute", "0,2,3,1"]), "");
    let bytes = fs::read(&path).unwrap();
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("").unwrap();
    assert!(tensor.shape() == [2, 1, 2, 3]);
    assert_eq!(elements(&tensor), [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
    assert_eq!(run(&["convert", &source, "-o", &path, "--permute", "0,0"]).status, 2);
}

/// Nothing is half written, nothing is replaced by accident.
#[test]
fn outputs_are_complete_or_absent() {
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let there = folder.write("there.gguf", b"kept");
    let kept = run(&["convert", &source, "-o", &there]);
    assert!(kept.status == 1 && kept.err.contains("the file exists; pass --force"), "{}", kept.err);
    let refused = run(&["convert", &fixture("v1.2/dense_all_dtypes.zt"), "-o", &there, "--force"]);
    assert!(refused.status == 1 && refused.err.contains("the format has no dtype"), "{}", refused.err);
    assert_eq!(fs::read(&there).unwrap(), b"kept");
    assert_eq!(folder.names(), ["there.gguf"]);
    let ending = run(&["convert", &source, "-o", &folder.path("x.bin")]);
    assert!(ending.status == 1 && ending.err.contains("pass --format"), "{}", ending.err);
    // A file can be converted to itself, and keeps its mode.
    let own = folder.path("own.safetensors");
    fs::copy(&source, &own).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(out(&["convert", &own, "-o", &own, "--force"]), "");
    assert_eq!(fs::read(&own).unwrap(), fs::read(&source).unwrap()); // the reference has written it
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&own).unwrap().permissions()) & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn links_stay_and_their_targets_are_replaced() {
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let target = folder.write("target.zt", b"old");
    let link = folder.path("link.zt");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(out(&["convert", &source, "-o", &link, "--force"]), "");
    assert!(Path::new(&link).is_symlink());
    assert_eq!(File::open(&fs::read(&target).unwrap()).unwrap().format(), Format::Ztensor2);
    assert_eq!(folder.names(), ["link.zt", "target.zt"]);
}

#[test]
fn attributes_that_are_lost_are_named() {
    let folder = Folder::new();
    let source = fixture("gguf/kv_all_types.gguf");
    let lost = run(&["convert", &source, "-o", &folder.path("a.npz")]);
    assert_eq!(lost.status, 0);
    let keys = File::open(&fs::read(&source).unwrap()).unwrap().attributes().count();
    assert_eq!(lost.err.lines().filter(|line| line.contains("is left out: the format cannot hold it")).count(), keys);
    let kept = run(&["convert", &source, "-o", &folder.path("a.safetensors")]);
    // JSON has no NaN and no infinity.
    assert!(kept.status == 0 && kept.err.lines().count() == 2 && kept.err.contains("\"k.f32.nan\" is left out"));
    let again = folder.path("b.gguf");
    assert_eq!(out(&["convert", &source, "-o", &again]), "");
    assert_eq!(fs::read(&again).unwrap(), fs::read(&source).unwrap());
}

#[test]
fn models_are_split_and_merged() {
    for (name, ending) in [("gguf/align_64.gguf", "gguf"), ("safetensors/py_tiny_mlp.safetensors", "safetensors")] {
        let folder = Folder::new();
        let source = fixture(name);
        let path = folder.path(&format!("m.{ending}"));
        assert_eq!(out(&["split", &source, "-o", &path, "--shard-tensors", "1"]), "");
        let tensors = File::open(&fs::read(&source).unwrap()).unwrap().tensor_count() as usize;
        let parts: Vec<String> = folder.names().into_iter().filter(|name| name.ends_with(ending)).collect();
        assert_eq!(parts.len(), tensors);
        assert_eq!(parts[0], format!("m-00001-of-{tensors:05}.{ending}"));
        let index = folder.names().into_iter().find(|name| name.ends_with(".index.json"));
        assert_eq!(index.is_some(), ending == "safetensors");
        let first = folder.path(&index.unwrap_or(parts[0].clone()));
        let whole = folder.path(&format!("whole.{ending}"));
        assert_eq!(out(&["merge", &first, "-o", &whole]), "");
        assert_eq!(fs::read(&whole).unwrap(), fs::read(&source).unwrap(), "{name}");
        // All parts by name are the same model.
        let all: Vec<String> = parts.iter().map(|name| folder.path(name)).collect();
        let mut arguments = vec!["merge", "-o", &whole, "--force"];
        arguments.extend(all.iter().map(String::as_str));
        assert_eq!(out(&arguments), "");
        fs::remove_file(&all[tensors - 1]).unwrap();
        let missing = run(&["merge", &first, "-o", &folder.path("no.gguf")]);
        assert!(missing.status == 1 && !folder.names().contains(&"no.gguf".into()), "{}", missing.err);
        assert_eq!(run(&["split", &source, "-o", &path]).status, 2);
    }
    let refused = run(&["split", &fixture("npz/stored.npz"), "-o", "/there/is/no.npz", "--shard-tensors", "1"]);
    assert!(refused.err.contains("only safetensors and GGUF models"), "{}", refused.err);
}

#[test]
fn files_are_packed_again() {
    let folder = Folder::new();
    let source = fixture("v1.2/dense_all_dtypes.zt");
    let path = folder.path("a.zt");
    assert_eq!(out(&["repack", &source, "-o", &path, "--align", "4096", "--order", "size"]), "");
    let bytes = fs::read(&path).unwrap();
    let file = File::open(&bytes).unwrap();
    let mut extents: Vec<_> = file.tensors().map(|tensor| tensor.data().unwrap().extent()).collect();
    assert!(extents.iter().all(|extent| extent.offset % 4096 == 0));
    extents.sort_by_key(|extent| extent.offset);
    assert!(extents.is_sorted_by_key(|extent| std::cmp::Reverse(extent.length)));
}

#[test]
fn components_are_compressed() {
    let folder = Folder::new();
    let zeros = folder.write("zeros.npy", &npy("'<f4'", false, "(1000, 1000)", &vec![0; 4_000_000]));
    for (format, level) in [("ztensor-2", "3"), ("ztensor-1.2", "19")] {
        let path = folder.path("a.zt");
        assert_eq!(out(&["convert", &zeros, "-o", &path, "--format", format, "--zstd", level, "--force"]), "");
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() < 20_000, "{}", bytes.len());
        let file = File::open(&bytes).unwrap();
        assert!(elements(&file.find("zeros").unwrap()).iter().all(|byte| *byte == 0));
        assert_eq!(run(&["verify", &path]).status, 0);
    }
    let refused = run(&["convert", &zeros, "-o", &folder.path("a.gguf"), "--zstd", "3"]);
    assert!(refused.status == 1 && refused.err.contains("the format cannot hold this encoding"), "{}", refused.err);
}
