//! Compiles peer.c against the headers of c-blosc2, and links its shared library.

use std::env;
use std::process::exit;

fn main() {
    let [include, lib] = ["BLOSC2_INCLUDE", "BLOSC2_LIB"].map(|name| {
        println!("cargo::rerun-if-env-changed={name}");
        env::var(name).unwrap_or_else(|_| {
            eprintln!(
                "{name} is not set: it names the folder of c-blosc2's headers or library. benches/run.sh sets it."
            );
            exit(1)
        })
    });
    println!("cargo::rerun-if-changed=peer.c");
    cc::Build::new().file("peer.c").include(include).compile("peer");
    println!("cargo::rustc-link-search=native={lib}");
    println!("cargo::rustc-link-lib=dylib=blosc2");
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{lib}");
}
