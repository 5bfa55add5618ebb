//! The fuzz targets. Each is a module with a function `run` that takes any bytes and panics if a promise of the
//! library is broken. The libFuzzer programs (`fuzz_targets`) call them, and so do the tests, with the kept corpora.

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
    /// The name of the module, the program and the corpus.
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

// A target has a row here, a `[[bin]]` in Cargo.toml, and a program of three lines in `fuzz_targets`.
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
    pytorch
    onnx
    ptd
    tflite
    b2nd
    write
}

#[cfg(feature = "second")]
pub mod second;
