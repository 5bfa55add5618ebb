//! Codecs: how numbers, texts and nested values are written into bytes.
//!
//! Each depends on `error` and `bytes`, and knows nothing of the formats that use it.
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor")]
pub(crate) mod cbor;
