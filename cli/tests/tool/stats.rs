//! Statistics of all tensors.

use serde_json::Value;

use crate::support::{Folder, blz, fixture, fixtures, npy, npz, out, run};

fn floats(numbers: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("'<f4'", false, &format!("({},)", numbers.len()), &bytes)
}

fn record(arguments: &[&str]) -> Value {
    serde_json::from_str(&run(arguments).out).unwrap()
}

#[test]
fn all_tensors_in_one_table() {
    let folder = Folder::new();
    let longs: Vec<u8> = [i64::MIN, 0, i64::MAX].iter().flat_map(|x| x.to_le_bytes()).collect();
    let file = folder.write(
        "a.npz",
        &npz(&[
            ("w", &floats(&[1.0, 0.0, -3.0, f32::NAN, f32::INFINITY]), false),
            ("deflated", &floats(&[2.0, 4.0]), true),
            ("n", &npy("'<i8'", false, "(3,)", &longs), false),
            ("text", &npy("'<U1'", false, "(1,)", &[65, 0, 0, 0]), false),
        ]),
    );
    let text = out(&["stats", &file]);
    assert!(text.lines().next().unwrap().ends_with("4 tensors, 10 numbers, 1 NaN, 1 infinite"), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().skip(1).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("w"), ["f32", "-3.000", "1.000", "-0.667", "1.700", "1", "1", "1"]);
    assert_eq!(row("deflated"), ["f32", "2.000", "4.000", "3.000", "1.000", "0", "0", "0"]);
    assert_eq!(row("n")[..3], ["i64", "-9223372036854775808", "9223372036854775807"]);
    assert_eq!(row("text"), ["<U1", "-", "-", "-", "-", "-", "-", "-"]);
    let json = record(&["stats", "--json", &file]);
    let all = &json["tensors"][2]["statistics"];
    assert_eq!((&all["min"], &all["max"]), (&i64::MIN.into(), &i64::MAX.into()));
    assert_eq!(json["tensors"][3]["statistics"], Value::Null);
    // The columns of numbers that are not there are not shown.
    let text = out(&["stats", &fixture("npz/stored.npz")]);
    assert!(!text.contains("infinite\n  name") || !text.contains("  NaN"), "{text}");
    assert_eq!(out(&["stats", "--filter", "def", &file]).lines().count(), 3);
}

#[test]
fn check_fails_on_numbers_that_are_not_finite() {
    let folder = Folder::new();
    let file = folder.write("a.npz", &npz(&[("good", &floats(&[1.0]), false), ("bad", &floats(&[f32::NAN]), false)]));
    assert_eq!(run(&["stats", &file]).status, 0);
    let checked = run(&["stats", "--check", &file]);
    assert!(checked.status == 1 && checked.err.contains("tensor \"bad\": 1 NaN, 0 infinite"), "{}", checked.err);
    assert_eq!(run(&["stats", "--check", "--filter", "good", &file]).status, 0);
    let infinite = folder.write("x.npy", &floats(&[1.0, f32::NEG_INFINITY]));
    let checked = run(&["stats", "--check", &infinite]);
    assert!(checked.status == 1 && checked.err.contains("0 NaN, 1 infinite"), "{}", checked.err);
}

/// Quantiles are those of NumPy: with linear interpolation.
#[test]
fn quantiles_are_exact() {
    let folder = Folder::new();
    let numbers: Vec<f32> = (0..300_001_u64).map(|i| (i * 7919 % 300_001) as f32 - 1000.0).collect();
    let file = folder.write("x.npy", &floats(&numbers));
    let json = record(&["stats", "--json", "--quantiles", "0,0.25,0.5,0.99999,1", &file]);
    let found: Vec<f64> = json["tensors"][0]["quantiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["value"].as_f64().unwrap())
        .collect();
    assert_eq!(found, [-1000.0, 74_000.0, 149_000.0, 298_997.0, 299_000.0]);
    let few = folder.write("few.npy", &floats(&[-2.0, f32::NAN, -1.0, 4.0, f32::NEG_INFINITY, 8.0]));
    let json = record(&["stats", "--json", "--quantiles", "0.5,0.1", &few]);
    let found = [0, 1].map(|i| json["tensors"][0]["quantiles"][i]["value"].as_f64().unwrap());
    assert!(found[0] == 1.5 && (found[1] + 1.7).abs() < 1e-12, "{found:?}");
    assert!(out(&["stats", "--quantiles", "0.5", &few]).contains("  q0.5\n"));
    assert_eq!(run(&["stats", "--quantiles", "2", &few]).status, 2);
}

/// The hash is that of `list --digest`, and results do not depend on the number of threads.
#[test]
fn hashes_and_threads() {
    for name in ["v1.2/dense_all_dtypes.zt", "v2/zstd_seekable.zt", "b2nd/good/nd02_lz4_0.b2nd", "npz/deflated.npz"] {
        let file = fixture(name);
        let listed = record(&["list", "--json", "--digest", &file]);
        let hashed = record(&["stats", "--json", "--hash", &file]);
        for (a, b) in listed["tensors"].as_array().unwrap().iter().zip(hashed["tensors"].as_array().unwrap()) {
            if a["data_sha256"].is_string()
                && !a["dtype"].as_str().is_some_and(|dtype| dtype.starts_with("f4") || dtype.starts_with("f6"))
            {
                assert_eq!(a["data_sha256"], b["sha256"], "{name} {}", a["name"]);
            }
        }
    }
    let folder = Folder::new();
    let numbers: Vec<f32> = (0..1_000_000).map(|i| (i as f32 * 0.37).sin()).collect();
    let file = folder.write("x.npy", &floats(&numbers));
    let [one, four] = ["1", "4"].map(|jobs| out(&["stats", "--json", "--jobs", jobs, &file]));
    assert_eq!(one, four);
    let blocks = fixture("gguf-blocks/q6_k.gguf");
    let listed = record(&["list", "--json", "--digest", &blocks]);
    let hashed = record(&["stats", "--json", "--hash", &blocks]);
    assert_eq!(listed["tensors"][0]["f32_sha256"], hashed["tensors"][0]["sha256"]);
}

/// A tensor that cannot be read does not hide the others, and no file crashes the program.
#[test]
fn every_fixture() {
    let folder = Folder::new();
    let file = folder.write("a.npz", &npz(&[("good", &floats(&[1.0]), false), ("bad", b"no array", false)]));
    let some = run(&["stats", &file]);
    assert!(some.status == 1 && some.out.contains("good") && some.err.contains("bad"), "{} {}", some.out, some.err);
    let train = folder.write("x.blz", &blz(48, 25, [0.04, 0.08]));
    assert!(run(&["stats", &train]).err.contains("--no-limit"));
    for some in fixtures().chunks(300) {
        let run = run(&[&["stats".to_owned()][..], some].concat());
        assert!(matches!(run.status, 0 | 1), "{}", run.err);
    }
}
