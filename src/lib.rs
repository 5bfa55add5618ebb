#![doc = include_str!("../README.md")]
//! ## The levels of the API
//!
//! - The common view: [`File`], [`Tensor`], [`Component`], for every format.
#![cfg_attr(feature = "ztensor", doc = "- What only zTensor files have: [`File::as_ztensor`].")]
#![cfg_attr(feature = "tens", doc = "- What only TENS files have: [`File::as_tens`].")]
#![cfg_attr(feature = "blz", doc = "- What only BLZ files have, and computing with them: [`File::as_blz`].")]
#![cfg_attr(
    feature = "b2nd",
    doc = "- What only Blosc2 frames have, and reading parts of arrays: [`File::as_b2nd`]."
)]
//!
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
mod component;
mod decode;
mod distinct;
mod element;
mod error;
mod explain;
mod file;
mod format;
mod pinned;
mod place;
mod shape;
pub mod sparse;
mod tensor;
mod vocab;
mod warning;

pub use attributes::{Attribute, Attributes, Value, ValueKind};
pub use bytes::extent::Extent;
pub use bytes::source::{Input, MAX_SEGMENTS, Need, Source};
pub use codec::BuiltIn;
pub use component::{Component, Verification};
pub use decode::{DecodeError, Decoder};
pub use element::{Element, Elements};
pub use error::{Error, ErrorKind, Result};
pub use explain::Explanation;
pub use file::{File, Opened, Tensors};
pub use place::{Format, Item};
pub use shape::{Dimensions, Shape};
pub use sparse::Sparse;
#[cfg(feature = "digest")]
pub use tensor::Verified;
pub use tensor::{Components, Tensor};
pub use vocab::{ByteOrder, DType, Encoding, Layout, Order};
pub use warning::{Warning, Warnings};

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
