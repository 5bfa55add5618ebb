use unicode_width::UnicodeWidthStr;

use crate::support::{Folder, blz, fixture, out, run};
use tenslice::{Purpose, ReadOptions};

/// An NPY file of `f64`.
fn npy(numbers: &[f64], shape: &str, fortran: bool) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let dict = format!("{{'descr': '<f8', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{dict:<117}\n").bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[test]
fn statistics_and_a_histogram() {
    let folder = Folder::new();
    let mut numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    numbers.extend([f64::NAN, f64::INFINITY]);
    let file = folder.write("x.npy", &npy(&numbers, "(1002,)", false));
    let text = out(&["show", &file]);
    assert!(text.contains("min 0.0, max 999.0, mean 499.5, std 288.675\n"), "{text}");
    assert!(text.contains("zeros:   1, 1 NaN, 1 infinite\n"), "{text}");
    assert!(text.contains("values:  0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 ...\n"), "{text}");
    let bars: Vec<&str> = text.lines().filter(|line| line.contains('│')).collect();
    assert_eq!(bars.len(), 16);
    let counts = bars.iter().map(|bar| bar.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), 1000);
    let narrow = out(&["show", "--width", "40", &file]);
    assert!(narrow.lines().skip(1).all(|line| line.width() <= 40), "{narrow}");
}

/// The least and the greatest integer are exact, even if an `f64` would round them.
#[test]
fn integers_are_exact() {
    let folder = Folder::new();
    let array = |dtype: &str, numbers: &[i128], size: usize| {
        let data: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()[..size].to_vec()).collect();
        let dict = format!("{{'descr': '<{dtype}', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
        let bytes = [&b"\x93NUMPY\x01\x00\x76\x00"[..], format!("{dict:<117}\n").as_bytes(), &data].concat();
        out(&["show", &folder.write(&format!("{dtype}.npy"), &bytes)])
    };
    let text = array("i8", &[i64::MAX.into(), i128::from(i64::MIN) + 1, 3], 8);
    assert!(text.contains("min -9223372036854775807, max 9223372036854775807, mean "), "{text}");
    let text = array("u8", &[(1 << 53) + 1, u64::MAX.into()], 8);
    assert!(text.contains("min 9007199254740993, max 18446744073709551615, mean "), "{text}");
    let text = array("i4", &[-2147483648, 2147483647], 4);
    assert!(text.contains("min -2147483648, max 2147483647, mean "), "{text}");
}

/// More elements than are read at a time. Statistics do not depend on the boundaries of pieces.
#[test]
fn a_tensor_of_several_pieces() {
    let folder = Folder::new();
    let numbers: Vec<f64> = (0..1_200_000).map(|i| f64::from(i % 7)).collect();
    let file = folder.write("x.npy", &npy(&numbers, "(1200, 1000)", false));
    let text = out(&["show", &file]);
    assert!(text.contains("1200000 elements, 9.2 MiB") && text.contains("min 0.0, max 6.0, mean 2.99999"), "{text}");
    assert_eq!(out(&["show", "--slice", "-1,-3:", &file]), "    [1199, 997:1000] 1.0 2.0 3.0\n");
}

#[test]
fn slices_are_those_of_numpy() {
    let folder = Folder::new();
    let numbers: Vec<f64> = (0..24).map(f64::from).collect();
    let c = folder.write("c.npy", &npy(&numbers, "(2, 3, 4)", false));
    assert_eq!(
        out(&["show", "--slice", "1,:,1:3", &c]),
        "    [1, 0, 1:3] 13.0 14.0\n    [1, 1, 1:3] 17.0 18.0\n    [1, 2, 1:3] 21.0 22.0\n"
    );
    assert_eq!(out(&["show", "--slice", "0,::2,-1", &c]), "    [0, 0, 3] 3.0\n    [0, 2, 3] 11.0\n");
    assert_eq!(
        out(&["show", "--slice", "1,::-2,3:1:-1", &c]),
        "    [1, 2, 3:1:-1] 23.0 22.0\n    [1, 0, 3:1:-1] 15.0 14.0\n"
    );
    assert_eq!(out(&["show", "--slice", "...,0", &c]).lines().count(), 6);
    assert_eq!(out(&["show", "--slice", "1,...,0:1", &c]).lines().last(), Some("    [1, 2, 0:1] 20.0"));
    assert_eq!(out(&["show", "--slice", "0,0,::-1", &c]), "    [0, 0, 3::-1] 3.0 2.0 1.0 0.0\n");
    let f = folder.write("f.npy", &npy(&numbers, "(2, 3, 4)", true));
    assert_eq!(out(&["show", "--slice", "1,2", &f]), "    [1, 2, :] 5.0 11.0 17.0 23.0\n");
    for wrong in ["2", "0,0,0,0", "x", "::0"] {
        let run = run(&["show", "--slice", wrong, &c]);
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{wrong}");
    }
}

/// A number of bytes, in KiB from 1024 on.
fn kib(bytes: u64) -> String {
    if bytes < 1024 { format!("{bytes} bytes") } else { format!("{:.1} KiB", bytes as f64 / 1024.0) }
}

#[test]
fn every_kind_of_tensor() {
    let cases = [
        (
            "v1.2/objects_sparse_quant_logical.zt",
            Some("csr_i32"),
            "30 elements, 128 bytes stored, 120 bytes as f32, zeros included",
        ),
        ("gguf/type_00_F32.gguf", None, "f32"),
        ("b2nd/good/many_tiny_chunks_0.b2nd", None, "mean 60.8322"),
        ("v2/zstd_seekable.zt", Some("pattern"), "16384 elements"),
        ("v1.2/zstd.zt", Some("noise"), "300 elements"),
        ("blz/good/nd10_qtt_c64.blz", None, "tensor_train"),
        ("npz/deflated.npz", Some("w"), "mean "),
    ];
    for (file, name, expected) in cases {
        let file = fixture(file);
        let text = out(&["show", &file].into_iter().chain(name).collect::<Vec<_>>());
        assert!(text.contains(expected), "{file}: {text}");
    }
    // Quantized tensors.
    let file = fixture("gguf-blocks/q4_k.gguf");
    let record: serde_json::Value = serde_json::from_str(&out(&["list", "--json", &file])).unwrap();
    for tensor in record["tensors"].as_array().unwrap() {
        let text = out(&["show", &file, tensor["name"].as_str().unwrap()]);
        let count: u64 = tensor["shape"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).product();
        let sizes = format!("  {count} elements, {} bytes stored, {} as f32\n", count / 256 * 144, kib(4 * count));
        assert!(text.contains("gguf.q4_k") && text.contains(&sizes), "{text}");
    }
}

/// The name is optional only if there is a single tensor.
#[test]
fn the_only_tensor_needs_no_name() {
    let several = fixture("v1.2/digests.zt");
    let run = run(&["show", &several]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("digests.zt: there are several tensors"), "{}", run.err);
    assert!(crate::support::run(&["show", &several, "x"]).err.contains(": no tensor \"x\""));
}

/// If elements cannot be decoded, it is an error, and everything else is printed.
#[test]
fn what_cannot_be_decoded_is_an_error() {
    let folder = Folder::new();
    let mut bytes = std::fs::read(fixture("npz/deflated.npz")).unwrap();
    let data = {
        let file = tenslice::File::open(&bytes).unwrap();
        file.find("w").unwrap().components().next().unwrap().extent()
    };
    bytes[(data.offset + data.length / 2) as usize..][..8].fill(0xff);
    let damaged = folder.write("damaged.npz", &bytes);
    let cases = [
        (damaged, "w", "npz"),
        (fixture("v1.2/objects_sparse_quant_logical.zt"), "gptq", "layout"),
        (fixture("v2/layout_profiles.zt"), "vendor", "layout"),
    ];
    for (file, name, message) in cases {
        let shown = run(&["show", &file, name]);
        assert_eq!(shown.status, 1, "{file} {name}: {}", shown.out);
        assert!(shown.out.contains("component"), "{file} {name}: {}", shown.out);
        assert!(shown.err.contains("error:") && shown.err.contains(message), "{file} {name}: {}", shown.err);
    }
}

/// Trains of 2^48 and 2^200 elements, which can never be decoded as a whole.
#[test]
fn a_few_elements_of_a_tensor_train() {
    let folder = Folder::new();
    for (dimensions, rank) in [(48, 25), (200, 3)] {
        // Each index that is 1 doubles the element. Each bond multiplies it by the rank, which `scale` compensates.
        let scale = (rank as f64).recip();
        let file = folder.write("x.blz", &blz(dimensions, rank, [scale, 2.0 * scale]));
        let element = |ones: i32| 2_f64.powi(ones) * scale;
        let numbers = |line: &str| -> Vec<f64> {
            let values = line.rsplit(": ").next().unwrap().rsplit(":]").next().unwrap().trim_start_matches("values:");
            values.split_whitespace().filter_map(|x| x.parse().ok()).collect()
        };
        let is_near = |found: &[f64], ones: &[i32]| {
            assert_eq!(found.len(), ones.len(), "{found:?}");
            for (x, ones) in found.iter().zip(ones) {
                assert!((x / element(*ones) - 1.0).abs() < 1e-9, "{found:?} {ones}");
            }
        };
        let part = format!("{}:2,:", "1,".repeat(dimensions - 2));
        let text = out(&["show", "--slice", &part, &file]);
        let lines: Vec<Vec<f64>> = text.lines().map(numbers).collect();
        let ones = dimensions as i32 - 2;
        is_near(&lines.concat(), &[ones, ones + 1, ones + 1, ones + 2]);
        // The first dimensions vary.
        let text = out(&["show", "--slice", &format!(":,1:{}", ",0".repeat(dimensions - 2)), &file]);
        is_near(&text.lines().flat_map(numbers).collect::<Vec<_>>(), &[1, 2]);
        let text = out(&["show", &file]);
        let first = text.lines().find(|line| line.contains("values:")).unwrap();
        is_near(&numbers(first), &[0, 1, 1, 2, 1, 2, 2, 3]);
        let size = if dimensions < 64 {
            "281474976710656 elements, 450.0 KiB stored, 2.0 PiB as f64\n"
        } else {
            "2^64 elements or more"
        };
        assert!(text.contains(size), "{text}");
        // Decoding all elements would exceed the limit.
        let extracted = run(&["extract", &file, "-o", &folder.path("x.npy")]);
        assert!(extracted.status == 1 && extracted.err.contains("--no-limit"), "{}", extracted.err);
        let differing = run(&["diff", &file, &file]);
        assert!(differing.status == 1 && differing.out.contains("--no-limit"), "{}", differing.out);
    }
}

/// Every slice is what the library computes, in blocks or one by one.
#[test]
fn slices_of_tensor_trains() {
    let mut compared = 0;
    for name in ["nd10_qtt_c64", "seed_2x3_f64"] {
        let path = fixture(&format!("blz/good/{name}.blz"));
        let bytes = std::fs::read(&path).unwrap();
        let file = tenslice::File::open(&bytes).unwrap();
        let tensor = file.find("").unwrap();
        let mut dense = vec![0; tensor.requirements(Purpose::Read).output.unwrap() as usize];
        tensor
            .read_into(
                &mut dense,
                ReadOptions::new()
                    .scratch(&mut vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize]),
            )
            .unwrap();
        let numbers: Vec<f64> = dense.chunks(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap())).collect();
        let text = out(&["show", "--slice", "", &path]);
        let of_line = |line: &str| line.rsplit(":]").next().unwrap().replace(['(', ')', ','], " ");
        let shown: Vec<f64> = text
            .lines()
            .flat_map(|line| of_line(line).split_whitespace().map(|x| x.parse().unwrap()).collect::<Vec<f64>>())
            .collect();
        assert_eq!(shown.len(), numbers.len());
        assert!(shown.iter().zip(&numbers).all(|(x, y)| (x - y).abs() <= 1e-12 * y.abs().max(1e-3)), "{name}");
        compared += numbers.len();
    }
    assert!(compared > 1000, "{compared}");
}
