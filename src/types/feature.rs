//! The Cargo features that decide what a library can do, as codes for C.
#![forbid(unsafe_code)]

use crate::error::abi_enum::abi_enum;

macro_rules! features {
    ($($variant:ident = $code:literal, $feature:literal, $text:literal;)*) => {
        abi_enum! {
            /// A Cargo feature: a format, a codec or a group of functions.
            Feature: u8 { $($variant = $code, $text;)* }
        }

        impl Feature {
            /// Returns true if the library was built with the feature.
            #[must_use]
            pub const fn is_built_in(self) -> bool {
                match self { $(Self::$variant => cfg!(feature = $feature),)* }
            }

            /// Returns the name of the feature in Cargo.toml.
            #[must_use]
            pub const fn cargo_name(self) -> &'static str {
                match self { $(Self::$variant => $feature,)* }
            }
        }
    };
}

features! {
    Ztensor = 1, "ztensor", "zTensor 0.1 to 1.2";
    Ztensor2 = 2, "ztensor2", "zTensor 2";
    Tens = 3, "tens", "TENS";
    Blz = 4, "blz", "BLZ1";
    B2nd = 5, "b2nd", "Blosc2";
    Npy = 6, "npy", "NPY";
    Npz = 7, "npz", "NPZ";
    Safetensors = 8, "safetensors", "safetensors";
    Gguf = 9, "gguf", "GGUF";
    Dequantize = 10, "dequantize", "elements of any type as float: tenslice_tensor_read_f32 and others";
    Write = 11, "write", "writing files: tenslice_writer_open and others";
    Crc32 = 12, "crc32", "the checksums of NPZ";
    Crc32c = 13, "crc32c", "CRC-32C digests of zTensor";
    Sha256 = 14, "sha256", "SHA-256 digests of zTensor";
    Zlib = 15, "zlib", "decoding zlib and deflate";
    Zstd = 16, "zstd", "decoding Zstandard";
    Pytorch = 17, "pytorch", "PyTorch checkpoints";
    Onnx = 18, "onnx", "ONNX models";
    Tflite = 19, "tflite", "TFLite models";
    Ptd = 20, "ptd", "ExecuTorch .ptd";
}
