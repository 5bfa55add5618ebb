use std::fs;

use crate::support::{Folder, fixture, out, run};

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
    let expected =
        "! \"\": 2 of 6 values differ, first at [0, 1] (1.0, 1.25), the most by 2.0 at [1, 1] (4.0, 2.0)\n";
    assert_eq!((run.status, run.out), (1, format!("{expected}0 tensors the same, 1 differs\n")));
    assert_eq!(crate::support::run(&["diff", "--tolerance", "2", &a, &b]).status, 0);
    assert_eq!(crate::support::run(&["diff", "--no-values", &a, &b]).status, 0);
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
    // Of one name and of other shapes and types: arrays have no names.
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

#[test]
fn a_refused_file_is_2() {
    let bad = fixture("bad/v1.2/end_past_eof.zt");
    let run = run(&["diff", &fixture("v1.2/append.zt"), &bad]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("end_past_eof.zt"));
    assert!(fs::metadata(bad).is_ok());
}
