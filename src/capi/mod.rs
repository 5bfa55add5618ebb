//! The C ABI: checks the arguments, calls the public Rust API and converts the result. It has no logic of its own.
//!
//! The only `unsafe` code of the C ABI is in `pointer` with its files `handles`, `decoder` and `declared`, in
//! `panic`, in `alloc` and below. The doc comments of exported items become the headers in `include`, in the order of
//! `include/contents.md`, so they are written for C. What they require of pointers is the safety contract that
//! `pointer` relies on.
#![allow(non_camel_case_types)] // C naming
#![allow(unreachable_pub)] // exported by symbol, not by path

// The modules are in the order in which a reader of the C header meets them.
mod status;
mod memory;
mod pointer;
mod call;
mod text;
mod file;
mod index;
mod tensor;
mod component;
mod entry;
mod options;
mod get;
#[cfg(feature = "dequantize")]
mod get_f32;
mod model;
mod decode;
mod sparse;
mod attributes;
mod source;
mod plan;
#[cfg(feature = "write")]
mod write;
#[cfg(feature = "tens")]
mod tens;
#[cfg(feature = "blz")]
mod blz;
#[cfg(feature = "b2nd")]
mod b2nd;
#[cfg(feature = "npy")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "ptd")]
mod ptd;
#[cfg(feature = "pytorch")]
mod pytorch;
#[cfg(feature = "tflite")]
mod tflite;
#[cfg(feature = "safetensors")]
mod safetensors;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "ztensor2")]
mod ztensor2;
#[cfg(feature = "dequantize")]
mod numbers;
#[cfg(all(feature = "gguf", feature = "dequantize"))]
mod blocks;

#[cfg(all(test, feature = "formats", feature = "digest", feature = "dequantize"))]
mod tests;

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
mod panic;

#[cfg(all(feature = "c-alloc", not(feature = "std")))]
mod alloc;

// A no_std library for a hosted target links the C library itself, for the memcpy that rustc calls.
#[cfg(all(not(feature = "std"), unix))]
#[link(name = "c")]
unsafe extern "C" {}
