//! Sets `cfg(small)` for chips: code that saves flash and stack, and gives the same results as the code for hosts. It may
//! take more time or need less scratch memory.
//!
//! Chips are bare-metal targets of 32 bits. `TENSLICE_SMALL=1` builds the same code for any target, so that its tests run
//! on a host. It is not a feature of Cargo, because features add up: one dependent would choose for all others.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TENSLICE_SMALL");
    println!("cargo::rustc-check-cfg=cfg(small)");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_chip = target("OS") == "none" && target("POINTER_WIDTH") == "32";
    if is_chip || env::var("TENSLICE_SMALL").is_ok_and(|value| value == "1") {
        println!("cargo::rustc-cfg=small");
    }
}
