use std::fmt::Write;
use std::fs;

use serde_json::Value as Json;
use tenslice::{DType, File};

use crate::support::{Folder, fixture, has, npy, npz, out, printed, run};

/// Numbers and their blocks, as ggml quantizes them: see `quantize/compare.py`.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/quantize/sample.gguf");

/// The arguments of a compiler for a program that includes `requantize.h`.
const WITH_HELPER: [&str; 3] = ["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"), "-lm"];

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// The type, the shape and the bytes of a tensor.
fn tensor(path: &str, name: &str) -> (Option<DType>, Vec<u64>, Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    let file = File::open(&bytes).unwrap();
    let tensor = file.find(name).unwrap();
    let stored = tensor.components().next().unwrap().bytes().unwrap().to_vec();
    (tensor.dtype(), tensor.shape().iter().collect(), stored)
}

/// An archive with a weight of two rows, a bias of each row, and other tensors.
fn model(folder: &Folder) -> String {
    let weight = f32s(&[1.0, -0.5, 0.25, 0.003, 10.0, -127.0, 0.5, 2.0]);
    let arrays = [
        ("fc.weight", npy("'<f4'", false, "(2, 4)", &weight)),
        ("fc.bias", npy("'<f4'", false, "(2,)", &f32s(&[0.5, -3.0]))),
        ("ids", npy("'<i4'", false, "(2, 1)", &[0; 8])),
    ];
    let members: Vec<(&str, &[u8], bool)> = arrays.iter().map(|(name, array)| (*name, &array[..], false)).collect();
    folder.write("model.npz", &npz(&members))
}

#[test]
fn blocks_are_those_of_ggml() {
    let folder = Folder::new();
    for kind in ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1"] {
        let path = folder.path("out.gguf");
        let table = out(&["quantize", SAMPLE, "-o", &path, "--to", kind, "--force"]);
        assert!(table.lines().count() == 2 && table.contains("numbers") && table.contains(kind), "{table}");
        let (_, shape, bytes) = tensor(&path, "numbers");
        let (_, _, expected) = tensor(SAMPLE, kind);
        assert!(shape == tensor(SAMPLE, "numbers").1 && bytes == expected, "{kind}");
        // Everything else stays.
        assert_eq!(tensor(&path, "q4_1"), tensor(SAMPLE, "q4_1"));
        let listing = out(&["list", "--json", &path]);
        let listing: Json = serde_json::from_str(&listing).unwrap();
        assert_eq!(listing["attributes"]["general.quantization_version"], 2);
        assert!(listing["attributes"]["general.file_type"].is_u64());
        // zTensor 2 holds the same blocks.
        let path = folder.path("out.zt");
        out(&["quantize", SAMPLE, "-o", &path, "--to", kind, "--force"]);
        assert_eq!(tensor(&path, "numbers").2, expected);
    }
}

#[test]
fn integers_have_scales() {
    let folder = Folder::new();
    let source = model(&folder);
    let path = folder.path("out.safetensors");
    let quantize = |options: &[&str]| {
        let all = [&["quantize", &source, "-o", &path, "--to", "int8", "--force"], options].concat();
        out(&all);
        (tensor(&path, "fc.weight"), tensor(&path, "fc.weight_scale"))
    };
    let integers = |integers: [i8; 8]| integers.map(|integer| integer as u8).to_vec();
    let (weight, scale) = quantize(&[]);
    assert_eq!(weight, (Some(DType::I8), vec![2, 4], integers([1, -1, 0, 0, 10, -127, 1, 2])));
    assert_eq!(scale, (Some(DType::F32), vec![1], f32s(&[1.0])));
    let (weight, scale) = quantize(&["--per-channel"]);
    assert_eq!(weight.2, integers([127, -64, 32, 0, 10, -127, 1, 2]));
    assert_eq!(scale, (Some(DType::F32), vec![2], f32s(&[1.0 / 127.0, 1.0])));
    // The dimension counts after the permutation.
    let (weight, same_scale) = quantize(&["--per-channel=1", "--permute", "1,0"]);
    assert_eq!((weight.1, same_scale), (vec![4, 2], scale));
    assert_eq!(weight.2, integers([127, 10, -64, -127, 32, 1, 0, 2]));
    assert_eq!(tensor(&path, "fc.bias").0, Some(DType::F32));
    assert_eq!(tensor(&path, "ids").0, Some(DType::I32));
    let none = run(&["quantize", &source, "-o", &path, "--to", "int8", "--force", "--exclude", "fc.*"]);
    assert_eq!((none.status, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "warning: no tensor is quantized\n");
}

#[test]
fn errors_are_printed() {
    let folder = Folder::new();
    let source = model(&folder);
    let path = folder.path("out.npz");
    let arguments = ["quantize", &source, "-o", &path, "--to", "int8", "--force"];
    let table = out(&arguments);
    assert!(table.lines().next().unwrap().contains("largest error  RMS error    cosine  worst row"), "{table}");
    assert!(table.contains("fc.weight  i8          5.00e-1"), "{table}");
    assert!(table.contains(" 0 (48.80 %)"), "{table}");
    let json: Json = serde_json::from_str(&out(&[&arguments[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["file"], path.as_str());
    let tensor = &json["tensors"][0];
    assert_eq!((&tensor["name"], &tensor["type"]), (&"fc.weight".into(), &"i8".into()));
    assert_eq!((&tensor["largest_error"], &tensor["worst_row"]["index"]), (&0.5.into(), &0.into()));
    assert!(tensor["cosine"].as_f64().unwrap() > 0.99 && tensor["rms_error"].as_f64().unwrap() < 0.5);
}

#[test]
fn activations_become_factors() {
    let folder = Folder::new();
    let source = model(&folder);
    let path = folder.path("out.safetensors");
    let scales =
        folder.write("scales.json", br#"{"fc": {"in": 0.02, "out": 0.1, "weight": "fc.weight", "bias": "fc.bias"}}"#);
    for (options, channels) in [(&[][..], vec![1.0; 2]), (&["--per-channel"], vec![f64::from(1.0_f32 / 127.0), 1.0])]
    {
        let all = ["quantize", &source, "-o", &path, "--to", "int8", "--force", "--activations", &scales];
        out(&[&all, options].concat());
        let (dtype, shape, bias) = tensor(&path, "fc.bias");
        assert_eq!((dtype, shape), (Some(DType::I32), vec![2]));
        let expected = [0.5, -3.0].iter().zip(&channels).map(|(x, scale)| (x / (0.02 * scale)).round() as i32);
        assert_eq!(i32s(&bias), expected.collect::<Vec<_>>());
        let [multipliers, shifts] =
            ["multiplier", "shift"].map(|ending| i32s(&tensor(&path, &format!("fc.weight_{ending}")).2));
        let count = if options.is_empty() { 1 } else { 2 };
        assert_eq!((multipliers.len(), shifts.len()), (count, count));
        for ((multiplier, shift), scale) in multipliers.iter().zip(&shifts).zip(&channels) {
            let factor = f64::from(*multiplier) * 2_f64.powi(shift - 31);
            assert!((factor / (0.02 * scale / 0.1) - 1.0).abs() < 1e-9 && *multiplier >= 1 << 30);
        }
    }
}

/// The helper in C computes the same integers, as C and as C++.
#[test]
fn the_helper_in_c_agrees() {
    const CHANNELS: usize = 200;
    let folder = Folder::new();
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as i32 as f32 * 2_f32.powi(-31)
    };
    let weights: Vec<f32> = (0..CHANNELS * 2).map(|i| random() * 2_f32.powi(i as i32 % 40 - 30)).collect();
    let biases: Vec<f32> = (0..CHANNELS).map(|_| random() * 1e-6).collect();
    let shapes = [format!("({CHANNELS}, 2)"), format!("({CHANNELS},)")];
    let [weight, bias] =
        [(&shapes[0], &weights), (&shapes[1], &biases)].map(|(shape, all)| npy("'<f4'", false, shape, &f32s(all)));
    let source = folder.write("m.npz", &npz(&[("w", &weight, false), ("b", &bias, false)]));
    let layers = folder.write("l.json", br#"{"l": {"in": 0.0235, "out": 0.118, "weight": "w", "bias": "b"}}"#);
    let path = folder.path("q.safetensors");
    out(&["quantize", &source, "-o", &path, "--to", "int8", "--per-channel", "--activations", &layers]);
    let scales = tensor(&path, "w_scale").2;
    let scales = scales.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    let [multipliers, shifts, integers] = ["w_multiplier", "w_shift", "b"].map(|name| i32s(&tensor(&path, name).2));
    let mut program = String::from("#include \"requantize.h\"\n#include <stdio.h>\nint main(void) {\n");
    let mut expected = String::new();
    for (i, scale) in scales.enumerate() {
        // Constants in C are of type double.
        let (scale, bias) = (f64::from(scale), f64::from(biases[i]));
        write!(
            program,
            "  {{ int32_t m, s, b;\n    if (requantize_factor(0.0235, {scale:?}, 0.118, &m, &s) && \
             requantize_bias((float){bias:?}, 0.0235, {scale:?}, &b))\n      \
             printf(\"%ld %ld %ld\\n\", (long)m, (long)s, (long)b); }}\n"
        )
        .unwrap();
        writeln!(expected, "{} {} {}", multipliers[i], shifts[i], integers[i]).unwrap();
    }
    program += "  return 0;\n}\n";
    for compiler in ["cc", "c++"] {
        if has(compiler) {
            assert_eq!(printed(&folder, compiler, &program, &WITH_HELPER), expected, "{compiler}");
        }
    }
}

/// Factors and biases that the integers cannot hold, such as those of a scale of 0, change nothing.
#[test]
fn the_helper_in_c_refuses() {
    if !has("cc") {
        return;
    }
    let program = "#include \"requantize.h\"\n#include <stdio.h>\n\
                   static void factor(double in, double weight, double out) {\n  \
                   int32_t m = 7, s = 8;\n  const int is_set = requantize_factor(in, weight, out, &m, &s);\n  \
                   printf(\"%d %ld %ld\\n\", is_set, (long)m, (long)s);\n}\n\
                   static void bias(float bias, double in, double weight) {\n  \
                   int32_t b = 9;\n  const int is_set = requantize_bias(bias, in, weight, &b);\n  \
                   printf(\"%d %ld\\n\", is_set, (long)b);\n}\n\
                   int main(void) {\n  factor(1, 1, 1);\n  factor(0, 1, 1);\n  factor(1, 1e-300, 1);\n  \
                   factor(1, 1, 0);\n  factor(0, 1, 0);\n  factor(1, 1, -1);\n  factor(1 << 15, 1 << 15, 1);\n  factor(1, 1073741823.9999999, 1);\n  \
                   bias(1, 0, 1);\n  bias(0, 0, 1);\n  bias(1, 1, 1e-10);\n  return 0;\n}\n";
    let expected = "1 1073741824 1\n1 0 0\n1 0 0\n0 7 8\n0 7 8\n0 7 8\n0 7 8\n0 7 8\n0 9\n0 9\n0 9\n";
    assert_eq!(printed(&Folder::new(), "cc", program, &WITH_HELPER), expected);
}

/// `requantize` of the helper rounds the exact product twice.
#[test]
fn sums_are_scaled_as_by_cmsis_nn() {
    /// The quotient by a power of two, rounded down.
    fn halves(numerator: i128, bits: u32) -> i128 {
        numerator.div_euclid(1 << bits)
    }
    if !has("cc") {
        return;
    }
    let mut expected = String::new();
    let mut program = String::from("#include \"requantize.h\"\n#include <stdio.h>\nint main(void) {\n");
    let sums = [0, 1, -1, 2, -3, 127, -128, 1000, -12345, 65_536, 1 << 24, i32::MAX, -i32::MAX];
    for (sum, multiplier) in sums.into_iter().flat_map(|sum| [1 << 30, 1_518_500_250, i32::MAX].map(|m| (sum, m))) {
        for shift in [-31_i32, -9, -2, -1, 0, 1, 5].into_iter().filter(|shift| *shift <= 0 || sum.abs() < 1 << 25) {
            let product = i128::from(sum) * (1 << shift.max(0)) * i128::from(multiplier);
            let (first, right) = (halves(product + (1 << 30), 31), (-shift).max(0) as u32);
            // Half away from zero.
            let second = halves(2 * first.abs() + (1 << right), right + 1) * first.signum();
            writeln!(program, "  printf(\"%ld\\n\", (long)requantize({sum}, {multiplier}, {shift}));").unwrap();
            writeln!(expected, "{second}").unwrap();
        }
    }
    program += "  return 0;\n}\n";
    assert_eq!(printed(&Folder::new(), "cc", &program, &WITH_HELPER), expected);
}

/// Everything is refused before anything is written.
#[test]
fn refusals() {
    let folder = Folder::new();
    let good = model(&folder);
    let matrix = |name: &str, at: usize, x: f32| {
        let mut numbers = [1.0; 128];
        numbers[at] = x;
        folder.write(&format!("{name}.npy"), &npy("'<f4'", false, "(2, 64)", &f32s(&numbers)))
    };
    let (nan, infinite, large) =
        (matrix("nan", 70, f32::NAN), matrix("inf", 3, f32::NEG_INFINITY), matrix("large", 40, 1e9));
    let double = [1.0, 1e300].map(f64::to_le_bytes).concat();
    let double = folder.write("double.npy", &npy("'<f8'", false, "(1, 2)", &double));
    let [unknown, absent, huge] = [
        r#"{"a": {"in": 1, "out": 1, "weight": "w", "zero": 0}}"#,
        r#"{"a": {"in": 1, "out": 1, "weight": "fc.bias"}}"#,
        r#"{"a": {"in": 1, "out": 1e-10, "weight": "fc.weight"}}"#,
    ]
    .map(|text| folder.write(&format!("{}.json", text.len()), text.as_bytes()));
    let clash = folder.write("clash.npz", &{
        let array = npy("'<f4'", false, "(1, 2)", &[0; 8]);
        npz(&[("a", &array, false), ("a_scale", &array, false)])
    });
    let before = folder.names();
    for (source, options, message) in [
        (
            &nan,
            &["--to", "int8"][..],
            "tensor \"nan\": element 70 is NaN, which cannot be quantized; leave the tensor",
        ),
        (&nan, &["--to", "q5_1"], "element 70 is NaN"),
        (&nan, &["--to", "int8", "--permute", "1,0"], "element 13 is NaN"),
        (&infinite, &["--to", "q4_0"], "tensor \"inf\": element 3 is infinite"),
        (&double, &["--to", "int8"], "element 1 is infinite"),
        (
            &large,
            &["--to", "q8_0"],
            "element 32 begins a block whose scale 7874015.5 is above the largest f16, 65504",
        ),
        (&large, &["--to", "q4_1"], "element 32 begins a block"),
        (
            &good,
            &["--to", "int8", "--per-channel=2"],
            "tensor \"fc.weight\": --per-channel=2: there are 2 dimensions",
        ),
        (&good, &["--to", "q8_0", "--per-channel"], "are for --to int8"),
        (&good, &["--to", "q8_0", "--activations", &absent], "are for --to int8"),
        (&good, &["--to", "int8", "--activations", &unknown], "layer \"a\": unknown key \"zero\""),
        (&good, &["--to", "int8", "--activations", &absent], "tensor \"fc.bias\": no such tensor is quantized"),
        (&good, &["--to", "int8", "--activations", &huge], "a factor is 2^30 or more"),
        (&good, &["--to", "int8", "--activations", "/no/such.json"], "/no/such.json: "),
        (&good, &["--to", "int8", "--format", "npy"], "this format holds one tensor"),
        (&clash, &["--to", "int8", "--exclude", "*_scale"], "two tensors are named \"a_scale\""),
    ] {
        let path = folder.path("out.safetensors");
        let path = if options[1].starts_with('q') { folder.path("out.gguf") } else { path };
        let refused = run(&[&["quantize", source, "-o", &path], options].concat());
        assert!(refused.status == 1 && refused.err.contains(message), "{message}: {}", refused.err);
        assert_eq!(folder.names(), before);
    }
    assert_eq!(run(&["quantize", &good, "-o", "x.gguf", "--to", "q2_k"]).status, 2);
    // Blocks need a format that has them.
    let refused = run(&["quantize", SAMPLE, "-o", &folder.path("o.npz"), "--to", "q8_0", "--only", "numbers"]);
    assert!(refused.status == 1 && refused.err.contains("numbers"), "{}", refused.err);
}

#[test]
fn rows_without_whole_blocks_stay() {
    let folder = Folder::new();
    let path = folder.path("out.gguf");
    let kept = run(&["quantize", &model(&folder), "-o", &path, "--to", "q8_0"]);
    let message = "warning: not quantized, because rows are not multiples of 32 elements: tensor \"fc.weight\"\n\
                   warning: no tensor is quantized\n";
    assert_eq!((kept.status, kept.err.as_str()), (0, message));
    assert_eq!(tensor(&path, "fc.weight").0, Some(DType::F32));
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    assert_eq!(run(&["quantize", &source, "-o", &path, "--to", "q8_0"]).status, 1); // the file exists
}
