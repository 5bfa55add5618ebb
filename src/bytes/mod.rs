//! Bytes and numbers: conversions, ranges, sources, strings, keyword lists.
//!
//! All code that converts a number in a file to a place in memory is here.
#![forbid(unsafe_code)]

pub(crate) mod extent;
#[cfg(kani)]
mod harnesses;
pub(crate) mod keywords;
pub(crate) mod num;
#[cfg(feature = "pytorch")]
pub(crate) mod pickle;
pub(crate) mod piece;
pub(crate) mod source;
pub(crate) mod text;
pub(crate) mod utf8;

#[cfg(test)]
pub(crate) mod tests;
