//! The view that all formats share: a file has tensors, a tensor has components, a component is a range of bytes.
#![forbid(unsafe_code)]

pub(crate) mod component;
pub(crate) mod entry;
pub(crate) mod explain;
pub(crate) mod file;
pub(crate) mod get;
pub(crate) mod index;
pub(crate) mod model;
#[cfg(feature = "dequantize")]
pub(crate) mod numbers;
pub(crate) mod plan;
pub(crate) mod requirements;
pub(crate) mod tensor;
