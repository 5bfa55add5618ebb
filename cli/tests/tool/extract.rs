use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use tenslice::{Encoding, File, Layout, Order, Purpose, ReadOptions};

use crate::support::{Folder, fixture, npy, npz, out, run, tool};

/// The extracted data is what the library reads, for every tensor of many files.
#[test]
fn the_library_reads_it_back() {
    let files = [
        "v1.2/dense_all_dtypes.zt",
        "v1.2/zstd.zt",
        "v1.2/objects_sparse_quant_logical.zt",
        "v0.1/big_endian.zt",
        "v2/zstd_seekable.zt",
        "safetensors/py_tiny_mlp.safetensors",
        "gguf/be_f32_f16_i64.gguf",
        "b2nd/good/many_tiny_chunks_0.b2nd",
        "npz/stored.npz",
    ];
    let folder = Folder::new();
    let path = folder.path("x.npy");
    let mut extracted = 0;
    for name in files {
        let source = fixture(name);
        let bytes = fs::read(&source).unwrap();
        for tensor in &File::open(&bytes).unwrap() {
            let name = tensor.name().to_string();
            let run = run(&["extract", "--force", &source, &name, "-o", &path]);
            if run.status == 1 {
                assert!(run.err.contains("NPY has no type") || run.err.contains("cannot be read"), "{}", run.err);
                continue;
            }
            let written = fs::read(&path).unwrap();
            let array = File::open(&written).unwrap();
            let array = array.find("").unwrap();
            let mut dense = vec![0; tensor.requirements(Purpose::Read).output.unwrap_or(1 << 20) as usize];
            let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
            let dense = tensor.read_into(&mut dense, ReadOptions::new().scratch(&mut scratch)).unwrap();
            assert_eq!((array.dtype(), array.shape()), (tensor.dtype(), tensor.shape()), "{source} {name}");
            assert!(array.order() == tensor.order() || tensor.layout() != Layout::Dense || tensor.shape().rank() < 2);
            assert!(array.data().unwrap().encoding() == Encoding::Raw);
            assert_eq!(array.data().unwrap().bytes().unwrap(), dense, "{source} {name}");
            extracted += 1;
        }
    }
    assert!(extracted > 30, "{extracted}");
    assert_eq!(folder.names(), ["x.npy"]);
}

#[test]
fn quantized_numbers_are_those_of_ggml() {
    let folder = Folder::new();
    for block in ["q4_k", "q8_0", "iq2_xs"] {
        let source = fixture(&format!("gguf-blocks/{block}.gguf"));
        let expected = fs::read(fixture(&format!("gguf-blocks/{block}.f32"))).unwrap();
        let bytes = fs::read(&source).unwrap();
        let mut all = Vec::new();
        for tensor in &File::open(&bytes).unwrap() {
            let name = tensor.name().to_string();
            let path = folder.path("x.bin");
            out(&["extract", "--f32", "--force", &source, &name, "-o", &path]);
            all.extend(fs::read(&path).unwrap());
            let run = run(&["extract", "--force", &source, &name, "-o", &path]);
            assert!(run.status == 1 && run.err.contains("--f32"), "{}", run.err);
        }
        assert!(all == expected, "{block}");
    }
}

#[test]
fn types_that_numpy_lacks_become_f32() {
    let folder = Folder::new();
    let source = fixture("v1.2/dense_all_dtypes.zt");
    let bytes = fs::read(&source).unwrap();
    let path = folder.path("x.npy");
    let mut converted = 0;
    for tensor in &File::open(&bytes).unwrap() {
        let mut numbers = vec![0.0; tensor.shape().element_count().unwrap() as usize];
        let name = tensor.name().to_string();
        let run = run(&["extract", "--f32", "--force", &source, &name, "-o", &path]);
        match tensor.read_f32_into(&mut numbers, ReadOptions::new()) {
            Ok(numbers) => {
                let written = fs::read(&path).unwrap();
                let array = File::open(&written).unwrap().find("").unwrap().data().unwrap();
                let same = array.elements::<f32>().unwrap().zip(&*numbers).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same && run.status == 0, "{name}: {}", run.err);
                converted += 1;
            }
            Err(_) => assert_eq!(run.status, 1, "{name}"),
        }
    }
    assert!(converted > 8);
}

#[test]
fn to_standard_output() {
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let run = run(&["extract", &source, "fc1.bias", "-o", "-", "--format", "bin"]);
    assert_eq!((run.status, run.bytes.len()), (0, 64));
    let run = crate::support::run(&["extract", &source, "fc1.bias", "-o", "-", "--format", "npy"]);
    let array = File::open(&run.bytes).unwrap().find("").unwrap();
    assert_eq!((array.order(), run.bytes.len()), (Order::RowMajor, 128 + 64));
}

/// An output whose name states no format is refused before anything is written.
#[test]
fn the_format_is_never_guessed() {
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    for name in ["x.csv", "x", "x.npz", ".npy", "x.bin.gz"] {
        let path = folder.path(name);
        let refused = run(&["extract", &source, "fc1.bias", "-o", &path]);
        assert_eq!((refused.status, refused.bytes.len()), (1, 0), "{name}");
        for word in [".npy", ".bin", "--format"] {
            assert!(refused.err.contains(word), "{name}: {}", refused.err);
        }
        assert!(folder.names().is_empty(), "{name}");
        out(&["extract", &source, "fc1.bias", "-o", &path, "--format", "bin"]);
        assert_eq!(fs::read(&path).unwrap().len(), 64, "{name}");
        fs::remove_file(&path).unwrap();
    }
    let refused = run(&["extract", &source, "fc1.bias", "-o", "-"]);
    assert_eq!((refused.status, refused.bytes.len()), (1, 0));
    assert!(refused.err.contains("--format npy"), "{}", refused.err);
    for (name, length) in [("X.NPY", 192), ("X.Bin", 64)] {
        out(&["extract", &source, "fc1.bias", "-o", &folder.path(name)]);
        assert_eq!(fs::read(folder.path(name)).unwrap().len(), length, "{name}");
    }
}

/// The elements of a column-major array keep their indices, whatever the order in which they are written.
#[test]
fn the_order_travels() {
    let folder = Folder::new();
    let mut converted = 0;
    let names = ["fortran_5d", "fortran_be", "fortran_struct", "dt_be_U2_fortran"];
    let arrays = names.map(|name| (format!("npy/{name}.npy"), ""));
    let array = npy("'<i2'", true, "(2, 3)", &[0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5, 0]);
    let archive = folder.write("a.npz", &npz(&[("f", &array, true), ("s", &array, false)]));
    let others = [("tens/good/dense_f64_20x30x10.tens".into(), ""), (archive.clone(), "f"), (archive, "s")];
    for (name, tensor) in arrays.into_iter().chain(others) {
        let source = if name.ends_with("npz") { name.clone() } else { fixture(&name) };
        let [column, row] = ["c.bin", "r.bin"].map(|name| folder.path(name));
        let as_is = run(&["extract", &source, tensor, "-o", &column, "--force"]);
        assert_eq!(as_is.status, 0, "{name}: {}", as_is.err);
        // A conversion prints no note.
        assert_eq!(out(&["extract", &source, tensor, "-o", &row, "--force", "--row-major"]), "", "{name}");
        let [column, row] = [column, row].map(|path| fs::read(path).unwrap());
        let record: serde_json::Value = serde_json::from_str(&out(&["list", "--json", "--digest", &source])).unwrap();
        let tensors = record["tensors"].as_array().unwrap();
        let record = tensors.iter().find(|record| record["name"] == tensor).unwrap();
        let shape: Vec<usize> =
            record["shape"].as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect();
        assert_eq!(record["order"], "column-major", "{name}");
        assert!(as_is.err.contains("column-major"), "{name}: {}", as_is.err);
        assert!(out(&["list", "--digest", &source]).contains(", column-major"), "{name}");
        let count: usize = shape.iter().product();
        let size = column.len() / count.max(1);
        for element in 0..count {
            let (mut rest, mut number, mut stride) = (element, 0, count);
            for length in shape.iter().rev() {
                stride /= length;
                number += rest % length * stride;
                rest /= length;
            }
            let [row, column] = [(&row, element), (&column, number)].map(|(all, i)| &all[i * size..][..size]);
            assert_eq!(row, column, "{name}: {element} of {shape:?}");
        }
        converted += usize::from(row != column);
        if record["dtype"].is_string() {
            let path = folder.path("x.npy");
            for (options, order) in [(&[][..], Order::ColumnMajor), (&["--row-major"], Order::RowMajor)] {
                let arguments = ["extract", &source, tensor, "-o", &path, "--force"];
                out(&arguments.iter().chain(options).collect::<Vec<_>>());
                let written = fs::read(&path).unwrap();
                let array = File::open(&written).unwrap().find("").unwrap();
                assert_eq!(array.order(), order, "{name} {options:?}");
                let expected = if order == Order::RowMajor { &row } else { &column };
                assert_eq!(array.data().unwrap().bytes().unwrap(), expected, "{name} {options:?}");
            }
        }
    }
    assert_eq!(converted, 7);
}

/// More than the 64 MiB that are converted at a time, in whole rows and in parts of a row.
#[test]
fn a_large_array_changes_its_order() {
    let folder = Folder::new();
    // More bytes than are held at a time, in elements of two numbers.
    let element = |number: u64| [number, !number];
    for (rows, columns) in [(1500_u64, 3000), (2, 2_250_000), (2_250_000, 2)] {
        let mut bytes = npy("'>c16'", true, &format!("({rows}, {columns})"), &[]);
        for column in 0..columns {
            for row in 0..rows {
                bytes.extend_from_slice(element(row * columns + column).map(u64::to_be_bytes).as_flattened());
            }
        }
        let source = folder.write("f.npy", &bytes);
        let path = folder.path("x.bin");
        out(&["extract", &source, "-o", &path, "--row-major", "--force"]);
        let written = fs::read(&path).unwrap();
        let numbers = written.chunks_exact(8).map(|x| u64::from_ne_bytes(x.try_into().unwrap()));
        assert!(numbers.eq((0..rows * columns).flat_map(element)), "{rows} {columns}");
    }
}

#[test]
fn a_file_that_exists_is_kept() {
    let folder = Folder::new();
    let path = folder.write("x.npy", b"mine");
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let run = run(&["extract", &source, "fc1.bias", "-o", &path]);
    assert_eq!((run.status, fs::read(&path).unwrap()), (1, b"mine".to_vec()));
    assert!(run.err.contains("--force"), "{}", run.err);
    assert_eq!(out(&["extract", "--force", &source, "fc1.bias", "-o", &path]), "");
    assert_eq!((fs::read(&path).unwrap().len(), folder.names().len()), (192, 1));
}

#[test]
fn a_failure_leaves_nothing() {
    let folder = Folder::new();
    let mut bytes = fs::read(fixture("b2nd/good/many_tiny_chunks_0.b2nd")).unwrap();
    let data = {
        let file = File::open(&bytes).unwrap();
        file.find("").unwrap().components().next().unwrap().extent()
    };
    bytes[(data.offset + data.length / 2) as usize..][..64].fill(0xff);
    let source = folder.write("damaged.b2nd", &bytes);
    let run = run(&["extract", &source, "-o", &folder.path("x.npy")]);
    assert_eq!(run.status, 1, "{}", run.out);
    assert_eq!(folder.names(), ["damaged.b2nd"]);
    let run = crate::support::run(&["extract", &source, "-o", &folder.path("no/such/folder/x.npy")]);
    assert!(run.status == 1 && run.err.contains("x.npy"), "{}", run.err);
}

/// Interrupts the writing of an 8 GiB file, which takes a while, as soon as it has begun.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_nothing() {
    let folder = Folder::new();
    let dict =
        format!("{:<117}\n", format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", 1_u64 << 30));
    let source = folder.write("huge.npy", &[&b"\x93NUMPY\x01\x00\x76\x00"[..], dict.as_bytes()].concat());
    fs::OpenOptions::new().write(true).open(&source).unwrap().set_len(128 + (8 << 30)).unwrap();
    for signal in ["-INT", "-TERM"] {
        let mut child = tool().args(["extract", &source, "-o", &folder.path("x.npy")]).spawn().unwrap();
        while folder.names().len() < 2 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it began to write");
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(50));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(folder.names(), ["huge.npy"], "{signal}");
    }
}
