use std::fs;

use crate::support::{Folder, fixture, npy, npz, out, run};

#[test]
fn the_same_in_other_formats() {
    let text = out(&[
        "diff",
        &fixture("safetensors/py_tiny_mlp.safetensors"),
        &fixture("safetensors/py_tiny_mlp.safetensors"),
    ]);
    assert_eq!(text, "4 tensors the same, 0 differ\n");
    let folder = Folder::new();
    let npy = folder.path("x.npy");
    out(&["extract", &fixture("b2nd/good/many_tiny_chunks_0.b2nd"), "-o", &npy]);
    assert_eq!(out(&["diff", &fixture("b2nd/good/many_tiny_chunks_0.b2nd"), &npy]), "1 tensor the same, 0 differ\n");
}

#[test]
fn the_largest_difference_and_the_first() {
    let folder = Folder::new();
    let array = |numbers: &[f32]| {
        let dict = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        [&b"\x93NUMPY\x01\x00\x76\x00"[..], dict.as_bytes(), &data].concat()
    };
    let a = folder.write("a.npy", &array(&[0.0, 1.0, 2.0, f32::NAN, 4.0, 5.0]));
    let b = folder.write("b.npy", &array(&[-0.0, 1.25, 2.0, f32::NAN, 2.0, 5.0]));
    let run = run(&["diff", &a, &b]);
    let expected = "! \"\": 2 of 6 values differ, first at [0, 1] (1.0, 1.25), the most by 2.0 at [1, 1] (4.0, 2.0)\n    mean 0.450, L2 2.016, relative L2 0.297, cosine 0.959290\n";
    assert_eq!((run.status, run.out), (1, format!("{expected}0 tensors the same, 1 differs\n")));
    assert_eq!(crate::support::run(&["diff", "--tolerance", "2", &a, &b]).status, 0);
    assert_eq!(crate::support::run(&["diff", "--atol", "1.5", "--rtol", "0.25", &a, &b]).status, 0);
    assert_eq!(crate::support::run(&["diff", "--rtol", "0.99", &a, &b]).status, 1);
    assert_eq!(crate::support::run(&["diff", "--rtol", "1", &a, &b]).status, 0);
    assert_eq!(crate::support::run(&["diff", "--no-values", &a, &b]).status, 0);
    // No number is near to an infinite one.
    let infinite = folder.write("infinite.npy", &array(&[-0.0, 1.25, 2.0, f32::NAN, f32::INFINITY, 5.0]));
    assert_eq!(crate::support::run(&["diff", "--rtol", "9", &b, &infinite]).status, 1);
    let c = folder.write("c.npy", &array(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    let run = crate::support::run(&["diff", &a, &c]);
    assert!(run.out.contains("1 of 6 values differ, first at [1, 0] (NaN, 3.0), the most by inf"), "{}", run.out);
}

#[test]
fn names_shapes_and_dtypes() {
    let text = run(&["diff", &fixture("v1.2/converted_safetensors.zt"), &fixture("v2/converted_safetensors.zt")]);
    assert_eq!(text.status, 1);
    assert!(text.out.contains("+ d.fp8: f8_e4m3fn [2, 2], only in "), "{}", text.out);
    let text = run(&["diff", &fixture("v1.2/scalar_rank0.zt"), &fixture("v1.2/rank_high.zt")]);
    assert!(text.status == 1 && text.out.contains("- ") && text.out.contains("+ "), "{}", text.out);
    // Arrays have the same empty name, even if their shapes and types differ.
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let [a, b] = [("fc1.bias", "a.npy"), ("fc2.weight", "b.npy")].map(|(name, file)| {
        out(&["extract", &source, name, "-o", &folder.path(file)]);
        folder.path(file)
    });
    let text = run(&["diff", &a, &b]);
    assert!(text.status == 1 && text.out.starts_with("! \"\": shape [16], [4, 16]\n"), "{}", text.out);
}

#[test]
fn integers_of_64_bits_are_compared_exactly() {
    let folder = Folder::new();
    let array = |number: i64| {
        let dict = format!("{:<117}\n", "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }");
        [&b"\x93NUMPY\x01\x00\x76\x00"[..], dict.as_bytes(), &number.to_le_bytes()].concat()
    };
    let [a, b] = [(i64::MAX, "a.npy"), (i64::MAX - 1, "b.npy")].map(|(x, name)| folder.write(name, &array(x)));
    let differing = run(&["diff", &a, &b]);
    let (x, y) = (i64::MAX, i64::MAX - 1);
    let expected = format!("1 of 1 value differ, first at [0] ({x}, {y}), the most by 1 at [0] ({x}, {y})");
    assert!(differing.status == 1 && differing.out.contains(&expected), "{}", differing.out);
    assert_eq!(run(&["diff", &a, &b, "--tolerance", "1"]).status, 0);
    let least = folder.write("c.npy", &array(i64::MIN));
    let differing = run(&["diff", &a, &least]);
    assert!(differing.out.contains("the most by 18446744073709551615 at"), "{}", differing.out);
}

/// The differences between two arrays, which are NPY files.
fn compared(a: &[u8], b: &[u8], options: &[&str]) -> (i32, String) {
    let folder = Folder::new();
    let [a, b] = [("a.npy", a), ("b.npy", b)].map(|(name, bytes)| folder.write(name, bytes));
    let run = run(&["diff", &a, &b].iter().copied().chain(options.iter().copied()).collect::<Vec<_>>());
    assert_eq!(run.err, "");
    (run.status, run.out)
}

/// The same bytes are different elements if their types differ.
#[test]
fn what_the_elements_are_is_compared() {
    let bytes = [7_u8, 0, 0, 0, 0, 0, 0, 0];
    let record = "[('x', '<i4'), ('y', '<f4')]";
    let others = [
        ("'<M8[D]'", "'<M8[s]'"),
        ("'<m8[s]'", "'<M8[s]'"),
        ("'<U2'", "'|S8'"),
        ("'|V8'", "'|S8'"),
        (record, "[('y', '<i4'), ('x', '<f4')]"),
        (record, "[('x', '<f4'), ('y', '<i4')]"),
        (record, "[('x', '<i4'), ('z', '<f4')]"),
        (record, "'|V8'"),
    ];
    for (a, b) in others {
        let arrays = [a, b].map(|descr| npy(descr, false, "(1,)", &bytes));
        let archives = [false, true].map(|is_deflated| {
            let [a, b] = [0, 1].map(|i| npz(&[("x", &arrays[i], is_deflated)]));
            (a, b)
        });
        for options in [&[][..], &["--no-values"]] {
            let [(a1, b1), (a2, b2)] = &archives;
            for (x, y) in [(&arrays[0], &arrays[1]), (a1, b1), (a2, b2), (a1, a2)] {
                let (status, text) = compared(x, y, options);
                let is_same = std::ptr::eq(x, a1) && std::ptr::eq(y, a2);
                let named = [a, b].map(|descr| text.contains(descr.trim_matches('\'')));
                assert_eq!((status, named), (i32::from(!is_same), [!is_same; 2]), "{a} {b} {options:?}: {text}");
            }
            assert_eq!(compared(&arrays[0], &arrays[0], options).0, 0);
        }
    }
    // The type is found in an archive even if the name of a field looks like the start of a header.
    let [a, b] = ["<i8", "<M8[s]"].map(|descr| {
        let mut array = npy(&format!("[('xNUMPY', '{descr}')]"), false, "(1,)", &bytes);
        let at = array.windows(6).position(|window| window == b"xNUMPY").unwrap();
        array[at] = 0x93;
        npz(&[("x", &array, false)])
    });
    let (status, text) = compared(&a, &b, &[]);
    assert!(status == 1 && text.contains("<M8[s]"), "{text}");
    // A Blosc2 frame states its type in the same notation.
    let folder = Folder::new();
    let frame = fixture("b2nd/good/dt_dt_us_lz4_0.b2nd");
    let path = folder.path("x.bin");
    out(&["extract", &frame, "-o", &path]);
    let items = fs::read(&path).unwrap();
    let record: serde_json::Value = serde_json::from_str(&out(&["list", "--json", &frame])).unwrap();
    let shape = record["tensors"][0]["shape"].to_string().replace('[', "(").replace(']', ",)");
    for (unit, status) in [("us", 0), ("ns", 1)] {
        let array = folder.write("x.npy", &npy(&format!("'<M8[{unit}]'"), false, &shape, &items));
        assert_eq!(run(&["diff", &frame, &array]).status, status, "{unit}");
        assert_eq!(run(&["diff", &array, &frame, "--no-values"]).status, status, "{unit}");
    }
}

/// Byte order is not a difference, whatever the type is.
#[test]
fn byte_order_is_no_difference() {
    let types = [
        ("M8[ms]", 8, vec![8]),
        ("U2", 8, vec![4, 4]),
        ("f4", 4, vec![4]),
        ("c8", 8, vec![4, 4]),
        ("[('a', '|S3'), ('b', '*i2', (2,)), ('c', '*f8')]", 15, vec![1, 1, 1, 2, 2, 8]),
    ];
    for (descr, size, lanes) in types {
        let little: Vec<u8> = (1..=2 * size).collect();
        let mut big = little.clone();
        for element in big.chunks_mut(size.into()) {
            let mut rest = element;
            for lane in &lanes {
                rest[..*lane].reverse();
                rest = &mut rest[*lane..];
            }
        }
        let array = |order: &str, items: &[u8]| {
            let descr = if descr.contains('*') { descr.replace('*', order) } else { format!("'{order}{descr}'") };
            npy(&descr, false, "(2,)", items)
        };
        let (a, b) = (array("<", &little), array(">", &big));
        assert_eq!(compared(&a, &b, &[]), (0, "1 tensor the same, 0 differ\n".into()), "{descr}");
        let (status, text) = compared(&a, &array(">", &little), &[]);
        assert!(status == 1 && text.contains("2 of 2 values differ"), "{descr}: {text}");
    }
}

/// Quantized blocks of different types are different elements, even if the numbers are equal.
#[test]
fn quantized_types_are_compared() {
    let folder = Folder::new();
    let file = |ggml: u32, length: usize, name: &str| {
        let mut bytes = [&b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0"[..], &[0; 8], &[1, 0, 0, 0, 0, 0, 0, 0], b"w"].concat();
        bytes.extend([&1_u32.to_le_bytes()[..], &32_u64.to_le_bytes(), &ggml.to_le_bytes(), &[0; 8]].concat());
        bytes.resize(bytes.len().next_multiple_of(32) + length, 0);
        folder.write(name, &bytes)
    };
    let [q4_0, q4_1, iq4_nl, f32] = [(2, 18, "a"), (3, 20, "b"), (20, 18, "c"), (0, 128, "d")]
        .map(|(ggml, length, name)| file(ggml, length, name));
    for (other, name) in [(&q4_1, "gguf.q4_1"), (&iq4_nl, "gguf.iq4_nl"), (&f32, "f32")] {
        for options in [&[][..], &["--no-values"]] {
            let arguments = ["diff", &q4_0, other];
            let differing = run(&arguments.iter().chain(options).collect::<Vec<_>>());
            let expected = format!("! w: dtype gguf.q4_0, {name}\n0 tensors the same");
            assert!(differing.status == 1 && differing.out.starts_with(&expected), "{}", differing.out);
        }
    }
    assert_eq!(run(&["diff", &q4_0, &q4_0]).status, 0);
}

/// Attributes of tensors are compared, because they say what the numbers mean.
#[test]
fn attributes_are_compared() {
    let folder = Folder::new();
    let changed = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = fs::read(fixture(name)).unwrap();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + from.len()].copy_from_slice(to);
        folder.write("x.zt", &bytes)
    };
    let cases = [
        ("v0.1/custom_fields.zt", &b"eepoch\x03"[..], &b"eepoch\x04"[..], "attribute \"epoch\" 3, 4"),
        ("v0.1/custom_fields.zt", b"blr\xf9\x30", b"blr\xf9\x34", "attribute \"lr\" 0.125, 0.25"),
        ("v0.1/custom_fields.zt", b"eepoch\x03", b"eApoch\x03", "attribute \"Apoch\" none, 3"),
        ("v1.2/objects_sparse_quant_logical.zt", b"dbits\x04", b"dbits\x08", "attribute \"bits\" 4, 8"),
    ];
    for (name, from, to, expected) in cases {
        let other = changed(name, from, to);
        for options in [&[][..], &["--no-values"]] {
            let original = fixture(name);
            let arguments = ["diff", &original, &other];
            let differing = run(&arguments.iter().chain(options).collect::<Vec<_>>());
            assert_eq!(differing.status, 1, "{name}: {}", differing.out);
            assert!(differing.out.contains(expected), "{name}: {}", differing.out);
        }
    }
    // If one format has no attributes, only attributes that say what the numbers mean are a difference.
    let bytes = fs::read(fixture("v0.1/custom_fields.zt")).unwrap();
    let arrays = [npy("'<f4'", false, "(2, 2)", &bytes[64..80]), npy("'|u1'", false, "(1,)", &bytes[128..129])];
    let archive = folder.write("x.npz", &npz(&[("with_custom", &arrays[0], false), ("plain", &arrays[1], false)]));
    let text = out(&["diff", &fixture("v0.1/custom_fields.zt"), &archive]);
    assert!(text.starts_with("note: 1 tensor with attributes in one file;"), "{text}");
    let scaled = changed("v0.1/custom_fields.zt", b"eepoch\x03", b"escale\x03");
    let differing = run(&["diff", &archive, &scaled]);
    assert!(differing.status == 1 && differing.out.contains("attribute \"scale\" none, 3"), "{}", differing.out);
}

/// Elements are compared by index, regardless of the order in which they are stored.
#[test]
fn orders_are_compared_by_index() {
    let column = |numbers: &[u16]| {
        npy("'<u2'", true, "(2, 3)", &numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
    };
    let row = |numbers: &[u16]| {
        npy("'>u2'", false, "(2, 3)", &numbers.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<_>>())
    };
    let same = row(&[0, 1, 2, 3, 4, 5]);
    let note = "note: 1 tensor row-major in one file and column-major in the other: compared by index\n";
    let by_column = column(&[0, 3, 1, 4, 2, 5]);
    assert_eq!(compared(&by_column, &same, &[]), (0, format!("{note}1 tensor the same, 0 differ\n")));
    assert_eq!(compared(&same, &by_column, &[]).0, 0);
    assert_eq!(compared(&by_column, &by_column, &[]), (0, "1 tensor the same, 0 differ\n".into()));
    let (status, text) = compared(&by_column, &row(&[0, 1, 9, 3, 5, 5]), &[]);
    let expected = "! \"\": 2 of 6 values differ, first at [0, 2] (2, 9), the most by 7.0 at [0, 2] (2, 9)\n";
    assert!(status == 1 && text.starts_with(expected), "{text}");
    // The same bytes in a different order are different elements.
    let (status, text) = compared(&column(&[0, 1, 2, 3, 4, 5]), &same, &[]);
    assert!(status == 1 && text.contains("4 of 6 values differ, first at [0, 1] (2, 1)"), "{text}");
    // The arrays in archives, compressed or not.
    for is_deflated in [false, true] {
        let [a, b] = [&by_column, &same].map(|array| npz(&[("x", array, is_deflated)]));
        assert_eq!(compared(&a, &b, &[]).0, 0, "{is_deflated}");
    }
}

/// More elements than are held at a time.
#[test]
fn large_arrays_of_both_orders() {
    const SHAPE: [u32; 3] = [300, 7, 2250];
    let number = |i: u32, j: u32, k: u32| (i * SHAPE[1] + j) * SHAPE[2] + k;
    let element = |number: u32| [number, !number].map(|part| f64::from(part).to_le_bytes());
    let mut column = Vec::new();
    for (k, j) in (0..SHAPE[2]).flat_map(|k| (0..SHAPE[1]).map(move |j| (k, j))) {
        (0..SHAPE[0]).for_each(|i| column.extend_from_slice(element(number(i, j, k)).as_flattened()));
    }
    let mut row = Vec::new();
    (0..SHAPE.iter().product()).for_each(|number| row.extend_from_slice(element(number).as_flattened()));
    let shape = "(300, 7, 2250)";
    let column = npy("'<c16'", true, shape, &column);
    assert_eq!(compared(&column, &npy("'<c16'", false, shape, &row), &[]).0, 0);
    let at = number(299, 3, 17) as usize * 16;
    row[at] ^= 1;
    let (status, text) = compared(&column, &npy("'<c16'", false, shape, &row), &[]);
    assert!(status == 1 && text.contains("1 of 4725000 values differ, first at [299, 3, 17] ("), "{text}");
}

/// A tensor whose bytes are in a missing shard is not equal to anything.
#[test]
fn a_missing_shard_is_no_match() {
    let folder = Folder::new();
    let [a, b] = ["a.zt", "b.zt"].map(|name| folder.write(name, &fs::read(fixture("v2/shards.zt")).unwrap()));
    let differing = run(&["diff", &a, &b]);
    assert!(differing.status == 1 && differing.out.contains("base.w: not compared: "), "{differing:?}");
    assert!(differing.out.ends_with("1 tensor the same, 0 differ, 4 not compared\n"), "{differing:?}");
}

/// Several tensors with the same name are compared in their order.
#[test]
fn a_name_may_be_there_twice() {
    let file = fixture("v0.1/duplicate_names.zt");
    assert!(out(&["diff", &file, &file]).ends_with("tensors the same, 0 differ\n"));
}

/// The tensors that differ the most come first, after those that differ in other ways than values.
#[test]
fn the_largest_differences_are_first() {
    let floats = |numbers: &[f32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        npy("'<f4'", false, &format!("({},)", numbers.len()), &bytes)
    };
    let model = |a: f32, b: f32, c: &[f32]| {
        npz(&[("a", &floats(&[1.0, a]), false), ("b", &floats(&[1.0, b]), true), ("c", &floats(c), false)])
    };
    let (status, text) = compared(&model(1.0, 1.0, &[1.0]), &model(1.5, 3.0, &[1.0, 2.0]), &[]);
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with('!')).map(|line| &line[2..3]).collect();
    assert_eq!((status, names), (1, vec!["c", "b", "a"]), "{text}");
    let (status, text) = compared(&model(1.0, 1.0, &[1.0]), &model(1.5, 3.0, &[1.0]), &["--json"]);
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &record["same"], &record["different"]), (1, &1.into(), &2.into()));
    let values = &record["tensors"][1]["values"];
    assert_eq!((&values["count"], &values["max"], &values["l2"]), (&1.into(), &"2.0".into(), &2.0.into()));
    assert_eq!(values["first"], serde_json::json!({"index": [1], "a": "1.0", "b": "3.0"}));
}

/// Metadata is compared between files of the same format.
#[test]
fn metadata_is_compared() {
    let folder = Folder::new();
    let [a, b] = ["a.gguf", "b.gguf"].map(|name| folder.path(name));
    for path in [&a, &b] {
        fs::copy(fixture("gguf-blocks/q4_k.gguf"), path).unwrap();
    }
    out(&["set", &b, "general.name=Other", "general.quantization_version=3"]);
    let differing = run(&["diff", &a, &b]);
    assert_eq!(differing.status, 1);
    assert!(differing.out.contains("! metadata \"general.quantization_version\": 2, 3\n"), "{}", differing.out);
    assert!(differing.out.contains("! metadata \"general.name\": none, \"Other\"\n"), "{}", differing.out);
    assert!(out(&["diff", "--no-metadata", &a, &b]).ends_with("3 tensors the same, 0 differ\n"));
    let json = run(&["diff", "--json", &a, &b]).out;
    let record: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["metadata"][0], serde_json::json!({"key": "general.quantization_version", "a": 2, "b": 3}));
    // The parts of a model state how it is divided.
    out(&["split", "--shard-tensors", "1", &a, "-o", &folder.path("parts.gguf")]);
    assert_eq!(run(&["diff", &a, &folder.path("parts-00001-of-00003.gguf")]).status, 0);
    // Another format has other keys.
    let converted = folder.path("a.safetensors");
    out(&["convert", &fixture("safetensors/py_tiny_mlp.safetensors"), "-o", &folder.path("c.zt")]);
    out(&["convert", &folder.path("c.zt"), "-o", &converted]);
    assert_eq!(run(&["diff", &folder.path("c.zt"), &fixture("safetensors/py_tiny_mlp.safetensors")]).status, 0);
}

/// A folder with one model is that model. Other folders are compared file by file.
#[test]
fn folders_are_compared() {
    let (a, b) = (Folder::new(), Folder::new());
    let [path_a, path_b] = [&a, &b].map(|folder| folder.as_path().to_str().unwrap());
    let array = |x: u8| npy("'|u1'", false, "(1,)", &[x]);
    a.write("x.npy", &array(1));
    let one = b.write("other-name.npy", &array(1));
    assert_eq!(out(&["diff", path_a, path_b]), "1 tensor the same, 0 differ\n");
    assert_eq!(out(&["diff", path_a, &one]), "1 tensor the same, 0 differ\n");
    a.write("y.npy", &array(2));
    b.write("y.npy", &array(3));
    let differing = run(&["diff", path_a, path_b]);
    assert_eq!(differing.status, 1);
    assert!(differing.out.contains("! \"\": 1 of 1 value differ"), "{}", differing.out);
    assert!(differing.out.contains("x.npy: the other folder has no such file\n"), "{}", differing.out);
    assert!(differing.out.contains("+ ") && differing.out.contains("other-name.npy: the other"), "{}", differing.out);
    let empty = Folder::new();
    assert_eq!(run(&["diff", path_a, empty.as_path().to_str().unwrap()]).status, 2);
}

#[test]
fn a_refused_file_is_2() {
    let bad = fixture("bad/v1.2/end_past_eof.zt");
    let run = run(&["diff", &fixture("v1.2/append.zt"), &bad]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("end_past_eof.zt"));
    assert!(fs::metadata(bad).is_ok());
}
