//! Tests of single formats: every field, every rule, and files that real programs wrote.

#[path = "../support/mod.rs"]
mod support;

mod b2nd;
mod b2nd_errors;
mod b2nd_values;
mod blocks;
mod blz;
mod frames;
mod gguf;
mod manifest;
mod npy;
mod npz;
#[cfg(feature = "onnx")]
mod onnx;
mod ptd;
#[cfg(feature = "pytorch")]
mod pytorch;
#[cfg(feature = "pytorch")]
mod pytorch_cases;
mod pytorch_opcodes;
#[cfg(feature = "pytorch")]
mod pytorch_rules;
mod safetensors;
mod tens;
#[cfg(feature = "dequantize")]
mod tflite;
mod ztensor2;
