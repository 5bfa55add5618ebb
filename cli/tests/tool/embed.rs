use std::fmt::Write;
use std::fs;
use std::process::Command;

use crate::support::{Folder, fixture, has, npy, npz, out, run};
use tenslice::{Purpose, ReadOptions};

/// Assembles, links and runs a C program that prints the sum of the bytes of every array, and the array's alignment.
#[test]
fn a_c_program_reads_it() {
    if !has("cc") {
        return;
    }
    let folder = Folder::new();
    let files = [
        ("safetensors/py_tiny_mlp.safetensors", &[][..]),
        ("safetensors/py_tiny_mlp.safetensors", &["--bytes"]),
        ("v1.2/zstd.zt", &["--align", "4096"]),
        ("v0.1/big_endian.zt", &[]),
        ("v1.2/objects_sparse_quant_logical.zt", &[]),
        ("v1.2/names_unicode_long_nul_empty.zt", &["--prefix", "7 names"]),
        ("gguf-blocks/q4_k.gguf", &[]),
        ("b2nd/good/many_tiny_chunks_0.b2nd", &[]),
    ];
    for (name, options) in files {
        let [assembly, program, source] = ["w.S", "program", "main.c"].map(|name| folder.path(name));
        let arguments = ["embed", "--force", &fixture(name), "-o", &assembly];
        out(&arguments.into_iter().chain(options.iter().copied()).collect::<Vec<_>>());
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
        fs::write(&source, text).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", &source, &assembly, "-o", &program]);
        let built = cc.output().unwrap();
        assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
        let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        assert_eq!(printed, expected(name), "{name}");
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
    assert!(header.contains("extern const float weights_fc1_weight[128]; /* f32 [16, 8] */"), "{header}");
    assert!(
        header.contains("{\"fc1.weight\", \"data\", \"f32\", 2, {16u, 8u}, weights_fc1_weight, 512u, 0u},"),
        "{header}"
    );
    let again = run(&["embed", &source, "-o", &path]);
    assert!(again.status == 1 && again.err.contains("--force"), "{}", again.err);
    for wrong in [&["embed", "-o", "x.o"][..], &["embed", "-o", "x.S", "--align", "48"]] {
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
    assert!(text.contains("uint32_t column_major;") && text.contains("{2u, 3u}, w, 48u, 1u},"), "{text}");
    let text = header(&["--row-major"]);
    assert!(text.contains("/* f64 [2, 3] */") && text.contains("{2u, 3u}, w, 48u, 0u},"), "{text}");
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
