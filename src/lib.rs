//! Opens tensor files from borrowed byte slices, without allocating and without copying.
//!
//! The bytes may be a slice of flash, a mapped file, an embedded asset, or ranges of a file that the program fetches
//! itself. Opening checks the whole structure in one pass over the metadata; tensors are then listed, found and read in
//! place. Files are taken to be hostile: nothing in them makes the crate panic, recurse or (but for the feature `zstd`)
//! allocate.
//!
//! ```
//! # #[cfg(feature = "ztensor")] {
//! # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt");
//! use tenslice::{DType, File};
//!
//! let file = File::open(bytes)?; // any address does
//! for tensor in &file {
//!     println!("{} {:?} {}", tensor.name(), tensor.dtype(), tensor.shape());
//! }
//!
//! let tensor = file.find("t.float64")?;
//! assert_eq!(tensor.dtype(), Some(DType::F64));
//! let sum: f64 = tensor.data()?.elements::<f64>()?.sum(); // in place; `as_slice` gives `&[f64]` if aligned
//!
//! let mut numbers = [0_f64; 64];
//! let numbers = tensor.read_elements(&mut numbers, &mut [])?; // copied, from any layout and encoding
//! assert_eq!(numbers.iter().sum::<f64>(), sum);
//! # }
//! # Ok::<(), tenslice::Error>(())
//! ```
//!
//! # The levels of the API
//!
//! **What all formats share:** a [`File`] has [`Tensor`]s, and a tensor has [`Component`]s, which are ranges of bytes
//! in the file. [`Tensor::data`] is the component of a dense tensor; [`Component::bytes`],
//! [`as_slice`](Component::as_slice) and [`elements`](Component::elements) show it in place; [`Tensor::read_into`] and
//! [`Tensor::read_elements`] write any tensor that can be materialized into the caller's memory. With the feature
//! `dequantize` `Tensor::read_f32_into` converts elements of any real type, quantized ones too.
//!
//! **What only one format has:**
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
    feature = "tens",
    doc = "- [`File::as_tens`], module [`tens`]: dimensions, symmetries, single elements, pairs of index and value."
)]
#![cfg_attr(
    feature = "blz",
    doc = "- [`File::as_blz`], module [`blz`]: cores; elements, slices, sums, norms, inner products of a tensor train."
)]
#![cfg_attr(feature = "b2nd", doc = "- [`File::as_b2nd`], module [`b2nd`]: regions of an array, chunks, metalayers.")]
//!
//! **Sparse tensors:** [`Tensor::sparse`] checks the indices of rows, coordinates or pairs once; the
//! [`Sparse`](sparse::Sparse) that it returns is iterated over, or asked for one value.
//!
//! **Files that are not in memory:** [`File::open_source`] asks for the ranges that it needs, and takes them from a
//! [`Source`]. The data stays outside: [`Component::extent`] is its place, [`Component::with_bytes`] takes its bytes.
//!
//! **Decoders:** calls that end in `_with` take a [`Decoder`] of the caller's instead of what is [built in](BuiltIn).
//!
//! # Errors
//!
//! An [`Error`] has 16 bytes and no text: the rule that was broken ([`ErrorKind`]), the part of the file ([`Item`]),
//! the byte. [`Error::explain`] reads the names and numbers from the file again and writes the message. What a
//! specification says to warn about is no error: see [`File::warnings`].
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `ztensor`, `ztensor2`, `safetensors`, `gguf`, `npy`, `npz`, `tens`, `blz`, `b2nd` | a format each; `formats` has them all |
//! | `dequantize` | elements of any real type as `f32`, those of quantized blocks too |
//! | `crc32c`, `sha256`, `crc32` | a checksum each, for `verify`: those of zTensor, and that of NPZ; `digest` has them all |
//! | `zstd` | decodes Zstandard by ruzstd; needs `alloc` |
//! | `zstd-c` | decodes Zstandard by libzstd instead, which is built from C |
//! | `zlib` | decodes zlib and deflate, with 11 KiB of stack |
//! | `std` | links `std`; nothing else changes |
//! | `capi`, `panic-handler`, `c-alloc` | for the C library alone |
//!
//! The default is `std`, `formats`, `dequantize`, `digest`, `zstd` and `zlib`. For a microcontroller switch the
//! defaults off and name the formats.
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
// What only one format needs is unused in builds without that format.
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

pub use attributes::{Attribute, Attributes, Value, ValueKind};
pub use bytes::extent::Extent;
pub use bytes::source::{Input, MAX_SEGMENTS, Need, Source};
pub use bytes::text::{Chars, Text};
pub use codec::BuiltIn;
#[cfg(feature = "gguf")]
pub use codec::blocks;
pub use codec::decoder::{DecodeError, Decoder};
pub use codec::sparse;
pub use error::origin::{Format, Item};
pub use error::warning::{Warning, Warnings};
pub use error::{Error, ErrorKind, Result};
pub use format::Described;
pub use types::element::{Element, Elements};
#[cfg(feature = "dequantize")]
pub use types::float;
pub use types::shape::{Dimensions, Shape};
pub use types::{ByteOrder, DType, Encoding, Layout, Order};
pub use view::component::{Caps, Component, Verification};
pub use view::expect::{Expected, Mismatch};
pub use view::explain::Explanation;
pub use view::file::{File, Opened, Tensors};
pub use view::index::Index;
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

/// The pages of the documentation: their examples are tests.
#[cfg(doctest)]
mod pages {
    macro_rules! pages {
        ($($page:ident $path:literal)*) => { $(#[doc = include_str!($path)] mod $page {})* };
    }
    // The examples need these of the default features.
    #[cfg(all(feature = "formats", feature = "digest", feature = "zlib", feature = "dequantize"))]
    pages! {
        readme "../README.md"
        b2nd "../docs/b2nd.md"
        blz "../docs/blz.md"
        building "../docs/building.md"
        c_library "../docs/c-library.md"
        chip "../docs/chip.md"
        features_and_figures "../docs/features-and-figures.md"
        gguf "../docs/gguf.md"
        npy "../docs/npy.md"
        parts "../docs/parts.md"
        promises "../docs/promises.md"
        reading "../docs/reading.md"
        safetensors "../docs/safetensors.md"
        strange_files "../docs/strange-files.md"
        tens "../docs/tens.md"
        ztensor "../docs/ztensor.md"
        ztensor2 "../docs/ztensor2.md"
    }
}
