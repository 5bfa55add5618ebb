//! The fuzz targets: each is a module with a function `run` that takes any bytes and panics where a promise of the
//! library is broken. Programs for libFuzzer call them (`fuzz_targets`), and so do the tests, with the kept corpora.

mod cbor;
mod check;
mod choices;
#[allow(dead_code)] // the tests use all of it
#[path = "../../tests/support/frames.rs"]
mod frames;
mod objects;
mod sound_frame;

/// A target.
pub struct Target {
    /// Its name: that of its module, its program and its corpus.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// Declares the modules of the targets, and the table of them.
macro_rules! targets {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $($(#[$attribute])* pub mod $name;)*

        /// All targets.
        pub const TARGETS: &[Target] =
            &[$($(#[$attribute])* Target { name: stringify!($name), run: $name::run }),*];
    };
}

// A target is a row here, a `[[bin]]` in Cargo.toml, and a program of three lines in `fuzz_targets`.
targets! {
    open
    decode
    verify
    compute
    frame
    chunk
    filters
    safetensors
    gguf
    ztensor
    ztensor2
    ztensor2_manifest
    blz
    tens
    npy
    npz
    b2nd
}

#[cfg(feature = "second")]
pub mod second;
