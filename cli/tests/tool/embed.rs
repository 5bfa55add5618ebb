use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, compile, fixture, has, npy, npz, out, printed, run};
use tenslice::{Purpose, ReadOptions};

/// The file to compile besides the program, if there is one.
fn compiled(output: &str) -> &[&str] {
    match output {
        "w.S" => &["w.S"],
        "w.c" => &["w.c"],
        _ => &[],
    }
}

/// Compiles, links and runs a C program that prints the sum of the bytes of every array, and the array's alignment.
#[test]
fn a_c_program_reads_it() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    let files = [
        ("safetensors/py_tiny_mlp.safetensors", "w.S", &[][..]),
        ("safetensors/py_tiny_mlp.safetensors", "w.S", &["--bytes", "--section", ".mine"]),
        ("safetensors/py_transformer.safetensors", "w.c", &["--section", ".rodata.mine"]),
        ("v1.2/zstd.zt", "w.S", &["--align", "4096"]),
        ("v1.2/zstd.zt", "w.h", &[]),
        ("v0.1/big_endian.zt", "w.S", &[]),
        ("v0.1/big_endian.zt", "w.c", &[]),
        ("v1.2/objects_sparse_quant_logical.zt", "w.S", &[]),
        ("v1.1/pypi102_sparse.zt", "w.h", &[]),
        ("v1.2/names_unicode_long_nul_empty.zt", "w.S", &["--prefix", "7 names"]),
        ("v1.2/names_unicode_long_nul_empty.zt", "w.c", &["--prefix", "7 names"]),
        ("gguf-blocks/q4_k.gguf", "w.S", &[]),
        ("gguf-blocks/q4_k.gguf", "w.c", &[]),
        ("b2nd/good/many_tiny_chunks_0.b2nd", "w.S", &[]),
    ];
    for (name, output, options) in files {
        let arguments = ["embed", "--force", &fixture(name), "-o", &folder.path(output)];
        let run = run(&arguments.into_iter().chain(options.iter().copied()).collect::<Vec<_>>());
        assert_eq!(run.status, 0, "{}", run.err);
        let prefix = if options.contains(&"--prefix") { "_7_names" } else { "w" };
        let text = format!(
            "#include <stdio.h>\n#include \"w.h\"\nint main(void) {{\n  size_t i, j;\n  \
             for (i = 0; i < {0}_COUNT; i++) {{\n    unsigned long sum = 0;\n    \
             for (j = 0; j < {1}_tensors[i].length; j++) sum = sum * 31 + ((const unsigned char *){1}_tensors[i].data)[j];\n    \
             printf(\"%s %lu %lu %lu\\n\", {1}_tensors[i].dtype, (unsigned long){1}_tensors[i].length, sum,\n      \
             (unsigned long)((uintptr_t){1}_tensors[i].data % 64));\n  }}\n  return 0;\n}}\n",
            prefix.to_uppercase(),
            prefix
        );
        assert_eq!(printed(&folder, "cc", &text, compiled(output)), expected(name), "{name} {output}");
    }
}

/// The expected output of the program, computed with the library.
fn expected(name: &str) -> String {
    let bytes = fs::read(fixture(name)).unwrap();
    let mut text = String::new();
    for tensor in &tenslice::File::open(&bytes).unwrap() {
        let is_chunked = tensor.layout() == tenslice::Layout::Chunked;
        for component in tensor.components() {
            let mut room = vec![0; 1 << 20];
            let content = if is_chunked {
                tensor
                    .read_into(
                        &mut room,
                        ReadOptions::new().scratch(&mut vec![
                            0;
                            tensor.requirements(Purpose::Read).scratch.unwrap()
                                as usize
                        ]),
                    )
                    .unwrap()
            } else {
                component.read_into(&mut room, ReadOptions::new()).unwrap()
            };
            let sum = content.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
            let dtype = match tensor.layout() {
                tenslice::Layout::Blocks => tensor.layout_name(),
                _ => component.dtype().map_or("bytes", tenslice::DType::name),
            };
            writeln!(text, "{dtype} {} {sum} 0", content.len()).unwrap();
        }
    }
    text
}

#[test]
fn what_is_written_is_stated() {
    let folder = Folder::new();
    let source = fixture("safetensors/py_tiny_mlp.safetensors");
    let path = folder.path("weights.S");
    out(&["embed", &source, "-o", &path]);
    let (assembly, header) =
        (fs::read_to_string(&path).unwrap(), fs::read_to_string(folder.path("weights.h")).unwrap());
    assert!(assembly.contains(&format!(".incbin \"{source}\", 400, 512")), "{assembly}");
    assert!(
        header.contains("WEIGHTS_ALIGNED extern const float weights_fc1_weight[128]; /* f32 [16, 8] */"),
        "{header}"
    );
    assert!(header.contains("#define WEIGHTS_FC1_WEIGHT_DIM0 16\n#define WEIGHTS_FC1_WEIGHT_DIM1 8\n"), "{header}");
    assert!(
        header.contains("{\"fc1.weight\", \"data\", \"f32\", 2, {16u, 8u}, weights_fc1_weight, 512u, 0u, 10u},"),
        "{header}"
    );
    let again = run(&["embed", &source, "-o", &path]);
    assert!(again.status == 1 && again.err.contains("--force"), "{}", again.err);
    for wrong in
        [&["embed", "-o", "x.o"][..], &["embed", "-o", "x.S", "--align", "48"], &["embed", "-o", "x.rs", "--index"]]
    {
        let arguments = wrong.iter().copied().chain([source.as_str()]).collect::<Vec<_>>();
        assert_eq!(run(&arguments).status, 1, "{wrong:?}");
    }
    assert_eq!(folder.names(), ["weights.S", "weights.h"]);
    // If the header exists already, nothing is left behind.
    fs::remove_file(&path).unwrap();
    assert_eq!(run(&["embed", &source, "-o", &path]).status, 1);
    assert_eq!(folder.names(), ["weights.h"]);
}

/// The header states the element order. On request, elements are converted to row-major order.
#[test]
fn the_order_is_stated() {
    let folder = Folder::new();
    let numbers = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0].map(f64::to_le_bytes).concat();
    let array = npy("'<f8'", true, "(2, 3)", &numbers);
    let source = folder.write("m.npy", &array);
    let path = folder.path("w.S");
    let header = |options: &[&str]| {
        out(&["embed", &source, "-o", &path, "--force"].iter().chain(options).collect::<Vec<_>>());
        fs::read_to_string(folder.path("w.h")).unwrap()
    };
    let text = header(&[]);
    assert!(text.contains("extern const double w[6]; /* f64 [2, 3], column-major */"), "{text}");
    assert!(text.contains("uint32_t column_major;") && text.contains("{2u, 3u}, w, 48u, 1u, 0u},"), "{text}");
    let text = header(&["--row-major"]);
    assert!(text.contains("/* f64 [2, 3] */") && text.contains("{2u, 3u}, w, 48u, 0u, 0u},"), "{text}");
    let assembly = fs::read_to_string(&path).unwrap();
    let bytes = assembly.lines().filter_map(|line| line.trim().strip_prefix(".byte "));
    let bytes: Vec<u8> = bytes.flat_map(|line| line.split(',').map(|byte| byte.parse().unwrap())).collect();
    assert_eq!(bytes, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(f64::to_le_bytes).concat());
    // The order of a compressed array is also stated.
    let archive = folder.write("a.npz", &npz(&[("m", &array, true)]));
    out(&["embed", &archive, "-o", &path, "--force"]);
    let text = fs::read_to_string(folder.path("w.h")).unwrap();
    assert!(text.contains(", column-major */"), "{text}");
}

/// A program prints the numbers of column-major arrays in the order of their indices: the last one varies fastest, as when
/// NumPy prints an array.
#[test]
fn numbers_are_where_their_indices_say() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    let numbers = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0].map(f64::to_le_bytes).concat();
    let small = folder.write("m.npy", &npy("'<f8'", true, "(2, 3)", &numbers));
    let program = "#include <stdio.h>\n#include \"w.h\"\n\
                   static void print(uint32_t rank, const size_t *i) {\n  \
                   const struct w_tensor *t = w_tensors;\n  size_t at = 0;\n  uint32_t k;\n  \
                   for (k = 0; k < rank; k++) {\n    const uint32_t d = t->column_major ? rank - 1 - k : k;\n    \
                   at = at * (size_t)t->shape[d] + i[d];\n  }\n  printf(\"%g \", (double)w[at]);\n}\n\
                   int main(void) {\n  size_t i[8] = {0};\n  const uint32_t rank = w_tensors[0].rank;\n  uint32_t k;\n  \
                   for (;;) {\n    print(rank, i);\n    \
                   for (k = rank; k > 0 && ++i[k - 1] == w_tensors[0].shape[k - 1]; k--) i[k - 1] = 0;\n    \
                   if (k == 0) return 0;\n  }\n}\n";
    // NumPy 2.4.6 wrote the other two, and printed their numbers.
    for (source, expected) in [
        (small, "0 1 2 3 4 5 "),
        (
            fixture("npy/fortran_5d.npy"),
            "-27610 -711 8469 -439 -28220 -7855 13162 20200 19907 24207 -2109 26200 \
             -10087 -27406 31603 14667 23878 -24648 882 -16334 -3811 -27292 -21722 23752 ",
        ),
        (
            fixture("npy/fortran_be.npy"),
            "5.55457e-24 -84.3392 1.86906e-16 2.21604e-26 1.71335e+10 -3.68822e-18 -3.84102e+25 -0.00144564 \
             1.64436e-16 3.7212e-28 4.54377e+07 1.06986e+34 -3.02075e-24 -6.07662e-18 6.51512e+20 ",
        ),
    ] {
        for output in ["w.S", "w.c", "w.h"] {
            for options in [&[][..], &["--row-major"]] {
                out(&[&["embed", &source, "-o", &folder.path(output), "--force"], options].concat());
                let is_stated = fs::read_to_string(folder.path("w.h")).unwrap().contains(", column-major */");
                assert_eq!(is_stated, options.is_empty(), "{source} {output} {options:?}");
                assert_eq!(
                    printed(&folder, "cc", program, compiled(output)),
                    expected,
                    "{source} {output} {options:?}"
                );
            }
        }
    }
}

/// An archive of every kind of number that C has, with the ends of their ranges.
fn numbers(folder: &Folder) -> String {
    let arrays = [
        ("f", npy("'<f4'", false, "(2, 2)", &[f32::MAX, -0.0, 1e-45, 0.1].map(f32::to_le_bytes).concat())),
        ("d", npy("'<f8'", false, "(3,)", &[f64::MIN, 5e-324, 0.1].map(f64::to_le_bytes).concat())),
        ("i1", npy("'|i1'", false, "(2,)", &[0x80, 0x7f])),
        ("i4", npy("'<i4'", false, "(2,)", &[i32::MIN, i32::MAX].map(i32::to_le_bytes).concat())),
        ("i8", npy("'<i8'", false, "(2,)", &[i64::MIN, i64::MAX].map(i64::to_le_bytes).concat())),
        ("u2", npy("'<u2'", false, "(1,)", &[0xff, 0xff])),
        ("u8", npy("'<u8'", false, "(1,)", &u64::MAX.to_le_bytes())),
        ("empty", npy("'<f4'", false, "(0, 3)", &[])),
        ("w", npy("'|i1'", false, "(3,)", &[1, 2, 3])),
        ("other", npy("'|b1'", false, "()", &[1])),
        ("w_scale", npy("'<f4'", false, "(1,)", &0.0078125_f32.to_le_bytes())),
        (
            "large",
            npy(
                "'<f4'",
                false,
                "(250, 200)",
                &(0..50_000).flat_map(|i| (i as f32).sqrt().to_le_bytes()).collect::<Vec<_>>(),
            ),
        ),
    ];
    let members: Vec<(&str, &[u8], bool)> = arrays.iter().map(|(name, array)| (*name, &array[..], false)).collect();
    folder.write("numbers.npz", &npz(&members))
}

/// All outputs compile without warnings: sizes, alignment and constants are right at compile time. A tensor has 200 KB.
#[test]
fn compilers_do_not_complain() {
    let folder = Folder::new();
    let source = numbers(&folder);
    let check = "#include \"w.h\"\n#define CHECK(name, is_true) typedef char name[(is_true) ? 1 : -1]\n\
                 CHECK(size, sizeof w_f == W_F_DIM0 * W_F_DIM1 * sizeof(float) && W_F_DIM0 == 2 && W_F_DIM1 == 2);\n\
                 CHECK(large, sizeof w_large == 200000);\n\
                 CHECK(integers, sizeof w_i1 == 2 && sizeof w_i8 == 16 && W_W_DIM0 == 3 && W_EMPTY_DIM0 == 0);\n\
                 CHECK(constants, W_U8_VALUE == 18446744073709551615u && W_OTHER_VALUE == 1);\n\
                 #if defined(__GNUC__)\nCHECK(alignment, __alignof__(w_f) == 64 && __alignof__(w_w_scale) == 64);\n#endif\n\
                 float scale(void);\nfloat scale(void) { return W_W_SCALE_VALUE * (float)w_w[0] * w_f[0]; }\n";
    folder.write("check.c", check.as_bytes());
    folder.write("check.cpp", check.as_bytes());
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O2", "-c", "-o", "out.o"];
    for output in ["w.S", "w.c", "w.h"] {
        out(&["embed", &source, "-o", &folder.path(output), "--force", "--index"]);
        for compiler in ["gcc", "clang", "arm-none-eabi-gcc"] {
            let chip = if compiler.starts_with("arm") { &["-mcpu=cortex-m4", "-mthumb"][..] } else { &[] };
            if !has(compiler) {
                continue;
            }
            let build = |options: &[&str]| compile(&folder, compiler, &[&warnings, chip, options].concat());
            build(&["-std=c99", "check.c"]);
            build(&["-std=c++17", "check.cpp"]);
            if output == "w.S" {
                build(&["w.S"]);
            }
            if output == "w.c" {
                build(&["-std=c99", "w.c"]);
                build(&["-std=c++17", "-x", "c++", "w.c"]);
            }
        }
        if has("clang") {
            // The syntax of MSVC.
            let target = [
                "--driver-mode=cl",
                "--target=x86_64-pc-windows-msvc",
                "-W4",
                "-WX",
                "-Wno-unused-command-line-argument",
            ];
            let build = |options: &[&str]| {
                let options = [&target[..], &["-clang:-ffreestanding", "-c", "-Foout.o"], options].concat();
                compile(&folder, "clang", &options);
            };
            build(&["check.c"]);
            build(&["-std:c++17", "check.cpp"]);
            if output == "w.c" {
                build(&["w.c"]);
            }
        }
    }
}

/// The values of all kinds of numbers are the same in Rust, in two editions.
#[test]
fn a_rust_program_reads_it() {
    if !has("rustc") {
        return;
    }
    let folder = Folder::new();
    let source = numbers(&folder);
    out(&["embed", &source, "-o", &folder.path("w.rs"), "--section", ".rodata.mine", "--align", "128"]);
    let program = "mod w;\nuse w::*;\nfn main() {\n    println!(\"{:?} {:?} {:?}\", W_F.0, W_F_DIMS, W_D.0);\n    \
                   println!(\"{:?} {:?} {:?} {:?}\", W_I1.0, W_I4.0, W_I8.0, W_U8.0);\n    \
                   println!(\"{:?} {} {}\", W_EMPTY.0, W_W_SCALE_VALUE, W_F.0.as_ptr() as usize % 128);\n}\n";
    folder.write("main.rs", program.as_bytes());
    for edition in ["2021", "2024"] {
        compile(&folder, "rustc", &["--edition", edition, "-Dwarnings", "main.rs", "-o", "main"]);
        let printed = Command::new(folder.path("main")).output().unwrap().stdout;
        let expected = "[3.4028235e38, -0.0, 1e-45, 0.1] [2, 2] [-1.7976931348623157e308, 5e-324, 0.1]\n\
                        [-128, 127] [-2147483648, 2147483647] [-9223372036854775808, 9223372036854775807] \
                        [18446744073709551615]\n[] 0.0078125 0\n";
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }
}

/// The linker drops arrays that are not used.
#[cfg(target_os = "linux")]
#[test]
fn unused_arrays_are_dropped() {
    if !has("cc") || !has("nm") {
        return;
    }
    let folder = Folder::new();
    let source = numbers(&folder);
    folder.write("main.c", b"#include \"w.h\"\nint main(void) { return w_f[0] > 0; }\n");
    for (output, section) in [("w.S", ".rodata"), ("w.c", ".rodata"), ("w.S", ".qspi"), ("w.c", ".qspi")] {
        out(&["embed", &source, "-o", &folder.path(output), "--force", "--section", section]);
        compile(&folder, "cc", &["-Wl,--gc-sections", "main.c", output, "-o", "main"]);
        let symbols = Command::new("nm").arg(folder.path("main")).output().unwrap().stdout;
        let symbols = String::from_utf8(symbols).unwrap();
        assert!(symbols.contains(" w_f\n") && !symbols.contains(" w_d\n"), "{output}: {symbols}");
    }
}

/// The C function finds the tensors that `File::find` finds, and nothing else.
#[test]
fn the_index_finds_every_name() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    for name in [
        "safetensors/py_transformer.safetensors",
        "safetensors/rs_unicode_names.safetensors",
        "v1.2/objects_sparse_quant_logical.zt",
        "v1.2/names_unicode_long_nul_empty.zt",
        "gguf-blocks/q4_k.gguf",
        "safetensors/rs_no_tensors.safetensors",
    ] {
        let bytes = fs::read(fixture(name)).unwrap();
        let file = tenslice::File::open(&bytes).unwrap();
        let mut names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
        // Names that are not there: a byte more, less or different.
        let others = names.iter().flat_map(|name| {
            let shorter = name.chars().skip(1).collect::<String>();
            [format!("{name}x"), format!("x{name}"), name.replace('a', "b"), shorter]
        });
        names.extend(others.chain(["nothing".to_owned()]).collect::<Vec<_>>());
        let run = run(&["embed", "--force", &fixture(name), "-o", &folder.path("w.S"), "--index"]);
        assert_eq!(run.status, 0, "{}", run.err);
        let (mut calls, mut expected) = (String::new(), String::new());
        for name in &names {
            let literal: String = name.bytes().map(|byte| format!("\\{byte:03o}")).collect();
            writeln!(calls, "  print(w_find(\"{literal}\", {}));", name.len()).unwrap();
            match file.find(name) {
                Err(_) => expected += "none\n",
                Ok(tensor) => {
                    let shape: Vec<String> = tensor.shape().iter().map(|length| length.to_string()).collect();
                    let is_one = matches!(tensor.layout(), tenslice::Layout::Dense | tenslice::Layout::Blocks);
                    let shape = if is_one { shape.join(" ") } else { "parts".into() };
                    writeln!(expected, "{} {shape}", name.len()).unwrap();
                }
            }
        }
        let program = format!(
            "#include <stdio.h>\n#include <string.h>\n#include \"w.h\"\n\
             static void print(const struct w_tensor *tensor) {{\n  uint32_t i;\n  \
             if (tensor == NULL) {{\n    puts(\"none\");\n    return;\n  }}\n  printf(\"%u \", tensor->name_length);\n  \
             if (strcmp(tensor->role, \"data\") != 0) {{\n    puts(\"parts\");\n    return;\n  }}\n  \
             for (i = 0; i < tensor->rank; i++) printf(i ? \" %lu\" : \"%lu\", (unsigned long)tensor->shape[i]);\n  puts(\"\");\n}}\n\
             int main(void) {{\n{calls}  return 0;\n}}\n"
        );
        assert_eq!(printed(&folder, "cc", &program, &["w.S"]), expected, "{name}");
    }
}

/// The function takes at most 200 bytes of code on a Cortex-M4.
#[test]
fn the_look_up_is_small() {
    if !has("arm-none-eabi-gcc") {
        return;
    }
    let folder = Folder::new();
    out(&["embed", &fixture("safetensors/py_transformer.safetensors"), "-o", &folder.path("w.h"), "--index"]);
    let program = "#include \"w.h\"\nconst struct w_tensor *find(const char *name, size_t length);\n\
                   const struct w_tensor *find(const char *name, size_t length) { return w_find(name, length); }\n";
    folder.write("find.c", program.as_bytes());
    let options = ["-mcpu=cortex-m4", "-mthumb", "-Os", "-ffunction-sections", "-c", "find.c"];
    compile(&folder, "arm-none-eabi-gcc", &options);
    let printed = Command::new("arm-none-eabi-size").args(["-A", &folder.path("find.o")]).output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    let size = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap();
    let code: u32 = printed.lines().filter(|line| line.starts_with(".text")).map(size).sum();
    assert!((1..=200).contains(&code), "{code} bytes: {printed}");
}

#[test]
fn names_that_collide_get_numbers() {
    let folder = Folder::new();
    let array = npy("'|u1'", false, "(1,)", &[1]);
    let names = ["a.b", "a_b", "a-b", "c", "C"];
    let source = folder.write("a.npz", &npz(&names.map(|name| (name, &array[..], false))));
    let path = folder.path("w.h");
    let embedded = run(&["embed", &source, "-o", &path]);
    let message = "warning: the symbol of tensor \"a_b\" is w_a_b_2, since tensor \"a.b\" has the one without number; 2 more got numbers\n";
    assert_eq!((embedded.status, embedded.err.as_str()), (0, message));
    let header = fs::read_to_string(&path).unwrap();
    for symbol in ["w_a_b[1]", "w_a_b_2[1]", "w_a_b_3[1]", "w_c[1]", "w_C_2[1]"] {
        assert!(header.contains(symbol), "{symbol}: {header}");
    }
    let chosen = run(&["embed", &source, "-o", &path, "--force", "--only", "a?b", "--only", "nothing"]);
    assert!(chosen.err.contains("; 1 more got numbers\n"), "{}", chosen.err);
    assert!(!fs::read_to_string(&path).unwrap().contains("w_c[1]"));
}

/// Scales stand behind their tensors.
#[test]
fn scales_are_beside_their_arrays() {
    let folder = Folder::new();
    out(&["embed", &numbers(&folder), "-o", &folder.path("w.S")]);
    let header = fs::read_to_string(folder.path("w.h")).unwrap();
    let place = |text: &str| header.find(text).unwrap();
    let places = ["const int8_t w_w[3]", "const float w_w_scale[1]", "#define W_W_SCALE_VALUE 0.0078125f", "w_other"];
    assert!(places.map(place).is_sorted(), "{header}");
}

#[test]
fn errors_come_before_anything_is_written() {
    let folder = Folder::new();
    let nan = folder.write("nan.npy", &npy("'<f4'", false, "(2,)", &[1.0, f32::NAN].map(f32::to_le_bytes).concat()));
    let mlp = fixture("safetensors/py_tiny_mlp.safetensors");
    let sparse = fixture("v1.2/objects_sparse_quant_logical.zt");
    let before = folder.names();
    for (source, output, options, message) in [
        (&nan, "w.c", &[][..], "tensor \"\": number 1 is NaN or infinite, for which C has no literal; write .S"),
        (&nan, "w.h", &[], "number 1 is NaN"),
        (&sparse, "w.h", &[], "tensor \"csr_i32\", component \"values\": number 0 is NaN"),
        (
            &mlp,
            "w.S",
            &["--max-bytes", "600"],
            "more than --max-bytes 600; the largest is tensor \"fc1.weight\" with 512",
        ),
        (&mlp, "w.o", &[], "must end in .S"),
        (&mlp, "w.S", &["--depfile", "/no/such/folder/w.d"], "there is no folder"),
    ] {
        let refused = run(&[&["embed", source, "-o", &folder.path(output)], options].concat());
        assert!(refused.status == 1 && refused.err.contains(message), "{message}: {}", refused.err);
        assert_eq!(folder.names(), before);
    }
    out(&["embed", &nan, "-o", &folder.path("w.S")]);
    out(&["embed", &nan, "-o", &folder.path("w.rs")]);
    out(&["embed", &mlp, "-o", &folder.path("m.S"), "--max-bytes", "2KiB"]);
    assert_eq!(run(&["embed", &mlp, "-o", "w.S", "--section", "a b"]).status, 2);
}

/// The assembler includes the file, so that the text is short however large the model is.
#[test]
fn assembly_of_large_models_is_short() {
    let folder = Folder::new();
    let numbers: Vec<u8> = (0..6_u32 << 20).flat_map(u32::to_le_bytes).collect();
    let source = folder.write("large.npy", &npy("'<u4'", false, "(6, 1048576)", &numbers));
    let assembly = folder.path("w.S");
    out(&["embed", &source, "-o", &assembly]);
    assert!(fs::metadata(&assembly).unwrap().len() < 1000);
    if !has("cc") {
        return;
    }
    compile(&folder, "cc", &["-c", "w.S", "-o", "w.o"]);
    let object = fs::read(folder.path("w.o")).unwrap();
    assert!(object.windows(numbers.len()).step_by(64).any(|bytes| bytes == numbers));
}

#[test]
fn dependencies_and_large_texts() {
    let folder = Folder::new();
    let source = folder.write("a b.npy", &npy("'|u1'", false, "(1000001,)", &vec![7; 1_000_001]));
    let depfile = folder.path("w.d");
    let [assembly, c] = ["w.S", "w.c"].map(|name| folder.path(name));
    out(&["embed", &source, "-o", &assembly, "--depfile", &depfile]);
    let rule = format!("{assembly}: {}\n", source.replace(' ', "\\ "));
    assert_eq!(fs::read_to_string(&depfile).unwrap(), rule);
    let large = run(&["embed", &source, "-o", &c, "--force"]);
    assert!(large.status == 0 && large.err.contains("write .S, which includes the file itself"), "{}", large.err);
    // The path is absolute, so that the assembly can be built anywhere.
    let relative = crate::support::tool()
        .current_dir(folder.as_path())
        .args(["embed", "a b.npy", "-o", "r.S"])
        .status()
        .unwrap();
    let text = fs::read_to_string(folder.path("r.S")).unwrap();
    let path = text.lines().find_map(|line| line.trim().strip_prefix(".incbin \"")?.split('"').next()).unwrap();
    assert!(relative.success() && Path::new(path).is_absolute() && Path::new(path).exists(), "{path}");
}
