//! Bytes and numbers: conversions, ranges, sources, texts, lists of words.
//!
//! Depends on `error`. Everything that turns a number of a file into a place in memory stands here.
#![forbid(unsafe_code)]

pub(crate) mod extent;
pub(crate) mod num;
pub(crate) mod source;
pub(crate) mod text;
pub(crate) mod keywords;
