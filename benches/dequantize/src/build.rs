//! Compiles peer.c with ggml-quants.c of ggml twice: for any machine of the target, and for this machine.

use std::collections::BTreeSet;
use std::env;
use std::fs::read_to_string;
use std::process::exit;

fn main() {
    println!("cargo::rerun-if-env-changed=GGML");
    println!("cargo::rerun-if-changed=peer.c");
    println!("cargo::rerun-if-changed=../ggml.h");
    let Ok(ggml) = env::var("GGML") else {
        eprintln!("GGML is not set: it names the folder of ggml's sources. benches/dequantize.sh sets it.");
        exit(1)
    };
    // Each build has its own names for these functions. With equal names the linker would use one build's functions
    // for both.
    let header = read_to_string(format!("{ggml}/src/ggml-quants.h")).expect("a header of ggml");
    let words = header.split(|of: char| !of.is_ascii_alphanumeric() && of != '_');
    let functions: BTreeSet<&str> = words.filter(|word| word.starts_with("dequantize_row_")).collect();
    for (name, flags) in [("scalar", &[][..]), ("native", &["-march=native"])] {
        let mut build = cc::Build::new();
        build.file("peer.c").opt_level(3).warnings(false).flags(flags).define("PEER", name);
        for function in &functions {
            build.define(function, &*format!("{name}_{function}"));
        }
        build.include(format!("{ggml}/include")).include(format!("{ggml}/src")).compile(name);
    }
    // The rest of ggml-quants.c exists twice: quantizing functions and tables, which are the same.
    println!("cargo::rustc-link-arg-bins=-Wl,--allow-multiple-definition");
    println!("cargo::rustc-link-lib=m");
}
