//! Opens tensor files from borrowed byte slices, without allocating and without copying, and writes them.
//!
//! The bytes can be a slice of flash, a mapped file, an embedded asset, or ranges of a file that the program fetches
//! itself. Opening checks the whole structure in one pass over the metadata and reads no tensor data. After that,
//! tensors are listed, found and read in place. The formats are zTensor 0.1 to 1.2, zTensor 2, safetensors, GGUF, NPY,
//! NPZ, PyTorch checkpoints, ONNX models, TFLite, ExecuTorch (PTD), TENS, BLZ1 tensor trains, and Blosc2 frames and arrays.
//!
//! # First program
//!
//! ```
//! # #[cfg(feature = "ztensor")] {
//! use tenslice::{DType, File, ReadOptions};
//!
//! let bytes = std::fs::read("tests/fixtures/v1.2/dense_all_dtypes.zt")?; // or a mapped file, or a slice of flash
//! let file = File::open(&bytes)?;
//! for tensor in &file {
//!     println!("{} {:?} {}", tensor.name(), tensor.dtype(), tensor.shape());
//! }
//!
//! let tensor = file.find("t.float64")?;
//! assert_eq!(tensor.dtype(), Some(DType::F64));
//! let sum: f64 = tensor.data()?.elements::<f64>()?.sum(); // read in place, at any alignment
//!
//! let mut numbers = [0_f64; 64];
//! let numbers = tensor.read_elements(&mut numbers, ReadOptions::new())?; // copied, and decoded if necessary
//! assert_eq!(numbers.iter().sum::<f64>(), sum);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types and tasks
//!
//! A [`File`] has [`Tensor`]s, and a tensor has [`Component`]s, which are ranges of bytes in the file. These types are
//! plain values that borrow the bytes, and are the same for all formats.
//!
//! | task | start at |
//! |---|---|
//! | open a file in memory | [`File::open`] |
//! | open a file that is only partly in memory | [`Source`], [`File::open_source`], [`Source::needs`] |
//! | list tensors, or find one | [`File::tensors`], [`File::find`] |
//! | find many tensors by name | [`File::index`], [`Index`] |
//! | open a model in several files | [`Model`], [`ModelFile`] |
//! | check dtype and shape, and get the bytes | [`File::get`], [`Expected`] |
//! | read a dense tensor in place | [`Tensor::data`], [`Component::as_slice`], [`Component::elements`] |
//! | write a tensor of any layout to a buffer | [`Tensor::read_into`], [`Tensor::read_elements`], `Tensor::to_vec` |
//! | convert elements of any real type to `f32` | `Tensor::get_f32`, `Tensor::read_f32_into`, module `float` |
//! | read a sparse tensor | [`Tensor::sparse`], module [`sparse`] |
//! | fetch data that is not in memory | [`Component::extent`], [`Component::with_bytes`], [`Tensor::with_source`] |
//! | read many tensors at the speed of the disk | [`Plan`], [`Piece`] |
//! | read attributes | [`File::attributes`], [`Tensor::attributes`], [`Value`] |
//! | write a file | `write`, `write::Writer` |
//! | verify digests | [`File::verify`], [`Tensor::verify`], [`Component::verify`] |
//! | compare names and ranges that opening could not compare | [`File::check`] |
//! | print the message of an error | [`Error::explain`] |
//! | use another decoder, provide scratch memory | [`ReadOptions`], [`Decoder`] |
//! | size the memory for a call | [`Tensor::requirements`], [`Purpose`] |
//!
//! # Format-specific modules
//!
#![cfg_attr(
    feature = "ztensor",
    doc = "- [`File::as_ztensor`], module [`ztensor`]: the generation of the file, the manifest."
)]
#![cfg_attr(feature = "ztensor2", doc = "- [`File::as_ztensor2`], module [`ztensor2`]: the manifest, the shards.")]
#![cfg_attr(
    feature = "safetensors",
    doc = "- [`File::as_safetensors`], module [`safetensors`]: the header, the index of a model in several files."
)]
#![cfg_attr(
    feature = "gguf",
    doc = "- [`File::as_gguf`], modules [`gguf`] and [`blocks`]: models in several parts, quantized blocks in place."
)]
#![cfg_attr(
    feature = "npy",
    doc = "- [`File::as_npy`], module [`npy`]: the type of the items as the file writes it."
)]
#![cfg_attr(feature = "npz", doc = "- [`File::as_npz`], module [`npz`]: all entries of the archive.")]
#![cfg_attr(
    feature = "pytorch",
    doc = "- [`File::as_pytorch`], module [`pytorch`]: the names in the pickles that stand for code."
)]
#![cfg_attr(
    feature = "onnx",
    doc = "- [`File::as_onnx`], module [`onnx`]: the version, the program that wrote the model, its sets of operators."
)]
#![cfg_attr(
    feature = "tflite",
    doc = "- [`File::as_tflite`], module [`tflite`]: the subgraphs of a model, tensors of texts."
)]
#![cfg_attr(feature = "ptd", doc = "- [`File::as_ptd`], module [`ptd`]: the segments of the data.")]
#![cfg_attr(
    feature = "tens",
    doc = "- [`File::as_tens`], module [`tens`]: dimensions, symmetries, single elements, pairs of index and value."
)]
#![cfg_attr(
    feature = "blz",
    doc = "- [`File::as_blz`], module [`blz`]: cores; elements, slices, sums, norms, inner products of a tensor train."
)]
#![cfg_attr(feature = "b2nd", doc = "- [`File::as_b2nd`], module [`b2nd`]: regions of an array, chunks, metalayers.")]
//!
//! # Errors and warnings
//!
//! An [`Error`] has 16 bytes and contains no text. It states the violated rule ([`ErrorKind`]), the part of the file
//! ([`Part`]) and the position. [`Error::explain`] reads names and numbers from the file and prints the full message.
//! If a specification requires only a warning, the file is opened, and [`File::warnings`] returns the warning.
//!
//! # Promises
//!
//! - **Input is untrusted.** Every offset, length, count and product in a file is checked before it is used. No file
//!   makes the crate panic or recurse. A link-time test proves that builds without `zstd-c`, `zstd-ruzstd` and `zlib`
//!   contain no panic path.
//! - **No allocation.** Only the features `zstd-c` and `zstd-ruzstd` allocate. The caller provides all other memory.
//! - **Bounded time.** Opening, listing, finding and checking take time linear in the metadata, or n log n if items
//!   must be sorted. The documentation of each method that reads data states its cost.
//! - **Bounded decoding.** A decoded stream is never larger than its destination, whatever the stream states.
//! - **No unsafe code**, except in the C ABI and in six places that detect and use instructions for CRC-32C and `f16`.
//!
//! Digests are verified only on request. They detect corruption, not tampering.
//!
//! # Features
//!
//! At least one format must be enabled. The default is `std`, `formats`, `dequantize`, `digest`, `zstd`, `zlib` and `write`. For
//! a microcontroller, disable the default features and enable the formats that are needed.
//!
//! | feature | effect |
//! |---|---|
//! | `ztensor`, `ztensor2`, `safetensors`, `gguf`, `npy`, `npz`, `pytorch`, `onnx`, `tflite`, `ptd`, `tens`, `blz`, `b2nd` | enables one format |
//! | `formats` | enables all formats |
//! | `dequantize` | converts elements of any real type to `f32`, including quantized blocks |
//! | `crc32c`, `sha256` | verifies digests of zTensor |
//! | `crc32` | verifies checksums of NPZ |
//! | `digest` | enables `crc32c`, `sha256` and `crc32` |
//! | `write` | writes the formats that are enabled: the module `write` |
//! | `zstd` | decodes Zstandard without an allocator, with 17 KB of stack |
//! | `zstd-c` | decodes Zstandard with libzstd instead, which is built from C |
//! | `zstd-ruzstd` | decodes Zstandard with ruzstd instead; needs `alloc` |
//! | `zlib` | decodes zlib and deflate with miniz_oxide, which uses 11 KiB of stack |
//! | `std` | links `std`, for `Tensor::to_vec`; nothing else changes |
//! | `capi`, `panic-handler`, `c-alloc` | only for building the C library |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![deny(missing_docs, unreachable_pub, unused_qualifications, rustdoc::broken_intra_doc_links)]
#![deny(clippy::all, clippy::incompatible_msrv, clippy::undocumented_unsafe_blocks)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::integer_division,
    clippy::as_conversions
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::integer_division
    )
)]
// Helpers that only one format uses are dead code in builds without that format.
#![cfg_attr(not(feature = "formats"), allow(dead_code))]

#[cfg(any(test, feature = "std"))]
extern crate std;

mod attributes;
mod bytes;
#[cfg(feature = "capi")]
#[allow(unsafe_code)]
mod capi;
mod codec;
mod duplicates;
mod error;
mod format;
mod types;
mod view;
#[cfg(feature = "write")]
pub mod write;

pub use attributes::{Attribute, Attributes, Value, ValueKind};
pub use bytes::extent::Extent;
pub use bytes::piece::Piece;
pub use bytes::source::{Input, MAX_SEGMENTS, Need, Source};
pub use bytes::text::{Chars, Text};
pub use codec::BuiltIn;
#[cfg(feature = "gguf")]
pub use codec::blocks;
pub use codec::decoder::{DecodeError, Decoder};
pub use codec::options::{Purpose, ReadOptions, Requirements};
pub use codec::sparse;
pub use error::origin::{Format, Part};
pub use error::warning::{Warning, Warnings};
pub use error::{Error, ErrorKind, Result};
pub use format::{Described, Split};
pub use types::element::{Element, Elements};
pub use types::feature::Feature;
#[cfg(feature = "dequantize")]
pub use types::float;
pub use types::shape::{Dimensions, Shape};
pub use types::{ByteOrder, DType, Encoding, Layout, Order};
pub use view::component::{Caps, Component, Verification};
pub use view::entry::TensorEntry;
pub use view::explain::Explanation;
pub use view::file::{File, Opened, Tensors};
pub use view::get::{Expected, Mismatch};
pub use view::index::Index;
pub use view::model::{Model, ModelFile, ModelMismatch, ModelTensors, Problem, ProblemKind, Problems};
pub use view::plan::{Plan, PlanOptions, PlannedRead, PlannedReads};
pub use view::tensor::{Components, Tensor, Verified};

macro_rules! modules {
    (
        ()
        $($feature:literal $variant:ident $module:ident::$file:ident $magics:tt $as:ident $doc:literal;)*
    ) => {
        $(#[cfg(feature = $feature)] pub use format::$module;)*

        #[cfg(not(any($(feature = $feature),*)))]
        compile_error!(concat!(
            "tenslice: choose at least one format: enable one of the features" $(, " `", $feature, "`")*
        ));
    };
}
format::formats!(modules!);

/// The pages of the documentation, whose examples run as tests.
#[cfg(doctest)]
mod pages {
    macro_rules! pages {
        ($($page:ident $path:literal)*) => { $(#[doc = include_str!($path)] mod $page {})* };
    }
    // The examples need these default features.
    #[cfg(all(feature = "formats", feature = "digest", feature = "zlib", feature = "dequantize", feature = "write"))]
    pages! {
        readme "../README.md"
        b2nd "../docs/b2nd.md"
        blz "../docs/blz.md"
        building "../docs/building.md"
        c_library "../docs/c-library.md"
        chip "../docs/chip.md"
        convert "../docs/convert.md"
        features_and_figures "../docs/features-and-figures.md"
        gguf "../docs/gguf.md"
        npy "../docs/npy.md"
        onnx "../docs/onnx.md"
        parts "../docs/parts.md"
        promises "../docs/promises.md"
        ptd "../docs/ptd.md"
        pytorch "../docs/pytorch.md"
        quantize "../docs/quantize.md"
        reading "../docs/reading.md"
        safetensors "../docs/safetensors.md"
        strange_files "../docs/strange-files.md"
        tens "../docs/tens.md"
        tflite "../docs/tflite.md"
        writing "../docs/writing.md"
        ztensor "../docs/ztensor.md"
        ztensor2 "../docs/ztensor2.md"
    }
}
